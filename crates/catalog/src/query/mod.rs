//! The query language: what runs and steps are asked for in `list`, `search`, `stats`, the page, and by coding agents.
//! A [`RunQuery`] asks for runs, a [`StepQuery`] for the steps of one run: one grammar, each with its own fields.
//!
//! ```text
//! tool:search_kb args~refund model:gpt-5* error:Timeout status:failed tokens>10k duration>30s since:7d -name:test "free text"
//! ```
//!
//! All terms have to hold; `-` before one negates it. `field:value` compares the whole value, ignoring case, where `*` stands
//! for any text and `?` for any character; `field~value` finds a part. A text without a field is anywhere in a step.
//!
//! A run matches when each term holds somewhere in it. `args` and `result` are those of a call of `tool`, `prompt` and `answer`
//! those of a call of `model`; `slowest` is of the calls that the last `tool` or `model` names. What is not known matches
//! neither a comparison nor its negation.

mod fields;
mod parse;
mod since;
mod sql;
mod sql_functions;
mod step_match;
mod step_query;
mod text_match;

#[cfg(test)]
mod tests;

use std::str::FromStr;

use tracer_insight::status::RunStatus;
use tracer_insight::step_kind::StepKind;

pub use fields::{Feature, NumberField, QueryScope, TextField};
pub use parse::QueryError;
pub use since::{InvalidSince, Since};
pub(crate) use sql::{MODEL_CALLS, SqlFilter};
pub(crate) use sql_functions::register;
pub use step_match::StepColumns;
pub(crate) use step_query::is_step;
pub use step_query::{RunTest, StepQuery};

/// A query: terms that all have to hold. Without any, every run matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunQuery {
    /// The terms.
    pub terms: Vec<QueryTerm>,
}

/// A condition, or its negation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTerm {
    /// Set where it must not hold.
    pub is_negated: bool,
    /// The condition.
    pub condition: Condition,
}

impl QueryTerm {
    /// Requires a condition.
    pub fn holds(condition: Condition) -> Self {
        Self {
            is_negated: false,
            condition,
        }
    }

    /// Excludes a condition.
    pub fn fails(condition: Condition) -> Self {
        Self {
            is_negated: true,
            condition,
        }
    }
}

/// A condition that has to hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// A text is anywhere in a step.
    Text(String),
    /// A name or a text is like this.
    Field {
        /// Which.
        field: TextField,
        /// In whole or in part.
        comparison: TextComparison,
        /// The text that it is compared with.
        value: String,
    },
    /// A number compares like this.
    Number {
        /// Which.
        field: NumberField,
        /// The comparison.
        comparison: NumberComparison,
        /// With what: a count, microseconds, or millionths of a dollar.
        number: u64,
    },
    /// The run has one of these statuses.
    Status(Vec<RunStatus>),
    /// A step has one of these kinds.
    Kind(Vec<StepKind>),
    /// The run has something.
    Has(Feature),
    /// The run started then or later.
    Since(Since),
    /// The run started before.
    Until(Since),
}

impl Condition {
    /// A field that is like a value.
    pub fn is(field: TextField, value: &str) -> Self {
        Self::Field {
            field,
            comparison: TextComparison::Is,
            value: value.to_owned(),
        }
    }

    /// True of one that names tools or models.
    fn names_calls(&self) -> bool {
        matches!(
            self,
            Self::Field {
                field: TextField::Tool | TextField::Model,
                ..
            }
        )
    }
}

/// The comparison of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextComparison {
    /// All of it, with `*` and `?`.
    Is,
    /// A part of it.
    Contains,
}

tracer_sdk::words! {
    /// The comparison of a number; its word is its operator in SQL.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum NumberComparison {
        /// `:`
        Exactly = "=",
        /// `>`
        MoreThan = ">",
        /// `>=`
        AtLeast = ">=",
        /// `<`
        LessThan = "<",
        /// `<=`
        AtMost = "<=",
    }
}

impl NumberComparison {
    fn holds<Number: PartialOrd + Copy>(self, value: Number, number: Number) -> bool {
        match self {
            Self::Exactly => value == number,
            Self::MoreThan => value > number,
            Self::AtLeast => value >= number,
            Self::LessThan => value < number,
            Self::AtMost => value <= number,
        }
    }
}

impl FromStr for RunQuery {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let terms = parse::parse(text, QueryScope::Runs)?;
        Ok(Self { terms })
    }
}

impl RunQuery {
    /// True of a query that every run matches.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }

    /// The query of the steps of a matching run that it asks for, to find them there: a [`StepQuery`]. `None` where it asks for no
    /// steps beyond the names of tools and models, or for several that need not be one.
    #[must_use]
    pub fn of_steps(&self) -> Option<String> {
        let positive = self.terms.iter().filter(|term| !term.is_negated);
        let mut conditions: Vec<Condition> = positive.filter_map(|term| of_step(&term.condition)).collect();
        let has = |fields: &[TextField]| {
            conditions.iter().any(
                |condition| matches!(condition, Condition::Field { field, .. } if fields.contains(field)),
            )
        };
        let is_of_tools = has(&[TextField::Tool, TextField::Args, TextField::Result]);
        let is_of_models = has(&[TextField::Model, TextField::Prompt, TextField::Answer]);
        if conditions.iter().all(Condition::names_calls)
            || (is_of_tools && is_of_models)
            || are_of_several(&conditions)
        {
            return None;
        }
        let is_long = |condition: &Condition| matches!(condition, Condition::Number { .. });
        if !is_of_tools && !is_of_models && conditions.iter().any(is_long) {
            conditions.push(Condition::Kind(vec![StepKind::Llm, StepKind::Tool]));
        }
        let terms = conditions.into_iter().map(QueryTerm::holds).collect();
        Some(Self { terms }.to_string())
    }

    /// True of a query that needs the steps of runs.
    #[must_use]
    pub fn needs_steps(&self) -> bool {
        self.terms.iter().any(|term| match &term.condition {
            Condition::Text(_) | Condition::Kind(_) => true,
            Condition::Field { field, .. } => field.is_in_steps(),
            _ => false,
        })
    }
}

/// True of conditions that may hold in different steps of a run: two names, two texts.
fn are_of_several(conditions: &[Condition]) -> bool {
    let are_alike = |one: &Condition, other: &Condition| match (one, other) {
        (Condition::Text(_), Condition::Text(_)) | (Condition::Kind(_), Condition::Kind(_)) => true,
        (Condition::Field { field, .. }, Condition::Field { field: other, .. }) => {
            field == other && matches!(field, TextField::Tool | TextField::Model | TextField::Error)
        }
        _ => false,
    };
    let mut later = conditions.iter();
    std::iter::from_fn(|| later.next().map(|one| (one, later.clone())))
        .any(|(one, mut others)| others.any(|other| are_alike(one, other)))
}

/// The part of a condition on runs that a step can meet.
fn of_step(condition: &Condition) -> Option<Condition> {
    match condition {
        Condition::Text(_) | Condition::Kind(_) => Some(condition.clone()),
        Condition::Field { field, .. } => {
            let is_of_step = matches!(field, TextField::Tool | TextField::Model | TextField::Error);
            (is_of_step || field.is_in_steps()).then(|| condition.clone())
        }
        Condition::Number {
            field: NumberField::Slowest,
            comparison: comparison @ (NumberComparison::MoreThan | NumberComparison::AtLeast),
            number,
        } => Some(Condition::Number {
            field: NumberField::Duration,
            comparison: *comparison,
            number: *number,
        }),
        _ => None,
    }
}
