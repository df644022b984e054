//! Pointers, loads, stores, atomics, block pointers and descriptors.

use super::Parser;
use super::draft::Draft;
use super::names::Use;
use crate::attrs::AttrValue;
use crate::types::{Elem, Pointer, Scalar, Type};
use tilescope_diagnostics::{Error, Result};

const I32: Type = Type::Scalar(Elem::Scalar(Scalar::I32));
const I64: Type = Type::Scalar(Elem::Scalar(Scalar::I64));

/// What a pointer type gives when it is loaded: a value of the same form.
fn pointee(ty: Type) -> Option<Type> {
    match ty {
        Type::Scalar(Elem::Ptr(p)) => Some(Type::Scalar(p.target())),
        Type::Tile(shape, Elem::Ptr(p)) => Some(Type::Tile(shape, p.target())),
        Type::BlockPtr(shape, elem) => Some(Type::Tile(shape, elem)),
        _ => None,
    }
}

fn mask_of(ty: Type) -> Type {
    ty.with_elem(Elem::Scalar(Scalar::I1))
}

impl<'a> Parser<'a> {
    /// `: t` where `t` is a pointer; gives it and what it points to.
    fn pointer_and_pointee(&mut self) -> Result<(Type, Type)> {
        self.expect(b':', "`:` and the pointer's type")?;
        let at = self.c.at();
        let ty = self.ty()?;
        match pointee(ty) {
            Some(target) => Ok((ty, target)),
            None => Err(self.expected(at, "this type", "a pointer or a tensor of pointers")),
        }
    }

    /// `%p, %offset {…} : t, u`
    pub(super) fn add_ptr(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let uses = self.operands()?;
        self.attr_dict(&mut d.dict)?;
        self.expect(b':', "`:` and the types of the operands")?;
        let types = self.types()?;
        d.operands = self.resolve_all(&uses, &types)?;
        d.results.push(types[0]);
        Ok(())
    }

    /// `cacheModifier = ca evictionPolicy = evict_last` of versions up to 3.6, in any order.
    fn cache_words(&mut self, d: &mut Draft<'a>) -> Result<()> {
        loop {
            let name = match self.c.peek_word() {
                "cacheModifier" => "cacheModifier",
                "evictionPolicy" => "evictionPolicy",
                _ => return Ok(()),
            };
            self.c.word();
            self.expect(b'=', "`=`")?;
            self.add_word(&mut d.dict, name)?;
        }
    }

    /// `%p, %mask, %other {…} : t`
    pub(super) fn load(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let uses = self.operands()?;
        self.cache_words(d)?;
        self.attr_dict(&mut d.dict)?;
        let (pointer, target) = self.pointer_and_pointee()?;
        self.resolve_optional(d, &uses, &[pointer, mask_of(target), target])?;
        d.results.push(target);
        Ok(())
    }

    /// `%p, %value, %mask {…} : t`
    pub(super) fn store(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let uses = self.operands()?;
        self.cache_words(d)?;
        self.attr_dict(&mut d.dict)?;
        let (pointer, target) = self.pointer_and_pointee()?;
        self.resolve_optional(d, &uses, &[pointer, target, mask_of(target)])
    }

    /// Resolves uses against the first of these types; the rest are operands left out.
    fn resolve_optional(&mut self, d: &mut Draft<'a>, uses: &[Use<'a>], types: &[Type]) -> Result<()> {
        let types = types.get(..uses.len()).unwrap_or(types);
        d.operands = self.resolve_all(uses, types)?;
        Ok(())
    }

    /// `acq_rel, gpu,`
    fn order_words(&mut self, d: &mut Draft<'a>) -> Result<()> {
        for name in ["sem", "scope"] {
            self.add_word(&mut d.dict, name)?;
            self.expect(b',', "`,`")?;
        }
        Ok(())
    }

    /// `fadd, acq_rel, gpu, %p, %value, %mask {…} : (t, u, v) -> w`
    pub(super) fn atomic_rmw(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.add_word(&mut d.dict, "atomic_rmw_op")?;
        self.expect(b',', "`,` after the operation")?;
        self.atomic_cas(d)
    }

    /// `acq_rel, gpu, %p, %compare, %value {…} : (t, u, v) -> w`
    pub(super) fn atomic_cas(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.order_words(d)?;
        let uses = self.operands()?;
        self.attr_dict(&mut d.dict)?;
        self.signature(d, &uses)
    }

    /// `acquire, gpu, %p, %mask {…} : (t, u) -> v`
    pub(super) fn atomic_load(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.atomic_cas(d)
    }

    /// `release, gpu, %p, %value, %mask {…} : t`
    pub(super) fn atomic_store(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.order_words(d)?;
        self.store(d)
    }

    /// `acquire, gpu, %p, %expected timeout %t {…} : t, u -> v`
    pub(super) fn atomic_poll(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.order_words(d)?;
        let uses = self.operands()?;
        let timeout = if self.c.eat_word("timeout") {
            Some(self.operand()?)
        } else {
            None
        };
        self.attr_dict(&mut d.dict)?;
        self.expect(b':', "`:` and the types of the operands")?;
        let types = self.types()?;
        self.arrow()?;
        let result = self.ty()?;
        d.operands = self.resolve_all(&uses, &types)?;
        if let Some(timeout) = timeout {
            let value = self.resolve(timeout, I64)?;
            d.operands.push(value);
        }
        d.results.push(result);
        Ok(())
    }

    /// `<tensor<…>>` or `!tt.ptr<tensor<…>>`
    fn block_pointer_type(&mut self) -> Result<(Type, Elem)> {
        self.expect(b':', "`:` and the type of the block pointer")?;
        let at = self.c.at();
        let ty = if self.c.here() == b'<' {
            self.pointer_type()?
        } else {
            self.ty()?
        };
        match ty {
            Type::BlockPtr(_, elem) => Ok((ty, elem)),
            _ => Err(self.expected(at, "this type", "a block pointer, `<tensor<…>>`")),
        }
    }

    fn resolve_group(&mut self, d: &mut Draft<'a>, uses: &[Use<'a>], ty: Type) -> Result<()> {
        self.same_type(d, uses, ty)
    }

    /// `%p, [%shape], [%strides], [%offsets] {order = …} : <tensor<…>>`
    pub(super) fn make_tensor_ptr(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let base = self.operand()?;
        let mut groups = Vec::new();
        for _ in 0..3 {
            self.expect(b',', "`,` and a list in brackets")?;
            groups.push(self.bracketed()?);
        }
        self.attr_dict(&mut d.dict)?;
        let (ty, elem) = self.block_pointer_type()?;
        let Elem::Scalar(scalar) = elem else {
            return Err(self.unsupported(d.at, "a block pointer to pointers".to_string()));
        };
        self.resolve_group(d, &[base], Type::Scalar(Elem::Ptr(Pointer::to(scalar))))?;
        for (uses, ty) in groups.iter().zip([I64, I64, I32]) {
            self.resolve_group(d, uses, ty)?;
        }
        d.results.push(ty);
        Ok(())
    }

    /// `%p, [%offsets] {…} : <tensor<…>>`
    pub(super) fn advance(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let base = self.operand()?;
        self.expect(b',', "`,` and the offsets in brackets")?;
        let offsets = self.bracketed()?;
        self.attr_dict(&mut d.dict)?;
        let (ty, _) = self.block_pointer_type()?;
        self.resolve_group(d, &[base], ty)?;
        self.resolve_group(d, &offsets, I32)?;
        d.results.push(ty);
        Ok(())
    }

    /// `%p, [%shape], [%strides] {…} : <f16>, <32x64xf16>`
    pub(super) fn make_tensor_descriptor(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let base = self.operand()?;
        self.expect(b',', "`,` and the shape in brackets")?;
        let shape = self.bracketed()?;
        self.expect(b',', "`,` and the strides in brackets")?;
        let strides = self.bracketed()?;
        self.attr_dict(&mut d.dict)?;
        self.expect(b':', "`:` and the types")?;
        let pointer = if self.c.peek() == b'<' {
            self.pointer_type()?
        } else {
            self.ty()?
        };
        self.expect(b',', "`,` and the descriptor's type")?;
        let ty = if self.c.peek() == b'<' {
            self.descriptor_type()?
        } else {
            self.ty()?
        };
        self.resolve_group(d, &[base], pointer)?;
        self.resolve_group(d, &shape, I32)?;
        self.resolve_group(d, &strides, I64)?;
        d.results.push(ty);
        Ok(())
    }

    /// The type of a descriptor operand. Descriptors of 3.0 to 3.2 are bare pointers.
    fn descriptor(&mut self) -> Result<Type> {
        let at = self.c.at();
        match self.ty()? {
            ty @ Type::Descriptor { .. } => Ok(ty),
            Type::Scalar(Elem::Ptr(_)) => Err(self
                .unsupported(at, "a descriptor without a type (Triton 3.0 to 3.2)".to_string())
                .help("compile the kernel with Triton 3.4 or later")),
            _ => Err(self.expected(at, "this type", "a descriptor, `!tt.tensordesc<…>`")),
        }
    }

    /// `%d[%i, %j] {…} : t -> u`
    pub(super) fn descriptor_load(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let base = self.operand()?;
        let indices = self.bracketed()?;
        self.cache_words(d)?;
        self.attr_dict(&mut d.dict)?;
        self.expect(b':', "`:` and the descriptor's type")?;
        let ty = self.descriptor()?;
        self.arrow()?;
        let result = self.ty()?;
        self.resolve_group(d, &[base], ty)?;
        self.resolve_group(d, &indices, I32)?;
        d.results.push(result);
        Ok(())
    }

    /// `%d[%i, %j], %value {…} : t, u`
    pub(super) fn descriptor_store(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let base = self.operand()?;
        let indices = self.bracketed()?;
        self.expect(b',', "`,` and the value")?;
        let value = self.operand()?;
        self.attr_dict(&mut d.dict)?;
        self.expect(b':', "`:` and the types")?;
        let ty = self.descriptor()?;
        self.expect(b',', "`,` and the value's type")?;
        let value_type = self.ty()?;
        self.resolve_group(d, &[base], ty)?;
        self.resolve_group(d, &[value], value_type)?;
        self.resolve_group(d, &indices, I32)
    }

    /// `add, %d[%i, %j], %value {…} : t, u`
    pub(super) fn descriptor_reduce(&mut self, d: &mut Draft<'a>) -> Result<()> {
        self.add_word(&mut d.dict, "kind")?;
        self.expect(b',', "`,` after the operation")?;
        self.descriptor_store(d)
    }

    /// `%d[%rows, %column] {…} : (t, u, v) -> w`
    pub(super) fn descriptor_gather(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let base = self.operand()?;
        let mut uses = self.bracketed()?;
        uses.insert(0, base);
        self.attr_dict(&mut d.dict)?;
        self.signature(d, &uses)
    }

    /// `%d[%rows, %column], %value {…} : t, u, v, w`
    pub(super) fn descriptor_scatter(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let base = self.operand()?;
        let mut uses = self.bracketed()?;
        uses.insert(0, base);
        self.expect(b',', "`,` and the value")?;
        uses.push(self.operand()?);
        self.attr_dict(&mut d.dict)?;
        self.expect(b':', "`:` and the types of the operands")?;
        let types = self.types()?;
        d.operands = self.resolve_all(&uses, &types)?;
        Ok(())
    }

    /// `"text" {hex = false, isSigned = array<i32: 1>} : %a, %b : t, u`
    pub(super) fn print(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let at = self.c.at();
        let text = self.string_literal()?;
        d.dict.add("prefix", AttrValue::Str(text), at);
        self.attr_dict(&mut d.dict)?;
        if self.c.eat(b':') {
            let uses = self.operands()?;
            self.expect(b':', "`:` and the types of the operands")?;
            let types = self.types()?;
            d.operands = self.resolve_all(&uses, &types)?;
        }
        Ok(())
    }

    /// `%c, "message" {…} : t`; up to 3.1 with file, function and line behind the message.
    pub(super) fn assert(&mut self, d: &mut Draft<'a>) -> Result<()> {
        let u = self.operand()?;
        self.expect(b',', "`,` and the message")?;
        let at = self.c.at();
        let text = self.string_literal()?;
        if d.code == crate::OpCode::CfAssert {
            d.dict.add("msg", AttrValue::Str(text), at);
            self.attr_dict(&mut d.dict)?;
            return self.same_type(d, &[u], Type::BOOL);
        }
        d.dict.add("message", AttrValue::Str(text), at);
        if self.c.eat(b',') {
            self.string_literal()?;
            self.expect(b',', "`,` and the function's name")?;
            self.string_literal()?;
            self.expect(b',', "`,` and the line")?;
            let at = self.c.at();
            if self.c.number().is_none() {
                return Err(Error::input("the line of the assert is missing").at(
                    &self.source,
                    self.c.item(at),
                    "expected a number",
                ));
            }
        }
        self.attr_dict(&mut d.dict)?;
        let ty = self.colon_type()?;
        self.same_type(d, &[u], ty)
    }
}
