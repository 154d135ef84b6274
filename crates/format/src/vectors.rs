//! The vectors of the contract, for tests: what an existing gate and its emitter were measured to do, and what is
//! computed exactly.

use serde_json::Value;

const TEXT: &str = include_str!("../tests/gate/gate-vectors.json");

/// One case: its name, what goes in and what comes out.
pub(crate) struct Vector {
    pub(crate) name: String,
    pub(crate) input: Value,
    pub(crate) expected: Value,
}

/// The cases of a group that were measured.
pub(crate) fn measured(group: &str) -> Vec<Vector> {
    cases("vectors", group)
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
