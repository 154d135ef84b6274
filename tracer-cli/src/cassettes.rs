//! Cassettes for the commands: reading, errors, and the report of a replay.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracer_capture::cassette::{Cassette, CassetteError, Miss, ReplayOutcome};
use tracer_insight::line::{Line, Tone};
use tracer_runs::RunDirectory;

use crate::error::CliError;
use crate::recorded_command::{current_directory, recorded_words};
use crate::session::{Session, quoted};

/// Exit code of a replay with an unanswered request or an unused recorded call.
pub(crate) const MISS_CODE: u8 = 7;

/// Reads a cassette that holds a call.
pub(crate) fn read(path: &Path) -> Result<Arc<Cassette>, CliError> {
    let cassette = Cassette::read_filled(path).map_err(not_read)?;
    Ok(Arc::new(cassette))
}

/// A run of the store and the calls of models that it kept.
pub(crate) struct RecordedCalls {
    pub(crate) directory: RunDirectory,
    pub(crate) short_id: String,
    pub(crate) cassette: Cassette,
}

impl RecordedCalls {
    /// Selects a run; its calls are named after it.
    pub(crate) fn select(run_id: &str, session: &mut Session) -> Result<Self, CliError> {
        let (directory, short_id) = session.select(Some(run_id))?;
        let mut cassette = exchanges_of(&directory, &short_id)?;
        cassette.path = PathBuf::from(format!("run {short_id}"));
        if cassette.is_torn {
            let note = format!("tracer: the last call that run {short_id} kept is cut short, and left out");
            session.ui.warn(note);
        }
        Ok(Self {
            directory,
            short_id,
            cassette,
        })
    }

    /// The command that the run recorded, to be run again in this directory.
    pub(crate) fn command(&self) -> Result<Vec<OsString>, CliError> {
        recorded_words(&self.directory, &self.cassette.head, &current_directory()?)
    }
}

/// The exchanges that a run kept.
pub(crate) fn exchanges_of(run: &RunDirectory, short_id: &str) -> Result<Cassette, CliError> {
    let kept = Cassette::of_run(&run.path).map_err(|error| {
        let hint = match &error {
            CassetteError::FromTheFuture { .. } => "update tracer",
            CassetteError::Io { .. } => "check its permissions",
            _ => "record the agent again: tracer record -- COMMAND",
        };
        CliError::input(format!("failed to read the calls that run {short_id} kept"))
            .with_source(error)
            .with_hint(hint)
    })?;
    kept.ok_or_else(|| {
        CliError::input(format!("run {short_id} kept no calls of models"))
            .with_hint("record it again: tracer record -- COMMAND, without --no-exchanges and --no-proxy")
    })
}

/// The error of a cassette that cannot be read.
pub(crate) fn not_read(error: CassetteError) -> CliError {
    let hint = match &error {
        CassetteError::FromTheFuture { .. } => "update tracer, or record the cassette again".to_owned(),
        CassetteError::Io { .. } => "check the path and its permissions".to_owned(),
        CassetteError::Line { .. } => {
            "correct the line, where it is a cassette, or name one; or record into another file: \
             tracer record --cassette FILE -- COMMAND"
                .to_owned()
        }
        CassetteError::Empty { path } => {
            format!(
                "record it again: tracer record --force --cassette {} -- COMMAND",
                quoted(path)
            )
        }
        _ => "check the file".to_owned(),
    };
    CliError::input("failed to read the cassette")
        .with_source(error)
        .with_hint(hint)
}

/// Prints what came of a replay: the misses, what was not asked, and how much was.
pub(crate) fn report(outcome: &ReplayOutcome, session: &mut Session) {
    for miss in &outcome.misses {
        print_miss("replay", miss, session);
    }
    let hidden = outcome.missed.saturating_sub(outcome.misses.len() as u64);
    if hidden > 0 {
        let note = format!("… and {hidden} more requests without an answer");
        session.ui.remark(note);
    }
    let unused = outcome
        .unused_sentence()
        .map_or_else(String::new, |sentence| format!("; {sentence}"));
    let went_on = match outcome.live {
        0 => String::new(),
        1 => "; 1 request sent to the provider".to_owned(),
        count => format!("; {count} requests sent to the provider"),
    };
    let words = format!("replayed: {}{unused}{went_on}", outcome.coverage());
    let line = |tone| Line::of("tracer: ", Tone::Muted).with(words, tone);
    if outcome.is_complete() {
        session.ui.remark_line(&line(Tone::Plain));
    } else {
        // The reason for the exit code.
        session.ui.note(&line(Tone::Warning));
    }
}

/// Prints a request that `command` had no recorded answer to, and what comes nearest.
pub(crate) fn print_miss(command: &str, miss: &Miss, session: &mut Session) {
    let text = miss.to_string();
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    session
        .ui
        .note(&Line::of("✗ ", Tone::Bad).with(format!("{command}: {first}"), Tone::Strong));
    for line in lines {
        session.ui.note(&Line::of(line, tone_of(line)));
    }
}

fn tone_of(line: &str) -> Tone {
    match line.trim_start().chars().next() {
        Some('-') => Tone::Bad,
        Some('+') => Tone::Good,
        _ => Tone::Plain,
    }
}
