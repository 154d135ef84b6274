//! The shape of a JSON value: its keys and types, never its scalars (decisions, section 7).

use serde_json::Value;

use super::limits::{MAX_DEPTH, MAX_ITEMS, MAX_SHAPE_BYTES, REST};

/// The shape of a JSON value, and whether it was cut.
pub(super) fn shape_of_value(value: &Value) -> (String, bool) {
    let mut shape = String::new();
    push_shape(value, 0, &mut shape);
    let is_long = shape.len() > MAX_SHAPE_BYTES;
    if is_long {
        let mut end = MAX_SHAPE_BYTES - REST.len();
        while !shape.is_char_boundary(end) {
            end -= 1;
        }
        shape.truncate(end);
        shape.push_str(REST);
    }
    (shape, is_long)
}

/// The shape of the JSON value in `text`, and whether it was cut; `None` when that is not one JSON value.
///
/// Integers that do not fit 64 bits count as floats, because that is how they are parsed.
pub(super) fn shape_of_json(text: &[u8]) -> Option<(String, bool)> {
    Some(shape_of_value(&serde_json::from_slice(text).ok()?))
}

/// Appends the shape of a value within `depth` containers; once it is too long, parts may be missing.
fn push_shape(value: &Value, depth: usize, shape: &mut String) {
    if shape.len() > MAX_SHAPE_BYTES {
        return;
    }
    match value {
        _ if depth >= MAX_DEPTH => shape.push_str(REST),
        Value::Null => shape.push_str("null"),
        Value::Bool(_) => shape.push_str("bool"),
        Value::Number(number) if number.is_f64() => shape.push_str("float"),
        Value::Number(_) => shape.push_str("int"),
        Value::String(_) => shape.push_str("str"),
        Value::Array(items) => {
            shape.push('[');
            let mut shapes: Vec<String> = Vec::new();
            for item in items.iter().take(MAX_ITEMS) {
                let mut of_item = String::new();
                push_shape(item, depth + 1, &mut of_item);
                if !shapes.contains(&of_item) {
                    shapes.push(of_item);
                }
            }
            shape.push_str(&shapes.join("|"));
            if items.len() > MAX_ITEMS {
                shape.push(',');
                shape.push_str(REST);
            }
            shape.push(']');
        }
        Value::Object(members) => {
            shape.push('{');
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| key.as_str());
            for (position, (key, value)) in members.into_iter().enumerate() {
                if position > 0 {
                    shape.push(',');
                }
                shape.push_str(key);
                shape.push(':');
                push_shape(value, depth + 1, shape);
            }
            shape.push('}');
        }
    }
}

#[cfg(test)]
mod tests;
