//! One trace that is under way: the place of its spans, and the name of its root.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tracer_runs::import::{ImportError, ImportedSpan, RunPhase, RunWriter};
use tracer_sdk::format::{SpanId, SpanRecord, TraceId};

use super::ids::synthetic_root;
use super::logs::FROM_LOG;
use super::marks::is_call;
use super::placement::waits_for;
use super::roots::{put_under, run_name};

/// Most names of roots that are kept.
const MAX_ROOT_NAMES: usize = 4;

/// A trace that spans arrive of.
#[derive(Debug)]
pub(super) struct Trace {
    pub(super) run: RunWriter,
    /// The trace that its spans were sent in, while they wait for their conversation.
    pub(super) waiting_for: Option<TraceId>,
    /// When it was opened, by the collector's clock.
    pub(super) opened_at: Duration,
    /// When something of it arrived last.
    pub(super) last_arrival: Duration,
    /// A span without a parent has ended, so that the run may be complete.
    pub(super) has_root: bool,
    /// It may hold what was logged for spans, or as spans.
    pub(super) may_have_logs: bool,
    /// The names that its roots give the run.
    root_names: BTreeMap<SpanId, String>,
    /// Completing it failed; it is tried again from this moment on.
    pub(super) retry_at: Option<Duration>,
}

impl Trace {
    pub(super) fn new(run: RunWriter, now: Duration) -> Result<Self, ImportError> {
        let has_root = run.phase() != RunPhase::Completed && !run.shape().parentless.is_empty();
        Ok(Self {
            waiting_for: waits_for(&run)?,
            opened_at: now,
            last_arrival: now,
            has_root,
            // An earlier process may have written them.
            may_have_logs: run.span_count() > 0,
            root_names: BTreeMap::new(),
            retry_at: None,
            run,
        })
    }

    /// Gives each span its place in the run as it is now. How many new ones lacked the parent that they need; of a run that
    /// continues it may come, so that only calls without any are counted.
    pub(super) fn place(&self, spans: &mut [ImportedSpan]) -> u64 {
        if self.waiting_for.is_some() {
            // Its place is in another run.
            return 0;
        }
        let synthetic = synthetic_root(self.run.trace_id());
        if self.run.phase() == RunPhase::Completed {
            return self.place_late(spans, synthetic);
        }
        let mut without_parent = 0;
        for span in spans {
            // A root is the run's own span: a call would be lost as one.
            if span.record.parent_span_id.is_none() && is_call(&span.record) {
                without_parent += u64::from(!self.run.contains(span.record.span_id));
                put_under(&mut span.record, synthetic, synthetic);
            }
        }
        without_parent
    }

    /// A completed run is complete after each append: nothing waits for a parent.
    fn place_late(&self, spans: &mut [ImportedSpan], synthetic: SpanId) -> u64 {
        let Some(root) = self.run.root() else { return 0 };
        let mut without_parent = 0;
        let parents: HashMap<SpanId, Option<SpanId>> = spans
            .iter()
            .map(|span| (span.record.span_id, span.record.parent_span_id))
            .collect();
        for span in spans {
            let id = span.record.span_id;
            if !self.run.contains(id) && is_lost(id, &parents, &self.run) {
                without_parent += 1;
                put_under(&mut span.record, root, synthetic);
            }
        }
        without_parent
    }

    /// Notes what was appended.
    pub(super) fn note(&mut self, spans: &[ImportedSpan], now: Duration) {
        self.last_arrival = now;
        self.retry_at = None;
        self.may_have_logs |= spans
            .iter()
            .any(|span| span.record.attributes.contains_key(FROM_LOG));
        for span in spans.iter().filter(|span| span.record.parent_span_id.is_none()) {
            self.has_root = true;
            if self.root_names.len() < MAX_ROOT_NAMES {
                self.root_names
                    .insert(span.record.span_id, root_name(&span.record));
            }
        }
    }

    /// The name of the run's only root, if it is known.
    pub(super) fn root_name(&self) -> Option<&str> {
        self.root_names.get(&self.run.root()?).map(String::as_str)
    }
}

fn root_name(root: &SpanRecord) -> String {
    run_name(&root.attributes).unwrap_or_else(|| root.name.clone())
}

/// Recognises a late span without a place: no parent, one that is nowhere, or a circle of parents that it is the
/// first of.
fn is_lost(id: SpanId, parents: &HashMap<SpanId, Option<SpanId>>, run: &RunWriter) -> bool {
    match parents.get(&id) {
        Some(Some(parent)) => {
            !run.contains(*parent) && (!parents.contains_key(parent) || is_first_of_circle(id, parents, run))
        }
        _ => true,
    }
}

fn is_first_of_circle(id: SpanId, parents: &HashMap<SpanId, Option<SpanId>>, run: &RunWriter) -> bool {
    let mut at = id;
    for _ in 0..parents.len() {
        match parents.get(&at) {
            Some(Some(parent)) if !run.contains(*parent) && *parent >= id => at = *parent,
            _ => return false,
        }
        if at == id {
            return true;
        }
    }
    false
}
