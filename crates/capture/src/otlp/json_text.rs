//! Texts that are no JSON but for a value or a character: halves of surrogate pairs, bytes that are no UTF-8, numbers that
//! JSON lacks, what is nested too deep.

use crate::otlp::repairs::Repairs;

/// Replacement for bytes that are no character.
const REPLACEMENT_ESCAPE: &[u8] = b"\\ufffd";
/// Deeper than this the reader, which has a limit of its own, does not go.
const MAX_DEPTH: usize = 120;
/// The numbers that JSON lacks, as many exporters write them.
const NO_JSON_NUMBERS: [&[u8]; 3] = [b"NaN", b"Infinity", b"-Infinity"];

/// `body` as JSON with the same meaning, where JSON has one, and the number of changes; `None` without a change.
pub(super) fn repaired(body: &[u8]) -> Option<(Vec<u8>, Repairs)> {
    let mut repairs = Repairs::default();
    let mut rest = Vec::with_capacity(body.len());
    for chunk in body.utf8_chunks() {
        rest.extend_from_slice(chunk.valid().as_bytes());
        if !chunk.invalid().is_empty() {
            rest.extend_from_slice(b"\xef\xbf\xbd");
            repairs.note(|| "a text is no UTF-8".to_owned());
        }
    }
    let mut repaired = Vec::with_capacity(rest.len());
    let mut rest = rest.as_slice();
    let mut depth = 0_usize;
    while let Some(byte) = rest.first() {
        let (length, replacement) = match byte {
            b'"' => (text(rest, &mut repaired, &mut repairs), None),
            b'{' | b'[' if depth >= MAX_DEPTH => {
                repairs.note(|| "a value is nested too deep".to_owned());
                (length_of_nested(rest), Some(b"null".to_vec()))
            }
            b'{' | b'[' => {
                depth += 1;
                (1, None)
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                (1, None)
            }
            b'-' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => word(rest, &mut repairs),
            _ => (1, None),
        };
        let (taken, after) = rest.split_at(length.clamp(1, rest.len()));
        match replacement {
            Some(replacement) => repaired.extend_from_slice(&replacement),
            // A text was written while it was read.
            None if *byte == b'"' => {}
            None => repaired.extend_from_slice(taken),
        }
        rest = after;
    }
    (repairs.values > 0).then_some((repaired, repairs))
}

/// Length of a number or a name, and its replacement.
fn word(rest: &[u8], repairs: &mut Repairs) -> (usize, Option<Vec<u8>>) {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.');
    let length = rest.iter().take_while(|byte| is_part(byte)).count();
    let word = rest.get(..length).unwrap_or_default();
    let parsed = || std::str::from_utf8(word).ok()?.parse::<f64>().ok();
    let name: &[u8] = if NO_JSON_NUMBERS.contains(&word) {
        word
    } else {
        match word.first() {
            Some(b'-') if parsed() == Some(f64::NEG_INFINITY) => b"-Infinity",
            Some(b'0'..=b'9') if parsed() == Some(f64::INFINITY) => b"Infinity",
            _ => return (length, None),
        }
    };
    repairs.note(|| "a number is none of JSON's (NaN, Infinity, or too large)".to_owned());
    (length, Some([b"\"", name, b"\""].concat()))
}

/// Length of the list or the object that `rest` begins with.
fn length_of_nested(rest: &[u8]) -> usize {
    let (mut depth, mut is_text, mut position) = (0_usize, false, 0);
    while let Some(byte) = rest.get(position) {
        match byte {
            b'\\' if is_text => position += 1,
            b'"' => is_text = !is_text,
            b'{' | b'[' if !is_text => depth += 1,
            b'}' | b']' if !is_text => {
                depth -= 1;
                if depth == 0 {
                    return position + 1;
                }
            }
            _ => {}
        }
        position += 1;
    }
    rest.len()
}

/// Writes the text that `rest` begins with, and gives its length.
fn text(rest: &[u8], repaired: &mut Vec<u8>, repairs: &mut Repairs) -> usize {
    repaired.push(b'"');
    let mut position = 1;
    while let Some(byte) = rest.get(position) {
        let at = rest.get(position..).unwrap_or_default();
        let (length, is_half) = match byte {
            b'\\' => match (escaped_unit(at), at.get(6..).and_then(escaped_unit)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, false),
                (Some(0xd800..=0xdfff), _) => (6, true),
                (Some(_), _) => (6, false),
                // An escaped backslash, so that what follows is no escape.
                (None, _) => (2, false),
            },
            _ => (1, false),
        };
        match byte {
            0..=0x1f => {
                repairs.note(|| "a text holds a control character that is not escaped".to_owned());
                repaired.extend_from_slice(format!("\\u{byte:04x}").as_bytes());
            }
            _ if is_half => {
                repairs.note(|| "a text holds half a character".to_owned());
                repaired.extend_from_slice(REPLACEMENT_ESCAPE);
            }
            _ => repaired.extend_from_slice(at.get(..length).unwrap_or(at)),
        }
        position += length;
        if *byte == b'"' {
            break;
        }
    }
    position.min(rest.len())
}

/// The UTF-16 code unit of `\uXXXX` at the beginning.
fn escaped_unit(text: &[u8]) -> Option<u16> {
    let digits = text.strip_prefix(b"\\u")?.get(..4)?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_replaced() {
        let cases: [(&[u8], &[u8], u64); 9] = [
            (br#""cut \ud83d""#, br#""cut \ufffd""#, 1),
            (
                br#""\udc00 and \ud83d\ude00""#,
                br#""\ufffd and \ud83d\ude00""#,
                1,
            ),
            (br#""\ud83d\ud83d\ude00""#, br#""\ufffd\ud83d\ude00""#, 1),
            (b"\"bytes \xff\"", "\"bytes \u{fffd}\"".as_bytes(), 1),
            (b"\"a\nb\"", br#""a\u000ab""#, 1),
            (
                br#"[NaN, Infinity, -Infinity, "NaN \" NaN"]"#,
                br#"["NaN", "Infinity", "-Infinity", "NaN \" NaN"]"#,
                3,
            ),
            (
                br#"{"a": 1e999, "b": -1e999}"#,
                br#"{"a": "Infinity", "b": "-Infinity"}"#,
                2,
            ),
            (br#""cut \u"#, br#""cut \u"#, 0),
            (br#"{"torn": "a \"#, br#"{"torn": "a \"#, 0),
        ];
        for (body, expected, count) in cases {
            let (repaired, repairs) =
                super::repaired(body).unwrap_or_else(|| (body.to_vec(), Repairs::default()));
            assert_eq!(repaired, expected, "{}", String::from_utf8_lossy(body));
            assert_eq!(repairs.values, count, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn what_is_json_stays_as_it_is() {
        for plain in [
            r#""plain \ud83d\ude00 \\""#,
            r#""\\ud83d \u00e9""#,
            r#"{"a": [1.5e3, -2, true, null, "x"]}"#,
        ] {
            assert_eq!(super::repaired(plain.as_bytes()), None);
        }
    }

    #[test]
    fn what_is_too_deep_becomes_null() {
        let nested = |depth: usize| format!("{}\"]\"{}", "[".repeat(depth), "]".repeat(depth));
        let (repaired, repairs) = super::repaired(nested(100_000).as_bytes()).unwrap();
        let expected = format!("{}null{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        assert_eq!(
            (String::from_utf8(repaired).unwrap(), repairs.values),
            (expected, 1)
        );
    }
}
