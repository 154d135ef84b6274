//! What is in the log of a run that others than its process have written into or changed, for the one that ends it: a run
//! is counted by what is in its file, and a completed run has no missing parent (decisions, sections 4 and 10).

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::ids::SpanIds;
use crate::format::{Counts, Dropped, Problem, SPANS_FILE, SpanId, SpanRecord, StoredTime, Timestamp, names};
use crate::read::outline_run;
use crate::write::losses::LostParent;

/// The name of what stands in for a span whose process died before it ended.
const INTERRUPTED: &str = "interrupted child process";

/// What the spans in a file add up to.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) counts: Counts,
    /// When the last span ended, if others than this process may have written it.
    pub(crate) last_end: Option<Timestamp>,
}

/// A span log that other processes wrote into as well.
#[derive(Debug)]
pub(crate) struct Survey {
    pub(crate) found: Found,
    /// Spans that others name as their parent and that are not in the file: their processes died.
    pub(crate) missing_parents: Vec<LostParent>,
    /// What the others say that they lost.
    pub(crate) dropped: Option<Dropped>,
    /// How many of the spans are this process's own.
    pub(crate) own: u64,
    /// Something in it cannot be read.
    pub(crate) is_damaged: bool,
}

/// Looks at the run in a directory; `ids` gave this process's own spans theirs. `None` when it cannot be read.
///
/// One span at a time is in memory, and of each its ID and those of parents.
pub(crate) fn survey(directory: &Path, root: SpanId, ids: &SpanIds) -> Option<Survey> {
    let run = outline_run(directory).ok()?;
    let counts = run.counts();
    let in_log = |problem: &Problem| problem.location.starts_with(SPANS_FILE);
    let is_damaged = run.cut_tail.is_some() || run.problems.iter().any(in_log);
    let mut own = 0;
    let mut last_end = None;
    let mut present = HashSet::from([root]);
    let mut parents = HashMap::new();
    let mut dropped = None;
    for span in run.records.into_spans() {
        let span = span.ok()?;
        last_end = last_end.max(end_of(&span));
        present.insert(span.span_id);
        let stands_in = span.attributes.contains_key(names::LOST.written());
        own += u64::from(!stands_in && span.span_id != root && ids.gave(span.span_id));
        note_parent(&mut parents, &span, root);
        note_dropped(&mut dropped, &span);
    }
    parents.retain(|id, _| !present.contains(id));
    let mut missing_parents: Vec<LostParent> = parents.into_values().collect();
    // So that the same spans give the same file.
    missing_parents.sort_unstable_by_key(|parent| (parent.start, parent.id));
    Some(Survey {
        found: Found { counts, last_end },
        missing_parents,
        dropped,
        own,
        is_damaged,
    })
}

/// Keeps what a stand-in for the parent of `span` would need.
fn note_parent(parents: &mut HashMap<SpanId, LostParent>, span: &SpanRecord, root: SpanId) {
    let Some(id) = span.parent_span_id else { return };
    let start = span.start_time.instant();
    let end = end_of(span).unwrap_or(start);
    let parent = parents.entry(id).or_insert_with(|| LostParent {
        id,
        parent: root,
        name: INTERRUPTED.into(),
        start,
        end,
    });
    parent.start = parent.start.min(start);
    parent.end = parent.end.max(end);
}

/// Adds what the process that wrote `span` says that it lost; the first reason is kept.
fn note_dropped(dropped: &mut Option<Dropped>, span: &SpanRecord) {
    let attribute = |name: names::Name| span.attributes.get(name.written());
    let Some(spans) = attribute(names::DROPPED_SPANS).and_then(serde_json::Value::as_u64) else {
        return;
    };
    let reason = attribute(names::DROPPED_REASON).and_then(serde_json::Value::as_str);
    match dropped {
        Some(dropped) => dropped.spans = dropped.spans.saturating_add(spans),
        None => {
            *dropped = Some(Dropped {
                spans,
                reason: reason.unwrap_or_default().to_owned(),
            });
        }
    }
}

fn end_of(span: &SpanRecord) -> Option<Timestamp> {
    span.end_time.as_ref().map(StoredTime::instant)
}
