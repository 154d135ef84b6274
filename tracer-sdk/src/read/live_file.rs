//! What `.live` says while a run is recorded: who records it, and which calls are under way (decisions, section 5).
//!
//! The file is a help, not a record: a line that cannot be read is passed over, and a file that is rewritten while it
//! is read may say less for a moment.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};

use super::file;
use crate::format::{
    Counts, EventType, LIVE_FILE, RunMeta, RunStatus, SPEC_VERSION, SpanId, StoredTime, TraceId,
};

/// More than this is never read of a `.live`, in bytes.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// What an emitter says of the run that it records.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// use tracer_sdk::read::read_live_file;
///
/// let run = tracer_sdk::Run::new("support-agent").config(&config).start();
/// let live = read_live_file(&run.dir().unwrap()).expect("the run is being recorded");
/// assert_eq!(live.run_name.as_deref(), Some("support-agent"));
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct LiveFile {
    /// The run's name.
    pub run_name: Option<String>,
    /// When the run started.
    pub started_at: StoredTime,
    /// The process that records.
    pub process: ProcessIdentity,
    /// The timed spans that were started, in that order; one that is in `spans.jsonl` too has ended.
    pub started: Vec<StartedSpan>,
}

/// A process, told from a later one with the same number.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// let run = tracer_sdk::Run::new("support-agent").config(&config).start();
/// let live = tracer_sdk::read::read_live_file(&run.dir().unwrap()).unwrap();
/// assert_eq!(live.process.pid, Some(std::process::id()));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Its number.
    pub pid: Option<u32>,
    /// When it started, in the system's own unit.
    pub start: Option<String>,
    /// The boot of the machine that it runs on.
    pub boot: Option<String>,
    /// The namespace that its number belongs to.
    pub namespace: Option<String>,
}

/// A timed span that was started.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// use tracer_sdk::format::EventType;
///
/// let run = tracer_sdk::Run::new("support-agent").config(&config).start();
/// let call = tracer_sdk::tool_call("search").start()?;
/// let live = tracer_sdk::read::read_live_file(&run.dir().unwrap()).unwrap();
/// assert_eq!((live.started[0].name.as_str(), live.started[0].event_type), ("search", EventType::ToolCall));
/// assert_eq!(Some(live.started[0].span_id), call.id());
/// # Ok::<(), tracer_sdk::GuardrailExceeded>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StartedSpan {
    /// The span.
    pub span_id: SpanId,
    /// The span that it happens in.
    pub parent_span_id: Option<SpanId>,
    /// Its name.
    pub name: String,
    /// What it is: `LLM_CALL`, `TOOL_CALL`, or `UNKNOWN` for structure.
    pub event_type: EventType,
    /// When it started.
    pub start_time: StoredTime,
}

impl LiveFile {
    /// The metadata of a run that has not written its `meta.json` yet.
    pub(super) fn as_meta(&self, trace_id: TraceId) -> RunMeta {
        RunMeta {
            spec_version: Some(SPEC_VERSION.to_owned()),
            trace_id,
            run_name: self.run_name.clone(),
            started_at: self.started_at.clone(),
            ended_at: None,
            duration_ms: None,
            status: RunStatus::Running,
            counts: Counts::default(),
            additional: Map::default(),
        }
    }
}

/// Reads the `.live` of a run directory; `None` when there is none or its first line cannot be read.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let config = tracer_sdk::Config::new().data_dir(folder.path());
/// use tracer_sdk::read::read_live_file;
///
/// let run = tracer_sdk::Run::new("support-agent").config(&config).start();
/// let directory = run.dir().unwrap();
/// assert!(read_live_file(&directory).is_some());
/// run.finish();
/// assert_eq!(read_live_file(&directory), None);
/// ```
#[must_use]
pub fn read_live_file(directory: &Path) -> Option<LiveFile> {
    let mut bytes = Vec::new();
    file::open(&directory.join(LIVE_FILE))
        .ok()?
        .take(MAX_BYTES)
        .read_to_end(&mut bytes)
        .ok()?;
    let mut lines = bytes.split(|&byte| byte == b'\n').map(object);
    let header = lines.next()??;
    let text = |key: &str| header.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(LiveFile {
        run_name: text("run_name"),
        started_at: text("started_at")?.parse().ok()?,
        process: ProcessIdentity {
            pid: header
                .get("pid")
                .and_then(Value::as_u64)
                .and_then(|pid| u32::try_from(pid).ok()),
            start: text("process_start"),
            boot: text("boot"),
            namespace: text("pid_namespace"),
        },
        started: lines.flatten().filter_map(|line| started_span(&line)).collect(),
    })
}

fn object(line: &[u8]) -> Option<BTreeMap<String, Value>> {
    serde_json::from_slice(line).ok()
}

fn started_span(line: &BTreeMap<String, Value>) -> Option<StartedSpan> {
    let text = |key: &str| line.get(key).and_then(Value::as_str);
    let types = [EventType::LlmCall, EventType::ToolCall, EventType::StateUpdate];
    let word = text("type").unwrap_or_default();
    Some(StartedSpan {
        span_id: text("span_id")?.parse().ok()?,
        parent_span_id: text("parent_span_id").and_then(|id| id.parse().ok()),
        name: text("name")?.to_owned(),
        event_type: types
            .into_iter()
            .find(|known| known.as_str() == word)
            .unwrap_or(EventType::Unknown),
        start_time: text("start_time")?.parse().ok()?,
    })
}

/// What can be said of a process from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Process {
    /// It is there.
    Alive,
    /// It is gone, though its number may have been given to another one.
    Gone,
    /// It belongs to another machine, boot or namespace, or the system does not tell.
    Unknown,
}

impl ProcessIdentity {
    /// Looks for the process, where the system tells of processes in `/proc`.
    pub(super) fn look(&self) -> Process {
        let here = || {
            let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            let namespace = std::fs::read_link("/proc/self/ns/pid").ok()?;
            Some((boot.trim().to_owned(), namespace.to_string_lossy().into_owned()))
        };
        let (Some(pid), Some(start), Some(boot), Some(namespace)) =
            (self.pid, &self.start, &self.boot, &self.namespace)
        else {
            return Process::Unknown;
        };
        if here().is_none_or(|(our_boot, ours)| our_boot != *boot || ours != *namespace) {
            return Process::Unknown;
        }
        match process_start(pid) {
            Some(found) if found == *start => Process::Alive,
            _ => Process::Gone,
        }
    }
}

/// When a process started, in clock ticks since the boot; `None` when there is no such process, or only what is left of
/// one that has ended.
fn process_start(pid: u32) -> Option<String> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything; state and start time are fields behind it.
    let (_, fields) = status.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let is_dead = matches!(fields.next()?, "Z" | "X");
    fields.nth(18).filter(|_| !is_dead).map(str::to_owned)
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
    fn a_file_without_its_first_line_says_nothing() {
        for text in ["", "\n", "{}", "null\n", "[]\n", "{\"run_name\":\"a\""] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_alive_one_with_another_start_is_gone_and_one_of_another_boot_unknown() {
        let namespace = std::fs::read_link("/proc/self/ns/pid")
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .unwrap()
            .trim()
            .to_owned();
        let pid = std::process::id();
        let this = ProcessIdentity {
            pid: Some(pid),
            start: process_start(pid),
            boot: Some(boot),
            namespace: Some(namespace),
        };
        assert_eq!(this.look(), Process::Alive);
        assert_eq!(
            ProcessIdentity {
                start: Some("1".into()),
                ..this.clone()
            }
            .look(),
            Process::Gone
        );
        assert_eq!(
            ProcessIdentity {
                boot: Some("other".into()),
                ..this.clone()
            }
            .look(),
            Process::Unknown
        );
        assert_eq!(
            ProcessIdentity {
                namespace: None,
                ..this
            }
            .look(),
            Process::Unknown
        );
    }
}
