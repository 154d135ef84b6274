//! [`RunReader`]: one scan of a run of any size, then its records and spans on demand; [`LoadedRun`] holds all of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::live_file::{StartedSpan, read_live_file};
use super::records::RecordStream;
use super::scan::{RunScan, locate};
use crate::record_error::RecordError;
use thiserror::Error;
#[cfg(any(test, feature = "testing"))]
use tracer_format::parse::parse_span;
#[cfg(any(test, feature = "testing"))]
use tracer_format::project::{IndexEntry, LinePlace};
use tracer_format::project::{count_records, spans_to_events};
use tracer_format::{
    Counts, EventType, Problem, ProblemCode, Record, RecordedStatus, RunMeta, SpanRecord, Tags, TraceId,
    Usage,
};
use tracer_sdk::prices::CallGroups;

/// Handling of a run with a problem: refused, or read in all its readable parts.
///
/// ```
/// use tracer_runs::{RunReader, Strictness};
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// std::fs::write(directory.join("meta.json"), "{")?;
/// assert!(RunReader::open(&directory, Strictness::Strict).is_err());
/// assert_eq!(RunReader::open(&directory, Strictness::Lenient)?.span_count, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// A run with any problem is refused, with all its problems listed: for whatever judges or exports a run.
    Strict,
    /// Whatever can be read is given, with the problems: for looking at a run that may be damaged.
    Lenient,
}

/// A run of any size: its numbers and problems, known from one pass over the log, and its records, read on demand.
///
/// It holds an index of at most 64 bytes per span, never the spans.
///
/// ```
/// use tracer_runs::{RunReader, Strictness};
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let run = RunReader::open(&directory, Strictness::Lenient)?;
/// assert_eq!((run.span_count, run.counts().tool_calls), (2, 1));
/// assert!(run.problems.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct RunReader {
    /// The run directory.
    pub directory: PathBuf,
    /// The run's metadata, when all of it can be read; see also [`RunReader::require_meta`].
    pub meta: Option<RunMeta>,
    /// The run's ID, from `meta.json` or else from the first span.
    pub trace_id: Option<TraceId>,
    /// The recorded status, when it can be read.
    pub status: Option<RecordedStatus>,
    /// Number of spans that are shown. Spans of other runs and duplicates of an ID are left out.
    pub span_count: usize,
    /// Number of records of each type.
    pub records_by_type: BTreeMap<EventType, u64>,
    /// The tokens of all model calls together.
    pub tokens: Usage,
    /// The model calls by what decides their price: what they cost is computed from them.
    pub model_calls: CallGroups,
    /// Bytes of a last line that were left out, because the run is running and its log was cut there.
    pub cut_tail: Option<u64>,
    /// The timed spans that were started and have not ended, by `.live`: what a running run is waiting for, or what an interrupted
    /// one was in. Of a run that has ended: [`RunReader::read_unfinished`].
    pub in_flight: Vec<StartedSpan>,
    /// All problems: `meta.json` first, then by line; empty for a valid run.
    pub problems: Vec<Problem>,
    /// Number of further problems: the first 10,000 of a log are listed, the others counted.
    pub more_problems: u64,
    /// The records, in the order of the projection.
    pub records: RecordStream,
    /// Tags from `.live`, for a run whose root is not in its log.
    live_tags: Tags,
}

impl RunReader {
    /// Scans the run at `path`, a run directory or its `meta.json`.
    ///
    /// A running run may lack its root, parents, spans, and the end of its last line; a completed run may not (decisions,
    /// section 10).
    ///
    /// ```
    /// use tracer_runs::{RunReader, Strictness};
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let run = RunReader::open(&directory, Strictness::Strict)?;
    /// for record in run.records {
    ///     println!("{}", record?.name);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidRun`]. Strictly: the run has a problem. Leniently: there is nothing to show (no such directory, another
    /// format, a version that this reader does not understand, or neither metadata nor a span that can be read).
    pub fn open(path: &Path, strictness: Strictness) -> Result<Self, InvalidRun> {
        let directory = locate(path).map_err(InvalidRun::at_path)?;
        let scan = RunScan::read(&directory);
        Self::from_scan(directory, scan, strictness)
    }

    fn from_scan(directory: PathBuf, mut scan: RunScan, strictness: Strictness) -> Result<Self, InvalidRun> {
        let mut meta = scan.meta.meta.take();
        if strictness == Strictness::Strict && (meta.is_none() || !scan.problems.is_empty()) {
            return Err(InvalidRun::from_scan(scan));
        }
        let live = read_live_file(&directory);
        let is_missing = |problem: &Problem| problem.code == ProblemCode::MissingFile;
        if meta.is_none() && scan.problems.iter().all(is_missing) {
            // A run that has only begun has its metadata in `.live` until its `meta.json` is written.
            meta = live
                .as_ref()
                .zip(directory_id(&directory))
                .map(|(live, trace_id)| live.as_meta(trace_id));
            if meta.is_some() {
                scan.meta.status = Some(RecordedStatus::Running);
                scan.problems.clear();
            }
        }
        if meta.is_none() && scan.index.readable_spans() == 0 {
            return Err(InvalidRun::from_scan(scan));
        }
        let index = scan.index;
        let (mut in_flight, live_tags) = live.map(|live| (live.started, live.tags)).unwrap_or_default();
        in_flight.retain(|started| index.find(started.span_id).is_none());
        let records_by_type = index.records_by_type();
        if let Some(meta) = &mut meta
            && meta.status.is_completed()
            && !meta.has_exact_counts()
        {
            meta.counts = Counts::of_types(&records_by_type);
        }
        Ok(Self {
            directory,
            trace_id: index
                .trace_id()
                .or_else(|| meta.as_ref().map(|meta| meta.trace_id)),
            meta,
            status: scan.meta.status,
            span_count: index.len(),
            records_by_type,
            tokens: index.tokens(),
            model_calls: index.call_groups(),
            cut_tail: index.cut_tail(),
            in_flight,
            problems: scan.problems,
            more_problems: scan.more_problems,
            records: RecordStream::new(index),
            live_tags,
        })
    }

    /// The tags of the run: of its root, or while that is not written, of its `.live`.
    ///
    /// ```
    /// use tracer_runs::{RunReader, Strictness};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("agent").config(&config).tag("commit", "3f2a").start();
    /// let tags = |run: &std::path::Path| RunReader::open(run, Strictness::Lenient).unwrap().read_tags();
    /// let directory = run.dir().unwrap();
    /// assert_eq!(tags(&directory).get("commit"), Some("3f2a")); // it has only begun
    /// run.finish();
    /// assert_eq!(tags(&directory).get("commit"), Some("3f2a"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_tags(&mut self) -> Tags {
        match self.read_root() {
            Some(root) => Tags::of_attributes(&root.attributes),
            None => self.live_tags.clone(),
        }
    }

    /// The timed spans that had not ended when the run did, and have not ended since: [`StartedSpan::unfinished`] of its root.
    ///
    /// ```
    /// use tracer_runs::{RunReader, Strictness};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = tracer_sdk::Config::new().data_dir(folder.path());
    /// let run = tracer_sdk::Run::new("agent").config(&config).start();
    /// let directory = run.dir().unwrap();
    /// let call = tracer_sdk::tool_call("search").start()?;
    /// run.finish();
    /// let unfinished = || RunReader::open(&directory, Strictness::Lenient).unwrap().read_unfinished();
    /// assert_eq!(unfinished()[0].name, "search");
    /// call.end()?;
    /// assert!(unfinished().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_unfinished(&mut self) -> Vec<StartedSpan> {
        let root = self.read_root();
        let mut unfinished = root.map_or_else(Vec::new, |root| StartedSpan::unfinished(&root.attributes));
        let index = self.records.index();
        unfinished.retain(|started| index.find(started.span_id).is_none());
        unfinished
    }

    fn first(&self, event_type: EventType) -> Option<usize> {
        let is_one = |number: &usize| {
            let header = self.records.header(*number);
            header.is_some_and(|header| header.event_type == event_type)
        };
        (0..self.records.record_count()).find(is_one)
    }

    fn read_root(&mut self) -> Option<SpanRecord> {
        let root = self.first(EventType::RunStart)?;
        self.records.read_span_of(root).ok()?
    }

    /// The metadata, which every run that was opened strictly has.
    ///
    /// ```
    /// use tracer_runs::{RunReader, Strictness};
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let run = RunReader::open(&directory, Strictness::Strict)?;
    /// assert_eq!(run.require_meta()?.run_name.as_deref(), Some("captured"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidRun`] with the run's problems, when `meta.json` cannot be read.
    pub fn require_meta(&self) -> Result<&RunMeta, InvalidRun> {
        self.meta.as_ref().ok_or_else(|| InvalidRun {
            problems: self.problems.clone(),
            more_problems: self.more_problems,
            trace_id: self.trace_id,
            spec_version: None,
            status: self.status,
            span_count: Some(self.span_count),
        })
    }

    /// The counts of the spans as they are now, as `meta.json.counts` has them when the run has ended.
    ///
    /// ```
    /// use tracer_runs::{RunReader, Strictness};
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// assert_eq!(RunReader::open(&directory, Strictness::Strict)?.counts().tool_calls, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts::of_types(&self.records_by_type)
    }
}

/// The run that a directory is named after.
fn directory_id(directory: &Path) -> Option<TraceId> {
    directory.file_name()?.to_str()?.parse().ok()
}

/// A run without problems, all of it in memory.
///
/// ```
/// use tracer_runs::LoadedRun;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let run = LoadedRun::read(&directory)?;
/// assert_eq!(run.meta.run_name.as_deref(), Some("captured"));
/// assert_eq!((run.spans.len(), run.cut_tail), (2, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LoadedRun {
    /// The run directory.
    pub directory: PathBuf,
    /// The run's metadata.
    pub meta: RunMeta,
    /// The spans, in the order of the file.
    pub spans: Vec<SpanRecord>,
    /// Bytes of a last line that were left out, because the run is running and its log was cut there.
    pub cut_tail: Option<u64>,
}

impl LoadedRun {
    /// Opens a run strictly (see [`RunReader::open`]) and reads all its spans.
    ///
    /// ```
    /// use tracer_sdk::format::ProblemCode;
    /// use tracer_runs::LoadedRun;
    ///
    /// let directory = tempfile::tempdir()?;
    /// let invalid = LoadedRun::read(directory.path()).unwrap_err();
    /// assert!(invalid.is_input());
    /// assert_eq!(invalid.problems[0].code, ProblemCode::MissingFile);
    /// assert_eq!(invalid.problems[0].location, "meta.json");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidRun`] with every problem, not only the first.
    pub fn read(path: &Path) -> Result<Self, InvalidRun> {
        Self::from_reader(RunReader::open(path, Strictness::Strict)?)
    }

    /// Reads a run from the contents of its two files as strictly as [`LoadedRun::read`] does; its directory is empty.
    ///
    /// ```
    /// use tracer_runs::LoadedRun;
    ///
    /// let invalid = LoadedRun::from_bytes(b"{}", b"").unwrap_err();
    /// assert!(invalid.problems.iter().any(|problem| problem.location == "meta.json.trace_id"));
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidRun`] with every problem, not only the first.
    #[cfg(any(test, feature = "testing"))]
    pub fn from_bytes(meta: &[u8], spans: &[u8]) -> Result<Self, InvalidRun> {
        let scan = RunScan::from_bytes(meta, spans);
        let places: Vec<LinePlace> = scan.index.entries().iter().map(IndexEntry::place).collect();
        let run = RunReader::from_scan(PathBuf::new(), scan, Strictness::Strict)?;
        let line = |place: LinePlace| {
            let start = usize::try_from(place.offset).ok()?;
            spans.get(start..)?.get(..place.length as usize)
        };
        Ok(Self {
            meta: run.require_meta()?.clone(),
            directory: run.directory,
            spans: places
                .into_iter()
                .filter_map(|place| parse_span(line(place)?))
                .collect(),
            cut_tail: run.cut_tail,
        })
    }

    fn from_reader(run: RunReader) -> Result<Self, InvalidRun> {
        let index = run.records.index();
        let mut lines = index.lines();
        let spans =
            (0..index.len()).filter_map(|position| index.read_span_by(&mut lines, position).transpose());
        let spans = spans.collect::<Result<_, RecordError>>().map_err(|error| {
            let mut invalid = InvalidRun::at_path(error.into_problem());
            (invalid.trace_id, invalid.status) = (run.trace_id, run.status);
            invalid
        })?;
        Ok(Self {
            meta: run.require_meta()?.clone(),
            directory: run.directory,
            spans,
            cut_tail: run.cut_tail,
        })
    }

    /// The projection of the run, see [`spans_to_events`].
    ///
    /// ```
    /// use tracer_runs::LoadedRun;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let records = LoadedRun::read(&directory)?.records();
    /// let names: Vec<&str> = records.iter().map(|record| record.name.as_str()).collect();
    /// assert_eq!(names, ["captured", "search", "captured"]); // from the start to the end of the run
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        spans_to_events(&self.spans)
    }

    /// The counts of the spans. In a completed run `meta.counts` has the same; in a running run it is older.
    ///
    /// ```
    /// use tracer_runs::LoadedRun;
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let run = LoadedRun::read(&directory)?;
    /// assert_eq!(run.counts().tool_calls, 1);
    /// assert_eq!(run.counts(), run.meta.counts);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> Counts {
        count_records(&self.records())
    }
}

/// A run that is refused: all its problems, and the facts that could be read all the same.
///
/// ```
/// use tracer_runs::LoadedRun;
///
/// let folder = tempfile::tempdir()?;
/// std::fs::write(folder.path().join("meta.json"), "{")?;
/// let invalid = LoadedRun::read(folder.path()).unwrap_err();
/// assert!(invalid.to_string().starts_with("the run is refused: meta.json: "));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[error("the run is refused: {}", self.summary())]
#[non_exhaustive]
pub struct InvalidRun {
    /// All problems, at least one: `meta.json` first, then by line.
    pub problems: Vec<Problem>,
    /// Number of further problems: the first 10,000 of a log are listed, the others counted.
    pub more_problems: u64,
    /// The run's ID, when it can be read.
    pub trace_id: Option<TraceId>,
    /// The declared version, when it looks like one.
    pub spec_version: Option<String>,
    /// The recorded status, when it can be read.
    pub status: Option<RecordedStatus>,
    /// Number of spans that can be read; `None` when there was no span log to read.
    pub span_count: Option<usize>,
}

impl InvalidRun {
    /// Returns whether files are missing or unreadable, rather than read and found wrong.
    ///
    /// ```
    /// use tracer_runs::LoadedRun;
    ///
    /// let missing = LoadedRun::read("no/such/run".as_ref()).unwrap_err();
    /// assert!(missing.is_input());
    /// ```
    #[must_use]
    pub fn is_input(&self) -> bool {
        self.problems.iter().any(|problem| problem.code.is_input())
    }

    /// Number of all problems, listed or not.
    ///
    /// ```
    /// use tracer_runs::LoadedRun;
    ///
    /// let missing = LoadedRun::read("no/such/run".as_ref()).unwrap_err();
    /// assert_eq!(missing.problem_count(), 1);
    /// ```
    #[must_use]
    pub fn problem_count(&self) -> u64 {
        self.more_problems.saturating_add(self.problems.len() as u64)
    }

    fn summary(&self) -> String {
        let first = self.problems.first().map(ToString::to_string).unwrap_or_default();
        match self.problem_count().saturating_sub(1) {
            0 => first,
            1 => format!("{first}, and 1 more problem"),
            more => format!("{first}, and {more} more problems"),
        }
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

    pub(super) fn from_scan(scan: RunScan) -> Self {
        Self {
            span_count: scan.span_count(),
            problems: scan.problems,
            more_problems: scan.more_problems,
            trace_id: scan.meta.trace_id,
            spec_version: scan.meta.spec_version,
            status: scan.meta.status,
        }
    }
}
