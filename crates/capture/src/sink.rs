//! The seam between the wire and the runs: what the servers and the file reader decode is handed to one sink.

use std::time::Duration;

use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;

use tracer_sdk::format::SpanRecord;

use crate::otlp::Repairs;

/// Sink for decoded OTLP. Implementations are called from many threads and return when everything that they accepted is
/// on the disk: what was acknowledged is never lost.
pub trait OtlpSink: Send + Sync + 'static {
    /// Takes spans.
    ///
    /// # Errors
    ///
    /// [`Refused`] when nothing of it was taken and the sender should try again.
    fn accept_spans(&self, spans: Vec<ResourceSpans>) -> Result<Accepted, Refused>;

    /// Takes log records.
    ///
    /// # Errors
    ///
    /// [`Refused`] when nothing of it was taken and the sender should try again.
    fn accept_logs(&self, logs: Vec<ResourceLogs>) -> Result<Accepted, Refused>;

    /// Counts what of an accepted request was repaired or left out.
    fn note_repairs(&self, _repairs: &Repairs) {}
}

/// Sink for spans that are in the form of a run's log already, as the proxy makes them; it returns as [`OtlpSink`] does.
pub trait SpanSink: Send + Sync + 'static {
    /// Takes spans.
    ///
    /// # Errors
    ///
    /// [`Refused`] when nothing of it was taken and the sender should try again.
    fn accept(&self, spans: Vec<SpanRecord>) -> Result<Accepted, Refused>;
}

/// Result of an accepted request: OTLP's partial success.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Accepted {
    /// Spans or log records that can never be taken, such as those without IDs; the sender does not repeat them.
    pub rejected: u64,
    /// Why they were rejected, or a warning where none was. Never a value of the request.
    pub message: Option<String>,
}

impl Accepted {
    /// With a further reason or warning.
    pub(crate) fn also(&mut self, message: &str) {
        match &mut self.message {
            Some(known) => {
                known.push_str("; ");
                known.push_str(message);
            }
            None => self.message = Some(message.to_owned()),
        }
    }
}

/// Why nothing of a request was taken; the sender tries again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// More arrives than can be written.
    #[error("too much is waiting to be written")]
    Busy {
        /// When to try again.
        retry_after: Duration,
    },
    /// The disk does not take it.
    #[error("the data directory cannot be written: {0}")]
    Storage(#[from] std::io::Error),
}
