//! In what values differ that should have been alike: the fields, each with what it was every time.

use std::collections::HashSet;

use serde_json::Value;

use crate::value_summary;

/// Differences of one value that are listed.
const MAX_DIFFERENCES: usize = 200;
/// Changes that fit into a line.
const MAX_SHOWN_CHANGES: usize = 20;
/// Deeper fields are compared as a whole.
const MAX_DEPTH: usize = 8;

/// A field that was not the same every time.
#[derive(Debug, PartialEq, Eq)]
pub struct VaryingField {
    /// Path of the field, `order.items[2]`; empty for the value itself.
    pub path: String,
    /// Its value each time, in few words; `None` when it was not there.
    pub values: Vec<Option<String>>,
}

/// The fields in which the values differ; none when all are the same. Of very many, the first.
pub fn between(values: &[&Value]) -> Vec<VaryingField> {
    let found = differing(values, value_summary::label).into_iter();
    let summarize = |value: Option<&Value>| value.map(value_summary::summarize);
    found
        .map(|(path, values)| VaryingField {
            path,
            values: values.into_iter().map(summarize).collect(),
        })
        .collect()
}

/// The path of each field in which the values differ, with its value in each; `None` where it was not there. `word` writes the
/// name of a field.
pub(crate) fn differing<'a>(
    values: &[&'a Value],
    word: fn(&str) -> String,
) -> Vec<(String, Vec<Option<&'a Value>>)> {
    let values = values.iter().copied().map(Some).collect();
    let mut found = Vec::new();
    compare(String::new(), values, word, 0, &mut found);
    found
}

/// The fields that changed from one object to the next, `budget: 3 → 2, phase=done`; `None` where either is no object.
pub fn changes(before: &Value, now: &Value) -> Option<String> {
    if !before.is_object() || !now.is_object() {
        return None;
    }
    let changes = between(&[before, now]).into_iter().take(MAX_SHOWN_CHANGES);
    let words = changes.map(|VaryingField { path, values }| match &values[..] {
        [Some(before), Some(now)] => format!("{path}: {before} → {now}"),
        [None, Some(now)] => format!("{path}={now}"),
        _ => format!("{path} gone"),
    });
    Some(words.collect::<Vec<_>>().join(", "))
}

/// Compares what is at one place: field by field where all of it has fields, as a whole where one is absent or something else.
fn compare<'a>(
    path: String,
    values: Vec<Option<&'a Value>>,
    word: fn(&str) -> String,
    depth: usize,
    found: &mut Vec<(String, Vec<Option<&'a Value>>)>,
) {
    let is_same = values.windows(2).all(|pair| pair.first() == pair.last());
    if is_same || found.len() >= MAX_DIFFERENCES {
        return;
    }
    let there = || values.iter().flatten();
    let has_fields = depth < MAX_DEPTH && values.iter().all(Option::is_some);
    let size = |value: &&Value| {
        value
            .as_object()
            .map_or(0, serde_json::Map::len)
            .max(value.as_array().map_or(0, Vec::len))
    };
    let most = there().map(size).max().unwrap_or(0);
    if has_fields && most > 0 && there().all(|value| value.is_object()) {
        let mut known = HashSet::new();
        let names = there()
            .filter_map(|value| value.as_object())
            .flat_map(serde_json::Map::keys);
        for name in names.filter(|name| known.insert(name.as_str())) {
            let fields = values
                .iter()
                .map(|value| value.and_then(|value| value.get(name)))
                .collect();
            let path = if path.is_empty() {
                word(name)
            } else {
                format!("{path}.{}", word(name))
            };
            compare(path, fields, word, depth + 1, found);
        }
    } else if has_fields && most > 0 && there().all(|value| value.is_array()) {
        for index in 0..most {
            let items = values
                .iter()
                .map(|value| value.and_then(|value| value.get(index)))
                .collect();
            compare(format!("{path}[{index}]"), items, word, depth + 1, found);
        }
    } else {
        found.push((path, values));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn differences(values: &[Value]) -> Vec<String> {
        between(&values.iter().collect::<Vec<_>>())
            .into_iter()
            .map(|difference| {
                let values: Vec<String> = difference
                    .values
                    .into_iter()
                    .map(|value| value.unwrap_or_else(|| "-".to_owned()))
                    .collect();
                format!("{}: {}", difference.path, values.join(", "))
            })
            .collect()
    }

    #[test]
    fn what_is_the_same_every_time_does_not_differ() {
        let value = json!({"query": "refund", "page": [1, 2]});
        assert_eq!(differences(&[value.clone(), value.clone(), value]), [""; 0]);
        assert_eq!(differences(&[]), [""; 0]);
    }

    #[test]
    fn what_changed_is_said_in_a_line() {
        let before = json!({"budget": {"calls": 3, "tokens": 90}, "phase": "read", "note": 1});
        let now = json!({"budget": {"calls": 2, "tokens": 90}, "phase": "read", "answer": "yes"});
        let changes = changes(&before, &now);
        assert_eq!(
            changes.as_deref(),
            Some("budget.calls: 3 → 2, note gone, answer=yes")
        );
        assert_eq!(super::changes(&now, &now).as_deref(), Some(""));
        assert_eq!(super::changes(&now, &json!(1)), None);
    }

    #[test]
    fn a_field_that_changes_comes_or_goes_is_named_with_its_values() {
        let values = [
            json!({"query": "refund", "page": 1, "order": {"items": [1, 2]}}),
            json!({"query": "refund", "page": 2, "order": {"items": [1, 3]}}),
            json!({"query": "refund", "order": {"items": [1, 3]}}),
        ];
        assert_eq!(differences(&values), ["order.items[1]: 2, 3, 3", "page: 1, 2, -"]);
        assert_eq!(differences(&[json!("a b"), json!("c")]), [": \"a b\", c"]);
    }

    #[test]
    fn a_place_is_listed_once_however_its_value_changes() {
        let of =
            |before: Value, after: Value| differences(&[json!({"read": before}), json!({"read": after})]);
        assert_eq!(of(json!([]), json!(["a.rs"])), ["read[0]: -, a.rs"]);
        assert_eq!(of(json!(["a.rs"]), json!([])), ["read[0]: a.rs, -"]);
        assert_eq!(of(json!({}), json!({"a": 1})), ["read.a: -, 1"]);
        assert_eq!(of(json!(1), json!({"a": 1})).len(), 1);
        assert_eq!(of(json!([]), json!({})).len(), 1);
        assert_eq!(differences(&[json!({}), json!({"read": []})]), ["read: -, []"]);
        assert_eq!(
            differences(&[json!({}), json!({"read": ["a.rs"]})]),
            ["read: -, [1 item]"]
        );
    }

    #[test]
    fn what_was_added_is_one_difference_however_large_it_is() {
        let many: Vec<u32> = (0..1_000).collect();
        let (before, now) = (
            json!({"query": "a"}),
            json!({"added": many, "query": "b", "x\ny": 1}),
        );
        let paths = |word| -> Vec<String> {
            let found = differing(&[&before, &now], word).into_iter();
            found.map(|(path, _)| path).collect()
        };
        assert_eq!(paths(str::to_owned), ["query", "added", "x\ny"]);
        assert_ne!(paths(value_summary::label)[2], "x\ny");
    }

    #[test]
    fn a_field_behind_very_many_that_are_the_same_differs_all_the_same() {
        let value = |last: u64| {
            let mut fields: serde_json::Map<String, Value> = (0..1_000)
                .map(|field| (format!("f{field:04}"), json!(0)))
                .collect();
            fields.insert("z".to_owned(), json!(last));
            Value::Object(fields)
        };
        assert_eq!(differences(&[value(1), value(2)]), ["z: 1, 2"]);
    }
}
