//! Trials are independent only if their traces are (gate-2, section 1).

use std::collections::BTreeMap;

use super::{FailureReason, Trial, TrialFailure};

/// Checks the trials of a gate one after the other, and fails each one whose trace is that of an earlier one: the same
/// trace ID, or the same instants under another ID.
///
/// ```
/// use tracer_gate::{Independence, Trial};
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let run = RunProfile::new(&run.meta, run.records);
/// let mut trials = [Trial::of_run(1, run.clone()), Trial::of_run(2, run)];
/// let mut independence = Independence::default();
/// trials.iter_mut().for_each(|trial| independence.check(trial));
/// assert!(trials[0].is_sound() && !trials[1].is_sound());
/// ```
#[derive(Debug, Default)]
pub struct Independence {
    ids: BTreeMap<String, u32>,
    contents: BTreeMap<u64, u32>,
}

impl Independence {
    /// Fails a trial whose trace an earlier one has. A trial that failed already keeps its reason.
    ///
    /// ```
    /// use tracer_gate::{FailureReason, Independence, Trial, TrialFailure};
    ///
    /// let mut trial = Trial::failed(1, TrialFailure::new(FailureReason::NoTrace));
    /// Independence::default().check(&mut trial);
    /// assert_eq!(trial.failure.unwrap().reason, FailureReason::NoTrace);
    /// ```
    pub fn check(&mut self, trial: &mut Trial) {
        let number = trial.number;
        let same_id = trial
            .trace_id
            .clone()
            .and_then(|id| first(&mut self.ids, id, number));
        let content = trial.metrics.as_ref().map(|metrics| metrics.content);
        let same_content = content.and_then(|content| first(&mut self.contents, content, number));
        let detail = match (same_id, same_content) {
            (Some(other), _) => format!("it has the trace ID of trial {other}"),
            (None, Some(other)) => format!("it is a copy of that of trial {other}"),
            (None, None) => return,
        };
        trial.fail(TrialFailure::new(FailureReason::NotIndependent).with(detail));
    }
}

/// The trial that had this first, when that is another one.
fn first<Key: Ord>(known: &mut BTreeMap<Key, u32>, key: Key, number: u32) -> Option<u32> {
    let first = *known.entry(key).or_insert(number);
    (first != number).then_some(first)
}
