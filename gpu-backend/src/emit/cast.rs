//! Conversions between element types.

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::Rounding;
use tilescope_ir::{Attrs, Elem, Function, OpCode, OpId};

use super::Emitter;
use super::arith::lanewise;

/// All casts.
pub fn cast(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&from), Some(&to)) = (data.operands.first(), data.results.first()) else {
        return Ok(());
    };
    let (Some(source), Some(target)) = (function.ty(from).elem(), function.ty(to).elem()) else {
        return Err(e.unsupported(function, op, "a cast of descriptors"));
    };
    e.type_of(source)?;
    let name = e.type_of(target)?;
    let expression = match data.code {
        OpCode::ExtSI | OpCode::TruncI | OpCode::IndexCast => format!("ts::int_cast<{name}>($0)"),
        OpCode::ExtUI | OpCode::IndexCastUi => format!("ts::int_cast_unsigned<{name}>($0)"),
        OpCode::ExtF | OpCode::TruncF => format!("ts::float_cast<{name}>($0)"),
        OpCode::FpToFp => match data.attrs {
            Attrs::FpToFp(Some(Rounding::Rtz)) => format!("ts::float_cast_rtz<{name}>($0)"),
            _ => format!("ts::float_cast<{name}>($0)"),
        },
        OpCode::SiToFp => format!("ts::from_signed<{name}>($0)"),
        OpCode::UiToFp => format!("ts::from_unsigned<{name}>($0)"),
        OpCode::FpToSi => format!("ts::to_signed<{name}>($0)"),
        OpCode::FpToUi => format!("ts::to_unsigned<{name}>($0)"),
        OpCode::IntToPtr => format!("({name})(ts::u64)($0)"),
        OpCode::PtrToInt => format!("({name})(ts::u64)($0)"),
        _ => match (source, target) {
            (a, b) if a == b => String::from("$0"),
            (Elem::Ptr(_), Elem::Ptr(_)) => format!("({name})($0)"),
            (a, b) if a.bytes() != b.bytes() => {
                return Err(e.unsupported(function, op, format!("a bit cast from {a} to {b}")));
            }
            _ => format!("ts::bits_as<{name}>($0)"),
        },
    };
    lanewise(e, function, op, &expression)
}
