//! [`Lineage`]: where a value came from: the results and messages that a model had before it used the value.
//!
//! A source is only what certainly was one: a part of the recorded input of the call that asked for the value. Content
//! that the model wrote itself is none, nor is the result of a tool whose arguments had the value already. "Made up" is
//! said only where all inputs before are recorded whole; anything less is "not found", with the reason.

mod dates;
mod gap;
mod needle;
mod numbers;
mod reader;
#[cfg(test)]
mod tests;
mod words;

use serde::Serialize;
use serde_json::Map;
use tracer_runs::RecordError;
use tracer_sdk::format::TraceId;

use crate::run_steps::RunSteps;
pub use reader::LineageReader;

/// The origin of a value of a run.
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
pub struct Lineage {
    /// The version of the trace format.
    #[schemars(schema_with = "crate::schema::spec_version")]
    pub spec_version: &'static str,
    /// The run.
    #[schemars(with = "String")]
    pub run_id: TraceId,
    /// The value.
    pub value: String,
    /// The answer in a word.
    pub verdict: LineageVerdict,
    /// The answer in a sentence.
    pub sentence: String,
    /// The first call that was passed the value, or the step that was asked for.
    pub used_by: Option<ValuePlace>,
    /// The model call whose answer had it.
    pub asked_by: Option<ValuePlace>,
    /// Its sources, the nearest first.
    pub sources: Vec<ValuePlace>,
    /// Places that have it, or something that it is a part of, and are not shown to be its source, the nearest first.
    pub candidates: Vec<ValuePlace>,
    /// Number of further places.
    pub more: u64,
    /// Why nothing is certain, a sentence each.
    pub limits: Vec<String>,
}

tracer_sdk::words! {
    /// An answer to the question where a value came from.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum LineageVerdict in tracer_insight::lineage {
        /// It has sources.
        Found = "found",
        /// It is in no input before the call that asked for it, and all of them are recorded.
        MadeUp = "made_up",
        /// No source is found, and there may be one.
        NotFound = "not_found",
        /// It is in too many places, or too short, to have a source.
        Common = "common",
        /// Nothing that was recorded has it.
        Absent = "absent",
    }
}

tracer_sdk::words! {
    /// A kind of place that a value may be in.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum PlaceKind in tracer_insight::lineage {
        /// Arguments or question of the run.
        RunInput = "run_input",
        /// Instructions of a model call.
        SystemPrompt = "system_prompt",
        /// A message of the user.
        UserMessage = "user_message",
        /// A message of the model from before the run.
        EarlierAnswer = "earlier_answer",
        /// Definition of a tool.
        ToolDefinition = "tool_definition",
        /// Result of a tool call.
        ToolResult = "tool_result",
        /// A state of the agent.
        State = "state",
        /// Answer of a model call.
        Answer = "answer",
        /// Arguments of a tool call.
        Arguments = "arguments",
    }
}

tracer_sdk::words! {
    /// The way in which a place has a value; of two, the greater one is better evidence.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum ValueMatch in tracer_insight::lineage {
        /// As a part of something longer, or in one of two readings: no evidence.
        Part = "part",
        /// In another notation: a number, a date, other case or white space.
        Normalised = "normalised",
        /// As it was given.
        Verbatim = "verbatim",
    }
}

/// A place that has a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ValuePlace {
    /// Its kind.
    pub kind: PlaceKind,
    /// Number of the step, of messages of the call that sent them first; null for the run's own input.
    pub step: Option<usize>,
    /// ID of its record.
    pub event_id: String,
    /// The tool or the model.
    pub name: String,
    /// The way in which the value is there.
    pub found: ValueMatch,
    /// The place in words: `the result of #3 search_kb, written otherwise`.
    pub words: String,
}

impl Lineage {
    /// Looks for the origin of a value, as the step with a number used it; else as the first call that it was passed to,
    /// or the first answer that has it. `None` where the run has no such step.
    ///
    /// # Errors
    ///
    /// [`RecordError`]: the log cannot be read.
    pub fn of_run(run: &RunSteps, value: &str, step: Option<usize>) -> Result<Option<Self>, RecordError> {
        if step.is_some_and(|step| step == 0 || step > run.len()) {
            return Ok(None);
        }
        let mut reader = LineageReader::new(value);
        if let Some(start) = run.start()? {
            reader.take(0, &start, &Map::new());
        }
        for number in 1..=step.unwrap_or(run.len()) {
            if let Some((source, span)) = run.read_step(number)? {
                let attributes = span.map(|span| span.attributes).unwrap_or_default();
                reader.take(number, &source.record, &attributes);
            }
            if step.is_none() && reader.is_passed() {
                break;
            }
        }
        Ok(Some(reader.finish(run.directory.trace_id, step)))
    }
}
