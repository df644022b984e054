//! What a user does: keys, the mouse, a new size of the screen. Each front translates its own events to these.

use std::fmt;

/// A key, without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A character; capitals are their own.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Shift and tab.
    BackTab,
    /// Deletes to the left.
    Backspace,
    /// Deletes to the right.
    Delete,
    /// An arrow.
    Up,
    /// An arrow.
    Down,
    /// An arrow.
    Left,
    /// An arrow.
    Right,
    /// To the beginning.
    Home,
    /// To the end.
    End,
    /// A page up.
    PageUp,
    /// A page down.
    PageDown,
}

/// A key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which key.
    pub code: KeyCode,
    /// With the control key.
    pub control: bool,
}

/// Names of keys that are no characters.
const NAMES: &[(&str, KeyCode)] = &[
    ("space", KeyCode::Char(' ')),
    ("enter", KeyCode::Enter),
    ("esc", KeyCode::Escape),
    ("tab", KeyCode::Tab),
    ("shift-tab", KeyCode::BackTab),
    ("backspace", KeyCode::Backspace),
    ("del", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
];

impl Key {
    /// A key without modifiers.
    pub const fn plain(code: KeyCode) -> Key {
        Key { code, control: false }
    }

    /// A character.
    pub const fn char(c: char) -> Key {
        Key::plain(KeyCode::Char(c))
    }

    /// A character with the control key.
    pub const fn control(c: char) -> Key {
        Key {
            code: KeyCode::Char(c),
            control: true,
        }
    }

    /// The key that a name stands for, as [`Key`]'s own text writes it: `s`, `S`, `ctrl-d`, `enter`.
    pub fn named(name: &str) -> Option<Key> {
        if let Some(rest) = name.strip_prefix("ctrl-") {
            let mut chars = rest.chars();
            return chars.next().filter(|_| chars.next().is_none()).map(Key::control);
        }
        if let Some(&(_, code)) = NAMES.iter().find(|(known, _)| *known == name) {
            return Some(Key::plain(code));
        }
        let mut chars = name.chars();
        chars.next().filter(|_| chars.next().is_none()).map(Key::char)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.control {
            f.write_str("ctrl-")?;
        }
        match (NAMES.iter().find(|(_, code)| *code == self.code), self.code) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, other) => write!(f, "{other:?}"),
        }
    }
}

/// What the mouse does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mouse {
    /// The left button goes down.
    Press,
    /// The wheel turns away from the user.
    ScrollUp,
    /// The wheel turns towards the user.
    ScrollDown,
}

/// An event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// A key.
    Key(Key),
    /// The mouse, at a column and row of the screen.
    Mouse(Mouse, u16, u16),
    /// A new size: columns and rows.
    Resize(u16, u16),
}

/// Events from a line of text: names of keys, `"text"` that is typed, `click:COLUMN,ROW`, `wheel-up:COLUMN,ROW`,
/// `wheel-down:COLUMN,ROW`, `size:COLUMNSxROWS`; a number and `*` before an event repeat it.
///
/// # Errors
/// The word that is none of these.
pub fn events(line: &str) -> Result<Vec<Input>, String> {
    let mut events = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"')
            && let Some((text, after)) = quoted.split_once('"')
        {
            events.extend(text.chars().map(|c| Input::Key(Key::char(c))));
            rest = after.trim_start();
            continue;
        }
        let (word, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (times, name) = match word.split_once('*') {
            Some((times, name)) if !times.is_empty() && !name.is_empty() => {
                (times.parse().map_err(|_| word.to_string())?, name)
            }
            _ => (1, word),
        };
        let event = event(name).ok_or_else(|| word.to_string())?;
        events.extend(std::iter::repeat_n(event, times));
        rest = after.trim_start();
    }
    Ok(events)
}

fn event(word: &str) -> Option<Input> {
    let pair = |text: &str, by: char| {
        let (a, b) = text.split_once(by)?;
        Some((a.parse().ok()?, b.parse().ok()?))
    };
    if let Some(size) = word.strip_prefix("size:") {
        return pair(size, 'x').map(|(columns, rows)| Input::Resize(columns, rows));
    }
    let kinds = [
        ("click:", Mouse::Press),
        ("wheel-up:", Mouse::ScrollUp),
        ("wheel-down:", Mouse::ScrollDown),
    ];
    for (prefix, mouse) in kinds {
        if let Some(place) = word.strip_prefix(prefix) {
            return pair(place, ',').map(|(column, row)| Input::Mouse(mouse, column, row));
        }
    }
    Key::named(word).map(Input::Key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_from_text() {
        let found = events("2*s \"p x\" enter click:3,4 size:80x24").unwrap();
        assert_eq!(found.len(), 8);
        assert_eq!(found[0], Input::Key(Key::char('s')));
        assert_eq!(found[3], Input::Key(Key::char(' ')));
        assert_eq!(found[6], Input::Mouse(Mouse::Press, 3, 4));
        assert_eq!(found[7], Input::Resize(80, 24));
        assert_eq!(events("s click:3"), Err(String::from("click:3")));
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        for name in [
            "s",
            "S",
            "ctrl-d",
            "enter",
            "space",
            "shift-tab",
            "pgup",
            "?",
            ":",
        ] {
            let key = Key::named(name).unwrap();
            assert_eq!(key.to_string(), name);
        }
        assert_eq!(Key::named("enters"), None);
    }
}
