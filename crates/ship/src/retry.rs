//! Retry with backoff and cancellation of the requests to a destination.

use std::cell::RefCell;
use std::pin::pin;
use std::time::{Duration, Instant};

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio_util::sync::CancellationToken;

use crate::error::{RequestFailure, ShipError};
use crate::event::ShipEvent;

/// Time for what is under way once the work is cancelled.
const GRACE: Duration = Duration::from_secs(5);

/// Policy for requests that find no answer, or a destination that is overloaded. The wait doubles each time, with jitter, so
/// that many machines do not come back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The first wait.
    pub first_delay: Duration,
    /// The longest wait, before jitter; an endpoint may ask for a longer one.
    pub max_delay: Duration,
    /// Time for which one request is repeated; `None` has no limit.
    pub patience: Option<Duration>,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            first_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            patience: Some(Duration::from_secs(120)),
        }
    }
}

impl RetryPolicy {
    /// Policy without a limit, for runs that are followed.
    #[must_use]
    pub fn endless() -> Self {
        Self {
            patience: None,
            ..Self::default()
        }
    }
}

/// Requests of one piece of work: their retry, its cancellation, its observer.
pub struct Requests<'a> {
    pub(crate) policy: RetryPolicy,
    pub(crate) token: CancellationToken,
    // Requests are under way at the same time.
    observe: RefCell<&'a mut dyn FnMut(ShipEvent)>,
}

impl<'a> Requests<'a> {
    pub(crate) fn new(policy: RetryPolicy, observe: &'a mut dyn FnMut(ShipEvent)) -> Self {
        Self {
            policy,
            token: CancellationToken::new(),
            observe: RefCell::new(observe),
        }
    }

    pub(crate) fn notify(&self, event: ShipEvent) {
        (self.observe.borrow_mut())(event);
    }

    /// Repeats a request with backoff until it succeeds, fails for good, or the work is cancelled.
    pub(crate) async fn repeat<T>(
        &self,
        mut attempt: impl AsyncFnMut() -> Result<T, RequestFailure>,
    ) -> Result<T, ShipError> {
        let started = Instant::now();
        let mut delays = ExponentialBuilder::new()
            .with_min_delay(self.policy.first_delay)
            .with_max_delay(self.policy.max_delay)
            .without_max_times()
            .with_jitter()
            .build();
        let mut has_failed = false;
        loop {
            let (reason, asked) = match attempt().await {
                Ok(done) => {
                    if has_failed {
                        self.notify(ShipEvent::Resumed);
                    }
                    return Ok(done);
                }
                Err(RequestFailure::Transient { reason, retry_after }) => (reason, retry_after),
                Err(RequestFailure::Unreachable(reason)) => (reason, None),
                Err(RequestFailure::ServerError(error)) => (error.to_string(), None),
                Err(failure) => return Err(failure.into_error()),
            };
            has_failed = true;
            let delay = asked.or_else(|| delays.next()).unwrap_or(self.policy.max_delay);
            let after = started.elapsed();
            if self
                .policy
                .patience
                .is_some_and(|patience| after + delay > patience)
            {
                return Err(ShipError::GaveUp { reason, after });
            }
            self.notify(ShipEvent::Waiting { reason, delay });
            self.token.run_until_cancelled(tokio::time::sleep(delay)).await;
            self.check()?;
        }
    }

    /// Ends work that was cancelled.
    pub(crate) fn check(&self) -> Result<(), ShipError> {
        if self.token.is_cancelled() {
            return Err(ShipError::Cancelled);
        }
        Ok(())
    }

    /// Does work until it ends, and gives `true` when it was stopped: once `stop` is ready the token is cancelled, and
    /// what is under way has a grace of seconds.
    pub(crate) async fn run_until(
        &self,
        stop: impl Future<Output = ()>,
        work: impl Future<Output = Result<(), ShipError>>,
    ) -> Result<bool, ShipError> {
        let mut work = pin!(work);
        let ended = tokio::select! {
            ended = &mut work => ended,
            () = stop => {
                self.token.cancel();
                tokio::time::timeout(GRACE, work).await.unwrap_or(Ok(()))
            }
        };
        match ended {
            Ok(()) | Err(ShipError::Cancelled) => Ok(self.token.is_cancelled()),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn stopped(
        work: impl AsyncFnOnce(&Requests<'_>) -> Result<(), ShipError>,
    ) -> Result<bool, ShipError> {
        let mut observe = |_| {};
        let requests = Requests::new(RetryPolicy::default(), &mut observe);
        requests.run_until(async {}, work(&requests)).await
    }

    #[tokio::test(start_paused = true)]
    async fn work_that_does_not_listen_has_its_grace_only() {
        let began = tokio::time::Instant::now();
        let ended = stopped(async |_: &Requests<'_>| std::future::pending().await).await;
        assert!(ended.unwrap());
        assert_eq!(began.elapsed(), GRACE);
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_within_the_grace_is_given() {
        let ended = stopped(async |requests: &Requests<'_>| {
            requests.token.cancelled().await;
            Err(ShipError::Grpc { name: String::new() })
        });
        assert!(matches!(ended.await, Err(ShipError::Grpc { .. })));
    }

    #[tokio::test(start_paused = true)]
    async fn waits_double_with_jitter_up_to_the_longest() {
        let mut delays = Vec::new();
        let mut observe = |event| {
            if let ShipEvent::Waiting { delay, .. } = event {
                delays.push(delay.as_secs_f64());
            }
        };
        let requests = Requests::new(RetryPolicy::endless(), &mut observe);
        let mut failures = 0;
        let request = async || {
            failures += 1;
            match failures {
                ..=9 => Err(RequestFailure::transient("overload")),
                _ => Ok(()),
            }
        };
        requests.repeat(request).await.unwrap();
        let expected = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0];
        assert_eq!(delays.len(), expected.len());
        for (delay, least) in delays.into_iter().zip(expected) {
            assert!((least..=2.0 * least).contains(&delay), "{delay} {least}");
        }
    }
}
