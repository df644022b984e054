//! The debugger on a terminal: whatever ends it, the terminal is as it was.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use libtest_mimic::{Failed, Trial};
use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Termios, Winsize, tcgetattr, tcsetwinsize};

use crate::{data, tilescope};

/// Long enough for a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What ends the session.
#[derive(Debug, Clone, Copy)]
enum End {
    Keys(&'static [u8]),
    Signal(&'static str),
    Panic,
}

pub fn trials() -> Vec<Trial> {
    let mut ends = vec![
        ("quit", End::Keys(b"nqq"), 0),
        ("interrupt", End::Keys(b"\x03"), 0),
        ("terminate", End::Signal("-TERM"), 130),
        ("hang_up", End::Signal("-HUP"), 130),
    ];
    // A build for users has no way to ask for a panic.
    if cfg!(debug_assertions) {
        ends.push(("panic", End::Panic, 70));
    }
    let trial =
        |(name, end, status)| Trial::test(format!("terminal/{name}"), move || is_left_as_it_was(end, status));
    ends.into_iter().map(trial).collect()
}

/// A terminal that nobody looks at.
struct Pseudo {
    master: File,
    /// The end that the program has.
    terminal: File,
    shown: Arc<Mutex<Vec<u8>>>,
}

impl Pseudo {
    fn open() -> Result<Pseudo, Failed> {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&master)?;
        unlockpt(&master)?;
        let name = ptsname(&master, Vec::new())?;
        let terminal = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(OFlags::NOCTTY.bits() as i32)
            .open(name.to_str()?)?;
        let size = Winsize {
            ws_row: 24,
            ws_col: 80,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&terminal, size)?;
        let master = File::from(master);
        let shown = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, shared) = (master.try_clone()?, shown.clone());
        spawn(move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = reader.read(&mut part) {
                let mut shown = shared.lock().unwrap_or_else(PoisonError::into_inner);
                shown.extend_from_slice(&part[..count]);
            }
        });
        Ok(Pseudo {
            master,
            terminal,
            shown,
        })
    }

    fn shown(&self) -> String {
        let shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&shown).into_owned()
    }

    fn modes(&self) -> Result<Termios, Failed> {
        Ok(tcgetattr(&self.terminal)?)
    }

    fn wait_for(&self, text: &str) -> Result<(), Failed> {
        let begun = Instant::now();
        while !self.shown().contains(text) {
            if begun.elapsed() > PATIENCE {
                return Err(format!("never shown: {text:?}\n{:?}", self.shown()).into());
            }
            sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

fn is_left_as_it_was(end: End, status: i32) -> Result<(), Failed> {
    let mut pseudo = Pseudo::open()?;
    let before = pseudo.modes()?;
    let mut command = tilescope(&data());
    command
        .args(["debug", "vector_add"])
        .env("TERM", "xterm-256color")
        .stdin(pseudo.terminal.try_clone()?)
        .stdout(pseudo.terminal.try_clone()?)
        .stderr(pseudo.terminal.try_clone()?);
    if matches!(end, End::Panic) {
        command.env("TILESCOPE_TEST_PANIC", "1");
    }
    let mut child = command.spawn()?;
    pseudo.wait_for("\x1b[?1049h")?;
    match end {
        End::Keys(keys) => {
            pseudo.wait_for("vector_add_kernel")?;
            if pseudo.modes()?.local_modes.contains(LocalModes::ICANON) {
                return Err("the terminal is not in raw mode: this test shows nothing".into());
            }
            pseudo.master.write_all(keys)?;
        }
        End::Signal(signal) => {
            pseudo.wait_for("vector_add_kernel")?;
            Command::new("kill")
                .args([signal, &child.id().to_string()])
                .status()?;
        }
        End::Panic => {}
    }
    let begun = Instant::now();
    let ended = loop {
        match child.try_wait()? {
            Some(ended) => break ended,
            None if begun.elapsed() > PATIENCE => {
                child.kill()?;
                return Err(format!("it does not end\n{:?}", pseudo.shown()).into());
            }
            None => sleep(Duration::from_millis(20)),
        }
    };
    // The last of the screen is on its way.
    pseudo.wait_for("\x1b[?1049l")?;
    pseudo.wait_for("\x1b[?25h")?;
    let shown = pseudo.shown();
    let after = pseudo.modes()?;
    if (before.local_modes, before.input_modes, before.output_modes)
        != (after.local_modes, after.input_modes, after.output_modes)
    {
        return Err("the terminal's modes are not what they were".into());
    }
    let (_, last) = shown.rsplit_once("\x1b[?1049l").unwrap_or_default();
    if !shown.contains("\x1b[?1000l") || last.contains("\x1b[?1049h") {
        return Err(format!("the mouse or the other screen is still taken: {shown:?}").into());
    }
    if ended.code() != Some(status) {
        return Err(format!("exit status {:?}: {last:?}", ended.code()).into());
    }
    if matches!(end, End::Panic) {
        // On the screen that stays, not on the one that is gone.
        pseudo.wait_for("Please report it")?;
        let shown = pseudo.shown();
        let (_, last) = shown.rsplit_once("\x1b[?1049l").unwrap_or_default();
        if !last.contains("internal error: asked for by a test") {
            return Err(format!("the message is lost: {last:?}").into());
        }
    }
    Ok(())
}
