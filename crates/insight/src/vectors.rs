//! The vectors of the contract, for tests: what an existing gate and its emitter were measured to do, and what is
//! computed exactly.

#![allow(
    clippy::unwrap_used,
    clippy::return_self_not_must_use,
    clippy::missing_panics_doc,
    reason = "for tests, which fail by panicking"
)]

use serde::Deserialize;
use serde_json::Value;

const TEXT: &str = include_str!("../../format/tests/gate/gate-vectors.json");

/// All cases.
#[derive(Deserialize)]
pub struct Vectors {
    /// Those that were measured.
    #[serde(rename = "vectors")]
    pub measured: Vec<Vector>,
    /// Those that were computed.
    #[serde(rename = "reference_vectors")]
    pub computed: Vec<Vector>,
}

impl Vectors {
    /// Reads them.
    pub fn read() -> Self {
        serde_json::from_str(TEXT).unwrap()
    }
}

/// One case: its name, what goes in and what comes out.
#[derive(Deserialize)]
pub struct Vector {
    /// Group of the case.
    pub group: String,
    /// Its name.
    pub name: String,
    /// Input of the case.
    pub input: Value,
    /// Expected output.
    pub expected: Value,
}

/// The cases of a group that were measured.
pub fn measured(group: &str) -> Vec<Vector> {
    of_group(Vectors::read().measured, group)
}

/// The cases of a group that were computed.
pub fn computed(group: &str) -> Vec<Vector> {
    of_group(Vectors::read().computed, group)
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

fn of_group(mut vectors: Vec<Vector>, group: &str) -> Vec<Vector> {
    vectors.retain(|vector| vector.group == group);
    assert!(!vectors.is_empty(), "no vectors of the group {group}");
    vectors
}
