//! What a draft keeps of values that are given again.

use serde_json::Value;

use super::super::line::{SpanHead, write_line};
use super::*;
use crate::redact::RedactionSettings;
use tracer_format::names::events;
use tracer_format::{SpanId, SpanKind, StatusCode, TraceId};

fn redactor() -> Redactor {
    Redactor::new(&RedactionSettings::default(), [])
}

/// The draft as it is written.
fn written(draft: &mut Draft) -> Value {
    let time = Timestamp::from_unix_microseconds(0);
    let head = SpanHead {
        trace_id: TraceId::from_u128(1).unwrap(),
        span_id: SpanId::from_u64(2).unwrap(),
        parent_span_id: None,
        name: "span",
        kind: SpanKind::Internal,
        start: time,
        end: time,
        duration_ms: None,
        status_code: StatusCode::Ok,
        status_description: "",
    };
    let mut line = Vec::new();
    write_line(&mut line, &head, draft, &redactor());
    serde_json::from_slice(&line).unwrap()
}

#[test]
fn what_is_given_again_and_again_takes_no_more_memory_and_the_last_one_counts() {
    let redactor = redactor();
    let mut draft = Draft::default();
    draft.event(events::PROMPT, EventTime::Start);
    draft.event_content("Go on", &redactor);
    for number in 0..20_000 {
        draft.event(events::RESPONSE, EventTime::End);
        let response = format!("{number} {}", "x".repeat(number % 500));
        draft.event_content(&response, &redactor);
        draft.user("progress", &format!("{number} of 20000"), &redactor);
        draft.user("kept", "the same", &redactor);
    }
    assert!(
        draft.bytes.capacity() <= 4 * MAX_KEPT_BYTES,
        "{}",
        draft.bytes.capacity()
    );
    assert!(draft.event_attributes.capacity() <= 4 * MAX_KEPT_ENTRIES);
    let span = written(&mut draft);
    assert_eq!(span["attributes"]["progress"], "19999 of 20000");
    assert_eq!(span["attributes"]["kept"], "the same");
    let [prompt, response] = [0, 1].map(|event| &span["events"][event]["attributes"]["content"]);
    assert_eq!(prompt, "Go on");
    assert_eq!(response, &format!("19999 {}", "x".repeat(499)));
}

#[test]
fn an_attribute_that_is_set_again_takes_no_further_place() {
    let redactor = redactor();
    let mut draft = Draft::default();
    for number in 0..1_000 {
        draft.user("progress", &number, &redactor);
        draft.user("tracer.status", &number, &redactor);
    }
    for number in 0..MAX_USER_ATTRIBUTES {
        draft.user(&format!("other {number}"), &number, &redactor);
    }
    let attributes = written(&mut draft)["attributes"].as_object().unwrap().clone();
    assert_eq!(attributes.len(), MAX_USER_ATTRIBUTES);
    assert_eq!(attributes["progress"], 999);
    assert_eq!(attributes["user.tracer.status"], 999);
}
