//! A viewer that runs, and requests to it as they are: byte for byte.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::sandbox::{FIRST, Sandbox};

/// So long a test waits for an answer before it fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// A viewer of a sandbox; it ends with the test.
pub(crate) struct Viewer {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
    /// What it printed.
    pub(crate) reported: Value,
}

/// A viewer of a sandbox with one run.
pub(crate) fn opened() -> (Sandbox, Viewer) {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    let viewer = Viewer::start(&sandbox);
    (sandbox, viewer)
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut found = self
            .headers
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        found.next().map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// Asserts an error of the API, and that it keeps to its shape.
    #[track_caller]
    pub(crate) fn refuses(&self, status: u16, code: &str) {
        assert_eq!(self.status, status, "{self:?}");
        let answer = self.json();
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["spec_version"], "0.2.0");
        assert!(answer["error"]["message"].is_string());
    }

    /// Whether the headers are there that keep a browser within bounds.
    #[track_caller]
    pub(crate) fn is_guarded(&self) {
        let policy = self.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{self:?}"
        );
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("cross-origin-resource-policy", "same-origin"),
            ("cross-origin-opener-policy", "same-origin"),
        ] {
            assert_eq!(self.header(name), Some(value), "{name}");
        }
        assert_eq!(self.header("access-control-allow-origin"), None);
    }
}

impl Viewer {
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        Self::start_with(sandbox, &[])
    }

    pub(crate) fn start_with(sandbox: &Sandbox, options: &[&str]) -> Self {
        Self::spawn(sandbox, &sandbox.path(""), "0", options)
    }

    pub(crate) fn start_with_port(sandbox: &Sandbox, port: &str) -> Self {
        Self::spawn(sandbox, &sandbox.path(""), port, &[])
    }

    /// With this working directory.
    pub(crate) fn start_in(sandbox: &Sandbox, directory: &Path) -> Self {
        Self::spawn(sandbox, directory, "0", &[])
    }

    fn spawn(sandbox: &Sandbox, directory: &Path, port: &str, options: &[&str]) -> Self {
        let arguments = ["view", "--no-browser", "--json", "--port", port];
        let mut child = sandbox
            .command(&[&arguments, options].concat())
            .current_dir(directory)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let reported: Value =
            serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error} in {line:?}"));
        assert_eq!(reported["status"], "serving");
        let url = reported["url"].as_str().unwrap();
        let host = url.strip_prefix("http://").unwrap().split('/').next().unwrap();
        Self {
            child,
            address: host.parse().unwrap(),
            reported,
        }
    }

    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], "")
    }

    /// The answer, which has to be a success, as JSON.
    #[track_caller]
    pub(crate) fn json(&self, path: &str) -> Value {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {response:?}");
        assert!(
            response
                .header("content-type")
                .unwrap()
                .starts_with("application/json")
        );
        response.json()
    }

    /// The token in the printed address.
    pub(crate) fn token(&self) -> &str {
        let url = self.reported["url"].as_str().unwrap();
        url.split_once("?token=").unwrap().1
    }

    /// The cookie that the printed address gives a browser, as it is sent.
    pub(crate) fn cookie(&self) -> String {
        format!(
            "Cookie: tracer-token-{}={}\r\n",
            self.address.port(),
            self.token()
        )
    }

    /// A change as the page makes it.
    pub(crate) fn change(&self, method: &str, path: &str, body: &str) -> Response {
        let headers = [
            ("X-Tracer-Token", self.token()),
            ("Content-Type", "application/json"),
        ];
        self.send(method, path, &headers, body)
    }

    /// A request with the right host, the cookie and these headers.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}",
            self.address,
            self.cookie()
        );
        let length = body.len().to_string();
        let sized = (!body.is_empty() || method != "GET").then_some(("Content-Length", length.as_str()));
        for (name, value) in headers.iter().copied().chain(sized) {
            head.extend([name, ": ", value, "\r\n"]);
        }
        self.raw(&format!("{head}\r\n{body}"))
    }

    /// A request as it is.
    pub(crate) fn raw(&self, request: &str) -> Response {
        let mut stream = self.connect();
        // A server that refuses a request may not read the rest of it.
        let _ = stream.write_all(request.as_bytes());
        read_response(&mut stream)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn read_response(stream: &mut TcpStream) -> Response {
    let mut bytes = Vec::new();
    // A connection that is reset gives what came before.
    let _ = stream.read_to_end(&mut bytes);
    let split = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let split = split.unwrap_or_else(|| panic!("no answer: {:?}", String::from_utf8_lossy(&bytes)));
    let head = String::from_utf8(bytes[..split].to_vec()).unwrap();
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .map(|line| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_owned(), value.trim().to_owned())
        })
        .collect();
    let body = bytes[split + 4..].to_vec();
    let is_chunked = headers
        .iter()
        .any(|(name, value)| name.eq_ignore_ascii_case("transfer-encoding") && value == "chunked");
    Response {
        status,
        headers,
        body: if is_chunked { joined(&body) } else { body },
    }
}

/// The body without the sizes between its pieces.
fn joined(mut chunks: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = chunks.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&chunks[..end]).unwrap(), 16).unwrap();
        if size == 0 {
            break;
        }
        body.extend_from_slice(&chunks[end + 2..end + 2 + size]);
        chunks = &chunks[end + 2 + size + 2..];
    }
    body
}
