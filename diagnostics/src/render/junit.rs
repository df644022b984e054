//! JUnit's XML, which test dashboards read: a suite per launch, in it a case per finding, or one that passes.
//!
//! Errors are failures, warnings and notes cases that pass and say something, suppressed findings are skipped cases,
//! inputs that could not be used are errors. There is no standard; this keeps to what the reader of Jenkins takes.

use std::fmt::Write;

use super::{NoSources, Paint, summary, text};
use crate::{Error, Finding, Launched, Report, Severity};

/// The whole report as a document.
pub fn report(report: &Report, errors: &[Box<Error>]) -> String {
    let cases = |launched: &Launched| (launched.findings.len() + launched.suppressed.len()).max(1);
    let tests: usize = report.launches.iter().map(cases).sum::<usize>() + errors.len();
    let failures: usize = report.launches.iter().map(failures).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites name=\"tilescope\" tests=\"{tests}\" failures=\"{failures}\" errors=\"{}\">",
        errors.len()
    );
    for launched in &report.launches {
        suite(&mut out, launched, cases(launched));
    }
    if !errors.is_empty() {
        let count = errors.len();
        let _ = writeln!(
            out,
            "  <testsuite name=\"inputs\" tests=\"{count}\" failures=\"0\" errors=\"{count}\" skipped=\"0\">"
        );
        for error in errors {
            let message = escaped(&error.message);
            let _ = writeln!(out, "    <testcase classname=\"inputs\" name=\"{message}\">");
            let said = escaped(&text::error(error, Paint::Plain));
            let _ = writeln!(out, "      <error message=\"{message}\">{said}</error>");
            out.push_str("    </testcase>\n");
        }
        out.push_str("  </testsuite>\n");
    }
    out.push_str("</testsuites>\n");
    out
}

fn failures(launched: &Launched) -> usize {
    let findings = launched.findings.iter();
    findings.filter(|f| f.severity == Severity::Error).count()
}

fn suite(out: &mut String, launched: &Launched, cases: usize) {
    let (name, kernel) = (escaped(&launched.launch), escaped(&launched.kernel));
    // A search takes no time of its own.
    let time = match launched.search {
        None => format!(" time=\"{:.6}\"", launched.elapsed_s),
        Some(_) => String::new(),
    };
    let _ = writeln!(
        out,
        "  <testsuite name=\"{name}\" tests=\"{cases}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"{time}>",
        failures(launched),
        launched.suppressed.len()
    );
    if launched.findings.is_empty() && launched.suppressed.is_empty() {
        let _ = writeln!(
            out,
            "    <testcase classname=\"{name}\" name=\"{kernel}\"{time}/>"
        );
    }
    for finding in &launched.findings {
        let _ = writeln!(
            out,
            "    <testcase classname=\"{name}\" name=\"{}\">",
            escaped(&title(finding))
        );
        let said = escaped(&text::finding(finding, &NoSources, Paint::Plain));
        let _ = match finding.severity {
            Severity::Error => writeln!(
                out,
                "      <failure type=\"{}\" message=\"{}\">{said}</failure>",
                finding.check.id(),
                escaped(&finding.message)
            ),
            _ => writeln!(out, "      <system-out>{said}</system-out>"),
        };
        out.push_str("    </testcase>\n");
    }
    for finding in &launched.suppressed {
        let reason = finding.suppressed.as_ref().map_or("", |by| by.reason.as_str());
        let _ = writeln!(
            out,
            "    <testcase classname=\"{name}\" name=\"{}\">",
            escaped(&title(finding))
        );
        let _ = writeln!(out, "      <skipped message=\"{}\"/>", escaped(reason));
        out.push_str("    </testcase>\n");
    }
    let case = launched.search.as_ref().and_then(|search| search.case.as_ref());
    if let Some(case) = case {
        let _ = writeln!(
            out,
            "    <system-out>{}</system-out>",
            escaped(&summary::case(case))
        );
    }
    out.push_str("  </testsuite>\n");
}

fn title(finding: &Finding) -> String {
    let place = finding.location.as_ref();
    let place = place.map_or_else(String::new, |l| format!(" at {}:{}", l.frame.file, l.frame.line));
    let tensor = finding
        .tensor
        .as_ref()
        .map_or_else(String::new, |t| format!(" of {}", t.name));
    format!("{}: {}{tensor}{place}", finding.kernel, finding.check.id())
}

/// A text in XML: what means something there is escaped, what may not be there at all is replaced.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push('\t'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_text_is_well_formed() {
        assert_eq!(
            escaped("a<b> & \"c\"\n\u{1b}[2J"),
            "a&lt;b&gt; &amp; &quot;c&quot;&#10;\u{fffd}[2J"
        );
    }
}
