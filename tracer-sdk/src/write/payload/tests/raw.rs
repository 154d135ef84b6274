//! `RawValue` and numbers of any precision.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{text_of, written};

#[derive(Serialize)]
struct Holder<'r> {
    #[serde(borrow)]
    raw: &'r RawValue,
    after: u8,
}

fn raw(text: &str) -> Box<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap()
}

#[test]
fn raw_json_passes_through_the_same_redaction() {
    let text =
        r#" { "password" : "x", "z": [1, -2, 1.5, true, null, "é\n"], "a": { "token": 5, "token": "y" } } "#;
    let (text, reported) = written(&Holder {
        raw: &raw(text),
        after: 1,
    });
    let expected = concat!(
        r#"{"raw":{"password":"__REDACTED__","z":[1,-2,1.5,true,null,"é\n"],"a":{"token":5,"token":"__REDACTED__"}},"#,
        r#""after":1}"#
    );
    assert_eq!(text, expected);
    assert_eq!((reported.redacted, reported.failed), (2, false));
}

#[test]
fn raw_json_under_a_secret_key_goes_whole() {
    let pair = std::collections::BTreeMap::from([("api_key", raw(r#"{"a": [1]}"#)), ("secret", raw("null"))]);
    assert_eq!(text_of(&pair), r#"{"api_key":"__REDACTED__","secret":null}"#);
}

#[test]
fn raw_json_at_the_top_stays_what_it_is() {
    assert_eq!(text_of(&raw("\"text\"")), "\"text\"");
}

#[test]
fn raw_json_that_is_too_deep_is_cut_and_what_follows_stays() {
    let deep = format!("[{}{}, 7]", "[".repeat(100), "]".repeat(100));
    let (text, reported) = written(&Holder {
        raw: &raw(&deep),
        after: 1,
    });
    let expected = format!(
        r#"{{"raw":[{}"__TRUNCATED__"{},7],"after":1}}"#,
        "[".repeat(8),
        "]".repeat(8)
    );
    assert_eq!(text, expected);
    assert!(reported.truncated && !reported.failed);

    let deep = format!("{}1{}", r#"{"a":{"b":"#.repeat(20), r#"},"c":[2]}"#.repeat(20));
    let (text, reported) = written(&raw(&deep));
    assert!(
        text.contains(r#""__TRUNCATED__""#) && text.ends_with(r#"},"c":[2]}"#),
        "{text}"
    );
    assert!(!reported.failed);
}

/// A number as `serde_json` hands it over when it keeps any precision.
struct AnyPrecision(&'static str);

impl Serialize for AnyPrecision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut number = serializer.serialize_struct("$serde_json::private::Number", 1)?;
        number.serialize_field("$serde_json::private::Number", self.0)?;
        number.end()
    }
}

#[test]
fn numbers_of_any_precision_keep_their_digits() {
    let digits = "3.14159265358979323846264338327950288";
    assert_eq!(text_of(&AnyPrecision(digits)), digits);
    let pair =
        std::collections::BTreeMap::from([("password", AnyPrecision("1")), ("token", AnyPrecision("2"))]);
    assert_eq!(text_of(&pair), r#"{"password":1,"token":2}"#);
}

#[test]
fn what_only_claims_to_be_a_number_is_a_string() {
    assert_eq!(text_of(&AnyPrecision("1,2")), r#""1,2""#);
    assert_eq!(
        text_of(&AnyPrecision("password=hunter22")),
        r#""password=__REDACTED__""#
    );
}
