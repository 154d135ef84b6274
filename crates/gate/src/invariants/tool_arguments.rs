//! `tool_arguments`: the arguments of a tool's calls meet conditions.

use regex::Regex;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;
use tracer_insight::json_pointer::JsonPointer;

use super::json_schema::JsonSchema;
use super::{Invariant, InvariantSpec};
use crate::content::{Finding, RunContent, is_altered, parsed};

#[derive(Debug, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
struct ToolArgumentsCheck {
    /// The tool.
    #[schemars(length(min = 1))]
    tool: String,
    /// JSON Schema of the arguments, `/path == value`, `/path ~ regular expression`, or a list of these.
    #[serde(rename = "where", deserialize_with = "conditions")]
    #[schemars(with = "Value")]
    conditions: Vec<ArgumentCondition>,
    /// Calls that must meet it.
    #[serde(default)]
    calls: Quantity,
}

/// The calls that must meet the conditions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Quantity {
    /// Every call.
    #[default]
    All,
    /// At least one call.
    Any,
    /// No call.
    None,
}

#[derive(Debug)]
enum ArgumentCondition {
    Schema(JsonSchema),
    Equals(JsonPointer, Value),
    Matches(JsonPointer, Regex),
}

fn conditions<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<ArgumentCondition>, D::Error> {
    let conditions = match Value::deserialize(deserializer)? {
        Value::Array(conditions) if !conditions.is_empty() => conditions,
        Value::Array(_) => return Err(D::Error::custom("must hold a condition")),
        condition => vec![condition],
    };
    let read = conditions.into_iter().map(ArgumentCondition::read);
    read.collect::<Result<_, String>>().map_err(D::Error::custom)
}

pub(super) const SPEC: InvariantSpec = InvariantSpec::new::<ToolArgumentsCheck>("tool_arguments").labelled();

impl ArgumentCondition {
    fn read(condition: Value) -> Result<Self, String> {
        let form = || "must be a JSON Schema, `/path == value` or `/path ~ regular expression`".to_owned();
        let text = match condition {
            Value::String(text) => text,
            Value::Object(_) => return JsonSchema::new(&condition).map(Self::Schema),
            _ => return Err(form()),
        };
        let (path, is_equal, operand) = match (text.split_once(" == "), text.split_once(" ~ ")) {
            (Some((path, value)), Some((other, _))) if path.len() < other.len() => (path, true, value),
            (Some((path, value)), None) => (path, true, value),
            (_, Some((path, expression))) => (path, false, expression),
            (None, None) => return Err(form()),
        };
        let path = JsonPointer::parse(path.trim())
            .ok_or("needs a JSON Pointer such as /items/*/price, with * for every item")?;
        let operand = operand.trim();
        if is_equal {
            let value = serde_json::from_str(operand).unwrap_or_else(|_| operand.into());
            return Ok(Self::Equals(path, value));
        }
        let expression = Regex::new(operand).map_err(|_| format!("`{operand}` is no regular expression"))?;
        Ok(Self::Matches(path, expression))
    }

    fn words(&self) -> String {
        match self {
            Self::Schema(_) => "fit the schema".to_owned(),
            Self::Equals(path, value) => format!("have {path} == {value}"),
            Self::Matches(path, expression) => format!("have {path} ~ {expression}"),
        }
    }

    /// Finding on the arguments of a call.
    fn judged(&self, arguments: &Value) -> Finding {
        let path = match self {
            Self::Schema(_) if is_altered(arguments) => return Finding::of_altered_arguments(),
            Self::Schema(schema) => {
                return schema
                    .error(arguments)
                    .map_or_else(Finding::kept, Finding::broken);
            }
            Self::Equals(path, _) | Self::Matches(path, _) => path,
        };
        let found = path.select(arguments);
        if found.is_empty() && !is_altered(arguments) {
            return Finding::broken(format!("{path} is not there"));
        }
        if found.is_empty() {
            return Finding::of_altered_arguments();
        }
        Finding::worst(found.into_iter().map(|value| {
            let is_met = match self {
                Self::Matches(_, expression) => match value {
                    Value::String(text) => expression.is_match(text),
                    value => expression.is_match(&value.to_string()),
                },
                Self::Equals(_, expected) => is_equal(value, expected),
                Self::Schema(_) => false,
            };
            match is_met {
                _ if is_altered(value) => Finding::of_altered_arguments(),
                true => Finding::kept(),
                false => Finding::broken(format!("{path} differs")),
            }
        }))
    }
}

/// Equal values; 3 and 3.0 are one number.
fn is_equal(value: &Value, expected: &Value) -> bool {
    // Integers are not compared as floats, which cannot tell large ones apart.
    let has_float = value.is_f64() || expected.is_f64();
    let numbers = value.as_f64().zip(expected.as_f64()).filter(|_| has_float);
    value == expected || numbers.is_some_and(|(value, expected)| value.total_cmp(&expected).is_eq())
}

impl Invariant for ToolArgumentsCheck {
    fn needs_content(&self) -> bool {
        true
    }

    fn content_finding(&self, run: &RunContent<'_>) -> Finding {
        let tool = &self.tool;
        let calls = run.calls_of(tool).map(|(_, arguments)| {
            if arguments.is_null() {
                return Finding::of_altered_arguments();
            }
            let arguments = parsed(arguments);
            Finding::worst(
                self.conditions
                    .iter()
                    .map(|condition| condition.judged(&arguments)),
            )
        });
        if self.calls == Quantity::All {
            return run.finding_on_calls(tool, calls.collect());
        }
        let not_met = calls.map(|finding| match finding.outcome {
            Some(true) => Finding::broken("it meets the condition"),
            Some(false) => Finding::kept(),
            None => finding,
        });
        let none = run.finding_on_calls(tool, not_met.collect());
        match (self.calls, none.outcome) {
            (Quantity::Any, Some(true)) => Finding::broken(format!("no call of {tool} meets the condition")),
            (Quantity::Any, Some(false)) => Finding::kept(),
            _ => none,
        }
    }

    fn description(&self) -> String {
        let conditions: Vec<String> = self.conditions.iter().map(ArgumentCondition::words).collect();
        let (calls, conditions) = (&self.tool, conditions.join(" and "));
        match self.calls {
            Quantity::All => format!("the arguments of all calls of {calls} {conditions}"),
            Quantity::Any => format!("the arguments of a call of {calls} {conditions}"),
            Quantity::None => format!("the arguments of no call of {calls} {conditions}"),
        }
    }
}
