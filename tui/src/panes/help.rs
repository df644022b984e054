//! The help: the key table, in as many columns as fit.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use crate::keys::{KEYS, KeyRow, Scope};
use crate::model::Tui;
use crate::paint::{fit, text};
use crate::theme::Role;

/// Columns of the screen that an entry takes.
const ENTRY: u16 = 58;

/// Columns of an entry that the keys take.
const NAMES: usize = 14;

/// The lines of the help: titles, and keys with what they do. Rows without text belong to the one before.
fn entries() -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut scope = None;
    for row in KEYS {
        let title = match row.scope {
            Scope::Anywhere => "everywhere",
            Scope::Tab(tab) => tab.title(),
        };
        if scope != Some(row.scope) {
            scope = Some(row.scope);
            entries.push((
                String::new(),
                format!("{title}: with a number before them, keys repeat"),
            ));
            if row.scope != Scope::Anywhere {
                entries.pop();
                entries.push((String::new(), format!("with the focus on {title}")));
            }
        }
        if !row.help.is_empty() {
            entries.push((names(row), row.help.to_string()));
        }
    }
    entries
}

fn names(row: &KeyRow) -> String {
    let names: Vec<String> = row.keys.iter().map(ToString::to_string).collect();
    names.join(" ")
}

fn columns(width: u16) -> usize {
    usize::from(width / ENTRY).max(1)
}

/// How many rows the help takes on a screen of a width.
pub fn length(width: u16) -> usize {
    entries().len().div_ceil(columns(width))
}

/// Draws the help over the panes, from a row on.
pub fn draw(tui: &Tui, buffer: &mut Buffer, first: usize) {
    let (width, height) = tui.size;
    let area = Rect::new(0, 1, width, height.saturating_sub(2));
    let blank = " ".repeat(usize::from(width));
    let plain = tui.theme.style(Role::Plain);
    for row in 0..usize::from(area.height) {
        text(buffer, area, (0, row), &blank, plain);
    }
    let entries = entries();
    let rows = entries.len().div_ceil(columns(width));
    for (i, (keys, what)) in entries.iter().enumerate() {
        let (column, row) = (i / rows.max(1), i % rows.max(1));
        let Some(row) = row
            .checked_sub(first)
            .filter(|row| *row < usize::from(area.height))
        else {
            continue;
        };
        let start = column * usize::from(ENTRY) + 1;
        if keys.is_empty() {
            text(buffer, area, (start, row), what, tui.theme.style(Role::Title));
        } else {
            text(buffer, area, (start, row), keys, tui.theme.style(Role::KeyName));
            let room = usize::from(ENTRY).saturating_sub(NAMES + 2);
            text(buffer, area, (start + NAMES, row), &fit(what, room), plain);
        }
    }
}
