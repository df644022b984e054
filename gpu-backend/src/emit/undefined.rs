//! In a checked build: lanes that an integer division leaves undefined, and where they are used.
//!
//! A division whose operands may have no quotient gets a companion: per lane 0, or where the lane was born, beside the dividend.
//! Companions go along with values through element-wise operations, selections and changes of shape, with the interpreter's rules.
//! They are not followed round loops, out of branches, through reductions or memory: what is used only after that is not
//! reported here, but by the interpreter.

use std::rc::Rc;

use tilescope_diagnostics::Result;
use tilescope_ir::{Elem, Family, Function, OpCode, OpId, Scalar, Shape, ValueId};

use super::Emitter;
use super::loops::Body;
use super::tile::{Bound, Tile, TileKind};
use crate::checked::PlaceKind;
use crate::layout::Access;

/// Where lanes of a value were born, and the dividends there: scalars or tiles, as the value is.
#[derive(Debug, Clone)]
pub(super) struct Undefined {
    birth: Bound,
    dividend: Bound,
}

const WIDE: Elem = Elem::Scalar(Scalar::I64);

fn of(e: &Emitter<'_>, value: ValueId) -> Option<Undefined> {
    e.scopes[e.scopes.len() - 1].undefined.get(&value).cloned()
}

/// After an operation: what it makes of its operands' undefined lanes, and whether it makes its own.
pub(super) fn follow(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    if !e.is_checked() {
        return Ok(());
    }
    let is_division = matches!(
        data.code,
        OpCode::DivSI
            | OpCode::DivUI
            | OpCode::RemSI
            | OpCode::RemUI
            | OpCode::CeilDivSI
            | OpCode::CeilDivUI
            | OpCode::FloorDivSI
    );
    if is_division && may_fail(e, function, op) {
        return born(e, function, op);
    }
    let any = data.operands.iter().any(|&v| of(e, v).is_some());
    let [result] = data.results[..] else {
        return Ok(());
    };
    if !any {
        return Ok(());
    }
    let family = data.code.info().family;
    let undefined = match data.code {
        OpCode::Splat
        | OpCode::Unsplat
        | OpCode::Broadcast
        | OpCode::ExpandDims
        | OpCode::Reshape
        | OpCode::Trans => reshaped(e, function, op, result)?,
        OpCode::Select => selected(e, function, op, result)?,
        code if code.info().class.is_some()
            || code == OpCode::AddPtr
            || matches!(family, Family::Cast | Family::Compare) =>
        {
            combined(e, function, op, result)?
        }
        _ => return Ok(()),
    };
    e.scope().undefined.insert(result, undefined);
    Ok(())
}

/// False where bounds show that every lane has a quotient.
fn may_fail(e: &Emitter<'_>, function: &Function, op: OpId) -> bool {
    let data = &function.ops[op];
    let Some(&divisor) = data.operands.get(1) else {
        return false;
    };
    let fits = |(low, high): (i64, i64)| low > 0 || high < -1;
    !e.facts(function, divisor).range.is_some_and(fits)
}

fn has_sign(code: OpCode) -> bool {
    matches!(
        code,
        OpCode::DivSI | OpCode::RemSI | OpCode::CeilDivSI | OpCode::FloorDivSI
    )
}

/// A division with lanes of its own.
fn born(e: &mut Emitter<'_>, function: &Function, op: OpId) -> Result<()> {
    let data = &function.ops[op];
    let (&[dividend, divisor], &[result]) = (&data.operands[..], &data.results[..]) else {
        return Ok(());
    };
    let Some((_, slot)) = e.place(op, PlaceKind::Division, 1) else {
        return Ok(());
    };
    let sign = has_sign(data.code);
    let wide = if has_sign(data.code) {
        "ts::as_signed"
    } else {
        "ts::i64"
    };
    let own = |lane: &str| format!("ts::undefined_by({slot}u, $0, $1, {sign}, {lane})");
    let inherited = match (of(e, dividend), of(e, divisor)) {
        (None, None) => None,
        _ => Some(combined(e, function, op, result)?),
    };
    let Some(shape) = function.ty(result).shape() else {
        let operands = [e.scalar(dividend), e.scalar(divisor)];
        let birth = super::loops::place(&own("0u"), &operands);
        let value = format!("{wide}({})", operands[0]);
        let old = inherited.map(|u| (text_of(&u.birth), text_of(&u.dividend)));
        let undefined = Undefined {
            birth: named(e, &chained(&birth, old.as_ref().map(|o| o.0.as_str()))),
            dividend: named(
                e,
                &match &old {
                    Some((birth, before)) => format!("{birth} != 0 ? {before} : {value}"),
                    None => value,
                },
            ),
        };
        e.scope().undefined.insert(result, undefined);
        return Ok(());
    };
    let number = Elem::Scalar(Scalar::I32);
    let lanes = e.make(
        String::from("lane"),
        flat(shape),
        number,
        TileKind::Range { start: 0 },
    );
    let map = crate::layout::IndexMap::same(shape);
    let lanes = e.make(
        String::from("lane"),
        shape,
        number,
        TileKind::View { map, operand: lanes },
    );
    let tiles = [dividend, divisor].map(|v| tile_of(e, function, v, shape));
    let [x, y] = tiles;
    let mut birth = formula(e, shape, own("$2"), vec![x.clone(), y, lanes])?;
    let mut value = formula(e, shape, format!("{wide}($0)"), vec![x])?;
    if let Some(Undefined {
        birth: Bound::Tile(b),
        dividend: Bound::Tile(d),
    }) = inherited
    {
        value = formula(
            e,
            shape,
            String::from("$0 != 0 ? $1 : $2"),
            vec![b.clone(), d, value],
        )?;
        birth = formula(e, shape, String::from("$0 != 0 ? $0 : $1"), vec![b, birth])?;
    }
    let undefined = Undefined {
        birth: Bound::Tile(birth),
        dividend: Bound::Tile(value),
    };
    e.scope().undefined.insert(result, undefined);
    Ok(())
}

fn chained(birth: &str, old: Option<&str>) -> String {
    match old {
        Some(old) => format!("{old} != 0 ? {old} : {birth}"),
        None => birth.to_string(),
    }
}

/// The shape of as many lanes in a row.
fn flat(shape: Shape) -> Shape {
    Shape::new(&[shape.elements() as u64]).unwrap_or(shape)
}

fn text_of(bound: &Bound) -> String {
    match bound {
        Bound::Scalar(text) => text.clone(),
        _ => String::from("0"),
    }
}

/// A scalar companion.
fn named(e: &mut Emitter<'_>, expression: &str) -> Bound {
    e.flush();
    let name = e.names.fresh("undefined");
    e.line(format!("ts::i64 const {name} = {expression};"));
    Bound::Scalar(name)
}

/// A tile companion: computed into registers at once, so that it does not read what is overwritten later.
fn formula(
    e: &mut Emitter<'_>,
    shape: Shape,
    expression: String,
    operands: Vec<Rc<Tile>>,
) -> Result<Rc<Tile>> {
    let name = e.names.fresh("undefined");
    let model = e.make(name, shape, WIDE, TileKind::Range { start: 0 });
    let operands: Vec<(Option<ValueId>, Rc<Tile>)> = operands.into_iter().map(|tile| (None, tile)).collect();
    let tile = e.compute(None, &model, &operands, &expression, None)?;
    e.flush();
    Ok(tile)
}

/// A value as a tile of this shape.
fn tile_of(e: &mut Emitter<'_>, function: &Function, value: ValueId, shape: Shape) -> Rc<Tile> {
    match e.bound(value) {
        Bound::Tile(tile) => tile,
        other => {
            let elem = function.ty(value).elem().unwrap_or(WIDE);
            e.make(String::from("s"), shape, elem, TileKind::Splat(text_of(&other)))
        }
    }
}

/// A companion as a tile of this shape.
fn spread(e: &mut Emitter<'_>, bound: &Bound, shape: Shape) -> Rc<Tile> {
    match bound {
        Bound::Tile(tile) => tile.clone(),
        other => e.make(String::from("s"), shape, WIDE, TileKind::Splat(text_of(other))),
    }
}

/// The first operand's that has one. An `and` with a defined false lane, or an `or` with a defined true one, is defined.
fn combined(e: &mut Emitter<'_>, function: &Function, op: OpId, result: ValueId) -> Result<Undefined> {
    let data = &function.ops[op];
    let decides = match data.code {
        OpCode::AndI => Some("ts::all_zeros($1)"),
        OpCode::OrI => Some("ts::all_ones($1)"),
        _ => None,
    };
    let shape = function.ty(result).shape();
    let mut sum: Option<Undefined> = None;
    for (i, &value) in data.operands.iter().enumerate() {
        let Some(mut one) = of(e, value) else { continue };
        if let (Some(test), Some(&other)) = (decides, data.operands.get(1 - i.min(1))) {
            // Undefined lanes of the other operand decide nothing.
            let other_birth = of(e, other).map(|u| u.birth);
            let test = match &other_birth {
                Some(_) => format!("$0 != 0 && ($2 != 0 || !{test}) ? $0 : 0"),
                None => format!("$0 != 0 && !{test} ? $0 : 0"),
            };
            one.birth = match shape {
                None => {
                    let mut texts = vec![text_of(&one.birth), e.scalar(other)];
                    texts.extend(other_birth.as_ref().map(text_of));
                    named(e, &super::loops::place(&test, &texts))
                }
                Some(shape) => {
                    let mut tiles = vec![spread(e, &one.birth, shape), tile_of(e, function, other, shape)];
                    tiles.extend(other_birth.as_ref().map(|b| spread(e, b, shape)));
                    Bound::Tile(formula(e, shape, test, tiles)?)
                }
            };
        }
        sum = Some(match sum {
            None => one,
            Some(first) => joined(e, shape, &first, &one)?,
        });
    }
    let none = || Bound::Scalar(String::from("0LL"));
    Ok(sum.unwrap_or_else(|| Undefined {
        birth: none(),
        dividend: none(),
    }))
}

/// Two companions in one: the first counts.
fn joined(e: &mut Emitter<'_>, shape: Option<Shape>, a: &Undefined, b: &Undefined) -> Result<Undefined> {
    let Some(shape) = shape else {
        let [ab, ad, bb, bd] = [&a.birth, &a.dividend, &b.birth, &b.dividend].map(text_of);
        return Ok(Undefined {
            birth: named(e, &format!("{ab} != 0 ? {ab} : {bb}")),
            dividend: named(e, &format!("{ab} != 0 ? {ad} : {bd}")),
        });
    };
    let [ab, ad, bb, bd] =
        [&a.birth, &a.dividend, &b.birth, &b.dividend].map(|bound| spread(e, bound, shape));
    let dividend = formula(
        e,
        shape,
        String::from("$0 != 0 ? $1 : $2"),
        vec![ab.clone(), ad, bd],
    )?;
    let birth = formula(e, shape, String::from("$0 != 0 ? $0 : $1"), vec![ab, bb])?;
    Ok(Undefined {
        birth: Bound::Tile(birth),
        dividend: Bound::Tile(dividend),
    })
}

/// Of a selection: the condition's, else that of the side that was taken.
fn selected(e: &mut Emitter<'_>, function: &Function, op: OpId, result: ValueId) -> Result<Undefined> {
    let data = &function.ops[op];
    let &[condition, yes, no] = &data.operands[..] else {
        return combined(e, function, op, result);
    };
    let shape = function.ty(result).shape();
    let none = || Undefined {
        birth: Bound::Scalar(String::from("0LL")),
        dividend: Bound::Scalar(String::from("0LL")),
    };
    let (a, b) = (of(e, yes).unwrap_or_else(none), of(e, no).unwrap_or_else(none));
    let taken = match shape {
        None => {
            let c = e.scalar(condition);
            let pick = |x: &Bound, y: &Bound| format!("{c} ? {} : {}", text_of(x), text_of(y));
            let (birth, dividend) = (pick(&a.birth, &b.birth), pick(&a.dividend, &b.dividend));
            Undefined {
                birth: named(e, &birth),
                dividend: named(e, &dividend),
            }
        }
        Some(shape) => {
            let c = tile_of(e, function, condition, shape);
            let mut pick = |x: &Bound, y: &Bound| -> Result<Bound> {
                let tiles = vec![c.clone(), spread(e, x, shape), spread(e, y, shape)];
                Ok(Bound::Tile(formula(
                    e,
                    shape,
                    String::from("$0 ? $1 : $2"),
                    tiles,
                )?))
            };
            Undefined {
                birth: pick(&a.birth, &b.birth)?,
                dividend: pick(&a.dividend, &b.dividend)?,
            }
        }
    };
    match of(e, condition) {
        Some(first) => joined(e, shape, &first, &taken),
        None => Ok(taken),
    }
}

/// A change of shape, done to the companions as it was done to the value.
fn reshaped(e: &mut Emitter<'_>, function: &Function, op: OpId, result: ValueId) -> Result<Undefined> {
    let operand = function.ops[op].operands.first().copied().unwrap_or(result);
    let (before, after) = (e.bound(operand), e.bound(result));
    let undefined = of(e, operand);
    let mut again = |bound: Option<Bound>| -> Result<Bound> {
        let Some(bound) = bound else {
            return Ok(Bound::Scalar(String::from("0LL")));
        };
        e.bind(operand, bound);
        tilescope_ir::OpVisitor::visit(e, function, op)?;
        Ok(match e.bound(result) {
            // What changes the shape may take the element type from the result.
            Bound::Tile(tile) if tile.elem != WIDE => match &tile.kind {
                TileKind::Splat(text) => {
                    let text = text.clone();
                    Bound::Tile(e.make(tile.name.clone(), tile.shape, WIDE, TileKind::Splat(text)))
                }
                _ => Bound::Tile(tile),
            },
            other => other,
        })
    };
    let birth = again(undefined.as_ref().map(|u| u.birth.clone()));
    let dividend = again(undefined.map(|u| u.dividend));
    e.bind(operand, before);
    e.bind(result, after);
    Ok(Undefined {
        birth: birth?,
        dividend: dividend?,
    })
}

/// Before an operation that uses these of its operands: reports their undefined lanes. Of an access the mask's count, and those of
/// active lanes of all other operands.
pub(super) fn used(e: &mut Emitter<'_>, function: &Function, op: OpId, values: &[ValueId]) -> Result<()> {
    let data = &function.ops[op];
    if !e.is_checked() || !values.iter().any(|&v| of(e, v).is_some()) {
        return Ok(());
    }
    let Some((place, _)) = e.place(op, PlaceKind::Use, 0) else {
        return Ok(());
    };
    e.step();
    let mask = mask_of(data.code, data.operands.len()).and_then(|i| data.operands.get(i).copied());
    for (i, &value) in values.iter().enumerate() {
        // What a load gives masked-off lanes is no use.
        if data.code == OpCode::Load && i == 2 {
            continue;
        }
        let Some(undefined) = of(e, value) else { continue };
        let active = mask.filter(|&m| m != value);
        report(e, function, place, &undefined, active, value)?;
    }
    Ok(())
}

/// Makes sure that [`defined`] finds the companion of a tile of pointers.
pub(super) fn prepare(e: &mut Emitter<'_>, pointer: ValueId, access: &Access) -> Result<()> {
    match of(e, pointer).map(|u| u.birth) {
        Some(Bound::Tile(tile)) => e.prepare(&tile, access),
        _ => Ok(()),
    }
}

/// Whether the lane of a pointer is defined, as a condition; none where all are. An address made from an undefined lane is reported
/// as a use of that lane, not as a fault of the access.
pub(super) fn defined(
    e: &mut Emitter<'_>,
    body: &mut Body,
    pointer: ValueId,
    access: &Access,
) -> Result<Option<String>> {
    let birth = match of(e, pointer).map(|u| u.birth) {
        None => return Ok(None),
        Some(Bound::Tile(tile)) => e.element(body, &tile, access, "r")?,
        Some(other) => text_of(&other),
    };
    Ok(Some(format!("{birth} == 0")))
}

/// Which operand is the mask.
fn mask_of(code: OpCode, operands: usize) -> Option<usize> {
    let at = match code {
        OpCode::Load | OpCode::AtomicLoad => 1,
        OpCode::Store | OpCode::AtomicRmw | OpCode::AtomicStore => 2,
        _ => return None,
    };
    (at < operands).then_some(at)
}

fn report(
    e: &mut Emitter<'_>,
    function: &Function,
    place: u32,
    undefined: &Undefined,
    mask: Option<ValueId>,
    value: ValueId,
) -> Result<()> {
    let Some(shape) = function.ty(value).shape() else {
        let mask = mask.map(|m| format!(" && {}", e.scalar(m))).unwrap_or_default();
        let (birth, dividend) = (text_of(&undefined.birth), text_of(&undefined.dividend));
        e.flush();
        e.line(format!(
            "if (tid == 0{mask}) ts::use(checks, {birth}, {dividend}, {place}u);"
        ));
        return Ok(());
    };
    let layout = e.layout(shape);
    let access = layout.identity();
    let mut tiles = vec![
        spread(e, &undefined.birth, shape),
        spread(e, &undefined.dividend, shape),
    ];
    tiles.extend(mask.map(|m| tile_of(e, function, m, shape)));
    for tile in &tiles {
        e.prepare(tile, &access)?;
    }
    e.flush();
    e.open_registers(layout.registers(), 1);
    let mut body = Body::default();
    let mut values = Vec::new();
    for tile in &tiles {
        values.push(e.element(&mut body, tile, &access, "r")?);
    }
    e.put(&mut body);
    let (_, mine) = e.lane(&access, &layout);
    let active = values.get(2).map(|m| format!(" && {m}")).unwrap_or_default();
    e.line(format!(
        "if ({mine}{active}) ts::use(checks, {}, {}, {place}u);",
        values[0], values[1]
    ));
    e.close("}");
    Ok(())
}
