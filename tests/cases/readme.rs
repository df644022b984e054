//! The tour of the README does what the README says: its launch file, on its kernel, gives the fault that it announces;
//! so does the launch file that `init` writes.

use std::path::Path;

use libtest_mimic::{Failed, Trial};

use crate::{data, said, scratch, tilescope};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("readme/report", report),
        Trial::test("readme/tour", tour),
        Trial::test("readme/commands", commands),
    ]
}

/// The first block of code in that language.
fn block<'a>(text: &'a str, language: &str) -> Result<&'a str, Failed> {
    let rest = text.split_once(&format!("```{language}\n")).map(|(_, rest)| rest);
    let block = rest
        .and_then(|rest| rest.split_once("```"))
        .map(|(block, _)| block);
    block.ok_or_else(|| format!("the README has no block of {language}").into())
}

/// The report that the README opens with is what is printed, but for the time.
fn report() -> Result<(), Failed> {
    let root = data().join("..");
    let readme = std::fs::read_to_string(root.join("README.md"))?;
    let launch = "tests/fail/oob-store/missing_mask/fault.launch.toml";
    let output = tilescope(&root).args(["check", launch]).output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let printed = stdout.rsplit_once(", ").map_or("", |(printed, _time)| printed);
    if printed.is_empty() || !readme.contains(&format!("$ tilescope check {launch}\n{printed}")) {
        return Err(format!("the README shows something else\n{}", said(&output)).into());
    }
    Ok(())
}

fn tour() -> Result<(), Failed> {
    let readme = std::fs::read_to_string(data().join("../README.md"))?;
    let folder = scratch("readme");
    std::fs::write(folder.join("add.py"), block(&readme, "python")?)?;
    std::fs::write(folder.join("add.launch.toml"), block(&readme, "toml")?)?;
    let init = tilescope(&folder).args(["init", "add.py"]).output()?;
    if !init.status.success() {
        return Err(said(&init).into());
    }
    for (launch, lanes) in [
        ("add.launch.toml", "and 895 more lanes"),
        ("add_kernel.launch.toml", "more lanes"),
    ] {
        let output = tilescope(&folder).args(["check", launch]).output()?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let fault = [
            "error[oob-store]",
            "--> add.py:",
            "tl.store(out_ptr + offs, x + 1)",
            lanes,
        ];
        if output.status.code() != Some(1) || fault.iter().any(|words| !stdout.contains(words)) {
            return Err(said(&output).into());
        }
    }
    let diff = tilescope(&folder)
        .args(["diff", "add.launch.toml", "--dtypes", "f32,f16"])
        .output()?;
    let smallest = String::from_utf8_lossy(&diff.stdout).contains("smallest case: n=1,");
    let written = folder.join("add.case.launch.toml").exists();
    match diff.status.code() == Some(1) && smallest && written {
        true => Ok(()),
        false => Err(said(&diff).into()),
    }
}

/// Every `tilescope …` line of the README is a command line that is understood.
fn commands() -> Result<(), Failed> {
    let readme = std::fs::read_to_string(data().join("../README.md"))?;
    let lines = readme.lines().filter_map(|line| line.strip_prefix("tilescope "));
    for line in lines {
        let words = line
            .split('#')
            .next()
            .unwrap_or(line)
            .split('|')
            .next()
            .unwrap_or(line);
        // With `--help` nothing is run, but unknown commands and options are errors all the same.
        let output = tilescope(Path::new("."))
            .args(words.split_whitespace())
            .arg("--help")
            .output()?;
        if !output.status.success() {
            return Err(format!("`tilescope {words}`\n{}", said(&output)).into());
        }
    }
    Ok(())
}
