//! What a value of the IR is in generated code.

use std::rc::Rc;

use tilescope_ir::{Elem, Shape};

use crate::layout::{IndexMap, Layout};

/// A value.
#[derive(Debug, Clone)]
pub enum Bound {
    /// A number or pointer: a C++ expression without side effects, a name or a literal.
    Scalar(String),
    /// A tile.
    Tile(Rc<Tile>),
    /// A tensor descriptor or block pointer.
    Block(Rc<BlockPointer>),
}

/// A tensor descriptor or block pointer: C++ expressions, one per dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockPointer {
    /// Address of element (0, …, 0).
    pub base: String,
    /// Sizes (64 bits).
    pub shape: Vec<String>,
    /// Strides in elements (64 bits).
    pub strides: Vec<String>,
    /// Of a block pointer: where its block starts (64 bits); of a descriptor none.
    pub offsets: Vec<String>,
    /// What lanes outside read: NaN instead of zero.
    pub nan: bool,
    /// Alignment of the base, in bytes.
    pub align: u64,
}

/// A tile: registers, or a formula that is computed where it is used.
#[derive(Debug)]
pub struct Tile {
    /// Unique in a kernel.
    pub id: u32,
    /// For people.
    pub name: String,
    /// Shape.
    pub shape: Shape,
    /// Elements.
    pub elem: Elem,
    /// What it is.
    pub kind: TileKind,
    /// Operations that computing one element takes.
    pub cost: u32,
    /// True when registers are read for it.
    pub reads: bool,
}

/// What a tile is.
#[derive(Debug)]
pub enum TileKind {
    /// An array of registers called as the tile is.
    Array {
        /// Which elements they are.
        layout: Rc<Layout>,
    },
    /// Consecutive integers.
    Range {
        /// The first.
        start: i32,
    },
    /// The same number everywhere: a C++ expression.
    Splat(String),
    /// A table of constants, row-major: the name of a static array.
    Table(String),
    /// An element-wise operation: an expression with `$0`, `$1`, `$2` for its operands.
    Op {
        /// The expression.
        text: String,
        /// Tiles of the same shape.
        operands: Vec<Rc<Tile>>,
    },
    /// Elements of another tile.
    View {
        /// Which element of the operand each is.
        map: IndexMap,
        /// The other tile.
        operand: Rc<Tile>,
    },
    /// Elements of one of two tiles, as a bit of the index says.
    Pick {
        /// The bit.
        bit: u32,
        /// Which element of the operand each is.
        map: IndexMap,
        /// The tile where the bit is 0.
        low: Rc<Tile>,
        /// The tile where it is 1.
        high: Rc<Tile>,
    },
}
