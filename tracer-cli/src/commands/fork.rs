//! `tracer fork`: runs a command again, its first calls of models answered as a run recorded them, and the rest live.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracer_capture::cassette::{CallFault, ForkError, ForkOutcome, ForkPlan, Forker, Scrubbing};
use tracer_capture::record::{
    FinishedRecording, ForkedRun, Inherited, ModelFork, Recording, Signals, check_program, fork_models,
    verification,
};
use tracer_catalog::ListedRun;
use tracer_insight::comparison::{Comparison, words};
use tracer_insight::line::{Line, Tone};
use tracer_insight::text::counted;
use tracer_insight::units;
use tracer_runs::read_input;

use crate::cassettes::{self, MISS_CODE, RecordedCalls};
use crate::error::CliError;
use crate::gate::stored_run;
use crate::outcome::CommandOutcome;
use crate::recorded_command::{self, current_directory, not_run, not_started, quoted_words};
use crate::session::{Session, short_id};
use crate::terminal::fork_table;

/// The longest answer or system prompt.
const MAX_TEXT_BYTES: u64 = 64 * 1024 * 1024;

/// Options of `tracer fork`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer fork latest --at 3 --edit 3:answer.json -- python agent.py

The calls of models before call N must be those that RUN recorded, and get the recorded answers; a call that differs stops the \
fork, and the difference is printed. From call N on the provider is asked, with your keys, and paid. Tools run again from the \
start, with their effects. The new run names RUN as its origin: tracer diff RUN NEW_RUN compares them. \
Get an answer to edit with: tracer fork RUN --print-answer 3 > answer.json

Exit codes: that of the command; with several models or --verify, 1 unless every fork succeeds; 7 if a call before N differs from the recording; 125, 126 and 127 as tracer record has them.")]
pub struct Args {
    /// Run to fork: ID, unique prefix of it, name, latest or latest~N
    #[arg(value_name = "RUN")]
    run: String,

    /// Answer the calls of models before call N as recorded, and go on live from there
    #[arg(long, value_name = "N", required_unless_present = "print_answer")]
    at: Option<u64>,

    /// Answer call N with FILE: the API's JSON document, however the command asks for it, or a whole stream
    #[arg(long, value_name = "N:FILE", value_parser = parse_edit)]
    edit: Vec<(u64, PathBuf)>,

    /// Let call N fail: 429 or another status, timeout (nothing comes), or cut (half of the recorded answer)
    #[arg(long, value_name = "N:FAULT", value_parser = parse_fault)]
    fail: Vec<(u64, CallFault)>,

    /// Ask model NAME of the same provider from call N on; of several, fork with one after the other and compare them
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    model: Vec<String>,

    /// Verify each fork by this command line of the shell: its exit code counts, and TRACER_RUN_ID names the run
    #[arg(long, value_name = "COMMAND_LINE")]
    verify: Option<String>,

    /// Use the text in FILE as the system prompt from call N on
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,

    /// Print the recorded answer of call N, to edit it, and run nothing
    #[arg(long, value_name = "N", conflicts_with_all = ["at", "edit", "fail", "model", "system", "verify", "command"])]
    print_answer: Option<u64>,

    /// Go live without asking
    #[arg(long, short)]
    yes: bool,

    /// Command to run [default: the command that RUN recorded]
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Parses `N:REST`.
fn parse_call(text: &str) -> Result<(u64, &str), String> {
    let (call, rest) = text
        .split_once(':')
        .ok_or("has no colon behind the call's number")?;
    let call = call
        .parse()
        .map_err(|_| "does not begin with the number of a call")?;
    Ok((call, rest))
}

fn parse_edit(text: &str) -> Result<(u64, PathBuf), String> {
    let (call, file) = parse_call(text)?;
    Ok((call, file.into()))
}

fn parse_fault(text: &str) -> Result<(u64, CallFault), String> {
    let (call, fault) = parse_call(text)?;
    let fault = fault.parse().map_err(|error| format!("{fault:?} {error}"))?;
    Ok((call, fault))
}

/// Forks a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let origin = RecordedCalls::select(&args.run, session).map_err(not_run)?;
    if let Some(call) = args.print_answer {
        let answer = origin.cassette.answer_of_call(call);
        let answer = answer.map_err(|error| refused(&error, &origin, session))?;
        let text = tracer_insight::json::pretty(&answer).map_err(CliError::output)?;
        session.ui.plain(&text)?;
        return Ok(CommandOutcome::Done);
    }
    let directory = current_directory().map_err(not_run)?;
    let (plan, _) = prepare(args, args.only_model(), &origin, &directory, session).map_err(not_run)?;
    let command = match args.command.as_slice() {
        [] => origin.command().map_err(not_run)?,
        command => command.to_vec(),
    };
    if let Some(program) = command.first() {
        check_program(program, &directory).map_err(not_started)?;
    }
    if !confirmed(args, &plan, &origin, &command, session).map_err(not_run)? {
        return Ok(CommandOutcome::Done);
    }
    // Before any thread is there.
    let signals = Signals::keep();
    let fork = |model: Option<&str>, session: &mut Session| -> Result<ForkedRun, CliError> {
        let (plan, forker) = prepare(args, model, &origin, &directory, session).map_err(not_run)?;
        let forker = Arc::new(forker);
        let recording = begin(&plan, &origin, &forker, command.clone(), session).map_err(not_run)?;
        let (code, recorded) = recorded_command::run(recording, &signals, session)?;
        let outcome = forker.outcome();
        report_fork(&outcome, &origin, session);
        Ok(ForkedRun {
            code,
            recorded,
            outcome,
        })
    };
    if args.is_comparison() {
        let verify = |run| {
            let command = args.verify.as_deref();
            let exit = command.map(|command| verification(command, run, &signals));
            exit.transpose().map_err(not_started)
        };
        let forks = fork_models(args.models(), |model| fork(model, session), verify)?;
        return compare(forks, session);
    }
    let ForkedRun {
        code,
        recorded,
        outcome,
    } = fork(args.only_model(), session)?;
    compare_with_origin(&recorded, &origin, session)?;
    Ok(CommandOutcome::Exited(match code {
        _ if outcome.drift.is_some() => MISS_CODE,
        0 if !outcome.is_verified() => MISS_CODE,
        code => code,
    }))
}

impl Args {
    /// The models to fork with; the recorded one where none is named.
    fn models(&self) -> Vec<Option<String>> {
        match self.model.as_slice() {
            [] => vec![None],
            models => models.iter().cloned().map(Some).collect(),
        }
    }

    /// The model of a single fork.
    fn only_model(&self) -> Option<&str> {
        match self.model.as_slice() {
            [model] => Some(model),
            _ => None,
        }
    }

    fn is_comparison(&self) -> bool {
        self.model.len() > 1 || self.verify.is_some()
    }
}

/// Prints the forks as a table. Fails when one of them does not do what it should.
fn compare(forks: Vec<ModelFork>, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let are_successes = forks.iter().all(ModelFork::is_success);
    let store = session.facts_store()?;
    let runs = store.read_runs(forks.iter().filter_map(|fork| fork.fork.recorded.run));
    let lengths = runs.iter().map(|run| short_id(&store, &run.directory).len());
    let id_length = lengths.max().unwrap_or_default();
    let rows: Vec<(ModelFork, ListedRun)> = forks.into_iter().zip(runs).collect();
    let lines = fork_table::table(&rows, id_length, units::now(), session.ui.width());
    session.ui.lines(&lines)?;
    Ok(CommandOutcome::Exited(u8::from(!are_successes)))
}

/// Reads what is to change, and checks it.
fn prepare(
    args: &Args,
    model: Option<&str>,
    origin: &RecordedCalls,
    directory: &Path,
    session: &mut Session,
) -> Result<(ForkPlan, Forker), CliError> {
    let mut edits = BTreeMap::new();
    for (call, path) in &args.edit {
        if edits.insert(*call, text_of(path)?).is_some() {
            return Err(CliError::input(format!("call {call} is edited twice")));
        }
    }
    let mut faults = BTreeMap::new();
    for (call, fault) in &args.fail {
        if faults.insert(*call, *fault).is_some() {
            return Err(CliError::input(format!("call {call} fails twice")));
        }
    }
    let plan = ForkPlan {
        at: args.at.unwrap_or_default(),
        edits,
        faults,
        model: model.map(str::to_owned),
        system_prompt: args.system.as_deref().map(text_of).transpose()?,
    };
    let scrubbing = Scrubbing::of_program(&session.settings()?, directory);
    let forker = Forker::new(&origin.cassette, scrubbing, plan.clone())
        .map_err(|error| refused(&error, origin, session))?;
    Ok((plan, forker))
}

fn text_of(path: &Path) -> Result<String, CliError> {
    let text = read_input(path, MAX_TEXT_BYTES)
        .and_then(|bytes| String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8")));
    text.map_err(|error| CliError::input(format!("failed to read {}", path.display())).with_source(error))
}

/// The error of a plan that does not fit the run.
fn refused(error: &ForkError, origin: &RecordedCalls, session: &Session) -> CliError {
    let id = &origin.short_id;
    let hint = match error {
        ForkError::NoSuchCall { calls, .. } => format!("calls of models are numbered from 1 to {calls}"),
        ForkError::BeforeFork { call, .. } => format!("fork at it: --at {call}"),
        ForkError::WithoutContent { call } => format!("fork before it: --at {call}"),
        ForkError::NoAnswer { call } => {
            let print = format!("fork {id} --print-answer {call}");
            session.next_step("begin with the recorded answer", &print)
        }
        ForkError::TwoChanges { .. } => "give one of --edit and --fail".to_owned(),
        _ => "record it again: tracer record -- COMMAND".to_owned(),
    };
    CliError::input(format!("run {id} cannot be forked like that"))
        .with_source(error.clone())
        .with_hint(hint)
}

/// Asks before anything is paid or done again.
fn confirmed(
    args: &Args,
    plan: &ForkPlan,
    origin: &RecordedCalls,
    command: &[OsString],
    session: &mut Session,
) -> Result<bool, CliError> {
    let at = plan.at;
    let before = match at {
        1 => "no call is answered as recorded".to_owned(),
        2 => "call 1 is answered as recorded".to_owned(),
        at => format!("calls 1–{} are answered as recorded", at - 1),
    };
    let mut facts = vec![
        format!("tracer: forks run {}: {before}", origin.short_id),
        format!("tracer: from call {at} on the provider is asked, and paid"),
        "tracer: tools run again from the start, with their effects".to_owned(),
    ];
    let changes = plan.changes();
    if !changes.is_empty() {
        facts.push(format!("tracer: changed: {}", changes.join(", ")));
    }
    if args.model.len() > 1 {
        facts.push(format!(
            "tracer: one fork after the other, each in the files that the one before it left: {}",
            args.model.join(", ")
        ));
    }
    let exchanges = origin.cassette.exchanges.iter();
    let warnings = exchanges.filter(|exchange| !exchange.replaced.is_empty()).map(|exchange| {
        format!(
            "tracer: a secret was replaced in the recorded answer {}: the command gets __REDACTED__ there",
            exchange.number
        )
    });
    if args.yes {
        for fact in facts {
            session.ui.say(fact);
        }
        for warning in warnings {
            session.ui.warn(warning);
        }
        return Ok(true);
    }
    let action = format!("a fork, which runs tools again and asks the provider from call {at} on,");
    let facts = facts.into_iter().map(|fact| Line::of(fact, Tone::Plain));
    let lines = facts.chain(warnings.map(|warning| Line::of(warning, Tone::Warning)));
    let question = format!("run {}?", quoted_words(command));
    session
        .ui
        .confirm(&action, "confirm with --yes", lines, &question)
}

/// Begins the new run.
fn begin(
    plan: &ForkPlan,
    origin: &RecordedCalls,
    forker: &Arc<Forker>,
    command: Vec<OsString>,
    session: &mut Session,
) -> Result<Recording, CliError> {
    let mut options = recorded_command::options(command, session)?;
    options.fork(forker, plan, origin.directory.trace_id);
    let meta = origin.directory.clone().read_summary().meta.ok();
    let is_named = Inherited::of_process().get("TRACER_RUN_NAME").is_some();
    if let Some(name) = meta.and_then(|meta| meta.run_name).filter(|_| !is_named) {
        options.name = name;
    }
    recorded_command::begin(options)
}

/// Prints what came of the fork.
fn report_fork(outcome: &ForkOutcome, origin: &RecordedCalls, session: &mut Session) {
    let id = &origin.short_id;
    if let Some(miss) = &outcome.drift {
        cassettes::print_miss("fork", miss, session);
        let note = format!(
            "tracer: the fork stopped: {} as recorded, then the command asked something else",
            counted(outcome.verified, "call")
        );
        session.ui.warn(note);
        let earlier = format!("fork {id} --at {} -- COMMAND", outcome.verified + 1);
        session.suggest("fork where it still matches", &earlier);
        return;
    }
    if outcome.verified < outcome.before {
        let note = format!(
            "tracer: the command ended before the fork: it asked {} of the {} before it",
            outcome.verified,
            counted(outcome.before, "call")
        );
        session.ui.warn(note);
    }
    for call in &outcome.unasked {
        let note = format!("tracer: call {call} was to be changed, and was never asked");
        session.ui.warn(note);
    }
    if outcome.unchanged > 0 {
        let note = format!(
            "tracer: {} went on unchanged: the API or the request has no place for the change",
            counted(outcome.unchanged, "call")
        );
        session.ui.warn(note);
    }
    let line = Line::of("tracer: ", Tone::Muted).with(
        format!(
            "forked from run {id}: {} as recorded, {} changed, {} asked of the provider",
            counted(outcome.verified, "call"),
            outcome.changed.len(),
            outcome.live
        ),
        Tone::Plain,
    );
    session.ui.remark_line(&line);
}

/// Prints where both runs first differ, and the command that compares them.
fn compare_with_origin(
    recorded: &FinishedRecording,
    origin: &RecordedCalls,
    session: &mut Session,
) -> Result<(), CliError> {
    let Some(new) = recorded.run else {
        return Ok(());
    };
    let select = |id: String, session: &mut Session| stored_run::select(Some(&id), session);
    let before = select(origin.directory.trace_id.to_string(), session);
    let (_, short_id) = session.select(Some(&new.to_string()))?;
    // A run that was interrupted or is damaged is compared with nothing.
    if let (Ok(before), Ok(after)) = (before, select(new.to_string(), session)) {
        let comparison = Comparison::of_runs(&before.metrics, &after.metrics);
        let text = words::first_difference(&comparison).map_or_else(
            || "no call differs".to_owned(),
            |first| format!("first difference: {first}"),
        );
        session
            .ui
            .remark_line(&Line::of("tracer: ", Tone::Muted).with(text, Tone::Plain));
    }
    let diff = session.command(&format!("diff {} {short_id}", origin.short_id));
    session.ui.hint(&diff);
    Ok(())
}
