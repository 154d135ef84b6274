//! [`StepQuery`]: the steps that a query means, in one run or in many, and the runs that match by them.

use std::str::FromStr;

use tracer_insight::not_run::NotRunReader;
use tracer_sdk::format::{EventType, Record};

use super::parse::parse;
use super::step_match::{ConditionOutcome, StepColumns, StepCondition, TestedPart};
use super::{Condition, NumberComparison, NumberField, QueryError, QueryScope, QueryTerm, RunQuery};

/// The conditions of a query on steps.
///
/// One that is parsed asks for steps of one run: all its terms have to hold in a step. Without any, every step matches. The
/// fields are `name`, `tool`, `model`, `error`, `args`, `result`, `prompt`, `answer`, `status`, `kind`, `tokens`, `input`,
/// `output` and `duration`. Of one that asks for [runs](Self::of_runs), conditions on tool calls and on model calls hold in
/// calls of their kind.
#[derive(Debug, Clone)]
pub struct StepQuery {
    scope: QueryScope,
    conditions: Vec<(bool, StepCondition)>,
    /// Those on the number of calls that never ran: all steps together say it.
    not_run: Vec<(bool, NumberComparison, u64)>,
    /// Texts that a run must hold, in lower case, as any JSON has them: see [`plain_part`].
    needles: Vec<String>,
    /// The texts that are looked for, in lower case.
    texts: Vec<String>,
}

impl FromStr for StepQuery {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Self, QueryError> {
        let terms = parse(text, QueryScope::Steps)?;
        Ok(Self::new(QueryScope::Steps, &terms, StepCondition::of_step))
    }
}

impl StepQuery {
    /// The conditions of a query for runs on their steps.
    #[must_use]
    pub fn of_runs(query: &RunQuery) -> Self {
        Self::new(QueryScope::Runs, &query.terms, StepCondition::of)
    }

    fn new(
        scope: QueryScope,
        terms: &[QueryTerm],
        condition: impl Fn(&Condition) -> Option<StepCondition>,
    ) -> Self {
        let conditions = terms
            .iter()
            .filter_map(|term| Some((term.is_negated, condition(&term.condition)?)));
        let (texts, needles) = sought_texts(terms);
        let not_run = terms.iter().filter_map(|term| match &term.condition {
            Condition::Number {
                field: NumberField::NotRunCalls,
                comparison,
                number,
            } => Some((term.is_negated, *comparison, *number)),
            _ => None,
        });
        Self {
            scope,
            conditions: conditions.collect(),
            not_run: not_run.collect(),
            needles,
            texts,
        }
    }

    /// True where there is nothing to search in steps.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conditions.iter().all(|(is_negated, _)| *is_negated)
    }

    /// Texts that the log of every matching run holds, in lower case.
    #[must_use]
    pub(crate) fn needles(&self) -> &[String] {
        &self.needles
    }

    /// The texts that are looked for, in lower case.
    #[must_use]
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// A text that the line of every matching step holds, in lower case; `None` where lines say it another way, or steps of
    /// several kinds match.
    #[must_use]
    pub fn needle(&self) -> Option<&str> {
        let has = |part| self.positive().any(|condition| self.part(condition) == part);
        if has(TestedPart::ToolCall) && has(TestedPart::ModelCall) {
            return None;
        }
        let needles = self.needles.iter().map(String::as_str);
        needles.max_by_key(|needle| needle.len())
    }

    /// The conditions that this one has to hold together with; in a query for steps of one run, that is all of them.
    fn part(&self, condition: &StepCondition) -> TestedPart {
        match self.scope {
            QueryScope::Runs => condition.group(),
            QueryScope::Steps => TestedPart::Alone,
        }
    }

    fn positive(&self) -> impl Iterator<Item = &StepCondition> {
        let positive = self.conditions.iter().filter(|(is_negated, _)| !is_negated);
        positive.map(|(_, condition)| condition)
    }

    /// The match of a step, by its columns, and by its record where that was read; `None` where only the record decides.
    #[must_use]
    pub fn matches(&self, step: &StepColumns<'_>, record: Option<&Record>) -> Option<bool> {
        let outcomes = self.conditions.iter().map(|(is_negated, condition)| {
            let holds = match condition.outcome(step, record) {
                ConditionOutcome::Known(holds) => Some(holds != *is_negated),
                ConditionOutcome::Unknown => Some(false),
                ConditionOutcome::Steps => None,
            };
            let part = self.part(condition);
            (if *is_negated { TestedPart::Alone } else { part }, holds)
        });
        // Of each part: no condition, or all that hold so far.
        let (mut alone, mut calls) = (Some(true), [None; 2]);
        for (part, holds) in outcomes {
            match part {
                TestedPart::Alone => alone = and(alone, holds),
                TestedPart::ToolCall => calls[0] = Some(and(calls[0].unwrap_or(Some(true)), holds)),
                TestedPart::ModelCall => calls[1] = Some(and(calls[1].unwrap_or(Some(true)), holds)),
            }
        }
        let in_a_call = match calls {
            [None, None] => Some(true),
            [Some(one), None] | [None, Some(one)] => one,
            // In one of them.
            [Some(one), Some(other)] => {
                and(one.map(|holds| !holds), other.map(|holds| !holds)).map(|neither| !neither)
            }
        };
        and(alone, in_a_call)
    }

    /// Begins with the steps of a run.
    #[must_use]
    pub fn begin(&self) -> RunTest<'_> {
        RunTest {
            test: self,
            found: vec![false; self.conditions.len()],
            tool_call: false,
            model_call: false,
            asked: (!self.not_run.is_empty()).then(NotRunReader::default),
        }
    }
}

/// Both; `None` where that is open.
fn and(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}

/// True of a record that is a step.
pub(crate) fn is_step(record: &Record) -> bool {
    !matches!(record.event_type(), EventType::RunStart | EventType::RunEnd) && !record.is_leftover()
}

/// The match of one run by its steps.
#[derive(Debug, Clone)]
pub struct RunTest<'a> {
    test: &'a StepQuery,
    /// The conditions that were found, negated ones without their negation.
    found: Vec<bool>,
    tool_call: bool,
    model_call: bool,
    /// The calls that were asked for, where a condition is on them.
    asked: Option<NotRunReader>,
}

impl RunTest<'_> {
    /// Adds the next step.
    pub fn add(&mut self, record: &Record) {
        // A run may have a question and an answer of its own.
        if !is_step(record) && record.question().or(record.answer()).is_none() {
            return;
        }
        if let Some(asked) = &mut self.asked {
            asked.take(record);
        }
        let all = |group| {
            let mut conditions = self
                .test
                .positive()
                .filter(|condition| condition.group() == group)
                .peekable();
            conditions.peek().is_some() && conditions.all(|condition| condition.holds(record))
        };
        self.tool_call |= all(TestedPart::ToolCall);
        self.model_call |= all(TestedPart::ModelCall);
        for (found, (_, condition)) in self.found.iter_mut().zip(&self.test.conditions) {
            *found = *found || condition.holds(record);
        }
    }

    /// The match of the run so far; `None` while further steps may change it.
    #[must_use]
    pub fn settled(&self) -> Option<bool> {
        let excluded = self
            .conditions()
            .any(|(found, is_negated, _)| found && is_negated);
        if excluded {
            return Some(false);
        }
        let may_change = self.asked.is_some() || self.conditions().any(|(_, is_negated, _)| is_negated);
        (!may_change && self.has_found_all()).then_some(true)
    }

    /// True of a run that matches, once all its steps were added; `is_over` if it has ended.
    #[must_use]
    pub fn matches(mut self, is_over: bool) -> bool {
        let not_run = self.asked.take().and_then(|asked| asked.finish(is_over));
        let count = not_run.map(|calls| calls.len() as u64);
        let holds = |(is_negated, comparison, number): &(bool, NumberComparison, u64)| {
            count.is_some_and(|count| comparison.holds(count, *number) != *is_negated)
        };
        self.test.not_run.iter().all(holds) && self.has_found_all()
    }

    fn has_found_all(&self) -> bool {
        self.conditions().all(
            |(found, is_negated, condition)| match (is_negated, condition.group()) {
                (true, _) => !found,
                (false, TestedPart::ToolCall) => self.tool_call,
                (false, TestedPart::ModelCall) => self.model_call,
                (false, TestedPart::Alone) => found,
            },
        )
    }

    fn conditions(&self) -> impl Iterator<Item = (bool, bool, &StepCondition)> {
        let conditions = self.found.iter().zip(&self.test.conditions);
        conditions.map(|(found, (is_negated, condition))| (*found, *is_negated, condition))
    }
}

/// The texts that a match must hold, in lower case, and the part of each that its log holds as it is.
fn sought_texts(terms: &[QueryTerm]) -> (Vec<String>, Vec<String>) {
    let texts = terms.iter().filter(|term| !term.is_negated).filter_map(|term| {
        let text = match &term.condition {
            Condition::Text(text) => text,
            Condition::Field { field, value, .. } if field.is_in_steps() => value,
            _ => return None,
        };
        Some(text.to_lowercase()).filter(|text| !text.is_empty())
    });
    let texts: Vec<String> = texts.collect();
    let needles = texts.iter().map(|text| plain_part(text).to_owned());
    let needles = needles.filter(|part| !part.is_empty()).collect();
    (texts, needles)
}

/// The longest part of a text that any JSON holds as it is: neither escaped nor written another way.
fn plain_part(text: &str) -> &str {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || " _-.,:;!?=+*()[]{}<>@#$%^~|".contains(char);
    text.split(|char| !is_plain(char))
        .max_by_key(|part| part.len())
        .unwrap_or_default()
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
            .filter(|row| query.matches(row, None) == Some(true));
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
            assert_eq!(query.matches(&tool, None), expected, "{query:?}");
        }
    }

    #[test]
    fn the_needle_is_the_longest_certain_text() {
        for (query, needle) in [
            ("refund \"no: answer\" https://a", Some("no: answer")),
            ("é", None),
            ("-refund", None),
            ("prompt~\"Dear Ada\" a", Some("dear ada")),
            ("kind:tool", None),
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
