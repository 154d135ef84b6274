//! No piece of a secret leaves through a payload, wherever in it the secret stands.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::fake_secrets::{Dice, Fake, SHAPES, fakes, leak};
use crate::redact::{RedactionSettings, Redactor};
use crate::write::payload::write_json;

const FIELD_BYTES: usize = 600;

fn redactor() -> Redactor {
    let settings = RedactionSettings {
        max_field_bytes: FIELD_BYTES,
        ..RedactionSettings::default()
    };
    Redactor::new(&settings, [])
}

/// What recognisers look for, whole and in part.
const PIECES: &[&str] = &[
    "password",
    "token",
    "API_KEY",
    "secret_key",
    "Authorization",
    "Cookie",
    "Bearer ",
    "Basic ",
    "Digest ",
    "key",
    "=",
    ":",
    ": ",
    " = ",
    "=>",
    ":=",
    "\"",
    "'",
    "`",
    "\\",
    "\\\\",
    "\\\"",
    "\\n",
    "\n",
    " ",
    ",",
    ";",
    "&",
    "?",
    "[",
    "]",
    "{",
    "(",
    "<",
    ">",
    "--",
    "--api-key ",
    " -u ",
    "-",
    "_",
    ".",
    "@",
    "://",
    "//",
    "eyJ",
    ":A",
    "-----BEGIN PRIVATE KEY-----",
    "-----END PRIVATE KEY-----",
    "-----END ",
    "sk-",
    "ghp_",
    "AKIA",
    "abcDEF123456",
    "hunter2!",
    "1234567",
    "Z",
    "é",
    "🦀",
    "__REDACTED__",
    "__TRUNCATED__",
    "__",
    "your-key",
    "xxxx",
    "u:p",
    "a=b",
    "aB3dE5fG7hI9jK1lM3nO",
    "passwords:\n  - ",
    "\n  - ",
    "!!str ",
    "!",
    "\"secret\": {\"a\": \"",
    "\"password\": [\"",
    "\", \"",
    "]}",
    "\"name\":\"password\",",
    "\"value\":\"",
    "\"default\":\"",
    "\"label\":\"token\",",
    "null",
    "set_key(\"",
    "\r\n\r\n",
    "<a name=\"token\"",
    "</a>",
    " ?= ",
    " string",
    "[]",
    "Optional[str] = ",
    "PASSWORD E'",
    " $$",
    "PASSWORD FOR a = '",
    "\"\"\"",
    "'''",
    "credentials:\n  value: ",
    "otp",
    "pw",
];

/// Text around a secret: what ends before it ends a word, in several scripts.
fn filler(dice: &mut Dice, bytes: usize) -> String {
    let mut text = String::new();
    while text.len() < bytes {
        text.push_str(dice.pick(&[
            "word ", "naïve ", "値, ", "x=1 ", "\n", "🦀 ", "a: b\n", "(", "\t", "… ",
        ]));
    }
    text
}

/// Where in a payload a text stands.
fn placed(dice: &mut Dice, text: String, depth: usize) -> Value {
    let mut value = match dice.below(4) {
        0 => Value::String(text),
        1 => json!([1, text]),
        2 => json!({"before": 1, "note": text}),
        _ => Value::Object([(text, json!("value"))].into_iter().collect()),
    };
    for _ in 0..depth {
        value = match dice.below(3) {
            0 => json!([value, null]),
            1 => json!({"harmless": value}),
            _ => json!({"content": "text", "zone": [value]}),
        };
    }
    value
}

fn check(redactor: &Redactor, fake: &Fake, value: &Value) -> Result<(), TestCaseError> {
    let mut out = Vec::new();
    write_json(value, redactor, &mut out);
    let text = String::from_utf8(out).unwrap();
    let read: Value = serde_json::from_str(&text).unwrap();
    let mut strings = String::new();
    collect(&read, &mut strings);
    prop_assert_eq!(
        leak(&fake.secret, &strings),
        None,
        "{}: {} -> {}",
        fake.shape,
        value,
        text
    );
    let mut again = Vec::new();
    write_json(&read, redactor, &mut again);
    prop_assert_eq!(
        serde_json::from_slice::<Value>(&again).unwrap(),
        read,
        "cleaned twice"
    );
    Ok(())
}

/// Every string of a value, as it reads.
fn collect(value: &Value, strings: &mut String) {
    match value {
        Value::String(text) => strings.extend([text.as_str(), "\0"]),
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, strings)),
        Value::Object(members) => members.iter().for_each(|(key, value)| {
            strings.extend([key.as_str(), "\0"]);
            collect(value, strings);
        }),
        _ => {}
    }
}

#[test]
fn none_of_two_thousand_secrets_leaves_a_piece_of_itself() {
    let redactor = redactor();
    let mut dice = Dice::new(11);
    for (number, fake) in fakes(12, 2_000).enumerate() {
        let before = match number % 3 {
            0 => dice.below(50),
            // The cut goes through the secret, or past it.
            _ => FIELD_BYTES - 14 - dice.below(fake.text.len().min(FIELD_BYTES - 20)),
        };
        let after = dice.below(100);
        let text = format!(
            "{}\n{}\n{}",
            filler(&mut dice, before),
            fake.text,
            filler(&mut dice, after)
        );
        let depth = number % 8;
        let value = placed(&mut dice, text, depth);
        check(&redactor, &fake, &value).unwrap();
    }
}

#[test]
fn a_name_counts_however_much_is_written_before_it_without_a_blank() {
    let redactor = redactor();
    for length in 0..200 {
        for before in ["値", "Aé値b", "は。"] {
            let text = format!(
                "A{}api_key = \"v4hEjYPi9mxYTH9z3osO1LSKBpYoygbJ\"",
                before.repeat(length)
            );
            let cleaned = redactor.clean_to(&text, 10_000).text;
            assert!(
                cleaned.ends_with("api_key = \"__REDACTED__\""),
                "{text} -> {cleaned}"
            );
            assert_eq!(redactor.clean_to(&cleaned, 10_000).text, cleaned);
        }
    }
}

#[test]
fn secrets_right_behind_each_other_are_cleaned_at_once() {
    let redactor = redactor();
    let texts = || SHAPES.iter().map(|shape| shape(&mut Dice::new(7)).text);
    for text in texts().flat_map(|first| texts().map(move |second| first.clone() + &second)) {
        let once = redactor.text(&text);
        assert_eq!(redactor.text(&once), once);
    }
}

proptest! {
    #[test]
    fn no_secret_leaves_whatever_is_around_it(
        shape in 0..SHAPES.len(),
        seed: u64,
        before in "(\\PC{0,300}[ \n\"',(é値])?",
        after in "([ \n\"',)é値]\\PC{0,300})?",
        keys in proptest::collection::vec("\\PC{0,12}", 0..5),
    ) {
        let mut dice = Dice::new(seed);
        let fake = SHAPES[shape](&mut dice);
        let text = format!("{before}{}{after}", fake.text);
        let value = keys.into_iter().fold(json!(text), |inner, key| json!(BTreeMap::from([(key, inner)])));
        check(&redactor(), &fake, &value)?;
    }

    #[test]
    fn any_mixture_of_pieces_fits_once_it_is_cleaned(
        pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..60),
        max_field_bytes in 100_usize..300,
    ) {
        let redactor =
            Redactor::new(&RedactionSettings { max_field_bytes, ..RedactionSettings::default() }, []);
        prop_assert!(redactor.text(&pieces.concat()).len() <= max_field_bytes);
    }

    #[test]
    fn cleaning_twice_is_cleaning_once(
        parts in proptest::collection::vec((0..SHAPES.len(), any::<u64>(), "\\PC{0,40}"), 0..6),
        max_field_bytes in 100_usize..1000,
    ) {
        let redactor =
            Redactor::new(&RedactionSettings { max_field_bytes, ..RedactionSettings::default() }, []);
        let text: String = parts
            .into_iter()
            .map(|(shape, seed, around)| SHAPES[shape](&mut Dice::new(seed)).text + &around)
            .collect();
        let once = redactor.text(&text).into_owned();
        prop_assert!(once.len() <= max_field_bytes);
        prop_assert_eq!(redactor.text(&once), once.as_str());
    }
}
