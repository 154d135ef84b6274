//! A receiver as a process, and what is sent to it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::sandbox::{Outcome, Sandbox};

/// The executable, receiving on free ports. Killed when it is dropped.
pub(crate) struct Receiving {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
    first_line: Value,
    address: String,
}

impl Drop for Receiving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Receiving {
    /// With JSON lines.
    pub(crate) fn start(sandbox: &Sandbox, arguments: &[&str]) -> Self {
        let mut receiving = Self::spawned(sandbox, &["receive", "--port", "0", "--json"], arguments);
        let first_line = receiving.line();
        assert_eq!(first_line["event"], "receiving", "{first_line}");
        let endpoint = first_line["http_endpoint"].as_str().unwrap();
        receiving.address = endpoint.strip_prefix("http://").unwrap().to_owned();
        receiving.first_line = first_line;
        receiving
    }

    /// For people; with what it prints at its start.
    pub(super) fn start_plain(sandbox: &Sandbox, arguments: &[&str]) -> (Self, Vec<String>) {
        let mut receiving = Self::spawned(sandbox, &["receive", "--port", "0"], arguments);
        let mut printed = Vec::new();
        while !printed.iter().any(|line: &String| line.contains("_HEADERS=")) {
            let mut line = String::new();
            assert_ne!(receiving.stderr.read_line(&mut line).unwrap(), 0, "{printed:?}");
            printed.push(line.trim_end().to_owned());
        }
        (receiving, printed)
    }

    /// The viewer that receives, with what it prints at its start.
    #[cfg(unix)]
    pub(super) fn start_viewer(sandbox: &Sandbox) -> (Self, Vec<String>) {
        let arguments = ["view", "--port", "0", "--receive"];
        let mut receiving = Self::spawned(sandbox, &arguments, &[]);
        let mut printed = Vec::new();
        while !printed.iter().any(|line: &String| line.contains("export ")) {
            let mut line = String::new();
            assert_ne!(receiving.stderr.read_line(&mut line).unwrap(), 0, "{printed:?}");
            printed.push(line.trim_end().to_owned());
        }
        let heading = printed
            .iter()
            .find_map(|line| line.strip_prefix("tracer receive: http://"));
        let (address, _) = heading.unwrap().split_once(' ').unwrap();
        address.clone_into(&mut receiving.address);
        // Once it answers it also listens to signals.
        let mut viewer = String::new();
        receiving.stdout.read_line(&mut viewer).unwrap();
        let viewer = viewer.trim_end().strip_prefix("tracer view: http://").unwrap();
        let host = viewer.split('/').next().unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        assert_ne!(stream.read(&mut [0; 64]).unwrap(), 0);
        (receiving, printed)
    }

    fn spawned(sandbox: &Sandbox, command: &[&str], arguments: &[&str]) -> Self {
        let mut child = sandbox
            .command(&[command, arguments].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Self {
            child,
            stdout,
            stderr,
            first_line: Value::Null,
            address: String::new(),
        }
    }

    pub(super) fn first_line(&self) -> &Value {
        &self.first_line
    }

    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the next line of standard output.
    pub(crate) fn line(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut stderr = String::new();
            let _ = self.child.kill();
            let _ = self.stderr.read_to_string(&mut stderr);
            panic!("{error} in {line:?}, and on standard error: {stderr}")
        })
    }

    /// Sends one request; its status.
    pub(super) fn post(&self, path: &str, body: &str) -> u16 {
        self.post_with(path, body, "")
    }

    pub(super) fn post_with(&self, path: &str, body: &str, header: &str) -> u16 {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        post(&mut stream, path, body, header).unwrap()
    }

    #[cfg(unix)]
    pub(super) fn signal(&self, signal: nix::sys::signal::Signal) {
        let id = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        nix::sys::signal::kill(id, signal).unwrap();
    }

    /// Ctrl-C; the last line.
    #[cfg(unix)]
    pub(super) fn interrupt(&mut self) -> Value {
        self.signal(nix::sys::signal::Signal::SIGINT);
        self.last_line()
    }

    /// The last line, and a good end.
    #[cfg(unix)]
    pub(super) fn last_line(&mut self) -> Value {
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        serde_json::from_str(rest.lines().last().unwrap()).unwrap()
    }

    /// What it did, ended by a signal.
    #[cfg(unix)]
    pub(super) fn ended_by(mut self, signal: nix::sys::signal::Signal) -> Outcome {
        self.signal(signal);
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        Outcome {
            code: self.child.wait().unwrap().code(),
            stdout,
            stderr,
        }
    }

    /// Kills it, as nothing is asked of it any more.
    pub(super) fn end(self) {
        drop(self);
    }
}

/// Sends a request over a connection and gives its status.
pub(super) fn post(stream: &mut TcpStream, path: &str, body: &str, header: &str) -> std::io::Result<u16> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{header}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    let mut answer = Vec::new();
    let mut byte = [0];
    while !answer.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        answer.extend(byte);
    }
    let head = String::from_utf8(answer).unwrap().to_ascii_lowercase();
    let length = head
        .split("content-length: ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let length = length.map_or(0, |length| length.parse().unwrap());
    stream.read_exact(&mut vec![0; length])?;
    Ok(head.split(' ').nth(1).unwrap().parse().unwrap())
}

/// A request of spans.
pub(super) fn batch(spans: &[Value]) -> String {
    json!({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).to_string()
}

/// A span with the ID `number`.
pub(super) fn span(trace_id: &str, number: u64, parent: Option<&str>, name: &str) -> Value {
    json!({
        "traceId": trace_id, "spanId": format!("{number:016x}"), "parentSpanId": parent, "name": name, "kind": 1,
        "startTimeUnixNano": "1767225600000000000", "endTimeUnixNano": "1767225601000000000", "attributes": [],
    })
}

/// A model call with the ID `number`.
pub(super) fn chat_span(trace_id: &str, number: u64, parent: &str) -> Value {
    let mut chat = span(trace_id, number, Some(parent), "chat demo-model");
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let count = |key: &str, value: u64| json!({"key": key, "value": {"intValue": value.to_string()}});
    chat["attributes"] = json!([
        text("gen_ai.operation.name", "chat"),
        text("gen_ai.request.model", "demo-model"),
        text(
            "gen_ai.output.messages",
            r#"[{"role":"assistant","parts":[{"type":"text","content":"Dear Ada"}]}]"#
        ),
        count("gen_ai.usage.input_tokens", 412),
        count("gen_ai.usage.output_tokens", 35),
    ]);
    chat
}

/// The root of a trace.
pub(super) fn root_span(trace_id: &str, id: &str) -> Value {
    let mut root = span(trace_id, 0, None, "invoke_agent support");
    root["spanId"] = json!(id);
    root
}
