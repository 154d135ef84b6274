//! Remarks on a step, in words.
//!
//! Ratings, findings of guardrails, approvals, hand-overs.

use serde_json::{Map, Value};

use crate::text;
use crate::value_summary::label;

/// Key in the metadata of a model call that lists the tool calls it asked for that never ran.
pub(crate) const NOT_RUN: &str = "not_run";
/// Remarks that are shown of one step; all are in its metadata.
const MAX_SHOWN: usize = 6;

/// The remarks on a step by the metadata of its record, each in a few words: `relevance 0.9 (good)`, `guardrail pii:
/// triggered`, `decision: deny by user`, `handed over to billing`.
pub fn remarks(meta: &Map<String, Value>) -> Vec<String> {
    let kinds: [(&str, RemarkWords); 5] = [
        (NOT_RUN, not_run),
        ("evaluations", evaluation),
        ("guardrails", guardrail),
        ("decisions", decision),
        ("hand_overs", hand_over),
    ];
    let mut words: Vec<String> = Vec::new();
    for (key, in_words) in kinds {
        let listed = meta.get(key).and_then(Value::as_array).into_iter().flatten();
        words.extend(listed.filter_map(Value::as_object).map(in_words));
    }
    let more = words.len().saturating_sub(MAX_SHOWN);
    words.truncate(MAX_SHOWN);
    if more > 0 {
        words.push(text::counted(more as u64, "more remark"));
    }
    words
}

type RemarkWords = fn(&Map<String, Value>) -> String;

/// A field as it is shown; nothing for one that is empty.
fn field(fields: &Map<String, Value>, name: &str) -> Option<String> {
    let shown = match fields.get(name)? {
        Value::String(text) => label(text),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        _ => return None,
    };
    (!shown.is_empty()).then_some(shown)
}

fn evaluation(fields: &Map<String, Value>) -> String {
    let name = field(fields, "name").unwrap_or_else(|| "evaluation".to_owned());
    match (field(fields, "score"), field(fields, "label")) {
        (Some(score), Some(label)) => format!("{name} {score} ({label})"),
        (Some(word), None) | (None, Some(word)) => format!("{name} {word}"),
        (None, None) => format!("{name} without a score"),
    }
}

fn guardrail(fields: &Map<String, Value>) -> String {
    let name =
        field(fields, "name").map_or_else(|| "guardrail".to_owned(), |name| format!("guardrail {name}"));
    let outcome = match fields.get("triggered").and_then(Value::as_bool) {
        Some(true) => "triggered",
        Some(false) => "not triggered",
        None => "not known whether it was triggered",
    };
    let details: Vec<String> = ["verdict", "action"]
        .iter()
        .filter_map(|name| field(fields, name))
        .collect();
    if details.is_empty() {
        format!("{name}: {outcome}")
    } else {
        format!("{name}: {outcome} ({})", details.join(", "))
    }
}

fn decision(fields: &Map<String, Value>) -> String {
    let on = field(fields, "tool").map(|tool| format!(" on {tool}"));
    let by = field(fields, "by").map(|by| format!(" by {by}"));
    let decision = field(fields, "decision").unwrap_or_else(|| "unknown".to_owned());
    format!(
        "decision{}: {decision}{}",
        on.unwrap_or_default(),
        by.unwrap_or_default()
    )
}

fn not_run(fields: &Map<String, Value>) -> String {
    let tool = field(fields, "tool").unwrap_or_else(|| "a tool".to_owned());
    let arguments = field(fields, "arguments").map(|arguments| format!(" {arguments}"));
    let reply = field(fields, "reply").map(|reply| format!("; the model was answered: {reply}"));
    format!(
        "asked for, not run: {tool}{}{}",
        arguments.unwrap_or_default(),
        reply.unwrap_or_default()
    )
}

fn hand_over(fields: &Map<String, Value>) -> String {
    let from = field(fields, "from").map(|from| format!(" from {from}"));
    let to = field(fields, "to").map_or_else(|| " to another agent".to_owned(), |to| format!(" to {to}"));
    format!("handed over{}{to}", from.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn words(meta: Value) -> Vec<String> {
        serde_json::from_value(meta).map_or_else(|_| Vec::new(), |meta| remarks(&meta))
    }

    #[test]
    fn remarks_say_what_is_known() {
        assert_eq!(
            words(json!({
                "evaluations": [{"name": "relevance", "score": 0.9, "label": "good"}, {"label": "pass"}, {"name": "tone"}],
                "guardrails": [{"name": "pii", "triggered": true, "verdict": "deny"}, {"triggered": false}, {"name": "x"}],
            })),
            [
                "relevance 0.9 (good)",
                "evaluation pass",
                "tone without a score",
                "guardrail pii: triggered (deny)",
                "guardrail: not triggered",
                "guardrail x: not known whether it was triggered",
            ]
        );
        assert_eq!(
            words(json!({
                "decisions": [{"decision": "deny", "by": "user", "tool": "rm"}, {}],
                "not_run": [{"tool": "rm", "arguments": "{}", "reply": "no"}],
                "hand_overs": [{"to": "billing"}, {"from": "triage", "to": "sales"}, {"to": null}],
            })),
            [
                "asked for, not run: rm {}; the model was answered: no",
                "decision on rm: deny by user",
                "decision: unknown",
                "handed over to billing",
                "handed over from triage to sales",
                "handed over to another agent",
            ]
        );
    }

    #[test]
    fn what_is_no_list_of_remarks_is_none() {
        for meta in [
            json!({}),
            json!({"evaluations": 7}),
            json!({"guardrails": ["x"], "decisions": {}}),
        ] {
            assert_eq!(words(meta), Vec::<String>::new());
        }
    }
}
