//! Values of variables, scalar arguments and constexprs.

use std::collections::BTreeMap;

use tilescope_diagnostics::{Error, Result, closest};

use crate::expr::{Expression, NodeKind, Scope, Value};
use crate::file::{ConstexprValue, EntryKind, LaunchFile, LaunchSpec, Overrides};

pub(super) fn vars(file: &LaunchFile, overrides: &Overrides) -> Result<Scope> {
    let mut scope = Scope::new();
    for var in &file.vars {
        let value = match overrides.vars.iter().find(|(name, _)| *name == var.name) {
            Some((_, value)) => value.clone(),
            None => scope
                .evaluate(&var.value)
                .map_err(|error| later(file, &scope, &var.value, error))?,
        };
        if let (Some((least, most)), Some(number)) = (var.range, value.as_float())
            && !(least as f64..=most as f64).contains(&number)
        {
            let message = format!("`{}` is {value}, outside of its `range`", var.name);
            return Err(file
                .error(&var.span, message, "")
                .note(format!("the range is [{least}, {most}]")));
        }
        scope.insert(&var.name, value);
    }
    Ok(scope)
}

pub(super) fn unknown_overrides(file: &LaunchFile, overrides: &Overrides) -> Result<()> {
    let vars: Vec<&str> = file.vars.iter().map(|v| v.name.as_str()).collect();
    let constexprs: Vec<&str> = file
        .launches
        .iter()
        .flat_map(|l| &l.constexprs)
        .map(|c| c.name.as_str())
        .collect();
    for (given, known, what) in [
        (&overrides.vars, vars, "variable"),
        (&overrides.constexprs, constexprs, "constexpr"),
    ] {
        if let Some((name, _)) = given.iter().find(|(name, _)| !known.contains(&name.as_str())) {
            let error = Error::input(format!("{} has no {what} `{name}`", file.source.name));
            return Err(match closest(name, known.iter().copied()) {
                Some(near) => error.help(format!("did you mean `{near}`?")),
                None => error,
            });
        }
    }
    Ok(())
}

/// Adds the remedy where a variable uses what is evaluated after the variables.
fn later(file: &LaunchFile, scope: &Scope, value: &Expression, error: Box<Error>) -> Box<Error> {
    let known = |name: &str| scope.lookup(name).is_some();
    let mut constexprs = file.launches.iter().flat_map(|launch| &launch.constexprs);
    let names = value.names();
    match constexprs.find(|constexpr| names.contains(&&*constexpr.name) && !known(&constexpr.name)) {
        Some(constexpr) => {
            let name = &constexpr.name;
            error.help(format!(
                "[constexprs] come after [vars]: give `{name}` in [vars], and `{name} = \"{name}\"` in [constexprs]"
            ))
        }
        None => error,
    }
}

/// Scalar arguments and constexprs of one launch.
pub(super) struct Scalars {
    pub scope: Scope,
    pub args: BTreeMap<String, Value>,
    pub constexprs: Vec<(String, Value)>,
}

pub(super) fn scalars(
    file: &LaunchFile,
    spec: &LaunchSpec,
    mut scope: Scope,
    overrides: &Overrides,
) -> Result<Scalars> {
    let mut args = BTreeMap::new();
    for entry in &spec.args {
        let EntryKind::Scalar { value, .. } = &entry.kind else {
            continue;
        };
        if names_tensor(file, &scope, value) {
            continue;
        }
        let result = scope
            .evaluate(value)
            .map_err(|error| tensor_for_scalar(spec, value, error))?;
        if result.as_float().is_none() {
            let message = format!("argument `{}` is {}", entry.name, result.type_name());
            return Err(value.error(&value.root, message, "expected a number"));
        }
        if !file.vars.iter().any(|v| v.name == entry.name) {
            scope.insert(&entry.name, result.clone());
        }
        args.insert(entry.name.clone(), result);
    }
    let symbols = scope.with_symbols();
    let mut constexprs: Vec<(String, Value)> = Vec::new();
    let mut during = symbols;
    for constexpr in &spec.constexprs {
        let given = overrides
            .constexprs
            .iter()
            .find(|(name, _)| *name == constexpr.name);
        let value = match given {
            Some((_, value)) => value.clone(),
            None => constexpr_value(&during, &constexpr.value)?,
        };
        during.insert(&constexpr.name, value.clone());
        scope.insert(&constexpr.name, value.clone());
        constexprs.push((constexpr.name.clone(), value));
    }
    Ok(Scalars {
        scope,
        args,
        constexprs,
    })
}

fn constexpr_value(scope: &Scope, value: &ConstexprValue) -> Result<Value> {
    match value {
        ConstexprValue::Function(name) => Ok(Value::Str(format!("fn:{name}"))),
        ConstexprValue::Tuple(items) => Ok(Value::Tuple(
            items
                .iter()
                .map(|item| constexpr_value(scope, item))
                .collect::<Result<_>>()?,
        )),
        ConstexprValue::Expression(value) => scope.evaluate(value).map_err(|error| match &value.root.kind {
            NodeKind::Name(name) if error.help.is_none() => {
                error.help(format!("for a string write \"'{name}'\""))
            }
            _ => error,
        }),
    }
}

/// An argument that is just the name of an entry of `[tensors]`.
fn names_tensor(file: &LaunchFile, scope: &Scope, value: &Expression) -> bool {
    match &value.root.kind {
        NodeKind::Name(name) => scope.lookup(name).is_none() && file.tensors.iter().any(|t| t.name == *name),
        _ => false,
    }
}

/// Adds the remedy where an argument is just the name of another, which is a tensor.
fn tensor_for_scalar(spec: &LaunchSpec, value: &Expression, error: Box<Error>) -> Box<Error> {
    match &value.root.kind {
        NodeKind::Name(name)
            if spec
                .args
                .iter()
                .any(|a| a.name == *name && matches!(a.kind, EntryKind::Tensor(_))) =>
        {
            value
                .error(&value.root, format!("`{name}` is a tensor, not a number"), "")
                .help(format!(
                    "to pass the same storage twice write {{ view_of = \"{name}\", … }}"
                ))
        }
        _ => error,
    }
}
