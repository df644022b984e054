//! The model: a session, and what the panes show of it.
//!
//! What panes show is fetched here, after each event, as far as it is seen; drawing only reads it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use tilescope_debugger::{BreakpointView, OpPlace, Position, Reason, Session, Variable, Window};
use tilescope_diagnostics::render::{Sources, number};
use tilescope_diagnostics::{Finding, Source};

use crate::console::Console;
use crate::editor::Editor;
use crate::grid::GridPane;
use crate::layout::{Areas, Pane, Tab, areas};
use crate::source::TextView;
use crate::theme::Theme;
use crate::tile::{MemoryPane, TilePane};

/// The texts of the files that a kernel's operations come from.
#[derive(Debug, Clone, Default)]
pub struct Texts(BTreeMap<String, Arc<Source>>);

impl Texts {
    /// Takes the texts of a session's files from where they are, and the kernel's own text.
    pub fn of(session: &Session, sources: &dyn Sources) -> Texts {
        let mut texts = Texts::default();
        for file in session.files() {
            if let Some(text) = sources.text(file) {
                texts.0.insert(file.to_string(), text);
            }
        }
        let ir = session.ir();
        texts
            .0
            .entry(ir.name.clone())
            .or_insert_with(|| Source::new(ir.name.clone(), ir.text.clone()));
        texts
    }
}

impl Sources for Texts {
    fn text(&self, file: &str) -> Option<Arc<Source>> {
        self.0.get(file).cloned()
    }
}

/// What the caller is to do after an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Flow {
    /// Draw and wait for the next event.
    Wait,
    /// Draw, then call [`Tui::work`]: a command is to be run.
    Work,
    /// Write the session's script to this file and say with [`Tui::say`] how that went.
    Save(String),
    /// End.
    Quit,
}

/// What keys go to.
#[derive(Debug, Clone, Default)]
pub enum Mode {
    /// The key table.
    #[default]
    Normal,
    /// A command being typed.
    Command(Editor),
    /// A search being typed.
    Search(Editor),
    /// The help, from a line on.
    Help(usize),
    /// The question whether to quit.
    Quit,
}

/// A variable as its pane shows it.
#[derive(Debug, Clone)]
pub struct Row {
    /// The variable.
    pub variable: Variable,
    /// Type and shape, in words.
    pub title: String,
    /// Its value, or the first of its lanes.
    pub text: String,
}

/// The debugger on a screen.
#[derive(Debug)]
pub struct Tui {
    pub(crate) session: Session,
    pub(crate) texts: Texts,
    pub(crate) launch: String,
    pub(crate) theme: Theme,
    pub(crate) size: (u16, u16),
    pub(crate) areas: Option<Areas>,
    pub(crate) focus: Pane,
    pub(crate) tab: Tab,
    pub(crate) zoomed: bool,
    pub(crate) with_ttir: bool,
    pub(crate) mode: Mode,
    /// The number typed before a key.
    pub(crate) prefix: Option<u64>,
    /// The command to be run.
    pub(crate) pending: Option<String>,
    /// A message in the last row, and whether it says that something did not work.
    pub(crate) message: Option<(String, bool)>,
    /// Commands that were run.
    pub(crate) script: Vec<String>,
    pub(crate) console: Console,
    pub(crate) sources: Vec<TextView>,
    /// The source shown.
    pub(crate) source: usize,
    pub(crate) ttir: TextView,
    pub(crate) search: String,
    pub(crate) position: Position,
    pub(crate) reason: Reason,
    pub(crate) breakpoints: Vec<BreakpointView>,
    pub(crate) variables: Vec<Row>,
    pub(crate) variable: usize,
    pub(crate) first_variable: usize,
    /// Values that the last move changed, by file and line.
    pub(crate) changed: HashMap<(String, u32), String>,
    pub(crate) tile: TilePane,
    pub(crate) memory: MemoryPane,
    pub(crate) grid: GridPane,
    pub(crate) findings: Vec<Finding>,
    pub(crate) finding: usize,
    /// Lines of operations and where they come from.
    pub(crate) places: Vec<OpPlace>,
    /// Lines that have code, by file.
    pub(crate) code_lines: HashMap<String, Vec<u32>>,
    /// Counts what may have changed values.
    pub(crate) moves: u64,
}

impl Tui {
    /// A screen of `columns` and `rows` for a session; `launch` is what the user calls it.
    pub fn new(session: Session, texts: Texts, launch: &str, theme: Theme, size: (u16, u16)) -> Tui {
        let ttir = TextView::new(&session.ir().name, session.ir());
        let places = session.op_places();
        let code_lines = session
            .files()
            .map(|file| (file.to_string(), session.code_lines(file)));
        let mut tui = Tui {
            code_lines: code_lines.collect(),
            position: session.position(),
            session,
            texts,
            launch: launch.to_string(),
            theme,
            size,
            areas: None,
            focus: Pane::Source,
            tab: Tab::Tile,
            zoomed: false,
            with_ttir: false,
            mode: Mode::Normal,
            prefix: None,
            pending: None,
            message: None,
            script: Vec::new(),
            console: Console::default(),
            sources: Vec::new(),
            source: 0,
            ttir,
            search: String::new(),
            reason: Reason::Start,
            breakpoints: Vec::new(),
            variables: Vec::new(),
            variable: 0,
            first_variable: 0,
            changed: HashMap::new(),
            tile: TilePane::default(),
            memory: MemoryPane {
                map: true,
                ..MemoryPane::default()
            },
            grid: GridPane::default(),
            findings: Vec::new(),
            finding: 0,
            places,
            moves: 0,
        };
        tui.follow();
        tui.renew();
        tui.refresh();
        tui
    }

    /// The session as a script: what was typed and what keys did, one command a line.
    pub fn script(&self) -> String {
        let mut text = format!("# tilescope debug {} --script FILE\n", self.launch);
        for line in &self.script {
            text.push_str(line);
            text.push('\n');
        }
        text
    }

    /// Says something in the last row; `failed` marks it.
    pub fn say(&mut self, text: &str, failed: bool) {
        self.message = Some((text.lines().next().unwrap_or_default().to_string(), failed));
    }

    /// True while a command waits for [`Tui::work`].
    pub fn is_busy(&self) -> bool {
        self.pending.is_some()
    }

    /// Columns and rows.
    pub fn size(&self) -> (u16, u16) {
        self.size
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Fetches what may have changed with the session.
    pub(crate) fn renew(&mut self) {
        self.moves += 1;
        self.position = self.session.position();
        self.breakpoints = self.session.breakpoints();
        self.findings = self.session.findings();
        self.finding = self.finding.min(self.findings.len().saturating_sub(1));
        let selected = self
            .variables
            .get(self.variable)
            .map(|row| row.variable.name.clone());
        let variables = self.session.variables();
        self.changed.clear();
        self.variables = variables.into_iter().map(|variable| self.row(variable)).collect();
        for row in &self.variables {
            let place = self
                .session
                .assigned_at(row.variable.id)
                .filter(|_| row.variable.changed);
            if let Some((file, line)) = place {
                let text = self.changed.entry((file.to_string(), line)).or_default();
                let comma = if text.is_empty() { "" } else { ", " };
                text.push_str(&format!("{comma}{} = {}", row.variable.name, row.text));
            }
        }
        let same = |row: &Row| Some(&row.variable.name) == selected.as_ref();
        if let Some(at) = self.variables.iter().position(same) {
            self.variable = at;
        }
        self.variable = self.variable.min(self.variables.len().saturating_sub(1));
    }

    fn row(&self, variable: Variable) -> Row {
        let shape: Option<Vec<u64>> = variable
            .shape
            .as_ref()
            .map(|shape| shape.iter().map(|&n| n as u64).collect());
        let title = match &shape {
            Some(shape) => crate::tile::title(&variable.dtype, shape),
            None => crate::tile::title(&variable.dtype, &[]),
        };
        let text = match (&variable.tensor, variable.value) {
            (Some(tensor), _) => format!("→ {tensor}{}", self.element(&variable)),
            (None, Some(value)) => number::short(value),
            (None, None) => {
                let rank = shape.as_ref().map_or(0, Vec::len);
                let first = self.session.tile(variable.id, &Window::last_axes(rank, 1, 4));
                let lanes = first.map_or(Vec::new(), |window| window.lanes);
                let words: Vec<String> = lanes.iter().map(|lane| number::short(lane.value)).collect();
                match words.is_empty() {
                    true => String::new(),
                    false => format!("[{}, …]", words.join(", ")),
                }
            }
        };
        Row {
            variable,
            title,
            text,
        }
    }

    /// The element that the first lane of a tile of pointers points at.
    fn element(&self, variable: &Variable) -> String {
        let target = self.session.target(variable.id, 0);
        target.map_or_else(String::new, |(_, index, _)| number::list(&index))
    }

    /// Puts the cursors of source and operations on the place where the session is.
    pub(crate) fn follow(&mut self) {
        if let Some(line) = self.position.op.as_ref().and_then(|op| op.line) {
            self.ttir.go(line);
        }
        let place = self
            .position
            .location
            .as_ref()
            .map(|l| (l.frame.file.clone(), l.frame.line));
        let first = || self.session.files().next().map(|file| (file.to_string(), 1));
        let place = place.or_else(|| if self.sources.is_empty() { first() } else { None });
        if let Some((file, line)) = place {
            self.open(&file);
            if let Some(view) = self.sources.get_mut(self.source) {
                view.go(line);
            }
        } else if self.sources.is_empty() {
            self.sources.push(self.ttir.clone());
        }
    }

    /// Shows a file in the source pane.
    fn open(&mut self, file: &str) {
        if let Some(at) = self.sources.iter().position(|view| view.name == file) {
            self.source = at;
            return;
        }
        let view = match self.texts.text(file) {
            Some(text) => TextView::new(file, &text),
            None => TextView::new(
                file,
                &Source::new(
                    file,
                    format!("the text of {file} is not at hand\npress v for the operations\n"),
                ),
            ),
        };
        self.source = self.sources.len();
        self.sources.push(view);
    }

    /// The text in the source pane.
    pub(crate) fn view(&self) -> Option<&TextView> {
        self.sources.get(self.source)
    }

    /// Lays out the screen and fetches what is seen of tiles, tensors and programs.
    pub(crate) fn refresh(&mut self) {
        let zoomed = self.zoomed.then_some(self.focus);
        self.areas = areas(self.size, zoomed, self.with_ttir);
        let Some(layout) = self.areas.clone() else { return };
        if layout.of(self.focus).is_none() {
            self.focus = layout.panes.first().map_or(Pane::Source, |(pane, _)| *pane);
        }
        let (rows, _) = layout.room(Pane::Source);
        if let Some(view) = self.sources.get_mut(self.source) {
            view.settle(rows);
        }
        self.link();
        self.ttir.settle(layout.room(Pane::Ttir).0);
        let (rows, _) = layout.room(Pane::Variables);
        let (at, last) = (self.variable, self.variables.len().saturating_sub(rows));
        self.first_variable = self
            .first_variable
            .min(at)
            .max((at + 1).saturating_sub(rows))
            .min(last);
        let room = layout.room(Pane::Inspector);
        match self.tab {
            Tab::Tile => {
                if self.tile.name.is_none() {
                    let tiles = |row: &&Row| row.variable.shape.is_some();
                    self.tile.name = self
                        .variables
                        .iter()
                        .find(tiles)
                        .map(|row| row.variable.name.clone());
                }
                self.tile.refresh(&self.session, self.moves, room);
            }
            Tab::Memory => self
                .memory
                .refresh(&self.session, self.tile.name.as_deref(), room),
            Tab::Grid => self.grid.refresh(self.session.grid(), room),
            Tab::Findings => {}
        }
    }

    /// The cursor of source or operations, whichever has not the focus, follows the other.
    fn link(&mut self) {
        let Some(view) = self.sources.get_mut(self.source) else {
            return;
        };
        let here = self.position.op.as_ref().and_then(|op| op.line);
        if self.focus == Pane::Ttir {
            let place = self.places.iter().find(|place| place.op_line == self.ttir.cursor);
            if let Some(place) = place.filter(|place| *place.file == *view.name) {
                view.go(place.line);
                let rows = self.areas.as_ref().map_or(1, |areas| areas.room(Pane::Source).0);
                view.settle(rows);
            }
        } else {
            let same = |place: &&OpPlace| *place.file == *view.name && place.line == view.cursor;
            let mut lines = self.places.iter().filter(same).map(|place| place.op_line);
            // The operation to be executed next, where it is one of them; else the first.
            let first = lines.next();
            let line = lines.chain(first).find(|line| Some(*line) == here).or(first);
            if let Some(line) = line {
                self.ttir.go(line);
            }
        }
    }

    /// True if an operation's line comes from the line of the source's cursor.
    pub(crate) fn is_linked(&self, op_line: u32) -> bool {
        let Some(view) = self.view() else { return false };
        let at = self.places.partition_point(|place| place.op_line < op_line);
        let mut places = self
            .places
            .iter()
            .skip(at)
            .take_while(|place| place.op_line == op_line);
        places.any(|place| place.line == view.cursor && *place.file == *view.name)
    }
}
