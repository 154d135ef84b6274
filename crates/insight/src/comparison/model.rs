//! The result of a comparison: both sides, their numbers, tools and models.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use tracer_runs::RunStatus;
use tracer_sdk::format::ForkOrigin;

use super::AlignedCalls;
use crate::signature::Signature;

/// Two runs, or a baseline and a run, side by side.
///
/// ```
/// use tracer_insight::comparison::{CallChange, Comparison};
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let before = capture(|| tracer_sdk::tool_call("search").args(&"a").record());
/// let after = capture(|| {
///     tracer_sdk::tool_call("search").args(&"b").record()?;
///     tracer_sdk::tool_call("reply").record()
/// });
/// let comparison = Comparison::of_runs(
///     &RunProfile::new(&before.meta, before.records),
///     &RunProfile::new(&after.meta, after.records),
/// );
/// assert_eq!(comparison.tools.added, ["reply"]);
/// let changes: Vec<CallChange> = comparison.calls.pairs().map(|pair| pair.change).collect();
/// assert_eq!(changes, [CallChange::Changed, CallChange::Added]);
/// ```
#[derive(Debug, Clone, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Comparison {
    /// The side before.
    pub before: Side,
    /// The side now.
    pub after: Side,
    /// `true` when both went the same way and used the same: everything but the time that it took.
    pub is_same: bool,
    /// The numbers of both, those that are the same included.
    pub metrics: Vec<MetricChange>,
    /// Number of records of each type on both sides, those that are the same included.
    pub records: Vec<TypeCount>,
    /// The tools.
    pub tools: ToolChanges,
    /// The models.
    pub models: NameChanges,
    /// Fork point, when the run of now was forked from the one before.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ForkOrigin")]
    pub fork: Option<ForkOrigin>,
    /// Every call of both, side by side.
    pub calls: AlignedCalls,
}

/// One side of a comparison.
///
/// ```
/// use tracer_insight::comparison::{Comparison, SideKind};
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| ());
/// let metrics = RunProfile::new(&run.meta, run.records);
/// let after = Comparison::of_runs(&metrics, &metrics).after;
/// assert_eq!((after.kind, after.run_status.as_str()), (SideKind::Run, "ok"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Side {
    /// A run or a baseline.
    pub kind: SideKind,
    /// The run, or the run that the baseline was made of.
    pub run_id: String,
    /// Its label.
    pub run_name: Option<String>,
    /// Status of the run, in the word of the format.
    pub status: String,
    /// The status of the run, in the words that every list uses.
    #[schemars(schema_with = "crate::run_entry::any_run_status")]
    pub run_status: RunStatus,
    /// The models that it asked, sorted.
    pub models: Vec<String>,
    /// Its tools, in the order of their calls.
    pub tool_calls: Vec<String>,
}

tracer_sdk::words! {
    /// Kind of a side of a comparison.
    ///
    /// ```
    /// use tracer_insight::comparison::SideKind;
    ///
    /// assert_eq!(serde_json::to_string(&SideKind::Baseline)?, r#""baseline""#);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum SideKind in tracer_insight::comparison {
        /// One run.
        Run = "run",
        /// A baseline; its single calls are those of its first run.
        Baseline = "baseline",
    }
}

/// A number on both sides.
///
/// ```
/// use tracer_insight::comparison::MetricChange;
///
/// let tokens = MetricChange { metric: "cost_tokens".to_owned(), before: Some(90.0), after: None };
/// assert!(tokens.is_changed()); // not known is not the same as 90
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MetricChange {
    /// Its name: that of a numeric metric, `guardrail_stops`, or `repeated_calls` for loops found in the trace.
    pub metric: String,
    /// The value before; null when it is not known. Of a baseline with several runs the median.
    pub before: Option<f64>,
    /// The value now; null when it is not known.
    pub after: Option<f64>,
}

impl MetricChange {
    /// Returns whether both sides differ.
    ///
    /// ```
    /// use tracer_insight::comparison::MetricChange;
    ///
    /// let steps = MetricChange { metric: "step_count".to_owned(), before: Some(5.0), after: Some(5.0) };
    /// assert!(!steps.is_changed());
    /// ```
    #[must_use]
    pub fn is_changed(&self) -> bool {
        self.before != self.after
    }
}

/// Number of records of a type on each side.
///
/// ```
/// use tracer_insight::comparison::Comparison;
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let metrics = RunProfile::new(&run.meta, run.records);
/// let records = Comparison::of_runs(&metrics, &metrics).records;
/// let calls = records.iter().find(|count| count.event_type == "TOOL_CALL").unwrap();
/// assert_eq!((calls.before, calls.after), (1, 1));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TypeCount {
    /// The type.
    pub event_type: String,
    /// Number of records before.
    pub before: u64,
    /// Number of records now.
    pub after: u64,
}

/// Names that only one side has.
///
/// ```
/// use tracer_insight::comparison::NameChanges;
///
/// assert!(NameChanges::default().added.is_empty());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct NameChanges {
    /// Only now, sorted.
    pub added: Vec<String>,
    /// No longer, sorted.
    pub removed: Vec<String>,
}

/// In what the tools of both sides differ.
///
/// ```
/// use tracer_insight::comparison::ToolChanges;
///
/// assert!(!ToolChanges::default().is_reordered);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ToolChanges {
    /// Tools that are called only now, sorted.
    pub added: Vec<String>,
    /// Tools that are no longer called, sorted.
    pub removed: Vec<String>,
    /// Tools that are called more than once, and more often than before.
    pub repeated: Vec<RepeatedTool>,
    /// `true` when the tools of both sides come in another order. More or fewer calls of a tool are not another order.
    pub is_reordered: bool,
}

/// A tool that is called more than once, and more often than before.
///
/// ```
/// use tracer_insight::comparison::RepeatedTool;
///
/// let search = RepeatedTool { tool: "search".to_owned(), before: 1, after: 4 };
/// assert_eq!(serde_json::to_string(&search)?, r#"{"tool":"search","before":1,"after":4}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RepeatedTool {
    /// The tool.
    pub tool: String,
    /// Number of calls before.
    pub before: u64,
    /// Number of calls now.
    pub after: u64,
}

/// Usual behaviour of an agent, as the side before of a comparison; a baseline yields one.
///
/// ```
/// use tracer_insight::comparison::UsualProfile;
/// use tracer_insight::signature::Signature;
///
/// let usual = UsualProfile::new("1d7f".to_owned(), Signature::default());
/// assert!(usual.signatures.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UsualProfile {
    /// The run that the profile was made of, or the first of several.
    pub run_id: String,
    /// Its label.
    pub run_name: Option<String>,
    /// Signature of the first run.
    pub first: Signature,
    /// Distinct signatures of all runs; empty when only the first is known.
    pub signatures: Vec<Signature>,
    /// The usual value of each metric that is known, by its name.
    pub values: BTreeMap<String, f64>,
    /// Most guardrails that stopped one of the runs.
    pub guardrail_stops: u64,
    /// Most loops of one of the runs.
    pub repeated_calls: u64,
}

impl UsualProfile {
    /// The profile of one run, without its numbers.
    #[must_use]
    pub fn new(run_id: String, first: Signature) -> Self {
        Self {
            run_id,
            first,
            run_name: None,
            signatures: Vec::new(),
            values: BTreeMap::new(),
            guardrail_stops: 0,
            repeated_calls: 0,
        }
    }
}
