//! [`RepeatedSpans`]: spans of a growing run that repeat another span's call.

use tracer_runs::{LogIndex, RunDirectory, is_foreign_call};
use tracer_sdk::format::{SpanId, SpanRecord};

/// Calls of a run that are recorded several times. The log is only indexed when a call in it may be.
#[derive(Debug, Default)]
pub(super) struct RepeatedSpans {
    /// Another emitter's call may be in the log: one that was seen, or in what an earlier push read.
    may_have_foreign_calls: bool,
    index: Option<LogIndex>,
}

impl RepeatedSpans {
    /// Those of a run of which this many bytes were read by others.
    pub(super) fn new(read_by_others: u64) -> Self {
        Self {
            may_have_foreign_calls: read_by_others > 0,
            index: None,
        }
    }

    /// Reads spans of the log before they are sent. A log that cannot be indexed leaves them as they are.
    pub(super) fn read(&mut self, directory: &RunDirectory, spans: &[SpanRecord]) {
        self.may_have_foreign_calls |= spans.iter().any(is_foreign_call);
        if self.may_have_foreign_calls && !spans.is_empty() {
            self.extend(directory);
        }
    }

    fn extend(&mut self, directory: &RunDirectory) {
        if let Some(index) = &mut self.index
            && matches!(index.extend(true), Ok(true))
        {
            return;
        }
        self.index = open(directory);
    }

    /// The span that has the tokens of the call that a span repeats.
    pub(super) fn counted_in(&self, span: SpanId) -> Option<SpanId> {
        self.index.as_ref()?.counted_in(span)
    }
}

fn open(directory: &RunDirectory) -> Option<LogIndex> {
    LogIndex::open(&directory.path, Some(directory.trace_id), true).ok()
}
