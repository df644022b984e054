//! The walk over a function: every operation again, and beside it what its twin computes.

use std::collections::HashMap;

use tilescope_diagnostics::{Error, Result};
use tilescope_ir::{
    Attrs, BlockId, Def, Elem, FuncId, Function, FunctionBuilder, Module, Op, OpCode, OpId, OpVisitor,
    Pointer, RegionId, Scalar, Successor, Type, ValueId,
};

use super::arith::Wide;
use super::depends::{Depends, is_float};
use super::shadow::{Form, Kind, Shadow, mask_of};

/// Rewrites one function.
pub(super) struct Rewriter<'m> {
    pub module: &'m Module,
    pub id: FuncId,
    pub depends: &'m Depends,
    pub b: FunctionBuilder,
    shadows: HashMap<ValueId, Shadow>,
    blocks: HashMap<BlockId, BlockId>,
    /// The address of the flag that says that another path may store elsewhere.
    flag: Option<ValueId>,
    /// How many elements beside its bound lies the size of what was added to an element atomically; how often, twice that.
    pub distance: Option<ValueId>,
    /// What was given up, for the reader of a report.
    pub notes: Vec<String>,
}

/// The twin of one function, what stands in it for each value, and what is left out.
pub(super) struct Rewritten {
    pub function: Function,
    pub shadows: HashMap<ValueId, Shadow>,
    pub notes: Vec<String>,
}

pub(super) fn function(module: &Module, id: FuncId, depends: &Depends) -> Result<Rewritten> {
    let f = &module.funcs[id];
    let mut rewriter = Rewriter {
        module,
        id,
        depends,
        b: FunctionBuilder::new(f.name.clone()),
        shadows: HashMap::new(),
        blocks: HashMap::new(),
        flag: None,
        distance: None,
        notes: Vec::new(),
    };
    if !f.public {
        rewriter.b.private();
    }
    rewriter.body(f)?;
    Ok(Rewritten {
        function: rewriter.b.finish()?,
        shadows: rewriter.shadows,
        notes: rewriter.notes,
    })
}

impl Rewriter<'_> {
    fn body(&mut self, f: &Function) -> Result<()> {
        let mut results = Vec::new();
        for (i, &ty) in f.results.iter().enumerate() {
            // A result depends on floats if any return gives one that does.
            let mut returned = f.ops.iter().filter(|(_, op)| op.code == OpCode::Return);
            let depends =
                returned.any(|(_, op)| op.operands.get(i).is_some_and(|&v| self.depends.has(self.id, v)));
            results.extend(self.form_of(ty, depends)?.types);
        }
        self.b.results(&results);
        let order = reverse_postorder(f);
        let entry = f.entry();
        self.blocks.insert(entry, self.b.cursor());
        for &param in f.params() {
            let form = self.form(f, param)?;
            let name = f
                .value_name(&self.module.locs, param)
                .unwrap_or("arg")
                .to_string();
            // A number that the launch gives is exact: its twin is made here.
            if f.public && form.kind == Kind::Float {
                let value = self.b.param(&name, f.ty(param), None);
                let shadow = self.exact(value);
                self.shadows.insert(param, shadow);
                continue;
            }
            let suffixes = ["", ".wide", ".error", ".unsure"];
            let values: Vec<ValueId> = form
                .types
                .iter()
                .zip(suffixes)
                .map(|(&ty, suffix)| self.b.param(&format!("{name}{suffix}"), ty, None))
                .collect();
            self.define(param, &form, &values)?;
        }
        if self.depends.flagged(self.id) {
            let place = Type::Scalar(Elem::Ptr(Pointer::to(Scalar::I1)));
            self.flag = Some(self.b.param("flag.elsewhere", place, None));
        }
        if self.depends.measured(self.id) {
            self.distance = Some(self.b.param("sums.distance", Type::scalar(Scalar::I64), None));
        }
        for &block in order.iter().filter(|&&block| block != entry) {
            let new = self.b.add_block();
            self.blocks.insert(block, new);
            for &arg in &f.blocks[block].args {
                let form = self.form(f, arg)?;
                let values: Vec<ValueId> = form.types.iter().map(|&ty| self.b.block_arg(new, ty)).collect();
                self.define(arg, &form, &values)?;
            }
        }
        for &block in &order {
            let new = self.blocks[&block];
            self.b.move_to(new);
            self.ops(f, block)?;
        }
        Ok(())
    }

    fn ops(&mut self, f: &Function, block: BlockId) -> Result<()> {
        for &op in &f.blocks[block].ops {
            self.b.at(f.ops[op].loc);
            self.visit(f, op)?;
        }
        Ok(())
    }

    // Shadows.

    pub(super) fn form(&self, f: &Function, value: ValueId) -> Result<Form> {
        self.form_of(f.ty(value), self.depends.has(self.id, value))
    }

    fn form_of(&self, ty: Type, depends: bool) -> Result<Form> {
        Form::of(ty, depends, self.depends.int_memory)
            .ok_or_else(|| Error::unsupported("a twin of pointers to pointers to floats"))
    }

    /// # Errors
    /// A value that was not visited: the walk does not follow dominance.
    pub(super) fn shadow(&self, value: ValueId) -> Result<Shadow> {
        let shadow = self.shadows.get(&value).copied();
        shadow.ok_or_else(|| Error::unsupported("a twin of blocks in this order"))
    }

    pub(super) fn operand(&self, f: &Function, op: OpId, index: usize) -> Result<Shadow> {
        match f.ops[op].operands.get(index) {
            Some(&value) => self.shadow(value),
            None => Err(self.refuse(f, op, "a missing operand")),
        }
    }

    pub(super) fn operands(&self, f: &Function, op: OpId) -> Result<Vec<Shadow>> {
        f.ops[op].operands.iter().map(|&v| self.shadow(v)).collect()
    }

    fn define(&mut self, value: ValueId, form: &Form, values: &[ValueId]) -> Result<()> {
        let shadow = form.shadow(values);
        let shadow = shadow.ok_or_else(|| Error::unsupported("a twin with fewer values than its form"))?;
        self.shadows.insert(value, shadow);
        Ok(())
    }

    /// Sets the shadow of an operation's result.
    pub(super) fn set(&mut self, f: &Function, op: OpId, index: usize, shadow: Shadow) {
        if let Some(&result) = f.ops[op].results.get(index) {
            self.shadows.insert(result, shadow);
        }
    }

    /// A float that is the same on all paths.
    pub(super) fn exact(&mut self, value: ValueId) -> Shadow {
        let wide = self.widened(value);
        let error = self.wide().constant(wide, 0.0);
        Shadow::float(value, wide, error)
    }

    /// A float that may be anything on another path.
    pub(super) fn unknown(&mut self, value: ValueId) -> Shadow {
        let wide = self.widened(value);
        let error = self.wide().constant(wide, f64::NAN);
        Shadow::float(value, wide, error)
    }

    /// A float's own value in f64, exactly.
    pub(super) fn widened(&mut self, value: ValueId) -> ValueId {
        let number = self.b.ty(value).elem().and_then(Elem::scalar);
        match number {
            Some(Scalar::F64) | None => value,
            Some(number) if number.bits() == 8 => {
                let half = self.b.cast(OpCode::FpToFp, value, Scalar::F16);
                self.b.cast(OpCode::ExtF, half, Scalar::F64)
            }
            Some(_) => self.b.cast(OpCode::ExtF, value, Scalar::F64),
        }
    }

    pub(super) fn wide(&mut self) -> Wide<'_> {
        Wide(&mut self.b)
    }

    /// Truth values, all the same, in the form of a value's lanes.
    pub(super) fn truth(&mut self, like: Type, value: bool) -> ValueId {
        self.b.int(mask_of(like), i64::from(value))
    }

    pub(super) fn either(&mut self, a: Option<ValueId>, b: Option<ValueId>) -> Option<ValueId> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.b.elementwise(OpCode::OrI, &[a, b])),
            (a, b) => a.or(b),
        }
    }

    /// Says in memory that another path may store elsewhere, if one of these truth values is true: nothing that the launch
    /// leaves is judged then.
    pub(super) fn raise(&mut self, unsure: ValueId) -> Result<()> {
        let flag = self.flag;
        let mut flag =
            flag.ok_or_else(|| Error::unsupported("a twin that stores elsewhere by calls like these"))?;
        if let Some(shape) = self.b.ty(unsure).shape() {
            flag = self.b.splat(flag, shape);
        }
        self.b.store(flag, unsure, Some(unsure));
        Ok(())
    }

    /// The same for a decision, if what it decides stores something.
    pub(super) fn raise_if_stored(&mut self, f: &Function, op: OpId, unsure: Option<ValueId>) -> Result<()> {
        let regions = &f.ops[op].regions;
        match unsure {
            Some(unsure) if self.depends.writes_in(self.module, f, regions) => {
                self.note("floats decide whether something is stored; no output is judged where another path may decide otherwise");
                self.raise(unsure)
            }
            _ => Ok(()),
        }
    }

    /// What a call of a function passes beside its operands.
    pub(super) fn besides(&self, callee: FuncId) -> impl Iterator<Item = ValueId> {
        let flag = self.flag.filter(|_| self.depends.flagged(callee));
        let distance = self.distance.filter(|_| self.depends.measured(callee));
        flag.into_iter().chain(distance)
    }

    /// The float with nothing known of it where `unsure` is true.
    pub(super) fn doubted(&mut self, shadow: Shadow, unsure: Option<ValueId>) -> Shadow {
        let Some(unsure) = unsure else { return shadow };
        let unsure = self.fitted(unsure, self.b.ty(shadow.error));
        let error = self.wide().unless(unsure, f64::NAN, shadow.error);
        Shadow { error, ..shadow }
    }

    /// A mask in the form of `like`: one truth value in all of its lanes, or one for each row.
    pub(super) fn fitted(&mut self, mask: ValueId, like: Type) -> ValueId {
        match (self.b.ty(mask).shape(), like.shape()) {
            (None, Some(shape)) => self.b.splat(mask, shape),
            (Some(rows), Some(shape)) if rows.rank() == 1 && shape.rank() == 2 => {
                let column = self.b.expand_dims(mask, 1);
                self.b.broadcast(column, shape)
            }
            _ => mask,
        }
    }

    /// The values that pass a shadow on where `form` is wanted.
    pub(super) fn passed(&mut self, shadow: Shadow, form: &Form) -> Vec<ValueId> {
        let mut values = shadow.own();
        if form.unsure {
            let unsure = match shadow.unsure {
                Some(unsure) => unsure,
                None => self.truth(self.b.ty(shadow.value), false),
            };
            values.push(unsure);
        }
        values
    }

    // Operations.

    /// The operation again, on the kernel's own values; gives its results.
    pub(super) fn copy(&mut self, f: &Function, op: OpId) -> Result<Vec<ValueId>> {
        let operands: Vec<ValueId> = self.operands(f, op)?.iter().map(|s| s.value).collect();
        let types: Vec<Type> = f.ops[op].results.iter().map(|&v| f.ty(v)).collect();
        Ok(self.again(&f.ops[op], &operands, &types))
    }

    /// The operation on other operands, with results of other types.
    pub(super) fn again(&mut self, op: &Op, operands: &[ValueId], types: &[Type]) -> Vec<ValueId> {
        let new = self.b.op(op.code, operands, op.attrs.clone(), types);
        self.b.function().ops[new].results.to_vec()
    }

    /// The same with one result.
    pub(super) fn again_one(&mut self, op: &Op, operands: &[ValueId], ty: Type) -> ValueId {
        self.b.value(op.code, operands, op.attrs.clone(), ty)
    }

    /// The operation on integers and addresses of integers: results depend on floats lane by lane as operands do.
    pub(super) fn discrete(&mut self, f: &Function, op: OpId) -> Result<()> {
        let operands = self.operands(f, op)?;
        if operands.iter().any(|s| s.kind == Kind::Float)
            || f.ops[op].results.iter().any(|&v| is_float(f.ty(v)))
        {
            return Err(self.refuse(f, op, "this operation on floats"));
        }
        let results = self.copy(f, op)?;
        let mut unsure = None;
        for operand in operands {
            unsure = self.either(unsure, operand.unsure);
        }
        for (i, &value) in results.iter().enumerate() {
            let mask = unsure.map(|mask| self.fitted(mask, self.b.ty(value)));
            self.set(f, op, i, Shadow::plain(value, mask));
        }
        Ok(())
    }

    /// The same where lanes of results come from other lanes of operands: one unsure lane makes all of them so.
    pub(super) fn mixed(&mut self, f: &Function, op: OpId) -> Result<()> {
        let operands = self.operands(f, op)?;
        if operands.iter().any(|s| s.kind == Kind::Float)
            || f.ops[op].results.iter().any(|&v| is_float(f.ty(v)))
        {
            return Err(self.refuse(f, op, "this operation on floats"));
        }
        let unsure = operands.iter().any(|s| s.unsure.is_some());
        for (i, value) in self.copy(f, op)?.into_iter().enumerate() {
            let mask = unsure.then(|| self.truth(self.b.ty(value), true));
            self.set(f, op, i, Shadow::plain(value, mask));
        }
        Ok(())
    }

    pub(super) fn refuse(&self, f: &Function, op: OpId, what: &str) -> Box<Error> {
        let data = &f.ops[op];
        let error = Error::unsupported(format!("the float64 twin knows no `{}`: {what}", data.code));
        let error = match &self.module.source {
            Some(source) => {
                let start = data.offset as usize;
                error.at(source, start..start + data.code.info().mnemonic.len(), "")
            }
            None => error.note(format!("in {} of {}", data.code, f.name)),
        };
        match self.module.locs.frames(data.loc).first() {
            Some((file, line, column)) => error.note(format!("the kernel's source: {file}:{line}:{column}")),
            None => error,
        }
    }

    // Regions.

    /// A region of one block again: its arguments in these forms, its end in `end`'s.
    pub(super) fn region(
        &mut self,
        f: &Function,
        region: RegionId,
        args: &[Form],
        end: &[Form],
    ) -> Result<RegionId> {
        let Some(&block) = f.regions[region].blocks.first() else {
            return Err(Error::unsupported("a twin of an empty region"));
        };
        let types: Vec<Type> = args.iter().flat_map(|form| form.types.iter().copied()).collect();
        let (open, values) = self.b.open_region(&types);
        let mut rest = values.as_slice();
        for (&arg, form) in f.blocks[block].args.iter().zip(args) {
            let (own, others) = rest.split_at_checked(form.types.len()).unwrap_or((rest, &[]));
            self.define(arg, form, own)?;
            rest = others;
        }
        let Some((&last, body)) = f.blocks[block].ops.split_last() else {
            return Err(Error::unsupported("a twin of an empty block"));
        };
        for &op in body {
            self.b.at(f.ops[op].loc);
            self.visit(f, op)?;
        }
        let terminator = &f.ops[last];
        self.b.at(terminator.loc);
        if terminator.code == OpCode::Condition {
            let unsure = self.operand(f, last, 0)?.unsure;
            if let Some((of, _)) = f.ops.iter().find(|(_, op)| op.regions.contains(&region)) {
                self.raise_if_stored(f, of, unsure)?;
            }
        }
        let mut values = Vec::new();
        for (&value, form) in terminator.operands.iter().zip(end) {
            let shadow = self.shadow(value)?;
            values.extend(self.passed(shadow, form));
        }
        Ok(self.b.close_region(open, terminator.code, values))
    }

    /// An operation with regions whose results have these forms.
    pub(super) fn with_regions(
        &mut self,
        f: &Function,
        op: OpId,
        operands: &[ValueId],
        results: &[Form],
        regions: Vec<RegionId>,
    ) -> Result<()> {
        let types: Vec<Type> = results
            .iter()
            .flat_map(|form| form.types.iter().copied())
            .collect();
        let data = &f.ops[op];
        let values = self
            .b
            .op_with_regions(data.code, operands, data.attrs.clone(), &types, regions);
        self.results(f, op, results, &values)
    }

    /// Defines the results of an operation from the values that its twin gave.
    pub(super) fn results(
        &mut self,
        f: &Function,
        op: OpId,
        forms: &[Form],
        values: &[ValueId],
    ) -> Result<()> {
        let mut rest = values;
        for (&result, form) in f.ops[op].results.iter().zip(forms) {
            let (own, others) = rest.split_at_checked(form.types.len()).unwrap_or((rest, &[]));
            self.define(result, form, own)?;
            rest = others;
        }
        Ok(())
    }

    pub(super) fn forms(&self, f: &Function, values: &[ValueId]) -> Result<Vec<Form>> {
        values.iter().map(|&v| self.form(f, v)).collect()
    }

    /// Operands passed on in the forms of what receives them.
    pub(super) fn pass_all(&mut self, values: &[ValueId], forms: &[Form]) -> Result<Vec<ValueId>> {
        let mut out = Vec::new();
        for (&value, form) in values.iter().zip(forms) {
            let shadow = self.shadow(value)?;
            out.extend(self.passed(shadow, form));
        }
        Ok(out)
    }

    /// A branch again.
    pub(super) fn branch(&mut self, f: &Function, op: OpId) -> Result<()> {
        let operands: Vec<ValueId> = self.operands(f, op)?.iter().map(|s| s.value).collect();
        let mut successors = Vec::new();
        for target in &f.ops[op].successors {
            let forms = self.forms(f, &f.blocks[target.block].args)?;
            let args = self.pass_all(&target.args, &forms)?;
            let Some(&block) = self.blocks.get(&target.block) else {
                return Err(self.refuse(f, op, "a branch out of its function"));
            };
            successors.push(Successor { block, args });
        }
        let new = self.b.op(f.ops[op].code, &operands, Attrs::None, &[]);
        self.b.set_successors(new, successors);
        Ok(())
    }

    /// What the kernel calls the parameter that an address comes from.
    pub(super) fn named_place(&self, f: &Function, place: ValueId) -> Option<String> {
        let mut place = place;
        for _ in 0..=f.ops.len() {
            super::depends::pointee(f.ty(place))?;
            match f.values[place].def {
                Def::Arg(block, _) => {
                    let name = f.value_name(&self.module.locs, place);
                    return name.filter(|_| block == f.entry()).map(String::from);
                }
                Def::Result(op, _) => place = *f.ops[op].operands.first()?,
            }
        }
        None
    }

    pub(super) fn note(&mut self, note: &str) {
        if !self.notes.iter().any(|known| known == note) {
            self.notes.push(note.to_string());
        }
    }
}

/// The blocks of a function's body that can be reached, each after those that dominate it.
fn reverse_postorder(f: &Function) -> Vec<BlockId> {
    let successors = |block: BlockId| -> Vec<BlockId> {
        let last = f.blocks[block].ops.last();
        last.map(|&op| f.ops[op].successors.iter().map(|s| s.block).collect())
            .unwrap_or_default()
    };
    let mut seen = HashMap::from([(f.entry(), ())]);
    let mut stack = vec![(f.entry(), successors(f.entry()))];
    let mut order = Vec::new();
    while let Some((block, todo)) = stack.last_mut() {
        match todo.pop() {
            Some(next) => {
                if seen.insert(next, ()).is_none() {
                    stack.push((next, successors(next)));
                }
            }
            None => {
                order.push(*block);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
