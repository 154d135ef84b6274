//! State updates (decisions, section 1; specification, `STATE_UPDATE`).

use serde::Serialize;

use crate::emit::open_span::{EndTime, OpenSpan};

use crate::guardrails::GuardrailExceeded;
use tracer_format::EventType;
use tracer_format::names::span_names;

/// Begins the record of the agent's state, for example between two steps.
///
/// ```
/// use serde_json::json;
///
/// let folder = tempfile::tempdir()?;
/// let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("plan").config(&config).start();
/// tracer_sdk::state(&json!({"phase": "triage"})).record()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn state<T: Serialize + ?Sized>(state: &T) -> StateUpdate {
    let mut span = OpenSpan::begin(EventType::StateUpdate, span_names::STATE);
    span.edit(|span| span.state(state));
    StateUpdate { span }
}

/// A state update that is being described.
///
/// ```
/// use serde_json::json;
/// use tracer_sdk::format::EventType;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     tracer_sdk::state(&json!({"phase": "answer"})).diff(&json!({"phase": ["triage", "answer"]})).record()
/// });
/// assert_eq!(run.records[1].event_type(), EventType::StateUpdate);
/// ```
#[must_use = "call `.record()?` to write it"]
#[derive(Debug)]
pub struct StateUpdate {
    span: OpenSpan,
}

impl StateUpdate {
    /// The changes since the last state.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::state(&json!({"tries": 2})).diff(&json!({"tries": 1})).record());
    /// assert_eq!(run.spans[0].events[0].attributes["diff"], r#"{"tries":1}"#);
    /// ```
    pub fn diff<T: Serialize + ?Sized>(mut self, diff: &T) -> Self {
        self.span.edit(|span| span.state_diff(diff));
        self
    }

    /// Attaches metadata of your own, an object; it comes back as `meta` of the projected record.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::state(&json!({"tries": 2})).meta(&json!({"step": 7})).record());
    /// assert_eq!(run.records[1].meta["step"], 7);
    /// ```
    pub fn meta<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        self.span.edit(|span| span.meta(value));
        self
    }

    /// Writes the state.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::state("triage").record());
    /// assert_eq!(run.spans[0].events[0].attributes["state"], r#""triage""#);
    /// ```
    ///
    /// # Errors
    ///
    /// [`GuardrailExceeded`] when the run has crossed one of its limits; the state is written all the same.
    #[inline]
    pub fn record(self) -> Result<(), GuardrailExceeded> {
        self.span.end(EndTime::Now)
    }
}
