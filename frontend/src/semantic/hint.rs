//! Hints to the compiler, barriers, prints and asserts.

use std::sync::Arc;

use tilescope_ir::attrs::Print;
use tilescope_ir::{AttrValue, Attrs, Constant, Def, OpCode, Scalar};

use crate::ast::BinaryOp;
use crate::cx::{Cx, Result};
use crate::types::Dtype;
use crate::value::Value;

/// What `tl.multiple_of` and the like say of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hint {
    /// `tl.multiple_of`.
    Divisibility,
    /// `tl.max_contiguous`.
    Contiguity,
    /// `tl.max_constancy`.
    Constancy,
}

impl Hint {
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Hint::Divisibility => ("multiple_of", "tt.divisibility"),
            Hint::Contiguity => ("max_contiguous", "tt.contiguity"),
            Hint::Constancy => ("max_constancy", "tt.constancy"),
        }
    }
}

impl Cx<'_> {
    /// `tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`: an attribute of the op that made the value.
    ///
    /// A block argument is made by no op: there the hint is lost, as in Triton.
    ///
    /// # Errors
    /// Another number of values than dimensions.
    pub fn hint(&mut self, hint: Hint, x: &Value, values: &[i64]) -> Result<Value> {
        let (name, attr) = hint.names();
        let tensor = self.tensor(x, &format!("the operand of `{name}`"))?;
        let rank = tensor.shape().rank();
        let wanted = if hint == Hint::Divisibility {
            rank.max(1)
        } else {
            rank
        };
        if values.len() != wanted {
            return Err(self.error(format!(
                "`{name}` with {} values of a value of {rank} dimensions",
                values.len()
            )));
        }
        let bits = |v: i64| u64::from(v as u32);
        let constant = match values.first() {
            Some(&first) if values.iter().all(|&v| v == first) => Constant::Splat(bits(first)),
            Some(_) => Constant::Dense(values.iter().map(|&v| bits(v)).collect()),
            None => return Ok(x.clone()),
        };
        if let Def::Result(op, _) = self.b.function().values[tensor.value].def {
            let value = AttrValue::Dense(constant, vec![values.len() as u64], Scalar::I32);
            self.b.set_attr(op, attr, value);
        }
        Ok(x.clone())
    }

    /// `tl.assume`.
    ///
    /// # Errors
    /// What is not one truth value.
    pub fn assume(&mut self, condition: &Value) -> Result<()> {
        let condition = self.to_tensor(condition)?;
        if condition.dtype() != Some(Dtype::Int1) || condition.is_block() {
            return Err(self
                .error(format!(
                    "`assume` of a value of type {}: one truth value is needed",
                    condition.ty
                ))
                .help("compare: `tl.assume(stride > 0)`"));
        }
        self.b.op(OpCode::Assume, &[condition.value], Attrs::None, &[]);
        Ok(())
    }

    /// `tl.device_assert`, `assert`: kept whatever `TRITON_DEBUG` is; a mask of `None` is none.
    ///
    /// # Errors
    /// A condition that is no truth value.
    pub fn device_assert(&mut self, condition: &Value, message: &str, mask: &Value) -> Result<()> {
        let mut condition = self.to_tensor(condition)?;
        if condition.dtype() != Some(Dtype::Int1) {
            return Err(self
                .error(format!(
                    "an assertion of a value of type {}: truth values are needed",
                    condition.ty
                ))
                .help("compare: `tl.device_assert(n > 0)`"));
        }
        if let Some(mask) = self.optional(mask)? {
            let mask = self.truth(&mask, "not")?;
            let outside = self.invert(&mask)?;
            let both = self.binary(BinaryOp::Or, &condition.into(), &outside.into())?;
            condition = self.to_tensor(&both)?;
        }
        let attrs = Attrs::Message(message.into());
        self.b.op(OpCode::Assert, &[condition.value], attrs, &[]);
        Ok(())
    }

    /// `tl.device_print`, `print`.
    ///
    /// # Errors
    /// Arguments that no tensor holds, a prefix that is not ASCII.
    pub fn device_print(&mut self, prefix: &str, args: &[Value], hex: bool) -> Result<()> {
        if !prefix.is_ascii() {
            return Err(self.error(format!("the prefix {prefix:?} of `device_print` is not ASCII")));
        }
        let mut values = Vec::with_capacity(args.len());
        let mut signed = Vec::with_capacity(args.len());
        for arg in args {
            let tensor = self.to_tensor(arg)?;
            if tensor.ty.elem().is_none() {
                return Err(self.error(format!("a value of type {} is not printed", tensor.ty)));
            }
            values.push(tensor.value);
            signed.push(tensor.dtype().is_some_and(Dtype::is_signed));
        }
        let attrs = Attrs::Print(Box::new(Print {
            prefix: printed_prefix(prefix, !args.is_empty()),
            hex,
            signed,
        }));
        self.b.op(OpCode::Print, &values, attrs, &[]);
        Ok(())
    }

    /// `tl.debug_barrier`.
    pub fn debug_barrier(&mut self) {
        self.b.op(OpCode::Barrier, &[], Attrs::Barrier("all".into()), &[]);
    }

    /// `tl.extra.cuda.gdc_wait`.
    pub fn gdc_wait(&mut self) {
        self.b.op(OpCode::GridWait, &[], Attrs::None, &[]);
    }

    /// `tl.extra.cuda.gdc_launch_dependents`.
    pub fn gdc_launch_dependents(&mut self) {
        self.b.op(OpCode::GridLaunchDependents, &[], Attrs::None, &[]);
    }
}

/// As Triton prints it: set off from the program's index before it and the values after it.
fn printed_prefix(prefix: &str, values: bool) -> Arc<str> {
    let mut text = prefix.to_string();
    if values {
        if !text.ends_with(' ') {
            text.push(' ');
        }
        if !text.ends_with(": ") {
            text.pop();
            text.push_str(": ");
        }
    }
    if text.len() > 2 && !text.starts_with(' ') {
        text.insert(0, ' ');
    }
    text.into()
}
