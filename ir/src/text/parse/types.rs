//! Types: scalars, pointers, tiles, descriptors and the function types of signatures.

use super::Parser;
use crate::types::{Elem, MAX_RANK, Pointer, Scalar, Shape, Type};
use tilescope_diagnostics::{Error, Result};

/// Most levels of pointers to pointers.
const MAX_POINTER_LEVELS: u8 = 8;

/// `3.9` writes `"constant"`, others a number.
fn space_number(word: &str) -> Option<u32> {
    match word {
        "global" => Some(1),
        "constant" => Some(Pointer::CONSTANT),
        _ => None,
    }
}

impl<'a> Parser<'a> {
    /// Any type.
    pub(super) fn ty(&mut self) -> Result<Type> {
        let at = self.c.at();
        if self.type_depth > usize::from(MAX_POINTER_LEVELS) + 2 {
            return Err(self.unsupported(at, "a type nested this deep".to_string()));
        }
        self.type_depth += 1;
        let ty = self.any_type(at)?;
        self.type_depth -= 1;
        Ok(ty)
    }

    fn any_type(&mut self, at: usize) -> Result<Type> {
        if self.c.here() == b'!' {
            self.c.seek(at + 1);
            let word = self.c.word().unwrap_or("");
            return match word {
                "tt.ptr" => self.pointer_type(),
                "tt.tensordesc" => self.descriptor_type(),
                "" => Err(self.expected(at, "a type", "a type")),
                _ if word.contains('.') => Err(self.unsupported_type(at, word)),
                _ => Err(self
                    .unsupported(at, format!("type alias `!{word}`"))
                    .help("write the type out; Triton does not write type aliases in TTIR")),
            };
        }
        match self.c.word() {
            Some("tensor") => {
                self.expect(b'<', "`<` after `tensor`")?;
                let shape = self.dims()?;
                let elem = self.elem()?;
                self.no_encoding()?;
                self.expect(b'>', "`>` at the end of the tensor type")?;
                Ok(Type::Tile(shape, elem))
            }
            Some(word) => match Scalar::from_name(word) {
                Some(scalar) => Ok(Type::scalar(scalar)),
                None => Err(self.unknown_type(at, word)),
            },
            None => Err(self.expected(
                at,
                "a type",
                "a type such as `i32`, `tensor<64xf32>` or `!tt.ptr<f32>`",
            )),
        }
    }

    /// A type where only a number type may stand.
    pub(super) fn scalar(&mut self) -> Result<Scalar> {
        let at = self.c.at();
        match self.c.word().and_then(Scalar::from_name) {
            Some(scalar) => Ok(scalar),
            None => Err(self.expected(at, "a number type", "a number type such as `i32` or `f32`")),
        }
    }

    /// Element of a tile: a number or a pointer.
    fn elem(&mut self) -> Result<Elem> {
        let at = self.c.at();
        match self.ty()? {
            Type::Scalar(elem) => Ok(elem),
            _ => Err(self.expected(at, "this element type", "a number or pointer type")),
        }
    }

    /// `64x32x`: the dimensions before an element type.
    pub(super) fn dims(&mut self) -> Result<Shape> {
        let at = self.c.at();
        let mut dims = [0u64; MAX_RANK];
        let mut rank = 0;
        while let Some(dim) = self.dim()? {
            if rank == MAX_RANK {
                return Err(self.unsupported(at, format!("a tensor of more than {MAX_RANK} dimensions")));
            }
            dims[rank] = dim;
            rank += 1;
        }
        let dims = &dims[..rank];
        Shape::new(dims).ok_or_else(|| {
            let wrong = dims.iter().find(|d| !d.is_power_of_two()).copied().unwrap_or(0);
            Error::input(format!(
                "a tile's dimension must be a power of two, this one is {wrong}"
            ))
            .at(&self.source, self.c.item(at), "in this type")
        })
    }

    /// One dimension and its `x`, if there is one.
    pub(super) fn dim(&mut self) -> Result<Option<u64>> {
        let at = self.c.at();
        if self.c.here() == b'?' {
            return Err(self.unsupported(at, "a dynamic dimension".to_string()));
        }
        let Some(digits) = self.c.digits() else {
            return Ok(None);
        };
        let dim = digits
            .parse()
            .map_err(|_| self.expected(at, "this dimension", "a number below 2^64"))?;
        if self.c.here() != b'x' {
            return Err(self.expected(self.c.end(), "what follows this dimension", "`x`"));
        }
        self.c.seek(self.c.end() + 1);
        Ok(Some(dim))
    }

    fn no_encoding(&mut self) -> Result<()> {
        if !self.c.eat(b',') {
            return Ok(());
        }
        let at = self.c.at();
        Err(self
            .unsupported(at, "a layout encoding".to_string())
            .note("tilescope works on TTIR, before Triton assigns layouts to tiles (TTGIR)")
            .help("dump the `.ttir` of the kernel, not the `.ttgir`"))
    }

    /// `<f32>`, `<f32, 3>`, `<tensor<…>>` after `!tt.ptr`.
    pub(super) fn pointer_type(&mut self) -> Result<Type> {
        self.expect(b'<', "`<` after `!tt.ptr`")?;
        let at = self.c.at();
        let target = self.ty()?;
        let mut space = 1;
        if self.c.eat(b',') {
            let at = self.c.at();
            space = match self.c.string() {
                Some(Ok(word)) => space_number(&word),
                Some(Err((range, text))) => return Err(self.bad_string(range, text)),
                None => self.c.number().and_then(|n| n.text.parse().ok()),
            }
            .ok_or_else(|| {
                self.expected(
                    at,
                    "this address space",
                    "a number, `\"global\"` or `\"constant\"`",
                )
            })?;
        }
        self.expect(b'>', "`>` at the end of the pointer type")?;
        match target {
            Type::Scalar(Elem::Scalar(pointee)) => Ok(Type::Scalar(Elem::Ptr(Pointer {
                pointee,
                levels: 1,
                space,
            }))),
            Type::Scalar(Elem::Ptr(inner)) if inner.levels < MAX_POINTER_LEVELS => {
                if inner.space != space {
                    return Err(
                        self.unsupported(at, "a pointer to a pointer of another address space".to_string())
                    );
                }
                Ok(Type::Scalar(Elem::Ptr(Pointer {
                    levels: inner.levels + 1,
                    ..inner
                })))
            }
            Type::Tile(shape, elem) => Ok(Type::BlockPtr(shape, elem)),
            _ => Err(self.unsupported(at, "a pointer to this type".to_string())),
        }
    }

    /// `<64x32xf32>` (3.9) or `<tensor<64x32xf32>>` after `!tt.tensordesc`.
    pub(super) fn descriptor_type(&mut self) -> Result<Type> {
        self.expect(b'<', "`<` after `!tt.tensordesc`")?;
        let old = self.c.peek_word() == "tensor";
        if old {
            self.c.word();
            self.expect(b'<', "`<` after `tensor`")?;
        }
        let block = self.dims()?;
        let at = self.c.at();
        let word = self.c.word().unwrap_or("");
        let (signed, name) = match word.strip_prefix("si").or_else(|| word.strip_prefix("ui")) {
            Some(_) => (Some(word.starts_with('s')), &word[1..]),
            None => (None, word),
        };
        let elem = Scalar::from_name(name)
            .ok_or_else(|| self.expected(at, "this element type", "a number type such as `f16` or `ui8`"))?;
        self.no_encoding()?;
        if old {
            self.expect(b'>', "`>` at the end of the tensor type")?;
        }
        self.expect(b'>', "`>` at the end of the descriptor type")?;
        Ok(Type::Descriptor { block, elem, signed })
    }

    /// `a, b, c`: types separated by commas, one at least.
    pub(super) fn types(&mut self) -> Result<Vec<Type>> {
        let mut types = vec![self.ty()?];
        while self.c.eat(b',') {
            types.push(self.ty()?);
        }
        Ok(types)
    }

    /// `(a, b)`, possibly empty.
    pub(super) fn type_tuple(&mut self) -> Result<Vec<Type>> {
        self.expect(b'(', "`(` before the types")?;
        if self.c.eat(b')') {
            return Ok(Vec::new());
        }
        let types = self.types()?;
        self.expect(b')', "`)` after the types")?;
        Ok(types)
    }

    /// `t` or `(t, u)`.
    pub(super) fn result_types(&mut self) -> Result<Vec<Type>> {
        if self.c.peek() == b'(' {
            self.type_tuple()
        } else {
            Ok(vec![self.ty()?])
        }
    }

    /// `(a, b) -> c`.
    pub(super) fn function_type(&mut self) -> Result<(Vec<Type>, Vec<Type>)> {
        let inputs = self.type_tuple()?;
        self.arrow()?;
        Ok((inputs, self.result_types()?))
    }

    fn unsupported_type(&mut self, at: usize, word: &str) -> Box<Error> {
        self.unsupported(at, format!("type `!{word}`"))
            .note("known types are numbers, `tensor<…>`, `!tt.ptr<…>` and `!tt.tensordesc<…>`")
    }

    fn unknown_type(&mut self, at: usize, word: &str) -> Box<Error> {
        if matches!(
            word,
            "none" | "vector" | "memref" | "tuple" | "complex" | "f80" | "f128" | "tf32"
        ) {
            return self.unsupported(at, format!("type `{word}`"));
        }
        let integer = word
            .strip_prefix(['i', 's', 'u'])
            .map(|w| w.trim_start_matches('i'));
        if integer.is_some_and(|w| !w.is_empty() && w.bytes().all(|b| b.is_ascii_digit())) {
            return self
                .unsupported(at, format!("integer type `{word}`"))
                .note("integers of tiles have 1, 8, 16, 32 or 64 bits");
        }
        let error = self.expected(at, "this type", "a type");
        match super::similar(word, Scalar::ALL.iter().map(|s| s.name())) {
            Some(name) => error.help(format!("did you mean `{name}`?")),
            None => error,
        }
    }
}
