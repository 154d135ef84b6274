//! The rules of the shape, and what must hold for every value.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::limits::{MAX_DEPTH, MAX_ITEMS};
use super::super::numbers;
use super::*;

fn shape(text: &str) -> String {
    shape_of_json(text.as_bytes())
        .unwrap_or_else(|| panic!("not JSON: {text}"))
        .0
}

#[test]
fn scalars_are_distinguished_by_type_only() {
    for (text, expected) in [
        ("null", "null"),
        ("true", "bool"),
        ("0", "int"),
        ("-3", "int"),
        ("1.0", "float"),
        ("1e3", "float"),
        (r#""secret""#, "str"),
        (r#""esc\u0061ped""#, "str"),
        ("{}", "{}"),
        ("[]", "[]"),
    ] {
        assert_eq!(shape(text), expected, "{text}");
    }
}

#[test]
fn keys_are_sorted_and_a_key_given_twice_counts_the_last_time() {
    assert_eq!(
        shape(r#"{"b": 1, "a": "x", "ab": null}"#),
        "{a:str,ab:null,b:int}"
    );
    assert_eq!(shape(r#"{"a": 1, "b": 2, "a": "x"}"#), "{a:str,b:int}");
    assert_eq!(
        shape(r#"{"outer": {"z": 1, "y": {"b": 1, "a": 2}}, "inner": []}"#),
        "{inner:[],outer:{y:{a:int,b:int},z:int}}"
    );
}

#[test]
fn an_array_shows_the_distinct_shapes_of_its_first_three_items() {
    assert_eq!(shape("[1, 2, 3]"), "[int]");
    assert_eq!(shape("[1, 2, 3, 4]"), "[int,...]");
    assert_eq!(shape(r#"["x", 1, "y"]"#), "[str|int]");
    assert_eq!(shape(r#"[1, "x", null, true]"#), "[int|str|null,...]");
    assert_eq!(shape(r#"[{"b":1,"a":2}, {"a":2,"b":1}]"#), "[{a:int,b:int}]");
    assert_eq!(shape("[[], {}, [1]]"), "[[]|{}|[int]]");
}

#[test]
fn what_is_deeper_than_four_levels_is_left_out() {
    assert_eq!(shape(r#"{"a":{"b":{"c":{"d":1}}}}"#), "{a:{b:{c:{d:...}}}}");
    assert_eq!(shape("[[[[1, {}]]]]"), "[[[[...]]]]");
    assert_eq!(shape("[[[[]]]]"), "[[[[]]]]");
}

#[test]
fn what_is_not_one_json_value_has_neither_shape_nor_number() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    for text in ["", "{", "{]", "[1,", "1 2", "nul", r#"{"a" 1}"#, "[1] x", &deep] {
        assert_eq!(shape_of_json(text.as_bytes()), None, "{text:?}");
        assert_eq!(numbers::of_json(text.as_bytes()), None);
    }
}

#[test]
fn a_huge_object_gives_the_same_bounded_shape_in_any_order() {
    let key = |number: u32| format!("\"key{number:05}\":[{number},\"x\"]");
    let object = |numbers: &mut dyn Iterator<Item = u32>| {
        format!("{{{}}}", numbers.map(key).collect::<Vec<_>>().join(","))
    };
    let forward = shape(&object(&mut (0..20_000)));
    let backward = shape(&object(&mut (0..20_000).rev()));
    let scattered = shape(&object(&mut (0..20_000).map(|number| number * 7_919 % 20_000)));
    assert_eq!(forward, backward);
    assert_eq!(forward, scattered);
    assert_eq!(forward.len(), MAX_SHAPE_BYTES);
    assert!(
        forward.starts_with("{key00000:[int|str],key00001:[int|str],"),
        "{forward}"
    );
    assert!(forward.ends_with("..."));
}

#[test]
fn a_long_shape_is_cut_at_a_character() {
    let (shape, is_cut) = shape_of_value(&json!({ "é".repeat(5000): 1 }));
    assert!(is_cut && shape.ends_with("é...") && shape.len() <= MAX_SHAPE_BYTES);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((".{0,4}", inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// The shape by the letter of the decisions, without regard to cost.
fn by_the_letter(value: &Value, depth: usize) -> String {
    if depth >= MAX_DEPTH {
        return REST.to_owned();
    }
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if number.is_f64() => "float".to_owned(),
        Value::Number(_) => "int".to_owned(),
        Value::String(_) => "str".to_owned(),
        Value::Array(items) => {
            let mut shapes: Vec<String> = Vec::new();
            for item in items.iter().take(MAX_ITEMS) {
                let shape = by_the_letter(item, depth + 1);
                if !shapes.contains(&shape) {
                    shapes.push(shape);
                }
            }
            let rest = if items.len() > MAX_ITEMS { ",..." } else { "" };
            format!("[{}{rest}]", shapes.join("|"))
        }
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| key.as_str());
            let entries: Vec<String> = entries
                .into_iter()
                .map(|(key, value)| format!("{key}:{}", by_the_letter(value, depth + 1)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
    }
}

proptest! {
    #[test]
    fn text_and_value_have_the_shape_that_the_rules_give(value in any_json()) {
        let expected = by_the_letter(&value, 0);
        prop_assume!(expected.len() <= MAX_SHAPE_BYTES);
        prop_assert_eq!(shape_of_json(value.to_string().as_bytes()), Some((expected, false)));
    }

    #[test]
    fn a_text_that_is_almost_json_is_survived(text in r#"[\[\]{}",:01ae. -]{0,40}"#) {
        let shape = shape_of_json(text.as_bytes());
        prop_assert_eq!(shape.is_some(), numbers::of_json(text.as_bytes()).is_some());
    }
}

fn number(text: &str) -> u64 {
    numbers::of_value(text.as_bytes()).unwrap()
}

#[test]
fn equal_values_have_one_number_in_whatever_order_and_others_another() {
    for (one, same) in [
        (
            r#"{"a":1,"b":{"c":[1,2],"d":null}}"#,
            r#"{ "b": {"d": null, "c": [1, 2]}, "a": 1 }"#,
        ),
        (
            r#"{"a":{"a":{"a":{"a":{"a":{"x":1,"y":2}}}}}}"#,
            r#"{"a":{"a":{"a":{"a":{"a":{"y":2,"x":1}}}}}}"#,
        ),
        ("[]", " [ ] "),
    ] {
        assert_eq!(number(one), number(same), "{one}");
    }
    let others = [
        "{}",
        "[]",
        "null",
        "\"\"",
        "0",
        "\"0\"",
        "1",
        "1.0",
        "true",
        "[1]",
        "[1,2]",
        "[2,1]",
        "[[1],2]",
        "[[1,2]]",
        r#"{"a":1,"b":2}"#,
        r#"{"a":2,"b":1}"#,
        r#"{"a":{"b":1}}"#,
        r#"{"b":{"a":1}}"#,
        r#"[{"a":1},{"b":2}]"#,
        r#""12345678""#,
        r#""123456789""#,
        "[1,2,3,4]",
        "[1,2,3,5]",
        r#"{"a":[[[[[1]]]]]}"#,
        r#"{"a":[[[[[2]]]]]}"#,
    ];
    let mut numbers: Vec<u64> = others.iter().map(|text| number(text)).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), others.len());
}

#[test]
fn shapes_of_every_kind_have_numbers_of_their_own() {
    let texts = [
        "null",
        "true",
        "1",
        "1.5",
        "\"\"",
        "{}",
        "[]",
        "[1]",
        "[{}]",
        "[1,2,3,4]",
        "[1,\"\"]",
        "[\"\",1]",
        r#"{"a":1}"#,
        r#"{"a":"1"}"#,
        r#"{"b":1}"#,
        r#"{"a":1,"b":1}"#,
        "[[[[1]]]]",
        "[[[[]]]]",
    ];
    let of = |text: &str| numbers::of_json(text.as_bytes()).unwrap().shape;
    let mut found: Vec<u64> = texts.iter().map(|text| of(text)).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), texts.len());
    assert_eq!(of("[1,2,3,4]"), of("[7,8,9,0,1]"));
    assert_eq!(of("[[[[1]]]]"), of(r#"[[[[{"a":[]}]]]]"#));
}

#[test]
fn the_last_message_of_a_prompt_is_the_last_of_its_list() {
    let last = |text: &str| numbers::of_prompt(text.as_bytes()).unwrap().1;
    let message = number(r#"{"role":"user","content":"and now?"}"#);
    for prompt in [
        r#"[{"role":"user","content":"hello"},{"content":"and now?","role":"user"}]"#,
        r#"{"model":"m","messages":[1,2,{"role":"user","content":"and now?"}],"tools":[3]}"#,
        r#"{"role":"user","content":"and now?"}"#,
    ] {
        assert_eq!(last(prompt), message, "{prompt}");
    }
    assert_ne!(last(r#"{"messages":[]}"#), last(r#"{"messages":[1]}"#));
}

proptest! {
    #[test]
    fn the_fingerprint_distinguishes_values(one in any_json(), other in any_json()) {
        let (text, other_text) = (one.to_string(), other.to_string());
        prop_assert_eq!(number(&text) == number(&other_text), text == other_text);
    }

    #[test]
    fn the_number_of_a_shape_distinguishes_shapes(one in any_json(), other in any_json()) {
        let number = |value: &Value| {
            numbers::of_json(value.to_string().as_bytes()).unwrap().shape
        };
        let is_same = shape_of_value(&one) == shape_of_value(&other);
        prop_assert!(shape_of_value(&one).0.len() <= 2 * one.to_string().len() + 1);
        prop_assert_eq!(number(&one) == number(&other), is_same);
        // The same with other scalars.
        let other = with_other_scalars(&one);
        prop_assert_eq!(shape_of_value(&one), shape_of_value(&other));
        prop_assert_eq!(number(&one), number(&other));
    }
}

fn with_other_scalars(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(value) => Value::from(!value),
        Value::Number(number) if number.is_f64() => Value::from(0.5),
        Value::Number(_) => Value::from(-7),
        Value::String(text) => Value::from(format!("{text}\\\"")),
        Value::Array(items) => items.iter().map(with_other_scalars).collect(),
        Value::Object(object) => {
            let entries = object.iter().rev();
            Value::Object(
                entries
                    .map(|(key, value)| (key.clone(), with_other_scalars(value)))
                    .collect(),
            )
        }
    }
}
