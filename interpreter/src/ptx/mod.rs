//! A small part of PTX: the pieces of inline assembly that kernels use to compute with lanes.
//!
//! A text is straight-line code on registers: a few instructions, guarded by predicates or not. It is parsed
//! once ([`Program::parse`]) and run on many lanes ([`Program::run`]). Semantics are those of NVIDIA's *PTX
//! ISA*; `.ftz` flushes as written, everything else keeps subnormals. Instructions that a GPU approximates
//! (`.approx`) are computed as exactly as the same functions elsewhere here.
//!
//! | covered | instructions |
//! |---|---|
//! | moves | `mov`, packing and unpacking `{a, b}` included; `selp`, `prmt` (default mode) |
//! | f32, f64, f16, bf16, f16x2, bf16x2 | `add sub mul fma mad div min max neg abs`, `rcp sqrt rsqrt ex2 lg2 sin cos tanh`; `.rn .approx .full .ftz .sat .relu .NaN .xorsign.abs` |
//! | integers of 16, 32, 64 bits | `add sub mul mad div rem min max neg abs`, `.lo .hi .wide` |
//! | bits | `and or xor not lop3 shl shr shf bfe bfi popc clz brev` |
//! | predicates | `setp` with one comparison, guards `@p` and `@!p` |
//! | `cvt` | between integers; integers and floats; f16, bf16, f32, f64; f32 to tf32; two f32 to f16x2, bf16x2, e4m3x2, e5m2x2, e2m1x2; between f16x2 and e4m3x2, e5m2x2, e2m1x2; ue8m0x2 to bf16x2 |
//! | without effect | `bar.sync`, `barrier.sync`, `bar.warp.sync`, `griddepcontrol`, `membar`, `fence` |
//!
//! Not covered, and refused by name: memory (`ld st atom red cp multimem`), jumps and labels, special
//! registers (`%tid`, `%smid`, `%globaltimer`), vote and shuffle, carries, directed roundings of arithmetic,
//! assembly of other GPUs.

mod convert;
mod float;
mod instruction;
mod integer;
mod parse;

use instruction::Instruction;

/// Sets of registers that are run at a time.
const BLOCK: usize = 64;

/// A parsed text.
#[derive(Debug)]
pub struct Program {
    instructions: Vec<Instruction>,
    registers: usize,
}

/// The registers of up to [`Program::BLOCK`] runs: `values[register][run]`, zero-extended bits.
#[derive(Debug)]
pub struct Registers {
    values: Vec<[u64; BLOCK]>,
}

impl Registers {
    /// The values of one register.
    pub fn values(&mut self, register: usize) -> Option<&mut [u64; BLOCK]> {
        self.values.get_mut(register)
    }

    /// The bits of a register in one run; 0 for a register or run that is not there.
    pub fn bits(&self, register: usize, run: usize) -> u64 {
        self.values
            .get(register)
            .and_then(|values| values.get(run))
            .copied()
            .unwrap_or(0)
    }
}

impl Program {
    /// Runs at a time.
    pub const BLOCK: usize = BLOCK;

    /// Parses a text with operands `$0` to `$operands - 1`.
    ///
    /// # Errors
    /// What is not covered, by name, or not understood.
    pub fn parse(text: &str, operands: usize) -> Result<Program, String> {
        parse::parse(text, operands)
    }

    /// Registers, all zero.
    pub fn registers(&self) -> Registers {
        Registers {
            values: vec![[0; BLOCK]; self.registers],
        }
    }

    /// Runs the text on the first `runs` sets of registers.
    pub fn run(&self, registers: &mut Registers, runs: usize) {
        for instruction in &self.instructions {
            instruction.run(&mut registers.values, runs.min(BLOCK));
        }
    }
}
