//! What the gate keeps in a team's bucket beside the runs: baselines, which keep their runs from being removed, and reports.

use bytes::Bytes;
use object_store::path::Path;
use tracer_capture::push::RetryPolicy;

use crate::bucket::OpenBucket;
use crate::error::{BucketError, RequestFailure, if_there};
use crate::event::WaitEvent;
use crate::layout;
use crate::patience::{Halt, Patience, SharedObserver};

/// Bytes of a baseline.
pub(crate) const MAX_BASELINE_BYTES: u64 = 64 * 1024 * 1024;

impl OpenBucket {
    /// Writes the baseline of a name, and gives the object's name. `observe` learns when the store is waited for.
    ///
    /// ```
    /// use tracer_bucket::{BucketError, OpenBucket};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let folder = tempfile::tempdir()?;
    /// let bucket = OpenBucket::open(&format!("file://{}", folder.path().display()).parse()?)?;
    /// assert_eq!(bucket.write_baseline("agent", b"{}".to_vec(), false, &mut |_| {}).await?, "baselines/agent.json");
    /// let other = bucket.write_baseline("agent", b"[]".to_vec(), false, &mut |_| {}).await;
    /// assert!(matches!(other, Err(BucketError::Exists { .. })));
    /// bucket.write_baseline("agent", b"[]".to_vec(), true, &mut |_| {}).await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`BucketError::Exists`]: there is another one, and it is not to be replaced.
    pub async fn write_baseline(
        &self,
        name: &str,
        json: Vec<u8>,
        replace: bool,
        observe: &mut dyn FnMut(WaitEvent),
    ) -> Result<String, BucketError> {
        let path = layout::baseline(&self.prefix, name);
        self.write_shared(path, json, replace, observe).await
    }

    /// Writes the report of a gate with an ID, and gives the object's name. `observe` learns when the store is waited for.
    ///
    /// ```
    /// use tracer_bucket::OpenBucket;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let folder = tempfile::tempdir()?;
    /// let bucket = OpenBucket::open(&format!("file://{}", folder.path().display()).parse()?)?;
    /// assert_eq!(bucket.write_report("5f3a09c1", b"{}".to_vec(), &mut |_| {}).await?, "reports/5f3a09c1.json");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`BucketError`]: the bucket does not take it.
    pub async fn write_report(
        &self,
        id: &str,
        json: Vec<u8>,
        observe: &mut dyn FnMut(WaitEvent),
    ) -> Result<String, BucketError> {
        let path = layout::report(&self.prefix, id);
        self.write_shared(path, json, true, observe).await
    }

    /// The baseline of a name, as it was written; `None` when there is none. `observe` learns when the store is waited for.
    ///
    /// ```
    /// use tracer_bucket::OpenBucket;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let folder = tempfile::tempdir()?;
    /// let bucket = OpenBucket::open(&format!("file://{}", folder.path().display()).parse()?)?;
    /// bucket.write_baseline("agent", b"{}".to_vec(), false, &mut |_| {}).await?;
    /// assert_eq!(bucket.read_baseline("agent", &mut |_| {}).await?, Some(b"{}".to_vec()));
    /// assert_eq!(bucket.read_baseline("agent-2", &mut |_| {}).await?, None);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// [`BucketError`]: nobody knows whether there is one, or it is larger than any baseline.
    pub async fn read_baseline(
        &self,
        name: &str,
        observe: &mut dyn FnMut(WaitEvent),
    ) -> Result<Option<Vec<u8>>, BucketError> {
        let path = layout::baseline(&self.prefix, name);
        let get = || async { if_there(self.get(&path, MAX_BASELINE_BYTES).await) };
        let observe = SharedObserver::new(observe);
        let found = Patience::new(RetryPolicy::default())
            .patiently(get, &observe)
            .await
            .map_err(Halt::into_error)?;
        Ok(found.map(|found| found.bytes.to_vec()))
    }

    async fn write_shared(
        &self,
        path: Path,
        json: Vec<u8>,
        replace: bool,
        observe: &mut dyn FnMut(WaitEvent),
    ) -> Result<String, BucketError> {
        let bytes = Bytes::from(json);
        let put = || async {
            let done = if replace {
                self.overwrite(&path, bytes.clone()).await
            } else {
                self.create(&path, bytes.clone()).await
            };
            match done {
                Ok(()) => Ok(true),
                // An answer that was lost, or another one.
                Err(RequestFailure::Exists) => {
                    let found = self.get(&path, bytes.len() as u64).await;
                    Ok(found.is_ok_and(|found| found.bytes == bytes))
                }
                Err(failure) => Err(failure),
            }
        };
        let observe = SharedObserver::new(observe);
        let name = path
            .as_ref()
            .strip_prefix(self.prefix.as_ref())
            .unwrap_or_default()
            .trim_start_matches('/')
            .to_owned();
        match Patience::new(RetryPolicy::default())
            .patiently(put, &observe)
            .await
        {
            Ok(true) => Ok(name),
            Ok(false) => Err(BucketError::Exists { name }),
            Err(halt) => Err(halt.into_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use object_store::memory::InMemory;

    use super::*;
    use crate::test_support::{Fate, FaultyStore, Kind, bucket, run};

    #[test]
    fn an_outage_is_notified() {
        run(async {
            let store = FaultyStore::new(&Arc::new(InMemory::new()), |request| match request.number {
                0 | 2 => Fate::Lost(Kind::SlowDown),
                _ => Fate::Done,
            });
            let bucket = bucket(store);
            let mut events = Vec::new();
            let mut observe = |event| events.push(matches!(event, WaitEvent::Waiting { .. }));
            let written = bucket.write_baseline("agent", b"{}".to_vec(), false, &mut observe);
            written.await.unwrap();
            assert!(
                bucket
                    .read_baseline("agent", &mut observe)
                    .await
                    .unwrap()
                    .is_some()
            );
            assert_eq!(events, [true, false, true, false]);
        });
    }
}
