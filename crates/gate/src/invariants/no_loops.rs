//! `no_loops`: no calls are repeated in a loop; with `shape: true`, no shapes of calls either.

use serde::Deserialize;
use tracer_insight::profile::{RepeatedCalls, RunProfile};
use tracer_insight::text;

use super::{Invariant, InvariantSpec, only_true, yes};
use crate::{Baseline, Finding};
use tracer_insight::marked_text::MarkedText;

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

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<NoLoops>("no_loops");

impl Invariant for NoLoops {
    fn finding(&self, run: &RunProfile, _: Option<&Baseline>) -> Finding {
        let has_looped = if self.shape {
            Some(run.has_repeated_shapes())
        } else {
            run.has_looped()
        };
        let reason = match (has_looped, run.repeats.first()) {
            (None, _) => return Finding::unknown(unknown_repeats(run)),
            (Some(true), Some(repeats)) => words(repeats),
            // The rule of shapes.
            (Some(true), None) => MarkedText::own("the agent wrote a loop warning"),
            (Some(false), _) if run.harmless_warnings > 0 => {
                let ignored = text::counted(run.harmless_warnings, "loop warning");
                MarkedText::own(format!("{ignored} ignored, arguments differ"))
            }
            (Some(false), _) => MarkedText::default(),
        };
        Finding::unless_missing(run, has_looped == Some(false), reason)
    }

    fn description(&self) -> String {
        if self.shape {
            return "no shapes of calls are repeated".to_owned();
        }
        "no calls are repeated in a loop".to_owned()
    }
}

/// `search → read ×3, steps 2 to 7`
fn words(repeats: &RepeatedCalls) -> MarkedText {
    MarkedText::value(repeats.pattern.join(" → ")).with(format!(
        " ×{}, steps {} to {}",
        repeats.repetitions, repeats.first_step, repeats.last_step
    ))
}

/// Repeated calls with unknown arguments, and what to record.
fn unknown_repeats(run: &RunProfile) -> MarkedText {
    let what = match run.unknown_repeats.first() {
        Some(repeats) => words(repeats),
        None => MarkedText::own("the agent wrote a loop warning"),
    };
    what.with(", record arguments or results to decide")
}
