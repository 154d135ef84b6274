//! Which runs a query selects: by their facts, and where these leave it open, by their steps.

use tracer_runs::CancelToken;
use tracer_sdk::format::Timestamp;

use crate::query::{FactsTest, RunMatch, RunQuery, StepTest};
use crate::search::match_steps;
use crate::store::ListedRun;

/// The progress of a selection that reads the steps of runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MatchProgress {
    /// Runs whose steps decide.
    pub runs: usize,
    /// Those of them that were looked through.
    pub read_runs: usize,
}

/// The matches of a query, run by run: its terms on runs by their facts, those on steps by reading the steps, in several threads.
///
/// `progress` is called before the first run is read and after each one, and never where facts decide. When `cancel` is
/// cancelled, runs that were not read yet do not match.
///
/// ```
/// use tracer_catalog::{FactsStore, matching_runs};
/// use tracer_insight::units::now;
/// use tracer_runs::CancelToken;
///
/// let data_dir = tempfile::tempdir()?;
/// std::fs::create_dir(data_dir.path().join("runs"))?;
/// let runs = FactsStore::new(data_dir.path()).all(true)?.runs;
/// let query = "tool:search_kb args~refund".parse()?;
/// let matches = matching_runs(&runs, &query, now(), &CancelToken::default(), |progress| {
///     println!("{} of {} runs", progress.read_runs, progress.runs);
/// });
/// assert_eq!(matches.len(), runs.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn matching_runs<'a>(
    runs: impl IntoIterator<Item = &'a ListedRun>,
    query: &RunQuery,
    now: Timestamp,
    cancel: &CancelToken,
    mut progress: impl FnMut(MatchProgress),
) -> Vec<bool> {
    let mut matching = Vec::new();
    let (mut undecided, mut places) = (Vec::new(), Vec::new());
    let test = FactsTest::new(query, now);
    for (place, run) in runs.into_iter().enumerate() {
        let found = test.matches(run);
        matching.push(found == RunMatch::Yes);
        if found == RunMatch::IfSteps {
            undecided.push(run);
            places.push(place);
        }
    }
    if undecided.is_empty() {
        return matching;
    }
    let mut reading = MatchProgress {
        runs: undecided.len(),
        read_runs: 0,
    };
    progress(reading);
    match_steps(&undecided, &StepTest::new(query), cancel, |at, matches| {
        reading.read_runs += 1;
        progress(reading);
        if let Some(slot) = places.get(at).and_then(|place| matching.get_mut(*place)) {
            *slot = matches;
        }
    });
    matching
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_insight::units::now;

    use super::*;
    use crate::FactsStore;
    use crate::test_support::{SampleRun, SampleSpan, Sandbox};

    fn runs() -> (Sandbox, Vec<ListedRun>) {
        let sandbox = Sandbox::new();
        for (number, text) in [(1, "refund"), (2, "shipping"), (3, "a refund")] {
            let args = json!({ "query": text });
            let span = SampleSpan::tool(1, "search_kb", &args, &json!({}));
            sandbox.write(&SampleRun::new(number, "agent").span(span));
        }
        sandbox.write(&SampleRun::new(4, "idle"));
        let runs = FactsStore::new(sandbox.path()).all(true).unwrap().runs;
        (sandbox, runs)
    }

    fn selected(runs: &[ListedRun], query: &str, cancel: &CancelToken) -> (usize, Vec<MatchProgress>) {
        let mut reported = Vec::new();
        let query = query.parse().unwrap();
        let matching = matching_runs(runs, &query, now(), cancel, |progress| reported.push(progress));
        assert_eq!(matching.len(), runs.len());
        (matching.iter().filter(|matches| **matches).count(), reported)
    }

    #[test]
    fn steps_are_read_only_of_runs_whose_facts_leave_it_open() {
        let (_sandbox, runs) = runs();
        let cancel = CancelToken::default();
        assert_eq!(selected(&runs, "name:agent", &cancel), (3, Vec::new()));
        let (count, reported) = selected(&runs, "name:agent args~refund", &cancel);
        assert_eq!(count, 2);
        let read: Vec<usize> = reported.iter().map(|progress| progress.read_runs).collect();
        assert_eq!(read, [0, 1, 2, 3]);
        assert!(reported.iter().all(|progress| progress.runs == 3));
    }

    #[test]
    fn a_cancelled_selection_matches_what_facts_decide() {
        let (_sandbox, runs) = runs();
        let cancel = CancelToken::default();
        cancel.cancel();
        assert_eq!(selected(&runs, "name:idle", &cancel).0, 1);
        assert_eq!(selected(&runs, "args~refund", &cancel).0, 0);
    }
}
