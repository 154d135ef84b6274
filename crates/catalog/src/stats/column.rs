//! [`StatsColumn`]: the columns of a table of statistics, with their words and their order.

use tracer_insight::cost;
use tracer_insight::line::Tone;
use tracer_insight::units;

use super::{GroupStats, Grouping};

tracer_sdk::words! {
    /// A column of a table of statistics.
    ///
    /// ```
    /// use tracer_catalog::stats::StatsColumn;
    ///
    /// assert_eq!(StatsColumn::from_word("p95"), Some(StatsColumn::P95));
    /// assert_eq!(StatsColumn::from_word("size"), None);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum StatsColumn in tracer_catalog::stats {
        /// The name of the group.
        Group = "group",
        /// Runs.
        Runs = "runs",
        /// The share that failed: of runs that ended, or of calls.
        Failed = "failed",
        /// Runs that looped.
        Loops = "loops",
        /// Occurrences of the error of the group.
        Errors = "errors",
        /// Calls.
        Calls = "calls",
        /// The median duration.
        P50 = "p50",
        /// The duration that 95 % do not exceed.
        P95 = "p95",
        /// All tokens.
        Tokens = "tokens",
        /// The share of prompts that was read from the provider's cache.
        Cached = "cached",
        /// The cost of the model calls.
        Cost = "cost",
    }
}

impl StatsColumn {
    /// The columns of numbers that a table of these groups has: errors are counted of errors alone.
    pub fn of(by: Option<Grouping>) -> impl Iterator<Item = Self> {
        let is_one = move |column: &Self| match column {
            Self::Group => false,
            Self::Errors => by == Some(Grouping::Error),
            _ => true,
        };
        Self::ALL.into_iter().filter(is_one)
    }

    /// Its heading in a table for people.
    #[must_use]
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Group => "",
            Self::Runs => "Runs",
            Self::Failed => "Failed",
            Self::Loops => "Loops",
            Self::Errors => "Errors",
            Self::Calls => "Calls",
            Self::P50 => "p50",
            Self::P95 => "p95",
            Self::Tokens => "Tokens",
            Self::Cached => "Cached",
            Self::Cost => "Cost",
        }
    }

    /// The cell of a group in words; empty where there is nothing, or nothing is known.
    #[must_use]
    pub fn cell(self, group: &GroupStats, is_of_calls: bool) -> (String, Tone) {
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let unless_none = |count: u64| {
            if count > 0 {
                units::quantity(count)
            } else {
                String::new()
            }
        };
        let duration = |duration: Option<u64>| duration.map(units::duration).unwrap_or_default();
        match self {
            Self::Group => (group.group.clone().unwrap_or_default(), Tone::Plain),
            Self::Runs => (units::quantity(group.runs), Tone::Plain),
            Self::Failed => {
                let rate = failure_rate(group, is_of_calls).filter(|rate| *rate > 0.0);
                (rate.map(percent).unwrap_or_default(), Tone::Bad)
            }
            Self::Loops => (unless_none(group.loops), Tone::Warning),
            Self::Errors => (group.errors.map(units::quantity).unwrap_or_default(), Tone::Bad),
            Self::Calls => (units::quantity(group.calls), Tone::Plain),
            Self::P50 => (duration(group.p50_us), Tone::Plain),
            Self::P95 => (duration(group.p95_us), Tone::Plain),
            Self::Tokens => {
                let tokens = group.total_tokens.map(units::quantity);
                (tokens.unwrap_or_default(), Tone::Plain)
            }
            Self::Cached => {
                let share = group.cached_share.map(percent);
                (share.unwrap_or_default(), Tone::Muted)
            }
            Self::Cost => {
                let cost = group.cost.as_ref().map(cost::cell);
                (cost.unwrap_or_default(), Tone::Plain)
            }
        }
    }

    /// The number that groups are sorted by; `None` where it is not known.
    pub(super) fn number(self, group: &GroupStats, is_of_calls: bool) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "for an order")]
        let count = |count: u64| count as f64;
        match self {
            Self::Group => None,
            Self::Runs => Some(count(group.runs)),
            Self::Failed => failure_rate(group, is_of_calls),
            Self::Loops => Some(count(group.loops)),
            Self::Errors => group.errors.map(count),
            Self::Calls => Some(count(group.calls)),
            Self::P50 => group.p50_us.map(count),
            Self::P95 => group.p95_us.map(count),
            Self::Tokens => group.total_tokens.map(count),
            Self::Cached => group.cached_share,
            // By its known part: a group with an unknown part costs at least that.
            Self::Cost => {
                let cost = group.cost.as_ref()?;
                let known = cost.unpriced == 0 || cost.has_known();
                known.then(|| cost.known.to_decimal().parse().ok())?
            }
        }
    }
}

fn failure_rate(group: &GroupStats, is_of_calls: bool) -> Option<f64> {
    if !is_of_calls {
        return group.failure_rate;
    }
    #[expect(clippy::cast_precision_loss, reason = "a share")]
    let rate = (group.calls > 0).then(|| group.failed_calls as f64 / group.calls as f64);
    rate
}
