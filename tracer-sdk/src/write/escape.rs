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
/// Eight bytes are looked at together: most of what is written passes through here, and most of it needs no escape.
pub(crate) fn push_escaped(out: &mut Vec<u8>, bytes: &[u8]) {
    out.reserve(bytes.len());
    let mut copied = 0;
    let mut escape = |position: usize| {
        out.extend_from_slice(&bytes[copied..position]);
        push_escape(out, bytes[position]);
        copied = position + 1;
    };
    let (words, tail) = bytes.as_chunks::<8>();
    for (number, word) in words.iter().enumerate() {
        let mut found = must_be_escaped(u64::from_le_bytes(*word));
        while found != 0 {
            escape(number * 8 + (found.trailing_zeros() / 8) as usize);
            found &= found - 1;
        }
    }
    for (offset, &byte) in tail.iter().enumerate() {
        if ESCAPES[usize::from(byte)] != 0 {
            escape(words.len() * 8 + offset);
        }
    }
    out.extend_from_slice(&bytes[copied..]);
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

const ONES: u64 = u64::from_le_bytes([1; 8]);

/// The high bit of each byte that must be escaped: quotes, backslashes and what is below a space.
const fn must_be_escaped(word: u64) -> u64 {
    zero_bytes(word ^ (ONES * b'"' as u64))
        | zero_bytes(word ^ (ONES * b'\\' as u64))
        | zero_bytes(word & (ONES * 0xe0))
}

/// The high bit of each byte that is zero.
const fn zero_bytes(word: u64) -> u64 {
    const LOW_BITS: u64 = ONES * 0x7f;
    // Adding carries into a byte's high bit when one of its low bits is set, and never out of the byte.
    !(((word & LOW_BITS) + LOW_BITS) | word | LOW_BITS)
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
