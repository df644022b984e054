//! `tests/diff/NAME/`: see the README there.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use toml::Table;

use crate::{data, folders, name, said, scratch, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![
        Trial::test("diff/page", page),
        Trial::test("diff/again", again),
        Trial::test("diff/kept", kept),
    ];
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

/// The command that a report prints runs the case again, with the options that it was found with.
fn again() -> Result<(), Failed> {
    let folder = data().join("diff/type_matters");
    let options: &[&[&str]] = &[
        &[
            "--dtypes",
            "bf16,f16",
            "--paths",
            "stepping,twin",
            "--rtol",
            "1e-9",
            "--atol",
            "1e-7",
        ],
        &[
            "--dtypes",
            "f16,f32",
            "--max-steps",
            "5000",
            "--deny",
            "warnings",
            "--target",
            "sm_90",
        ],
    ];
    for &options in options {
        let first = tilescope(&folder)
            .args(["diff", "fault.launch.toml", "--no-write"])
            .args(options)
            .output()?;
        let text = String::from_utf8_lossy(&first.stdout).into_owned();
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("run it again, for where it begins: tilescope "));
        let Some(command) = line else {
            return Err(format!("no command\n{}", said(&first)).into());
        };
        for option in options.chunks(2) {
            let given: Vec<&str> = command.split(' ').collect();
            let value = option[1]
                .parse()
                .map_or(option[1].to_string(), |number: f64| number.to_string());
            if !given
                .windows(2)
                .any(|pair| pair[0] == option[0] && pair[1] == value)
            {
                return Err(format!("{option:?} is not in `{command}`").into());
            }
        }
        let second = tilescope(&folder)
            .args(command.split(' '))
            .arg("--no-write")
            .output()?;
        let smallest = text
            .lines()
            .find(|line| line.starts_with("smallest case: "))
            .unwrap_or("none");
        if second.status.code() != Some(1) || !String::from_utf8_lossy(&second.stdout).contains(smallest) {
            return Err(format!("{command}: {smallest} expected\n{}", said(&second)).into());
        }
    }
    Ok(())
}

/// A case that failed is run first the next time, whatever types are drawn then.
fn kept() -> Result<(), Failed> {
    let folder = scratch("diff-kept");
    for file in ["fault.launch.toml", "kernel.py"] {
        std::fs::copy(data().join("diff/type_matters").join(file), folder.join(file))?;
    }
    for dtypes in ["--dtypes=f32,f16", "--dtypes=f32,bf16", "--dtypes=f32"] {
        let output = tilescope(&folder)
            .args(["diff", "fault.launch.toml", dtypes])
            .output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let mut wanted = vec![
            "dtype=f16",
            "its launch file: fault.case.launch.toml\nrun it again",
        ];
        if dtypes != "--dtypes=f32,f16" {
            wanted.push("fault.launch.toml: 1 cases run");
        }
        if output.status.code() != Some(1) || wanted.iter().any(|words| !text.contains(words)) {
            return Err(format!("{dtypes}: {wanted:?} expected\n{}", said(&output)).into());
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
