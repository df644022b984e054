//! Pictures of the debugger for the documentation, and how long its keys take: both by the release build of `tilescope
//! debug --keys`, which needs no terminal.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// Pictures: name, launch, keys.
const PICTURES: &[(&str, &str, &str)] = &[
    (
        "tile",
        "matmul",
        ": \"break 34 program 6\" enter 4 c : \"tile a\" enter x 2*j 2*l",
    ),
    (
        "heat-map",
        "matmul",
        ": \"break 34 program 6\" enter 4 c : \"tile acc\" enter x a d",
    ),
    (
        "memory",
        "matmul",
        ": \"break 38 program 1\" enter c 2*n : \"tile c_ptrs\" enter m . . 65*j",
    ),
    ("ttir", "matmul", "6*n v"),
];

/// Keys pressed on every example: through the source, back, to a breakpoint, through all panes, to the end and back.
const KEYS: &str = "10*n 10*s 5*N 5*S 10*i 5*I tab 6*j enter 5*l 5*j a a d T T m 5*l 5*j a . y o 5*l e x v 5*j v z z \
                    : \"locals\" enter / \"tl\" enter ] ? esc c C c u tab tab 5*n 5*N";

fn binary(root: &Path) -> Result<PathBuf> {
    super::cargo(&["build", "--release", "--package", "tilescope-cli"], &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Ok(target.join("release/tilescope"))
}

/// Writes `docs/screens/NAME.svg`.
pub fn draw(root: &Path) -> Result<()> {
    let tilescope = binary(root)?;
    let folder = root.join("docs/screens");
    std::fs::create_dir_all(&folder)?;
    for (name, launch, keys) in PICTURES {
        let output = Command::new(&tilescope)
            .args(["debug", launch, "--keys", keys, "--size", "120x40", "--svg"])
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .output()
            .with_context(|| format!("cannot run {}", tilescope.display()))?;
        if !output.status.success() {
            bail!("{launch}: {}", String::from_utf8_lossy(&output.stderr));
        }
        std::fs::write(folder.join(format!("{name}.svg")), &output.stdout)?;
    }
    Ok(())
}

/// Presses keys on every example and prints how long they took.
pub fn time(root: &Path) -> Result<()> {
    let tilescope = binary(root)?;
    let listed = Command::new(&tilescope).arg("kernels").output()?;
    for line in String::from_utf8_lossy(&listed.stdout).lines() {
        let Some(name) = line.split_whitespace().next() else {
            continue;
        };
        let output = Command::new(&tilescope)
            .args(["debug", name, "--keys", KEYS, "--size", "120x40", "--times"])
            .output()?;
        let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
        println!("{name:22} {}", said.trim_start_matches("note: "));
    }
    Ok(())
}
