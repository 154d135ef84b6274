//! Threads that work on many runs at once.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use tracer_runs::CancelToken;

/// Items that a thread takes at once.
const ITEMS_PER_TURN: usize = 4;
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

#[cfg(test)]
mod tests {
    use super::*;

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
