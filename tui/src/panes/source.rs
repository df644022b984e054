//! The source and the operations: lines with a margin, colours, and the values that changed at their ends.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::layout::Pane;
use crate::model::Tui;
use crate::paint::{body, fit, style, text, text_right};
use crate::source::{Line, TextView};
use crate::theme::Role;

/// Columns of the margin: breakpoint, arrow.
pub const MARGIN: usize = 2;

/// Columns from which the values at a line's end are hung when the line is short.
const VALUES_FROM: usize = 40;

/// Draws the source.
pub fn draw(tui: &Tui, buffer: &mut Buffer, area: Rect) {
    let Some(view) = tui.view() else { return };
    tui.draw_title(buffer, area, Pane::Source, &view.name);
    let body = body(area);
    let location = tui.position.location.as_ref().filter(|_| !tui.position.ended);
    let current = location
        .filter(|l| l.frame.file == view.name)
        .map(|l| l.frame.line);
    let code = tui.code_lines.get(&view.name);
    for row in 0..usize::from(body.height) {
        let number = view.top + row as u32;
        let Some(line) = view.line(number) else { break };
        let here = tui.breakpoints.iter().find(|b| {
            b.line
                .as_ref()
                .is_some_and(|(f, l)| *l == number && *f == view.name)
        });
        if let Some(breakpoint) = here {
            let sign = if breakpoint.enabled { "●" } else { "○" };
            text(buffer, body, (0, row), sign, tui.theme.style(Role::Breakpoint));
        }
        let end = draw_line(
            tui,
            buffer,
            (body, row),
            view,
            (number, line),
            current == Some(number),
        );
        let has_code = code.is_none_or(|lines| lines.binary_search(&number).is_ok());
        if !has_code {
            style(
                buffer,
                body,
                row,
                MARGIN..MARGIN + digits(view),
                tui.theme.style(Role::Dim),
            );
        }
        if let Some(values) = tui.changed.get(&(view.name.clone(), number)) {
            let width = usize::from(body.width);
            let length = values.chars().count();
            // Where the line leaves no room, over its end; never over its first part.
            let start = (end + 2)
                .max(VALUES_FROM)
                .min(width.saturating_sub(length))
                .max(width * 3 / 5);
            if start + 6 < width {
                text(buffer, body, (start - 1, row), " ", tui.theme.style(Role::Plain));
                let values = fit(values, width - start);
                text(
                    buffer,
                    body,
                    (start, row),
                    &values,
                    tui.theme.style(Role::Changed),
                );
            }
        }
        if number == view.cursor {
            let role = if tui.focus == Pane::Source {
                Role::Cursor
            } else {
                Role::Shadow
            };
            let columns = MARGIN..usize::from(body.width);
            style(buffer, body, row, columns, tui.theme.style(role));
        }
    }
}

/// Draws the operations.
pub fn draw_ttir(tui: &Tui, buffer: &mut Buffer, area: Rect) {
    let view = &tui.ttir;
    tui.draw_title(buffer, area, Pane::Ttir, &format!("{} (TTIR)", view.name));
    let body = body(area);
    let current = tui.position.op.as_ref().and_then(|op| op.line);
    for row in 0..usize::from(body.height) {
        let number = view.top + row as u32;
        let Some(line) = view.line(number) else { break };
        draw_line(
            tui,
            buffer,
            (body, row),
            view,
            (number, line),
            current == Some(number),
        );
        let columns = MARGIN..usize::from(body.width);
        if number == view.cursor && tui.focus == Pane::Ttir {
            style(buffer, body, row, columns, tui.theme.style(Role::Cursor));
        } else if tui.is_linked(number) {
            text(buffer, body, (0, row), "·", tui.theme.style(Role::Linked));
            style(buffer, body, row, columns, tui.theme.style(Role::Linked));
        }
    }
}

fn digits(view: &TextView) -> usize {
    view.last().to_string().len().max(2)
}

/// Draws a line with its number and the arrow; gives the column after it.
fn draw_line(
    tui: &Tui,
    buffer: &mut Buffer,
    (body, row): (Rect, usize),
    view: &TextView,
    (number, line): (u32, &Line),
    is_current: bool,
) -> usize {
    let digits = digits(view);
    let start = MARGIN + digits + 1;
    text_right(
        buffer,
        body,
        (MARGIN + digits, row),
        &number.to_string(),
        tui.theme.style(Role::Plain),
    );
    if is_current {
        text(buffer, body, (1, row), "→", tui.theme.style(Role::Current));
        style(
            buffer,
            body,
            row,
            0..MARGIN + digits,
            tui.theme.style(Role::Current),
        );
    }
    let mut end = start;
    let mut at = 0;
    let mut column = 0;
    // Plain text between the coloured parts, and those, in the order of the line.
    let whole = line.text.len();
    let parts = line.parts.iter().map(|(range, role)| (range.clone(), *role));
    for (range, role) in parts.chain([(whole..whole, Role::Plain)]) {
        for (piece, role) in [(at..range.start, Role::Plain), (range.clone(), role)] {
            let Some(piece) = line.text.get(piece) else {
                continue;
            };
            let length = piece.chars().count();
            let seen: String = piece.chars().skip(view.left.saturating_sub(column)).collect();
            if !seen.is_empty() {
                let place = start + column.saturating_sub(view.left);
                end = text(buffer, body, (place, row), &seen, tui.theme.style(role));
            }
            column += length;
        }
        at = range.end;
    }
    matches(tui, buffer, (body, row), line, (start, view.left));
    end
}

/// Marks what the search found on a line.
fn matches(
    tui: &Tui,
    buffer: &mut Buffer,
    (body, row): (Rect, usize),
    line: &Line,
    (start, left): (usize, usize),
) {
    if tui.search.is_empty() {
        return;
    }
    let exact = tui.search.chars().any(char::is_uppercase);
    let text = if exact {
        line.text.clone()
    } else {
        line.text.to_lowercase()
    };
    for (at, found) in text.match_indices(&tui.search) {
        let column = text.get(..at).map_or(0, |before| before.chars().count());
        let Some(from) = (start + column).checked_sub(left).filter(|from| *from >= start) else {
            continue;
        };
        style(
            buffer,
            body,
            row,
            from..from + found.chars().count(),
            tui.theme.style(Role::Match),
        );
    }
}
