//! Commands from lines of text.
//!
//! A line is a word and what follows it. Expressions are Python's, by the parser of launch files. Errors point into
//! the line.

use std::ops::Range;
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source, closest};
use tilescope_launch::expr::{Expression, Index, Node, NodeKind, UnaryOp};

use crate::command::{BreakAt, COMMANDS, Command, CommandInfo, MemoryRange, Schedule, Span};

impl Command {
    /// The command of a line; none for an empty line or a comment (`# …`).
    ///
    /// # Errors
    /// An unknown command or a malformed argument, with its place in the line.
    pub fn parse(line: &str) -> Result<Option<Command>> {
        let source = Source::new("command", line);
        let text = match line.find('#') {
            Some(hash) if line[..hash].trim().is_empty() => return Ok(None),
            _ => line,
        };
        let start = text.len() - text.trim_start().len();
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let length = text.find(char::is_whitespace).unwrap_or(text.len());
        let word = &text[..length];
        let Some(info) = CommandInfo::find(word) else {
            return Err(unknown(&source, start..start + length, word));
        };
        let after = start + length;
        let rest = line.get(after..start + text.len()).unwrap_or_default();
        let skipped = rest.len() - rest.trim_start().len();
        let mut reader = Reader {
            source,
            info,
            at: after + skipped,
            end: start + text.len(),
        };
        let command = reader.command()?;
        reader.finish()?;
        Ok(Some(command))
    }
}

fn unknown(source: &Arc<Source>, range: Range<usize>, word: &str) -> Box<Error> {
    let error = Error::input(format!("unknown command `{word}`")).at(source, range, "");
    let names = COMMANDS.iter().map(|info| info.name);
    match closest(word, names) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None => error.help("`help` lists the commands"),
    }
}

struct Reader {
    source: Arc<Source>,
    info: &'static CommandInfo,
    at: usize,
    end: usize,
}

impl Reader {
    fn rest(&self) -> &str {
        self.source.text.get(self.at..self.end).unwrap_or_default()
    }

    fn range(&self) -> Range<usize> {
        self.at..self.end
    }

    fn error(&self, range: Range<usize>, message: impl Into<String>) -> Box<Error> {
        let usage = format!("{} {}", self.info.name, self.info.usage);
        Error::input(message)
            .at(&self.source, range, "")
            .help(format!("usage: {}", usage.trim_end()))
    }

    /// The next word, blanks skipped.
    fn word(&mut self) -> Option<(String, Range<usize>)> {
        let rest = self.rest();
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        if length == 0 {
            return None;
        }
        let (word, range) = (rest[..length].to_string(), self.at..self.at + length);
        let after = &rest[length..];
        self.at += length + after.len() - after.trim_start().len();
        Some((word, range))
    }

    fn finish(&self) -> Result<()> {
        match self.rest().is_empty() {
            true => Ok(()),
            false => Err(self.error(
                self.range(),
                format!("`{}` takes no more than that", self.info.name),
            )),
        }
    }

    fn needed(&mut self, what: &str) -> Result<(String, Range<usize>)> {
        match self.word() {
            Some(word) => Ok(word),
            None => Err(self.error(self.end..self.end, format!("`{}` needs {what}", self.info.name))),
        }
    }

    fn number(&self, word: &str, range: Range<usize>) -> Result<u64> {
        word.parse()
            .map_err(|_| self.error(range, format!("`{word}` is no number")))
    }

    fn count(&mut self) -> Result<u64> {
        let Some((word, range)) = self.word() else {
            return Ok(1);
        };
        match self.number(&word, range.clone())? {
            0 => Err(self.error(range, "a count is at least 1")),
            count => Ok(count),
        }
    }

    fn id(&mut self) -> Result<Option<u32>> {
        let Some((word, range)) = self.word() else {
            return Ok(None);
        };
        let number = self.number(&word, range.clone())?;
        match u32::try_from(number) {
            Ok(id) => Ok(Some(id)),
            Err(_) => Err(self.error(range, format!("there is no breakpoint {number}"))),
        }
    }

    fn expression(&mut self, what: &str) -> Result<Expression> {
        if self.rest().is_empty() {
            return Err(self.error(self.end..self.end, format!("`{}` needs {what}", self.info.name)));
        }
        let range = self.range();
        self.at = self.end;
        Expression::parse(&self.source, range)
    }

    fn memory(&mut self) -> Result<MemoryRange> {
        let expression = self.expression("a tensor")?;
        memory_range(&expression)
    }

    fn command(&mut self) -> Result<Command> {
        let back = self.info.name.starts_with('r');
        Ok(match self.info.name {
            "step" | "rstep" => Command::Step {
                count: self.count()?,
                back,
            },
            "next" | "rnext" => Command::Next {
                count: self.count()?,
                back,
            },
            "out" | "rout" => Command::Out {
                count: self.count()?,
                back,
            },
            "stepi" | "rstepi" => Command::StepOp {
                count: self.count()?,
                back,
            },
            "continue" | "rcontinue" => Command::Continue {
                count: self.count()?,
                back,
            },
            "until" => {
                let (word, range) = self.needed("a line")?;
                Command::Until(self.place(&word, range)?)
            }
            "program" => {
                let range = self.range();
                let text = self.rest().to_string();
                self.at = self.end;
                Command::Program(self.triple(&text, range)?)
            }
            "next-program" => Command::NextProgram,
            "restart" => Command::Restart,
            "goto" => self.goto()?,
            "undo" => Command::Undo,
            "break" | "tbreak" => self.breakpoint()?,
            "watch" => self.watch()?,
            "awatch" => Command::WatchMemory {
                range: self.memory()?,
                reads: true,
            },
            "catch" => {
                let (word, range) = self.needed("`findings` or `none`")?;
                match word.as_str() {
                    "findings" | "finding" => Command::StopAtFindings(true),
                    "none" => Command::StopAtFindings(false),
                    _ => return Err(self.error(range, format!("`{word}` is neither `findings` nor `none`"))),
                }
            }
            "delete" => Command::Delete(self.id()?),
            "enable" => Command::Enable(self.id()?),
            "disable" => Command::Disable(self.id()?),
            "ignore" => {
                let Some(id) = self.id()? else {
                    return Err(self.error(self.end..self.end, "`ignore` needs the number of a breakpoint"));
                };
                let (word, range) = self.needed("a count")?;
                Command::Ignore(id, self.number(&word, range)?)
            }
            "breakpoints" => Command::Breakpoints,
            "print" => Command::Print(self.expression("an expression")?),
            "tile" => Command::Tile(self.needed("a variable")?.0),
            "mem" => Command::Memory(self.memory()?),
            "touched" => Command::Touched(self.needed("a tensor")?.0),
            "who-wrote" => Command::WhoWrote(self.memory()?),
            "why" => Command::Why(self.expression("a value")?),
            "locals" => Command::Locals,
            "args" => Command::Args,
            "bt" => Command::Backtrace,
            "list" => {
                let line = self.word();
                let line = line.map(|(word, range)| self.line(&word, range)).transpose()?;
                Command::List(line)
            }
            "ir" => Command::Ir,
            "findings" => Command::Findings,
            "prints" => Command::Prints,
            "grid" => Command::Grid,
            "schedule" => Command::Schedule(self.schedule()?),
            "where" => Command::Where,
            "help" => Command::Help(self.word().map(|(word, _)| word)),
            _ => Command::Quit,
        })
    }

    fn goto(&mut self) -> Result<Command> {
        let (word, range) = self.needed("`finding N`")?;
        if word != "finding" {
            return Err(self.error(range, format!("`{word}` is nowhere to go to")));
        }
        let (word, range) = self.needed("the number of a finding")?;
        Ok(Command::GotoFinding(self.number(&word, range)?))
    }

    fn line(&self, word: &str, range: Range<usize>) -> Result<u32> {
        let line = self.number(word, range.clone())?;
        match u32::try_from(line) {
            Ok(line) if line > 0 => Ok(line),
            _ => Err(self.error(range, format!("`{word}` is no line"))),
        }
    }

    /// `LINE`, `FILE:LINE` or `op:NAME`.
    fn place(&self, word: &str, range: Range<usize>) -> Result<BreakAt> {
        if let Some(name) = word.strip_prefix("op:") {
            return match name.is_empty() {
                true => Err(self.error(range, "which operation?")),
                false => Ok(BreakAt::Op(name.to_string())),
            };
        }
        match word.rsplit_once(':') {
            Some((file, line)) => {
                let at = range.end - line.len()..range.end;
                Ok(BreakAt::Line(Some(file.to_string()), self.line(line, at)?))
            }
            None => Ok(BreakAt::Line(None, self.line(word, range)?)),
        }
    }

    fn breakpoint(&mut self) -> Result<Command> {
        let (word, range) = self.needed("a line or `op:NAME`")?;
        let at = self.place(&word, range)?;
        let once = self.info.name == "tbreak";
        let programs = self.programs()?;
        let condition = self.condition()?;
        Ok(Command::Break {
            at,
            condition,
            programs,
            once,
        })
    }

    /// `program X[..Y]` at the end of the rest, which then ends before it.
    fn programs(&mut self) -> Result<Option<Range<u64>>> {
        let rest = self.rest();
        let Some(keyword) = rest
            .rfind("program ")
            .filter(|&i| i == 0 || rest[..i].ends_with(char::is_whitespace))
        else {
            return Ok(None);
        };
        let start = self.at + keyword;
        let text = rest[keyword + "program ".len()..].trim().to_string();
        let range = start + "program ".len()..self.end;
        let (first, last) = match text.split_once("..") {
            Some((first, last)) => (first.trim(), last.trim()),
            None => (text.as_str(), text.as_str()),
        };
        let first = self.number(first, range.clone())?;
        let last = self.number(last, range.clone())?;
        if last < first {
            return Err(self.error(range, "the range of programs is empty"));
        }
        let before = self.source.text.get(self.at..start).unwrap_or_default();
        self.end = self.at + before.trim_end().len();
        Ok(Some(first..last.saturating_add(1)))
    }

    fn condition(&mut self) -> Result<Option<Expression>> {
        if self.rest().is_empty() {
            return Ok(None);
        }
        let (word, range) = self.needed("a condition")?;
        if word != "if" {
            return Err(self.error(range, format!("`{word}` is neither `if` nor `program`")));
        }
        Ok(Some(self.expression("a condition after `if`")?))
    }

    fn watch(&mut self) -> Result<Command> {
        let rest = self.rest();
        let cut = rest.find(" if ").map(|i| self.at + i);
        let Some(cut) = cut else {
            // A tensor where it is one, else a variable: the session knows.
            let value = self.expression("a tensor's element or a variable")?;
            return Ok(match memory_range(&value) {
                Ok(range) if matches!(value.root.kind, NodeKind::Subscript(..)) => {
                    Command::WatchMemory { range, reads: false }
                }
                _ => Command::WatchValue {
                    value,
                    condition: None,
                },
            });
        };
        let value = Expression::parse(&self.source, self.at..cut)?;
        self.at = cut + " if ".len();
        let condition = Some(self.expression("a condition after `if`")?);
        Ok(Command::WatchValue { value, condition })
    }

    fn triple(&self, text: &str, range: Range<usize>) -> Result<[u64; 3]> {
        let text = text.trim().trim_start_matches('(').trim_end_matches(')');
        if text.is_empty() {
            return Err(self.error(range, "which program?"));
        }
        let mut program = [0; 3];
        for (i, part) in text.split(',').enumerate() {
            let number = self.number(part.trim(), range.clone())?;
            match program.get_mut(i) {
                Some(axis) => *axis = number,
                None => return Err(self.error(range, "a program has three numbers")),
            }
        }
        Ok(program)
    }

    fn schedule(&mut self) -> Result<Option<Schedule>> {
        let Some((word, range)) = self.word() else {
            return Ok(None);
        };
        let seed = |reader: &mut Reader| match reader.word() {
            Some((word, range)) => reader.number(&word, range),
            None => Ok(0),
        };
        Ok(Some(match word.as_str() {
            "sequential" => Schedule::Sequential,
            "random" => Schedule::Random(seed(self)?),
            "interleave" => Schedule::Interleave(seed(self)?),
            _ => return Err(self.error(range, format!("`{word}` is no order of programs"))),
        }))
    }
}

/// The range of a tensor that an expression names: `x`, `x[3, 2:8]`.
fn memory_range(expression: &Expression) -> Result<MemoryRange> {
    let wrong = |node: &Node| {
        expression
            .error(node, "this is no part of a tensor", "")
            .help("write TENSOR[3, 0:8]: integers and ranges of integers")
    };
    let (name, indices) = match &expression.root.kind {
        NodeKind::Name(name) => (name, &[][..]),
        NodeKind::Subscript(value, indices) => match &value.kind {
            NodeKind::Name(name) => (name, &indices[..]),
            _ => return Err(wrong(value)),
        },
        _ => return Err(wrong(&expression.root)),
    };
    let mut spans = Vec::new();
    for index in indices {
        spans.push(match index {
            Index::Item(node) => Span::At(integer(node).ok_or_else(|| wrong(node))?),
            Index::Slice {
                start,
                stop,
                step: None,
                ..
            } => {
                let end = |node: &Option<Node>| match node {
                    None => Ok(None),
                    Some(node) => integer(node).map(Some).ok_or_else(|| wrong(node)),
                };
                Span::From(end(start)?, end(stop)?)
            }
            Index::Slice { .. } | Index::Ellipsis(_) => return Err(wrong(&expression.root)),
        });
    }
    Ok(MemoryRange {
        tensor: name.clone(),
        spans,
    })
}

/// The integer that a node is.
pub(crate) fn integer(node: &Node) -> Option<i64> {
    match &node.kind {
        NodeKind::Int(value) => i64::try_from(*value).ok(),
        NodeKind::Unary(UnaryOp::Neg, inner) => match &inner.kind {
            NodeKind::Int(value) => i64::try_from(-*value).ok(),
            _ => None,
        },
        _ => None,
    }
}
