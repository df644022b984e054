//! Golden tests of the renderers: one case per shape a finding, an error or a report can take.
//!
//! `BLESS=1 cargo test -p tilescope-diagnostics` rewrites the files; read them before committing.

mod schema;

use std::path::PathBuf;
use std::sync::Arc;

use tilescope_diagnostics::render::{NoSources, Paint, Sources, github, json, junit, sarif, summary, text};
use tilescope_diagnostics::{
    Chain, Check, Error, Finding, Frame, Launched, Location, OutputSummary, Printed, Report, Source,
    Suppressed, TensorRef, Unused, Value,
};

const KERNEL: &str = r#"import triton
import triton.language as tl


@triton.jit
def softmax_kernel(out_ptr, in_ptr, in_row_stride, n_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    x = tl.load(in_ptr + row * in_row_stride + cols, mask=cols < n_cols)
    y = normalize(x)
    tl.store(out_ptr + row * n_cols + cols, y)
"#;

/// Holds the one kernel above, under the name that the locations use.
struct OneFile;

impl Sources for OneFile {
    fn text(&self, file: &str) -> Option<Arc<Source>> {
        (file == "softmax.py").then(|| Source::new("kernels/softmax.py", KERNEL))
    }
}

fn frame(file: &str, line: u32, column: u32, function: Option<&str>) -> Frame {
    Frame {
        file: file.to_string(),
        line,
        column,
        function: function.map(String::from),
    }
}

fn at(line: u32, column: u32) -> Option<Location> {
    Some(Location {
        frame: frame("softmax.py", line, column, None),
        inlined_at: Vec::new(),
    })
}

fn oob_store() -> Finding {
    Finding {
        count: 312,
        program: Some([1822, 0, 0]),
        location: at(11, 5),
        tensor: Some(TensorRef {
            name: "out_ptr".into(),
            dtype: "f32".into(),
            shape: vec![1823, 781],
            strides: vec![784, 1],
        }),
        lane: Some(vec![781]),
        element: Some(vec![1823, 0]),
        byte_offset: Some(5_716_928),
        operands: vec![
            ("mask".into(), Value::Bool(true)),
            ("value".into(), Value::Float(f64::from(0.1_f32))),
            ("offset".into(), Value::Int(1_429_232)),
            ("address".into(), Value::Int(0x7000_0057_3c00)),
        ],
        help: Some("pass mask=cols < n_cols to tl.store".into()),
        debug: Some(String::from("tilescope debug vadd --finding 1")),
        chain: vec![
            Chain {
                location: at(7, 11),
                op: "tt.get_program_id".into(),
                value: Value::Int(1822),
                name: Some("row".into()),
                note: None,
            },
            Chain {
                location: at(11, 24),
                op: "arith.muli".into(),
                value: Value::Int(1_428_448),
                name: None,
                note: Some("of 4 lanes; the largest is followed".into()),
            },
        ],
        ..Finding::new(
            Check::OobStore,
            "softmax_kernel",
            "the store to out_ptr goes 4 bytes past the end of its storage",
        )
    }
}

fn undefined_lane() -> Finding {
    Finding {
        program: Some([0, 2, 0]),
        count: 2,
        lane: Some(vec![781]),
        location: Some(Location {
            frame: frame("softmax.py", 10, 9, Some("softmax_kernel")),
            inlined_at: vec![
                frame("triton/language/standard.py", 190, 12, Some("max")),
                frame("lib/norm.py", 4, 9, Some("normalize")),
                frame("softmax.py", 10, 9, Some("softmax_kernel")),
            ],
        }),
        born: at(9, 9),
        ..Finding::new(
            Check::UndefinedLane,
            "softmax_kernel",
            "a lane that the load left undefined decides a branch",
        )
    }
}

fn unwritten() -> Finding {
    Finding {
        count: 781,
        count_at_least: true,
        element: Some(vec![1822, 0]),
        ..Finding::new(
            Check::UnwrittenOutput,
            "softmax_kernel",
            "no program wrote the last row of out_ptr",
        )
    }
}

fn without_source() -> Finding {
    Finding {
        location: Some(Location {
            frame: frame("gone.py", 40, 3, None),
            inlined_at: Vec::new(),
        }),
        ttir: Some(frame("softmax.py", 7, 5, None)),
        program: Some([0, 0, 0]),
        ..Finding::new(Check::DivByZero, "softmax_kernel", "7 // 0\u{1b}[31m")
    }
}

fn report() -> Report {
    let launched = Launched {
        launch: "softmax.launch.toml".into(),
        kernel: "softmax_kernel".into(),
        grid: [1823, 1, 1],
        programs: 1823,
        elapsed_s: 0.0125,
        outputs: vec![
            OutputSummary {
                name: "out_ptr".into(),
                dtype: "f32".into(),
                shape: vec![1823, 781],
                min: Some(Value::Float(1.0 / 3.0)),
                max: Some(Value::Float(f64::INFINITY)),
                nan: 3,
                inf: 1,
                sha256: None,
            },
            OutputSummary {
                name: "n".into(),
                dtype: "u64".into(),
                shape: vec![],
                min: Some(Value::Int(0)),
                max: Some(Value::Int(i128::from(u64::MAX))),
                nan: 0,
                inf: 0,
                sha256: None,
            },
            OutputSummary {
                name: "empty".into(),
                dtype: "bf16".into(),
                shape: vec![0, 4],
                min: None,
                max: None,
                nan: 0,
                inf: 0,
                sha256: Some("e3b0c442".into()),
            },
        ],
        prints: vec![Printed {
            program: [1, 0, 0],
            location: at(7, 5),
            text: "row: 1\nand \u{1b}[2J".into(),
        }],
        findings: vec![oob_store(), undefined_lane(), unwritten()],
        suppressed: vec![suppressed()],
        findings_cut: true,
        interrupted: false,
        notes: vec![],
        search: None,
    };
    Report {
        launches: vec![launched],
        unused: vec![Unused {
            check: Check::NanBorn,
            file: "a folder/softmax.py".into(),
            line: 12,
        }],
    }
}

fn suppressed() -> Finding {
    let by = Suppressed {
        reason: "rows are padded to <32> & more".into(),
        file: "softmax.py".into(),
        line: 11,
        in_source: true,
    };
    Finding {
        suppressed: Some(by),
        ..oob_store()
    }
}

fn launch_error() -> Box<Error> {
    let source = Source::new(
        "a.launch.toml",
        "kernel = \"a.ttir\"\ngrid = [\"cdiv(n, B)\"]\n\n[vars]\nm = 3\n",
    );
    let place = |text: &str| source.text.find(text).unwrap()..source.text.find(text).unwrap() + text.len();
    let name = source.text.find("n, B").unwrap();
    Error::input("unknown name `n`")
        .at(
            &source,
            name..name + 1,
            "not a variable, an argument or a constexpr",
        )
        .at(&source, place("m = 3"), "did you mean `m`?")
        .note("names come from [vars], scalar [args] and [constexprs]")
        .help("add n to [vars]")
}

#[track_caller]
fn golden(name: &str, actual: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(actual, expected, "{name} differs; BLESS=1 rewrites it");
}

#[test]
fn a_finding_with_everything() {
    golden(
        "oob-store.txt",
        &text::finding(&oob_store(), &OneFile, Paint::Plain),
    );
}

#[test]
fn a_finding_in_colour() {
    golden(
        "oob-store.ansi",
        &text::finding(&oob_store(), &OneFile, Paint::Color),
    );
}

#[test]
fn related_places_share_the_snippet_and_calls_are_one_line() {
    golden(
        "undefined-lane.txt",
        &text::finding(&undefined_lane(), &OneFile, Paint::Plain),
    );
}

#[test]
fn a_finding_about_a_whole_launch_has_no_place() {
    golden(
        "unwritten-output.txt",
        &text::finding(&unwritten(), &OneFile, Paint::Plain),
    );
}

#[test]
fn without_the_authors_source_the_ttir_line_is_shown() {
    golden(
        "ttir-line.txt",
        &text::finding(&without_source(), &OneFile, Paint::Plain),
    );
    golden(
        "no-text.txt",
        &text::finding(&without_source(), &NoSources, Paint::Plain),
    );
}

#[test]
fn an_error_points_into_its_text() {
    golden("error.txt", &text::error(&launch_error(), Paint::Plain));
    let bare =
        Error::unsupported("layout encodings (#ttg.blocked) are not supported").help("dump the TTIR stage");
    golden("unsupported.txt", &text::error(&bare, Paint::Plain));
}

#[test]
fn summaries_and_prints() {
    let report = report();
    let launched = &report.launches[0];
    let mut all = summary::outputs(&launched.outputs);
    all.push_str(&summary::verdict(launched));
    all.push_str(&text::printed(&launched.prints[0]));
    golden("summary.txt", &all);
}

#[test]
fn the_json_report() {
    golden(
        "report.json",
        &json::report(&report(), &[launch_error()], "0.0.0"),
    );
    golden("empty.json", &json::report(&Report::default(), &[], "0.0.0"));
}

#[test]
fn the_sarif_report() {
    for (name, report, errors) in [
        ("report.sarif", report(), vec![launch_error()]),
        ("empty.sarif", Report::default(), vec![]),
    ] {
        let text = sarif::report(&report, &errors, "0.0.0");
        let faults = schema::faults(&text);
        assert!(faults.is_empty(), "{name} is no SARIF: {faults:#?}");
        golden(name, &text);
    }
    let broken = sarif::report(&report(), &[], "0").replace("\"startLine\": 11", "\"startLine\": 0");
    assert!(
        !schema::faults(&broken).is_empty(),
        "the schema lets anything pass"
    );
}

#[test]
fn the_junit_report() {
    golden("report.xml", &junit::report(&report(), &[launch_error()]));
}

#[test]
fn the_annotations_for_github() {
    golden("report.github", &github::report(&report(), &[launch_error()]));
}
