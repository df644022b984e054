//! Matrix products.

use tilescope_ir::attrs::InputPrecision;
use tilescope_ir::{OpCode, Scalar, Shape, Type};

use super::Generator;

impl Generator {
    pub(super) fn dot(&mut self, _: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let kinds = [
            (Scalar::I8, Scalar::I32),
            (Scalar::F16, Scalar::F32),
            (Scalar::BF16, Scalar::F32),
            (Scalar::F32, Scalar::F32),
            (Scalar::F16, Scalar::F16),
            (Scalar::F64, Scalar::F64),
            (Scalar::F8E5M2, Scalar::F32),
        ];
        let (from, to) = match self.exact {
            true => kinds[0],
            false => kinds[self.draw.below(kinds.len())],
        };
        if self.compilable && !(self.takes_type(from) && self.takes_type(to)) {
            return false;
        }
        let size = [1, 2, 4, 8, 16, 16];
        let [m, n, k] = match self.compilable {
            // Triton's own products are of 16 rows and columns at least, and of 32 numbers of 8 bits.
            true => [16, 16, 32],
            false => [0; 3].map(|_: i32| size[self.draw.below(size.len())]),
        };
        let tile = |dims: &[u64], scalar| Type::tile(Shape::new(dims).unwrap_or_default(), scalar);
        let a = self.want(tile(&[m, k], from));
        let b = self.want(tile(&[k, n], from));
        let c = self.want(tile(&[m, n], to));
        let c = match self.compilable && to == Scalar::I32 {
            true => self.far_from_ends(c),
            false => c,
        };
        let precision = match from == Scalar::F32 && self.draw.percent(50) {
            true => InputPrecision::Tf32,
            false => InputPrecision::Ieee,
        };
        let value = self.b.dot(a, b, c, precision);
        self.keep(value);
        true
    }
}
