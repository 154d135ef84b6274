//! Traces that are under way, each with a lock of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tracer_runs::import::RunPhase;
use tracer_sdk::format::TraceId;

use super::trace::Trace;

/// Most spans that are known in memory by their IDs, about 64 bytes each.
const MAX_KNOWN_SPANS: usize = 4_000_000;

/// Traces in memory and those at rest.
///
/// Files are read and written while the lock of their trace is held, and no other; the lock of the table is held for a look.
#[derive(Debug, Default)]
pub(super) struct OpenTraces {
    table: Mutex<TraceTable>,
}

#[derive(Debug, Default)]
struct TraceTable {
    open: HashMap<TraceId, OpenTrace>,
    /// Traces that are on disk and have not ended, but are not in memory; of spans that wait for their session, the trace
    /// that they were sent in.
    at_rest: BTreeMap<TraceId, Option<TraceId>>,
}

#[derive(Debug)]
struct OpenTrace {
    trace: Arc<Mutex<Option<Trace>>>,
    /// Facts as of the last use.
    last_arrival: Duration,
    spans: usize,
    waiting_for: Option<TraceId>,
}

impl Default for OpenTrace {
    fn default() -> Self {
        Self {
            trace: Arc::default(),
            // It is in use.
            last_arrival: Duration::MAX,
            spans: 0,
            waiting_for: None,
        }
    }
}

impl OpenTraces {
    /// Gives a trace to `work` once no other thread has it, or nothing where it is not in memory; what `work` takes out is
    /// forgotten. `None` when another thread has it for longer than `patience`.
    pub(super) fn with<R>(
        &self,
        id: TraceId,
        patience: Duration,
        work: impl FnOnce(&mut Option<Trace>) -> R,
    ) -> Option<R> {
        loop {
            let shared = Arc::clone(&self.table.lock().open.entry(id).or_default().trace);
            let mut trace = shared.try_lock_for(patience)?;
            let is_current = |open: &OpenTrace| Arc::ptr_eq(&open.trace, &shared);
            if !self.table.lock().open.get(&id).is_some_and(is_current) {
                // The thread that had it took it out.
                continue;
            }
            let result = work(&mut trace);
            let mut table = self.table.lock();
            match &*trace {
                Some(trace) => {
                    table.at_rest.remove(&id);
                    if let Some(open) = table.open.get_mut(&id) {
                        open.last_arrival = trace.last_arrival;
                        open.spans = trace.run.span_count();
                        open.waiting_for = trace.waiting_for;
                    }
                }
                None => drop(table.open.remove(&id)),
            }
            return Some(result);
        }
    }

    /// Remembers that a trace is on disk; readers see a running one as interrupted.
    pub(super) fn rest(&self, trace: &Trace) {
        if trace.run.phase() != RunPhase::Completed {
            let mut table = self.table.lock();
            table.at_rest.insert(trace.run.trace_id(), trace.waiting_for);
        }
    }

    /// Forgets that a trace is at rest.
    pub(super) fn forget(&self, id: TraceId) {
        self.table.lock().at_rest.remove(&id);
    }

    /// The traces in memory.
    pub(super) fn in_memory(&self) -> Vec<TraceId> {
        self.table.lock().open.keys().copied().collect()
    }

    /// Every trace that has not ended.
    pub(super) fn all(&self) -> BTreeSet<TraceId> {
        let table = self.table.lock();
        table.open.keys().chain(table.at_rest.keys()).copied().collect()
    }

    /// The traces with spans that wait for their session.
    pub(super) fn waiting(&self) -> BTreeSet<TraceId> {
        let table = self.table.lock();
        let open = table.open.values().filter_map(|open| open.waiting_for);
        open.chain(table.at_rest.values().copied().flatten()).collect()
    }

    /// The trace that was quiet for longest and is none of `kept`, while there are more than `most`, or more spans than memory
    /// has room for.
    pub(super) fn beyond(&self, most: usize, kept: &[Option<TraceId>]) -> Option<TraceId> {
        let table = self.table.lock();
        let spans = || table.open.values().map(|open| open.spans).sum::<usize>();
        if table.open.len() <= most.max(1) && (spans() <= MAX_KNOWN_SPANS || table.open.len() == 1) {
            return None;
        }
        let others = table
            .open
            .iter()
            .filter(|(id, open)| !kept.contains(&Some(**id)) && open.last_arrival != Duration::MAX);
        let oldest = others.min_by_key(|(id, open)| (open.last_arrival, **id));
        oldest.map(|(id, _)| *id)
    }
}
