//! The mouse: a click gives the focus and moves the cursor, in the margin it sets a breakpoint; the wheel scrolls.

use ratatui_core::layout::{Position, Rect};

use crate::input::Mouse;
use crate::keys::Toward;
use crate::layout::{Pane, Tab};
use crate::model::{Flow, Mode, Tui};
use crate::panes;
use crate::tile::row_titles;

/// Rows that the wheel turns.
const WHEEL: u64 = 3;

impl Tui {
    pub(crate) fn mouse(&mut self, mouse: Mouse, column: u16, row: u16) -> Flow {
        if !matches!(self.mode, Mode::Normal) {
            return Flow::Wait;
        }
        let at = Position::new(column, row);
        let hit = self
            .areas
            .as_ref()
            .and_then(|areas| areas.panes.iter().find(|(_, area)| area.contains(at)));
        let Some(&(pane, area)) = hit else {
            return Flow::Wait;
        };
        match mouse {
            Mouse::Press => {
                self.focus = pane;
                self.message = None;
                self.press(
                    pane,
                    area,
                    (usize::from(column - area.x), usize::from(row - area.y)),
                );
            }
            Mouse::ScrollUp | Mouse::ScrollDown => {
                let toward = if mouse == Mouse::ScrollUp {
                    Toward::Up
                } else {
                    Toward::Down
                };
                let focus = std::mem::replace(&mut self.focus, pane);
                self.wheel(toward, WHEEL);
                self.focus = focus;
            }
        }
        Flow::Wait
    }

    fn press(&mut self, pane: Pane, area: Rect, (column, row): (usize, usize)) {
        if row == 0 {
            if let (Pane::Inspector, Some(tab)) = (pane, panes::tab_at(column)) {
                self.show(tab);
            }
            return;
        }
        let row = row - 1;
        match pane {
            Pane::Source => {
                let line = self.view().map_or(1, |view| view.top) + row as u32;
                let Some(view) = self.sources.get_mut(self.source) else {
                    return;
                };
                if line <= view.last() {
                    view.go(line);
                    if column < panes::source::MARGIN {
                        self.toggle_breakpoint();
                    }
                }
            }
            Pane::Ttir => {
                let line = self.ttir.top + row as u32;
                self.ttir.go(line);
            }
            Pane::Variables => self.select((self.first_variable + row) as i64),
            Pane::Console => {}
            Pane::Inspector => self.press_inspector(area, column, row),
        }
    }

    fn press_inspector(&mut self, area: Rect, column: usize, row: usize) {
        match self.tab {
            Tab::Tile => {
                let first = panes::tile::FIRST_ROW;
                let Some(row) = row.checked_sub(first) else { return };
                let (top, left) = self.tile.sheet.origin();
                match (self.tile.heat, &self.tile.view) {
                    (true, Some(view)) if self.tile.afar => {
                        self.tile
                            .sheet
                            .go(2 * row as u64 * view.block.0, column as u64 * view.block.1);
                    }
                    (true, _) => self.tile.sheet.go(top + 2 * row as u64, left + column as u64),
                    (false, Some(view)) => {
                        let titles = row_titles(&self.tile.sheet);
                        let cell = column.saturating_sub(titles) / (view.cell + 1);
                        self.tile.sheet.go(top + row as u64, left + cell as u64);
                    }
                    (false, None) => {}
                }
            }
            Tab::Memory => {
                let Some(row) = row.checked_sub(panes::memory::FIRST_ROW) else {
                    return;
                };
                let (top, left) = self.memory.sheet.origin();
                let titles = row_titles(&self.memory.sheet);
                let width = match (&self.memory.view, self.memory.map) {
                    (Some(view), false) => view.cell + 1,
                    _ => 1,
                };
                let cell = column.saturating_sub(titles) / width;
                self.memory.sheet.go(top + row as u64, left + cell as u64);
            }
            Tab::Grid => {
                let Some(row) = row.checked_sub(panes::grid::FIRST_ROW) else {
                    return;
                };
                let (row, column) = (self.grid.top + row as u64, column as u64);
                if column < self.grid.columns {
                    let linear = row * self.grid.columns + column;
                    self.grid.cursor = linear.min(self.grid.total().saturating_sub(1));
                }
            }
            Tab::Findings => {
                let row = row / panes::findings::rows_each(area.width);
                self.select_finding(row as i64);
            }
        }
    }
}
