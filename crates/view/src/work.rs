//! The work behind answers: some of it at a time, each reading cancelled when its client is gone.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;
use tracer_runs::CancelToken;

/// Readings at a time; others wait.
const MAX_READERS: usize = 8;
/// Time between two checks of a waiting reading for cancellation.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Runs the readings and changes of all requests; a clone is the same one.
#[derive(Debug, Clone)]
pub(super) struct WorkPool(Arc<Semaphore>);

/// Cancels a reading when its request is dropped.
struct CancelTokenGuard(CancelToken);

impl Drop for CancelTokenGuard {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl WorkPool {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MAX_READERS)))
    }

    /// Reads on a thread that may wait, until this future is dropped. `None` when the reading panics.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let permit = Arc::clone(&self.0).acquire_owned().await.ok()?;
        self.stream(move || {
            let _permit = permit;
            read()
        })
        .await
    }

    /// The same for an answer that is written while its client takes it, at the client's pace: it keeps no other reading waiting.
    pub(super) async fn stream<T: Send + 'static>(
        &self,
        write: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let token = CancelToken::default();
        let _cancel = CancelTokenGuard(token.clone());
        tokio::task::spawn_blocking(move || token.within(write))
            .await
            .ok()
    }

    /// Makes a change, which is done to its end even when its client is gone.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        change: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        tokio::task::spawn_blocking(change).await.ok()
    }
}

/// Tells whether the client of this thread's reading is gone.
pub(super) fn is_cancelled() -> bool {
    token().is_cancelled()
}

/// The token of this thread's reading; of other threads, one that is never cancelled.
pub(super) fn token() -> CancelToken {
    CancelToken::current().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn readings_beyond_the_limit_wait() {
        let work = WorkPool::new();
        let (begun, has_begun) = mpsc::channel();
        let mut open = Vec::new();
        for _ in 0..2 * MAX_READERS {
            let (work, begun) = (work.clone(), begun.clone());
            let (end, ended) = mpsc::channel::<()>();
            let reading = move || {
                begun.send(()).unwrap();
                ended.recv().unwrap_err();
            };
            open.push((end, tokio::spawn(async move { work.read(reading).await })));
        }
        let wait = tokio::task::spawn_blocking(move || {
            for _ in 0..MAX_READERS {
                has_begun.recv().unwrap();
            }
            assert!(has_begun.recv_timeout(Duration::from_millis(50)).is_err());
            has_begun
        });
        let has_begun = wait.await.unwrap();
        // An answer that its client takes slowly has no limit.
        assert_eq!(work.stream(|| 7).await, Some(7));
        for (end, reading) in open {
            drop(end);
            assert_eq!(reading.await.unwrap(), Some(()));
        }
        assert_eq!(has_begun.try_iter().count(), MAX_READERS);
    }

    #[tokio::test]
    async fn a_reading_is_cancelled_with_its_request() {
        let work = WorkPool::new();
        let (sender, receiver) = mpsc::channel();
        let reading = {
            let work = work.clone();
            tokio::spawn(async move {
                let read = move || {
                    sender.send("begun").unwrap();
                    while !is_cancelled() {
                        std::thread::yield_now();
                    }
                    sender.send("cancelled").unwrap();
                };
                work.read(read).await
            })
        };
        let receiver = tokio::task::spawn_blocking(move || {
            assert_eq!(receiver.recv(), Ok("begun"));
            receiver
        });
        let receiver = receiver.await.unwrap();
        reading.abort();
        let next = tokio::task::spawn_blocking(move || receiver.recv());
        assert_eq!(next.await.unwrap(), Ok("cancelled"));
    }

    #[tokio::test]
    async fn a_change_is_done_when_its_client_is_gone() {
        let work = WorkPool::new();
        let (begun, has_begun) = mpsc::channel();
        let (proceed, may_proceed) = mpsc::channel::<()>();
        let (sender, receiver) = mpsc::channel();
        let changing = tokio::spawn(async move {
            let change = move || {
                begun.send(()).unwrap();
                may_proceed.recv().unwrap();
                sender.send(is_cancelled()).unwrap();
            };
            work.change(change).await
        });
        tokio::task::spawn_blocking(move || has_begun.recv().unwrap())
            .await
            .unwrap();
        changing.abort();
        proceed.send(()).unwrap();
        assert_eq!(
            tokio::task::spawn_blocking(move || receiver.recv())
                .await
                .unwrap(),
            Ok(false)
        );
    }
}
