//! Calls of functions of the module, which are inlined.

use super::postorder::reverse_postorder;
use super::{Lower, Scope};
use crate::frame::Slot;
use crate::tape::Label;
use std::collections::HashMap;
use tilescope_diagnostics::Result;
use tilescope_ir::{FuncId, Function, OpId};

impl Lower<'_> {
    /// Inlines a call.
    pub fn inline(&mut self, function: &Function, op: OpId, callee: FuncId) -> Result<()> {
        let data = &function.ops[op];
        let args: Vec<Vec<Slot>> = data.operands.iter().map(|&v| self.slots(v).to_vec()).collect();
        if self.scopes.iter().any(|s| s.func == callee) {
            return Err(self.unsupported(function, op, "recursive calls are not run"));
        }
        let mut calls = vec![data.loc];
        calls.extend(self.scope().calls.iter());
        let target = &self.module.funcs[callee];
        let mut scope = Scope {
            func: callee,
            values: target.params().iter().copied().zip(args).collect(),
            labels: HashMap::new(),
            calls: calls.into(),
            after: None,
        };
        // With one return at the end there is nowhere to go, and its values are the results. Triton's front
        // end leaves a block behind the return that nobody enters.
        if let [block] = reverse_postorder(target, target.entry())[..]
            && let Some((&last, ops)) = target.blocks[block].ops.split_last()
        {
            self.scopes.push(scope);
            self.note_parameters(target);
            let lowered = self.operations(target, ops);
            let returned: Vec<Vec<Slot>> = target.ops[last]
                .operands
                .iter()
                .map(|&v| self.slots(v).to_vec())
                .collect();
            self.scopes.pop();
            for (&value, slots) in data.results.iter().zip(returned) {
                self.alias(value, slots);
            }
            return lowered;
        }
        let mut results = Vec::new();
        for &value in &data.results {
            results.extend(self.define(function, value)?);
        }
        let after = self.label();
        scope.after = Some((after, results));
        self.scopes.push(scope);
        self.note_parameters(target);
        let lowered = self.body(target);
        self.scopes.pop();
        self.place(after);
        lowered
    }

    fn note_parameters(&mut self, target: &Function) {
        if self.values.is_some() {
            for &param in target.params() {
                let slots = self.slots(param).to_vec();
                self.note(param, &slots);
            }
        }
    }

    /// The function with this name.
    pub fn find(&self, name: &str) -> Option<FuncId> {
        self.module.find(name)
    }

    /// Where a return goes, and the slots for its values; none at the end of the kernel.
    pub fn after(&mut self) -> Option<(Label, Vec<Slot>)> {
        self.scope().after.clone()
    }
}
