//! What stands behind each operation's mnemonic.

use super::Printer;
use super::attrs::{i32_array, quoted};
use super::forms::access_entries;
use crate::attrs::{Attrs, Constant, InputPrecision, Padding};
use crate::entities::OpId;
use crate::module::Function;
use crate::ops::{Class, OpCode, OpVisitor};
use crate::types::{Elem, Scalar, Type};
use std::fmt::Write;

impl OpVisitor for Printer<'_> {
    type Output = ();

    fn elementwise(&mut self, f: &Function, id: OpId, _: Class) {
        let op = &f.ops[id];
        self.spaced(&op.operands);
        match &op.attrs {
            Attrs::FastMath(Some(words)) => {
                let _ = write!(self.out, " fastmath<{words}>");
            }
            Attrs::Overflow(Some(words)) => {
                let _ = write!(self.out, " overflow<{words}>");
            }
            _ => {}
        }
        self.dict(&[], &op.extra);
        self.out.push_str(" : ");
        self.result_type(f, op);
    }

    fn constant(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.dict(&[], &op.extra);
        self.out.push(' ');
        let (Attrs::Constant(constant), Some(&result)) = (&op.attrs, op.results.first()) else {
            return;
        };
        match (f.ty(result), constant) {
            (Type::Tile(shape, Elem::Scalar(scalar)), _) => {
                let dims: Vec<u64> = shape.dims().map(|d| d as u64).collect();
                self.dense(constant, &dims, scalar);
            }
            (Type::Scalar(Elem::Scalar(scalar)), Constant::Splat(bits)) => {
                self.element(*bits, scalar);
                if scalar != Scalar::I1 {
                    let _ = write!(self.out, " : {scalar}");
                }
            }
            _ => {}
        }
    }

    fn poison(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.dict(&[], &op.extra);
        self.out.push_str(" : ");
        self.result_type(f, op);
    }

    fn cmp_int(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let word = match &op.attrs {
            Attrs::CmpI(predicate) => predicate.as_str(),
            Attrs::CmpF(predicate) => predicate.as_str(),
            _ => "",
        };
        let _ = write!(self.out, " {word},");
        self.head(op, &[]);
        self.out.push_str(" : ");
        self.first_type(f, op);
    }

    fn cmp_float(&mut self, f: &Function, id: OpId) {
        self.cmp_int(f, id);
    }

    fn select(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.head(op, &[]);
        self.out.push_str(" : ");
        if op.operands.first().is_some_and(|&c| f.ty(c) != Type::BOOL) {
            self.first_type(f, op);
            self.out.push_str(", ");
        }
        self.result_type(f, op);
    }

    fn clamp(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.spaced(&op.operands);
        if let Attrs::ClampF(rule) = &op.attrs {
            let _ = write!(self.out, ", propagateNan = {}", rule.as_str());
        }
        self.dict(&[], &op.extra);
        self.out.push_str(" : ");
        self.result_type(f, op);
    }

    fn cast(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.spaced(&op.operands);
        if let Attrs::Overflow(Some(words)) = &op.attrs {
            let _ = write!(self.out, " overflow<{words}>");
        }
        self.dict(&[], &op.extra);
        if let Attrs::FpToFp(Some(rounding)) = &op.attrs {
            let _ = write!(self.out, ", rounding = {}", rounding.as_str());
        }
        self.out.push_str(" : ");
        self.first_type(f, op);
        let tt = op.code.info().mnemonic.starts_with("tt.");
        self.out.push_str(if tt { " -> " } else { " to " });
        self.result_type(f, op);
    }

    fn make_range(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let mut own = Vec::new();
        if let Attrs::Range { start, end } = op.attrs {
            own = vec![
                ("end", format!("{end} : i32")),
                ("start", format!("{start} : i32")),
            ];
        }
        self.dict(&own, &op.extra);
        self.out.push_str(" : ");
        self.result_type(f, op);
    }

    fn splat(&mut self, f: &Function, id: OpId) {
        self.arrow(f, &f.ops[id], &[]);
    }

    fn unsplat(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.head(op, &[]);
        self.out.push_str(" : ");
        self.first_type(f, op);
    }

    fn broadcast(&mut self, f: &Function, id: OpId) {
        self.arrow(f, &f.ops[id], &[]);
    }

    fn expand_dims(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let axis = if let Attrs::Axis(axis) = op.attrs { axis } else { 0 };
        self.arrow(f, op, &[("axis", format!("{axis} : i32"))]);
    }

    fn reshape(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.spaced(&op.operands);
        if let Attrs::Reshape {
            allow_reorder,
            efficient_layout,
        } = op.attrs
        {
            self.out
                .push_str(if allow_reorder { " allow_reorder" } else { "" });
            self.out
                .push_str(if efficient_layout { " efficient_layout" } else { "" });
        }
        self.dict(&[], &op.extra);
        self.out.push_str(" : ");
        self.first_type(f, op);
        self.out.push_str(" -> ");
        self.result_type(f, op);
    }

    fn trans(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let order = if let Attrs::Order(order) = &op.attrs {
            order.as_slice()
        } else {
            &[]
        };
        self.arrow(f, op, &[("order", i32_array(order.iter().copied()))]);
    }

    fn join(&mut self, f: &Function, id: OpId) {
        self.arrow(f, &f.ops[id], &[]);
    }

    fn split(&mut self, f: &Function, id: OpId) {
        self.arrow(f, &f.ops[id], &[]);
    }

    fn cat(&mut self, f: &Function, id: OpId) {
        self.arrow(f, &f.ops[id], &[]);
    }

    fn program_id(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        if let Attrs::Grid(axis) = op.attrs {
            let _ = write!(self.out, " {}", axis.as_str());
        }
        self.dict(&[], &op.extra);
        self.out.push_str(" : ");
        self.result_type(f, op);
    }

    fn num_programs(&mut self, f: &Function, id: OpId) {
        self.program_id(f, id);
    }

    fn add_ptr(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.head(op, &[]);
        self.operand_types(f, op);
    }

    fn load(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let own = if let Attrs::Access(access) = &op.attrs {
            access_entries(access)
        } else {
            Vec::new()
        };
        self.head(op, &own);
        self.out.push_str(" : ");
        self.first_type(f, op);
    }

    fn store(&mut self, f: &Function, id: OpId) {
        self.load(f, id);
    }

    fn make_tensor_ptr(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let rank = (op.operands.len().saturating_sub(1)) / 3;
        let Some((base, rest)) = op.operands.split_first() else {
            return;
        };
        self.spaced(&[*base]);
        for group in rest.chunks(rank.max(1)) {
            self.out.push_str(", ");
            self.bracketed(group);
        }
        let order = if let Attrs::Order(order) = &op.attrs {
            order.as_slice()
        } else {
            &[]
        };
        self.dict(&[("order", i32_array(order.iter().copied()))], &op.extra);
        self.short_type(f, op.results.first().copied(), "!tt.ptr", " : ");
    }

    fn advance(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let Some((base, offsets)) = op.operands.split_first() else {
            return;
        };
        self.spaced(&[*base]);
        self.out.push_str(", ");
        self.bracketed(offsets);
        self.dict(&[], &op.extra);
        self.short_type(f, op.results.first().copied(), "!tt.ptr", " : ");
    }

    fn make_tensor_descriptor(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let rank = op.operands.len().saturating_sub(1) / 2;
        let Some((base, rest)) = op.operands.split_first() else {
            return;
        };
        let (shape, strides) = rest.split_at(rank.min(rest.len()));
        self.spaced(&[*base]);
        for group in [shape, strides] {
            self.out.push_str(", ");
            self.bracketed(group);
        }
        let own = match &op.attrs {
            Attrs::Padding(padding) if *padding != Padding::Zero => {
                vec![("padding", format!("{} : i32", padding.code()))]
            }
            _ => Vec::new(),
        };
        self.dict(&own, &op.extra);
        self.short_type(f, Some(*base), "!tt.ptr", " : ");
        self.short_type(f, op.results.first().copied(), "!tt.tensordesc", ", ");
    }

    fn descriptor_load(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let Some((desc, indices)) = op.operands.split_first() else {
            return;
        };
        self.spaced(&[*desc]);
        self.bracketed(indices);
        let own = if let Attrs::Access(access) = &op.attrs {
            access_entries(access)
        } else {
            Vec::new()
        };
        self.dict(&own, &op.extra);
        let _ = write!(self.out, " : {} -> ", f.ty(*desc));
        self.result_type(f, op);
    }

    fn descriptor_store(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let [desc, value, indices @ ..] = op.operands.as_slice() else {
            return;
        };
        self.spaced(&[*desc]);
        self.bracketed(indices);
        self.out.push_str(", ");
        self.value(*value);
        self.dict(&[], &op.extra);
        let _ = write!(self.out, " : {}, {}", f.ty(*desc), f.ty(*value));
    }

    fn descriptor_gather(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let Some((desc, rest)) = op.operands.split_first() else {
            return;
        };
        self.spaced(&[*desc]);
        self.bracketed(rest);
        self.dict(&[], &op.extra);
        self.signature(f, op);
    }

    fn descriptor_scatter(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let [desc, indices @ .., value] = op.operands.as_slice() else {
            return;
        };
        self.spaced(&[*desc]);
        self.bracketed(indices);
        self.out.push_str(", ");
        self.value(*value);
        self.dict(&[], &op.extra);
        self.operand_types(f, op);
    }

    fn descriptor_reduce(&mut self, f: &Function, id: OpId) {
        if let Attrs::DescriptorReduce(kind) = &f.ops[id].attrs {
            let _ = write!(self.out, " {},", kind.as_str());
        }
        self.descriptor_store(f, id);
    }

    fn atomic_rmw(&mut self, f: &Function, id: OpId) {
        if let Attrs::Rmw(kind, ..) = &f.ops[id].attrs {
            let _ = write!(self.out, " {},", kind.as_str());
        }
        self.atomic_cas(f, id);
    }

    fn atomic_cas(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.order_words(&op.attrs);
        self.head(op, &[]);
        self.signature(f, op);
    }

    fn atomic_load(&mut self, f: &Function, id: OpId) {
        self.atomic_cas(f, id);
    }

    fn atomic_store(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.order_words(&op.attrs);
        self.head(op, &[]);
        self.out.push_str(" : ");
        self.first_type(f, op);
    }

    fn atomic_poll(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.order_words(&op.attrs);
        let (operands, timeout) = op.operands.split_at(op.operands.len().min(2));
        self.spaced(operands);
        if let Some(&timeout) = timeout.first() {
            self.out.push_str(" timeout ");
            self.value(timeout);
        }
        self.dict(&[], &op.extra);
        self.out.push_str(" : ");
        self.types(f, operands);
        self.out.push_str(" -> ");
        self.result_type(f, op);
    }

    fn reduce(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let axis = if let Attrs::Along { axis, .. } = op.attrs {
            axis
        } else {
            0
        };
        self.generic(f, op, &[("axis", format!("{axis} : i32"))]);
    }

    fn region_return(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.head(op, &[]);
        self.operand_types(f, op);
    }

    fn scan(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let (axis, reverse) = if let Attrs::Along { axis, reverse } = op.attrs {
            (axis, reverse)
        } else {
            (0, false)
        };
        self.generic(
            f,
            op,
            &[
                ("axis", format!("{axis} : i32")),
                ("reverse", reverse.to_string()),
            ],
        );
    }

    fn map_elementwise(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let pack = if let Attrs::Map(pack) = op.attrs { pack } else { 1 };
        self.generic(f, op, &[("pack", format!("{pack} : i32"))]);
    }

    fn gather(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let Some((source, indices)) = op.operands.split_first() else {
            return;
        };
        self.spaced(&[*source]);
        self.bracketed(indices);
        let mut own = Vec::new();
        if let Attrs::Gather {
            axis,
            efficient_layout,
        } = op.attrs
        {
            own.push(("axis", format!("{axis} : i32")));
            if efficient_layout {
                own.push(("efficient_layout", String::new()));
            }
        }
        self.dict(&own, &op.extra);
        self.signature(f, op);
    }

    fn histogram(&mut self, f: &Function, id: OpId) {
        self.arrow(f, &f.ops[id], &[]);
    }

    fn dot(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.spaced(&op.operands);
        let mut own = Vec::new();
        if let Attrs::Dot {
            precision,
            max_imprecise,
        } = op.attrs
        {
            if precision != InputPrecision::Ieee {
                let _ = write!(self.out, ", inputPrecision = {}", precision.as_str());
            }
            if max_imprecise != 0 {
                own.push(("maxNumImpreciseAcc", format!("{max_imprecise} : i32")));
            }
        }
        self.dict(&own, &op.extra);
        if let [a, b, ..] = op.operands.as_slice() {
            let _ = write!(self.out, " : {} * {} -> ", f.ty(*a), f.ty(*b));
        }
        self.result_type(f, op);
    }

    fn dot_scaled(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let (Attrs::DotScaled(attrs), [a, b, c, scales @ ..]) = (&op.attrs, op.operands.as_slice()) else {
            return;
        };
        let mut scales = scales.iter().copied();
        let a_scale = if attrs.a_scale { scales.next() } else { None };
        let b_scale = if attrs.b_scale { scales.next() } else { None };
        for (value, scale) in [(a, a_scale), (b, b_scale)] {
            self.spaced(&[*value]);
            if let Some(scale) = scale {
                self.out.push_str(" scale ");
                self.value(scale);
            }
            self.out.push(',');
        }
        self.spaced(&[*c]);
        let _ = write!(self.out, " lhs = {} rhs = {}", attrs.a.as_str(), attrs.b.as_str());
        let mut own = vec![("fastMath", attrs.fast_math.to_string())];
        for (name, packed) in [("lhs_k_pack", attrs.lhs_k_pack), ("rhs_k_pack", attrs.rhs_k_pack)] {
            if !packed {
                own.push((name, "false".into()));
            }
        }
        self.dict(&own, &op.extra);
        for (i, (value, scale)) in [(a, a_scale), (b, b_scale)].into_iter().enumerate() {
            self.out.push_str(if i == 0 { " : " } else { " * " });
            let _ = write!(self.out, "{}", f.ty(*value));
            if let Some(scale) = scale {
                let _ = write!(self.out, ", {}", f.ty(scale));
            }
        }
        self.out.push_str(" -> ");
        self.result_type(f, op);
    }

    fn extern_elementwise(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let mut own = Vec::new();
        if let Attrs::Extern(e) = &op.attrs {
            own = vec![
                ("libname", quoted(&e.libname)),
                ("libpath", quoted(&e.libpath)),
                ("pure", e.pure.to_string()),
                ("symbol", quoted(&e.symbol)),
            ];
        }
        self.head(op, &own);
        self.signature(f, op);
    }

    fn inline_asm(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        if let Attrs::InlineAsm(asm) = &op.attrs {
            self.out.push(' ');
            self.string(&asm.text);
            let own = [
                ("constraints", quoted(&asm.constraints)),
                ("packed_element", format!("{} : i32", asm.packed)),
                ("pure", asm.pure.to_string()),
            ];
            self.dict(&own, &op.extra);
        }
        if !op.operands.is_empty() {
            self.spaced(&op.operands);
            self.operand_types(f, op);
        }
        self.out.push_str(" -> ");
        self.types(f, &op.results);
    }

    fn call(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        if let Attrs::Callee(name) = &op.attrs {
            self.out.push(' ');
            self.symbol(name);
        }
        self.out.push('(');
        self.values(&op.operands);
        self.out.push(')');
        self.dict(&[], &op.extra);
        self.signature(f, op);
    }

    fn return_(&mut self, f: &Function, id: OpId) {
        self.terminator(f, &f.ops[id], &f.ops[id].operands);
    }

    fn for_(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let ([low, high, step, inits @ ..], Some(&body)) = (op.operands.as_slice(), op.regions.first())
        else {
            return;
        };
        let args = f.regions[body]
            .blocks
            .first()
            .map_or(&[][..], |&b| &f.blocks[b].args);
        let Some((&index, carried)) = args.split_first() else {
            return;
        };
        let unsigned = matches!(op.attrs, Attrs::For { unsigned: true });
        if self.is_generic(f, op) {
            let own = [("unsignedCmp", String::new())];
            return self.generic(f, op, if unsigned { &own } else { &[] });
        }
        if unsigned {
            self.out.push_str(" unsigned");
        }
        self.spaced(&[index]);
        for (word, value) in [(" = ", low), (" to ", high), (" step ", step)] {
            self.out.push_str(word);
            self.value(*value);
        }
        if !inits.is_empty() {
            self.out.push_str(" iter_args");
            self.assignments(carried, inits);
            self.result_list(f, op);
        }
        if f.ty(index) != Type::scalar(Scalar::Index) {
            let _ = write!(self.out, " : {}", f.ty(index));
        }
        self.out.push(' ');
        self.nested(f, op, Some(body));
        self.dict(&[], &op.extra);
    }

    fn if_(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.spaced(&op.operands);
        self.result_list(f, op);
        self.out.push(' ');
        self.nested(f, op, op.regions.first().copied());
        if let Some(&otherwise) = op.regions.get(1) {
            self.out.push_str(" else ");
            self.nested(f, op, Some(otherwise));
        }
        self.dict(&[], &op.extra);
    }

    fn while_(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let [before, after] = op.regions.as_slice() else {
            return;
        };
        if self.is_generic(f, op) {
            return self.generic(f, op, &[]);
        }
        let args = f.regions[*before]
            .blocks
            .first()
            .map_or(&[][..], |&b| &f.blocks[b].args);
        if !op.operands.is_empty() {
            self.out.push(' ');
            self.assignments(args, &op.operands);
        }
        self.out.push_str(" : (");
        self.types(f, &op.operands);
        self.out.push_str(") -> (");
        self.types(f, &op.results);
        self.out.push_str(") ");
        self.region(f, *before, false, None);
        self.out.push_str(" do ");
        self.region(f, *after, true, None);
        if !op.extra.is_empty() {
            self.out.push_str(" attributes");
            self.dict(&[], &op.extra);
        }
    }

    fn yield_(&mut self, f: &Function, id: OpId) {
        self.terminator(f, &f.ops[id], &f.ops[id].operands);
    }

    fn condition(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        let Some((condition, values)) = op.operands.split_first() else {
            return;
        };
        self.out.push('(');
        self.value(*condition);
        self.out.push(')');
        self.terminator(f, op, values);
    }

    fn br(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        for successor in &op.successors {
            self.out.push(' ');
            self.successor(f, successor);
        }
        self.dict(&[], &op.extra);
    }

    fn cond_br(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.spaced(&op.operands);
        for successor in &op.successors {
            self.out.push_str(", ");
            self.successor(f, successor);
        }
        self.dict(&[], &op.extra);
    }

    fn assert(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.spaced(&op.operands);
        if let Attrs::Message(text) = &op.attrs {
            self.out.push_str(", ");
            self.string(text);
        }
        self.dict(&[], &op.extra);
        if op.code == OpCode::Assert {
            self.operand_types(f, op);
        }
    }

    fn assume(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        self.head(op, &[]);
        self.operand_types(f, op);
    }

    fn print(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        if let Attrs::Print(print) = &op.attrs {
            self.out.push(' ');
            self.string(&print.prefix);
            let signed = i32_array(print.signed.iter().map(|&s| u32::from(s)));
            self.dict(&[("hex", print.hex.to_string()), ("isSigned", signed)], &op.extra);
        }
        if !op.operands.is_empty() {
            self.out.push_str(" :");
            self.spaced(&op.operands);
            self.operand_types(f, op);
        }
    }

    fn barrier(&mut self, f: &Function, id: OpId) {
        let op = &f.ops[id];
        if let Attrs::Barrier(words) = &op.attrs {
            let _ = write!(self.out, " {words}");
        }
        self.dict(&[], &op.extra);
    }

    fn grid_dependency(&mut self, f: &Function, id: OpId) {
        self.dict(&[], &f.ops[id].extra);
    }
}
