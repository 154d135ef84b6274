//! [`FactsWriter`]: writes the lines of a batch of runs as one object of facts, which readers find behind all others.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tracer_capture::push::Retry;
use tracer_insight::units;

use crate::bucket::OpenBucket;
use crate::error::{BucketError, RequestFailure, if_there};
use crate::layout;
use crate::patience::{Halt, Patience, SharedObserver};

/// Age of a name at which an object of facts that is not written yet gets a newer one: readers list two days. A name of another
/// day gets one too, because this clock stands still while the machine sleeps.
const MAX_NAME_AGE: Duration = Duration::from_secs(3600);

/// Writes objects of facts.
pub(crate) struct FactsWriter {
    bucket: OpenBucket,
    /// Part of the names: distinguishes writers.
    name: String,
}

impl FactsWriter {
    pub(crate) fn new(bucket: OpenBucket) -> Self {
        Self {
            bucket,
            name: format!("{:08x}", fastrand::u32(..)),
        }
    }

    /// Writes lines as one object. `on_named` hears its name before it is written, and perhaps a later one again.
    pub(crate) async fn write(
        &self,
        lines: Vec<u8>,
        patience: &Patience,
        mut on_named: impl FnMut(&str) -> Result<(), BucketError>,
        observe: &SharedObserver<'_>,
    ) -> Result<(), Halt> {
        let content = Bytes::from(lines);
        let mut retry = Retry::new(patience.retry);
        loop {
            let at = units::now();
            let name = layout::facts_name(at, &self.name, fastrand::u64(..));
            let named = Instant::now();
            on_named(&name)?;
            let path = layout::facts_object(&self.bucket.prefix, &name);
            loop {
                match self.bucket.create(&path, content.clone()).await {
                    // Nobody else has this name: what is there is ours, and its answer was lost.
                    Ok(()) | Err(RequestFailure::Exists) => {
                        Patience::worked(&retry, observe);
                        return Ok(());
                    }
                    Err(failure) => patience.failed(&mut retry, failure, observe).await?,
                }
                // After a long outage the name is of a day that is not listed any more. The object may have arrived, though.
                let is_old = named.elapsed() > MAX_NAME_AGE
                    || layout::partition(units::now(), 0) > layout::partition(at, 0);
                if is_old && matches!(self.bucket.head(&path).await, Err(RequestFailure::Missing(_))) {
                    break;
                }
            }
        }
    }

    /// Checks if an object that was named is there.
    pub(crate) async fn is_written(
        &self,
        name: &str,
        patience: &Patience,
        observe: &SharedObserver<'_>,
    ) -> Result<bool, Halt> {
        let path = layout::facts_object(&self.bucket.prefix, name);
        let look = || async { if_there(self.bucket.head(&path).await) };
        Ok(patience.patiently(look, observe).await?.is_some())
    }
}
