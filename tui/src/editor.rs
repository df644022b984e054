//! One line being typed, with a cursor.

use crate::input::{Key, KeyCode};

/// A line of text and a cursor between its characters.
#[derive(Debug, Clone, Default)]
pub struct Editor {
    text: Vec<char>,
    cursor: usize,
}

impl Editor {
    /// A line with the cursor at its end.
    pub fn with(text: &str) -> Editor {
        let text: Vec<char> = text.chars().collect();
        Editor {
            cursor: text.len(),
            text,
        }
    }

    /// The line.
    pub fn text(&self) -> String {
        self.text.iter().collect()
    }

    /// What is before the cursor.
    pub fn before(&self) -> String {
        self.text.iter().take(self.cursor).collect()
    }

    /// The cursor, in characters.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// Writes at the cursor.
    pub fn insert(&mut self, text: &str) {
        for c in text.chars().filter(|c| !c.is_control()) {
            self.text.insert(self.cursor.min(self.text.len()), c);
            self.cursor += 1;
        }
    }

    /// Does what a key does to a line; false if it does nothing.
    pub fn key(&mut self, key: Key) -> bool {
        match (key.control, key.code) {
            (false, KeyCode::Char(c)) => self.insert(c.encode_utf8(&mut [0; 4])),
            (_, KeyCode::Backspace) => {
                if self.cursor == 0 {
                    return false;
                }
                self.cursor -= 1;
                self.text.remove(self.cursor);
            }
            (_, KeyCode::Delete) => {
                if self.cursor < self.text.len() {
                    self.text.remove(self.cursor);
                }
            }
            (_, KeyCode::Left) => self.cursor = self.cursor.saturating_sub(1),
            (_, KeyCode::Right) => self.cursor = (self.cursor + 1).min(self.text.len()),
            (_, KeyCode::Home) | (true, KeyCode::Char('a')) => self.cursor = 0,
            (_, KeyCode::End) | (true, KeyCode::Char('e')) => self.cursor = self.text.len(),
            (true, KeyCode::Char('u')) => {
                self.text.drain(..self.cursor);
                self.cursor = 0;
            }
            (true, KeyCode::Char('k')) => self.text.truncate(self.cursor),
            (true, KeyCode::Char('w')) => {
                let kept = self
                    .text
                    .iter()
                    .take(self.cursor)
                    .rposition(|c| !c.is_whitespace());
                let word = self
                    .text
                    .iter()
                    .take(kept.unwrap_or(0))
                    .rposition(|c| c.is_whitespace());
                let start = word.map_or(0, |at| at + 1);
                self.text.drain(start..self.cursor);
                self.cursor = start;
            }
            _ => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_at_its_cursor() {
        let mut line = Editor::with("print né");
        for name in ["left", "x", "ctrl-a", "del", "P", "ctrl-e", "backspace"] {
            line.key(Key::named(name).unwrap());
        }
        assert_eq!(line.text(), "Print nx");
        line.key(Key::named("ctrl-w").unwrap());
        assert_eq!((line.text().as_str(), line.cursor()), ("Print ", 6));
        line.key(Key::named("ctrl-u").unwrap());
        assert!(!line.key(Key::named("backspace").unwrap()));
    }
}
