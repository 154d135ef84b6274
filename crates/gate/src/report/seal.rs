//! The digest of a report, so that one that was edited can be told.

use serde_json::{Number, Value};

use super::Report;
use tracer_insight::digest::{sha256_hex, write_canonical};

impl Report {
    /// The report with the digest of everything in it.
    pub(super) fn sealed(mut self) -> Self {
        // Texts, numbers that are finite or null, lists and maps with texts for keys: nothing in it can fail to be JSON.
        let whole = serde_json::to_value(&self).unwrap_or_default();
        self.gate.digest = Some(digest_of(&whole));
        self
    }
}

/// The SHA-256 digest of a report without its digest. How the JSON is laid out, and whether a number is written as 1 or
/// 1.0, plays no part.
pub(crate) fn digest_of(report: &Value) -> String {
    let mut report = report.clone();
    if let Some(gate) = report.get_mut("gate").and_then(Value::as_object_mut) {
        gate.remove("digest");
    }
    unify_numbers(&mut report);
    let mut text = Vec::new();
    // Writing to memory cannot fail.
    let _ = write_canonical(&report, &mut text);
    sha256_hex(&text)
}

fn unify_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().and_then(Number::from_f64);
            if let Some(float) = float {
                *number = float;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unify_numbers),
        Value::Object(object) => object.values_mut().for_each(unify_numbers),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
