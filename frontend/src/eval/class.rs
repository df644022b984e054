//! Aggregates, named tuples and other classes: members, construction; comprehensions.

use std::rc::Rc;

use tilescope_diagnostics::{Error, closest};

use crate::ast::{
    Comprehension, ComprehensionKind, ComprehensionLoop, Expr, ExprKind, Ident, Name, Param, Params, Span,
};
use crate::cx::{Args, Cx, Locals, Mode, Result, Scope};
use crate::konst;
use crate::limits::MAX_ITEMS;
use crate::value::{Class, ClassKind, Function, Instance, Tuple, Value};

impl Cx<'_> {
    /// A field, or a member of the class: functions bound to the instance.
    pub(super) fn member(&self, of: &Value, name: &Name) -> Option<Value> {
        let class = match of {
            Value::Instance(instance) => {
                if let Some((_, value)) = instance.fields.iter().find(|(n, _)| n == name) {
                    return Some(value.clone());
                }
                &instance.class
            }
            Value::Tuple(tuple) => {
                let class = tuple.class.as_ref()?;
                if let Some(index) = class.fields.iter().position(|(n, _)| n == name) {
                    return tuple.items.get(index).cloned();
                }
                class
            }
            Value::Class(class) => {
                let (_, member) = class.members.iter().find(|(n, _)| n == name)?;
                return Some(match member {
                    Value::Function(function) if decorated(function, "classmethod") => {
                        Value::Method(Rc::new((of.clone(), member.clone())))
                    }
                    member => member.clone(),
                });
            }
            _ => return None,
        };
        let (_, value) = class.members.iter().find(|(n, _)| n == name)?;
        Some(match value {
            Value::Function(function) if decorated(function, "staticmethod") => value.clone(),
            Value::Function(function) if decorated(function, "classmethod") => {
                Value::Method(Rc::new((Value::Class(class.clone()), value.clone())))
            }
            Value::Function(_) | Value::Lambda(_) => Value::Method(Rc::new((of.clone(), value.clone()))),
            other => other.clone(),
        })
    }

    pub(super) fn no_member(&self, of: &Value, name: &Name, span: Span) -> Box<Error> {
        let class = match of {
            Value::Instance(instance) => &instance.class,
            Value::Class(class) => class,
            _ => return self.error_at(span, format!("{} has no attribute `{name}`", of.describe()), ""),
        };
        let names = class.fields.iter().chain(&class.members).map(|(n, _)| &**n);
        let error = self.error_at(span, format!("`{}` has no attribute `{name}`", class.name), "");
        match closest(name, names) {
            Some(near) => error.help(format!("did you mean `{near}`?")),
            None => error,
        }
    }

    /// `Class(…)`.
    pub(super) fn construct(&mut self, class: &Rc<Class>, args: Args) -> Result<Value> {
        let init = class.members.iter().find(|(n, _)| &**n == "__init__");
        if let (Some((_, Value::Function(init))), ClassKind::Aggregate | ClassKind::Plain) =
            (init, class.kind)
        {
            return self.run_init(class, &init.clone(), args);
        }
        if matches!(class.kind, ClassKind::Enum | ClassKind::IntEnum) {
            return self.enum_member(class, &args);
        }
        let params = Params {
            positional: class
                .fields
                .iter()
                .map(|(name, _)| Param {
                    ident: Ident {
                        name: name.clone(),
                        span: self.place.span,
                    },
                    annotation: None,
                    default: None,
                })
                .collect(),
            ..Params::default()
        };
        let args = self.with_defaults(class, args);
        let locals = self.bind_params(&class.name, &params, self.scope.module, args, None)?;
        let values = locals
            .iter()
            .map(|local| (local.name.clone(), local.value.clone()));
        Ok(match class.kind {
            ClassKind::NamedTuple => Value::Tuple(Tuple {
                items: values.map(|(_, value)| value).collect(),
                class: Some(class.clone()),
            }),
            _ => Value::Instance(Rc::new(Instance {
                class: class.clone(),
                fields: values.collect(),
            })),
        })
    }

    /// Arguments with the class's defaults for fields that are left out.
    fn with_defaults(&self, class: &Class, mut args: Args) -> Args {
        for (index, (field, _)) in class.fields.iter().enumerate() {
            let given = index < args.positional.len() || args.keywords.iter().any(|(n, _, _)| n == field);
            if given {
                continue;
            }
            if let Some((_, default)) = class.members.iter().find(|(n, _)| n == field) {
                args.keywords
                    .push((field.clone(), default.clone(), self.place.span));
            }
        }
        args
    }

    /// `Color(2)`: the member with this value.
    fn enum_member(&mut self, class: &Class, args: &Args) -> Result<Value> {
        let [(value, _)] = args.positional.as_slice() else {
            return Err(self.error(format!("`{}` takes one value", class.name)));
        };
        let found = class.members.iter().find(|(_, member)| match member {
            Value::Instance(instance) => {
                let field = instance.fields.iter().find(|(n, _)| &**n == "value");
                field.is_some_and(|(_, v)| konst::equal(v, value))
            }
            _ => false,
        });
        match found {
            Some((_, member)) => Ok(member.clone()),
            None => Err(self.error(format!(
                "`{}` has no member with the value {}",
                class.name,
                value.describe()
            ))),
        }
    }

    /// Runs an `__init__`, which assigns the fields.
    fn run_init(&mut self, class: &Rc<Class>, init: &Rc<Function>, args: Args) -> Result<Value> {
        let span = self.place.span;
        let instance = Value::Instance(Rc::new(Instance {
            class: class.clone(),
            fields: Vec::new(),
        }));
        let mut args = args;
        args.positional.insert(0, (instance, span));
        let locals = self.bind_params(&class.name, &init.def.params, init.module, args, Some(init))?;
        let Some(this) = init.def.params.positional.first().map(|p| p.ident.name.clone()) else {
            return Err(self.error(format!(
                "`{}.__init__` has no parameter for the instance",
                class.name
            )));
        };
        let mut scope = Scope::new(init.module, Mode::Host);
        scope.captured.clone_from(&init.captured);
        scope.locals = locals;
        let frame = self.init_frame(class);
        let errors = self.errors.len();
        let made = self.in_function(scope, frame, |cx| {
            cx.host_block(&init.def.body)?;
            Ok(cx.scope.locals.get(&this).cloned())
        })?;
        if self.errors.len() > errors {
            return Ok(Value::Error);
        }
        let Some(Value::Instance(instance)) = made else {
            return Ok(Value::Error);
        };
        // In the order of the declarations, as IR values are passed on.
        let mut fields = Vec::with_capacity(class.fields.len());
        for (name, _) in &class.fields {
            match instance.fields.iter().find(|(n, _)| n == name) {
                Some(field) => fields.push(field.clone()),
                None => {
                    return Err(self.error(format!(
                        "`{}.__init__` does not assign the field `{name}`",
                        class.name
                    )));
                }
            }
        }
        let undeclared = instance
            .fields
            .iter()
            .find(|(n, _)| class.fields.iter().all(|(f, _)| f != n));
        match undeclared {
            Some((name, _)) if class.kind == ClassKind::Aggregate => {
                Err(self.error(format!("`{}` declares no field `{name}`", class.name)))
            }
            _ => Ok(Value::Instance(Rc::new(Instance {
                class: class.clone(),
                fields: if class.kind == ClassKind::Aggregate {
                    fields
                } else {
                    instance.fields.clone()
                },
            }))),
        }
    }

    fn init_frame(&mut self, class: &Class) -> crate::cx::Frame {
        crate::cx::Frame {
            function: class.name.clone(),
            called_at: Some(self.place),
            call_loc: self
                .frames
                .last()
                .map_or(tilescope_ir::LocId::unknown(), |f| f.call_loc),
            key: super::host::CONSTRUCTOR.to_string(),
        }
    }

    pub(super) fn comprehension(&mut self, comprehension: &Comprehension) -> Result<Value> {
        let jit = self.scope.mode == Mode::Jit;
        if jit {
            if comprehension.kind == ComprehensionKind::Set || comprehension.kind == ComprehensionKind::Dict {
                return Err(self.error("a kernel cannot make a set or a dictionary"));
            }
            if comprehension.loops.len() != 1 {
                return Err(self.error("a kernel cannot use a comprehension with several `for`"));
            }
        }
        let locals: Locals = self.scope.locals.clone();
        let mut items = Vec::new();
        let result = self.comprehend(comprehension, &comprehension.loops, &mut items);
        self.scope.locals = locals;
        result?;
        if comprehension.kind == ComprehensionKind::Dict {
            let mut entries = Vec::new();
            for item in items {
                if let Value::Tuple(pair) = &item
                    && let [key, value] = &*pair.items
                {
                    konst::index::insert(&mut entries, key.clone(), value.clone())
                        .map_err(|why| self.error(why))?;
                }
            }
            return Ok(konst::dict(entries));
        }
        if comprehension.kind == ComprehensionKind::Set {
            return konst::set(items).map_err(|why| self.error(why));
        }
        Ok(if jit {
            Value::tuple(items)
        } else {
            konst::list(items)
        })
    }

    fn comprehend(
        &mut self,
        comprehension: &Comprehension,
        loops: &[ComprehensionLoop],
        items: &mut Vec<Value>,
    ) -> Result<()> {
        let Some((first, rest)) = loops.split_first() else {
            let element = self.expr(&comprehension.element)?;
            items.push(match &comprehension.value {
                Some(value) => {
                    let value = self.expr(value)?;
                    Value::tuple(vec![element, value])
                }
                None => element,
            });
            if items.len() > MAX_ITEMS {
                return Err(self.error("the comprehension makes too many elements"));
            }
            return Ok(());
        };
        let iter = self.expr(&first.iter)?;
        if iter.has_error() {
            items.push(Value::Error);
            return Ok(());
        }
        if self.scope.mode == Mode::Jit && !matches!(iter, Value::Tuple(_)) {
            return Err(self.error_at(
                first.iter.span,
                "a comprehension of a kernel runs through a tuple",
                &iter.describe(),
            ));
        }
        'items: for item in self.spread(&iter)? {
            self.step()?;
            self.bind_target(&first.target, item)?;
            for condition in &first.conditions {
                let value = self.expr(condition)?;
                if value.has_error() {
                    continue 'items;
                }
                if value.is_runtime() {
                    return Err(self.error_at(
                        condition.span,
                        "the condition of a comprehension must be known at compile time",
                        &value.describe(),
                    ));
                }
                if !konst::truth(&value).map_err(|why| self.error(why))? {
                    continue 'items;
                }
            }
            self.deeper_in(self.place.span, |cx| cx.comprehend(comprehension, rest, items))?;
        }
        Ok(())
    }

    /// Assigns the variables of a comprehension, numbers as they are.
    fn bind_target(&mut self, target: &Expr, value: Value) -> Result<()> {
        match &target.kind {
            ExprKind::Name(name) => {
                self.scope.locals.assign(name, value, Some(target.span));
                Ok(())
            }
            ExprKind::Tuple(targets) | ExprKind::List(targets) => {
                let items = self.spread(&value)?;
                if items.len() != targets.len() {
                    let under = format!("{} names for {} values", targets.len(), items.len());
                    return Err(self.error_at(target.span, "the values cannot be unpacked", &under));
                }
                for (target, item) in targets.iter().zip(items) {
                    self.bind_target(target, item)?;
                }
                Ok(())
            }
            _ => Err(self.error_at(target.span, "this cannot be assigned", "")),
        }
    }
}

/// Whether a method stands under `@name`.
pub(super) fn decorated(function: &Function, name: &str) -> bool {
    function
        .def
        .decorators
        .iter()
        .any(|d| matches!(&d.kind, ExprKind::Name(n) if **n == *name))
}
