//! The text form on files: `data/text` is read, verified and printed; `data/errors` is refused.
//!
//! `data/text/NAME.ttir` must print as `NAME.printed`, which must read back to the same module.
//! `data/errors/NAME.ttir` holds cases separated by `// -----`; each begins with a comment
//! `// KIND: MESSAGE` for every error that it must give. `BLESS=1` rewrites both expectations.

use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tilescope_diagnostics::{Error, ErrorKind, Source};
use tilescope_ir::{OpCode, text, verify};

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(folder)
}

fn files(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data(folder)).expect("the data folder is part of the repository");
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|f| f.extension().is_some_and(|e| e == "ttir"));
    files.sort();
    files
}

fn name(file: &Path) -> String {
    file.file_stem()
        .map_or_else(String::new, |s| s.to_string_lossy().into_owned())
}

fn bless() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// The first line that differs, for a short message.
fn compare(expected: &str, found: &str, file: &Path) -> Result<(), Failed> {
    if expected == found {
        return Ok(());
    }
    let mut lines = expected.lines().zip(found.lines()).enumerate();
    let (line, (a, b)) = lines
        .find(|(_, (a, b))| a != b)
        .unwrap_or((0, ("(another length)", "")));
    Err(format!(
        "{}:{}\nexpected {a}\n   found {b}\nBLESS=1 rewrites it",
        file.display(),
        line + 1
    )
    .into())
}

fn round_trip(file: &Path) -> Result<(), Failed> {
    let source = Source::new(name(file), std::fs::read_to_string(file)?);
    let module = text::parse(&source).map_err(|e| e.to_string())?;
    verify(&module).map_err(|errors| errors[0].to_string())?;
    let printed = text::print(&module);
    let again = text::parse(&Source::new("printed", printed.clone())).map_err(|e| e.to_string())?;
    text::same(&module, &again)?;
    let golden = file.with_extension("printed");
    if bless() {
        std::fs::write(&golden, &printed)?;
    }
    compare(&std::fs::read_to_string(&golden)?, &printed, &golden)
}

fn describe(error: &Error) -> String {
    let kind = match error.kind {
        ErrorKind::Input => "input",
        ErrorKind::Unsupported => "unsupported",
        ErrorKind::Internal => "internal",
    };
    format!("// {kind}: {error}\n")
}

/// The errors of one case, as its head should list them.
fn errors_of(name: &str, case: &str) -> String {
    let source = Source::new(name, case);
    match text::parse(&source) {
        Err(error) => describe(&error),
        Ok(module) => match verify(&module) {
            Ok(_) => "// no error\n".to_string(),
            Err(errors) => errors.iter().map(|e| describe(e)).collect(),
        },
    }
}

fn refusals(file: &Path) -> Result<(), Failed> {
    const SEPARATOR: &str = "// -----\n";
    let all = std::fs::read_to_string(file)?;
    let mut found = Vec::new();
    for case in all.split(SEPARATOR) {
        let body: String = case
            .split_inclusive('\n')
            .skip_while(|l| l.starts_with("// "))
            .collect();
        found.push(errors_of(&name(file), &body) + &body);
    }
    let found = found.join(SEPARATOR);
    if bless() {
        std::fs::write(file, &found)?;
    }
    compare(&std::fs::read_to_string(file)?, &found, file)
}

/// Every row of the op table stands in some text of `data/text`.
fn every_op() -> Result<(), Failed> {
    let mut seen = BTreeSet::new();
    for file in files("text") {
        let source = Source::new(name(&file), std::fs::read_to_string(&file)?);
        let module = text::parse(&source).map_err(|e| e.to_string())?;
        for (_, f) in module.funcs.iter() {
            seen.extend(f.ops.iter().map(|(_, op)| op.code));
        }
    }
    let missing: Vec<_> = OpCode::ALL
        .iter()
        .filter(|c| !seen.contains(c))
        .map(|c| c.to_string())
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(format!("no text for {}", missing.join(", ")).into())
    }
}

fn main() {
    let mut trials = vec![Trial::test("every_op_has_a_text", every_op)];
    for file in files("text") {
        trials.push(Trial::test(format!("text/{}", name(&file)), move || {
            round_trip(&file)
        }));
    }
    for file in files("errors") {
        trials.push(Trial::test(format!("errors/{}", name(&file)), move || {
            refusals(&file)
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
