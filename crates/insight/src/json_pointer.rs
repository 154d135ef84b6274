//! JSON Pointers in which `*` is every member and every item.

use std::fmt;

use serde_json::Value;

/// A JSON Pointer (RFC 6901) in which `*` is every member and every item: `/messages/*/name`.
#[derive(Debug, Clone)]
pub struct JsonPointer {
    source: String,
    tokens: Vec<String>,
}

impl JsonPointer {
    /// Parses a pointer; `None` of a text that does not begin with `/`.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_insight::json_pointer::JsonPointer;
    ///
    /// let order = json!({"items": [{"price": 3}, {"price": 4}]});
    /// let prices = JsonPointer::parse("/items/*/price").unwrap();
    /// assert_eq!(prices.select(&order), [3, 4]);
    /// assert!(JsonPointer::parse("items").is_none());
    /// ```
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let tokens = text.strip_prefix('/')?.split('/');
        let unescaped = |token: &str| token.replace("~1", "/").replace("~0", "~");
        Some(Self {
            source: text.to_owned(),
            tokens: tokens.map(unescaped).collect(),
        })
    }

    /// The values that are there, in order.
    #[must_use]
    pub fn select<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut selected = vec![value];
        for token in &self.tokens {
            let children = |value: &'a Value| -> Vec<&'a Value> {
                match value {
                    Value::Object(members) if token == "*" => members.values().collect(),
                    Value::Object(members) => members.get(token).into_iter().collect(),
                    Value::Array(items) if token == "*" => items.iter().collect(),
                    Value::Array(items) => token
                        .parse()
                        .ok()
                        .and_then(|at: usize| items.get(at))
                        .into_iter()
                        .collect(),
                    _ => Vec::new(),
                }
            };
            selected = selected.into_iter().flat_map(children).collect();
        }
        selected
    }

    /// Takes what is there out of a value; an item of a list becomes null, so that the others keep their places.
    pub fn remove_from(&self, value: &mut Value) {
        if let Some((last, way)) = self.tokens.split_last() {
            remove(value, way, last);
        }
    }
}

impl fmt::Display for JsonPointer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.source)
    }
}

fn remove(value: &mut Value, way: &[String], last: &str) {
    match (way.split_first(), value) {
        (None, Value::Object(members)) => members.retain(|key, _| last != "*" && key != last),
        (None, Value::Array(items)) => {
            let named = items.iter_mut().enumerate();
            named
                .filter(|(position, _)| last == "*" || position.to_string() == last)
                .for_each(|(_, item)| *item = Value::Null);
        }
        (Some((token, way)), Value::Object(members)) => {
            let named = members
                .iter_mut()
                .filter(|(key, _)| token == "*" || *key == token);
            named.for_each(|(_, member)| remove(member, way, last));
        }
        (Some((token, way)), Value::Array(items)) => {
            let named = items.iter_mut().enumerate();
            named
                .filter(|(position, _)| token == "*" || position.to_string() == *token)
                .for_each(|(_, item)| remove(item, way, last));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn without(pointer: &str) -> Value {
        let mut value = json!({"a": {"b": 1, "c": [{"b": 2, "d": 3}, {"b": 4}]}, "x/~": 5});
        JsonPointer::parse(pointer).unwrap().remove_from(&mut value);
        value
    }

    #[test]
    fn pointers_take_out_what_they_name() {
        for (pointer, expected) in [
            (
                "/x~1~0",
                json!({"a": {"b": 1, "c": [{"b": 2, "d": 3}, {"b": 4}]}}),
            ),
            (
                "/a/b",
                json!({"a": {"c": [{"b": 2, "d": 3}, {"b": 4}]}, "x/~": 5}),
            ),
            ("/a/c/*/b", json!({"a": {"b": 1, "c": [{"d": 3}, {}]}, "x/~": 5})),
            ("/a/c/0", json!({"a": {"b": 1, "c": [null, {"b": 4}]}, "x/~": 5})),
            ("/a/c/*", json!({"a": {"b": 1, "c": [null, null]}, "x/~": 5})),
            ("/a/*", json!({"a": {}, "x/~": 5})),
            (
                "/*/c/1/b",
                json!({"a": {"b": 1, "c": [{"b": 2, "d": 3}, {}]}, "x/~": 5}),
            ),
            (
                "/nothing/here",
                json!({"a": {"b": 1, "c": [{"b": 2, "d": 3}, {"b": 4}]}, "x/~": 5}),
            ),
        ] {
            assert_eq!(without(pointer), expected, "{pointer}");
        }
    }
}
