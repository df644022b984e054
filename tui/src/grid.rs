//! The map of all programs: a cell per program, rows as wide as the pane; scrolled, never held as a whole.

use tilescope_debugger::{GridView, ProgramState};

use crate::keys::Toward;

/// The map.
#[derive(Debug, Clone, Default)]
pub struct GridPane {
    /// The programs; none before the first look.
    pub view: Option<GridView>,
    /// The cursor: a program's linear number.
    pub cursor: u64,
    /// The first row seen.
    pub top: u64,
    /// Programs in a row.
    pub columns: u64,
    /// Rows seen.
    pub rows: u64,
    /// The state of programs over the whole grid, in as many parts as the pane has columns; the worst of each.
    pub overview: Vec<ProgramState>,
}

/// How much a state matters where one sign stands for many programs.
fn weight(state: ProgramState) -> u8 {
    match state {
        ProgramState::Waiting => 0,
        ProgramState::Done => 1,
        ProgramState::Running => 2,
        ProgramState::Finding => 3,
    }
}

impl GridPane {
    /// Number of programs.
    pub fn total(&self) -> u64 {
        let grid = self.view.as_ref().map_or([0; 3], |view| view.grid);
        grid.iter().fold(1, |count: u64, &n| count.saturating_mul(n))
    }

    /// Takes the state of all programs and the room there is.
    pub fn refresh(&mut self, view: GridView, (rows, columns): (usize, usize)) {
        let width = columns.max(1) as u64;
        // A row of the map is a row of the grid, where that fits; else as much of it as is round.
        let [x, y, _] = view.grid;
        self.columns = match (x <= width, y > 1) {
            (true, true) => x.max(1),
            (true, false) => x.max(1),
            (false, _) => (width / 10 * 10).max(1),
        };
        self.rows = rows.saturating_sub(4).max(1) as u64;
        self.view = Some(view);
        let total = self.total();
        self.cursor = self.cursor.min(total.saturating_sub(1));
        let row = self.cursor / self.columns;
        self.top = self.top.min(row).max((row + 1).saturating_sub(self.rows));
        self.overview = self.worst(total, width.min(total.max(1)));
    }

    fn worst(&self, total: u64, parts: u64) -> Vec<ProgramState> {
        let mut worst = vec![ProgramState::Waiting; parts as usize];
        let Some(view) = &self.view else { return worst };
        let part = |linear: u64| (u128::from(linear) * u128::from(parts) / u128::from(total.max(1))) as usize;
        for run in &view.runs {
            let last = run.first + run.count.saturating_sub(1);
            for cell in worst.iter_mut().take(part(last) + 1).skip(part(run.first)) {
                if weight(run.state) > weight(*cell) {
                    *cell = run.state;
                }
            }
        }
        worst
    }

    /// Moves the cursor by cells.
    pub fn step(&mut self, toward: Toward, count: u64) {
        let row = count.saturating_mul(self.columns.max(1));
        let last = self.total().saturating_sub(1);
        self.cursor = match toward {
            Toward::Up => self.cursor.saturating_sub(row),
            Toward::Down => self.cursor.saturating_add(row),
            Toward::Left => self.cursor.saturating_sub(count),
            Toward::Right => self.cursor.saturating_add(count),
        }
        .min(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilescope_debugger::StateRun;

    fn run(first: u64, count: u64, state: ProgramState) -> StateRun {
        StateRun { first, count, state }
    }

    #[test]
    fn a_million_programs_have_an_overview() {
        let mut pane = GridPane::default();
        let view = GridView {
            grid: [1_000_000, 1, 1],
            current: 0,
            runs: vec![
                run(0, 500_000, ProgramState::Done),
                run(500_000, 1, ProgramState::Finding),
                run(500_001, 499_999, ProgramState::Waiting),
            ],
        };
        pane.refresh(view, (14, 40));
        assert_eq!((pane.columns, pane.rows), (40, 10));
        let count = |state| pane.overview.iter().filter(|&&s| s == state).count();
        assert_eq!(count(ProgramState::Done), 20);
        assert_eq!(count(ProgramState::Finding), 1);
        pane.step(Toward::Down, 100_000);
        assert_eq!(pane.cursor, 999_999);
    }
}
