//! What the checks have found so far: one after the other, enter goes to where it was.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use tilescope_diagnostics::render::number;
use tilescope_diagnostics::{Finding, Severity};

use crate::layout::Pane;
use crate::model::Tui;
use crate::paint::{body, fit, style, text};
use crate::theme::Role;

/// Rows of the screen that a finding takes: its head, and its message in as many as are narrow.
pub fn rows_each(width: u16) -> usize {
    if width >= 60 { 3 } else { 4 }
}

/// Draws the findings.
pub fn draw(tui: &Tui, buffer: &mut Buffer, area: Rect) {
    let body = body(area);
    if tui.findings.is_empty() {
        text(
            buffer,
            body,
            (1, 0),
            "nothing found so far",
            tui.theme.style(Role::Dim),
        );
        return;
    }
    let each = rows_each(area.width);
    let seen = (usize::from(body.height) / each).max(1);
    let first = (tui.finding + 1).saturating_sub(seen);
    for (i, finding) in tui.findings.iter().enumerate().skip(first).take(seen) {
        one(tui, buffer, (body, (i - first) * each), (i, finding), each);
    }
}

fn one(
    tui: &Tui,
    buffer: &mut Buffer,
    (body, row): (Rect, usize),
    (i, finding): (usize, &Finding),
    rows: usize,
) {
    let width = usize::from(body.width);
    let role = match finding.severity {
        Severity::Error => Role::Fault,
        Severity::Warning => Role::Warning,
        Severity::Note => Role::Dim,
    };
    let end = text(
        buffer,
        body,
        (0, row),
        &format!("{} ", i + 1),
        tui.theme.style(Role::Plain),
    );
    let end = text(
        buffer,
        body,
        (end, row),
        finding.check.id(),
        tui.theme.style(role),
    );
    let place = finding
        .location
        .as_ref()
        .map_or_else(String::new, |l| format!(" {}:{}", l.frame.file, l.frame.line));
    let program = finding
        .program
        .map_or_else(String::new, |p| format!(" program {}", number::triple(&p)));
    let rest = fit(&format!("{place}{program}"), width.saturating_sub(end));
    text(buffer, body, (end, row), &rest, tui.theme.style(Role::Dim));
    for (n, line) in wrap(&finding.message, width.saturating_sub(2), rows - 1)
        .into_iter()
        .enumerate()
    {
        text(
            buffer,
            body,
            (2, row + 1 + n),
            &line,
            tui.theme.style(Role::Plain),
        );
    }
    if i == tui.finding {
        let role = if tui.focus == Pane::Inspector {
            Role::Cursor
        } else {
            Role::Shadow
        };
        style(buffer, body, row, 0..width, tui.theme.style(role));
    }
}

/// Text in lines of a width, broken between words; what does not fit in `most` lines is cut.
fn wrap(text: &str, width: usize, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            *last = fit(&format!("{last} …"), width.max(1));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_broken_between_words() {
        assert_eq!(wrap("one two three four", 9, 9), ["one two", "three", "four"]);
        assert_eq!(wrap("one two three four", 9, 2), ["one two", "three …"]);
    }
}
