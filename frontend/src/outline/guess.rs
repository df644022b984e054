//! A launch of a kernel, guessed from its text: types, roles, shapes, sizes, the grid.
//!
//! Every entry says why it is as it is; the reader corrects it. Where the text says nothing, small numbers that
//! divide nothing evenly are taken, so that masks have something to do.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::{Access, Bound, Does, Facts, Index, follow, named_like_a_block};
use super::walk;
use crate::ast::{Expr, ExprKind, Name, UnaryOp};
use crate::source::{KernelInfo, KernelParam, Program};
use crate::specialize::annotated_type;
use crate::types::{Dtype, Elem};

/// A launch to fill in.
#[derive(Debug, Default)]
pub struct LaunchGuess {
    /// Variables: sizes.
    pub vars: Vec<Guess>,
    /// Run-time parameters, in order.
    pub args: Vec<Guess>,
    /// Compile-time parameters, in order.
    pub constexprs: Vec<Guess>,
    /// Tensors that descriptors describe.
    pub tensors: Vec<Guess>,
    /// An expression per axis.
    pub grid: Vec<String>,
    /// Why the grid is so.
    pub grid_why: String,
}

/// A value of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum GuessedValue {
    /// An expression of the launch file.
    Expression(String),
    /// A size that nothing fixes: its value, and what other values it may have.
    Size(i64, (i64, i64)),
    /// A tensor.
    Tensor {
        /// Its elements' type as launch files spell it.
        dtype: &'static str,
        /// An expression per dimension.
        shape: Vec<String>,
        /// `in`, `out` or `inout`.
        role: &'static str,
        /// How it is filled, where that is not the default.
        fill: Option<&'static str>,
    },
    /// A tensor descriptor.
    Descriptor {
        /// The tensor that it describes.
        of: String,
        /// Its block.
        block: Vec<u32>,
    },
    /// Left to the kernel: its default, or what configurations and heuristics say.
    Left(String),
}

/// An entry.
#[derive(Debug, Clone)]
pub struct Guess {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: GuessedValue,
    /// Why, in a few words.
    pub why: String,
}

/// Guesses a launch of a kernel.
pub fn guess(program: &Program<'_>, kernel: &KernelInfo) -> LaunchGuess {
    let functions: Vec<_> = program.functions(kernel.module);
    let constexprs = kernel.params.iter().filter(|param| param.constexpr);
    let constexprs: BTreeSet<Name> = constexprs.map(|param| param.name.clone()).collect();
    let facts = follow(&kernel.def, &functions, constexprs);
    let source = program.source(kernel.module);
    let line = |offset: u32| source.line_column(offset as usize).0;
    Guesser {
        kernel,
        facts: &facts,
        line: &line,
        vars: BTreeMap::new(),
        shapes: BTreeMap::new(),
    }
    .launch()
}

struct Guesser<'a> {
    kernel: &'a KernelInfo,
    facts: &'a Facts,
    /// The line of a byte offset.
    line: &'a dyn Fn(u32) -> usize,
    /// Reasons for variables, by name, and values that are not free.
    vars: BTreeMap<String, (Option<i64>, String)>,
    /// Shapes of tensors, and what each stride parameter of theirs must be.
    shapes: BTreeMap<Name, Shape>,
}

#[derive(Debug, Default)]
struct Shape {
    dims: Vec<String>,
    strides: BTreeMap<Name, String>,
}

impl Guesser<'_> {
    fn launch(mut self) -> LaunchGuess {
        let mut guess = LaunchGuess::default();
        for (name, accesses) in &self.facts.accesses {
            let shape = self.shape(accesses);
            self.shapes.insert(name.clone(), shape);
        }
        (guess.grid, guess.grid_why) = self.grid();
        for param in &self.kernel.params {
            match param.constexpr {
                true => {
                    let (value, why) = self.constexpr(param);
                    guess.constexprs.push(entry(&param.name, value, why));
                }
                false => self.argument(param, &mut guess),
            }
        }
        // In the order in which parameters name them; others after.
        let order = |name: &str| self.kernel.params.iter().position(|p| *p.name == *name);
        let mut vars: Vec<_> = self.vars.iter().collect();
        vars.sort_by_key(|(name, _)| order(name).unwrap_or(usize::MAX));
        for (at, (name, (value, why))) in vars.iter().enumerate() {
            let value = match value {
                Some(fixed) => GuessedValue::Expression(fixed.to_string()),
                None => {
                    let size = free_size(at, vars.len());
                    GuessedValue::Size(size, (1, 4 * size))
                }
            };
            guess.vars.push(entry(name, value, why.clone()));
        }
        guess
    }

    /// The name of a size, as a variable.
    fn size(&mut self, name: &str, why: &str) -> String {
        self.vars
            .entry(name.to_string())
            .or_insert_with(|| (None, why.to_string()));
        name.to_string()
    }

    /// The parameter that bounds an index.
    fn bound<'b>(&'b self, index: &'b Index) -> Option<&'b Name> {
        if index.modulus.is_some() {
            return index.modulus.as_ref();
        }
        let mut bounds = self.facts.bounds.iter();
        let fits = |bound: &&Bound| {
            bound.index.names.intersection(&index.names).next().is_some() || bound.index == *index
        };
        bounds.find(fits).map(|bound| &bound.size)
    }

    /// The number of different values of an index, as an expression.
    fn extent(&mut self, index: &Index) -> String {
        if let Some(size) = self.bound(index).cloned() {
            return self.size(&size, "an index is compared with it");
        }
        let block = index.ranges.first().filter(|_| index.ranges.len() == 1);
        match (block, index.axes, index.looped) {
            (Some(block), 0, false) => self.block(block),
            (Some(block), axes, _) if axes != 0 => {
                let blocks = self.blocks(axes.trailing_zeros() as u8);
                let block = self.block(block);
                format!("{blocks} * {block}")
            }
            // Part of a block after another, in a loop.
            (None, axes, _) if axes != 0 && index.scaled.iter().any(|(_, block)| !self.is_left(block)) => {
                let mut scaled = index.scaled.iter().filter(|(_, block)| !self.is_left(block));
                let Some((axis, block)) = scaled.next().cloned() else {
                    return String::from("1");
                };
                let blocks = self.axis(axis);
                let block = self.block(&block);
                product(&[&blocks, &block])
            }
            (None, axes, _) if axes != 0 => self.rows(axes.trailing_zeros() as u8),
            _ => {
                let name = format!("n_{}", index.names.first().map_or("elements", |name| name));
                self.size(&name, "nothing in the kernel bounds this index")
            }
        }
    }

    /// Whether a parameter gets its value from the kernel, after shapes are evaluated.
    fn is_left(&self, name: &Name) -> bool {
        let param = self.kernel.params.iter().find(|param| param.name == *name);
        param.is_some_and(|param| self.left_to_the_kernel(param).is_some())
    }

    /// The number of programs of an axis that takes a row each.
    fn rows(&mut self, axis: u8) -> String {
        // Where programs take blocks, what has one element for each has as many as there are blocks; shapes are
        // evaluated before what the kernel chooses by itself.
        let mut blocks = self
            .facts
            .scaled
            .iter()
            .filter(|(a, _)| *a == axis)
            .map(|(_, block)| block);
        let first = blocks.next();
        if first.is_some() && first.into_iter().chain(blocks).all(|block| !self.is_left(block)) {
            return self.axis(axis);
        }
        let bounds = self.facts.bounds.iter();
        let mut own = bounds.filter(|bound| {
            let index = &bound.index;
            index.axes == 1 << axis && index.ranges.is_empty() && index.scaled.is_empty()
        });
        if let Some(bound) = own.next() {
            let size = bound.size.clone();
            return self.size(&size, "programs are compared with it");
        }
        let name = match axis {
            0 => String::from("n_rows"),
            axis => format!("n_programs_{axis}"),
        };
        self.size(&name, "programs of this axis: each takes one of them")
    }

    /// The size of a block as a variable: strides are evaluated before compile-time parameters.
    fn block(&mut self, name: &Name) -> String {
        let size = if self.facts.blocks.len() <= 1 { 256 } else { 32 };
        self.vars
            .entry(name.to_string())
            .or_insert((Some(size), "a block that nothing masks: a power of two".into()));
        name.to_string()
    }

    fn blocks(&mut self, axis: u8) -> String {
        let name = match axis {
            0 => String::from("n_blocks"),
            axis => format!("n_blocks_{axis}"),
        };
        self.vars.entry(name.clone()).or_insert((
            Some(4),
            "nothing in the kernel says how many blocks there are".into(),
        ));
        name
    }

    fn grid(&mut self) -> (Vec<String>, String) {
        if self.facts.axes == 0 {
            return (
                vec!["1".into()],
                "the kernel does not ask for its program's number".into(),
            );
        }
        let last = (0..3)
            .rev()
            .find(|axis| self.facts.axes & (1 << axis) != 0)
            .unwrap_or(0);
        let axes = (0..=last).map(|axis| match self.facts.axes & (1 << axis) {
            0 => "1".into(),
            _ => self.axis(axis),
        });
        let grid = axes.collect();
        (
            grid,
            "from tl.program_id, the blocks that it is multiplied by, and what indices are compared with"
                .into(),
        )
    }

    fn axis(&mut self, axis: u8) -> String {
        let blocks: Vec<Name> = self
            .facts
            .scaled
            .iter()
            .filter(|(a, _)| *a == axis)
            .map(|(_, block)| block.clone())
            .collect();
        let mut factors = Vec::new();
        for block in &blocks {
            let bounds = self.facts.bounds.iter();
            let mut bounded = bounds.filter(|bound| {
                let index = &bound.index;
                index.scaled.contains(&(axis, block.clone())) && !index.ranges.is_empty()
            });
            if let Some(bound) = bounded.next() {
                let size = bound.size.clone();
                let size = self.size(&size, "an index is compared with it");
                factors.push(format!("cdiv({size}, {block})"));
            }
        }
        match (factors.is_empty(), blocks.is_empty()) {
            (false, _) => factors.join(" * "),
            (true, false) => self.blocks(axis),
            (true, true) => self.rows(axis),
        }
    }

    /// The shape that the accesses imply: a dimension per stride, then what is indexed without one.
    fn shape(&mut self, accesses: &[Access]) -> Shape {
        let parts = |access: &&Access| {
            let address = &access.address;
            // What is indexed by loaded numbers shows the size of nothing.
            (
                address.strides.len() + address.units.len(),
                address.data.is_empty(),
            )
        };
        let Some(access) = accesses.iter().max_by_key(parts) else {
            return Shape::default();
        };
        let address = &access.address;
        // The parameters' order is the dimensions' order, nearly always.
        let order = |name: &Name| self.kernel.params.iter().position(|p| p.name == *name);
        let mut strides: Vec<(&Name, &Index)> = address.strides.iter().collect();
        strides.sort_by_key(|(name, _)| order(name));
        let mut shape = Shape::default();
        for (stride, index) in &strides {
            let dim = match self.bound(index) {
                None => match self.letter(stride).cloned() {
                    Some(size) => self.size(&size, "a stride is named after it"),
                    None => self.extent(index),
                },
                Some(_) => self.extent(index),
            };
            shape.dims.push(dim);
        }
        let mut units = address.units.clone();
        units.dedup();
        // A block of several parts, `start + tl.arange(…)`, is one index; several blocks are dimensions.
        let blocks: Vec<Index> = units.iter().filter(|u| !u.ranges.is_empty()).cloned().collect();
        let whole = match blocks.len() {
            0 | 1 => units.into_iter().reduce(Index::with_part).into_iter().collect(),
            _ => blocks,
        };
        for unit in &whole {
            let dim = self.extent(unit);
            shape.dims.push(dim);
        }
        if shape.dims.is_empty() {
            shape.dims.push("1".into());
        }
        for (at, (stride, _)) in strides.iter().enumerate() {
            let inner: Vec<&str> = shape.dims[at + 1..].iter().map(String::as_str).collect();
            let value = match inner.is_empty() {
                true => String::from("1"),
                false => product(&inner),
            };
            shape.strides.insert((*stride).clone(), value);
        }
        shape
    }

    /// `stride_am`: the size `M`.
    fn letter(&self, stride: &str) -> Option<&Name> {
        let last = stride.rsplit('_').next()?.chars().last()?.to_ascii_lowercase();
        let sized = |param: &&KernelParam| {
            let is_size = !param.constexpr || self.facts.sizes.contains(&param.name);
            param.name.to_lowercase() == last.to_string() && is_size && *param.name != *stride
        };
        self.kernel.params.iter().find(sized).map(|param| &param.name)
    }

    fn argument(&mut self, param: &KernelParam, guess: &mut LaunchGuess) {
        let name = &param.name;
        let accesses = self.facts.accesses.get(name);
        if let Some(accesses) = accesses {
            let dims = self
                .shapes
                .get(name)
                .map(|shape| shape.dims.clone())
                .unwrap_or_default();
            let tensor = self.tensor(name, accesses, dims);
            let why = self.access_words(accesses);
            if accesses.iter().any(|access| access.described) {
                let of = format!("{}_tensor", name);
                let value = GuessedValue::Descriptor {
                    of: of.clone(),
                    block: vec![32, 32],
                };
                guess
                    .tensors
                    .push(entry(&of, with_shape(tensor, &["64", "64"]), why));
                guess.args.push(entry(
                    name,
                    value,
                    "a tensor descriptor: its methods are called; is the block right?",
                ));
            } else {
                guess.args.push(entry(name, tensor, why));
            }
            return;
        }
        let (value, why) = self.scalar(param);
        guess.args.push(entry(name, value, why));
    }

    fn tensor(&self, name: &str, accesses: &[Access], shape: Vec<String>) -> GuessedValue {
        let does = |what: Does| accesses.iter().any(|access| access.does == what);
        let role = match (does(Does::Load), does(Does::Store), does(Does::Atomic)) {
            (true, false, false) => "in",
            (false, true, false) => "out",
            _ => "inout",
        };
        let mut all = self.facts.accesses.values().flatten();
        let indexes = all.any(|access| access.address.data.iter().any(|data| **data == *name));
        let lower = name.to_lowercase();
        let converted = self.facts.stored.get(name).and_then(|ty| stored_type(ty));
        let (dtype, fill) = match () {
            () if role != "in" && converted.is_some() => (converted.unwrap_or("f32"), None),
            () if indexes => ("i64", Some("zeros")),
            () if self.facts.integer_data.contains(name) => ("i32", Some("randint(0, 4)")),
            () if lower.contains("mask") && role == "in" => ("i1", Some("ones")),
            () => ("f32", None),
        };
        GuessedValue::Tensor {
            dtype,
            shape,
            role,
            fill,
        }
    }

    fn access_words(&self, accesses: &[Access]) -> String {
        let lines = |does: Does| -> Vec<String> {
            let mut lines: Vec<usize> = accesses
                .iter()
                .filter(|access| access.does == does)
                .map(|access| (self.line)(access.span.start))
                .collect();
            lines.sort_unstable();
            lines.dedup();
            lines.iter().take(3).map(usize::to_string).collect()
        };
        let mut words = Vec::new();
        for (does, word) in [
            (Does::Load, "loaded"),
            (Does::Store, "stored"),
            (Does::Atomic, "changed atomically"),
        ] {
            let lines = lines(does);
            if !lines.is_empty() {
                let plural = if lines.len() == 1 { "line" } else { "lines" };
                words.push(format!("{word} in {plural} {}", lines.join(", ")));
            }
        }
        words.join(", ")
    }

    fn scalar(&mut self, param: &KernelParam) -> (GuessedValue, String) {
        let name = &param.name;
        if let Some((value, why)) = by_name(name) {
            return (expression(value), why.into());
        }
        let is_size = self.vars.contains_key(&**name) && !name.to_lowercase().contains("stride");
        let mut shapes = self.shapes.values();
        if let Some(stride) = shapes
            .find_map(|shape| shape.strides.get(name))
            .filter(|_| !is_size)
        {
            return (expression(stride), "a stride, for dense tensors".into());
        }
        if let Some((value, why)) = self.left_to_the_kernel(param) {
            return (value, why);
        }
        let lower = name.to_lowercase();
        if self.vars.contains_key(&**name) {
            return (expression(name), String::new());
        }
        if lower.contains("stride") {
            return (
                expression("1"),
                "a stride, by its name; the kernel does not show of what".into(),
            );
        }
        if lower.ends_with("ptr") || lower.ends_with("ptrs") {
            let value = GuessedValue::Tensor {
                dtype: "f32",
                shape: vec!["1".into()],
                role: "inout",
                fill: None,
            };
            return (
                value,
                "a pointer, by its name; no access through it was seen".into(),
            );
        }
        if self.facts.integers.contains(name) {
            let size = self.size(name, "sizes or addresses are computed from it");
            return (expression(&size), String::new());
        }
        let annotated = param.annotation.as_ref().and_then(annotated_type);
        if annotated.is_none() && !self.facts.used.contains(name) {
            return (expression("1"), "the kernel does not use it".into());
        }
        let (value, why) = match annotated {
            Some(Elem::Num(Dtype::Int1)) => ("true", "by its annotation"),
            Some(Elem::Num(dtype)) if dtype.is_int() => ("16", "by its annotation"),
            _ => ("", ""),
        };
        if !value.is_empty() {
            return (expression(value), why.into());
        }
        let (value, why) = match () {
            () if lower.contains("seed") => ("0", "by its name"),
            () if ["n", "m", "k"].contains(&&*lower) => ("16", "an integer, by its name"),
            () => ("1.0", "used in arithmetic: a float?"),
        };
        (expression(value), why.into())
    }

    /// A parameter that has a value without the launch.
    fn left_to_the_kernel(&self, param: &KernelParam) -> Option<(GuessedValue, String)> {
        let given = |expr: &Expr| {
            let mut found = false;
            walk::expression(expr, &mut |inner| {
                if let ExprKind::Dict(entries) = &inner.kind {
                    let mut keys = entries.iter().filter_map(|(key, _)| key.as_ref());
                    found |=
                        keys.any(|key| matches!(&key.kind, ExprKind::Str(text) if **text == *param.name));
                }
            });
            found
        };
        let left = |why: &str| Some((GuessedValue::Left("VALUE".into()), why.to_string()));
        if self.kernel.configs.as_ref().is_some_and(given) {
            return left("else the first configuration of @triton.autotune");
        }
        if self.kernel.heuristics.iter().any(given) {
            return left("else what @triton.heuristics says");
        }
        let default = param.default.as_ref()?;
        let value = literal(default).unwrap_or_else(|| "VALUE".into());
        Some((GuessedValue::Left(value), "else the default".into()))
    }

    fn constexpr(&mut self, param: &KernelParam) -> (GuessedValue, String) {
        let name = &param.name;
        if let Some((value, why)) = self.left_to_the_kernel(param) {
            return (value, why);
        }
        let mut shapes = self.shapes.values();
        let stride = shapes.find_map(|shape| shape.strides.get(name));
        if let Some(stride) = stride.filter(|_| self.facts.sizes.contains(name) && named_like_a_stride(name))
        {
            return (expression(stride), "a stride, for dense tensors".into());
        }
        if self.vars.contains_key(&**name) {
            return (expression(name), String::new());
        }
        if self.facts.sizes.contains(name) {
            if named_like_a_stride(name) {
                let why = "a stride, by its name; the kernel does not show of what";
                return (expression("1"), why.into());
            }
            let size = self.size(name, "an index is compared with it");
            return (expression(&size), String::new());
        }
        if let Some((value, why)) = by_name(name) {
            return (expression(value), why.into());
        }
        let lower = name.to_lowercase();
        let bounds = self.facts.bounds.iter();
        let row = bounds.clone().find(|bound| {
            let index = &bound.index;
            let whole = bound.alone && index.axes == 0 && !index.looped;
            whole && index.ranges.len() == 1 && index.ranges.contains(name)
        });
        let blocks = self.facts.blocks.len();
        let looks_like_a_block = named_like_a_block(name);
        if let Some(bound) = row {
            let size = bound.size.clone();
            let size = self.size(&size, "an index is compared with it");
            return (
                expression(&format!("next_power_of_2({size})")),
                format!("one block holds all {size}"),
            );
        }
        if self.facts.blocks.contains(name)
            || self.facts.scaled.iter().any(|(_, b)| b == name)
            || looks_like_a_block
        {
            let (size, why) = match blocks {
                0 | 1 => ("256", "the size of a block: a power of two"),
                _ if self.facts.multiplies => (
                    "32",
                    "the size of a block: a power of two, 16 at least where tl.dot takes it",
                ),
                _ => ("32", "the size of a block: a power of two"),
            };
            if lower.contains("group") {
                return (expression("4"), "by its name".into());
            }
            return (expression(size), why.into());
        }
        if let Some(word) = self.facts.words.get(name) {
            return (
                expression(word),
                "given to an argument that takes such words".into(),
            );
        }
        if self.facts.types.contains(name) {
            return (expression("tl.float32"), "used as a type".into());
        }
        if self.facts.tested.contains(name) {
            return (expression("false"), "tested as it is: a switch".into());
        }
        if let Some(value) = self.facts.compared.get(name).and_then(literal) {
            return (expression(&value), "the kernel compares it with this".into());
        }
        match () {
            () if lower.contains("group") => (expression("4"), "by its name".into()),
            () if lower.contains("dim") => (expression("64"), "by its name".into()),
            () if !self.facts.used.contains(name) => (expression("1"), "the kernel does not use it".into()),
            () => (expression("16"), "nothing in the kernel says what it is".into()),
        }
    }
}

impl Index {
    /// A sum of two parts.
    fn with_part(self, other: Index) -> Index {
        Index {
            names: self.names.union(&other.names).cloned().collect(),
            axes: self.axes | other.axes,
            scaled: self.scaled.union(&other.scaled).cloned().collect(),
            ranges: self.ranges.union(&other.ranges).cloned().collect(),
            looped: self.looped | other.looped,
            modulus: self
                .modulus
                .filter(|_| other.modulus.is_none() && other.names.is_empty()),
        }
    }
}

/// A size that nothing fixes: primes, all different, so that no mix-up of sizes goes unseen and no block divides them;
/// the more there are, the smaller.
fn free_size(at: usize, of: usize) -> i64 {
    let sizes: &[i64] = match of {
        1 => &[997],
        2 | 3 => &[131, 97, 61],
        _ => &[29, 23, 19, 17, 13, 11, 7],
    };
    sizes[at.min(sizes.len() - 1)]
}

fn entry(name: &str, value: GuessedValue, why: impl Into<String>) -> Guess {
    Guess {
        name: name.to_string(),
        value,
        why: why.into(),
    }
}

fn expression(text: &str) -> GuessedValue {
    GuessedValue::Expression(text.to_string())
}

fn product(factors: &[&str]) -> String {
    let bracketed = factors.iter().map(|factor| match factor.contains(' ') {
        true if factors.len() > 1 => format!("({factor})"),
        _ => (*factor).to_string(),
    });
    bracketed.collect::<Vec<_>>().join(" * ")
}

fn with_shape(tensor: GuessedValue, dims: &[&str]) -> GuessedValue {
    match tensor {
        GuessedValue::Tensor {
            dtype, role, fill, ..
        } => GuessedValue::Tensor {
            dtype,
            shape: dims.iter().map(|d| (*d).to_string()).collect(),
            role,
            fill,
        },
        other => other,
    }
}

fn named_like_a_stride(name: &str) -> bool {
    name.to_lowercase().contains("stride")
}

/// Parameters whose names say what they hold.
fn by_name(name: &str) -> Option<(&'static str, &'static str)> {
    let lower = name.to_lowercase();
    Some(match lower.as_str() {
        "ignore_index" | "ignored_index" => ("-100", "by its name: an index that no label has"),
        _ if lower.ends_with("_idx") || lower.ends_with("start_index") => ("0", "by its name: the first"),
        _ if lower.split('_').any(|word| word == "eps" || word == "epsilon") => ("1e-5", "by its name"),
        _ => return None,
    })
}

/// A type of the language as launch files call it.
fn stored_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "int8" => "i8",
        "int16" => "i16",
        "int32" => "i32",
        "int64" => "i64",
        "uint8" => "u8",
        "uint16" => "u16",
        "uint32" => "u32",
        "uint64" => "u64",
        "float16" => "f16",
        "bfloat16" => "bf16",
        "float32" => "f32",
        "float64" => "f64",
        "float8e4nv" => "f8e4m3",
        "float8e5" => "f8e5m2",
        _ => return None,
    })
}

/// A literal as launch files write it.
fn literal(expr: &Expr) -> Option<String> {
    Some(match &expr.kind {
        ExprKind::None => "none".into(),
        ExprKind::Bool(value) => value.to_string(),
        ExprKind::Int(value) => value.to_string(),
        ExprKind::Float(value) => format!("{value:?}"),
        ExprKind::Str(text)
            if text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-') =>
        {
            format!("'{text}'")
        }
        ExprKind::Unary(UnaryOp::Neg, of) => format!("-{}", literal(of)?),
        _ => return None,
    })
}
