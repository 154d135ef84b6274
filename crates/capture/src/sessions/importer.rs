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
    fn of(run: TraceId) -> Self {
        Self {
            run,
            outcome: SessionOutcome::Unchanged,
            spans: 0,
            is_open: false,
            unknown: BTreeMap::new(),
            problems: Vec::new(),
            unreadable: 0,
        }
    }

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
    /// The runs of sessions that have not ended, which readers see as running while they are held.
    held: HashMap<TraceId, RunWriter>,
    /// The state in which each session was read, and what was imported then.
    read: HashMap<TraceId, (SessionState, SessionImport)>,
}

/// Bytes, time and quiet of a session.
type SessionState = (u64, u64, bool);

impl SessionImporter {
    /// An importer into the data directory of these settings; `without_content` leaves texts out.
    #[must_use]
    pub fn new(settings: &Settings, without_content: bool) -> Self {
        let mut importer = Importer::new(settings);
        if without_content {
            importer = importer.without_content();
        }
        Self {
            importer,
            without_content,
            settings: settings.clone(),
            held: HashMap::new(),
            read: HashMap::new(),
        }
    }

    /// Returns whether the run of a session has all of it.
    #[must_use]
    pub fn is_complete(&self, session: &AgentSession) -> bool {
        self.importer.transcript(session.run()).is_some_and(|origin| {
            !origin.is_open && (origin.bytes, origin.modified_ms) == (session.bytes, session.modified_ms())
        })
    }

    /// Returns whether there is nothing to import of a session: no call, or it was recorded while it ran. Reads it until its
    /// first call.
    pub(super) fn leaves_out(&self, session: &AgentSession) -> bool {
        let mut has_call = false;
        let mut transcript = SessionTranscript::new(session.agent, &session.id);
        let mut look = |transcript: &mut SessionTranscript| {
            has_call |= transcript.waiting_spans() > 0;
            Ok(has_call)
        };
        let mut unread = SessionImport::of(session.run());
        let read = read_session(session, true, &mut transcript, &mut look, &mut unread);
        // The import names unreadable files.
        self.recorded(session).is_some() || read.is_ok() && !has_call && unread.unreadable == 0
    }

    /// The run of a session that was recorded while it ran.
    fn recorded(&self, session: &AgentSession) -> Option<TraceId> {
        let run = conversation_run(session.agent, &session.id);
        let runs = self.importer.data_directory().join(RUNS_FOLDER);
        runs.join(run.to_string()).exists().then_some(run)
    }

    /// Imports sessions, which are all that their agent has there; `each` is called after each. `holds` shows the runs of
    /// sessions that have not ended as running, for as long as the importer is there.
    pub fn import_all(
        &mut self,
        sessions: &[AgentSession],
        holds: bool,
        tally: &mut ImportTally,
        each: impl Fn(),
    ) {
        for session in sessions {
            tally.add(self.import(session, sessions, holds));
            each();
        }
    }

    /// Imports a session, one of `all`, unless it is as it was when it was read last.
    ///
    /// # Errors
    ///
    /// [`SessionError`]
    pub fn import(
        &mut self,
        session: &AgentSession,
        all: &[AgentSession],
        holds: bool,
    ) -> Result<SessionImport, SessionError> {
        let is_quiet = SystemTime::now()
            .duration_since(session.modified)
            .is_ok_and(|since| since >= QUIET);
        let state = (session.bytes, session.modified_ms(), is_quiet);
        let read = self.read.get(&session.run());
        if read.is_some_and(|(known, _)| *known == state) || self.is_complete(session) {
            let known = read.map(|(_, import)| SessionImport {
                outcome: SessionOutcome::Unchanged,
                spans: 0,
                ..import.clone()
            });
            return Ok(known.unwrap_or_else(|| SessionImport::of(session.run())));
        }
        let import = self.import_changed(session, all, is_quiet, holds)?;
        if import.outcome != SessionOutcome::Busy {
            self.read.insert(session.run(), (state, import.clone()));
        }
        Ok(import)
    }

    fn import_changed(
        &mut self,
        session: &AgentSession,
        all: &[AgentSession],
        is_quiet: bool,
        holds: bool,
    ) -> Result<SessionImport, SessionError> {
        let mut import = SessionImport::of(session.run());
        if let Some(recorded) = self.recorded(session) {
            import.outcome = SessionOutcome::Recorded;
            import.run = recorded;
            return Ok(import);
        }
        self.held.remove(&import.run);
        let stored = match self.importer.resume(import.run) {
            Err(ImportError::RunActive) => {
                import.outcome = SessionOutcome::Busy;
                return Ok(import);
            }
            resumed => resumed?,
        };
        let mut transcript = SessionTranscript::new(session.agent, &session.id);
        transcript.without_content = self.without_content;
        let mut writing = Writing {
            importer: &self.importer,
            history: self.history(session, all)?,
            is_new: stored.is_none(),
            run: stored,
            spans: 0,
        };
        let written_again = writing.reopen(transcript.root)?;
        let mut write = |transcript: &mut SessionTranscript| {
            if transcript.waiting_spans() >= BATCH {
                writing.write(transcript)?;
            }
            Ok(false)
        };
        read_session(session, is_quiet, &mut transcript, &mut write, &mut import)?;
        writing.write(&mut transcript)?;
        let Writing {
            run, is_new, spans, ..
        } = writing;
        let Some(mut run) = run else {
            import.outcome = SessionOutcome::Empty;
            return Ok(import);
        };
        import.spans = spans.saturating_sub(written_again);
        import.outcome = match (is_new, import.spans) {
            (true, _) => SessionOutcome::Begun,
            (false, 0) => SessionOutcome::Unchanged,
            (false, _) => SessionOutcome::Continued,
        };
        import.is_open = transcript.is_open;
        import.unknown = std::mem::take(&mut transcript.unknown);
        run.mark_transcript(TranscriptOrigin {
            agent: session.agent.as_str().to_owned(),
            session: session.id.clone(),
            bytes: session.bytes,
            modified_ms: session.modified_ms(),
            unknown_records: import.unknown.values().sum(),
            unknown_kinds: import.unknown.len() as u64,
            unreadable_lines: import.unreadable,
            is_open: transcript.is_open,
        })?;
        run.append(&[ImportedSpan::new(transcript.root_span(run.last_end()))])?;
        if !transcript.is_open {
            complete_under(&mut run, transcript.root, &transcript.name(), &self.settings)?;
            return Ok(import);
        }
        // Its end is not known: unless it is held, the run is an interrupted one.
        self.importer.forget_unfinished(import.run);
        if holds {
            self.held.insert(import.run, run);
        }
        Ok(import)
    }

    /// The calls that sessions with the same beginning have: a fork repeats those of the session that it was forked from.
    fn history(&self, session: &AgentSession, all: &[AgentSession]) -> Result<HashSet<SpanId>, ImportError> {
        let mut history = HashSet::new();
        for relative in all.iter().filter(|other| session.is_relative(other)) {
            let run = relative.run();
            let held = self.held.get(&run);
            let resumed = match (held, self.importer.transcript(run)) {
                (None, Some(_)) => self.importer.resume(run).ok().flatten(),
                _ => None,
            };
            if let Some(run) = held.or(resumed.as_ref()) {
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
    run: Option<RunWriter>,
    is_new: bool,
    spans: u64,
}

impl Writing<'_> {
    /// Opens a run that was there before: takes out what is written again, the root and calls that had not ended, and gives
    /// the number of these.
    fn reopen(&mut self, root: SpanId) -> Result<u64, ImportError> {
        let mut open_calls = 0;
        if let Some(run) = &mut self.run {
            run.reopen()?;
            run.rewrite(|span| {
                let is_open = span.attributes.contains_key(names::UNFINISHED.written());
                open_calls += u64::from(is_open && span.span_id != root);
                !is_open && span.span_id != root
            })?;
        }
        Ok(open_calls)
    }

    fn write(&mut self, transcript: &mut SessionTranscript) -> Result<(), ImportError> {
        let is_own = |span: &SpanRecord| !self.history.contains(&span.span_id);
        let spans = transcript.take_spans().into_iter().filter(is_own);
        let spans: Vec<ImportedSpan> = spans.map(ImportedSpan::new).collect();
        if spans.is_empty() {
            return Ok(());
        }
        let run = if let Some(run) = self.run.take() {
            run
        } else {
            let start = transcript.started_at;
            let start = start.unwrap_or(Timestamp::from_unix_microseconds(0));
            self.importer.start(transcript.run, &transcript.name(), start)?
        };
        self.spans += self.run.insert(run).append(&spans)?.written;
        Ok(())
    }
}

/// Reads all files of a session; `each` is called after each record, and ends the reading by `true`.
fn read_session(
    session: &AgentSession,
    is_quiet: bool,
    transcript: &mut SessionTranscript,
    each: &mut dyn FnMut(&mut SessionTranscript) -> Result<bool, ImportError>,
    import: &mut SessionImport,
) -> Result<(), SessionError> {
    let mut reader = record_reader(session.agent);
    for file in &session.files {
        let unreadable = |source| SessionError::Unreadable {
            path: file.path.clone(),
            source,
        };
        let mut thread = transcript.thread(file.sub_agent.as_ref());
        let mut lines = TranscriptLines::open(&file.path).map_err(unreadable)?;
        for record in lines.by_ref() {
            match record.map_err(unreadable)? {
                Ok(record) => reader.take(&record, &mut thread, transcript),
                Err(problem) => import.add_problem(&file.path, &problem),
            }
            if each(transcript)? {
                return Ok(());
            }
        }
        reader.end_file(is_quiet, &mut thread, transcript);
        transcript.leave(thread);
        match lines.torn {
            Some(problem) if is_quiet => import.add_problem(&file.path, &problem),
            Some(_) => transcript.is_open = true,
            None => {}
        }
        if each(transcript)? {
            return Ok(());
        }
    }
    Ok(())
}
