//! `tests/diff/NAME/`: see the README there.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use toml::Table;

use crate::{data, folders, name, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("diff/page", page)];
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
    let run = |threads: &str| {
        tilescope(case)
            .args(["diff", "fault.launch.toml", "--no-write", "--threads", threads])
            .output()
    };
    let output = run("1")?;
    if output.status.code() != Some(1) {
        return Err(format!("exit status 1 expected\n{}", said(&output)).into());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    for key in ["id", "smallest", "says"] {
        let words = expect.get(key).and_then(|words| words.as_str());
        let words = words.ok_or_else(|| format!("expect.toml lacks {key}"))?;
        let wanted = match key {
            "id" => format!("[{words}]"),
            "smallest" => format!("smallest case: {words},"),
            _ => words.to_string(),
        };
        if !text.contains(&wanted) {
            return Err(format!("`{wanted}` expected\n{}", said(&output)).into());
        }
    }
    match run("3")?.stdout == output.stdout {
        true => Ok(()),
        false => Err(format!("another report with other threads\n{}", said(&output)).into()),
    }
}

/// What `docs/diff.md` shows is what is printed.
fn page() -> Result<(), Failed> {
    let page = std::fs::read_to_string(data().join("../docs/diff.md"))?;
    let folder = data().join("diff/blocks_missing");
    let output = tilescope(&folder)
        .args(["diff", "fault.launch.toml", "--no-write"])
        .output()?;
    match page.contains(&*String::from_utf8_lossy(&output.stdout)) && !output.stdout.is_empty() {
        true => Ok(()),
        false => Err(format!("docs/diff.md shows something else\n{}", said(&output)).into()),
    }
}

fn twin_is_silent(case: &Path) -> Result<(), Failed> {
    let output = tilescope(case)
        .args(["diff", "twin.launch.toml", "--no-write", "--cases", "60"])
        .output()?;
    match output.status.code() {
        Some(0) => Ok(()),
        _ => Err(format!("exit status 0 expected\n{}", said(&output)).into()),
    }
}
