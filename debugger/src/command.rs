//! Commands: what a user can ask of a session, as data.

use std::ops::Range;

use tilescope_launch::expr::Expression;

/// Positions along one dimension: `3`, `2:8`, `:`; negative ones count from the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// One position.
    At(i64),
    /// From the first position up to the second, exclusive; open ends are the dimension's.
    From(Option<i64>, Option<i64>),
}

/// A part of a tensor: `x`, `x[3]`, `x[0:4, :]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRange {
    /// The tensor's name in the launch.
    pub tensor: String,
    /// One per leading dimension; dimensions left out are whole.
    pub spans: Vec<Span>,
}

/// Where a breakpoint is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakAt {
    /// A line of a source file; no file for the kernel's own.
    Line(Option<String>, u32),
    /// Every operation of a kind, for example `tt.load`.
    Op(String),
}

/// In what order programs run where the user does not say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schedule {
    /// One after the other, by rising number.
    Sequential,
    /// One after the other, shuffled by the seed.
    Random(u64),
    /// Some at a time, switched at random between operations.
    Interleave(u64),
}

/// A command. Counts are at least 1.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// To the next line, into helpers; `back` undoes it.
    Step {
        /// How often.
        count: u64,
        /// Against the flow of time.
        back: bool,
    },
    /// To the next line, over helpers.
    Next {
        /// How often.
        count: u64,
        /// Against the flow of time.
        back: bool,
    },
    /// Until the helper has returned; back to where it was called.
    Out {
        /// How often.
        count: u64,
        /// Against the flow of time.
        back: bool,
    },
    /// One operation.
    StepOp {
        /// How often.
        count: u64,
        /// Against the flow of time.
        back: bool,
    },
    /// Until something stops it.
    Continue {
        /// Pass so many stops.
        count: u64,
        /// Against the flow of time.
        back: bool,
    },
    /// Until this line, in this program.
    Until(BreakAt),
    /// Switches to a program.
    Program([u64; 3]),
    /// Switches to the next program that has not ended.
    NextProgram,
    /// To the beginning of the launch.
    Restart,
    /// To where a finding (1 is the first) was made.
    GotoFinding(u64),
    /// To the moment before the last command that moved.
    Undo,
    /// Sets a breakpoint.
    Break {
        /// Where.
        at: BreakAt,
        /// Stops only where this is true.
        condition: Option<Expression>,
        /// Stops only in programs with these linear numbers.
        programs: Option<Range<u64>>,
        /// Deleted once hit.
        once: bool,
    },
    /// Stops where elements of a tensor are read or written.
    WatchMemory {
        /// Which elements.
        range: MemoryRange,
        /// Also where they are only read.
        reads: bool,
    },
    /// Stops where an expression over variables becomes true (or, without condition, changes).
    WatchValue {
        /// The variable.
        value: Expression,
        /// The condition.
        condition: Option<Expression>,
    },
    /// Stops at findings, or does not.
    StopAtFindings(bool),
    /// Removes a breakpoint, or all.
    Delete(Option<u32>),
    /// Switches a breakpoint on, or all.
    Enable(Option<u32>),
    /// Switches a breakpoint off, or all.
    Disable(Option<u32>),
    /// Passes a breakpoint so many times.
    Ignore(u32, u64),
    /// Lists breakpoints.
    Breakpoints,
    /// Shows the value of an expression.
    Print(Expression),
    /// Summarises a tile.
    Tile(String),
    /// Shows elements of a tensor.
    Memory(MemoryRange),
    /// Shows what this program read and wrote of a tensor.
    Touched(String),
    /// Finds who wrote an element last.
    WhoWrote(MemoryRange),
    /// Explains a lane of a value.
    Why(Expression),
    /// Shows the variables.
    Locals,
    /// Shows the kernel's arguments.
    Args,
    /// Shows the calls that led here.
    Backtrace,
    /// Shows source lines, around a line if given.
    List(Option<u32>),
    /// Shows the operations around this one.
    Ir,
    /// Lists what the checks have found.
    Findings,
    /// Shows what the kernel has printed.
    Prints,
    /// Shows the state of all programs.
    Grid,
    /// Shows or chooses the order of programs.
    Schedule(Option<Schedule>),
    /// Says where the session is.
    Where,
    /// Explains commands.
    Help(Option<String>),
    /// Ends the session.
    Quit,
}

/// A row of the table of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandInfo {
    /// The whole name.
    pub name: &'static str,
    /// Shorter names.
    pub aliases: &'static [&'static str],
    /// What may follow.
    pub usage: &'static str,
    /// One line.
    pub help: &'static str,
}

macro_rules! commands {
    ($($name:literal [$($alias:literal)*] $usage:literal $help:literal;)*) => {
        /// All commands, in the order of the help.
        pub const COMMANDS: &[CommandInfo] = &[
            $(CommandInfo { name: $name, aliases: &[$($alias),*], usage: $usage, help: $help },)*
        ];
    };
}

commands! {
    "step" ["s"] "[N]" "Go to the next line, into helpers.";
    "next" ["n"] "[N]" "Go to the next line, over helpers.";
    "out" ["finish" "f"] "[N]" "Go on until this helper (N of them) has returned; in the kernel itself, to the program's end.";
    "stepi" ["si"] "[N]" "Go one operation on.";
    "continue" ["c"] "[N]" "Go on until a breakpoint, a watchpoint, a finding or the end of the launch; N passes N-1 stops.";
    "rstep" ["rs"] "[N]" "Go back to the line before, into helpers.";
    "rnext" ["rn"] "[N]" "Go back to the line before, over helpers.";
    "rout" ["rfinish" "rf"] "[N]" "Go back to where this helper (N of them) was called.";
    "rstepi" ["rsi"] "[N]" "Go back one operation.";
    "rcontinue" ["rc"] "[N]" "Go back to the last breakpoint, watchpoint or finding, or to the beginning.";
    "until" ["u"] "[FILE:]LINE" "Go on until this line, in this program.";
    "program" [] "X[,Y,Z]" "Switch to a program; each keeps its place.";
    "next-program" ["np"] "" "Switch to the next program that has not ended.";
    "restart" ["run"] "" "Go to the beginning of the launch; breakpoints stay.";
    "goto" [] "finding N" "Go to where finding N was made.";
    "undo" [] "" "Go to where the last command that moved began.";
    "break" ["b"] "[FILE:]LINE | op:NAME  [if EXPR] [program X[..Y]]" "Stop before a line, or before each operation of a kind.";
    "tbreak" ["tb"] "[FILE:]LINE | op:NAME  [if EXPR] [program X[..Y]]" "The same, once.";
    "watch" ["w"] "TENSOR[INDEX] | VALUE [if EXPR]" "Stop where elements of a tensor are written, by any program, or where a variable changes.";
    "awatch" ["aw"] "TENSOR[INDEX]" "Stop where elements of a tensor are read or written.";
    "catch" [] "findings | none" "Stop at the first occurrence of each finding (as at the start), or at none.";
    "delete" ["d"] "[N]" "Remove a breakpoint or watchpoint; without a number, all.";
    "enable" [] "[N]" "Switch a breakpoint on.";
    "disable" [] "[N]" "Switch a breakpoint off.";
    "ignore" [] "N COUNT" "Pass a breakpoint COUNT times.";
    "breakpoints" [] "" "List breakpoints and watchpoints with their hits.";
    "print" ["p"] "EXPR" "Show a value: variables, arithmetic, comparisons, x[0, 2:8], any all isnan isinf min max sum abs mean.";
    "tile" ["t"] "NAME" "Summarise a tile: shape, least, greatest, mean, NaN, Inf, masked-off and undefined lanes.";
    "mem" ["x"] "TENSOR[RANGE]" "Show elements of a tensor.";
    "touched" [] "TENSOR" "Show what this program has read and written of a tensor.";
    "who-wrote" ["who"] "TENSOR[INDEX]" "Find the program and operation that wrote an element last.";
    "why" [] "VALUE[LANE]" "Show how a lane came to its value, back to arguments and loads.";
    "locals" [] "" "Show the variables.";
    "args" [] "" "Show the kernel's arguments.";
    "bt" ["backtrace"] "" "Show the calls that led here.";
    "list" ["l"] "[LINE]" "Show source lines.";
    "ir" [] "" "Show the operations around this one.";
    "findings" [] "" "List what the checks have found so far.";
    "prints" [] "" "Show what the kernel has printed so far.";
    "grid" ["g"] "" "Show the state of all programs.";
    "schedule" [] "[sequential | random SEED | interleave SEED]" "Show or choose the order in which programs run.";
    "where" [] "" "Say where the session is.";
    "help" ["h" "?"] "[COMMAND]" "Explain commands.";
    "quit" ["q" "exit"] "" "End the session.";
}

impl CommandInfo {
    /// The command with this name or alias.
    pub fn find(word: &str) -> Option<&'static CommandInfo> {
        COMMANDS
            .iter()
            .find(|info| info.name == word || info.aliases.contains(&word))
    }
}
