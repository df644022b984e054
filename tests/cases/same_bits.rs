//! The report does not depend on the number of threads or on the CPU's vector instructions: outputs to the last
//! bit (by digest), findings, counts and prints, in faulty kernels too. Of programs that race, findings only.

use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use tilescope_kernels::KERNELS;

use crate::{data, folders, name, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut launches = Vec::new();
    for case in folders(&data().join("pass")) {
        launches.push((
            format!("pass/{}", name(&case)),
            case.clone(),
            format!("{}.launch.toml", name(&case)),
        ));
    }
    for id in folders(&data().join("fail")) {
        for case in folders(&id) {
            let test = format!("fail/{}/{}", name(&id), name(&case));
            launches.push((test, case, String::from("fault.launch.toml")));
        }
    }
    for example in KERNELS {
        launches.push((
            format!("examples/{}", example.name),
            data(),
            example.name.to_string(),
        ));
    }
    let trial = |(test, folder, launch): (String, PathBuf, String)| {
        Trial::test(format!("same_bits/{test}"), move || same(&folder, &launch))
    };
    launches.into_iter().map(trial).collect()
}

fn same(folder: &Path, launch: &str) -> Result<(), Failed> {
    let plain = report(folder, launch, "1", "scalar")?;
    let parallel = report(folder, launch, "8", "")?;
    if plain != parallel {
        return Err(format!("one thread, scalar:\n{plain}\neight threads:\n{parallel}").into());
    }
    Ok(())
}

/// The JSON report without the time it took.
fn report(folder: &Path, launch: &str, threads: &str, cpu: &str) -> Result<String, Failed> {
    let mut command = tilescope(folder);
    command.args([
        "check",
        launch,
        "--format",
        "json",
        "--hash",
        "--threads",
        threads,
        "--max-steps",
        "100000",
    ]);
    let output = command.env("TILESCOPE_CPU", cpu).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !text.contains("\"sha256\"") {
        return Err(format!("no digest in the report\n{}", said(&output)).into());
    }
    // What is left where programs race depends on which of them was last.
    if text.contains("\"id\": \"race-") {
        let report: serde_json::Value = serde_json::from_str(&text)?;
        let findings = report.pointer("/launches/0/findings");
        return Ok(findings.map(ToString::to_string).unwrap_or_default());
    }
    Ok(text
        .lines()
        .filter(|line| !line.contains("\"elapsed_s\""))
        .collect::<Vec<_>>()
        .join("\n"))
}
