//! [`SessionFinder`]: the transcripts on this machine, as sessions with their sub-agents.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use tracer_insight::text::path_below_home;
use tracer_sdk::format::{Timestamp, TraceId};

use super::lines::TranscriptLines;
use super::transcript::{text_at, timestamp, transcript_run};
use crate::runs::CodingAgent;

/// Folders are read this deep: a day of a month of a year, or the sub-agents of a session of a project.
const MAX_DEPTH: usize = 6;
/// Records of a file that are read to recognise it.
const HEAD_RECORDS: usize = 32;

/// A session of a coding agent on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentSession {
    /// Its agent.
    pub agent: CodingAgent,
    /// The agent's ID of it.
    pub id: String,
    /// When one of its files was changed last.
    pub modified: SystemTime,
    /// Bytes of all its files.
    pub bytes: u64,
    pub(super) files: Vec<TranscriptFile>,
    /// When the first of its files was made; the order of sessions that repeat each other.
    created: SystemTime,
    /// Identifies the first record, which a session that was forked from another one repeats.
    pub(super) beginning: Option<String>,
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TranscriptFile {
    pub(super) path: PathBuf,
    pub(super) sub_agent: Option<SubAgent>,
    started_at: Option<Timestamp>,
}

/// A sub-agent whose transcript is a file of its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SubAgent {
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// The ID of the tool call that started it.
    pub(super) tool: Option<String>,
}

/// Facts that the first records of a file give.
#[derive(Debug, Clone)]
struct TranscriptHead {
    session: String,
    sub_agent: Option<SubAgent>,
    started_at: Option<Timestamp>,
    beginning: Option<String>,
}

/// Finds sessions, and remembers which files are none.
#[derive(Debug, Default)]
pub struct SessionFinder {
    heads: HashMap<PathBuf, (u64, Option<TranscriptHead>)>,
    /// Files that could not be read, each with its reason.
    problems: Vec<String>,
}

impl AgentSession {
    /// The run that it becomes.
    #[must_use]
    pub fn run(&self) -> TraceId {
        transcript_run(self.agent, &self.id)
    }

    /// When it was changed last, in milliseconds after 1970.
    pub(super) fn modified_ms(&self) -> u64 {
        let since = self.modified.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    }
}

impl SessionFinder {
    /// The sessions of an agent in files and folders, those that began first come first.
    pub fn find(&mut self, agent: CodingAgent, places: &[PathBuf]) -> Vec<AgentSession> {
        let mut files = Vec::new();
        for place in places {
            self.walk(place, MAX_DEPTH, &mut files);
        }
        files.sort_unstable();
        files.dedup();
        let mut sessions: BTreeMap<String, AgentSession> = BTreeMap::new();
        for path in files {
            let Ok(found) = fs::metadata(&path) else { continue };
            let Some(head) = self.head(agent, &path, found.len()) else {
                continue;
            };
            let modified = found.modified().unwrap_or(UNIX_EPOCH);
            let created = found.created().unwrap_or(modified);
            let session = sessions
                .entry(head.session.clone())
                .or_insert_with(|| AgentSession {
                    agent,
                    id: head.session.clone(),
                    modified,
                    bytes: 0,
                    files: Vec::new(),
                    created,
                    beginning: None,
                });
            session.bytes += found.len();
            session.modified = session.modified.max(modified);
            session.created = session.created.min(created);
            if head.sub_agent.is_none() {
                session.beginning = session.beginning.take().or(head.beginning);
            }
            session.files.push(TranscriptFile {
                path,
                sub_agent: head.sub_agent,
                started_at: head.started_at,
            });
        }
        let mut sessions: Vec<AgentSession> = sessions.into_values().collect();
        for session in &mut sessions {
            let order = |file: &TranscriptFile| (file.sub_agent.is_some(), file.started_at);
            session.files.sort_by_key(order);
        }
        let order = |session: &AgentSession| {
            let started_at = session.files.first().and_then(|file| file.started_at);
            (started_at, session.created)
        };
        sessions.sort_by_key(order);
        sessions
    }

    /// Files that could not be read since the last call, each with its place.
    pub fn take_problems(&mut self) -> Vec<String> {
        std::mem::take(&mut self.problems)
    }

    /// The transcripts in a folder; links within it are not followed.
    fn walk(&mut self, place: &Path, depth: usize, files: &mut Vec<PathBuf>) {
        let Ok(entries) = fs::read_dir(place) else {
            if place.is_file() {
                files.push(place.to_owned());
            } else if place.exists() {
                self.problems
                    .push(format!("{}: cannot be read", path_below_home(place)));
            }
            return;
        };
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let is_transcript = || matches!(path.extension().and_then(OsStr::to_str), Some("jsonl" | "json"));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth > 0 => self.walk(&path, depth - 1, files),
                Ok(kind) if kind.is_file() && is_transcript() => files.push(path),
                _ => {}
            }
        }
    }

    fn head(&mut self, agent: CodingAgent, path: &Path, bytes: u64) -> Option<TranscriptHead> {
        match self.heads.get(path) {
            Some((_, Some(head))) => return Some(head.clone()),
            Some((read, None)) if *read == bytes => return None,
            _ => {}
        }
        let head = read_head(agent, path).unwrap_or_else(|error| {
            self.problems.push(format!("{}: {error}", path_below_home(path)));
            None
        });
        self.heads.insert(path.to_owned(), (bytes, head.clone()));
        head
    }
}

fn read_head(agent: CodingAgent, path: &Path) -> std::io::Result<Option<TranscriptHead>> {
    let mut records = Vec::new();
    for record in TranscriptLines::open(path)?.take(HEAD_RECORDS) {
        records.extend(record?.ok());
        if agent != CodingAgent::ClaudeCode && !records.is_empty() {
            break;
        }
    }
    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or_default();
    let started_at = records.iter().find_map(timestamp);
    Ok(match agent {
        CodingAgent::ClaudeCode => claude_code_head(path, stem, &records),
        CodingAgent::Codex => records.first().and_then(codex_head),
        CodingAgent::GeminiCli => records.first().and_then(|record| gemini_cli_head(path, record)),
    }
    .map(|head| TranscriptHead {
        started_at: head.started_at.or(started_at),
        ..head
    }))
}

fn claude_code_head(path: &Path, stem: &str, records: &[Value]) -> Option<TranscriptHead> {
    let of_session = records.iter().find_map(|record| text_at(record, "/sessionId"))?;
    let sub_agent = stem.strip_prefix("agent-").map(|id| {
        let about = path.with_extension("meta.json");
        let about = TranscriptLines::open(&about)
            .ok()
            .and_then(|mut lines| lines.next());
        let about = about
            .and_then(Result::ok)
            .and_then(Result::ok)
            .unwrap_or_default();
        SubAgent {
            id: id.to_owned(),
            name: text_at(&about, "/agentType").map(str::to_owned),
            tool: text_at(&about, "/toolUseId").map(str::to_owned),
        }
    });
    let beginning = records.iter().find_map(|record| text_at(record, "/uuid"));
    Some(TranscriptHead {
        // A fork names its own session in what it repeats.
        session: if sub_agent.is_some() { of_session } else { stem }.to_owned(),
        sub_agent,
        started_at: None,
        beginning: beginning.map(str::to_owned),
    })
}

fn codex_head(record: &Value) -> Option<TranscriptHead> {
    let meta = record.get("payload").unwrap_or(record);
    let is_meta = matches!(text_at(record, "/type"), None | Some("session_meta"));
    let id = text_at(meta, "/id").filter(|_| is_meta && text_at(meta, "/timestamp").is_some())?;
    let parent = [
        "/parent_thread_id",
        "/source/subagent/thread_spawn/parent_thread_id",
    ]
    .iter()
    .find_map(|place| text_at(meta, place));
    let name = text_at(meta, "/agent_role").or_else(|| text_at(meta, "/agent_nickname"));
    Some(TranscriptHead {
        // Of a sub-agent's sub-agent it is that of the first thread.
        session: parent
            .map_or(id, |parent| text_at(meta, "/session_id").unwrap_or(parent))
            .to_owned(),
        sub_agent: parent.map(|_| SubAgent {
            id: id.to_owned(),
            name: name.map(str::to_owned),
            tool: None,
        }),
        started_at: timestamp(meta),
        beginning: None,
    })
}

fn gemini_cli_head(path: &Path, record: &Value) -> Option<TranscriptHead> {
    let id = text_at(record, "/sessionId").filter(|_| record.get("projectHash").is_some())?;
    let is_sub_agent = text_at(record, "/kind") == Some("subagent");
    let folder = path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    Some(TranscriptHead {
        session: folder.filter(|_| is_sub_agent).unwrap_or(id).to_owned(),
        sub_agent: is_sub_agent.then(|| SubAgent {
            id: id.to_owned(),
            ..SubAgent::default()
        }),
        started_at: text_at(record, "/startTime").and_then(|time| time.parse().ok()),
        beginning: None,
    })
}

/// The folders of an agent's transcripts, by the variables that it reads.
pub fn default_places(agent: CodingAgent, variable: impl Fn(&str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let home = std::env::home_dir().unwrap_or_default();
    let base = |name: &str, folder: &str| variable(name).unwrap_or_else(|| home.join(folder));
    match agent {
        CodingAgent::ClaudeCode => vec![base("CLAUDE_CONFIG_DIR", ".claude").join("projects")],
        CodingAgent::Codex => {
            let base = base("CODEX_HOME", ".codex");
            vec![base.join("sessions"), base.join("archived_sessions")]
        }
        CodingAgent::GeminiCli => vec![base("GEMINI_CLI_HOME", "").join(".gemini/tmp")],
    }
}
