//! Two numbers of a JSON value: that of its shape, and that of the value itself (see [`super::value`]). Every tool call is
//! compared by them, and few shapes are ever written.
//!
//! They are put together while the arguments of a call are written ([`ValueNumbers`]): to read the written text again takes 9 %
//! more instructions of a tool call. Other values are read from their text, with the same numbers.

use super::asked::is_list_of_messages;
use super::limits::{MAX_DEPTH, MAX_ITEMS};
use super::tokens::{JsonTokens, MAX_SURE_DIGITS, ScalarType, WrittenText};
use super::value::{self, EntriesHash, Items};

/// What is nested deeper is one text: redaction leaves nothing so deep.
const MAX_NUMBERED_DEPTH: usize = 32;

/// How many containers a value may have within each other whose numbers are put together while it is written.
const MAX_WRITTEN_DEPTH: usize = 10;

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

    /// Those of a number, `true`, `false` or `null`.
    fn of_word(text: &[u8]) -> Option<Self> {
        let is_sure = text.len() <= MAX_SURE_DIGITS && text.iter().all(u8::is_ascii_digit);
        let scalar = if is_sure {
            ScalarType::Int
        } else {
            JsonTokens::new(WrittenText::Alone(text))
                .scalar(*text.first()?)?
                .0
        };
        Some(Self::of_scalar(scalar, text))
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
pub(crate) fn of_json(text: WrittenText<'_>) -> Option<Numbers> {
    let mut reader = NumberReader(JsonTokens::new(text));
    let numbers = reader.value(0)?;
    reader.0.is_at_end().then_some(numbers)
}

/// The number of the JSON value in `text`.
pub(crate) fn of_value(text: WrittenText<'_>) -> Option<u64> {
    of_json(text).map(|numbers| numbers.value)
}

/// The number of the prompt in `text`, which is JSON, and that of its last message; of one that is no list of messages, both
/// are its own.
pub(crate) fn of_prompt(text: WrittenText<'_>) -> Option<(u64, u64)> {
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
            object.key(value::of_text(key), key.len());
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

/// The numbers of a value that is being written, part by part, in order. Texts are as they are written: within a JSON
/// string, if the value is.
#[derive(Debug)]
pub(crate) struct ValueNumbers {
    open: [OpenNumbers; MAX_WRITTEN_DEPTH],
    depth: usize,
    whole: Option<Numbers>,
    /// Something was written that it cannot follow: the text has to be read.
    gave_up: bool,
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

    /// The key of the value that comes next, by the number of its text; whether it has one.
    #[inline]
    fn key(&mut self, number: u64, length: usize) -> bool {
        match &mut self.parts {
            OpenParts::Object { key, .. } => {
                *key = number;
                self.shape_bytes = self.shape_bytes.saturating_add(length + 1);
                true
            }
            OpenParts::Array { .. } => false,
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

impl Default for ValueNumbers {
    fn default() -> Self {
        Self {
            open: [OpenNumbers::OBJECT; MAX_WRITTEN_DEPTH],
            depth: 0,
            whole: None,
            gave_up: false,
        }
    }
}

impl ValueNumbers {
    /// Another value is written from now on.
    pub(crate) fn begin(&mut self) {
        self.depth = 0;
        self.whole = None;
        self.gave_up = false;
    }

    /// Something was written of which no part is given.
    pub(crate) fn give_up(&mut self) {
        self.gave_up = true;
    }

    /// The numbers of the value that was written; `None` when they are not known.
    pub(crate) fn whole(&self) -> Option<Numbers> {
        self.whole.filter(|_| !self.gave_up && self.depth == 0)
    }

    pub(crate) fn open(&mut self, is_object: bool) {
        match self.open.get_mut(self.depth) {
            Some(place) if is_object => *place = OpenNumbers::OBJECT,
            Some(place) => *place = OpenNumbers::ARRAY,
            None => self.gave_up = true,
        }
        self.depth += 1;
    }

    pub(crate) fn close(&mut self) {
        let closed = self.depth.checked_sub(1).and_then(|depth| self.open.get(depth));
        match closed.map(OpenNumbers::numbers) {
            Some(numbers) => {
                self.depth -= 1;
                self.add(numbers);
            }
            None => self.gave_up = true,
        }
    }

    /// The key of the value that comes next, by the number and the length of its text.
    #[inline]
    pub(crate) fn key(&mut self, number: u64, length: usize) {
        let top = self
            .depth
            .checked_sub(1)
            .and_then(|depth| self.open.get_mut(depth));
        self.gave_up |= !top.is_some_and(|object| object.key(number, length));
    }

    #[inline]
    pub(crate) fn string(&mut self, text: &[u8]) {
        self.add(Numbers::of_string(text));
    }

    /// A number, `true`, `false` or `null`.
    #[inline]
    pub(crate) fn word(&mut self, text: &[u8]) {
        match Numbers::of_word(text) {
            Some(numbers) => self.add(numbers),
            None => self.gave_up = true,
        }
    }

    #[inline]
    fn add(&mut self, numbers: Numbers) {
        let numbers = numbers.at_depth(self.depth);
        let Some(last) = self.depth.checked_sub(1) else {
            self.whole = Some(numbers);
            return;
        };
        match self.open.get_mut(last) {
            Some(open) => open.add(numbers),
            None => self.gave_up = true,
        }
    }
}
