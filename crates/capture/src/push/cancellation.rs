//! Cancellation of work, with a grace for what is under way.

use std::pin::pin;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How long what is under way may take once it is to end.
const GRACE: Duration = Duration::from_secs(5);

/// Does work until it ends. Once `stop` is ready the token is cancelled, and what is under way may end within a few seconds.
///
/// ```
/// use std::convert::Infallible;
/// use tokio_util::sync::CancellationToken;
/// use tracer_capture::push::until_stopped;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let token = CancellationToken::new();
/// let work = async {
///     token.cancelled().await;
///     Ok::<(), Infallible>(())
/// };
/// until_stopped(work, async {}, &token).await.unwrap();
/// assert!(token.is_cancelled());
/// # });
/// ```
///
/// # Errors
///
/// Those of the work.
pub async fn until_stopped<E>(
    work: impl Future<Output = Result<(), E>>,
    stop: impl Future<Output = ()>,
    token: &CancellationToken,
) -> Result<(), E> {
    let mut work = pin!(work);
    tokio::select! {
        result = &mut work => return result,
        () = stop => token.cancel(),
    }
    tokio::time::timeout(GRACE, work).await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_that_does_not_listen_has_its_grace_only() {
        let token = CancellationToken::new();
        let began = tokio::time::Instant::now();
        let deaf = std::future::pending::<Result<(), ()>>();
        assert_eq!(until_stopped(deaf, async {}, &token).await, Ok(()));
        assert_eq!(began.elapsed().as_secs(), GRACE.as_secs());
        assert!(token.is_cancelled());
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_within_the_grace_is_given() {
        let token = CancellationToken::new();
        let work = async {
            token.cancelled().await;
            Err::<(), _>("failed")
        };
        assert_eq!(until_stopped(work, async {}, &token).await, Err("failed"));
    }
}
