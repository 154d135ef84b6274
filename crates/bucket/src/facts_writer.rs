//! [`FactsWriter`]: writes the lines of a batch of runs as one object of facts, which readers find behind all others.

use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::bucket::OpenBucket;
use crate::error::{BucketError, RequestFailure, if_there};
use crate::event::WaitEvent;
use crate::layout;
use crate::package::compressed;
use crate::patience::{Halt, Patience, SharedObserver};
use crate::store_clock::StoreClock;

/// How old the name of an object of facts may get before it is written under a newer one: readers that have seen later names
/// look back a while only.
const MAX_NAME_AGE: Duration = Duration::from_secs(60);

/// Writes objects of facts.
pub(crate) struct FactsWriter {
    bucket: OpenBucket,
    is_compressed: bool,
    /// Part of the names: distinguishes writers.
    name: String,
}

impl FactsWriter {
    pub(crate) fn new(bucket: OpenBucket, is_compressed: bool) -> Self {
        Self {
            bucket,
            is_compressed,
            name: format!("{:08x}", fastrand::u32(..)),
        }
    }

    /// Writes lines as one object. `on_named` hears its name before it is written, and perhaps a later one again.
    pub(crate) async fn write<Event: From<WaitEvent>>(
        &self,
        lines: Vec<u8>,
        clock: &StoreClock,
        patience: &Patience,
        mut on_named: impl FnMut(&str) -> Result<(), BucketError>,
        observe: &SharedObserver<'_, Event>,
    ) -> Result<(), Halt> {
        let content = if self.is_compressed {
            compressed(&lines).map_err(|error| BucketError::Refused {
                reason: error.to_string(),
            })?
        } else {
            lines
        };
        let content = Bytes::from(content);
        let mut attempts = patience.attempts(observe);
        loop {
            let name = layout::facts_name(clock.next(), &self.name, fastrand::u64(..), self.is_compressed);
            let named = Instant::now();
            on_named(&name)?;
            let path = layout::facts_object(&self.bucket.prefix, &name);
            loop {
                match self.bucket.create(&path, content.clone()).await {
                    // Nobody else has this name: what is there is ours, and its answer was lost.
                    Ok(()) | Err(RequestFailure::Exists) => {
                        attempts.worked();
                        return Ok(());
                    }
                    Err(failure) => attempts.failed(failure).await?,
                }
                // After a long outage the name is in the past, where nobody looks any more. It may have arrived, though.
                if named.elapsed() > MAX_NAME_AGE
                    && matches!(self.bucket.head(&path).await, Err(RequestFailure::Missing(_)))
                {
                    break;
                }
            }
        }
    }

    /// Whether an object that was named is there.
    pub(crate) async fn is_written<Event: From<WaitEvent>>(
        &self,
        name: &str,
        patience: &Patience,
        observe: &SharedObserver<'_, Event>,
    ) -> Result<bool, Halt> {
        let path = layout::facts_object(&self.bucket.prefix, name);
        let look = || async { if_there(self.bucket.head(&path).await) };
        Ok(patience.patiently(look, observe).await?.is_some())
    }
}
