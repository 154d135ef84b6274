//! `tracer view` as a child process, and requests to it.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a first reading of all runs is waited for.
const MAX_READING: Duration = Duration::from_secs(300);

/// A viewer; it stops when this is dropped.
pub(super) struct Viewer {
    child: Child,
    address: String,
}

impl Viewer {
    /// Starts a viewer, which listens then.
    pub(super) fn start(tracer: &Path, data_dir: &Path) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(tracer)
            .args(["view", "--no-browser", "--port", "0", "--json"])
            .env("TRACER_DATA_DIR", data_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().ok_or("there is no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let started: Value = serde_json::from_str(&line)?;
        let url = started["url"].as_str().ok_or("there is no url")?;
        let address = url.trim_start_matches("http://").split('/').next();
        Ok(Self {
            address: address.unwrap_or_default().to_owned(),
            child,
        })
    }

    /// The time of a request until its answer is there, and the answer.
    pub(super) fn get(&self, path: &str) -> Result<(Duration, Vec<u8>), Box<dyn Error>> {
        let start = Instant::now();
        let mut stream = TcpStream::connect(&self.address)?;
        let host = &self.address;
        stream.write_all(
            format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").as_bytes(),
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        let took = start.elapsed();
        if !answer.starts_with(b"HTTP/1.1 200") {
            let beginning = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
            return Err(format!("{path}: {beginning}").into());
        }
        Ok((took, answer))
    }

    /// Asks until the runs are not being read for the first time any more.
    pub(super) fn wait_until_read(&self, path: &str) -> Result<(), Box<dyn Error>> {
        let began = Instant::now();
        loop {
            let (_, answer) = self.get(path)?;
            if !String::from_utf8_lossy(&answer).contains("\"reading\":") {
                return Ok(());
            }
            if began.elapsed() > MAX_READING {
                return Err("the viewer reads all runs for too long".into());
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
