//! Which checks are on: a set of ids, and how it is written on a command line.
//!
//! Checks whose finding is a by-product of one and the same work make a [`Group`]: switching off one of them hides its
//! findings, and the work is spared once all of them are off. Two kinds of check cannot be chosen: those that say why a
//! launch did not end ([`CheckSet::ALWAYS`]), and those that only an option of their own asks for.

use crate::check::Check;
use crate::suggest::closest;
use std::fmt;

/// A set of checks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CheckSet(u64);

/// Checks that are looked for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// Its name in a list of checks.
    pub name: &'static str,
    /// The checks.
    pub checks: CheckSet,
}

/// The groups of more than one check; any other check is looked for on its own.
pub const GROUPS: &[Group] = &[
    Group {
        name: "accesses",
        checks: CheckSet::of(&[
            Check::OobLoad,
            Check::OobStore,
            Check::OobAtomic,
            Check::OutsideView,
            Check::WildPointer,
            Check::Misaligned,
            Check::StoreToInput,
        ]),
    },
    Group {
        name: "races",
        checks: CheckSet::of(&[Check::RaceWriteWrite, Check::RaceReadWrite, Check::BenignRace]),
    },
    Group {
        name: "births",
        checks: CheckSet::of(&[Check::NanBorn, Check::InfBorn]),
    },
];

/// The option that alone asks for a check, if one does.
fn own_option(check: Check) -> Option<&'static str> {
    Some(match check {
        Check::TargetLimit => "--target SM",
        Check::OrderDependent => "--schedules N",
        Check::NotIdempotent => "--twice",
        Check::PrecisionLoss => "--twin",
        _ => return None,
    })
}

impl CheckSet {
    /// No check.
    pub const NONE: CheckSet = CheckSet(0);
    /// All checks.
    pub const ALL: CheckSet = CheckSet::of(Check::ALL);
    /// Those that say why a launch did not end: without them, half a result would look like one.
    pub const ALWAYS: CheckSet = CheckSet::of(&[Check::StepLimit, Check::Deadlock]);
    /// Those that only an option of their own asks for: in every list.
    pub const BY_OPTION: CheckSet = CheckSet::of(&[
        Check::TargetLimit,
        Check::OrderDependent,
        Check::NotIdempotent,
        Check::PrecisionLoss,
    ]);

    /// These checks.
    pub const fn of(checks: &[Check]) -> CheckSet {
        let (mut bits, mut i) = (0, 0);
        while i < checks.len() {
            bits |= 1 << checks[i] as u64;
            i += 1;
        }
        CheckSet(bits)
    }

    /// True if a check is on.
    #[inline(always)]
    pub const fn contains(self, check: Check) -> bool {
        self.0 & (1 << check as u64) != 0
    }

    /// True if one of these checks is on.
    pub const fn any(self, checks: &[Check]) -> bool {
        self.0 & CheckSet::of(checks).0 != 0
    }

    /// True without any check.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The checks of both.
    #[must_use]
    pub const fn union(self, other: CheckSet) -> CheckSet {
        CheckSet(self.0 | other.0)
    }

    /// The checks that the other does not have.
    #[must_use]
    pub const fn without(self, other: CheckSet) -> CheckSet {
        CheckSet(self.0 & !other.0)
    }

    /// The checks, in the order of the catalogue.
    pub fn iter(self) -> impl Iterator<Item = Check> {
        Check::ALL
            .iter()
            .copied()
            .filter(move |&check| self.contains(check))
    }

    /// The checks that are looked for together with one, itself included.
    pub fn group_of(check: Check) -> CheckSet {
        let group = GROUPS.iter().find(|group| group.checks.contains(check));
        group.map_or(CheckSet::of(&[check]), |group| group.checks)
    }

    /// Reads a list like `races,uninit-load` (these alone) or `-races,-births` (all but these), of ids, names of groups,
    /// `all` and `none`, separated by commas; what comes later counts.
    ///
    /// # Errors
    /// A name that is none, with the nearest one and all that there are; a check that cannot be chosen, and why.
    pub fn parse(list: &str) -> Result<CheckSet, String> {
        let mut entries = list.split(',').map(str::trim).peekable();
        let starts_off = entries.peek().is_some_and(|entry| !entry.starts_with('-'));
        let mut set = if starts_off { CheckSet::NONE } else { CheckSet::ALL };
        for entry in entries {
            let (name, off) = match entry.strip_prefix('-') {
                Some(name) => (name, true),
                None => (entry, false),
            };
            set = match off {
                true => set.without(named(name, off)?),
                false if name == "none" => CheckSet::NONE,
                false => set.union(named(name, off)?),
            };
        }
        Ok(set.union(CheckSet::ALWAYS).union(CheckSet::BY_OPTION))
    }
}

/// The checks of a name.
fn named(name: &str, off: bool) -> Result<CheckSet, String> {
    if name == "all" {
        return Ok(CheckSet::ALL);
    }
    if let Some(group) = GROUPS.iter().find(|group| group.name == name) {
        return Ok(group.checks);
    }
    let Some(check) = Check::from_id(name) else {
        return Err(unknown(name));
    };
    if let Some(option) = own_option(check) {
        return Err(format!("`{name}` is not chosen here: only {option} asks for it"));
    }
    if off && CheckSet::ALWAYS.contains(check) {
        return Err(format!(
            "`{name}` is always on: without it, half a result would look like a whole one"
        ));
    }
    Ok(CheckSet::of(&[check]))
}

fn unknown(name: &str) -> String {
    let ids: Vec<&str> = CheckSet::ALL
        .without(CheckSet::BY_OPTION)
        .iter()
        .map(Check::id)
        .collect();
    let groups: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
    let words = ids.iter().chain(&groups).chain(&["all", "none"]).copied();
    let near = closest(name, words).map_or(String::new(), |near| format!(", did you mean `{near}`?"));
    format!(
        "there is no check `{name}`{near}\n  write `all`, `none`, groups ({}) or ids, with `-` before what is to be off: {}",
        groups.join(", "),
        ids.join(", ")
    )
}

/// All checks: what a run has unless it is told otherwise.
impl Default for CheckSet {
    fn default() -> CheckSet {
        CheckSet::ALL
    }
}

/// The ids, separated by commas; `all` and `none`.
impl fmt::Display for CheckSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            CheckSet::ALL => f.write_str("all"),
            CheckSet::NONE => f.write_str("none"),
            set => {
                let ids: Vec<&str> = set.iter().map(Check::id).collect();
                f.write_str(&ids.join(","))
            }
        }
    }
}

impl fmt::Debug for CheckSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CheckSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(list: &str) -> Vec<&'static str> {
        let set = CheckSet::parse(list).unwrap_or_else(|error| panic!("{list}: {error}"));
        let fixed = CheckSet::ALWAYS.union(CheckSet::BY_OPTION);
        set.without(fixed).iter().map(Check::id).collect()
    }

    #[test]
    fn lists_begin_with_nothing_or_with_all() {
        assert_eq!(parsed("uninit-load"), ["uninit-load"]);
        assert_eq!(
            parsed("races, oob-load"),
            ["oob-load", "race-write-write", "race-read-write", "benign-race"]
        );
        assert_eq!(parsed("none"), [""; 0]);
        assert_eq!(CheckSet::parse("all"), Ok(CheckSet::ALL));
        let rest = CheckSet::parse("-births,-oob-load").unwrap();
        assert_eq!(
            CheckSet::ALL.without(rest),
            CheckSet::of(&[Check::NanBorn, Check::InfBorn, Check::OobLoad])
        );
        assert_eq!(
            parsed("races,-benign-race,benign-race,-races,oob-store"),
            ["oob-store"]
        );
        assert_eq!(parsed("all,-all"), [""; 0]);
    }

    #[test]
    fn what_ends_a_launch_is_always_told() {
        for list in ["none", "races", "-all"] {
            let set = CheckSet::parse(list).unwrap();
            assert_eq!(CheckSet::ALWAYS.without(set), CheckSet::NONE, "{list}");
        }
        assert!(CheckSet::parse("-deadlock").unwrap_err().contains("always on"));
        assert!(CheckSet::parse("step-limit").is_ok());
    }

    #[test]
    fn what_cannot_be_chosen_is_refused_by_name() {
        let error = CheckSet::parse("race").unwrap_err();
        assert!(error.contains("did you mean `races`?"), "{error}");
        assert!(error.contains("missing-barrier"), "{error}");
        assert!(CheckSet::parse("").unwrap_err().contains("no check ``"));
        assert!(
            CheckSet::parse("-twice")
                .unwrap_err()
                .contains("no check `twice`")
        );
        assert!(CheckSet::parse("not-idempotent").unwrap_err().contains("--twice"));
        assert!(CheckSet::parse("-target-limit").unwrap_err().contains("--target"));
    }

    #[test]
    fn every_check_has_a_bit_of_its_own_and_at_most_one_group() {
        assert!(Check::ALL.len() <= 64);
        for &check in Check::ALL {
            assert_eq!(CheckSet::of(&[check]).iter().collect::<Vec<_>>(), [check]);
            let groups = GROUPS.iter().filter(|group| group.checks.contains(check));
            assert!(groups.count() <= 1, "{check}");
            assert!(CheckSet::group_of(check).contains(check));
            assert_eq!(own_option(check).is_some(), CheckSet::BY_OPTION.contains(check));
        }
    }
}
