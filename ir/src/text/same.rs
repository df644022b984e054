//! Equality of modules up to the choice of ids.

use crate::entities::{Arena, BlockId, EntityId, LocId, OpId, RegionId, ValueId};
use crate::loc::{Loc, Locs};
use crate::module::{Function, Module, Successor};
use std::collections::HashMap;

/// Compares two modules: functions, attributes, operations, types, names and locations.
///
/// # Errors
/// Says the first difference.
pub fn same(a: &Module, b: &Module) -> Result<(), String> {
    let mut c = Comparison {
        a: &a.locs,
        b: &b.locs,
        equal: HashMap::new(),
    };
    equal("module attributes", &a.attrs, &b.attrs)?;
    equal("number of functions", &a.funcs.len(), &b.funcs.len())?;
    c.option_loc(a.loc, b.loc).map_err(|e| format!("module: {e}"))?;
    for ((_, x), (_, y)) in a.funcs.iter().zip(b.funcs.iter()) {
        c.function(x, y).map_err(|e| format!("@{}: {e}", x.name))?;
    }
    Ok(())
}

fn equal<T: PartialEq + std::fmt::Debug>(what: &str, a: &T, b: &T) -> Result<(), String> {
    if a == b {
        Ok(())
    } else {
        Err(format!("{what}: {a:?} and {b:?}"))
    }
}

struct Comparison<'m> {
    a: &'m Locs,
    b: &'m Locs,
    /// Pairs of locations already found equal.
    equal: HashMap<LocId, LocId>,
}

/// Which entities of two functions stand for each other.
struct Pairs<'m> {
    x: &'m Function,
    y: &'m Function,
    values: HashMap<ValueId, ValueId>,
    blocks: HashMap<BlockId, BlockId>,
    /// Uses to compare when all definitions are known.
    uses: Vec<(OpId, OpId)>,
}

impl Comparison<'_> {
    fn option_loc(&mut self, a: Option<LocId>, b: Option<LocId>) -> Result<(), String> {
        self.loc(a.unwrap_or(self.a.unknown()), b.unwrap_or(self.b.unknown()))
    }

    fn loc(&mut self, a: LocId, b: LocId) -> Result<(), String> {
        let mut todo = vec![(a, b)];
        while let Some((a, b)) = todo.pop() {
            if self.equal.get(&a) == Some(&b) {
                continue;
            }
            let (x, y) = (self.a.get(a), self.b.get(b));
            let same = match (x, y) {
                (Loc::Name { name: n, child: c }, Loc::Name { name: m, child: d }) => {
                    todo.push((*c, *d));
                    n == m
                }
                (Loc::CallSite { callee: c, caller: r }, Loc::CallSite { callee: d, caller: s }) => {
                    todo.extend([(*c, *d), (*r, *s)]);
                    true
                }
                (Loc::Fused(p), Loc::Fused(q)) => {
                    todo.extend(p.iter().copied().zip(q.iter().copied()));
                    p.len() == q.len()
                }
                _ => x == y,
            };
            if !same {
                return Err(format!("locations {x:?} and {y:?}"));
            }
            self.equal.insert(a, b);
        }
        Ok(())
    }

    fn function(&mut self, x: &Function, y: &Function) -> Result<(), String> {
        equal("names", &x.name, &y.name)?;
        equal("visibility", &x.public, &y.public)?;
        equal("result types", &x.results, &y.results)?;
        equal("parameter attributes", &x.param_attrs, &y.param_attrs)?;
        equal("result attributes", &x.result_attrs, &y.result_attrs)?;
        equal("attributes", &x.attrs, &y.attrs)?;
        self.loc(x.loc, y.loc)?;
        let mut pairs = Pairs {
            x,
            y,
            values: HashMap::new(),
            blocks: HashMap::new(),
            uses: Vec::new(),
        };
        self.region(&mut pairs, x.body, y.body)?;
        for (a, b) in std::mem::take(&mut pairs.uses) {
            pairs
                .uses(a, b)
                .map_err(|e| format!("{} (operation {}): {e}", x.ops[a].code, a.index()))?;
        }
        Ok(())
    }

    fn region(&mut self, p: &mut Pairs<'_>, a: RegionId, b: RegionId) -> Result<(), String> {
        let (a, b) = (&p.x.regions[a].blocks, &p.y.regions[b].blocks);
        equal("number of blocks", &a.len(), &b.len())?;
        for (&a, &b) in a.iter().zip(b) {
            p.blocks.insert(a, b);
            self.values(p, &p.x.blocks[a].args, &p.y.blocks[b].args)?;
            let (a, b) = (&p.x.blocks[a].ops, &p.y.blocks[b].ops);
            equal("number of operations", &codes(&p.x.ops, a), &codes(&p.y.ops, b))?;
            for (&a, &b) in a.iter().zip(b) {
                self.op(p, a, b)
                    .map_err(|e| format!("{} (operation {}): {e}", p.x.ops[a].code, a.index()))?;
            }
        }
        Ok(())
    }

    fn op(&mut self, p: &mut Pairs<'_>, a: OpId, b: OpId) -> Result<(), String> {
        let (x, y) = (&p.x.ops[a], &p.y.ops[b]);
        equal("attributes", &x.attrs, &y.attrs)?;
        equal("other attributes", &x.extra, &y.extra)?;
        self.loc(x.loc, y.loc)?;
        self.values(p, &x.results, &y.results)?;
        equal("number of regions", &x.regions.len(), &y.regions.len())?;
        for (&a, &b) in x.regions.iter().zip(&y.regions) {
            self.region(p, a, b)?;
        }
        p.uses.push((a, b));
        Ok(())
    }

    fn values(&mut self, p: &mut Pairs<'_>, a: &[ValueId], b: &[ValueId]) -> Result<(), String> {
        equal("number of values", &a.len(), &b.len())?;
        for (&a, &b) in a.iter().zip(b) {
            let (x, y) = (&p.x.values[a], &p.y.values[b]);
            equal("type", &x.ty, &y.ty)?;
            equal("name", &x.name, &y.name)?;
            self.loc(x.loc, y.loc)?;
            p.values.insert(a, b);
        }
        Ok(())
    }
}

fn codes(ops: &Arena<OpId, crate::Op>, list: &[OpId]) -> Vec<crate::OpCode> {
    list.iter().map(|&op| ops[op].code).collect()
}

impl Pairs<'_> {
    fn uses(&self, a: OpId, b: OpId) -> Result<(), String> {
        let (x, y) = (&self.x.ops[a], &self.y.ops[b]);
        self.operands(&x.operands, &y.operands)?;
        equal("number of successors", &x.successors.len(), &y.successors.len())?;
        for (s, t) in x.successors.iter().zip(&y.successors) {
            self.successor(s, t)?;
        }
        Ok(())
    }

    fn successor(&self, s: &Successor, t: &Successor) -> Result<(), String> {
        equal("target", &self.blocks.get(&s.block), &Some(&t.block))?;
        self.operands(&s.args, &t.args)
    }

    fn operands(&self, a: &[ValueId], b: &[ValueId]) -> Result<(), String> {
        let mapped: Vec<Option<ValueId>> = a.iter().map(|v| self.values.get(v).copied()).collect();
        let b: Vec<Option<ValueId>> = b.iter().copied().map(Some).collect();
        equal("operands", &mapped, &b)
    }
}
