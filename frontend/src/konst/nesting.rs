//! How deeply values hold each other: bounded, since they are walked and freed recursively.

use crate::value::Value;

/// Deepest nesting of a value in a variable.
const MAX_NESTING: usize = 64;

/// Most containers looked at in one value.
const MAX_LOOKED_AT: usize = 1 << 16;

/// Whether a value is nested too deeply (or too widely to say) to be kept in a variable.
pub(crate) fn too_deep(value: &Value) -> bool {
    let mut budget = MAX_LOOKED_AT;
    !fits(value, 0, &mut budget)
}

/// Whether a value holds other values.
pub(crate) fn holds_containers(value: &Value) -> bool {
    matches!(
        value,
        Value::Tuple(_)
            | Value::List(_)
            | Value::Set(_)
            | Value::Dict(_)
            | Value::Instance(_)
            | Value::Lambda(_)
            | Value::Function(_)
            | Value::Method(_)
    )
}

fn fits(value: &Value, depth: usize, budget: &mut usize) -> bool {
    if !holds_containers(value) {
        return true;
    }
    if depth >= MAX_NESTING || *budget == 0 {
        return false;
    }
    *budget -= 1;
    let mut inner = |value: &Value| fits(value, depth + 1, budget);
    match value {
        Value::Tuple(tuple) => tuple.items.iter().all(inner),
        Value::List(items) | Value::Set(items) => items.borrow().iter().all(inner),
        Value::Dict(entries) => entries
            .borrow()
            .iter()
            .all(|(key, value)| inner(key) && inner(value)),
        Value::Instance(instance) => instance.fields.iter().all(|(_, value)| inner(value)),
        Value::Lambda(closure) => closure.captured.iter().all(|(_, value)| inner(value)),
        Value::Function(function) => function.captured.iter().all(|(_, value)| inner(value)),
        Value::Method(method) => inner(&method.0) && inner(&method.1),
        _ => true,
    }
}
