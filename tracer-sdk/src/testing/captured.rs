//! What a capture gives: the result, and the run as a reader sees it.

use std::path::Path;

use super::tree::RecordTree;
use crate::format::{META_FILE, Record, RunMeta, SPANS_FILE, SpanRecord};
use crate::read::LoadedRun;
use crate::write::memory::Memory;

/// What a piece of code returned and recorded.
///
/// ```
/// use tracer_sdk::format::EventType;
/// use tracer_sdk::testing::capture;
///
/// let captured = capture(|| tracer_sdk::tool_call("search").record());
/// assert_eq!(captured.spans[0].name, "search");
/// assert_eq!(captured.records[1].event_type(), EventType::ToolCall);
/// assert_eq!(captured.meta.counts.tool_calls, 1);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Captured<R> {
    /// What the code returned.
    pub result: R,
    /// The spans, in the order in which they ended; the root is the last one.
    pub spans: Vec<SpanRecord>,
    /// The projected records, in the order of time (see [`spans_to_events`](crate::spans_to_events)).
    pub records: Vec<Record>,
    /// The run's metadata: how it ended and what it counted.
    pub meta: RunMeta,
}

impl<R> Captured<R> {
    /// The run in `memory`, which has ended.
    #[expect(
        clippy::expect_used,
        reason = "for tests, where a run that cannot be read is a fault to be reported at once"
    )]
    pub(super) fn of(result: R, memory: &Memory) -> Self {
        let file = |name: &str| {
            let path = memory
                .files()
                .into_iter()
                .find(|path| path.ends_with(Path::new(name)));
            path.and_then(|path| memory.read(&path)).unwrap_or_default()
        };
        let run =
            LoadedRun::from_bytes(&file(META_FILE), &file(SPANS_FILE)).expect("a captured run is valid");
        Self {
            result,
            records: run.records(),
            spans: run.spans,
            meta: run.meta,
        }
    }

    /// The records as a tree for reading and for snapshots: what happened, within what, with a gist of the values and
    /// the errors. It holds no times and no IDs.
    ///
    /// A line begins with `run`, `llm`, `tool`, `state`, `error`, `loop` or `span`; what failed ends with `✗`, the
    /// error's type and its message. Siblings stand in the order in which they started.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let captured = capture(|| tracer_sdk::tool_call("search").fail("no index").record());
    /// assert_eq!(captured.tree(), "run captured\n└─ tool search ✗ Error: no index\n");
    /// ```
    #[must_use]
    pub fn tree(&self) -> String {
        RecordTree::of(&self.records).to_string()
    }

    /// The same with times: when each began, in milliseconds since the run's start, and how long it took.
    ///
    /// A capture's clock starts at 2026-01-01T00:00:00Z and moves by one millisecond whenever it is read, so these times
    /// tell an order, and change when the SDK reads the clock more or less often.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let captured = capture(|| tracer_sdk::tool_call("search").start()?.end());
    /// assert!(captured.tree_with_times().starts_with("run captured"));
    /// ```
    #[must_use]
    pub fn tree_with_times(&self) -> String {
        RecordTree::of(&self.records).with_times().to_string()
    }
}
