//! What Triton's compiler turns into code for NVIDIA, of all that its dialects can say: its front end never writes the rest.
//!
//! Tried on Triton 3.6 and 3.9: what is left out here fails to be legalised, or trips an assertion in LLVM.

use tilescope_ir::{OpCode, Scalar};

use super::{Generator, is_float};

/// Operations that its front end does not write, or that need more than a text says.
const LEFT_OUT: &[OpCode] = &[
    // Of MLIR's dialects, without a lowering.
    OpCode::ArithBitcast,
    OpCode::Atan,
    OpCode::Atan2,
    OpCode::CeilDivSI,
    OpCode::CeilDivUI,
    OpCode::CopySign,
    OpCode::CtLz,
    OpCode::CtPop,
    OpCode::CtTz,
    OpCode::ExpM1,
    OpCode::FloorDivSI,
    OpCode::IndexCast,
    OpCode::IndexCastUi,
    OpCode::Log10,
    OpCode::Log1p,
    OpCode::NegF,
    OpCode::PowF,
    OpCode::Round,
    OpCode::RoundEven,
    OpCode::Tan,
    OpCode::Tanh,
    OpCode::Trunc,
    OpCode::AbsI,
    // The order of its lanes is not said: every thread puts those that it holds of the second tile behind those of the first, so
    // that with a lane per thread they alternate. Its front end refuses `tl.cat` that may not change the order, or writes `tt.join`.
    OpCode::Cat,
    // Newer than what people have (3.6 does not know them, 3.9 does), or for newer cards.
    OpCode::ApproxDivF,
    OpCode::Barrier,
    OpCode::GridWait,
    OpCode::GridLaunchDependents,
    OpCode::AtomicLoad,
    OpCode::AtomicStore,
    OpCode::AtomicPoll,
    OpCode::DescriptorGather,
    OpCode::DescriptorScatter,
    OpCode::DescriptorReduce,
    // Its passes do not always end where tiles change places on the way round, or meet behind a jump.
    OpCode::CondBr,
    OpCode::While,
    // Calls are inlined, which wants locations.
    OpCode::Call,
];

impl Generator {
    /// True for operations that may stand in this kernel.
    pub(super) fn takes(&self, code: OpCode) -> bool {
        !self.compilable || !LEFT_OUT.contains(&code)
    }

    /// True for conversions that may stand in this kernel.
    pub(super) fn takes_cast(&self, code: OpCode, from: Scalar, to: Scalar) -> bool {
        // A truth value is converted without a sign; with one, the LLVM of Triton 3.6 makes 1 of it in bf16, and -1 in the rest.
        let signed_truth = code == OpCode::SiToFp && from == Scalar::I1;
        // Wider floats are written `arith.extf`; its code for the other goes by way of f16, which it cannot from bf16.
        let by_f16 = code == OpCode::FpToFp && from == Scalar::BF16 && to == Scalar::F32;
        self.takes_type(from) && self.takes_type(to) && !(self.compilable && (signed_truth || by_f16))
    }

    /// True for operations that Triton's front end writes in f32 alone, whatever its operands are.
    pub(super) fn in_f32_only(&self, code: OpCode) -> bool {
        self.compilable && matches!(code, OpCode::DivF | OpCode::PreciseDivF | OpCode::PreciseSqrt)
    }

    /// True for number types that may stand in this kernel.
    pub(super) fn takes_type(&self, scalar: Scalar) -> bool {
        !self.compilable || is_float(scalar) && scalar != Scalar::F64 || super::is_int_or_truth(scalar)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::compilable;

    #[test]
    fn what_is_left_out_is_not_made() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..120 {
            let generated = compilable(seed).unwrap();
            for (code, _) in generated.operations() {
                assert!(!LEFT_OUT.contains(&code), "seed {seed} has {code}");
                seen.insert(code);
            }
            let text = tilescope_ir::text::print(&generated.module);
            for ty in ["f64", "f8E", "!tt.ptr<i1>"] {
                assert!(!text.contains(ty), "seed {seed} has {ty}");
            }
            let mut conversions = text.lines().filter(|line| line.contains("arith.sitofp"));
            let signed_truth = conversions.find(|line| line.contains("i1 to") || line.contains("xi1> to"));
            assert_eq!(signed_truth, None, "seed {seed}");
        }
        assert!(seen.len() > 70, "of the rest only {}", seen.len());
    }

    /// Seed 1538 adds f64 atomically where it may, and what comes of that was converted without an end.
    #[test]
    fn kernels_are_made_in_little_stack() {
        let made = std::thread::Builder::new().stack_size(512 << 10).spawn(|| {
            for seed in 1500..1600 {
                let text = tilescope_ir::text::print(&compilable(seed).unwrap().module);
                assert!(!text.contains("f64"), "seed {seed}");
            }
        });
        made.unwrap().join().unwrap();
    }
}
