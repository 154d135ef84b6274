//! [`Tags`]: short texts by which runs are found and grouped again, such as the commit of the program; kept on the root.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::names;

/// The environment variable with tags for every run: see [`Tags::from_variable`].
pub const TAGS_VARIABLE: &str = "TRACER_TAGS";
/// Number of tags of a run.
pub const MAX_TAGS: usize = 64;
/// Longest key of a tag, in bytes.
pub const MAX_TAG_KEY_BYTES: usize = 64;
/// Longest value of a tag, in bytes; the rest is left out.
pub const MAX_TAG_VALUE_BYTES: usize = 256;

/// The tags of a run: short texts by which it is found and grouped again.
///
/// A tag is recorded as the attribute `tracer.tag.KEY` of the root, its value redacted as every text is.
/// `tracer list tag:commit=3f2a` finds runs by it, and `tracer stats --by commit` or `--by tag` groups them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags(BTreeMap<String, String>);

/// Why something is not a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidTag {
    /// There is no `=` in it.
    NoValue,
    /// The key is empty, too long, or has a character that no key has.
    Key,
    /// The run has as many tags as it may have.
    TooMany,
    /// It is not Unicode.
    NotUnicode,
}

impl fmt::Display for InvalidTag {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoValue => formatter.write_str("a tag is written key=value"),
            Self::Key => write!(
                formatter,
                "the key of a tag has 1 to {MAX_TAG_KEY_BYTES} bytes, and no space, comma, `=` or control character"
            ),
            Self::TooMany => write!(formatter, "a run has at most {MAX_TAGS} tags"),
            Self::NotUnicode => formatter.write_str("tags have to be Unicode"),
        }
    }
}

impl std::error::Error for InvalidTag {}

impl Tags {
    /// Sets a tag, in place of another one of its key. A value that is longer than [`MAX_TAG_VALUE_BYTES`] is cut.
    ///
    /// # Errors
    ///
    /// [`InvalidTag`] for a key that no tag has, and when there are [`MAX_TAGS`] others.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), InvalidTag> {
        let is_foreign =
            |character: char| character.is_whitespace() || character.is_control() || ",=".contains(character);
        if key.is_empty() || key.len() > MAX_TAG_KEY_BYTES || key.contains(is_foreign) {
            return Err(InvalidTag::Key);
        }
        if self.0.len() >= MAX_TAGS && !self.0.contains_key(key) {
            return Err(InvalidTag::TooMany);
        }
        let mut end = value.len().min(MAX_TAG_VALUE_BYTES);
        while !value.is_char_boundary(end) {
            end -= 1;
        }
        let value = value.get(..end).unwrap_or_default();
        self.0.insert(key.to_owned(), value.to_owned());
        Ok(())
    }

    /// Sets the tag that a text describes: `key=value`.
    ///
    /// # Errors
    ///
    /// [`InvalidTag`] for what is no tag, and for one too many.
    pub fn set_text(&mut self, text: &str) -> Result<(), InvalidTag> {
        let (key, value) = text.split_once('=').ok_or(InvalidTag::NoValue)?;
        self.set(key.trim(), value.trim())
    }

    /// The tags of the environment variable `TRACER_TAGS`, `key=value` with commas between, and what is wrong with the first
    /// that is not one. A comma within a value is written `%2C`, and a percent sign before two hexadecimal digits `%25`.
    #[must_use]
    pub fn from_variable(text: &str) -> (Self, Option<InvalidTag>) {
        let mut tags = Self::default();
        let mut problem = None;
        for item in text.split(',').filter(|item| !item.trim().is_empty()) {
            let set = match item.split_once('=') {
                Some((key, value)) => tags.set(key.trim(), &decoded(value.trim())),
                None => Err(InvalidTag::NoValue),
            };
            problem = problem.or(set.err());
        }
        (tags, problem)
    }

    /// The value of `TRACER_TAGS` that means these tags.
    #[must_use]
    pub fn to_variable(&self) -> String {
        let encoded = |text: &str| text.replace('%', "%25").replace(',', "%2C");
        let items: Vec<String> = self
            .iter()
            .map(|(key, value)| format!("{key}={}", encoded(value)))
            .collect();
        items.join(",")
    }

    /// Adds the tags of others, which win over those of the same key; what is too much is left out.
    pub fn extend(&mut self, others: &Self) {
        for (key, value) in others.iter() {
            // They are tags already: one can only be one too many.
            let _ = self.set(key, value);
        }
    }

    /// The value of a tag.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The tags by their keys.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// The tags among the attributes of a span of any emitter: long ones are cut, and those past the limit are left
    /// out.
    #[must_use]
    pub fn of_attributes(attributes: &Map<String, Value>) -> Self {
        let mut tags = Self::default();
        for (name, value) in attributes {
            if let Some(key) = names::tag_key(name) {
                let _ = match value {
                    Value::String(text) => tags.set(key, text),
                    other => tags.set(key, &other.to_string()),
                };
            }
        }
        tags
    }

    /// The tags by their keys.
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// True where there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A text with its escapes `%2C` replaced; a percent sign that begins none stays.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let escape = behind.get(..2).filter(|_| first == b'%');
        let byte = escape
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(first));
        rest = if byte.is_some() {
            behind.get(2..).unwrap_or_default()
        } else {
            behind
        };
    }
    // An escape may make something that is no UTF-8: the text stays as it is then.
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn bad_tags_are_left_out_and_reported() {
        let (tags, problem) = Tags::from_variable("a=1,,=2,b c=3,d,e=x=y, f = 5 ");
        assert_eq!(tags.to_variable(), "a=1,e=x=y,f=5");
        assert_eq!(problem, Some(InvalidTag::Key));
        assert_eq!(Tags::from_variable(" , ").1, None);
    }

    #[test]
    fn tags_are_bounded_in_number_and_size() {
        let mut tags = Tags::default();
        for number in 0..MAX_TAGS {
            tags.set(&format!("k{number}"), &"ä".repeat(1_000)).unwrap();
        }
        assert_eq!(tags.set("one more", ""), Err(InvalidTag::Key));
        assert_eq!(tags.set("more", ""), Err(InvalidTag::TooMany));
        tags.set("k0", "again").unwrap();
        assert_eq!(tags.get("k1").map(str::len), Some(MAX_TAG_VALUE_BYTES));
        assert_eq!(tags.set(&"k".repeat(65), ""), Err(InvalidTag::Key));
    }

    proptest! {
        #[test]
        fn a_variable_means_the_tags_that_made_it(
            pairs in prop::collection::btree_map("[a-z_./]{1,8}", "[ -~ä]{0,20}", 0..6)
        ) {
            let mut tags = Tags::default();
            for (key, value) in &pairs {
                tags.set(key, value.trim()).unwrap();
            }
            let (read, problem) = Tags::from_variable(&tags.to_variable());
            prop_assert_eq!(problem, None);
            prop_assert_eq!(read, tags);
        }

        #[test]
        fn any_text_is_read(text in any::<String>()) {
            let _ = Tags::from_variable(&text).0.to_variable();
        }
    }
}
