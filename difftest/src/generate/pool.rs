//! Values that may be used, and new ones of a wanted type.

use tilescope_ir::{Attrs, Constant, Elem, OpCode, Scalar, Shape, Type, ValueId};
use tilescope_launch::Dtype;

use super::spec::ScalarSpec;
use super::{FLOATS, Generator, INTS, SMALL_FLOATS, is_any, is_any_float, is_float, is_int, scalar_of};

/// Most lanes of a tile.
pub(super) const MAX_LANES: u32 = 8;

impl Generator {
    /// Keeps a value for others to use.
    pub(super) fn keep(&mut self, value: ValueId) -> ValueId {
        self.pool.push(value);
        value
    }

    /// One of the values whose type fits; later ones more often.
    pub(super) fn find(&mut self, fits: impl Fn(Type) -> bool) -> Option<ValueId> {
        let fitting: Vec<ValueId> = self
            .pool
            .iter()
            .copied()
            .filter(|&v| fits(self.b.ty(v)))
            .collect();
        let from = match self.draw.percent(50) {
            true => fitting.len().saturating_sub(4),
            false => 0,
        };
        let at = from + self.draw.below(fitting.len() - from);
        fitting.get(at).copied()
    }

    /// A number type.
    pub(super) fn some_scalar(&mut self, fits: fn(Scalar) -> bool) -> Scalar {
        let lists = [INTS, FLOATS, INTS, FLOATS, &[Scalar::I1], SMALL_FLOATS];
        for _ in 0..50 {
            let list = lists[self.draw.below(lists.len())];
            if let Some(&scalar) = self.draw.one(list).filter(|&&s| fits(s))
                && self.takes_type(scalar)
            {
                return scalar;
            }
        }
        // Not drawn: one kernel in a thousand wants a single type.
        let mut all = lists.into_iter().flatten().copied();
        all.find(|&s| fits(s) && self.takes_type(s))
            .unwrap_or(Scalar::I32)
    }

    /// A shape of at most 2^[`MAX_LANES`] elements.
    pub(super) fn some_shape(&mut self) -> Shape {
        let rank = [1, 1, 1, 2, 2, 2, 3, 4][self.draw.below(8)];
        let mut left = 1 + self.draw.below(MAX_LANES as usize);
        let mut dims = vec![1u64; rank];
        for dim in &mut dims {
            let take = self.draw.below(left + 1);
            *dim <<= take;
            left -= take;
        }
        // The last one takes what is left, mostly: rows are longer than columns are high.
        if self.draw.percent(70)
            && let Some(last) = dims.last_mut()
        {
            *last <<= left;
        }
        Shape::new(&dims).unwrap_or_default()
    }

    /// The type of a tile: that of another value, mostly.
    pub(super) fn some_tile(&mut self, fits: fn(Scalar) -> bool) -> Type {
        let shape = match self.draw.percent(75) {
            true => self
                .find(|ty| ty.shape().is_some())
                .and_then(|v| self.b.ty(v).shape()),
            false => None,
        };
        let shape = shape.unwrap_or_else(|| self.some_shape());
        Type::tile(shape, self.some_scalar(fits))
    }

    /// The type of a number or a tile: that of another value, mostly.
    pub(super) fn some_type(&mut self, fits: fn(Scalar) -> bool) -> Type {
        if self.draw.percent(60)
            && let Some(value) = self.find(|ty| scalar_of(ty).is_some_and(fits))
        {
            return self.b.ty(value);
        }
        match self.lanes_only || self.draw.percent(20) {
            true => Type::scalar(self.some_scalar(fits)),
            false => self.some_tile(fits),
        }
    }

    /// A value of a type: one there is, mostly.
    pub(super) fn want(&mut self, ty: Type) -> ValueId {
        if (self.depth > 3 || self.draw.percent(80))
            && let Some(value) = self.find(|other| other == ty)
        {
            return value;
        }
        self.depth += 1;
        let value = self.fresh(ty);
        self.depth -= 1;
        self.keep(value)
    }

    fn fresh(&mut self, ty: Type) -> ValueId {
        let Some(scalar) = scalar_of(ty) else {
            return self.constant_of(ty);
        };
        if self.depth > 4 {
            return self.constant_of(ty);
        }
        match (self.draw.below(8), ty) {
            (0 | 1, Type::Tile(..)) if self.has_memory() => self.load_of(ty),
            (2, Type::Tile(shape, elem)) if !self.lanes_only => {
                let number = self.want(Type::Scalar(elem));
                self.b.splat(number, shape)
            }
            (3, Type::Tile(shape, elem)) => match self.other_shape(shape, elem) {
                Some(value) => value,
                None => self.constant_of(ty),
            },
            (0 | 1, Type::Scalar(_)) if self.nesting == 0 && self.has_memory() => self.parameter(scalar),
            (4..=6, _) => {
                let form = |other: Type| other.shape() == ty.shape() && scalar_of(other).is_some_and(is_any);
                match self.find(form) {
                    Some(value) => self.convert(value, scalar),
                    None => self.constant_of(ty),
                }
            }
            _ => self.constant_of(ty),
        }
    }

    /// A tile of a shape from one of another.
    fn other_shape(&mut self, shape: Shape, elem: Elem) -> Option<ValueId> {
        let broadcasts = |ty: Type| matches!(ty, Type::Tile(from, e) if e == elem && tilescope_ir::infer::broadcasts(from, shape));
        let reshapes = |ty: Type| matches!(ty, Type::Tile(from, e) if e == elem && from.log2_elements() == shape.log2_elements());
        if let Some(value) = self.find(broadcasts)
            && self.draw.percent(50)
        {
            return Some(self.b.broadcast(value, shape));
        }
        let value = self.find(reshapes)?;
        Some(self.b.reshape(value, shape))
    }

    /// A number that the launch gives.
    fn parameter(&mut self, scalar: Scalar) -> ValueId {
        let ty = Type::scalar(scalar);
        if !(is_float(scalar) || is_int(scalar)) {
            return self.constant_of(ty);
        }
        let name = format!("s{}", self.spec.scalars.len());
        let value = match is_float(scalar) {
            true => ScalarSpec::Float([0.0, 1.0, -2.5, 0.125, 1000.0][self.draw.below(5)]),
            false => ScalarSpec::Int([0, 1, -1, 7, 16, 100, -128, 127][self.draw.below(8)]),
        };
        let parameter = self.b.param(&name, ty, None);
        self.spec.scalars.push((name, value));
        parameter
    }

    /// A constant of a type, at the cursor.
    pub(super) fn constant_of(&mut self, ty: Type) -> ValueId {
        let Some(scalar) = scalar_of(ty) else {
            return self.b.int(Type::BOOL, 0);
        };
        let constant = match ty {
            // Triton's front end writes constants of one number only, and most others are refused by its passes.
            Type::Tile(shape, _) if shape.elements() <= 64 && !self.compilable && self.draw.percent(15) => {
                let lanes: Vec<u64> = (0..shape.elements()).map(|_| self.bits(scalar)).collect();
                // Equal lanes are read back as one number.
                match lanes.iter().all(|&bits| bits == lanes[0]) {
                    true => Constant::Splat(lanes[0]),
                    false => Constant::Dense(lanes.into()),
                }
            }
            _ => Constant::Splat(self.bits(scalar)),
        };
        self.b.value(OpCode::Constant, &[], Attrs::Constant(constant), ty)
    }

    /// The bits of a number that is worth trying.
    fn bits(&mut self, scalar: Scalar) -> u64 {
        let mask = u64::MAX >> (64 - scalar.bits().min(64));
        if is_any_float(scalar) {
            let values = [
                0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, 3.25, 100.0, 1e-3, 1e4, 1e-7, -1e30, 6e-8,
            ];
            let wild = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let value = match self.draw.percent(8) {
                true => wild[self.draw.below(3)],
                false => values[self.draw.below(values.len())],
            };
            return Dtype::of_scalar(scalar).map_or(0, |d: Dtype| d.encode_float(value));
        }
        let high = 1u64 << (scalar.bits().clamp(1, 64) - 1);
        let values = [
            0,
            1,
            2,
            3,
            5,
            8,
            31,
            64,
            100,
            u64::MAX,
            u64::MAX - 2,
            high,
            high - 1,
        ];
        let bits = match self.draw.percent(20) {
            true => self.draw.next(),
            false => values[self.draw.below(values.len())],
        };
        bits & mask
    }

    /// An integer in every lane.
    pub(super) fn int(&mut self, ty: Type, value: i64) -> ValueId {
        self.b.int(ty, value)
    }

    /// `value` bit-and a number: what is left is from 0 to `most`, which is one less than a power of two.
    pub(super) fn below(&mut self, value: ValueId, most: i64) -> ValueId {
        let most = self.int(self.b.ty(value), most);
        self.b.elementwise(OpCode::AndI, &[value, most])
    }
}
