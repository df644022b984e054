//! Functions of device libraries (`tl.extra.libdevice`) and inline assembly.
//!
//! Which symbol is called depends on the types of the arguments, see the table. The interpreter knows most of the
//! symbols and refuses the others by name when the kernel runs.

use std::rc::Rc;

use super::args::{Arg, FromArg};
use super::libdevice_table::SIGNATURES;
use super::{Bound, builtins};
use crate::cx::{Cx, Result};
use crate::semantic::asm::ExternSymbol;
use crate::types::{Dtype, Elem, Ty};
use crate::value::{Tensor, Value};

builtins! { TABLE in "triton.language";
    Function "inline_asm_elementwise" "asm, constraints, args, dtype, is_pure, pack" => inline_asm,
        "PTX on the lanes of tensors; what of it runs is listed in `inline-assembly.md`.";
}

builtins! { EXTERN in "triton.language.core";
    Function "extern_elementwise" "lib_name, lib_path, args, arg_type_symbol_dict, is_pure" => extern_elementwise,
        "A function of a device library, by the types of the arguments.";
}

/// Functions whose results Triton makes truth values of.
const TRUTH: [&str; 4] = ["finitef", "isfinited", "isinf", "isnan"];

pub(super) fn lower(cx: &mut Cx<'_>, args: &Bound) -> Result<Value> {
    let name = args.builtin.name;
    let signatures = SIGNATURES
        .iter()
        .find(|(row, _)| *row == name)
        .map_or("", |(_, s)| *s);
    let table: Vec<ExternSymbol> = signatures.split(';').filter_map(symbol).collect();
    let out = cx.extern_elementwise(name, ("", ""), &args.values, &table, true)?;
    if TRUTH.contains(&name) {
        return cx.cast(&out, Elem::Num(Dtype::Int1), None).map(Value::Tensor);
    }
    Ok(out.into())
}

/// Reads `tanhf(fp32) fp32`.
fn symbol(text: &str) -> Option<ExternSymbol> {
    let (name, rest) = text.trim().split_once('(')?;
    let (args, result) = rest.split_once(')')?;
    let args: Option<Vec<Dtype>> = args.split(',').map(|arg| number_type(arg.trim())).collect();
    Some(ExternSymbol {
        args: args?,
        symbol: format!("__nv_{name}"),
        result: number_type(result.trim())?,
    })
}

fn number_type(name: &str) -> Option<Dtype> {
    Dtype::ALL.into_iter().find(|dtype| dtype.name() == name)
}

/// The types of the results: one, or several in a tuple.
#[derive(Debug)]
struct Results {
    elems: Vec<Elem>,
    is_tuple: bool,
}

impl FromArg for Results {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        let is_tuple = matches!(arg.value, Value::Tuple(_) | Value::List(_));
        let mut elems = Vec::new();
        if is_tuple {
            for item in Vec::<Value>::from_arg(cx, arg)? {
                elems.push(Elem::from_arg(cx, arg.with(&item))?);
            }
        } else {
            elems.push(Elem::from_arg(cx, arg)?);
        }
        Ok(Results { elems, is_tuple })
    }
}

fn inline_asm(
    cx: &mut Cx<'_>,
    asm: Rc<str>,
    constraints: Rc<str>,
    args: Vec<Value>,
    dtype: Results,
    is_pure: bool,
    pack: i64,
) -> Result<Value> {
    let Some(pack) = u32::try_from(pack).ok().filter(|pack| *pack >= 1) else {
        return Err(cx.error(format!("`pack` must be at least 1, not {pack}")));
    };
    let out = cx.inline_asm(&asm, &constraints, &args, &dtype.elems, is_pure, pack)?;
    match <[Tensor; 1]>::try_from(out) {
        Ok([single]) if !dtype.is_tuple => Ok(single.into()),
        Ok(single) => Ok(Vec::from(single).into()),
        Err(several) => Ok(several.into()),
    }
}

/// The table of a dictionary from tuples of types to a symbol and its type.
struct Symbols(Vec<ExternSymbol>);

impl FromArg for Symbols {
    fn from_arg(cx: &mut Cx<'_>, arg: Arg<'_>) -> Result<Self> {
        const WHAT: &str = "a dictionary from types of arguments to a symbol and the type of its result";
        let Value::Dict(dict) = arg.value else {
            return Err(arg.mismatch(cx, WHAT));
        };
        let read = |(key, value): &(Value, Value)| {
            let (Value::Tuple(key), Value::Tuple(value)) = (key, value) else {
                return None;
            };
            let number = |value: &Value| match value {
                Value::Type(Ty::Scalar(Elem::Num(dtype))) => Some(*dtype),
                _ => None,
            };
            let args: Option<Vec<Dtype>> = key.items.iter().map(number).collect();
            match &*value.items {
                [Value::Str(symbol), result] => Some(ExternSymbol {
                    args: args?,
                    symbol: symbol.to_string(),
                    result: number(result)?,
                }),
                _ => None,
            }
        };
        let rows: Option<Vec<ExternSymbol>> = dict.borrow().iter().map(read).collect();
        match rows {
            Some(rows) => Ok(Symbols(rows)),
            None => Err(arg.mismatch(cx, WHAT)),
        }
    }
}

fn extern_elementwise(
    cx: &mut Cx<'_>,
    lib_name: Rc<str>,
    lib_path: Rc<str>,
    args: Vec<Value>,
    table: Symbols,
    is_pure: bool,
) -> Result<Tensor> {
    let name = table.0.first().map_or_else(String::new, |row| row.symbol.clone());
    cx.extern_elementwise(&name, (&lib_name, &lib_path), &args, &table.0, is_pure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_signature_reads() {
        let mut count = 0;
        for (name, signatures) in SIGNATURES {
            for text in signatures.split(';') {
                let symbol = symbol(text).unwrap_or_else(|| panic!("{name}: {text}"));
                assert!(
                    !symbol.args.is_empty() && symbol.symbol.len() > 5,
                    "{name}: {text}"
                );
                count += 1;
            }
        }
        assert!(
            SIGNATURES.len() > 190 && count > 300,
            "{} {count}",
            SIGNATURES.len()
        );
    }
}
