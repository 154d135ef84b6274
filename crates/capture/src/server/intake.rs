//! From a body to the sink: the part of a request that both protocols share.

use std::sync::Arc;

use hyper::body::Bytes;

use super::body::{Budget, MemoryReservation};
use super::refusal::Refusal;
use super::signal::Signal;
use super::statistics::ReceiverCounters;
use crate::otlp::{Compression, Encoding, decode_logs, decode_spans};
use crate::sink::{Accepted, OtlpSink};

/// A body that is read and not unpacked yet.
#[derive(Debug)]
pub(super) struct ReadBody {
    pub(super) bytes: Bytes,
    pub(super) encoding: Encoding,
    pub(super) compression: Compression,
    pub(super) reservation: MemoryReservation,
}

/// Intake of requests: the sink, the memory budget and the counts.
pub(super) struct Intake {
    pub(super) sink: Arc<dyn OtlpSink>,
    pub(super) budget: Budget,
    pub(super) counters: Arc<ReceiverCounters>,
    /// The largest request, in bytes.
    pub(super) limit: usize,
}

impl Intake {
    /// Hands a request to the sink; returns when it is on the disk.
    pub(super) async fn take(self: &Arc<Self>, signal: Signal, body: ReadBody) -> Result<Accepted, Refusal> {
        let intake = Arc::clone(self);
        // Unpacking, decoding and writing take time that other connections need.
        let taking = tokio::task::spawn_blocking(move || intake.take_now(signal, body));
        taking.await.unwrap_or(Err(Refusal::Internal))
    }

    fn take_now(&self, signal: Signal, body: ReadBody) -> Result<Accepted, Refusal> {
        let ReadBody {
            bytes,
            encoding,
            compression,
            mut reservation,
        } = body;
        if signal == Signal::Metrics {
            return Ok(Accepted::default());
        }
        let unpacked;
        let plain: &[u8] = if compression == Compression::Identity {
            &bytes
        } else {
            unpacked = compression.unpack(&bytes, self.limit, |part| reservation.grow(part))?;
            &unpacked
        };
        let (mut accepted, repairs) = match signal {
            Signal::Traces => {
                let spans = decode_spans(encoding, plain)?;
                if spans.resources.is_empty() {
                    return Ok(Accepted::default());
                }
                let accepted = self.sink.accept_spans(spans.resources)?;
                self.counters.count(|counts| counts.spans += spans.items as u64);
                (accepted, spans.repairs)
            }
            Signal::Logs | Signal::Metrics => {
                let logs = decode_logs(encoding, plain)?;
                if logs.resources.is_empty() {
                    return Ok(Accepted::default());
                }
                let accepted = self.sink.accept_logs(logs.resources)?;
                self.counters
                    .count(|counts| counts.log_records += logs.items as u64);
                (accepted, logs.repairs)
            }
        };
        self.counters
            .count(|counts| counts.rejected_items += accepted.rejected);
        if repairs.values > 0 {
            self.sink.note_repairs(&repairs);
            accepted.also(&repairs.to_string());
        }
        Ok(accepted)
    }
}
