//! Profile of one run: numbers and findings.
//!
//! All that a gate judges a trial by (gate, *Evidence*).

mod bounds;
mod gather;
mod missing;
mod name;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use crate::repeats::RepeatedCalls;
pub use bounds::Bounds;
pub use missing::MissingSpans;
pub use name::{METRICS, Metric, MetricSpec, MetricUnit};

use tracer_runs::RunStatus;
use tracer_sdk::format::{Counts, RecordedStatus, Timestamp, TraceId, Usage};
use tracer_sdk::prices::{CallGroups, CostSum, Prices};

use crate::calls::CallList;
use crate::signature::Signature;

/// Profile of one run. Everything is counted from the projected records, never taken from what `meta.json` says; an
/// unknown value is `None`, never zero.
///
/// ```
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     tracer_sdk::tool_call("search").record()?;
///     tracer_sdk::llm_call("gpt-5").record() // its tokens are unknown
/// });
/// let metrics = RunProfile::new(&run.meta, run.records);
/// assert_eq!((metrics.step_count, metrics.counts.tool_calls), (2, 1));
/// assert_eq!((metrics.cost_tokens, metrics.calls_without_tokens), (None, 1));
/// ```
#[derive(Debug, Clone)]
pub struct RunProfile {
    /// The run.
    pub trace_id: TraceId,
    /// Its label.
    pub run_name: Option<String>,
    /// Status of the run: `error` when its root or its metadata says so, `running` when it has no end.
    pub status: RecordedStatus,
    /// The status of the run in the words that every list uses; a run without an end is taken to be running.
    pub run_status: RunStatus,
    /// Number of steps: records other than `RUN_START`, `RUN_END` and `UNKNOWN`, since structure is not a step.
    pub step_count: u64,
    /// Model calls, tool calls, errors and loop warnings.
    pub counts: Counts,
    /// The tokens of all model calls; unknown when those of one call are.
    pub cost_tokens: Option<u64>,
    /// Model calls whose tokens are unknown.
    pub calls_without_tokens: u64,
    /// The known tokens of its model calls, with those from a cache, put into one, and for reasoning.
    pub tokens: Usage,
    /// Input for the cost of its model calls, independent of prices.
    pub model_calls: CallGroups,
    /// Cost of its model calls: with the release's prices, unless [`RunProfile::priced`] took others.
    pub cost: CostSum,
    /// Model calls that only a strict reading finds.
    pub(crate) also_llm_calls: u64,
    /// Duration in milliseconds, by the timestamps of its start and end; unknown when a `duration_ms` differs
    /// from that by more than a millisecond.
    pub latency_ms: Option<u64>,
    /// When it started, by its root.
    pub started_at: Option<Timestamp>,
    /// The way that it went.
    pub signature: Signature,
    /// Its model and tool calls, in order.
    pub calls: CallList,
    /// Tools that spans name which are something else, or another tool, in the first place, and how often. They are
    /// counted where a call would be bad, and do not count where one is demanded.
    pub possible_tools: BTreeMap<String, u64>,
    /// Model and tool calls that failed.
    pub failed_calls: u64,
    /// Model and tool calls whose end was not seen: none of them counts as failed.
    pub unknown_calls: u64,
    /// Tools and models with a failed call and no successful call after it, each once.
    pub unrecovered_calls: Vec<String>,
    /// Those with a call after it whose end was not seen.
    pub perhaps_recovered_calls: Vec<String>,
    /// Scores that commands of a policy gave, by the names of their metrics.
    pub scores: BTreeMap<String, f64>,
    /// Tool calls that a model asked for and that never ran; `None` where that is not known.
    pub not_run_calls: Option<u64>,
    /// The spans that the trace has lost; `None` when there is no sign of any. What it does not hold is not known then.
    pub missing: Option<MissingSpans>,
    /// Tells a trace from every other one, and not from its copies: the instants, durations and types of its records.
    pub content: u64,
    /// Calls that asked the same again and again, found in the trace itself.
    pub repeats: Vec<RepeatedCalls>,
    /// Calls that came again and again, with neither their input nor their outcome recorded.
    pub unknown_repeats: Vec<RepeatedCalls>,
    /// Number of loop warnings that rest on calls with a different input each time: three files read in a row.
    pub harmless_warnings: u64,
    /// Number of loop warnings that rest on calls where that is not known.
    pub open_warnings: u64,
    /// Guardrails that stopped it, whether or not the program went on.
    pub guardrail_stops: Vec<GuardrailStop>,
    /// Contradictions between `meta.json` and the records.
    pub mismatches: Vec<CountMismatch>,
}

impl RunProfile {
    /// The agent: the label of the run without a time stamp; `None` when it has none.
    ///
    /// ```
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// assert_eq!(RunProfile::new(&run.meta, run.records).agent(), Some("captured"));
    /// ```
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        agent_of(self.run_name.as_deref()?)
    }

    /// Marks the run as one that lost any number of spans, unless it is one already.
    pub fn lose_spans(&mut self, reason: &str) {
        self.missing.get_or_insert_with(|| MissingSpans {
            spans: None,
            reason: reason.to_owned(),
        });
    }

    /// The profile with what the run costs by these prices.
    ///
    /// ```
    /// use tracer_insight::profile::{Metric, RunProfile};
    /// use tracer_sdk::settings::{SettingsFile, Sources, read_prices};
    /// use tracer_sdk::testing::capture;
    /// use tracer_sdk::{Usage, llm_call};
    ///
    /// let run = capture(|| llm_call("llama-4").provider("local").usage(Usage::new(1_000, 0)).record());
    /// let profile = RunProfile::new(&run.meta, run.records);
    /// assert_eq!(profile.value(&Metric::from_name("cost_usd").unwrap()), None); // the release has no price of it
    ///
    /// let text = Ok("[prices.local.llama-4]\ninput = 10\noutput = 10".to_owned());
    /// let user = Some(SettingsFile { path: "config.toml".into(), text });
    /// let (prices, _) = read_prices(&Sources { user, ..Sources::default() });
    /// assert_eq!(profile.priced(&prices).value(&Metric::from_name("cost_usd").unwrap()), Some(0.01));
    /// ```
    #[must_use]
    pub fn priced(mut self, prices: &Prices) -> Self {
        self.cost = self.model_calls.cost(prices);
        // The tokens of these calls are known, but not their models.
        self.cost.unpriced = self.cost.unpriced.saturating_add(self.also_llm_calls);
        self
    }

    /// The value of a numeric metric; `None` when it is not known.
    ///
    /// ```
    /// use tracer_insight::profile::{Metric, RunProfile};
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let metrics = RunProfile::new(&run.meta, run.records);
    /// assert_eq!(metrics.value(&Metric::from_name("tool_call_count").unwrap()), Some(1.0));
    /// assert_eq!(metrics.value(&Metric::ToolCalls("search".to_owned())), Some(1.0));
    /// ```
    #[must_use]
    pub fn value(&self, metric: &Metric) -> Option<f64> {
        self.bounds(metric)?.exact()
    }

    /// Between which numbers the value of a metric lies: one number where the trace is whole, more where spans are
    /// missing; `None` when it is not known at all.
    ///
    /// ```
    /// use tracer_insight::profile::{Bounds, Metric, RunProfile};
    /// use tracer_sdk::testing::capture;
    ///
    /// let mut run = capture(|| tracer_sdk::tool_call("search").record());
    /// run.meta.additional.insert("dropped".to_owned(), serde_json::json!({"spans": 2, "reason": "disk full"}));
    /// let metrics = RunProfile::new(&run.meta, run.records);
    /// assert_eq!(metrics.bounds(&Metric::from_name("tool_call_count").unwrap()), Some(Bounds { least: 1.0, most: 3.0 }));
    /// assert_eq!(metrics.value(&Metric::from_name("tool_call_count").unwrap()), None);
    /// ```
    #[must_use]
    pub fn bounds(&self, metric: &Metric) -> Option<Bounds> {
        match metric {
            Metric::Recorded(spec) => (spec.value)(self),
            Metric::Score(name) => self.scores.get(name).copied().map(Bounds::exactly),
            Metric::ToolCalls(tool) => {
                let called = self.signature.tools.iter().filter(|called| *called == tool);
                self.counted(called.count() as u64 + self.possible_tools.get(tool).unwrap_or(&0))
            }
        }
    }

    /// Bounds of a count: each span that is missing may add one.
    #[expect(
        clippy::unnecessary_wraps,
        reason = "the metrics of a table that may be unknown have one type"
    )]
    fn counted(&self, seen: u64) -> Option<Bounds> {
        let missing = self.missing.as_ref();
        let more = missing.map_or(0.0, |missing| missing.spans.map_or(f64::INFINITY, as_float));
        let least = as_float(seen);
        let most = least + more;
        Some(Bounds { least, most })
    }

    /// A call that is missing may have used any number of tokens.
    fn token_bounds(&self) -> Option<Bounds> {
        let least = as_float(self.cost_tokens?);
        let most = if self.missing.is_some() {
            f64::INFINITY
        } else {
            least
        };
        Some(Bounds { least, most })
    }

    /// Bounds of the cost: at least the known part; the unknown part may be any amount.
    fn cost_bounds(&self) -> Bounds {
        let known = self.cost.known.dollars();
        if self.cost.unpriced == 0 && self.missing.is_none() {
            return Bounds::exactly(known);
        }
        Bounds {
            least: known,
            most: f64::INFINITY,
        }
    }

    /// The tools that the run called in any reading of its spans, each once.
    pub fn tools_in_any_reading(&self) -> impl Iterator<Item = &String> {
        let mut tools = self.signature.tool_names();
        tools.extend(self.possible_tools.keys());
        tools.into_iter()
    }

    /// Returns whether the run looped: calls asked the same again and again. `None` where that is not known: calls were
    /// repeated, and neither their input nor their outcome was recorded.
    ///
    /// ```
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    /// use tracer_sdk::tool_call;
    ///
    /// let same = capture(|| (0..3).try_for_each(|_| tool_call("search").args("refunds").record()));
    /// assert_eq!(RunProfile::new(&same.meta, same.records).has_looped(), Some(true));
    ///
    /// let unknown = capture(|| (0..3).try_for_each(|_| tool_call("search").record()));
    /// assert_eq!(RunProfile::new(&unknown.meta, unknown.records).has_looped(), None);
    /// ```
    #[must_use]
    pub fn has_looped(&self) -> Option<bool> {
        match (
            self.repeats.is_empty(),
            self.unknown_repeats.is_empty() && self.open_warnings == 0,
        ) {
            (false, _) => Some(true),
            (true, true) => Some(false),
            (true, false) => None,
        }
    }

    /// Number of times that the run came to repeat calls that are not known to ask something else each time.
    #[must_use]
    pub fn repeated_calls(&self) -> u64 {
        (self.repeats.len() + self.unknown_repeats.len()) as u64
    }

    /// Returns whether shapes were repeated, whatever the calls asked: the rule of the contract, in which a loop
    /// warning counts, in addition to [`RunProfile::has_looped`].
    ///
    /// ```
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| {
    ///     let read = |file: &str| tracer_sdk::tool_call("read").args(file).record();
    ///     ["a.rs", "b.rs", "c.rs"].into_iter().try_for_each(read)
    /// });
    /// let metrics = RunProfile::new(&run.meta, run.records);
    /// assert_eq!((metrics.has_repeated_shapes(), metrics.has_looped()), (true, Some(false)));
    /// ```
    #[must_use]
    pub fn has_repeated_shapes(&self) -> bool {
        self.counts.loop_warnings > 0 || !self.repeats.is_empty() || !self.unknown_repeats.is_empty()
    }
}

/// The label of a run without ` - 2026-11-21 07:05` at its end; `None` when nothing else is in it.
///
/// ```
/// use tracer_insight::profile::agent_of;
///
/// assert_eq!(agent_of("support - 2026-11-21 07:05"), Some("support"));
/// ```
#[must_use]
pub fn agent_of(run_name: &str) -> Option<&str> {
    const FORM: &str = " - dddd-dd-dd dd:dd";
    let is_stamp = |text: &str| {
        text.chars().zip(FORM.chars()).all(|(char, form)| match form {
            'd' => char.is_ascii_digit(),
            form => char == form,
        })
    };
    let split = run_name.len().checked_sub(FORM.len());
    let name = match split.and_then(|start| run_name.split_at_checked(start)) {
        Some((before, stamp)) if is_stamp(stamp) => before,
        _ => run_name,
    };
    Some(name.trim()).filter(|name| !name.is_empty())
}

/// Counts stay exact up to 2⁵³, far beyond what a run can have.
#[expect(clippy::cast_precision_loss, reason = "see above")]
#[must_use]
pub fn as_float(count: u64) -> f64 {
    count as f64
}

/// A guardrail that stopped a run.
///
/// ```
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::{Config, Guardrails, Run, llm_call};
///
/// let folder = tempfile::tempdir()?;
/// let config = Config::new().data_dir(folder.path());
/// let run = Run::new("no calls").config(&config).guardrails(Guardrails::new().max_llm_calls(0)).start();
/// let directory = run.dir().unwrap();
/// let _ignored = llm_call("gpt-5").record();
/// run.finish();
/// let run = tracer_runs::LoadedRun::read(&directory)?;
/// let stops = RunProfile::new(&run.meta, run.records()).guardrail_stops;
/// assert_eq!(stops[0].error_type, "GuardrailExceeded");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GuardrailStop {
    /// The record of it.
    pub event_id: String,
    /// The class of its error: `GuardrailExceeded`, `LoopAbort`.
    pub error_type: String,
}

/// A contradiction between a reported number and the counted or measured one, which counts.
///
/// ```
/// use tracer_insight::profile::CountMismatch;
///
/// let mismatch = CountMismatch::of_meta("counts.tool_calls", &0, &7);
/// assert_eq!(mismatch.to_string(), "meta.json says counts.tool_calls is 0, the records give 7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CountMismatch {
    /// Source of the reported value: `meta.json`, the root span, the run.
    pub source: Cow<'static, str>,
    /// The field of it.
    pub field: Cow<'static, str>,
    /// Reported value. JSON keeps the first name of this field.
    #[serde(rename = "told")]
    pub reported: String,
    /// Counted or measured value.
    pub found: String,
    /// By what that was found: `the records give`, `the timestamps give`, `its process took`.
    pub found_by: Cow<'static, str>,
}

impl CountMismatch {
    /// Mismatch between `meta.json` and the records.
    ///
    /// ```
    /// use tracer_insight::profile::CountMismatch;
    ///
    /// assert_eq!(CountMismatch::of_meta("status", &"ok", &"error").found, "error");
    /// ```
    pub fn of_meta(field: &'static str, reported: &impl ToString, found: &impl ToString) -> Self {
        Self {
            source: "meta.json".into(),
            field: field.into(),
            reported: reported.to_string(),
            found: found.to_string(),
            found_by: "the records give".into(),
        }
    }
}

impl std::fmt::Display for CountMismatch {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            source,
            field,
            reported,
            found,
            found_by,
        } = self;
        write!(
            formatter,
            "{source} says {field} is {reported}, {found_by} {found}"
        )
    }
}
