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
/// Most of what is written passes through here, and most of it needs no escape. Bytes are copied in steps of a fixed
/// size, and taken off again where that was too much: that costs less than copying just the bytes that are wanted.
pub(crate) fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + WORD);
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<WORD>() {
        if let Some((chunk, after)) = rest.split_first_chunk::<CHUNK>()
            && rest.len() >= LONG
            && !needs_escape(chunk)
        {
            out.extend_from_slice(chunk);
            rest = after;
            continue;
        }
        out.extend_from_slice(word);
        let found = must_be_escaped(u64::from_le_bytes(*word));
        if found == 0 {
            rest = after;
        } else {
            let before = (found.trailing_zeros() / u8::BITS) as usize;
            out.truncate(out.len() - (WORD - before));
            // `before` is below the length of a word.
            push_escape(out, rest[before]);
            rest = &rest[before + 1..];
        }
    }
    push_few(out, rest);
}

/// Whether `text` is the same as part of a JSON string.
pub(crate) fn needs_no_escape(text: &str) -> bool {
    text.bytes().all(|byte| ESCAPES[usize::from(byte)] == 0)
}

/// As [`push_escaped`], for less than a word.
fn push_few(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.iter().all(|&byte| ESCAPES[usize::from(byte)] == 0) {
        return out.extend_from_slice(bytes);
    }
    for &byte in bytes {
        if ESCAPES[usize::from(byte)] == 0 {
            out.push(byte);
        } else {
            push_escape(out, byte);
        }
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

/// Where so much is left, it pays to look at whole chunks first: prose has few escapes, short texts of JSON many.
const LONG: usize = 128;

/// How many bytes the compiler compares at once.
const CHUNK: usize = 16;

/// Without an early end, so that all bytes are compared together.
fn needs_escape(chunk: &[u8; CHUNK]) -> bool {
    let must_be_escaped = |byte: u8| u8::from(byte < 0x20) | u8::from(byte == b'"') | u8::from(byte == b'\\');
    chunk.iter().fold(0, |any, &byte| any | must_be_escaped(byte)) != 0
}

/// How many bytes are looked at together where escapes are many.
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
