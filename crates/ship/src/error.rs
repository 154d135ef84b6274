//! [`ShipError`]: reasons why runs cannot be sent or fetched, and the next step.

use std::path::PathBuf;
use std::time::Duration;

use tracer_catalog::DatabaseError;
use tracer_runs::StoreError;

use crate::journal::JournalError;

/// Reason why nothing more can be sent to a destination, or read from it. What was acknowledged before is remembered: the
/// same command continues there.
///
/// No variant holds a header, a key, a password or the query of a URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShipError {
    /// A setting has a value that cannot be used.
    #[error("{name} is invalid: {reason}")]
    Setting {
        /// The variable, or what the setting is called.
        name: String,
        /// The expected form; never the value.
        reason: String,
    },
    /// A setting wants OTLP over gRPC.
    #[error("{name} asks for gRPC, and runs are pushed over HTTP")]
    Grpc {
        /// The variable, or what the setting is called.
        name: String,
    },
    /// A certificate or key cannot be used.
    #[error("`{}` cannot be used: {reason}", path.display())]
    TlsFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// No connection can be made from this machine.
    #[error("failed to prepare the connection: {0}")]
    Client(String),
    /// The endpoint wants other credentials.
    #[error(
        "the endpoint refuses the credentials with status {status}{}",
        after_colon(message)
    )]
    Unauthorized {
        /// The HTTP status.
        status: u16,
        /// The endpoint's message; may be empty.
        message: String,
    },
    /// The server that answers does not speak OTLP at this path.
    #[error("no OTLP endpoint answers there: status {status}{}", after_colon(message))]
    NotOtlp {
        /// The HTTP status.
        status: u16,
        /// The endpoint's message; may be empty.
        message: String,
    },
    /// The endpoint answers with a redirection, which is not followed: it would take the headers along.
    #[error("the endpoint redirects to `{host}`")]
    Redirected {
        /// The host that it names.
        host: String,
    },
    /// The endpoint accepts neither protobuf nor JSON.
    #[error("the endpoint takes neither protobuf nor JSON{}", after_colon(message))]
    NoCommonEncoding {
        /// The endpoint's message; may be empty.
        message: String,
    },
    /// A status that says nothing about the spans.
    #[error("the endpoint answers with status {status}{}", after_colon(message))]
    Status {
        /// The HTTP status.
        status: u16,
        /// The endpoint's message; may be empty.
        message: String,
    },
    /// The endpoint's certificate is not trusted, or ours is not.
    #[error("no secure connection: {reason}")]
    Certificate {
        /// The problem.
        reason: String,
    },
    /// No connection came about.
    #[error("failed to connect: {reason}")]
    Unreachable {
        /// The system's report.
        reason: String,
    },
    /// The URL of a bucket cannot be used.
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
    /// The store refuses access.
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
    /// The destination was unavailable for longer than the policy allows.
    #[error("gave up after {} s: {reason}", after.as_secs())]
    GaveUp {
        /// The last failure.
        reason: String,
        /// Time for which it was tried.
        after: Duration,
    },
    /// The work was cancelled; callers get a summary in its place.
    #[error("the work was cancelled")]
    Cancelled,
    /// The journal cannot remember what was sent.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The mirror cannot store what was read.
    #[error("what the bucket lists cannot be kept")]
    Mirror(#[from] DatabaseError),
    /// The data directory cannot be listed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ShipError {
    /// The next step, as an imperative sentence.
    ///
    /// ```
    /// use tracer_ship::BucketUrl;
    ///
    /// let error = "s3:///".parse::<BucketUrl>().unwrap_err();
    /// assert!(error.hint().starts_with("name"));
    /// ```
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Setting { .. } => "correct it, or remove it to use the default",
            Self::Grpc { .. } => {
                "set OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf, and name the endpoint's HTTP port, usually 4318"
            }
            Self::TlsFile { .. } => {
                "give a PEM file that can be read: OTEL_EXPORTER_OTLP_CERTIFICATE, OTEL_EXPORTER_OTLP_CLIENT_KEY"
            }
            Self::Client(_) => {
                "check the certificates of this system, or name one: OTEL_EXPORTER_OTLP_CERTIFICATE"
            }
            Self::Unauthorized { .. } => {
                "set the key that the back end documents: OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20…"
            }
            Self::NotOtlp { .. } => {
                "check the URL: the endpoint is the base to which /v1/traces is added; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used as it is"
            }
            Self::Redirected { .. } => "name the final URL as the endpoint",
            Self::NoCommonEncoding { .. } => "check that the endpoint takes OTLP over HTTP",
            Self::Certificate { .. } => "name the certificate to trust: OTEL_EXPORTER_OTLP_CERTIFICATE=FILE",
            Self::Unreachable { .. } => {
                "check that a collector listens there; OTLP over HTTP has port 4318, gRPC has 4317"
            }
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
            Self::Status { .. } | Self::GaveUp { .. } | Self::Cancelled => {
                "push again later: what was sent is remembered"
            }
            Self::Journal(JournalError::Locked) => "wait until it has ended, or stop it",
            Self::Journal(JournalError::Damaged { .. }) => {
                "update tracer, or delete the file to send every run again"
            }
            Self::Journal(JournalError::Io { .. }) => {
                "check its permissions and the free space, and push again"
            }
            Self::Mirror(_) => "check the permissions of the data directory and the free space",
            Self::Store(_) => "record a run first, or choose another data directory",
        }
    }
}

/// A message behind a colon; nothing when it is empty.
fn after_colon(message: &str) -> String {
    if message.is_empty() {
        return String::new();
    }
    format!(": {message}")
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
    /// It may succeed later: overload, a timeout, no connection.
    Transient {
        reason: String,
        /// The wait that the destination asks for.
        retry_after: Option<Duration>,
    },
    /// No connection came about: it may succeed later, or never.
    Unreachable(String),
    /// The server has failed: it may succeed later, or never.
    ServerError(ShipError),
    /// It will not.
    Fatal(ShipError),
}

impl From<ShipError> for RequestFailure {
    fn from(error: ShipError) -> Self {
        Self::Fatal(error)
    }
}

impl RequestFailure {
    pub(crate) fn transient(reason: impl Into<String>) -> Self {
        Self::Transient {
            reason: reason.into(),
            retry_after: None,
        }
    }

    /// The error for an unexpected failure.
    pub(crate) fn into_error(self) -> ShipError {
        let refused = |reason: &str| ShipError::Refused {
            reason: reason.to_owned(),
        };
        match self {
            Self::Fatal(error) | Self::ServerError(error) => error,
            Self::Unreachable(reason) => ShipError::Unreachable { reason },
            Self::Exists | Self::Changed => refused("another writer was faster again and again"),
            Self::Missing(reason) => ShipError::NoBucket { reason },
            Self::Unsupported => refused("the store does not know the operation"),
            Self::Transient { reason, .. } => ShipError::GaveUp {
                reason,
                after: Duration::ZERO,
            },
        }
    }
}

/// Result of a request; `None` where the object is missing.
pub(crate) fn optional<T>(found: Result<T, RequestFailure>) -> Result<Option<T>, RequestFailure> {
    match found {
        Ok(found) => Ok(Some(found)),
        Err(RequestFailure::Missing(_)) => Ok(None),
        Err(failure) => Err(failure),
    }
}
