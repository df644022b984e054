//! What stands for a value of the kernel in its twin.
//!
//! | the kernel's value | in the twin |
//! |---|---|
//! | an integer, truth value, or address of integers | itself; with a mask `unsure` where it depends on floats |
//! | a float | itself, `wide`: the same computed in f64, and `error`: a bound on the distance of any path from it |
//! | an address of floats | itself, and the addresses of the same element's `wide` and `error` |
//! | an address of integers that may depend on floats | itself, and the address of the same element's `unsure` |

use tilescope_ir::{Elem, Pointer, Scalar, Type, ValueId, infer};

use super::depends::{is_float, pointee};

/// The values that stand for one value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shadow {
    pub kind: Kind,
    /// The kernel's own value.
    pub value: ValueId,
    /// By kind: f64, address of f64, address of masks; else the value itself.
    pub wide: ValueId,
    /// By kind: the bound, or its address; else the value itself.
    pub error: ValueId,
    /// Lanes in which another path may have another value.
    pub unsure: Option<ValueId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Plain,
    Float,
    FloatPlace,
    IntPlace,
}

impl Shadow {
    pub(super) fn plain(value: ValueId, unsure: Option<ValueId>) -> Shadow {
        Shadow {
            kind: Kind::Plain,
            value,
            wide: value,
            error: value,
            unsure,
        }
    }

    pub(super) fn float(value: ValueId, wide: ValueId, error: ValueId) -> Shadow {
        Shadow {
            kind: Kind::Float,
            value,
            wide,
            error,
            unsure: None,
        }
    }

    /// Its values in the order of [`Form::types`], without `unsure`.
    pub(super) fn own(&self) -> Vec<ValueId> {
        match self.kind {
            Kind::Plain => vec![self.value],
            Kind::IntPlace => vec![self.value, self.wide],
            Kind::Float | Kind::FloatPlace => vec![self.value, self.wide, self.error],
        }
    }
}

/// How a value of some type is passed through block arguments, calls and loops.
#[derive(Debug, Clone)]
pub(super) struct Form {
    pub kind: Kind,
    /// One type for each value of [`Shadow::own`], and the mask's where there is one.
    pub types: Vec<Type>,
    pub unsure: bool,
}

impl Form {
    /// None for what has no twin: pointers to pointers to floats.
    pub(super) fn of(ty: Type, depends: bool, int_memory: bool) -> Option<Form> {
        let kind = match pointee(ty) {
            _ if is_float(ty) => Kind::Float,
            Some(Elem::Scalar(s)) if s.is_float() => Kind::FloatPlace,
            Some(Elem::Scalar(_)) if int_memory => Kind::IntPlace,
            Some(Elem::Ptr(p)) if p.pointee.is_float() => return None,
            _ => Kind::Plain,
        };
        let mut types = vec![ty];
        match kind {
            Kind::Plain => {}
            Kind::Float | Kind::FloatPlace => types.extend([with_target(ty, Scalar::F64); 2]),
            Kind::IntPlace => types.push(with_target(ty, Scalar::I1)),
        }
        if depends {
            types.push(mask_of(ty));
        }
        Some(Form {
            kind,
            types,
            unsure: depends,
        })
    }

    /// The shadow that these values, in the order of the types, are.
    pub(super) fn shadow(&self, values: &[ValueId]) -> Option<Shadow> {
        let at = |i: usize| values.get(i).copied();
        let value = at(0)?;
        let own = self.types.len() - usize::from(self.unsure);
        Some(Shadow {
            kind: self.kind,
            value,
            wide: if own > 1 { at(1)? } else { value },
            error: if own > 2 { at(2)? } else { value },
            unsure: if self.unsure { Some(at(own)?) } else { None },
        })
    }
}

/// What is unsure in one of two uses of the same values is so in both; types are those of the first.
pub(super) fn join(a: &[Form], b: &[Form]) -> Vec<Form> {
    let pairs = a.iter().zip(b);
    pairs
        .map(|(a, b)| {
            let mut form = a.clone();
            if b.unsure && !a.unsure {
                form.unsure = true;
                form.types.push(mask_of(a.types[0]));
            }
            form
        })
        .collect()
}

/// The type of truth values, one for each lane of `ty`.
pub(super) fn mask_of(ty: Type) -> Type {
    match ty {
        Type::Scalar(_) | Type::Tile(..) => infer::mask(ty),
        Type::BlockPtr(..) | Type::Descriptor { .. } => Type::BOOL,
    }
}

/// The same type with another number in its lanes, or in what its addresses lead to.
pub(super) fn with_target(ty: Type, number: Scalar) -> Type {
    let elem = |elem: Elem| match elem {
        Elem::Scalar(_) => Elem::Scalar(number),
        Elem::Ptr(p) => Elem::Ptr(Pointer { pointee: number, ..p }),
    };
    match ty {
        Type::Scalar(e) => Type::Scalar(elem(e)),
        Type::Tile(shape, e) => Type::Tile(shape, elem(e)),
        Type::BlockPtr(shape, e) => Type::BlockPtr(shape, elem(e)),
        Type::Descriptor { block, .. } => Type::Descriptor {
            block,
            elem: number,
            signed: None,
        },
    }
}
