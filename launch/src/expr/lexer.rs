//! Tokens of expressions, by Python's rules.

use std::ops::Range;
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source};

/// One token; `Symbol` covers operators, brackets and keywords.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Int(i128),
    Float(f64),
    Str(String),
    Name(String),
    Symbol(&'static str),
    End,
}

/// Longest first, so that the first match is the right one.
const SYMBOLS: [&str; 28] = [
    "...", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "@", "&", "|", "^", "~",
    "<", ">", "(", ")", "[", "]", ",", ":", ".",
];

/// Words that are no names; those of Python that have no meaning here are refused by the parser.
const KEYWORDS: [&str; 10] = [
    "and", "or", "not", "if", "else", "in", "is", "lambda", "for", "await",
];

/// All tokens of the text in `range`, the last one `End`, with byte ranges in the source.
pub(super) fn tokens(source: &Arc<Source>, range: Range<usize>) -> Result<Vec<(Token, Range<usize>)>> {
    let mut lexer = Lexer {
        source,
        at: range.start,
        end: range.end,
    };
    let mut tokens = Vec::new();
    loop {
        let (token, span) = lexer.next()?;
        let done = token == Token::End;
        tokens.push((token, span));
        if done {
            return Ok(tokens);
        }
    }
}

struct Lexer<'a> {
    source: &'a Arc<Source>,
    at: usize,
    end: usize,
}

impl Lexer<'_> {
    fn rest(&self) -> &str {
        self.source.text.get(self.at..self.end).unwrap_or_default()
    }

    fn error(&self, span: Range<usize>, message: impl Into<String>, label: &str) -> Box<Error> {
        Error::input(message).at(self.source, span, label)
    }

    /// Moves over the longest prefix of characters for which `accept` holds, and gives it.
    fn take_while(&mut self, accept: impl Fn(char) -> bool) -> String {
        let taken: String = self.rest().chars().take_while(|&c| accept(c)).collect();
        self.at += taken.len();
        taken
    }

    fn next(&mut self) -> Result<(Token, Range<usize>)> {
        self.take_while(|c| matches!(c, ' ' | '\t' | '\r' | '\n'));
        let start = self.at;
        let mut following = self.rest().chars();
        let Some(c) = following.next() else {
            return Ok((Token::End, start..start));
        };
        let digit_next = following.next().is_some_and(|c| c.is_ascii_digit());
        let token = if c.is_ascii_digit() || (c == '.' && digit_next) {
            self.number()?
        } else if c == '_' || c.is_alphabetic() {
            let word = self.take_while(|c| c == '_' || c.is_alphanumeric());
            if matches!(self.rest().chars().next(), Some('"' | '\'')) {
                return Err(self.error(
                    start..self.at,
                    "string prefixes are not known here",
                    "not a plain string",
                ));
            }
            match KEYWORDS.iter().find(|k| **k == word) {
                Some(keyword) => Token::Symbol(keyword),
                None => Token::Name(word),
            }
        } else if c == '\'' || c == '"' {
            self.string(c)?
        } else if let Some(symbol) = SYMBOLS.iter().find(|s| self.rest().starts_with(**s)) {
            self.at += symbol.len();
            Token::Symbol(symbol)
        } else if c == '=' {
            self.at += 1;
            Token::Symbol("=")
        } else {
            let help = match c {
                '!' => "write `not` for negation, `!=` for unequal",
                _ => "expressions have Python's syntax",
            };
            return Err(self
                .error(
                    start..start + c.len_utf8(),
                    format!("unexpected character `{}`", c.escape_debug()),
                    "here",
                )
                .help(help));
        };
        Ok((token, start..self.at))
    }

    fn number(&mut self) -> Result<Token> {
        let start = self.at;
        let radix = match self.rest().get(..2) {
            Some("0x" | "0X") => 16,
            Some("0o" | "0O") => 8,
            Some("0b" | "0B") => 2,
            _ => 10,
        };
        if radix != 10 {
            self.at += 2;
            let digits = self
                .take_while(|c| c == '_' || c.is_alphanumeric())
                .replace('_', "");
            return match i128::from_str_radix(&digits, radix) {
                Ok(value) => Ok(Token::Int(value)),
                Err(_) => Err(self.error(start..self.at, "not a number", "wrong digits, or too large")),
            };
        }
        let mut text = self.take_while(|c| c == '_' || c.is_ascii_digit());
        let mut float = false;
        if self.rest().starts_with('.') {
            float = true;
            self.at += 1;
            text.push('.');
            text += &self.take_while(|c| c == '_' || c.is_ascii_digit());
        }
        if self.rest().starts_with(['e', 'E']) {
            float = true;
            self.at += 1;
            text.push('e');
            if self.rest().starts_with(['+', '-']) {
                let sign = self.take_sign();
                text.push(sign);
            }
            text += &self.take_while(|c| c == '_' || c.is_ascii_digit());
        }
        // `1st`, `2x`: no number, rather than a number and a name.
        let tail = self.take_while(|c| c == '_' || c.is_alphanumeric());
        let span = start..self.at;
        if !tail.is_empty() || text.ends_with('_') || text.contains("__") {
            return Err(self.error(span, "not a number", "a number ends before a letter"));
        }
        let text = text.replace('_', "");
        if float {
            return match text.parse::<f64>() {
                Ok(value) => Ok(Token::Float(value)),
                Err(_) => Err(self.error(span, "not a number", "an exponent has digits")),
            };
        }
        if text.len() > 1 && text.starts_with('0') && text.bytes().any(|b| b != b'0') {
            return Err(self.error(span, "a number has no leading zeros", "write 0o… for octal"));
        }
        match text.parse::<i128>() {
            Ok(value) => Ok(Token::Int(value)),
            Err(_) => Err(self.error(span, "integer too large", "more than 128 bits")),
        }
    }

    fn take_sign(&mut self) -> char {
        let sign = if self.rest().starts_with('-') { '-' } else { '+' };
        self.at += 1;
        sign
    }

    fn string(&mut self, quote: char) -> Result<Token> {
        let start = self.at;
        self.at += 1;
        let mut value = String::new();
        loop {
            let mut chars = self.rest().chars();
            let Some(c) = chars.next() else {
                return Err(self.error(
                    start..self.at,
                    "string without an end",
                    &format!("expected a closing {quote}"),
                ));
            };
            let escaped = chars.next();
            let here = self.at;
            self.at += c.len_utf8();
            if c == quote {
                return Ok(Token::Str(value));
            }
            if c != '\\' {
                value.push(c);
                continue;
            }
            self.at += escaped.map_or(0, char::len_utf8);
            value.push(match escaped {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('r') => '\r',
                Some('0') => '\0',
                Some(c @ ('\\' | '\'' | '"')) => c,
                _ => {
                    return Err(self.error(
                        here..self.at,
                        "unknown escape in a string",
                        r#"known are \n \t \r \0 \\ \' \""#,
                    ));
                }
            });
        }
    }
}
