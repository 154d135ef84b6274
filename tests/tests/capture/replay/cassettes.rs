//! Where exchanges are kept: beside the run's log, and in the cassette that was asked for.

use std::fs;
use std::io::Write;

use serde_json::{Value, json};
use tracer_sdk::format::EventType;

use tracer_tests::ModelServer;
use tracer_tests::model_server::{chunk, chunked_head};

use super::{Provider, conversation, recorded_conversation, replay, request, script};
use crate::record::{EXPORTER, Recorder};

#[test]
fn a_run_keeps_its_exchanges_beside_its_log() {
    let (recorder, _provider) = recorded_conversation();
    let run = &recorder.data.run_dirs()[0];
    let kept = fs::read_to_string(run.join("exchanges.jsonl")).unwrap();
    assert_eq!(kept.lines().count(), 3);
    let cassette = fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    let without_head = |text: &str| text.split_once('\n').unwrap().1.to_owned();
    assert_eq!(without_head(&kept), without_head(&cassette));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(run.join("exchanges.jsonl"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}

/// A provider that streams an answer, with its tokens where it is asked for them, under the name of a host that takes the
/// question: it is reached as the proxy of the network.
fn streaming_provider() -> (ModelServer, Recorder) {
    let server = ModelServer::start(|request, connection| {
        let is_asked = String::from_utf8_lossy(&request.body).contains("include_usage");
        let usage =
            r#"{"id":"1","choices":[],"usage":{"prompt_tokens":8,"completion_tokens":2,"total_tokens":10}}"#;
        let said =
            [r#"{"id":"1","choices":[{"index":0,"delta":{"content":"Shipped."},"finish_reason":"stop"}]}"#];
        let values = said
            .iter()
            .copied()
            .chain(is_asked.then_some(usage))
            .chain(["[DONE]"]);
        let body: Vec<String> = values.map(|value| format!("data: {value}\n\n")).collect();
        let body = body.concat();
        connection.write_all(&chunked_head("text/event-stream")).unwrap();
        for piece in body.as_bytes().chunks(17) {
            connection.write_all(&chunk(piece)).unwrap();
        }
        connection.write_all(&chunk(b"")).unwrap();
    });
    let recorder = Recorder::new()
        .env("OPENAI_BASE_URL", "http://api.openai.com/v1")
        .env("HTTP_PROXY", &server.base())
        .env("OPENAI_API_KEY", "sk-not-recorded-0123456789");
    let body = json!({"model": "gpt-5", "stream": true, "messages": [{"role": "user", "content": "Where is order 7?"}]});
    script(
        &recorder,
        &[request("OPENAI_BASE_URL", "/chat/completions", body)],
    );
    (server, recorder)
}

#[test]
fn tokens_of_streams_are_asked_for_and_hidden() {
    let (server, recorder) = streaming_provider();
    let outcome = recorder.record_with(&["--cassette", "agent.jsonl"], &[EXPORTER, "ask-script"]);
    outcome.says("1 model call, 0 tool calls, 10 tokens");
    assert!(outcome.stdout.contains("Shipped.") && !outcome.stdout.contains("prompt_tokens"));
    let sent: Value = serde_json::from_slice(&server.requests()[0].body).unwrap();
    assert_eq!(sent["stream_options"], json!({"include_usage": true}));
    // What the client sent is what is kept.
    let cassette = fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    assert!(cassette.contains("\"hides_usage\":true") && !cassette.contains("stream_options"));
    let replayed = replay(&recorder, &[]);
    assert_eq!(
        (replayed.code, server.requests().len()),
        (Some(0), 1),
        "{replayed:#?}"
    );
    assert_eq!(replayed.stdout, outcome.stdout);
    let tokens = recorder
        .data
        .finished_runs()
        .iter()
        .map(|run| run.payload(EventType::LlmCall)["usage"]["total_tokens"].clone())
        .collect::<Vec<_>>();
    assert_eq!(tokens, [10, 10]);
}

#[test]
fn requests_stay_as_they_are_on_demand() {
    let (server, recorder) = streaming_provider();
    let outcome = recorder.record_with(&["--no-stream-usage"], &[EXPORTER, "ask-script"]);
    outcome.says("1 model call whose tokens are not known: the stream brought none");
    assert!(!String::from_utf8_lossy(&server.requests()[0].body).contains("stream_options"));
    let run = recorder.data.run_dirs()[0].clone();
    let shown = recorder
        .tracer()
        .args(["show", run.file_name().unwrap().to_str().unwrap(), "--step", "1"])
        .output()
        .unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(
        shown.contains(
            "tokens not known: the stream brought none; stream_options.include_usage asks for them"
        ),
        "{shown}"
    );
}

#[test]
fn exchanges_may_be_left_out() {
    let recorder = Recorder::new().env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    script(&recorder, &conversation(""));
    recorder.record_with(&["--no-exchanges"], &[EXPORTER, "ask-script"]);
    let run = &recorder.data.run_dirs()[0];
    assert!(!run.join("exchanges.jsonl").exists());
    let mut tracer = recorder.tracer();
    let id = run.file_name().unwrap().to_str().unwrap();
    tracer.args(["export", id, "--format", "cassette", "--out", "c.jsonl"]);
    let output = tracer.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("kept no calls of models"), "{stderr}");
}

#[test]
fn a_cassette_is_made_of_a_run_later() {
    let (recorder, _provider) = recorded_conversation();
    fs::remove_file(recorder.path("agent.jsonl")).unwrap();
    let run = recorder.data.run_dirs()[0].clone();
    let id = run.file_name().unwrap().to_str().unwrap();
    let mut tracer = recorder.tracer();
    tracer.args(["export", id, "--format", "cassette", "--out", "agent.jsonl"]);
    let output = tracer.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let replayed = replay(&recorder, &[]);
    assert_eq!(replayed.code, Some(0), "{replayed:#?}");
}

#[test]
fn exchanges_go_where_their_run_goes() {
    let (recorder, _provider) = recorded_conversation();
    let run = recorder.data.run_dirs()[0].clone();
    let id = run.file_name().unwrap().to_str().unwrap();
    let tracer = |arguments: &[&str]| {
        let output = recorder.tracer().args(arguments).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    tracer(&["rename", id, "refund"]);
    assert!(run.join("exchanges.jsonl").exists());
    tracer(&["validate-trace", run.to_str().unwrap()]);
    let exported = tracer(&["export", id, "--format", "cassette", "--out", "-"]);
    let at_once = fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    let head = |text: &str| serde_json::from_str::<Value>(text.lines().next().unwrap()).unwrap();
    assert_eq!(head(&exported)["cassette"], 1);
    assert_eq!(exported.lines().count(), at_once.lines().count());
    tracer(&["delete", id, "--yes"]);
    assert!(!run.exists());
}

#[test]
fn a_cassette_that_is_there_is_replaced_only_by_force() {
    let (recorder, _provider) = recorded_conversation();
    let before = fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    let refused = recorder.record_with(&["--cassette", "agent.jsonl"], &["true"]);
    assert_eq!(refused.code, Some(125), "{refused:#?}");
    refused.says("agent.jsonl is there already").says("--force");
    assert_eq!(fs::read_to_string(recorder.path("agent.jsonl")).unwrap(), before);
    let forced = recorder.record_with(&["--cassette", "agent.jsonl", "--force"], &["true"]);
    assert_eq!(forced.code, Some(0), "{forced:#?}");
    assert_eq!(
        fs::read_to_string(recorder.path("agent.jsonl"))
            .unwrap()
            .lines()
            .count(),
        1
    );
}

#[test]
fn an_answer_in_the_background_is_replayed_as_it_came() {
    let answer = |status: &str, output: Value| {
        let body = serde_json::json!({"id": "resp_1", "object": "response", "model": "gpt-5", "status": status,
                                      "background": true, "output": output});
        ("application/json", body.to_string())
    };
    let said = serde_json::json!([{"type": "message", "role": "assistant", "content": [
        {"type": "output_text", "text": "The 6:40.", "annotations": []}]}]);
    let none = serde_json::json!([]);
    let provider = Provider::start(vec![
        answer("queued", none.clone()),
        answer("in_progress", none),
        answer("completed", said),
    ]);
    let recorder = Recorder::new().env("OPENAI_BASE_URL", &format!("http://{}/v1", provider.address));
    let get = || serde_json::json!({"base": "OPENAI_BASE_URL", "path": "/responses/resp_1", "method": "GET", "body": null});
    let asked = serde_json::json!({"model": "gpt-5", "input": "Which ferry?", "background": true});
    let post = || request("OPENAI_BASE_URL", "/responses", asked.clone());
    script(&recorder, &[post(), get(), get()]);
    let outcome = recorder.record_with(&["--cassette", "agent.jsonl"], &[EXPORTER, "ask-script"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    // One that asks once more than it was recorded gets the last answer.
    script(&recorder, &[post(), get(), get(), get()]);
    let replayed = replay(&recorder, &[]);
    assert_eq!(
        (replayed.code, provider.connections()),
        (Some(0), 3),
        "{replayed:#?}"
    );
    let statuses: Vec<&str> = ["queued", "in_progress", "completed"]
        .into_iter()
        .filter(|status| replayed.stdout.contains(*status))
        .collect();
    assert_eq!(statuses.len(), 3, "{replayed:#?}");
    assert_eq!(replayed.stdout.matches("completed").count(), 2, "{replayed:#?}");
}
