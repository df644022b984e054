//! Binding the arguments of a call to the parameters of a row, by Python's rules.

use std::rc::Rc;

use tilescope_diagnostics::closest;

use super::Builtin;
use super::args::{Arg, Lowering};
use crate::ast::{Name, Span};
use crate::cx::{Args, Cx, Result};
use crate::types::{Dtype, Ty};
use crate::value::Value;

/// Arguments bound to a builtin's parameters.
#[derive(Debug)]
pub struct Bound {
    /// What is called.
    pub builtin: &'static Builtin,
    /// The row's parameters, parsed.
    signature: Rc<Signature>,
    /// One per parameter, in the order of [`Builtin::params`]: `*args` is a tuple, `**kwargs` a tuple of pairs.
    pub values: Vec<Value>,
    /// Where each argument stands; none where it was left out.
    pub spans: Vec<Option<Span>>,
}

/// A parameter of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Param {
    pub name: &'static str,
    pub kind: ParamKind,
    pub default: Option<&'static str>,
}

/// The parameters of a row and the values of their defaults: parsed once in a compilation, which may call the
/// row 10^5 times.
#[derive(Debug)]
pub(crate) struct Signature {
    params: Vec<Param>,
    defaults: Vec<Option<Value>>,
    /// How many can be given by position.
    positional: usize,
    takes_rest: bool,
}

impl Signature {
    fn of(builtin: &'static Builtin) -> Signature {
        let params: Vec<Param> = params(builtin.params).collect();
        let default = |p: &Param| p.default.map(|text| default_value(text).unwrap_or(Value::None));
        Signature {
            defaults: params.iter().map(default).collect(),
            positional: params.iter().filter(|p| p.kind == ParamKind::Positional).count(),
            takes_rest: params.iter().any(|p| p.kind == ParamKind::Rest),
            params,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParamKind {
    Positional,
    Rest,
    KeywordOnly,
    Keywords,
}

/// The parameters of a row.
pub(super) fn params(text: &'static str) -> impl Iterator<Item = Param> {
    let mut only = false;
    text.split(',').map(str::trim).filter_map(move |part| {
        if part.is_empty() {
            return None;
        }
        if let Some(name) = part.strip_prefix("**") {
            return Some(Param {
                name,
                kind: ParamKind::Keywords,
                default: None,
            });
        }
        if let Some(name) = part.strip_prefix('*') {
            only = true;
            return (!name.is_empty()).then_some(Param {
                name,
                kind: ParamKind::Rest,
                default: None,
            });
        }
        let (name, default) = match part.split_once('=') {
            Some((name, default)) => (name, Some(default)),
            None => (part, None),
        };
        let kind = if only {
            ParamKind::KeywordOnly
        } else {
            ParamKind::Positional
        };
        Some(Param { name, kind, default })
    })
}

/// The value of a default as the tables write it; none for a spelling that they do not use.
pub(super) fn default_value(text: &str) -> Option<Value> {
    Some(match text {
        "None" => Value::None,
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        "()" => Value::tuple(Vec::new()),
        text if text.starts_with('"') => Value::str(text.trim_matches('"')),
        text => {
            if let Ok(int) = text.parse::<i64>() {
                Value::int(int)
            } else if let Some(dtype) = Dtype::ALL.into_iter().find(|d| d.name() == text) {
                Value::Type(Ty::num(dtype))
            } else if let Some(name) = text.strip_prefix("PropagateNan.") {
                super::attribute("triton.language.PropagateNan", name)?
            } else {
                Value::Float(text.parse().ok()?)
            }
        }
    })
}

impl Bound {
    /// Calls the Rust function of a row with its arguments converted to the types that it takes.
    pub(super) fn call<P, F: Lowering<P>>(&self, cx: &mut Cx<'_>, f: F) -> Result<Value> {
        f.call(cx, self)
    }

    /// The argument of a parameter, with what an error about it needs.
    pub(super) fn arg(&self, index: usize) -> Arg<'_> {
        Arg {
            function: self.builtin,
            param: self.signature.params.get(index).map_or("", |p| p.name),
            value: self.values.get(index).unwrap_or(&Value::None),
            span: self.spans.get(index).copied().flatten(),
        }
    }
}

impl Cx<'_> {
    /// Binds arguments to a row's parameters.
    pub(super) fn bind(&mut self, builtin: &'static Builtin, args: Args) -> Result<Bound> {
        let signature_of = self.signatures.entry(std::ptr::from_ref(builtin));
        let row = Rc::clone(signature_of.or_insert_with(|| Rc::new(Signature::of(builtin))));
        let Signature {
            ref params,
            ref defaults,
            positional,
            takes_rest,
        } = *row;
        let mut slots: Vec<Option<(Value, Option<Span>)>> = vec![None; params.len()];
        let mut rest = Vec::new();
        let mut rest_span = None;
        let given = args.positional.len();
        for (index, (value, span)) in args.positional.into_iter().enumerate() {
            if index < positional {
                slots[index] = Some((value, Some(span)));
            } else if takes_rest {
                rest_span.get_or_insert(span);
                rest.push(value);
            } else {
                let s = if positional == 1 { "" } else { "s" };
                let message = format!(
                    "`{}` takes {positional} positional argument{s} but {given} were given",
                    builtin.path()
                );
                return Err(self
                    .error_at(span, message, "one too many")
                    .note(signature(builtin)));
            }
        }
        let mut extra = Vec::new();
        for (name, value, span) in args.keywords {
            self.bind_keyword(builtin, params, &mut slots, &mut extra, (name, value, span))?;
        }
        let mut bound = Bound {
            builtin,
            signature: Rc::clone(&row),
            values: Vec::with_capacity(params.len()),
            spans: Vec::with_capacity(params.len()),
        };
        for ((param, default), slot) in params.iter().zip(defaults).zip(slots) {
            let (value, span) = match (param.kind, slot, default) {
                (ParamKind::Rest, ..) => (Value::tuple(std::mem::take(&mut rest)), rest_span),
                (ParamKind::Keywords, ..) => (Value::tuple(std::mem::take(&mut extra)), None),
                (_, Some(filled), _) => filled,
                (_, None, Some(default)) => (default.clone(), None),
                (_, None, None) => {
                    let message = format!("`{}` needs an argument `{}`", builtin.path(), param.name);
                    return Err(self.error(message).note(signature(builtin)));
                }
            };
            bound.values.push(value);
            bound.spans.push(span);
        }
        Ok(bound)
    }

    fn bind_keyword(
        &mut self,
        builtin: &'static Builtin,
        params: &[Param],
        slots: &mut [Option<(Value, Option<Span>)>],
        extra: &mut Vec<Value>,
        (name, value, span): (Name, Value, Span),
    ) -> Result<()> {
        let named = |p: &Param| matches!(p.kind, ParamKind::Positional | ParamKind::KeywordOnly);
        let found = params.iter().position(|p| named(p) && p.name == &*name);
        match found.and_then(|index| slots.get_mut(index)) {
            Some(Some(_)) => {
                let message = format!("`{}` gets its argument `{name}` twice", builtin.path());
                Err(self
                    .error_at(span, message, "given before, by position")
                    .note(signature(builtin)))
            }
            Some(slot) => {
                *slot = Some((value, Some(span)));
                Ok(())
            }
            None if params.iter().any(|p| p.kind == ParamKind::Keywords) => {
                extra.push(Value::tuple(vec![Value::Str(name), value]));
                Ok(())
            }
            // Functions of libraries hand these on to builtins; they say nothing here.
            None if matches!(&*name, "_builder" | "_semantic" | "_generator") => Ok(()),
            None => {
                let candidates = params.iter().filter(|p| named(p)).map(|p| p.name);
                let under = match closest(&name, candidates) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => String::new(),
                };
                let message = format!("`{}` has no parameter `{name}`", builtin.path());
                Err(self.error_at(span, message, &under).note(signature(builtin)))
            }
        }
    }
}

fn signature(builtin: &Builtin) -> String {
    format!("its parameters: {}({})", builtin.path(), builtin.params)
}
