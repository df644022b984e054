//! `tt.func`, pretty and generic.

use super::Parser;
use super::attrs::Dict;
use super::region::Arg;
use crate::attrs::{AttrList, AttrValue};
use crate::entities::LocId;
use crate::module::{Function, Module};
use crate::types::Type;
use std::sync::Arc;
use tilescope_diagnostics::{Error, Result};

/// The parameters in front of a function's body.
#[derive(Default)]
struct Params<'a> {
    args: Vec<Arg<'a>>,
    attrs: Vec<AttrList>,
    locs: Vec<LocId>,
}

impl<'a> Parser<'a> {
    pub(super) fn function(&mut self, module: &mut Module) -> Result<()> {
        let at = self.c.at();
        self.f = Function::new("", super::draft::unknown_loc());
        // the body brings its own region and entry block
        self.f.blocks = crate::Arena::new();
        self.f.regions = crate::Arena::new();
        self.names.clear();
        if self.c.here() == b'"' {
            self.generic_function()?
        } else {
            self.pretty_function()?
        }
        self.check_forward()?;
        if !self.functions.insert(self.f.name.clone()) {
            return Err(
                Error::input(format!("function `@{}` is defined twice", self.f.name)).at(
                    &self.source,
                    self.c.item(at),
                    "the second definition",
                ),
            );
        }
        let done = std::mem::replace(&mut self.f, Function::new("", super::draft::unknown_loc()));
        module.funcs.push(done);
        Ok(())
    }

    fn pretty_function(&mut self) -> Result<()> {
        self.c.word();
        self.f.public = true;
        for (word, public) in [("public", true), ("private", false), ("nested", false)] {
            if self.c.eat_word(word) {
                self.f.public = public;
            }
        }
        self.f.name = self.symbol()?;
        let params = self.params()?;
        if self.c.eat_str("->") {
            self.function_results()?;
        }
        if self.c.eat_word("attributes") {
            let mut dict = Dict::default();
            self.attr_dict(&mut dict)?;
            self.f.attrs = dict.into_list();
        }
        let at = self.c.at();
        if self.c.here() != b'{' {
            return Err(self.unsupported(at, "a function without a body".to_string()));
        }
        self.f.body = self.region(&params.args)?;
        let entry = self.f.entry();
        for (&arg, loc) in self.f.blocks[entry].args.iter().zip(params.locs) {
            self.f.values[arg].loc = loc;
        }
        self.f.param_attrs = params.attrs;
        self.f.loc = self.loc_or_unknown()?;
        Ok(())
    }

    fn params(&mut self) -> Result<Params<'a>> {
        let mut params = Params::default();
        self.expect(b'(', "`(` of the parameters")?;
        if self.c.eat(b')') {
            return Ok(params);
        }
        loop {
            let at = self.c.at();
            let name = self.value_name()?;
            self.expect(b':', "`:` and the type of the parameter")?;
            let ty = self.ty()?;
            let mut dict = Dict::default();
            self.attr_dict(&mut dict)?;
            params.args.push(Arg { name, ty, at });
            params.attrs.push(dict.into_list());
            params.locs.push(self.loc_or_unknown()?);
            if self.c.eat(b')') {
                return Ok(params);
            }
            self.expect(b',', "`,` or `)` after a parameter")?;
        }
    }

    fn function_results(&mut self) -> Result<()> {
        if self.c.peek() != b'(' {
            let ty = self.ty()?;
            self.f.results = vec![ty];
            self.f.result_attrs = vec![AttrList::new()];
            return Ok(());
        }
        self.c.eat(b'(');
        if self.c.eat(b')') {
            return Ok(());
        }
        loop {
            let ty = self.ty()?;
            let mut dict = Dict::default();
            self.attr_dict(&mut dict)?;
            self.f.results.push(ty);
            self.f.result_attrs.push(dict.into_list());
            if self.c.eat(b')') {
                return Ok(());
            }
            self.expect(b',', "`,` or `)` after a result type")?;
        }
    }

    /// `"tt.func"() <{function_type = …, sym_name = "…"}> ({ … }) {…} : () -> ()`
    fn generic_function(&mut self) -> Result<()> {
        let at = self.c.at();
        self.string_literal()?;
        self.expect(b'(', "`(` of the operands")?;
        self.expect(b')', "`)`, a function has no operands")?;
        let mut dict = Dict::default();
        self.last_function_type = None;
        self.properties(&mut dict)?;
        self.expect(b'(', "`(` of the region")?;
        self.f.body = self.region(&[])?;
        self.expect(b')', "`)` after the region")?;
        self.attr_dict(&mut dict)?;
        self.expect(b':', "`:` and the type")?;
        let signature = self.last_function_type.take();
        self.function_type()?;
        self.f.loc = self.loc_or_unknown()?;
        dict.take("function_type");
        let (inputs, results) = signature.ok_or_else(|| {
            Error::input("the function has no `function_type`").at(&self.source, self.c.item(at), "here")
        })?;
        let entry = self.f.entry();
        let types: Vec<Type> = self.f.blocks[entry]
            .args
            .iter()
            .map(|&v| self.f.values[v].ty)
            .collect();
        if types != inputs {
            return Err(
                Error::input("the entry block's arguments are not those of `function_type`").at(
                    &self.source,
                    self.c.item(at),
                    "in this function",
                ),
            );
        }
        let text = |item: Option<super::attrs::Item<'a>>| match item.map(|i| i.value) {
            Some(AttrValue::Str(s)) => Some(s),
            _ => None,
        };
        self.f.name = text(dict.take("sym_name")).unwrap_or_else(|| Arc::from(""));
        self.f.public = text(dict.take("sym_visibility")).is_none_or(|v| &*v == "public");
        self.f.param_attrs = dict_lists(dict.take("arg_attrs").map(|i| i.value), inputs.len());
        self.f.result_attrs = dict_lists(dict.take("res_attrs").map(|i| i.value), results.len());
        self.f.results = results;
        self.f.attrs = dict.into_list();
        Ok(())
    }
}

/// `[{…}, {}]` as one list per parameter.
fn dict_lists(value: Option<AttrValue>, count: usize) -> Vec<AttrList> {
    let mut lists = vec![AttrList::new(); count];
    if let Some(AttrValue::Array(items)) = value {
        for (slot, item) in lists.iter_mut().zip(items) {
            if let AttrValue::Dict(list) = item {
                *slot = list.into();
            }
        }
    }
    lists
}
