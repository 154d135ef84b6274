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
///
/// Most of what is written passes through here, and most of it needs no escape.
pub(crate) fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len());
    if bytes.len() >= LONG && has_usual_escapes_only(bytes) {
        return push_long(out, bytes);
    }
    let mut copied = 0;
    while let Some(position) = next_escape(bytes, copied) {
        out.extend_from_slice(&bytes[copied..position]);
        push_escape(out, bytes[position]);
        copied = position + 1;
    }
    out.extend_from_slice(&bytes[copied..]);
}

/// As [`push_escaped`], for text with the usual escapes only.
fn push_long(out: &mut Vec<u8>, bytes: &[u8]) {
    let mut copied = 0;
    for position in memchr::memchr3_iter(b'"', b'\\', b'\n', bytes) {
        out.extend_from_slice(&bytes[copied..position]);
        push_escape(out, bytes[position]);
        copied = position + 1;
    }
    out.extend_from_slice(&bytes[copied..]);
}

/// From this length on it pays to look twice: once for rare escapes, once for the usual ones.
const LONG: usize = 128;

/// Whether nothing but quotes, backslashes and line feeds must be escaped. Without an early end, so that the compiler
/// compares many bytes at once.
fn has_usual_escapes_only(bytes: &[u8]) -> bool {
    let rare = bytes
        .iter()
        .fold(0, |rare, &byte| rare | u8::from(byte < 0x20 && byte != b'\n'));
    rare == 0
}

/// Where the first byte at or after `position` is that must be escaped.
fn next_escape(bytes: &[u8], mut position: usize) -> Option<usize> {
    loop {
        let rest = bytes.get(position..)?;
        let Some(word) = rest.first_chunk() else {
            let offset = rest.iter().position(|byte| ESCAPES[usize::from(*byte)] != 0)?;
            return Some(position + offset);
        };
        let found = must_be_escaped(u64::from_le_bytes(*word));
        if found != 0 {
            return Some(position + (found.trailing_zeros() / u8::BITS) as usize);
        }
        position += WORD;
    }
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    match ESCAPES[usize::from(byte)] {
        b'u' => {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        }
        escape => out.extend_from_slice(&[b'\\', escape]),
    }
}

/// How many bytes of a short text are looked at together.
const WORD: usize = 8;

const ONES: u64 = u64::from_le_bytes([1; WORD]);
const HIGH_BITS: u64 = ONES << 7;

/// Zero when nothing must be escaped; otherwise its lowest bit is the high bit of the first byte that must be.
const fn must_be_escaped(word: u64) -> u64 {
    // Subtracting borrows into a high bit that was not set, from the first byte that is less on; those after it, which
    // the borrow may have reached, are looked at again.
    let quote = word ^ (ONES * b'"' as u64);
    let backslash = word ^ (ONES * b'\\' as u64);
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote.wrapping_sub(ONES) & !quote | backslash.wrapping_sub(ONES) & !backslash | control) & HIGH_BITS
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
        fn what_must_be_escaped_is_found_at_every_place(
            text in r#"[a"\\\x00-\x21\x7fé]{0,40}|[a-zé"\\\n]{100,300}|[a-zé"\\\n\t]{100,300}"#,
        ) {
            let mut out = Vec::new();
            push_string(&mut out, &text);
            prop_assert_eq!(out, serde_json::to_vec(&text).unwrap());
        }
    }
}
