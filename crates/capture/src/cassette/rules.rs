//! Matching rules in a cassette's head: the lists `ignore` and `mask`.
//!
//! They are added to the built-in rules.

use regex::Regex;
use serde_json::Value;

use super::error::FieldProblem;

/// Rules of the user.
#[derive(Debug, Clone, Default)]
pub(super) struct Rules {
    pub(super) ignore: Vec<Pointer>,
    pub(super) mask: Vec<Regex>,
}

impl Rules {
    /// Reads rules: JSON Pointers of what is ignored, with `*` for every item, and regular expressions of what is masked in texts.
    pub(super) fn new(ignore: &[String], mask: &[String]) -> Result<Self, FieldProblem> {
        let pointer = |(position, text): (usize, &String)| {
            Pointer::parse(text).ok_or_else(|| {
                FieldProblem::new(
                    format!("ignore[{position}]"),
                    "is no JSON Pointer: write /messages/*/name, with * for every item",
                )
            })
        };
        let expression = |(position, text): (usize, &String)| {
            Regex::new(text)
                .map_err(|_| FieldProblem::new(format!("mask[{position}]"), "is no regular expression"))
        };
        Ok(Self {
            ignore: ignore.iter().enumerate().map(pointer).collect::<Result<_, _>>()?,
            mask: mask
                .iter()
                .enumerate()
                .map(expression)
                .collect::<Result<_, _>>()?,
        })
    }
}

/// A JSON Pointer (RFC 6901) in which `*` is every member and every item: `/messages/*/name`.
#[derive(Debug, Clone)]
pub(super) struct Pointer {
    tokens: Vec<String>,
}

impl Pointer {
    fn parse(text: &str) -> Option<Self> {
        let tokens = text.strip_prefix('/')?.split('/');
        let unescaped = |token: &str| token.replace("~1", "/").replace("~0", "~");
        Some(Self {
            tokens: tokens.map(unescaped).collect(),
        })
    }

    /// Takes what is there out of a value; an item of a list becomes null, so that the others keep their places.
    pub(super) fn remove_from(&self, value: &mut Value) {
        if let Some((last, way)) = self.tokens.split_last() {
            remove(value, way, last);
        }
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
        Pointer::parse(pointer).unwrap().remove_from(&mut value);
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

    #[test]
    fn what_is_no_rule_is_refused() {
        for pointer in ["", "$.a", "a/b"] {
            assert!(Pointer::parse(pointer).is_none(), "{pointer}");
        }
        for mask in ["(", "((a{1000}){1000}){1000}"] {
            let problem = Rules::new(&[], &[mask.to_owned()]).unwrap_err();
            assert_eq!(problem, FieldProblem::new("mask[0]", "is no regular expression"));
        }
    }
}
