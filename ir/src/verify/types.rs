//! Types and attributes, one method per row of the op table. The rules of memory and control
//! operations are in `memory` and `control`.

use super::{Check, Checker, Problem};
use crate::attrs::{Attrs, Constant, ScaleElem};
use crate::entities::OpId;
use crate::infer;
use crate::module::{Function, Op};
use crate::ops::{Class, OpCode, OpVisitor};
use crate::types::{Elem, Scalar, Shape, Type};

pub(super) const I32: Type = Type::Scalar(Elem::Scalar(Scalar::I32));
pub(super) const I64: Type = Type::Scalar(Elem::Scalar(Scalar::I64));

pub(super) fn is_int(ty: Type) -> bool {
    ty.elem().and_then(|e| e.scalar()).is_some_and(Scalar::is_int)
}

pub(super) fn is_float(ty: Type) -> bool {
    ty.elem().and_then(|e| e.scalar()).is_some_and(Scalar::is_float)
}

/// Shape of a tile; a number or pointer has none.
fn same_form(a: Type, b: Type) -> bool {
    a.elem().is_some() && b.elem().is_some() && a.shape() == b.shape()
}

impl<'m> Checker<'m> {
    pub(super) fn op(&self, id: OpId) -> &'m Op {
        &self.f.ops[id]
    }

    /// Exact number of operands and results.
    pub(super) fn counts(
        &self,
        id: OpId,
        operands: std::ops::RangeInclusive<usize>,
        results: usize,
    ) -> Check {
        let op = self.op(id);
        if !operands.contains(&op.operands.len()) {
            let (low, high) = (operands.start(), operands.end());
            let wanted = if low == high {
                low.to_string()
            } else {
                format!("{low} to {high}")
            };
            return Err(Problem::at(
                id,
                format!("{} operands, {wanted} are needed", op.operands.len()),
            ));
        }
        if op.results.len() != results {
            return Err(Problem::at(
                id,
                format!("{} results, {results} are needed", op.results.len()),
            ));
        }
        if !op.regions.is_empty() && !holds_regions(op.code)
            || !op.successors.is_empty() && !branches(op.code)
        {
            return Err(Problem::at(id, "it has no regions and no targets"));
        }
        Ok(())
    }

    pub(super) fn operand_type(&self, id: OpId, index: usize) -> Type {
        self.ty(self.op(id).operands[index])
    }

    pub(super) fn result_type(&self, id: OpId) -> Type {
        self.ty(self.op(id).results[0])
    }

    /// "operand 2 (`%mask`)"
    fn operand_name(&self, id: OpId, index: usize) -> String {
        match self.f.values[self.op(id).operands[index]].name.as_deref() {
            Some(name) => format!("operand {} (`%{name}`)", index + 1),
            None => format!("operand {}", index + 1),
        }
    }

    /// Operand `index` has this very type.
    pub(super) fn operand_is(&self, id: OpId, index: usize, wanted: Type) -> Check {
        let found = self.operand_type(id, index);
        if found == wanted {
            return Ok(());
        }
        Err(self.operand_wrong(id, index, &format!("`{wanted}`")))
    }

    pub(super) fn operand_wrong(&self, id: OpId, index: usize, wanted: &str) -> Problem {
        let name = self.operand_name(id, index);
        Problem::at(
            id,
            format!("{name} is `{}`, expected {wanted}", self.operand_type(id, index)),
        )
    }

    pub(super) fn require(&self, id: OpId, index: usize, holds: bool, wanted: &str) -> Check {
        if holds {
            Ok(())
        } else {
            Err(self.operand_wrong(id, index, wanted))
        }
    }

    pub(super) fn result_is(&self, id: OpId, wanted: Type) -> Check {
        let found = self.result_type(id);
        if found == wanted {
            return Ok(());
        }
        Err(Problem::at(
            id,
            format!("the result is `{found}`, expected `{wanted}`"),
        ))
    }

    pub(super) fn inferred(&self, id: OpId, wanted: Result<Type, String>) -> Check {
        match wanted {
            Ok(ty) => self.result_is(id, ty),
            Err(why) => Err(Problem::at(id, why)),
        }
    }

    pub(super) fn attrs_wrong(&self, id: OpId) -> Problem {
        Problem::at(id, "its attributes are those of another operation")
    }

    /// All operands have the type of the result.
    fn all_same(&self, id: OpId) -> Check {
        let ty = self.result_type(id);
        (0..self.op(id).operands.len()).try_for_each(|i| self.operand_is(id, i, ty))
    }

    /// One operand and one result of the same shape and element type class.
    fn one_to_one(&self, id: OpId) -> Result<(Type, Type), Problem> {
        self.counts(id, 1..=1, 1)?;
        Ok((self.operand_type(id, 0), self.result_type(id)))
    }

    fn cast_rule(&self, id: OpId, from: Elem, to: Elem) -> bool {
        let number = |e: Elem| e.scalar();
        match (self.op(id).code, from, to) {
            (OpCode::Bitcast, Elem::Ptr(_), Elem::Ptr(_)) => true,
            (OpCode::IntToPtr, Elem::Scalar(Scalar::I64), Elem::Ptr(_)) => true,
            (OpCode::PtrToInt, Elem::Ptr(_), Elem::Scalar(Scalar::I64)) => true,
            (OpCode::IntToPtr | OpCode::PtrToInt, ..) => false,
            (code, ..) => match (number(from), number(to)) {
                (Some(from), Some(to)) => number_cast(code, from, to),
                _ => false,
            },
        }
    }
}

fn holds_regions(code: OpCode) -> bool {
    use OpCode::*;
    matches!(code, Reduce | Scan | MapElementwise | For | If | While)
}

fn branches(code: OpCode) -> bool {
    matches!(code, OpCode::Br | OpCode::CondBr)
}

fn number_cast(code: OpCode, from: Scalar, to: Scalar) -> bool {
    use OpCode::*;
    let ints = from.is_int() && to.is_int() && from != Scalar::Index && to != Scalar::Index;
    let floats = from.is_float() && to.is_float();
    match code {
        ExtSI | ExtUI => ints && from.bits() < to.bits(),
        TruncI => ints && from.bits() > to.bits(),
        ExtF => floats && from.bits() < to.bits(),
        TruncF => floats && from.bits() > to.bits(),
        FpToFp => floats,
        SiToFp | UiToFp => from.is_int() && from != Scalar::Index && to.is_float(),
        FpToSi | FpToUi => from.is_float() && to.is_int() && to != Scalar::Index,
        IndexCast | IndexCastUi => {
            from.is_int() && to.is_int() && (from == Scalar::Index) != (to == Scalar::Index)
        }
        ArithBitcast | Bitcast => from.bits() == to.bits(),
        _ => false,
    }
}

impl OpVisitor for Checker<'_> {
    type Output = Check;

    fn elementwise(&mut self, _: &Function, id: OpId, class: Class) -> Check {
        self.counts(id, class.arity()..=class.arity(), 1)?;
        self.all_same(id)?;
        let ty = self.result_type(id);
        let (fits, wanted) = if class.is_float() {
            (is_float(ty), "floats")
        } else {
            (is_int(ty), "integers")
        };
        self.require(id, 0, fits, wanted)
    }

    fn constant(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 0..=0, 1)?;
        let Attrs::Constant(constant) = &self.op(id).attrs else {
            return Err(self.attrs_wrong(id));
        };
        let ty = self.result_type(id);
        let Some(scalar) = ty.elem().and_then(|e| e.scalar()) else {
            return Err(Problem::at(
                id,
                format!("a constant is a number or a tile of numbers, not `{ty}`"),
            ));
        };
        let fits = |bits: u64| scalar.bits() >= 64 || bits >> scalar.bits() == 0;
        let good = match constant {
            Constant::Splat(bits) => fits(*bits),
            Constant::Dense(bits) => bits.len() == ty.lanes() && bits.iter().all(|&b| fits(b)),
        };
        if good {
            Ok(())
        } else {
            Err(Problem::at(id, format!("its elements do not fit `{ty}`")))
        }
    }

    fn poison(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 0..=0, 1)
    }

    fn cmp_int(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 2..=2, 1)?;
        let ty = self.operand_type(id, 0);
        if !matches!(self.op(id).attrs, Attrs::CmpI(_)) {
            return Err(self.attrs_wrong(id));
        }
        self.require(id, 0, is_int(ty), "integers")?;
        self.operand_is(id, 1, ty)?;
        self.result_is(id, infer::mask(ty))
    }

    fn cmp_float(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 2..=2, 1)?;
        let ty = self.operand_type(id, 0);
        if !matches!(self.op(id).attrs, Attrs::CmpF(_)) {
            return Err(self.attrs_wrong(id));
        }
        self.require(id, 0, is_float(ty), "floats")?;
        self.operand_is(id, 1, ty)?;
        self.result_is(id, infer::mask(ty))
    }

    fn select(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 3..=3, 1)?;
        let (condition, ty) = (self.operand_type(id, 0), self.result_type(id));
        let lanes = ty.shape().is_some() && condition == infer::mask(ty);
        self.require(
            id,
            0,
            condition == Type::BOOL || lanes,
            "`i1` or one `i1` per lane",
        )?;
        self.operand_is(id, 1, ty)?;
        self.operand_is(id, 2, ty)
    }

    fn clamp(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 3..=3, 1)?;
        if !matches!(self.op(id).attrs, Attrs::ClampF(_)) {
            return Err(self.attrs_wrong(id));
        }
        self.all_same(id)?;
        self.require(id, 0, is_float(self.result_type(id)), "floats")
    }

    fn cast(&mut self, _: &Function, id: OpId) -> Check {
        let (from, to) = self.one_to_one(id)?;
        let rule = match (from.elem(), to.elem()) {
            (Some(a), Some(b)) => same_form(from, to) && self.cast_rule(id, a, b),
            _ => false,
        };
        if rule {
            Ok(())
        } else {
            Err(Problem::at(id, format!("no such conversion: `{from}` to `{to}`")))
        }
    }

    fn make_range(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 0..=0, 1)?;
        let Attrs::Range { start, end } = self.op(id).attrs else {
            return Err(self.attrs_wrong(id));
        };
        let count = i64::from(end) - i64::from(start);
        let shape = u64::try_from(count).ok().and_then(|n| Shape::new(&[n]));
        match shape {
            Some(shape) => self.result_is(id, Type::tile(shape, Scalar::I32)),
            None => Err(Problem::at(
                id,
                format!("{count} elements from {start} to {end}, a power of two is needed"),
            )),
        }
    }

    fn splat(&mut self, _: &Function, id: OpId) -> Check {
        let (from, to) = self.one_to_one(id)?;
        match (from, to) {
            (Type::Scalar(a), Type::Tile(_, b)) if a == b => Ok(()),
            _ => Err(Problem::at(id, format!("`{from}` does not splat to `{to}`"))),
        }
    }

    fn unsplat(&mut self, _: &Function, id: OpId) -> Check {
        let (from, _) = self.one_to_one(id)?;
        match from {
            Type::Tile(shape, elem) if shape.log2_elements() == 0 => self.result_is(id, Type::Scalar(elem)),
            _ => Err(self.operand_wrong(id, 0, "a tile of one element")),
        }
    }

    fn broadcast(&mut self, _: &Function, id: OpId) -> Check {
        let (from, to) = self.one_to_one(id)?;
        match (from, to) {
            (Type::Tile(s, a), Type::Tile(t, b)) if a == b && infer::broadcasts(s, t) => Ok(()),
            _ => Err(Problem::at(id, format!("`{from}` does not broadcast to `{to}`"))),
        }
    }

    fn expand_dims(&mut self, _: &Function, id: OpId) -> Check {
        let (from, _) = self.one_to_one(id)?;
        match self.op(id).attrs {
            Attrs::Axis(axis) => self.inferred(id, infer::expand_dims(from, axis)),
            _ => Err(self.attrs_wrong(id)),
        }
    }

    fn reshape(&mut self, _: &Function, id: OpId) -> Check {
        let (from, to) = self.one_to_one(id)?;
        if !matches!(self.op(id).attrs, Attrs::Reshape { .. }) {
            return Err(self.attrs_wrong(id));
        }
        match (from, to) {
            (Type::Tile(s, a), Type::Tile(t, b)) if a == b && s.log2_elements() == t.log2_elements() => {
                Ok(())
            }
            _ => Err(Problem::at(
                id,
                format!("`{from}` and `{to}` do not have the same elements"),
            )),
        }
    }

    fn trans(&mut self, _: &Function, id: OpId) -> Check {
        let (from, _) = self.one_to_one(id)?;
        match &self.op(id).attrs {
            Attrs::Order(order) => self.inferred(id, infer::trans(from, order)),
            _ => Err(self.attrs_wrong(id)),
        }
    }

    fn join(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 2..=2, 1)?;
        let ty = self.operand_type(id, 0);
        self.operand_is(id, 1, ty)?;
        self.inferred(id, infer::join(ty))
    }

    fn split(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 1..=1, 2)?;
        self.inferred(id, infer::split(self.operand_type(id, 0)))?;
        if self.ty(self.op(id).results[1]) == self.result_type(id) {
            Ok(())
        } else {
            Err(Problem::at(id, "its two results differ in type"))
        }
    }

    fn cat(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 2..=2, 1)?;
        let ty = self.operand_type(id, 0);
        self.operand_is(id, 1, ty)?;
        self.inferred(id, infer::cat(ty))
    }

    fn gather(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 2..=2, 1)?;
        let Attrs::Gather { axis, .. } = self.op(id).attrs else {
            return Err(self.attrs_wrong(id));
        };
        let (source, indices) = (self.operand_type(id, 0), self.operand_type(id, 1));
        let (Type::Tile(s, elem), Type::Tile(t, _)) = (source, indices) else {
            return Err(self.operand_wrong(id, 0, "a tile, and indices in a tile"));
        };
        self.require(id, 1, is_int(indices), "integers")?;
        let axis = axis as usize;
        let fits = s.rank() == t.rank() && axis < s.rank();
        let inside = (0..s.rank()).all(|d| d == axis || t.dim(d) <= s.dim(d));
        self.require(
            id,
            1,
            fits && inside,
            &format!("a shape that fits `{source}` but for axis {axis}"),
        )?;
        self.result_is(id, Type::Tile(t, elem))
    }

    fn histogram(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 1..=2, 1)?;
        let (from, to) = (self.operand_type(id, 0), self.result_type(id));
        let one = |ty: Type| is_int(ty) && ty.shape().is_some_and(|s| s.rank() == 1);
        self.require(id, 0, one(from), "a tile of integers of one dimension")?;
        if self.op(id).operands.len() == 2 {
            self.operand_is(id, 1, infer::mask(from))?;
        }
        if one(to) {
            Ok(())
        } else {
            Err(Problem::at(
                id,
                format!("the result is `{to}`, expected counts in one dimension"),
            ))
        }
    }

    fn reduce(&mut self, _: &Function, id: OpId) -> Check {
        self.check_reduce(id)
    }

    fn scan(&mut self, _: &Function, id: OpId) -> Check {
        self.check_scan(id)
    }

    fn map_elementwise(&mut self, _: &Function, id: OpId) -> Check {
        self.check_map(id)
    }

    fn region_return(&mut self, _: &Function, id: OpId) -> Check {
        self.check_region_return(id)
    }

    fn dot(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 3..=3, 1)?;
        if !matches!(self.op(id).attrs, Attrs::Dot { .. }) {
            return Err(self.attrs_wrong(id));
        }
        let (a, b, c) = (
            self.operand_type(id, 0),
            self.operand_type(id, 1),
            self.operand_type(id, 2),
        );
        self.result_is(id, c)?;
        self.require(id, 0, is_float(a) || is_int(a), "a tile of numbers")?;
        self.require(
            id,
            1,
            is_float(b) == is_float(a) && (is_float(b) || is_int(b)),
            "numbers of the left operand's kind",
        )?;
        self.require(
            id,
            2,
            is_float(c) == is_float(a) && (is_float(c) || is_int(c)),
            "numbers of the operands' kind",
        )?;
        let fits = matrix(a)
            .zip(matrix(b))
            .zip(matrix(c))
            .is_some_and(|((a, b), c)| {
                a.batch == b.batch
                    && b.batch == c.batch
                    && a.columns == b.rows
                    && c.rows == a.rows
                    && c.columns == b.columns
            });
        if fits {
            Ok(())
        } else {
            Err(Problem::at(
                id,
                format!("the shapes do not multiply: `{a}` * `{b}` -> `{c}`"),
            ))
        }
    }

    fn dot_scaled(&mut self, _: &Function, id: OpId) -> Check {
        self.check_dot_scaled(id)
    }

    fn extern_elementwise(&mut self, _: &Function, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 0..=op.operands.len(), 1)?;
        if !matches!(op.attrs, Attrs::Extern(_)) {
            return Err(self.attrs_wrong(id));
        }
        self.one_shape(id)
    }

    fn inline_asm(&mut self, _: &Function, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 0..=op.operands.len(), op.results.len())?;
        match &op.attrs {
            Attrs::InlineAsm(asm) if asm.packed > 0 && !op.results.is_empty() => self.one_shape(id),
            Attrs::InlineAsm(_) => Err(Problem::at(
                id,
                "it needs a result and at least one element per invocation",
            )),
            _ => Err(self.attrs_wrong(id)),
        }
    }

    fn program_id(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 0..=0, 1)?;
        if !matches!(self.op(id).attrs, Attrs::Grid(_)) {
            return Err(self.attrs_wrong(id));
        }
        self.result_is(id, I32)
    }

    fn num_programs(&mut self, f: &Function, id: OpId) -> Check {
        self.program_id(f, id)
    }

    fn add_ptr(&mut self, _: &Function, id: OpId) -> Check {
        self.check_add_ptr(id)
    }

    fn load(&mut self, _: &Function, id: OpId) -> Check {
        self.check_load(id)
    }

    fn store(&mut self, _: &Function, id: OpId) -> Check {
        self.check_store(id)
    }

    fn make_tensor_ptr(&mut self, _: &Function, id: OpId) -> Check {
        self.check_make_tensor_ptr(id)
    }

    fn advance(&mut self, _: &Function, id: OpId) -> Check {
        self.check_advance(id)
    }

    fn make_tensor_descriptor(&mut self, _: &Function, id: OpId) -> Check {
        self.check_make_tensor_descriptor(id)
    }

    fn descriptor_load(&mut self, _: &Function, id: OpId) -> Check {
        self.check_descriptor_load(id)
    }

    fn descriptor_store(&mut self, _: &Function, id: OpId) -> Check {
        self.check_descriptor_store(id)
    }

    fn descriptor_gather(&mut self, _: &Function, id: OpId) -> Check {
        self.check_descriptor_gather(id)
    }

    fn descriptor_scatter(&mut self, _: &Function, id: OpId) -> Check {
        self.check_descriptor_scatter(id)
    }

    fn descriptor_reduce(&mut self, _: &Function, id: OpId) -> Check {
        if !matches!(self.op(id).attrs, Attrs::DescriptorReduce(_)) {
            return Err(self.attrs_wrong(id));
        }
        self.check_descriptor_store(id)
    }

    fn atomic_rmw(&mut self, _: &Function, id: OpId) -> Check {
        self.check_atomic_rmw(id)
    }

    fn atomic_cas(&mut self, _: &Function, id: OpId) -> Check {
        self.check_atomic_cas(id)
    }

    fn atomic_load(&mut self, _: &Function, id: OpId) -> Check {
        self.check_atomic_load(id)
    }

    fn atomic_store(&mut self, _: &Function, id: OpId) -> Check {
        self.check_atomic_store(id)
    }

    fn atomic_poll(&mut self, _: &Function, id: OpId) -> Check {
        self.check_atomic_poll(id)
    }

    fn call(&mut self, _: &Function, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 0..=op.operands.len(), op.results.len())
    }

    fn return_(&mut self, _: &Function, id: OpId) -> Check {
        self.check_return(id)
    }

    fn for_(&mut self, _: &Function, id: OpId) -> Check {
        self.check_for(id)
    }

    fn if_(&mut self, _: &Function, id: OpId) -> Check {
        self.check_if(id)
    }

    fn while_(&mut self, _: &Function, id: OpId) -> Check {
        self.check_while(id)
    }

    fn yield_(&mut self, _: &Function, id: OpId) -> Check {
        self.check_yield(id)
    }

    fn condition(&mut self, _: &Function, id: OpId) -> Check {
        self.check_condition(id)
    }

    fn br(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 0..=0, 0)?;
        self.check_targets(id, 1)
    }

    fn cond_br(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 1..=1, 0)?;
        self.operand_is(id, 0, Type::BOOL)?;
        self.check_targets(id, 2)
    }

    fn assert(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 1..=1, 0)?;
        let op = self.op(id);
        if !matches!(op.attrs, Attrs::Message(_)) {
            return Err(self.attrs_wrong(id));
        }
        let ty = self.operand_type(id, 0);
        let truth = ty.elem() == Some(Elem::Scalar(Scalar::I1));
        self.require(
            id,
            0,
            truth && (op.code == OpCode::Assert || ty == Type::BOOL),
            "truth values",
        )
    }

    fn assume(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 1..=1, 0)?;
        self.operand_is(id, 0, Type::BOOL)
    }

    fn print(&mut self, _: &Function, id: OpId) -> Check {
        let op = self.op(id);
        self.counts(id, 0..=op.operands.len(), 0)?;
        match &op.attrs {
            Attrs::Print(print) if print.signed.len() == op.operands.len() => Ok(()),
            Attrs::Print(print) => {
                let (signs, values) = (print.signed.len(), op.operands.len());
                Err(Problem::at(
                    id,
                    format!("`isSigned` has {signs} entries for {values} values"),
                ))
            }
            _ => Err(self.attrs_wrong(id)),
        }
    }

    fn barrier(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 0..=0, 0)
    }

    fn grid_dependency(&mut self, _: &Function, id: OpId) -> Check {
        self.counts(id, 0..=0, 0)
    }
}

/// A matrix or a batch of them.
#[derive(Clone, Copy)]
struct Matrix {
    batch: usize,
    rows: usize,
    columns: usize,
}

fn matrix(ty: Type) -> Option<Matrix> {
    let shape = ty.shape()?;
    match shape.rank() {
        2 => Some(Matrix {
            batch: 1,
            rows: shape.dim(0),
            columns: shape.dim(1),
        }),
        3 => Some(Matrix {
            batch: shape.dim(0),
            rows: shape.dim(1),
            columns: shape.dim(2),
        }),
        _ => None,
    }
}

impl Checker<'_> {
    /// Tiles among operands and results have one shape, and a tile operand gives a tile.
    fn one_shape(&self, id: OpId) -> Check {
        let op = self.op(id);
        let mut shapes = op
            .operands
            .iter()
            .chain(&op.results)
            .filter_map(|&v| self.ty(v).shape());
        let first = shapes.next();
        let numbers = op
            .operands
            .iter()
            .chain(&op.results)
            .all(|&v| self.ty(v).elem().is_some());
        let results = op.results.iter().all(|&v| self.ty(v).shape() == first);
        if numbers && results && shapes.all(|s| Some(s) == first) {
            Ok(())
        } else {
            Err(Problem::at(id, "its operands and results do not have one shape"))
        }
    }

    fn check_dot_scaled(&self, id: OpId) -> Check {
        let op = self.op(id);
        let Attrs::DotScaled(attrs) = &op.attrs else {
            return Err(self.attrs_wrong(id));
        };
        let scales = usize::from(attrs.a_scale) + usize::from(attrs.b_scale);
        self.counts(id, 3 + scales..=3 + scales, 1)?;
        let (a, b, c) = (
            self.operand_type(id, 0),
            self.operand_type(id, 1),
            self.operand_type(id, 2),
        );
        self.result_is(id, c)?;
        self.require(id, 2, is_float(c), "floats")?;
        let (Some(mut left), Some(mut right), Some(out)) = (matrix(a), matrix(b), matrix(c)) else {
            return Err(Problem::at(
                id,
                "its operands are matrices or batches of matrices",
            ));
        };
        // two fp4 numbers share a byte, along K or along the other dimension
        if attrs.a == ScaleElem::E2M1 {
            *(if attrs.lhs_k_pack {
                &mut left.columns
            } else {
                &mut left.rows
            }) *= 2;
        }
        if attrs.b == ScaleElem::E2M1 {
            *(if attrs.rhs_k_pack {
                &mut right.rows
            } else {
                &mut right.columns
            }) *= 2;
        }
        let fits = left.batch == right.batch
            && left.batch == out.batch
            && left.columns == right.rows
            && (out.rows, out.columns) == (left.rows, right.columns);
        if !fits {
            return Err(Problem::at(
                id,
                format!("the shapes do not multiply: `{a}` * `{b}` -> `{c}`"),
            ));
        }
        let mut next = 3;
        for (given, rows) in [(attrs.a_scale, left.rows), (attrs.b_scale, right.columns)] {
            if !given {
                continue;
            }
            let scale = matrix(self.operand_type(id, next));
            let fits =
                scale.is_some_and(|s| s.batch == left.batch && s.rows == rows && s.columns <= left.columns);
            self.require(
                id,
                next,
                fits,
                &format!("a scale per row and group of K, {rows} rows"),
            )?;
            next += 1;
        }
        Ok(())
    }
}
