//! Runs on their way to an OpenTelemetry collector or back end: OTLP over HTTP, at least once, safe to repeat (capture,
//! section 7).
//!
//! [`PushSettings`] says where to and how, [`Pusher`] reads the logs of runs from where it stopped last time and sends
//! what was added. A journal in the data directory, one for each endpoint, remembers what was acknowledged.

mod answer;
mod batch;
mod cancellation;
mod client;
mod content;
mod endpoint;
mod error;
mod event;
mod follow;
mod journal;
mod pusher;
mod repeats;
mod retry;
mod secret_headers;
mod settings;
mod tail;

pub use endpoint::PushEndpoint;
pub use error::PushError;
pub use event::{PushEvent, PushSummary};
pub use follow::FollowedRuns;
// For `tracer-bucket`, which follows runs, repeats requests and remembers what it sent in the same way; no promise to others.
#[doc(hidden)]
pub use cancellation::until_stopped;
#[doc(hidden)]
pub use follow::FollowPace;
#[doc(hidden)]
pub use journal::{Journal, JournalError};
pub use pusher::{PushOptions, Pusher};
pub use retry::RetryPolicy;
#[doc(hidden)]
pub use retry::{Retry, RetryEnd};
pub use secret_headers::PushHeaders;
pub use settings::{Protocol, PushSettings, TlsFiles};
