//! A command that is started and recorded: errors, notices, and the report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tracer_capture::cassette::Head;
use tracer_capture::record::{FinishedRecording, Inherited, RecordOptions, Recording, Signals, StartError};
use tracer_catalog::FactsStore;
use tracer_insight::line::{Line, Tone};
use tracer_insight::status::{RunStatus, Signs};
use tracer_insight::text::{counted, shell_quoted};
use tracer_runs::{RunDirectory, RunReader, Strictness};
use tracer_sdk::format::{Payload, TAGS_VARIABLE, Tags};

use crate::error::{CliError, ErrorKind};
use crate::session::{Session, short_id};

/// Processes that are named one by one; the rest are counted.
const MAX_NAMED_PROCESSES: usize = 5;

/// A command of this shell, to be recorded.
pub(crate) fn options(command: Vec<OsString>, session: &mut Session) -> Result<RecordOptions, CliError> {
    let inherited = Inherited::of_process();
    let (_, problem) = Tags::from_variable(inherited.get(TAGS_VARIABLE).unwrap_or_default());
    if let Some(problem) = problem {
        let note = format!("tracer: a tag in {TAGS_VARIABLE} is not recorded: {problem}");
        session.ui.warn(note);
    }
    let settings = session.settings()?;
    Ok(RecordOptions::new(
        settings,
        command,
        &current_directory()?,
        &inherited,
    ))
}

/// Begins the recording.
pub(crate) fn begin(options: RecordOptions) -> Result<Recording, CliError> {
    Recording::start(options, &Inherited::of_process()).map_err(|error| {
        CliError::new(
            ErrorKind::NotRun,
            "the command was not started: its recording cannot begin",
        )
        .with_source(error)
        .with_hint("check the data directory: --data-dir DIR, or TRACER_DATA_DIR")
    })
}

/// Runs a command whose recording has begun, and reports the recording. Gives the exit code as shells have it.
pub(crate) fn run(
    recording: Recording,
    signals: &Signals,
    session: &mut Session,
) -> Result<(u8, FinishedRecording), CliError> {
    announce(&recording, session);
    let (code, recorded) = recording.run(signals).map_err(not_started)?;
    report(&recorded, session)?;
    Ok((code, recorded))
}

/// The working directory of this process.
pub(crate) fn current_directory() -> Result<PathBuf, CliError> {
    std::env::current_dir()
        .map_err(|error| CliError::input("failed to read the current directory").with_source(error))
}

/// An error that kept a command from being started, as that of a command that was not run.
pub(crate) fn not_run(error: CliError) -> CliError {
    match error.kind() {
        ErrorKind::NotExecutable | ErrorKind::NotFound => error,
        _ => error.of_kind(ErrorKind::NotRun),
    }
}

/// The command that a run recorded, to be run again in `directory`. `head` is that of the calls that it kept.
pub(crate) fn recorded_words(
    run: &RunDirectory,
    head: &Head,
    directory: &Path,
) -> Result<Vec<OsString>, CliError> {
    let give = "give it: … -- COMMAND";
    let first = RunReader::open(&run.path, Strictness::Lenient)
        .ok()
        .and_then(|run| run.records.clone().read_record(0).ok().flatten());
    let words = match first.map(|record| record.payload) {
        Some(Payload::RunStart { argv, cwd, .. }) if !argv.is_empty() => {
            if let Some(recorded) = cwd.filter(|recorded| Path::new(recorded) != directory) {
                let change = format!("run it there: cd {}", shell_quoted(&recorded));
                return Err(CliError::input(format!("the command was recorded in {recorded}"))
                    .with_hint(change)
                    .with_hint(format!("or {give}")));
            }
            argv
        }
        // A run that was interrupted has no root, but its calls say the command.
        _ => head.command.clone(),
    };
    // Folders and secrets have names there.
    let is_whole = |word: &String| !word.contains(REDACTED) && !word.contains('‹');
    if words.is_empty() || !words.iter().all(is_whole) {
        let what = if words.is_empty() {
            "the run recorded no command"
        } else {
            "the recorded command is not whole: a secret or a folder in it was replaced"
        };
        return Err(CliError::input(what).with_hint(give));
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

/// Replacement of secrets.
const REDACTED: &str = "__REDACTED__";

/// The error of a command that was not started.
pub(crate) fn not_started(error: StartError) -> CliError {
    let kind = match error {
        StartError::NotFound { .. } => ErrorKind::NotFound,
        StartError::NotExecutable { .. } => ErrorKind::NotExecutable,
        _ => ErrorKind::NotRun,
    };
    let hint = error.hint();
    CliError::new(kind, "the command was not started")
        .with_source(error)
        .with_hint(hint)
}

/// Prints what is changed for the command beyond its environment.
fn announce(recording: &Recording, session: &mut Session) {
    if !recording.added_options().is_empty() {
        let options = quoted_words(recording.added_options());
        let note = format!("tracer: added {options} (--no-otel and --no-proxy leave the command as it is)");
        session.ui.remark(note);
    }
    for notice in recording.notices() {
        session.ui.warn(format!("tracer: {notice}"));
    }
}

/// Words as a shell takes them.
pub(crate) fn quoted_words(words: &[OsString]) -> String {
    let quoted = words.iter().map(|word| shell_quoted(&word.to_string_lossy()));
    quoted.collect::<Vec<_>>().join(" ")
}

/// Prints to standard error what was recorded, what may be missing, and the command that shows it.
pub(crate) fn report(recorded: &FinishedRecording, session: &mut Session) -> Result<(), CliError> {
    if let Some(error) = &recorded.error {
        let line = Line::of("tracer: ", Tone::Muted).with("the recording is incomplete: ", Tone::Bad);
        session.ui.note(&line.with(error, Tone::Plain));
    }
    let store = FactsStore::new(session.data_dir()?);
    let id = recorded
        .run
        .and_then(|trace_id| store.select(Some(&trace_id.to_string())).ok())
        .map(|directory| short_id(&store, &directory));
    session.ui.remark_line(&summary(recorded, id.as_deref()));
    if recorded.received.unforwarded_requests > 0 {
        let note = format!(
            "tracer: the endpoint of the environment did not take {}",
            counted(recorded.received.unforwarded_requests, "request")
        );
        session.ui.warn(note);
    }
    if recorded.received.unforwarded_grpc_requests > 0 {
        let note = format!(
            "tracer: {} came by gRPC, which is not passed on to the endpoint of the environment",
            counted(recorded.received.unforwarded_grpc_requests, "request")
        );
        session.ui.warn(note);
    }
    if let Some(note) = survivors(recorded) {
        session.ui.warn(note);
    }
    if let Some(error) = &recorded.kept.error {
        let note = format!("tracer: the calls cannot be replayed: {error}");
        session.ui.warn(note);
    }
    for note in &recorded.notes {
        session.ui.warn(format!("tracer: {note}"));
    }
    for reason in &recorded.reasons {
        session.ui.remark(format!("  - {reason}"));
    }
    for line in frameworks(recorded) {
        session.ui.remark(line);
    }
    if let Some(id) = id {
        let show = session.command(&format!("show {id}"));
        session.ui.hint(&show);
    }
    Ok(())
}

/// `tracer: ✓ 4bf92f35 ok: 3 model calls, 2 tool calls, 1,204 tokens`
fn summary(recorded: &FinishedRecording, id: Option<&str>) -> Line {
    let status = recorded.status.unwrap_or(RunStatus::Ok);
    let line = Line::of("tracer: ", Tone::Muted)
        .with(status.glyph(), status.tone())
        .with(format!(" {} ", id.unwrap_or("–")), Tone::Strong)
        .with(status.as_str(), status.tone());
    let seen = if recorded.model_calls == 0 { " seen" } else { "" };
    let mut words = vec![
        counted(recorded.model_calls, "model call") + seen,
        counted(recorded.tool_calls, "tool call"),
    ];
    if let Some(tokens) = recorded.tokens {
        words.push(counted(tokens, "token"));
    }
    let reasons = match recorded.reasons.len() {
        0 => "",
        1 => "; the likely reason:",
        _ => "; likely reasons:",
    };
    line.with(format!(": {}{reasons}", words.join(", ")), Tone::Plain)
}

/// The table of frameworks, a line each.
fn frameworks(recorded: &FinishedRecording) -> Vec<String> {
    let rows = recorded.frameworks;
    let width = rows.iter().map(|row| row.name.len()).max().unwrap_or(0);
    let lines = rows
        .iter()
        .map(|row| format!("      {:width$}  {}", row.name, row.advice));
    let head = (!rows.is_empty()).then(|| "  - what makes the calls of a framework seen:".to_owned());
    head.into_iter().chain(lines).collect()
}

/// The processes that outlived the command.
fn survivors(recorded: &FinishedRecording) -> Option<String> {
    let survivors = &recorded.survivors;
    if survivors.is_empty() {
        return None;
    }
    let mut named: Vec<String> = survivors
        .iter()
        .take(MAX_NAMED_PROCESSES)
        .map(|survivor| format!("{} ({})", survivor.name, survivor.id))
        .collect();
    if survivors.len() > MAX_NAMED_PROCESSES {
        named.push(format!("and {} more", survivors.len() - MAX_NAMED_PROCESSES));
    }
    Some(format!(
        "tracer: still running, and not recorded any more: {}",
        named.join(", ")
    ))
}
