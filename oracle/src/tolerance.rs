//! How far an output may be from what is expected.
//!
//! The rules are those of the launch file's `[expect]`: an element agrees when
//! `|got - expected| <= atol + rtol * |expected|`. Defaults depend on the output's dtype and on
//! whether the kernel accumulates (`dot`, scans, float sums), whose rounding errors grow with the
//! size of the summands and not with the size of the sum.

use tilescope_ir::attrs::{Attrs, InputPrecision, RmwKind};
use tilescope_ir::{Function, Module, Op, OpCode, Scalar};
use tilescope_launch::Dtype;

/// Relative and absolute tolerance of one output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Share of the expected magnitude.
    pub rtol: f64,
    /// In the output's own unit.
    pub atol: f64,
}

/// What a kernel does that accumulates rounding errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Accumulation {
    /// Neither `dot`, scan nor float sum.
    #[default]
    None,
    /// A `dot`, a scan or a float sum.
    Sums,
    /// A `dot` of f32 inputs that are cut to TF32.
    Tf32,
}

impl Accumulation {
    /// What the functions of a module do. A kernel that only might sum floats counts as one that does.
    pub fn of(module: &Module) -> Accumulation {
        let mut found = Accumulation::None;
        for (_, function) in module.funcs.iter() {
            for (_, op) in function.ops.iter() {
                match Accumulation::of_op(function, op) {
                    Accumulation::Tf32 => return Accumulation::Tf32,
                    Accumulation::Sums => found = Accumulation::Sums,
                    Accumulation::None => {}
                }
            }
        }
        found
    }

    fn of_op(function: &Function, op: &Op) -> Accumulation {
        let sums = match (op.code, &op.attrs) {
            (
                OpCode::Dot,
                Attrs::Dot {
                    precision: InputPrecision::Tf32,
                    ..
                },
            ) => {
                let input = op
                    .operands
                    .first()
                    .and_then(|&v| function.ty(v).elem())
                    .and_then(|e| e.scalar());
                if input == Some(Scalar::F32) {
                    return Accumulation::Tf32;
                }
                true
            }
            (OpCode::Dot | OpCode::DotScaled | OpCode::Scan, _) => true,
            (OpCode::AtomicRmw, Attrs::Rmw(kind, ..)) => *kind == RmwKind::Fadd,
            (OpCode::Reduce, _) => adds_floats(function, op),
            _ => false,
        };
        if sums {
            Accumulation::Sums
        } else {
            Accumulation::None
        }
    }
}

fn adds_floats(function: &Function, reduce: &Op) -> bool {
    let regions = reduce.regions.iter().flat_map(|&r| &function.regions[r].blocks);
    let mut ops = regions.flat_map(|&b| &function.blocks[b].ops);
    ops.any(|&op| matches!(function.ops[op].code, OpCode::AddF | OpCode::Fma | OpCode::Call))
}

impl Tolerance {
    /// The tolerance of an output whose launch file gives neither, one or both of `rtol` and `atol`.
    ///
    /// `largest` is the largest finite magnitude expected anywhere in that output.
    pub fn of(
        dtype: Dtype,
        accumulation: Accumulation,
        largest: f64,
        rtol: Option<f64>,
        atol: Option<f64>,
    ) -> Tolerance {
        let (rtol_default, atol_default) = by_dtype(dtype);
        let floor = accumulated(dtype, accumulation) * largest;
        Tolerance {
            rtol: rtol.unwrap_or(rtol_default),
            atol: atol.unwrap_or(atol_default.max(floor)),
        }
    }
}

fn by_dtype(dtype: Dtype) -> (f64, f64) {
    match dtype {
        Dtype::F64 => (1e-7, 1e-7),
        Dtype::F32 => (1.3e-6, 1e-5),
        Dtype::F16 => (1e-3, 1e-5),
        Dtype::BF16 => (1.6e-2, 1e-5),
        Dtype::F8E4M3 | Dtype::F8E5M2 => (0.125, 0.0),
        _ => (0.0, 0.0),
    }
}

/// The least `atol` of an accumulating kernel, as a share of the largest expected magnitude.
fn accumulated(dtype: Dtype, accumulation: Accumulation) -> f64 {
    if accumulation == Accumulation::None {
        return 0.0;
    }
    match dtype {
        Dtype::F64 => 1e-13,
        Dtype::F32 if accumulation == Accumulation::Tf32 => 2e-3,
        Dtype::F32 => 1e-5,
        Dtype::F16 => 1e-3,
        Dtype::BF16 => 1.6e-2,
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use tilescope_diagnostics::Source;

    use super::*;

    #[test]
    fn defaults_follow_the_dtype() {
        let of = |dtype| Tolerance::of(dtype, Accumulation::None, 1e9, None, None);
        assert_eq!(
            of(Dtype::F32),
            Tolerance {
                rtol: 1.3e-6,
                atol: 1e-5
            }
        );
        assert_eq!(
            of(Dtype::F8E5M2),
            Tolerance {
                rtol: 0.125,
                atol: 0.0
            }
        );
        assert_eq!(of(Dtype::U64), Tolerance { rtol: 0.0, atol: 0.0 });
    }

    #[test]
    fn accumulation_scales_with_the_largest_value_unless_atol_is_given() {
        let of = |accumulation, atol| Tolerance::of(Dtype::F32, accumulation, 1000.0, None, atol).atol;
        assert_eq!(of(Accumulation::Sums, None), 1e-5 * 1000.0);
        assert_eq!(of(Accumulation::Tf32, None), 2e-3 * 1000.0);
        assert_eq!(of(Accumulation::Tf32, Some(1e-6)), 1e-6);
        let small = Tolerance::of(Dtype::F32, Accumulation::Sums, 0.5, None, None);
        assert_eq!(small.atol, 1e-5, "the floor never lowers the default");
        let integer = Tolerance::of(Dtype::I32, Accumulation::Sums, 1e6, None, None);
        assert_eq!(integer.atol, 0.0, "integers stay exact");
    }

    fn accumulation(text: &str) -> Accumulation {
        let module = tilescope_ir::text::parse(&Source::new("test.ttir", text)).unwrap();
        Accumulation::of(&module)
    }

    fn dot(elem: &str, precision: &str) -> String {
        format!(
            "module {{ tt.func public @k(%a: tensor<16x16x{elem}>, %c: tensor<16x16xf32>) {{ \
             %d = tt.dot %a, %a, %c{precision} : tensor<16x16x{elem}> * tensor<16x16x{elem}> -> tensor<16x16xf32> \
             tt.return }} }}"
        )
    }

    fn reduce(elem: &str, add: &str) -> String {
        format!(
            "module {{ tt.func public @k(%x: tensor<16x{elem}>) {{ \
             %s = \"tt.reduce\"(%x) <{{axis = 0 : i32}}> ({{ ^bb0(%a: {elem}, %b: {elem}): \
             %c = {add} %a, %b : {elem} tt.reduce.return %c : {elem} }}) : (tensor<16x{elem}>) -> {elem} \
             tt.return }} }}"
        )
    }

    #[test]
    fn a_dot_counts_and_tf32_only_on_f32() {
        assert_eq!(
            accumulation(&dot("f16", ", inputPrecision = tf32")),
            Accumulation::Sums
        );
        assert_eq!(
            accumulation(&dot("f32", ", inputPrecision = tf32")),
            Accumulation::Tf32
        );
        assert_eq!(accumulation(&dot("f32", "")), Accumulation::Sums);
    }

    #[test]
    fn a_reduction_counts_when_it_adds_floats() {
        assert_eq!(accumulation(&reduce("f32", "arith.addf")), Accumulation::Sums);
        assert_eq!(accumulation(&reduce("f32", "arith.maxnumf")), Accumulation::None);
        assert_eq!(accumulation(&reduce("i32", "arith.addi")), Accumulation::None);
    }

    #[test]
    fn private_functions_count() {
        let text = "module { tt.func public @k(%x: tensor<16xf32>) { tt.call @f(%x) : (tensor<16xf32>) -> () tt.return } \
                    tt.func private @f(%x: tensor<16xf32>) { tt.call @f(%x) : (tensor<16xf32>) -> () \
                    %s = \"tt.scan\"(%x) <{axis = 0 : i32, reverse = false}> ({ ^bb0(%a: f32, %b: f32): \
                    %c = arith.maxnumf %a, %b : f32 tt.scan.return %c : f32 }) : (tensor<16xf32>) -> tensor<16xf32> \
                    tt.return } }";
        assert_eq!(accumulation(text), Accumulation::Sums);
    }
}
