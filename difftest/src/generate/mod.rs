//! Random kernels from the op table, to run by every path there is.
//!
//! [`kernel`] makes a well-typed kernel and a launch of it from a seed; the same seed makes the same text. Programs are
//! free of faults by construction: addresses are within their tensor or masked off, divisors are not zero, shifts are
//! shorter than the width, floats that become integers are in range, loops end. Programs store to pieces of their own, or
//! by integer atomics that commute, so that their order does not matter. Whatever a path says of such a kernel, all
//! others must say too, and a finding of severity error is one too many.
//!
//! Kernels are not like an author's: they mix everything with everything. Tiles are small.
//!
//! An *exact* kernel leaves out what engines may round in their own way (elementary functions, sums of floats, matrix
//! products of floats), so that outputs can be compared bit for bit with those of another engine, NaN being NaN.

mod arith;
mod atomic;
mod compiled;
mod control;
mod descriptor;
mod dot;
mod draws;
mod memory;
mod pool;
mod reduce;
mod shape;
mod shrink;
mod spec;
mod table;

use std::collections::BTreeMap;

use tilescope_diagnostics::Result;
use tilescope_ir::build::FunctionBuilder;
use tilescope_ir::{Attrs, LocId, Module, OpCode, Scalar, Type, ValueId};

use draws::Draws;
pub use shrink::shrink;
pub use spec::{ScalarSpec, Spec, TensorSpec};
pub use table::NOT_GENERATED;

/// The name of every generated kernel.
pub const NAME: &str = "generated";

/// A kernel and its launch.
#[derive(Debug, Clone)]
pub struct Generated {
    /// The kernel, called [`NAME`], and functions that it calls; not verified yet.
    pub module: Module,
    /// Its launch.
    pub spec: Spec,
    /// True if engines must agree to the bit.
    pub exact: bool,
}

/// True for element-wise operations whose results engines may round in their own way.
pub fn is_rounded_freely(code: OpCode) -> bool {
    table::is_approximate(code) || arith::rounds_freely(code)
}

impl Generated {
    /// How often each operation stands in the kernel.
    pub fn operations(&self) -> BTreeMap<OpCode, u64> {
        let mut counts = BTreeMap::new();
        let functions = self.module.funcs.iter();
        for (_, op) in functions.flat_map(|(_, f)| f.ops.iter()) {
            *counts.entry(op.code).or_insert(0) += 1;
        }
        counts
    }
}

/// The kernel of a seed.
///
/// # Errors
/// Defects of the generator: what it builds does not fit.
pub fn kernel(seed: u64) -> Result<Generated> {
    some_kernel(seed, false)
}

/// The kernel of a seed among those that Triton's compiler turns into code, mostly.
///
/// # Errors
/// Defects of the generator: what it builds does not fit.
pub fn compilable(seed: u64) -> Result<Generated> {
    some_kernel(seed, true)
}

fn some_kernel(seed: u64, compilable: bool) -> Result<Generated> {
    let mut draw = Draws::new(seed);
    let exact = draw.percent(60);
    let size = [6, 12, 25, 50][draw.below(4)];
    let mut g = Generator::new(draw, exact, compilable);
    g.begin();
    g.fill(size);
    g.store_results();
    g.b.return_(&[]);
    let mut module = Module {
        loc: Some(LocId::unknown()),
        ..Module::default()
    };
    module.funcs.push(g.b.finish()?);
    for helper in g.helpers {
        module.funcs.push(helper.finish()?);
    }
    Ok(Generated {
        module,
        spec: g.spec,
        exact,
    })
}

/// A kernel that is being made.
struct Generator {
    b: FunctionBuilder,
    draw: Draws,
    spec: Spec,
    exact: bool,
    /// Only what Triton's compiler turns into code.
    compilable: bool,
    /// Values that may be used at the cursor.
    pool: Vec<ValueId>,
    /// How many makers call each other.
    depth: u32,
    /// How many regions the cursor is in.
    nesting: u32,
    /// Inside a region of a reduce, scan or map: numbers only, no memory.
    lanes_only: bool,
    /// Whether what is built runs in every program at least once.
    always: bool,
    /// The number of this program in the grid.
    program: Option<ValueId>,
    /// Functions that the kernel calls.
    helpers: Vec<FunctionBuilder>,
}

impl Generator {
    fn new(mut draw: Draws, exact: bool, compilable: bool) -> Generator {
        let grid = [1 + draw.below(5) as i64, 1 + draw.below(2) as i64];
        let spec = Spec {
            grid,
            seed: draw.next() >> 1,
            warps: [1, 1, 2, 4][draw.below(4)],
            tensors: Vec::new(),
            scalars: Vec::new(),
        };
        Generator {
            b: FunctionBuilder::new(NAME),
            draw,
            spec,
            exact,
            compilable,
            pool: Vec::new(),
            depth: 0,
            nesting: 0,
            lanes_only: false,
            always: true,
            program: None,
            helpers: Vec::new(),
        }
    }

    /// What every kernel begins with: the number of the program, and something to work on.
    fn begin(&mut self) {
        use tilescope_ir::attrs::Axis;
        let x = self.b.program_id(Axis::X);
        let y = self.b.program_id(Axis::Y);
        let columns = self.b.num_programs(Axis::X);
        let above = self.b.elementwise(OpCode::MulI, &[y, columns]);
        let program = self.b.elementwise(OpCode::AddI, &[above, x]);
        self.program = Some(program);
        self.pool.extend([x, y, program]);
        for _ in 0..2 {
            let ty = self.some_tile(is_any);
            self.load_of(ty);
        }
    }

    /// Makes so many operations of the table, each with what it needs.
    fn fill(&mut self, count: usize) {
        for _ in 0..count {
            let code = match self.draw.percent(35) {
                true => self.draw.one(OFTEN),
                false => self.draw.one(OpCode::ALL),
            };
            if let Some(&code) = code.filter(|&&code| self.takes(code)) {
                self.make(code);
            }
        }
    }

    /// An attribute-free operation whose result is kept for others to use.
    fn kept(&mut self, code: OpCode, operands: &[ValueId], attrs: Attrs, ty: Type) -> ValueId {
        let value = self.b.value(code, operands, attrs, ty);
        self.keep(value)
    }

    /// Programs in the grid.
    fn programs(&self) -> i64 {
        self.spec.grid.iter().product()
    }

    /// True where loads and stores may stand.
    fn has_memory(&self) -> bool {
        !self.lanes_only && self.program.is_some()
    }
}

/// Operations that make kernels interesting and would be rare among all those of the table.
const OFTEN: &[OpCode] = &[
    OpCode::Load,
    OpCode::Load,
    OpCode::Store,
    OpCode::For,
    OpCode::If,
    OpCode::While,
    OpCode::CondBr,
    OpCode::Call,
    OpCode::AtomicRmw,
    OpCode::Reduce,
    OpCode::Scan,
    OpCode::Select,
    OpCode::CmpI,
    OpCode::CmpF,
    OpCode::Broadcast,
    OpCode::ExpandDims,
    OpCode::Trans,
    OpCode::Reshape,
    OpCode::AddI,
    OpCode::MulI,
    OpCode::AddF,
    OpCode::MulF,
    OpCode::Fma,
    OpCode::FpToFp,
    OpCode::SiToFp,
    OpCode::FpToSi,
];

/// Integers that arithmetic is done in.
const INTS: &[Scalar] = &[Scalar::I8, Scalar::I16, Scalar::I32, Scalar::I32, Scalar::I64];

/// Floats that arithmetic is done in.
const FLOATS: &[Scalar] = &[Scalar::F32, Scalar::F32, Scalar::F16, Scalar::BF16, Scalar::F64];

/// Floats that are only converted and moved.
const SMALL_FLOATS: &[Scalar] = &[Scalar::F8E4M3FN, Scalar::F8E5M2];

fn is_int(s: Scalar) -> bool {
    INTS.contains(&s)
}

fn is_int_or_truth(s: Scalar) -> bool {
    s == Scalar::I1 || is_int(s)
}

fn is_float(s: Scalar) -> bool {
    FLOATS.contains(&s)
}

fn is_any_float(s: Scalar) -> bool {
    is_float(s) || SMALL_FLOATS.contains(&s)
}

fn is_any(s: Scalar) -> bool {
    is_int_or_truth(s) || is_any_float(s)
}

/// The number type of a value's lanes.
fn scalar_of(ty: Type) -> Option<Scalar> {
    ty.elem().and_then(|e| e.scalar())
}
