//! The vectors of the contract, for tests: what an existing gate and its emitter were measured to do, and what is
//! computed exactly.

#![allow(
    clippy::unwrap_used,
    clippy::return_self_not_must_use,
    clippy::missing_panics_doc,
    reason = "for tests, which fail by panicking"
)]

use serde_json::Value;

const TEXT: &str = include_str!("../../../tracer-sdk/tests/gate/gate-vectors.json");

/// One case: its name, what goes in and what comes out.
pub struct Vector {
    /// Its name.
    pub name: String,
    /// What goes in.
    pub input: Value,
    /// What comes out.
    pub expected: Value,
}

/// The cases of a group that were measured.
pub fn measured(group: &str) -> Vec<Vector> {
    cases("vectors", group)
}

/// The cases of a group that were computed.
pub fn computed(group: &str) -> Vec<Vector> {
    cases("reference_vectors", group)
}

/// Numbers as floats, since JSON knows no other difference between 5 and 5.0.
pub fn floats(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.as_f64().into(),
        Value::Array(items) => items.iter().map(floats).collect(),
        Value::Object(object) => object
            .iter()
            .map(|(key, value)| (key.clone(), floats(value)))
            .collect(),
        plain => plain.clone(),
    }
}

fn cases(list: &str, group: &str) -> Vec<Vector> {
    let all: Value = serde_json::from_str(TEXT).unwrap();
    let cases: Vec<_> = all[list]
        .as_array()
        .unwrap()
        .iter()
        .filter(|case| case["group"] == group)
        .collect();
    assert!(!cases.is_empty(), "no vectors of the group {group}");
    let vector = |case: &Value| Vector {
        name: case["name"].as_str().unwrap().to_owned(),
        input: case["input"].clone(),
        expected: case["expected"].clone(),
    };
    cases.into_iter().map(vector).collect()
}
