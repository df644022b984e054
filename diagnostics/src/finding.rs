//! Findings: what a check reports, complete enough for every renderer.

use crate::{Check, Searched, Severity};

/// One frame of a place: file, line and column (1-based; column 0 where unknown) and function.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Frame {
    /// Path as the locations of the kernel give it, relative to the file that names it.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column; 0 where unknown.
    pub column: u32,
    /// Function of the kernel's source, where known.
    pub function: Option<String>,
}

/// A place in the author's source.
///
/// `frame` is the innermost frame that is not in Triton's own library; `inlined_at` holds the whole
/// chain, innermost first, including library frames, empty when there was no inlining.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// Where to point.
    pub frame: Frame,
    /// The whole chain of calls, innermost first.
    pub inlined_at: Vec<Frame>,
}

/// A number that keeps its kind; floats print NaN and infinities as `nan`, `inf`, `-inf`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value {
    /// Signed or unsigned integer of any width.
    Int(i128),
    /// Any float type, widened exactly.
    Float(f64),
    /// A truth value.
    Bool(bool),
}

/// The tensor that a finding is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorRef {
    /// Argument (or `[tensors]`) name.
    pub name: String,
    /// Element type as the launch file spells it, for example `f32`.
    pub dtype: String,
    /// Shape of the view, in elements.
    pub shape: Vec<i64>,
    /// Strides of the view, in elements.
    pub strides: Vec<i64>,
}

/// One step of the explanation of a value: an operation, where it is, and what it gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    /// Where the operation is.
    pub location: Option<Location>,
    /// The operation's name, for example `arith.addi`.
    pub op: String,
    /// Its value in the lane in question.
    pub value: Value,
    /// The author's name of the value, with the lane: `offs[3]`.
    pub name: Option<String>,
    /// More of it: what a pointer points at, where a load read.
    pub note: Option<String>,
}

/// What one check reports about one place: its first occurrence in full, and a count.
///
/// "First" is by linear program number, then by position in the program. Built by the checks (one
/// constructor each), shown by the renderers.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// Which check.
    pub check: Check,
    /// Usually `check.severity()`.
    pub severity: Severity,
    /// What happened, one or two sentences, complete without the other fields.
    pub message: String,
    /// Lanes (or elements) concerned.
    pub count: u64,
    /// True when `count` is only a lower bound.
    pub count_at_least: bool,
    /// The kernel's name.
    pub kernel: String,
    /// Program id (x, y, z) of the first occurrence; none for findings about a whole launch.
    pub program: Option<[u32; 3]>,
    /// The faulty operation.
    pub location: Option<Location>,
    /// Where that operation stands in the TTIR text; shown where the author's source is not at hand.
    pub ttir: Option<Frame>,
    /// Where the value came to be, where that is another place.
    pub born: Option<Location>,
    /// Where the value was used, where that is another place.
    pub used: Option<Location>,
    /// The other access of a race.
    pub other: Option<Location>,
    /// The tensor concerned.
    pub tensor: Option<TensorRef>,
    /// Index of the first lane in the tile; empty for a scalar operation.
    pub lane: Option<Vec<u32>>,
    /// Index of the element in the tensor's view, where it has one (may lie outside the shape).
    pub element: Option<Vec<i64>>,
    /// Byte offset of the access from the first byte of the tensor's storage.
    pub byte_offset: Option<i128>,
    /// Named operand values of that lane, for example `("mask", true)`.
    pub operands: Vec<(String, Value)>,
    /// The usual fix.
    pub help: Option<String>,
    /// How the faulty value was computed, from the arguments on.
    pub chain: Vec<Chain>,
    /// Why the chain does not go back to the arguments, where it does not for want of memory or time.
    pub chain_end: Option<String>,
    /// The command that opens the debugger at this place, where there is one.
    pub debug: Option<String>,
    /// What silences it, in a finding that is not to be reported.
    pub suppressed: Option<Suppressed>,
}

/// What silences a finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suppressed {
    /// Why, in the words of whoever wrote it.
    pub reason: String,
    /// File of the suppression.
    pub file: String,
    /// Its line.
    pub line: u32,
    /// A comment in the kernel's source; else an entry of a file of suppressions.
    pub in_source: bool,
}

/// A suppression that silenced nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unused {
    /// The check that it names.
    pub check: Check,
    /// Its file.
    pub file: String,
    /// Its line.
    pub line: u32,
}

/// Summary of one output tensor after a launch.
#[derive(Debug, Clone, PartialEq)]
pub struct OutputSummary {
    /// Argument name.
    pub name: String,
    /// Element type as the launch file spells it.
    pub dtype: String,
    /// Shape of the view.
    pub shape: Vec<i64>,
    /// Smallest element that is not NaN; none for an empty or all-NaN tensor.
    pub min: Option<Value>,
    /// Largest element that is not NaN.
    pub max: Option<Value>,
    /// Number of NaNs.
    pub nan: u64,
    /// Number of infinities.
    pub inf: u64,
    /// Hex digest of the elements in row-major order, little-endian, when asked for.
    pub sha256: Option<String>,
}

/// What one `tt.print` printed in one program.
#[derive(Debug, Clone, PartialEq)]
pub struct Printed {
    /// Program id (x, y, z).
    pub program: [u32; 3],
    /// Where the print stands.
    pub location: Option<Location>,
    /// The text, one line or several.
    pub text: String,
}

/// The result of one launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Launched {
    /// The launch's name, usually its file as the user gave it.
    pub launch: String,
    /// The kernel's name.
    pub kernel: String,
    /// Grid (x, y, z).
    pub grid: [u64; 3],
    /// Programs that were run.
    pub programs: u64,
    /// Execution of the programs with checks, nothing else, in seconds; 0 where it was not taken.
    pub elapsed_s: f64,
    /// Summaries of the tensors that are not of role `in`.
    pub outputs: Vec<OutputSummary>,
    /// What the kernel printed, in program order.
    pub prints: Vec<Printed>,
    /// What the checks found, sorted by first program, then position.
    pub findings: Vec<Finding>,
    /// What the checks found and a suppression silences, in the same order.
    pub suppressed: Vec<Finding>,
    /// True when more findings existed than were kept.
    pub findings_cut: bool,
    /// True when the run was stopped before all programs had finished: what is here is what was seen so far.
    pub interrupted: bool,
    /// Remarks on how the launch was read or judged, for example a check that did not apply.
    pub notes: Vec<String>,
    /// Where many cases of the launch were run: what that gave. Programs, time, outputs and prints are then those of none.
    pub search: Option<Searched>,
}

/// The results of all launches of one command.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Report {
    /// In the order given.
    pub launches: Vec<Launched>,
    /// Suppressions that silenced nothing in any launch.
    pub unused: Vec<Unused>,
}

impl Finding {
    /// A finding with the check's usual severity, a count of one, and nothing else known yet.
    pub fn new(check: Check, kernel: impl Into<String>, message: impl Into<String>) -> Finding {
        Finding {
            check,
            severity: check.severity(),
            message: message.into(),
            count: 1,
            count_at_least: false,
            kernel: kernel.into(),
            program: None,
            location: None,
            ttir: None,
            born: None,
            used: None,
            other: None,
            tensor: None,
            lane: None,
            element: None,
            byte_offset: None,
            operands: Vec::new(),
            help: None,
            chain: Vec::new(),
            chain_end: None,
            debug: None,
            suppressed: None,
        }
    }
}

impl Report {
    /// True when a finding of severity error exists.
    pub fn has_errors(&self) -> bool {
        self.launches
            .iter()
            .flat_map(|l| &l.findings)
            .any(|f| f.severity == Severity::Error)
    }
}
