//! JSON string escaping into a byte buffer.

use crate::format::plain_bytes::{TOGETHER, plain_bytes};

/// For each byte what it becomes, and how many bytes that is: one, two behind a backslash, or the six-character form.
const ESCAPED: [([u8; LONGEST], u8); 256] = {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut table = [([0; LONGEST], 1); 256];
    let mut byte = u8::MAX;
    while byte > 0 {
        table[byte as usize].0[0] = byte;
        byte -= 1;
    }
    let mut control = 0;
    while control < 0x20 {
        let (high, low) = (HEX[control >> 4], HEX[control & 0xf]);
        table[control] = ([b'\\', b'u', b'0', b'0', high, low, 0], 6);
        control += 1;
    }
    let short = [
        (0x08, b'b'),
        (b'\t', b't'),
        (b'\n', b'n'),
        (0x0c, b'f'),
        (b'\r', b'r'),
        (b'"', b'"'),
        (b'\\', b'\\'),
    ];
    let mut number = 0;
    while number < short.len() {
        let (byte, letter) = short[number];
        table[byte as usize] = ([b'\\', letter, 0, 0, 0, 0, 0], 2);
        number += 1;
    }
    table
};

/// How much room an entry of the table has.
const LONGEST: usize = 7;

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends UTF-8 bytes with everything escaped that JSON asks for, without quotes.
pub(crate) fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + CHUNK);
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    for chunk in chunks {
        if needs_escape(chunk) {
            push_each(out, chunk);
        } else {
            out.extend_from_slice(chunk);
        }
    }
    if ends_plain(bytes) {
        out.extend_from_slice(rest);
    } else {
        push_each(out, rest);
    }
}

/// How many bytes the compiler compares at once.
const CHUNK: usize = 16;

/// Whether nothing is escaped in the last bytes, less than a chunk, as in most names.
fn ends_plain(bytes: &[u8]) -> bool {
    let is_plain = |word: &[u8; TOGETHER]| plain_bytes(*word) == TOGETHER;
    match (bytes.last_chunk(), bytes.first_chunk(), bytes.last_chunk()) {
        (Some(last), ..) => !needs_escape(last),
        // Together they are all of it.
        (None, Some(first), Some(last)) => is_plain(first) && is_plain(last),
        _ => false,
    }
}

#[expect(
    clippy::needless_bitwise_bool,
    reason = "without an early end all bytes are compared together"
)]
fn needs_escape(chunk: &[u8; CHUNK]) -> bool {
    let needs = |byte: u8| (byte < 0x20) | (byte == b'"') | (byte == b'\\');
    chunk.iter().fold(false, |any, &byte| any | needs(byte))
}

/// Appends at most a chunk byte by byte.
fn push_each(out: &mut Vec<u8>, bytes: &[u8]) {
    // Each entry is copied with all its room into what was made ready behind the text, and what is too much is overwritten
    // or cut off: no copy has a variable length.
    const ROOM: usize = (CHUNK + 1) * LONGEST;
    let start = out.len();
    out.extend_from_slice(&[0; ROOM]);
    let mut end = 0;
    // There is so much room now.
    if let Some(room) = out.last_chunk_mut::<ROOM>() {
        for &byte in bytes {
            let (text, length) = &ESCAPED[usize::from(byte)];
            room[end..end + LONGEST].copy_from_slice(text);
            end += usize::from(*length);
        }
    }
    out.truncate(start + end);
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
