//! The op table: every operation of the tile IR, one row each.
//!
//! The table is data. It drives the reader, the printer, the verifier, the interpreter, the code
//! generator and the documentation. [`op_table!`](crate::op_table) hands it to a macro of the
//! consumer's, in two sections:
//!
//! - `elementwise`: operations that compute each lane alone from lanes of one type. A row is all
//!   there is to such an operation: mnemonic, class, lane expression (Rust), CUDA expression, one doc
//!   line. Lane expressions name functions of the interpreter's number traits: `Signless` (as methods),
//!   `Arithmetic` and `Elementary`.
//! - `structured`: all others: method name, family, effect, then the operations that share the
//!   method. Whoever consumes the IR implements [`OpVisitor`], which has one method per row, so a
//!   missing one does not compile.

/// Calls `$then!` with the whole table.
///
/// Element-wise rows (functions of CUDA expressions are those of the GPU backend's header, `tilescope.cuh`): `Variant "mnemonic" class (operands) lane-expression, "CUDA expression", "doc";`
/// with the classes `int1 int2` (integers to the same type) and `float1 float2 float3` (floats).
///
/// Structured rows: `method family effect: Variant "mnemonic" "doc", ...;` with the effects `pure`,
/// `read` and `write` memory, `sync` (both, and order), `control` (region or branch structure) and
/// `effect` (visible otherwise: prints, asserts).
#[macro_export]
macro_rules! op_table {
    ($then:ident) => {
        $then! {
            elementwise {
                AddI "arith.addi" int2 (a, b) a.add(b), "add(a, b)", "Integer addition; wraps around.";
                SubI "arith.subi" int2 (a, b) a.sub(b), "sub(a, b)", "Integer subtraction; wraps around.";
                MulI "arith.muli" int2 (a, b) a.mul(b), "mul(a, b)", "Integer multiplication; wraps around.";
                MulHiUI "tt.mulhiui" int2 (a, b) a.mul_high_unsigned(b), "mulhi_unsigned(a, b)", "Upper half of the unsigned product.";
                DivSI "arith.divsi" int2 (a, b) a.div_signed(b), "div_signed(a, b)", "Signed division toward zero.";
                DivUI "arith.divui" int2 (a, b) a.div_unsigned(b), "div_unsigned(a, b)", "Unsigned division.";
                RemSI "arith.remsi" int2 (a, b) a.rem_signed(b), "rem_signed(a, b)", "Signed remainder, sign of the dividend.";
                RemUI "arith.remui" int2 (a, b) a.rem_unsigned(b), "rem_unsigned(a, b)", "Unsigned remainder.";
                CeilDivSI "arith.ceildivsi" int2 (a, b) a.ceil_div_signed(b), "ceil_div_signed(a, b)", "Signed division toward plus infinity.";
                CeilDivUI "arith.ceildivui" int2 (a, b) a.ceil_div_unsigned(b), "ceil_div_unsigned(a, b)", "Unsigned division, rounded up.";
                FloorDivSI "arith.floordivsi" int2 (a, b) a.floor_div_signed(b), "floor_div_signed(a, b)", "Signed division toward minus infinity.";
                AndI "arith.andi" int2 (a, b) a.and(b), "a & b", "Bitwise and.";
                OrI "arith.ori" int2 (a, b) a.or(b), "a | b", "Bitwise or.";
                XorI "arith.xori" int2 (a, b) a.xor(b), "a ^ b", "Bitwise exclusive or.";
                ShlI "arith.shli" int2 (a, b) a.shl(b), "shl(a, b)", "Shift left; by the width or more gives 0.";
                ShrSI "arith.shrsi" int2 (a, b) a.shr_signed(b), "shr_signed(a, b)", "Shift right copying the sign.";
                ShrUI "arith.shrui" int2 (a, b) a.shr_unsigned(b), "shr_unsigned(a, b)", "Shift right; by the width or more gives 0.";
                MinSI "arith.minsi" int2 (a, b) a.min_signed(b), "min_signed(a, b)", "Signed minimum.";
                MaxSI "arith.maxsi" int2 (a, b) a.max_signed(b), "max_signed(a, b)", "Signed maximum.";
                MinUI "arith.minui" int2 (a, b) a.min_unsigned(b), "min_unsigned(a, b)", "Unsigned minimum.";
                MaxUI "arith.maxui" int2 (a, b) a.max_unsigned(b), "max_unsigned(a, b)", "Unsigned maximum.";
                AbsI "math.absi" int1 (a) a.abs_signed(), "abs_signed(a)", "Absolute value; the smallest integer stays.";
                CtPop "math.ctpop" int1 (a) a.count_ones(), "count_ones(a)", "Number of one bits.";
                CtLz "math.ctlz" int1 (a) a.leading_zeros(), "leading_zeros(a)", "Number of leading zero bits.";
                CtTz "math.cttz" int1 (a) a.trailing_zeros(), "trailing_zeros(a)", "Number of trailing zero bits.";

                AddF "arith.addf" float2 (a, b) Arithmetic::add(a, b), "a + b", "Float addition.";
                SubF "arith.subf" float2 (a, b) Arithmetic::sub(a, b), "a - b", "Float subtraction.";
                MulF "arith.mulf" float2 (a, b) Arithmetic::mul(a, b), "a * b", "Float multiplication.";
                DivF "arith.divf" float2 (a, b) Arithmetic::div(a, b), "div(a, b)", "Float division, correctly rounded here.";
                ApproxDivF "tt.approx_divf" float2 (a, b) Arithmetic::div(a, b), "div(a, b)", "Float division that a GPU approximates; correctly rounded here.";
                PreciseDivF "tt.precise_divf" float2 (a, b) Arithmetic::div(a, b), "div_rn(a, b)", "Float division, correctly rounded.";
                RemF "arith.remf" float2 (a, b) Arithmetic::rem(a, b), "rem(a, b)", "Float remainder, sign of the dividend; exact.";
                NegF "arith.negf" float1 (a) Arithmetic::neg(a), "-a", "Negation; flips the sign of NaN too.";
                MinimumF "arith.minimumf" float2 (a, b) Arithmetic::minimum(a, b), "minimum(a, b)", "Minimum; NaN if an operand is NaN.";
                MaximumF "arith.maximumf" float2 (a, b) Arithmetic::maximum(a, b), "maximum(a, b)", "Maximum; NaN if an operand is NaN.";
                MinNumF "arith.minnumf" float2 (a, b) Arithmetic::minnum(a, b), "minnum(a, b)", "Minimum; drops NaN.";
                MaxNumF "arith.maxnumf" float2 (a, b) Arithmetic::maxnum(a, b), "maxnum(a, b)", "Maximum; drops NaN.";
                AbsF "math.absf" float1 (a) Arithmetic::abs(a), "abs(a)", "Absolute value.";
                CopySign "math.copysign" float2 (a, b) Arithmetic::copysign(a, b), "copysign(a, b)", "Magnitude of the first, sign of the second.";
                Fma "math.fma" float3 (a, b, c) Arithmetic::fma(a, b, c), "fma(a, b, c)", "a * b + c, rounded once.";
                Exp "math.exp" float1 (a) Elementary::exp(a), "exp(a)", "Exponential.";
                Exp2 "math.exp2" float1 (a) Elementary::exp2(a), "exp2(a)", "Two to a power.";
                ExpM1 "math.expm1" float1 (a) Elementary::expm1(a), "expm1(a)", "Exponential minus one.";
                Log "math.log" float1 (a) Elementary::log(a), "log(a)", "Natural logarithm.";
                Log2 "math.log2" float1 (a) Elementary::log2(a), "log2(a)", "Logarithm to base two.";
                Log10 "math.log10" float1 (a) Elementary::log10(a), "log10(a)", "Logarithm to base ten.";
                Log1p "math.log1p" float1 (a) Elementary::log1p(a), "log1p(a)", "Logarithm of one plus the operand.";
                Sqrt "math.sqrt" float1 (a) Arithmetic::sqrt(a), "sqrt(a)", "Square root, correctly rounded here.";
                PreciseSqrt "tt.precise_sqrt" float1 (a) Arithmetic::sqrt(a), "sqrt_rn(a)", "Square root, correctly rounded.";
                Rsqrt "math.rsqrt" float1 (a) Elementary::rsqrt(a), "rsqrt(a)", "One over the square root.";
                Sin "math.sin" float1 (a) Elementary::sin(a), "sin(a)", "Sine.";
                Cos "math.cos" float1 (a) Elementary::cos(a), "cos(a)", "Cosine.";
                Tan "math.tan" float1 (a) Elementary::tan(a), "tan(a)", "Tangent.";
                Tanh "math.tanh" float1 (a) Elementary::tanh(a), "tanh(a)", "Hyperbolic tangent.";
                Atan "math.atan" float1 (a) Elementary::atan(a), "atan(a)", "Inverse tangent.";
                Atan2 "math.atan2" float2 (a, b) Elementary::atan2(a, b), "atan2(a, b)", "Angle of the point (b, a).";
                PowF "math.powf" float2 (a, b) Elementary::pow(a, b), "pow(a, b)", "Power.";
                Erf "math.erf" float1 (a) Elementary::erf(a), "erf(a)", "Error function.";
                Floor "math.floor" float1 (a) Arithmetic::floor(a), "floor(a)", "Largest integer not above.";
                Ceil "math.ceil" float1 (a) Arithmetic::ceil(a), "ceil(a)", "Smallest integer not below.";
                Trunc "math.trunc" float1 (a) Arithmetic::trunc(a), "trunc(a)", "Toward zero.";
                Round "math.round" float1 (a) Arithmetic::round(a), "round(a)", "To nearest, ties away from zero.";
                RoundEven "math.roundeven" float1 (a) Arithmetic::round_even(a), "round_even(a)", "To nearest, ties to even.";
            }
            structured {
                constant arith pure: Constant "arith.constant" "A constant.";
                poison arith pure: Poison "ub.poison" "A value without meaning.";
                cmp_int compare pure: CmpI "arith.cmpi" "Integer comparison.";
                cmp_float compare pure: CmpF "arith.cmpf" "Float comparison.";
                select compare pure: Select "arith.select" "Lane by lane one of two values.";
                clamp compare pure: ClampF "tt.clampf" "Float clamp between two bounds.";
                cast cast pure:
                    ExtSI "arith.extsi" "Sign extension.",
                    ExtUI "arith.extui" "Zero extension.",
                    TruncI "arith.trunci" "Integer truncation.",
                    ExtF "arith.extf" "Float to a wider type, exact.",
                    TruncF "arith.truncf" "Float to a narrower type, nearest even.",
                    SiToFp "arith.sitofp" "Signed integer to float.",
                    UiToFp "arith.uitofp" "Unsigned integer to float.",
                    FpToSi "arith.fptosi" "Float to signed integer.",
                    FpToUi "arith.fptoui" "Float to unsigned integer.",
                    ArithBitcast "arith.bitcast" "Same bits, other type.",
                    IndexCast "arith.index_cast" "Between index and integer, signed.",
                    IndexCastUi "arith.index_castui" "Between index and integer, unsigned.",
                    FpToFp "tt.fp_to_fp" "Float to float with a rounding mode; fp8 included.",
                    Bitcast "tt.bitcast" "Same bits, other type; pointers too.",
                    IntToPtr "tt.int_to_ptr" "Integer to pointer.",
                    PtrToInt "tt.ptr_to_int" "Pointer to integer.";
                make_range shape pure: MakeRange "tt.make_range" "Consecutive integers.";
                splat shape pure: Splat "tt.splat" "One value in all lanes.";
                unsplat shape pure: Unsplat "tt.unsplat" "The value of a one-element tile.";
                broadcast shape pure: Broadcast "tt.broadcast" "Dimensions of size one repeated.";
                expand_dims shape pure: ExpandDims "tt.expand_dims" "A dimension of size one put in.";
                reshape shape pure: Reshape "tt.reshape" "Another shape of the same elements.";
                trans shape pure: Trans "tt.trans" "Dimensions permuted.";
                join shape pure: Join "tt.join" "Two tiles along a new last dimension of two.";
                split shape pure: Split "tt.split" "The two halves of a last dimension of two.";
                cat shape pure: Cat "tt.cat" "Two one-dimensional tiles, one after the other here; no order is promised, and on a GPU their elements mostly alternate.";
                program_id control pure: GetProgramId "tt.get_program_id" "This program's index along an axis of the grid.";
                num_programs control pure: GetNumPrograms "tt.get_num_programs" "The size of the grid along an axis.";
                add_ptr memory pure: AddPtr "tt.addptr" "Pointer plus an offset in elements.";
                load memory read: Load "tt.load" "Reads through pointers, lane by lane under a mask.";
                store memory write: Store "tt.store" "Writes through pointers, lane by lane under a mask.";
                make_tensor_ptr memory pure: MakeTensorPtr "tt.make_tensor_ptr" "A block pointer (up to Triton 3.6).";
                advance memory pure: Advance "tt.advance" "A block pointer moved by offsets.";
                make_tensor_descriptor memory pure: MakeTensorDescriptor "tt.make_tensor_descriptor" "A tensor descriptor made in the kernel.";
                descriptor_load memory read: DescriptorLoad "tt.descriptor_load" "Reads a block through a descriptor.";
                descriptor_store memory write: DescriptorStore "tt.descriptor_store" "Writes a block through a descriptor.";
                descriptor_gather memory read: DescriptorGather "tt.descriptor_gather" "Reads chosen rows through a descriptor.";
                descriptor_scatter memory write: DescriptorScatter "tt.descriptor_scatter" "Writes chosen rows through a descriptor.";
                descriptor_reduce memory sync: DescriptorReduce "tt.descriptor_reduce" "Combines a block into memory through a descriptor.";
                atomic_rmw atomic sync: AtomicRmw "tt.atomic_rmw" "Reads, combines and writes in one step; gives the old value.";
                atomic_cas atomic sync: AtomicCas "tt.atomic_cas" "Writes if the old value is as expected; gives the old value.";
                atomic_load atomic sync: AtomicLoad "tt.atomic_load" "Reads in one step.";
                atomic_store atomic sync: AtomicStore "tt.atomic_store" "Writes in one step.";
                atomic_poll atomic sync: AtomicPoll "tt.atomic_poll" "Waits until memory holds a value.";
                reduce reduce pure: Reduce "tt.reduce" "A dimension combined away by a region.";
                region_return reduce control:
                    ReduceReturn "tt.reduce.return" "Ends the region of a reduce.",
                    ScanReturn "tt.scan.return" "Ends the region of a scan.",
                    MapReturn "tt.map_elementwise.return" "Ends the region of a map.";
                scan reduce pure: Scan "tt.scan" "Running combination along a dimension.";
                map_elementwise reduce pure: MapElementwise "tt.map_elementwise" "A region applied to each lane, control flow allowed.";
                gather shape pure: Gather "tt.gather" "Elements picked along a dimension by index.";
                histogram reduce pure: Histogram "tt.histogram" "Counts of small integers.";
                dot dot pure: Dot "tt.dot" "Matrix product plus accumulator.";
                dot_scaled dot pure: DotScaled "tt.dot_scaled" "Matrix product of block-scaled operands.";
                extern_elementwise math pure: ExternElementwise "tt.extern_elementwise" "A library function by symbol name.";
                inline_asm math pure: InlineAsm "tt.elementwise_inline_asm" "PTX text applied to lanes.";
                call control control: Call "tt.call" "A call of a function of the module.";
                return_ control control: Return "tt.return" "Ends a function.";
                for_ control control: For "scf.for" "A counted loop with carried values.";
                if_ control control: If "scf.if" "One of two regions.";
                while_ control control: While "scf.while" "A loop with its condition in a region of its own.";
                yield_ control control: Yield "scf.yield" "Ends a region of scf with its values.";
                condition control control: Condition "scf.condition" "Ends the condition region of a while loop.";
                br control control: Br "cf.br" "Jump to a block.";
                cond_br control control: CondBr "cf.cond_br" "Jump to one of two blocks.";
                assert control effect:
                    Assert "tt.assert" "Fails if a lane is false.",
                    CfAssert "cf.assert" "Fails if false.";
                assume control effect: Assume "llvm.intr.assume" "A promise to the compiler.";
                print control effect: Print "tt.print" "Prints values.";
                barrier control sync:
                    Barrier "ttg.barrier" "Barrier of the program's threads.",
                    GpuBarrier "gpu.barrier" "Barrier of the program's threads.";
                grid_dependency control sync:
                    GridWait "tt.grid_dependency_wait" "Waits for the previous launch; no effect in one launch.",
                    GridLaunchDependents "tt.grid_dependency_launch_dependents" "Lets the next launch begin; no effect in one launch.";
            }
        }
    };
}

use crate::entities::OpId;
use crate::module::Function;

/// How an element-wise operation relates its operands to its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// One integer to the same type.
    Int1,
    /// Two integers to the same type.
    Int2,
    /// One float to the same type.
    Float1,
    /// Two floats to the same type.
    Float2,
    /// Three floats to the same type.
    Float3,
}

impl Class {
    /// Number of operands.
    pub fn arity(self) -> usize {
        match self {
            Class::Int1 | Class::Float1 => 1,
            Class::Int2 | Class::Float2 => 2,
            Class::Float3 => 3,
        }
    }

    /// True for floats.
    pub const fn is_float(self) -> bool {
        matches!(self, Class::Float1 | Class::Float2 | Class::Float3)
    }
}

/// Files of the interpreter and the emitters are named after these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// Constants and element-wise arithmetic.
    Arith,
    /// Conversions.
    Cast,
    /// Comparison and selection.
    Compare,
    /// Element-wise functions.
    Math,
    /// Shapes.
    Shape,
    /// Reduce, scan, map, histogram.
    Reduce,
    /// Pointers, loads, stores, descriptors.
    Memory,
    /// Atomics.
    Atomic,
    /// Matrix products.
    Dot,
    /// Grid, control flow, calls, asserts, prints, barriers.
    Control,
}

/// What an operation does besides giving results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing.
    Pure,
    /// Reads memory.
    Read,
    /// Writes memory.
    Write,
    /// Reads and writes memory, or orders accesses.
    Sync,
    /// Ends or holds blocks.
    Control,
    /// Prints or fails.
    Effect,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct OpInfo {
    /// Dialect and name, for example `arith.addi`.
    pub mnemonic: &'static str,
    /// For element-wise operations, how operands relate to the result.
    pub class: Option<Class>,
    /// Family.
    pub family: Family,
    /// Effect.
    pub effect: Effect,
    /// CUDA expression of an element-wise operation over `a`, `b`, `c`.
    pub cuda: Option<&'static str>,
    /// One line of documentation.
    pub doc: &'static str,
}

macro_rules! class {
    (int1) => {
        Class::Int1
    };
    (int2) => {
        Class::Int2
    };
    (float1) => {
        Class::Float1
    };
    (float2) => {
        Class::Float2
    };
    (float3) => {
        Class::Float3
    };
}
macro_rules! family {
    (arith) => {
        Family::Arith
    };
    (cast) => {
        Family::Cast
    };
    (compare) => {
        Family::Compare
    };
    (math) => {
        Family::Math
    };
    (shape) => {
        Family::Shape
    };
    (reduce) => {
        Family::Reduce
    };
    (memory) => {
        Family::Memory
    };
    (atomic) => {
        Family::Atomic
    };
    (dot) => {
        Family::Dot
    };
    (control) => {
        Family::Control
    };
}
macro_rules! effect {
    (pure) => {
        Effect::Pure
    };
    (read) => {
        Effect::Read
    };
    (write) => {
        Effect::Write
    };
    (sync) => {
        Effect::Sync
    };
    (control) => {
        Effect::Control
    };
    (effect) => {
        Effect::Effect
    };
}

macro_rules! define {
    (
        elementwise { $($ev:ident $em:literal $class:ident ($($arg:ident),*) $lane:expr, $cuda:literal, $edoc:literal;)* }
        structured { $($method:ident $family:ident $effect:ident: $($sv:ident $sm:literal $sdoc:literal),+;)* }
    ) => {
        /// Every operation of the tile IR.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum OpCode {
            $(#[doc = $edoc] $ev,)*
            $($(#[doc = $sdoc] $sv,)+)*
        }

        impl OpCode {
            /// All operations in table order.
            pub const ALL: &[OpCode] = &[$(OpCode::$ev,)* $($(OpCode::$sv,)+)*];

            /// The operation's row.
            pub fn info(self) -> &'static OpInfo {
                match self {
                    $(OpCode::$ev => const { &OpInfo {
                        mnemonic: $em, class: Some(class!($class)),
                        family: if class!($class).is_float() { Family::Math } else { Family::Arith },
                        effect: Effect::Pure, cuda: Some($cuda), doc: $edoc,
                    } },)*
                    $($(OpCode::$sv => const { &OpInfo {
                        mnemonic: $sm, class: None, family: family!($family),
                        effect: effect!($effect), cuda: None, doc: $sdoc,
                    } },)+)*
                }
            }

            /// The operation with this mnemonic.
            pub fn from_mnemonic(mnemonic: &str) -> Option<OpCode> {
                match mnemonic {
                    $($em => Some(OpCode::$ev),)*
                    $($($sm => Some(OpCode::$sv),)+)*
                    _ => None,
                }
            }
        }

        /// One method per row of the table: what a consumer of the IR must know of every operation.
        pub trait OpVisitor {
            /// What a visit gives.
            type Output;

            /// Any element-wise operation.
            fn elementwise(&mut self, function: &Function, op: OpId, class: Class) -> Self::Output;

            $(
                #[doc = concat!($("`", $sm, "`: ", $sdoc, " "),+)]
                fn $method(&mut self, function: &Function, op: OpId) -> Self::Output;
            )*

            /// Calls the method of the operation's row.
            fn visit(&mut self, function: &Function, op: OpId) -> Self::Output {
                match function.ops[op].code {
                    $(OpCode::$ev => self.elementwise(function, op, class!($class)),)*
                    $($(OpCode::$sv)|+ => self.$method(function, op),)*
                }
            }
        }
    };
}

op_table!(define);

impl std::fmt::Display for OpCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.info().mnemonic)
    }
}

impl OpCode {
    /// True for operations that end a block.
    pub fn is_terminator(self) -> bool {
        use OpCode::*;
        matches!(
            self,
            Return | Yield | Condition | Br | CondBr | ReduceReturn | ScanReturn | MapReturn
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mnemonic_names_one_op() {
        for &code in OpCode::ALL {
            assert_eq!(OpCode::from_mnemonic(code.info().mnemonic), Some(code));
            assert!(code.info().doc.ends_with('.'), "{code}");
        }
    }
}
