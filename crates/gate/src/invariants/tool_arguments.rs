//! `tool_arguments`: the arguments of a tool's calls meet conditions.

use regex::Regex;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use serde_json::Value;
use tracer_insight::json_pointer::JsonPointer;
use tracer_sdk::format::Payload;

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

/// Why arguments do not meet a condition; `Err` where recording left out what would show it.
type Mismatch = Result<Option<String>, ()>;

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

pub(super) const SPEC: InvariantSpec = InvariantSpec::of_content::<ToolArgumentsCheck>("tool_arguments");

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

    /// Why arguments do not meet it; `Err` where recording left out what would show it.
    fn broken(&self, arguments: &Value) -> Mismatch {
        let (path, is_met): (_, &dyn Fn(&Value) -> bool) = match self {
            Self::Schema(schema) => {
                return if is_altered(arguments) {
                    Err(())
                } else {
                    Ok(schema.error(arguments))
                };
            }
            Self::Equals(path, expected) => (path, &move |value| is_equal(value, expected)),
            Self::Matches(path, expression) => (path, &move |value| {
                let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                expression.is_match(&text)
            }),
        };
        let found = path.select(arguments);
        if !found.is_empty() && found.iter().all(|value| is_met(value)) {
            // The expression may have matched the marker in the place of the value.
            let is_unknown = matches!(self, Self::Matches(..)) && found.iter().any(|value| is_altered(value));
            return if is_unknown { Err(()) } else { Ok(None) };
        }
        let is_unknown = if found.is_empty() {
            is_altered(arguments)
        } else {
            found.iter().any(|value| !is_met(value) && is_altered(value))
        };
        match (is_unknown, found.is_empty()) {
            (true, _) => Err(()),
            (false, true) => Ok(Some(format!("{path} is not there"))),
            (false, false) => Ok(Some(format!("{path} differs"))),
        }
    }
}

/// Equal values; 3 and 3.0 are one number.
fn is_equal(value: &Value, expected: &Value) -> bool {
    // Integers are not compared as floats, which cannot tell large ones apart.
    let has_float = value.is_f64() || expected.is_f64();
    let numbers = value.as_f64().zip(expected.as_f64()).filter(|_| has_float);
    value == expected || numbers.is_some_and(|(value, expected)| value.total_cmp(&expected).is_eq())
}

impl ToolArgumentsCheck {
    /// Why a call does not meet the conditions; `Err` where that is not known.
    fn broken(&self, arguments: &Value) -> Mismatch {
        if arguments.is_null() {
            return Err(());
        }
        let arguments = parsed(arguments);
        let mut is_unknown = false;
        for condition in &self.conditions {
            match condition.broken(&arguments) {
                Ok(None) => {}
                Ok(broken) => return Ok(broken),
                Err(()) => is_unknown = true,
            }
        }
        if is_unknown { Err(()) } else { Ok(None) }
    }
}

impl Invariant for ToolArgumentsCheck {
    fn needs_content(&self) -> bool {
        true
    }

    fn finding(&self, run: &RunContent<'_>) -> Option<Finding> {
        let calls = run.records.iter().filter(|record| !record.is_leftover());
        let calls = calls.filter_map(|record| match &record.payload {
            Payload::ToolCall { tool_name, args, .. } if *tool_name == self.tool => Some(args),
            _ => None,
        });
        let outcomes: Vec<Mismatch> = calls.map(|args| self.broken(args)).collect();
        let tool = &self.tool;
        let place =
            |wanted: &dyn Fn(&Mismatch) -> bool| outcomes.iter().position(wanted).map(|place| place + 1);
        let unknown = || {
            let call = place(&|outcome| outcome.is_err());
            call.map(|call| {
                Finding::unknown(format!(
                    "the arguments of call {call} of {tool} were not recorded in full"
                ))
            })
        };
        let lost = || {
            let is_lost = run.may_lack_calls(tool, outcomes.len());
            is_lost.then(|| Finding::unknown(format!("calls of {tool} may be missing from the trace")))
        };
        let violation = match self.calls {
            Quantity::All => outcomes.iter().enumerate().find_map(|(place, outcome)| {
                let reason = outcome.as_ref().ok()?.as_ref()?;
                Some(format!("call {} of {tool}: {reason}", place + 1))
            }),
            Quantity::None => {
                place(&|outcome| outcome == &Ok(None)).map(|call| format!("call {call} of {tool} meets it"))
            }
            Quantity::Any if place(&|outcome| outcome == &Ok(None)).is_some() => return Some(Finding::kept()),
            Quantity::Any => {
                let none = || Finding::broken(format!("no call of {tool} meets it"));
                return Some(unknown().or_else(lost).unwrap_or_else(none));
            }
        };
        Some(match violation {
            Some(reason) => Finding::broken(reason),
            None => unknown().or_else(lost).unwrap_or_else(Finding::kept),
        })
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
