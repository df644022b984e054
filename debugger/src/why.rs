//! `why VALUE[LANE]`: how a lane came to its value, operation by operation, back to arguments and loads.
//!
//! For every step the session goes back to the moment before the operation that wrote the value, so operands are
//! read as they were, also through the rounds of a loop; then it comes back. Of operations that take many lanes (a
//! reduce, a dot) the one is followed that matters most: a NaN, else what is equal to the result, else the largest.

use std::collections::BTreeSet;

use tilescope_diagnostics::{Error, Result, Value};
use tilescope_interpreter::explain::sources::{Operands, sources, unravel};
use tilescope_interpreter::frame::Slot;
use tilescope_interpreter::tape::Origin;
use tilescope_ir::{Family, Op, OpCode, ValueId};
use tilescope_launch::expr::{Expression, Index, NodeKind};

use crate::reply::WhyStep;
use crate::session::Session;
use crate::values::{LaneState, ValueKey};

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
                let lanes = self.sources(&origin, &data, asked, &mut step);
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
        asked: Asked,
        step: &mut WhyStep,
    ) -> Vec<(ValueKey, usize)> {
        let Some(scene) = self.scene() else {
            return Vec::new();
        };
        let key = |operand: usize| self.code.key_of(origin, *data.operands.get(operand)?);
        let one = |key: ValueKey, lane: usize| match self.code.slot(key) {
            Some((.., 1)) => 0,
            _ => lane,
        };
        let read = |operand: usize, lane: usize| {
            let key = key(operand)?;
            scene.lane(key, one(key, lane)).map(|lane| lane.value)
        };
        let undefined = |operand: usize, lane: usize| {
            let lane = key(operand).and_then(|key| scene.lane(key, one(key, lane)));
            lane.is_some_and(|lane| lane.state == LaneState::Undefined)
        };
        let operands = Operands {
            read: &read,
            undefined: &undefined,
        };
        let function = &self.code.module.funcs[origin.func];
        let lives = |&&value: &&ValueId| self.code.key_of(origin, value) == Some(asked.key);
        let result = data.results.iter().find(lives).or(data.results.first());
        let Some(&result) = result else {
            return Vec::new();
        };
        let found = sources(function, data, (result, step.value), asked.lane, &operands);
        step.note = found.note;
        if data.code == OpCode::Load && step.note.is_none() {
            step.note = self.loaded(key(0), asked.lane);
        }
        let lanes = found.lanes.into_iter();
        lanes
            .filter_map(|(operand, lane)| {
                let key = key(operand)?;
                Some((key, one(key, lane)))
            })
            .collect()
    }

    /// What a load read from where.
    fn loaded(&self, pointers: Option<ValueKey>, lane: usize) -> Option<String> {
        let pointers = pointers?;
        let lane = match self.code.slot(pointers) {
            Some((.., 1)) => 0,
            _ => lane,
        };
        let (tensor, element, state) = self.target(pointers, lane)?;
        let outside = match state {
            LaneState::Fine => "",
            _ => ", outside it",
        };
        let element = tilescope_diagnostics::render::number::list(&element);
        Some(format!("from {tensor}{element}{outside}"))
    }
}
