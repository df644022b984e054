//! Kernels of Python source are what Triton makes of them: every example and case runs from its source and from the
//! TTIR that Triton 3.9 compiled, with the same report: findings with their places, values and counts, digests of the
//! outputs, prints. And what `init` guesses of a kernel runs as it is.

use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use tilescope_kernels::{Example, KERNELS};

use crate::{data, folders, name, said, scratch, tilescope};

/// Launches whose TTIR is not what Triton would compile for them.
const MADE_BY_HAND: [&str; 2] = [
    // Compiled under a promise that the launch breaks: from source, the promise is not made.
    "fail/hint-violated/stale_specialization/fault",
    // `none` for a pointer that the kernel uses: from source, it does not compile.
    "fail/wild-pointer/missing_bias/fault",
];

/// A launch in two forms.
struct Case {
    test: String,
    folder: PathBuf,
    /// The launch file is `STEM.launch.toml`, the TTIR `STEM.ttir`.
    stem: String,
    /// `FILE.py::KERNEL`.
    kernel: String,
}

pub fn trials() -> Vec<Trial> {
    let mut cases = Vec::new();
    for folder in folders(&data().join("pass")) {
        let stem = name(&folder);
        cases.extend(case("pass", &folder, &stem));
    }
    for id in folders(&data().join("fail")) {
        for folder in folders(&id) {
            for stem in ["fault", "twin"] {
                cases.extend(case(
                    &format!("fail/{}/{}", name(&id), name(&folder)),
                    &folder,
                    stem,
                ));
            }
        }
    }
    for example in KERNELS {
        let source = example.source.name;
        let folder = data().join("../kernels").join(source.trim_end_matches(".py"));
        cases.push(Case {
            test: format!("examples/{}", example.name),
            kernel: format!("{source}::{}_kernel", source.trim_end_matches(".py")),
            folder,
            stem: example.name.to_string(),
        });
    }
    let mut trials: Vec<Trial> = KERNELS
        .iter()
        .filter(|example| !example.name.contains('-'))
        .map(|example| Trial::test(format!("python/init/{}", example.name), move || init(example)))
        .collect();
    for path in python_files(&data().join("init")) {
        let test = format!("python/init/{}", name(&path));
        trials.push(Trial::test(test, move || guessed(&path)));
    }
    let cases = cases
        .into_iter()
        .filter(|case| !MADE_BY_HAND.contains(&case.test.as_str()));
    trials.extend(cases.map(|case| Trial::test(format!("python/{}", case.test), move || same(&case))));
    trials
}

/// What `init` guesses for the kernel of an example is a launch in which nothing is wrong.
fn init(example: &Example) -> Result<(), Failed> {
    let folder = scratch(&format!("init-{}", example.name));
    std::fs::write(folder.join(example.source.name), example.source.text)?;
    let written = tilescope(&folder).args(["init", example.source.name]).output()?;
    let launch = format!("{}_kernel.launch.toml", example.name);
    let output = tilescope(&folder).args(["check", &launch]).output()?;
    if !written.status.success() || !output.status.success() || !output.stderr.is_empty() {
        return Err(format!("{}\n{}", said(&written), said(&output)).into());
    }
    Ok(())
}

fn python_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = paths
        .filter(|path| path.extension().is_some_and(|e| e == "py"))
        .collect();
    files.sort();
    files
}

/// What `init` guesses for the one kernel of a file of `tests/init` is a launch in which nothing is wrong.
fn guessed(path: &Path) -> Result<(), Failed> {
    let folder = scratch(&format!("init-{}", name(path)));
    std::fs::copy(path, folder.join("k.py"))?;
    let written = tilescope(&folder)
        .args(["init", "k.py", "-o", "k.launch.toml"])
        .output()?;
    let output = tilescope(&folder).args(["check", "k.launch.toml"]).output()?;
    let is_ok = String::from_utf8_lossy(&output.stdout).starts_with("k.launch.toml: ok (");
    if !written.status.success() || !is_ok || !output.stderr.is_empty() {
        let guess = std::fs::read_to_string(folder.join("k.launch.toml")).unwrap_or_default();
        return Err(format!("{}\n{guess}\n{}", said(&written), said(&output)).into());
    }
    Ok(())
}

/// A folder of `tests/pass` or `tests/fail`: the one Python file holds the function STEM or STEM_kernel.
fn case(test: &str, folder: &Path, stem: &str) -> Option<Case> {
    let file = format!("{}.py", name(folder));
    let text = std::fs::read_to_string(folder.join(&file)).ok()?;
    let kernel = [format!("{stem}_kernel"), stem.to_string()]
        .into_iter()
        .find(|kernel| text.contains(&format!("def {kernel}(")))?;
    Some(Case {
        test: format!("{test}/{stem}"),
        folder: folder.to_path_buf(),
        stem: stem.to_string(),
        kernel: format!("{file}::{kernel}"),
    })
}

fn same(case: &Case) -> Result<(), Failed> {
    let folder = scratch(&format!("python-{}", case.test.replace('/', "-")));
    for entry in std::fs::read_dir(&case.folder)? {
        let path = entry?.path();
        std::fs::copy(&path, folder.join(name(&path)))?;
    }
    let launch = std::fs::read_to_string(case.folder.join(format!("{}.launch.toml", case.stem)))?;
    let from_source = report(&folder, &launch, &case.kernel)?;
    let from_ttir = report(&folder, &launch, &format!("{}.ttir", case.stem))?;
    if from_source != from_ttir {
        return Err(
            format!("from Python source:\n{from_source:#}\nfrom Triton's TTIR:\n{from_ttir:#}").into(),
        );
    }
    Ok(())
}

/// The report on a launch of this kernel, without what the two forms must differ in.
fn report(folder: &Path, launch: &str, kernel: &str) -> Result<Value, Failed> {
    let other = |line: &str| match line.starts_with("kernel ") {
        true => format!("kernel = \"{kernel}\"\n"),
        false => format!("{line}\n"),
    };
    std::fs::write(
        folder.join("a.launch.toml"),
        launch.lines().map(other).collect::<String>(),
    )?;
    let output = tilescope(folder)
        .args([
            "check",
            "a.launch.toml",
            "--format",
            "json",
            "--hash",
            "--max-steps",
            "100000",
        ])
        .output()?;
    let mut report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("no JSON: {error}\n{}", said(&output)))?;
    let launch = report
        .pointer_mut("/launches/0")
        .and_then(Value::as_object_mut)
        .ok_or_else(|| format!("no launch in the report\n{}", said(&output)))?;
    for key in ["elapsed_s", "notes"] {
        launch.remove(key);
    }
    let mut races = false;
    for finding in launch
        .get_mut("findings")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let id = finding.get("id").and_then(Value::as_str);
        races |= id.is_some_and(|id| id.starts_with("race-"));
        // The line of the TTIR, which only one of them has, and steps between the author's values, which Triton's own
        // passes may have taken away.
        if let Some(finding) = finding.as_object_mut() {
            finding.remove("ttir");
            finding.remove("chain");
        }
    }
    if races {
        // What is left depends on which program was last.
        launch.remove("outputs");
    }
    Ok(report)
}
