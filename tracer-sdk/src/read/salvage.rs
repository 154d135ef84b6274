//! The lenient answer to a problem: what can be read is given, with everything that is wrong.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::gather::{Gathered, gather, locate};
use super::live_file::{StartedSpan, read_live_file};
use super::load::{InvalidRun, Spans};
use super::log::Visit;
use super::project::spans_to_events;
use crate::format::{Problem, ProblemCode, Record, RecordedStatus, RunMeta, SpanRecord, TraceId};

/// What can be read of a run, and what cannot.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// std::fs::remove_file(directory.join("meta.json"))?;
/// let run = tracer_sdk::read::salvage_run(&directory)?;
/// assert_eq!((run.meta, run.spans.len(), run.problems.len()), (None, 2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SalvagedRun {
    /// The run directory.
    pub directory: PathBuf,
    /// The run's metadata, when all of it can be read.
    pub meta: Option<RunMeta>,
    /// The run's ID, from `meta.json` or else from the first span.
    pub trace_id: Option<TraceId>,
    /// How the run stands, when that can be read.
    pub status: Option<RecordedStatus>,
    /// The spans that can be read, in the order of the file. Spans of other runs and second spans with the same ID are
    /// left out; roots may be several, parents missing, and parents may lead in a circle.
    pub spans: Vec<SpanRecord>,
    /// How many bytes of a last line were left out, because the run is running and its log was cut there.
    pub cut_tail: Option<u64>,
    /// The timed spans that were started and have not ended: what a running run is waiting for, or what an interrupted
    /// one was in.
    pub in_flight: Vec<StartedSpan>,
    /// Everything that is wrong; empty for a valid run.
    pub problems: Vec<Problem>,
    /// How many problems there are besides: the first 10,000 of a log are listed, the others counted.
    pub more_problems: u64,
}

impl SalvagedRun {
    /// The projection of the spans that can be read, see [`spans_to_events`].
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let run = tracer_sdk::read::salvage_run(&directory)?;
    /// assert_eq!(run.records().len(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn records(&self) -> Vec<Record> {
        spans_to_events(&self.spans)
    }
}

/// Reads whatever can be read of a run, with its problems: for looking at a run that is damaged.
///
/// Whatever judges a run uses [`open_run`](super::open_run). All spans are held in memory; for a run of any size there
/// is [`outline_run`](super::outline_run).
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// std::fs::write(directory.join("meta.json"), "{")?;
/// assert!(tracer_sdk::read::open_run(&directory).is_err());
/// assert_eq!(tracer_sdk::read::salvage_run(&directory)?.spans.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`InvalidRun`] when there is nothing to show: no such directory, another format, a version that this reader does not
/// understand, or neither metadata nor a span that can be read.
pub fn salvage_run(path: &Path) -> Result<SalvagedRun, InvalidRun> {
    let mut found = Found::<Spans>::new(path)?;
    let trace_id = found.trace_id;
    let mut spans = std::mem::take(&mut found.gathered.log.visitor.0);
    let mut seen = HashSet::new();
    spans.retain(|span| Some(span.trace_id) == trace_id && seen.insert(span.span_id));
    found.in_flight.retain(|started| !seen.contains(&started.span_id));
    Ok(SalvagedRun {
        directory: found.directory,
        meta: found.meta,
        trace_id,
        status: found.gathered.meta.status,
        spans,
        cut_tail: found.gathered.log.cut_tail,
        in_flight: found.in_flight,
        problems: found.gathered.problems,
        more_problems: found.gathered.more_problems,
    })
}

/// A run directory in which there is something to show.
#[derive(Debug)]
pub(super) struct Found<V> {
    pub(super) directory: PathBuf,
    pub(super) gathered: Gathered<V>,
    pub(super) meta: Option<RunMeta>,
    pub(super) trace_id: Option<TraceId>,
    /// Every timed span that was started, ended or not.
    pub(super) in_flight: Vec<StartedSpan>,
}

impl<V: Visit> Found<V> {
    pub(super) fn new(path: &Path) -> Result<Self, InvalidRun> {
        let directory = locate(path).map_err(InvalidRun::at_path)?;
        let mut gathered = gather::<V>(&directory);
        let live = read_live_file(&directory);
        let mut meta = gathered.meta.meta.take();
        let is_missing = |problem: &Problem| problem.code == ProblemCode::MissingFile;
        if meta.is_none() && gathered.problems.iter().all(is_missing) {
            // A run that has only begun: its `.live` tells what its `meta.json` will.
            meta = live
                .as_ref()
                .zip(directory_id(&directory))
                .map(|(live, trace_id)| live.as_meta(trace_id));
            if meta.is_some() {
                gathered.meta.status = Some(RecordedStatus::Running);
                gathered.problems.clear();
            }
        }
        if meta.is_none() && gathered.log.span_count == 0 {
            return Err(InvalidRun::of(gathered));
        }
        let trace_id = gathered
            .own_trace_id()
            .or_else(|| meta.as_ref().map(|meta| meta.trace_id));
        Ok(Self {
            directory,
            gathered,
            meta,
            trace_id,
            in_flight: live.map(|live| live.started).unwrap_or_default(),
        })
    }
}

/// The run that a directory is named after.
fn directory_id(directory: &Path) -> Option<TraceId> {
    directory.file_name()?.to_str()?.parse().ok()
}
