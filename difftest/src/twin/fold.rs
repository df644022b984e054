//! Reductions, scans and matrix products: many roundings in an order that each path chooses.

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::{FloatPredicate, InputPrecision};
use tilescope_ir::{Attrs, Elem, Function, Op, OpCode, OpId, Scalar, Type, ValueId};

use super::depends::ends;
use super::rewrite::Rewriter;
use super::rounding;
use super::shadow::{Form, Kind, Shadow, join};

impl Rewriter<'_> {
    pub(super) fn combination(&mut self, f: &Function, op: OpId) -> Result<()> {
        let data = &f.ops[op];
        // In the order of the interpreter: exact for minima, maxima and picks, near it for what rounds. Sums and products are
        // widened to all orders below.
        let operands = join(&self.forms(f, &data.operands)?, &self.forms(f, &data.results)?);
        let elems: Vec<Form> = operands.iter().map(of_lane).collect();
        let twice: Vec<Form> = elems.iter().chain(&elems).cloned().collect();
        let values = self.pass_all(&data.operands, &operands)?;
        let region = self.region(f, data.regions[0], &twice, &elems)?;
        let mut results = Vec::new();
        for (form, &result) in operands.iter().zip(&data.results) {
            let ty = f.ty(result);
            let types = form.types.iter().map(|t| match t.elem() {
                Some(elem) => ty.with_elem(elem),
                None => *t,
            });
            results.push(Form {
                kind: form.kind,
                types: types.collect(),
                unsure: form.unsure,
            });
        }
        self.with_regions(f, op, &values, &results, vec![region])?;
        for index in 0..data.results.len() {
            match combines_by(f, data, index) {
                Some(OpCode::AddF) => self.sum(f, op, index)?,
                Some(OpCode::MulF) => self.product_in_any_order(f, op, index)?,
                _ => {}
            }
        }
        self.doubt_picks_among_nan(f, op)
    }

    /// Where a combination compares floats, NaN makes what it gives depend on the order, which each path chooses.
    fn doubt_picks_among_nan(&mut self, f: &Function, op: OpId) -> Result<()> {
        let data = &f.ops[op];
        let blocks = data.regions.iter().flat_map(|&region| &f.regions[region].blocks);
        let mut ops = blocks.flat_map(|&block| &f.blocks[block].ops);
        if !ops.any(|&op| f.ops[op].code == OpCode::CmpF) {
            return Ok(());
        }
        let mut doubt = None;
        for source in self.operands(f, op)? {
            if source.kind == Kind::Float {
                let nan = self.b.cmp_float(FloatPredicate::Uno, source.value, source.value);
                doubt = self.either(doubt, Some(nan));
            }
        }
        let Some(nan) = doubt else { return Ok(()) };
        let (open, args) = self.b.open_region(&[Type::BOOL, Type::BOOL]);
        let any = self.b.elementwise(OpCode::OrI, &args);
        let end = match data.code {
            OpCode::Scan => OpCode::ScanReturn,
            _ => OpCode::ReduceReturn,
        };
        let region = self.b.close_region(open, end, vec![any]);
        let Some(result) = f.result(op) else { return Ok(()) };
        let ty = f.ty(result).with_elem(Elem::Scalar(Scalar::I1));
        let any = self
            .b
            .op_with_regions(data.code, &[nan], data.attrs.clone(), &[ty], vec![region])[0];
        for (index, &result) in data.results.iter().enumerate() {
            let shadow = self.shadow(result)?;
            let shadow = match shadow.kind {
                Kind::Float => self.doubted(shadow, Some(any)),
                _ if self.depends.has(self.id, result) => Shadow {
                    unsure: self.either(shadow.unsure, Some(any)),
                    ..shadow
                },
                _ => shadow,
            };
            self.set(f, op, index, shadow);
        }
        Ok(())
    }

    /// One operand of a combination again, in another number type and by one operation alone.
    fn combined(
        &mut self,
        f: &Function,
        op: OpId,
        (code, result): (OpCode, ValueId),
        from: ValueId,
    ) -> Result<ValueId> {
        let data = &f.ops[op];
        let Some(Elem::Scalar(number)) = self.b.ty(from).elem() else {
            return Err(self.refuse(f, op, "combinations of no numbers"));
        };
        let lane = Type::scalar(number);
        let (open, args) = self.b.open_region(&[lane, lane]);
        let both = self.b.elementwise(code, &args);
        let end = match data.code {
            OpCode::Scan => OpCode::ScanReturn,
            _ => OpCode::ReduceReturn,
        };
        let region = self.b.close_region(open, end, vec![both]);
        let ty = f.ty(result).with_elem(Elem::Scalar(number));
        let attrs = data.attrs.clone();
        let results = self
            .b
            .op_with_regions(data.code, &[from], attrs, &[ty], vec![region]);
        Ok(results[0])
    }

    /// Operations between lanes of an operand whose tile has this type, at the most.
    fn roundings(&self, data: &Op, value: ValueId) -> f64 {
        let lanes = match (&data.attrs, self.b.ty(value).shape()) {
            (Attrs::Along { axis, .. }, Some(shape)) => shape.dim(*axis as usize),
            _ => 1,
        };
        lanes.saturating_sub(1) as f64
    }

    /// The bound of a result of a combination that adds, in whatever order.
    fn sum(&mut self, f: &Function, op: OpId, index: usize) -> Result<()> {
        let data = &f.ops[op];
        let source = self.operand(f, op, index)?;
        let Some(&result) = data.results.get(index) else {
            return Ok(());
        };
        let Some(Elem::Scalar(number)) = f.ty(result).elem() else {
            return Err(self.refuse(f, op, "sums of no numbers"));
        };
        let value = self.shadow(result)?.value;
        let adds = (OpCode::AddF, result);
        let wide = self.combined(f, op, adds, source.wide)?;
        let of_summands = self.combined(f, op, adds, source.error)?;
        let size = self.wide().finite_size(source.wide);
        let size = self.wide().add(size, source.error);
        let sizes = self.combined(f, op, adds, size)?;
        // Every order rounds once for each addition: the interpreter scans from one end to the other, and how much of a
        // sum one thread of a GPU makes by itself depends on layouts that the twin does not know.
        let additions = self.roundings(data, source.value);
        let mut w = self.wide();
        let own = w.times(sizes, additions * rounding::unit(number));
        let base = w.add(of_summands, own);
        let error = w.summed(wide, sizes, base, number);
        self.set(f, op, index, Shadow::float(value, wide, error));
        Ok(())
    }

    /// Widens the bound of a result of a combination that multiplies from the interpreter's order to any: a product of some of
    /// the lanes may overflow, and be NaN times zero, or become subnormal and lose digits, where none on the way there does.
    fn product_in_any_order(&mut self, f: &Function, op: OpId, index: usize) -> Result<()> {
        let data = &f.ops[op];
        let source = self.operand(f, op, index)?;
        let Some(&result) = data.results.get(index) else {
            return Ok(());
        };
        let Some(Elem::Scalar(number)) = f.ty(result).elem() else {
            return Err(self.refuse(f, op, "products of no numbers"));
        };
        let shadow = self.shadow(result)?;
        let mut w = self.wide();
        let size = w.finite_size(source.wide);
        let one = w.constant(size, 1.0);
        let reach = w.add(size, source.error);
        // The largest and the least product of some of the lanes, those left out that are zero or not finite everywhere.
        let most = w.max(reach, one);
        let low = w.sub(size, source.error);
        let least = w.op(OpCode::MinimumF, &[low, one]);
        let none = w.is_zero(reach);
        let least = w.unless(none, 1.0, least);
        let zero = w.constant(least, 0.0);
        let least = w.max(least, zero);
        let multiplies = (OpCode::MulF, result);
        let most = self.combined(f, op, multiplies, most)?;
        let least = self.combined(f, op, multiplies, least)?;
        let lost = self.roundings(data, source.value) * rounding::smallest(number);
        let mut w = self.wide();
        let largest = w.constant(most, rounding::largest(number));
        let over = w.compare(FloatPredicate::Ogt, most, largest);
        let normal = w.constant(least, rounding::smallest(number) / rounding::unit(number));
        let under = w.compare(FloatPredicate::Olt, least, normal);
        // Each digit lost is multiplied by the lanes that are left.
        let none = w.constant(most, 0.0);
        let lost = w.times(most, lost);
        let lost = w.0.select(under, lost, none);
        let error = w.add(shadow.error, lost);
        // Infinity times what became zero.
        let special = w.is_special(shadow.wide);
        let special = w.op(OpCode::AndI, &[special, under]);
        let doubt = w.op(OpCode::OrI, &[over, special]);
        // Where the interpreter's order overflows, that is known of the kernel.
        let infinite = w.constant(error, f64::INFINITY);
        let known = w.compare(FloatPredicate::Olt, shadow.error, infinite);
        let doubt = w.op(OpCode::AndI, &[doubt, known]);
        let error = w.unless(doubt, f64::NAN, error);
        self.set(f, op, index, Shadow { error, ..shadow });
        Ok(())
    }

    pub(super) fn product(&mut self, f: &Function, op: OpId) -> Result<()> {
        let (a, b, c) = (
            self.operand(f, op, 0)?,
            self.operand(f, op, 1)?,
            self.operand(f, op, 2)?,
        );
        if a.kind != Kind::Float {
            return self.mixed(f, op);
        }
        let value = self.copy(f, op)?[0];
        let Attrs::Dot { precision, .. } = f.ops[op].attrs else {
            return Err(self.refuse(f, op, "a product without its precision"));
        };
        let number = |v: ValueId, this: &Self| this.b.ty(v).elem().and_then(Elem::scalar);
        let (input, output) = (number(a.value, self), number(c.value, self));
        let Some(output) = output else {
            return Err(self.refuse(f, op, "a product of no numbers"));
        };
        let terms = self
            .b
            .ty(a.value)
            .shape()
            .map_or(1, |s| s.dim(s.rank().saturating_sub(1)));
        // What the hardware makes of f32 operands before it multiplies them.
        let cut = match (input, precision) {
            (Some(Scalar::F32), InputPrecision::Tf32) => f64::exp2(-10.0),
            (Some(Scalar::F32), InputPrecision::Tf32x3) => f64::exp2(-20.0),
            (Some(Scalar::F32), InputPrecision::Bf16x3) => f64::exp2(-15.0),
            (Some(Scalar::F32), InputPrecision::Bf16x6) => f64::exp2(-21.0),
            _ => 0.0,
        };
        let with_cut = |this: &mut Self, s: Shadow| -> (ValueId, ValueId) {
            let size = this.wide().finite_size(s.wide);
            let error = match cut > 0.0 {
                true => {
                    // Of a subnormal number, digits are cut at the place where those of the least normal one are.
                    let mut w = this.wide();
                    let least = w.constant(size, f64::from(f32::MIN_POSITIVE));
                    let reach = w.max(size, least);
                    let more = w.times(reach, cut);
                    let none = w.is_zero(size);
                    let more = w.unless(none, 0.0, more);
                    w.add(s.error, more)
                }
                false => s.error,
            };
            (size, error)
        };
        let (a_size, a_error) = with_cut(self, a);
        let (b_size, b_error) = with_cut(self, b);
        let wide = self.b.dot(a.wide, b.wide, c.wide, InputPrecision::Ieee);
        // |a| eb + ea (|b| + eb) + ec, and one unit for each product and sum in any order, cut instead of rounded.
        let a_most = self.most_of_factor(a.wide, output);
        let b_most = self.most_of_factor(b.wide, output);
        let base = self.b.dot(a_most, b_error, c.error, InputPrecision::Ieee);
        let b_reach = self.wide().add(b_most, b_error);
        let base = self.b.dot(a_error, b_reach, base, InputPrecision::Ieee);
        let c_size = self.wide().finite_size(c.wide);
        let sizes = self.b.dot(a_size, b_size, c_size, InputPrecision::Ieee);
        let mut w = self.wide();
        let own = w.times(sizes, 2.0 * (terms as f64 + 2.0) * rounding::unit(output));
        let base = w.add(base, own);
        let error = w.summed(wide, sizes, base, output);
        self.set(f, op, 0, Shadow::float(value, wide, error));
        Ok(())
    }

    /// What the other factor's error is multiplied by: nothing where this one is NaN, as the product is then; and where it
    /// is infinite, what makes any error larger than all numbers but leaves no error at zero.
    fn most_of_factor(&mut self, wide: ValueId, number: Scalar) -> ValueId {
        let mut w = self.wide();
        let size = w.abs(wide);
        let nan = w.is_nan(size);
        let size = w.unless(nan, 0.0, size);
        if number == Scalar::F64 {
            return size;
        }
        let most = w.constant(size, 1e300);
        w.op(OpCode::MinimumF, &[size, most])
    }
}

/// A reduction or scan of one float operand by `arith.addf` alone.
pub(crate) fn is_sum(f: &Function, op: &Op) -> bool {
    op.operands.len() == 1 && combines_by(f, op, 0) == Some(OpCode::AddF)
}

/// The one operation by which a reduction or scan combines the lanes of an operand, if it is one.
fn combines_by(f: &Function, op: &Op, index: usize) -> Option<OpCode> {
    let region = op.regions.first()?;
    let block = f.regions[*region].blocks.first()?;
    let (args, end) = ends(f, Some(region))?;
    let (left, right) = args.split_at_checked(op.operands.len())?;
    let (left, right, result) = (left.get(index)?, right.get(index)?, end.get(index)?);
    let mut ops = f.blocks[*block].ops.iter().map(|&op| &f.ops[op]);
    let last = ops.find(|op| op.results.contains(result))?;
    let both = last.operands.as_slice();
    (both == [*left, *right] || both == [*right, *left]).then_some(last.code)
}

/// The form of one lane of a tile.
fn of_lane(form: &Form) -> Form {
    let lane = |ty: &Type| ty.elem().map_or(*ty, Type::Scalar);
    Form {
        kind: form.kind,
        types: form.types.iter().map(lane).collect(),
        unsure: form.unsure,
    }
}
