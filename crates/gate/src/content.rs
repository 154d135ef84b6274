//! Content of a run, for the checks of arguments, answers and outputs.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracer_insight::conversation::embedded_json;
use tracer_insight::last_answer;
use tracer_insight::profile::RunProfile;
use tracer_sdk::format::names::markers;
use tracer_sdk::format::{Payload, Record, RunMeta};

use tracer_insight::marked_text::MarkedText;

/// A run with everything that it recorded, and access to what its trial left.
pub struct RunContent<'a> {
    /// Its metadata.
    pub meta: &'a RunMeta,
    /// Its records, in order.
    pub records: &'a [Record],
    /// The attributes of the span of each record, which may have the tools that a model was offered; empty where it has none.
    pub attributes: &'a [Map<String, Value>],
    /// Its profile.
    pub profile: &'a RunProfile,
    /// The outputs of its trial.
    pub trial: &'a dyn TrialOutput,
}

/// Outputs of a trial other than its run, and the commands that judge them.
pub trait TrialOutput {
    /// Standard output, or the reason why there is none.
    fn standard_output(&self) -> Result<String, String> {
        Err("the standard output of a recorded run is not kept".to_owned())
    }

    /// Text of a file of its folder, or the reason why there is none.
    fn file(&self, _path: &str) -> Result<String, String> {
        Err("files of a recorded run are not kept".to_owned())
    }

    /// Verdict of a command that reads `input`.
    fn ask(&self, _command: &[String], _input: &str) -> Finding {
        Finding::unknown("commands are run by tracer run and tracer assert")
    }
}

/// The output of a run that left nothing but its records.
pub struct NoOutput;

impl TrialOutput for NoOutput {}

/// Outcome of an invariant in one run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// The run keeps the check; null where that is not known.
    pub outcome: Option<bool>,
    /// The reason why the run breaks it, or why the outcome is unknown; of a run that keeps it a remark, or
    /// nothing. Empty where the failure or the missing spans of the trial say it.
    pub reason: MarkedText,
    /// Score that a command gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
}

impl Finding {
    /// Outcome of a check that is kept.
    #[must_use]
    pub fn kept() -> Self {
        Self {
            outcome: Some(true),
            ..Self::default()
        }
    }

    /// Outcome of a check that is broken. A text counts as a value from elsewhere.
    #[must_use]
    pub fn broken(reason: impl Into<MarkedText>) -> Self {
        Self {
            outcome: Some(false),
            reason: reason.into(),
            score: None,
        }
    }

    /// Outcome that the run does not show.
    #[must_use]
    pub fn unknown(reason: impl Into<MarkedText>) -> Self {
        Self {
            reason: reason.into(),
            ..Self::default()
        }
    }

    /// Outcome of a call whose arguments the run has in part, or not at all.
    pub(crate) fn of_altered_arguments() -> Self {
        Self::unknown("its arguments were not recorded in full")
    }

    /// The first of several that is broken, else the first that is unknown.
    pub(crate) fn worst(findings: impl Iterator<Item = Self>) -> Self {
        let worst = findings.min_by_key(|finding| match finding.outcome {
            Some(false) => 0,
            None => 1,
            Some(true) => 2,
        });
        worst.unwrap_or_else(Self::kept)
    }

    /// Outcome of a property that a missing span may break.
    pub(crate) fn unless_missing(run: &RunProfile, is_kept: bool, reason: MarkedText) -> Self {
        if is_kept && run.missing.is_some() {
            return Self::default();
        }
        Self {
            outcome: Some(is_kept),
            reason,
            score: None,
        }
    }
}

impl RunContent<'_> {
    /// Text of the last answer of a model.
    pub(crate) fn answer(&self) -> Option<String> {
        last_answer::text(self.records)
    }

    /// The calls of a tool: place of the record, and arguments.
    pub(crate) fn calls_of(&self, tool: &str) -> impl Iterator<Item = (usize, &Value)> {
        let records = self.records.iter().enumerate();
        records.filter_map(move |(place, record)| match &record.payload {
            Payload::ToolCall { tool_name, args, .. } if tool_name == tool && !record.is_leftover() => {
                Some((place, args))
            }
            _ => None,
        })
    }

    /// Finding on all calls of a tool by those on each; there may be more of them than records: a strict reading may find
    /// them.
    pub(crate) fn finding_on_calls(&self, tool: &str, findings: Vec<Finding>) -> Finding {
        let called = self.profile.signature.tools.iter();
        let may_be_lost = self.profile.missing.is_some()
            || self.profile.possible_tools.contains_key(tool)
            || called.filter(|called| *called == tool).count() > findings.len();
        let lost =
            may_be_lost.then(|| Finding::unknown(format!("calls of {tool} may be missing from the trace")));
        let findings = (1..).zip(findings).map(|(call, finding)| Finding {
            reason: format!("call {call} of {tool}: {}", finding.reason.text()).into(),
            ..finding
        });
        let worst = Finding::worst(findings.chain(lost));
        if worst.outcome == Some(true) {
            return Finding::kept();
        }
        worst
    }

    /// The run as one JSON document: `{run, events, output}`.
    pub(crate) fn json(&self, output: Option<&str>) -> String {
        serde_json::json!({"run": self.meta, "events": self.records, "output": output}).to_string()
    }
}

/// The value that a text holds as JSON, or the text.
pub(crate) fn parsed(value: &Value) -> Value {
    let embedded = value.as_str().and_then(embedded_json);
    embedded.unwrap_or_else(|| value.clone())
}

/// Returns whether recording replaced or cut a part of a value.
pub(crate) fn is_altered(value: &Value) -> bool {
    match value {
        Value::String(text) => is_altered_text(text),
        Value::Array(items) => items.iter().any(is_altered),
        Value::Object(members) => members
            .iter()
            .any(|(key, value)| is_altered_text(key) || is_altered(value)),
        _ => false,
    }
}

/// Returns whether recording replaced or cut a part of a text.
pub(crate) fn is_altered_text(text: &str) -> bool {
    [
        markers::REDACTED,
        markers::TRUNCATED,
        markers::OMITTED,
        markers::UNSERIALIZABLE,
    ]
    .iter()
    .any(|marker| text.contains(marker))
}
