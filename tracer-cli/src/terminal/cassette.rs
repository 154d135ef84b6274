//! A cassette as the conversation that it holds.

use tracer_capture::cassette::{Cassette, RecordedExchange};
use tracer_insight::conversation::{
    Message, MessagePart, Role, answer_messages, part_label, prompt_messages,
};
use tracer_insight::cost;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text::{counted, one_line};
use tracer_insight::units;
use tracer_providers::{Assembled, ResponseFacts, assemble};
use tracer_sdk::prices::Prices;

/// Characters of a message that are shown.
const MAX_SHOWN: usize = 100;

/// `tests/cassettes/refund.jsonl  3 calls, $0.0042, recorded 2026-11-23T01:46:49Z: python agent.py`
fn heading(cassette: &Cassette, prices: &Prices) -> Line {
    let calls = cassette
        .exchanges
        .iter()
        .filter(|exchange| exchange.api.is_some());
    let line = Line::of(cassette.path.display().to_string(), Tone::Strong);
    let mut words = counted(calls.count() as u64, "call");
    if let Some(cost) = cost::words(&cassette.cost(prices)) {
        words.extend([", ", &cost]);
    }
    if !cassette.head.recorded_at.is_empty() {
        words.extend([", recorded ", &cassette.head.recorded_at]);
    }
    if !cassette.head.command.is_empty() {
        words.extend([": ", &cassette.head.command.join(" ")]);
    }
    line.with(format!("  {}", one_line(&words, 200)), Tone::Muted)
}

/// The cassette as a conversation: the new messages of each request, then the answer.
pub(crate) fn lines(cassette: &Cassette, prices: &Prices) -> Vec<Line> {
    let mut lines = vec![heading(cassette, prices)];
    for exchange in &cassette.exchanges {
        lines.push(Line::default());
        lines.extend(exchange_lines(exchange));
    }
    if cassette.is_torn {
        lines.push(Line::of(
            "the last line is cut short, and left out",
            Tone::Warning,
        ));
    }
    lines
}

fn exchange_lines(exchange: &RecordedExchange) -> Vec<Line> {
    let what = match exchange.api {
        Some(api) => format!("{} {}", api.name(), exchange.model().unwrap_or_default()),
        None => format!("{} {}", exchange.method, exchange.path),
    };
    let status = exchange.response.status;
    let tone = if status < 400 { Tone::Muted } else { Tone::Bad };
    let mut heading = Line::of(format!("{:>3}  ", exchange.number), Tone::Muted)
        .with(what.trim_end(), Tone::Strong)
        .with(format!("  {status}"), tone);
    let Some(api) = exchange.api else {
        return vec![heading];
    };
    let content_type = exchange.response.header("content-type").unwrap_or_default();
    let answer: Assembled = assemble(api, content_type, &exchange.response.body.bytes());
    let usage = ResponseFacts::from_answer(&answer).usage;
    if let (Some(input), Some(output)) = (usage.prompt_tokens, usage.completion_tokens) {
        let [input, output] = [input, output].map(units::grouped);
        heading = heading.with(format!("  {input} + {output} tokens"), Tone::Muted);
    }
    let mut lines = vec![heading];
    if let Some(request) = &exchange.request {
        let messages = prompt_messages(request);
        let last_answer = messages
            .iter()
            .rposition(|message| message.role == Role::Assistant);
        lines.extend(
            messages
                .iter()
                .skip(last_answer.map_or(0, |last| last + 1))
                .flat_map(message_lines),
        );
    }
    lines.extend(answer_messages(&answer.body).iter().flat_map(message_lines));
    lines.extend(
        exchange
            .replaced
            .iter()
            .map(|place| Line::of(format!("     a secret was replaced: {place}"), Tone::Warning)),
    );
    lines
}

fn message_lines(message: &Message) -> Vec<Line> {
    let label = message.label();
    let parts = message.parts.iter().map(|part| {
        let text = match part {
            MessagePart::ToolCall { name, arguments, .. } => format!("{name}({arguments})"),
            MessagePart::ToolResult { value, .. } => match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            },
            MessagePart::Text(text) | MessagePart::Refusal(text) | MessagePart::Reasoning(text) => {
                text.clone()
            }
            other => part_label(other).map(|label| label.text).unwrap_or_default(),
        };
        Line::of(format!("     {label:<10} "), Tone::Muted).with(one_line(&text, MAX_SHOWN), Tone::Plain)
    });
    parts.collect()
}
