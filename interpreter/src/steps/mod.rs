//! What operations become: one file per family of the op table, each with the lowering of its operations
//! and the steps they lower to; and [`chain`], which joins steps.

pub mod arith;
pub mod atomic;
pub mod cast;
pub mod chain;
pub mod compare;
pub mod control;
pub mod dot;
pub mod dot_scaled;
pub mod fold;
pub mod histogram;
pub mod math;
pub mod memory;
pub mod reduce;
pub mod region;
pub mod running;
pub mod scan;
pub mod shape;
pub mod strip;
pub mod symbolic;
