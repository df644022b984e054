//! Generated CUDA C++ on the CPU, against the interpreter: every kernel of `kernels/` in every type, and small kernels for
//! single operations.
//!
//! Each is compiled by the C++ compiler (`$CXX`, else `c++`) with `cpu.h`, which runs the threads of a block as fibers. A wrong
//! layout, conversion or mask is seen here, without a GPU. Without a compiler all tests are skipped, by name. A kernel that
//! the backend refuses must stand in [`REFUSED`] with what it is refused for.
#![allow(clippy::print_stderr, reason = "says what is skipped and refused")]

mod case;
mod compile;

use std::path::{Path, PathBuf};

use case::Case;
use libtest_mimic::{Arguments, Failed, Trial};
use tilescope_diagnostics::Check;
use tilescope_gpu_backend::Options;
use tilescope_gpu_backend::checked::CHECKS;

/// Kernels that no code is generated for yet, and a word of the refusal.
const REFUSED: &[(&str, &str)] = &[];

/// Kernels whose programs wait for later ones: those of a block run one after the other here.
const ON_A_DEVICE: &[&str] = &[
    "grid_barrier",
    "oob-atomic/last_flag/fault",
    "oob-atomic/last_flag/twin",
];

fn main() {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut trials = Vec::new();
    let compiler = compile::compiler();
    if compiler.is_none() {
        eprintln!("skipped: no C++ compiler is found (set CXX); generated kernels are not run");
    }
    for (kind, folder) in [
        ("kernels", root.join("../kernels")),
        ("pass", root.join("../tests/pass")),
        ("pass", root.join("tests/data")),
    ] {
        for path in launches(&folder) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .replace(".launch.toml", "");
            if !skipped(&path, &name) && !name.ends_with("16") {
                let (path, folder) = (path.clone(), format!("dumped-{name}"));
                let trial = Trial::test(format!("dumped/{name}"), move || dumped(&path, &folder));
                trials.push(trial.with_ignored_flag(compiler.is_none()));
            }
            if kind == "pass" && !skipped(&path, &name) {
                let (path, name) = (path.clone(), format!("checked-{name}"));
                let trial = Trial::test(format!("checked/{name}"), move || checked(&path, &name));
                trials.push(trial.with_ignored_flag(compiler.is_none()));
            }
            let trial = Trial::test(format!("{kind}/{name}"), {
                let name = name.clone();
                move || run(&path, &name)
            });
            trials.push(trial.with_ignored_flag(compiler.is_none()));
        }
    }
    let fail = root.join("../tests/fail");
    for path in launches(&fail) {
        let name = path
            .strip_prefix(&fail)
            .unwrap_or(&path)
            .to_string_lossy()
            .replace(".launch.toml", "");
        // What the other checks look at is left to the interpreter; kernels that never end never end here.
        let id = name.split('/').next().and_then(Check::from_id);
        if id.is_none_or(|id| !CHECKS.contains(&id)) || ON_A_DEVICE.contains(&name.as_str()) {
            continue;
        }
        let trial = Trial::test(format!("fail/{name}"), move || {
            checked(&path, &format!("fail-{}", name.replace('/', "-")))
        });
        trials.push(trial.with_ignored_flag(compiler.is_none()));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Kernels that have no checked build on the CPU: refused, too large, or with programs that wait for later ones.
fn skipped(path: &Path, name: &str) -> bool {
    let refused = REFUSED.iter().any(|(refused, _)| *refused == name);
    refused || ON_A_DEVICE.contains(&name) || Case::open(path, &[]).is_ok_and(|case| case.is_huge())
}

/// Launch files with a TTIR text beside them, in folders of `folder` or in itself.
fn launches(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut todo = vec![folder.to_path_buf()];
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.to_string_lossy().ends_with(".launch.toml") && case::ttir_of(&path).exists() {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Where a case is compiled.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cpu").join(name)
}

fn run(path: &Path, name: &str) -> Result<(), Failed> {
    let case = Case::open(path, &case::small(path))?;
    if case.is_huge() {
        eprintln!("skipped: {name}: its tensors are too large to be copied");
        return Ok(());
    }
    let generated = match case.generate(Options::default()) {
        Ok(generated) => generated,
        Err(error) => {
            return match REFUSED.iter().find(|(refused, _)| *refused == name) {
                Some((_, why)) if error.contains(why) => {
                    eprintln!("refused: {name}: {error}");
                    Ok(())
                }
                _ => Err(format!("not generated: {error}").into()),
            };
        }
    };
    if REFUSED.iter().any(|(refused, _)| *refused == name) {
        return Err("is generated now: take it off the list".into());
    }
    if ON_A_DEVICE.contains(&name) {
        eprintln!("skipped: {name}: its programs must run at once");
        return Ok(());
    }
    let (expected, _, printed) = case.look()?;
    let program = compile::compile(&folder(name), name, &case, &generated)?;
    let actual = compile::execute(&program, &case, &generated)?;
    if case.printed_of(&actual.printed)? != printed {
        return Err("it prints something else".into());
    }
    case.compare(&expected, &actual.memory)
}

/// A build that dumps every operation of its last program: the same memory, and lines of whole tiles.
fn dumped(path: &Path, name: &str) -> Result<(), Failed> {
    let case = Case::open(path, &case::small(path))?;
    let generated = case.generate_dumping(Options::default())?;
    let expected = case.interpret()?;
    let program = compile::compile(&folder(name), name, &case, &generated)?;
    let actual = compile::execute(&program, &case, &generated)?;
    let (lines, is_cut) = case.dumped(&actual.dump, &generated);
    let runs = case.launch().grid.iter().all(|&size| size > 0);
    if runs && lines.is_empty() && !is_cut {
        return Err("nothing is dumped".into());
    }
    case.compare(&expected, &actual.memory)
}

/// A kernel with a fault, or its twin, in a checked build: the same findings as the interpreter's, word for word, and the same memory.
fn checked(path: &Path, name: &str) -> Result<(), Failed> {
    let case = Case::open(path, &case::small(path))?;
    let options = Options {
        checked: true,
        ..Options::default()
    };
    let generated = case.generate(options)?;
    let (memory, mut expected) = case.check()?;
    // What a lane without a value is, is for nobody to say.
    let undefined = expected.iter().any(case::leaves_undefined);
    expected.retain(|finding| CHECKS.contains(&finding.check));
    let program = compile::compile(&folder(name), name, &case, &generated)?;
    let actual = compile::execute(&program, &case, &generated)?;
    let found = case.findings_of(&actual.faults)?;
    if found != expected {
        return Err(format!("found {found:#?}\nexpected {expected:#?}").into());
    }
    match undefined {
        true => Ok(()),
        false => case.compare(&memory, &actual.memory),
    }
}
