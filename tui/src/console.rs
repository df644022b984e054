//! The console: what was asked and answered, the lines typed before, and how a word goes on.

use tilescope_debugger::COMMANDS;

/// Lines of answers that are kept.
const MOST: usize = 5000;

/// What a line of the console is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A command.
    Asked,
    /// An answer.
    Answer,
    /// An answer that says why not.
    Refused,
}

/// The console.
#[derive(Debug, Clone, Default)]
pub struct Console {
    /// Its lines, oldest first.
    pub lines: Vec<(Kind, String)>,
    /// Lines scrolled up from the end.
    pub back: usize,
    history: Vec<String>,
    /// The line of the history that is shown; none for a new one.
    at: Option<usize>,
}

impl Console {
    /// Adds a text of several lines.
    pub fn say(&mut self, kind: Kind, text: &str) {
        self.lines
            .extend(text.lines().map(|line| (kind, line.replace('\t', "    "))));
        let excess = self.lines.len().saturating_sub(MOST);
        self.lines.drain(..excess);
        self.back = 0;
    }

    /// Scrolls by lines, up if positive.
    pub fn scroll(&mut self, lines: i64, rows: usize) {
        let most = self.lines.len().saturating_sub(rows) as i64;
        self.back = (self.back as i64 + lines).clamp(0, most) as usize;
    }

    /// Remembers a line that was typed.
    pub fn remember(&mut self, line: &str) {
        self.at = None;
        if !line.trim().is_empty() && self.history.last().is_none_or(|last| last != line) {
            self.history.push(line.to_string());
        }
    }

    /// The last line typed, which an empty one repeats.
    pub fn last(&self) -> Option<&str> {
        self.history.last().map(String::as_str)
    }

    /// The line before (or after) in the history; none after the newest.
    pub fn recall(&mut self, older: bool) -> Option<String> {
        let count = self.history.len();
        self.at = match (self.at, older) {
            (None, true) => count.checked_sub(1),
            (Some(at), true) => Some(at.saturating_sub(1)),
            (Some(at), false) => Some(at + 1).filter(|&next| next < count),
            (None, false) => None,
        };
        self.at.and_then(|at| self.history.get(at).cloned())
    }
}

/// How a line may go on: what to add to it, and, where that is not all, the words that fit.
///
/// The first word is a command; others are `names`: variables, tensors, files.
pub fn complete(before: &str, names: &[String]) -> (String, Vec<String>) {
    let start = before.rfind(|c: char| !(c.is_alphanumeric() || "_.-:".contains(c)));
    let word = before.get(start.map_or(0, |at| at + 1)..).unwrap_or_default();
    let is_command = before.trim_start() == word;
    let commands = COMMANDS
        .iter()
        .map(|info| info.name.to_string())
        .chain([String::from("save")]);
    let mut fitting: Vec<String> = match is_command {
        true => commands.filter(|name| name.starts_with(word)).collect(),
        false => names
            .iter()
            .filter(|name| name.starts_with(word))
            .cloned()
            .collect(),
    };
    fitting.sort_unstable();
    fitting.dedup();
    let Some(first) = fitting.first() else {
        return (String::new(), fitting);
    };
    let same = fitting.iter().fold(first.len(), |length, name| {
        let pairs = name.char_indices().zip(first.chars());
        let differs = pairs.take_while(|((_, a), b)| a == b).last();
        length.min(differs.map_or(0, |((at, c), _)| at + c.len_utf8()))
    });
    let mut added = first.get(word.len()..same).unwrap_or_default().to_string();
    if fitting.len() == 1 && is_command {
        added.push(' ');
    }
    (added, fitting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_completed_as_far_as_they_agree() {
        assert_eq!(complete("wh", &[]).0, "");
        assert_eq!(complete("who-", &[]).0, "wrote ");
        let names = ["rows", "row_max", "x"].map(String::from);
        assert_eq!(
            complete("print ro", &names),
            (String::from("w"), vec!["row_max".into(), "rows".into()])
        );
        assert_eq!(complete("print 2*x", &names).0, "");
        assert_eq!(complete("print zz", &names).1.len(), 0);
    }

    #[test]
    fn history_goes_back_and_forth() {
        let mut console = Console::default();
        for line in ["a", "b", "b"] {
            console.remember(line);
        }
        assert_eq!(console.recall(true).as_deref(), Some("b"));
        assert_eq!(console.recall(true).as_deref(), Some("a"));
        assert_eq!(console.recall(true).as_deref(), Some("a"));
        assert_eq!(console.recall(false).as_deref(), Some("b"));
        assert_eq!(console.recall(false), None);
    }
}
