//! Parameters that the launch leaves to `@triton.heuristics` and `@triton.autotune`.
//!
//! What the launch gives wins. Of the configurations of `@triton.autotune` the first one that agrees with what is
//! given is taken (the first of all if none does): nothing is timed here, and pruning functions and hooks are not
//! called. Then heuristics are evaluated, the outermost first, each seeing all arguments known so far, as the
//! launcher of Triton does it. Every choice is noted.

use super::kernel::{Chosen, Kernel};
use crate::ast::{Expr, Name};
use crate::cx::{Args, Cx, Place, Result};
use crate::konst;
use crate::request::{ArgSpec, Request};
use crate::value::{Instance, Value};

/// What host code sees of the arguments.
type Known = Vec<(Name, Value)>;

impl Cx<'_> {
    /// What heuristics, else a configuration, say of the parameters that the request leaves out.
    ///
    /// # Errors
    /// A heuristic that cannot be evaluated.
    pub(super) fn choose(&mut self, kernel: &Kernel, request: &Request) -> Result<Chosen> {
        let mut chosen = Chosen::default();
        let mut known: Known = request
            .host
            .iter()
            .map(|(n, v)| (Name::from(n.as_str()), v.clone()))
            .collect();
        for (name, spec) in &request.args {
            if let ArgSpec::Constant(value) = spec
                && known.iter().all(|(n, _)| **n != *name.as_str())
            {
                known.push((Name::from(name.as_str()), value.clone()));
            }
        }
        let given = |name: &str| request.args.iter().any(|(n, _)| n == name);
        if let Some(configs) = &kernel.info.configs {
            self.choose_config(kernel, configs, &known, &given, &mut chosen);
            known.extend(chosen.values.iter().cloned());
        }
        for heuristics in &kernel.info.heuristics {
            self.choose_by(kernel, heuristics, &mut known, &given, &mut chosen)?;
        }
        Ok(chosen)
    }

    fn choose_config(
        &mut self,
        kernel: &Kernel,
        configs: &Expr,
        known: &Known,
        given: &dyn Fn(&str) -> bool,
        chosen: &mut Chosen,
    ) {
        let function = &kernel.function;
        let name = &function.def.ident.name;
        let evaluated = self.expr_around(function, configs);
        let configs = evaluated
            .map_err(|e| e.message.clone())
            .and_then(|value| konst::index::iterate(&value));
        let configs = match configs {
            Ok(configs) => configs,
            Err(why) => {
                self.notes.push(format!(
                    "the configurations of `{name}` cannot be evaluated: {why}"
                ));
                return;
            }
        };
        let count = configs.len();
        let configs: Vec<&Instance> = configs.iter().filter_map(as_config).collect();
        let agrees = |config: &&Instance| {
            constants(config).iter().all(|(name, value)| {
                let other = known.iter().find(|(n, _)| n == name).filter(|_| given(name));
                other.is_none_or(|(_, other)| konst::equal(other, value))
            })
        };
        let agreeing = configs.iter().position(agrees);
        let Some((at, config)) = agreeing
            .or(Some(0))
            .and_then(|at| configs.get(at).map(|config| (at, *config)))
        else {
            return;
        };
        let mut said = Vec::new();
        for (name, value) in constants(config) {
            if !given(&name) {
                said.push(format!("{name}={}", konst::repr(&value)));
                chosen.values.push((name, value));
            }
        }
        chosen.num_warps = option(config, "num_warps");
        chosen.num_stages = option(config, "num_stages");
        for (option, value) in [("num_warps", chosen.num_warps), ("num_stages", chosen.num_stages)] {
            said.extend(value.map(|value| format!("{option}={value}")));
        }
        let which = if at == 0 {
            "the first".to_string()
        } else {
            format!("number {}", at + 1)
        };
        self.notes.push(format!(
            "`{name}` takes {which} of its {count} configurations: {}",
            said.join(", ")
        ));
    }

    fn choose_by(
        &mut self,
        kernel: &Kernel,
        heuristics: &Expr,
        known: &mut Known,
        given: &dyn Fn(&str) -> bool,
        chosen: &mut Chosen,
    ) -> Result<()> {
        let function = &kernel.function;
        self.place = Place {
            module: function.module,
            span: heuristics.span,
        };
        let index = self.program.position(function.module, &function.def, heuristics);
        let table = self.expr_at(function.module, index, heuristics);
        let entries = match table {
            Ok(Value::Dict(entries)) => entries.borrow().clone(),
            // The launch may give all that they would; if not, what is missing is an error of its own.
            other => {
                let why = match other {
                    Ok(value) => format!("they are {}", value.describe()),
                    Err(error) => error.message.clone(),
                };
                let name = &function.def.ident.name;
                self.notes
                    .push(format!("the heuristics of `{name}` cannot be evaluated: {why}"));
                return Ok(());
            }
        };
        for (key, rule) in entries {
            let Value::Str(name) = &key else {
                return Err(self.error("the keys of `@triton.heuristics` are names of parameters"));
            };
            if given(name) {
                continue;
            }
            let args = known
                .iter()
                .map(|(n, v)| (Value::Str(n.clone()), v.clone()))
                .collect();
            let args = Args::of(vec![konst::dict(args)], heuristics.span);
            let value = self.call(&rule, args).map_err(|error| {
                let help = format!("give `{name}` in the launch file");
                error
                    .note(format!("the heuristic of `{name}` is evaluated for this launch"))
                    .help(help)
            })?;
            self.notes
                .push(format!("`{name}` is {}, by its heuristic", konst::repr(&value)));
            match &**name {
                "num_warps" => chosen.num_warps = positive(&value),
                "num_stages" => chosen.num_stages = positive(&value),
                _ => {}
            }
            known.retain(|(n, _)| n != name);
            chosen.values.retain(|(n, _)| n != name);
            known.push((name.clone(), value.clone()));
            chosen.values.push((name.clone(), value));
        }
        Ok(())
    }
}

fn as_config(value: &Value) -> Option<&Instance> {
    match value {
        Value::Instance(instance) if &*instance.class.name == "Config" => Some(instance),
        _ => None,
    }
}

fn field<'i>(config: &'i Instance, name: &str) -> Option<&'i Value> {
    config.fields.iter().find(|(n, _)| &**n == name).map(|(_, v)| v)
}

/// The compile-time values of a configuration.
fn constants(config: &Instance) -> Vec<(Name, Value)> {
    let Some(Value::Dict(entries)) = field(config, "kwargs") else {
        return Vec::new();
    };
    let entries = entries.borrow();
    let named = entries.iter().filter_map(|(key, value)| match key {
        Value::Str(name) => Some((name.clone(), value.clone())),
        _ => None,
    });
    named.collect()
}

fn option(config: &Instance, name: &str) -> Option<u32> {
    field(config, name).and_then(positive)
}

fn positive(value: &Value) -> Option<u32> {
    konst::as_i64(value)
        .and_then(|value| u32::try_from(value).ok())
        .filter(|value| *value > 0)
}
