//! A team's runs in one bucket of object storage: each machine sends its own, all read them. No server, no database to run.
//!
//! A run is its spans and then its `meta.json`, which commits it, and each batch of runs has one object of facts that lists
//! them. Facts are never retracted: lifecycle rules of the store remove what is old.

mod committed_run;
mod destination;
mod facts_row;
mod failure;
mod join;
mod layout;
mod package;
mod reader;
mod store;
mod upload;
mod url;

#[cfg(test)]
mod tests;

pub use destination::BucketDestination;
pub use join::JoinSummary;
pub use reader::{BucketReader, SyncProgress, SyncSummary};
pub use store::OpenBucket;
pub use url::BucketUrl;
