//! [`GrowingRuns`]: large runs that go on, whose facts follow from what was added to their logs since they were read last.
//!
//! Facts are sums over the records of a run in the order of time, and what is added may belong between others. So the sums as
//! they were after some of the records are remembered, the nearer to the end the more: those before the first record that is
//! another one than before are gone on from.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tracer_insight::indexed_steps::IndexedSteps;
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Counts, EventType, Record, SpanId, SpanRecord};
use tracer_sdk::prices::Prices;
use tracer_sdk::read::{LogIndex, RunDirectory, RunSummary, read_live_file};

use crate::run_facts::{FullReading, Reading};

/// A smaller log is read anew in no time.
#[cfg(not(test))]
const MIN_LOG_BYTES: u64 = 16 * 1024 * 1024;
/// Tests write small ones.
#[cfg(test)]
const MIN_LOG_BYTES: u64 = 1;
/// Runs that are followed at once: for each span of each some 100 bytes are in memory. Others are read anew.
const MAX_RUNS: usize = 4;

/// The runs that are followed, the one that was read last at the end.
#[derive(Debug, Default)]
pub(crate) struct GrowingRuns(Mutex<Vec<(RunDirectory, GrowingRun)>>);

/// A run, as far as its log was read.
#[derive(Debug)]
struct GrowingRun {
    index: LogIndex,
    /// The shortest first; the last is of all records.
    checkpoints: Vec<Checkpoint>,
    /// The sums of all records, unless some were added since.
    last: Option<(Reading, Counts)>,
}

/// The sums after some of the records.
#[derive(Debug, Clone)]
struct Checkpoint {
    records: usize,
    /// Of what those records are.
    fingerprint: u64,
    reading: Reading,
    counts: Counts,
}

impl GrowingRuns {
    /// Reads what was added to a large run that goes on; `None` of any other, which has to be read from its beginning.
    pub(crate) fn read(&self, directory: &RunDirectory, log_bytes: u64) -> Option<FullReading> {
        let before = self.take(directory);
        if log_bytes < MIN_LOG_BYTES {
            return None;
        }
        let summary = directory.clone().read_summary();
        let is_itself = summary
            .meta
            .as_ref()
            .is_ok_and(|meta| meta.trace_id == directory.trace_id);
        if !summary.status().is_open() || !is_itself {
            return None;
        }
        let mut run = GrowingRun::go_on(before, directory).ok()?;
        let reading = run.read(directory, &summary)?;
        let mut runs = self.lock();
        if runs.len() == MAX_RUNS {
            runs.remove(0);
        }
        runs.push((directory.clone(), run));
        Some(reading)
    }

    /// Bytes of the log of a run that have not to be read again.
    pub(crate) fn bytes_read(&self, directory: &RunDirectory) -> u64 {
        let runs = self.lock();
        let run = runs.iter().find(|(other, _)| other == directory);
        run.map_or(0, |(_, run)| run.index.bytes_read())
    }

    /// Nobody else has a run while it is read.
    fn take(&self, directory: &RunDirectory) -> Option<GrowingRun> {
        let mut runs = self.lock();
        let at = runs.iter().position(|(other, _)| other == directory)?;
        Some(runs.remove(at).1)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(RunDirectory, GrowingRun)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GrowingRun {
    /// The run with all of its log that is there now: what was added to what was read, or all of it.
    fn go_on(before: Option<Self>, directory: &RunDirectory) -> io::Result<Self> {
        if let Some(mut run) = before {
            let end = run.index.bytes_read();
            if run.index.extend(true)? {
                run.last = run.last.filter(|_| run.index.bytes_read() == end);
                return Ok(run);
            }
        }
        Ok(Self {
            index: LogIndex::open(&directory.path, Some(directory.trace_id), true)?,
            checkpoints: Vec::new(),
            last: None,
        })
    }

    /// The facts; `None` where they do not follow from the spans one by one: there is a root, or one cannot be read.
    fn read(&mut self, directory: &RunDirectory, summary: &RunSummary) -> Option<FullReading> {
        if self.last.is_none() {
            let nothing = LogIndex::open(&directory.path.join("none"), None, true).ok()?;
            let index = std::mem::replace(&mut self.index, nothing);
            // What is in flight is no record.
            let steps = IndexedSteps::from_index(index, directory, false, Prices::default());
            self.last = self.sum(&steps);
            self.index = steps.index;
        }
        let (mut reading, counts) = self.last.clone()?;
        let live = read_live_file(&directory.path);
        reading.add_tags(&live.map(|live| live.tags).unwrap_or_default());
        Some(reading.finish(summary, RunStatus::Running, Some(counts)))
    }

    /// The sums of all records.
    fn sum(&mut self, steps: &IndexedSteps) -> Option<(Reading, Counts)> {
        let order = Order::of(&steps.index)?;
        let Checkpoint {
            mut reading, counts, ..
        } = self.add_records(&order)?;
        if let Some(number) = reading.last_answered() {
            reading.set_answer(&order.read(number)?.0);
        }
        reading.set_retries(steps.attempt_count());
        Some((reading, counts))
    }

    /// Adds the records that are new, or behind one that is.
    fn add_records(&mut self, order: &Order<'_>) -> Option<Checkpoint> {
        let count = order.positions.len();
        let mut known = self
            .checkpoints
            .iter()
            .map(|checkpoint| checkpoint.records)
            .peekable();
        let (mut print, mut same) = (0, 0);
        let mut prefixes = HashMap::new();
        for number in 0..=count {
            if number > 0 {
                print = order.fingerprint(print, number)?;
            }
            if known.next_if_eq(&number).is_some() {
                prefixes.insert(number, print);
            }
        }
        for checkpoint in &self.checkpoints {
            if prefixes.get(&checkpoint.records) != Some(&checkpoint.fingerprint) {
                break;
            }
            same += 1;
        }
        self.checkpoints.truncate(same);
        let mut sums = self.checkpoints.last().cloned().unwrap_or_else(|| Checkpoint {
            records: 0,
            fingerprint: 0,
            reading: Reading::new(RunStatus::Running),
            counts: Counts::default(),
        });
        for number in sums.records + 1..=count {
            let (record, span) = order.read(number)?;
            sums.fingerprint = order.fingerprint(sums.fingerprint, number)?;
            sums.records = number;
            match record.event_type() {
                EventType::LlmCall => sums.counts.llm_calls += 1,
                EventType::ToolCall => sums.counts.tool_calls += 1,
                EventType::Error => sums.counts.errors += 1,
                EventType::LoopWarning => sums.counts.loop_warnings += 1,
                _ => {}
            }
            sums.reading.add(number, &record, Some(&span));
            let left = count - number;
            if left == 0 || left.is_power_of_two() && left.trailing_zeros().is_multiple_of(2) {
                self.checkpoints.push(sums.clone());
            }
        }
        self.thin_checkpoints(count);
        Some(sums)
    }

    /// Keeps one checkpoint for each doubling of the distance from the end.
    fn thin_checkpoints(&mut self, count: usize) {
        let mut min_distance = 0;
        let mut kept: Vec<Checkpoint> = Vec::new();
        for checkpoint in self.checkpoints.drain(..).rev() {
            let distance = count - checkpoint.records;
            if distance >= min_distance {
                min_distance = 2 * distance.max(1);
                kept.push(checkpoint);
            }
        }
        kept.reverse();
        self.checkpoints = kept;
    }
}

/// The spans of a run as they happened: those of the calls that others report too are among them, and are no steps.
struct Order<'a> {
    index: &'a LogIndex,
    positions: Vec<usize>,
    /// Of each span that has the tokens of a call, the others that recorded the call: they decide what its record is, beside
    /// the line of its span.
    same_calls: HashMap<SpanId, u64>,
}

impl<'a> Order<'a> {
    /// `None` of a run that has a root: its records are not one for each span.
    fn of(index: &'a LogIndex) -> Option<Self> {
        let mut starts = Vec::with_capacity(index.len());
        let mut same_calls = HashMap::new();
        for at in 0..index.len() {
            let span = index.span(at)?;
            span.parent_span_id?;
            starts.push((span.start, at));
            if let Some(call) = index.counted_in(span.span_id) {
                let others: &mut u64 = same_calls.entry(call).or_default();
                *others = hash(&(*others, span.span_id, at));
            }
        }
        starts.sort_unstable();
        Some(Self {
            index,
            positions: starts.into_iter().map(|(_, at)| at).collect(),
            same_calls,
        })
    }

    fn position(&self, number: usize) -> Option<usize> {
        self.positions.get(number.checked_sub(1)?).copied()
    }

    /// Reads the record with a number, from 1.
    fn read(&self, number: usize) -> Option<(Record, SpanRecord)> {
        self.index.read_record(self.position(number)?).ok()?
    }

    /// The fingerprint of all records up to one, from that of those before it.
    fn fingerprint(&self, before: u64, number: usize) -> Option<u64> {
        let at = self.position(number)?;
        let span = self.index.span(at)?;
        let call = self.index.counted_in(span.span_id).unwrap_or(span.span_id);
        let tokens = (span.tokens_in, span.tokens_out, span.tokens_total);
        let kind = (span.event_type.as_str(), span.is_leftover, span.outcome, tokens);
        Some(hash(&(before, at, kind, self.same_calls.get(&call))))
    }
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
