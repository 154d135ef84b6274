//! Values without secrets, within every budget, come out as `serde_json` writes them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::{redactor, written, written_by};
use crate::redact::{RedactionSettings, Redactor};

/// Any JSON value, of any Unicode, as deep as is kept.
fn any_value(levels: u32) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |number| Number::from_f64(number).map(Value::Number)),
        any_text().prop_map(Value::String),
    ];
    leaf.prop_recursive(levels, 200, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::Array),
            proptest::collection::vec((any_text(), inner), 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Any characters but those that secrets are assigned with.
fn any_text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 0..40).prop_map(|characters| {
        characters
            .into_iter()
            .filter(|character| !":=@".contains(*character))
            .collect()
    })
}

#[derive(Debug, Clone, Serialize)]
enum Kind {
    Unit,
    Newtype(Option<f32>),
    Tuple(i8, char),
    Struct { a: u16, b: Option<Box<Kind>> },
}

#[derive(Debug, Serialize)]
struct Everything {
    kind: Kind,
    numbers: (f32, f64, i128, u8),
    by_number: BTreeMap<i32, bool>,
    by_letter: BTreeMap<char, Option<u8>>,
    nested: Option<Vec<Option<String>>>,
    #[serde(rename = "renamed field", skip_serializing_if = "Option::is_none")]
    skipped: Option<u8>,
    #[serde(flatten)]
    more: BTreeMap<String, u8>,
}

fn any_kind() -> impl Strategy<Value = Kind> {
    let finite = any::<f32>().prop_filter("finite", |number| number.is_finite());
    let leaf = prop_oneof![
        Just(Kind::Unit),
        proptest::option::of(finite).prop_map(Kind::Newtype),
        (any::<i8>(), any::<char>()).prop_map(|(number, letter)| Kind::Tuple(number, letter)),
    ];
    leaf.prop_recursive(3, 6, 1, |inner| {
        (any::<u16>(), proptest::option::of(inner)).prop_map(|(a, b)| Kind::Struct {
            a,
            b: b.map(Box::new),
        })
    })
}

fn any_everything() -> impl Strategy<Value = Everything> {
    (
        any_kind(),
        (any::<f32>(), any::<f64>(), any::<i64>(), any::<u8>()),
        proptest::collection::btree_map(any::<i32>(), any::<bool>(), 0..4),
        proptest::collection::btree_map(proptest::char::range('a', 'z'), Just(None), 0..4),
        proptest::option::of(proptest::collection::vec(proptest::option::of(any_text()), 0..4)),
        proptest::option::of(any::<u8>()),
        proptest::collection::btree_map("x[a-d]{1,5}", any::<u8>(), 0..3),
    )
        .prop_filter("finite", |(_, numbers, ..)| {
            numbers.0.is_finite() && numbers.1.is_finite()
        })
        .prop_map(
            |(kind, numbers, by_number, by_letter, nested, skipped, more)| Everything {
                kind,
                numbers: (numbers.0, numbers.1, numbers.2.into(), numbers.3),
                by_number,
                by_letter,
                nested,
                skipped,
                more,
            },
        )
}

proptest! {
    #[test]
    fn json_values_come_out_byte_by_byte(value in any_value(10)) {
        let (text, reported) = written(&value);
        prop_assert_eq!(text, serde_json::to_string(&value).unwrap());
        prop_assert_eq!((reported.redacted, reported.truncated, reported.failed), (0, false, false));
    }

    #[test]
    fn derived_types_come_out_byte_by_byte(value in any_everything()) {
        let (text, reported) = written(&value);
        prop_assert_eq!(text, serde_json::to_string(&value).unwrap());
        prop_assert_eq!((reported.redacted, reported.truncated, reported.failed), (0, false, false));
    }

    #[test]
    fn writing_what_was_written_changes_nothing(value in any_value(14), max_field_bytes in 100_usize..200) {
        let redactor =
            Redactor::new(&RedactionSettings { max_field_bytes, ..RedactionSettings::default() }, []);
        let (once, _) = written_by(&value, &redactor);
        let read: Value = serde_json::from_str(&once).unwrap();
        prop_assert_eq!(written_by(&read, &redactor).0, once);
    }
}

#[test]
fn a_large_value_that_was_cut_is_not_cut_again() {
    let value: Vec<BTreeMap<&str, String>> = (0..5_000)
        .map(|number| BTreeMap::from([("text", "\u{1}é".repeat(number % 300))]))
        .collect();
    let (once, reported) = written(&value);
    assert!(reported.truncated && !reported.failed);
    let read: Value = serde_json::from_str(&once).unwrap();
    assert_eq!(written_by(&read, &redactor()).0, once);
}
