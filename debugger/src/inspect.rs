//! Looking at things: variables, tiles, tensors, source lines, operations.

use std::ops::Range;

use tilescope_diagnostics::{Error, Result, Value, closest};
use tilescope_interpreter::view::View;
use tilescope_ir::{Elem, Type};
use tilescope_launch::{Argument, Tensor};

use crate::breakpoints::Kind;
use crate::command::{MemoryRange, Span};
use crate::evaluate::Scene;
use crate::recorder::Access;
use crate::reply::{Listing, Reason, Reply, Touch, TouchKind, Touched, Variable, Writer};
use crate::session::Session;
use crate::values::{LaneState, Summary, TensorWindow, TileWindow, ValueKey, Window, element};

/// Most elements that a watchpoint or a command looks at.
const MAX_ELEMENTS: u64 = 1 << 20;

/// Lines shown around the current one.
const AROUND: u32 = 5;

/// An element type as users know it: `f32`, `*f32`.
pub fn dtype(elem: Elem) -> String {
    match elem {
        Elem::Scalar(scalar) => scalar.name().to_string(),
        Elem::Ptr(pointer) => format!("*{}", pointer.target()),
    }
}

/// A range as its command writes it.
pub fn range_text(range: &MemoryRange) -> String {
    let end = |end: Option<i64>| end.map_or_else(String::new, |n| n.to_string());
    let span = |span: &Span| match *span {
        Span::At(n) => n.to_string(),
        Span::From(from, to) => format!("{}:{}", end(from), end(to)),
    };
    match range.spans.is_empty() {
        true => range.tensor.clone(),
        false => format!(
            "{}[{}]",
            range.tensor,
            range.spans.iter().map(span).collect::<Vec<_>>().join(", ")
        ),
    }
}

impl Session {
    /// The variables that have a value here, by name; of each the one that the name means here.
    pub fn variables(&self) -> Vec<Variable> {
        let Some(scene) = self.scene() else {
            return Vec::new();
        };
        let mut names: Vec<&str> = self.code.names().map(|name| &**name).collect();
        names.sort_unstable();
        names.dedup();
        let here = self.code.stack(scene.position).map_or(0, |stack| stack.len());
        let here = here.min((scene.level as usize).saturating_add(1));
        let mut variables: Vec<(u64, Variable)> = names
            .into_iter()
            .filter_map(|name| {
                let key = scene.lookup(name)?;
                // Those of helpers that have returned are gone.
                let depth = self.code.named(key)?.stack.len();
                (depth <= here.max(1)).then(|| self.variable(&scene, name, key))?
            })
            .collect();
        variables.sort_by_key(|(written, variable)| (std::cmp::Reverse(*written), variable.name.clone()));
        variables.into_iter().map(|(_, variable)| variable).collect()
    }

    fn variable(&self, scene: &Scene<'_>, name: &str, key: ValueKey) -> Option<(u64, Variable)> {
        let placed = self.code.placed(key)?;
        let slot = *placed.slots.first()?;
        let written = scene.values.written(slot);
        let ty = self.code.ty(key)?;
        let uniform = self
            .code
            .slot(key)
            .filter(|&(slot, ..)| scene.values.is_uniform(slot));
        let value = uniform.and_then(|_| scene.lane(key, 0)).map(|lane| lane.value);
        let is_pointer = ty.elem().is_some_and(|elem| elem.pointer().is_some());
        let tensor = is_pointer.then(|| scene.values.only_tensor(slot)).flatten();
        let program = self.program()?;
        let moved = self.state.time.saturating_sub(self.moved_from);
        let variable = Variable {
            name: name.to_string(),
            dtype: ty.elem().map_or_else(|| ty.to_string(), dtype),
            shape: match ty {
                Type::Tile(shape, _) => Some(shape.dims().collect()),
                _ => None,
            },
            value,
            tensor: tensor.and_then(|tensor| self.tensor_name(tensor)),
            changed: written > 0
                && self.state.time > self.moved_from
                && written > program.ticks.saturating_sub(moved),
            id: key,
        };
        Some((written, variable))
    }

    /// The name of the tensor that a provenance (index plus one) stands for.
    pub(crate) fn tensor_name(&self, tensor: u32) -> Option<String> {
        let index = (tensor as usize).checked_sub(1)?;
        Some(self.engine.launch.tensors.get(index)?.name.clone())
    }

    /// The kernel's parameters with their values, in order.
    pub fn arguments(&self) -> Vec<Variable> {
        let Some(scene) = self.scene() else {
            return Vec::new();
        };
        let function = self.code.function();
        let origin = tilescope_interpreter::tape::Origin {
            func: self.code.kernel,
            what: tilescope_interpreter::tape::What::Param(0),
            calls: [].into(),
        };
        let params = function
            .params()
            .iter()
            .zip(&self.engine.launch.arguments)
            .enumerate();
        params
            .filter_map(|(i, (&value, argument))| {
                let key = self.code.key_of(&origin, value)?;
                let name = function.value_name(&self.code.module.locs, value);
                let name = name.map_or_else(|| format!("arg{i}"), str::to_string);
                let (_, mut variable) = self.variable(&scene, &name, key)?;
                if let Argument::Tensor(id) | Argument::Descriptor { tensor: id, .. } = argument {
                    variable.tensor = self.tensor_name(id.0 + 1);
                }
                Some(variable)
            })
            .collect()
    }

    /// The value that a variable's name means here.
    pub fn find_variable(&self, name: &str) -> Option<ValueKey> {
        self.scene()?.lookup(name)
    }

    /// A part of a tile (or a number), lane by lane: only the lanes of the window are looked at.
    pub fn tile(&self, id: ValueKey, window: &Window) -> Option<TileWindow> {
        let scene = self.scene()?;
        let (_, _, lanes) = self.code.slot(id)?;
        let ty = self.code.ty(id)?;
        let shape: Vec<usize> = ty.shape().map_or(Vec::new(), |shape| shape.dims().collect());
        let dims: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
        let window = window.cut(&dims);
        let mut cells = Vec::with_capacity((window.rows.1 * window.columns.1) as usize);
        for row in window.rows.0..window.rows.0 + window.rows.1 {
            for column in window.columns.0..window.columns.0 + window.columns.1 {
                let index = window.index(row, column);
                let lane = index
                    .iter()
                    .zip(&dims)
                    .fold(0, |lane, (&i, &size)| lane * size + i);
                if (lane as usize) < lanes {
                    cells.push(scene.lane(id, lane as usize)?);
                }
            }
        }
        Some(TileWindow {
            dtype: ty.elem().map_or_else(|| ty.to_string(), dtype),
            shape,
            window,
            lanes: cells,
        })
    }

    /// What is in a tile.
    pub fn summary(&self, id: ValueKey) -> Option<Summary> {
        let scene = self.scene()?;
        let (_, _, lanes) = self.code.slot(id)?;
        let mut summary = Summary::default();
        for lane in 0..lanes {
            summary.add(scene.lane(id, lane)?);
        }
        Some(summary.finish())
    }

    /// Where a lane of a tile of pointers points: the tensor and the index of the element, which may be outside the
    /// tensor's shape. None for other values, and for addresses of no tensor.
    pub fn target(&self, id: ValueKey, lane: usize) -> Option<(String, Vec<i64>, LaneState)> {
        let scene = self.scene()?;
        let (slot, kind, lanes) = self.code.slot(id)?;
        self.code.ty(id)?.elem()?.pointer()?;
        let address = scene.values.lane(slot, kind, lanes, lane);
        let tensor = scene.values.tensor(slot, lane);
        let index = (tensor as usize).checked_sub(1)?;
        let data = self.engine.launch.tensors.get(index)?;
        let allocation = self.engine.memory.allocations.get(data.allocation.0 as usize)?;
        let offset = i128::from(address) - i128::from(allocation.base);
        let elem = data.dtype.bytes();
        let view = View::new(data, elem);
        let inside = i64::try_from(offset).is_ok_and(|offset| view.contains(offset, elem as i64));
        let state = if inside {
            LaneState::Fine
        } else {
            LaneState::OutOfBounds
        };
        Some((data.name.clone(), view.element(offset)?, state))
    }

    pub(crate) fn summarise(&self, name: &str) -> Result<Reply> {
        let scene = self.scene().ok_or_else(|| self.no_scene())?;
        let Some(key) = scene.lookup(name) else {
            if self.code.values_named(name).next().is_some() {
                return Err(Error::input(format!("`{name}` has not been assigned yet")));
            }
            return Err(self.unknown_name(name));
        };
        let variable = self.variable(&scene, name, key).map(|(_, variable)| variable);
        match (variable, self.summary(key)) {
            (Some(variable), Some(summary)) => Ok(Reply::Tile { variable, summary }),
            _ => Err(Error::input(format!(
                "`{name}` is a descriptor or block pointer: it has no lanes"
            ))),
        }
    }

    /// A tensor of the launch by its name.
    pub(crate) fn find_tensor(&self, name: &str) -> Result<usize> {
        let tensors = &self.engine.launch.tensors;
        tensors
            .iter()
            .position(|tensor| tensor.name == name)
            .ok_or_else(|| {
                let error = Error::input(format!("the launch has no tensor `{name}`"));
                let names: Vec<&str> = tensors.iter().map(|tensor| &*tensor.name).collect();
                match closest(name, names.iter().copied()) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.note(format!("it has {}", names.join(", "))),
                }
            })
    }

    /// Per dimension the first position and the count that a range names.
    fn extents(&self, tensor: &Tensor, range: &MemoryRange) -> Result<Vec<(u64, u64)>> {
        if range.spans.len() > tensor.shape.len() {
            let rank = tensor.shape.len();
            return Err(Error::input(format!(
                "too many indices: {} has {rank} dimensions",
                tensor.name
            )));
        }
        let mut extents = Vec::new();
        for (axis, &size) in tensor.shape.iter().enumerate() {
            let size = size.max(0);
            let wrap = |n: i64| if n < 0 { n + size } else { n };
            let (first, end) = match range.spans.get(axis) {
                Some(&Span::At(n)) => {
                    let at = wrap(n);
                    if at < 0 || at >= size {
                        return Err(Error::input(format!(
                            "index {n} is out of range: dimension {axis} of {} has {size}",
                            tensor.name
                        )));
                    }
                    (at, at + 1)
                }
                Some(&Span::From(from, to)) => {
                    let first = from.map_or(0, wrap).clamp(0, size);
                    (first, to.map_or(size, wrap).clamp(first, size))
                }
                None => (0, size),
            };
            extents.push((first as u64, (end - first) as u64));
        }
        Ok(extents)
    }

    /// The bytes of a part of a tensor, as rising ranges that do not touch.
    pub(crate) fn bytes_of(&self, range: &MemoryRange) -> Result<(usize, Vec<Range<u64>>)> {
        let index = self.find_tensor(&range.tensor)?;
        let tensor = &self.engine.launch.tensors[index];
        let extents = self.extents(tensor, range)?;
        let total = extents
            .iter()
            .fold(1u64, |n, &(_, count)| n.saturating_mul(count));
        if total > MAX_ELEMENTS {
            return Err(Error::input(format!(
                "{total} elements are too many: at most {MAX_ELEMENTS}"
            )));
        }
        let mut ranges = crate::history::Ranges::default();
        for n in 0..total {
            let offset = self.offset_of(tensor, &nth(&extents, n));
            ranges.add(offset, offset + tensor.dtype.bytes() as u64);
        }
        Ok((index, ranges.iter().map(|(start, end)| start..end).collect()))
    }

    /// Byte offset of an element in its allocation.
    fn offset_of(&self, tensor: &Tensor, index: &[u64]) -> u64 {
        let strides = index.iter().zip(&tensor.strides);
        let position = strides.fold(tensor.offset, |at, (&i, &stride)| {
            at.saturating_add(i as i64 * stride)
        });
        position.max(0) as u64 * tensor.dtype.bytes() as u64
    }

    pub(crate) fn read_element(&self, tensor: &Tensor, index: &[u64]) -> Value {
        let number = index
            .iter()
            .zip(&tensor.shape)
            .fold(0u64, |n, (&i, &size)| n * size.max(0) as u64 + i);
        element(&self.engine.memory.gather(tensor, number, 1), tensor.dtype)
    }

    /// A part of a tensor, element by element: only those of the window are looked at.
    pub fn tensor(&self, name: &str, window: &Window) -> Result<TensorWindow> {
        let index = self.find_tensor(name)?;
        let tensor = &self.engine.launch.tensors[index];
        let dims: Vec<u64> = tensor.shape.iter().map(|&n| n.max(0) as u64).collect();
        let window = window.cut(&dims);
        let mut values = Vec::new();
        if !dims.contains(&0) {
            for row in window.rows.0..window.rows.0 + window.rows.1 {
                for column in window.columns.0..window.columns.0 + window.columns.1 {
                    values.push(self.read_element(tensor, &window.index(row, column)));
                }
            }
        }
        Ok(TensorWindow {
            tensor: tensor.name.clone(),
            dtype: tensor.dtype.name().to_string(),
            shape: tensor.shape.clone(),
            window,
            values,
        })
    }

    /// What the current program has read and written, and others have written, of a tensor's window: per element
    /// [`READ`], [`WRITTEN`] and [`OTHERS`].
    pub fn marks(&self, name: &str, window: &Window) -> Result<(Window, Vec<u8>)> {
        let index = self.find_tensor(name)?;
        let tensor = &self.engine.launch.tensors[index];
        let dims: Vec<u64> = tensor.shape.iter().map(|&n| n.max(0) as u64).collect();
        let window = window.cut(&dims);
        let allocation = tensor.allocation.0 as usize;
        let own = self.state.touches.get(&self.state.current);
        let others: Vec<_> = self
            .state
            .touches
            .iter()
            .filter(|(linear, _)| **linear != self.state.current)
            .map(|(_, touches)| touches)
            .chain([&self.state.others])
            .collect();
        let mut marks = Vec::new();
        if !dims.contains(&0) {
            for row in window.rows.0..window.rows.0 + window.rows.1 {
                for column in window.columns.0..window.columns.0 + window.columns.1 {
                    let byte = self.offset_of(tensor, &window.index(row, column));
                    let has =
                        |ranges: Option<&crate::history::Ranges>| ranges.is_some_and(|r| r.contains(byte));
                    let mut mark = 0;
                    if has(own.and_then(|t| t.reads.get(&allocation))) {
                        mark |= READ;
                    }
                    if has(own.and_then(|t| t.writes.get(&allocation))) {
                        mark |= WRITTEN;
                    }
                    if others.iter().any(|t| has(t.writes.get(&allocation))) {
                        mark |= OTHERS;
                    }
                    marks.push(mark);
                }
            }
        }
        Ok((window, marks))
    }

    pub(crate) fn memory(&self, range: &MemoryRange) -> Result<TensorWindow> {
        let index = self.find_tensor(&range.tensor)?;
        let tensor = &self.engine.launch.tensors[index];
        let extents = self.extents(tensor, range)?;
        let total = extents
            .iter()
            .fold(1u64, |n, &(_, count)| n.saturating_mul(count));
        if total > MAX_ELEMENTS {
            return Err(Error::input(format!(
                "{total} elements are too many: at most {MAX_ELEMENTS}"
            )));
        }
        let rank = extents.len();
        let values = (0..total)
            .map(|n| self.read_element(tensor, &nth(&extents, n)))
            .collect();
        // Outer dimensions are rows too.
        let columns = extents.last().copied().unwrap_or((0, 1));
        let first_row = rank.checked_sub(2).map_or(0, |axis| extents[axis].0);
        let window = Window {
            row_axis: rank.checked_sub(2),
            column_axis: rank.checked_sub(1),
            at: extents.iter().map(|extent| extent.0).collect(),
            rows: (first_row, total.checked_div(columns.1).unwrap_or(0)),
            columns,
        };
        Ok(TensorWindow {
            tensor: tensor.name.clone(),
            dtype: tensor.dtype.name().to_string(),
            shape: tensor.shape.clone(),
            window,
            values,
        })
    }

    /// What the current program has read and written of a tensor.
    pub(crate) fn touched(&self, name: &str) -> Result<Touched> {
        let index = self.find_tensor(name)?;
        let tensor = &self.engine.launch.tensors[index];
        let allocation = tensor.allocation.0 as usize;
        let touches = self.state.touches.get(&self.state.current);
        let elements = |ranges: Option<&crate::history::Ranges>| {
            let Some(ranges) = ranges else { return Vec::new() };
            let mut numbers = crate::history::Ranges::default();
            let size = tensor.dtype.bytes() as u64;
            for run in tensor.runs() {
                for i in 0..run.count {
                    let position = run.position + i as i64 * run.stride;
                    if position >= 0 && ranges.contains(position as u64 * size) {
                        numbers.add(run.first + i, run.first + i + 1);
                    }
                }
            }
            numbers.iter().collect()
        };
        Ok(Touched {
            tensor: tensor.name.clone(),
            program: self.coordinates(self.state.current),
            reads: elements(touches.and_then(|t| t.reads.get(&allocation))),
            writes: elements(touches.and_then(|t| t.writes.get(&allocation))),
            shape: tensor.shape.clone(),
        })
    }

    /// The stop of a watchpoint.
    pub(crate) fn watch_reason(&mut self, id: u32, access: &Access) -> Reason {
        let Some(Kind::Memory { tensor, bytes, .. }) = self.stops.find(id).map(|b| &b.kind) else {
            return Reason::Stepped;
        };
        let data = &self.engine.launch.tensors[*tensor];
        let (start, end) = (access.offset as u64, (access.offset + access.bytes) as u64);
        let first = bytes.iter().find(|range| range.end > start && range.start < end);
        let byte = first.map_or(start, |range| range.start.max(start));
        let view = View::new(data, data.dtype.bytes());
        let element = view.element(i128::from(byte)).unwrap_or_default();
        let last = self.program().and_then(|program| program.last);
        let kind = match (access.write, access.atomic) {
            (false, _) => TouchKind::Read,
            (true, false) => TouchKind::Write,
            (true, true) => TouchKind::Atomic,
        };
        let index: Vec<u64> = element.iter().map(|&i| i.max(0) as u64).collect();
        let after = self.read_element(data, &index);
        let touch = Touch {
            kind,
            tensor: data.name.clone(),
            element,
            program: self.coordinates(self.state.current),
            location: last.and_then(|last| self.code.location(last)),
            op: last
                .and_then(|last| self.code.op(last))
                .map_or("", |(.., op)| op.code.info().mnemonic),
        };
        let before = access.write.then(|| {
            self.engine
                .recorder
                .before(access.allocation, byte, data.dtype.bytes())
        });
        let change = before
            .flatten()
            .map(|bytes| (crate::values::element(&bytes, data.dtype), after));
        Reason::Watchpoint { id, touch, change }
    }

    /// Source lines around the current one, or around the given one.
    pub(crate) fn listing(&self, line: Option<u32>) -> Result<Listing> {
        let here = self.scene().and_then(|scene| {
            let stack = self.code.stack(scene.position)?;
            stack.get(scene.level as usize).or(stack.last()).copied()
        });
        let file = here.map(|(file, _)| file).or_else(|| self.code.main_file());
        let Some(file) = file else {
            return Err(Error::input("the kernel has no source lines").help("`ir` shows its operations"));
        };
        let ended = self.program().is_none_or(|program| program.ended);
        let current = here.filter(|_| !ended).map(|(_, line)| line);
        let middle = line.or(here.map(|(_, line)| line)).unwrap_or(1);
        let name = self.code.files[file as usize].to_string();
        let breakpoints = self.breakpoints().into_iter().filter_map(|b| b.line);
        Ok(Listing {
            first: middle.saturating_sub(AROUND).max(1),
            last: middle.saturating_add(AROUND),
            current,
            breakpoints: breakpoints
                .filter(|(other, _)| *other == name)
                .map(|(_, line)| line)
                .collect(),
            file: name,
        })
    }

    /// Lines of the kernel's text around the current operation, and its own.
    pub(crate) fn operations_around(&self) -> (Vec<(u32, String)>, Option<u32>) {
        let position = self.scene().map_or(0, |scene| scene.position);
        let current = self
            .code
            .op(position)
            .and_then(|(func, op, _)| self.code.op_line(func, op));
        let middle = current.unwrap_or(1);
        let first = middle.saturating_sub(AROUND).max(1);
        let lines = self.code.text.text.lines().enumerate();
        let lines = lines.skip(first as usize - 1).take(2 * AROUND as usize + 1);
        (
            lines.map(|(i, line)| (i as u32 + 1, line.to_string())).collect(),
            current,
        )
    }

    /// Who wrote an element last.
    pub(crate) fn who_wrote(&mut self, range: &MemoryRange) -> Result<Reply> {
        let (index, bytes) = self.bytes_of(range)?;
        let tensor = self.engine.launch.tensors[index].clone();
        let extents = self.extents(&tensor, range)?;
        if extents.iter().any(|&(_, count)| count != 1) {
            return Err(Error::input("`who-wrote` asks for one element").help("write TENSOR[3, 7]"));
        }
        let element = nth(&extents, 0);
        let value = self.read_element(&tensor, &element);
        let writer = self.last_writer(&tensor, &element, &bytes)?;
        Ok(Reply::Writer {
            tensor: tensor.name.clone(),
            element: element.iter().map(|&i| i as i64).collect(),
            value,
            writer,
        })
    }

    /// Goes back to the last write of an element, looks at it, and comes back.
    pub(crate) fn last_writer(
        &mut self,
        tensor: &Tensor,
        element: &[u64],
        bytes: &[Range<u64>],
    ) -> Result<Option<Writer>> {
        let (home, allocation) = (self.state.current, tensor.allocation.0 as usize);
        let (found, present) = self.last_write(allocation, bytes)?;
        let mut writer = None;
        if let Some((at, linear, ticks)) = found {
            self.seek(at)?;
            let after = self.read_element(tensor, element);
            let last = self.state.programs.get(&linear).and_then(|program| program.last);
            self.seek(at.saturating_sub(1))?;
            let before = self.read_element(tensor, element);
            writer = Some(Writer {
                program: self.coordinates(linear),
                tick: ticks,
                location: last.and_then(|last| self.code.location(last)),
                op: last
                    .and_then(|last| self.code.op(last))
                    .map_or("", |(.., op)| op.code.info().mnemonic),
                before,
                after,
            });
        }
        self.seek(present)?;
        self.state.current = home;
        self.ensure_started();
        Ok(writer)
    }
}

/// The current program has read the element.
pub const READ: u8 = 1;
/// The current program has written it.
pub const WRITTEN: u8 = 2;
/// Another program has written it.
pub const OTHERS: u8 = 4;

/// The n-th index of a box, row-major.
fn nth(extents: &[(u64, u64)], n: u64) -> Vec<u64> {
    let mut rest = n;
    let mut index: Vec<u64> = extents
        .iter()
        .rev()
        .map(|&(first, count)| {
            let at = first + rest % count.max(1);
            rest /= count.max(1);
            at
        })
        .collect();
    index.reverse();
    index
}
