//! [`BucketReader`]: reads a team's runs from a bucket: their facts into a mirror on this machine, their files when somebody
//! looks at them. What was read once is there without the bucket.

mod cache;
mod fetch;
mod sent_copies;
mod sync;
mod worker;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tracer_catalog::{FetchError, FetchRuns, RunLease, StoreMirror, TeamStore};
use tracer_runs::{RunDirectory, RunStore};
use tracer_sdk::format::{Timestamp, TraceId};
use tracer_sdk::settings::Settings;

use crate::bucket::store::OpenBucket;
use crate::bucket::url::BucketUrl;
use crate::error::ShipError;
use cache::RunCache;
use sent_copies::SentCopies;
pub use sync::{SyncProgress, SyncSummary};
use worker::Worker;

/// Folder of the mirrors in a data directory, one for each bucket.
const STORES_FOLDER: &str = "cache/stores";

/// Reads the runs of a bucket; a clone is the same one.
#[derive(Clone)]
pub struct BucketReader(Arc<ReaderState>);

struct ReaderState {
    url: BucketUrl,
    /// `None` of a folder that is not there now.
    bucket: Option<OpenBucket>,
    mirror: StoreMirror,
    worker: Worker,
    cache: RunCache,
    sent: SentCopies,
    here: RunStore,
    /// Runs that are being fetched: a second caller of one waits for it.
    fetching: Mutex<HashMap<TraceId, Arc<Mutex<()>>>>,
}

impl BucketReader {
    /// Opens a bucket for reading; its mirror is in the data directory, with room for fetched runs of
    /// [`Settings::store_cache_bytes`], unless more are in use. What is beyond goes when a run is fetched, that first that
    /// nobody used for the longest time. No request is made.
    ///
    /// # Errors
    ///
    /// [`ShipError::Config`]: something that the service needs is missing. [`ShipError::NoBucket`]: the folder of a
    /// `file://` is not there.
    pub fn open(settings: &Settings, url: &BucketUrl) -> Result<Self, ShipError> {
        match OpenBucket::open_existing(url) {
            Ok(bucket) => Self::of(settings, bucket),
            // A share that is not mounted now; what was read of it is here.
            Err(error @ ShipError::NoBucket { .. }) => {
                let reader = Self::with(settings, url.clone(), &url.key(None), None)?;
                reader.synced_at().ok_or(error)?;
                Ok(reader)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn of(settings: &Settings, bucket: OpenBucket) -> Result<Self, ShipError> {
        Self::with(settings, bucket.url.clone(), &bucket.key.clone(), Some(bucket))
    }

    fn with(
        settings: &Settings,
        url: BucketUrl,
        key: &str,
        bucket: Option<OpenBucket>,
    ) -> Result<Self, ShipError> {
        let data_dir = &settings.data_dir;
        let folder = data_dir.join(STORES_FOLDER).join(url.mirror_name(key));
        let worker = Worker::start().map_err(|error| ShipError::Config {
            reason: format!("no thread can be started: {error}"),
        })?;
        Ok(Self(Arc::new(ReaderState {
            cache: RunCache::new(&folder, settings.store_cache_bytes),
            sent: SentCopies::new(data_dir, key),
            mirror: StoreMirror::new(folder, &url.to_string()),
            here: RunStore::new(data_dir),
            fetching: Mutex::default(),
            worker,
            url,
            bucket,
        })))
    }

    /// URL of the bucket.
    #[must_use]
    pub fn url(&self) -> &BucketUrl {
        &self.0.url
    }

    /// When its facts were synchronized to the end; `None` when they never were.
    #[must_use]
    pub fn synced_at(&self) -> Option<Timestamp> {
        self.0.mirror.synced_at()
    }

    /// Reads what the bucket lists that is not here yet. What was read before a failure stays.
    ///
    /// # Errors
    ///
    /// [`ShipError`]: the bucket does not list or give its facts, or they cannot be stored here.
    pub fn sync(&self, observe: &mut dyn FnMut(SyncProgress)) -> Result<SyncSummary, ShipError> {
        sync::sync(&self.0, observe)
    }

    /// Its runs, for a [`FactsStore`](tracer_catalog::FactsStore).
    #[must_use]
    pub fn team_store(&self) -> Arc<TeamStore> {
        Arc::new(TeamStore::new(self.0.mirror.clone(), Arc::new(self.clone())))
    }
}

impl FetchRuns for BucketReader {
    fn fetch(&self, run: TraceId, generation: u64) -> Result<RunLease, FetchError> {
        let slot = Arc::clone(locked(&self.0.fetching).entry(run).or_default());
        let lease = {
            let _turn = locked(&slot);
            fetch::fetch(&self.0, run, generation)
        };
        let mut fetching = locked(&self.0.fetching);
        // Nobody else waits for it.
        if Arc::strong_count(&slot) <= 2 {
            fetching.remove(&run);
        }
        lease
    }

    fn has_changed_here(&self, directory: &RunDirectory) -> bool {
        self.0.sent.has_changed(directory)
    }
}

impl fmt::Debug for BucketReader {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "BucketReader({})", self.0.url)
    }
}

/// Content of a mutex: nothing here is left half-changed by a thread that panics.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
