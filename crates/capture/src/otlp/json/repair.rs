//! Texts that are no Unicode: halves of surrogate pairs, bytes that are no UTF-8.

use std::borrow::Cow;

/// What is read in the place of what is no character.
const REPLACEMENT_ESCAPE: &[u8] = b"\\ufffd";

/// `body` with each half of a surrogate pair, and each byte that is no UTF-8, replaced by U+FFFD. Borrowed when there is
/// none.
pub(super) fn unicode(body: &[u8]) -> Cow<'_, [u8]> {
    let valid = match String::from_utf8_lossy(body) {
        Cow::Borrowed(_) => Cow::Borrowed(body),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    };
    match without_halves(&valid) {
        Some(repaired) => Cow::Owned(repaired),
        None => valid,
    }
}

fn without_halves(body: &[u8]) -> Option<Vec<u8>> {
    let mut repaired: Option<Vec<u8>> = None;
    let mut position = 0;
    while let Some(byte) = body.get(position) {
        let rest = body.get(position..).unwrap_or_default();
        let (length, is_half) = match byte {
            b'\\' => match (escaped_unit(rest), rest.get(6..).and_then(escaped_unit)) {
                (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => (12, false),
                (Some(0xd800..=0xdfff), _) => (6, true),
                (Some(_), _) => (6, false),
                // An escaped backslash, so that what follows is no escape.
                (None, _) => (2, false),
            },
            _ => (1, false),
        };
        let end = (position + length).min(body.len());
        if is_half {
            let repaired = repaired.get_or_insert_with(|| body.get(..position).unwrap_or_default().to_vec());
            repaired.extend_from_slice(REPLACEMENT_ESCAPE);
        } else if let Some(repaired) = &mut repaired {
            repaired.extend_from_slice(body.get(position..end).unwrap_or_default());
        }
        position = end;
    }
    repaired
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
    fn halves_are_replaced_and_pairs_are_kept() {
        let cases: [(&[u8], &[u8]); 5] = [
            (br#""cut \ud83d""#, br#""cut \ufffd""#),
            (br#""\udc00 and \ud83d\ude00""#, br#""\ufffd and \ud83d\ude00""#),
            (br#""\ud83d\ud83d\ude00""#, br#""\ufffd\ud83d\ude00""#),
            (br#""\\ud83d \u00e9""#, br#""\\ud83d \u00e9""#),
            (b"\"bytes \xff\"", "\"bytes \u{fffd}\"".as_bytes()),
        ];
        for (body, repaired) in cases {
            assert_eq!(unicode(body), repaired);
        }
        assert!(matches!(unicode(br#""plain \ud83d\ude00 \\""#), Cow::Borrowed(_)));
    }
}
