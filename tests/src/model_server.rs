//! A provider of models on the loopback address that answers as a test says, and a client that sees every byte.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request as it arrived.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// The request line and the headers, as they were sent.
    pub head: String,
    /// The path, with the query.
    pub path: String,
    /// The body.
    pub body: Vec<u8>,
}

impl ModelRequest {
    /// Whether a line of the head is this one, whatever the case.
    #[must_use]
    pub fn has_header(&self, line: &str) -> bool {
        self.head.lines().any(|header| header.eq_ignore_ascii_case(line))
    }
}

/// A provider that listens until the test ends.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<ModelRequest>>>,
}

impl ModelServer {
    /// Answers each request with what `answer` writes to the connection.
    #[must_use]
    pub fn start(answer: impl Fn(&ModelRequest, &mut TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&requests);
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || {
                    let mut stream = stream;
                    stream.set_nodelay(true).unwrap();
                    while let Some(request) = read_request(&mut stream) {
                        kept.lock().unwrap().push(request.clone());
                        answer(&request, &mut stream);
                    }
                });
            }
        });
        Self { address, requests }
    }

    /// Answers every request with the same JSON.
    #[must_use]
    pub fn with_json(body: &serde_json::Value) -> Self {
        let body = body.to_string();
        Self::start(move |_, stream| {
            let _ = stream.write_all(&whole_answer("application/json", body.as_bytes()));
        })
    }

    /// Its address, without a path.
    #[must_use]
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

fn read_request(stream: &mut TcpStream) -> Option<ModelRequest> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 8192];
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().unwrap())
    });
    let length: usize = length.unwrap_or(0);
    while bytes.len() < end + length {
        let read = stream.read(&mut buffer).ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&buffer[..read]);
    }
    let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
    Some(ModelRequest {
        path,
        body: bytes[end..].to_vec(),
        head,
    })
}

/// An answer with its length.
#[must_use]
pub fn whole_answer(content_type: &str, body: &[u8]) -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(body);
    answer
}

/// The head of an answer in chunks.
#[must_use]
pub fn chunked_head(content_type: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ntransfer-encoding: chunked\r\n\r\n")
        .into_bytes()
}

/// A chunk of an answer; an empty one is the end.
#[must_use]
pub fn chunk(bytes: &[u8]) -> Vec<u8> {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// What a client got.
#[derive(Debug, Clone, Default)]
pub struct ModelResponse {
    /// The status; 0 when nothing came.
    pub status: u16,
    /// The status line and the headers.
    pub head: String,
    /// The body, without the framing of chunks.
    pub body: Vec<u8>,
    /// It came to its end as HTTP defines it.
    pub is_whole: bool,
}

/// Posts a body to a URL of the loopback address, over a connection of its own.
#[must_use]
pub fn post(url: &str, headers: &[(&str, &str)], body: &[u8]) -> ModelResponse {
    let mut stream = begin_post(url, headers, body);
    let mut bytes = Vec::new();
    // A connection that is broken off gives what came before.
    let _ = stream.read_to_end(&mut bytes);
    parse_response(&bytes)
}

/// Sends a request, and leaves the answer to the caller.
#[must_use]
pub fn begin_post(url: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
    let (host, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut request = format!("POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n");
    for (name, value) in headers {
        request.extend([name, ": ", value, "\r\n"]);
    }
    request.extend([format!("content-length: {}\r\n\r\n", body.len())]);
    stream.write_all(request.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    stream
}

/// The answer in the bytes of a connection.
#[must_use]
pub fn parse_response(bytes: &[u8]) -> ModelResponse {
    let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else {
        return ModelResponse::default();
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let sent = &bytes[end + 4..];
    let lower = head.to_ascii_lowercase();
    let length = lower
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let (body, is_whole) = if lower.contains("transfer-encoding: chunked") {
        unchunked(sent)
    } else {
        let length: Option<usize> = length.map(|length| length.trim().parse().unwrap());
        (sent.to_vec(), length.is_none_or(|length| length == sent.len()))
    };
    ModelResponse {
        status: head.split(' ').nth(1).unwrap_or_default().parse().unwrap_or(0),
        head,
        body,
        is_whole,
    }
}

fn unchunked(mut bytes: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let length = usize::from_str_radix(std::str::from_utf8(&bytes[..end]).unwrap(), 16).unwrap();
        bytes = &bytes[end + 2..];
        if length == 0 {
            return (body, true);
        }
        let part = &bytes[..length.min(bytes.len())];
        body.extend_from_slice(part);
        bytes = bytes.get(length + 2..).unwrap_or_default();
    }
    (body, false)
}
