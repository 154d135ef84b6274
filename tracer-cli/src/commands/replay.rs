//! `tracer replay`: runs a command against recorded answers of models.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracer_capture::cassette::{Cassette, Matching, OnMiss, ReplayOptions, ReplayOutcome, Replayer};
use tracer_capture::record::{CommandEnd, Exit, Inherited, Recording, Signals, check_program};
use tracer_insight::text::shell_quoted;

use crate::cassettes::{self, MISS_CODE, ReplayedCommand};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::recorded_command::{
    announce, current_directory, not_run, not_started, recorded_words, report, run_recorded,
};
use crate::runtime;
use crate::session::{Session, quoted};

/// Options of `tracer replay`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer replay tests/cassettes/refund.jsonl -- python agent.py

The command is started with variables that lead its calls of models to the cassette: no provider is asked, keys are replaced \
by placeholders, and tools run as always. The run is recorded, with the recorded tokens. Write a cassette with: \
tracer record --cassette FILE -- COMMAND

Exit codes: that of the command; 7 when a request was not in the cassette, or a recorded call was never asked; 125, 126 and \
127 as tracer record has them.")]
pub struct Args {
    /// Cassette to answer from
    #[arg(value_name = "FILE", required_unless_present = "run")]
    cassette: Option<PathBuf>,

    /// Answer from the calls that RUN_ID kept; without COMMAND, run the command that it recorded
    #[arg(long, value_name = "RUN_ID", conflicts_with_all = ["cassette", "serve"])]
    run: Option<String>,

    /// Fail a request that is not in the cassette, send it to the provider, or send it and record the answer
    #[arg(long, value_enum, value_name = "ACTION", default_value_t)]
    on_miss: MissAction,

    /// Wait FACTOR times the recorded time between the parts of an answer [default: 0, no waiting] [example: 0.1]
    #[arg(long, value_name = "FACTOR", default_value_t = 0.0, hide_default_value = true, value_parser = parse_pace)]
    latency: f64,

    /// Demand the recorded order of calls
    #[arg(long)]
    ordered: bool,

    /// Serve until Ctrl-C instead of running a command, and print the variables to set
    #[arg(long, conflicts_with = "command")]
    serve: bool,

    /// Name the run [default: TRACER_RUN_NAME, else the program and what it runs]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// Print nothing but errors and misses
    #[arg(long, short)]
    quiet: bool,

    /// Command to run, in any language
    #[arg(last = true, required_unless_present_any = ["serve", "run"], value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What answers, and the command.
struct ReplaySource {
    cassette: Arc<Cassette>,
    command: Vec<OsString>,
}

/// Reads the cassette, or the calls that a run kept.
fn source(args: &Args, session: &mut Session) -> Result<ReplaySource, CliError> {
    let mut command = args.command.clone();
    let cassette = match (&args.run, &args.cassette) {
        (Some(run), _) => {
            if args.on_miss == MissAction::Record {
                return Err(
                    CliError::input("--on-miss record appends to a cassette, and not to a run").with_hint(
                        "make a cassette of the run: tracer record --from-run RUN_ID --cassette FILE",
                    ),
                );
            }
            let (directory, short_id) = session.select(Some(run))?;
            let mut cassette = cassettes::exchanges_of(&directory, &short_id)?;
            if command.is_empty() {
                command = recorded_words(&directory, &cassette.head, &current_directory()?)?;
            }
            cassette.path = PathBuf::from(format!("run {short_id}"));
            Arc::new(cassette)
        }
        (None, path) => cassettes::read(path.as_deref().unwrap_or(Path::new("")))?,
    };
    Ok(ReplaySource { cassette, command })
}

/// What happens to a request that is not in the cassette.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum MissAction {
    /// Answer with an error; the replay exits with 7
    #[default]
    Fail,
    /// Ask the provider, and go on with it in this conversation
    Live,
    /// Ask the provider, and append the answer to the cassette
    Record,
}

/// Parses a factor of time.
fn parse_pace(text: &str) -> Result<f64, String> {
    let pace: f64 = text.parse().map_err(|_| "is no number".to_owned())?;
    if (0.0..=100.0).contains(&pace) {
        Ok(pace)
    } else {
        Err("is not between 0 and 100".to_owned())
    }
}

/// Runs the command against the cassette.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    // Before any thread is there.
    let signals = (!args.serve).then(Signals::keep);
    let ReplaySource { cassette, command } = source(args, session).map_err(not_run)?;
    if cassette.is_torn {
        let note = "tracer: the last line of the cassette is cut short, and left out";
        session.ui.warn(note);
    }
    if let Some(program) = command.first() {
        check_program(program).map_err(not_started)?;
    }
    let (recording, replayer) = begin(args, &cassette, command, session).map_err(not_run)?;
    if !args.quiet && !args.serve {
        announce(&recording, session);
    }
    let (code, recorded) = if let Some(signals) = signals {
        run_recorded(recording, signals)?
    } else {
        let ended = serve(&recording, session)?;
        (0, recording.end(ended))
    };
    report(args.quiet, &recorded, session)?;
    let outcome = replayer.outcome();
    if !args.quiet || !outcome.is_complete() {
        cassettes::report(&outcome, session);
        hints(args, &outcome, session);
    }
    Ok(CommandOutcome::Exited(exit_code(args, code, &outcome)))
}

/// A miss counts more than how the command took it; an error of its own counts more than calls that it did not get to.
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
    session: &Session,
) -> Result<(Recording, Arc<Replayer>), CliError> {
    let records = args.on_miss == MissAction::Record;
    if records && Inherited::of_process().get("CI").is_some() {
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
    options.matching = Matching {
        is_strict: args.on_miss == MissAction::Fail,
        is_ordered: args.ordered,
    };
    options.pace = args.latency;
    let command = if args.serve {
        vec!["tracer".into(), "replay".into(), cassette.path.clone().into()]
    } else {
        command
    };
    ReplayedCommand {
        cassette,
        command,
        name: args.name.as_deref(),
        options,
        appends: records,
    }
    .begin(session)
}

/// Prints the variables, and waits for Ctrl-C.
fn serve(recording: &Recording, session: &mut Session) -> Result<CommandEnd, CliError> {
    let interrupted = runtime::interrupts()?;
    for variable in &recording.environment().variables {
        let value = shell_quoted(&variable.value);
        session.ui.plain(&format!("export {}={value}", variable.name))?;
    }
    session.ui.flush()?;
    let note = "tracer: set these variables for your tests; Ctrl-C ends the replay";
    session.ui.remark(note);
    let _ = interrupted.recv();
    Ok(CommandEnd::now(Some(Exit::Code(0))))
}

/// Prints what to do about a replay that left something over.
fn hints(args: &Args, outcome: &ReplayOutcome, session: &mut Session) {
    if outcome.is_complete() || args.on_miss != MissAction::Fail {
        return;
    }
    let (record, source) = match (&args.run, &args.cassette) {
        (Some(run), _) => {
            let run = shell_quoted(run);
            ("record -- COMMAND".to_owned(), format!("--run {run}"))
        }
        (None, path) => {
            let file = path.as_deref().map(quoted).unwrap_or_default();
            (format!("record --force --cassette {file} -- COMMAND"), file)
        }
    };
    let record = session.command(&record);
    session.ui.hint(&format!("record again: {record}"));
    if outcome.missed > 0 {
        let live = session.command(&format!("replay {source} --on-miss live -- COMMAND"));
        session
            .ui
            .hint(&format!("go on with the provider from there: {live}"));
    }
}
