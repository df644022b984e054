//! Random numbers, bit-equal to Triton's.
//!
//! The generator is Philox 4x32 with ten rounds (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy as
//! 1, 2, 3", SC 2011): the counter is the offset, the key the seed. The same seed and offset give the same number in
//! every program, so a backward pass can make them again.

use tilescope_ir::{Attrs, OpCode};
use tilescope_launch::Dtype;

use super::operand::Operand;
use crate::Tile;
use crate::builder::{Builder, wrong};

const ROUNDS: usize = 10;
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

impl<'k> Tile<'k> {
    /// The upper half of the product of unsigned integers, `u32` or `u64`.
    #[track_caller]
    pub fn mul_high(self, other: impl Operand<'k>) -> Tile<'k> {
        self.k.make(|core| {
            let (a, b) = (core.take(self.given())?, core.take(other.given())?);
            let (a, b) = core.meet(a, b, false, "`mul_high`")?;
            if !matches!(a.ty.dtype(), Some(Dtype::U32 | Dtype::U64)) {
                return Err(wrong(format!("`mul_high` of `{}`: it takes `u32` or `u64`", a.ty)).into());
            }
            let (a, b) = core.same_shape(a, b, "`mul_high`")?;
            Ok(core.emit(OpCode::MulHiUI, &[a, b], Attrs::None, a.ty))
        })
    }
}

impl Builder {
    /// Four random `u32` per offset: all bits random. `seed` is an integer, `offsets` are integers.
    #[track_caller]
    pub fn random<'k>(&'k self, seed: impl Operand<'k>, offsets: Tile<'k>) -> [Tile<'k>; 4] {
        let seed = self.make(|core| {
            let seed = core.take(seed.given())?;
            let seed = core.own(seed)?;
            match core.number_type(seed, "a seed")?.is_float() || seed.ty.shape.is_some() {
                true => Err(wrong(format!("a seed of type `{}`: it is one integer", seed.ty)).into()),
                false => Ok(seed),
            }
        });
        let wide = self.make(|core| {
            let offsets = core.take_tile(offsets)?;
            match core.number_type(offsets, "`random`")?.is_float() {
                true => Err(wrong(format!("offsets of type `{}`: they are integers", offsets.ty)).into()),
                false => core.cast(offsets, Dtype::I64),
            }
        });
        let seed = seed.to(Dtype::U64);
        let (mut k0, mut k1) = (seed.to(Dtype::U32), (seed >> 32).to(Dtype::U32));
        let mut c0 = offsets.to(Dtype::U32);
        let zero = self.constant(0u32);
        let narrow = offsets
            .ty()
            .and_then(|ty| ty.dtype())
            .is_some_and(|d| d.bytes() <= 4);
        let mut c1 = if narrow { zero } else { (wide >> 32).to(Dtype::U32) };
        let (mut c2, mut c3) = (zero, zero);
        for _ in 0..ROUNDS {
            let (old0, old2) = (c0, c2);
            c0 = old2.mul_high(MULTIPLIERS[1]) ^ c1 ^ k0;
            c2 = old0.mul_high(MULTIPLIERS[0]) ^ c3 ^ k1;
            c1 = old2 * MULTIPLIERS[1];
            c3 = old0 * MULTIPLIERS[0];
            k0 += KEY_STEPS[0];
            k1 += KEY_STEPS[1];
        }
        [c0, c1, c2, c3]
    }

    /// A random `f32` per offset, uniform in [0, 1): Triton's `tl.rand`.
    #[track_caller]
    pub fn rand<'k>(&'k self, seed: impl Operand<'k>, offsets: Tile<'k>) -> Tile<'k> {
        let [bits, ..] = self.random(seed, offsets);
        self.uniform(bits)
    }

    /// A random `f32` per offset, normal with mean 0 and deviation 1 (Box-Muller): Triton's `tl.randn`.
    #[track_caller]
    pub fn randn<'k>(&'k self, seed: impl Operand<'k>, offsets: Tile<'k>) -> Tile<'k> {
        let [first, second, ..] = self.random(seed, offsets);
        // Not 0, of which there is no logarithm.
        let first = self.uniform(first).maximum(1e-7);
        let angle = self.uniform(second) * std::f64::consts::TAU;
        (first.ln() * -2).sqrt() * angle.cos()
    }

    /// Random bits as a number in [0, 1).
    #[track_caller]
    fn uniform<'k>(&'k self, bits: Tile<'k>) -> Tile<'k> {
        let signed = bits.to(Dtype::I32);
        // A little under 2^-31, so that the largest integer, which rounds up to 2^31, stays below 1.
        self.where_(signed.lt(0), !signed, signed) * 4.656_612_734_2e-10
    }
}
