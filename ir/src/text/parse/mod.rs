//! The reader: one pass over the text, one method per row of the op table.
//!
//! An operation in pretty form is read by the method of its row (in the file of its family), one in
//! generic form by `generic`. Both fill a [`draft::Draft`] with operands, result types and a dictionary;
//! `inherent` then turns the dictionary into the operation's own attributes, so each attribute is
//! understood in one place, whether a version writes it as a keyword, a number or a dictionary entry.

mod arith;
mod attrs;
mod control;
mod draft;
mod function;
mod generic;
mod inherent;
mod locs;
mod memory;
mod names;
mod region;
mod shape;
mod types;

use super::lexer::Cursor;
use super::{MAX_DEPTH, MAX_TEXT};
use crate::attrs::AttrValue;
use crate::entities::{Arena, LocId};
use crate::module::{Function, Module};
use crate::ops::OpCode;
use crate::types::Type;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;
use tilescope_diagnostics::{Error, Result, Source};

/// Reads a TTIR text.
///
/// # Errors
/// The text is not MLIR or not TTIR (kind `Input`), or it is, but uses what this version does not
/// model, such as layouts or an unknown operation of a known dialect (kind `Unsupported`). The error
/// points at the place and says what was expected.
pub fn parse(source: &Arc<Source>) -> Result<Module> {
    if source.text.len() > MAX_TEXT {
        return Err(Error::unsupported(format!(
            "a text of more than {} MiB",
            MAX_TEXT >> 20
        )));
    }
    Parser::new(source).module()
}

struct Parser<'a> {
    source: Arc<Source>,
    c: Cursor<'a>,
    /// Locations as read; see `locs`.
    locs: Vec<locs::Raw>,
    loc_aliases: HashMap<&'a str, u32>,
    attr_aliases: HashMap<&'a str, AttrValue>,
    /// The function being read, its names in scope, and how deep in regions we are.
    f: Function,
    names: names::Names<'a>,
    labels: region::Labels<'a>,
    depth: usize,
    type_depth: usize,
    /// Names of the functions read so far.
    functions: HashSet<Arc<str>>,
    /// The function type read last as an attribute.
    last_function_type: Option<(Vec<Type>, Vec<Type>)>,
}

impl<'a> Parser<'a> {
    fn new(source: &'a Arc<Source>) -> Self {
        let unknown = crate::loc::Locs::default().unknown();
        Parser {
            source: source.clone(),
            c: Cursor::new(&source.text),
            locs: vec![locs::Raw::Leaf(crate::loc::Loc::Unknown)],
            loc_aliases: HashMap::new(),
            attr_aliases: HashMap::new(),
            f: Function::new("", unknown),
            names: names::Names::default(),
            labels: region::Labels::default(),
            depth: 0,
            type_depth: 0,
            functions: HashSet::new(),
            last_function_type: None,
        }
    }

    fn module(mut self) -> Result<Module> {
        let mut module = Module {
            source: Some(self.source.clone()),
            ..Module::default()
        };
        let mut seen = false;
        while !self.c.is_end() {
            let at = self.c.at();
            match self.c.here() {
                b'#' => self.alias(at)?,
                b'"' if !seen && self.peek_string() == "builtin.module" => {
                    seen = true;
                    self.generic_module(&mut module)?;
                }
                _ if !seen && self.c.peek_word() == "module" => {
                    seen = true;
                    self.pretty_module(&mut module)?;
                }
                _ if self.at_function() => {
                    seen = true;
                    self.function(&mut module)?;
                }
                _ => {
                    return Err(self
                        .expected(at, "this text", "a module")
                        .help("TTIR text is `module { tt.func … }` with `#loc…` lines around it"));
                }
            }
        }
        if !seen {
            let at = self.c.at();
            return Err(self
                .expected(at, "the text", "a module")
                .help("the file is empty"));
        }
        self.finish(&mut module)?;
        Ok(module)
    }

    /// True in front of `tt.func`, pretty or generic.
    fn at_function(&mut self) -> bool {
        match self.c.peek() {
            b'"' => self.peek_string() == "tt.func",
            _ => self.c.peek_word() == "tt.func",
        }
    }

    fn peek_string(&mut self) -> String {
        let at = self.c.at();
        let text = match self.c.string() {
            Some(Ok(text)) => text.into_owned(),
            _ => String::new(),
        };
        self.c.seek(at);
        text
    }

    /// `#loc3 = loc(…)`, `#name = #dialect.attr<…>`.
    fn alias(&mut self, at: usize) -> Result<()> {
        let Some(name) = self.c.sigil_name(b'#') else {
            return Err(self.expected(at, "an alias", "a name after `#`"));
        };
        self.expect(b'=', "`=` after the alias's name")?;
        if self.c.peek_word() == "loc" {
            return self.define_loc_alias(name, at);
        }
        let value = self.attr_value(0)?;
        if self.attr_aliases.insert(name, value).is_some() {
            return Err(Error::input(format!("alias `#{name}` is defined twice")).at(
                &self.source,
                self.c.item(at),
                "the second definition",
            ));
        }
        Ok(())
    }

    fn pretty_module(&mut self, module: &mut Module) -> Result<()> {
        self.c.word();
        if self.c.peek() == b'@' {
            self.symbol()?;
        }
        if self.c.eat_word("attributes") {
            let mut dict = attrs::Dict::default();
            self.attr_dict(&mut dict)?;
            module.attrs = dict.into_list();
        }
        self.expect(b'{', "`{` of the module")?;
        while !self.c.eat(b'}') {
            self.module_item(module)?;
        }
        module.loc = Some(self.loc_or_unknown()?);
        Ok(())
    }

    fn module_item(&mut self, module: &mut Module) -> Result<()> {
        let at = self.c.at();
        if self.at_function() {
            return self.function(module);
        }
        let word = self.c.peek_word();
        if word.contains('.') || word == "module" {
            return Err(self
                .unsupported(at, format!("`{word}` in a module"))
                .note("a TTIR module holds `tt.func` only"));
        }
        Err(self.expected(at, "what is in the module", "`tt.func` or `}`"))
    }

    fn generic_module(&mut self, module: &mut Module) -> Result<()> {
        self.string_literal()?;
        let mut dict = attrs::Dict::default();
        self.expect(b'(', "`(` of the operands")?;
        self.expect(b')', "`)`, a module has no operands")?;
        self.properties(&mut dict)?;
        self.expect(b'(', "`(` of the region")?;
        self.expect(b'{', "`{` of the region")?;
        while !self.c.eat(b'}') {
            if self.c.peek() == b'^' {
                self.c.sigil_name(b'^');
                self.expect(b':', "`:` after the label")?;
                continue;
            }
            self.module_item(module)?;
        }
        self.expect(b')', "`)` after the region")?;
        self.attr_dict(&mut dict)?;
        self.expect(b':', "`:` and the type")?;
        self.function_type()?;
        dict.take("sym_name");
        dict.take("sym_visibility");
        module.attrs = dict.into_list();
        module.loc = Some(self.loc_or_unknown()?);
        Ok(())
    }

    /// Replaces the locations of the whole module by final ones.
    fn finish(&mut self, module: &mut Module) -> Result<()> {
        let mut locs = std::mem::take(&mut module.locs);
        let ids = self.resolve_locs(&mut locs)?;
        let resolve = |loc: &mut LocId| {
            *loc = ids
                .get(crate::EntityId::index(*loc))
                .copied()
                .unwrap_or(locs.unknown());
        };
        if let Some(loc) = &mut module.loc {
            resolve(loc);
        }
        let mut funcs = Arena::new();
        for mut f in std::mem::take(&mut module.funcs).into_values() {
            resolve(&mut f.loc);
            f.ops.values_mut().for_each(|op| resolve(&mut op.loc));
            f.values.values_mut().for_each(|v| resolve(&mut v.loc));
            funcs.push(f);
        }
        module.funcs = funcs;
        module.locs = locs;
        Ok(())
    }

    // Small readers used everywhere.

    fn expect(&mut self, byte: u8, what: &str) -> Result<()> {
        if self.c.eat(byte) {
            return Ok(());
        }
        let at = self.c.at();
        Err(self.expected(at, "this", what))
    }

    fn arrow(&mut self) -> Result<()> {
        if self.c.eat_str("->") {
            return Ok(());
        }
        let at = self.c.at();
        Err(self.expected(at, "this", "`->` and the result type"))
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.c.eat_word(word) {
            return Ok(());
        }
        let at = self.c.at();
        Err(self.expected(at, "this", &format!("`{word}`")))
    }

    fn string_literal(&mut self) -> Result<Arc<str>> {
        let at = self.c.at();
        match self.c.string() {
            Some(Ok(text)) => Ok(text.into()),
            Some(Err((range, text))) => Err(self.bad_string(range, text)),
            None => Err(self.expected(at, "this", "a string")),
        }
    }

    /// `@name` or `@"any text"`.
    fn symbol(&mut self) -> Result<Arc<str>> {
        let at = self.c.at();
        if self.c.here() != b'@' {
            return Err(self.expected(at, "this", "a function's name, `@name`"));
        }
        if let Some(name) = self.c.sigil_name(b'@') {
            return Ok(name.into());
        }
        self.c.seek(at + 1);
        self.string_literal()
    }

    // Errors.

    /// "`what` is not expected": points at `at` and says what should be there.
    fn expected(&self, at: usize, what: &str, expected: &str) -> Box<Error> {
        let range = self.c.item(at);
        let found = self.c.slice(range.clone());
        let message = if found.is_empty() {
            "the text ends here".to_string()
        } else if what == "this" {
            format!("`{}` is not expected here", found.trim_end())
        } else {
            format!("{what} is not understood")
        };
        Error::input(message).at(&self.source, range, format!("expected {expected}"))
    }

    fn unsupported(&self, at: usize, what: String) -> Box<Error> {
        Error::unsupported(format!("{what} is not supported")).at(&self.source, self.c.item(at), "here")
    }

    fn bad_string(&self, range: Range<usize>, text: &str) -> Box<Error> {
        Error::input("the string is not well-formed").at(&self.source, range, text)
    }

    fn too_deep(&self, at: usize) -> Box<Error> {
        Error::input(format!("nested deeper than {MAX_DEPTH} levels")).at(
            &self.source,
            self.c.item(at),
            "here",
        )
    }

    /// An operation's name that is in no table.
    fn unknown_op(&self, at: usize, name: &str) -> Box<Error> {
        const DIALECTS: [&str; 13] = [
            "tt", "arith", "math", "scf", "cf", "ub", "llvm", "gpu", "ttg", "ttng", "nvvm", "nvgpu", "amdgpu",
        ];
        let dialect = name.split('.').next().unwrap_or("");
        let guess = similar(name, OpCode::ALL.iter().map(|c| c.info().mnemonic));
        let mut error = if DIALECTS.contains(&dialect) {
            Error::unsupported(format!("operation `{name}` is not supported"))
        } else {
            Error::input(format!("unknown operation `{name}`"))
        };
        error = error.at(
            &self.source,
            self.c.item(at),
            "not an operation of TTIR that this version knows",
        );
        if matches!(dialect, "ttg" | "ttng" | "nvgpu" | "nvvm" | "amdgpu") {
            error = error.note("tilescope works on TTIR, before Triton lowers it to a GPU");
        }
        match guess {
            Some(guess) => error.help(format!("did you mean `{guess}`?")),
            None => error,
        }
    }
}

/// The candidate closest to a word, if it is close enough to be a slip of the pen.
fn similar<'w>(word: &str, candidates: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let limit = word.len().div_ceil(3).min(3);
    candidates
        .map(|c| (distance(word.as_bytes(), c.as_bytes(), limit), c))
        .min_by_key(|&(d, _)| d)
        .filter(|&(d, _)| d <= limit)
        .map(|(_, c)| c)
}

/// Edit distance; more than `limit` where the lengths alone say so.
fn distance(a: &[u8], b: &[u8], limit: usize) -> usize {
    if a.len().abs_diff(b.len()) > limit || a.len() > 64 {
        return limit + 1;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
