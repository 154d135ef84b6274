//! Attribute names of other emitters, as tables.
//!
//! The tables say which attributes of each vocabulary decide a span's type, and which ones hold the fields of its
//! record (capture, section 1; decisions, section 2).
//!
//! What an emitter sent is stored as it was sent and understood here, on reading: an attribute that is renamed next year is
//! a line in a table, and runs recorded today are read better without being rewritten. The parser keeps the values that
//! these tables name, the projection looks them up, and `docs/vocabularies.md` is written from them.

mod contents;
mod fields;
mod keys;
mod kinds;
#[cfg(test)]
mod page_tests;
mod remarks;
mod tokens;
mod usage_object;

pub(crate) use contents::{
    ANSWER, ANSWER_FIELDS, ARGUMENT_FIELDS, ARGUMENTS, CONTENT_EVENTS, Content, ContentEvent, ContentForm,
    MESSAGE_EVENTS, MessageEvent, OUTPUT_EVENTS, PROMPT, RESULT, WRAPPERS,
};
pub(crate) use fields::{
    AGENT_NAME, CALL_ID, ERROR_MESSAGE, ERROR_TYPE, EXIT_CODE, FAILURES, FINISH_REASON, FIRST_CHUNK,
    FieldSource, IMPLIED_PROVIDERS, MODEL, NO_CALL_ID, PROVIDER, RESPONSE_ID, RESPONSE_MODEL, RUN_NAME,
    SOURCE, SUCCESSES, SourceForm, TEMPERATURE, TOOL_NAME, UNFINISHED, WAITS,
};
#[cfg(test)]
pub(crate) use keys::all_keys;
pub(crate) use keys::{DETAILS, FOREIGN, FURTHER, OWN, TOKENS, key_use};
pub(crate) use kinds::{BARE_KEYS, FETCH_RESPONSE, INNER_STEPS, KINDS, SERVICES, STRUCTURE, Test};
pub(crate) use remarks::{
    ANSWER_TOOL_OF_TYPE, ANSWER_TOOLS, EVALUATIONS, FLAT_EVALUATIONS, GUARDRAILS, HAND_OVER_BY_ARGUMENT,
    HAND_OVER_TOOLS, HANDOFF, REMARKS, RemarkKind, VERDICTS,
};
pub(crate) use tokens::{
    CACHE_BESIDE_INPUT, COUNTS, Count, FLAT_USAGES, NESTED_USAGES, THOUGHTS_BESIDE_OUTPUT, USAGE_KEYS,
    USAGE_NAMESPACES,
};
#[cfg(test)]
pub(crate) use usage_object::all_parts;
pub(crate) use usage_object::{
    ADDED_ITERATION, BESIDE, INCLUDED_ITERATION, ITERATIONS, Part, USUAL_TEXTS, normalised, part,
};

/// Whose names a table's line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Vocabulary {
    /// The format's own names.
    Tracer,
    /// OpenTelemetry's GenAI conventions, today's names.
    OtelGenAi,
    /// The same, names of earlier versions.
    OtelGenAiOld,
    /// OpenTelemetry's conventions for the Model Context Protocol.
    Mcp,
    /// `OpenInference` (Arize).
    OpenInference,
    /// `OpenLLMetry` (Traceloop).
    OpenLlmetry,
    /// The Vercel AI SDK, versions 3 to 6; version 7 uses OpenTelemetry's names.
    AiSdk,
    /// `pydantic-ai` and Logfire.
    PydanticAi,
    /// `LangSmith` and `LangChain`.
    LangSmith,
    /// Google's Agent Development Kit, in Python and Rust.
    GoogleAdk,
    /// Strands Agents.
    Strands,
    /// Microsoft's Agent Framework and Semantic Kernel.
    AgentFramework,
    /// Genkit.
    Genkit,
    /// Haystack.
    Haystack,
    /// `VoltAgent`.
    VoltAgent,
    /// Mastra.
    Mastra,
    /// `LiveKit` agents.
    LiveKit,
    /// `MLflow`.
    Mlflow,
    /// The Langfuse SDK.
    Langfuse,
    /// rig.
    Rig,
    /// Claude Code's spans and logs.
    ClaudeCode,
    /// Codex's logs.
    Codex,
    /// Gemini CLI's spans and logs.
    GeminiCli,
}
