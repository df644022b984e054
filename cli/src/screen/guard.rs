//! The terminal as it was: raw mode, the other screen and the mouse are given back however the program ends.

use std::io::{Result, Write, stdout};
use std::panic::{set_hook, take_hook};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::cursor::Show;
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

/// True while the terminal is not as it was.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Holds the terminal; gives it back when dropped.
#[derive(Debug)]
pub struct Guard(());

impl Guard {
    /// Takes the terminal.
    ///
    /// # Errors
    /// Where it cannot be set up; it is then as it was.
    pub fn enter() -> Result<Guard> {
        // A panic's message is for the screen that stays; so the terminal is given back before it is written.
        let previous = take_hook();
        set_hook(Box::new(move |info| {
            restore();
            previous(info);
        }));
        TAKEN.store(true, Ordering::Relaxed);
        let guard = Guard(());
        enable_raw_mode()?;
        execute!(stdout(), EnterAlternateScreen, EnableMouseCapture)?;
        Ok(guard)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        restore();
    }
}

/// Gives the terminal back, once.
fn restore() {
    if !TAKEN.swap(false, Ordering::Relaxed) {
        return;
    }
    // Each for itself: what fails must not keep the rest from being done.
    let _ = execute!(stdout(), DisableMouseCapture);
    let _ = execute!(stdout(), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
    let _ = stdout().flush();
}
