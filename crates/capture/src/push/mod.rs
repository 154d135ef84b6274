//! Runs on their way to an OpenTelemetry collector or back end: OTLP over HTTP, at least once, safe to repeat (capture,
//! section 7).
//!
//! [`PushSettings`] says where to and how, [`Pusher`] reads the logs of runs from where it stopped last time and sends
//! what was added. A journal in the data directory, one for each endpoint, remembers what was acknowledged.

mod answer;
mod batch;
mod client;
mod content;
mod endpoint;
mod error;
mod event;
mod followed_runs;
mod journal;
mod pusher;
mod repeats;
mod retry;
mod secret_headers;
mod settings;
mod stopping;
mod tail;

pub use endpoint::PushEndpoint;
pub use error::PushError;
pub use event::{PushEvent, PushSummary};
pub use followed_runs::FollowedRuns;
// For `tracer-bucket`, which remembers what it sent and is stopped in the same way; no promise to anybody else.
#[doc(hidden)]
pub use followed_runs::FollowedDirectories;
#[doc(hidden)]
pub use journal::{Journal, JournalError};
pub use pusher::{PushOptions, Pusher};
pub use retry::RetryPolicy;
pub use secret_headers::PushHeaders;
pub use settings::{Protocol, PushOverrides, PushSettings, TlsFiles};
#[doc(hidden)]
pub use stopping::{Stopper, Stopping, until_stopped};
