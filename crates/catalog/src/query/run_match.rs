//! [`FactsTest`]: the runs that match a query by their facts.

use std::collections::BTreeMap;

use tracer_insight::status::RunStatus;
use tracer_runs::NamePattern;
use tracer_sdk::format::{Timestamp, Usd, error_type};
use tracer_sdk::prices::CostSum;

use super::fields::{Feature, NumberField, TextField};
use super::{Condition, NumberComparison, RunQuery, TextComparison};
use crate::run_facts::{COMMIT_TAG, CallTotals, FURTHER, RunDetails, agent};
use crate::store::ListedRun;

/// A text that is shorter is no beginning of an ID.
const MIN_ID_CHARACTERS: usize = 4;

/// The match of a run, by its facts alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMatch {
    /// It does not.
    No,
    /// It does.
    Yes,
    /// Its steps decide.
    IfSteps,
}

/// The conditions of a query on the facts of runs, made once for however many runs.
///
/// ```
/// use tracer_catalog::FactsStore;
/// use tracer_catalog::query::{FactsTest, RunMatch};
/// use tracer_insight::units::now;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let runs = FactsStore::new(folder.path()).all(true)?.runs;
/// let test = FactsTest::new(&"name:capt* steps<10".parse()?, now());
/// assert_eq!(test.matches(&runs[0]), RunMatch::Yes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct FactsTest {
    /// Each with whether it must not hold.
    conditions: Vec<(bool, FactsCondition)>,
    now: Timestamp,
}

#[derive(Debug, Clone)]
enum FactsCondition {
    /// A text in the name, the ID or the steps of a run.
    Text(String, TextMatch),
    Field(FieldTest),
    Number(NumberField, NumberComparison, u64),
    Cost(NumberComparison, Option<Usd>),
    Slowest(NumberComparison, u64, NamedCalls),
    Status(Vec<RunStatus>),
    Has(Feature),
    Since(Timestamp),
    Until(Timestamp),
    /// It is of steps alone.
    Steps,
}

/// The pattern of a name or a text.
#[derive(Debug, Clone)]
struct FieldTest {
    field: TextField,
    value: String,
    compare: TextMatch,
    /// Of a tag, its key and its value.
    tag: Option<(TextMatch, TextMatch)>,
}

impl FactsTest {
    /// The conditions of a query, as they are `now`.
    #[must_use]
    pub fn new(query: &RunQuery, now: Timestamp) -> Self {
        let terms = query.terms.iter();
        let calls = NamedCalls::new(query);
        let conditions =
            terms.map(|term| (term.is_negated, FactsCondition::new(&term.condition, &calls, now)));
        Self {
            conditions: conditions.collect(),
            now,
        }
    }

    /// The match of a run. Details that are needed and missing are taken for unknown.
    #[must_use]
    pub fn matches(&self, run: &ListedRun) -> RunMatch {
        let mut found = RunMatch::Yes;
        for (is_negated, condition) in &self.conditions {
            match condition.outcome(run, self.now) {
                ConditionOutcome::Known(holds) if holds != *is_negated => {}
                ConditionOutcome::Steps => found = RunMatch::IfSteps,
                ConditionOutcome::Known(_) | ConditionOutcome::Unknown => return RunMatch::No,
            }
        }
        found
    }
}

/// The outcome of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConditionOutcome {
    Known(bool),
    /// Unknown: neither it nor its negation holds.
    Unknown,
    /// It is in what the run's steps, or the step itself, hold.
    Steps,
}

impl From<Option<bool>> for ConditionOutcome {
    fn from(known: Option<bool>) -> Self {
        known.map_or(Self::Unknown, Self::Known)
    }
}

impl FactsCondition {
    fn new(condition: &Condition, calls: &NamedCalls, now: Timestamp) -> Self {
        match condition {
            Condition::Text(text) => Self::Text(text.clone(), TextMatch::new(TextComparison::Contains, text)),
            Condition::Kind(_)
            | Condition::Number {
                field: NumberField::NotRunCalls,
                ..
            } => Self::Steps,
            Condition::Field {
                field,
                comparison,
                value,
            } => Self::Field(FieldTest::new(*field, *comparison, value)),
            Condition::Number {
                field: NumberField::Cost,
                comparison,
                number,
            } => Self::Cost(*comparison, dollars(*number)),
            Condition::Number {
                field: NumberField::Slowest,
                comparison,
                number,
            } => Self::Slowest(*comparison, *number, calls.clone()),
            Condition::Number {
                field,
                comparison,
                number,
            } => Self::Number(*field, *comparison, *number),
            Condition::Status(statuses) => Self::Status(statuses.clone()),
            Condition::Has(feature) => Self::Has(*feature),
            Condition::Since(moment) => Self::Since(moment.instant(now)),
            Condition::Until(moment) => Self::Until(moment.instant(now)),
        }
    }

    fn outcome(&self, run: &ListedRun, now: Timestamp) -> ConditionOutcome {
        match self {
            Self::Text(text, part) if is_called(run, text, part) => ConditionOutcome::Known(true),
            Self::Text(..) | Self::Steps => ConditionOutcome::Steps,
            Self::Field(test) => test.outcome(run),
            Self::Cost(comparison, limit) => run
                .details
                .as_ref()
                .zip(*limit)
                .and_then(|(details, limit)| compare_cost(&details.cost, *comparison, limit))
                .into(),
            Self::Slowest(comparison, number, calls) => run
                .details
                .as_ref()
                .and_then(|details| calls.slowest(details))
                .map(|slowest| comparison.holds(slowest, *number))
                .into(),
            Self::Number(field, comparison, number) => {
                let value = field.of(run, now);
                value.map(|value| comparison.holds(value, *number)).into()
            }
            Self::Status(statuses) => ConditionOutcome::Known(statuses.contains(&run.status)),
            Self::Has(feature) => has(*feature, run).into(),
            // One without a readable start is not hidden for being damaged.
            Self::Since(start) => {
                ConditionOutcome::Known(run.started().is_none_or(|started| started >= *start))
            }
            Self::Until(end) => run.started().map(|started| started < *end).into(),
        }
    }
}

impl NumberField {
    /// The number of a run; `None` where it is not known, or is no number of the run itself: a cost that is known in part, the
    /// time of some calls, and what steps alone say.
    pub(crate) fn of(self, run: &ListedRun, now: Timestamp) -> Option<u64> {
        let facts = &run.facts;
        match self {
            Self::Tokens => facts.tokens.total_tokens,
            Self::Input => facts.tokens.prompt_tokens,
            Self::Output => facts.tokens.completion_tokens,
            Self::Cached => facts.tokens.cache_read_tokens,
            Self::Reasoning => facts.tokens.reasoning_tokens,
            Self::Cost | Self::Slowest | Self::NotRunCalls => None,
            Self::Duration => run.duration_until(now),
            Self::Steps => Some(facts.steps),
            Self::LlmCalls => Some(facts.llm_calls),
            Self::ToolCalls => Some(facts.tool_calls),
            Self::Errors => Some(facts.errors),
            Self::Failures => Some(facts.failed_calls),
            Self::UnknownCalls => Some(facts.unknown_calls),
            Self::Retries => Some(facts.retries),
        }
    }
}

/// The calls that the last `tool` or `model` of a query names.
#[derive(Debug, Clone)]
enum NamedCalls {
    /// It has neither.
    All,
    OfTool(TextMatch),
    OfModel(TextMatch),
}

impl NamedCalls {
    fn new(query: &RunQuery) -> Self {
        let positive = query.terms.iter().filter(|term| !term.is_negated);
        let named = positive.rev().find_map(|term| {
            let Condition::Field {
                field,
                comparison,
                value,
            } = &term.condition
            else {
                return None;
            };
            let name = || TextMatch::new(*comparison, value);
            match field {
                TextField::Tool => Some(Self::OfTool(name())),
                TextField::Model => Some(Self::OfModel(name())),
                _ => None,
            }
        });
        named.unwrap_or(Self::All)
    }

    /// The duration of the slowest of them in a run; `None` where it is not known.
    fn slowest(&self, details: &RunDetails) -> Option<u64> {
        let slowest = |calls: &BTreeMap<String, CallTotals>, wanted: Option<&TextMatch>| {
            let is_one = |name: &str| wanted.is_none_or(|wanted| wanted.holds(name));
            let named = calls.iter().filter(|(name, _)| is_one(name));
            named.filter_map(|(_, calls)| calls.latencies.slowest()).max()
        };
        match self {
            Self::All => slowest(&details.tools, None).max(slowest(&details.models, None)),
            Self::OfTool(name) => slowest(&details.tools, Some(name)),
            Self::OfModel(name) => slowest(&details.models, Some(name)),
        }
    }
}

/// Millionths of a dollar; `None` of more than there is.
fn dollars(millionths: u64) -> Option<Usd> {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    text.parse().ok()
}

/// Compares a cost; `None` where its known part does not decide.
fn compare_cost(cost: &CostSum, comparison: NumberComparison, limit: Usd) -> Option<bool> {
    if let Some(usd) = cost.usd() {
        return Some(comparison.holds(usd, limit));
    }
    // It is at least its known part.
    let least = cost.known;
    match comparison {
        NumberComparison::MoreThan => (least > limit).then_some(true),
        NumberComparison::AtLeast => (least >= limit).then_some(true),
        NumberComparison::LessThan => (least >= limit).then_some(false),
        NumberComparison::AtMost | NumberComparison::Exactly => (least > limit).then_some(false),
    }
}

/// True of a text that is a part of the run's label, or the beginning of its ID.
fn is_called(run: &ListedRun, text: &str, part: &TextMatch) -> bool {
    let name = run.facts.name.as_deref();
    name.is_some_and(|name| part.holds(name))
        || (text.len() >= MIN_ID_CHARACTERS && begins(&run.directory.trace_id.to_string(), text))
}

fn has(feature: Feature, run: &ListedRun) -> Option<bool> {
    let facts = &run.facts;
    let details = run.details.as_ref();
    match feature {
        Feature::Answer => details.map(|details| details.answer.is_some()),
        Feature::Error => details.map(|details| !details.failures.is_empty()),
        Feature::Tag => details.map(|details| !details.tags.is_empty()),
        Feature::Session => Some(facts.session.is_some()),
        Feature::Retry => Some(facts.retries > 0),
        Feature::Tokens => Some(facts.tokens.total_tokens.is_some()),
        Feature::Trial => Some(facts.is_trial),
        Feature::Waiting => Some(facts.is_waiting),
    }
}

impl FieldTest {
    fn new(field: TextField, comparison: TextComparison, value: &str) -> Self {
        let compared = |text| TextMatch::new(comparison, text);
        let (key, tag) = value.split_once('=').unwrap_or((value, "*"));
        Self {
            field,
            value: value.to_owned(),
            compare: compared(value),
            tag: (field == TextField::Tag).then(|| (compared(key), compared(tag))),
        }
    }

    fn outcome(&self, run: &ListedRun) -> ConditionOutcome {
        let Self { value, compare, .. } = self;
        let one = |text: Option<&str>| ConditionOutcome::Known(text.is_some_and(|text| compare.holds(text)));
        let details: Option<&RunDetails> = run.details.as_deref();
        match (self.field, details) {
            (TextField::Name, _) => one(run.facts.name.as_deref()),
            (TextField::Agent, _) => one(agent(run.facts.name.as_deref())),
            (TextField::Id, _) => {
                let id = run.directory.trace_id.to_string();
                ConditionOutcome::Known(begins(&id, value) || compare.holds(&id))
            }
            (TextField::Session, _) => one(run.facts.session.as_deref()),
            (field, _) if field.is_in_steps() => ConditionOutcome::Steps,
            (_, None) => ConditionOutcome::Unknown,
            (TextField::Command, Some(details)) => one(details.command.as_deref()),
            (TextField::Commit, Some(details)) => {
                let commit = details.tags.get(COMMIT_TAG);
                ConditionOutcome::Known(
                    commit.is_some_and(|commit| begins(commit, value) || compare.holds(commit)),
                )
            }
            (TextField::Tag, Some(details)) => {
                let is_one = |(key, value): &(TextMatch, TextMatch)| {
                    let mut tags = details.tags.iter();
                    tags.any(|(name, said)| key.holds(name) && value.holds_any(said))
                };
                ConditionOutcome::Known(self.tag.as_ref().is_some_and(is_one))
            }
            (TextField::Tool, Some(details)) => any(details.tools.keys(), |name| compare.holds(name)),
            (TextField::Model, Some(details)) => any(details.models.keys(), |name| compare.holds(name)),
            (TextField::Failed, Some(details)) => {
                let called = details.tools.iter().chain(&details.models);
                let failed = called.filter(|(_, calls)| calls.failed > 0);
                any(failed.map(|(name, _)| name), |name| compare.holds(name))
            }
            (TextField::Error, Some(details)) => {
                any(details.failures.keys(), |name| compare.holds_error(name))
            }
            // In steps: see above.
            (TextField::Args | TextField::Result | TextField::Prompt | TextField::Answer, Some(_)) => {
                ConditionOutcome::Steps
            }
        }
    }
}

/// True where one of the names is meant. Where there were too many to keep, only the steps say that none is.
fn any<'a>(
    mut names: impl Iterator<Item = &'a String> + Clone,
    holds: impl Fn(&str) -> bool,
) -> ConditionOutcome {
    if names.clone().any(|name| holds(name)) {
        return ConditionOutcome::Known(true);
    }
    if names.any(|name| name == FURTHER) {
        return ConditionOutcome::Steps;
    }
    ConditionOutcome::Known(false)
}

fn begins(text: &str, beginning: &str) -> bool {
    text.get(..beginning.len())
        .is_some_and(|start| !beginning.is_empty() && start.eq_ignore_ascii_case(beginning))
}

/// A comparison with a text, ignoring case.
#[derive(Debug, Clone)]
pub(super) struct TextMatch {
    comparison: TextComparison,
    /// In lower case.
    text: String,
    pattern: Option<NamePattern>,
}

impl TextMatch {
    pub(super) fn new(comparison: TextComparison, text: &str) -> Self {
        let is_glob = comparison == TextComparison::Is && text.contains(['*', '?']);
        Self {
            comparison,
            text: text.to_lowercase(),
            pattern: is_glob.then(|| NamePattern::new(text)),
        }
    }

    pub(super) fn holds(&self, text: &str) -> bool {
        match (&self.pattern, self.comparison) {
            (Some(pattern), _) => pattern.matches(text),
            (None, TextComparison::Is) => text.to_lowercase() == self.text,
            (None, TextComparison::Contains) => text.to_lowercase().contains(&self.text),
        }
    }

    /// The same, where `*` alone is any text, whatever the comparison.
    fn holds_any(&self, text: &str) -> bool {
        self.text == "*" || self.holds(text)
    }

    /// True of the type of an error that is meant: `Timeout` is `asyncio.TimeoutError`, too.
    pub(super) fn holds_error(&self, error: &str) -> bool {
        let class = error_type::class(error);
        let stem = ["Error", "Exception"]
            .into_iter()
            .find_map(|ending| class.strip_suffix(ending))
            .filter(|stem| !stem.is_empty());
        self.holds(error) || self.holds(class) || stem.is_some_and(|stem| self.holds(stem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_is_known_in_part_is_at_least_that() {
        use NumberComparison::{AtLeast, AtMost, Exactly, LessThan, MoreThan};
        let mut cost = CostSum::default();
        cost.known = Usd::from_cents(12);
        let compared = |cost: &CostSum| {
            [MoreThan, AtLeast, LessThan, AtMost, Exactly].map(|comparison| {
                [11, 12, 13].map(|cents| compare_cost(cost, comparison, Usd::from_cents(cents)))
            })
        };
        let (yes, no) = (Some(true), Some(false));
        assert_eq!(
            compared(&cost),
            [
                [yes, no, no],
                [yes, yes, no],
                [no, no, yes],
                [no, yes, yes],
                [no, yes, no]
            ]
        );
        cost.unpriced = 1;
        assert_eq!(
            compared(&cost),
            [
                [yes, None, None],
                [yes, yes, None],
                [no, no, None],
                [no, None, None],
                [no, None, None]
            ]
        );
        assert_eq!(dollars(120_000), Some(Usd::from_cents(12)));
        let most = dollars(u64::MAX).unwrap();
        assert_eq!(compare_cost(&cost, MoreThan, most), None);
    }
}
