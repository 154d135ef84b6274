//! Retry with backoff: the wait before a request is repeated, and its end.

use std::time::{Duration, Instant, SystemTime};

use tokio_util::sync::CancellationToken;

/// When a request that found no answer, or an endpoint that is overloaded, is repeated. The wait doubles each time, with
/// jitter, so that many pushers do not come back at once.
///
/// ```
/// use tracer_capture::push::RetryPolicy;
///
/// assert!(RetryPolicy::default().patience.is_some());
/// assert_eq!(RetryPolicy::endless().patience, None);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetryPolicy {
    /// The first wait.
    pub first_delay: Duration,
    /// The longest wait that is chosen here; an endpoint may ask for a longer one.
    pub max_delay: Duration,
    /// How long one request is repeated; `None` for as long as it takes.
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
    /// Never gives up, for whoever follows runs.
    ///
    /// ```
    /// use tracer_capture::push::RetryPolicy;
    ///
    /// assert_eq!(RetryPolicy::endless().first_delay, RetryPolicy::default().first_delay);
    /// ```
    #[must_use]
    pub fn endless() -> Self {
        Self {
            patience: None,
            ..Self::default()
        }
    }

    /// The wait after this number of failures in a row, 1 or more: at least half of what the doubling gives.
    ///
    /// ```
    /// use tracer_capture::push::RetryPolicy;
    ///
    /// let policy = RetryPolicy::default();
    /// assert!(policy.delay(1) <= policy.first_delay);
    /// assert!(policy.delay(100) <= policy.max_delay);
    /// ```
    #[must_use]
    pub fn delay(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        let full = self
            .first_delay
            .saturating_mul(1 << doublings)
            .min(self.max_delay);
        full.mul_f64(0.5 + fastrand::f64() / 2.0)
    }
}

/// Repetitions of one request.
// For `tracer-bucket`, as the journal is.
#[doc(hidden)]
#[derive(Debug)]
pub struct Retry {
    policy: RetryPolicy,
    started: Instant,
    failures: u32,
}

/// End of the repetitions of a request.
#[doc(hidden)]
#[derive(Debug)]
pub enum RetryEnd {
    /// The work was cancelled.
    Cancelled,
    /// The policy allows no further attempt.
    GaveUp {
        /// The last failure.
        reason: String,
        /// How long it was tried.
        after: Duration,
    },
}

impl Retry {
    /// Repetitions of a request that is about to be made.
    #[must_use]
    pub fn new(policy: RetryPolicy) -> Self {
        Self {
            policy,
            started: Instant::now(),
            failures: 0,
        }
    }

    /// Number of attempts that failed.
    #[must_use]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Counts a failure and waits before the next attempt, for as long as was asked or as the policy says. `on_wait` hears
    /// of it first.
    ///
    /// # Errors
    ///
    /// [`RetryEnd`]: there is to be no further attempt.
    pub async fn wait(
        &mut self,
        reason: String,
        asked: Option<Duration>,
        token: &CancellationToken,
        on_wait: impl FnOnce(String, Duration),
    ) -> Result<(), RetryEnd> {
        self.failures += 1;
        let delay = asked.unwrap_or_else(|| self.policy.delay(self.failures));
        let after = self.started.elapsed();
        if self
            .policy
            .patience
            .is_some_and(|patience| after + delay > patience)
        {
            return Err(RetryEnd::GaveUp { reason, after });
        }
        on_wait(reason, delay);
        let waited = token.run_until_cancelled(tokio::time::sleep(delay)).await;
        waited.ok_or(RetryEnd::Cancelled)
    }
}

/// The wait that a `Retry-After` asks for: seconds, or a date.
pub(super) fn retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    // A date that has passed asks for no wait.
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_with_jitter_up_to_the_longest() {
        let policy = RetryPolicy::default();
        for (failures, full) in [(1, 0.5), (2, 1.0), (3, 2.0), (7, 30.0), (u32::MAX, 30.0)] {
            for _ in 0..50 {
                let delay = policy.delay(failures).as_secs_f64();
                assert!((full / 2.0..=full).contains(&delay), "{failures}: {delay}");
            }
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let after = |text| retry_after(text, now);
        assert_eq!(after(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(
            after("Sun, 06 Nov 1994 08:49:47 GMT"),
            Some(Duration::from_secs(10))
        );
        assert_eq!(after("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        for text in ["", "soon", "-1", "1.5", "99999999999999999999"] {
            assert_eq!(after(text), None, "{text}");
        }
    }
}
