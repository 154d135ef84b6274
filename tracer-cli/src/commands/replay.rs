//! `tracer replay`: runs a command against recorded answers of models.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracer_capture::cassette::{Cassette, OnMiss, ReplayOptions, ReplayOutcome, Replayer};
use tracer_capture::record::{CommandEnd, Inherited, Recording, Signals, check_program};
use tracer_insight::process_exit::ProcessExit;
use tracer_insight::text::shell_quoted;

use crate::cassettes::{self, MISS_CODE, RecordedCalls};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::recorded_command::{self, not_run, not_started};
use crate::runtime;
use crate::session::Session;
use crate::terminal;

/// Options of `tracer replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer replay tests/cassettes/refund.jsonl -- python agent.py

The command gets variables that lead its model calls to the cassette: no provider is asked, keys are placeholders, and tools run \
as always. The run is recorded, with the recorded tokens. Every run of tracer record can be replayed: tracer replay latest. \
Write a cassette to keep with: tracer record --cassette FILE -- COMMAND, or: tracer export RUN_ID --format cassette

Exit codes: that of the command; 7 if a request was not in the cassette, or a recorded call was never asked; 125, 126 and \
127 as tracer record has them.")]
pub struct Args {
    /// Cassette, or the run whose recorded calls answer: ID, unique prefix of it, name, latest or latest~N
    #[arg(value_name = "FILE|RUN_ID")]
    source: PathBuf,

    /// Fail a request that is not in the cassette, send it to the provider, or send it and record the answer
    #[arg(long, value_enum, value_name = "ACTION", default_value_t)]
    on_miss: MissAction,

    /// Require the recorded call order
    #[arg(long)]
    ordered: bool,

    /// Serve until Ctrl-C instead of running a command, and print the variables to set
    #[arg(long, conflicts_with = "command")]
    serve: bool,

    /// Print the recorded calls, and run nothing
    #[arg(long, conflicts_with_all = ["command", "serve", "ordered", "on_miss"])]
    show: bool,

    /// Command to run [default: the command that RUN_ID recorded]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The recorded calls, and the command of their run.
struct ReplaySource {
    cassette: Arc<Cassette>,
    command: Vec<OsString>,
    is_run: bool,
}

/// Reads the cassette, or the calls that a run recorded.
fn source(args: &Args, session: &mut Session) -> Result<ReplaySource, CliError> {
    let mut command = args.command.clone();
    let Some(run) = args.source.to_str().filter(|_| !is_file(&args.source)) else {
        let cassette = cassettes::read(&args.source)?;
        return Ok(ReplaySource {
            cassette,
            command,
            is_run: false,
        });
    };
    if args.on_miss == MissAction::Record {
        return Err(
            CliError::input("--on-miss record appends to a cassette, and not to a run")
                .with_hint("make a cassette of the run: tracer export RUN_ID --format cassette --out FILE"),
        );
    }
    let recorded = RecordedCalls::select(run, session)?;
    if command.is_empty() && !args.show && !args.serve {
        command = recorded.command()?;
    }
    Ok(ReplaySource {
        cassette: Arc::new(recorded.cassette),
        command,
        is_run: true,
    })
}

/// Checks if the source is a file: it is one, or only a file can have this name.
fn is_file(source: &Path) -> bool {
    source.is_file()
        || source.components().count() > 1
        || source.extension().is_some_and(|end| end == "jsonl")
}

/// Treatment of a request that is not in the cassette.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum MissAction {
    /// Answer with an error; the replay exits with 7
    #[default]
    Fail,
    /// Ask the provider, for the rest of this conversation too
    Live,
    /// Ask the provider, and append the answer to the cassette
    Record,
}

/// Runs the command against the cassette.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.show {
        let source = source(args, session)?;
        let lines = terminal::cassette::lines(&source.cassette, &session.prices()?);
        session.ui.lines(&lines)?;
        return Ok(CommandOutcome::Done);
    }
    // Signals are taken over before any thread starts.
    let signals = (!args.serve).then(Signals::keep);
    let ReplaySource {
        cassette,
        command,
        is_run,
    } = source(args, session).map_err(not_run)?;
    if cassette.is_torn && !is_run {
        let note = "tracer: the last line of the cassette is cut short, and left out";
        session.ui.warn(note);
    }
    match command.first() {
        Some(program) => check_program(program, Path::new(".")).map_err(not_started)?,
        None if !args.serve => {
            let refused = CliError::input("there is no command to run");
            return Err(not_run(
                refused.with_hint("give it: tracer replay FILE -- COMMAND"),
            ));
        }
        None => {}
    }
    let (recording, replayer) = begin(args, &cassette, command, session).map_err(not_run)?;
    let code = if let Some(signals) = signals {
        recorded_command::run(recording, &signals, session)?.0
    } else {
        let ended = serve(&recording, session)?;
        recorded_command::report(&recording.end(ended), session)?;
        0
    };
    let outcome = replayer.outcome();
    cassettes::report(&outcome, session);
    hints(args, is_run, &outcome, session);
    Ok(CommandOutcome::Exited(exit_code(args, code, &outcome)))
}

/// The exit code: a miss outranks the command's own code, and that outranks recorded calls that were never asked.
fn exit_code(args: &Args, code: u8, outcome: &ReplayOutcome) -> u8 {
    let is_incomplete = args.on_miss == MissAction::Fail && !outcome.unused.is_empty();
    match code {
        _ if outcome.missed > 0 => MISS_CODE,
        0 if is_incomplete => MISS_CODE,
        code => code,
    }
}

/// Begins the run.
fn begin(
    args: &Args,
    cassette: &Arc<Cassette>,
    command: Vec<OsString>,
    session: &mut Session,
) -> Result<(Recording, Arc<Replayer>), CliError> {
    if args.on_miss == MissAction::Record && Inherited::of_process().get("CI").is_some() {
        return Err(
            CliError::input("--on-miss record asks providers, and the variable CI is set")
                .with_hint("record on your machine, and commit the cassette"),
        );
    }
    let mut options = ReplayOptions::default();
    options.on_miss = match args.on_miss {
        MissAction::Fail => OnMiss::Fail,
        MissAction::Live => OnMiss::Live,
        MissAction::Record => OnMiss::Record,
    };
    options.is_ordered = args.ordered;
    let command = if args.serve {
        vec!["tracer".into(), "replay".into(), cassette.path.clone().into()]
    } else {
        command
    };
    let mut recorded = recorded_command::options(command, session)?;
    let replayer = recorded.replay(cassette, options).map_err(cassettes::not_read)?;
    let path = cassette.path.display().to_string();
    recorded
        .attributes
        .insert("tracer.replayed_from".to_owned(), path.into());
    Ok((recorded_command::begin(recorded)?, replayer))
}

/// Prints the variables, and waits for Ctrl-C.
fn serve(recording: &Recording, session: &mut Session) -> Result<CommandEnd, CliError> {
    let interrupted = runtime::interrupts()?;
    for variable in &recording.environment().variables {
        session.ui.plain(&format!("export {}", variable.assignment()))?;
    }
    session.ui.flush()?;
    let note = "tracer: set these variables for your tests; Ctrl-C ends the replay";
    session.ui.remark(note);
    let _ = interrupted.recv();
    Ok(CommandEnd::now(Some(ProcessExit::Code(0))))
}

/// Prints what to do about a replay that left something over.
fn hints(args: &Args, is_run: bool, outcome: &ReplayOutcome, session: &mut Session) {
    if outcome.is_complete() || args.on_miss != MissAction::Fail {
        return;
    }
    let source = shell_quoted(&args.source.display().to_string());
    let record = if is_run {
        "record -- COMMAND".to_owned()
    } else {
        format!("record --force --cassette {source} -- COMMAND")
    };
    session.suggest("record again", &record);
    if outcome.missed > 0 {
        let live = format!("replay {source} --on-miss live -- COMMAND");
        session.suggest("continue with the provider", &live);
    }
}
