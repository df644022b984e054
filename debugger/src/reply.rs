//! Replies: what a command gave, as data. [`crate::render`] makes text and JSON of it.

use tilescope_diagnostics::{Finding, Frame, Location, Printed, Value};

use crate::command::Schedule;
use crate::grid::GridView;
use crate::values::{Summary, TensorWindow, TileWindow};

/// What a command gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The session moved, or says where it is.
    Stopped(Box<Stopped>),
    /// A value: `print`.
    Value {
        /// The expression as written.
        text: String,
        /// Its lanes, or the first of them.
        window: TileWindow,
    },
    /// A tile: `tile`.
    Tile {
        /// The variable.
        variable: Variable,
        /// What is in it.
        summary: Summary,
    },
    /// Elements of a tensor: `mem`.
    Memory(TensorWindow),
    /// What this program read and wrote: `touched`.
    Touched(Touched),
    /// Who wrote an element last: `who-wrote`.
    Writer {
        /// Which element.
        tensor: String,
        /// Its index.
        element: Vec<i64>,
        /// What it holds.
        value: Value,
        /// None if nobody did.
        writer: Option<Writer>,
    },
    /// How a value came to be, the value itself first: `why`.
    Why(Vec<WhyStep>),
    /// Variables: `locals`, `args`.
    Variables(Vec<Variable>),
    /// Calls, innermost first: `bt`.
    Backtrace(Vec<Frame>),
    /// Source lines: `list`.
    Listing(Listing),
    /// Operations: `ir`.
    Operations {
        /// Lines of the kernel's text around the current one.
        lines: Vec<(u32, String)>,
        /// The line of the operation to be executed next.
        current: Option<u32>,
    },
    /// What the checks found.
    Findings(Vec<Finding>),
    /// What the kernel printed.
    Prints(Vec<Printed>),
    /// All programs.
    Grid(GridView),
    /// All breakpoints and watchpoints.
    Breakpoints(Vec<BreakpointView>),
    /// The order of programs.
    Schedule(Schedule),
    /// A command that has nothing to show but that it was done.
    Done(String),
    /// Help: usage and one line, per command.
    Help(Vec<(String, String)>),
    /// The session is over.
    Quit,
}

/// Why the session stands where it stands.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The session was opened or restarted.
    Start,
    /// It went as far as was asked.
    Stepped,
    /// A breakpoint was hit.
    Breakpoint {
        /// Its number.
        id: u32,
        /// How often it was hit.
        hits: u64,
    },
    /// Watched elements were accessed.
    Watchpoint {
        /// Its number.
        id: u32,
        /// The access.
        touch: Touch,
        /// What the first element held before and after a write.
        change: Option<(Value, Value)>,
    },
    /// A watched value changed, or its condition became true.
    ValueChanged {
        /// Its number.
        id: u32,
        /// As written.
        text: String,
    },
    /// A check found something; its number in the list of findings, from 1.
    Finding {
        /// The number.
        number: usize,
        /// The finding.
        finding: Box<Finding>,
    },
    /// The program has ended.
    ProgramEnd,
    /// All programs have ended.
    LaunchEnd,
    /// There is nothing before this.
    Beginning,
    /// All programs wait for others, and none will write.
    Deadlock,
    /// A program executed more operations than allowed.
    Limit,
    /// The user interrupted it.
    Interrupted,
    /// The session switched to another program.
    Switched,
}

/// Where the session stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Position {
    /// Program id (x, y, z).
    pub program: [u32; 3],
    /// Linear program number.
    pub linear: u64,
    /// Operations that the program has executed.
    pub tick: u64,
    /// The place of the operation to be executed next; none where its place is unknown.
    pub location: Option<Location>,
    /// That operation; none if the program has ended.
    pub op: Option<OpView>,
    /// Helpers entered.
    pub depth: u32,
    /// The line only calls a helper, which the operation is in.
    pub enters: bool,
    /// The program has ended.
    pub ended: bool,
}

/// An operation of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpView {
    /// For example `tt.load`.
    pub mnemonic: &'static str,
    /// The author's name for its result.
    pub result: Option<String>,
    /// Its line in [`crate::Session::ir`].
    pub line: Option<u32>,
}

/// A stop.
#[derive(Debug, Clone, PartialEq)]
pub struct Stopped {
    /// Why.
    pub reason: Reason,
    /// Where.
    pub position: Position,
    /// What else the user should know.
    pub notes: Vec<String>,
}

/// A variable, or an unnamed value of an operation.
#[derive(Debug, Clone, PartialEq)]
pub struct Variable {
    /// The author's name.
    pub name: String,
    /// Element type, for example `f32`, `i1`, `*f32`.
    pub dtype: String,
    /// Shape; none for a scalar.
    pub shape: Option<Vec<usize>>,
    /// The value of a scalar or of a tile whose lanes are all equal.
    pub value: Option<Value>,
    /// For pointers: the tensor that all lanes derive from.
    pub tensor: Option<String>,
    /// Written by the operations of the last move.
    pub changed: bool,
    /// How the session knows it: give it to [`crate::Session::tile`].
    pub id: crate::values::ValueKey,
}

/// Lines of a source file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The file, as locations name it.
    pub file: String,
    /// First line shown.
    pub first: u32,
    /// Last line shown.
    pub last: u32,
    /// The line to be executed next, if it is in this file.
    pub current: Option<u32>,
    /// Lines with breakpoints.
    pub breakpoints: Vec<u32>,
}

/// Read or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TouchKind {
    /// Read.
    Read,
    /// Written.
    Write,
    /// Read and written in one.
    Atomic,
}

/// An access to an element.
#[derive(Debug, Clone, PartialEq)]
pub struct Touch {
    /// How.
    pub kind: TouchKind,
    /// The tensor.
    pub tensor: String,
    /// The first watched element accessed.
    pub element: Vec<i64>,
    /// The program.
    pub program: [u32; 3],
    /// The operation's place.
    pub location: Option<Location>,
    /// The operation.
    pub op: &'static str,
}

/// What one program read and wrote of a tensor so far.
#[derive(Debug, Clone, PartialEq)]
pub struct Touched {
    /// The tensor.
    pub tensor: String,
    /// The program.
    pub program: [u32; 3],
    /// Elements read, as ranges of row-major numbers, disjoint and rising.
    pub reads: Vec<(u64, u64)>,
    /// Elements written.
    pub writes: Vec<(u64, u64)>,
    /// Shape of the tensor.
    pub shape: Vec<i64>,
}

/// Who wrote an element.
#[derive(Debug, Clone, PartialEq)]
pub struct Writer {
    /// The program.
    pub program: [u32; 3],
    /// Operations that it had executed before.
    pub tick: u64,
    /// The operation's place.
    pub location: Option<Location>,
    /// The operation.
    pub op: &'static str,
    /// What the element held before.
    pub before: Value,
    /// What was written.
    pub after: Value,
}

/// One step of the explanation of a value.
#[derive(Debug, Clone, PartialEq)]
pub struct WhyStep {
    /// Distance from the value asked about: 0 for itself.
    pub depth: u32,
    /// The operation, for example `arith.addf`; `argument` for what nothing wrote.
    pub op: String,
    /// The author's name of the result.
    pub name: Option<String>,
    /// The lane in the result's tile.
    pub lane: Vec<usize>,
    /// Its value.
    pub value: Value,
    /// Where the operation is.
    pub location: Option<Location>,
    /// More in words: the element loaded, which of many lanes is followed.
    pub note: Option<String>,
}

/// A breakpoint or watchpoint.
#[derive(Debug, Clone, PartialEq)]
pub struct BreakpointView {
    /// Its number.
    pub id: u32,
    /// What it is, as its command would be written.
    pub text: String,
    /// File and line, where it has one.
    pub line: Option<(String, u32)>,
    /// Switched on.
    pub enabled: bool,
    /// Times hit.
    pub hits: u64,
    /// Times to be passed still.
    pub ignore: u64,
}
