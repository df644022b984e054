//! Breakpoints and watchpoints: setting them, and whether a moment is one to stop at.

use std::cell::RefCell;
use std::ops::Range;

use tilescope_diagnostics::{Error, Result, closest};
use tilescope_interpreter::sink::Key;
use tilescope_ir::OpCode;
use tilescope_launch::expr::Expression;

use crate::code::Code;
use crate::command::{BreakAt, MemoryRange};
use crate::evaluate::{Scene, is_true};
use crate::recorder::Access;
use crate::reply::{BreakpointView, Reply};
use crate::session::Session;
use crate::walk::Arrival;

/// What a breakpoint waits for.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A new line at one of these instructions, rising.
    Line {
        file: u32,
        line: u32,
        positions: Vec<u32>,
    },
    /// A new operation of this kind.
    Op(OpCode),
    /// An access to some bytes of an allocation.
    Memory {
        tensor: usize,
        allocation: usize,
        bytes: Vec<Range<u64>>,
        reads: bool,
    },
    /// An assignment to a variable.
    Value { name: String },
}

/// A breakpoint or watchpoint.
#[derive(Debug, Clone)]
pub(crate) struct Breakpoint {
    pub id: u32,
    pub kind: Kind,
    pub text: String,
    pub condition: Option<Expression>,
    pub programs: Option<Range<u64>>,
    pub enabled: bool,
    pub once: bool,
    pub hits: u64,
    pub ignore: u64,
    /// Why its condition could not be evaluated where it was reached last, if so.
    pub unevaluated: RefCell<Option<String>>,
}

/// All of them.
#[derive(Debug, Clone)]
pub struct Breakpoints {
    pub(crate) list: Vec<Breakpoint>,
    next: u32,
    /// Stops at the first occurrence of each finding.
    pub(crate) at_findings: bool,
}

impl Default for Breakpoints {
    fn default() -> Breakpoints {
        Breakpoints {
            list: Vec::new(),
            next: 1,
            at_findings: true,
        }
    }
}

/// Why to stop at a moment.
#[derive(Debug, Clone)]
pub(crate) enum Hit {
    /// The breakpoint with this id.
    Breakpoint(u32),
    /// An access that the watchpoint with this id waits for.
    Memory(u32, Access),
    /// An assignment that the watchpoint with this id waits for.
    Value(u32),
    /// A new finding.
    Finding(Key),
}

impl Breakpoints {
    /// True if nothing but the programs' numbers says where a breakpoint can be hit.
    pub(crate) fn only_in_programs(&self) -> Option<Vec<Range<u64>>> {
        let enabled = self.list.iter().filter(|b| b.enabled);
        enabled
            .map(|b| match b.kind {
                Kind::Memory { .. } => None,
                _ => b.programs.clone(),
            })
            .collect()
    }

    /// The first reason to stop at a moment; a condition that cannot be evaluated there does not hold, and it is
    /// kept why.
    pub(crate) fn hit(&self, code: &Code, arrival: &Arrival<'_>) -> Option<Hit> {
        if let Some(key) = arrival.finding.filter(|_| self.at_findings) {
            return Some(Hit::Finding(key));
        }
        self.list.iter().filter(|b| b.enabled).find_map(|b| {
            let hit = b.waits_for(code, arrival)?;
            if b.programs
                .as_ref()
                .is_some_and(|programs| !programs.contains(&arrival.linear))
            {
                return None;
            }
            let Some(condition) = &b.condition else {
                return Some(hit);
            };
            let scene = Scene {
                code,
                values: arrival.values,
                position: arrival.position,
                level: b.level(code, arrival.position).unwrap_or(u32::MAX),
            };
            match is_true(&scene, condition) {
                Ok(holds) => holds.then_some(hit),
                Err(why) => {
                    b.unevaluated.replace(Some(why.message));
                    None
                }
            }
        })
    }

    /// Counts a hit on the way back, on which none is passed.
    pub(crate) fn note(&mut self, hit: &Hit) {
        if let Hit::Breakpoint(id) | Hit::Memory(id, _) | Hit::Value(id) = hit
            && let Some(breakpoint) = self.list.iter_mut().find(|b| b.id == *id)
        {
            breakpoint.hits += 1;
        }
    }

    /// Counts a hit; false if it is one to pass.
    pub(crate) fn count(&mut self, hit: &Hit) -> bool {
        let id = match hit {
            Hit::Breakpoint(id) | Hit::Memory(id, _) | Hit::Value(id) => *id,
            Hit::Finding(_) => return true,
        };
        let Some(index) = self.list.iter().position(|b| b.id == id) else {
            return true;
        };
        let breakpoint = &mut self.list[index];
        breakpoint.hits += 1;
        if breakpoint.ignore > 0 {
            breakpoint.ignore -= 1;
            return false;
        }
        if breakpoint.once {
            breakpoint.enabled = false;
        }
        true
    }

    pub(crate) fn find(&self, id: u32) -> Option<&Breakpoint> {
        self.list.iter().find(|b| b.id == id)
    }
}

impl Breakpoint {
    /// The level of calls that its line is of, where it waits for a line.
    pub(crate) fn level(&self, code: &Code, position: u32) -> Option<u32> {
        match self.kind {
            Kind::Line { file, line, .. } => code.level_of((file, line), position),
            _ => None,
        }
    }

    fn waits_for(&self, code: &Code, arrival: &Arrival<'_>) -> Option<Hit> {
        let position = arrival.position;
        match &self.kind {
            Kind::Line {
                file,
                line,
                positions,
            } => {
                let here = !arrival.ended && positions.binary_search(&position).is_ok();
                let enters = here && code.enters_line((*file, *line), arrival.last, arrival.back, position);
                enters.then_some(Hit::Breakpoint(self.id))
            }
            Kind::Op(wanted) => {
                let here = !arrival.ended && code.starts_op(arrival.last, arrival.back, position);
                let same = here && code.op(position).is_some_and(|(.., op)| op.code == *wanted);
                same.then_some(Hit::Breakpoint(self.id))
            }
            Kind::Memory {
                allocation,
                bytes,
                reads,
                ..
            } => {
                let mut accesses = arrival.accesses.iter();
                let hit =
                    accesses.find(|access| access.touches(*allocation, bytes) && (access.write || *reads));
                hit.map(|&access| Hit::Memory(self.id, access))
            }
            Kind::Value { name } => {
                let written = arrival.ticks > 0
                    && code.values_named(name).any(|key| {
                        code.slot(key)
                            .is_some_and(|(slot, ..)| arrival.values.written(slot) == arrival.ticks)
                    });
                written.then_some(Hit::Value(self.id))
            }
        }
    }
}

impl Session {
    fn new_breakpoint(&mut self, kind: Kind, text: String) -> &mut Breakpoint {
        let id = self.stops.next;
        self.stops.next += 1;
        self.stops.list.push(Breakpoint {
            id,
            kind,
            text,
            condition: None,
            unevaluated: RefCell::default(),
            programs: None,
            enabled: true,
            once: false,
            hits: 0,
            ignore: 0,
        });
        self.keep_watched();
        let last = self.stops.list.len() - 1;
        &mut self.stops.list[last]
    }

    /// The instructions of a place: its file, its line (or the next one with code), and them.
    pub(crate) fn resolve(&self, file: Option<&str>, line: u32) -> Result<(u32, u32, Vec<u32>)> {
        let file = match file {
            Some(name) => self.code.file(name).ok_or_else(|| {
                let error = Error::input(format!("no operation of this kernel comes from `{name}`"));
                let known: Vec<&str> = self.files().collect();
                match closest(name, known.iter().copied()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.note(format!("its files: {}", known.join(", "))),
                }
            })?,
            None => {
                let main = self.code.main_file();
                main.ok_or_else(|| Error::input("the kernel has no source lines").help("break at `op:NAME`"))?
            }
        };
        match self.code.code_from(file, line) {
            Some((found, positions)) => Ok((file, found, positions.to_vec())),
            None => {
                let name = &self.code.files[file as usize];
                let error = Error::input(format!("no code at or after line {line} of {name}"));
                Err(match self.code.code_lines(file).last() {
                    Some(last) => error.note(format!("the kernel's last line with code there is {last}")),
                    None => error,
                })
            }
        }
    }

    pub(crate) fn add_breakpoint(
        &mut self,
        at: BreakAt,
        condition: Option<Expression>,
        programs: Option<Range<u64>>,
        once: bool,
    ) -> Result<Reply> {
        if let Some(condition) = &condition {
            self.check_names(condition)?;
        }
        if let Some(programs) = &programs
            && programs.start >= self.programs()
        {
            let total = self.programs();
            return Err(Error::input(format!(
                "there is no program {}: the grid has {total}",
                programs.start
            )));
        }
        let mut text = String::from(if once { "tbreak " } else { "break " });
        let mut moved = String::new();
        let kind = match at {
            BreakAt::Op(name) => {
                text.push_str(&format!("op:{name}"));
                Kind::Op(self.op_code(&name)?)
            }
            BreakAt::Line(name, asked) => {
                let (file, line, positions) = self.resolve(name.as_deref(), asked)?;
                let name = &self.code.files[file as usize];
                text.push_str(&format!("{name}:{line}"));
                if line != asked {
                    moved = format!(" (line {asked} has no code)");
                }
                Kind::Line {
                    file,
                    line,
                    positions,
                }
            }
        };
        if let Some(condition) = &condition {
            text.push_str(&format!(" if {}", condition.text()));
        }
        if let Some(programs) = &programs {
            text.push_str(&format!(" program {}..{}", programs.start, programs.end - 1));
        }
        let breakpoint = self.new_breakpoint(kind, text);
        breakpoint.condition = condition;
        breakpoint.programs = programs;
        breakpoint.once = once;
        let (id, text) = (breakpoint.id, breakpoint.text.clone());
        Ok(Reply::Done(format!("{id}: {text}{moved}")))
    }

    fn op_code(&self, name: &str) -> Result<OpCode> {
        if let Some(code) = OpCode::from_mnemonic(name) {
            return Ok(code);
        }
        let error = Error::input(format!("there is no operation `{name}`"));
        let mut used: Vec<&str> = (0..self.code.len() as u32)
            .filter_map(|position| Some(self.code.op(position)?.2.code.info().mnemonic))
            .collect();
        used.sort_unstable();
        used.dedup();
        Err(match closest(name, used.iter().copied()) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error.note(format!("this kernel has {}", used.join(", "))),
        })
    }

    pub(crate) fn watch_memory(&mut self, range: MemoryRange, reads: bool) -> Result<Reply> {
        if self.find_tensor(&range.tensor).is_err() && range.spans.is_empty() {
            return self.watch_name(&range.tensor, None);
        }
        let (tensor, bytes) = self.bytes_of(&range)?;
        let allocation = self.engine.launch.tensors[tensor].allocation.0 as usize;
        let word = if reads { "awatch" } else { "watch" };
        let text = format!("{word} {}", crate::inspect::range_text(&range));
        let breakpoint = self.new_breakpoint(
            Kind::Memory {
                tensor,
                allocation,
                bytes,
                reads,
            },
            text,
        );
        Ok(Reply::Done(format!("{}: {}", breakpoint.id, breakpoint.text)))
    }

    pub(crate) fn watch_value(&mut self, value: Expression, condition: Option<Expression>) -> Result<Reply> {
        use tilescope_launch::expr::NodeKind;
        match &value.root.kind {
            NodeKind::Name(name) => {
                if condition.is_none()
                    && self.find_tensor(name).is_ok()
                    && self.code.values_named(name).next().is_none()
                {
                    let range = MemoryRange {
                        tensor: name.clone(),
                        spans: Vec::new(),
                    };
                    return self.watch_memory(range, false);
                }
                self.watch_name(&name.clone(), condition)
            }
            _ => Err(value.error(&value.root, "this is neither a variable nor a tensor", "")),
        }
    }

    fn watch_name(&mut self, name: &str, condition: Option<Expression>) -> Result<Reply> {
        if self.code.values_named(name).next().is_none() {
            return Err(self.unknown_name(name));
        }
        if let Some(condition) = &condition {
            self.check_names(condition)?;
        }
        let mut text = format!("watch {name}");
        if let Some(condition) = &condition {
            text.push_str(&format!(" if {}", condition.text()));
        }
        let breakpoint = self.new_breakpoint(Kind::Value { name: name.into() }, text);
        breakpoint.condition = condition;
        Ok(Reply::Done(format!("{}: {}", breakpoint.id, breakpoint.text)))
    }

    /// Tells the recorder which tensors are watched.
    fn keep_watched(&self) {
        let watched = self.stops.list.iter().filter_map(|b| match b.kind {
            Kind::Memory { allocation, .. } => Some(allocation),
            _ => None,
        });
        self.engine.recorder.keep(watched.collect());
    }

    fn index_of(&self, id: u32) -> Result<usize> {
        self.stops.list.iter().position(|b| b.id == id).ok_or_else(|| {
            let error = Error::input(format!("there is no breakpoint {id}"));
            match self.stops.list.is_empty() {
                true => error,
                false => error.help("`breakpoints` lists them"),
            }
        })
    }

    pub(crate) fn delete(&mut self, id: Option<u32>) -> Result<Reply> {
        Ok(Reply::Done(match id {
            Some(id) => {
                let index = self.index_of(id)?;
                let gone = self.stops.list.remove(index);
                self.keep_watched();
                format!("deleted {id}: {}", gone.text)
            }
            None => {
                let count = self.stops.list.len() as u64;
                self.stops.list.clear();
                format!(
                    "deleted {}",
                    tilescope_diagnostics::render::number::counted(count, "breakpoint")
                )
            }
        }))
    }

    pub(crate) fn enable(&mut self, id: Option<u32>, enabled: bool) -> Result<Reply> {
        let word = if enabled { "enabled" } else { "disabled" };
        let Some(id) = id else {
            self.stops.list.iter_mut().for_each(|b| b.enabled = enabled);
            return Ok(Reply::Done(format!("all breakpoints {word}")));
        };
        let index = self.index_of(id)?;
        let breakpoint = &mut self.stops.list[index];
        breakpoint.enabled = enabled;
        Ok(Reply::Done(format!("{word} {id}: {}", breakpoint.text)))
    }

    pub(crate) fn ignore(&mut self, id: u32, count: u64) -> Result<Reply> {
        let index = self.index_of(id)?;
        self.stops.list[index].ignore = count;
        Ok(Reply::Done(format!("{id} will be passed {}", times(count))))
    }

    /// All breakpoints and watchpoints.
    pub fn breakpoints(&self) -> Vec<BreakpointView> {
        let view = |b: &Breakpoint| BreakpointView {
            id: b.id,
            text: b.text.clone(),
            line: match &b.kind {
                Kind::Line { file, line, .. } => Some((self.code.files[*file as usize].to_string(), *line)),
                _ => None,
            },
            enabled: b.enabled,
            hits: b.hits,
            ignore: b.ignore,
        };
        self.stops.list.iter().map(view).collect()
    }
}

/// `once`, `3 times`.
pub(crate) fn times(count: u64) -> String {
    match count {
        1 => String::from("once"),
        count => format!("{count} times"),
    }
}
