//! [`PackedBytes`] and [`PackedCursor`]: numbers in as few bytes as they need, written and read back.
//!
//! A read behind the end fails; none panics.

use crate::{SpanId, Usage, UsageGap};

/// Bits of a number that a byte of it holds.
const BITS: u32 = 7;
/// Says that another byte follows.
const MORE: u8 = 0x80;

/// Bytes that grow by one value after the other.
#[derive(Debug, Default)]
pub(crate) struct PackedBytes(Vec<u8>);

impl PackedBytes {
    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn push_byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    /// A number in one byte for each seven bits.
    pub(crate) fn push_number(&mut self, mut number: u64) {
        while number >= u64::from(MORE) {
            self.0.push((number & 0x7f) as u8 | MORE);
            number >>= BITS;
        }
        self.0.push((number & 0x7f) as u8);
    }

    /// A number that is near zero, on either side.
    #[expect(clippy::cast_sign_loss, reason = "the sign is the lowest bit")]
    pub(crate) fn push_signed(&mut self, number: i64) {
        self.push_number((number << 1 ^ number >> 63) as u64);
    }

    /// A number that may be any: a hash.
    pub(crate) fn push_hash(&mut self, hash: u64) {
        self.0.extend(hash.to_le_bytes());
    }

    pub(crate) fn push_span_id(&mut self, span_id: SpanId) {
        self.push_hash(span_id.as_u64());
    }

    /// Tokens: which of them are known, and those.
    pub(crate) fn push_usage(&mut self, usage: &Usage) {
        let tokens = usage.parts();
        let gap = usage.gap.map_or(0, |gap| 1 + gap as u64);
        let known = (0..)
            .zip(tokens)
            .fold(gap << Usage::PARTS, |known, (bit, tokens)| {
                known | u64::from(tokens.is_some()) << bit
            });
        self.push_number(known);
        for tokens in tokens.into_iter().flatten() {
            self.push_number(tokens);
        }
    }
}

/// Reads values in the order in which they were written; `None` where there is none, or another one.
#[derive(Debug)]
pub(crate) struct PackedCursor<'a>(&'a [u8]);

impl<'a> PackedCursor<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for shift in (0..u64::BITS).step_by(BITS as usize) {
            let byte = self.byte()?;
            let bits = u64::from(byte & !MORE);
            if bits << shift >> shift != bits {
                return None;
            }
            number |= bits << shift;
            if byte & MORE == 0 {
                return Some(number);
            }
        }
        None
    }

    /// A number that has 32 bits.
    pub(crate) fn small_number(&mut self) -> Option<u32> {
        self.number()?.try_into().ok()
    }

    /// A number of things that are in memory.
    pub(crate) fn count(&mut self) -> Option<usize> {
        self.number()?.try_into().ok()
    }

    #[expect(clippy::cast_possible_wrap, reason = "the sign is the lowest bit")]
    pub(crate) fn signed(&mut self) -> Option<i64> {
        let number = self.number()?;
        Some((number >> 1) as i64 ^ -((number & 1) as i64))
    }

    fn array<const LENGTH: usize>(&mut self) -> Option<[u8; LENGTH]> {
        let (array, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*array)
    }

    pub(crate) fn hash(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn span_id(&mut self) -> Option<SpanId> {
        SpanId::from_u64(self.hash()?)
    }

    pub(crate) fn usage(&mut self) -> Option<Usage> {
        let known = self.number()?;
        let mut parts = [None; Usage::PARTS];
        for (bit, tokens) in parts.iter_mut().enumerate() {
            if known >> bit & 1 == 1 {
                *tokens = Some(self.number()?);
            }
        }
        let gap = match known >> Usage::PARTS {
            0 => None,
            number => Some(*UsageGap::ALL.get(usize::try_from(number - 1).ok()?)?),
        };
        Some(Usage {
            gap,
            ..Usage::from_parts(parts)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_read_is_what_was_written(
            number in any::<u64>(), signed in any::<i64>(), small in any::<u32>(),
        ) {
            let mut bytes = PackedBytes::default();
            bytes.push_number(number);
            bytes.push_signed(signed);
            bytes.push_number(u64::from(small));
            bytes.push_hash(number);
            let mut cursor = PackedCursor::new(bytes.as_slice());
            prop_assert_eq!(cursor.number(), Some(number));
            prop_assert_eq!(cursor.signed(), Some(signed));
            prop_assert_eq!(cursor.small_number(), Some(small));
            prop_assert_eq!(cursor.hash(), Some(number));
            prop_assert_eq!(cursor.byte(), None);
        }

        #[test]
        fn odd_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut cursor = PackedCursor::new(&bytes);
            while let Some(value) = cursor.number() {
                let _ = (value, cursor.signed(), cursor.small_number(), cursor.span_id());
            }
        }
    }
}
