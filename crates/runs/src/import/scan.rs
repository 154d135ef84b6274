//! Scan of an existing log: its spans and their parent links.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use super::error::ImportError;
use serde_json::Value;

use crate::{RunReader, Strictness};
use tracer_format::{SPANS_FILE, SpanId, SpanRecord, StatusCode, StoredTime, Timestamp, names};

/// Facts that are kept of each span in the log.
#[derive(Debug, Clone, Copy)]
pub(super) struct KnownSpan {
    pub(super) parent: Option<SpanId>,
    /// Of the span as it was sent; `None` where an earlier process wrote it.
    pub(super) fingerprint: Option<u64>,
}

/// Facts that `meta.json` takes over from the span that becomes the root.
#[derive(Debug, Clone)]
pub(super) struct RootFacts {
    pub(super) start: Timestamp,
    pub(super) end: Timestamp,
    pub(super) duration_ms: u64,
    pub(super) is_failed: bool,
}

/// The spans in a log.
#[derive(Debug, Default)]
pub(super) struct KnownSpans {
    pub(super) spans: HashMap<SpanId, KnownSpan>,
    /// Those that were put into another one.
    pub(super) joined: HashSet<SpanId>,
    /// Those without a parent.
    pub(super) parentless: HashMap<SpanId, RootFacts>,
    pub(super) first_start: Option<Timestamp>,
    pub(super) last_end: Option<Timestamp>,
    pub(super) has_failed: bool,
}

/// Reads the spans in the log of a directory.
pub(super) fn for_each_span(directory: &Path, work: impl FnMut(SpanRecord)) -> Result<(), ImportError> {
    give_spans(RunReader::open(directory, Strictness::Lenient)?, work)
}

fn give_spans(run: RunReader, mut work: impl FnMut(SpanRecord)) -> Result<(), ImportError> {
    let path = run.directory.join(SPANS_FILE);
    for span in run.records.into_spans() {
        work(span.map_err(|error| ImportError::at(&path)(std::io::Error::other(error.to_string())))?);
    }
    Ok(())
}

impl KnownSpans {
    /// The spans in the log of this directory; none where there is no log, or nothing but a torn line.
    pub(super) fn read(directory: &Path) -> Result<Self, ImportError> {
        let mut known = Self::default();
        let log = directory.join(SPANS_FILE);
        if log.symlink_metadata().map_or(true, |found| found.len() == 0) {
            return Ok(known);
        }
        match RunReader::open(directory, Strictness::Lenient) {
            Err(invalid) if invalid.span_count.unwrap_or(0) == 0 => {}
            opened => give_spans(opened?, |span| known.add(&span, None))?,
        }
        Ok(known)
    }

    pub(super) fn add(&mut self, span: &SpanRecord, fingerprint: Option<u64>) {
        let start = span.start_time.instant();
        let end = span
            .end_time
            .as_ref()
            .map_or(start, StoredTime::instant)
            .max(start);
        self.first_start = Some(self.first_start.map_or(start, |first| first.min(start)));
        self.last_end = self.last_end.max(Some(end));
        self.has_failed |= span.status_code == StatusCode::Error;
        self.spans.insert(
            span.span_id,
            KnownSpan {
                parent: span.parent_span_id,
                fingerprint,
            },
        );
        let joined = span
            .attributes
            .get(names::JOINED_SPANS.written())
            .and_then(Value::as_str);
        if let Some(joined) = joined.and_then(|text| serde_json::from_str::<Vec<SpanId>>(text).ok()) {
            self.joined.extend(joined);
        }
        if span.parent_span_id.is_none() {
            let exact = span.duration_ms;
            let facts = RootFacts {
                start,
                end,
                duration_ms: exact
                    .unwrap_or_else(|| u64::try_from(end.microseconds_since(start) / 1_000).unwrap_or(0)),
                is_failed: span.status_code == StatusCode::Error,
            };
            self.parentless.insert(span.span_id, facts);
        }
    }

    pub(super) fn shape(&self) -> LogShape {
        let orphans = self
            .spans
            .iter()
            .filter_map(|(id, span)| Some((*id, span.parent?)))
            .filter(|(_, parent)| !self.spans.contains_key(parent));
        LogShape {
            parentless: self.parentless.keys().copied().collect(),
            orphans: orphans.collect(),
            in_cycles: self.in_cycles(),
        }
    }

    /// One span of each circle of parents, the one with the smallest ID.
    fn in_cycles(&self) -> BTreeSet<SpanId> {
        let mut settled: HashSet<SpanId> = HashSet::new();
        let mut found = BTreeSet::new();
        for start in self.spans.keys() {
            let mut path = Vec::new();
            let mut on_path = HashSet::new();
            let mut next = Some(*start);
            while let Some(id) = next.filter(|id| !settled.contains(id)) {
                if !on_path.insert(id) {
                    let circle = path.iter().skip_while(|other| **other != id);
                    found.extend(circle.min().copied());
                    break;
                }
                path.push(id);
                next = self.spans.get(&id).and_then(|span| span.parent);
            }
            settled.extend(path);
        }
        found
    }
}

/// Parent links of the spans of a log that matter for their root.
///
/// ```
/// use tracer_runs::import::Importer;
/// use tracer_sdk::settings::Settings;
/// use tracer_sdk::testing::capture;
///
/// let folder = tempfile::tempdir()?;
/// let importer = Importer::new(&Settings::with_data_dir(folder.path()));
/// let span = capture(|| ()).spans.remove(0);
/// let mut run = importer.start(span.trace_id, "weather", span.start_time.instant())?;
/// run.append(&[tracer_runs::import::ImportedSpan::new(span.clone())])?;
/// let shape = run.shape();
/// assert!(shape.parentless.contains(&span.span_id));
/// assert!(shape.orphans.is_empty() && shape.in_cycles.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogShape {
    /// The spans without a parent.
    pub parentless: BTreeSet<SpanId>,
    /// The spans whose parent is not in the log, with that parent.
    pub orphans: Vec<(SpanId, SpanId)>,
    /// One span of each circle of parents.
    pub in_cycles: BTreeSet<SpanId>,
}
