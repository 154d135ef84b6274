//! The names of numeric metrics (gate-contract, section 6.3; gate, section 2).

use std::fmt;

/// A numeric metric of a run.
///
/// ```
/// use tracer_insight::profile::Metric;
///
/// assert_eq!(Metric::from_name("cost_tokens"), Some(Metric::CostTokens));
/// assert_eq!(Metric::ToolCalls("search".to_owned()).to_string(), "tool_calls.search");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Metric {
    /// Records other than the start, the end and structure.
    StepCount,
    /// Tool calls.
    ToolCallCount,
    /// Tokens of all model calls.
    CostTokens,
    /// US dollars of all model calls.
    CostUsd,
    /// Milliseconds from start to end.
    LatencyMs,
    /// Model calls.
    LlmCallCount,
    /// `ERROR` records.
    ErrorCount,
    /// Model and tool calls that failed; those of unknown outcome are none.
    FailedCallCount,
    /// Tool calls that a model asked for and that never ran.
    NotRunCallCount,
    /// `LOOP_WARNING` records.
    LoopWarningCount,
    /// Calls of one tool.
    ToolCalls(String),
}

/// What the name of a metric of one tool begins with.
const TOOL_CALLS: &str = "tool_calls.";

impl Metric {
    /// The metrics that every report and baseline holds, in the order in which they are written.
    pub const RECORDED: [Self; 10] = [
        Self::StepCount,
        Self::ToolCallCount,
        Self::CostTokens,
        Self::CostUsd,
        Self::LatencyMs,
        Self::LlmCallCount,
        Self::ErrorCount,
        Self::FailedCallCount,
        Self::NotRunCallCount,
        Self::LoopWarningCount,
    ];

    /// The metric with this name, `step_count` or `tool_calls.<tool>`.
    ///
    /// ```
    /// use tracer_insight::profile::Metric;
    ///
    /// assert_eq!(Metric::from_name("latency_ms"), Some(Metric::LatencyMs));
    /// assert_eq!(Metric::from_name("tool_calls."), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let recorded = Self::RECORDED.into_iter().find(|metric| metric.word() == name);
        recorded.or_else(|| {
            let tool = name.strip_prefix(TOOL_CALLS).filter(|tool| !tool.is_empty())?;
            Some(Self::ToolCalls(tool.to_owned()))
        })
    }

    fn word(&self) -> &str {
        match self {
            Self::StepCount => "step_count",
            Self::ToolCallCount => "tool_call_count",
            Self::CostTokens => "cost_tokens",
            Self::CostUsd => "cost_usd",
            Self::LatencyMs => "latency_ms",
            Self::LlmCallCount => "llm_call_count",
            Self::ErrorCount => "error_count",
            Self::FailedCallCount => "failed_call_count",
            Self::NotRunCallCount => "not_run_call_count",
            Self::LoopWarningCount => "loop_warning_count",
            Self::ToolCalls(tool) => tool,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self, Self::ToolCalls(_)) {
            formatter.write_str(TOOL_CALLS)?;
        }
        formatter.write_str(self.word())
    }
}
