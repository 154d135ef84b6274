//! [`TraceParent`]: a run's context across processes, the `traceparent` of W3C's Trace Context, version 00.

use std::fmt;
use std::str::FromStr;

use crate::{InvalidId, SpanId, TraceId};

/// The environment variable that names the run which a child process works for.
pub const TRACE_PARENT_VARIABLE: &str = "TRACER_TRACEPARENT";

/// A span of another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The run.
    pub trace_id: TraceId,
    /// The span in it.
    pub span_id: SpanId,
}

impl fmt::Display for TraceParent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "00-{}-{}-01", self.trace_id, self.span_id)
    }
}

impl FromStr for TraceParent {
    type Err = InvalidId;

    /// Later versions may add fields behind the flags; version `ff` is not one.
    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let mut fields = text.trim().split('-');
        let (version, trace_id, span_id, flags) =
            (fields.next(), fields.next(), fields.next(), fields.next());
        let (Some(version), Some(trace_id), Some(span_id), Some(flags)) = (version, trace_id, span_id, flags)
        else {
            return Err(InvalidId);
        };
        let is_byte = |text: &str| {
            text.len() == 2 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let more = fields.next().is_some();
        if !is_byte(version) || !is_byte(flags) || version == "ff" || (version == "00" && more) {
            return Err(InvalidId);
        }
        Ok(Self {
            trace_id: trace_id.parse()?,
            span_id: span_id.parse()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_traceparent_is_read_back() {
        assert_eq!(
            EXAMPLE.parse::<TraceParent>().map(|parent| parent.to_string()),
            Ok(EXAMPLE.to_owned())
        );
    }

    #[test]
    fn what_is_no_traceparent_is_refused() {
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            assert_eq!(bad.parse::<TraceParent>(), Err(InvalidId), "{bad:?}");
        }
    }
}
