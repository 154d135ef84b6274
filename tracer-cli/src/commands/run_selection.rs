//! The runs that a query selects: `list`, `search` and `stats` ask about them, `assert` and `init` judge them.

use tracer_catalog::query::RunQuery;
use tracer_catalog::{
    DatabaseError, FactsStore, ListedRun, ReadingProgress, RunCatalog, RunOrder, SelectedRuns, Survey,
};
use tracer_insight::status::RunStatus;
use tracer_insight::text::{self, shell_quoted};
use tracer_insight::units::now;
use tracer_runs::CancelToken;

use crate::error::CliError;
use crate::gate::stored_run::{self, StoredRun};
use crate::progress::Progress;
use crate::session::Session;

/// A query on the command line.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct QueryArgs {
    /// Terms that must all hold: field:value, field~part, tokens>10k or "free text"; a - before a term negates it
    ///
    /// Fields of runs: name agent id status since until session command tag commit has tokens input output cached reasoning
    /// cost duration slowest steps llm_calls tool_calls errors failures unknown_calls not_run_calls retries; of their steps:
    /// tool model failed error args result prompt answer kind. A status is running, interrupted, failed, loop, ok or
    /// damaged. Write -- before a query that begins with a -.
    #[arg(value_name = "QUERY")]
    words: Vec<String>,
}

impl QueryArgs {
    /// The query, as it was typed.
    pub(super) fn text(&self) -> String {
        self.words.join(" ")
    }

    /// The query behind the options of a suggested command: nothing without one.
    pub(super) fn as_last_arguments(&self) -> String {
        let text = self.text();
        let dashes = if text.starts_with('-') { " --" } else { "" };
        match text.as_str() {
            "" => String::new(),
            text => format!("{dashes} {}", shell_quoted(text)),
        }
    }

    /// The query.
    pub(super) fn parse(&self) -> Result<RunQuery, CliError> {
        parsed(&self.text())
    }
}

fn parsed(query: &str) -> Result<RunQuery, CliError> {
    query.parse().map_err(|error: tracer_catalog::query::QueryError| {
        CliError::input("the query cannot be read")
            .with_source(error)
            .with_hint(
                "an example: tool:search_kb args~refund status:failed tokens>10k since:7d \"free text\"",
            )
    })
}

/// Runs that a query selects to be judged at once.
const MAX_JUDGED: usize = 1_000;

/// The completed runs that match a query, each as `take` makes it of the run and its number from 1, newest first; the trials of
/// gates are left out. A run is an open file until then.
pub(super) fn completed<T>(
    query: &str,
    session: &mut Session,
    mut take: impl FnMut(StoredRun, u32, &Session) -> Result<T, CliError>,
) -> Result<Vec<T>, CliError> {
    let query = parsed(query)?;
    let (all, survey) = AllRuns::open(session)?;
    let (listed, matching) = all.ask(survey, session, |runs, session| {
        let selection = all.select(&runs, &query, false, session)?;
        Ok((
            runs.page(&selection, RunOrder::default(), 0, MAX_JUDGED)?,
            runs.count(&selection)?,
        ))
    })?;
    let is_completed = |run: &&ListedRun| !matches!(run.status, RunStatus::Running | RunStatus::Interrupted);
    let completed: Vec<&ListedRun> = listed.iter().filter(is_completed).collect();
    let left_out = (matching as u64).saturating_sub(completed.len() as u64);
    if completed.is_empty() {
        return Err(CliError::input("no completed run matches the query")
            .with_hint(session.next_step("list the runs", "list")));
    }
    if left_out > 0 {
        let runs = text::counted(left_out, "run");
        session.ui.warn(format!(
            "{runs} left out: without an end, or beyond the newest {MAX_JUDGED}"
        ));
    }
    let ids = completed.iter().map(|run| run.directory.trace_id.to_string());
    (1..)
        .zip(ids)
        .map(|(number, id)| take(stored_run::select(Some(&id), session)?, number, session))
        .collect()
}

/// All runs, here and in the opened bucket.
pub(super) struct AllRuns {
    pub(super) store: FactsStore,
    /// Cancelled when Ctrl-C is pressed: what was read until then is kept, and shown.
    pub(super) cancel: CancelToken,
}

impl AllRuns {
    /// The runs by their files alone: those that are known, and those to be read.
    pub(super) fn open(session: &mut Session) -> Result<(Self, Survey), CliError> {
        session.use_store()?;
        let cancel = CancelToken::default();
        let handler = cancel.clone();
        // Without a handler Ctrl-C ends the command, and what was read is kept all the same.
        let _ = ctrlc::set_handler(move || handler.cancel());
        let store = session.facts_store()?;
        let all = Self { store, cancel };
        let survey = all.survey(session)?;
        Ok((all, survey))
    }

    fn survey(&self, session: &Session) -> Result<Survey, CliError> {
        self.store.survey().map_err(|error| session.store_error(&error))
    }

    /// The answer to a question about the runs of a survey. It is asked a second time where a database turns out to be
    /// damaged: then it is made again.
    pub(super) fn ask<T>(
        &self,
        survey: Survey,
        session: &mut Session,
        mut question: impl FnMut(RunCatalog, &mut Session) -> Result<T, DatabaseError>,
    ) -> Result<T, CliError> {
        let mut answer =
            |survey, session: &mut Session| question(opened(survey, &self.cancel, session)?, session);
        let answer = match answer(survey, session) {
            Err(error) if error.is_made_again() => answer(self.survey(session)?, session),
            Err(DatabaseError::DamagedMirror { .. }) => {
                session.synchronize_store()?;
                answer(self.survey(session)?, session)
            }
            answer => answer,
        };
        answer.map_err(unreadable)
    }

    /// Selects the runs that match, and shows how far reading their steps is.
    pub(super) fn select(
        &self,
        runs: &RunCatalog,
        query: &RunQuery,
        with_trials: bool,
        session: &mut Session,
    ) -> Result<SelectedRuns, DatabaseError> {
        let mut shown: Option<Progress> = None;
        let selected = runs.select(query, with_trials, now(), &self.cancel, |reading| match &shown {
            None => {
                let runs = Some(reading.runs as u64);
                shown = Some(Progress::begin(&session.ui, "reading steps", "run", runs));
            }
            Some(progress) => progress.step(),
        });
        if let Some(progress) = shown {
            progress.stop();
        }
        note_unfetched(session);
        selected
    }
}

/// Error of the database of the runs, here or of a bucket.
pub(super) fn unreadable(error: DatabaseError) -> CliError {
    let hint = match &error {
        DatabaseError::DamagedMirror { .. } => "try again: the bucket is read again then",
        error if error.is_made_again() => "try again: a damaged database is made again",
        DatabaseError::SymbolicLink { .. } => "remove the link: runs are read again",
        _ => {
            "try again once no other process writes it; see that it can be written, and that the disk has room"
        }
    };
    CliError::input("the database of the runs cannot be read")
        .with_source(error)
        .with_hint(hint)
}

/// Reads the runs of a survey that have to be read, and shows how far that is.
fn opened(survey: Survey, cancel: &CancelToken, session: &mut Session) -> Result<RunCatalog, DatabaseError> {
    let (_, bytes) = survey.unread();
    let progress = Progress::begin(&session.ui, "reading runs", "byte", Some(bytes));
    let mut done = 0;
    let opened = survey.open(cancel, |reading: ReadingProgress| {
        progress.steps(reading.read_bytes - done);
        done = reading.read_bytes;
    });
    progress.stop();
    let mut runs = opened?;
    if let Some(error) = runs.unread_bucket.take() {
        return Err(error);
    }
    if runs.unread > 0 {
        let count = text::counted(runs.unread as u64, "run");
        let note = format!("interrupted: {count} not read; what was read is kept");
        session.ui.warn(note);
    }
    Ok(runs)
}

/// Says how many runs could not be looked through, since the bucket that they are in did not give them.
pub(super) fn note_unfetched(session: &mut Session) {
    let Some(store) = session.store() else { return };
    let (count, url) = (store.team.take_unfetched(), store.reader.url().to_string());
    if count > 0 {
        let runs = text::counted(count, "run");
        let note = format!("{runs} not looked through: {url} does not give them now");
        session.ui.warn(note);
    }
}
