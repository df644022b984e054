//! The JSON report. Keys and their order are fixed: programs rely on them.
//!
//! Every key of the format is always there, `null` where it does not apply; some appear only when
//! they say something: `count_at_least` (the count is a lower bound) and `debug` (the command that opens
//! the debugger there) of a finding, `search` and `case` of a launch of which many cases were run, in place of what one run
//! gives; `findings_cut`, `interrupted`, `suppressed` and `notes` of a launch, `unused_suppressions` and `errors` of the report. NaN and infinities are the
//! strings `nan`, `inf`, `-inf`; integers that JSON readers cannot hold in 64 bits are strings.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::number;
use crate::{
    Bounds, Chain, Error, ErrorKind, Finding, Frame, Launched, Location, OutputSummary, Printed, Report,
    TensorRef, Value,
};

/// The whole report as one JSON document, ending in a line break.
///
/// `errors` are the inputs that could not be used; they have no entry in `launches`.
pub fn report(report: &Report, errors: &[Box<Error>], version: &str) -> String {
    let document = Document {
        tool: "tilescope",
        version,
        launches: report.launches.iter().map(launch).collect(),
        unused_suppressions: report
            .unused
            .iter()
            .map(|unused| JsonUnused {
                id: unused.check.id(),
                file: &unused.file,
                line: unused.line,
            })
            .collect(),
        errors: errors.iter().map(|e| error(e)).collect(),
    };
    // Serialisation of these types can only fail on a failing writer or a non-string key; neither exists here.
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    join_number_arrays(&text)
}

/// Puts arrays of nothing but numbers on one line each: a shape is read at a glance, a column of digits is not.
///
/// Line by line: no string holds a line break in JSON, so a line that is `[` or a number is just that.
fn join_number_arrays(pretty: &str) -> String {
    let mut joined = String::with_capacity(pretty.len());
    let mut lines = pretty.lines().peekable();
    while let Some(line) = lines.next() {
        joined.push_str(line);
        if line.ends_with('[') {
            let is_number = |line: &str| line.trim().trim_end_matches(',').parse::<f64>().is_ok();
            let mut numbers = Vec::new();
            while let Some(number) = lines.next_if(|line| is_number(line)) {
                numbers.push(number);
            }
            match lines.next_if(|line| line.trim_start().starts_with(']')) {
                Some(end) => {
                    let trimmed: Vec<&str> = numbers.iter().map(|number| number.trim()).collect();
                    joined.push_str(&trimmed.join(" "));
                    joined.push_str(end.trim_start());
                }
                None => numbers.iter().for_each(|number| {
                    joined.push('\n');
                    joined.push_str(number);
                }),
            }
        }
        joined.push('\n');
    }
    joined
}

#[derive(Serialize)]
struct Document<'a> {
    tool: &'a str,
    version: &'a str,
    launches: Vec<JsonLaunch<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unused_suppressions: Vec<JsonUnused<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<JsonError<'a>>,
}

#[derive(Serialize)]
struct JsonLaunch<'a> {
    launch: &'a str,
    kernel: &'a str,
    grid: [u64; 3],
    #[serde(flatten)]
    gave: JsonGave<'a>,
    findings: Vec<JsonFinding<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    suppressed: Vec<JsonFinding<'a>>,
    #[serde(skip_serializing_if = "is_false")]
    findings_cut: bool,
    #[serde(skip_serializing_if = "is_false")]
    interrupted: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    notes: &'a [String],
}

/// What one run gave, or many.
#[derive(Serialize)]
#[serde(untagged)]
enum JsonGave<'a> {
    Run {
        programs: u64,
        elapsed_s: f64,
        outputs: Outputs<'a>,
        prints: Vec<JsonPrint<'a>>,
    },
    Search {
        search: JsonSearch<'a>,
        case: Option<JsonCase<'a>>,
    },
}

#[derive(Serialize)]
struct JsonSearch<'a> {
    cases: u32,
    seed: u64,
    fitted: u32,
    not_launched: u32,
    why: Option<&'a str>,
    bounds: ByOutput<'a>,
}

/// How the bounds fared, as a map from an output's name.
struct ByOutput<'a>(&'a [Bounds]);

impl Serialize for ByOutput<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let fared = |bounds: &Bounds| JsonBounds {
            judged: bounds.judged,
            unknown: bounds.unknown,
            largest: JsonValue(Value::Float(bounds.largest)),
        };
        serializer.collect_map(self.0.iter().map(|bounds| (&bounds.output, fared(bounds))))
    }
}

#[derive(Serialize)]
struct JsonBounds {
    judged: u64,
    unknown: u64,
    largest: JsonValue,
}

#[derive(Serialize)]
struct JsonCase<'a> {
    smallest: Option<&'a str>,
    first: Option<&'a str>,
    shrinking: u32,
    launch_file: Option<&'a str>,
    replay: &'a str,
    map: Option<Vec<&'a str>>,
}

fn gave(launched: &Launched) -> JsonGave<'_> {
    match &launched.search {
        None => JsonGave::Run {
            programs: launched.programs,
            elapsed_s: launched.elapsed_s,
            outputs: Outputs(&launched.outputs),
            prints: launched.prints.iter().map(print).collect(),
        },
        Some(search) => JsonGave::Search {
            search: JsonSearch {
                cases: search.cases,
                seed: search.seed,
                fitted: search.fitted,
                not_launched: search.not_launched.0,
                why: search.not_launched.1.as_deref(),
                bounds: ByOutput(&search.bounds),
            },
            case: search.case.as_ref().map(|case| JsonCase {
                smallest: case.words.as_ref().map(|(smallest, _)| smallest.as_str()),
                first: case.words.as_ref().map(|(_, first)| first.as_str()),
                shrinking: case.shrinking,
                launch_file: case.launch_file.as_deref(),
                replay: &case.replay,
                map: case.map.as_ref().map(|map| map.lines().collect()),
            }),
        },
    }
}

fn is_false(b: &bool) -> bool {
    !*b
}

fn launch(launched: &Launched) -> JsonLaunch<'_> {
    JsonLaunch {
        launch: &launched.launch,
        kernel: &launched.kernel,
        grid: launched.grid,
        gave: gave(launched),
        findings: launched.findings.iter().map(finding).collect(),
        suppressed: launched.suppressed.iter().map(finding).collect(),
        findings_cut: launched.findings_cut,
        interrupted: launched.interrupted,
        notes: &launched.notes,
    }
}

/// Outputs as a map from name to summary, in the order of the arguments.
struct Outputs<'a>(&'a [OutputSummary]);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for output in self.0 {
            map.serialize_entry(
                &output.name,
                &JsonOutput {
                    dtype: &output.dtype,
                    shape: &output.shape,
                    min: output.min.map(JsonValue),
                    max: output.max.map(JsonValue),
                    nan: output.nan,
                    inf: output.inf,
                    sha256: output.sha256.as_deref(),
                },
            )?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct JsonOutput<'a> {
    dtype: &'a str,
    shape: &'a [i64],
    min: Option<JsonValue>,
    max: Option<JsonValue>,
    nan: u64,
    inf: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonPrint<'a> {
    program: [u32; 3],
    location: Option<JsonLocation<'a>>,
    text: &'a str,
}

fn print(printed: &Printed) -> JsonPrint<'_> {
    JsonPrint {
        program: printed.program,
        location: printed.location.as_ref().map(location),
        text: &printed.text,
    }
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    id: &'static str,
    severity: &'static str,
    message: &'a str,
    count: u64,
    #[serde(skip_serializing_if = "is_false")]
    count_at_least: bool,
    program: Option<[u32; 3]>,
    location: Option<JsonLocation<'a>>,
    born: Option<JsonLocation<'a>>,
    used: Option<JsonLocation<'a>>,
    other: Option<JsonLocation<'a>>,
    tensor: Option<JsonTensor<'a>>,
    lane: Option<&'a [u32]>,
    element: Option<&'a [i64]>,
    byte_offset: Option<JsonInt>,
    operands: Vec<JsonOperand<'a>>,
    help: Option<&'a str>,
    chain: Vec<JsonChain<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    chain_end: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    debug: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suppression: Option<JsonSuppression<'a>>,
}

#[derive(Serialize)]
struct JsonSuppression<'a> {
    file: &'a str,
    line: u32,
    reason: &'a str,
}

#[derive(Serialize)]
struct JsonUnused<'a> {
    id: &'static str,
    file: &'a str,
    line: u32,
}

fn finding(finding: &Finding) -> JsonFinding<'_> {
    JsonFinding {
        id: finding.check.id(),
        severity: finding.severity.as_str(),
        message: &finding.message,
        count: finding.count,
        count_at_least: finding.count_at_least,
        program: finding.program,
        location: finding.location.as_ref().map(location),
        born: finding.born.as_ref().map(location),
        used: finding.used.as_ref().map(location),
        other: finding.other.as_ref().map(location),
        tensor: finding.tensor.as_ref().map(tensor),
        lane: finding.lane.as_deref(),
        element: finding.element.as_deref(),
        byte_offset: finding.byte_offset.map(JsonInt),
        operands: finding
            .operands
            .iter()
            .map(|(name, value)| JsonOperand {
                name,
                value: JsonValue(*value),
            })
            .collect(),
        help: finding.help.as_deref(),
        chain: finding.chain.iter().map(chain).collect(),
        chain_end: finding.chain_end.as_deref(),
        debug: finding.debug.as_deref(),
        suppression: finding.suppressed.as_ref().map(|by| JsonSuppression {
            file: &by.file,
            line: by.line,
            reason: &by.reason,
        }),
    }
}

#[derive(Serialize)]
struct JsonLocation<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    function: Option<&'a str>,
    inlined_at: Vec<JsonFrame<'a>>,
}

#[derive(Serialize)]
struct JsonFrame<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    function: Option<&'a str>,
}

fn location(location: &Location) -> JsonLocation<'_> {
    JsonLocation {
        file: &location.frame.file,
        line: location.frame.line,
        column: location.frame.column,
        function: location.frame.function.as_deref(),
        inlined_at: location.inlined_at.iter().map(frame).collect(),
    }
}

fn frame(frame: &Frame) -> JsonFrame<'_> {
    JsonFrame {
        file: &frame.file,
        line: frame.line,
        column: frame.column,
        function: frame.function.as_deref(),
    }
}

#[derive(Serialize)]
struct JsonTensor<'a> {
    name: &'a str,
    dtype: &'a str,
    shape: &'a [i64],
    strides: &'a [i64],
}

fn tensor(tensor: &TensorRef) -> JsonTensor<'_> {
    JsonTensor {
        name: &tensor.name,
        dtype: &tensor.dtype,
        shape: &tensor.shape,
        strides: &tensor.strides,
    }
}

#[derive(Serialize)]
struct JsonOperand<'a> {
    name: &'a str,
    value: JsonValue,
}

#[derive(Serialize)]
struct JsonChain<'a> {
    location: Option<JsonLocation<'a>>,
    op: &'a str,
    value: JsonValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
}

fn chain(step: &Chain) -> JsonChain<'_> {
    JsonChain {
        location: step.location.as_ref().map(location),
        op: &step.op,
        value: JsonValue(step.value),
        name: step.name.as_deref(),
        note: step.note.as_deref(),
    }
}

#[derive(Serialize)]
struct JsonError<'a> {
    kind: &'static str,
    message: &'a str,
    location: Option<JsonPlace<'a>>,
    notes: &'a [String],
    help: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonPlace<'a> {
    file: &'a str,
    line: usize,
    column: usize,
    label: &'a str,
}

fn error(error: &Error) -> JsonError<'_> {
    JsonError {
        kind: match error.kind {
            ErrorKind::Input => "input",
            ErrorKind::Unsupported => "unsupported",
            ErrorKind::Internal => "internal",
        },
        message: &error.message,
        location: error.labels.first().map(|label| {
            let (line, column) = label.source.line_column(label.range.start);
            JsonPlace {
                file: &label.source.name,
                line,
                column,
                label: &label.text,
            }
        }),
        notes: &error.notes,
        help: error.help.as_deref(),
    }
}

struct JsonValue(Value);

impl Serialize for JsonValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Int(i) => JsonInt(i).serialize(serializer),
            Value::Bool(b) => serializer.serialize_bool(b),
            Value::Float(f) => match number::special(f) {
                Some(word) => serializer.serialize_str(word),
                None => serializer.serialize_f64(f),
            },
        }
    }
}

struct JsonInt(i128);

impl Serialize for JsonInt {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(i) = i64::try_from(self.0) {
            serializer.serialize_i64(i)
        } else if let Ok(u) = u64::try_from(self.0) {
            serializer.serialize_u64(u)
        } else {
            serializer.serialize_str(&self.0.to_string())
        }
    }
}
