//! A picture of a screen as SVG, for documents.

use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier};

use crate::theme::Background;

/// Width and height of a cell, in the picture's units.
const CELL: (f64, f64) = (8.4, 18.0);

/// The sixteen colours, as most terminals have them.
const SIXTEEN: [&str; 16] = [
    "#1c1c1c", "#c4384b", "#3f9142", "#b58900", "#3b6fd4", "#a347ba", "#2b8f9e", "#d0d0d0", "#6c6c6c",
    "#ff6b6b", "#7ccf6f", "#f0c94a", "#7aa8ff", "#d58cf0", "#6fd3e0", "#ffffff",
];

/// A buffer as a picture.
pub fn svg(buffer: &Buffer, background: Background) -> String {
    let area = *buffer.area();
    let (paper, ink) = match background {
        Background::Dark => ("#16181d", "#d8dce3"),
        Background::Light => ("#ffffff", "#1f2328"),
    };
    let (width, height) = (f64::from(area.width) * CELL.0, f64::from(area.height) * CELL.1);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" \
         font-family=\"ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" font-size=\"14\" xml:space=\"preserve\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"{paper}\"/>\n"
    );
    for row in 0..area.height {
        let mut column = 0;
        while column < area.width {
            let Some(cell) = buffer.cell((column, row)) else {
                break;
            };
            let style = cell.style();
            let mut text = String::new();
            let start = column;
            while let Some(next) = buffer.cell((column, row)).filter(|next| next.style() == style) {
                text.push_str(next.symbol());
                column += 1;
            }
            let reversed = style.add_modifier.contains(Modifier::REVERSED);
            let fg = color(style.fg).unwrap_or_else(|| ink.to_string());
            let bg = color(style.bg).unwrap_or_else(|| paper.to_string());
            let (fg, bg) = if reversed { (bg, fg) } else { (fg, bg) };
            run(
                &mut out,
                (start, row, column - start),
                (&text, &fg, &bg, paper),
                style.add_modifier,
            );
        }
    }
    out.push_str("</svg>\n");
    out
}

fn run(
    out: &mut String,
    (column, row, columns): (u16, u16, u16),
    (text, fg, bg, paper): (&str, &str, &str, &str),
    modifier: Modifier,
) {
    let (x, y) = (f64::from(column) * CELL.0, f64::from(row) * CELL.1);
    let width = f64::from(columns) * CELL.0;
    if bg != paper {
        out.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{:.1}\" fill=\"{bg}\"/>\n",
            CELL.1
        ));
    }
    if text.trim().is_empty() {
        return;
    }
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    let mut attributes = String::new();
    if modifier.contains(Modifier::BOLD) {
        attributes.push_str(" font-weight=\"bold\"");
    }
    if modifier.contains(Modifier::UNDERLINED) {
        attributes.push_str(" text-decoration=\"underline\"");
    }
    if modifier.contains(Modifier::DIM) {
        attributes.push_str(" opacity=\"0.6\"");
    }
    out.push_str(&format!(
        "<text x=\"{x:.1}\" y=\"{:.1}\" textLength=\"{width:.1}\" fill=\"{fg}\"{attributes}>{text}</text>\n",
        y + CELL.1 * 0.75
    ));
}

/// A colour as SVG writes it; none for the terminal's own.
fn color(color: Option<Color>) -> Option<String> {
    let sixteen = |i: usize| SIXTEEN.get(i).map(|name| (*name).to_string());
    match color? {
        Color::Reset => None,
        Color::Black => sixteen(0),
        Color::Red => sixteen(1),
        Color::Green => sixteen(2),
        Color::Yellow => sixteen(3),
        Color::Blue => sixteen(4),
        Color::Magenta => sixteen(5),
        Color::Cyan => sixteen(6),
        Color::Gray => sixteen(7),
        Color::DarkGray => sixteen(8),
        Color::LightRed => sixteen(9),
        Color::LightGreen => sixteen(10),
        Color::LightYellow => sixteen(11),
        Color::LightBlue => sixteen(12),
        Color::LightMagenta => sixteen(13),
        Color::LightCyan => sixteen(14),
        Color::White => sixteen(15),
        Color::Rgb(r, g, b) => Some(format!("#{r:02x}{g:02x}{b:02x}")),
        Color::Indexed(i) if i < 16 => sixteen(usize::from(i)),
        // A cube of six steps each, then greys.
        Color::Indexed(i) if i < 232 => {
            let step = |n: u8| if n == 0 { 0 } else { 55 + 40 * u32::from(n) };
            let n = i - 16;
            Some(format!(
                "#{:02x}{:02x}{:02x}",
                step(n / 36),
                step(n / 6 % 6),
                step(n % 6)
            ))
        }
        Color::Indexed(i) => {
            let grey = 8 + 10 * u32::from(i - 232);
            Some(format!("#{grey:02x}{grey:02x}{grey:02x}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui_core::layout::Rect;
    use ratatui_core::style::Style;

    #[test]
    fn text_is_escaped_and_runs_are_joined() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 1));
        buffer.set_string(0, 0, "a<b", Style::new().fg(Color::Indexed(196)));
        let svg = svg(&buffer, Background::Dark);
        assert!(svg.contains("fill=\"#ff0000\">a&lt;b</text>"), "{svg}");
    }
}
