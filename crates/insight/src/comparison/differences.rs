//! In what two values differ, field by field.

use std::collections::BTreeSet;

use serde_json::Value;

use super::ArgumentDifference;

/// More differences of one value are left out.
const MAX_DIFFERENCES: usize = 100;
/// Deeper values are compared as a whole.
const MAX_DEPTH: usize = 8;

impl ArgumentDifference {
    /// The fields in which two values differ; none when they are the same. Very deep values are compared as a whole, and
    /// of very many differences the first are given.
    ///
    /// ```
    /// use serde_json::json;
    /// use tracer_insight::comparison::ArgumentDifference;
    ///
    /// let found = ArgumentDifference::between(&json!({"q": ["a"], "n": 1}), &json!({"q": ["a", "b"]}));
    /// let paths: Vec<&str> = found.iter().map(|difference| difference.path.as_str()).collect();
    /// assert_eq!(paths, ["n", "q[1]"]);
    /// ```
    #[must_use]
    pub fn between(before: &Value, after: &Value) -> Vec<Self> {
        let mut found = Vec::new();
        compare(String::new(), Some(before), Some(after), 0, &mut found);
        found
    }
}

fn compare(
    path: String,
    before: Option<&Value>,
    after: Option<&Value>,
    depth: usize,
    found: &mut Vec<ArgumentDifference>,
) {
    if before == after || found.len() >= MAX_DIFFERENCES {
        return;
    }
    match (before, after) {
        (Some(Value::Object(before)), Some(Value::Object(after))) if depth < MAX_DEPTH => {
            let keys: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
            for key in keys {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                compare(path, before.get(key), after.get(key), depth + 1, found);
            }
        }
        (Some(Value::Array(before)), Some(Value::Array(after))) if depth < MAX_DEPTH => {
            for index in 0..before.len().max(after.len()) {
                let path = format!("{path}[{index}]");
                compare(path, before.get(index), after.get(index), depth + 1, found);
                if found.len() >= MAX_DIFFERENCES {
                    return;
                }
            }
        }
        _ => found.push(ArgumentDifference {
            path,
            before: before.cloned(),
            after: after.cloned(),
        }),
    }
}
