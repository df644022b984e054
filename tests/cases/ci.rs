//! The workflow of `docs/ci.md`: its shell steps do what the page says, on a right kernel and on a wrong one.

use std::path::Path;
use std::process::{Command, Output};

use libtest_mimic::{Failed, Trial};

use crate::{data, said, scratch};

/// Adds one, up to `BOUND`.
const KERNEL: &str = "\
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(out_ptr + offs, x + 1.0, mask=offs BOUND n)
";

const LAUNCH: &str = r#"
kernel = "add.py::add_kernel"
grid = ["cdiv(n, BLOCK)"]
[vars]
n = { value = 100, range = [1, 500] }
[args]
x_ptr = { dtype = "f32", shape = ["n"], role = "in" }
out_ptr = { dtype = "f32", shape = ["n"], role = "out" }
n = "n"
[constexprs]
BLOCK = 64
"#;

pub fn trials() -> Vec<Trial> {
    // The steps are for a shell with jq, as on the machines that they are for.
    let tools = ["bash", "jq", "find", "xargs"];
    let missing = tools.into_iter().find(|tool| {
        let version = Command::new(tool).arg("--version").output();
        !version.is_ok_and(|output| output.status.success())
    });
    let name = match missing {
        Some(tool) => format!("ci/steps (skipped: no {tool})"),
        None => String::from("ci/steps"),
    };
    vec![Trial::test(name, steps).with_ignored_flag(missing.is_some())]
}

fn steps() -> Result<(), Failed> {
    let page = std::fs::read_to_string(data().join("../docs/ci.md"))?;
    for (bound, status) in [("<", 0), ("<=", 1)] {
        let folder = scratch(&format!("ci-{status}"));
        std::fs::create_dir_all(folder.join("my kernels"))?;
        std::fs::write(folder.join("my kernels/add.py"), KERNEL.replace("BOUND", bound))?;
        std::fs::write(folder.join("my kernels/add.launch.toml"), LAUNCH)?;
        for step in ["Check", "Diff"] {
            let output = shell(&folder, &script(&page, step)?)?;
            // xargs has a status of its own for a command that failed.
            let failed = output.status.code() != Some(0);
            if failed != (status == 1) {
                return Err(format!("{step} with `offs {bound} n`\n{}", said(&output)).into());
            }
            let annotated = String::from_utf8_lossy(&output.stdout).contains("::error ");
            if annotated != failed {
                return Err(format!("{step}: annotations\n{}", said(&output)).into());
            }
        }
        let text = std::fs::read_to_string(folder.join("reports/diff/my-kernels-add.launch.toml.txt"))?;
        let again = text
            .lines()
            .find_map(|line| line.strip_prefix("run it again, for where it begins: "));
        match (again, status) {
            (Some(again), 1) => {
                let output = shell(&folder, again)?;
                if output.status.code() != Some(1) {
                    return Err(format!("{again}\n{}", said(&output)).into());
                }
            }
            (None, 0) => {}
            _ => return Err(format!("the command that runs it again: {again:?}\n{text}").into()),
        }
        for report in ["check/check.sarif", "diff/my-kernels-add.launch.toml.sarif"] {
            let text = std::fs::read_to_string(folder.join("reports").join(report))?;
            let sarif: serde_json::Value = serde_json::from_str(&text)?;
            let found = sarif["runs"][0]["results"].as_array().map_or(0, Vec::len);
            if sarif["version"] != "2.1.0" || (found > 0) != (status == 1) {
                return Err(format!("{report}: {found} results\n{text}").into());
            }
            let category = &sarif["runs"][0]["automationDetails"]["id"];
            if report.starts_with("diff") && category != "tilescope-diff/my-kernels-add.launch.toml/" {
                return Err(format!("{report}: category {category}").into());
            }
        }
        for report in ["check/check.xml", "diff/my-kernels-add.launch.toml.xml"] {
            let text = std::fs::read_to_string(folder.join("reports").join(report))?;
            if text.contains("<failure") != (status == 1) {
                return Err(format!("{report}\n{text}").into());
            }
        }
    }
    Ok(())
}

/// The lines of a step's `run: |`, without their indentation.
fn script(page: &str, step: &str) -> Result<String, Failed> {
    let named = format!("      - name: {step}\n");
    let rest = page.split_once(&named).map(|(_, rest)| rest);
    let lines = rest.and_then(|rest| rest.split_once("        run: |\n"));
    let (_, lines) = lines.ok_or_else(|| format!("docs/ci.md has no step {step}"))?;
    let indented = lines
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("          "));
    let script: Vec<&str> = indented.map(str::trim_start).collect();
    Ok(script.join("\n"))
}

/// Runs a script as the service does.
fn shell(folder: &Path, script: &str) -> Result<Output, Failed> {
    let binary = Path::new(env!("CARGO_BIN_EXE_tilescope"))
        .parent()
        .unwrap_or(folder);
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script])
        .current_dir(folder)
        .env("PATH", format!("{}:{path}", binary.display()))
        .env("GITHUB_RUN_NUMBER", "7")
        .output()?;
    Ok(output)
}
