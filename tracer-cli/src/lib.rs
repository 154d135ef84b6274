//! The library behind the executable `tracer`: lists, shows, exports and validates recorded runs.
//!
//! A command is a short story: it selects runs, calls the SDK and renders. What it tells is made by [`render`], which
//! knows no terminal; what it writes goes through [`ui`], which is the only place that writes. The exit codes are those
//! of [`error::ErrorKind`].

mod amounts;
pub mod args;
pub mod commands;
mod demo_agent;
pub mod error;
pub mod export;
mod gate;
pub mod gate_report;
mod invocation;
mod output_file;
pub mod progress;
pub mod reference;
#[cfg(test)]
mod schemas;
pub mod session;
pub mod since;
pub mod terminal;
pub mod ui;
mod value_parsers;

use std::process::ExitCode;

use clap::Parser;

use crate::args::Cli;
use crate::error::{CliError, ErrorKind};
use crate::session::Session;
use crate::ui::Ui;

/// Parses the arguments of the process, runs the command, reports its error, and gives its exit code.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(usage) => {
            // Help and version are no errors and come this way too; nobody may be reading them.
            let _ = usage.print();
            return ExitCode::from(u8::try_from(usage.exit_code()).unwrap_or(2));
        }
    };
    let ui = Ui::new(cli.colour, cli.ascii);
    let mut session = Session::new(ui, cli.data_dir).started_as(invocation::of_this_process());
    let verdict = match cli.command.run(&mut session) {
        Ok(verdict) => verdict,
        Err(error) => return report(&mut session.ui, &error),
    };
    match session.ui.flush() {
        // Nobody reads the output any more; what a check found stands.
        Err(error) if error.kind() != ErrorKind::ClosedPipe => report(&mut session.ui, &error),
        _ => verdict.exit_code(),
    }
}

fn report(ui: &mut Ui, error: &CliError) -> ExitCode {
    ui.error(error);
    error.kind().exit_code()
}
