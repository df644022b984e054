//! The text form: TTIR in MLIR syntax.
//!
//! [`parse()`] reads what Triton 3.0 to 3.9 writes, in pretty and in generic form, before and after
//! Triton's own passes. [`print()`] writes the syntax of Triton 3.9, which the real Triton reads.
//! `parse(print(m))` is `m`; [`same()`] says so.
//!
//! The reader is a single pass over the bytes. It is bounded: text size, nesting depth and the number
//! of elements of a constant have limits, and no input makes it panic. It checks what it must know to
//! build the IR (names, types of uses, attribute names); everything else is the verifier's.
//!
//! Left out: MLIR that Triton's front end and TTIR passes never write (type aliases, layout encodings,
//! memrefs, vectors, affine maps, resource blobs). Such input is refused by name.

mod float;
mod lexer;
mod parse;
mod print;
mod same;

pub use parse::parse;
pub use print::print;
pub use same::same;

pub(crate) use float::to_bits as float_bits;

/// Longest text that is read: 256 MiB.
pub const MAX_TEXT: usize = 256 << 20;

/// Deepest nesting of regions, attributes and locations that is read.
pub const MAX_DEPTH: usize = 96;
