//! A cursor over the bytes of a text: names, numbers, strings and punctuation of MLIR.
//!
//! There is no token list: the parser asks for what it expects, and the cursor either moves past it
//! or stays. White space and `//` comments are skipped before every item.

use std::borrow::Cow;
use std::ops::Range;

/// Position in a text.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    pos: usize,
}

/// A number as written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Number<'a> {
    /// The digits, with sign, point and exponent.
    pub text: &'a str,
    /// `0x…`, without sign.
    pub hex: bool,
    /// Has a decimal point.
    pub float: bool,
    /// Offset in the text.
    pub at: usize,
}

/// Where a string literal is broken, and why.
pub(super) type BadString = (Range<usize>, &'static str);

fn is_word_start(b: u8) -> bool {
    b.is_ascii_alphabetic() || b == b'_'
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.')
}

/// Characters of a name after `%`, `@`, `^` or `#`.
fn is_suffix(b: u8) -> bool {
    is_word(b) || b == b'-'
}

impl<'a> Cursor<'a> {
    /// At the start of the text, behind a byte order mark, which some editors write.
    pub fn new(text: &'a str) -> Self {
        let pos = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Cursor { text, pos }
    }

    /// Offset of the next item (after white space and comments).
    pub fn at(&mut self) -> usize {
        self.skip();
        self.pos
    }

    /// Offset behind the last item read.
    pub fn end(&self) -> usize {
        self.pos
    }

    /// Goes back (or forward) to an offset given out before.
    pub fn seek(&mut self, pos: usize) {
        self.pos = pos;
    }

    pub fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or("")
    }

    fn byte(&self, pos: usize) -> u8 {
        self.text.as_bytes().get(pos).copied().unwrap_or(0)
    }

    fn skip(&mut self) {
        let bytes = self.text.as_bytes();
        loop {
            match self.byte(self.pos) {
                b' ' | b'\n' | b'\t' | b'\r' => self.pos += 1,
                b'/' if self.byte(self.pos + 1) == b'/' => {
                    let rest = &bytes[self.pos..];
                    self.pos += rest.iter().position(|&b| b == b'\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// The first byte of the next item; 0 at the end.
    pub fn peek(&mut self) -> u8 {
        self.skip();
        self.byte(self.pos)
    }

    /// True at the end of the text.
    pub fn is_end(&mut self) -> bool {
        self.skip();
        self.pos >= self.text.len()
    }

    /// The byte right here, white space not skipped.
    pub fn here(&self) -> u8 {
        self.byte(self.pos)
    }

    /// Moves past a byte.
    pub fn eat(&mut self, b: u8) -> bool {
        let found = self.peek() == b && self.pos < self.text.len();
        self.pos += usize::from(found);
        found
    }

    /// Moves past one character, whatever it is.
    pub fn step(&mut self) {
        let rest = self.text.get(self.pos..).unwrap_or("");
        self.pos += rest.chars().next().map_or(0, char::len_utf8);
    }

    /// Moves past punctuation of several bytes, such as `->`.
    pub fn eat_str(&mut self, s: &str) -> bool {
        self.skip();
        let found = self.text.as_bytes()[self.pos.min(self.text.len())..].starts_with(s.as_bytes());
        self.pos += if found { s.len() } else { 0 };
        found
    }

    fn run(&mut self, start: usize, accept: impl Fn(u8) -> bool) -> &'a str {
        let bytes = &self.text.as_bytes()[start..];
        let len = bytes.iter().position(|&b| !accept(b)).unwrap_or(bytes.len());
        self.pos = start + len;
        &self.text[start..self.pos]
    }

    /// The next bare word (`arith.addi`, `loc`, `tensor`) without moving.
    pub fn peek_word(&mut self) -> &'a str {
        let start = self.at();
        let word = self.word().unwrap_or("");
        self.pos = start;
        word
    }

    /// A bare word.
    pub fn word(&mut self) -> Option<&'a str> {
        if is_word_start(self.peek()) {
            Some(self.run(self.pos, is_word))
        } else {
            None
        }
    }

    /// Moves past this very word.
    pub fn eat_word(&mut self, word: &str) -> bool {
        let start = self.at();
        if self.word() == Some(word) {
            return true;
        }
        self.pos = start;
        false
    }

    /// The name after a sigil (`%x_ptr`, `%12`, `^bb3`, `#loc7`), the sigil moved past.
    pub fn sigil_name(&mut self, sigil: u8) -> Option<&'a str> {
        if self.peek() != sigil || !is_suffix(self.byte(self.pos + 1)) {
            return None;
        }
        let start = self.pos + 1;
        if self.byte(start).is_ascii_digit() {
            return Some(self.run(start, |b| b.is_ascii_digit()));
        }
        Some(self.run(start, is_suffix))
    }

    /// Digits right here.
    pub fn digits(&mut self) -> Option<&'a str> {
        if self.here().is_ascii_digit() {
            Some(self.run(self.pos, |b| b.is_ascii_digit()))
        } else {
            None
        }
    }

    /// A number: `-12`, `1.5e-03`, `0xFF800000`.
    pub fn number(&mut self) -> Option<Number<'a>> {
        let at = self.at();
        let negative = self.byte(at) == b'-';
        let start = at + usize::from(negative);
        if !self.byte(start).is_ascii_digit() {
            return None;
        }
        let hex = !negative
            && self.byte(start) == b'0'
            && self.byte(start + 1) == b'x'
            && self.byte(start + 2).is_ascii_hexdigit();
        if hex {
            self.run(start + 2, |b| b.is_ascii_hexdigit());
            return Some(Number {
                text: &self.text[at..self.pos],
                hex,
                float: false,
                at,
            });
        }
        self.run(start, |b| b.is_ascii_digit());
        let float = self.here() == b'.';
        if float {
            self.run(self.pos + 1, |b| b.is_ascii_digit());
            if matches!(self.here(), b'e' | b'E') {
                let sign = usize::from(matches!(self.byte(self.pos + 1), b'+' | b'-'));
                if self.byte(self.pos + 1 + sign).is_ascii_digit() {
                    self.run(self.pos + 1 + sign, |b| b.is_ascii_digit());
                }
            }
        }
        Some(Number {
            text: &self.text[at..self.pos],
            hex,
            float,
            at,
        })
    }

    /// A string literal: its bytes, or an error at an offset.
    pub fn string(&mut self) -> Option<Result<Cow<'a, str>, BadString>> {
        if self.peek() != b'"' {
            return None;
        }
        let open = self.pos;
        let rest = &self.text.as_bytes()[open + 1..];
        let stop = rest
            .iter()
            .position(|&b| matches!(b, b'"' | b'\\' | b'\n'))
            .unwrap_or(rest.len());
        if rest.get(stop) == Some(&b'"') {
            self.pos = open + 1 + stop + 1;
            return Some(Ok(Cow::Borrowed(&self.text[open + 1..open + 1 + stop])));
        }
        Some(self.escaped(open).map(Cow::Owned))
    }

    fn escaped(&mut self, open: usize) -> Result<String, BadString> {
        let mut out = Vec::new();
        let mut pos = open + 1;
        loop {
            match self.byte(pos) {
                b'"' => break,
                b'\\' => {
                    let (a, b) = (self.byte(pos + 1), self.byte(pos + 2));
                    let digit = |b: u8| (b as char).to_digit(16).map(|d| d as u8);
                    match (a, digit(a), digit(b)) {
                        (_, Some(high), Some(low)) => {
                            out.push(high * 16 + low);
                            pos += 3;
                            continue;
                        }
                        (b'n', ..) => out.push(b'\n'),
                        (b't', ..) => out.push(b'\t'),
                        (b'"' | b'\\', ..) => out.push(a),
                        _ => {
                            return Err((
                                pos..pos + 1,
                                "not an escape; `\\n`, `\\t`, `\\\\`, `\\\"` and `\\HH` are",
                            ));
                        }
                    }
                    pos += 2;
                }
                b if pos >= self.text.len() || b == b'\n' => {
                    return Err((open..open + 1, "this string is not closed on its line"));
                }
                b => {
                    out.push(b);
                    pos += 1;
                }
            }
        }
        self.pos = pos + 1;
        String::from_utf8(out).map_err(|_| (open..pos + 1, "the bytes of this string are not UTF-8"))
    }

    /// The range of the item at an offset, for a caret under it.
    pub fn item(&self, at: usize) -> Range<usize> {
        let bytes = self.text.as_bytes();
        let at = at.min(bytes.len());
        let rest = &bytes[at..];
        let len = match rest.first() {
            None | Some(b'\n') => 0,
            Some(b'"') => {
                1 + rest[1..]
                    .iter()
                    .position(|&b| b == b'"' || b == b'\n')
                    .map_or(0, |i| i + 1)
            }
            Some(b'%' | b'@' | b'^' | b'#' | b'!') => {
                1 + rest[1..].iter().take_while(|&&b| is_suffix(b)).count()
            }
            Some(&b) if is_suffix(b) => rest.iter().take_while(|&&b| is_suffix(b)).count(),
            Some(_) => 1,
        };
        at..self.text.floor_char_boundary(at + len.clamp(1, 200)).max(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_read_one_after_the_other() {
        let mut c = Cursor::new("  // c\n %x_ptr#1 = arith.addi -> 64x32 -1.5e-03 0xFF \"a\\22\\0A\" ^bb1");
        assert_eq!(c.sigil_name(b'%'), Some("x_ptr"));
        assert_eq!(c.here(), b'#');
        c.seek(c.end() + 1);
        assert_eq!(c.digits(), Some("1"));
        assert!(c.eat(b'='));
        assert_eq!(c.word(), Some("arith.addi"));
        assert!(c.eat_str("->"));
        assert_eq!(c.number().map(|n| n.text), Some("64"));
        assert_eq!(c.word(), Some("x32"));
        let n = c.number().unwrap();
        assert_eq!((n.text, n.float), ("-1.5e-03", true));
        assert_eq!(c.number().map(|n| (n.text, n.hex)), Some(("0xFF", true)));
        assert_eq!(c.string().unwrap().unwrap(), "a\"\n");
        assert_eq!(c.sigil_name(b'^'), Some("bb1"));
        assert!(c.is_end() && !c.eat(0));
    }

    #[test]
    fn a_broken_string_is_an_error() {
        assert!(Cursor::new("\"ab\n\"").string().unwrap().is_err());
        assert!(Cursor::new("\"ab\\").string().unwrap().is_err());
        assert!(Cursor::new("\"\\q\"").string().unwrap().is_err());
        assert!(Cursor::new("\"\\FF\"").string().unwrap().is_err());
        assert!(Cursor::new("ab").string().is_none());
    }
}
