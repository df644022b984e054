//! The grid, structured control flow, control-flow graphs, calls.
//!
//! Conditions are scalars, so all threads of a block take the same way, and barriers may stand inside.
//! A control-flow graph is written along its dominator tree: a block with one way in stands where it is branched to, a block
//! with several after the block that dominates it, reached by `goto`.

use std::collections::HashMap;
use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::Axis;
use tilescope_ir::{Attrs, BlockId, Function, OpCode, OpId, Successor, Type, ValueId};

use super::tile::{BlockPointer, Bound, TileKind};
use super::{Emitter, Scope};
use crate::analysis::Known;
use crate::checked::provenance::{self, Provenance};

/// `tt.get_program_id`.
pub fn program_id(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&result), Attrs::Grid(axis)) = (data.results.first(), &data.attrs) else {
        return Ok(());
    };
    e.note(data);
    e.define(
        function,
        result,
        &format!("ts::program_id({})", axis_number(*axis)),
    )
}

fn axis_number(axis: Axis) -> usize {
    match axis {
        Axis::X => 0,
        Axis::Y => 1,
        Axis::Z => 2,
    }
}

/// `tt.get_num_programs`.
pub fn num_programs(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&result), Attrs::Grid(axis)) = (data.results.first(), &data.attrs) else {
        return Ok(());
    };
    let programs = e.launch.grid[axis_number(*axis)];
    e.define(function, result, &programs.to_string())
}

/// Operations without an effect here; terminators, which their region's owner reads.
pub fn nothing(_: &mut Emitter<'_>, _: &Function, _: OpId) -> Result<()> {
    Ok(())
}

/// `ttg.barrier`, `gpu.barrier`.
pub fn barrier(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    e.flush();
    e.note(&function.ops[op]);
    e.line("ts::barrier();");
    Ok(())
}

// ---- Variables that are assigned to

/// Declares a variable for a value that starts as another: of a block pointer the offsets change, and nothing else.
fn declare_from(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    value: ValueId,
    first: Option<&ValueId>,
) -> Result<Bound> {
    let Some(Bound::Block(pointer)) = first.map(|&v| e.bound(v)) else {
        return declare(e, function, op, value);
    };
    let mut variable = BlockPointer::clone(&pointer);
    for offset in &mut variable.offsets {
        let name = e.names.fresh("offset");
        e.line(format!("ts::i64 {name};"));
        *offset = name;
    }
    Ok(Bound::Block(Rc::new(variable)))
}

/// Declares a variable for a value: a scalar, or an array in the layout of its shape.
fn declare(e: &mut Emitter<'_>, function: &Function, op: OpId, value: ValueId) -> Result<Bound> {
    let ty = function.ty(value);
    let Some(elem) = ty.elem() else {
        return Err(e.unsupported(
            function,
            op,
            format!("a value of type {ty} that goes round a loop or out of a branch"),
        ));
    };
    let name = e.name_of(function, value);
    let ctype = e.type_of(elem)?;
    match ty {
        Type::Tile(shape, _) => {
            let layout = e.layout(shape);
            e.line(format!("{ctype} {name}[{}];", layout.registers()));
            Ok(Bound::Tile(e.make(name, shape, elem, TileKind::Array { layout })))
        }
        _ => {
            e.line(format!("{ctype} {name};"));
            Ok(Bound::Scalar(name))
        }
    }
}

/// The C++ variable that holds a value; none for formulas: what they are called may be a variable's name too.
fn variable_of(bound: &Bound) -> Option<&str> {
    match bound {
        Bound::Scalar(name) => Some(name),
        Bound::Tile(tile) => matches!(tile.kind, TileKind::Array { .. }).then_some(&tile.name),
        Bound::Block(_) => None,
    }
}

/// Assigns values to variables as if all at once: a variable may be another's value.
fn assign(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    targets: &[Bound],
    values: &[ValueId],
) -> Result<()> {
    e.flush();
    let mut scalars = Vec::new();
    let mut tiles = Vec::new();
    for (target, &value) in targets.iter().zip(values) {
        let source = e.bound(value);
        if let (Bound::Block(variable), Bound::Block(pointer)) = (target, &source) {
            let same = BlockPointer {
                offsets: variable.offsets.clone(),
                align: variable.align,
                ..BlockPointer::clone(pointer)
            };
            if same != **variable {
                return Err(e.unsupported(function, op, "a block pointer that changes its tensor"));
            }
            for (name, text) in variable.offsets.iter().zip(&pointer.offsets) {
                let copy = e.names.fresh("next");
                e.line(format!("ts::i64 const {copy} = {text};"));
                scalars.push((name.clone(), copy));
            }
            continue;
        }
        let held = variable_of(&source);
        if held.is_some() && held == variable_of(target) {
            continue;
        }
        let clashes = held.is_some() && targets.iter().any(|t| variable_of(t) == held);
        match (target, source) {
            (Bound::Scalar(name), Bound::Scalar(text)) => {
                let text = match clashes {
                    true => {
                        let copy = e.names.fresh("next");
                        e.line(format!("auto const {copy} = {text};"));
                        copy
                    }
                    false => text,
                };
                scalars.push((name.clone(), text));
            }
            (Bound::Tile(variable), Bound::Tile(tile)) => {
                let TileKind::Array { layout } = &variable.kind else {
                    continue;
                };
                let is_array = matches!(tile.kind, TileKind::Array { .. });
                let mut source = tile.clone();
                if clashes || (tile.reads && !is_array) {
                    let copy = e.names.fresh(&tile.name);
                    let ctype = e.type_of(tile.elem)?;
                    e.line(format!("{ctype} {copy}[{}];", layout.registers()));
                    e.copy_to(&tile, &copy, layout)?;
                    source = e.make(
                        copy,
                        tile.shape,
                        tile.elem,
                        TileKind::Array {
                            layout: layout.clone(),
                        },
                    );
                }
                tiles.push((variable.name.clone(), source, layout.clone()));
            }
            _ => {
                return Err(e.unsupported(
                    function,
                    op,
                    "a descriptor that goes round a loop or out of a branch",
                ));
            }
        }
    }
    for (name, source, layout) in tiles {
        e.copy_to(&source, &name, &layout)?;
    }
    for (name, text) in scalars {
        e.line(format!("{name} = {text};"));
    }
    Ok(())
}

fn bind_all(e: &mut Emitter<'_>, values: &[ValueId], bounds: &[Bound]) {
    for (&value, bound) in values.iter().zip(bounds) {
        e.bind(value, bound.clone());
    }
}

fn operands_of(function: &Function, op: OpId) -> Vec<ValueId> {
    function.ops[op].operands.to_vec()
}

// ---- Structured control flow

/// `scf.for`.
pub fn for_(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    e.flush();
    super::undefined::used(e, function, op, data.operands.get(..3).unwrap_or_default())?;
    e.note(data);
    let args = e.region_args(function, op, 0).to_vec();
    let Some((&counter, carried)) = args.split_first() else {
        return Err(e.unsupported(function, op, "a loop without a counter"));
    };
    let [low, high, step] = [0, 1, 2].map(|i| {
        data.operands
            .get(i)
            .map_or_else(|| String::from("0"), |&v| e.scalar(v))
    });
    let mut variables = Vec::new();
    for (i, &arg) in carried.iter().enumerate() {
        let first = data.operands.get(i + 3);
        variables.push(declare_from(e, function, op, arg, first)?);
    }
    assign(
        e,
        function,
        op,
        &variables,
        data.operands.get(3..).unwrap_or_default(),
    )?;
    let name = e.name_of(function, counter);
    let ctype = match function.ty(counter).elem() {
        Some(elem) => e.type_of(elem)?,
        None => String::from("int"),
    };
    let unsigned = matches!(data.attrs, Attrs::For { unsigned: true });
    let condition = match unsigned {
        true => format!("ts::as_unsigned({name}) < ts::as_unsigned({high})"),
        false => format!("{name} < {high}"),
    };
    e.line("#pragma unroll 1");
    e.open(format!(
        "for ({ctype} {name} = {low}; {condition}; {name} += {step}) {{"
    ));
    e.loop_depth += 1;
    e.bind(counter, Bound::Scalar(name));
    bind_all(e, carried, &variables);
    let last = e.region(function, op, 0)?;
    assign(e, function, op, &variables, &operands_of(function, last))?;
    e.loop_depth -= 1;
    e.close("}");
    bind_all(e, &data.results, &variables);
    Ok(())
}

/// `scf.if`.
pub fn if_(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    e.flush();
    super::undefined::used(e, function, op, &data.operands)?;
    let condition = data
        .operands
        .first()
        .map_or_else(|| String::from("false"), |&v| e.scalar(v));
    let mut variables = Vec::new();
    for &result in &data.results {
        variables.push(declare(e, function, op, result)?);
    }
    e.note(data);
    e.open(format!("if ({condition}) {{"));
    for index in 0..data.regions.len() {
        if index > 0 {
            e.close("} else {");
            e.indent += 1;
            e.conversions.push(HashMap::new());
        }
        let last = e.region(function, op, index)?;
        assign(e, function, op, &variables, &operands_of(function, last))?;
    }
    e.close("}");
    bind_all(e, &data.results, &variables);
    Ok(())
}

/// `scf.while`: the first region decides, the second is the body.
pub fn while_(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    e.flush();
    e.note(data);
    let before = e.region_args(function, op, 0).to_vec();
    let after = e.region_args(function, op, 1).to_vec();
    let mut carried = Vec::new();
    for (i, &arg) in before.iter().enumerate() {
        carried.push(declare_from(e, function, op, arg, data.operands.get(i))?);
    }
    let mut passed = Vec::new();
    for &result in &data.results {
        passed.push(declare(e, function, op, result)?);
    }
    assign(e, function, op, &carried, &data.operands)?;
    e.open("while (true) {");
    e.loop_depth += 1;
    bind_all(e, &before, &carried);
    let last = e.region(function, op, 0)?;
    let operands = operands_of(function, last);
    if let Some((&condition, values)) = operands.split_first() {
        super::undefined::used(e, function, last, &[condition])?;
        assign(e, function, last, &passed, values)?;
        let condition = e.scalar(condition);
        e.line(format!("if (!{condition}) break;"));
    }
    bind_all(e, &after, &passed);
    let last = e.region(function, op, 1)?;
    assign(e, function, last, &carried, &operands_of(function, last))?;
    e.loop_depth -= 1;
    e.close("}");
    bind_all(e, &data.results, &passed);
    Ok(())
}

// ---- Graphs and calls

/// The shape of a function's graph.
struct Graph {
    /// Blocks in reverse postorder.
    order: Vec<BlockId>,
    /// Edges into each block.
    entries: HashMap<BlockId, usize>,
    /// The nearest block that all ways to a block pass.
    dominator: HashMap<BlockId, BlockId>,
}

fn successors(function: &Function, block: BlockId) -> Vec<BlockId> {
    let last = function.blocks[block].ops.last();
    last.map(|&op| function.ops[op].successors.iter().map(|s| s.block).collect())
        .unwrap_or_default()
}

impl Graph {
    fn of(function: &Function, entry: BlockId) -> Graph {
        let mut order = Vec::new();
        let mut seen = std::collections::HashSet::from([entry]);
        let mut stack = vec![(entry, successors(function, entry))];
        while let Some((block, left)) = stack.last_mut() {
            match left.pop() {
                Some(next) if seen.insert(next) => {
                    let more = successors(function, next);
                    stack.push((next, more));
                }
                Some(_) => {}
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
        order.reverse();
        let place: HashMap<BlockId, usize> = order.iter().enumerate().map(|(i, &b)| (b, i)).collect();
        let mut incoming: HashMap<BlockId, Vec<BlockId>> = HashMap::new();
        for &block in &order {
            for next in successors(function, block) {
                incoming.entry(next).or_default().push(block);
            }
        }
        let mut dominator = HashMap::from([(entry, entry)]);
        loop {
            let mut changed = false;
            for &block in order.iter().skip(1) {
                let known = incoming
                    .get(&block)
                    .into_iter()
                    .flatten()
                    .copied()
                    .filter(|b| dominator.contains_key(b));
                let common = known.reduce(|a, b| meet(&dominator, &place, a, b));
                if let Some(common) = common
                    && dominator.insert(block, common) != Some(common)
                {
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let entries = incoming.iter().map(|(&b, from)| (b, from.len())).collect();
        Graph {
            order,
            entries,
            dominator,
        }
    }
}

/// The nearest common dominator.
fn meet(
    dominator: &HashMap<BlockId, BlockId>,
    place: &HashMap<BlockId, usize>,
    mut a: BlockId,
    mut b: BlockId,
) -> BlockId {
    while a != b {
        let (late, other) = if place.get(&a) > place.get(&b) {
            (&mut a, b)
        } else {
            (&mut b, a)
        };
        match dominator.get(late) {
            Some(&up) if up != *late => *late = up,
            _ => return other,
        }
    }
    a
}

impl Emitter<'_> {
    /// A function's body.
    pub(super) fn body(&mut self, function: &Function) -> Result<()> {
        let entry = function.entry();
        let graph = Graph::of(function, entry);
        self.graph_block(function, &graph, entry)
    }

    /// The blocks of a region, from its first on.
    pub(super) fn region_body(&mut self, function: &Function, entry: BlockId) -> Result<()> {
        let graph = Graph::of(function, entry);
        self.graph_block(function, &graph, entry)
    }

    fn graph_block(&mut self, function: &Function, graph: &Graph, block: BlockId) -> Result<()> {
        self.depth += 1;
        let Some((&last, ops)) = function.blocks[block].ops.split_last() else {
            return Ok(());
        };
        for &op in ops {
            self.operation(function, op)?;
        }
        let joins: Vec<BlockId> = graph
            .order
            .iter()
            .copied()
            .filter(|b| {
                *b != block
                    && graph.dominator.get(b) == Some(&block)
                    && graph.entries.get(b).is_some_and(|&n| n > 1)
            })
            .collect();
        self.flush();
        for &join in &joins {
            let label = self.names.fresh("block");
            self.scope().labels.insert(join, label);
            for &arg in &function.blocks[join].args {
                let variable = declare(self, function, last, arg)?;
                self.bind(arg, variable);
            }
        }
        if function.ops[last].successors.is_empty() {
            self.operation(function, last)?;
        } else {
            self.branch(function, graph, last)?;
        }
        for &join in &joins {
            let label = self.scope().labels.get(&join).cloned().unwrap_or_default();
            self.line(format!("{label}:"));
            self.open("{");
            self.loop_depth += 1;
            self.graph_block(function, graph, join)?;
            self.flush();
            self.loop_depth -= 1;
            self.close("}");
        }
        self.depth -= 1;
        Ok(())
    }

    fn branch(&mut self, function: &Function, graph: &Graph, op: OpId) -> Result<()> {
        let data = &function.ops[op];
        if data.code == OpCode::Br {
            return match data.successors.first() {
                Some(target) => self.jump(function, graph, op, target),
                None => Ok(()),
            };
        }
        let condition = data
            .operands
            .first()
            .map_or_else(|| String::from("false"), |&v| self.scalar(v));
        super::undefined::used(self, function, op, data.operands.get(..1).unwrap_or_default())?;
        self.note(data);
        self.open(format!("if ({condition}) {{"));
        for (index, target) in data.successors.iter().enumerate() {
            if index > 0 {
                self.close("} else {");
                self.indent += 1;
                self.conversions.push(HashMap::new());
            }
            self.jump(function, graph, op, target)?;
            self.flush();
        }
        self.close("}");
        Ok(())
    }

    fn jump(&mut self, function: &Function, graph: &Graph, op: OpId, target: &Successor) -> Result<()> {
        let args = &function.blocks[target.block].args;
        if graph.entries.get(&target.block) == Some(&1) {
            for (&arg, &value) in args.iter().zip(&target.args) {
                let bound = self.bound(value);
                self.bind(arg, bound);
            }
            return self.graph_block(function, graph, target.block);
        }
        let variables: Vec<Bound> = args.iter().map(|&arg| self.bound(arg)).collect();
        assign(self, function, op, &variables, &target.args)?;
        let label = self
            .scope()
            .labels
            .get(&target.block)
            .cloned()
            .unwrap_or_default();
        self.line(format!("goto {label};"));
        Ok(())
    }
}

/// `cf.br`, of a graph that [`Emitter::body`] walks.
pub fn br(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(e.unsupported(function, op, "a branch in this place"))
}

/// `cf.cond_br`, likewise.
pub fn cond_br(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    Err(e.unsupported(function, op, "a branch in this place"))
}

/// `tt.return`.
pub fn return_(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    e.flush();
    match e.scope().exit.clone() {
        None => e.line("return;"),
        Some((label, variables)) => {
            assign(e, function, op, &variables, &function.ops[op].operands)?;
            e.line(format!("goto {label};"));
        }
    }
    Ok(())
}

/// `tt.call`: the function is put in here.
pub fn call(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Callee(name) = &data.attrs else {
        return Ok(());
    };
    let module = e.module;
    let Some(callee) = module.find(name) else {
        return Err(e.unsupported(function, op, format!("a call of `{name}`")));
    };
    let target = &module.funcs[callee];
    let facts = data.operands.iter().map(|&v| e.facts(function, v)).collect();
    let mut scope = Scope::new(target, Known::of_function(target, facts, e.launch.grid), callee);
    if e.is_checked() {
        let origins: Vec<Provenance> = data.operands.iter().map(|&v| e.provenance(v)).collect();
        scope.origins = provenance::follow(target, &origins);
    }
    scope.calls = std::iter::once(data.loc)
        .chain(e.scope().calls.iter().copied())
        .collect();
    scope.values = target
        .params()
        .iter()
        .copied()
        .zip(data.operands.iter().map(|&v| e.bound(v)))
        .collect();
    let blocks = Graph::of(target, target.entry()).order;
    if let [block] = blocks[..]
        && let Some((&last, ops)) = target.blocks[block].ops.split_last()
    {
        e.scopes.push(scope);
        let ran = ops.iter().try_for_each(|&inner| e.operation(target, inner));
        let returned: Vec<Bound> = target.ops[last].operands.iter().map(|&v| e.bound(v)).collect();
        e.scopes.pop();
        ran?;
        bind_all(e, &data.results, &returned);
        return Ok(());
    }
    e.flush();
    let mut variables = Vec::new();
    for &result in &data.results {
        variables.push(declare(e, function, op, result)?);
    }
    let label = e.names.fresh("end");
    scope.exit = Some((label.clone(), variables.clone()));
    e.scopes.push(scope);
    e.open("{");
    let ran = e.body(target);
    e.flush();
    e.close("}");
    e.scopes.pop();
    ran?;
    e.line(format!("{label}:;"));
    bind_all(e, &data.results, &variables);
    Ok(())
}
