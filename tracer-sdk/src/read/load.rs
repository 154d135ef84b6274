//! The strict answer to a problem: the run is refused.

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

use super::gather::{Gathered, gather, locate};
use super::log::{Known, LinePlace, Visit};
use super::project::{count_records, spans_to_events};
use super::span::Span;
use crate::format::{Counts, EventType, Problem, Record, RecordedStatus, RunMeta, SpanRecord, TraceId};

/// A run that was read and has no problem.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// let run = recorded(|| tracer_sdk::tool_call("search").record());
/// assert_eq!(run.meta.run_name.as_deref(), Some("example"));
/// assert_eq!((run.spans.len(), run.cut_tail), (2, None));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LoadedRun {
    /// The run directory.
    pub directory: PathBuf,
    /// The run's metadata.
    pub meta: RunMeta,
    /// The spans, in the order of the file.
    pub spans: Vec<SpanRecord>,
    /// How many bytes of a last line were left out, because the run is running and its log was cut there.
    pub cut_tail: Option<u64>,
}

impl LoadedRun {
    /// The projection of the run, see [`spans_to_events`].
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// let names: Vec<String> = run.records().into_iter().map(|record| record.name).collect();
    /// assert_eq!(names, ["example", "search", "example"]); // from the start to the end of the run
    /// ```
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        spans_to_events(&self.spans)
    }

    /// What the spans count now. In a completed run `meta.counts` says the same; in a running run it is older.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// assert_eq!(run.counts().tool_calls, 1);
    /// assert_eq!(run.counts(), run.meta.counts);
    /// ```
    #[must_use]
    pub fn counts(&self) -> Counts {
        count_records(&self.records())
    }
}

/// A run that is refused: all its problems, and what can be told about it all the same.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("meta.json"), "{")?;
/// let invalid = tracer_sdk::read::open_run(folder.path()).unwrap_err();
/// assert!(invalid.to_string().starts_with("the run is refused: meta.json: "));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct InvalidRun {
    /// Everything that is wrong, at least one: `meta.json` first, then by line.
    pub problems: Vec<Problem>,
    /// How many problems there are besides: the first 10,000 of a log are listed, the others counted.
    pub more_problems: u64,
    /// The run's ID, when it can be read.
    pub trace_id: Option<TraceId>,
    /// The declared version, when it looks like one.
    pub spec_version: Option<String>,
    /// The status, when it can be read.
    pub status: Option<RecordedStatus>,
    /// How many spans can be read; `None` when there was no span log to read.
    pub span_count: Option<usize>,
}

impl InvalidRun {
    /// Whether files are missing or unreadable, rather than read and found wrong.
    ///
    /// ```
    /// let missing = tracer_sdk::read::open_run("no/such/run".as_ref()).unwrap_err();
    /// assert!(missing.is_input());
    /// ```
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.problems.iter().any(|problem| problem.code.is_input())
    }

    /// How many problems there are.
    ///
    /// ```
    /// let missing = tracer_sdk::read::open_run("no/such/run".as_ref()).unwrap_err();
    /// assert_eq!(missing.problem_count(), 1);
    /// ```
    #[must_use]
    pub fn problem_count(&self) -> u64 {
        self.more_problems.saturating_add(self.problems.len() as u64)
    }

    pub(super) fn at_path(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
            more_problems: 0,
            trace_id: None,
            spec_version: None,
            status: None,
            span_count: None,
        }
    }

    pub(super) fn of<V>(gathered: Gathered<V>) -> Self {
        Self {
            span_count: gathered
                .span_count()
                .and_then(|count| usize::try_from(count).ok()),
            problems: gathered.problems,
            more_problems: gathered.more_problems,
            trace_id: gathered.meta.trace_id,
            spec_version: gathered.meta.spec_version,
            status: gathered.meta.status,
        }
    }
}

impl fmt::Display for InvalidRun {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("the run is refused: ")?;
        if let Some(first) = self.problems.first() {
            write!(formatter, "{first}")?;
        }
        match self.problem_count().saturating_sub(1) {
            0 => Ok(()),
            1 => formatter.write_str(", and 1 more problem"),
            more => write!(formatter, ", and {more} more problems"),
        }
    }
}

impl Error for InvalidRun {}

/// Reads a run and refuses one that has any problem (decisions, section 10).
///
/// `path` is a run directory or its `meta.json`. A running run may lack its root, parents, spans, and the end of its
/// last line; a completed run may not.
///
/// # Errors
///
/// [`InvalidRun`] with every problem, not only the first.
///
/// ```
/// use tracer_sdk::format::ProblemCode;
///
/// let directory = tempfile::tempdir()?;
/// let invalid = tracer_sdk::read::open_run(directory.path()).unwrap_err();
/// assert!(invalid.is_input());
/// assert_eq!(invalid.problems[0].code, ProblemCode::MissingFile);
/// assert_eq!(invalid.problems[0].location, "meta.json");
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn open_run(path: &Path) -> Result<LoadedRun, InvalidRun> {
    let directory = locate(path).map_err(InvalidRun::at_path)?;
    let gathered = gather(&directory);
    accept(directory, gathered)
}

/// Reads a run whose files lie in memory as strictly as [`open_run`] does; its directory is empty.
///
/// ```
/// let invalid = tracer_sdk::read::read_run(b"{}", b"").unwrap_err();
/// assert!(invalid.problems.iter().any(|problem| problem.location == "meta.json.trace_id"));
/// ```
///
/// # Errors
///
/// [`InvalidRun`] with every problem, not only the first.
#[cfg(any(test, feature = "testing"))]
pub fn read_run(meta: &[u8], spans: &[u8]) -> Result<LoadedRun, InvalidRun> {
    accept(PathBuf::new(), super::gather::gather_bytes(meta, spans))
}

fn accept(directory: PathBuf, mut gathered: Gathered<Spans>) -> Result<LoadedRun, InvalidRun> {
    match gathered.meta.meta.take() {
        Some(meta) if gathered.problems.is_empty() => Ok(LoadedRun {
            directory,
            meta,
            spans: gathered.log.visitor.0,
            cut_tail: gathered.log.cut_tail,
        }),
        _ => Err(InvalidRun::of(gathered)),
    }
}

/// Keeps every span that can be read, whole.
#[derive(Debug, Default)]
pub(super) struct Spans(pub(super) Vec<SpanRecord>);

impl Visit for Spans {
    type Attributes<'a> = serde_json::Map<String, serde_json::Value>;

    fn visit(&mut self, span: Span<'_, Self::Attributes<'_>>, _: LinePlace, _: bool) -> Known {
        let span = span.into_record();
        let known = Known {
            start: span.start_time.instant(),
            event_type: EventType::Unknown,
            is_failed: false,
        };
        self.0.push(span);
        known
    }

    fn append(&mut self, following: Self) {
        self.0.extend(following.0);
    }
}
