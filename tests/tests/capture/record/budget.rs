//! Limits of what a recorded command may use: which calls are refused, in which form, and what the run says.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tracer_sdk::format::{EventType, Payload};
use tracer_tests::model_server::ModelServer;

use super::signals::on_a_terminal;
use super::{EXPORTER, Outcome, Recorder};

/// A provider whose answers have these tokens, and a recorder whose `OPENAI_BASE_URL` is it.
fn provider(model: &str, usage: &Value) -> (ModelServer, Recorder) {
    let server = ModelServer::with_json(&json!({
        "id": "chatcmpl-1", "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Good day"}, "finish_reason": "stop"}],
        "usage": usage,
    }));
    let recorder = Recorder::new().env("OPENAI_BASE_URL", &format!("{}/v1", server.base()));
    (server, recorder)
}

/// Five cents at the price of `gpt-5`.
fn five_cents() -> Value {
    json!({"prompt_tokens": 40_000, "completion_tokens": 0, "total_tokens": 40_000})
}

/// Records a program that makes twenty calls of `gpt-5` at once.
fn at_once(recorder: &Recorder, options: &[&str]) -> Outcome {
    let script = format!("for n in $(seq 20); do {EXPORTER} ask-model & done; wait");
    recorder.record_with(options, &["sh", "-c", &script])
}

/// Records a program that makes these requests one after the other.
fn in_turn(recorder: &Recorder, options: &[&str], requests: &[Value]) -> Outcome {
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    recorder.write("script.jsonl", &lines.join("\n"));
    recorder.record_with(options, &[EXPORTER, "ask-script"])
}

fn chat(model: &str) -> Value {
    let messages = json!([{"role": "user", "content": "Hi"}]);
    json!({"base": "OPENAI_BASE_URL", "path": "/chat/completions", "body": {"model": model, "messages": messages}})
}

/// The attributes of the run's error.
fn error_of(recorder: &Recorder) -> Value {
    let run = recorder.run();
    let root = run.span(run.only(EventType::RunStart));
    json!(root.events[0].attributes)
}

#[test]
fn no_call_past_the_limit_is_sent() {
    let (server, recorder) = provider("gpt-5", &five_cents());
    let outcome = at_once(&recorder, &["--max-calls", "5"]);
    assert_eq!(server.requests().len(), 5);
    assert_eq!(outcome.stdout.matches("HTTP/1.1 400").count(), 15, "{outcome:#?}");
    assert_eq!(outcome.code, Some(0), "the command's own");
    outcome.says(
        "the run was stopped by max_llm_calls: 6 model calls, and 5 are allowed; 15 calls refused; raise the limit with \
         --max-calls",
    );
    let run = recorder.run();
    assert_eq!(run.all(EventType::LlmCall).len(), 5, "a refused call is none");
    let is_refused = |payload: &Payload| matches!(payload, Payload::Unknown { error: Some(error), .. } if error.error_type == "GuardrailExceeded");
    let refused = run.records.iter().filter(|record| is_refused(&record.payload));
    assert_eq!(refused.count(), 15, "each is shown");
    let error = error_of(&recorder);
    assert_eq!(error["tracer.error_type"], "GuardrailExceeded");
    assert_eq!(
        [
            &error["tracer.guardrail"],
            &error["tracer.threshold"],
            &error["tracer.actual"]
        ],
        [&json!("max_llm_calls"), &json!(5), &json!(6)]
    );
}

#[test]
fn a_limit_is_exceeded_by_the_call_on_its_way() {
    for (option, limit, guardrail, actual) in [
        ("--max-cost", "0.12", "max_cost_usd", json!(0.15)),
        ("--max-tokens", "100k", "max_tokens", json!(120_000)),
    ] {
        let (server, recorder) = provider("gpt-5", &five_cents());
        at_once(&recorder, &[option, limit]);
        assert_eq!(server.requests().len(), 3, "{option}");
        let error = error_of(&recorder);
        assert_eq!(
            (&error["tracer.guardrail"], &error["tracer.actual"]),
            (&json!(guardrail), &actual)
        );
    }
}

#[test]
fn calls_that_fit_together_are_made_together() {
    // Each of the two answers comes when both were asked for.
    let both = std::sync::Arc::new(std::sync::Barrier::new(2));
    let server = ModelServer::start(move |_, stream| {
        both.wait();
        let body = json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}).to_string();
        let answer = tracer_tests::model_server::whole_answer("application/json", body.as_bytes());
        let _ = std::io::Write::write_all(stream, &answer);
    });
    let recorder = Recorder::new().env("OPENAI_BASE_URL", &format!("{}/v1", server.base()));
    let script = format!("{EXPORTER} ask-model & {EXPORTER} ask-model; wait");
    recorder.record_with(&["--max-tokens", "100k"], &["sh", "-c", &script]);
    assert_eq!(recorder.run().all(EventType::LlmCall).len(), 2);
}

#[test]
fn a_refusal_has_the_form_of_its_api() {
    let (_server, recorder) = provider("gpt-5", &five_cents());
    let of = |base: &str, path: &str| json!({"base": base, "path": path, "body": {"model": "m"}});
    let outcome = in_turn(
        &recorder,
        &["--max-calls", "1"],
        &[
            chat("gpt-5"),
            chat("gpt-5"),
            of("ANTHROPIC_BASE_URL", "/v1/messages"),
            of(
                "GOOGLE_GEMINI_BASE_URL",
                "/v1beta/models/gemini-3-pro:generateContent",
            ),
            of("OLLAMA_HOST", "/api/chat"),
        ],
    );
    let answers = outcome.stdout.split("400 ").skip(1);
    let bodies = answers.filter_map(|answer| {
        let (_, body) = answer.split_once('\n')?;
        serde_json::Deserializer::from_str(body).into_iter().next()?.ok()
    });
    let bodies: Vec<Value> = bodies.collect();
    let messages = ["/error/message", "/error/message", "/error/message", "/error"];
    assert_eq!(bodies.len(), messages.len(), "{outcome:#?}");
    for (body, place) in bodies.iter().zip(messages) {
        let message = body.pointer(place).and_then(Value::as_str).unwrap();
        assert!(
            message.contains("max_llm_calls: 2 model calls, and 1 is allowed")
                && message.contains("a higher --max-calls"),
            "{body}"
        );
    }
    assert_eq!(bodies[1]["type"], "error", "Anthropic's");
    assert_eq!(bodies[2]["error"]["status"], "INVALID_ARGUMENT", "Gemini's");
}

#[test]
fn a_refusal_asks_not_to_be_tried_again() {
    let (_server, recorder) = provider("gpt-5", &five_cents());
    let outcome = recorder.record_with(
        &["--max-calls", "1"],
        &["sh", "-c", &format!("{EXPORTER} ask-model; {EXPORTER} ask-model")],
    );
    assert!(outcome.stdout.contains("x-should-retry: false"), "{outcome:#?}");
}

#[test]
fn a_model_without_a_price_counts_by_tokens() {
    let calls = vec![chat("llama-of-mine"); 4];
    let (server, recorder) = provider("llama-of-mine", &five_cents());
    let outcome = in_turn(&recorder, &["--max-cost", "0.01", "--max-tokens", "60k"], &calls);
    assert_eq!(server.requests().len(), 2);
    outcome.says("tracer: cost not known for llama-of-mine: counted by tokens");
    let (server, recorder) = provider("llama-of-mine", &five_cents());
    let outcome = in_turn(&recorder, &["--max-cost", "0.01"], &calls);
    assert_eq!(server.requests().len(), 4);
    let notice =
        "cost not known for llama-of-mine: --max-cost does not limit its calls; add --max-tokens, or";
    assert_eq!(outcome.stderr.matches(notice).count(), 1, "{outcome:#?}");
}

#[test]
fn what_reports_no_tokens_counts_by_its_size() {
    let (server, recorder) = provider("gpt-5", &Value::Null);
    let outcome = in_turn(&recorder, &["--max-tokens", "20"], &vec![chat("gpt-5"); 4]);
    assert_eq!(server.requests().len(), 1);
    outcome.says("1 model call did not report all tokens: counted by the size of the texts");
}

#[test]
fn a_failed_call_costs_nothing_and_counts() {
    let recorder = Recorder::new().env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    let calls = vec![chat("gpt-5"); 4];
    in_turn(&recorder, &["--max-cost", "0.01", "--max-calls", "3"], &calls);
    assert_eq!(error_of(&recorder)["tracer.guardrail"], "max_llm_calls");
    assert_eq!(recorder.run().all(EventType::LlmCall).len(), 3);
}

#[test]
fn a_command_ends_with_its_time() {
    let recorder = Recorder::new();
    let began = Instant::now();
    // What the command started ends with it.
    let outcome = recorder.record_with(
        &["--max-time", "0.3s"],
        &["sh", "-c", "sleep 600 & sleep 600; true"],
    );
    assert!(began.elapsed() < Duration::from_secs(300));
    assert_eq!(outcome.code, Some(143), "{outcome:#?}");
    assert!(!outcome.stderr.contains("still running"), "{outcome:#?}");
    assert_eq!(error_of(&recorder)["tracer.guardrail"], "max_duration_s");
}

#[test]
fn a_command_that_is_deaf_is_killed() {
    let recorder = Recorder::new();
    let outcome = recorder.record_with(
        &["--max-time", "0.3s"],
        &["sh", "-c", "trap '' TERM; while :; do sleep 1; done"],
    );
    assert_eq!(outcome.code, Some(137), "{outcome:#?}");
}

#[test]
fn a_limit_is_raised_on_the_terminal() {
    let (server, recorder) = provider("gpt-5", &five_cents());
    let script = format!("echo ready; for n in 1 2 3; do {EXPORTER} ask-model; done");
    let seen = on_a_terminal(&recorder, &["--max-calls", "1", "--ask"], &script, b"y\nn\n");
    assert_eq!(server.requests().len(), 2);
    assert_eq!(
        seen.matches("go on, with the same amount again?").count(),
        2,
        "{seen}"
    );
    let error = error_of(&recorder);
    assert_eq!(
        [&error["tracer.threshold"], &error["tracer.actual"]],
        [&json!(2), &json!(3)]
    );
}

#[test]
fn asking_needs_a_terminal() {
    let recorder = Recorder::new();
    let outcome = recorder.record_with(&["--max-calls", "1", "--ask"], &["true"]);
    assert_eq!(outcome.code, Some(125), "{outcome:#?}");
    outcome.says("--ask needs a terminal");
    assert!(recorder.runs().is_empty());
}
