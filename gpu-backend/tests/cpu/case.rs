//! A launch file with its TTIR: generated, interpreted, compared.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use libtest_mimic::Failed;
use tilescope_diagnostics::{Check, Finding, Printed, Source};
use tilescope_gpu_backend::dump::Dump;
use tilescope_gpu_backend::{Generated, Options, generate, generate_dumping};
use tilescope_interpreter::{Control, Prepared};
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_launch::expr::Value;
use tilescope_launch::fault::{Fault, Line};
use tilescope_launch::{Bound, Dtype, Files, Launch, LaunchFile, Memory, Overrides, Signature};

/// Sizes that the fibers of a test get through, in place of those in the launch file.
const SMALL: &[(&str, i64)] = &[
    ("n_rows", 67),
    ("n_elements", 5003),
    ("n_batch", 1),
    ("n_heads", 2),
    ("n_ctx", 101),
    ("M", 100),
    ("N", 90),
    ("K", 50),
];

/// Storage beyond which the fibers are not asked, in bytes.
const LARGEST: usize = 256 << 20;

/// Data files beside a launch file.
struct Beside(PathBuf);

impl Files for Beside {
    fn read(&self, path: &str, _: u64) -> Result<Vec<u8>, Box<tilescope_diagnostics::Error>> {
        std::fs::read(self.0.join(path))
            .map_err(|why| tilescope_diagnostics::Error::input(format!("{path}: {why}")))
    }
}

/// A launch to be run by both engines.
pub struct Case {
    files: Beside,
    pub bound: Bound,
    module: Arc<VerifiedModule>,
    function: FuncId,
}

/// The TTIR text of a launch file.
pub fn ttir_of(launch: &Path) -> PathBuf {
    PathBuf::from(launch.to_string_lossy().replace(".launch.toml", ".ttir"))
}

fn read(path: &Path) -> Result<Arc<Source>, Failed> {
    let text = std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))?;
    Ok(Source::new(path.display().to_string(), text))
}

/// Name and range of each variable that the launch file gives one.
#[allow(dead_code, reason = "of the runner for GPUs")]
pub fn ranges(path: &Path) -> Vec<(String, i64, i64)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Ok(file) = LaunchFile::parse(Source::new("launch", text)) else {
        return Vec::new();
    };
    let bounds = file.vars().iter().filter_map(|v| {
        let line = v.range?;
        Some((v.name.clone(), line.0, line.1))
    });
    bounds.collect()
}

/// Sizes in words: `n_rows=3 n_cols=17`.
#[allow(dead_code, reason = "of the runner for GPUs")]
pub fn sizes(vars: &[(String, i64)]) -> String {
    match vars.is_empty() {
        true => String::from("the sizes of its file"),
        false => vars
            .iter()
            .map(|(n, v)| format!("{n}={v}"))
            .collect::<Vec<String>>()
            .join(" "),
    }
}

/// Sizes whose outputs are small enough to be kept in the repository.
#[allow(dead_code, reason = "of the runner for GPUs")]
pub fn tiny(path: &Path) -> Vec<(String, i64)> {
    let limit = |name: &str, value: i64| match name {
        "n_rows" => 3,
        "n_elements" => 133,
        "n_ctx" => 37,
        _ => value.min(21),
    };
    let small: Vec<(String, i64)> = small(path)
        .into_iter()
        .map(|(n, v)| (n.clone(), limit(&n, v)))
        .collect();
    let columns = ranges(path)
        .into_iter()
        .filter(|(name, low, _)| name == "n_cols" && *low <= 133);
    small
        .into_iter()
        .chain(columns.map(|(name, ..)| (name, 133)))
        .collect()
}

/// The values of [`SMALL`] for the variables that a launch file has.
pub fn small(path: &Path) -> Vec<(String, i64)> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let Ok(file) = LaunchFile::parse(Source::new("launch", text)) else {
        return Vec::new();
    };
    let has = |name: &str| file.vars().iter().any(|v| v.name == name);
    SMALL
        .iter()
        .filter(|(name, _)| has(name))
        .map(|&(n, v)| (n.to_string(), v))
        .collect()
}

impl Case {
    pub fn open(path: &Path, vars: &[(String, i64)]) -> Result<Case, Failed> {
        let module = tilescope_ir::text::parse(&read(&ttir_of(path))?).map_err(|e| format!("{e:?}"))?;
        let module = VerifiedModule::new(module).map_err(|e| format!("{e:?}"))?;
        let (function, _) = module.kernels().next().ok_or("no kernel")?;
        let file = LaunchFile::parse(read(path)?).map_err(|e| format!("{e:?}"))?;
        let overrides = Overrides {
            vars: vars
                .iter()
                .map(|(n, v)| (n.clone(), Value::Int((*v).into())))
                .collect(),
            ..Overrides::default()
        };
        let bound = file
            .bind(&[Signature::of(&module, function)], &overrides)
            .map_err(|e| format!("{e:?}"))?;
        Ok(Case {
            files: Beside(path.parent().unwrap_or(Path::new(".")).to_path_buf()),
            bound,
            module: Arc::new(module),
            function,
        })
    }

    pub fn launch(&self) -> &Launch {
        &self.bound.launches[0]
    }

    pub fn memory(&self) -> Result<Memory, Failed> {
        self.bound
            .allocate(&self.files, u64::MAX)
            .map_err(|e| format!("{e:?}").into())
    }

    /// True where the launch's storage is too large for a test.
    #[allow(dead_code, reason = "of the tests on the CPU")]
    pub fn is_huge(&self) -> bool {
        let bytes = |t: &tilescope_launch::Tensor| {
            let span = t
                .shape
                .iter()
                .zip(&t.strides)
                .map(|(n, s)| (n - 1).max(0).saturating_mul(s.abs()));
            span.fold(1i64, i64::saturating_add)
                .saturating_mul(t.dtype.bytes() as i64)
        };
        self.bound.tensors().iter().any(|t| bytes(t) > LARGEST as i64)
    }

    /// The kernel's function, and its text as Triton reads it.
    #[allow(dead_code, reason = "of the runner for GPUs")]
    pub fn kernel(&self) -> (&tilescope_ir::Function, String) {
        (
            &self.module.funcs[self.function],
            tilescope_ir::text::print(&self.module),
        )
    }

    /// The generated kernel, or the message of the refusal.
    pub fn generate(&self, options: Options) -> Result<Generated, String> {
        generate(&self.module, self.function, self.launch(), options, &|_, _| None)
            .map_err(|e| e.message.clone())
    }

    /// A kernel whose last program dumps what every operation gives, or the message of the refusal.
    #[allow(dead_code, reason = "of builds that dump")]
    pub fn generate_dumping(&self, options: Options) -> Result<Generated, String> {
        let functions = self.module.funcs.iter();
        let ops = functions.flat_map(|(id, function)| function.ops.ids().map(move |op| (id, op)));
        let programs: u64 = self.launch().grid.iter().product();
        let dump = Dump {
            program: programs.saturating_sub(1),
            ops: ops.collect(),
        };
        let (module, launch) = (&self.module, self.launch());
        generate_dumping(module, self.function, launch, options, Some(&dump), &|_, _| None)
            .map_err(|e| e.message.clone())
    }

    /// The lines of a dump, and whether some are lost.
    #[allow(dead_code, reason = "of builds that dump")]
    pub fn dumped(&self, buffer: &[u8], generated: &Generated) -> (Vec<Line>, bool) {
        tilescope_gpu_backend::dump::lines(buffer, &self.module, generated, &|address| address)
    }

    /// The memory as the interpreter leaves it.
    #[allow(dead_code, reason = "of the tests on the CPU")]
    pub fn interpret(&self) -> Result<Memory, Failed> {
        Ok(self.check()?.0)
    }

    /// The memory as the interpreter leaves it, and what it finds.
    pub fn check(&self) -> Result<(Memory, Vec<Finding>), Failed> {
        let (memory, findings, _) = self.look()?;
        Ok((memory, findings))
    }

    /// The lines of a kernel's buffer of prints.
    #[allow(dead_code, reason = "of the tests on the CPU")]
    pub fn lines(&self, buffer: &[u8], generated: &Generated) -> Vec<Line> {
        tilescope_gpu_backend::prints::lines(buffer, &self.module, generated).0
    }

    /// What a kernel printed, in the interpreter's words.
    #[allow(dead_code, reason = "of the tests on the CPU")]
    pub fn printed_of(&self, lines: &[Line]) -> Result<Vec<Printed>, Failed> {
        let options = tilescope_interpreter::Options::default();
        let prepared = Prepared::new(&self.module, self.function, self.launch(), options)
            .map_err(|e| format!("{e:?}"))?;
        Ok(prepared.printed_of(&mut self.memory()?, lines))
    }

    /// The memory as the interpreter leaves it, what it finds, and what is printed.
    pub fn look(&self) -> Result<(Memory, Vec<Finding>, Vec<Printed>), Failed> {
        let mut memory = self.memory()?;
        let control = Control {
            cancel: &AtomicBool::new(false),
            progress: &|_| (),
        };
        let options = tilescope_interpreter::Options::default();
        let prepared = Prepared::new(&self.module, self.function, self.launch(), options)
            .map_err(|e| format!("{e:?}"))?;
        let outcome = prepared
            .run(&mut memory, &control)
            .map_err(|e| format!("{e:?}"))?;
        Ok((memory, outcome.findings, outcome.prints))
    }

    /// What a checked build saw, in the interpreter's words.
    #[allow(dead_code, reason = "of checked builds")]
    pub fn findings_of(&self, faults: &[Fault]) -> Result<Vec<Finding>, Failed> {
        let options = tilescope_interpreter::Options::default();
        let prepared = Prepared::new(&self.module, self.function, self.launch(), options)
            .map_err(|e| format!("{e:?}"))?;
        Ok(prepared.findings_of(&mut self.memory()?, faults))
    }

    /// Fails where outputs differ by more than their type's tolerance.
    pub fn compare(&self, expected: &Memory, actual: &[Vec<u8>]) -> Result<(), Failed> {
        // Addresses are each engine's own.
        for tensor in self.bound.tensors().iter().filter(|t| t.pointers.is_empty()) {
            let index = tensor.allocation.0 as usize;
            let mut other = Memory::default();
            for (allocation, bytes) in expected.allocations.iter().zip(actual) {
                let mut copy = tilescope_launch::Bytes::zeroed(bytes.len()).ok_or("no memory")?;
                copy.copy_from_slice(bytes);
                other.allocations.push(tilescope_launch::Allocation {
                    name: allocation.name.clone(),
                    base: allocation.base,
                    bytes: copy,
                    deferred: None,
                    written: Vec::new(),
                });
            }
            let elements = tensor.elements();
            let (want, got) = (
                expected.gather(tensor, 0, elements),
                other.gather(tensor, 0, elements),
            );
            if let Some(why) = difference(tensor.dtype, &want, &got) {
                return Err(format!("`{}` (allocation {index}) differs: {why}", tensor.name).into());
            }
        }
        Ok(())
    }
}

fn bits(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b))
}

/// True for findings of lanes that no engine needs to give the same value.
#[allow(dead_code, reason = "of checked builds")]
pub fn leaves_undefined(finding: &Finding) -> bool {
    matches!(
        finding.check,
        Check::DivByZero | Check::FloatToIntRange | Check::UndefinedLane | Check::UninitLoad
    )
}

/// The first element that differs by too much, and how many do.
pub fn difference(dtype: Dtype, want: &[u8], got: &[u8]) -> Option<String> {
    let size = dtype.bytes();
    let (relative, absolute) = match dtype {
        // Often a sum of f32 that was widened.
        Dtype::F64 => (1e-6, 1e-7),
        Dtype::F32 => (2e-5, 1e-5),
        Dtype::F16 => (2e-3, 2e-3),
        Dtype::BF16 => (1.6e-2, 1.6e-2),
        _ if dtype.is_float() => (0.13, 0.01),
        _ => (0.0, 0.0),
    };
    let pairs = || want.chunks_exact(size).zip(got.chunks_exact(size));
    let largest = pairs()
        .map(|(w, _)| dtype.decode_float(bits(w)).abs())
        .filter(|x| x.is_finite())
        .fold(0.0, f64::max);
    let differs = |w: u64, g: u64| {
        if w == g {
            return false;
        }
        if !dtype.is_float() {
            return true;
        }
        let (w, g) = (dtype.decode_float(w), dtype.decode_float(g));
        if w.is_nan() && g.is_nan() || w == g {
            return false;
        }
        let close = (w - g).abs() <= relative * w.abs() + absolute * largest;
        !close
    };
    let wrong: Vec<usize> = pairs()
        .enumerate()
        .filter(|(_, (w, g))| differs(bits(w), bits(g)))
        .map(|(i, _)| i)
        .collect();
    let &first = wrong.first()?;
    let show = |bytes: &[u8]| {
        let raw = bits(&bytes[first * size..][..size]);
        match dtype.is_float() {
            true => format!("{:e}", dtype.decode_float(raw)),
            false => format!("{raw:#x}"),
        }
    };
    Some(format!(
        "{} of {} elements, the first is {first}: {} instead of {}",
        wrong.len(),
        want.len() / size,
        show(got),
        show(want)
    ))
}
