//! Putting text into a buffer, always within an area.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

/// Writes text at a column and row of an area; what does not fit is cut. Gives the column after it.
pub fn text(
    buffer: &mut Buffer,
    area: Rect,
    (column, row): (usize, usize),
    text: &str,
    style: Style,
) -> usize {
    let area = area.intersection(*buffer.area());
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    if column >= width || row >= height {
        return column;
    }
    let (x, y) = (area.x + column as u16, area.y + row as u16);
    let (end, _) = buffer.set_stringn(x, y, text, width - column, style);
    usize::from(end - area.x)
}

/// Writes text that ends at a column.
pub fn text_right(buffer: &mut Buffer, area: Rect, (end, row): (usize, usize), what: &str, style: Style) {
    let length = what.chars().count();
    let skipped = length.saturating_sub(end);
    let cut: String = what.chars().skip(skipped).collect();
    text(buffer, area, (end.saturating_sub(length), row), &cut, style);
}

/// Gives a part of a row of an area a style, on top of what is there.
pub fn style(buffer: &mut Buffer, area: Rect, row: usize, columns: std::ops::Range<usize>, style: Style) {
    let area = area.intersection(*buffer.area());
    let end = columns.end.min(usize::from(area.width));
    if row >= usize::from(area.height) || columns.start >= end {
        return;
    }
    let (x, y) = (area.x + columns.start as u16, area.y + row as u16);
    buffer.set_style(Rect::new(x, y, (end - columns.start) as u16, 1), style);
}

/// What is below a pane's title.
pub fn body(area: Rect) -> Rect {
    let rows = area.height.saturating_sub(1);
    Rect::new(area.x, area.y + (area.height - rows), area.width, rows)
}

/// Text cut to a number of characters, with a sign that it was.
pub fn fit(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_string(),
    }
}
