//! The tape: a kernel lowered to a flat vector of instructions.
//!
//! An instruction is a [`Step`] (what is done) with the slots it reads and writes. Loops are jumps to
//! labels. What only errors, reports and the debugger need (which operation an instruction comes from,
//! through which calls) sits in a side table. A program's whole state is the tape position and its
//! frame.

use crate::analysis::pointees::{Storages, Touched};
use crate::frame::{Slot, Tensor};
use crate::kind::Kind;
use crate::machine::{Flow, Machine, Stop};
use crate::optimise::formula::Rule;
use crate::optimise::place::Plain;
use crate::steps::chain::Chain;
use crate::steps::control::Counted;
use crate::steps::fold::RunningRows;
use crate::steps::memory::placed::{PlacedLoad, Reach};
use crate::steps::memory::row::Placed;
use crate::steps::running::{Neighbours, Running};
use crate::steps::strip::Link;
use crate::stretch::Stretch;
use std::fmt::Debug;
use std::sync::Arc;
use tilescope_ir::{FuncId, LocId, OpId};

/// Where an instruction comes from: index into [`Tape::origins`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At(pub u32);

/// A jump target: index into the labels of its code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(pub u32);

/// What an instruction does to the tensors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Effect {
    /// Nothing.
    #[default]
    None,
    /// It reads them.
    Reads,
    /// It may write them, or do something else that others may see.
    Writes,
}

/// What an instruction does. Its operands are in the [`Inst`]; what it holds itself is fixed per launch.
pub trait Step: Debug + Send + Sync {
    /// Does it.
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop>;

    /// Carries undefined lanes from operands to results, and reports those that reach a use here; called
    /// after [`run`](Step::run) while undefined lanes exist. By default a result lane is undefined where
    /// an operand's lane is (a uniform or one-lane operand counts for all lanes).
    fn taint(&self, inst: &Inst, machine: &mut Machine<'_>) {
        crate::taint::lanewise(inst, machine);
    }

    /// Carries what integers would be without wrap-around ([`crate::exact`]); called after [`run`](Step::run)
    /// while some differ. By default the results start again from the real values.
    fn exact(&self, inst: &Inst, machine: &mut Machine<'_>) {
        crate::exact::forget(inst, machine);
    }

    /// True if the step reads symbolic operands ([`crate::forms`]); others get them dense.
    fn reads_forms(&self) -> bool {
        false
    }

    /// What it is, for listings.
    fn name(&self) -> String {
        let debug = format!("{self:?}");
        debug.split([' ', '{', '(', '<']).next().unwrap_or("").to_string()
    }

    /// True if another instruction than the next may follow.
    fn jumps(&self) -> bool {
        false
    }

    /// True if what it gives depends on the operands and the grid's size alone, it reports nothing, and no
    /// lane of a result can be undefined by it; `operands` has the bits of those that are known beforehand.
    fn is_pure(&self, operands: &[Option<u64>]) -> bool {
        let _ = operands;
        false
    }

    /// True if lane i of each result depends on lane i of the operands (or on uniform ones) alone, however many
    /// lanes there are: with 0 lanes the instruction runs on the machine's batch.
    fn is_lanewise(&self) -> bool {
        false
    }

    /// True if, with 0 lanes, it gives the machine's batch of lanes of its result, from lane `machine.first` on,
    /// reading its whole operand.
    fn spreads(&self) -> bool {
        false
    }

    /// True if a result may be symbolic.
    fn may_give_forms(&self) -> bool {
        false
    }

    /// The bits of its uniform result, where they are known beforehand.
    fn known(&self) -> Option<u64> {
        None
    }

    /// What its integers, addresses or truth values are in terms of its operands', if that is known beforehand; it
    /// then does nothing else, but for a division, which may be undefined.
    fn rule(&self) -> Option<Rule<'_>> {
        None
    }

    /// What it does to the tensors, as far as it matters to those that are moved past it.
    fn effect(&self) -> Effect {
        let quiet = self.is_lanewise() || self.spreads() || self.rule().is_some() || self.is_pure(&[]);
        if quiet { Effect::None } else { Effect::Writes }
    }

    /// What it accesses, if it is a plain access.
    fn access(&self) -> Option<Plain> {
        None
    }

    /// Leaves out operands and results in pairs, where it has a result for each operand.
    fn keep_pairs(&mut self, used: &[bool]) {
        let _ = used;
    }

    /// For an access whose lanes may be done block by block: those of an instruction that is beyond doubt now.
    fn reach(&self, inst: &Inst, machine: &Machine<'_>) -> Option<Reach> {
        let _ = (inst, machine);
        None
    }

    /// Before the lanes of an access are done block by block: what concerns all of them.
    fn begin(&self, inst: &Inst, machine: &mut Machine<'_>, reach: &Reach) {
        let _ = (inst, machine, reach);
    }

    /// Does the machine's batch of lanes of an access that is beyond doubt.
    fn run_part(&self, inst: &Inst, machine: &mut Machine<'_>, reach: &Reach) {
        let _ = (inst, machine, reach);
    }

    /// What it is in a chain of f32 that runs as a straight line.
    fn link(&self) -> Option<Link> {
        None
    }

    /// What it accesses, if it is a load or store at a known place.
    fn placed(&self) -> Option<Placed> {
        None
    }

    /// Itself, if it is a load at a known place.
    fn placed_load(&self) -> Option<&PlacedLoad> {
        None
    }

    /// The narrow float kind that it widens to f32, if it does nothing else.
    fn widens(&self) -> Option<Kind> {
        None
    }

    /// The kinds of its first operands, if it widens those of a narrow kind itself and takes them in f32, too.
    fn widened(&mut self) -> Option<[&mut Kind; 2]> {
        None
    }

    /// True for a load or store at a known place.
    fn is_access(&self) -> bool {
        false
    }

    /// True for an access that [`reach`](Step::reach) may be asked of.
    fn is_placed(&self) -> bool {
        false
    }

    /// True if its result is its operand, repeated.
    fn is_splat(&self) -> bool {
        false
    }

    /// Itself, if it is a chain.
    fn chain(&self) -> Option<&Chain> {
        None
    }

    /// Itself, if it is a chain.
    fn chain_mut(&mut self) -> Option<&mut Chain> {
        None
    }

    /// Its loop from memory to memory, if it is a scan of one row from the first element on.
    fn running_rows(&self) -> Option<RunningRows> {
        None
    }

    /// Itself, if it is a scan from memory to memory.
    fn running(&self) -> Option<&Running> {
        None
    }

    /// True if the program ends here.
    fn ends(&self) -> bool {
        false
    }

    /// How it begins or ends a counted loop, if it does.
    fn counted(&self) -> Option<Counted> {
        None
    }

    /// True if only the first program does it.
    fn is_for_first(&self) -> bool {
        false
    }

    /// The code nested in this instruction (the region of a reduce), for liveness and listings.
    fn nested(&self) -> Option<&Code> {
        None
    }

    /// The same, to have its slots assigned.
    fn nested_mut(&mut self) -> Option<&mut Code> {
        None
    }
}

/// One instruction.
#[derive(Debug)]
pub struct Inst {
    /// What is done.
    pub step: Box<dyn Step>,
    /// Slots read.
    pub ins: Box<[Slot]>,
    /// Slots written.
    pub outs: Box<[Slot]>,
    /// Lanes of the result (of the operand, for stores); 0 means the machine's batch, inside the region
    /// of a reduce.
    pub lanes: u32,
    /// Where it comes from.
    pub at: At,
    /// Bit i is set when operand i is not read again: its slot may be taken over.
    pub kills: u64,
    /// What the step says of itself, kept where the machine looks.
    pub reads_forms: bool,
}

/// A run of instructions with its labels.
#[derive(Debug, Default)]
pub struct Code {
    /// The instructions.
    pub insts: Vec<Inst>,
    /// Instruction index per label.
    pub labels: Vec<u32>,
    /// Slots of the arguments, for nested code.
    pub args: Vec<Slot>,
    /// Slots of the results, for nested code.
    pub results: Vec<Slot>,
    /// True when jumps decide what runs, so that nested code runs lane by lane.
    pub branches: bool,
}

/// Where an instruction comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Function of the operation.
    pub func: FuncId,
    /// The operation, or a parameter by position.
    pub what: What,
    /// Locations of the calls (`tt.call`) that led here, innermost first.
    pub calls: Arc<[LocId]>,
}

/// What an instruction is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// An operation.
    Op(OpId),
    /// A parameter of the kernel.
    Param(u32),
}

/// A kernel parameter's place and value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preset {
    /// Where it is in every program.
    pub slot: Slot,
    /// Its bits.
    pub bits: u64,
    /// The tensor it points to, plus one.
    pub tensor: Tensor,
}

/// How atomics and stores decide in what order programs may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// Any: programs run in parallel.
    Parallel,
    /// Any, but updates of memory are written down and applied in program order: float atomics round
    /// differently otherwise.
    Logged,
    /// One after the other in program order.
    Sequential,
    /// One worker, switching where a program spins: results of atomics are used.
    Cooperative,
}

/// A lowered kernel.
#[derive(Debug)]
pub struct Tape {
    /// The instructions.
    pub code: Code,
    /// What is run once per frame, before any program: values that are the same in all of them.
    pub prologue: Code,
    /// What only the first program does, before anything else.
    pub first: Code,
    /// Where instructions come from.
    pub origins: Vec<Origin>,
    /// Parameters.
    pub presets: Vec<Preset>,
    /// Number of slots.
    pub slots: u32,
    /// Bytes of all slots when dense.
    pub frame_bytes: u64,
    /// Order in which programs may run.
    pub order: Order,
    /// Uninitialised storage that the kernel may read.
    pub unwritten: Storages,
    /// Storage that a program may load after it stored there.
    pub rereads: Storages,
    /// What its accesses may touch; nothing where faults are not reported.
    pub touched: Touched,
    /// What each slot held last, for listings: kind and lanes.
    pub shapes: Vec<(Kind, u32)>,
    /// How neighbouring programs run as one stretch, where they can.
    pub stretch: Option<Stretch>,
    /// How neighbouring programs that scan a row each go side by side, where they can.
    pub neighbours: Option<Neighbours>,
}

impl Inst {
    /// An instruction of which no operand is known to die.
    pub fn new(step: impl Step + 'static, ins: Vec<Slot>, outs: Vec<Slot>, lanes: u32, at: At) -> Inst {
        let reads_forms = step.reads_forms();
        Inst {
            step: Box::new(step),
            ins: ins.into(),
            outs: outs.into(),
            lanes,
            at,
            kills: 0,
            reads_forms,
        }
    }

    /// Leaves out the operands and results that are not `used`, in pairs.
    pub fn keep_pairs(&mut self, used: &[bool]) {
        let keep = |slots: &[Slot]| {
            slots
                .iter()
                .zip(used)
                .filter(|(_, used)| **used)
                .map(|(&slot, _)| slot)
                .collect()
        };
        self.ins = keep(&self.ins);
        self.outs = keep(&self.outs);
        self.step.keep_pairs(used);
    }

    /// True when operand `i` is not read again.
    #[inline(always)]
    pub fn kills(&self, i: usize) -> bool {
        i < 64 && self.kills >> i & 1 != 0
    }

    /// Lanes of this instruction now.
    #[inline(always)]
    pub fn lanes(&self, machine: &Machine<'_>) -> usize {
        if self.lanes == 0 {
            machine.batch
        } else {
            self.lanes as usize
        }
    }
}
