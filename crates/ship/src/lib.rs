//! Runs to elsewhere and back: to an OpenTelemetry endpoint, and to and from a team's bucket of object storage.
//!
//! A [`Shipper`] sends what has changed in a data directory to a [`Destination`], at least once, and remembers in a journal
//! what was acknowledged. [`OtlpDestination`] gets spans as they are recorded (capture, section 7).
//! [`BucketDestination`] gets whole runs that have ended; a [`BucketReader`] reads those of everybody. The objects of a bucket
//! are described in `docs/share-runs.md`.

mod bucket;
mod destination;
mod error;
mod event;
mod journal;
mod otlp;
mod retry;
mod shipper;

pub use bucket::{
    BucketDestination, BucketReader, BucketUrl, JoinSummary, OpenBucket, SyncProgress, SyncSummary,
};
pub use destination::{ChangedRun, Destination, ShipState};
pub use error::ShipError;
pub use event::{NotSent, ShipEvent, ShipSummary};
pub use journal::JournalError;
pub use otlp::{OtlpDestination, OtlpEndpoint, OtlpSettings};
pub use retry::{Requests, RetryPolicy};
pub use shipper::{RunSelection, ShipOptions, Shipper};
