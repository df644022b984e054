//! `tilescope debug LAUNCH`: on a screen, or with `--script FILE`: commands from a file, one a line, each answered on
//! stdout.

use std::io::Read;
use std::sync::Arc;

use anyhow::Result;
use tilescope_debugger::{Command, Options, Reason, Reply, Session, render};
use tilescope_diagnostics::render::{number, text};
use tilescope_diagnostics::{Error, Severity};
use tilescope_tui::{Texts, Tui};

use super::refuse;
use crate::args::{Debug, Global, ReplyFormat};
use crate::engine::{Opened, Refused, cpu, open};
use crate::screen::{self, picture};
use crate::status::Status;
use crate::terminal::Terminal;
use crate::{files, interrupt};

/// Opens a session, for a script or for a screen.
pub fn run(args: &Debug, global: &Global, terminal: &Terminal) -> Result<Status> {
    let Some(script) = &args.script else {
        return screen(args, global, terminal);
    };
    let (opened, session, finding) = match session(args) {
        Ok(all) => all,
        Err(refused) => return Ok(refuse(&refused, terminal)),
    };
    let commands = match read(script) {
        Ok(text) => text,
        Err(why) => {
            let error = Error::input(format!("cannot read `{script}`: {why}"));
            return Ok(refuse(&error.into(), terminal));
        }
    };
    opened.bound.notes.iter().for_each(|note| terminal.note(note));
    if let (Some(asked), Some(own)) = (args.finding, finding)
        && asked != own
    {
        terminal.note(&format!("finding {asked} of `check` is finding {own} here"));
    }
    let launch = args.launch.map_or(0, |n| n as usize - 1);
    let mut front = Script {
        texts: opened.texts(launch),
        session,
        terminal,
        json: args.format == ReplyFormat::Json,
        status: Status::Clean,
    };
    front.play(&commands, finding)?;
    Ok(front.finish())
}

/// The session on the terminal; with `--keys` on a screen without one, as a picture on stdout.
fn screen(args: &Debug, global: &Global, terminal: &Terminal) -> Result<Status> {
    if let (None, Err(error)) = (&args.keys, screen::check()) {
        return Ok(refuse(&error.into(), terminal));
    }
    let (opened, session, finding) = match session(args) {
        Ok(all) => all,
        Err(refused) => return Ok(refuse(&refused, terminal)),
    };
    opened.bound.notes.iter().for_each(|note| terminal.note(note));
    let texts = Texts::of(&session, &opened.texts(args.launch.map_or(0, |n| n as usize - 1)));
    let theme = screen::theme(global, args.light);
    let size = match &args.keys {
        Some(_) => args.size,
        None => screen::size()?,
    };
    let mut tui = Tui::new(session, texts, &args.launch_file, theme, size);
    if let Some(number) = finding {
        tui.ask(format!("goto finding {number}"));
    }
    let Some(keys) = &args.keys else {
        return screen::run(tui);
    };
    tui.work();
    match picture::press(&mut tui, keys) {
        Ok(times) => {
            terminal.page(&picture::picture(&tui, args.svg, theme.background))?;
            if args.times {
                terminal.note(picture::times(times).trim_end());
            }
            Ok(Status::Clean)
        }
        Err(error) => Ok(refuse(&error.into(), terminal)),
    }
}

/// The session, and the finding to go to by its number there.
fn session(args: &Debug) -> std::result::Result<(Arc<Opened>, Session, Option<u64>), Refused> {
    let opened = Arc::new(open(&args.launch_file, &args.sources)?);
    let launch = args.launch.map_or(0, |n| n as usize - 1);
    let options = Options {
        history_bytes: (args.history as usize).saturating_mul(1 << 20),
        max_steps: args.max_steps,
        cpu: cpu()?,
        target: args.sources.target,
        poison: args.poison.into(),
        checks: args.checks.set(),
    };
    let mut session = opened.clone().session(launch, options)?;
    let finding = match args.finding {
        None => None,
        Some(number) => Some(own_number(&opened, &mut session, launch, number, options)?),
    };
    Ok((opened, session, finding))
}

/// The session's number of what `check` reports as its finding `number`.
///
/// # Errors
/// No such finding; one about the whole launch.
fn own_number(
    opened: &Opened,
    session: &mut Session,
    launch: usize,
    number: u64,
    options: Options,
) -> std::result::Result<u64, Refused> {
    let findings = opened.findings(launch, options)?;
    let wanted = usize::try_from(number)
        .ok()
        .and_then(|n| findings.get(n.checked_sub(1)?));
    let Some(wanted) = wanted else {
        let has = number::counted(findings.len() as u64, "finding");
        let error = Error::input(format!("there is no finding {number}: the launch has {has}"));
        return Err(error.into());
    };
    if wanted.program.is_none() {
        let what = wanted.check.id();
        let error = Error::input(format!(
            "finding {number} is {what}, about the whole launch: no operation made it"
        ));
        return Err(error.into());
    }
    if let Some(own) = session.number_of(wanted)? {
        return Ok(own);
    }
    Ok(session.bring(wanted.clone())?)
}

fn read(script: &str) -> std::result::Result<String, String> {
    if script != "-" {
        return files::read_text(std::path::Path::new(script));
    }
    let mut text = String::new();
    match std::io::stdin().read_to_string(&mut text) {
        Ok(_) => Ok(text),
        Err(error) => Err(error.to_string()),
    }
}

struct Script<'a> {
    session: Session,
    texts: files::KernelTexts<'a>,
    terminal: &'a Terminal,
    json: bool,
    status: Status,
}

impl Script<'_> {
    fn play(&mut self, commands: &str, finding: Option<u64>) -> Result<()> {
        match finding {
            None => self.answer("where", Ok(Some(Command::Where)))?,
            Some(number) => {
                self.answer(
                    &format!("goto finding {number}"),
                    Ok(Some(Command::GotoFinding(number))),
                )?;
            }
        }
        for line in commands.lines() {
            if interrupt::requested() {
                self.status = self.status.and(Status::Interrupted);
                break;
            }
            let command = Command::parse(line);
            if matches!(command, Ok(None)) {
                continue;
            }
            if matches!(command, Ok(Some(Command::Quit))) {
                break;
            }
            self.answer(line.trim(), command)?;
        }
        Ok(())
    }

    fn answer(
        &mut self,
        line: &str,
        command: std::result::Result<Option<Command>, Box<Error>>,
    ) -> Result<()> {
        let reply = match command {
            Ok(Some(command)) => self.session.run(command),
            Ok(None) => return Ok(()),
            Err(error) => Err(error),
        };
        match &reply {
            Err(error) => self.status = self.status.and(Status::of(error)),
            Ok(Reply::Stopped(stopped)) => {
                // It counts also if the session goes back to before it.
                if let Reason::Finding { finding, .. } = &stopped.reason
                    && finding.severity == Severity::Error
                {
                    self.status = self.status.and(Status::Found);
                }
            }
            Ok(_) => {}
        }
        let answer = self.render(line, &reply);
        self.terminal.page(&answer)
    }

    fn render(&self, line: &str, reply: &std::result::Result<Reply, Box<Error>>) -> String {
        match (reply, self.json) {
            (Ok(reply), true) => render::json::reply(line, reply, &self.texts),
            (Err(error), true) => render::json::error(line, error),
            (Ok(reply), false) => {
                format!(
                    "> {line}\n{}",
                    render::text::reply(reply, &self.texts, self.terminal.report)
                )
            }
            (Err(error), false) => format!("> {line}\n{}", text::error(error, self.terminal.report)),
        }
    }

    /// What was found decides the status, beside commands that were refused.
    fn finish(mut self) -> Status {
        let findings = self.session.findings();
        match findings.iter().any(|finding| finding.severity == Severity::Error) {
            true => self.status.and(Status::Found),
            false => self.status,
        }
    }
}
