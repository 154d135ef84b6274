//! A `meta.json` whose values are exchanged without touching any other: unknown keys stay to the letter (specification,
//! *meta.json*).

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// The keys in their order, each with its value as it is written.
#[derive(Debug)]
pub struct MetaText {
    entries: Vec<(String, Box<RawValue>)>,
}

impl MetaText {
    /// The keys of an object.
    pub fn parse(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    /// Exchanges the value under a key, or adds it at the end.
    pub fn set(&mut self, key: &str, value: &impl Serialize) -> serde_json::Result<()> {
        let value = serde_json::value::to_raw_value(value)?;
        match self.entries.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key.to_owned(), value)),
        }
        Ok(())
    }

    /// Returns whether there is such a key.
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(known, _)| known == key)
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) {
        self.entries.retain(|(known, _)| known != key);
    }

    /// The value under a key, where there is one of this type.
    pub fn get<'a, T: Deserialize<'a>>(&'a self, key: &str) -> Option<T> {
        let (_, value) = self.entries.iter().find(|(known, _)| known == key)?;
        serde_json::from_str(value.get()).ok()
    }

    /// The text, a key on each line.
    pub fn to_text(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

impl Serialize for MetaText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.entries.len()))?;
        for (key, value) in &self.entries {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for MetaText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MetaEntries;

        impl<'de> Visitor<'de> for MetaEntries {
            type Value = Vec<(String, Box<RawValue>)>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }

        let entries = deserializer.deserialize_map(MetaEntries)?;
        Ok(Self { entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_other_value_stays_to_the_letter() {
        let text =
            br#"{"z": 1.50, "run_name": "old", "big": 123456789012345678901234567890, "n": {"b":1, "a":2}}"#;
        let mut meta = MetaText::parse(text).unwrap();
        meta.set("run_name", &"new \"name\"").unwrap();
        meta.set("added", &None::<u64>).unwrap();
        assert_eq!(
            String::from_utf8(meta.to_text().unwrap()).unwrap(),
            "{\n  \"z\": 1.50,\n  \"run_name\": \"new \\\"name\\\"\",\n  \"big\": 123456789012345678901234567890,\n  \
             \"n\": {\"b\":1, \"a\":2},\n  \"added\": null\n}\n"
        );
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "[]", "1", "{\"a\":}"] {
            assert!(MetaText::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
