//! What matching ignores and masks besides the built-in rules: the lists `ignore` and `mask` of a cassette's head.

use regex::{Regex, RegexBuilder};
use serde_json::Value;

use super::error::FieldProblem;

/// The most rules of a kind.
const MAX_RULES: usize = 100;
/// The longest rule, in bytes.
const MAX_RULE_BYTES: usize = 1000;
/// The most memory that a compiled expression takes, in bytes.
const MAX_EXPRESSION_BYTES: usize = 1 << 20;

/// Rules of the user.
///
/// ```
/// use tracer_capture::cassette::Rules;
///
/// let rules = Rules::parse(&["$.messages[*].name".to_owned()], &["build-[0-9]+".to_owned()])?;
/// assert!(Rules::parse(&["messages".to_owned()], &[]).is_err()); // a path begins with $
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Rules {
    pub(super) ignore: Vec<JsonPath>,
    pub(super) mask: Vec<Regex>,
}

impl Rules {
    /// Reads rules: JSON paths of what is ignored, and regular expressions of what is masked in texts.
    ///
    /// # Errors
    ///
    /// Which rule cannot be read, in words.
    pub fn parse(ignore: &[String], mask: &[String]) -> Result<Self, String> {
        Self::new(ignore, mask).map_err(|problem| format!("{}: {}", problem.field, problem.problem))
    }

    pub(super) fn new(ignore: &[String], mask: &[String]) -> Result<Self, FieldProblem> {
        for (field, rules) in [("ignore", ignore), ("mask", mask)] {
            if rules.len() > MAX_RULES {
                return Err(FieldProblem::new(field, "has too many items"));
            }
            if let Some(position) = rules.iter().position(|rule| rule.len() > MAX_RULE_BYTES) {
                return Err(FieldProblem::new(format!("{field}[{position}]"), "is too long"));
            }
        }
        let path = |(position, text): (usize, &String)| {
            JsonPath::parse(text).ok_or_else(|| {
                FieldProblem::new(
                    format!("ignore[{position}]"),
                    "is no JSON path: $.a.b[0], $.a[*].b, $..c",
                )
            })
        };
        let expression = |(position, text): (usize, &String)| {
            RegexBuilder::new(text)
                .size_limit(MAX_EXPRESSION_BYTES)
                .build()
                .map_err(|_| FieldProblem::new(format!("mask[{position}]"), "is no regular expression"))
        };
        Ok(Self {
            ignore: ignore.iter().enumerate().map(path).collect::<Result<_, _>>()?,
            mask: mask
                .iter()
                .enumerate()
                .map(expression)
                .collect::<Result<_, _>>()?,
        })
    }

    /// The rules as they were written.
    pub(super) fn sources(&self) -> (Vec<String>, Vec<String>) {
        let paths = self.ignore.iter().map(|path| path.source.clone());
        let masks = self.mask.iter().map(|mask| mask.as_str().to_owned());
        (paths.collect(), masks.collect())
    }
}

/// Places in a JSON value: `$.a.b[0]`, `$.a[*].b`, `$.a.*`, `$..c`.
#[derive(Debug, Clone)]
pub(super) struct JsonPath {
    source: String,
    steps: Vec<RuleStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum RuleStep {
    Member(String),
    Item(usize),
    Every,
    /// Any depth from here.
    Anywhere,
}

impl JsonPath {
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('$')?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(behind) = rest.strip_prefix("..") {
                steps.push(RuleStep::Anywhere);
                rest = behind;
                if rest.starts_with('[') {
                    continue;
                }
            } else if let Some(behind) = rest.strip_prefix('.') {
                rest = behind;
            } else if let Some(behind) = rest.strip_prefix('[') {
                let (inside, behind) = behind.split_once(']')?;
                steps.push(match inside.trim() {
                    "*" => RuleStep::Every,
                    number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                        RuleStep::Item(number.parse().ok()?)
                    }
                    quoted => {
                        let quote = quoted
                            .chars()
                            .next()
                            .filter(|quote| matches!(quote, '\'' | '"'))?;
                        RuleStep::Member(quoted.strip_prefix(quote)?.strip_suffix(quote)?.to_owned())
                    }
                });
                rest = behind;
                continue;
            } else {
                return None;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            let (name, behind) = rest.split_at_checked(end)?;
            steps.push(match name {
                "" => return None,
                "*" => RuleStep::Every,
                name => RuleStep::Member(name.to_owned()),
            });
            rest = behind;
        }
        (!steps.is_empty()).then(|| Self {
            source: text.to_owned(),
            steps,
        })
    }

    /// Takes what is there out of a value; an item of a list becomes null, so that the others keep their places.
    pub(super) fn remove_from(&self, value: &mut Value) {
        remove(value, &self.steps);
    }
}

fn remove(value: &mut Value, steps: &[RuleStep]) {
    let Some((step, rest)) = steps.split_first() else {
        return;
    };
    let is_last = rest.is_empty();
    match (step, value) {
        (RuleStep::Member(name), Value::Object(members)) if is_last => {
            members.remove(name);
        }
        (RuleStep::Member(name), Value::Object(members)) => {
            if let Some(member) = members.get_mut(name) {
                remove(member, rest);
            }
        }
        (RuleStep::Item(position), Value::Array(items)) => {
            if let Some(item) = items.get_mut(*position) {
                if is_last {
                    *item = Value::Null;
                } else {
                    remove(item, rest);
                }
            }
        }
        (RuleStep::Every, Value::Object(members)) if is_last => members.clear(),
        (RuleStep::Every, Value::Array(items)) if is_last => items.fill(Value::Null),
        (RuleStep::Every, value) => children(value).for_each(|child| remove(child, rest)),
        (RuleStep::Anywhere, value) => {
            remove(value, rest);
            children(value).for_each(|child| remove(child, steps));
        }
        _ => {}
    }
}

fn children(value: &mut Value) -> Box<dyn Iterator<Item = &mut Value> + '_> {
    match value {
        Value::Array(items) => Box::new(items.iter_mut()),
        Value::Object(members) => Box::new(members.values_mut()),
        _ => Box::new(std::iter::empty()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn without(path: &str) -> Value {
        let mut value = json!({"a": {"b": 1, "c": [{"b": 2, "d": 3}, {"b": 4}]}, "b": 5});
        JsonPath::parse(path).unwrap().remove_from(&mut value);
        value
    }

    #[test]
    fn paths_take_out_what_they_name() {
        for (path, expected) in [
            ("$.b", json!({"a": {"b": 1, "c": [{"b": 2, "d": 3}, {"b": 4}]}})),
            (
                "$['a']['b']",
                json!({"a": {"c": [{"b": 2, "d": 3}, {"b": 4}]}, "b": 5}),
            ),
            ("$.a.c[*].b", json!({"a": {"b": 1, "c": [{"d": 3}, {}]}, "b": 5})),
            ("$.a.c[0]", json!({"a": {"b": 1, "c": [null, {"b": 4}]}, "b": 5})),
            ("$..b", json!({"a": {"c": [{"d": 3}, {}]}})),
            ("$.a.*", json!({"a": {}, "b": 5})),
            (
                "$.nothing.here",
                json!({"a": {"b": 1, "c": [{"b": 2, "d": 3}, {"b": 4}]}, "b": 5}),
            ),
        ] {
            assert_eq!(without(path), expected, "{path}");
        }
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for path in ["", "$", "a.b", "$.", "$.a[", "$.a[x]", "$x"] {
            assert!(JsonPath::parse(path).is_none(), "{path}");
        }
        let refused = |mask: &str| Rules::parse(&[], &[mask.to_owned()]).unwrap_err();
        assert_eq!(refused("("), "mask[0]: is no regular expression");
        assert_eq!(
            refused("((a{1000}){1000}){1000}"),
            "mask[0]: is no regular expression"
        );
        assert!(Rules::parse(&vec!["$.a".to_owned(); 101], &[]).is_err());
    }
}
