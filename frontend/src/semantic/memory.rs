//! Loads and stores through pointers and block pointers.

use tilescope_ir::attrs::{AccessAttrs, CacheModifier, CachePolicy, EvictionPolicy, Padding};
use tilescope_ir::{Attrs, OpCode};

use crate::cx::{Cx, Result};
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::{Tensor, Value};

/// The keyword arguments of `tl.load` and `tl.store` beside the mask.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// `cache_modifier` as the author writes it (`".cg"`); empty for none.
    pub cache_modifier: String,
    /// `eviction_policy` as the author writes it (`"evict_first"`); empty for none.
    pub eviction_policy: String,
    /// `volatile`.
    pub volatile: bool,
    /// `boundary_check`: dimensions of a block pointer.
    pub boundary_check: Vec<i64>,
    /// `padding_option` (`"zero"`, `"nan"`); empty for none.
    pub padding_option: String,
}

impl Cx<'_> {
    /// `tl.load`; a mask of `None` is none.
    ///
    /// # Errors
    /// What is no pointer, masks that do not fit, unknown words in `access`.
    pub fn load(&mut self, ptr: &Value, mask: &Value, other: &Value, access: &Access) -> Result<Tensor> {
        let pointer = self.pointer_operand("load", ptr)?;
        let mask = self.optional(mask)?;
        let other = self.optional(other)?;
        let mut attrs = self.access_attrs(access, &pointer)?;
        if let Ty::BlockPtr(shape, elem) = pointer.ty {
            self.no_mask(mask.as_ref().or(other.as_ref()))?;
            attrs.padding = self.block_padding(&access.padding_option, elem)?;
            let attrs = Attrs::Access(Box::new(attrs));
            return Ok(self.emit(OpCode::Load, &[&pointer], attrs, Ty::Block(shape, elem)));
        }
        if mask.is_none() && other.is_some() {
            return Err(self
                .error("`load` with `other` but without `mask`")
                .help("`other` is what masked-off lanes get: give a mask, or leave `other` out"));
        }
        self.scalar_fits(&pointer, mask.as_ref(), "the mask")?;
        self.scalar_fits(&pointer, other.as_ref(), "`other`")?;
        self.check_shapes(
            &pointer,
            &[("the mask", mask.as_ref()), ("`other`", other.as_ref())],
        )?;
        let (mut pointer, mut mask, mut other) = (pointer, mask, other);
        if pointer.is_block() {
            if let Some(m) = mask {
                let (p, m) = self.broadcast_pair(&pointer, &m)?;
                (pointer, mask) = (p, Some(m));
            }
            if let Some(o) = other {
                let (p, o) = self.broadcast_pair(&pointer, &o)?;
                (pointer, other) = (p, Some(o));
            }
        }
        let (pointer, elem, is_bool) = self.memory_pointer(&pointer)?;
        let result = pointer.ty.with_elem(elem);
        let mut operands = vec![pointer.clone()];
        if let Some(mask) = mask {
            self.check_mask(&mask, &pointer)?;
            operands.push(mask);
        }
        if let Some(other) = other {
            operands.push(self.cast(&other, elem, None)?);
        }
        let operands: Vec<&Tensor> = operands.iter().collect();
        let loaded = self.emit(OpCode::Load, &operands, Attrs::Access(Box::new(attrs)), result);
        if is_bool {
            return self.cast(&loaded, Elem::Num(Dtype::Int1), None);
        }
        Ok(loaded)
    }

    /// `tl.store`; a mask of `None` is none.
    ///
    /// # Errors
    /// What is no pointer, a `const` pointer, values and masks that do not fit.
    pub fn store(&mut self, ptr: &Value, value: &Value, mask: &Value, access: &Access) -> Result<()> {
        let pointer = self.pointer_operand("store", ptr)?;
        let value = self.to_tensor(value)?;
        let mask = self.optional(mask)?;
        let attrs = self.access_attrs(access, &pointer)?;
        if let Ty::BlockPtr(..) = pointer.ty {
            return self.store_block(&pointer, &value, mask.as_ref(), attrs);
        }
        self.check_not_const(&pointer)?;
        self.scalar_fits(&pointer, Some(&value), "the value")?;
        self.scalar_fits(&pointer, mask.as_ref(), "the mask")?;
        let (pointer, value, mask) = self.stored_operands(pointer, value, mask)?;
        let target = self.target(&pointer)?;
        let value = self.cast(&value, target, None)?;
        let (pointer, elem, _) = self.memory_pointer(&pointer)?;
        let value = self.cast(&value, elem, None)?;
        let mut operands = vec![pointer.value, value.value];
        if let Some(mask) = mask {
            self.check_mask(&mask, &pointer)?;
            operands.push(mask.value);
        }
        self.b
            .op(OpCode::Store, &operands, Attrs::Access(Box::new(attrs)), &[]);
        Ok(())
    }

    fn store_block(
        &mut self,
        pointer: &Tensor,
        value: &Tensor,
        mask: Option<&Tensor>,
        attrs: AccessAttrs,
    ) -> Result<()> {
        let Ty::BlockPtr(shape, elem) = pointer.ty else {
            return Err(self.error("not a block pointer"));
        };
        self.no_mask(mask)?;
        let value = if value.is_block() {
            value.clone()
        } else {
            self.splat(value, shape)?
        };
        if value.shape() != shape {
            return Err(self.error(format!(
                "the value is of type {}, the block pointer's block has the shape {shape:?}",
                value.ty
            )));
        }
        if value.ty.elem() != Some(elem) {
            return Err(self
                .error(format!(
                    "the value is of type {}, the block pointer points to {elem}",
                    value.ty
                ))
                .help(format!(
                    "a store through a block pointer does not convert: `.to(tl.{elem})`"
                )));
        }
        let operands = [pointer.value, value.value];
        self.b
            .op(OpCode::Store, &operands, Attrs::Access(Box::new(attrs)), &[]);
        Ok(())
    }

    /// A pointer, a block of pointers or a block pointer.
    pub(super) fn pointer_operand(&self, name: &str, value: &Value) -> Result<Tensor> {
        match value {
            Value::Tensor(t) if t.pointer().is_some() || matches!(t.ty, Ty::BlockPtr(..)) => Ok(t.clone()),
            other => {
                let error = self.error(format!(
                    "`{name}` through {}: a pointer is needed",
                    other.describe()
                ));
                Err(match other {
                    Value::Tensor(_) => error.help("was `pointer + offsets` meant?"),
                    Value::None => error.help(
                        "this argument is None in this launch: guard the access with `if … is not None`",
                    ),
                    Value::Descriptor(_) => error
                        .help("a descriptor has its own methods: `desc.load([…])`, `desc.store([…], value)`"),
                    _ => error,
                })
            }
        }
    }

    /// An optional operand; `None` is none.
    pub(super) fn optional(&mut self, value: &Value) -> Result<Option<Tensor>> {
        match value {
            Value::None => Ok(None),
            value => self.to_tensor(value).map(Some),
        }
    }

    /// Refuses blocks beside a scalar pointer.
    pub(super) fn scalar_fits(&self, pointer: &Tensor, x: Option<&Tensor>, what: &str) -> Result<()> {
        match x {
            Some(x) if x.is_block() && !pointer.is_block() => Err(self
                .error(format!(
                    "{what} is a block of type {}, the pointer is a scalar",
                    x.ty
                ))
                .help("make a block of pointers: `pointer + tl.arange(0, N)`")),
            _ => Ok(()),
        }
    }

    /// Pointer, value and mask in one shape, which must be the pointer's.
    pub(super) fn stored_operands(
        &mut self,
        pointer: Tensor,
        value: Tensor,
        mask: Option<Tensor>,
    ) -> Result<(Tensor, Tensor, Option<Tensor>)> {
        if !pointer.is_block() {
            return Ok((pointer, value, mask));
        }
        self.check_shapes(
            &pointer,
            &[("the value", Some(&value)), ("the mask", mask.as_ref())],
        )?;
        let shape = pointer.shape();
        let mut all = vec![pointer, value];
        all.extend(mask);
        let all = self.broadcast_all(&all)?;
        let mut all = all.into_iter();
        let (Some(pointer), Some(value)) = (all.next(), all.next()) else {
            return Err(self.error("a store needs a pointer and a value"));
        };
        if pointer.shape() != shape {
            return Err(self
                .error(format!(
                    "the pointers have the shape {shape:?}, the value and the mask together {:?}",
                    pointer.shape()
                ))
                .help("pointers are not broadcast in a store: give one pointer per element"));
        }
        Ok((pointer, value, all.next()))
    }

    pub(super) fn check_not_const(&self, pointer: &Tensor) -> Result<()> {
        match pointer.pointer() {
            Some(PtrTy { is_const: true, .. }) => Err(self
                .error(format!(
                    "a store through a constant pointer, of type {}",
                    pointer.ty
                ))
                .help("the parameter is declared `const`")),
            _ => Ok(()),
        }
    }

    /// What the pointers point to.
    pub(super) fn target(&self, pointer: &Tensor) -> Result<Elem> {
        pointer
            .pointer()
            .map(PtrTy::target)
            .ok_or_else(|| self.error(format!("a value of type {} is no pointer", pointer.ty)))
    }

    /// Pointers as memory is accessed: truth values are bytes there. Gives the element and whether it was `int1`.
    pub(super) fn memory_pointer(&mut self, pointer: &Tensor) -> Result<(Tensor, Elem, bool)> {
        let target = self.target(pointer)?;
        if target != Elem::Num(Dtype::Int1) {
            return Ok((pointer.clone(), target, false));
        }
        let bytes = self.cast(pointer, Elem::Ptr(PtrTy::to(Dtype::Int8)), None)?;
        Ok((bytes, Elem::Num(Dtype::Int8), true))
    }

    /// A mask is truth values in the pointers' shape.
    pub(super) fn check_mask(&self, mask: &Tensor, pointer: &Tensor) -> Result<()> {
        if mask.dtype() != Some(Dtype::Int1) {
            return Err(self
                .error(format!(
                    "the mask is of type {}, truth values (int1) are needed",
                    mask.ty
                ))
                .help("compare: `mask=offsets < n`"));
        }
        if mask.shape() != pointer.shape() {
            return Err(self.error(format!(
                "the mask has the shape {:?}, the pointers {:?}",
                mask.shape(),
                pointer.shape()
            )));
        }
        Ok(())
    }

    fn no_mask(&self, mask: Option<&Tensor>) -> Result<()> {
        match mask {
            None => Ok(()),
            Some(_) => Err(self
                .error("a block pointer takes neither `mask` nor `other`")
                .help("use `boundary_check=(0, 1)` and `padding_option=\"zero\"`")),
        }
    }

    fn access_attrs(&self, access: &Access, pointer: &Tensor) -> Result<AccessAttrs> {
        let mut boundary_check = Vec::with_capacity(access.boundary_check.len());
        let block = match pointer.ty {
            Ty::BlockPtr(shape, _) => Some(shape),
            _ => None,
        };
        if block.is_none() && !(access.boundary_check.is_empty() && access.padding_option.is_empty()) {
            return Err(self
                .error(
                    "`boundary_check` and `padding_option` are for block pointers, this is a plain pointer",
                )
                .help("use `mask` and `other`"));
        }
        let rank = block.map_or(0, |s| s.rank());
        for &dim in &access.boundary_check {
            match u32::try_from(dim).ok().filter(|&d| (d as usize) < rank) {
                Some(dim) if !boundary_check.contains(&dim) => boundary_check.push(dim),
                Some(_) => return Err(self.error(format!("`boundary_check` names dimension {dim} twice"))),
                None => {
                    return Err(self.error(format!(
                        "`boundary_check` names dimension {dim}, the block has {rank} dimensions"
                    )));
                }
            }
        }
        boundary_check.sort_unstable();
        Ok(AccessAttrs {
            cache: self.cache_policy(access)?,
            volatile: access.volatile,
            boundary_check,
            padding: None,
        })
    }

    pub(super) fn cache_policy(&self, access: &Access) -> Result<CachePolicy> {
        let word = access.cache_modifier.trim_start_matches('.');
        let modifier = match word {
            "" => CacheModifier::None,
            word => CacheModifier::from_word(word).ok_or_else(|| {
                self.error(format!("`{}` is no cache modifier", access.cache_modifier))
                    .help("there are .ca, .cg, .cs, .cv for loads and .wb, .cg, .cs, .wt for stores")
            })?,
        };
        let eviction = match access.eviction_policy.as_str() {
            "" => EvictionPolicy::Normal,
            word => EvictionPolicy::from_word(word).ok_or_else(|| {
                self.error(format!("`{word}` is no eviction policy"))
                    .help("there are evict_normal, evict_first and evict_last")
            })?,
        };
        Ok(CachePolicy {
            modifier,
            eviction,
            l2_prefetch: None,
        })
    }

    /// A padding option by name; none for an empty one.
    pub(super) fn padding(&self, word: &str) -> Result<Option<Padding>> {
        match word {
            "" => Ok(None),
            word => Padding::from_word(word).map(Some).ok_or_else(|| {
                self.error(format!("`{word}` is no padding option"))
                    .help("there are \"zero\" and \"nan\"")
            }),
        }
    }

    /// The padding of blocks of this element, which has a NaN if that is asked for.
    pub(super) fn block_padding(&self, word: &str, elem: Elem) -> Result<Option<Padding>> {
        let padding = self.padding(word)?;
        match (padding, elem) {
            (Some(Padding::Nan), Elem::Num(dtype)) if dtype.is_int() => Err(self
                .error(format!("padding with NaN of a block of {dtype}"))
                .help("integers have no NaN: use \"zero\"")),
            _ => Ok(padding),
        }
    }
}
