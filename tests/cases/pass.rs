//! Launches in which nothing may be found: `tests/pass/NAME/` and every built-in example.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use tilescope_kernels::KERNELS;

use crate::{data, folders, name, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for case in folders(&data().join("pass")) {
        let launch = format!("{}.launch.toml", name(&case));
        trials.push(Trial::test(format!("pass/{}", name(&case)), move || {
            clean(&case, &launch)
        }));
    }
    for example in KERNELS {
        trials.push(Trial::test(format!("examples/{}", example.name), || {
            clean(&data(), example.name)
        }));
    }
    trials
}

fn clean(folder: &Path, launch: &str) -> Result<(), Failed> {
    let output = tilescope(folder).args(["check", launch]).output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let ok = format!("{launch}: ok (");
    if !output.status.success() || !stdout.lines().any(|line| line.starts_with(&ok)) {
        return Err(said(&output).into());
    }
    Ok(())
}
