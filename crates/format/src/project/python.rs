//! Dictionaries and lists as Python prints them, which libraries store where JSON belongs.

use std::fmt::Write as _;

use serde_json::Value;

/// The object or array that a text is the `repr` of.
pub(super) fn structure(text: &str) -> Option<Value> {
    let mut json = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(char) = rest.next() {
        match char {
            '\'' | '"' => string(char, &mut rest, &mut json)?,
            '(' => json.push('['),
            ')' => json.push(']'),
            'A'..='Z' => {
                let mut word = String::from(char);
                while let Some(letter) = rest.next_if(char::is_ascii_alphabetic) {
                    word.push(letter);
                }
                json.push_str(match word.as_str() {
                    "True" => "true",
                    "False" => "false",
                    "None" => "null",
                    _ => return None,
                });
            }
            other => json.push(other),
        }
    }
    serde_json::from_str(&json).ok()
}

/// Adds the string that began with `quote` as JSON.
fn string(quote: char, rest: &mut impl Iterator<Item = char>, json: &mut String) -> Option<()> {
    json.push('"');
    loop {
        match rest.next()? {
            end if end == quote => break,
            '"' => json.push_str("\\\""),
            '\\' => match rest.next()? {
                '\'' => json.push('\''),
                'x' => {
                    let code = format!("{}{}", rest.next()?, rest.next()?);
                    let code = u8::from_str_radix(&code, 16).ok()?;
                    write!(json, "\\u{code:04x}").ok()?;
                }
                other => json.extend(['\\', other]),
            },
            other => json.push(other),
        }
    }
    json.push('"');
    Some(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_python_prints_is_read() {
        for (text, expected) in [
            ("{'city': 'Oslo'}", json!({"city": "Oslo"})),
            (
                r#"{'it': "it's", 'said': 'a "b"', 'both': '\'"', 'line': 'a\nb\x1b'}"#,
                json!({"it": "it's", "said": "a \"b\"", "both": "'\"", "line": "a\nb\u{1b}"}),
            ),
            (
                "[True, False, None, 1.5, (1, 2)]",
                json!([true, false, null, 1.5, [1, 2]]),
            ),
        ] {
            assert_eq!(structure(text), Some(expected), "{text}");
        }
        for text in ["{'city': ", "{'city': Oslo}", "[<object at 0x7f>]", "{'a', 'b'}"] {
            assert_eq!(structure(text), None, "{text}");
        }
    }
}
