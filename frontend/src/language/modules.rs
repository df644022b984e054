//! The modules under `triton` and what stands in them.
//!
//! Tables are found by dotted names. A module that re-exports others (`tl.core`, `tl.standard`, the `libdevice`
//! of each backend) is a list of the tables that it shows.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::LazyLock;

use tilescope_diagnostics::{Error, closest};

use super::{
    Builtin, Kind, core, dot, hints, iterate, libdevice, libdevice_table, math, memory, operate, ragged,
    random, reduce, slips, sort, target, triton, types,
};
use crate::cx::Cx;
use crate::types::{Dtype, Elem, PtrTy, Ty};
use crate::value::{Module, Value};

/// All tables.
static TABLES: &[&[Builtin]] = &[
    triton::TABLE,
    triton::HOST,
    core::GRID,
    core::MAKING,
    core::SHAPES,
    core::CASTS,
    core::OPERATORS,
    memory::ACCESS,
    memory::BLOCK_POINTERS,
    memory::DESCRIPTORS,
    memory::ATOMICS,
    memory::OTHER_ATOMICS,
    math::STANDARD,
    reduce::GENERAL,
    reduce::STANDARD,
    reduce::EXTREMA,
    reduce::POSITIONS,
    sort::TABLE,
    sort::SORTS,
    sort::MERGES,
    dot::TABLE,
    libdevice::TABLE,
    hints::HINTS,
    hints::DEBUG,
    iterate::RANGES,
    iterate::TABLE,
    types::CLASSES,
    types::ABSTRACT,
    types::PROPAGATE_NAN,
    math::ELEMENTARY,
    math::TABLE,
    random::TABLE,
    core::TENSOR_METHODS,
    operate::BINARY,
    operate::COMPARE,
    operate::UNARY,
    memory::DESCRIPTOR_METHODS,
    memory::DESCRIPTOR_ATOMICS,
    types::QUERIES,
    types::METHODS,
    ragged::TABLE,
    types::ENUMS,
    types::SIGNEDNESS,
    types::KINDS,
    target::INFO,
    target::BACKENDS,
    target::CUDA,
    target::CUSTOM_FLOATS,
    target::HIP,
    target::HIP_CLOCK,
    target::HIP_MATH,
    libdevice_table::ROWS,
    types::FUNCTIONS,
    libdevice::EXTERN,
    triton::PRIVATE,
    triton::DECORATORS,
    triton::STANDARD,
    reduce::COMBINE,
    reduce::COMBINE_INDEXED,
    sort::IMPL,
];

/// All rows of all tables.
pub fn rows() -> impl Iterator<Item = &'static Builtin> {
    TABLES.iter().copied().flatten()
}

pub(super) const TL: &str = "triton.language";
pub(super) const LIBDEVICE: &str = "triton.language.extra.libdevice";

/// Modules with the tables that they show, their own first.
static MODULES: &[(&str, &[&str])] = &[
    ("triton", &["triton"]),
    (TL, &[TL, "triton.language.math", "triton.language.random"]),
    (
        "triton.language.core",
        &["triton.language.core", TL, "triton.language.math"],
    ),
    (
        "triton.language.standard",
        &["triton.language.standard", TL, "triton.language.core"],
    ),
    ("triton.language.semantic", &["triton.language.semantic"]),
    // Up to Triton 2, `tl.math` was libdevice: kernels still say `tl.math.tanh`.
    ("triton.language.math", &["triton.language.math", LIBDEVICE]),
    ("triton.language.random", &["triton.language.random"]),
    ("triton.language.target_info", &["triton.language.target_info"]),
    ("triton.language.extra", &["triton.language.extra"]),
    ("triton.language.extra.cuda", &["triton.language.extra.cuda"]),
    ("triton.language.extra.cuda.gdc", &["triton.language.extra.cuda"]),
    (
        "triton.language.extra.cuda.utils",
        &["triton.language.extra.cuda"],
    ),
    ("triton.language.extra.hip", &["triton.language.extra.hip"]),
    ("triton.language.extra.intel", &["triton.language.extra.intel"]),
    (LIBDEVICE, &[LIBDEVICE]),
    ("triton.language.extra.cuda.libdevice", &[LIBDEVICE]),
    ("triton.language.extra.hip.libdevice", &[LIBDEVICE]),
    ("triton.language.extra.intel.libdevice", &[LIBDEVICE]),
    ("triton.language.libdevice", &[LIBDEVICE]),
    ("triton.tools.ragged_tma", &["triton.tools.ragged_tma"]),
    ("triton.language.PropagateNan", &["triton.language.PropagateNan"]),
    ("triton.language.dtype", &["triton.language.dtype"]),
    (
        "triton.language.dtype.SIGNEDNESS",
        &["triton.language.dtype.SIGNEDNESS"],
    ),
    ("triton.language.dtype.KIND", &["triton.language.dtype.KIND"]),
];

/// Where Triton's host side lives: nothing in it has a meaning inside of a kernel.
const HOST: &[&str] = &[
    "triton.backends",
    "triton.compiler",
    "triton.errors",
    "triton.knobs",
    "triton.profiler",
    "triton.runtime",
    "triton.testing",
    "triton.tools",
];

/// Extensions that are refused: the start of the dotted name, and what it is.
const REFUSED: &[(&str, &str)] = &[
    (
        "triton.experimental.gluon",
        "Gluon, Triton's lower-level language",
    ),
    (
        "triton.experimental.tle",
        "the TLE extension of FlagTree's fork of Triton",
    ),
    (
        "triton.language.extra.deeplink",
        "the DeepLink extension of a fork of Triton",
    ),
    (
        "triton.language.extra.cann",
        "the CANN extension of Ascend's fork of Triton",
    ),
    (
        "triton.language.extra.ascend",
        "an extension of Ascend's fork of Triton",
    ),
    (
        "triton.language.extra.tlx",
        "the TLX extension of Meta's fork of Triton",
    ),
    ("triton.language.extra", "an extension of a fork of Triton"),
    ("triton.experimental", "an experimental part of Triton"),
];

/// Names in `triton.language` that only forks have, and whose.
const FORKS: &[(&str, &str)] = &[
    ("async_task", "Meta's"),
    ("extract_slice", "Ascend's"),
    ("insert_slice", "Ascend's"),
    ("get_element", "Ascend's"),
    ("sync_block_all", "Ascend's"),
    ("sync_block_set", "Ascend's"),
    ("sync_block_wait", "Ascend's"),
    ("parallel", "Ascend's"),
    ("compile_hint", "Ascend's"),
    ("custom", "Ascend's"),
    ("empty", "a"),
    ("empty_like", "a"),
    ("masked_select", "a"),
    ("FUNC_STR", "a"),
];

fn within(name: &str, module: &str) -> bool {
    name.strip_prefix(module)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The rows with a name, in the order of the tables: every use of a name in a kernel looks it up.
pub(super) fn named(name: &str) -> impl Iterator<Item = &'static Builtin> {
    static INDEX: LazyLock<HashMap<&'static str, Vec<&'static Builtin>>> = LazyLock::new(|| {
        let mut index: HashMap<_, Vec<_>> = HashMap::new();
        for row in rows() {
            index.entry(row.name).or_default().push(row);
        }
        index
    });
    INDEX.get(name).into_iter().flatten().copied()
}

/// Why `module.name` is refused, in words.
fn refusal(module: &str, name: &str) -> Option<Value> {
    let dotted = &format!("{module}.{name}");
    let because =
        |what: &str| Value::Opaque(Rc::from(format!("`{dotted}` is {what}, which is not supported")));
    // A name that a module of the real Triton does not have is a slip, not an extension.
    let known = is_module(module) && module != "triton.language.extra";
    if let Some((_, what)) = REFUSED
        .iter()
        .find(|(module, _)| within(dotted, module) && !known)
    {
        return Some(because(what));
    }
    if HOST.iter().any(|module| within(dotted, module)) {
        return Some(Value::Opaque(Rc::from(format!(
            "`{dotted}` belongs to Triton's host side, not to kernels"
        ))));
    }
    if module != TL {
        return None;
    }
    let (_, whose) = FORKS.iter().find(|(fork, _)| *fork == name)?;
    Some(because(&format!("a function of {whose} fork of Triton")))
}

fn tables_of(module: &str) -> Option<&'static [&'static str]> {
    MODULES
        .iter()
        .find(|(name, _)| *name == module)
        .map(|(_, tables)| *tables)
}

/// Whether a dotted name is a module of Triton that we know.
pub fn is_module(dotted: &str) -> bool {
    tables_of(dotted).is_some()
}

/// What `module.name` is in Triton (`module` dotted: `triton.language.math`); none if there is no such name.
pub fn attribute(module: &str, name: &str) -> Option<Value> {
    if let Some(value) = super::library::attribute(module, name) {
        return Some(value);
    }
    let dotted = format!("{module}.{name}");
    if let Some(tables) = tables_of(module) {
        for table in tables {
            if let Some(row) = named(name).find(|row| row.module == *table) {
                return Some(Value::Builtin(row));
            }
        }
        if let Some(value) = constant(module, name) {
            return Some(value);
        }
    }
    if is_module(&dotted) {
        return Some(Value::Module(Module::Known(dotted.into())));
    }
    refusal(module, name)
}

/// Whether the real Triton has `module.name`, as far as we know: `try: from triton.… import name` is decided by it.
/// What only forks have is not there.
pub fn exists(module: &str, name: &str) -> bool {
    match attribute(module, name) {
        None => false,
        Some(Value::Opaque(_)) => {
            let dotted = format!("{module}.{name}");
            within(&dotted, "triton.experimental.gluon") || HOST.iter().any(|host| within(&dotted, host))
        }
        Some(_) => true,
    }
}

/// Values that are no functions.
fn constant(module: &str, name: &str) -> Option<Value> {
    if !matches!(
        module,
        TL | "triton.language.core" | "triton.language.standard" | "triton.language.random"
    ) {
        return None;
    }
    let dtype = match name {
        "void" => return Some(Value::Type(Ty::Void)),
        "constexpr" => return Some(Value::Type(Ty::Constexpr)),
        "TRITON_MAX_TENSOR_NUMEL" => return Some(Value::int(tilescope_ir::MAX_TILE_ELEMENTS)),
        "CONSTEXPR_0" => return Some(Value::int(0)),
        "N_ROUNDS_DEFAULT" => return Some(Value::int(10)),
        "pi32_t" => {
            return Some(Value::Type(Ty::Scalar(Elem::Ptr(PtrTy {
                to: Dtype::Int32,
                levels: 1,
                is_const: false,
            }))));
        }
        // Triton's names are `float16` and `bfloat16`; types print as `fp16` and `bf16`.
        "bfloat16" => "bf16".to_string(),
        name => match name.strip_prefix("float") {
            Some(rest) => format!("fp{rest}"),
            None if name.starts_with("fp") || name == "bf16" => return None,
            None => name.to_string(),
        },
    };
    Dtype::ALL
        .into_iter()
        .find(|d| d.name() == dtype)
        .map(|d| Value::Type(Ty::num(d)))
}

/// The method of tensors with this name.
pub fn method(name: &str) -> Option<&'static Builtin> {
    named(name).find(|row| row.kind == Kind::Method)
}

/// All names in a module, for suggestions and for `from module import *`.
pub fn names(module: &str) -> Vec<&'static str> {
    let mut names = Vec::new();
    for table in tables_of(module).unwrap_or_default() {
        names.extend(rows().filter(|row| row.module == *table).map(|row| row.name));
    }
    if module == TL {
        names.extend(Dtype::ALL.into_iter().map(types::python_name));
        names.extend(["constexpr", "void"]);
    }
    let prefix = format!("{module}.");
    for (submodule, _) in MODULES {
        if let Some(name) = submodule.strip_prefix(&prefix).filter(|name| !name.contains('.')) {
            names.push(name);
        }
    }
    names
}

impl Cx<'_> {
    /// The error of an attribute that does not exist, with the name that may be meant.
    pub fn no_attribute(&self, value: &Value, name: &str) -> Box<Error> {
        let (what, names) = match value {
            Value::Module(Module::Known(module)) => {
                if module.starts_with(TL)
                    && let Some(write) = slips::instead(name)
                {
                    let error = self.error(format!("module `{module}` has no attribute `{name}`"));
                    return error.help(write);
                }
                (format!("module `{module}`"), names(module))
            }
            Value::Tensor(_) => (value.describe(), super::attributes::tensor_names()),
            Value::Descriptor(_) => (value.describe(), super::attributes::descriptor_names()),
            Value::Type(_) => (value.describe(), super::attributes::type_names()),
            _ => (value.describe(), Vec::new()),
        };
        let error = self.error(format!("{what} has no attribute `{name}`"));
        match (closest(name, names), value) {
            (Some(near), _) => error.help(format!("did you mean `{near}`?")),
            (None, Value::Tensor(_)) => match slips::instead_of_method(name) {
                Some(write) => error.help(write),
                None => error,
            },
            (None, _) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_stands_in_a_known_module_once() {
        let mut seen = std::collections::BTreeSet::new();
        for row in rows() {
            assert!(seen.insert((row.module, row.name)), "{row:?} stands twice");
            let known = is_module(row.module) || row.module.starts_with("triton.language.tensor");
            assert!(known, "{row:?}: no module `{}`", row.module);
            assert!(row.doc.ends_with('.'), "{row:?}: `{}`", row.doc);
        }
    }

    #[test]
    fn defaults_read_as_values() {
        for row in rows() {
            for param in super::super::bind::params(row.params) {
                let default = param.default.map(super::super::bind::default_value);
                assert!(
                    !matches!(default, Some(None)),
                    "{row:?}: the default of `{}`",
                    param.name
                );
            }
        }
    }

    #[test]
    fn names_are_found_through_every_module_that_shows_them() {
        let ty = |name| match attribute(TL, name) {
            Some(Value::Type(ty)) => ty.to_string(),
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(ty("float32"), "fp32");
        assert_eq!(ty("bfloat16"), "bf16");
        assert_eq!(ty("float8e4nv"), "fp8e4nv");
        assert_eq!(ty("uint64"), "uint64");
        assert!(attribute(TL, "fp32").is_none());
        assert!(attribute(TL, "flaot32").is_none());
        assert!(matches!(attribute(TL, "math"), Some(Value::Module(_))));
        assert!(matches!(attribute("triton", "language"), Some(Value::Module(_))));
        assert!(matches!(
            attribute("triton.language.extra", "deeplink"),
            Some(Value::Opaque(_))
        ));
        assert!(matches!(
            attribute("triton.language.extra.cann", "extension"),
            Some(Value::Opaque(_))
        ));
        assert!(matches!(
            attribute("triton.runtime", "cache"),
            Some(Value::Opaque(_))
        ));
        assert!(matches!(attribute(TL, "async_task"), Some(Value::Opaque(_))));
        assert_eq!(
            attribute("triton.language.core", "static_range")
                .map(|v| v.describe())
                .as_deref(),
            Some("`tl.static_range`")
        );
    }
}
