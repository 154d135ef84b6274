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
use super::transcript::{first_text, text_at, transcript_run};
use crate::runs::CodingAgent;

/// Folders are read this deep: a day of a month of a year, or the sub-agents of a session of a project.
const MAX_DEPTH: usize = 6;
/// Records of a file that are read to recognise it.
const HEAD_RECORDS: usize = 32;
const SPAWNED_BY: &str = "/payload/source/subagent/thread_spawn/parent_thread_id";

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
    /// Its files in order, those of sub-agents last.
    pub(super) files: Vec<TranscriptFile>,
    /// When the first of its files was made; the order of sessions that repeat each other.
    created: SystemTime,
}

/// A file of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TranscriptFile {
    pub(super) path: PathBuf,
    pub(super) sub_agent: Option<SubAgent>,
    started_at: Option<Timestamp>,
    /// Identifies the first record.
    beginning: Option<String>,
}

/// A sub-agent whose transcript is a file of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubAgent {
    pub(super) id: String,
    pub(super) name: Option<String>,
    /// The ID of the tool call that started it.
    pub(super) tool: Option<String>,
}

/// Finds sessions, and remembers what files are.
#[derive(Debug, Default)]
pub struct SessionFinder {
    /// Of each file its size when it was read, and its session; `None` of one that is no transcript.
    known: HashMap<PathBuf, (u64, Option<(String, TranscriptFile)>)>,
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

    /// Returns whether another session begins with the same record: one of the two was forked from the other.
    pub(super) fn is_relative(&self, other: &Self) -> bool {
        let [first, second] = [self, other].map(|session| session.files.first()?.beginning.as_ref());
        self.id != other.id && first.is_some() && first == second
    }
}

impl SessionFinder {
    /// The sessions of an agent in files and folders, those that began first come first.
    pub fn find(&mut self, agent: CodingAgent, places: &[PathBuf]) -> Vec<AgentSession> {
        let mut paths = Vec::new();
        for place in places {
            self.walk(place, MAX_DEPTH, &mut paths);
        }
        paths.sort_unstable();
        paths.dedup();
        let mut sessions: BTreeMap<String, AgentSession> = BTreeMap::new();
        for path in paths {
            let Ok(found) = fs::metadata(&path) else { continue };
            let Some((id, file)) = self.recognise(agent, &path, found.len()) else {
                continue;
            };
            let modified = found.modified().unwrap_or(UNIX_EPOCH);
            let created = found.created().unwrap_or(modified);
            let session = sessions.entry(id.clone()).or_insert_with(|| AgentSession {
                agent,
                id,
                modified,
                bytes: 0,
                files: Vec::new(),
                created,
            });
            session.bytes += found.len();
            session.modified = session.modified.max(modified);
            session.created = session.created.min(created);
            session.files.push(file);
        }
        let mut sessions: Vec<AgentSession> = sessions.into_values().collect();
        for session in &mut sessions {
            let order = |file: &TranscriptFile| (file.sub_agent.is_some(), file.started_at);
            session.files.sort_by_key(order);
        }
        sessions.sort_by_key(|session| {
            (
                session.files.first().and_then(|file| file.started_at),
                session.created,
            )
        });
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
            let is_transcript = || path.extension() == Some(OsStr::new("jsonl"));
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth > 0 => self.walk(&path, depth - 1, files),
                Ok(kind) if kind.is_file() && is_transcript() => files.push(path),
                _ => {}
            }
        }
    }

    fn recognise(&mut self, agent: CodingAgent, path: &Path, bytes: u64) -> Option<(String, TranscriptFile)> {
        match self.known.get(path) {
            Some((_, Some(known))) => return Some(known.clone()),
            Some((read, None)) if *read == bytes => return None,
            _ => {}
        }
        let file = recognise(agent, path).unwrap_or_else(|error| {
            self.problems.push(format!("{}: {error}", path_below_home(path)));
            None
        });
        self.known.insert(path.to_owned(), (bytes, file.clone()));
        file
    }
}

/// The session that a file belongs to by its first records; `None` of a file that is no transcript of the agent.
fn recognise(agent: CodingAgent, path: &Path) -> std::io::Result<Option<(String, TranscriptFile)>> {
    let mut records: Vec<Value> = Vec::new();
    for record in TranscriptLines::open(path)?.take(HEAD_RECORDS) {
        records.extend(record?.ok());
        // The other agents begin a file with its head.
        if agent != CodingAgent::ClaudeCode && !records.is_empty() {
            break;
        }
    }
    let find = |places: &[&str]| records.iter().find_map(|record| first_text(record, places));
    let stem = path.file_stem().and_then(OsStr::to_str);
    // The file's own ID, and the session of a sub-agent.
    let (id, parent) = match agent {
        CodingAgent::ClaudeCode => {
            let session = find(&["/sessionId"]);
            // A fork names its own session in what it repeats.
            match stem.and_then(|stem| stem.strip_prefix("agent-")) {
                Some(sub_agent) => (session.map(|_| sub_agent), session),
                None => (session.and(stem), None),
            }
        }
        CodingAgent::Codex => {
            let is_head = find(&["/type"]) == Some("session_meta");
            let parents = ["/payload/parent_thread_id", SPAWNED_BY];
            // Of a sub-agent's sub-agent the session is that of the first thread.
            let first = find(&["/payload/session_id"]);
            let parent = find(&parents).map(|parent| first.unwrap_or(parent));
            (find(&["/payload/id"]).filter(|_| is_head), parent)
        }
        CodingAgent::GeminiCli => {
            let is_head = records.iter().any(|record| record.get("projectHash").is_some());
            let folder = path.parent().and_then(Path::file_name).and_then(OsStr::to_str);
            let is_sub_agent = find(&["/kind"]) == Some("subagent");
            (
                find(&["/sessionId"]).filter(|_| is_head),
                folder.filter(|_| is_sub_agent),
            )
        }
    };
    let Some(id) = id else { return Ok(None) };
    let about = parent.and_then(|_| {
        TranscriptLines::open(&path.with_extension("meta.json"))
            .ok()?
            .next()
    });
    let about = about
        .and_then(Result::ok)
        .and_then(Result::ok)
        .unwrap_or_default();
    let named = || {
        find(&[
            "/payload/agent_role",
            "/payload/agent_nickname",
            "/attributionAgent",
        ])
    };
    let file = TranscriptFile {
        path: path.to_owned(),
        sub_agent: parent.map(|_| SubAgent {
            id: id.to_owned(),
            name: text_at(&about, "/agentType").or_else(named).map(str::to_owned),
            tool: text_at(&about, "/toolUseId").map(str::to_owned),
        }),
        started_at: find(&["/timestamp", "/startTime"]).and_then(|time| time.parse().ok()),
        beginning: find(&["/uuid"]).map(str::to_owned),
    };
    Ok(Some((parent.unwrap_or(id).to_owned(), file)))
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
