//! JSON that is safe to show: `serde_json` escapes the control characters below U+0020, this also those above, which
//! a terminal obeys just as well. The values are the same.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, Serializer};
use tracer_sdk::format::SPEC_VERSION;

/// Writes a value without spaces and line breaks.
pub fn write(writer: &mut (impl Write + ?Sized), value: &impl Serialize) -> io::Result<()> {
    value
        .serialize(&mut Serializer::with_formatter(writer, Safe(CompactFormatter)))
        .map_err(io::Error::from)
}

/// Appends what [`write()`] writes. The characters that it escapes are rare and inside texts only: they are looked for once in the
/// whole value, not in each piece of a text between two escapes.
pub fn append(bytes: &mut Vec<u8>, value: &impl Serialize) -> io::Result<()> {
    let start = bytes.len();
    serde_json::to_writer(&mut *bytes, value)?;
    if bytes.get(start..).and_then(first_control_character).is_some() {
        bytes.truncate(start);
        write(bytes, value)?;
    }
    Ok(())
}

/// A value laid out to be read and edited.
pub fn pretty(value: &impl Serialize) -> io::Result<String> {
    let text = serde_json::to_string_pretty(value)?;
    // Such characters are within strings only.
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\u{7f}'..='\u{9f}' => safe.extend(format!("\\u{:04x}", u32::from(character)).chars()),
            character => safe.push(character),
        }
    }
    Ok(safe)
}

struct Safe(CompactFormatter);

impl Formatter for Safe {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some(position) = first_control_character(rest.as_bytes()) {
            let (before, after) = rest.split_at(position);
            self.0.write_string_fragment(writer, before)?;
            let mut characters = after.chars();
            if let Some(control) = characters.next() {
                write!(writer, "\\u{:04x}", u32::from(control))?;
            }
            rest = characters.as_str();
        }
        self.0.write_string_fragment(writer, rest)
    }
}

/// The place of the first character from U+007F to U+009F. Most texts have none and are long, so bytes are searched: in
/// UTF-8 these characters are 7F, and C2 before 80 to 9F.
fn first_control_character(bytes: &[u8]) -> Option<usize> {
    memchr::memchr2_iter(0x7f, 0xc2, bytes)
        .find(|&at| matches!(bytes.get(at..), Some([0x7f, ..] | [0xc2, 0x80..=0x9f, ..])))
}

/// One JSON object with the specification's version, written as it is made: one field or list item on each line, so
/// that it can be read, compared and searched line by line.
#[derive(Debug)]
pub struct Document<'a, W: Write + ?Sized> {
    writer: &'a mut W,
}

impl<'a, W: Write + ?Sized> Document<'a, W> {
    /// Begins the object with `spec_version`.
    pub fn begin(writer: &'a mut W) -> io::Result<Self> {
        writer.write_all(b"{\"spec_version\":")?;
        write(writer, &SPEC_VERSION)?;
        Ok(Self { writer })
    }

    /// Adds a field.
    pub fn field(&mut self, name: &str, value: &impl Serialize) -> io::Result<()> {
        self.name(name)?;
        write(self.writer, value)
    }

    /// Adds a field that is a list.
    pub fn list<Item: Serialize>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = Item>,
    ) -> io::Result<()> {
        let mut list = self.begin_list(name)?;
        for item in items {
            list.item(|writer| write(writer, &item))?;
        }
        list.end()
    }

    /// Adds a field that is a list whose items follow.
    pub fn begin_list(&mut self, name: &str) -> io::Result<List<'_, W>> {
        self.name(name)?;
        self.writer.write_all(b"[")?;
        Ok(List {
            writer: self.writer,
            separator: b"\n",
        })
    }

    /// Ends the object, and its line.
    pub fn end(self) -> io::Result<()> {
        self.writer.write_all(b"}\n")
    }

    fn name(&mut self, name: &str) -> io::Result<()> {
        self.writer.write_all(b",\n")?;
        write(self.writer, &name)?;
        self.writer.write_all(b":")
    }
}

/// A list in a [`Document`], under way.
#[derive(Debug)]
pub struct List<'a, W: Write + ?Sized> {
    writer: &'a mut W,
    separator: &'static [u8],
}

impl<W: Write + ?Sized> List<'_, W> {
    /// Adds an item, which `write` writes as one line of JSON.
    pub fn item(&mut self, write: impl FnOnce(&mut W) -> io::Result<()>) -> io::Result<()> {
        self.writer.write_all(self.separator)?;
        self.separator = b",\n";
        write(self.writer)
    }

    /// Ends the list.
    pub fn end(self) -> io::Result<()> {
        self.writer.write_all(b"]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn document(items: &[Value]) -> String {
        let mut text = Vec::new();
        let mut document = Document::begin(&mut text).unwrap();
        document
            .field("run", &json!({"name": "a\u{9b}31m\u{7f}é"}))
            .unwrap();
        document.list("events", items).unwrap();
        document.end().unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_document_has_a_field_or_an_item_on_each_line_and_no_control_character() {
        let run = r#"{"name":"a\u009b31m\u007fé"}"#;
        let expected = format!("{{\"spec_version\":\"0.2.0\",\n\"run\":{run},\n\"events\":[\n1,\n[2]]}}\n");
        assert_eq!(document(&[json!(1), json!([2])]), expected);
        assert!(document(&[]).ends_with("\"events\":[]}\n"));
    }

    proptest! {
        #[test]
        fn a_control_character_is_found_wherever_it_stands(text in "[a\u{7f}-\u{a5}é€]{0,20}") {
            let expected = text.find(|char| ('\u{7f}'..='\u{9f}').contains(&char));
            prop_assert_eq!(first_control_character(text.as_bytes()), expected);
        }

        #[test]
        fn what_is_appended_is_what_is_written(text in "[a\u{7f}-\u{a5}é€\n\"]{0,20}") {
            let mut written = b"before".to_vec();
            write(&mut written, &[&text, &text]).unwrap();
            let mut appended = b"before".to_vec();
            append(&mut appended, &[&text, &text]).unwrap();
            prop_assert_eq!(appended, written);
        }

        #[test]
        fn the_value_is_the_same(text in prop::collection::vec(any::<char>(), 0..60).prop_map(String::from_iter)) {
            let mut written = Vec::new();
            write(&mut written, &text).unwrap();
            prop_assert_eq!(serde_json::from_slice::<String>(&written).unwrap(), text);
        }
    }
}
