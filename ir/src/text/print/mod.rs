//! The printer: Triton 3.9's syntax, one method per row of the op table.
//!
//! Value names of the text are kept; values without one are numbered as MLIR does. Every location is
//! written through a `#loc…` alias defined below the module.

mod attrs;
mod forms;
mod names;
mod ops;

use super::lexer;
use crate::entities::{BlockId, EntityId, LocId, OpId, RegionId, ValueId};
use crate::loc::Loc;
use crate::module::{Function, Module, Op};
use crate::ops::{OpCode, OpVisitor};
use names::Names;
use std::fmt::Write;

/// Writes a module as TTIR text.
///
/// Block pointers, which Triton dropped in 3.7, are written as 3.6 does.
pub fn print(module: &Module) -> String {
    let mut printer = Printer {
        module,
        out: String::new(),
        indent: 0,
        names: Names::default(),
        labels: vec![None; module.locs.len()],
        used: Vec::new(),
    };
    printer.module();
    printer.out
}

struct Printer<'m> {
    module: &'m Module,
    out: String,
    indent: usize,
    names: Names,
    /// Alias number of each location that was used.
    labels: Vec<Option<u32>>,
    used: Vec<LocId>,
}

/// True where a name needs no quotes.
fn is_bare(name: &str) -> bool {
    let mut cursor = lexer::Cursor::new(name);
    cursor.word().is_some_and(|w| w.len() == name.len())
}

/// A terminator that says nothing that its parent at `loc` does not say.
fn is_elided(op: &Op, loc: LocId) -> bool {
    op.code == OpCode::Yield && op.operands.is_empty() && op.extra.is_empty() && op.loc == loc
}

impl<'m> Printer<'m> {
    fn module(&mut self) {
        self.out.push_str("module");
        if !self.module.attrs.is_empty() {
            self.out.push_str(" attributes");
            self.dict(&[], &self.module.attrs);
        }
        self.out.push_str(" {\n");
        self.indent = 1;
        for (_, f) in self.module.funcs.iter() {
            self.function(f);
        }
        self.out.push('}');
        if let Some(loc) = self.module.loc {
            self.loc(loc);
        }
        self.out.push('\n');
        self.aliases();
    }

    fn function(&mut self, f: &Function) {
        self.names = Names::of(f);
        self.line_start();
        let visibility = if f.public { "public" } else { "private" };
        let _ = write!(self.out, "tt.func {visibility} ");
        self.symbol(&f.name);
        self.out.push('(');
        for (i, &param) in f.params().iter().enumerate() {
            self.comma(i);
            self.value(param);
            let _ = write!(self.out, ": {}", f.ty(param));
            if let Some(attrs) = f.param_attrs.get(i) {
                self.dict(&[], attrs);
            }
            self.loc(f.values[param].loc);
        }
        self.out.push(')');
        self.function_results(f);
        if !f.attrs.is_empty() {
            self.out.push_str(" attributes");
            self.dict(&[], &f.attrs);
        }
        self.out.push(' ');
        self.region(f, f.body, false, None);
        self.loc(f.loc);
        self.out.push('\n');
    }

    fn function_results(&mut self, f: &Function) {
        if f.results.is_empty() {
            return;
        }
        let attrs = |i: usize| f.result_attrs.get(i).filter(|a| !a.is_empty());
        let single = f.results.len() == 1 && attrs(0).is_none();
        self.out.push_str(if single { " -> " } else { " -> (" });
        for (i, ty) in f.results.iter().enumerate() {
            self.comma(i);
            let _ = write!(self.out, "{ty}");
            if let Some(attrs) = attrs(i) {
                self.dict(&[], attrs);
            }
        }
        if !single {
            self.out.push(')');
        }
    }

    /// `{ … }`; the entry block's label is left out where its arguments are written elsewhere.
    ///
    /// With `elided`, MLIR adds the terminator at that place when it reads the text.
    fn region(&mut self, f: &Function, region: RegionId, label_entry: bool, elided: Option<LocId>) {
        self.out.push_str("{\n");
        self.indent += 1;
        for (i, &block) in f.regions[region].blocks.iter().enumerate() {
            if i > 0 || label_entry && !f.blocks[block].args.is_empty() {
                self.label(f, block);
            }
            for &op in &f.blocks[block].ops {
                if elided.is_none_or(|loc| !is_elided(&f.ops[op], loc)) {
                    self.op(f, op);
                }
            }
        }
        self.indent -= 1;
        self.line_start();
        self.out.push('}');
    }

    fn label(&mut self, f: &Function, block: BlockId) {
        self.indent -= 1;
        self.line_start();
        self.indent += 1;
        let _ = write!(self.out, "^bb{}", self.names.block(block));
        let args = &f.blocks[block].args;
        if !args.is_empty() {
            self.out.push('(');
            for (i, &arg) in args.iter().enumerate() {
                self.comma(i);
                self.value(arg);
                let _ = write!(self.out, ": {}", f.ty(arg));
                self.loc(f.values[arg].loc);
            }
            self.out.push(')');
        }
        self.out.push_str(":\n");
    }

    fn op(&mut self, f: &Function, id: OpId) {
        self.line_start();
        let op = &f.ops[id];
        let mut groups = self.names.groups(f, id).peekable();
        let has_results = groups.peek().is_some();
        for (i, (value, count)) in groups.enumerate() {
            self.comma(i);
            self.names.write_definition(&mut self.out, value);
            if count > 1 {
                let _ = write!(self.out, ":{count}");
            }
        }
        if has_results {
            self.out.push_str(" = ");
        }
        if self.is_generic(f, op) {
            let _ = write!(self.out, "\"{}\"", op.code);
        } else {
            self.out.push_str(op.code.info().mnemonic);
        }
        self.visit(f, id);
        self.loc(op.loc);
        self.out.push('\n');
    }

    /// True for operations that MLIR has no short form for, and for loops whose short form would drop
    /// the locations of the values they carry.
    fn is_generic(&self, f: &Function, op: &Op) -> bool {
        match op.code {
            OpCode::Reduce | OpCode::Scan | OpCode::MapElementwise => true,
            OpCode::For | OpCode::While => {
                let entry = op.regions.first().and_then(|&r| f.regions[r].blocks.first());
                let args = entry.map_or(&[][..], |&b| &f.blocks[b].args);
                args.iter()
                    .any(|&arg| f.values[arg].loc != self.module.locs.unknown())
            }
            _ => false,
        }
    }

    // Pieces.

    fn line_start(&mut self) {
        for _ in 0..self.indent {
            self.out.push_str("  ");
        }
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push_str(", ");
        }
    }

    fn value(&mut self, value: ValueId) {
        self.names.write(&mut self.out, value);
    }

    fn values(&mut self, values: &[ValueId]) {
        for (i, &value) in values.iter().enumerate() {
            self.comma(i);
            self.value(value);
        }
    }

    fn types(&mut self, f: &Function, values: &[ValueId]) {
        for (i, &value) in values.iter().enumerate() {
            self.comma(i);
            let _ = write!(self.out, "{}", f.ty(value));
        }
    }

    fn symbol(&mut self, name: &str) {
        self.out.push('@');
        if is_bare(name) {
            self.out.push_str(name);
        } else {
            self.string(name);
        }
    }

    fn string(&mut self, text: &str) {
        self.out.push_str(&attrs::quoted(text));
    }

    // Locations.

    /// ` loc(…)`
    fn loc(&mut self, loc: LocId) {
        self.out.push_str(" loc(");
        self.loc_ref(loc);
        self.out.push(')');
    }

    fn loc_ref(&mut self, loc: LocId) {
        self.use_loc(loc);
        match self.labels.get(loc.index()) {
            Some(Some(0)) => self.out.push_str("#loc"),
            Some(Some(number)) => {
                let _ = write!(self.out, "#loc{number}");
            }
            _ => self.out.push_str("unknown"),
        }
    }

    /// Gives a location its alias, unless it is the unknown one.
    fn use_loc(&mut self, loc: LocId) {
        if loc == self.module.locs.unknown() {
            return;
        }
        if let Some(label @ None) = self.labels.get_mut(loc.index()) {
            *label = Some(self.used.len() as u32);
            self.used.push(loc);
        }
    }

    /// The definitions; MLIR wants those that others refer to first, which is the order of ids.
    fn aliases(&mut self) {
        let module = self.module;
        let mut next = 0;
        while let Some(&loc) = self.used.get(next) {
            next += 1;
            let children = match module.locs.get(loc) {
                Loc::Name { child, .. } => &[*child],
                Loc::CallSite { callee, caller } => &[*callee, *caller][..],
                Loc::Fused(parts) => parts.as_slice(),
                _ => &[],
            };
            children.iter().for_each(|&child| self.use_loc(child));
        }
        let mut used = std::mem::take(&mut self.used);
        used.sort_unstable_by_key(|loc| loc.index());
        for loc in used {
            self.loc_ref(loc);
            self.out.push_str(" = loc(");
            match module.locs.get(loc) {
                Loc::Unknown => self.out.push_str("unknown"),
                Loc::File {
                    file,
                    line,
                    column,
                    end,
                } => {
                    self.string(file);
                    let _ = write!(self.out, ":{line}:{column}");
                    if let Some((line, column)) = end {
                        let _ = write!(self.out, " to {line}:{column}");
                    }
                }
                Loc::Name { name, child } => {
                    self.string(name);
                    if *child != module.locs.unknown() {
                        self.out.push('(');
                        self.loc_ref(*child);
                        self.out.push(')');
                    }
                }
                Loc::CallSite { callee, caller } => {
                    self.out.push_str("callsite(");
                    self.loc_ref(*callee);
                    self.out.push_str(" at ");
                    self.loc_ref(*caller);
                    self.out.push(')');
                }
                Loc::Fused(parts) => {
                    self.out.push_str("fused[");
                    for (i, &part) in parts.iter().enumerate() {
                        self.comma(i);
                        self.loc_ref(part);
                    }
                    self.out.push(']');
                }
            }
            self.out.push_str(")\n");
        }
    }
}
