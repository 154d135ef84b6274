//! State updates (decisions, section 1; specification, `STATE_UPDATE`).

use serde::Serialize;

use crate::emit::open_span::OpenSpan;
use crate::emit::slot::Slot;
use crate::format::EventType;
use crate::format::names::{event_keys, events, span_names};
use crate::guardrails::GuardrailExceeded;
use crate::write::draft::EventTime;

/// Begins the record of the agent's state, for example between two steps.
///
/// ```
/// use serde_json::json;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("plan").config(&config).start();
/// tracer_sdk::state(&json!({"phase": "triage"})).record()?;
/// # Ok::<(), tracer_sdk::GuardrailExceeded>(())
/// ```
pub fn state<T: Serialize + ?Sized>(state: &T) -> StateUpdate {
    let mut span = Slot::begin(EventType::StateUpdate, span_names::STATE);
    if let Some(mut span) = span.edit() {
        span.json_event(events::STATE, EventTime::End, event_keys::STATE, state);
    }
    StateUpdate { span }
}

/// A state update that is being described.
///
/// ```
/// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
/// use serde_json::json;
/// use tracer_sdk::format::EventType;
///
/// let run = recorded(|| {
///     tracer_sdk::state(&json!({"phase": "answer"})).diff(&json!({"phase": ["triage", "answer"]})).record()
/// });
/// assert_eq!(run.records()[1].event_type(), EventType::StateUpdate);
/// ```
#[must_use = "call `.record()?` to write it"]
#[derive(Debug)]
pub struct StateUpdate {
    span: Slot,
}

impl StateUpdate {
    /// What changed since the last state.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use serde_json::json;
    ///
    /// let run = recorded(|| tracer_sdk::state(&json!({"tries": 2})).diff(&json!({"tries": 1})).record());
    /// assert_eq!(run.spans[0].events[0].attributes["diff"], r#"{"tries":1}"#);
    /// ```
    pub fn diff<T: Serialize + ?Sized>(mut self, diff: &T) -> Self {
        if let Some(mut span) = self.span.edit() {
            span.more_json(event_keys::DIFF, diff);
        }
        self
    }

    /// Attaches metadata of your own, an object; it comes back as `meta` of the projected record.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use serde_json::json;
    ///
    /// let run = recorded(|| tracer_sdk::state(&json!({"tries": 2})).meta(&json!({"step": 7})).record());
    /// assert_eq!(run.records()[1].meta["step"], 7);
    /// ```
    pub fn meta<T: Serialize + ?Sized>(mut self, value: &T) -> Self {
        if let Some(mut span) = self.span.edit() {
            span.meta(value);
        }
        self
    }

    /// Writes the state.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// let run = recorded(|| tracer_sdk::state("triage").record());
    /// assert_eq!(run.spans[0].events[0].attributes["state"], r#""triage""#);
    /// ```
    ///
    /// # Errors
    ///
    /// [`GuardrailExceeded`] when the run has crossed one of its limits; the state is written all the same.
    #[inline]
    pub fn record(mut self) -> Result<(), GuardrailExceeded> {
        self.span.take().map_or(Ok(()), OpenSpan::record)
    }
}
