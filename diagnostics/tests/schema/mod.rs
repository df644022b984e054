//! The parts of the schema of SARIF 2.1.0 (OASIS) that reports use: what objects hold, of which types, what must be there.
//!
//! In SARIF no object but a property bag may have a property that the standard does not name, so an unknown one is a fault.

use serde_json::Value;

enum Is {
    /// Any text.
    Text,
    /// A reference that is a URI.
    Uri,
    /// One of these words.
    Word(&'static [&'static str]),
    /// An integer of at least so much.
    Integer(i64),
    Truth,
    /// A property bag.
    Bag,
    /// An object of this kind.
    Object(&'static str),
    /// A list of them.
    List(&'static str),
}

use Is::{Bag, Integer, List, Object, Text, Truth, Uri, Word};

const LEVEL: Is = Word(&["none", "note", "warning", "error"]);

/// Properties of a kind of object; `!` marks those that must be there.
fn properties(kind: &str) -> &'static [(&'static str, Is)] {
    match kind {
        "log" => &[
            ("$schema", Uri),
            ("version!", Word(&["2.1.0"])),
            ("runs!", List("run")),
        ],
        "run" => &[
            ("tool!", Object("tool")),
            ("columnKind", Word(&["utf16CodeUnits", "unicodeCodePoints"])),
            ("invocations", List("invocation")),
            ("results", List("result")),
        ],
        "tool" => &[("driver!", Object("component"))],
        "component" => &[("name!", Text), ("version", Text), ("rules", List("rule"))],
        "rule" => &[
            ("id!", Text),
            ("shortDescription", Object("text")),
            ("help", Object("text")),
            ("defaultConfiguration", Object("configuration")),
        ],
        "text" => &[("text!", Text), ("markdown", Text)],
        "configuration" => &[("level", LEVEL)],
        "invocation" => &[
            ("executionSuccessful!", Truth),
            ("toolExecutionNotifications", List("notification")),
        ],
        "notification" => &[
            ("message!", Object("text")),
            ("level", LEVEL),
            ("locations", List("location")),
        ],
        "result" => &[
            ("message!", Object("text")),
            ("ruleId", Text),
            ("ruleIndex", Integer(-1)),
            ("level", LEVEL),
            ("locations", List("location")),
            ("relatedLocations", List("location")),
            ("suppressions", List("suppression")),
            ("occurrenceCount", Integer(1)),
            ("properties", Bag),
        ],
        "location" => &[
            ("physicalLocation", Object("physical")),
            ("logicalLocations", List("logical")),
            ("message", Object("text")),
        ],
        // The schema wants one of `artifactLocation` and `address`; reports have the first.
        "physical" => &[
            ("artifactLocation!", Object("artifact")),
            ("region", Object("region")),
        ],
        "artifact" => &[("uri", Uri)],
        "region" => &[("startLine!", Integer(1)), ("startColumn", Integer(1))],
        "logical" => &[("name", Text), ("kind", Text)],
        "suppression" => &[
            ("kind!", Word(&["inSource", "external"])),
            ("justification", Text),
        ],
        _ => panic!("no such kind: {kind}"),
    }
}

/// Everything in which a document is no SARIF log.
pub fn faults(text: &str) -> Vec<String> {
    let document: Value = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) => return vec![error.to_string()],
    };
    let mut faults = Vec::new();
    object(&document, "log", "", &mut faults);
    for run in document["runs"].as_array().into_iter().flatten() {
        let rules = &run["tool"]["driver"]["rules"];
        for result in run["results"].as_array().into_iter().flatten() {
            let index = result["ruleIndex"].as_u64().unwrap_or(u64::MAX) as usize;
            if rules[index]["id"] != result["ruleId"] {
                faults.push(format!("rule {index} is not {}", result["ruleId"]));
            }
        }
    }
    faults
}

fn object(value: &Value, kind: &str, path: &str, faults: &mut Vec<String>) {
    let Some(entries) = value.as_object() else {
        faults.push(format!("{path}: no object"));
        return;
    };
    let known = properties(kind);
    for (key, value) in entries {
        let path = format!("{path}/{key}");
        match known.iter().find(|(name, _)| name.trim_end_matches('!') == key) {
            Some((_, is)) => check(value, is, &path, faults),
            None => faults.push(format!("{path}: a {kind} has no such property")),
        }
    }
    for (name, _) in known {
        if let Some(name) = name.strip_suffix('!')
            && !entries.contains_key(name)
        {
            faults.push(format!("{path}: `{name}` is missing"));
        }
    }
}

fn check(value: &Value, is: &Is, path: &str, faults: &mut Vec<String>) {
    let good = match is {
        Text => value.is_string(),
        Uri => value.as_str().is_some_and(is_uri),
        Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Integer(least) => value.as_i64().is_some_and(|n| n >= *least),
        Truth => value.is_boolean(),
        Bag => value.is_object(),
        Object(kind) => return object(value, kind, path, faults),
        List(kind) => {
            for (i, item) in value.as_array().into_iter().flatten().enumerate() {
                object(item, kind, &format!("{path}/{i}"), faults);
            }
            value.is_array()
        }
    };
    if !good {
        faults.push(format!("{path}: {value}"));
    }
}

/// Only characters that RFC 3986 allows, each `%` before two digits.
fn is_uri(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c);
    let escapes = text.split('%').skip(1);
    let mut escapes = escapes.map(|rest| rest.chars().take(2).filter(char::is_ascii_hexdigit).count());
    text.chars().all(allowed) && escapes.all(|digits| digits == 2)
}
