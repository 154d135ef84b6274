//! A baseline as text, read and written.

use serde::Deserialize;
use serde_json::Value;

use super::Baseline;
use super::error::{BaselineError, BaselineErrorCode};
use tracer_insight::profile::Metric;
use tracer_insight::signature::Signature;

/// The version that is written.
pub(crate) const SCHEMA_VERSION: &str = "0.3.1";

impl Baseline {
    /// The length of the largest file that is read as a baseline or as the report that one is made from, in bytes.
    pub const MAX_BYTES: u64 = 64 * 1024 * 1024;

    /// Reads a baseline of schema `0.2` or `0.3.x`, and refuses one whose lengths, ranges, signatures or digest do not
    /// hold. Files of other tools carry no digest and are read without.
    ///
    /// ```
    /// use tracer_gate::{Baseline, BaselineErrorCode};
    ///
    /// let error = Baseline::parse(b"version: 2").unwrap_err();
    /// assert_eq!(error.code, BaselineErrorCode::NotJson);
    /// ```
    ///
    /// # Errors
    ///
    /// [`BaselineError`] that says what is wrong and where.
    pub fn parse(text: &[u8]) -> Result<Self, BaselineError> {
        let head: BaselineVersion = from_json(text, BaselineErrorCode::NotJson)?;
        check_version(&head.schema_version)?;
        let baseline: Self = from_json(text, BaselineErrorCode::WrongShape)?;
        baseline.check()?;
        Ok(baseline)
    }

    /// The baseline as the text of its file: indented JSON and a newline.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// assert!(baseline.to_json().starts_with("{\n  \"schema_version\": \"0.3.1\","));
    /// ```
    #[must_use]
    pub fn to_json(&self) -> String {
        // Texts, finite numbers, lists and maps with texts for keys: nothing in them can fail to be JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The values of a metric, one for each run; `None` when the baseline does not know them. An old baseline knows
    /// those of its first run.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::{Metric, RunProfile};
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").record()); // its tokens are unknown
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.sample(&Metric::LlmCallCount), Some(vec![1.0]));
    /// assert_eq!(baseline.sample(&Metric::CostTokens), None);
    /// ```
    #[must_use]
    pub fn sample(&self, metric: &Metric) -> Option<Vec<f64>> {
        let Metric::ToolCalls(tool) = metric else {
            let sample = self
                .trial_sample
                .as_ref()
                .and_then(|sample| sample.metrics.get(&metric.to_string()));
            return sample
                .filter(|values| !values.is_empty())
                .cloned()
                .or_else(|| self.in_summary(metric).map(|value| vec![value]));
        };
        let calls = |signature: &Signature| {
            tracer_insight::profile::as_float(signature.tool_call_counts.get(tool).copied().unwrap_or(0))
        };
        match &self.trial_sample {
            Some(sample) => {
                let signatures = sample.signature_ids.iter().map(|id| sample.signatures.get(id));
                signatures.map(|signature| signature.map(calls)).collect()
            }
            None if self.tool_call_sequence.is_some() => Some(vec![calls(&self.first_signature())]),
            None => None,
        }
    }

    fn in_summary(&self, metric: &Metric) -> Option<f64> {
        let summary = &self.summary;
        match metric {
            Metric::StepCount => summary.total_events,
            Metric::LlmCallCount => summary.llm_calls,
            Metric::ToolCallCount => summary.tool_calls,
            Metric::ErrorCount => summary.errors,
            Metric::LoopWarningCount => summary.loop_warnings,
            Metric::LatencyMs => summary.duration_ms,
            Metric::CostTokens => summary.total_tokens,
            Metric::FailedCallCount | Metric::NotRunCallCount | Metric::CostUsd | Metric::ToolCalls(_) => {
                None
            }
        }
    }

    /// How many runs the baseline knows.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let baseline = Baseline::of_run(&RunProfile::new(&run.meta, run.records), "2026-01-01T00:00:00.000Z");
    /// assert_eq!(baseline.trials(), 1);
    /// ```
    #[must_use]
    pub fn trials(&self) -> u64 {
        self.trial_sample.as_ref().map_or(1, |sample| sample.trials)
    }

    /// The way that the first run went. Of an old baseline that knows only which tools there were, these in sorted
    /// order.
    pub(crate) fn first_signature(&self) -> Signature {
        let status = [Some(&self.final_status), self.summary.status.as_ref()];
        let status = status.into_iter().flatten().find(|status| !status.is_empty());
        Signature {
            event_type_sequence: self.event_type_sequence.clone(),
            final_status: status.cloned().unwrap_or_else(|| "unknown".to_owned()),
            llm_models_used: self.llm_models_used.clone(),
            tool_call_counts: self.tool_call_counts.clone(),
            tool_call_sequence: self
                .tool_call_sequence
                .clone()
                .unwrap_or_else(|| self.tool_path.clone()),
            tool_path: self.tool_path.clone(),
        }
    }
}

/// What is looked at first: a file of another version may have any form.
#[derive(Deserialize)]
struct BaselineVersion {
    #[serde(default)]
    schema_version: Value,
}

/// `0.2`, `0.2.0` and any `0.3.x`.
fn check_version(version: &Value) -> Result<(), BaselineError> {
    let refused = |what: &str| {
        let message = format!("schema_version: {what}; 0.2 and 0.3.x are");
        Err(BaselineError::new(BaselineErrorCode::UnsupportedVersion, message))
    };
    let Some(text) = version.as_str() else {
        return refused("is not a text that is understood");
    };
    let parts: Option<Vec<u32>> = text
        .split('.')
        .map(|part| {
            part.bytes()
                .all(|byte| byte.is_ascii_digit())
                .then(|| part.parse().ok())?
        })
        .collect();
    match parts.as_deref() {
        Some([0, 2] | [0, 2, 0] | [0, 3, _]) => Ok(()),
        // A version number is shown; anything else may be of any length.
        Some([_, ..]) => refused(&format!("{text} is not understood")),
        _ => refused("is not a version number that is understood"),
    }
}

/// Reads a JSON object; the error says where and what belongs there, and quotes nothing.
pub(super) fn from_json<'de, T: Deserialize<'de>>(
    text: &'de [u8],
    code: BaselineErrorCode,
) -> Result<T, BaselineError> {
    // A list of the right length would do for a structure.
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(BaselineError::new(
            BaselineErrorCode::NotJson,
            "the file is not a JSON object",
        ));
    }
    serde_json::from_slice(text).map_err(|error| {
        let reported = error.to_string();
        let what = if reported.starts_with("missing field") {
            reported.split(" at line").next().unwrap_or_default().to_owned()
        } else if let Some((_, expected)) = reported.rsplit_once(", expected ") {
            format!(
                "expected {}",
                expected.split(" at line").next().unwrap_or_default()
            )
        } else {
            "is not what belongs there".to_owned()
        };
        let (line, column) = (error.line(), error.column());
        BaselineError::new(code, format!("line {line}, column {column}: {what}"))
    })
}
