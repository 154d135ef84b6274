//! The body of an error: `google.rpc.Status`, in both encodings.

use std::time::Duration;

use prost::Message as _;
use tracer_insight::text::beginning;

use super::refusal::Refusal;
use crate::otlp::Encoding;

/// `google.rpc.Status`
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct GrpcStatus {
    #[prost(int32, tag = "1")]
    pub(super) code: i32,
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(message, repeated, tag = "3")]
    pub(super) details: Vec<Detail>,
}

/// `google.protobuf.Any`
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Detail {
    #[prost(string, tag = "1")]
    pub(super) type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) value: Vec<u8>,
}

/// `google.rpc.RetryInfo`
#[derive(Clone, PartialEq, prost::Message)]
struct RetryInfo {
    #[prost(message, optional, tag = "1")]
    retry_delay: Option<Delay>,
}

/// `google.protobuf.Duration`
#[derive(Clone, PartialEq, prost::Message)]
struct Delay {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";

/// Longest text of an answer, in bytes: far below the 4 MiB that senders take of an answer (capture, section 2), and
/// short enough for a header of gRPC.
const MAX_TEXT_BYTES: usize = 4096;

/// The text of an answer, not longer than answers may be.
pub(super) fn bounded(text: &str) -> String {
    beginning(text, MAX_TEXT_BYTES).to_owned()
}

impl GrpcStatus {
    pub(super) fn of(refusal: &Refusal) -> Self {
        Self {
            code: refusal.code() as i32,
            message: bounded(&refusal.to_string()),
            details: refusal.retry_after().map(retry_info).into_iter().collect(),
        }
    }

    pub(super) fn encode_as(&self, encoding: Encoding) -> Vec<u8> {
        match encoding {
            Encoding::Protobuf => self.encode_to_vec(),
            Encoding::Json => serde_json::json!({"code": self.code, "message": self.message})
                .to_string()
                .into_bytes(),
        }
    }
}

fn retry_info(delay: Duration) -> Detail {
    let retry_delay = Delay {
        seconds: i64::try_from(delay.as_secs()).unwrap_or(i64::MAX),
        // Below a billion.
        nanos: i32::try_from(delay.subsec_nanos()).unwrap_or(0),
    };
    let info = RetryInfo {
        retry_delay: Some(retry_delay),
    };
    Detail {
        type_url: RETRY_INFO.to_owned(),
        value: info.encode_to_vec(),
    }
}
