//! Reading single values out of attributes, whatever emitter stored them: JSON text or JSON, one spelling or another.

use std::borrow::Cow;

use serde_json::{Map, Number, Value, json};

use crate::names::{self, Name};
use crate::parse::KeyAttributes;
use crate::parse::Scalar;
use crate::vocabulary::key_use;

/// Attributes that single values are looked up in: a tree of values, or the outline of a line.
pub trait Lookup {
    /// The text under a key, if it is one.
    fn text_at(&self, key: &str) -> Option<&str>;

    /// Returns whether there is a value that is not null under a key.
    fn has(&self, key: &str) -> bool;

    /// The whole number, zero or more, under a key, if it is one; a text of its digits is.
    fn whole_number_at(&self, key: &str) -> Option<u64>;

    /// The truth value under a key, if it is one.
    fn truth_at(&self, key: &str) -> Option<bool>;

    /// The object or array under a key, stored as such or as JSON text.
    fn structure_at(&self, key: &str) -> Option<Cow<'_, Value>>;

    /// Returns whether every key, also one with null, passes a test.
    fn all_keys(&self, test: &dyn Fn(&str) -> bool) -> bool;

    /// Returns whether there is a key with this prefix.
    fn has_beginning(&self, beginning: &str) -> bool;

    /// The numbers under keys that begin so, with the rest of each key; `None` for one that is not whole, or below zero.
    fn numbers_beginning(&self, beginning: &str, give: &mut dyn FnMut(&str, Option<u64>));

    /// The groups that the keys belong to, see `key_use`.
    fn groups(&self) -> u8;

    /// Returns whether the value under a key is neither null nor an empty text.
    fn says(&self, key: &str) -> bool {
        self.has(key) && self.text_at(key) != Some("")
    }
}

impl Lookup for Map<String, Value> {
    fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !value.is_null())
    }

    fn whole_number_at(&self, key: &str) -> Option<u64> {
        whole_number(self.get(key)?)
    }

    fn truth_at(&self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    fn structure_at(&self, key: &str) -> Option<Cow<'_, Value>> {
        match self.get(key)? {
            Value::String(text) => structure(text).map(Cow::Owned),
            value if value.is_object() || value.is_array() => Some(Cow::Borrowed(value)),
            _ => None,
        }
    }

    fn all_keys(&self, test: &dyn Fn(&str) -> bool) -> bool {
        self.keys().all(|key| test(key))
    }

    fn has_beginning(&self, beginning: &str) -> bool {
        self.keys().any(|key| key.starts_with(beginning))
    }

    fn numbers_beginning(&self, beginning: &str, give: &mut dyn FnMut(&str, Option<u64>)) {
        for (key, value) in self {
            let Some(rest) = key.strip_prefix(beginning) else {
                continue;
            };
            let number = whole_number(value);
            if value.is_number() || number.is_some() {
                give(rest, number);
            }
        }
    }

    fn groups(&self) -> u8 {
        let groups = self.keys().filter_map(|key| Some(key_use(key)?.groups));
        groups.fold(0, |all, groups| all | groups)
    }
}

impl<const INDEXED: bool> Lookup for KeyAttributes<'_, INDEXED> {
    fn text_at(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_text()
    }

    fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| *value != Scalar::Null)
    }

    fn whole_number_at(&self, key: &str) -> Option<u64> {
        match self.get(key)? {
            Scalar::Whole(number) => Some(*number),
            Scalar::Float(float) => whole_float(*float),
            Scalar::Text(text) => whole_text(text),
            _ => None,
        }
    }

    fn truth_at(&self, key: &str) -> Option<bool> {
        match self.get(key)? {
            Scalar::Bool(value) => Some(*value),
            _ => None,
        }
    }

    fn structure_at(&self, key: &str) -> Option<Cow<'_, Value>> {
        match self.get(key)? {
            Scalar::Text(text) => structure(text).map(Cow::Owned),
            Scalar::Tree(value) => Some(Cow::Borrowed(value)),
            _ => None,
        }
    }

    fn all_keys(&self, test: &dyn Fn(&str) -> bool) -> bool {
        self.keys().all(test)
    }

    fn has_beginning(&self, beginning: &str) -> bool {
        self.beginning(beginning).next().is_some()
    }

    fn numbers_beginning(&self, beginning: &str, give: &mut dyn FnMut(&str, Option<u64>)) {
        for (key, value) in self.beginning(beginning) {
            let Some(rest) = key.strip_prefix(beginning) else {
                continue;
            };
            let is_number = matches!(value, Scalar::Whole(_) | Scalar::Float(_) | Scalar::Negative);
            let number = self.whole_number_at(key);
            if is_number || number.is_some() {
                give(rest, number);
            }
        }
    }

    fn groups(&self) -> u8 {
        self.groups()
    }
}

/// The object or array that a text is: as JSON, or as Python prints it.
pub(super) fn structure(text: &str) -> Option<Value> {
    let may_be = text.trim_start().starts_with(['{', '[']);
    let parsed = may_be.then(|| serde_json::from_str(text).ok()).flatten();
    parsed.or_else(|| super::python::structure(text).filter(|_| may_be))
}

/// The value at a path of keys, and of places in arrays.
pub(super) fn at_path<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| match value {
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        value => value.get(step),
    })
}

/// The first text under one of the spellings; other emitters store null for what they do not know.
pub fn text(name: Name, attributes: &impl Lookup) -> Option<&str> {
    texts(name, attributes).next()
}

/// The first text under one of the spellings that says something.
pub(crate) fn named(name: Name, attributes: &impl Lookup) -> Option<&str> {
    texts(name, attributes).find(|text| !text.is_empty())
}

pub(super) fn texts(name: Name, attributes: &impl Lookup) -> impl Iterator<Item = &str> {
    let spellings = name.spellings().iter();
    spellings.filter_map(|spelling| attributes.text_at(spelling))
}

/// Returns whether there is a value that is not null under one of the spellings.
pub(super) fn is_present(name: Name, attributes: &impl Lookup) -> bool {
    name.spellings().iter().any(|spelling| attributes.has(spelling))
}

/// [`text`], owned.
pub(super) fn owned_text(name: Name, attributes: &Map<String, Value>) -> Option<String> {
    text(name, attributes).map(str::to_owned)
}

/// The first value under one of the spellings that is not null.
pub(super) fn value(name: Name, attributes: &Map<String, Value>) -> Option<&Value> {
    name.spellings()
        .iter()
        .filter_map(|spelling| attributes.get(*spelling))
        .find(|value| !value.is_null())
}

/// A number as it is stored, or as text; emitters store what JSON cannot hold (NaN) as text, which is no number.
pub(super) fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => Number::from_f64(text.trim().parse().ok()?),
        _ => None,
    }
}

/// A whole number, zero or more. Emitters that know only floats write `12.0`, those without large integers `"12"`.
pub(super) fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::String(text) => whole_text(text),
        value => value.as_u64().or_else(|| whole_float(value.as_f64()?)),
    }
}

fn whole_text(text: &str) -> Option<u64> {
    let text = text.trim();
    text.parse().ok().or_else(|| whole_float(text.parse().ok()?))
}

fn whole_float(float: f64) -> Option<u64> {
    /// Floats hold every whole number up to here.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole and in range"
    )]
    ((0.0..=EXACT).contains(&float) && float.fract() == 0.0).then_some(float as u64)
}

/// Parses a JSON text; a text that is not JSON (a marker, a text that was cut) and a value that is not a text stay as
/// they are.
pub(super) fn parsed(stored: &Value) -> Value {
    match stored {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| stored.clone()),
        other => other.clone(),
    }
}

/// A value of the type "object, string or null": any other JSON value `v` becomes `{"value": v}`.
pub(super) fn shaped(value: Value) -> Value {
    match value {
        Value::Object(_) | Value::String(_) | Value::Null => value,
        other => json!({ "value": other }),
    }
}

/// A list of texts, whether it is stored as an array or as JSON text of one. A text that is no array, as one that was
/// cut, is a list of itself, so that nothing is lost; items that are no texts are given as JSON.
pub(super) fn text_list(stored: Option<&Value>) -> Vec<String> {
    match stored.map(parsed) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.into_iter().map(plain_text).collect(),
        // The text as it is stored: `"12"` is the text 12, not the number.
        Some(other) => vec![
            stored
                .and_then(Value::as_str)
                .map_or_else(|| plain_text(other), str::to_owned),
        ],
    }
}

fn plain_text(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// The user's own metadata: the object under the name, or none.
pub(super) fn metadata(attributes: &Map<String, Value>) -> Map<String, Value> {
    match value(names::META, attributes).map(parsed) {
        Some(Value::Object(object)) => object,
        _ => Map::new(),
    }
}
