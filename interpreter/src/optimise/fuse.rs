//! Element-wise operations on tiles of one size are joined to a chain that runs block by block.
//!
//! Within a run of instructions that no jump enters or leaves, operations are collected until one comes that
//! needs a result of theirs and cannot join, or that writes what they read; all others go before the chain,
//! which they have nothing to do with. Loads and stores at known places join too: tensors are then read and
//! written a block at a time, and no load passes a store.
//!
//! Integer operations join only if an operand is surely dense: offsets and masks by formula
//! ([`crate::forms`]) cost less than any loop.

use super::{Counts, relocate};
use crate::frame::Slot;
use crate::kind::Kind;
use crate::lower::Lowered;
use crate::plan::mention;
use crate::simd::{self, Cpu};
use crate::steps::chain::{Chain, MAX_PLACED};
use crate::steps::strip::{Line, Link};
use crate::tape::{Code, Effect, Inst};
use std::collections::{HashMap, HashSet};

/// Bytes that a chain's operands, results and everything between shall take.
const CACHE: usize = 40 << 10;

/// Fewest lanes of a tile that is worth it.
const LEAST: usize = 64;

/// Fewest and most lanes of a block: a step of a few dozen instructions per block is nothing beside them.
const SMALL: usize = 512;
const MOST: usize = 4096;

/// How a slot's tile is held when it is read, as far as known beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Held {
    /// One value for all lanes.
    Uniform,
    /// Lane by lane, or uniform.
    Dense,
    /// Maybe by formula.
    Any,
}

/// Joins operations to chains.
pub fn fuse(lowered: &mut Lowered, cpu: Cpu) {
    let begins = begins(&lowered.code);
    let mut fuser = Fuser {
        counts: Counts::of(lowered),
        held: held(lowered),
        strips: simd::strip::is_there(cpu),
        out: Vec::new(),
        open: Group::default(),
    };
    let insts = std::mem::take(&mut lowered.code.insts);
    let mut new = Vec::with_capacity(insts.len() + 1);
    for (pc, inst) in insts.into_iter().enumerate() {
        let jumps = inst.step.jumps();
        if jumps || begins[pc] {
            fuser.close(lowered);
        }
        new.push(fuser.out.len() as u32);
        fuser.take(lowered, inst);
    }
    fuser.close(lowered);
    new.push(fuser.out.len() as u32);
    lowered.code.insts = fuser.out;
    relocate(&mut lowered.code, &mut lowered.loops, &new);
}

/// Instructions that others than the one before lead to.
fn begins(code: &Code) -> Vec<bool> {
    let mut begins = vec![false; code.insts.len()];
    for &label in &code.labels {
        if let Some(begin) = begins.get_mut(label as usize) {
            *begin = true;
        }
    }
    begins
}

/// How all slots are held.
fn held(lowered: &Lowered) -> Vec<Held> {
    let mut held: Vec<Option<Held>> = vec![None; lowered.slots.len()];
    let insts = lowered.prologue.iter().chain(&lowered.code.insts);
    for inst in insts {
        let result = result_held(inst, &|slot| known_held(lowered, &held, slot));
        for &out in &inst.outs {
            let held = &mut held[out.0 as usize];
            *held = Some(match *held {
                Some(before) if before != result => Held::Any,
                _ => result,
            });
        }
    }
    let slots = 0..lowered.slots.len() as u32;
    slots.map(|i| known_held(lowered, &held, Slot(i))).collect()
}

/// How a slot is held, from what its kind says and what was found.
fn known_held(lowered: &Lowered, held: &[Option<Held>], slot: Slot) -> Held {
    let (kind, lanes) = lowered.slots[slot.0 as usize];
    match held[slot.0 as usize] {
        _ if lanes == 1 => Held::Uniform,
        Some(Held::Uniform) => Held::Uniform,
        // No formula is of floats.
        _ if kind.is_float() => Held::Dense,
        known => known.unwrap_or(Held::Any),
    }
}

/// How the results of an instruction are held.
fn result_held(inst: &Inst, held: &dyn Fn(Slot) -> Held) -> Held {
    if inst.step.known().is_some() || inst.step.is_splat() {
        return Held::Uniform;
    }
    let mut operands = inst.ins.iter().map(|&slot| held(slot));
    match (inst.step.is_lanewise(), inst.step.may_give_forms()) {
        (true, _) if operands.clone().all(|held| held == Held::Uniform) => Held::Uniform,
        (true, true) if operands.all(|held| held != Held::Dense) => Held::Any,
        (false, true) => Held::Any,
        _ => Held::Dense,
    }
}

/// Operations of a chain in the making.
#[derive(Default)]
struct Group {
    members: Vec<Inst>,
    lanes: u32,
    reads: HashSet<Slot>,
    writes: HashSet<Slot>,
    /// What its accesses do to the tensors.
    effect: Effect,
    /// Loads and stores.
    placed: usize,
    /// Numbers that lanes of a row are combined to.
    numbers: HashSet<Slot>,
    /// Those that no member has read.
    fresh: HashSet<Slot>,
    /// Members that passes but the first begin with: each reads what lanes were combined to in the one before.
    begins: Vec<usize>,
    /// It holds something that does not run strip by strip.
    whole: bool,
}

struct Fuser {
    counts: Counts,
    held: Vec<Held>,
    /// Chains may run strip by strip.
    strips: bool,
    out: Vec<Inst>,
    open: Group,
}

impl Fuser {
    /// Adds the next instruction, to the open group or before it.
    fn take(&mut self, lowered: &mut Lowered, inst: Inst) {
        let inside = |slot: &Slot| self.open.writes.contains(slot);
        let joins =
            self.is_candidate(&inst, lowered) && !(inst.step.spreads() && inst.ins.iter().any(inside));
        let (mut reads, mut overwrites) = (false, false);
        mention(&inst, &mut |slot| {
            reads |= self.open.writes.contains(&slot);
            overwrites |= self.open.reads.contains(&slot) && inst.outs.contains(&slot);
        });
        let folds = self.folds(&inst, lowered);
        let joins = joins || folds;
        let is_link = self.strips && inst.step.link().is_some();
        let mut waits = !self.open.numbers.is_empty() && joins && !is_link;
        let mut asks = false;
        mention(&inst, &mut |slot| asks |= self.open.numbers.contains(&slot));
        // What reads it lane by lane goes over the lanes again.
        waits |= asks && !(joins && is_link && self.open.lanes == inst.lanes);
        let same_size = self.open.members.is_empty() || self.open.lanes == inst.lanes || folds;
        // What does not join goes before the chain.
        let effect = inst.step.effect();
        let passes = match self.open.effect {
            Effect::None => true,
            Effect::Reads => effect < Effect::Writes,
            Effect::Writes => effect == Effect::None,
        };
        let is_full = joins && inst.step.is_placed() && self.open.placed == MAX_PLACED;
        let written_again = inst.outs.iter().any(|slot| self.open.writes.contains(slot));
        if overwrites || written_again || is_full || waits || (!(joins && same_size) && (reads || !passes)) {
            self.close(lowered);
        }
        let folds = folds && !self.open.members.is_empty();
        let same_size = self.open.members.is_empty() || self.open.lanes == inst.lanes;
        match folds || joins && same_size && inst.lanes > 1 {
            true => self.open.push(inst, folds, is_link),
            false => self.out.push(inst),
        }
    }

    /// True if an instruction combines the lanes of what the open group gives to a number, strip by strip.
    fn folds(&self, inst: &Inst, lowered: &Lowered) -> bool {
        let is_fold = matches!(inst.step.link(), Some(Link::Fold(_)));
        let inside = |slot: &Slot| {
            self.open.writes.contains(slot) && lowered.slots[slot.0 as usize].1 == self.open.lanes
        };
        self.strips && is_fold && !self.open.whole && inst.ins.iter().all(inside)
    }

    fn is_candidate(&self, inst: &Inst, lowered: &Lowered) -> bool {
        let held = |slot: &Slot| self.held[slot.0 as usize];
        // What is read whole must not be seen through a window by others.
        let is_smaller = |slot: &Slot| lowered.slots[slot.0 as usize].1 < inst.lanes;
        let spreads = inst.step.spreads() && inst.ins.iter().all(is_smaller);
        (inst.step.is_lanewise() || inst.step.is_placed() || spreads)
            && inst.lanes.is_power_of_two()
            && inst.lanes as usize >= LEAST
            && inst.outs.iter().all(|slot| held(slot) == Held::Dense)
    }

    /// Makes a chain of the open group.
    fn close(&mut self, lowered: &mut Lowered) {
        let group = std::mem::take(&mut self.open);
        self.join(lowered, group);
    }

    /// Makes a chain of a group; one of several passes that cannot run strip by strip becomes several.
    fn join(&mut self, lowered: &mut Lowered, group: Group) {
        // Loads alone have nothing to pass on.
        let loads_only = group
            .members
            .iter()
            .all(|member| member.step.is_access() && member.step.effect() == Effect::Reads);
        if group.members.len() < 2 || loads_only {
            self.out.extend(group.members);
            return;
        }
        let places = Places::of(&group, &self.counts);
        let strips = self.strips && !group.whole;
        let line = strips.then(|| {
            Line::of(
                &group.members,
                &places.operands,
                &places.results,
                &group.begins,
                group.lanes as usize,
            )
        });
        match line.flatten() {
            None if !group.begins.is_empty() => {
                let (first, last) = group.split();
                self.join(lowered, first);
                self.join(lowered, last);
            }
            None if !group.numbers.is_empty() || group.fits_at_once(&places, &self.held, lowered) => {
                self.out.extend(group.members);
            }
            line => {
                let chain = chain(group, places, line, &self.held, lowered);
                self.out.push(chain);
            }
        }
    }
}

impl Group {
    /// Adds a member, which combines lanes to a number or not, and runs strip by strip or not.
    fn push(&mut self, inst: Inst, folds: bool, is_link: bool) {
        let mut asks = false;
        mention(&inst, &mut |slot| asks |= self.fresh.contains(&slot));
        if asks {
            self.begins.push(self.members.len());
            self.fresh.clear();
        }
        match folds {
            true => {
                self.numbers.extend(&inst.outs);
                self.fresh.extend(&inst.outs);
            }
            false => {
                self.lanes = inst.lanes;
                self.whole |= !is_link;
            }
        }
        self.reads.extend(&inst.ins);
        self.writes.extend(&inst.outs);
        self.effect = self.effect.max(inst.step.effect());
        self.placed += usize::from(inst.step.is_placed());
        self.members.push(inst);
    }

    /// All passes but the last one, and the last one.
    fn split(mut self) -> (Group, Group) {
        let last = self
            .begins
            .last()
            .map_or(Vec::new(), |&begin| self.members.split_off(begin));
        let of = |members: Vec<Inst>| {
            let mut group = Group {
                lanes: self.lanes,
                ..Group::default()
            };
            for inst in members {
                let folds = inst.outs.iter().any(|slot| self.numbers.contains(slot));
                group.push(inst, folds, true);
            }
            group
        };
        (of(std::mem::take(&mut self.members)), of(last))
    }

    /// True if whole tiles stay in the cache.
    fn fits_at_once(&self, places: &Places, held: &[Held], lowered: &Lowered) -> bool {
        let is_tile = |slot: &&Slot| held[slot.0 as usize] != Held::Uniform;
        // Two pass between the members, about.
        let tiles = places.operands.iter().filter(is_tile).count() + places.results.len() + 2;
        tiles * self.widest(lowered) * self.lanes as usize <= CACHE
    }

    /// Bytes of the widest lane.
    fn widest(&self, lowered: &Lowered) -> usize {
        let slots = self.members.iter().flat_map(|m| m.ins.iter().chain(&m.outs));
        let bytes = slots
            .map(|slot| lowered.slots[slot.0 as usize])
            .filter(|slot| slot.1 > 1);
        bytes.map(|slot| slot.0.bytes()).max().unwrap_or(8)
    }
}

/// The slots of a chain.
struct Places {
    /// Operands from outside.
    operands: Vec<Slot>,
    /// Those that are read whole.
    whole: HashSet<Slot>,
    /// Results that are used outside.
    results: Vec<Slot>,
    /// The last member that mentions a slot written inside; none for results, which stay to the end.
    last: HashMap<Slot, Option<usize>>,
}

impl Places {
    fn of(group: &Group, counts: &Counts) -> Places {
        let mut inside: HashMap<Slot, u32> = HashMap::new();
        for member in &group.members {
            mention(member, &mut |slot| *inside.entry(slot).or_default() += 1);
        }
        let mut places = Places {
            operands: Vec::new(),
            whole: HashSet::new(),
            results: Vec::new(),
            last: HashMap::new(),
        };
        for (i, member) in group.members.iter().enumerate() {
            if member.step.spreads() {
                places.whole.extend(&member.ins);
            }
            for &slot in &member.ins {
                match places.last.get_mut(&slot) {
                    Some(last) => *last = last.map(|_| i),
                    None if !places.operands.contains(&slot) => places.operands.push(slot),
                    None => {}
                }
            }
            for &slot in &member.outs {
                let local = counts.is_written_once(slot)
                    && counts.mentions[slot.0 as usize] == inside.get(&slot).copied().unwrap_or(0);
                if !local {
                    places.results.push(slot);
                }
                places.last.insert(slot, local.then_some(i));
            }
        }
        places
    }
}

/// Slots inside a chain: few, used over and over, so that they stay in the cache.
#[derive(Default)]
struct Pool {
    free: Vec<Slot>,
    all: Vec<Slot>,
    inside: HashMap<Slot, Slot>,
}

impl Pool {
    /// The slot inside that stands for one written by a member.
    fn assign(&mut self, slot: Slot, lowered: &mut Lowered) {
        let inside = self.free.pop().unwrap_or_else(|| {
            lowered.slots.push((Kind::I8, 0));
            let new = Slot(lowered.slots.len() as u32 - 1);
            self.all.push(new);
            new
        });
        self.inside.insert(slot, inside);
    }

    fn of(&self, slot: Slot) -> Slot {
        self.inside.get(&slot).copied().unwrap_or(slot)
    }
}

fn chain(group: Group, places: Places, line: Option<Line>, held: &[Held], lowered: &mut Lowered) -> Inst {
    let lane_bytes = |lowered: &Lowered, slot: Slot| lowered.slots[slot.0 as usize].0.bytes() as u8;
    let widest = group.widest(lowered);
    let at = group
        .members
        .last()
        .map_or(crate::tape::At(0), |member| member.at);
    let mut pool = Pool::default();
    let mut code = Code::default();
    for (i, mut member) in group.members.into_iter().enumerate() {
        let is_number = member.outs.iter().any(|slot| group.numbers.contains(slot));
        // A result never takes the slot of an operand.
        member.outs.iter().for_each(|&slot| pool.assign(slot, lowered));
        let done: HashSet<Slot> = member
            .ins
            .iter()
            .chain(&member.outs)
            .copied()
            .filter(|slot| places.last.get(slot) == Some(&Some(i)))
            .collect();
        let mut freed: Vec<Slot> = done.iter().map(|&slot| pool.of(slot)).collect();
        for (k, slot) in member.ins.iter().enumerate().take(64) {
            let again = member.ins[k + 1..].contains(slot);
            member.kills |= u64::from(done.contains(slot) && !again) << k;
        }
        member
            .ins
            .iter_mut()
            .chain(&mut member.outs)
            .for_each(|slot| *slot = pool.of(*slot));
        // The plain form of an access is for the whole tile.
        let is_plain = member.step.placed_load().is_some() || member.step.effect() == Effect::Writes;
        let is_access = member.step.is_access();
        if let Some(nested) = member.step.nested_mut() {
            rename(nested, &pool, !is_plain && is_access);
        }
        if !is_number {
            member.lanes = 0;
        }
        code.insts.push(member);
        freed.sort_unstable();
        pool.free.extend(freed);
    }
    code.results = places.results.iter().map(|&slot| pool.of(slot)).collect();
    let lanes = group.lanes as usize;
    let is_tile = |slot: &&Slot| held[slot.0 as usize] != Held::Uniform;
    let tiles = pool.all.len() + places.operands.iter().filter(is_tile).count();
    let fits = CACHE / (tiles.max(1) * widest);
    let block = (1 << fits.max(1).ilog2()).clamp(SMALL.min(lanes), MOST.min(lanes));
    for slot in &pool.all {
        lowered.slots[slot.0 as usize] = (kind_of_bytes(widest), block as u32);
    }
    let is_placed = |i: &usize| code.insts[*i].step.is_placed();
    let step = Chain {
        placed: (0..code.insts.len()).filter(is_placed).collect(),
        code,
        lanes,
        block,
        operand_bytes: places
            .operands
            .iter()
            .map(|&slot| match places.whole.contains(&slot) {
                true => 0,
                false => lane_bytes(lowered, slot),
            })
            .collect(),
        result_bytes: places.results.iter().map(|&s| lane_bytes(lowered, s)).collect(),
        line,
        round: None,
    };
    Inst::new(step, places.operands, places.results, group.lanes, at)
}

/// Gives nested instructions the slots inside, and the machine's batch of lanes if they do not have their own.
fn rename(code: &mut Code, pool: &Pool, on_batch: bool) {
    for inner in &mut code.insts {
        let slots = inner.ins.iter_mut().chain(&mut inner.outs);
        slots.for_each(|slot| *slot = pool.of(*slot));
        if on_batch {
            inner.lanes = 0;
        }
        if let Some(nested) = inner.step.nested_mut() {
            rename(nested, pool, false);
        }
    }
}

/// An integer kind of so many bytes.
fn kind_of_bytes(bytes: usize) -> Kind {
    match bytes {
        1 => Kind::I8,
        2 => Kind::I16,
        4 => Kind::I32,
        _ => Kind::I64,
    }
}
