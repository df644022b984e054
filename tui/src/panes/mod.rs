//! Drawing: a file per pane, each a function from the model to cells.

pub mod console;
pub mod findings;
pub mod grid;
pub mod help;
pub mod memory;
pub mod source;
pub mod tile;
pub mod variables;

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use tilescope_diagnostics::render::number;

use crate::layout::{LEAST, Pane, Tab};
use crate::model::{Mode, Tui};
use crate::paint::{fit, style, text, text_right};
use crate::theme::Role;

/// Keys that the last row reminds of.
const HINTS: &[(&str, &str)] = &[
    ("s", "step"),
    ("n", "next"),
    ("c", "continue"),
    ("S N C", "back"),
    ("b", "break"),
    ("u", "undo"),
    (":", "command"),
    ("?", "keys"),
    ("x m o e", "tile memory programs findings"),
    ("v", "TTIR"),
    ("z", "zoom"),
    ("q", "quit"),
];

impl Tui {
    /// Paints the model into a buffer of the size last given; gives the place of the text cursor, if it is shown.
    pub fn draw(&self, buffer: &mut Buffer) -> Option<Position> {
        let Some(areas) = &self.areas else {
            self.draw_too_small(buffer);
            return None;
        };
        self.draw_top(buffer, areas.top);
        for &(column, row, rows) in &areas.dividers {
            for y in row..row + rows {
                text(
                    buffer,
                    Rect::new(column, y, 1, 1),
                    (0, 0),
                    "│",
                    self.theme.style(Role::Dim),
                );
            }
        }
        for &(pane, area) in &areas.panes {
            match pane {
                Pane::Source => source::draw(self, buffer, area),
                Pane::Ttir => source::draw_ttir(self, buffer, area),
                Pane::Variables => variables::draw(self, buffer, area),
                Pane::Console => console::draw(self, buffer, area),
                Pane::Inspector => self.draw_inspector(buffer, area),
            }
        }
        let cursor = self.draw_bottom(buffer, areas.bottom);
        if let Mode::Help(line) = self.mode {
            help::draw(self, buffer, line);
        }
        cursor
    }

    fn draw_too_small(&self, buffer: &mut Buffer) {
        let (width, height) = self.size;
        let area = Rect::new(0, 0, width, height);
        let plain = self.theme.style(Role::Plain);
        text(
            buffer,
            area,
            (0, 0),
            "terminal too small",
            self.theme.style(Role::Title),
        );
        let says = format!("{}x{} needed, this is {width}x{height}", LEAST.0, LEAST.1);
        text(buffer, area, (0, 1), &says, plain);
        text(buffer, area, (0, 2), "ctrl-c quits", self.theme.style(Role::Dim));
    }

    /// Where the session is.
    fn draw_top(&self, buffer: &mut Buffer, area: Rect) {
        let bar = self.theme.style(Role::Bar);
        let width = usize::from(area.width);
        style(buffer, area, 0, 0..width, bar);
        let launch = self.session.launch();
        let position = &self.position;
        let place = match (&position.location, position.ended) {
            (_, true) => String::from("ended"),
            (Some(location), false) => format!("{}:{}", location.frame.file, location.frame.line),
            (None, false) => String::new(),
        };
        let left = format!(
            " {}  program {} of {}  {place}",
            launch.kernel,
            triple(position.program.map(u64::from), launch.grid),
            triple(launch.grid, launch.grid),
        );
        let end = text(buffer, area, (0, 0), &left, bar);
        let op = position.op.as_ref().map_or("", |op| op.mnemonic);
        let reason = self.reason_text();
        let mut right = String::new();
        for part in [reason.as_str(), op, &format!("op {}", position.tick)] {
            if !part.is_empty() {
                right.push_str(if right.is_empty() { "" } else { "  " });
                right.push_str(part);
            }
        }
        let room = width.saturating_sub(end + 3);
        text_right(
            buffer,
            area,
            (width.saturating_sub(1), 0),
            &fit(&right, room),
            bar,
        );
    }

    /// The line being typed, a message, or hints.
    fn draw_bottom(&self, buffer: &mut Buffer, area: Rect) -> Option<Position> {
        let width = usize::from(area.width);
        let plain = self.theme.style(Role::Plain);
        let typed = match &self.mode {
            Mode::Command(editor) => Some((":", editor)),
            Mode::Search(editor) => Some(("/", editor)),
            Mode::Normal | Mode::Help(_) | Mode::Quit => None,
        };
        if let Some((sign, editor)) = typed {
            let line = editor.text();
            let skipped = (editor.cursor() + 2).saturating_sub(width);
            let seen: String = line.chars().skip(skipped).collect();
            text(buffer, area, (0, 0), sign, self.theme.style(Role::KeyName));
            let end = text(buffer, area, (1, 0), &seen, plain);
            if let Some((message, _)) = &self.message {
                text(
                    buffer,
                    area,
                    (end + 2, 0),
                    &fit(message, width.saturating_sub(end + 2)),
                    self.theme.style(Role::Dim),
                );
            }
            return Some(Position::new(
                area.x + (1 + editor.cursor() - skipped) as u16,
                area.y,
            ));
        }
        if matches!(self.mode, Mode::Quit) {
            let says =
                "quit? q or enter quits, any other key stays; :save FILE keeps the session as a script";
            text(buffer, area, (0, 0), says, self.theme.style(Role::Warning));
            return None;
        }
        if let Some(line) = &self.pending {
            let says = format!("running: {line}   (ctrl-c stops it)");
            text(buffer, area, (0, 0), &says, self.theme.style(Role::Running));
            return None;
        }
        let end = match &self.message {
            Some((message, failed)) => {
                let role = if *failed { Role::Fault } else { Role::Plain };
                text(buffer, area, (0, 0), &fit(message, width), self.theme.style(role))
            }
            None => self.draw_hints(buffer, area),
        };
        if let Some(prefix) = self.prefix {
            let prefix = format!(" {prefix}");
            if end + prefix.len() <= width {
                text_right(buffer, area, (width, 0), &prefix, self.theme.style(Role::KeyName));
            }
        }
        None
    }

    fn draw_hints(&self, buffer: &mut Buffer, area: Rect) -> usize {
        let width = usize::from(area.width);
        let mut at = 0;
        for (key, what) in HINTS {
            let length = key.chars().count() + what.chars().count() + 3;
            if at + length + 6 > width {
                break;
            }
            at = text(buffer, area, (at, 0), key, self.theme.style(Role::KeyName));
            at = text(buffer, area, (at + 1, 0), what, self.theme.style(Role::Dim)) + 2;
        }
        at
    }

    /// A pane's first row.
    pub(crate) fn draw_title(&self, buffer: &mut Buffer, area: Rect, pane: Pane, title: &str) {
        let role = if self.focus == pane {
            Role::Focus
        } else {
            Role::Title
        };
        let rule = "─".repeat(usize::from(area.width));
        text(buffer, area, (0, 0), &rule, self.theme.style(Role::Dim));
        let title = fit(title, usize::from(area.width).saturating_sub(4));
        text(
            buffer,
            area,
            (1, 0),
            &format!(" {title} "),
            self.theme.style(role),
        );
    }

    fn draw_inspector(&self, buffer: &mut Buffer, area: Rect) {
        let rule = "─".repeat(usize::from(area.width));
        text(buffer, area, (0, 0), &rule, self.theme.style(Role::Dim));
        for (tab, columns) in tabs() {
            let role = match (tab == self.tab, self.focus == Pane::Inspector) {
                (true, true) => Role::Focus,
                (true, false) => Role::Title,
                (false, _) => Role::Dim,
            };
            let (before, after) = if tab == self.tab { ("[", "]") } else { (" ", " ") };
            let title = format!("{before}{}{after}", tab.title());
            text(buffer, area, (columns.start, 0), &title, self.theme.style(role));
        }
        match self.tab {
            Tab::Tile => tile::draw(self, buffer, area),
            Tab::Memory => memory::draw(self, buffer, area),
            Tab::Grid => grid::draw(self, buffer, area),
            Tab::Findings => findings::draw(self, buffer, area),
        }
    }
}

/// Coordinates without those dimensions at the end in which the grid has one program: `3`, `(3, 0)`.
fn triple(coordinates: [u64; 3], grid: [u64; 3]) -> String {
    let used = grid.iter().rposition(|&n| n > 1).map_or(1, |last| last + 1);
    match coordinates.get(..used) {
        Some([x]) => x.to_string(),
        Some(several) => number::triple(several),
        None => String::new(),
    }
}

/// The columns of the inspector's titles.
fn tabs() -> impl Iterator<Item = (Tab, std::ops::Range<usize>)> {
    Tab::ALL.into_iter().scan(1, |at, tab| {
        let start = *at;
        *at += tab.title().len() + 2;
        Some((tab, start..*at))
    })
}

/// The title at a column of the inspector's first row.
pub fn tab_at(column: usize) -> Option<Tab> {
    tabs()
        .find(|(_, columns)| columns.contains(&column))
        .map(|(tab, _)| tab)
}
