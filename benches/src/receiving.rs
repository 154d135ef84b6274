//! What receiving costs: the `tracer` executable takes spans of 1 kB in batches of 512 over OTLP/HTTP. See `README.md`.

use std::error::Error;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use wait4::Wait4;

use crate::machine;
use crate::reading::executable;
use crate::report::Style;

/// Spans of a request, as exporters send them by default.
const BATCH: usize = 512;
/// Spans of a trace: an agent with model and tool calls.
const SPANS_OF_TRACE: usize = 64;
/// What a span holds beside its IDs and times, so that it has 1 kB on the wire.
const TEXT_BYTES: usize = 760;
/// Spans for a second of processor time, at least.
const LIMIT: f64 = 50_000.0;

/// What is measured.
#[derive(Debug)]
pub struct ReceivePlan {
    /// Spans that are sent.
    pub spans: usize,
    /// Connections that send at once.
    pub connections: usize,
    /// The executable, when it is not the workspace's.
    pub tracer: Option<PathBuf>,
    /// Where the runs are written.
    pub directory: PathBuf,
}

/// What a receiver used.
struct ReceiverUse {
    bytes_of_span: f64,
    /// From the first request to the last answer.
    sending: Duration,
    /// The time to an answer: half of the requests had theirs sooner, 99 of 100.
    answers: [Duration; 2],
    /// From the signal to the end, all runs completed.
    ending: Duration,
    processor: Duration,
    memory: u64,
}

/// Starts a receiver, sends, ends it.
pub fn measure(plan: &ReceivePlan, style: Style) -> Result<String, Box<dyn Error>> {
    let directory = tempfile::tempdir_in(&plan.directory)?;
    let tracer = executable(plan.tracer.as_deref())?;
    let half = receive(
        &tracer,
        &directory.path().join("half"),
        plan.spans / 2,
        plan.connections,
    )?;
    let whole = receive(
        &tracer,
        &directory.path().join("whole"),
        plan.spans,
        plan.connections,
    )?;
    Ok(report(plan, &half, &whole, style))
}

fn receive(
    tracer: &Path,
    data: &Path,
    spans: usize,
    connections: usize,
) -> Result<ReceiverUse, Box<dyn Error>> {
    let mut child = Command::new(tracer)
        .args(["receive", "--port", "0", "--json", "--data-dir"])
        .arg(data)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{} cannot be started: {error}", tracer.display()))?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut first = String::new();
    output.read_line(&mut first)?;
    let first: serde_json::Value = serde_json::from_str(&first)?;
    let endpoint = first["http_endpoint"].as_str().ok_or("no address")?;
    let address = endpoint.trim_start_matches("http://").to_owned();
    // The receiver must not wait for a full pipe.
    let reading = thread::spawn(move || output.read_to_end(&mut Vec::new()));

    let batches = spans / BATCH;
    let start = Instant::now();
    let mut answers: Vec<Duration> = thread::scope(|scope| {
        let senders: Vec<_> = (0..connections)
            .map(|sender| {
                let address = &address;
                let numbers = (sender..batches).step_by(connections);
                scope.spawn(move || send(address, numbers))
            })
            .collect();
        let joined = senders
            .into_iter()
            .map(|sender| sender.join().map_err(|_| "a sender failed")?);
        joined.collect::<Result<Vec<_>, String>>()
    })?
    .concat();
    let sending = start.elapsed();
    answers.sort_unstable();
    let answer = |part: f64| {
        answers
            .get((answers.len() as f64 * part) as usize)
            .copied()
            .unwrap_or_default()
    };

    let end = Instant::now();
    Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status()?;
    let used = child.wait4()?;
    let ending = end.elapsed();
    let _ = reading.join();
    if !used.status.success() {
        return Err(format!("the receiver ended with {}", used.status).into());
    }
    Ok(ReceiverUse {
        bytes_of_span: request(0).len() as f64 / BATCH as f64,
        sending,
        answers: [answer(0.5), answer(0.99)],
        ending,
        processor: used.rusage.utime + used.rusage.stime,
        memory: used.rusage.maxrss,
    })
}

/// Sends requests one after the other, as an exporter does; how long each answer took.
fn send(address: &str, numbers: impl Iterator<Item = usize>) -> Result<Vec<Duration>, String> {
    let mut stream = TcpStream::connect(address).map_err(|error| error.to_string())?;
    let _ = stream.set_nodelay(true);
    numbers
        .map(|number| {
            let body = request(number);
            let start = Instant::now();
            let status = post(&mut stream, &body).map_err(|error| error.to_string())?;
            if status != 200 {
                return Err(format!("a request was answered with {status}"));
            }
            Ok(start.elapsed())
        })
        .collect()
}

fn post(stream: &mut TcpStream, body: &[u8]) -> std::io::Result<u16> {
    let head = format!(
        "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    let mut part = [0; 1024];
    while !answer.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut part)?;
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        answer.extend_from_slice(&part[..read]);
    }
    // The answer of success is empty.
    let status = String::from_utf8_lossy(&answer)
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    status.ok_or_else(|| std::io::ErrorKind::InvalidData.into())
}

// ---- OTLP's protobuf, as far as it is needed ------------------------------------------------------------------------

fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn bytes(number: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(number << 3 | 2);
    varint(content.len() as u64, out);
    out.extend_from_slice(content);
}

fn fixed(number: u8, value: u64, out: &mut Vec<u8>) {
    out.push(number << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

fn attribute(key: &str, value: &str, span: &mut Vec<u8>) {
    let (mut any, mut pair) = (Vec::new(), Vec::new());
    bytes(1, value.as_bytes(), &mut any);
    bytes(1, key.as_bytes(), &mut pair);
    bytes(2, &any, &mut pair);
    bytes(9, &pair, span);
}

/// A request with whole traces: a root, model calls and tool calls.
fn request(number: usize) -> Vec<u8> {
    let mut scope = Vec::new();
    for index in 0..BATCH {
        let (trace, position) = (
            number * BATCH / SPANS_OF_TRACE + index / SPANS_OF_TRACE,
            index % SPANS_OF_TRACE,
        );
        let id = |position: usize| ((trace * SPANS_OF_TRACE + position + 1) as u64).to_be_bytes();
        let start = 1_767_225_600_000_000_000 + position as u64 * 1_000_000;
        let mut span = Vec::new();
        bytes(1, &(trace as u128 + 1).to_be_bytes(), &mut span);
        bytes(2, &id(position), &mut span);
        fixed(7, start, &mut span);
        fixed(8, start + 900_000, &mut span);
        let text = "An ordinary sentence of some length, as models write them. ".repeat(20);
        let text = &text[..TEXT_BYTES];
        match position {
            0 => {
                bytes(5, b"invoke_agent support", &mut span);
                attribute("gen_ai.operation.name", "invoke_agent", &mut span);
                attribute("gen_ai.agent.description", text, &mut span);
            }
            _ if position % 2 == 1 => {
                bytes(4, &id(0), &mut span);
                bytes(5, b"chat demo-model", &mut span);
                attribute("gen_ai.operation.name", "chat", &mut span);
                attribute("gen_ai.request.model", "demo-model", &mut span);
                let message =
                    format!(r#"[{{"role":"assistant","parts":[{{"type":"text","content":"{text}"}}]}}]"#);
                attribute("gen_ai.output.messages", &message, &mut span);
            }
            _ => {
                bytes(4, &id(0), &mut span);
                bytes(5, b"execute_tool search", &mut span);
                attribute("gen_ai.operation.name", "execute_tool", &mut span);
                attribute("gen_ai.tool.name", "search", &mut span);
                attribute("gen_ai.tool.call.result", text, &mut span);
            }
        }
        bytes(2, &span, &mut scope);
    }
    let (mut resource, mut request) = (Vec::new(), Vec::new());
    bytes(2, &scope, &mut resource);
    bytes(1, &resource, &mut request);
    request
}

fn report(plan: &ReceivePlan, half: &ReceiverUse, whole: &ReceiverUse, style: Style) -> String {
    let mut text = machine::facts(&plan.directory);
    let _ = writeln!(
        text,
        "{} connections, batches of {BATCH} spans of {:.0} bytes, traces of {SPANS_OF_TRACE} spans.\n",
        plan.connections, whole.bytes_of_span
    );
    let rows = [(plan.spans / 2, half), (plan.spans, whole)];
    if style == Style::Markdown {
        text.push_str("| spans | spans per second of processor time | spans per second | answer, median | 99 % | end | memory |\n");
        text.push_str("|---|---|---|---|---|---|---|\n");
    }
    for (spans, measured) in rows {
        let sent = (spans / BATCH * BATCH) as f64;
        let cells = [
            spans.to_string(),
            format!("{:.0}", sent / measured.processor.as_secs_f64()),
            format!("{:.0}", sent / measured.sending.as_secs_f64()),
            format!("{:.1} ms", measured.answers[0].as_secs_f64() * 1e3),
            format!("{:.1} ms", measured.answers[1].as_secs_f64() * 1e3),
            format!("{:.0} ms", measured.ending.as_secs_f64() * 1e3),
            format!("{:.0} MB", measured.memory as f64 / 1e6),
        ];
        let line = match style {
            Style::Markdown => format!("| {} |", cells.join(" | ")),
            _ => format!(
                "{} spans: {} per second of processor time, {} per second; answers in {} (median), {} (99 %); end after {}; \
                 {} of memory",
                cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]
            ),
        };
        let _ = writeln!(text, "{line}");
    }
    let rate = (plan.spans / BATCH * BATCH) as f64 / whole.processor.as_secs_f64();
    let held = if rate >= LIMIT { "kept" } else { "not kept" };
    let _ = writeln!(
        text,
        "\nlimit: {LIMIT:.0} spans per second of processor time: {held}"
    );
    text
}
