//! Trace and span identifiers: lower-case hex of an exact length, never all zeros.

use std::fmt;
use std::num::{NonZeroU64, NonZeroU128};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Identifies a run: 32 lower-case hex characters, never all zeros (specification, *Run directory*).
///
/// ```
/// use tracer_sdk::format::TraceId;
///
/// let id: TraceId = "10000000000000000000000000000001".parse()?;
/// assert_eq!(id.to_string(), "10000000000000000000000000000001");
/// assert!("10000000000000000000000000000001".to_uppercase().parse::<TraceId>().is_ok()); // no letters
/// assert!("ABC".parse::<TraceId>().is_err());
/// # Ok::<(), tracer_sdk::format::InvalidId>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(NonZeroU128);

/// Identifies a span within its run: 16 lower-case hex characters, never all zeros.
///
/// ```
/// use tracer_sdk::format::SpanId;
///
/// let id: SpanId = "00f067aa0ba902b7".parse()?;
/// assert_eq!(id.to_string(), "00f067aa0ba902b7");
/// # Ok::<(), tracer_sdk::format::InvalidId>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(NonZeroU64);

/// The text is not an identifier: wrong length, a character that is not lower-case hex, or all zeros.
///
/// ```
/// use tracer_sdk::format::{InvalidId, SpanId};
///
/// assert_eq!("0000000000000000".parse::<SpanId>(), Err(InvalidId));
/// assert_eq!(InvalidId.to_string(), "not lower-case hex of the right length, or all zeros");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("not lower-case hex of the right length, or all zeros")
    }
}

impl std::error::Error for InvalidId {}

/// The two characters of each byte: to compute them takes 5 % more instructions of a tool call.
const HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [digits[byte >> 4], digits[byte & 0xf]];
        byte += 1;
    }
    table
};

impl TraceId {
    /// Length of a trace ID, in hex characters.
    pub const LENGTH: usize = 32;

    /// The ID with this value; `None` for zero, which is not an ID.
    ///
    /// ```
    /// use tracer_sdk::format::TraceId;
    ///
    /// assert_eq!(TraceId::from_u128(0xabc).unwrap().to_string(), "00000000000000000000000000000abc");
    /// assert_eq!(TraceId::from_u128(0), None);
    /// ```
    #[must_use]
    pub const fn from_u128(value: u128) -> Option<Self> {
        match NonZeroU128::new(value) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// The 16 bytes, as OpenTelemetry's binary encoding has them.
    ///
    /// ```
    /// use tracer_sdk::format::TraceId;
    ///
    /// assert_eq!(TraceId::from_u128(0xabc).unwrap().to_bytes()[14..], [0xa, 0xbc]);
    /// ```
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 16] {
        self.0.get().to_be_bytes()
    }

    /// The 32 hex characters, without allocating.
    ///
    /// ```
    /// use tracer_sdk::format::TraceId;
    ///
    /// assert_eq!(&TraceId::from_u128(0xabc).unwrap().to_hex(), b"00000000000000000000000000000abc");
    /// ```
    #[must_use]
    pub fn to_hex(self) -> [u8; Self::LENGTH] {
        hex(self.0.get().to_be_bytes())
    }
}

impl SpanId {
    /// Length of a span ID, in hex characters.
    pub const LENGTH: usize = 16;

    /// The ID with this value; `None` for zero, which is not an ID.
    ///
    /// ```
    /// use tracer_sdk::format::SpanId;
    ///
    /// assert_eq!(SpanId::from_u64(0xabc).unwrap().to_string(), "0000000000000abc");
    /// assert_eq!(SpanId::from_u64(0), None);
    /// ```
    #[must_use]
    pub const fn from_u64(value: u64) -> Option<Self> {
        match NonZeroU64::new(value) {
            Some(value) => Some(Self(value)),
            None => None,
        }
    }

    /// The 16 hex characters as a text of its own: [`ToString`] formats them, which takes twice as long.
    pub(crate) fn to_text(self) -> String {
        as_str(&self.to_hex()).to_owned()
    }

    /// The value.
    pub const fn as_u64(self) -> u64 {
        self.0.get()
    }

    /// The 8 bytes, as OpenTelemetry's binary encoding has them.
    ///
    /// ```
    /// use tracer_sdk::format::SpanId;
    ///
    /// assert_eq!(SpanId::from_u64(0xabc).unwrap().to_bytes()[6..], [0xa, 0xbc]);
    /// ```
    #[must_use]
    pub const fn to_bytes(self) -> [u8; 8] {
        self.0.get().to_be_bytes()
    }

    /// The 16 hex characters, without allocating.
    ///
    /// ```
    /// use tracer_sdk::format::SpanId;
    ///
    /// assert_eq!(&SpanId::from_u64(0xabc).unwrap().to_hex(), b"0000000000000abc");
    /// ```
    #[must_use]
    pub fn to_hex(self) -> [u8; Self::LENGTH] {
        hex(self.0.get().to_be_bytes())
    }
}

fn hex<const BYTES: usize, const LENGTH: usize>(bytes: [u8; BYTES]) -> [u8; LENGTH] {
    let mut text = [b'0'; LENGTH];
    for (characters, byte) in text.as_chunks_mut().0.iter_mut().zip(bytes) {
        *characters = HEX[usize::from(byte)];
    }
    text
}

/// The digits as text; they are ASCII.
fn as_str(digits: &[u8]) -> &str {
    std::str::from_utf8(digits).unwrap_or_default()
}

fn parse_hex(text: &str, length: usize) -> Result<u128, InvalidId> {
    if text.len() != length {
        return Err(InvalidId);
    }
    text.bytes().try_fold(0u128, |value, byte| {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            _ => return Err(InvalidId),
        };
        Ok(value << 4 | u128::from(digit))
    })
}

impl FromStr for TraceId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        Self::from_u128(parse_hex(text, Self::LENGTH)?).ok_or(InvalidId)
    }
}

impl FromStr for SpanId {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        let value = u64::try_from(parse_hex(text, Self::LENGTH)?).map_err(|_| InvalidId)?;
        Self::from_u64(value).ok_or(InvalidId)
    }
}

macro_rules! as_text {
    ($type:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(as_str(&self.to_hex()))
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(formatter, "{}({self})", stringify!($type))
            }
        }

        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(as_str(&self.to_hex()))
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}

as_text!(TraceId);
as_text!(SpanId);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_id_is_lower_case_hex_of_the_exact_length_and_never_zero() {
        for bad in [
            "",
            "0",
            "00000000000000000000000000000000",
            "1000000000000000000000000000000G",
        ] {
            assert_eq!(bad.parse::<TraceId>(), Err(InvalidId), "{bad:?}");
        }
        for bad in [
            "0000000000000000",
            "00F067AA0BA902B7",
            "00f067aa0ba902b",
            "00f067aa0ba902b7 ",
        ] {
            assert_eq!(bad.parse::<SpanId>(), Err(InvalidId), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn text_and_value_agree(trace in 1u128.., span in 1u64..) {
            let trace = TraceId::from_u128(trace).unwrap();
            prop_assert_eq!(trace.to_string().parse(), Ok(trace));
            prop_assert_eq!(trace.to_string().into_bytes(), trace.to_hex());
            let span = SpanId::from_u64(span).unwrap();
            prop_assert_eq!(span.to_string().parse(), Ok(span));
            prop_assert_eq!(span.to_string().into_bytes(), span.to_hex());
        }
    }
}
