//! Errors and findings for people, in the look of rustc: message, place with source line and caret,
//! then facts, then help.
//!
//! Messages, names and paths come from files that may hold anything: control characters in them
//! are made visible, never passed on to a terminal.

use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str,
};

use super::number;
use super::{Paint, Sources};
use crate::{
    Chain, Check, Error, ErrorKind, Finding, Frame, Location, Printed, Severity, Source, TensorRef, Value,
};

/// Characters of a source line that are shown beside a step of an explanation.
const LINE_SHOWN: usize = 72;

/// An error about an input, with the place in its text.
pub fn error(error: &Error, paint: Paint) -> String {
    let title = Level::ERROR.primary_title(visible(&error.message));
    let title = match error.kind {
        ErrorKind::Input => title,
        ErrorKind::Unsupported => title.id("unsupported"),
        ErrorKind::Internal => title.id("internal"),
    };
    let mut group = Group::with_title(title);
    let mut labels = error.labels.iter().enumerate().peekable();
    while let Some((i, first)) = labels.next() {
        // Neighbouring labels into one text share a snippet, so that their lines are shown together.
        let mut marks = vec![Mark::new(i == 0, first.range.clone(), &first.text)];
        while let Some((_, next)) = labels.next_if(|(_, l)| Arc::ptr_eq(&l.source, &first.source)) {
            marks.push(Mark::new(false, next.range.clone(), &next.text));
        }
        group = group.element(snippet(&first.source, &marks));
    }
    for note in &error.notes {
        group = group.element(Level::NOTE.message(visible(note)));
    }
    if let Some(help) = &error.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    render(&[group], paint)
}

/// A finding, with the author's source line where `sources` has it, else the TTIR line, else the place alone.
pub fn finding(finding: &Finding, sources: &dyn Sources, paint: Paint) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(visible(&finding.message))
        .id(finding.check.id());
    let places = Places::of(finding, sources);
    let mut group = Group::with_title(title).elements(places.elements());
    let pointed = places.shown.first().is_some_and(|place| place.range().is_some());
    let first = Some(occurrence(finding)).filter(|text| !pointed && !text.is_empty());
    for (name, text) in first
        .map(|text| ("first", text))
        .into_iter()
        .chain(facts(finding, sources))
    {
        group = group.element(Level::NOTE.with_name(name).message(visible(&text)));
    }
    if let Some(help) = &finding.help {
        group = group.element(Level::HELP.message(visible(help)));
    }
    if let Some(command) = &finding.debug {
        group = group.element(Level::NOTE.with_name("debug").message(visible(command)));
    }
    render(&[group], paint)
}

/// What a kernel printed, one line per line of text, each with its program.
pub fn printed(printed: &Printed) -> String {
    let program = number::triple(&printed.program);
    let mut text = String::new();
    for line in printed.text.lines() {
        text.push_str(&format!("program {program}: {}\n", visible(line)));
    }
    text
}

fn render(groups: &[Group<'_>], paint: Paint) -> String {
    let renderer = match paint {
        Paint::Plain => Renderer::plain(),
        Paint::Color => Renderer::styled(),
    };
    let mut text = renderer.render(groups);
    text.push('\n');
    text
}

pub(super) fn visible(text: &str) -> String {
    normalize_untrusted_str(text)
}

/// A range of a text to point at.
struct Mark<'a> {
    primary: bool,
    range: Range<usize>,
    text: &'a str,
}

impl<'a> Mark<'a> {
    fn new(primary: bool, range: Range<usize>, text: &'a str) -> Mark<'a> {
        Mark { primary, range, text }
    }
}

/// The lines of `source` that hold the marks; only those, since a TTIR text may have a million.
fn snippet<'a>(source: &'a Source, marks: &[Mark<'a>]) -> Snippet<'a, Annotation<'a>> {
    let text = source.text.as_str();
    let clamp = |offset: usize| text.floor_char_boundary(offset.min(text.len()));
    let first = marks.iter().map(|m| clamp(m.range.start)).min().unwrap_or(0);
    let last = marks
        .iter()
        .map(|m| clamp(m.range.end))
        .max()
        .unwrap_or(0)
        .max(first);
    let start = text[..first].rfind('\n').map_or(0, |i| i + 1);
    let end = text[last..].find('\n').map_or(text.len(), |i| last + i);
    let line = text[..start].bytes().filter(|&b| b == b'\n').count() + 1;
    let annotations = marks.iter().map(|mark| {
        let from = clamp(mark.range.start);
        let to = clamp(mark.range.end).max(from);
        let kind = match mark.primary {
            true => AnnotationKind::Primary,
            false => AnnotationKind::Context,
        };
        let annotation = kind.span(from - start..to - start);
        match mark.text {
            "" => annotation,
            text => annotation.label(visible(text)),
        }
    });
    Snippet::source(&text[start..end])
        .path(visible(&source.name))
        .line_start(line)
        .annotations(annotations)
}

/// The places of a finding, with their texts held so that snippets can borrow them.
struct Places {
    shown: Vec<Place>,
}

struct Place {
    label: String,
    primary: bool,
    frame: Frame,
    source: Option<Arc<Source>>,
}

impl Places {
    fn of(finding: &Finding, sources: &dyn Sources) -> Places {
        let mut shown = Vec::new();
        let label = occurrence(finding);
        let main = finding.location.as_ref().map(|l| l.frame.clone());
        match main.or_else(|| finding.ttir.clone()) {
            Some(frame) => shown.push(Place::new(label, true, frame, sources)),
            None => return Places { shown },
        }
        if let Some(ttir) = &finding.ttir
            && shown[0].source.is_none()
            && shown[0].frame != *ttir
        {
            let place = Place::new(String::from("this operation"), false, ttir.clone(), sources);
            shown.extend(place.source.is_some().then_some(place));
        }
        let others = [
            (&finding.born, "the value came to be here"),
            (&finding.used, "the value is used here"),
            (&finding.other, "the other access is here"),
        ];
        for (location, label) in others {
            if let Some(location) = location {
                shown.push(Place::new(
                    label.to_string(),
                    false,
                    location.frame.clone(),
                    sources,
                ));
            }
        }
        Places { shown }
    }

    fn elements(&self) -> Vec<Element<'_>> {
        let mut elements: Vec<Element<'_>> = Vec::new();
        let mut taken = vec![false; self.shown.len()];
        for (i, place) in self.shown.iter().enumerate() {
            if taken[i] {
                continue;
            }
            let Some((source, range)) = place.range() else {
                elements.push(place.origin().into());
                continue;
            };
            let mut marks = vec![Mark::new(place.primary, range, &place.label)];
            for (j, other) in self.shown.iter().enumerate().skip(i + 1) {
                if other.frame.file == place.frame.file
                    && let Some((_, range)) = other.range()
                {
                    taken[j] = true;
                    marks.push(Mark::new(other.primary, range, &other.label));
                }
            }
            elements.push(snippet(source, &marks).into());
        }
        elements
    }
}

impl Place {
    fn new(label: String, primary: bool, frame: Frame, sources: &dyn Sources) -> Place {
        let source = sources.text(&frame.file);
        Place {
            label,
            primary,
            frame,
            source,
        }
    }

    /// The range to underline; none where the text is not at hand or has no such line (it changed since).
    fn range(&self) -> Option<(&Source, Range<usize>)> {
        let source = self.source.as_deref()?;
        let line = self.frame.line as usize;
        let text = source.line(line).filter(|text| !text.trim().is_empty())?;
        let start = text.as_ptr() as usize - source.text.as_ptr() as usize;
        let range = expression_at(text, self.frame.column as usize);
        Some((source, start + range.start..start + range.end))
    }

    fn origin(&self) -> Origin<'_> {
        let origin = Origin::path(visible(&self.frame.file)).line(self.frame.line as usize);
        match self.frame.column {
            0 => origin,
            column => origin.char_column(column as usize),
        }
    }
}

/// Byte range of the name, call or number that starts at a 1-based column of a line of Python, Rust or TTIR.
///
/// A location is a point; underlining what starts there makes it readable. A call is underlined to its
/// closing bracket, or to the end of the line where it goes on below.
pub fn expression_at(line: &str, column: usize) -> Range<usize> {
    let trimmed = line.trim_end().len();
    let indent = line.len() - line.trim_start().len();
    let Some(column) = column.checked_sub(1) else {
        return indent..trimmed;
    };
    let start = match line.char_indices().nth(column) {
        Some((i, _)) if i < trimmed => i,
        _ => return indent..trimmed,
    };
    let rest = &line[start..trimmed];
    let word = rest
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '%')))
        .unwrap_or(rest.len());
    if word == 0 {
        let first = rest.chars().next().map_or(0, char::len_utf8);
        return start..start + first;
    }
    if !rest[word..].starts_with('(') {
        return start..start + word;
    }
    let mut depth = 0_usize;
    for (i, c) in rest[word..].char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return start..start + word + i + 1;
                }
            }
            _ => {}
        }
    }
    start..trimmed
}

/// Who hit it first, program and lane; said under the caret where there is one.
pub(super) fn occurrence(finding: &Finding) -> String {
    let program = finding.program.map(|p| format!("program {}", number::triple(&p)));
    let lane = finding
        .lane
        .as_ref()
        .filter(|lane| !lane.is_empty())
        .map(|lane| format!("lane {}", number::list(lane)));
    [program, lane]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

/// The facts below the source line, each with its name.
fn facts(finding: &Finding, sources: &dyn Sources) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(t) = &finding.tensor {
        facts.push(("tensor", tensor(t)));
    }
    if let Some(access) = access(finding) {
        facts.push(("access", access));
    }
    if !finding.operands.is_empty() {
        let operands: Vec<String> = finding
            .operands
            .iter()
            .map(|(name, value)| match value {
                Value::Int(i) if name == "address" => format!("{name} = {i:#x}"),
                value => format!("{name} = {}", number::exact(*value)),
            })
            .collect();
        facts.push(("values", operands.join(", ")));
    }
    for location in [&finding.location, &finding.born, &finding.used, &finding.other] {
        if let Some(calls) = location.as_ref().and_then(calls) {
            facts.push(("called", calls));
        }
    }
    if !finding.chain.is_empty() {
        facts.push(("computed", chain(finding, sources)));
    }
    if let Some(end) = &finding.chain_end {
        facts.push(("note", end.clone()));
    }
    if let Some(more) = more(finding) {
        facts.push(("note", more));
    }
    facts
}

fn tensor(tensor: &TensorRef) -> String {
    format!(
        "{} {}{} strides {}",
        tensor.name,
        tensor.dtype,
        number::list(&tensor.shape),
        number::list(&tensor.strides)
    )
}

fn access(finding: &Finding) -> Option<String> {
    let element = finding
        .element
        .as_ref()
        .map(|e| format!("element {}", number::list(e)));
    let offset = finding
        .byte_offset
        .map(|o| format!("byte offset {o} of the storage"));
    let parts: Vec<String> = [element, offset].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn more(finding: &Finding) -> Option<String> {
    // A finding about a whole launch counts elements; one with a place counts lanes.
    let of_output = matches!(
        finding.check,
        Check::PrecisionLoss | Check::OutputMismatch | Check::OrderDependent
    );
    let of_lanes = finding.lane.is_some() && !of_output;
    let noun = if of_lanes { "lane" } else { "element" };
    match (finding.count.saturating_sub(1), finding.count_at_least) {
        (0, false) => None,
        (0, true) => Some(format!("and more {noun}s")),
        (1, false) => Some(format!("and 1 more {noun}")),
        (more, false) => Some(format!("and {more} more {noun}s")),
        (more, true) => Some(format!("and at least {more} more {noun}s")),
    }
}

/// The calls that led to a place, from its own frame outwards, on one line.
fn calls(location: &Location) -> Option<String> {
    let outer: Vec<String> = location
        .inlined_at
        .iter()
        .filter(|frame| **frame != location.frame)
        .map(|frame| {
            let function = frame
                .function
                .as_ref()
                .map(|f| format!(" in {f}"))
                .unwrap_or_default();
            format!("{}:{}{function}", frame.file, frame.line)
        })
        .collect();
    (!outer.is_empty()).then(|| format!("through {}", outer.join(" < ")))
}

/// The steps to the faulty value, one a line: what is called how and is what, and the line that says so.
fn chain(finding: &Finding, sources: &dyn Sources) -> String {
    let value = |step: &Chain| {
        let name = step.name.clone().unwrap_or_else(|| in_python(&step.op));
        let points_at = step.note.as_deref().filter(|_| is_pointer(step));
        match points_at {
            Some(element) => format!("{name} -> {element}"),
            None => format!("{name} = {}", number::exact(step.value)),
        }
    };
    let values: Vec<String> = finding.chain.iter().map(value).collect();
    let width = values.iter().map(|v| v.chars().count()).max().unwrap_or(0);
    let own = finding.location.as_ref().map(|l| &l.frame);
    // The finding's own line stands above already.
    let mut quoted: Vec<(String, u32)> = own.iter().map(|own| (own.file.clone(), own.line)).collect();
    let mut line = |(step, value): (&Chain, &String)| {
        let mut line = format!("{value:width$}");
        if let Some(location) = &step.location {
            let frame = &location.frame;
            match own.is_some_and(|own| own.file == frame.file) {
                true => line.push_str(&format!("  line {}", frame.line)),
                false => line.push_str(&format!("  {}:{}", frame.file, frame.line)),
            }
            let text = sources.text(&frame.file);
            let place = (frame.file.clone(), frame.line);
            let new = !quoted.contains(&place);
            quoted.push(place);
            if new && let Some(text) = text.as_deref().and_then(|text| text.line(frame.line as usize)) {
                line.push_str(&format!(": {}", cut(text.trim())));
            }
        } else {
            line.push_str(&format!("  {}", step.op));
        }
        if let Some(note) = step.note.as_deref().filter(|_| !is_pointer(step)) {
            line.push_str(&format!(" ({note})"));
        }
        line.trim_end().to_string()
    };
    let lines: Vec<String> = finding.chain.iter().zip(&values).map(&mut line).collect();
    lines.join("\n")
}

/// An operation as a kernel's source calls it.
fn in_python(op: &str) -> String {
    match op {
        "tt.get_program_id" => String::from("tl.program_id"),
        "tt.get_num_programs" => String::from("tl.num_programs"),
        "tt.atomic_rmw" => String::from("tl.atomic"),
        _ => op
            .strip_prefix("tt.")
            .map_or_else(|| op.to_string(), |name| format!("tl.{name}")),
    }
}

/// True for a step whose note says what it points at.
fn is_pointer(step: &Chain) -> bool {
    step.note.as_deref().is_some_and(|note| !note.contains(' '))
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LINE_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn underlined(line: &str, column: usize) -> &str {
        &line[expression_at(line, column)]
    }

    #[test]
    fn the_expression_at_a_column_is_underlined() {
        let line = "    tl.store(out + f(x), y)  ";
        assert_eq!(underlined(line, 5), "tl.store(out + f(x), y)");
        assert_eq!(underlined(line, 14), "out");
        assert_eq!(underlined(line, 20), "f(x)");
        assert_eq!(underlined(line, 18), "+");
        assert_eq!(underlined(line, 0), "tl.store(out + f(x), y)");
        assert_eq!(underlined(line, 99), "tl.store(out + f(x), y)");
        assert_eq!(underlined("x = tl.load(p,", 5), "tl.load(p,");
        assert_eq!(underlined("", 1), "");
        assert_eq!(underlined("é(", 1), "é(");
    }
}
