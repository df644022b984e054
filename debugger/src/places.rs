//! What a screen asks beside what commands ask: where things stand, and whole tiles at a glance.

use std::sync::Arc;

use tilescope_diagnostics::Value;
use tilescope_interpreter::tape::{Origin, What};
use tilescope_interpreter::view::View;
use tilescope_ir::{Def, OpCode};

use crate::session::Session;
use crate::values::{Lane, LaneState, Summary, ValueKey, Window, as_f64};

/// Where the operation on a line of the kernel's text comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpPlace {
    /// Line of [`Session::ir`].
    pub op_line: u32,
    /// The author's file.
    pub file: Arc<str>,
    /// The author's line.
    pub line: u32,
}

/// A lane that points into a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aim {
    /// The element, which may be outside the tensor's shape.
    pub element: Vec<i64>,
    /// Masked off, out of bounds, or neither.
    pub state: LaneState,
}

/// The lanes of a block.
#[derive(Default)]
struct Gathered {
    sum: f64,
    numbers: u64,
    worst: Option<f64>,
    state: Option<LaneState>,
}

impl Gathered {
    fn add(&mut self, lane: Lane) {
        match lane.state {
            LaneState::Masked => return,
            LaneState::Undefined | LaneState::OutOfBounds => self.state = Some(lane.state),
            LaneState::Fine => {}
        }
        let number = as_f64(lane.value);
        if number.is_finite() {
            self.sum += number;
            self.numbers += 1;
        } else if self.worst.is_none_or(|worst| !worst.is_nan()) {
            self.worst = Some(number);
        }
    }

    fn lane(self) -> Lane {
        let nothing = self.numbers == 0 && self.worst.is_none() && self.state.is_none();
        let mean = if self.numbers == 0 {
            0.0
        } else {
            self.sum / self.numbers as f64
        };
        Lane {
            value: Value::Float(self.worst.unwrap_or(mean)),
            state: if nothing {
                LaneState::Masked
            } else {
                self.state.unwrap_or_default()
            },
        }
    }
}

/// Most lanes whose aims are worked out.
const MAX_AIMS: usize = 1 << 20;

impl Session {
    /// Where each operation of the kernel's text comes from, by its line there; the innermost place that is the
    /// author's own.
    pub fn op_places(&self) -> Vec<OpPlace> {
        let module = &self.code.module;
        let mut places = Vec::new();
        for (func, function) in module.funcs.iter() {
            for (op, data) in function.ops.iter() {
                let Some(op_line) = self.code.op_line(func, op) else {
                    continue;
                };
                let frames = module.locs.frames(data.loc);
                let own = frames
                    .into_iter()
                    .find(|(file, ..)| !file.contains("triton/language/"));
                if let (Some((file, line, _)), false) = (own, data.code == OpCode::Constant) {
                    places.push(OpPlace { op_line, file, line });
                }
            }
        }
        places.sort_by_key(|place| place.op_line);
        places
    }

    /// File and line at which a value is made.
    pub fn assigned_at(&self, id: ValueKey) -> Option<(&str, u32)> {
        let &(file, line) = self.code.named(id)?.stack.last()?;
        Some((self.code.files.get(file as usize)?, line))
    }

    /// The pointers that a tile was loaded through, as long as they have not changed since.
    pub fn loaded_from(&self, id: ValueKey) -> Option<ValueKey> {
        let placed = self.code.placed(id)?;
        let function = self.code.module.funcs.get(placed.func)?;
        let Def::Result(op, _) = function.values.get(placed.value)?.def else {
            return None;
        };
        let data = function.ops.get(op)?;
        let &pointers = data.operands.first().filter(|_| data.code == OpCode::Load)?;
        let origin = Origin {
            func: placed.func,
            what: What::Op(op),
            calls: placed.calls.clone(),
        };
        let key = self.code.key_of(&origin, pointers)?;
        let values = self.scene()?.values;
        let written = |key: ValueKey| Some(values.written(*self.code.placed(key)?.slots.first()?));
        (written(key)? <= written(id)?).then_some(key)
    }

    /// Where the lanes of a tile of pointers point in a tensor, or were loaded from; a lane that an access through them
    /// leaves out is masked off. Empty for other values and for tiles of more than 2^20 lanes.
    pub fn aims(&self, id: ValueKey, tensor: &str) -> Vec<Aim> {
        self.find_aims(id, tensor).unwrap_or_default()
    }

    fn find_aims(&self, id: ValueKey, tensor: &str) -> Option<Vec<Aim>> {
        let scene = self.scene()?;
        let is_pointer = self.code.ty(id)?.elem()?.pointer().is_some();
        let pointers = if is_pointer { id } else { self.loaded_from(id)? };
        let mask = if is_pointer {
            self.mask_beside(id)
        } else {
            self.code.mask_of(id)
        };
        let (slot, kind, lanes) = self.code.slot(pointers)?;
        let tensors = &self.engine.launch.tensors;
        let index = tensors.iter().position(|data| data.name == tensor)?;
        let data = tensors.get(index)?;
        let base = self
            .engine
            .memory
            .allocations
            .get(data.allocation.0 as usize)?
            .base;
        let bytes = data.dtype.bytes();
        let view = View::new(data, bytes);
        if lanes > MAX_AIMS {
            return None;
        }
        let aim = |lane: usize| {
            if scene.values.tensor(slot, lane) as usize != index + 1 {
                return None;
            }
            let offset = i128::from(scene.values.lane(slot, kind, lanes, lane)) - i128::from(base);
            let inside = i64::try_from(offset).is_ok_and(|offset| view.contains(offset, bytes as i64));
            let off = mask.is_some_and(|mask| {
                scene
                    .lane(mask, lane)
                    .is_some_and(|m| m.value == Value::Bool(false))
            });
            let state = match (off, inside) {
                (true, _) => LaneState::Masked,
                (false, true) => LaneState::Fine,
                (false, false) => LaneState::OutOfBounds,
            };
            Some(Aim {
                element: view.element(offset)?,
                state,
            })
        };
        Some((0..lanes).filter_map(aim).collect())
    }

    /// The mask of the first load, store or atomic operation through a tile of pointers, if it has a value.
    fn mask_beside(&self, pointers: ValueKey) -> Option<ValueKey> {
        let placed = self.code.placed(pointers)?;
        let function = self.code.module.funcs.get(placed.func)?;
        function.ops.iter().find_map(|(op, data)| {
            let at = match data.code {
                OpCode::Load => 1,
                OpCode::Store | OpCode::AtomicRmw => 2,
                _ => return None,
            };
            let mask = data
                .operands
                .get(at)
                .filter(|_| data.operands.first() == Some(&placed.value))?;
            let origin = Origin {
                func: placed.func,
                what: What::Op(op),
                calls: placed.calls.clone(),
            };
            let key = self.code.key_of(&origin, *mask)?;
            let slot = *self.code.placed(key)?.slots.first()?;
            (self.scene()?.values.written(slot) > 0).then_some(key)
        })
    }

    /// The address that a lane of a tile of pointers holds.
    pub fn address(&self, id: ValueKey, lane: usize) -> Option<u64> {
        match self.scene()?.lane(id, lane)?.value {
            Value::Int(address) => u64::try_from(address).ok(),
            Value::Float(_) | Value::Bool(_) => None,
        }
    }

    /// How the numbers of a tile are spread from its least to its greatest: lanes per part, of `parts` of the same
    /// width. Lanes that a summary does not count are left out; so are infinities.
    pub fn histogram(&self, id: ValueKey, summary: &Summary, parts: usize) -> Vec<u64> {
        let mut counts = vec![0; parts];
        let (Some(scene), Some((_, _, lanes))) = (self.scene(), self.code.slot(id)) else {
            return counts;
        };
        let (Some(least), Some(greatest)) = (summary.min.map(as_f64), summary.max.map(as_f64)) else {
            return counts;
        };
        let (least, greatest) = (least.max(f64::MIN), greatest.min(f64::MAX));
        let scale = parts as f64 / (greatest / 2.0 - least / 2.0);
        for lane in 0..lanes {
            let Some(lane) = scene.lane(id, lane) else {
                continue;
            };
            let number = as_f64(lane.value);
            if matches!(lane.state, LaneState::Masked | LaneState::Undefined) || !number.is_finite() {
                continue;
            }
            // Halved, so that the difference of the extremes of a double does not overflow.
            let part = ((number / 2.0 - least / 2.0) * scale) as usize;
            if let Some(count) = counts.get_mut(part.min(parts.saturating_sub(1))) {
                *count += 1;
            }
        }
        counts
    }

    /// A tile seen from afar: its lanes in blocks of rows and columns, each as one lane that holds the mean of those that
    /// are numbers. A block with a NaN, an infinity, or a lane outside or without meaning is that; one is masked off if
    /// all its lanes are. `window` says which part; no copy of it is made.
    pub fn blocks(&self, id: ValueKey, window: &Window, block: (u64, u64)) -> Option<Vec<Lane>> {
        let scene = self.scene()?;
        let (_, _, lanes) = self.code.slot(id)?;
        let dims: Vec<u64> = self
            .code
            .ty(id)?
            .shape()
            .map_or(Vec::new(), |shape| shape.dims().map(|n| n as u64).collect());
        let window = window.cut(&dims);
        let stride = |axis: Option<usize>| axis.map_or(0, |axis| dims.iter().skip(axis + 1).product::<u64>());
        let (down, right) = (stride(window.row_axis), stride(window.column_axis));
        let held = |axis: usize| Some(axis) != window.row_axis && Some(axis) != window.column_axis;
        let base: u64 = (0..dims.len())
            .filter(|&axis| held(axis))
            .map(|axis| window.at[axis] * stride(Some(axis)))
            .sum();
        let (high, wide) = (block.0.max(1), block.1.max(1));
        let (rows, columns) = (window.rows.1.div_ceil(high), window.columns.1.div_ceil(wide));
        let mut blocks = Vec::new();
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            let mut whole = Gathered::default();
            for row in (i * high..(i + 1) * high).take_while(|&row| row < window.rows.1) {
                for column in (j * wide..(j + 1) * wide).take_while(|&column| column < window.columns.1) {
                    let lane = base + (window.rows.0 + row) * down + (window.columns.0 + column) * right;
                    let lane = usize::try_from(lane).ok().filter(|&lane| lane < lanes)?;
                    whole.add(scene.lane(id, lane)?);
                }
            }
            blocks.push(whole.lane());
        }
        Some(blocks)
    }

    /// Names that a command may use here: variables with a value, tensors, files.
    pub fn names(&self) -> Vec<String> {
        let variables = self.variables().into_iter().map(|variable| variable.name);
        let tensors = self.launch().tensors.iter().map(|tensor| tensor.name.clone());
        let files = self.files().map(String::from);
        let mut names: Vec<String> = variables.chain(tensors).chain(files).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}
