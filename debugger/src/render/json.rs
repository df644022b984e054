//! Replies as JSON: one object per command, on one line.

use serde_json::{Map, Value as Json, json};
use tilescope_diagnostics::render::{Paint, Sources, number};
use tilescope_diagnostics::{Error, Location, Value};

use crate::reply::{Position, Reason, Reply};

/// A reply as a JSON object: `command`, `text` (as the text form has it) and, where there are any, `values`,
/// `position`, `findings`.
pub fn reply(command: &str, reply: &Reply, sources: &dyn Sources) -> String {
    let mut object = Map::new();
    object.insert("command".into(), json!(command));
    object.insert(
        "text".into(),
        json!(super::text::reply(reply, sources, Paint::Plain)),
    );
    match reply {
        Reply::Stopped(stopped) => {
            object.insert("reason".into(), json!(reason(&stopped.reason)));
            object.insert("position".into(), position(&stopped.position));
            object.insert("notes".into(), json!(stopped.notes));
        }
        Reply::Value { window, .. } => {
            object.insert("dtype".into(), json!(window.dtype));
            object.insert("shape".into(), json!(window.shape));
            object.insert(
                "values".into(),
                window.lanes.iter().map(|lane| value(lane.value)).collect(),
            );
        }
        Reply::Memory(window) => {
            object.insert("dtype".into(), json!(window.dtype));
            object.insert("shape".into(), json!(window.shape));
            object.insert("values".into(), window.values.iter().map(|&v| value(v)).collect());
        }
        Reply::Variables(variables) => {
            let one = |v: &crate::reply::Variable| {
                json!({
                    "name": v.name, "dtype": v.dtype, "shape": v.shape, "value": v.value.map(value),
                    "tensor": v.tensor, "changed": v.changed,
                })
            };
            object.insert("variables".into(), variables.iter().map(one).collect());
        }
        Reply::Tile { variable, summary } => {
            object.insert("name".into(), json!(variable.name));
            object.insert("dtype".into(), json!(variable.dtype));
            object.insert("shape".into(), json!(variable.shape));
            object.insert(
                "summary".into(),
                json!({
                    "lanes": summary.lanes, "min": summary.min.map(value), "max": summary.max.map(value),
                    "mean": summary.mean.map(|mean| value(Value::Float(mean))), "nan": summary.nan, "inf": summary.inf,
                    "masked": summary.masked, "undefined": summary.undefined, "true": summary.true_lanes,
                }),
            );
        }
        Reply::Touched(touched) => {
            object.insert("reads".into(), json!(touched.reads));
            object.insert("writes".into(), json!(touched.writes));
        }
        Reply::Writer {
            writer, value: now, ..
        } => {
            object.insert("value".into(), value(*now));
            let one = |w: &crate::reply::Writer| {
                json!({
                    "program": w.program, "tick": w.tick, "op": w.op, "location": w.location.as_ref().map(location),
                    "before": value(w.before), "after": value(w.after),
                })
            };
            object.insert("writer".into(), json!(writer.as_ref().map(one)));
        }
        Reply::Why(steps) => {
            let one = |s: &crate::reply::WhyStep| {
                json!({
                    "depth": s.depth, "op": s.op, "name": s.name, "lane": s.lane, "value": value(s.value),
                    "location": s.location.as_ref().map(location), "note": s.note,
                })
            };
            object.insert("chain".into(), steps.iter().map(one).collect());
        }
        Reply::Grid(grid) => {
            let runs = grid.runs.iter().map(|run| {
                let state = format!("{:?}", run.state).to_lowercase();
                json!({ "first": run.first, "count": run.count, "state": state })
            });
            object.insert("grid".into(), json!(grid.grid));
            object.insert("runs".into(), runs.collect());
        }
        Reply::Findings(findings) => {
            let one = |f: &tilescope_diagnostics::Finding| {
                json!({
                    "id": f.check.id(), "message": f.message, "program": f.program, "count": f.count,
                    "location": f.location.as_ref().map(location),
                })
            };
            object.insert("findings".into(), findings.iter().map(one).collect());
        }
        _ => {}
    }
    format!("{}\n", Json::Object(object))
}

/// An error as a JSON object: `command`, `error`, and `help` where there is some.
pub fn error(command: &str, error: &Error) -> String {
    let column = error.labels.first().map(|label| label.range.start + 1);
    let object = json!({
        "command": command, "error": error.message, "column": column, "notes": error.notes, "help": error.help,
    });
    format!("{object}\n")
}

fn value(value: Value) -> Json {
    match value {
        Value::Bool(b) => json!(b),
        Value::Int(i) => match i64::try_from(i) {
            Ok(i) => json!(i),
            Err(_) => json!(i.to_string()),
        },
        Value::Float(f) => match number::special(f) {
            Some(word) => json!(word),
            None => json!(f),
        },
    }
}

fn location(location: &Location) -> Json {
    json!({ "file": location.frame.file, "line": location.frame.line, "column": location.frame.column })
}

fn position(position: &Position) -> Json {
    json!({
        "program": position.program,
        "tick": position.tick,
        "location": position.location.as_ref().map(location),
        "op": position.op.as_ref().map(|op| op.mnemonic),
        "depth": position.depth,
        "enters": position.enters,
        "ended": position.ended,
    })
}

fn reason(reason: &Reason) -> Json {
    let word = match reason {
        Reason::Start => "start",
        Reason::Stepped => "stepped",
        Reason::Breakpoint { .. } => "breakpoint",
        Reason::Watchpoint { .. } => "watchpoint",
        Reason::ValueChanged { .. } => "value",
        Reason::Finding { .. } => "finding",
        Reason::ProgramEnd => "program-end",
        Reason::LaunchEnd => "launch-end",
        Reason::Beginning => "beginning",
        Reason::Deadlock => "deadlock",
        Reason::Limit => "limit",
        Reason::Interrupted => "interrupted",
        Reason::Switched => "switched",
    };
    let mut object = json!({ "kind": word });
    let number = match reason {
        Reason::Breakpoint { id, .. } | Reason::Watchpoint { id, .. } | Reason::ValueChanged { id, .. } => {
            Some(*id as usize)
        }
        Reason::Finding { number, .. } => Some(*number),
        _ => None,
    };
    if let Some(number) = number {
        object["number"] = json!(number);
    }
    object
}
