//! `tests/diff/NAME/`: see the README there.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use toml::Table;

use crate::{data, folders, name, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("diff/page", page)];
    for folder in folders(&data().join("../kernels")) {
        let launch = folder.join(format!("{}.launch.toml", name(&folder)));
        if launch.exists() {
            let test = format!("diff/kernels/{}", name(&folder));
            trials.push(Trial::test(test, move || no_case_differs(&launch)));
        }
    }
    for case in folders(&data().join("diff")) {
        let test = format!("diff/{}", name(&case));
        let twin = case.clone();
        trials.push(Trial::test(format!("{test}/fault"), move || fault(&case)));
        trials.push(Trial::test(format!("{test}/twin"), move || twin_is_silent(&twin)));
    }
    trials
}

fn fault(case: &Path) -> Result<(), Failed> {
    let expect: Table = std::fs::read_to_string(case.join("expect.toml"))?.parse()?;
    let more = more(&expect);
    let run = |threads: &str| {
        tilescope(case)
            .args(["diff", "fault.launch.toml", "--no-write", "--threads", threads])
            .args(&more)
            .output()
    };
    let output = run("1")?;
    if output.status.code() != Some(1) {
        return Err(format!("exit status 1 expected\n{}", said(&output)).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    for key in ["id", "smallest", "says"] {
        let words = expect
            .get(key)
            .ok_or_else(|| format!("expect.toml lacks {key}"))?;
        let words = match words.as_array() {
            Some(words) => words.as_slice(),
            None => std::slice::from_ref(words),
        };
        for words in words.iter().filter_map(|words| words.as_str()) {
            let wanted = match key {
                "id" => format!("[{words}]"),
                "smallest" => format!("smallest case: {words},"),
                _ => words.to_string(),
            };
            if !text.contains(&wanted) {
                return Err(format!("`{wanted}` expected\n{}", said(&output)).into());
            }
        }
    }
    match run("3")?.stdout == output.stdout {
        true => Ok(()),
        false => Err(format!("another report with other threads\n{}", said(&output)).into()),
    }
}

/// The kernels are right in three types, at sizes that fill no block, and on extreme data: by all paths there are without a
/// GPU. `DIFF_CASES` says how many cases to draw of each, `DIFF_SEED` from which seed.
fn no_case_differs(launch: &Path) -> Result<(), Failed> {
    let variable = |name: &str, default: &str| std::env::var(name).unwrap_or_else(|_| default.to_string());
    let text = std::fs::read_to_string(launch)?;
    let typed = text.contains("dtype = \"f32\"");
    let output = tilescope(launch.parent().unwrap_or(launch))
        .args(["diff", "--no-write", "--cases", &variable("DIFF_CASES", "8")])
        .args(["--seed", &variable("DIFF_SEED", "1")])
        .args(typed.then_some("--dtypes=f32,f16,bf16"))
        .arg(launch)
        .output()?;
    match output.status.code() {
        Some(0) => Ok(()),
        _ => Err(format!("exit status 0 expected\n{}", said(&output)).into()),
    }
}

/// Options that the case needs.
fn more(expect: &Table) -> Vec<String> {
    let words = expect.get("args").and_then(|words| words.as_array());
    let words = words.into_iter().flatten();
    words
        .filter_map(|word| Some(word.as_str()?.to_string()))
        .collect()
}

/// What `docs/diff.md` shows is what is printed.
fn page() -> Result<(), Failed> {
    let page = std::fs::read_to_string(data().join("../docs/diff.md"))?;
    let against: &[&str] = &["--against", "wide.launch.toml", "--bisect"];
    for (folder, more) in [("blocks_missing", &[][..]), ("against_block", against)] {
        let output = tilescope(&data().join("diff").join(folder))
            .args(["diff", "fault.launch.toml"])
            .args(more)
            .arg("--no-write")
            .output()?;
        if !page.contains(&*String::from_utf8_lossy(&output.stdout)) || output.stdout.is_empty() {
            return Err(format!("docs/diff.md shows something else\n{}", said(&output)).into());
        }
    }
    Ok(())
}

fn twin_is_silent(case: &Path) -> Result<(), Failed> {
    let expect: Table = std::fs::read_to_string(case.join("expect.toml"))?.parse()?;
    let output = tilescope(case)
        .args(["diff", "twin.launch.toml", "--no-write", "--cases", "60"])
        .args(more(&expect))
        .output()?;
    match output.status.code() {
        Some(0) => Ok(()),
        _ => Err(format!("exit status 0 expected\n{}", said(&output)).into()),
    }
}
