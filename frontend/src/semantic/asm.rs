//! Inline assembly and functions of device libraries.

use tilescope_ir::attrs::{Extern, InlineAsm};
use tilescope_ir::{Attrs, OpCode, Type, Values};

use super::descriptor::list;
use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, Ty};
use crate::value::{Tensor, Value};

/// A function of a device library for one list of argument types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternSymbol {
    /// Types of the arguments.
    pub args: Vec<Dtype>,
    /// The symbol, for example `__nv_tanhf`.
    pub symbol: String,
    /// Type of the result.
    pub result: Dtype,
}

impl Cx<'_> {
    /// `tl.inline_asm_elementwise`: one tensor per element type in `dtypes`.
    ///
    /// # Errors
    /// Shapes that do not broadcast, no result.
    pub fn inline_asm(
        &mut self,
        asm: &str,
        constraints: &str,
        args: &[Value],
        dtypes: &[Elem],
        is_pure: bool,
        pack: u32,
    ) -> Result<Vec<Tensor>> {
        if dtypes.is_empty() || pack == 0 {
            return Err(self
                .error("`inline_asm_elementwise` needs a result type and a pack of at least 1")
                .help("give a type that is not used: `dtype=tl.int32`"));
        }
        let mut tensors = Vec::with_capacity(args.len());
        for arg in args {
            tensors.push(self.to_tensor(arg)?);
        }
        let tensors = self.broadcast_all(&tensors)?;
        let types: Vec<Ty> = dtypes
            .iter()
            .map(|&elem| tensors.first().map_or(Ty::Scalar(elem), |t| t.ty.with_elem(elem)))
            .collect();
        let ir: Vec<Type> = types.iter().filter_map(Ty::ir).collect();
        let attrs = Attrs::InlineAsm(Box::new(InlineAsm {
            text: asm.into(),
            constraints: constraints.into(),
            pure: is_pure,
            packed: pack,
        }));
        let operands: Values = tensors.iter().map(|t| t.value).collect();
        let op = self.b.op(OpCode::InlineAsm, &operands, attrs, &ir);
        let values = self.b.function().ops[op].results.clone();
        Ok(values
            .into_iter()
            .zip(types)
            .map(|(value, ty)| Tensor { value, ty })
            .collect())
    }

    /// `tl.extern_elementwise`, `libdevice.…`: the row of `table` whose types are the arguments'.
    ///
    /// # Errors
    /// Types that no row has; `name` is for the message.
    pub fn extern_elementwise(
        &mut self,
        name: &str,
        library: (&str, &str),
        args: &[Value],
        table: &[ExternSymbol],
        is_pure: bool,
    ) -> Result<Tensor> {
        let mut tensors = Vec::with_capacity(args.len());
        let mut dtypes = Vec::with_capacity(args.len());
        for arg in args {
            let tensor = self.to_tensor(arg)?;
            dtypes.push(self.number_type(&tensor)?);
            tensors.push(tensor);
        }
        let Some(row) = table.iter().find(|row| row.args == dtypes) else {
            let rows: Vec<String> = table.iter().map(|r| format!("({})", list(&r.args))).collect();
            return Err(self
                .error(format!(
                    "`{name}` of ({}): there is no such function",
                    list(&dtypes)
                ))
                .help(format!("it takes {}; cast the arguments", rows.join(", "))));
        };
        let tensors = self.broadcast_all(&tensors)?;
        let result = Elem::Num(row.result);
        let ty = tensors
            .first()
            .map_or(Ty::Scalar(result), |t| t.ty.with_elem(result));
        let attrs = Attrs::Extern(Box::new(Extern {
            libname: library.0.into(),
            libpath: library.1.into(),
            symbol: row.symbol.as_str().into(),
            pure: is_pure,
        }));
        let operands: Vec<&Tensor> = tensors.iter().collect();
        Ok(self.emit(OpCode::ExternElementwise, &operands, attrs, ty))
    }
}
