//! Classes of Python files: what they are, and what is in them.

use std::rc::Rc;

use super::{ModuleId, Path};
use crate::ast::{ClassDef, Expr, ExprKind, Name, Stmt, StmtKind};
use crate::cx::Cx;
use crate::konst;
use crate::value::{Class, ClassKind, Instance, Value};

/// What a class's decorators and bases make of it.
struct Form {
    kind: ClassKind,
    /// Annotated names are fields: of aggregates, named tuples, data classes.
    has_fields: bool,
    /// From base classes.
    fields: Vec<(Name, Value)>,
    members: Vec<(Name, Value)>,
}

impl Cx<'_> {
    /// A class as a value, its body evaluated where entry `index` of the file stands. What cannot be evaluated in it
    /// is opaque.
    pub(crate) fn class_value(&mut self, module: ModuleId, class: &Rc<ClassDef>, index: u32) -> Value {
        let mut form = self.class_form(module, class, index);
        if form.kind == ClassKind::Enum || form.kind == ClassKind::IntEnum {
            return self.enum_value(module, class, index, form.kind);
        }
        let mut values: Vec<(Name, Value)> = Vec::new();
        for stmt in &class.body {
            match &stmt.kind {
                StmtKind::Function(def) => {
                    let value = self.function_value(module, def, Some(class.ident.name.clone()));
                    put(&mut form.members, &def.ident.name, value);
                }
                StmtKind::Class(inner) => {
                    let value = self.class_value(module, inner, index);
                    put(&mut form.members, &inner.ident.name, value);
                }
                StmtKind::AnnAssign {
                    target,
                    annotation,
                    value,
                } => {
                    let ExprKind::Name(name) = &target.kind else {
                        continue;
                    };
                    if form.has_fields {
                        let ty = self.class_expr(module, index, &values, annotation);
                        put(&mut form.fields, name, ty);
                    }
                    if let Some(value) = value {
                        let value = self.class_expr(module, index, &values, value);
                        put(&mut values, name, value.clone());
                        put(&mut form.members, name, value);
                    }
                }
                _ => {
                    for (name, value) in self.class_stmt(module, index, &values, stmt) {
                        put(&mut values, &name, value.clone());
                        put(&mut form.members, &name, value);
                    }
                }
            }
        }
        Value::Class(Rc::new(Class {
            name: class.ident.name.clone(),
            kind: form.kind,
            fields: form.fields,
            members: form.members,
        }))
    }

    fn class_form(&mut self, module: ModuleId, class: &ClassDef, index: u32) -> Form {
        let mut form = Form {
            kind: ClassKind::Plain,
            has_fields: false,
            fields: Vec::new(),
            members: Vec::new(),
        };
        for base in &class.bases {
            let library = match self.program.path_of(module, base) {
                Some(Path::Library(name)) => Some(name),
                _ => None,
            };
            match library.as_deref() {
                Some("typing.NamedTuple") => (form.kind, form.has_fields) = (ClassKind::NamedTuple, true),
                Some("enum.IntEnum" | "enum.IntFlag") => form.kind = ClassKind::IntEnum,
                Some("enum.Enum" | "enum.Flag" | "enum.StrEnum") => form.kind = ClassKind::Enum,
                Some(_) => {}
                None => {
                    if let Ok(Value::Class(base)) = self.expr_at(module, index, base) {
                        form.kind = base.kind;
                        form.has_fields =
                            form.has_fields || base.kind != ClassKind::Plain || !base.fields.is_empty();
                        form.fields.extend(base.fields.iter().cloned());
                        form.members.extend(base.members.iter().cloned());
                    }
                }
            }
        }
        for decorator in &class.decorators {
            let callee = match &decorator.kind {
                ExprKind::Call(call) => &call.function,
                _ => decorator,
            };
            let Some(Path::Library(name)) = self.program.path_of(module, callee) else {
                continue;
            };
            if name.starts_with("triton.") && name.ends_with("aggregate") {
                (form.kind, form.has_fields) = (ClassKind::Aggregate, true);
            } else if name.ends_with("dataclass") {
                form.has_fields = true;
            }
        }
        form
    }

    fn class_expr(&mut self, module: ModuleId, index: u32, values: &[(Name, Value)], expr: &Expr) -> Value {
        // `x: int = field(default=3)` of data classes.
        if let ExprKind::Call(call) = &expr.kind
            && matches!(self.program.path_of(module, &call.function), Some(Path::Library(n)) if &*n == "dataclasses.field")
        {
            let default = call
                .keywords
                .iter()
                .find(|(k, _)| k.as_ref().is_some_and(|k| &*k.name == "default"));
            return match default {
                Some((_, value)) => self.class_expr(module, index, values, value),
                None => Value::Opaque("it is made by `dataclasses.field`".into()),
            };
        }
        match self.expr_in_class(module, index, values, expr) {
            Ok(value) => value,
            Err(error) => Value::Opaque(error.message.as_str().into()),
        }
    }

    /// `Enum`s: members are instances that know their names, those of an `IntEnum` integers.
    fn enum_value(&mut self, module: ModuleId, class: &Rc<ClassDef>, index: u32, kind: ClassKind) -> Value {
        let mut methods = Vec::new();
        let mut values: Vec<(Name, Value)> = Vec::new();
        for stmt in &class.body {
            match &stmt.kind {
                StmtKind::Function(def) => {
                    let value = self.function_value(module, def, Some(class.ident.name.clone()));
                    put(&mut methods, &def.ident.name, value);
                }
                StmtKind::Assign { targets, value } => {
                    let value = match self.is_auto(module, value) {
                        true => next_after(&values),
                        false => self.class_expr(module, index, &values, value),
                    };
                    for target in targets {
                        if let ExprKind::Name(name) = &target.kind {
                            put(&mut values, name, value.clone());
                        }
                    }
                }
                _ => {}
            }
        }
        // Members know a class of the same name: the whole one has them in it.
        let of = Rc::new(Class {
            name: class.ident.name.clone(),
            kind,
            fields: Vec::new(),
            members: methods.clone(),
        });
        let member = |(name, value): (Name, Value)| {
            let member = match (kind, &value) {
                (ClassKind::IntEnum, Value::Int(_)) => value,
                _ if name.starts_with('_') => value,
                _ => Value::Instance(Rc::new(Instance {
                    class: of.clone(),
                    fields: vec![("name".into(), Value::Str(name.clone())), ("value".into(), value)],
                })),
            };
            (name, member)
        };
        let members = values.into_iter().map(member).chain(methods).collect();
        Value::Class(Rc::new(Class {
            name: class.ident.name.clone(),
            kind,
            fields: Vec::new(),
            members,
        }))
    }

    fn is_auto(&self, module: ModuleId, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Call(call) => {
                matches!(self.program.path_of(module, &call.function), Some(Path::Library(n)) if &*n == "enum.auto")
            }
            _ => false,
        }
    }

    fn class_stmt(
        &mut self,
        module: ModuleId,
        index: u32,
        values: &[(Name, Value)],
        stmt: &Stmt,
    ) -> Vec<(Name, Value)> {
        let mut names = Vec::new();
        super::bound_by(stmt, &mut names);
        if names.is_empty() {
            return Vec::new();
        }
        self.stmt_in_class(module, index, values, stmt, names)
    }
}

/// One more than the last integer, as `enum.auto()` counts.
fn next_after(values: &[(Name, Value)]) -> Value {
    let last = values.iter().rev().find_map(|(_, v)| konst::as_int(v));
    Value::Int(last.unwrap_or_default() + 1)
}

fn put(values: &mut Vec<(Name, Value)>, name: &Name, value: Value) {
    match values.iter_mut().find(|(n, _)| n == name) {
        Some((_, old)) => *old = value,
        None => values.push((name.clone(), value)),
    }
}
