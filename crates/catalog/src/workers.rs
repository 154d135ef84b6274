//! Threads that work on many runs at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use tracer_runs::CancelToken;

/// Items that a thread takes at once.
const ITEMS_PER_TURN: usize = 4;
/// The same where there is little to do for each.
const ITEMS_PER_LONG_TURN: usize = 64;

/// As many threads as there are processors.
pub(crate) fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Works on all items in several threads, nearly in their order, and gives each result to `take` on the
/// calling thread. Once `cancel` is cancelled, no further item is begun, and results are dropped.
pub(crate) fn each<Item: Sync, Output: Send>(
    items: &[Item],
    threads: usize,
    cancel: &CancelToken,
    work: impl Fn(&Item) -> Output + Sync,
    mut take: impl FnMut(usize, Output),
) {
    let next = AtomicUsize::new(0);
    let turns = |output: &mut dyn FnMut(usize, Output)| {
        cancel.within(|| {
            loop {
                let start = next.fetch_add(ITEMS_PER_TURN, Ordering::Relaxed);
                let Some(turn) = items.get(start..items.len().min(start.saturating_add(ITEMS_PER_TURN)))
                else {
                    return;
                };
                if turn.is_empty() {
                    return;
                }
                for (at, item) in (start..).zip(turn) {
                    if cancel.is_cancelled() {
                        return;
                    }
                    let result = work(item);
                    // What was read while reading was cancelled may lack anything.
                    if !cancel.is_cancelled() {
                        output(at, result);
                    }
                }
            }
        });
    };
    let others = threads.min(items.len().div_ceil(ITEMS_PER_TURN));
    if others < 2 {
        turns(&mut take);
        return;
    }
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::sync_channel(1_024);
        let mut started = 0;
        for _ in 0..others {
            let sender = sender.clone();
            let worker = thread::Builder::new().spawn_scoped(scope, {
                let turns = &turns;
                move || {
                    turns(&mut |at, result| {
                        // There is no receiver any more when `take` panicked.
                        let _ = sender.send((at, result));
                    });
                }
            });
            started += usize::from(worker.is_ok());
        }
        drop(sender);
        if started == 0 {
            turns(&mut take);
            return;
        }
        for (at, result) in receiver {
            take(at, result);
        }
    });
}

/// Works on all items in several threads and gives the results in the order of the items: for work on each that is so little
/// that giving results one by one would take longer.
pub(crate) fn map<Item: Send, Output: Send>(
    items: Vec<Item>,
    threads: usize,
    work: impl Fn(Item) -> Output + Sync,
) -> impl Iterator<Item = Output> {
    let count = items.len();
    let left = Mutex::new((0, items.into_iter()));
    let turns = || {
        let mut done = Vec::new();
        loop {
            let (start, turn): (usize, Vec<Item>) = {
                let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
                let start = left.0;
                left.0 += ITEMS_PER_LONG_TURN;
                (start, left.1.by_ref().take(ITEMS_PER_LONG_TURN).collect())
            };
            if turn.is_empty() {
                return done;
            }
            done.push((start, turn.into_iter().map(&work).collect::<Vec<Output>>()));
        }
    };
    let others = threads.min(count.div_ceil(ITEMS_PER_LONG_TURN)).saturating_sub(1);
    let mut done = thread::scope(|scope| {
        let workers: Vec<_> = (0..others)
            .filter_map(|_| thread::Builder::new().spawn_scoped(scope, turns).ok())
            .collect();
        let mut done = turns();
        for worker in workers {
            match worker.join() {
                Ok(others) => done.extend(others),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(start, _)| *start);
    done.into_iter().flat_map(|(_, results)| results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for threads in [0, 1, 2, 7] {
            for count in [0, 1, ITEMS_PER_LONG_TURN, 10 * ITEMS_PER_LONG_TURN + 3] {
                let doubled = map((0..count).collect(), threads, |item: usize| item * 2);
                let doubled: Vec<usize> = doubled.collect();
                let expected: Vec<usize> = (0..count).map(|item| item * 2).collect();
                assert_eq!(doubled, expected);
            }
        }
    }

    #[test]
    fn every_item_is_worked_on_once() {
        for threads in [1, 2, 7] {
            let items: Vec<usize> = (0..103).collect();
            let mut seen = vec![0; items.len()];
            each(
                &items,
                threads,
                &CancelToken::default(),
                |item| item * 2,
                |at, doubled| {
                    assert_eq!(doubled, at * 2);
                    seen[at] += 1;
                },
            );
            assert!(seen.iter().all(|count| *count == 1));
        }
    }

    #[test]
    fn nothing_is_begun_after_it_was_cancelled() {
        let items: Vec<usize> = (0..100).collect();
        let cancel = CancelToken::default();
        let mut taken = 0;
        each(
            &items,
            1,
            &cancel,
            |item| *item,
            |_, item| {
                taken += 1;
                if item == 9 {
                    cancel.cancel();
                }
            },
        );
        assert_eq!(taken, 10);
    }
}
