//! `tests/fail/ID/NAME/`: see the README there.

use std::path::Path;

use libtest_mimic::{Failed, Trial};
use tilescope_diagnostics::{Check, CheckSet, GROUPS, explain};
use toml::Table;

use crate::{data, folders, name, said, tilescope};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("fail/every_check_has_a_case", every_check_has_a_case)];
    for id in folders(&data().join("fail")) {
        for case in folders(&id) {
            let test = format!("fail/{}/{}", name(&id), name(&case));
            let (twin, lone) = (case.clone(), case.clone());
            trials.push(Trial::test(format!("{test}/fault"), move || fault(&case)));
            trials.push(Trial::test(format!("{test}/twin"), move || twin_is_silent(&twin)));
            trials.push(Trial::test(format!("{test}/alone"), move || alone(&lone)));
        }
    }
    trials
}

/// A check that runs has a case here, and its page does not say that it does not run; the others neither.
fn every_check_has_a_case() -> Result<(), Failed> {
    let cases: Vec<String> = folders(&data().join("fail"))
        .iter()
        .map(|folder| name(folder))
        .collect();
    for &check in Check::ALL {
        let (checked, tested) = (
            explain::is_checked(check),
            cases.iter().any(|id| id == check.id()),
        );
        if checked != tested {
            let page = if checked {
                "says that it is checked"
            } else {
                "says that it is not checked yet"
            };
            return Err(format!("the page of {check} {page}; it has a folder of cases: {tested}").into());
        }
    }
    match cases.iter().find(|id| Check::from_id(id).is_none()) {
        Some(id) => Err(format!("{id} is no check").into()),
        None => Ok(()),
    }
}

/// What one launch of the case gives: exit status, findings, and the text report.
struct Checked {
    status: Option<i32>,
    findings: Vec<serde_json::Value>,
    text: String,
}

fn check(case: &Path, launch: &str, more: &[&str]) -> Result<Checked, Failed> {
    let expect = expectations(case)?;
    let options = expect
        .get("options")
        .and_then(|o| o.as_array())
        .into_iter()
        .flatten();
    let options: Vec<&str> = options.filter_map(|o| o.as_str()).collect();
    let run = |format: &str| {
        tilescope(case)
            .args(["check", launch, "--format", format])
            .args(&options)
            .args(more)
            .output()
    };
    let (text, json) = (run("text")?, run("json")?);
    if text.status.code() != json.status.code() {
        return Err(format!("the formats disagree\n{}\n{}", said(&text), said(&json)).into());
    }
    let report: serde_json::Value =
        serde_json::from_slice(&json.stdout).map_err(|error| format!("no JSON: {error}\n{}", said(&text)))?;
    let findings = report.pointer("/launches/0/findings").and_then(|f| f.as_array());
    Ok(Checked {
        status: json.status.code(),
        findings: findings
            .ok_or_else(|| format!("no launch in the report\n{}", said(&text)))?
            .clone(),
        text: said(&text),
    })
}

fn expectations(case: &Path) -> Result<Table, Failed> {
    Ok(std::fs::read_to_string(case.join("expect.toml"))?.parse::<Table>()?)
}

fn fault(case: &Path) -> Result<(), Failed> {
    let expect = expectations(case)?;
    let checked = check(case, "fault.launch.toml", &[])?;
    let mut wrong = Vec::new();
    let status = expect.get("exit").and_then(|e| e.as_integer());
    if checked.status.map(i64::from) != status {
        wrong.push(format!("exit status {status:?} expected"));
    }
    let [finding] = checked.findings.as_slice() else {
        wrong.push(format!("one finding expected, {} found", checked.findings.len()));
        return Err(failure(&wrong, &checked));
    };
    for (key, place) in [
        ("id", "/id"),
        ("severity", "/severity"),
        ("line", "/location/line"),
        ("tensor", "/tensor/name"),
        ("count", "/count"),
        ("program", "/program"),
        ("lane", "/lane"),
        ("element", "/element"),
        ("byte_offset", "/byte_offset"),
    ] {
        let Some(expected) = expect.get(key) else { continue };
        let expected = serde_json::to_value(expected)?;
        let actual = finding.pointer(place).cloned().unwrap_or_default();
        if actual != expected {
            wrong.push(format!("{key}: {expected} expected, {actual} found"));
        }
    }
    for words in expect
        .get("mentions")
        .and_then(|m| m.as_array())
        .into_iter()
        .flatten()
    {
        let words = words.as_str().unwrap_or_default();
        if !checked.text.contains(words) {
            wrong.push(format!("the report does not mention {words:?}"));
        }
    }
    // A place in the author's source, not in the TTIR, and with its line.
    if expect.contains_key("line") && !checked.text.contains(&format!("{}.py:", name(case))) {
        wrong.push("the source line is not shown".to_string());
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(failure(&wrong, &checked))
    }
}

fn twin_is_silent(case: &Path) -> Result<(), Failed> {
    let checked = check(case, "twin.launch.toml", &[])?;
    if checked.status != Some(0) || !checked.findings.is_empty() {
        return Err(failure(&["the twin must be silent".to_string()], &checked));
    }
    Ok(())
}

/// Which check may find what another one finds first, and so speaks where that one is off.
const STANDS_IN: &[(Check, &[Check])] = &[
    (Check::AddressOverflow, &[Check::OobLoad, Check::OutsideView]),
    (Check::DivByZero, &[Check::OobLoad]),
];

/// With the check alone (or with its group) the same finding is made, word for word; without it, it is not.
fn alone(case: &Path) -> Result<(), Failed> {
    let id = expectations(case)?
        .get("id")
        .and_then(|id| id.as_str())
        .and_then(Check::from_id);
    let Some(id) = id.filter(|&id| !CheckSet::BY_OPTION.contains(id)) else {
        return Ok(());
    };
    let all = check(case, "fault.launch.toml", &[])?;
    let lone = match CheckSet::ALWAYS.contains(id) {
        true => String::from("none"),
        false => id.to_string(),
    };
    let mut lists = vec![lone];
    let groups = GROUPS.iter().filter(|group| group.checks.contains(id));
    lists.extend(groups.map(|group| group.name.to_string()));
    for list in lists {
        let found = check(case, "fault.launch.toml", &["--checks", &list])?;
        if plain(&found, id) != plain(&all, id) || found.status != all.status {
            return Err(failure(
                &[format!("--checks {list} finds something else"), all.text],
                &found,
            ));
        }
    }
    if CheckSet::ALWAYS.contains(id) {
        return Ok(());
    }
    let without = check(case, "fault.launch.toml", &["--checks", &format!("-{id}")])?;
    let stands_in = STANDS_IN
        .iter()
        .find(|(of, _)| *of == id)
        .map_or(&[][..], |(_, others)| others);
    let may = |finding: &serde_json::Value| stands_in.iter().any(|check| finding["id"] == check.id());
    match without.findings.iter().all(may) {
        true => Ok(()),
        false => Err(failure(&[format!("--checks -{id} finds something")], &without)),
    }
}

/// Findings without the command that opens the debugger, which names the checks. Which program wrote what differs is known
/// only where races are looked for, and how many operations a loop has executed counts those of checks.
fn plain(checked: &Checked, id: Check) -> Vec<serde_json::Value> {
    let mut findings = checked.findings.clone();
    for finding in findings.iter_mut().filter_map(|finding| finding.as_object_mut()) {
        finding.remove("debug");
        if matches!(id, Check::OutputMismatch | Check::StepLimit) {
            finding.remove("chain");
        }
    }
    findings
}

fn failure(wrong: &[String], checked: &Checked) -> Failed {
    format!("{}\n{}", wrong.join("\n"), checked.text).into()
}
