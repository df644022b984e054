//! Helpers as functions of their own: those that return under a run-time condition, and `noinline` ones.
//!
//! Compiled once for the types and constants of their arguments, as Triton does.

use std::rc::Rc;

use tilescope_ir::attrs::AttrValue;
use tilescope_ir::{Attrs, BlockId, FunctionBuilder, LocId, OpCode, Type, ValueId};

use super::call::scope_of;
use super::returns::Returned;
use super::stmt::Flow;
use crate::cx::{Cx, Frame, Locals, Result, Returns};
use crate::value::{Function, Value};

/// A helper that was compiled to a function of its own.
#[derive(Debug, Clone)]
pub(crate) struct Outlined {
    /// Its name in the module.
    pub(super) symbol: Rc<str>,
    /// Its result, made of values of its own body, and their types.
    result: Value,
    results: Rc<[Type]>,
}

impl Cx<'_> {
    /// Calls a helper that is, or becomes, a function of the module.
    pub(super) fn call_outlined(
        &mut self,
        function: &Rc<Function>,
        key: String,
        noinline: bool,
        locals: Locals,
    ) -> Result<Value> {
        let mut operands = Vec::new();
        locals.iter().for_each(|local| local.value.flatten(&mut operands));
        let helper = match self.helpers.get(&key) {
            Some(helper) => helper.clone(),
            None => {
                let Some(helper) = self.outline(function, &key, noinline, &locals)? else {
                    return Ok(Value::Error);
                };
                self.helpers.insert(key, helper.clone());
                helper
            }
        };
        let results = self.b.call(&helper.symbol, &operands, &helper.results);
        Ok(helper.result.rebuild(&mut results.into_iter()))
    }

    /// Compiles a helper to a function; none if it is wrong, which was reported.
    fn outline(
        &mut self,
        function: &Rc<Function>,
        key: &str,
        noinline: bool,
        locals: &Locals,
    ) -> Result<Option<Outlined>> {
        let (errors, notes) = (self.errors.len(), self.notes.len());
        let name = &function.def.ident.name;
        let symbol: Rc<str> = format!("{name}__{}", self.helpers.len() + self.frames.len()).into();
        let symbol = self.unique(symbol);
        let mut builder = FunctionBuilder::new(&*symbol);
        builder.private();
        builder.attribute("noinline", AttrValue::Bool(noinline));
        let outer = std::mem::replace(&mut self.b, builder);
        // What the caller's loops throw away is not this function.
        let dry = std::mem::take(&mut self.dry);
        let frame = Frame {
            function: name.clone(),
            called_at: Some(self.place),
            call_loc: LocId::unknown(),
            key: key.to_string(),
        };
        let scope = scope_of(function, Locals::default(), Returns::Function(Vec::new()));
        let made = self.in_function(scope, frame, |cx| {
            let params = cx.define(function, locals);
            cx.scope.locals = params;
            Ok(cx.function_body(function))
        });
        let builder = std::mem::replace(&mut self.b, outer);
        self.dry = dry;
        if dry > 0 {
            let notes = self.notes.split_off(notes.min(self.notes.len()));
            self.kept_notes.extend(notes);
        }
        let Some((result, results)) = made? else {
            return Ok(None);
        };
        if self.errors.len() > errors {
            return Ok(None);
        }
        match builder.finish() {
            Ok(finished) => self.functions.push(finished),
            Err(error) => return Err(self.error(error.message)),
        }
        Ok(Some(Outlined {
            symbol,
            result,
            results: results.into(),
        }))
    }

    /// A name that no function of the module has.
    fn unique(&self, symbol: Rc<str>) -> Rc<str> {
        let taken = |s: &str| {
            self.functions.iter().any(|f| &*f.name == s) || self.helpers.values().any(|h| &*h.symbol == s)
        };
        let mut candidate = symbol.clone();
        let mut number = 0;
        while taken(&candidate) {
            number += 1;
            candidate = format!("{symbol}_{number}").into();
        }
        candidate
    }

    /// The parameters of the function that is being built, from arguments: constants as they are.
    fn define(&mut self, function: &Function, locals: &Locals) -> Locals {
        let loc = self.definition(function);
        self.b.defined_at(loc);
        let mut params = Locals::default();
        for local in locals.iter() {
            let mut types = Vec::new();
            flatten_types(&local.value, &mut types);
            let named = self.name_location(&local.name, loc);
            self.b.at(named);
            let values: Vec<ValueId> = types
                .iter()
                .map(|ty| self.b.param(&local.name, *ty, None))
                .collect();
            params.assign(
                &local.name,
                local.value.rebuild(&mut values.into_iter()),
                local.at,
            );
        }
        params
    }

    /// The location of a function's `def`.
    pub(super) fn definition(&mut self, function: &Function) -> LocId {
        let source = self.program.source(function.module);
        let name = function.def.ident.span.start as usize;
        let line = source
            .text
            .get(..name)
            .and_then(|t| t.rfind('\n'))
            .map_or(0, |i| i + 1);
        let indent = source
            .text
            .get(line..name)
            .map_or(0, |t| t.len() - t.trim_start().len());
        self.file_location(function.module, (line + indent) as u32)
    }

    /// Evaluates the body of the function that is being built, and ends its blocks; its result and the result's
    /// types. None after an error.
    pub(super) fn function_body(&mut self, function: &Function) -> Option<(Value, Vec<Type>)> {
        let errors = self.errors.len();
        let flow = self.block(&function.def.body);
        self.end_unreached();
        if self.errors.len() > errors || flow == Flow::Stop {
            return None;
        }
        let open = (flow == Flow::Next).then(|| self.b.cursor());
        let returns = self.take_returns();
        match self.end_function(function, &returns, open) {
            Ok(result) => Some(result),
            Err(error) => {
                self.report(error);
                None
            }
        }
    }

    /// Ends every block that returns, with values of one type; a path without `return` gives poison, as in Triton.
    fn end_function(
        &mut self,
        function: &Function,
        returns: &[Returned],
        open: Option<BlockId>,
    ) -> Result<(Value, Vec<Type>)> {
        let loc = self.definition(function);
        let form = self.common_form(function, returns)?;
        let mut result = None;
        for Returned { block, value, place } in returns {
            let (Some(block), Some(form)) = (block, &form) else {
                continue;
            };
            self.b.move_to(*block);
            self.place = *place;
            let at = self.location();
            self.b.at(at);
            let value = self.in_form(value, form)?;
            let mut handles = Vec::new();
            value.flatten(&mut handles);
            self.b.return_(&handles);
            result.get_or_insert(value);
        }
        let result = result.unwrap_or(Value::None);
        let mut types = Vec::new();
        flatten_types(&result, &mut types);
        self.b.results(&types);
        if let Some(block) = open {
            self.b.move_to(block);
            self.b.at(loc);
            let poison: Vec<ValueId> = types
                .iter()
                .map(|ty| self.b.value(OpCode::Poison, &[], Attrs::None, *ty))
                .collect();
            self.b.return_(&poison);
        }
        Ok((result, types))
    }
}

/// The types of the IR values that a value consists of, in the order of [`Value::flatten`].
pub(super) fn flatten_types(value: &Value, types: &mut Vec<Type>) {
    match value {
        Value::Tensor(tensor) => types.extend(tensor.ty.ir()),
        Value::Descriptor(d) => {
            let ty = crate::types::Ty::Descriptor(d.block, d.elem);
            types.extend(ty.ir());
            types.extend(d.shape.iter().chain(&d.strides).filter_map(|t| t.ty.ir()));
        }
        Value::Tuple(tuple) => tuple.items.iter().for_each(|v| flatten_types(v, types)),
        Value::Instance(instance) => instance.fields.iter().for_each(|(_, v)| flatten_types(v, types)),
        _ => {}
    }
}
