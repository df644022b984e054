//! The catalogue of checks: one id each, its severity and its meaning in one line.

use std::fmt;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Doubtful; fails a run only where denied.
    Warning,
    /// Wrong: exit status 1.
    Error,
}

impl Severity {
    /// The word used in every format: `error`, `warning` or `note`.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

macro_rules! checks {
    ($($variant:ident $id:literal $severity:ident $summary:literal;)*) => {
        /// Every check there is; the id is its name everywhere (reports, suppressions, `explain`).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Check {
            $(#[doc = $summary] $variant,)*
        }

        impl Check {
            /// All checks, in the order of the catalogue.
            pub const ALL: &[Check] = &[$(Check::$variant,)*];

            /// The fixed id, for example `oob-load`.
            pub fn id(self) -> &'static str {
                match self { $(Check::$variant => $id,)* }
            }

            /// The usual severity; a finding may carry another where the catalogue says so.
            pub fn severity(self) -> Severity {
                match self { $(Check::$variant => Severity::$severity,)* }
            }

            /// When it is reported, in one line.
            pub fn summary(self) -> &'static str {
                match self { $(Check::$variant => $summary,)* }
            }
        }
    };
}

checks! {
    OobLoad "oob-load" Error "a load reads outside the storage of the tensor its pointer derives from";
    OobStore "oob-store" Error "a store writes outside the storage of the tensor its pointer derives from";
    OobAtomic "oob-atomic" Error "an atomic touches memory outside the storage of the tensor its pointer derives from";
    OutsideView "outside-view" Warning "an access stays inside the storage but hits no element of its argument's view";
    WildPointer "wild-pointer" Error "an active lane dereferences null or an address that derives from no tensor";
    Misaligned "misaligned" Error "an address is not a multiple of the element size";
    StoreToInput "store-to-input" Error "a store or atomic writes to an argument of role \"in\"";
    UndefinedLane "undefined-lane" Error "a lane that a masked load left undefined reaches a use";
    UninitLoad "uninit-load" Error "a value loaded from bytes that nothing wrote reaches a use";
    UnwrittenOutput "unwritten-output" Warning "elements of an output tensor were written by no program";
    DuplicateStore "duplicate-store" Warning "two active lanes of one store write different values to one address";
    RaceWriteWrite "race-write-write" Error "two programs write the same bytes and nothing orders them";
    RaceReadWrite "race-read-write" Error "one program reads bytes that another writes and nothing orders them";
    BenignRace "benign-race" Note "programs race, but all write equal bytes and none reads them";
    MissingBarrier "missing-barrier" Warning "a program loads bytes that it stored through other lanes without a barrier between";
    Deadlock "deadlock" Error "no unfinished program can go on";
    StepLimit "step-limit" Error "a program executed more operations than the limit";
    AddressOverflow "address-overflow" Error "an address differs from the one computed without 32-bit wrap-around";
    DivByZero "div-by-zero" Error "an integer division by zero, or of the smallest integer by -1, reaches a use";
    ShiftOutOfRange "shift-out-of-range" Warning "a shift by a negative amount or by at least the width reaches a use";
    FloatToIntRange "float-to-int-range" Warning "a NaN or out-of-range float converted to an integer reaches a use";
    NanBorn "nan-born" Warning "an operation made a NaN from operands without NaN, and it reached memory";
    InfBorn "inf-born" Note "an operation made an infinity from finite operands, and it reached memory";
    AssertFailed "assert-failed" Error "a device_assert has a false lane";
    AssumeViolated "assume-violated" Error "a tl.assume has a false lane";
    HintViolated "hint-violated" Error "a promise to the compiler (multiple_of, divisibility, ...) is untrue of the real value";
    OutputMismatch "output-mismatch" Error "an output differs from what was expected by more than the tolerance";
    TargetLimit "target-limit" Warning "legal here, refused or truncated on the chosen target";
    OrderDependent "order-dependent" Warning "outputs differ between orders of the programs";
    NotIdempotent "not-idempotent" Note "a second launch on the first one's result changes an output";
    PrecisionLoss "precision-loss" Warning "an output differs from the float64 run by more than the dtype's bound";
}

impl Check {
    /// The check with this id.
    pub fn from_id(id: &str) -> Option<Check> {
        Check::ALL.iter().copied().find(|check| check.id() == id)
    }
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_names_one_check() {
        for &check in Check::ALL {
            assert_eq!(Check::from_id(check.id()), Some(check));
        }
        assert_eq!(Check::from_id("oob"), None);
    }
}
