//! [`RunRow`]: the numbers, times, names and texts of a run in a list, and the one full reading that finds them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracer_insight::conversation::{MessagePart, answer_messages};
use tracer_insight::profile::agent_of;
use tracer_insight::run_head::recording_remarks;
use tracer_insight::run_steps::RunSteps;
use tracer_insight::status::RunStatus;
use tracer_insight::step_kind::StepKind;
use tracer_insight::step_summary::{self, prompt_summary};
use tracer_insight::steps::{ATTEMPT_OF, StepSource};
use tracer_insight::{text, units, value_summary};
use tracer_runs::{
    Liveness, LogIndex, RecordSource, RecordStream, RunDirectory, RunReader, RunSummary, Strictness,
    probe_liveness,
};
use tracer_sdk::format::names::{self, tag_key};
use tracer_sdk::format::{
    Counts, EventType, Outcome, Payload, Record, RunMeta, SpanRecord, Tags, Timestamp, Usage,
};
use tracer_sdk::prices::{CallGroups, CostSum, Prices};

use crate::latencies::Latencies;

/// Distinct tools, models or errors that are kept of a run; calls of further ones are counted under [`FURTHER`].
const MAX_NAMES: usize = 1_000;
/// Groups of model calls that are kept of a run; calls of further ones have no price.
const MAX_CALL_GROUPS: usize = 1_000;
/// The mark of a run that continues when a person has answered.
const WAITING: &str = "waiting for a person";
/// The name of what is beyond that.
pub(crate) const FURTHER: &str = "…";
/// Cells of [`RunRow::path`].
const MAX_PATH_CELLS: usize = 12;
/// Longest name and longest text that are kept, in columns.
const MAX_TEXT_COLUMNS: usize = 200;
/// The tag that holds the commit of the program.
pub(crate) const COMMIT_TAG: &str = "commit";

/// A run in a list, as it is stored, shown, and sent to a bucket: its numbers, times, tools, models and texts. Everything is
/// exact, whatever the size of the run, and what is not known is `None`, never zero.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRow {
    /// Its label.
    pub name: Option<String>,
    /// When it started, in microseconds since 1970; `None` when its metadata cannot be read.
    #[serde(rename = "at")]
    pub started_us: Option<i64>,
    /// Its duration in microseconds; `None` when it has no end.
    #[serde(rename = "us")]
    pub duration_us: Option<u64>,
    /// The status by the files alone: `running` of a run that has no end.
    #[serde(rename = "st")]
    pub(crate) recorded_status: RunStatus,
    /// Set of a trial of a gate.
    #[serde(rename = "tr", skip_serializing_if = "is_default")]
    pub is_trial: bool,
    /// Model calls, as `meta.json` counts them; counted from the spans while the run has not ended.
    #[serde(rename = "lc", skip_serializing_if = "is_default")]
    pub llm_calls: u64,
    /// Tool calls, counted likewise.
    #[serde(rename = "tc", skip_serializing_if = "is_default")]
    pub tool_calls: u64,
    /// Recorded errors, counted likewise.
    #[serde(rename = "er", skip_serializing_if = "is_default")]
    pub errors: u64,
    /// Loop warnings, counted likewise.
    #[serde(rename = "lw", skip_serializing_if = "is_default")]
    pub loop_warnings: u64,
    /// Steps: all records but the start and the end, and the calls that were open when it ended.
    #[serde(rename = "n", skip_serializing_if = "is_default")]
    pub steps: u64,
    /// Model and tool calls that failed.
    #[serde(rename = "fc", skip_serializing_if = "is_default")]
    pub failed_calls: u64,
    /// Model and tool calls without a recorded end.
    #[serde(rename = "uc", skip_serializing_if = "is_default")]
    pub unknown_calls: u64,
    /// Set while it waits for a person: a step does, and no model was called after it.
    #[serde(rename = "wa", skip_serializing_if = "is_default")]
    pub is_waiting: bool,
    /// Failed calls that were tried again.
    #[serde(rename = "re", skip_serializing_if = "is_default")]
    pub retries: u64,
    /// The tokens of all model calls.
    #[serde(rename = "tk", skip_serializing_if = "is_default", with = "short_usage")]
    pub tokens: Usage,
    /// The conversation or session that it belongs to: runs that share one are one thread.
    #[serde(rename = "x", skip_serializing_if = "is_default")]
    pub session: Option<String>,
    /// The first problem of its metadata or the ends of its log; `None` when there is none.
    #[serde(rename = "pr", skip_serializing_if = "is_default")]
    pub problem: Option<String>,
    /// Gaps in its recording, and spans after its end, each a sentence without its full stop.
    #[serde(rename = "rm", skip_serializing_if = "is_default")]
    pub remarks: Vec<String>,
    /// Distinguishes it from other runs of its name: why it failed, what it repeated, what it was asked.
    #[serde(rename = "s", skip_serializing_if = "is_default")]
    pub subtitle: Option<String>,
    /// The kinds of its steps in the order of time, in at most twelve cells of all its steps; of those that share one, the
    /// worst.
    #[serde(rename = "p", skip_serializing_if = "is_default")]
    pub path: Vec<StepKind>,
    /// Its first prompt.
    #[serde(rename = "q", skip_serializing_if = "is_default")]
    pub prompt: Option<String>,
    /// The text of its last model call; `None` when that gave none.
    #[serde(rename = "a", skip_serializing_if = "is_default")]
    pub answer: Option<String>,
    /// The command that was run.
    #[serde(rename = "c", skip_serializing_if = "is_default")]
    pub command: Option<String>,
    /// Its tags.
    #[serde(rename = "g", skip_serializing_if = "is_default")]
    pub tags: BTreeMap<String, String>,
    /// Its tool calls, by the name of the tool.
    #[serde(rename = "t", skip_serializing_if = "is_default")]
    pub tools: BTreeMap<String, CallTotals>,
    /// Its model calls, by the name of the model.
    #[serde(rename = "m", skip_serializing_if = "is_default")]
    pub models: BTreeMap<String, CallTotals>,
    /// Its model calls by what decides their price.
    #[serde(rename = "$", skip_serializing_if = "is_default")]
    pub model_calls: CallGroups,
    /// The cost of these, by the prices of the [`FactsStore`](crate::FactsStore) that gave it; never kept. `None` of a run that
    /// was not read.
    #[serde(skip)]
    pub cost: Option<CostSum>,
    /// The errors in it, by their type: of failed calls and recorded for themselves.
    #[serde(rename = "e", skip_serializing_if = "is_default")]
    pub failures: BTreeMap<String, ErrorCount>,
    /// The type of the error that ended it.
    #[serde(rename = "f", skip_serializing_if = "is_default")]
    pub error: Option<String>,
}

impl RunRow {
    /// When it started, if that can be read.
    #[must_use]
    pub fn started(&self) -> Option<Timestamp> {
        self.started_us.map(Timestamp::from_unix_microseconds)
    }

    /// The marks of a run in a list, further to its status: that it waits for a person, or ended ok with calls that failed, and
    /// with calls that never ran, whose number is the caller's to know.
    #[must_use]
    pub fn marks(&self, status: RunStatus, not_run_calls: u64) -> Option<String> {
        if status != RunStatus::Ok {
            return None;
        }
        let failed = (self.failed_calls > 0).then(|| text::counted(self.failed_calls, "failed call"));
        let waits = self.is_waiting.then(|| WAITING.to_owned());
        let not_run = (not_run_calls > 0).then(|| text::counted(not_run_calls, "call") + " not run");
        let marks: Vec<String> = [waits, failed, not_run].into_iter().flatten().collect();
        (!marks.is_empty()).then(|| marks.join(", "))
    }

    /// The counts that every list of runs shows.
    #[must_use]
    pub fn counts(&self) -> Counts {
        Counts {
            llm_calls: self.llm_calls,
            tool_calls: self.tool_calls,
            errors: self.errors,
            loop_warnings: self.loop_warnings,
        }
    }

    /// True of a run that has not ended, by its files: each list finds out again if its process lives.
    pub(crate) fn is_open(&self) -> bool {
        self.recorded_status.is_open()
    }

    /// Computes what its calls cost.
    pub(crate) fn price(&mut self, prices: &Prices) {
        self.cost = Some(self.model_calls.cost(prices));
        for calls in self.models.values_mut() {
            calls.cost = None;
        }
        for (model, cost) in self.model_calls.cost_by_model(prices) {
            let name = short(model);
            let name = if self.models.contains_key(&name) {
                &name
            } else {
                FURTHER
            };
            if let Some(calls) = self.models.get_mut(name) {
                calls.cost.get_or_insert_default().add(&cost);
            }
        }
    }

    /// The names of its models, that of the most calls first.
    #[must_use]
    pub fn models_by_calls(&self) -> Vec<&str> {
        by_calls(&self.models)
    }

    /// The names of its tools, that of the most calls first.
    #[must_use]
    pub fn tools_by_calls(&self) -> Vec<&str> {
        by_calls(&self.tools)
    }

    /// The commit of the program, as its tag says.
    #[must_use]
    pub fn commit(&self) -> Option<&str> {
        self.tags.get(COMMIT_TAG).map(String::as_str)
    }

    /// Returns whether it was made of a coding agent's transcript.
    pub(crate) fn is_from_transcript(&self) -> bool {
        self.tags.get("from").is_some_and(|from| from == "transcript")
    }
}

/// The status now of a run whose files say this one.
pub(crate) fn status_now(recorded: RunStatus, directory: &RunDirectory) -> RunStatus {
    if !recorded.is_open() {
        return recorded;
    }
    match probe_liveness(&directory.path, tracer_sdk::format::RecordedStatus::Running) {
        Liveness::Interrupted => RunStatus::Interrupted,
        _ => RunStatus::Running,
    }
}

/// The names of what was called, that of the most calls first; calls of further names come last, as they have none.
fn by_calls(called: &BTreeMap<String, CallTotals>) -> Vec<&str> {
    let mut names: Vec<(&str, u64)> = called
        .iter()
        .map(|(name, calls)| (name.as_str(), calls.calls))
        .collect();
    names.sort_by_key(|(name, calls)| (*name == FURTHER, Reverse(*calls)));
    names.into_iter().map(|(name, _)| name).collect()
}

/// The agent of a run with a name: the name without its time stamp.
pub(crate) fn agent(name: Option<&str>) -> Option<&str> {
    agent_of(name?)
}

/// The count of an error, and the message of the first one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// Its count.
    #[serde(rename = "n")]
    pub count: u64,
    /// The message of the first one.
    #[serde(rename = "m", default, skip_serializing_if = "is_default")]
    pub message: String,
}

/// The calls of one tool or one model in a run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTotals {
    /// Their count.
    #[serde(rename = "n")]
    pub calls: u64,
    /// The count of those that failed.
    #[serde(rename = "f", default, skip_serializing_if = "is_default")]
    pub failed: u64,
    /// The sum of the durations of those that ended, in microseconds.
    #[serde(rename = "us", default, skip_serializing_if = "is_default")]
    pub time_us: u64,
    /// The duration of each.
    #[serde(rename = "l", default, skip_serializing_if = "is_default")]
    pub latencies: Latencies,
    /// Their tokens.
    #[serde(
        rename = "k",
        default,
        skip_serializing_if = "is_default",
        with = "short_usage"
    )]
    pub tokens: Usage,
    /// The cost of the calls of a model; never kept.
    #[serde(skip)]
    pub cost: Option<CostSum>,
}

/// A run as it is found by reading all of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FullReading {
    pub(crate) row: RunRow,
    /// Set when every record could be read: one that could not is read again the next time.
    pub(crate) is_complete: bool,
}

/// Reads all of a run, however it is damaged.
pub(crate) fn read(directory: &RunDirectory) -> FullReading {
    read_by(directory, true)
}

/// The same, every record whole: what sums are compared with.
#[cfg(test)]
pub(crate) fn read_records(directory: &RunDirectory) -> FullReading {
    read_by(directory, false)
}

fn read_by(directory: &RunDirectory, is_summed: bool) -> FullReading {
    let summary = directory.clone().read_summary();
    let status = recorded_status(&summary);
    let mut reading = Reading::new(status);
    let mut counted = None;
    let mut open_calls = 0;
    if let Ok(mut run) = RunReader::open(&directory.path, Strictness::Lenient) {
        counted = Some(run.counts());
        open_calls = if status.is_open() {
            run.in_flight.clone()
        } else {
            run.read_unfinished()
        }
        .len() as u64;
        for number in 0..run.records.record_count() {
            if !is_summed || !reading.add_indexed(number, &run.records) {
                reading.read(number, &mut run.records);
            }
        }
        reading.row.model_calls = std::mem::take(&mut run.model_calls);
        if let Some(last) = reading.last_answered
            && let Ok(Some(record)) = run.records.read_record(last)
        {
            reading.set_answer(&record);
        }
        reading.add_tags(&run.read_tags());
        if matches!(status, RunStatus::Failed | RunStatus::Looped)
            && let Some(index) = run.records.into_index()
        {
            reading.read_failure(&summary, index);
        }
    }
    reading.finish(&summary, counted, open_calls)
}

/// The facts of a run by its metadata alone.
pub(crate) fn of_summary(summary: &RunSummary) -> RunRow {
    let status = recorded_status(summary);
    Reading::new(status).finish(summary, None, 0).row
}

/// The status as the files have it: each list finds out again if the process lives.
fn recorded_status(summary: &RunSummary) -> RunStatus {
    match summary.status() {
        RunStatus::Interrupted => RunStatus::Running,
        status => status,
    }
}

/// The sums while a run is read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    row: RunRow,
    /// The kinds of its steps.
    kinds: Vec<StepKind>,
    /// Its question, or the first prompt.
    asked: Option<String>,
    /// The first tool call that has arguments.
    called: Option<String>,
    /// Why it failed, or what it repeated.
    failure: Option<String>,
    /// Tags of runs that became spans of this one; its own win over them.
    tags: Tags,
    /// The last model call that did not fail.
    last_answered: Option<usize>,
    /// The answer that the run itself says.
    own_answer: Option<String>,
    is_complete: bool,
}

impl Reading {
    pub(crate) fn new(status: RunStatus) -> Self {
        Self {
            row: RunRow {
                recorded_status: status,
                ..RunRow::default()
            },
            kinds: Vec::new(),
            asked: None,
            called: None,
            failure: None,
            tags: Tags::default(),
            last_answered: None,
            own_answer: None,
            is_complete: true,
        }
    }

    /// Adds a record by what the index knows of it; `false` where it has to be read, because its content is kept, or says more.
    fn add_indexed(&mut self, number: usize, records: &RecordStream) -> bool {
        let index = records.index();
        let Some(RecordSource::Span(position)) = records.source(number) else {
            return false;
        };
        let Some(span) = index.span(position as usize) else {
            return false;
        };
        let usage = index.usage(position as usize);
        if span.has_tags
            || span.names_session && self.row.session.is_none()
            || span.is_joined
            || span.outcome != Outcome::Ok
            || index.attempt_of(position as usize).is_some()
            || self.wants(span.event_type)
        {
            return false;
        }
        let calls = match span.event_type {
            EventType::LlmCall => {
                self.last_answered = Some(number);
                self.row.is_waiting = false;
                &mut self.row.models
            }
            EventType::ToolCall => &mut self.row.tools,
            // What was asked of a model that is no model call.
            EventType::Unknown if usage != Usage::default() => return false,
            EventType::StateUpdate | EventType::LoopWarning | EventType::Unknown => {
                if !span.is_leftover {
                    self.kinds.push(StepKind::from(span.event_type));
                }
                return true;
            }
            EventType::RunStart | EventType::RunEnd | EventType::Error => return false,
        };
        let calls = named(calls, index.name(&span));
        calls.calls += 1;
        calls.tokens.add(&usage);
        self.row.tokens.add(&usage);
        if let Some(duration) = span.duration_us {
            calls.time_us = calls.time_us.saturating_add(duration);
            calls.latencies.add(duration);
        }
        self.kinds.push(StepKind::from(span.event_type));
        true
    }

    /// Returns whether the content of a record of this type that did not fail is kept.
    fn wants(&self, event_type: EventType) -> bool {
        match event_type {
            EventType::LlmCall => self.asked.is_none(),
            EventType::ToolCall => self.called.is_none(),
            EventType::RunStart | EventType::RunEnd | EventType::Error => true,
            EventType::StateUpdate | EventType::LoopWarning | EventType::Unknown => false,
        }
    }

    /// Finds why the run failed, or what it repeated, in its key steps.
    fn read_failure(&mut self, summary: &RunSummary, index: LogIndex) {
        let steps = RunSteps::of_index(summary.clone(), index, Prices::default());
        match steps.read_failure() {
            Ok(failure) => self.failure = failure.map(|failure| short(&failure.sentence.plain())),
            Err(_) => self.is_complete = false,
        }
    }

    /// Reads a record, and adds it.
    fn read(&mut self, number: usize, records: &mut RecordStream) {
        match records.read_record_with_span(number) {
            Ok(Some((record, span))) => self.add(number, &record, span.as_ref()),
            Ok(None) => {}
            Err(_) => self.is_complete = false,
        }
    }

    /// Adds the next record in the order of time.
    pub(crate) fn add(&mut self, number: usize, record: &Record, span: Option<&SpanRecord>) {
        if let Some(span) = span {
            self.attributes(span);
        }
        if record.is_leftover() {
            return;
        }
        self.add_content(record);
        if let Some(error) = step_summary::failure(&record.payload) {
            let entry = named(&mut self.row.failures, &error.error_type);
            entry.count += 1;
            if entry.count == 1 {
                entry.message = text::one_line(&error.message, MAX_TEXT_COLUMNS);
            }
            if matches!(record.payload, Payload::Error(_)) || self.row.error.is_none() {
                self.row.error = Some(short(&error.error_type));
            }
        }
        if record.is_waiting() {
            self.row.is_waiting = true;
        } else if record.event_type() == EventType::LlmCall {
            self.row.is_waiting = false;
        }
        if let Some(usage) = record.usage() {
            self.row.tokens.add(usage);
        }
        let calls = match &record.payload {
            Payload::LlmCall { model, usage, .. } => {
                if !step_summary::failed(record) {
                    self.last_answered = Some(number);
                }
                let calls = named(&mut self.row.models, model);
                calls.tokens.add(usage);
                calls
            }
            Payload::ToolCall { tool_name, .. } => named(&mut self.row.tools, tool_name),
            Payload::RunStart { argv, .. } => {
                if !argv.is_empty() {
                    self.row.command = Some(text::one_line(&argv.join(" "), MAX_TEXT_COLUMNS));
                }
                return;
            }
            _ => return,
        };
        calls.calls += 1;
        if step_summary::failed(record) {
            calls.failed += 1;
            self.row.failed_calls += 1;
        }
        self.row.unknown_calls += u64::from(record.outcome() == Outcome::Unknown);
        let duration = StepSource::duration_of(record, span);
        if let Some(duration) = duration {
            calls.time_us = calls.time_us.saturating_add(duration);
            calls.latencies.add(duration);
        }
        self.row.retries += u64::from(record.meta.contains_key(ATTEMPT_OF));
    }

    /// Adds the kept content of the next record.
    fn add_content(&mut self, record: &Record) {
        let event_type = record.event_type();
        if !matches!(event_type, EventType::RunStart | EventType::RunEnd) {
            self.kinds.push(StepKind::from(event_type));
        }
        match &record.payload {
            // A run in progress has it last.
            Payload::RunStart { .. } => {
                let one_line = |said: &Value| text::one_line(&as_text(said), MAX_TEXT_COLUMNS);
                self.asked = record.question().map(prompt_summary).or(self.asked.take());
                self.row.prompt = record.question().map(one_line).or(self.row.prompt.take());
                self.own_answer = record.answer().map(one_line);
            }
            Payload::LlmCall { prompt, .. } if !prompt.is_null() => {
                let asked = self.asked.get_or_insert_with(|| prompt_summary(prompt));
                self.row.prompt.get_or_insert_with(|| short(asked));
            }
            Payload::ToolCall { args, tool_name, .. } if self.called.is_none() && !args.is_null() => {
                let arguments = value_summary::summarize(args);
                self.called = Some(format!("{} {arguments}", value_summary::label(tool_name)));
            }
            _ => {}
        }
    }

    /// Takes the answer of a call for the run's.
    pub(crate) fn set_answer(&mut self, record: &Record) {
        self.row.answer = answer(record);
    }

    /// Adds the tags of the run itself.
    pub(crate) fn add_tags(&mut self, tags: &Tags) {
        self.tags.extend(tags);
    }

    fn attributes(&mut self, span: &SpanRecord) {
        if self.row.session.is_none() {
            self.row.session = session(&span.attributes);
        }
        if !span.is_root() && span.attributes.keys().any(|key| tag_key(key).is_some()) {
            let mut tags = Tags::of_attributes(&span.attributes);
            tags.extend(&self.tags);
            self.tags = tags;
        }
    }

    /// The row of a run whose records were all added.
    pub(crate) fn finish(
        self,
        summary: &RunSummary,
        counted: Option<Counts>,
        open_calls: u64,
    ) -> FullReading {
        let mut row = self.row;
        let status = row.recorded_status;
        let tags = self.tags.iter().map(|(key, value)| (short(key), short(value)));
        row.tags = tags.collect();
        let asked = self.asked.filter(|asked| !asked.is_empty()).or(self.called);
        row.answer = self.own_answer.or(row.answer);
        row.subtitle = self.failure.or(asked.map(|asked| short(&asked)));
        row.model_calls.truncate(MAX_CALL_GROUPS);
        row.path = path_cells(&self.kinds);
        if status != RunStatus::Failed {
            // A failure that did not end the run.
            row.error = None;
        }
        let meta = summary.meta.as_ref().ok();
        let counts = match meta {
            // The metadata of a run that goes on is older than its spans.
            Some(meta) if status.is_open() || !meta.has_exact_counts() => counted.unwrap_or(meta.counts),
            Some(meta) => meta.counts,
            None => Counts::default(),
        };
        row.name = meta.and_then(|meta| meta.run_name.clone());
        row.started_us = summary.started().map(Timestamp::unix_microseconds);
        row.duration_us = meta.and_then(units::run_duration);
        row.is_trial = meta.is_some_and(|meta: &RunMeta| meta.gate().is_some());
        row.llm_calls = counts.llm_calls;
        row.tool_calls = counts.tool_calls;
        row.errors = counts.errors;
        row.loop_warnings = counts.loop_warnings;
        row.steps = self.kinds.len() as u64 + open_calls;
        row.is_waiting &= !status.is_open();
        row.problem = summary.problems().first().map(ToString::to_string);
        row.remarks = meta.map(recording_remarks).unwrap_or_default();
        FullReading {
            row,
            is_complete: self.is_complete,
        }
    }
}

/// The kinds in a few cells; of those that share one, the worst.
fn path_cells(kinds: &[StepKind]) -> Vec<StepKind> {
    if kinds.len() <= MAX_PATH_CELLS {
        return kinds.to_vec();
    }
    let severity = |kind: &StepKind| match kind {
        StepKind::Error => 4,
        StepKind::Loop => 3,
        StepKind::Llm => 2,
        StepKind::Tool => 1,
        StepKind::Run | StepKind::State | StepKind::Span => 0,
    };
    (0..MAX_PATH_CELLS)
        .filter_map(|cell| {
            let part =
                kinds.get(cell * kinds.len() / MAX_PATH_CELLS..(cell + 1) * kinds.len() / MAX_PATH_CELLS)?;
            part.iter().copied().max_by_key(severity)
        })
        .collect()
}

/// The text of a model call's answer; nothing when it only calls tools.
fn answer(record: &Record) -> Option<String> {
    let Payload::LlmCall { response, .. } = &record.payload else {
        return None;
    };
    let plain = response.as_str().map(str::to_owned);
    let messages = answer_messages(response);
    let said = messages.iter().flat_map(|message| &message.parts);
    let text = said.filter_map(|part| match part {
        MessagePart::Text(text) | MessagePart::Refusal(text) => Some(text.clone()),
        _ => None,
    });
    let text = text.chain(plain).find(|text| !text.trim().is_empty())?;
    Some(text::one_line(&text, MAX_TEXT_COLUMNS))
}

fn session(attributes: &Map<String, Value>) -> Option<String> {
    names::SESSION.iter().find_map(|key| {
        let value = as_text(attributes.get(*key)?);
        (!value.trim().is_empty()).then(|| short(&value))
    })
}

/// A string as it is, anything else as JSON.
fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn short(name: &str) -> String {
    text::one_line(name, MAX_TEXT_COLUMNS)
}

/// The entry of a name, or the one for all that are too many.
fn named<'a, Entry: Default>(entries: &'a mut BTreeMap<String, Entry>, name: &str) -> &'a mut Entry {
    let name = short(name);
    let is_further = entries.len() >= MAX_NAMES && !entries.contains_key(&name);
    entries
        .entry(if is_further { FURTHER.to_owned() } else { name })
        .or_default()
}

fn is_default<Value: Default + PartialEq>(value: &Value) -> bool {
    *value == Value::default()
}

/// Tokens under short names: they are kept of every run, and of each of its tools and models.
mod short_usage {
    use std::fmt;

    use serde::de::{IgnoredAny, MapAccess, Visitor};
    use serde::{Deserializer, Serializer};
    use tracer_sdk::format::Usage;

    type TokenCount = fn(&mut Usage) -> &mut Option<u64>;

    const PARTS: [(&str, TokenCount); 15] = [
        ("i", |usage| &mut usage.prompt_tokens),
        ("o", |usage| &mut usage.completion_tokens),
        ("t", |usage| &mut usage.total_tokens),
        ("r", |usage| &mut usage.cache_read_tokens),
        ("w", |usage| &mut usage.cache_write_tokens),
        ("z", |usage| &mut usage.reasoning_tokens),
        ("h", |usage| &mut usage.cache_write_1h_tokens),
        ("d", |usage| &mut usage.cache_read_audio_tokens),
        ("a", |usage| &mut usage.input_audio_tokens),
        ("g", |usage| &mut usage.input_image_tokens),
        ("v", |usage| &mut usage.input_video_tokens),
        ("A", |usage| &mut usage.output_audio_tokens),
        ("G", |usage| &mut usage.output_image_tokens),
        ("V", |usage| &mut usage.output_video_tokens),
        ("s", |usage| &mut usage.web_searches),
    ];

    pub(super) fn serialize<S: Serializer>(usage: &Usage, serializer: S) -> Result<S::Ok, S::Error> {
        let mut usage = *usage;
        let parts = PARTS.map(|(name, part)| (name, *part(&mut usage)));
        serializer.collect_map(parts.into_iter().filter_map(|(name, count)| Some((name, count?))))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Usage, D::Error> {
        deserializer.deserialize_map(ShortNames)
    }

    struct ShortNames;

    impl<'de> Visitor<'de> for ShortNames {
        type Value = Usage;

        fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str("tokens under short names")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut parts: A) -> Result<Usage, A::Error> {
            let mut usage = Usage::default();
            while let Some(name) = parts.next_key::<&str>()? {
                match PARTS.iter().find(|(known, _)| *known == name) {
                    Some((_, part)) => *part(&mut usage) = parts.next_value()?,
                    // Of a later version.
                    None => drop(parts.next_value::<IgnoredAny>()?),
                }
            }
            Ok(usage)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_tokens_have_short_names() {
        let kept = r#"{"n":2,"k":{"i":8,"o":3,"t":11,"r":4,"w":2,"z":1}}"#;
        let calls: CallTotals = serde_json::from_str(kept).unwrap();
        let tokens = Usage::new(8, 3).cache_read(4).cache_write(2).reasoning(1);
        assert_eq!((calls.calls, calls.tokens), (2, tokens));
        assert_eq!(serde_json::to_string(&calls).unwrap(), kept);
        let further = r#"{"n":2,"k":{"i":null,"t":11,"y":["of a later version"]}}"#;
        let calls: CallTotals = serde_json::from_str(further).unwrap();
        assert_eq!(serde_json::to_string(&calls).unwrap(), r#"{"n":2,"k":{"t":11}}"#);
    }

    #[test]
    fn statuses_and_kinds_are_kept_as_their_words() {
        for status in RunStatus::ALL {
            let row = RunRow {
                recorded_status: status,
                path: StepKind::ALL.to_vec(),
                ..RunRow::default()
            };
            let kept = serde_json::to_value(&row).unwrap();
            assert_eq!(kept["st"], status.as_str());
            assert_eq!(kept["p"], serde_json::json!(StepKind::ALL.map(StepKind::as_str)));
            assert_eq!(serde_json::from_value::<RunRow>(kept).unwrap(), row);
        }
        let of_format: RunRow = serde_json::from_str(r#"{"st":"error"}"#).unwrap();
        assert_eq!(of_format.recorded_status, RunStatus::Failed);
        assert!(serde_json::from_str::<RunRow>(r#"{"st":"lost"}"#).is_err());
    }

    #[test]
    fn path_keeps_the_worst_of_each_cell() {
        let mut kinds = vec![StepKind::Tool; 24];
        kinds[3] = StepKind::Error;
        let cells = path_cells(&kinds);
        assert_eq!((cells.len(), cells[1]), (MAX_PATH_CELLS, StepKind::Error));
        assert_eq!(path_cells(&kinds[..4]), kinds[..4]);
    }
}
