//! Two numbers of a JSON value: that of its shape, and that of the value itself (see [`super::value`]). Every tool call is
//! compared by them, and few shapes are ever written.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use super::asked::is_list_of_messages;
use super::limits::{MAX_DEPTH, MAX_ITEMS};
use super::value::{self, EntriesHash, Items};

/// The numbers of the shapes of scalars, and of what a shape leaves out. That of `{}` is 0.
const NULL: u64 = 1;
const BOOL: u64 = 2;
const INT: u64 = 3;
const FLOAT: u64 = 4;
const STR: u64 = 5;
const REST: u64 = 6;

/// The numbers of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// The same for values of the same shape, as good as never for others. A key that is given twice counts twice.
    pub(super) shape: u64,
    /// The same for equal values.
    pub(super) value: u64,
}

impl Numbers {
    /// Those of a value within `depth` containers.
    fn at_depth(self, depth: usize) -> Self {
        if depth < MAX_DEPTH {
            self
        } else {
            Self { shape: REST, ..self }
        }
    }
}

/// The numbers of the JSON value in `text`; `None` when that is not one JSON value.
pub(crate) fn of_json(text: &[u8]) -> Option<Numbers> {
    read(text, None)
}

/// The number of the JSON value in `text`.
pub fn of_value(text: &[u8]) -> Option<u64> {
    of_json(text).map(|numbers| numbers.value)
}

/// The number of the prompt in `text`, which is JSON, and that of its last message; of one that is no list of messages, both
/// are its own.
pub fn of_prompt(text: &[u8]) -> Option<(u64, u64)> {
    let mut last = None;
    let whole = read(text, Some(&mut last))?.value;
    Some((whole, last.unwrap_or(whole)))
}

fn read(text: &[u8], last: Option<&mut Option<u64>>) -> Option<Numbers> {
    let mut text = serde_json::Deserializer::from_slice(text);
    let numbers = Numbered { depth: 0, last }.deserialize(&mut text).ok()?;
    text.end().ok()?;
    Some(numbers)
}

/// A value that is read within `depth` containers.
struct Numbered<'l> {
    depth: usize,
    /// Receives the hash of the last item, if the value is an array or holds a list of messages.
    last: Option<&'l mut Option<u64>>,
}

impl Numbered<'_> {
    /// A number, `true`, `false` or `null`, by its text.
    fn word<E: Error>(&self, shape: u64, word: impl serde::Serialize) -> Result<Numbers, E> {
        // Longer than any number.
        let mut text = [0; 40];
        let mut rest = &mut text[..];
        serde_json::to_writer(&mut rest, &word).map_err(E::custom)?;
        let left = rest.len();
        let written = text.get(..text.len() - left).unwrap_or_default();
        let value = value::of_text(written);
        Ok(Numbers { shape, value }.at_depth(self.depth))
    }
}

impl<'de> DeserializeSeed<'de> for Numbered<'_> {
    type Value = Numbers;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Numbers, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Numbered<'_> {
    type Value = Numbers;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Numbers, E> {
        self.word(NULL, ())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Numbers, E> {
        self.word(BOOL, value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Numbers, E> {
        self.word(INT, value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Numbers, E> {
        self.word(INT, value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Numbers, E> {
        self.word(FLOAT, value)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Numbers, E> {
        let (shape, value) = (STR, value::of_string(text.as_bytes()));
        Ok(Numbers { shape, value }.at_depth(self.depth))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Numbers, A::Error> {
        let mut array = OpenNumbers::ARRAY;
        let mut last = None;
        let depth = self.depth + 1;
        while let Some(item) = items.next_element_seed(Numbered { depth, last: None })? {
            array.add(item);
            last = Some(item.value);
        }
        if let Some(place) = self.last {
            *place = last.or(*place);
        }
        Ok(array.numbers().at_depth(self.depth))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Numbers, A::Error> {
        let mut object = OpenNumbers::OBJECT;
        let depth = self.depth + 1;
        let mut messages = self.last.filter(|_| self.depth == 0);
        while let Some(is_list) = members.next_key_seed(KeyNumber(&mut object))? {
            let last = messages.as_deref_mut().filter(|_| is_list);
            object.add(members.next_value_seed(Numbered { depth, last })?);
        }
        Ok(object.numbers().at_depth(self.depth))
    }
}

/// A key of an object that is read; says whether it may be that of a list of messages.
struct KeyNumber<'o>(&'o mut OpenNumbers);

impl<'de> DeserializeSeed<'de> for KeyNumber<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<bool, D::Error> {
        source.deserialize_str(self)
    }
}

impl Visitor<'_> for KeyNumber<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<bool, E> {
        self.0.key(key.as_bytes());
        Ok(is_list_of_messages(key.as_bytes()))
    }
}

/// The shapes of the items of an array, up to the limit of its own shape.
#[derive(Debug, Clone, Copy)]
struct DistinctShapes {
    first: [u64; MAX_ITEMS],
    items: usize,
}

impl DistinctShapes {
    const NONE: Self = Self {
        first: [0; MAX_ITEMS],
        items: 0,
    };

    fn add(&mut self, shape: u64) {
        if let Some(place) = self.first.get_mut(self.items) {
            *place = shape;
        }
        self.items = (self.items + 1).min(MAX_ITEMS + 1);
    }

    fn number(&self) -> u64 {
        let mut numbers = Items::NONE;
        let first = self.first.get(..self.items).unwrap_or(&self.first);
        for (place, shape) in first.iter().enumerate() {
            if !first.iter().take(place).any(|before| before == shape) {
                numbers.add(*shape);
            }
        }
        if self.items > MAX_ITEMS {
            numbers.add(REST);
        }
        numbers.number()
    }
}

/// The numbers of an array or object that is open.
#[derive(Debug, Clone, Copy)]
enum OpenNumbers {
    Object {
        key: u64,
        shapes: EntriesHash,
        values: EntriesHash,
    },
    Array {
        shapes: DistinctShapes,
        values: Items,
    },
}

impl OpenNumbers {
    const OBJECT: Self = Self::Object {
        key: 0,
        shapes: EntriesHash::NONE,
        values: EntriesHash::NONE,
    };
    const ARRAY: Self = Self::Array {
        shapes: DistinctShapes::NONE,
        values: Items::NONE,
    };

    /// The key of the value that comes next.
    fn key(&mut self, text: &[u8]) {
        if let Self::Object { key, .. } = self {
            *key = value::of_text(text);
        }
    }

    fn add(&mut self, numbers: Numbers) {
        match self {
            Self::Object { key, shapes, values } => {
                shapes.add(*key, numbers.shape);
                values.add(*key, numbers.value);
            }
            Self::Array { shapes, values } => {
                shapes.add(numbers.shape);
                values.add(numbers.value);
            }
        }
    }

    fn numbers(&self) -> Numbers {
        let (shape, value) = match self {
            Self::Object { shapes, values, .. } => (shapes.number(), values.number()),
            Self::Array { shapes, values } => (shapes.number(), values.number()),
        };
        Numbers { shape, value }
    }
}
