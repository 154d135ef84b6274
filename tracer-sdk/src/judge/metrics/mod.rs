//! What one run did, in numbers and findings: all that a gate judges a trial by (`spec/gate.md`, section 1).

mod gather;
mod name;

#[cfg(test)]
mod tests;

pub use name::Metric;

use crate::format::{Counts, Record, RunStatus, TraceId};

use super::compare::CallList;
use super::signature::Signature;

/// What one run did. Everything is counted from the projected records, never taken from what `meta.json` says; what is
/// not known is `None`, never zero.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use tracer_sdk::judge::RunMetrics;
///
/// let run = recorded(|| {
///     tracer_sdk::tool_call("search").record()?;
///     tracer_sdk::llm_call("gpt-5").record() // does not tell its tokens
/// });
/// let metrics = RunMetrics::of(&run.meta, run.records());
/// assert_eq!((metrics.step_count, metrics.counts.tool_calls), (2, 1));
/// assert_eq!((metrics.cost_tokens, metrics.calls_without_tokens), (None, 1));
/// ```
#[derive(Debug, Clone)]
pub struct RunMetrics {
    /// The run.
    pub trace_id: TraceId,
    /// Its label.
    pub run_name: Option<String>,
    /// How it ended: `error` when its root or its metadata says so, `running` when it has no end.
    pub status: RunStatus,
    /// How many steps it took: records other than `RUN_START`, `RUN_END` and `UNKNOWN`, since structure is not a step.
    pub step_count: u64,
    /// Model calls, tool calls, errors and loop warnings.
    pub counts: Counts,
    /// The tokens of all model calls; unknown when one of them does not tell.
    pub cost_tokens: Option<u64>,
    /// How many model calls do not tell their tokens.
    pub calls_without_tokens: u64,
    /// How long it took, in milliseconds.
    pub latency_ms: Option<u64>,
    /// The way that it went.
    pub signature: Signature,
    /// Its model and tool calls, in order.
    pub calls: CallList,
    /// Calls with the same arguments that came again and again, found in the trace itself.
    pub repeats: Vec<RepeatedCalls>,
    /// Guardrails that stopped it, whether or not the program went on.
    pub guardrail_stops: Vec<GuardrailStop>,
    /// Its `ERROR` records that tell of a guardrail, whole.
    pub guardrail_events: Vec<Record>,
    /// Where `meta.json` tells otherwise than the records.
    pub mismatches: Vec<CountMismatch>,
}

impl RunMetrics {
    /// The value of a numeric metric; `None` when it is not known.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::{Metric, RunMetrics};
    ///
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// let metrics = RunMetrics::of(&run.meta, run.records());
    /// assert_eq!(metrics.value(&Metric::ToolCallCount), Some(1.0));
    /// assert_eq!(metrics.value(&Metric::ToolCalls("search".to_owned())), Some(1.0));
    /// ```
    #[must_use]
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        let known = match metric {
            Metric::StepCount => self.step_count,
            Metric::ToolCallCount => self.counts.tool_calls,
            Metric::CostTokens => self.cost_tokens?,
            Metric::LatencyMs => self.latency_ms?,
            Metric::LlmCallCount => self.counts.llm_calls,
            Metric::ErrorCount => self.counts.errors,
            Metric::LoopWarningCount => self.counts.loop_warnings,
            Metric::ToolCalls(tool) => self.signature.tool_call_counts.get(tool).copied().unwrap_or(0),
        };
        Some(as_float(known))
    }

    /// Whether the run looped: the same calls with the same arguments again and again, or a warning that it wrote.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::RunMetrics;
    ///
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// assert!(!RunMetrics::of(&run.meta, run.records()).has_loops());
    /// ```
    #[must_use]
    pub fn has_loops(&self) -> bool {
        !self.repeats.is_empty() || self.counts.loop_warnings > 0
    }
}

/// Counts stay exact up to 2⁵³, far beyond what a run can have.
#[expect(clippy::cast_precision_loss, reason = "see above")]
pub(super) fn as_float(count: u64) -> f64 {
    count as f64
}

/// A block of calls with the same arguments that was repeated at once, whatever else was recorded in between.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use tracer_sdk::judge::RunMetrics;
///
/// let run = recorded(|| {
///     for attempt in 0..4 {
///         tracer_sdk::tool_call("search").args(&"refunds").record()?;
///         tracer_sdk::state(&attempt).record()?;
///     }
///     Ok(())
/// });
/// let repeats = RunMetrics::of(&run.meta, run.records()).repeats;
/// assert_eq!((repeats[0].pattern.as_slice(), repeats[0].repetitions), (&["search".to_owned()][..], 4));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RepeatedCalls {
    /// The names of the calls in the block; of a long block the first ones.
    pub pattern: Vec<String>,
    /// How many calls the block has.
    pub pattern_length: u64,
    /// How often it came in a row.
    pub repetitions: u64,
    /// The step at which it began, from 1.
    pub first_step: u64,
    /// The step at which it ended.
    pub last_step: u64,
}

/// A guardrail that stopped a run.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// use tracer_sdk::judge::RunMetrics;
/// use tracer_sdk::{Guardrails, Run, llm_call};
///
/// let run = Run::new("no calls").config(&config).guardrails(Guardrails::new().max_llm_calls(0)).start();
/// let directory = run.dir().unwrap();
/// let _ignored = llm_call("gpt-5").record();
/// run.finish();
/// let run = tracer_sdk::read::open_run(&directory)?;
/// let stops = RunMetrics::of(&run.meta, run.records()).guardrail_stops;
/// assert_eq!(stops[0].error_type, "GuardrailExceeded");
/// # Ok::<(), tracer_sdk::read::InvalidRun>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GuardrailStop {
    /// The record that tells it.
    pub event_id: String,
    /// The class of its error: `GuardrailExceeded`, `LoopAbort`.
    pub error_type: String,
}

/// Where `meta.json` tells otherwise than the records; the records count.
///
/// ```
/// use tracer_sdk::judge::CountMismatch;
///
/// let mismatch = CountMismatch { field: "counts.tool_calls", told: "0".to_owned(), found: "7".to_owned() };
/// assert_eq!(mismatch.to_string(), "meta.json says counts.tool_calls is 0, the records give 7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountMismatch {
    /// The field of `meta.json`.
    pub field: &'static str,
    /// What it says.
    pub told: String,
    /// What the records give.
    pub found: String,
}

impl std::fmt::Display for CountMismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { field, told, found } = self;
        write!(
            formatter,
            "meta.json says {field} is {told}, the records give {found}"
        )
    }
}
