//! Which layout values of a shape have: one per shape.
//!
//! Loads and stores vote for the dimension along which a thread holds neighbours, and for how many: what alignment and
//! contiguity allow to be accessed at once. A shape that is reduced from another, or broadcast to one, takes the slice of its
//! layout, so that going there and back moves nothing between threads. What fits nowhere is converted where it is used.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tilescope_ir::{Attrs, BlockId, Function, OpCode, OpId, Shape, Type, ValueId};

use crate::analysis::Known;
use crate::layout::{Blocked, IndexMap, Layout, blocked, slice};

/// Bytes of the widest access.
pub const WIDEST: u64 = 16;

/// Elements of a tile that one thread holds at most, while there can be more threads.
const MOST_REGISTERS: usize = 64;

/// Warps of a block at most, as a power of two.
const MOST_WARPS: u32 = 5;

/// The layouts of a kernel.
#[derive(Debug, Default)]
pub struct Plan {
    layouts: HashMap<Vec<usize>, Rc<Layout>>,
    /// Warps, as a power of two.
    pub warps: u32,
}

/// A shape without dimensions of size one, which have no index bits.
fn key(shape: Shape) -> Vec<usize> {
    shape.dims().filter(|&d| d > 1).collect()
}

/// The shape without its dimensions of size one.
fn squeezed(shape: Shape) -> Shape {
    let dims: Vec<u64> = shape.dims().filter(|&d| d > 1).map(|d| d as u64).collect();
    Shape::new(&dims).unwrap_or(shape)
}

impl Plan {
    /// The layouts, with their shapes (without dimensions of size one), in an order that does not depend on anything else.
    pub fn layouts(&self) -> Vec<(Vec<usize>, Layout)> {
        let mut all: Vec<(Vec<usize>, Layout)> = self
            .layouts
            .iter()
            .map(|(shape, layout)| (shape.clone(), Layout::clone(layout)))
            .collect();
        all.sort();
        all
    }

    /// The layout of values of a shape.
    pub fn layout(&mut self, shape: Shape) -> Rc<Layout> {
        let warps = self.warps;
        let shape = squeezed(shape);
        let fast = shape.rank().saturating_sub(1);
        self.layouts
            .entry(key(shape))
            .or_insert_with(|| {
                Rc::new(blocked(
                    shape,
                    &Blocked {
                        fast,
                        vector: 2,
                        warps,
                    },
                ))
            })
            .clone()
    }
}

/// Votes of the accesses of one shape.
#[derive(Debug, Default)]
struct Votes {
    shape: Shape,
    /// Weight, fastest dimension, elements at once.
    accesses: Vec<(u64, usize, u64)>,
}

/// Where a shape takes its layout from.
#[derive(Debug)]
struct Parent {
    shape: Shape,
    how: How,
    weight: u64,
}

#[derive(Debug)]
enum How {
    Reduced(usize),
    Broadcast(IndexMap),
}

struct Survey<'a> {
    function: &'a Function,
    known: &'a Known,
    votes: HashMap<Vec<usize>, Votes>,
    parents: HashMap<Vec<usize>, Parent>,
    /// Values that registers are read for.
    reads: HashSet<ValueId>,
    most_elements: usize,
}

/// Chooses layouts for a kernel; `warps` are those that the launch asks for.
pub fn plan(function: &Function, known: &Known, warps: u32) -> Plan {
    let mut survey = Survey {
        function,
        known,
        votes: HashMap::new(),
        parents: HashMap::new(),
        reads: HashSet::new(),
        most_elements: 1,
    };
    for &block in &function.regions[function.body].blocks {
        survey.block(block, 1);
    }
    let wanted = (survey.most_elements / MOST_REGISTERS).max(1).next_power_of_two() / 32;
    let warps = (warps.max(1) as usize)
        .max(wanted)
        .next_power_of_two()
        .trailing_zeros()
        .min(MOST_WARPS);
    let mut plan = Plan {
        layouts: HashMap::new(),
        warps,
    };
    let mut shapes: Vec<(Vec<usize>, Shape)> =
        survey.votes.iter().map(|(k, v)| (k.clone(), v.shape)).collect();
    for parent in survey.parents.values() {
        shapes.push((key(parent.shape), squeezed(parent.shape)));
    }
    shapes.sort_by(|a, b| b.1.elements().cmp(&a.1.elements()).then(a.0.cmp(&b.0)));
    for (key, shape) in &shapes {
        if plan.layouts.contains_key(key) || survey.parents.contains_key(key) {
            continue;
        }
        let form = survey.votes.get(key).map_or_else(Votes::default, |v| Votes {
            shape: *shape,
            accesses: v.accesses.clone(),
        });
        plan.layouts
            .insert(key.clone(), Rc::new(blocked(*shape, &form.form(warps))));
    }
    let mut children: Vec<(&Vec<usize>, &Parent)> = survey.parents.iter().collect();
    children.sort_by(|a, b| {
        let size = |key: &[usize]| key.iter().product::<usize>();
        size(b.0).cmp(&size(a.0)).then(a.0.cmp(b.0))
    });
    for (key, parent) in children {
        let layout = plan.layout(parent.shape);
        let layout = match &parent.how {
            How::Reduced(axis) => slice(&layout, parent.shape, *axis),
            How::Broadcast(map) => {
                let operand = layout.identity().through(map).layout;
                Layout {
                    regs: operand.regs.into_iter().filter(|&basis| basis != 0).collect(),
                    threads: operand.threads,
                }
            }
        };
        plan.layouts.insert(key.clone(), Rc::new(layout));
    }
    plan
}

impl Votes {
    /// The fastest dimension by weight, and the width that serves the accesses best.
    fn form(&self, warps: u32) -> Blocked {
        let last = self.shape.rank().saturating_sub(1);
        let weight_of = |axis: usize| -> u64 {
            let of_axis = self.accesses.iter().filter(|a| a.1 == axis);
            of_axis.map(|a| a.0).sum()
        };
        let fast = (0..self.shape.rank())
            .rev()
            .max_by_key(|&axis| (weight_of(axis), axis == last));
        let fast = fast.unwrap_or(last);
        let along: Vec<&(u64, usize, u64)> = self.accesses.iter().filter(|a| a.1 == fast).collect();
        // Of each width, the share of the widest access that every access gets.
        let served = |vector: u32| -> u64 {
            let width = 1u64 << vector;
            along
                .iter()
                .map(|a| a.0.saturating_mul(a.2.min(width) * 64 / width))
                .sum()
        };
        let vector = match along.is_empty() {
            true => 2,
            false => (0..5).max_by_key(|&v| (served(v), v)).unwrap_or(0),
        };
        let widest = along.iter().map(|a| a.2).max().unwrap_or(4).trailing_zeros();
        Blocked {
            fast,
            vector: vector.min(widest),
            warps,
        }
    }
}

impl Survey<'_> {
    fn block(&mut self, block: BlockId, weight: u64) {
        for &op in &self.function.blocks[block].ops {
            self.operation(op, weight);
        }
    }

    fn operation(&mut self, id: OpId, weight: u64) {
        let op = &self.function.ops[id];
        let is_loop = matches!(op.code, OpCode::For | OpCode::While);
        let inner = if is_loop { weight.saturating_mul(8) } else { weight };
        if matches!(op.code, OpCode::For | OpCode::While | OpCode::If) {
            for &region in &op.regions {
                for &block in &self.function.regions[region].blocks {
                    let args = self.function.blocks[block].args.iter();
                    self.reads
                        .extend(args.filter(|&&arg| self.function.ty(arg).shape().is_some()));
                }
            }
        }
        if !matches!(op.code, OpCode::Reduce | OpCode::Scan | OpCode::MapElementwise) {
            for &region in &op.regions {
                for &block in &self.function.regions[region].blocks {
                    self.block(block, inner);
                }
            }
        }
        let operand_reads = op.operands.iter().any(|v| self.reads.contains(v));
        let lazy = op.code.info().effect == tilescope_ir::Effect::Pure
            && op.regions.is_empty()
            && !matches!(
                op.code,
                OpCode::Dot | OpCode::DotScaled | OpCode::Gather | OpCode::Histogram
            );
        for &result in &op.results {
            if self.function.ty(result).shape().is_some() && (!lazy || operand_reads) {
                self.reads.insert(result);
                self.most_elements = self.most_elements.max(self.function.ty(result).lanes());
            }
        }
        match op.code {
            OpCode::Load | OpCode::Store | OpCode::AtomicRmw | OpCode::AtomicCas => {
                if let Some(&pointer) = op.operands.first() {
                    self.access(pointer, weight);
                }
            }
            OpCode::Reduce => {
                if let (Attrs::Along { axis, .. }, Some(&operand), Some(&result)) =
                    (&op.attrs, op.operands.first(), op.results.first())
                    && let (Type::Tile(from, _), Type::Tile(to, _)) =
                        (self.function.ty(operand), self.function.ty(result))
                {
                    self.relate(to, from, How::Reduced(*axis as usize), weight.saturating_mul(4));
                }
            }
            OpCode::Broadcast => {
                if let (Some(&operand), Some(&result)) = (op.operands.first(), op.results.first())
                    && self.reads.contains(&operand)
                    && let (Some(from), Some(to)) = (
                        self.function.ty(operand).shape(),
                        self.function.ty(result).shape(),
                    )
                {
                    self.relate(from, to, How::Broadcast(IndexMap::broadcast(from, to)), weight);
                }
            }
            _ => {}
        }
    }

    fn relate(&mut self, child: Shape, parent: Shape, how: How, weight: u64) {
        if child.elements() >= parent.elements() || child.elements() == 1 {
            return;
        }
        let new = Parent {
            shape: parent,
            how,
            weight,
        };
        match self.parents.get(&key(child)) {
            Some(old) if old.weight >= weight => {}
            _ => {
                self.parents.insert(key(child), new);
            }
        }
    }

    fn access(&mut self, pointer: ValueId, weight: u64) {
        let Type::Tile(shape, elem) = self.function.ty(pointer) else {
            return;
        };
        let bytes = elem.pointer().map_or(4, |p| p.target().bytes()) as u64;
        let facts = self.known.get(self.function, pointer);
        let width = |axis: usize| -> u64 {
            let aligned = (facts.divisible[axis] / bytes).max(1);
            facts.contiguous[axis]
                .min(aligned)
                .min(WIDEST / bytes.min(WIDEST))
                .max(1)
        };
        // Contiguity counts even without alignment: neighbouring lanes then still share a line.
        let Some(fast) =
            (0..shape.rank()).max_by_key(|&axis| (width(axis), facts.contiguous[axis].min(32), axis))
        else {
            return;
        };
        let votes = self.votes.entry(key(shape)).or_default();
        votes.shape = squeezed(shape);
        let weight = weight.saturating_mul(bytes).min(1 << 32);
        let before = (0..fast).filter(|&axis| shape.dim(axis) > 1).count();
        votes.accesses.push((weight, before, width(fast)));
    }
}
