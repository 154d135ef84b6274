//! [`SqlFilter`]: a query of runs as a condition of SQL.

use tracer_sdk::format::{Timestamp, TraceId};

use super::fields::{Feature, NumberField, TextField};
use super::{Condition, NumberComparison, QueryTerm, RunQuery, TextComparison};
use crate::run_row::FURTHER;

/// A text that is shorter is no beginning of an ID.
const MIN_ID_CHARACTERS: usize = 4;

/// The condition of a query over the rows of the view `listed`. NULL is what is not known: it holds neither for a condition nor
/// for its negation.
#[derive(Debug, Clone)]
pub(crate) struct SqlFilter {
    /// True of a run that matches, or whose steps decide.
    pub(crate) possible: String,
    /// True of one of these whose steps decide; empty where none do.
    pub(crate) undecided: String,
    /// The values of `?1`, `?2`, …
    pub(crate) parameters: Vec<String>,
}

/// A condition on a row.
struct SqlTerm {
    /// 1 where it holds, 0 where it does not, NULL where that is unknown.
    holds: String,
    /// True of a row whose steps decide where `holds` is 0.
    is_open: Option<String>,
}

impl From<String> for SqlTerm {
    fn from(holds: String) -> Self {
        Self { holds, is_open: None }
    }
}

impl SqlFilter {
    /// The condition of a query as it is `now`, on runs and trials of gates, or on runs alone.
    pub(crate) fn new(query: &RunQuery, with_trials: bool, now: Timestamp) -> Self {
        let mut filter = Self {
            possible: if with_trials { "1" } else { "is_trial = 0" }.to_owned(),
            undecided: String::new(),
            parameters: Vec::new(),
        };
        let calls = named_calls(query);
        for term in &query.terms {
            filter.add(term, calls, now);
        }
        filter
    }

    /// Adds a term that no steps decide.
    pub(crate) fn with(mut self, condition: Condition, now: Timestamp) -> Self {
        self.add(&QueryTerm::holds(condition), None, now);
        self
    }

    /// Takes the steps for read: of the runs that they decide, these match.
    pub(crate) fn decide(&mut self, matching: &[TraceId]) {
        let ids: Vec<String> = matching.iter().map(ToString::to_string).collect();
        let matching = self.parameter(&serde_json::json!(ids).to_string());
        let undecided = std::mem::take(&mut self.undecided);
        self.possible = format!(
            "{} AND (NOT coalesce({undecided}, 0) OR {ID} IN (SELECT value FROM json_each({matching})))",
            self.possible
        );
    }

    fn add(&mut self, term: &QueryTerm, calls: Option<&Condition>, now: Timestamp) {
        let SqlTerm { holds, is_open } = self.term(&term.condition, calls, now);
        let (possible, undecided) = match (term.is_negated, is_open) {
            (false, None) => (holds, None),
            (false, Some(is_open)) => (format!("({holds} OR {is_open})"), Some(format!("NOT {holds}"))),
            (true, is_open) => (format!("NOT {holds}"), is_open),
        };
        self.possible = format!("{} AND {possible}", self.possible);
        if let Some(undecided) = undecided {
            let others = std::mem::take(&mut self.undecided);
            self.undecided = if others.is_empty() {
                undecided
            } else {
                format!("{others} OR {undecided}")
            };
        }
    }

    /// The place of a text among the parameters.
    fn parameter(&mut self, text: &str) -> String {
        self.parameters.push(text.to_owned());
        format!("?{}", self.parameters.len())
    }

    /// A comparison with a text; NULL is not like any.
    fn is_like(&mut self, text: &str, comparison: TextComparison, value: &str) -> String {
        let value = self.parameter(value);
        format!("coalesce({}({value}, {text}), 0)", function(comparison))
    }

    /// True of a text that begins so, or is like the value.
    fn begins(&mut self, text: &str, value: &str) -> String {
        let value = self.parameter(value);
        format!("({value} <> '' AND substr({text}, 1, length({value})) = {value} COLLATE NOCASE)")
    }

    fn term(&mut self, condition: &Condition, calls: Option<&Condition>, now: Timestamp) -> SqlTerm {
        match condition {
            Condition::Text(text) => {
                let is_part = self.is_like("name", TextComparison::Contains, text);
                let begins = if text.len() >= MIN_ID_CHARACTERS {
                    self.begins(ID, text)
                } else {
                    "0".to_owned()
                };
                SqlTerm {
                    holds: format!("({is_part} OR {begins})"),
                    is_open: Some("1".to_owned()),
                }
            }
            Condition::Field { field, .. } if field.is_in_steps() => SqlTerm::in_steps(),
            Condition::Kind(_) => SqlTerm::in_steps(),
            Condition::Field {
                field,
                comparison,
                value,
            } => self.field(*field, *comparison, value),
            Condition::Number {
                field,
                comparison,
                number,
            } => self.number(*field, *comparison, *number, calls, now),
            Condition::Status(statuses) => {
                let words = statuses.iter().map(|status| format!("'{}'", status.as_str()));
                format!("current_status IN ({})", words.collect::<Vec<_>>().join(", ")).into()
            }
            Condition::Has(feature) => has(*feature).to_owned().into(),
            // One without a readable start is not hidden for being damaged.
            Condition::Since(moment) => {
                let start = moment.instant(now).unix_microseconds();
                format!("(started IS NULL OR started >= {start})").into()
            }
            Condition::Until(moment) => {
                format!("(started < {})", moment.instant(now).unix_microseconds()).into()
            }
        }
    }

    fn field(&mut self, field: TextField, comparison: TextComparison, value: &str) -> SqlTerm {
        let mut of_text = |text: &str| self.is_like(text, comparison, value).into();
        match field {
            TextField::Name => of_text("name"),
            TextField::Agent => of_text("agent(name)"),
            TextField::Session => of_text("session"),
            TextField::Command => of_text("(facts ->> '$.c')"),
            TextField::Id | TextField::Commit => {
                let text = if field == TextField::Id {
                    ID
                } else {
                    "(facts ->> '$.g.commit')"
                };
                let is_like = self.is_like(text, comparison, value);
                let begins = self.begins(text, value);
                format!("({is_like} OR coalesce({begins}, 0))").into()
            }
            TextField::Tag => {
                let (key, said) = value.split_once('=').unwrap_or((value, "*"));
                let mut is_like = self.is_like("key", comparison, key);
                if said != "*" {
                    is_like = format!("{is_like} AND {}", self.is_like("value", comparison, said));
                }
                format!("EXISTS (SELECT 1 FROM json_each(facts, '$.g') WHERE {is_like})").into()
            }
            TextField::Tool => self.one_of(TOOLS, comparison, value),
            TextField::Model => self.one_of(MODELS, comparison, value),
            TextField::Failed => {
                let failed = format!(
                    "(SELECT * FROM {TOOLS} UNION ALL SELECT * FROM {MODELS}) WHERE value ->> '$.f' > 0"
                );
                self.one_of(&format!("(SELECT key FROM {failed})"), comparison, value)
            }
            TextField::Error => {
                let is_like = format!("error_{}({}, key)", function(comparison), self.parameter(value));
                any("json_each(facts, '$.e')", &is_like)
            }
            TextField::Args | TextField::Result | TextField::Prompt | TextField::Answer => {
                SqlTerm::in_steps()
            }
        }
    }

    /// True where one of the names is like a value.
    fn one_of(&mut self, names: &str, comparison: TextComparison, value: &str) -> SqlTerm {
        let is_like = self.is_like("key", comparison, value);
        any(names, &is_like)
    }

    fn number(
        &mut self,
        field: NumberField,
        comparison: NumberComparison,
        number: u64,
        calls: Option<&Condition>,
        now: Timestamp,
    ) -> SqlTerm {
        let sign = comparison.as_str();
        match field {
            NumberField::NotRunCalls => SqlTerm::in_steps(),
            NumberField::Cost => format!("cost_compares({MODEL_CALLS}, '{sign}', '{number}')").into(),
            NumberField::Slowest => {
                let (calls, is_one) = match calls {
                    Some(Condition::Field {
                        field,
                        comparison,
                        value,
                    }) => {
                        let calls = if *field == TextField::Tool { TOOLS } else { MODELS };
                        (calls.to_owned(), self.is_like("key", *comparison, value))
                    }
                    _ => (
                        format!("(SELECT * FROM {TOOLS} UNION ALL SELECT * FROM {MODELS})"),
                        "1".to_owned(),
                    ),
                };
                let slowest = format!("SELECT max(slowest(value -> '$.l')) FROM {calls} WHERE {is_one}");
                format!("(({slowest}) {sign} {})", clamped(number)).into()
            }
            field => format!("({} {sign} {})", field.column(now), clamped(number)).into(),
        }
    }
}

impl SqlTerm {
    /// A condition that steps alone decide.
    fn in_steps() -> Self {
        Self {
            holds: "0".to_owned(),
            is_open: Some("1".to_owned()),
        }
    }
}

const ID: &str = "lower(hex(trace_id))";
/// The calls of a run by the names of tools and models.
const TOOLS: &str = "json_each(facts, '$.t')";
const MODELS: &str = "json_each(facts, '$.m')";
/// The calls of models by what decides their price.
pub(crate) const MODEL_CALLS: &str = "(facts -> '$.\"$\"')";

/// True where one of these names is meant. Where there were too many to keep, only the steps say that none is.
fn any(names: &str, is_one: &str) -> SqlTerm {
    SqlTerm {
        holds: format!("EXISTS (SELECT 1 FROM {names} WHERE {is_one})"),
        is_open: Some(format!("EXISTS (SELECT 1 FROM {names} WHERE key = '{FURTHER}')")),
    }
}

fn function(comparison: TextComparison) -> &'static str {
    match comparison {
        TextComparison::Is => "is_like",
        TextComparison::Contains => "has_part",
    }
}

/// A number as `SQLite` has it; the largest one stands for those that are larger.
fn clamped(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn has(feature: Feature) -> &'static str {
    match feature {
        Feature::Answer => "(facts ->> '$.a' IS NOT NULL)",
        Feature::Error => "EXISTS (SELECT 1 FROM json_each(facts, '$.e'))",
        Feature::Tag => "EXISTS (SELECT 1 FROM json_each(facts, '$.g'))",
        Feature::Session => "(session IS NOT NULL)",
        Feature::Retry => "(retries > 0)",
        Feature::Tokens => "(total_tokens IS NOT NULL)",
        Feature::Trial => "is_trial",
        Feature::Waiting => "is_waiting",
    }
}

/// The last condition that names tools or models.
fn named_calls(query: &RunQuery) -> Option<&Condition> {
    let positive = query.terms.iter().filter(|term| !term.is_negated);
    let mut conditions = positive.rev().map(|term| &term.condition);
    conditions.find(|condition| condition.names_calls())
}

impl NumberField {
    /// The column of a run's number; NULL where it is not known, or is no number of the run itself: a cost that is known in part,
    /// the time of some calls, and what steps alone say.
    pub(crate) fn column(self, now: Timestamp) -> String {
        let column = match self {
            Self::Tokens => "total_tokens",
            Self::Input => "input_tokens",
            Self::Output => "output_tokens",
            Self::Cached => "cached_tokens",
            Self::Reasoning => "reasoning_tokens",
            Self::Cost | Self::Slowest | Self::NotRunCalls => "NULL",
            Self::Duration => {
                let now = now.unix_microseconds();
                return format!(
                    "coalesce(duration, CASE WHEN current_status = 'running' AND started <= {now} THEN {now} - started END)"
                );
            }
            Self::Failures => "failed_calls",
            field => field.as_str(),
        };
        column.to_owned()
    }
}
