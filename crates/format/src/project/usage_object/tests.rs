//! Usage objects of the APIs and of their SDKs' types, and that no number of one is lost.

use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use crate::vocabulary::all_parts;

/// The sides and the total, then the other counts that are not zero, in the order of a usage.
fn counts(object: &Value) -> Vec<u64> {
    let usage = UsageObject::read(object).usage;
    let parts = usage.parts();
    let sides = parts.iter().take(3).map(|part| part.unwrap_or(u64::MAX));
    sides
        .chain(parts.iter().skip(3).flatten().copied().filter(|count| *count > 0))
        .collect()
}

/// Every member that the types of the public SDKs have, each with a number.
#[test]
fn all_numbers_of_the_sdks_types_are_understood() {
    for (expected, object) in [
        // OpenAI: CompletionUsage.
        (
            vec![100, 50, 150, 30, 20, 5, 4],
            json!({"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150,
                "prompt_tokens_details": {"cached_tokens": 30, "audio_tokens": 5},
                "completion_tokens_details": {"reasoning_tokens": 20, "audio_tokens": 4,
                    "accepted_prediction_tokens": 3, "rejected_prediction_tokens": 2}}),
        ),
        // OpenAI: ResponseUsage, with what it wrote to its cache.
        (
            vec![18_014, 10, 18_024, 18_011],
            json!({"input_tokens": 18_014, "input_tokens_details": {"cache_write_tokens": 18_011, "cached_tokens": 0},
                "output_tokens": 10, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 18_024}),
        ),
        // OpenAI: images, transcription, realtime.
        (
            vec![70, 300, 370, 50, 280],
            json!({"input_tokens": 70, "output_tokens": 300, "total_tokens": 370,
                "input_tokens_details": {"text_tokens": 20, "image_tokens": 50},
                "output_tokens_details": {"image_tokens": 280, "text_tokens": 20}}),
        ),
        (
            vec![14, 45, 59, 14],
            json!({"type": "tokens", "input_tokens": 14, "input_token_details": {"text_tokens": 0, "audio_tokens": 14},
                "output_tokens": 45, "total_tokens": 59}),
        ),
        (
            vec![100, 60, 160, 40, 10, 70, 50],
            json!({"total_tokens": 160, "input_tokens": 100, "output_tokens": 60,
                "input_token_details": {"text_tokens": 30, "audio_tokens": 70, "cached_tokens": 40,
                    "cached_tokens_details": {"text_tokens": 30, "audio_tokens": 10}},
                "output_token_details": {"text_tokens": 10, "audio_tokens": 50}}),
        ),
        // Embeddings: what the total leaves is the output.
        (vec![8, 0, 8], json!({"prompt_tokens": 8, "total_tokens": 8})),
        // Anthropic: Usage; caches are beside the input.
        (
            vec![610, 20, 630, 200, 400, 7, 300, 2],
            json!({"input_tokens": 10, "cache_creation_input_tokens": 400, "cache_read_input_tokens": 200,
                "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 300},
                "output_tokens": 20, "output_tokens_details": {"thinking_tokens": 7},
                "server_tool_use": {"web_search_requests": 2, "web_fetch_requests": 1}, "service_tier": "standard",
                "inference_geo": "global"}),
        ),
        // Gemini: UsageMetadata; thoughts and what its tools read are beside.
        (
            vec![180, 29, 209, 50, 9, 30, 60, 10],
            json!({"promptTokenCount": 110, "cachedContentTokenCount": 50, "candidatesTokenCount": 20,
                "toolUsePromptTokenCount": 70, "thoughtsTokenCount": 9, "totalTokenCount": 209, "trafficType": "ON_DEMAND",
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 40}, {"modality": "AUDIO", "tokenCount": 60},
                    {"modality": "IMAGE", "tokenCount": 10}],
                "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 20}, {"modality": "AUDIO", "tokenCount": 30}],
                "candidatesTokensDetails": [{"modality": "TEXT", "tokenCount": 20}],
                "toolUsePromptTokensDetails": [{"modality": "TEXT", "tokenCount": 70}]}),
        ),
        // The same of the Python SDK, and of Live.
        (
            vec![10, 9, 19, 4, 3],
            json!({"prompt_token_count": 10, "response_token_count": 5, "thoughts_token_count": 4, "total_token_count": 19,
                "response_tokens_details": [{"modality": "AUDIO", "token_count": 3}, {"modality": "TEXT", "token_count": 2}]}),
        ),
        // Gemini: interactions.
        (
            vec![25, 13, 38, 2, 5, 3],
            json!({"total_input_tokens": 20, "total_cached_tokens": 2, "total_output_tokens": 8, "total_tool_use_tokens": 5,
                "total_thought_tokens": 5, "total_tokens": 38,
                "input_tokens_by_modality": [{"modality": "text", "tokens": 17}, {"modality": "audio", "tokens": 3}]}),
        ),
        // Gemini that thought until it was stopped.
        (
            vec![10, 4, 14, 4],
            json!({"promptTokenCount": 10, "thoughtsTokenCount": 4, "totalTokenCount": 14}),
        ),
        // Ollama.
        (
            vec![26, 290, 316, 20],
            json!({"prompt_eval_count": 26, "eval_count": 290, "prompt_eval_cached_count": 20}),
        ),
        // xAI: reasoning is beside the completion.
        (
            vec![32, 103, 135, 6, 94],
            json!({"prompt_tokens": 32, "completion_tokens": 9, "total_tokens": 135,
                "prompt_tokens_details": {"text_tokens": 32, "audio_tokens": 0, "image_tokens": 0, "cached_tokens": 6},
                "completion_tokens_details": {"reasoning_tokens": 94, "audio_tokens": 0, "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0}, "num_sources_used": 0, "cost_in_usd_ticks": 37_756_000}),
        ),
        // Kimi, DeepSeek, Mistral, Groq, OpenRouter.
        (
            vec![19, 13, 32, 11],
            json!({"prompt_tokens": 19, "completion_tokens": 13, "total_tokens": 32, "cached_tokens": 11}),
        ),
        (
            vec![16, 10, 26, 12, 4],
            json!({"prompt_tokens": 16, "completion_tokens": 10, "total_tokens": 26, "prompt_cache_hit_tokens": 12,
                "prompt_cache_miss_tokens": 4, "prompt_tokens_details": {"cached_tokens": 12},
                "completion_tokens_details": {"reasoning_tokens": 4}}),
        ),
        (
            vec![16, 10, 26, 3],
            json!({"prompt_tokens": 16, "completion_tokens": 10, "total_tokens": 26, "prompt_audio_seconds": null,
                "num_cached_tokens": 3}),
        ),
        (
            vec![16, 10, 26],
            json!({"queue_time": 0.02, "prompt_tokens": 16, "prompt_time": 0.001, "completion_tokens": 10,
                "completion_time": 0.5, "total_tokens": 26, "total_time": 0.53}),
        ),
        (
            vec![194, 2, 196, 150, 7, 1],
            json!({"prompt_tokens": 194, "completion_tokens": 2, "total_tokens": 196, "cost": 0.95, "is_byok": false,
                "prompt_tokens_details": {"cached_tokens": 150, "cache_write_tokens": 7, "audio_tokens": 0, "video_tokens": 0},
                "cost_details": {"upstream_inference_cost": 19.5, "upstream_inference_prompt_cost": 1.0,
                    "upstream_inference_completions_cost": 18.5},
                "completion_tokens_details": {"reasoning_tokens": 1, "image_tokens": 0}}),
        ),
        // Bedrock's Converse: caches are beside the input.
        (
            vec![137, 5, 142, 100, 27, 7],
            json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 142, "cacheReadInputTokens": 100,
                "cacheWriteInputTokens": 27,
                "cacheDetails": [{"ttl": "5m", "inputTokens": 20}, {"ttl": "1h", "inputTokens": 7}]}),
        ),
        // Cohere: what is charged.
        (
            vec![3, 4, 7],
            json!({"billed_units": {"input_tokens": 3.0, "output_tokens": 4.0}, "tokens": {"input_tokens": 69.0, "output_tokens": 4.0}}),
        ),
        // LangChain, the AI SDK, Genkit.
        (
            vec![350, 240, 590, 100, 200, 200, 50, 10],
            json!({"input_tokens": 350, "output_tokens": 240, "total_tokens": 590,
                "input_token_details": {"audio": 10, "cache_creation": 200, "cache_read": 100,
                    "ephemeral_5m_input_tokens": 150, "ephemeral_1h_input_tokens": 50},
                "output_token_details": {"reasoning": 200}}),
        ),
        (
            vec![10, 5, 15, 1, 3, 2],
            json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "reasoningTokens": 2, "cachedInputTokens": 1,
                "inputTokenDetails": {"noCacheTokens": 6, "cacheReadTokens": 1, "cacheWriteTokens": 3},
                "outputTokenDetails": {"textTokens": 3, "reasoningTokens": 2}}),
        ),
        (
            vec![10, 5, 15, 4, 2],
            json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "thoughtsTokens": 2, "cachedContentTokens": 4,
                "inputCharacters": 44, "outputCharacters": 20, "inputImages": 0}),
        ),
    ] {
        let read = UsageObject::read(&object);
        assert_eq!(counts(&object), expected, "{object}");
        assert_eq!((read.not_counted, read.usage.gap), (vec![], None), "{object}");
    }
}

#[test]
fn what_is_charged_beside_tokens_makes_a_gap() {
    for (more, path) in [
        (json!({"num_sources_used": 3}), "num_sources_used"),
        (
            json!({"server_tool_use": {"code_execution_requests": 1}}),
            "server_tool_use.code_execution_requests",
        ),
        (json!({"moon_tokens": "4"}), "moon_tokens"),
        (
            json!({"prompt_tokens_details": {"cached_tokens": -3}}),
            "in.cached_tokens",
        ),
        (json!({"a": [[[{"b": 1.5}]]]}), "a.b"),
        (
            json!({"cached_tokens": 4, "prompt_cache_hit_tokens": 5}),
            "prompt_cache_hit_tokens",
        ),
        (
            json!({"toolUsePromptTokensDetails": [{"modality": "AUDIO", "tokenCount": 1}]}),
            "tool.audio_tokens",
        ),
        (
            json!({"promptTokensDetails": [{"modality": "SMELL", "tokenCount": 1}]}),
            "in.smell_tokens",
        ),
    ] {
        let mut object = json!({"prompt_tokens": 10, "completion_tokens": 5});
        object
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        let read = UsageObject::read(&object);
        assert_eq!(
            (read.not_counted, read.usage.gap),
            (vec![path.to_owned()], Some(UsageGap::Parts))
        );
        assert_eq!(
            (read.usage.prompt_tokens, read.usage.completion_tokens),
            (Some(10), Some(5))
        );
    }
    for (key, value) in [
        ("service_tier", "flex"),
        ("speed", "fast"),
        ("trafficType", "PROVISIONED_THROUGHPUT"),
        ("inference_geo", "us"),
    ] {
        let read = UsageObject::read(&json!({"input_tokens": 10, "output_tokens": 5, key: value}));
        assert_eq!(
            (read.service_tier.as_deref(), read.usage.gap),
            (Some(value), Some(UsageGap::ServiceTier))
        );
    }
}

#[test]
fn numbers_are_read_as_floats_and_text() {
    let read =
        UsageObject::read(&json!({"prompt_tokens": 12.0, "completion_tokens": "3", "total_tokens": "15.0"}));
    assert_eq!((read.usage, read.not_counted.len()), (Usage::new(12, 3), 0));
}

#[test]
fn a_summary_of_what_was_before_is_added_to_the_answer() {
    let iteration = |kind: &str, input: u64, output: u64| {
        json!({"type": kind, "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0})
    };
    let usage = |iterations: Value| {
        json!({"input_tokens": 23_000, "output_tokens": 1_000, "cache_read_input_tokens": 0,
            "cache_creation_input_tokens": 0, "iterations": iterations})
    };
    let whole = usage(json!([
        iteration("compaction", 180_000, 3_500),
        iteration("message", 23_000, 1_000)
    ]));
    let read = UsageObject::read(&whole);
    let sides = (
        read.usage.prompt_tokens,
        read.usage.completion_tokens,
        read.usage.total_tokens,
    );
    assert_eq!(
        (sides, read.usage.gap),
        ((Some(203_000), Some(4_500), Some(207_500)), None)
    );
    // Another model, and messages that the usage around them does not have.
    for (odd, path) in [
        (
            json!([iteration("advisor_message", 5, 5)]),
            "iterations.advisor_message",
        ),
        (json!([iteration("message", 23_001, 1_000)]), "iterations"),
    ] {
        let read = UsageObject::read(&usage(odd));
        assert_eq!(
            (read.not_counted, read.usage.prompt_tokens),
            (vec![path.to_owned()], Some(23_000))
        );
    }
}

#[test]
fn hostile_objects_are_bounded() {
    let deep = (0..100).fold(json!(1), |inner, _| json!({"a": inner}));
    assert_eq!(UsageObject::read(&deep).usage.gap, None, "no count is known");
    assert_eq!(UsageObject::read(&deep).not_counted.len(), 1);
    let wide: Map<String, Value> = (0..10_000)
        .map(|number| (format!("k{number}"), json!(1)))
        .collect();
    assert_eq!(UsageObject::read(&wide.into()).not_counted.len(), MAX_NUMBERS);
    let large = json!({"prompt_tokens": u64::MAX, "completion_tokens": u64::MAX, "cached_tokens": u64::MAX, "total_tokens": 3});
    assert_eq!(UsageObject::read(&large).usage.prompt_tokens, Some(u64::MAX));
    for odd in [json!(null), json!(7), json!("x"), json!([]), json!([1, "2"])] {
        assert_eq!(UsageObject::read(&odd).usage, Usage::default(), "{odd}");
    }
}

/// An object with a number at each of these paths.
fn object_of(numbers: &[(String, u64)]) -> Value {
    let mut object = json!({});
    for (path, number) in numbers {
        let mut place = &mut object;
        for key in path.split('.') {
            if !place.is_object() {
                // A number is there already.
                return object;
            }
            place = &mut place[key];
        }
        if place.is_null() {
            *place = json!(number);
        }
    }
    object
}

/// The paths of an object's numbers, as JSON pointers.
fn numbers_in(value: &Value, at: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                numbers_in(value, &format!("{at}/{key}"), found);
            }
        }
        Value::Number(_) => found.push(at.to_owned()),
        _ => {}
    }
}

proptest! {
    /// Of any usage object: a number that is larger gives another usage, or is named, or is a part of another number.
    #[test]
    fn no_number_of_a_usage_disappears(
        chosen in prop::collection::vec((prop::sample::select(all_parts().map(|(path, _)| path).collect::<Vec<_>>()), 0_u64..500), 1..14),
        unknown in prop::collection::vec(("[a-c]{1,2}_tokens(\\.[a-c])?", 0_u64..50), 0..3),
        more in 1_u64..1_000,
    ) {
        let known = chosen.into_iter().map(|(path, number)| (path.to_owned(), number));
        let object = object_of(&known.chain(unknown).collect::<Vec<_>>());
        let before = UsageObject::read(&object);
        let mut numbers = Vec::new();
        numbers_in(&object, "", &mut numbers);
        for at in numbers {
            let path = at[1..].replace('/', ".");
            let known = part(&path).map(|(_, part)| part);
            let number = object.pointer(&at).unwrap().as_u64().unwrap();
            if number > 0 {
                let is_named = before.not_counted.contains(&path);
                prop_assert!(known.is_some() || is_named, "{} in {}", path, object);
            }
            if matches!(known, Some(Part::Within | Part::Uncharged)) {
                continue;
            }
            let mut larger = object.clone();
            *larger.pointer_mut(&at).unwrap() = json!(number + more);
            let after = UsageObject::read(&larger);
            prop_assert!(after != before || !after.not_counted.is_empty(), "{} in {}", path, object);
        }
    }
}
