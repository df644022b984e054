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
    OpCode::PowF,
    OpCode::Round,
    OpCode::RoundEven,
    OpCode::Tan,
    OpCode::Tanh,
    OpCode::Trunc,
    OpCode::AbsI,
    // Its code for it gives the elements in whatever order is cheapest; the front end asks for that leave.
    OpCode::Cat,
    // Newer than what people have, or for newer cards.
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
        }
        assert!(seen.len() > 70, "of the rest only {}", seen.len());
    }
}
