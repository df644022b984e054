//! One method for each row of the op table: what the twin of an operation is. Element-wise floats are in `float`,
//! accesses in `memory`, matrix products and reductions in `fold`.

use tilescope_diagnostics::Result;
use tilescope_ir::attrs::{FloatPredicate, Rounding};
use tilescope_ir::ops::Class;
use tilescope_ir::{Attrs, Elem, Function, OpCode, OpId, OpVisitor, Scalar, ValueId};

use super::depends::is_float;
use super::rewrite::Rewriter;
use super::rounding;
use super::shadow::{Form, Kind, Shadow, join, mask_of, with_target};

impl OpVisitor for Rewriter<'_> {
    type Output = Result<()>;

    fn elementwise(&mut self, f: &Function, op: OpId, class: Class) -> Result<()> {
        match class {
            Class::Int1 | Class::Int2 => self.discrete(f, op),
            Class::Float1 | Class::Float2 | Class::Float3 => self.float(f, op),
        }
    }

    fn constant(&mut self, f: &Function, op: OpId) -> Result<()> {
        let value = self.copy(f, op)?;
        let Some(&value) = value.first() else {
            return Ok(());
        };
        let shadow = if is_float(self.b.ty(value)) {
            self.exact(value)
        } else {
            Shadow::plain(value, None)
        };
        self.set(f, op, 0, shadow);
        Ok(())
    }

    fn poison(&mut self, f: &Function, op: OpId) -> Result<()> {
        let ty = f.result(op).map(|v| f.ty(v));
        match ty {
            Some(ty) if is_float(ty) => {
                let value = self.b.float(ty, 0.0);
                let shadow = self.exact(value);
                self.set(f, op, 0, shadow);
                Ok(())
            }
            _ => self.discrete(f, op),
        }
    }

    fn cmp_int(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.discrete(f, op)
    }

    fn cmp_float(&mut self, f: &Function, op: OpId) -> Result<()> {
        let (a, b) = (self.operand(f, op, 0)?, self.operand(f, op, 1)?);
        let value = self.copy(f, op)?[0];
        let mut w = self.wide();
        let sum = w.add(a.error, b.error);
        let zero = w.constant(sum, 0.0);
        let inexact = w.compare(FloatPredicate::Une, sum, zero);
        let distance = w.distance(a.wide, b.wide);
        // What is compared with NaN gives the same wherever it lies.
        let nan = w.is_nan(distance);
        let distance = w.unless(nan, f64::INFINITY, distance);
        let near = w.compare(FloatPredicate::Ule, distance, sum);
        let unsure = self.b.elementwise(OpCode::AndI, &[inexact, near]);
        self.set(f, op, 0, Shadow::plain(value, Some(unsure)));
        Ok(())
    }

    fn select(&mut self, f: &Function, op: OpId) -> Result<()> {
        let (condition, a, b) = (
            self.operand(f, op, 0)?,
            self.operand(f, op, 1)?,
            self.operand(f, op, 2)?,
        );
        let value = self.copy(f, op)?[0];
        let pick = |this: &mut Self, a: ValueId, b: ValueId| {
            let ty = this.b.ty(a);
            this.b
                .value(OpCode::Select, &[condition.value, a, b], Attrs::None, ty)
        };
        let doubt = condition.unsure.map(|mask| self.fitted(mask, self.b.ty(value)));
        let shadow = match a.kind {
            Kind::Float => {
                let (wide, error) = (pick(self, a.wide, b.wide), pick(self, a.error, b.error));
                let error = match doubt {
                    None => error,
                    // Either side may be the right one.
                    Some(doubt) => {
                        let mut w = self.wide();
                        let apart = w.distance(a.wide, b.wide);
                        let most = w.max(a.error, b.error);
                        let both = w.add(apart, most);
                        self.b.select(doubt, both, error)
                    }
                };
                Shadow::float(value, wide, error)
            }
            _ => {
                let (wide, error) = match a.kind {
                    Kind::Plain => (value, value),
                    Kind::IntPlace => (pick(self, a.wide, b.wide), value),
                    _ => (pick(self, a.wide, b.wide), pick(self, a.error, b.error)),
                };
                let sides = match (a.unsure, b.unsure) {
                    (None, None) => None,
                    (x, y) => {
                        let ty = self.b.ty(value);
                        let x = match x {
                            Some(x) => x,
                            None => self.truth(ty, false),
                        };
                        let y = match y {
                            Some(y) => y,
                            None => self.truth(ty, false),
                        };
                        Some(pick(self, x, y))
                    }
                };
                Shadow {
                    kind: a.kind,
                    value,
                    wide,
                    error,
                    unsure: self.either(doubt, sides),
                }
            }
        };
        self.set(f, op, 0, shadow);
        Ok(())
    }

    fn clamp(&mut self, f: &Function, op: OpId) -> Result<()> {
        let value = self.copy(f, op)?[0];
        let operands = self.operands(f, op)?;
        let wides: Vec<ValueId> = operands.iter().map(|s| s.wide).collect();
        let wide = self.again_one(&f.ops[op], &wides, self.b.ty(wides[0]));
        let mut error = operands[0].error;
        for operand in operands.iter().skip(1) {
            error = self.wide().max(error, operand.error);
        }
        self.set(f, op, 0, Shadow::float(value, wide, error));
        Ok(())
    }

    fn cast(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.conversion(f, op)
    }

    fn make_range(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.discrete(f, op)
    }

    fn splat(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn unsplat(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn broadcast(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn expand_dims(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn reshape(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn trans(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn join(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn split(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn cat(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.shape(f, op)
    }

    fn gather(&mut self, f: &Function, op: OpId) -> Result<()> {
        let (source, index) = (self.operand(f, op, 0)?, self.operand(f, op, 1)?);
        let value = self.copy(f, op)?[0];
        let data = &f.ops[op];
        let pick = |this: &mut Self, from: ValueId| {
            let elem = this.b.ty(from).elem();
            let ty = elem.map_or(this.b.ty(from), |elem| this.b.ty(value).with_elem(elem));
            this.again_one(data, &[from, index.value], ty)
        };
        let shadow = match source.kind {
            Kind::Float => {
                let (wide, error) = (pick(self, source.wide), pick(self, source.error));
                self.doubted(Shadow::float(value, wide, error), index.unsure)
            }
            Kind::Plain => {
                let picked = source.unsure.map(|mask| pick(self, mask));
                let unsure = self.either(picked, index.unsure);
                Shadow::plain(value, unsure)
            }
            _ => return Err(self.refuse(f, op, "addresses as what is picked")),
        };
        self.set(f, op, 0, shadow);
        Ok(())
    }

    fn program_id(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.discrete(f, op)
    }

    fn num_programs(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.discrete(f, op)
    }

    fn add_ptr(&mut self, f: &Function, op: OpId) -> Result<()> {
        let (pointer, offset) = (self.operand(f, op, 0)?, self.operand(f, op, 1)?);
        let moved = |this: &mut Self, pointer: ValueId| this.b.add_ptr(pointer, offset.value);
        let value = moved(self, pointer.value);
        let wide = if pointer.kind == Kind::Plain {
            value
        } else {
            moved(self, pointer.wide)
        };
        let error = if pointer.kind == Kind::FloatPlace {
            moved(self, pointer.error)
        } else {
            value
        };
        let unsure = self.either(pointer.unsure, offset.unsure);
        let shadow = Shadow {
            kind: pointer.kind,
            value,
            wide,
            error,
            unsure,
        };
        self.set(f, op, 0, shadow);
        Ok(())
    }

    fn load(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.read(f, op)
    }

    fn store(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.write(f, op, 1)
    }

    fn make_tensor_ptr(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.place(f, op)
    }

    fn advance(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.place(f, op)
    }

    fn make_tensor_descriptor(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.place(f, op)
    }

    fn descriptor_load(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.read(f, op)
    }

    fn descriptor_store(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.write(f, op, 1)
    }

    fn descriptor_gather(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.read(f, op)
    }

    fn descriptor_scatter(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.write(f, op, 3)
    }

    fn descriptor_reduce(&mut self, f: &Function, op: OpId) -> Result<()> {
        if self.operand(f, op, 0)?.kind == Kind::FloatPlace {
            return Err(self.refuse(f, op, "sums of floats through a descriptor"));
        }
        let mut unsure = None;
        let value = self.operand(f, op, 1)?;
        for operand in self.operands(f, op)? {
            let mask = operand
                .unsure
                .map(|mask| self.fitted(mask, self.b.ty(value.value)));
            unsure = self.either(unsure, mask);
        }
        self.elsewhere(f, op, unsure)?;
        self.copy(f, op).map(drop)
    }

    fn atomic_rmw(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.atomic(f, op)
    }

    fn atomic_cas(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.atomic_integers(f, op)
    }

    fn atomic_load(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.atomic_integers(f, op)
    }

    fn atomic_store(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.atomic_integers(f, op)
    }

    fn atomic_poll(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.atomic_integers(f, op)
    }

    fn reduce(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.combination(f, op)
    }

    fn region_return(&mut self, f: &Function, op: OpId) -> Result<()> {
        Err(self.refuse(f, op, "the end of a region that is not one block"))
    }

    fn scan(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.combination(f, op)
    }

    fn map_elementwise(&mut self, f: &Function, op: OpId) -> Result<()> {
        Err(self.refuse(f, op, "maps by a region"))
    }

    fn histogram(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.mixed(f, op)
    }

    fn dot(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.product(f, op)
    }

    fn dot_scaled(&mut self, f: &Function, op: OpId) -> Result<()> {
        Err(self.refuse(f, op, "products of scaled blocks"))
    }

    fn extern_elementwise(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.library(f, op)
    }

    fn inline_asm(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.discrete(f, op)
    }

    fn call(&mut self, f: &Function, op: OpId) -> Result<()> {
        let Attrs::Callee(name) = &f.ops[op].attrs else {
            return Err(self.refuse(f, op, "a call of nothing"));
        };
        let Some(callee) = self.module.find(name) else {
            return Err(self.refuse(f, op, "a call of a function that there is not"));
        };
        let function = &self.module.funcs[callee];
        if function.public {
            return Err(self.refuse(f, op, "a call of a kernel"));
        }
        let mut forms = Vec::new();
        for &param in function.params() {
            let depends = self.depends.has(callee, param);
            let form = Form::of(function.ty(param), depends, self.depends.int_memory);
            forms.push(form.ok_or_else(|| self.refuse(f, op, "pointers to pointers to floats"))?);
        }
        let mut operands = self.pass_all(&f.ops[op].operands, &forms)?;
        operands.extend(self.besides(callee));
        let results = self.forms(f, &f.ops[op].results)?;
        let types: Vec<_> = results
            .iter()
            .flat_map(|form| form.types.iter().copied())
            .collect();
        let values = self.b.call(name, &operands, &types);
        self.results(f, op, &results, &values)
    }

    fn return_(&mut self, f: &Function, op: OpId) -> Result<()> {
        let mut values = Vec::new();
        for (i, &value) in f.ops[op].operands.iter().enumerate() {
            let mut returns = f.ops.iter().filter(|(_, op)| op.code == OpCode::Return);
            let depends =
                returns.any(|(_, op)| op.operands.get(i).is_some_and(|&v| self.depends.has(self.id, v)));
            let form = Form::of(f.ty(value), depends, self.depends.int_memory);
            let form = form.ok_or_else(|| self.refuse(f, op, "pointers to pointers to floats"))?;
            let shadow = self.shadow(value)?;
            values.extend(self.passed(shadow, &form));
        }
        self.b.return_(&values);
        Ok(())
    }

    fn for_(&mut self, f: &Function, op: OpId) -> Result<()> {
        let data = &f.ops[op];
        let (bounds, init) = data.operands.split_at(3.min(data.operands.len()));
        let args = super::depends::ends(f, data.regions.first()).map_or(&[][..], |(args, _)| args);
        let arg_forms = self.forms(f, args)?;
        let carried = arg_forms.get(1..).unwrap_or_default();
        let result_forms = self.forms(f, &data.results)?;
        let mut operands = Vec::new();
        let mut doubt = None;
        for &bound in bounds {
            let shadow = self.shadow(bound)?;
            doubt = self.either(doubt, shadow.unsure);
            operands.push(shadow.value);
        }
        self.raise_if_stored(f, op, doubt)?;
        // One form serves the first values, the arguments, the yielded values and the results.
        let joined = join(carried, &result_forms);
        operands.extend(self.pass_all(init, &joined)?);
        let mut region_args = arg_forms.get(..1).unwrap_or_default().to_vec();
        region_args.extend(joined.iter().cloned());
        if let Some(first) = region_args.first_mut() {
            *first = Form::of(f.ty(args[0]), false, false).unwrap_or_else(|| first.clone());
        }
        let region = self.region(f, data.regions[0], &region_args, &joined)?;
        self.with_regions(f, op, &operands, &joined, vec![region])?;
        self.doubt_results(f, op, doubt, "how often a loop runs depends on floats")
    }

    fn if_(&mut self, f: &Function, op: OpId) -> Result<()> {
        let data = &f.ops[op];
        let condition = self.operand(f, op, 0)?;
        let forms = self.forms(f, &data.results)?;
        self.raise_if_stored(f, op, condition.unsure)?;
        let mut regions = Vec::new();
        for &region in &data.regions {
            regions.push(self.region(f, region, &[], &forms)?);
        }
        self.with_regions(f, op, &[condition.value], &forms, regions)?;
        self.doubt_results(
            f,
            op,
            condition.unsure,
            "a branch depends on floats; the twin takes the kernel's side",
        )
    }

    fn while_(&mut self, f: &Function, op: OpId) -> Result<()> {
        let data = &f.ops[op];
        let [before, after] = data.regions.as_slice() else {
            return Err(self.refuse(f, op, "a loop without its regions"));
        };
        let (before_args, given) = super::depends::ends(f, Some(before)).unwrap_or_default();
        let (after_args, _) = super::depends::ends(f, Some(after)).unwrap_or_default();
        let first = self.forms(f, before_args)?;
        let next = join(&self.forms(f, after_args)?, &self.forms(f, &data.results)?);
        let operands = self.pass_all(&data.operands, &first)?;
        let mut end = vec![
            Form::of(tilescope_ir::Type::BOOL, false, false)
                .ok_or_else(|| self.refuse(f, op, "its condition"))?,
        ];
        end.extend(next.iter().cloned());
        let doubtful = given.first().is_some_and(|&c| self.depends.has(self.id, c));
        let before = self.region(f, *before, &first, &end)?;
        let after = self.region(f, *after, &next, &first)?;
        self.with_regions(f, op, &operands, &next, vec![before, after])?;
        let doubt = doubtful.then(|| self.b.int(tilescope_ir::Type::BOOL, 1));
        self.doubt_results(f, op, doubt, "how often a loop runs depends on floats")
    }

    fn yield_(&mut self, f: &Function, op: OpId) -> Result<()> {
        Err(self.refuse(f, op, "the end of a region that is not one block"))
    }

    fn condition(&mut self, f: &Function, op: OpId) -> Result<()> {
        Err(self.refuse(f, op, "the end of a region that is not one block"))
    }

    fn br(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.branch(f, op)
    }

    fn cond_br(&mut self, f: &Function, op: OpId) -> Result<()> {
        if let Some(unsure) = self.operand(f, op, 0)?.unsure {
            // All that follows, of this function and of what calls it, may be another way.
            self.note(
                "a branch depends on floats; no output is judged where another path may take the other side",
            );
            self.raise(unsure)?;
        }
        self.branch(f, op)
    }

    // What is told or promised is the kernel's business; the twin only computes.
    fn assert(&mut self, _: &Function, _: OpId) -> Result<()> {
        Ok(())
    }

    fn assume(&mut self, _: &Function, _: OpId) -> Result<()> {
        Ok(())
    }

    fn print(&mut self, _: &Function, _: OpId) -> Result<()> {
        Ok(())
    }

    fn barrier(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.copy(f, op).map(drop)
    }

    fn grid_dependency(&mut self, f: &Function, op: OpId) -> Result<()> {
        self.copy(f, op).map(drop)
    }
}

impl Rewriter<'_> {
    /// Results of a decision that another path may take otherwise.
    fn doubt_results(&mut self, f: &Function, op: OpId, doubt: Option<ValueId>, note: &str) -> Result<()> {
        let Some(doubt) = doubt else { return Ok(()) };
        self.note(note);
        for (i, &result) in f.ops[op].results.iter().enumerate() {
            let shadow = self.shadow(result)?;
            let mask = self.fitted(doubt, self.b.ty(shadow.value));
            let shadow = match shadow.kind {
                Kind::Float => self.doubted(shadow, Some(mask)),
                _ => Shadow {
                    unsure: self.either(shadow.unsure, Some(mask)),
                    ..shadow
                },
            };
            self.set(f, op, i, shadow);
        }
        Ok(())
    }

    /// Operations that move lanes and change none.
    fn shape(&mut self, f: &Function, op: OpId) -> Result<()> {
        let operands = self.operands(f, op)?;
        let values = self.copy(f, op)?;
        let data = &f.ops[op];
        let Some(first) = operands.first().copied() else {
            return Ok(());
        };
        let part = |this: &mut Self, pick: &dyn Fn(&Shadow) -> ValueId| -> Vec<ValueId> {
            let parts: Vec<ValueId> = operands.iter().map(pick).collect();
            let elem = this.b.ty(parts[0]).elem();
            let types: Vec<_> = values
                .iter()
                .map(|&v| elem.map_or(this.b.ty(v), |elem| this.b.ty(v).with_elem(elem)))
                .collect();
            this.again(data, &parts, &types)
        };
        let wides = match first.kind {
            Kind::Plain => values.clone(),
            _ => part(self, &|s| s.wide),
        };
        let errors = match first.kind {
            Kind::Float | Kind::FloatPlace => part(self, &|s| s.error),
            _ => values.clone(),
        };
        let masks = if operands.iter().any(|s| s.unsure.is_some()) {
            let masks: Vec<ValueId> = operands
                .iter()
                .map(|s| match s.unsure {
                    Some(mask) => mask,
                    None => self.truth(self.b.ty(s.value), false),
                })
                .collect();
            let types: Vec<_> = values.iter().map(|&v| mask_of(self.b.ty(v))).collect();
            Some(self.again(data, &masks, &types))
        } else {
            None
        };
        for (i, &value) in values.iter().enumerate() {
            let shadow = Shadow {
                kind: first.kind,
                value,
                wide: wides[i],
                error: errors[i],
                unsure: masks.as_ref().map(|masks| masks[i]),
            };
            self.set(f, op, i, shadow);
        }
        Ok(())
    }

    /// Block pointers and descriptors: made and moved alike for the element, its f64 and its bound.
    fn place(&mut self, f: &Function, op: OpId) -> Result<()> {
        let operands = self.operands(f, op)?;
        let value = self.copy(f, op)?[0];
        let Some((base, rest)) = operands.split_first() else {
            return Ok(());
        };
        let ty = self.b.ty(value);
        let data = &f.ops[op];
        let again = |this: &mut Self, base: ValueId, number: Scalar| {
            let mut values = vec![base];
            values.extend(rest.iter().map(|s| s.value));
            this.again_one(data, &values, with_target(ty, number))
        };
        let (wide, error) = match base.kind {
            Kind::FloatPlace => (
                again(self, base.wide, Scalar::F64),
                again(self, base.error, Scalar::F64),
            ),
            Kind::IntPlace => (again(self, base.wide, Scalar::I1), value),
            _ => (value, value),
        };
        let mut unsure = base.unsure;
        for operand in rest {
            unsure = self.either(unsure, operand.unsure);
        }
        let shadow = Shadow {
            kind: base.kind,
            value,
            wide,
            error,
            unsure,
        };
        self.set(f, op, 0, shadow);
        Ok(())
    }

    fn conversion(&mut self, f: &Function, op: OpId) -> Result<()> {
        let source = self.operand(f, op, 0)?;
        let data = &f.ops[op];
        let Some(result) = f.result(op) else { return Ok(()) };
        let to = f.ty(result);
        let number = to.elem().and_then(Elem::scalar);
        match (source.kind, is_float(to), number) {
            (Kind::Float, true, Some(number)) => {
                let from = self.b.ty(source.value).elem().and_then(Elem::scalar);
                if matches!(data.code, OpCode::ArithBitcast | OpCode::Bitcast) && from != Some(number) {
                    return Err(self.refuse(f, op, "the bits of one float format as another's"));
                }
                let value = self.copy(f, op)?[0];
                let widens = from.is_some_and(|from| from == number || from.bits() < number.bits());
                if widens {
                    self.set(f, op, 0, Shadow::float(value, source.wide, source.error));
                    return Ok(());
                }
                let mut wide = source.wide;
                let mut w = self.wide();
                if rounding::saturates(number) {
                    let most = w.constant(wide, rounding::largest(number));
                    let least = w.constant(wide, -rounding::largest(number));
                    wide = w.op(OpCode::MinimumF, &[wide, most]);
                    wide = w.op(OpCode::MaximumF, &[wide, least]);
                }
                let units = match data.attrs {
                    Attrs::FpToFp(Some(Rounding::Rtz)) => 2.0,
                    _ => 1.0,
                };
                let error = w.rounded(wide, source.error, number, units, 0.0);
                let error = if rounding::saturates(number) {
                    // Where all is beyond the largest number every path gives that.
                    let twice = w.constant(error, 2.0 * rounding::largest(number));
                    let infinite = w.constant(error, f64::INFINITY);
                    let over = w.compare(FloatPredicate::Oeq, error, infinite);
                    let error = w.0.select(over, twice, error);
                    w.if_known(source.error, error)
                } else {
                    error
                };
                self.set(f, op, 0, Shadow::float(value, wide, error));
            }
            (Kind::Float, false, Some(_)) => {
                let value = self.copy(f, op)?[0];
                let mut w = self.wide();
                let unsure = if matches!(data.code, OpCode::FpToSi | OpCode::FpToUi) {
                    let (low, high) = (w.sub(source.wide, source.error), w.add(source.wide, source.error));
                    let (low, high) = (w.op(OpCode::Trunc, &[low]), w.op(OpCode::Trunc, &[high]));
                    w.compare(FloatPredicate::Une, low, high)
                } else {
                    // Every path has bits of its own for NaN.
                    let zero = w.constant(source.error, 0.0);
                    let inexact = w.compare(FloatPredicate::Une, source.error, zero);
                    let nan = w.is_nan(source.wide);
                    w.op(OpCode::OrI, &[inexact, nan])
                };
                self.set(f, op, 0, Shadow::plain(value, Some(unsure)));
            }
            (Kind::Plain, true, Some(number)) => {
                let value = self.copy(f, op)?[0];
                let shadow = match data.code {
                    OpCode::SiToFp | OpCode::UiToFp => {
                        let wide = self.b.cast(data.code, source.value, Scalar::F64);
                        let error = self.integer_rounding(wide, number);
                        Shadow::float(value, wide, error)
                    }
                    _ => self.exact(value),
                };
                let shadow = self.doubted(shadow, source.unsure);
                self.set(f, op, 0, shadow);
            }
            (Kind::Plain, false, _) if !matches!(to.elem(), Some(Elem::Ptr(p)) if p.pointee.is_float()) => {
                return self.discrete(f, op);
            }
            // An address as a number: the same on all paths.
            (Kind::FloatPlace | Kind::IntPlace, false, Some(_)) => {
                let value = self.copy(f, op)?[0];
                self.set(f, op, 0, Shadow::plain(value, source.unsure));
            }
            _ => return Err(self.refuse(f, op, "addresses of floats that change their type")),
        }
        Ok(())
    }

    /// The error of an integer in a float format: none where the format holds it.
    fn integer_rounding(&mut self, wide: ValueId, number: Scalar) -> ValueId {
        let mut w = self.wide();
        let none = w.constant(wide, 0.0);
        let error = w.rounded(wide, none, number, 1.0, 0.0);
        let exact = w.constant(wide, 1.0 / rounding::unit(number));
        let size = w.abs(wide);
        let small = w.compare(FloatPredicate::Ole, size, exact);
        w.unless(small, 0.0, error)
    }
}
