//! Meaning of the numbers in usage objects of model APIs and frameworks.
//!
//! One table serves for the bodies that the proxy saw and for the JSON of attributes. A number that has no row here is
//! not understood, and reported as such.
//!
//! Paths are written in one way for all: `promptTokensDetails` and `prompt_tokens_details` are [`normalised`] alike, and
//! the names of details by their side alone, `in.cached_tokens`.

use std::borrow::Cow;

use super::Count::{
    self, CacheRead, CacheReadAudio, CacheWrite, CacheWrite1h, Input, InputAudio, InputImage, InputVideo,
    Output, OutputAudio, OutputImage, OutputVideo, Reasoning, Total, WebSearches,
};
use Part::{BesideInput, Charged, Counted, Uncharged, Within, WrittenFor5m};

/// Meaning of a number in a usage object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// One of our counts. Where several paths give one, the first in the table that is not zero is taken.
    Counted(Count),
    /// Tokens of the prompt that the input does not include: results of the provider's own tools.
    BesideInput,
    /// Tokens that were written to the cache for five minutes: with those for an hour the cache writes, where nothing
    /// else says these.
    WrittenFor5m,
    /// A part of another number of the object, or another word for it.
    Within,
    /// No tokens and no additional charge: times, the provider's own calculation of the price.
    Uncharged,
    /// Charged in addition to the tokens, at a price that is not known here.
    Charged,
}

macro_rules! parts {
    ($($path:literal $part:expr;)+) => { &[$(($path, $part)),+] };
}

/// The numbers of usage objects, in the order in which they are tried.
const PARTS: &[(&str, Part)] = parts! {
    // OpenAI: chat completions, completions, embeddings, and what is compatible with them.
    "prompt_tokens" Counted(Input);
    "completion_tokens" Counted(Output);
    "total_tokens" Counted(Total);
    "in.cached_tokens" Counted(CacheRead);
    "in.cache_write_tokens" Counted(CacheWrite);
    "in.audio_tokens" Counted(InputAudio);
    "in.image_tokens" Counted(InputImage);
    "in.video_tokens" Counted(InputVideo);
    "in.text_tokens" Within;
    "out.reasoning_tokens" Counted(Reasoning);
    "out.audio_tokens" Counted(OutputAudio);
    "out.image_tokens" Counted(OutputImage);
    "out.video_tokens" Counted(OutputVideo);
    "out.text_tokens" Within;
    "out.accepted_prediction_tokens" Within;
    "out.rejected_prediction_tokens" Within;
    // OpenAI: responses, images, speech, realtime.
    "input_tokens" Counted(Input);
    "output_tokens" Counted(Output);
    "in.cache.audio_tokens" Counted(CacheReadAudio);
    "in.cache.text_tokens" Within;
    "in.cache.image_tokens" Charged;
    "seconds" Charged;
    // Anthropic.
    "cache_read_input_tokens" Counted(CacheRead);
    "cache_creation_input_tokens" Counted(CacheWrite);
    "cache_creation.ephemeral_1h_input_tokens" Counted(CacheWrite1h);
    "cache_creation.ephemeral_5m_input_tokens" WrittenFor5m;
    "out.thinking_tokens" Counted(Reasoning);
    "server_tool_use.web_search_requests" Counted(WebSearches);
    "server_tool_use.web_fetch_requests" Uncharged;
    "server_tool_use.tool_search_requests" Uncharged;
    // Gemini: generateContent, Live, interactions, Vertex.
    "prompt_token_count" Counted(Input);
    "candidates_token_count" Counted(Output);
    "response_token_count" Counted(Output);
    "total_token_count" Counted(Total);
    "cached_content_token_count" Counted(CacheRead);
    "thoughts_token_count" Counted(Reasoning);
    "tool_use_prompt_token_count" BesideInput;
    "in.document_tokens" Within;
    "out.document_tokens" Within;
    "cache.audio_tokens" Counted(CacheReadAudio);
    "cache.text_tokens" Within;
    "cache.image_tokens" Within;
    "cache.video_tokens" Within;
    "cache.document_tokens" Within;
    "tool.text_tokens" Within;
    "tool.image_tokens" Within;
    "tool.video_tokens" Within;
    "tool.document_tokens" Within;
    "tool.audio_tokens" Charged;
    "total_input_tokens" Counted(Input);
    "total_output_tokens" Counted(Output);
    "total_cached_tokens" Counted(CacheRead);
    "total_thought_tokens" Counted(Reasoning);
    "total_reasoning_tokens" Counted(Reasoning);
    "total_tool_use_tokens" BesideInput;
    // Ollama.
    "prompt_eval_count" Counted(Input);
    "eval_count" Counted(Output);
    "prompt_eval_cached_count" Counted(CacheRead);
    // Kimi, DeepSeek, xAI, Mistral, Groq, Perplexity, Qwen, SGLang.
    "cached_tokens" Counted(CacheRead);
    "num_cached_tokens" Counted(CacheRead);
    "prompt_cache_hit_tokens" Counted(CacheRead);
    "prompt_cache_miss_tokens" Within;
    "reasoning_tokens" Counted(Reasoning);
    "num_sources_used" Charged;
    "num_server_side_tools_used" Charged;
    "cost_in_usd_ticks" Uncharged;
    "cost_in_nano_usd" Uncharged;
    "prompt_audio_seconds" Charged;
    "queue_time" Uncharged;
    "prompt_time" Uncharged;
    "completion_time" Uncharged;
    "total_time" Uncharged;
    "citation_tokens" Charged;
    "num_search_queries" Counted(WebSearches);
    "cost.input_tokens_cost" Uncharged;
    "cost.output_tokens_cost" Uncharged;
    "cost.request_cost" Uncharged;
    "cost.reasoning_tokens_cost" Uncharged;
    "cost.citation_tokens_cost" Uncharged;
    "cost.search_queries_cost" Uncharged;
    "cost.total_cost" Uncharged;
    "in.cache_creation_input_tokens" Counted(CacheWrite);
    "in.cache_creation.ephemeral_5m_input_tokens" WrittenFor5m;
    "in.cache_creation.ephemeral_1h_input_tokens" Counted(CacheWrite1h);
    // OpenRouter.
    "cost" Uncharged;
    "cost_details.upstream_inference_cost" Uncharged;
    "cost_details.upstream_inference_prompt_cost" Uncharged;
    "cost_details.upstream_inference_input_cost" Uncharged;
    "cost_details.upstream_inference_completions_cost" Uncharged;
    "cost_details.upstream_inference_output_cost" Uncharged;
    // Bedrock's Converse; Nova by InvokeModel.
    "cache_write_input_tokens" Counted(CacheWrite);
    "cache_read_input_token_count" Counted(CacheRead);
    "cache_write_input_token_count" Counted(CacheWrite);
    "cache_details.5m.input_tokens" WrittenFor5m;
    "cache_details.1h.input_tokens" Counted(CacheWrite1h);
    // Cohere: what is charged, and the same before the tokens that are free.
    "billed_units.input_tokens" Counted(Input);
    "billed_units.output_tokens" Counted(Output);
    "billed_units.image_tokens" Counted(InputImage);
    "billed_units.search_units" Charged;
    "billed_units.classifications" Charged;
    "billed_units.images" Charged;
    "tokens.input_tokens" Within;
    "tokens.output_tokens" Within;
    "tokens.image_tokens" Within;
    // LiteLLM.
    "in.cache_creation_tokens" Counted(CacheWrite);
    "in.cache_creation_token_details.ephemeral_5m_input_tokens" WrittenFor5m;
    "in.cache_creation_token_details.ephemeral_1h_input_tokens" Counted(CacheWrite1h);
    "in.web_search_requests" Counted(WebSearches);
    "in.character_count" Charged;
    "in.image_count" Charged;
    "in.video_length_seconds" Charged;
    // LangChain and LangSmith.
    "in.cache_read" Counted(CacheRead);
    "in.cache_creation" Counted(CacheWrite);
    "in.ephemeral_5m_input_tokens" WrittenFor5m;
    "in.ephemeral_1h_input_tokens" Counted(CacheWrite1h);
    "in.audio" Counted(InputAudio);
    "in.image" Counted(InputImage);
    "in.video" Counted(InputVideo);
    "in.text" Within;
    "out.reasoning" Counted(Reasoning);
    "out.audio" Counted(OutputAudio);
    "out.image" Counted(OutputImage);
    "out.video" Counted(OutputVideo);
    "out.text" Within;
    // The AI SDK, Genkit, Langfuse.
    "cached_input_tokens" Counted(CacheRead);
    "in.no_cache_tokens" Within;
    "in.cache_read_tokens" Counted(CacheRead);
    "cached_content_tokens" Counted(CacheRead);
    "thoughts_tokens" Counted(Reasoning);
    "input_characters" Within;
    "output_characters" Within;
    "input_images" Within;
    "output_images" Charged;
    "input_videos" Within;
    "output_videos" Charged;
    "input_audio_files" Charged;
    "output_audio_files" Charged;
    "input" Counted(Input);
    "output" Counted(Output);
    "total" Counted(Total);
    "input_cached_tokens" Counted(CacheRead);
    "input_cache_read" Counted(CacheRead);
    "input_cache_creation" Counted(CacheWrite);
    "input_audio_tokens" Counted(InputAudio);
    "output_audio_tokens" Counted(OutputAudio);
    "output_reasoning_tokens" Counted(Reasoning);
    "output_reasoning" Counted(Reasoning);
    // OpenTelemetry's shares by modality, OpenInference's, and the details of pydantic-ai.
    "text.input_tokens" Within;
    "text.output_tokens" Within;
    "text.cache_read.input_tokens" Within;
    "document.input_tokens" Within;
    "document.output_tokens" Within;
    "in.cache_input" Counted(CacheRead);
    "accepted_prediction_tokens" Within;
    "rejected_prediction_tokens" Within;
    "text_prompt_tokens" Within;
    "text_candidates_tokens" Within;
    "text_cache_tokens" Within;
    "document_prompt_tokens" Within;
    "audio_prompt_tokens" Counted(InputAudio);
    "image_prompt_tokens" Counted(InputImage);
    "video_prompt_tokens" Counted(InputVideo);
    "audio_candidates_tokens" Counted(OutputAudio);
    "image_candidates_tokens" Counted(OutputImage);
    "audio_cache_tokens" Counted(CacheReadAudio);
    "cost_usd" Uncharged;
    "total_cost" Uncharged;
    "input_cost" Uncharged;
    "output_cost" Uncharged;
    "prompt_cost" Uncharged;
    "completion_cost" Uncharged;
};

/// Shares that the number before them does not include, unless a total says that it does: Anthropic's cache, Gemini's
/// thoughts.
pub(crate) const BESIDE: &[(&str, &str)] = &[
    ("input_tokens", "cache_read_input_tokens"),
    ("input_tokens", "cache_creation_input_tokens"),
    ("input_tokens", "cache_write_input_tokens"),
    ("input_tokens", "cache_read_input_token_count"),
    ("input_tokens", "cache_write_input_token_count"),
    ("candidates_token_count", "thoughts_token_count"),
    ("response_token_count", "thoughts_token_count"),
    ("total_output_tokens", "total_thought_tokens"),
    ("total_output_tokens", "total_reasoning_tokens"),
];

/// Anthropic's list of what it asked the model for one answer, each with a usage of its own.
pub(crate) const ITERATIONS: &str = "iterations";
/// The type of those that the usage around them includes.
pub(crate) const INCLUDED_ITERATION: &str = "message";
/// The type of those by the same model that it does not include: what was before was summed up.
pub(crate) const ADDED_ITERATION: &str = "compaction";

/// The texts that say by which prices a call was served, with the values that mean the usual ones.
pub(crate) const USUAL_TEXTS: &[(&str, &[&str])] = &[
    (
        "service_tier",
        &[
            "default",
            "standard",
            "standard_only",
            "auto",
            "on_demand",
            "unspecified",
        ],
    ),
    ("traffic_type", &["on_demand", "traffic_type_unspecified"]),
    ("speed", &["standard"]),
    ("inference_geo", &["global", "not_available"]),
];

/// Meaning of the number at a normalised path; `None` where it is not known.
pub(crate) fn part(path: &str) -> Option<(usize, Part)> {
    let place = PARTS.iter().position(|(known, _)| *known == path)?;
    PARTS.get(place).map(|(_, part)| (place, *part))
}

/// Every path of the table.
#[cfg(test)]
pub(crate) fn all_parts() -> impl Iterator<Item = (&'static str, Part)> {
    PARTS.iter().copied()
}

/// A key in words divided by `_`, and what the APIs call details by their side.
pub(crate) fn normalised(key: &str) -> Cow<'_, str> {
    let mut words = Cow::Borrowed(key);
    if key.bytes().any(|byte| byte.is_ascii_uppercase()) {
        let mut divided = String::with_capacity(key.len() + 4);
        for character in key.chars() {
            if character.is_ascii_uppercase() && !divided.is_empty() {
                divided.push('_');
            }
            divided.push(character.to_ascii_lowercase());
        }
        words = Cow::Owned(divided);
    }
    match words.as_ref() {
        "prompt_tokens_details"
        | "prompt_token_details"
        | "input_tokens_details"
        | "input_token_details"
        | "prompt_details"
        | "input_tokens_by_modality" => "in".into(),
        "completion_tokens_details"
        | "completion_token_details"
        | "output_tokens_details"
        | "output_token_details"
        | "completion_details"
        | "output_tokens_by_modality"
        | "candidates_tokens_details"
        | "response_tokens_details" => "out".into(),
        "cache_tokens_details" | "cached_tokens_details" | "cached_tokens_by_modality" => "cache".into(),
        "tool_use_prompt_tokens_details" | "tool_use_tokens_by_modality" => "tool".into(),
        _ => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_a_usage_has_one_meaning() {
        for (place, (path, _)) in PARTS.iter().enumerate() {
            assert_eq!(part(path).map(|(found, _)| found), Some(place), "{path}");
        }
        for path in BESIDE.iter().flat_map(|(whole, share)| [whole, share]) {
            assert!(matches!(part(path), Some((_, Part::Counted(_)))), "{path}");
        }
    }

    #[test]
    fn keys_of_all_languages_are_one() {
        for (key, expected) in [
            ("promptTokensDetails", "in"),
            ("input_token_details", "in"),
            ("candidatesTokensDetails", "out"),
            ("cacheReadInputTokens", "cache_read_input_tokens"),
            ("ephemeral_1h_input_tokens", "ephemeral_1h_input_tokens"),
            ("", ""),
        ] {
            assert_eq!(normalised(key), expected, "{key}");
        }
    }
}
