//! Attributes of operations, typed per op family.
//!
//! An operation's own ("inherent") attributes live in [`Attrs`]. Attributes of a dialect that hang
//! on any operation ("discardable": `tt.divisibility`, `tt.num_stages`) are kept as [`AttrValue`]s
//! by name, because only some have a meaning here and all must survive printing.

use crate::types::{Scalar, Type};
use std::sync::Arc;
use thin_vec::ThinVec;

macro_rules! keywords {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident $word:literal $code:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// All values.
            pub const ALL: &[$name] = &[$($name::$variant,)*];
            /// The keyword in MLIR text.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word,)* }
            }
            /// The value with this keyword.
            pub fn from_word(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)* _ => None }
            }
            /// The number in generic form (`1 : i32`).
            pub fn code(self) -> i64 {
                match self { $($name::$variant => $code,)* }
            }
            /// The value with this number.
            pub fn from_code(code: i64) -> Option<$name> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }
        }
    )*};
}

keywords! {
    /// Predicates of `arith.cmpi`.
    IntPredicate {
        /// Equal.
        Eq "eq" 0,
        /// Not equal.
        Ne "ne" 1,
        /// Signed less.
        Slt "slt" 2,
        /// Signed less or equal.
        Sle "sle" 3,
        /// Signed greater.
        Sgt "sgt" 4,
        /// Signed greater or equal.
        Sge "sge" 5,
        /// Unsigned less.
        Ult "ult" 6,
        /// Unsigned less or equal.
        Ule "ule" 7,
        /// Unsigned greater.
        Ugt "ugt" 8,
        /// Unsigned greater or equal.
        Uge "uge" 9,
    }
    /// Predicates of `arith.cmpf`; `o…` are false and `u…` true when an operand is NaN.
    FloatPredicate {
        /// Never.
        False "false" 0,
        /// Ordered equal.
        Oeq "oeq" 1,
        /// Ordered greater.
        Ogt "ogt" 2,
        /// Ordered greater or equal.
        Oge "oge" 3,
        /// Ordered less.
        Olt "olt" 4,
        /// Ordered less or equal.
        Ole "ole" 5,
        /// Ordered not equal.
        One "one" 6,
        /// No operand is NaN.
        Ord "ord" 7,
        /// Unordered or equal.
        Ueq "ueq" 8,
        /// Unordered or greater.
        Ugt "ugt" 9,
        /// Unordered, greater or equal.
        Uge "uge" 10,
        /// Unordered or less.
        Ult "ult" 11,
        /// Unordered, less or equal.
        Ule "ule" 12,
        /// Unordered or not equal.
        Une "une" 13,
        /// An operand is NaN.
        Uno "uno" 14,
        /// Always.
        True "true" 15,
    }
    /// Cache modifier of loads and stores: a hint to hardware, without effect here.
    CacheModifier {
        /// None given.
        None "none" 1,
        /// Cache at all levels.
        Ca "ca" 2,
        /// Cache at the global level.
        Cg "cg" 3,
        /// Write back.
        Wb "wb" 4,
        /// Streaming.
        Cs "cs" 5,
        /// Write through.
        Wt "wt" 6,
        /// Do not cache.
        Cv "cv" 7,
    }
    /// Eviction policy: a hint to hardware, without effect here.
    EvictionPolicy {
        /// The default.
        Normal "evict_normal" 1,
        /// Evict first.
        First "evict_first" 2,
        /// Evict last.
        Last "evict_last" 3,
    }
    /// What an out-of-box lane of a block pointer or descriptor reads.
    Padding {
        /// Zero.
        Zero "zero" 1,
        /// NaN.
        Nan "nan" 2,
    }
    /// Memory order of an atomic.
    Semantic {
        /// No order.
        Relaxed "relaxed" 1,
        /// Orders later accesses.
        Acquire "acquire" 2,
        /// Orders earlier accesses.
        Release "release" 3,
        /// Both.
        AcquireRelease "acq_rel" 4,
    }
    /// Who an atomic synchronises with.
    Scope {
        /// The whole device.
        Gpu "gpu" 1,
        /// One block: never orders programs.
        Cta "cta" 2,
        /// The whole system.
        System "sys" 3,
    }
    /// What an atomic read-modify-write does.
    RmwKind {
        /// Bitwise and.
        And "and" 1,
        /// Bitwise or.
        Or "or" 2,
        /// Bitwise exclusive or.
        Xor "xor" 3,
        /// Integer addition.
        Add "add" 4,
        /// Float addition.
        Fadd "fadd" 5,
        /// Signed maximum.
        Max "max" 6,
        /// Signed minimum.
        Min "min" 7,
        /// Unsigned maximum.
        Umax "umax" 8,
        /// Unsigned minimum.
        Umin "umin" 9,
        /// Exchange.
        Xchg "exch" 10,
    }
    /// What `tt.descriptor_reduce` does.
    ReduceKind {
        /// Addition.
        Add "add" 1,
        /// Minimum.
        Min "min" 2,
        /// Maximum.
        Max "max" 3,
        /// Increment, wrapping at the operand.
        Inc "inc" 4,
        /// Decrement, wrapping at the operand.
        Dec "dec" 5,
        /// Bitwise and.
        And "and" 6,
        /// Bitwise or.
        Or "or" 7,
        /// Bitwise exclusive or.
        Xor "xor" 8,
    }
    /// Rounding of `tt.fp_to_fp` and others.
    Rounding {
        /// Toward zero.
        Rtz "rtz" 0,
        /// To nearest, ties to even.
        Rtne "rtne" 1,
    }
    /// Input precision of `tt.dot` on f32.
    InputPrecision {
        /// Inputs cut to TF32.
        Tf32 "tf32" 0,
        /// Three TF32 products.
        Tf32x3 "tf32x3" 1,
        /// Full precision.
        Ieee "ieee" 2,
        /// Three bf16 products.
        Bf16x3 "bf16x3" 3,
        /// Six bf16 products.
        Bf16x6 "bf16x6" 4,
    }
    /// Element kind of `tt.dot_scaled` operands.
    ScaleElem {
        /// fp8 e4m3.
        E4M3 "e4m3" 0,
        /// fp8 e5m2.
        E5M2 "e5m2" 1,
        /// fp6 e2m3.
        E2M3 "e2m3" 2,
        /// fp6 e3m2.
        E3M2 "e3m2" 3,
        /// fp4 e2m1, two per byte.
        E2M1 "e2m1" 4,
        /// bfloat16.
        Bf16 "bf16" 5,
        /// binary16.
        Fp16 "fp16" 6,
    }
    /// NaN rule of `tt.clampf`.
    PropagateNan {
        /// NaN is dropped.
        None "none" 0,
        /// NaN wins.
        All "all" 65535,
    }
    /// A dimension of the grid.
    Axis {
        /// First.
        X "x" 0,
        /// Second.
        Y "y" 1,
        /// Third.
        Z "z" 2,
    }
}

/// A constant: one bit pattern for all lanes, or one per lane.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Constant {
    /// The same bits (zero-extended to 64) in every lane.
    Splat(u64),
    /// Bits per lane in row-major order.
    Dense(Arc<[u64]>),
}

/// Cache hints of a memory operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CachePolicy {
    /// Cache modifier.
    pub modifier: CacheModifier,
    /// Eviction policy.
    pub eviction: EvictionPolicy,
    /// L2 prefetch size in bytes, where given.
    pub l2_prefetch: Option<u32>,
}

impl Default for CachePolicy {
    fn default() -> Self {
        CachePolicy {
            modifier: CacheModifier::None,
            eviction: EvictionPolicy::Normal,
            l2_prefetch: None,
        }
    }
}

/// Attributes of `tt.load` and `tt.store`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct AccessAttrs {
    /// Cache hints.
    pub cache: CachePolicy,
    /// `isVolatile`.
    pub volatile: bool,
    /// Checked dimensions of a block pointer.
    pub boundary_check: Vec<u32>,
    /// Padding of a block pointer load.
    pub padding: Option<Padding>,
}

/// `tt.elementwise_inline_asm`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InlineAsm {
    /// PTX text.
    pub text: Arc<str>,
    /// Constraint string.
    pub constraints: Arc<str>,
    /// True when it has no side effect.
    pub pure: bool,
    /// Elements per invocation.
    pub packed: u32,
}

/// `tt.extern_elementwise`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Extern {
    /// Library name, often empty.
    pub libname: Arc<str>,
    /// Library path, often empty.
    pub libpath: Arc<str>,
    /// Symbol, for example `__nv_tanhf`.
    pub symbol: Arc<str>,
    /// True when it has no side effect.
    pub pure: bool,
}

/// `tt.print`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Print {
    /// Text before the values.
    pub prefix: Arc<str>,
    /// Hexadecimal values.
    pub hex: bool,
    /// Per operand: print integers as signed.
    pub signed: Vec<bool>,
}

/// `tt.dot_scaled`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DotScaled {
    /// Kind of the left operand's elements.
    pub a: ScaleElem,
    /// Kind of the right operand's elements.
    pub b: ScaleElem,
    /// A scale of the left operand follows the accumulator.
    pub a_scale: bool,
    /// A scale of the right operand follows.
    pub b_scale: bool,
    /// `fastMath`.
    pub fast_math: bool,
    /// The left operand is packed along K.
    pub lhs_k_pack: bool,
    /// The right operand is packed along K.
    pub rhs_k_pack: bool,
}

/// An operation's own attributes; which variant an op carries is fixed by its row.
///
/// Arithmetic without `fastmath` or `overflow` words, and a signed `scf.for`, carry [`Attrs::None`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Attrs {
    /// No attributes.
    #[default]
    None,
    /// `arith.constant`.
    Constant(Constant),
    /// `tt.make_range`: half-open.
    Range {
        /// First value.
        start: i32,
        /// One past the last value.
        end: i32,
    },
    /// `arith.cmpi`.
    CmpI(IntPredicate),
    /// `arith.cmpf`.
    CmpF(FloatPredicate),
    /// Float operations: the `fastmath<...>` word list as written, without effect here.
    FastMath(Option<Arc<str>>),
    /// Integer operations: the `overflow<...>` word list as written, without effect here.
    Overflow(Option<Arc<str>>),
    /// `tt.get_program_id`, `tt.get_num_programs`.
    Grid(Axis),
    /// Operations along a dimension: `tt.expand_dims`.
    Axis(u32),
    /// `tt.load`, `tt.store`, descriptor accesses.
    Access(Box<AccessAttrs>),
    /// `tt.atomic_rmw`.
    Rmw(RmwKind, Semantic, Scope),
    /// `tt.atomic_cas`, `tt.atomic_load`, `tt.atomic_store`, `tt.atomic_poll`.
    Atomic(Semantic, Scope),
    /// `tt.reduce`, `tt.scan`.
    Along {
        /// Dimension.
        axis: u32,
        /// From the last element to the first (`tt.scan` only).
        reverse: bool,
    },
    /// `tt.reshape`.
    Reshape {
        /// Elements may come in any order; this tool keeps row-major order.
        allow_reorder: bool,
        /// Layout hint, without effect here.
        efficient_layout: bool,
    },
    /// `tt.trans`: result dimension i is operand dimension `order[i]`. Also `tt.make_tensor_ptr`.
    Order(Vec<u32>),
    /// `tt.gather`.
    Gather {
        /// Dimension.
        axis: u32,
        /// Layout hint, without effect here.
        efficient_layout: bool,
    },
    /// `tt.dot`.
    Dot {
        /// How f32 inputs are used.
        precision: InputPrecision,
        /// fp8 accumulation steps in reduced precision.
        max_imprecise: u32,
    },
    /// `tt.dot_scaled`.
    DotScaled(DotScaled),
    /// `tt.fp_to_fp`.
    FpToFp(Option<Rounding>),
    /// `tt.clampf`.
    ClampF(PropagateNan),
    /// `tt.extern_elementwise`.
    Extern(Box<Extern>),
    /// `tt.elementwise_inline_asm`.
    InlineAsm(Box<InlineAsm>),
    /// `tt.map_elementwise`: elements per invocation.
    Map(u32),
    /// `tt.print`.
    Print(Box<Print>),
    /// `tt.assert`, `cf.assert`: the message.
    Message(Arc<str>),
    /// `tt.call`: the callee's name.
    Callee(Arc<str>),
    /// `tt.make_tensor_descriptor`.
    Padding(Padding),
    /// `tt.descriptor_reduce`.
    DescriptorReduce(ReduceKind),
    /// `scf.for` whose bounds compare as unsigned numbers; a signed one carries no attributes.
    For {
        /// True in all that the reader makes.
        unsigned: bool,
    },
    /// `ttg.barrier`: address spaces as written (`all`, `local`, …).
    Barrier(Arc<str>),
}

/// The value of a discardable attribute, as general as MLIR's.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum AttrValue {
    /// `unit`, or a name alone.
    Unit,
    /// `true`, `false`.
    Bool(bool),
    /// Integer with its type (`16 : i32`; `i64` where the text gives none).
    Int(i128, Scalar),
    /// Float with its type; bits of an f64.
    Float(u64, Scalar),
    /// A string.
    Str(Arc<str>),
    /// `[a, b]`.
    Array(Vec<AttrValue>),
    /// `array<i32: 1, 0>`.
    DenseArray(Scalar, Vec<i128>),
    /// `dense<16> : tensor<1xi32>`: the shape need not be a power of two.
    Dense(Constant, Vec<u64>, Scalar),
    /// `{a = 1}`.
    Dict(Vec<Attr>),
    /// A type.
    Type(Box<Type>),
    /// `@name`.
    Symbol(Arc<str>),
    /// A dialect attribute, verbatim: `#tt.cache_policy<…>`.
    Opaque(Arc<str>),
}

/// Discardable attributes in the order of the text.
pub type AttrList = ThinVec<Attr>;

/// A discardable attribute: its name and value.
pub type Attr = (Arc<str>, AttrValue);
