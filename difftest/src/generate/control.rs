//! Loops, branches, the grid, asserts.

use tilescope_ir::attrs::{AttrValue, Axis, IntPredicate, Print};
use tilescope_ir::build::FunctionBuilder;
use tilescope_ir::{Attrs, OpCode, RegionId, Scalar, Type, ValueId};

use super::{Generator, is_any, is_int, scalar_of};

const I32: Type = Type::Scalar(tilescope_ir::Elem::Scalar(Scalar::I32));

/// Regions inside each other, at the most.
const MAX_NESTING: u32 = 3;

impl Generator {
    pub(super) fn program_id(&mut self, _: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let axis = Axis::ALL[self.draw.below(3)];
        let value = self.b.program_id(axis);
        self.keep(value);
        true
    }

    pub(super) fn num_programs(&mut self, _: OpCode) -> bool {
        if !self.has_memory() {
            return false;
        }
        let axis = Axis::ALL[self.draw.below(3)];
        let value = self.b.num_programs(axis);
        self.keep(value);
        true
    }

    fn may_nest(&self) -> bool {
        self.nesting < MAX_NESTING && self.depth < 3 && !self.lanes_only
    }

    /// Values that a loop carries: some there are.
    fn carried(&mut self) -> Vec<ValueId> {
        let count = self.draw.below(4);
        (0..count)
            .filter_map(|_| self.find(|ty| scalar_of(ty).is_some_and(is_any)))
            .collect()
    }

    fn types(&self, values: &[ValueId]) -> Vec<Type> {
        values.iter().map(|&v| self.b.ty(v)).collect()
    }

    /// Fills the open region with operations, then finds values of these types for its end.
    fn body(&mut self, args: &[ValueId], wanted: &[Type], size: usize) -> Vec<ValueId> {
        self.pool.extend(args);
        self.fill(size);
        wanted.iter().map(|&ty| self.want(ty)).collect()
    }

    /// Runs `build` inside a region: what it makes is not seen outside.
    fn inside<T>(&mut self, build: impl FnOnce(&mut Self) -> T) -> T {
        let (length, always) = (self.pool.len(), self.always);
        self.nesting += 1;
        self.always = false;
        let out = build(self);
        self.always = always;
        self.nesting -= 1;
        self.pool.truncate(length);
        out
    }

    /// A small number: a constant, or one that is computed.
    fn small(&mut self, ty: Type, most: i64) -> ValueId {
        match self.draw.percent(60) {
            true => {
                let value = self.draw.below(most as usize + 1) as i64;
                self.int(ty, value)
            }
            false => {
                let value = self.want(ty);
                self.below(value, most)
            }
        }
    }

    pub(super) fn for_(&mut self, code: OpCode) -> bool {
        if !self.may_nest() {
            return false;
        }
        let index = match self.draw.percent(80) {
            true => I32,
            false => Type::scalar(Scalar::I64),
        };
        let start = self.small(index, 3);
        let bound = self.small(index, 7);
        let step = 1 + self.draw.below(3) as i64;
        let step = self.int(index, step);
        let initial = self.carried();
        let types = self.types(&initial);
        let mut args = vec![index];
        args.extend(&types);
        let (open, args) = self.b.open_region(&args);
        let size = 1 + self.draw.below(5);
        let values = self.inside(|g| g.body(&args, &types, size));
        let region = self.b.close_region(open, OpCode::Yield, values);
        let operands: Vec<ValueId> = [start, bound, step].into_iter().chain(initial).collect();
        let attrs = match self.draw.percent(10) {
            true => Attrs::For { unsigned: true },
            false => Attrs::None,
        };
        let results = self
            .b
            .op_with_regions(code, &operands, attrs, &types, vec![region]);
        self.pool.extend(results);
        true
    }

    fn branch(&mut self, types: &[Type]) -> RegionId {
        let (open, _) = self.b.open_region(&[]);
        let size = self.draw.below(5);
        let values = self.inside(|g| g.body(&[], types, size));
        self.b.close_region(open, OpCode::Yield, values)
    }

    pub(super) fn if_(&mut self, code: OpCode) -> bool {
        if !self.may_nest() {
            return false;
        }
        let mut condition = self.want(Type::BOOL);
        if let (true, Some(program)) = (self.compilable, self.program) {
            // Triton's passes expect constant conditions to be folded already: an analysis of tiles that never are trips over them.
            let odd = self.b.cast(OpCode::TruncI, program, Scalar::I1);
            condition = self.b.elementwise(OpCode::XorI, &[condition, odd]);
        }
        let like = self.carried();
        let types = self.types(&like);
        let mut regions = vec![self.branch(&types)];
        if !types.is_empty() || self.draw.percent(50) {
            regions.push(self.branch(&types));
        }
        let results = self
            .b
            .op_with_regions(code, &[condition], Attrs::None, &types, regions);
        self.pool.extend(results);
        true
    }

    pub(super) fn while_(&mut self, code: OpCode) -> bool {
        if !self.may_nest() {
            return false;
        }
        let zero = self.int(I32, 0);
        let mut initial = vec![zero];
        initial.extend(self.carried());
        let types = self.types(&initial);
        let (open, args) = self.b.open_region(&types);
        let before = self.inside(|g| {
            g.pool.extend(&args);
            let size = g.draw.below(3);
            g.fill(size);
            let limit = g.small(I32, 5);
            let mut more = g.b.cmp_int(IntPredicate::Slt, args[0], limit);
            if g.draw.percent(50) {
                let also = g.want(Type::BOOL);
                more = g.b.elementwise(OpCode::AndI, &[more, also]);
            }
            let mut values = vec![more, args[0]];
            values.extend(types[1..].iter().map(|&ty| g.want(ty)).collect::<Vec<_>>());
            values
        });
        let before = self.b.close_region(open, OpCode::Condition, before);
        let (open, args) = self.b.open_region(&types);
        let after = self.inside(|g| {
            let size = 1 + g.draw.below(4);
            let rest = g.body(&args, &types[1..], size);
            let one = g.int(I32, 1);
            let mut values = vec![g.b.elementwise(OpCode::AddI, &[args[0], one])];
            values.extend(rest);
            values
        });
        let after = self.b.close_region(open, OpCode::Yield, after);
        let results = self
            .b
            .op_with_regions(code, &initial, Attrs::None, &types, vec![before, after]);
        self.pool.extend(results);
        true
    }

    /// A call of a new function of the module, which works on its arguments alone.
    pub(super) fn call(&mut self, _: OpCode) -> bool {
        if !self.has_memory() || self.depth > 0 || self.helpers.len() >= 2 {
            return false;
        }
        let mut given = self.carried();
        if given.is_empty() {
            given.extend(self.program);
        }
        let types = self.types(&given);
        let name = format!("helper{}", self.helpers.len());
        let mut inner = Generator::new(self.draw.clone(), self.exact, self.compilable);
        inner.b = FunctionBuilder::new(name.as_str());
        inner.b.private();
        inner.b.attribute("noinline", AttrValue::Bool(true));
        for (i, &ty) in types.iter().enumerate() {
            let parameter = inner.b.param(&format!("a{i}"), ty, None);
            inner.pool.push(parameter);
        }
        let size = 1 + inner.draw.below(6);
        inner.fill(size);
        let results: Vec<ValueId> = (0..1 + inner.draw.below(2))
            .filter_map(|_| inner.find(|ty| scalar_of(ty).is_some_and(is_any)))
            .collect();
        let types = inner.types(&results);
        inner.b.results(&types);
        inner.b.return_(&results);
        self.draw = inner.draw;
        // A mistake comes out when the module is put together.
        self.helpers.push(inner.b);
        let values = self.b.call(&name, &given, &types);
        self.pool.extend(values);
        true
    }

    /// Blocks: a return of some programs before the end, or two ways that meet again.
    pub(super) fn cond_br(&mut self, _: OpCode) -> bool {
        if !self.has_memory() || self.depth > 0 || self.nesting > 0 {
            return false;
        }
        let condition = self.want(Type::BOOL);
        let (then, otherwise) = (self.b.add_block(), self.b.add_block());
        self.b.cond_br(condition, then, otherwise);
        if self.draw.percent(25) {
            self.b.move_to(then);
            self.b.return_(&[]);
            self.b.move_to(otherwise);
            self.always = false;
            return true;
        }
        let like = self.carried();
        let types = self.types(&like);
        let join = self.b.add_block();
        for block in [then, otherwise] {
            self.b.move_to(block);
            let size = self.draw.below(4);
            let values = self.inside(|g| g.body(&[], &types, size));
            self.b.br(join, &values);
        }
        self.b.move_to(join);
        for ty in types {
            let value = self.b.block_arg(join, ty);
            self.keep(value);
        }
        true
    }

    /// Something that is true, and not by a constant.
    fn truth(&mut self, ty: Type) -> ValueId {
        let value = self.want(ty);
        self.b.cmp_int(IntPredicate::Eq, value, value)
    }

    pub(super) fn assert(&mut self, code: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let ty = match code {
            OpCode::Assert => self.some_tile(is_int),
            _ => I32,
        };
        let truth = self.truth(ty);
        self.b.op(code, &[truth], Attrs::Message("it holds".into()), &[]);
        true
    }

    pub(super) fn assume(&mut self, code: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let truth = self.truth(I32);
        self.b.op(code, &[truth], Attrs::None, &[]);
        true
    }

    pub(super) fn print(&mut self, code: OpCode) -> bool {
        if self.lanes_only || self.draw.percent(70) {
            return false;
        }
        let ty = match self.draw.percent(50) {
            true => I32,
            false => self.some_tile(is_int),
        };
        let value = self.want(ty);
        let print = Print {
            prefix: " x: ".into(),
            hex: self.draw.percent(30),
            signed: vec![true],
        };
        self.b.op(code, &[value], Attrs::Print(Box::new(print)), &[]);
        true
    }

    pub(super) fn barrier(&mut self, code: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        let attrs = match code {
            OpCode::Barrier => Attrs::Barrier("local".into()),
            _ => Attrs::None,
        };
        self.b.op(code, &[], attrs, &[]);
        true
    }

    pub(super) fn grid_dependency(&mut self, code: OpCode) -> bool {
        if self.lanes_only {
            return false;
        }
        self.b.op(code, &[], Attrs::None, &[]);
        true
    }
}
