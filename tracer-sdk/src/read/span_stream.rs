//! The spans of a run of any size, each read from the file when it is wanted.

use super::record_stream::{RecordError, RecordStream};
use crate::format::SpanRecord;

/// The spans of a run in the order in which they started, in memory one at a time.
///
/// Made by [`RecordStream::into_spans`]. A clone costs little: it shares the file and the index, and reads on its own, on
/// another thread if it is sent there.
///
/// ```
/// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
/// let spans = tracer_sdk::read::stream_run(&directory)?.records.into_spans();
/// let names: Result<Vec<String>, _> = spans.map(|span| span.map(|span| span.name)).collect();
/// assert_eq!(names?, ["support-agent", "search"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct SpanStream {
    records: RecordStream,
    next: usize,
}

impl SpanStream {
    pub(super) fn new(records: RecordStream) -> Self {
        Self { records, next: 0 }
    }

    /// The spans from a number on, counted from 0 in the order in which they started.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let mut spans = tracer_sdk::read::stream_run(&directory)?.records.into_spans().from(1);
    /// assert_eq!(spans.next().unwrap()?.name, "search");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn from(mut self, number: usize) -> Self {
        self.next = number;
        self
    }

    /// How many spans the run has.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let spans = tracer_sdk::read::stream_run(&directory)?.records.into_spans();
    /// assert_eq!(spans.span_count(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn span_count(&self) -> usize {
        self.records.spans().len()
    }

    /// The span with a number, from 0; `None` behind the last one.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// let mut spans = tracer_sdk::read::stream_run(&directory)?.records.into_spans();
    /// assert_eq!(spans.span(1)?.unwrap().name, "search");
    /// assert_eq!(spans.span(2)?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`RecordError`] when the file cannot be read, or is another one than it was.
    pub fn span(&mut self, number: usize) -> Result<Option<SpanRecord>, RecordError> {
        let entry = self.records.spans().get(number).copied();
        entry.map(|entry| self.records.span(entry)).transpose()
    }
}

impl Iterator for SpanStream {
    type Item = Result<SpanRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        let span = self.span(self.next).transpose()?;
        self.next += 1;
        Some(span)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.span_count().saturating_sub(self.next);
        (left, Some(left))
    }
}

#[cfg(test)]
mod tests {
    use super::super::stream_run;
    use super::super::tests::{directory, meta, span};

    #[test]
    fn spans_come_in_the_order_in_which_they_started_and_not_in_that_of_the_file() {
        let (mut late, mut root) = (span(2, Some(1)), span(1, None));
        late["start_time"] = "2026-01-01T00:00:05Z".into();
        root["start_time"] = "2026-01-01T00:00:00Z".into();
        let directory = directory(&meta("running"), format!("{late}\n{root}\n"));
        let spans = stream_run(directory.path()).unwrap().records.into_spans();
        assert_eq!((spans.span_count(), spans.size_hint()), (2, (2, Some(2))));
        let roots: Vec<bool> = spans.map(|span| span.unwrap().is_root()).collect();
        assert_eq!(roots, [true, false]);
    }
}
