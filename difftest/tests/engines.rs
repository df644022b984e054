//! Other engines than the interpreter, made up: one that is right is not heard of, a planted fault is found and made small.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{Check, Error, Finding, Result, Severity, Source};
use tilescope_difftest::case::{Case, Space};
use tilescope_difftest::judge::{Bench, Judged, Paths, Subject};
use tilescope_difftest::{Ended, Engine, Failure, Found, Judge, Relation, Verdict, search};
use tilescope_interpreter::{Control, Options, Prepared};
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_kernels::REFERENCES;
use tilescope_launch::{LaunchFile, Memory, NoFiles, Role, Signature};

static CANCEL: AtomicBool = AtomicBool::new(false);

/// The interpreter under another name, with a fault.
struct Fake<F> {
    fault: F,
    runs: Cell<u32>,
}

impl<F: Fn(&Subject, Option<u32>, &mut Memory) -> Option<Ended>> Engine for Fake<F> {
    fn name(&self) -> &str {
        "fake"
    }

    fn warps(&self) -> &[u32] {
        &[1, 2, 4, 8]
    }

    fn run(&self, subject: &Subject, warps: Option<u32>, memory: &mut Memory) -> Result<Ended> {
        self.runs.set(self.runs.get() + 1);
        let control = Control {
            cancel: &CANCEL,
            progress: &|_| (),
        };
        for ((module, kernel), launch) in subject.kernels.iter().zip(&subject.bound.launches) {
            Prepared::new(module, *kernel, launch, Options::default())?.run(memory, &control)?;
        }
        Ok((self.fault)(subject, warps, memory).unwrap_or(Ended::Ran(Vec::new())))
    }
}

fn fake<F: Fn(&Subject, Option<u32>, &mut Memory) -> Option<Ended>>(fault: F) -> Fake<F> {
    Fake {
        fault,
        runs: Cell::new(0),
    }
}

/// The elements of the first output.
fn count(subject: &Subject) -> i64 {
    let mut tensors = subject.bound.tensors().iter();
    let output = tensors.find(|t| t.role != Role::In);
    output.map_or(0, |t| t.shape.iter().product())
}

/// Another last element of the first output: a number of another sign and size.
fn spoil(subject: &Subject, memory: &mut Memory) {
    let mut tensors = subject.bound.tensors().iter();
    let tensor = tensors.find(|t| t.role != Role::In).unwrap();
    let at = (tensor.offset + count(subject) - 1) as usize * 4;
    let bytes = &mut memory.allocations[tensor.allocation.0 as usize].bytes[at..at + 4];
    let old = f32::from_le_bytes(bytes.try_into().unwrap());
    let new = if old.is_finite() { 1.0 - old } else { 0.25 };
    bytes.copy_from_slice(&new.to_le_bytes());
}

/// Cases of vector_add on a bench with one engine.
struct Judging<'a> {
    file: Arc<LaunchFile>,
    module: Arc<VerifiedModule>,
    kernel: FuncId,
    space: Space,
    bench: Bench<'a>,
    notes: Vec<String>,
    lost: bool,
}

impl<'a> Judging<'a> {
    fn new(engines: &'a [&'a dyn Engine], paths: Paths) -> Judging<'a> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels/vector_add");
        let read = |name: &str| Source::new(name, std::fs::read_to_string(folder.join(name)).unwrap());
        let module = tilescope_ir::text::parse(&read("vector_add.ttir")).unwrap();
        let module = VerifiedModule::new(module).unwrap();
        let (kernel, _) = module.kernels().next().unwrap();
        let file = LaunchFile::parse(read("vector_add.launch.toml")).unwrap();
        let space = Space::of(&file, &[], &[64]).unwrap();
        Judging {
            file: Arc::new(file),
            module: Arc::new(module),
            kernel,
            space,
            bench: Bench {
                sift: &|_, _| (),
                files: &NoFiles,
                references: REFERENCES,
                paths,
                engines,
                options: Options::default(),
                rtol: 0.0,
                atol: 0.0,
                limit: 1 << 28,
                cancel: &CANCEL,
            },
            notes: Vec::new(),
            lost: false,
        }
    }

    fn judged(&self, case: &Case) -> Result<Judged> {
        let overrides = self.space.overrides(case);
        let bound = self
            .file
            .bind(&[Signature::of(&self.module, self.kernel)], &overrides)?;
        let subject = Subject {
            file: self.file.clone(),
            bound,
            kernels: vec![(self.module.clone(), self.kernel)],
        };
        self.bench.judge(&subject, None, case.seed.into())
    }

    fn found(mut self, cases: u32, seed: u64) -> (Option<Found<Failure>>, Judging<'a>) {
        let space = self.space.clone();
        let outcome = search(&space, cases, seed, &[], &mut self).unwrap();
        (outcome.found, self)
    }
}

impl Judge for Judging<'_> {
    type Failure = Failure;

    fn fit(&self, case: Case) -> Case {
        // The text promises aligned pointers.
        let case = Case {
            slack: (0, 0),
            ..case
        };
        let size = |case: &Case| {
            let evaluated = self.file.evaluate(&self.space.overrides(case));
            evaluated.ok().map(|e| e.elements())
        };
        self.space.fitted(case, 3000, size)
    }

    fn judge(&mut self, case: &Case) -> Result<Verdict<Failure>> {
        let judged = self.judged(case)?;
        self.notes.extend(judged.notes.iter().cloned());
        self.lost |= judged.lost;
        Ok(judged.verdict())
    }

    fn same(&self, a: &Failure, b: &Failure) -> bool {
        a.is_like(b)
    }

    fn go_on(&mut self, _: u32) -> bool {
        !self.lost
    }
}

fn size(found: &Found<Failure>) -> i64 {
    found.smallest.vars[0]
}

#[test]
fn a_right_engine_is_not_heard_of() {
    let engine = fake(|_, _, _| None);
    let engines: [&dyn Engine; 1] = [&engine];
    let (found, judging) = Judging::new(&engines, Paths::NONE).found(40, 1);
    assert_eq!((found, judging.notes), (None, Vec::new()));
    assert_eq!(engine.runs.get(), 80, "each case with two numbers of warps");
}

#[test]
fn a_wrong_element_is_found_and_made_small() {
    let engine = fake(|subject, _, memory| {
        if count(subject) > 64 {
            spoil(subject, memory);
        }
        None
    });
    let engines: [&dyn Engine; 1] = [&engine];
    let (found, _) = Judging::new(&engines, Paths::NONE).found(40, 2);
    let found = found.unwrap();
    assert_eq!(size(&found), 65);
    assert_eq!(found.failure.relation, Relation::Engine);
    let finding = &found.failure.findings[0];
    assert_eq!(finding.check, Check::OutputMismatch);
    assert!(
        finding
            .message
            .contains("on fake is farther from the float64 twin"),
        "{}",
        finding.message
    );
    assert_eq!(finding.element, Some(vec![64]));
    assert!(found.failure.difference.is_some_and(|d| d.map.contains('#')));
}

#[test]
fn a_number_of_warps_that_matters_is_told_as_that() {
    let engine = fake(|subject, warps, memory| {
        if warps == Some(8) {
            spoil(subject, memory);
        }
        None
    });
    let engines: [&dyn Engine; 1] = [&engine];
    let (found, _) = Judging::new(&engines, Paths::NONE).found(40, 3);
    let found = found.unwrap();
    assert_eq!((size(&found), found.failure.relation), (1, Relation::Warps));
    let message = &found.failure.findings[0].message;
    assert!(message.ends_with("fake with 8 warps"), "{message}");
}

#[test]
fn findings_of_an_engine_count() {
    let engine = fake(|subject, _, _| {
        let mut finding = Finding::new(Check::OobLoad, "k", "reads past the end");
        finding.severity = Severity::Error;
        (count(subject) % 2 == 1).then(|| Ended::Ran(vec![vec![finding]]))
    });
    let engines: [&dyn Engine; 1] = [&engine];
    let (found, _) = Judging::new(&engines, Paths::NONE).found(40, 4);
    let found = found.unwrap();
    assert_eq!(size(&found), 1);
    assert_eq!(found.failure.findings[0].message, "on fake: reads past the end");
}

#[test]
fn a_lost_engine_ends_the_search() {
    let engine = fake(|_, _, _| Some(Ended::Lost(String::from("the kernel does not end"))));
    let engines: [&dyn Engine; 1] = [&engine];
    let (found, judging) = Judging::new(&engines, Paths::NONE).found(40, 5);
    let found = found.unwrap();
    assert_eq!((found.shrinking, engine.runs.get(), judging.lost), (0, 1, true));
    assert_eq!(
        found.failure.findings[0].message,
        "on fake the kernel does not end"
    );
}

#[test]
fn what_an_engine_refuses_is_said() {
    let engine = fake(|_, warps, _| {
        let refuses = warps.is_some_and(|warps| warps > 4);
        refuses.then(|| Ended::Refused(Error::unsupported("too many warps")))
    });
    let engines: [&dyn Engine; 1] = [&engine];
    let (found, judging) = Judging::new(&engines, Paths::NONE).found(40, 6);
    assert_eq!(found, None);
    assert!(!judging.notes.is_empty());
    assert!(
        judging
            .notes
            .iter()
            .all(|n| n == "not run on fake with 8 warps: too many warps"),
        "{:?}",
        judging.notes
    );
}

/// Cases that differ in their sizes share the code of a GPU: of 40, a checked build and one for each number of warps.
#[test]
fn cases_share_their_code() {
    let sources = RefCell::new(HashSet::new());
    let engine = fake(|subject, warps, _| {
        let (module, kernel) = &subject.kernels[0];
        let options = tilescope_gpu_backend::Options {
            specialize: false,
            warps,
            checked: warps.is_none(),
        };
        let launch = &subject.bound.launches[0];
        let generated = tilescope_gpu_backend::generate(module, *kernel, launch, options, &|_, _| None);
        sources.borrow_mut().insert(generated.unwrap().source);
        None
    });
    let engines: [&dyn Engine; 1] = [&engine];
    let (found, _) = Judging::new(&engines, Paths::NONE).found(40, 7);
    assert_eq!((found, engine.runs.get()), (None, 80));
    assert!(sources.borrow().len() <= 10, "{} kernels", sources.borrow().len());
}
