//! A program that exports OpenTelemetry as its environment says, in JSON over plain TCP. Its arguments say what it does, one
//! after the other.

#![expect(clippy::unwrap_used, reason = "a program of the tests fails by panicking")]

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// A trace of the program's own, where its environment names none.
const OWN_TRACE: &str = "5b8efff798038103d269b633813fc60c";

fn main() {
    for task in std::env::args().skip(1) {
        match task.as_str() {
            "call" => {
                post("traces", &trace(OWN_TRACE, None));
            }
            "call-in-another-trace" => {
                post("traces", &trace("6c9fff798038103d269b633813fc60ca", None));
            }
            "call-in-context" => {
                let parent = std::env::var("TRACEPARENT").unwrap();
                let mut fields = parent.split('-').skip(1);
                let (trace_id, span_id) = (fields.next().unwrap(), fields.next().unwrap());
                post("traces", &trace(trace_id, Some(span_id)));
            }
            "plain-span" => {
                let mut request = trace(OWN_TRACE, None);
                request["resourceSpans"][0]["scopeSpans"][0]["spans"] =
                    json!([span(OWN_TRACE, "aaaaaaaaaaaaaaaa", None, "GET /", &[])]);
                post("traces", &request);
            }
            "nonsense" => {
                send("/v1/traces", b"{\"resourceSpans\":7}");
            }
            "metrics" => print(post("metrics", &json!({"resourceMetrics": []}))),
            "connect" => drop(connect()),
            "ask-model" => print(ask_model()),
            "ask-script" => ask_script().unwrap(),
            "act-script" => {
                let run = tracer_sdk::traced_run("agent");
                let acted = ask_script();
                run.finish();
                acted.unwrap();
            }
            "sdk-call" => {
                let run = tracer_sdk::traced_run("annotated");
                tracer_sdk::tool_call("search").record().unwrap();
                run.finish();
            }
            "sdk-loop" => {
                let run = tracer_sdk::traced_run("annotated");
                for _ in 0..6 {
                    let call = tracer_sdk::tool_call("pay").args(&json!({"order": 7}));
                    call.result("paid").record().unwrap();
                }
                run.finish();
            }
            "ready" => print("ready"),
            "acknowledge" => acknowledge(),
            "wait" => drop(std::io::stdin().lock().read_line(&mut String::new())),
            "call-after-parent" => call_after_parent(),
            "leave-one-behind" => leave_one_behind(),
            "leave-exporter-behind" => leave_exporter_behind(),
            "nap" => std::thread::sleep(Duration::from_millis(300)),
            _ => panic_of(&task),
        }
    }
}

/// Prints a line at once.
fn print(what: impl std::fmt::Display) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{what}").unwrap();
    output.flush().unwrap();
}

/// Exports one span after the other for as long as somebody takes them, and prints the ID of each one that was accepted.
fn acknowledge() {
    for number in 1_u64.. {
        let id = format!("{number:016x}");
        let mut request = trace(OWN_TRACE, None);
        request["resourceSpans"][0]["scopeSpans"][0]["spans"] = json!([span(
            OWN_TRACE,
            &id,
            None,
            "chat",
            &[("gen_ai.operation.name", json!({"stringValue": "chat"}))]
        )]);
        match TcpStream::connect(endpoint())
            .map(|stream| try_send(stream, "/v1/traces", request.to_string().as_bytes()))
        {
            Ok(Some(200)) => print(id),
            _ => return,
        }
    }
}

#[expect(clippy::panic, reason = "a program of the tests fails by panicking")]
fn panic_of(task: &str) -> ! {
    panic!("no task is called {task}")
}

/// Calls a model as the clients of `OpenAI` do: at the base URL of the environment. Gives the answer.
fn ask_model() -> String {
    let base = std::env::var("OPENAI_BASE_URL").unwrap();
    let (host, path) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = json!({"model": "gpt-5", "messages": [{"role": "user", "content": "Hello"}]}).to_string();
    let mut stream = TcpStream::connect(host).unwrap();
    let head = format!(
        "POST /{path}/chat/completions HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer sk-not-recorded\r\nContent-Type: \
         application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Sends the requests of `script.jsonl`, one after the other, and prints each answer as it came. Ends with 1 when one of them
/// was refused.
fn ask_script() -> Result<(), tracer_sdk::GuardrailExceeded> {
    let script = std::fs::read_to_string("script.jsonl").unwrap();
    let mut was_refused = false;
    for line in script.lines() {
        let request: Value = serde_json::from_str(line).unwrap();
        if act(&request)? {
            continue;
        }
        let base = std::env::var(request["base"].as_str().unwrap()).unwrap();
        let (host, path) = base.strip_prefix("http://").unwrap().split_once('/').unwrap();
        let headers = request["headers"].as_str().unwrap_or_default();
        let body = match &request["body"] {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let method = request["method"].as_str().unwrap_or("POST");
        let mut stream = TcpStream::connect(host).unwrap();
        // The answer of HTTP 1.0 ends with the connection, and is not divided.
        let head = format!(
            "{method} /{path}{} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nContent-Type: \
             application/json\r\n{headers}Content-Length: {}\r\n\r\n",
            request["path"].as_str().unwrap(),
            std::env::var("OPENAI_API_KEY").unwrap_or_default(),
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        // A client of little patience.
        let patience = request["time_out_ms"].as_u64().map(Duration::from_millis);
        stream.set_read_timeout(patience).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        if answer.is_empty() {
            print("000 0");
            continue;
        }
        let body = answer.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        let status = String::from_utf8_lossy(&answer[9..12]).into_owned();
        was_refused |= status.as_str() >= "400" && request["tolerates"] != true;
        let mut output = std::io::stdout().lock();
        writeln!(output, "{status} {}", answer.len() - body).unwrap();
        output.write_all(&answer[body..]).unwrap();
        output.flush().unwrap();
    }
    assert!(!was_refused, "a request was refused");
    Ok(())
}

/// Does a step of the script that is no request: a tool call, a text on standard output or in a file, an end.
#[expect(clippy::exit, reason = "a way for a program to end that is tested")]
fn act(step: &Value) -> Result<bool, tracer_sdk::GuardrailExceeded> {
    if let Some(tool) = step["tool"].as_str() {
        let call = tracer_sdk::tool_call(tool).args(&step["args"]);
        let call = match step["fail"].as_str() {
            Some(error) => call.fail(error),
            None => call.result("done"),
        };
        call.record()?;
    } else if let Some(text) = step["print"].as_str() {
        match step["file"].as_str() {
            Some(file) => std::fs::write(file, text).unwrap(),
            None => print(text),
        }
    } else if let Some(code) = step["exit"].as_i64() {
        std::process::exit(code.try_into().unwrap());
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Starts a process that has a connection already when this one ends, and sends later.
#[expect(clippy::zombie_processes, reason = "it outlives this program")]
fn leave_exporter_behind() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("call-after-parent")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // It is connected.
    child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
}

fn call_after_parent() {
    let stream = connect();
    let parent = std::os::unix::process::parent_id();
    print("connected");
    while std::os::unix::process::parent_id() == parent {
        std::thread::sleep(Duration::from_millis(2));
    }
    std::thread::sleep(Duration::from_millis(200));
    send_on(
        stream,
        "/v1/traces",
        trace(OWN_TRACE, None).to_string().as_bytes(),
    );
}

/// Starts a process that does nothing and runs on.
#[expect(clippy::zombie_processes, reason = "it outlives this program")]
fn leave_one_behind() {
    let child = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    print(child.id());
}

fn endpoint() -> String {
    let endpoint = std::env::var("OTEL_EXPORTER_OTLP_ENDPOINT").unwrap();
    endpoint.strip_prefix("http://").unwrap().to_owned()
}

fn connect() -> TcpStream {
    TcpStream::connect(endpoint()).unwrap()
}

/// Posts a request of a signal; the answer's status.
fn post(signal: &str, request: &Value) -> u16 {
    send(&format!("/v1/{signal}"), request.to_string().as_bytes())
}

fn send(path: &str, body: &[u8]) -> u16 {
    send_on(connect(), path, body)
}

fn send_on(stream: TcpStream, path: &str, body: &[u8]) -> u16 {
    try_send(stream, path, body).unwrap()
}

/// The answer's status; `None` when whoever listened is gone.
fn try_send(mut stream: TcpStream, path: &str, body: &[u8]) -> Option<u16> {
    let authorization = std::env::var("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default();
    let header = authorization.replacen('=', ": ", 1);
    let header = if header.is_empty() {
        String::new()
    } else {
        format!("{header}\r\n")
    };
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n{header}Content-Length: {}\r\nConnection: \
         close\r\n\r\n",
        endpoint(),
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(body).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    answer.split(' ').nth(1)?.parse().ok()
}

/// An agent that calls a model, then a tool.
fn trace(trace_id: &str, parent: Option<&str>) -> Value {
    // Span IDs are of their trace.
    let id = |number: u32| format!("{}{number:08}", trace_id.get(..8).unwrap());
    let agent = id(1);
    let operation = |name: &'static str| ("gen_ai.operation.name", json!({"stringValue": name}));
    let text = |key: &'static str, value: &'static str| (key, json!({"stringValue": value}));
    let number = |key: &'static str, value: u64| (key, json!({"intValue": value.to_string()}));
    let spans = [
        span(
            trace_id,
            &agent,
            parent,
            "invoke_agent weather",
            &[operation("invoke_agent"), text("gen_ai.agent.name", "weather")],
        ),
        span(
            trace_id,
            &id(2),
            Some(&agent),
            "chat gpt-5",
            &[
                operation("chat"),
                text("gen_ai.provider.name", "openai"),
                text("gen_ai.request.model", "gpt-5"),
                number("gen_ai.usage.input_tokens", 10),
                number("gen_ai.usage.output_tokens", 5),
            ],
        ),
        span(
            trace_id,
            &id(3),
            Some(&agent),
            "execute_tool get_weather",
            &[operation("execute_tool"), text("gen_ai.tool.name", "get_weather")],
        ),
    ];
    json!({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "weather"}}]},
        "scopeSpans": [{"scope": {"name": "test"}, "spans": spans}],
    }]})
}

fn span(trace_id: &str, id: &str, parent: Option<&str>, name: &str, attributes: &[(&str, Value)]) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let attributes: Vec<Value> = attributes
        .iter()
        .map(|(key, value)| json!({"key": key, "value": value}))
        .collect();
    json!({
        "traceId": trace_id, "spanId": id, "parentSpanId": parent.unwrap_or_default(), "name": name, "kind": 1,
        "startTimeUnixNano": now.to_string(), "endTimeUnixNano": now.to_string(),
        "attributes": attributes, "status": {},
    })
}
