//! Texts with a cursor: the author's source, and the operations.

use tilescope_diagnostics::Source;

use crate::syntax::{self, Language, Parts};

/// A line as it is shown.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Its text; tabs are blanks.
    pub text: String,
    /// Its coloured parts.
    pub parts: Parts,
}

/// A text, and which part of it is seen. Lines count from 1, as places do.
#[derive(Debug, Clone, Default)]
pub struct TextView {
    /// Its name, as places give it.
    pub name: String,
    /// Its lines.
    pub lines: Vec<Line>,
    /// The cursor's line.
    pub cursor: u32,
    /// The first line seen.
    pub top: u32,
    /// Columns scrolled off to the left.
    pub left: usize,
}

impl TextView {
    /// A view of a text, from its beginning.
    pub fn new(name: &str, source: &Source) -> TextView {
        let text = source.text.replace('\t', "    ");
        let parts = syntax::highlight(&text, Language::of(name));
        let lines = text.lines().zip(parts);
        TextView {
            name: name.to_string(),
            lines: lines
                .map(|(text, parts)| Line {
                    text: text.to_string(),
                    parts,
                })
                .collect(),
            cursor: 1,
            top: 1,
            left: 0,
        }
    }

    /// The number of the last line; at least 1.
    pub fn last(&self) -> u32 {
        u32::try_from(self.lines.len()).unwrap_or(u32::MAX).max(1)
    }

    /// A line by its number.
    pub fn line(&self, number: u32) -> Option<&Line> {
        self.lines.get((number as usize).checked_sub(1)?)
    }

    /// Puts the cursor on a line, or the nearest there is.
    pub fn go(&mut self, line: u32) {
        self.cursor = line.clamp(1, self.last());
    }

    /// Moves the cursor by lines.
    pub fn step(&mut self, lines: i64) {
        let target = (i64::from(self.cursor) + lines).clamp(1, i64::from(self.last()));
        self.cursor = target as u32;
    }

    /// Scrolls so that the cursor is seen: by as little as needed, or, from afar, to the middle.
    pub fn settle(&mut self, rows: usize) {
        let rows = u32::try_from(rows).unwrap_or(u32::MAX).max(1);
        let margin = (rows / 6).min(3);
        let (first, last) = (self.top + margin, (self.top + rows - 1).saturating_sub(margin));
        if self.cursor < first || self.cursor > last {
            let near = self.cursor + rows / 2 >= first && self.cursor <= last + rows / 2;
            self.top = match (near, self.cursor < first) {
                (true, true) => self.cursor.saturating_sub(margin),
                (true, false) => (self.cursor + margin + 1).saturating_sub(rows),
                (false, _) => self.cursor.saturating_sub(rows / 2),
            };
        }
        let end = (self.last() + 1).saturating_sub(rows).max(1);
        self.top = self.top.clamp(1, end);
    }

    /// The next line after the cursor that holds a text, or the one before it; around the ends.
    ///
    /// Small letters match large ones too, unless the text has a large one.
    pub fn find(&self, what: &str, forwards: bool) -> Option<u32> {
        let exact = what.chars().any(char::is_uppercase);
        let hit = |line: &Line| match exact {
            true => line.text.contains(what),
            false => line.text.to_lowercase().contains(what),
        };
        let count = self.last();
        let mut numbers = (1..=count).map(|i| match forwards {
            true => (self.cursor - 1 + i) % count + 1,
            false => (self.cursor - 1 + count - i) % count + 1,
        });
        numbers.find(|&number| self.line(number).is_some_and(hit))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view() -> TextView {
        let text: String = (1..=100).map(|i| format!("line {i}\n")).collect();
        TextView::new("x.py", &Source::new("x.py", text))
    }

    #[test]
    fn the_cursor_stays_in_sight() {
        let mut view = view();
        for line in [50, 51, 60, 1, 100] {
            view.go(line);
            view.settle(10);
            assert!(
                view.top <= line && line < view.top + 10,
                "{line} from {}",
                view.top
            );
        }
        assert_eq!(view.top, 91);
    }

    #[test]
    fn a_search_goes_around() {
        let mut view = view();
        view.go(99);
        assert_eq!(view.find("line 9", true), Some(9));
        assert_eq!(view.find("Line", true), None);
        assert_eq!(view.find("line 100", false), Some(100));
    }
}
