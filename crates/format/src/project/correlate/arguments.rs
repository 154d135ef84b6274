//! The arguments of a tool in their normal form: what one reporter wraps and another one reports bare is the same.

use std::borrow::Cow;
use std::cell::Cell;

use serde_json::{Map, Value};

use super::super::payload;
use super::super::values::structure;
use super::super::view::{SpanView, all_attributes};
use crate::SpanRecord;
use crate::loops::{of_scalar, of_text, of_value};
use crate::names::markers;
use crate::vocabulary::HANDOFF;

/// Wrappers of function arguments: the key of the named arguments, and the adjacent key that identifies the wrapper.
const WRAPPERS: [(&str, &str); 2] = [("kwargs", "args"), ("inputs", "input_str")];

/// The arguments of a tool as hashes of their fields.
#[derive(Debug, Clone, Default)]
pub struct ReportedArguments {
    fields: Vec<(u64, u64)>,
    /// Of a value that is no object.
    bare: Option<u64>,
}

impl ReportedArguments {
    /// Those of the span of a tool. `OpenInference` has the agent that hands over as those of a hand-over.
    pub fn of_span(span: &SpanRecord) -> Self {
        if span.name.starts_with(HANDOFF) {
            return Self::default();
        }
        Self::of(&payload::arguments(span, &all_attributes(&span.facts())))
    }

    fn of(arguments: &Value) -> Self {
        match &*unwrapped(arguments) {
            Value::Null => Self::default(),
            Value::Object(fields) => Self::of_fields(fields),
            value => Self {
                bare: number_of(value),
                ..Self::default()
            },
        }
    }

    fn of_fields(fields: &Map<String, Value>) -> Self {
        let known = fields.iter();
        let known = known.filter_map(|(name, value)| Some((of_text(name.as_bytes()), number_of(value)?)));
        Self {
            fields: known.collect(),
            bare: None,
        }
    }

    /// Returns whether both are the same; they differ only in a field that both have, and a bare value is the only
    /// field of an object. `None` where there is nothing to compare.
    pub(super) fn agree(&self, other: &Self) -> Option<bool> {
        match (self.bare, other.bare) {
            (Some(one), Some(other)) => Some(one == other),
            (Some(bare), None) => other.holds(bare),
            (None, Some(bare)) => self.holds(bare),
            (None, None) => {
                let value = |name: u64| other.fields.iter().find(|(other, _)| *other == name);
                let mut shared = self
                    .fields
                    .iter()
                    .filter_map(|(name, one)| Some(*one == value(*name)?.1));
                let first = shared.next()?;
                Some(first && shared.all(|is_same| is_same))
            }
        }
    }

    fn holds(&self, bare: u64) -> Option<bool> {
        match self.fields.as_slice() {
            [] => None,
            [(_, only)] => Some(*only == bare),
            fields => fields.iter().any(|(_, value)| *value == bare).then_some(true),
        }
    }
}

/// Arguments without what libraries put around them.
fn unwrapped(arguments: &Value) -> Cow<'_, Value> {
    match arguments {
        Value::String(text) => match structure(text) {
            Some(parsed) => Cow::Owned(unwrapped(&parsed).into_owned()),
            None => Cow::Borrowed(arguments),
        },
        Value::Object(fields) => {
            let wrapped = WRAPPERS.iter().find_map(|(named, beside)| {
                let inner = fields.get(*named)?;
                let others = fields.keys().filter(|key| key != named);
                others.clone().all(|key| key == beside).then_some(())?;
                match (inner, fields.get(*beside)) {
                    (Value::Object(inner_fields), beside) if inner_fields.is_empty() => match beside? {
                        Value::Array(items) if items.len() == 1 => items.first(),
                        beside => Some(beside),
                    },
                    (Value::Object(_), _) => Some(inner),
                    _ => None,
                }
            });
            wrapped.map_or(Cow::Borrowed(arguments), Cow::Borrowed)
        }
        _ => Cow::Borrowed(arguments),
    }
}

/// The number of a value; none of one that was redacted or cut, which agrees with anything.
fn number_of(value: &Value) -> Option<u64> {
    let is_hidden = Cell::new(false);
    let number = of_value(value, None, &|key, scalar| match scalar {
        Value::String(text) if text.contains(markers::REDACTED) || text.contains(markers::TRUNCATED) => {
            is_hidden.set(true);
            0
        }
        Value::String(text) => match structure(text) {
            Some(parsed) => number_of(&parsed).unwrap_or_else(|| {
                is_hidden.set(true);
                0
            }),
            None => of_text(text.trim().as_bytes()),
        },
        other => of_scalar(key, other),
    });
    (!is_hidden.get()).then_some(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn bare_and_wrapped_arguments_are_the_same() {
        let agree =
            |one: Value, other: Value| ReportedArguments::of(&one).agree(&ReportedArguments::of(&other));
        let asked = || json!({"city": "Oslo"});
        for reported in [
            json!("Oslo"),
            json!("{\"city\": \"Oslo\"}"),
            json!("{'city': 'Oslo'}"),
            json!({"args": [], "kwargs": {"city": "Oslo"}}),
            json!({"args": ["Oslo"], "kwargs": {}}),
            json!({"kwargs": {"city": "Oslo"}}),
            json!({"input_str": "Oslo", "inputs": {"city": "Oslo"}}),
            json!({"city": " Oslo ", "unit": "C"}),
        ] {
            assert_eq!(agree(asked(), reported.clone()), Some(true), "{reported}");
            assert_eq!(agree(reported.clone(), asked()), Some(true), "{reported}");
        }
        for (reported, agrees) in [
            (json!("Paris"), Some(false)),
            (json!({"city": "Paris", "unit": "C"}), Some(false)),
            (json!({"unit": "C"}), None),
            (json!({"city": "__REDACTED__"}), None),
            (json!({}), None),
            (Value::Null, None),
        ] {
            assert_eq!(agree(asked(), reported.clone()), agrees, "{reported}");
        }
    }
}
