//! The error of a run that was stopped: which limit, what it allows, what was reached.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use serde::{Serialize, Serializer};

use tracer_format::{Usd, error_type};

tracer_format::words! {
    growing
    /// Which limit stopped a run.
    ///
    /// ```
    /// use tracer_sdk::Guardrail;
    ///
    /// assert_eq!(Guardrail::MaxDuration.to_string(), "max_duration_s");
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum Guardrail in tracer_sdk {
        /// The run looped.
        StopOnLoop = "stop_on_loop",
        /// Too many model calls.
        MaxLlmCalls = "max_llm_calls",
        /// Too many tool calls.
        MaxToolCalls = "max_tool_calls",
        /// Too many events.
        MaxEvents = "max_events",
        /// The run took too long.
        MaxDuration = "max_duration_s",
        /// The model calls cost too much.
        MaxCost = "max_cost_usd",
        /// The model calls used too many tokens: a limit of `tracer record`.
        MaxTokens = "max_tokens",
    }
}

impl fmt::Display for Guardrail {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Quantity that a guardrail measures. Serialises as a number: the count, the seconds, or the dollars.
///
/// ```
/// use std::time::Duration;
/// use tracer_sdk::guardrails::Amount;
///
/// assert_eq!(Amount::Count(20).to_string(), "20");
/// assert_eq!(Amount::Duration(Duration::from_millis(1500)).to_string(), "1.5");
/// assert_eq!(Amount::Cost(tracer_sdk::format::Usd::from_cents(50)).to_string(), "$0.50");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Amount {
    /// Calls, events or repetitions.
    Count(u64),
    /// Time since the run started.
    Duration(Duration),
    /// Cost of model calls.
    Cost(Usd),
}

impl fmt::Display for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(formatter),
            Self::Duration(duration) => duration.as_secs_f64().fmt(formatter),
            Self::Cost(cost) => cost.fmt(formatter),
        }
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Duration(duration) => serializer.serialize_f64(duration.as_secs_f64()),
            Self::Cost(cost) => cost.serialize(serializer),
        }
    }
}

/// A guardrail stopped the run (decisions, section 8). Every later recorder call of the run returns the same error.
///
/// ```
/// use tracer_sdk::{Config, Guardrails, tool_call};
///
/// let folder = tempfile::tempdir()?;
/// let config = Config::new().data_dir(folder.path());
/// let limits = Guardrails::new().max_tool_calls(1);
/// let run = tracer_sdk::Run::new("careful").config(&config).guardrails(limits).start();
/// tool_call("search").record()?;
/// let error = tool_call("search").record().unwrap_err();
/// assert_eq!(error.to_string(), "the run was stopped by max_tool_calls: 2 tool calls, and 1 is allowed");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuardrailExceeded {
    /// Which limit.
    pub guardrail: Guardrail,
    /// Value that the limit is set to.
    pub threshold: Amount,
    /// Value reached by the run; for a refused call, the number that it would have been, or the cost of finished calls.
    pub actual: Amount,
    /// Model calls whose cost is not known and that a cost does not count, so that it is one *at least*; 0 for other limits.
    pub unpriced_calls: u64,
}

impl GuardrailExceeded {
    /// A limit of something other than a recorder, such as `tracer record --max-calls`; `unpriced_calls` is 0.
    ///
    /// ```
    /// use tracer_sdk::guardrails::{Amount, Guardrail, GuardrailExceeded};
    ///
    /// let exceeded = GuardrailExceeded::new(Guardrail::MaxTokens, Amount::Count(1_000), Amount::Count(1_200));
    /// assert_eq!(exceeded.to_string(), "the run was stopped by max_tokens: it has used 1200 tokens, and 1000 is the limit");
    /// ```
    #[must_use]
    pub const fn new(guardrail: Guardrail, threshold: Amount, actual: Amount) -> Self {
        Self {
            guardrail,
            threshold,
            actual,
            unpriced_calls: 0,
        }
    }

    /// The `error_type` of the run's error: `LoopAbort` for a loop, `GuardrailExceeded` otherwise.
    ///
    /// ```
    /// use tracer_sdk::{Config, Guardrails, Run, llm_call};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let config = Config::new().data_dir(folder.path());
    /// let run = Run::new("no calls").config(&config).guardrails(Guardrails::new().max_llm_calls(0)).start();
    /// assert_eq!(llm_call("gpt-5").record().unwrap_err().error_type(), "GuardrailExceeded");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub const fn error_type(&self) -> &'static str {
        match self.guardrail {
            Guardrail::StopOnLoop => error_type::LOOP_ABORT,
            _ => error_type::GUARDRAIL_EXCEEDED,
        }
    }
}

impl fmt::Display for GuardrailExceeded {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            guardrail,
            threshold,
            actual,
            unpriced_calls,
        } = self;
        write!(formatter, "the run was stopped by {guardrail}: ")?;
        let counted = match guardrail {
            Guardrail::StopOnLoop => {
                return write!(
                    formatter,
                    "the same records came {actual} times in a row, and {threshold} stop it"
                );
            }
            Guardrail::MaxDuration => {
                return write!(
                    formatter,
                    "it has taken {actual} s, and {threshold} s is the limit"
                );
            }
            Guardrail::MaxTokens => {
                return write!(
                    formatter,
                    "it has used {actual} tokens, and {threshold} is the limit"
                );
            }
            Guardrail::MaxCost => {
                let unpriced = match unpriced_calls {
                    0 => return write!(formatter, "it has cost {actual}, and {threshold} is the limit"),
                    1 => "1 model call has".to_owned(),
                    calls => format!("{calls} model calls have"),
                };
                return write!(
                    formatter,
                    "it has cost at least {actual} ({unpriced} no known price), and {threshold} is the limit"
                );
            }
            Guardrail::MaxLlmCalls => "model calls",
            Guardrail::MaxToolCalls => "tool calls",
            Guardrail::MaxEvents => "events",
        };
        let verb = if *threshold == Amount::Count(1) {
            "is"
        } else {
            "are"
        };
        let counted = if *actual == Amount::Count(1) {
            counted.trim_end_matches('s')
        } else {
            counted
        };
        write!(formatter, "{actual} {counted}, and {threshold} {verb} allowed")
    }
}

impl Error for GuardrailExceeded {}

#[cfg(test)]
mod tests {
    use super::*;

    fn exceeded(guardrail: Guardrail, threshold: Amount, actual: Amount) -> GuardrailExceeded {
        GuardrailExceeded {
            guardrail,
            threshold,
            actual,
            unpriced_calls: 0,
        }
    }

    #[test]
    fn the_message_says_which_limit_what_was_reached_and_what_is_allowed() {
        use Amount::{Cost, Count, Duration};
        let seconds = std::time::Duration::from_secs_f64;
        for (guardrail, threshold, actual, message) in [
            (
                Guardrail::MaxLlmCalls,
                Count(0),
                Count(1),
                "max_llm_calls: 1 model call, and 0 are allowed",
            ),
            (
                Guardrail::MaxToolCalls,
                Count(1),
                Count(2),
                "max_tool_calls: 2 tool calls, and 1 is allowed",
            ),
            (
                Guardrail::MaxEvents,
                Count(200),
                Count(201),
                "max_events: 201 events, and 200 are allowed",
            ),
            (
                Guardrail::StopOnLoop,
                Count(3),
                Count(4),
                "stop_on_loop: the same records came 4 times in a row, and 3 stop it",
            ),
            (
                Guardrail::MaxDuration,
                Duration(seconds(30.0)),
                Duration(seconds(30.25)),
                "max_duration_s: it has taken 30.25 s, and 30 s is the limit",
            ),
            (
                Guardrail::MaxCost,
                Cost(Usd::from_cents(50)),
                Cost(Usd::from_cents(52)),
                "max_cost_usd: it has cost $0.52, and $0.50 is the limit",
            ),
        ] {
            let error = exceeded(guardrail, threshold, actual);
            assert_eq!(error.to_string(), format!("the run was stopped by {message}"));
        }
    }

    #[test]
    fn a_cost_of_which_a_part_is_unknown_is_one_at_least() {
        let cost = |cents| Amount::Cost(Usd::from_cents(cents));
        for (unpriced_calls, calls) in [(1, "1 model call has"), (2, "2 model calls have")] {
            let error = GuardrailExceeded {
                unpriced_calls,
                ..exceeded(Guardrail::MaxCost, cost(50), cost(52))
            };
            assert_eq!(
                error.to_string(),
                format!(
                    "the run was stopped by max_cost_usd: it has cost at least $0.52 ({calls} no known price), and $0.50 is \
                     the limit"
                )
            );
        }
    }

    #[test]
    fn only_a_loop_is_a_loop_abort() {
        let count = Amount::Count(3);
        assert_eq!(
            exceeded(Guardrail::StopOnLoop, count, count).error_type(),
            "LoopAbort"
        );
        assert_eq!(
            exceeded(Guardrail::MaxEvents, count, count).error_type(),
            "GuardrailExceeded"
        );
    }

    #[test]
    fn amounts_are_stored_as_numbers() {
        let seconds = Amount::Duration(Duration::from_millis(1500));
        assert_eq!(
            serde_json::to_string(&[Amount::Count(3), seconds, Amount::Cost(Usd::from_cents(50))]).unwrap(),
            "[3,1.5,0.5]"
        );
    }

    #[test]
    fn the_error_travels_through_any_boxed_error() {
        fn travels<T: Error + Clone + Send + Sync + 'static>() {}
        travels::<GuardrailExceeded>();
    }
}
