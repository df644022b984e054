//! `target-limit`: what runs here, and is refused where the launch is meant to run (`--target`).
//!
//! A rule is a function of `LAUNCH` or `OPERATION`; what it asks of the GPU stands in [`crate::target`]. Only a
//! descriptor made in the kernel is judged while programs run, by its real base and strides.
//!
//! Each rule is exact: what it tells is refused by CUDA or by Triton 3.9 on that target, whatever the data. Missed:
//! what only Triton's compiler knows, such as shared memory and registers.

use crate::lower::Lower;
use crate::machine::{Flow, Machine, Stop};
use crate::report::{Reporter, place};
use crate::sink::{Detail, Entry, Key};
use crate::tape::{Inst, Origin, Step, What};
use crate::target::{Descriptors, Target};
use tilescope_diagnostics::{Check, Finding, Value};
use tilescope_ir::{Elem, FuncId, Function, OpCode, OpId, Scalar, Type};
use tilescope_launch::Argument;

/// Alignment in bytes of a descriptor's base and outer strides, and least length of its block's rows.
const ALIGNMENT: i64 = 16;

/// Rules about the launch as a whole.
const LAUNCH: &[fn(&Reporter<'_>, &Target) -> Vec<Finding>] = &[grid, threads, types, descriptors];

/// A rule about one operation: what is wrong with it, and what helps.
type Rule = fn(&Target, &Function, OpId) -> Option<(String, &'static str)>;

/// All of these.
const OPERATION: &[Rule] = &[dot, rows, block];

/// What the target refuses of a launch, before anything is run.
pub fn findings(reporter: &Reporter<'_>, target: &Target) -> Vec<Finding> {
    let mut findings: Vec<Finding> = LAUNCH.iter().flat_map(|rule| rule(reporter, target)).collect();
    for (id, function) in reporter.module.funcs.iter() {
        for (op, _) in function.ops.iter() {
            for rule in OPERATION {
                if let Some((message, help)) = rule(target, function, op) {
                    findings.push(at(reporter, id, What::Op(op), message, help));
                }
            }
        }
    }
    findings
}

fn of_launch(reporter: &Reporter<'_>, message: String, help: impl Into<String>) -> Finding {
    let mut finding = Finding::new(Check::TargetLimit, reporter.kernel(), message);
    finding.help = Some(help.into());
    finding
}

fn at(
    reporter: &Reporter<'_>,
    func: FuncId,
    what: What,
    message: String,
    help: impl Into<String>,
) -> Finding {
    let origin = Origin {
        func,
        what,
        calls: [].into(),
    };
    let mut finding = of_launch(reporter, message, help);
    finding.location = place(reporter.module, &origin);
    finding.ttir = reporter.line_of_text(&origin);
    finding
}

fn grid(reporter: &Reporter<'_>, target: &Target) -> Vec<Finding> {
    let asked = reporter.launch.grid.iter().zip(&target.grid).zip(["x", "y", "z"]);
    let beyond = asked.filter(|((asked, most), _)| asked > most);
    beyond
        .map(|((asked, most), axis)| {
            let message =
                format!("the grid has {asked} programs along {axis}: {target} takes at most {most}");
            let mut finding = of_launch(
                reporter,
                message,
                "put the large dimension into x, or fold it and unfold it in the kernel",
            );
            finding.operands = vec![(format!("grid {axis}"), Value::Int(i128::from(*asked)))];
            finding
        })
        .collect()
}

fn threads(reporter: &Reporter<'_>, target: &Target) -> Vec<Finding> {
    let warps = reporter.launch.options.num_warps;
    let threads = u64::from(warps) * 32;
    if threads <= u64::from(target.threads) {
        return Vec::new();
    }
    let message = format!(
        "num_warps = {warps} is {threads} threads a program: {target} takes at most {}",
        target.threads
    );
    let help = format!("ask for at most {} warps", target.threads / 32);
    vec![of_launch(reporter, message, help)]
}

/// The first place where fp8e4nv comes up, where the target lacks it.
fn types(reporter: &Reporter<'_>, target: &Target) -> Vec<Finding> {
    let is_lacking = |ty: Type| {
        let scalar = match ty {
            Type::Descriptor { elem, .. } => Some(elem),
            _ => ty.elem().and_then(|elem| match elem {
                Elem::Ptr(pointer) => pointer.target().scalar(),
                Elem::Scalar(scalar) => Some(scalar),
            }),
        };
        scalar == Some(Scalar::F8E4M3FN)
    };
    if target.fp8e4nv {
        return Vec::new();
    }
    let message = format!("Triton has no type fp8e4nv on {target}");
    let help = "use fp8e5, or store the bits as int8 and convert them in the kernel";
    let kernel = &reporter.module.funcs[reporter.kernel];
    let param = kernel.params().iter().position(|&p| is_lacking(kernel.ty(p)));
    if let Some(index) = param {
        let what = What::Param(index as u32);
        return vec![at(reporter, reporter.kernel, what, message, help)];
    }
    for (id, function) in reporter.module.funcs.iter() {
        let uses = |results: &[tilescope_ir::ValueId]| results.iter().any(|&v| is_lacking(function.ty(v)));
        if let Some((op, _)) = function.ops.iter().find(|(_, op)| uses(&op.results)) {
            return vec![at(reporter, id, What::Op(op), message, help)];
        }
    }
    Vec::new()
}

/// Descriptors that the host makes: Triton looks at them wherever they are used.
fn descriptors(reporter: &Reporter<'_>, target: &Target) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, argument) in reporter.launch.arguments.iter().enumerate() {
        let Argument::Descriptor {
            tensor: id,
            block_shape,
        } = argument
        else {
            continue;
        };
        let Some(tensor) = reporter.launch.tensors.get(id.0 as usize) else {
            continue;
        };
        let bytes = tensor.dtype.bytes() as i64;
        let mut tell = |message: String, help: &str| {
            let mut finding = at(
                reporter,
                reporter.kernel,
                What::Param(index as u32),
                message,
                help,
            );
            finding.tensor = Some(reporter.tensor_ref(id.0 + 1));
            findings.push(finding);
        };
        let base = tensor.offset.saturating_mul(bytes);
        let name = &tensor.name;
        if base % ALIGNMENT != 0 {
            tell(
                format!(
                    "a descriptor of {name} begins {base} bytes into its storage: Triton refuses a base that is no multiple of {ALIGNMENT} bytes"
                ),
                "begin the view at a multiple of 16 bytes, and pass the rest as an offset",
            );
        }
        let outer = tensor.strides.split_last().map_or(&[][..], |(_, outer)| outer);
        if let Some((d, stride)) = outer
            .iter()
            .enumerate()
            .find(|(_, stride)| stride.saturating_mul(bytes) % ALIGNMENT != 0)
        {
            tell(
                format!(
                    "a descriptor of {name} has a stride of {stride} elements along dimension {d}, {} bytes: Triton refuses strides that are no multiple of {ALIGNMENT} bytes",
                    stride.saturating_mul(bytes)
                ),
                "pad the rows to a multiple of 16 bytes",
            );
        }
        if tensor.strides.last().is_some_and(|&stride| stride != 1) {
            tell(
                format!("a descriptor of {name} has a last stride other than 1, which Triton refuses"),
                "make the last dimension contiguous",
            );
        }
        if tensor.shape.iter().any(|&n| n <= 0) {
            tell(
                format!("a descriptor of {name} describes a tensor without elements, which Triton refuses"),
                "do not launch where there is nothing to do",
            );
        }
        let row = block_shape.last().map_or(ALIGNMENT, |&n| n.saturating_mul(bytes));
        if target.descriptors != Descriptors::Rewritten && row < ALIGNMENT {
            tell(
                format!(
                    "a descriptor of {name} has blocks with rows of {row} bytes: {target} reads at least {ALIGNMENT}"
                ),
                "make the last dimension of the block longer",
            );
        }
    }
    findings
}

/// Least inner dimension of a product, as Triton's front end asks for it on all targets.
fn dot(_: &Target, function: &Function, op: OpId) -> Option<(String, &'static str)> {
    let data = &function.ops[op];
    let (OpCode::Dot, Some(&left)) = (data.code, data.operands.first()) else {
        return None;
    };
    let ty = function.ty(left);
    let (shape, Elem::Scalar(scalar)) = (ty.shape()?, ty.elem()?) else {
        return None;
    };
    let inner = shape.dim(shape.rank().checked_sub(1)?);
    let least = (256 / scalar.bits()) as usize;
    (inner < least).then(|| {
        let message = format!(
            "a product of {}-bit elements over an inner dimension of {inner}: Triton refuses less than {least}",
            scalar.bits()
        );
        (message, "pad the inner dimension with zeros")
    })
}

/// Rows chosen by index, through a descriptor.
fn rows(target: &Target, function: &Function, op: OpId) -> Option<(String, &'static str)> {
    let what = match function.ops[op].code {
        OpCode::DescriptorGather => "gathers rows",
        OpCode::DescriptorScatter => "scatters rows",
        _ => return None,
    };
    (target.descriptors == Descriptors::Blocks).then(|| {
        let message = format!("this {what} through a descriptor: {target} has no instruction for it");
        (
            message,
            "use pointers: `tl.load(ptr + rows[:, None] * stride + cols)`",
        )
    })
}

/// Blocks of descriptors that the kernel makes.
fn block(_: &Target, function: &Function, op: OpId) -> Option<(String, &'static str)> {
    let data = &function.ops[op];
    let (OpCode::MakeTensorDescriptor, Some(&result)) = (data.code, data.results.first()) else {
        return None;
    };
    let Type::Descriptor { block, elem, .. } = function.ty(result) else {
        return None;
    };
    let row = block.dim(block.rank().checked_sub(1)?) as i64 * elem.bytes() as i64;
    (row < ALIGNMENT).then(|| {
        let message = format!(
            "the blocks of this descriptor have rows of {row} bytes: Triton refuses less than {ALIGNMENT}"
        );
        (message, "make the last dimension of the block longer")
    })
}

/// Looks at the base and the outer strides of a descriptor that the kernel makes.
#[derive(Debug)]
struct Aligned {
    /// Bytes of an element.
    bytes: i64,
    target: &'static Target,
}

impl Step for Aligned {
    fn run(&self, inst: &Inst, machine: &mut Machine<'_>) -> Result<Flow, Stop> {
        let base = inst.ins.first().copied();
        let tensor = base.map_or(0, |slot| machine.frame.provenance(slot).lane(0));
        for (part, &slot) in inst.ins.iter().enumerate() {
            let value = machine.frame.scalar::<u64>(slot) as i64;
            let bytes = if part == 0 {
                value
            } else {
                value.wrapping_mul(self.bytes)
            };
            if bytes % ALIGNMENT != 0 {
                let (at, target) = (machine.at, self.target.name);
                let key = Key {
                    check: Check::TargetLimit,
                    at,
                    tensor,
                };
                machine.sink.report(key, 1, || Detail::Misfit {
                    part: part as u32,
                    bytes,
                    target,
                });
                break;
            }
        }
        Ok(Flow::Next)
    }

    fn taint(&self, _: &Inst, _: &mut Machine<'_>) {}
}

/// Checks a descriptor that the kernel makes, where its blocks are read by hardware.
pub fn descriptor(lower: &mut Lower<'_>, function: &Function, op: OpId) {
    let Some(target) = lower.target() else { return };
    let data = &function.ops[op];
    let (Some(&result), Some(&base)) = (data.results.first(), data.operands.first()) else {
        return;
    };
    let Type::Descriptor { block, elem, .. } = function.ty(result) else {
        return;
    };
    if target.descriptors == Descriptors::Rewritten {
        return;
    }
    // Base, shape, strides; the last stride is 1.
    let rank = block.rank();
    let mut slots = vec![lower.slot(base)];
    let strides = data.operands.get(1 + rank..2 * rank).unwrap_or_default();
    for &stride in strides {
        slots.push(lower.slot(stride));
    }
    let step = Aligned {
        bytes: elem.bytes() as i64,
        target,
    };
    lower.emit(step, slots, vec![], 1);
}

/// The finding of a descriptor that the hardware does not take.
pub fn finding(
    reporter: &Reporter<'_>,
    key: &Key,
    entry: &Entry,
    part: u32,
    bytes: i64,
    target: &str,
) -> Finding {
    let tensor = reporter.memory.target(key.tensor);
    let (message, what, help) = match (part, tensor) {
        (0, Some(tensor)) => {
            let into = bytes.wrapping_sub(tensor.base as i64);
            (
                format!(
                    "a descriptor that begins {into} bytes into {}: {target} takes a base that is a multiple of {ALIGNMENT} bytes",
                    reporter.tensor_name(key.tensor)
                ),
                "base",
                "begin at a multiple of 16 bytes, and add the rest to the offsets of loads and stores",
            )
        }
        (0, None) => (
            format!(
                "a descriptor that begins at the address {bytes}: {target} takes multiples of {ALIGNMENT} bytes"
            ),
            "base",
            "begin at a multiple of 16 bytes",
        ),
        (part, _) => (
            format!(
                "a descriptor with a stride of {bytes} bytes along dimension {}: {target} takes multiples of {ALIGNMENT} bytes",
                part - 1
            ),
            "stride in bytes",
            "pad the rows to a multiple of 16 bytes",
        ),
    };
    let mut finding = reporter.start(key, entry, message);
    finding.lane = Some(Vec::new());
    finding.operands = vec![(what.into(), Value::Int(i128::from(bytes)))];
    finding.help = Some(help.into());
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilescope_diagnostics::Source;

    /// What the rules of operations say of a kernel's operations, on a target.
    fn told(target: &str, body: &str) -> Vec<String> {
        let text = format!(
            "module {{\ntt.func public @k(%p: !tt.ptr<f32>, %n: i32, %s: i64) {{\n{body}\ntt.return\n}}\n}}\n"
        );
        let module = tilescope_ir::text::parse(&Source::new("k.ttir", text)).expect("text");
        let target = Target::named(target).expect("a target");
        let mut told = Vec::new();
        for (_, function) in module.funcs.iter() {
            for (op, _) in function.ops.iter() {
                told.extend(
                    OPERATION
                        .iter()
                        .filter_map(|rule| rule(target, function, op))
                        .map(|(message, _)| message),
                );
            }
        }
        told
    }

    fn dot(elem: &str, inner: u32, out: &str) -> String {
        format!(
            "%a = ub.poison : tensor<16x{inner}x{elem}>\n%b = ub.poison : tensor<{inner}x16x{elem}>\n%c = ub.poison : tensor<16x16x{out}>\n\
             %d = tt.dot %a, %b, %c : tensor<16x{inner}x{elem}> * tensor<{inner}x16x{elem}> -> tensor<16x16x{out}>"
        )
    }

    #[test]
    fn products_have_a_least_inner_dimension() {
        for (elem, least, out) in [
            ("i8", 32, "i32"),
            ("f16", 16, "f32"),
            ("f32", 8, "f32"),
            ("f64", 4, "f64"),
        ] {
            assert!(told("sm_80", &dot(elem, least, out)).is_empty(), "{elem}");
            let refused = told("sm_80", &dot(elem, least / 2, out));
            assert!(
                refused[0].contains(&format!("refuses less than {least}")),
                "{refused:?}"
            );
        }
    }

    #[test]
    fn rows_are_gathered_by_no_instruction_of_sm_90() {
        let body = "%one = arith.constant 1 : i64\n\
             %d = tt.make_tensor_descriptor %p, [%n, %n], [%s, %one] : <f32>, <1x64xf32>\n\
             %r = ub.poison : tensor<16xi32>\n\
             %x = tt.descriptor_gather %d[%r, %n] : (!tt.tensordesc<1x64xf32>, tensor<16xi32>, i32) -> tensor<16x64xf32>";
        assert_eq!(told("sm_90a", body).len(), 1);
        assert!(told("sm_86", body).is_empty() && told("sm_100", body).is_empty());
    }

    #[test]
    fn targets_are_named_as_nvcc_names_them() {
        assert_eq!(Target::named("sm_90a").map(|t| t.capability), Some(90));
        assert_eq!(Target::named("sm_99"), None);
        assert_eq!(Target::named("90"), None);
    }
}
