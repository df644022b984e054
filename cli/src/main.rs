//! The `tilescope` command: a thin layer of argument parsing and printing over the other crates.
//!
//! Only this crate prints, exits, or reads the clock and the environment.

mod again;
mod against;
mod args;
mod commands;
mod crash;
mod engine;
mod engines;
mod files;
mod gpu;
mod interrupt;
mod judge;
mod kept;
mod output;
mod pipeline;
mod precision;
mod progress;
mod python;
mod report;
mod screen;
mod status;
mod terminal;
mod triton;

use std::process::ExitCode;

use clap::Parser;

use args::{Cli, Command};
use status::Status;
use terminal::Terminal;

fn main() -> ExitCode {
    gpu::begin();
    crash::guard(|| run(&Cli::parse())).into()
}

fn run(cli: &Cli) -> Status {
    interrupt::install();
    let terminal = Terminal::new(&cli.global);
    let result = match &cli.command {
        Command::Check(args) => commands::check::run(args, &cli.global, &terminal),
        Command::Run(args) => commands::run::run(args, &cli.global, &terminal),
        Command::Diff(args) => commands::diff::run(args, &cli.global, &terminal),
        Command::Debug(args) => commands::debug::run(args, &cli.global, &terminal),
        Command::Emit(args) => commands::emit::run(args, &terminal),
        Command::List(args) => commands::list::run(args, &terminal),
        Command::Init(args) => commands::init::run(args, &terminal),
        Command::Kernels => commands::kernels::run(&terminal),
        Command::Cache(args) => match args.action {
            args::CacheAction::Clear => commands::cache::clear(&terminal),
        },
        Command::Explain(args) => commands::explain::run(args, &terminal),
    };
    result.unwrap_or_else(|error| {
        terminal::message(&format!("error: {error:#}\n"));
        Status::Input
    })
}
