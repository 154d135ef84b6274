//! Projected records: the flat, typed view of a run that lists, exports, gates and pages are made from
//! (specification, *Projected event record* and *Payloads*; decisions, section 3).

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::{Map, Number, Value};

use super::names::{Name, USAGE_COUNTS};
use super::{Counts, Outcome, RecordedStatus, Timestamp, TraceId};

words! {
    /// Type of a record (specification, *Event types*).
    ///
    /// ```
    /// use tracer_sdk::format::EventType;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let types: Vec<EventType> = run.records.iter().map(|record| record.event_type()).collect();
    /// assert_eq!(types, [EventType::RunStart, EventType::ToolCall, EventType::RunEnd]);
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "SCREAMING_SNAKE_CASE")]
    pub enum EventType in tracer_sdk::format {
        /// The run started.
        RunStart = "RUN_START",
        /// The run ended.
        RunEnd = "RUN_END",
        /// One invocation of a model.
        LlmCall = "LLM_CALL",
        /// One invocation of a tool.
        ToolCall = "TOOL_CALL",
        /// A snapshot of the agent's state.
        StateUpdate = "STATE_UPDATE",
        /// A captured error.
        Error = "ERROR",
        /// A repeated pattern in recent records.
        LoopWarning = "LOOP_WARNING",
        /// A span that is none of these: an agent, a workflow, a structural span.
        Unknown = "UNKNOWN",
    }
}

impl Counts {
    /// The counts of a run by its number of records of each type.
    #[must_use]
    pub fn of_types(records: &BTreeMap<EventType, u64>) -> Self {
        let count = |event_type| records.get(&event_type).copied().unwrap_or(0);
        Self {
            llm_calls: count(EventType::LlmCall),
            tool_calls: count(EventType::ToolCall),
            errors: count(EventType::Error),
            loop_warnings: count(EventType::LoopWarning),
        }
    }

    /// Counts a record of this type, if its type is counted.
    pub fn count(&mut self, event_type: EventType) {
        match event_type {
            EventType::LlmCall => self.llm_calls += 1,
            EventType::ToolCall => self.tool_calls += 1,
            EventType::Error => self.errors += 1,
            EventType::LoopWarning => self.loop_warnings += 1,
            EventType::RunStart | EventType::RunEnd | EventType::StateUpdate | EventType::Unknown => {}
        }
    }
}

/// One projected record, with its keys in the order of the specification.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let record = &run.records[1];
/// assert_eq!((record.name.as_str(), record.run_id), ("search", run.meta.trace_id));
/// assert_eq!(serde_json::to_value(record)?["event_type"], "TOOL_CALL");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// The span's ID; `<root>.<n>` for what is surfaced from the root; `<root>.end` for the end of the run.
    pub event_id: String,
    /// The run.
    pub run_id: TraceId,
    /// The parent span's ID; the root's for what is surfaced from it; `None` for `RUN_START` and `RUN_END`.
    pub parent_id: Option<String>,
    /// When, as the file has it.
    pub ts: String,
    /// Duration, in milliseconds; `None` for a record without one.
    pub duration_ms: Option<u64>,
    /// When its span ended, to the microsecond; `None` for what has no end. No part of the JSON.
    pub end: Option<Timestamp>,
    /// The span's name as stored.
    pub name: String,
    /// Type-specific content.
    pub payload: Payload,
    /// The user's own metadata.
    pub meta: Map<String, Value>,
    /// Further marks of its span, if any; no part of the JSON.
    pub marks: Option<Box<OtherMarks>>,
}

/// Marks of a span in addition to the type of its record. The projection gives each span one type; a gate, which must
/// not be deceived by the spelling of a call, checks the other marks, too.
///
/// ```
/// use tracer_sdk::format::OtherMarks;
///
/// // A model call whose span names a tool.
/// let marks = OtherMarks { tools: vec!["admin_delete".to_owned()], ..OtherMarks::default() };
/// assert_ne!(marks, OtherMarks::default());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct OtherMarks {
    /// Tools that the span names, other than that of the payload: in an attribute, or in a name of the form
    /// `execute_tool NAME`.
    pub tools: Vec<String>,
    /// The tokens that the span of a tool call reports, when it also names a model or reports tokens.
    pub usage: Option<Usage>,
    /// `true` when a model call was answered from a recording, which cost nothing.
    pub is_replayed: bool,
    /// `true` when no result was seen, so that the outcome is unknown.
    pub is_unknown: bool,
    /// `true` when it waits for a person; its outcome is unknown then.
    pub is_waiting: bool,
    /// Request to a model that is no model call: embeddings, a ranking, a transcript, an image.
    pub service: Option<ServiceCall>,
    /// `true` when it is no step of its own: it repeats a call, or was there for calls that turned out to be elsewhere.
    pub is_leftover: bool,
}

/// Request to a model that is no model call, such as embeddings: its record has no type, and it is not free.
///
/// ```
/// use tracer_sdk::Usage;
/// use tracer_sdk::format::ServiceCall;
///
/// let service = ServiceCall { usage: Usage::new(8, 0), ..ServiceCall::default() };
/// assert_eq!(service.usage.total_tokens, Some(8));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceCall {
    /// The model that was asked.
    pub model: String,
    /// Provider of the model.
    pub provider: String,
    /// The model that answered, where that is known.
    pub response_model: Option<String>,
    /// Its tokens.
    pub usage: Usage,
}

/// The key of a record's `meta` that holds the question that a run or an agent was given.
pub(crate) const QUESTION: &str = "question";
/// The key of the answer that it gave.
pub(crate) const ANSWER: &str = "answer";

impl Record {
    /// The tokens of a model call, or of what was asked of a model that is none: they count in the totals of a run.
    ///
    /// ```
    /// use tracer_sdk::Usage;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-4o").usage(Usage::new(8, 2)).record());
    /// assert_eq!(run.records[1].usage(), Some(&Usage::new(8, 2)));
    /// assert_eq!(run.records[0].usage(), None);
    /// ```
    #[must_use]
    pub fn usage(&self) -> Option<&Usage> {
        match &self.payload {
            Payload::LlmCall { usage, .. } => Some(usage),
            _ => Some(&self.marks.as_ref()?.service.as_ref()?.usage),
        }
    }

    /// The question that a run or an agent was given, where its program says: at the start of the run, and at the agent's span.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// #[tracer_sdk::trace(agent, "coder", args(task), result)]
    /// fn code(task: &str) -> String {
    ///     task.replace("Mend", "Mended")
    /// }
    ///
    /// let run = capture(|| code("Mend the test"));
    /// let coder = &run.records[1];
    /// assert_eq!(coder.question(), Some(&"Mend the test".into()));
    /// assert_eq!(coder.answer(), Some(&"Mended the test".into()));
    /// ```
    #[must_use]
    pub fn question(&self) -> Option<&Value> {
        self.said(QUESTION)
    }

    /// The answer that it gave: see [`question`](Self::question).
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-4o").response("42").record());
    /// assert_eq!(run.records[1].answer(), None); // a model's is in the payload
    /// ```
    #[must_use]
    pub fn answer(&self) -> Option<&Value> {
        self.said(ANSWER)
    }

    fn said(&self, key: &str) -> Option<&Value> {
        let is_of_agent = matches!(self.payload, Payload::RunStart { .. } | Payload::Unknown { .. });
        self.meta.get(key).filter(|_| is_of_agent)
    }

    /// Returns whether the call was answered from a recording, which cost nothing.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::llm_call("gpt-4o").record());
    /// assert!(!run.records[1].is_replayed());
    /// ```
    #[must_use]
    pub fn is_replayed(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.is_replayed)
    }

    /// Outcome of the recorded step; `Ok` for a record that has no end of its own.
    ///
    /// ```
    /// use tracer_sdk::format::Outcome;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// assert_eq!(run.records[1].outcome(), Outcome::Ok);
    /// ```
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match &self.payload {
            Payload::Error(error) if super::error_type::is_wait(&error.error_type) => Outcome::Unknown,
            Payload::Error(error) if super::error_type::is_hand_over(&error.error_type) => Outcome::Ok,
            Payload::Error(error) => Outcome::from_error_type(&error.error_type),
            Payload::LlmCall { status, error, .. }
            | Payload::ToolCall { status, error, .. }
            | Payload::Unknown { status, error, .. }
                if *status == RecordedStatus::Error =>
            {
                let error = error.as_ref().map(|error| error.error_type.as_str());
                Outcome::from_error_type(error.unwrap_or_default())
            }
            _ if self.marks.as_ref().is_some_and(|marks| marks.is_unknown) => Outcome::Unknown,
            _ => Outcome::Ok,
        }
    }

    /// Returns whether it waits for a person.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("approve").record());
    /// assert!(!run.records[1].is_waiting());
    /// ```
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.is_waiting)
    }

    /// Returns whether it is no step: the span of a record that another reporter of the same call wrote, or that held
    /// calls which turned out to be elsewhere. It counts nowhere, and is shown with the call.
    ///
    /// ```
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// assert!(!run.records[1].is_leftover());
    /// ```
    #[must_use]
    pub fn is_leftover(&self) -> bool {
        self.marks.as_ref().is_some_and(|marks| marks.is_leftover)
    }

    /// Type of the record.
    ///
    /// ```
    /// use tracer_sdk::format::EventType;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::state("triage").record());
    /// assert_eq!(run.records[1].event_type(), EventType::StateUpdate);
    /// ```
    #[must_use]
    pub const fn event_type(&self) -> EventType {
        self.payload.event_type()
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut record = serializer.serialize_struct("Record", 10)?;
        record.serialize_field("spec_version", super::SPEC_VERSION)?;
        record.serialize_field("event_id", &self.event_id)?;
        record.serialize_field("run_id", &self.run_id)?;
        record.serialize_field("parent_id", &self.parent_id)?;
        record.serialize_field("event_type", &self.event_type())?;
        record.serialize_field("ts", &self.ts)?;
        record.serialize_field("duration_ms", &self.duration_ms)?;
        record.serialize_field("name", &self.name)?;
        record.serialize_field("payload", &self.payload)?;
        record.serialize_field("meta", &self.meta)?;
        record.end()
    }
}

/// The payload of a record, one shape per event type (specification, *Payloads*).
///
/// Values typed "object, string or null" are [`Value`]s that are never anything else.
///
/// ```
/// use tracer_sdk::format::Payload;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::llm_call("gpt-5").response("Because.").record());
/// let Payload::LlmCall { model, response, .. } = &run.records[1].payload else {
///     panic!("not a model call")
/// };
/// assert_eq!((model.as_str(), response), ("gpt-5", &"Because.".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[expect(clippy::large_enum_variant, reason = "nearly all records of a run are calls")]
#[serde(untagged)]
pub enum Payload {
    /// `RUN_START`.
    RunStart {
        /// The run's label.
        run_name: Option<String>,
        /// Compiler or interpreter of the program.
        python_version: Option<String>,
        /// `darwin`, `linux` or `win32`.
        platform: Option<String>,
        /// The working directory.
        cwd: Option<String>,
        /// The program's arguments, secrets redacted.
        argv: Vec<String>,
    },
    /// `RUN_END`.
    RunEnd {
        /// `ok` or `error`.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::outcome"))]
        status: RecordedStatus,
    },
    /// `LLM_CALL`.
    LlmCall {
        /// The model that was asked.
        model: String,
        /// Prompt: an object, a string or null.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::content"))]
        prompt: Value,
        /// Response: an object, a string or null.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::content"))]
        response: Value,
        /// Token usage.
        usage: Usage,
        /// Whose model it is.
        provider: String,
        /// The model that answered, where it is recorded; left out where it is not.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        response_model: Option<String>,
        /// The sampling temperature.
        temperature: Option<Number>,
        /// Why it stopped.
        stop_reason: Option<String>,
        /// `ok` or `error`.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::outcome"))]
        status: RecordedStatus,
        /// The error, when the status is `error`.
        error: Option<ErrorPayload>,
    },
    /// `TOOL_CALL`.
    ToolCall {
        /// The tool.
        tool_name: String,
        /// Arguments: an object, a string or null.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::content"))]
        args: Value,
        /// Result: an object, a string or null.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::content"))]
        result: Value,
        /// `ok` or `error`.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::outcome"))]
        status: RecordedStatus,
        /// The error, when the status is `error`.
        error: Option<ErrorPayload>,
    },
    /// `STATE_UPDATE`.
    StateUpdate {
        /// The state: an object, a string or null.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::content"))]
        state: Value,
        /// Changes: an object, a string or null; left out when they were not computed.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::content"))]
        diff: Option<Value>,
    },
    /// `ERROR`.
    Error(ErrorPayload),
    /// `LOOP_WARNING`.
    LoopWarning {
        /// The repeated block, joined by ` -> `.
        pattern: String,
        /// `repeated_call` or `cycle`; absent in legacy runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "String"))]
        pattern_type: Option<String>,
        /// Length of the block, in signatures; absent in legacy runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", schemars(with = "u64"))]
        pattern_length: Option<u64>,
        /// Number of repetitions of the block.
        repetitions: u64,
        /// Size of the window, in records.
        window_size: u64,
        /// The records that make up the evidence.
        evidence_event_ids: Vec<String>,
    },
    /// `UNKNOWN`: the specification leaves this payload open; ours tells what the span stored.
    Unknown {
        /// Everything that the emitter put on the span.
        attributes: Map<String, Value>,
        /// `ok` or `error`.
        #[cfg_attr(feature = "schema", schemars(schema_with = "super::schema::outcome"))]
        status: RecordedStatus,
        /// The error, when the status is `error`.
        error: Option<ErrorPayload>,
    },
}

impl Payload {
    /// The event type that has this payload.
    ///
    /// ```
    /// use tracer_sdk::format::{EventType, Payload, RecordedStatus};
    ///
    /// let payload = Payload::RunEnd { status: RecordedStatus::Ok };
    /// assert_eq!(payload.event_type(), EventType::RunEnd);
    /// ```
    #[must_use]
    pub const fn event_type(&self) -> EventType {
        match self {
            Self::RunStart { .. } => EventType::RunStart,
            Self::RunEnd { .. } => EventType::RunEnd,
            Self::LlmCall { .. } => EventType::LlmCall,
            Self::ToolCall { .. } => EventType::ToolCall,
            Self::StateUpdate { .. } => EventType::StateUpdate,
            Self::Error(_) => EventType::Error,
            Self::LoopWarning { .. } => EventType::LoopWarning,
            Self::Unknown { .. } => EventType::Unknown,
        }
    }
}

/// An error: the payload of `ERROR` and of the `error` in a failed call. The key is `error_type`, never `type`.
///
/// ```
/// use tracer_sdk::format::{EventType, Payload};
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::record_error(&"x".parse::<u8>().unwrap_err()));
/// let Payload::Error(error) = &run.records[1].payload else { panic!("not an error") };
/// assert_eq!(error.error_type, "ParseIntError");
/// assert_eq!(error.message, "invalid digit found in string");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorPayload {
    /// The error's class: `ParseIntError`, `GuardrailExceeded`, `panic`, …
    pub error_type: String,
    /// Error message.
    pub message: String,
    /// Stack trace.
    pub stack: Option<String>,
}

words! {
    /// Charge for a model call that its counts do not include.
    ///
    /// ```
    /// use tracer_sdk::format::UsageGap;
    ///
    /// assert!(UsageGap::Parts < UsageGap::ServiceTier); // of two, the greater one holds
    /// ```
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(rename_all = "snake_case")]
    pub enum UsageGap in tracer_sdk::format {
        /// An additional charge: the provider reported a number that is not understood, or that has no count here. The
        /// call costs at least what its counts do.
        Parts = "parts",
        /// Other prices than the usual ones: those of a batch, of flexible or of preferred service.
        ServiceTier = "service_tier",
    }
}

/// The tokens of a model call; each is `None` when the emitter did not know it.
///
/// ```
/// use tracer_sdk::Usage;
///
/// let mut usage = Usage::default();
/// usage.total_tokens = Some(42); // the provider reports nothing else
/// assert_eq!(usage.prompt_tokens, None);
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Usage {
    /// Tokens of the prompt, those that the provider had cached included.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer, those of reasoning included.
    pub completion_tokens: Option<u64>,
    /// All tokens of the call.
    pub total_tokens: Option<u64>,
    /// Tokens of the prompt that the provider read from its cache; left out of JSON where they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub cache_read_tokens: Option<u64>,
    /// Tokens of the prompt that the provider wrote to its cache; left out of JSON where they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub cache_write_tokens: Option<u64>,
    /// Tokens of the answer that the model used for reasoning; left out of JSON where they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub reasoning_tokens: Option<u64>,
    /// Tokens of the prompt that the provider wrote to its cache for an hour; they are among those that it wrote.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub cache_write_1h_tokens: Option<u64>,
    /// Tokens of sound in the prompt that the provider read from its cache; they are among those of sound and those that it
    /// read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub cache_read_audio_tokens: Option<u64>,
    /// Tokens of the prompt that are sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub input_audio_tokens: Option<u64>,
    /// Tokens of the prompt that are images.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub input_image_tokens: Option<u64>,
    /// Tokens of the prompt that are video.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub input_video_tokens: Option<u64>,
    /// Tokens of the answer that are sound.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub output_audio_tokens: Option<u64>,
    /// Tokens of the answer that are images.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub output_image_tokens: Option<u64>,
    /// Tokens of the answer that are video.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub output_video_tokens: Option<u64>,
    /// Web searches that the provider made for the answer and charges in addition to its tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "u64"))]
    pub web_searches: Option<u64>,
    /// Charge for the call that these counts do not include, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(with = "UsageGap"))]
    pub gap: Option<UsageGap>,
}

impl Usage {
    /// The usage of a call whose prompt and answer are known.
    ///
    /// ```
    /// use tracer_sdk::Usage;
    ///
    /// assert_eq!(Usage::new(12, 30).total_tokens, Some(42));
    /// ```
    #[must_use]
    pub const fn new(prompt_tokens: u64, completion_tokens: u64) -> Self {
        Self {
            prompt_tokens: Some(prompt_tokens),
            completion_tokens: Some(completion_tokens),
            total_tokens: Some(prompt_tokens.saturating_add(completion_tokens)),
            ..Self::NONE
        }
    }

    /// Nothing is known.
    const NONE: Self = Self::from_parts([None; Self::PARTS]);

    /// Number of counts.
    pub const PARTS: usize = 15;

    /// The counts, in the order of the fields.
    pub const fn parts(&self) -> [Option<u64>; Self::PARTS] {
        [
            self.prompt_tokens,
            self.completion_tokens,
            self.total_tokens,
            self.cache_read_tokens,
            self.cache_write_tokens,
            self.reasoning_tokens,
            self.cache_write_1h_tokens,
            self.cache_read_audio_tokens,
            self.input_audio_tokens,
            self.input_image_tokens,
            self.input_video_tokens,
            self.output_audio_tokens,
            self.output_image_tokens,
            self.output_video_tokens,
            self.web_searches,
        ]
    }

    /// The usage with these counts, in the order of the fields.
    pub const fn from_parts(parts: [Option<u64>; Self::PARTS]) -> Self {
        let [
            prompt_tokens,
            completion_tokens,
            total_tokens,
            cache_read_tokens,
            cache_write_tokens,
            reasoning_tokens,
            cache_write_1h_tokens,
            cache_read_audio_tokens,
            input_audio_tokens,
            input_image_tokens,
            input_video_tokens,
            output_audio_tokens,
            output_image_tokens,
            output_video_tokens,
            web_searches,
        ] = parts;
        Self {
            prompt_tokens,
            completion_tokens,
            total_tokens,
            cache_read_tokens,
            cache_write_tokens,
            reasoning_tokens,
            cache_write_1h_tokens,
            cache_read_audio_tokens,
            input_audio_tokens,
            input_image_tokens,
            input_video_tokens,
            output_audio_tokens,
            output_image_tokens,
            output_video_tokens,
            web_searches,
            gap: None,
        }
    }

    /// The counts that are known, each with the attribute that holds it.
    ///
    /// ```
    /// use tracer_sdk::Usage;
    ///
    /// let counts = Usage::new(12, 30).attributes().map(|(name, tokens)| (name.written(), tokens));
    /// assert_eq!(counts.last(), Some(("gen_ai.usage.total_tokens", 42)));
    /// ```
    pub fn attributes(&self) -> impl Iterator<Item = (Name, u64)> + use<> {
        let counts = USAGE_COUNTS.into_iter().zip(self.parts());
        counts.filter_map(|(name, tokens)| Some((name, tokens?)))
    }

    /// Adds the known token counts of another call; of a sum a gap is not known.
    ///
    /// ```
    /// use tracer_sdk::Usage;
    ///
    /// let mut sum = Usage::new(12, u64::MAX);
    /// sum.add(&Usage::new(1, 1).cache_read(1));
    /// assert_eq!((sum.prompt_tokens, sum.cache_read_tokens), (Some(13), Some(1)));
    /// assert_eq!(sum.completion_tokens, Some(u64::MAX)); // a sum saturates
    /// ```
    pub fn add(&mut self, other: &Self) {
        let mut sums = self.parts();
        for (sum, part) in sums.iter_mut().zip(other.parts()) {
            if let Some(part) = part {
                *sum = Some(sum.unwrap_or(0).saturating_add(part));
            }
        }
        *self = Self::from_parts(sums);
    }

    /// Sets the tokens of the prompt that the provider read from its cache; they are among the prompt's.
    ///
    /// ```
    /// use tracer_sdk::Usage;
    ///
    /// let usage = Usage::new(12, 30).cache_read(8);
    /// assert_eq!((usage.cache_read_tokens, usage.total_tokens), (Some(8), Some(42)));
    /// ```
    #[must_use]
    pub const fn cache_read(mut self, tokens: u64) -> Self {
        self.cache_read_tokens = Some(tokens);
        self
    }

    /// Sets the tokens of the prompt that the provider wrote to its cache; they are among the prompt's.
    ///
    /// ```
    /// use tracer_sdk::Usage;
    ///
    /// assert_eq!(Usage::new(12, 30).cache_write(4).cache_write_tokens, Some(4));
    /// ```
    #[must_use]
    pub const fn cache_write(mut self, tokens: u64) -> Self {
        self.cache_write_tokens = Some(tokens);
        self
    }

    /// Sets the tokens of the answer that the model used for reasoning; they are among the answer's.
    ///
    /// ```
    /// use tracer_sdk::Usage;
    ///
    /// assert_eq!(Usage::new(12, 30).reasoning(20).reasoning_tokens, Some(20));
    /// ```
    #[must_use]
    pub const fn reasoning(mut self, tokens: u64) -> Self {
        self.reasoning_tokens = Some(tokens);
        self
    }
}
