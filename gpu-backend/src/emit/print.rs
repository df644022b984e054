//! `tt.print`: operands go to a buffer that the host reads after the launch ([`crate::prints`]).

use tilescope_diagnostics::Result;
use tilescope_ir::{Function, OpId, ValueId};

use super::Emitter;
use super::dot::natural;
use super::loops::Body;
use super::tile::Bound;
use crate::checked::PlaceKind;

/// `tt.print`.
pub fn print(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    super::undefined::used(e, function, op, &data.operands)?;
    let Some((place, _)) = e.place(op, PlaceKind::Print, 0) else {
        return Ok(());
    };
    e.flush();
    let mut offsets = Vec::new();
    let mut bytes = 0;
    for &value in &data.operands {
        offsets.push(bytes);
        bytes += crate::prints::operand_bytes(function, value).0;
    }
    let shared = e.shared(16);
    e.note(data);
    e.open("{");
    e.line(format!(
        "unsigned char* const line = ts::print_line(print_buffer, program, lines++, {place}u, {bytes}u, {shared});"
    ));
    for (&value, offset) in data.operands.iter().zip(offsets) {
        if matches!(e.bound(value), Bound::Block(_)) {
            return Err(e.unsupported(function, op, "a print of descriptors"));
        }
        lanes(e, function, value, offset)?;
    }
    e.close("}");
    Ok(())
}

/// Writes the lanes of a value, row-major, so many bytes behind `line`, if that is an address. Tiles are read where they are;
/// formulas are computed as where they are used.
pub(super) fn lanes(e: &mut Emitter<'_>, function: &Function, value: ValueId, offset: usize) -> Result<()> {
    let Some(elem) = function.ty(value).elem() else {
        return Ok(());
    };
    let ctype = e.type_of(elem)?;
    let to = format!("ts::at<{ctype}>(line + {offset})");
    let tile = match e.bound(value) {
        Bound::Tile(tile) => tile,
        Bound::Scalar(text) => {
            e.line(format!("if (tid == 0 && line != nullptr) *{to} = {text};"));
            return Ok(());
        }
        Bound::Block(_) => return Ok(()),
    };
    let layout = natural(e, &tile);
    let access = layout.identity();
    e.prepare(&tile, &access)?;
    e.flush();
    e.open_registers(layout.registers(), 1);
    let mut body = Body::default();
    let element = e.element(&mut body, &tile, &access, "r")?;
    e.put(&mut body);
    let (lane, mine) = e.lane(&access, &layout);
    e.line(format!(
        "if ({mine} && line != nullptr) {to}[{lane}] = {element};"
    ));
    e.close("}");
    Ok(())
}
