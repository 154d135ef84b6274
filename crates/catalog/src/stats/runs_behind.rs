//! [`RunsBehind`]: the query of the runs that a number of the statistics counts.

use tracer_insight::status::RunStatus;
use tracer_sdk::format::Timestamp;

use super::{GroupStats, Grouping, MICROSECONDS_PER_DAY, StatsColumn};
use crate::latencies::shortest_like;
use crate::query::{
    Condition, Feature, NumberComparison, NumberField, QueryTerm, RunQuery, Since, TextField,
};
use crate::run_column::RunColumn;
use crate::run_row::FURTHER;

/// The runs that the numbers of a group count, as queries.
///
/// ```
/// use tracer_catalog::FactsStore;
/// use tracer_catalog::query::RunQuery;
/// use tracer_catalog::stats::{Grouping, RunsBehind, StatsColumn};
/// use tracer_insight::units::now;
/// use tracer_runs::CancelToken;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search_kb").record()).save(folder.path())?;
/// let cancel = CancelToken::default();
/// let runs = FactsStore::new(folder.path()).survey()?.open(&cancel, |_| ())?;
/// let query: RunQuery = "name:captured".parse()?;
/// let by = Some(Grouping::Tool);
/// let found = runs.stats(&runs.select(&query, true, now(), &cancel, |_| ())?, by)?;
/// let behind = RunsBehind::new(&query, by, &found.groups[0], true).expect("it has a name");
/// assert_eq!(behind.query(StatsColumn::Runs).to_string(), "name:captured tool:search_kb");
/// assert_eq!(behind.query(StatsColumn::Failed).to_string(), "name:captured tool:search_kb failed:search_kb");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RunsBehind {
    all: RunQuery,
    /// The model or the tool whose calls are counted.
    called: Option<String>,
    p95_us: Option<u64>,
    p50_us: Option<u64>,
}

impl RunsBehind {
    /// The runs of a group among those of `query`, which leaves out the trials of gates unless `has_trials`. `by` is what the
    /// group is made by, `None` for all runs together. Nothing where no query finds them: of runs without a readable start, and
    /// of names that were too many to be kept.
    #[must_use]
    pub fn new(query: &RunQuery, by: Option<Grouping>, group: &GroupStats, has_trials: bool) -> Option<Self> {
        let mut all = query.clone();
        if !has_trials {
            all.terms.push(QueryTerm::fails(Condition::Has(Feature::Trial)));
        }
        let name = group.group.as_deref();
        if let Some(by) = by {
            all.terms.extend(terms(by, name)?);
        }
        let is_of_calls = by.is_some_and(Grouping::is_of_calls);
        Some(Self {
            all,
            called: name.filter(|_| is_of_calls).map(str::to_owned),
            p50_us: group.p50_us,
            p95_us: group.p95_us,
        })
    }

    /// The query of the runs that a column counts: those that failed, or looped, or took as long, or have a call that did; else
    /// all of the group.
    #[must_use]
    pub fn query(&self, column: StatsColumn) -> RunQuery {
        let mut query = self.all.clone();
        let slow = |limit: Option<u64>| {
            let at_least = |field, number| {
                QueryTerm::holds(Condition::Number {
                    field,
                    comparison: NumberComparison::AtLeast,
                    number,
                })
            };
            match (limit, &self.called) {
                (None, _) => Vec::new(),
                // The percentile of calls is the middle of those that are like it. The group is the last that is named.
                (Some(limit), Some(_)) => vec![at_least(NumberField::Slowest, shortest_like(limit))],
                // The duration of a running one is not known.
                (Some(limit), None) => vec![
                    QueryTerm::fails(Condition::Status(vec![RunStatus::Running])),
                    at_least(NumberField::Duration, limit),
                ],
            }
        };
        let has = |statuses: &[RunStatus]| vec![QueryTerm::holds(Condition::Status(statuses.to_vec()))];
        query.terms.extend(match (column, &self.called) {
            (StatsColumn::Failed, Some(name)) => {
                vec![QueryTerm::holds(Condition::is(TextField::Failed, name))]
            }
            (StatsColumn::Failed, None) => has(&[RunStatus::Failed, RunStatus::Interrupted]),
            (StatsColumn::Loops, _) => has(&[RunStatus::Looped]),
            (StatsColumn::P50, _) => slow(self.p50_us),
            (StatsColumn::P95, _) => slow(self.p95_us),
            _ => Vec::new(),
        });
        query
    }

    /// The order of these runs that shows the source of the number.
    #[must_use]
    pub fn order(column: StatsColumn) -> RunColumn {
        match column {
            StatsColumn::P50 | StatsColumn::P95 => RunColumn::Duration,
            StatsColumn::Tokens | StatsColumn::Cached => RunColumn::Tokens,
            StatsColumn::Cost => RunColumn::Cost,
            StatsColumn::Calls => RunColumn::Steps,
            _ => RunColumn::Started,
        }
    }
}

/// The terms of a group; `None` where no query finds its runs.
fn terms(by: Grouping, name: Option<&str>) -> Option<Vec<QueryTerm>> {
    if name == Some(FURTHER) {
        return None;
    }
    let field = match by {
        Grouping::Name => TextField::Agent,
        Grouping::Model => TextField::Model,
        Grouping::Tool => TextField::Tool,
        Grouping::Tag => TextField::Tag,
        Grouping::Commit => TextField::Commit,
        Grouping::Error => TextField::Error,
        Grouping::Day => {
            let start: Timestamp = format!("{}T00:00:00Z", name?).parse().ok()?;
            let end = start.unix_microseconds().checked_add(MICROSECONDS_PER_DAY)?;
            let end = Timestamp::from_unix_microseconds(end);
            let day = [
                Condition::Since(Since::At(start)),
                Condition::Until(Since::At(end)),
            ];
            return Some(day.map(QueryTerm::holds).into());
        }
    };
    Some(vec![match (by, name) {
        (_, Some(name)) => QueryTerm::holds(Condition::is(field, name)),
        (Grouping::Tag, None) => QueryTerm::fails(Condition::Has(Feature::Tag)),
        (_, None) => QueryTerm::fails(Condition::is(field, "*")),
    }])
}
