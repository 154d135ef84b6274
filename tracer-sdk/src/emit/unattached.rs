//! Counts of the records that belong to no run.

use std::sync::atomic::{AtomicU64, Ordering};

static UNATTACHED: AtomicU64 = AtomicU64::new(0);
/// Number of those that may have belonged to one of several live runs.
static AMBIGUOUS: AtomicU64 = AtomicU64::new(0);

/// Counts a record that belongs to no run.
pub(crate) fn count() {
    UNATTACHED.fetch_add(1, Ordering::Relaxed);
}

/// Counts a record that may have belonged to one of several live runs.
pub(crate) fn count_ambiguous() {
    AMBIGUOUS.fetch_add(1, Ordering::Relaxed);
}

/// Number of records that found no run while several were live. Each run that was live meanwhile says so in its
/// `meta.json`.
pub(crate) fn ambiguous_records() -> u64 {
    AMBIGUOUS.load(Ordering::Relaxed)
}

/// Number of records of this process that belonged to no run: none was live, or several were and the thread had no
/// context of its own. They are not kept anywhere.
///
/// ```
/// let before = tracer_sdk::unattached_records();
/// tracer_sdk::tool_call("search").record()?; // no run is active here
/// assert_eq!(tracer_sdk::unattached_records(), before + 1);
/// # Ok::<(), tracer_sdk::GuardrailExceeded>(())
/// ```
pub fn unattached_records() -> u64 {
    UNATTACHED.load(Ordering::Relaxed)
}
