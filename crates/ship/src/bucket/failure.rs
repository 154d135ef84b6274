//! Meaning of the object store's errors.

use std::error::Error;
use std::io;

use tracer_capture::causes::{causes, innermost};
use tracer_insight::text::one_line;

use crate::error::{RequestFailure, ShipError};

/// Characters of a store's message that are quoted.
const MAX_MESSAGE_LENGTH: usize = 300;

impl From<object_store::Error> for RequestFailure {
    fn from(error: object_store::Error) -> Self {
        use object_store::Error as Store;
        let reason = reason(&error);
        match error {
            Store::AlreadyExists { .. } => Self::Exists,
            Store::Precondition { .. } | Store::NotModified { .. } => Self::Changed,
            Store::NotFound { .. } => Self::Missing(reason),
            Store::NotImplemented { .. } | Store::NotSupported { .. } => Self::Unsupported,
            Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => {
                Self::Fatal(ShipError::Denied { reason })
            }
            Store::Generic { .. } | Store::JoinError { .. } => of_other(&error, reason),
            _ => Self::Fatal(ShipError::Refused { reason }),
        }
    }
}

fn of_other(error: &object_store::Error, reason: String) -> RequestFailure {
    let denied = |reason| RequestFailure::Fatal(ShipError::Denied { reason });
    let refused = |reason| RequestFailure::Fatal(ShipError::Refused { reason });
    let of_disk = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
    match of_disk.map(io::Error::kind) {
        Some(io::ErrorKind::PermissionDenied) => return denied(reason),
        Some(
            io::ErrorKind::StorageFull
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::QuotaExceeded,
        ) => return refused(reason),
        _ => {}
    }
    match status(&all_texts(error)) {
        // Some stores answer so to a write that is conditional.
        Some(501) => RequestFailure::Unsupported,
        Some(401 | 403) => denied(reason),
        Some(408 | 425 | 429 | 500..) | None => RequestFailure::transient(reason),
        Some(_) => refused(reason),
    }
}

fn all_texts(error: &(dyn Error + 'static)) -> String {
    std::iter::once(error.to_string())
        .chain(causes(error).map(ToString::to_string))
        .collect::<Vec<_>>()
        .join("\n")
}

/// The status in the words of the client.
fn status(text: &str) -> Option<u16> {
    let after = text.split_once("status code: ")?.1;
    after.get(..3)?.parse().ok()
}

/// Message of the store: its own code and message, or the last cause. Its answer may repeat what was signed, and a URL may
/// hold a signature: neither is kept.
fn reason(error: &(dyn Error + 'static)) -> String {
    let text = all_texts(error);
    let status = status(&text);
    let element = |name: &str| {
        let begin = text.split_once(&format!("<{name}>"))?.1;
        Some(begin.split_once(&format!("</{name}>"))?.0)
    };
    let said = match (element("Code"), element("Message")) {
        (Some(code), Some(message)) => Some(format!("{code}: {message}")),
        (Some(code), None) => Some(code.to_owned()),
        _ => None,
    };
    let said = said.unwrap_or_else(|| match status {
        // The client's sentence has the status and then all of the answer.
        Some(_) => String::new(),
        None => innermost(error).unwrap_or_else(|| error.to_string()),
    });
    let said = without_queries(&one_line(&said, MAX_MESSAGE_LENGTH));
    match (status, said.is_empty()) {
        (Some(status), true) => format!("status {status}"),
        (Some(status), false) => format!("status {status}, {said}"),
        (None, _) => said,
    }
}

fn without_queries(text: &str) -> String {
    let words = text.split(' ').map(|word| match word.split_once('?') {
        Some((before, _)) if before.contains("://") || before.starts_with('/') => before,
        _ => word,
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{0}")]
    struct Said(String);

    fn generic(text: &str) -> object_store::Error {
        object_store::Error::Generic {
            store: "S3",
            source: Box::new(Said(text.to_owned())),
        }
    }

    #[rstest]
    #[case::slow_down(
        "Error performing PUT https://b.test/x - Server returned non-2xx status code: 503 Service Unavailable: <Error><Code>SlowDown</Code><Message>Please reduce your request rate</Message></Error>"
    )]
    #[case::timeout("HTTP error: operation timed out")]
    #[case::too_many("Server returned non-2xx status code: 429 Too Many Requests: ")]
    fn an_overload_is_waited_out(#[case] text: &str) {
        assert!(matches!(
            RequestFailure::from(generic(text)),
            RequestFailure::Transient { .. }
        ));
    }

    #[test]
    fn what_will_never_work_is_not_repeated() {
        let wrong_region =
            "Server returned non-2xx status code: 400 Bad Request: <Code>AuthorizationHeaderMalformed</Code>";
        assert!(matches!(
            RequestFailure::from(generic(wrong_region)),
            RequestFailure::Fatal(ShipError::Refused { reason }) if reason == "status 400, AuthorizationHeaderMalformed"
        ));
        let denied = object_store::Error::Generic {
            store: "LocalFileSystem",
            source: Box::new(io::Error::from(io::ErrorKind::PermissionDenied)),
        };
        assert!(matches!(
            RequestFailure::from(denied),
            RequestFailure::Fatal(ShipError::Denied { .. })
        ));
    }

    #[test]
    fn no_signature_is_quoted() {
        let body = "<Error><Code>SignatureDoesNotMatch</Code><Message>no match</Message>\
                    <AWSAccessKeyId>AKIAS3CRET</AWSAccessKeyId><StringToSign>s3cret</StringToSign></Error>";
        let error = object_store::Error::PermissionDenied {
            path: "x".to_owned(),
            source: Box::new(Said(format!(
                "PUT - Server returned non-2xx status code: 403 Forbidden: {body}"
            ))),
        };
        let RequestFailure::Fatal(error) = RequestFailure::from(error) else {
            panic!("not fatal");
        };
        assert_eq!(
            error.to_string(),
            "the store denies access: status 403, SignatureDoesNotMatch: no match"
        );
        let failure = RequestFailure::from(generic(
            "error sending request for url https://a.test/c?sig=s3cret&x=1",
        ));
        assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
    }
}
