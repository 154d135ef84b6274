//! Threads for reading many runs at once.

use std::sync::LazyLock;

use rayon::ThreadPool;
use rayon::iter::{ParallelBridge, ParallelIterator};

use crate::cancel::CancelToken;

/// Runs that make more threads worth their start.
const MIN_RUNS: usize = 64;
/// A disk answers many questions at once, and a reader of small files does nothing but wait for it: more threads than
/// there are processors; four times as many gained nothing. Each has one file open, and a process may have few: on some
/// systems 256.
const READERS: usize = 32;

/// The readers, which all lists share; none where the system gives no more threads.
static POOL: LazyLock<Option<ThreadPool>> =
    LazyLock::new(|| rayon::ThreadPoolBuilder::new().num_threads(READERS).build().ok());

/// The results for these items, in no order; in several threads when there are many.
pub(super) fn map<Item: Sync, Output: Send>(
    items: &[Item],
    work: impl Fn(&Item) -> Output + Sync,
) -> Vec<Output> {
    let token = CancelToken::current();
    let work = |item| match &token {
        Some(token) => token.within(|| work(item)),
        None => work(item),
    };
    match POOL.as_ref().filter(|_| items.len() > MIN_RUNS) {
        // One after the other, so that all threads together go through the disk in order.
        Some(pool) => pool.install(|| items.iter().par_bridge().map(work).collect()),
        None => items.iter().map(work).collect(),
    }
}
