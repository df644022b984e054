//! Source locations: the chain of names, files and call sites that Triton attaches to operations.

use crate::entities::{Arena, EntityId, LocId};
use std::collections::HashMap;
use std::sync::Arc;

/// Where an operation comes from. Locations nest; no pass may drop one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Loc {
    /// `unknown`.
    Unknown,
    /// `"file":line:column`, possibly up to an end: `"file":l:c to l:c`.
    File {
        /// Path as the text gives it.
        file: Arc<str>,
        /// 1-based line.
        line: u32,
        /// 1-based column.
        column: u32,
        /// End line and column of a range.
        end: Option<(u32, u32)>,
    },
    /// `"name"(child)`: a variable name around a place; the child may be missing in the text.
    Name {
        /// The variable's name in the author's source.
        name: Arc<str>,
        /// The place; unknown when the text gives none.
        child: LocId,
    },
    /// `callsite(callee at caller)`.
    CallSite {
        /// The place inside the called function.
        callee: LocId,
        /// The place of the call.
        caller: LocId,
    },
    /// `fused[a, b]`.
    Fused(Vec<LocId>),
}

/// All locations of a module, each stored once.
#[derive(Debug, Clone)]
pub struct Locs {
    items: Arena<LocId, Loc>,
    ids: HashMap<Loc, LocId>,
}

impl Default for Locs {
    fn default() -> Self {
        let mut locs = Locs {
            items: Arena::new(),
            ids: HashMap::new(),
        };
        locs.intern(Loc::Unknown);
        locs
    }
}

impl LocId {
    /// The unknown location, which has the same id in every module.
    pub fn unknown() -> LocId {
        LocId::from_index(0)
    }
}

impl Locs {
    /// The unknown location, present in every module.
    pub fn unknown(&self) -> LocId {
        LocId::from_index(0)
    }

    /// The id of a location, the same for equal ones.
    pub fn intern(&mut self, loc: Loc) -> LocId {
        if let Some(&id) = self.ids.get(&loc) {
            return id;
        }
        let id = self.items.push(loc.clone());
        self.ids.insert(loc, id);
        id
    }

    /// The location with this id.
    pub fn get(&self, id: LocId) -> &Loc {
        self.items.get(id).unwrap_or(&Loc::Unknown)
    }

    /// The outermost variable name around a place, if any.
    pub fn name(&self, id: LocId) -> Option<&Arc<str>> {
        let mut id = id;
        // Children are interned before their parents, so ids fall along the walk and it ends.
        loop {
            match self.get(id) {
                Loc::Name { name, .. } => return Some(name),
                Loc::CallSite { callee, .. } if callee.index() < id.index() => id = *callee,
                _ => return None,
            }
        }
    }

    /// Number of locations.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Never true: the unknown location is always there.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All locations in the order of their ids; children come before parents.
    pub fn iter(&self) -> impl Iterator<Item = (LocId, &Loc)> {
        self.items.iter()
    }

    /// The frames of a place, innermost first: (file, line, column).
    ///
    /// A fused place stands for its first known part. The walk is bounded: hostile nesting gives at
    /// most 256 frames.
    pub fn frames(&self, id: LocId) -> Vec<(Arc<str>, u32, u32)> {
        let mut frames = Vec::new();
        let mut todo = vec![id];
        let mut steps = 0;
        while let Some(id) = todo.pop() {
            steps += 1;
            if steps > 4096 || frames.len() >= 256 {
                break;
            }
            match self.get(id) {
                Loc::Unknown => {}
                Loc::File {
                    file, line, column, ..
                } => frames.push((file.clone(), *line, *column)),
                Loc::Name { child, .. } => todo.push(*child),
                Loc::CallSite { callee, caller } => todo.extend([*caller, *callee]),
                Loc::Fused(parts) => {
                    let known = parts.iter().find(|p| !matches!(self.get(**p), Loc::Unknown));
                    todo.extend(known);
                }
            }
        }
        frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_run_from_the_callee_outwards() {
        let mut locs = Locs::default();
        let file = |line| Loc::File {
            file: "k.py".into(),
            line,
            column: 5,
            end: None,
        };
        let inner = locs.intern(file(3));
        let outer = locs.intern(file(9));
        let named = locs.intern(Loc::Name {
            name: "acc".into(),
            child: outer,
        });
        let call = locs.intern(Loc::CallSite {
            callee: inner,
            caller: named,
        });
        assert_eq!(locs.frames(call).iter().map(|f| f.1).collect::<Vec<_>>(), [3, 9]);
        assert_eq!(locs.name(named).map(|n| &**n), Some("acc"));
        assert_eq!(locs.intern(file(3)), inner);
        let unknown = locs.unknown();
        assert!(locs.frames(unknown).is_empty());
    }
}
