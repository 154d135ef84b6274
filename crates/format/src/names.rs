//! The one table of attribute and span event names, used by the writing side and by the reading side.
//!
//! A [`Name`] lists every spelling that a reader understands, the one that we write first (decisions, sections 1
//! and 2). Our own keys exist under three namespaces: `tracer.` is ours, `maida.` and `agentdbg.` belong to emitters
//! of the same format in other languages. OpenTelemetry's own names come last.

use serde_json::{Map, Value};

/// A key with all its spellings, in the order in which a reader tries them.
///
/// ```
/// use tracer_sdk::format::names::TOOL_NAME;
///
/// assert_eq!(TOOL_NAME.written(), "tracer.tool_name");
/// assert!(TOOL_NAME.is("gen_ai.tool.name"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Name {
    spellings: &'static [&'static str],
}

impl Name {
    /// The spelling that this project writes.
    ///
    /// ```
    /// use tracer_sdk::format::names;
    ///
    /// assert_eq!(names::PROVIDER.written(), "gen_ai.system");
    /// ```
    #[must_use]
    pub const fn written(self) -> &'static str {
        self.spellings[0]
    }

    /// Every spelling that a reader understands, ours first.
    ///
    /// ```
    /// use tracer_sdk::format::names;
    ///
    /// assert_eq!(names::PROVIDER.spellings(), ["gen_ai.system", "gen_ai.provider.name"]);
    /// ```
    #[must_use]
    pub const fn spellings(self) -> &'static [&'static str] {
        self.spellings
    }

    /// Returns whether `text` is one of the spellings.
    ///
    /// ```
    /// use tracer_sdk::format::names;
    ///
    /// assert!(names::RUN_NAME.is("maida.run_name"));
    /// assert!(!names::RUN_NAME.is("run_name"));
    /// ```
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        self.spellings.contains(&text)
    }

    /// The value under the first spelling that is present.
    ///
    /// ```
    /// use tracer_sdk::format::names;
    ///
    /// let attributes = serde_json::json!({"maida.tool_name": "search"});
    /// let attributes = attributes.as_object().unwrap();
    /// assert_eq!(names::TOOL_NAME.find(attributes).unwrap(), "search");
    /// ```
    #[must_use]
    pub fn find(self, attributes: &Map<String, Value>) -> Option<&Value> {
        self.spellings
            .iter()
            .find_map(|spelling| attributes.get(*spelling))
    }
}

impl From<Name> for String {
    /// The spelling that this project writes.
    fn from(name: Name) -> Self {
        name.written().to_owned()
    }
}

/// Returns whether an attribute key belongs to the format itself or decides the type of a span, so that a user's own
/// attribute must not take it.
///
/// ```
/// use tracer_sdk::format::names::is_reserved;
///
/// assert!(is_reserved("tracer.status"));
/// assert!(!is_reserved("customer.id"));
/// ```
#[must_use]
pub fn is_reserved(key: &str) -> bool {
    is_own(key)
        || key.starts_with("exception.")
        || [OPERATION, PROVIDER, TOOL_NAME].iter().any(|name| name.is(key))
}

/// Returns whether a key is one of the format itself.
pub fn is_own(key: &str) -> bool {
    const PREFIXES: [&str; NAMESPACES] = ["tracer.", "maida.", "agentdbg."];
    PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Key prefixes of a run's tags; the first one is the spelling that this project writes.
///
/// ```
/// assert_eq!(tracer_sdk::format::names::TAG_PREFIXES[0], "tracer.tag.");
/// ```
pub const TAG_PREFIXES: [&str; 3] = ["tracer.tag.", "maida.tag.", "agentdbg.tag."];

/// The key of the tag that an attribute holds.
///
/// ```
/// use tracer_sdk::format::names::tag_key;
///
/// assert_eq!(tag_key("tracer.tag.commit"), Some("commit"));
/// assert_eq!(tag_key("tracer.run_name"), None);
/// ```
#[must_use]
pub fn tag_key(attribute: &str) -> Option<&str> {
    let key = TAG_PREFIXES
        .iter()
        .find_map(|prefix| attribute.strip_prefix(prefix))?;
    (!key.is_empty()).then_some(key)
}

/// The attributes that name the conversation of a run, the most certain first.
pub const SESSION: [&str; 8] = [
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "langsmith.trace.session_id",
    "langsmith.metadata.thread_id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "thread_id",
];

macro_rules! name {
    ($($spelling:literal),+) => { Name { spellings: &[$($spelling),+] } };
}

/// Number of namespaces of the format's keys; their spellings come first.
pub(crate) const NAMESPACES: usize = 3;

/// A key of the format itself, under each namespace, then whatever OpenTelemetry calls it.
macro_rules! namespaced {
    ($key:literal $(, $other:literal)*) => {
        Name {
            spellings: &[
                concat!("tracer.", $key),
                concat!("maida.", $key),
                concat!("agentdbg.", $key),
                $($other),*
            ],
        }
    };
}

// The root span.
/// The run's name.
pub const RUN_NAME: Name = namespaced!("run_name");
/// Compiler or interpreter of the program: `rustc 1.95.0` for ours.
pub const PYTHON_VERSION: Name = namespaced!("python_version");
/// `darwin`, `linux` or `win32`.
pub const PLATFORM: Name = namespaced!("platform");
/// The working directory when the run started.
pub const WORKING_DIRECTORY: Name = namespaced!("cwd");
/// The program's arguments, as JSON text of an array.
pub const ARGUMENTS: Name = namespaced!("argv");
/// Number of model calls of the run.
pub const LLM_CALLS: Name = namespaced!("llm_calls");
/// Number of tool calls of the run.
pub const TOOL_CALLS: Name = namespaced!("tool_calls");
/// Number of errors of the run.
pub const ERRORS: Name = namespaced!("errors");
/// Number of loop warnings of the run.
pub const LOOP_WARNINGS: Name = namespaced!("loop_warnings");

// Any span.
/// `ok` or `error`.
pub const STATUS: Name = namespaced!("status");
/// The user's own metadata: JSON text of an object.
pub const META: Name = namespaced!("meta");
/// Names the event type of a span that its other attributes do not give.
pub const EVENT_TYPE: Name = namespaced!("event_type");
/// The error's class.
pub const ERROR_TYPE: Name = namespaced!("error_type", "exception.type");
/// The error's message.
pub const ERROR_MESSAGE: Name = namespaced!("error_message", "exception.message");
/// The error's class, as OpenTelemetry stores it.
pub const SENT_ERROR_TYPE: Name = name!("error.type");
/// Stack trace of the error.
pub const ERROR_STACK: Name = namespaced!("error_stack", "exception.stacktrace");
/// The context was inferred: the thread had none, and one run was live.
pub const CONTEXT: Name = namespaced!("context");

/// Reporter of the span: the module of the library that opened it.
pub const SCOPE: Name = name!("otel.scope.name");
/// A layer of this process recorded the span.
pub const LAYER: Name = namespaced!("layer");
/// Fields of the span that were inferred and not reported by its emitter, separated by commas: `error`.
pub const INFERRED: Name = namespaced!("inferred");
/// `arguments` where those of a tool were joined from another span of the run; the name of the event where a span was
/// joined with a log record.
pub const JOINED: Name = namespaced!("joined");
/// Observer of a call, where that is not the program itself: `proxy`.
pub const SOURCE: Name = namespaced!("source");
/// The span was made of a log record: the record's event name without its agent.
pub const FROM_LOG: Name = namespaced!("from_log");
/// A tool call that follows from an answer and the next request: its execution was not observed.
pub const DERIVED: Name = namespaced!("derived");
/// A model call that a recorded answer answered, so that it cost nothing.
pub const REPLAYED: Name = namespaced!("replayed");
/// The model that the client of a proxy asked, where the proxy asked another one.
pub const CLIENT_MODEL: Name = namespaced!("client_model");
/// Which conversation of the program a call on the wire belongs to, from 1.
pub const THREAD: Name = namespaced!("thread");
/// Index of the model call among those stored with the run, from 1: the argument of `tracer fork --at`.
pub const CALL_NUMBER: Name = namespaced!("call_number");
/// The span of the failed request that a model call tries again.
pub const RETRY_OF: Name = namespaced!("retry_of");
/// The ID that the provider gave the request of a model call, where it is not that of the answer.
pub const REQUEST_ID: Name = namespaced!("request_id");
/// The span repeats a call: the span that has the call's tokens.
pub const SAME_CALL: Name = namespaced!("same_call");
/// The spans that this one follows from: JSON text of an array of span IDs.
pub const FOLLOWS_FROM: Name = namespaced!("follows_from");

/// The span replaces one that could not be written and that others name as their parent.
pub const LOST: Name = namespaced!("lost");
/// The span ended, or was recorded, after its run had ended (decisions, section 5).
pub const AFTER_END: Name = namespaced!("after_end");
/// The span replaces one that had not ended when its run did and that others name as their parent.
pub const UNFINISHED: Name = namespaced!("unfinished");
/// Number of timed spans that had not ended when the run did.
pub const UNFINISHED_SPANS: Name = namespaced!("unfinished_spans");
/// The unfinished spans: JSON text of an array.
pub const UNFINISHED_LIST: Name = namespaced!("unfinished_list");
/// Number of attributes of a span that were left out, so that its line is not too long.
pub const LEFT_OUT: Name = namespaced!("left_out_attributes");
/// The root was made by the receiver: the trace has none, or several (capture, section 2).
pub const SYNTHETIC: Name = namespaced!("synthetic");
/// The span's parent never came, or was one of several roots: it was put under the root.
pub const ORPHAN: Name = namespaced!("orphan");
/// The span became the root though another process, which never sent it, has its parent.
pub const ADOPTED: Name = namespaced!("adopted");
/// The parent that a span was sent with, where it was put under another one.
pub const SOURCE_PARENT: Name = namespaced!("source_parent_span_id");
/// The spans that were put into this one: JSON text of an array of their IDs, so that they are known when they come again.
pub const JOINED_SPANS: Name = namespaced!("joined_spans");
/// The trace that a span was sent in, where its run has another ID.
pub const SOURCE_TRACE: Name = namespaced!("source_trace_id");
/// Number of spans lost by a process that worked for another one's run.
pub const DROPPED_SPANS: Name = namespaced!("dropped_spans");
/// Why it lost the first of them.
pub const DROPPED_REASON: Name = namespaced!("dropped_reason");

// A guardrail's exception on the root span.
/// Which guardrail stopped the run.
pub const GUARDRAIL: Name = namespaced!("guardrail");
/// The limit that was set.
pub const THRESHOLD: Name = namespaced!("threshold");
/// The value that was reached.
pub const ACTUAL: Name = namespaced!("actual");
/// Number of model calls of unknown cost, which are missing from the cost that was reached.
pub const UNPRICED_CALLS: Name = namespaced!("unpriced_calls");

// A model call.
/// The provider: `openai`, `anthropic`, `local`, …
pub const PROVIDER: Name = name!("gen_ai.system", "gen_ai.provider.name");
/// Operation kind of the span: `chat`, `execute_tool`, …
pub const OPERATION: Name = name!("gen_ai.operation.name");
/// The model that was asked.
pub const REQUEST_MODEL: Name = name!("gen_ai.request.model");
/// The model that answered.
pub const RESPONSE_MODEL: Name = name!("gen_ai.response.model");
/// The ID that the provider gave the answer.
pub const RESPONSE_ID: Name = name!("gen_ai.response.id");
/// Tokens of the prompt, those that the provider had cached included.
pub const INPUT_TOKENS: Name = name!("gen_ai.usage.input_tokens");
/// Tokens of the answer, those of reasoning included.
pub const OUTPUT_TOKENS: Name = name!("gen_ai.usage.output_tokens");
/// All tokens of the call.
pub const TOTAL_TOKENS: Name = name!("gen_ai.usage.total_tokens");
/// Tokens of the prompt that the provider read from its cache.
pub const CACHE_READ_TOKENS: Name = name!("gen_ai.usage.cache_read.input_tokens");
/// Tokens of the prompt that the provider wrote to its cache.
pub const CACHE_WRITE_TOKENS: Name = name!(
    "gen_ai.usage.cache_write.input_tokens",
    "gen_ai.usage.cache_creation.input_tokens"
);
/// Tokens of the answer that the model used for reasoning.
pub const REASONING_TOKENS: Name = name!(
    "gen_ai.usage.reasoning.output_tokens",
    "gen_ai.usage.reasoning_tokens"
);
/// Tokens of the prompt that the provider wrote to its cache for an hour.
pub const CACHE_WRITE_1H_TOKENS: Name = namespaced!(
    "usage.cache_write_1h_tokens",
    "gen_ai.usage.cache_creation_1h.input_tokens",
    "anthropic.usage.cache_creation.ephemeral_1h_input_tokens"
);
/// Tokens of sound in the prompt that the provider read from its cache.
pub const CACHE_READ_AUDIO_TOKENS: Name = name!("gen_ai.usage.audio.cache_read.input_tokens");
/// Tokens of the prompt that are sound.
pub const INPUT_AUDIO_TOKENS: Name = name!(
    "gen_ai.usage.audio.input_tokens",
    "gen_ai.usage.input_audio_tokens"
);
/// Tokens of the prompt that are images.
pub const INPUT_IMAGE_TOKENS: Name = name!("gen_ai.usage.image.input_tokens");
/// Tokens of the prompt that are video.
pub const INPUT_VIDEO_TOKENS: Name = name!("gen_ai.usage.video.input_tokens");
/// Tokens of the answer that are sound.
pub const OUTPUT_AUDIO_TOKENS: Name = name!(
    "gen_ai.usage.audio.output_tokens",
    "gen_ai.usage.output_audio_tokens"
);
/// Tokens of the answer that are images.
pub const OUTPUT_IMAGE_TOKENS: Name = name!("gen_ai.usage.image.output_tokens");
/// Tokens of the answer that are video.
pub const OUTPUT_VIDEO_TOKENS: Name = name!("gen_ai.usage.video.output_tokens");
/// Searches of the web that the provider made for the answer.
pub const WEB_SEARCHES: Name = namespaced!("usage.web_searches");
/// Which numbers of the provider's usage have no count here, separated by commas: the call costs at least what the counts
/// do.
pub const USAGE_NOT_COUNTED: Name = namespaced!("usage.not_counted");
/// Decision on a tool call: `allow`, `deny`, `require_approval`.
pub const DECISION: Name = name!("gen_ai.tool.call.decision.outcome");
/// By which prices the provider served the call, where it says: `default`, `flex`, `priority`, …
pub const SERVICE_TIER: Name = namespaced!(
    "service_tier",
    "openai.response.service_tier",
    "gen_ai.openai.response.service_tier"
);
/// The counts of tokens that are stored, each with where a usage has it.
pub(crate) const USAGE_COUNTS: [Name; 15] = [
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    TOTAL_TOKENS,
    CACHE_READ_TOKENS,
    CACHE_WRITE_TOKENS,
    REASONING_TOKENS,
    CACHE_WRITE_1H_TOKENS,
    CACHE_READ_AUDIO_TOKENS,
    INPUT_AUDIO_TOKENS,
    INPUT_IMAGE_TOKENS,
    INPUT_VIDEO_TOKENS,
    OUTPUT_AUDIO_TOKENS,
    OUTPUT_IMAGE_TOKENS,
    OUTPUT_VIDEO_TOKENS,
    WEB_SEARCHES,
];
/// The most tokens that the model may answer with.
pub const MAX_TOKENS: Name = name!("gen_ai.request.max_tokens");
/// The share of likely tokens that the model samples from.
pub const TOP_P: Name = name!("gen_ai.request.top_p");
/// The sampling temperature.
pub const TEMPERATURE: Name = name!("gen_ai.request.temperature");
/// Why the model stopped.
pub const FINISH_REASONS: Name = name!("gen_ai.response.finish_reasons");
/// Milliseconds from the request to the first chunk of a streamed answer.
pub const TIME_TO_FIRST_CHUNK: Name = namespaced!("time_to_first_chunk_ms");
/// Which attempt at the same call it is, from 1.
pub const ATTEMPT: Name = namespaced!("attempt");
/// Number of chunks of a streamed answer.
pub const CHUNKS: Name = namespaced!("chunks");
/// The messages sent, as OpenTelemetry's newer convention stores them.
pub const INPUT_MESSAGES: Name = name!("gen_ai.input.messages");
/// The messages received, as OpenTelemetry's newer convention stores them.
pub const OUTPUT_MESSAGES: Name = name!("gen_ai.output.messages");
/// The agent.
pub const AGENT_NAME: Name = name!("gen_ai.agent.name");
/// The question that the run or the agent was given, where its program says.
pub const QUESTION: Name = namespaced!("question");
/// The answer that it gave.
pub const ANSWER: Name = namespaced!("answer");
/// Data source of a retrieval.
pub const DATA_SOURCE: Name = name!("gen_ai.data_source.id");
/// The system prompt, as OpenTelemetry's newer convention stores it.
pub const SYSTEM_INSTRUCTIONS: Name = name!("gen_ai.system_instructions");

// A tool call.
/// The tool's name.
pub const TOOL_NAME: Name = namespaced!("tool_name", "gen_ai.tool.name");
/// The model's ID of the call.
pub const TOOL_CALL_ID: Name = name!("gen_ai.tool.call.id");
/// The tool's arguments, as OpenTelemetry stores them.
pub const TOOL_CALL_ARGUMENTS: Name = name!("gen_ai.tool.call.arguments");
/// The tool's result, as OpenTelemetry stores it.
pub const TOOL_CALL_RESULT: Name = name!("gen_ai.tool.call.result");

/// Names of span events.
pub mod events {
    use super::Name;

    /// The prompt of a model call.
    pub const PROMPT: Name = name!("gen_ai.user.message");
    /// The answer to a model call.
    pub const RESPONSE: Name = name!("gen_ai.assistant.message");
    /// The arguments of a tool call.
    pub const TOOL_ARGUMENTS: Name = namespaced!("tool.args");
    /// The result of a tool call.
    pub const TOOL_RESULT: Name = namespaced!("tool.result");
    /// A snapshot of the agent's state.
    pub const STATE: Name = name!("state");
    /// A captured error.
    pub const EXCEPTION: Name = name!("exception");
    /// A log message of a library, at level `WARN` or `ERROR`.
    pub const LOG: Name = name!("log");
    /// A repeated pattern in recent events.
    pub const LOOP_WARNING: Name = namespaced!("loop.warning");
}

/// Attribute keys inside span events.
pub mod event_keys {
    /// The text of a prompt or response.
    pub const CONTENT: &str = "content";
    /// `json` when [`CONTENT`] is JSON text and not a plain string.
    pub const FORMAT: &str = "format";
    /// The value of [`FORMAT`] for JSON text.
    pub const FORMAT_JSON: &str = "json";
    /// A tool's arguments, JSON text.
    pub const ARGUMENTS: &str = "args";
    /// A tool's result, JSON text.
    pub const RESULT: &str = "result";
    /// A state, JSON text.
    pub const STATE: &str = "state";
    /// Changes since the last state, JSON text.
    pub const DIFF: &str = "diff";
    /// The repeated block of a loop.
    pub const PATTERN: &str = "pattern";
    /// `repeated_call` or `cycle`.
    pub const PATTERN_TYPE: &str = "pattern_type";
    /// Length of the repeated block, in signatures.
    pub const PATTERN_LENGTH: &str = "pattern_length";
    /// Number of repetitions of the block.
    pub const REPETITIONS: &str = "repetitions";
    /// Size of the window, in records.
    pub const WINDOW_SIZE: &str = "window_size";
    /// The records that make up the evidence, JSON text of an array.
    pub const EVIDENCE_EVENT_IDS: &str = "evidence_event_ids";
}

/// Names of spans that have a meaning.
pub mod span_names {
    /// A state update.
    pub const STATE: &str = "state";
    /// A loop warning.
    pub const LOOP_WARNING: &str = "loop_warning";
    /// A captured error.
    pub const ERROR: &str = "error";
    /// Losses of a process that worked for another one's run.
    pub const DROPPED: &str = "dropped spans";
}

/// The marker in place of a value that was taken out.
pub mod markers {
    /// In the place of a secret.
    pub const REDACTED: &str = "__REDACTED__";
    /// At the end of a string that was cut, or in the place of a value that was too deep or too large.
    pub const TRUNCATED: &str = "__TRUNCATED__";
    /// In the place of content that is not kept, with its length.
    pub const OMITTED: &str = "__OMITTED__";
    /// In the place of a value that could not be serialised.
    pub const UNSERIALIZABLE: &str = "__UNSERIALIZABLE__";
}
