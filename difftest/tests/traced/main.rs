//! Values that generated code dumps, beside the interpreter's: GPU code run on the CPU as an engine, with an error that is planted in
//! its text, and without one.
//!
//! Without a C++ compiler all are skipped.
#![allow(clippy::print_stderr, reason = "says what is skipped")]

#[path = "../../../gpu-backend/tests/cpu/case.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod case;
#[path = "../../../gpu-backend/tests/cpu/compile.rs"]
#[allow(dead_code, reason = "some of it is for other tests")]
mod compile;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{Error, Finding, Result, Source};
use tilescope_difftest::judge::{Bench, Paths, Subject};
use tilescope_difftest::{Dump, Ended, Engine, Failure, Watch};
use tilescope_gpu_backend::{Generated, Options, dump, generate_dumping};
use tilescope_ir::VerifiedModule;
use tilescope_kernels::REFERENCES;
use tilescope_launch::expr::Value;
use tilescope_launch::{LaunchFile, Memory, NoFiles, Overrides, Role, Signature};

static CANCEL: AtomicBool = AtomicBool::new(false);

/// Generated code on the CPU, with an error.
struct OnCpu {
    name: &'static str,
    path: PathBuf,
    vars: Vec<(String, i64)>,
    plant: Plant,
}

/// What is wrong with it.
#[derive(Clone, Copy)]
enum Plant {
    /// A text in it, everywhere, is another one.
    Text(&'static str, &'static str),
    /// The first element of the last output is overwritten afterwards.
    Memory,
}

impl OnCpu {
    fn execute(&self, mut generated: Generated, memory: &mut Memory) -> Result<compile::Executed> {
        let failed = |why: libtest_mimic::Failed| Error::unsupported(format!("{why:?}"));
        if let Plant::Text(right, wrong) = self.plant {
            assert!(generated.source.contains(right), "{}", generated.source);
            generated.source = generated.source.replace(right, wrong);
        }
        let case = case::Case::open(&self.path, &self.vars).map_err(failed)?;
        let dumps = if generated.dumped.is_some() {
            "dumps"
        } else {
            "plain"
        };
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("traced")
            .join(self.name);
        let program = compile::compile(&folder, dumps, &case, &generated).map_err(failed)?;
        let executed = compile::execute(&program, &case, &generated).map_err(failed)?;
        for (allocation, bytes) in memory.allocations.iter_mut().zip(&executed.memory) {
            allocation.bytes.copy_from_slice(bytes);
        }
        if let Plant::Memory = self.plant {
            let launch = case.launch();
            let tensor = launch.tensors.iter().find(|t| t.role == Role::Out).unwrap();
            let at = tensor.offset as usize * 4;
            let allocation = &mut memory.allocations[tensor.allocation.0 as usize];
            allocation.bytes[at..at + 4].copy_from_slice(&1e3f32.to_le_bytes());
        }
        Ok(executed)
    }
}

fn options(warps: Option<u32>) -> Options {
    Options {
        specialize: false,
        warps,
        checked: warps.is_none(),
    }
}

impl Engine for OnCpu {
    fn name(&self) -> &str {
        "cpu"
    }

    fn warps(&self) -> &[u32] {
        &[]
    }

    fn run(&self, subject: &Subject, warps: Option<u32>, memory: &mut Memory) -> Result<Ended> {
        let ((module, kernel), launch) = (&subject.kernels[0], &subject.bound.launches[0]);
        let generated = generate_dumping(module, *kernel, launch, options(warps), None, &|_, _| None)?;
        self.execute(generated, memory)?;
        Ok(Ended::Ran(Vec::new()))
    }

    fn trace(
        &self,
        subject: &Subject,
        warps: Option<u32>,
        watch: &Watch<'_>,
        memory: &mut Memory,
    ) -> Result<Option<Dump>> {
        let ((module, kernel), launch) = (&subject.kernels[0], &subject.bound.launches[0]);
        let wanted = dump::Dump {
            program: watch.program,
            ops: watch.ops.clone(),
        };
        let generated = generate_dumping(module, *kernel, launch, options(warps), Some(&wanted), &|_, _| {
            None
        })?;
        let executed = self.execute(generated.clone(), memory)?;
        let address = |address| dump::synthetic(address, memory, &executed.bases);
        let (lines, is_cut) = dump::lines(&executed.dump, module, &generated, &address);
        Ok(Some(Dump {
            lines,
            is_cut,
            by: None,
        }))
    }
}

/// A kernel of `kernels/` in one size.
fn subject(path: &Path, vars: &[(String, i64)]) -> Subject {
    let read = |path: &Path| Source::new(path.display().to_string(), std::fs::read_to_string(path).unwrap());
    let module = tilescope_ir::text::parse(&read(&case::ttir_of(path))).unwrap();
    let module = VerifiedModule::new(module).unwrap();
    let (kernel, _) = module.kernels().next().unwrap();
    let file = LaunchFile::parse(read(path)).unwrap();
    let vars = vars.iter().map(|(n, v)| (n.clone(), Value::Int((*v).into())));
    let overrides = Overrides {
        vars: vars.collect(),
        ..Overrides::default()
    };
    let bound = file.bind(&[Signature::of(&module, kernel)], &overrides).unwrap();
    Subject {
        file: file.into(),
        bound,
        kernels: vec![(module.into(), kernel)],
    }
}

fn failure(subject: &Subject, engine: &dyn Engine) -> Option<Failure> {
    let engines = [engine];
    let bench = Bench {
        sift: &|_, _| (),
        files: &NoFiles,
        references: REFERENCES,
        paths: Paths {
            interpreter: false,
            twin: false,
            reference: false,
            file: false,
        },
        engines: &engines,
        options: tilescope_interpreter::Options::default(),
        rtol: 0.0,
        atol: 0.0,
        limit: 1 << 28,
        cancel: &CANCEL,
    };
    let judged = bench.judge(subject, None, 0).unwrap();
    let mut failure = judged.failure?;
    bench.bisect(subject, None, 0, &mut failure).unwrap();
    Some(failure)
}

/// What is found of a kernel with an error planted in its code.
fn planted(
    name: &'static str,
    kernel: &str,
    vars: &[(&str, i64)],
    (right, wrong): (&'static str, &'static str),
) -> Option<Finding> {
    found(name, kernel, vars, Plant::Text(right, wrong))
}

/// None without a compiler.
fn found(name: &'static str, kernel: &str, vars: &[(&str, i64)], plant: Plant) -> Option<Finding> {
    if compile::compiler().is_none() {
        eprintln!("skipped: no C++ compiler is found (set CXX); generated kernels are not run");
        return None;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let path = folder.join(format!("{kernel}/{kernel}.launch.toml"));
    let vars: Vec<(String, i64)> = vars.iter().map(|&(n, v)| (n.to_string(), v)).collect();
    let subject = subject(&path, &vars);
    let engine = OnCpu {
        name,
        path,
        vars,
        plant,
    };
    let failure = failure(&subject, &engine).expect("an element differs");
    failure.findings.into_iter().next()
}

const KNOWN: &str = "its operands agree";

/// The words, the author's line, and the names of the values on both sides.
fn told(found: &Finding) -> (String, u32, Vec<String>) {
    let said = found.message.split("; ").skip(1).collect::<Vec<_>>().join("; ");
    let line = found.location.as_ref().map_or(0, |l| l.frame.line);
    let operands = found.operands.iter().map(|(name, _)| name.clone());
    // How far the two are apart stands before.
    (said, line, operands.skip(4).collect())
}

#[test]
fn an_operation_of_softmax() {
    let vars = [("n_rows", 3), ("n_cols", 100)];
    let Some(found) = planted("softmax", "softmax", &vars, ("ts::exp(", "ts::exp(0.5f * ")) else {
        return;
    };
    let (said, line, names) = told(&found);
    assert!(
        said.contains("the first operation beyond its bound is made here (math.exp)"),
        "{said}"
    );
    assert!(said.ends_with(KNOWN), "{said}");
    assert_eq!(line, 13, "{found:#?}");
    assert_eq!(names.len(), 4, "{names:?}");
    assert!(
        names[0].starts_with("numerator[") && names[1].ends_with("] on cpu"),
        "{names:?}"
    );
    assert_eq!(names[2..], ["arith.subf", "arith.subf on cpu"]);
}

#[test]
fn an_operation_of_layer_norm() {
    let vars = [("n_rows", 2), ("n_cols", 300)];
    let plant = ("ts::sqrt(", "1.5f * ts::sqrt(");
    let Some(found) = planted("layer_norm", "layer_norm", &vars, plant) else {
        return;
    };
    let (said, line, names) = told(&found);
    assert!(said.contains("(math.sqrt)") && said.ends_with(KNOWN), "{said}");
    assert_eq!(line, 27, "{found:#?}");
    assert_eq!(
        names,
        ["math.sqrt", "math.sqrt on cpu", "arith.addf", "arith.addf on cpu"]
    );
}

#[test]
fn a_product_of_a_loop() {
    let Some(found) = planted("matmul", "matmul", MATMUL, ("k < 32; ++k", "k < 31; ++k")) else {
        return;
    };
    let (said, line, names) = told(&found);
    assert!(said.contains("(tt.dot)") && said.ends_with(KNOWN), "{said}");
    assert_eq!(line, 33, "{found:#?}");
    // Its operands are too many to be told.
    assert_eq!(names.len(), 2, "{names:?}");
}

const MATMUL: &[(&str, i64)] = &[("M", 20), ("N", 18), ("K", 70)];

#[test]
fn an_address() {
    let Some(found) = planted("address", "matmul", MATMUL, ("= a_ptr + ", "= 1 + a_ptr + ")) else {
        return;
    };
    let (said, line, _) = told(&found);
    assert!(
        said.starts_with("they part here: the load reads a_ptr["),
        "{said}"
    );
    assert!(said.contains(", on cpu a_ptr["), "{said}");
    assert_eq!(line, 31, "{found:#?}");
}

#[test]
fn what_an_address_is_made_of() {
    let plant = ("ts::mul(stride_ak, 32)", "ts::mul(stride_ak, 31)");
    let Some(found) = planted("step", "matmul", MATMUL, plant) else {
        return;
    };
    let (said, line, names) = told(&found);
    assert_eq!(
        said,
        "the first operation beyond its bound is made here (arith.muli): 31 on cpu, 32 here; its operands agree"
    );
    assert_eq!(line, 34, "{found:#?}");
    let operand = ["arith.constant", "arith.constant on cpu"];
    assert_eq!(names, [["arith.muli", "arith.muli on cpu"], operand].concat());
}

#[test]
fn what_a_load_reads() {
    let plant = ("auto const from = ", "auto const from = 1 + ");
    let Some(found) = planted("load", "matmul", MATMUL, plant) else {
        return;
    };
    let (said, line, _) = told(&found);
    assert!(
        said.starts_with("they part here: what is loaded from a_ptr["),
        "{said}"
    );
    assert!(said.ends_with("] is another number on cpu"), "{said}");
    assert_eq!(line, 31, "{found:#?}");
}

#[test]
fn an_operation_of_attention() {
    let vars = [("n_batch", 1), ("n_heads", 1), ("n_ctx", 70)];
    let plant = ("ts::exp2(", "ts::exp2(0.5f * ");
    let Some(found) = planted("attention", "flash_attention", &vars, plant) else {
        return;
    };
    let (said, line, names) = told(&found);
    assert!(said.contains("(math.exp2)") && said.ends_with(KNOWN), "{said}");
    assert!([38, 39].contains(&line), "{found:#?}");
    assert_eq!(names.len(), 4, "{names:?}");
}

/// What is stored is right, and something else is in the memory: every value that went into the element was compared, and agrees.
#[test]
fn right_values_agree() {
    type Sizes = &'static [(&'static str, i64)];
    let cases: [(&str, &str, Sizes); 4] = [
        ("right_softmax", "softmax", &[("n_rows", 3), ("n_cols", 100)]),
        (
            "right_layer_norm",
            "layer_norm",
            &[("n_rows", 2), ("n_cols", 300)],
        ),
        ("right_matmul", "matmul", MATMUL),
        (
            "right_attention",
            "flash_attention",
            &[("n_batch", 1), ("n_heads", 1), ("n_ctx", 70)],
        ),
    ];
    for (name, kernel, vars) in cases {
        let Some(found) = found(name, kernel, vars, Plant::Memory) else {
            return;
        };
        let said = &found.message;
        let numbers: Vec<usize> = said
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|n| n.parse().ok())
            .collect();
        assert!(
            said.contains(
                " lanes that the element is computed from agree with the interpreter's, 0 are not known"
            ),
            "{said}"
        );
        assert!(numbers.iter().any(|&n| n > 20), "{said}");
    }
}
