//! Element-wise arithmetic, constants, comparison, selection and conversions; library functions.

use super::Parser;
use super::draft::Draft;
use crate::attrs::AttrValue;
use crate::ops::OpCode;
use crate::types::{Elem, Scalar, Type};
use tilescope_diagnostics::{Error, Result};

impl<'a> Parser<'a> {
    /// `%a, %b overflow<nsw> {…} : t`
    pub(super) fn elementwise(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let uses = self.operands()?;
        let arity = d.code.info().class.map_or(0, |c| c.arity());
        if uses.len() != arity {
            return Err(Error::input(format!(
                "`{}` takes {arity} operands, {} are given",
                d.code,
                uses.len()
            ))
            .at(&self.source, uses[0].at..self.c.end(), "these"));
        }
        self.flag_words(d)?;
        self.attr_dict(&mut d.dict)?;
        let ty = self.colon_type()?;
        self.same_type(d, &uses, ty)?;
        d.results.push(ty);
        Ok(())
    }

    /// `fastmath<contract>`, `overflow<nsw, nuw>` as strings of the dictionary.
    fn flag_words(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let at = self.c.at();
        let name = match self.c.peek_word() {
            "fastmath" => "fastmath",
            "overflow" => "overflowFlags",
            _ => return Ok(()),
        };
        self.c.word();
        self.expect(b'<', "`<` of the flags")?;
        let mut words = String::new();
        loop {
            let at = self.c.at();
            match self.c.word() {
                Some(word) => words.push_str(word),
                None => return Err(self.expected(at, "this", "a flag")),
            }
            if self.c.eat(b'>') {
                break;
            }
            self.expect(b',', "`,` or `>` after a flag")?;
            words.push_str(", ");
        }
        d.dict.add(name, AttrValue::Str(words.into()), at);
        Ok(())
    }

    pub(super) fn colon_type(&mut self) -> Result<Type> {
        self.expect(b':', "`:` and the type")?;
        self.ty()
    }

    /// `{…} 1 : i32`, `true`, `0xFF800000 : f32`, `dense<…> : tensor<…>`
    pub(super) fn constant(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.attr_dict(&mut d.dict)?;
        let at = self.c.at();
        let value = self.attr_value(0)?;
        let ty = match &value {
            AttrValue::Bool(_) => Type::BOOL,
            AttrValue::Int(_, scalar) | AttrValue::Float(_, scalar) => Type::scalar(*scalar),
            AttrValue::Dense(_, dims, scalar) => match crate::types::Shape::new(dims) {
                Some(shape) => Type::tile(shape, *scalar),
                None => {
                    return Err(Error::input("the dimensions of a tile must be powers of two").at(
                        &self.source,
                        at..self.c.end(),
                        "in this constant",
                    ));
                }
            },
            _ => {
                return Err(self.expected(
                    at,
                    "this constant",
                    "a number, `true`, `false` or `dense<…> : tensor<…>`",
                ));
            }
        };
        d.dict.add("value", value, at);
        d.results.push(ty);
        Ok(())
    }

    /// `{…} : t`
    pub(super) fn poison(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.attr_dict(&mut d.dict)?;
        let ty = self.colon_type()?;
        d.results.push(ty);
        Ok(())
    }

    /// `slt, %a, %b {…} : t`
    pub(super) fn cmp_int(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.add_word(&mut d.dict, "predicate")?;
        self.expect(b',', "`,` after the predicate")?;
        let uses = self.operands()?;
        self.flag_words(d)?;
        self.attr_dict(&mut d.dict)?;
        let ty = self.colon_type()?;
        self.same_type(d, &uses, ty)?;
        d.results.push(ty.with_elem(Elem::Scalar(Scalar::I1)));
        Ok(())
    }

    pub(super) fn cmp_float(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.cmp_int(d)
    }

    /// `%c, %a, %b {…} : t` for one truth value, `… : tensor<…xi1>, t` for one per lane.
    pub(super) fn select(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let uses = self.operands()?;
        self.attr_dict(&mut d.dict)?;
        let first = self.colon_type()?;
        let (condition, ty) = if self.c.eat(b',') {
            (first, self.ty()?)
        } else {
            (Type::BOOL, first)
        };
        d.operands = self.resolve_all(&uses, &[condition, ty, ty])?;
        d.results.push(ty);
        Ok(())
    }

    /// `%x, %min, %max, propagateNan = none {…} : t`
    pub(super) fn clamp(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let mut uses = Vec::with_capacity(3);
        for _ in 0..3 {
            uses.push(self.operand()?);
            self.expect(b',', "`,` after an operand")?;
        }
        self.expect_word("propagateNan")?;
        self.expect(b'=', "`=`")?;
        self.add_word(&mut d.dict, "propagateNan")?;
        self.attr_dict(&mut d.dict)?;
        let ty = self.colon_type()?;
        self.same_type(d, &uses, ty)?;
        d.results.push(ty);
        Ok(())
    }

    /// `%x {…} : t to u` in `arith`, `… : t -> u` in `tt`.
    pub(super) fn cast(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let u = self.operand()?;
        self.flag_words(d)?;
        self.attr_dict(&mut d.dict)?;
        if d.code == OpCode::FpToFp && self.c.eat(b',') {
            self.expect_word("rounding")?;
            self.expect(b'=', "`=`")?;
            self.add_word(&mut d.dict, "rounding")?;
            self.attr_dict(&mut d.dict)?;
        }
        let from = self.colon_type()?;
        if d.code.info().mnemonic.starts_with("tt.") {
            self.arrow()?;
        } else {
            self.expect_word("to")?;
        }
        let to = self.ty()?;
        self.same_type(d, &[u], from)?;
        d.results.push(to);
        Ok(())
    }

    /// `%a, %b {libname = …} : (t, u) -> v`
    pub(super) fn extern_elementwise(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let uses = if self.c.peek() == b'%' {
            self.operands()?
        } else {
            Vec::new()
        };
        self.attr_dict(&mut d.dict)?;
        self.signature(d, &uses)
    }

    /// `: (t, u) -> v`
    pub(super) fn signature(&mut self, d: &mut Draft<'a>, uses: &[super::names::Use<'a>]) -> Result<()> {
        self.expect(b':', "`:` and the type of the operation")?;
        let (inputs, results) = self.function_type()?;
        d.operands = self.resolve_all(uses, &inputs)?;
        d.results = results;
        Ok(())
    }

    /// `"text" {constraints = …} %a, %b : t, u -> v, w`
    pub(super) fn inline_asm(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let at = self.c.at();
        let text = self.string_literal()?;
        d.dict.add("asm_string", AttrValue::Str(text), at);
        self.attr_dict(&mut d.dict)?;
        if self.c.peek() == b'%' {
            let uses = self.operands()?;
            self.expect(b':', "`:` and the types of the operands")?;
            let types = self.types()?;
            d.operands = self.resolve_all(&uses, &types)?;
        }
        self.arrow()?;
        d.results = self.types()?;
        Ok(())
    }
}
