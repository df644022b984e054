//! `for` and `while`: unrolled over constants, `scf.for` and `scf.while` otherwise.
//!
//! Which variables a run-time loop carries is found by visiting its body once, with the IR thrown away: those whose
//! values differ at its end. Inside of such a visit an inner loop's body is visited once only, so that a nest of
//! depth d has its innermost body visited d + 1 times, not 2^d.

use std::rc::Rc;

use tilescope_ir::attrs::AttrValue;
use tilescope_ir::{Attrs, OpCode, Scalar, Type, ValueId};

use super::stmt::Flow;
use crate::ast::{Expr, ExprKind, Name, Span, Stmt};
use crate::cx::{Cx, Local, Locals, Result};
use crate::konst;
use crate::types::{Dtype, Elem, Ty};
use crate::value::{Range, Tensor, Value};

/// What a visit of a loop's body found.
enum Found {
    /// Variables that the loop carries, with their values before it.
    Carried(Vec<Local>),
    /// Errors, which were reported: no operation is made.
    Wrong,
    /// The body cannot be evaluated here.
    Leave(Flow),
}

impl Cx<'_> {
    pub(super) fn for_stmt(
        &mut self,
        target: &Expr,
        iter: &Expr,
        body: &[Stmt],
        otherwise: &[Stmt],
    ) -> Result<Flow> {
        if let Some(stmt) = otherwise.first() {
            return Err(self.error_at(stmt.span, "a loop of a kernel cannot have an `else`", ""));
        }
        let ExprKind::Name(name) = &target.kind else {
            return Err(self.error_at(target.span, "the variable of a loop must be one name", ""));
        };
        match self.expr(iter)? {
            Value::Range(range) if range.is_static => self.unrolled(name, &range, target.span, body),
            Value::Range(range) => self.counted(name, &range, target.span, body),
            Value::Error => {
                let mut names = vec![name.clone()];
                body.iter().for_each(|s| super::stmt::assigned_by(s, &mut names));
                for name in names {
                    self.scope.locals.set(&name, Value::Error);
                }
                Ok(Flow::Next)
            }
            other => Err(self
                .error_at(iter.span, "a kernel cannot loop over this", &other.describe())
                .note("kernels loop over `range(…)`, `tl.range(…)` and `tl.static_range(…)`")
                .help("`for i in tl.static_range(len(x))` runs through a tuple")),
        }
    }

    fn unrolled(&mut self, name: &Name, range: &Range, at: Span, body: &[Stmt]) -> Result<Flow> {
        let bound = |v: &Value| konst::as_int(v);
        let (Some(start), Some(stop), Some(step)) =
            (bound(&range.start), bound(&range.stop), bound(&range.step))
        else {
            return Err(self.error("the bounds of `tl.static_range` must be compile-time integers"));
        };
        let count = konst::index::count(&start, &stop, &step).map_err(|why| self.error(why))?;
        let mut value = start;
        let mut returned = false;
        for _ in 0..count {
            self.step()?;
            if returned {
                self.begin_unreached();
            }
            self.scope
                .locals
                .assign(name, Value::Int(value.clone()), Some(at));
            match self.block(body) {
                Flow::Next => {}
                // Triton unrolls the rest all the same.
                Flow::Return => returned = true,
                flow => return Ok(flow),
            }
            value += &step;
        }
        Ok(if returned { Flow::Return } else { Flow::Next })
    }

    fn counted(&mut self, name: &Name, range: &Range, at: Span, body: &[Stmt]) -> Result<Flow> {
        let stmt = self.place.span;
        let (mut start, mut stop, mut step) = (range.start.clone(), range.stop.clone(), range.step.clone());
        let mut backwards = false;
        if let Some(constant) = konst::as_int(&step) {
            if constant == 0.into() {
                return Err(self.error("the step of the loop is 0"));
            }
            if constant < 0.into() {
                backwards = true;
                step = Value::Int(-constant);
                std::mem::swap(&mut start, &mut stop);
            }
        }
        let (bounds, index) = self.loop_bounds([&start, &stop, &step])?;
        let index_type = Type::scalar(index.scalar());

        let before = self.scope.locals.clone();
        let found = {
            let open = |cx: &mut Self| cx.open_loop(name, at, index, backwards.then_some(&bounds), &[], &[]);
            self.discover(body, Some(name), stmt, &before, open)
        };
        let carried = match found {
            Found::Carried(carried) => carried,
            Found::Wrong => return Ok(Flow::Next),
            Found::Leave(flow) => return Ok(flow),
        };
        let init = handles(&carried);
        let results: Vec<Type> = init.iter().map(|&v| self.b.ty(v)).collect();
        let pending = self.scope.pending.clone();
        let open = self.open_loop(name, at, index, backwards.then_some(&bounds), &results, &carried);
        debug_assert!(self.b.ty(bounds[0].value) == index_type);
        let flow = self.loop_body(body);
        self.scope.pending = pending;
        if flow != Flow::Next {
            return Ok(flow);
        }
        let next = self.carried_values(&carried);
        let region = self.b.close_region(open, OpCode::Yield, next);
        let mut operands: Vec<ValueId> = bounds.iter().map(|t| t.value).collect();
        operands.extend(&init);
        let made = self
            .b
            .op_with_regions(OpCode::For, &operands, Attrs::None, &results, vec![region]);
        self.hints(range);
        self.end_loop(before, &carried, &made, stmt);
        self.scope.locals.remove(name);
        let why = "it is the variable of a run-time loop, and has no value after it";
        self.scope.lost.push((name.clone(), Rc::from(why)));
        Ok(Flow::Next)
    }

    /// The bounds and the step of a loop, in the type that its variable has.
    fn loop_bounds(&mut self, values: [&Value; 3]) -> Result<([Tensor; 3], Dtype)> {
        let mut tensors = Vec::with_capacity(3);
        for (value, what) in values.into_iter().zip(["start", "bound", "step"]) {
            let tensor = self.to_tensor(value)?;
            match tensor.ty {
                Ty::Scalar(Elem::Num(dtype)) if dtype.is_int() => tensors.push((tensor, dtype)),
                _ => {
                    return Err(self
                        .error(format!(
                            "the {what} of a loop must be an integer, not {}",
                            value.describe()
                        ))
                        .note("a run-time loop counts with one integer"));
                }
            }
        }
        let index = tensors
            .iter()
            .map(|(_, d)| *d)
            .reduce(promoted)
            .unwrap_or(Dtype::Int32);
        // Triton extends by the sign of the loop's variable, whatever the bound's own: -1 of a `uint32`, even of
        // `True`, where the variable is signed.
        let code = if index.is_signed() {
            OpCode::ExtSI
        } else {
            OpCode::ExtUI
        };
        let ty = Ty::num(index);
        let bounds = tensors.into_iter().map(|(tensor, dtype)| Tensor {
            value: if dtype.bits() < index.bits() {
                self.b.cast(code, tensor.value, index.scalar())
            } else {
                tensor.value
            },
            ty: ty.clone(),
        });
        match <[Tensor; 3]>::try_from(bounds.collect::<Vec<_>>()) {
            Ok(bounds) => Ok((bounds, index)),
            Err(_) => Err(self.error("a loop has three bounds")),
        }
    }

    /// Opens the body of a counted loop, with its variable and the carried ones assigned. `backwards` are the bounds
    /// of a loop with a negative step, which counts up inside.
    fn open_loop(
        &mut self,
        name: &Name,
        at: Span,
        index: Dtype,
        backwards: Option<&[Tensor; 3]>,
        results: &[Type],
        carried: &[Local],
    ) -> tilescope_ir::build::OpenRegion {
        let loc = self.location();
        let mut types = vec![Type::scalar(index.scalar())];
        types.extend(results);
        let (open, args) = self.b.open_region(&types);
        let named = self.name_location(name, loc);
        if let [first, rest @ ..] = args.as_slice() {
            let mut value = *first;
            if let Some([start, stop, _]) = backwards {
                self.b.at(named);
                value = self.b.elementwise(OpCode::SubI, &[stop.value, value]);
                value = self.b.elementwise(OpCode::AddI, &[value, start.value]);
                self.b.at(loc);
            }
            self.b.name(value, name);
            let value = Value::Tensor(Tensor {
                value,
                ty: Ty::num(index),
            });
            self.scope.locals.assign(name, value, Some(at));
            self.assign_carried(carried, rest);
        }
        open
    }

    /// Assigns the carried variables from IR values, in order.
    fn assign_carried(&mut self, carried: &[Local], values: &[ValueId]) {
        let mut values = values.iter().copied();
        for local in carried {
            let value = local.value.rebuild(&mut values);
            self.name_values(&local.name, &value);
            self.scope.locals.set(&local.name, value);
        }
    }

    /// What the carried variables hold now.
    fn carried_values(&self, carried: &[Local]) -> Vec<ValueId> {
        let mut values = Vec::new();
        for local in carried {
            let now = self.scope.locals.get(&local.name).unwrap_or(&local.value);
            now.flatten(&mut values);
        }
        values
    }

    /// The body of a run-time loop; in a visit that is thrown away only the first time.
    fn loop_body(&mut self, body: &[Stmt]) -> Flow {
        if self.dry > 0 {
            return Flow::Next;
        }
        self.in_loop(|cx| cx.block(body))
    }

    fn in_loop(&mut self, inner: impl FnOnce(&mut Self) -> Flow) -> Flow {
        self.scope.regions += 1;
        self.scope.loops += 1;
        let flow = inner(self);
        self.scope.regions -= 1;
        self.scope.loops -= 1;
        flow
    }

    /// Visits a loop's body, throws the IR away, and says what the loop carries. The scope is left as it was.
    fn discover(
        &mut self,
        body: &[Stmt],
        ignore: Option<&Name>,
        stmt: Span,
        before: &Locals,
        open: impl FnOnce(&mut Self) -> tilescope_ir::build::OpenRegion,
    ) -> Found {
        let outer = self.b.cursor();
        let checkpoint = self.b.checkpoint();
        let (errors, notes, lost) = (self.errors.len(), self.notes.len(), self.scope.lost.len());
        let pending = self.scope.pending.clone();
        let _open = open(self);
        self.dry += 1;
        let flow = self.in_loop(|cx| cx.block(body));
        self.dry -= 1;
        self.scope.pending = pending;
        if flow != Flow::Next {
            return Found::Leave(flow);
        }
        let after = std::mem::replace(&mut self.scope.locals, before.clone());
        let carried = self.find_carried(before, &after, ignore, stmt);
        if self.errors.len() > errors {
            // The operations stay where they are: nothing of this kernel is used.
            for local in after
                .iter()
                .filter(|l| before.find(&l.name).is_some_and(|b| !b.value.same(&l.value)))
            {
                self.scope.locals.set(&local.name, Value::Error);
            }
            for local in after.iter().filter(|l| before.find(&l.name).is_none()) {
                self.scope.locals.set(&local.name, Value::Error);
            }
            self.b.move_to(outer);
            return Found::Wrong;
        }
        self.notes.truncate(notes);
        self.scope.lost.truncate(lost);
        let line = self.line_of(stmt);
        for local in after
            .iter()
            .filter(|l| before.find(&l.name).is_none() && Some(&l.name) != ignore)
        {
            let why = Rc::from(format!("it is assigned in the run-time loop on line {line} only"));
            self.scope.lost.push((local.name.clone(), why));
        }
        self.b.rollback(&checkpoint);
        Found::Carried(carried)
    }

    /// Variables of before the loop whose values its body changes.
    fn find_carried(
        &mut self,
        before: &Locals,
        after: &Locals,
        ignore: Option<&Name>,
        stmt: Span,
    ) -> Vec<Local> {
        let mut carried = Vec::new();
        for old in before.iter() {
            let Some(new) = after.find(&old.name).filter(|_| Some(&old.name) != ignore) else {
                continue;
            };
            let unchanged = new.value.same(&old.value) || new.value.has_error() || old.value.has_error();
            // A constexpr keeps its value, as in Triton; `None` and types must not be assigned at all.
            let fixed = matches!(old.value, Value::None | Value::Type(_));
            if unchanged || (!new.value.is_runtime() && !old.value.is_runtime() && !fixed) {
                continue;
            }
            if new.value.same_type(&old.value) {
                carried.push(old.clone());
                continue;
            }
            let message = if old.value.is_runtime() {
                format!("`{}` changes its type in a run-time loop", old.name)
            } else {
                format!(
                    "`{}` is a compile-time constant before a run-time loop that assigns it",
                    old.name
                )
            };
            let source = self.program.source(self.place.module);
            let error = self.type_change(message, stmt, old, new).at(
                &source,
                head(&source.text, stmt),
                "in this loop",
            );
            self.report(error);
        }
        carried
    }

    /// After a loop: the variables of before it, the carried ones with its results.
    fn end_loop(&mut self, before: Locals, carried: &[Local], results: &[ValueId], _stmt: Span) {
        let inside = std::mem::replace(&mut self.scope.locals, before);
        self.assign_carried(carried, results);
        for local in carried {
            if let (Some(at), Some(value)) = (
                inside.find(&local.name).and_then(|l| l.at),
                self.scope.locals.get(&local.name).cloned(),
            ) {
                self.scope.locals.assign(&local.name, value, Some(at));
            }
        }
    }

    /// Hints of `tl.range`, as attributes of the loop.
    fn hints(&mut self, range: &Range) {
        for (name, value) in &range.hints {
            let value = match (*name, value) {
                ("num_stages" | "loop_unroll_factor", value) => match konst::as_i64(value) {
                    Some(value) => AttrValue::Int(i128::from(value), Scalar::I32),
                    None => continue,
                },
                ("disable_licm", Value::Bool(true)) => {
                    self.disable_licm();
                    continue;
                }
                ("disallow_acc_multi_buffer" | "flatten" | "warp_specialize", Value::Bool(true)) => {
                    AttrValue::Unit
                }
                _ => continue,
            };
            self.b.annotate(&format!("tt.{name}"), value);
        }
    }

    fn disable_licm(&mut self) {
        let hint = AttrValue::Opaque(
            "#llvm.loop_annotation<licm = <disable = true, versioningDisable = true>>".into(),
        );
        self.b.annotate("llvm.loop_annotation", hint);
    }

    pub(super) fn while_stmt(&mut self, condition: &Expr, body: &[Stmt], otherwise: &[Stmt]) -> Result<Flow> {
        if let Some(stmt) = otherwise.first() {
            return Err(self.error_at(stmt.span, "a loop of a kernel cannot have an `else`", ""));
        }
        let stmt = self.place.span;
        let before = self.scope.locals.clone();
        let found = self.discover(body, None, stmt, &before, |cx| cx.b.open_region(&[]).0);
        let carried = match found {
            Found::Carried(carried) => carried,
            Found::Wrong => return Ok(Flow::Next),
            Found::Leave(flow) => return Ok(flow),
        };
        let init = handles(&carried);
        let types: Vec<Type> = init.iter().map(|&v| self.b.ty(v)).collect();
        let pending = self.scope.pending.clone();

        let (head, args) = self.b.open_region(&types);
        self.assign_carried(&carried, &args);
        self.scope.regions += 1;
        let truth = self.while_condition(condition);
        self.scope.regions -= 1;
        let (truth, disable_licm) = match truth {
            Ok(truth) => truth,
            Err(error) => {
                self.scope.locals = before;
                return Err(error);
            }
        };
        let mut values = vec![truth.value];
        values.extend(args);
        let head = self.b.close_region(head, OpCode::Condition, values);

        let (open, args) = self.b.open_region(&types);
        self.assign_carried(&carried, &args);
        let flow = self.loop_body(body);
        self.scope.pending = pending;
        if flow != Flow::Next {
            return Ok(flow);
        }
        let next = self.carried_values(&carried);
        let tail = self.b.close_region(open, OpCode::Yield, next);
        let made = self
            .b
            .op_with_regions(OpCode::While, &init, Attrs::None, &types, vec![head, tail]);
        if disable_licm {
            self.disable_licm();
        }
        self.end_loop(before, &carried, &made, stmt);
        Ok(Flow::Next)
    }

    fn while_condition(&mut self, condition: &Expr) -> Result<(Tensor, bool)> {
        let (value, disable_licm) = match self.expr(condition)? {
            Value::Condition(condition) => (condition.value.clone(), condition.disable_licm),
            value => (value, false),
        };
        match value {
            Value::Tensor(tensor) => {
                let entered = self.enter(condition.span);
                let truth = self.to_condition(&tensor);
                self.leave(entered);
                Ok((truth?, disable_licm))
            }
            // Nothing of the kernel is used after an error; any truth value will do.
            Value::Error => Ok((self.to_tensor(&Value::Bool(false))?, disable_licm)),
            other => Err(self
                .error_at(
                    condition.span,
                    "the condition of a `while` is known at compile time",
                    &other.describe(),
                )
                .note("a `while` loop of a kernel runs until a run-time condition is false")
                .help("loop over `tl.static_range(…)` at compile time")),
        }
    }
}

fn handles(carried: &[Local]) -> Vec<ValueId> {
    let mut handles = Vec::new();
    carried.iter().for_each(|local| local.value.flatten(&mut handles));
    handles
}

/// The first line of a statement.
fn head(text: &str, stmt: Span) -> std::ops::Range<usize> {
    let start = stmt.range().start;
    let line = text.get(stmt.range()).and_then(|t| t.lines().next());
    start..start + line.map_or(0, str::len)
}

/// The type of a loop's variable, from those of two bounds.
fn promoted(a: Dtype, b: Dtype) -> Dtype {
    match (a.is_signed(), b.is_signed()) {
        (x, y) if x == y => {
            if a.bits() > b.bits() {
                a
            } else {
                b
            }
        }
        (false, _) if a.bits() >= b.bits() => a,
        (false, _) => b,
        (_, _) if b.bits() >= a.bits() => b,
        _ => a,
    }
}
