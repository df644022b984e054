//! From the TOML tree to the parsed file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use tilescope_diagnostics::{Error, Result, Source, closest};

use super::{
    CaseFill, Constexpr, ConstexprValue, Entry, EntryKind, Expect, FillKind, FillSpec, KernelRef, LaunchFile,
    LaunchSpec, Oracle, Origin, Spelled, TensorSpec, Var,
};
use crate::expr::{Expression, Node, NodeKind, Scope};
use crate::toml_tree::{self, Item, Key, Kind, Table};
use crate::{AskedOptions, Dtype, Role};

/// Dimensions that a tensor may have.
const MAX_RANK: usize = 16;

pub(super) fn file(source: Arc<Source>) -> Result<LaunchFile> {
    let root = toml_tree::parse(&source)?;
    let reader = Reader { source: &source };
    let pipeline = matches!(&root.kind, Kind::Table(entries) if entries.iter().any(|(k, _)| k.name == "launch"))
        || source.name.ends_with(".pipeline.toml");
    let what = if pipeline {
        "a pipeline file"
    } else {
        "a launch file"
    };
    let root = root.table(&source, what)?;
    let launches = if pipeline {
        root.only(&["seed", "vars", "tensors", "launch", "expect"])?;
        let items = root
            .need("launch")?
            .array(&source, "`launch` (written [[launch]])")?;
        let tables = items.iter().map(|item| item.table(&source, "a [[launch]] table"));
        tables
            .map(|table| reader.launch(&table?, true))
            .collect::<Result<Vec<_>>>()?
    } else {
        root.only(&[
            "kernel",
            "grid",
            "seed",
            "vars",
            "args",
            "tensors",
            "constexprs",
            "options",
            "expect",
        ])?;
        vec![reader.launch(&root, false)?]
    };
    if launches.is_empty() {
        return Err(Error::input("a pipeline has at least one [[launch]]").at(&source, 0..0, ""));
    }
    let file = LaunchFile {
        pipeline,
        seed: reader.seed(&root)?,
        seed_span: root.find("seed").map(|item| item.span.clone()),
        vars: reader.section(&root, "vars", |key, item| reader.var(key, item))?,
        tensors: reader.section(&root, "tensors", |key, item| reader.storage(key, item))?,
        expect: reader.section(&root, "expect", |key, item| reader.expect(key, item))?,
        launches,
        source: source.clone(),
    };
    check_names(&file)?;
    Ok(file)
}

/// One name, one tensor: `[args]` and `[tensors]` share a name space.
fn check_names(file: &LaunchFile) -> Result<()> {
    let tensors: BTreeMap<&str, &Entry> = file.tensors.iter().map(|t| (t.name.as_str(), t)).collect();
    for arg in file.launches.iter().flat_map(|l| &l.args) {
        let inline = !matches!(arg.kind, EntryKind::Scalar { .. } | EntryKind::Null);
        if let Some(tensor) = tensors
            .get(arg.name.as_str())
            .filter(|_| inline || !file.pipeline)
        {
            let message = format!("`{}` is in [args] and in [tensors]", arg.name);
            return Err(file.error(&arg.key_span, message, "here as an argument").at(
                &file.source,
                tensor.key_span.clone(),
                "and here as storage",
            ));
        }
    }
    Ok(())
}

#[derive(Clone, Copy)]
struct Reader<'a> {
    source: &'a Arc<Source>,
}

impl Reader<'_> {
    fn error(&self, span: &Range<usize>, message: impl Into<String>, label: impl Into<String>) -> Box<Error> {
        Error::input(message).at(self.source, span.clone(), label)
    }

    /// The entries of a table of the file, none if it is absent.
    fn section<T>(
        &self,
        parent: &Table<'_>,
        name: &str,
        read: impl Fn(&Key, &Item) -> Result<T>,
    ) -> Result<Vec<T>> {
        let Some(item) = parent.find(name) else {
            return Ok(Vec::new());
        };
        let what = format!("[{name}]");
        item.table(self.source, &what)?
            .entries
            .iter()
            .map(|(key, item)| read(key, item))
            .collect()
    }

    fn seed(&self, root: &Table<'_>) -> Result<u64> {
        let Some(item) = root.find("seed") else {
            return Ok(0);
        };
        if !matches!(item.kind, Kind::Plain("an integer")) {
            return Err(item.error(self.source, "`seed` must be an integer"));
        }
        let value = Scope::new().evaluate(&item.expression(self.source, "`seed`")?)?;
        let seed = value.as_int().and_then(|seed| u64::try_from(seed).ok());
        seed.ok_or_else(|| item.error(self.source, "`seed` must lie in 0 to 2^64 - 1"))
    }

    fn integer(&self, item: &Item, what: &str) -> Result<i64> {
        if !matches!(item.kind, Kind::Plain("an integer")) {
            return Err(item.error(self.source, format!("{what} must be an integer")));
        }
        let expression = item.expression(self.source, what)?;
        let value = Scope::new().evaluate(&expression)?.as_int();
        let small = value.and_then(|v| i64::try_from(v).ok());
        small.ok_or_else(|| item.error(self.source, format!("{what} must lie within 64 bits")))
    }

    fn name(&self, key: &Key, what: &str) -> Result<String> {
        if is_identifier(&key.name) {
            return Ok(key.name.clone());
        }
        Err(self.error(
            &key.span,
            format!("{what} must be an identifier"),
            "letters, digits and `_` only",
        ))
    }

    fn spelled(&self, item: &Item, what: &str) -> Result<Spelled> {
        Ok(Spelled {
            text: item.string(self.source, what)?.to_string(),
            span: item.span.clone(),
        })
    }

    fn launch(&self, table: &Table<'_>, in_pipeline: bool) -> Result<LaunchSpec> {
        if in_pipeline {
            table.only(&["kernel", "grid", "args", "constexprs", "options"])?;
        }
        let place = |section: &str| {
            let mut keys = table.entries.iter().map(|(key, _)| key);
            keys.find(|key| key.name == section).map(|key| key.span.clone())
        };
        let args_span = place("args");
        Ok(LaunchSpec {
            kernel: self.kernel(table.need("kernel")?)?,
            grid: self.grid(table.need("grid")?)?,
            options: self.options(table)?,
            args: self.section(table, "args", |key, item| self.argument(key, item))?,
            args_span: args_span.unwrap_or(table.span.start..table.span.start),
            constexprs_span: place("constexprs"),
            constexprs: self.section(table, "constexprs", |key, item| self.constexpr(key, item))?,
            span: table.span.clone(),
        })
    }

    fn kernel(&self, item: &Item) -> Result<KernelRef> {
        let text = item.string(self.source, "`kernel`")?;
        let (path, function) = match text.split_once("::") {
            Some((path, function)) => (path, Some(function)),
            None => (text, None),
        };
        if path.is_empty() || function.is_some_and(|f| f.is_empty()) {
            return Err(self.error(
                &item.span,
                "`kernel` must be `FILE` or `FILE::FUNCTION`",
                "a part of it is empty",
            ));
        }
        if !(path.ends_with(".ttir") || path.ends_with(".mlir") || path.ends_with(".py")) {
            let error = self.error(
                &item.span,
                "`kernel` must name a .ttir, .mlir or .py file",
                "of another kind",
            );
            return Err(match text.split_once(".py:") {
                Some((path, function)) => {
                    let function = function.trim_start_matches(':');
                    error.help(format!("did you mean \"{path}.py::{function}\"?"))
                }
                None => error,
            });
        }
        Ok(KernelRef {
            path: path.into(),
            function: function.map(Into::into),
            span: item.span.clone(),
        })
    }

    fn grid(&self, item: &Item) -> Result<Vec<Expression>> {
        let entries = item
            .expressions(self.source, "`grid`")
            .map_err(|error| match &item.kind {
                Kind::Str(_) | Kind::Plain(_) => {
                    let text = self.source.text.get(item.span.clone()).unwrap_or_default();
                    error.help(format!("an entry per axis: `grid = [{text}]`"))
                }
                _ => error,
            })?;
        if entries.is_empty() || entries.len() > 3 {
            let label = format!("{} entries", entries.len());
            return Err(self.error(&item.span, "`grid` has one to three entries", label));
        }
        Ok(entries)
    }

    fn options(&self, parent: &Table<'_>) -> Result<AskedOptions> {
        let mut options = AskedOptions::default();
        let Some(item) = parent.find("options") else {
            return Ok(options);
        };
        let table = item.table(self.source, "[options]")?;
        table.only(&["num_warps", "num_stages"])?;
        for (key, item) in table.entries {
            let what = format!("`{}`", key.name);
            let value = self.integer(item, &what)?;
            let value = match u32::try_from(value) {
                Ok(value @ 1..=1024) => value,
                _ => return Err(self.error(&item.span, format!("{what} must lie in 1 to 1024"), "")),
            };
            match key.name.as_str() {
                "num_warps" if !value.is_power_of_two() => {
                    return Err(self.error(&item.span, "`num_warps` must be a power of two", ""));
                }
                "num_warps" => options.num_warps = Some(value),
                _ => options.num_stages = Some(value),
            }
        }
        Ok(options)
    }

    fn var(&self, key: &Key, item: &Item) -> Result<Var> {
        let name = self.name(key, "a variable's name")?;
        let what = format!("variable `{name}`");
        let Kind::Table(_) = item.kind else {
            let value = item.expression(self.source, &what)?;
            return Ok(Var {
                name,
                span: key.span.clone(),
                value,
                range: None,
            });
        };
        let table = item.table(self.source, &what)?;
        table.only(&["value", "range"])?;
        let value = table.need("value")?.expression(self.source, &what)?;
        let range = match table.find("range") {
            None => None,
            Some(item) => match item.array(self.source, "`range`")? {
                [low, high] => {
                    let (least, most) = (self.integer(low, "`range`")?, self.integer(high, "`range`")?);
                    if least > most {
                        return Err(self.error(
                            &item.span,
                            "`range` is empty",
                            "the first exceeds the second",
                        ));
                    }
                    Some((least, most))
                }
                _ => return Err(self.error(&item.span, "`range` is [smallest, largest]", "not two numbers")),
            },
        };
        Ok(Var {
            name,
            span: key.span.clone(),
            value,
            range,
        })
    }

    fn constexpr(&self, key: &Key, item: &Item) -> Result<Constexpr> {
        let name = self.name(key, "a constexpr's name")?;
        let what = format!("constexpr `{name}`");
        let (value, choices) = match item.kind {
            Kind::Table(_) => {
                let table = item.table(self.source, &what)?;
                table.only(&["value", "choices"])?;
                let choices = match table.find("choices") {
                    Some(choices) => {
                        let values = choices.expressions(self.source, "`choices`")?;
                        if values.is_empty() {
                            return Err(self
                                .error(&choices.span, "`choices` is empty", "no value to choose")
                                .help("write at least one value, or leave `choices` out"));
                        }
                        values
                    }
                    None => Vec::new(),
                };
                (table.need("value")?, choices)
            }
            _ => (item, Vec::new()),
        };
        let value = self.constexpr_value(value, &what)?;
        Ok(Constexpr {
            name,
            span: key.span.clone(),
            value,
            choices,
        })
    }

    // Arrays nest as deep as the TOML reader allows.
    fn constexpr_value(&self, item: &Item, what: &str) -> Result<ConstexprValue> {
        Ok(match &item.kind {
            Kind::Str(text) if text.starts_with("fn:") => {
                ConstexprValue::Function(text["fn:".len()..].to_string())
            }
            Kind::Array(items) => {
                let values = items.iter().map(|item| self.constexpr_value(item, what));
                ConstexprValue::Tuple(values.collect::<Result<_>>()?)
            }
            _ => ConstexprValue::Expression(item.expression(self.source, what)?),
        })
    }

    fn argument(&self, key: &Key, item: &Item) -> Result<Entry> {
        let name = match is_tuple_element(&key.name) {
            true => key.name.clone(),
            false => self.name(key, "an argument's name")?,
        };
        let what = format!("argument `{name}`");
        let kind = match &item.kind {
            Kind::Table(_) => self.table_entry(&item.table(self.source, &what)?)?,
            _ => {
                let value = item.expression(self.source, &what)?;
                match value.root.kind {
                    NodeKind::None => EntryKind::Null,
                    _ => EntryKind::Scalar { dtype: None, value },
                }
            }
        };
        Ok(Entry {
            name,
            key_span: key.span.clone(),
            span: item.span.clone(),
            kind,
        })
    }

    fn storage(&self, key: &Key, item: &Item) -> Result<Entry> {
        let entry = self.argument(key, item)?;
        match entry.kind {
            EntryKind::Tensor(_) => Ok(entry),
            _ => {
                let message = format!("`{}` in [tensors] is no tensor", entry.name);
                Err(self.error(&entry.span, message, "expected { dtype = …, shape = […] }"))
            }
        }
    }

    fn table_entry(&self, table: &Table<'_>) -> Result<EntryKind> {
        if table.find("descriptor_of").is_some() {
            table.only(&["descriptor_of", "block_shape"])?;
            let of = self.spelled(table.need("descriptor_of")?, "`descriptor_of`")?;
            let block_shape = table
                .need("block_shape")?
                .expressions(self.source, "`block_shape`")?;
            return Ok(EntryKind::Descriptor { of, block_shape });
        }
        if table.find("value").is_some() && table.find("shape").is_none() {
            table.only(&["dtype", "value"])?;
            let dtype = table.find("dtype").map(|item| self.dtype(item)).transpose()?;
            let value = table.need("value")?.expression(self.source, "`value`")?;
            return Ok(EntryKind::Scalar { dtype, value });
        }
        Ok(EntryKind::Tensor(Box::new(self.tensor(table)?)))
    }

    fn dtype(&self, item: &Item) -> Result<Dtype> {
        let name = item.string(self.source, "`dtype`")?;
        Dtype::from_name(name).ok_or_else(|| {
            let error = self.error(&item.span, format!("unknown dtype `{name}`"), "");
            let known = Dtype::ALL.map(Dtype::name);
            let plain = name.trim_start_matches("tl.").trim_start_matches("torch.");
            match Dtype::near_name(plain).or_else(|| closest(name, known)) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error.note(format!(
                    "known: {}, and the names of Triton and PyTorch, such as fp16 and bfloat16",
                    known.join(", ")
                )),
            }
        })
    }

    /// Where a tensor's bytes come from; also refuses keys that do not go with it.
    fn origin(&self, table: &Table<'_>) -> Result<Origin> {
        const LAYOUT: [&str; 6] = ["dtype", "shape", "strides", "offset", "storage", "role"];
        let only = |more: &[&str]| table.only(&[&LAYOUT, more].concat());
        table.exclusive(&["fill", "file", "view_of", "pointers"])?;
        Ok(if let Some(item) = table.find("view_of") {
            // A view has the storage of another: no contents and no size of its own.
            table.only(&["dtype", "shape", "strides", "offset", "role", "view_of"])?;
            Origin::ViewOf(self.spelled(item, "`view_of`")?)
        } else if let Some(item) = table.find("pointers") {
            only(&["pointers"])?;
            let names = item.array(self.source, "`pointers`")?.iter();
            Origin::Pointers(
                names
                    .map(|n| self.spelled(n, "a pointee"))
                    .collect::<Result<_>>()?,
            )
        } else if let Some(item) = table.find("file") {
            only(&["file", "key"])?;
            let path = self.spelled(item, "`file`")?;
            let key = table
                .find("key")
                .map(|item| self.spelled(item, "`key`"))
                .transpose()?;
            check_data_file(&path.text, key.is_some()).map_err(|why| self.error(&path.span, why, ""))?;
            Origin::File { path, key }
        } else if let Some(stray) = table.find("key") {
            return Err(self.error(&stray.span, "`key` belongs to `file`", ""));
        } else if let Some(item) = table.find("fill") {
            only(&["fill"])?;
            Origin::Fill(self.fill(item)?)
        } else {
            only(&["fill", "file", "view_of", "pointers"])?;
            Origin::Default
        })
    }

    fn tensor(&self, table: &Table<'_>) -> Result<TensorSpec> {
        let origin = self.origin(table)?;
        let view = matches!(origin, Origin::ViewOf(_));
        let dtype_span = table.find("dtype").map(|item| item.span.clone());
        let dtype = match table.find("dtype") {
            Some(item) => Some(self.dtype(item)?),
            None if view => None,
            None => Some(self.dtype(table.need("dtype")?)?),
        };
        if let (Origin::Pointers(_), Some(dtype)) = (&origin, dtype)
            && dtype.bytes() != 8
        {
            let span = table.find("dtype").map_or(table.span, |item| &item.span);
            return Err(self.error(
                span,
                "an array of pointers has dtype u64",
                format!("{} given", dtype.name()),
            ));
        }
        let shape = match (table.find("shape"), &origin) {
            (Some(item), _) => Some(self.dimensions(item, "`shape`")?),
            (None, Origin::ViewOf(_) | Origin::Pointers(_)) => None,
            (None, _) => Some(self.dimensions(table.need("shape")?, "`shape`")?),
        };
        let strides = table
            .find("strides")
            .map(|item| self.dimensions(item, "`strides`"))
            .transpose()?;
        if let (Some(item), Some(strides)) = (table.find("strides"), &strides) {
            let rank = shape.as_ref().map(Vec::len);
            if rank.is_some_and(|rank| rank != strides.len()) {
                let label = format!("{} strides, {} dimensions", strides.len(), rank.unwrap_or(0));
                return Err(self.error(&item.span, "`strides` must have an entry per dimension", label));
            }
        }
        let expression = |name: &str| {
            table
                .find(name)
                .map(|i| i.expression(self.source, &format!("`{name}`")))
                .transpose()
        };
        Ok(TensorSpec {
            dtype,
            dtype_span,
            shape,
            strides,
            offset: expression("offset")?,
            storage: expression("storage")?,
            role: table.find("role").map(|item| self.role(item)).transpose()?,
            origin,
        })
    }

    fn dimensions(&self, item: &Item, what: &str) -> Result<Vec<Expression>> {
        let dimensions = item.expressions(self.source, what)?;
        if dimensions.len() > MAX_RANK {
            let label = format!("{} given", dimensions.len());
            return Err(self.error(
                &item.span,
                format!("a tensor has at most {MAX_RANK} dimensions"),
                label,
            ));
        }
        Ok(dimensions)
    }

    fn role(&self, item: &Item) -> Result<Role> {
        const ROLES: [&str; 3] = ["in", "out", "inout"];
        match item.string(self.source, "`role`")? {
            "in" => Ok(Role::In),
            "out" => Ok(Role::Out),
            "inout" => Ok(Role::InOut),
            other => {
                let error = self.error(&item.span, format!("unknown role `{other}`"), "");
                let near = match other.to_lowercase().as_str() {
                    "input" | "read" | "const" => Some("in"),
                    "output" | "write" | "result" => Some("out"),
                    "in_out" | "in-out" | "in/out" => Some("inout"),
                    _ => closest(other, ROLES),
                };
                Err(match near {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.note(format!("known: {}", ROLES.join(", "))),
                })
            }
        }
    }

    fn fill(&self, item: &Item) -> Result<FillSpec> {
        const FILLS: [&str; 17] = [
            "uninit",
            "zeros",
            "ones",
            "nan",
            "arange",
            "randn",
            "uniform",
            "randint",
            "value",
            "eye",
            "extreme",
            "ties",
            "spike",
            "one_nan",
            "one_inf",
            "subnormal",
            "signed_zeros",
        ];
        item.string(self.source, "`fill`")?;
        let expression = item.expression(self.source, "`fill`")?;
        let part = |node: &Node| Expression {
            source: expression.source.clone(),
            root: node.clone(),
        };
        let (name, args) = match &expression.root.kind {
            NodeKind::Name(name) => (name, None),
            NodeKind::Call {
                function,
                args,
                keywords,
            } if keywords.is_empty() => match &function.kind {
                NodeKind::Name(name) => (name, Some(args.as_slice())),
                _ => return Err(expression.error(function, "`fill` must be a fill's name", "")),
            },
            _ => {
                let error = expression.error(&expression.root, "`fill` must be a fill's name", "no fill");
                return Err(error.help("for a constant write \"value(x)\""));
            }
        };
        let kind = match (name.as_str(), args) {
            ("uninit", None) => FillKind::Uninit,
            ("zeros", None) => FillKind::Zeros,
            ("ones", None) => FillKind::Ones,
            ("nan", None) => FillKind::Nan,
            ("arange", None) => FillKind::Arange,
            ("randn", None) => FillKind::Randn,
            ("eye", None) => FillKind::Eye,
            ("extreme", None) => FillKind::Extreme,
            ("ties", None) => FillKind::Case(CaseFill::Ties),
            ("spike", None) => FillKind::Case(CaseFill::Spike),
            ("one_nan", None) => FillKind::Case(CaseFill::Nan),
            ("one_inf", None) => FillKind::Case(CaseFill::Infinity),
            ("subnormal", None) => FillKind::Case(CaseFill::Subnormal),
            ("signed_zeros", None) => FillKind::Case(CaseFill::Zeros),
            ("uniform", Some([low, high])) => FillKind::Uniform(part(low), part(high)),
            ("randint", Some([low, high])) => FillKind::Randint(part(low), part(high)),
            ("value", Some([value])) => FillKind::Value(part(value)),
            (known, _) if FILLS.contains(&known) => {
                let wanted = match known {
                    "uniform" | "randint" => format!("{known}(lo, hi)"),
                    "value" => "value(x)".to_string(),
                    _ => known.to_string(),
                };
                let message = format!("fill `{known}` has other arguments");
                return Err(expression.error(&expression.root, message, format!("expected `{wanted}`")));
            }
            (other, _) => {
                let error = expression.error(&expression.root, format!("unknown fill `{other}`"), "");
                return Err(match closest(other, FILLS) {
                    Some(near) => error.help(format!("did you mean `{near}`?")),
                    None => error.note(format!("known: {}", FILLS.join(", "))),
                });
            }
        };
        Ok(FillSpec {
            span: item.span.clone(),
            kind,
        })
    }

    fn expect(&self, key: &Key, item: &Item) -> Result<Expect> {
        let what = format!("[expect] of `{}`", key.name);
        let table = item.table(self.source, &what)?;
        table.only(&["reference", "args", "file", "key", "formula", "rtol", "atol"])?;
        table.exclusive(&["reference", "file", "formula"])?;
        let oracle = if let Some(item) = table.find("reference") {
            let name = item.string(self.source, "`reference`")?.to_string();
            let args = table.need("args")?.expressions(self.source, "`args`")?;
            Oracle::Reference {
                name,
                span: item.span.clone(),
                args,
            }
        } else if let Some(item) = table.find("file") {
            let path = item.string(self.source, "`file`")?.to_string();
            let key = table
                .find("key")
                .map(|k| k.string(self.source, "`key`"))
                .transpose()?;
            check_data_file(&path, key.is_some()).map_err(|why| self.error(&item.span, why, ""))?;
            Oracle::File {
                path,
                span: item.span.clone(),
                key: key.map(Into::into),
            }
        } else if let Some(item) = table.find("formula") {
            item.string(self.source, "`formula`")?;
            Oracle::Formula(item.expression(self.source, "`formula`")?)
        } else {
            return Err(self.error(
                &item.span,
                format!("{what} names no oracle"),
                "one of `reference`, `file`, `formula`",
            ));
        };
        for (name, owner) in [("args", "reference"), ("key", "file")] {
            if let (Some(stray), None) = (table.find(name), table.find(owner)) {
                return Err(self.error(&stray.span, format!("`{name}` belongs to `{owner}`"), ""));
            }
        }
        let tolerance = |name: &str| -> Result<Option<f64>> {
            let Some(item) = table.find(name) else {
                return Ok(None);
            };
            let value = item.number(self.source, &format!("`{name}`"))?;
            if value.is_finite() && value >= 0.0 {
                return Ok(Some(value));
            }
            Err(self.error(
                &item.span,
                format!("`{name}` must be finite and not negative"),
                "",
            ))
        };
        Ok(Expect {
            output: key.name.clone(),
            span: key.span.clone(),
            oracle,
            rtol: tolerance("rtol")?,
            atol: tolerance("atol")?,
        })
    }
}

/// Refuses, by name, data files of a kind that is not read.
fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    let starts = letters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
    starts && letters.all(|c| c == '_' || c.is_alphanumeric())
}

/// True for `pair.1` or `nested.0.2`: Triton's name for an element of a tuple that is a parameter.
fn is_tuple_element(name: &str) -> bool {
    let Some((tuple, places)) = name.split_once('.') else {
        return false;
    };
    let is_place = |p: &str| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit());
    is_identifier(tuple) && places.split('.').all(is_place)
}

fn check_data_file(path: &str, keyed: bool) -> Result<(), String> {
    if path.ends_with(".npy") {
        return if keyed {
            Err("a .npy file has no `key`: it holds one array".into())
        } else {
            Ok(())
        };
    }
    if path.ends_with(".safetensors") {
        return if keyed {
            Ok(())
        } else {
            Err("a .safetensors file needs `key`, the tensor's name in it".into())
        };
    }
    Err(format!("data files are .npy or .safetensors, not `{path}`"))
}
