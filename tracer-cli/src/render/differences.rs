//! In what values differ that should have been alike: the fields, each with what it was every time.

use serde_json::Value;

use super::gist;

/// More fields of a value are not compared one by one.
const MOST_FIELDS: usize = 200;
/// Deeper fields are compared as a whole.
const DEEPEST: usize = 6;

/// A field that was not the same every time.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where it is, `order.items[2]`; empty for the value itself.
    pub path: String,
    /// What it was each time, in few words; `None` when it was not there.
    pub values: Vec<Option<String>>,
}

/// The fields in which the values differ; none when all are the same.
pub fn between(values: &[&Value]) -> Vec<Difference> {
    let Some((first, rest)) = values.split_first() else {
        return Vec::new();
    };
    if rest.iter().all(|value| value == first) {
        return Vec::new();
    }
    let leaves: Vec<Vec<(String, &Value)>> = values
        .iter()
        .map(|value| {
            let mut leaves = Vec::new();
            collect(value, String::new(), 0, &mut leaves);
            leaves
        })
        .collect();
    let mut paths: Vec<&str> = Vec::new();
    for (path, _) in leaves.iter().flatten() {
        if !paths.contains(&path.as_str()) {
            paths.push(path);
        }
    }
    let differing = paths.into_iter().filter_map(|path| {
        let values: Vec<Option<&Value>> = leaves
            .iter()
            .map(|leaves| {
                leaves
                    .iter()
                    .find(|(other, _)| other == path)
                    .map(|(_, value)| *value)
            })
            .collect();
        let (first, rest) = values.split_first()?;
        let differs = rest.iter().any(|value| value != first);
        differs.then(|| Difference {
            path: path.to_owned(),
            values: values.into_iter().map(|value| value.map(gist::value)).collect(),
        })
    });
    differing.collect()
}

/// Every field that holds no other, with its path.
fn collect<'a>(value: &'a Value, path: String, depth: usize, leaves: &mut Vec<(String, &'a Value)>) {
    if leaves.len() >= MOST_FIELDS {
        return;
    }
    match value {
        Value::Object(map) if depth < DEEPEST && !map.is_empty() => {
            for (name, field) in map {
                let name = gist::word(name);
                let path = if path.is_empty() {
                    name
                } else {
                    format!("{path}.{name}")
                };
                collect(field, path, depth + 1, leaves);
            }
        }
        Value::Array(items) if depth < DEEPEST && !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                collect(item, format!("{path}[{index}]"), depth + 1, leaves);
            }
        }
        leaf => leaves.push((path, leaf)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(values: &[Value]) -> Vec<String> {
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
        assert_eq!(told(&[value.clone(), value.clone(), value]), [""; 0]);
        assert_eq!(told(&[]), [""; 0]);
    }

    #[test]
    fn a_field_that_changes_comes_or_goes_is_named_with_its_values() {
        let values = [
            json!({"query": "refund", "page": 1, "order": {"items": [1, 2]}}),
            json!({"query": "refund", "page": 2, "order": {"items": [1, 3]}}),
            json!({"query": "refund", "order": {"items": [1, 3]}}),
        ];
        assert_eq!(told(&values), ["order.items[1]: 2, 3, 3", "page: 1, 2, -"]);
        assert_eq!(told(&[json!("a b"), json!("c")]), [": \"a b\", c"]);
    }
}
