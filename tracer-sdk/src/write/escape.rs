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
    out.reserve(bytes.len() + CHUNK);
    let (chunks, rest) = bytes.as_chunks::<CHUNK>();
    for chunk in chunks {
        match find_escapes(chunk) {
            0 => out.extend_from_slice(chunk),
            found => push_chunk(out, chunk, CHUNK, found),
        }
    }
    let mut last = [b' '; CHUNK];
    last[..rest.len()].copy_from_slice(rest);
    match find_escapes(&last) {
        0 => out.extend_from_slice(rest),
        found => push_chunk(out, &last, rest.len(), found),
    }
}

/// How many bytes the compiler compares at once. Byte by byte, a tool call takes 6 % more instructions and a model call 42 %.
const CHUNK: usize = 16;

/// The bytes that must be escaped: their bits are set.
fn find_escapes(chunk: &[u8; CHUNK]) -> u128 {
    // Without an early end, so that all bytes are compared together.
    let mut marks = [0; CHUNK];
    for (mark, &byte) in marks.iter_mut().zip(chunk) {
        *mark = match byte {
            ..0x20 | b'"' | b'\\' => u8::MAX,
            _ => 0,
        };
    }
    u128::from_le_bytes(marks)
}

/// Appends the first `length` bytes of a chunk with those escaped that were `found`.
fn push_chunk(out: &mut Vec<u8>, chunk: &[u8; CHUNK], length: usize, found: u128) {
    let mut found = found & u128::from_ne_bytes([0x80; CHUNK]);
    // A whole chunk is copied from any place, and what is too much is overwritten: no copy has a variable length.
    let mut source = [0; 2 * CHUNK];
    source[..CHUNK].copy_from_slice(chunk);
    let mut escaped = [0; 3 * CHUNK];
    let (mut from, mut end) = (0, 0);
    while found != 0 {
        let position = (found.trailing_zeros() / u8::BITS) as usize;
        escaped[end..end + CHUNK].copy_from_slice(&source[from..from + CHUNK]);
        end += position - from;
        let byte = chunk[position];
        match ESCAPES[usize::from(byte)] {
            b'u' => {
                out.extend_from_slice(&escaped[..end]);
                push_code(out, byte);
                end = 0;
            }
            escape => {
                escaped[end..end + 2].copy_from_slice(&[b'\\', escape]);
                end += 2;
            }
        }
        from = position + 1;
        found &= found - 1;
    }
    escaped[end..end + CHUNK].copy_from_slice(&source[from..from + CHUNK]);
    out.extend_from_slice(&escaped[..end + length - from]);
}

/// Appends `\u001f`.
fn push_code(out: &mut Vec<u8>, byte: u8) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xf)]);
    out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
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
