//! Transcripts of Claude Code: a line per content block, grouped by message ID; sub-agents in files of their own.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use tracer_providers::ModelApi;
use tracer_sdk::format::{SpanId, Timestamp};

use super::RecordReader;
use super::discover::SubAgent;
use super::transcript::{AgentThread, AnsweredCall, SessionTranscript, ToolEnd, text_at};

/// Records that say nothing about a call: what was queued, shown, saved, or attached by the program itself.
const BOOKKEEPING: [&str; 26] = [
    "agent-color",
    "agent-name",
    "agent-setting",
    "attachment",
    "attribution-snapshot",
    "bridge-session",
    "content-replacement",
    "file-history-delta",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "progress",
    "queue-operation",
    "relocated",
    "saved_hook_context",
    "speculation-accept",
    "started",
    "system",
    "tag",
    "task-summary",
    "worktree-state",
];
/// Beginnings of messages without an answer: what a local command printed, and an interruption.
const UNANSWERED: [&str; 2] = ["<", "[Request interrupted by user"];
/// The model of messages that the program made itself.
const SYNTHETIC: &str = "<synthetic>";

/// The threads of a session, by sub-agent; the session's own has no key.
#[derive(Debug, Default)]
pub(super) struct ClaudeCode {
    threads: HashMap<Option<String>, MessageThread>,
    /// The records that were read, by their IDs: a resumed session may repeat them.
    records: HashSet<String>,
    /// The messages that have ended.
    messages: HashSet<SpanId>,
    /// The tool calls of the session by their IDs, for the sub-agents that they started.
    tools: HashMap<String, SpanId>,
    sub_agent: Option<SubAgent>,
}

#[derive(Debug)]
struct MessageThread {
    thread: AgentThread,
    /// The message whose lines are read.
    message: Option<OpenMessage>,
}

/// A message of the model, of whose lines some were read.
#[derive(Debug)]
struct OpenMessage {
    id: SpanId,
    input: Vec<Value>,
    start: Timestamp,
    end: Timestamp,
    content: Vec<Value>,
    /// The last line's: usage grows from line to line.
    message: Value,
    failure: Option<(String, String)>,
}

impl RecordReader for ClaudeCode {
    fn begin_file(&mut self, sub_agent: Option<&SubAgent>) {
        self.sub_agent = sub_agent.cloned();
    }

    fn take(&mut self, record: &Value, transcript: &mut SessionTranscript) {
        let is_new = |id: &str| self.records.insert(id.to_owned());
        if !text_at(record, "/uuid").is_none_or(is_new) {
            return;
        }
        match record.get("type").and_then(Value::as_str).unwrap_or("(none)") {
            "assistant" if record.pointer("/message/content").is_some() => self.answer(record, transcript),
            "user" if record.pointer("/message/content").is_some() => self.prompt(record, transcript),
            "summary" | "ai-title" | "custom-title" => {
                let mut titles = ["/customTitle", "/aiTitle", "/title", "/summary"].iter();
                let title = titles.find_map(|place| text_at(record, place));
                transcript.title = title.map(str::to_owned).or(transcript.title.take());
            }
            kind if BOOKKEEPING.contains(&kind) => {}
            kind => transcript.unknown(kind, record),
        }
    }

    fn end_file(&mut self, is_quiet: bool, transcript: &mut SessionTranscript) {
        for (sub_agent, mut of) in std::mem::take(&mut self.threads) {
            if let Some(message) = of.message.take() {
                let is_open = !message.has_ended(&of.thread, is_quiet);
                of.thread.is_awaiting |= is_open;
                message.give(&of.thread, is_open, transcript);
            }
            transcript.is_open |= sub_agent.is_none() && of.thread.is_open();
            transcript.leave(&mut of.thread);
        }
    }
}

impl ClaudeCode {
    /// The thread of a record, begun where it is the first of it.
    fn thread(&mut self, record: &Value, transcript: &mut SessionTranscript) -> &mut MessageThread {
        let is_sub_agent = record.get("isSidechain") == Some(&Value::Bool(true));
        let key = is_sub_agent.then(|| text_at(record, "/agentId").unwrap_or_default().to_owned());
        let starter = self
            .sub_agent
            .as_ref()
            .and_then(|hint| self.tools.get(hint.tool.as_ref()?));
        if let (Some(agent), Some(tool)) = (&key, starter) {
            transcript.started_by(agent, *tool);
        }
        let begin = || {
            let named = text_at(record, "/attributionAgent").map(str::to_owned);
            let hint = self.sub_agent.as_ref();
            let sub_agent = key.as_ref().map(|id| SubAgent {
                id: id.clone(),
                name: named.or_else(|| hint?.name.clone()),
                tool: None,
            });
            MessageThread {
                thread: transcript.thread(sub_agent.as_ref()),
                message: None,
            }
        };
        self.threads.entry(key.clone()).or_insert_with(begin)
    }

    /// A line of a message of the model.
    fn answer(&mut self, record: &Value, transcript: &mut SessionTranscript) {
        let message = record.get("message").unwrap_or(&Value::Null);
        let of_message = [text_at(message, "/id"), text_at(record, "/requestId")];
        let identity = match of_message {
            [None, None] => [text_at(record, "/uuid"), text_at(record, "/timestamp")],
            known => known,
        };
        let id = transcript.span_id(&identity.map(Option::unwrap_or_default));
        if self.messages.contains(&id) {
            return;
        }
        let of = self.thread(record, transcript);
        let start = of.thread.at;
        let at = transcript.time(&mut of.thread, record);
        let blocks = match message.get("content").unwrap_or(&Value::Null) {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            content => content.as_array().cloned().unwrap_or_default(),
        };
        let ended = of.message.take_if(|open| open.id != id);
        let begins = of.message.is_none();
        if begins {
            of.message = Some(OpenMessage {
                id,
                input: of.thread.take_input(),
                start,
                end: at,
                content: Vec::new(),
                message: Value::Null,
                failure: None,
            });
        }
        let mut opened = Vec::new();
        if let Some(open) = &mut of.message {
            open.end = at;
            open.message = message.clone();
            open.content.extend(blocks.iter().cloned());
            if record.get("isApiErrorMessage") == Some(&Value::Bool(true)) {
                let class = text_at(record, "/error").unwrap_or("ApiError");
                let text = blocks.iter().find_map(|block| text_at(block, "/text"));
                open.failure = Some((class.to_owned(), text.unwrap_or_default().to_owned()));
            }
        }
        for block in &blocks {
            if let (Some("tool_use"), Some(call), Some(tool)) = (
                text_at(block, "/type"),
                text_at(block, "/id"),
                text_at(block, "/name"),
            ) {
                let arguments = block.get("input").cloned().unwrap_or_default();
                let span = transcript.tool_call(&mut of.thread, id, (call, tool), arguments);
                opened.push((call.to_owned(), span));
            }
        }
        if let Some(ended) = ended {
            let ended_id = ended.id;
            ended.give(&of.thread, false, transcript);
            self.messages.insert(ended_id);
        }
        self.tools.extend(opened);
    }

    /// Messages of the user, and results of tools.
    fn prompt(&mut self, record: &Value, transcript: &mut SessionTranscript) {
        for (place, name) in [
            ("cwd", "tracer.cwd"),
            ("version", "service.version"),
            ("gitBranch", "vcs.ref.head.name"),
        ] {
            transcript.describe(name, record.get(place));
        }
        let of = self.thread(record, transcript);
        let thread = &mut of.thread;
        transcript.time(thread, record);
        let content = record.pointer("/message/content").cloned().unwrap_or_default();
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let is_result = |block: &&Value| text_at(block, "/type") == Some("tool_result");
        for block in blocks.iter().filter(is_result) {
            let call = text_at(block, "/tool_use_id").unwrap_or_default();
            let tool = thread.open_tool(call);
            if let Some((agent, tool)) = text_at(record, "/toolUseResult/agentId").zip(tool) {
                transcript.started_by(agent, tool);
            }
            transcript.tool_end(thread, call, tool_end(record, block));
        }
        let texts = blocks.iter().filter_map(|block| text_at(block, "/text"));
        let texts: Vec<&str> = texts.chain(content.as_str()).collect();
        let is_true = |key: &&str| record.get(*key) == Some(&Value::Bool(true));
        let is_meta = ["isMeta", "isCompactSummary"].iter().any(is_true);
        let is_prompt = |text: &&&str| !is_meta && !UNANSWERED.iter().any(|start| text.starts_with(start));
        let prompt = texts.iter().find(is_prompt);
        if let Some(prompt) = prompt.filter(|_| !is_true(&"isSidechain")) {
            transcript.prompted(prompt);
        }
        // A message of texts that are no prompt ends the turn; one without any, or of results, leaves it to the model.
        let is_answered = prompt.is_some() || blocks.iter().any(|block| is_result(&block));
        thread.is_awaiting = is_answered || texts.is_empty() && thread.is_awaiting;
        thread.give(json!({"role": "user", "content": content}));
    }
}

impl OpenMessage {
    /// True where no further line of it follows.
    fn has_ended(&self, thread: &AgentThread, is_quiet: bool) -> bool {
        if self.failure.is_some() || text_at(&self.message, "/stop_reason").is_some() {
            return true;
        }
        // Of older versions, no line says how the message ended.
        let is_running = |block: &Value| {
            text_at(block, "/type") == Some("tool_use")
                && text_at(block, "/id").is_some_and(|call| thread.has_open_tool(call))
        };
        is_quiet && !self.content.iter().any(is_running)
    }

    fn give(self, thread: &AgentThread, is_open: bool, transcript: &mut SessionTranscript) {
        let mut answer = self.message;
        answer["content"] = self.content.into();
        if text_at(&answer, "/model") == Some(SYNTHETIC) {
            answer["model"] = Value::Null;
        }
        transcript.model_call(
            thread,
            AnsweredCall {
                id: self.id,
                api: ModelApi::Messages,
                input: self.input,
                start: self.start,
                end: self.end,
                is_open,
                failure: self.failure,
                answer,
            },
        );
    }
}

/// The end of a tool call, as its result says.
fn tool_end(record: &Value, block: &Value) -> ToolEnd {
    // A patch is there where a file was written, not where it was read.
    let changed = record.pointer("/toolUseResult/structuredPatch").is_some();
    let file = text_at(record, "/toolUseResult/filePath").filter(|_| changed);
    ToolEnd {
        result: block.get("content").cloned().unwrap_or_default(),
        is_error: block.get("is_error") == Some(&Value::Bool(true)),
        files: file.map(str::to_owned).into_iter().collect(),
    }
}
