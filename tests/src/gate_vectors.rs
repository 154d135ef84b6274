//! The vectors of the gate's contract, as the tests of the SDK read them.

use serde_json::Value;

const TEXT: &str = include_str!("../../tracer-sdk/tests/gate/gate-vectors.json");

/// The cases that were measured, or with `reference_vectors` those that were computed.
#[must_use]
pub fn list(name: &str) -> Vec<Value> {
    let mut all: Value = serde_json::from_str(TEXT).unwrap();
    match all[name].take() {
        Value::Array(cases) => cases,
        other => panic!("{name} is {other}"),
    }
}

/// The cases of a group that were measured.
#[must_use]
pub fn measured(group: &str) -> Vec<Value> {
    let mut cases = list("vectors");
    cases.retain(|case| case["group"] == group);
    assert!(!cases.is_empty(), "no vectors of the group {group}");
    cases
}
