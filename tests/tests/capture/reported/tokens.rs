//! Tokens and money of reported exchanges, worked out by hand from the providers' price pages.

#![expect(
    clippy::needless_pass_by_value,
    reason = "each usage is written where it is asked for"
)]

use serde_json::{Value, json};
use tracer_sdk::Usage;
use tracer_sdk::format::{Payload, UsageGap};
use tracer_sdk::prices::{CallCost, NoPrice, Prices};

use super::{Played, play, play_turns};

/// The tokens of the one model call, what it costs, and what is said of its usage.
fn call(played: &Played) -> (Usage, CallCost, Value) {
    let mut calls = played
        .run
        .records
        .iter()
        .filter_map(|record| match &record.payload {
            Payload::LlmCall { usage, .. } => Some((*usage, record)),
            _ => None,
        });
    let (Some((usage, record)), None) = (calls.next(), calls.next()) else {
        panic!("one model call")
    };
    let cost = Prices::default().cost(record).unwrap();
    (usage, cost, Value::Object(record.meta.clone()))
}

/// The dollars of a call that is priced wholly.
fn dollars(played: &Played) -> String {
    call(played).1.usd().unwrap().to_decimal()
}

fn sides(usage: &Usage) -> [Option<u64>; 3] {
    [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens]
}

fn messages(usage: Value) -> Value {
    json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "text", "text": "The 6:40."}], "stop_reason": "end_turn", "usage": usage})
}

fn chat(model: &str, usage: Value) -> Value {
    json!({"id": "chatcmpl-7", "object": "chat.completion", "model": model, "usage": usage,
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "The 6:40."}}]})
}

fn gemini(usage: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": usage, "modelVersion": "gemini-2.5-flash", "responseId": "g1"})
}

fn ask(api: &str, path: &str, model: &str, reply: Value) -> Played {
    let request = json!({"model": model, "max_tokens": 5, "messages": [{"role": "user", "content": "Which ferry?"}],
        "contents": [{"role": "user", "parts": [{"text": "Which ferry?"}]}]});
    play_turns(&json!({"turns": [{"api": api, "path": path, "request": request, "reply": reply}]}))
}

fn ask_claude(usage: Value) -> Played {
    ask("anthropic", "/v1/messages", "claude-sonnet-4-5", messages(usage))
}

fn ask_gpt(usage: Value) -> Played {
    ask(
        "openai",
        "/chat/completions",
        "gpt-4o",
        chat("gpt-4o-2024-08-06", usage),
    )
}

fn ask_gemini(usage: Value) -> Played {
    ask(
        "gemini",
        "/v1beta/models/gemini-2.5-flash:generateContent",
        "",
        gemini(usage),
    )
}

#[test]
fn an_hour_in_the_cache_costs_twice_the_input() {
    let played = play("anthropic-one-hour-cache-write");
    let (usage, ..) = call(&played);
    assert_eq!(
        (
            usage.prompt_tokens,
            usage.cache_write_tokens,
            usage.cache_write_1h_tokens
        ),
        (Some(100_010), Some(100_000), Some(100_000))
    );
    // 10 × $3, 100000 × $6, 20 × $15, a million each.
    assert_eq!(dollars(&played), "0.60033");
    assert!(played.tracer(&["show"]).contains("$0.60"));

    // Above 200000 tokens each price is twice as high: 250000 × $12, 10 × $6, 20 × $22.50.
    let usage = |minutes: u64, hour: u64| {
        json!({"input_tokens": 10, "cache_creation_input_tokens": minutes + hour, "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": minutes, "ephemeral_1h_input_tokens": hour}, "output_tokens": 20})
    };
    assert_eq!(dollars(&ask_claude(usage(0, 250_000))), "3.00051");
    // Both lifetimes: 10 × $3, 30000 × $3.75, 20000 × $6, 20 × $15.
    assert_eq!(dollars(&ask_claude(usage(30_000, 20_000))), "0.23283");
}

#[test]
fn a_stream_says_the_same_as_a_document() {
    let event = |kind: &str, value: &Value| format!("event: {kind}\ndata: {value}\n\n");
    let mut start = messages(
        json!({"input_tokens": 10, "cache_creation_input_tokens": 100_000, "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 100_000}, "output_tokens": 1}),
    );
    start["content"] = json!([]);
    start["stop_reason"] = json!(null);
    let events = [
        event(
            "message_start",
            &json!({"type": "message_start", "message": start}),
        ),
        event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        ),
        event(
            "content_block_delta",
            &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "The 6:40."}}),
        ),
        event(
            "content_block_stop",
            &json!({"type": "content_block_stop", "index": 0}),
        ),
        event(
            "message_delta",
            &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 20}}),
        ),
        event("message_stop", &json!({"type": "message_stop"})),
    ];
    let played = ask("anthropic", "/v1/messages", "claude-sonnet-4-5", json!(events));
    assert_eq!(dollars(&played), "0.60033");

    let data = |value: &Value| format!("data: {value}\r\n\r\n");
    let played = ask(
        "gemini",
        "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse",
        "",
        json!([data(&gemini(
            json!({"promptTokenCount": 10_000, "candidatesTokenCount": 20, "totalTokenCount": 10_020,
            "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 9_000}, {"modality": "TEXT", "tokenCount": 1_000}]})
        ))]),
    );
    assert_eq!(dollars(&played), "0.00935");
}

#[test]
fn sound_has_a_price_of_its_own() {
    let played = play("gemini-audio-input");
    let (usage, ..) = call(&played);
    assert_eq!(
        (usage.prompt_tokens, usage.input_audio_tokens),
        (Some(10_000), Some(9_000))
    );
    // 9000 × $1, 1000 × $0.30, 20 × $2.50.
    assert_eq!(dollars(&played), "0.00935");
    assert!(
        played
            .tracer(&["show", "--step", "1"])
            .contains("9,000 of sound in")
    );

    // Images cost as text does; what was cached is divided as the provider says.
    let details = |cached: Value| {
        json!({"promptTokenCount": 10_000, "candidatesTokenCount": 20, "totalTokenCount": 10_020, "cachedContentTokenCount": 4_000,
            "promptTokensDetails": [{"modality": "AUDIO", "tokenCount": 6_000}, {"modality": "IMAGE", "tokenCount": 4_000}],
            "cacheTokensDetails": cached})
    };
    // 5000 × $1, 1000 × $0.30, 1000 × $0.10 cached sound, 3000 × $0.03 cached images, 20 × $2.50.
    let known =
        json!([{"modality": "AUDIO", "tokenCount": 1_000}, {"modality": "IMAGE", "tokenCount": 3_000}]);
    assert_eq!(dollars(&ask_gemini(details(known))), "0.00554");
    // At least 2000 × $1, 4000 × $0.30, 4000 × $0.10, 20 × $2.50.
    let (_, cost, _) = call(&ask_gemini(details(json!([]))));
    assert_eq!(
        (cost.priced.unwrap().to_decimal().as_str(), cost.is_least),
        ("0.00365", true)
    );

    // This model's sound is not in the table: at least 100 × $2.50, 10 × $10.
    let played = ask_gpt(
        json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 40}}),
    );
    let (_, cost, _) = call(&played);
    assert_eq!(
        (cost.priced.unwrap().to_decimal().as_str(), cost.is_least),
        ("0.00035", true)
    );
    assert!(
        played
            .tracer(&["show"])
            .contains("at least $0.00035, 1 of 1 call is priced in part")
    );
    assert!(
        played
            .tracer(&["show", "--step", "1"])
            .contains("cost at least $0.00035: not all that is charged is known")
    );
}

#[test]
fn what_is_written_to_the_cache_costs_its_price() {
    let played = play("openai-cache-write-tokens");
    let (usage, ..) = call(&played);
    assert_eq!(
        (usage.prompt_tokens, usage.cache_write_tokens),
        (Some(18_014), Some(18_011))
    );
    // 18011 × $5, 3 × $4, 10 × $20.
    assert_eq!(dollars(&played), "0.090267");
    assert!(played.tracer(&["show"]).contains("18,011 written to the cache"));
}

#[test]
fn a_total_says_what_is_beside() {
    let (usage, _, meta) = call(&play("reasoning-beside-completion"));
    assert_eq!(sides(&usage), [Some(32), Some(103), Some(135)]);
    assert_eq!(
        (usage.cache_read_tokens, usage.reasoning_tokens),
        (Some(6), Some(94))
    );
    assert_eq!(meta.get("usage_contradiction"), None);

    // And what no reading explains: at least 13 × $0.30 and 4 × $2.50.
    let (usage, cost, meta) = call(&ask_gemini(
        json!({"promptTokenCount": 13, "candidatesTokenCount": 4, "totalTokenCount": 522}),
    ));
    assert_eq!(sides(&usage), [Some(13), Some(4), Some(522)]);
    assert_eq!(
        meta["usage_contradiction"],
        "total 522 is more than input and output, 17"
    );
    assert_eq!(
        (cost.priced.unwrap().to_decimal().as_str(), cost.is_least),
        ("0.0000139", true)
    );
    let (_, cost, meta) = call(&ask_gpt(
        json!({"prompt_tokens": 13, "completion_tokens": 4, "total_tokens": 5}),
    ));
    assert_eq!(
        meta["usage_contradiction"],
        "total 5 is less than input and output, 17"
    );
    assert_eq!(cost.usd(), Err(NoPrice::ContradictoryUsage));
}

#[test]
fn counts_are_numbers_however_they_are_written() {
    assert_eq!(call(&play("usage-as-floats")).0, Usage::new(12, 3));
    let text = json!({"prompt_tokens": "12", "completion_tokens": "3", "total_tokens": "15"});
    assert_eq!(call(&ask_gpt(text)).0, Usage::new(12, 3));
    assert_eq!(
        sides(&call(&play("usage-inside-choices")).0),
        [Some(19), Some(13), Some(32)]
    );
}

#[test]
fn each_provider_has_its_words_for_the_cache() {
    for (usage, read) in [
        (json!({"cached_tokens": 11}), Some(11)),
        (
            json!({"prompt_cache_hit_tokens": 12, "prompt_cache_miss_tokens": 7}),
            Some(12),
        ),
        (json!({"prompt_tokens_details": {"cached_tokens": 6}}), Some(6)),
        (json!({}), None),
    ] {
        let mut counts = json!({"prompt_tokens": 19, "completion_tokens": 13, "total_tokens": 32});
        counts
            .as_object_mut()
            .unwrap()
            .extend(usage.as_object().unwrap().clone());
        let (found, cost, _) = call(&ask_gpt(counts));
        assert_eq!((found.cache_read_tokens, cost.is_least), (read, false), "{usage}");
    }
    let ollama = json!({"model": "llama3.2", "message": {"role": "assistant", "content": "The 6:40."}, "done": true,
        "done_reason": "stop", "total_duration": 5_191_566_416_u64, "prompt_eval_count": 26, "eval_count": 29,
        "prompt_eval_cached_count": 20});
    let (usage, ..) = call(&ask("ollama", "/api/chat", "llama3.2", ollama));
    assert_eq!(sides(&usage), [Some(26), Some(29), Some(55)]);
    assert_eq!((usage.cache_read_tokens, usage.gap), (Some(20), None));
}

#[test]
fn what_is_not_understood_makes_a_cost_the_least() {
    let (usage, cost, meta) = call(&ask_gpt(
        json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, "moon_tokens": 7}),
    ));
    assert_eq!(
        (usage.gap, meta["usage_not_counted"].as_str()),
        (Some(UsageGap::Parts), Some("moon_tokens"))
    );
    assert_eq!(
        (cost.priced.unwrap().to_decimal().as_str(), cost.is_least),
        ("0.00035", true)
    );

    // 100 × $3, 10 × $15, and three searches at $10 for a thousand.
    let searched = |more: Value| {
        let mut usage = json!({"input_tokens": 100, "output_tokens": 10});
        usage["server_tool_use"] = more;
        ask_claude(usage)
    };
    assert_eq!(dollars(&searched(json!({"web_search_requests": 3}))), "0.03045");
    let (_, cost, meta) = call(&searched(
        json!({"web_search_requests": 0, "code_execution_requests": 2}),
    ));
    assert_eq!(
        meta["usage_not_counted"],
        "server_tool_use.code_execution_requests"
    );
    assert_eq!(
        (cost.priced.unwrap().to_decimal().as_str(), cost.is_least),
        ("0.00045", true)
    );
}

#[test]
fn another_service_tier_has_other_prices() {
    let usage = json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110});
    for (tier, is_known) in [
        ("default", true),
        ("flex", false),
        ("priority", false),
        ("batch", false),
    ] {
        let mut reply = chat("gpt-4o-2024-08-06", usage.clone());
        reply["service_tier"] = json!(tier);
        let played = ask("openai", "/chat/completions", "gpt-4o", reply);
        let (_, cost, _) = call(&played);
        assert_eq!(cost.usd().is_ok(), is_known, "{tier}");
        let words = played.tracer(&["show", "--step", "1"]);
        assert_eq!(
            words.contains("the prices of its service tier are not known"),
            !is_known,
            "{words}"
        );
    }
    let batch = json!({"input_tokens": 100, "output_tokens": 10, "service_tier": "batch"});
    assert_eq!(call(&ask_claude(batch)).1.usd(), Err(NoPrice::ServiceTier));
    let standard = json!({"input_tokens": 100, "output_tokens": 10, "service_tier": "standard"});
    assert_eq!(dollars(&ask_claude(standard)), "0.00045");
}

#[test]
fn what_was_summed_up_before_is_charged_too() {
    let iteration = |kind: &str, input: u64, output: u64| json!({"type": kind, "input_tokens": input, "output_tokens": output, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0});
    let played = ask_claude(
        json!({"input_tokens": 23_000, "output_tokens": 1_000, "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "iterations": [iteration("compaction", 100_000, 3_500), iteration("message", 23_000, 1_000)]}),
    );
    assert_eq!(
        sides(&call(&played).0),
        [Some(123_000), Some(4_500), Some(127_500)]
    );
    // 123000 × $3, 4500 × $15.
    assert_eq!(dollars(&played), "0.4365");
}

#[test]
fn zero_tokens_beside_an_answer_are_no_zero() {
    for played in [
        ask_gpt(json!({"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0})),
        ask_claude(json!({"input_tokens": 0, "output_tokens": 0})),
        ask_gemini(json!({"promptTokenCount": 0, "candidatesTokenCount": 0, "totalTokenCount": 0})),
    ] {
        let (usage, cost, _) = call(&played);
        assert_eq!(sides(&usage), [None; 3]);
        assert_eq!(cost.usd(), Err(NoPrice::NoUsage));
        assert!(!played.tracer(&["show"]).contains("$0"), "unknown is no zero");
    }
}
