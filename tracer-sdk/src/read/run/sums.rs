//! [`SpanSums`]: what a reader adds up over the spans of a run while its log goes by, so that it need not be read again.

use std::borrow::Cow;

use super::tally::Tally;
use crate::read::log::SpanVisitor;
use tracer_format::parse::{KeyAttributes, ParsedSpan};
use tracer_format::project::{LinePlace, RecordHeader};
use tracer_format::project::{SpanFacts, SpanView, call_usage, display_name, service_usage};
use tracer_format::{EventType, Outcome, Timestamp, Usage};

/// What the scan of a log knows of a span: everything but its content.
///
/// ```
/// use tracer_sdk::read::{RunReader, SpanOutline, SpanSums, Strictness};
/// use tracer_sdk::testing::capture;
///
/// #[derive(Default)]
/// struct Names(Vec<String>);
///
/// impl SpanSums for Names {
///     fn add(&mut self, span: &SpanOutline<'_>) -> bool {
///         self.0.push(span.name().into_owned());
///         true
///     }
/// }
///
/// let folder = tempfile::tempdir()?;
/// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let (_, summed) = RunReader::open_summed::<Names>(&directory, Strictness::Lenient)?;
/// assert_eq!(summed.unwrap().sums.0, ["search", "captured"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct SpanOutline<'a> {
    /// The type of its record.
    pub event_type: EventType,
    /// How it ended.
    pub outcome: Outcome,
    /// When it started.
    pub start: Timestamp,
    /// The tokens of a model call.
    pub usage: Usage,
    span: &'a ParsedSpan<'a, KeyAttributes<'a>>,
    facts: SpanFacts<'a, KeyAttributes<'a>>,
}

impl SpanOutline<'_> {
    /// The name of the model or the tool that was called, or else the span's.
    ///
    /// ```
    /// use tracer_sdk::read::SpanOutline;
    ///
    /// fn is_search(span: &SpanOutline<'_>) -> bool {
    ///     span.name() == "search"
    /// }
    /// ```
    #[must_use]
    pub fn name(&self) -> Cow<'_, str> {
        display_name(&self.span.name, &self.facts, self.event_type)
    }

    /// How long it took, in microseconds, as the times say it, or else the emitter; `None` when it did not end.
    ///
    /// ```
    /// use tracer_sdk::read::SpanOutline;
    ///
    /// fn is_slow(span: &SpanOutline<'_>) -> bool {
    ///     span.duration_us().is_some_and(|duration| duration > 1_000_000)
    /// }
    /// ```
    #[must_use]
    pub fn duration_us(&self) -> Option<u64> {
        let span = self.span;
        let end = span.end_time.as_ref().map(|(_, end)| *end);
        let exact = end.and_then(|end| u64::try_from(end.microseconds_since(span.start_time.1)).ok());
        exact.or_else(|| span.duration_ms?.checked_mul(1_000))
    }

    /// The keys of its attributes.
    ///
    /// ```
    /// use tracer_sdk::read::{RunReader, SpanOutline, SpanSums, Strictness};
    /// use tracer_sdk::testing::capture;
    ///
    /// #[derive(Default)]
    /// struct Sessions(usize);
    ///
    /// impl SpanSums for Sessions {
    ///     fn add(&mut self, span: &SpanOutline<'_>) -> bool {
    ///         self.0 += usize::from(span.keys().any(|key| key == "session.id"));
    ///         true
    ///     }
    /// }
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let (_, summed) = RunReader::open_summed::<Sessions>(&directory, Strictness::Lenient)?;
    /// assert_eq!(summed.unwrap().sums.0, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.span.attributes.keys()
    }
}

/// Sums over the spans of a run, made in the one pass over its log.
///
/// ```
/// use tracer_sdk::read::{RunReader, SpanOutline, SpanSums, Strictness};
/// use tracer_sdk::testing::capture;
///
/// #[derive(Default)]
/// struct Spans(usize);
///
/// impl SpanSums for Spans {
///     fn add(&mut self, _: &SpanOutline<'_>) -> bool {
///         self.0 += 1;
///         true
///     }
/// }
/// let folder = tempfile::tempdir()?;
/// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let (_, summed) = RunReader::open_summed::<Spans>(&directory, Strictness::Lenient)?;
/// assert_eq!(summed.unwrap().sums.0, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait SpanSums: Default {
    /// Adds a span of this run; `false` when it is left out, since more has to be known of it.
    ///
    /// ```
    /// use tracer_sdk::read::{SpanOutline, SpanSums};
    ///
    /// #[derive(Default)]
    /// struct Failures(usize);
    ///
    /// impl SpanSums for Failures {
    ///     fn add(&mut self, span: &SpanOutline<'_>) -> bool {
    ///         self.0 += usize::from(span.outcome.is_failure());
    ///         true
    ///     }
    /// }
    /// ```
    fn add(&mut self, span: &SpanOutline<'_>) -> bool;
}

/// The sums over the spans of a run, see [`RunReader::open_summed`](super::RunReader::open_summed).
///
/// ```
/// use tracer_sdk::read::{RunReader, SpanOutline, SpanSums, Strictness};
/// use tracer_sdk::testing::capture;
///
/// #[derive(Default)]
/// struct ToolCalls(usize);
///
/// impl SpanSums for ToolCalls {
///     fn add(&mut self, span: &SpanOutline<'_>) -> bool {
///         let is_one = span.event_type == tracer_sdk::format::EventType::ToolCall;
///         self.0 += usize::from(is_one);
///         is_one
///     }
/// }
///
/// let folder = tempfile::tempdir()?;
/// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
/// let (run, summed) = RunReader::open_summed::<ToolCalls>(&directory, Strictness::Lenient)?;
/// let summed = summed.unwrap();
/// assert_eq!(summed.sums.0, 1);
/// // The start and the end of the run, which are both in the span of its root.
/// assert_eq!(summed.left_out, [0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct SummedSpans<Sums> {
    /// The sums.
    pub sums: Sums,
    /// The numbers of the records that are not in them, in their order: of spans that were left out, and of what lies in the
    /// span of a root.
    pub left_out: Vec<usize>,
}

/// What is summed where nobody wants sums.
#[derive(Debug, Default)]
pub(super) struct NoSums;

impl SpanSums for NoSums {
    fn add(&mut self, _: &SpanOutline<'_>) -> bool {
        true
    }
}

/// The sums over the spans of a log.
#[derive(Debug, Default)]
pub(super) struct LogSums<Sums> {
    pub(super) sums: Sums,
    /// The lines of the spans that were left out.
    pub(super) left_out: Vec<u64>,
}

/// The tally of a scan, and the sums that somebody wants beside it.
#[derive(Debug, Default)]
pub(super) struct SummingTally<Sums> {
    pub(super) tally: Tally,
    pub(super) summed: LogSums<Sums>,
}

impl<Sums: SpanSums> SpanVisitor for SummingTally<Sums> {
    type Attributes<'a> = KeyAttributes<'a>;

    fn visit(
        &mut self,
        span: ParsedSpan<'_, KeyAttributes<'_>>,
        place: LinePlace,
        is_foreign: bool,
    ) -> RecordHeader {
        let header = super::span_header(&span);
        if is_foreign {
            return header;
        }
        let facts = span.facts();
        let usage = match header.event_type {
            EventType::LlmCall => Some(call_usage(&span, &facts)),
            other => service_usage(other, &facts),
        };
        let outline = SpanOutline {
            event_type: header.event_type,
            outcome: header.outcome,
            start: header.instant,
            usage: usage.unwrap_or_default(),
            span: &span,
            facts,
        };
        if !self.summed.sums.add(&outline) {
            self.summed.left_out.push(place.line);
        }
        self.tally.add(&span, header, usage.as_ref(), place);
        header
    }
}
