//! Trials side by side with the result of one by one: they are taken in the order of their numbers, and what was
//! started beyond the last one that counts is thrown away.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::stop::{Stop, TrialsStop};

/// Interval of the ticks of a watcher.
const TICK: Duration = Duration::from_millis(100);

/// Follows the trials and says when they may stop.
pub(crate) trait Watcher<Outcome> {
    /// A trial starts.
    fn started(&mut self, number: u32);
    /// A trial has ended. It may end before an earlier one does.
    fn ended(&mut self, number: u32);
    /// Time goes by.
    fn tick(&mut self);
    /// The outcomes, in the order of the numbers; breaks when the verdict is known. When the user stops, also what ended out
    /// of order, with gaps.
    fn take(&mut self, outcome: Outcome) -> ControlFlow<()>;
}

/// Runs at most `trials` trials, `jobs` at a time, numbered from 1; `run` runs one, on a thread of its own. One that ended is taken before another one
/// starts in its place: no trial is paid for when the verdict is known.
pub(crate) fn run_trials<Outcome: Send>(
    [trials, jobs]: [u32; 2],
    stop: &Stop,
    run: impl Fn(u32) -> Outcome + Sync,
    watcher: &mut impl Watcher<Outcome>,
) {
    let (sender, ended) = mpsc::channel();
    let mut waiting = BTreeMap::new();
    let (mut next, mut awaited, mut running) = (1, 1, 0);
    thread::scope(|scope| {
        loop {
            while running < jobs && next <= trials && stop.reason().is_none() {
                watcher.started(next);
                let (sender, run, number) = (sender.clone(), &run, next);
                // The receiver outlives every thread of this scope.
                scope.spawn(move || sender.send((number, run(number))));
                (next, running) = (next + 1, running + 1);
            }
            if running == 0 {
                break;
            }
            let Ok((number, outcome)) = ended.recv_timeout(TICK) else {
                watcher.tick();
                continue;
            };
            running -= 1;
            watcher.ended(number);
            waiting.insert(number, outcome);
            while stop.reason().is_none() {
                let Some(outcome) = waiting.remove(&awaited) else {
                    break;
                };
                awaited += 1;
                if watcher.take(outcome).is_break() {
                    stop.decide();
                }
            }
        }
    });
    if stop.reason() == Some(TrialsStop::Interrupted) {
        for outcome in waiting.into_values() {
            let _ = watcher.take(outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Default)]
    struct Seen {
        enough_after: Option<u32>,
        taken: Vec<u32>,
        events: Vec<(&'static str, u32)>,
    }

    impl Watcher<u32> for Seen {
        fn started(&mut self, number: u32) {
            self.events.push(("started", number));
        }

        fn ended(&mut self, number: u32) {
            self.events.push(("ended", number));
        }

        fn tick(&mut self) {}

        fn take(&mut self, number: u32) -> ControlFlow<()> {
            self.taken.push(number);
            if self.enough_after == Some(number) {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        }
    }

    fn taken(trials: u32, jobs: u32, enough_after: u32) -> Vec<u32> {
        let mut seen = Seen {
            enough_after: Some(enough_after),
            ..Seen::default()
        };
        run_trials([trials, jobs], &Stop::unasked(), |number| number, &mut seen);
        seen.taken
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn as_many_at_once_as_one_likes_give_what_one_by_one_gives(
            trials in 1..30u32, jobs in 2..9u32, enough_after in 1..40u32,
        ) {
            prop_assert_eq!(taken(trials, jobs, enough_after), taken(trials, 1, enough_after));
        }
    }

    #[test]
    fn no_trial_is_paid_for_when_the_verdict_is_known() {
        let mut seen = Seen {
            enough_after: Some(2),
            ..Seen::default()
        };
        run_trials([9, 1], &Stop::unasked(), |number| number, &mut seen);
        assert_eq!(seen.events.last(), Some(&("ended", 2)));
    }

    #[test]
    fn every_trial_is_run_once_and_none_counts_after_the_verdict_is_known() {
        assert_eq!(taken(4, 1, 99), [1, 2, 3, 4]);
        assert_eq!(taken(4, 1, 2), [1, 2]);
        assert_eq!(taken(4, 3, 2), [1, 2]);
        assert_eq!(taken(2, 64, 99), [1, 2]);
    }

    #[test]
    fn what_has_ended_when_the_user_stops_is_taken_whatever_its_number() {
        let stop = Stop::unasked();
        // The first trial waits until the third one has interrupted everything.
        let run = |number| {
            if number == 3 {
                stop.interrupt();
            }
            while number == 1 && stop.reason().is_none() {
                thread::yield_now();
            }
            number
        };
        let mut seen = Seen::default();
        run_trials([5, 2], &stop, run, &mut seen);
        assert_eq!(seen.taken, [1, 2, 3]);
    }

    #[test]
    fn whoever_watches_sees_every_trial_start_and_end() {
        let mut seen = Seen::default();
        run_trials([3, 1], &Stop::unasked(), |number| number, &mut seen);
        let expected: Vec<_> = (1..=3)
            .flat_map(|number| [("started", number), ("ended", number)])
            .collect();
        assert_eq!(seen.events, expected);
    }
}
