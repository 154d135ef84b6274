//! Which bytes a JSON string holds as they are, looked at eight at a time.

/// How many bytes are looked at together.
pub(crate) const TOGETHER: usize = 8;

const LOW: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x8080_8080_8080_8080;

/// How many bytes are before the first quote, backslash or control character; [`TOGETHER`] when there is none.
#[inline]
pub(crate) fn plain_bytes(bytes: [u8; TOGETHER]) -> usize {
    let word = u64::from_le_bytes(bytes);
    first(less(word, 0x20) | equal(word, b'"') | equal(word, b'\\'))
}

/// Sets the highest bit of each byte that is less than `limit`, at most 0x80, and perhaps of those after it, which the
/// subtraction borrows from: the first one is always right.
const fn less(word: u64, limit: u64) -> u64 {
    word.wrapping_sub(LOW * limit) & !word & HIGH
}

/// As [`less`], of each byte that is `byte`.
const fn equal(word: u64, byte: u8) -> u64 {
    less(word ^ (LOW * byte as u64), 1)
}

/// The number of the first byte whose highest bit is set.
const fn first(found: u64) -> usize {
    // At most 64 zeros.
    found.trailing_zeros() as usize / 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_byte_to_be_escaped_is_found(
            bytes in proptest::array::uniform8(prop_oneof![any::<u8>(), proptest::sample::select(&b"\"\\\x1f\x20!#[]\x80\xff"[..])]),
        ) {
            let special = |byte: &u8| *byte < 0x20 || matches!(byte, b'"' | b'\\');
            let expected = bytes.iter().position(special).unwrap_or(TOGETHER);
            prop_assert_eq!(plain_bytes(bytes), expected);
        }
    }
}
