//! Cells to the terminal, by crossterm: only those that changed, and a colour only where it changes.

use std::io::{BufWriter, Result, Stdout, Write, stdout};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{
    Attribute, Color as Ink, Print, SetAttribute, SetBackgroundColor, SetForegroundColor,
};
use crossterm::terminal::{Clear, ClearType};
use ratatui_core::backend::{self, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier, Style};

/// The terminal on stdout.
#[derive(Debug)]
pub struct Backend {
    out: BufWriter<Stdout>,
}

impl Backend {
    /// Nothing is written yet.
    pub fn new() -> Backend {
        Backend {
            out: BufWriter::with_capacity(1 << 16, stdout()),
        }
    }

    fn style(&mut self, style: Style) -> Result<()> {
        queue!(self.out, SetAttribute(Attribute::Reset))?;
        let attributes = [
            (Modifier::BOLD, Attribute::Bold),
            (Modifier::DIM, Attribute::Dim),
            (Modifier::UNDERLINED, Attribute::Underlined),
            (Modifier::REVERSED, Attribute::Reverse),
        ];
        for (modifier, attribute) in attributes {
            if style.add_modifier.contains(modifier) {
                queue!(self.out, SetAttribute(attribute))?;
            }
        }
        if let Some(ink) = style.fg.and_then(ink) {
            queue!(self.out, SetForegroundColor(ink))?;
        }
        if let Some(ink) = style.bg.and_then(ink) {
            queue!(self.out, SetBackgroundColor(ink))?;
        }
        Ok(())
    }
}

impl backend::Backend for Backend {
    type Error = std::io::Error;

    fn draw<'a, I>(&mut self, content: I) -> Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let mut last: Option<Style> = None;
        let mut next: Option<(u16, u16)> = None;
        for (x, y, cell) in content {
            if next != Some((x, y)) {
                queue!(self.out, MoveTo(x, y))?;
            }
            let style = cell.style();
            if last != Some(style) {
                self.style(style)?;
                last = Some(style);
            }
            queue!(self.out, Print(cell.symbol()))?;
            next = Some((x.saturating_add(1), y));
        }
        queue!(self.out, SetAttribute(Attribute::Reset))
    }

    fn hide_cursor(&mut self) -> Result<()> {
        queue!(self.out, Hide)?;
        self.out.flush()
    }

    fn show_cursor(&mut self) -> Result<()> {
        queue!(self.out, Show)?;
        self.out.flush()
    }

    fn get_cursor_position(&mut self) -> Result<Position> {
        crossterm::cursor::position().map(|(x, y)| Position::new(x, y))
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> Result<()> {
        let Position { x, y } = position.into();
        queue!(self.out, MoveTo(x, y))?;
        self.out.flush()
    }

    fn clear(&mut self) -> Result<()> {
        queue!(self.out, Clear(ClearType::All))?;
        self.out.flush()
    }

    fn clear_region(&mut self, region: backend::ClearType) -> Result<()> {
        let region = match region {
            backend::ClearType::All => ClearType::All,
            backend::ClearType::AfterCursor => ClearType::FromCursorDown,
            backend::ClearType::BeforeCursor => ClearType::FromCursorUp,
            backend::ClearType::CurrentLine => ClearType::CurrentLine,
            backend::ClearType::UntilNewLine => ClearType::UntilNewLine,
        };
        queue!(self.out, Clear(region))?;
        self.out.flush()
    }

    fn size(&self) -> Result<Size> {
        crossterm::terminal::size().map(|(columns, rows)| Size::new(columns, rows))
    }

    fn window_size(&mut self) -> Result<WindowSize> {
        Ok(WindowSize {
            columns_rows: self.size()?,
            pixels: Size::new(0, 0),
        })
    }

    fn flush(&mut self) -> Result<()> {
        self.out.flush()
    }
}

/// A colour; none for the terminal's own, which the reset before it has set.
fn ink(color: Color) -> Option<Ink> {
    Some(match color {
        Color::Reset => return None,
        Color::Black => Ink::Black,
        Color::Red => Ink::DarkRed,
        Color::Green => Ink::DarkGreen,
        Color::Yellow => Ink::DarkYellow,
        Color::Blue => Ink::DarkBlue,
        Color::Magenta => Ink::DarkMagenta,
        Color::Cyan => Ink::DarkCyan,
        Color::Gray => Ink::Grey,
        Color::DarkGray => Ink::DarkGrey,
        Color::LightRed => Ink::Red,
        Color::LightGreen => Ink::Green,
        Color::LightYellow => Ink::Yellow,
        Color::LightBlue => Ink::Blue,
        Color::LightMagenta => Ink::Magenta,
        Color::LightCyan => Ink::Cyan,
        Color::White => Ink::White,
        Color::Indexed(index) => Ink::AnsiValue(index),
        Color::Rgb(r, g, b) => Ink::Rgb { r, g, b },
    })
}
