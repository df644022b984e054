//! SARIF 2.1.0 (OASIS, "Static Analysis Results Interchange Format"), which code hosts and editors read.
//!
//! One run per report. Rules are the checks that findings name, with their pages. A result stands at its finding's line; one of a
//! whole launch stands at the launch file. Suppressed findings are results with a `suppressions` entry.

use serde_json::{Map, Value as Json, json};

use super::text::occurrence;
use crate::{Check, Error, Finding, Frame, Launched, Location, Report, explain};

/// Where the schema is published.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The whole report as a document, ending in a line break.
pub fn report(report: &Report, errors: &[Box<Error>], version: &str) -> String {
    let findings = || {
        let launches = report.launches.iter();
        launches.flat_map(|launched| {
            let all = launched.findings.iter().chain(&launched.suppressed);
            all.map(move |finding| (launched, finding))
        })
    };
    let mut used: Vec<Check> = findings().map(|(_, finding)| finding.check).collect();
    used.sort_unstable();
    used.dedup();
    let results: Vec<Json> = findings()
        .map(|(launched, finding)| result(launched, finding, &used))
        .collect();
    let mut notifications: Vec<Json> = errors.iter().map(|error| refused(error)).collect();
    notifications.extend(report.unused.iter().map(|unused| {
        let frame = Frame {
            file: unused.file.clone(),
            line: unused.line,
            column: 0,
            function: None,
        };
        json!({
            "level": "warning",
            "message": { "text": format!("this suppression of {} matches no finding", unused.check.id()) },
            "locations": [{ "physicalLocation": physical(&frame) }],
        })
    }));
    let document = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "tilescope",
                "version": version,
                "rules": used.iter().map(|&check| rule(check)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                "executionSuccessful": errors.is_empty() && report.launches.iter().all(|l| !l.interrupted),
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    });
    // Only a failing writer or a key that is no string could fail; there is neither.
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn rule(check: Check) -> Json {
    let page = explain::page(check);
    json!({
        "id": check.id(),
        "shortDescription": { "text": check.summary() },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": check.severity().as_str() },
    })
}

fn result(launched: &Launched, finding: &Finding, rules: &[Check]) -> Json {
    let mut text = finding.message.clone();
    let first = occurrence(finding);
    if !first.is_empty() {
        text.push_str(&format!(" ({first})"));
    }
    if let Some(help) = &finding.help {
        text.push_str(&format!("\nhelp: {help}"));
    }
    let place = match &finding.location {
        Some(location) => physical(&location.frame),
        None => json!({ "artifactLocation": { "uri": uri(&launched.launch) } }),
    };
    let mut object = Map::new();
    object.insert("ruleId".into(), json!(finding.check.id()));
    let index = rules.iter().position(|&check| check == finding.check);
    object.insert("ruleIndex".into(), json!(index));
    object.insert("level".into(), json!(finding.severity.as_str()));
    object.insert("message".into(), json!({ "text": text }));
    object.insert(
        "locations".into(),
        json!([{
            "physicalLocation": place,
            "logicalLocations": [{ "name": finding.kernel, "kind": "function" }],
        }]),
    );
    let related = related(finding);
    if !related.is_empty() {
        object.insert("relatedLocations".into(), json!(related));
    }
    if let Some(by) = &finding.suppressed {
        let kind = if by.in_source { "inSource" } else { "external" };
        object.insert(
            "suppressions".into(),
            json!([{ "kind": kind, "justification": by.reason }]),
        );
    }
    object.insert("occurrenceCount".into(), json!(finding.count.max(1)));
    object.insert(
        "properties".into(),
        json!({
            "launch": launched.launch,
            "program": finding.program,
            "lane": finding.lane,
            "tensor": finding.tensor.as_ref().map(|tensor| &tensor.name),
            "element": finding.element,
            "debug": finding.debug,
        }),
    );
    Json::Object(object)
}

/// Other places of a finding, and the calls that led to it.
fn related(finding: &Finding) -> Vec<Json> {
    let located = |location: &Location, text: &str| json!({ "physicalLocation": physical(&location.frame), "message": { "text": text } });
    let others = [
        (&finding.born, "the value came to be here"),
        (&finding.used, "the value is used here"),
        (&finding.other, "the other access is here"),
    ];
    let mut related: Vec<Json> = others
        .into_iter()
        .filter_map(|(location, text)| Some(located(location.as_ref()?, text)))
        .collect();
    if let Some(location) = &finding.location {
        let calls = location
            .inlined_at
            .iter()
            .filter(|frame| **frame != location.frame);
        related.extend(calls.map(|frame| {
            json!({ "physicalLocation": physical(frame), "message": { "text": "called through here" } })
        }));
    }
    related
}

fn refused(error: &Error) -> Json {
    let locations: Vec<Json> = error
        .labels
        .iter()
        .take(1)
        .map(|label| {
            let (line, column) = label.source.line_column(label.range.start);
            json!({ "physicalLocation": {
                "artifactLocation": { "uri": uri(&label.source.name) },
                "region": { "startLine": line.max(1), "startColumn": column.max(1) },
            }})
        })
        .collect();
    json!({ "level": "error", "message": { "text": error.message }, "locations": locations })
}

fn physical(frame: &Frame) -> Json {
    let artifact = json!({ "uri": uri(&frame.file) });
    match (frame.line, frame.column) {
        (0, _) => json!({ "artifactLocation": artifact }),
        (line, 0) => json!({ "artifactLocation": artifact, "region": { "startLine": line } }),
        (line, column) => json!({
            "artifactLocation": artifact,
            "region": { "startLine": line, "startColumn": column },
        }),
    }
}

/// A path as a reference that is a URI (RFC 3986): what may not stand there is written as `%XX`.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'\\' => out.push('/'),
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b'/'
            | b'-'
            | b'_'
            | b'.'
            | b'~'
            | b'+'
            | b'@'
            | b'='
            | b',' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    // An absolute path names a file of this machine.
    if out.starts_with('/') {
        out.insert_str(0, "file://");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_uris() {
        assert_eq!(uri("my kernels/ä.py"), "my%20kernels/%C3%A4.py");
        assert_eq!(uri("/tmp/k.py"), "file:///tmp/k.py");
        assert_eq!(uri("c:\\k.py"), "c%3A/k.py");
    }
}
