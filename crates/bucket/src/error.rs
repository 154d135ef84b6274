//! [`BucketError`]: why a bucket cannot be used, and what to do next; and what a failed request means.

use std::error::Error;
use std::io;
use std::time::Duration;

use tracer_capture::push::JournalError;
use tracer_facts::DatabaseError;
use tracer_insight::text::one_line;
use tracer_sdk::read::StoreError;

/// Characters of a store's message that are kept.
const MAX_MESSAGE_LENGTH: usize = 300;

/// Reason why a bucket cannot be used. What was committed before is remembered: the same command goes on there.
///
/// No variant holds a key, a token or the query of a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// The URL cannot be used.
    #[error("the URL of the bucket is invalid: {reason}")]
    Url {
        /// The expected form; never the URL.
        reason: String,
    },
    /// The environment or a settings file has something that cannot be used.
    #[error("the bucket cannot be opened: {reason}")]
    Config {
        /// The problem.
        reason: String,
    },
    /// The store refuses the request.
    #[error("the store denies access: {reason}")]
    Denied {
        /// The store's own code and message.
        reason: String,
    },
    /// There is no such bucket.
    #[error("there is no such bucket: {reason}")]
    NoBucket {
        /// The store's own code and message.
        reason: String,
    },
    /// The request failed, and would fail again.
    #[error("the store refuses the request: {reason}")]
    Refused {
        /// The store's own code and message.
        reason: String,
    },
    /// The store was unavailable for longer than the policy allows.
    #[error("gave up after {} s: {reason}", after.as_secs())]
    GaveUp {
        /// The last failure.
        reason: String,
        /// Time for which it was tried.
        after: Duration,
    },
    /// The journal cannot remember what was sent.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The mirror cannot keep what was read.
    #[error("what the bucket lists cannot be kept")]
    Mirror(#[from] DatabaseError),
    /// The data directory cannot be listed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl BucketError {
    /// The next step, as an imperative sentence.
    ///
    /// ```
    /// use tracer_bucket::BucketUrl;
    ///
    /// let error = "s3:///".parse::<BucketUrl>().unwrap_err();
    /// assert!(error.hint().starts_with("name"));
    /// ```
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Url { .. } => {
                "name it like s3://team/agents; credentials come from the environment and the usual files"
            }
            Self::Config { .. } => {
                "set the variables that the cloud's own tools use, such as AWS_REGION or AZURE_STORAGE_ACCOUNT_NAME"
            }
            Self::Denied { reason } if reason.contains("RequestTimeTooSkewed") => {
                "set the clock of this machine: it differs from the store's by more than the store allows"
            }
            Self::Denied { .. } => {
                "check who you are (`aws sts get-caller-identity`, or the tool of your cloud) and that this identity may list, read and write below the prefix"
            }
            Self::NoBucket { .. } => {
                "create the bucket first, or check its name, its region and AWS_ENDPOINT_URL"
            }
            Self::Refused { .. } => "check the region and the endpoint: AWS_REGION, AWS_ENDPOINT_URL",
            Self::GaveUp { .. } => "push again later: what was committed is remembered",
            Self::Journal(JournalError::Locked) => "wait until it has ended, or stop it",
            Self::Journal(JournalError::Damaged { .. }) => {
                "update tracer, or delete the file to look at every run in the bucket again"
            }
            Self::Journal(_) => "check its permissions and the free space, and push again",
            Self::Mirror(_) => "check the permissions of the data directory and the free space",
            Self::Store(_) => "record a run first, or choose another data directory",
        }
    }
}

/// Meaning of a failed request.
#[derive(Debug)]
pub(crate) enum RequestFailure {
    /// An object has this name already.
    Exists,
    /// The object is not what it was.
    Changed,
    Missing(String),
    /// The store does not know the operation.
    Unsupported,
    /// It may work later: overload, a timeout, no connection.
    Transient(String),
    /// It will not.
    Fatal(BucketError),
}

impl RequestFailure {
    /// The error for an unexpected failure.
    pub(crate) fn into_error(self) -> BucketError {
        match self {
            Self::Fatal(error) => error,
            Self::Exists | Self::Changed => BucketError::Refused {
                reason: "another writer was faster again and again".to_owned(),
            },
            Self::Missing(reason) => BucketError::NoBucket { reason },
            Self::Unsupported => BucketError::Refused {
                reason: "the store does not know the operation".to_owned(),
            },
            Self::Transient(reason) => BucketError::GaveUp {
                reason,
                after: Duration::ZERO,
            },
        }
    }
}

/// Result of a request; `None` where the object is not there.
pub(crate) fn if_there<T>(asked: Result<T, RequestFailure>) -> Result<Option<T>, RequestFailure> {
    match asked {
        Ok(found) => Ok(Some(found)),
        Err(RequestFailure::Missing(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}

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
                Self::Fatal(BucketError::Denied { reason })
            }
            Store::Generic { .. } | Store::JoinError { .. } => Self::of_other(&error, reason),
            _ => Self::Fatal(BucketError::Refused { reason }),
        }
    }
}

impl RequestFailure {
    fn of_other(error: &object_store::Error, reason: String) -> Self {
        let of_disk = causes(error).find_map(|cause| cause.downcast_ref::<io::Error>());
        match of_disk.map(io::Error::kind) {
            Some(io::ErrorKind::PermissionDenied) => return Self::Fatal(BucketError::Denied { reason }),
            Some(
                io::ErrorKind::StorageFull
                | io::ErrorKind::ReadOnlyFilesystem
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::QuotaExceeded,
            ) => return Self::Fatal(BucketError::Refused { reason }),
            _ => {}
        }
        match status(&all_texts(error)) {
            // Some stores answer so to a write that is conditional.
            Some(501) => Self::Unsupported,
            Some(401 | 403) => Self::Fatal(BucketError::Denied { reason }),
            Some(408 | 425 | 429 | 500..) | None => Self::Transient(reason),
            Some(_) => Self::Fatal(BucketError::Refused { reason }),
        }
    }
}

/// An error and its causes, the outermost first.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn all_texts(error: &(dyn Error + 'static)) -> String {
    causes(error)
        .map(ToString::to_string)
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
    let last = || causes(error).last().map(ToString::to_string).unwrap_or_default();
    let said = said.unwrap_or_else(|| match status {
        // The client's sentence has the status and then all of the answer.
        Some(_) => String::new(),
        None => last(),
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
            RequestFailure::Transient(_)
        ));
    }

    #[test]
    fn what_will_never_work_is_not_repeated() {
        let wrong_region =
            "Server returned non-2xx status code: 400 Bad Request: <Code>AuthorizationHeaderMalformed</Code>";
        assert!(matches!(
            RequestFailure::from(generic(wrong_region)),
            RequestFailure::Fatal(BucketError::Refused { reason }) if reason == "status 400, AuthorizationHeaderMalformed"
        ));
        let denied = object_store::Error::Generic {
            store: "LocalFileSystem",
            source: Box::new(io::Error::from(io::ErrorKind::PermissionDenied)),
        };
        assert!(matches!(
            RequestFailure::from(denied),
            RequestFailure::Fatal(BucketError::Denied { .. })
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
