//! Notices of a report on the evidence of its trials.

use std::time::Duration;

use tracer_capture::cassette::{Cassette, ReplayOutcome};
use tracer_insight::text::{counted, shell_quoted};
use tracer_sdk::format::Timestamp;

use super::captured::TrialCapture;
use crate::{FailureReason, Trial};

/// Misses that a report names, of each trial.
const MAX_MISS_NOTICES: usize = 3;

const CAPTURED: &str = "the runs were captured: their model calls and what they sent over OpenTelemetry are the evidence, with what they \
                        recorded themselves";
/// Advice for an agent that records nothing, the first problem of a new user.
const HOW_TO_RECORD: &str = "to record a trial as `tracer record` does, by its model calls and OpenTelemetry, add --capture; or annotate the agent's entry \
                             function with #[tracer_sdk::trace] (docs/instrument-rust.md), or write a run in the trace format to $TRACER_DATA_DIR, which \
                             is set for each trial (docs/trace-format.md)";

/// The notice on captured evidence.
pub(super) fn captured(capture: Option<&TrialCapture>) -> Option<String> {
    let capture = capture.filter(|capture| capture.cassette.is_none());
    capture.map(|_| CAPTURED.to_owned())
}

/// The notices on the coverage and the limits of replayed evidence.
pub(super) fn replayed(outcomes: &[ReplayOutcome]) -> Vec<String> {
    let Some(first) = outcomes.first() else {
        return Vec::new();
    };
    let mut notices = vec![format!(
        "replayed evidence, from {}: it can show a change of the agent's code; a changed prompt or model needs a new recording",
        first.cassette.display()
    )];
    for outcome in outcomes {
        let unused = outcome
            .unused_sentence()
            .map_or_else(String::new, |sentence| format!("; {sentence}"));
        let coverage = format!("{}{unused}", outcome.coverage());
        if !notices.contains(&coverage) {
            notices.push(coverage);
        }
        let misses = outcome.misses.iter().map(|miss| format!("not answered: {miss}"));
        notices.extend(misses.take(MAX_MISS_NOTICES));
    }
    notices
}

/// The notice on a cassette that is older than the policy allows, or does not say how old it is.
pub(super) fn aged(cassette: &Cassette, max_age: Duration, now: Timestamp) -> Option<String> {
    let path = shell_quoted(&cassette.path.display().to_string());
    let words = |age: Duration| match age.as_secs() / 3600 {
        hours @ 0..48 => counted(hours, "hour"),
        hours => counted(hours / 24, "day"),
    };
    let age = match cassette.head.age(now) {
        Some(age) if age <= max_age => return None,
        Some(age) => format!("was recorded {} ago", words(age)),
        None => "does not say when it was recorded".to_owned(),
    };
    Some(format!(
        "the cassette {age}, and cassette_max_age is {}; models change and retire: tracer record --force --cassette {path} -- COMMAND",
        words(max_age)
    ))
}

/// Advice on trials without a trace; of captured ones each says why.
pub(super) fn without_trace(capture: Option<&TrialCapture>, trials: &[Trial]) -> Option<String> {
    let left_none = |trial: &Trial| {
        let failure = trial.failure.as_ref();
        failure.is_some_and(|failure| failure.reason == FailureReason::NoTrace)
    };
    let is_advised = capture.is_none() && trials.iter().any(left_none);
    is_advised.then(|| HOW_TO_RECORD.to_owned())
}
