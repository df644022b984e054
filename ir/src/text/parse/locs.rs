//! Locations: `loc(…)` behind an operation and `#loc… = loc(…)` aliases.
//!
//! Aliases are mostly defined below their uses. While the text is read, a location is an index into a
//! table of raw locations; when all aliases are known the table is interned into [`Locs`] and the
//! indices in the module are replaced.

use super::super::MAX_DEPTH;
use super::Parser;
use crate::entities::{EntityId, LocId};
use crate::loc::{Loc, Locs};
use std::sync::Arc;
use tilescope_diagnostics::{Error, Result};

/// A location as read; children are indices into the table.
#[derive(Debug, Clone)]
pub(super) enum Raw {
    Leaf(Loc),
    Name(Arc<str>, u32),
    CallSite(u32, u32),
    Fused(Vec<u32>),
    /// A use of an alias, with the offset of the first; points to its definition when that is read.
    Alias {
        at: usize,
        target: Option<u32>,
    },
}

/// Index of `unknown` in the table.
pub(super) const UNKNOWN: u32 = 0;

impl<'a> Parser<'a> {
    fn raw(&mut self, raw: Raw) -> u32 {
        self.locs.push(raw);
        (self.locs.len() - 1) as u32
    }

    /// `loc(…)` if it is there.
    pub(super) fn trailing_loc(&mut self) -> Result<Option<LocId>> {
        if self.c.peek() != b'l' || !self.c.eat_word("loc") {
            return Ok(None);
        }
        Ok(Some(self.loc_parens()?))
    }

    /// The location of what was just read, or unknown.
    pub(super) fn loc_or_unknown(&mut self) -> Result<LocId> {
        Ok(self
            .trailing_loc()?
            .unwrap_or(LocId::from_index(UNKNOWN as usize)))
    }

    fn loc_parens(&mut self) -> Result<LocId> {
        self.expect(b'(', "`(` after `loc`")?;
        let raw = self.loc(0)?;
        self.expect(b')', "`)` at the end of the location")?;
        Ok(LocId::from_index(raw as usize))
    }

    fn loc(&mut self, depth: usize) -> Result<u32> {
        let at = self.c.at();
        if depth > MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        match self.c.here() {
            b'#' => {
                let Some(name) = self.c.sigil_name(b'#') else {
                    return Err(self.expected(at, "a location", "a name after `#`"));
                };
                if let Some(&raw) = self.loc_aliases.get(name) {
                    return Ok(raw);
                }
                let raw = self.raw(Raw::Alias { at, target: None });
                self.loc_aliases.insert(name, raw);
                Ok(raw)
            }
            b'"' => self.string_loc(depth),
            _ => match self.c.word() {
                Some("unknown") => Ok(UNKNOWN),
                Some("callsite") => {
                    self.expect(b'(', "`(` after `callsite`")?;
                    let callee = self.loc(depth + 1)?;
                    if !self.c.eat_word("at") {
                        let at = self.c.at();
                        return Err(self.expected(at, "what follows the callee", "`at`"));
                    }
                    let caller = self.loc(depth + 1)?;
                    self.expect(b')', "`)` at the end of the call site")?;
                    Ok(self.raw(Raw::CallSite(callee, caller)))
                }
                Some("fused") => self.fused_loc(depth),
                Some("loc") => {
                    self.expect(b'(', "`(` after `loc`")?;
                    let inner = self.loc(depth + 1)?;
                    self.expect(b')', "`)` at the end of the location")?;
                    Ok(inner)
                }
                _ => Err(self.expected(
                    at,
                    "a location",
                    "`unknown`, `\"file\":line:column`, `\"name\"(…)`, `callsite(…)`, `fused[…]` or `#loc…`",
                )),
            },
        }
    }

    fn fused_loc(&mut self, depth: usize) -> Result<u32> {
        let at = self.c.at();
        if self.c.here() == b'<' {
            return Err(self.unsupported(at, "metadata of a fused location".to_string()));
        }
        self.expect(b'[', "`[` after `fused`")?;
        let mut parts = vec![self.loc(depth + 1)?];
        while self.c.eat(b',') {
            parts.push(self.loc(depth + 1)?);
        }
        self.expect(b']', "`]` at the end of the fused location")?;
        Ok(self.raw(Raw::Fused(parts)))
    }

    /// `"file":1:2`, `"file":1:2 to 3:4`, `"name"`, `"name"(child)`.
    fn string_loc(&mut self, depth: usize) -> Result<u32> {
        let text = self.string_literal()?;
        if self.c.eat(b'(') {
            let child = self.loc(depth + 1)?;
            self.expect(b')', "`)` at the end of the named location")?;
            return Ok(self.raw(Raw::Name(text, child)));
        }
        if !self.c.eat(b':') {
            return Ok(self.raw(Raw::Name(text, UNKNOWN)));
        }
        let line = self.line_number()?;
        self.expect(b':', "`:` and the column")?;
        let column = self.line_number()?;
        let end = if self.c.eat_word("to") {
            let end_line = if self.c.peek() == b':' {
                line
            } else {
                self.line_number()?
            };
            self.expect(b':', "`:` and the last column")?;
            Some((end_line, self.line_number()?))
        } else {
            None
        };
        Ok(self.raw(Raw::Leaf(Loc::File {
            file: text,
            line,
            column,
            end,
        })))
    }

    fn line_number(&mut self) -> Result<u32> {
        let at = self.c.at();
        let number = self.c.digits().and_then(|d| d.parse().ok());
        number.ok_or_else(|| self.expected(at, "a line or column", "a number below 2^32"))
    }

    /// `= loc(…)` behind an alias's name at the top level.
    pub(super) fn define_loc_alias(&mut self, name: &'a str, at: usize) -> Result<()> {
        self.c.word();
        let target = self.loc_parens()?.index() as u32;
        let raw = match self.loc_aliases.get(name) {
            Some(&raw) => raw,
            None => {
                let raw = self.raw(Raw::Alias { at, target: None });
                self.loc_aliases.insert(name, raw);
                raw
            }
        };
        match self.locs.get_mut(raw as usize) {
            Some(Raw::Alias {
                target: slot @ None, ..
            }) => *slot = Some(target),
            _ => {
                return Err(
                    Error::input(format!("location alias `#{name}` is defined twice")).at(
                        &self.source,
                        self.c.item(at),
                        "the second definition",
                    ),
                );
            }
        }
        Ok(())
    }

    /// Interns all raw locations; gives the final id of each index.
    pub(super) fn resolve_locs(&mut self, locs: &mut Locs) -> Result<Vec<LocId>> {
        let mut done: Vec<Option<LocId>> = vec![None; self.locs.len()];
        let mut open = vec![false; self.locs.len()];
        let mut todo = Vec::new();
        for root in 0..self.locs.len() {
            todo.push(root);
            while let Some(&index) = todo.last() {
                if done[index].is_some() {
                    todo.pop();
                    continue;
                }
                let before = todo.len();
                let mut ready = true;
                self.children(index, &mut |child| {
                    if done[child as usize].is_none() {
                        ready = false;
                        todo.push(child as usize);
                    }
                })?;
                if !ready {
                    if open[index] {
                        return Err(self.cyclic_loc(index));
                    }
                    open[index] = true;
                    debug_assert!(todo.len() > before);
                    continue;
                }
                todo.pop();
                done[index] = Some(self.intern(index, &done, locs));
            }
        }
        Ok(done.into_iter().map(|id| id.unwrap_or(locs.unknown())).collect())
    }

    fn children(&self, index: usize, each: &mut dyn FnMut(u32)) -> Result<()> {
        match &self.locs[index] {
            Raw::Leaf(_) => {}
            Raw::Name(_, child) => each(*child),
            Raw::CallSite(callee, caller) => {
                each(*callee);
                each(*caller);
            }
            Raw::Fused(parts) => parts.iter().for_each(|&p| each(p)),
            Raw::Alias {
                target: Some(target), ..
            } => each(*target),
            Raw::Alias { at, target: None } => {
                return Err(Error::input("location alias is not defined")
                    .at(&self.source, self.c.item(*at), "used here")
                    .help(
                        "the text seems to be cut: Triton writes `#loc… = loc(…)` lines below the module",
                    ));
            }
        }
        Ok(())
    }

    fn cyclic_loc(&self, index: usize) -> Box<Error> {
        let error = Error::input("a location refers to itself");
        match &self.locs[index] {
            Raw::Alias { at, .. } => error.at(&self.source, self.c.item(*at), "through this alias"),
            _ => error,
        }
    }

    fn intern(&self, index: usize, done: &[Option<LocId>], locs: &mut Locs) -> LocId {
        let id = |raw: u32| done[raw as usize].unwrap_or(LocId::from_index(0));
        match &self.locs[index] {
            Raw::Leaf(loc) => locs.intern(loc.clone()),
            Raw::Name(name, child) => locs.intern(Loc::Name {
                name: name.clone(),
                child: id(*child),
            }),
            Raw::CallSite(callee, caller) => locs.intern(Loc::CallSite {
                callee: id(*callee),
                caller: id(*caller),
            }),
            Raw::Fused(parts) => locs.intern(Loc::Fused(parts.iter().map(|&p| id(p)).collect())),
            Raw::Alias { target, .. } => id(target.unwrap_or(UNKNOWN)),
        }
    }
}
