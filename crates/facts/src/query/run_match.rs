//! Whether a run matches a query, as far as its facts say.

use tracer_sdk::format::{Timestamp, Usd};
use tracer_sdk::prices::CostSum;
use tracer_sdk::read::NamePattern;

use super::fields::{Feature, NumberField, TextField};
use super::{Condition, NumberComparison, RunQuery, TextComparison};
use crate::run_facts::{COMMIT_TAG, FURTHER, RunDetails, agent};
use crate::store::ListedRun;

/// A text that is shorter is no beginning of an ID.
const MIN_ID_CHARACTERS: usize = 4;

/// Whether a run matches, as far as its facts say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunMatch {
    /// It does not.
    No,
    /// It does.
    Yes,
    /// Its steps decide.
    IfSteps,
}

impl RunQuery {
    /// Whether a run matches. Details that are needed and missing are taken for unknown.
    #[must_use]
    pub fn matches(&self, run: &ListedRun, now: Timestamp) -> RunMatch {
        let mut found = RunMatch::Yes;
        for term in &self.terms {
            match condition(&term.condition, run, now) {
                ConditionOutcome::Known(holds) if holds != term.is_negated => {}
                ConditionOutcome::Steps => found = RunMatch::IfSteps,
                ConditionOutcome::Known(_) | ConditionOutcome::Unknown => return RunMatch::No,
            }
        }
        found
    }
}

/// What is known of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConditionOutcome {
    Known(bool),
    /// Nobody knows: neither it nor its negation holds.
    Unknown,
    /// It is in what the run's steps, or the step itself, hold.
    Steps,
}

impl From<Option<bool>> for ConditionOutcome {
    fn from(known: Option<bool>) -> Self {
        known.map_or(Self::Unknown, Self::Known)
    }
}

fn condition(condition: &Condition, run: &ListedRun, now: Timestamp) -> ConditionOutcome {
    let facts = &run.facts;
    match condition {
        // What a run is called is as good as what is in it.
        Condition::Text(text) if is_called(run, text) => ConditionOutcome::Known(true),
        Condition::Text(_) | Condition::Kind(_) => ConditionOutcome::Steps,
        Condition::Field {
            field,
            comparison,
            value,
        } => field_condition(*field, *comparison, value, run),
        Condition::Number {
            field: NumberField::Cost,
            comparison,
            number,
        } => run
            .details
            .as_ref()
            .and_then(|details| compare_cost(&details.cost, *comparison, *number))
            .into(),
        Condition::Number {
            field,
            comparison,
            number,
        } => {
            let value = match field {
                NumberField::Tokens => facts.tokens.total,
                NumberField::Input => facts.tokens.input,
                NumberField::Output => facts.tokens.output,
                NumberField::Cached => facts.tokens.cache_read,
                NumberField::Reasoning => facts.tokens.reasoning,
                // Compared above: it may be known in part.
                NumberField::Cost => None,
                NumberField::Duration => run.duration_until(now),
                NumberField::Steps => Some(facts.steps),
                NumberField::LlmCalls => Some(facts.llm_calls),
                NumberField::ToolCalls => Some(facts.tool_calls),
                NumberField::Errors => Some(facts.errors),
                NumberField::Failures => Some(facts.failed_calls),
                NumberField::Retries => Some(facts.retries),
            };
            value.map(|value| comparison.holds(value, *number)).into()
        }
        Condition::Status(statuses) => ConditionOutcome::Known(statuses.contains(&run.status)),
        Condition::Has(feature) => has(*feature, run).into(),
        // One without a readable start is not hidden for being damaged.
        Condition::Since(moment) => {
            ConditionOutcome::Known(run.started().is_none_or(|started| started >= moment.instant(now)))
        }
        Condition::Until(moment) => run.started().map(|started| started < moment.instant(now)).into(),
    }
}

/// Compares a cost with millionths of a dollar; `None` where what is known of it does not decide.
fn compare_cost(cost: &CostSum, comparison: NumberComparison, millionths: u64) -> Option<bool> {
    let text = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    let limit: Usd = text.parse().ok()?;
    if let Some(usd) = cost.usd() {
        return Some(comparison.holds(usd, limit));
    }
    // It is at least what is known of it.
    let least = cost.known;
    match comparison {
        NumberComparison::MoreThan => (least > limit).then_some(true),
        NumberComparison::AtLeast => (least >= limit).then_some(true),
        NumberComparison::LessThan => (least >= limit).then_some(false),
        NumberComparison::AtMost | NumberComparison::Exactly => (least > limit).then_some(false),
    }
}

/// Whether a text is a part of the run's label, or the beginning of its ID.
fn is_called(run: &ListedRun, text: &str) -> bool {
    let name = run.facts.name.as_deref();
    name.is_some_and(|name| TextMatch::new(TextComparison::Contains, text).holds(name))
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
        Feature::Tokens => Some(facts.tokens.total.is_some()),
        Feature::Trial => Some(facts.is_trial),
    }
}

fn field_condition(
    field: TextField,
    comparison: TextComparison,
    value: &str,
    run: &ListedRun,
) -> ConditionOutcome {
    let compare = TextMatch::new(comparison, value);
    let one = |text: Option<&str>| ConditionOutcome::Known(text.is_some_and(|text| compare.holds(text)));
    let details: Option<&RunDetails> = run.details.as_deref();
    match (field, details) {
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
            let (key, value) = value.split_once('=').unwrap_or((value, "*"));
            let (key, value) = (TextMatch::new(comparison, key), TextMatch::new(comparison, value));
            let is_one = |(name, said): (&String, &String)| key.holds(name) && value.holds_any(said);
            ConditionOutcome::Known(details.tags.iter().any(is_one))
        }
        (TextField::Tool, Some(details)) => any(details.tools.keys(), |name| compare.holds(name)),
        (TextField::Model, Some(details)) => any(details.models.keys(), |name| compare.holds(name)),
        (TextField::Failed, Some(details)) => {
            let called = details.tools.iter().chain(&details.models);
            let failed = called.filter(|(_, calls)| calls.failed > 0);
            any(failed.map(|(name, _)| name), |name| compare.holds(name))
        }
        (TextField::Error, Some(details)) => any(details.failures.keys(), |name| compare.holds_error(name)),
        // In steps: see above.
        (TextField::Args | TextField::Result | TextField::Prompt | TextField::Answer, Some(_)) => {
            ConditionOutcome::Steps
        }
    }
}

/// Whether one of the names is meant. Where there were too many to keep, only the steps say that none is.
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

    /// Whether the type of an error is meant: `Timeout` is `asyncio.TimeoutError`, too.
    pub(super) fn holds_error(&self, error: &str) -> bool {
        let class = error.rsplit(['.', ':']).next().unwrap_or(error);
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
                [110_000, 120_000, 130_000].map(|millionths| compare_cost(cost, comparison, millionths))
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
        assert_eq!(compare_cost(&cost, MoreThan, u64::MAX), None);
    }
}
