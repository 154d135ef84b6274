//! [`ByteSet`]: which bytes belong to something. A long `matches!` is compiled to a jump for each byte, which takes three times as long.

/// Some of the bytes.
#[derive(Debug)]
pub(super) struct ByteSet([bool; 256]);

impl ByteSet {
    /// These.
    pub(super) const fn of(bytes: &[u8]) -> Self {
        Self([false; 256]).with(bytes, true)
    }

    /// All but these.
    pub(super) const fn all_but(bytes: &[u8]) -> Self {
        Self([true; 256]).with(bytes, false)
    }

    /// Letters and digits, and these.
    pub(super) const fn alphanumeric_and(bytes: &[u8]) -> Self {
        Self::of(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz").with(bytes, true)
    }

    const fn with(mut self, bytes: &[u8], belongs: bool) -> Self {
        let mut number = 0;
        while number < bytes.len() {
            self.0[bytes[number] as usize] = belongs;
            number += 1;
        }
        self
    }

    /// Whether `byte` belongs to it.
    #[inline]
    pub(super) const fn has(&self, byte: u8) -> bool {
        self.0[byte as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_and_what_is_left_of_all_bytes_have_no_byte_in_common() {
        let bytes = b" \t\"\xff\0";
        let (set, others) = (ByteSet::of(bytes), ByteSet::all_but(bytes));
        for byte in 0..=u8::MAX {
            assert_eq!(set.has(byte), bytes.contains(&byte), "{byte}");
            assert_ne!(set.has(byte), others.has(byte), "{byte}");
        }
    }
}
