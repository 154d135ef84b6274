//! Reads one JSON value and writes its shape.

use super::entries::ObjectEntries;
use super::limits::{MAX_DEPTH, MAX_ITEMS, MAX_SHAPE_BYTES, REST, beginning};
use super::tokens::JsonTokens;

/// Writes the shape of the value in a text to the end of another one.
pub(super) struct ShapeReader<'a> {
    tokens: JsonTokens<'a>,
    entries: ObjectEntries,
    out: &'a mut Vec<u8>,
}

impl<'a> ShapeReader<'a> {
    pub(super) fn new(text: &'a [u8], out: &'a mut Vec<u8>) -> Self {
        Self {
            tokens: JsonTokens::new(text),
            entries: ObjectEntries::default(),
            out,
        }
    }

    /// Reads the text; `None` when it is not one JSON value.
    pub(super) fn read(mut self) -> Option<()> {
        self.value(0)?;
        self.tokens.is_at_end().then_some(())
    }

    /// Reads a value within `depth` containers.
    fn value(&mut self, depth: usize) -> Option<()> {
        if depth >= MAX_DEPTH {
            self.tokens.skip()?;
            self.out.extend_from_slice(REST.as_bytes());
            return Some(());
        }
        match self.tokens.peek()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            first => {
                let (scalar, _) = self.tokens.scalar(first)?;
                self.out.extend_from_slice(scalar.as_str().as_bytes());
                Some(())
            }
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.tokens.expect(b'{')?;
        self.out.push(b'{');
        let object = self.entries.begin(self.out);
        let mut goes_on = !self.tokens.take(b'}');
        while goes_on {
            let start = self.out.len();
            self.key()?;
            let key_end = self.out.len();
            self.out.push(b':');
            self.tokens.expect(b':')?;
            self.value(depth + 1)?;
            self.entries.add(&object, start, key_end, self.out);
            goes_on = self.tokens.take(b',');
            if !goes_on {
                self.tokens.expect(b'}')?;
            }
        }
        self.entries.end(&object, self.out);
        self.out.push(b'}');
        Some(())
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.tokens.expect(b'[')?;
        self.out.push(b'[');
        let first = self.out.len();
        let mut shapes = [first..first, first..first, first..first];
        let mut items = 0;
        let mut goes_on = !self.tokens.take(b']');
        while goes_on {
            if items < MAX_ITEMS {
                let before = self.out.len();
                if before > first {
                    self.out.push(b'|');
                }
                let start = self.out.len();
                self.value(depth + 1)?;
                let shape = self.out.get(start..);
                let mut seen = shapes.iter().take(items);
                if seen.any(|range| self.out.get(range.clone()) == shape) {
                    self.out.truncate(before);
                } else if let Some(range) = shapes.get_mut(items) {
                    *range = start..self.out.len();
                }
            } else {
                self.tokens.skip()?;
            }
            items += 1;
            goes_on = self.tokens.take(b',');
            if !goes_on {
                self.tokens.expect(b']')?;
            }
        }
        if items > MAX_ITEMS {
            self.out.push(b',');
            self.out.extend_from_slice(REST.as_bytes());
        }
        self.out.push(b']');
        Some(())
    }

    /// Writes the key of one entry, as far as a shape can hold it.
    fn key(&mut self) -> Option<()> {
        let (key, has_escapes) = self.tokens.string()?;
        if has_escapes {
            let quoted = format!("\"{}\"", std::str::from_utf8(key).ok()?);
            let key: String = serde_json::from_str(&quoted).ok()?;
            self.push_key(key.as_bytes());
        } else {
            self.push_key(key);
        }
        Some(())
    }

    fn push_key(&mut self, key: &[u8]) {
        self.out.extend_from_slice(beginning(key, MAX_SHAPE_BYTES));
    }
}
