//! [`StepCondition`]: a condition on a step, by its columns where these decide, else by its content.

use tracer_insight::run_steps::{RowSource, RunSteps, TimelineRow};
use tracer_insight::status::RunStatus;
use tracer_insight::step_filter::{StepFilter, value_contains};
use tracer_insight::step_kind::StepKind;
use tracer_insight::step_summary;
use tracer_sdk::format::{EventType, Payload, Record};

use super::text_match::TextMatch;
use super::{Condition, NumberComparison, NumberField, TextField};

/// The columns of a step: all that is known without reading it.
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

    /// The columns of a row of an opened run.
    #[must_use]
    pub fn of(steps: &'a RunSteps, row: &TimelineRow) -> Self {
        let mut columns = Self::new(StepKind::Span, "");
        match row.source {
            RowSource::Run => {
                columns.kind = StepKind::Run;
                let meta = steps.meta.as_ref().ok();
                columns.name = meta.and_then(|meta| meta.run_name.as_deref()).unwrap_or_default();
                columns.status = RunStatus::Running;
            }
            RowSource::Span(position) => {
                let Some(span) = steps.index.span(position as usize) else {
                    return columns;
                };
                columns.kind = span.event_type.into();
                let fixed = columns.kind.fixed_name();
                columns.name = fixed.unwrap_or_else(|| steps.index.name(&span));
                if span.outcome.is_failure() || span.event_type == EventType::Error {
                    columns.status = RunStatus::Failed;
                } else if span.is_open {
                    columns.status = RunStatus::Running;
                }
                columns.duration_us = span.duration_us.filter(|_| !span.is_open);
                columns.input_tokens = span.tokens_in.map(u64::from);
                columns.output_tokens = span.tokens_out.map(u64::from);
            }
            RowSource::Promoted(number) => {
                if let Some(promoted) = steps.promoted.get(number as usize) {
                    columns.kind = promoted.event_type.into();
                    columns.name = columns.kind.fixed_name().unwrap_or_default();
                    if promoted.event_type == EventType::Error {
                        columns.status = RunStatus::Failed;
                    }
                }
            }
            RowSource::InFlight(number) => {
                if let Some(started) = steps.in_flight.get(number as usize) {
                    columns.kind = started.event_type.into();
                    columns.name = &started.name;
                }
                columns.status = RunStatus::Running;
            }
        }
        columns
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
pub(super) enum TestedPart {
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
    pub(super) fn of(condition: &Condition) -> Option<Self> {
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

    pub(super) fn group(&self) -> TestedPart {
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

    /// The outcome in a step, by its record where that was read: it knows of a call what others report of it.
    pub(super) fn outcome(&self, step: &StepColumns<'_>, record: Option<&Record>) -> ConditionOutcome {
        match (self, record) {
            (Self::Name(_) | Self::Status(_) | Self::Number(..), _) | (_, None) => self.in_columns(step),
            (_, Some(record)) => ConditionOutcome::Known(self.holds(record)),
        }
    }

    /// The outcome without reading the step.
    fn in_columns(&self, step: &StepColumns<'_>) -> ConditionOutcome {
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
