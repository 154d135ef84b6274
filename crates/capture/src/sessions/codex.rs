//! Transcripts of Codex: items of responses, and events with running totals of tokens; sub-agents in files of their own.

use serde_json::{Map, Value, json};
use tracer_sdk::format::Timestamp;

use super::RecordReader;
use super::transcript::{
    AgentThread, OpenCall, SessionTranscript, ToolEnd, first_text, is_true, items, text_at, value_at,
};

/// Records and items that say nothing about a call.
const BOOKKEEPING: [&str; 5] = [
    "compaction",
    "context_compaction",
    "ghost_snapshot",
    "inter_agent_communication_metadata",
    "world_state",
];
/// Events that repeat what items say, or report progress; further ones are recognised by their ends.
const EVENTS: [&str; 24] = [
    "agent_message",
    "agent_reasoning",
    "agent_reasoning_raw_content",
    "agent_reasoning_section_break",
    "background_event",
    "context_compacted",
    "deprecation_notice",
    "entered_review_mode",
    "exited_review_mode",
    "guardian_assessment",
    "item_started",
    "model_reroute",
    "plan_update",
    "session_configured",
    "thread_goal_updated",
    "thread_name_updated",
    "thread_rolled_back",
    "thread_settings_applied",
    "turn_diff",
    "user_message",
    "view_image_tool_call",
    "warning",
    "sub_agent_activity",
    "token_count",
];
const EVENT_ENDS: [&str; 3] = ["_begin", "_end", "_delta"];

/// The state of one file, which is one thread.
#[derive(Debug, Default)]
pub(super) struct Codex {
    /// The ID of the file's thread.
    id: String,
    model: Option<String>,
    /// Number of calls so far: transcripts only grow, so it identifies a call.
    calls: u64,
    /// Totals of the thread after the last call.
    totals: Map<String, Value>,
    /// True while the records are those of the thread that this one was forked from.
    is_history: bool,
}

impl RecordReader for Codex {
    fn take(&mut self, record: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        let payload = record.get("payload").unwrap_or(&Value::Null);
        let kind = text_at(record, "/type").unwrap_or("(none)");
        let item = text_at(payload, "/type").unwrap_or("(none)");
        let before = transcript.time(thread, record);
        match kind {
            "session_meta" => self.session_meta(payload, thread, transcript),
            "turn_context" => {
                let model = text_at(payload, "/model").map(str::to_owned);
                self.model = model.or(self.model.take());
                self.begin_turn(payload);
            }
            "compacted" => {
                self.end_call(Value::Null, thread, transcript);
                let summary = text_at(payload, "/message").unwrap_or("(the conversation was compacted)");
                thread.give(json!({"type": "message", "role": "user", "content": summary}));
            }
            "token_usage_record" => {
                if let Value::Object(totals) = value_at(payload, "/thread_token_usage") {
                    self.totals = totals;
                }
                if let Some(call) = &mut thread.call {
                    call.answer["id"] = value_at(payload, "/response_id");
                }
                self.end_call(value_at(payload, "/usage"), thread, transcript);
            }
            "event_msg" => self.event(item, payload, thread, transcript),
            "response_item" => self.item(item, (payload, record), before, thread, transcript),
            _ if BOOKKEEPING.contains(&kind) || record.get("record_type").is_some() => {}
            _ => transcript.unknown(kind, record),
        }
    }

    fn end_file(&mut self, is_quiet: bool, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        // The tokens of a call follow its items.
        self.give_call(Value::Null, !is_quiet, thread, transcript);
        *self = Self::default();
    }
}

impl Codex {
    fn session_meta(
        &mut self,
        payload: &Value,
        thread: &mut AgentThread,
        transcript: &mut SessionTranscript,
    ) {
        let id = text_at(payload, "/id").unwrap_or_default();
        if !self.id.is_empty() {
            // The head of the thread that this one was forked from: its history follows.
            self.is_history |= id != self.id;
            return;
        }
        id.clone_into(&mut self.id);
        self.is_history = text_at(payload, "/forked_from_id").is_some();
        if thread.is_own() {
            transcript.describe(payload, &["/cwd", "/cli_version", "/git/branch"]);
        }
        if let Some(text) = first_text(payload, &["/base_instructions/text", "/instructions"]) {
            thread.give(json!({"type": "message", "role": "system", "content": text}));
        }
    }

    /// A turn of this thread's own ends the history: IDs of threads and turns begin with their time (UUID version 7).
    fn begin_turn(&mut self, payload: &Value) {
        if let Some(turn) = text_at(payload, "/turn_id") {
            self.is_history &= turn < self.id.as_str();
        }
    }

    /// An item that a model was given, or answered.
    fn item(
        &mut self,
        item: &str,
        (payload, record): (&Value, &Value),
        before: Timestamp,
        thread: &mut AgentThread,
        transcript: &mut SessionTranscript,
    ) {
        let is_answer = match item {
            "message" => text_at(payload, "/role") == Some("assistant"),
            "reasoning" => true,
            _ => item.ends_with("_call"),
        };
        if is_answer {
            self.answered(payload, before, thread, transcript);
        } else if item == "message" || item.ends_with("_output") {
            if item.ends_with("_output") && !self.is_history {
                tool_result(payload, thread, transcript);
            }
            if is_users(payload) && !self.is_history {
                thread.is_awaiting = true;
                let text = items(payload, "/content").find_map(|part| text_at(part, "/text"));
                transcript.prompted(thread, text);
            }
            thread.give(payload.clone());
        } else if !BOOKKEEPING.contains(&item) {
            transcript.unknown(&format!("response_item {item}"), record);
        }
    }

    /// An item of an answer.
    fn answered(
        &mut self,
        payload: &Value,
        before: Timestamp,
        thread: &mut AgentThread,
        transcript: &mut SessionTranscript,
    ) {
        if !thread.input.is_empty() {
            // The last call was not given this: it answers another one.
            self.end_call(Value::Null, thread, transcript);
        }
        let end = thread.at;
        let call = self.call(before, thread, transcript);
        call.end = end;
        let mut item = payload.clone();
        item.as_object_mut().map(|item| item.remove("encrypted_content"));
        call.parts.push(item);
        let asker = call.id;
        if let Some(call_id) = text_at(payload, "/call_id").filter(|_| !self.is_history) {
            let kind = text_at(payload, "/type").unwrap_or_default();
            let tool = text_at(payload, "/name").unwrap_or_else(|| kind.trim_end_matches("_call"));
            let mut places = ["/arguments", "/input", "/action"].iter();
            let arguments = places.find_map(|place| payload.pointer(place).cloned());
            transcript.tool_call(thread, asker, (call_id, tool), arguments.unwrap_or_default());
        }
    }

    /// The call whose items are read, begun where there is none.
    fn call<'a>(
        &mut self,
        start: Timestamp,
        thread: &'a mut AgentThread,
        transcript: &SessionTranscript,
    ) -> &'a mut OpenCall {
        thread.call(start, || {
            self.calls += 1;
            transcript.span_id(&[&self.id, &self.calls.to_string()])
        })
    }

    fn end_call(&self, usage: Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        self.give_call(usage, false, thread, transcript);
    }

    /// Gives the call whose items were read, unless the thread that this one was forked from made it.
    fn give_call(
        &self,
        usage: Value,
        is_open: bool,
        thread: &mut AgentThread,
        transcript: &mut SessionTranscript,
    ) {
        if self.is_history {
            thread.call = None;
        }
        if let Some(call) = &mut thread.call {
            call.answer["model"] = self.model.as_deref().into();
            call.answer["usage"] = usage;
        }
        transcript.end_call(thread, is_open);
    }

    fn event(
        &mut self,
        kind: &str,
        payload: &Value,
        thread: &mut AgentThread,
        transcript: &mut SessionTranscript,
    ) {
        match kind {
            "task_started" | "turn_started" => {
                self.begin_turn(payload);
                thread.is_awaiting = !self.is_history;
            }
            "task_complete" | "turn_complete" | "turn_aborted" => thread.is_awaiting = false,
            "error" | "stream_error" => {
                let class = first_text(payload, &["/codex_error_info", "/codex_error_info/type"]);
                let message = text_at(payload, "/message").unwrap_or_default();
                self.call(thread.at, thread, transcript).failure =
                    Some((class.unwrap_or("ApiError").to_owned(), message.to_owned()));
                self.end_call(Value::Null, thread, transcript);
            }
            "token_count" => self.count(payload, thread, transcript),
            "thread_name_updated" => {
                transcript.title = text_at(payload, "/thread_name").map(str::to_owned);
            }
            "item_completed" => said_of_tool(&payload["item"], "/id", thread, transcript),
            _ if EVENT_ENDS.iter().any(|end| kind.ends_with(end)) => {
                said_of_tool(payload, "/call_id", thread, transcript);
            }
            _ if EVENTS.contains(&kind) => {}
            _ => transcript.unknown(&format!("event_msg {kind}"), payload),
        }
    }

    /// Totals of the thread: what they grew by since the last call is that of the call before them.
    fn count(&mut self, payload: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        let Value::Object(totals) = value_at(payload, "/info/total_token_usage") else {
            return;
        };
        let before = std::mem::replace(&mut self.totals, totals.clone());
        let number = |of: &Map<String, Value>, key: &str| of.get(key).and_then(Value::as_u64).unwrap_or(0);
        if number(&totals, "total_tokens") == number(&before, "total_tokens") {
            return;
        }
        let grown = totals.iter().map(|(key, total)| {
            let grown = total.as_u64()?.checked_sub(number(&before, key))?;
            Some((key.clone(), grown.into()))
        });
        // Totals that shrink begin again.
        let usage = grown.collect::<Option<Map<_, _>>>().map(Value::Object);
        let usage = usage.unwrap_or_else(|| value_at(payload, "/info/last_token_usage"));
        self.call(thread.at, thread, transcript);
        self.end_call(usage, thread, transcript);
    }
}

fn tool_result(payload: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
    let call = text_at(payload, "/call_id").unwrap_or_default();
    let output = value_at(payload, "/output");
    // Older versions wrap the text.
    let parsed = output.as_str().and_then(|text| serde_json::from_str(text).ok());
    let mut wrapped: Value = parsed.unwrap_or_default();
    if let Some(agent) = text_at(&wrapped, "/agent_id") {
        transcript.started_by(agent, call);
    }
    let said = thread.said_of_tools.remove(call).unwrap_or_default();
    let is_error = said.is_error || has_exit_code(&wrapped, "/metadata/exit_code");
    let result = wrapped
        .get("metadata")
        .is_some()
        .then(|| wrapped["output"].take());
    let end = ToolEnd {
        result: result.filter(|result| !result.is_null()).unwrap_or(output),
        is_error,
        ..said
    };
    transcript.tool_end(thread, call, end);
}

/// True of the exit code of a command that failed.
fn has_exit_code(item: &Value, place: &str) -> bool {
    value_at(item, place).as_i64().is_some_and(|code| code != 0)
}

/// Notes what an event says of a tool call whose output comes later: that it failed, the files that it changed, the agent
/// that it started.
fn said_of_tool(item: &Value, id: &str, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
    let Some(call) = text_at(item, id).filter(|call| thread.open_tools.contains_key(*call)) else {
        return;
    };
    for agent in items(item, "/receiver_thread_ids").filter_map(Value::as_str) {
        transcript.started_by(agent, call);
    }
    let is_error = item["success"] == false
        || has_exit_code(item, "/exit_code")
        || matches!(text_at(item, "/status"), Some("failed" | "declined"))
        // Of an MCP server: no result, or one that says so.
        || item.pointer("/result/Err").is_some()
        || is_true(item, "/result/Ok/isError");
    let changes = item["changes"].as_object();
    let said = ToolEnd {
        result: Value::Null,
        is_error,
        files: changes.into_iter().flat_map(Map::keys).cloned().collect(),
    };
    thread.said_of_tools.insert(call.to_owned(), said);
}

/// Recognises what the user typed: what the program adds is marked, or in elements.
fn is_users(payload: &Value) -> bool {
    let kind = text_at(
        payload,
        "/internal_chat_message_metadata_passthrough/content_item_kinds/0",
    );
    let mut texts = items(payload, "/content").filter_map(|part| text_at(part, "/text"));
    let is_plain = texts
        .next()
        .is_some_and(|text| !text.starts_with('<') && !text.starts_with("# AGENTS.md"));
    text_at(payload, "/role") == Some("user") && kind.map_or(is_plain, |kind| kind.starts_with("user."))
}
