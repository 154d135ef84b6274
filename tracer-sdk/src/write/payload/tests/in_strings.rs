//! JSON text that is escaped while it is written is what escaping it afterwards gives.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::redactor;
use crate::loops::{ValueNumbers, WrittenText, numbers_of_json};
use crate::write::escape::push_escaped;
use crate::write::payload::{JsonPlace, WrittenValue, write, write_numbered_json};

/// Values with escapes, secrets under their keys and beside their names, and long texts.
fn any_value() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        any::<String>(),
        r#"[a"\\\n\x00-\x21é]{0,40}"#,
        "[a\"\n]{300,900}",
        proptest::sample::select(vec![
            "password",
            "--api-key",
            "hunter2hunter2",
            "Bearer abcdefgh12345678",
            r#"say "hunter2""#
        ])
        .prop_map(String::from),
    ];
    let key = prop_oneof![
        3 => proptest::sample::select(vec!["name", "value", "password", "token", "a\"b", "path\\"])
            .prop_map(String::from),
        1 => any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::from),
        text.prop_map(Value::String),
    ];
    leaf.prop_recursive(12, 100, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            proptest::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn written(place: JsonPlace, value: &Value, limits: (usize, usize)) -> (String, WrittenValue) {
    let mut out = b"before ".to_vec();
    let written = write(place, value, &redactor(), limits, None, &mut out);
    (String::from_utf8(out.split_off(7)).unwrap(), written)
}

proptest! {
    #[test]
    fn escaping_while_writing_changes_nothing_but_the_escapes(
        value in any_value(),
        max_bytes in 256_usize..2_000,
        max_string in 64_usize..400,
    ) {
        let limits = (max_bytes, max_string);
        let (alone, expected) = written(JsonPlace::Alone, &value, limits);
        let mut escaped = Vec::new();
        push_escaped(&mut escaped, alone.as_bytes());
        let escaped = String::from_utf8(escaped).unwrap();
        prop_assert_eq!(written(JsonPlace::InString, &value, limits), (escaped.clone(), expected));
        let is_scalar = !(value.is_array() || value.is_object());
        let unless_scalar = if is_scalar { alone } else { escaped };
        prop_assert_eq!(written(JsonPlace::InStringUnlessScalar, &value, limits), (unless_scalar, expected));
    }
}

#[test]
fn a_value_that_its_later_name_makes_a_secret_is_replaced_within_a_string() {
    let value = serde_json::json!([{"value": "say \"hunter2\"", "zzz": {"value": "x", "name": "y"}}]);
    let named: Map<String, Value> = [
        ("value".to_owned(), Value::from("say \"hunter2\"\\")),
        ("name".to_owned(), Value::from("password")),
    ]
    .into_iter()
    .collect();
    for value in [value, Value::Object(named)] {
        // A map of `serde_json` sorts its keys: the members come in the order of this list.
        struct InOrder<'v>(&'v Value);
        impl serde::Serialize for InOrder<'_> {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    Value::Object(members) => serializer.collect_map(members.iter().rev()),
                    other => other.serialize(serializer),
                }
            }
        }
        let mut alone = Vec::new();
        let mut in_string = Vec::new();
        let limits = (10_000, 10_000);
        let expected = write(
            JsonPlace::Alone,
            &InOrder(&value),
            &redactor(),
            limits,
            None,
            &mut alone,
        );
        let reported = write(
            JsonPlace::InString,
            &InOrder(&value),
            &redactor(),
            limits,
            None,
            &mut in_string,
        );
        let mut escaped = Vec::new();
        push_escaped(&mut escaped, &alone);
        assert_eq!(String::from_utf8(in_string), String::from_utf8(escaped));
        assert_eq!(reported, expected);
        if value.is_object() {
            assert!(String::from_utf8(alone).unwrap().contains("__REDACTED__"));
        }
    }
}

proptest! {
    #[test]
    fn the_numbers_of_a_value_that_is_written_are_those_of_its_text(
        value in any_value(),
        max_bytes in 256_usize..2_000,
        max_string in 64_usize..400,
    ) {
        let (mut numbers, mut out) = (ValueNumbers::default(), Vec::new());
        let limits = (max_bytes, max_string);
        write(JsonPlace::InString, &value, &redactor(), limits, Some(&mut numbers), &mut out);
        let read = numbers_of_json(WrittenText::InString(&out));
        prop_assert!(read.is_some());
        prop_assert!(numbers.whole().is_none() || numbers.whole() == read);
    }
}

#[derive(serde::Serialize)]
struct Order {
    id: u64,
    name: &'static str,
    price: f64,
    paid: Option<bool>,
    tags: Vec<&'static str>,
    password: &'static str,
    kind: OrderKind,
}

#[derive(serde::Serialize)]
enum OrderKind {
    Gift { to: &'static str },
}

#[test]
fn the_numbers_of_a_struct_are_known_when_it_is_written() {
    let order = |paid| Order {
        id: 12,
        name: "a \"bicycle\"",
        price: 0.5,
        paid,
        tags: vec!["new", "blue", "new", "fast"],
        password: "hunter2hunter2",
        kind: OrderKind::Gift { to: "Ada" },
    };
    let mut numbers = ValueNumbers::default();
    let mut numbered = |order: &Order| {
        let mut out = Vec::new();
        // With names of fields that are known, and that are not.
        for _ in 0..2 {
            out.clear();
            write_numbered_json(order, &redactor(), &mut numbers, &mut out);
            let whole = numbers.whole();
            assert!(whole.is_some());
            assert_eq!(whole, numbers_of_json(WrittenText::InString(&out)));
        }
        numbers.whole()
    };
    assert_eq!(numbered(&order(None)), numbered(&order(None)));
    assert_ne!(numbered(&order(None)), numbered(&order(Some(true))));
}
