//! Contents of `.live` while a run is recorded: emitter and open calls.
//!
//! The file (decisions, section 5) is a help, not a record: a line that cannot be read is passed over, and a file that
//! is rewritten while it is read may say less for a moment.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::file;
use tracer_format::{EventType, LIVE_FILE, LOCK_FILE, RunMeta, SpanId, StoredTime, Tags, TraceId, names};

/// More than this is never read of a `.live`, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// An emitter's account of the run that it records.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveFile {
    /// The run's name.
    pub run_name: Option<String>,
    /// Its tags.
    pub tags: Tags,
    /// When the run started.
    pub started_at: StoredTime,
    /// The process that records.
    pub process: ProcessIdentity,
    /// The timed spans that were started, in that order; one that is in `spans.jsonl` too has ended.
    pub started: Vec<StartedSpan>,
}

/// A process, distinguishable from a later one with the same number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProcessIdentity {
    /// Its number.
    #[serde(deserialize_with = "lenient")]
    pub pid: Option<u32>,
    /// When it started, in the system's own unit.
    #[serde(rename = "process_start", deserialize_with = "lenient")]
    pub start: Option<String>,
    /// The boot of the machine that it runs on.
    #[serde(deserialize_with = "lenient")]
    pub boot: Option<String>,
    /// The namespace that its number belongs to.
    #[serde(rename = "pid_namespace", deserialize_with = "lenient")]
    pub namespace: Option<String>,
    /// The time namespace of its start.
    #[serde(deserialize_with = "lenient")]
    pub time_namespace: Option<String>,
}

/// The process and the lock that show whether the run is still recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RecordingProcess {
    pub(super) process: ProcessIdentity,
    /// The locked file in the run's directory: `.live`, or the lock file of the process. `None` where the process was out
    /// of descriptors, or its files cannot be locked.
    pub(super) lock: Option<&'static str>,
    /// The process's descriptor of it.
    pub(super) descriptor: Option<u32>,
}

/// A timed span that was started.
#[derive(Debug, Clone, PartialEq)]
pub struct StartedSpan {
    /// The span.
    pub span_id: SpanId,
    /// The span that it happens in.
    pub parent_span_id: Option<SpanId>,
    /// Its name.
    pub name: String,
    /// Its type: `LLM_CALL`, `TOOL_CALL`, or `UNKNOWN` for structure.
    pub event_type: EventType,
    /// When it started.
    pub start_time: StoredTime,
    /// The arguments of a tool, where they are known.
    pub arguments: Option<Value>,
}

impl StartedSpan {
    /// The spans that had not ended when their run did, as its root lists them; the first ones of many. One that is in
    /// `spans.jsonl` has ended since.
    #[must_use]
    pub fn unfinished(root: &Map<String, Value>) -> Vec<Self> {
        let list = names::UNFINISHED_LIST.find(root).and_then(Value::as_str);
        let list = list.and_then(|list| serde_json::from_str::<Vec<Value>>(list).ok());
        let lines = list.into_iter().flatten();
        let lines = lines.filter_map(|line| serde_json::from_value::<StartedLine>(line).ok());
        lines.filter_map(StartedLine::parse).collect()
    }
}

impl LiveFile {
    /// The metadata of a run that has not written its `meta.json` yet.
    pub(crate) fn as_meta(&self, trace_id: TraceId) -> RunMeta {
        RunMeta::running(trace_id, self.run_name.clone(), self.started_at.clone())
    }
}

/// More than this is never read of the first line of a `.live`, in bytes.
const MAX_HEADER_BYTES: u64 = 256 * 1024;

/// The first line, as the SDK writes it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Header {
    #[serde(deserialize_with = "lenient")]
    run_name: Option<String>,
    #[serde(deserialize_with = "lenient")]
    tags: BTreeMap<String, Value>,
    #[serde(deserialize_with = "lenient")]
    started_at: Option<String>,
    #[serde(flatten)]
    process: ProcessIdentity,
    /// `None` where the line has no such field.
    #[serde(deserialize_with = "present")]
    lock: Option<Value>,
    #[serde(deserialize_with = "lenient")]
    lock_descriptor: Option<u32>,
}

fn present<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

/// The value of a field; its default where it has another type, so that one field never costs the line.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned + Default>(value: D) -> Result<T, D::Error> {
    let value = Value::deserialize(value)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The line of a timed span, and its entry in the root's list of those that had not ended.
#[derive(Deserialize)]
struct StartedLine {
    span_id: String,
    #[serde(default, deserialize_with = "lenient")]
    parent_span_id: Option<String>,
    name: String,
    #[serde(default, deserialize_with = "lenient")]
    r#type: String,
    start_time: String,
    #[serde(default)]
    arguments: Option<Value>,
}

impl StartedLine {
    fn parse(self) -> Option<StartedSpan> {
        let mut types = [EventType::LlmCall, EventType::ToolCall, EventType::StateUpdate].into_iter();
        Some(StartedSpan {
            span_id: self.span_id.parse().ok()?,
            parent_span_id: self.parent_span_id.and_then(|id| id.parse().ok()),
            name: self.name,
            event_type: types
                .find(|known| known.as_str() == self.r#type)
                .unwrap_or(EventType::Unknown),
            start_time: self.start_time.parse().ok()?,
            arguments: self.arguments,
        })
    }
}

/// Reads who records the run in a directory. Where the first line names no lock, it is an emitter that locks `.live`.
pub(super) fn read_recorder(directory: &Path) -> RecordingProcess {
    let header = read(directory, MAX_HEADER_BYTES).and_then(|bytes| header(&bytes));
    let header = header.unwrap_or_default();
    RecordingProcess {
        lock: match header.lock {
            None => Some(LIVE_FILE),
            // Never another path: the file may be somebody else's.
            Some(name) => [LIVE_FILE, LOCK_FILE].into_iter().find(|known| name == *known),
        },
        descriptor: header.lock_descriptor,
        process: header.process,
    }
}

fn read(directory: &Path, most: u64) -> Option<Vec<u8>> {
    // As a rule there is a first line and no more: one read, where an empty vector would be filled in five.
    let mut bytes = Vec::with_capacity(1024);
    let file = file::open(&directory.join(LIVE_FILE)).ok()?;
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn header(bytes: &[u8]) -> Option<Header> {
    serde_json::from_slice(bytes.split(|&byte| byte == b'\n').next()?).ok()
}

/// Reads the `.live` of a run directory; `None` when there is none or its first line cannot be read.
#[must_use]
pub fn read_live_file(directory: &Path) -> Option<LiveFile> {
    let bytes = read(directory, MAX_BYTES)?;
    let header = header(&bytes)?;
    let mut tags = Tags::default();
    for (key, value) in header.tags {
        // An entry that is not a tag is skipped, as everything that cannot be read.
        let _ = tags.set(&key, value.as_str().unwrap_or_default());
    }
    let lines = bytes.split(|&byte| byte == b'\n').skip(1);
    let started = lines.filter_map(|line| serde_json::from_slice::<StartedLine>(line).ok()?.parse());
    Some(LiveFile {
        run_name: header.run_name,
        tags,
        started_at: header.started_at?.parse().ok()?,
        process: header.process,
        started: started.collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<LiveFile> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(LIVE_FILE), text).unwrap();
        read_live_file(directory.path())
    }

    const HEADER: &str =
        r#"{"run_name":"agent","started_at":"2026-01-01T00:00:00.000000Z","pid":7,"new":[1]}"#;

    #[test]
    fn the_run_and_its_open_calls_are_read_and_broken_lines_are_passed_over() {
        let call = r#"{"span_id":"00f067aa0ba902b7","parent_span_id":"00f067aa0ba902b8","name":"gpt-5","type":"LLM_CALL","start_time":"2026-01-01T00:00:01.000000Z"}"#;
        let live = read(&format!("{HEADER}\n{call}\n{{\"span_id\":\n")).unwrap();
        assert_eq!(
            (live.run_name.as_deref(), live.process.pid),
            (Some("agent"), Some(7))
        );
        let names: Vec<_> = live
            .started
            .iter()
            .map(|span| (span.name.as_str(), span.event_type))
            .collect();
        assert_eq!(names, [("gpt-5", EventType::LlmCall)]);
    }

    #[test]
    fn a_field_of_a_wrong_type_costs_neither_the_others_nor_the_line() {
        let header = r#"{"run_name":"agent","started_at":"2026-01-01T00:00:00.000000Z","pid":-7,"process_start":12,"boot":"b","tags":null,"lock":".lock","lock_descriptor":"3"}"#;
        let call = r#"{"span_id":"00f067aa0ba902b7","parent_span_id":4,"name":"plan","type":null,"start_time":"2026-01-01T00:00:01.000000Z"}"#;
        let live = read(&format!("{header}\n{call}\n")).unwrap();
        let process = ProcessIdentity {
            boot: Some("b".to_owned()),
            ..ProcessIdentity::default()
        };
        assert_eq!((live.run_name.as_deref(), live.process), (Some("agent"), process));
        assert_eq!(live.tags, Tags::default());
        let [started] = &live.started[..] else {
            panic!("{:?}", live.started)
        };
        assert_eq!(
            (started.event_type, started.parent_span_id),
            (EventType::Unknown, None)
        );
    }

    #[test]
    fn a_file_without_its_first_line_says_nothing() {
        for text in ["", "\n", "{}", "null\n", "[]\n", "{\"run_name\":\"a\""] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
