//! Rules that no other tool checks: arrows between crates, who may print, where `unsafe` may stand,
//! names and lengths of files.
//!
//! Works on text, line by line: good enough for rules whose breach is an accident, and it needs no parser.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What each crate may depend on; the picture in ARCHITECTURE.md says the same. Dev-dependencies are free.
const ARROWS: &[(&str, &[&str])] = &[
    ("diagnostics", &[]),
    ("ir", &["diagnostics"]),
    ("launch", &["diagnostics", "ir"]),
    ("frontend", &["diagnostics", "ir"]),
    ("interpreter", &["diagnostics", "ir", "launch"]),
    ("debugger", &["diagnostics", "ir", "launch", "interpreter"]),
    ("tui", &["diagnostics", "debugger"]),
    ("gpu-backend", &["diagnostics", "ir", "launch"]),
    ("oracle", &["diagnostics", "ir", "launch"]),
    (
        "difftest",
        &["diagnostics", "ir", "launch", "interpreter", "oracle"],
    ),
    ("tilescope", &["diagnostics", "ir", "launch", "interpreter"]),
    ("kernels", &["diagnostics", "launch", "oracle"]),
    (
        "cli",
        &[
            "diagnostics",
            "ir",
            "launch",
            "frontend",
            "interpreter",
            "debugger",
            "tui",
            "gpu-backend",
            "oracle",
            "difftest",
            "kernels",
        ],
    ),
    ("xtask", &["diagnostics", "ir", "frontend"]),
];

/// Crates that may print, end the process, and read the clock and the environment.
const MAY_PRINT: &[&str] = &["cli", "xtask"];

/// Crates that may read files besides: the Rust API shows the author's own lines, the GPU backend keeps compiled kernels.
const MAY_READ: &[&str] = &["tilescope", "gpu-backend"];

/// Where `unsafe` may stand.
const MAY_BE_UNSAFE: &[&str] = &[
    "interpreter/src/simd/",
    "interpreter/src/tensor_memory.rs",
    "gpu-backend/src/device.rs",
    "gpu-backend/src/nvrtc.rs",
];

/// The one place that knows the parser of Python, whose interface changes with every release.
const KNOWS_RUFF: &str = "frontend/src/parse";

const MAX_LINES: usize = 800;

/// Tables, whose length is their content.
const MAY_BE_LONG: &[&str] = &["ir/src/ops.rs", "frontend/src/language/libdevice_table.rs"];

const BAD_NAMES: &[&str] = &["utils", "util", "common", "helpers", "helper", "shared", "misc"];

const SKIPPED: &[&str] = &["target", ".git"];

/// One broken rule, as `file:line: what`.
type Broken = Vec<String>;

/// Checks every file below `root`; gives the broken rules, sorted by file.
pub fn check(root: &Path) -> Result<Broken> {
    let mut broken = Vec::new();
    arrows(root, &mut broken)?;
    let mut files = Vec::new();
    walk(root, root, &mut files)?;
    files.sort();
    for name in &files {
        file_name(name, &mut broken);
        let Ok(text) = std::fs::read_to_string(root.join(name)) else {
            continue; // Not text: data of a test.
        };
        paths_of_one_machine(name, &text, &mut broken);
        if name.ends_with(".rs") {
            rust(name, &text, &mut broken);
        }
        if name.ends_with(".md") {
            links(root, name, &text, &mut broken);
        }
    }
    for (page, text, task) in [
        (super::ops::PAGE, super::ops::page(), "ops"),
        (super::language::PAGE, super::language::page(), "language"),
    ] {
        if std::fs::read_to_string(root.join(page)).ok() != Some(text) {
            broken.push(format!("{page}: out of date; run cargo xtask {task}"));
        }
    }
    Ok(broken)
}

/// All files below `folder`, as paths from `root` with forward slashes.
fn walk(root: &Path, folder: &Path, files: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let path: PathBuf = entry.path();
        let kind = entry.file_type()?;
        if kind.is_dir() && !SKIPPED.iter().any(|s| entry.file_name() == *s) {
            walk(root, &path, files)?;
        } else if kind.is_file() && entry.file_name() != ".git" {
            let name = path.strip_prefix(root).unwrap_or(&path);
            files.push(name.to_string_lossy().replace('\\', "/"));
        }
    }
    Ok(())
}

fn arrows(root: &Path, broken: &mut Broken) -> Result<()> {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let workspace = std::fs::read_to_string(root.join("Cargo.toml")).context("cannot read Cargo.toml")?;
    for folder in members(&workspace) {
        let file = format!("{folder}/Cargo.toml");
        let manifest =
            std::fs::read_to_string(root.join(&file)).with_context(|| format!("cannot read {file}"))?;
        let Some(allowed) = allowed.get(folder.as_str()) else {
            broken.push(format!(
                "{file}: the crate has no row in the table of arrows (xtask/src/tidy.rs)"
            ));
            continue;
        };
        for (line, other) in dependencies(&manifest) {
            if !allowed.contains(&other.as_str()) {
                broken.push(format!("{file}:{line}: {folder} may not depend on {other}"));
            }
        }
    }
    Ok(())
}

/// Folders named in `members = [...]` of the workspace's manifest.
fn members(manifest: &str) -> Vec<String> {
    let list = manifest
        .split_once("\nmembers = [")
        .and_then(|(_, rest)| rest.split_once(']'));
    let list = list.map_or("", |(list, _)| list);
    let names = list
        .split(',')
        .map(|name| name.trim().trim_matches('"').to_string());
    names.filter(|name| !name.is_empty()).collect()
}

/// Line and folder of each of our own crates under `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<(usize, String)> {
    let mut inside = false;
    let mut found = Vec::new();
    for (i, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            inside = line.trim() == "[dependencies]";
        } else if inside && let Some(rest) = line.strip_prefix("tilescope-") {
            let end = rest
                .find(|c: char| !c.is_alphanumeric() && c != '-')
                .unwrap_or(rest.len());
            found.push((i + 1, rest[..end].to_string()));
        }
    }
    found
}

fn file_name(name: &str, broken: &mut Broken) {
    if !name.ends_with(".rs") {
        return;
    }
    for part in name.trim_end_matches(".rs").split('/') {
        if BAD_NAMES.contains(&part) {
            broken.push(format!("{name}: `{part}` says nothing about what is inside"));
        }
    }
}

/// A path that exists on one developer's machine only, in code or in data.
fn paths_of_one_machine(name: &str, text: &str, broken: &mut Broken) {
    for (i, line) in text.lines().enumerate() {
        for folder in ["home", "root", "Users", "work"] {
            for quote in ['"', '\'', ' ', '('] {
                if line.contains(&format!("{quote}/{folder}/")) {
                    broken.push(format!("{name}:{}: a path of one machine", i + 1));
                }
            }
        }
    }
}

/// A relative link to a file that is not there.
fn links(root: &Path, name: &str, text: &str, broken: &mut Broken) {
    let folder = root.join(name);
    let folder = folder.parent().unwrap_or(root);
    for (i, line) in text.lines().enumerate() {
        for rest in line.split("](").skip(1) {
            let target = rest.split([')', '#']).next().unwrap_or_default();
            let elsewhere =
                target.is_empty() || target.contains("://") || target.contains(char::is_whitespace);
            if !elsewhere && !folder.join(target).exists() {
                broken.push(format!(
                    "{name}:{}: a link to {target}, which does not exist",
                    i + 1
                ));
            }
        }
    }
}

fn rust(name: &str, text: &str, broken: &mut Broken) {
    let lines = text.lines().count();
    if lines > MAX_LINES && !MAY_BE_LONG.contains(&name) {
        broken.push(format!("{name}: {lines} lines; split it (at most {MAX_LINES})"));
    }
    if name.ends_with("/tests.rs") {
        return; // The unit tests of a module in a file of their own.
    }
    if !text.starts_with("//!") && !text.starts_with("#!") {
        broken.push(format!("{name}: does not open with `//!`"));
    }
    let folder = name.split('/').next().unwrap_or(name);
    let in_source = name.split('/').nth(1) == Some("src");
    let quiet = in_source && !MAY_PRINT.contains(&folder) && folder != "tests";
    for (i, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("#[cfg(test)]") {
            break; // Unit tests close a file; they may do what tests need.
        }
        let code = line.split("//").next().unwrap_or(line);
        if let Some(what) = side_effect(code).filter(|_| quiet) {
            broken.push(format!("{name}:{}: `{what}` outside cli and xtask", i + 1));
        }
        if let Some(what) = file_access(code).filter(|_| quiet && !MAY_READ.contains(&folder)) {
            broken.push(format!(
                "{name}:{}: `{what}` in a crate that reads no file",
                i + 1
            ));
        }
        let unsafe_here = is_unsafe(code) && !MAY_BE_UNSAFE.iter().any(|place| name.starts_with(place));
        if in_source && !name.starts_with(KNOWS_RUFF) && code.contains(concat!("ruff", "_")) {
            broken.push(format!("{name}:{}: Python's parser outside {KNOWS_RUFF}", i + 1));
        }
        if in_source && unsafe_here {
            broken.push(format!("{name}:{}: unsafe code outside its folders", i + 1));
        }
    }
}

fn side_effect(code: &str) -> Option<&'static str> {
    let words = [
        concat!("print", "ln!("),
        concat!("eprint", "ln!("),
        concat!("print", "!("),
        concat!("process::", "exit"),
        concat!("env::", "var"),
        concat!("Instant::", "now"),
        concat!("System", "Time"),
    ];
    words.into_iter().find(|word| code.contains(word))
}

fn file_access(code: &str) -> Option<&'static str> {
    let words = [concat!("fs::", "read"), concat!("File::", "open")];
    words.into_iter().find(|word| code.contains(word))
}

fn is_unsafe(code: &str) -> bool {
    let word = concat!("uns", "afe");
    ["{", "fn", "impl", "extern"]
        .iter()
        .any(|next| code.contains(&format!("{word} {next}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_is_tidy() {
        let broken = check(&crate::root()).unwrap();
        assert!(broken.is_empty(), "{}", broken.join("\n"));
    }

    fn broken_in(name: &str, text: &str) -> Broken {
        let mut broken = Vec::new();
        file_name(name, &mut broken);
        paths_of_one_machine(name, text, &mut broken);
        rust(name, text, &mut broken);
        broken
    }

    #[test]
    fn each_rule_finds_its_breach() {
        let head = "//! What it is.\n";
        assert_eq!(broken_in("ir/src/a.rs", head), Broken::new());
        for (name, text) in [
            ("ir/src/a.rs", "fn f() {}\n".to_string()),
            ("ir/src/utils.rs", head.to_string()),
            ("ir/src/helpers/a.rs", head.to_string()),
            ("ir/src/a.rs", format!("{head}{}ln!();\n", "print")),
            ("ir/src/a.rs", format!("{head}let t = Instant::{}();\n", "now")),
            ("ir/src/a.rs", format!("{head}uns{} {{ f() }}\n", "afe")),
            (
                "frontend/src/eval/a.rs",
                format!("{head}use ru{}_python_ast::Stmt;\n", "ff"),
            ),
            (
                "frontend/src/a.rs",
                format!("{head}let text = std::f{}::read(path);\n", "s"),
            ),
            (
                "ir/src/a.rs",
                format!("{head}const P: &str = \"/{}/me/x\";\n", "home"),
            ),
            ("ir/src/a.rs", format!("{head}{}", "\n".repeat(MAX_LINES))),
        ] {
            assert_eq!(broken_in(name, &text).len(), 1, "{name}: {text:.60}");
        }
        let test = format!("{head}#[cfg(test)]\nmod t {{ {}ln!(); }}\n", "print");
        assert_eq!(broken_in("ir/src/a.rs", &test), Broken::new());
    }

    #[test]
    fn a_dead_link_is_found() {
        let mut broken = Broken::new();
        let text = "[a](README.md) [b](https://a.b/c) [c](#d) [d](docs/ops.md#x)\n[e](docs/gone.md)";
        links(&crate::root(), "README.md", text, &mut broken);
        assert_eq!(
            broken,
            ["README.md:2: a link to docs/gone.md, which does not exist"]
        );
    }

    #[test]
    fn own_dependencies_are_read_from_a_manifest() {
        let manifest = "[dependencies]\nlibm = \"1\"\ntilescope-ir.workspace = true\n[dev-dependencies]\ntilescope-oracle = {}\n";
        assert_eq!(dependencies(manifest), [(3, String::from("ir"))]);
        assert_eq!(members("[workspace]\nmembers = [\"a\", \"b\"]\n"), ["a", "b"]);
    }
}
