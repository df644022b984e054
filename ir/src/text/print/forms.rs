//! Pieces that the text of several operations shares.

use super::Printer;
use super::attrs::{Own, i32_array};
use crate::attrs::{AccessAttrs, Attrs, CachePolicy};
use crate::entities::{RegionId, ValueId};
use crate::module::{Function, Op, Successor};
use std::fmt::Write;

/// The dictionary entries of a load, a store or a descriptor load.
pub(super) fn access_entries(access: &AccessAttrs) -> Vec<Own> {
    let mut own = Vec::new();
    if !access.boundary_check.is_empty() {
        own.push(("boundaryCheck", i32_array(access.boundary_check.iter().copied())));
    }
    let plain = CachePolicy::default();
    if (access.cache.modifier, access.cache.eviction) != (plain.modifier, plain.eviction) {
        let (modifier, eviction) = (access.cache.modifier.as_str(), access.cache.eviction.as_str());
        let text = format!("#tt.cache_policy<cache_modifier = {modifier}, eviction_policy = {eviction}>");
        own.push(("cachePolicy", text));
    }
    if access.volatile {
        own.push(("isVolatile", "true".into()));
    }
    if let Some(padding) = access.padding {
        own.push(("padding", format!("{} : i32", padding.code())));
    }
    own
}

impl Printer<'_> {
    /// ` %a, %b` and then the dictionary.
    pub(super) fn head(&mut self, op: &Op, own: &[Own]) {
        self.spaced(&op.operands);
        self.dict(own, &op.extra);
    }

    pub(super) fn spaced(&mut self, values: &[ValueId]) {
        if !values.is_empty() {
            self.out.push(' ');
            self.values(values);
        }
    }

    pub(super) fn result_type(&mut self, f: &Function, op: &Op) {
        if let Some(&result) = op.results.first() {
            let _ = write!(self.out, "{}", f.ty(result));
        }
    }

    pub(super) fn first_type(&mut self, f: &Function, op: &Op) {
        if let Some(&operand) = op.operands.first() {
            let _ = write!(self.out, "{}", f.ty(operand));
        }
    }

    /// ` %x {…} : t -> u`
    pub(super) fn arrow(&mut self, f: &Function, op: &Op, own: &[Own]) {
        self.head(op, own);
        self.out.push_str(" : ");
        self.first_type(f, op);
        self.out.push_str(" -> ");
        self.result_type(f, op);
    }

    /// ` : (t, u) -> v`
    pub(super) fn signature(&mut self, f: &Function, op: &Op) {
        self.out.push_str(" : (");
        self.types(f, &op.operands);
        self.out.push_str(") -> ");
        if op.results.len() == 1 {
            self.result_type(f, op);
        } else {
            self.out.push('(');
            self.types(f, &op.results);
            self.out.push(')');
        }
    }

    /// ` : t, u`
    pub(super) fn operand_types(&mut self, f: &Function, op: &Op) {
        self.out.push_str(" : ");
        self.types(f, &op.operands);
    }

    /// `{…} %a, %b : t, u` behind `condition`'s parenthesis, a yield or a return.
    pub(super) fn terminator(&mut self, f: &Function, op: &Op, values: &[ValueId]) {
        self.dict(&[], &op.extra);
        if !values.is_empty() {
            self.spaced(values);
            self.out.push_str(" : ");
            self.types(f, values);
        }
    }

    pub(super) fn bracketed(&mut self, values: &[ValueId]) {
        self.out.push('[');
        self.values(values);
        self.out.push(']');
    }

    pub(super) fn successor(&mut self, f: &Function, successor: &Successor) {
        let _ = write!(self.out, "^bb{}", self.names.block(successor.block));
        if !successor.args.is_empty() {
            self.out.push('(');
            self.values(&successor.args);
            self.out.push_str(" : ");
            self.types(f, &successor.args);
            self.out.push(')');
        }
    }

    /// `"tt.reduce"(%x) <{…}> ({ … }) {…} : (t) -> u`
    pub(super) fn generic(&mut self, f: &Function, op: &Op, own: &[Own]) {
        self.out.push('(');
        self.values(&op.operands);
        self.out.push(')');
        if !own.is_empty() {
            let start = self.out.len();
            self.dict(own, &[]);
            self.out.insert(start + 1, '<');
            self.out.push('>');
        }
        self.out.push_str(" (");
        for (i, &region) in op.regions.iter().enumerate() {
            self.comma(i);
            self.region(f, region, true, None);
        }
        self.out.push(')');
        self.dict(&[], &op.extra);
        self.signature(f, op);
    }

    pub(super) fn nested(&mut self, f: &Function, op: &Op, region: Option<RegionId>) {
        let elided = op.results.is_empty().then_some(op.loc);
        if let Some(region) = region {
            self.region(f, region, false, elided);
        }
    }

    pub(super) fn result_list(&mut self, f: &Function, op: &Op) {
        if !op.results.is_empty() {
            self.out.push_str(" -> (");
            self.types(f, &op.results);
            self.out.push(')');
        }
    }

    /// `(%a = %x, %b = %y)`
    pub(super) fn assignments(&mut self, names: &[ValueId], values: &[ValueId]) {
        self.out.push('(');
        for (i, (&name, &value)) in names.iter().zip(values).enumerate() {
            self.comma(i);
            self.value(name);
            self.out.push_str(" = ");
            self.value(value);
        }
        self.out.push(')');
    }

    pub(super) fn order_words(&mut self, attrs: &Attrs) {
        let (semantic, scope) = match attrs {
            Attrs::Rmw(_, semantic, scope) | Attrs::Atomic(semantic, scope) => (semantic, scope),
            _ => return,
        };
        let _ = write!(self.out, " {}, {},", semantic.as_str(), scope.as_str());
    }

    /// A type without the prefix that the operation implies: `<f16>` of `!tt.ptr<f16>`.
    pub(super) fn short_type(&mut self, f: &Function, value: Option<ValueId>, prefix: &str, separator: &str) {
        if let Some(value) = value {
            let text = f.ty(value).to_string();
            let _ = write!(
                self.out,
                "{separator}{}",
                text.strip_prefix(prefix).unwrap_or(&text)
            );
        }
    }
}
