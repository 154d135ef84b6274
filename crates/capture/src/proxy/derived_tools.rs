//! Tool calls that nobody reports: an answer asks for them, a later request brings their results. When they ran is known
//! from that alone, and so they are marked as derived.

use std::collections::VecDeque;

use opentelemetry_proto::tonic::trace::v1::{Span, span};
use serde_json::Value;
use tracer_insight::conversation::{Message, MessagePart, embedded_json};
use tracer_sdk::format::SpanId;
use tracer_sdk::format::names::{self, event_keys, events};

use super::ProxyContext;
use super::exchange::set_failure;
use crate::otlp::encode::attribute;
use crate::runs::random_span_id;

/// How many calls wait for their results; the oldest is forgotten first.
const MAX_WAITING: usize = 10_000;

const CALL_ID: &str = "gen_ai.tool.call.id";

/// A shorter text is in many questions by chance, in bytes.
const MIN_TEXT_BYTES: usize = 4;

/// A tool call that an answer asked for.
#[derive(Debug)]
struct AwaitedTool {
    /// The span that it becomes.
    span_id: SpanId,
    id: Option<String>,
    name: String,
    arguments: Value,
    /// When the answer had come, in nanoseconds after 1970.
    asked: u64,
    parent: SpanId,
}

/// The calls without a result so far.
#[derive(Debug, Default)]
pub(super) struct DerivedTools {
    waiting: VecDeque<AwaitedTool>,
}

impl DerivedTools {
    /// Notes the calls that an answer asks for.
    pub(super) fn ask(&mut self, answer: &[Message], asked: u64, parent: SpanId) {
        for part in answer.iter().flat_map(|message| &message.parts) {
            if let MessagePart::ToolCall { id, name, arguments } = part {
                if self.waiting.len() >= MAX_WAITING {
                    self.waiting.pop_front();
                }
                self.waiting.push_back(AwaitedTool {
                    span_id: random_span_id(),
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                    asked,
                    parent,
                });
            }
        }
    }

    /// Whether a call has no result so far.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// The latest call without a result whose arguments have a text that is in `question`: what a model is asked then is
    /// asked by that tool.
    pub(super) fn asking_for(&self, question: &str) -> Option<SpanId> {
        let latest_first = self.waiting.iter().rev();
        latest_first
            .filter(|call| {
                is_any_text(&call.arguments, &|text| {
                    text.len() >= MIN_TEXT_BYTES && question.contains(text)
                })
            })
            .map(|call| call.span_id)
            .next()
    }

    /// The spans of the calls whose results a request brings, which arrived at `arrived`.
    pub(super) fn settle(&mut self, context: &ProxyContext, request: &[Message], arrived: u64) -> Vec<Span> {
        let mut spans = Vec::new();
        if self.waiting.is_empty() {
            return spans;
        }
        for part in request.iter().flat_map(|message| &message.parts) {
            let MessagePart::ToolResult {
                id,
                name,
                value,
                is_error,
            } = part
            else {
                continue;
            };
            // Gemini and Ollama have no IDs: the first call of that tool that waits.
            let position = self.waiting.iter().position(|call| match (id, &call.id) {
                (Some(id), Some(known)) => id == known,
                _ => name.as_ref().is_none_or(|name| *name == call.name),
            });
            let Some(call) = position.and_then(|position| self.waiting.remove(position)) else {
                continue;
            };
            let mut span = tool_span(context, &call, arrived.max(call.asked));
            span.events.push(content(
                events::TOOL_RESULT.written(),
                event_keys::RESULT,
                value,
                span.end_time_unix_nano,
            ));
            if *is_error {
                set_failure(&mut span, "tool_error", "the result says that the tool failed");
            }
            spans.push(span);
        }
        spans
    }

    /// The spans of the calls that never got a result, so that how they ended is unknown: the run ended, the program used
    /// the arguments as its answer, or the provider ran them and said nothing.
    pub(super) fn unanswered(&mut self, context: &ProxyContext) -> Vec<Span> {
        let waiting = std::mem::take(&mut self.waiting);
        let spans = waiting.iter().map(|call| tool_span(context, call, call.asked));
        spans.collect()
    }
}

/// Whether a text within a value is as asked for; arguments may be JSON text.
fn is_any_text(value: &Value, is_it: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => match embedded_json(text) {
            Some(inner) => is_any_text(&inner, is_it),
            None => is_it(text),
        },
        Value::Array(items) => items.iter().any(|item| is_any_text(item, is_it)),
        Value::Object(map) => map.values().any(|item| is_any_text(item, is_it)),
        _ => false,
    }
}

fn tool_span(context: &ProxyContext, call: &AwaitedTool, end: u64) -> Span {
    let times = (call.asked, end);
    let mut span = context.span(call.span_id, Some(call.parent), call.name.clone(), times);
    span.attributes.extend([
        attribute(names::OPERATION.written(), "execute_tool"),
        attribute("gen_ai.tool.name", call.name.as_str()),
        attribute(names::DERIVED.written(), true),
    ]);
    span.attributes
        .extend(call.id.as_deref().map(|id| attribute(CALL_ID, id)));
    span.events.push(content(
        events::TOOL_ARGUMENTS.written(),
        event_keys::ARGUMENTS,
        &call.arguments,
        call.asked,
    ));
    span
}

fn content(name: &str, key: &str, value: &Value, time: u64) -> span::Event {
    let content = match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    span::Event {
        time_unix_nano: time,
        name: name.to_owned(),
        attributes: vec![attribute(key, content)],
        dropped_attributes_count: 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tracer_insight::conversation::{answer_messages, prompt_messages};

    use super::*;

    fn context() -> ProxyContext {
        ProxyContext {
            trace_id: "01".repeat(16).parse().unwrap(),
            root_span_id: "02".repeat(8).parse().unwrap(),
        }
    }

    fn parent() -> SpanId {
        "03".repeat(8).parse().unwrap()
    }

    fn attribute(span: &Span, key: &str) -> Option<String> {
        let found = span.attributes.iter().find(|attribute| attribute.key == key)?;
        Some(format!("{:?}", found.value.as_ref()?.value.as_ref()?))
    }

    #[test]
    fn an_answer_and_the_next_request_make_a_tool_call() {
        let mut tools = DerivedTools::default();
        let answer = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [
            {"id": "call_1", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}},
            {"id": "call_2", "function": {"name": "time", "arguments": "{}"}}]}}]});
        tools.ask(&answer_messages(&answer), 100, parent());
        let request = json!({"messages": [
            {"role": "user", "content": "?"},
            {"role": "tool", "tool_call_id": "call_2", "content": "12:00"},
            {"role": "tool", "tool_call_id": "call_1", "content": "7 C"}]});
        let spans = tools.settle(&context(), &prompt_messages(&request), 250);
        assert_eq!(spans.len(), 2);
        assert_eq!(spans[0].name, "time");
        assert_eq!(
            (spans[1].start_time_unix_nano, spans[1].end_time_unix_nano),
            (100, 250)
        );
        assert_eq!(attribute(&spans[1], CALL_ID).unwrap(), "StringValue(\"call_1\")");
        assert!(attribute(&spans[1], names::DERIVED.written()).is_some());
        // The history of every later request repeats them.
        assert!(
            tools
                .settle(&context(), &prompt_messages(&request), 300)
                .is_empty()
        );
        assert!(tools.unanswered(&context()).is_empty());
    }

    #[test]
    fn calls_without_ids_are_matched_by_name() {
        let mut tools = DerivedTools::default();
        let answer = json!({"candidates": [{"content": {"role": "model", "parts": [
            {"functionCall": {"name": "weather", "args": {}}}]}}]});
        tools.ask(&answer_messages(&answer), 100, parent());
        let request = json!({"contents": [{"role": "user", "parts": [
            {"functionResponse": {"name": "weather", "response": {"result": "7 C"}}}]}]});
        assert_eq!(tools.settle(&context(), &prompt_messages(&request), 200).len(), 1);
    }

    #[test]
    fn a_question_is_asked_by_the_tool_that_was_given_it() {
        let mut tools = DerivedTools::default();
        let answer = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [
            {"id": "call_1", "function": {"name": "research", "arguments": "{\"topic\":\"the fjords of Norway\",\"n\":\"a\"}"}},
            {"id": "call_2", "function": {"name": "research", "arguments": "{\"topic\":\"the lakes of Sweden\"}"}}]}}]});
        tools.ask(&answer_messages(&answer), 100, parent());
        let of = |question: &str| tools.asking_for(question);
        let (fjords, lakes) = (
            of("Research the fjords of Norway, please."),
            of("Research the lakes of Sweden"),
        );
        assert!(fjords.is_some() && lakes.is_some() && fjords != lakes);
        assert_eq!(of("A question of its own, with the letter a"), None);
    }

    #[test]
    fn a_call_without_a_result_has_no_outcome() {
        let mut tools = DerivedTools::default();
        tools.ask(
            &answer_messages(
                &json!({"content": [{"type": "tool_use", "id": "t", "name": "ls", "input": {}}]}),
            ),
            100,
            parent(),
        );
        let spans = tools.unanswered(&context());
        assert_eq!(attribute(&spans[0], names::ERROR_TYPE.written()), None);
        assert_eq!(attribute(&spans[0], names::STATUS.written()), None);
        assert_eq!(spans[0].status, None);
        assert!(tools.unanswered(&context()).is_empty());
    }
}
