//! The table of numeric metrics (gate, *Metrics*): policies, reports and words read it.

use std::fmt;

use super::{Bounds, RunProfile, as_float};

/// A number of every run: what it is called, what it counts, and where it is read.
#[derive(Debug)]
pub struct MetricSpec {
    /// The name in policies, reports and baselines.
    pub name: &'static str,
    /// The words of people.
    pub label: &'static str,
    /// Unit of a value.
    pub unit: MetricUnit,
    /// The values that a run may have.
    pub(super) value: fn(&RunProfile) -> Option<Bounds>,
}

/// Unit of the value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUnit {
    /// Things that the agent did.
    Count,
    /// Time, which differs by chance.
    Milliseconds,
    /// US dollars, which follow from prices and tokens.
    Dollars,
}

impl MetricUnit {
    /// Returns whether a change of the value shows that the agent behaves differently.
    #[must_use]
    pub fn is_behaviour(self) -> bool {
        self == Self::Count
    }
}

/// The numbers that every report and baseline holds, in the order in which they are written.
pub static METRICS: &[MetricSpec] = &[
    count("step_count", "steps", |run| run.counted(run.step_count)),
    count("tool_call_count", "tool calls", |run| {
        run.counted(run.counts.tool_calls)
    }),
    count("cost_tokens", "tokens", RunProfile::token_bounds),
    MetricSpec {
        name: "cost_usd",
        label: "cost",
        unit: MetricUnit::Dollars,
        value: |run| Some(run.cost_bounds()),
    },
    MetricSpec {
        name: "latency_ms",
        label: "duration",
        unit: MetricUnit::Milliseconds,
        value: |run| run.latency_ms.map(|took| Bounds::exactly(as_float(took))),
    },
    count("llm_call_count", "model calls", |run| {
        run.counted(run.counts.llm_calls)
    }),
    count("error_count", "errors", |run| run.counted(run.counts.errors)),
    count("failed_call_count", "failed calls", |run| {
        run.counted(run.failed_calls)
    }),
    count("not_run_call_count", "calls asked for, not run", |run| {
        run.counted(run.not_run_calls?)
    }),
    count("loop_warning_count", "loop warnings", |run| {
        run.counted(run.counts.loop_warnings)
    }),
];

const fn count(
    name: &'static str,
    label: &'static str,
    value: fn(&RunProfile) -> Option<Bounds>,
) -> MetricSpec {
    MetricSpec {
        name,
        label,
        unit: MetricUnit::Count,
        value,
    }
}

/// A numeric metric of a run: a row of [`METRICS`], or the calls of one tool.
///
/// ```
/// use tracer_insight::profile::Metric;
///
/// assert_eq!(Metric::from_name("cost_tokens").unwrap().to_string(), "cost_tokens");
/// assert_eq!(Metric::ToolCalls("search".to_owned()).to_string(), "tool_calls.search");
/// ```
#[derive(Debug, Clone)]
pub enum Metric {
    /// A number of every run.
    Recorded(&'static MetricSpec),
    /// Calls of one tool.
    ToolCalls(String),
    /// A score that a command gave, by its name in a policy: `score`, `score.tone`.
    Score(String),
}

/// Prefix of the name of a metric of one tool.
const TOOL_CALLS: &str = "tool_calls.";
/// Name of the score, and before a full stop the prefix of the name of one of several.
const SCORE: &str = "score";

impl Metric {
    /// The metrics of the table, in its order.
    pub fn recorded() -> impl Iterator<Item = Self> {
        METRICS.iter().map(Self::Recorded)
    }

    /// The metric with this name, `step_count` or `tool_calls.<tool>`.
    ///
    /// ```
    /// use tracer_insight::profile::Metric;
    ///
    /// assert!(Metric::from_name("latency_ms").is_some());
    /// assert!(Metric::from_name("tool_calls.").is_none());
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let recorded = METRICS.iter().find(|spec| spec.name == name);
        recorded.map(Self::Recorded).or_else(|| {
            let label = name.strip_prefix(SCORE).unwrap_or("-");
            if label.is_empty() || label.starts_with('.') && label.len() > 1 {
                return Some(Self::Score(name.to_owned()));
            }
            let tool = name.strip_prefix(TOOL_CALLS).filter(|tool| !tool.is_empty())?;
            Some(Self::ToolCalls(tool.to_owned()))
        })
    }

    /// Unit of a value.
    #[must_use]
    pub fn unit(&self) -> MetricUnit {
        match self {
            Self::Recorded(spec) => spec.unit,
            Self::ToolCalls(_) | Self::Score(_) => MetricUnit::Count,
        }
    }
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Recorded(spec) => formatter.write_str(spec.name),
            Self::ToolCalls(tool) => write!(formatter, "{TOOL_CALLS}{tool}"),
            Self::Score(name) => formatter.write_str(name),
        }
    }
}
