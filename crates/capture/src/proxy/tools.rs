//! Tool calls that only messages show: an answer asks for them, a request that continues it brings their results. When they ran
//! is known from that alone, and so they are marked as derived.

use std::collections::{BTreeMap, HashSet, VecDeque};

use serde_json::Value;
use tracer_insight::conversation::{Message, MessagePart, OfferedTool, embedded_json, offered_tools};
use tracer_insight::not_run::is_runnable;
use tracer_runs::is_closing_tool;
use tracer_sdk::format::names::{self, Name, event_keys, events};
use tracer_sdk::format::{SpanEvent, SpanId, SpanRecord, StatusCode, StoredTime};

use super::ProxyContext;
use super::conversations::WireCall;
use super::exchange::set_failure;
use super::history::{History, results_in};
use crate::runs::random_span_id;

/// The most calls that are without results at once; the oldest is forgotten first.
const MAX_OPEN: usize = 10_000;
/// The most of them that become no span without a result.
const MAX_SILENT: usize = 64;

const CALL_ID: &str = "gen_ai.tool.call.id";

/// A shorter text is in many questions by chance, in bytes.
const MIN_TEXT_BYTES: usize = 4;
/// A text that is as long is in no other question by chance, in bytes.
const TELLING_BYTES: usize = 40;
/// The latest open calls among which one is looked for that no conversation leads to.
const MAX_ASKING: usize = 64;
/// A client may act on an answer so much earlier than at its end, in nanoseconds.
const TOLERANCE: u64 = 50_000_000;

/// Calls of the Responses API that the program runs; the provider runs every other.
const RUN_BY_PROGRAM: [&str; 6] = [
    "apply_patch_call",
    "computer_call",
    "custom_tool_call",
    "function_call",
    "local_shell_call",
    "shell_call",
];

/// JSON Pointers to the function that the answer has to call, and to the demand for a call of any.
const NAMED_FUNCTION: [&str; 3] = [
    "/tool_choice/function/name",
    "/tool_choice/name",
    "/toolConfig/functionCallingConfig/allowedFunctionNames/0",
];
const DEMAND: [&str; 3] = [
    "/tool_choice",
    "/tool_choice/type",
    "/toolConfig/functionCallingConfig/mode",
];

/// The class of a failed tool that says no other.
const TOOL_ERROR: &str = "tool_error";

/// A tool call without a result so far.
#[derive(Debug)]
struct OpenTool {
    /// The span that it becomes.
    span_id: SpanId,
    conversation: usize,
    id: Option<String>,
    name: String,
    arguments: Value,
    kind: OpenKind,
    /// When the answer had come, in nanoseconds after 1970.
    asked: u64,
    parent: SpanId,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum OpenKind {
    Tool,
    /// The request demanded it: without a result it is the form of the answer.
    Form,
    /// It cannot run: its result is what the model is answered instead.
    NotRun,
}

/// The calls without a result so far, each by the number of the call of a model that asked for it, in the order of its answer.
#[derive(Debug, Default)]
pub(super) struct OpenTools {
    calls: BTreeMap<(usize, usize), OpenTool>,
    /// Keys of calls, present or removed, that are no tools.
    silent: VecDeque<(usize, usize)>,
    /// The closing tools that brought a result in this run: tools of the program, whatever their names.
    settled_closing: HashSet<String>,
}

impl OpenTools {
    /// Notes the calls that the answer to `request` asks for, which is that of the call `turn`; `body` is that answer. Gives the
    /// spans of those that the provider ran itself, now or in an earlier part of the same turn: their results are in the answer.
    pub(super) fn ask(
        &mut self,
        context: &ProxyContext,
        request: &Value,
        (body, answer): (&Value, &[Message]),
        (number, turn): (usize, &WireCall),
        asked: u64,
    ) -> Vec<SpanRecord> {
        let parts = answer.iter().flat_map(|message| &message.parts);
        let mut offered = None;
        for (at, part) in parts.enumerate() {
            if let MessagePart::ToolCall { id, name, arguments } = part {
                if self.calls.len() >= MAX_OPEN {
                    self.calls.pop_first();
                }
                let offered = offered.get_or_insert_with(|| offered_tools(request, None));
                let kind = if demands(request, offered, name) {
                    OpenKind::Form
                } else if is_runnable(offered, name, arguments) {
                    OpenKind::Tool
                } else {
                    OpenKind::NotRun
                };
                if kind != OpenKind::Tool {
                    self.silent.push_back((number, at));
                }
                let call = OpenTool {
                    span_id: random_span_id(),
                    conversation: turn.conversation,
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                    kind,
                    asked,
                    parent: turn.parent,
                };
                self.calls.insert((number, at), call);
            }
        }
        let too_many = self.silent.len().saturating_sub(MAX_SILENT);
        for at in self.silent.drain(..too_many) {
            self.calls.remove(&at);
        }
        let place = (Some(number), Some(turn.conversation));
        let mut spans = self.settle(context, &results_in(answer), place, asked, true);
        spans.extend(self.ended_by_provider(context, body, turn.conversation, asked));
        spans
    }

    /// The spans of the calls that the provider reports as run, without a result.
    fn ended_by_provider(
        &mut self,
        context: &ProxyContext,
        body: &Value,
        conversation: usize,
        ended: u64,
    ) -> Vec<SpanRecord> {
        let mut spans = Vec::new();
        for item in body["output"].as_array().into_iter().flatten() {
            let text = |key: &str| item[key].as_str();
            let is_completed = match text("status") {
                Some("completed") => true,
                Some("failed") => false,
                _ => continue,
            };
            let is_of_program =
                |kind: &str| RUN_BY_PROGRAM.contains(&kind) || text("execution") == Some("client");
            if text("type").is_none_or(is_of_program) {
                continue;
            }
            let Some(call) = self
                .elsewhere(text("id"), Some(conversation))
                .and_then(|at| self.calls.remove(&at))
            else {
                continue;
            };
            let mut span = tool_span(context, &call, ended);
            if is_completed {
                span.status_code = StatusCode::Ok;
            } else {
                set_failure(&mut span, TOOL_ERROR, "the provider says that its tool failed");
            }
            spans.push(span);
        }
        spans
    }

    fn tools(&self) -> impl DoubleEndedIterator<Item = &OpenTool> {
        self.calls.values().filter(|call| call.kind == OpenKind::Tool)
    }

    /// True while a tool is without a result.
    pub(super) fn waits(&self) -> bool {
        self.tools().any(|call| !self.is_form(call))
    }

    /// True of a call that ends the work: without a result it is the form of the answer.
    fn is_form(&self, call: &OpenTool) -> bool {
        is_closing_tool(&call.name) && !self.settled_closing.contains(&call.name)
    }

    /// Forgets what the call of a model with this number asked for.
    pub(super) fn forget(&mut self, number: usize) {
        self.calls.retain(|(of, _), _| *of != number);
    }

    /// The conversation that asked for one of these results: that of the only call with its ID.
    pub(super) fn asked_in(&self, results: &[MessagePart]) -> Option<usize> {
        results.iter().find_map(|part| match part {
            MessagePart::ToolResult { id, .. } => {
                let at = self.elsewhere(id.as_deref(), None)?;
                self.calls.get(&at).map(|call| call.conversation)
            }
            _ => None,
        })
    }

    /// The only call without a result that asks the question of a request, which arrived at `arrived`: one of its arguments is
    /// the question, or a long part of it; or a part of it where the request has the tool's name or another argument, too. Of
    /// several that might it is not known which one it was.
    pub(super) fn asking_for(&self, history: &History, arrived: u64) -> Option<SpanId> {
        let said = letters(&history.texts);
        let latest_first = self.tools().rev().take(MAX_ASKING);
        let mut asking = latest_first
            .filter(|call| call.asked <= arrived.saturating_add(TOLERANCE) && asks(call, history, &said));
        let only = asking.next()?;
        asking.next().is_none().then_some(only.span_id)
    }

    /// The spans of the calls whose results a request brings that arrived at `arrived`: those of the answer that it continues, by
    /// their IDs, else their names, else in order where there are as many; or by their IDs of an earlier answer of its
    /// conversation. Where it continues none, only an ID that one call has tells. An answer has results next to its calls.
    pub(super) fn settle(
        &mut self,
        context: &ProxyContext,
        results: &[MessagePart],
        (answer, conversation): (Option<usize>, Option<usize>),
        arrived: u64,
        in_answer: bool,
    ) -> Vec<SpanRecord> {
        let of_answer = |calls: &BTreeMap<_, _>, is_it: &dyn Fn(&OpenTool) -> bool| {
            let answer = answer?;
            let mut calls = calls.range((answer, 0)..=(answer, usize::MAX));
            calls.find(|(_, call)| is_it(call)).map(|(at, _)| *at)
        };
        let as_many = in_answer
            || answer.is_some_and(|answer| {
                self.calls.range((answer, 0)..=(answer, usize::MAX)).count() == results.len()
            });
        let mut spans = Vec::new();
        let mut left: Vec<&MessagePart> = results.iter().collect();
        for pass in 0..3 {
            left.retain(|result| {
                let MessagePart::ToolResult {
                    id,
                    name,
                    value,
                    is_error,
                } = result
                else {
                    return false;
                };
                let found = of_answer(&self.calls, &|call| match pass {
                    0 => id.is_some() && call.id == *id,
                    1 => (as_many || call.id.is_none() || id.is_none()) && name.as_ref() == Some(&call.name),
                    _ => as_many,
                });
                let found = found
                    .or_else(|| self.elsewhere(id.as_deref(), conversation.filter(|_| answer.is_some())));
                let Some(call) = found.and_then(|at| self.calls.remove(&at)) else {
                    return true;
                };
                spans.extend(self.with_result(context, &call, (value, *is_error), arrived, in_answer));
                false
            });
        }
        spans
    }

    /// The spans of the calls of a conversation whose results are before the last answer of a request that arrived at `arrived`.
    pub(super) fn settle_earlier(
        &mut self,
        context: &ProxyContext,
        results: &[MessagePart],
        conversation: usize,
        arrived: u64,
    ) -> Vec<SpanRecord> {
        let mut spans = Vec::new();
        for result in results {
            if let MessagePart::ToolResult {
                id, value, is_error, ..
            } = result
                && let Some(at) = self.elsewhere(id.as_deref(), Some(conversation))
                && let Some(call) = self.calls.remove(&at)
            {
                spans.extend(self.with_result(context, &call, (value, *is_error), arrived, false));
            }
        }
        spans
    }

    /// The span of a call with its result; none of one that cannot have run.
    fn with_result(
        &mut self,
        context: &ProxyContext,
        call: &OpenTool,
        (value, is_error): (&Value, bool),
        arrived: u64,
        in_answer: bool,
    ) -> Option<SpanRecord> {
        if call.kind == OpenKind::NotRun && !in_answer {
            return None;
        }
        if is_closing_tool(&call.name) {
            self.settled_closing.insert(call.name.clone());
        }
        let mut span = tool_span(context, call, arrived);
        if !value.is_null() {
            let end = span.end_time.clone().unwrap_or_else(|| span.start_time.clone());
            span.events
                .push(content(events::TOOL_RESULT, event_keys::RESULT, value, end));
        }
        if is_error {
            let (class, message) = failure_of(value);
            set_failure(&mut span, &class, &message);
        }
        Some(span)
    }

    /// The call with this ID: the latest of a conversation, or the only one of all.
    fn elsewhere(&self, id: Option<&str>, conversation: Option<usize>) -> Option<(usize, usize)> {
        id?;
        let mut latest_first = self.calls.iter().rev().filter(|(_, call)| {
            call.id.as_deref() == id && conversation.is_none_or(|number| call.conversation == number)
        });
        let (at, _) = latest_first.next()?;
        (conversation.is_some() || latest_first.next().is_none()).then_some(*at)
    }

    /// The spans of the calls that never got a result, so that how they ended is unknown: the run ended, or the provider ran
    /// them and said nothing.
    pub(super) fn unanswered(&mut self, context: &ProxyContext) -> Vec<SpanRecord> {
        let open = std::mem::take(self);
        let tools = open.tools().filter(|call| !open.is_form(call));
        tools.map(|call| tool_span(context, call, call.asked)).collect()
    }
}

/// True where a request names a function that the answer has to call, or demands a call of its only one.
fn demands(request: &Value, offered: &[OfferedTool], name: &str) -> bool {
    let text = |path: &str| request.pointer(path).and_then(Value::as_str);
    let named = NAMED_FUNCTION.into_iter().find_map(text);
    let is_any = DEMAND
        .into_iter()
        .filter_map(text)
        .any(|word| word.eq_ignore_ascii_case("any") || word.eq_ignore_ascii_case("required"));
    named == Some(name) || named.is_none() && is_any && offered.len() == 1
}

/// True if a call asks the question of a request, whose texts have the letters `said`.
fn asks(call: &OpenTool, history: &History, said: &str) -> bool {
    let question = &history.question;
    let mut texts = Vec::new();
    collect_texts(&call.arguments, &mut texts);
    texts.retain(|text| text.len() >= MIN_TEXT_BYTES);
    let name = letters(&call.name);
    let names_tool = !name.is_empty() && said.contains(&name);
    let is_another = |text: &String| {
        texts
            .iter()
            .any(|other| other != text && history.texts.contains(other.as_str()))
    };
    texts.iter().any(|text| {
        text.trim() == question.trim()
            || question.contains(text.as_str())
                && (text.len() >= TELLING_BYTES || names_tool || is_another(text))
    })
}

/// The texts anywhere in a value.
fn collect_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => match embedded_json(text) {
            Some(inner) => collect_texts(&inner, texts),
            None => texts.push(text.clone()),
        },
        Value::Array(items) => items.iter().for_each(|item| collect_texts(item, texts)),
        Value::Object(map) => map.values().for_each(|item| collect_texts(item, texts)),
        _ => {}
    }
}

/// The letters and digits of a text, small.
fn letters(text: &str) -> String {
    let kept = text.chars().filter(|char| char.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// The text of a failure as the model reads it: plain, in blocks, or an object's error.
fn said_text(result: &Value) -> Option<String> {
    match result {
        Value::String(text) => {
            let inner = embedded_json(text).and_then(|inner| said_text(&inner));
            inner.or_else(|| Some(text.trim().to_owned()).filter(|text| !text.is_empty()))
        }
        Value::Array(items) => {
            let texts: Vec<String> = items.iter().filter_map(said_text).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        Value::Object(map) => ["error", "message", "text", "content", "value"]
            .iter()
            .find_map(|key| said_text(map.get(*key)?)),
        _ => None,
    }
}

/// The class and the message of a result that says that its tool failed.
fn failure_of(result: &Value) -> (String, String) {
    let text = |key: &str| result[key].as_str().filter(|text| !text.is_empty());
    let own_type = text("type").filter(|own_type| !own_type.contains("_result"));
    let class = text("error_code")
        .or(text("errorCode"))
        .or(own_type)
        .unwrap_or(TOOL_ERROR);
    let message = text("message").or(text("error_message"));
    let code = ["return_code", "exit_code"]
        .iter()
        .find_map(|key| result.get(*key)?.as_i64());
    let message = match (message, code, said_text(result)) {
        (Some(message), ..) => message.to_owned(),
        (None, Some(code), _) if code != 0 => format!("the tool ended with exit code {code}"),
        (None, _, Some(said)) => said,
        _ if class != TOOL_ERROR => format!("the result says that the tool failed: {class}"),
        _ => "the result says that the tool failed".to_owned(),
    };
    (class.to_owned(), message)
}

fn tool_span(context: &ProxyContext, call: &OpenTool, end: u64) -> SpanRecord {
    let times = (call.asked, end.max(call.asked));
    let mut span = context.span(call.span_id, Some(call.parent), call.name.clone(), times);
    span.set(names::OPERATION, "execute_tool");
    span.set("gen_ai.tool.name", call.name.as_str());
    span.set(names::DERIVED, true);
    span.set(names::THREAD, call.conversation + 1);
    span.set(CALL_ID, call.id.as_deref());
    let start = span.start_time.clone();
    span.events.push(content(
        events::TOOL_ARGUMENTS,
        event_keys::ARGUMENTS,
        &call.arguments,
        start,
    ));
    span
}

fn content(name: Name, key: &str, value: &Value, time: StoredTime) -> SpanEvent {
    let content = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    SpanEvent::new(name, time).with(key, content)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_insight::conversation::answer_messages;
    use tracer_sdk::format::Timestamp;

    use super::*;

    fn context() -> ProxyContext {
        ProxyContext {
            trace_id: "01".repeat(16).parse().unwrap(),
            root_span_id: "02".repeat(8).parse().unwrap(),
        }
    }

    /// An answer in the only conversation, whose number is the time.
    fn ask(tools: &mut OpenTools, answer: &Value, asked: u64) -> Vec<SpanRecord> {
        ask_of(tools, &Value::Null, answer, asked)
    }

    fn ask_of(tools: &mut OpenTools, request: &Value, answer: &Value, asked: u64) -> Vec<SpanRecord> {
        let turn = WireCall {
            conversation: 0,
            span_id: random_span_id(),
            parent: "03".repeat(8).parse().unwrap(),
            times: (0, asked),
            has_failed: false,
            was_left: false,
            background: None,
            continues: None,
            instructions: 0,
            ids: 0,
            is_continued: false,
        };
        let (number, messages) = (usize::try_from(asked).unwrap(), answer_messages(answer));
        tools.ask(&context(), request, (answer, &messages), (number, &turn), asked)
    }

    /// What a request settles that continues the answer of this time.
    fn settle(tools: &mut OpenTools, request: &Value, asked: usize, arrived: u64) -> Vec<SpanRecord> {
        let results = History::of(request).results;
        tools.settle(&context(), &results, (Some(asked), Some(0)), arrived, false)
    }

    /// The name, the result and the class of the error of each span.
    fn outcomes(spans: &[SpanRecord]) -> Vec<(&str, Option<String>, Option<String>)> {
        let result = |span: &SpanRecord| {
            let event = span
                .events
                .iter()
                .find(|event| event.name == events::TOOL_RESULT.written())?;
            Some(event.attributes[event_keys::RESULT].as_str()?.to_owned())
        };
        let error = |span: &SpanRecord| attribute(span, names::ERROR_TYPE.written());
        spans
            .iter()
            .map(|span| (span.name.as_str(), result(span), error(span)))
            .collect()
    }

    /// Each row: an answer with tools that its provider ran, and what is recorded of each.
    #[test]
    fn what_the_provider_ran_has_its_result_from_the_answer() {
        let some = |text: &str| Some(text.to_owned());
        for (answer, expected) in [
            (
                json!({"content": [
                    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
                    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]},
                    {"type": "server_tool_use", "id": "s2", "name": "web_search", "input": {"query": "r"}},
                    {"type": "web_search_tool_result", "tool_use_id": "s2", "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}},
                    {"type": "server_tool_use", "id": "s3", "name": "bash_code_execution", "input": {"command": "x"}},
                    {"type": "bash_code_execution_tool_result", "tool_use_id": "s3", "content": {"type": "bash_code_execution_result", "stdout": "", "stderr": "no", "return_code": 2}},
                    {"type": "mcp_tool_use", "id": "s4", "name": "echo", "server_name": "m", "input": {}},
                    {"type": "mcp_tool_result", "tool_use_id": "s4", "is_error": false, "content": [{"type": "text", "text": "hi"}]}]}),
                vec![
                    (
                        "web_search",
                        some("[{\"type\":\"web_search_result\",\"url\":\"u\"}]"),
                        None,
                    ),
                    (
                        "web_search",
                        some(
                            "{\"error_code\":\"max_uses_exceeded\",\"type\":\"web_search_tool_result_error\"}",
                        ),
                        some("max_uses_exceeded"),
                    ),
                    (
                        "bash_code_execution",
                        some(
                            "{\"return_code\":2,\"stderr\":\"no\",\"stdout\":\"\",\"type\":\"bash_code_execution_result\"}",
                        ),
                        some("tool_error"),
                    ),
                    ("echo", some("hi"), None),
                ],
            ),
            (
                json!({"output": [
                    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}},
                    {"type": "file_search_call", "id": "fs_1", "status": "failed", "queries": ["a"], "results": null},
                    {"type": "code_interpreter_call", "id": "ci_1", "status": "completed", "code": "print(1)", "outputs": [{"type": "logs", "logs": "1"}]},
                    {"type": "mcp_call", "id": "m1", "name": "lookup", "arguments": "{}", "output": "6:40", "error": null, "status": "completed"},
                    {"type": "mcp_call", "id": "m2", "name": "lookup", "arguments": "{}", "output": null, "error": {"type": "http_error", "code": 404, "message": "gone"}, "status": "failed"},
                    {"type": "shell_call", "call_id": "sh_1", "action": {"commands": ["false"]}, "status": "completed"},
                    {"type": "shell_call_output", "call_id": "sh_1", "output": [{"stdout": "", "outcome": {"type": "exit", "exit_code": 1}}]}]}),
                vec![
                    (
                        "code_interpreter",
                        some("[{\"logs\":\"1\",\"type\":\"logs\"}]"),
                        None,
                    ),
                    ("lookup", some("6:40"), None),
                    (
                        "lookup",
                        some("{\"code\":404,\"message\":\"gone\",\"type\":\"http_error\"}"),
                        some("http_error"),
                    ),
                    (
                        "shell",
                        some("[{\"outcome\":{\"exit_code\":1,\"type\":\"exit\"},\"stdout\":\"\"}]"),
                        some("tool_error"),
                    ),
                    ("web_search", None, None),
                    ("file_search", None, some("tool_error")),
                ],
            ),
            (
                json!({"choices": [{"message": {"role": "assistant", "content": "6:40", "executed_tools": [
                    {"index": 0, "type": "search", "arguments": "{\"query\":\"ferry\"}", "output": "6:40", "search_results": {"results": []}},
                    {"index": 1, "type": "python", "arguments": "{\"code\":\"1/0\"}", "output": "", "error": "ZeroDivisionError"},
                    {"index": 2, "name": "browser.open", "type": "visit", "arguments": "{}", "browser_results": [{"url": "u"}]}]}}]}),
                vec![
                    ("search", some("6:40"), None),
                    ("python", some("ZeroDivisionError"), some("tool_error")),
                    (
                        "browser.open",
                        some("{\"browser_results\":[{\"url\":\"u\"}]}"),
                        None,
                    ),
                ],
            ),
            (
                json!({"candidates": [{"content": {"role": "model", "parts": [
                    {"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
                    {"executableCode": {"language": "PYTHON", "code": "1/0"}},
                    {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "ZeroDivisionError"}},
                    {"text": "One."}]},
                    "groundingMetadata": {"webSearchQueries": ["ferry"], "groundingChunks": [{"web": {"uri": "u", "title": "t"}}]}}]}),
                vec![
                    ("code_execution", some("1"), None),
                    ("code_execution", some("ZeroDivisionError"), some("tool_error")),
                    (
                        "google_search",
                        some("[{\"web\":{\"title\":\"t\",\"uri\":\"u\"}}]"),
                        None,
                    ),
                ],
            ),
        ] {
            let mut tools = OpenTools::default();
            let spans = ask(&mut tools, &answer, 100);
            let sorted = |value: &Option<String>| {
                let json = value
                    .as_deref()
                    .and_then(|text| serde_json::from_str::<Value>(text).ok());
                json.map(|json| json.to_string()).or_else(|| value.clone())
            };
            let normal = |rows: Vec<(&str, Option<String>, Option<String>)>| -> Vec<_> {
                rows.into_iter()
                    .map(|(name, result, error)| (name.to_owned(), sorted(&result), error))
                    .collect()
            };
            assert_eq!(normal(outcomes(&spans)), normal(expected));
            assert!(!tools.waits(), "{answer}");
        }
    }

    #[test]
    fn a_turn_that_paused_has_its_result_in_the_next_answer() {
        let mut tools = OpenTools::default();
        let call =
            json!({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}});
        let first = json!({"content": [call], "stop_reason": "pause_turn"});
        assert!(ask(&mut tools, &first, 100).is_empty());
        let again =
            json!({"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": [call]}]});
        assert!(settle(&mut tools, &again, 100, 150).is_empty());
        let second = json!({"content": [
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]}]});
        let spans = ask(&mut tools, &second, 200);
        assert_eq!(times(&spans[0]), nanoseconds([100, 200]));
        assert_eq!(attribute(&spans[0], names::ERROR_TYPE.written()), None);
        assert!(!tools.waits());
    }

    fn attribute(span: &SpanRecord, key: &str) -> Option<String> {
        match span.attributes.get(key)? {
            Value::String(text) => Some(text.clone()),
            value => Some(value.to_string()),
        }
    }

    fn times(span: &SpanRecord) -> [Timestamp; 2] {
        let end = span.end_time.as_ref().unwrap();
        [span.start_time.instant(), end.instant()]
    }

    fn nanoseconds(times: [u64; 2]) -> [Timestamp; 2] {
        times.map(Timestamp::from_unix_nanoseconds)
    }

    #[test]
    fn an_answer_and_the_next_request_make_a_tool_call() {
        let mut tools = OpenTools::default();
        let answer = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [
            {"id": "call_1", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
            {"id": "call_2", "function": {"name": "time", "arguments": "{}"}}]}}]});
        ask(&mut tools, &answer, 100);
        let request = json!({"messages": [
            {"role": "user", "content": "?"},
            {"role": "tool", "tool_call_id": "call_2", "content": "12:00"},
            {"role": "tool", "tool_call_id": "call_1", "content": "7 C"}]});
        let spans = settle(&mut tools, &request, 100, 250);
        assert_eq!(spans.len(), 2);
        assert_eq!(spans[0].name, "time");
        assert_eq!(times(&spans[1]), nanoseconds([100, 250]));
        assert_eq!(attribute(&spans[1], CALL_ID).unwrap(), "call_1");
        assert!(attribute(&spans[1], names::DERIVED.written()).is_some());
        // The history of every later request repeats them.
        assert!(settle(&mut tools, &request, 100, 300).is_empty());
        assert!(tools.unanswered(&context()).is_empty());
    }

    #[test]
    fn a_failure_has_the_words_of_its_result() {
        let failed = |content: Value| {
            let mut tools = OpenTools::default();
            let answer = json!({"role": "assistant", "content": [
                {"type": "tool_use", "id": "t1", "name": "weather", "input": {"city": "Rome"}}]});
            ask(&mut tools, &answer, 100);
            let request = json!({"messages": [{"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": content}]}]});
            let spans = settle(&mut tools, &request, 100, 250);
            spans[0].status_description.clone()
        };
        assert_eq!(failed(json!("no station in Rome")), "no station in Rome");
        assert_eq!(
            failed(json!([{"type": "text", "text": "no station"}])),
            "no station"
        );
        assert_eq!(
            failed(json!("{\"error\": {\"message\": \"no station\"}}")),
            "no station"
        );
        assert_eq!(failed(json!("")), "the result says that the tool failed");
    }

    #[test]
    fn a_result_that_reports_a_failure_is_one() {
        let outcome = |content: Value| {
            let mut tools = OpenTools::default();
            let call =
                json!({"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}});
            ask(
                &mut tools,
                &json!({"role": "assistant", "tool_calls": [call]}),
                100,
            );
            let request = json!({"messages": [{"role": "tool", "tool_call_id": "c1", "content": content}]});
            let spans = settle(&mut tools, &request, 100, 250);
            let span = &spans[0];
            (span.status_code == StatusCode::Error).then(|| span.status_description.clone())
        };
        for phrase in [
            "Error: Function failed.",
            "Validation Error found:\n1 error\nRecall the function correctly",
            "Error: KeyError('Rome')\n Please fix your mistakes.",
            "An error occurred while running the tool. Please try again. Error: no station",
            "An error occurred while invoking the function weather: no station",
        ] {
            assert_eq!(outcome(json!(phrase)), Some(phrase.to_owned()));
        }
        assert_eq!(
            outcome(json!(r#"{"error": "no station"}"#)),
            Some("no station".to_owned())
        );
        for result in [
            "7 C",
            "Error: none so far",
            "The log says: Error: Function failed.",
            r#"{"error": null, "city": "Oslo"}"#,
            r#"{"error": "", "city": "Oslo"}"#,
            r#"{"error": false}"#,
            r#"[{"error": "of one row"}]"#,
        ] {
            assert_eq!(outcome(json!(result)), None, "{result}");
        }
    }

    #[test]
    fn calls_without_ids_are_matched_by_name() {
        let mut tools = OpenTools::default();
        let answer = json!({"candidates": [{"content": {"role": "model", "parts": [
            {"functionCall": {"name": "weather", "args": {}}}]}}]});
        ask(&mut tools, &answer, 100);
        let request = json!({"contents": [{"role": "user", "parts": [
            {"functionResponse": {"name": "weather", "response": {"result": "7 C"}}}]}]});
        assert_eq!(settle(&mut tools, &request, 100, 200).len(), 1);
    }

    #[test]
    fn a_question_is_asked_by_the_tool_that_was_given_it() {
        let mut tools = OpenTools::default();
        let answer = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [
            {"id": "call_1", "function": {"name": "research", "arguments": "{\"topic\":\"the fjords of Norway\",\"n\":\"a\"}"}},
            {"id": "call_2", "function": {"name": "research", "arguments": "{\"topic\":\"the lakes of Sweden\"}"}}]}}]});
        ask(&mut tools, &answer, 100_000_000);
        let at = |tools: &OpenTools, question: &str, arrived: u64| {
            let request = json!({"messages": [{"role": "user", "content": question}]});
            tools.asking_for(&History::of(&request), arrived)
        };
        let of = |question: &str| at(&tools, question, 200_000_000);
        let (fjords, lakes) = (
            of("Research the fjords of Norway, please."),
            of("Research the lakes of Sweden"),
        );
        assert!(fjords.is_some() && lakes.is_some() && fjords != lakes);
        assert_eq!(of("A question of its own, with the letter a"), None);
        // Each place is in a question about it; that a tool was given it says nothing.
        assert_eq!(of("Where are the fjords of Norway?"), None);
        let earlier = at(&tools, "Research the lakes of Sweden", 1);
        assert_eq!(earlier, None, "it was asked before the tool was");
        ask(&mut tools, &answer, 150_000_000);
        let of_two = at(&tools, "Research the lakes of Sweden", 200_000_000);
        assert_eq!(of_two, None, "one of two that ask the same");
    }

    #[test]
    fn the_oldest_open_calls_are_forgotten() {
        let mut tools = OpenTools::default();
        let call = |number: usize| json!({"type": "tool_use", "id": format!("t{number}"), "name": "ls", "input": {}});
        let calls: Vec<Value> = (0..10_002).map(call).collect();
        ask(&mut tools, &json!({"content": calls}), 100);
        let settled = |tools: &mut OpenTools, id: &str| {
            let result = json!({"type": "tool_result", "tool_use_id": id, "content": "a"});
            let request = json!({"messages": [{"role": "user", "content": [result]}]});
            settle(tools, &request, 100, 200).len()
        };
        assert_eq!(
            ["t0", "t1", "t2", "t10001"].map(|id| settled(&mut tools, id)),
            [0, 0, 1, 1]
        );
    }

    #[test]
    fn few_forms_are_kept() {
        let mut tools = OpenTools::default();
        let demand = json!({"tool_choice": {"type": "tool", "name": "form"}});
        let answer = json!({"content": [{"type": "tool_use", "id": "t", "name": "form", "input": {}}]});
        for number in 0..100 {
            ask_of(&mut tools, &demand, &answer, number);
        }
        assert_eq!((tools.calls.len(), tools.waits()), (64, false));
        assert!(tools.unanswered(&context()).is_empty());
    }

    #[test]
    fn a_tool_that_ends_the_work_waits_for_no_result() {
        let closing = json!({"content": [{"type": "tool_use", "id": "t", "name": "final_answer", "input": {"answer": "7 C"}}]});
        let mut tools = OpenTools::default();
        ask(&mut tools, &closing, 100);
        assert!(!tools.waits());
        assert!(tools.unanswered(&context()).is_empty());
        // One that runs is a tool like any other.
        ask(&mut tools, &closing, 100);
        let request = json!({"messages": [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "7 C"}]}]});
        assert_eq!(settle(&mut tools, &request, 100, 250).len(), 1);
        ask(&mut tools, &closing, 300);
        assert!(tools.waits());
        assert_eq!(tools.unanswered(&context()).len(), 1, "its outcome is unknown");
    }

    #[test]
    fn a_call_without_a_result_has_no_outcome() {
        let mut tools = OpenTools::default();
        let answer = json!({"content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]});
        ask(&mut tools, &answer, 100);
        let spans = tools.unanswered(&context());
        assert_eq!(attribute(&spans[0], names::ERROR_TYPE.written()), None);
        assert_eq!(attribute(&spans[0], names::STATUS.written()), None);
        assert_eq!(spans[0].status_code, StatusCode::Unset);
        assert!(tools.unanswered(&context()).is_empty());
    }
}
