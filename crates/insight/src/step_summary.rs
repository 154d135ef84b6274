//! [`StepSummary`]: a step in one line, `what went in → what came out`.

mod messages;

use serde::Serialize;
use serde_json::{Map, Value};
use tracer_sdk::format::{ErrorPayload, Outcome, Payload, Record, Usage};

use crate::conversation::tool_message_content;
use crate::step_kind::StepKind;
use crate::value_summary::{label, summarize, summarize_fields};
use crate::{step_remarks, text, units, value_differences};

pub use messages::prompt_summary;
use messages::{answer_summary, ends_with_result};

/// The input and the output of a step, on one line each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct StepSummary {
    /// The input; all there is of a step that has no result.
    pub input: String,
    /// The output.
    pub output: Option<String>,
}

impl StepSummary {
    fn one(input: String) -> Self {
        Self { input, output: None }
    }

    fn pair(input: String, output: String) -> Self {
        Self {
            input,
            output: (!output.is_empty()).then_some(output),
        }
    }

    /// Puts `first`, such as `3 attempts`, in front.
    #[must_use]
    pub fn preceded_by(mut self, first: Option<String>) -> Self {
        if let Some(first) = first {
            self.input = if self.input.is_empty() {
                first
            } else {
                format!("{first} · {}", self.input)
            };
        }
        self
    }

    /// Both parts in at most `columns` columns; when they do not fit, neither takes the other's half.
    pub fn fitted(&self, columns: usize) -> String {
        const ARROW: &str = " → ";
        let Some(output) = &self.output else {
            return text::fit(&self.input, columns).into_owned();
        };
        let room = columns.saturating_sub(text::width(ARROW));
        let (input_width, output_width) = (text::width(&self.input), text::width(output));
        let input_room = input_width.min(room.saturating_sub(output_width).max(room / 2));
        format!(
            "{}{ARROW}{}",
            text::fit(&self.input, input_room),
            text::fit(output, room - input_room)
        )
        .trim_start()
        .to_owned()
    }

    /// The summary of a record; that of a call without a seen end says so.
    pub fn from_record(record: &Record, in_flight: bool) -> Self {
        let mut summary = Self::from_payload(&record.payload);
        if let Payload::Unknown { error, .. } = &record.payload {
            // An agent, which may have no attributes of the user's.
            if let Some(question) = record.question() {
                summary.input = prompt_summary(question);
            }
            if let (Some(answer), None) = (record.answer(), error) {
                summary.output = Some(answer_summary(answer));
            }
        }
        let is_unknown =
            StepKind::from(record.event_type()).is_call() && record.outcome() == Outcome::Unknown;
        if is_unknown && !in_flight && summary.output.is_none() {
            summary.output = Some(end_word(record, in_flight).to_owned());
        }
        let remarks = step_remarks::remarks(&record.meta);
        summary.preceded_by((!remarks.is_empty()).then(|| remarks.join(" · ")))
    }

    /// The summary of a state that follows the state `before`: the fields that changed, unless the agent recorded them itself.
    #[must_use]
    pub fn changed_since(mut self, before: &Value, state: &Payload) -> Self {
        if let Payload::StateUpdate {
            state,
            diff: None | Some(Value::Null),
        } = state
            && let Some(changes) = value_differences::changes(before, state)
        {
            self.input = if changes.is_empty() {
                "unchanged".to_owned()
            } else {
                format!("changed {changes}")
            };
        }
        self
    }

    /// The summary of a payload; messages of failures and evidence of loops are shown next to it.
    pub fn from_payload(payload: &Payload) -> Self {
        match payload {
            Payload::LlmCall {
                prompt,
                response,
                error,
                ..
            } => {
                let output = outcome(answer_summary(response), error.as_ref());
                let is_known = !output.is_empty() && ends_with_result(prompt);
                let input = (!is_known).then(|| prompt_summary(prompt));
                Self::pair(input.unwrap_or_default(), output)
            }
            Payload::ToolCall {
                args, result, error, ..
            } => Self::pair(
                summarize(args),
                outcome(summarize(tool_message_content(result)), error.as_ref()),
            ),
            Payload::StateUpdate { state, diff } => Self::one(match diff {
                None | Some(Value::Null) => summarize(state),
                Some(diff) => format!("changed {}", summarize(diff)),
            }),
            Payload::Error(error) => Self::one(label(&error.error_type)),
            Payload::LoopWarning {
                pattern_type,
                repetitions,
                window_size,
                ..
            } => Self::one(format!(
                "{} ×{repetitions} in a window of {window_size}",
                label(pattern_type.as_deref().unwrap_or("repeated"))
            )),
            Payload::Unknown {
                attributes, error, ..
            } => Self::pair(
                summarize_fields(own_attributes(attributes)),
                outcome(String::new(), error.as_ref()),
            ),
            Payload::RunStart { run_name, .. } => Self::one(label(run_name.as_deref().unwrap_or_default())),
            Payload::RunEnd { status } => Self::one(status.as_str().to_owned()),
        }
    }
}

fn outcome(result: String, error: Option<&ErrorPayload>) -> String {
    error.map_or(result, |error| format!("✗ {}", label(&error.error_type)))
}

/// The failure of a record: the error itself, or that of a call.
pub fn failure(payload: &Payload) -> Option<&ErrorPayload> {
    match payload {
        Payload::Error(error) => Some(error),
        Payload::LlmCall { error, .. } | Payload::ToolCall { error, .. } | Payload::Unknown { error, .. } => {
            error.as_ref()
        }
        _ => None,
    }
}

/// The record is an error or a failed call, with or without a message.
pub fn failed(record: &Record) -> bool {
    record.outcome().is_failure()
}

/// Tokens in and out, `412→35`; `None` when neither is known.
pub fn tokens(usage: &Usage) -> Option<String> {
    let side = |tokens: Option<u64>| tokens.map_or_else(|| "?".to_owned(), units::grouped);
    match (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) {
        (None, None, None) => None,
        (None, None, Some(total)) => Some(units::grouped(total)),
        (prompt, completion, _) => Some(format!("{}→{}", side(prompt), side(completion))),
    }
}

/// Tokens in and out with their kinds, `412→35 (300 cached)`; `None` when neither is known.
pub fn tokens_and_shares(usage: &Usage) -> Option<String> {
    let tokens = tokens(usage)?;
    Some(match token_shares(usage) {
        Some(shares) => format!("{tokens} ({shares})"),
        None => tokens,
    })
}

/// Kinds of the tokens in and out, but for zeros: `300 cached, 20 written to the cache, 12 for reasoning`; `None`
/// when nothing is.
pub fn token_shares(usage: &Usage) -> Option<String> {
    let shares = [
        (usage.cache_read_tokens, "cached"),
        (usage.cache_write_tokens, "written to the cache"),
        (usage.cache_write_1h_tokens, "of these for an hour"),
        (usage.input_audio_tokens, "of sound in"),
        (usage.input_image_tokens, "of images in"),
        (usage.input_video_tokens, "of video in"),
        (usage.reasoning_tokens, "for reasoning"),
        (usage.output_audio_tokens, "of sound out"),
        (usage.output_image_tokens, "of images out"),
        (usage.output_video_tokens, "of video out"),
    ];
    let known = shares.iter().filter_map(|(tokens, share)| {
        let tokens = tokens.filter(|tokens| *tokens > 0)?;
        Some(format!("{} {share}", units::grouped(tokens)))
    });
    let words = known.collect::<Vec<_>>().join(", ");
    (!words.is_empty()).then_some(words)
}

/// The attributes that the user put on a span, without those of the format and those that name only who wrote the span.
fn own_attributes(attributes: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    const NAMESPACES: [&str; 13] = [
        "tracer.",
        "maida.",
        "agentdbg.",
        "gen_ai.",
        "exception.",
        "otel.",
        "telemetry.",
        "process.runtime.",
        "code.",
        "thread.",
        "openinference.",
        "anthropic.",
        "gcp.vertex.agent.",
    ];
    const KEYS: [&str; 12] = [
        "service.name",
        "service.version",
        "service.instance.id",
        "process.pid",
        "session.id",
        "span.type",
        "llm.system",
        "graph.node.id",
        "input.mime_type",
        "output.mime_type",
        "busy_ns",
        "idle_ns",
    ];
    attributes
        .iter()
        .filter(|(key, _)| !NAMESPACES.iter().any(|namespace| key.starts_with(namespace)))
        .filter(|(key, _)| !KEYS.contains(&key.as_str()))
}

/// End of the step of a record, in a word: `ok`, `failed`, `cancelled`, `unknown`, `waiting` or `in flight`.
pub fn end_word(record: &Record, in_flight: bool) -> &'static str {
    if in_flight {
        "in flight"
    } else if record.is_waiting() {
        "waiting"
    } else {
        record.outcome().as_str()
    }
}

#[cfg(test)]
mod tests {
    use tracer_sdk::format::RecordedStatus;

    use super::*;

    #[test]
    fn a_result_is_never_pushed_out_by_long_arguments() {
        let summary = StepSummary::pair("query=a-very-long-question".into(), "hits=2".into());
        assert_eq!(summary.fitted(80), "query=a-very-long-question → hits=2");
        assert_eq!(summary.fitted(24), "query=a-very-l… → hits=2");
        let summary = StepSummary::pair("id=7".into(), "a-very-long-answer".into());
        assert_eq!(summary.fitted(17), "id=7 → a-very-lo…");
        assert_eq!(
            StepSummary::pair(String::new(), "sent".into()).fitted(20),
            "→ sent"
        );
    }

    #[test]
    fn what_names_only_the_writer_of_a_span_is_left_out() {
        let attributes = serde_json::json!({
            "otel.scope.name": "langchain", "service.name": "shop", "openinference.span.kind": "CHAIN",
            "llm.system": "openai", "input.mime_type": "text/plain", "input.value": "Oslo", "service.tier": "gold",
        });
        let serde_json::Value::Object(attributes) = attributes else {
            unreachable!()
        };
        let payload = Payload::Unknown {
            attributes,
            status: RecordedStatus::Ok,
            error: None,
        };
        assert_eq!(
            StepSummary::from_payload(&payload).fitted(80),
            "input.value=Oslo service.tier=gold"
        );
    }

    #[test]
    fn shares_of_tokens_are_named_where_they_are_known() {
        let mut usage = Usage::new(412, 35);
        assert_eq!(token_shares(&usage), None);
        usage.cache_read_tokens = Some(300);
        usage.reasoning_tokens = Some(0);
        assert_eq!(token_shares(&usage).as_deref(), Some("300 cached"), "no zeros");
    }

    #[test]
    fn tokens_say_what_is_known() {
        assert_eq!(tokens(&Usage::new(412, 35)).as_deref(), Some("412→35"));
        assert_eq!(tokens(&Usage::default()), None);
        let mut part = Usage::default();
        part.completion_tokens = Some(3);
        assert_eq!(tokens(&part).as_deref(), Some("?→3"));
        let mut total = Usage::default();
        total.total_tokens = Some(5);
        assert_eq!(tokens(&total).as_deref(), Some("5"));
    }
}
