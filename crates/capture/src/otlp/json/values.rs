//! How one value is read: what each type takes; what it does not take is left out and noted.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use tracer_sdk::format::Timestamp;

use crate::otlp::repairs::JsonField;

/// Base64 of either alphabet's kind, padded or not.
const PADDING_OPTIONAL: GeneralPurposeConfig =
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, PADDING_OPTIONAL);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::URL_SAFE, PADDING_OPTIONAL);

/// What an ID is read as that is neither hexadecimal nor base64: neither absent nor as long as an ID, so that whoever
/// takes it sees that it is none.
const NO_ID: [u8; 1] = [0];

/// A value that is no list and no object.
pub(in crate::otlp) enum ProtoScalar<'a> {
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'a str),
}

impl ProtoScalar<'_> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Bool(_) => "true or false",
            Self::Unsigned(_) | Self::Signed(_) | Self::Float(_) => "a number",
            Self::Text(_) => "a text",
        }
    }

    /// A whole number, written as a number or as a text; a number of floating point counts when it is whole.
    fn whole(&self) -> Option<i128> {
        match self {
            Self::Bool(_) => None,
            Self::Unsigned(number) => Some(i128::from(*number)),
            Self::Signed(number) => Some(i128::from(*number)),
            Self::Float(number) => whole(*number),
            Self::Text(text) => {
                let text = text.trim();
                text.parse().ok().or_else(|| whole(text.parse().ok()?))
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn whole(number: f64) -> Option<i128> {
    (number.fract() == 0.0 && number.abs() < 1e30).then_some(number as i128)
}

/// A type that is read from JSON. `null` is its default: absent; and so is what it does not take, which is noted.
pub(in crate::otlp) trait FromJson: Default {
    /// What it takes, for the note on what it does not take.
    const EXPECTED: &'static str;
    /// What a list of it takes.
    const LIST_EXPECTED: &'static str = "a list";
    /// Whether `null` in a list of it is an element.
    const IS_NULL_KEPT: bool = false;

    fn from_scalar(_place: JsonField<'_>, _scalar: &ProtoScalar<'_>) -> Option<Self> {
        None
    }

    fn from_list<'de, A: SeqAccess<'de>>(place: JsonField<'_>, list: A) -> Result<Self, A::Error> {
        place.mistyped("a list", Self::EXPECTED);
        ignore_list(list)
    }

    fn from_object<'de, A: MapAccess<'de>>(place: JsonField<'_>, object: A) -> Result<Self, A::Error> {
        place.mistyped("an object", Self::EXPECTED);
        ignore_object(object)
    }

    /// A list of it that was written as an object.
    fn list_from_object<'de, A: MapAccess<'de>>(
        place: JsonField<'_>,
        object: A,
    ) -> Result<Vec<Self>, A::Error> {
        place.mistyped("an object", Self::LIST_EXPECTED);
        ignore_object(object)
    }
}

fn ignore_list<'de, T: Default, A: SeqAccess<'de>>(mut list: A) -> Result<T, A::Error> {
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(T::default())
}

fn ignore_object<'de, T: Default, A: MapAccess<'de>>(mut object: A) -> Result<T, A::Error> {
    while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
    Ok(T::default())
}

/// Reads the value of a field.
pub(super) fn read<'de, T: FromJson, A: MapAccess<'de>>(
    object: &mut A,
    place: JsonField<'_>,
) -> Result<T, A::Error> {
    object.next_value_seed(FieldValue::new(place))
}

/// A value and the name of its field, for what is wrong with it.
pub(super) struct FieldValue<'r, T> {
    place: JsonField<'r>,
    value: PhantomData<T>,
}

impl<'r, T> FieldValue<'r, T> {
    pub(super) fn new(place: JsonField<'r>) -> Self {
        Self {
            place,
            value: PhantomData,
        }
    }
}

impl<'de, T: FromJson> DeserializeSeed<'de> for FieldValue<'_, T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<T: FromJson> FieldValue<'_, T> {
    #[expect(clippy::unnecessary_wraps, reason = "as the visitor's methods give it back")]
    fn scalar<E: Error>(&self, scalar: &ProtoScalar<'_>) -> Result<T, E> {
        Ok(T::from_scalar(self.place, scalar).unwrap_or_else(|| {
            self.place.mistyped(scalar.kind(), T::EXPECTED);
            T::default()
        }))
    }
}

impl<'de, T: FromJson> Visitor<'de> for FieldValue<'_, T> {
    type Value = T;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(T::EXPECTED)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        self.scalar(&ProtoScalar::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<T, E> {
        self.scalar(&ProtoScalar::Signed(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<T, E> {
        self.scalar(&ProtoScalar::Unsigned(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<T, E> {
        self.scalar(&ProtoScalar::Float(value))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<T, E> {
        self.scalar(&ProtoScalar::Text(value))
    }

    fn visit_unit<E: Error>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
        T::from_list(self.place, list)
    }

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
        T::from_object(self.place, object)
    }
}

/// The name of a field, without a copy where the document holds it as it is.
pub(super) struct FieldName;

impl<'de> DeserializeSeed<'de> for FieldName {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for FieldName {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(name))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(name.to_owned()))
    }
}

impl<T: FromJson> FromJson for Option<T> {
    const EXPECTED: &'static str = T::EXPECTED;

    fn from_scalar(place: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        T::from_scalar(place, scalar).map(Some)
    }

    fn from_list<'de, A: SeqAccess<'de>>(place: JsonField<'_>, list: A) -> Result<Self, A::Error> {
        T::from_list(place, list).map(Some)
    }

    fn from_object<'de, A: MapAccess<'de>>(place: JsonField<'_>, object: A) -> Result<Self, A::Error> {
        T::from_object(place, object).map(Some)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    const EXPECTED: &'static str = T::LIST_EXPECTED;

    fn from_list<'de, A: SeqAccess<'de>>(place: JsonField<'_>, mut list: A) -> Result<Self, A::Error> {
        let mut values = Self::new();
        while let Some(value) = list.next_element_seed(FieldValue::<Option<T>>::new(place))? {
            if T::IS_NULL_KEPT {
                values.push(value.unwrap_or_default());
            } else {
                values.extend(value);
            }
        }
        Ok(values)
    }

    fn from_object<'de, A: MapAccess<'de>>(place: JsonField<'_>, object: A) -> Result<Self, A::Error> {
        T::list_from_object(place, object)
    }
}

impl FromJson for String {
    const EXPECTED: &'static str = "a text";

    fn from_scalar(place: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        let text = match scalar {
            ProtoScalar::Text(text) => return Some((*text).to_owned()),
            ProtoScalar::Bool(value) => value.to_string(),
            ProtoScalar::Signed(number) => number.to_string(),
            ProtoScalar::Unsigned(number) => number.to_string(),
            ProtoScalar::Float(number) => number.to_string(),
        };
        place.mistyped(scalar.kind(), Self::EXPECTED);
        Some(text)
    }
}

impl FromJson for bool {
    const EXPECTED: &'static str = "true or false";

    fn from_scalar(_: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        match scalar {
            ProtoScalar::Bool(value) => Some(*value),
            ProtoScalar::Text("true") => Some(true),
            ProtoScalar::Text("false") => Some(false),
            _ => None,
        }
    }
}

/// A whole number of 64 bits; one beyond them, or with a fraction, is kept as far as floating point goes.
#[derive(Debug)]
pub(super) enum Whole {
    Int(i64),
    Double(f64),
}

impl Default for Whole {
    fn default() -> Self {
        Self::Int(0)
    }
}

impl FromJson for Whole {
    const EXPECTED: &'static str = "a whole number of 64 bits";

    fn from_scalar(place: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        if let Some(number) = scalar.whole().and_then(|number| number.try_into().ok()) {
            return Some(Self::Int(number));
        }
        let number = f64::from_scalar(place, scalar).filter(|number| number.is_finite())?;
        place.mistyped("another number", Self::EXPECTED);
        Some(Self::Double(number))
    }
}

impl FromJson for f64 {
    const EXPECTED: &'static str = "a number";

    #[expect(
        clippy::cast_precision_loss,
        reason = "the sender declared the number as floating point"
    )]
    fn from_scalar(_: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        match scalar {
            ProtoScalar::Bool(_) => None,
            ProtoScalar::Unsigned(number) => Some(*number as Self),
            ProtoScalar::Signed(number) => Some(*number as Self),
            ProtoScalar::Float(number) => Some(*number),
            // Rust takes `NaN`, `Infinity` and `-Infinity` too.
            ProtoScalar::Text(text) => text.trim().parse().ok(),
        }
    }
}

/// Nanoseconds, counts and flags: what cannot be negative. A negative count, as some senders write for "unknown", is 0.
#[derive(Default)]
pub(super) struct Unsigned(u64);

impl FromJson for Unsigned {
    const EXPECTED: &'static str = "a whole number or its text";

    fn from_scalar(_: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        let number = scalar.whole()?;
        Some(Self(u64::try_from(number.max(0)).unwrap_or(u64::MAX)))
    }
}

impl From<Unsigned> for u64 {
    fn from(number: Unsigned) -> Self {
        number.0
    }
}

impl From<Unsigned> for u32 {
    fn from(number: Unsigned) -> Self {
        Self::try_from(number.0).unwrap_or(Self::MAX)
    }
}

/// Nanoseconds since 1970; a date with its time, as some exporters write it, is the same moment.
#[derive(Default)]
pub(super) struct Time(u64);

impl FromJson for Time {
    const EXPECTED: &'static str = "a whole number or its text";

    fn from_scalar(place: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        if let Some(Unsigned(number)) = Unsigned::from_scalar(place, scalar) {
            return Some(Self(number));
        }
        let ProtoScalar::Text(text) = scalar else {
            return None;
        };
        let micros = date(text.trim())?.unix_microseconds();
        place.mistyped("a date", Self::EXPECTED);
        Some(Self(u64::try_from(micros).ok()?.saturating_mul(1000)))
    }
}

impl From<Time> for u64 {
    fn from(time: Time) -> Self {
        time.0
    }
}

/// A moment as ISO 8601 has it: a blank in the place of the `T` counts, and what names no zone is of UTC.
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

/// An ID of `N` bytes: hexadecimal of any case, with the dashes of a UUID or without, or base64 when its length says so.
#[derive(Default)]
pub(super) struct Id<const N: usize>(Vec<u8>);

impl<const N: usize> FromJson for Id<N> {
    const EXPECTED: &'static str = "a text of hexadecimal digits";

    fn from_scalar(_: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        let ProtoScalar::Text(text) = scalar else {
            return None;
        };
        let text = text.trim();
        // A UUID has dashes.
        let digits: String = text.chars().filter(|letter| *letter != '-').collect();
        let of_length = hexadecimal(&digits).filter(|bytes| bytes.len() == N);
        let bytes = of_length.or_else(|| hexadecimal(text)).or_else(|| {
            // 24 characters are 16 bytes, and 12 are 8.
            let is_base64 = text.len() == N.div_ceil(3) * 4;
            let bytes = is_base64.then(|| base64(text)).flatten()?;
            (bytes.len() == N).then_some(bytes)
        });
        Some(Self(bytes.unwrap_or_else(|| NO_ID.to_vec())))
    }
}

impl<const N: usize> From<Id<N>> for Vec<u8> {
    fn from(id: Id<N>) -> Self {
        id.0
    }
}

fn hexadecimal(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.as_bytes()
        .chunks_exact(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(digit(*high)? * 16 + digit(*low)?).ok(),
            _ => None,
        })
        .collect()
}

/// Bytes as base64.
#[derive(Default)]
pub(super) struct Bytes(pub(super) Vec<u8>);

impl FromJson for Bytes {
    const EXPECTED: &'static str = "a text in base64";

    fn from_scalar(_: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        match scalar {
            ProtoScalar::Text(text) => base64(text).map(Self),
            _ => None,
        }
    }
}

fn base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text).or_else(|_| URL_SAFE.decode(text)).ok()
}

/// A value of an enum: its number, its number as a text, its name, or its name without the prefix. An unknown name is 0,
/// "unspecified", because it must not cost the span.
pub(super) struct EnumValue<E> {
    number: i32,
    names: PhantomData<E>,
}

impl<E> Default for EnumValue<E> {
    fn default() -> Self {
        Self {
            number: 0,
            names: PhantomData,
        }
    }
}

/// The names of an enum.
pub(super) trait EnumNames {
    const PREFIX: &'static str;
    fn number(name: &str) -> Option<i32>;
}

impl<E: EnumNames> FromJson for EnumValue<E> {
    const EXPECTED: &'static str = "a number or a name";

    fn from_scalar(_: JsonField<'_>, scalar: &ProtoScalar<'_>) -> Option<Self> {
        let number = match scalar {
            ProtoScalar::Bool(_) => return None,
            ProtoScalar::Text(text) if scalar.whole().is_none() => {
                let name = text.trim().to_ascii_uppercase();
                let name = if name.starts_with(E::PREFIX) {
                    Cow::Borrowed(name.as_str())
                } else {
                    Cow::Owned(format!("{}{name}", E::PREFIX))
                };
                E::number(&name).unwrap_or(0)
            }
            _ => i32::try_from(scalar.whole()?).unwrap_or(0),
        };
        Some(Self {
            number,
            names: PhantomData,
        })
    }
}

impl<E> From<EnumValue<E>> for i32 {
    fn from(named: EnumValue<E>) -> Self {
        named.number
    }
}
