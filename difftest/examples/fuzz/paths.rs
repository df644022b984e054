//! A generated kernel by every path of the interpreter, compared bit for bit.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{CheckSet, Error, ErrorKind, Severity, Source};
use tilescope_difftest::generate::{Generated, NAME, Spec, is_rounded_freely};
use tilescope_interpreter::simd::{Cpu, CpuLevel};
use tilescope_interpreter::{Control, Lowering, Options, Prepared};
use tilescope_ir::{FuncId, Function, Module, Op, OpCode, VerifiedModule, text};
use tilescope_launch::{Bound, LaunchFile, Memory, NoFiles, Overrides, Signature};

/// A kernel that was read back from its text, bound to its launch.
pub struct Opened {
    pub module: VerifiedModule,
    pub function: FuncId,
    pub bound: Bound,
}

/// A path that did something else than the first one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disagreement {
    /// Which path.
    pub path: String,
    /// What it did, in words.
    pub what: String,
}

/// What a run leaves behind.
#[derive(PartialEq)]
pub struct Left {
    pub bytes: Vec<Vec<u8>>,
    findings: Vec<String>,
    prints: Vec<String>,
}

fn differ(path: &str, what: impl Into<String>) -> Disagreement {
    Disagreement {
        path: path.to_string(),
        what: what.into(),
    }
}

/// Reads a kernel and its launch from their texts.
pub fn open(kernel: &str, launch: &str) -> Result<Opened, Box<Error>> {
    let module = text::parse(&Source::new("generated.ttir", kernel))?;
    let module = VerifiedModule::new(module).map_err(|errors| {
        errors
            .into_iter()
            .next()
            .unwrap_or_else(|| Error::input("not verified"))
    })?;
    let function = module.find(NAME);
    let function = function.ok_or_else(|| Error::input("no kernel of the expected name"))?;
    let file = LaunchFile::parse(Source::new("generated.launch.toml", launch))?;
    let bound = file.bind(&[Signature::of(&module, function)], &Overrides::default())?;
    Ok(Opened {
        module,
        function,
        bound,
    })
}

impl Opened {
    /// The launch's memory before it.
    pub fn memory(&self) -> Result<Memory, Box<Error>> {
        self.bound.allocate(&NoFiles, 1 << 28)
    }

    /// Runs it; with what severity-error findings there are.
    fn run(&self, options: Options) -> Result<(Left, Option<String>), Box<Error>> {
        let mut memory = self.memory()?;
        let control = Control {
            cancel: &AtomicBool::new(false),
            progress: &|_| (),
        };
        let launch = &self.bound.launches[0];
        let prepared = Prepared::new(&self.module, self.function, launch, options)?;
        let outcome = prepared.run(&mut memory, &control)?;
        let fault = outcome.findings.iter().find(|f| f.severity == Severity::Error);
        let fault = fault.map(|f| format!("{}: {}", f.check, f.message));
        let left = Left {
            bytes: memory.allocations.iter().map(|a| a.bytes.to_vec()).collect(),
            findings: outcome.findings.iter().map(|f| format!("{f:?}")).collect(),
            prints: outcome.prints.iter().map(|p| format!("{p:?}")).collect(),
        };
        Ok((left, fault))
    }

    /// Where memory differs, in words: the first element.
    pub fn difference(&self, expected: &[Vec<u8>], found: &[Vec<u8>]) -> Option<String> {
        for tensor in self.bound.tensors() {
            let index = tensor.allocation.0 as usize;
            let (a, b) = (expected.get(index)?, found.get(index)?);
            let size = tensor.dtype.bytes();
            let mut pairs = a.chunks(size).zip(b.chunks(size)).enumerate();
            if let Some((at, (a, b))) = pairs.find(|(_, (a, b))| a != b) {
                let hex = |bytes: &[u8]| bytes.iter().rev().map(|b| format!("{b:02x}")).collect::<String>();
                let dtype = tensor.dtype.name();
                return Some(format!(
                    "{}[{at}] ({dtype}) is {} instead of {}",
                    tensor.name,
                    hex(b),
                    hex(a)
                ));
            }
        }
        None
    }
}

/// The ways that differ most: for tests of a few seconds.
#[allow(dead_code, reason = "of the test")]
pub fn few_ways() -> Vec<(String, Options)> {
    let mut ways = ways();
    ways.retain(|(name, _)| {
        matches!(
            name.as_str(),
            "stepping" | "fast, 3 threads" | "fast, scalar, without checks"
        )
    });
    ways
}

/// True if nothing in the module is rounded freely, so that engines must agree to the bit.
pub fn is_exact(module: &Module) -> bool {
    module.funcs.iter().all(|(_, f)| {
        f.ops
            .iter()
            .all(|(_, op)| !is_rounded_freely(op.code) && !adds_in_any_order(f, op))
    })
}

/// True for a combination of lanes that rounds: each path has its own order of the lanes.
fn adds_in_any_order(f: &Function, op: &Op) -> bool {
    let blocks = op.regions.iter().flat_map(|&region| &f.regions[region].blocks);
    let mut inner = blocks.flat_map(|&block| &f.blocks[block].ops);
    matches!(op.code, OpCode::Reduce | OpCode::Scan)
        && inner.any(|&op| matches!(f.ops[op].code, OpCode::AddF | OpCode::MulF))
}

/// The ways in which the interpreter runs a kernel; all must leave the same.
pub fn ways() -> Vec<(String, Options)> {
    let with = |lowering, threads, checks, cpu| Options {
        lowering,
        threads: Some(threads),
        checks,
        cpu,
        max_steps: 2_000_000,
        ..Options::default()
    };
    let best = Cpu::detect();
    let mut ways = vec![
        (
            String::from("stepping"),
            with(Lowering::Stepping, 1, CheckSet::ALL, Cpu::SCALAR),
        ),
        (String::from("fast"), with(Lowering::Fast, 1, CheckSet::ALL, best)),
        (
            String::from("fast, 3 threads"),
            with(Lowering::Fast, 3, CheckSet::ALL, best),
        ),
        (
            String::from("fast, 2 threads, without checks"),
            with(Lowering::Fast, 2, CheckSet::NONE, best),
        ),
        (
            String::from("stepping, without checks"),
            with(Lowering::Stepping, 1, CheckSet::NONE, best),
        ),
    ];
    for level in CpuLevel::ALL {
        if let Some(cpu) = Cpu::at(level) {
            ways.push((
                format!("fast, {level}, without checks"),
                with(Lowering::Fast, 1, CheckSet::NONE, cpu),
            ));
        }
    }
    ways
}

/// Runs `f`; a panic is a disagreement too.
fn guarded<T>(
    path: &str,
    f: impl FnOnce() -> Result<T, Box<Error>>,
) -> Result<Result<T, Box<Error>>, Disagreement> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        differ(path, format!("panics: {}", message.unwrap_or_default()))
    })
}

/// The texts of a kernel: as it is printed, and its launch.
pub fn texts(module: &Module, spec: &Spec) -> (String, String) {
    (text::print(module), spec.text("generated.ttir"))
}

/// Prints a kernel, reads it back, and holds both against each other.
pub fn read_back(generated: &Generated) -> Result<Opened, Disagreement> {
    let (kernel, launch) = texts(&generated.module, &generated.spec);
    let opened = guarded("text", || open(&kernel, &launch))?;
    let opened = opened.map_err(|e| differ("text", format!("is not read back: {e}")))?;
    text::same(&generated.module, &opened.module)
        .map_err(|e| differ("text", format!("another module: {e}")))?;
    let again = text::print(&opened.module);
    if again != kernel {
        let lines = kernel.lines().zip(again.lines()).find(|(a, b)| a != b);
        return Err(differ(
            "text",
            format!("prints otherwise after it was read: {lines:?}"),
        ));
    }
    Ok(opened)
}

/// Runs by all ways; gives what the first one left, or why it refuses.
pub fn run_all(opened: &Opened, ways: &[(String, Options)]) -> Result<Result<Left, String>, Disagreement> {
    let mut first: Option<Result<Left, String>> = None;
    for (path, options) in ways {
        let ran = guarded(path, || opened.run(*options))?;
        let ran = match ran {
            Ok((left, fault)) => {
                if let Some(fault) = fault.filter(|_| first.is_none()) {
                    return Err(differ("checks", format!("a fault in a kernel without: {fault}")));
                }
                Ok(left)
            }
            Err(error) if error.kind == ErrorKind::Unsupported => Err(error.message.clone()),
            Err(error) => return Err(differ(path, format!("an error: {error}"))),
        };
        let Some(expected) = &first else {
            first = Some(ran);
            continue;
        };
        match (expected, &ran) {
            (Ok(a), Ok(b)) => {
                if let Some(what) = opened.difference(&a.bytes, &b.bytes) {
                    return Err(differ(path, what));
                }
                if !options.checks.is_empty() && a.findings != b.findings {
                    let (a, b) = (&a.findings, &b.findings);
                    let other = b
                        .iter()
                        .find(|f| !a.contains(f))
                        .or(a.iter().find(|f| !b.contains(f)));
                    return Err(differ(
                        path,
                        format!("other findings: {}", other.map_or("", |f| f)),
                    ));
                }
                if a.prints != b.prints {
                    return Err(differ(path, "other prints"));
                }
            }
            (Err(a), Err(b)) if a == b => {}
            (a, b) => {
                let word = |r: &Result<Left, String>| {
                    r.as_ref()
                        .map_or_else(|e| format!("refuses: {e}"), |_| "runs".into())
                };
                return Err(differ(path, format!("{}, where stepping {}", word(b), word(a))));
            }
        }
    }
    first.ok_or_else(|| differ("stepping", "no way to run"))
}
