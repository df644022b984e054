//! The debugger on a screen, without a terminal in it.
//!
//! [`Tui`] is the model: a session and what the panes show of it. [`Tui::update`] takes a key, a click or a new size;
//! [`Tui::work`] does what then waits to be done; [`Tui::draw`] paints the model into a buffer. Nothing is computed
//! while drawing, and nothing here reads a file, a clock or a terminal: the command line owns those, a test has none.
//!
//! Every move is a line of the debugger's own language, the same that a script holds ([`Tui::script`]): what keys do
//! can be read in the console, repeated from a file, and is tested there.
//!
//! Left out: several launches on one screen; changing values.

mod console;
mod editor;
mod grid;
mod input;
mod keys;
mod layout;
mod model;
mod mouse;
mod paint;
mod panes;
mod sheet;
mod source;
mod svg;
mod syntax;
mod theme;
mod tile;
mod update;

pub use input::{Input, Key, KeyCode, Mouse, events};
pub use keys::{KEYS, KeyRow};
pub use layout::{LEAST, Pane, Tab};
pub use model::{Flow, Texts, Tui};
pub use svg::svg;
pub use theme::{Background, Depth, Theme};
