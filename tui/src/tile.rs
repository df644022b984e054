//! What the inspector shows of a tile and of a tensor: only the part that is seen is looked at.

use std::collections::HashMap;

use tilescope_debugger::{LaneState, Session, Summary, TensorWindow, TileWindow, ValueKey};
use tilescope_diagnostics::Value;
use tilescope_diagnostics::render::number;

use crate::sheet::Sheet;

/// Bars of a histogram.
pub const BINS: usize = 24;

/// The lane that the cursor is on.
#[derive(Debug, Clone, PartialEq)]
pub struct Selected {
    /// What it holds, in words.
    pub text: String,
    /// Where it points or was loaded from, in words.
    pub place: Option<String>,
}

/// Where a lane points: a tensor and an index, which may be outside.
pub type Target = (String, Vec<i64>, LaneState);

/// A tile as it is now.
#[derive(Debug, Clone)]
pub struct TileView {
    /// Element type and shape, in words.
    pub title: String,
    /// The lanes seen; of a tile seen from afar, a lane for each block.
    pub window: TileWindow,
    /// Rows and columns of a block.
    pub block: (u64, u64),
    /// Rows and columns of lanes or blocks that are seen.
    pub seen: (u64, u64),
    /// What is in the whole tile.
    pub summary: Summary,
    /// Lanes per bar, from the least to the greatest.
    pub bins: Vec<u64>,
    /// Of a tile of pointers, where the lanes seen point.
    pub targets: Vec<Option<Target>>,
    /// The cursor's lane.
    pub selected: Selected,
    /// Columns of the screen that a number takes.
    pub cell: usize,
}

/// The inspector of tiles.
#[derive(Debug, Clone, Default)]
pub struct TilePane {
    /// The variable; none until one is chosen.
    pub name: Option<String>,
    /// Heat map instead of numbers.
    pub heat: bool,
    /// The heat map shows the whole tile, a block of lanes in each half of a cell.
    pub afar: bool,
    /// With a histogram.
    pub histogram: bool,
    /// Which part is seen.
    pub sheet: Sheet,
    /// The tile; none where the variable has no lanes here.
    pub view: Option<TileView>,
    /// What was summarised: the tile, and the number of the move.
    known: Option<(ValueKey, u64, Summary, Vec<u64>)>,
}

impl TilePane {
    /// Where the lanes seen point.
    fn targets(&self, session: &Session, key: ValueKey) -> Vec<Option<Target>> {
        let ((top, left), (rows, columns)) = (self.sheet.origin(), self.sheet.seen());
        let cells = (top..top + rows).flat_map(|row| (left..left + columns).map(move |column| (row, column)));
        cells
            .map(|(row, column)| {
                session.target(key, usize::try_from(self.sheet.number_at(row, column)).ok()?)
            })
            .collect()
    }

    /// Looks at the tile; `moves` changes whenever values may have.
    pub fn refresh(&mut self, session: &Session, moves: u64, (rows, columns): (usize, usize)) {
        self.view = None;
        let Some(key) = self.name.as_deref().and_then(|name| session.find_variable(name)) else {
            return;
        };
        let Some(nothing) = session.tile(key, &tilescope_debugger::Window::last_axes(0, 0, 0)) else {
            return;
        };
        let shape: Vec<u64> = nothing.shape.iter().map(|&n| n as u64).collect();
        self.sheet.fit(&shape);
        let fresh = |(known, at, ..): &&(ValueKey, u64, Summary, Vec<u64>)| *known == key && *at == moves;
        if self.known.as_ref().filter(fresh).is_none() {
            let Some(summary) = session.summary(key) else {
                return;
            };
            let bins = session.histogram(key, &summary, BINS);
            self.known = Some((key, moves, summary, bins));
        }
        let Some((.., summary, bins)) = &self.known else {
            return;
        };
        let (summary, bins) = (summary.clone(), bins.clone());
        let cell = cell_width(&nothing.dtype, &summary);
        let drawn = rows.saturating_sub(4 + if self.histogram { 4 } else { 0 }).max(1);
        match self.heat {
            true => self.sheet.settle(drawn * 2, columns),
            false => {
                let titles = row_titles(&self.sheet);
                self.sheet
                    .settle(drawn, columns.saturating_sub(titles) / (cell + 1));
            }
        }
        let (mut block, mut seen) = ((1, 1), self.sheet.seen());
        let mut part = self.sheet.window();
        if self.heat && self.afar {
            (block, seen, part) = self.sheet.afar(drawn * 2, columns);
        }
        let mut window = match block {
            (1, 1) => session.tile(key, &part),
            // The window says what kind of tile it is; the lanes are those of the blocks.
            _ => Some(nothing.clone()),
        };
        if let (Some(window), true) = (&mut window, block != (1, 1)) {
            window.lanes = session.blocks(key, &part, block).unwrap_or_default();
        }
        let Some(window) = window else { return };
        let Some(selected) = selected(session, key, &self.sheet) else {
            return;
        };
        let targets = match is_pointer(&window.dtype) && !self.heat {
            true => self.targets(session, key),
            false => Vec::new(),
        };
        let mut title = title(&window.dtype, &shape);
        if let Some((tensor, ..)) = targets.iter().flatten().next() {
            title.push_str(&format!(" → {tensor}"));
        }
        self.view = Some(TileView {
            title,
            targets,
            window,
            block,
            seen,
            summary,
            bins,
            selected,
            cell,
        });
    }
}

/// `f32[64, 32]`, `*f32`.
pub fn title(dtype: &str, shape: &[u64]) -> String {
    let pointee = dtype
        .strip_prefix("!tt.ptr<")
        .and_then(|rest| rest.strip_suffix('>'));
    let dtype = pointee.map_or_else(|| dtype.to_string(), |pointee| format!("*{pointee}"));
    match shape.is_empty() {
        true => dtype,
        false => format!("{dtype}{}", number::list(shape)),
    }
}

/// True for the element type of pointers.
pub fn is_pointer(dtype: &str) -> bool {
    dtype.starts_with('*') || dtype.contains("ptr<")
}

/// Columns that the numbers of rows take, with the blank after them.
pub fn row_titles(sheet: &Sheet) -> usize {
    let (rows, _) = sheet.size();
    sheet.row_title(rows.saturating_sub(1)).to_string().len() + 1
}

fn cell_width(dtype: &str, summary: &Summary) -> usize {
    let ends = [summary.min, summary.max];
    match dtype {
        "i1" => 5,
        _ if is_pointer(dtype) => 9,
        _ if ends.iter().flatten().any(|end| matches!(end, Value::Float(_))) => 9,
        _ => ends
            .iter()
            .flatten()
            .map(|end| number::short(*end).len())
            .max()
            .unwrap_or(9)
            .clamp(3, 20),
    }
}

/// A number in so many columns.
pub fn cell_text(value: Value, width: usize) -> String {
    let text = number::short(value);
    if text.chars().count() <= width {
        return text;
    }
    let Value::Float(f) = value else {
        return crate::paint::fit(&text, width);
    };
    let digits = (0..6).rev().find_map(|digits| {
        let plain = format!("{f:.digits$}");
        // Never so few digits that a number other than zero looks like it.
        let told = f.abs() >= 0.1 || f == 0.0;
        let scientific = format!("{f:.digits$e}");
        let fits = |text: &String| text.len() <= width;
        Some(plain)
            .filter(|plain| told && f.abs() < 1e6 && fits(plain))
            .or(Some(scientific).filter(fits))
    });
    digits.unwrap_or_else(|| crate::paint::fit(&text, width))
}

fn selected(session: &Session, key: ValueKey, sheet: &Sheet) -> Option<Selected> {
    let at = sheet.at();
    let rank = at.len();
    let mut one = tilescope_debugger::Window::last_axes(rank, 1, 1);
    one.at = at.to_vec();
    let along = |axis: Option<usize>| axis.and_then(|axis| at.get(axis)).copied().unwrap_or(0);
    one.rows.0 = along(one.row_axis);
    one.columns.0 = along(one.column_axis);
    let lane = session.tile(key, &one)?.lanes.first().copied()?;
    let state = match lane.state {
        LaneState::Fine => "",
        LaneState::Masked => ", masked off",
        LaneState::Undefined => ", undefined",
        LaneState::OutOfBounds => ", out of bounds",
    };
    let number = usize::try_from(sheet.number()).ok()?;
    let element = |(tensor, index, state): (String, Vec<i64>, LaneState)| {
        let outside = if state == LaneState::OutOfBounds {
            ", outside"
        } else {
            ""
        };
        format!("{tensor}{}{outside}", number::list(&index))
    };
    let (value, place) = match session.target(key, number) {
        Some(target) => {
            let Value::Int(address) = lane.value else {
                return None;
            };
            (format!("{address:#x}"), Some(format!("→ {}", element(target))))
        }
        None => {
            let from = session
                .loaded_from(key)
                .and_then(|pointers| session.target(pointers, number));
            let address = session
                .loaded_from(key)
                .and_then(|pointers| session.address(pointers, number));
            let place = from
                .zip(address)
                .map(|(from, address)| format!("← {} at {address:#x}", element(from)));
            (number::exact(lane.value), place)
        }
    };
    let index = if rank == 0 {
        String::new()
    } else {
        format!("{} = ", number::list(at))
    };
    Some(Selected {
        text: format!("{index}{value}{state}"),
        place,
    })
}

/// A tensor as it is now.
#[derive(Debug, Clone)]
pub struct MemoryView {
    /// Element type and shape, in words.
    pub title: String,
    /// The elements seen.
    pub window: TensorWindow,
    /// Who touched them.
    pub marks: Vec<u8>,
    /// What the lanes of the inspected tile do there, by the element's row-major number.
    pub aims: HashMap<u64, LaneState>,
    /// How many of those lanes are in bounds, masked off, and outside.
    pub aimed: [u64; 3],
    /// The tile that is inspected, if it points here.
    pub from: Option<String>,
    /// The cursor's element, in words.
    pub selected: String,
    /// Columns of the screen that a number takes.
    pub cell: usize,
}

/// The inspector of tensors.
#[derive(Debug, Clone, Default)]
pub struct MemoryPane {
    /// The number of the tensor in the launch.
    pub tensor: usize,
    /// Signs instead of numbers.
    pub map: bool,
    /// Which part is seen.
    pub sheet: Sheet,
    /// The tensor; none if the launch has none.
    pub view: Option<MemoryView>,
}

impl MemoryPane {
    /// Looks at the tensor; `tile` is the variable that is inspected.
    pub fn refresh(&mut self, session: &Session, tile: Option<&str>, (rows, columns): (usize, usize)) {
        self.view = None;
        let Some(tensor) = session.launch().tensors.get(self.tensor) else {
            return;
        };
        let shape: Vec<u64> = tensor.shape.iter().map(|&n| n.max(0) as u64).collect();
        self.sheet.fit(&shape);
        let drawn = rows.saturating_sub(4).max(1);
        let cell = 10;
        match self.map {
            true => self
                .sheet
                .settle(drawn, columns.saturating_sub(row_titles(&self.sheet))),
            false => self.sheet.settle(
                drawn,
                columns.saturating_sub(row_titles(&self.sheet)) / (cell + 1),
            ),
        }
        let window = self.sheet.window();
        let (Ok(window), Ok((_, marks))) = (
            session.tensor(&tensor.name, &window),
            session.marks(&tensor.name, &window),
        ) else {
            return;
        };
        let at = self.sheet.at();
        let mut one = self.sheet.window();
        let along = |axis: Option<usize>| axis.and_then(|axis| at.get(axis)).copied().unwrap_or(0);
        (one.rows, one.columns) = ((along(one.row_axis), 1), (along(one.column_axis), 1));
        let value = session
            .tensor(&tensor.name, &one)
            .ok()
            .and_then(|one| one.values.first().copied());
        let mark = session
            .marks(&tensor.name, &one)
            .ok()
            .and_then(|(_, marks)| marks.first().copied());
        let key = tile.and_then(|name| session.find_variable(name));
        let found = key.map_or(Vec::new(), |key| session.aims(key, &tensor.name));
        let mut aims = HashMap::new();
        let mut aimed = [0; 3];
        for aim in &found {
            let kind = match aim.state {
                LaneState::Masked => 1,
                LaneState::OutOfBounds => 2,
                LaneState::Fine | LaneState::Undefined => 0,
            };
            aimed[kind] += 1;
            if let Some(number) = number_of(&aim.element, &shape) {
                aims.insert(number, aim.state);
            }
        }
        self.view = Some(MemoryView {
            title: title(tensor.dtype.name(), &shape),
            window,
            marks,
            aims,
            aimed,
            from: tile.filter(|_| !found.is_empty()).map(String::from),
            selected: match value {
                Some(value) => {
                    format!(
                        "{} = {}{}",
                        number::list(at),
                        number::exact(value),
                        touched(mark.unwrap_or(0))
                    )
                }
                None => String::from("no elements"),
            },
            cell,
        });
    }
}

/// The row-major number of an element; none outside the shape.
fn number_of(element: &[i64], shape: &[u64]) -> Option<u64> {
    element.iter().zip(shape).try_fold(0u64, |number, (&i, &size)| {
        let i = u64::try_from(i).ok().filter(|i| *i < size)?;
        number.checked_mul(size)?.checked_add(i)
    })
}

/// Who touched an element, in words.
fn touched(mark: u8) -> &'static str {
    use tilescope_debugger::{OTHERS, READ, WRITTEN};
    let own = mark & (READ | WRITTEN);
    match (
        own == READ | WRITTEN,
        own & READ != 0,
        own & WRITTEN != 0,
        mark & OTHERS != 0,
    ) {
        (true, _, _, true) => ", read and written here, written by others",
        (true, _, _, false) => ", read and written here",
        (_, true, _, true) => ", read here, written by others",
        (_, true, _, false) => ", read here",
        (_, _, true, true) => ", written here and by others",
        (_, _, true, false) => ", written here",
        (_, _, _, true) => ", written by another program",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_cells_and_do_not_vanish() {
        for f in [
            0.0,
            1.0,
            -0.1,
            123456.789,
            -1.25e-7,
            3.402823e38,
            1.0 / 3.0,
            -2.0e-10,
            f64::NAN,
        ] {
            let text = cell_text(Value::Float(f), 9);
            assert!(text.chars().count() <= 9, "{text}");
            if f != 0.0 && !f.is_nan() {
                let back: f64 = text.parse().unwrap();
                assert!(((back - f) / f).abs() < 0.01, "{f} as {text}");
            }
        }
        assert_eq!(cell_text(Value::Int(12), 3), "12");
    }
}
