//! The proxy between a client and a scripted upstream, both over real connections.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Value, json};
use tracer_sdk::format::SpanRecord;

use super::*;
use crate::tests::gzip;
use crate::{Accepted, Refused};

/// Keeps what it gets.
#[derive(Default)]
struct Spans(Mutex<Vec<SpanRecord>>);

impl SpanSink for Spans {
    fn accept(&self, spans: Vec<SpanRecord>) -> Result<Accepted, Refused> {
        self.0.lock().extend(spans);
        Ok(Accepted::default())
    }
}

#[test]
fn options_hide_the_token() {
    let mut options = ProxyOptions::default();
    options.address.token = Some("random-part".to_owned());
    assert!(!format!("{options:?}").contains("random-part"));
}

fn context() -> ProxyContext {
    ProxyContext {
        trace_id: "ab".repeat(16).parse().unwrap(),
        root_span_id: "cd".repeat(8).parse().unwrap(),
    }
}

/// Reads one request: its head, and its body by the length.
fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let length: usize = length.map_or(0, |length| length.trim().parse().unwrap());
    while bytes.len() < end + length {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
    }
    Some((head, bytes[end..].to_vec()))
}

/// An upstream that treats each connection with `answer`, and gives the head of each request.
fn upstream(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> (String, mpsc::Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (heads, requests) = mpsc::channel();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (heads, answer) = (heads.clone(), Arc::clone(&answer));
            thread::spawn(move || {
                let mut stream = stream;
                stream.set_nodelay(true).unwrap();
                while let Some((head, _)) = read_request(&mut stream) {
                    let _ = heads.send(head);
                    answer(&mut stream);
                }
            });
        }
    });
    (format!("http://{address}/v1"), requests)
}

fn whole(content_type: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

const FIRST_CHUNK: &[u8] = b"data: {\"choices\":[{\"delta\":{\"content\":\"A\"}}]}\n\n";

const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// A proxy, and the heads of the requests that reached the upstream behind it.
struct Proxied {
    proxy: Option<ModelProxy>,
    spans: Arc<Spans>,
    base: String,
    requests: Mutex<mpsc::Receiver<String>>,
}

impl Proxied {
    /// Before an upstream that treats each connection with `answer`.
    fn before(answer: impl Fn(&mut TcpStream) + Send + Sync + 'static) -> Self {
        let (upstream, requests) = upstream(answer);
        Self::new(&upstream, requests)
    }

    /// Before an upstream that gives all requests the same JSON.
    fn answered_with(body: &'static str) -> Self {
        Self::before(move |stream| stream.write_all(&whole("application/json", body)).unwrap())
    }

    /// Before an upstream that gives each request the next of some JSON.
    fn answered_in_turn(bodies: Vec<String>) -> Self {
        let bodies = Mutex::new(bodies.into_iter());
        Self::before(move |stream| {
            let body = bodies.lock().next().unwrap();
            stream.write_all(&whole("application/json", &body)).unwrap();
        })
    }

    fn new(upstream: &str, requests: mpsc::Receiver<String>) -> Self {
        let spans = Arc::new(Spans::default());
        let upstream = upstream.to_owned();
        let variable = |name: &str| (name == "OPENAI_BASE_URL").then(|| upstream.clone());
        let runs = ProxiedRuns::One(context());
        let sink = Arc::clone(&spans) as _;
        let proxy = ModelProxy::start(runs, variable, Some(sink), ProxyOptions::default()).unwrap();
        let base = format!("{}/openai/v1", proxy.base());
        Self {
            proxy: Some(proxy),
            spans,
            base,
            requests: Mutex::new(requests),
        }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.proxy.as_ref().unwrap().address()).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    }

    /// Sends a request as a client would; the answer is read by the caller.
    fn send(&self, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = self.connect();
        let url = format!("{}{path}", self.base);
        let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let request = format!(
            "POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    fn ask(&self, path: &str, headers: &str, body: &str) -> String {
        String::from_utf8_lossy(&self.ask_bytes(path, headers, body)).into_owned()
    }

    fn ask_bytes(&self, path: &str, headers: &str, body: &str) -> Vec<u8> {
        let mut answer = Vec::new();
        let _ = self.send(path, headers, body).read_to_end(&mut answer);
        answer
    }

    fn finish(mut self) -> (ProxySummary, Vec<SpanRecord>) {
        let summary = self.proxy.take().unwrap().shut_down();
        let spans = std::mem::take(&mut *self.spans.0.lock());
        (summary, spans)
    }
}

fn attribute(span: &SpanRecord, key: &str) -> Option<Value> {
    span.attributes.get(key).cloned()
}

fn event_content(span: &SpanRecord, name: &str) -> Option<String> {
    let event = span.events.iter().find(|event| event.name == name)?;
    Some(event.attributes["content"].as_str()?.to_owned())
}

/// What the model said has a text.
fn assert_answered(span: &SpanRecord, text: &str) {
    let answer = event_content(span, "gen_ai.assistant.message").unwrap();
    assert!(answer.contains(text), "{answer}");
}

const QUESTION: &str = r#"{"model":"gpt-5","temperature":0.5,"messages":[{"role":"user","content":"Hi"}]}"#;
const ANSWER: &str = r#"{"id":"chatcmpl-1","model":"gpt-5-2026","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":2,"total_tokens":10}}"#;

#[test]
fn a_call_is_passed_on_and_recorded() {
    let proxied = Proxied::answered_with(ANSWER);
    let answer = proxied.ask(
        "/chat/completions?key=sk-secret-in-query",
        "authorization: Bearer sk-secret\r\n",
        QUESTION,
    );
    assert!(
        answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with(ANSWER),
        "{answer}"
    );
    let head = proxied.requests.lock().recv().unwrap();
    assert!(
        head.starts_with("post /v1/chat/completions?key=sk-secret-in-query http/1.1"),
        "{head}"
    );
    assert!(head.contains("authorization: bearer sk-secret") && head.contains("accept-encoding: identity"));
    let (summary, spans) = proxied.finish();
    assert_eq!((summary.model_calls, summary.lost), (1, 0));
    let [span] = spans.as_slice() else {
        panic!("{spans:#?}")
    };
    assert_eq!(span.trace_id, context().trace_id);
    assert_eq!(span.parent_span_id, Some(context().root_span_id));
    for (key, value) in [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.request.model", json!("gpt-5")),
        ("gen_ai.response.model", json!("gpt-5-2026")),
        ("gen_ai.response.id", json!("chatcmpl-1")),
        ("gen_ai.usage.input_tokens", json!(8)),
        ("gen_ai.usage.output_tokens", json!(2)),
        ("gen_ai.response.finish_reasons", json!("[\"stop\"]")),
        ("http.response.status_code", json!(200)),
    ] {
        assert_eq!(attribute(span, key), Some(value), "{key}");
    }
    assert_eq!(
        event_content(span, "gen_ai.user.message").map(|text| text.len()),
        serde_json::from_str::<Value>(QUESTION)
            .ok()
            .map(|value| value.to_string().len())
    );
    assert_answered(span, "Hello");
    assert!(
        !format!("{span:?}").contains("secret"),
        "no header and no query is recorded"
    );
}

/// Reads until a text has come.
fn read_until(stream: &mut TcpStream, text: &str) -> String {
    let mut seen = String::new();
    let mut buffer = [0; 1024];
    while !seen.contains(text) {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "{seen}");
        seen.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    seen
}

#[test]
fn chunks_arrive_before_the_answer_ends() {
    let (ready, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let proxied = Proxied::before(move |stream| {
        stream.write_all(CHUNKED).unwrap();
        stream.write_all(&chunk(FIRST_CHUNK)).unwrap();
        // Only when the client has the first chunk comes the second.
        wait.lock().recv().unwrap();
        stream.write_all(&chunk(b"data: {\"choices\":[{\"delta\":{\"content\":\"B\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")).unwrap();
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let mut stream = proxied.send("/chat/completions", "", QUESTION);
    let mut seen = read_until(&mut stream, "\"A\"");
    ready.send(()).unwrap();
    stream.read_to_string(&mut seen).unwrap();
    assert!(seen.contains("\"B\"") && seen.contains("[DONE]"));
    let (_, spans) = proxied.finish();
    assert_answered(&spans[0], "\"AB\"");
    assert_eq!(attribute(&spans[0], "tracer.error_type"), None);
    assert_eq!(attribute(&spans[0], "tracer.chunks"), Some(json!(2)));
    assert!(attribute(&spans[0], "tracer.time_to_first_chunk_ms").is_some());
}

#[test]
fn a_client_that_hangs_up_stops_the_upstream() {
    let (gone, is_gone) = mpsc::channel();
    let proxied = Proxied::before(move |stream| {
        stream.write_all(CHUNKED).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if stream.write_all(&chunk(FIRST_CHUNK)).is_err() {
                let _ = gone.send(());
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    let mut stream = proxied.send("/chat/completions", "", QUESTION);
    read_until(&mut stream, "\"A\"");
    drop(stream);
    is_gone
        .recv_timeout(Duration::from_secs(10))
        .expect("the upstream connection is closed");
    let (_, spans) = proxied.finish();
    assert_eq!(attribute(&spans[0], "tracer.error_type"), Some(json!("aborted")));
    assert_answered(&spans[0], "A");
    assert!(event_content(&spans[0], "gen_ai.user.message").is_some());
}

#[test]
fn a_stream_that_is_left_after_its_end_is_whole() {
    let (gone, is_gone) = mpsc::channel();
    let proxied = Proxied::before(move |stream| {
        stream.write_all(CHUNKED).unwrap();
        stream.write_all(&chunk(FIRST_CHUNK)).unwrap();
        stream.write_all(&chunk(b"data: [DONE]\n\n")).unwrap();
        // The connection stays open, as that of a server that keeps it alive.
        let deadline = Instant::now() + Duration::from_secs(10);
        while Instant::now() < deadline {
            if stream.write_all(&chunk(b": \n\n")).is_err() {
                let _ = gone.send(());
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    });
    let mut stream = proxied.send("/chat/completions", "", QUESTION);
    read_until(&mut stream, "[DONE]");
    drop(stream);
    is_gone
        .recv_timeout(Duration::from_secs(10))
        .expect("the upstream connection is closed");
    let (_, spans) = proxied.finish();
    assert_eq!(attribute(&spans[0], "tracer.error_type"), None);
    assert_answered(&spans[0], "A");
}

#[test]
fn conversations_that_no_tool_waits_for_stand_side_by_side() {
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"}});
    let asks = json!({"role": "assistant", "content": null, "tool_calls": [call]});
    let question = |text: &str| with_tools(&json!([{"role": "user", "content": text}]));
    let answers = vec![
        answering(&asks),
        answering(&json!({"role": "assistant", "content": "7 C"})),
    ];
    let proxied = Proxied::answered_in_turn(answers);
    proxied.ask("/chat/completions", "", &question("Weather in Oslo?"));
    proxied.ask("/chat/completions", "", &question("Weather in Oslo and Paris?"));
    let (_, spans) = proxied.finish();
    let root = Some(context().root_span_id);
    assert!(spans.iter().all(|span| span.parent_span_id == root), "{spans:?}");
}

#[test]
fn a_broken_answer_is_broken_for_the_client_too() {
    let proxied = Proxied::before(|stream| {
        stream.write_all(CHUNKED).unwrap();
        stream.write_all(&chunk(FIRST_CHUNK)).unwrap();
        stream.shutdown(std::net::Shutdown::Both).unwrap();
    });
    let answer = proxied.ask("/chat/completions", "", QUESTION);
    assert!(
        answer.contains("\"A\"") && !answer.ends_with("0\r\n\r\n"),
        "no clean end: {answer}"
    );
    let (_, spans) = proxied.finish();
    assert_eq!(
        attribute(&spans[0], "tracer.error_type"),
        Some(json!("upstream_failed"))
    );
    assert_answered(&spans[0], "A");
}

#[test]
fn an_error_is_a_failed_call() {
    let body = r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#;
    let proxied = Proxied::before(move |stream| {
        let answer = format!(
            "HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(answer.as_bytes()).unwrap();
    });
    let answer = proxied.ask("/chat/completions", "", QUESTION);
    assert!(answer.starts_with("HTTP/1.1 429") && answer.contains("retry-after: 1"));
    let (_, spans) = proxied.finish();
    assert_eq!(
        attribute(&spans[0], "tracer.error_type"),
        Some(json!("rate_limit_error"))
    );
    assert_eq!(
        attribute(&spans[0], "tracer.error_message"),
        Some(json!("slow down"))
    );
    assert!(event_content(&spans[0], "gen_ai.assistant.message").is_none());
}

#[test]
fn an_upstream_that_is_not_there_is_reported() {
    let unused = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let proxied = Proxied::new(&format!("http://{unused}/v1"), mpsc::channel().1);
    let answer = proxied.ask("/chat/completions", "", QUESTION);
    assert!(
        answer.starts_with("HTTP/1.1 502") && answer.contains("cannot be reached"),
        "{answer}"
    );
    let (summary, spans) = proxied.finish();
    assert_eq!(summary.model_calls, 1);
    assert_eq!(
        attribute(&spans[0], "tracer.error_type"),
        Some(json!("upstream_failed"))
    );
}

#[test]
fn only_the_recorded_program_gets_through() {
    let proxied = Proxied::answered_with(ANSWER);
    let port = proxied.proxy.as_ref().unwrap().address();
    let ask = |text: String| {
        let mut stream = proxied.connect();
        stream.write_all(text.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        answer.lines().next().unwrap_or_default().to_owned()
    };
    let path = proxied.base.split_once("/r/").unwrap().1.to_owned();
    let head = |path: &str, host: &str, more: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: 0\r\n{more}\r\n"
        )
    };
    let host = port.to_string();
    let good = format!("/r/{path}/chat/completions");
    for (request, status) in [
        (head("/r/0123/openai/v1/chat/completions", &host, ""), "403"),
        (head("/v1/chat/completions", &host, ""), "404"),
        (head(&good, "evil.example", ""), "403"),
        (head(&good, &host, "origin: https://evil.example\r\n"), "403"),
        (head(&good.replace("/openai/", "/nobody/"), &host, ""), "404"),
        (
            head(&good, &host, "connection: upgrade\r\nupgrade: websocket\r\n"),
            "426",
        ),
    ] {
        let answer = ask(request.clone());
        assert!(answer.contains(status), "{answer} to {request}");
    }
    assert!(
        proxied.requests.lock().try_recv().is_err(),
        "nothing reached the provider"
    );
    let (summary, spans) = proxied.finish();
    assert_eq!((summary.refused_upgrades, spans.len()), (1, 0));
}

#[test]
fn a_refused_websocket_that_is_asked_again_is_no_loss() {
    let proxied = Proxied::answered_with(ANSWER);
    let upgrade = "connection: upgrade\r\nupgrade: websocket\r\n";
    let answer = proxied.ask("/chat/completions", upgrade, "");
    assert!(answer.starts_with("HTTP/1.1 426"), "{answer}");
    proxied.ask("/chat/completions", "", QUESTION);
    proxied.ask("/realtime", upgrade, "");
    let (summary, _) = proxied.finish();
    assert_eq!((summary.refused_upgrades, summary.model_calls), (1, 1));
}

#[test]
fn a_request_for_the_head_alone_is_no_step() {
    let proxied = Proxied::before(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
    });
    let (host, path) = proxied
        .base
        .strip_prefix("http://")
        .and_then(|url| url.split_once('/'))
        .unwrap();
    let mut stream = proxied.connect();
    let request = format!("HEAD /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(answer.starts_with(b"HTTP/1.1 200"));
    let (summary, spans) = proxied.finish();
    assert_eq!((summary.other_requests, summary.unknown_requests), (1, 0));
    assert_eq!(spans.len(), 0);
}

#[test]
fn the_id_of_a_request_is_kept_beside_that_of_its_answer() {
    let proxied = Proxied::before(|stream| {
        let length = ANSWER.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nRequest-Id: req_1\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        let _ = stream.write_all(format!("{head}{ANSWER}").as_bytes());
    });
    proxied.ask("/chat/completions", "", QUESTION);
    let (_, spans) = proxied.finish();
    assert_eq!(
        attribute(&spans[0], "gen_ai.response.id"),
        Some(json!("chatcmpl-1"))
    );
    assert_eq!(attribute(&spans[0], "tracer.request_id"), Some(json!("req_1")));
}

#[test]
fn what_is_no_model_call_has_no_content() {
    let proxied = Proxied::answered_with("{\"data\":\"private\"}");
    proxied.ask("/files", "", "private upload");
    let (summary, spans) = proxied.finish();
    assert_eq!((summary.model_calls, summary.other_requests), (0, 1));
    assert_eq!(spans[0].name, "POST /v1/files");
    assert!(!format!("{spans:?}").contains("private"));
}

#[test]
fn calls_are_where_the_client_says_and_tools_are_derived() {
    let proxied = Proxied::answered_in_turn(vec![
        r#"{"id":"c1","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}]}"#.to_owned(),
        ANSWER.to_owned(),
    ]);
    let trace = "ab".repeat(16);
    proxied.ask(
        "/chat/completions",
        &format!("traceparent: 00-{trace}-1234567890abcdef-01\r\n"),
        QUESTION,
    );
    let next = r#"{"model":"gpt-5","messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_1","content":"7 C"}]}"#;
    proxied.ask(
        "/chat/completions",
        &format!("traceparent: 00-{}-1234567890abcdef-01\r\n", "99".repeat(16)),
        next,
    );
    let (_, spans) = proxied.finish();
    let names: Vec<&str> = spans.iter().map(|span| span.name.as_str()).collect();
    assert_eq!(names, ["chat gpt-5", "weather", "chat gpt-5"]);
    assert_eq!(spans[0].parent_span_id, "1234567890abcdef".parse().ok());
    assert_eq!(spans[1].parent_span_id, spans[0].parent_span_id);
    assert_eq!(
        spans[2].parent_span_id,
        Some(context().root_span_id),
        "another trace is not ours"
    );
    let [start, end] = [&spans[1].start_time, spans[1].end_time.as_ref().unwrap()];
    let ended = |span: &SpanRecord| span.end_time.as_ref().unwrap().instant();
    assert!(start.instant() >= ended(&spans[0]) && end.instant() <= ended(&spans[2]));
}

/// A request of a conversation with tools.
fn with_tools(messages: &Value) -> String {
    let tool =
        json!({"type": "function", "function": {"name": "research", "parameters": {"type": "object"}}});
    json!({"model": "gpt-5", "messages": messages, "tools": [tool]}).to_string()
}

fn answering(message: &Value) -> String {
    json!({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}).to_string()
}

#[test]
fn a_conversation_that_a_tool_begins_is_in_it() {
    let call = |id: &str, topic: &str| json!({"id": id, "type": "function", "function": {"name": "research", "arguments": json!({"topic": topic}).to_string()}});
    let delegates =
        json!({"role": "assistant", "content": null, "tool_calls": [call("call_1", "the fjords of Norway")]});
    let looks_up =
        json!({"role": "assistant", "content": null, "tool_calls": [call("call_2", "depth of fjords")]});
    let main = json!([{"role": "user", "content": "Write about Norway."}]);
    let inner = json!([{"role": "system", "content": "You research."}, {"role": "user", "content": "Topic: the fjords of Norway"}]);
    let then = |messages: &Value, more: &[Value]| {
        let mut messages = messages.as_array().unwrap().clone();
        messages.extend_from_slice(more);
        Value::Array(messages)
    };
    let result = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let found = json!({"role": "assistant", "content": "1308 m"});
    let requests = [
        (with_tools(&main), answering(&delegates)),
        (with_tools(&inner), answering(&looks_up)),
        (
            with_tools(&then(&inner, &[looks_up.clone(), result("call_2", "1308 m")])),
            answering(&found),
        ),
        (
            with_tools(&then(&main, &[delegates.clone(), result("call_1", "1308 m")])),
            answering(&found),
        ),
    ];
    let answers = requests.iter().map(|(_, answer)| answer.clone()).collect();
    let proxied = Proxied::answered_in_turn(answers);
    for (request, _) in &requests {
        proxied.ask("/chat/completions", "", request);
    }
    let (_, spans) = proxied.finish();
    let name_of = |id: SpanId| {
        let parent = spans.iter().find(|span| span.span_id == id);
        parent.map_or("root", |span| span.name.as_str())
    };
    let tree: Vec<(&str, &str, Option<Value>)> = spans
        .iter()
        .map(|span| {
            (
                span.name.as_str(),
                name_of(span.parent_span_id.unwrap()),
                attribute(span, "tracer.thread"),
            )
        })
        .collect();
    assert_eq!(
        tree,
        [
            ("chat gpt-5", "root", Some(json!(1))),
            ("chat gpt-5", "research", Some(json!(2))),
            ("research", "research", Some(json!(2))),
            ("chat gpt-5", "research", Some(json!(2))),
            ("research", "root", Some(json!(1))),
            ("chat gpt-5", "root", Some(json!(1))),
        ]
    );
    assert_eq!(attribute(&spans[1], "tracer.inferred"), Some(json!("parent")));
    assert_eq!(attribute(&spans[0], "tracer.inferred"), None);
}

#[test]
fn an_answer_that_is_compressed_anyway_is_read_and_passed_on() {
    let packed = gzip(ANSWER.as_bytes());
    let sent = packed.clone();
    let proxied = Proxied::before(move |stream| {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
            sent.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&sent).unwrap();
    });
    let answer = proxied.ask_bytes("/chat/completions", "", QUESTION);
    assert!(answer.ends_with(&packed), "the client gets what was sent");
    let (_, spans) = proxied.finish();
    assert_answered(&spans[0], "Hello");
}

#[test]
fn an_encoding_that_is_not_known_is_passed_on_and_named() {
    let proxied = Proxied::before(|stream| {
        let answer = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: exi\r\ncontent-length: 4\r\n\r\n\x0b\x01\x80\x03";
        stream.write_all(answer).unwrap();
    });
    let answer = proxied.ask_bytes("/chat/completions", "", QUESTION);
    assert!(answer.ends_with(b"\x0b\x01\x80\x03"));
    let (_, spans) = proxied.finish();
    assert_eq!(attribute(&spans[0], "tracer.unread_encoding"), Some(json!("exi")));
    assert!(event_content(&spans[0], "gen_ai.assistant.message").is_none());
}

#[test]
fn a_refused_path_is_without_the_token() {
    let proxied = Proxied::answered_with(ANSWER);
    let root = proxied.base.strip_suffix("/openai/v1").unwrap().to_owned();
    let path = root.find("/r/").map(|at| &root[at..]).unwrap();
    for path in [
        path.to_owned(),
        format!("/{path}/openai"),
        format!("{path}/olama"),
    ] {
        let mut stream = proxied.connect();
        let host = root.split('/').nth(2).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
    }
    let (summary, _) = proxied.finish();
    assert_eq!(summary.refused_routes, ["/", "//r/TOKEN/openai", "/olama"]);
}

#[test]
fn signed_requests_are_refused_and_counted() {
    let proxied = Proxied::answered_with(ANSWER);
    let signature =
        "authorization: AWS4-HMAC-SHA256 Credential=AKIA/20260101/eu-west-1/bedrock/aws4_request\r\n";
    let answer = proxied.ask("/model/claude/converse", signature, QUESTION);
    assert!(
        answer.starts_with("HTTP/1.1 421") && answer.contains("signed"),
        "{answer}"
    );
    assert!(
        proxied.requests.lock().try_recv().is_err(),
        "nothing reached the provider"
    );
    let (summary, spans) = proxied.finish();
    assert_eq!((summary.refused_signed, spans.len()), (1, 0));
    assert!(
        summary.notes()[0].starts_with("1 request refused"),
        "{:?}",
        summary.notes()
    );
}

#[test]
fn a_hundred_calls_at_once_are_all_recorded() {
    let proxied = Proxied::answered_with(ANSWER);
    thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| assert!(proxied.ask("/chat/completions", "", QUESTION).ends_with(ANSWER)));
        }
    });
    let (summary, spans) = proxied.finish();
    assert_eq!((summary.model_calls, summary.lost, spans.len()), (100, 0, 100));
}

#[test]
fn an_api_that_nobody_knows_is_reported() {
    let proxied = Proxied::answered_with("{}");
    assert!(proxied.ask("/batches", "", "{}").starts_with("HTTP/1.1 200"));
    assert!(
        proxied
            .ask("/messages/count_tokens", "", "{}")
            .starts_with("HTTP/1.1 200")
    );
    let (summary, _) = proxied.finish();
    assert_eq!((summary.other_requests, summary.unknown_requests), (2, 1));
    let note = &summary.notes()[0];
    assert!(
        note.contains("of an API that is not known (") && note.contains("/batches)"),
        "{note}"
    );
}

#[test]
fn a_replayed_provider_without_a_vendor_has_its_variable() {
    let base = "http://127.0.0.1:1/r/TOKEN";
    let urls = replay_base_urls(|_| None, &["azure".to_owned()], base);
    assert!(urls.contains(&("AZURE_OPENAI_ENDPOINT", format!("{base}/azure"))));
    assert!(urls.iter().all(|(name, _)| *name != "GOOGLE_VERTEX_BASE_URL"));
}
