//! Progress of a gate: a status line, and one line for each trial that has ended.

use tracer_gate::Trial;
use tracer_gate::trials::GateProgress;

use tracer_insight::line::{Line, Tone};
use tracer_insight::units;

/// More running trials than this are counted instead of named.
const MAX_NAMED: usize = 4;

/// The status line.
pub fn status(how_far: &GateProgress) -> Line {
    let running: Vec<String> = how_far.running.iter().map(ToString::to_string).collect();
    let running = match running.as_slice() {
        [] => "no trial".to_owned(),
        [one] => format!("trial {one}"),
        some if some.len() <= MAX_NAMED => format!("trials {}", some.join(", ")),
        many => format!("{} trials", many.len()),
    };
    let mut line = Line::of(format!("{running} of {}", how_far.planned), Tone::Active)
        .with(format!("  {} s", how_far.elapsed.as_secs()), Tone::Muted)
        .with(format!("  {} passed", how_far.passed), Tone::Plain);
    if how_far.failed > 0 {
        line = line.with(format!("  {} failed", how_far.failed), Tone::Bad);
    }
    if how_far.is_lost {
        line = line.with("  the gate fails, whatever follows", Tone::Bad);
    }
    line
}

/// The line of a trial that has ended; `not_kept` are the invariants that it did not keep.
pub fn ended(trial: &Trial, not_kept: &[&str], budgeted: u32) -> Line {
    let passed = trial.is_sound() && not_kept.is_empty();
    let mut line = if passed {
        Line::of("✓ ", Tone::Good)
    } else {
        Line::of("✗ ", Tone::Bad)
    };
    line = line.with(format!("trial {}/{budgeted}", trial.number), Tone::Plain);
    if let Some(milliseconds) = trial.wall_time_ms {
        let took = units::duration(milliseconds.saturating_mul(1_000));
        line = line.with(format!("  {took}"), Tone::Muted);
    }
    match (&trial.failure, not_kept) {
        (Some(failure), _) => line.with(format!("  {failure}"), Tone::Plain),
        (None, []) => line,
        (None, not_kept) => line.with(format!("  not kept: {}", not_kept.join(", ")), Tone::Plain),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::ui::painted;
    use tracer_gate::{FailureReason, TrialFailure};

    fn reported(line: Line) -> String {
        painted(&[line], false)
    }

    fn status_of(running: &[u32], passed: u32, failed: u32, is_lost: bool) -> String {
        reported(status(&GateProgress {
            running: running.iter().copied().collect(),
            planned: 25,
            passed,
            failed,
            elapsed: Duration::from_millis(12_900),
            is_lost,
        }))
    }

    #[test]
    fn the_status_shows_running_trials_and_results_of_the_others() {
        assert_eq!(status_of(&[3], 2, 0, false), "trial 3 of 25  12 s  2 passed\n");
        assert_eq!(
            status_of(&[4, 6], 3, 1, true),
            "trials 4, 6 of 25  12 s  3 passed  1 failed  the gate fails, whatever follows\n"
        );
        assert_eq!(
            status_of(&[1, 2, 3, 4, 5], 0, 0, false),
            "5 trials of 25  12 s  0 passed\n"
        );
    }

    #[test]
    fn a_trial_that_does_not_count_says_why() {
        let failure = TrialFailure::new(FailureReason::ProcessFailed).with("exit code 3");
        let mut trial = Trial::failed(2, failure);
        trial.wall_time_ms = Some(1_200);
        assert_eq!(
            reported(ended(&trial, &["no_loops"], 3)),
            "✗ trial 2/3  1.20 s  its process failed: exit code 3\n"
        );
    }
}
