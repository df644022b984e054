//! Reduce, scan, histogram: first in a thread's registers, then across lanes by shuffles, then across warps through shared memory.
//!
//! The region becomes a lambda on one element, or on a struct of several.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::{Attrs, Elem, Function, OpCode, OpId, Shape, Type, ValueId};

use super::tile::{Bound, Tile, TileKind};
use super::{Emitter, text};
use crate::layout::{Blocked, LANE_BITS, Layout, blocked, coordinate, drop_dimension, slice};

/// What is combined: one element, or a struct of one per operand.
struct Item {
    ctype: String,
    fields: Vec<(String, Elem)>,
}

impl Item {
    fn of(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<Item> {
        let data = &function.ops[op];
        let mut fields = Vec::new();
        for &operand in &data.operands {
            let Some(elem @ Elem::Scalar(_)) = function.ty(operand).elem() else {
                return Err(e.unsupported(function, op, format!("{} of pointers", data.code)));
            };
            fields.push((e.type_of(elem)?, elem));
        }
        if let [(ctype, _)] = &fields[..] {
            return Ok(Item {
                ctype: ctype.clone(),
                fields,
            });
        }
        let name = e.names.fresh("item");
        let members: Vec<String> = fields
            .iter()
            .enumerate()
            .map(|(i, (t, _))| format!("{t} v{i};"))
            .collect();
        e.tables
            .push(format!("struct {name} {{ {} }};", members.join(" ")));
        Ok(Item { ctype: name, fields })
    }

    /// The expression of a field of an item.
    fn field(&self, item: &str, index: usize) -> String {
        match self.fields.len() {
            1 => item.to_string(),
            _ => format!("{item}.v{index}"),
        }
    }

    /// An item made of its fields.
    fn pack(&self, fields: &[String]) -> String {
        match fields {
            [one] => one.clone(),
            _ => format!("{}{{{}}}", self.ctype, fields.join(", ")),
        }
    }

    /// Bytes, at most.
    fn bytes(&self) -> usize {
        let widest = self.fields.iter().map(|f| f.1.bytes()).max().unwrap_or(1);
        match self.fields.len() {
            1 => widest,
            n => widest * n,
        }
    }
}

/// Emits the region as a lambda; gives its name, and whether its operands may be exchanged.
fn lambda(e: &mut Emitter<'_>, function: &Function, op: OpId, item: &Item) -> Result<(String, bool)> {
    let name = e.names.fresh("combine");
    let (lhs, rhs) = (e.names.fresh("lhs"), e.names.fresh("rhs"));
    e.open(format!(
        "auto const {name} = [&]({0} {lhs}, {0} {rhs}) {{",
        item.ctype
    ));
    let args = e.region_args(function, op, 0).to_vec();
    let n = item.fields.len();
    for (i, &arg) in args.iter().enumerate() {
        let source = if i < n { &lhs } else { &rhs };
        let text = item.field(source, i % n);
        e.bind(arg, Bound::Scalar(text));
    }
    let outer = std::mem::replace(&mut e.in_lambda, true);
    let last = e.region(function, op, 0);
    e.in_lambda = outer;
    let last = last?;
    let results: Vec<String> = function.ops[last].operands.iter().map(|&v| e.scalar(v)).collect();
    e.line(format!("return {};", item.pack(&results)));
    e.close("};");
    Ok((name, is_commutative(function, op)))
}

/// A region of one operation that does not care about the order of its two operands.
fn is_commutative(function: &Function, op: OpId) -> bool {
    use OpCode::*;
    let region = function.ops[op].regions.first();
    let block = region.and_then(|&r| function.regions[r].blocks.first());
    let Some([first, _]) = block.map(|&b| &function.blocks[b].ops[..]) else {
        return false;
    };
    matches!(
        function.ops[*first].code,
        AddI | AddF
            | MulI
            | MulF
            | AndI
            | OrI
            | XorI
            | MinSI
            | MaxSI
            | MinUI
            | MaxUI
            | MinimumF
            | MaximumF
            | MinNumF
            | MaxNumF
    )
}

/// The operands as arrays of one layout, in which every basis vector lies along the axis or across it.
fn operands(
    e: &mut Emitter<'_>,
    function: &Function,
    op: OpId,
    want: Option<Layout>,
) -> Result<(Vec<Rc<Tile>>, Rc<Layout>, Shape)> {
    let data = &function.ops[op];
    let mut arrays: Vec<Rc<Tile>> = Vec::new();
    let mut layout: Option<Rc<Layout>> = want.map(Rc::new);
    for &operand in &data.operands {
        let tile = e.tile(function, op, operand)?;
        let (array, own) = e.array(&tile)?;
        let is_simple = own.regs.iter().chain(&own.threads).all(|b| b.count_ones() <= 1)
            && own.regs.iter().all(|&b| b != 0);
        let wanted = match &layout {
            Some(layout) => layout.clone(),
            None if is_simple => own.clone(),
            None => e.layout(tile.shape),
        };
        layout = Some(wanted.clone());
        if own == wanted {
            arrays.push(array);
            continue;
        }
        let name = e.names.fresh(&array.name);
        let ctype = e.type_of(tile.elem)?;
        e.line(format!("{ctype} {name}[{}];", wanted.registers()));
        e.copy_to(&array, &name, &wanted)?;
        arrays.push(e.make(name, tile.shape, tile.elem, TileKind::Array { layout: wanted }));
    }
    match (layout, arrays.first().map(|a| a.shape)) {
        (Some(layout), Some(shape)) => Ok((arrays, layout, shape)),
        _ => Err(e.unsupported(function, op, format!("{} without operands", data.code))),
    }
}

/// Bits of a basis list that lie along the axis, as positions; the rest.
fn along(bases: &[u32], shape: Shape, axis: usize) -> (Vec<usize>, Vec<usize>) {
    (0..bases.len()).partition(|&i| bases[i] != 0 && drop_dimension(bases[i], shape, axis) == 0)
}

fn positions(bits: &[usize]) -> Vec<u32> {
    bits.iter().map(|&bit| 1 << bit).collect()
}

fn mask(bits: impl IntoIterator<Item = usize>) -> u32 {
    bits.into_iter().fold(0, |mask, bit| mask | 1 << bit)
}

/// A register number made of two counters' bits.
fn register(parts: &[(&[usize], &str)]) -> String {
    let terms: Vec<String> = parts
        .iter()
        .flat_map(|(bits, name)| text::bit_fields(&positions(bits), name))
        .collect();
    text::join(&terms, true)
}

/// `tt.reduce`.
pub fn reduce(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Along { axis, .. } = data.attrs else {
        return Ok(());
    };
    let axis = axis as usize;
    let (arrays, layout, shape) = operands(e, function, op, None)?;
    let item = Item::of(e, function, op)?;
    e.note(data);
    let (combine, commutative) = lambda(e, function, op, &item)?;
    let (inner, kept) = along(&layout.regs, shape, axis);
    let (lanes, warps): (Vec<usize>, Vec<usize>) = along(&layout.threads, shape, axis)
        .0
        .into_iter()
        .partition(|&bit| bit < LANE_BITS);
    let rest = Rc::new(slice(&layout, shape, axis));
    let (count, depth) = (1usize << kept.len(), 1usize << inner.len());
    let wanted = data
        .results
        .first()
        .map(|&v| e.name_of(function, v))
        .unwrap_or_default();
    let is_tile = data.results.len() == 1
        && data
            .results
            .first()
            .is_some_and(|&v| function.ty(v).shape().is_some());
    let sums = if is_tile {
        wanted
    } else {
        e.names.fresh(&format!("{wanted}_all"))
    };
    e.line(format!("{} {sums}[{count}];", item.ctype));
    e.open_registers(count, 1);
    let at = |counter: &str| -> String {
        let index = register(&[(&kept, "r"), (&inner, counter)]);
        item.pack(
            &arrays
                .iter()
                .map(|a| format!("{}[{index}]", a.name))
                .collect::<Vec<String>>(),
        )
    };
    e.line(format!("{sums}[r] = {};", at("0")));
    if depth > 1 {
        e.line("#pragma unroll");
        e.line(format!(
            "for (int i = 1; i < {depth}; ++i) {sums}[r] = {combine}({sums}[r], {});",
            at("i")
        ));
    }
    let lane_mask = mask(lanes.iter().copied());
    if lane_mask != 0 {
        let suffix = if commutative { "_commutative" } else { "" };
        e.line(format!(
            "{sums}[r] = ts::reduce_lanes{suffix}<{lane_mask}>({sums}[r], {combine});"
        ));
    }
    e.close("}");
    let warp_mask = mask(warps.iter().map(|&bit| bit - LANE_BITS));
    if warp_mask != 0 {
        let idle = layout.idle_threads() & 31;
        let equal = lane_mask | idle;
        let total = 1usize << e.plan.warps;
        let columns = if equal == 31 { 1 } else { 32 };
        let shared = e.shared((count * columns * total * item.bytes()) as u32);
        e.line(format!(
            "ts::reduce_warps<{warp_mask}, {equal}, {total}>({sums}, {shared}, {combine});"
        ));
    }
    let results = data.results.clone();
    results_of(e, function, &results, &item, &sums, &rest, count)
}

/// Results as arrays, or as scalars.
fn results_of(
    e: &mut Emitter<'_>,
    function: &Function,
    results: &[ValueId],
    item: &Item,
    items: &str,
    layout: &Rc<Layout>,
    count: usize,
) -> Result<()> {
    for (i, &result) in results.iter().enumerate() {
        match function.ty(result) {
            Type::Tile(shape, elem) => {
                let name = match results.len() {
                    1 => items.to_string(),
                    _ => {
                        let name = e.name_of(function, result);
                        let ctype = e.type_of(elem)?;
                        e.line(format!("{ctype} {name}[{count}];"));
                        e.open_registers(count, 1);
                        e.line(format!("{name}[r] = {};", item.field(&format!("{items}[r]"), i)));
                        e.close("}");
                        name
                    }
                };
                let tile = e.make(
                    name,
                    shape,
                    elem,
                    TileKind::Array {
                        layout: layout.clone(),
                    },
                );
                e.bind(result, Bound::Tile(tile));
            }
            _ => e.define(function, result, &item.field(&format!("{items}[0]"), i))?,
        }
    }
    Ok(())
}

/// How a layout lies along the axis of a scan: neighbours in registers, then lanes, then warps, then more registers.
struct Along {
    low: Vec<usize>,
    high: Vec<usize>,
    kept: Vec<usize>,
    lanes: Vec<usize>,
    warps: Vec<usize>,
}

impl Along {
    fn of(layout: &Layout, shape: Shape, axis: usize) -> Option<Along> {
        let place = |basis: u32| coordinate(basis, shape, axis).trailing_zeros() as usize;
        let (mut inner, kept) = along(&layout.regs, shape, axis);
        inner.sort_by_key(|&i| place(layout.regs[i]));
        let threads = along(&layout.threads, shape, axis).0;
        let (lanes, warps): (Vec<usize>, Vec<usize>) = threads.into_iter().partition(|&bit| bit < LANE_BITS);
        let first_thread = lanes
            .first()
            .or(warps.first())
            .map_or(usize::MAX, |&bit| place(layout.threads[bit]));
        let (low, high): (Vec<usize>, Vec<usize>) = inner
            .into_iter()
            .partition(|&i| place(layout.regs[i]) < first_thread);
        let order: Vec<usize> = (low.iter().map(|&i| place(layout.regs[i])))
            .chain(lanes.iter().chain(&warps).map(|&bit| place(layout.threads[bit])))
            .chain(high.iter().map(|&i| place(layout.regs[i])))
            .collect();
        let next = |bits: &[usize]| bits.windows(2).all(|w| w[1] == w[0] + 1);
        let fits = order.iter().enumerate().all(|(i, &bit)| i == bit) && next(&lanes) && next(&warps);
        fits.then_some(Along {
            low,
            high,
            kept,
            lanes,
            warps,
        })
    }
}

/// `tt.scan`.
pub fn scan(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let Attrs::Along { axis, reverse } = data.attrs else {
        return Ok(());
    };
    let axis = axis as usize;
    let (mut arrays, mut layout, shape) = operands(e, function, op, None)?;
    let form = match Along::of(&layout, shape, axis) {
        Some(form) => form,
        None => {
            let blocked = blocked(
                shape,
                &Blocked {
                    fast: axis,
                    vector: 2,
                    warps: e.plan.warps,
                },
            );
            (arrays, layout, _) = operands(e, function, op, Some(blocked))?;
            let Some(form) = Along::of(&layout, shape, axis) else {
                return Err(e.unsupported(function, op, format!("a scan of a tile of shape {shape}")));
            };
            form
        }
    };
    let item = Item::of(e, function, op)?;
    e.note(data);
    let (combine, _) = lambda(e, function, op, &item)?;
    let registers = layout.registers();
    let (v, j, k) = (
        1usize << form.low.len(),
        1usize << form.high.len(),
        1usize << form.kept.len(),
    );
    let wanted = data
        .results
        .first()
        .map(|&r| e.name_of(function, r))
        .unwrap_or_default();
    let items = e.names.fresh(&format!("{wanted}_all"));
    e.line(format!("{} {items}[{registers}];", item.ctype));
    // Items in the order of the scan: neighbours fastest; a reversed scan mirrors them.
    let mirror = if reverse {
        (v - 1) | (j - 1) << form.low.len()
    } else {
        0
    };
    let counter = if mirror == 0 {
        String::from("r")
    } else {
        format!("(r ^ {mirror})")
    };
    let order: Vec<usize> = form
        .low
        .iter()
        .chain(&form.high)
        .chain(&form.kept)
        .copied()
        .collect();
    let index = register(&[(&order, counter.as_str())]);
    e.open_registers(registers, 1);
    let fields: Vec<String> = arrays.iter().map(|a| format!("{}[{index}]", a.name)).collect();
    e.line(format!("{items}[r] = {};", item.pack(&fields)));
    e.close("}");
    let total = 1usize << e.plan.warps;
    let idle = (layout.idle_threads() & 31).count_ones() as usize;
    let columns = if form.lanes.len() + idle == LANE_BITS && idle == 0 {
        1
    } else {
        32
    };
    let shared = match form.warps.is_empty() {
        true => String::from("nullptr"),
        false => e.shared((k * j * columns * total * item.bytes()) as u32),
    };
    let lane_shift = form.lanes.first().copied().unwrap_or(0);
    let warp_shift = form.warps.first().map_or(0, |&bit| bit - LANE_BITS);
    e.line(format!(
        "ts::scan<{k}, {j}, {v}, {lane_shift}, {}, {warp_shift}, {}, {total}, {columns}, {reverse}>({items}, {shared}, {combine});",
        1 << form.lanes.len(),
        1 << form.warps.len(),
    ));
    for (i, &result) in data.results.clone().iter().enumerate() {
        let Type::Tile(shape, elem) = function.ty(result) else {
            continue;
        };
        let name = e.name_of(function, result);
        let ctype = e.type_of(elem)?;
        e.line(format!("{ctype} {name}[{registers}];"));
        e.open_registers(registers, 1);
        e.line(format!(
            "{name}[{index}] = {};",
            item.field(&format!("{items}[r]"), i)
        ));
        e.close("}");
        let tile = e.make(
            name,
            shape,
            elem,
            TileKind::Array {
                layout: layout.clone(),
            },
        );
        e.bind(result, Bound::Tile(tile));
    }
    Ok(())
}

/// `tt.histogram`: counted in shared memory.
pub fn histogram(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (Some(&operand), Some(&result)) = (data.operands.first(), data.results.first()) else {
        return Ok(());
    };
    let Type::Tile(bins, elem) = function.ty(result) else {
        return Ok(());
    };
    let source = e.tile(function, op, operand)?;
    let (array, layout) = e.array(&source)?;
    let access = layout.identity();
    let mask = match data.operands.get(1) {
        Some(&mask) => {
            let mask = e.tile(function, op, mask)?;
            e.prepare(&mask, &access)?;
            Some(mask)
        }
        None => None,
    };
    e.note(data);
    let out = e.layout(bins);
    let (count, ctype) = (bins.elements(), e.type_of(elem)?);
    if ctype != "int" {
        return Err(e.unsupported(function, op, format!("a histogram of {elem}")));
    }
    let name = e.name_of(function, result);
    e.line(format!("int {name}[{}];", out.registers()));
    let shared = e.shared((count * 4) as u32);
    e.open("{");
    e.line(format!("int* const bins = ts::at<int>{shared};"));
    let threads = 32usize << e.plan.warps;
    e.line(format!(
        "for (int i = tid; i < {count}; i += {threads}) bins[i] = 0;"
    ));
    e.line("ts::barrier();");
    e.open_registers(layout.registers(), 1);
    let mut body = super::loops::Body::default();
    let index = e.element(&mut body, &array, &access, "r")?;
    let mut condition = format!("ts::as_unsigned({index}) < {count}u");
    if let Some(mask) = mask {
        let mask = e.element(&mut body, &mask, &access, "r")?;
        condition = format!("{mask} && {condition}");
    }
    if layout.idle_threads() != 0 {
        condition = format!("(tid & {}) == 0 && {condition}", layout.idle_threads());
    }
    e.put(&mut body);
    e.line(format!("if ({condition}) ts::rmw_add(bins + {index}, 1);"));
    e.close("}");
    e.line("ts::barrier();");
    let index = e.index(&out.identity(), "r");
    e.open_registers(out.registers(), 1);
    e.line(format!("{name}[r] = bins[{index}];"));
    e.close("}");
    e.close("}");
    let tile = e.make(name, bins, elem, TileKind::Array { layout: out });
    e.bind(result, Bound::Tile(tile));
    Ok(())
}

/// `tt.gather`: the source in shared memory, read at the indices.
pub fn gather(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (&[source, index], Some(&result), Attrs::Gather { axis, .. }) =
        (&data.operands[..], data.results.first(), &data.attrs)
    else {
        return Ok(());
    };
    let axis = *axis as usize;
    let (source, index) = (e.tile(function, op, source)?, e.tile(function, op, index)?);
    let Type::Tile(shape, elem) = function.ty(result) else {
        return Ok(());
    };
    let ctype = e.type_of(elem)?;
    let layout = e.layout(shape);
    let access = layout.identity();
    e.prepare(&index, &access)?;
    e.flush();
    e.note(data);
    let name = e.name_of(function, result);
    let registers = layout.registers();
    e.line(format!("{ctype} {name}[{registers}];"));
    let row = source.shape.dims().last().unwrap_or(1).max(1);
    let shared = e.shared(super::dot::staged_bytes(source.shape.elements(), row, elem.bytes()) as u32);
    let slots = e.names.fresh("slots");
    e.open("{");
    e.line(format!("{ctype}* const {slots} = ts::at<{ctype}>{shared};"));
    super::dot::stage(e, &source, &slots, &ctype, row, "$0")?;
    e.line("ts::barrier();");
    let mut body = super::loops::Body::default();
    let picked = e.element(&mut body, &index, &access, "r")?;
    let across = access.through(&crate::layout::IndexMap::across(source.shape, shape, axis));
    let base = e.index(&across, "r");
    let shift = crate::layout::dimension_base(source.shape, axis);
    let size = source.shape.dim(axis);
    e.open_registers(registers, 1);
    e.put(&mut body);
    // An index outside reads nothing.
    e.line(format!(
        "{name}[r] = ts::as_unsigned({picked}) < {size}u ? {slots}[ts::padded<{ctype}, {row}>(({base}) + (int({picked}) << {shift}))] : {};",
        text::literal(elem, 0)
    ));
    e.close("}");
    e.close("}");
    let tile = e.make(name, shape, elem, TileKind::Array { layout });
    e.bind(result, Bound::Tile(tile));
    Ok(())
}
