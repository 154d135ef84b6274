//! Tool calls that a model asked for and that never ran: arguments that do not parse, an unknown tool, a limit, a person's no.
//!
//! The records of tools are compared with what answers ask for. A tool that the program never recorded says nothing by its
//! absence: it counts only where its arguments cannot be read, it was not offered, or the model was answered that it did not run.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};
use tracer_runs::is_closing_tool;
use tracer_sdk::format::names::markers;
use tracer_sdk::format::{Payload, Record};

use crate::conversation::{
    MessagePart, OfferedTool, Role, answer_messages, embedded_json, offered_tools, prompt_messages, unwrapped,
};
use crate::digest::{fingerprint, write_canonical};
use crate::step_remarks::NOT_RUN;
use crate::step_summary;
use crate::{key_steps, text};

/// Longest text that is kept of what was asked and answered, in columns.
const MAX_COLUMNS: usize = 200;
/// Calls of one run that are compared; of further ones it is not known.
const MAX_ASKED: usize = 10_000;
/// Calls without a reply, the last ones, among which a dispatcher's is looked for.
const MAX_DISPATCHED: usize = 64;
/// Size of a log that is read whole for them where a run is shown, in bytes.
const MAX_LOG_BYTES: u64 = 4 * 1024 * 1024;
/// Phrases of a reply to the model when its call did not run, in lower case.
const REFUSALS: [&str; 17] = [
    "not run",
    "not executed",
    "unknown tool",
    "no such tool",
    "tool not found",
    "unknown function",
    "not valid json",
    "invalid json",
    "invalid arguments",
    "not parse",
    "failed to parse",
    "denied by",
    "declined by",
    "rejected by",
    "refused by",
    "limit reached",
    "limit exceeded",
];

/// A tool call that never ran.
#[derive(Debug, Clone, PartialEq)]
pub struct NotRun {
    /// The record of the model call that asked for it.
    pub event_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments, on one line.
    pub arguments: String,
    /// The answer that the model was given in a later request, on one line.
    pub reply: Option<String>,
}

impl NotRun {
    /// It as an object of the list in the metadata of its model call.
    pub fn as_meta(&self) -> Value {
        let mut meta = json!({"tool": self.tool, "arguments": self.arguments});
        if let (Some(reply), Some(meta)) = (&self.reply, meta.as_object_mut()) {
            meta.insert("reply".to_owned(), Value::from(reply.as_str()));
        }
        meta
    }

    /// Lists those of a record in its metadata.
    pub fn mark(found: &[Self], record: &mut Record) {
        let of_record: Vec<Value> = found
            .iter()
            .filter(|call| call.event_id == record.event_id)
            .map(Self::as_meta)
            .collect();
        if !of_record.is_empty() {
            record
                .meta
                .entry(NOT_RUN)
                .or_insert_with(|| Value::Array(of_record));
        }
    }
}

/// A call that an answer asks for.
#[derive(Debug, Clone)]
struct RequestedTool {
    event_id: String,
    id: Option<String>,
    name: String,
    arguments: String,
    fingerprint: u64,
    /// Its arguments can be read, and its tool was offered, if the request names tools.
    is_runnable: bool,
    has_run: bool,
    reply: Option<String>,
}

/// Finds the calls that never ran while the records of a run go by, in the order of time.
#[derive(Debug, Clone, Default)]
pub struct NotRunReader {
    asked: Vec<RequestedTool>,
    /// Those without a record of a tool yet, by each of their [`name_keys`].
    open: HashMap<String, Vec<usize>>,
    /// Those without a reply, in order.
    unanswered: Vec<usize>,
    /// The names of the tools and agents that ran, letters and digits alone.
    ran: HashSet<String>,
    /// The records of tools: a tool within another one was not asked for.
    tools: HashSet<String>,
    is_too_long: bool,
}

impl NotRunReader {
    /// Takes the next record.
    pub fn take(&mut self, record: &Record) {
        if record.is_leftover() || self.is_too_long {
            return;
        }
        match &record.payload {
            Payload::LlmCall { prompt, response, .. } => {
                self.answered(prompt);
                // An answer that broke off asks for nothing.
                if !step_summary::failed(record) {
                    self.ask(record, prompt, response);
                }
            }
            Payload::ToolCall { tool_name, args, .. } => {
                let is_nested = record
                    .parent_id
                    .as_ref()
                    .is_some_and(|id| self.tools.contains(id));
                self.tools.insert(record.event_id.clone());
                if !self.run(tool_name, args) && !is_nested {
                    self.dispatch(args);
                }
            }
            // A sub-agent that is requested as a tool.
            Payload::Unknown { .. } => {
                let name = record.name.rsplit(' ').next().unwrap_or_default();
                self.run(name, &Value::Null);
            }
            _ => {}
        }
        if self.asked.len() > MAX_ASKED {
            *self = Self {
                is_too_long: true,
                ..Self::default()
            };
        }
    }

    /// Those that were found; `None` where there are too many calls to know. A run `is_whole` that has ended, and nothing was in
    /// flight then.
    #[must_use]
    pub fn finish(self, is_whole: bool) -> Option<Vec<NotRun>> {
        let Self {
            asked,
            ran,
            is_too_long,
            ..
        } = self;
        let has_tools = !ran.is_empty();
        let is_one = |call: &RequestedTool| {
            let is_recorded = ran.contains(&letters(&call.name));
            match &call.reply {
                _ if call.has_run => false,
                Some(reply) => !call.is_runnable || is_recorded || has_tools && says_not_run(reply),
                // One that has run in this run is a tool, whatever its name.
                None => is_whole && (is_recorded || !call.is_runnable && !is_closing_tool(&call.name)),
            }
        };
        let found = asked.into_iter().filter(is_one).map(|call| NotRun {
            event_id: call.event_id,
            tool: call.name,
            arguments: call.arguments,
            reply: call.reply,
        });
        (!is_too_long).then(|| found.collect())
    }

    /// Takes the results at the end of a request.
    fn answered(&mut self, prompt: &Value) {
        if self.unanswered.is_empty() {
            return;
        }
        let messages = prompt_messages(prompt);
        let behind = messages
            .iter()
            .rev()
            .take_while(|message| message.role != Role::Assistant);
        let mut behind: Vec<_> = behind.collect();
        behind.reverse();
        for part in behind.iter().flat_map(|message| &message.parts) {
            let MessagePart::ToolResult { id, name, value, .. } = part else {
                continue;
            };
            let is_it = |at: &usize| {
                self.asked.get(*at).is_some_and(|call| match (id, &call.id) {
                    (Some(id), Some(known)) => id == known,
                    _ => name.as_ref().is_none_or(|name| *name == call.name),
                })
            };
            let Some(found) = self.unanswered.iter().position(is_it) else {
                continue;
            };
            let at = self.unanswered.remove(found);
            if let Some(call) = self.asked.get_mut(at) {
                call.reply = Some(one_line(unwrapped(value)));
            }
        }
    }

    /// Takes what an answer asks for; what the provider ran has its result there.
    fn ask(&mut self, record: &Record, prompt: &Value, response: &Value) {
        let messages = answer_messages(response);
        let first = self.asked.len();
        let mut offered: Option<Vec<OfferedTool>> = None;
        for part in messages.iter().flat_map(|message| &message.parts) {
            match part {
                MessagePart::ToolCall { id, name, arguments } => {
                    let offered = offered.get_or_insert_with(|| offered_tools(prompt, None));
                    let at = self.asked.len();
                    self.unanswered.push(at);
                    for key in name_keys(name) {
                        self.open.entry(key).or_default().push(at);
                    }
                    self.asked.push(RequestedTool {
                        event_id: record.event_id.clone(),
                        id: id.clone(),
                        name: name.clone(),
                        is_runnable: is_runnable(offered, name, arguments),
                        arguments: one_line(arguments),
                        fingerprint: fingerprint_of(arguments),
                        has_run: false,
                        reply: None,
                    });
                }
                MessagePart::ToolResult { id, name, .. } => {
                    let of_answer = self.asked.get_mut(first..).unwrap_or_default();
                    let is_it = |call: &&mut RequestedTool| {
                        !call.has_run && (*id == call.id || name.as_ref() == Some(&call.name))
                    };
                    if let Some(call) = of_answer.iter_mut().find(is_it) {
                        call.has_run = true;
                    }
                }
                _ => {}
            }
        }
    }

    /// Finds the call that a record is of: one without a result before one with a result, with the same arguments before others.
    fn run(&mut self, name: &str, args: &Value) -> bool {
        let keys = name_keys(name);
        let asked = &self.asked;
        let is_open = |at: &usize| asked.get(*at).is_some_and(|call| !call.has_run);
        let mut open = Vec::new();
        for key in &keys {
            if let Some(calls) = self.open.get_mut(key) {
                calls.retain(is_open);
                open.extend_from_slice(calls);
            }
        }
        self.likest(open, args)
    }

    /// Finds the call of a dispatcher, which runs tools under a name of its own.
    fn dispatch(&mut self, args: &Value) -> bool {
        let is_open = |at: &usize| self.asked.get(*at).is_some_and(|call| !call.has_run);
        let open = self.unanswered.iter().rev().copied().filter(is_open);
        self.likest(open.take(MAX_DISPATCHED).collect(), args)
    }

    /// Marks that one of these calls as run that is most like a record of a tool; of equals the first.
    fn likest(&mut self, open: Vec<usize>, args: &Value) -> bool {
        let args = fingerprint_of(args);
        let rank = |at: &usize| {
            let call = self.asked.get(*at);
            let likeness =
                call.map(|call| (call.reply.is_none(), call.fingerprint == args, call.is_runnable));
            (Reverse(likeness), *at)
        };
        let found = open.into_iter().min_by_key(rank);
        let Some(call) = found.and_then(|at| self.asked.get_mut(at)) else {
            return false;
        };
        call.has_run = true;
        self.ran.insert(letters(&call.name));
        true
    }
}

/// Tells whether a run is short enough to be read whole for its calls that never ran, where it is shown.
pub fn is_short(steps: usize, log_bytes: u64) -> bool {
    steps <= key_steps::MAX_STEPS && log_bytes <= MAX_LOG_BYTES
}

/// True of a call whose tool is offered, and whose arguments can be read by one that takes parameters.
pub fn is_runnable(offered: &[OfferedTool], name: &str, arguments: &Value) -> bool {
    let takes_text = |tool: &OfferedTool| tool.parameters.is_none() && names_one(&tool.name, name);
    is_offered(offered, name) && (!is_broken(arguments) || offered.iter().any(takes_text))
}

/// True of arguments that begin as JSON and are none; of what was cut or redacted it is not known.
fn is_broken(arguments: &Value) -> bool {
    let Value::String(text) = arguments else {
        return false;
    };
    let is_altered = [markers::TRUNCATED, markers::REDACTED, markers::OMITTED]
        .iter()
        .any(|marker| text.contains(marker));
    text.trim_start().starts_with(['{', '[']) && !is_altered && embedded_json(text).is_none()
}

/// True of a tool that a request offers, and of any where the request is not known to offer one. What providers run has other
/// names where it is offered.
fn is_offered(offered: &[OfferedTool], name: &str) -> bool {
    let is_function = |tool: &&OfferedTool| tool.parameters.is_some() || tool.description.is_some();
    let functions = offered.iter().filter(is_function);
    let is_only_functions = functions.count() == offered.len();
    !is_only_functions || offered.is_empty() || offered.iter().any(|tool| names_one(&tool.name, name))
}

fn says_not_run(reply: &str) -> bool {
    let reply = reply.to_lowercase();
    REFUSALS.iter().any(|words| reply.contains(words))
}

/// True if two names are of one tool: there may be a class, a module or a server before it.
fn names_one(one: &str, other: &str) -> bool {
    let other = name_keys(other);
    name_keys(one).iter().any(|key| other.contains(key))
}

/// The keys of a name: its letters, and those of its last part. Two names of one tool share at least one key.
fn name_keys(name: &str) -> Vec<String> {
    let last = name.rsplit(['.', ':', '/', ' ']).next().unwrap_or(name);
    let last = letters(last.rsplit("__").next().unwrap_or(last));
    let mut keys = vec![format!("={}", letters(name))];
    if !last.is_empty() {
        keys.push(format!(".{last}"));
    }
    keys
}

/// The letters and digits of a name, small.
fn letters(name: &str) -> String {
    let kept = name.chars().filter(|char| char.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

fn fingerprint_of(arguments: &Value) -> u64 {
    fingerprint(|hashing| {
        // Writing to a hash cannot fail, and neither can making JSON of a `Value`.
        let _ = write_canonical(unwrapped(arguments), hashing);
    })
}

fn one_line(value: &Value) -> String {
    match value {
        Value::String(words) => text::one_line(words, MAX_COLUMNS),
        Value::Null => String::new(),
        value => text::one_line(&value.to_string(), MAX_COLUMNS),
    }
}

#[cfg(test)]
mod tests {
    use tracer_sdk::testing::capture;
    use tracer_sdk::{llm_call, tool_call};

    use super::*;

    /// The calls that never ran of a run that a closure records, as `tool`, or `tool: reply`.
    fn found(record: impl FnOnce()) -> Vec<String> {
        let run = capture(record);
        let mut reader = NotRunReader::default();
        run.records.iter().for_each(|record| reader.take(record));
        let words = |call: NotRun| match call.reply {
            Some(reply) => format!("{}: {reply}", call.tool),
            None => call.tool,
        };
        reader.finish(true).unwrap().into_iter().map(words).collect()
    }

    fn ask(calls: &[(&str, &str, &str)], results: &[(&str, &str)]) {
        let call = |(id, name, arguments): &(&str, &str, &str)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
        let result =
            |(id, result): &(&str, &str)| json!({"role": "tool", "tool_call_id": id, "content": result});
        let calls: Vec<Value> = calls.iter().map(call).collect();
        let mut messages = vec![
            json!({"role": "user", "content": "Go"}),
            json!({"role": "assistant", "content": ""}),
        ];
        messages.extend(results.iter().map(result));
        let tools = ["read", "write"]
            .map(|name| json!({"type": "function", "function": {"name": name, "parameters": {}}}));
        let _ = llm_call("gpt-5")
            .prompt(&json!({"messages": messages, "tools": tools}))
            .response(&json!({"role": "assistant", "content": null, "tool_calls": calls}))
            .record();
    }

    fn read(path: &str) {
        let _ = tool_call("read")
            .args(&json!({ "path": path }))
            .result("text")
            .record();
    }

    #[test]
    fn a_call_that_ran_is_none() {
        let runs = || {
            ask(
                &[
                    ("1", "read", r#"{"path": "a"}"#),
                    ("2", "read", r#"{"path": "b"}"#),
                ],
                &[],
            );
            read("b");
            read("a");
            ask(&[], &[("1", "text"), ("2", "text")]);
        };
        assert_eq!(found(runs), Vec::<String>::new());
    }

    #[test]
    fn what_cannot_run_is_said_with_the_answer() {
        let broken = || {
            ask(
                &[("1", "read", "{\"path\": "), ("2", "read", r#"{"path": "b"}"#)],
                &[],
            );
            read("b");
            ask(
                &[("3", "erase", "{}")],
                &[("1", "error: bad arguments"), ("2", "text")],
            );
            ask(&[], &[("3", "there is no tool erase")]);
        };
        assert_eq!(
            found(broken),
            ["read: error: bad arguments", "erase: there is no tool erase"]
        );
    }

    #[test]
    fn limits_and_refusals_show_beside_recorded_tools() {
        let limited = || {
            ask(&[("1", "read", r#"{"path": "a"}"#), ("2", "write", "{}")], &[]);
            read("a");
            ask(
                &[("3", "read", r#"{"path": "c"}"#)],
                &[("1", "text"), ("2", "Declined by the user.")],
            );
        };
        assert_eq!(found(limited), ["write: Declined by the user.", "read"]);
    }

    #[test]
    fn a_tool_that_ends_the_work_needs_no_result() {
        let ended = |last: &'static str| {
            found(|| {
                ask(&[("1", "read", "{}")], &[]);
                read("a");
                ask(&[("2", last, r#"{"answer": "7 C"}"#)], &[("1", "text")]);
            })
        };
        for closing in ["final_answer", "finish", "transfer_to_billing"] {
            assert_eq!(ended(closing), Vec::<String>::new(), "{closing}");
        }
        assert_eq!(ended("erase"), ["erase"]);
    }

    #[test]
    fn a_closing_name_that_ran_is_a_tool() {
        let interrupted = || {
            ask(&[("1", "transfer_to_savings", "{}")], &[]);
            let _ = tool_call("transfer_to_savings").result("done").record();
            ask(&[("2", "transfer_to_savings", r#"{"sum": 2}"#)], &[("1", "done")]);
        };
        assert_eq!(found(interrupted), ["transfer_to_savings"]);
    }

    #[test]
    fn nothing_is_known_of_tools_that_are_not_recorded() {
        let messages_alone = || {
            ask(&[("1", "read", r#"{"path": "a"}"#)], &[]);
            ask(&[("2", "write", "{}")], &[("1", "text")]);
        };
        assert_eq!(found(messages_alone), Vec::<String>::new());
        let one_of_two = || {
            ask(&[("1", "read", r#"{"path": "a"}"#), ("2", "write", "{}")], &[]);
            read("a");
            ask(&[], &[("1", "text"), ("2", "written")]);
        };
        assert_eq!(found(one_of_two), Vec::<String>::new());
    }

    #[test]
    fn dispatchers_and_sub_agents_run_what_was_asked_for() {
        let dispatched = || {
            ask(&[("1", "read", r#"{"path": "a"}"#)], &[]);
            let _ = tool_call("dispatch").result("denied by the system").record();
            ask(&[("2", "write", "{}")], &[("1", "denied by the system")]);
            drop(tracer_sdk::span("write").start());
            ask(&[], &[("2", "done")]);
        };
        assert_eq!(found(dispatched), Vec::<String>::new());
    }

    #[test]
    fn a_dispatcher_runs_many_calls_of_one_answer() {
        let arguments: Vec<(String, String)> = (0..200)
            .map(|number| (number.to_string(), format!(r#"{{"path":"{number}"}}"#)))
            .collect();
        let dispatched = || {
            let calls: Vec<_> = arguments
                .iter()
                .map(|(id, arguments)| (id.as_str(), "read", arguments.as_str()))
                .collect();
            ask(&calls, &[]);
            for number in 0..200 {
                let path = json!({"path": number.to_string()});
                let _ = tool_call("dispatch").args(&path).result("text").record();
            }
            ask(&[], &[]);
        };
        assert_eq!(found(dispatched), Vec::<String>::new());
    }

    #[test]
    fn what_was_cut_or_redacted_is_not_broken() {
        for (arguments, expected) in [
            (r#"{"a": 1"#, true),
            (r#"{"a": __TRUNCATED__"#, false),
            (r#"{"a": "__REDACTED__"#, false),
            ("ls -l", false),
            ("", false),
        ] {
            assert_eq!(is_broken(&Value::from(arguments)), expected, "{arguments}");
        }
    }
}
