//! `tilescope kernels`.

use anyhow::Result;
use tilescope_kernels::KERNELS;

use crate::status::Status;
use crate::terminal::Terminal;

/// Lists the built-in examples, one a line: name, then what it computes.
pub fn run(terminal: &Terminal) -> Result<Status> {
    let width = KERNELS
        .iter()
        .map(|example| example.name.len())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for example in KERNELS {
        text.push_str(&format!("{:width$}  {}\n", example.name, example.summary));
    }
    terminal.page(&text)?;
    Ok(Status::Clean)
}
