//! Token counts; input includes cached, output reasoning tokens (capture, section 1).

use super::Vocabulary::{
    self, AiSdk, ClaudeCode, Codex, GeminiCli, Genkit, GoogleAdk, Haystack, LangSmith, Langfuse, LiveKit,
    Mlflow, OpenInference, OpenLlmetry, OtelGenAi, OtelGenAiOld, PydanticAi, Strands, Tracer,
};
use crate::Usage;

/// A count of a usage, in the order of the fields of [`Usage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Input,
    Output,
    Total,
    CacheRead,
    CacheWrite,
    Reasoning,
    CacheWrite1h,
    CacheReadAudio,
    InputAudio,
    InputImage,
    InputVideo,
    OutputAudio,
    OutputImage,
    OutputVideo,
    WebSearches,
}

impl Count {
    /// All of them.
    pub(crate) const ALL: [Self; Usage::PARTS] = [
        Self::Input,
        Self::Output,
        Self::Total,
        Self::CacheRead,
        Self::CacheWrite,
        Self::Reasoning,
        Self::CacheWrite1h,
        Self::CacheReadAudio,
        Self::InputAudio,
        Self::InputImage,
        Self::InputVideo,
        Self::OutputAudio,
        Self::OutputImage,
        Self::OutputVideo,
        Self::WebSearches,
    ];

    /// Returns whether it is a share of another count, or separate from all of them.
    pub(crate) const fn is_detail(self) -> bool {
        !matches!(self, Self::Input | Self::Output | Self::Total)
    }
}

macro_rules! counts {
    ($($count:ident $vocabulary:ident $key:literal;)+) => { &[$((Count::$count, $vocabulary, $key)),+] };
}

/// The attributes that hold a count, in the order in which they are tried.
pub(crate) const COUNTS: &[(Count, Vocabulary, &str)] = counts! {
    Input OtelGenAi "gen_ai.usage.input_tokens";
    Input OtelGenAiOld "gen_ai.usage.prompt_tokens";
    Input OpenInference "llm.token_count.prompt";
    Input AiSdk "ai.usage.inputTokens";
    Input AiSdk "ai.usage.promptTokens";
    Input OpenLlmetry "llm.usage.prompt_tokens";
    Input ClaudeCode "input_tokens";
    Input Codex "input_token_count";
    Output OtelGenAi "gen_ai.usage.output_tokens";
    Output OtelGenAiOld "gen_ai.usage.completion_tokens";
    Output OpenInference "llm.token_count.completion";
    Output AiSdk "ai.usage.outputTokens";
    Output AiSdk "ai.usage.completionTokens";
    Output OpenLlmetry "llm.usage.completion_tokens";
    Output ClaudeCode "output_tokens";
    Output Codex "output_token_count";
    Total OtelGenAiOld "gen_ai.usage.total_tokens";
    Total OpenInference "llm.token_count.total";
    Total AiSdk "ai.usage.totalTokens";
    Total OpenLlmetry "llm.usage.total_tokens";
    Total GeminiCli "total_token_count";
    CacheRead OtelGenAi "gen_ai.usage.cache_read.input_tokens";
    CacheRead OpenLlmetry "gen_ai.usage.cache_read_input_tokens";
    CacheRead GoogleAdk "gen_ai.usage.cache_read_tokens";
    CacheRead PydanticAi "gen_ai.usage.details.cache_read_tokens";
    CacheRead PydanticAi "gen_ai.usage.details.cached_tokens";
    CacheRead PydanticAi "gen_ai.usage.details.cache_read_input_tokens";
    CacheRead OpenInference "llm.token_count.prompt_details.cache_read";
    CacheRead AiSdk "ai.usage.cachedInputTokens";
    CacheRead AiSdk "ai.usage.inputTokenDetails.cacheReadTokens";
    CacheRead ClaudeCode "cache_read_tokens";
    CacheRead Strands "cache_read_input_tokens";
    CacheRead Codex "cached_token_count";
    CacheRead GeminiCli "cached_content_token_count";
    CacheWrite OtelGenAi "gen_ai.usage.cache_write.input_tokens";
    CacheWrite OtelGenAiOld "gen_ai.usage.cache_creation.input_tokens";
    CacheWrite OpenLlmetry "gen_ai.usage.cache_creation_input_tokens";
    CacheWrite Strands "gen_ai.usage.cache_write_input_tokens";
    CacheWrite GoogleAdk "gen_ai.usage.cache_creation_tokens";
    CacheWrite PydanticAi "gen_ai.usage.details.cache_write_tokens";
    CacheWrite PydanticAi "gen_ai.usage.details.cache_creation_input_tokens";
    CacheWrite OpenInference "llm.token_count.prompt_details.cache_write";
    CacheWrite AiSdk "ai.usage.inputTokenDetails.cacheWriteTokens";
    CacheWrite ClaudeCode "cache_creation_tokens";
    CacheWrite ClaudeCode "cache_creation_input_tokens";
    CacheWrite Strands "cache_write_input_tokens";
    Reasoning OtelGenAi "gen_ai.usage.reasoning.output_tokens";
    Reasoning OpenLlmetry "gen_ai.usage.reasoning_tokens";
    Reasoning GoogleAdk "gen_ai.usage.thinking_tokens";
    Reasoning PydanticAi "gen_ai.usage.details.reasoning_tokens";
    Reasoning OpenInference "llm.token_count.completion_details.reasoning";
    Reasoning AiSdk "ai.usage.reasoningTokens";
    Reasoning AiSdk "ai.usage.outputTokenDetails.reasoningTokens";
    Reasoning OpenLlmetry "llm.usage.reasoning_tokens";
    Reasoning Codex "reasoning_token_count";
    Reasoning GeminiCli "thoughts_token_count";
    CacheWrite1h Tracer "tracer.usage.cache_write_1h_tokens";
    CacheWrite1h OpenLlmetry "gen_ai.usage.cache_creation_1h.input_tokens";
    CacheWrite1h OpenLlmetry "anthropic.usage.cache_creation.ephemeral_1h_input_tokens";
    CacheReadAudio OtelGenAi "gen_ai.usage.audio.cache_read.input_tokens";
    CacheReadAudio PydanticAi "gen_ai.usage.details.cache_audio_read_tokens";
    InputAudio OtelGenAi "gen_ai.usage.audio.input_tokens";
    InputAudio LiveKit "gen_ai.usage.input_audio_tokens";
    InputAudio PydanticAi "gen_ai.usage.details.input_audio_tokens";
    InputAudio OpenInference "llm.token_count.prompt_details.audio";
    InputImage OtelGenAi "gen_ai.usage.image.input_tokens";
    InputImage OpenInference "llm.token_count.prompt_details.image";
    InputVideo OtelGenAi "gen_ai.usage.video.input_tokens";
    InputVideo OpenInference "llm.token_count.prompt_details.video";
    OutputAudio OtelGenAi "gen_ai.usage.audio.output_tokens";
    OutputAudio LiveKit "gen_ai.usage.output_audio_tokens";
    OutputAudio PydanticAi "gen_ai.usage.details.output_audio_tokens";
    OutputAudio OpenInference "llm.token_count.completion_details.audio";
    OutputImage OtelGenAi "gen_ai.usage.image.output_tokens";
    OutputVideo OtelGenAi "gen_ai.usage.video.output_tokens";
    WebSearches Tracer "tracer.usage.web_searches";
};

/// Pairs of attributes, input and cached, whose input does not include what was cached: Anthropic's own counts. They are
/// added, unless a total that is given says that they are in it already.
pub(crate) const CACHE_BESIDE_INPUT: &[(Vocabulary, &str, &str)] = &[
    (
        OpenLlmetry,
        "gen_ai.usage.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
    ),
    (ClaudeCode, "input_tokens", "cache_creation_tokens"),
    (ClaudeCode, "input_tokens", "cache_read_tokens"),
    (ClaudeCode, "input_tokens", "cache_creation_input_tokens"),
];

/// Counts of reasoning that the count of output does not include: Gemini's own.
pub(crate) const THOUGHTS_BESIDE_OUTPUT: &[(Vocabulary, &str)] = &[(GeminiCli, "thoughts_token_count")];

/// Beginnings of keys whose numbers are those of a usage object, the longest first: what no row above has is read by the
/// table of [`usage_object`](super::usage_object).
pub(crate) const FLAT_USAGES: [&str; 5] = [
    "gen_ai.usage.details.",
    "gen_ai.usage.",
    "llm.token_count.",
    "llm.usage.",
    "ai.usage.",
];

/// Beginnings of keys that count tokens or what they cost, those that are not read included.
pub(crate) const USAGE_NAMESPACES: &[&str] = &[
    "ai.usage.",
    "gen_ai.aggregated_usage.",
    "gen_ai.cost.",
    "gen_ai.usage.",
    "llm.cost.",
    "llm.token_count.",
    "llm.usage.",
];

/// Other keys of such.
pub(crate) const USAGE_KEYS: &[&str] = &[
    "cost_usd",
    "langfuse.observation.cost_details",
    "langfuse.observation.usage_details",
    "mlflow.chat.tokenUsage",
    "operation.cost",
];

/// A usage object inside the JSON of an attribute; its numbers are those of [`usage_object`](super::usage_object).
#[derive(Debug)]
pub(crate) struct NestedUsage {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) key: &'static str,
    /// The path of keys to the object; several where versions differ.
    pub(crate) paths: &'static [&'static [&'static str]],
    /// Which member of a usage object the object is; empty where it is a whole one.
    pub(crate) member: &'static str,
}

macro_rules! nested_usages {
    ($($vocabulary:ident $key:literal, $paths:expr, $member:literal;)+) => {
        &[$(NestedUsage { vocabulary: $vocabulary, key: $key, paths: &$paths, member: $member }),+]
    };
}

/// The attributes whose JSON holds counts; they are read where no attribute holds one of its own.
pub(crate) const NESTED_USAGES: &[NestedUsage] = nested_usages! {
    GoogleAdk "gcp.vertex.agent.llm_response", [&["usage_metadata"], &["usageMetadata"]], "";
    Langfuse "langfuse.observation.usage_details", [&[]], "";
    Mlflow "mlflow.chat.tokenUsage", [&[]], "";
    Genkit "genkit:output", [&["usage"]], "";
    Haystack "haystack.agent.step.llm.output", [&["replies", "0", "meta", "usage"]], "";
    Haystack "haystack.component.output", [&["replies", "0", "meta", "usage"]], "";
    LangSmith "gen_ai.usage.input_token_details", [&[]], "input_token_details";
    LangSmith "gen_ai.usage.output_token_details", [&[]], "output_token_details";
};
