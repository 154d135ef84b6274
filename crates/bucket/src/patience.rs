//! Requests of a bucket that fail for now are repeated, until they work, the policy ends them, or the work is cancelled.

use std::cell::RefCell;

use tokio_util::sync::CancellationToken;
use tracer_capture::push::{Retry, RetryEnd, RetryPolicy};

use crate::error::{BucketError, RequestFailure};
use crate::event::ShipEvent;

/// Why the work ends.
#[derive(Debug)]
pub(crate) enum Halt {
    Stopped,
    Error(BucketError),
}

impl<E: Into<BucketError>> From<E> for Halt {
    fn from(error: E) -> Self {
        Self::Error(error.into())
    }
}

/// Observer of requests that are under way at the same time.
pub(crate) struct SharedObserver<'a>(RefCell<&'a mut (dyn FnMut(ShipEvent) + 'a)>);

impl<'a> SharedObserver<'a> {
    pub(crate) fn new(observe: &'a mut (dyn FnMut(ShipEvent) + 'a)) -> Self {
        Self(RefCell::new(observe))
    }

    pub(crate) fn notify(&self, event: ShipEvent) {
        (self.0.borrow_mut())(event);
    }
}

/// Policy and cancellation of repeated requests.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    pub(crate) retry: RetryPolicy,
    pub(crate) token: CancellationToken,
}

impl Patience {
    pub(crate) fn new(retry: RetryPolicy) -> Self {
        Self {
            retry,
            token: CancellationToken::new(),
        }
    }

    /// Does something until it works, fails for good, or is to end.
    pub(crate) async fn patiently<T, F: Future<Output = Result<T, RequestFailure>>>(
        &self,
        mut work: impl FnMut() -> F,
        observe: &SharedObserver<'_>,
    ) -> Result<T, Halt> {
        let mut retry = Retry::new(self.retry);
        loop {
            if self.token.is_cancelled() {
                return Err(Halt::Stopped);
            }
            match work().await {
                Ok(done) => {
                    Self::worked(&retry, observe);
                    return Ok(done);
                }
                Err(failure) => self.failed(&mut retry, failure, observe).await?,
            }
        }
    }

    /// Notes that the store answers.
    pub(crate) fn worked(retry: &Retry, observe: &SharedObserver<'_>) {
        if retry.failures() > 0 {
            observe.notify(ShipEvent::Resumed);
        }
    }

    /// Waits before the next attempt; an error when there is to be none.
    pub(crate) async fn failed(
        &self,
        retry: &mut Retry,
        failure: RequestFailure,
        observe: &SharedObserver<'_>,
    ) -> Result<(), Halt> {
        let RequestFailure::Transient(reason) = failure else {
            return Err(failure.into_error().into());
        };
        let on_wait = |reason, delay| observe.notify(ShipEvent::Waiting { reason, delay });
        let waited = retry.wait(reason, None, &self.token, on_wait).await;
        waited.map_err(|end| match end {
            RetryEnd::Cancelled => Halt::Stopped,
            RetryEnd::GaveUp { reason, after } => BucketError::GaveUp { reason, after }.into(),
        })
    }
}
