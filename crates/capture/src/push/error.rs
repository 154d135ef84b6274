//! [`PushError`]: why nothing more can be sent, and what to do next.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use tracer_sdk::read::StoreError;

use super::journal::JournalError;

/// Why a push stopped. What was acknowledged before is remembered: the same command goes on there.
///
/// No variant holds a header, a password or a query of the URL.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PushError {
    /// A setting has a value that cannot be used.
    #[error("{name} is invalid: {reason}")]
    Setting {
        /// The variable, or what the setting is called.
        name: String,
        /// What is expected; never the value.
        reason: String,
    },
    /// OTLP over gRPC is asked for.
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
        /// What is wrong with it.
        reason: String,
    },
    /// No connection can be made from this machine.
    #[error("failed to prepare the connection: {0}")]
    Client(String),
    /// Another process pushes to the same endpoint from the same data directory.
    #[error("another process pushes to this endpoint already")]
    Locked,
    /// The journal of what was sent is not one that this version understands.
    #[error("`{}` is damaged, or of a newer version", path.display())]
    JournalDamaged {
        /// The journal.
        path: PathBuf,
    },
    /// The journal of what was sent cannot be read or written.
    #[error("failed to remember what was sent in `{}`", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// What the system reports.
        source: io::Error,
    },
    /// The data directory cannot be listed.
    #[error(transparent)]
    Store(#[from] StoreError),
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
    /// What answers does not speak OTLP at this path.
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
    /// The endpoint takes neither protobuf nor JSON.
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
        /// What is wrong with it.
        reason: String,
    },
    /// No connection came about.
    #[error("failed to connect: {reason}")]
    Unreachable {
        /// What the system reports.
        reason: String,
    },
    /// The endpoint was unavailable for longer than the policy allows.
    #[error("gave up after {} s: {reason}", after.as_secs())]
    GaveUp {
        /// The last failure.
        reason: String,
        /// How long it was tried.
        after: Duration,
    },
}

impl PushError {
    pub(super) fn of_journal(error: JournalError) -> Self {
        match error {
            JournalError::Locked => Self::Locked,
            JournalError::Damaged { path } => Self::JournalDamaged { path },
            JournalError::Io { path, source } => Self::Journal { path, source },
        }
    }

    /// What to do next, as an imperative sentence.
    ///
    /// ```
    /// use tracer_capture::push::PushError;
    ///
    /// assert!(PushError::Locked.hint().starts_with("wait"));
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
            Self::Locked => "wait until it has ended, or stop it",
            Self::JournalDamaged { .. } => "update tracer, or delete the file to send every run again",
            Self::Journal { .. } => "check its permissions and the free space, and push again",
            Self::Store(_) => "record a run first, or choose another data directory",
            Self::Unauthorized { .. } => {
                "set the key that the back end documents: OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20…"
            }
            Self::NotOtlp { .. } => {
                "check the URL: the endpoint is the base to which /v1/traces is added; OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is used as it is"
            }
            Self::Redirected { .. } => "name the final URL as the endpoint",
            Self::NoCommonEncoding { .. } => "check that the endpoint takes OTLP over HTTP",
            Self::Status { .. } | Self::GaveUp { .. } => {
                "push again later: what was acknowledged is remembered"
            }
            Self::Certificate { .. } => "name the certificate to trust: OTEL_EXPORTER_OTLP_CERTIFICATE=FILE",
            Self::Unreachable { .. } => {
                "check that a collector listens there; OTLP over HTTP has port 4318, gRPC has 4317"
            }
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
