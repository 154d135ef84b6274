//! The model and tool calls of a run in little memory: a run may have a million.

use std::io::Write as _;

use indexmap::IndexSet;
use serde::Serialize;

use crate::digest::{fingerprint, write_canonical};
use tracer_sdk::format::{EventType, Payload, Record, RecordedStatus, SpanId};

/// The model and tool calls of one run, in order.
///
/// ```
/// use tracer_insight::comparison::CallList;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let calls = CallList::of(&run.records);
/// assert_eq!(calls.get(0).unwrap().name, "search");
/// assert_eq!((calls.len(), calls.get(0).unwrap().step), (1, Some(1)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct CallList {
    calls: Vec<StoredCall>,
    names: IndexSet<String>,
    /// Steps seen so far: records without `RUN_START` and `RUN_END`.
    steps: u32,
}

#[derive(Debug, Clone, Copy)]
struct StoredCall {
    step: Option<u32>,
    name: u32,
    is_model_call: bool,
    is_failed: bool,
    span_id: Option<SpanId>,
    /// `None` when the arguments or prompt of the call are not known.
    fingerprint: Option<u64>,
}

/// One call of a run.
///
/// ```
/// use tracer_insight::comparison::CallList;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").fail("no index").record());
/// assert!(CallList::of(&run.records).get(0).unwrap().is_failed);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Call<'a> {
    /// Its step in the run, from 1; null where only a baseline knows it and that knows no steps.
    pub step: Option<u32>,
    /// Its record, which is its span; null in a baseline.
    pub event_id: Option<SpanId>,
    /// `LLM_CALL` or `TOOL_CALL`.
    pub event_type: EventType,
    /// The model or the tool.
    pub name: &'a str,
    /// `true` when the call failed; `false` where a baseline does not know.
    pub is_failed: bool,
    /// Tells calls with other arguments apart; null when they are not known.
    #[serde(serialize_with = "hex")]
    #[schemars(schema_with = "crate::schema::fingerprint")]
    pub fingerprint: Option<u64>,
}

#[expect(clippy::ref_option, reason = "serde gives the field so")]
fn hex<S: serde::Serializer>(fingerprint: &Option<u64>, serializer: S) -> Result<S::Ok, S::Error> {
    fingerprint
        .map(|value| format!("{value:016x}"))
        .serialize(serializer)
}

impl Call<'_> {
    /// Returns whether one of two calls failed and the other did not. A baseline knows the ends of its calls as little
    /// as their records.
    pub(crate) fn ends_otherwise(&self, other: &Self) -> bool {
        self.event_id.is_some() && other.event_id.is_some() && self.is_failed != other.is_failed
    }
}

impl CallList {
    /// The calls among these records.
    ///
    /// ```
    /// use tracer_insight::comparison::CallList;
    ///
    /// assert!(CallList::of(&[]).is_empty());
    /// ```
    #[must_use]
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let mut calls = Self::default();
        records.into_iter().for_each(|record| calls.push(record));
        calls
    }

    /// Calls known by name only, each with its step where that is known; an empty name is not known.
    pub(crate) fn of_names<'a>(names: impl IntoIterator<Item = (EventType, &'a str, Option<u32>)>) -> Self {
        let mut calls = Self::default();
        for (event_type, name, step) in names {
            let name = calls.number_of(name);
            calls.calls.push(StoredCall {
                step,
                name,
                is_model_call: event_type == EventType::LlmCall,
                is_failed: false,
                span_id: None,
                fingerprint: None,
            });
        }
        calls
    }

    /// Only the tool calls.
    pub(crate) fn tools(&self) -> Self {
        let mut tools = self.clone();
        tools.calls.retain(|call| !call.is_model_call);
        tools
    }

    /// Takes the next record of the run.
    pub(crate) fn push(&mut self, record: &Record) {
        let is_of_run = matches!(record.event_type(), EventType::RunStart | EventType::RunEnd);
        if is_of_run || record.is_leftover() {
            return;
        }
        self.steps = self.steps.saturating_add(1);
        let (name, asked, status, is_model_call) = match &record.payload {
            Payload::LlmCall {
                model,
                prompt,
                status,
                ..
            } => (model, prompt, status, true),
            Payload::ToolCall {
                tool_name,
                args,
                status,
                ..
            } => (tool_name, args, status, false),
            _ => return,
        };
        // A tool without arguments is always asked the same; of a model call without a prompt nothing is known.
        let is_known = !(is_model_call && asked.is_null());
        let fingerprint = is_known.then(|| {
            fingerprint(|hashing| {
                // Writing to a hash cannot fail, and neither can making JSON of a `Value`.
                let _ = write!(hashing, "{is_model_call}\0{name}\0");
                let _ = write_canonical(asked, hashing);
            })
        });
        let name = self.number_of(name);
        self.calls.push(StoredCall {
            step: Some(self.steps),
            name,
            is_model_call,
            is_failed: *status == RecordedStatus::Error,
            span_id: record.event_id.parse().ok(),
            fingerprint,
        });
    }

    /// Number of calls.
    ///
    /// ```
    /// assert_eq!(tracer_insight::comparison::CallList::default().len(), 0);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns whether there is no call.
    ///
    /// ```
    /// assert!(tracer_insight::comparison::CallList::default().is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// The call with a number, from 0; `None` behind the last one.
    ///
    /// ```
    /// assert_eq!(tracer_insight::comparison::CallList::default().get(0), None);
    /// ```
    #[must_use]
    pub fn get(&self, number: usize) -> Option<Call<'_>> {
        self.calls.get(number).map(|stored| self.call(*stored))
    }

    /// The calls, in order.
    ///
    /// ```
    /// use tracer_insight::comparison::CallList;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-5").record());
    /// assert_eq!(CallList::of(&run.records).iter().next().unwrap().name, "gpt-5");
    /// ```
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Call<'_>> + DoubleEndedIterator + Clone {
        self.calls.iter().map(|stored| self.call(*stored))
    }

    fn call(&self, stored: StoredCall) -> Call<'_> {
        Call {
            step: stored.step,
            event_id: stored.span_id,
            event_type: if stored.is_model_call {
                EventType::LlmCall
            } else {
                EventType::ToolCall
            },
            name: self
                .names
                .get_index(stored.name as usize)
                .map_or("", String::as_str),
            is_failed: stored.is_failed,
            fingerprint: stored.fingerprint,
        }
    }

    /// The number of a name.
    fn number_of(&mut self, name: &str) -> u32 {
        let known = self.names.get_index_of(name);
        let number = known.unwrap_or_else(|| self.names.insert_full(name.to_owned()).0);
        // A list of 2³² names would not fit into memory.
        u32::try_from(number).unwrap_or(u32::MAX)
    }
}
