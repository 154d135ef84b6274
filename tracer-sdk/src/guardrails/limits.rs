//! Limits on what a run may do before it is stopped.

use std::time::Duration;

#[cfg(feature = "prices")]
use tracer_format::Usd;

/// Default number of repetitions that stop a run when `stop_on_loop` is on.
pub const DEFAULT_MIN_REPETITIONS: u64 = 3;
/// Smallest number of repetitions that can stop a run.
pub const MIN_LOOP_REPETITIONS: u64 = 2;

/// Which repetitions stop a run (decisions, section 7).
///
/// ```
/// use tracer_sdk::guardrails::{Guardrails, StopOnLoop};
///
/// assert_eq!(Guardrails::new().stop_on_loop(true).stop_on_loop, Some(StopOnLoop::Calls));
/// assert_eq!(StopOnLoop::from(false), StopOnLoop::Never);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopOnLoop {
    /// None: `false` in settings.
    #[default]
    Never,
    /// A loop: calls that ask the same again and again; `true` in settings.
    ///
    /// Arguments are compared, of model calls that repeat by themselves the last message. What was not recorded is not
    /// known to differ, and counts.
    Calls,
    /// Calls of the same shape, whatever they ask, as in a loop warning; `"shape"` in settings.
    Shape,
}

impl From<bool> for StopOnLoop {
    fn from(stop: bool) -> Self {
        if stop { Self::Calls } else { Self::Never }
    }
}

/// The limits of a run; one that is `None` is not set (decisions, section 8).
///
/// A count trips at one more than its limit, the duration and the cost at or past it.
///
/// ```
/// use std::time::Duration;
/// use tracer_sdk::guardrails::Guardrails;
///
/// let guardrails = Guardrails::new()
///     .max_llm_calls(10)
///     .max_tool_calls(20)
///     .max_duration(Duration::from_secs(30))
///     .stop_on_loop(true);
/// assert_eq!(guardrails.max_llm_calls, Some(10));
/// assert_eq!(guardrails.max_events, None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guardrails {
    /// Which repetitions stop the run.
    pub stop_on_loop: Option<StopOnLoop>,
    /// Number of repetitions that a loop needs to stop the run, at least 2.
    ///
    /// A loop is what `loop_repetitions` makes one: with fewer here, the first warning stops the run.
    pub stop_on_loop_min_repetitions: Option<u64>,
    /// Highest number of model calls.
    pub max_llm_calls: Option<u64>,
    /// Highest number of tool calls.
    pub max_tool_calls: Option<u64>,
    /// Highest number of events: model calls, tool calls, state updates, captured errors and loop warnings.
    pub max_events: Option<u64>,
    /// Longest duration of the run; in settings `max_duration_s`, in seconds.
    pub max_duration: Option<Duration>,
    /// Highest cost of the model calls; feature `prices`.
    #[cfg(feature = "prices")]
    pub max_cost_usd: Option<Usd>,
}

impl Guardrails {
    /// No limits.
    ///
    /// ```
    /// use tracer_sdk::Guardrails;
    ///
    /// assert_eq!(Guardrails::new().max_events, None);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the run when it loops: `true` when calls ask the same again and again, [`StopOnLoop::Shape`] as soon as
    /// their shapes repeat, which three files read in a row do as well. A failed call that is tried again at once is one
    /// call with its attempts, and no loop.
    ///
    /// ```
    /// use tracer_sdk::{Config, Guardrail, Guardrails, Run, tool_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let run = Run::new("stuck").config(&config).guardrails(Guardrails::new().stop_on_loop(true)).start();
    /// let exceeded = (0..10).find_map(|_| tool_call("search").record().err()).unwrap();
    /// assert_eq!(exceeded.guardrail, Guardrail::StopOnLoop);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stop_on_loop(mut self, stop: impl Into<StopOnLoop>) -> Self {
        self.stop_on_loop = Some(stop.into());
        self
    }

    /// Sets the number of repetitions that a loop needs to stop the run; a number below 2 means 2.
    ///
    /// ```
    /// use tracer_sdk::{Config, Guardrails, Run, tool_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let limits = Guardrails::new().stop_on_loop(true).stop_on_loop_min_repetitions(5);
    /// let run = Run::new("stuck").config(&config).guardrails(limits).start();
    /// assert_eq!((1..).find(|_| tool_call("search").record().is_err()), Some(5));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stop_on_loop_min_repetitions(mut self, repetitions: u64) -> Self {
        self.stop_on_loop_min_repetitions = Some(repetitions);
        self
    }

    /// Stops the run at model call `calls + 1`.
    ///
    /// ```
    /// use tracer_sdk::{Config, Guardrails, Run, llm_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let run = Run::new("careful").config(&config).guardrails(Guardrails::new().max_llm_calls(2)).start();
    /// assert_eq!((1..).find(|_| llm_call("gpt-5").record().is_err()), Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_llm_calls(mut self, calls: u64) -> Self {
        self.max_llm_calls = Some(calls);
        self
    }

    /// Stops the run at tool call `calls + 1`.
    ///
    /// ```
    /// use tracer_sdk::{Config, Guardrails, Run, tool_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let run = Run::new("careful").config(&config).guardrails(Guardrails::new().max_tool_calls(2)).start();
    /// assert_eq!((1..).find(|_| tool_call("search").record().is_err()), Some(3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_tool_calls(mut self, calls: u64) -> Self {
        self.max_tool_calls = Some(calls);
        self
    }

    /// Stops the run at event `events + 1`.
    ///
    /// ```
    /// use tracer_sdk::{Config, Guardrails, Run, state, tool_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let run = Run::new("careful").config(&config).guardrails(Guardrails::new().max_events(1)).start();
    /// assert!(state("triage").record().is_ok());
    /// assert!(tool_call("search").record().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_events(mut self, events: u64) -> Self {
        self.max_events = Some(events);
        self
    }

    /// Stops the run once it has taken this long.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tracer_sdk::{Config, Guardrails, Run, tool_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let limits = Guardrails::new().max_duration(Duration::ZERO);
    /// let run = Run::new("too late").config(&config).guardrails(limits).start();
    /// assert!(tool_call("search").start().is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn max_duration(mut self, duration: Duration) -> Self {
        self.max_duration = Some(duration);
        self
    }

    /// Stops the run before the first model call that would start when finished ones have cost this much; feature `prices`.
    ///
    /// Calls in flight count when they end: what they cost is not known before. A call whose cost is not known is not
    /// counted; the SDK warns, and [`GuardrailExceeded::unpriced_calls`](crate::GuardrailExceeded) says how many there were.
    ///
    /// ```
    /// use tracer_sdk::format::Usd;
    /// use tracer_sdk::{Config, Guardrails, Run, Usage, llm_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let limits = Guardrails::new().max_cost_usd(Usd::from_cents(50));
    /// let run = Run::new("careful").config(&config).guardrails(limits).start();
    /// // 20 cents each.
    /// let ask = || llm_call("gpt-4o").provider("openai").usage(Usage::new(80_000, 0)).record();
    /// assert_eq!((1..).find(|_| ask().is_err()), Some(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "prices")]
    #[must_use]
    pub fn max_cost_usd(mut self, cost: Usd) -> Self {
        self.max_cost_usd = Some(cost);
        self
    }

    /// These limits, and where one is not set, that of `lower`.
    ///
    /// ```
    /// use tracer_sdk::guardrails::Guardrails;
    ///
    /// let file = Guardrails::new().max_llm_calls(10).max_events(50);
    /// let both = Guardrails::new().max_llm_calls(3).or(&file);
    /// assert_eq!((both.max_llm_calls, both.max_events), (Some(3), Some(50)));
    /// ```
    #[must_use]
    pub fn or(self, lower: &Self) -> Self {
        Self {
            stop_on_loop: self.stop_on_loop.or(lower.stop_on_loop),
            stop_on_loop_min_repetitions: self
                .stop_on_loop_min_repetitions
                .or(lower.stop_on_loop_min_repetitions),
            max_llm_calls: self.max_llm_calls.or(lower.max_llm_calls),
            max_tool_calls: self.max_tool_calls.or(lower.max_tool_calls),
            max_events: self.max_events.or(lower.max_events),
            max_duration: self.max_duration.or(lower.max_duration),
            #[cfg(feature = "prices")]
            max_cost_usd: self.max_cost_usd.or(lower.max_cost_usd),
        }
    }

    /// Number of repetitions that stop the run; `None` when loops do not stop it.
    pub(super) fn repetitions_that_stop(&self) -> Option<u64> {
        (self.stop_on_loop.unwrap_or_default() != StopOnLoop::Never).then(|| {
            self.stop_on_loop_min_repetitions
                .unwrap_or(DEFAULT_MIN_REPETITIONS)
                .max(MIN_LOOP_REPETITIONS)
        })
    }
}
