//! From what workers noted to findings: places, tensors and lanes in the terms of the author.

use crate::access::Memory;
use crate::checks;
use crate::explain::Cause;
use crate::frame::Tensor;
use crate::races::Race;
use crate::sink::{Entry, Key, Sink};
use crate::tape::{At, Origin, Tape, What};
use tilescope_diagnostics::{Check, Finding, Frame, Location, Printed, TensorRef};
use tilescope_ir::{Family, FuncId, LocId, Module, OpCode};
use tilescope_launch::Launch;

/// What findings are made from.
pub struct Reporter<'r> {
    /// The kernel's module.
    pub module: &'r Module,
    /// The kernel.
    pub kernel: FuncId,
    /// The launch.
    pub launch: &'r Launch,
    /// Its tape.
    pub tape: &'r Tape,
    /// Its memory.
    pub memory: &'r Memory<'r>,
}

/// Where a finding stands in a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64, At, Option<(Check, Tensor)>);

impl Order {
    /// Of a whole launch: after all others.
    const LAST: Order = Order(u64::MAX, At(u32::MAX), None);
}

/// A finding with its place in the report.
#[derive(Debug, Clone)]
pub struct Found {
    /// By first program, position, check and tensor.
    pub order: Order,
    /// What the author is told.
    pub finding: Finding,
    /// What is to be known for its explanation.
    pub cause: Option<Cause>,
}

impl Found {
    /// Of a whole launch.
    pub fn of_launch(finding: Finding) -> Found {
        Found {
            order: Order::LAST,
            finding,
            cause: None,
        }
    }
}

impl Reporter<'_> {
    /// All findings, sorted by first program, then position; those of the whole launch come last.
    pub fn findings(&self, sink: &mut Sink, races: &[(Race, bool)], whole: bool) -> Vec<Finding> {
        let found = self.found(sink, races, whole).into_iter();
        found.map(|one| one.finding).collect()
    }

    /// All findings in the same order, with what is to be known for their explanation.
    ///
    /// Races come with whether all programs write equal bytes and none reads them.
    pub fn found(&self, sink: &mut Sink, races: &[(Race, bool)], whole: bool) -> Vec<Found> {
        let entries = sink.entries.iter().map(|(key, entry)| Found {
            order: Order(entry.linear, key.at, Some((key.check, key.tensor))),
            finding: checks::finding(self, key, entry),
            cause: Cause::of(key, entry),
        });
        let races = races.iter().map(|(race, equal)| {
            let finding = checks::race::finding(self, race, *equal);
            let kind = (finding.check, race.later.tensor);
            Found {
                order: Order(u64::from(race.programs.0), race.later.at, Some(kind)),
                cause: Some(Cause::of_race(finding.check, race)),
                finding,
            }
        });
        let mut found: Vec<Found> = entries.chain(races).collect();
        found.sort_by_key(|one| one.order);
        if whole {
            let unwritten = checks::unwritten::findings(self, &mut sink.written);
            found.extend(unwritten.into_iter().map(Found::of_launch));
        }
        merge_places(found)
    }

    /// All prints, in program order.
    pub fn prints(&self, sink: &Sink) -> Vec<Printed> {
        let printed = |print: &crate::sink::Print| Printed {
            program: self.program(print.linear),
            location: self.location(print.at),
            text: print.text.clone(),
        };
        sink.prints.iter().map(printed).collect()
    }

    /// The kernel's name.
    pub fn kernel(&self) -> String {
        self.module.funcs[self.kernel].name.to_string()
    }

    /// A finding with everything that an entry knows by itself.
    pub fn start(&self, key: &Key, entry: &Entry, message: String) -> Finding {
        let mut finding = Finding::new(key.check, self.kernel(), message);
        finding.count = entry.count;
        finding.count_at_least = entry.at_least;
        finding.program = Some(self.program(entry.linear));
        finding.location = self.location(key.at);
        finding.ttir = self.line_of_text(&self.origin(key.at));
        finding.tensor = (key.tensor != 0).then(|| self.tensor_ref(key.tensor));
        finding
    }

    /// Says where a finding is.
    pub fn locate(&self, finding: &mut Finding, at: At) {
        finding.location = self.location(at);
        finding.ttir = self.line_of_text(&self.origin(at));
    }

    /// The program id of a linear number.
    pub fn program(&self, linear: u64) -> [u32; 3] {
        let [gx, gy, _] = self.launch.grid.map(|n| n.max(1));
        [
            (linear % gx) as u32,
            (linear / gx % gy) as u32,
            (linear / gx / gy) as u32,
        ]
    }

    /// Where an instruction comes from.
    pub fn origin(&self, at: At) -> Origin {
        let unknown = || Origin {
            func: self.kernel,
            what: What::Param(u32::MAX),
            calls: [].into(),
        };
        self.tape
            .origins
            .get(at.0 as usize)
            .cloned()
            .unwrap_or_else(unknown)
    }

    /// The place of an instruction: the innermost frame outside Triton's own library, else the TTIR line.
    pub fn location(&self, at: At) -> Option<Location> {
        place(self.module, &self.origin(at))
    }

    /// The line of the TTIR text of an origin.
    pub fn line_of_text(&self, origin: &Origin) -> Option<Frame> {
        line_of_text(self.module, origin)
    }

    /// The variable name of what an instruction works on.
    pub fn value_name(&self, at: At) -> Option<String> {
        let origin = self.origin(at);
        let function = &self.module.funcs[origin.func];
        let value = match origin.what {
            What::Op(op) => function.result(op)?,
            What::Param(index) => *function.params().get(index as usize)?,
        };
        function.value_name(&self.module.locs, value).map(str::to_string)
    }

    /// The index of a lane in the tile that an instruction works on: of the pointers for accesses, of
    /// the condition for asserts, else of the result. Empty for scalars.
    pub fn lane_index(&self, at: At, lane: u32) -> Option<Vec<u32>> {
        let origin = self.origin(at);
        let What::Op(op) = origin.what else { return None };
        let function = &self.module.funcs[origin.func];
        let data = &function.ops[op];
        let value = match (data.code.info().family, data.code) {
            (_, OpCode::DescriptorStore | OpCode::DescriptorReduce) => data.operands.get(1),
            (_, OpCode::DescriptorScatter) => data.operands.last(),
            (_, OpCode::Store) if function.ty(data.operands[0]).shape().is_none() => data.operands.get(1),
            (Family::Memory | Family::Atomic | Family::Control, _) => data
                .operands
                .first()
                .filter(|&&v| function.ty(v).shape().is_some())
                .or(data.results.first()),
            _ => data.results.first(),
        };
        let shape = value.and_then(|&v| function.ty(v).shape()).unwrap_or_default();
        let mut index = vec![0; shape.rank()];
        let mut rest = lane as usize;
        for axis in (0..shape.rank()).rev() {
            index[axis] = (rest % shape.dim(axis)) as u32;
            rest /= shape.dim(axis);
        }
        Some(index)
    }

    /// A tensor's name.
    pub fn tensor_name(&self, tensor: Tensor) -> String {
        let index = (tensor as usize).wrapping_sub(1);
        self.launch
            .tensors
            .get(index)
            .map_or("memory".into(), |t| t.name.clone())
    }

    /// A tensor as findings show it.
    pub fn tensor_ref(&self, tensor: Tensor) -> TensorRef {
        match self.launch.tensors.get((tensor as usize).wrapping_sub(1)) {
            Some(t) => TensorRef {
                name: t.name.clone(),
                dtype: t.dtype.name().into(),
                shape: t.shape.clone(),
                strides: t.strides.clone(),
            },
            None => TensorRef {
                name: "memory".into(),
                dtype: "u8".into(),
                shape: vec![],
                strides: vec![],
            },
        }
    }

    /// The name of another tensor whose view contains the address.
    pub fn owner_other_than(&self, tensor: Tensor, address: u64) -> Option<String> {
        let victim = self.memory.victim(tensor, address)?;
        Some(self.tensor_name(victim))
    }
}

/// The frames of an origin, innermost first: of the operation, then of the calls that led there.
pub fn frames(module: &Module, origin: &Origin) -> Vec<Frame> {
    let function = &module.funcs[origin.func];
    let loc: LocId = match origin.what {
        What::Op(op) => function.ops[op].loc,
        What::Param(index) => {
            let param = function.params().get(index as usize);
            param.map_or(function.loc, |&param| function.values[param].loc)
        }
    };
    let mut chain = module.locs.frames(loc);
    for &call in &*origin.calls {
        chain.extend(module.locs.frames(call));
    }
    let frame = |(file, line, column): (std::sync::Arc<str>, u32, u32)| Frame {
        file: file.to_string(),
        line,
        column,
        function: None,
    };
    chain.into_iter().map(frame).collect()
}

/// True for a frame that is not in Triton's own library.
pub fn is_own(frame: &Frame) -> bool {
    !frame.file.contains("triton/language/")
}

/// The place of an origin: the innermost frame outside Triton's own library, else the line of the text.
pub fn place(module: &Module, origin: &Origin) -> Option<Location> {
    let frames = frames(module, origin);
    match frames.iter().find(|frame| is_own(frame)).or(frames.first()) {
        Some(frame) => {
            let frame = frame.clone();
            let inlined_at = if frames.len() > 1 { frames } else { Vec::new() };
            Some(Location { frame, inlined_at })
        }
        None => line_of_text(module, origin).map(|frame| Location {
            frame,
            inlined_at: Vec::new(),
        }),
    }
}

fn line_of_text(module: &Module, origin: &Origin) -> Option<Frame> {
    let source = module.source.as_ref()?;
    let What::Op(op) = origin.what else { return None };
    let (line, column) = source.line_column(module.funcs[origin.func].ops[op].offset as usize);
    Some(Frame {
        file: source.name.clone(),
        line: u32::try_from(line).ok()?,
        column: u32::try_from(column).ok()?,
        function: None,
    })
}

/// One cause, one finding: entries of one check, place and tensor that came from several instructions
/// (a helper inlined twice at one line, an unrolled loop) are one, with the counts added.
fn merge_places(found: Vec<Found>) -> Vec<Found> {
    let mut merged: Vec<Found> = Vec::with_capacity(found.len());
    for one in found {
        let finding = &one.finding;
        let same = |known: &&mut Found| {
            known.finding.check == finding.check
                && known.finding.location == finding.location
                && known.finding.location.is_some()
                && known.finding.tensor == finding.tensor
        };
        match merged.iter_mut().find(same) {
            Some(first) => {
                let first = &mut first.finding;
                first.count += finding.count;
                first.count_at_least |= finding.count_at_least;
                first.severity = first.severity.max(finding.severity);
            }
            None => merged.push(one),
        }
    }
    merged
}
