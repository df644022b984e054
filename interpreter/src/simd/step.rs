//! The steps of a run: what each operation of a line ([`super::plan`]) does, and where its operand is, or its result goes, in this turn.

use super::plan::{Code, From, Place, Plan, STEPS};
use super::sixteen::Sixteen;
use super::strip::{Arith, Fold, MOST, OPERANDS, Operand, Rooms, Run, Window};
use crate::lanes::Loop;
use std::mem::MaybeUninit;

/// Room for operands that are the same in every lane.
#[derive(Debug, Clone)]
#[repr(C, align(64))]
pub(super) struct Spread {
    numbers: [[f32; MOST]; OPERANDS],
    /// Divisors, and their inverses.
    divisors: [[[f32; 16]; 2]; OPERANDS],
}

impl Default for Spread {
    fn default() -> Spread {
        Spread {
            numbers: [[0.0; MOST]; OPERANDS],
            divisors: [[[0.0; 16]; 2]; OPERANDS],
        }
    }
}

/// A step of a run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) code: Code,
    pub(super) from: From,
    pub(super) arith: Arith,
    pub(super) fold: Fold,
    pub(super) place: Place,
    /// Where its operand is, or its result goes: that of lane 0, which need not be there.
    pub(super) at: *mut u8,
    /// Bytes from lane to lane; none if every strip has the same.
    pub(super) bytes: usize,
    /// The lanes that are there.
    pub(super) lanes: (usize, usize),
    /// Those that are chosen.
    pub(super) chosen: (usize, usize),
    /// What all others are; where all lanes are the same, what they are.
    pub(super) other: f32,
    pub(super) each: Option<Loop<f32>>,
    pub(super) number: usize,
}

/// Room for the steps of a run: nothing is written before there is one.
#[derive(Debug)]
pub struct Steps(MaybeUninit<[Step; STEPS]>);

impl Steps {
    /// Nothing yet.
    #[inline(always)]
    pub fn none() -> Steps {
        Steps(MaybeUninit::uninit())
    }

    /// The first `count`.
    ///
    /// # Safety
    /// [`find`] gave so many.
    #[inline]
    pub(super) unsafe fn all(&mut self, count: usize) -> &mut [Step] {
        // SAFETY: so many were written.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), count) }
    }
}

/// Every lane.
const ALL: (usize, usize) = (0, usize::MAX);

impl Step {
    /// What a step is before its operand has a place, if that is a window or an operand.
    ///
    /// # Safety
    /// As [`super::straight`]'s `strips`; the room is nobody else's.
    #[inline(always)]
    unsafe fn of(plan: &Plan, run: &Run<'_>, scratch: *mut Rooms) -> Step {
        let (mut at, mut bytes): (*mut u8, usize) = (std::ptr::null_mut(), 0);
        match plan.place {
            // SAFETY: the caller's.
            Place::Saved(i) => at = unsafe { (&raw mut (*scratch).saved[i]).cast() },
            Place::Fold(i) => at = run.folds[i].as_ptr().cast(),
            Place::Result(i) => (at, bytes) = (run.results[i].as_ptr().cast_mut().cast(), 4),
            Place::Nowhere | Place::Window(_) | Place::Operand(_) => {}
        }
        Step {
            code: plan.code,
            from: plan.from,
            arith: plan.arith,
            fold: plan.fold,
            place: plan.place,
            at,
            bytes,
            lanes: ALL,
            chosen: match plan.code {
                Code::Choose => run.ranges[plan.number],
                _ => ALL,
            },
            other: 0.0,
            each: plan.each,
            number: plan.number,
        }
    }

    /// Its operand is a tile.
    #[inline(always)]
    fn go_along(&mut self, tile: *const f32) {
        (self.at, self.bytes) = (tile.cast_mut().cast(), 4);
        if self.code == Code::DivideBy {
            self.code = Code::DivF32;
        }
    }

    /// True if its operand is this in every lane, and was so before.
    #[inline(always)]
    fn is_spread(&self, x: f32) -> bool {
        !self.at.is_null() && self.bytes == 0 && self.other.to_bits() == x.to_bits()
    }

    /// Its operand is a window, or its result goes there.
    #[inline(always)]
    fn look_at(&mut self, window: &Window<'_>) {
        self.bytes = window.held.bytes();
        self.at = window.span.start().wrapping_sub(window.first * self.bytes);
        (self.lanes, self.other) = ((window.first, window.last), window.other);
        self.code = match self.code {
            Code::StoreF32 | Code::Stream if window.stream => Code::Stream,
            Code::Stream => Code::StoreF32,
            code => code,
        };
    }
}

/// Gives steps the places of their windows and operands; what is the same in every lane is spread.
///
/// # Safety
/// As [`take`].
#[inline(always)]
pub(super) unsafe fn aim<V: Sixteen, const N: usize>(
    steps: &mut [Step],
    windows: &[Window<'_>],
    operands: &[Operand<'_>],
    scratch: *mut Rooms,
) {
    for step in steps {
        match step.place {
            Place::Window(i) => step.look_at(&windows[i]),
            // SAFETY: the caller's.
            Place::Operand(i) => unsafe { take::<V, N>(step, i, operands[i], scratch) },
            _ => {}
        }
    }
}

/// Gives a step an operand, which has a number.
///
/// # Safety
/// As [`super::straight`]'s `strips`; the room is nobody else's, and what was spread there for an earlier turn is there still.
#[inline(always)]
unsafe fn take<V: Sixteen, const N: usize>(
    step: &mut Step,
    number: usize,
    operand: Operand<'_>,
    scratch: *mut Rooms,
) {
    // SAFETY: the caller's; rooms are as long as a strip.
    unsafe {
        match operand {
            Operand::Tile(tile) => step.go_along(tile.as_ptr()),
            Operand::Made(tile) => step.go_along(tile.as_ptr().cast()),
            Operand::Uniform(x, _) if step.is_spread(x) => {}
            Operand::Uniform(x, inverse) => {
                (step.other, step.bytes) = (x, 0);
                step.code = match step.code {
                    Code::DivF32 | Code::DivideBy if inverse != 0.0 => Code::DivideBy,
                    Code::DivideBy => Code::DivF32,
                    code => code,
                };
                if step.code == Code::DivideBy {
                    let room: *mut f32 = (&raw mut (*scratch).spread.divisors[number]).cast();
                    V::splat(x).store(room);
                    V::splat(inverse).store(room.add(16));
                    step.at = room.cast();
                } else {
                    let room: *mut f32 = (&raw mut (*scratch).spread.numbers[number]).cast();
                    for i in 0..N {
                        V::splat(x).store(room.add(16 * i))
                    }
                    step.at = room.cast();
                }
            }
        }
    }
}

/// The steps of a run, and how many: what is the same whatever its windows and operands are.
///
/// # Panics
/// If they are more than [`STEPS`].
///
/// # Safety
/// As [`super::straight`]'s `strips`.
#[inline]
pub(super) unsafe fn find(plans: &[Plan], run: &Run<'_>, scratch: *mut Rooms, found: &mut Steps) -> usize {
    assert!(plans.len() <= STEPS, "more steps than there is room for");
    let whole = run
        .ranges
        .iter()
        .all(|range| range.0 == 0 && range.1 >= run.alike);
    let steps: *mut Step = found.0.as_mut_ptr().cast();
    let mut count = 0;
    for plan in plans {
        // Where all lanes are chosen, nothing is left to choose.
        let is_idle = whole && (plan.code == Code::Else || plan.code == Code::Choose && plan.from.is_none());
        if !is_idle {
            // SAFETY: the caller's, and there is room.
            unsafe { steps.add(count).write(Step::of(plan, run, scratch)) }
            count += 1;
        }
    }
    count
}
