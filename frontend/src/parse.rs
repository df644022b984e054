//! Text to [`ast`](crate::ast), by `ruff_python_parser`: this module is the only one that knows that parser.
//!
//! Every file that Python 3.12 (and newer) accepts is read. Syntax that no kernel uses becomes a node called
//! `Other`, as do numbers and nestings beyond [`limits`], so that only a kernel that reaches
//! them is refused. Files are untrusted: their length and nesting are bounded, and no input overflows the stack.

mod depth;
mod expressions;
mod statements;

use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;

use ruff_python_ast::ModModule;
use ruff_python_parser::{ParseError, Parsed};
use ruff_text_size::{Ranged, TextRange};
use tilescope_diagnostics::{Error, Source};

use crate::ast::{Ident, Name, Span, Stmt};
use crate::limits;

/// Nesting up to which the parser's tree may be walked and freed on the caller's stack.
const SHALLOW: usize = 1_000;

/// Stack for parsing and freeing trees nested up to [`DEEPEST`]; touched only as far as it is used.
const BIG_STACK: usize = 256 << 20;

/// Nesting (as [`depth::bound`] counts it) beyond which a file is refused.
const DEEPEST: usize = 100_000;

/// Reads a Python file.
///
/// # Errors
/// Text that is not Python, at its place; files longer than [`limits::MAX_FILE_BYTES`] or nested absurdly.
pub fn parse(source: &Arc<Source>) -> Result<Vec<Stmt>, Box<Error>> {
    let text = source.text.as_str();
    if text.len() > limits::MAX_FILE_BYTES {
        return Err(Error::unsupported(format!(
            "{} is longer than {} MiB",
            source.name,
            limits::MAX_FILE_BYTES >> 20
        )));
    }
    let depth = depth::bound(text);
    if depth <= SHALLOW {
        let parsed = ruff_python_parser::parse_module(text).map_err(|e| syntax_error(source, &e))?;
        return Ok(Converter::default().module(parsed.syntax()));
    }
    if depth > DEEPEST {
        return Err(Error::unsupported(format!(
            "{} is nested too deeply to be read",
            source.name
        )));
    }
    parse_deep(source)
}

/// Parses on a thread with a big stack, and frees the parser's tree there too.
fn parse_deep(source: &Arc<Source>) -> Result<Vec<Stmt>, Box<Error>> {
    let no_thread = |_| {
        Error::unsupported(format!(
            "{} needs a thread to be read, and none starts",
            source.name
        ))
    };
    let thread = || std::thread::Builder::new().stack_size(BIG_STACK);
    let text = source.clone();
    let parser = thread()
        .spawn(move || ruff_python_parser::parse_module(&text.text))
        .map_err(no_thread)?;
    let parsed: Result<Parsed<ModModule>, ParseError> = parser
        .join()
        .map_err(|_| Error::unsupported(format!("{} cannot be read by the parser", source.name)))?;
    let parsed = parsed.map_err(|e| syntax_error(source, &e))?;
    let statements = Converter::default().module(parsed.syntax());
    let tree = std::mem::ManuallyDrop::new(parsed);
    // Without a thread the tree leaks: better than an overflow.
    if let Ok(freeing) = thread().spawn(move || drop(std::mem::ManuallyDrop::into_inner(tree))) {
        // Its result is nothing; a panic in it is of no consequence here.
        let _ = freeing.join();
    }
    Ok(statements)
}

fn syntax_error(source: &Arc<Source>, error: &ParseError) -> Box<Error> {
    Error::input("this is not valid Python").at(source, span(error.location).range(), error.error.to_string())
}

fn span(range: TextRange) -> Span {
    Span {
        start: range.start().to_u32(),
        end: range.end().to_u32(),
    }
}

/// Makes our nodes of the parser's.
#[derive(Default)]
struct Converter {
    /// Names met so far: one allocation each.
    names: HashSet<Name>,
    depth: usize,
}

impl Converter {
    fn module(&mut self, module: &ModModule) -> Vec<Stmt> {
        self.body(&module.body)
    }

    fn name(&mut self, name: &str) -> Name {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let name: Name = Rc::from(name);
        self.names.insert(name.clone());
        name
    }

    fn ident(&mut self, ident: &ruff_python_ast::Identifier) -> Ident {
        Ident {
            name: self.name(ident.as_str()),
            span: span(ident.range()),
        }
    }

    /// Runs `inner` one level deeper, or `too_deep` at the limit.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> T, too_deep: impl FnOnce() -> T) -> T {
        if self.depth >= limits::MAX_DEPTH {
            return too_deep();
        }
        self.depth += 1;
        let made = inner(self);
        self.depth -= 1;
        made
    }
}

#[cfg(test)]
mod tests;
