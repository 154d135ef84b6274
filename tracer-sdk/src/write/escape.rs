//! JSON string escaping into a byte buffer.

/// What follows the backslash for each byte that must be escaped: 0 for none, `u` for the six-character form.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 0x20 {
        table[control] = b'u';
        control += 1;
    }
    table[0x08] = b'b';
    table[b'\t' as usize] = b't';
    table[b'\n' as usize] = b'n';
    table[0x0c] = b'f';
    table[b'\r' as usize] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends UTF-8 bytes with everything escaped that JSON asks for, without quotes.
pub(crate) fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len());
    let mut rest = bytes;
    while let Some((position, byte)) = next_escaped(rest) {
        let escape = ESCAPES[usize::from(byte)];
        out.extend_from_slice(&rest[..position]);
        rest = &rest[position + 1..];
        if escape == b'u' {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        } else {
            out.extend_from_slice(&[b'\\', escape]);
        }
    }
    out.extend_from_slice(rest);
}

/// The first byte that must be escaped, and where it is. Eight bytes are looked at together: most of what is written
/// passes through here, and most of it needs no escape.
fn next_escaped(bytes: &[u8]) -> Option<(usize, u8)> {
    let (words, tail) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let found = must_be_escaped(u64::from_le_bytes(*word));
        if found != 0 {
            // The lowest bit that is set is in the first such byte.
            let offset = (found.trailing_zeros() / 8) as usize;
            return Some((number * 8 + offset, word[offset]));
        }
    }
    let offset = tail.iter().position(|&byte| ESCAPES[usize::from(byte)] != 0)?;
    Some((words.len() * 8 + offset, tail[offset]))
}

/// The high bit of each byte that must be escaped; bits above the lowest one may be wrong, because subtraction borrows.
const fn must_be_escaped(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGH_BITS: u64 = ONES << 7;
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let is_control = word.wrapping_sub(ONES * 0x20) & !word;
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    (is_control | is_quote | is_backslash) & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_string_is_written_as_serde_json_writes_it(text in any::<String>()) {
            let mut out = Vec::new();
            push_string(&mut out, &text);
            prop_assert_eq!(out, serde_json::to_vec(&text).unwrap());
        }

        #[test]
        fn what_must_be_escaped_is_found_at_every_place(text in r#"[a"\\\x00-\x21\x7fé]{0,40}"#) {
            let mut out = Vec::new();
            push_string(&mut out, &text);
            prop_assert_eq!(out, serde_json::to_vec(&text).unwrap());
        }
    }
}
