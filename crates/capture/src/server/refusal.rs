//! Why a request is refused, in the words of no protocol, and what HTTP and gRPC call it.

use std::time::Duration;

use hyper::StatusCode;
use tonic::Code;

use crate::otlp::{DecodeError, DecompressError};
use crate::sink::Refused;

/// When to send again what the disk did not take.
const STORAGE_RETRY: Duration = Duration::from_secs(5);

/// Why a request is refused. The texts name no value of the request.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(
        "the request comes from a web page (it has the header {0}), and pages may not send to this receiver"
    )]
    FromPage(&'static str),
    #[error(
        "the request names another host than this receiver; send to the address that the receiver printed, such as \
         http://127.0.0.1:4318"
    )]
    ForeignHost,
    #[error("this receiver wants its token: send the header `Authorization: Bearer TOKEN`")]
    NoToken,
    #[error(
        "there is nothing at this path: send spans to /v1/traces and logs to /v1/logs; OTEL_EXPORTER_OTLP_ENDPOINT is the \
         address without a path, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT the one with /v1/traces"
    )]
    NoSuchPath,
    #[error("profiles are not taken: send spans to /v1/traces and logs to /v1/logs")]
    Profiles,
    #[error("OTLP is sent with POST")]
    NotPost,
    #[error("the Content-Type must be application/x-protobuf or application/json")]
    UnknownType,
    #[error("the body is compressed in a way that is not supported: use gzip, deflate or none")]
    UnknownCompression,
    #[error(
        "the request is larger than {limit} bytes: send smaller batches (OTEL_BSP_MAX_EXPORT_BATCH_SIZE)"
    )]
    TooLarge { limit: usize },
    #[error("the body did not arrive in time")]
    TooSlow,
    #[error("the connection ended within the body")]
    Aborted,
    #[error("{0}")]
    Malformed(String),
    #[error("more arrives than can be written: send again later")]
    Busy { retry_after: Duration },
    #[error(
        "the data directory cannot be written, so that nothing of the request was taken: send again later"
    )]
    Storage,
    #[error("the receiver failed to take the request")]
    Internal,
}

impl Refusal {
    /// The status of HTTP, as OTLP gives it a meaning: 503 is sent again, everything else here never is.
    ///
    /// Too much work is 503 as well, not 429: some exporters (Python's over HTTP) repeat 5xx alone.
    pub(super) fn http(&self) -> StatusCode {
        match self {
            Self::FromPage(_) | Self::ForeignHost => StatusCode::FORBIDDEN,
            Self::NoToken => StatusCode::UNAUTHORIZED,
            Self::NoSuchPath | Self::Profiles => StatusCode::NOT_FOUND,
            Self::NotPost => StatusCode::METHOD_NOT_ALLOWED,
            Self::UnknownType | Self::UnknownCompression => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::Aborted | Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Busy { .. } | Self::Storage => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// The code of gRPC, which `google.rpc.Status` holds too.
    pub(super) fn code(&self) -> Code {
        match self {
            Self::FromPage(_) | Self::ForeignHost => Code::PermissionDenied,
            Self::NoToken => Code::Unauthenticated,
            Self::NoSuchPath | Self::Profiles | Self::NotPost | Self::UnknownCompression => {
                Code::Unimplemented
            }
            Self::UnknownType | Self::Aborted | Self::Malformed(_) => Code::InvalidArgument,
            Self::TooLarge { .. } => Code::ResourceExhausted,
            Self::TooSlow => Code::DeadlineExceeded,
            Self::Busy { .. } | Self::Storage => Code::Unavailable,
            Self::Internal => Code::Internal,
        }
    }

    /// When to send again.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Busy { retry_after } => Some(*retry_after),
            Self::Storage => Some(STORAGE_RETRY),
            _ => None,
        }
    }
}

impl From<DecompressError> for Refusal {
    fn from(error: DecompressError) -> Self {
        match error {
            DecompressError::TooLarge { limit } => Self::TooLarge { limit },
            DecompressError::Damaged(_) => Self::Malformed(error.to_string()),
        }
    }
}

impl From<DecodeError> for Refusal {
    fn from(error: DecodeError) -> Self {
        Self::Malformed(error.to_string())
    }
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Busy { retry_after } => Self::Busy { retry_after },
            Refused::Storage(_) => Self::Storage,
        }
    }
}
