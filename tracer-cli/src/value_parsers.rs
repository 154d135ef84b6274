//! Statuses and kinds of steps as options name them.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tracer_insight::status::RunStatus;
use tracer_insight::step_kind::StepKind;

/// Parses one of the allowed statuses.
pub(crate) fn status_parser(
    allowed: impl IntoIterator<Item = RunStatus>,
) -> impl TypedValueParser<Value = RunStatus> {
    let values: Vec<PossibleValue> = allowed.into_iter().map(possible_value).collect();
    PossibleValuesParser::new(values).try_map(|word| RunStatus::from_word(&word).ok_or("is no status"))
}

fn possible_value(status: RunStatus) -> PossibleValue {
    let value = PossibleValue::new(status.as_str());
    match status {
        RunStatus::Running => value.help("The run is recording, or nothing shows that its process died"),
        RunStatus::Interrupted => value.help("Its process died before the run ended"),
        // The format's own word.
        RunStatus::Failed => value.help("It ended with an error").alias("error"),
        RunStatus::Looped => value.help("It ended without an error, but repeated the same calls"),
        RunStatus::Ok => value.help("It ended without an error"),
        RunStatus::Damaged => value.help("Its metadata or its log cannot be read"),
    }
}

/// Parses a kind of step.
pub(crate) fn step_kind_parser() -> impl TypedValueParser<Value = StepKind> {
    let value = |kind: StepKind| {
        PossibleValue::new(kind.as_str()).help(match kind {
            StepKind::Llm => "Model calls",
            StepKind::Tool => "Tool calls",
            StepKind::State => "States",
            StepKind::Error => "Recorded errors",
            StepKind::Loop => "Loop warnings",
            StepKind::Run | StepKind::Span => "Spans that group others",
        })
    };
    PossibleValuesParser::new(StepKind::OF_STEPS.map(value))
        .try_map(|word| StepKind::from_word(&word).ok_or("is no kind of step"))
}
