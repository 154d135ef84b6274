//! What happens during a push, for whoever shows it.

use std::time::Duration;

use tracer_sdk::format::TraceId;

/// Messages of an endpoint that a summary keeps.
const MAX_MESSAGES: usize = 8;

/// Something that happened.
///
/// ```
/// use tracer_capture::push::PushEvent;
///
/// let event = PushEvent::Sent { spans: 3 };
/// assert_eq!(event, PushEvent::Sent { spans: 3 });
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PushEvent {
    /// A request was acknowledged.
    Sent {
        /// Number of its spans.
        spans: u64,
    },
    /// All of a run that has ended was acknowledged.
    Completed {
        /// The run.
        run: TraceId,
        /// Its name, as it is recorded.
        name: Option<String>,
        /// Number of its spans, over all pushes.
        spans: u64,
    },
    /// A request failed and is repeated.
    Waiting {
        /// Why.
        reason: String,
        /// For how long.
        delay: Duration,
    },
    /// The endpoint answers again.
    Resumed,
    /// The endpoint will never take these spans: they are not sent again.
    Refused {
        /// Number of spans.
        spans: u64,
        /// The endpoint's message; may be empty.
        message: String,
    },
    /// The endpoint took the request and has a warning.
    Warning {
        /// The endpoint's message.
        message: String,
    },
    /// The endpoint takes no protobuf: from here on it gets JSON.
    SwitchedToJson,
    /// A run cannot be read to its end; the others are sent.
    Unreadable {
        /// The run.
        run: TraceId,
        /// What the system reports.
        reason: String,
    },
}

/// What a push did.
///
/// ```
/// use tracer_capture::push::PushSummary;
///
/// assert_eq!(PushSummary::default().sent_spans, 0);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PushSummary {
    /// Runs of which something was sent.
    pub runs: u64,
    /// Runs of which everything had been sent before.
    pub runs_sent_before: u64,
    /// Runs that go on, or whose process died: what they record later is not sent yet.
    pub open_runs: u64,
    /// Runs that could not be read to their end.
    pub unreadable_runs: u64,
    /// Spans that were acknowledged.
    pub sent_spans: u64,
    /// Spans that the endpoint will never take.
    pub refused_spans: u64,
    /// Lines of logs that hold no span that can be read.
    pub unreadable_lines: u64,
    /// Different messages of the endpoint, the first few.
    pub messages: Vec<String>,
    /// Whether it was stopped before everything was sent.
    pub is_stopped: bool,
}

impl PushSummary {
    pub(super) fn add_message(&mut self, message: &str) {
        let is_new = !self.messages.iter().any(|known| known == message);
        if is_new && !message.is_empty() && self.messages.len() < MAX_MESSAGES {
            self.messages.push(message.to_owned());
        }
    }
}
