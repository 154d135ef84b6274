//! Calls of models by programs that export nothing: they come through the proxy.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread;

use serde_json::json;
use tracer_sdk::format::Payload;
use tracer_tests::ModelServer;

use super::{EXPORTER, Recorder};

/// A provider that answers one request. Gives its address, and the request once it has come.
fn provider() -> (SocketAddr, thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = String::new();
        let mut buffer = [0; 4096];
        while !request.ends_with('}') {
            let length = stream.read(&mut buffer).unwrap();
            request.push_str(std::str::from_utf8(&buffer[..length]).unwrap());
        }
        let body = json!({
            "id": "chatcmpl-1", "model": "gpt-5-2026",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": "Good day"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10},
        })
        .to_string();
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        request
    });
    (address, asked)
}

#[test]
fn a_program_without_telemetry_is_recorded() {
    let (address, asked) = provider();
    let recorder = Recorder::new().env("OPENAI_BASE_URL", &format!("http://{address}/v1"));
    let finished = recorder.export(&["ask-model"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("Good day"), "{finished:?}");
    finished.says("1 model call, 0 tool calls, 10 tokens");
    let request = asked.join().unwrap();
    assert!(request.starts_with("POST /v1/chat/completions ") && request.contains("Bearer sk-not-recorded"));
    let run = recorder.run();
    let calls: Vec<_> = run
        .records
        .iter()
        .filter_map(|record| match &record.payload {
            Payload::LlmCall {
                model,
                provider,
                usage,
                prompt,
                response,
                ..
            } => Some((
                model.as_str(),
                provider.as_str(),
                usage.total_tokens,
                prompt,
                response,
            )),
            _ => None,
        })
        .collect();
    let [(model, provider, tokens, prompt, response)] = calls.as_slice() else {
        panic!("{calls:#?}")
    };
    assert_eq!((*model, *provider, *tokens), ("gpt-5", "openai", Some(10)));
    assert_eq!(prompt["messages"][0]["content"], "Hello");
    assert_eq!(response["choices"][0]["message"]["content"], "Good day");
    let spans = std::fs::read_to_string(recorder.data.run_dirs()[0].join("spans.jsonl")).unwrap();
    assert!(!spans.contains("sk-not-recorded"));
}

#[test]
fn without_the_proxy_base_urls_stay() {
    let recorder = Recorder::new().env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let finished = recorder.record_with(&["--no-proxy"], &["env"]);
    assert!(
        finished
            .stdout
            .contains("OPENAI_BASE_URL=http://127.0.0.1:9/v1\n")
    );
    assert!(!finished.stdout.contains("ANTHROPIC_BASE_URL"));
    let with = recorder.record(&["env"]);
    assert!(with.stdout.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:"));
    with.says("no request for a model came through the proxy");
}

#[test]
fn a_provider_that_is_gone_is_a_failed_call() {
    let recorder = Recorder::new().env("OPENAI_BASE_URL", "http://127.0.0.1:1/v1");
    let finished = recorder.record(&[EXPORTER, "ask-model"]);
    assert!(finished.stdout.contains("502"), "{finished:?}");
    finished.says("1 model call,");
    let failed = recorder.run().records.iter().any(|record| {
        matches!(&record.payload, Payload::LlmCall { error: Some(error), .. } if error.error_type == "upstream_failed")
    });
    assert!(failed);
}

#[test]
fn a_base_url_in_a_variable_of_its_own_is_proxied() {
    let server = ModelServer::with_json(
        &json!({"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 2}}),
    );
    let recorder = Recorder::new()
        .env("MY_URL", &format!("{}/v1", server.base()))
        .env("OPENAI_HOST", &server.base());
    let body = json!({"model": "gpt-5", "messages": []});
    let requests = [
        ("MY_URL", "/chat/completions"),
        ("OPENAI_HOST", "/v1/chat/completions"),
    ]
    .map(|(base, path)| json!({"base": base, "path": path, "body": body}).to_string());
    recorder.write("script.jsonl", &requests.join("\n"));
    let finished = recorder.record_with(&["--base-url-var", "MY_URL"], &[EXPORTER, "ask-script"]);
    finished.says("2 model calls, 0 tool calls, 20 tokens");
    let paths: Vec<String> = server
        .requests()
        .into_iter()
        .map(|request| request.path)
        .collect();
    assert_eq!(paths, ["/v1/chat/completions"; 2]);
}
