//! The library behind the executable `tracer`: arguments, one file per command, and the terminal.
//!
//! Each of the [`commands`] selects runs, calls a library below and prints. [`terminal`] lays out the lines, [`ui`] alone
//! writes them, and [`error::ErrorKind`] decides the exit code.

#![allow(
    clippy::doc_markdown,
    clippy::doc_link_with_quotes,
    reason = "the comments of options are printed as help"
)]

pub mod args;
mod budget;
mod cassettes;
pub mod commands;
mod demo_agent;
pub mod error;
mod gate;
mod invocation;
pub mod outcome;
mod output_file;
pub mod progress;
mod recorded_command;
mod runtime;
#[cfg(test)]
mod schemas_tests;
pub mod session;
mod tags;
mod team_store;
pub mod terminal;
pub mod ui;
mod value_parsers;

use std::process::ExitCode;

use crate::args::Cli;
use crate::error::{CliError, ErrorKind};
use crate::session::Session;
use crate::ui::Ui;

/// Parses the arguments of the process, runs the command, reports its error, and gives its exit code.
pub fn main() -> ExitCode {
    let (cli, matches) = match Cli::parse_process() {
        Ok(parsed) => parsed,
        Err(usage) => {
            // Help and version are no errors but come this way too; their reader may have closed the pipe.
            let _ = usage.print();
            return ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2));
        }
    };
    let mut ui = Ui::new(cli.colour, cli.quiet);
    if let Err(error) = cli.refuse_unused_options(matches.subcommand_name().unwrap_or_default()) {
        return report(&mut ui, &error);
    }
    let mut session = Session::new(ui, cli.data_dir, cli.store, cli.json, invocation::detect());
    session.program = args::command;
    let verdict = match cli.command.run(&mut session) {
        Ok(verdict) => verdict,
        Err(error) => return report(&mut session.ui, &error),
    };
    match session.ui.flush() {
        // A closed pipe does not change the verdict.
        Err(error) if error.kind() != ErrorKind::ClosedPipe => report(&mut session.ui, &error),
        _ => verdict.exit_code(),
    }
}

fn report(ui: &mut Ui, error: &CliError) -> ExitCode {
    ui.error(error);
    error.kind().exit_code()
}
