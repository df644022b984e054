//! The key table: what each key does and where. Handling and help both read it.

use crate::input::{Key, KeyCode};
use crate::layout::{Pane, Tab};

/// A direction on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Toward {
    /// To smaller rows.
    Up,
    /// To larger rows.
    Down,
    /// To smaller columns.
    Left,
    /// To larger columns.
    Right,
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// A command of the session, with the number typed before as its count.
    Run(&'static str),
    /// A command of the session without a count.
    RunOnce(&'static str),
    /// Sets or removes a breakpoint on the cursor's line.
    ToggleBreakpoint,
    /// Runs to the cursor's line.
    ToCursor,
    /// Opens the console's line.
    OpenConsole,
    /// Opens the search line.
    OpenSearch,
    /// The next line that matches, or the one before.
    Match(bool),
    /// Shows the help.
    Help,
    /// Ends.
    Quit,
    /// Stops a running command, or ends.
    Interrupt,
    /// Opens the console's line with `save`.
    Save,
    /// The next pane, or the one before.
    NextPane(bool),
    /// The focused pane fills the screen, or no longer.
    Zoom,
    /// Shows the operations beside the source, or no longer.
    Ttir,
    /// Shows a part of the inspector.
    Show(Tab),
    /// Moves the cursor of the focused pane.
    Move(Toward),
    /// Moves it by a page.
    Page(Toward),
    /// Moves it to the beginning.
    First,
    /// Moves it to the end, or to the line whose number was typed before.
    Last,
    /// Follows what the cursor is on.
    Enter,
    /// Closes what is open; forgets a number.
    Escape,
    /// Numbers or a heat map.
    HeatMap,
    /// All of a tile, or its lanes one by one.
    Afar,
    /// Rows become columns.
    Transpose,
    /// The next pair of axes.
    Axes,
    /// The next index of the axis that is not drawn, or the one before.
    Slice(bool),
    /// Shows the histogram, or no longer.
    Histogram,
    /// The next tensor, or the one before.
    Tensor(bool),
    /// Why the selected lane or element holds what it holds.
    Why,
}

/// Where a row of the table counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In every pane.
    Anywhere,
    /// In one part of the inspector.
    Tab(Tab),
}

impl Scope {
    /// True if the scope holds for the pane and part that have the focus.
    pub fn holds(self, pane: Pane, tab: Tab) -> bool {
        match self {
            Scope::Anywhere => true,
            Scope::Tab(own) => pane == Pane::Inspector && own == tab,
        }
    }
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct KeyRow {
    /// The keys.
    pub keys: &'static [Key],
    /// Where they count.
    pub(crate) scope: Scope,
    /// What each does, parallel to `keys`.
    pub(crate) actions: &'static [Action],
    /// One line of help.
    pub help: &'static str,
}

const fn c(char: char) -> Key {
    Key::char(char)
}

const fn k(code: KeyCode) -> Key {
    Key::plain(code)
}

macro_rules! table {
    ($($scope:expr => { $($($key:expr),+ => $($action:expr),+ ; $help:literal;)* })*) => {
        /// All keys, in the order of the help.
        pub const KEYS: &[KeyRow] = &[
            $($(KeyRow { keys: &[$($key),+], scope: $scope, actions: &[$($action),+], help: $help },)*)*
        ];
    };
}

use Action::{
    Afar, Axes, Enter, Escape, First, HeatMap, Help, Histogram, Interrupt, Last, Match, Move, NextPane,
    OpenConsole, OpenSearch, Page, Quit, Run, RunOnce, Save, Show, Slice, Tensor, ToCursor, ToggleBreakpoint,
    Transpose, Ttir, Why, Zoom,
};

table! {
    Scope::Anywhere => {
        c('s'), c('S') => Run("step"), Run("rstep"); "to the next line, into helpers; back";
        c('n'), c('N') => Run("next"), Run("rnext"); "to the next line, over helpers; back";
        c('f'), c('F') => Run("out"), Run("rout"); "until the helper returns; back to its call";
        c('i'), c('I') => Run("stepi"), Run("rstepi"); "one operation on; back";
        c('c'), c('C') => Run("continue"), Run("rcontinue"); "to the next stop; back to the last one";
        c('t') => ToCursor; "run to the cursor's line";
        c('r') => RunOnce("restart"); "restart the launch";
        c('u') => RunOnce("undo"); "undo the last move";
        c('p') => RunOnce("next-program"); "the next program that has not ended";
        c('b') => ToggleBreakpoint; "breakpoint on the cursor's line, or off";
        c(':') => OpenConsole; "type a command (tab completes)";
        c('/') => OpenSearch; "search in the source";
        c(']'), c('[') => Match(true), Match(false); "next match; the one before";
        k(KeyCode::Tab), k(KeyCode::BackTab) => NextPane(true), NextPane(false); "next pane; the one before";
        c('z') => Zoom; "zoom the pane, or back";
        c('v') => Ttir; "TTIR beside the source, or not";
        c('x'), c('m'), c('o'), c('e') => Show(Tab::Tile), Show(Tab::Memory), Show(Tab::Grid), Show(Tab::Findings);
            "show tile, memory, programs, findings";
        c('j'), c('k'), c('h'), c('l') => Move(Toward::Down), Move(Toward::Up), Move(Toward::Left), Move(Toward::Right);
            "move the cursor, as the arrows do";
        k(KeyCode::Down), k(KeyCode::Up), k(KeyCode::Left), k(KeyCode::Right) =>
            Move(Toward::Down), Move(Toward::Up), Move(Toward::Left), Move(Toward::Right); "";
        Key::control('d'), Key::control('u') => Page(Toward::Down), Page(Toward::Up); "a page down; up";
        k(KeyCode::PageDown), k(KeyCode::PageUp) => Page(Toward::Down), Page(Toward::Up); "";
        c('g'), c('G') => First, Last; "to the beginning; to the end, or line N";
        k(KeyCode::Home), k(KeyCode::End) => First, Last; "";
        k(KeyCode::Enter) => Enter; "follow what the cursor is on";
        k(KeyCode::Escape) => Escape; "close; forget the number";
        c('w') => Save; "save the session as a script";
        c('?') => Help; "this help";
        Key::control('c') => Interrupt; "stop a running command; else quit";
        c('q') => Quit; "quit (twice)";
    }
    Scope::Tab(Tab::Tile) => {
        c('a') => HeatMap; "numbers or a heat map";
        c('-') => Afar; "heat map of the whole tile, or lane by lane";
        c('T') => Transpose; "transpose";
        c('A') => Axes; "the next pair of axes";
        c('}'), c('{') => Slice(true), Slice(false); "next slice of the other axis; back";
        c('d') => Histogram; "histogram, or not";
        c('y') => Why; "why the lane holds its value";
    }
    Scope::Tab(Tab::Memory) => {
        c('a') => HeatMap; "signs or numbers";
        c('.'), c(',') => Tensor(true), Tensor(false); "the next tensor; the one before";
        c('T') => Transpose; "transpose";
        c('A') => Axes; "the next pair of axes";
        c('}'), c('{') => Slice(true), Slice(false); "next slice of the other axis; back";
        c('y') => Why; "who wrote the element";
    }
}

/// What a key does where the focus is: rows of the pane go before those that count anywhere.
pub fn action(key: Key, pane: Pane, tab: Tab) -> Option<Action> {
    let find = |anywhere: bool| {
        KEYS.iter()
            .filter(|row| (row.scope == Scope::Anywhere) == anywhere && row.scope.holds(pane, tab))
            .find_map(|row| {
                let at = row.keys.iter().position(|known| *known == key)?;
                row.actions.get(at).copied()
            })
    };
    find(false).or_else(|| find(true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_meaning_in_each_place() {
        for tab in [Tab::Tile, Tab::Memory, Tab::Grid, Tab::Findings] {
            for row in KEYS {
                assert_eq!(row.keys.len(), row.actions.len(), "{}", row.help);
                for (i, key) in row.keys.iter().enumerate() {
                    if row.scope.holds(Pane::Inspector, tab) {
                        assert_eq!(
                            action(*key, Pane::Inspector, tab),
                            row.actions.get(i).copied(),
                            "{key}"
                        );
                    }
                }
            }
        }
    }
}
