//! `tilescope explain [ID]`.

use anyhow::Result;
use tilescope_diagnostics::{Check, Error, closest, explain};

use crate::args::Explain;
use crate::status::Status;
use crate::terminal::Terminal;

/// Prints the page of one check, or the list of all.
pub fn run(args: &Explain, terminal: &Terminal) -> Result<Status> {
    let Some(id) = &args.id else {
        terminal.page(&explain::list())?;
        return Ok(Status::Clean);
    };
    let Some(check) = Check::from_id(id) else {
        let near = closest(id, Check::ALL.iter().map(|check| check.id()));
        let error = Error::input(format!("there is no check `{id}`")).help(match near {
            Some(near) => format!("did you mean {near}?"),
            None => String::from("`tilescope explain` lists all checks"),
        });
        terminal.error(&error);
        return Ok(Status::Input);
    };
    terminal.page(&explain::page(check))?;
    Ok(Status::Clean)
}
