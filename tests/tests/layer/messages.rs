//! Code of the program that runs while a field is read: it may record, fail, or never end.

use std::fmt;

use tracing::{info_span, warn};

use crate::setup::{names, run, span};

struct Records;

impl fmt::Debug for Records {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A span and an event of the program while the layer reads a field of its span.
        info_span!("inner", gen_ai.operation.name = "chat").in_scope(|| warn!(error = "inner", "inner"));
        let _ = tracer_sdk::tool_call("inner").record();
        formatter.write_str("outer")
    }
}

#[test]
fn what_a_fields_own_code_records_is_dropped() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        let chat = info_span!("chat", gen_ai.operation.name = "chat", gen_ai.prompt = ?Records);
        chat.record("gen_ai.prompt", tracing::field::debug(Records));
    });
    assert_eq!(names(&run), ["chat", "calc"]);
    assert_eq!(span(&run, "chat").attributes["gen_ai.prompt"], "outer");
}

struct Panics;

impl fmt::Debug for Panics {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("in the program's own Debug")
    }
}

struct Endless;

impl fmt::Debug for Endless {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        loop {
            formatter.write_str("on and on ")?;
        }
    }
}

#[test]
fn a_field_that_fails_or_never_ends_stays_inside() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!("chat", gen_ai.operation.name = "chat", gen_ai.prompt = ?Panics, gen_ai.completion = ?Endless);
    });
    let attributes = &span(&run, "chat").attributes;
    assert!(!attributes.contains_key("gen_ai.prompt"));
    assert!(
        attributes["gen_ai.completion"]
            .as_str()
            .unwrap()
            .ends_with("__TRUNCATED__")
    );
}

#[test]
fn long_messages_stay_json() {
    let long: Vec<_> = (0..2_000)
        .map(|number| serde_json::json!({"role": "user", "content": format!("{number} {}", "word ".repeat(100))}))
        .collect();
    let text = serde_json::to_string(&long).unwrap();
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.input.messages = text.as_str()
        );
    });
    let stored = span(&run, "chat").attributes["gen_ai.input.messages"]
        .as_str()
        .unwrap();
    assert!(stored.len() < text.len());
    let messages: serde_json::Value = serde_json::from_str(stored).unwrap();
    assert_eq!(messages[0]["role"], "user");
}
