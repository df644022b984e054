//! Tensor descriptors: blocks of a tensor of one or two dimensions, which may hang over its ends.

use tilescope_ir::attrs::{Padding, ReduceKind};
use tilescope_ir::{Attrs, OpCode, Scalar, Shape, Type, ValueId};
use tilescope_launch::Role;

use super::Generator;

const I32: Type = Type::Scalar(tilescope_ir::Elem::Scalar(Scalar::I32));
const I64: Type = Type::Scalar(tilescope_ir::Elem::Scalar(Scalar::I64));

/// Element types of descriptors.
const ELEMS: &[Scalar] = &[
    Scalar::F32,
    Scalar::I32,
    Scalar::F16,
    Scalar::BF16,
    Scalar::I64,
    Scalar::I16,
    Scalar::I8,
];

/// Updates that commute.
const COMMUTING: &[ReduceKind] = &[
    ReduceKind::Add,
    ReduceKind::Min,
    ReduceKind::Max,
    ReduceKind::And,
    ReduceKind::Or,
    ReduceKind::Xor,
];

/// A descriptor with the sizes of its block.
struct Described {
    descriptor: ValueId,
    ty: Type,
    rows: u64,
    columns: u64,
}

impl Generator {
    /// A descriptor of a new tensor of so many rows, and of blocks of `rows` by some columns.
    fn described(&mut self, scalar: Scalar, rows: u64, all_rows: i64, role: Role) -> Option<Described> {
        // A row of a block, and the distance of rows, are 16 bytes or multiples of them; of picked rows 32.
        let least = if rows == 1 { 32 } else { 16 } / scalar.bytes() as u64;
        let columns = least << self.draw.below(2);
        let width = least as i64 * (1 + self.draw.below(3) as i64).max(columns as i64 / least as i64);
        let fill = self.some_fill(scalar);
        let tensor = self.tensor_aligned(scalar, all_rows * width, Some(fill), role);
        let shape = Shape::new(&[rows, columns])?;
        let signed = (scalar.is_int()).then_some(true);
        let ty = Type::Descriptor {
            block: shape,
            elem: scalar,
            signed,
        };
        // Fewer columns than there are: blocks hang over.
        let narrow = self.draw.below(3) as i64;
        let narrow = self.narrowed_by(narrow, scalar.bytes(), role);
        let least_width = self.narrowed_by(1, scalar.bytes(), role);
        let sizes = [
            self.int(I32, all_rows),
            self.int(I32, (width - narrow).max(least_width)),
        ];
        let strides = [self.int(I64, width), self.int(I64, 1)];
        let operands = [tensor, sizes[0], sizes[1], strides[0], strides[1]];
        let attrs = Attrs::Padding(Padding::Zero);
        let descriptor = self.b.value(OpCode::MakeTensorDescriptor, &operands, attrs, ty);
        Some(Described {
            descriptor,
            ty: Type::tile(shape, scalar),
            rows,
            columns,
        })
    }

    fn element(&mut self) -> Scalar {
        ELEMS[self.draw.below(ELEMS.len())]
    }

    /// An element type of at most 32 bits, as rows that are picked have.
    fn narrow_element(&mut self) -> Scalar {
        match self.element() {
            Scalar::I64 => Scalar::I32,
            other => other,
        }
    }

    /// Where a block begins that may hang over each end.
    fn anywhere(&mut self, most: i64) -> ValueId {
        let value = self.want(I32);
        let value = self.below(value, most);
        let back = self.draw.below(4) as i64;
        let back = self.int(I32, back);
        self.b.elementwise(OpCode::SubI, &[value, back])
    }

    /// The column where a block begins: for Triton's code a multiple of 16 bytes. Its interpreter asserts that, and where it is
    /// not so a card ends the kernel with an illegal instruction.
    fn any_column(&mut self, scalar: Scalar) -> ValueId {
        if !self.compilable {
            return self.anywhere(7);
        }
        let value = self.want(I32);
        let value = self.below(value, 3);
        let one = self.int(I32, 1);
        let value = self.b.elementwise(OpCode::SubI, &[value, one]);
        let unit = self.int(I32, 16 / scalar.bytes() as i64);
        self.b.elementwise(OpCode::MulI, &[value, unit])
    }

    pub(super) fn make_tensor_descriptor(&mut self, _: OpCode) -> bool {
        self.descriptor_load(OpCode::DescriptorLoad)
    }

    pub(super) fn descriptor_load(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let (scalar, rows) = (self.element(), 1 << self.draw.below(4));
        let all_rows = 1 + self.draw.below(20) as i64;
        let Some(described) = self.described(scalar, rows, all_rows, Role::In) else {
            return false;
        };
        let (row, column) = (self.anywhere(15), self.any_column(scalar));
        let operands = [described.descriptor, row, column];
        self.kept(code, &operands, Attrs::Access(Box::default()), described.ty);
        true
    }

    /// The first row of this program, of so many for each.
    fn own_row(&mut self, rows: u64) -> ValueId {
        let program = self.program.unwrap_or_else(|| self.pool[0]);
        let rows = self.int(I32, rows as i64);
        self.b.elementwise(OpCode::MulI, &[program, rows])
    }

    pub(super) fn descriptor_store(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let (scalar, rows) = (self.element(), 1 << self.draw.below(4));
        let all_rows = rows as i64 * self.programs() - self.draw.below(rows as usize) as i64;
        let Some(described) = self.described(scalar, rows, all_rows, Role::InOut) else {
            return false;
        };
        let value = self.want(described.ty);
        let (row, column) = (self.own_row(rows), self.int(I32, 0));
        let operands = [described.descriptor, value, row, column];
        self.b.op(code, &operands, Attrs::None, &[]);
        true
    }

    pub(super) fn descriptor_reduce(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let (scalar, rows) = (
            [Scalar::I32, Scalar::I64][self.draw.below(2)],
            1 << self.draw.below(3),
        );
        let Some(described) = self.described(scalar, rows, rows as i64 + 2, Role::InOut) else {
            return false;
        };
        let value = self.want(described.ty);
        let row = self.anywhere(3);
        let column = self.int(I32, 0);
        let kind = COMMUTING[self.draw.below(COMMUTING.len())];
        let operands = [described.descriptor, value, row, column];
        self.b.op(code, &operands, Attrs::DescriptorReduce(kind), &[]);
        true
    }

    pub(super) fn descriptor_gather(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let scalar = self.narrow_element();
        let all_rows = 8 + self.draw.below(9) as i64;
        let Some(described) = self.described(scalar, 1, all_rows, Role::In) else {
            return false;
        };
        let count = 8u64 << self.draw.below(2);
        let picked = Type::tile(Shape::new(&[count]).unwrap_or_default(), Scalar::I32);
        let rows = self.want(picked);
        let rows = self.below(rows, 7);
        let column = self.anywhere(7);
        let Some(shape) = Shape::new(&[count, described.columns]) else {
            return false;
        };
        let operands = [described.descriptor, rows, column];
        self.kept(code, &operands, Attrs::None, Type::tile(shape, scalar));
        true
    }

    pub(super) fn descriptor_scatter(&mut self, code: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let scalar = self.narrow_element();
        let count = 8u64;
        let Some(described) = self.described(scalar, 1, count as i64 * self.programs(), Role::InOut) else {
            return false;
        };
        debug_assert_eq!(described.rows, 1);
        let range = self.b.make_range(0, count as i32);
        let first = self.own_row(count);
        let shape = Shape::new(&[count]).unwrap_or_default();
        let first = self.b.splat(first, shape);
        let rows = self.b.elementwise(OpCode::AddI, &[first, range]);
        let Some(shape) = Shape::new(&[count, described.columns]) else {
            return false;
        };
        let value = self.want(Type::tile(shape, scalar));
        let column = self.int(I32, 0);
        let operands = [described.descriptor, rows, column, value];
        self.b.op(code, &operands, Attrs::None, &[]);
        true
    }
}
