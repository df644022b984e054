//! Building functions from Rust.
//!
//! A [`FunctionBuilder`] appends operations at a cursor and gives their results; result types follow
//! from operand types by the rules of [`infer`]. A mistake does not panic: the first
//! one is kept, a poison value stands in for the result, and [`FunctionBuilder::finish`] reports it.
//! What is built is still to be verified like any other IR.

use crate::attrs::{
    AccessAttrs, AttrList, AttrValue, Attrs, Axis, Constant, FloatPredicate, InputPrecision, IntPredicate,
    RmwKind, Scope, Semantic,
};
use crate::entities::{BlockId, LocId, OpId, RegionId, ValueId};
use crate::infer;
use crate::module::{Function, Op, Successor, Values};
use crate::ops::OpCode;
use crate::text::float_bits;
use crate::types::{Elem, Scalar, Shape, Type};
use std::sync::Arc;
use thin_vec::thin_vec;
use tilescope_diagnostics::{Error, Result};

mod open;

pub use open::Checkpoint;

/// A region that is being filled: what [`FunctionBuilder::open_region`] gives.
#[derive(Debug)]
#[must_use = "a region must be closed"]
pub struct OpenRegion {
    region: RegionId,
    /// Where the cursor was.
    outer: BlockId,
}

/// Builds one function, operation by operation.
#[derive(Debug)]
pub struct FunctionBuilder {
    f: Function,
    block: BlockId,
    loc: LocId,
    error: Option<String>,
}

impl FunctionBuilder {
    /// A public function without parameters and results, the cursor in its entry block.
    pub fn new(name: impl Into<Arc<str>>) -> FunctionBuilder {
        let loc = LocId::unknown();
        let f = Function::new(name, loc);
        let block = f.entry();
        FunctionBuilder {
            f,
            block,
            loc,
            error: None,
        }
    }

    /// Ends the function.
    ///
    /// # Errors
    /// The first mistake that was made while building.
    pub fn finish(self) -> Result<Function> {
        match self.error {
            None => Ok(self.f),
            Some(error) => Err(Error::input(format!("function `@{}`: {error}", self.f.name))),
        }
    }

    /// Sets the location of the operations that follow.
    pub fn at(&mut self, loc: LocId) -> &mut Self {
        self.loc = loc;
        self
    }

    /// Makes the function private: called, not launched.
    pub fn private(&mut self) -> &mut Self {
        self.f.public = false;
        self
    }

    /// Declares the result types.
    pub fn results(&mut self, types: &[Type]) -> &mut Self {
        self.f.results = types.to_vec();
        self.f.result_attrs = vec![AttrList::new(); types.len()];
        self
    }

    /// Adds a parameter; `divisibility` is what Triton's launcher promises of aligned arguments (16).
    pub fn param(&mut self, name: &str, ty: Type, divisibility: Option<u32>) -> ValueId {
        let entry = self.f.entry();
        let value = self.f.add_arg(entry, ty, self.loc);
        self.f.values[value].name = Some(name.into());
        let hint = divisibility.map(|d| {
            (
                "tt.divisibility".into(),
                AttrValue::Int(i128::from(d), Scalar::I32),
            )
        });
        self.f.param_attrs.push(hint.into_iter().collect());
        value
    }

    /// Names a value, as it is printed.
    pub fn name(&mut self, value: ValueId, name: &str) -> ValueId {
        self.f.values[value].name = Some(name.into());
        value
    }

    /// The type of a value.
    pub fn ty(&self, value: ValueId) -> Type {
        self.f.ty(value)
    }

    /// The function so far.
    pub fn function(&self) -> &Function {
        &self.f
    }

    /// The block that operations are appended to.
    pub fn cursor(&self) -> BlockId {
        self.block
    }

    /// Moves the cursor to a block.
    pub fn move_to(&mut self, block: BlockId) -> &mut Self {
        self.block = block;
        self
    }

    /// Adds a block to the body, for branches.
    pub fn add_block(&mut self) -> BlockId {
        let block = self.f.blocks.push(crate::Block::default());
        let body = self.f.body;
        self.f.regions[body].blocks.push(block);
        block
    }

    /// Any operation, with the result types given.
    pub fn op(&mut self, code: OpCode, operands: &[ValueId], attrs: Attrs, results: &[Type]) -> OpId {
        let op = Op::new(code, operands, attrs, self.loc);
        self.f.append(self.block, op, results)
    }

    /// Any operation with one result.
    pub fn value(&mut self, code: OpCode, operands: &[ValueId], attrs: Attrs, ty: Type) -> ValueId {
        let op = self.op(code, operands, attrs, &[ty]);
        self.f.ops[op].results[0]
    }

    /// An operation whose result type follows; on a mistake a poison of type `fallback`.
    fn inferred(
        &mut self,
        code: OpCode,
        operands: &[ValueId],
        attrs: Attrs,
        ty: Result<Type, String>,
        fallback: Type,
    ) -> ValueId {
        match ty {
            Ok(ty) => self.value(code, operands, attrs, ty),
            Err(why) => {
                self.mistake(format!("`{code}`: {why}"));
                self.value(OpCode::Poison, &[], Attrs::None, fallback)
            }
        }
    }

    fn mistake(&mut self, message: String) {
        self.error.get_or_insert(message);
    }

    // Constants and arithmetic.

    /// An integer in every lane of `ty`, cut to its width.
    pub fn int(&mut self, ty: Type, value: i64) -> ValueId {
        let bits = ty.elem().and_then(Elem::scalar).map_or(64, Scalar::bits).min(64);
        let bits = value as u64 & (u64::MAX >> (64 - bits));
        self.value(OpCode::Constant, &[], Attrs::Constant(Constant::Splat(bits)), ty)
    }

    /// A float in every lane of `ty`, rounded to nearest even.
    pub fn float(&mut self, ty: Type, value: f64) -> ValueId {
        let scalar = ty.elem().and_then(Elem::scalar).filter(|s| s.is_float());
        match scalar {
            Some(scalar) => {
                let bits = Constant::Splat(float_bits(value, scalar));
                self.value(OpCode::Constant, &[], Attrs::Constant(bits), ty)
            }
            None => {
                self.mistake(format!("a float constant of type `{ty}`"));
                self.value(OpCode::Poison, &[], Attrs::None, ty)
            }
        }
    }

    /// An element-wise operation of any number of operands; the result has the first one's type.
    pub fn elementwise(&mut self, code: OpCode, operands: &[ValueId]) -> ValueId {
        let first = operands.first().map(|&v| self.ty(v));
        let arity = code.info().class.map(|c| c.arity());
        let ty = match first {
            Some(ty) if arity == Some(operands.len()) && operands.iter().all(|&v| self.ty(v) == ty) => Ok(ty),
            _ => Err("its operands do not fit".to_string()),
        };
        self.inferred(code, operands, Attrs::None, ty, first.unwrap_or(Type::BOOL))
    }

    /// `arith.cmpi`.
    pub fn cmp_int(&mut self, predicate: IntPredicate, a: ValueId, b: ValueId) -> ValueId {
        let ty = infer::mask(self.ty(a));
        self.value(OpCode::CmpI, &[a, b], Attrs::CmpI(predicate), ty)
    }

    /// `arith.cmpf`.
    pub fn cmp_float(&mut self, predicate: FloatPredicate, a: ValueId, b: ValueId) -> ValueId {
        let ty = infer::mask(self.ty(a));
        self.value(OpCode::CmpF, &[a, b], Attrs::CmpF(predicate), ty)
    }

    /// `arith.select`.
    pub fn select(&mut self, condition: ValueId, a: ValueId, b: ValueId) -> ValueId {
        let ty = self.ty(a);
        self.value(OpCode::Select, &[condition, a, b], Attrs::None, ty)
    }

    /// A conversion to another number type, lane by lane.
    pub fn cast(&mut self, code: OpCode, value: ValueId, to: Scalar) -> ValueId {
        let ty = self.ty(value).with_elem(Elem::Scalar(to));
        let attrs = if code == OpCode::FpToFp {
            Attrs::FpToFp(None)
        } else {
            Attrs::None
        };
        self.value(code, &[value], attrs, ty)
    }

    // Shapes.

    /// `start..end` as a tile of `i32`.
    pub fn make_range(&mut self, start: i32, end: i32) -> ValueId {
        let count = u64::try_from(i64::from(end) - i64::from(start)).ok();
        let ty = count
            .and_then(|n| Shape::new(&[n]))
            .map(|s| Type::tile(s, Scalar::I32))
            .ok_or_else(|| "the number of elements is not a power of two".to_string());
        self.inferred(
            OpCode::MakeRange,
            &[],
            Attrs::Range { start, end },
            ty,
            Type::scalar(Scalar::I32),
        )
    }

    /// A number or pointer in all lanes.
    pub fn splat(&mut self, value: ValueId, shape: Shape) -> ValueId {
        let ty = self.ty(value);
        let out = match ty {
            Type::Scalar(elem) => Ok(Type::Tile(shape, elem)),
            _ => Err(format!("`{ty}` is not one number or pointer")),
        };
        self.inferred(OpCode::Splat, &[value], Attrs::None, out, ty)
    }

    /// Dimensions of one repeated.
    pub fn broadcast(&mut self, value: ValueId, shape: Shape) -> ValueId {
        let ty = self.ty(value);
        let out = match ty {
            Type::Tile(from, elem) if infer::broadcasts(from, shape) => Ok(Type::Tile(shape, elem)),
            _ => Err(format!("`{ty}` does not broadcast to {shape}")),
        };
        self.inferred(OpCode::Broadcast, &[value], Attrs::None, out, ty)
    }

    /// A dimension of one put in at `axis`.
    pub fn expand_dims(&mut self, value: ValueId, axis: u32) -> ValueId {
        let ty = self.ty(value);
        self.inferred(
            OpCode::ExpandDims,
            &[value],
            Attrs::Axis(axis),
            infer::expand_dims(ty, axis),
            ty,
        )
    }

    /// The same elements in another shape.
    pub fn reshape(&mut self, value: ValueId, shape: Shape) -> ValueId {
        let ty = self.ty(value);
        let out = match ty {
            Type::Tile(from, elem) if from.log2_elements() == shape.log2_elements() => {
                Ok(Type::Tile(shape, elem))
            }
            _ => Err(format!("`{ty}` does not have the elements of {shape}")),
        };
        let attrs = Attrs::Reshape {
            allow_reorder: false,
            efficient_layout: false,
        };
        self.inferred(OpCode::Reshape, &[value], attrs, out, ty)
    }

    /// Dimensions permuted: result dimension i is operand dimension `order[i]`.
    pub fn trans(&mut self, value: ValueId, order: &[u32]) -> ValueId {
        let ty = self.ty(value);
        self.inferred(
            OpCode::Trans,
            &[value],
            Attrs::Order(order.to_vec()),
            infer::trans(ty, order),
            ty,
        )
    }

    /// `a * b + c`.
    pub fn dot(&mut self, a: ValueId, b: ValueId, c: ValueId, precision: InputPrecision) -> ValueId {
        let ty = self.ty(c);
        self.value(
            OpCode::Dot,
            &[a, b, c],
            Attrs::Dot {
                precision,
                max_imprecise: 0,
            },
            ty,
        )
    }

    // Grid and memory.

    /// This program's index along an axis.
    pub fn program_id(&mut self, axis: Axis) -> ValueId {
        self.value(
            OpCode::GetProgramId,
            &[],
            Attrs::Grid(axis),
            Type::scalar(Scalar::I32),
        )
    }

    /// The size of the grid along an axis.
    pub fn num_programs(&mut self, axis: Axis) -> ValueId {
        self.value(
            OpCode::GetNumPrograms,
            &[],
            Attrs::Grid(axis),
            Type::scalar(Scalar::I32),
        )
    }

    /// A pointer (or tile of pointers) moved by an offset in elements.
    pub fn add_ptr(&mut self, pointer: ValueId, offset: ValueId) -> ValueId {
        let ty = self.ty(pointer);
        self.value(OpCode::AddPtr, &[pointer, offset], Attrs::None, ty)
    }

    /// A load, masked when a mask is given; `other` is what masked-off lanes get.
    pub fn load(&mut self, pointer: ValueId, mask: Option<ValueId>, other: Option<ValueId>) -> ValueId {
        let ty = self.ty(pointer);
        let mut out = infer::pointee(ty).ok_or_else(|| format!("`{ty}` is no pointer"));
        if mask.is_none() && other.is_some() {
            out = Err("a value for masked-off lanes needs a mask".to_string());
        }
        let operands: Values = [Some(pointer), mask, other].into_iter().flatten().collect();
        self.inferred(OpCode::Load, &operands, Attrs::Access(Box::default()), out, ty)
    }

    /// A store, masked when a mask is given.
    pub fn store(&mut self, pointer: ValueId, value: ValueId, mask: Option<ValueId>) -> OpId {
        let operands: Values = [Some(pointer), Some(value), mask].into_iter().flatten().collect();
        self.op(
            OpCode::Store,
            &operands,
            Attrs::Access(Box::<AccessAttrs>::default()),
            &[],
        )
    }

    /// An atomic read-modify-write (relaxed order is what most kernels want); gives the old values.
    pub fn atomic_rmw(
        &mut self,
        kind: RmwKind,
        order: (Semantic, Scope),
        pointer: ValueId,
        value: ValueId,
        mask: Option<ValueId>,
    ) -> ValueId {
        let ty = self.ty(value);
        let operands: Values = [Some(pointer), Some(value), mask].into_iter().flatten().collect();
        self.value(
            OpCode::AtomicRmw,
            &operands,
            Attrs::Rmw(kind, order.0, order.1),
            ty,
        )
    }

    // Regions.

    /// Opens a region of one block with arguments of these types and moves the cursor there.
    ///
    /// For builders whose bodies are not closures over this builder; [`FunctionBuilder::close_region`] ends it.
    pub fn open_region(&mut self, args: &[Type]) -> (OpenRegion, Vec<ValueId>) {
        let (region, block) = self.f.add_region();
        let args = args
            .iter()
            .map(|&ty| self.f.add_arg(block, ty, self.loc))
            .collect();
        let outer = std::mem::replace(&mut self.block, block);
        (OpenRegion { region, outer }, args)
    }

    /// Ends an open region with `end` and its values; the cursor goes back to where the region was opened.
    pub fn close_region(&mut self, open: OpenRegion, end: OpCode, values: Vec<ValueId>) -> RegionId {
        self.op(end, &values, Attrs::None, &[]);
        self.block = open.outer;
        open.region
    }

    /// Any operation with regions that were closed before; gives its results.
    pub fn op_with_regions(
        &mut self,
        code: OpCode,
        operands: &[ValueId],
        attrs: Attrs,
        results: &[Type],
        regions: Vec<RegionId>,
    ) -> Vec<ValueId> {
        let op = self.op(code, operands, attrs, results);
        self.f.ops[op].regions = regions.into();
        self.f.ops[op].results.to_vec()
    }

    /// Runs `body` with the cursor in a new region's block that has arguments of these types.
    fn region(
        &mut self,
        args: &[Type],
        end: OpCode,
        body: impl FnOnce(&mut Self, &[ValueId]) -> Vec<ValueId>,
    ) -> RegionId {
        let (open, args) = self.open_region(args);
        let values = body(self, &args);
        self.close_region(open, end, values)
    }

    /// Gives an operation its regions.
    pub fn set_regions(&mut self, op: OpId, regions: Vec<RegionId>) {
        self.f.ops[op].regions = regions.into();
    }

    /// Gives an operation its branch targets.
    pub fn set_successors(&mut self, op: OpId, successors: Vec<Successor>) {
        self.f.ops[op].successors = successors.into();
    }

    /// Hangs a dialect's attribute (`tt.divisibility`) on an operation, in place of one of the same name.
    pub fn set_attr(&mut self, op: OpId, name: &str, value: AttrValue) {
        let extra = &mut self.f.ops[op].extra;
        match extra.iter_mut().find(|(n, _)| &**n == name) {
            Some((_, old)) => *old = value,
            None => extra.push((name.into(), value)),
        }
    }

    /// A dimension combined away: `combine` gets two values per input and gives one per input.
    pub fn reduce(
        &mut self,
        inputs: &[ValueId],
        axis: u32,
        combine: impl FnOnce(&mut Self, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let mut results = Vec::with_capacity(inputs.len());
        for &input in inputs {
            let ty = infer::reduce(self.ty(input), axis);
            results.push(ty.unwrap_or_else(|why| {
                self.mistake(format!("`tt.reduce`: {why}"));
                Type::BOOL
            }));
        }
        self.combination(
            OpCode::Reduce,
            OpCode::ReduceReturn,
            inputs,
            axis,
            &results,
            combine,
        )
    }

    /// Running combination along a dimension.
    pub fn scan(
        &mut self,
        inputs: &[ValueId],
        axis: u32,
        combine: impl FnOnce(&mut Self, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let results: Vec<Type> = inputs.iter().map(|&v| self.ty(v)).collect();
        self.combination(OpCode::Scan, OpCode::ScanReturn, inputs, axis, &results, combine)
    }

    fn combination(
        &mut self,
        code: OpCode,
        end: OpCode,
        inputs: &[ValueId],
        axis: u32,
        results: &[Type],
        combine: impl FnOnce(&mut Self, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let elems = inputs.iter().filter_map(|&v| self.ty(v).elem().map(Type::Scalar));
        let elems = elems.collect::<Vec<_>>().repeat(2);
        let region = self.region(&elems, end, combine);
        let op = self.op(code, inputs, Attrs::Along { axis, reverse: false }, results);
        self.f.ops[op].regions.push(region);
        self.f.ops[op].results.to_vec()
    }

    /// A counted loop; `body` gets the index and the carried values and gives the next ones.
    pub fn for_(
        &mut self,
        bounds: [ValueId; 3],
        init: &[ValueId],
        body: impl FnOnce(&mut Self, ValueId, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let results: Vec<Type> = init.iter().map(|&v| self.ty(v)).collect();
        let mut args = vec![self.ty(bounds[0])];
        args.extend(&results);
        let region = self.region(&args, OpCode::Yield, |b, args| match args {
            [index, carried @ ..] => body(b, *index, carried),
            [] => Vec::new(),
        });
        let operands: Values = bounds.iter().chain(init).copied().collect();
        let op = self.op(OpCode::For, &operands, Attrs::None, &results);
        self.f.ops[op].regions.push(region);
        self.f.ops[op].results.to_vec()
    }

    /// One of two regions with results of these types.
    pub fn if_(
        &mut self,
        condition: ValueId,
        results: &[Type],
        then: impl FnOnce(&mut Self) -> Vec<ValueId>,
        otherwise: impl FnOnce(&mut Self) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let then = self.region(&[], OpCode::Yield, |b, _| then(b));
        let otherwise = self.region(&[], OpCode::Yield, |b, _| otherwise(b));
        let op = self.op(OpCode::If, &[condition], Attrs::None, results);
        self.f.ops[op].regions = thin_vec![then, otherwise];
        self.f.ops[op].results.to_vec()
    }

    /// A loop: `before` gives the condition and the values for `after`, which gives the next ones.
    pub fn while_(
        &mut self,
        init: &[ValueId],
        before: impl FnOnce(&mut Self, &[ValueId]) -> (ValueId, Vec<ValueId>),
        after: impl FnOnce(&mut Self, &[ValueId]) -> Vec<ValueId>,
    ) -> Vec<ValueId> {
        let args: Vec<Type> = init.iter().map(|&v| self.ty(v)).collect();
        let mut results = Vec::new();
        let before = self.region(&args, OpCode::Condition, |b, args| {
            let (condition, mut values) = before(b, args);
            results = values.iter().map(|&v| b.ty(v)).collect();
            values.insert(0, condition);
            values
        });
        let after = self.region(&results, OpCode::Yield, after);
        let op = self.op(OpCode::While, init, Attrs::None, &results);
        self.f.ops[op].regions = thin_vec![before, after];
        self.f.ops[op].results.to_vec()
    }

    // Control flow.

    /// A call of a function of the module; the results must be the callee's.
    pub fn call(&mut self, name: &str, operands: &[ValueId], results: &[Type]) -> Vec<ValueId> {
        let op = self.op(OpCode::Call, operands, Attrs::Callee(name.into()), results);
        self.f.ops[op].results.to_vec()
    }

    /// Ends the block with a jump.
    pub fn br(&mut self, block: BlockId, args: &[ValueId]) -> OpId {
        let op = self.op(OpCode::Br, &[], Attrs::None, &[]);
        self.f.ops[op].successors = thin_vec![Successor {
            block,
            args: args.to_vec(),
        }];
        op
    }

    /// Ends the block with a jump to one of two blocks without arguments.
    pub fn cond_br(&mut self, condition: ValueId, then: BlockId, otherwise: BlockId) -> OpId {
        let op = self.op(OpCode::CondBr, &[condition], Attrs::None, &[]);
        let target = |block| Successor {
            block,
            args: Vec::new(),
        };
        self.f.ops[op].successors = thin_vec![target(then), target(otherwise)];
        op
    }

    /// Ends the function.
    pub fn return_(&mut self, values: &[ValueId]) -> OpId {
        self.op(OpCode::Return, values, Attrs::None, &[])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;
    use crate::types::Pointer;
    use crate::{Module, verify};
    use tilescope_diagnostics::Source;

    fn vector_add() -> Function {
        let mut b = FunctionBuilder::new("add_kernel");
        let pointer = Type::Scalar(Elem::Ptr(Pointer::to(Scalar::F32)));
        let i32 = Type::scalar(Scalar::I32);
        let [x, y, out] = ["x_ptr", "y_ptr", "out_ptr"].map(|n| b.param(n, pointer, Some(16)));
        let n = b.param("n", i32, None);
        let shape = Shape::new(&[1024]).unwrap();
        let pid = b.program_id(Axis::X);
        let size = b.int(i32, 1024);
        let start = b.elementwise(OpCode::MulI, &[pid, size]);
        let (start, lanes) = (b.splat(start, shape), b.make_range(0, 1024));
        let offsets = b.elementwise(OpCode::AddI, &[start, lanes]);
        let limit = b.splat(n, shape);
        let mask = b.cmp_int(IntPredicate::Slt, offsets, limit);
        let at = |b: &mut FunctionBuilder, p| {
            let base = b.splat(p, shape);
            b.add_ptr(base, offsets)
        };
        let (px, py, po) = (at(&mut b, x), at(&mut b, y), at(&mut b, out));
        let (vx, vy) = (b.load(px, Some(mask), None), b.load(py, Some(mask), None));
        let sum = b.elementwise(OpCode::AddF, &[vx, vy]);
        b.store(po, sum, Some(mask));
        b.return_(&[]);
        b.finish().unwrap()
    }

    fn printed(f: Function) -> String {
        let mut module = Module::default();
        module.funcs.push(f);
        if let Err(errors) = verify(&module) {
            panic!("{}", errors[0]);
        }
        let text = text::print(&module);
        let again = text::parse(&Source::new("printed", text.clone())).unwrap();
        assert_eq!(text::same(&module, &again), Ok(()));
        text
    }

    #[test]
    fn vector_add_verifies_and_prints() {
        let text = printed(vector_add());
        assert!(
            text.contains("%x_ptr: !tt.ptr<f32> {tt.divisibility = 16 : i32}"),
            "{text}"
        );
        assert!(
            text.contains("tt.store %13, %16, %7 : tensor<1024x!tt.ptr<f32>>"),
            "{text}"
        );
    }

    #[test]
    fn loops_and_reductions_are_built_with_closures() {
        let mut b = FunctionBuilder::new("sum");
        let i32 = Type::scalar(Scalar::I32);
        let n = b.param("n", i32, None);
        let f32 = Type::scalar(Scalar::F32);
        b.results(&[f32]);
        let tile = Type::tile(Shape::new(&[16, 4]).unwrap(), Scalar::F32);
        let (zero, one, init) = (b.int(i32, 0), b.int(i32, 1), b.float(tile, 0.5));
        let total = b.for_([zero, n, one], &[init], |b, i, carried| {
            let i = b.cast(OpCode::SiToFp, i, Scalar::F32);
            let i = b.splat(i, Shape::new(&[16, 4]).unwrap());
            vec![b.elementwise(OpCode::AddF, &[carried[0], i])]
        });
        let row = b.reduce(&total, 1, |b, v| vec![b.elementwise(OpCode::AddF, v)]);
        let sum = b.reduce(&row, 0, |b, v| vec![b.elementwise(OpCode::MaximumF, v)]);
        let some = b.cmp_float(FloatPredicate::Ogt, sum[0], sum[0]);
        let chosen = b.if_(some, &[f32], |_| vec![sum[0]], |b| vec![b.float(f32, -1.0)]);
        b.return_(&chosen);
        let text = printed(b.finish().unwrap());
        assert!(text.contains("scf.for"), "{text}");
    }

    #[test]
    fn a_mistake_is_reported_at_the_end() {
        let mut b = FunctionBuilder::new("bad");
        let x = b.make_range(0, 3);
        b.expand_dims(x, 7);
        b.return_(&[]);
        let error = b.finish().unwrap_err().to_string();
        assert!(
            error.contains("`tt.make_range`") && error.contains("power of two"),
            "{error}"
        );
    }
}
