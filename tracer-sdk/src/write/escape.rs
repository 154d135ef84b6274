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
/// size, and taken off again where that was too much: that costs less than copying just the bytes that are wanted. Where
/// escapes follow each other, as in JSON text, a step is taken byte by byte.
pub(crate) fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len() + CHUNK);
    let mut rest = bytes;
    // How many escapes followed each other closely.
    let mut close = 0;
    while let Some((chunk, after)) = rest.split_first_chunk::<CHUNK>() {
        if close >= FEW_ESCAPES {
            push_each(out, chunk);
            close = 0;
            rest = after;
            continue;
        }
        out.extend_from_slice(chunk);
        rest = match first_escape(chunk) {
            None => {
                close = 0;
                after
            }
            Some(position) => {
                out.truncate(out.len() - (CHUNK - position));
                // `position` is below the length of a chunk.
                push_escape(out, rest[position]);
                close = if position < CHUNK / 2 { close + 1 } else { 0 };
                &rest[position + 1..]
            }
        };
    }
    push_few(out, rest);
}

/// As [`push_escaped`], for less than a chunk.
fn push_few(out: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.iter().all(|&byte| ESCAPES[usize::from(byte)] == 0) {
        return out.extend_from_slice(bytes);
    }
    push_each(out, bytes);
}

/// As [`push_escaped`], byte by byte, for no more than a chunk.
fn push_each(out: &mut Vec<u8>, bytes: &[u8]) {
    // Most escapes take two bytes; what takes six is rare enough to ask for room.
    let mut escaped = [0; 2 * CHUNK];
    let mut length = 0;
    for &byte in bytes {
        match ESCAPES[usize::from(byte)] {
            0 => {
                escaped[length] = byte;
                length += 1;
            }
            b'u' => {
                out.extend_from_slice(&escaped[..length]);
                length = 0;
                push_escape(out, byte);
            }
            escape => {
                escaped[length] = b'\\';
                escaped[length + 1] = escape;
                length += 2;
            }
        }
    }
    out.extend_from_slice(&escaped[..length]);
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

/// How many bytes the compiler compares at once.
const CHUNK: usize = 16;

/// So many escapes close to each other are taken one after the other.
const FEW_ESCAPES: usize = 4;

/// Where the first byte is that must be escaped.
fn first_escape(chunk: &[u8; CHUNK]) -> Option<usize> {
    // Without an early end, so that all bytes are compared together.
    let mut marks = [0; CHUNK];
    for (mark, &byte) in marks.iter_mut().zip(chunk) {
        *mark = match byte {
            ..0x20 | b'"' | b'\\' => u8::MAX,
            _ => 0,
        };
    }
    match u128::from_le_bytes(marks) {
        0 => None,
        found => Some((found.trailing_zeros() / u8::BITS) as usize),
    }
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
