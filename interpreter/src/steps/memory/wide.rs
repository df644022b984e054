//! A load at a known place of floats narrower than f32, widened at once: nothing narrow is kept.
//!
//! Made by [`crate::optimise::widen`] of a load and the conversion or matrix product that alone uses it. Where the
//! load is in doubt both instructions run one after the other.

use crate::frame::{Frame, Tile};
use crate::kind::{Kind, Lane};
use crate::machine::{Flow, Machine, Stop};
use crate::num::float::{Bf16, F16, StoredFloat};
use crate::simd;
use crate::steps::memory::placed::{PlacedLoad, Reach, Rectangle, is_followed};
use crate::steps::memory::row::Placed;
use crate::steps::strip::{self, Link};
use crate::tape::{Code, Effect, Inst, Step};

/// A load and its conversion; operands are the load's.
#[derive(Debug)]
pub struct WideLoad {
    /// The load, without its plain form.
    pub load: PlacedLoad,
    /// The load and the conversion, as two instructions.
    pub code: Code,
    /// A NaN may become any NaN: only matrix products see it.
    pub any_nan: bool,
}

/// True for kinds that are widened so.
pub fn is_narrow(kind: Kind) -> bool {
    matches!(kind, Kind::F16 | Kind::Bf16)
}

impl WideLoad {
    /// Where the active lanes are, if all is beyond doubt, and the others are all alike.
    #[inline]
    fn rectangle(&self, inst: &Inst, machine: &Machine<'_>) -> Option<Rectangle> {
        let alike = !self.load.other || machine.frame.uniform(inst.ins[0]).is_some();
        // What was found is not moved once more: it would be read before it is all written.
        match alike {
            true => self.load.rectangle(inst, machine),
            false => None,
        }
    }

    #[inline]
    fn copy(&self, inst: &Inst, machine: &mut Machine<'_>, all: &Rectangle) {
        match self.load.kind {
            Kind::F16 => self.copy_as::<F16>(inst, machine, all),
            _ => self.copy_as::<Bf16>(inst, machine, all),
        }
    }

    fn copy_as<T: Lane + StoredFloat>(&self, inst: &Inst, machine: &mut Machine<'_>, all: &Rectangle) {
        let cpu = machine.context.cpu;
        let (stride, turned) = (self.load.place.stride, self.load.place.turned);
        let other = |frame: &Frame| {
            let bits = self.load.other.then(|| frame.uniform(inst.ins[0])).flatten();
            T::from_bits(bits.unwrap_or(0)).to_f32()
        };
        self.load.fill::<f32>(
            inst,
            machine,
            all,
            |frame, _| Some(Tile::Uniform(other(frame))),
            |shared, part, rows, out| {
                let bytes = (rows[0] - 1) * stride + rows[1] * size_of::<T>();
                if simd::strip::is_there(cpu)
                    && let Some(held) = strip::held(self.load.kind)
                    && let Some(span) = shared.span(part.allocation, part.offset, bytes)
                {
                    match turned {
                        true => {
                            simd::widen::widen_turned(cpu, (held, self.any_nan), (span, stride), rows, out)
                        }
                        false => {
                            simd::widen::widen_rows(cpu, (held, self.any_nan), (span, stride), rows, out)
                        }
                    }
                    return;
                }
                let widen = |narrow: &[T], wide: &mut [f32]| T::widen_slice(cpu, narrow, wide);
                match turned {
                    true => shared.read_turned_by(part.allocation, part.offset, stride, rows, out, widen),
                    false => shared.read_rows_by(part.allocation, part.offset, stride, rows, out, widen),
                }
            },
        );
    }
}

impl Step for WideLoad {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        if !is_followed(machine)
            && let Some(all) = self.rectangle(inst, machine)
        {
            self.load.begin(inst, machine, &all);
            self.copy(inst, machine, &all);
            return Ok(Flow::Next);
        }
        machine.steps -= 1;
        let ran = machine.run_nested(&self.code);
        machine.at = inst.at;
        ran.map(|()| Flow::Next)
    }

    fn effect(&self) -> Effect {
        Effect::Reads
    }

    fn name(&self) -> String {
        String::from("PlacedLoad, widened,")
    }

    /// The nested instructions carry births.
    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}

    /// So do they with what wrapped around.
    fn exact(&self, _: &Inst, _: &mut Machine<'_>) {}

    fn reach(&self, inst: &Inst, machine: &Machine<'_>) -> Option<Reach> {
        let rectangle = self.rectangle(inst, machine)?;
        Some(self.load.place.reach(rectangle, self.load.kind.bytes(), false))
    }

    fn begin(&self, inst: &Inst, machine: &mut Machine<'_>, reach: &Reach) {
        self.load.begin(inst, machine, &reach.rectangle);
    }

    fn run_part(&self, inst: &Inst, machine: &mut Machine<'_>, reach: &Reach) {
        self.copy(inst, machine, &reach.rectangle);
    }

    fn link(&self) -> Option<Link> {
        (strip::is_held(self.load.kind) && !self.load.place.turned).then_some(Link::Load(self.load.kind))
    }

    fn placed(&self) -> Option<Placed> {
        Some(self.load.placed())
    }

    fn is_access(&self) -> bool {
        true
    }

    fn is_placed(&self) -> bool {
        !self.load.place.turned
    }

    fn nested(&self) -> Option<&Code> {
        Some(&self.code)
    }

    fn nested_mut(&mut self) -> Option<&mut Code> {
        Some(&mut self.code)
    }
}
