//! Threads that work on many runs at once.

use std::sync::mpsc;
use std::thread;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use tracer_runs::CancelToken;

/// Items that are worth a thread.
const ITEMS_PER_THREAD: usize = 4;

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
    let numbered = items.iter().enumerate();
    let result = |(at, item): (usize, &Item)| {
        if cancel.is_cancelled() {
            return None;
        }
        let result = cancel.within(|| work(item));
        // A reading that was cancelled may lack anything.
        (!cancel.is_cancelled()).then_some((at, result))
    };
    let threads = threads.min(items.len().div_ceil(ITEMS_PER_THREAD));
    let pool = (threads > 1).then(|| ThreadPoolBuilder::new().num_threads(threads).build());
    let Some(Ok(pool)) = pool else {
        for (at, result) in numbered.filter_map(result) {
            take(at, result);
        }
        return;
    };
    let (sender, receiver) = mpsc::sync_channel(1_024);
    pool.in_place_scope(|scope| {
        scope.spawn(|_| {
            numbered.par_bridge().for_each_with(sender, |sender, item| {
                if let Some(result) = result(item) {
                    // There is no receiver any more when `take` panicked.
                    let _ = sender.send(result);
                }
            });
        });
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
