//! The map of programs: a sign per program, an overview of all of them, and counts.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use tilescope_debugger::ProgramState;
use tilescope_diagnostics::render::number;

use crate::layout::Pane;
use crate::model::Tui;
use crate::paint::{body, fit, style, text};
use crate::theme::Role;

/// The first row of programs, below the counts and the overview.
pub const FIRST_ROW: usize = 3;

/// The sign and look of a state.
fn look(state: ProgramState) -> (&'static str, Role) {
    match state {
        ProgramState::Waiting => ("·", Role::Dim),
        ProgramState::Running => ("▸", Role::Running),
        ProgramState::Done => ("■", Role::Done),
        ProgramState::Finding => ("!", Role::Fault),
    }
}

fn word(state: ProgramState) -> &'static str {
    match state {
        ProgramState::Waiting => "waiting",
        ProgramState::Running => "running",
        ProgramState::Done => "done",
        ProgramState::Finding => "with a finding",
    }
}

/// Draws the programs.
pub fn draw(tui: &Tui, buffer: &mut Buffer, area: Rect) {
    let body = body(area);
    let pane = &tui.grid;
    let Some(view) = &pane.view else { return };
    let width = usize::from(body.width);
    let mut at = text(
        buffer,
        body,
        (0, 0),
        &format!("{} programs", pane.total()),
        tui.theme.style(Role::Title),
    );
    let states = [
        ProgramState::Waiting,
        ProgramState::Running,
        ProgramState::Done,
        ProgramState::Finding,
    ];
    for (state, count) in states.into_iter().zip(tui.counts()) {
        let (sign, role) = look(state);
        if count > 0 {
            at = text(buffer, body, (at + 1, 0), sign, tui.theme.style(role));
            at = text(
                buffer,
                body,
                (at, 0),
                &count.to_string(),
                tui.theme.style(Role::Plain),
            );
        }
    }
    for (column, state) in pane.overview.iter().enumerate() {
        let (sign, role) = look(*state);
        text(buffer, body, (column, 1), sign, tui.theme.style(role));
    }
    text(
        buffer,
        body,
        (0, 2),
        &"─".repeat(width),
        tui.theme.style(Role::Dim),
    );
    let total = pane.total();
    for row in 0..pane.rows {
        for column in 0..pane.columns {
            let linear = (pane.top + row)
                .saturating_mul(pane.columns)
                .saturating_add(column);
            if linear >= total {
                break;
            }
            let place = (column as usize, FIRST_ROW + row as usize);
            let (sign, role) = look(view.state(linear));
            let sign = if linear == view.current { "@" } else { sign };
            text(buffer, body, place, sign, tui.theme.style(role));
            if linear == pane.cursor {
                let role = if tui.focus == Pane::Inspector {
                    Role::Cursor
                } else {
                    Role::Shadow
                };
                style(buffer, body, place.1, place.0..place.0 + 1, tui.theme.style(role));
            }
        }
    }
    let last = usize::from(body.height).saturating_sub(1);
    let coordinates = tui.session.coordinates(pane.cursor);
    let says = format!(
        "program {} is {}, enter goes there; @ is here",
        number::triple(&coordinates),
        word(view.state(pane.cursor))
    );
    text(
        buffer,
        body,
        (0, last),
        &fit(&says, width),
        tui.theme.style(Role::Plain),
    );
}
