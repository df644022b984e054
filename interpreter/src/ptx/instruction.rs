//! Instructions, ready to run, and how one is made from its mnemonic.

use super::BLOCK;
use super::{convert, float, integer};

/// What an instruction computes from its sources (as many as it has; the rest are 0).
pub type Compute = Box<dyn Fn([u64; 4]) -> u64 + Send + Sync>;

/// Where a source comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// A register.
    Register(usize),
    /// A constant.
    Bits(u64),
}

/// One instruction: a target register, sources, and maybe a predicate register with the value at which it
/// runs.
pub struct Instruction {
    pub target: usize,
    pub sources: Vec<Source>,
    pub guard: Option<(usize, bool)>,
    pub compute: Compute,
}

impl std::fmt::Debug for Instruction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} <- {:?} if {:?}", self.target, self.sources, self.guard)
    }
}

impl Instruction {
    /// Runs it on the first `runs` sets of registers.
    pub fn run(&self, values: &mut [[u64; BLOCK]], runs: usize) {
        let mut out = [0; BLOCK];
        for (run, out) in out.iter_mut().enumerate().take(runs) {
            let mut sources = [0; 4];
            for (to, source) in sources.iter_mut().zip(&self.sources) {
                *to = match *source {
                    Source::Register(register) => values[register][run],
                    Source::Bits(bits) => bits,
                };
            }
            let runs = self
                .guard
                .is_none_or(|(register, wanted)| (values[register][run] != 0) == wanted);
            *out = if runs {
                (self.compute)(sources)
            } else {
                values[self.target][run]
            };
        }
        values[self.target] = out;
    }
}

/// The type of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    Pred,
    Bits(u32),
    Unsigned(u32),
    Signed(u32),
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Tf32,
    E4m3x2,
    E5m2x2,
    E2m1x2,
    Ue8m0x2,
}

impl Type {
    pub fn parse(word: &str) -> Option<Type> {
        Some(match word {
            "pred" => Type::Pred,
            "b8" => Type::Bits(8),
            "b16" => Type::Bits(16),
            "b32" => Type::Bits(32),
            "b64" => Type::Bits(64),
            "u8" => Type::Unsigned(8),
            "u16" => Type::Unsigned(16),
            "u32" => Type::Unsigned(32),
            "u64" => Type::Unsigned(64),
            "s8" => Type::Signed(8),
            "s16" => Type::Signed(16),
            "s32" => Type::Signed(32),
            "s64" => Type::Signed(64),
            "f16" => Type::F16,
            "f16x2" => Type::F16x2,
            "bf16" => Type::Bf16,
            "bf16x2" => Type::Bf16x2,
            "f32" => Type::F32,
            "f64" => Type::F64,
            "tf32" => Type::Tf32,
            "e4m3x2" => Type::E4m3x2,
            "e5m2x2" => Type::E5m2x2,
            "e2m1x2" => Type::E2m1x2,
            "ue8m0x2" => Type::Ue8m0x2,
            _ => return None,
        })
    }

    /// Width in bits.
    pub fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::Bits(n) | Type::Unsigned(n) | Type::Signed(n) => n,
            Type::E2m1x2 => 8,
            Type::F16 | Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 | Type::Ue8m0x2 => 16,
            Type::F16x2 | Type::Bf16x2 | Type::F32 | Type::Tf32 => 32,
            Type::F64 => 64,
        }
    }

    /// The bits of a value of this type, upper ones cleared.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }
}

/// A mnemonic being understood: what follows its first word. Every modifier must be taken by someone.
#[derive(Debug)]
pub struct Mnemonic<'a> {
    text: &'a str,
    pub name: &'a str,
    modifiers: Vec<&'a str>,
    pub types: Vec<Type>,
}

impl<'a> Mnemonic<'a> {
    pub fn parse(text: &'a str) -> Mnemonic<'a> {
        let mut words = text.split('.');
        let name = words.next().unwrap_or_default();
        let mut types = Vec::new();
        let mut modifiers = Vec::new();
        for word in words {
            match Type::parse(word) {
                Some(ty) => types.push(ty),
                None => modifiers.push(word),
            }
        }
        Mnemonic {
            text,
            name,
            modifiers,
            types,
        }
    }

    /// Takes a modifier, if it is there.
    pub fn take(&mut self, modifier: &str) -> bool {
        let at = self.modifiers.iter().position(|&m| m == modifier);
        at.map(|at| self.modifiers.remove(at)).is_some()
    }

    /// Takes the first of some modifiers that is there.
    pub fn take_of(&mut self, modifiers: &[&'static str]) -> Option<&'static str> {
        modifiers.iter().find(|&&m| self.take(m)).copied()
    }

    /// The only type.
    pub fn only_type(&self) -> Result<Type, String> {
        match self.types[..] {
            [ty] => Ok(ty),
            _ => Err(self.refused()),
        }
    }

    /// That it is not covered.
    pub fn refused(&self) -> String {
        format!("`{}` is not run", self.text)
    }
}

/// What an instruction is made into: the types of its sources, and the computation.
pub struct Made {
    pub sources: Vec<Type>,
    pub compute: Compute,
}

impl Made {
    pub fn new(sources: Vec<Type>, compute: impl Fn([u64; 4]) -> u64 + Send + Sync + 'static) -> Made {
        Made {
            sources,
            compute: Box::new(compute),
        }
    }
}

/// Makes an instruction with `sources` source operands.
pub fn make(mut mnemonic: Mnemonic<'_>, sources: usize) -> Result<Made, String> {
    let m = &mut mnemonic;
    let made = match m.name {
        "cvt" => convert::make(m, sources)?,
        "mov" | "selp" | "prmt" | "and" | "or" | "xor" | "not" | "lop3" | "shl" | "shr" | "shf" | "bfe"
        | "bfi" | "popc" | "clz" | "brev" => integer::make_bits(m)?,
        "setp" => match m.types.last() {
            Some(Type::Bits(_) | Type::Unsigned(_) | Type::Signed(_)) => integer::make_setp(m)?,
            _ => float::make_setp(m)?,
        },
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "rem" | "min" | "max" | "neg" | "abs" | "rcp"
        | "sqrt" | "rsqrt" | "ex2" | "lg2" | "sin" | "cos" | "tanh" => match m.types.first() {
            Some(Type::Bits(_) | Type::Unsigned(_) | Type::Signed(_)) => integer::make(m)?,
            _ => float::make(m)?,
        },
        _ => return Err(m.refused()),
    };
    if !m.modifiers.is_empty() {
        return Err(m.refused());
    }
    if made.sources.len() != sources {
        return Err(format!(
            "`{}` takes {} sources, not {sources}",
            m.text,
            made.sources.len()
        ));
    }
    Ok(made)
}
