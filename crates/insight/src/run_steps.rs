//! The steps of a run of any size: all are numbered, and only those that are wanted are read.

use std::fs;

use tracer_sdk::format::{EventType, Record, SPANS_FILE, SpanRecord, Tags, Timestamp};
use tracer_sdk::prices::Prices;
use tracer_sdk::read::{InvalidRun, RecordError, RunDirectory, RunReader, StartedSpan, Strictness};

use crate::in_flight;
use crate::not_run::{NotRun, NotRunReader};
use crate::run_head::{RunHead, guess_remark};
use crate::status::RunStatus;
use crate::step_filter::StepFilter;
use crate::step_order::numbered;
use crate::steps::StepSource;
use crate::totals::Totals;
use crate::{key_steps, not_run};

/// A run with its steps in the order of time, none of them read yet.
#[derive(Debug)]
pub struct RunSteps {
    /// The run.
    pub run: RunReader,
    /// Its status.
    pub status: RunStatus,
    /// Its tags.
    pub tags: Tags,
    /// What model calls cost.
    prices: Prices,
    /// Where each step comes from; its number is its place here, from 1.
    steps: Vec<StepPlace>,
    /// The calls that were asked for and never ran, of a run that is short enough to know.
    not_run: Vec<NotRun>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum StepPlace {
    /// The record with this number.
    Record(usize),
    /// The call with this index that has begun and not ended.
    InFlight(usize),
}

impl RunSteps {
    /// Scans the log of a run, whatever its problems. Its calls have the costs of these prices.
    ///
    /// # Errors
    ///
    /// [`InvalidRun`]: there is nothing to show.
    pub fn open(directory: &RunDirectory, prices: Prices) -> Result<Self, InvalidRun> {
        // The status comes first: what ends a run is written before the run says that it has ended.
        let status = directory.clone().read_summary().status();
        let mut run = RunReader::open(&directory.path, Strictness::Lenient)?;
        if !status.is_open() {
            // A stale `.live` says nothing about a run that has ended; its root says what it was in.
            run.in_flight = run.read_unfinished();
        }
        let records = (0..run.records.record_count()).filter_map(|number| {
            let header = run.records.header(number).filter(|header| !header.is_leftover)?;
            Some((header.instant, header.event_type, StepPlace::Record(number)))
        });
        let in_flight = (0..)
            .zip(&run.in_flight)
            .map(|(index, started)| (started.start_time.instant(), StepPlace::InFlight(index)));
        let mut steps = Vec::with_capacity(run.records.record_count());
        steps
            .extend(numbered(records, in_flight).filter_map(|(number, place)| (number > 0).then_some(place)));
        let tags = run.read_tags();
        let mut asked = NotRunReader::default();
        let log = fs::metadata(directory.path.join(SPANS_FILE));
        if not_run::is_short(steps.len(), log.map_or(u64::MAX, |log| log.len())) {
            for number in 0..run.records.record_count() {
                if let Ok(Some(record)) = run.records.read_record(number) {
                    asked.take(&record);
                }
            }
        }
        let is_whole = !status.is_open() && run.in_flight.is_empty();
        Ok(Self {
            not_run: asked.finish(is_whole).unwrap_or_default(),
            run,
            status,
            tags,
            prices,
            steps,
        })
    }

    /// The run as a whole.
    pub fn head(&self) -> RunHead {
        let run = &self.run;
        let mut head = RunHead::of_meta(run.meta.as_ref(), self.status);
        head.remarks.extend(guess_remark(run.guessed_places));
        RunHead {
            started: self.started(),
            tags: self.tags.clone(),
            totals: self.totals(),
            cut_tail: run.cut_tail,
            problems: run.problems.clone(),
            more_problems: run.more_problems,
            ..head
        }
    }

    /// Number of steps.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there is no step yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// When the run started.
    pub fn started(&self) -> Option<Timestamp> {
        let root = self
            .start_number()
            .and_then(|number| self.run.records.header(number));
        let recorded = || self.run.meta.as_ref().map(|meta| meta.started_at.instant());
        root.map(|header| header.instant).or_else(recorded)
    }

    /// The record of the run's start, with the arguments of the program; a running run has none yet.
    pub fn start(&mut self) -> Result<Option<Record>, RecordError> {
        match self.start_number() {
            Some(number) => self.run.records.read_record(number),
            None => Ok(None),
        }
    }

    fn start_number(&self) -> Option<usize> {
        (0..self.run.records.record_count()).find(|number| {
            let header = self.run.records.header(*number);
            header.is_some_and(|header| header.event_type == EventType::RunStart)
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
            unknown_calls: self.run.unknown_calls,
            not_run_calls: self.not_run.len() as u64,
            in_flight: self.run.in_flight.len() as u64,
            errors: counts.errors,
            loop_warnings: counts.loop_warnings,
            tokens: self.run.tokens,
            cost: self.run.model_calls.cost(&self.prices),
        }
    }

    fn started_as(&self, event_type: EventType) -> u64 {
        let is_one = |started: &&StartedSpan| started.event_type == event_type;
        self.run.in_flight.iter().filter(is_one).count() as u64
    }

    /// The numbers of the steps of some type, failed or not.
    pub fn numbers(&self, wanted: impl Fn(EventType, bool) -> bool) -> Vec<usize> {
        let is_wanted = |place: &StepPlace| match *place {
            StepPlace::Record(number) => self
                .run
                .records
                .header(number)
                .is_some_and(|header| wanted(header.event_type, header.outcome.is_failure())),
            StepPlace::InFlight(index) => self
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
        self.passing_with_progress(filter, || {})
    }

    /// The same; calls `on_read` for each step that has to be read for it.
    pub fn passing_with_progress(
        &mut self,
        filter: &StepFilter,
        mut on_read: impl FnMut(),
    ) -> Result<Vec<usize>, RecordError> {
        let mut numbers = self.numbers(|event_type, failed| filter.passes_header(event_type, failed));
        numbers.retain(|number| filter.passes_number(*number));
        if filter.has_text() {
            let mut found = Vec::new();
            for number in numbers {
                on_read();
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

    /// The numbers of the [`key_steps`].
    pub fn key_steps(&self) -> Vec<usize> {
        key_steps::key_step_numbers(self.len(), |wanted| self.numbers(wanted))
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
            Some(StepPlace::InFlight(index)) => {
                let begun = self.run.in_flight.get(index).zip(self.run.trace_id);
                let record = begun.map(|(started, run_id)| in_flight::record(run_id, started));
                Ok(record.map(|record| (StepSource::in_flight(number, record), None)))
            }
            Some(StepPlace::Record(place)) => {
                let read = self.run.records.read_record_with_span(place)?;
                Ok(read.map(|(mut record, span)| {
                    NotRun::mark(&self.not_run, &mut record);
                    let source = StepSource::read(number, record, span.as_ref()).priced(&self.prices);
                    (source, span)
                }))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};
    use tracer_sdk::read::{LogIndex, spans_to_events};

    use super::*;
    use crate::calls::CallList;
    use crate::indexed_steps::IndexedSteps;
    use crate::run_preview::PreviewReading;
    use crate::testing::run_with;

    /// A run in which a library and the proxy report one call, with a span nested in the library's report.
    fn reported_twice(folder: &std::path::Path) -> RunDirectory {
        let (mut meta, mut spans) = run_with(&[]);
        meta["counts"]["llm_calls"] = json!(1);
        let mut add = |number: u64, parent: u64, name: &str, attributes: Value| {
            let mut span = spans[0].clone();
            span["span_id"] = json!(format!("{number:016x}"));
            span["parent_span_id"] = json!(format!("{parent:016x}"));
            span["name"] = json!(name);
            span["start_time"] = json!(format!("2026-01-01T00:00:00.{number:06}Z"));
            span["status_code"] = json!("UNSET");
            span["attributes"] = attributes;
            spans.push(span);
        };
        let chat = |more: Value| {
            let mut chat = json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
                "gen_ai.response.id": "r", "gen_ai.usage.output_tokens": 7});
            chat.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            chat
        };
        add(2, 1, "agent", json!({"gen_ai.operation.name": "invoke_agent"}));
        add(
            3,
            2,
            "chat gpt-5",
            chat(json!({"otel.scope.name": "library", "error.type": "Odd"})),
        );
        add(4, 3, "POST", json!({"http.request.method": "POST"}));
        add(
            6,
            1,
            "chat gpt-5",
            chat(json!({"tracer.source": "proxy", "tracer.inferred": "parent"})),
        );
        let root = spans.remove(0);
        spans.push(root);
        let directory = folder.join("000000000000000000000000000000b1");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("meta.json"), meta.to_string()).unwrap();
        let lines: Vec<String> = spans.iter().map(|span| format!("{span}\n")).collect();
        fs::write(directory.join("spans.jsonl"), lines.concat()).unwrap();
        RunDirectory {
            trace_id: "000000000000000000000000000000b1".parse().unwrap(),
            path: directory,
        }
    }

    #[test]
    fn a_report_of_a_call_is_no_step() {
        let folder = tempfile::tempdir().unwrap();
        let directory = reported_twice(folder.path());
        let mut run = RunSteps::open(&directory, Prices::default()).unwrap();
        let numbers: Vec<usize> = (1..=run.len()).collect();
        let sources = run.read_all(&numbers).unwrap();
        let steps: Vec<(String, usize)> = crate::steps::steps(&sources, None)
            .iter()
            .map(|step| (step.name(), step.depth))
            .collect();
        let expected =
            [("agent", 0), ("gpt-5", 1), ("POST", 2)].map(|(name, depth)| (name.to_owned(), depth));
        assert_eq!(steps, expected);

        let indexed = IndexedSteps::open(&directory, false, Prices::default()).unwrap();
        assert_eq!(indexed.timeline.step_count(), 3);
        let row = |id: &str| {
            indexed
                .row_of(id)
                .and_then(|row| indexed.timeline.get(row))
                .unwrap()
        };
        let (call, repeat) = (row("0000000000000006"), row("0000000000000003"));
        assert_eq!(call, repeat, "whoever asks for the report is given the call");

        let spans: Vec<SpanRecord> = {
            let index = LogIndex::open(&directory.path, None, false).unwrap();
            (0..index.len())
                .map(|at| index.read_span(at).unwrap().unwrap())
                .collect()
        };
        let records = spans_to_events(&spans);
        assert_eq!(records.len(), 6, "the envelope has every span");
        let mut preview = PreviewReading::of(RunStatus::Failed);
        for record in &records {
            preview.add(record);
        }
        let preview = preview.finish();
        assert_eq!((preview.steps, preview.subtitle), (3, None));
        assert_eq!(CallList::of(&records).len(), 1);
    }
}
