//! [`SpanBatch`]: the spans of one request, and the journal entries for them.

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message;
use tracer_capture::otlp::encode;
use tracer_sdk::format::TraceId;

use super::tail::SentPart;

/// Spans of one request.
const MAX_SPANS: usize = 512;
/// Bytes of one request before compression. Receivers take 64 MiB, some only 16.
pub(super) const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Spans that wait to be sent together.
#[derive(Debug, Default)]
pub(super) struct SpanBatch {
    request: ExportTraceServiceRequest,
    spans: usize,
    bytes: usize,
    /// Sent part of each run once this batch is acknowledged.
    marks: Vec<Mark>,
}

/// Sent part of a run once a batch is acknowledged.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) run: TraceId,
    pub(super) name: Option<String>,
    pub(super) part: SentPart,
    /// Spans were added to what was sent before.
    pub(super) has_spans: bool,
}

impl SpanBatch {
    /// Checks for room for a span of this size. An empty batch takes any.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.spans == 0 || (self.spans < MAX_SPANS && self.bytes + bytes <= MAX_BYTES)
    }

    pub(super) fn push(&mut self, resource: &Resource, span: Span) {
        self.spans += 1;
        self.bytes += span.encoded_len();
        let groups = &mut self.request.resource_spans;
        // Spans of one service come one after the other.
        let same = |group: &&mut ResourceSpans| group.resource.as_ref() == Some(resource);
        let group = groups.iter_mut().rev().find(same);
        if let Some(scope) = group.and_then(|group| group.scope_spans.first_mut()) {
            scope.spans.push(span);
            return;
        }
        self.bytes += resource.encoded_len();
        groups.push(ResourceSpans {
            resource: Some(resource.clone()),
            scope_spans: vec![ScopeSpans {
                scope: Some(encode::scope()),
                spans: vec![span],
                ..ScopeSpans::default()
            }],
            ..ResourceSpans::default()
        });
    }

    /// Notes the sent part of a run once everything up to here is acknowledged.
    pub(super) fn mark_sent(&mut self, mark: Mark) {
        // Only the last mark of a run counts.
        self.marks.retain(|other| other.run != mark.run);
        self.marks.push(mark);
    }

    /// Number of spans.
    pub(super) fn span_count(&self) -> usize {
        self.spans
    }

    pub(super) fn request(&self) -> &ExportTraceServiceRequest {
        &self.request
    }

    pub(super) fn into_marks(self) -> Vec<Mark> {
        self.marks
    }

    /// Two halves, of a batch of at least two spans. Only behind the second is anything remembered.
    pub(super) fn halves(self) -> (Self, Self) {
        let half = self.spans / 2;
        let (mut first, mut second) = (Self::default(), Self::default());
        for group in self.request.resource_spans {
            let resource = group.resource.unwrap_or_default();
            for span in group.scope_spans.into_iter().flat_map(|scope| scope.spans) {
                let part = if first.spans < half {
                    &mut first
                } else {
                    &mut second
                };
                part.push(&resource, span);
            }
        }
        second.marks = self.marks;
        (first, second)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(name: &str) -> Span {
        Span {
            name: name.to_owned(),
            ..Span::default()
        }
    }

    fn names(batch: &SpanBatch) -> Vec<&str> {
        let groups = batch.request.resource_spans.iter();
        let scopes = groups.flat_map(|group| &group.scope_spans);
        scopes
            .flat_map(|scope| &scope.spans)
            .map(|span| span.name.as_str())
            .collect()
    }

    #[test]
    fn a_batch_is_full_by_spans_or_bytes() {
        let resource = encode::resource(Some("agent"));
        let mut batch = SpanBatch::default();
        assert!(batch.has_room(usize::MAX), "an empty one takes any span");
        batch.push(&resource, span("a"));
        assert!(batch.has_room(100) && !batch.has_room(MAX_BYTES));
        for _ in 1..MAX_SPANS {
            batch.push(&resource, span("a"));
        }
        assert!(!batch.has_room(1));
        assert_eq!(batch.request.resource_spans.len(), 1);
    }

    #[test]
    fn a_request_stays_below_its_limit() {
        let resource = encode::resource(Some("agent"));
        let mut batch = SpanBatch::default();
        let large = span(&"x".repeat(100_000));
        while batch.has_room(large.encoded_len()) {
            batch.push(&resource, large.clone());
        }
        let bytes = batch.request.encoded_len();
        assert!(
            (MAX_BYTES - 200_000..MAX_BYTES + 1_000).contains(&bytes),
            "{bytes}"
        );
    }

    #[test]
    fn halves_have_every_span_once_and_remember_at_the_end() {
        let run: TraceId = "10000000000000000000000000000001".parse().unwrap();
        let mut batch = SpanBatch::default();
        batch.push(&encode::resource(Some("one")), span("a"));
        batch.push(&encode::resource(Some("two")), span("b"));
        batch.push(&encode::resource(Some("one")), span("c"));
        batch.mark_sent(Mark {
            run,
            name: None,
            part: SentPart::default(),
            has_spans: true,
        });
        assert_eq!(batch.request.resource_spans.len(), 2);
        let (first, second) = batch.halves();
        assert_eq!((names(&first), names(&second)), (vec!["a"], vec!["c", "b"]));
        assert!(first.marks.is_empty());
        assert_eq!(second.marks.len(), 1);
    }
}
