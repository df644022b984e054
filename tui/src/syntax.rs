//! Colours of source text: Python and TTIR, line by line, by a scanner that knows words, strings and comments.
//!
//! Left out: everything that needs a parser.

use std::ops::Range;

use crate::theme::Role;

/// Parts of a line that are not plain, as byte ranges, rising.
pub type Parts = Vec<(Range<usize>, Role)>;

/// A language that is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Python.
    Python,
    /// TTIR.
    Ttir,
    /// Rust, whose kernels are written with operators.
    Rust,
}

impl Language {
    /// By the name of the file.
    pub fn of(file: &str) -> Language {
        match file.rsplit_once('.').map(|(_, kind)| kind) {
            Some("py") => Language::Python,
            Some("rs") => Language::Rust,
            _ => Language::Ttir,
        }
    }

    fn keywords(self) -> &'static [&'static str] {
        match self {
            Language::Python => &[
                "and", "as", "assert", "break", "class", "continue", "def", "elif", "else", "False", "for",
                "from", "global", "if", "import", "in", "is", "lambda", "None", "not", "or", "pass",
                "return", "True", "while", "with",
            ],
            Language::Rust => &[
                "as", "else", "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "move",
                "mut", "pub", "ref", "return", "struct", "true", "use", "while",
            ],
            Language::Ttir => &[
                "module",
                "attributes",
                "to",
                "step",
                "iter_args",
                "else",
                "do",
                "true",
                "false",
            ],
        }
    }

    fn comment(self) -> &'static str {
        match self {
            Language::Python => "#",
            Language::Rust | Language::Ttir => "//",
        }
    }
}

/// The coloured parts of every line of a text.
pub fn highlight(text: &str, language: Language) -> Vec<Parts> {
    // The quotes of a string that goes on over lines.
    let mut open: Option<&'static str> = None;
    text.lines().map(|line| scan(line, language, &mut open)).collect()
}

fn scan(line: &str, language: Language, open: &mut Option<&'static str>) -> Parts {
    let mut parts = Parts::new();
    let mut at = 0;
    if let Some(quotes) = *open {
        match line.find(quotes) {
            Some(end) => {
                at = end + quotes.len();
                *open = None;
            }
            None => at = line.len(),
        }
        parts.push((0..at, Role::Text));
    }
    while let Some(first) = line.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = line.get(at..).unwrap_or_default();
        let (length, role) = token(rest, first, language, open);
        if let Some(role) = role {
            parts.push((at..at + length, role));
        }
        at += length.max(first.len_utf8());
    }
    parts
}

/// The length of the token that a text begins with, and its role.
fn token(
    rest: &str,
    first: char,
    language: Language,
    open: &mut Option<&'static str>,
) -> (usize, Option<Role>) {
    if rest.starts_with(language.comment()) {
        return (rest.len(), Some(Role::Comment));
    }
    if language == Language::Python {
        for quotes in ["\"\"\"", "'''"] {
            if let Some(inside) = rest.strip_prefix(quotes) {
                let end = inside.find(quotes).map(|end| end + 2 * quotes.len());
                if end.is_none() {
                    *open = Some(quotes);
                }
                return (end.unwrap_or(rest.len()), Some(Role::Text));
            }
        }
    }
    if first == '"' || (first == '\'' && language == Language::Python) {
        return (string(rest, first), Some(Role::Text));
    }
    if first.is_ascii_digit() {
        return (
            run(rest, |c| c.is_alphanumeric() || c == '.' || c == '_'),
            Some(Role::Number),
        );
    }
    if first == '@' || first == '%' || first == '#' {
        let length = 1 + run(rest.get(1..).unwrap_or_default(), |c| {
            c.is_alphanumeric() || "._$:".contains(c)
        });
        let role = match (first, language) {
            ('#', _) => Some(Role::Dim),
            ('@', _) => Some(Role::Call),
            _ => None,
        };
        return (length, role);
    }
    if first.is_alphabetic() || first == '_' {
        let dotted = language == Language::Ttir;
        let length = run(rest, |c| c.is_alphanumeric() || c == '_' || (dotted && c == '.'));
        let word = rest.get(..length).unwrap_or_default();
        let called = rest.get(length..).is_some_and(|after| after.starts_with('('));
        let role = if language.keywords().contains(&word) {
            Some(Role::Keyword)
        } else if dotted && word == "loc" {
            Some(Role::Dim)
        } else if (dotted && word.contains('.')) || (!dotted && called) {
            Some(Role::Call)
        } else {
            None
        };
        return (length, role);
    }
    (first.len_utf8(), None)
}

fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// The length of a string in quotes on one line.
fn string(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (i, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return i + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roles(text: &str, language: Language) -> Vec<Vec<(String, Role)>> {
        let lines = highlight(text, language).into_iter().zip(text.lines());
        lines
            .map(|(parts, line)| {
                parts
                    .into_iter()
                    .map(|(range, role)| (line[range].to_string(), role))
                    .collect()
            })
            .collect()
    }

    #[test]
    fn words_strings_and_comments_of_python() {
        let found = roles(
            "x = tl.load(p) # é\n\"\"\"one\ntwo\"\"\" if 1.5",
            Language::Python,
        );
        let part = |text: &str, role| (text.to_string(), role);
        assert_eq!(found[0], [part("load", Role::Call), part("# é", Role::Comment)]);
        assert_eq!(found[1], [part("\"\"\"one", Role::Text)]);
        assert_eq!(
            found[2],
            [
                part("two\"\"\"", Role::Text),
                part("if", Role::Keyword),
                part("1.5", Role::Number)
            ]
        );
    }

    #[test]
    fn operations_of_ttir() {
        let found = roles("%0 = tt.load %p loc(#loc3)", Language::Ttir);
        let words: Vec<&str> = found[0].iter().map(|(word, _)| word.as_str()).collect();
        assert_eq!(words, ["tt.load", "loc", "#loc3"]);
    }
}
