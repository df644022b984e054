//! Calls: the callee exists, has the call's signature, and does not lead back to the caller.

use super::{Errors, Problem};
use crate::attrs::Attrs;
use crate::entities::{EntityId, FuncId, OpId};
use crate::module::{Function, Module};
use std::collections::HashMap;
use tilescope_diagnostics::ErrorKind;

/// A call: the operation and the function called.
type Edge = (OpId, FuncId);

pub(super) fn check(module: &Module, calls: &[Vec<OpId>], errors: &mut Errors) {
    let mut names = HashMap::new();
    for (id, f) in module.funcs.iter() {
        if names.insert(&*f.name, id).is_some() {
            let problem = Problem::function("another function has the same name");
            errors.push(problem.into_error(module, f));
        }
    }
    let mut graph: Vec<Vec<Edge>> = Vec::with_capacity(module.funcs.len());
    for ((_, f), calls) in module.funcs.iter().zip(calls) {
        let mut edges = Vec::new();
        for &id in calls {
            match callee(module, &names, f, id) {
                Ok(target) => edges.push((id, target)),
                Err(problem) if errors.len() < super::MAX_ERRORS => {
                    errors.push(problem.into_error(module, f))
                }
                Err(_) => {}
            }
        }
        graph.push(edges);
    }
    if errors.is_empty()
        && let Some((caller, op)) = cycle(&graph)
    {
        let problem = Problem {
            kind: ErrorKind::Unsupported,
            op: Some(op),
            message: "recursive calls are not supported".into(),
            help: Some("Triton refuses recursion too; write the function as a loop".into()),
        };
        errors.push(problem.into_error(module, &module.funcs[caller]));
    }
}

fn callee(module: &Module, names: &HashMap<&str, FuncId>, f: &Function, id: OpId) -> Result<FuncId, Problem> {
    let op = &f.ops[id];
    let Attrs::Callee(name) = &op.attrs else {
        return Err(Problem::at(id, "it names no function"));
    };
    let Some(&target) = names.get(&**name) else {
        return Err(Problem::at(
            id,
            format!("function `@{name}` is not in the module"),
        ));
    };
    let g = &module.funcs[target];
    let given: Vec<_> = op.operands.iter().map(|&v| f.ty(v)).collect();
    let wanted: Vec<_> = g.params().iter().map(|&v| g.ty(v)).collect();
    if let Some(i) = (0..given.len().max(wanted.len())).find(|&i| given.get(i) != wanted.get(i)) {
        let text = |t: Option<&crate::Type>| t.map_or("nothing".to_string(), |t| format!("`{t}`"));
        let message = format!(
            "argument {} is {}, `@{name}` takes {}",
            i + 1,
            text(given.get(i)),
            text(wanted.get(i))
        );
        return Err(Problem::at(id, message));
    }
    let results: Vec<_> = op.results.iter().map(|&v| f.ty(v)).collect();
    if results != g.results {
        return Err(Problem::at(id, format!("its results are not those of `@{name}`")));
    }
    Ok(target)
}

/// A call that closes a cycle, if there is one. Depth-first, without recursion of its own.
fn cycle(graph: &[Vec<Edge>]) -> Option<(FuncId, OpId)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; graph.len()];
    for root in 0..graph.len() {
        let mut stack = vec![(root, 0)];
        while let Some((node, next)) = stack.last_mut() {
            if *next == 0 {
                if state[*node] == State::Done {
                    stack.pop();
                    continue;
                }
                state[*node] = State::Open;
            }
            let node = *node;
            match graph[node].get(*next) {
                None => {
                    state[node] = State::Done;
                    stack.pop();
                }
                Some(&(op, target)) => {
                    *next += 1;
                    match state[target.index()] {
                        State::Open => return Some((FuncId::from_index(node), op)),
                        State::New => stack.push((target.index(), 0)),
                        State::Done => {}
                    }
                }
            }
        }
    }
    None
}
