//! `no_loops`: no calls are repeated in a loop; with `shape: true`, no shapes of calls either.

use serde::Deserialize;
use tracer_insight::profile::{RepeatedCalls, RunProfile};
use tracer_insight::text;

use super::{Invariant, InvariantSpec, only_true, unless_missing, yes};
use crate::phrase::Phrase;
use crate::{Baseline, Report, ReportedTrial};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoLoops {
    /// Only `true`: leave the metric out to allow loops.
    #[serde(default = "yes", rename = "require", deserialize_with = "only_true")]
    #[schemars(extend("const" = true))]
    _require: bool,
    /// Repeated shapes of calls count too, whatever their arguments: a loop warning is enough.
    #[serde(default)]
    shape: bool,
}

pub(super) const SPEC: InvariantSpec = InvariantSpec {
    kept: harmless_warnings,
    unknown: unknown_repeats,
    ..InvariantSpec::new::<NoLoops>("no_loops", |trial, _| match trial.repeats.first() {
        Some(repeats) => words(repeats),
        // The rule of shapes.
        None => Phrase::words("the agent wrote a loop warning"),
    })
};

impl Invariant for NoLoops {
    fn outcome(&self, run: &RunProfile, _: Option<&Baseline>) -> Option<bool> {
        if self.shape {
            return unless_missing(run, !run.has_repeated_shapes());
        }
        unless_missing(run, !run.has_looped()?)
    }

    fn description(&self) -> String {
        if self.shape {
            return "no shapes of calls are repeated".to_owned();
        }
        "no calls are repeated in a loop".to_owned()
    }
}

/// `search → read ×3, steps 2 to 7`
fn words(repeats: &RepeatedCalls) -> Phrase {
    Phrase::value(repeats.pattern.join(" → ")).and(format!(
        " ×{}, steps {} to {}",
        repeats.repetitions, repeats.first_step, repeats.last_step
    ))
}

/// Loop warnings that fail nothing: their calls have different arguments.
fn harmless_warnings(report: &Report) -> Phrase {
    match report.trials.iter().map(|trial| trial.harmless_warnings).sum() {
        0 => Phrase::default(),
        warnings => {
            let warnings = text::counted(warnings, "loop warning");
            Phrase::words(format!(", {warnings} ignored: arguments differ"))
        }
    }
}

/// Repeated calls with unknown arguments, and what to record.
fn unknown_repeats(trials: &[&ReportedTrial]) -> Phrase {
    let hint = "record arguments or results to decide";
    match trials.iter().find_map(|trial| trial.unknown_repeats.first()) {
        Some(repeats) => Phrase::words(": ")
            .followed_by(words(repeats))
            .and(format!(", {hint}")),
        None if trials.iter().any(|trial| trial.open_warnings > 0) => {
            Phrase::words(format!(": the agent wrote a loop warning, {hint}"))
        }
        None => Phrase::default(),
    }
}
