//! The variables: name, value, type; those that the last move changed are marked.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::layout::Pane;
use crate::model::Tui;
use crate::paint::{body, fit, style, text, text_right};
use crate::theme::Role;

/// Draws the variables.
pub fn draw(tui: &Tui, buffer: &mut Buffer, area: Rect) {
    tui.draw_title(
        buffer,
        area,
        Pane::Variables,
        &format!("variables ({})", tui.variables.len()),
    );
    let body = body(area);
    if tui.variables.is_empty() {
        text(
            buffer,
            body,
            (1, 0),
            "none has a value here",
            tui.theme.style(Role::Dim),
        );
    }
    let width = usize::from(body.width);
    let names = tui
        .variables
        .iter()
        .map(|row| row.variable.name.chars().count())
        .max()
        .unwrap_or(0);
    let names = names.min(width / 3).max(4);
    let rows = tui.variables.iter().enumerate().skip(tui.first_variable);
    for (at, (i, row)) in rows.take(usize::from(body.height)).enumerate() {
        let changed = row.variable.changed;
        let role = if changed { Role::Changed } else { Role::Plain };
        let sign = if changed { "*" } else { " " };
        text(buffer, body, (0, at), sign, tui.theme.style(Role::Changed));
        text(
            buffer,
            body,
            (1, at),
            &fit(&row.variable.name, names),
            tui.theme.style(role),
        );
        let title = row.title.chars().count();
        let start = names + 2;
        let room = width.saturating_sub(start + title + 1);
        text(
            buffer,
            body,
            (start, at),
            &fit(&row.text, room),
            tui.theme.style(role),
        );
        if start + 4 < width.saturating_sub(title) {
            text_right(buffer, body, (width, at), &row.title, tui.theme.style(Role::Dim));
        }
        if i == tui.variable {
            let role = if tui.focus == Pane::Variables {
                Role::Cursor
            } else {
                Role::Shadow
            };
            style(buffer, body, at, 0..width, tui.theme.style(role));
        }
    }
}
