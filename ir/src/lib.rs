//! The tile IR: what a kernel is, for every other part of tilescope.
//!
//! A [`Module`] holds functions in SSA form. The IR is isomorphic to Triton's TTIR (dialects `tt`,
//! `arith`, `math`, `scf`, `cf`, `ub`), whose text is its text form. A value is a scalar, a pointer,
//! a tile (a power-of-two array of either), a block pointer or a tensor descriptor.
//!
//! - Every operation is a row of the table in [`ops`].
//! - Integers carry no sign; operations do. `index` is 64 bits wide.
//! - Optional operands come last: `tt.load` has a pointer, then maybe a mask, then maybe a value for
//!   masked-off lanes. Where more than one may be missing, the attributes say which are there.
//! - `scf` regions hold exactly one block. A function body may hold a control-flow graph.
//! - Every operation keeps the location that Triton gave it.
//!
//! What the other crates may rely on is what the verifier proves; they do not check it again.

pub mod attrs;
pub mod build;
mod entities;
pub mod infer;
mod loc;
mod module;
pub mod ops;
pub mod text;
mod types;
pub mod verify;

pub use attrs::{Attr, AttrList, AttrValue, Attrs, Constant};
pub use build::FunctionBuilder;
pub use entities::{Arena, BlockId, EntityId, FuncId, LocId, OpId, RegionId, ValueId};
pub use loc::{Loc, Locs};
pub use module::{Block, Def, Function, Module, Op, Passed, Region, Successor, Value, Values};
pub use ops::{Class, Effect, Family, OpCode, OpInfo, OpVisitor};
pub use types::{Elem, MAX_RANK, MAX_TILE_ELEMENTS, Pointer, Scalar, Shape, Type};
pub use verify::{Verified, VerifiedModule, verify};
