//! Texts and counts in attributes, in each form that senders use.

use serde_json::{Map, Value};

/// A number, whether it was sent as one or as text.
pub(super) fn number(attributes: &Map<String, Value>, key: &str) -> Option<u64> {
    let number = match attributes.get(key)? {
        Value::Number(number) => return number.as_u64().or_else(|| whole(number.as_f64()?)),
        Value::String(text) => text.trim(),
        _ => return None,
    };
    number.parse().ok().or_else(|| whole(number.parse().ok()?))
}

/// A count that was sent as a fraction.
fn whole(number: f64) -> Option<u64> {
    // Printed without its fraction, so that nothing is rounded on the way.
    let is_count = (0.0..1e15).contains(&number);
    is_count.then(|| format!("{:.0}", number.trunc()).parse().ok())?
}

/// A text that is not empty.
pub(super) fn text<'a>(attributes: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    attributes
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}
