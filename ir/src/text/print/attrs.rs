//! Attribute dictionaries and values.

use super::super::float;
use super::{Printer, is_bare};
use crate::attrs::{Attr, AttrValue, Constant};
use crate::types::Scalar;
use std::fmt::Write;

/// An operation's own attribute in its dictionary: name and text of the value, empty for a unit.
pub(super) type Own = (&'static str, String);

/// `array<i32: 1, 0>`
pub(super) fn i32_array(items: impl Iterator<Item = u32>) -> String {
    let items: Vec<String> = items.map(|i| i.to_string()).collect();
    if items.is_empty() {
        "array<i32>".to_string()
    } else {
        format!("array<i32: {}>", items.join(", "))
    }
}

/// A string literal; bytes that are not printable ASCII are written as two digits.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for b in text.bytes() {
        match b {
            b'\\' => out.push_str("\\\\"),
            b' '..=b'~' if b != b'"' => out.push(char::from(b)),
            _ => {
                let _ = write!(out, "\\{b:02X}");
            }
        }
    }
    out.push('"');
    out
}

impl Printer<'_> {
    /// ` {a = 1 : i32, b}`, or nothing without attributes.
    pub(super) fn dict(&mut self, own: &[Own], extra: &[Attr]) {
        if own.is_empty() && extra.is_empty() {
            return;
        }
        self.out.push_str(" {");
        let mut first = true;
        for (name, value) in own {
            self.comma(usize::from(!std::mem::take(&mut first)));
            self.out.push_str(name);
            if !value.is_empty() {
                let _ = write!(self.out, " = {value}");
            }
        }
        for (name, value) in extra {
            self.comma(usize::from(!std::mem::take(&mut first)));
            self.entry(name, value);
        }
        self.out.push('}');
    }

    fn entry(&mut self, name: &str, value: &AttrValue) {
        if is_bare(name) {
            self.out.push_str(name);
        } else {
            self.string(name);
        }
        if *value != AttrValue::Unit {
            self.out.push_str(" = ");
            self.attr(value);
        }
    }

    fn attr(&mut self, value: &AttrValue) {
        match value {
            AttrValue::Unit => self.out.push_str("unit"),
            AttrValue::Bool(value) => {
                let _ = write!(self.out, "{value}");
            }
            AttrValue::Int(value, scalar) => {
                let _ = write!(self.out, "{value} : {scalar}");
            }
            AttrValue::Float(bits, scalar) => {
                float::print(&mut self.out, *bits, *scalar);
                let _ = write!(self.out, " : {scalar}");
            }
            AttrValue::Str(text) => self.string(text),
            AttrValue::Array(items) => {
                self.out.push('[');
                for (i, item) in items.iter().enumerate() {
                    self.comma(i);
                    self.attr(item);
                }
                self.out.push(']');
            }
            AttrValue::DenseArray(scalar, items) => self.dense_array(*scalar, items),
            AttrValue::Dense(constant, dims, scalar) => self.dense(constant, dims, *scalar),
            AttrValue::Dict(list) => {
                self.out.push('{');
                for (i, (name, value)) in list.iter().enumerate() {
                    self.comma(i);
                    self.entry(name, value);
                }
                self.out.push('}');
            }
            AttrValue::Type(ty) => {
                let _ = write!(self.out, "{ty}");
            }
            AttrValue::Symbol(name) => self.symbol(name),
            AttrValue::Opaque(text) => self.out.push_str(text),
        }
    }

    fn dense_array(&mut self, scalar: Scalar, items: &[i128]) {
        let _ = write!(self.out, "array<{scalar}");
        for (i, &item) in items.iter().enumerate() {
            self.out.push_str(if i == 0 { ": " } else { ", " });
            if scalar == Scalar::I1 {
                let _ = write!(self.out, "{}", item != 0);
            } else if scalar.is_float() {
                float::print(&mut self.out, item as u64, scalar);
            } else {
                let _ = write!(self.out, "{item}");
            }
        }
        self.out.push('>');
    }

    /// One element of a constant.
    pub(super) fn element(&mut self, bits: u64, scalar: Scalar) {
        if scalar.is_float() {
            float::print(&mut self.out, bits, scalar);
        } else if scalar == Scalar::I1 {
            self.out.push_str(if bits & 1 == 1 { "true" } else { "false" });
        } else {
            let unused = 64 - scalar.bits().min(64);
            let _ = write!(self.out, "{}", ((bits << unused) as i64) >> unused);
        }
    }

    /// `dense<…> : tensor<…>`
    pub(super) fn dense(&mut self, constant: &Constant, dims: &[u64], scalar: Scalar) {
        self.out.push_str("dense<");
        match constant {
            Constant::Splat(bits) => self.element(*bits, scalar),
            Constant::Dense(bits) if bits.is_empty() => {}
            Constant::Dense(bits) => self.element_lists(bits, dims, scalar),
        }
        self.out.push_str("> : tensor<");
        for dim in dims {
            let _ = write!(self.out, "{dim}x");
        }
        let _ = write!(self.out, "{scalar}>");
    }

    /// `[[1, 2], [3, 4]]`: brackets open and close where an index starts and ends a row.
    fn element_lists(&mut self, bits: &[u64], dims: &[u64], scalar: Scalar) {
        let rows = dims.iter().rev().scan(1u64, |size, &dim| {
            *size = size.saturating_mul(dim.max(1));
            Some(*size)
        });
        let rows: Vec<u64> = rows.collect();
        for (i, &element) in bits.iter().enumerate() {
            let opened = rows.iter().filter(|&&row| (i as u64).is_multiple_of(row)).count();
            let closed = rows
                .iter()
                .filter(|&&row| (i as u64 + 1).is_multiple_of(row))
                .count();
            self.comma(i);
            self.out.extend(std::iter::repeat_n('[', opened));
            self.element(element, scalar);
            self.out.extend(std::iter::repeat_n(']', closed));
        }
    }
}
