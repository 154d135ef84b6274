//! The command line.

use std::path::PathBuf;

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    accept, assert, baseline, cassette, completions, delete, demo, diff, doctor, export, fork, import, init,
    list, man, mcp, prices, proxy, prune, push, receive, record, rename, repair, replay, run, search, show,
    stats, validate_trace, view,
};
use crate::ui::Colour;

/// See what your agents did: every run, model call and tool call, on your own machine.
#[derive(Parser)]
#[command(
    name = "tracer",
    version,
    arg_required_else_help = true,
    after_help = "Exit codes: 0 success, 1 a check failed, 2 bad usage, bad input or nothing found, 7 a replay differed from its cassette, \
                  10 internal error; record, replay and fork pass on the code of their command."
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

    /// Use ASCII signs only, the default where TERM=dumb or the locale is not UTF-8
    #[arg(long, global = true)]
    pub ascii: bool,
}

/// The commands.
#[derive(Subcommand)]
pub enum Command {
    /// Record a simulated support agent, without network or keys
    Demo(demo::Args),
    /// Record a command: its model calls, tools and tokens become a run
    Record(record::Args),
    /// Run a command against recorded answers of models: no network, no keys, no cost
    Replay(replay::Args),
    /// Run a recorded agent again, and change what happens from one model call on
    Fork(fork::Args),
    /// Show, check or repair recorded answers of models
    Cassette(cassette::Args),
    /// Receive OpenTelemetry from any program, and make runs of it
    Receive(receive::Args),
    /// Record the model calls of programs that are pointed here
    Proxy(proxy::Args),
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
    /// Find steps in all runs: by text, tool, argument, model, error
    Search(search::Args),
    /// Print statistics over runs: failures, latency, tokens, by tool, model or day
    Stats(stats::Args),
    /// Show what a run did, step by step
    Show(show::Args),
    /// View runs in the browser, served from this machine
    View(view::Args),
    /// Serve runs to coding agents, over the Model Context Protocol
    Mcp(mcp::Args),
    /// Export a run as one file: JSON, HTML or the format of another tool
    Export(export::Args),
    /// Send runs to an OpenTelemetry collector or back end, or to a bucket
    Push(push::Args),
    /// Import OpenTelemetry spans and logs from files as runs
    Import(import::Args),
    /// Show what models cost, and where the prices are from
    Prices(prices::Args),
    /// Report why nothing is recorded
    Doctor(doctor::Args),
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
            Self::Record(args) => record::run(&args, session),
            Self::Replay(args) => replay::run(&args, session),
            Self::Fork(args) => fork::run(&args, session),
            Self::Cassette(args) => cassette::run(&args, session),
            Self::Receive(args) => receive::run(&args, session),
            Self::Proxy(args) => proxy::run(&args, session),
            Self::Run(args) => run::run(&args, session),
            Self::Assert(args) => assert::run(&args, session),
            Self::Baseline(args) => baseline::run(&args, session),
            Self::Accept(args) => accept::run(&args, session),
            Self::Diff(args) => diff::run(&args, session),
            Self::Init(args) => init::run(&args, session),
            Self::List(args) => list::run(&args, session),
            Self::Search(args) => search::run(&args, session),
            Self::Stats(args) => stats::run(&args, session),
            Self::Show(args) => show::run(&args, session),
            Self::View(args) => view::run(&args, session),
            Self::Mcp(args) => mcp::run(&args, session),
            Self::Export(args) => export::run(&args, session),
            Self::Push(args) => push::run(&args, session),
            Self::Import(args) => import::run(&args, session),
            Self::Prices(args) => prices::run(&args, session),
            Self::Doctor(args) => doctor::run(&args, session),
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
