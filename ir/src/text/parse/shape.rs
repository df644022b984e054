//! Shapes, gather, histogram, reductions and matrix products.

use super::Parser;
use super::draft::Draft;
use crate::attrs::AttrValue;
use crate::ops::OpCode;
use crate::types::{Elem, Scalar, Type};
use tilescope_diagnostics::{Error, Result};

impl<'a> Parser<'a> {
    /// `{end = 64 : i32, start = 0 : i32} : t`
    pub(super) fn make_range(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.poison(d)
    }

    /// `%x {…} : t -> u`
    fn one_to_one(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let u = self.operand()?;
        self.attr_dict(&mut d.dict)?;
        let from = self.colon_type()?;
        self.arrow()?;
        let to = self.ty()?;
        self.same_type(d, &[u], from)?;
        d.results.push(to);
        Ok(())
    }

    pub(super) fn splat(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.one_to_one(d)
    }

    /// `%x {…} : t`: the result is the element.
    pub(super) fn unsplat(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let u = self.operand()?;
        self.attr_dict(&mut d.dict)?;
        let at = self.c.at();
        let ty = self.colon_type()?;
        let Type::Tile(_, elem) = ty else {
            return Err(self.expected(at, "this type", "a tensor of one element"));
        };
        self.same_type(d, &[u], ty)?;
        d.results.push(Type::Scalar(elem));
        Ok(())
    }

    pub(super) fn broadcast(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.one_to_one(d)
    }

    pub(super) fn expand_dims(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.one_to_one(d)
    }

    /// `%x allow_reorder efficient_layout {…} : t -> u`
    pub(super) fn reshape(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let u = self.operand()?;
        for word in ["allow_reorder", "efficient_layout"] {
            let at = self.c.at();
            if self.c.eat_word(word) {
                d.dict.add(word, AttrValue::Unit, at);
            }
        }
        self.attr_dict(&mut d.dict)?;
        let from = self.colon_type()?;
        self.arrow()?;
        let to = self.ty()?;
        self.same_type(d, &[u], from)?;
        d.results.push(to);
        Ok(())
    }

    pub(super) fn trans(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.one_to_one(d)
    }

    /// `%a, %b {…} : t -> u`
    pub(super) fn join(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let uses = self.operands()?;
        self.attr_dict(&mut d.dict)?;
        let from = self.colon_type()?;
        self.arrow()?;
        let to = self.ty()?;
        d.operands = self.resolve_all(&uses, &[from, from])?;
        d.results.push(to);
        Ok(())
    }

    /// `%x {…} : t -> u`: two results of one type.
    pub(super) fn split(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.one_to_one(d)?;
        d.results.extend_from_within(..);
        Ok(())
    }

    pub(super) fn cat(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.join(d)
    }

    /// `%x[%i] {axis = 0 : i32} : (t, u) -> v`
    pub(super) fn gather(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let source = self.operand()?;
        let mut uses = self.bracketed()?;
        uses.insert(0, source);
        self.attr_dict(&mut d.dict)?;
        self.signature(d, &uses)
    }

    /// `%x, %mask {…} : t -> u`
    pub(super) fn histogram(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let uses = self.operands()?;
        self.attr_dict(&mut d.dict)?;
        let from = self.colon_type()?;
        self.arrow()?;
        let to = self.ty()?;
        let types = [from, from.with_elem(Elem::Scalar(Scalar::I1))];
        d.operands = self.resolve_all(&uses, types.get(..uses.len()).unwrap_or(&types))?;
        d.results.push(to);
        Ok(())
    }

    fn only_generic(&mut self, d: &mut Draft<'a>) -> Result<()> {
        Err(Error::input(format!("`{}` has no short form", d.code)).at(
            &self.source,
            self.c.item(d.at),
            format!("expected the generic form, `\"{}\"(…)`", d.code),
        ))
    }

    pub(super) fn reduce(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.only_generic(d)
    }

    pub(super) fn scan(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.only_generic(d)
    }

    pub(super) fn map_elementwise(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.only_generic(d)
    }

    pub(super) fn region_return(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.terminator(d)
    }

    /// `%a, %b, %c, inputPrecision = tf32 {…} : t * u -> v`
    pub(super) fn dot(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let a = self.operand()?;
        self.expect(b',', "`,` and the right operand")?;
        let b = self.operand()?;
        self.expect(b',', "`,` and the accumulator")?;
        let c = self.operand()?;
        if self.c.eat(b',') {
            self.expect_word("inputPrecision")?;
            self.expect(b'=', "`=`")?;
            self.add_word(&mut d.dict, "inputPrecision")?;
        }
        self.attr_dict(&mut d.dict)?;
        let left = self.colon_type()?;
        self.expect(b'*', "`*` and the right operand's type")?;
        let right = self.ty()?;
        self.arrow()?;
        let result = self.ty()?;
        d.operands = self.resolve_all(&[a, b, c], &[left, right, result])?;
        d.results.push(result);
        Ok(())
    }

    /// `%a scale %s, %b scale %t, %c lhs = e4m3 rhs = e5m2 {…} : a, s * b, t -> c`
    pub(super) fn dot_scaled(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let at = self.c.at();
        let a = self.operand()?;
        let a_scale = if self.c.eat_word("scale") {
            Some(self.operand()?)
        } else {
            None
        };
        self.expect(b',', "`,` and the right operand")?;
        let b = self.operand()?;
        let b_scale = if self.c.eat_word("scale") {
            Some(self.operand()?)
        } else {
            None
        };
        self.expect(b',', "`,` and the accumulator")?;
        let c = self.operand()?;
        for (word, name) in [("lhs", "a_elem_type"), ("rhs", "b_elem_type")] {
            self.expect_word(word)?;
            self.expect(b'=', "`=`")?;
            self.add_word(&mut d.dict, name)?;
        }
        self.attr_dict(&mut d.dict)?;
        self.expect(b':', "`:` and the types")?;
        let left = self.types()?;
        self.expect(b'*', "`*` and the right operand's type")?;
        let right = self.types()?;
        self.arrow()?;
        let result = self.ty()?;
        if left.len() != 1 + usize::from(a_scale.is_some())
            || right.len() != 1 + usize::from(b_scale.is_some())
        {
            return Err(Error::input("the types do not match the operands").at(
                &self.source,
                at..self.c.end(),
                "a scale has a type behind its operand's",
            ));
        }
        let mut uses = vec![a, b, c];
        let mut types = vec![left[0], right[0], result];
        uses.extend(a_scale);
        types.extend_from_slice(&left[1..]);
        uses.extend(b_scale);
        types.extend_from_slice(&right[1..]);
        d.operands = self.resolve_all(&uses, &types)?;
        d.dict.add("a_scale", AttrValue::Bool(a_scale.is_some()), at);
        d.dict.add("b_scale", AttrValue::Bool(b_scale.is_some()), at);
        d.results.push(result);
        debug_assert_eq!(d.code, OpCode::DotScaled);
        Ok(())
    }
}
