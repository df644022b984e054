//! A kernel made smaller while something still holds of it.
//!
//! Works on any module of one kernel, by edits that keep types: operations become constants or one of their operands,
//! branches and loops their body, carried values disappear, dimensions and grids halve. What nothing uses goes. Each edit
//! is kept if the caller says that the kernel still shows what it is to show; a candidate need not verify.

use std::collections::HashSet;

use tilescope_diagnostics::Source;
use tilescope_ir::{
    Attrs, BlockId, Constant, Def, Effect, EntityId, FuncId, Function, Module, Op, OpCode, OpId, Shape, Type,
    ValueId, text,
};

use super::{Generated, ScalarSpec, scalar_of};

/// Makes a kernel smaller, with at most so many questions.
pub fn shrink(start: &Generated, mut questions: u32, holds: &mut dyn FnMut(&Generated) -> bool) -> Generated {
    let mut best = start.clone();
    let mut ask = |best: &mut Generated, candidate: Option<Generated>| -> bool {
        let Some(candidate) = candidate.and_then(tidied).filter(|_| questions > 0) else {
            return false;
        };
        questions -= 1;
        let held = holds(&candidate);
        if held {
            *best = candidate;
        }
        held
    };
    loop {
        let before = size(&best);
        chunks(&mut best, &mut ask);
        each(&mut best, &mut ask, operand_for);
        each(&mut best, &mut ask, opened);
        each(&mut best, &mut ask, not_carried);
        launches(&mut best, &mut ask);
        shapes(&mut best, &mut ask);
        if size(&best) >= before {
            return best;
        }
    }
}

type Ask<'a> = dyn FnMut(&mut Generated, Option<Generated>) -> bool + 'a;

/// Length of a kernel's text: what shrinks.
fn size(generated: &Generated) -> usize {
    text::print(&generated.module).len() + generated.spec.text("").len()
}

/// The kernel's function; the last one, after those that it calls.
fn kernel(generated: &Generated) -> FuncId {
    let funcs = &generated.module.funcs;
    let last = funcs.ids().next_back();
    funcs
        .ids()
        .find(|&id| funcs[id].public)
        .or(last)
        .unwrap_or(FuncId::from_index(0))
}

/// Operations of the kernel that stand in blocks and do not end them, in the order of the text, with their places.
fn placed(f: &Function) -> Vec<(BlockId, OpId)> {
    let mut found = Vec::new();
    for (block, data) in f.blocks.iter() {
        let inner = data.ops.iter().filter(|&&op| !f.ops[op].code.is_terminator());
        found.extend(inner.map(|&op| (block, op)));
    }
    found.sort_by_key(|&(_, op)| op.index());
    found
}

/// Whole runs of operations become constants.
fn chunks(best: &mut Generated, ask: &mut Ask<'_>) {
    let count = placed(&best.module.funcs[kernel(best)]).len();
    let mut length = count.div_ceil(2).max(1);
    loop {
        let mut end = placed(&best.module.funcs[kernel(best)]).len();
        while end > 0 {
            let start = end.saturating_sub(length);
            let mut candidate = best.clone();
            let id = kernel(&candidate);
            let f = &mut candidate.module.funcs[id];
            let list = placed(f);
            let chunk = list.get(start..end.min(list.len())).unwrap_or_default().to_vec();
            let changed = chunk.iter().filter(|&&(block, op)| removed(f, block, op)).count();
            ask(best, (changed > 0).then_some(candidate));
            end = start.min(placed(&best.module.funcs[id]).len());
        }
        if length == 1 {
            return;
        }
        length = length.div_ceil(2);
    }
}

/// Tries an edit at each operation, with a number for each of its variants, from the last to the first.
fn each(
    best: &mut Generated,
    ask: &mut Ask<'_>,
    edit: fn(&mut Function, BlockId, OpId, usize) -> Option<()>,
) {
    let mut at = placed(&best.module.funcs[kernel(best)]).len();
    while at > 0 {
        at -= 1;
        for variant in 0..6 {
            let mut candidate = best.clone();
            let id = kernel(&candidate);
            let f = &mut candidate.module.funcs[id];
            let Some(&(block, op)) = placed(f).get(at) else {
                break;
            };
            let Some(()) = edit(f, block, op, variant) else {
                break;
            };
            if ask(best, Some(candidate)) {
                break;
            }
        }
    }
}

/// Takes an operation out, zeros in its results' places; false if it is a constant already.
fn removed(f: &mut Function, block: BlockId, op: OpId) -> bool {
    let at = f.blocks[block].ops.iter().position(|&other| other == op);
    let Some(at) = at.filter(|_| f.ops[op].code != OpCode::Constant) else {
        return false;
    };
    let results = f.ops[op].results.to_vec();
    if !results.iter().all(|&v| scalar_of(f.ty(v)).is_some()) {
        return false;
    }
    f.blocks[block].ops.remove(at);
    for result in results {
        let zero = Op::new(
            OpCode::Constant,
            Vec::new(),
            Attrs::Constant(Constant::Splat(0)),
            f.ops[op].loc,
        );
        let ty = f.ty(result);
        let zero = f.append(block, zero, &[ty]);
        if let Some(zero) = f.blocks[block].ops.pop() {
            f.blocks[block].ops.insert(at, zero);
        }
        replace(f, result, f.ops[zero].results[0]);
    }
    true
}

fn replace(f: &mut Function, from: ValueId, to: ValueId) {
    for op in f.ops.values_mut() {
        let targets = op.successors.iter_mut().flat_map(|s| s.args.iter_mut());
        for value in op.operands.iter_mut().chain(targets).filter(|v| **v == from) {
            *value = to;
        }
    }
}

/// Uses an operand of an operation in place of its result.
fn operand_for(f: &mut Function, block: BlockId, op: OpId, variant: usize) -> Option<()> {
    let data = &f.ops[op];
    let &[result] = &data.results[..] else {
        return None;
    };
    let operands = data.operands.iter().copied();
    let fitting: Vec<ValueId> = operands.filter(|&v| f.ty(v) == f.ty(result)).collect();
    let &operand = fitting.get(variant)?;
    replace(f, result, operand);
    f.blocks[block].ops.retain(|&other| other != op);
    Some(())
}

/// A branch, or one round of a counted loop, in place of the whole.
fn opened(f: &mut Function, block: BlockId, op: OpId, variant: usize) -> Option<()> {
    let data = f.ops[op].clone();
    let region = match data.code {
        OpCode::If => *data.regions.get(variant)?,
        OpCode::For if variant == 0 => *data.regions.first()?,
        _ => return None,
    };
    let &[body] = &f.regions[region].blocks[..] else {
        return None;
    };
    let args = f.blocks[body].args.clone();
    let given = data
        .operands
        .first()
        .into_iter()
        .chain(data.operands.iter().skip(3));
    for (arg, &value) in args.into_iter().zip(given) {
        replace(f, arg, value);
    }
    let mut ops = f.blocks[body].ops.clone();
    let end = ops.pop()?;
    for (&result, value) in data.results.iter().zip(f.ops[end].operands.to_vec()) {
        replace(f, result, value);
    }
    let at = f.blocks[block].ops.iter().position(|&other| other == op)?;
    f.blocks[block].ops.splice(at..=at, ops);
    f.blocks[body].ops.clear();
    Some(())
}

/// A counted loop or a branch that gives one value less.
fn not_carried(f: &mut Function, block: BlockId, op: OpId, variant: usize) -> Option<()> {
    let data = f.ops[op].clone();
    let &result = data.results.get(variant)?;
    let skipped = match data.code {
        OpCode::For => 3,
        OpCode::If => 0,
        _ => return None,
    };
    let instead = match data.code {
        OpCode::For => *data.operands.get(3 + variant)?,
        _ => {
            let mut regions = data.regions.iter().filter_map(|&r| f.regions[r].blocks.first());
            let end = *f.blocks[*regions.next_back()?].ops.last()?;
            let value = *f.ops[end].operands.get(variant)?;
            let Def::Result(definition, _) = f.values[value].def else {
                return None;
            };
            // What is made inside is not seen outside.
            f.blocks[block].ops.contains(&definition).then_some(value)?
        }
    };
    replace(f, result, instead);
    f.ops[op].results.remove(variant);
    if skipped > 0 {
        f.ops[op].operands.remove(skipped + variant);
    }
    for &region in &data.regions {
        let &[body] = &f.regions[region].blocks[..] else {
            return None;
        };
        if skipped > 0 {
            let arg = f.blocks[body].args.remove(1 + variant);
            replace(f, arg, instead);
            let rest = f.blocks[body].args.clone();
            for (i, arg) in rest.into_iter().enumerate() {
                f.values[arg].def = Def::Arg(body, i as u32);
            }
        }
        let end = *f.blocks[body].ops.last()?;
        f.ops[end].operands.remove(variant);
    }
    for (i, result) in f.ops[op].results.clone().into_iter().enumerate() {
        f.values[result].def = Def::Result(op, i as u32);
    }
    Some(())
}

/// Fewer programs and warps, plainer data.
fn launches(best: &mut Generated, ask: &mut Ask<'_>) {
    let mut with = |best: &mut Generated, edit: &dyn Fn(&mut super::Spec)| {
        let mut candidate = best.clone();
        edit(&mut candidate.spec);
        let changed = candidate.spec != best.spec;
        ask(best, changed.then_some(candidate));
    };
    for grid in [[1, 1], [2, 1], [3, 1]] {
        with(best, &|spec| {
            if grid.iter().product::<i64>() < spec.grid.iter().product() {
                spec.grid = grid;
            }
        });
    }
    with(best, &|spec| spec.warps = 1);
    with(best, &|spec| spec.seed = 0);
    for i in 0..best.spec.tensors.len() {
        for fill in ["zeros", "arange"] {
            with(best, &|spec| {
                if let Some(old) = spec.tensors.get_mut(i).and_then(|t| t.fill.as_mut())
                    && old != "zeros"
                {
                    *old = fill.to_string();
                }
            });
        }
    }
    for i in 0..best.spec.scalars.len() {
        with(best, &|spec| {
            if let Some((_, value)) = spec.scalars.get_mut(i) {
                *value = match value {
                    ScalarSpec::Int(_) => ScalarSpec::Int(1),
                    ScalarSpec::Float(_) => ScalarSpec::Float(1.0),
                };
            }
        });
    }
}

/// Half of a dimension, everywhere; or none of it.
fn shapes(best: &mut Generated, ask: &mut Ask<'_>) {
    for log2 in (1..10).rev() {
        for to in [0, log2 / 2, log2 - 1] {
            let mut candidate = best.clone();
            let id = kernel(&candidate);
            let changed = resized(&mut candidate.module.funcs[id], 1 << log2, 1 << to);
            if ask(best, changed.then_some(candidate)) {
                break;
            }
        }
    }
}

/// Makes dimensions of one size another, in all types, ranges and constants; false if there are none.
fn resized(f: &mut Function, from: u64, to: u64) -> bool {
    let mut changed = false;
    for value in f.values.values_mut() {
        if let Type::Tile(shape, elem) = value.ty {
            let dims = shape.dims().map(|d| if d as u64 == from { to } else { d as u64 });
            let smaller = Shape::new(&dims.collect::<Vec<u64>>()).unwrap_or(shape);
            changed |= smaller != shape;
            value.ty = Type::Tile(smaller, elem);
        }
    }
    let lanes: Vec<usize> = f
        .ops
        .iter()
        .map(|(id, _)| f.result(id).map_or(1, |v| f.ty(v).lanes()))
        .collect();
    for (op, lanes) in f.ops.values_mut().zip(lanes) {
        match &mut op.attrs {
            Attrs::Range { start, end } if i64::from(*end) - i64::from(*start) == from as i64 => {
                *end = *start + to as i32;
            }
            Attrs::Constant(Constant::Dense(bits)) if bits.len() > lanes => {
                op.attrs = Attrs::Constant(match bits[..lanes].iter().all(|&b| b == bits[0]) {
                    true => Constant::Splat(bits[0]),
                    false => Constant::Dense(bits[..lanes].into()),
                });
            }
            _ => {}
        }
    }
    changed
}

/// The kernel without what nothing uses, read back from its text; none if it cannot be read.
fn tidied(mut generated: Generated) -> Option<Generated> {
    let id = kernel(&generated);
    while without_unused(&mut generated.module.funcs[id]) {}
    without_uncalled(&mut generated.module);
    let id = kernel(&generated);
    let f = &mut generated.module.funcs[id];
    let used = uses(f);
    let entry = f.entry();
    let params = f.blocks[entry].args.clone();
    let names: Vec<String> = params
        .iter()
        .filter_map(|&p| f.values[p].name.as_deref().map(String::from))
        .collect();
    let keep: Vec<bool> = params.iter().map(|p| used.contains(p)).collect();
    let kept = |list: &mut dyn Iterator<Item = usize>| list.filter(|&i| keep[i]).collect::<Vec<usize>>();
    let indices = kept(&mut (0..params.len()));
    f.blocks[entry].args = indices.iter().map(|&i| params[i]).collect();
    f.param_attrs = indices
        .iter()
        .filter_map(|&i| f.param_attrs.get(i).cloned())
        .collect();
    for (i, &at) in indices.iter().enumerate() {
        f.values[params[at]].def = Def::Arg(entry, i as u32);
    }
    if names.len() == params.len() {
        let is_kept = |name: &str| names.iter().position(|n| n == name).is_none_or(|i| keep[i]);
        generated.spec.tensors.retain(|t| is_kept(&t.name));
        generated.spec.scalars.retain(|(name, _)| is_kept(name));
    }
    tilescope_ir::verify(&generated.module).ok()?;
    generated.module = text::parse(&Source::new("candidate", text::print(&generated.module))).ok()?;
    Some(generated)
}

/// Drops functions that nothing calls.
fn without_uncalled(module: &mut Module) {
    let blocks = module
        .funcs
        .iter()
        .flat_map(|(_, f)| f.blocks.iter().map(move |(_, b)| (f, b)));
    let calls = blocks.flat_map(|(f, block)| block.ops.iter().map(move |&op| &f.ops[op].attrs));
    let called: Vec<_> = calls
        .filter_map(|attrs| match attrs {
            Attrs::Callee(name) => Some(name.clone()),
            _ => None,
        })
        .collect();
    let functions = std::mem::take(&mut module.funcs).into_values();
    for function in functions.filter(|f| f.public || called.contains(&f.name)) {
        module.funcs.push(function);
    }
}

/// Values that operations in blocks use.
fn uses(f: &Function) -> HashSet<ValueId> {
    let blocks = f.blocks.iter().flat_map(|(_, block)| &block.ops);
    let values = blocks.flat_map(|&op| {
        let data = &f.ops[op];
        data.operands
            .iter()
            .chain(data.successors.iter().flat_map(|s| &s.args))
    });
    values.copied().collect()
}

/// Takes operations out whose results nothing uses and that do nothing else; false if there are none.
fn without_unused(f: &mut Function) -> bool {
    let used = uses(f);
    let mut gone: Vec<OpId> = Vec::new();
    for (_, op) in placed(f) {
        let data = &f.ops[op];
        let idle = matches!(data.code.info().effect, Effect::Pure | Effect::Read);
        if idle && data.results.iter().all(|v| !used.contains(v)) {
            gone.push(op);
        }
    }
    for &op in &gone {
        let mut regions = f.ops[op].regions.to_vec();
        while let Some(region) = regions.pop() {
            for block in f.regions[region].blocks.clone() {
                for inner in std::mem::take(&mut f.blocks[block].ops) {
                    regions.extend(f.ops[inner].regions.iter().copied());
                }
            }
        }
    }
    for block in f.blocks.values_mut() {
        block.ops.retain(|op| !gone.contains(op));
    }
    !gone.is_empty()
}
