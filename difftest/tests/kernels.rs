//! The twins of all example kernels: the kernel's own values are those of a plain run, and lie within the bounds.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use tilescope_diagnostics::{CheckSet, Source};
use tilescope_difftest::twin::{Bounded, Twin};
use tilescope_interpreter::{Control, Options, Prepared};
use tilescope_ir::{FuncId, VerifiedModule};
use tilescope_kernels::REFERENCES;
use tilescope_launch::expr::Value;
use tilescope_launch::{Bound, Launch, LaunchFile, Memory, NoFiles, Overrides, Role, Signature};
use tilescope_oracle::{Numbers, expectations};

struct Case {
    file: LaunchFile,
    module: VerifiedModule,
    kernel: FuncId,
    bound: Bound,
}

/// A launch file with the kernel's TTIR beside it, its variables at most `most`.
fn case(launch: &Path, most: i64, seed: u64) -> Case {
    let read = |path: &Path| {
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Source::new(path.display().to_string(), text)
    };
    let file = LaunchFile::parse(read(launch)).unwrap();
    let ttir = launch.to_str().unwrap().replace(".launch.toml", ".ttir");
    let module = VerifiedModule::new(tilescope_ir::text::parse(&read(Path::new(&ttir))).unwrap()).unwrap();
    let (kernel, _) = module.kernels().next().unwrap();
    let mut overrides = Overrides {
        seed: Some(seed),
        ..Overrides::default()
    };
    for var in file.vars() {
        if let Some((low, high)) = var.range {
            overrides
                .vars
                .push((var.name.clone(), Value::Int(most.clamp(low, high).into())));
        }
    }
    let bound = file.bind(&[Signature::of(&module, kernel)], &overrides).unwrap();
    Case {
        file: file.clone(),
        module,
        kernel,
        bound,
    }
}

fn run(module: &VerifiedModule, kernel: FuncId, launch: &Launch, memory: &mut Memory) {
    let control = Control {
        cancel: &AtomicBool::new(false),
        progress: &|_| (),
    };
    let options = Options {
        checks: CheckSet::NONE,
        ..Options::default()
    };
    Prepared::new(module, kernel, launch, options)
        .unwrap_or_else(|e| panic!("{e}"))
        .run(memory, &control)
        .unwrap();
}

/// The outputs of a launch's twin, whose own values are those of a plain run.
fn bounded(case: &Case) -> (Vec<Bounded>, Vec<String>) {
    let launch = &case.bound.launches[0];
    let before = case.bound.allocate(&NoFiles, u64::MAX).unwrap();
    let twin = Twin::of(&case.module, case.kernel).unwrap_or_else(|e| panic!("{e}"));
    let mut prepared = twin.prepare(launch, &before).unwrap();
    run(
        twin.module(),
        twin.kernel(),
        &prepared.launch,
        &mut prepared.memory,
    );

    let mut plain = before;
    run(&case.module, case.kernel, launch, &mut plain);
    for tensor in launch.tensors.iter().filter(|t| t.role != Role::In) {
        let same = plain.gather(tensor, 0, u64::MAX) == prepared.memory.gather(tensor, 0, u64::MAX);
        assert!(same, "{}: another result beside its twin", tensor.name);
    }
    (prepared.outputs(), twin.notes().to_vec())
}

/// Elements outside of their bound, elements without one, and the largest share of its bound that one takes.
fn judge(output: &Bounded) -> (usize, usize, f64) {
    let (mut outside, mut unknown, mut largest) = (0, 0, 0f64);
    for ((got, wide), error) in output.got.iter().zip(&output.wide).zip(&output.error) {
        if !error.is_finite() {
            unknown += 1;
        } else if got.is_nan() != wide.is_nan() || (got - wide).abs() > *error {
            outside += 1;
        } else if *error > 0.0 && !got.is_nan() && got != wide {
            largest = largest.max((got - wide).abs() / error);
        }
    }
    (outside, unknown, largest)
}

fn launches() -> Vec<std::path::PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kernels");
    let mut found = Vec::new();
    for folder in std::fs::read_dir(root)
        .unwrap()
        .flatten()
        .filter(|f| f.path().is_dir())
    {
        let files = std::fs::read_dir(folder.path())
            .unwrap()
            .flatten()
            .map(|f| f.path());
        found.extend(files.filter(|f| f.to_str().unwrap().ends_with(".launch.toml")));
    }
    found.sort();
    found
}

#[test]
fn every_kernel_stays_within_its_bounds() {
    let mut table = String::new();
    let mut wrong = Vec::new();
    for launch in launches() {
        let name = launch.file_name().unwrap().to_str().unwrap();
        for (most, seed) in [(1, 1), (37, 2), (130, 3)] {
            let case = case(&launch, most, seed);
            let (outputs, notes) = bounded(&case);
            for output in &outputs {
                let (outside, unknown, largest) = judge(output);
                let count = output.got.len();
                let tensor = &output.tensor.name;
                let _ = writeln!(
                    table,
                    "{name:34} {most:4} {tensor:12} {count:7} outside {outside:4} unknown {unknown:4} of bound {largest:.3} {notes:?}"
                );
                // What a bound says nothing of is not tested: these kernels decide nothing by floats.
                if outside > 0 || unknown > 0 {
                    wrong.push(format!(
                        "{name} at {most}: {outside} of {count} of {tensor} outside, {unknown} unknown"
                    ));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "{table}");
}

/// The references are written in float64 by hand: an oracle for what the twin computes without rounding.
#[test]
fn twins_are_the_references_without_rounding() {
    let mut judged = 0;
    for launch in launches() {
        // The reference of this one cuts its inputs to TF32, which is a rounding to the twin.
        if launch.to_string_lossy().contains("tf32") {
            continue;
        }
        let case = case(&launch, 70, 4);
        let before = case.bound.allocate(&NoFiles, u64::MAX).unwrap();
        let expected = expectations(&case.file, &case.bound, &before, &NoFiles, REFERENCES).unwrap();
        let (outputs, _) = bounded(&case);
        for output in &outputs {
            let expected = expected.iter().find(|e| e.tensor.name == output.tensor.name);
            let Some(Numbers::Float(expected)) = expected.map(|e| &e.values) else {
                continue;
            };
            let largest = expected.iter().fold(0f64, |most, x| most.max(x.abs()));
            let far = expected
                .iter()
                .zip(&output.wide)
                .fold(0f64, |most, (e, w)| most.max((e - w).abs()));
            judged += 1;
            assert!(
                far <= 1e-6 * largest,
                "{}: {} is {far:e} from its reference, of {largest:e}",
                launch.display(),
                output.tensor.name
            );
        }
    }
    assert!(judged >= 40, "{judged}");
}

/// What an H200 did that the bounds must allow: it takes subnormal operands of roots, floor, ceil and atomic sums for zero, and
/// picks among NaN in an order of its own.
#[test]
fn bounds_allow_what_the_card_does() {
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/generated/kept");
    let outputs = |name: &str| bounded(&case(&kept.join(format!("{name}.launch.toml")), 1, 0)).0;
    let allows = |output: &Bounded, i: usize, card: f64| {
        let error = output.error[i];
        !error.is_finite() || (output.wide[i] - card).abs() <= error
    };
    let small = |x: f64| x != 0.0 && x.abs() < f64::from(f32::MIN_POSITIVE);
    let roots = outputs("root_of_subnormal");
    for (output, card) in roots.iter().zip([f64::INFINITY, 0.0, 0.0, 0.0]) {
        assert!((0..64).all(|i| allows(output, i, card)), "{}", output.tensor.name);
    }
    for output in &outputs("atomic_sum_of_subnormals") {
        assert!(output.wide.iter().any(|&x| small(x)), "sums are subnormal");
        assert!((0..64).all(|i| !small(output.wide[i]) || allows(output, i, 0.0)));
    }
    for output in &outputs("pick_among_nan") {
        let unknown = output.error.iter().filter(|error| !error.is_finite()).count();
        assert!(
            (1..64).contains(&unknown),
            "{}: {unknown} from the NaN on",
            output.tensor.name
        );
    }
}
