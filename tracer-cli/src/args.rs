//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,

    /// The data directory, instead of the one in the environment and in the settings files.
    #[arg(
        long,
        global = true,
        value_name = "DIR",
        help = "Where the runs are [default: TRACER_DATA_DIR, else the settings, else ~/.tracer]"
    )]
    pub data_dir: Option<PathBuf>,

    /// When to colour.
    #[arg(
        long = "color",
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true,
        help = "When to colour: always, never, or auto, which obeys NO_COLOR, CLICOLOR_FORCE and TERM"
    )]
    pub colour: Colour,

    /// Whether signs are told in ASCII.
    #[arg(
        long,
        global = true,
        help = "Signs in ASCII, as also where TERM=dumb or the locale is not UTF-8"
    )]
    pub ascii: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record a simulated support agent: no network, no keys
    Demo(demo::Args),
    /// Make trials of a command and judge them: the gate
    Run(run::Args),
    /// Judge a recorded run by the rules of the gate
    Assert(assert::Args),
    /// Keep how an agent behaves now, to compare later runs with
    Baseline(baseline::Args),
    /// Make a change of behaviour the new baseline, and keep who did it and why
    Accept(accept::Args),
    /// Tell in what two runs differ, or a run and a baseline
    Diff(diff::Args),
    /// Write a policy to start from, and a workflow for GitHub Actions
    Init(init::Args),
    /// List recorded runs, newest first
    List(list::Args),
    /// Show a run: what happened, step by step
    Show(show::Args),
    /// Look at runs in the browser: a page that this machine serves to itself
    View(view::Args),
    /// Write a run as one file: a JSON document, or the format of another tool
    Export(export::Args),
    /// Check a run directory against the trace format, without changing it
    ValidateTrace(validate_trace::Args),
    /// Complete a run whose process died before it could end
    Repair(repair::Args),
    /// Give a run another name
    Rename(rename::Args),
    /// Remove runs, for good
    Delete(delete::Args),
    /// Remove old runs: by age, number, size and status
    Prune(prune::Args),
    /// Write what makes a shell complete commands and options
    Completions(completions::Args),
    /// Write the manual pages
    Man(man::Args),
}

impl Command {
    /// Does it.
    pub(crate) fn run(
        self,
        session: &mut crate::session::Session,
    ) -> Result<crate::commands::Verdict, crate::error::CliError> {
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
            Self::Completions(args) => completions::run(&args, session),
            Self::Man(args) => man::run(&args, session),
        }
    }
}
