//! Attribute values and dictionaries, before they become an operation's own attributes.

use super::super::lexer::Number;
use super::super::{MAX_DEPTH, float};
use super::Parser;
use crate::attrs::{AttrList, AttrValue, Constant};
use crate::types::{Elem, MAX_TILE_ELEMENTS, Scalar, Type};
use std::sync::Arc;
use tilescope_diagnostics::{Error, Result};

/// A named attribute and where its name stands.
#[derive(Debug)]
pub(super) struct Item<'a> {
    pub name: std::borrow::Cow<'a, str>,
    pub value: AttrValue,
    pub at: usize,
}

/// The attributes of one operation as written; its own are taken out, the rest are discardable.
#[derive(Debug, Default)]
pub(super) struct Dict<'a> {
    pub items: Vec<Item<'a>>,
}

impl<'a> Dict<'a> {
    pub fn add(&mut self, name: &'a str, value: AttrValue, at: usize) {
        self.items.push(Item {
            name: name.into(),
            value,
            at,
        });
    }

    /// Takes an attribute out.
    pub fn take(&mut self, name: &str) -> Option<Item<'a>> {
        let index = self.items.iter().position(|i| i.name == name)?;
        Some(self.items.remove(index))
    }

    /// Takes an attribute that had several names over the versions.
    pub fn take_any(&mut self, names: &[&str]) -> Option<Item<'a>> {
        names.iter().find_map(|name| self.take(name))
    }

    pub fn into_list(self) -> AttrList {
        self.items
            .into_iter()
            .map(|i| (Arc::from(i.name), i.value))
            .collect()
    }
}

impl<'a> Parser<'a> {
    /// `{a = 1, b}` if it is there, added to `dict`.
    pub(super) fn attr_dict(&mut self, dict: &mut Dict<'a>) -> Result<()> {
        if self.c.peek() == b'{' {
            self.dict_body(dict, 0)
        } else {
            Ok(())
        }
    }

    fn dict_body(&mut self, dict: &mut Dict<'a>, depth: usize) -> Result<()> {
        self.expect(b'{', "`{`")?;
        if self.c.eat(b'}') {
            return Ok(());
        }
        loop {
            let at = self.c.at();
            let name = match self.c.string() {
                Some(Ok(name)) => name,
                Some(Err((range, text))) => return Err(self.bad_string(range, text)),
                None => match self.c.word() {
                    Some(word) => word.into(),
                    None => return Err(self.expected(at, "an attribute", "an attribute name or `}`")),
                },
            };
            if dict.items.len() < 64 && dict.items.iter().any(|i| i.name == name) {
                return Err(Error::input(format!("attribute `{name}` is given twice")).at(
                    &self.source,
                    self.c.item(at),
                    "the second one",
                ));
            }
            let value = if self.c.eat(b'=') {
                self.attr_value(depth + 1)?
            } else {
                AttrValue::Unit
            };
            dict.items.push(Item { name, value, at });
            if self.c.eat(b'}') {
                return Ok(());
            }
            self.expect(b',', "`,` or `}` after an attribute")?;
        }
    }

    /// Any attribute value.
    pub(super) fn attr_value(&mut self, depth: usize) -> Result<AttrValue> {
        let at = self.c.at();
        if depth > MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        match self.c.here() {
            b'"' => Ok(AttrValue::Str(self.string_literal()?)),
            b'[' => self.array_attr(depth),
            b'{' => {
                let mut dict = Dict::default();
                self.dict_body(&mut dict, depth)?;
                Ok(AttrValue::Dict(dict.into_list().into_iter().collect()))
            }
            b'@' => Ok(AttrValue::Symbol(self.symbol()?)),
            b'#' => self.dialect_attr(),
            b'-' | b'0'..=b'9' => {
                let Some(number) = self.c.number() else {
                    return Err(self.expected(at, "this attribute value", "a number after `-`"));
                };
                self.number_attr(number)
            }
            b'!' => Ok(AttrValue::Type(Box::new(self.ty()?))),
            b'(' => {
                self.last_function_type = Some(self.function_type()?);
                Ok(AttrValue::Opaque(self.c.slice(at..self.c.end()).into()))
            }
            _ => self.word_attr(at),
        }
    }

    fn word_attr(&mut self, at: usize) -> Result<AttrValue> {
        match self.c.peek_word() {
            "true" | "false" => {
                let value = self.c.word() == Some("true");
                Ok(AttrValue::Bool(value))
            }
            "unit" => {
                self.c.word();
                Ok(AttrValue::Unit)
            }
            "array" => self.dense_array(),
            "dense" => {
                let (constant, shape, scalar) = self.dense()?;
                Ok(AttrValue::Dense(constant, shape, scalar))
            }
            "" => Err(self.expected(at, "an attribute value", "a number, string, list or type")),
            "affine_map" | "affine_set" | "dense_resource" | "sparse" | "distinct" | "loc" => {
                let word = self.c.peek_word();
                Err(self.unsupported(at, format!("attribute `{word}`")))
            }
            _ => Ok(AttrValue::Type(Box::new(self.ty()?))),
        }
    }

    fn array_attr(&mut self, depth: usize) -> Result<AttrValue> {
        self.expect(b'[', "`[`")?;
        let mut items = Vec::new();
        if self.c.eat(b']') {
            return Ok(AttrValue::Array(items));
        }
        loop {
            items.push(self.attr_value(depth + 1)?);
            if self.c.eat(b']') {
                return Ok(AttrValue::Array(items));
            }
            self.expect(b',', "`,` or `]` in a list")?;
        }
    }

    /// `#tt.cache_policy<…>`, verbatim, or an alias defined above.
    fn dialect_attr(&mut self) -> Result<AttrValue> {
        let at = self.c.at();
        let Some(name) = self.c.sigil_name(b'#') else {
            return Err(self.expected(at, "an attribute", "a name after `#`"));
        };
        if !name.contains('.') && self.c.here() != b'<' {
            return self.attr_alias(name, at).cloned();
        }
        if self.c.here() != b'<' {
            return Ok(AttrValue::Opaque(self.c.slice(at..self.c.end()).into()));
        }
        let mut text = String::new();
        let mut copied = at;
        self.angle_brackets(&mut |p, name, used| {
            let value = p.attr_alias(name, used)?;
            let AttrValue::Opaque(value) = value else {
                return Err(p.unsupported(used, format!("alias `#{name}` inside of an attribute")));
            };
            if text.len() > 1 << 16 {
                return Err(p.unsupported(used, "an attribute of more than 64 KiB".to_string()));
            }
            text.push_str(p.c.slice(copied..used));
            text.push_str(value);
            copied = p.c.end();
            Ok(())
        })?;
        text.push_str(self.c.slice(copied..self.c.end()));
        Ok(AttrValue::Opaque(text.into()))
    }

    fn attr_alias(&self, name: &str, at: usize) -> Result<&AttrValue> {
        self.attr_aliases.get(name).ok_or_else(|| {
            Error::input(format!("attribute alias `#{name}` is not defined"))
                .at(&self.source, self.c.item(at), "used here")
                .help("aliases of attributes are defined above their use, as `#name = …`")
        })
    }

    /// Moves past a bracketed body, strings and nested brackets included; calls `alias` behind each
    /// name of an alias with its offset.
    fn angle_brackets(&mut self, alias: &mut dyn FnMut(&Self, &'a str, usize) -> Result<()>) -> Result<()> {
        let open = self.c.at();
        let mut stack = Vec::new();
        loop {
            let at = self.c.at();
            match self.c.here() {
                b @ (b'<' | b'(' | b'[' | b'{') => stack.push(b),
                b'>' if at > 0 && self.c.slice(at - 1..at) == "-" => {}
                b @ (b'>' | b')' | b']' | b'}') => {
                    let opener = if b == b')' { b'(' } else { b - 2 };
                    if stack.pop() != Some(opener) {
                        return Err(self.expected(
                            at,
                            "this",
                            "the bracket that closes the innermost open one",
                        ));
                    }
                    if stack.is_empty() {
                        self.c.seek(at + 1);
                        return Ok(());
                    }
                }
                b'"' => {
                    self.string_literal()?;
                    continue;
                }
                b'#' => {
                    if let Some(name) = self.c.sigil_name(b'#') {
                        if !name.contains('.') && self.c.here() != b'<' {
                            alias(self, name, at)?;
                        }
                        continue;
                    }
                }
                _ if self.c.is_end() => {
                    let error = Error::input("the attribute is not closed");
                    return Err(error.at(&self.source, open..open + 1, "opened here"));
                }
                _ => {}
            }
            if stack.len() > MAX_DEPTH {
                return Err(self.too_deep(at));
            }
            self.c.step();
        }
    }

    /// `16`, `16 : i32`, `1.5 : f32`, `0x7FC0 : bf16`.
    fn number_attr(&mut self, number: Number<'a>) -> Result<AttrValue> {
        let typed = self.c.eat(b':');
        let scalar = match typed {
            true => self.scalar()?,
            false if number.float => Scalar::F64,
            false => Scalar::I64,
        };
        if scalar.is_float() {
            return Ok(AttrValue::Float(self.float_bits(number, scalar)?, scalar));
        }
        Ok(AttrValue::Int(self.integer(number, scalar)?, scalar))
    }

    /// `array<i32: 1, 0>`.
    fn dense_array(&mut self) -> Result<AttrValue> {
        self.c.word();
        self.expect(b'<', "`<` after `array`")?;
        let scalar = self.scalar()?;
        let mut items = Vec::new();
        if self.c.eat(b':') {
            loop {
                let at = self.c.at();
                items.push(match self.c.peek_word() {
                    "true" | "false" => i128::from(self.c.word() == Some("true")),
                    _ => match self.c.number() {
                        Some(n) if scalar.is_float() => i128::from(self.float_bits(n, scalar)?),
                        Some(n) => self.integer(n, scalar)?,
                        None => return Err(self.expected(at, "an element", "a number")),
                    },
                });
                if !self.c.eat(b',') {
                    break;
                }
            }
        }
        self.expect(b'>', "`>` at the end of the array")?;
        Ok(AttrValue::DenseArray(scalar, items))
    }

    /// An integer literal that fits a type, signed or unsigned.
    pub(super) fn integer(&mut self, number: Number<'a>, scalar: Scalar) -> Result<i128> {
        if number.float {
            return Err(self.expected(
                number.at,
                "this number",
                &format!("an integer, its type is `{scalar}`"),
            ));
        }
        let value = match number.text.strip_prefix("0x") {
            Some(hex) => i128::from_str_radix(hex, 16).ok(),
            None => number.text.parse::<i128>().ok(),
        };
        let bits = scalar.bits().min(126);
        let (low, high) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
        value.filter(|v| (low..=high).contains(v)).ok_or_else(|| {
            Error::input(format!("the number does not fit `{scalar}`")).at(
                &self.source,
                number.at..number.at + number.text.len(),
                "too large",
            )
        })
    }

    /// Bits of a float literal: decimal, or the bits themselves in hexadecimal.
    pub(super) fn float_bits(&mut self, number: Number<'a>, scalar: Scalar) -> Result<u64> {
        if number.hex {
            let bits = u64::from_str_radix(&number.text[2..], 16).ok();
            return bits
                .filter(|b| scalar.bits() == 64 || b >> scalar.bits() == 0)
                .ok_or_else(|| {
                    Error::input(format!("the hexadecimal bits do not fit `{scalar}`")).at(
                        &self.source,
                        number.at..number.at + number.text.len(),
                        "too many digits",
                    )
                });
        }
        if !number.float {
            return Err(self
                .expected(
                    number.at,
                    "this number",
                    &format!("a float, its type is `{scalar}`"),
                )
                .help(format!("write `{}.0`", number.text)));
        }
        let value: f64 = number
            .text
            .parse()
            .map_err(|_| self.expected(number.at, "this number", "a float"))?;
        Ok(float::to_bits(value, scalar))
    }

    /// Bits of one element of a constant.
    pub(super) fn element(&mut self, scalar: Scalar) -> Result<u64> {
        let at = self.c.at();
        match self.c.peek_word() {
            "true" | "false" if scalar == Scalar::I1 => Ok(u64::from(self.c.word() == Some("true"))),
            _ => match self.c.number() {
                Some(n) if scalar.is_float() => self.float_bits(n, scalar),
                Some(n) => Ok(truncate(self.integer(n, scalar)?, scalar)),
                None => Err(self.expected(at, "an element", &format!("a number of type `{scalar}`"))),
            },
        }
    }

    /// `dense<…> : tensor<…>`. The type follows the elements, so it is read first.
    pub(super) fn dense(&mut self) -> Result<(Constant, Vec<u64>, Scalar)> {
        self.c.word();
        let open = self.c.at();
        if self.c.here() != b'<' {
            return Err(self.expected(open, "a constant", "`<` after `dense`"));
        }
        self.angle_brackets(&mut |p, _, at| Err(p.expected(at, "this", "a number")))?;
        self.expect(b':', "`:` and the type of the constant")?;
        let type_at = self.c.at();
        let (dims, scalar) = self.dense_type()?;
        let end = self.c.end();
        let count = dims
            .iter()
            .try_fold(1u64, |a, &d| a.checked_mul(d))
            .filter(|&n| n <= MAX_TILE_ELEMENTS);
        let Some(count) = count else {
            return Err(Error::input("the constant is larger than 2^20 elements").at(
                &self.source,
                type_at..end,
                "Triton's limit for a tile",
            ));
        };
        self.c.seek(open + 1);
        let constant = match self.c.peek() {
            b'>' if count == 0 => Constant::Dense(Arc::from([])),
            b'"' => self.hex_elements(count, scalar)?,
            b'[' => {
                let mut bits = Vec::new();
                self.element_list(&dims, scalar, &mut bits)?;
                normal(bits)
            }
            _ => Constant::Splat(self.element(scalar)?),
        };
        let at = self.c.at();
        if !self.c.eat(b'>') {
            return Err(self.expected(at, "the constant's end", "`>`"));
        }
        self.c.seek(end);
        Ok((constant, dims, scalar))
    }

    /// `tensor<2x3xi32>` where the dimensions need not be powers of two.
    fn dense_type(&mut self) -> Result<(Vec<u64>, Scalar)> {
        let at = self.c.at();
        if self.c.word() != Some("tensor") {
            return Err(self.expected(at, "the constant's type", "`tensor<…>`"));
        }
        self.expect(b'<', "`<` after `tensor`")?;
        let mut dims = Vec::new();
        while let Some(dim) = self.dim()? {
            if dims.len() > MAX_DEPTH {
                return Err(self.too_deep(at));
            }
            dims.push(dim);
        }
        let scalar = match self.ty()? {
            Type::Scalar(Elem::Scalar(scalar)) => scalar,
            _ => return Err(self.expected(at, "the constant's type", "a tensor of numbers")),
        };
        if self.c.peek() == b',' {
            // the same refusal as in any other tensor type
            self.c.seek(at);
            self.ty()?;
        }
        self.expect(b'>', "`>` at the end of the tensor type")?;
        Ok((dims, scalar))
    }

    fn element_list(&mut self, dims: &[u64], scalar: Scalar, bits: &mut Vec<u64>) -> Result<()> {
        let at = self.c.at();
        let Some((&dim, inner)) = dims.split_first() else {
            bits.push(self.element(scalar)?);
            return Ok(());
        };
        let mismatch = |p: &Self, found: u64| {
            Error::input(format!("a list of {found} elements where the type says {dim}")).at(
                &p.source,
                at..at + 1,
                "this list",
            )
        };
        self.expect(b'[', "`[` of the nested list")?;
        let mut found = 0;
        if !self.c.eat(b']') {
            loop {
                if found == dim {
                    return Err(mismatch(self, found + 1));
                }
                self.element_list(inner, scalar, bits)?;
                found += 1;
                if self.c.eat(b']') {
                    break;
                }
                self.expect(b',', "`,` or `]` in a list of elements")?;
            }
        }
        if found == dim {
            Ok(())
        } else {
            Err(mismatch(self, found))
        }
    }

    /// `"0x0000803F…"`: little-endian bytes of all elements, or of the one that is repeated.
    fn hex_elements(&mut self, count: u64, scalar: Scalar) -> Result<Constant> {
        let at = self.c.at();
        let text = self.string_literal()?;
        let wrong = |p: &Self| {
            Error::input("the hexadecimal text does not hold the elements of the type").at(
                &p.source,
                p.c.item(at),
                format!("{count} elements of {} bytes expected", scalar.bytes()),
            )
        };
        let digits = text.strip_prefix("0x").ok_or_else(|| wrong(self))?.as_bytes();
        let bytes: Option<Vec<u8>> = digits
            .chunks(2)
            .map(|pair| match pair {
                &[a, b] => Some((char::from(a).to_digit(16)? * 16 + char::from(b).to_digit(16)?) as u8),
                _ => None,
            })
            .collect();
        let bytes = bytes.ok_or_else(|| wrong(self))?;
        let size = scalar.bytes();
        let read = |chunk: &[u8]| {
            let value = chunk.iter().rev().fold(0u64, |v, &b| v << 8 | u64::from(b));
            if scalar == Scalar::I1 {
                u64::from(value != 0)
            } else {
                truncate(i128::from(value), scalar)
            }
        };
        if bytes.len() == size {
            return Ok(Constant::Splat(read(&bytes)));
        }
        if bytes.len() as u64 == count * size as u64 {
            return Ok(normal(bytes.chunks(size).map(read).collect()));
        }
        if scalar == Scalar::I1 && bytes.len() as u64 == count.div_ceil(8) {
            // older versions pack truth values into bits
            let bit = |i: u64| u64::from(bytes[(i / 8) as usize] >> (i % 8) & 1);
            return Ok(normal((0..count).map(bit).collect()));
        }
        Err(wrong(self))
    }
}

/// The bits of an integer in its type, zero-extended.
pub(super) fn truncate(value: i128, scalar: Scalar) -> u64 {
    let bits = scalar.bits();
    if bits >= 64 {
        value as u64
    } else {
        value as u64 & ((1 << bits) - 1)
    }
}

/// As MLIR does: elements that are all the same are a splat.
fn normal(bits: Vec<u64>) -> Constant {
    match bits.split_first() {
        Some((&first, rest)) if rest.iter().all(|&b| b == first) => Constant::Splat(first),
        _ => Constant::Dense(bits.into()),
    }
}
