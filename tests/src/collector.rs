//! A stand-in for an OpenTelemetry collector: takes OTLP over HTTP, answers by a script, and keeps what it took.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use tracer_capture::otlp::{Encoding, decode_spans};

/// How long a request is left without an answer.
const SILENCE: Duration = Duration::from_secs(30);

/// How a request is answered.
#[derive(Debug, Clone)]
pub enum Reply {
    /// A status, headers, and a body.
    Status(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Not at all.
    Silence,
    /// The connection is closed.
    HangUp,
    /// Something that is no HTTP.
    Garbage,
    /// A while later, as [`Reply::ok`].
    Late(Duration),
}

impl Reply {
    /// All of it is taken.
    #[must_use]
    pub fn ok() -> Self {
        Self::Status(200, Vec::new(), Vec::new())
    }

    /// A status without anything else.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Status(status, Vec::new(), Vec::new())
    }

    /// A status with a body of JSON.
    #[must_use]
    pub fn json(status: u16, body: &str) -> Self {
        let headers = vec![("content-type", "application/json".to_owned())];
        Self::Status(status, headers, body.into())
    }
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The path.
    pub path: String,
    /// The headers, their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body, without its compression.
    pub body: Vec<u8>,
    /// When it had arrived.
    pub at: Instant,
    /// The status that it was answered with; `None` when there was no answer.
    pub answered: Option<u16>,
}

impl Request {
    /// The spans, by the resource that sent them.
    #[must_use]
    pub fn resources(&self) -> Vec<ResourceSpans> {
        let encoding = Encoding::from_content_type(&self.headers["content-type"]).unwrap();
        decode_spans(encoding, &self.body).unwrap().resources
    }

    /// The spans.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        let scopes = self.resources().into_iter().flat_map(|group| group.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

/// The collector; it listens on a port of its own as long as the process lives.
#[derive(Debug)]
pub struct Collector {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    script: VecDeque<Reply>,
    /// The reply when the script has ended.
    then: Option<Reply>,
    requests: Vec<Request>,
}

impl Collector {
    /// A collector that answers with these, one after the other, and takes everything then.
    #[must_use]
    pub fn start(script: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State {
            script: script.into_iter().collect(),
            ..State::default()
        }));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                thread::spawn(move || serve(&stream, &state));
            }
        });
        Self { address, state }
    }

    /// The reply to whatever comes behind the script.
    pub fn then(&self, reply: Reply) {
        self.state.lock().unwrap().then = Some(reply);
    }

    /// The base URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    /// The requests that were acknowledged.
    #[must_use]
    pub fn taken(&self) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.answered == Some(200));
        requests
    }

    /// The spans that were acknowledged, in the order of their arrival.
    #[must_use]
    pub fn spans(&self) -> Vec<Span> {
        self.taken().iter().flat_map(Request::spans).collect()
    }
}

/// Answers the requests of one connection.
fn serve(stream: &TcpStream, state: &Mutex<State>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut writer = stream;
    loop {
        let mut request = read_request(&mut reader)?;
        let reply = {
            let mut state = state.lock().unwrap();
            let next = state.script.pop_front().or_else(|| state.then.clone());
            next.unwrap_or_else(Reply::ok)
        };
        let (status, headers, body) = match reply {
            Reply::Status(status, headers, body) => (status, headers, body),
            Reply::Late(delay) => {
                thread::sleep(delay);
                (200, Vec::new(), Vec::new())
            }
            unanswered => {
                state.lock().unwrap().requests.push(request);
                match unanswered {
                    Reply::Silence => thread::sleep(SILENCE),
                    Reply::Garbage => writer.write_all(b"\x00\x01 not HTTP\r\n\r\n").ok()?,
                    _ => {}
                }
                return None;
            }
        };
        request.answered = Some(status);
        // It is taken before it is acknowledged.
        state.lock().unwrap().requests.push(request);
        let mut answer = Vec::new();
        write!(
            answer,
            "HTTP/1.1 {status} Status\r\ncontent-length: {}\r\n",
            body.len()
        )
        .ok()?;
        for (name, value) in headers {
            write!(answer, "{name}: {value}\r\n").ok()?;
        }
        answer.extend_from_slice(b"\r\n");
        answer.extend_from_slice(&body);
        writer.write_all(&answer).ok()?;
    }
}

fn read_request(reader: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length: usize = headers.get("content-length")?.parse().ok()?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    if headers.get("content-encoding").is_some_and(|name| name == "gzip") {
        let mut plain = Vec::new();
        GzDecoder::new(body.as_slice()).read_to_end(&mut plain).unwrap();
        body = plain;
    }
    Some(Request {
        path,
        headers,
        body,
        at: Instant::now(),
        answered: None,
    })
}
