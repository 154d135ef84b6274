//! The steps of a run of any size: all are numbered, and only those that are wanted are read.

use tracer_sdk::format::{EventType, Record, SpanRecord, Timestamp};
use tracer_sdk::read::{OutlinedRun, RecordError, StartedSpan};

use crate::in_flight;
use crate::key_steps;
use crate::step_filter::StepFilter;
use crate::steps::StepSource;
use crate::totals::Totals;

/// A run with its steps in the order of time, none of them read yet.
pub struct RunSteps {
    /// The run.
    pub run: OutlinedRun,
    /// Where each step comes from; its number is its place here, from 1.
    steps: Vec<Place>,
}

#[derive(Clone, Copy)]
enum Place {
    /// The record with this number.
    Record(usize),
    /// The call with this index that has begun and not ended.
    InFlight(usize),
}

impl RunSteps {
    /// The steps of a run.
    pub fn new(run: OutlinedRun) -> Self {
        let mut steps = Vec::with_capacity(run.records.record_count());
        let mut in_flight: Vec<(Timestamp, usize)> = run
            .in_flight
            .iter()
            .enumerate()
            .map(|(index, started)| (started.start_time.instant(), index))
            .collect();
        in_flight.sort_unstable();
        let mut in_flight = in_flight.into_iter().peekable();
        let mut has_started = false;
        for number in 0..run.records.record_count() {
            let Some(outline) = run.records.header(number) else {
                break;
            };
            while let Some((_, index)) = in_flight.next_if(|(instant, _)| *instant < outline.instant) {
                steps.push(Place::InFlight(index));
            }
            match outline.event_type {
                // A damaged run may have more than one root; what is nested in the others stays visible as theirs.
                EventType::RunStart if !has_started => has_started = true,
                EventType::RunEnd => {}
                _ => steps.push(Place::Record(number)),
            }
        }
        steps.extend(in_flight.map(|(_, index)| Place::InFlight(index)));
        Self { run, steps }
    }

    /// How many steps there are.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// When the run started.
    pub fn started(&self) -> Option<Timestamp> {
        let root = self
            .start_number()
            .and_then(|number| self.run.records.header(number));
        let told = || self.run.meta.as_ref().map(|meta| meta.started_at.instant());
        root.map(|outline| outline.instant).or_else(told)
    }

    /// The record of the run's start, which tells how the program was started; a run that goes on has none yet.
    pub fn start(&mut self) -> Result<Option<Record>, RecordError> {
        match self.start_number() {
            Some(number) => self.run.records.record(number),
            None => Ok(None),
        }
    }

    fn start_number(&self) -> Option<usize> {
        (0..self.run.records.record_count()).find(|number| {
            let outline = self.run.records.header(*number);
            outline.is_some_and(|outline| outline.event_type == EventType::RunStart)
        })
    }

    /// The counts of the run, calls in flight included.
    pub fn totals(&self) -> Totals {
        let counts = self.run.counts();
        Totals {
            steps: self.len() as u64,
            llm_calls: counts.llm_calls + self.started_as(EventType::LlmCall),
            tool_calls: counts.tool_calls + self.started_as(EventType::ToolCall),
            failed_calls: self.run.failed_calls,
            in_flight: self.run.in_flight.len() as u64,
            errors: counts.errors,
            loop_warnings: counts.loop_warnings,
            tokens: self.run.tokens,
        }
    }

    fn started_as(&self, event_type: EventType) -> u64 {
        let is_one = |started: &&StartedSpan| started.event_type == event_type;
        self.run.in_flight.iter().filter(is_one).count() as u64
    }

    /// The numbers of the steps of some type, failed or not.
    pub fn numbers(&self, wanted: impl Fn(EventType, bool) -> bool) -> Vec<usize> {
        let is_wanted = |place: &Place| match *place {
            Place::Record(number) => self
                .run
                .records
                .header(number)
                .is_some_and(|outline| wanted(outline.event_type, outline.is_failed)),
            Place::InFlight(index) => self
                .run
                .in_flight
                .get(index)
                .is_some_and(|started| wanted(started.event_type, false)),
        };
        let places = self.steps.iter().enumerate();
        places
            .filter(|(_, place)| is_wanted(place))
            .map(|(index, _)| index + 1)
            .collect()
    }

    /// The numbers of the steps that pass.
    pub fn passing(&mut self, filter: &StepFilter) -> Result<Vec<usize>, RecordError> {
        self.passing_one_by_one(filter, || {})
    }

    /// The same, where `looked_at` is told of each step that has to be read for it.
    pub fn passing_one_by_one(
        &mut self,
        filter: &StepFilter,
        mut looked_at: impl FnMut(),
    ) -> Result<Vec<usize>, RecordError> {
        let mut numbers = self.numbers(|event_type, failed| filter.passes_outline(event_type, failed));
        if filter.has_text() {
            let mut found = Vec::new();
            for number in numbers {
                looked_at();
                if let Some(source) = self.read(number)?
                    && filter.passes(&source.record)
                {
                    found.push(number);
                }
            }
            numbers = found;
        }
        Ok(numbers)
    }

    /// The numbers of the steps that tell how the run went: all of them, or where the run has very many, the first,
    /// the last, the failures, and what is around the loops.
    pub fn telling(&self) -> Vec<usize> {
        key_steps::numbers(self.len(), |wanted| self.numbers(wanted))
    }

    /// Reads the steps with these numbers.
    pub fn read_all(&mut self, numbers: &[usize]) -> Result<Vec<StepSource>, RecordError> {
        let mut sources = Vec::with_capacity(numbers.len());
        for number in numbers {
            sources.extend(self.read(*number)?);
        }
        Ok(sources)
    }

    fn read(&mut self, number: usize) -> Result<Option<StepSource>, RecordError> {
        Ok(self.read_with_span(number)?.map(|(source, _)| source))
    }

    /// Reads a step, and the span that it is the record of; there is none for what is surfaced from the root, nor for
    /// what has not ended. `None` when there is no step with this number.
    pub fn read_with_span(
        &mut self,
        number: usize,
    ) -> Result<Option<(StepSource, Option<SpanRecord>)>, RecordError> {
        let place = number.checked_sub(1).and_then(|index| self.steps.get(index));
        match place.copied() {
            None => Ok(None),
            Some(Place::InFlight(index)) => {
                let begun = self.run.in_flight.get(index).zip(self.run.trace_id);
                let record = begun.map(|(started, run_id)| in_flight::record(run_id, started));
                Ok(record.map(|record| (StepSource::begun(number, record), None)))
            }
            Some(Place::Record(place)) => {
                let read = self.run.records.record_with_span(place)?;
                Ok(read.map(|(record, span)| (StepSource::read(number, record, span.as_ref()), span)))
            }
        }
    }
}
