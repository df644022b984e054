//! Building what is not known beforehand: attributes, blocks with arguments, second tries.
//!
//! A compiler that must see a body before it knows the operation around it (which values a loop carries) takes a
//! [`Checkpoint`], visits the body, looks, and rolls back.

use super::FunctionBuilder;
use crate::attrs::AttrValue;
use crate::entities::{BlockId, LocId, ValueId};
use crate::module::Passed;
use crate::types::Type;
use std::sync::Arc;

/// A state of a [`FunctionBuilder`] to go back to.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    ops: usize,
    values: usize,
    blocks: usize,
    regions: usize,
    passed: usize,
    body_blocks: usize,
    cursor: BlockId,
    cursor_ops: usize,
    loc: LocId,
    error: Option<String>,
}

impl FunctionBuilder {
    /// Hangs an attribute on the operation made last (`tt.num_stages`); on none if there is none.
    pub fn annotate(&mut self, name: &str, value: AttrValue) -> &mut Self {
        if let Some(op) = self.f.ops.values_mut().next_back() {
            op.extra.push((name.into(), value));
        }
        self
    }

    /// Hangs an attribute on the function (`noinline`).
    pub fn attribute(&mut self, name: impl Into<Arc<str>>, value: AttrValue) -> &mut Self {
        self.f.attrs.push((name.into(), value));
        self
    }

    /// Notes that the helper called at `call` knows a value as its parameter `name`.
    pub fn pass(&mut self, name: impl Into<Arc<str>>, value: ValueId, call: LocId) -> &mut Self {
        let name = name.into();
        self.f.passed.push(Passed { name, value, call });
        self
    }

    /// The location of the operations that follow.
    pub fn location(&self) -> LocId {
        self.loc
    }

    /// Says where the function is defined.
    pub fn defined_at(&mut self, loc: LocId) -> &mut Self {
        self.f.loc = loc;
        self
    }

    /// Adds an argument to a block of the body, at the current location.
    pub fn block_arg(&mut self, block: BlockId, ty: Type) -> ValueId {
        self.f.add_arg(block, ty, self.loc)
    }

    /// Number of operations made so far, those rolled back not counted.
    pub fn op_count(&self) -> usize {
        self.f.ops.len()
    }

    /// The current state, for [`FunctionBuilder::rollback`].
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            ops: self.f.ops.len(),
            values: self.f.values.len(),
            blocks: self.f.blocks.len(),
            regions: self.f.regions.len(),
            passed: self.f.passed.len(),
            body_blocks: self.f.regions[self.f.body].blocks.len(),
            cursor: self.block,
            cursor_ops: self.f.blocks[self.block].ops.len(),
            loc: self.loc,
            error: self.error.clone(),
        }
    }

    /// Forgets everything built since the checkpoint.
    ///
    /// Between the two only the block of the cursor and blocks made since may have been built into, and no
    /// parameter or block argument of an older block added.
    pub fn rollback(&mut self, to: &Checkpoint) {
        self.f.blocks[to.cursor].ops.truncate(to.cursor_ops);
        let body = self.f.body;
        self.f.regions[body].blocks.truncate(to.body_blocks);
        self.f.ops.truncate(to.ops);
        self.f.values.truncate(to.values);
        self.f.blocks.truncate(to.blocks);
        self.f.regions.truncate(to.regions);
        self.f.passed.truncate(to.passed);
        self.block = to.cursor;
        self.loc = to.loc;
        self.error.clone_from(&to.error);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Scalar;
    use crate::{Attrs, Module, OpCode, text};

    fn printed(b: FunctionBuilder) -> String {
        let mut module = Module::default();
        module.funcs.push(b.finish().unwrap());
        crate::verify(&module).unwrap();
        text::print(&module)
    }

    /// `if p { n + 1 } else { n }`, one side left open until the other is known.
    fn choice(b: &mut FunctionBuilder, p: ValueId, n: ValueId) -> ValueId {
        let i32 = Type::scalar(Scalar::I32);
        let outer = b.cursor();
        let (then, _) = b.open_region(&[]);
        let then_block = b.cursor();
        let one = b.int(i32, 1);
        let sum = b.elementwise(OpCode::AddI, &[n, one]);
        b.move_to(outer);
        let (otherwise, _) = b.open_region(&[]);
        let otherwise = b.close_region(otherwise, OpCode::Yield, vec![n]);
        b.move_to(then_block);
        let then = b.close_region(then, OpCode::Yield, vec![sum]);
        let regions = vec![then, otherwise];
        b.op_with_regions(OpCode::If, &[p], Attrs::None, &[i32], regions)[0]
    }

    #[test]
    fn a_rollback_leaves_no_trace() {
        let i32 = Type::scalar(Scalar::I32);
        let start = || {
            let mut b = FunctionBuilder::new("f");
            let n = b.param("n", i32, None);
            let p = b.param("p", Type::BOOL, None);
            b.results(&[i32]);
            (b, n, p)
        };
        let (mut plain, n, p) = start();
        let out = choice(&mut plain, p, n);
        plain.return_(&[out]);

        let (mut tried, n, p) = start();
        let before = tried.checkpoint();
        let block = tried.add_block();
        tried.block_arg(block, i32);
        tried.br(block, &[n]);
        tried.move_to(block);
        let wasted = choice(&mut tried, p, n);
        tried.add_ptr(wasted, n);
        tried.make_range(0, 3);
        tried.rollback(&before);
        let out = choice(&mut tried, p, n);
        tried.return_(&[out]);
        assert_eq!(printed(plain), printed(tried));
    }
}
