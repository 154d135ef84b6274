//! [`StepTest`]: the steps that are hits of a query, and the runs that match by them.

use tracer_insight::not_run::NotRunReader;
use tracer_insight::status::RunStatus;
use tracer_insight::step_filter::{StepFilter, value_contains};
use tracer_insight::step_kind::StepKind;
use tracer_insight::step_summary;
use tracer_sdk::format::{EventType, Payload, Record};

use super::text_match::TextMatch;
use super::{Condition, NumberComparison, NumberField, QueryTerm, RunQuery, TextField};

/// The conditions of a query on steps.
#[derive(Debug, Clone)]
pub struct StepTest {
    conditions: Vec<(bool, StepCondition)>,
    /// Those on the number of calls that never ran: all steps together say it.
    not_run: Vec<(bool, NumberComparison, u64)>,
    /// Texts that a run must hold, in lower case, as any JSON has them: see [`plain_part`].
    needles: Vec<String>,
    /// The texts that are looked for, in lower case.
    texts: Vec<String>,
}

/// The columns of a step: all that is known without reading it.
///
/// ```
/// use tracer_catalog::query::{StepColumns, StepQuery};
/// use tracer_insight::step_kind::StepKind;
///
/// let query: StepQuery = "tool:search* duration>1s".parse()?;
/// let mut step = StepColumns::new(StepKind::Tool, "search_kb");
/// step.duration_us = Some(2_000_000);
/// assert_eq!(query.matches_columns(&step), Some(true));
/// # Ok::<(), tracer_catalog::query::QueryError>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct StepColumns<'a> {
    /// Its kind.
    pub kind: StepKind,
    /// The name of its model or tool; of other steps, as it is listed.
    pub name: &'a str,
    /// `Ok`, `Failed`, or `Running` for a step in flight.
    pub status: RunStatus,
    /// Its duration, in microseconds.
    pub duration_us: Option<u64>,
    /// Input tokens.
    pub input_tokens: Option<u64>,
    /// Output tokens.
    pub output_tokens: Option<u64>,
}

impl<'a> StepColumns<'a> {
    /// A step that ended well; nothing else is known.
    #[must_use]
    pub const fn new(kind: StepKind, name: &'a str) -> Self {
        Self {
            kind,
            name,
            status: RunStatus::Ok,
            duration_us: None,
            input_tokens: None,
            output_tokens: None,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) enum StepCondition {
    Text(StepFilter),
    Kind(Vec<StepKind>),
    /// Of steps alone: the facts of a run say its own name, status and numbers.
    Name(TextMatch),
    Status(Vec<RunStatus>),
    Number(NumberField, NumberComparison, u64),
    Tool(TextMatch),
    Model(TextMatch),
    Failed(TextMatch),
    Error(TextMatch),
    /// In lower case.
    Args(String),
    Result(String),
    Prompt(String),
    Answer(String),
}

/// Conditions that one step must meet together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TestedPart {
    ToolCall,
    ModelCall,
    /// This one alone.
    Alone,
}

impl StepCondition {
    /// The condition that a term of a [`StepQuery`](super::StepQuery) sets.
    pub(super) fn of_step(condition: &Condition) -> Option<Self> {
        Some(match condition {
            Condition::Field {
                field: TextField::Name,
                comparison,
                value,
            } => Self::Name(TextMatch::new(*comparison, value)),
            Condition::Status(statuses) => Self::Status(statuses.clone()),
            Condition::Number {
                field,
                comparison,
                number,
            } => Self::Number(*field, *comparison, *number),
            condition => return Self::of(condition),
        })
    }

    /// The condition that a term about runs sets on their steps; `None` where only facts of the run decide.
    fn of(condition: &Condition) -> Option<Self> {
        Some(match condition {
            Condition::Text(text) => Self::Text(StepFilter::new(&[], false, Some(text))),
            Condition::Kind(kinds) => Self::Kind(kinds.clone()),
            Condition::Field {
                field,
                comparison,
                value,
            } => {
                let name = || TextMatch::new(*comparison, value);
                match field {
                    TextField::Tool => Self::Tool(name()),
                    TextField::Model => Self::Model(name()),
                    TextField::Failed => Self::Failed(name()),
                    TextField::Error => Self::Error(name()),
                    TextField::Args => Self::Args(value.to_lowercase()),
                    TextField::Result => Self::Result(value.to_lowercase()),
                    TextField::Prompt => Self::Prompt(value.to_lowercase()),
                    TextField::Answer => Self::Answer(value.to_lowercase()),
                    _ => return None,
                }
            }
            _ => return None,
        })
    }

    fn group(&self) -> TestedPart {
        match self {
            Self::Tool(_) | Self::Args(_) | Self::Result(_) => TestedPart::ToolCall,
            Self::Model(_) | Self::Prompt(_) | Self::Answer(_) => TestedPart::ModelCall,
            Self::Text(_)
            | Self::Kind(_)
            | Self::Failed(_)
            | Self::Error(_)
            | Self::Name(_)
            | Self::Status(_)
            | Self::Number(..) => TestedPart::Alone,
        }
    }

    /// The outcome without reading the step.
    pub(super) fn in_columns(&self, step: &StepColumns<'_>) -> ConditionOutcome {
        let content_of = |may_hold: bool| {
            if may_hold {
                ConditionOutcome::Steps
            } else {
                ConditionOutcome::Known(false)
            }
        };
        let is_tool = step.kind == StepKind::Tool;
        let is_model = step.kind == StepKind::Llm;
        match self {
            Self::Text(_) => ConditionOutcome::Steps,
            Self::Kind(kinds) => ConditionOutcome::Known(kinds.contains(&step.kind)),
            Self::Name(name) => ConditionOutcome::Known(name.holds(step.name)),
            Self::Status(statuses) => ConditionOutcome::Known(statuses.contains(&step.status)),
            Self::Number(field, comparison, number) => {
                let value = match field {
                    NumberField::Duration => step.duration_us,
                    NumberField::Input => step.input_tokens,
                    NumberField::Output => step.output_tokens,
                    NumberField::Tokens => step
                        .input_tokens
                        .zip(step.output_tokens)
                        .map(|(input, output)| input.saturating_add(output)),
                    _ => None,
                };
                value.map(|value| comparison.holds(value, *number)).into()
            }
            Self::Tool(tool) => ConditionOutcome::Known(is_tool && tool.holds(step.name)),
            Self::Model(model) => ConditionOutcome::Known(is_model && model.holds(step.name)),
            Self::Failed(call) => ConditionOutcome::Known(
                (is_tool || is_model) && step.status == RunStatus::Failed && call.holds(step.name),
            ),
            Self::Error(_) => content_of(step.status == RunStatus::Failed || step.kind == StepKind::Error),
            Self::Args(_) | Self::Result(_) => content_of(is_tool),
            Self::Prompt(_) | Self::Answer(_) => content_of(is_model || step.kind == StepKind::Span),
        }
    }

    /// True of a step whose content meets it.
    pub(super) fn holds(&self, record: &Record) -> bool {
        match (self, &record.payload) {
            (Self::Text(text), _) => text.passes(record),
            (Self::Kind(kinds), payload) => kinds.contains(&payload.event_type().into()),
            (Self::Error(error), payload) => {
                step_summary::failure(payload).is_some_and(|failure| error.holds_error(&failure.error_type))
            }
            (
                Self::Failed(call),
                Payload::ToolCall { tool_name: name, .. } | Payload::LlmCall { model: name, .. },
            ) => step_summary::failed(record) && call.holds(name),
            (Self::Tool(tool), Payload::ToolCall { tool_name, .. }) => tool.holds(tool_name),
            (Self::Model(name), Payload::LlmCall { model, .. }) => name.holds(model),
            (Self::Args(text), Payload::ToolCall { args, .. }) => value_contains(args, text),
            (Self::Result(text), Payload::ToolCall { result, .. }) => value_contains(result, text),
            (Self::Prompt(text), Payload::LlmCall { prompt, .. }) => value_contains(prompt, text),
            (Self::Answer(text), Payload::LlmCall { response, .. }) => value_contains(response, text),
            (Self::Prompt(text), _) => record.question().is_some_and(|said| value_contains(said, text)),
            (Self::Answer(text), _) => record.answer().is_some_and(|said| value_contains(said, text)),
            _ => false,
        }
    }
}

/// The outcome of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConditionOutcome {
    Known(bool),
    /// Unknown: neither it nor its negation holds.
    Unknown,
    /// The step itself has to be read.
    Steps,
}

impl From<Option<bool>> for ConditionOutcome {
    fn from(known: Option<bool>) -> Self {
        known.map_or(Self::Unknown, Self::Known)
    }
}

impl StepTest {
    /// The conditions of a query on steps.
    #[must_use]
    pub fn new(query: &RunQuery) -> Self {
        let conditions = query
            .terms
            .iter()
            .filter_map(|term| Some((term.is_negated, StepCondition::of(&term.condition)?)));
        let (texts, needles) = sought_texts(&query.terms);
        let not_run = query.terms.iter().filter_map(|term| match &term.condition {
            Condition::Number {
                field: NumberField::NotRunCalls,
                comparison,
                number,
            } => Some((term.is_negated, *comparison, *number)),
            _ => None,
        });
        Self {
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

    /// A text that the line of every hit holds, in lower case; `None` where lines say it another way, or there are several
    /// kinds of hits.
    #[must_use]
    pub(crate) fn needle_of_hits(&self) -> Option<&str> {
        let has = |group| self.positive().any(|condition| condition.group() == group);
        if has(TestedPart::ToolCall) && has(TestedPart::ModelCall) {
            return None;
        }
        self.needles
            .iter()
            .map(String::as_str)
            .max_by_key(|needle| needle.len())
    }

    fn positive(&self) -> impl Iterator<Item = &StepCondition> {
        let positive = self.conditions.iter().filter(|(is_negated, _)| !is_negated);
        positive.map(|(_, condition)| condition)
    }

    /// True where all conditions of a group hold; `None` when it has none.
    fn all(&self, group: TestedPart, holds: impl Fn(&StepCondition) -> bool) -> Option<bool> {
        let mut conditions = self
            .positive()
            .filter(|condition| condition.group() == group)
            .peekable();
        conditions.peek()?;
        Some(conditions.all(holds))
    }

    /// True where all conditions hold in one step: those on tool calls and on model calls in a call of one kind.
    fn fits(&self, holds: impl Fn(&StepCondition) -> bool) -> bool {
        let calls = [TestedPart::ToolCall, TestedPart::ModelCall].map(|group| self.all(group, &holds));
        (calls == [None, None] || calls.contains(&Some(true)))
            && self.all(TestedPart::Alone, &holds) != Some(false)
    }

    /// True of a step that is a hit: all conditions on steps hold in it, those on tool calls and on model calls in calls of their
    /// kind.
    #[must_use]
    pub fn is_hit(&self, record: &Record) -> bool {
        if !is_step(record) {
            return false;
        }
        let excluded = self
            .conditions
            .iter()
            .any(|(is_negated, condition)| *is_negated && condition.holds(record));
        !excluded && self.fits(|condition| condition.holds(record))
    }

    /// True of a step that may be a hit, without reading it: its type, whether it failed, and the name of its
    /// model or tool.
    #[must_use]
    pub(crate) fn may_be_hit(&self, event_type: EventType, failed: bool, name: &str) -> bool {
        let mut step = StepColumns::new(event_type.into(), name);
        if failed {
            step.status = RunStatus::Failed;
        }
        self.fits(|condition| condition.in_columns(&step) != ConditionOutcome::Known(false))
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

/// True of a record that is a step.
fn is_step(record: &Record) -> bool {
    !matches!(record.event_type(), EventType::RunStart | EventType::RunEnd) && !record.is_leftover()
}

/// The match of one run by its steps.
#[derive(Debug, Clone)]
pub struct RunTest<'a> {
    test: &'a StepTest,
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
        let all = |group| self.test.all(group, |condition| condition.holds(record)) == Some(true);
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
pub(super) fn sought_texts(terms: &[QueryTerm]) -> (Vec<String>, Vec<String>) {
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
