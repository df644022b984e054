//! The checked build: every access asks whether it may happen, asserts and assumptions are tested, and what is found is noted in a
//! table that the host reads ([`crate::checked`]). Accesses go one element at a time.

use tilescope_diagnostics::{Check, Result};
use tilescope_ir::{Function, OpCode, OpId, ValueId};
use tilescope_launch::fault::{AccessKind, Spot};

use super::Emitter;
use super::loops::Body;
use super::tile::Bound;
use crate::checked::provenance::Provenance;
use crate::checked::{Place, PlaceKind};
use crate::layout::{Access, Layout};

/// Places of a checked kernel so far.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// False where places are only those of prints.
    pub checks: bool,
    pub places: Vec<Place>,
    /// Slots of the table that they take.
    pub slots: u32,
}

/// Kinds of faults of an access, as the header numbers them.
pub const ACCESS_FAULTS: [Option<Check>; 5] = [
    Some(Check::WildPointer),
    None,
    Some(Check::Misaligned),
    Some(Check::StoreToInput),
    Some(Check::OutsideView),
];

/// How a checked access asks.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    kind: AccessKind,
    slot: u32,
    tensor: String,
}

impl Guard {
    /// A condition that notes what is wrong.
    pub fn ask(&self, address: &str, lane: &str, mine: &str) -> String {
        let kind = match self.kind {
            AccessKind::Load => "LOAD",
            AccessKind::Store => "STORE",
            AccessKind::Atomic => "ATOMIC",
            AccessKind::AtomicLoad => "ATOMIC_LOAD",
        };
        let Guard { slot, tensor, .. } = self;
        format!("ts::allowed<ts::{kind}>(checks, {slot}u, {tensor}, {address}, {lane}, {mine})")
    }
}

/// True in one thread and register of those that hold a lane; none where only one holds it.
pub(super) fn mine(layout: &Layout) -> Option<String> {
    let idle = layout.idle_threads();
    let copies = layout
        .regs
        .iter()
        .enumerate()
        .filter(|(_, base)| **base == 0)
        .fold(0u32, |mask, (bit, _)| mask | 1 << bit);
    let mut terms = Vec::new();
    if idle != 0 {
        terms.push(format!("(tid & {idle}) == 0"));
    }
    if copies != 0 {
        terms.push(format!("(r & {copies}) == 0"));
    }
    (!terms.is_empty()).then(|| terms.join(" && "))
}

impl Emitter<'_> {
    /// True in a checked build.
    pub(super) fn is_checked(&self) -> bool {
        self.checked.checks
    }

    /// Registers a place of so many slots; gives its number and its first slot. None in a build without checks.
    pub(super) fn place(&mut self, op: OpId, kind: PlaceKind, slots: u32) -> Option<(u32, u32)> {
        let anywhere = matches!(kind, PlaceKind::Print | PlaceKind::Dump { .. });
        if !self.is_checked() && !anywhere {
            return None;
        }
        let scope = &self.scopes[self.scopes.len() - 1];
        let (function, calls) = (scope.id, scope.calls.to_vec());
        let checked = &mut self.checked;
        let (number, first) = (checked.places.len() as u32, checked.slots);
        checked.places.push(Place {
            spot: Spot { function, op, calls },
            kind,
            first,
        });
        checked.slots = checked.slots.saturating_add(slots);
        Some((number, first))
    }

    /// What a pointer derives from.
    pub(super) fn provenance(&self, value: ValueId) -> Provenance {
        let scope = &self.scopes[self.scopes.len() - 1];
        scope.origins.get(&value).copied().unwrap_or(Provenance::Any)
    }

    /// The guard of an access; none in a build without checks. Counts a step of the program.
    pub(super) fn guard(
        &mut self,
        function: &Function,
        op: OpId,
        kind: AccessKind,
        pointer: ValueId,
        bytes: u64,
    ) -> Result<Option<Guard>> {
        if !self.is_checked() {
            return Ok(None);
        }
        let provenance = self.provenance(pointer);
        let tensors = self.launch.tensors.len() as u32 + 1;
        let slots = ACCESS_FAULTS.len() as u32 * if provenance == Provenance::Any { tensors } else { 1 };
        let place = PlaceKind::Access {
            kind,
            provenance,
            bytes: bytes as u32,
        };
        let Some((_, slot)) = self.place(op, place, slots) else {
            return Ok(None);
        };
        super::undefined::used(self, function, op, &function.ops[op].operands)?;
        self.step();
        Ok(Some(Guard {
            kind,
            slot,
            tensor: match provenance {
                Provenance::One(id) => format!("{}u", id.map_or(0, |id| id.0 + 1)),
                Provenance::Any => String::from("ts::UNKNOWN"),
            },
        }))
    }

    /// Counts a step of the program: what is found later in it comes second.
    pub(super) fn step(&mut self) {
        self.flush();
        self.line("++checks.sequence;");
    }

    /// The row-major number of the lane in register `r`, and whether it is this thread's to report.
    pub(super) fn lane(&mut self, access: &Access, layout: &Layout) -> (String, String) {
        let lane = self.index(access, "r");
        (lane, mine(layout).unwrap_or_else(|| String::from("true")))
    }
}

/// `tt.assert`, `cf.assert`, `llvm.intr.assume`: without checks, nothing.
pub fn must_hold(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Some(&condition) = data.operands.first() else {
        return Ok(());
    };
    let kind = match data.code {
        OpCode::Assert => PlaceKind::Assert,
        _ => PlaceKind::Assume,
    };
    let Some((_, slot)) = e.place(op, kind, 1) else {
        return Ok(());
    };
    super::undefined::used(e, function, op, &data.operands)?;
    e.step();
    e.note(data);
    let tile = match e.bound(condition) {
        Bound::Tile(tile) => tile,
        Bound::Scalar(text) => {
            e.line(format!(
                "if (tid == 0 && !({text})) ts::note(checks, {slot}u, 0);"
            ));
            return Ok(());
        }
        Bound::Block(_) => return Ok(()),
    };
    let layout = e.layout(tile.shape);
    let access = layout.identity();
    e.prepare(&tile, &access)?;
    e.flush();
    e.open_registers(layout.registers(), 1);
    let mut body = Body::default();
    let value = e.element(&mut body, &tile, &access, "r")?;
    e.put(&mut body);
    let (lane, mine) = e.lane(&access, &layout);
    e.line(format!(
        "if (!{value} && {mine}) ts::note(checks, {slot}u, {lane});"
    ));
    e.close("}");
    Ok(())
}
