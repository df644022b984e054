//! Pointers, loads, stores, atomics, block pointers and descriptors.

use super::types::{I32, I64, is_float, is_int};
use super::{Check, Checker, Problem};
use crate::attrs::{AccessAttrs, Attrs, RmwKind};
use crate::entities::OpId;
use crate::infer;
use crate::types::{Elem, Scalar, Shape, Type};

impl Checker<'_> {
    pub(super) fn check_add_ptr(&self, id: OpId) -> Check {
        self.counts(id, 2..=2, 1)?;
        let (pointer, offset) = (self.operand_type(id, 0), self.operand_type(id, 1));
        let is_pointer = matches!(pointer, Type::Scalar(Elem::Ptr(_)) | Type::Tile(_, Elem::Ptr(_)));
        self.require(id, 0, is_pointer, "a pointer or a tile of pointers")?;
        let fits = is_int(offset) && offset.shape() == pointer.shape();
        self.require(id, 1, fits, "integers of the pointer's shape")?;
        self.result_is(id, pointer)
    }

    /// What the pointer operand gives; refuses other types.
    fn target(&self, id: OpId) -> Result<Type, Problem> {
        infer::pointee(self.operand_type(id, 0))
            .ok_or_else(|| self.operand_wrong(id, 0, "a pointer or a tile of pointers"))
    }

    fn access(&self, id: OpId) -> Result<&AccessAttrs, Problem> {
        match &self.op(id).attrs {
            Attrs::Access(access) => Ok(access),
            _ => Err(self.attrs_wrong(id)),
        }
    }

    /// Bounds checks and padding belong to block pointers, masks to the others.
    fn access_form(&self, id: OpId, mask: usize) -> Check {
        let access = self.access(id)?;
        match self.operand_type(id, 0) {
            Type::BlockPtr(shape, _) => {
                if self.op(id).operands.len() > mask {
                    return Err(
                        Problem::at(id, "a block pointer takes no mask").help("use its boundary check")
                    );
                }
                let outside = access
                    .boundary_check
                    .iter()
                    .find(|&&d| d as usize >= shape.rank());
                match outside {
                    Some(d) => Err(Problem::at(
                        id,
                        format!("boundary check of dimension {d}, the block has {}", shape.rank()),
                    )),
                    None => Ok(()),
                }
            }
            _ if !access.boundary_check.is_empty() || access.padding.is_some() => Err(Problem::at(
                id,
                "only a block pointer has boundary checks and padding",
            )),
            _ => Ok(()),
        }
    }

    pub(super) fn check_load(&self, id: OpId) -> Check {
        self.counts(id, 1..=3, 1)?;
        let target = self.target(id)?;
        let operands = self.op(id).operands.len();
        self.access_form(id, 1)?;
        if operands > 1 {
            self.operand_is(id, 1, infer::mask(target))?;
        }
        if operands > 2 {
            self.operand_is(id, 2, target)?;
        }
        self.result_is(id, target)
    }

    pub(super) fn check_store(&self, id: OpId) -> Check {
        self.stored(id)?;
        self.access_form(id, 2)
    }

    /// Pointer, value and maybe a mask; no results.
    fn stored(&self, id: OpId) -> Check {
        self.counts(id, 2..=3, 0)?;
        let target = self.target(id)?;
        self.operand_is(id, 1, target)?;
        if self.op(id).operands.len() > 2 {
            self.operand_is(id, 2, infer::mask(target))?;
        }
        Ok(())
    }

    /// Atomics work through plain pointers.
    fn atomic_target(&self, id: OpId) -> Result<Type, Problem> {
        if matches!(self.operand_type(id, 0), Type::BlockPtr(..)) {
            return Err(self.operand_wrong(id, 0, "a pointer or a tile of pointers"));
        }
        self.target(id)
    }

    pub(super) fn check_atomic_rmw(&self, id: OpId) -> Check {
        self.counts(id, 2..=3, 1)?;
        let Attrs::Rmw(kind, ..) = self.op(id).attrs else {
            return Err(self.attrs_wrong(id));
        };
        let target = self.atomic_target(id)?;
        self.operand_is(id, 1, target)?;
        if self.op(id).operands.len() > 2 {
            self.operand_is(id, 2, infer::mask(target))?;
        }
        let (fits, wanted) = match kind {
            RmwKind::Fadd => (is_float(target), "floats"),
            RmwKind::Xchg => (is_float(target) || is_int(target), "numbers"),
            _ => (is_int(target), "integers"),
        };
        self.require(id, 1, fits, wanted)?;
        self.result_is(id, target)
    }

    pub(super) fn check_atomic_cas(&self, id: OpId) -> Check {
        self.counts(id, 3..=3, 1)?;
        self.atomic_attrs(id)?;
        let target = self.atomic_target(id)?;
        self.operand_is(id, 1, target)?;
        self.operand_is(id, 2, target)?;
        self.result_is(id, target)
    }

    fn atomic_attrs(&self, id: OpId) -> Check {
        match self.op(id).attrs {
            Attrs::Atomic(..) => Ok(()),
            _ => Err(self.attrs_wrong(id)),
        }
    }

    pub(super) fn check_atomic_load(&self, id: OpId) -> Check {
        self.counts(id, 1..=2, 1)?;
        self.atomic_attrs(id)?;
        let target = self.atomic_target(id)?;
        if self.op(id).operands.len() > 1 {
            self.operand_is(id, 1, infer::mask(target))?;
        }
        self.result_is(id, target)
    }

    pub(super) fn check_atomic_store(&self, id: OpId) -> Check {
        self.atomic_attrs(id)?;
        self.stored(id)?;
        self.atomic_target(id).map(|_| ())
    }

    pub(super) fn check_atomic_poll(&self, id: OpId) -> Check {
        self.counts(id, 2..=3, 1)?;
        self.atomic_attrs(id)?;
        let target = self.atomic_target(id)?;
        self.operand_is(id, 1, target)?;
        if self.op(id).operands.len() > 2 {
            self.operand_is(id, 2, I64)?;
        }
        self.result_is(id, infer::mask(target))
    }

    /// Operands from `first` on, in groups of these types, `rank` in each.
    fn groups(&self, id: OpId, first: usize, rank: usize, types: &[Type]) -> Check {
        let wanted = first + rank * types.len();
        let found = self.op(id).operands.len();
        if found != wanted {
            return Err(Problem::at(
                id,
                format!("{found} operands, {wanted} are needed for {rank} dimensions"),
            ));
        }
        for (group, &ty) in types.iter().enumerate() {
            for i in 0..rank {
                self.operand_is(id, first + group * rank + i, ty)?;
            }
        }
        Ok(())
    }

    pub(super) fn check_make_tensor_ptr(&self, id: OpId) -> Check {
        let count = self.op(id).operands.len();
        self.counts(id, 1..=count, 1)?;
        let Type::BlockPtr(shape, elem) = self.result_type(id) else {
            return Err(Problem::at(id, "its result is no block pointer"));
        };
        let Attrs::Order(order) = &self.op(id).attrs else {
            return Err(self.attrs_wrong(id));
        };
        infer::permutation(order, shape.rank()).map_err(|why| Problem::at(id, why))?;
        self.base_pointer(id, elem)?;
        self.groups(id, 1, shape.rank(), &[I64, I64, I32])
    }

    fn base_pointer(&self, id: OpId, elem: Elem) -> Check {
        let fits = matches!(self.operand_type(id, 0), Type::Scalar(Elem::Ptr(p)) if p.target() == elem);
        self.require(id, 0, fits, &format!("a pointer to `{elem}`"))
    }

    pub(super) fn check_advance(&self, id: OpId) -> Check {
        let count = self.op(id).operands.len();
        self.counts(id, 1..=count, 1)?;
        let Type::BlockPtr(shape, _) = self.operand_type(id, 0) else {
            return Err(self.operand_wrong(id, 0, "a block pointer"));
        };
        self.groups(id, 1, shape.rank(), &[I32])?;
        self.result_is(id, self.operand_type(id, 0))
    }

    pub(super) fn check_make_tensor_descriptor(&self, id: OpId) -> Check {
        let count = self.op(id).operands.len();
        self.counts(id, 1..=count, 1)?;
        let Type::Descriptor { block, elem, .. } = self.result_type(id) else {
            return Err(Problem::at(id, "its result is no descriptor"));
        };
        if !matches!(self.op(id).attrs, Attrs::Padding(_)) {
            return Err(self.attrs_wrong(id));
        }
        self.base_pointer(id, Elem::Scalar(elem))?;
        self.groups(id, 1, block.rank(), &[I32, I64])
    }

    fn descriptor(&self, id: OpId) -> Result<(Shape, Scalar), Problem> {
        match self.operand_type(id, 0) {
            Type::Descriptor { block, elem, .. } => Ok((block, elem)),
            _ => Err(self.operand_wrong(id, 0, "a tensor descriptor")),
        }
    }

    /// A tile that holds the descriptor's block; dimensions of one may be missing.
    fn block_fits(&self, id: OpId, tile: Type) -> Check {
        let (block, elem) = self.descriptor(id)?;
        let fits = match tile {
            Type::Tile(shape, e) => {
                e == Elem::Scalar(elem) && infer::significant(shape) == infer::significant(block)
            }
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(Problem::at(
            id,
            format!("`{tile}` does not hold a block of `{}`", self.operand_type(id, 0)),
        ))
    }

    pub(super) fn check_descriptor_load(&self, id: OpId) -> Check {
        let count = self.op(id).operands.len();
        self.counts(id, 1..=count, 1)?;
        self.access(id)?;
        let (block, _) = self.descriptor(id)?;
        self.groups(id, 1, block.rank(), &[I32])?;
        self.block_fits(id, self.result_type(id))
    }

    pub(super) fn check_descriptor_store(&self, id: OpId) -> Check {
        let count = self.op(id).operands.len();
        self.counts(id, 2..=count.max(2), 0)?;
        let (block, _) = self.descriptor(id)?;
        self.groups(id, 2, block.rank(), &[I32])?;
        self.block_fits(id, self.operand_type(id, 1))
    }

    /// The tile of chosen rows: descriptor of one row, row numbers, first column.
    fn rows(&self, id: OpId) -> Result<Type, Problem> {
        let (block, elem) = self.descriptor(id)?;
        self.require(
            id,
            0,
            block.rank() == 2 && block.dim(0) == 1,
            "a descriptor of one row",
        )?;
        let rows = match self.operand_type(id, 1) {
            Type::Tile(shape, Elem::Scalar(Scalar::I16 | Scalar::I32)) if shape.rank() == 1 => shape.dim(0),
            _ => {
                return Err(self.operand_wrong(
                    id,
                    1,
                    "row numbers, a tile of `i32` or `i16` of one dimension",
                ));
            }
        };
        self.operand_is(id, 2, I32)?;
        let shape = Shape::new(&[rows as u64, block.dim(1) as u64]);
        shape
            .map(|s| Type::tile(s, elem))
            .ok_or_else(|| Problem::at(id, "the rows are too many"))
    }

    pub(super) fn check_descriptor_gather(&self, id: OpId) -> Check {
        self.counts(id, 3..=3, 1)?;
        let rows = self.rows(id)?;
        self.result_is(id, rows)
    }

    pub(super) fn check_descriptor_scatter(&self, id: OpId) -> Check {
        self.counts(id, 4..=4, 0)?;
        let rows = self.rows(id)?;
        self.operand_is(id, 3, rows)
    }
}
