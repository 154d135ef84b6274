//! [`StepQuery`]: which steps of one run are asked for.

use std::str::FromStr;

use tracer_sdk::format::Record;

use super::parse::parse;
use super::step_match::{ConditionOutcome, StepColumns, StepCondition, sought_texts};
use super::{QueryError, QueryScope};

/// A query for steps of one run; all its terms have to hold in a step. Without any, every step matches.
///
/// The fields are `name`, `tool`, `model`, `error`, `args`, `result`, `prompt`, `answer`, `status`, `kind`, `tokens`, `input`,
/// `output` and `duration`.
///
/// ```
/// use tracer_catalog::query::StepQuery;
///
/// let query: StepQuery = "kind:tool -status:ok args~refund".parse()?;
/// assert_eq!(query.needle(), "refund");
///
/// let refused = "dur>1s".parse::<StepQuery>().unwrap_err();
/// assert!(refused.to_string().contains("did you mean `duration`?"));
/// # Ok::<(), tracer_catalog::query::QueryError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct StepQuery {
    conditions: Vec<(bool, StepCondition)>,
    needle: String,
}

impl FromStr for StepQuery {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let terms = parse(text, QueryScope::Steps)?;
        let (_, needles) = sought_texts(&terms);
        let conditions = terms
            .iter()
            .filter_map(|term| Some((term.is_negated, StepCondition::of_step(&term.condition)?)));
        Ok(Self {
            conditions: conditions.collect(),
            needle: needles.into_iter().max_by_key(String::len).unwrap_or_default(),
        })
    }
}

impl StepQuery {
    /// True of a query that needs the content of steps.
    #[must_use]
    pub fn needs_content(&self) -> bool {
        self.conditions.iter().any(|(_, condition)| {
            matches!(
                condition,
                StepCondition::Text(_)
                    | StepCondition::Error(_)
                    | StepCondition::Args(_)
                    | StepCondition::Result(_)
                    | StepCondition::Prompt(_)
                    | StepCondition::Answer(_)
            )
        })
    }

    /// A text that the line of every match holds, in lower case; empty when none is certain.
    #[must_use]
    pub fn needle(&self) -> &str {
        &self.needle
    }

    /// The match of a step without reading it; `None` where its content decides.
    #[must_use]
    pub fn matches_columns(&self, step: &StepColumns<'_>) -> Option<bool> {
        let mut found = Some(true);
        for (is_negated, condition) in &self.conditions {
            match condition.in_columns(step) {
                ConditionOutcome::Known(holds) if holds != *is_negated => {}
                ConditionOutcome::Steps => found = None,
                ConditionOutcome::Known(_) | ConditionOutcome::Unknown => return Some(false),
            }
        }
        found
    }

    /// The match of a step by its content, once [`StepQuery::matches_columns`] gave `None`.
    #[must_use]
    pub fn matches_content(&self, step: &StepColumns<'_>, record: &Record) -> bool {
        self.conditions
            .iter()
            .all(|(is_negated, condition)| match condition.in_columns(step) {
                ConditionOutcome::Steps => condition.holds(record) != *is_negated,
                known => known == ConditionOutcome::Known(!is_negated),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracer_insight::status::RunStatus;
    use tracer_insight::step_kind::StepKind;

    fn matching(query: &str) -> Vec<&'static str> {
        let query: StepQuery = query.parse().unwrap_or_else(|error| panic!("{query}: {error}"));
        let step = StepColumns::new;
        let rows = [
            StepColumns {
                duration_us: Some(2_000_000),
                ..step(StepKind::Tool, "search")
            },
            StepColumns {
                duration_us: Some(5),
                status: RunStatus::Failed,
                ..step(StepKind::Tool, "Search_KB")
            },
            StepColumns {
                status: RunStatus::Running,
                ..step(StepKind::Llm, "gpt-5")
            },
            StepColumns {
                input_tokens: Some(900),
                output_tokens: Some(200),
                ..step(StepKind::Llm, "gpt-5-mini")
            },
            step(StepKind::State, "state"),
        ];
        let matching = rows
            .into_iter()
            .filter(|row| query.matches_columns(row) == Some(true));
        matching.map(|row| row.name).collect()
    }

    #[test]
    fn every_term_has_to_hold_in_a_step() {
        for (query, expected) in [
            (
                "",
                &["search", "Search_KB", "gpt-5", "gpt-5-mini", "state"] as &[_],
            ),
            ("kind:tool", &["search", "Search_KB"]),
            ("kind:llm,state", &["gpt-5", "gpt-5-mini", "state"]),
            ("-kind:llm,tool", &["state"]),
            ("name:search", &["search"]),
            ("name~search status:failed", &["Search_KB"]),
            ("NAME:search* -status:failed", &["search"]),
            ("tool:gpt-5", &[]),
            ("model:gpt-5*", &["gpt-5", "gpt-5-mini"]),
            ("status:running", &["gpt-5"]),
            ("duration>1s", &["search"]),
            ("duration<1ms", &["Search_KB"]),
            // What is not known matches neither a comparison nor its negation.
            ("-duration>1s", &["Search_KB"]),
            ("tokens>1k", &["gpt-5-mini"]),
            ("output:200 input<1k", &["gpt-5-mini"]),
            ("-tokens>1k", &[]),
            ("error:Timeout name~search", &[]),
        ] {
            assert_eq!(matching(query), expected, "{query}");
        }
    }

    #[test]
    fn content_is_read_only_where_it_decides() {
        let tool = StepColumns::new(StepKind::Tool, "search");
        for (query, expected) in [
            ("refund", None),
            ("args~refund", None),
            ("-args~refund", None),
            ("prompt~refund", Some(false)),
            ("-prompt~refund", Some(true)),
            ("refund kind:llm", Some(false)),
            ("error:Timeout", Some(false)),
        ] {
            let query: StepQuery = query.parse().unwrap();
            assert!(query.needs_content());
            assert_eq!(query.matches_columns(&tool), expected, "{query:?}");
        }
        assert!(
            !"kind:tool tool:search"
                .parse::<StepQuery>()
                .unwrap()
                .needs_content()
        );
    }

    #[test]
    fn the_needle_is_the_longest_certain_text() {
        for (query, needle) in [
            ("refund \"no: answer\" https://a", "no: answer"),
            ("é", ""),
            ("-refund", ""),
            ("prompt~\"Dear Ada\" a", "dear ada"),
            ("kind:tool", ""),
        ] {
            assert_eq!(query.parse::<StepQuery>().unwrap().needle(), needle, "{query}");
        }
    }

    #[test]
    fn fields_of_runs_are_refused_and_listed() {
        for (query, expected) in [
            ("knd:tool", "did you mean `kind`?"),
            ("dur:>1s", "did you mean `duration`?"),
            ("agent:support", "only name, tool, model, error, args, result"),
            ("since:7d", "there is no field `since`"),
            ("cost>1", "there is no field `cost`"),
            (
                "status:damaged",
                "`status` takes one of these, or several with commas between: ok, failed, running",
            ),
            ("kind:nothing", "`kind` takes one of these"),
            ("duration:x", "`duration` takes a duration"),
            ("\"open", "a quotation is not closed"),
        ] {
            let message = query.parse::<StepQuery>().expect_err(query).to_string();
            assert!(message.contains(expected), "{query}: {message}");
        }
    }
}
