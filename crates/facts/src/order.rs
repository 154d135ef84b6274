//! [`RunOrder`]: what runs are sorted by, wherever they are listed; [`RunThreads`]: runs of one conversation.

use std::borrow::Borrow;
use std::cmp::Reverse;
use std::collections::HashMap;

use tracer_sdk::format::{Timestamp, TraceId};

use crate::run_facts::RunDetails;
use crate::store::ListedRun;

tracer_sdk::words! {
    /// What runs are sorted by. Numbers come from the largest to the smallest, runs whose number is not known last.
    ///
    /// ```
    /// use tracer_facts::RunOrder;
    ///
    /// assert_eq!(RunOrder::from_word("tokens"), Some(RunOrder::Tokens));
    /// assert_eq!(RunOrder::from_word("size"), None);
    /// ```
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub enum RunOrder in tracer_facts {
        /// The newest first.
        #[default]
        Started = "started",
        /// How long it took, or has been going on.
        Duration = "duration",
        /// Number of steps.
        Steps = "steps",
        /// All tokens.
        Tokens = "tokens",
        /// What its model calls cost, as far as that is known.
        Cost = "cost",
        /// Failed calls.
        Failures = "failures",
        /// Recorded errors.
        Errors = "errors",
        /// Calls that were tried again.
        Retries = "retries",
        /// The label, from A to Z.
        Name = "name",
        /// The name of the model with the most calls, from A to Z.
        Model = "model",
        /// The name of the tool with the most calls, from A to Z.
        Tool = "tool",
        /// The status, what asks for a look first.
        Status = "status",
    }
}

impl RunOrder {
    /// Whether the details of runs have to be known.
    #[must_use]
    pub const fn needs_details(self) -> bool {
        matches!(self, Self::Cost | Self::Model | Self::Tool)
    }

    /// Sorts runs, which come newest first; `is_reversed` turns the order round. Each run is looked at once: they are large, lie
    /// anywhere in memory, and there are many.
    pub fn sort<Run: Borrow<ListedRun>>(self, runs: &mut [Run], is_reversed: bool, now: Timestamp) {
        let number = |run: &ListedRun| {
            let facts = &run.facts;
            match self {
                Self::Duration => run.duration_until(now),
                Self::Steps => Some(facts.steps),
                Self::Tokens => facts.tokens.total_tokens,
                Self::Failures => Some(facts.failed_calls),
                Self::Errors => Some(facts.errors),
                Self::Retries => Some(facts.retries),
                Self::Started | Self::Name | Self::Model | Self::Tool | Self::Status | Self::Cost => None,
            }
        };
        match self {
            Self::Started => {}
            Self::Cost => runs.sort_by_cached_key(|run| {
                let run = run.borrow();
                // By what is known of it: a run with an unknown part costs at least that.
                let cost = run.details.as_ref().map(|details| details.cost);
                let known = cost.filter(|cost| cost.unpriced == 0 || cost.has_known());
                (known.is_none(), known.map(|cost| Reverse(cost.known)))
            }),
            Self::Status => runs.sort_by_cached_key(|run| run.borrow().status),
            Self::Name => runs.sort_by_cached_key(|run| {
                let name = run.borrow().facts.name.as_ref().map(|name| name.to_lowercase());
                (name.is_none(), name)
            }),
            Self::Model => {
                runs.sort_by_cached_key(|run| most_called(run.borrow(), RunDetails::models_by_calls));
            }
            Self::Tool => {
                runs.sort_by_cached_key(|run| most_called(run.borrow(), RunDetails::tools_by_calls));
            }
            _ => runs.sort_by_cached_key(|run| {
                let number = number(run.borrow());
                (number.is_none(), number.map(Reverse))
            }),
        }
        if is_reversed {
            runs.reverse();
        }
    }
}

/// The name of what a run called most, in lower case; a run that called nothing comes last.
fn most_called(run: &ListedRun, names: fn(&RunDetails) -> Vec<&str>) -> (bool, Option<String>) {
    let details = run.details.as_ref();
    let name = details.and_then(|details| Some(names(details).first()?.to_lowercase()));
    (name.is_none(), name)
}

/// The place of a run in its thread: the runs that share its session or conversation ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlaceInThread<'a> {
    /// The session or conversation ID.
    pub thread: &'a str,
    /// Its number, from 1 for the one that started first.
    pub number: usize,
    /// How many runs there are in the thread.
    pub count: usize,
}

/// The threads of runs: those that share a session or conversation ID. A run that is alone in its session is in none.
///
/// ```
/// use tracer_facts::{FactsStore, RunThreads};
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let runs = FactsStore::new(folder.path()).all(false)?.runs;
/// let threads = RunThreads::of(&runs);
/// assert_eq!((threads.count(), threads.place(&runs[0])), (0, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct RunThreads {
    /// Of each run in a thread, its number there, and of how many.
    places: HashMap<TraceId, (usize, usize)>,
    count: usize,
}

impl RunThreads {
    /// The threads of runs, which come newest first.
    #[must_use]
    pub fn of(runs: &[ListedRun]) -> Self {
        let mut by_session: HashMap<&str, Vec<TraceId>> = HashMap::new();
        for run in runs.iter().rev() {
            if let Some(session) = run.facts.session.as_deref() {
                by_session
                    .entry(session)
                    .or_default()
                    .push(run.directory.trace_id);
            }
        }
        let mut threads = Self::default();
        for runs in by_session.into_values().filter(|runs| runs.len() > 1) {
            let count = runs.len();
            let places = (1..).zip(runs).map(|(number, run)| (run, (number, count)));
            threads.places.extend(places);
            threads.count += 1;
        }
        threads
    }

    /// The place of a run in its thread.
    #[must_use]
    pub fn place<'a>(&self, run: &'a ListedRun) -> Option<PlaceInThread<'a>> {
        let (number, count) = *self.places.get(&run.directory.trace_id)?;
        Some(PlaceInThread {
            thread: run.facts.session.as_deref()?,
            number,
            count,
        })
    }

    /// How many threads there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.count
    }
}

/// Puts the runs of each thread together, where the first of them is.
pub fn group_threads(runs: &mut Vec<&ListedRun>) {
    let mut of_session: HashMap<&str, Vec<&ListedRun>> = HashMap::new();
    for run in runs.iter() {
        if let Some(session) = run.facts.session.as_deref() {
            of_session.entry(session).or_default().push(run);
        }
    }
    let ordered = std::mem::take(runs);
    for run in ordered {
        match run.facts.session.as_deref() {
            None => runs.push(run),
            // Those behind the first were pushed with it.
            Some(session) => runs.extend(of_session.remove(session).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_insight::units;

    use super::*;
    use crate::FactsStore;
    use crate::test_support::{SampleRun, SampleSpan, Sandbox};

    fn store() -> Vec<ListedRun> {
        let sandbox = Sandbox::new();
        let tool = |number| SampleSpan::tool(number, "search", &json!({}), &json!({}));
        let read = |number| SampleSpan::tool(number, "Read", &json!({}), &json!({}));
        let chat =
            |number, session| SampleRun::new(number, "chat").attribute("gen_ai.conversation.id", session);
        sandbox.write(&chat(1, "a").span(tool(1)));
        sandbox.write(&chat(2, "b"));
        let alone = SampleRun::new(3, "Alone")
            .span(read(1))
            .span(read(2))
            .span(tool(3));
        sandbox.write(&alone);
        sandbox.write(&chat(4, "a"));
        sandbox.write(&chat(5, "c"));
        sandbox.write(&chat(6, "b").failed("Timeout", "late"));
        FactsStore::new(sandbox.path()).all(true).unwrap().runs
    }

    fn seconds(runs: &[&ListedRun]) -> Vec<i64> {
        let second = |run: &&ListedRun| run.facts.started_us.unwrap() / 1_000_000 % 86_400;
        runs.iter().map(second).collect()
    }

    #[test]
    fn runs_are_sorted_both_ways() {
        let runs = store();
        for (order, expected) in [
            (RunOrder::Started, [6, 5, 4, 3, 2, 1]),
            (RunOrder::Steps, [3, 6, 1, 5, 4, 2]),
            (RunOrder::Name, [3, 6, 5, 4, 2, 1]),
            (RunOrder::Tool, [3, 1, 6, 5, 4, 2]),
            (RunOrder::Model, [6, 5, 4, 3, 2, 1]),
            (RunOrder::Errors, [6, 5, 4, 3, 2, 1]),
        ] {
            let mut listed: Vec<&ListedRun> = runs.iter().collect();
            order.sort(&mut listed, false, units::now());
            assert_eq!(seconds(&listed), expected, "{order:?}");
            let mut reversed: Vec<&ListedRun> = runs.iter().collect();
            order.sort(&mut reversed, true, units::now());
            listed.reverse();
            assert_eq!(seconds(&reversed), seconds(&listed));
        }
        for order in RunOrder::ALL {
            assert_eq!(RunOrder::from_word(order.as_str()), Some(order));
        }
    }

    #[test]
    fn runs_of_a_session_are_one_thread() {
        let runs = store();
        let threads = RunThreads::of(&runs);
        let of = |second: usize| {
            let place = threads.place(&runs[6 - second])?;
            Some((place.thread, place.number, place.count))
        };
        assert_eq!((of(1), of(4)), (Some(("a", 1, 2)), Some(("a", 2, 2))));
        assert_eq!((of(2), of(6)), (Some(("b", 1, 2)), Some(("b", 2, 2))));
        assert_eq!((of(3), of(5)), (None, None));
        assert_eq!(threads.count(), 2);
        let mut listed: Vec<&ListedRun> = runs.iter().collect();
        group_threads(&mut listed);
        assert_eq!(seconds(&listed), [6, 2, 5, 4, 1, 3]);
    }
}
