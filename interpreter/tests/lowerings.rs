//! The fast lowering and the one for stepping give the same bits, findings and prints: on every launch of the
//! repository, faulty ones included.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use tilescope_diagnostics::{CheckSet, Error, Result, Source};
use tilescope_interpreter::{Control, Lowering, Options, Prepared};
use tilescope_ir::VerifiedModule;
use tilescope_launch::{Bound, Files, LaunchFile, Memory, Overrides, Signature};

/// Allocations that are compared byte by byte; larger ones are mapped and mostly untouched.
const MAX_COMPARED: usize = 1 << 26;

/// Files beside the launch file.
struct Beside(PathBuf);

impl Files for Beside {
    fn read(&self, path: &str, _: u64) -> Result<Vec<u8>> {
        std::fs::read(self.0.join(path)).map_err(|error| Error::input(format!("{path}: {error}")))
    }
}

/// A launch file and its kernels.
struct Opened {
    files: Beside,
    kernels: Vec<VerifiedModule>,
    file: LaunchFile,
    bound: Bound,
}

/// What is compared.
#[derive(PartialEq)]
struct Left {
    bytes: Vec<Vec<u8>>,
    said: Vec<String>,
}

fn launch_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("a folder of the repository");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            launch_files(&path, found);
        } else if path.to_string_lossy().ends_with(".launch.toml") {
            found.push(path);
        }
    }
}

fn stem(path: &Path) -> String {
    let name = path.file_name().expect("a file").to_string_lossy();
    name.trim_end_matches(".launch.toml").to_string()
}

fn open(path: &Path) -> Opened {
    let text = std::fs::read_to_string(path).expect("a launch file");
    let file = LaunchFile::parse(Source::new(path.to_string_lossy().as_ref(), text)).expect("parsed");
    let folder = path.parent().expect("a folder").to_path_buf();
    let mut kernels = Vec::new();
    let mut signatures = Vec::new();
    for (index, spec) in file.launches().iter().enumerate() {
        // Of Python source, what Triton made of it lies beside.
        let name = match spec.kernel.path.ends_with(".py") {
            true => format!("{}.ttir", stem(path)),
            false => spec.kernel.path.clone(),
        };
        let text = std::fs::read_to_string(folder.join(&name)).expect("a kernel");
        let module = tilescope_ir::text::parse(&Source::new(name.as_str(), text)).expect("TTIR");
        let module = VerifiedModule::new(module).expect("verified");
        let function = file.find_kernel(index, &module).expect("a kernel of this name");
        signatures.push(Signature::of(&module, function));
        kernels.push(module);
    }
    let evaluated = file.evaluate(&Overrides::default()).expect("evaluated");
    let bound = evaluated.bind(&signatures).expect("bound");
    Opened {
        files: Beside(folder),
        kernels,
        file,
        bound,
    }
}

fn run(opened: &Opened, lowering: Lowering) -> Left {
    run_with(
        opened,
        Options {
            lowering,
            threads: Some(if lowering == Lowering::Fast { 3 } else { 1 }),
            ..Options::default()
        },
    )
}

fn run_with(opened: &Opened, options: Options) -> Left {
    let mut memory = opened.bound.allocate(&opened.files, u64::MAX).expect("allocated");
    let mut said = Vec::new();
    for (index, module) in opened.kernels.iter().enumerate() {
        let function = opened.file.find_kernel(index, module).expect("found before");
        let options = Options {
            // Each lowering counts its own instructions: none of the kernels ends near this.
            max_steps: 200_000,
            ..options
        };
        let prepared = Prepared::new(module, function, &opened.bound.launches[index], options);
        let cancel = AtomicBool::new(false);
        let control = Control {
            cancel: &cancel,
            progress: &|_| {},
        };
        let outcome = prepared
            .and_then(|prepared| prepared.run(&mut memory, &control))
            .expect("run");
        said.extend(outcome.findings.iter().map(|finding| format!("{finding:?}")));
        said.extend(outcome.prints.iter().map(|print| format!("{print:?}")));
        said.push(format!("{} programs", outcome.programs));
    }
    Left {
        bytes: bytes(&memory),
        said,
    }
}

fn bytes(memory: &Memory) -> Vec<Vec<u8>> {
    let small = memory
        .allocations
        .iter()
        .filter(|a| a.bytes.len() <= MAX_COMPARED);
    small.map(|allocation| allocation.bytes.to_vec()).collect()
}

#[test]
fn both_lowerings_leave_the_same() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    for folder in ["kernels", "tests/pass", "tests/fail"] {
        launch_files(&root.join(folder), &mut paths);
    }
    assert!(paths.len() > 100, "launch files were found");
    for path in paths {
        let opened = open(&path);
        let fast = run(&opened, Lowering::Fast);
        let stepping = run(&opened, Lowering::Stepping);
        assert_eq!(fast.said, stepping.said, "{}", path.display());
        // What racing programs leave depends on which of them was last.
        let races = fast.said.iter().any(|said| said.contains("check: Race"));
        assert!(races || fast == stepping, "{}: outputs differ", path.display());
    }
}

/// A run with checks computes what one without does, faults or not: nothing is made up for lanes that have no right value.
#[test]
fn checks_change_no_bit() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut paths = Vec::new();
    for folder in ["tests/pass", "tests/fail"] {
        launch_files(&root.join(folder), &mut paths);
    }
    for path in paths {
        let opened = open(&path);
        let on_one_thread = |checks| Options {
            checks,
            threads: Some(1),
            ..Options::default()
        };
        let checked = run_with(&opened, on_one_thread(CheckSet::ALL));
        let plain = run_with(&opened, on_one_thread(CheckSet::NONE));
        assert_eq!(checked.bytes, plain.bytes, "{}", path.display());
    }
}
