//! The pages of `tilescope explain`: for each check what it means, a kernel that shows it, the usual fix.
//!
//! One Markdown file per id, embedded. The heading comes from the catalogue, so that id, severity and
//! summary are written once.

use crate::Check;

macro_rules! pages {
    ($($variant:ident $id:literal,)*) => {
        fn body(check: Check) -> &'static str {
            match check { $(Check::$variant => include_str!(concat!($id, ".md")),)* }
        }

        #[cfg(test)]
        const PAGES: &[(Check, &str)] = &[$((Check::$variant, $id),)*];
    };
}

pages! {
    OobLoad "oob-load",
    OobStore "oob-store",
    OobAtomic "oob-atomic",
    OutsideView "outside-view",
    WildPointer "wild-pointer",
    Misaligned "misaligned",
    StoreToInput "store-to-input",
    UndefinedLane "undefined-lane",
    UninitLoad "uninit-load",
    UnwrittenOutput "unwritten-output",
    DuplicateStore "duplicate-store",
    RaceWriteWrite "race-write-write",
    RaceReadWrite "race-read-write",
    BenignRace "benign-race",
    MissingBarrier "missing-barrier",
    Deadlock "deadlock",
    StepLimit "step-limit",
    AddressOverflow "address-overflow",
    DivByZero "div-by-zero",
    ShiftOutOfRange "shift-out-of-range",
    FloatToIntRange "float-to-int-range",
    NanBorn "nan-born",
    InfBorn "inf-born",
    AssertFailed "assert-failed",
    AssumeViolated "assume-violated",
    HintViolated "hint-violated",
    OutputMismatch "output-mismatch",
    TargetLimit "target-limit",
    OrderDependent "order-dependent",
    NotIdempotent "not-idempotent",
    PrecisionLoss "precision-loss",
}

/// The page of a check, as Markdown, ending in a line break.
pub fn page(check: Check) -> String {
    format!(
        "# {} ({})\n\nReported when {}.\n\n{}",
        check.id(),
        check.severity(),
        check.summary(),
        body(check)
    )
}

/// True when this version runs the check; the others have an id and a page, and are never reported.
pub fn is_checked(check: Check) -> bool {
    !body(check).contains("Not checked yet in this version.")
}

/// All checks with severity and summary, one a line, in the order of the catalogue.
pub fn list() -> String {
    let width = Check::ALL.iter().map(|c| c.id().len()).max().unwrap_or(0);
    let mut text = String::new();
    for &check in Check::ALL {
        let later = if is_checked(check) {
            ""
        } else {
            " (not checked yet)"
        };
        let severity = check.severity().as_str();
        text.push_str(&format!(
            "{:width$}  {severity:7}  {}{later}\n",
            check.id(),
            check.summary()
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_own_page_with_all_parts() {
        assert_eq!(PAGES.len(), Check::ALL.len());
        for &(check, file) in PAGES {
            assert_eq!(check.id(), file, "{check:?} has the page of another check");
            let page = page(check);
            for part in [
                "## What it means",
                "## A kernel that shows it",
                "@triton.jit",
                "## The usual fix",
            ] {
                assert!(page.contains(part), "{file} lacks {part}");
            }
        }
    }
}
