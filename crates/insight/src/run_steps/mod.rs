//! [`RunSteps`]: a run and its steps over the index of its log, any of them read on demand, while the log may grow.

mod attempts;
#[cfg(test)]
mod tests;
mod timeline;

use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::OnceLock;

use serde_json::Value;
use tracer_runs::{
    InvalidRun, LogIndex, PromotedRecord, RecordError, RecordSource, RunDirectory, RunReader, RunSummary,
    StartedSpan, Strictness, read_live_file,
};
use tracer_sdk::format::{
    EventType, Outcome, Payload, Problem, Record, RunMeta, SpanId, SpanRecord, Tags, Timestamp,
};
use tracer_sdk::prices::{CallCost, Prices};

use crate::failure::{FailureCause, failure};
use crate::not_run::{NotRun, NotRunReader};
use crate::run_head::{RunHead, guess_remark};
use crate::status::RunStatus;
use crate::step_filter::StepFilter;
use crate::steps::StepSource;
use crate::totals::Totals;
use crate::{in_flight, key_steps, not_run, steps};
use attempts::Attempts;
pub use timeline::{RowSource, Timeline, TimelineRow};

/// Loop warnings whose evidence is marked: a run has one for each distinct pattern.
const MAX_WARNINGS: usize = 200;
/// The ID of the row that takes the place of a run whose root has not ended.
pub const RUN_ROW: &str = "run";

/// The ID of a record that a root yields in addition to its own (decisions, section 3).
fn promoted_id(root: &str, number: u32) -> String {
    format!("{root}.{}", number.saturating_sub(1))
}

/// A run and its steps, known by the index of its log and read on demand.
#[derive(Debug)]
pub struct RunSteps {
    /// Its directory.
    pub directory: RunDirectory,
    /// Its metadata, or the problems of a run that has none.
    pub meta: Result<RunMeta, Vec<Problem>>,
    /// Its status.
    pub status: RunStatus,
    /// Its tags: of its root, or while that has not ended, of its `.live`.
    pub tags: Tags,
    /// The index of the log.
    pub index: LogIndex,
    /// The rest of the log, and with it the root, has not been read.
    is_beginning: bool,
    /// The records that are promoted from roots.
    pub promoted: Vec<PromotedRecord>,
    /// The calls that have begun and not ended.
    pub in_flight: Vec<StartedSpan>,
    /// The rows.
    pub timeline: Timeline,
    /// The call that each attempt is at, and the number of attempts before each such call, all by position.
    attempts: HashMap<usize, usize>,
    failed_attempts: HashMap<usize, usize>,
    /// Prices of model calls.
    prices: Prices,
    /// The calls that were asked for and never ran, of a run that has ended and is short enough to know; found on first use.
    not_run: OnceLock<Vec<NotRun>>,
    /// The spans, and the IDs of other records, that loop warnings rest on.
    evidence: (HashSet<SpanId>, HashSet<String>),
    /// Problems of the run, found on first use, and the number of further problems.
    problems: OnceLock<(Vec<Problem>, u64)>,
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

impl RunSteps {
    /// Indexes the log of a run, whatever its problems. Its calls have the costs of these prices.
    #[must_use]
    pub fn open(directory: RunDirectory, prices: Prices) -> Self {
        // The status comes first: what ends a run is written before the run says that it has ended.
        let summary = directory.read_summary();
        let (trace_id, is_open) = (summary.directory.trace_id, summary.status().is_open());
        let index = LogIndex::read_any(&summary.directory.path, Some(trace_id), is_open);
        Self::of_index(summary, index, prices)
    }

    /// The run with an index of its log, which was read after the rest of it.
    #[must_use]
    pub fn of_index(summary: RunSummary, index: LogIndex, prices: Prices) -> Self {
        Self::of_part(summary, index, prices, false)
    }

    fn of_part(summary: RunSummary, index: LogIndex, prices: Prices, is_beginning: bool) -> Self {
        let mut steps = Self {
            index,
            is_beginning,
            status: summary.status(),
            directory: summary.directory,
            meta: summary.meta,
            tags: Tags::default(),
            promoted: Vec::new(),
            in_flight: Vec::new(),
            timeline: Timeline::default(),
            attempts: HashMap::new(),
            failed_attempts: HashMap::new(),
            prices,
            not_run: OnceLock::new(),
            evidence: (HashSet::new(), HashSet::new()),
            problems: OnceLock::new(),
        };
        steps.arrange();
        steps
    }

    /// The steps in the first `length` bytes of the log, below a row of the run, for a first look.
    #[must_use]
    pub fn read_beginning(directory: RunDirectory, prices: Prices, length: u64) -> Self {
        let summary = directory.read_summary();
        let directory = &summary.directory;
        let index = LogIndex::read_beginning(&directory.path, Some(directory.trace_id), length);
        Self::of_part(summary, index, prices, true)
    }

    /// Opens a run as above, but only one that has something to show.
    ///
    /// # Errors
    ///
    /// [`InvalidRun`]: neither metadata nor a span can be read.
    pub fn open_readable(directory: &RunDirectory, prices: Prices) -> Result<Self, InvalidRun> {
        let steps = Self::open(directory.clone(), prices.clone());
        if steps.meta.is_ok() || !steps.index.is_empty() {
            return Ok(steps);
        }
        RunReader::open(&directory.path, Strictness::Lenient)?;
        // It came to be just now.
        Ok(Self::open(directory.clone(), prices))
    }

    /// Reads what was added to the files; `false` when the log is another one: the run has to be reopened.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn update(&mut self) -> io::Result<bool> {
        let summary = self.directory.clone().read_summary();
        let status = summary.status();
        if !self.index.extend(status.is_open())? {
            return Ok(false);
        }
        (self.meta, self.status, self.problems) = (summary.meta, status, OnceLock::new());
        self.arrange();
        Ok(true)
    }

    fn arrange(&mut self) {
        let is_open = self.status.is_open();
        self.promoted = self.index.promoted().collect();
        let root = self.read_root();
        // A stale `.live` says nothing about a run that has ended; its root says what it was in.
        let live = is_open.then(|| read_live_file(&self.directory.path)).flatten();
        let (started, live_tags) = live.map(|live| (live.started, live.tags)).unwrap_or_default();
        (self.in_flight, self.tags) = match &root {
            Some(root) => {
                let unfinished = StartedSpan::unfinished(&root.attributes);
                let started = if is_open { started } else { unfinished };
                (started, Tags::of_attributes(&root.attributes))
            }
            None => (started, live_tags),
        };
        self.in_flight
            .retain(|started| self.index.find(started.span_id).is_none());
        let order = self.index.in_order();
        self.attempts = attempts::find(&self.index, &order);
        self.failed_attempts.clear();
        for call in self.attempts.values() {
            *self.failed_attempts.entry(*call).or_default() += 1;
        }
        let may_lack_root = is_open || self.is_beginning;
        self.timeline = Timeline::new(&self.index, order, &self.in_flight, may_lack_root);
        self.evidence = self.find_evidence();
        self.not_run = OnceLock::new();
    }

    fn read_root(&self) -> Option<SpanRecord> {
        let is_root = |position: &usize| {
            let span = self.index.span(*position);
            span.is_some_and(|span| span.parent_span_id.is_none())
        };
        // It was written last, as a rule.
        let root = (0..self.index.len()).rev().find(is_root)?;
        self.index.read_span(root).ok()?
    }

    /// The run as a whole.
    pub fn head(&self) -> RunHead {
        let (problems, more_problems) = self.problems();
        let mut head = RunHead::of_meta(self.meta.as_ref().ok(), self.status);
        head.remarks.extend(guess_remark(self.index.guessed_places()));
        RunHead {
            started: self.started(),
            tags: self.tags.clone(),
            totals: self.totals(),
            cut_tail: self.index.cut_tail(),
            problems: problems.clone(),
            more_problems: *more_problems,
            ..head
        }
    }

    /// Problems of the run: those of its metadata, then by line; and the number of further problems. Of a run that is
    /// still running, only its lines are checked.
    pub fn problems(&self) -> &(Vec<Problem>, u64) {
        self.problems.get_or_init(|| {
            let (of_log, more) = if self.status == RunStatus::Running {
                self.index.line_problems()
            } else {
                let meta = self.meta.as_ref().ok();
                let has_all_spans = meta.is_none_or(RunMeta::has_exact_counts);
                self.index.problems(meta.map(|meta| meta.status), has_all_spans)
            };
            let of_meta = self.meta.as_ref().err().cloned().unwrap_or_default();
            (of_meta.into_iter().chain(of_log).collect(), more)
        })
    }

    /// Number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.timeline.step_count()
    }

    /// True while there is no step.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The start of the run: of its root, else of its metadata.
    pub fn started(&self) -> Option<Timestamp> {
        let recorded = || self.meta.as_ref().ok().map(|meta| meta.started_at.instant());
        self.root_start().or_else(recorded)
    }

    /// The record of the run's start, with the arguments of the program; a running run has none yet.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn start(&self) -> Result<Option<Record>, RecordError> {
        match self.timeline.get(0).filter(|row| row.number == 0) {
            Some(row) => Ok(self.read_row(row)?.map(|read| read.record)),
            None => Ok(None),
        }
    }

    /// The numbers of the steps of some type, failed or not, in the order of time.
    pub fn numbers(&self, wanted: impl Fn(EventType, bool) -> bool) -> Vec<usize> {
        let rows = self.rows_of(wanted);
        let mut numbers: Vec<usize> = rows.into_iter().map(|row| row.number as usize).collect();
        numbers.sort_unstable();
        numbers
    }

    /// The numbers of the steps that pass. Calls `on_read` for each step that has to be read for it.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn passing(&self, filter: &StepFilter, mut on_read: impl FnMut()) -> Result<Vec<usize>, RecordError> {
        let mut numbers = self.numbers(|event_type, failed| filter.passes_header(event_type, failed));
        numbers.retain(|number| filter.passes_number(*number));
        if filter.has_text() {
            let mut found = Vec::new();
            for number in numbers {
                on_read();
                if let Some((source, _)) = self.read_step(number)?
                    && filter.passes(&source.record)
                {
                    found.push(number);
                }
            }
            numbers = found;
        }
        Ok(numbers)
    }

    /// The calls that were asked for and never ran; `known` are steps that have been read, all or some.
    fn not_run(&self, known: &[StepSource]) -> &[NotRun] {
        self.not_run.get_or_init(|| {
            let mut asked = NotRunReader::default();
            let steps = self.timeline.step_count();
            if self.status.is_open()
                || self.is_beginning
                || !not_run::is_short(steps, self.index.bytes_read())
            {
                return Vec::new();
            }
            let read;
            let sources = if known.iter().map(|source| source.number).eq(1..=steps) {
                known
            } else {
                let Ok(sources) = self.read_unmarked(1..=steps) else {
                    return Vec::new();
                };
                read = sources;
                &read
            };
            for source in sources {
                asked.take(&source.record);
            }
            asked.finish(self.in_flight.is_empty()).unwrap_or_default()
        })
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

    /// The [key steps](key_steps), in the order of time.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_key_steps(&self) -> Result<Vec<StepSource>, RecordError> {
        self.read_steps(self.key_step_numbers())
    }

    fn key_step_numbers(&self) -> Vec<usize> {
        key_steps::key_step_numbers(self.len(), |wanted| self.numbers(wanted))
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
        let mut sources = self.read_unmarked(numbers)?;
        let not_run = self.not_run(&sources);
        for source in &mut sources {
            NotRun::mark(not_run, &mut source.record);
        }
        Ok(sources)
    }

    /// Reads a step, and the span that it is the record of; there is none for what is surfaced from the root, nor for
    /// what has not ended. `None` when there is no step with this number.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_step(&self, number: usize) -> Result<Option<(StepSource, Option<SpanRecord>)>, RecordError> {
        let Some(row) = self.row(number) else {
            return Ok(None);
        };
        Ok(self.read_row(row)?.map(|read| self.source(row, read)))
    }

    /// Why the run failed, looped or was interrupted, from its key steps.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_failure(&self) -> Result<Option<FailureCause>, RecordError> {
        let sources = self.read_unmarked(self.key_step_numbers())?;
        Ok(failure(self.status, &steps::steps(&sources, self.started())))
    }

    /// Reads the steps with these numbers, without what calls that never ran say of them.
    fn read_unmarked(
        &self,
        numbers: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<StepSource>, RecordError> {
        let rows = numbers.into_iter().filter_map(|number| self.row(number));
        let read = rows.filter_map(|row| {
            self.read_unmarked_row(row)
                .map(|read| Some(self.source(row, read?).0))
                .transpose()
        });
        read.collect()
    }

    /// The row of the step with a number.
    fn row(&self, number: usize) -> Option<&TimelineRow> {
        let row = self.timeline.get(self.timeline.row_of_step(number)?)?;
        (row.number > 0).then_some(row)
    }

    fn source(&self, row: &TimelineRow, read: ReadRow) -> (StepSource, Option<SpanRecord>) {
        let number = row.number as usize;
        match read.span {
            None if read.in_flight => (StepSource::in_flight(number, read.record), None),
            span => {
                let mut source = StepSource::read(number, read.record, span.as_ref()).priced(&self.prices);
                if let Some(Attempts::Call(attempts)) = self.attempts(row) {
                    source.attempts = attempts;
                }
                (source, span)
            }
        }
    }

    /// Reads the record of a row; `None` for the run itself while its root is not there.
    ///
    /// # Errors
    ///
    /// The log cannot be read.
    pub fn read_row(&self, row: &TimelineRow) -> Result<Option<ReadRow>, RecordError> {
        let mut read = self.read_unmarked_row(row)?;
        if let Some(read) = &mut read {
            NotRun::mark(self.not_run(&[]), &mut read.record);
        }
        Ok(read)
    }

    fn read_unmarked_row(&self, row: &TimelineRow) -> Result<Option<ReadRow>, RecordError> {
        match row.source {
            RowSource::Run => Ok(None),
            RowSource::Span(position) => {
                let Some((mut record, span)) = self.index.read_record(position as usize)? else {
                    return Ok(None);
                };
                self.mark_attempt(row, &mut record);
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
                let mut records = self.index.read_all_records(promoted.span)?.into_iter();
                Ok(records.nth(promoted.number as usize).map(|record| ReadRow {
                    record,
                    span: None,
                    in_flight: false,
                }))
            }
            RowSource::InFlight(number) => Ok(self.in_flight.get(number as usize).map(|started| ReadRow {
                record: in_flight::record(self.directory.trace_id, started),
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
            let read = self.read_unmarked_row(row).ok().flatten();
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
        let source = match row.source {
            RowSource::Run => return Some((EventType::RunStart, Outcome::Ok)),
            RowSource::Span(position) => RecordSource::Span(position),
            RowSource::Promoted(number) => RecordSource::Promoted(number),
            RowSource::InFlight(number) => {
                return Some((self.in_flight.get(number as usize)?.event_type, Outcome::Ok));
            }
        };
        let header = self.index.header(source)?;
        Some((header.event_type, header.outcome))
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

    /// Cost of the model call of a record; `None` of any other record.
    pub fn cost(&self, record: &Record) -> Option<CallCost> {
        self.prices.cost(record)
    }

    /// Prices of its calls.
    pub(crate) fn prices(&self) -> &Prices {
        &self.prices
    }

    /// The numbers of the model calls, and of other steps that report tokens of a model's input, in the order of time.
    pub(crate) fn model_requests(&self) -> Vec<usize> {
        let is_request = |row: &&TimelineRow| match row.source {
            RowSource::Span(position) => {
                let is_call = self
                    .header(row)
                    .is_some_and(|(event_type, _)| event_type == EventType::LlmCall);
                is_call || self.index.usage(position as usize).prompt_tokens.is_some()
            }
            _ => false,
        };
        let rows = self.timeline.rows.iter().filter(|row| row.number > 0);
        let mut numbers: Vec<usize> = rows.filter(is_request).map(|row| row.number as usize).collect();
        numbers.sort_unstable();
        numbers
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
        totals.not_run_calls = self.not_run(&[]).len() as u64;
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
