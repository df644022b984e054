//! `tilescope run LAUNCH [--out DIR]`: run, show the outputs at a glance, write them to files.

use anyhow::Result;
use tilescope_diagnostics::Report;
use tilescope_diagnostics::render::json;

use super::{as_text, keep_first, name_debugger, refuse, status_of};
use crate::args::{Backend, Format, Global, Run};
use crate::engine::{How, Refused, cpu, open};
use crate::output::Destination;
use crate::status::Status;
use crate::terminal::Terminal;

/// Runs one launch file. Outputs are written also when checks found something: they may show what.
pub fn run(args: &Run, global: &Global, terminal: &Terminal) -> Result<Status> {
    let json = args.run.format == Format::Json;
    let cpu = match cpu() {
        Ok(cpu) => cpu,
        Err(error) => return Ok(refuse(&error.into(), terminal)),
    };
    let how = How {
        options: &args.run,
        checks: !args.no_checks,
        expect: false,
        summaries: !global.quiet || json,
        progress: terminal.progress,
        cpu,
        schedules: 0,
        twice: false,
    };
    let mut report = Report::default();
    let mut refused = Refused(Vec::new());
    let mut status = Status::Clean;
    let result = open(&args.launch, &args.sources.python_path).and_then(|opened| {
        // Before the run: an hour's work should not end at a folder that cannot be written.
        let prepare = |out| Destination::prepare(out, opened.outputs());
        let destination = args.out.as_deref().map(prepare).transpose()?;
        let done = opened.run(&how)?;
        Ok((opened, done, destination))
    });
    match result {
        Ok((opened, done, destination)) => {
            for (index, mut launched) in done.launched.into_iter().enumerate() {
                status = status.and(status_of(&launched));
                if args.run.backend == Backend::Cpu {
                    let paths = &args.sources.python_path;
                    name_debugger(&mut launched, &args.launch, &opened, index, paths);
                }
                keep_first(&mut launched, args.run.max_findings);
                if !json {
                    terminal.report(&as_text(&opened, index, &launched, global, terminal))?;
                }
                report.launches.push(launched);
            }
            // Half the outputs of half a run would look like results.
            let whole = status != Status::Interrupted;
            if let Some(destination) = destination.filter(|_| whole)
                && let Err(error) = destination.write(opened.outputs(), &done.memory)
            {
                refused = error.into();
            }
        }
        Err(why) => refused = why,
    }
    status = status.and(refuse(&refused, terminal));
    if json {
        terminal.report(&json::report(&report, &refused.0, env!("CARGO_PKG_VERSION")))?;
    }
    Ok(status)
}
