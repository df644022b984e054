//! `tilescope run LAUNCH [--out DIR]`: run, show the outputs at a glance, write them to files.

use anyhow::Result;
use tilescope_diagnostics::{Check, CheckSet, Error, Report};

use super::{as_text, keep_first, name_debugger, refuse, status_of, unused};
use crate::args::{Backend, CheckOptions, Format, Global, Run};
use crate::engine::{How, Refused, cpu, open};
use crate::judge::Judge;
use crate::output::Destination;
use crate::report::{Files, Out, document};
use crate::status::Status;
use crate::terminal::Terminal;

/// Runs one launch file. Outputs are written also when checks found something: they may show what.
pub fn run(args: &Run, global: &Global, terminal: &Terminal) -> Result<Status> {
    let is_text = args.run.format == Format::Text;
    let ready = cpu().and_then(|cpu| Ok((cpu, Files::prepare(&args.report)?)));
    let (cpu, files) = match ready {
        Ok(ready) => ready,
        Err(error) => return Ok(refuse(&error.into(), terminal)),
    };
    let how = How {
        options: &args.run,
        checks: match args.no_checks {
            true => CheckSet::ALWAYS,
            false => args.run.checks.set(),
        },
        expect: false,
        summaries: !global.quiet || !is_text || !args.report.is_empty(),
        progress: terminal.progress,
        cpu,
        schedules: 0,
        twice: false,
        twin: false,
    };
    if let Some(error) = compares_nothing(&args.run.checks) {
        return Ok(refuse(&error.into(), terminal));
    }
    let (mut judge, wrong) = Judge::new(&args.judge);
    let mut out = Out::new(terminal);
    let mut report = Report::default();
    let mut refused = Refused(wrong);
    let mut status = Status::Clean;
    let result = open(&args.launch, &args.sources).and_then(|opened| {
        // Before the run: an hour's work should not end at a folder that cannot be written.
        let prepare = |out| Destination::prepare(out, opened.outputs());
        let destination = args.out.as_deref().map(prepare).transpose()?;
        let done = opened.run(&how)?;
        Ok((opened, done, destination))
    });
    match result {
        Ok((opened, done, destination)) => {
            for (index, mut launched) in done.launched.into_iter().enumerate() {
                if args.run.backend == Backend::Cpu && args.run.programs.is_empty() {
                    let sources = &args.sources;
                    name_debugger(
                        &mut launched,
                        &args.launch,
                        &opened,
                        index,
                        sources,
                        &args.run.checks,
                    );
                }
                refused.0.extend(judge.judge(&mut launched, &opened, index));
                status = status.and(status_of(&launched));
                keep_first(&mut launched, args.run.max_findings);
                if is_text {
                    let text = as_text(&opened, index, &launched, global, terminal);
                    status = status.and(out.text(&text));
                }
                report.launches.push(launched);
            }
            // Half the outputs of half a run would look like results.
            let whole = status != Status::Interrupted;
            if let Some(destination) = destination.filter(|_| whole)
                && let Err(error) = destination.write(opened.outputs(), &done.memory)
            {
                refused.0.push(error);
            }
        }
        Err(why) => refused.0.extend(why.0),
    }
    status = status.and(refuse(&refused, terminal));
    if refused.0.is_empty() && status != Status::Interrupted {
        report.unused = judge.unused();
    }
    if !report.unused.is_empty() && judge.denies_warnings() {
        status = status.and(Status::Found);
    }
    let shown = match document(args.run.format, &report, &refused.0) {
        Some(document) => out.document(&document, &report),
        None => out.text(&unused(&report.unused)),
    };
    let unwritten = Refused(files.write(&report, &refused.0));
    Ok(status.and(shown).and(refuse(&unwritten, terminal)))
}

/// `run` cannot be asked for a comparison that it does not make.
fn compares_nothing(checks: &CheckOptions) -> Option<Box<Error>> {
    let asked = checks
        .checks
        .as_ref()?
        .list
        .split(',')
        .any(|name| name.trim() == Check::OutputMismatch.id());
    asked.then(|| {
        Error::input(
            "`run` compares no output with what is expected: there is no `output-mismatch` to look for",
        )
        .help("`tilescope check` does")
    })
}
