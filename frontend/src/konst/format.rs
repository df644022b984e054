//! Formatting: the language of format specifications (`{x:>8.3f}`), `str.format` and `%`.

use num_bigint::BigInt;
use num_traits::Signed;

use super::number::{Number, number};
use super::{Result, as_int, bounded_len, index, text, type_name};
use crate::value::Value;

/// Largest width and precision.
const MAX_WIDTH: usize = 1 << 16;

/// A format specification, taken apart.
struct Spec {
    fill: char,
    align: Option<char>,
    sign: char,
    alternate: bool,
    width: usize,
    grouping: Option<char>,
    precision: Option<usize>,
    kind: Option<char>,
}

/// `format(value, spec)`: what a piece of an f-string without conversion gives.
///
/// # Errors
/// Specifications that do not exist or do not fit the value's type.
pub fn format(value: &Value, spec: &str) -> Result<String> {
    if let Value::Opaque(why) = value {
        return Err(why.to_string());
    }
    if spec.is_empty() {
        return Ok(text::str(value));
    }
    let spec = parse(spec)?;
    let formatted = match (value, number(value)) {
        (Value::Str(text), _) => string(&spec, text)?,
        (_, Some(Number::Int(int)))
            if !matches!(spec.kind, Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%')) =>
        {
            integer(&spec, &int)?
        }
        (_, Some(number)) => float(&spec, number.to_float()?)?,
        (other, None) => return Err(format!("a value of type {} takes no format", type_name(other))),
    };
    Ok(formatted)
}

/// A piece of an f-string: conversion, then format.
///
/// # Errors
/// As [`format()`].
pub fn convert(value: &Value, conversion: Option<char>, spec: &str) -> Result<String> {
    if let Value::Opaque(why) = value {
        return Err(why.to_string());
    }
    match conversion {
        Some('r') => format(&Value::str(&text::repr(value)), spec),
        Some('a') => format(&Value::str(&text::ascii(value)), spec),
        Some(_) => format(&Value::str(&text::str(value)), spec),
        None => format(value, spec),
    }
}

fn parse(text: &str) -> Result<Spec> {
    let wrong = || format!("`{text}` is not a format");
    let chars: Vec<char> = text.chars().collect();
    let mut at = 0;
    let is_align = |c: Option<&char>| matches!(c, Some('<' | '>' | '^' | '='));
    let mut spec = Spec {
        fill: ' ',
        align: None,
        sign: '-',
        alternate: false,
        width: 0,
        grouping: None,
        precision: None,
        kind: None,
    };
    let mut filled = false;
    if is_align(chars.get(1)) {
        spec.fill = chars[0];
        filled = true;
        spec.align = Some(chars[1]);
        at = 2;
    } else if is_align(chars.first()) {
        spec.align = Some(chars[0]);
        at = 1;
    }
    if let Some(sign @ ('+' | '-' | ' ')) = chars.get(at) {
        spec.sign = *sign;
        at += 1;
    }
    if chars.get(at) == Some(&'#') {
        spec.alternate = true;
        at += 1;
    }
    if chars.get(at) == Some(&'0') {
        if !filled {
            spec.fill = '0';
        }
        spec.align = spec.align.or(Some('='));
        at += 1;
    }
    let digits = |at: &mut usize| -> Result<Option<usize>> {
        let start = *at;
        let mut value = 0usize;
        while let Some(digit) = chars.get(*at).and_then(|c| c.to_digit(10)) {
            value = value * 10 + digit as usize;
            if value > MAX_WIDTH {
                return Err(format!("a width or precision of more than {MAX_WIDTH}"));
            }
            *at += 1;
        }
        Ok((*at > start).then_some(value))
    };
    spec.width = digits(&mut at)?.unwrap_or(0);
    if let Some(grouping @ (',' | '_')) = chars.get(at) {
        spec.grouping = Some(*grouping);
        at += 1;
    }
    if chars.get(at) == Some(&'.') {
        at += 1;
        spec.precision = Some(digits(&mut at)?.ok_or_else(wrong)?);
    }
    if let Some(kind) = chars.get(at) {
        spec.kind = Some(*kind);
        at += 1;
    }
    if at != chars.len() {
        return Err(wrong());
    }
    Ok(spec)
}

fn string(spec: &Spec, text: &str) -> Result<String> {
    if !matches!(spec.kind, None | Some('s'))
        || spec.align == Some('=') && spec.fill != '0'
        || spec.sign != '-'
    {
        return Err("this format is not one for strings".to_string());
    }
    let cut: String = match spec.precision {
        Some(precision) => text.chars().take(precision).collect(),
        None => text.to_string(),
    };
    Ok(pad(spec, "", &cut, '<'))
}

fn integer(spec: &Spec, int: &BigInt) -> Result<String> {
    if spec.precision.is_some() {
        return Err("a format of an integer has no precision".to_string());
    }
    let magnitude = int.abs();
    let (digits, prefix, every) = match spec.kind {
        None | Some('d' | 'n') => (magnitude.to_str_radix(10), "", 3),
        Some('b') => (magnitude.to_str_radix(2), "0b", 4),
        Some('o') => (magnitude.to_str_radix(8), "0o", 4),
        Some('x') => (magnitude.to_str_radix(16), "0x", 4),
        Some('X') => (magnitude.to_str_radix(16).to_uppercase(), "0X", 4),
        Some('c') => {
            let code = num_traits::ToPrimitive::to_u32(int).and_then(char::from_u32);
            let c = code.ok_or("the integer is no character")?;
            return Ok(pad(spec, "", &c.to_string(), '<'));
        }
        Some(kind) => return Err(format!("`{kind}` is not a format for integers")),
    };
    if spec.grouping == Some(',') && every != 3 {
        return Err("`,` groups decimal digits only".to_string());
    }
    let prefix = if spec.alternate { prefix } else { "" };
    let sign = format!("{}{prefix}", sign(spec, int.is_negative()));
    let digits = grouped(spec, &digits, sign.chars().count(), every);
    Ok(pad(spec, &sign, &digits, '>'))
}

fn sign(spec: &Spec, negative: bool) -> &'static str {
    match (negative, spec.sign) {
        (true, _) => "-",
        (false, '+') => "+",
        (false, ' ') => " ",
        _ => "",
    }
}

fn float(spec: &Spec, value: f64) -> Result<String> {
    let kind = spec.kind;
    let negative = value.is_sign_negative() && !value.is_nan();
    let magnitude = value.abs();
    let precision = spec.precision;
    let body = if value.is_nan() || value.is_infinite() {
        let body = if value.is_nan() { "nan" } else { "inf" };
        let percent = if kind == Some('%') { "%" } else { "" };
        format!("{body}{percent}")
    } else {
        match kind {
            Some('f' | 'F') => format!("{magnitude:.*}", precision.unwrap_or(6)),
            Some('%') => format!("{:.*}%", precision.unwrap_or(6), magnitude * 100.0),
            Some('e' | 'E') => exponent_form(magnitude, precision.unwrap_or(6)),
            Some('g' | 'G' | 'n') => general(magnitude, precision.unwrap_or(6), spec.alternate, false),
            None => match precision {
                Some(precision) => general(magnitude, precision, spec.alternate, true),
                None => text::float_repr(magnitude),
            },
            Some(kind) => return Err(format!("`{kind}` is not a format for floats")),
        }
    };
    let body = if matches!(kind, Some('E' | 'F' | 'G')) {
        body.to_uppercase()
    } else {
        body
    };
    let sign = sign(spec, negative);
    let finite = value.is_finite();
    // The digits before the point, and the rest.
    let end = body.find(|c: char| !c.is_ascii_digit()).unwrap_or(body.len());
    let (digits, rest) = body.split_at(end);
    let point = if spec.alternate && finite && !rest.starts_with('.') {
        "."
    } else {
        ""
    };
    let others = sign.len() + point.len() + rest.len();
    let digits = if finite {
        grouped(spec, digits, others, 3)
    } else {
        digits.to_string()
    };
    Ok(pad(spec, sign, &format!("{digits}{point}{rest}"), '>'))
}

/// `1.50e+03`.
fn exponent_form(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let exponent: i32 = exponent.parse().unwrap_or(0);
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs())
        }
        None => text,
    }
}

/// `g`: `precision` significant digits, as a fraction if the exponent is small. Without a letter (`bare`) there is
/// always a digit after the point, and the exponent starts one digit earlier.
fn general(magnitude: f64, precision: usize, keep_zeros: bool, bare: bool) -> String {
    let precision = precision.max(1);
    let scientific = exponent_form(magnitude, precision - 1);
    let exponent: i64 = scientific
        .split_once('e')
        .and_then(|(_, e)| e.parse().ok())
        .unwrap_or(0);
    let limit = precision as i64 - i64::from(bare);
    let strip = |text: &str| {
        if keep_zeros || !text.contains('.') {
            return text.to_string();
        }
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    };
    if (-4..limit.max(1)).contains(&exponent) && !(bare && exponent >= limit) {
        let decimals = usize::try_from(precision as i64 - 1 - exponent).unwrap_or(0);
        let text = strip(&format!("{magnitude:.decimals$}"));
        return if bare && !text.contains('.') {
            format!("{text}.0")
        } else {
            text
        };
    }
    match scientific.split_once('e') {
        Some((mantissa, exponent)) => format!("{}e{exponent}", strip(mantissa)),
        None => scientific,
    }
}

/// Digits in groups; zeros that fill a width are digits too. `others` is the number of other characters.
fn grouped(spec: &Spec, digits: &str, others: usize, every: usize) -> String {
    let mut text = group(digits, spec.grouping, every);
    if spec.grouping.is_some() && spec.fill == '0' && spec.align == Some('=') {
        let mut digits = digits.to_string();
        while text.len() + others < spec.width {
            digits.insert(0, '0');
            // A width is at most a few thousand groups; whole blocks at a time keep it short.
            let missing = spec.width.saturating_sub(text.len() + others + 1) * every / (every + 1);
            digits.insert_str(0, &"0".repeat(missing.saturating_sub(1)));
            text = group(&digits, spec.grouping, every);
        }
    }
    text
}

fn group(digits: &str, separator: Option<char>, every: usize) -> String {
    let Some(separator) = separator else {
        return digits.to_string();
    };
    let mut out = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(every) {
            out.push(separator);
        }
        out.push(c);
    }
    out
}

fn pad(spec: &Spec, sign: &str, body: &str, default: char) -> String {
    let length = sign.chars().count() + body.chars().count();
    let missing = spec.width.saturating_sub(length);
    let fill = |n: usize| -> String { std::iter::repeat_n(spec.fill, n).collect() };
    match spec.align.unwrap_or(default) {
        '<' => format!("{sign}{body}{}", fill(missing)),
        '^' => format!("{}{sign}{body}{}", fill(missing / 2), fill(missing - missing / 2)),
        '=' => format!("{sign}{}{body}", fill(missing)),
        _ => format!("{}{sign}{body}", fill(missing)),
    }
}

/// `text.format(*args, **keywords)`.
///
/// # Errors
/// Fields without an argument, and as [`format()`].
pub fn str_format(template: &str, args: &[Value], keywords: &[(crate::ast::Name, Value)]) -> Result<String> {
    let mut out = String::new();
    let mut rest = template;
    let mut next = 0;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..at + 1];
        let after = &rest[at + 1..];
        if let Some(doubled) = after.strip_prefix(brace) {
            out.push_str(brace);
            rest = doubled;
            continue;
        }
        if brace == "}" {
            return Err("a single `}` in a format".to_string());
        }
        let end = after.find('}').ok_or("a `{` without `}` in a format")?;
        let field = &after[..end];
        rest = &after[end + 1..];
        let (field, spec) = field.split_once(':').unwrap_or((field, ""));
        let (field, conversion) = match field.split_once('!') {
            Some((field, conversion)) => (field, conversion.chars().next()),
            None => (field, None),
        };
        let value = match (field.parse::<usize>(), field) {
            (_, "") => {
                next += 1;
                args.get(next - 1)
            }
            (Ok(position), _) => args.get(position),
            (_, name) => keywords.iter().find(|(n, _)| &**n == name).map(|(_, v)| v),
        };
        let value = value.ok_or_else(|| format!("the format's `{{{field}}}` has no argument"))?;
        out.push_str(&convert(value, conversion, spec)?);
        bounded_len(out.len())?;
    }
    out.push_str(rest);
    Ok(Value::str(&out)).map(|v| text::str(&v))
}

/// `template % values`.
///
/// # Errors
/// Too few or too many values, and as [`format()`].
pub fn percent(template: &str, values: &Value) -> Result {
    let mut positional = match values {
        Value::Tuple(tuple) => tuple.items.to_vec(),
        other => vec![other.clone()],
    }
    .into_iter();
    let mut out = String::new();
    let mut chars = template.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let mut key = None;
        if chars.peek() == Some(&'(') {
            key = Some(
                chars
                    .by_ref()
                    .skip(1)
                    .take_while(|c| *c != ')')
                    .collect::<String>(),
            );
        }
        let mut spec = String::new();
        let kind = loop {
            match chars.next() {
                Some(c @ ('-' | '+' | ' ' | '#' | '.' | '0'..='9')) => {
                    spec.push(if c == '-' { '<' } else { c })
                }
                Some('l' | 'h' | 'L') => {}
                Some(c) => break c,
                None => return Err("a format that ends in `%`".to_string()),
            }
        };
        if kind == '%' {
            out.push('%');
            continue;
        }
        let value = match key {
            Some(key) => index::subscript(values, &Value::str(&key))?,
            None => positional.next().ok_or("too few values for the format")?,
        };
        let formatted = match kind {
            's' | 'r' | 'a' => {
                let shown = if kind == 's' {
                    text::str(&value)
                } else {
                    text::repr(&value)
                };
                let align = if spec.starts_with('<') { "" } else { ">" };
                format(&Value::str(&shown), &format!("{align}{spec}"))?
            }
            'd' | 'i' | 'u' => {
                let whole = match &value {
                    Value::Float(float) => super::number::float_to_int(*float),
                    other => as_int(other),
                };
                format(
                    &Value::Int(whole.ok_or("`%d` takes a number")?),
                    &format!("{spec}d"),
                )?
            }
            kind => format(&value, &format!("{spec}{kind}"))?,
        };
        out.push_str(&formatted);
        bounded_len(out.len())?;
    }
    if !matches!(values, Value::Dict(_)) && positional.next().is_some() {
        return Err("not all values are used by the format".to_string());
    }
    Ok(Value::str(&out))
}
