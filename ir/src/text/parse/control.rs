//! The grid, calls, structured control flow, branches and barriers.

use super::Parser;
use super::draft::{Draft, unknown_loc};
use super::names::Use;
use super::region::Arg;
use crate::attrs::AttrValue;
use crate::entities::RegionId;
use crate::ops::OpCode;
use crate::types::{Scalar, Type};
use tilescope_diagnostics::{Error, Result};

/// Names with their offsets, and the values they start with.
type Assignments<'a> = (Vec<(&'a str, usize)>, Vec<Use<'a>>);

impl<'a> Parser<'a> {
    /// `x {…} : i32`
    pub(super) fn program_id(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.add_word(&mut d.dict, "axis")?;
        self.poison(d)
    }

    pub(super) fn num_programs(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.program_id(d)
    }

    /// `@f(%a, %b) {…} : (t, u) -> v`
    pub(super) fn call(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let at = self.c.at();
        let name = self.symbol()?;
        d.dict.add("callee", AttrValue::Symbol(name), at);
        self.expect(b'(', "`(` of the arguments")?;
        let uses = if self.c.peek() == b')' {
            Vec::new()
        } else {
            self.operands()?
        };
        self.expect(b')', "`)` after the arguments")?;
        self.attr_dict(&mut d.dict)?;
        self.signature(d, &uses)
    }

    /// `{…} %a, %b : t, u`, or nothing.
    pub(super) fn terminator(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.attr_dict(&mut d.dict)?;
        if self.c.peek() != b'%' {
            return Ok(());
        }
        let at = self.c.at();
        let uses = self.operands()?;
        // `%x = …` of the next operation is no operand of this one
        if !self.c.eat(b':') {
            if matches!(self.c.peek(), b'=') && uses.len() == 1 {
                self.c.seek(at);
                return Ok(());
            }
            let at = self.c.at();
            return Err(self.expected(at, "this", "`:` and the types of the values"));
        }
        let types = self.types()?;
        d.operands = self.resolve_all(&uses, &types)?;
        Ok(())
    }

    pub(super) fn return_(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.terminator(d)
    }

    pub(super) fn yield_(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.terminator(d)
    }

    /// `(%c) {…} %a, %b : t, u`
    pub(super) fn condition(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.expect(b'(', "`(` of the condition")?;
        let u = self.operand()?;
        self.expect(b')', "`)` after the condition")?;
        let condition = self.resolve(u, Type::BOOL)?;
        self.terminator(d)?;
        d.operands.insert(0, condition);
        Ok(())
    }

    /// `%a = %x, %b = %y)`: names inside the region and the values they start with.
    fn assignments(&mut self) -> Result<Assignments<'a>> {
        let (mut names, mut uses) = (Vec::new(), Vec::new());
        if self.c.eat(b')') {
            return Ok((names, uses));
        }
        loop {
            let at = self.c.at();
            names.push((self.value_name()?, at));
            self.expect(b'=', "`=` and the initial value")?;
            uses.push(self.operand()?);
            if self.c.eat(b')') {
                return Ok((names, uses));
            }
            self.expect(b',', "`,` or `)` after an initial value")?;
        }
    }

    /// `%i = %low to %high step %s iter_args(%a = %x) -> (t) : i32 { … } {…}`
    pub(super) fn for_(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let at = self.c.at();
        if self.c.eat_word("unsigned") {
            d.dict.add("unsignedCmp", AttrValue::Unit, at);
        }
        let at = self.c.at();
        let name = self.value_name()?;
        self.expect(b'=', "`=` and the lower bound")?;
        let low = self.operand()?;
        self.expect_word("to")?;
        let high = self.operand()?;
        self.expect_word("step")?;
        let step = self.operand()?;
        let (mut names, mut inits) = (Vec::new(), Vec::new());
        if self.c.eat_word("iter_args") {
            self.expect(b'(', "`(` of the carried values")?;
            (names, inits) = self.assignments()?;
            self.arrow()?;
            d.results = self.result_types()?;
        }
        let index = if self.c.eat(b':') {
            self.ty()?
        } else {
            Type::scalar(Scalar::Index)
        };
        self.same_type(d, &[low, high, step], index)?;
        let carried = self.resolve_all(&inits, &d.results)?;
        d.operands.extend(carried);
        let mut args = vec![Arg { name, ty: index, at }];
        args.extend(
            names
                .iter()
                .zip(&d.results)
                .map(|(&(name, at), &ty)| Arg { name, ty, at }),
        );
        let body = self.region(&args)?;
        self.ensure_yield(d, body);
        d.regions.push(body);
        self.attr_dict(&mut d.dict)
    }

    /// MLIR leaves out the `scf.yield` of a region without results.
    fn ensure_yield(&mut self, d: &Draft<'a>, region: RegionId) {
        let Some(&block) = self.f.regions[region].blocks.last() else {
            return;
        };
        let last = self.f.blocks[block].ops.last().map(|&op| self.f.ops[op].code);
        if d.results.is_empty() && !last.is_some_and(OpCode::is_terminator) {
            self.implicit(block, OpCode::Yield, unknown_loc(), d.at);
        }
    }

    /// `%c -> (t) { … } else { … } {…}`
    pub(super) fn if_(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let u = self.operand()?;
        let condition = self.resolve(u, Type::BOOL)?;
        d.operands.push(condition);
        if self.c.eat_str("->") {
            d.results = self.result_types()?;
        }
        let then = self.region(&[])?;
        self.ensure_yield(d, then);
        d.regions.push(then);
        if self.c.eat_word("else") {
            let otherwise = self.region(&[])?;
            self.ensure_yield(d, otherwise);
            d.regions.push(otherwise);
        }
        self.attr_dict(&mut d.dict)
    }

    /// `(%a = %x) : (t) -> (u) { … } do { … } attributes {…}`
    pub(super) fn while_(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let (mut names, mut inits) = (Vec::new(), Vec::new());
        if self.c.eat(b'(') {
            (names, inits) = self.assignments()?;
        }
        self.expect(b':', "`:` and the type of the loop")?;
        let (inputs, results) = self.function_type()?;
        d.operands = self.resolve_all(&inits, &inputs)?;
        d.results = results;
        let args: Vec<Arg<'a>> = names
            .iter()
            .zip(&inputs)
            .map(|(&(name, at), &ty)| Arg { name, ty, at })
            .collect();
        let before = self.region(&args)?;
        self.expect_word("do")?;
        let after = self.region(&[])?;
        d.regions = vec![before, after];
        if self.c.eat_word("attributes") {
            self.attr_dict(&mut d.dict)?;
        }
        Ok(())
    }

    /// `^bb1(%a : t) {…}`
    pub(super) fn br(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let target = self.successor()?;
        d.successors.push(target);
        self.attr_dict(&mut d.dict)
    }

    /// `%c, ^bb1(%a : t), ^bb2 {…}`
    pub(super) fn cond_br(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let u = self.operand()?;
        let condition = self.resolve(u, Type::BOOL)?;
        d.operands.push(condition);
        let at = self.c.at();
        if self.c.eat_word("weights") {
            return Err(Error::unsupported("branch weights are not supported").at(
                &self.source,
                self.c.item(at),
                "here",
            ));
        }
        for _ in 0..2 {
            self.expect(b',', "`,` and a block")?;
            let target = self.successor()?;
            d.successors.push(target);
        }
        self.attr_dict(&mut d.dict)
    }

    /// `%c {…} : i1`
    pub(super) fn assume(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let u = self.operand()?;
        let at = self.c.at();
        if self.c.here() == b'[' {
            return Err(self.unsupported(at, "an operand bundle of `llvm.intr.assume`".to_string()));
        }
        self.attr_dict(&mut d.dict)?;
        let ty = self.colon_type()?;
        self.same_type(d, &[u], ty)
    }

    /// `all {…}`, `local|global_read {…}`; `gpu.barrier` has no words.
    pub(super) fn barrier(&mut self, d: &mut Draft<'a>) -> Result<()> {
        if d.code == OpCode::GpuBarrier {
            return self.attr_dict(&mut d.dict);
        }
        let at = self.c.at();
        let mut words = String::new();
        loop {
            let at = self.c.at();
            match self.c.word() {
                Some(word) => words.push_str(word),
                None => return Err(self.expected(at, "this", "an address space such as `all` or `local`")),
            }
            if !self.c.eat(b'|') {
                break;
            }
            words.push('|');
        }
        d.dict.add("addrSpace", AttrValue::Str(words.into()), at);
        self.attr_dict(&mut d.dict)
    }

    /// `{…}`
    pub(super) fn grid_dependency(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.attr_dict(&mut d.dict)
    }
}
