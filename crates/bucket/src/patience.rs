//! [`Patience`]: requests that fail for now are repeated, until they work, patience ends, or the work is to end.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use tracer_capture::push::{JournalError, RetryPolicy, Stopping};

use crate::error::{BucketError, RequestFailure};
use crate::event::WaitEvent;

/// Why the work ends.
#[derive(Debug)]
pub(crate) enum Halt {
    Stopped,
    Error(BucketError),
}

impl Halt {
    /// The error of work that nobody stops.
    pub(crate) fn into_error(self) -> BucketError {
        match self {
            Self::Error(error) => error,
            Self::Stopped => RequestFailure::Changed.into_error(),
        }
    }
}

impl From<BucketError> for Halt {
    fn from(error: BucketError) -> Self {
        Self::Error(error)
    }
}

impl From<JournalError> for Halt {
    fn from(error: JournalError) -> Self {
        Self::Error(error.into())
    }
}

/// Who is notified, by requests that are under way at the same time.
pub(crate) struct SharedObserver<'a, Event>(RefCell<&'a mut (dyn FnMut(Event) + 'a)>);

impl<'a, Event: From<WaitEvent>> SharedObserver<'a, Event> {
    pub(crate) fn new(observe: &'a mut (dyn FnMut(Event) + 'a)) -> Self {
        Self(RefCell::new(observe))
    }

    pub(crate) fn notify(&self, event: impl Into<Event>) {
        (self.0.borrow_mut())(event.into());
    }
}

/// How long requests are repeated.
#[derive(Debug, Clone)]
pub(crate) struct Patience {
    pub(crate) retry: RetryPolicy,
    pub(crate) stopping: Stopping,
}

/// The failures of one request, so far.
pub(crate) struct PatientRequest<'a, 'b, Event> {
    patience: &'a Patience,
    observe: &'a SharedObserver<'b, Event>,
    started: Instant,
    failures: u32,
}

impl Patience {
    pub(crate) fn new(retry: RetryPolicy) -> Self {
        Self {
            retry,
            stopping: Stopping::never(),
        }
    }

    pub(crate) fn attempts<'a, 'b, Event: From<WaitEvent>>(
        &'a self,
        observe: &'a SharedObserver<'b, Event>,
    ) -> PatientRequest<'a, 'b, Event> {
        PatientRequest {
            patience: self,
            observe,
            started: Instant::now(),
            failures: 0,
        }
    }

    /// Does something until it works, fails for good, or patience ends.
    pub(crate) async fn patiently<
        T,
        Event: From<WaitEvent>,
        F: Future<Output = Result<T, RequestFailure>>,
    >(
        &self,
        mut work: impl FnMut() -> F,
        observe: &SharedObserver<'_, Event>,
    ) -> Result<T, Halt> {
        let mut attempts = self.attempts(observe);
        loop {
            if self.stopping.is_stopping() {
                return Err(Halt::Stopped);
            }
            match work().await {
                Ok(done) => {
                    attempts.worked();
                    return Ok(done);
                }
                Err(failure) => attempts.failed(failure).await?,
            }
        }
    }

    /// Waits, unless the work is to end.
    pub(crate) async fn pause(&self, delay: Duration) -> Result<(), Halt> {
        if self.stopping.pause(delay).await {
            return Err(Halt::Stopped);
        }
        Ok(())
    }
}

impl<Event: From<WaitEvent>> PatientRequest<'_, '_, Event> {
    /// Notes that the store answers.
    pub(crate) fn worked(&self) {
        if self.failures > 0 {
            self.observe.notify(WaitEvent::Resumed);
        }
    }

    /// Waits before the next attempt; an error when there is to be none.
    pub(crate) async fn failed(&mut self, failure: RequestFailure) -> Result<(), Halt> {
        let RequestFailure::Transient(reason) = failure else {
            return Err(failure.into_error().into());
        };
        self.failures += 1;
        let retry = self.patience.retry;
        let delay = retry.delay(self.failures);
        let after = self.started.elapsed();
        if retry.patience.is_some_and(|patience| after + delay > patience) {
            return Err(BucketError::GaveUp { reason, after }.into());
        }
        self.observe.notify(WaitEvent::Waiting { reason, delay });
        self.patience.pause(delay).await
    }
}
