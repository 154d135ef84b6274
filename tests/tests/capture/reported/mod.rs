//! Exchanges as users reported them (`tests/data/reported`), through the proxy: each with the right values.

mod alike;
mod outcomes;
mod routes;
mod streams;
mod tokens;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value};
use tracer_tests::model_server::{chunk, chunked_head};
use tracer_tests::{DataDir, Finished, ModelServer};

use crate::proxy::Proxied;

const TRACER: &str = env!("CARGO_BIN_EXE_tracer_under_test");

/// A reported exchange after it was recorded.
pub(crate) struct Played {
    /// The run of its calls.
    pub(crate) run: Finished,
    /// The bodies that the client received, one a turn.
    pub(crate) received: Vec<Vec<u8>>,
    data: DataDir,
}

impl Played {
    /// The standard output of the command with these arguments, for the data directory of this run.
    pub(crate) fn tracer(&self, arguments: &[&str]) -> String {
        let output = Command::new(TRACER)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("LC_ALL", "C.UTF-8")
            .env("TRACER_DATA_DIR", self.data.path())
            .args(arguments)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }
}

/// Records the exchange of `tests/data/reported/<name>.json`.
pub(crate) fn play(name: &str) -> Played {
    let path = format!("{}/data/reported/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    play_turns(&serde_json::from_str(&text).unwrap())
}

/// Records the turns of an exchange (`{"turns": [{"api", "path", "request", "reply", …}]}`), one after the other.
pub(crate) fn play_turns(exchange: &Value) -> Played {
    let turns = exchange["turns"].as_array().unwrap().clone();
    let (replies, answered) = (turns.clone(), AtomicUsize::new(0));
    let server = ModelServer::start(move |_, connection| {
        let turn = &replies[answered.fetch_add(1, Ordering::SeqCst)];
        // A client that closes early is a case of its own.
        let _ = connection.write_all(&answer(turn));
    });
    let proxied = Proxied::new(&server.base());
    let received = turns.iter().map(|turn| ask(&proxied, turn)).collect();
    let (_, run, data) = proxied.finish();
    Played { run, received, data }
}

/// The whole answer of a turn, with its head.
fn answer(turn: &Value) -> Vec<u8> {
    let is_stream = turn["reply"].is_array();
    let mut headers = headers(&turn["headers"]);
    let content_type = headers
        .iter()
        .position(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    let content_type = content_type.map(|place| headers.remove(place).1);
    let default = if is_stream {
        "text/event-stream"
    } else {
        "application/json"
    };
    let head = String::from_utf8(chunked_head(content_type.as_deref().unwrap_or(default))).unwrap();
    let status = turn["status"].as_u64().unwrap_or(200);
    let mut head = head.replacen("200 OK", &format!("{status} Status"), 1);
    head.truncate(head.len() - 2);
    for (name, value) in headers {
        head.extend([&name, ": ", &value, "\r\n"]);
    }
    head.push_str("\r\n");
    let mut answer = head.into_bytes();
    match &turn["reply"] {
        Value::Array(chunks) => answer.extend(chunks.iter().flat_map(|piece| chunk(&bytes(piece)))),
        body => answer.extend(chunk(&bytes(body))),
    }
    answer.extend(chunk(b""));
    answer
}

/// The bytes of a body: text as it is, `{"base64": …}` decoded, other JSON as its text.
fn bytes(body: &Value) -> Vec<u8> {
    match body {
        Value::String(text) => text.clone().into_bytes(),
        Value::Object(object) if object.len() == 1 && object.contains_key("base64") => BASE64_STANDARD
            .decode(object["base64"].as_str().unwrap())
            .unwrap(),
        body => body.to_string().into_bytes(),
    }
}

fn headers(object: &Value) -> Vec<(String, String)> {
    let headers = object.as_object().into_iter().flat_map(Map::iter);
    headers
        .map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned()))
        .collect()
}

/// Asks the proxy as the client of a turn; the body that came back.
fn ask(proxied: &Proxied, turn: &Value) -> Vec<u8> {
    let variable = match turn["api"].as_str().unwrap() {
        "anthropic" => "ANTHROPIC_BASE_URL",
        "gemini" => "GOOGLE_GEMINI_BASE_URL",
        "ollama" => "OLLAMA_HOST",
        _ => "OPENAI_BASE_URL",
    };
    let path = turn["path"].as_str().unwrap();
    let url = format!("{}{path}", proxied.base_url(variable));
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = match &turn["request"] {
        Value::Null => Vec::new(),
        request => bytes(request),
    };
    let method = turn["method"].as_str().unwrap_or("POST");
    let mut request = format!("{method} /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    let sent = headers(&turn["reqheaders"]);
    if !sent
        .iter()
        .any(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        && !body.is_empty()
    {
        request.push_str("content-type: application/json\r\n");
    }
    for (name, value) in sent {
        request.extend([&name, ": ", &value, "\r\n"]);
    }
    request.extend([format!("content-length: {}\r\n\r\n", body.len())]);
    let mut connection = TcpStream::connect(host).unwrap();
    connection
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    connection.write_all(request.as_bytes()).unwrap();
    connection.write_all(&body).unwrap();
    let mut received = Vec::new();
    let _ = connection.read_to_end(&mut received);
    tracer_tests::model_server::parse_response(&received).body
}
