//! What the processes that shared a run have written into it, for the one that ends it: a run is counted by what is in
//! its file, and a completed run has no missing parent (decisions, sections 4 and 10).

use std::collections::{HashMap, HashSet};
use std::path::Path;

use crate::format::{Counts, SpanId, SpanRecord, StoredTime, Timestamp};
use crate::read::{count_records, salvage_run};
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
}

/// Looks at the run in a directory, whose root is not written yet; `None` when it cannot be read.
pub(crate) fn survey(directory: &Path, root: SpanId) -> Option<Survey> {
    let run = salvage_run(directory).ok()?;
    Some(Survey {
        found: Found {
            counts: count_records(&run.records()),
            last_end: run.spans.iter().filter_map(end_of).max(),
        },
        missing_parents: missing_parents(&run.spans, root),
    })
}

fn missing_parents(spans: &[SpanRecord], root: SpanId) -> Vec<LostParent> {
    let present: HashSet<SpanId> = spans.iter().map(|span| span.span_id).chain([root]).collect();
    let mut missing: HashMap<SpanId, LostParent> = HashMap::new();
    for span in spans {
        let Some(id) = span.parent_span_id.filter(|id| !present.contains(id)) else {
            continue;
        };
        let start = span.start_time.instant();
        let end = end_of(span).unwrap_or(start);
        let parent = missing.entry(id).or_insert_with(|| LostParent {
            id,
            parent: root,
            name: INTERRUPTED.into(),
            start,
            end,
        });
        parent.start = parent.start.min(start);
        parent.end = parent.end.max(end);
    }
    missing.into_values().collect()
}

fn end_of(span: &SpanRecord) -> Option<Timestamp> {
    span.end_time.as_ref().map(StoredTime::instant)
}
