//! `why VALUE[LANE]`: how a lane came to its value, operation by operation, back to arguments and loads.
//!
//! For every step the session goes back to the moment before the operation that wrote the value, so operands are
//! read as they were, also through the rounds of a loop; then it comes back. Of operations that take many lanes (a
//! reduce, a dot) the one is followed that matters most: a NaN, else what is equal to the result, else the largest.

use std::collections::BTreeSet;

use tilescope_diagnostics::{Error, Result, Value};
use tilescope_interpreter::frame::Slot;
use tilescope_interpreter::tape::Origin;
use tilescope_ir::{Attrs, Family, Op, OpCode, ValueId};
use tilescope_launch::expr::{Expression, Index, NodeKind};

use crate::reply::WhyStep;
use crate::session::Session;
use crate::values::{ValueKey, as_f64};

/// Most steps of an explanation.
const MAX_STEPS: usize = 24;

/// Deepest step.
const MAX_DEPTH: u32 = 12;

/// A lane to explain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Asked {
    key: ValueKey,
    lane: usize,
    depth: u32,
    /// Instructions that the program had executed at the moment in question.
    tick: u64,
}

impl Session {
    /// The chain of a lane, the lane itself first.
    pub(crate) fn why(&mut self, expression: &Expression) -> Result<Vec<WhyStep>> {
        let (key, lane) = self.lane_of(expression)?;
        let (time, home) = (self.state.time, self.state.current);
        let tick = self.program().map_or(0, |program| program.ticks);
        let mut steps = Vec::new();
        let mut seen = BTreeSet::new();
        let mut todo = vec![Asked {
            key,
            lane,
            depth: 0,
            tick,
        }];
        let mut result = Ok(());
        while let Some(asked) = todo.pop() {
            if steps.len() == MAX_STEPS {
                break;
            }
            match self.explain(asked, home, &mut seen) {
                Ok(Some((step, mut operands))) => {
                    steps.push(step);
                    operands.reverse();
                    todo.extend(operands.into_iter().filter(|operand| operand.depth <= MAX_DEPTH));
                }
                Ok(None) => {}
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.seek(time)?;
        self.state.current = home;
        self.ensure_started();
        result.map(|()| steps)
    }

    /// The value and lane that `x[3, 7]` names.
    fn lane_of(&self, expression: &Expression) -> Result<(ValueKey, usize)> {
        let root = &expression.root;
        let wrong = || {
            expression
                .error(root, "this is no lane of a variable", "")
                .help("write VALUE[3, 7], or VALUE")
        };
        let (name_node, indices) = match &root.kind {
            NodeKind::Subscript(value, indices) => (&**value, &indices[..]),
            _ => (root, &[][..]),
        };
        let NodeKind::Name(name) = &name_node.kind else {
            return Err(wrong());
        };
        let scene = self
            .scene()
            .ok_or_else(|| Error::input("there is no program to look at"))?;
        // Unknown names are reported as `print` does.
        crate::evaluate::evaluate(&scene, expression)?;
        let key = scene.lookup(name).ok_or_else(|| self.unknown_name(name))?;
        let shape: Vec<usize> = self.shape_of(key);
        if indices.len() != shape.len() {
            let rank = shape.len();
            return Err(expression.error(
                root,
                format!("`{name}` has {rank} dimensions: `why` explains one lane"),
                "",
            ));
        }
        let mut lane = 0;
        for (index, &size) in indices.iter().zip(&shape) {
            let at = match index {
                Index::Item(node) => match crate::parse::integer(node) {
                    Some(at) if at < 0 => at + size as i64,
                    Some(at) => at,
                    None => return Err(wrong()),
                },
                _ => return Err(wrong()),
            };
            lane = lane * size + at.clamp(0, size as i64 - 1) as usize;
        }
        Ok((key, lane))
    }

    fn shape_of(&self, key: ValueKey) -> Vec<usize> {
        let ty = self.code.ty(key);
        ty.and_then(|ty| ty.shape())
            .map_or(Vec::new(), |shape| shape.dims().collect())
    }

    /// When a program had executed so many instructions.
    fn time_of(&self, linear: u64, tick: u64) -> Option<u64> {
        use crate::history::Stretch;
        let mut before = 0;
        for (segment, end) in self.history.segments(self.history.end()) {
            if segment.what == (Stretch::Walked { linear }) {
                let count = end - segment.start;
                if tick <= before + count {
                    return Some(segment.start + (tick - before));
                }
                before += count;
            }
        }
        (tick == 0).then_some(0)
    }

    /// Goes to the moment at which the program has executed so many instructions.
    fn go_to_tick(&mut self, linear: u64, tick: u64) -> Result<()> {
        if let Some(time) = self.time_of(linear, tick) {
            self.seek(time)?;
        }
        self.state.current = linear;
        self.ensure_started();
        Ok(())
    }

    /// The step that explains a lane, and the lanes that it came from. None for what is explained already.
    fn explain(
        &mut self,
        asked: Asked,
        home: u64,
        seen: &mut BTreeSet<(ValueKey, usize, u64)>,
    ) -> Result<Option<(WhyStep, Vec<Asked>)>> {
        self.go_to_tick(home, asked.tick)?;
        let Some((slot, ..)) = self.code.slot(asked.key) else {
            return Ok(None);
        };
        let Some(scene) = self.scene() else {
            return Ok(None);
        };
        let written = scene.values.written(slot);
        if !seen.insert((asked.key, asked.lane, written)) {
            return Ok(None);
        }
        let value = scene
            .lane(asked.key, asked.lane)
            .map_or(Value::Int(0), |lane| lane.value);
        let mut step = WhyStep {
            depth: asked.depth,
            op: String::from("argument"),
            name: self.name_of(asked.key),
            lane: unravel(asked.lane, &self.shape_of(asked.key)),
            value,
            location: None,
            note: None,
        };
        if written == 0 {
            return Ok(Some((step, Vec::new())));
        }
        self.go_to_tick(home, written - 1)?;
        let Some(position) = self.program().map(|program| program.position) else {
            return Ok(None);
        };
        let Some(origin) = self.code.origin(position).cloned() else {
            return Ok(None);
        };
        step.location = self.code.location(position);
        let Some((.., data)) = self.code.op(position) else {
            return Ok(Some((step, Vec::new())));
        };
        let data = data.clone();
        step.op = data.code.info().mnemonic.to_string();
        let next = |key, lane| Asked {
            key,
            lane,
            depth: asked.depth + 1,
            tick: written - 1,
        };
        let operands = match self.source_of_move(position, slot) {
            Some(source) => {
                step.note = Some(String::from(match data.code {
                    OpCode::For | OpCode::While => "carried by the loop",
                    OpCode::If => "of the branch taken",
                    _ => "passed on",
                }));
                self.key_in(source)
                    .map(|key| next(key, asked.lane))
                    .into_iter()
                    .collect()
            }
            None => {
                let lanes = self.sources(&origin, &data, asked.lane, &mut step)?;
                lanes.into_iter().map(|(key, lane)| next(key, lane)).collect()
            }
        };
        Ok(Some((step, operands)))
    }

    /// The author's name of a value; none for a step on the way to it.
    fn name_of(&self, key: ValueKey) -> Option<String> {
        if self.code.named(key).is_some_and(|named| named.is_part) {
            return None;
        }
        let placed = self.code.placed(key)?;
        let function = &self.code.module.funcs[placed.func];
        function
            .value_name(&self.code.module.locs, placed.value)
            .map(String::from)
    }

    /// Where a move takes the value of `slot` from, if the instruction is one.
    fn source_of_move(&self, position: u32, slot: Slot) -> Option<Slot> {
        let inst = self.code.stepping.tape.code.insts.get(position as usize)?;
        let (.., op) = self.code.op(position)?;
        let is_control = op.code.info().family == Family::Control || !op.regions.is_empty();
        let is_fold = matches!(op.code, OpCode::Reduce | OpCode::Scan | OpCode::MapElementwise);
        if !is_control || is_fold || inst.ins.len() != inst.outs.len() {
            return None;
        }
        let index = inst.outs.iter().position(|&out| out == slot)?;
        inst.ins.get(index).copied()
    }

    /// A value that lives in a slot: the one written there last.
    fn key_in(&self, slot: Slot) -> Option<ValueKey> {
        let values = self.code.stepping.values.iter();
        let index = values
            .enumerate()
            .filter(|(_, placed)| placed.slots == [slot])
            .map(|(i, _)| i)
            .next()?;
        Some(ValueKey(index as u32))
    }

    /// The lanes of operands that a lane of the result comes from.
    fn sources(
        &self,
        origin: &Origin,
        data: &Op,
        lane: usize,
        step: &mut WhyStep,
    ) -> Result<Vec<(ValueKey, usize)>> {
        let key = |value: ValueId| self.code.key_of(origin, value);
        let operands: Vec<ValueKey> = data.operands.iter().filter_map(|&v| key(v)).collect();
        let same = |key: &ValueKey| {
            let lanes = self.code.slot(*key).map_or(1, |(.., lanes)| lanes);
            (*key, if lanes == 1 { 0 } else { lane })
        };
        let result = data
            .results
            .first()
            .map(|&v| self.code.module.funcs[origin.func].ty(v));
        let shape: Vec<usize> = result
            .and_then(|ty| ty.shape())
            .map_or(Vec::new(), |shape| shape.dims().collect());
        Ok(match data.code {
            OpCode::Splat => operands.first().map(|&key| (key, 0)).into_iter().collect(),
            OpCode::Broadcast => {
                let index = unravel(lane, &shape);
                operands
                    .first()
                    .map(|&key| (key, ravel(&index, &self.shape_of(key))))
                    .into_iter()
                    .collect()
            }
            OpCode::Trans => {
                let index = unravel(lane, &shape);
                let Attrs::Order(order) = &data.attrs else {
                    return Ok(Vec::new());
                };
                let mut source = vec![0; index.len()];
                for (to, &from) in order.iter().enumerate() {
                    if let (Some(cell), Some(&i)) = (source.get_mut(from as usize), index.get(to)) {
                        *cell = i;
                    }
                }
                operands
                    .first()
                    .map(|&key| (key, ravel(&source, &self.shape_of(key))))
                    .into_iter()
                    .collect()
            }
            OpCode::Load => self.loaded(&operands, lane, step),
            OpCode::Reduce => self.reduced(&operands, data, lane, step),
            OpCode::Dot => self.multiplied(&operands, &shape, lane, step),
            code if is_lanewise(code) => operands.iter().map(same).collect(),
            _ => {
                if !operands.is_empty() {
                    step.note = Some(String::from("its operands are not followed"));
                }
                Vec::new()
            }
        })
    }

    /// A load: what it read from where.
    fn loaded(&self, operands: &[ValueKey], lane: usize, step: &mut WhyStep) -> Vec<(ValueKey, usize)> {
        let Some(scene) = self.scene() else {
            return Vec::new();
        };
        let one = |key: ValueKey| {
            if self.code.slot(key).is_some_and(|(.., lanes)| lanes == 1) {
                0
            } else {
                lane
            }
        };
        if let Some(&mask) = operands.get(1)
            && scene
                .lane(mask, one(mask))
                .is_some_and(|m| m.value == Value::Bool(false))
        {
            step.note = Some(String::from(match operands.get(2) {
                Some(_) => "masked off: the other value",
                None => "masked off",
            }));
            return operands
                .get(1..)
                .unwrap_or(&[])
                .iter()
                .map(|&key| (key, one(key)))
                .collect();
        }
        if let Some(&pointers) = operands.first()
            && let Some((tensor, element, state)) = self.target(pointers, one(pointers))
        {
            let outside = if state == crate::values::LaneState::Fine {
                ""
            } else {
                ", outside it"
            };
            let element = tilescope_diagnostics::render::number::list(&element);
            step.note = Some(format!("from {tensor}{element}{outside}"));
        }
        Vec::new()
    }

    /// A reduce: the lane that matters most.
    fn reduced(
        &self,
        operands: &[ValueKey],
        data: &Op,
        lane: usize,
        step: &mut WhyStep,
    ) -> Vec<(ValueKey, usize)> {
        let (Some(&source), Attrs::Axis(axis)) = (operands.first(), &data.attrs) else {
            return Vec::new();
        };
        let shape = self.shape_of(source);
        let axis = *axis as usize;
        let (Some(&size), Some(scene)) = (shape.get(axis), self.scene()) else {
            return Vec::new();
        };
        let inner: usize = shape[axis + 1..].iter().product();
        let at = |k: usize| (lane / inner * size + k) * inner + lane % inner;
        let values: Vec<f64> = (0..size)
            .map(|k| scene.lane(source, at(k)).map_or(0.0, |lane| as_f64(lane.value)))
            .collect();
        let (k, why) = pick(&values, as_f64(step.value));
        step.note = Some(format!("of {size} lanes; {why} is followed"));
        vec![(source, at(k))]
    }

    /// A dot: the product that matters most, and the accumulator.
    fn multiplied(
        &self,
        operands: &[ValueKey],
        shape: &[usize],
        lane: usize,
        step: &mut WhyStep,
    ) -> Vec<(ValueKey, usize)> {
        let &[a, b, ..] = operands else { return Vec::new() };
        let (Some(scene), Some(&columns)) = (self.scene(), shape.last()) else {
            return Vec::new();
        };
        let depth = self.shape_of(a).last().copied().unwrap_or(1);
        let rows = shape.iter().rev().nth(1).copied().unwrap_or(1);
        let (batch, row, column) = (lane / (rows * columns), lane / columns % rows, lane % columns);
        let left = |k: usize| (batch * rows + row) * depth + k;
        let right = |k: usize| (batch * depth + k) * columns + column;
        let number = |key, lane| scene.lane(key, lane).map_or(0.0, |lane| as_f64(lane.value));
        let products: Vec<f64> = (0..depth)
            .map(|k| number(a, left(k)) * number(b, right(k)))
            .collect();
        let (k, why) = pick(&products, f64::INFINITY);
        step.note = Some(format!("of {depth} products; {why} is followed"));
        let mut lanes = vec![(a, left(k)), (b, right(k))];
        lanes.extend(operands.get(2).map(|&c| (c, lane)));
        lanes
    }
}

/// Which of some numbers matters most for a result, in words.
fn pick(values: &[f64], result: f64) -> (usize, &'static str) {
    if let Some(nan) = values.iter().position(|v| v.is_nan()) {
        return (nan, "the first NaN");
    }
    if let Some(infinite) = values
        .iter()
        .position(|v| v.is_infinite())
        .filter(|_| !result.is_finite())
    {
        return (infinite, "the first that is infinite");
    }
    if let Some(equal) = values.iter().position(|&v| v == result) {
        return (equal, "the one equal to the result");
    }
    let largest =
        (0..values.len()).max_by(|&i, &j| values[i].abs().total_cmp(&values[j].abs()).then(j.cmp(&i)));
    (largest.unwrap_or(0), "the largest")
}

/// True for operations whose result lane comes from the same lane of each operand.
fn is_lanewise(code: OpCode) -> bool {
    use OpCode as C;
    let info = code.info();
    info.class.is_some()
        || matches!(info.family, Family::Cast | Family::Compare)
        || matches!(
            code,
            C::AddPtr | C::Select | C::ClampF | C::ExpandDims | C::Reshape | C::Scan
        )
}

fn unravel(lane: usize, shape: &[usize]) -> Vec<usize> {
    let mut rest = lane;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let i = rest % size.max(1);
            rest /= size.max(1);
            i
        })
        .collect();
    index.reverse();
    index
}

/// The lane of an index, where dimensions of size 1 take any.
fn ravel(index: &[usize], shape: &[usize]) -> usize {
    let pairs = index.iter().zip(shape);
    pairs.fold(0, |lane, (&i, &size)| lane * size + if size == 1 { 0 } else { i })
}
