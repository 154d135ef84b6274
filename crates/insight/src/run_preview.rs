//! [`RunPreview`]: a run by its first megabyte, and for failures its last one: steps, tokens, and a subtitle.

use std::fs;

use serde::Serialize;
use tracer_runs::{RunSummary, read_log_part, spans_to_events};
use tracer_sdk::format::{
    ErrorPayload, EventType, Payload, Record, SPANS_FILE, StoredTime, Timestamp, Usage,
};

use crate::failure::is_exit_code;
use crate::status::RunStatus;
use crate::step_kind::StepKind;
use crate::step_summary::prompt_summary;
use crate::value_summary;
use crate::{loops, step_summary, steps, text};

/// Bytes that are read of each end of a log.
const MAX_BYTES: u64 = 1024 * 1024;
/// Cells of [`RunPreview::path`].
const MAX_PATH_CELLS: usize = 12;

/// The part of a run's steps that a list of runs reads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct RunPreview {
    /// Number of steps; a lower bound when not the whole run was read.
    pub steps: u64,
    /// The tokens of its model calls, when they say; a lower bound when not the whole run was read.
    pub tokens: Option<u64>,
    /// Kinds of these tokens, in words: `300 cached, 12 for reasoning`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub token_shares: Option<String>,
    /// Set when the whole run was read.
    pub is_whole: bool,
    /// Distinguishes it from other runs of its name: why it failed, what it repeated, what it was asked.
    pub subtitle: Option<String>,
    /// The kinds of its steps in the order of time, in at most twelve cells; of its first steps, when not the whole run was
    /// read.
    pub path: Vec<StepKind>,
}

impl RunPreview {
    /// Reads the ends of the log of a run; `None` when they cannot be read, or hold no whole span.
    pub fn read(run: &RunSummary) -> Option<Self> {
        let directory = &run.directory.path;
        let first = read_log_part(directory, 0, MAX_BYTES).ok()?;
        if first.spans.is_empty() && !first.is_to_end {
            return None;
        }
        let last = if first.is_to_end {
            None
        } else {
            let length = fs::symlink_metadata(directory.join(SPANS_FILE)).ok()?.len();
            let from = length.saturating_sub(MAX_BYTES).max(first.next_offset);
            let part = read_log_part(directory, from, MAX_BYTES).ok()?;
            Some(spans_to_events(&part.spans))
        };
        let records = spans_to_events(&first.spans);
        Some(Self::from_records(run.status(), &records, last.as_deref()))
    }

    /// The preview of a run that begins with `records`. Of a long run `last` are the last ones: what ended it is there, and
    /// a call that failed before was recovered.
    fn from_records(status: RunStatus, records: &[Record], last: Option<&[Record]>) -> Self {
        let read = |records: &[Record]| {
            let mut reading = PreviewReading::of(status);
            for record in records {
                reading.add(record);
            }
            reading
        };
        let mut reading = read(records);
        let Some(last) = last.map(read) else {
            return reading.finish();
        };
        (reading.error, reading.is_exit_code) = (last.error, last.is_exit_code);
        reading.failed_call = last.failed_call;
        reading.is_looped_whole = false;
        Self {
            is_whole: false,
            ..reading.finish()
        }
    }
}

/// Steps of a run that looped among which the repeated calls are looked for.
const MAX_LOOPED_STEPS: usize = 10_000;

/// The preview of a run that is read from its first record to its last one, whatever its length.
///
/// ```
/// use tracer_insight::run_preview::PreviewReading;
/// use tracer_insight::status::RunStatus;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").args("refunds").record());
/// let mut reading = PreviewReading::of(RunStatus::Ok);
/// for record in run.records {
///     reading.add(&record);
/// }
/// let preview = reading.finish();
/// assert_eq!((preview.steps, preview.is_whole), (1, true));
/// assert_eq!(preview.subtitle.as_deref(), Some("search refunds"));
/// ```
#[derive(Debug, Clone)]
pub struct PreviewReading {
    status: RunStatus,
    tokens: Usage,
    kinds: Vec<StepKind>,
    /// The prompt of the first model call that has one.
    prompt: Option<String>,
    /// The first tool call that has arguments.
    arguments: Option<String>,
    error: Option<String>,
    /// The error is the exit code of a recorded command: an agent that failed last says more.
    is_exit_code: bool,
    /// The error of the agent that failed last, and when it ended.
    failed_agent: Option<(String, Timestamp)>,
    root: Option<String>,
    failed_call: Option<String>,
    /// The first records of a run that looped.
    looped: Vec<Record>,
    /// `true` when these are all of its records: if not, it may have repeated calls more often.
    is_looped_whole: bool,
}

impl PreviewReading {
    /// Begins with the run's status, which decides what distinguishes the run from others.
    #[must_use]
    pub fn of(status: RunStatus) -> Self {
        Self {
            status,
            tokens: Usage::default(),
            kinds: Vec::new(),
            prompt: None,
            arguments: None,
            error: None,
            is_exit_code: false,
            failed_agent: None,
            root: None,
            failed_call: None,
            looped: Vec::new(),
            is_looped_whole: true,
        }
    }

    /// Adds the next record, which began then, without its content, where [`PreviewReading::wants`] none of it.
    pub fn add_step(&mut self, event_type: EventType, start: Option<Timestamp>) {
        // The program went on after a failure that a call came after.
        if StepKind::from(event_type).is_call() {
            self.failed_agent.take_if(|(_, end)| Some(*end) < start);
        }
        if !matches!(event_type, EventType::RunStart | EventType::RunEnd) {
            self.kinds.push(StepKind::from(event_type));
        }
    }

    /// Returns whether the content of a record of this type that did not fail matters, after those that were added.
    #[must_use]
    pub fn wants(&self, event_type: EventType) -> bool {
        match event_type {
            EventType::LlmCall => self.prompt.is_none(),
            EventType::ToolCall => self.arguments.is_none(),
            EventType::RunStart | EventType::RunEnd | EventType::Error => true,
            EventType::StateUpdate | EventType::LoopWarning | EventType::Unknown => false,
        }
    }

    /// Adds the next record.
    pub fn add(&mut self, record: &Record) {
        if record.is_leftover() {
            return;
        }
        let start = record.ts.parse::<StoredTime>().ok();
        self.add_step(record.event_type(), start.map(|start| start.instant()));
        if let Some(usage) = record.usage() {
            self.tokens.add(usage);
        }
        match &record.payload {
            // A run in progress has it last.
            Payload::RunStart { .. } => {
                self.root = Some(record.event_id.clone());
                self.prompt = record.question().map(prompt_summary).or(self.prompt.take());
            }
            Payload::LlmCall { prompt, .. } if self.prompt.is_none() && !prompt.is_null() => {
                self.prompt = Some(prompt_summary(prompt));
            }
            Payload::ToolCall { args, tool_name, .. } if self.arguments.is_none() && !args.is_null() => {
                self.arguments = Some(call_input(tool_name, args));
            }
            _ => {}
        }
        if self.status == RunStatus::Failed {
            match &record.payload {
                Payload::Error(error) => {
                    self.is_exit_code = is_exit_code(error);
                    self.error = Some(error_words(error));
                }
                payload => {
                    if let Some(error) = step_summary::failure(payload) {
                        self.failed_call = Some(error_words(error));
                        if record.event_type() == EventType::Unknown && record.parent_id == self.root {
                            self.failed_agent = record.end.map(|end| (error_words(error), end));
                        }
                    }
                }
            }
        }
        if self.status == RunStatus::Looped {
            self.is_looped_whole = self.looped.len() < MAX_LOOPED_STEPS;
            if self.is_looped_whole {
                self.looped.push(record.clone());
            }
        }
    }

    /// The preview of the records that were added.
    #[must_use]
    pub fn finish(self) -> RunPreview {
        let special = match self.status {
            RunStatus::Failed => {
                let agent = self.failed_agent.filter(|_| self.is_exit_code);
                let agent = agent.map(|(words, _)| words);
                agent.or(self.error).or(self.failed_call)
            }
            RunStatus::Looped => {
                let more = if self.is_looped_whole { "" } else { "+" };
                repetition(&self.looped).map(|repeated| repeated + more)
            }
            _ => None,
        };
        RunPreview {
            steps: self.kinds.len() as u64,
            tokens: self.tokens.total_tokens,
            token_shares: step_summary::token_shares(&self.tokens),
            is_whole: true,
            subtitle: special.or_else(|| input(self.prompt, self.arguments)),
            path: path_cells(&self.kinds),
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

/// `TimeoutError: no answer`.
fn error_words(error: &ErrorPayload) -> String {
    format!(
        "{}: {}",
        value_summary::label(&error.error_type),
        value_summary::label(&error.message)
    )
}

/// The pattern that the run repeated.
fn repetition(records: &[Record]) -> Option<String> {
    let sources: Vec<steps::StepSource> = records
        .iter()
        .filter(|record| !matches!(record.payload, Payload::RunStart { .. } | Payload::RunEnd { .. }))
        .enumerate()
        .map(|(index, record)| steps::StepSource::read(index + 1, record.clone(), None))
        .collect();
    let steps = steps::steps(&sources, None);
    let loops = loops::find(&steps);
    let found = loops.iter().find(|found| found.likeness.is_loop())?;
    Some(found.repeated()).filter(|repeated| !repeated.is_empty())
}

/// `search query=refund`.
fn call_input(tool: &str, arguments: &serde_json::Value) -> String {
    format!(
        "{} {}",
        value_summary::label(tool),
        value_summary::summarize(arguments)
    )
}

/// Input of a run: its first prompt, or else the first arguments.
fn input(prompt: Option<String>, arguments: Option<String>) -> Option<String> {
    let input = prompt.filter(|prompt| !prompt.is_empty()).or(arguments)?;
    Some(text::one_line(&input, 200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{Sample, error, failed_tool, llm, loop_warning, state, tool};
    use serde_json::json;
    use tracer_runs::RunDirectory;

    fn subtitle_of(status: RunStatus, sample: &Sample) -> Option<String> {
        RunPreview::from_records(status, &sample.records(), None).subtitle
    }

    #[test]
    fn subtitle_is_the_first_input() {
        let search = || tool("search", &json!({"query": "refund"}), &json!({}));
        let asked = Sample::new()
            .step(state(&json!({"phase": 1})))
            .step(search())
            .step(llm("Where is my refund?", "Dear Ada", Usage::default()));
        assert_eq!(
            subtitle_of(RunStatus::Ok, &asked).as_deref(),
            Some("\"Where is my refund?\"")
        );
        let called = Sample::new().step(search());
        assert_eq!(
            subtitle_of(RunStatus::Running, &called).as_deref(),
            Some("search query=refund")
        );
        assert_eq!(subtitle_of(RunStatus::Ok, &Sample::new()), None);
    }

    #[test]
    fn subtitle_of_a_failure_or_a_loop() {
        let search = || tool("search", &json!({}), &json!({}));
        let failed = Sample::new()
            .step(llm("Draft", "Dear Ada", Usage::default()))
            .step(failed_tool(
                "refund_api",
                &json!({}),
                error("TimeoutError", "no answer"),
            ))
            .on_root(Payload::Error(error("AgentError", "gave up\nafter 3 tries")));
        assert_eq!(
            subtitle_of(RunStatus::Failed, &failed).as_deref(),
            Some("AgentError: gave up after 3 tries")
        );
        let looped = Sample::new()
            .step(search())
            .step(search())
            .step(search())
            .step(loop_warning(&[1, 2, 3]))
            .step(search());
        assert_eq!(
            subtitle_of(RunStatus::Looped, &looped).as_deref(),
            Some("search ×4")
        );
        let first = looped.records();
        let of_many = RunPreview::from_records(RunStatus::Looped, &first, Some(&first));
        assert_eq!(of_many.subtitle.as_deref(), Some("search ×4+"));
        let without_evidence = Sample::new().step(search()).step(loop_warning(&[77, 78]));
        assert_eq!(
            subtitle_of(RunStatus::Looped, &without_evidence).as_deref(),
            Some("TOOL_CALL:search_kb ×3"),
            "as the warning has it"
        );
    }

    #[test]
    fn subtitle_of_a_long_failure_is_from_its_end() {
        let first = Sample::new()
            .step(llm("Draft", "Dear Ada", Usage::default()))
            .step(failed_tool("search", &json!({}), error("Busy", "try again")));
        let last = Sample::new().on_root(Payload::Error(error("AgentError", "gave up")));
        let failed = |last: &Sample| {
            RunPreview::from_records(RunStatus::Failed, &first.records(), Some(&last.records())).subtitle
        };
        assert_eq!(failed(&last).as_deref(), Some("AgentError: gave up"));
        // Where the end says nothing, no other failure is the reason.
        assert_eq!(failed(&Sample::new()).as_deref(), Some("\"Draft\""));
    }

    fn log(tools: usize) -> String {
        let id = |number: usize| format!("{number:016x}");
        let span = |number: usize, parent: Option<usize>, events: serde_json::Value| {
            json!({
                "trace_id": "10000000000000000000000000000001", "span_id": id(number), "parent_span_id": parent.map(id),
                "name": "search", "kind": "INTERNAL", "start_time": "2026-01-01T00:00:01Z", "end_time": "2026-01-01T00:00:02Z",
                "duration_ms": 1000, "attributes": if parent.is_some() { json!({"tracer.tool_name": "search"}) } else { json!({}) },
                "events": events, "status_code": "ERROR", "status_description": "",
            })
            .to_string() + "\n"
        };
        let failure = json!([{"name": "exception", "timestamp": "2026-01-01T00:00:02Z", "attributes": {
            "tracer.error_type": "AgentError", "tracer.error_message": "gave up"}}]);
        let tools: String = (2..tools + 2)
            .map(|number| span(number, Some(1), json!([])))
            .collect();
        tools + &span(1, None, failure)
    }

    #[test]
    fn the_end_of_a_long_log_is_read_too() {
        let trace_id = "10000000000000000000000000000001";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(trace_id);
        fs::create_dir(&path).unwrap();
        let meta = json!({
            "spec_version": "0.2.0", "trace_id": trace_id, "run_name": "agent", "started_at": "2026-01-01T00:00:00Z",
            "ended_at": "2026-01-01T00:00:02Z", "duration_ms": 2000, "status": "error",
            "counts": {"llm_calls": 0, "tool_calls": 1, "errors": 1, "loop_warnings": 0},
        });
        fs::write(path.join("meta.json"), meta.to_string()).unwrap();
        let directory = RunDirectory {
            trace_id: trace_id.parse().unwrap(),
            path,
        };
        for tools in [1, 10_000] {
            fs::write(directory.path.join(SPANS_FILE), log(tools)).unwrap();
            let preview = RunPreview::read(&directory.clone().read_summary()).unwrap();
            assert_eq!(preview.is_whole, tools == 1);
            assert!((1..10_000).contains(&preview.steps), "{}", preview.steps);
            assert_eq!(preview.subtitle.as_deref(), Some("AgentError: gave up"));
        }
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
