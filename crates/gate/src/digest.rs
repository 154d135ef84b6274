//! The version of a report, and its digest, which shows whether it was edited.

use serde_json::{Number, Value};
use tracer_insight::digest::{sha256_hex, write_canonical};

/// The version of the format of reports.
pub(crate) const REPORT_VERSION: u32 = 3;

/// The SHA-256 digest of a report without its digest. How the JSON is laid out, and whether a number is written as 1 or
/// 1.0, plays no part.
pub(crate) fn report_digest(report: &Value) -> String {
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
