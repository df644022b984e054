//! The memory map: a tensor in its own coordinates, and who read and wrote it.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use tilescope_debugger::{LaneState, OTHERS, READ, WRITTEN};

use crate::layout::Pane;
use crate::model::Tui;
use crate::paint::{body, fit, style, text, text_right};
use crate::theme::Role;
use crate::tile::{cell_text, row_titles};

/// The first row of elements, below the name and the indices of columns.
pub const FIRST_ROW: usize = 2;

/// The sign and look of an element that was touched.
fn look(mark: u8) -> (&'static str, Role) {
    let own = mark & (READ | WRITTEN);
    match (
        own == READ | WRITTEN,
        own == READ,
        own == WRITTEN,
        mark & OTHERS != 0,
    ) {
        (true, ..) => ("x", Role::Both),
        (_, true, _, _) => ("r", Role::Read),
        (_, _, true, _) => ("w", Role::Written),
        (_, _, _, true) => ("o", Role::Others),
        _ => ("·", Role::Dim),
    }
}

/// Draws the tensor.
pub fn draw(tui: &Tui, buffer: &mut Buffer, area: Rect) {
    let body = body(area);
    let pane = &tui.memory;
    let tensor = tui.session.launch().tensors.get(pane.tensor);
    let (Some(view), Some(tensor)) = (&pane.view, tensor) else {
        text(
            buffer,
            body,
            (1, 0),
            "the launch has no tensors",
            tui.theme.style(Role::Dim),
        );
        return;
    };
    let width = usize::from(body.width);
    let end = text(buffer, body, (0, 0), &tensor.name, tui.theme.style(Role::Title));
    let end = text(
        buffer,
        body,
        (end + 1, 0),
        &view.title,
        tui.theme.style(Role::Plain),
    );
    let which = format!(
        "{} of {}  . ,",
        pane.tensor + 1,
        tui.session.launch().tensors.len()
    );
    let axes = pane.sheet.axes_text();
    text(
        buffer,
        body,
        (end + 2, 0),
        &fit(&axes, width.saturating_sub(end + 2)),
        tui.theme.style(Role::Dim),
    );
    if end + axes.chars().count() + which.len() + 4 < width {
        text_right(buffer, body, (width, 0), &which, tui.theme.style(Role::Dim));
    }
    elements(tui, buffer, body);
    let last = usize::from(body.height).saturating_sub(1);
    if let Some(from) = &view.from {
        let [fine, masked, outside] = view.aimed;
        let mut says = format!("{from} points here: {fine} lanes");
        for (count, what) in [(masked, "masked off"), (outside, "outside")] {
            if count > 0 {
                says.push_str(&format!(", {count} {what}"));
            }
        }
        let role = if outside > 0 { Role::Fault } else { Role::Dim };
        text(
            buffer,
            body,
            (0, last.saturating_sub(1)),
            &fit(&says, width),
            tui.theme.style(role),
        );
    }
    text(
        buffer,
        body,
        (0, last),
        &fit(&view.selected, width),
        tui.theme.style(Role::Title),
    );
    let mut column = view.selected.chars().count() + 2;
    for (mark, what) in [(READ, "read"), (WRITTEN, "written"), (OTHERS, "others")] {
        let (sign, role) = look(mark);
        if column + what.len() + 2 > width {
            break;
        }
        column = text(buffer, body, (column, last), sign, tui.theme.style(role));
        column = text(buffer, body, (column + 1, last), what, tui.theme.style(Role::Dim)) + 1;
    }
}

fn elements(tui: &Tui, buffer: &mut Buffer, body: Rect) {
    let pane = &tui.memory;
    let Some(view) = &pane.view else { return };
    let sheet = &pane.sheet;
    let ((top, left), (rows, columns), cursor) = (sheet.origin(), sheet.seen(), sheet.cursor());
    let titles = row_titles(sheet);
    let cell = if pane.map { 1 } else { view.cell + 1 };
    titles_of_columns(tui, buffer, body, cell);
    for row in 0..rows {
        let at = FIRST_ROW + row as usize;
        let role = if top + row == cursor.0 {
            Role::Title
        } else {
            Role::Dim
        };
        let title = sheet.row_title(top + row).to_string();
        text_right(buffer, body, (titles - 1, at), &title, tui.theme.style(role));
        for column in 0..columns {
            let i = (row * columns + column) as usize;
            let (Some(&value), Some(&mark)) = (view.window.values.get(i), view.marks.get(i)) else {
                continue;
            };
            let aim = view.aims.get(&sheet.number_at(top + row, left + column));
            let (sign, role) = match aim {
                // What a lane leaves out is seen where nothing was touched.
                Some(LaneState::Masked) if mark == 0 => ("-", Role::Masked),
                Some(LaneState::OutOfBounds) => ("!", Role::Outside),
                _ => look(mark),
            };
            let start = titles + column as usize * cell;
            if pane.map {
                text(buffer, body, (start, at), sign, tui.theme.style(role));
                if matches!(aim, Some(LaneState::Fine)) {
                    style(buffer, body, at, start..start + 1, tui.theme.style(Role::Linked));
                }
            } else {
                let shown = if mark == 0 { " " } else { sign };
                let number = cell_text(value, view.cell - 1);
                let role = if mark == 0 { Role::Plain } else { role };
                text(buffer, body, (start, at), shown, tui.theme.style(role));
                text_right(
                    buffer,
                    body,
                    (start + view.cell, at),
                    &number,
                    tui.theme.style(role),
                );
            }
            if (top + row, left + column) == cursor {
                let role = if tui.focus == Pane::Inspector {
                    Role::Cursor
                } else {
                    Role::Shadow
                };
                let wide = if pane.map { 1 } else { view.cell };
                style(buffer, body, at, start..start + wide, tui.theme.style(role));
            }
        }
    }
}

/// Numbers above columns: each, or every tenth where an element has one column of the screen.
fn titles_of_columns(tui: &Tui, buffer: &mut Buffer, body: Rect, cell: usize) {
    let sheet = &tui.memory.sheet;
    let ((_, left), (_, columns)) = (sheet.origin(), sheet.seen());
    let titles = row_titles(sheet);
    let dim = tui.theme.style(Role::Dim);
    for column in 0..columns {
        let number = left + column;
        let start = titles + column as usize * cell;
        if cell > 1 {
            text_right(buffer, body, (start + cell - 1, 1), &number.to_string(), dim);
        } else if number % 10 == 0 {
            text(buffer, body, (start, 1), &number.to_string(), dim);
        }
    }
}
