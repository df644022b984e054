//! Values in words, for messages.

use crate::types::Ty;
use crate::value::{Module, Value};

/// Longest text of a constant in a message, in characters.
const LONGEST: usize = 40;

impl Value {
    /// What it is, in words that follow "this is": `a run-time value of type int32`, `the integer 3`.
    pub fn describe(&self) -> String {
        match self {
            Value::None => "`None`".to_string(),
            Value::Bool(true) => "`True`".to_string(),
            Value::Bool(false) => "`False`".to_string(),
            Value::Int(int) => format!("the integer {}", shortened(&int.to_string())),
            Value::Float(float) => format!("the float {float:?}"),
            Value::Str(text) => format!("the string '{}'", shortened(text)),
            Value::Ellipsis => "`...`".to_string(),
            Value::Slice(_) => "a slice".to_string(),
            Value::Type(ty) => format!("the type `{ty}`"),
            Value::Tuple(tuple) => match &tuple.class {
                Some(class) => format!("a named tuple `{}`", class.name),
                None => format!("a tuple of {}", counted(tuple.items.len(), "value")),
            },
            Value::List(list) => match list.try_borrow() {
                Ok(list) => format!("a list of {}", counted(list.len(), "value")),
                Err(_) => "a list".to_string(),
            },
            Value::Set(_) => "a set".to_string(),
            Value::Dict(_) => "a dictionary".to_string(),
            Value::Tensor(tensor) => match &tensor.ty {
                Ty::Block(..) => format!("a run-time block of type `{}`", tensor.ty),
                Ty::BlockPtr(..) => format!("a block pointer of type `{}`", tensor.ty),
                _ => format!("a run-time value of type `{}`", tensor.ty),
            },
            Value::Descriptor(d) => format!("a tensor descriptor of `{}{:?}` blocks", d.elem, d.block),
            Value::Instance(instance) => format!("an instance of `{}`", instance.class.name),
            Value::Function(function) => format!("the function `{}`", function.def.ident.name),
            Value::Method(_) => "a method".to_string(),
            Value::Lambda(_) => "a lambda".to_string(),
            Value::Builtin(builtin) => format!("`{}`", builtin.path()),
            Value::Class(class) => format!("the class `{}`", class.name),
            Value::Module(Module::Known(name)) => format!("the module `{name}`"),
            Value::Module(Module::File(_)) => "a module".to_string(),
            Value::Opaque(why) => format!("something unknown at compile time ({why})"),
            Value::Range(range) if range.is_static => "a `tl.static_range`".to_string(),
            Value::Range(_) => "a range".to_string(),
            Value::Condition(_) => "a `tl.condition`".to_string(),
            Value::Error => "a value in error".to_string(),
        }
    }
}

fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_string();
    }
    text.chars().take(LONGEST).chain("…".chars()).collect()
}
