//! SSA names in scope, with uses before the definition.
//!
//! A name is visible from its definition to the end of its region and in the regions nested there.
//! A use may come first (a block below its dominator's text); then a value is made at once and the
//! definition takes it over.

use super::Parser;
use crate::entities::{EntityId, LocId, OpId, ValueId};
use crate::module::{Def, Value};
use crate::types::Type;
use std::collections::HashMap;
use std::sync::Arc;
use tilescope_diagnostics::{Error, Result};

/// What a name stands for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Binding {
    /// A block argument.
    Arg(ValueId),
    /// `count` results of an operation, the first at `first`.
    Results { op: OpId, first: u32, count: u32 },
}

/// A use of a value as written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Use<'a> {
    pub name: &'a str,
    pub number: u32,
    pub at: usize,
}

/// A value used before its definition.
#[derive(Debug, Clone, Copy)]
pub(super) struct Forward {
    value: ValueId,
    at: usize,
}

#[derive(Debug, Default)]
pub(super) struct Names<'a> {
    bound: HashMap<&'a str, Binding>,
    /// Names bound since the function began; a region takes back what it bound.
    log: Vec<&'a str>,
    pub(super) forward: HashMap<(&'a str, u32), Forward>,
}

impl<'a> Names<'a> {
    pub fn clear(&mut self) {
        self.bound.clear();
        self.log.clear();
        self.forward.clear();
    }

    pub fn mark(&self) -> usize {
        self.log.len()
    }

    pub fn unwind(&mut self, mark: usize) {
        for name in self.log.drain(mark..) {
            self.bound.remove(name);
        }
    }
}

/// A name to keep with a value: none for numbers, which only count.
pub(super) fn kept(name: &str) -> Option<Arc<str>> {
    let numbered = name.bytes().all(|b| b.is_ascii_digit());
    (!numbered).then(|| Arc::from(name))
}

impl<'a> Parser<'a> {
    /// `%x`, `%x#1`.
    pub(super) fn operand(&mut self) -> Result<Use<'a>> {
        let at = self.c.at();
        let Some(name) = self.c.sigil_name(b'%') else {
            return Err(self.expected(at, "this", "a value, `%name`"));
        };
        let mut number = 0;
        if self.c.here() == b'#' {
            self.c.seek(self.c.end() + 1);
            number = match self.c.digits().and_then(|d| d.parse().ok()) {
                Some(number) => number,
                None => return Err(self.expected(at, "this value", "the number of a result after `#`")),
            };
        }
        Ok(Use { name, number, at })
    }

    /// `%a, %b`: one at least.
    pub(super) fn operands(&mut self) -> Result<Vec<Use<'a>>> {
        let mut uses = vec![self.operand()?];
        while self.c.eat(b',') {
            uses.push(self.operand()?);
        }
        Ok(uses)
    }

    fn lookup(&self, u: Use<'a>) -> Result<Option<ValueId>> {
        let Some(binding) = self.names.bound.get(u.name) else {
            return Ok(self.names.forward.get(&(u.name, u.number)).map(|f| f.value));
        };
        let found = match *binding {
            Binding::Arg(value) if u.number == 0 => Some(value),
            Binding::Arg(_) => None,
            Binding::Results { op, first, count } if u.number < count => {
                self.f.ops[op].results.get((first + u.number) as usize).copied()
            }
            Binding::Results { .. } => None,
        };
        match found {
            Some(value) => Ok(Some(value)),
            None => Err(
                Error::input(format!("`%{}` has no result number {}", u.name, u.number)).at(
                    &self.source,
                    self.c.item(u.at),
                    "used here",
                ),
            ),
        }
    }

    /// The value of a use that the text gives this type.
    pub(super) fn resolve(&mut self, u: Use<'a>, ty: Type) -> Result<ValueId> {
        if let Some(value) = self.lookup(u)? {
            let found = self.f.values[value].ty;
            return if found == ty {
                Ok(value)
            } else {
                Err(self.wrong_type(u, found, ty))
            };
        }
        let loc = LocId::from_index(super::locs::UNKNOWN as usize);
        let name = if u.number == 0 { kept(u.name) } else { None };
        let value = self.f.values.push(Value {
            ty,
            def: Def::Result(OpId::from_index(0), 0),
            name,
            loc,
        });
        self.names
            .forward
            .insert((u.name, u.number), Forward { value, at: u.at });
        Ok(value)
    }

    pub(super) fn resolve_all(&mut self, uses: &[Use<'a>], types: &[Type]) -> Result<Vec<ValueId>> {
        if uses.len() != types.len() {
            let at = self.c.end();
            return Err(
                Error::input(format!("{} operands but {} types", uses.len(), types.len())).at(
                    &self.source,
                    uses.first().map_or(at, |u| u.at)..at,
                    "in this operation",
                ),
            );
        }
        let mut values = Vec::with_capacity(uses.len());
        for (&u, &ty) in uses.iter().zip(types) {
            values.push(self.resolve(u, ty)?);
        }
        Ok(values)
    }

    fn wrong_type(&self, u: Use<'a>, found: Type, ty: Type) -> Box<Error> {
        Error::input(format!("`%{}` is `{found}`, used as `{ty}`", u.name)).at(
            &self.source,
            self.c.item(u.at),
            format!("expected a value of type `{ty}`"),
        )
    }

    fn undefined(&self, name: &str, at: usize) -> Box<Error> {
        let error =
            Error::input(format!("`%{name}` is not defined")).at(&self.source, self.c.item(at), "used here");
        let letters = !name.starts_with(|c: char| c.is_ascii_digit());
        match super::similar(name, self.names.bound.keys().copied()).filter(|_| letters) {
            Some(guess) => error.help(format!("did you mean `%{guess}`?")),
            None => error,
        }
    }

    fn bind(&mut self, name: &'a str, binding: Binding, at: usize) -> Result<()> {
        if self.names.bound.insert(name, binding).is_some() {
            return Err(Error::input(format!("`%{name}` is defined twice")).at(
                &self.source,
                self.c.item(at),
                "the second definition",
            ));
        }
        self.names.log.push(name);
        Ok(())
    }

    /// A new value for a definition, or the one that an earlier use made.
    pub(super) fn define(&mut self, name: Option<(&'a str, u32, usize)>, data: Value) -> Result<ValueId> {
        if let Some((name, number, at)) = name
            && !self.names.forward.is_empty()
            && let Some(forward) = self.names.forward.remove(&(name, number))
        {
            let used = self.f.values[forward.value].ty;
            if used != data.ty {
                let u = Use { name, number, at };
                return Err(self.wrong_type(u, data.ty, used));
            }
            self.f.values[forward.value] = data;
            return Ok(forward.value);
        }
        Ok(self.f.values.push(data))
    }

    /// Binds the name of a block argument.
    pub(super) fn bind_arg(&mut self, name: &'a str, value: ValueId, at: usize) -> Result<()> {
        self.bind(name, Binding::Arg(value), at)
    }

    /// Binds a name to results of an operation.
    pub(super) fn bind_results(
        &mut self,
        name: &'a str,
        op: OpId,
        first: u32,
        count: u32,
        at: usize,
    ) -> Result<()> {
        self.bind(name, Binding::Results { op, first, count }, at)
    }

    /// At the end of a function every use must have found its definition.
    pub(super) fn check_forward(&mut self) -> Result<()> {
        let first = self
            .names
            .forward
            .iter()
            .min_by_key(|(_, f)| f.at)
            .map(|(k, f)| (k.0, f.at));
        match first {
            Some((name, at)) => Err(self.undefined(name, at)),
            None => Ok(()),
        }
    }
}
