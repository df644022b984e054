//! GPUs that a launch can be meant for (`--target`), and what each of them takes.
//!
//! A new GPU is a row of [`TARGETS`]; what is refused there is told by the rules of
//! [`crate::checks::target_limit`]. Numbers are those of the CUDA programming guide's table of technical
//! specifications per compute capability; what Triton refuses was seen by compiling for each of them with Triton 3.9.
//!
//! Left out, because they cannot be said exactly without Triton's compiler: registers and shared memory.

use std::fmt;

/// A GPU, as far as launches can be refused by it.
#[derive(Debug, PartialEq, Eq)]
pub struct Target {
    /// As nvcc spells it.
    pub name: &'static str,
    /// Compute capability times ten.
    pub capability: u32,
    /// Most programs along x, y and z.
    pub grid: [u64; 3],
    /// Most threads of a program.
    pub threads: u32,
    /// Triton has the type fp8e4nv.
    pub fp8e4nv: bool,
    /// What descriptors become.
    pub descriptors: Descriptors,
}

/// How blocks are read and written through tensor descriptors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Descriptors {
    /// By ordinary loads and stores: Triton rewrites them.
    Rewritten,
    /// By the tensor memory accelerator, but for gather and scatter, which do not compile.
    Blocks,
    /// By the tensor memory accelerator, gather and scatter as well.
    BlocksAndRows,
}

const fn target(name: &'static str, capability: u32, fp8e4nv: bool, descriptors: Descriptors) -> Target {
    Target {
        name,
        capability,
        grid: [(1 << 31) - 1, 65_535, 65_535],
        threads: 1024,
        fp8e4nv,
        descriptors,
    }
}

/// All of them.
pub const TARGETS: &[Target] = &[
    target("sm_80", 80, false, Descriptors::Rewritten),
    target("sm_86", 86, false, Descriptors::Rewritten),
    target("sm_89", 89, true, Descriptors::Rewritten),
    target("sm_90", 90, true, Descriptors::Blocks),
    target("sm_100", 100, true, Descriptors::BlocksAndRows),
    target("sm_120", 120, true, Descriptors::BlocksAndRows),
];

impl Target {
    /// The target of a name; the suffixes of architecture-specific code (`sm_90a`) change nothing.
    pub fn named(name: &str) -> Option<&'static Target> {
        let plain = name.strip_suffix(['a', 'f']).unwrap_or(name);
        TARGETS.iter().find(|target| target.name == plain)
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
