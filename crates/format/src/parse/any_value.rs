//! Any JSON value, checked whole: built as a tree, or passed over without building anything. Both ways find duplicate keys.
//!
//! JSON leaves open which of two values counts, so two readers may see two different runs in one file: strict reading
//! refuses it.

use std::borrow::Cow;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Up to this many keys, each is compared with each: to sort them takes 2 % more instructions of reading.
const FEW_KEYS: usize = 12;

/// Gives the methods of a visitor for everything that is no object, no array and no text: they give one value.
macro_rules! plain_values_give {
    ($value:ty, $given:expr) => {
        fn visit_bool<E>(self, _: bool) -> Result<$value, E> {
            Ok($given)
        }

        fn visit_i64<E>(self, _: i64) -> Result<$value, E> {
            Ok($given)
        }

        fn visit_u64<E>(self, _: u64) -> Result<$value, E> {
            Ok($given)
        }

        fn visit_f64<E>(self, _: f64) -> Result<$value, E> {
            Ok($given)
        }

        fn visit_unit<E>(self) -> Result<$value, E> {
            Ok($given)
        }
    };
}
pub(super) use plain_values_give;

/// Makes a visitor a seed that gives what the visitor gives. `$method` is the deserializer's.
macro_rules! seed {
    ($seed:ty, $method:ident $(, $($bounds:tt)+)?) => {
        impl<'de $(, $($bounds)+)?> serde::de::DeserializeSeed<'de> for $seed {
            type Value = <Self as serde::de::Visitor<'de>>::Value;

            fn deserialize<D: serde::de::Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                deserializer.$method(self)
            }
        }
    };
}
pub(super) use seed;

/// Gives the method of a visitor that says what it expects.
macro_rules! expecting {
    ($what:literal) => {
        fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            formatter.write_str($what)
        }
    };
}
pub(super) use expecting;

/// Returns whether there is a duplicate key.
pub(super) fn has_duplicates<T: AsRef<str>>(keys: &[T]) -> bool {
    if keys.len() <= FEW_KEYS {
        return keys.iter().enumerate().any(|(index, key)| {
            keys.iter()
                .skip(index + 1)
                .any(|other| key.as_ref() == other.as_ref())
        });
    }
    let mut sorted: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    sorted.sort_unstable();
    sorted
        .windows(2)
        .any(|pair| matches!(pair, [one, other] if one == other))
}

/// Passes over a value.
#[derive(Debug)]
pub(super) struct Skip<'a>(pub(super) &'a mut bool);

// Not `IgnoredAny`: that lets numbers out of range and broken escapes pass.
seed!(Skip<'_>, deserialize_any);

impl<'de> Visitor<'de> for Skip<'_> {
    type Value = ();

    expecting!("any JSON value");

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut keys = Vec::new();
        while let Some(key) = map.next_key_seed(BorrowedKey)? {
            keys.push(key);
            map.next_value_seed(Skip(&mut *self.0))?;
        }
        *self.0 |= has_duplicates(&keys);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Skip(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    plain_values_give!((), ());
}

/// Builds a value; the last value of a duplicate key counts, as everywhere.
#[derive(Debug)]
pub(super) struct ValueSeed<'a>(pub(super) &'a mut bool);

seed!(ValueSeed<'_>, deserialize_any);

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;

    expecting!("any JSON value");

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
        object(map, self.0).map(Value::Object)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = items.next_element_seed(ValueSeed(&mut *self.0))? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        // The text of a document holds no NaN and no infinity.
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
}

/// Builds an object whose keys are being read.
pub(super) fn object<'de, A: MapAccess<'de>>(
    mut map: A,
    has_duplicate: &mut bool,
) -> Result<Map<String, Value>, A::Error> {
    let mut object = Map::new();
    while let Some(key) = map.next_key_seed(BorrowedKey)? {
        let value = map.next_value_seed(ValueSeed(&mut *has_duplicate))?;
        *has_duplicate |= object.insert(key.into_owned(), value).is_some();
    }
    Ok(object)
}

/// A key, borrowed from the text unless it has escapes.
#[derive(Debug)]
pub(super) struct BorrowedKey;

seed!(BorrowedKey, deserialize_str);

impl<'de> Visitor<'de> for BorrowedKey {
    type Value = Cow<'de, str>;

    expecting!("a key");

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::json;
    use super::*;

    #[test]
    fn a_duplicate_key_is_found_at_any_depth() {
        let many: Vec<String> = (0..30).map(|number| format!("\"k{number}\":0,")).collect();
        let many = many.concat();
        for (text, expected) in [
            (r#"{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}"#.to_owned(), false),
            (r#"{"a":1,"a":1,"a":2}"#.to_owned(), true),
            (r#"{"a":{"x":1,"x":1}}"#.to_owned(), true),
            (r#"{"a":1,"b":{},"\u0061":2}"#.to_owned(), true),
            (
                r#"{"a":[0,1.5,-1,true,null,"s",{"x":[{"y":1,"\u0079":1}]}]}"#.to_owned(),
                true,
            ),
            (format!("{{{many}\"k\":1}}"), false),
            (format!("{{{many}\"k7\":1}}"), true),
            ("[1]".to_owned(), false),
        ] {
            let (mut passing, mut building) = (false, false);
            json::parse(text.as_bytes(), Skip(&mut passing)).unwrap();
            json::parse(text.as_bytes(), ValueSeed(&mut building)).unwrap();
            assert_eq!((passing, building), (expected, expected), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_tree_is_what_the_parser_builds_and_passing_over_finds_the_same_faults(text in "[\\[\\]{},:0-9e\"\\\\ua.tr-]{0,24}") {
            let mut repeated = false;
            let built = json::parse(text.as_bytes(), ValueSeed(&mut repeated));
            prop_assert_eq!(built.clone().ok(), serde_json::from_str::<Value>(&text).ok());
            prop_assert_eq!(json::parse(text.as_bytes(), Skip(&mut repeated)), built.map(drop));
        }
    }
}
