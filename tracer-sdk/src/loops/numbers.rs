//! Two numbers of a JSON value: that of its shape, and that of the value itself (see [`super::value`]). Every tool call is
//! compared by them, and few shapes are ever written.

use super::asked::is_list_of_messages;
use super::limits::{MAX_DEPTH, MAX_ITEMS};
use super::tokens::{JsonTokens, ScalarType};
use super::value::{self, EntriesHash, Items};

/// What is nested deeper is one text: redaction leaves nothing so deep.
const MAX_NUMBERED_DEPTH: usize = 32;

/// The longest word in a shape, `float`, and the sign before it or behind it.
const MAX_WORD_BYTES: usize = 6;

/// The number of what a shape leaves out.
const REST: u64 = of_type(ScalarType::Str) + 1;

/// The number of a scalar's shape. That of `{}` is 0.
const fn of_type(scalar: ScalarType) -> u64 {
    scalar as u64 + 1
}

/// The numbers of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbers {
    /// The same for values of the same shape, as good as never for others. A key that is given twice counts twice.
    pub(super) shape: u64,
    /// The same for equal values.
    pub(super) value: u64,
    /// As long as the shape is when it is written, or longer.
    pub(super) shape_bytes: usize,
}

impl Numbers {
    #[inline]
    fn of_string(text: &[u8]) -> Self {
        Self {
            shape: of_type(ScalarType::Str),
            value: value::of_string(text),
            shape_bytes: MAX_WORD_BYTES,
        }
    }

    #[inline]
    fn of_scalar(scalar: ScalarType, text: &[u8]) -> Self {
        Self {
            shape: of_type(scalar),
            value: value::of_text(text),
            shape_bytes: MAX_WORD_BYTES,
        }
    }

    /// Those of a value within `depth` containers.
    #[inline]
    fn at_depth(self, depth: usize) -> Self {
        if depth < MAX_DEPTH {
            self
        } else {
            Self {
                shape: REST,
                shape_bytes: MAX_WORD_BYTES,
                ..self
            }
        }
    }
}

/// The numbers of the JSON value in `text`; `None` when that is not one JSON value.
pub(crate) fn of_json(text: &[u8]) -> Option<Numbers> {
    let mut reader = NumberReader(JsonTokens::new(text));
    let numbers = reader.value(0)?;
    reader.0.is_at_end().then_some(numbers)
}

/// The number of the JSON value in `text`.
pub(crate) fn of_value(text: &[u8]) -> Option<u64> {
    of_json(text).map(|numbers| numbers.value)
}

/// The number of the prompt in `text`, which is JSON, and that of its last message; of one that is no list of messages, both
/// are its own.
pub(crate) fn of_prompt(text: &[u8]) -> Option<(u64, u64)> {
    let mut reader = NumberReader(JsonTokens::new(text));
    let (whole, last) = match reader.0.peek()? {
        b'[' => reader.array(0)?,
        b'{' => {
            let mut last = None;
            let whole = reader.object(0, |reader, key| {
                let is_list = is_list_of_messages(key) && reader.0.peek() == Some(b'[');
                if !is_list {
                    return reader.value(1);
                }
                let (numbers, last_item) = reader.array(1)?;
                last = last_item.or(last);
                Some(numbers)
            })?;
            (whole, last)
        }
        _ => (reader.value(0)?, None),
    };
    let whole = whole.value;
    reader.0.is_at_end().then_some((whole, last.unwrap_or(whole)))
}

struct NumberReader<'a>(JsonTokens<'a>);

impl NumberReader<'_> {
    /// Reads a value within `depth` containers.
    fn value(&mut self, depth: usize) -> Option<Numbers> {
        let numbers = match self.0.peek()? {
            b'{' | b'[' if depth >= MAX_NUMBERED_DEPTH => Numbers {
                shape: REST,
                value: value::of_text(self.0.skip()?),
                shape_bytes: MAX_WORD_BYTES,
            },
            b'{' => self.object(depth, |reader, _| reader.value(depth + 1))?,
            b'[' => self.array(depth)?.0,
            first => {
                let (scalar, text) = self.0.scalar(first)?;
                match scalar {
                    ScalarType::Str => Numbers::of_string(text),
                    _ => Numbers::of_scalar(scalar, text),
                }
            }
        };
        Some(numbers.at_depth(depth))
    }

    /// Reads an object whose values `read` reads, each given its key.
    #[inline]
    fn object(
        &mut self,
        depth: usize,
        mut read: impl FnMut(&mut Self, &[u8]) -> Option<Numbers>,
    ) -> Option<Numbers> {
        debug_assert!(depth < MAX_NUMBERED_DEPTH, "what is deeper is skipped");
        let mut object = OpenNumbers::OBJECT;
        self.0.expect(b'{')?;
        let mut goes_on = !self.0.take(b'}');
        while goes_on {
            let (key, _) = self.0.string()?;
            self.0.expect(b':')?;
            let numbers = read(self, key)?;
            object.key(key);
            object.add(numbers);
            goes_on = self.0.take(b',');
            if !goes_on {
                self.0.expect(b'}')?;
            }
        }
        Some(object.numbers())
    }

    /// Reads an array; its numbers, and that of its last item.
    fn array(&mut self, depth: usize) -> Option<(Numbers, Option<u64>)> {
        let mut array = OpenNumbers::ARRAY;
        let mut last = None;
        self.0.expect(b'[')?;
        let mut goes_on = !self.0.take(b']');
        while goes_on {
            let item = self.value(depth + 1)?;
            array.add(item);
            last = Some(item.value);
            goes_on = self.0.take(b',');
            if !goes_on {
                self.0.expect(b']')?;
            }
        }
        Some((array.numbers(), last))
    }
}

/// The shapes of the items of an array, as far as its own shape shows them.
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

    /// Adds the next one, and says whether it is one of those that are shown.
    fn add(&mut self, shape: u64) -> bool {
        let place = self.first.get_mut(self.items);
        self.items = (self.items + 1).min(MAX_ITEMS + 1);
        place.map(|place| *place = shape).is_some()
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
struct OpenNumbers {
    parts: OpenParts,
    shape_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
enum OpenParts {
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
    const OBJECT: Self = Self {
        parts: OpenParts::Object {
            key: 0,
            shapes: EntriesHash::NONE,
            values: EntriesHash::NONE,
        },
        shape_bytes: 2,
    };
    const ARRAY: Self = Self {
        parts: OpenParts::Array {
            shapes: DistinctShapes::NONE,
            values: Items::NONE,
        },
        // The brackets, and what stands for the items that are left out.
        shape_bytes: 6,
    };

    /// The key of the value that comes next.
    fn key(&mut self, text: &[u8]) {
        if let OpenParts::Object { key, .. } = &mut self.parts {
            *key = value::of_text(text);
            self.shape_bytes = self.shape_bytes.saturating_add(text.len() + 1);
        }
    }

    #[inline]
    fn add(&mut self, numbers: Numbers) {
        let is_shown = match &mut self.parts {
            OpenParts::Object { key, shapes, values } => {
                shapes.add(*key, numbers.shape);
                values.add(*key, numbers.value);
                true
            }
            OpenParts::Array { shapes, values } => {
                values.add(numbers.value);
                shapes.add(numbers.shape)
            }
        };
        if is_shown {
            self.shape_bytes = self.shape_bytes.saturating_add(numbers.shape_bytes + 1);
        }
    }

    fn numbers(&self) -> Numbers {
        let (shape, value) = match &self.parts {
            OpenParts::Object { shapes, values, .. } => (shapes.number(), values.number()),
            OpenParts::Array { shapes, values } => (shapes.number(), values.number()),
        };
        Numbers {
            shape,
            value,
            shape_bytes: self.shape_bytes,
        }
    }
}
