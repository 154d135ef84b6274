//! [`Stopping`]: work that can be asked to end, and what is under way then.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;

/// How long what is under way may take once it is to end.
const GRACE: Duration = Duration::from_secs(5);

/// Whether work is to end. Work that goes on at the same time has clones of it.
///
/// ```
/// use tracer_capture::push::Stopping;
///
/// assert!(!Stopping::never().is_stopping());
/// ```
#[derive(Debug, Clone)]
pub struct Stopping(watch::Receiver<bool>);

/// Asks work to end.
#[derive(Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stopping {
    /// Nobody asks.
    #[must_use]
    pub fn never() -> Self {
        Self::pair().1
    }

    /// For [`until_stopped`], which asks.
    #[must_use]
    pub fn pair() -> (Stopper, Self) {
        let (stopper, stopping) = watch::channel(false);
        (Stopper(stopper), Self(stopping))
    }

    /// Whether the work is to end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits; `true` when the work is asked to end meanwhile.
    pub async fn pause(&self, delay: Duration) -> bool {
        let mut stopping = self.0.clone();
        let stopped = async {
            // Without anybody who could ask, it goes on.
            if stopping.wait_for(|stopping| *stopping).await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = tokio::time::sleep(delay) => false,
            () = stopped => true,
        }
    }
}

/// Does work until it ends. Once `stop` is ready the work is asked to end, and what is under way may do so for a few seconds.
///
/// ```
/// use std::convert::Infallible;
/// use std::time::Duration;
/// use tracer_capture::push::{Stopping, until_stopped};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let (stopper, stopping) = Stopping::pair();
/// let work = async {
///     while !stopping.pause(Duration::from_secs(60)).await {}
///     Ok::<(), Infallible>(())
/// };
/// until_stopped(work, async {}, stopper).await.unwrap();
/// assert!(stopping.is_stopping());
/// # });
/// ```
///
/// # Errors
///
/// Those of the work.
pub async fn until_stopped<E>(
    work: impl Future<Output = Result<(), E>>,
    stop: impl Future<Output = ()>,
    stopper: Stopper,
) -> Result<(), E> {
    let mut work = pin!(work);
    tokio::select! {
        result = &mut work => return result,
        () = stop => {}
    }
    // The work listens as long as it goes on.
    let _ = stopper.0.send(true);
    tokio::time::timeout(GRACE, work).await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_does_not_listen_has_its_grace_only() {
        let (stopper, stopping) = Stopping::pair();
        let began = tokio::time::Instant::now();
        let deaf = std::future::pending::<Result<(), ()>>();
        assert_eq!(until_stopped(deaf, async {}, stopper).await, Ok(()));
        assert_eq!(began.elapsed().as_secs(), GRACE.as_secs());
        assert!(stopping.is_stopping());
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_within_the_grace_is_given() {
        let (stopper, stopping) = Stopping::pair();
        let work = async {
            assert!(stopping.pause(Duration::from_secs(3600)).await);
            Err::<(), _>("failed")
        };
        assert_eq!(until_stopped(work, async {}, stopper).await, Err("failed"));
    }

    #[tokio::test(start_paused = true)]
    async fn without_anybody_who_asks_a_pause_takes_its_time() {
        assert!(!Stopping::never().pause(Duration::from_secs(7)).await);
    }
}
