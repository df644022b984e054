//! `and`, `or`, comparisons, conditional expressions: where compile time and run time meet.
//!
//! As Triton does it: a constant that decides an `and` or `or` is its value and what follows is not evaluated; other
//! constants have no part in the result; run-time operands are combined from the right.

use tilescope_ir::build::OpenRegion;
use tilescope_ir::{Attrs, BlockId, OpCode};

use crate::ast::{BoolOp, CompareOp, Expr, Name};
use crate::cx::{Args, Cx, Mode, Result};
use crate::konst;
use crate::value::{Tensor, Value};

impl Cx<'_> {
    pub(super) fn logic_expr(&mut self, op: BoolOp, operands: &[Expr]) -> Result<Value> {
        let mut fold = Fold::new(op);
        for operand in operands {
            let value = self.expr(operand)?;
            if !fold.add(self, value)? {
                break;
            }
        }
        fold.finish(self)
    }

    pub(super) fn compare_expr(&mut self, first: &Expr, rest: &[(CompareOp, Expr)]) -> Result<Value> {
        let mut left = self.expr(first)?;
        let mut fold = Fold::new(BoolOp::And);
        for (op, right) in rest {
            let right = self.expr(right)?;
            let value = self.comparison(*op, &left, &right)?;
            if rest.len() == 1 {
                return Ok(value);
            }
            if !fold.add(self, value)? {
                break;
            }
            left = right;
        }
        fold.finish(self)
    }

    fn comparison(&mut self, op: CompareOp, l: &Value, r: &Value) -> Result<Value> {
        if l.has_error() || r.has_error() {
            return Ok(Value::Error);
        }
        match op {
            CompareOp::Is => return Ok(Value::Bool(identical(l, r))),
            CompareOp::IsNot => return Ok(Value::Bool(!identical(l, r))),
            CompareOp::In | CompareOp::NotIn if self.scope.mode == Mode::Jit => {
                return Err(self
                    .error(format!("a kernel cannot use `{}`", op.symbol()))
                    .help("compare with `==`, joined by `or`"));
            }
            _ => {}
        }
        match (l, r) {
            (Value::Instance(_), _) | (_, Value::Instance(_)) if self.scope.mode == Mode::Jit => {
                self.comparison_method(op, l, r)
            }
            (Value::Tensor(_), _) | (_, Value::Tensor(_)) => self.compare(op, l, r),
            (Value::Opaque(why), _) | (_, Value::Opaque(why)) if self.scope.mode == Mode::Jit => {
                Err(self.opaque(why))
            }
            _ => konst::compare(op, l, r)
                .map(Value::Bool)
                .map_err(|why| self.error(why)),
        }
    }

    fn comparison_method(&mut self, op: CompareOp, l: &Value, r: &Value) -> Result<Value> {
        let (forward, reflected) = match op {
            CompareOp::Eq => ("__eq__", "__eq__"),
            CompareOp::Ne => ("__ne__", "__ne__"),
            CompareOp::Lt => ("__lt__", "__gt__"),
            CompareOp::Le => ("__le__", "__ge__"),
            CompareOp::Gt => ("__gt__", "__lt__"),
            _ => ("__ge__", "__le__"),
        };
        let span = self.place.span;
        for (owner, other, method) in [(l, r, forward), (r, l, reflected)] {
            if let Some(method) = self.member(owner, &Name::from(method)) {
                return self.call(&method, Args::of(vec![other.clone()], span));
            }
        }
        konst::compare(op, l, r)
            .map(Value::Bool)
            .map_err(|why| self.error(why))
    }

    pub(super) fn if_else(&mut self, condition: &Expr, then: &Expr, otherwise: &Expr) -> Result<Value> {
        let span = condition.span;
        match self.expr(condition)? {
            Value::Error => Ok(Value::Error),
            Value::Tensor(condition) => self.run_time_choice(&condition, then, otherwise),
            condition => {
                if self.constant_condition(&condition, span)? {
                    self.expr(then)
                } else {
                    self.expr(otherwise)
                }
            }
        }
    }

    /// The truth of a constant condition; in kernels only of a truth value, an integer or `None`.
    pub(super) fn constant_condition(&self, value: &Value, span: crate::ast::Span) -> Result<bool> {
        match value {
            Value::Opaque(why) => Err(self.opaque(why)),
            Value::None | Value::Bool(_) | Value::Int(_) => {
                konst::truth(value).map_err(|why| self.error_at(span, why, ""))
            }
            _ if self.scope.mode == Mode::Host => {
                konst::truth(value).map_err(|why| self.error_at(span, why, ""))
            }
            _ => Err(self
                .error_at(span, "this cannot be a condition", &value.describe())
                .note("a condition of a kernel is a truth value, an integer or `None`")),
        }
    }

    fn run_time_choice(&mut self, condition: &Tensor, then: &Expr, otherwise: &Expr) -> Result<Value> {
        let condition = self.to_condition(condition)?;
        let outer = self.b.cursor();
        let locals = self.scope.locals.clone();
        self.scope.regions += 1;
        let sides = self.choice_sides(outer, then, otherwise);
        self.scope.regions -= 1;
        self.scope.locals = locals;
        self.b.move_to(outer);
        let (then_side, else_side) = match sides? {
            Some(sides) => sides,
            None => return Ok(Value::Error),
        };
        let (then_region, then_block, a) = then_side;
        let (else_region, else_block, b) = else_side;
        let (Some(a), Some(b)) = (a, b) else {
            // `tl.store(…) if c else tl.store(…)`: run for what they do.
            self.b.move_to(then_block);
            let then_region = self.b.close_region(then_region, OpCode::Yield, Vec::new());
            self.b.move_to(else_block);
            let else_region = self.b.close_region(else_region, OpCode::Yield, Vec::new());
            self.b.move_to(outer);
            let regions = vec![then_region, else_region];
            self.b
                .op_with_regions(OpCode::If, &[condition.value], Attrs::None, &[], regions);
            return Ok(Value::None);
        };
        if a.ty != b.ty {
            return Err(self
                .error("the two values of a run-time conditional expression differ in type")
                .at(
                    &self.program.source(self.place.module),
                    then.span.range(),
                    format!("this is of type `{}`", a.ty),
                )
                .at(
                    &self.program.source(self.place.module),
                    otherwise.span.range(),
                    format!("this is of type `{}`", b.ty),
                )
                .help("convert one of them with `.to(…)`"));
        }
        self.b.move_to(then_block);
        let then_region = self.b.close_region(then_region, OpCode::Yield, vec![a.value]);
        self.b.move_to(else_block);
        let else_region = self.b.close_region(else_region, OpCode::Yield, vec![b.value]);
        self.b.move_to(outer);
        let results = [self.b.ty(a.value)];
        let regions = vec![then_region, else_region];
        let made = self
            .b
            .op_with_regions(OpCode::If, &[condition.value], Attrs::None, &results, regions);
        match made.first() {
            Some(value) => Ok(Value::Tensor(Tensor {
                value: *value,
                ty: a.ty,
            })),
            None => Ok(Value::Error),
        }
    }

    /// Both sides, each in a region left open, without a value where neither has one; none if one is in error.
    fn choice_sides(
        &mut self,
        outer: BlockId,
        then: &Expr,
        otherwise: &Expr,
    ) -> Result<Option<(Side, Side)>> {
        let (then_region, _) = self.b.open_region(&[]);
        let then_block = self.b.cursor();
        let a = self.expr(then)?;
        if a.has_error() {
            return Ok(None);
        }
        let nothing = matches!(a, Value::None);
        let a = if nothing { None } else { Some(self.to_tensor(&a)?) };
        self.b.move_to(outer);
        let (else_region, _) = self.b.open_region(&[]);
        let else_block = self.b.cursor();
        let b = self.expr(otherwise)?;
        if b.has_error() {
            return Ok(None);
        }
        let b = match b {
            Value::None if nothing => None,
            b => Some(self.to_tensor(&b)?),
        };
        if nothing && b.is_some() {
            self.to_tensor(&Value::None)?;
        }
        Ok(Some(((then_region, then_block, a), (else_region, else_block, b))))
    }
}

/// One side of a run-time choice: its region, left open, the block that it ends in, its value.
type Side = (OpenRegion, BlockId, Option<Tensor>);

/// `a is b`.
fn identical(l: &Value, r: &Value) -> bool {
    match (l, r) {
        (Value::Tensor(_), _) | (_, Value::Tensor(_)) => l.same(r),
        _ => konst::identical(l, r),
    }
}

/// The operands of an `and` or `or` so far.
struct Fold {
    op: BoolOp,
    run_time: Vec<Value>,
    last: Value,
    decided: bool,
}

impl Fold {
    fn new(op: BoolOp) -> Fold {
        Fold {
            op,
            run_time: Vec::new(),
            last: Value::None,
            decided: false,
        }
    }

    /// Takes an operand; false once the result is decided.
    fn add(&mut self, cx: &mut Cx<'_>, value: Value) -> Result<bool> {
        match &value {
            Value::Tensor(_) | Value::Descriptor(_) | Value::Error => self.run_time.push(value.clone()),
            Value::Opaque(why) if cx.scope.mode == Mode::Jit => return Err(cx.opaque(why)),
            _ => {
                let truth = konst::truth(&value).map_err(|why| cx.error(why))?;
                self.decided = truth == (self.op == BoolOp::Or);
            }
        }
        self.last = value;
        Ok(!self.decided)
    }

    fn finish(mut self, cx: &mut Cx<'_>) -> Result<Value> {
        if self.decided {
            return Ok(self.last);
        }
        if self.run_time.iter().any(Value::has_error) {
            return Ok(Value::Error);
        }
        let Some(mut value) = self.run_time.pop() else {
            return Ok(self.last);
        };
        while let Some(left) = self.run_time.pop() {
            value = cx.logic(self.op, &left, &value)?;
        }
        Ok(value)
    }
}
