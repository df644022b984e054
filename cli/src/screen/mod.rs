//! The debugger on a real terminal: the loop between its events and the model, and the refusal where there is none.
//!
//! All that the screen shows and does is in `tilescope-tui`; this folder knows the terminal and nothing else.

mod backend;
mod events;
mod guard;
pub mod picture;

use std::fs::OpenOptions;
use std::io::{ErrorKind, IsTerminal, Write, stdin, stdout};
use std::path::Path;
use std::sync::atomic::Ordering;

use anyhow::{Context, Result};
use ratatui_core::terminal::Terminal as Screen;
use tilescope_diagnostics::Error;
use tilescope_tui::{Background, Depth, Flow, Theme, Tui};

use crate::args::{Global, When};
use crate::interrupt;
use crate::status::Status;

use backend::Backend;
use events::{Event, Events};
use guard::Guard;

/// Why no screen can be opened here.
///
/// # Errors
/// In words, with what can be used instead.
pub fn check() -> std::result::Result<(), Box<Error>> {
    let why = if !stdin().is_terminal() {
        "standard input is no terminal"
    } else if !stdout().is_terminal() {
        "standard output is no terminal"
    } else if std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
        "this terminal (TERM=dumb) cannot draw it"
    } else {
        return Ok(());
    };
    Err(
        Error::input(format!("the debugger's screen needs a terminal, and {why}"))
            .help("`--script FILE` runs the same commands from a file, `--script -` from standard input"),
    )
}

/// What the terminal can show, by its own account.
pub fn theme(global: &Global, light: bool) -> Theme {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let no_color = !variable("NO_COLOR").is_empty();
    let palette =
        variable("TERM").contains("256color") || ["truecolor", "24bit"].contains(&&*variable("COLORTERM"));
    let depth = match (global.color, no_color, palette) {
        (When::Never, ..) | (When::Auto, true, _) => Depth::None,
        (_, _, true) => Depth::Palette,
        (_, _, false) => Depth::Sixteen,
    };
    // `15;0`: white on black. Colours 0 to 6 and 8 are the dark ones.
    let ground = variable("COLORFGBG");
    let ground: Option<u8> = ground.rsplit(';').next().and_then(|n| n.parse().ok());
    let is_light = light || ground.is_some_and(|n| n == 7 || n > 8);
    Theme {
        background: if is_light {
            Background::Light
        } else {
            Background::Dark
        },
        depth,
    }
}

/// Columns and rows of the terminal.
///
/// # Errors
/// Where it does not say.
pub fn size() -> Result<(u16, u16)> {
    crossterm::terminal::size().context("cannot ask the terminal for its size")
}

/// Shows the model until the user quits.
///
/// # Errors
/// Where the terminal cannot be written to.
pub fn run(mut tui: Tui) -> Result<Status> {
    let guard = Guard::enter().context("cannot set up the terminal")?;
    let mut screen = Screen::new(Backend::new()).context("cannot draw on the terminal")?;
    let events = Events::listen();
    let status = events_until_quit(&mut tui, &mut screen, &events);
    drop(guard);
    status
}

fn events_until_quit(tui: &mut Tui, screen: &mut Screen<Backend>, events: &Events) -> Result<Status> {
    loop {
        draw(tui, screen)?;
        panic_if_asked();
        if tui.is_busy() {
            events.busy.store(true, Ordering::Relaxed);
            let flow = tui.work();
            events.busy.store(false, Ordering::Relaxed);
            interrupt::clear();
            if flow == Flow::Quit {
                return Ok(Status::Clean);
            }
            continue;
        }
        // All that has come in by now is one picture.
        let mut next = Some(events.wait());
        while let Some(event) = next {
            let input = match event {
                Event::Input(input) => input,
                Event::End(status) => return Ok(status),
            };
            match tui.update(input) {
                Flow::Quit => return Ok(Status::Clean),
                Flow::Work => break,
                Flow::Save(path) => {
                    let saved = save(&path, &tui.script());
                    match saved {
                        Ok(()) => tui.say(
                            &format!("saved; `tilescope debug … --script {path}` does it again"),
                            false,
                        ),
                        Err(why) => tui.say(&format!("cannot write {path}: {why}"), true),
                    }
                }
                Flow::Wait => {}
            }
            next = events.queued();
        }
    }
}

/// So that a test can see what a panic leaves of the terminal: only in builds for development.
fn panic_if_asked() {
    let asked = cfg!(debug_assertions) && std::env::var_os("TILESCOPE_TEST_PANIC").is_some();
    assert!(!asked, "asked for by a test");
}

fn draw(tui: &Tui, screen: &mut Screen<Backend>) -> Result<()> {
    let drawn = screen.draw(|frame| {
        if let Some(cursor) = tui.draw(frame.buffer_mut()) {
            frame.set_cursor_position(cursor);
        }
    });
    drawn.map(|_| ()).context("cannot draw on the terminal")
}

/// Writes a script; a file that is there is left alone.
fn save(path: &str, script: &str) -> std::result::Result<(), String> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(Path::new(path));
    let result = file.and_then(|mut file| file.write_all(script.as_bytes()));
    result.map_err(|why| match why.kind() {
        ErrorKind::AlreadyExists => String::from("it exists"),
        _ => why.to_string(),
    })
}
