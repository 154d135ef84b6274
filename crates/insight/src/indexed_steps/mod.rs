//! [`IndexedSteps`]: the steps of a run over the index of its log, for a surface that shows any of them at any time while
//! the log grows. [`RunSteps`](crate::run_steps::RunSteps) reads them once, one after the other.

mod attempts;
mod timeline;

use std::collections::HashSet;
use std::io;

use serde_json::Value;
use tracer_sdk::format::{EventType, Outcome, Payload, Record, SpanId, SpanRecord, Tags, Timestamp, TraceId};
use tracer_sdk::prices::{CallCost, Prices};
use tracer_sdk::read::{
    LogIndex, PromotedRecord, RecordError, RunDirectory, StartedSpan, read_live_file, spans_to_events,
};

use crate::not_run::{NotRun, NotRunReader};
use crate::steps::StepSource;
use crate::totals::Totals;
use crate::{in_flight, key_steps, not_run, steps};
use attempts::Attempts;
pub use timeline::{RowSource, Timeline, TimelineRow};

/// Loop warnings whose evidence is marked: a run has one for each distinct pattern.
const MAX_WARNINGS: usize = 200;
/// The ID of the row that takes the place of a run whose root has not ended.
pub const RUN_ROW: &str = "run";

/// The ID of a record that a root gives besides its own (decisions, section 3).
fn promoted_id(root: &str, number: u32) -> String {
    format!("{root}.{}", number.saturating_sub(1))
}

/// The steps of a run, known by the index of its log and read on demand.
#[derive(Debug)]
pub struct IndexedSteps {
    /// The index of the log.
    pub index: LogIndex,
    /// The records that are promoted from roots.
    pub promoted: Vec<PromotedRecord>,
    /// The calls that have begun and not ended.
    pub in_flight: Vec<StartedSpan>,
    /// The rows.
    pub timeline: Timeline,
    /// What `.live` says of a run whose root has not ended.
    live_tags: Tags,
    run_id: TraceId,
    /// What model calls cost.
    prices: Prices,
    /// The calls that were asked for and never ran, of a run that has ended and is short enough to know.
    not_run: Vec<NotRun>,
    /// The spans, and the IDs of other records, that loop warnings rest on.
    evidence: (HashSet<SpanId>, HashSet<String>),
}

/// A record with its span, when it has one of its own.
#[derive(Debug)]
pub struct ReadRow {
    /// The record.
    pub record: Record,
    /// Its span.
    pub span: Option<SpanRecord>,
    /// Set when it has begun and not ended.
    pub in_flight: bool,
}

impl IndexedSteps {
    /// Indexes the log of a run, which is open while it has not ended. Its calls have the costs of these prices.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn open(directory: &RunDirectory, is_open: bool, prices: Prices) -> io::Result<Self> {
        let mut steps = Self {
            index: LogIndex::open(&directory.path, Some(directory.trace_id), is_open)?,
            promoted: Vec::new(),
            in_flight: Vec::new(),
            timeline: Timeline::default(),
            live_tags: Tags::default(),
            run_id: directory.trace_id,
            prices,
            not_run: Vec::new(),
            evidence: (HashSet::new(), HashSet::new()),
        };
        steps.arrange(directory, is_open);
        Ok(steps)
    }

    /// Reads what was added to the log; `false` when it is another one, which has to be opened anew.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn update(&mut self, directory: &RunDirectory, is_open: bool) -> io::Result<bool> {
        if !self.index.extend(is_open)? {
            return Ok(false);
        }
        self.arrange(directory, is_open);
        Ok(true)
    }

    fn arrange(&mut self, directory: &RunDirectory, is_open: bool) {
        self.promoted = self.index.promoted().collect();
        // A stale `.live` says nothing about a run that has ended; its root says what it was in.
        let live = is_open.then(|| read_live_file(&directory.path)).flatten();
        (self.in_flight, self.live_tags) = live.map(|live| (live.started, live.tags)).unwrap_or_default();
        if !is_open {
            self.in_flight = self.read_unfinished();
        }
        self.in_flight
            .retain(|started| self.index.find(started.span_id).is_none());
        self.timeline = Timeline::new(&self.index, &self.in_flight, is_open);
        self.evidence = self.find_evidence();
        self.not_run = if is_open { Vec::new() } else { self.find_not_run() };
    }

    fn find_not_run(&self) -> Vec<NotRun> {
        let mut asked = NotRunReader::default();
        let steps = self.timeline.step_count();
        if !not_run::is_short(steps, self.index.bytes_read()) {
            return Vec::new();
        }
        for source in self.read_steps(1..=steps).unwrap_or_default() {
            asked.take(&source.record);
        }
        asked.finish(self.in_flight.is_empty()).unwrap_or_default()
    }

    fn read_unfinished(&self) -> Vec<StartedSpan> {
        let is_root = |position: &usize| {
            let span = self.index.span(*position);
            span.is_some_and(|span| span.parent_span_id.is_none())
        };
        // It was written last, as a rule.
        let root = (0..self.index.len()).rev().find(is_root);
        let root = root.and_then(|position| self.index.read_span(position).ok()?);
        root.map_or_else(Vec::new, |root| StartedSpan::unfinished(&root.attributes))
    }

    /// The tags of the run: of its root, or while that has not ended, of its `.live`.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_tags(&self) -> Result<Tags, RecordError> {
        let root = self.timeline.get(0).and_then(|row| match row.source {
            RowSource::Span(position) if row.number == 0 => Some(position),
            _ => None,
        });
        let Some(root) = root else {
            return Ok(self.live_tags.clone());
        };
        let span = self.index.read_span(root as usize)?;
        Ok(span
            .map(|span| Tags::of_attributes(&span.attributes))
            .unwrap_or_default())
    }

    /// The start of the root; `None` while it has not ended.
    pub fn root_start(&self) -> Option<Timestamp> {
        match self.timeline.get(0)? {
            TimelineRow {
                source: RowSource::Span(position),
                number: 0,
                ..
            } => Some(self.index.span(*position as usize)?.start),
            _ => None,
        }
    }

    /// The [key steps](key_steps), in the order of time; see [`read_steps`](Self::read_steps).
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_key_steps(&self) -> Result<Vec<StepSource>, RecordError> {
        let numbers = key_steps::key_step_numbers(self.timeline.step_count(), |wanted| {
            let mut numbers: Vec<usize> = self
                .rows_of(wanted)
                .iter()
                .map(|row| row.number as usize)
                .collect();
            numbers.sort_unstable();
            numbers
        });
        self.read_steps(numbers)
    }

    /// Reads the steps with these numbers.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_steps(
        &self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<StepSource>, RecordError> {
        let mut sources = Vec::new();
        for number in numbers {
            let Some(row) = self
                .timeline
                .row_of_step(number)
                .and_then(|row| self.timeline.get(row))
            else {
                continue;
            };
            let Some(read) = self.read_row(row)? else { continue };
            sources.push(match &read.span {
                None if read.in_flight => StepSource::in_flight(number, read.record),
                span => StepSource::read(number, read.record, span.as_ref()).priced(&self.prices),
            });
        }
        Ok(sources)
    }

    /// Reads the record of a row; `None` for the run itself while its root is not there.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_row(&self, row: &TimelineRow) -> Result<Option<ReadRow>, RecordError> {
        match row.source {
            RowSource::Run => Ok(None),
            RowSource::Span(position) => {
                let Some((mut record, span)) = self.index.read_record(position as usize)? else {
                    return Ok(None);
                };
                self.mark_attempt(row, &mut record);
                NotRun::mark(&self.not_run, &mut record);
                Ok(Some(ReadRow {
                    record,
                    in_flight: span.end_time.is_none(),
                    span: Some(span),
                }))
            }
            RowSource::Promoted(number) => {
                let Some(promoted) = self.promoted.get(number as usize) else {
                    return Ok(None);
                };
                let Some(root) = self.index.read_span(promoted.span)? else {
                    return Ok(None);
                };
                let id = promoted_id(&root.span_id.to_string(), promoted.number);
                let records = spans_to_events(std::slice::from_ref(&root));
                let record = records.into_iter().find(|record| record.event_id == id);
                Ok(record.map(|record| ReadRow {
                    record,
                    span: None,
                    in_flight: false,
                }))
            }
            RowSource::InFlight(number) => Ok(self.in_flight.get(number as usize).map(|started| ReadRow {
                record: in_flight::record(self.run_id, started),
                span: None,
                in_flight: true,
            })),
        }
    }

    /// Gives an attempt the ID of its call, as the projection of the whole run does.
    fn mark_attempt(&self, row: &TimelineRow, record: &mut Record) {
        let Some(Attempts::At(call)) = self.attempts(row) else {
            return;
        };
        let call = self.timeline.row_of_step(call);
        let call = call
            .and_then(|row| self.timeline.get(row))
            .and_then(|row| self.event_id(row));
        if let Some(call) = call {
            record
                .meta
                .entry(steps::ATTEMPT_OF)
                .or_insert(Value::String(call));
        }
    }

    /// `3 attempts`, or `attempt at #3`; `None` of what is neither.
    pub fn attempt_words(&self, row: &TimelineRow) -> Option<String> {
        match self.attempts(row)? {
            Attempts::At(call) => Some(steps::attempt_at(Some(call))),
            Attempts::Call(attempts) => steps::attempts(attempts),
        }
    }

    /// The ID of a row's record, without reading it.
    pub fn event_id(&self, row: &TimelineRow) -> Option<String> {
        match row.source {
            RowSource::Run => None,
            RowSource::Span(position) => Some(self.index.span(position as usize)?.span_id.to_string()),
            RowSource::Promoted(number) => {
                let promoted = self.promoted.get(number as usize)?;
                let root = self.index.span(promoted.span)?;
                Some(promoted_id(&root.span_id.to_string(), promoted.number))
            }
            RowSource::InFlight(number) => Some(self.in_flight.get(number as usize)?.span_id.to_string()),
        }
    }

    /// The row of a record.
    pub fn row_of(&self, event_id: &str) -> Option<usize> {
        if event_id == RUN_ROW {
            let first = self.timeline.get(0)?;
            return (first.source == RowSource::Run).then_some(0);
        }
        if let Ok(span_id) = event_id.parse() {
            if let Some(row) = self
                .index
                .find(span_id)
                .and_then(|span| self.timeline.row_of_span(span))
            {
                return Some(row);
            }
            let place = self
                .in_flight
                .iter()
                .position(|started| started.span_id == span_id)?;
            let source = RowSource::InFlight(u32::try_from(place).ok()?);
            return self.timeline.rows.iter().position(|row| row.source == source);
        }
        let (root, number) = event_id.split_once('.')?;
        let root = self.index.find(root.parse().ok()?)?;
        if number == "end" {
            return self.timeline.row_of_span(root);
        }
        let number: u32 = number.parse().ok()?;
        let place = self
            .promoted
            .iter()
            .position(|promoted| promoted.span == root && promoted.number.checked_sub(1) == Some(number))?;
        let source = RowSource::Promoted(u32::try_from(place).ok()?);
        self.timeline.rows.iter().position(|row| row.source == source)
    }

    fn find_evidence(&self) -> (HashSet<SpanId>, HashSet<String>) {
        let (mut spans, mut others) = (HashSet::new(), HashSet::new());
        let warnings = self.rows_of(|event_type, _| event_type == EventType::LoopWarning);
        for row in warnings.into_iter().take(MAX_WARNINGS) {
            // A warning that cannot be read marks nothing.
            let read = self.read_row(row).ok().flatten();
            if let Some(Payload::LoopWarning {
                evidence_event_ids, ..
            }) = read.map(|read| read.record.payload)
            {
                for id in evidence_event_ids {
                    match id.parse() {
                        Ok(span_id) => {
                            spans.insert(span_id);
                        }
                        Err(_) => {
                            others.insert(id);
                        }
                    }
                }
            }
        }
        (spans, others)
    }

    /// A loop warning rests on the row.
    pub fn is_evidence(&self, row: &TimelineRow) -> bool {
        let (spans, others) = &self.evidence;
        match row.source {
            _ if spans.is_empty() && others.is_empty() => false,
            RowSource::Span(position) => self
                .index
                .span(position as usize)
                .is_some_and(|span| spans.contains(&span.span_id)),
            _ => self.event_id(row).is_some_and(|id| others.contains(&id)),
        }
    }

    /// The type of a row, and how it ended, without reading it.
    pub fn header(&self, row: &TimelineRow) -> Option<(EventType, Outcome)> {
        match row.source {
            RowSource::Run => Some((EventType::RunStart, Outcome::Ok)),
            RowSource::Span(position) => {
                let span = self.index.span(position as usize)?;
                Some((span.event_type, span.outcome))
            }
            RowSource::Promoted(number) => {
                let promoted = self.promoted.get(number as usize)?;
                let is_error = promoted.event_type == EventType::Error;
                let outcome = if is_error { Outcome::Failed } else { Outcome::Ok };
                Some((promoted.event_type, outcome))
            }
            RowSource::InFlight(number) => {
                Some((self.in_flight.get(number as usize)?.event_type, Outcome::Ok))
            }
        }
    }

    /// The rows of steps of some type, failed or not.
    pub fn rows_of(&self, wanted: impl Fn(EventType, bool) -> bool) -> Vec<&TimelineRow> {
        let rows = self.timeline.rows.iter().filter(|row| row.number > 0);
        rows.filter(|row| {
            self.header(row)
                .is_some_and(|(event_type, outcome)| wanted(event_type, outcome.is_failure()))
        })
        .collect()
    }

    /// What the model call of a record costs; `None` of any other record.
    pub fn cost(&self, record: &Record) -> Option<CallCost> {
        self.prices.cost(record)
    }

    /// The sums over all steps.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for row in self.timeline.rows.iter().filter(|row| row.number > 0) {
            let Some((event_type, outcome)) = self.header(row) else {
                continue;
            };
            totals.count(event_type, outcome);
            match row.source {
                RowSource::InFlight(_) => totals.in_flight += 1,
                RowSource::Span(position) => {
                    totals.tokens.add(&self.index.usage(position as usize));
                }
                RowSource::Run | RowSource::Promoted(_) => {}
            }
        }
        totals.not_run_calls = self.not_run.len() as u64;
        totals
            .cost
            .extend(self.index.costs(&self.prices).map(|(_, cost)| cost));
        totals
    }

    /// The last step before the one with a number that has some type and name, with its number.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_previous(
        &self,
        number: usize,
        fits: impl Fn(EventType, &str) -> bool,
    ) -> Result<Option<(usize, ReadRow)>, RecordError> {
        let Some(row) = self.previous(number, fits) else {
            return Ok(None);
        };
        Ok(self.read_row(row)?.map(|read| (row.number as usize, read)))
    }

    /// The state before the one in a row; `None` for the first state, and for every other row.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn state_before(&self, row: &TimelineRow) -> Result<Option<Value>, RecordError> {
        let is_state = |event_type| event_type == EventType::StateUpdate;
        if !self
            .header(row)
            .is_some_and(|(event_type, _)| is_state(event_type))
        {
            return Ok(None);
        }
        let before = self.read_previous(row.number as usize, |event_type, _| is_state(event_type))?;
        Ok(before.and_then(|(_, read)| match read.record.payload {
            Payload::StateUpdate { state, .. } => Some(state),
            _ => None,
        }))
    }

    fn previous(&self, number: usize, fits: impl Fn(EventType, &str) -> bool) -> Option<&TimelineRow> {
        (1..number).rev().find_map(|before| {
            let row = self.timeline.get(self.timeline.row_of_step(before)?)?;
            let RowSource::Span(position) = row.source else {
                // A state may be on the root itself.
                let (event_type, _) = self.header(row)?;
                return fits(event_type, "").then_some(row);
            };
            let span = self.index.span(position as usize)?;
            fits(span.event_type, self.index.name(&span)).then_some(row)
        })
    }
}
