//! Cassettes with real processes: a program is recorded against a provider, and replayed without it.

mod cassettes;
mod command;
mod freeze;
mod gate;
mod maintenance;
mod secrets;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use crate::record::{EXPORTER, Outcome, Recorder};

/// A provider that answers each request with the next of its answers, and counts the connections.
struct Provider {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Provider {
    fn start(answers: Vec<(&'static str, String)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        thread::spawn(move || {
            let mut answers = answers.into_iter();
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                let mut stream = stream.unwrap();
                let Some((content_type, body)) = answers.next() else {
                    continue;
                };
                read_request(&mut stream);
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\nset-cookie: session=planted\r\nconnection: close\r\n\r\n"
                );
                stream.write_all(head.as_bytes()).unwrap();
                for piece in body.as_bytes().chunks(17) {
                    stream.write_all(piece).unwrap();
                }
            }
        });
        Self { address, connections }
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

fn read_request(stream: &mut std::net::TcpStream) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    let body_length = |text: &str| -> usize {
        let length = text.to_lowercase();
        let length = length.split("content-length: ").nth(1).unwrap_or("0\r\n");
        length.split("\r\n").next().unwrap().parse().unwrap()
    };
    loop {
        let length = stream.read(&mut buffer).unwrap();
        request.extend_from_slice(&buffer[..length]);
        let Some(end) = request.windows(4).position(|four| four == b"\r\n\r\n") else {
            continue;
        };
        let head = String::from_utf8_lossy(&request[..end]).into_owned() + "\r\n";
        if request.len() >= end + 4 + body_length(&head) {
            return;
        }
    }
}

/// A request of the script.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a body is written where it is given"
)]
fn request(base: &str, path: &str, body: Value) -> Value {
    json!({"base": base, "path": path, "body": body})
}

fn script(recorder: &Recorder, requests: &[Value]) {
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    recorder.write("script.jsonl", &lines.join("\n"));
}

/// `tracer replay OPTIONS agent.jsonl -- the script`.
fn replay(recorder: &Recorder, options: &[&str]) -> Outcome {
    let mut tracer = recorder.tracer();
    tracer
        .arg("replay")
        .args(options)
        .args(["agent.jsonl", "--", EXPORTER, "ask-script"]);
    tracer.output().unwrap().into()
}

/// A conversation of two turns in the chat API, with a tool between them.
fn conversation(result: &str) -> Vec<Value> {
    let user = json!({"role": "user", "content": "Where is order 7?"});
    let asks = json!({"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
        "function": {"name": "lookup_order", "arguments": "{\"order\":7}"}}]});
    let result = json!({"role": "tool", "tool_call_id": "call_1", "content": result});
    let ask = |messages: Vec<Value>| {
        request(
            "OPENAI_BASE_URL",
            "/chat/completions",
            json!({"model": "gpt-5", "messages": messages}),
        )
    };
    vec![ask(vec![user.clone()]), ask(vec![user, asks, result])]
}

fn conversation_answers() -> Vec<(&'static str, String)> {
    let usage = json!({"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10});
    let asks = json!({"id": "chatcmpl-1", "model": "gpt-5", "usage": usage, "choices": [{"index": 0, "finish_reason": "tool_calls",
        "message": {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
        "function": {"name": "lookup_order", "arguments": "{\"order\":7}"}}]}}]});
    let says = json!({"id": "chatcmpl-2", "model": "gpt-5", "usage": usage, "choices": [{"index": 0, "finish_reason": "stop",
        "message": {"role": "assistant", "content": "It is shipped."}}]});
    vec![
        ("application/json", asks.to_string()),
        ("application/json", says.to_string()),
    ]
}

/// A recorder with the conversation in `agent.jsonl`, and the provider that it was recorded with.
fn recorded_conversation() -> (Recorder, Provider) {
    let provider = Provider::start(conversation_answers());
    let recorder = Recorder::new()
        .env("OPENAI_BASE_URL", &format!("http://{}/v1", provider.address))
        .env("OPENAI_API_KEY", "sk-not-recorded-0123456789");
    script(&recorder, &conversation("{\"status\":\"shipped\"}"));
    let outcome = recorder.record_with(&["--cassette", "agent.jsonl"], &[EXPORTER, "ask-script"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    outcome.says("2 calls written to agent.jsonl");
    (recorder, provider)
}
