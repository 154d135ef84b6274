//! A run of any size as it is shown: what it did in numbers, what is wrong with it, and its records where they are
//! wanted.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use super::live_file::StartedSpan;
use super::load::InvalidRun;
use super::log::Entry;
use super::order::Order;
use super::project::usage;
use super::record_stream::{RecordError, RecordStream};
use super::salvage::Found;
use super::tally::Tally;
use crate::format::{Counts, EventType, Problem, Record, RecordedStatus, RunMeta, SpanId, TraceId, Usage};

/// What can be read of a run, summed up, and what cannot.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// let run = tracer_sdk::read::outline_run(&directory)?;
/// assert_eq!((run.span_count, run.failed_calls), (2, 0));
/// assert!(run.problems.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OutlinedRun {
    /// The run directory.
    pub directory: PathBuf,
    /// The run's metadata, when all of it can be read.
    pub meta: Option<RunMeta>,
    /// The run's ID, from `meta.json` or else from the first span.
    pub trace_id: Option<TraceId>,
    /// How the run stands, when that can be read.
    pub status: Option<RecordedStatus>,
    /// How many spans are shown. Spans of other runs and second spans with the same ID are left out.
    pub span_count: usize,
    /// How many records of each type the spans give.
    pub records_by_type: BTreeMap<EventType, u64>,
    /// How many model and tool calls failed.
    pub failed_calls: u64,
    /// The tokens of all model calls together.
    pub tokens: Usage,
    /// How many bytes of a last line were left out, because the run is running and its log was cut there.
    pub cut_tail: Option<u64>,
    /// The timed spans that were started and have not ended.
    pub in_flight: Vec<StartedSpan>,
    /// Everything that is wrong; empty for a valid run.
    pub problems: Vec<Problem>,
    /// How many problems there are besides: the first 10,000 of a log are listed, the others counted.
    pub more_problems: u64,
    /// The records, in the order of the projection.
    pub records: RecordStream,
    first_call: Option<usize>,
}

impl OutlinedRun {
    /// What the spans count now, as `meta.json.counts` does when the run has ended.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let run = tracer_sdk::read::outline_run(&directory)?;
    /// assert_eq!(run.counts().tool_calls, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn counts(&self) -> Counts {
        let of = |event_type| self.records_by_type.get(&event_type).copied().unwrap_or(0);
        Counts {
            llm_calls: of(EventType::LlmCall),
            tool_calls: of(EventType::ToolCall),
            errors: of(EventType::Error),
            loop_warnings: of(EventType::LoopWarning),
        }
    }

    /// The record that holds the first input of the run: its first model call, or else its first tool call.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let mut run = tracer_sdk::read::outline_run(&directory)?;
    /// assert_eq!(run.first_call()?.map(|record| record.name).as_deref(), Some("search"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn first_call(&mut self) -> Result<Option<Record>, RecordError> {
        match self.first_call {
            Some(number) => self.records.record(number),
            None => Ok(None),
        }
    }
}

/// Reads whatever can be read of a run of any size, in one pass: what [`salvage_run`](super::salvage_run) gives, but
/// with an index of the spans in memory instead of the spans.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// let run = tracer_sdk::read::outline_run(&directory)?;
/// let records: Result<Vec<_>, _> = run.records.collect();
/// assert_eq!(records?.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// [`InvalidRun`] when there is nothing to show: no such directory, another format, a version that this reader does not
/// understand, or neither metadata nor a span that can be read.
pub fn outline_run(path: &Path) -> Result<OutlinedRun, InvalidRun> {
    let mut found = Found::<Tally>::new(path)?;
    let mut tally = std::mem::take(&mut found.gathered.log.visitor);
    let entries = std::mem::take(&mut found.gathered.log.entries);
    let ended = ended(&found.in_flight, &entries);
    found
        .in_flight
        .retain(|started| !ended.contains(&started.span_id));

    let duplicates: Vec<Entry> = entries.iter().copied().filter(Entry::is_duplicate).collect();
    tally.promoted.retain(|promoted| {
        duplicates
            .binary_search_by_key(&promoted.place.line, Entry::line)
            .is_err()
    });
    let order = Order::new(entries, std::mem::take(&mut tally.promoted));
    let mut records_by_type = BTreeMap::new();
    for event_type in order.types() {
        *records_by_type.entry(event_type).or_default() += 1;
    }
    let is_call = |entry: &&Entry| matches!(entry.event_type(), EventType::LlmCall | EventType::ToolCall);
    let failed_calls = order
        .spans()
        .iter()
        .filter(is_call)
        .filter(|entry| entry.is_failed())
        .count() as u64;
    let span_count = order.spans().len();
    let mut records = RecordStream::new(order, found.gathered.file);
    let first = |event_type| {
        let is_it = |number: &usize| {
            let header = records.header(*number);
            header.is_some_and(|header| header.event_type == event_type)
        };
        (0..records.record_count()).find(is_it)
    };
    let first_call = first(EventType::LlmCall).or_else(|| first(EventType::ToolCall));
    for duplicate in duplicates
        .into_iter()
        .filter(|entry| entry.event_type() == EventType::LlmCall)
    {
        // One that can no longer be read is left in the sum: the next reading tells.
        if let Ok(span) = records.span(duplicate) {
            tally.tokens = tally.tokens.without(usage(&span.attributes).into());
        }
    }
    Ok(OutlinedRun {
        directory: found.directory,
        meta: found.meta,
        trace_id: found.trace_id,
        status: found.gathered.meta.status,
        span_count,
        records_by_type,
        failed_calls,
        tokens: tally.tokens.usage(),
        cut_tail: found.gathered.log.cut_tail,
        in_flight: found.in_flight,
        problems: found.gathered.problems,
        more_problems: found.gathered.more_problems,
        records,
        first_call,
    })
}

/// Those of the started spans that have ended: there are few, and many entries.
fn ended(started: &[StartedSpan], entries: &[Entry]) -> HashSet<SpanId> {
    let started: HashSet<SpanId> = started.iter().map(|started| started.span_id).collect();
    if started.is_empty() {
        return started;
    }
    let shown = entries.iter().filter(|entry| entry.is_shown());
    shown
        .map(Entry::span_id)
        .filter(|span_id| started.contains(span_id))
        .collect()
}
