//! Reads one value from any self-describing deserializer and writes its shape; what a shape leaves out is skipped.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::entries::Entries;
use super::shape::{MAX_SHAPE_BYTES, REST, beginning};

/// Containers nest this deep in a shape; what lies deeper is `...`.
pub(super) const MAX_DEPTH: usize = 4;
/// How many items of an array are looked at.
pub(super) const MAX_ITEMS: usize = 3;

/// Writes the shape of one value to the end of a text.
pub(super) struct Shape<'a> {
    pub(super) entries: &'a mut Entries,
    pub(super) out: &'a mut String,
    /// How many containers are around the value.
    pub(super) depth: usize,
}

impl Shape<'_> {
    fn word(self, word: &str) {
        self.out.push_str(word);
    }

    fn inner(&mut self) -> Shape<'_> {
        Shape {
            entries: self.entries,
            out: self.out,
            depth: self.depth + 1,
        }
    }
}

impl<'de> DeserializeSeed<'de> for Shape<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.depth < MAX_DEPTH {
            return deserializer.deserialize_any(self);
        }
        deserializer.deserialize_ignored_any(IgnoredAny)?;
        self.word(REST);
        Ok(())
    }
}

impl<'de> Visitor<'de> for Shape<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.word("null");
        Ok(())
    }

    fn visit_none<E>(self) -> Result<(), E> {
        self.word("null");
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.word("bool");
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.word("int");
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        self.word("int");
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.word("float");
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.word("str");
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<(), A::Error> {
        self.out.push('[');
        let first = self.out.len();
        let mut shapes = [first..first, first..first, first..first];
        let mut ended = false;
        for index in 0..MAX_ITEMS {
            let before = self.out.len();
            if before > first {
                self.out.push('|');
            }
            let start = self.out.len();
            ended = sequence.next_element_seed(self.inner())?.is_none();
            let shape = self.out.get(start..);
            let seen = shapes
                .iter()
                .take(index)
                .any(|range| self.out.get(range.clone()) == shape);
            if ended || seen {
                self.out.truncate(before);
            } else if let Some(range) = shapes.get_mut(index) {
                *range = start..self.out.len();
            }
            if ended {
                break;
            }
        }
        if !ended && sequence.next_element::<IgnoredAny>()?.is_some() {
            self.out.push(',');
            self.out.push_str(REST);
            while sequence.next_element::<IgnoredAny>()?.is_some() {}
        }
        self.out.push(']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        self.out.push('{');
        let object = self.entries.begin(self.out);
        loop {
            let start = self.out.len();
            if map.next_key_seed(Key(self.out))?.is_none() {
                break;
            }
            let key_end = self.out.len();
            self.out.push(':');
            map.next_value_seed(self.inner())?;
            self.entries.add(&object, start, key_end, self.out);
        }
        self.entries.end(&object, self.out);
        self.out.push('}');
        Ok(())
    }
}

/// Writes the key of one entry, as far as a shape can hold it.
struct Key<'a>(&'a mut String);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object key")
    }

    fn visit_str<E>(self, key: &str) -> Result<(), E> {
        self.0.push_str(beginning(key, key.len().min(MAX_SHAPE_BYTES)));
        Ok(())
    }
}
