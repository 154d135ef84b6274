//! [`SessionImporter`]: the runs of sessions, begun, continued and completed as their transcripts grow.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tracer_insight::text::path_below_home;
use tracer_runs::import::{ImportError, ImportedSpan, Importer, RunWriter};
use tracer_sdk::format::{RUNS_FOLDER, SpanId, SpanRecord, Timestamp, TraceId, TranscriptOrigin, names};
use tracer_sdk::settings::Settings;

use super::discover::AgentSession;
use super::lines::{TranscriptLines, UnreadableLine};
use super::record_reader;
use super::tally::ImportTally;
use super::transcript::SessionTranscript;
use crate::causes::causes;
use crate::runs::{complete_under, conversation_run};

/// Time without a change after which nothing more is expected of a file.
const QUIET: Duration = Duration::from_secs(60);
/// Spans that are written at once.
const BATCH: usize = 256;
/// Problems of one session that are named; the rest are counted.
const MAX_PROBLEMS: usize = 5;

/// The outcome of the import of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionOutcome {
    /// A run of it was begun.
    Begun,
    /// Its run got what is new.
    Continued,
    /// Its run has all of it.
    Unchanged,
    /// It was recorded while it ran, and its own run says more than its transcript.
    Recorded,
    /// Another process is importing it.
    Busy,
    /// There is no model call or tool call in it.
    Empty,
}

/// Summary of the import of a session.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SessionImport {
    /// The run.
    pub run: TraceId,
    /// Its outcome.
    pub outcome: SessionOutcome,
    /// Number of spans that are new.
    pub spans: u64,
    /// Its last turn has not ended.
    pub is_open: bool,
    /// The kinds of records that were not known, each with their number.
    pub unknown: BTreeMap<String, u64>,
    /// Lines that could not be read: the file, the line and the reason, never its content.
    pub problems: Vec<String>,
    /// Number of such lines.
    pub unreadable: u64,
}

impl SessionImport {
    fn add_problem(&mut self, path: &Path, problem: &UnreadableLine) {
        self.unreadable += 1;
        if self.problems.len() < MAX_PROBLEMS {
            self.problems
                .push(format!("{}: {problem}", path_below_home(path)));
        }
    }
}

/// A failed import of a session. The written part of it stays, and importing it again continues there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// Its transcript cannot be read.
    #[error("failed to read {}", path_below_home(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Its run cannot be written.
    #[error("failed to write the run")]
    Run(#[from] ImportError),
}

/// Makes runs of sessions, by the rules of all imports.
#[derive(Debug)]
pub struct SessionImporter {
    importer: Importer,
    without_content: bool,
    settings: Settings,
    /// The runs of sessions that have not ended.
    open: HashMap<TraceId, RunWriter>,
    /// Bytes and time of what was read of each session.
    read: HashMap<TraceId, (u64, u64)>,
}

impl SessionImporter {
    /// An importer into the data directory of these settings; `without_content` leaves texts out.
    #[must_use]
    pub fn new(settings: &Settings, without_content: bool) -> Self {
        let importer = Importer::new(settings);
        Self {
            importer: if without_content {
                importer.without_content()
            } else {
                importer
            },
            without_content,
            settings: settings.clone(),
            open: HashMap::new(),
            read: HashMap::new(),
        }
    }

    /// The recorded origin of a session that was imported; `None` of one that was not.
    #[must_use]
    pub fn imported(&self, session: &AgentSession) -> Option<TranscriptOrigin> {
        self.importer.transcript(session.run())
    }

    /// Returns whether the run of a session has all of it.
    #[must_use]
    pub fn is_complete(&self, session: &AgentSession) -> bool {
        self.imported(session).is_some_and(|origin| {
            !origin.is_open && (origin.bytes, origin.modified_ms) == (session.bytes, session.modified_ms())
        })
    }

    /// Returns whether there is nothing to import of a session: no call, or it was recorded while it ran. Reads it until its
    /// first call.
    pub(super) fn leaves_out(&self, session: &AgentSession) -> bool {
        // The import names unreadable files.
        self.recorded(session).is_some() || matches!(has_call(session), Ok(false))
    }

    /// The run of a session that was recorded while it ran.
    fn recorded(&self, session: &AgentSession) -> Option<TraceId> {
        let run = conversation_run(session.agent, &session.id);
        let runs = self.importer.data_directory().join(RUNS_FOLDER);
        runs.join(run.to_string()).exists().then_some(run)
    }

    /// Imports a session, one of `all`. `stays_open` keeps the run of a session that has not ended open.
    ///
    /// # Errors
    ///
    /// [`SessionError`]
    pub fn import(
        &mut self,
        session: &AgentSession,
        all: &[AgentSession],
        stays_open: bool,
    ) -> Result<SessionImport, SessionError> {
        let import = self.import_changed(session, all, stays_open)?;
        if import.outcome != SessionOutcome::Busy {
            self.read
                .insert(session.run(), (session.bytes, session.modified_ms()));
        }
        Ok(import)
    }

    /// Imports a session unless it is as it was when it was read last.
    fn import_changed(
        &mut self,
        session: &AgentSession,
        all: &[AgentSession],
        stays_open: bool,
    ) -> Result<SessionImport, SessionError> {
        let run = session.run();
        let mut import = SessionImport {
            run,
            outcome: SessionOutcome::Unchanged,
            spans: 0,
            is_open: false,
            unknown: BTreeMap::new(),
            problems: Vec::new(),
            unreadable: 0,
        };
        let is_quiet = SystemTime::now()
            .duration_since(session.modified)
            .is_ok_and(|since| since >= QUIET);
        let is_kept_open = self.open.contains_key(&run);
        let stamp = (session.bytes, session.modified_ms());
        let is_over = is_quiet || !stays_open;
        let was_read = self.read.get(&run) == Some(&stamp);
        if was_read && !(is_kept_open && is_over) || !is_kept_open && self.is_complete(session) {
            return Ok(import);
        }
        if let Some(recorded) = self.recorded(session) {
            import.outcome = SessionOutcome::Recorded;
            import.run = recorded;
            return Ok(import);
        }
        let stored = match self.open.remove(&run) {
            Some(run) => Some(run),
            None => match self.importer.resume(run) {
                Err(ImportError::RunActive) => {
                    import.outcome = SessionOutcome::Busy;
                    return Ok(import);
                }
                resumed => resumed?,
            },
        };
        let mut writing = Writing {
            importer: &self.importer,
            history: self.history(session, all)?,
            leaves_open_out: !is_over,
            run: stored,
            spans: 0,
            written_again: 0,
            was_begun: false,
        };
        let mut transcript = SessionTranscript::new(session.agent, &session.id);
        transcript.without_content = self.without_content;
        if !is_kept_open {
            writing.reopen(transcript.root)?;
        }
        read_session(session, is_quiet, &mut transcript, &mut writing, &mut import)?;
        import.is_open = transcript.is_open;
        import.unknown.clone_from(transcript.unknown_kinds());
        let spans = writing.spans.saturating_sub(writing.written_again);
        let Writing {
            run: stored,
            was_begun,
            leaves_open_out: is_live,
            ..
        } = writing;
        let Some(mut stored) = stored else {
            import.outcome = SessionOutcome::Empty;
            return Ok(import);
        };
        import.spans = spans;
        import.outcome = match (was_begun, spans) {
            (true, _) => SessionOutcome::Begun,
            (false, 0) => SessionOutcome::Unchanged,
            (false, _) => SessionOutcome::Continued,
        };
        stored.mark_transcript(TranscriptOrigin {
            agent: session.agent.as_str().to_owned(),
            session: session.id.clone(),
            bytes: session.bytes,
            modified_ms: session.modified_ms(),
            unknown_records: import.unknown.values().sum(),
            unknown_kinds: import.unknown.len() as u64,
            unreadable_lines: import.unreadable,
            is_open: transcript.is_open,
        })?;
        if is_live {
            self.open.insert(run, stored);
        } else {
            self.finish(stored, &transcript)?;
        }
        Ok(import)
    }

    /// Imports sessions, which are all that their agent has there; `each` is called after each.
    pub fn import_all(
        &mut self,
        sessions: &[AgentSession],
        stays_open: bool,
        tally: &mut ImportTally,
        each: impl Fn(),
    ) {
        for session in sessions {
            tally.add(&self.import(session, sessions, stays_open));
            each();
        }
    }

    /// Writes the root. A session whose last turn has not ended leaves an interrupted run: its end is not known.
    fn finish(&self, mut run: RunWriter, transcript: &SessionTranscript) -> Result<(), ImportError> {
        let root = transcript.root_span(run.last_end());
        let root_id = root.span_id;
        run.append(&[ImportedSpan::new(root)])?;
        if transcript.is_open {
            run.rest();
            self.importer.forget_unfinished(run.trace_id());
            return Ok(());
        }
        complete_under(&mut run, root_id, &transcript.name(), &self.settings)
    }

    /// The calls that sessions with the same beginning have: a fork repeats those of the session that it was forked from.
    fn history(&self, session: &AgentSession, all: &[AgentSession]) -> Result<HashSet<SpanId>, ImportError> {
        let mut history = HashSet::new();
        let is_relative = |other: &&AgentSession| {
            other.id != session.id && other.beginning.is_some() && other.beginning == session.beginning
        };
        for relative in all.iter().filter(is_relative) {
            let open = self.open.get(&relative.run());
            let resumed = match (open, self.imported(relative)) {
                (None, Some(_)) => self.importer.resume(relative.run()).ok().flatten(),
                _ => None,
            };
            if let Some(run) = open.or(resumed.as_ref()) {
                run.for_each_span(|span| {
                    history.insert(span.span_id);
                })?;
            }
        }
        Ok(history)
    }
}

/// The run that a session is written to.
struct Writing<'a> {
    importer: &'a Importer,
    /// Calls of other sessions.
    history: HashSet<SpanId>,
    /// Open calls are written when they end.
    leaves_open_out: bool,
    run: Option<RunWriter>,
    spans: u64,
    /// Those of them that had not ended when they were written before.
    written_again: u64,
    was_begun: bool,
}

impl Writing<'_> {
    /// Opens a run that was finished before: takes out what is written again, the root and what had not ended.
    fn reopen(&mut self, root: SpanId) -> Result<(), ImportError> {
        let Some(run) = &mut self.run else { return Ok(()) };
        run.reopen()?;
        let mut written_again = 0;
        run.rewrite(|span| {
            let is_open = span.attributes.contains_key(names::UNFINISHED.written());
            written_again += u64::from(is_open && span.span_id != root);
            !is_open && span.span_id != root
        })?;
        self.written_again = written_again;
        Ok(())
    }

    fn write(&mut self, transcript: &mut SessionTranscript) -> Result<(), ImportError> {
        let is_new = |span: &SpanRecord| {
            !(self.history.contains(&span.span_id) || self.leaves_open_out && span.end_time.is_none())
        };
        let spans: Vec<ImportedSpan> = transcript
            .take_spans()
            .into_iter()
            .filter(is_new)
            .map(ImportedSpan::new)
            .collect();
        if spans.is_empty() {
            return Ok(());
        }
        let run = if let Some(run) = &mut self.run {
            run
        } else {
            self.was_begun = true;
            let started_at = transcript
                .started_at()
                .unwrap_or(Timestamp::from_unix_microseconds(0));
            let run = self
                .importer
                .start(transcript.run, &transcript.name(), started_at)?;
            self.run.insert(run)
        };
        self.spans += run.append(&spans)?.written;
        Ok(())
    }
}

/// Reads all files of a session.
fn read_session(
    session: &AgentSession,
    is_quiet: bool,
    transcript: &mut SessionTranscript,
    writing: &mut Writing<'_>,
    import: &mut SessionImport,
) -> Result<(), SessionError> {
    let mut reader = record_reader(session.agent);
    for file in &session.files {
        let unreadable = |source| SessionError::Unreadable {
            path: file.path.clone(),
            source,
        };
        reader.begin_file(file.sub_agent.as_ref());
        let mut lines = TranscriptLines::open(&file.path).map_err(unreadable)?;
        for record in lines.by_ref() {
            match record.map_err(unreadable)? {
                Ok(record) => reader.take(&record, transcript),
                Err(problem) => import.add_problem(&file.path, &problem),
            }
            if transcript.waiting_spans() >= BATCH {
                writing.write(transcript)?;
            }
        }
        reader.end_file(is_quiet, transcript);
        match lines.torn {
            Some(problem) if is_quiet => import.add_problem(&file.path, &problem),
            Some(_) => transcript.is_open = true,
            None => {}
        }
        writing.write(transcript)?;
    }
    Ok(())
}

/// Returns whether a session has a model call or a tool call.
fn has_call(session: &AgentSession) -> io::Result<bool> {
    let mut transcript = SessionTranscript::new(session.agent, &session.id);
    let mut reader = record_reader(session.agent);
    for file in &session.files {
        reader.begin_file(file.sub_agent.as_ref());
        for record in TranscriptLines::open(&file.path)? {
            let Ok(record) = record? else { return Ok(true) };
            reader.take(&record, &mut transcript);
            if transcript.waiting_spans() > 0 {
                return Ok(true);
            }
        }
        reader.end_file(true, &mut transcript);
    }
    Ok(transcript.waiting_spans() > 0)
}

/// An error with its causes, in one line.
pub(super) fn words(error: &SessionError) -> String {
    let causes = causes(error).map(ToString::to_string);
    std::iter::once(error.to_string())
        .chain(causes)
        .collect::<Vec<_>>()
        .join(": ")
}
