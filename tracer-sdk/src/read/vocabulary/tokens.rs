//! Where tokens are counted (capture, section 1): input includes what the provider had cached, output includes reasoning.

use super::Vocabulary::{
    self, AiSdk, ClaudeCode, Codex, GeminiCli, Genkit, GoogleAdk, LangSmith, Langfuse, Mlflow, OpenInference,
    OpenLlmetry, OtelGenAi, OtelGenAiOld, PydanticAi, Strands,
};

/// A number of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Count {
    Input,
    Output,
    Total,
    CacheRead,
    CacheWrite,
    Reasoning,
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

/// Counts inside the JSON of an attribute.
#[derive(Debug)]
pub(crate) struct NestedCounts {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) key: &'static str,
    /// The path of keys to the object that holds them; several where versions differ.
    pub(crate) paths: &'static [&'static [&'static str]],
    pub(crate) counts: &'static [(Count, &'static str)],
    /// Whether output does not include reasoning.
    pub(crate) thoughts_beside_output: bool,
}

/// The keys of a provider's or a framework's own usage object.
const USAGE_OBJECT: &[(Count, &str)] = &[
    (Count::Input, "input_tokens"),
    (Count::Input, "prompt_tokens"),
    (Count::Input, "inputTokens"),
    (Count::Input, "promptTokens"),
    (Count::Input, "input"),
    (Count::Output, "output_tokens"),
    (Count::Output, "completion_tokens"),
    (Count::Output, "outputTokens"),
    (Count::Output, "completionTokens"),
    (Count::Output, "output"),
    (Count::Total, "total_tokens"),
    (Count::Total, "totalTokens"),
    (Count::Total, "total"),
    (Count::CacheRead, "cache_read_input_tokens"),
    (Count::CacheRead, "input_cached_tokens"),
    (Count::CacheRead, "cachedContentTokens"),
    (Count::CacheRead, "cachedInputTokens"),
    (Count::CacheWrite, "cache_creation_input_tokens"),
    (Count::Reasoning, "reasoning_tokens"),
    (Count::Reasoning, "output_reasoning_tokens"),
    (Count::Reasoning, "thoughtsTokens"),
    (Count::Reasoning, "reasoningTokens"),
];

const GEMINI_USAGE: &[(Count, &str)] = &[
    (Count::Input, "prompt_token_count"),
    (Count::Input, "promptTokenCount"),
    (Count::Output, "candidates_token_count"),
    (Count::Output, "candidatesTokenCount"),
    (Count::Total, "total_token_count"),
    (Count::Total, "totalTokenCount"),
    (Count::CacheRead, "cached_content_token_count"),
    (Count::CacheRead, "cachedContentTokenCount"),
    (Count::Reasoning, "thoughts_token_count"),
    (Count::Reasoning, "thoughtsTokenCount"),
];

macro_rules! nested_counts {
    ($($vocabulary:ident $key:literal, $paths:expr, $counts:expr $(, thoughts $thoughts:ident)?;)+) => {
        &[$(NestedCounts {
            vocabulary: $vocabulary,
            key: $key,
            paths: &$paths,
            counts: $counts,
            thoughts_beside_output: nested_counts!(@thoughts $($thoughts)?),
        }),+]
    };
    (@thoughts) => { false };
    (@thoughts beside_output) => { true };
}

/// The attributes whose JSON holds counts; they are read where no attribute holds one of its own.
pub(crate) const NESTED_COUNTS: &[NestedCounts] = nested_counts! {
    GoogleAdk "gcp.vertex.agent.llm_response", [&["usage_metadata"], &["usageMetadata"]], GEMINI_USAGE,
        thoughts beside_output;
    Langfuse "langfuse.observation.usage_details", [&[]], USAGE_OBJECT;
    Mlflow "mlflow.chat.tokenUsage", [&[]], USAGE_OBJECT;
    Genkit "genkit:output", [&["usage"]], USAGE_OBJECT;
    LangSmith "gen_ai.usage.input_token_details", [&[]],
        &[(Count::CacheRead, "cache_read"), (Count::CacheWrite, "cache_creation")];
    LangSmith "gen_ai.usage.output_token_details", [&[]], &[(Count::Reasoning, "reasoning")];
};
