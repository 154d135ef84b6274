//! A team's runs in one bucket of object storage: each machine sends what it recorded, everybody's own `tracer` reads it.
//! No server of ours, no database to run.
//!
//! [`BucketUrl`] names a bucket and a prefix in it, [`OpenBucket`] is the open bucket, a [`Shipper`] sends the completed
//! runs of a data directory, and a [`BucketReader`] reads those of everybody. What lies in the bucket is described in
//! `docs/a-teams-runs-in-one-bucket.md`: a run is its spans and then its `meta.json`, which commits it, and each batch of runs
//! has one object of facts that lists them. Facts are never retracted: lifecycle rules of the store remove what is old.

mod bucket;
mod committed_run;
mod error;
mod event;
mod facts_row;
mod facts_writer;
mod join;
mod layout;
mod package;
mod patience;
mod reader;
mod run_sender;
mod sent_run;
mod shipper;
mod url;

#[cfg(test)]
mod test_support;
#[cfg(test)]
mod tests;

pub use bucket::OpenBucket;
pub use error::BucketError;
pub use event::{NotSent, ShipEvent, ShipSummary};
pub use join::JoinSummary;
pub use reader::{BucketReader, SyncProgress, SyncSummary};
pub use shipper::{ShipOptions, Shipper};
pub use url::BucketUrl;
