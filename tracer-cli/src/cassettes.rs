//! Cassettes for the commands: reading them, starting a command that is answered from one, and the words for what came of it.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tracer_capture::cassette::{
    Cassette, CassetteError, CassetteFile, EXCHANGES_FILE, Miss, OnMiss, ReplayOptions, ReplayOutcome,
    Replayer, Scrubbing,
};
use tracer_capture::record::{Inherited, RecordOptions, Recording, RecordingHooks};
use tracer_insight::line::{Line, Tone};
use tracer_insight::text::counted;
use tracer_sdk::format::Timestamp;
use tracer_sdk::read::RunDirectory;

use crate::error::CliError;
use crate::recorded_command::{current_directory, not_begun, run_name};
use crate::session::{Session, quoted};
use crate::tags;

/// The exit code of a replay in which a request had no recorded answer, or a recorded call was never asked.
pub(crate) const MISS_CODE: u8 = 7;

/// A command whose calls of models are answered from a cassette.
#[derive(Debug)]
pub(crate) struct ReplayedCommand<'a> {
    /// The cassette.
    pub(crate) cassette: &'a Arc<Cassette>,
    /// The command.
    pub(crate) command: Vec<OsString>,
    /// How requests are matched and answered.
    pub(crate) options: ReplayOptions,
    /// Whether answers of the provider are appended to the cassette.
    pub(crate) appends: bool,
}

impl ReplayedCommand<'_> {
    /// Begins its run. No provider is asked unless a miss goes on to one.
    pub(crate) fn begin(self, session: &Session) -> Result<(Recording, Arc<Replayer>), CliError> {
        let inherited = Inherited::of_process();
        let settings = session.settings()?;
        let directory = current_directory()?;
        let scrubbing = Scrubbing::of_program(&settings, &directory);
        let replayer = Arc::new(Replayer::new(Arc::clone(self.cassette), scrubbing, self.options));
        let mut hooks = RecordingHooks::default();
        hooks.responder = Some(Arc::clone(&replayer) as _);
        if self.options.on_miss == OnMiss::Fail {
            hooks.offline = Some(self.cassette.providers());
        }
        if self.appends {
            hooks.cassette = Some(CassetteFile::append(self.cassette).map_err(not_read)?);
        }
        let path = Value::from(self.cassette.path.display().to_string());
        hooks.attributes = tags::attributes(&tags::of_environment().0);
        hooks.attributes.insert("tracer.replayed_from".to_owned(), path);
        let options = RecordOptions {
            settings,
            name: run_name(None, &self.command, &inherited, &directory),
            command: self.command,
            directory,
            receives_otlp: true,
            proxies_models: true,
            keeps_exchanges: true,
            no_stream_usage: false,
        };
        let recording = Recording::start_with(options, &inherited, hooks).map_err(not_begun)?;
        Ok((recording, replayer))
    }
}

/// Reads a cassette that holds a call.
pub(crate) fn read(path: &Path) -> Result<Arc<Cassette>, CliError> {
    let cassette = Cassette::read_filled(path).map_err(not_read)?;
    Ok(Arc::new(cassette))
}

/// The exchanges that a run kept.
pub(crate) fn exchanges_of(run: &RunDirectory, short_id: &str) -> Result<Cassette, CliError> {
    let path = run.path.join(EXCHANGES_FILE);
    if !path.exists() {
        return Err(CliError::input(format!("run {short_id} kept no calls of models"))
            .with_hint("record it again: tracer record -- COMMAND, without --no-exchanges and --no-proxy"));
    }
    let kept = if path.is_symlink() {
        // A file of a run is no link: one would lead out of the data directory.
        let source = io::Error::other("it is a symbolic link");
        Err(CassetteError::Io { path, source })
    } else {
        Cassette::read_filled(&path)
    };
    kept.map_err(|error| {
        let hint = match &error {
            CassetteError::FromTheFuture { .. } => "update tracer",
            CassetteError::Io { .. } => "check its permissions",
            _ => "record the agent again: tracer record -- COMMAND",
        };
        CliError::input(format!("failed to read the calls that run {short_id} kept"))
            .with_source(error)
            .with_hint(hint)
    })
}

/// The error of a cassette that cannot be read.
fn not_read(error: CassetteError) -> CliError {
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

/// The warning of a cassette that is older than the policy allows, or does not say how old it is.
pub(crate) fn age_notice(cassette: &Cassette, max_age: Duration, now: Timestamp) -> Option<String> {
    let path = quoted(&cassette.path);
    let words = |age: Duration| match age.as_secs() / 3600 {
        hours @ 0..48 => counted(hours, "hour"),
        hours => counted(hours / 24, "day"),
    };
    let age = match cassette.head.age(now) {
        Some(age) if age <= max_age => return None,
        Some(age) => format!("was recorded {} ago", words(age)),
        None => "does not say when it was recorded".to_owned(),
    };
    Some(format!(
        "the cassette {age}, and cassette_max_age is {}; models change and retire: tracer record --force --cassette {path} -- COMMAND",
        words(max_age)
    ))
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
