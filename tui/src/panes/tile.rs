//! The tile inspector: numbers with the indices of rows and columns, or a heat map in half blocks.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Style};
use tilescope_debugger::{Lane, LaneState, Summary};
use tilescope_diagnostics::Value;
use tilescope_diagnostics::render::number;

use crate::layout::Pane;
use crate::model::Tui;
use crate::paint::{body, fit, style, text, text_right};
use crate::theme::{HEATS, Role};
use crate::tile::{BINS, TileView, cell_text, is_pointer, row_titles};

/// The first row of lanes, below title, name, summary and the indices of columns.
pub const FIRST_ROW: usize = 3;

/// Bars from empty to full.
const BARS: [&str; 9] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Shades from cold to hot, where there are no colours.
const SHADES: [&str; 5] = [" ", "░", "▒", "▓", "█"];

/// Draws the tile.
pub fn draw(tui: &Tui, buffer: &mut Buffer, area: Rect) {
    let body = body(area);
    let pane = &tui.tile;
    let Some(name) = &pane.name else {
        text(
            buffer,
            body,
            (1, 0),
            "choose a variable: tab, j, enter",
            tui.theme.style(Role::Dim),
        );
        return;
    };
    let Some(view) = &pane.view else {
        text(
            buffer,
            body,
            (1, 0),
            &format!("{name} has no lanes here"),
            tui.theme.style(Role::Dim),
        );
        return;
    };
    let width = usize::from(body.width);
    let end = text(buffer, body, (0, 0), name, tui.theme.style(Role::Title));
    let end = text(
        buffer,
        body,
        (end + 1, 0),
        &view.title,
        tui.theme.style(Role::Plain),
    );
    let axes = pane.sheet.axes_text();
    text(
        buffer,
        body,
        (end + 2, 0),
        &fit(&axes, width.saturating_sub(end + 2)),
        tui.theme.style(Role::Dim),
    );
    text(
        buffer,
        body,
        (0, 1),
        &fit(&summary_text(&view.summary, &view.window.dtype), width),
        tui.theme.style(Role::Plain),
    );
    match pane.heat {
        true => heat(tui, buffer, body, view),
        false => numbers(tui, buffer, body, view),
    }
    let last = usize::from(body.height).saturating_sub(1);
    let end = text(
        buffer,
        body,
        (0, last),
        &view.selected.text,
        tui.theme.style(Role::Title),
    );
    if let Some(place) = &view.selected.place {
        text(
            buffer,
            body,
            (end + 1, last),
            &fit(place, width.saturating_sub(end + 1)),
            tui.theme.style(Role::Plain),
        );
    }
    if pane.histogram {
        histogram(tui, buffer, body, view);
    }
}

fn summary_text(summary: &Summary, dtype: &str) -> String {
    if let (true, Some(Value::Int(min)), Some(Value::Int(max))) =
        (is_pointer(dtype), summary.min, summary.max)
    {
        return format!("{min:#x} … {max:#x}");
    }
    let mut parts = Vec::new();
    if let Some(count) = summary.true_lanes {
        parts.push(format!("{count} of {} true", summary.lanes));
    }
    if let (Some(min), Some(max)) = (summary.min, summary.max) {
        parts.push(format!("{} … {}", number::short(min), number::short(max)));
    }
    if let Some(mean) = summary.mean {
        parts.push(format!("mean {}", number::short(Value::Float(mean))));
    }
    let counts = [
        ("nan", summary.nan),
        ("inf", summary.inf),
        ("masked", summary.masked),
        ("undefined", summary.undefined),
    ];
    parts.extend(
        counts
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| format!("{count} {what}")),
    );
    parts.join("  ")
}

/// How a lane looks.
fn role_of(lane: Lane) -> Role {
    match (lane.state, lane.value) {
        (LaneState::OutOfBounds, _) => Role::Outside,
        (LaneState::Undefined, _) => Role::Undefined,
        (LaneState::Masked, _) => Role::Masked,
        (LaneState::Fine, Value::Float(f)) if f.is_nan() => Role::Nan,
        (LaneState::Fine, Value::Float(f)) if f.is_infinite() => Role::Inf,
        (LaneState::Fine, Value::Bool(false)) => Role::Dim,
        (LaneState::Fine, _) => Role::Plain,
    }
}

/// The lane at a row and column of what is seen.
fn lane_at(view: &TileView, row: u64, column: u64) -> Option<Lane> {
    let (_, columns) = view.seen;
    let at = row.checked_mul(columns)?.checked_add(column)?;
    view.window.lanes.get(usize::try_from(at).ok()?).copied()
}

fn numbers(tui: &Tui, buffer: &mut Buffer, body: Rect, view: &TileView) {
    let sheet = &tui.tile.sheet;
    let ((top, left), (rows, columns), cursor) = (sheet.origin(), sheet.seen(), sheet.cursor());
    let titles = row_titles(sheet);
    let dim = tui.theme.style(Role::Dim);
    let focused = tui.focus == Pane::Inspector;
    for column in 0..columns {
        let end = titles + (column as usize + 1) * (view.cell + 1) - 1;
        let role = if left + column == cursor.1 {
            Role::Title
        } else {
            Role::Dim
        };
        text_right(
            buffer,
            body,
            (end, 2),
            &(left + column).to_string(),
            tui.theme.style(role),
        );
    }
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
            let Some(lane) = lane_at(view, row, column) else {
                continue;
            };
            let start = titles + column as usize * (view.cell + 1);
            let (text, role) = cell(view, lane, (row * columns + column) as usize);
            let end = start + view.cell;
            text_right(buffer, body, (end, at), &text, tui.theme.style(role));
            if (top + row, left + column) == cursor {
                let role = if focused { Role::Cursor } else { Role::Shadow };
                style(buffer, body, at, start..start + view.cell, tui.theme.style(role));
            }
        }
    }
    // What is beyond is told by dots, so that a cut is seen.
    let (all_rows, all_columns) = sheet.size();
    if left + columns < all_columns {
        text_right(buffer, body, (usize::from(body.width), 2), "…", dim);
    }
    if top + rows < all_rows {
        let at = (titles - 1, FIRST_ROW + rows as usize - 1);
        text(buffer, body, at, "↓", dim);
    }
}

fn truth(value: Value) -> String {
    match value {
        Value::Bool(true) => String::from("true"),
        _ => String::from("false"),
    }
}

/// What the cell of a lane says; `seen` is the lane's number among those seen.
fn cell(view: &TileView, lane: Lane, seen: usize) -> (String, Role) {
    let role = role_of(lane);
    let text = match (role, lane.value) {
        (Role::Undefined, _) => "▒".repeat(view.cell.min(5)),
        (Role::Masked, _) => String::from("·"),
        (_, Value::Bool(_)) => truth(lane.value),
        (_, Value::Int(address)) if is_pointer(&view.window.dtype) => {
            return match view.targets.get(seen) {
                Some(Some((_, index, state))) => {
                    let index: Vec<String> = index.iter().map(ToString::to_string).collect();
                    let outside = *state == LaneState::OutOfBounds;
                    (
                        fit(&index.join(","), view.cell),
                        if outside { Role::Outside } else { role },
                    )
                }
                _ => (fit(&format!("{address:#x}"), view.cell), Role::Outside),
            };
        }
        (_, value) => cell_text(value, view.cell),
    };
    (text, role)
}

fn as_f64(value: Value) -> f64 {
    match value {
        Value::Int(i) => i as f64,
        Value::Float(f) => f,
        Value::Bool(b) => f64::from(u8::from(b)),
    }
}

/// The step of the scale that a lane is on; none for what is no number.
fn step(lane: Lane, (least, greatest): (f64, f64)) -> Option<usize> {
    let number = as_f64(lane.value);
    if matches!(lane.state, LaneState::Masked | LaneState::Undefined) || !number.is_finite() {
        return None;
    }
    let part = (number / 2.0 - least / 2.0) / (greatest / 2.0 - least / 2.0);
    Some(
        if part.is_finite() {
            (part * HEATS as f64) as usize
        } else {
            HEATS / 2
        }
        .min(HEATS - 1),
    )
}

fn heat(tui: &Tui, buffer: &mut Buffer, body: Rect, view: &TileView) {
    let sheet = &tui.tile.sheet;
    let (rows, columns) = view.seen;
    let end =
        |value: Option<Value>, otherwise: f64| value.map_or(otherwise, as_f64).clamp(f64::MIN, f64::MAX);
    let range = (end(view.summary.min, 0.0), end(view.summary.max, 1.0));
    let (top, left) = sheet.origin();
    let (seen, cursor) = if tui.tile.afar {
        let (high, wide) = view.block;
        let says = format!("all of it, means of {high}x{wide} lanes");
        (says, Some(sheet.cursor_afar(view.block, columns)))
    } else {
        let (row, column) = sheet.cursor();
        let last = |first: u64, count: u64| (first + count).saturating_sub(1);
        let says = format!(
            "rows {top}…{} columns {left}…{}",
            last(top, rows),
            last(left, columns)
        );
        (says, row.checked_sub(top).zip(column.checked_sub(left)))
    };
    text(buffer, body, (0, 2), &seen, tui.theme.style(Role::Dim));
    for row in (0..rows).step_by(2) {
        let at = FIRST_ROW + row as usize / 2;
        for column in 0..columns {
            let upper = lane_at(view, row, column);
            let lower = (row + 1 < rows).then(|| lane_at(view, row + 1, column)).flatten();
            let (sign, style) = blocks(tui, upper, lower, range);
            text(buffer, body, (column as usize, at), sign, style);
        }
    }
    if let Some((row, column)) = cursor {
        let style = tui.theme.style(if tui.focus == Pane::Inspector {
            Role::Focus
        } else {
            Role::Shadow
        });
        let sign = if row % 2 == 0 { "▘" } else { "▖" };
        text(
            buffer,
            body,
            (column as usize, FIRST_ROW + row as usize / 2),
            sign,
            style,
        );
    }
}

/// Two lanes, one above the other, as one sign and its colours.
fn blocks(tui: &Tui, upper: Option<Lane>, lower: Option<Lane>, range: (f64, f64)) -> (&'static str, Style) {
    let theme = tui.theme;
    let special = |lane: Option<Lane>| {
        lane.map(role_of)
            .filter(|role| !matches!(role, Role::Plain | Role::Dim))
    };
    // What is no number has a sign, so that it is seen without colours; where the two differ, the worse one.
    for role in [Role::Nan, Role::Inf, Role::Outside, Role::Undefined] {
        if special(upper) == Some(role) || special(lower) == Some(role) {
            let sign = match role {
                Role::Nan => "N",
                Role::Inf => "∞",
                Role::Outside => "!",
                _ => "▒",
            };
            return (sign, theme.style(role));
        }
    }
    let color = |lane: Option<Lane>| -> Option<Color> {
        let lane = lane?;
        theme.heat(step(lane, range)?)
    };
    match (color(upper), color(lower)) {
        (None, None) => match upper.and_then(|lane| step(lane, range)) {
            // No colours: one shade for both.
            Some(step) => (
                SHADES.get(step * SHADES.len() / HEATS).copied().unwrap_or(" "),
                Style::new(),
            ),
            None => (if upper.is_some() { "·" } else { " " }, theme.style(Role::Masked)),
        },
        (Some(upper), Some(lower)) => ("▀", Style::new().fg(upper).bg(lower)),
        (Some(upper), None) => ("▀", Style::new().fg(upper)),
        (None, Some(lower)) => ("▄", Style::new().fg(lower)),
    }
}

/// Three rows of bars and their ends, above the last row.
fn histogram(tui: &Tui, buffer: &mut Buffer, body: Rect, view: &TileView) {
    let height = 3;
    let Some(first) = usize::from(body.height).checked_sub(height + 2) else {
        return;
    };
    let most = view.bins.iter().copied().max().unwrap_or(0).max(1);
    for (i, &count) in view.bins.iter().enumerate().take(BINS) {
        // Eighths of a row; what is there at all is seen.
        let full = (height * 8) as u64;
        let eighths = (count.saturating_mul(full) / most).max(u64::from(count > 0)) as usize;
        for row in 0..height {
            let above = (height - 1 - row) * 8;
            let bar = BARS
                .get(eighths.saturating_sub(above).min(8))
                .copied()
                .unwrap_or(" ");
            text(buffer, body, (i, first + row), bar, tui.theme.style(Role::Read));
        }
    }
    let ends = [view.summary.min, view.summary.max].map(|end| end.map_or_else(String::new, number::short));
    text(
        buffer,
        body,
        (0, first + height),
        &format!("{} … {}   most {most}", ends[0], ends[1]),
        tui.theme.style(Role::Dim),
    );
}
