//! The op table again: how each operation is generated.
//!
//! An element-wise row is generated from its class alone, so a new one is tried by the next run. Any other row has a method
//! of its name; those that make nothing are in [`NOT_GENERATED`] with the reason. A row without a method does not compile.

use tilescope_ir::{OpCode, op_table};

use super::Generator;

/// Operations that no kernel is generated with, and why.
pub const NOT_GENERATED: &[(OpCode, &str)] = &[
    (OpCode::Poison, "its lanes have no value to compare"),
    (
        OpCode::MakeTensorPtr,
        "of old versions of Triton; descriptors do the same",
    ),
    (
        OpCode::Advance,
        "of old versions of Triton; descriptors do the same",
    ),
    (
        OpCode::DotScaled,
        "formats and scales of its own; the interpreter's tests hold it against a model",
    ),
    (
        OpCode::ExternElementwise,
        "a table of library functions of its own",
    ),
    (OpCode::InlineAsm, "a language of its own"),
];

macro_rules! makers {
    (
        elementwise { $($ev:ident $em:literal $class:ident ($($arg:ident),*) $lane:expr, $cuda:literal, $edoc:literal;)* }
        structured { $($method:ident $family:ident $effect:ident: $($sv:ident $sm:literal $sdoc:literal),+;)* }
    ) => {
        impl Generator {
            /// Puts an operation of this row at the cursor, with what it needs; false if it does not fit here.
            pub(super) fn make(&mut self, code: OpCode) -> bool {
                match code {
                    $(OpCode::$ev)|* => self.elementwise(code),
                    $($(OpCode::$sv)|+ => self.$method(code),)*
                }
            }
        }

        /// True for functions that each engine approximates in its own way: what an element-wise row computes by the
        /// elementary functions.
        pub(super) fn is_approximate(code: OpCode) -> bool {
            match code {
                $(OpCode::$ev => stringify!($lane).starts_with("Elementary"),)*
                _ => false,
            }
        }
    };
}

op_table!(makers);

/// Methods of rows that are ends of regions: made with the operation that holds the region, or not made at all.
macro_rules! made_elsewhere {
    ($($method:ident)*) => {
        impl Generator {
            $(fn $method(&mut self, _: OpCode) -> bool {
                false
            })*
        }
    };
}

made_elsewhere! {
    poison make_tensor_ptr advance dot_scaled extern_elementwise inline_asm br region_return return_ yield_ condition
}
