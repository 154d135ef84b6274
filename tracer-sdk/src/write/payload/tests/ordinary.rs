//! Values that behave.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;

use super::{redactor, text_of, written, written_by};
use crate::redact::{RedactionSettings, Redactor};
use crate::write::payload::write_json_limited;

#[derive(Serialize)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, char),
    Struct { width: f32, password: &'static str },
}

#[derive(Serialize)]
struct Login {
    user: &'static str,
    password: Option<&'static str>,
    token: u32,
    access_token: (u8, u8),
    cookies: Option<Vec<u8>>,
    secret: bool,
}

#[test]
fn values_under_a_matching_key_go_whole_but_null_and_counts_stay() {
    let login = Login {
        user: "ali",
        password: Some("x"),
        token: 12,
        access_token: (1, 2),
        cookies: None,
        secret: true,
    };
    let (text, reported) = written(&login);
    let expected = concat!(
        r#"{"user":"ali","password":"__REDACTED__","token":12,"access_token":"__REDACTED__","#,
        r#""cookies":null,"secret":true}"#
    );
    assert_eq!(text, expected);
    assert_eq!(reported.redacted, 2);
    assert!(!reported.truncated && !reported.failed);
}

#[test]
fn enums_are_represented_as_serde_json_does() {
    let shapes = [
        Shape::Unit,
        Shape::Newtype(1),
        Shape::Tuple(2, 'é'),
        Shape::Struct {
            width: 0.1,
            password: "p",
        },
    ];
    let expected =
        r#"["Unit",{"Newtype":1},{"Tuple":[2,"é"]},{"Struct":{"width":0.1,"password":"__REDACTED__"}}]"#;
    assert_eq!(text_of(&shapes), expected);
}

#[test]
fn a_variant_named_like_a_secret_is_one() {
    #[derive(Serialize)]
    enum Credential {
        Password(String),
        Cookie { name: String },
    }
    assert_eq!(
        text_of(&Credential::Password("x".into())),
        r#"{"Password":"__REDACTED__"}"#
    );
    let cookie = [
        Credential::Cookie { name: "x".into() },
        Credential::Password("y".into()),
    ];
    assert_eq!(
        text_of(&cookie),
        r#"[{"Cookie":"__REDACTED__"},{"Password":"__REDACTED__"}]"#
    );
}

#[test]
fn numbers_that_json_cannot_hold_become_strings() {
    let numbers = (
        f64::NAN,
        f64::INFINITY,
        f32::NEG_INFINITY,
        i128::MIN,
        u128::MAX,
        7_i128,
    );
    let expected = format!(
        r#"["NaN","Infinity","-Infinity","{}","{}",7]"#,
        i128::MIN,
        u128::MAX
    );
    assert_eq!(text_of(&numbers), expected);
}

#[test]
fn keys_that_are_no_strings_are_written_as_serde_json_does() {
    assert_eq!(
        text_of(&BTreeMap::from([(-1, 'a'), (2, 'b')])),
        r#"{"-1":"a","2":"b"}"#
    );
    assert_eq!(text_of(&BTreeMap::from([(true, 1)])), r#"{"true":1}"#);
    assert_eq!(text_of(&BTreeMap::from([('c', 1)])), r#"{"c":1}"#);
    assert_eq!(text_of(&BTreeMap::from([(Some("k"), 1)])), r#"{"k":1}"#);
}

#[test]
fn keys_that_cannot_be_strings_are_marked_and_keep_their_values() {
    let (text, reported) = written(&BTreeMap::from([((1, 2), "kept")]));
    assert_eq!(text, r#"{"__UNSERIALIZABLE__":"kept"}"#);
    assert!(reported.failed);
}

fn nested(levels: usize) -> serde_json::Value {
    (0..levels).fold(json!("core"), |inner, level| {
        if level % 2 == 0 {
            json!([inner])
        } else {
            json!({"k": inner})
        }
    })
}

#[test]
fn ten_levels_survive_and_the_eleventh_does_not() {
    let ten = nested(10);
    let (text, reported) = written(&ten);
    assert_eq!(text, ten.to_string());
    assert!(!reported.truncated);

    let (text, reported) = written(&nested(11));
    assert_eq!(
        text,
        nested(11)
            .to_string()
            .replace(r#"["core"]"#, r#""__TRUNCATED__""#)
    );
    assert!(reported.truncated && !reported.failed);
}

#[test]
fn siblings_of_what_is_too_deep_stay() {
    #[derive(Serialize)]
    struct Deep {
        deep: serde_json::Value,
        after: u8,
    }
    let (text, reported) = written(&Deep {
        deep: nested(12),
        after: 1,
    });
    assert!(text.ends_with(r#","after":1}"#), "{text}");
    assert!(reported.truncated && !reported.failed);
}

#[test]
fn long_strings_are_cut_on_a_character_to_fit_with_the_marker() {
    let settings = RedactionSettings {
        max_field_bytes: 100,
        ..RedactionSettings::default()
    };
    let redactor = Redactor::new(&settings, []);
    let long = "é".repeat(51);
    let (text, reported) = written_by(&long, &redactor);
    assert_eq!(text, format!("\"{}__TRUNCATED__\"", "é".repeat(43)));
    assert!(reported.truncated);
    let (text, reported) = written_by(&"é".repeat(50), &redactor);
    assert_eq!(text, format!("\"{}\"", "é".repeat(50)));
    assert!(!reported.truncated);
}

#[test]
fn without_redaction_secrets_stay_and_limits_do_too() {
    let settings = RedactionSettings {
        redact: false,
        max_field_bytes: 1,
        ..RedactionSettings::default()
    };
    let redactor = Redactor::new(&settings, []);
    let (text, reported) = written_by(&json!({"password": "x".repeat(101), "token": "y"}), &redactor);
    assert_eq!(
        text,
        format!(r#"{{"password":"{}__TRUNCATED__","token":"y"}}"#, "x".repeat(87))
    );
    assert_eq!(reported.redacted, 0);
}

#[test]
fn a_smaller_budget_leaves_a_valid_beginning() {
    let value = json!({"a": "x".repeat(500), "b": [1, 2, 3], "c": {"d": "\u{1}".repeat(300)}});
    for budget in 0..4000 {
        let mut out = Vec::new();
        let reported = write_json_limited(&value, &redactor(), budget, &mut out);
        assert!(out.len() <= budget.max(256), "{} > {budget}", out.len());
        let read: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(reported.truncated, read != value, "{budget}");
        assert!(!reported.failed);
    }
}

#[test]
fn bytes_are_arrays_of_numbers() {
    struct Bytes;
    impl Serialize for Bytes {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(&[0, 255])
        }
    }
    assert_eq!(text_of(&Bytes), "[0,255]");
}

#[test]
fn a_key_that_looks_like_one_goes_under_a_name_that_says_so() {
    let secret = ["kv9ZpL2mQ8xW", "4tR7nB3cD6fG"].concat();
    let text =
        text_of(&json!({"aws_secret_access_key": secret, "sort_key": secret, "service_key": "by date"}));
    let expected = format!(
        r#"{{"aws_secret_access_key":"__REDACTED__","service_key":"by date","sort_key":"{secret}"}}"#
    );
    assert_eq!(text, expected);
}
