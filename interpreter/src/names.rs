//! The author's names of values.
//!
//! A name is in the location of the operation; of what a helper returns, in the location of the call. What a loop
//! carries and what an `if` gives has, in order: its own name, the name in the kernel's text, that of the initial value.
//!
//! A statement makes several values on its way, all under the name that it assigns to; only the last one is the
//! variable's.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tilescope_ir::{BlockId, Def, Function, Loc, LocId, Module, OpCode, OpId, ValueId};

/// Deepest nesting of call sites that is looked into.
const MAX_DEPTH: u32 = 64;

/// File and line.
pub type LocLine = Option<(Arc<str>, u32)>;

/// Names of the values of one function.
#[derive(Debug)]
pub struct Names {
    /// Name, and the location that has it.
    names: HashMap<ValueId, (Arc<str>, Option<LocId>)>,
    /// Values that are steps of a statement.
    parts: HashSet<ValueId>,
}

impl Names {
    /// The names of a function's values.
    pub fn of(module: &Module, function: &Function) -> Names {
        let mut names = HashMap::new();
        for (value, data) in function.values.iter() {
            let named = match data.def {
                Def::Result(op, _) if is_control(function.ops[op].code) => None,
                Def::Result(op, _) => name_at(module, function.ops[op].loc, MAX_DEPTH),
                Def::Arg(..) => name_at(module, data.loc, MAX_DEPTH),
            };
            if let Some((name, loc)) = named {
                names.insert(value, (name, Some(loc)));
            }
        }
        let known: HashSet<Arc<str>> = names.values().map(|(name, _)| name.clone()).collect();
        carried(function, &known, &mut names);
        let mut parts = statement_parts(module, function, &names);
        parts.extend(hoisted(module, function, &names));
        Names { names, parts }
    }

    /// The name of a value, and the location that it is from, where it is from one.
    pub fn get(&self, value: ValueId) -> Option<&(Arc<str>, Option<LocId>)> {
        self.names.get(&value)
    }

    /// True for a step on the way to the value of a statement.
    pub fn is_part(&self, value: ValueId) -> bool {
        self.parts.contains(&value)
    }
}

fn is_control(code: OpCode) -> bool {
    matches!(code, OpCode::For | OpCode::While | OpCode::If)
}

/// The name around a place: the callee's own, else the one that the call's result is assigned to.
fn name_at(module: &Module, loc: LocId, depth: u32) -> Option<(Arc<str>, LocId)> {
    match module.locs.get(loc) {
        Loc::Name { name, .. } => Some((name.clone(), loc)),
        Loc::CallSite { callee, caller } if depth > 0 => {
            name_at(module, *callee, depth - 1).or_else(|| name_at(module, *caller, depth - 1))
        }
        _ => None,
    }
}

/// The variable of a name in the text, where a number tells values of one variable apart.
fn base(text: &str, known: &HashSet<Arc<str>>) -> Option<Arc<str>> {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if digits(text.strip_prefix("arg").unwrap_or(text)) {
        return None;
    }
    if let Some((base, number)) = text.rsplit_once('_')
        && digits(number)
        && let Some(name) = known.get(base)
    {
        return Some(name.clone());
    }
    Some(text.into())
}

type Named = HashMap<ValueId, (Arc<str>, Option<LocId>)>;

/// Names what loops carry and branches give.
fn carried(function: &Function, known: &HashSet<Arc<str>>, names: &mut Named) {
    let block = |op: OpId, region: usize| -> Option<BlockId> {
        function.regions[*function.ops[op].regions.get(region)?]
            .blocks
            .first()
            .copied()
    };
    // Outer loops come first: what they carry may be the initial value of an inner one.
    for (op, data) in function.ops.iter() {
        if !is_control(data.code) {
            continue;
        }
        let arguments: Vec<ValueId> = match data.code {
            OpCode::For => block(op, 0)
                .map_or(&[][..], |b| &function.blocks[b].args)
                .iter()
                .skip(1)
                .copied()
                .collect(),
            OpCode::While => block(op, 0)
                .map_or(&[][..], |b| &function.blocks[b].args)
                .to_vec(),
            _ => Vec::new(),
        };
        let inner: Vec<ValueId> = match data.code {
            OpCode::While => block(op, 1)
                .map_or(&[][..], |b| &function.blocks[b].args)
                .to_vec(),
            _ => Vec::new(),
        };
        let skipped = if data.code == OpCode::For { 3 } else { 0 };
        let initial: Vec<ValueId> = match data.code {
            OpCode::If => {
                let last = block(op, 0).and_then(|b| function.blocks[b].ops.last());
                last.map_or(Vec::new(), |&last| function.ops[last].operands.to_vec())
            }
            _ => data.operands.iter().skip(skipped).copied().collect(),
        };
        for i in 0..arguments.len().max(data.results.len()) {
            let (argument, result) = (arguments.get(i).copied(), data.results.get(i).copied());
            let text = |value: Option<ValueId>| base(function.values[value?].name.as_deref()?, known);
            let given = |value: Option<ValueId>| names.get(&value?).map(|(name, _)| name.clone());
            let name = given(argument)
                .or_else(|| text(argument))
                .or_else(|| text(result))
                .or_else(|| given(initial.get(i).copied()));
            let Some(name) = name else { continue };
            for value in [argument, result, inner.get(i).copied()].into_iter().flatten() {
                names.entry(value).or_insert_with(|| (name.clone(), None));
            }
        }
        // The counter of a loop.
        if data.code == OpCode::For
            && let Some(&counter) = block(op, 0).and_then(|b| function.blocks[b].args.first())
            && let Some(name) = function.values[counter]
                .name
                .as_deref()
                .and_then(|text| base(text, known))
        {
            names.entry(counter).or_insert((name, None));
        }
    }
}

/// The innermost line of a location that is not in Triton's library.
fn line_of(module: &Module, loc: LocId) -> LocLine {
    let frames = module.locs.frames(loc);
    let own = frames
        .into_iter()
        .find(|(file, ..)| !file.contains("triton/language/"));
    own.map(|(file, line, _)| (file, line))
}

/// Results that are only steps on the way to the value of a statement: another one of the same name and line
/// follows in the block, with nothing of another name between.
fn statement_parts(module: &Module, function: &Function, names: &Named) -> HashSet<ValueId> {
    let mut parts = HashSet::new();
    for (_, block) in function.blocks.iter() {
        let mut before: Option<(ValueId, Arc<str>, LocLine)> = None;
        for &op in &block.ops {
            let data = &function.ops[op];
            if data.code == OpCode::Constant {
                continue;
            }
            let value = data.results.first().filter(|_| !is_control(data.code));
            let Some((value, (name, Some(loc)))) = value.and_then(|&value| Some((value, names.get(&value)?)))
            else {
                before = None;
                continue;
            };
            let line = line_of(module, *loc);
            if let Some((part, known, at)) = before.take()
                && (&known, &at) == (name, &line)
            {
                parts.insert(part);
            }
            before = Some((value, name.clone(), line));
        }
    }
    parts
}

/// Constants that Triton moved to the top, of statements that compute something.
fn hoisted(module: &Module, function: &Function, names: &Named) -> HashSet<ValueId> {
    let mut assigned: HashSet<(&Arc<str>, LocLine)> = HashSet::new();
    let mut constants = Vec::new();
    for (_, data) in function.ops.iter() {
        let Some(&value) = data.results.first() else {
            continue;
        };
        let Some((name, Some(loc))) = names.get(&value) else {
            continue;
        };
        match data.code {
            OpCode::Constant => constants.push((value, name, line_of(module, *loc))),
            _ => drop(assigned.insert((name, line_of(module, *loc)))),
        }
    }
    let hidden = constants
        .into_iter()
        .filter(|(_, name, line)| assigned.contains(&(*name, line.clone())));
    hidden.map(|(value, ..)| value).collect()
}
