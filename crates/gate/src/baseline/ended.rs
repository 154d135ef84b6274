//! A baseline of one run that has ended.

use tracer_insight::profile::RunProfile;
use tracer_sdk::format::{RecordedStatus, Timestamp};

use super::Baseline;

impl Baseline {
    /// A baseline of a run that has ended; `forced` when it did not end well.
    #[must_use]
    pub fn of_ended(run: &RunProfile, now: Timestamp) -> Self {
        let mut baseline = Self::of_run(run, &moment(now));
        if let Some(provenance) = &mut baseline.x_tracer {
            provenance.forced = run.status != RecordedStatus::Ok;
        }
        baseline
    }
}

/// The moment as baselines have it, to the millisecond.
#[must_use]
pub fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let seconds_and_milliseconds: String = text.chars().take("2026-01-01T00:00:00.000".len()).collect();
    seconds_and_milliseconds + "Z"
}
