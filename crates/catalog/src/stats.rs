//! Statistics over runs: how many, how they ended, how long they took, what they used; as a whole, or by group.

mod column;
mod runs_behind;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use tracer_insight::status::RunStatus;
use tracer_sdk::format::{Timestamp, Usage, Usd};
use tracer_sdk::prices::CostSum;

pub use column::StatsColumn;
pub use runs_behind::RunsBehind;

use crate::latencies::{Latencies, rank};
use crate::run_row::{CallTotals, agent};
use crate::store::ListedRun;

tracer_sdk::words! {
    /// By what runs, or calls, are grouped.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Grouping in tracer_catalog::stats {
        /// The agent: the name of the run without its time stamp.
        Name = "name",
        /// The model: calls are counted, not runs.
        Model = "model",
        /// The tool: calls are counted, not runs.
        Tool = "tool",
        /// The day of the start, in UTC.
        Day = "day",
        /// Each tag.
        Tag = "tag",
        /// The commit of the program, by the tag `commit`.
        Commit = "commit",
        /// The type of the error.
        Error = "error",
    }
}

impl Grouping {
    /// True where single calls are counted: their number, failures, durations and tokens.
    #[must_use]
    pub const fn is_of_calls(self) -> bool {
        matches!(self, Self::Model | Self::Tool)
    }
}

/// The statistics of a group, or of all runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupStats {
    /// The name of the group; null of all runs together, and of runs that are in no group.
    pub group: Option<String>,
    /// Number of runs.
    pub runs: u64,
    /// Runs that have ended: those with another status than `running` and `damaged`.
    pub ended_runs: u64,
    /// Runs that failed or were interrupted.
    pub failed_runs: u64,
    /// Their share of the runs that ended, between 0 and 1; null where none did.
    pub failure_rate: Option<f64>,
    /// Runs with the status `loop`.
    pub loops: u64,
    /// Number of calls: of the group's model or tool, else all model and tool calls.
    pub calls: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// How often the error of the group occurred; null of groups by anything else.
    pub errors: Option<u64>,
    /// The median duration, in microseconds: of runs, or of the calls of a model or a tool, of these within half a percent.
    pub p50_us: Option<u64>,
    /// The duration that 95 % do not exceed, in microseconds.
    pub p95_us: Option<u64>,
    /// Tokens of prompts; null where they are not known.
    pub input_tokens: Option<u64>,
    /// Tokens of answers.
    pub output_tokens: Option<u64>,
    /// All tokens.
    pub total_tokens: Option<u64>,
    /// Tokens of prompts that were read from the provider's cache.
    pub cached_tokens: Option<u64>,
    /// Their share of the tokens of prompts, between 0 and 1.
    pub cached_share: Option<f64>,
    /// What the model calls cost, in US dollars; null where the price of one is not known, and of tools.
    pub cost_usd: Option<Usd>,
    /// What those cost whose price is known: the cost is at least this.
    pub known_cost_usd: Usd,
    /// Model calls without a known price.
    pub unpriced_calls: u64,
    /// All that is known of the cost; `None` of tools.
    #[serde(skip)]
    pub cost: Option<CostSum>,
    /// Runs, or calls of a model or a tool, on each day that has some.
    pub days: BTreeMap<String, u64>,
}

/// The statistics of runs: of all, then of each group.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreStats {
    /// All runs together.
    pub all: GroupStats,
    /// The groups: days in their order, commits in that of their first runs, else the largest first.
    pub groups: Vec<GroupStats>,
}

impl StoreStats {
    /// The days of bars that show the runs of each: from the first to the last one that has runs, at most the last thirty.
    #[must_use]
    pub fn days(&self) -> Vec<String> {
        days_of(&self.all.days)
    }

    /// Sorts the groups by a column: names from A to Z, numbers from the largest to the smallest, unknown ones last.
    /// `is_reversed` turns the order round. `by` is what the groups are made by.
    pub fn sort(&mut self, column: StatsColumn, is_reversed: bool, by: Option<Grouping>) {
        let is_of_calls = by.is_some_and(Grouping::is_of_calls);
        if column == StatsColumn::Group {
            self.groups.sort_by_cached_key(|group| {
                (
                    group.group.is_none(),
                    group.group.as_ref().map(|name| name.to_lowercase()),
                )
            });
        } else {
            self.groups.sort_by(|one, other| {
                let (one, other) = [one, other].map(|group| column.number(group, is_of_calls)).into();
                match (one, other) {
                    (Some(one), Some(other)) => other.total_cmp(&one),
                    (one, other) => other.is_some().cmp(&one.is_some()),
                }
            });
        }
        if is_reversed {
            self.groups.reverse();
        }
    }
}

/// Days of bars.
const MAX_DAYS: i64 = 30;
const MICROSECONDS_PER_DAY: i64 = 86_400_000_000;

/// The days from the first to the last one that has runs, at most the last thirty.
fn days_of(days: &BTreeMap<String, u64>) -> Vec<String> {
    let midnight = |day: &String| -> Option<i64> {
        let instant: Timestamp = format!("{day}T00:00:00Z").parse().ok()?;
        Some(instant.unix_microseconds() / MICROSECONDS_PER_DAY)
    };
    let first = days.keys().next().and_then(midnight);
    let last = days.keys().next_back().and_then(midnight);
    let Some((first, last)) = first.zip(last) else {
        return Vec::new();
    };
    (first.max(last.saturating_sub(MAX_DAYS - 1))..=last)
        .filter_map(|day| {
            let instant = Timestamp::from_unix_microseconds(day * MICROSECONDS_PER_DAY);
            instant.to_string().get(..10).map(str::to_owned)
        })
        .collect()
}

/// The sums of the runs that were added: they take little room, whatever the number of runs.
#[derive(Debug)]
pub(crate) struct StatsSums {
    by: Option<Grouping>,
    all: Sums,
    groups: HashMap<Option<String>, Sums>,
}

impl StatsSums {
    /// No runs yet.
    pub(crate) fn new(by: Option<Grouping>) -> Self {
        Self {
            by,
            all: Sums::default(),
            groups: HashMap::new(),
        }
    }

    /// Adds a run, which has its details.
    pub(crate) fn add_run(&mut self, run: &ListedRun) {
        self.all.add(run, None, None);
        let Some(by) = self.by else { return };
        let row = &run.row;
        let mut in_group = |group: Option<&str>, calls: Option<&CallTotals>, errors: Option<u64>| {
            let group = group.map(str::to_owned);
            self.groups.entry(group).or_default().add(run, calls, errors);
        };
        match by {
            Grouping::Model | Grouping::Tool => {
                let calls = match by {
                    Grouping::Model => &row.models,
                    _ => &row.tools,
                };
                for (name, calls) in calls {
                    in_group(Some(name), Some(calls), None);
                }
            }
            Grouping::Name => in_group(agent(run.row.name.as_deref()), None, None),
            Grouping::Day => in_group(run.row.started_us.map(day).as_deref(), None, None),
            Grouping::Commit => in_group(row.commit(), None, None),
            Grouping::Tag => {
                let mut names = row
                    .tags
                    .iter()
                    .map(|(key, value)| format!("{key}={value}"))
                    .peekable();
                if names.peek().is_none() {
                    in_group(None, None, None);
                }
                names.for_each(|name| in_group(Some(&name), None, None));
            }
            Grouping::Error => {
                row.failures
                    .iter()
                    .for_each(|(error, occurred)| in_group(Some(error), None, Some(occurred.count)));
            }
        }
    }

    /// The statistics.
    pub(crate) fn finish(self) -> StoreStats {
        let by = self.by;
        let mut groups: Vec<(Option<String>, Sums)> = self.groups.into_iter().collect();
        groups.sort_by(|(one_name, one), (other_name, other)| {
            let by_name = || one_name.cmp(other_name);
            match by {
                Some(Grouping::Day) => by_name(),
                Some(Grouping::Commit) => {
                    let age = |name: &Option<String>, sums: &Sums| (name.is_none(), sums.first_us);
                    age(one_name, one).cmp(&age(other_name, other)).then_with(by_name)
                }
                Some(Grouping::Error) => other.errors.cmp(&one.errors).then_with(by_name),
                Some(by) if by.is_of_calls() => other.calls.cmp(&one.calls).then_with(by_name),
                _ => other.runs.cmp(&one.runs).then_with(by_name),
            }
        });
        let groups: Vec<GroupStats> = groups
            .into_iter()
            .map(|(group, sums)| sums.finish(group, by.is_some_and(Grouping::is_of_calls)))
            .collect();
        StoreStats {
            all: self.all.finish(None, false),
            groups,
        }
    }
}

/// The day of a time in microseconds since 1970, in UTC.
fn day(at_us: i64) -> String {
    let at = Timestamp::from_unix_microseconds(at_us).to_string();
    at.get(..10).unwrap_or(&at).to_owned()
}

#[derive(Debug, Default)]
struct Sums {
    runs: u64,
    ended: u64,
    failed: u64,
    loops: u64,
    calls: u64,
    failed_calls: u64,
    /// Of a type of errors.
    errors: Option<u64>,
    /// When the first run started.
    first_us: Option<i64>,
    /// Of runs.
    durations: Vec<u64>,
    /// Of calls.
    latencies: Latencies,
    tokens: Usage,
    cost: Option<CostSum>,
    /// By the number of the day since 1970.
    days: BTreeMap<i64, u64>,
}

impl Sums {
    /// Adds a run, or its calls of one model or tool, or one type of its errors.
    fn add(&mut self, run: &ListedRun, calls: Option<&CallTotals>, errors: Option<u64>) {
        let facts = &run.row;
        self.runs += 1;
        if let Some(errors) = errors {
            self.errors = Some(self.errors.unwrap_or(0).saturating_add(errors));
        }
        let firsts = self.first_us.into_iter().chain(facts.started_us);
        self.first_us = firsts.min();
        self.ended += u64::from(!matches!(run.status, RunStatus::Running | RunStatus::Damaged));
        self.failed += u64::from(matches!(run.status, RunStatus::Failed | RunStatus::Interrupted));
        self.loops += u64::from(run.status == RunStatus::Looped);
        let count = if let Some(calls) = calls {
            self.calls = self.calls.saturating_add(calls.calls);
            self.failed_calls = self.failed_calls.saturating_add(calls.failed);
            self.latencies.merge(&calls.latencies);
            self.tokens.add(&calls.tokens);
            if let Some(cost) = &calls.cost {
                self.cost.get_or_insert_default().add(cost);
            }
            calls.calls
        } else {
            let calls = facts.llm_calls.saturating_add(facts.tool_calls);
            self.calls = self.calls.saturating_add(calls);
            self.failed_calls = self.failed_calls.saturating_add(facts.failed_calls);
            self.durations.extend(facts.duration_us);
            self.tokens.add(&facts.tokens);
            let cost = self.cost.get_or_insert_default();
            cost.add(&facts.cost.unwrap_or_default());
            1
        };
        if let Some(started) = facts.started_us {
            *self
                .days
                .entry(started.div_euclid(MICROSECONDS_PER_DAY))
                .or_default() += count;
        }
    }

    fn finish(mut self, group: Option<String>, is_of_calls: bool) -> GroupStats {
        self.durations.sort_unstable();
        let percentile = |percent: f64| {
            if is_of_calls {
                return self.latencies.percentile(percent);
            }
            let place = usize::try_from(rank(self.durations.len() as u64, percent)?).ok()?;
            self.durations.get(place).copied()
        };
        #[expect(clippy::cast_precision_loss, reason = "a share")]
        let failure_rate = (self.ended > 0).then(|| self.failed as f64 / self.ended as f64);
        let mut days = BTreeMap::new();
        for (number, count) in self.days {
            *days
                .entry(day(number.saturating_mul(MICROSECONDS_PER_DAY)))
                .or_default() += count;
        }
        GroupStats {
            group,
            runs: self.runs,
            ended_runs: self.ended,
            failed_runs: self.failed,
            failure_rate,
            loops: self.loops,
            calls: self.calls,
            failed_calls: self.failed_calls,
            errors: self.errors,
            p50_us: percentile(50.0),
            p95_us: percentile(95.0),
            input_tokens: self.tokens.prompt_tokens,
            output_tokens: self.tokens.completion_tokens,
            total_tokens: self.tokens.total_tokens,
            cached_tokens: self.tokens.cache_read_tokens,
            cached_share: cached_share(&self.tokens),
            cost_usd: self.cost.and_then(|cost| cost.usd()),
            known_cost_usd: self.cost.unwrap_or_default().known,
            unpriced_calls: self.cost.unwrap_or_default().unpriced,
            cost: self.cost,
            days,
        }
    }
}

/// The share of prompts that was read from the cache, between 0 and 1; `None` where that is not known.
#[expect(clippy::cast_precision_loss, reason = "a share")]
fn cached_share(tokens: &Usage) -> Option<f64> {
    let prompts = tokens.prompt_tokens.filter(|prompts| *prompts > 0)?;
    Some((tokens.cache_read_tokens? as f64 / prompts as f64).min(1.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::query::RunQuery;
    use crate::run_catalog::{RunCatalog, RunOrder};
    use crate::tests::support::{SampleRun, SampleSpan, Sandbox, ordered, seconds, selected};

    fn stats(runs: &RunCatalog, by: Option<Grouping>) -> StoreStats {
        runs.stats(&selected(runs, &RunQuery::default()), by).unwrap()
    }

    fn runs() -> RunCatalog {
        let sandbox = Sandbox::new();
        let search = |number| SampleSpan::tool(number, "search", &json!({"n": number}), &json!({}));
        let well = SampleRun::new(1, "support - 2026-01-01 08:00")
            .span(SampleSpan::model(1, "gpt-5", "Hello", "Hi"))
            .span(search(2))
            .span(search(3))
            .attribute("tracer.tag.commit", "aaa");
        sandbox.write(&well);
        let failed = SampleRun::new(2, "support - 2026-01-01 09:00")
            .span(search(1).failed("Timeout", "late"))
            .attribute("tracer.tag.commit", "bbb")
            .failed("AgentError", "gave up");
        sandbox.write(&failed);
        sandbox.write(&SampleRun::new(3, "billing").running());
        sandbox.catalog()
    }

    fn groups(by: Grouping) -> Vec<(Option<String>, u64, u64, u64)> {
        let stats = stats(&runs(), Some(by)).groups.into_iter();
        stats
            .map(|group| (group.group, group.runs, group.calls, group.failed_calls))
            .collect()
    }

    #[test]
    fn all_runs_together() {
        let all = stats(&runs(), None).all;
        assert_eq!((all.runs, all.ended_runs, all.failed_runs), (3, 2, 1));
        assert_eq!(all.failure_rate, Some(0.5));
        assert_eq!((all.calls, all.failed_calls), (4, 1));
        assert_eq!((all.p50_us, all.p95_us), (Some(400_000), Some(400_000)));
        assert_eq!((all.total_tokens, all.cached_share), (Some(435), Some(0.25)));
        assert_eq!((all.cost_usd, all.unpriced_calls), (None, 1), "nobody sells it");
        assert_eq!(all.days, BTreeMap::from([("2026-01-01".to_owned(), 3)]));
        assert_eq!(stats(&Sandbox::new().catalog(), None).all.failure_rate, None);
    }

    #[test]
    fn groups_are_of_runs_or_of_calls() {
        let named = |name: &str| Some(name.to_owned());
        assert_eq!(
            groups(Grouping::Name),
            [(named("support"), 2, 4, 1), (named("billing"), 1, 0, 0)]
        );
        assert_eq!(groups(Grouping::Tool), [(named("search"), 2, 3, 1)]);
        assert_eq!(groups(Grouping::Model), [(named("gpt-5"), 1, 1, 0)]);
        assert_eq!(groups(Grouping::Day), [(named("2026-01-01"), 3, 4, 1)]);
        let commits = [(named("aaa"), 1, 3, 0), (named("bbb"), 1, 1, 1), (None, 1, 0, 0)];
        assert_eq!(groups(Grouping::Commit), commits);
        let errors = [(named("AgentError"), 1, 1, 1), (named("Timeout"), 1, 1, 1)];
        assert_eq!(groups(Grouping::Error), errors);
        assert_eq!(groups(Grouping::Tag).len(), 3);
        let errors = stats(&runs(), Some(Grouping::Error)).groups;
        assert_eq!(
            errors.iter().map(|group| group.errors).collect::<Vec<_>>(),
            [Some(1), Some(1)]
        );
        assert_eq!(stats(&runs(), Some(Grouping::Name)).groups[0].errors, None);
    }

    #[test]
    fn groups_are_sorted_by_every_column() {
        let sorted = |by, column, is_reversed| {
            let mut found = stats(&runs(), Some(by));
            found.sort(column, is_reversed, Some(by));
            let names = found.groups.into_iter().map(|group| group.group);
            names.map(Option::unwrap_or_default).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            sorted(Grouping::Name, StatsColumn::Group, false),
            "billing support"
        );
        assert_eq!(
            sorted(Grouping::Name, StatsColumn::Runs, false),
            "support billing"
        );
        assert_eq!(
            sorted(Grouping::Name, StatsColumn::Failed, false),
            "support billing",
            "what is not known is last"
        );
        assert_eq!(sorted(Grouping::Commit, StatsColumn::Failed, false), "bbb aaa ");
        assert_eq!(sorted(Grouping::Commit, StatsColumn::Tokens, true), " bbb aaa");
        for column in StatsColumn::ALL {
            assert_eq!(StatsColumn::from_word(column.as_str()), Some(column));
        }
    }

    #[test]
    fn days_without_runs_are_among_the_days() {
        let days = |days: &[&str]| days_of(&days.iter().map(|day| ((*day).to_owned(), 1)).collect());
        assert_eq!(
            days(&["2026-02-27", "2026-03-01"]),
            ["2026-02-27", "2026-02-28", "2026-03-01"]
        );
        assert_eq!(days(&["2020-01-01", "2026-03-01"]).len(), 30);
        assert!(days(&[]).is_empty());
    }

    #[test]
    fn every_number_leads_to_the_runs_behind_it() {
        let runs = runs();
        let all: RunQuery = "since:2020-01-01".parse().unwrap();
        for by in [None].into_iter().chain(Grouping::ALL.map(Some)) {
            let found = stats(&runs, by);
            let groups = found.groups.iter().map(|group| (false, group));
            for (is_all, group) in [(true, &found.all)].into_iter().chain(groups) {
                let behind = RunsBehind::new(&all, by.filter(|_| !is_all), group, false).unwrap();
                let counted = |column| {
                    // As the page reads it from its address.
                    let query: RunQuery = behind.query(column).to_string().parse().unwrap();
                    runs.count(&selected(&runs, &query)).unwrap() as u64
                };
                assert_eq!(counted(StatsColumn::Runs), group.runs, "{by:?} {group:?}");
                assert_eq!(counted(StatsColumn::Loops), group.loops, "{by:?} {group:?}");
                // Every group has a run that took as long as most, or a call that did.
                for column in [StatsColumn::P50, StatsColumn::P95] {
                    assert!(group.p95_us.is_none() || counted(column) > 0, "{by:?} {group:?}");
                }
                if is_all || by.is_none_or(|by| !by.is_of_calls()) {
                    assert_eq!(
                        counted(StatsColumn::Failed),
                        group.failed_runs,
                        "{by:?} {group:?}"
                    );
                } else {
                    assert_eq!(
                        counted(StatsColumn::Failed) > 0,
                        group.failed_calls > 0,
                        "{by:?} {group:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_percentile_of_calls_leads_to_the_runs_with_such_a_call() {
        let sandbox = Sandbox::new();
        let search =
            |number: u32, took| SampleSpan::tool(number, "search", &json!({}), &json!({})).taking(took);
        for (number, slowest) in [(1, 100), (2, 101), (3, 104), (4, 109)] {
            let calls = (1..=9).fold(SampleRun::new(number, "agent"), |run, call| {
                run.span(search(call, 20))
            });
            // A slow call of another tool is none of these.
            let other = SampleSpan::tool(11, "fetch", &json!({}), &json!({})).taking(900);
            sandbox.write(&calls.span(search(10, slowest)).span(other));
        }
        let runs = sandbox.catalog();
        let groups = stats(&runs, Some(Grouping::Tool)).groups;
        let group = groups
            .iter()
            .find(|group| group.group.as_deref() == Some("search"));
        let (group, by) = (group.unwrap(), Some(Grouping::Tool));
        assert!(group.p95_us.unwrap().abs_diff(101_000) <= 505, "{group:?}");
        let query = RunsBehind::new(&RunQuery::default(), by, group, true)
            .unwrap()
            .query(StatsColumn::P95);
        let behind = ordered(&runs, &query.to_string(), RunOrder::default());
        assert_eq!(seconds(&behind), [4, 3, 2]);
        let steps = query.of_steps().unwrap();
        assert!(steps.starts_with("tool:search duration>=100"), "{steps}");
        // Whatever else is asked of the runs.
        let query = RunsBehind::new(&"tool:fetch".parse().unwrap(), by, group, true)
            .unwrap()
            .query(StatsColumn::P95);
        assert_eq!(runs.count(&selected(&runs, &query)).unwrap(), 3);
        assert_eq!(query.of_steps(), None);
    }

    #[test]
    fn the_latency_of_a_tool_is_that_of_its_calls() {
        let tools = stats(&runs(), Some(Grouping::Tool)).groups;
        assert!(tools[0].p50_us.unwrap().abs_diff(20_000) <= 100);
        assert_eq!(tools[0].days.values().sum::<u64>(), 3);
    }
}
