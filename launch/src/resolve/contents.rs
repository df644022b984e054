//! What tensors hold before the launch, and the numbers of layouts.

use tilescope_diagnostics::Result;

use super::Slot;
use crate::expr::{Expression, Scope, Value};
use crate::file::{CaseFill, FillKind, FillSpec, LaunchFile, Origin};
use crate::fill::{Contents, Fill};
use crate::layout::{Layout, TOO_LARGE};
use crate::{Dtype, Role};

pub(super) fn contents(
    file: &LaunchFile,
    slot: &Slot<'_>,
    scope: &Scope,
    dtype: Dtype,
    role: Role,
    layout: &Layout,
    case: Option<CaseFill>,
) -> Result<Contents> {
    Ok(match &slot.spec.origin {
        Origin::Default if role == Role::Out => Contents::Uninit,
        Origin::Default if dtype.is_float() => {
            Contents::Fill(case.map_or(Fill::Randn, |case| Fill::of_case(case, dtype)))
        }
        Origin::Default | Origin::Pointers(_) | Origin::ViewOf(_) => Contents::Zeros,
        Origin::File { path, key } => Contents::File {
            path: path.clone(),
            key: key.clone(),
        },
        Origin::Fill(fill) => self::fill(file, fill, scope, dtype, layout)?,
    })
}

fn fill(
    file: &LaunchFile,
    spec: &FillSpec,
    scope: &Scope,
    dtype: Dtype,
    layout: &Layout,
) -> Result<Contents> {
    let refuse = |message: String, help: &str| {
        let error = file.error(&spec.span, message, format!("the tensor is {}", dtype.name()));
        Err(if help.is_empty() { error } else { error.help(help) })
    };
    let float = |e: &Expression| -> Result<f64> {
        let value = scope.evaluate(e)?;
        value
            .as_float()
            .ok_or_else(|| e.error(&e.root, "expected a number", value.type_name()))
    };
    let integer = |e: &Expression| integer(scope, e, "a bound of `randint`");
    let fill = match &spec.kind {
        FillKind::Uninit => return Ok(Contents::Uninit),
        FillKind::Zeros => return Ok(Contents::Zeros),
        FillKind::Ones => Fill::Constant(dtype.encode_int(1)),
        FillKind::Nan if dtype.is_float() => Fill::Constant(dtype.encode_float(f64::NAN)),
        FillKind::Nan => return refuse("integers have no NaN".into(), ""),
        FillKind::Randn if dtype.is_float() => Fill::Randn,
        FillKind::Randn => return refuse("`randn` gives floats".into(), "write \"randint(lo, hi)\""),
        FillKind::Uniform(..) if !dtype.is_float() => {
            return refuse("`uniform` gives floats".into(), "write \"randint(lo, hi)\"");
        }
        FillKind::Uniform(low, high) => {
            let (least, most) = (float(low)?, float(high)?);
            if !(least <= most && (most - least).is_finite()) {
                return Err(low.error(
                    &low.root,
                    "`uniform(lo, hi)` needs finite lo <= hi",
                    format!("{least} and {most}"),
                ));
            }
            Fill::Uniform(least, most)
        }
        FillKind::Randint(low, high) => {
            let (least, end) = (integer(low)?, integer(high)?);
            if least >= end && layout.elements > 0 {
                let label = format!("from {least} to below {end} is no integer");
                return Err(low.error(&low.root, "`randint(lo, hi)` needs lo < hi", label));
            }
            let (min, max) = dtype
                .integer_range()
                .unwrap_or((i64::MIN.into(), i64::MAX.into()));
            if least < min || end - 1 > max {
                let label = format!("{} holds {min} to {max}", dtype.name());
                return Err(low.error(
                    &low.root,
                    "`randint` gives values that the dtype cannot hold",
                    label,
                ));
            }
            Fill::Randint {
                least,
                count: (end - least).max(1) as u128,
            }
        }
        FillKind::Value(value) => Fill::Constant(constant(scope, value, dtype)?),
        FillKind::Arange => Fill::Arange,
        FillKind::Extreme => Fill::Extreme,
        FillKind::Case(case) if dtype.is_float() => Fill::of_case(*case, dtype),
        FillKind::Case(_) => return refuse("this fill gives floats".into(), "write \"randint(lo, hi)\""),
        FillKind::Eye if layout.shape.len() >= 2 => Fill::Eye,
        FillKind::Eye => {
            let label = format!("the tensor has {}", layout.shape.len());
            return Err(file.error(&spec.span, "`eye` needs two or more dimensions", label));
        }
    };
    Ok(Contents::Fill(fill))
}

pub(super) fn integer(scope: &Scope, e: &Expression, what: &str) -> Result<i128> {
    let value = scope.evaluate(e)?;
    match (value.as_int(), &value) {
        (Some(value), _) => Ok(value),
        (None, Value::Float(v)) => Err(e
            .error(
                &e.root,
                format!("{what} must be an integer"),
                format!("this is {v:?}"),
            )
            .help("`//` divides integers")),
        _ => Err(e.error(
            &e.root,
            format!("{what} must be an integer"),
            format!("this is {}", value.type_name()),
        )),
    }
}

pub(super) fn small(scope: &Scope, e: &Expression, what: &str) -> Result<i64> {
    let value = integer(scope, e, what)?;
    i64::try_from(value).map_err(|_| e.error(&e.root, format!("{what} is {TOO_LARGE}"), format!("{value}")))
}

pub(super) fn optional(scope: &Scope, e: &Option<Expression>) -> Result<Option<i64>> {
    let Some(e) = e else { return Ok(None) };
    match small(scope, e, "this")? {
        value if value >= 0 => Ok(Some(value)),
        value => Err(e.error(&e.root, "must not be negative", format!("{value}"))),
    }
}

pub(super) fn dimensions(scope: &Scope, list: &[Expression], sizes: bool) -> Result<Vec<i64>> {
    let what = if sizes { "a dimension" } else { "a stride" };
    let mut values = Vec::new();
    for e in list {
        let value = small(scope, e, what)?;
        if sizes && value < 0 {
            return Err(e.error(&e.root, "a dimension must not be negative", format!("{value}")));
        }
        values.push(value);
    }
    Ok(values)
}

/// The bits of `value(x)` in the dtype; an integer type takes only what it can hold.
fn constant(scope: &Scope, e: &Expression, dtype: Dtype) -> Result<u64> {
    let value = scope.evaluate(e)?;
    let Some((least, most)) = dtype.integer_range() else {
        let number = value.as_float();
        let number = number.ok_or_else(|| {
            e.error(
                &e.root,
                "expected a number",
                format!("this is {}", value.type_name()),
            )
        })?;
        return Ok(dtype.encode_float(number));
    };
    match value.as_int() {
        Some(v) if (least..=most).contains(&v) => Ok(dtype.encode_int(v)),
        Some(v) => {
            let label = format!("{v}; it holds {least} to {most}");
            Err(e.error(&e.root, format!("the value does not fit {}", dtype.name()), label))
        }
        None => Err(e.error(
            &e.root,
            format!("{} needs an integer", dtype.name()),
            format!("this is {}", value.type_name()),
        )),
    }
}
