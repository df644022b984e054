//! `tilescope check LAUNCH…`: all checks, and outputs compared with what is expected.

use anyhow::Result;
use tilescope_diagnostics::Report;
use tilescope_diagnostics::render::json;

use super::{as_text, keep_first, name_debugger, refuse, status_of};
use crate::args::{Backend, Check, Format, Global};
use crate::engine::{How, cpu, open};
use crate::interrupt;
use crate::status::Status;
use crate::terminal::Terminal;

/// Runs every launch; one that cannot be run does not keep the others from it.
pub fn run(args: &Check, global: &Global, terminal: &Terminal) -> Result<Status> {
    let json = args.run.format == Format::Json;
    let cpu = match cpu() {
        Ok(cpu) => cpu,
        Err(error) => return Ok(refuse(&error.into(), terminal)),
    };
    let how = How {
        options: &args.run,
        checks: true,
        expect: true,
        summaries: json || args.run.hash,
        progress: terminal.progress,
        cpu,
        schedules: args.schedules,
        twice: args.twice,
    };
    let mut report = Report::default();
    let mut errors = Vec::new();
    let mut status = Status::Clean;
    for argument in &args.launches {
        if interrupt::requested() {
            status = status.and(Status::Interrupted);
            break;
        }
        match open(argument, &args.sources.python_path)
            .and_then(|opened| opened.run(&how).map(|done| (opened, done)))
        {
            Ok((opened, done)) => {
                for (index, mut launched) in done.launched.into_iter().enumerate() {
                    status = status.and(status_of(&launched));
                    if args.run.backend == Backend::Cpu {
                        let paths = &args.sources.python_path;
                        name_debugger(&mut launched, argument, &opened, index, paths);
                    }
                    keep_first(&mut launched, args.run.max_findings);
                    if !json {
                        terminal.report(&as_text(&opened, index, &launched, global, terminal))?;
                    }
                    report.launches.push(launched);
                }
            }
            Err(refused) => {
                status = status.and(refuse(&refused, terminal));
                errors.extend(refused.0);
            }
        }
    }
    if json {
        terminal.report(&json::report(&report, &errors, env!("CARGO_PKG_VERSION")))?;
    }
    Ok(status)
}
