//! The console: what was asked and answered, the newest at the bottom.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::console::Kind;
use crate::layout::Pane;
use crate::model::Tui;
use crate::paint::{body, fit, text};
use crate::theme::Role;

/// Draws the console.
pub fn draw(tui: &Tui, buffer: &mut Buffer, area: Rect) {
    let console = &tui.console;
    let title = match console.back {
        0 => String::from("console"),
        back => format!("console, {back} lines below"),
    };
    tui.draw_title(buffer, area, Pane::Console, &title);
    let body = body(area);
    let rows = usize::from(body.height);
    let end = console.lines.len().saturating_sub(console.back);
    let first = end.saturating_sub(rows);
    if console.lines.is_empty() {
        text(
            buffer,
            body,
            (0, 0),
            "press : and type a command; :help lists them",
            tui.theme.style(Role::Dim),
        );
    }
    for (row, (kind, line)) in console.lines.iter().take(end).skip(first).enumerate() {
        let (sign, role) = match kind {
            Kind::Asked => ("(ts) ", Role::KeyName),
            Kind::Answer => ("", Role::Plain),
            Kind::Refused => ("", Role::Fault),
        };
        let start = text(buffer, body, (0, row), sign, tui.theme.style(role));
        let room = usize::from(body.width).saturating_sub(start);
        text(
            buffer,
            body,
            (start, row),
            &fit(line, room),
            tui.theme.style(role),
        );
    }
}
