//! One number for a value: the same for equal values, whatever order their objects have, and as good as never for others.
//!
//! The emitter hashes its own JSON text (see [`super::numbers`]); a reader hashes the values that it has read.

use serde_json::Value;

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
const FACTOR: u64 = 0xd6e8_feb8_6659_fd93;

/// Both numbers as one; the order counts.
pub(crate) fn mix(left: u64, right: u64) -> u64 {
    let product = u128::from(left ^ SEED) * u128::from(right.rotate_left(32) ^ FACTOR);
    #[expect(clippy::cast_possible_truncation, reason = "both halves are wanted")]
    let (low, high) = (product as u64, (product >> 64) as u64);
    low ^ high
}

/// The number of a text.
pub fn of_text(text: &[u8]) -> u64 {
    let start = mix(SEED, text.len() as u64);
    let Some(last) = text.last_chunk() else {
        return mix(start ^ of_short(text), SEED);
    };
    // Four sums side by side, because each multiplication waits for the one before: a long prompt takes a third of the
    // time that one sum takes.
    let (blocks, rest) = text.as_chunks::<32>();
    let mut together = start;
    if !blocks.is_empty() {
        let mut sums = [start, start ^ SEED, start ^ FACTOR, !start];
        for block in blocks {
            for (sum, word) in sums.iter_mut().zip(block.as_chunks::<8>().0) {
                *sum = mix(*sum ^ u64::from_le_bytes(*word), FACTOR);
            }
        }
        together = sums.into_iter().fold(start, mix);
    }
    let (words, _) = rest.as_chunks::<8>();
    let hash = words.iter().fold(together, |hash, word| {
        mix(hash ^ u64::from_le_bytes(*word), FACTOR)
    });
    // The rest behind the last whole word, with some of the bytes before it.
    mix(hash ^ u64::from_le_bytes(*last), SEED)
}

/// All bytes of a text of less than eight.
fn of_short(text: &[u8]) -> u64 {
    match (text.first_chunk(), text.last_chunk()) {
        (Some(first), Some(last)) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        _ => text.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}

/// The number of a string with this text: the text `12` is not the number 12.
pub(super) fn of_string(text: &[u8]) -> u64 {
    mix(of_text(text), SEED)
}

/// Numbers of the items of an array, in their order.
#[derive(Debug, Clone, Copy)]
pub(super) struct Items(u64);

impl Items {
    pub(super) const NONE: Self = Self(FACTOR);

    pub(super) fn add(&mut self, item: u64) {
        self.0 = mix(self.0, item);
    }

    pub(super) fn number(self) -> u64 {
        mix(self.0, SEED)
    }
}

/// Numbers of the entries of an object, in any order: maps give their keys as it comes.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntriesHash(u64);

impl EntriesHash {
    pub(super) const NONE: Self = Self(SEED);

    pub(super) fn add(&mut self, key: u64, value: u64) {
        self.0 = self.0.wrapping_add(mix(key, value));
    }

    pub(super) fn number(self) -> u64 {
        mix(self.0, FACTOR)
    }
}

/// The number of a value that was read. `text` gives that of a text, with the key that it stands under, and may leave out
/// what says nothing; `number` likewise.
pub fn of_value(value: &Value, key: Option<&str>, scalar: &impl Fn(Option<&str>, &Value) -> u64) -> u64 {
    match value {
        Value::Object(object) => {
            let mut entries = EntriesHash::NONE;
            for (key, value) in object {
                entries.add(of_text(key.as_bytes()), of_value(value, Some(key), scalar));
            }
            entries.number()
        }
        Value::Array(items) => {
            let mut numbers = Items::NONE;
            for item in items {
                numbers.add(of_value(item, key, scalar));
            }
            numbers.number()
        }
        plain => scalar(key, plain),
    }
}

/// The number of a text, a number, a boolean or null, as it is.
pub fn of_scalar(_key: Option<&str>, value: &Value) -> u64 {
    match value {
        Value::String(text) => of_string(text.as_bytes()),
        other => of_text(other.to_string().as_bytes()),
    }
}
