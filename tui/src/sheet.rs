//! Rows and columns of something with any number of dimensions, and the part of it that is seen.
//!
//! Two axes are drawn, the others held at the cursor's index. What has one dimension is wrapped into rows.

use tilescope_debugger::Window;

use crate::keys::Toward;

/// A view of a tile or tensor.
#[derive(Debug, Clone, Default)]
pub struct Sheet {
    shape: Vec<u64>,
    /// Axis drawn downwards and axis drawn to the right.
    axes: (Option<usize>, Option<usize>),
    /// The cursor: an index along every axis.
    at: Vec<u64>,
    /// First row and column seen.
    origin: (u64, u64),
    /// Rows and columns seen.
    seen: (u64, u64),
    /// Elements in a row of what has one dimension.
    wrap: u64,
}

impl Sheet {
    /// Takes a shape; the cursor, the axes and the place stay if they can.
    pub fn fit(&mut self, shape: &[u64]) {
        if self.shape.len() != shape.len() {
            let rank = shape.len();
            *self = Sheet {
                axes: (rank.checked_sub(2), rank.checked_sub(1)),
                at: vec![0; rank],
                ..Sheet::default()
            };
        }
        self.shape = shape.to_vec();
        for (at, &size) in self.at.iter_mut().zip(shape) {
            *at = (*at).min(size.saturating_sub(1));
        }
    }

    fn is_wrapped(&self) -> bool {
        self.shape.len() == 1
    }

    fn size_of(&self, axis: Option<usize>) -> u64 {
        axis.map_or(1, |axis| self.shape.get(axis).copied().unwrap_or(1))
    }

    /// Rows and columns of the whole.
    pub fn size(&self) -> (u64, u64) {
        match self.is_wrapped() {
            true => {
                let wrap = self.wrap.max(1);
                (self.size_of(Some(0)).div_ceil(wrap), wrap)
            }
            false => (self.size_of(self.axes.0), self.size_of(self.axes.1)),
        }
    }

    /// First row and column seen.
    pub fn origin(&self) -> (u64, u64) {
        self.origin
    }

    /// Rows and columns seen.
    pub fn seen(&self) -> (u64, u64) {
        self.seen
    }

    /// The cursor's index along every axis.
    pub fn at(&self) -> &[u64] {
        &self.at
    }

    /// The cursor's number, row-major.
    pub fn number(&self) -> u64 {
        self.at
            .iter()
            .zip(&self.shape)
            .fold(0, |n, (&i, &size)| n.saturating_mul(size).saturating_add(i))
    }

    /// The row-major number of a cell.
    pub fn number_at(&self, row: u64, column: u64) -> u64 {
        if self.is_wrapped() {
            return row * self.wrap.max(1) + column;
        }
        let index = self.window().index(row, column);
        index
            .iter()
            .zip(&self.shape)
            .fold(0, |n, (&i, &size)| n.saturating_mul(size).saturating_add(i))
    }

    /// The cursor's row and column.
    pub fn cursor(&self) -> (u64, u64) {
        if self.is_wrapped() {
            let at = self.at.first().copied().unwrap_or(0);
            return (at / self.wrap.max(1), at % self.wrap.max(1));
        }
        let along = |axis: Option<usize>| axis.and_then(|axis| self.at.get(axis)).copied().unwrap_or(0);
        (along(self.axes.0), along(self.axes.1))
    }

    /// Puts the cursor on a row and column, or the nearest there are.
    pub fn go(&mut self, row: u64, column: u64) {
        let (rows, columns) = self.size();
        let (row, column) = (
            row.min(rows.saturating_sub(1)),
            column.min(columns.saturating_sub(1)),
        );
        if self.is_wrapped() {
            let last = self.size_of(Some(0)).saturating_sub(1);
            if let Some(at) = self.at.first_mut() {
                *at = (row * self.wrap.max(1) + column).min(last);
            }
            return;
        }
        for (axis, to) in [(self.axes.0, row), (self.axes.1, column)] {
            if let Some(at) = axis.and_then(|axis| self.at.get_mut(axis)) {
                *at = to;
            }
        }
    }

    /// Puts the cursor on an index.
    pub fn go_to(&mut self, index: &[u64]) {
        for ((at, &to), &size) in self.at.iter_mut().zip(index).zip(&self.shape) {
            *at = to.min(size.saturating_sub(1));
        }
    }

    /// Moves the cursor by cells.
    pub fn step(&mut self, toward: Toward, count: u64) {
        let (row, column) = self.cursor();
        match toward {
            Toward::Up => self.go(row.saturating_sub(count), column),
            Toward::Down => self.go(row.saturating_add(count), column),
            Toward::Left => self.go(row, column.saturating_sub(count)),
            Toward::Right => self.go(row, column.saturating_add(count)),
        }
    }

    /// Moves the cursor by a page.
    pub fn page(&mut self, toward: Toward) {
        self.step(toward, self.seen.0.max(2) - 1);
    }

    /// Moves the cursor to the first or the last cell.
    pub fn end(&mut self, last: bool) {
        match last {
            true => self.go(u64::MAX / 2, u64::MAX / 2),
            false => self.go(0, 0),
        }
    }

    /// Rows become columns.
    pub fn transpose(&mut self) {
        if self.shape.len() > 1 {
            self.axes = (self.axes.1, self.axes.0);
            self.origin = (self.origin.1, self.origin.0);
        }
    }

    /// The next pair of axes, in rising order.
    pub fn next_axes(&mut self) {
        let rank = self.shape.len();
        let pairs: Vec<(usize, usize)> = (0..rank)
            .flat_map(|a| (a + 1..rank).map(move |b| (a, b)))
            .collect();
        let now = (self.axes.0.min(self.axes.1), self.axes.0.max(self.axes.1));
        let at = pairs.iter().position(|&(a, b)| (Some(a), Some(b)) == now);
        let next = at.map_or(0, |at| (at + 1) % pairs.len().max(1));
        if let Some(&(a, b)) = pairs.get(next) {
            self.axes = (Some(a), Some(b));
            self.origin = (0, 0);
        }
    }

    /// The next index along the axes that are not drawn, or the one before; goes around.
    pub fn slice(&mut self, forwards: bool) {
        for axis in (0..self.shape.len()).rev() {
            if self.is_wrapped() || Some(axis) == self.axes.0 || Some(axis) == self.axes.1 {
                continue;
            }
            let size = self.size_of(Some(axis)).max(1);
            let Some(at) = self.at.get_mut(axis) else { continue };
            let carries = if forwards { *at + 1 >= size } else { *at == 0 };
            *at = if forwards {
                (*at + 1) % size
            } else {
                (*at + size - 1) % size
            };
            if !carries {
                return;
            }
        }
    }

    /// Takes the room there is, in cells, and scrolls so that the cursor is seen.
    pub fn settle(&mut self, rows: usize, columns: usize) {
        let (rows, columns) = (rows.max(1) as u64, columns.max(1) as u64);
        if self.is_wrapped() {
            let all = self.size_of(Some(0)).max(1);
            // A power of two, so that the numbers of rows are round.
            let power = 1u64 << (63 - columns.leading_zeros());
            self.wrap = if all <= columns { all } else { power };
        }
        let size = self.size();
        let cursor = self.cursor();
        let scroll = |origin: u64, at: u64, seen: u64, size: u64| {
            let origin = origin.min(at).max((at + 1).saturating_sub(seen));
            origin.min(size.saturating_sub(seen.min(size)))
        };
        self.seen = (rows.min(size.0), columns.min(size.1));
        self.origin = (
            scroll(self.origin.0, cursor.0, self.seen.0, size.0),
            scroll(self.origin.1, cursor.1, self.seen.1, size.1),
        );
    }

    /// The part that is seen.
    pub fn window(&self) -> Window {
        if self.is_wrapped() {
            let wrap = self.wrap.max(1);
            return Window {
                row_axis: None,
                column_axis: Some(0),
                at: self.at.clone(),
                rows: (0, 1),
                columns: (self.origin.0 * wrap, self.seen.0 * wrap),
            };
        }
        Window {
            row_axis: self.axes.0,
            column_axis: self.axes.1,
            at: self.at.clone(),
            rows: (self.origin.0, self.seen.0),
            columns: (self.origin.1, self.seen.1),
        }
    }

    /// All of it in so many cells: rows and columns of a block, of the whole in blocks, and the part that they cover.
    pub fn afar(&self, rows: usize, columns: usize) -> ((u64, u64), (u64, u64), Window) {
        let (rows, columns) = (rows.max(1) as u64, columns.max(1) as u64);
        let mut window = self.window();
        if self.is_wrapped() {
            let all = self.size_of(Some(0));
            let wide = all.div_ceil(rows * columns).max(1);
            window.columns = (0, all);
            return ((1, wide), (all.div_ceil(wide).div_ceil(columns), columns), window);
        }
        let size = self.size();
        let block = (size.0.div_ceil(rows).max(1), size.1.div_ceil(columns).max(1));
        (window.rows, window.columns) = ((0, size.0), (0, size.1));
        (
            block,
            (size.0.div_ceil(block.0), size.1.div_ceil(block.1)),
            window,
        )
    }

    /// The cell of a view from afar that the cursor is in.
    pub fn cursor_afar(&self, block: (u64, u64), columns: u64) -> (u64, u64) {
        if self.is_wrapped() {
            let cell = self.number() / block.1.max(1);
            return (cell / columns.max(1), cell % columns.max(1));
        }
        let (row, column) = self.cursor();
        (row / block.0.max(1), column / block.1.max(1))
    }

    /// The number of a row or column as its title: of the axis, or of the first element where rows are wrapped.
    pub fn row_title(&self, row: u64) -> u64 {
        if self.is_wrapped() {
            row * self.wrap.max(1)
        } else {
            row
        }
    }

    /// What is drawn, in words: `axis 0 down, axis 2 right, at [·, 3, ·]`.
    pub fn axes_text(&self) -> String {
        let (Some(down), Some(right)) = self.axes else {
            return String::new();
        };
        if self.shape.len() == 2 && down < right {
            return String::new();
        }
        let held = self
            .shape
            .iter()
            .enumerate()
            .map(|(axis, _)| match axis == down || axis == right {
                true => String::from(":"),
                false => self.at.get(axis).copied().unwrap_or(0).to_string(),
            });
        let held: Vec<String> = held.collect();
        match held.len() {
            2 => String::from("transposed"),
            _ => format!("[{}] axis {down} down", held.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_dimension_is_wrapped_into_rows() {
        let mut sheet = Sheet::default();
        sheet.fit(&[100]);
        sheet.settle(4, 10);
        assert_eq!(sheet.size(), (13, 8));
        sheet.end(true);
        sheet.settle(4, 10);
        assert_eq!((sheet.at(), sheet.origin()), (&[99][..], (9, 0)));
        assert_eq!(sheet.window().columns, (72, 32));
        assert_eq!(sheet.row_title(9), 72);
    }

    #[test]
    fn other_axes_are_held_and_go_around() {
        let mut sheet = Sheet::default();
        sheet.fit(&[2, 3, 4]);
        sheet.settle(10, 10);
        assert_eq!(sheet.size(), (3, 4));
        sheet.slice(false);
        assert_eq!(sheet.at(), [1, 0, 0]);
        sheet.next_axes();
        assert_eq!(sheet.size(), (2, 3));
        sheet.transpose();
        assert_eq!(sheet.size(), (3, 2));
        sheet.next_axes();
        assert_eq!(sheet.size(), (2, 4));
        assert_eq!(sheet.axes_text(), "[:, 0, :] axis 0 down");
    }

    #[test]
    fn a_number_has_one_cell() {
        let mut sheet = Sheet::default();
        sheet.fit(&[]);
        sheet.settle(5, 5);
        sheet.step(Toward::Down, 3);
        assert_eq!(
            (sheet.size(), sheet.cursor(), sheet.number()),
            ((1, 1), (0, 0), 0)
        );
    }
}
