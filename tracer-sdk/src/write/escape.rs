//! JSON string escaping into a byte buffer.

use super::plain_bytes::{TOGETHER, plain_bytes};

/// For each byte what it becomes, behind that nothing, and in the last byte how many bytes that is and how many of them
/// only the second escaping adds.
type Escapes = [[u8; WIDTH]; 256];

/// How much room an entry of a table has.
const WIDTH: usize = 8;

/// An escape has at most seven bytes: its length fills this many bits.
const LENGTH_BITS: u32 = 4;
const LENGTH_MASK: u8 = (1 << LENGTH_BITS) - 1;

/// Escapes of text in a JSON string.
static ONCE: Escapes = escapes(false);

/// Escapes of text in a JSON string in JSON text that is in a JSON string itself. A table of its own: to escape JSON text
/// after it was put together takes 5 % more instructions of a tool call that gives 2 kB of a log.
static TWICE: Escapes = escapes(true);

const fn escapes(twice: bool) -> Escapes {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut table = [[0; WIDTH]; 256];
    let mut byte = u8::MAX;
    while byte > 0 {
        table[byte as usize][0] = byte;
        table[byte as usize][WIDTH - 1] = 1;
        byte -= 1;
    }
    let mut control = 0;
    while control < 0x20 {
        let (high, low) = (HEX[control >> 4], HEX[control & 0xf]);
        table[control] = escape(&[b'\\', b'u', b'0', b'0', high, low], twice);
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
        table[byte as usize] = escape(&[b'\\', letter], twice);
        number += 1;
    }
    table
}

/// An entry of a table: the escape, or the escape of its own bytes.
const fn escape(once: &[u8], twice: bool) -> [u8; WIDTH] {
    let mut entry = [0; WIDTH];
    let mut length = 0_u8;
    let mut added = 0_u8;
    let mut number = 0;
    while number < once.len() {
        let byte = once[number];
        if twice && (byte == b'"' || byte == b'\\') {
            entry[length as usize] = b'\\';
            length += 1;
            added += 1;
        }
        entry[length as usize] = byte;
        length += 1;
        number += 1;
    }
    entry[WIDTH - 1] = length | added << LENGTH_BITS;
    entry
}

/// Appends `text` as a JSON string, quotes included.
pub(crate) fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    push_escaped(out, text.as_bytes());
    out.push(b'"');
}

/// Appends UTF-8 bytes with everything escaped that JSON asks for, without quotes.
pub(crate) fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    push_by(&ONCE, out, bytes);
}

/// As [`push_escaped`], and that escaped again; how many bytes only the second escaping adds.
pub(crate) fn push_escaped_twice(out: &mut Vec<u8>, bytes: &[u8]) -> usize {
    push_by(&TWICE, out, bytes)
}

#[inline]
fn push_by(escapes: &Escapes, out: &mut Vec<u8>, bytes: &[u8]) -> usize {
    out.reserve(bytes.len() + CHUNK);
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    let mut added = 0;
    for chunk in chunks {
        if needs_escape(chunk) {
            added += push_each(escapes, out, chunk);
        } else {
            out.extend_from_slice(chunk);
        }
    }
    if ends_plain(bytes) {
        out.extend_from_slice(rest);
    } else {
        added += push_each(escapes, out, rest);
    }
    added
}

/// How many bytes the compiler compares at once. One after the other, a model call with 4 kB takes 1.5 times the instructions, and
/// a tool call 3 % more.
const CHUNK: usize = 16;

/// Whether nothing is escaped in the last bytes, less than a chunk, as in most names: to go through them takes 3 % more instructions
/// of a tool call.
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

/// Appends at most a chunk byte by byte; how many bytes only the second escaping adds.
fn push_each(escapes: &Escapes, out: &mut Vec<u8>, bytes: &[u8]) -> usize {
    // Each entry is copied with all its room into what was made ready behind the text, and what is too much is overwritten
    // or cut off: no copy has a variable length.
    const ROOM: usize = (CHUNK + 1) * WIDTH;
    let start = out.len();
    out.extend_from_slice(&[0; ROOM]);
    let (mut end, mut lengths) = (0, 0);
    // There is so much room now.
    if let Some(room) = out.last_chunk_mut::<ROOM>() {
        for &byte in bytes {
            let entry = &escapes[usize::from(byte)];
            room[end..end + WIDTH].copy_from_slice(entry);
            end += usize::from(entry[WIDTH - 1] & LENGTH_MASK);
            lengths += usize::from(entry[WIDTH - 1]);
        }
    }
    out.truncate(start + end);
    (lengths - end) >> LENGTH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_escaped_twice_is_escaped_and_then_again(
            text in r#"[a"\\\x00-\x21\x7fé]{0,40}|[a-zé"\\\n\t]{100,300}|\PC{0,60}"#,
        ) {
            let (mut once, mut again, mut twice) = (Vec::new(), Vec::new(), Vec::new());
            push_escaped(&mut once, text.as_bytes());
            push_escaped(&mut again, &once);
            let added = push_escaped_twice(&mut twice, text.as_bytes());
            prop_assert_eq!(added, again.len() - once.len());
            prop_assert_eq!(twice, again);
        }

        #[test]
        fn a_string_is_written_as_serde_json_writes_it(
            text in prop_oneof![
                any::<String>(),
                r#"[a"\\\x00-\x21\x7fé]{0,40}|[a-zé"\\\n]{100,300}|[a-zé"\\\n\t]{100,300}"#,
            ],
        ) {
            let mut out = Vec::new();
            push_string(&mut out, &text);
            prop_assert_eq!(out, serde_json::to_vec(&text).unwrap());
        }
    }
}
