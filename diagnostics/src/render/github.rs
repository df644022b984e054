//! Annotations of a workflow on GitHub: one line per finding, which the runner shows beside the line of the source.
//!
//! The format is GitHub's workflow commands: `::error file=F,line=N,col=N,title=T::MESSAGE`.

use crate::{Error, Finding, Report, Severity, Unused};

use super::summary;
use super::text::occurrence;

/// The whole report, one command a line. Inputs that could not be used are errors too.
pub fn report(report: &Report, errors: &[Box<Error>]) -> String {
    let mut out = String::new();
    for launched in &report.launches {
        let case = launched.search.as_ref().and_then(|search| search.case.as_ref());
        let case = case.map_or_else(String::new, summary::case);
        for finding in &launched.findings {
            out.push_str(&annotation(finding, &launched.launch, case.trim_end()));
        }
    }
    for unused in &report.unused {
        out.push_str(&stale(unused));
    }
    for error in errors {
        out.push_str(&refused(error));
    }
    out
}

/// `case` is that of a search in which the finding was made.
fn annotation(finding: &Finding, launch: &str, case: &str) -> String {
    let word = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "notice",
    };
    let mut properties = Vec::new();
    match &finding.location {
        Some(location) => {
            properties.push(format!("file={}", property(&location.frame.file)));
            properties.push(format!("line={}", location.frame.line));
            if location.frame.column > 0 {
                properties.push(format!("col={}", location.frame.column));
            }
        }
        None => properties.push(format!("file={}", property(launch))),
    }
    properties.push(format!("title={}", property(finding.check.id())));
    let mut message = finding.message.clone();
    let first = occurrence(finding);
    if !first.is_empty() {
        message.push_str(&format!(" ({first})"));
    }
    message.push_str(&format!("\nlaunch: {launch}"));
    if let Some(help) = &finding.help {
        message.push_str(&format!("\nhelp: {help}"));
    }
    if !case.is_empty() {
        message.push_str(&format!("\n{case}"));
    }
    format!("::{word} {}::{}\n", properties.join(","), data(&message))
}

fn stale(unused: &Unused) -> String {
    let file = property(&unused.file);
    let message = format!("this suppression of {} matches no finding", unused.check.id());
    format!(
        "::warning file={file},line={},title=unused-suppression::{}\n",
        unused.line,
        data(&message)
    )
}

fn refused(error: &Error) -> String {
    let place = error.labels.first().map_or_else(String::new, |label| {
        let (line, column) = label.source.line_column(label.range.start);
        format!(" file={},line={line},col={column}", property(&label.source.name))
    });
    format!("::error{place}::{}\n", data(&error.message))
}

/// A message: line breaks and `%` are escaped.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// A property: its separators are, too.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_is_escaped() {
        assert_eq!(property("a,b:c\n100%"), "a%2Cb%3Ac%0A100%25");
        assert_eq!(data("a, b: c"), "a, b: c");
    }
}
