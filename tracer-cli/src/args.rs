//! The command line.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    accept, assert, baseline, completions, delete, demo, diff, export, init, list, man, prune, rename,
    repair, run, show, validate_trace, view,
};
use crate::ui::Colour;

/// See what your agents did: every run, model call and tool call, on your own machine.
#[derive(Debug, Parser)]
#[command(
    name = "tracer",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 success, 1 a check failed, 2 bad usage, bad input or nothing found, 10 internal error."
)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,

    /// Use DIR as the data directory [default: TRACER_DATA_DIR, else the settings, else ~/.tracer]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,

    /// Colour the output always, never or auto, which obeys NO_COLOR, CLICOLOR_FORCE and TERM
    #[arg(
        long = "color",
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true
    )]
    pub colour: Colour,

    /// Draw signs in ASCII, the default where TERM=dumb or the locale is not UTF-8
    #[arg(long, global = true)]
    pub ascii: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record a simulated support agent, without network or keys
    Demo(demo::Args),
    /// Run a command several times and gate on what it did
    Run(run::Args),
    /// Check one recorded run against a policy
    Assert(assert::Args),
    /// Write a baseline to compare later runs with
    Baseline(baseline::Args),
    /// Accept changed behaviour as the new baseline, with a reason
    Accept(accept::Args),
    /// Compare two runs, or a run with a baseline
    Diff(diff::Args),
    /// Write a starter policy, and a workflow for GitHub Actions
    Init(init::Args),
    /// List recorded runs, newest first
    List(list::Args),
    /// Show what a run did, step by step
    Show(show::Args),
    /// View runs in the browser, served from this machine
    View(view::Args),
    /// Export a run as one file: JSON, HTML or the format of another tool
    Export(export::Args),
    /// Check a run directory against the trace format, without changing it
    ValidateTrace(validate_trace::Args),
    /// Complete a run whose process died before the run ended
    Repair(repair::Args),
    /// Rename a run
    Rename(rename::Args),
    /// Delete runs permanently
    Delete(delete::Args),
    /// Remove old runs by age, count, size or status
    Prune(prune::Args),
    /// Generate shell completions
    Completions(completions::Args),
    /// Generate the manual pages
    Man(man::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(
        self,
        session: &mut crate::session::Session,
    ) -> Result<crate::outcome::CommandOutcome, crate::error::CliError> {
        match self {
            Self::Demo(args) => demo::run(&args, session),
            Self::Run(args) => run::run(&args, session),
            Self::Assert(args) => assert::run(&args, session),
            Self::Baseline(args) => baseline::run(&args, session),
            Self::Accept(args) => accept::run(&args, session),
            Self::Diff(args) => diff::run(&args, session),
            Self::Init(args) => init::run(&args, session),
            Self::List(args) => list::run(&args, session),
            Self::Show(args) => show::run(&args, session),
            Self::View(args) => view::run(&args, session),
            Self::Export(args) => export::run(&args, session),
            Self::ValidateTrace(args) => validate_trace::run(&args, session),
            Self::Repair(args) => repair::run(&args, session),
            Self::Rename(args) => rename::run(&args, session),
            Self::Delete(args) => delete::run(&args, session),
            Self::Prune(args) => prune::run(&args, session),
            Self::Completions(args) => completions::run(&args, &mut Cli::command(), session),
            Self::Man(args) => man::run(&args, Cli::command(), session),
        }
    }
}
