//! `tt.map_elementwise`: its region becomes a lambda on the elements of one lane, control flow and all.
//!
//! Left out: regions that take several lanes at once.

use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Function, OpId, Type};

use super::Emitter;
use super::loops::Body;
use super::tile::{Bound, TileKind};

/// `tt.map_elementwise`.
pub fn map_elementwise(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let entry = data
        .regions
        .first()
        .and_then(|&r| function.regions[r].blocks.first().copied());
    let (Attrs::Map(1), Some(entry)) = (&data.attrs, entry) else {
        return Err(e.unsupported(function, op, format!("{} of several lanes at once", data.code)));
    };
    let shape = data.results.first().and_then(|&v| function.ty(v).shape());
    let Some(shape) = shape else { return Ok(()) };
    let layout = e.layout(shape);
    let access = layout.identity();
    let mut tiles = Vec::new();
    for &operand in &data.operands {
        let tile = e.tile(function, op, operand)?;
        e.prepare(&tile, &access)?;
        tiles.push(tile);
    }
    e.flush();
    e.note(data);
    let item = e.names.fresh("mapped");
    let mut members = Vec::new();
    for (i, &result) in data.results.iter().enumerate() {
        let Some(elem) = function.ty(result).elem() else {
            continue;
        };
        members.push(format!("{} v{i};", e.type_of(elem)?));
    }
    e.tables
        .push(format!("struct {item} {{ {} }};", members.join(" ")));
    let name = e.names.fresh("map");
    let mut parameters = Vec::new();
    for &arg in &function.blocks[entry].args {
        let Type::Scalar(elem) = function.ty(arg) else {
            continue;
        };
        let parameter = e.name_of(function, arg);
        parameters.push(format!("{} {parameter}", e.type_of(elem)?));
        e.bind(arg, Bound::Scalar(parameter));
    }
    e.open(format!(
        "auto const {name} = [&]({}) -> {item} {{",
        parameters.join(", ")
    ));
    let outer = e.map_result.replace(item.clone());
    let inner = std::mem::replace(&mut e.in_lambda, true);
    let emitted = e.region_body(function, entry);
    e.in_lambda = inner;
    e.map_result = outer;
    emitted?;
    e.close("};");
    let registers = layout.registers();
    let mut names = Vec::new();
    for &result in &data.results {
        let Some(elem) = function.ty(result).elem() else {
            continue;
        };
        let name = e.name_of(function, result);
        e.line(format!("{} {name}[{registers}];", e.type_of(elem)?));
        names.push((result, elem, name));
    }
    e.open_registers(registers, 1);
    let mut body = Body::default();
    let mut values = Vec::new();
    for tile in &tiles {
        values.push(e.element(&mut body, tile, &access, "r")?);
    }
    e.put(&mut body);
    let one = e.names.fresh("one");
    e.line(format!("{item} const {one} = {name}({});", values.join(", ")));
    for (i, (_, _, name)) in names.iter().enumerate() {
        e.line(format!("{name}[r] = {one}.v{i};"));
    }
    e.close("}");
    for (result, elem, name) in names {
        let kind = TileKind::Array {
            layout: layout.clone(),
        };
        let tile = e.make(name, shape, elem, kind);
        e.bind(result, Bound::Tile(tile));
    }
    Ok(())
}

/// The end of a map's region; those of a reduce or scan are read by their owners.
pub fn region_return(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    if let Some(item) = e.map_result.clone() {
        let values: Vec<String> = function.ops[op].operands.iter().map(|&v| e.scalar(v)).collect();
        e.line(format!("return {item}{{{}}};", values.join(", ")));
    }
    Ok(())
}
