//! `tests/cli/NAME/case.toml`: `args`, `status`, and the golden `stdout.txt` and `stderr.txt` (empty where absent).
//!
//! The command runs in the case's folder. In `args`, `{tmp}` is an empty folder; `leaves` lists the files
//! that must be in it afterwards. Times are replaced by `TIME`, the version by `VERSION`.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use toml::{Table, Value};

use crate::{data, folders, name, said, scratch, tilescope};

pub fn trials() -> Vec<Trial> {
    let cases = folders(&data().join("cli")).into_iter();
    cases
        .map(|folder| Trial::test(format!("cli/{}", name(&folder)), move || run(&folder)))
        .collect()
}

fn run(folder: &Path) -> Result<(), Failed> {
    let case: Table = std::fs::read_to_string(folder.join("case.toml"))?.parse()?;
    let tmp = scratch(&format!("cli-{}", name(folder)));
    let tmp_name = tmp.to_string_lossy().into_owned();
    let mut command = tilescope(folder);
    for arg in strings(&case, "args") {
        command.arg(arg.replace("{tmp}", &tmp_name));
    }
    for (key, value) in case.get("env").and_then(Value::as_table).into_iter().flatten() {
        command.env(key, value.as_str().unwrap_or_default());
    }
    let output = command.output()?;
    let status = case.get("status").and_then(Value::as_integer).unwrap_or(0);
    if output.status.code().map(i64::from) != Some(status) {
        return Err(format!("exit status {status} expected\n{}", said(&output)).into());
    }
    for (file, bytes) in [("stdout.txt", &output.stdout), ("stderr.txt", &output.stderr)] {
        let text = String::from_utf8_lossy(bytes).replace(&tmp_name, "{tmp}");
        golden(&folder.join(file), &steady(&text))?;
    }
    if case.contains_key("leaves") {
        let mut left: Vec<String> = std::fs::read_dir(&tmp)?
            .filter_map(|e| e.ok())
            .map(|e| name(&e.path()))
            .collect();
        left.sort();
        let expected = strings(&case, "leaves");
        if left != expected {
            return Err(format!("left {left:?} in the folder, expected {expected:?}").into());
        }
    }
    Ok(())
}

fn strings(case: &Table, key: &str) -> Vec<String> {
    let list = case.get(key).and_then(Value::as_array);
    list.into_iter()
        .flatten()
        .filter_map(|v| v.as_str().map(String::from))
        .collect()
}

/// Compares with a golden file, none where the text is empty; or writes it, with `BLESS=1`.
pub fn golden(path: &Path, actual: &str) -> Result<(), Failed> {
    if std::env::var_os("BLESS").is_some() {
        match actual.is_empty() {
            true => drop(std::fs::remove_file(path)),
            false => std::fs::write(path, actual)?,
        }
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if actual != expected {
        let file = path.display();
        return Err(format!("{file} differs\n--- expected\n{expected}--- actual\n{actual}").into());
    }
    Ok(())
}

/// The text without what changes from run to run.
fn steady(text: &str) -> String {
    let mut steady = String::new();
    for line in text.split_inclusive('\n') {
        // An attribute of JUnit's.
        if let Some((before, rest)) = line.split_once(" time=\"")
            && let Some((_, after)) = rest.split_once('"')
        {
            steady.push_str(&format!("{before} time=\"TIME\"{after}"));
            continue;
        }
        if line.contains("\"elapsed_s\": ") {
            let indent = line.len() - line.trim_start().len();
            steady.push_str(&format!("{}\"elapsed_s\": TIME,\n", &line[..indent]));
            continue;
        }
        // The verdict ends in `, 12.5 ms)`.
        let time = line.rfind(", ").filter(|&i| {
            let unit = line[i + 2..]
                .trim_end()
                .strip_suffix(')')
                .and_then(|t| t.split_once(' '));
            unit.is_some_and(|(n, unit)| n.parse::<f64>().is_ok() && ["s", "ms", "µs"].contains(&unit))
        });
        match time {
            Some(i) => steady.push_str(&format!("{}, TIME)\n", &line[..i])),
            None => steady.push_str(line),
        }
    }
    steady.replace(env!("CARGO_PKG_VERSION"), "VERSION")
}
