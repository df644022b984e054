//! Returns: the result that a function has, and the code that follows a return.
//!
//! Triton prunes an `if` on a constant, but not what follows it: after a branch that returns it goes on in a block
//! that nothing reaches. Mistakes there are mistakes, and the returns there count for the type of the result: of
//! `if FLAG: return 1` and `return 2` the result is an `int32` of run time, not the constant 1. So such code is
//! evaluated, and what was built of it thrown away.

use std::rc::Rc;

use tilescope_ir::BlockId;
use tilescope_ir::build::Checkpoint;

use super::stmt::Flow;
use crate::ast::Expr;
use crate::cx::{Cx, Place, Result, Returns};
use crate::types::Ty;
use crate::value::{Class, Function, Tuple, Value};

/// A return of a function.
#[derive(Debug, Clone)]
pub(crate) struct Returned {
    /// The block that it ends; none where nothing reaches it.
    pub block: Option<BlockId>,
    /// What it gives.
    pub value: Value,
    /// Where it stands.
    pub place: Place,
}

/// Code that nothing reaches is being evaluated: the state to go back to.
#[derive(Debug)]
pub(crate) struct Unreached {
    built: Checkpoint,
    functions: usize,
    errors: usize,
}

/// What the values have in common that a function returns.
pub(super) enum Form {
    /// One constant.
    Constant(Value),
    /// Run-time values of a type, and constants that become such.
    Tensor(Ty),
    /// Tuples, element by element.
    Tuple(Vec<Form>, Option<Rc<Class>>),
    /// Other values of one type: descriptors, instances.
    Other(Value),
}

impl Cx<'_> {
    pub(super) fn return_stmt(&mut self, value: Option<&Expr>) -> Result<Flow> {
        if self.scope.regions > 0 {
            return Err(self
                .error("a kernel cannot `return` inside of a run-time loop")
                .help("keep a result in a variable and return it after the loop"));
        }
        let value = match value {
            Some(value) => self.expr(value)?,
            None => Value::None,
        };
        self.record_return(value);
        Ok(Flow::Return)
    }

    /// Notes that the function returns here.
    pub(super) fn record_return(&mut self, value: Value) {
        let block = (!self.is_unreached()).then(|| self.b.cursor());
        let place = self.place;
        let (Returns::Inline(all) | Returns::Function(all)) = &mut self.scope.returns;
        all.push(Returned { block, value, place });
    }

    /// The returns of the function that was evaluated.
    pub(super) fn take_returns(&mut self) -> Vec<Returned> {
        match std::mem::replace(&mut self.scope.returns, Returns::Inline(Vec::new())) {
            Returns::Inline(all) | Returns::Function(all) => all,
        }
    }

    /// Whether nothing reaches what is being evaluated.
    pub(super) fn is_unreached(&self) -> bool {
        self.scope.unreached.is_some() || self.scope.in_unreached
    }

    /// From here on nothing is reached, until [`Cx::end_unreached`].
    pub(super) fn begin_unreached(&mut self) {
        if self.scope.unreached.is_none() {
            self.scope.unreached = Some(Unreached {
                built: self.b.checkpoint(),
                functions: self.functions.len(),
                errors: self.errors.len(),
            });
        }
    }

    /// Forgets what was built of code that nothing reaches, if there was any.
    pub(super) fn end_unreached(&mut self) {
        let Some(unreached) = self.scope.unreached.take() else {
            return;
        };
        self.b.rollback(&unreached.built);
        let unused = self
            .functions
            .split_off(unreached.functions.min(self.functions.len()));
        self.helpers
            .retain(|_, helper| unused.iter().all(|f| *f.name != *helper.symbol));
        let errors = self.errors.split_off(unreached.errors.min(self.errors.len()));
        self.errors.extend(errors.into_iter().map(|error| {
            error.note(
                "this follows a `return` under a constant condition: it never runs, but Triton compiles it, \
                 unless it stands in an `else`",
            )
        }));
    }

    /// What all returns of a function have in common; none without returns.
    ///
    /// # Errors
    /// Values of different types.
    pub(super) fn common_form(&self, function: &Function, returns: &[Returned]) -> Result<Option<Form>> {
        let Some((first, rest)) = returns.split_first() else {
            return Ok(None);
        };
        let mut form = Form::of(&first.value);
        for other in rest {
            form = match self.common(form, Form::of(&other.value)) {
                Some(form) => form,
                None => {
                    let source = self.program.source(first.place.module);
                    return Err(self
                        .error_at(
                            other.place.span,
                            format!("`{}` returns values of different types", function.def.ident.name),
                            &other.value.type_text(),
                        )
                        .at(&source, first.place.span.range(), first.value.type_text())
                        .help("convert one of them with `.to(…)`"));
                }
            };
        }
        Ok(Some(form))
    }

    /// Constants that differ become run-time values of the type that Triton gives them.
    fn common(&self, a: Form, b: Form) -> Option<Form> {
        match (a, b) {
            (Form::Tuple(a, class), Form::Tuple(b, other)) => {
                let same = match (&class, &other) {
                    (Some(a), Some(b)) => Rc::ptr_eq(a, b),
                    (None, None) => true,
                    _ => false,
                };
                if !same || a.len() != b.len() {
                    return None;
                }
                let items = a.into_iter().zip(b).map(|(a, b)| self.common(a, b));
                Some(Form::Tuple(items.collect::<Option<_>>()?, class))
            }
            (Form::Constant(a), Form::Constant(b)) if a.same(&b) => Some(Form::Constant(a)),
            (Form::Other(a), Form::Other(b)) => a.same_type(&b).then_some(Form::Other(a)),
            (a, b) => {
                let ty = self.tensor_type(&a)?;
                (ty == self.tensor_type(&b)?).then_some(Form::Tensor(ty))
            }
        }
    }

    fn tensor_type(&self, form: &Form) -> Option<Ty> {
        match form {
            Form::Tensor(ty) => Some(ty.clone()),
            Form::Constant(value) => self.constant_dtype(value).ok().map(Ty::num),
            Form::Tuple(..) | Form::Other(_) => None,
        }
    }

    /// A returned value in the form that all have.
    pub(super) fn in_form(&mut self, value: &Value, form: &Form) -> Result<Value> {
        match (value, form) {
            (Value::Bool(_) | Value::Int(_) | Value::Float(_), Form::Tensor(_)) => {
                Ok(Value::Tensor(self.to_tensor(value)?))
            }
            (Value::Tuple(tuple), Form::Tuple(forms, _)) => {
                let mut items = Vec::with_capacity(tuple.items.len());
                for (item, form) in tuple.items.iter().zip(forms) {
                    items.push(self.in_form(item, form)?);
                }
                Ok(Value::Tuple(Tuple {
                    items: items.into(),
                    class: tuple.class.clone(),
                }))
            }
            _ => Ok(value.clone()),
        }
    }
}

impl Form {
    fn of(value: &Value) -> Form {
        match value {
            Value::Tensor(tensor) => Form::Tensor(tensor.ty.clone()),
            Value::Tuple(tuple) => {
                Form::Tuple(tuple.items.iter().map(Form::of).collect(), tuple.class.clone())
            }
            Value::Descriptor(_) | Value::Instance(_) => Form::Other(value.clone()),
            constant => Form::Constant(constant.clone()),
        }
    }
}
