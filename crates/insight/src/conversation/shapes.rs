//! The spellings of providers, as tables: where a body keeps its messages, what a message and a part hold, under which
//! keys.
//!
//! `OpenAI` (chat completions, responses), Anthropic, Gemini, Ollama, Bedrock Converse, Cohere, Mistral,
//! OpenTelemetry's GenAI conventions, `OpenInference`, `OpenLLMetry`, `LangChain` and the AI SDK are read by them, and
//! any provider compatible with one of these.

use serde_json::{Map, Value};

use super::{MediaKind, Role};

/// Section of a body, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodySection {
    /// Instructions; an answer that repeats those of its request repeats nothing that was said.
    Instructions,
    /// Earlier messages; repeated in answers too.
    History,
    /// Messages: a list, one, or a plain text.
    Messages,
}

/// Keys of the sections of a body, in the order in which they are read.
pub(super) const SECTIONS: [(&str, BodySection); 25] = [
    ("system_instructions", BodySection::Instructions),
    ("systemInstruction", BodySection::Instructions),
    ("system_instruction", BodySection::Instructions),
    ("system", BodySection::Instructions),
    ("instructions", BodySection::Instructions),
    ("preamble", BodySection::Instructions),
    ("chat_history", BodySection::History),
    ("messages", BodySection::Messages),
    ("contents", BodySection::Messages),
    ("input", BodySection::Messages),
    ("inputs", BodySection::Messages),
    ("prompt", BodySection::Messages),
    ("request", BodySection::Messages),
    ("body", BodySection::Messages),
    ("value", BodySection::Messages),
    ("message", BodySection::Messages),
    ("delta", BodySection::Messages),
    ("choices", BodySection::Messages),
    ("candidates", BodySection::Messages),
    ("generations", BodySection::Messages),
    ("output", BodySection::Messages),
    ("outputs", BodySection::Messages),
    // Gemini's interactions.
    ("steps", BodySection::Messages),
    ("response", BodySection::Messages),
    ("completion", BodySection::Messages),
];

/// Objects around a message: `LangChain`'s constructors and stored messages, Gemini's candidates.
pub(super) const MESSAGE_WRAPPERS: [&str; 3] = ["kwargs", "data", "content"];

/// The object around a part of `OpenInference`.
pub(super) const PART_WRAPPER: &str = "message_content";

/// Kind of a field of a message, by its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageField {
    Reasoning,
    Content,
    Refusal,
    Calls,
    Results,
    /// Calls that the provider ran, each with its result.
    Executed,
    Media(MediaKind),
}

/// Keys of the fields of a message, in the order in which they are shown.
pub(super) const MESSAGE_FIELDS: [(&str, MessageField); 27] = [
    ("reasoning_content", MessageField::Reasoning),
    ("reasoning", MessageField::Reasoning),
    ("reasoningText", MessageField::Reasoning),
    ("thinking", MessageField::Reasoning),
    ("tool_plan", MessageField::Reasoning),
    ("reasoning_details", MessageField::Reasoning),
    ("thinking_blocks", MessageField::Reasoning),
    // Groq
    ("executed_tools", MessageField::Executed),
    ("content", MessageField::Content),
    ("parts", MessageField::Content),
    ("contents", MessageField::Content),
    // Gemini's interactions, which are a message too.
    ("outputs", MessageField::Content),
    ("text", MessageField::Content),
    ("message", MessageField::Content),
    // Ollama's completion of a text, next to its reasoning.
    ("response", MessageField::Content),
    ("refusal", MessageField::Refusal),
    ("tool_calls", MessageField::Calls),
    ("toolCalls", MessageField::Calls),
    ("function_call", MessageField::Calls),
    ("tool_results", MessageField::Results),
    ("toolResults", MessageField::Results),
    ("images", MessageField::Media(MediaKind::Image)),
    ("audio", MessageField::Media(MediaKind::Audio)),
    ("files", MessageField::Media(MediaKind::File)),
    ("documents", MessageField::Media(MediaKind::File)),
    ("attachments", MessageField::Media(MediaKind::File)),
    ("experimental_attachments", MessageField::Media(MediaKind::File)),
];

/// Kind of a part of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PartShape {
    Text,
    Reasoning,
    Call,
    Result,
    Refusal,
    /// The place where a provider replaced earlier messages by a summary of them.
    Compaction,
    Media(MediaKind),
}

/// Parts by their `type`, and whether one among messages is a message by itself (the items of the Responses API).
const PART_TYPES: [(&str, PartShape, bool); 43] = [
    ("text", PartShape::Text, false),
    ("input_text", PartShape::Text, false),
    ("output_text", PartShape::Text, false),
    ("summary_text", PartShape::Text, false),
    ("thinking", PartShape::Reasoning, false),
    ("redacted_thinking", PartShape::Reasoning, false),
    ("thought", PartShape::Reasoning, false),
    ("reasoning_text", PartShape::Reasoning, false),
    ("reasoning.text", PartShape::Reasoning, false),
    ("reasoning.summary", PartShape::Reasoning, false),
    ("reasoning", PartShape::Reasoning, true),
    ("function", PartShape::Call, false),
    ("tool_use", PartShape::Call, false),
    ("server_tool_use", PartShape::Call, false),
    ("mcp_tool_use", PartShape::Call, false),
    ("tool_call", PartShape::Call, false),
    ("tool-call", PartShape::Call, false),
    ("dynamic-tool", PartShape::Call, false),
    ("tool_result", PartShape::Result, false),
    ("tool-result", PartShape::Result, false),
    ("tool-error", PartShape::Result, false),
    ("tool_call_response", PartShape::Result, false),
    ("server_tool_call", PartShape::Call, false),
    ("server_tool_call_response", PartShape::Result, false),
    // Steps of Gemini's interactions.
    ("function_result", PartShape::Result, true),
    ("code_execution_result", PartShape::Result, true),
    ("google_search_result", PartShape::Result, true),
    ("url_context_result", PartShape::Result, true),
    ("file_search_result", PartShape::Result, true),
    ("compaction", PartShape::Compaction, false),
    ("refusal", PartShape::Refusal, false),
    ("image", PartShape::Media(MediaKind::Image), false),
    ("image_url", PartShape::Media(MediaKind::Image), false),
    ("input_image", PartShape::Media(MediaKind::Image), false),
    ("audio", PartShape::Media(MediaKind::Audio), false),
    ("input_audio", PartShape::Media(MediaKind::Audio), false),
    ("video", PartShape::Media(MediaKind::Video), false),
    ("file", PartShape::Media(MediaKind::File), false),
    ("input_file", PartShape::Media(MediaKind::File), false),
    ("document", PartShape::Media(MediaKind::File), false),
    ("media", PartShape::Media(MediaKind::File), false),
    ("blob", PartShape::Media(MediaKind::File), false),
    ("uri", PartShape::Media(MediaKind::File), false),
];

/// Families of types: how they end, which is cut off for the tool's name where the part has none.
const PART_TYPE_ENDINGS: [(&str, PartShape); 4] = [
    ("_call_output", PartShape::Result),
    ("_tool_result", PartShape::Result),
    ("_call", PartShape::Call),
    ("_output", PartShape::Result),
];

/// Types that end like those of parts, of what is a message: a step of Gemini's interactions.
const MESSAGE_TYPES: [&str; 1] = ["model_output"];

/// Prefix of the types of the AI SDK's tool parts: `tool-weather`.
const TOOL_TYPE_BEGINNING: &str = "tool-";

/// Parts without a `type`, by the key that makes them what they are.
const PART_KEYS: [(&str, PartShape); 22] = [
    ("functionCall", PartShape::Call),
    ("function_call", PartShape::Call),
    ("toolUse", PartShape::Call),
    ("tool_call", PartShape::Call),
    ("executableCode", PartShape::Call),
    ("executable_code", PartShape::Call),
    ("toolCall", PartShape::Call),
    ("toolRequest", PartShape::Call),
    ("functionResponse", PartShape::Result),
    ("function_response", PartShape::Result),
    ("toolResult", PartShape::Result),
    ("codeExecutionResult", PartShape::Result),
    ("code_execution_result", PartShape::Result),
    ("toolResponse", PartShape::Result),
    ("tool_call_result", PartShape::Result),
    ("reasoningContent", PartShape::Reasoning),
    ("inlineData", PartShape::Media(MediaKind::File)),
    ("inline_data", PartShape::Media(MediaKind::File)),
    ("fileData", PartShape::Media(MediaKind::File)),
    ("image", PartShape::Media(MediaKind::Image)),
    ("video", PartShape::Media(MediaKind::Video)),
    ("document", PartShape::Media(MediaKind::File)),
];

/// Parts without a `type` that consist of these fields and an ID alone.
const PART_FIELDS: [(&str, &str, PartShape); 2] = [
    ("name", "args", PartShape::Call),
    ("name", "response", PartShape::Result),
];

/// Shape of an object without a `type` that holds nothing but the fields of a part.
pub(super) fn part_of_fields(map: &Map<String, Value>) -> Option<PartShape> {
    let fits = |(one, other, _): &&(&str, &str, PartShape)| {
        map.contains_key(*one)
            && map.contains_key(*other)
            && map.keys().all(|key| [*one, *other, "id"].contains(&key.as_str()))
    };
    PART_FIELDS.iter().find(fits).map(|(.., shape)| *shape)
}

/// Shape of a part by its `type`, and whether it is a message by itself.
pub(super) fn part_of_type(part_type: &str) -> Option<(PartShape, bool)> {
    if MESSAGE_TYPES.contains(&part_type) {
        return None;
    }
    let by_name = PART_TYPES.iter().find(|(name, ..)| *name == part_type);
    by_name
        .map(|(_, shape, is_item)| (*shape, *is_item))
        .or_else(|| {
            let ending = PART_TYPE_ENDINGS
                .iter()
                .find(|(ending, _)| part_type.ends_with(ending));
            ending.map(|(_, shape)| (*shape, true))
        })
        .or_else(|| {
            part_type
                .starts_with(TOOL_TYPE_BEGINNING)
                .then_some((PartShape::Call, false))
        })
}

/// Shape of a part without a `type`, found by the key that identifies it.
pub(super) fn part_of_key(has: impl Fn(&str) -> bool) -> Option<PartShape> {
    PART_KEYS
        .iter()
        .find(|(key, _)| has(key))
        .map(|(_, shape)| *shape)
}

/// The tool that a type names: `web_search_call`, `tool-weather`.
pub(super) fn tool_of_type(part_type: &str) -> Option<&str> {
    let is_general = PART_TYPES.iter().any(|(name, ..)| *name == part_type)
        || part_type.starts_with("function_call")
        || part_type.starts_with("custom_tool_call");
    if is_general {
        return None;
    }
    part_type.strip_prefix(TOOL_TYPE_BEGINNING).or_else(|| {
        PART_TYPE_ENDINGS
            .iter()
            .find_map(|(ending, _)| part_type.strip_suffix(ending))
    })
}

/// The words of providers for a role, without regard to case; a `LangChain` class or `type` is one too.
const ROLE_WORDS: [(&str, Role); 26] = [
    ("system", Role::System),
    ("systemmessage", Role::System),
    ("systemmessagechunk", Role::System),
    ("developer", Role::Developer),
    ("user", Role::User),
    ("human", Role::User),
    ("humanmessage", Role::User),
    ("humanmessagechunk", Role::User),
    ("assistant", Role::Assistant),
    ("model", Role::Assistant),
    ("model_output", Role::Assistant),
    ("user_input", Role::User),
    ("ai", Role::Assistant),
    ("bot", Role::Assistant),
    ("chatbot", Role::Assistant),
    ("aimessage", Role::Assistant),
    ("aimessagechunk", Role::Assistant),
    ("tool", Role::Tool),
    ("function", Role::Tool),
    ("ipython", Role::Tool),
    ("toolmessage", Role::Tool),
    ("toolmessagechunk", Role::Tool),
    ("functionmessage", Role::Tool),
    ("functionmessagechunk", Role::Tool),
    ("tool_response", Role::Tool),
    ("environment", Role::Tool),
];

/// The role that a word is known for.
pub(super) fn known_role(word: &str) -> Option<Role> {
    let same = |(known, _): &&(&str, Role)| known.eq_ignore_ascii_case(word);
    ROLE_WORDS.iter().find(same).map(|(_, role)| role.clone())
}

pub(super) const ROLE: [&str; 1] = ["role"];
pub(super) const FINISH_REASON: [&str; 5] = [
    "finish_reason",
    "finishReason",
    "stop_reason",
    "stopReason",
    "done_reason",
];
pub(super) const TEXT: [&str; 3] = ["text", "content", "value"];
pub(super) const REASONING: [&str; 9] = [
    "reasoningContent",
    "reasoningText",
    "thinking",
    "thought",
    "text",
    "summary",
    "content",
    "reasoning",
    "value",
];
/// Objects around a call or a result.
pub(super) const CALL_WRAPPERS: [&str; 19] = [
    "function",
    "functionCall",
    "function_call",
    "toolUse",
    "tool_call",
    "executableCode",
    "functionResponse",
    "function_response",
    "toolResult",
    "codeExecutionResult",
    "executable_code",
    "code_execution_result",
    "toolCall",
    "toolResponse",
    "toolRequest",
    "tool_call_result",
    // The call that a result is of.
    "origin",
    "call",
    "custom",
];
/// The ID that call and result share; a separate `id` is that of the part.
pub(super) const CALL_ID: [&str; 7] = [
    "call_id",
    "tool_call_id",
    "tool_use_id",
    "toolCallId",
    "toolUseId",
    "ref",
    "id",
];
pub(super) const TOOL_NAME: [&str; 5] = ["name", "toolName", "tool_name", "tool", "toolType"];
/// Tools that a provider runs, by the object that has the call or its result.
pub(super) const OWN_TOOLS: [(&str, &str); 4] = [
    ("executableCode", "code_execution"),
    ("executable_code", "code_execution"),
    ("codeExecutionResult", "code_execution"),
    ("code_execution_result", "code_execution"),
];
/// Gemini's look-ups, reported along with the answer: key of the metadata, tool, key of the queries, key of the
/// results.
pub(super) const LOOKED_UP: [(&str, &str, &str, &str); 2] = [
    (
        "groundingMetadata",
        "google_search",
        "webSearchQueries",
        "groundingChunks",
    ),
    (
        "grounding_metadata",
        "google_search",
        "web_search_queries",
        "grounding_chunks",
    ),
];
pub(super) const ARGUMENTS: [&str; 10] = [
    "arguments",
    "input",
    "args",
    "parameters",
    "rawInput",
    "action",
    "code",
    "queries",
    "operation",
    "server_tool_call",
];
pub(super) const RESULT: [&str; 10] = [
    "response",
    "content",
    "output",
    "outputs",
    "result",
    "results",
    "value",
    "error",
    "errorText",
    "server_tool_call_response",
];
/// Keys of the result in a call whose part holds the result too.
pub(super) const RESULT_OF_CALL: [&str; 6] = ["output", "outputs", "result", "results", "errorText", "error"];
pub(super) const IS_ERROR: [&str; 3] = ["is_error", "isError", "error"];
pub(super) const ERROR_KEYS: [&str; 2] = ["error", "errorText"];
/// Texts that frameworks hand a model as the result of a tool that failed, by their beginning and their end: agent-framework,
/// Instructor, `LangChain`, `OpenAI` Agents, Semantic Kernel (correlation, *Outcome*).
pub(super) const FAILURE_PHRASES: [(&str, &str); 5] = [
    ("Error: Function failed.", ""),
    ("Validation Error found", ""),
    ("Error: ", "\n Please fix your mistakes."),
    ("An error occurred while running the tool. Please try again.", ""),
    ("An error occurred while invoking the function ", ""),
];
pub(super) const ERROR_STATES: [&str; 3] = ["error", "output-error", "failed"];
/// Gemini's outcomes of code that could not be run.
pub(super) const ERROR_OUTCOMES: [&str; 2] = ["OUTCOME_FAILED", "OUTCOME_DEADLINE_EXCEEDED"];
/// Exit codes within results; any but 0 says that the tool failed.
pub(super) const EXIT_CODES: [&str; 2] = ["return_code", "exit_code"];
pub(super) const REFUSAL: [&str; 3] = ["refusal", "content", "text"];
pub(super) const NAME: [&str; 1] = ["name"];

/// Objects around the source of a media part.
pub(super) const MEDIA_WRAPPERS: [&str; 14] = [
    "image_url",
    "input_audio",
    "file",
    "source",
    "inlineData",
    "inline_data",
    "fileData",
    "file_data",
    "image",
    "audio",
    "video",
    "document",
    "s3Location",
    "blob",
];
pub(super) const MEDIA_TYPE: [&str; 6] = [
    "media_type",
    "mediaType",
    "mime_type",
    "mimeType",
    "contentType",
    "format",
];
pub(super) const MEDIA_NAME: [&str; 5] = ["filename", "name", "title", "display_name", "displayName"];
pub(super) const MEDIA_URI: [&str; 8] = [
    "url",
    "uri",
    "fileUri",
    "file_uri",
    "file_url",
    "image_url",
    "audio_url",
    "video_url",
];
pub(super) const MEDIA_DATA: [&str; 10] = [
    "data",
    "bytes",
    "base64",
    "file_data",
    "image",
    "audio",
    "video",
    "file",
    "content",
    "text",
];
pub(super) const MEDIA_ID: [&str; 3] = ["file_id", "fileId", "id"];

/// Settings and measurements of requests, answers, messages and parts, whatever they hold: nothing that was said.
const SETTINGS: [&str; 32] = [
    "additional_kwargs",
    "agent_config",
    "cache_control",
    "cachePoint",
    "extra",
    "generation_info",
    "generationConfig",
    "generation_config",
    "inferenceConfig",
    "llm_output",
    "logit_bias",
    "logprobs",
    "meta",
    "metadata",
    "metrics",
    "options",
    "providerMetadata",
    "providerOptions",
    "provider_specific_fields",
    "response_format",
    "response_metadata",
    "safetyRatings",
    "safetySettings",
    "stop",
    "stop_sequences",
    "stream_options",
    "tool_choice",
    "toolConfig",
    "tools",
    "usage",
    "usageMetadata",
    "usage_metadata",
];

/// Settings, IDs and marks that are a text, a number or a flag.
const MARKS: [&str; 67] = [
    "agent",
    "avgLogprobs",
    "background",
    "completed_at",
    "created",
    "created_at",
    "createTime",
    "detail",
    "done",
    "encrypted_content",
    "eval_count",
    "eval_duration",
    "event_id",
    "example",
    "frequency_penalty",
    "generation_id",
    "id",
    "index",
    "keep_alive",
    "lc",
    "load_duration",
    "max_completion_tokens",
    "max_output_tokens",
    "max_tokens",
    "max_tool_calls",
    "modality",
    "modelId",
    "modelVersion",
    "model",
    "n",
    "native_finish_reason",
    "object",
    "parallel_tool_calls",
    "phase",
    "preliminary",
    "presence_penalty",
    "previous_interaction_id",
    "previous_response_id",
    "prompt_eval_count",
    "prompt_eval_duration",
    "prompt_cache_key",
    "provider",
    "providerExecuted",
    "responseId",
    "response_id",
    "run",
    "safety_identifier",
    "seed",
    "service_tier",
    "signature",
    "state",
    "status",
    "stop_sequence",
    "store",
    "stream",
    "system_fingerprint",
    "temperature",
    "thoughtSignature",
    "thought_signature",
    "top_k",
    "top_logprobs",
    "top_p",
    "total_duration",
    "truncation",
    "type",
    "updated",
    "user",
];

/// Settings under keys that hold what was said in other places, by a key within.
const NESTED_SETTINGS: [(&str, &str); 4] = [
    ("text", "format"),
    ("text", "verbosity"),
    ("reasoning", "effort"),
    ("thinking", "budget_tokens"),
];

/// Returns whether a field is a setting, a measurement or a mark.
pub(super) fn is_setting(key: &str, value: &Value) -> bool {
    SETTINGS.contains(&key)
        || (MARKS.contains(&key) && !value.is_object() && !value.is_array())
        || NESTED_SETTINGS
            .iter()
            .any(|(outer, inner)| *outer == key && value.get(inner).is_some())
}
