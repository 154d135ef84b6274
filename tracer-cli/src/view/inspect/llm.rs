//! What a model was asked and what it answered.

use serde::Serialize;
use serde_json::{Number, Value};
use tracer_sdk::format::{EventType, Payload, SpanRecord};

use super::super::answer::ApiError;
use super::super::run::open_run::OpenRun;
use super::cut::{Part, Place};
use super::messages::{MessageAnswer, messages};
use tracer_insight::legacy_conversation as conversation;
use tracer_insight::legacy_conversation::Message;
use tracer_insight::value_lines::unpacked;

/// Where OpenTelemetry keeps the tools that a model may call.
const TOOL_DEFINITIONS: [&str; 2] = ["gen_ai.tool.definitions", "gen_ai.request.tools"];

/// So many pairs of messages are compared, once two calls no longer begin alike.
const MOST_COMPARED: usize = 250_000;

/// A model call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LlmCall {
    model: String,
    provider: String,
    /// What the model was given, in order.
    messages: Vec<MessageAnswer>,
    /// The call before, that the messages are compared with.
    previous: Option<String>,
    /// What it answered.
    response: Vec<MessageAnswer>,
    tools_offered: Vec<OfferedTool>,
    usage: TokensUsed,
    temperature: Option<Number>,
    stop_reason: Option<String>,
}

/// A tool that the model may call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfferedTool {
    name: String,
    description: Option<String>,
    /// What it takes, as a JSON Schema.
    parameters: Option<Value>,
}

/// Tokens, as far as the model says.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TokensUsed {
    input: Option<u64>,
    output: Option<u64>,
    total: Option<u64>,
}

/// A model call; `None` for any other record.
pub(super) fn of(
    run: &OpenRun,
    number: usize,
    payload: &Payload,
    span: Option<&SpanRecord>,
    place: &Place,
) -> Result<Option<LlmCall>, ApiError> {
    let Payload::LlmCall {
        model,
        provider,
        prompt,
        response,
        usage,
        temperature,
        stop_reason,
        ..
    } = payload
    else {
        return Ok(None);
    };
    let asked = conversation::prompt(prompt);
    let answered = conversation::response(response);
    let previous = run.previous(number, |event_type, _| event_type == EventType::LlmCall);
    let before = previous
        .map(|row| run.read_row(row))
        .transpose()
        .map_err(ApiError::unreadable)?;
    let before = before.flatten();
    let heard: Vec<Message> = match before.as_ref().map(|read| &read.record.payload) {
        Some(Payload::LlmCall { prompt, response, .. }) => {
            let mut heard = conversation::prompt(prompt);
            heard.extend(conversation::response(response));
            heard
        }
        _ => Vec::new(),
    };
    let is_new = new_messages(&heard, &asked);
    Ok(Some(LlmCall {
        model: model.clone(),
        provider: provider.clone(),
        messages: messages(
            &asked,
            |number| is_new.get(number).copied().unwrap_or(true),
            Part::Prompt,
            place,
        ),
        previous: before.map(|read| read.record.event_id),
        response: messages(&answered, |_| true, Part::Response, place),
        tools_offered: tools(prompt, span),
        usage: TokensUsed {
            input: usage.prompt_tokens,
            output: usage.completion_tokens,
            total: usage.total_tokens,
        },
        temperature: temperature.clone(),
        stop_reason: stop_reason.clone(),
    }))
}

/// Which messages are new: not among what was heard before, in the order in which it was heard.
fn new_messages(heard: &[Message], asked: &[Message]) -> Vec<bool> {
    let same = heard
        .iter()
        .zip(asked)
        .take_while(|(one, other)| one == other)
        .count();
    let (heard, rest) = (
        heard.get(same..).unwrap_or_default(),
        asked.get(same..).unwrap_or_default(),
    );
    let mut is_new = vec![true; asked.len()];
    is_new.iter_mut().take(same).for_each(|is_new| *is_new = false);
    let width = rest.len() + 1;
    if heard.len().saturating_mul(width) > MOST_COMPARED {
        return is_new;
    }
    // How many of what is left of both are the same, at most, from each pair of places on.
    let mut common = vec![0_u32; (heard.len() + 1) * width];
    let at = |common: &[u32], one: usize, other: usize| common.get(one * width + other).copied().unwrap_or(0);
    for (one, said) in heard.iter().enumerate().rev() {
        for (other, message) in rest.iter().enumerate().rev() {
            let most = if said == message {
                at(&common, one + 1, other + 1) + 1
            } else {
                at(&common, one + 1, other).max(at(&common, one, other + 1))
            };
            if let Some(cell) = common.get_mut(one * width + other) {
                *cell = most;
            }
        }
    }
    let (mut one, mut other) = (0, 0);
    while let (Some(said), Some(message)) = (heard.get(one), rest.get(other)) {
        if said == message {
            if let Some(is_new) = is_new.get_mut(same + other) {
                *is_new = false;
            }
            one += 1;
            other += 1;
        } else if at(&common, one + 1, other) >= at(&common, one, other + 1) {
            one += 1;
        } else {
            other += 1;
        }
    }
    is_new
}

/// The tools in a prompt, or in the attributes of its span.
fn tools(prompt: &Value, span: Option<&SpanRecord>) -> Vec<OfferedTool> {
    let stored = || {
        let attributes = &span?.attributes;
        let text = TOOL_DEFINITIONS
            .into_iter()
            .find_map(|key| attributes.get(key)?.as_str())?;
        unpacked(text)
    };
    let tools = prompt.get("tools").cloned().or_else(stored);
    let tools = tools.as_ref().and_then(Value::as_array);
    tools
        .into_iter()
        .flatten()
        .filter_map(|tool| {
            let inner = tool.get("function").unwrap_or(tool);
            let text = |key: &str| inner.get(key).and_then(Value::as_str).map(str::to_owned);
            let parameters = ["parameters", "input_schema"]
                .into_iter()
                .find_map(|key| inner.get(key));
            Some(OfferedTool {
                name: text("name")?,
                description: text("description"),
                parameters: parameters.cloned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Which messages are new, told by their texts; one letter is one message.
    fn told(heard: &str, asked: &str) -> String {
        let messages = |letters: &str| -> Vec<Message> {
            let all: Vec<Value> = letters
                .chars()
                .map(|letter| json!({"role": "user", "content": letter.to_string()}))
                .collect();
            conversation::prompt(&json!({"messages": all}))
        };
        let is_new = new_messages(&messages(heard), &messages(asked));
        assert_eq!(is_new.len(), asked.len());
        asked
            .chars()
            .zip(is_new)
            .filter_map(|(letter, is_new)| is_new.then_some(letter))
            .collect()
    }

    #[test]
    fn a_message_is_known_only_where_the_call_before_had_it() {
        assert_eq!(told("", "ab"), "ab");
        assert_eq!(told("abc", "abcd"), "d");
        // Another beginning, the same rest.
        assert_eq!(told("abcd", "xbcde"), "xe");
        // Said before, in another order.
        assert_eq!(told("abc", "cab").len(), 1);
        assert_eq!(told("ab", "abab"), "ab");
        // Left out of the middle, put into it.
        assert_eq!(told("abcdef", "abef"), "");
        assert_eq!(told("abef", "abcdef"), "cd");
        assert_eq!(told("abc", ""), "");
        let (many, more) = ("ab".repeat(400), "ba".repeat(400));
        assert_eq!(told(&many, &(many.clone() + "c")), "c");
        // So many that differ from the first on are not compared one by one: all are told.
        assert_eq!(told(&many, &more), more);
    }
}
