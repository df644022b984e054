//! Replies as text.

use tilescope_diagnostics::render::{Paint, Sources, number, text};
use tilescope_diagnostics::{Frame, Severity, Value};

use crate::command::Schedule;
use crate::grid::{GridView, ProgramState};
use crate::reply::{
    BreakpointView, Listing, Position, Reason, Reply, Stopped, Touch, TouchKind, Touched, Variable, WhyStep,
    Writer,
};
use crate::values::{Lane, LaneState, Summary, TensorWindow, TileWindow};

/// Most rows and columns of a tile that are written out; more are cut in the middle.
const EDGE: usize = 4;
const MOST: usize = 16;

/// A reply as text, with a line break at its end.
pub fn reply(reply: &Reply, sources: &dyn Sources, paint: Paint) -> String {
    match reply {
        Reply::Stopped(stopped) => self::stopped(stopped, sources, paint),
        Reply::Value { text, window } => value(text, window),
        Reply::Tile { variable, summary } => tile(variable, summary),
        Reply::Memory(window) => memory(window),
        Reply::Touched(touched) => self::touched(touched),
        Reply::Writer {
            tensor,
            element,
            value,
            writer,
        } => {
            let what = format!("{tensor}{}", number::list(element));
            self::writer(&what, *value, writer.as_ref(), sources)
        }
        Reply::Why(steps) => steps.iter().map(|step| why(step, sources)).collect(),
        Reply::Variables(variables) => variables.iter().map(variable).collect(),
        Reply::Backtrace(frames) => backtrace(frames, sources),
        Reply::Listing(listing) => self::listing(listing, sources),
        Reply::Operations { lines, current } => {
            let line = |(n, text): &(u32, String)| {
                let mark = if Some(*n) == *current { "→" } else { " " };
                format!("{mark}{n:>5}  {text}\n")
            };
            lines.iter().map(line).collect()
        }
        Reply::Findings(findings) => match findings.is_empty() {
            true => String::from("nothing found so far\n"),
            false => {
                let lines = findings.iter().enumerate().map(|(i, finding)| {
                    let place = finding
                        .location
                        .as_ref()
                        .map_or_else(String::new, |l| format!("{}: ", frame(&l.frame)));
                    let word = match finding.severity {
                        Severity::Error => "error",
                        Severity::Warning => "warning",
                        Severity::Note => "note",
                    };
                    let program = finding
                        .program
                        .map_or_else(String::new, |p| format!(" in program {}", number::triple(&p)));
                    format!(
                        "{}: {place}{word}[{}]: {}{program}\n",
                        i + 1,
                        finding.check.id(),
                        finding.message
                    )
                });
                lines.collect()
            }
        },
        Reply::Prints(prints) => match prints.is_empty() {
            true => String::from("nothing printed so far\n"),
            false => prints.iter().map(text::printed).collect(),
        },
        Reply::Grid(grid) => self::grid(grid),
        Reply::Breakpoints(list) => match list.is_empty() {
            true => String::from("no breakpoints\n"),
            false => list.iter().map(breakpoint).collect(),
        },
        Reply::Schedule(schedule) => match schedule {
            Schedule::Sequential => String::from("programs run one after the other\n"),
            Schedule::Random(seed) => format!("programs run one after the other, shuffled by seed {seed}\n"),
            Schedule::Interleave(seed) => format!("programs run interleaved by seed {seed}\n"),
        },
        Reply::Done(text) => format!("{text}\n"),
        Reply::Help(rows) => help(rows),
        Reply::Quit => String::new(),
    }
}

fn help(rows: &[(String, String)]) -> String {
    match rows {
        [(usage, text)] => format!("{usage}\n  {text}\n"),
        _ => rows
            .iter()
            .map(|(usage, text)| format!("{usage}\n    {text}\n"))
            .collect(),
    }
}

/// A source line as it is shown beside places: its text without what is around it.
fn source_line(frame: &Frame, sources: &dyn Sources) -> Option<String> {
    let source = sources.text(&frame.file)?;
    Some(source.line(frame.line as usize)?.trim_end().to_string())
}

fn frame(frame: &Frame) -> String {
    match frame.column {
        0 => format!("{}:{}", frame.file, frame.line),
        column => format!("{}:{}:{column}", frame.file, frame.line),
    }
}

fn stopped(stopped: &Stopped, sources: &dyn Sources, paint: Paint) -> String {
    let position = &stopped.position;
    let mut out = String::new();
    match &stopped.reason {
        Reason::Start | Reason::Stepped | Reason::Switched => {}
        Reason::Breakpoint { id, hits } => out.push_str(&format!(
            "breakpoint {id}, hit {}\n",
            crate::breakpoints::times(*hits)
        )),
        Reason::Watchpoint { id, touch, change } => {
            out.push_str(&format!("watchpoint {id}: {}\n", self::touch(touch, *change)));
        }
        Reason::ValueChanged { id, text } => out.push_str(&format!("watchpoint {id}: {text}\n")),
        Reason::Finding { number, finding } => {
            out.push_str(&format!("finding {number}\n"));
            out.push_str(&text::finding(finding, sources, paint));
        }
        Reason::ProgramEnd => {}
        Reason::LaunchEnd => out.push_str("all programs have ended\n"),
        Reason::Beginning => out.push_str("nothing is before this\n"),
        Reason::Deadlock => {
            out.push_str("all programs that are left wait for others, and none writes anything\n")
        }
        Reason::Limit => out.push_str("the program executed more operations than it may\n"),
        Reason::Interrupted => out.push_str("interrupted\n"),
    }
    out.push_str(&self::position(position, sources));
    for note in &stopped.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    out
}

fn position(position: &Position, sources: &dyn Sources) -> String {
    let program = number::triple(&position.program);
    if position.ended {
        return format!("program {program} has ended\n");
    }
    // What is executed next is not on the line that is shown.
    let op = position.op.as_ref().filter(|_| !position.enters);
    let op = op.map_or_else(String::new, |op| match &op.result {
        Some(name) => format!("  {name} = {}", op.mnemonic),
        None => format!("  {}", op.mnemonic),
    });
    let Some(location) = &position.location else {
        return format!("program {program}, operation {}{op}\n", position.tick);
    };
    let mut out = format!("program {program} at {}{op}\n", frame(&location.frame));
    if let Some(line) = source_line(&location.frame, sources) {
        out.push_str(&format!("{:>6}  {line}\n", location.frame.line));
    }
    out
}

fn touch(touch: &Touch, change: Option<(Value, Value)>) -> String {
    let verb = match touch.kind {
        TouchKind::Read => "reads",
        TouchKind::Write => "writes",
        TouchKind::Atomic => "updates",
    };
    let place = touch
        .location
        .as_ref()
        .map_or_else(String::new, |l| format!(" at {}", frame(&l.frame)));
    let change = match change {
        Some((before, after)) => format!(": {} → {}", number::exact(before), number::exact(after)),
        None => String::new(),
    };
    let program = number::triple(&touch.program);
    let element = number::list(&touch.element);
    format!(
        "program {program} {verb} {}{element}{change}, by {}{place}",
        touch.tensor, touch.op
    )
}

fn writer(what: &str, value: Value, writer: Option<&Writer>, sources: &dyn Sources) -> String {
    let value = number::exact(value);
    let Some(writer) = writer else {
        return format!("{what} is {value}: no program has written it so far\n");
    };
    let place = writer
        .location
        .as_ref()
        .map_or_else(String::new, |l| format!(" at {}", frame(&l.frame)));
    let mut out = format!(
        "{what} is {value}: written by program {}, {}{place}, over {}\n",
        number::triple(&writer.program),
        writer.op,
        number::exact(writer.before)
    );
    if let Some(line) = writer
        .location
        .as_ref()
        .and_then(|l| Some((l.frame.line, source_line(&l.frame, sources)?)))
    {
        out.push_str(&format!("{:>6}  {}\n", line.0, line.1));
    }
    out
}

/// A type with its shape: `f32[64, 32]`.
fn type_of(dtype: &str, shape: &[usize]) -> String {
    match shape.is_empty() {
        true => dtype.to_string(),
        false => format!("{dtype}{}", number::list(shape)),
    }
}

fn lane(lane: &Lane) -> String {
    match lane.state {
        LaneState::Undefined => String::from("undefined"),
        LaneState::Masked => format!("({})", number::exact(lane.value)),
        LaneState::Fine | LaneState::OutOfBounds => number::exact(lane.value),
    }
}

fn value(text: &str, window: &TileWindow) -> String {
    let head = format!("{text}: {}", type_of(&window.dtype, &window.shape));
    if window.shape.is_empty() {
        let value = window.lanes.first().map_or_else(String::new, lane);
        return format!("{head} = {value}\n");
    }
    let cells: Vec<String> = cells(&window.lanes, window.window.columns.1 as usize, lane);
    format!(
        "{head}\n{}",
        table(
            &cells,
            window.window.columns.1 as usize,
            &row_names(&window.shape),
            (0, 0)
        )
    )
}

/// All lanes as text; those that will not be shown are left empty.
fn cells<T>(lanes: &[T], columns: usize, show: impl Fn(&T) -> String) -> Vec<String> {
    let rows = lanes.len().checked_div(columns).unwrap_or(0);
    let cells = lanes.iter().enumerate();
    cells
        .map(
            |(i, lane)| match is_shown(i / columns, rows) && is_shown(i % columns, columns) {
                true => show(lane),
                false => String::new(),
            },
        )
        .collect()
}

fn is_shown(i: usize, count: usize) -> bool {
    count <= MOST || i < EDGE || i + EDGE >= count
}

/// Sizes of the outer dimensions, for names of rows.
fn row_names(shape: &[usize]) -> Vec<usize> {
    shape.split_last().map_or(Vec::new(), |(_, outer)| outer.to_vec())
}

/// A table with the numbers of rows and columns; long ones are cut in the middle.
fn table(cells: &[String], columns: usize, outer: &[usize], first: (u64, u64)) -> String {
    let rows = cells.len().checked_div(columns).unwrap_or(0);
    let name = |row: usize| -> String {
        if outer.is_empty() {
            return String::new();
        }
        let (mut rest, mut index) = (row, Vec::new());
        for &size in outer.iter().rev() {
            index.push(rest % size.max(1));
            rest /= size.max(1);
        }
        index.reverse();
        if let Some(last) = index.last_mut() {
            *last += first.0 as usize;
        }
        let index: Vec<String> = index.iter().map(usize::to_string).collect();
        index.join(",")
    };
    let shown: Vec<usize> = (0..columns).filter(|&c| is_shown(c, columns)).collect();
    let rows_shown: Vec<usize> = (0..rows).filter(|&r| is_shown(r, rows)).collect();
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = shown
        .iter()
        .map(|&c| {
            let widest = rows_shown
                .iter()
                .map(|&r| width(&cells[r * columns + c]))
                .max()
                .unwrap_or(0);
            widest.max((c as u64 + first.1).to_string().len())
        })
        .collect();
    let names = rows_shown.iter().map(|&r| width(&name(r))).max().unwrap_or(0);
    let gap = |i: usize| shown.get(i + 1).is_some_and(|&next| next != shown[i] + 1);
    let mut out = format!("  {:names$} ", "");
    for (i, &c) in shown.iter().enumerate() {
        out.push_str(&format!(" {:>w$}", c as u64 + first.1, w = widths[i]));
        if gap(i) {
            out.push_str(" …");
        }
    }
    out.push('\n');
    for (i, &row) in rows_shown.iter().enumerate() {
        out.push_str(&format!("  {:>names$} ", name(row)));
        for (j, &c) in shown.iter().enumerate() {
            out.push_str(&format!(" {:>w$}", cells[row * columns + c], w = widths[j]));
            if gap(j) {
                out.push_str(" …");
            }
        }
        out.push('\n');
        if rows_shown.get(i + 1).is_some_and(|&next| next != row + 1) {
            out.push_str("  …\n");
        }
    }
    out.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn memory(window: &TensorWindow) -> String {
    let columns = window.window.columns.1 as usize;
    let rank = window.shape.len();
    if window.values.len() == 1 {
        let at = number::list(&window.window.index(window.window.rows.0, window.window.columns.0));
        let at = if rank == 0 { String::new() } else { at };
        return format!("{}{at} = {}\n", window.tensor, number::exact(window.values[0]));
    }
    let shape: Vec<String> = window.shape.iter().map(i64::to_string).collect();
    let head = format!("{}: {}[{}]", window.tensor, window.dtype, shape.join(", "));
    if window.values.is_empty() {
        return format!("{head}: no elements\n");
    }
    let cells = cells(&window.values, columns, |value| number::exact(*value));
    let rows = window.values.len().checked_div(columns).unwrap_or(0);
    let outer = if rank > 1 { vec![rows] } else { Vec::new() };
    format!(
        "{head}\n{}",
        table(
            &cells,
            columns,
            &outer,
            (window.window.rows.0, window.window.columns.0)
        )
    )
}

fn tile(variable: &Variable, summary: &Summary) -> String {
    let shape = variable.shape.as_deref().unwrap_or(&[]);
    let mut out = format!("{}: {}\n", variable.name, type_of(&variable.dtype, shape));
    let mut facts = Vec::new();
    if let (Some(min), Some(max)) = (summary.min, summary.max) {
        facts.push(format!("min {}, max {}", number::exact(min), number::exact(max)));
    }
    if let Some(mean) = summary.mean {
        facts.push(format!("mean {}", number::short(Value::Float(mean))));
    }
    if let Some(count) = summary.true_lanes {
        facts.push(format!("{count} true"));
    }
    for (count, what) in [
        (summary.nan, "NaN"),
        (summary.inf, "infinite"),
        (summary.masked, "masked off"),
        (summary.undefined, "undefined"),
    ] {
        if count > 0 {
            facts.push(format!("{count} {what}"));
        }
    }
    if let Some(tensor) = &variable.tensor {
        facts.push(format!("points into {tensor}"));
    }
    out.push_str(&format!(
        "  {} of {}\n",
        facts.join(", "),
        number::counted(summary.lanes, "lane")
    ));
    out
}

fn why(step: &WhyStep, sources: &dyn Sources) -> String {
    let indent = "  ".repeat(step.depth as usize);
    let name = step.name.as_deref().unwrap_or("·");
    let lane = if step.lane.is_empty() {
        String::new()
    } else {
        number::list(&step.lane)
    };
    let place = step
        .location
        .as_ref()
        .map_or_else(String::new, |l| format!("  {}", frame(&l.frame)));
    let note = step
        .note
        .as_ref()
        .map_or_else(String::new, |note| format!(" ({note})"));
    let line = step
        .location
        .as_ref()
        .filter(|_| step.depth == 0)
        .and_then(|l| source_line(&l.frame, sources));
    let line = line.map_or_else(String::new, |line| format!("  {}", line.trim_start()));
    format!(
        "{indent}{name}{lane} = {}: {}{note}{place}{line}\n",
        number::exact(step.value),
        step.op
    )
}

fn variable(variable: &Variable) -> String {
    let shape = variable.shape.as_deref().unwrap_or(&[]);
    let mark = if variable.changed { "*" } else { " " };
    let mut out = format!("{mark} {}: {}", variable.name, type_of(&variable.dtype, shape));
    match (&variable.tensor, variable.value) {
        (Some(tensor), _) => out.push_str(&format!(" → {tensor}")),
        (None, Some(value)) => out.push_str(&format!(" = {}", number::exact(value))),
        (None, None) => {}
    }
    out.push('\n');
    out
}

fn backtrace(frames: &[Frame], sources: &dyn Sources) -> String {
    if frames.is_empty() {
        return String::from("no calls: the program has ended\n");
    }
    let line = |(i, f): (usize, &Frame)| {
        let function = f
            .function
            .as_ref()
            .map_or_else(String::new, |name| format!(" in {name}"));
        let text =
            source_line(f, sources).map_or_else(String::new, |line| format!("  {}", line.trim_start()));
        format!("#{i} {}{function}{text}\n", frame(f))
    };
    frames.iter().enumerate().map(line).collect()
}

fn listing(listing: &Listing, sources: &dyn Sources) -> String {
    let Some(source) = sources.text(&listing.file) else {
        return format!("the text of {} is not at hand\n", listing.file);
    };
    let mut out = String::new();
    for n in listing.first..=listing.last {
        let Some(line) = source.line(n as usize) else {
            break;
        };
        let mark = if listing.breakpoints.contains(&n) {
            "●"
        } else {
            " "
        };
        let arrow = if listing.current == Some(n) { "→" } else { " " };
        out.push_str(format!("{mark}{arrow}{n:>5}  {line}").trim_end());
        out.push('\n');
    }
    out
}

fn touched(touched: &Touched) -> String {
    let program = number::triple(&touched.program);
    let mut out = String::new();
    for (verb, ranges) in [("has read", &touched.reads), ("has written", &touched.writes)] {
        let count: u64 = ranges.iter().map(|(first, end)| end - first).sum();
        if count == 0 {
            out.push_str(&format!(
                "program {program} {verb} nothing of {}\n",
                touched.tensor
            ));
            continue;
        }
        let counted = number::counted(count, "element");
        out.push_str(&format!(
            "program {program} {verb} {counted} of {}:\n",
            touched.tensor
        ));
        for (i, &(first, end)) in ranges.iter().enumerate() {
            if i == MOST {
                out.push_str(&format!(
                    "  … and {}\n",
                    number::counted((ranges.len() - i) as u64, "more range")
                ));
                break;
            }
            let (from, to) = (index(first, &touched.shape), index(end - 1, &touched.shape));
            match end - first {
                1 => out.push_str(&format!("  {from}\n")),
                _ => out.push_str(&format!("  {from} to {to}\n")),
            }
        }
    }
    out
}

/// The index of a row-major number.
fn index(number: u64, shape: &[i64]) -> String {
    let (mut rest, mut index) = (number, Vec::new());
    for &size in shape.iter().rev() {
        let size = size.max(1) as u64;
        index.push(rest % size);
        rest /= size;
    }
    index.reverse();
    number::list(&index)
}

fn breakpoint(b: &BreakpointView) -> String {
    let mut out = format!("{}: {}", b.id, b.text);
    if !b.enabled {
        out.push_str(", disabled");
    }
    if b.hits > 0 {
        out.push_str(&format!(", hit {}", crate::breakpoints::times(b.hits)));
    }
    if b.ignore > 0 {
        out.push_str(&format!(", passed {} more", crate::breakpoints::times(b.ignore)));
    }
    out.push('\n');
    out
}

fn grid(grid: &GridView) -> String {
    let [x, y, z] = grid.grid;
    let total: u64 = grid.runs.iter().map(|run| run.count).sum();
    let mut parts = Vec::new();
    for (state, word) in [
        (ProgramState::Done, "done"),
        (ProgramState::Finding, "with findings"),
        (ProgramState::Running, "begun"),
        (ProgramState::Waiting, "waiting"),
    ] {
        let count = grid.count(state);
        if count > 0 {
            parts.push(format!("{count} {word}"));
        }
    }
    let mut out = format!(
        "grid ({x}, {y}, {z}), {}: {}\n",
        number::counted(total, "program"),
        parts.join(", ")
    );
    for run in grid
        .runs
        .iter()
        .filter(|run| run.state == ProgramState::Finding)
        .take(MOST)
    {
        out.push_str(&format!(
            "  findings in programs {} to {}\n",
            run.first,
            run.first + run.count - 1
        ));
    }
    out
}
