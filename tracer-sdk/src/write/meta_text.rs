//! A `meta.json` whose values are exchanged without touching any other: unknown keys stay to the letter (specification,
//! *meta.json*).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

/// The keys, each with its value as it is written.
#[derive(Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MetaText(BTreeMap<String, Box<RawValue>>);

impl MetaText {
    /// The keys of an object.
    pub fn parse(text: &[u8]) -> serde_json::Result<Self> {
        serde_json::from_slice(text)
    }

    /// Exchanges the value under a key, or adds it.
    pub fn set(&mut self, key: &str, value: &impl Serialize) -> serde_json::Result<()> {
        self.0.insert(key.to_owned(), to_raw_value(value)?);
        Ok(())
    }

    /// Returns whether there is such a key.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Takes a key out.
    pub fn remove(&mut self, key: &str) {
        self.0.remove(key);
    }

    /// The value under a key, where there is one of this type.
    pub fn get<'a, T: Deserialize<'a>>(&'a self, key: &str) -> Option<T> {
        serde_json::from_str(self.0.get(key)?.get()).ok()
    }

    /// The text, a key on each line.
    pub fn to_text(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec_pretty(self)?;
        text.push(b'\n');
        Ok(text)
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
            "{\n  \"added\": null,\n  \"big\": 123456789012345678901234567890,\n  \"n\": {\"b\":1, \"a\":2},\n  \
             \"run_name\": \"new \\\"name\\\"\",\n  \"z\": 1.50\n}\n"
        );
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for text in ["", "[]", "1", "{\"a\":}"] {
            assert!(MetaText::parse(text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
