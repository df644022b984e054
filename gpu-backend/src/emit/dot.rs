//! `tt.dot` by fused multiply-adds: operands in shared memory, each thread sums its own elements in rising k, as the interpreter does.
//!
//! Left out: tensor cores. `tf32` cuts its operands as they do.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::InputPrecision;
use tilescope_ir::{Attrs, Elem, Function, OpId, Scalar, Type};

use super::Emitter;
use super::loops::Body;
use super::tile::{Bound, Tile, TileKind};
use crate::layout::Layout;

/// The layout in which reading a tile moves nothing between threads.
pub(super) fn natural(e: &mut Emitter<'_>, tile: &Rc<Tile>) -> Rc<Layout> {
    match &tile.kind {
        TileKind::Array { layout } => layout.clone(),
        TileKind::View { map, operand }
            if operand.reads && operand.shape.elements() == tile.shape.elements() =>
        {
            let own = natural(e, operand);
            let back = |bases: &[u32]| {
                bases
                    .iter()
                    .map(|&b| map.preimage(b))
                    .collect::<Option<Vec<u32>>>()
            };
            match (back(&own.regs), back(&own.threads), map.offset()) {
                (Some(regs), Some(threads), 0) => Rc::new(Layout { regs, threads }),
                _ => e.layout(tile.shape),
            }
        }
        _ => e.layout(tile.shape),
    }
}

/// Puts a tile into shared memory, row-major with padded rows; `convert` is applied to each element.
pub(super) fn stage(
    e: &mut Emitter<'_>,
    tile: &Rc<Tile>,
    slots: &str,
    ctype: &str,
    row: usize,
    convert: &str,
) -> Result<()> {
    let layout = natural(e, tile);
    let access = layout.identity();
    e.prepare(tile, &access)?;
    e.flush();
    let mut body = Body::default();
    let value = e.element(&mut body, tile, &access, "r")?;
    let index = e.index(&access, "r");
    e.open_registers(layout.registers(), 1);
    e.put(&mut body);
    let value = super::loops::place(convert, &[value]);
    e.line(format!("{slots}[ts::padded<{ctype}, {row}>({index})] = {value};"));
    e.close("}");
    Ok(())
}

/// Bytes of a staged tile.
pub(super) fn staged_bytes(elements: usize, row: usize, bytes: usize) -> usize {
    let padding = if bytes >= 8 { 0 } else { 4 / bytes };
    ((elements + elements / row.max(1) * padding) * bytes).next_multiple_of(16)
}

/// `tt.dot`.
pub fn dot(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let ([a, b, c], Some(&result)) = (&data.operands[..], data.results.first()) else {
        return Ok(());
    };
    let [a, b, c] = [
        e.tile(function, op, *a)?,
        e.tile(function, op, *b)?,
        e.tile(function, op, *c)?,
    ];
    let Type::Tile(shape, elem) = function.ty(result) else {
        return Ok(());
    };
    let rank = shape.rank();
    if !(2..=3).contains(&rank) {
        return Err(e.unsupported(function, op, format!("a dot of rank {rank}")));
    }
    let (m, n, k) = (shape.dim(rank - 2), shape.dim(rank - 1), a.shape.dim(rank - 1));
    let tf32 = matches!(
        data.attrs,
        Attrs::Dot {
            precision: InputPrecision::Tf32,
            ..
        }
    );
    // What operands are held as, what is summed, and the step.
    let (held, sum, convert, step) = match (a.elem, elem) {
        (Elem::Scalar(Scalar::F64), _) => ("double", "double", "$0", "ts::fma"),
        (Elem::Scalar(Scalar::I8), Elem::Scalar(Scalar::I32)) => ("ts::i8", "int", "$0", "int_step"),
        (Elem::Scalar(Scalar::F32), _) if tf32 => ("float", "float", "ts::cut_tf32($0)", "ts::fma"),
        (Elem::Scalar(s), Elem::Scalar(r)) if s.is_float() && r.is_float() => {
            ("float", "float", "ts::widen($0)", "ts::fma")
        }
        (from, to) => return Err(e.unsupported(function, op, format!("a dot of {from} to {to}"))),
    };
    let ctype = e.type_of(elem)?;
    for tile in [&a, &b] {
        let access = natural(e, tile).identity();
        e.prepare(tile, &access)?;
    }
    let layout = e.layout(shape);
    let access = layout.identity();
    e.prepare(&c, &access)?;
    e.flush();
    e.note(data);
    let name = e.name_of(function, result);
    let sums = if ctype == sum {
        name.clone()
    } else {
        e.names.fresh(&format!("{name}_sum"))
    };
    let registers = layout.registers();
    e.line(format!("{sum} {sums}[{registers}];"));
    let mut body = Body::default();
    let start = e.element(&mut body, &c, &access, "r")?;
    e.open_registers(registers, 1);
    e.put(&mut body);
    let start = if ctype == sum {
        start
    } else {
        format!("ts::widen({start})")
    };
    e.line(format!("{sums}[r] = {start};"));
    e.close("}");
    let bytes = match held {
        "double" => 8,
        "ts::i8" => 1,
        _ => 4,
    };
    let left = staged_bytes(a.shape.elements(), k, bytes);
    let right = staged_bytes(b.shape.elements(), n, bytes);
    let shared = e.shared((left + right).max(super::SMALL as usize + 16) as u32);
    e.open("{");
    let (left_slots, right_slots) = (e.names.fresh("left"), e.names.fresh("right"));
    e.line(format!("{held}* const {left_slots} = ts::at<{held}>{shared};"));
    e.line(format!(
        "{held}* const {right_slots} = ts::at<{held}>({shared} + {left});"
    ));
    stage(e, &a, &left_slots, held, k, convert)?;
    stage(e, &b, &right_slots, held, n, convert)?;
    e.line("ts::barrier();");
    let index = e.index(&access, "r");
    e.line("#pragma unroll 2");
    e.open(format!("for (int k = 0; k < {k}; ++k) {{"));
    e.open_registers(registers, 1);
    e.line(format!("const int index = {index};"));
    let row = format!("(index >> {})", n.trailing_zeros());
    let batch = match rank {
        3 => format!("(index >> {}) * {k} + k", n.trailing_zeros() + m.trailing_zeros()),
        _ => String::from("k"),
    };
    let x = format!("{left_slots}[ts::padded<{held}, {k}>({row} * {k} + k)]");
    let y = format!(
        "{right_slots}[ts::padded<{held}, {n}>(({batch}) * {n} + (index & {}))]",
        n - 1
    );
    match step {
        "int_step" => e.line(format!("{sums}[r] = ts::add({sums}[r], int({x}) * int({y}));")),
        step => e.line(format!("{sums}[r] = {step}({x}, {y}, {sums}[r]);")),
    }
    e.close("}");
    e.close("}");
    e.close("}");
    if ctype != sum {
        e.line(format!("{ctype} {name}[{registers}];"));
        e.open_registers(registers, 1);
        e.line(format!("{name}[r] = ts::float_cast<{ctype}>({sums}[r]);"));
        e.close("}");
    }
    let tile = e.make(name, shape, elem, TileKind::Array { layout });
    e.bind(result, Bound::Tile(tile));
    Ok(())
}
