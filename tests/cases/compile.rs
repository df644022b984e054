//! `tests/compile/NAME/`: kernels that must be refused, each with its message; see the README there.

use std::path::Path;

use libtest_mimic::{Failed, Trial};

use crate::cli::golden;
use crate::{data, folders, name, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let cases = folders(&data().join("compile")).into_iter();
    cases
        .map(|case| Trial::test(format!("compile/{}", name(&case)), move || refused(&case)))
        .collect()
}

/// Nothing is run, the status is that of the first error, and the message is as it was read and approved.
fn refused(case: &Path) -> Result<(), Failed> {
    let output = tilescope(case).args(["check", "kernel.launch.toml"]).output()?;
    let message = String::from_utf8_lossy(&output.stderr);
    let unsupported = message.starts_with("error[unsupported]: ");
    let status = if unsupported { 3 } else { 2 };
    if output.status.code() != Some(status) || !output.stdout.is_empty() || message.is_empty() {
        return Err(format!("exit status {status} and no report expected\n{}", said(&output)).into());
    }
    golden(&case.join("stderr.txt"), &message)
}
