//! Events: what a key does to the model, and commands on their way to the session and back.

use tilescope_debugger::{Command, ProgramState, Reason, Reply, render};
use tilescope_diagnostics::render::{Paint, number, text};

use crate::console::{Kind, complete};
use crate::editor::Editor;
use crate::input::{Input, Key, KeyCode};
use crate::keys::{Action, Toward, action};
use crate::layout::{Pane, Tab};
use crate::model::{Flow, Mode, Tui};

/// The largest count that keys can give.
const MAX_COUNT: u64 = 1_000_000_000;

impl Tui {
    /// Takes an event.
    pub fn update(&mut self, input: Input) -> Flow {
        let flow = match input {
            Input::Resize(columns, rows) => {
                self.size = (columns, rows);
                Flow::Wait
            }
            Input::Mouse(mouse, column, row) => self.mouse(mouse, column, row),
            Input::Key(key) => self.key(key),
        };
        self.refresh();
        match self.pending {
            Some(_) => Flow::Work,
            None => flow,
        }
    }

    /// Runs the command that waits, if one does.
    pub fn work(&mut self) -> Flow {
        let Some(line) = self.pending.take() else {
            return Flow::Wait;
        };
        let flow = self.run_line(&line);
        self.refresh();
        flow
    }

    fn key(&mut self, key: Key) -> Flow {
        match std::mem::take(&mut self.mode) {
            Mode::Normal => self.normal(key),
            Mode::Command(editor) => self.command(editor, key),
            Mode::Search(editor) => self.searching(editor, key),
            Mode::Help(line) => {
                self.help(line, key);
                Flow::Wait
            }
            Mode::Quit => match key.code {
                KeyCode::Char('q' | 'y') | KeyCode::Enter => Flow::Quit,
                KeyCode::Char('c') if key.control => Flow::Quit,
                _ => Flow::Wait,
            },
        }
    }

    fn normal(&mut self, key: Key) -> Flow {
        self.message = None;
        if let (KeyCode::Char(digit @ '0'..='9'), false) = (key.code, key.control)
            && (digit != '0' || self.prefix.is_some())
        {
            let digit = u64::from(digit.to_digit(10).unwrap_or(0));
            self.prefix = Some((self.prefix.unwrap_or(0) * 10 + digit).min(MAX_COUNT));
            return Flow::Wait;
        }
        match action(key, self.focus, self.tab) {
            Some(action) => {
                let flow = self.act(action);
                self.prefix = None;
                flow
            }
            None => {
                self.prefix = None;
                self.say(&format!("{key} does nothing here; ? shows the keys"), true);
                Flow::Wait
            }
        }
    }

    /// Asks for a command to be run by the next [`Tui::work`], as if it had been typed.
    pub fn ask(&mut self, line: String) {
        self.pending = Some(line);
    }

    fn act(&mut self, action: Action) -> Flow {
        let count = self.prefix;
        match action {
            Action::Run(name) => self.ask(match count {
                Some(count) if count > 1 => format!("{name} {count}"),
                _ => name.to_string(),
            }),
            Action::RunOnce(name) => self.ask(name.to_string()),
            Action::ToggleBreakpoint => self.toggle_breakpoint(),
            Action::ToCursor => {
                if let Some(view) = self.view() {
                    self.ask(format!("until {}:{}", view.name, view.cursor));
                }
            }
            Action::OpenConsole => self.mode = Mode::Command(Editor::default()),
            Action::OpenSearch => self.mode = Mode::Search(Editor::default()),
            Action::Match(forwards) => self.find(forwards),
            Action::Help => self.mode = Mode::Help(0),
            Action::Quit => self.mode = Mode::Quit,
            Action::Interrupt => return Flow::Quit,
            Action::Save => self.mode = Mode::Command(Editor::with("save session.debug")),
            Action::NextPane(forwards) => self.next_pane(forwards),
            Action::Zoom => self.zoomed = !self.zoomed,
            Action::Ttir => self.with_ttir = !self.with_ttir,
            Action::Show(tab) => self.show(tab),
            Action::Move(toward) => self.step(toward, count.unwrap_or(1)),
            Action::Page(toward) => self.page(toward),
            Action::First => self.end(false, None),
            Action::Last => self.end(true, count),
            Action::Enter => self.enter(),
            Action::Escape => {
                self.zoomed = false;
                self.search.clear();
            }
            Action::Why => self.why(),
            Action::HeatMap
            | Action::Afar
            | Action::Transpose
            | Action::Axes
            | Action::Slice(_)
            | Action::Histogram
            | Action::Tensor(_) => self.inspect(action),
        }
        Flow::Wait
    }

    fn inspect(&mut self, action: Action) {
        let sheet = match self.tab {
            Tab::Memory => &mut self.memory.sheet,
            _ => &mut self.tile.sheet,
        };
        match action {
            Action::HeatMap => match self.tab {
                Tab::Memory => self.memory.map = !self.memory.map,
                _ => self.tile.heat = !self.tile.heat,
            },
            Action::Afar => {
                self.tile.heat = true;
                self.tile.afar = !self.tile.afar;
            }
            Action::Histogram => self.tile.histogram = !self.tile.histogram,
            Action::Transpose => sheet.transpose(),
            Action::Axes => sheet.next_axes(),
            Action::Slice(forwards) => sheet.slice(forwards),
            Action::Tensor(forwards) => {
                let count = self.session.launch().tensors.len().max(1);
                let by = if forwards { 1 } else { count - 1 };
                self.memory.tensor = (self.memory.tensor + by) % count;
            }
            _ => {}
        }
    }

    pub(crate) fn toggle_breakpoint(&mut self) {
        let Some((name, cursor)) = self.view().map(|view| (view.name.clone(), view.cursor)) else {
            return;
        };
        let here = self
            .breakpoints
            .iter()
            .find(|b| b.line.as_ref().is_some_and(|(f, l)| *f == name && *l == cursor));
        self.ask(match here {
            Some(breakpoint) => format!("delete {}", breakpoint.id),
            None => format!("break {name}:{cursor}"),
        });
    }

    fn next_pane(&mut self, forwards: bool) {
        let Some(areas) = &self.areas else { return };
        let mut panes: Vec<Pane> = areas.panes.iter().map(|(pane, _)| *pane).collect();
        if self.zoomed {
            // All of them take turns on the whole screen.
            let all = crate::layout::areas(self.size, None, self.with_ttir);
            panes = all.map_or(panes, |all| all.panes.iter().map(|(pane, _)| *pane).collect());
        }
        let count = panes.len().max(1);
        let at = panes.iter().position(|pane| *pane == self.focus).unwrap_or(0);
        let next = (at + if forwards { 1 } else { count - 1 }) % count;
        self.focus = panes.get(next).copied().unwrap_or(Pane::Source);
    }

    /// Shows a part of the inspector and gives it the focus.
    pub(crate) fn show(&mut self, tab: Tab) {
        self.tab = tab;
        self.focus = Pane::Inspector;
        if tab == Tab::Grid {
            self.grid.cursor = self.position.linear;
        }
    }

    pub(crate) fn wheel(&mut self, toward: Toward, count: u64) {
        self.step(toward, count);
    }

    fn step(&mut self, toward: Toward, count: u64) {
        let lines = i64::try_from(count).unwrap_or(i64::MAX);
        let lines = if toward == Toward::Up { -lines } else { lines };
        let vertical = matches!(toward, Toward::Up | Toward::Down);
        let sideways = |left: usize| match toward {
            Toward::Left => left.saturating_sub(8),
            Toward::Right => (left + 8).min(400),
            Toward::Up | Toward::Down => left,
        };
        match self.focus {
            Pane::Source => {
                if let Some(view) = self.sources.get_mut(self.source) {
                    view.left = sideways(view.left);
                    if vertical {
                        view.step(lines);
                    }
                }
            }
            Pane::Ttir => {
                self.ttir.left = sideways(self.ttir.left);
                if vertical {
                    self.ttir.step(lines);
                }
            }
            Pane::Variables if vertical => self.select(self.variable as i64 + lines),
            Pane::Variables => {}
            Pane::Console if vertical => self.console.scroll(-lines, self.console_rows()),
            Pane::Console => {}
            Pane::Inspector => match self.tab {
                Tab::Tile => self.tile.sheet.step(toward, count),
                Tab::Memory => self.memory.sheet.step(toward, count),
                Tab::Grid => self.grid.step(toward, count),
                Tab::Findings if vertical => self.select_finding(self.finding as i64 + lines),
                Tab::Findings => {}
            },
        }
    }

    fn console_rows(&self) -> usize {
        self.areas.as_ref().map_or(1, |areas| areas.room(Pane::Console).0)
    }

    /// Selects a variable; the inspector shows it if it is a tile.
    pub(crate) fn select(&mut self, at: i64) {
        self.variable = at.clamp(0, self.variables.len().saturating_sub(1) as i64) as usize;
        if let Some(row) = self.variables.get(self.variable) {
            self.tile.name = Some(row.variable.name.clone());
        }
    }

    pub(crate) fn select_finding(&mut self, at: i64) {
        self.finding = at.clamp(0, self.findings.len().saturating_sub(1) as i64) as usize;
    }

    pub(crate) fn page(&mut self, toward: Toward) {
        let rows = self
            .areas
            .as_ref()
            .map_or(1, |areas| areas.room(self.focus).0)
            .max(2) as u64;
        match (self.focus, self.tab) {
            (Pane::Inspector, Tab::Tile) => self.tile.sheet.page(toward),
            (Pane::Inspector, Tab::Memory) => self.memory.sheet.page(toward),
            (Pane::Inspector, Tab::Grid) => self.grid.step(toward, self.grid.rows.max(1)),
            _ => self.step(toward, rows - 1),
        }
    }

    fn end(&mut self, last: bool, number: Option<u64>) {
        let lines = if last { i64::from(u32::MAX) } else { 0 };
        match self.focus {
            Pane::Source | Pane::Ttir => {
                let view = match self.focus {
                    Pane::Ttir => Some(&mut self.ttir),
                    _ => self.sources.get_mut(self.source),
                };
                let whole = if last { u64::from(u32::MAX) } else { 1 };
                let line = u32::try_from(number.unwrap_or(whole)).unwrap_or(u32::MAX);
                if let Some(view) = view {
                    view.go(line);
                }
            }
            Pane::Variables => self.select(lines),
            Pane::Console => self.console.scroll(
                if last { -lines } else { i64::from(u32::MAX) },
                self.console_rows(),
            ),
            Pane::Inspector => match self.tab {
                Tab::Tile => self.tile.sheet.end(last),
                Tab::Memory => self.memory.sheet.end(last),
                Tab::Grid => {
                    let end = if last {
                        self.grid.total().saturating_sub(1)
                    } else {
                        0
                    };
                    self.grid.cursor = number.map_or(end, |n| n.min(self.grid.total().saturating_sub(1)));
                }
                Tab::Findings => self.select_finding(lines),
            },
        }
    }

    pub(crate) fn enter(&mut self) {
        match (self.focus, self.tab) {
            (Pane::Variables, _) => {
                self.select(self.variable as i64);
                self.show(Tab::Tile);
            }
            (Pane::Inspector, Tab::Grid) => {
                let [x, y, z] = self.session.coordinates(self.grid.cursor);
                self.ask(format!("program {x},{y},{z}"));
            }
            (Pane::Inspector, Tab::Findings) if !self.findings.is_empty() => {
                self.ask(format!("goto finding {}", self.finding + 1));
            }
            (Pane::Inspector, Tab::Memory) => self.why(),
            _ => {}
        }
    }

    fn why(&mut self) {
        match self.tab {
            Tab::Memory => {
                if let Some(tensor) = self.session.launch().tensors.get(self.memory.tensor) {
                    self.ask(format!(
                        "who-wrote {}{}",
                        tensor.name,
                        number::list(self.memory.sheet.at())
                    ));
                }
            }
            _ => {
                if let Some(name) = self.tile.name.clone() {
                    let at = self.tile.sheet.at();
                    let index = if at.is_empty() {
                        String::new()
                    } else {
                        number::list(at)
                    };
                    self.ask(format!("why {name}{index}"));
                }
            }
        }
    }

    fn find(&mut self, forwards: bool) {
        if self.search.is_empty() {
            return self.say("nothing to search for: press / first", true);
        }
        let what = self.search.clone();
        let view = match self.focus {
            Pane::Ttir => Some(&mut self.ttir),
            _ => self.sources.get_mut(self.source),
        };
        let found = view.as_ref().and_then(|view| view.find(&what, forwards));
        match (view, found) {
            (Some(view), Some(line)) => view.go(line),
            _ => self.say(&format!("`{what}` is not in the text"), true),
        }
    }

    fn searching(&mut self, mut editor: Editor, key: Key) -> Flow {
        match key.code {
            KeyCode::Escape => self.search.clear(),
            KeyCode::Enter => {
                let text = editor.text();
                if !text.is_empty() {
                    self.search = text;
                }
                if self.focus != Pane::Ttir {
                    self.focus = Pane::Source;
                }
                self.find(true);
            }
            _ => {
                if editor.key(key) || key.code != KeyCode::Backspace {
                    self.search = editor.text();
                    self.mode = Mode::Search(editor);
                }
            }
        }
        Flow::Wait
    }

    fn command(&mut self, mut editor: Editor, key: Key) -> Flow {
        self.message = None;
        match key.code {
            KeyCode::Escape => return Flow::Wait,
            KeyCode::Char('c') if key.control => return Flow::Wait,
            KeyCode::Enter => {
                let typed = editor.text();
                let line = match (typed.trim().is_empty(), self.console.last()) {
                    (true, Some(last)) => last.to_string(),
                    _ => typed,
                };
                self.console.remember(&line);
                if let Some(path) = line.trim().strip_prefix("save") {
                    return match path.trim() {
                        "" => {
                            self.say("save needs a file name", true);
                            Flow::Wait
                        }
                        path => Flow::Save(path.to_string()),
                    };
                }
                if !line.trim().is_empty() {
                    self.ask(line);
                }
                return Flow::Wait;
            }
            KeyCode::Tab => {
                let (added, fitting) = complete(&editor.before(), &self.session.names());
                editor.insert(&added);
                if fitting.len() > 1 {
                    self.say(&fitting.join("  "), false);
                }
            }
            KeyCode::Up => {
                editor = self
                    .console
                    .recall(true)
                    .map_or(editor, |line| Editor::with(&line))
            }
            KeyCode::Down => editor = Editor::with(&self.console.recall(false).unwrap_or_default()),
            _ => {
                if !editor.key(key) && key.code == KeyCode::Backspace {
                    return Flow::Wait;
                }
            }
        }
        self.mode = Mode::Command(editor);
        Flow::Wait
    }

    fn help(&mut self, line: usize, key: Key) {
        let last = crate::panes::help::length(self.size.0)
            .saturating_sub(usize::from(self.size.1.saturating_sub(2)));
        let line = match action(key, Pane::Source, Tab::Tile) {
            Some(Action::Move(Toward::Down)) => line + 1,
            Some(Action::Move(Toward::Up)) => line.saturating_sub(1),
            Some(Action::Page(Toward::Down)) => line + 10,
            Some(Action::Page(Toward::Up)) => line.saturating_sub(10),
            _ => return,
        };
        self.mode = Mode::Help(line.min(last));
    }

    /// Runs a command as if it had been typed.
    fn run_line(&mut self, line: &str) -> Flow {
        self.console.say(Kind::Asked, line);
        let command = match Command::parse(line) {
            Ok(None) => return Flow::Wait,
            Ok(Some(command)) => command,
            Err(error) => {
                self.refused(&error);
                return Flow::Wait;
            }
        };
        let result = self.session.run(command);
        let mut moved = false;
        match result {
            Ok(Reply::Quit) => return Flow::Quit,
            Ok(reply) => {
                self.script.push(line.trim().to_string());
                let words = render::text::reply(&reply, &self.texts, Paint::Plain);
                self.console.say(Kind::Answer, words.trim_end());
                match reply {
                    Reply::Stopped(stopped) => {
                        moved = true;
                        self.reason = stopped.reason;
                    }
                    Reply::Tile { variable, .. } => {
                        self.tile.name = Some(variable.name);
                        self.tab = Tab::Tile;
                    }
                    _ => {}
                }
            }
            Err(error) => self.refused(&error),
        }
        self.renew();
        if moved {
            self.follow();
            self.arrive();
        }
        Flow::Wait
    }

    fn refused(&mut self, error: &tilescope_diagnostics::Error) {
        self.console
            .say(Kind::Refused, text::error(error, Paint::Plain).trim_end());
        self.say(&error.message.clone(), true);
    }

    /// After a stop: what it was about comes into sight.
    fn arrive(&mut self) {
        match &self.reason {
            Reason::Finding { number, .. } => self.finding = number.saturating_sub(1),
            Reason::Watchpoint { touch, .. } => {
                let tensors = &self.session.launch().tensors;
                if let Some(at) = tensors.iter().position(|tensor| tensor.name == touch.tensor) {
                    self.memory.tensor = at;
                    let shape: Vec<u64> = tensors
                        .get(at)
                        .map_or(Vec::new(), |t| t.shape.iter().map(|&n| n.max(0) as u64).collect());
                    self.memory.sheet.fit(&shape);
                    let index: Vec<u64> = touch.element.iter().map(|&i| i.max(0) as u64).collect();
                    self.memory.sheet.go_to(&index);
                }
            }
            _ => {}
        }
        self.grid.cursor = self.position.linear;
    }

    /// Why the session stands where it stands, in a few words.
    pub(crate) fn reason_text(&self) -> String {
        match &self.reason {
            Reason::Start => String::from("start"),
            Reason::Stepped | Reason::Switched => String::new(),
            Reason::Breakpoint { id, .. } => format!("breakpoint {id}"),
            Reason::Watchpoint { id, .. } | Reason::ValueChanged { id, .. } => format!("watchpoint {id}"),
            Reason::Finding { number, finding } => format!("finding {number}: {}", finding.check.id()),
            Reason::ProgramEnd => String::from("program ended"),
            Reason::LaunchEnd => String::from("all programs ended"),
            Reason::Beginning => String::from("nothing before this"),
            Reason::Deadlock => String::from("deadlock"),
            Reason::Limit => String::from("too many operations"),
            Reason::Interrupted => String::from("interrupted"),
        }
    }

    /// How many programs are in each state: waiting, running, done, with a finding.
    pub(crate) fn counts(&self) -> [u64; 4] {
        let states = [
            ProgramState::Waiting,
            ProgramState::Running,
            ProgramState::Done,
            ProgramState::Finding,
        ];
        let view = self.grid.view.as_ref();
        states.map(|state| view.map_or(0, |view| view.count(state)))
    }
}
