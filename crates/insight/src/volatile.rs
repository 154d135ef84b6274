//! Differences between two calls with the same input.
//!
//! The time of the call, and the ID that a library gave it.
//!
//! For the gate, which a time stamp must not get past. What may be the question itself stays: a date without a time, the
//! ends of a range, the ID of a thing.

use serde_json::Value;

use tracer_sdk::loops as value;

/// Keys with one of these words hold a question about a time, not the time of the call.
const RANGES: &[&str] = &[
    "after", "before", "begin", "cursor", "deadline", "due", "end", "expires", "from", "gt", "gte", "lt",
    "lte", "max", "min", "since", "start", "to", "until",
];
/// Keys that end in one of these words hold a time.
const TIMES: &[&str] = &[
    "at",
    "date",
    "datetime",
    "epoch",
    "now",
    "time",
    "timestamp",
    "ts",
];
/// With `id`, `key` or `uuid` behind it, the ID of a call.
const CALLS: &[&str] = &[
    "call",
    "correlation",
    "idempotency",
    "invocation",
    "request",
    "span",
    "trace",
];
/// In the place of a time.
const TIME: &[u8] = b"a time";
/// In the place of a call's ID.
const ID: &[u8] = b"an id";

/// The number of a text, a number or a word under a key, in which the time of the call and its ID do not count.
pub(crate) fn of_lasting(key: Option<&str>, scalar: &Value) -> u64 {
    let words = key.map(words).unwrap_or_default();
    let is_among = |list: &[&str], word: &String| list.contains(&word.as_str());
    if is_id_of_a_call(&words) && !scalar.is_null() {
        return value::of_text(ID);
    }
    if words.iter().any(|word| is_among(RANGES, word)) {
        return value::of_scalar(key, scalar);
    }
    match scalar {
        Value::Number(number)
            if words.last().is_some_and(|word| is_among(TIMES, word))
                && number.as_f64().is_some_and(is_epoch) =>
        {
            value::of_text(TIME)
        }
        Value::String(text) => match without_times(text) {
            Some(text) => value::of_scalar(key, &Value::String(text)),
            None => value::of_scalar(key, scalar),
        },
        other => value::of_scalar(key, other),
    }
}

fn is_id_of_a_call(words: &[String]) -> bool {
    let word = |from_end: usize| {
        words
            .len()
            .checked_sub(from_end)
            .and_then(|place| words.get(place))
    };
    let is_id = |word: &String| matches!(word.as_str(), "id" | "key" | "uuid");
    words.iter().any(|word| word == "nonce")
        || (word(1).is_some_and(is_id) && word(2).is_some_and(|word| CALLS.contains(&word.as_str())))
}

/// Seconds or milliseconds since 1970, of this century.
fn is_epoch(number: f64) -> bool {
    (9.4e8..4.2e9).contains(&number) || (9.4e11..4.2e12).contains(&number)
}

/// A text without the dates with a time in it; `None` when it has none.
fn without_times(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut left = String::new();
    let (mut copied, mut position) = (0, 0);
    while position < bytes.len() {
        match time_at(bytes.get(position..).unwrap_or_default()) {
            Some(length) => {
                left.push_str(text.get(copied..position)?);
                left.push('\u{0}');
                position += length;
                copied = position;
            }
            None => position += 1,
        }
    }
    (copied > 0).then(|| left + text.get(copied..).unwrap_or_default())
}

/// Length in bytes of the date with a time that the text begins with: `2026-01-01T00:00:00.5+01:00`, seconds and what
/// follows may be missing.
fn time_at(text: &[u8]) -> Option<usize> {
    /// Each `d` is a digit.
    const TIME_PATTERN: &[u8] = b"dddd-dd-ddTdd:dd";
    let fits = |pattern: &[u8], text: &[u8]| {
        pattern.len() <= text.len()
            && pattern.iter().zip(text).all(|(wanted, byte)| match wanted {
                b'd' => byte.is_ascii_digit(),
                b'T' => matches!(byte, b'T' | b't' | b' '),
                b's' => matches!(byte, b'+' | b'-'),
                other => other == byte,
            })
    };
    if !fits(TIME_PATTERN, text) {
        return None;
    }
    let rest = |length: usize| text.get(length..).unwrap_or_default();
    let mut length = TIME_PATTERN.len();
    if fits(b":dd", rest(length)) {
        length += 3;
        if matches!(rest(length), [b'.' | b',', digit, ..] if digit.is_ascii_digit()) {
            let digits = rest(length + 1).iter().take_while(|byte| byte.is_ascii_digit());
            length += 1 + digits.count();
        }
    }
    let zone = [&b"Z"[..], b"z", b"sdd:dd", b"sdddd"];
    let zone = zone.iter().find(|zone| fits(zone, rest(length)));
    Some(length + zone.map_or(0, |zone| zone.len()))
}

/// The words of a name in lower case, parted where it is not a letter or digit and where its case changes.
pub(crate) fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    let mut begins = true;
    for letter in name.chars() {
        if !letter.is_alphanumeric() {
            begins = true;
            continue;
        }
        begins |= was_lower && letter.is_uppercase();
        was_lower = !letter.is_uppercase();
        if std::mem::take(&mut begins) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn number(value: &Value) -> u64 {
        value::of_value(value, None, &of_lasting)
    }

    #[test]
    fn the_time_of_a_call_and_its_id_do_not_count() {
        for (one, other) in [
            (
                json!({"q": "x", "ts": 1_767_225_600}),
                json!({"q": "x", "ts": 1_767_225_601}),
            ),
            (
                json!({"createdAt": 1_767_225_600_123_i64}),
                json!({"createdAt": 1_767_225_600_124_i64}),
            ),
            (
                json!({"now": "2026-01-01T00:00:00Z"}),
                json!({"now": "2026-01-01T00:00:01.5+01:00"}),
            ),
            (
                json!("as of 2026-01-01 10:00, é"),
                json!("as of 2026-01-01 10:01, é"),
            ),
            (
                json!([{"at": "2026-01-01T00:00"}]),
                json!([{"at": "2027-01-01T00:00"}]),
            ),
            (json!({"request_id": "a"}), json!({"request_id": "b"})),
            (json!({"requestId": 1}), json!({"requestId": 2})),
            (json!({"Idempotency-Key": "a"}), json!({"Idempotency-Key": "b"})),
            (
                json!({"tool_call_id": "a", "nonce": 1}),
                json!({"tool_call_id": "b", "nonce": 2}),
            ),
        ] {
            assert_eq!(number(&one), number(&other), "{one} {other}");
            let plain = |value| value::of_value(value, None, &value::of_scalar);
            assert_ne!(plain(&one), plain(&other), "{one} {other}");
        }
    }

    #[test]
    fn what_may_be_the_question_counts() {
        for (one, other) in [
            (json!({"day": "2026-01-01"}), json!({"day": "2026-01-02"})),
            (json!({"time": "10:30"}), json!({"time": "11:30"})),
            (
                json!({"since": "2026-01-01T00:00:00Z"}),
                json!({"since": "2026-01-01T01:00:00Z"}),
            ),
            (
                json!({"start_time": 1_767_225_600}),
                json!({"start_time": 1_767_229_200}),
            ),
            (
                json!({"id": "550e8400-e29b-41d4-a716-446655440000"}),
                json!({"id": "550e8400-e29b-41d4-a716-446655440001"}),
            ),
            (json!({"order_id": 1}), json!({"order_id": 2})),
            (json!({"timestamp": 5}), json!({"timestamp": 6})),
            (json!({"amount": 1_767_225_600}), json!({"amount": 1_767_225_601})),
            (json!("a 2026-01-01T00:00:00Z"), json!("b 2026-01-01T00:00:00Z")),
            (json!({"call": "a"}), json!({"call": "b"})),
        ] {
            assert_ne!(number(&one), number(&other), "{one} {other}");
        }
    }
}
