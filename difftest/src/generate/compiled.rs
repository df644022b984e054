//! What Triton's compiler turns into code for NVIDIA, of all that its dialects can say: its front end never writes the rest.
//!
//! Tried on Triton 3.6 and 3.9: what is left out here fails to be legalised, or trips an assertion in LLVM.

use tilescope_ir::{OpCode, Scalar, Type, ValueId};
use tilescope_launch::Role;

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

    /// True for numbers whose greatest may be looked for with its index. Of truth values not in Triton's code: ptxas 12.8, which
    /// 3.6 brings, loses a `not` where each thread of a scan meets its neighbour, and 12.9 does too.
    pub(super) fn takes_index(&self, numbers: Type) -> bool {
        !(self.compilable && super::scalar_of(numbers) == Some(Scalar::I1))
    }

    /// What lanes that a mask leaves out of a load are: of 8 or 16 bits not below zero. Where Triton 3.6 loads several at once, it extends a
    /// constant by its sign and then takes it for all of them, so that every lane but the first is -1.
    pub(super) fn packed_other(&mut self, other: ValueId) -> ValueId {
        let ty = self.b.ty(other);
        let most = match super::scalar_of(ty) {
            Some(Scalar::I8) if self.compilable => i64::from(i8::MAX),
            Some(Scalar::I16) if self.compilable => i64::from(i16::MAX),
            _ => return other,
        };
        let most = self.int(ty, most);
        self.b.elementwise(OpCode::AndI, &[other, most])
    }

    /// Sums for a product of integers to be added to: half of what they are, whatever that is. Triton's code saturates
    /// (`mma.sync ... .satfinite.s32.s8.s8.s32`), its interpreter and ours wrap around, and nothing says which it is.
    pub(super) fn far_from_ends(&mut self, sums: ValueId) -> ValueId {
        let one = self.int(self.b.ty(sums), 1);
        self.b.elementwise(OpCode::ShrSI, &[sums, one])
    }

    /// By how many columns a tensor that blocks are stored to is smaller than its rows are apart, where it would be by `columns`
    /// of so many bytes each: for Triton's code a multiple of 16 bytes. Cards store whole pieces of 16 bytes, so that what lies
    /// behind a row that ends within one is written over (Triton's issue 11583).
    pub(super) fn narrowed_by(&self, columns: i64, bytes: usize, role: Role) -> i64 {
        match self.compilable && role != Role::In {
            true => columns * 16 / bytes as i64,
            false => columns,
        }
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

    /// The operation that makes a value, the last of those lines that does: regions beside each other use the same names.
    fn maker<'a>(lines: &[&'a str], value: &str) -> &'a str {
        let start = format!("{} = ", value.trim());
        let mut lines = lines.iter().rev();
        lines.find_map(|line| line.trim().strip_prefix(&start)).unwrap()
    }

    /// The integer that a list of values has at a place.
    fn constant(lines: &[&str], list: &str, at: usize) -> i64 {
        let made = maker(lines, list.split(',').nth(at).unwrap());
        made.split(' ').nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn rows_that_are_stored_end_with_sixteen_bytes_and_sums_of_integers_stay_small() {
        let (mut stores, mut narrow, mut products) = (0, 0, 0);
        for seed in 0..400 {
            let text = tilescope_ir::text::print(&compilable(seed).unwrap().module);
            let lines: Vec<&str> = text.lines().collect();
            for (at, line) in lines.iter().enumerate() {
                let before = &lines[..at];
                if let Some((_, store)) = line.split_once("tt.descriptor_store ") {
                    let made = maker(before, store.split('[').next().unwrap());
                    let parts: Vec<&str> = made.split(['[', ']']).collect();
                    let columns = constant(before, parts[1], 1);
                    let apart = constant(before, parts[3], 0);
                    let elem = parts[4].split(['<', '>']).nth(1).unwrap();
                    let bits: i64 = elem.trim_start_matches(char::is_alphabetic).parse().unwrap();
                    assert_eq!(columns * bits % 128, 0, "seed {seed}: {made}");
                    stores += 1;
                    narrow += i64::from(columns < apart);
                }
                if let Some((_, product)) = line.split_once("tt.dot ").filter(|_| line.contains("xi8> *")) {
                    let sums = maker(before, product.split([',', ':']).nth(2).unwrap());
                    assert!(sums.starts_with("arith.shrsi"), "seed {seed}: {sums}");
                    products += 1;
                }
            }
        }
        assert!(
            stores > 20 && narrow > 5 && products > 2,
            "{stores} {narrow} {products}"
        );
    }
}
