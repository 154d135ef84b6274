//! OTLP's JSON as it is really sent: by the protobuf mapping or near it (capture, section 2).
//!
//! Read with serde, in one pass, into the protobuf of the same message, by the table of its fields. A text of an error
//! names the place and the types, never a value: traces hold secrets.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use prost::encoding::{WireType, bool, double, encode_key, fixed32, fixed64, int32, int64, uint32};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use tracer_sdk::format::Timestamp;

use super::json_text;
use super::protobuf::write_bytes;
use super::repairs::{JsonField, Repairs};
use super::schema::{ANY_VALUE, ARRAY, Field, KEY_VALUE, Schema};

const PADDING_OPTIONAL: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, PADDING_OPTIONAL);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, PADDING_OPTIONAL);

// The fields of a value, by the name of its type.
const STRING_VALUE: u32 = 1;
const BOOL_VALUE: u32 = 2;
const INT_VALUE: u32 = 3;
const DOUBLE_VALUE: u32 = 4;
const ARRAY_VALUE: u32 = 5;
const KVLIST_VALUE: u32 = 6;
/// The members of a list of keys and values.
const VALUES: u32 = 1;
const KEY: u32 = 1;
const VALUE: u32 = 2;

/// Bytes that the length of a nested message takes: enough for any message.
const LENGTH_BYTES: usize = 5;

/// An ID that is none: of a length that no ID has, so that its span is refused and no other span is its parent.
const NO_ID: [u8; 1] = [0];

/// Error in a document, with its place. Never a value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(String);

impl JsonError {
    /// Error for a document that is JSON, but has no readable part.
    pub(super) fn of_repairs(repairs: Repairs) -> Self {
        Self(repairs.first.unwrap_or_default())
    }
}

/// A document as the protobuf of a message, and what of it was repaired. No bytes are an empty message.
pub(super) fn to_protobuf(schema: &'static Schema, body: &[u8]) -> Result<(Vec<u8>, Repairs), JsonError> {
    let body = without_mark(body);
    if body.iter().all(u8::is_ascii_whitespace) {
        return Ok((Vec::new(), Repairs::default()));
    }
    read_strictly(schema, body).or_else(|error| match json_text::repaired(body) {
        // Half a character, as JavaScript cuts texts, or a number that JSON lacks must not cost the batch.
        Some((repaired, before)) => {
            let (message, repairs) = read_strictly(schema, &repaired)?;
            Ok((message, before.and(repairs)))
        }
        None => Err(error),
    })
}

fn read_strictly(schema: &'static Schema, body: &[u8]) -> Result<(Vec<u8>, Repairs), JsonError> {
    let repairs = RefCell::default();
    let mut message = Vec::with_capacity(body.len());
    let field = Field::Message(schema);
    let request = OtlpFieldReader {
        number: None,
        field: &field,
        place: JsonField::new("the request", &repairs),
        message: &mut message,
    };
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    request
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end())
        .map_err(|error| JsonError(error.to_string()))?;
    Ok((message, repairs.into_inner()))
}

/// The keys of the document, when it is an object.
pub(super) fn keys(body: &[u8]) -> Vec<String> {
    let object = serde_json::from_slice::<HashMap<String, &RawValue>>(without_mark(body));
    object.unwrap_or_default().into_keys().collect()
}

/// Without the mark that some editors and tools put before UTF-8.
fn without_mark(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body)
}

/// The key of an object, borrowed where the document has it without escapes.
#[derive(Deserialize)]
struct JsonKey<'a>(#[serde(borrow)] Cow<'a, str>);

/// A reader of one value of JSON, which writes a field of protobuf.
struct OtlpFieldReader<'r> {
    /// The field's number; `None` for the whole request, which is no field.
    number: Option<u32>,
    field: &'r Field,
    place: JsonField<'r>,
    message: &'r mut Vec<u8>,
}

impl<'r> OtlpFieldReader<'r> {
    fn new(number: u32, field: &'r Field, place: JsonField<'r>, message: &'r mut Vec<u8>) -> Self {
        Self {
            number: Some(number),
            field,
            place,
            message,
        }
    }

    /// Another value for the same message.
    fn item<'a>(&'a mut self, field: &'a Field) -> OtlpFieldReader<'a> {
        OtlpFieldReader {
            number: self.number,
            field,
            place: self.place,
            message: self.message,
        }
    }

    /// Writes the message that the field holds.
    fn nested<T>(self, write: impl FnOnce(JsonField<'r>, &mut Vec<u8>) -> T) -> T {
        let Some(number) = self.number else {
            return write(self.place, self.message);
        };
        nested(number, self.message, |message| write(self.place, message))
    }

    /// Writes a scalar, or notes that the field takes none such.
    fn scalar(mut self, scalar: &ProtoScalar<'_>) {
        if self.write(scalar).is_none() {
            self.place.mistyped(scalar.kind(), self.field.expected());
        }
    }

    fn write(&mut self, scalar: &ProtoScalar<'_>) -> Option<()> {
        let (number, place) = (self.number?, self.place);
        let message = &mut *self.message;
        match (self.field, scalar) {
            (Field::Text, ProtoScalar::Text(text)) => write_bytes(number, text.as_bytes(), message),
            (Field::Text, _) => {
                place.mistyped(scalar.kind(), self.field.expected());
                write_bytes(number, scalar.to_string().as_bytes(), message);
            }
            (Field::Bytes, ProtoScalar::Text(text)) => write_bytes(number, &base64(text)?, message),
            (Field::Id(length), ProtoScalar::Text(text)) => {
                let id = id(text.trim(), *length);
                write_bytes(number, id.as_deref().unwrap_or(&NO_ID), message);
            }
            (Field::Bool, ProtoScalar::Bool(value)) => bool::encode(number, value, message),
            (Field::Bool, ProtoScalar::Text(text)) => bool::encode(number, &text.parse().ok()?, message),
            (Field::Int, _) => {
                if let Some(whole) = scalar.whole().and_then(|whole| i64::try_from(whole).ok()) {
                    int64::encode(number, &whole, message);
                } else {
                    let value = scalar.double().filter(|value| value.is_finite())?;
                    place.mistyped("another number", self.field.expected());
                    double::encode(DOUBLE_VALUE, &value, message);
                }
            }
            (Field::Double, _) => double::encode(number, &scalar.double()?, message),
            (Field::Count, _) => uint32::encode(number, &scalar.count()?, message),
            (Field::Flags, _) => fixed32::encode(number, &scalar.count()?, message),
            (Field::Time, _) => fixed64::encode(number, &time(scalar, place)?, message),
            (Field::Enum(named), _) => int32::encode(number, &enumerated(scalar, *named)?, message),
            (Field::AnyValue, _) => nested(number, message, |message| scalar.write_as_value(message)),
            _ => return None,
        }
        Some(())
    }
}

/// Writes a message whose length is known afterwards: it has all five bytes of its length from the beginning.
fn nested<T>(number: u32, message: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    encode_key(number, WireType::LengthDelimited, message);
    let start = message.len();
    message.extend_from_slice(&[0x80, 0x80, 0x80, 0x80, 0]);
    let written = write(message);
    let mut length = message.len() - start - LENGTH_BYTES;
    for byte in message.iter_mut().skip(start).take(LENGTH_BYTES) {
        *byte |= u8::try_from(length & 0x7f).unwrap_or_default();
        length >>= 7;
    }
    written
}

impl<'de> DeserializeSeed<'de> for OtlpFieldReader<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for OtlpFieldReader<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.field.expected())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.scalar(&ProtoScalar::Bool(value));
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.scalar(&ProtoScalar::Whole(value.into()));
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.scalar(&ProtoScalar::Whole(value.into()));
        Ok(())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.scalar(&ProtoScalar::Float(value));
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.scalar(&ProtoScalar::Text(value));
        Ok(())
    }

    /// Nothing is said; only in a list, a value that is null counts.
    fn visit_unit<E: Error>(self) -> Result<(), E> {
        if matches!(self.field, Field::AnyValue) {
            self.nested(|_, _| ());
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        match self.field {
            Field::List(item) => while list.next_element_seed(self.item(item))?.is_some() {},
            Field::Attributes => {
                let member = Field::Message(&KEY_VALUE);
                while list.next_element_seed(self.item(&member))?.is_some() {}
            }
            // The values as they are, without the object around them.
            Field::Values(Schema([(number, _, values)])) => {
                return self.nested(|place, message| {
                    OtlpFieldReader::new(*number, values, place, message).visit_seq(list)
                });
            }
            Field::AnyValue => {
                return self.nested(|place, message| {
                    OtlpFieldReader::new(ARRAY_VALUE, &Field::Values(&ARRAY), place, message).visit_seq(list)
                });
            }
            field => {
                self.place.mistyped("a list", field.expected());
                while list.next_element::<IgnoredAny>()?.is_some() {}
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut object: A) -> Result<(), A::Error> {
        match self.field {
            Field::Message(schema) | Field::Values(schema) => {
                return self.nested(|place, message| read_fields(schema, object, place, message));
            }
            Field::AnyValue => return self.nested(|place, message| read_value(object, place, message)),
            // The keys and their values, as they are in other formats than OTLP.
            Field::Attributes => {
                self.place.mistyped("an object", self.field.expected());
                while let Some(JsonKey(key)) = object.next_key()? {
                    let member = self.item(&Field::Attributes);
                    member.nested(|place, message| read_member(&key, &mut object, place, message))?;
                }
            }
            field => {
                self.place.mistyped("an object", field.expected());
                while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            }
        }
        Ok(())
    }
}

/// Reads the fields of an object. A field that the table does not have is passed over.
fn read_fields<'de, A: MapAccess<'de>>(
    schema: &Schema,
    mut object: A,
    place: JsonField<'_>,
    message: &mut Vec<u8>,
) -> Result<(), A::Error> {
    while let Some(JsonKey(key)) = object.next_key()? {
        match schema.field(&key) {
            Some((number, name, field)) => {
                object.next_value_seed(OtlpFieldReader::new(*number, field, place.at(name), message))?;
            }
            None => {
                object.next_value::<IgnoredAny>()?;
            }
        }
    }
    Ok(())
}

/// Reads a value from the object that names its type, or from an object of another kind, as senders with encoders of their
/// own write it.
fn read_value<'de, A: MapAccess<'de>>(
    mut object: A,
    place: JsonField<'_>,
    message: &mut Vec<u8>,
) -> Result<(), A::Error> {
    let start = message.len();
    let mut plain = Vec::new();
    while let Some(JsonKey(key)) = object.next_key()? {
        if let Some((number, name, field)) = ANY_VALUE.field(&key) {
            object.next_value_seed(OtlpFieldReader::new(*number, field, place.at(name), message))?;
        } else if key.ends_with("Value") || key.ends_with("_value") {
            object.next_value::<IgnoredAny>()?;
        } else {
            nested(VALUES, &mut plain, |plain| {
                read_member(&key, &mut object, place, plain)
            })?;
        }
    }
    if message.len() == start && !plain.is_empty() {
        place.mistyped("an object of another kind", Field::AnyValue.expected());
        write_bytes(KVLIST_VALUE, &plain, message);
    }
    Ok(())
}

/// Reads a value with its key.
fn read_member<'de, A: MapAccess<'de>>(
    key: &str,
    object: &mut A,
    place: JsonField<'_>,
    message: &mut Vec<u8>,
) -> Result<(), A::Error> {
    write_bytes(KEY, key.as_bytes(), message);
    object.next_value_seed(OtlpFieldReader::new(
        VALUE,
        &Field::AnyValue,
        place.at("value"),
        message,
    ))
}

/// A value that is neither a list nor an object.
enum ProtoScalar<'a> {
    Bool(bool),
    Whole(i128),
    Float(f64),
    Text(&'a str),
}

impl fmt::Display for ProtoScalar<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => value.fmt(formatter),
            Self::Whole(number) => number.fmt(formatter),
            Self::Float(number) => number.fmt(formatter),
            Self::Text(text) => text.fmt(formatter),
        }
    }
}

impl ProtoScalar<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Whole(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
        }
    }

    /// A whole number, written as a number or as a text; a number of floating point counts when it is whole.
    #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
    fn whole(&self) -> Option<i128> {
        if let Self::Text(text) = self
            && let Ok(number) = text.trim().parse()
        {
            return Some(number);
        }
        match self {
            Self::Bool(_) => None,
            Self::Whole(number) => Some(*number),
            Self::Float(_) | Self::Text(_) => {
                let number = self.double()?;
                (number.fract() == 0.0 && number.abs() < 1e30).then_some(number as i128)
            }
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "the sender declared the number as floating point"
    )]
    fn double(&self) -> Option<f64> {
        match self {
            Self::Bool(_) => None,
            Self::Whole(number) => Some(*number as f64),
            Self::Float(number) => Some(*number),
            // Rust takes `NaN`, `Infinity` and `-Infinity` too.
            Self::Text(text) => text.trim().parse().ok(),
        }
    }

    /// A number of 32 bits, or the nearest that there is.
    fn count(&self) -> Option<u32> {
        let number = self.whole()?.max(0);
        Some(u32::try_from(number).unwrap_or(u32::MAX))
    }

    /// Writes the value without an object that names its type.
    fn write_as_value(&self, message: &mut Vec<u8>) {
        match self {
            Self::Bool(value) => bool::encode(BOOL_VALUE, value, message),
            Self::Text(text) => write_bytes(STRING_VALUE, text.as_bytes(), message),
            Self::Float(number) => double::encode(DOUBLE_VALUE, number, message),
            Self::Whole(number) => match i64::try_from(*number) {
                Ok(number) => int64::encode(INT_VALUE, &number, message),
                Err(_) => double::encode(DOUBLE_VALUE, &self.double().unwrap_or_default(), message),
            },
        }
    }
}

/// Nanoseconds after 1970, or the time of a date.
fn time(scalar: &ProtoScalar<'_>, place: JsonField<'_>) -> Option<u64> {
    if let Some(number) = scalar.whole() {
        return Some(u64::try_from(number.max(0)).unwrap_or(u64::MAX));
    }
    let ProtoScalar::Text(text) = scalar else {
        return None;
    };
    let micros = date(text.trim())?.unix_microseconds();
    place.mistyped("a date", Field::Time.expected());
    Some(u64::try_from(micros).ok()?.saturating_mul(1000))
}

/// A date with its time; one without a zone is in UTC.
fn date(text: &str) -> Option<Timestamp> {
    let (day, time) = (text.get(..10)?, text.get(11..)?);
    let zone = if time.contains(['Z', 'z', '+', '-']) {
        ""
    } else {
        "Z"
    };
    matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' '))
        .then(|| format!("{day}T{time}{zone}").parse().ok())?
}

/// The number of an enumeration; 0, *unspecified*, for a name or a number of tomorrow.
fn enumerated(scalar: &ProtoScalar<'_>, named: fn(&str) -> Option<i32>) -> Option<i32> {
    match (scalar, scalar.whole()) {
        (ProtoScalar::Bool(_), _) => None,
        (_, Some(number)) => Some(i32::try_from(number).unwrap_or(0)),
        (ProtoScalar::Text(name), None) => Some(named(&name.trim().to_ascii_uppercase()).unwrap_or(0)),
        _ => None,
    }
}

/// The bytes of an ID in hexadecimal digits, or in base64 where it is as long as an ID in base64.
fn id(text: &str, length: usize) -> Option<Vec<u8>> {
    // A UUID has dashes.
    let digits: String = text.chars().filter(|letter| *letter != '-').collect();
    let of_length = hexadecimal(&digits).filter(|bytes| bytes.len() == length);
    of_length.or_else(|| hexadecimal(text)).or_else(|| {
        // 24 characters are 16 bytes, and 12 are 8.
        let is_base64 = text.len() == length.div_ceil(3) * 4;
        let bytes = is_base64.then(|| base64(text)).flatten()?;
        (bytes.len() == length).then_some(bytes)
    })
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let byte = |pair: &[u8]| match pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

fn base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

#[cfg(test)]
#[path = "json_tests.rs"]
mod tests;
