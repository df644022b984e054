//! Bounds on what a source can make us do: files are untrusted input.

/// Longest file, in bytes.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// Deepest nesting of syntax.
pub const MAX_DEPTH: usize = 200;

/// Deepest nesting of statements and expressions being evaluated, through all calls: bounds the stack.
pub const MAX_NESTING: u32 = 4_000;

/// Most errors reported of one kernel.
pub const MAX_ERRORS: usize = 20;

/// Deepest chain of calls at compile time.
pub const MAX_CALLS: usize = 128;

/// Most steps of evaluation (expressions and statements visited) of one kernel.
pub const MAX_STEPS: u64 = 1_000_000;

/// Widest integer at compile time, in bits.
pub const MAX_INT_BITS: u64 = 1 << 14;

/// Longest string, tuple or list at compile time.
pub const MAX_ITEMS: usize = 1 << 20;

/// Most operations of one kernel.
pub const MAX_OPS: usize = 250_000;

/// Most changes of lists and dictionaries that put a container into them, in one kernel.
pub const MAX_NESTED_CHANGES: usize = 2_000;
