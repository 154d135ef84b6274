//! What the proxy for model APIs costs: the same requests directly and through it, to a provider that answers at once, and
//! to a replay.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tracer_capture::cassette::Replay;
use tracer_capture::proxy::{ModelProxy, ProxiedRuns, ProxyOptions};
use tracer_capture::runs::{CollectorOptions, RunCollector, RunIdentity, TraceRuns};
use tracer_sdk::settings::Settings;

use crate::machine;

/// What is measured.
#[derive(Debug)]
pub struct ProxyPlan {
    /// How many requests are timed, one after the other.
    pub requests: usize,
    /// How large the large answer is, in megabytes.
    pub megabytes: usize,
    /// How many streams are open at once.
    pub streams: usize,
    /// Where the run is written.
    pub directory: PathBuf,
}

const REQUEST: &str =
    r#"{"model":"gpt-5","messages":[{"role":"user","content":"What is the weather in Oslo?"}]}"#;
const ANSWER: &str = r#"{"id":"chatcmpl-1","model":"gpt-5","choices":[{"index":0,"message":{"role":"assistant","content":"7 C"},"finish_reason":"stop"}],"usage":{"prompt_tokens":8,"completion_tokens":2}}"#;
const EVENT: &str = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word \"}}]}\n\n";
/// The events of one stream, and the time between two of them.
const EVENTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);
const CHUNK: usize = 64 * 1024;
/// The calls of the agent that is replayed: each sends the whole conversation so far, as agents do.
const REPLAYED_CALLS: usize = 50;
/// What each of its calls adds to the conversation, beside the answer, in bytes.
const TOOL_RESULT_BYTES: usize = 2_000;
/// How long an answer may take; later it is an error, not a wait without end.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests before any is timed.
const WARM_UP: usize = 50;

/// Measures, and reports the ratios.
pub fn measure(plan: &ProxyPlan) -> Result<String, Box<dyn Error>> {
    let directory = tempfile::tempdir_in(&plan.directory)?;
    let provider = provider(plan.megabytes)?;
    let settings = Settings::with_data_dir(directory.path());
    let identity = RunIdentity::new("proxy", "2026-01-01T00:00:00Z".parse()?);
    let mut options = CollectorOptions::new(&settings);
    options.into = TraceRuns::OneRun(identity.clone());
    let collector = RunCollector::open(options)?;
    let runs = ProxiedRuns::One((&identity).into());
    let upstream = format!("http://{provider}/v1");
    let proxy = ModelProxy::start(
        runs,
        |name| (name == "OPENAI_BASE_URL").then(|| upstream.clone()),
        Some(Arc::clone(&collector) as _),
        ProxyOptions::default(),
    )?;
    let base = format!("{}/openai/v1", proxy.base());
    let path = base
        .strip_prefix(&format!("http://{}", proxy.address()))
        .unwrap_or_default()
        .to_owned();
    let direct = ProxyTarget {
        address: provider,
        path: "/v1".to_owned(),
    };
    let proxied = ProxyTarget {
        address: proxy.address(),
        path,
    };

    let mut report = machine::facts(&plan.directory);
    let [once, through] = first_bytes(&direct, &proxied, plan.requests)?;
    writeln!(
        report,
        "\nFirst byte of a small answer, median of {}: directly {:.3} ms, through the proxy {:.3} ms: {:.3} ms later.",
        plan.requests,
        once * 1e3,
        through * 1e3,
        (through - once) * 1e3
    )?;
    let (once, through) = (
        direct.download(plan.megabytes)?,
        proxied.download(plan.megabytes)?,
    );
    writeln!(
        report,
        "An answer of {} MB: directly {:.0} MB/s, through the proxy {:.0} MB/s.",
        plan.megabytes,
        plan.megabytes as f64 / once,
        plan.megabytes as f64 / through
    )?;
    let before = resident_kilobytes();
    let (once, through) = (streams(&direct, plan.streams)?, streams(&proxied, plan.streams)?);
    writeln!(
        report,
        "{} streams of {EVENTS} events at once: directly {once:.2} s, through the proxy {through:.2} s; the process grew by {} MB.",
        plan.streams,
        resident_kilobytes().saturating_sub(before) / 1024
    )?;
    report.push_str(&replay(&direct, &plan.directory)?);
    let summary = proxy.shut_down();
    let _ = collector.close();
    writeln!(
        report,
        "{} calls were recorded, {} were lost.",
        summary.model_calls, summary.lost
    )?;
    Ok(report)
}

/// Where requests go.
#[derive(Clone)]
struct ProxyTarget {
    address: SocketAddr,
    path: String,
}

impl ProxyTarget {
    fn connect(&self) -> io::Result<TcpStream> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    fn request(&self, kind: &str) -> String {
        self.request_of(&format!("?{kind}"), REQUEST)
    }

    fn request_of(&self, query: &str, body: &str) -> String {
        format!(
            "POST {}/chat/completions{query} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.path,
            self.address,
            body.len()
        )
    }

    /// Seconds that these requests take, one after the other.
    fn converse(&self, requests: &[String]) -> io::Result<f64> {
        let mut stream = self.connect()?;
        let mut buffer = vec![0; CHUNK];
        let start = Instant::now();
        for request in requests {
            stream.write_all(self.request_of("", request).as_bytes())?;
            let mut seen = Vec::new();
            // The end of an answer in chunks may come with it or after it.
            while !String::from_utf8_lossy(&seen).contains(&ANSWER[ANSWER.len() - 20..]) {
                match stream.read(&mut buffer)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => seen.extend_from_slice(&buffer[..read]),
                }
            }
        }
        Ok(start.elapsed().as_secs_f64())
    }

    /// Seconds until all of the large answer has come.
    fn download(&self, megabytes: usize) -> io::Result<f64> {
        let mut stream = self.connect()?;
        let start = Instant::now();
        stream.write_all(self.request("large").as_bytes())?;
        let mut left = megabytes * 1_000_000;
        let mut buffer = vec![0; CHUNK];
        // The head is a few hundred bytes more.
        while left > 0 {
            match stream.read(&mut buffer)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                read => left = left.saturating_sub(read),
            }
        }
        Ok(start.elapsed().as_secs_f64())
    }
}

/// The median seconds to the first byte, taken in turns on connections that stay open.
fn first_bytes(direct: &ProxyTarget, proxied: &ProxyTarget, requests: usize) -> io::Result<[f64; 2]> {
    let targets = [direct, proxied];
    let mut connections = [direct.connect()?, proxied.connect()?];
    let mut times = [Vec::new(), Vec::new()];
    let mut buffer = vec![0; CHUNK];
    for round in 0..WARM_UP + requests {
        for ((target, stream), times) in targets.iter().zip(&mut connections).zip(&mut times) {
            let request = target.request("small");
            let start = Instant::now();
            stream.write_all(request.as_bytes())?;
            let mut read = stream.read(&mut buffer)?;
            let time = start.elapsed().as_secs_f64();
            while !buffer[..read].ends_with(&ANSWER.as_bytes()[ANSWER.len() - 20..]) {
                read = stream.read(&mut buffer)?;
                if read == 0 {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            if round >= WARM_UP {
                times.push(time);
            }
        }
    }
    Ok(times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }))
}

/// An agent of many calls, answered by a provider that answers at once and from a cassette: what is left of the time is the
/// agent's own.
fn replay(direct: &ProxyTarget, directory: &Path) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::tempdir_in(directory)?;
    let path = folder.path().join("agent.jsonl");
    let conversation: Vec<String> = (0..REPLAYED_CALLS).map(question_after).collect();
    let mut cassette = String::from("{\"cassette\":1}\n");
    for (position, request) in conversation.iter().enumerate() {
        let line = serde_json::json!({
            "n": position + 1, "api": "openai.chat", "provider": "openai", "path": "/v1/chat/completions",
            "request": serde_json::from_str::<serde_json::Value>(request)?,
            "response": {"status": 200, "text": ANSWER},
        });
        writeln!(cassette, "{line}")?;
    }
    fs::write(&path, cassette)?;
    let replay = Replay::start(&path)?;
    let base = replay.base_url("openai");
    let (address, path) = base
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .ok_or("the replay has no address")?;
    let replayed = ProxyTarget {
        address: address.parse()?,
        path: format!("/{path}"),
    };
    let once = direct.converse(&conversation)?;
    let again = replayed.converse(&conversation)?;
    let outcome = replay.finish();
    if outcome.missed > 0 || !outcome.unused.is_empty() {
        return Err(format!("the replay did not answer all calls: {outcome:?}").into());
    }
    Ok(format!(
        "An agent of {REPLAYED_CALLS} calls, {} kB sent: a provider that answers at once {:.1} ms, replayed {:.1} ms: {:.2} ms a call.\n",
        conversation.iter().map(String::len).sum::<usize>() / 1_000,
        once * 1e3,
        again * 1e3,
        again * 1e3 / REPLAYED_CALLS as f64
    ))
}

/// The request of a call after this number of calls: it ends as every request does, by which the provider knows its end.
fn question_after(calls: usize) -> String {
    let result = "x".repeat(TOOL_RESULT_BYTES);
    let earlier: String = (0..calls)
        .map(|call| format!(r#"{{"role":"tool","tool_call_id":"call-{call}","content":"{call} {result}"}},"#))
        .collect();
    REQUEST.replacen(r#""messages":["#, &format!(r#""messages":[{earlier}"#), 1)
}

/// Seconds until all of the streams have ended.
fn streams(target: &ProxyTarget, count: usize) -> io::Result<f64> {
    let start = Instant::now();
    let readers: Vec<_> = (0..count)
        .map(|_| {
            let target = target.clone();
            thread::spawn(move || -> io::Result<()> {
                let mut stream = target.connect()?;
                stream.write_all(target.request("stream").as_bytes())?;
                let mut seen = Vec::new();
                let mut buffer = [0; 4096];
                while !seen.ends_with(b"0\r\n\r\n") {
                    match stream.read(&mut buffer)? {
                        0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        read => seen.extend_from_slice(&buffer[..read]),
                    }
                }
                Ok(())
            })
        })
        .collect();
    for reader in readers {
        reader
            .join()
            .map_err(|_| io::Error::other("a reader panicked"))??;
    }
    Ok(start.elapsed().as_secs_f64())
}

fn resident_kilobytes() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let digits = line.and_then(|line| line.split_whitespace().nth(1));
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// A provider: a small answer, a large one, a slow stream, by the query.
fn provider(megabytes: usize) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let _ = serve(stream, megabytes);
            });
        }
    });
    Ok(address)
}

fn serve(mut stream: TcpStream, megabytes: usize) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; CHUNK];
    loop {
        let mut request = Vec::new();
        while !request.ends_with(&REQUEST.as_bytes()[REQUEST.len() - 20..]) {
            match stream.read(&mut buffer)? {
                0 => return Ok(()),
                read => request.extend_from_slice(&buffer[..read]),
            }
        }
        let line = String::from_utf8_lossy(&request[..request.len().min(200)]).into_owned();
        let head = "HTTP/1.1 200 OK\r\ncontent-type:";
        if line.contains("?large") {
            let length = megabytes * 1_000_000;
            write!(
                stream,
                "{head} application/octet-stream\r\ncontent-length: {length}\r\n\r\n"
            )?;
            let chunk = vec![b'x'; CHUNK];
            let mut left = length;
            while left > 0 {
                let part = left.min(CHUNK);
                stream.write_all(&chunk[..part])?;
                left -= part;
            }
        } else if line.contains("?stream") {
            write!(
                stream,
                "{head} text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )?;
            for _ in 0..EVENTS {
                write!(stream, "{:x}\r\n{EVENT}\r\n", EVENT.len())?;
                thread::sleep(PAUSE);
            }
            stream.write_all(b"0\r\n\r\n")?;
        } else {
            write!(
                stream,
                "{head} application/json\r\ncontent-length: {}\r\n\r\n{ANSWER}",
                ANSWER.len()
            )?;
        }
    }
}
