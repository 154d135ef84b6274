//! Transcripts of Codex: items of responses, and events with running totals of tokens; sub-agents in files of their own.

use serde_json::{Map, Value, json};
use tracer_providers::ModelApi;
use tracer_sdk::format::{SpanId, Timestamp};

use super::RecordReader;
use super::discover::SubAgent;
use super::transcript::{AgentThread, AnsweredCall, SessionTranscript, ToolEnd, items, text_at};

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
    thread: Option<AgentThread>,
    sub_agent: Option<SubAgent>,
    model: Option<String>,
    /// Number of calls so far: transcripts only grow, so it identifies a call.
    calls: u64,
    call: Option<OpenCall>,
    /// Totals of the thread after the last call.
    totals: Map<String, Value>,
    /// True while the records are those of the thread that this one was forked from.
    is_history: bool,
}

/// Records that follow the items of a model call.
#[derive(Debug, Default)]
struct CallEnd {
    usage: Value,
    /// The ID of the response.
    response: Option<String>,
    /// More may come.
    is_open: bool,
    failure: Option<(String, String)>,
}

/// A model call whose items are read.
#[derive(Debug)]
struct OpenCall {
    id: SpanId,
    input: Vec<Value>,
    start: Timestamp,
    end: Timestamp,
    output: Vec<Value>,
}

impl RecordReader for Codex {
    fn begin_file(&mut self, sub_agent: Option<&SubAgent>) {
        *self = Self {
            sub_agent: sub_agent.cloned(),
            ..Self::default()
        };
    }

    fn take(&mut self, record: &Value, transcript: &mut SessionTranscript) {
        // The first versions wrote items without an envelope.
        let payload = record.get("payload").unwrap_or(record);
        let kind = text_at(record, "/type").unwrap_or("(none)");
        let item = text_at(payload, "/type").unwrap_or("(none)");
        let begin = || transcript.thread(self.sub_agent.as_ref());
        let mut thread = self.thread.take().unwrap_or_else(begin);
        let before = thread.at;
        transcript.time(&mut thread, record);
        match kind {
            "session_meta" => self.session_meta(payload, &mut thread, transcript),
            "turn_context" => {
                self.model = text_at(payload, "/model")
                    .map(str::to_owned)
                    .or(self.model.take());
                self.begin_turn(payload);
            }
            "compacted" => {
                self.end_call(CallEnd::default(), &thread, transcript);
                let summary = text_at(payload, "/message").unwrap_or("(the conversation was compacted)");
                thread.give(json!({"type": "message", "role": "user", "content": summary}));
            }
            "token_usage_record" => {
                let end = CallEnd {
                    usage: payload.get("usage").cloned().unwrap_or_default(),
                    response: text_at(payload, "/response_id").map(str::to_owned),
                    ..CallEnd::default()
                };
                if let Some(Value::Object(totals)) = payload.get("thread_token_usage") {
                    self.totals.clone_from(totals);
                }
                self.end_call(end, &thread, transcript);
            }
            "event_msg" => self.event(item, payload, &mut thread, transcript),
            "response_item" => self.item(item, (payload, record), before, &mut thread, transcript),
            _ if record.get("payload").is_none() && record.get("id").is_some() && item == "(none)" => {
                self.session_meta(payload, &mut thread, transcript);
            }
            _ if record.get("payload").is_none() && is_item(item) => {
                self.item(item, (payload, record), before, &mut thread, transcript);
            }
            _ if BOOKKEEPING.contains(&kind) || record.get("record_type").is_some() => {}
            _ => transcript.unknown(kind, record),
        }
        self.thread = Some(thread);
    }

    fn end_file(&mut self, is_quiet: bool, transcript: &mut SessionTranscript) {
        let Some(mut thread) = self.thread.take() else {
            return;
        };
        if self.call.is_some() {
            // The tokens of a call follow its items.
            thread.is_awaiting |= !is_quiet;
            let end = CallEnd {
                is_open: !is_quiet,
                ..CallEnd::default()
            };
            self.end_call(end, &thread, transcript);
        }
        transcript.is_open |= self.sub_agent.is_none() && thread.is_open();
        transcript.leave(&mut thread);
    }
}

impl Codex {
    fn session_meta(
        &mut self,
        payload: &Value,
        thread: &mut AgentThread,
        transcript: &mut SessionTranscript,
    ) {
        if !self.id.is_empty() {
            // The head of the thread that this one was forked from: its history follows.
            self.is_history |= text_at(payload, "/id") != Some(&self.id);
            return;
        }
        text_at(payload, "/id")
            .unwrap_or_default()
            .clone_into(&mut self.id);
        self.is_history = text_at(payload, "/forked_from_id").is_some();
        if self.sub_agent.is_none() {
            for (place, name) in [
                ("/cwd", "tracer.cwd"),
                ("/cli_version", "service.version"),
                ("/git/branch", "vcs.ref.head.name"),
            ] {
                transcript.describe(name, payload.pointer(place));
            }
        }
        let instructions = ["/base_instructions/text", "/instructions"];
        if let Some(text) = instructions.iter().find_map(|place| text_at(payload, place)) {
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
            let call = text_at(payload, "/call_id").unwrap_or_default();
            if item.ends_with("_output") && !self.is_history {
                let output = payload.get("output").cloned().unwrap_or_default();
                Self::tool_result(call, output, thread, transcript);
            }
            if is_users(payload) && !self.is_history {
                thread.is_awaiting = true;
                let text = items(payload, "/content").find_map(|part| text_at(part, "/text"));
                if self.sub_agent.is_none() {
                    transcript.prompted(text.unwrap_or_default());
                }
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
        if thread.has_input() {
            // The last call was not given this: it answers another one.
            self.end_call(CallEnd::default(), thread, transcript);
        }
        let call = self.open_call(before, thread, transcript);
        call.end = thread.at;
        let mut item = payload.clone();
        if let Some(item) = item.as_object_mut() {
            item.remove("encrypted_content");
        }
        call.output.push(item);
        let asker = call.id;
        let Some(call_id) = text_at(payload, "/call_id").filter(|_| !self.is_history) else {
            return;
        };
        let kind = text_at(payload, "/type").unwrap_or_default();
        let tool = text_at(payload, "/name").unwrap_or_else(|| kind.trim_end_matches("_call"));
        let arguments = ["/arguments", "/input", "/action"]
            .iter()
            .find_map(|place| payload.pointer(place));
        let arguments = arguments.cloned().unwrap_or_default();
        transcript.tool_call(thread, asker, (call_id, tool), arguments);
    }

    /// The call whose items are read, begun where there is none.
    fn open_call(
        &mut self,
        before: Timestamp,
        thread: &mut AgentThread,
        transcript: &SessionTranscript,
    ) -> &mut OpenCall {
        let (calls, id) = (&mut self.calls, &self.id);
        self.call.get_or_insert_with(|| {
            *calls += 1;
            OpenCall {
                id: transcript.span_id(&[id, &calls.to_string()]),
                input: thread.take_input(),
                start: before,
                end: thread.at,
                output: Vec::new(),
            }
        })
    }

    /// Gives the call whose items were read.
    fn end_call(&mut self, end: CallEnd, thread: &AgentThread, transcript: &mut SessionTranscript) {
        let Some(call) = self.call.take().filter(|_| !self.is_history) else {
            return;
        };
        let answer = json!({
            "id": end.response, "model": self.model, "output": call.output, "usage": end.usage,
        });
        transcript.model_call(
            thread,
            AnsweredCall {
                id: call.id,
                api: ModelApi::Responses,
                input: call.input,
                answer,
                start: call.start,
                end: call.end,
                is_open: end.is_open,
                failure: end.failure,
            },
        );
    }

    fn tool_result(call: &str, output: Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        // Older versions wrap the text.
        let parsed: Option<Value> = output.as_str().and_then(|text| serde_json::from_str(text).ok());
        let sub_agent = parsed.as_ref().and_then(|result| text_at(result, "/agent_id"));
        if let Some((agent, tool)) = sub_agent.zip(thread.open_tool(call)) {
            transcript.started_by(agent, tool);
        }
        let wrapped = parsed.as_ref().filter(|result| result.get("metadata").is_some());
        let exit_code = wrapped.and_then(|result| result.pointer("/metadata/exit_code")?.as_i64());
        let said = thread.said_of_tools.remove(call).unwrap_or_default();
        let is_error = said.is_error || exit_code.is_some_and(|code| code != 0);
        let result = wrapped
            .and_then(|result| result.get("output").cloned())
            .unwrap_or(output);
        let files = said.files;
        transcript.tool_end(
            thread,
            call,
            ToolEnd {
                result,
                is_error,
                files,
            },
        );
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
            "error" | "stream_error" => self.failed(payload, thread, transcript),
            "token_count" => self.count(payload, thread, transcript),
            "thread_name_updated" => {
                transcript.title = text_at(payload, "/thread_name").map(str::to_owned);
            }
            "item_completed" => said_of_tool(
                payload.get("item").unwrap_or(&Value::Null),
                "/id",
                thread,
                transcript,
            ),
            _ if EVENT_ENDS.iter().any(|end| kind.ends_with(end)) => {
                said_of_tool(payload, "/call_id", thread, transcript);
            }
            _ if EVENTS.contains(&kind) => {}
            _ => transcript.unknown(&format!("event_msg {kind}"), payload),
        }
    }

    /// Totals of the thread: what they grew by since the last call is that of the call before them.
    fn count(&mut self, payload: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        let Some(totals) = payload
            .pointer("/info/total_token_usage")
            .and_then(Value::as_object)
        else {
            return;
        };
        let before = std::mem::replace(&mut self.totals, totals.clone());
        let number = |of: &Map<String, Value>, key: &str| of.get(key).and_then(Value::as_u64).unwrap_or(0);
        if number(totals, "total_tokens") == number(&before, "total_tokens") {
            return;
        }
        let grown = totals.iter().map(|(key, total)| {
            let total = total.as_u64()?;
            Some((key.clone(), Value::from(total.checked_sub(number(&before, key))?)))
        });
        // Totals that shrink begin again.
        let usage = grown.collect::<Option<Map<_, _>>>().map(Value::Object);
        let usage = usage.or_else(|| payload.pointer("/info/last_token_usage").cloned());
        let at = thread.at;
        self.open_call(at, thread, transcript);
        let usage = usage.unwrap_or_default();
        self.end_call(
            CallEnd {
                usage,
                ..CallEnd::default()
            },
            thread,
            transcript,
        );
    }

    /// A model call that failed.
    fn failed(&mut self, payload: &Value, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
        let class = ["/codex_error_info", "/codex_error_info/type"]
            .iter()
            .find_map(|place| text_at(payload, place));
        let message = text_at(payload, "/message").unwrap_or_default();
        let failure = (class.unwrap_or("ApiError").to_owned(), message.to_owned());
        let end = CallEnd {
            failure: Some(failure),
            ..CallEnd::default()
        };
        let at = thread.at;
        self.open_call(at, thread, transcript);
        self.end_call(end, thread, transcript);
    }
}

/// Notes what an event says of a tool call whose output comes later: that it failed, the files that it changed, the agent
/// that it started.
fn said_of_tool(item: &Value, id: &str, thread: &mut AgentThread, transcript: &mut SessionTranscript) {
    let Some(call) = text_at(item, id).filter(|call| thread.has_open_tool(call)) else {
        return;
    };
    for agent in items(item, "/receiver_thread_ids").filter_map(Value::as_str) {
        if let Some(tool) = thread.open_tool(call) {
            transcript.started_by(agent, tool);
        }
    }
    let is_error = item.get("success") == Some(&Value::Bool(false))
        || item
            .get("exit_code")
            .and_then(Value::as_i64)
            .is_some_and(|code| code != 0)
        || matches!(text_at(item, "/status"), Some("failed" | "declined"))
        // Of an MCP server: no result, or one that says so.
        || item.pointer("/result/Err").is_some()
        || item.pointer("/result/Ok/isError") == Some(&Value::Bool(true));
    let changes = item.get("changes").and_then(Value::as_object);
    let files = changes
        .into_iter()
        .flatten()
        .map(|(path, _)| path.clone())
        .collect();
    let said = ToolEnd {
        result: Value::Null,
        is_error,
        files,
    };
    thread.said_of_tools.insert(call.to_owned(), said);
}

fn is_item(kind: &str) -> bool {
    matches!(kind, "message" | "reasoning") || kind.ends_with("_call") || kind.ends_with("_output")
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
