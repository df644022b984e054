//! `tilescope check LAUNCH…`: all checks, and outputs compared with what is expected.

use anyhow::Result;
use tilescope_diagnostics::render::summary;
use tilescope_diagnostics::{Error, Report};

use super::{as_text, keep_first, name_debugger, refuse, status_of, unused};
use crate::args::{Backend, Check, Format, Global};
use crate::engine::{Done, How, Opened, cpu, open};
use crate::interrupt;
use crate::judge::Judge;
use crate::report::{Files, Out, document};
use crate::status::Status;
use crate::terminal::Terminal;

/// Runs every launch; one that cannot be run does not keep the others from it.
pub fn run(args: &Check, global: &Global, terminal: &Terminal) -> Result<Status> {
    let ready = cpu().and_then(|cpu| Ok((cpu, Files::prepare(&args.report)?)));
    let (cpu, files) = match ready {
        Ok(ready) => ready,
        Err(error) => return Ok(refuse(&error.into(), terminal)),
    };
    if args.twin && args.run.backend != Backend::Cpu {
        let error =
            Error::input("--twin compares with the interpreter: it is not for --backend gpu or triton");
        return Ok(refuse(
            &error.help("leave out --backend, or --twin").into(),
            terminal,
        ));
    }
    let how = How {
        options: &args.run,
        checks: args.run.checks.set(),
        expect: args
            .run
            .checks
            .set()
            .contains(tilescope_diagnostics::Check::OutputMismatch),
        summaries: args.run.format == Format::Json || args.run.hash || !args.report.is_empty(),
        progress: terminal.progress,
        cpu,
        schedules: args.schedules.unwrap_or(0),
        twice: args.twice,
        twin: args.twin,
    };
    let (judge, wrong) = Judge::new(&args.judge);
    let mut all = All {
        args,
        global,
        terminal,
        judge,
        out: Out::new(terminal),
        report: Report::default(),
        errors: Vec::new(),
        status: Status::Clean,
    };
    all.refuse(wrong);
    for argument in &args.launches {
        if interrupt::requested() {
            all.status = all.status.and(Status::Interrupted);
            break;
        }
        let done =
            open(argument, &args.sources).and_then(|opened| opened.run(&how).map(|done| (opened, done)));
        match done {
            Ok((opened, done)) => all.take(argument, &opened, done),
            Err(refused) => all.refuse(refused.0),
        }
    }
    Ok(all.finish(&files))
}

/// What the launches of one command give together.
struct All<'a> {
    args: &'a Check,
    global: &'a Global,
    terminal: &'a Terminal,
    judge: Judge<'a>,
    out: Out<'a>,
    report: Report,
    errors: Vec<Box<Error>>,
    status: Status,
}

impl All<'_> {
    fn refuse(&mut self, errors: Vec<Box<Error>>) {
        for error in &errors {
            self.terminal.error(error);
            self.status = self.status.and(Status::of(error));
        }
        self.errors.extend(errors);
    }

    fn take(&mut self, argument: &str, opened: &Opened, done: Done) {
        for (index, mut launched) in done.launched.into_iter().enumerate() {
            if self.args.run.backend == Backend::Cpu && self.args.run.programs.is_empty() {
                let sources = &self.args.sources;
                name_debugger(
                    &mut launched,
                    argument,
                    opened,
                    index,
                    sources,
                    &self.args.run.checks,
                );
            }
            let wrong = self.judge.judge(&mut launched, opened, index);
            self.refuse(wrong);
            self.status = self.status.and(status_of(&launched));
            keep_first(&mut launched, self.args.run.max_findings);
            if self.args.run.format == Format::Text {
                let text = as_text(opened, index, &launched, self.global, self.terminal);
                self.status = self.status.and(self.out.text(&text));
            }
            self.report.launches.push(launched);
        }
    }

    fn finish(mut self, files: &Files) -> Status {
        // What a launch that did not run would have used is not known.
        let whole =
            self.errors.is_empty() && self.report.launches.iter().all(|launched| !launched.interrupted);
        if whole && self.status != Status::Interrupted {
            self.report.unused = self.judge.unused();
        }
        if !self.report.unused.is_empty() && self.judge.denies_warnings() {
            self.status = self.status.and(Status::Found);
        }
        let shown = match document(self.args.run.format, &self.report, &self.errors) {
            Some(document) => self.out.document(&document, &self.report),
            None => {
                let mut rest = unused(&self.report.unused);
                if self.args.launches.len() > 1 && !self.global.quiet {
                    rest.push_str(&summary::launches(&self.report.launches));
                }
                self.out.text(&rest)
            }
        };
        self.status = self.status.and(shown);
        let unwritten = files.write(&self.report, &self.errors);
        self.refuse(unwritten);
        self.status
    }
}
