//! Transcripts of Claude Code: a line per content block, grouped by message ID; sub-agents in files of their own.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::RecordReader;
use super::transcript::{
    AgentThread, SessionTranscript, ToolEnd, first_text, is_true, items, text_at, value_at,
};

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

/// The state of a session.
#[derive(Debug, Default)]
pub(super) struct ClaudeCode {
    /// The records that were read, by their IDs: a resumed session may repeat them.
    records: HashSet<String>,
}

impl RecordReader for ClaudeCode {
    fn take(&mut self, record: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        let is_new = |id: &str| self.records.insert(id.to_owned());
        if !text_at(record, "/uuid").is_none_or(is_new) {
            return;
        }
        match text_at(record, "/type").unwrap_or("(none)") {
            // The first versions wrote sub-agents between the records of the session.
            kind if thread.is_own() && is_true(record, "/isSidechain") => {
                transcript.unknown(&format!("sidechain {kind}"), record);
            }
            "assistant" if record.pointer("/message/content").is_some() => {
                answer(record, thread, transcript);
            }
            "user" if record.pointer("/message/content").is_some() => prompt(record, thread, transcript),
            "summary" | "ai-title" | "custom-title" => {
                let title = first_text(record, &["/customTitle", "/aiTitle", "/title", "/summary"]);
                transcript.title = title.map(str::to_owned).or(transcript.title.take());
            }
            kind if BOOKKEEPING.contains(&kind) => {}
            kind => transcript.unknown(kind, record),
        }
    }

    fn end_file(&mut self, is_quiet: bool, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        if let Some(call) = &thread.call {
            // Of older versions, no line says how the message ended.
            let has_ended = call.failure.is_some()
                || text_at(&call.answer, "/stop_reason").is_some()
                || is_quiet && thread.open_tools.is_empty();
            transcript.end_call(thread, !has_ended);
        }
    }
}

/// A line of a message of the model.
fn answer(record: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
    let message = value_at(record, "/message");
    let of_message = [text_at(&message, "/id"), text_at(record, "/requestId")];
    let identity = match of_message {
        [None, None] => [text_at(record, "/uuid"), text_at(record, "/timestamp")],
        known => known,
    };
    let id = transcript.span_id(&identity.map(Option::unwrap_or_default));
    if transcript.has_given(id) {
        return;
    }
    let start = transcript.time(thread, record);
    if thread.call.as_ref().is_some_and(|call| call.id != id) {
        transcript.end_call(thread, false);
    }
    let blocks = match value_at(&message, "/content") {
        Value::Array(blocks) => blocks,
        text => vec![json!({"type": "text", "text": text})],
    };
    let end = thread.at;
    let call = thread.call(start, || id);
    call.end = end;
    // Usage grows from line to line.
    call.answer = message;
    call.parts.extend(blocks.iter().cloned());
    if is_true(record, "/isApiErrorMessage") {
        let class = text_at(record, "/error").unwrap_or("ApiError");
        let text = blocks.iter().find_map(|block| text_at(block, "/text"));
        call.failure = Some((class.to_owned(), text.unwrap_or_default().to_owned()));
    }
    if text_at(&call.answer, "/model") == Some(SYNTHETIC) {
        call.answer["model"] = Value::Null;
    }
    for block in blocks
        .iter()
        .filter(|block| text_at(block, "/type") == Some("tool_use"))
    {
        if let Some(tool) = text_at(block, "/id").zip(text_at(block, "/name")) {
            transcript.tool_call(thread, id, tool, value_at(block, "/input"));
        }
    }
}

/// Messages of the user, and results of tools.
fn prompt(record: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
    transcript.describe(record, &["/cwd", "/version", "/gitBranch"]);
    transcript.time(thread, record);
    let is_result = |block: &&Value| text_at(block, "/type") == Some("tool_result");
    let mut is_answered = false;
    for block in items(record, "/message/content").filter(is_result) {
        is_answered = true;
        let call = text_at(block, "/tool_use_id").unwrap_or_default();
        if let Some(agent) = text_at(record, "/toolUseResult/agentId") {
            transcript.started_by(agent, call);
        }
        transcript.tool_end(thread, call, tool_end(record, block));
    }
    let content = value_at(record, "/message/content");
    let texts = items(&content, "").filter_map(|block| text_at(block, "/text"));
    let texts: Vec<&str> = texts.chain(content.as_str()).collect();
    let is_meta = is_true(record, "/isMeta") || is_true(record, "/isCompactSummary");
    let is_prompt = |text: &&str| !is_meta && !UNANSWERED.iter().any(|start| text.starts_with(start));
    let prompt = texts.iter().copied().find(is_prompt);
    transcript.prompted(thread, prompt);
    // A message of texts that are no prompt ends the turn; one without any, or of results, leaves it to the model.
    is_answered |= prompt.is_some();
    thread.is_awaiting = is_answered || texts.is_empty() && thread.is_awaiting;
    thread.give(json!({"role": "user", "content": content}));
}

/// The end of a tool call, as its result says.
fn tool_end(record: &Value, block: &Value) -> ToolEnd {
    // A patch is there where a file was written, not where it was read.
    let changed = record.pointer("/toolUseResult/structuredPatch").is_some();
    let file = text_at(record, "/toolUseResult/filePath").filter(|_| changed);
    ToolEnd {
        result: value_at(block, "/content"),
        is_error: is_true(block, "/is_error"),
        files: file.map(str::to_owned).into_iter().collect(),
    }
}
