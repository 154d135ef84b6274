//! [`RunPackage`]: a completed run as it is sent: checked for secrets once more and hashed.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use bytes::Bytes;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use tracer_insight::digest::hex;
use tracer_runs::{RunDirectory, read_input};
use tracer_sdk::format::{META_FILE, RecordedStatus, SPANS_FILE};
use tracer_sdk::redaction::Redaction;

use crate::bucket::committed_run::{CommittedRun, MAX_META_BYTES};

/// Bytes of a log that is sent as one object in one request; a larger one is sent in parts.
#[cfg(not(test))]
const MAX_WHOLE_BYTES: u64 = 8 * 1024 * 1024;
#[cfg(test)]
pub(crate) const MAX_WHOLE_BYTES: u64 = 128 * 1024;

/// A completed run.
pub(crate) struct RunPackage {
    /// Its metadata, without secrets.
    pub(crate) meta: Map<String, Value>,
    /// The whole object of its spans; `None` of a large one, which is read again line by line.
    pub(crate) whole: Option<Bytes>,
    /// Bytes of its log without secrets.
    pub(crate) bytes: u64,
    /// Hash of that log.
    pub(crate) sha256: String,
    /// Values that the check redacted.
    pub(crate) redacted_values: u64,
}

/// Why there is no package.
pub(crate) enum NoPackage {
    /// The run has not ended.
    Open,
    /// Its files cannot be read.
    Unreadable(String),
}

impl From<io::Error> for NoPackage {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl RunPackage {
    /// Reads a run.
    pub(crate) fn read(directory: &RunDirectory, redaction: &Redaction) -> Result<Self, NoPackage> {
        let text = read_input(&directory.path.join(META_FILE), MAX_META_BYTES)?;
        let damaged = || NoPackage::Unreadable("its meta.json is damaged".to_owned());
        let meta = CommittedRun::own_meta(&text).ok_or_else(damaged)?;
        let status = meta.get("status").and_then(Value::as_str);
        match status.and_then(RecordedStatus::from_word) {
            Some(status) if status.is_completed() => {}
            Some(_) => return Err(NoPackage::Open),
            None => return Err(damaged()),
        }
        if meta.get("trace_id").and_then(Value::as_str) != Some(directory.trace_id.to_string().as_str()) {
            return Err(NoPackage::Unreadable(
                "its meta.json is of another run".to_owned(),
            ));
        }
        let (meta, mut redacted_values) = redaction.value(Value::Object(meta));
        let Value::Object(meta) = meta else {
            return Err(damaged());
        };
        let mut log = CheckedLog::open(&directory.path, redaction)?;
        let is_whole = log.file_bytes <= MAX_WHOLE_BYTES;
        let mut hash = Sha256::new();
        let (mut bytes, mut content) = (0, Vec::new());
        while let Some(line) = log.next_line()? {
            hash.update(line);
            bytes += line.len() as u64;
            if is_whole {
                content.extend_from_slice(line);
            }
        }
        redacted_values += log.redacted_values;
        Ok(Self {
            meta,
            whole: is_whole.then(|| content.into()),
            bytes,
            sha256: hex(&hash.finalize()),
            redacted_values,
        })
    }
}

/// The lines of a log, without secrets.
pub(crate) struct CheckedLog<'a> {
    reader: BufReader<io::Take<File>>,
    redaction: &'a Redaction,
    file_bytes: u64,
    redacted_values: u64,
    line: Vec<u8>,
}

impl<'a> CheckedLog<'a> {
    pub(crate) fn open(directory: &Path, redaction: &'a Redaction) -> io::Result<Self> {
        let path = directory.join(SPANS_FILE);
        // Opening what is no file could wait for ever, and a link leads out of the data directory.
        let metadata = fs::symlink_metadata(&path)?;
        if !metadata.is_file() {
            return Err(io::Error::other("its log is no regular file"));
        }
        let file = File::open(path)?;
        Ok(Self {
            // What is appended from now on is another state of the run.
            reader: BufReader::with_capacity(256 * 1024, file.take(metadata.len())),
            redaction,
            file_bytes: metadata.len(),
            redacted_values: 0,
            line: Vec::new(),
        })
    }

    /// The next line with its end; `None` after the last.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        if self.reader.read_until(b'\n', &mut self.line)? == 0 {
            return Ok(None);
        }
        if let Some((clean, changed)) = without_secrets(&self.line, self.redaction) {
            self.redacted_values += changed;
            self.line = clean;
        }
        Ok(Some(&self.line))
    }
}

/// The line in other bytes, and how many values were redacted; `None` when it stays as it is.
fn without_secrets(line: &[u8], redaction: &Redaction) -> Option<(Vec<u8>, u64)> {
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        // A damaged line is evidence, too, and is checked as the text that it is.
        let text = String::from_utf8_lossy(line);
        let clean = redaction.text(&text);
        return (clean != text).then(|| (clean.into_owned().into_bytes(), 1));
    };
    let (clean, changed) = redaction.value(value);
    if changed == 0 {
        return None;
    }
    let mut bytes = serde_json::to_vec(&clean).ok()?;
    bytes.push(b'\n');
    Some((bytes, changed))
}
