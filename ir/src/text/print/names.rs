//! Names of values and blocks in the printed text.

use crate::entities::{BlockId, EntityId, OpId, RegionId, ValueId};
use crate::module::Function;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;
use std::sync::Arc;

/// How a value is written behind `%`.
#[derive(Debug, Clone, Default)]
enum Label {
    /// In no block: not printed.
    #[default]
    None,
    Number(u32),
    Text(Arc<str>),
    /// A later result of a group, `#1` and up.
    Member {
        first: ValueId,
        number: u32,
    },
}

/// Labels of all values and numbers of all blocks of a function.
#[derive(Debug, Default)]
pub(super) struct Names {
    values: Vec<Label>,
    blocks: Vec<u32>,
    /// Values that lead a group of several results.
    leaders: HashSet<ValueId>,
}

/// True where `text` may stand behind `%`.
fn is_valid(text: &str) -> bool {
    let accept = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$' | b'.' | b'-');
    !text.is_empty() && !text.as_bytes()[0].is_ascii_digit() && text.bytes().all(accept)
}

impl Names {
    pub fn of(f: &Function) -> Names {
        let mut names = Names {
            values: vec![Label::None; f.values.len()],
            blocks: vec![0; f.blocks.len()],
            leaders: HashSet::new(),
        };
        names.number(f, f.body, 0);
        let mut texts = Texts {
            f,
            used: HashSet::new(),
            suffixes: HashMap::new(),
            log: Vec::new(),
            defined: vec![false; f.values.len()],
        };
        let mut taken = Vec::new();
        if !texts.region(f.body, true, &mut taken) {
            // a use stands above its definition: no name may stand for two values
            texts.used.clear();
            taken.clear();
            texts.region(f.body, false, &mut taken);
        }
        for (value, text) in taken {
            names.values[value.index()] = Label::Text(text);
        }
        names
    }

    /// Numbers a region as MLIR does: first its own values, then those of the regions nested in it.
    fn number(&mut self, f: &Function, region: RegionId, mut next: u32) {
        for (i, &block) in f.regions[region].blocks.iter().enumerate() {
            self.blocks[block.index()] = i as u32;
            for &arg in &f.blocks[block].args {
                self.assign(f, arg, &mut next);
            }
            for &op in &f.blocks[block].ops {
                let mut first = None;
                for (number, &result) in f.ops[op].results.iter().enumerate() {
                    match first {
                        Some((start, first)) if f.values[result].name.is_none() => {
                            let number = (number - start) as u32;
                            self.leaders.insert(first);
                            self.values[result.index()] = Label::Member { first, number };
                        }
                        _ => {
                            self.assign(f, result, &mut next);
                            first = Some((number, result));
                        }
                    }
                }
            }
        }
        for &block in &f.regions[region].blocks {
            for &op in &f.blocks[block].ops {
                for &nested in &f.ops[op].regions {
                    self.number(f, nested, next);
                }
            }
        }
    }

    fn assign(&mut self, f: &Function, value: ValueId, next: &mut u32) {
        if f.values[value].name.as_deref().is_some_and(is_valid) {
            return; // gets its text later
        }
        self.values[value.index()] = Label::Number(*next);
        *next += 1;
    }

    pub fn block(&self, block: BlockId) -> u32 {
        self.blocks[block.index()]
    }

    /// First result and size of each group of results.
    pub fn groups(&self, f: &Function, op: OpId) -> impl Iterator<Item = (ValueId, usize)> + use<> {
        let mut groups: Vec<(ValueId, usize)> = Vec::new();
        for &result in &f.ops[op].results {
            match (&self.values[result.index()], groups.last_mut()) {
                (Label::Member { .. }, Some(group)) => group.1 += 1,
                _ => groups.push((result, 1)),
            }
        }
        groups.into_iter()
    }

    /// A use: `%x`, or `%x#1` of a group.
    pub fn write(&self, out: &mut String, value: ValueId) {
        match self.values.get(value.index()) {
            Some(&Label::Member { first, number }) => {
                self.write_definition(out, first);
                let _ = write!(out, "#{number}");
            }
            _ => {
                self.write_definition(out, value);
                if self.leaders.contains(&value) {
                    out.push_str("#0");
                }
            }
        }
    }

    /// The name as it stands in front of `=`.
    pub fn write_definition(&self, out: &mut String, value: ValueId) {
        let _ = match self.values.get(value.index()) {
            Some(Label::Number(number)) => write!(out, "%{number}"),
            Some(Label::Text(text)) => write!(out, "%{text}"),
            // not a name: the value is in no block, which the verifier refuses
            _ => write!(out, "%<{value:?}>"),
        };
    }
}

/// Chooses the texts of named values, in the order of the text.
struct Texts<'f> {
    f: &'f Function,
    used: HashSet<Arc<str>>,
    /// The next suffix to try for a name that was taken.
    suffixes: HashMap<Arc<str>, u32>,
    log: Vec<Arc<str>>,
    defined: Vec<bool>,
}

impl Texts<'_> {
    /// False when `scoped` and a value is used above its definition.
    fn region(&mut self, region: RegionId, scoped: bool, taken: &mut Vec<(ValueId, Arc<str>)>) -> bool {
        let mark = self.log.len();
        for &block in &self.f.regions[region].blocks {
            for &arg in &self.f.blocks[block].args {
                self.name(arg, taken);
            }
            for &id in &self.f.blocks[block].ops {
                let op = &self.f.ops[id];
                let targets = op.successors.iter().flat_map(|s| &s.args);
                let forward = op
                    .operands
                    .iter()
                    .chain(targets)
                    .any(|v| !self.defined[v.index()]);
                if scoped && forward {
                    return false;
                }
                for &nested in &op.regions {
                    if !self.region(nested, scoped, taken) {
                        return false;
                    }
                }
                for &result in &op.results {
                    self.name(result, taken);
                }
            }
        }
        if scoped {
            for name in self.log.drain(mark..) {
                self.used.remove(&name);
            }
        }
        true
    }

    fn name(&mut self, value: ValueId, taken: &mut Vec<(ValueId, Arc<str>)>) {
        self.defined[value.index()] = true;
        let Some(name) = self.f.values[value].name.as_ref().filter(|n| is_valid(n)) else {
            return;
        };
        let mut text = name.clone();
        while self.used.contains(&text) {
            let suffix = self.suffixes.entry(name.clone()).or_default();
            text = format!("{name}_{suffix}").into();
            *suffix += 1;
        }
        self.used.insert(text.clone());
        self.log.push(text.clone());
        taken.push((value, text));
    }
}
