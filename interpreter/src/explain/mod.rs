//! Explanations of findings: the operations, with values, that led from the arguments to the faulty lane.
//!
//! Nothing of it is computed while a launch runs. Afterwards the one program of a finding runs again, on the tape for
//! stepping, and is watched (`record`) until the finding is made; from there its values are followed back (`walk`). What
//! it reads is what it read before: where programs read nothing that the launch writes, they run on what it left, without
//! storing; else the launch runs again on its arguments as they were, up to that program. Which lane raced is found
//! in the same way.
//!
//! Of a loop that goes on for too long the variables are told, of three rounds that follow each other after `SKIPPED` operations; of
//! a deadlock, what the waiting program reads. A program whose replay would take more than `MOST_WORK` lanes is not
//! explained, and where a loop went round too often the chain ends early: both is said.

mod endless;
mod record;
pub mod sources;
mod walk;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{Chain, Check, CheckSet, Finding, Result, Value};
use tilescope_ir::{Family, Op, OpCode};
use tilescope_launch::Memory;

use self::record::{Recorder, Tick};
use self::walk::{Code, Moment};
use crate::frame::Tensor;
use crate::hunt::Hunt;
use crate::machine::{Advance, Context, Machine, Rest, Stop};
use crate::races::Race;
use crate::report::{Reporter, place};
use crate::sink::{Detail, Entry, Key};
use crate::stepping::Stepping;
use crate::taint::Use;
use crate::tape::{At, Origin};
use crate::{Prepared, access, races, schedule};

pub use self::walk::trace;

/// Lanes of instructions that all replays of a launch may execute together, each instruction counted as 64 at least.
const MOST_WORK: u64 = 1 << 32;

/// Where in a launch a finding was made, for its explanation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    /// Linear number of the program.
    linear: u64,
    key: Key,
    look: Look,
}

/// What is to be explained, and when it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    /// The address and mask of a lane, when the finding is made.
    Access(u32),
    /// A lane of what the operation uses, when the finding is made.
    Used(u32, Use),
    /// The operands of a lane of the result of the birth, when it is used there.
    Birth(u32, At),
    /// The first operand's lane, when the finding is made.
    Operand(u32),
    /// The lane that touches this byte of the tensor's storage, by an element of so many bytes.
    Touch(u64, u32),
    /// The lane that stored last to this byte, and what it stored.
    Stored(u64, u32),
    /// What a loop carries, in its last rounds.
    Round,
    /// What a program waits by read last.
    Wait,
}

impl Cause {
    /// The cause of an entry of a sink, if it can be explained.
    pub fn of(key: &Key, entry: &Entry) -> Option<Cause> {
        let look = match entry.detail {
            Detail::Access { lane, .. } | Detail::Overflow { lane, .. } | Detail::Duplicate { lane, .. } => {
                Look::Access(lane)
            }
            Detail::Division { lane, used, .. }
            | Detail::Shift { lane, used, .. }
            | Detail::Conversion { lane, used, .. }
            | Detail::Special { lane, used, .. } => Look::Birth(lane, used),
            Detail::Undefined { lane, how, .. } => Look::Used(lane, how),
            Detail::Condition { lane } | Detail::Hint { lane, .. } => Look::Operand(lane),
            Detail::Reread { lane, .. } => Look::Access(lane),
            Detail::Deadlock(_) => Look::Wait,
            Detail::Steps(_) => Look::Round,
            Detail::Misfit { .. } => return None,
        };
        Some(Cause {
            linear: entry.linear,
            key: *key,
            look,
        })
    }

    /// The cause of a race: the later program's access.
    pub fn of_race(check: Check, race: &Race) -> Cause {
        Cause {
            linear: u64::from(race.programs.0),
            key: Key {
                check,
                at: race.later.at,
                tensor: race.later.tensor,
            },
            look: Look::Touch(race.offset, race.later.elem),
        }
    }

    /// The instruction after which it can be seen.
    fn trigger(&self) -> At {
        match self.look {
            Look::Birth(_, used) => used,
            _ => self.key.at,
        }
    }
}

impl Prepared<'_> {
    /// Why an element of a tensor is what it is; none where nobody knows which program wrote it.
    pub fn cause_of(&self, writers: &races::Noted, tensor: &str, element: &[i64]) -> Option<Cause> {
        let number = self.launch.tensors.iter().position(|t| t.name == tensor)?;
        let tensor = self.launch.tensors.get(number)?;
        let steps = element.iter().zip(&tensor.strides).map(|(i, stride)| i * stride);
        let bytes = tensor.dtype.bytes();
        let offset = u64::try_from(tensor.offset + steps.sum::<i64>()).ok()? * bytes as u64;
        let linear = match self.programs() {
            1 => 0,
            _ => writers.writer(tensor.allocation.0 as usize, offset)?,
        };
        Some(Cause {
            linear,
            key: Key {
                check: Check::OutputMismatch,
                at: At(u32::MAX),
                tensor: number as Tensor + 1,
            },
            look: Look::Stored(offset, bytes as u32),
        })
    }
}

/// What is known of a cause after a replay.
#[derive(Default)]
struct Seen {
    chain: Vec<Chain>,
    lane: Option<u32>,
    /// Rounds of a loop that the chain tells of.
    rounds: u32,
    /// Why the chain ends early.
    end: Option<&'static str>,
}

/// Rounds of a loop without end that are told.
const ROUNDS: u32 = 3;

/// Operations of such a loop that are not watched, before the rounds that are.
const SKIPPED: u64 = 1 << 22;

const FORGOTTEN: &str =
    "what led there is not told further: the loop went round too often for its earlier rounds to be kept";
const TOO_LONG: &str =
    "what led there is not told: its program would take too long to be run once more, watched";

/// What a launch is replayed on.
pub struct Replay<'a> {
    /// The tensors as the launch left them.
    pub left: &'a mut Memory,
    /// Makes them as they were before it.
    pub before: &'a dyn Fn() -> Result<Memory>,
    /// Steps that are told of a finding, at most.
    pub steps: usize,
}

impl Prepared<'_> {
    /// Gives findings of a run their chains of operations, and races their lanes.
    ///
    /// `causes` are those of the outcome, one for each finding.
    ///
    /// # Errors
    /// Memory that cannot be made again.
    pub fn explain(
        &self,
        findings: &mut [Finding],
        causes: &[Option<Cause>],
        replay: Replay<'_>,
    ) -> Result<()> {
        let mut programs: BTreeMap<u64, Vec<(usize, &Cause)>> = BTreeMap::new();
        for (index, cause) in causes.iter().enumerate().take(findings.len()) {
            if let Some(cause) = cause {
                programs.entry(cause.linear).or_default().push((index, cause));
            }
        }
        if programs.is_empty() {
            return Ok(());
        }
        let stepping = Stepping::new(self.module, self.kernel, self.launch, self.options)?;
        let code = Code::new(self.module, &stepping);
        let seen = match self.is_repeatable() {
            true => self.replay_apart(&code, &programs, replay.left, replay.steps),
            false => self.replay_all(&code, &programs, &mut (replay.before)()?, replay.steps)?,
        };
        let cancel = AtomicBool::new(false);
        let memory = access::Memory::new(self.launch, replay.left, CheckSet::NONE, &cancel);
        let reporter = Reporter {
            module: self.module,
            kernel: self.kernel,
            launch: self.launch,
            tape: &self.tape,
            memory: &memory,
        };
        for (index, seen) in seen {
            let (Some(finding), Some(Some(cause))) = (findings.get_mut(index), causes.get(index)) else {
                continue;
            };
            finding.chain = seen.chain;
            finding.chain_end = seen.end.map(String::from);
            if let (None, Some(lane)) = (&finding.lane, seen.lane) {
                finding.lane = reporter.lane_index(cause.key.at, lane);
            }
        }
        Ok(())
    }

    /// Each program alone, on what the launch left.
    fn replay_apart(
        &self,
        code: &Code<'_>,
        programs: &BTreeMap<u64, Vec<(usize, &Cause)>>,
        left: &mut Memory,
        steps: usize,
    ) -> Vec<(usize, Seen)> {
        let cancel = AtomicBool::new(false);
        let mut memory = access::Memory::new(self.launch, left, self.options.checks, &cancel);
        memory.watch_reads(self.launch, &code.stepping.tape);
        memory.poison = self.options.poison;
        // Nothing is stored.
        memory.compare = Some(races::Compare::default());
        let context = self.stepping_context(code, memory);
        let (mut all, mut work) = (Vec::new(), 0);
        for (&linear, causes) in programs {
            let mut watch = Watch::new(self, code, causes, steps, work);
            let mut machine = watch.machine(&context, linear);
            let _ = watch.drive(&mut machine, 0);
            work = watch.recorder.work;
            all.extend(watch.told());
        }
        all
    }

    /// All programs up to the last one that is asked for, on the arguments as they were.
    fn replay_all(
        &self,
        code: &Code<'_>,
        programs: &BTreeMap<u64, Vec<(usize, &Cause)>>,
        before: &mut Memory,
        steps: usize,
    ) -> Result<Vec<(usize, Seen)>> {
        let cancel = AtomicBool::new(false);
        let mut memory = access::Memory::new(self.launch, before, self.options.checks, &cancel);
        memory.watch_reads(self.launch, &code.stepping.tape);
        memory.poison = self.options.poison;
        let mut all = Vec::new();
        let limits = schedule::Limits {
            suspended_bytes: self.options.suspended_bytes,
        };
        let quiet = |_| {};
        let unable = |message| tilescope_diagnostics::Error::unsupported(message);
        if code.stepping.tape.order == crate::tape::Order::Cooperative {
            let context = self.stepping_context(code, memory);
            let mut watches: BTreeMap<u64, Watch<'_, '_>> = programs
                .iter()
                .map(|(&linear, causes)| (linear, Watch::new(self, code, causes, steps, 0)))
                .collect();
            let mut open = watches.len();
            let mut drive = |machine: &mut Machine<'_>, position: u32| {
                let Some(watch) = watches.get_mut(&machine.linear) else {
                    return machine.resume(position);
                };
                watch.prepare(machine);
                let was_open = !watch.open.is_empty();
                let rest = watch.drive(machine, position)?;
                machine.hunt = None;
                open -= usize::from(was_open && watch.open.is_empty());
                // Nobody asks for the rest of the launch.
                match rest {
                    Some(rest) if open > 0 => Ok(rest),
                    _ => Err(Stop::Interrupted),
                }
            };
            schedule::run_watched(&context, 0..self.programs(), limits, &mut drive).map_err(unable)?;
            all.extend(watches.into_values().flat_map(Watch::told));
            return Ok(all);
        }
        let (mut next, mut work) = (0, 0);
        for (&linear, causes) in programs {
            let (max_steps, cpu) = (self.options.max_steps, self.options.cpu);
            let context = Context::new(&self.tape, self.launch.grid, memory, max_steps, cpu);
            schedule::run_some(&context, next..linear, limits, &quiet).map_err(unable)?;
            let context = self.stepping_context(code, context.memory);
            let mut watch = Watch::new(self, code, causes, steps, work);
            let mut machine = watch.machine(&context, linear);
            let _ = watch.drive(&mut machine, 0);
            drop(machine);
            work = watch.recorder.work;
            all.extend(watch.told());
            memory = context.memory;
            next = linear + 1;
        }
        Ok(all)
    }

    fn stepping_context<'r>(&self, code: &Code<'r>, memory: access::Memory<'r>) -> Context<'r> {
        let (max_steps, cpu) = (self.options.max_steps, self.options.cpu);
        Context::new(&code.stepping.tape, self.launch.grid, memory, max_steps, cpu)
    }
}

/// Watches one program for the causes that are asked of it.
struct Watch<'a, 'm> {
    prepared: &'a Prepared<'a>,
    code: &'a Code<'m>,
    open: Vec<(usize, Cause)>,
    steps: usize,
    recorder: Recorder<'m>,
    hunt: Option<Arc<Hunt>>,
    seen: BTreeMap<usize, Seen>,
}

impl<'a, 'm> Watch<'a, 'm> {
    fn new(
        prepared: &'a Prepared<'a>,
        code: &'a Code<'m>,
        causes: &[(usize, &Cause)],
        steps: usize,
        work: u64,
    ) -> Watch<'a, 'm> {
        let mut recorder = Recorder::new(&code.stepping.tape);
        recorder.work = work;
        let hunts = |(_, cause): &(usize, &Cause)| matches!(cause.key.check, Check::NanBorn | Check::InfBorn);
        Watch {
            prepared,
            code,
            open: causes
                .iter()
                .map(|&(index, cause)| (index, cause.clone()))
                .collect(),
            steps,
            recorder,
            hunt: causes
                .iter()
                .any(hunts)
                .then(|| Arc::new(Hunt::new(prepared.module, &code.stepping.tape))),
            seen: BTreeMap::new(),
        }
    }

    fn machine<'r>(&self, context: &'r Context<'r>, linear: u64) -> Machine<'r> {
        let mut machine = Machine::new(context);
        machine.start(linear);
        self.prepare(&mut machine);
        machine
    }

    /// What was seen; of what was not for want of time, that.
    fn told(mut self) -> BTreeMap<usize, Seen> {
        if self.recorder.work >= MOST_WORK {
            for (index, _) in self.open {
                self.seen.entry(index).or_insert(Seen {
                    end: Some(TOO_LONG),
                    ..Seen::default()
                });
            }
        }
        self.seen
    }

    /// Goes on unwatched to where a loop without end is looked at, if nothing else is asked for; then where it goes on.
    fn skip(&self, machine: &mut Machine<'_>, position: u32) -> std::result::Result<Advance, Stop> {
        let only_rounds = self.open.iter().all(|(_, cause)| cause.look == Look::Round);
        let most = match only_rounds && !self.open.is_empty() {
            true => SKIPPED.min(machine.context.max_steps / 2),
            false => 0,
        };
        let mut at = position;
        while machine.steps < most {
            match machine.advance(at)? {
                Advance::Next(next) => at = next,
                Advance::Back { to, yields: false } => at = to,
                rest => return Ok(rest),
            }
        }
        Ok(Advance::Next(at))
    }

    fn prepare(&self, machine: &mut Machine<'_>) {
        machine.hunt.clone_from(&self.hunt);
    }

    /// Runs the program on, until all causes were seen.
    fn drive(&mut self, machine: &mut Machine<'_>, position: u32) -> std::result::Result<Option<Rest>, Stop> {
        let position = match self.skip(machine, position)? {
            Advance::Next(position) => position,
            Advance::Back { to, .. } => return Ok(Some(Rest::Yielded(to))),
            Advance::Done => return Ok(Some(Rest::Done)),
        };
        let Watch {
            prepared,
            code,
            open,
            steps,
            recorder,
            seen,
            ..
        } = self;
        let cooperative = machine.context.cooperative;
        let mut look = |recorder: &Recorder<'_>, machine: &mut Machine<'_>, position: u32, now: Tick| {
            let moment = Moment {
                code,
                recorder,
                machine,
                launch: prepared.launch,
            };
            open.retain(|(index, cause)| {
                recorder.missed.set(false);
                let Some(mut found) = moment.look(cause, position, now, *steps) else {
                    return true;
                };
                found.end = recorder.missed.get().then_some(FORGOTTEN);
                if cause.look == Look::Round {
                    let rounds = seen.entry(*index).or_default();
                    rounds.chain.extend(found.chain);
                    rounds.rounds += 1;
                    return rounds.rounds < ROUNDS;
                }
                seen.insert(*index, found);
                matches!(cause.look, Look::Stored(..) | Look::Wait)
            });
            // Others may wait for what it does.
            cooperative || (!open.is_empty() && recorder.work < MOST_WORK)
        };
        recorder.drive(machine, position, &mut look)
    }
}

/// Which operands of an access are its pointers, its mask and what it writes.
fn parts(op: &Op) -> (Vec<usize>, Option<usize>, Option<usize>) {
    let has = |i: usize| (op.operands.len() > i).then_some(i);
    match op.code {
        OpCode::Load => (vec![0], has(1), None),
        OpCode::Store | OpCode::AtomicRmw => (vec![0], has(2), has(1)),
        OpCode::AtomicCas => (vec![0], None, has(2)),
        OpCode::DescriptorLoad | OpCode::DescriptorGather => ((0..op.operands.len()).collect(), None, None),
        OpCode::DescriptorStore | OpCode::DescriptorScatter | OpCode::DescriptorReduce => {
            let places = (0..op.operands.len()).filter(|&i| i != 1).collect();
            (places, None, has(1))
        }
        _ => (vec![0], None, None),
    }
}

impl Moment<'_, '_, '_> {
    /// What is to be seen of a cause after an instruction, if it is.
    fn look(&self, cause: &Cause, position: u32, now: Tick, most: usize) -> Option<Seen> {
        let inst = self.code.stepping.tape.code.insts.get(position as usize)?;
        let (_, op, origin) = self.code.op(position)?;
        let stores = || op.code == OpCode::Store || op.code.info().family == Family::Atomic;
        match cause.look {
            Look::Stored(..) if stores() => {}
            _ if inst.at == cause.trigger() => {}
            _ => return None,
        }
        let (pointers, mask, value) = parts(op);
        let place = |lane: usize| {
            let operands = pointers.iter().copied().chain(mask);
            operands.map(|operand| (operand, lane)).collect::<Vec<_>>()
        };
        let (roots, lane) = match cause.look {
            Look::Touch(offset, elem) => {
                let lane =
                    self.touching(position, now, cause.key.tensor, (offset, elem), (&pointers, mask))?;
                (place(lane), Some(lane as u32))
            }
            Look::Stored(offset, elem) => {
                let lane =
                    self.touching(position, now, cause.key.tensor, (offset, elem), (&pointers, mask))?;
                let mut chain = self.chain(position, now, &[(value?, lane)], most.saturating_sub(1));
                let stored = self.operand_value(position, now, value?, lane)?;
                chain.extend((most > 0).then(|| self.stored(origin, stored, cause.key.tensor, offset)));
                return Some(Seen {
                    chain,
                    ..Seen::default()
                });
            }
            Look::Round => return self.round(position, most),
            Look::Wait => return self.wait(position, now, most),
            _ if !self.is_made(cause) => return None,
            Look::Access(lane) => (place(lane as usize), None),
            Look::Operand(lane) => (vec![(0, lane as usize)], None),
            Look::Used(lane, how) => {
                let lane = lane as usize;
                let roots = match how {
                    Use::Address => pointers.iter().map(|&operand| (operand, lane)).collect(),
                    Use::Mask => mask.map(|mask| (mask, lane)).into_iter().collect(),
                    Use::Stored | Use::Atomic => value.map(|value| (value, lane)).into_iter().collect(),
                    Use::Condition | Use::Asserted | Use::Printed => vec![(0, lane)],
                };
                (roots, None)
            }
            Look::Birth(lane, _) => {
                let born = self.machine.taint.born(&cause.key)?;
                let chain = self.chain_of_result(cause.key.at, born + 1, lane as usize, most);
                return Some(Seen {
                    chain,
                    ..Seen::default()
                });
            }
        };
        let chain = self.chain(position, now, &roots, most);
        Some(Seen {
            chain,
            lane,
            ..Seen::default()
        })
    }

    /// The last step: what a program stored where.
    fn stored(&self, origin: &Origin, value: Value, tensor: Tensor, offset: u64) -> Chain {
        let [x, y, z] = self.machine.program;
        Chain {
            location: place(self.code.module, origin),
            op: String::from("tt.store"),
            value,
            name: self.element(tensor, i128::from(offset)),
            note: Some(format!("stored by program ({x}, {y}, {z})")),
        }
    }

    fn is_made(&self, cause: &Cause) -> bool {
        let entry = self.machine.sink.entries.get(&cause.key);
        entry.is_some_and(|entry| entry.linear == cause.linear)
    }

    /// The first active lane of an access whose element has a byte of a tensor's storage.
    fn touching(
        &self,
        position: u32,
        now: Tick,
        tensor: Tensor,
        (offset, elem): (u64, u32),
        (pointers, mask): (&[usize], Option<usize>),
    ) -> Option<usize> {
        let base = self.machine.context.memory.target(tensor)?.base;
        let &[pointers] = pointers else {
            return self.touching_by_block(position, tensor, base, (offset, elem));
        };
        let (.., lanes) = self.code.operand(position, pointers)?;
        (0..lanes).find(|&lane| {
            let active = mask.is_none_or(|mask| {
                let mask = self.operand(position, now, mask, lane);
                mask.is_some_and(|mask| mask.bits & 1 != 0)
            });
            let pointer = self.operand(position, now, pointers, lane);
            active
                && pointer.is_some_and(|pointer| {
                    let start = pointer.bits.wrapping_sub(base);
                    pointer.tensor == tensor
                        && (start..start.saturating_add(u64::from(elem))).contains(&offset)
                })
        })
    }
}
