//! An operation's own attributes, taken out of its dictionary.
//!
//! Keywords of the pretty form (`slt`, `acq_rel`) arrive here as strings under the name that the
//! generic form uses, where the same attribute is a number.

use super::Parser;
use super::attrs::{Dict, Item};
use super::draft::Draft;
use crate::attrs::{
    AccessAttrs, AttrValue, Attrs, Axis, CacheModifier, CachePolicy, Constant, DotScaled, EvictionPolicy,
    Extern, FloatPredicate, InputPrecision, IntPredicate, Padding, Print, PropagateNan, ReduceKind, RmwKind,
    Rounding, ScaleElem, Scope, Semantic,
};
use crate::ops::{Family, OpCode};
use crate::types::{Elem, Scalar, Type};
use std::sync::Arc;
use tilescope_diagnostics::{Error, Result};

/// Names of an operation's own attributes, for suggestions.
pub(super) fn known(code: OpCode) -> &'static [&'static str] {
    use OpCode::*;
    match code {
        Load | Store | DescriptorLoad => &[
            "boundaryCheck",
            "padding",
            "cachePolicy",
            "cacheModifier",
            "evictionPolicy",
            "cache",
            "evict",
            "isVolatile",
        ],
        MakeRange => &["start", "end"],
        ExpandDims | Reduce | GetProgramId | GetNumPrograms => &["axis"],
        Scan => &["axis", "reverse"],
        Gather => &["axis", "efficient_layout"],
        Reshape => &["allow_reorder", "efficient_layout"],
        Trans | MakeTensorPtr => &["order"],
        Dot => &["inputPrecision", "maxNumImpreciseAcc"],
        DotScaled => &[
            "fastMath",
            "lhs_k_pack",
            "rhs_k_pack",
            "a_elem_type",
            "b_elem_type",
        ],
        ExternElementwise => &["libname", "libpath", "symbol", "pure"],
        InlineAsm => &["asm_string", "constraints", "pure", "packed_element"],
        MapElementwise => &["pack"],
        Print => &["prefix", "hex", "isSigned"],
        FpToFp => &["rounding"],
        ClampF => &["propagateNan"],
        AtomicRmw => &["atomic_rmw_op", "sem", "scope"],
        AtomicCas | AtomicLoad | AtomicStore | AtomicPoll => &["sem", "scope"],
        _ => &[],
    }
}

macro_rules! keyword {
    ($parser:expr, $draft:expr, $names:expr, $type:ident) => {
        $parser.keyword($draft, $names, $type::from_word, $type::from_code, || {
            $type::ALL
                .iter()
                .map(|k| k.as_str())
                .collect::<Vec<_>>()
                .join(", ")
        })
    };
}

impl<'a> Parser<'a> {
    /// Takes the operation's own attributes out of its dictionary.
    pub(super) fn inherent(&mut self, d: &mut Draft<'a>) -> Result<Attrs> {
        match d.code.info().family {
            Family::Arith | Family::Math | Family::Cast | Family::Compare => self.arith_attrs(d),
            Family::Shape | Family::Reduce | Family::Dot => self.shape_attrs(d),
            Family::Memory | Family::Atomic => self.memory_attrs(d),
            Family::Control => self.control_attrs(d),
        }
    }

    fn arith_attrs(&mut self, d: &mut Draft<'a>) -> Result<Attrs> {
        use OpCode::*;
        Ok(match d.code {
            code if code.info().class.is_some() => return self.flags(d),
            TruncI => return self.flags(d),
            ExtF | TruncF => {
                self.no_flags(d, "fastmath")?;
                Attrs::None
            }
            Constant => {
                let value = self.require(d, "value")?;
                Attrs::Constant(self.constant_value(d, value)?)
            }
            Poison => {
                d.dict.take("value");
                Attrs::None
            }
            CmpI => Attrs::CmpI(self.needed(d, "predicate", |p, d| {
                keyword!(p, d, &["predicate"], IntPredicate)
            })?),
            CmpF => {
                self.no_flags(d, "fastmath")?;
                Attrs::CmpF(self.needed(d, "predicate", |p, d| {
                    keyword!(p, d, &["predicate"], FloatPredicate)
                })?)
            }
            ClampF => Attrs::ClampF(self.needed(d, "propagateNan", |p, d| {
                keyword!(p, d, &["propagateNan"], PropagateNan)
            })?),
            FpToFp => Attrs::FpToFp(keyword!(self, d, &["rounding"], Rounding)?),
            ExternElementwise => Attrs::Extern(Box::new(Extern {
                libname: self.text(d, "libname")?,
                libpath: self.text(d, "libpath")?,
                symbol: self.text(d, "symbol")?,
                pure: self.flag(d, "pure")?,
            })),
            InlineAsm => Attrs::InlineAsm(Box::new(crate::attrs::InlineAsm {
                text: self.text(d, "asm_string")?,
                constraints: self.text(d, "constraints")?,
                pure: self.flag(d, "pure")?,
                packed: self.index(d, "packed_element")?,
            })),
            _ => Attrs::None,
        })
    }

    fn shape_attrs(&mut self, d: &mut Draft<'a>) -> Result<Attrs> {
        use OpCode::*;
        Ok(match d.code {
            MakeRange => Attrs::Range {
                start: self.int(d, "start")?,
                end: self.int(d, "end")?,
            },
            ExpandDims => Attrs::Axis(self.index(d, "axis")?),
            Reduce => Attrs::Along {
                axis: self.index(d, "axis")?,
                reverse: false,
            },
            Scan => Attrs::Along {
                axis: self.index(d, "axis")?,
                reverse: self.flag(d, "reverse")?,
            },
            Gather => Attrs::Gather {
                axis: self.index(d, "axis")?,
                efficient_layout: self.flag(d, "efficient_layout")?,
            },
            Reshape => Attrs::Reshape {
                allow_reorder: self.flag(d, "allow_reorder")?,
                efficient_layout: self.flag(d, "efficient_layout")?,
            },
            Trans => Attrs::Order(self.dimension_order(d)?),
            Dot => Attrs::Dot {
                precision: keyword!(self, d, &["inputPrecision"], InputPrecision)?
                    .unwrap_or(InputPrecision::Ieee),
                max_imprecise: match d.dict.items.iter().any(|i| i.name == "maxNumImpreciseAcc") {
                    true => self.index(d, "maxNumImpreciseAcc")?,
                    false => 0,
                },
            },
            DotScaled => Attrs::DotScaled(self.dot_scaled_attrs(d)?),
            MapElementwise => Attrs::Map(self.index(d, "pack")?),
            _ => Attrs::None,
        })
    }

    fn control_attrs(&mut self, d: &mut Draft<'a>) -> Result<Attrs> {
        use OpCode::*;
        Ok(match d.code {
            GetProgramId | GetNumPrograms => {
                Attrs::Grid(self.needed(d, "axis", |p, d| keyword!(p, d, &["axis"], Axis))?)
            }
            Print => Attrs::Print(Box::new(self.print_attrs(d)?)),
            Assert => {
                for old in ["file", "func", "line"] {
                    d.dict.take(old);
                }
                Attrs::Message(self.text(d, "message")?)
            }
            CfAssert => Attrs::Message(self.text(d, "msg")?),
            Call => match self.require(d, "callee")?.value {
                AttrValue::Symbol(name) => Attrs::Callee(name),
                _ => return Err(self.missing(d, "callee")),
            },
            For => {
                if self.flag(d, "unsignedCmp")? {
                    Attrs::For { unsigned: true }
                } else {
                    Attrs::None
                }
            }
            Assume => {
                // operand bundles are refused; their empty list is the generic form's default
                match d.dict.take("op_bundle_sizes") {
                    Some(Item {
                        value: AttrValue::DenseArray(_, sizes),
                        ..
                    }) if sizes.is_empty() => {}
                    Some(item) => return Err(self.unsupported(item.at, "an operand bundle".to_string())),
                    None => {}
                }
                Attrs::None
            }
            Barrier => Attrs::Barrier(self.barrier_spaces(d)?),
            _ => Attrs::None,
        })
    }

    fn memory_attrs(&mut self, d: &mut Draft<'a>) -> Result<Attrs> {
        use OpCode::*;
        Ok(match d.code {
            Load | Store | DescriptorLoad => Attrs::Access(Box::new(self.access(d)?)),
            MakeTensorPtr => Attrs::Order(self.dimension_order(d)?),
            MakeTensorDescriptor => {
                Attrs::Padding(keyword!(self, d, &["padding"], Padding)?.unwrap_or(Padding::Zero))
            }
            DescriptorReduce => {
                Attrs::DescriptorReduce(self.needed(d, "kind", |p, d| keyword!(p, d, &["kind"], ReduceKind))?)
            }
            AtomicRmw => {
                let kind = self.needed(d, "atomic_rmw_op", |p, d| {
                    keyword!(p, d, &["atomic_rmw_op"], RmwKind)
                })?;
                let (semantic, scope) = self.order(d)?;
                Attrs::Rmw(kind, semantic, scope)
            }
            AtomicCas | AtomicLoad | AtomicStore | AtomicPoll => {
                let (semantic, scope) = self.order(d)?;
                Attrs::Atomic(semantic, scope)
            }
            _ => Attrs::None,
        })
    }

    fn dimension_order(&mut self, d: &mut Draft<'a>) -> Result<Vec<u32>> {
        let order = self.indices(d, "order")?;
        order.ok_or_else(|| self.missing(d, "order"))
    }

    fn order(&mut self, d: &mut Draft<'a>) -> Result<(Semantic, Scope)> {
        let semantic = self.needed(d, "sem", |p, d| keyword!(p, d, &["sem"], Semantic))?;
        let scope = self.needed(d, "scope", |p, d| keyword!(p, d, &["scope"], Scope))?;
        Ok((semantic, scope))
    }

    fn access(&mut self, d: &mut Draft<'a>) -> Result<AccessAttrs> {
        let mut cache = match d.dict.take("cachePolicy") {
            Some(item) => self.cache_policy(&item)?,
            None => CachePolicy::default(),
        };
        if let Some(modifier) = keyword!(self, d, &["cacheModifier", "cache"], CacheModifier)? {
            cache.modifier = modifier;
        }
        if let Some(eviction) = keyword!(self, d, &["evictionPolicy", "evict"], EvictionPolicy)? {
            cache.eviction = eviction;
        }
        let mut access = AccessAttrs {
            cache,
            ..AccessAttrs::default()
        };
        if d.code != OpCode::DescriptorLoad {
            access.boundary_check = self.indices(d, "boundaryCheck")?.unwrap_or_default();
            access.padding = keyword!(self, d, &["padding"], Padding)?;
            access.volatile = self.flag(d, "isVolatile")?;
        }
        Ok(access)
    }

    /// `#tt.cache_policy<cache_modifier = ca, eviction_policy = evict_last>`
    fn cache_policy(&self, item: &Item<'a>) -> Result<CachePolicy> {
        let wrong = || {
            self.expected(
                item.at,
                "this cache policy",
                "`#tt.cache_policy<cache_modifier = …, eviction_policy = …>`",
            )
        };
        let AttrValue::Opaque(text) = &item.value else {
            return Err(wrong());
        };
        let Some(body) = text
            .strip_prefix("#tt.cache_policy<")
            .and_then(|t| t.strip_suffix('>'))
        else {
            return Err(self.unsupported(item.at, "this cache policy".to_string()));
        };
        let mut policy = CachePolicy::default();
        for part in body.split(',') {
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            match name.trim() {
                "cache_modifier" => {
                    policy.modifier = CacheModifier::from_word(value.trim()).ok_or_else(wrong)?
                }
                "eviction_policy" => {
                    policy.eviction = EvictionPolicy::from_word(value.trim()).ok_or_else(wrong)?
                }
                _ => return Err(wrong()),
            }
        }
        Ok(policy)
    }

    fn dot_scaled_attrs(&mut self, d: &mut Draft<'a>) -> Result<DotScaled> {
        let a = self.needed(d, "a_elem_type", |p, d| {
            keyword!(p, d, &["a_elem_type", "lhs_type"], ScaleElem)
        })?;
        let b = self.needed(d, "b_elem_type", |p, d| {
            keyword!(p, d, &["b_elem_type", "rhs_type"], ScaleElem)
        })?;
        let scales = d.operands.len().saturating_sub(3);
        let given = d.dict.items.iter().any(|i| i.name == "a_scale");
        Ok(DotScaled {
            a,
            b,
            // the oldest form tells no operand groups: a lone scale is the left one's
            a_scale: if given {
                self.flag(d, "a_scale")?
            } else {
                scales >= 1
            },
            b_scale: if given {
                self.flag(d, "b_scale")?
            } else {
                scales >= 2
            },
            fast_math: self.flag(d, "fastMath")?,
            lhs_k_pack: self.optional_bool(d, "lhs_k_pack")?.unwrap_or(true),
            rhs_k_pack: self.optional_bool(d, "rhs_k_pack")?.unwrap_or(true),
        })
    }

    /// Words as written, or the words of the bits of the generic form.
    fn barrier_spaces(&mut self, d: &mut Draft<'a>) -> Result<Arc<str>> {
        const WORDS: [&str; 5] = [
            "local",
            "global_read",
            "global_write",
            "tensor_read",
            "tensor_write",
        ];
        let item = self.require(d, "addrSpace")?;
        match item.value {
            AttrValue::Str(words) => {
                let known = |word: &str| matches!(word, "all" | "none") || WORDS.contains(&word);
                match words.split('|').find(|word| !known(word)) {
                    Some(_) => Err(self.expected(
                        item.at,
                        "this address space",
                        &format!("all, none, {}", WORDS.join(", ")),
                    )),
                    None => Ok(words),
                }
            }
            AttrValue::Int(31, _) => Ok("all".into()),
            AttrValue::Int(0, _) => Ok("none".into()),
            AttrValue::Int(bits @ 1..31, _) => {
                let words: Vec<&str> = (0..5).filter(|i| bits >> i & 1 == 1).map(|i| WORDS[i]).collect();
                Ok(words.join("|").into())
            }
            _ => Err(self.missing(d, "addrSpace")),
        }
    }

    fn print_attrs(&mut self, d: &mut Draft<'a>) -> Result<Print> {
        let signed = match self.indices(d, "isSigned")? {
            Some(list) => list.into_iter().map(|s| s != 0).collect(),
            // up to 3.1 all integers are printed as signed
            None => d
                .operands
                .iter()
                .map(|&v| matches!(self.f.values[v].ty.elem(), Some(Elem::Scalar(s)) if s.is_int()))
                .collect(),
        };
        Ok(Print {
            prefix: self.text(d, "prefix")?,
            hex: self.flag(d, "hex")?,
            signed,
        })
    }

    /// `fastmath<…>` and `overflow<…>` of arithmetic.
    fn flags(&mut self, d: &mut Draft<'a>) -> Result<Attrs> {
        let words = |item: Item<'a>, prefix: &str| match item.value {
            AttrValue::Str(words) => Some(words.to_string()),
            AttrValue::Opaque(text) => text
                .strip_prefix(prefix)
                .and_then(|t| t.strip_suffix('>'))
                .map(|t| t.trim().to_string()),
            _ => None,
        };
        let float = d.code.info().class.is_some_and(|c| c.is_float());
        let mut attrs = Attrs::None;
        if d.code.info().mnemonic.starts_with("tt.") {
            return Ok(attrs);
        }
        if float && let Some(item) = d.dict.take("fastmath") {
            let at = item.at;
            match words(item, "#arith.fastmath<") {
                Some(w) if w != "none" => attrs = Attrs::FastMath(Some(w.into())),
                Some(_) => {}
                None => return Err(self.expected(at, "this attribute", "`#arith.fastmath<…>`")),
            }
        }
        if !float && let Some(item) = d.dict.take("overflowFlags") {
            let at = item.at;
            match words(item, "#arith.overflow<") {
                Some(w) if w != "none" => attrs = Attrs::Overflow(Some(w.into())),
                Some(_) => {}
                None => return Err(self.expected(at, "this attribute", "`#arith.overflow<…>`")),
            }
        }
        Ok(attrs)
    }

    /// An operation on which these flags are not kept: only `none` is accepted.
    fn no_flags(&mut self, d: &mut Draft<'a>, name: &str) -> Result<()> {
        match d.dict.take(name) {
            Some(Item {
                value: AttrValue::Opaque(text),
                ..
            }) if text.ends_with("<none>") => Ok(()),
            Some(item) => Err(self.unsupported(item.at, format!("`{name}` on `{}`", d.code))),
            None => Ok(()),
        }
    }

    fn constant_value(&mut self, d: &Draft<'a>, item: Item<'a>) -> Result<Constant> {
        let wrong = |p: &Self, ty: &str| {
            Error::input(format!("the constant is not of its operation's type {ty}")).at(
                &p.source,
                p.c.item(item.at),
                "in this constant",
            )
        };
        let Some(&ty) = d.results.first() else {
            return Err(wrong(self, ""));
        };
        let name = format!("`{ty}`");
        match (&item.value, ty) {
            (AttrValue::Dense(constant, dims, scalar), Type::Tile(shape, Elem::Scalar(s)))
                if *scalar == s && shape.dims().eq(dims.iter().map(|&d| d as usize)) =>
            {
                Ok(constant.clone())
            }
            (&AttrValue::Int(value, scalar), Type::Scalar(Elem::Scalar(s))) if scalar == s => {
                Ok(Constant::Splat(super::attrs::truncate(value, s)))
            }
            (&AttrValue::Float(bits, scalar), Type::Scalar(Elem::Scalar(s))) if scalar == s => {
                Ok(Constant::Splat(bits))
            }
            (&AttrValue::Bool(value), Type::Scalar(Elem::Scalar(Scalar::I1))) => {
                Ok(Constant::Splat(u64::from(value)))
            }
            _ => Err(wrong(self, &name)),
        }
    }

    // Single attributes.

    fn missing(&self, d: &Draft<'a>, name: &str) -> Box<Error> {
        Error::input(format!("`{}` needs the attribute `{name}`", d.code)).at(
            &self.source,
            self.c.item(d.at),
            "it is missing or of another kind",
        )
    }

    fn require(&mut self, d: &mut Draft<'a>, name: &str) -> Result<Item<'a>> {
        d.dict.take(name).ok_or_else(|| self.missing(d, name))
    }

    fn needed<T>(
        &mut self,
        d: &mut Draft<'a>,
        name: &str,
        read: impl FnOnce(&mut Self, &mut Draft<'a>) -> Result<Option<T>>,
    ) -> Result<T> {
        read(self, d)?.ok_or_else(|| self.missing(d, name))
    }

    fn keyword<T>(
        &mut self,
        d: &mut Draft<'a>,
        names: &[&str],
        from_word: impl Fn(&str) -> Option<T>,
        from_code: impl Fn(i64) -> Option<T>,
        all: impl Fn() -> String,
    ) -> Result<Option<T>> {
        let Some(item) = d.dict.take_any(names) else {
            return Ok(None);
        };
        let value = match &item.value {
            AttrValue::Str(word) => from_word(word),
            AttrValue::Int(code, _) => i64::try_from(*code).ok().and_then(from_code),
            _ => None,
        };
        match value {
            Some(value) => Ok(Some(value)),
            None => {
                let mut error = self.expected(item.at, "this keyword", &format!("one of {}", all()));
                if let AttrValue::Str(word) = &item.value {
                    let words = all();
                    if let Some(guess) = super::similar(word, words.split(", ")) {
                        error = error.help(format!("did you mean `{guess}`?"));
                    }
                }
                Err(error)
            }
        }
    }

    fn int(&mut self, d: &mut Draft<'a>, name: &str) -> Result<i32> {
        match self.require(d, name)?.value {
            AttrValue::Int(value, _) => i32::try_from(value).map_err(|_| self.missing(d, name)),
            _ => Err(self.missing(d, name)),
        }
    }

    fn index(&mut self, d: &mut Draft<'a>, name: &str) -> Result<u32> {
        u32::try_from(self.int(d, name)?).map_err(|_| self.missing(d, name))
    }

    fn indices(&mut self, d: &mut Draft<'a>, name: &str) -> Result<Option<Vec<u32>>> {
        let Some(item) = d.dict.take(name) else {
            return Ok(None);
        };
        let AttrValue::DenseArray(_, items) = item.value else {
            return Err(self.expected(item.at, "this attribute", "a list such as `array<i32: 0, 1>`"));
        };
        let list: Option<Vec<u32>> = items.iter().map(|&i| u32::try_from(i).ok()).collect();
        list.map(Some)
            .ok_or_else(|| self.expected(item.at, "this attribute", "numbers from 0 on"))
    }

    fn text(&mut self, d: &mut Draft<'a>, name: &str) -> Result<Arc<str>> {
        match self.require(d, name)?.value {
            AttrValue::Str(text) => Ok(text),
            _ => Err(self.missing(d, name)),
        }
    }

    fn optional_bool(&mut self, d: &mut Draft<'a>, name: &str) -> Result<Option<bool>> {
        match d.dict.take(name) {
            None => Ok(None),
            Some(Item {
                value: AttrValue::Bool(value),
                ..
            }) => Ok(Some(value)),
            Some(Item {
                value: AttrValue::Unit,
                ..
            }) => Ok(Some(true)),
            Some(item) => Err(self.expected(item.at, "this attribute", "`true` or `false`")),
        }
    }

    fn flag(&mut self, d: &mut Draft<'a>, name: &str) -> Result<bool> {
        Ok(self.optional_bool(d, name)?.unwrap_or(false))
    }

    /// Adds a keyword of the pretty form to the dictionary.
    pub(super) fn add_word(&mut self, dict: &mut Dict<'a>, name: &'a str) -> Result<()> {
        let at = self.c.at();
        match self.c.word() {
            Some(word) => dict.add(name, AttrValue::Str(word.into()), at),
            None => return Err(self.expected(at, "this", "a keyword")),
        }
        Ok(())
    }
}
