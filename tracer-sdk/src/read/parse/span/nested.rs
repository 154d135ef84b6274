//! What lies inside a span: its attributes and its span events, each with what is wrong with it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::super::any_value::{Key, Skip, has_duplicates, plain_values_give};
use super::super::fields::{self, FieldError};
use super::super::scalar::ScalarSeed;
use super::visitor::{Slot, Text};
use super::{LineTime, ReadAttributes};

/// A span event, gone through; `None` when it is no object.
pub(super) type EventFields<'de, A> = Option<(Slot<Text<'de>>, Slot<LineTime<'de>>, Slot<A>)>;

/// Reads an object of attributes.
pub(super) struct AttributesSeed<'a, A> {
    has_duplicate: &'a mut bool,
    attributes: PhantomData<A>,
}

impl<'a, A> AttributesSeed<'a, A> {
    pub(super) fn new(has_duplicate: &'a mut bool) -> Self {
        Self {
            has_duplicate,
            attributes: PhantomData,
        }
    }
}

impl<'de, A: ReadAttributes<'de>> DeserializeSeed<'de> for AttributesSeed<'_, A> {
    type Value = Result<A, FieldError>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, A: ReadAttributes<'de>> Visitor<'de> for AttributesSeed<'_, A> {
    type Value = Result<A, FieldError>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("attributes")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        A::read(map, self.has_duplicate).map(Ok)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, items: S) -> Result<Self::Value, S::Error> {
        Skip(self.has_duplicate).visit_seq(items)?;
        Ok(Err(FieldError::wrong_type("an object")))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Err(FieldError::wrong_type("an object")))
    }

    plain_values_give!(Self::Value, Err(FieldError::wrong_type("an object")));
}

/// Reads the array of span events.
pub(super) struct EventsSeed<'a, A> {
    has_duplicate: &'a mut bool,
    attributes: PhantomData<A>,
}

impl<'a, A> EventsSeed<'a, A> {
    pub(super) fn new(has_duplicate: &'a mut bool) -> Self {
        Self {
            has_duplicate,
            attributes: PhantomData,
        }
    }
}

impl<'de, A: ReadAttributes<'de>> DeserializeSeed<'de> for EventsSeed<'_, A> {
    type Value = Result<Vec<EventFields<'de, A>>, FieldError>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, A: ReadAttributes<'de>> Visitor<'de> for EventsSeed<'_, A> {
    type Value = Result<Vec<EventFields<'de, A>>, FieldError>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("span events")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<Self::Value, S::Error> {
        let mut events = Vec::new();
        while let Some(event) = items.next_element_seed(EventSeed::new(&mut *self.has_duplicate))? {
            events.push(event);
        }
        Ok(Ok(events))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        Skip(self.has_duplicate).visit_map(map)?;
        Ok(Err(FieldError::wrong_type("an array")))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Err(FieldError::wrong_type("an array")))
    }

    plain_values_give!(Self::Value, Err(FieldError::wrong_type("an array")));
}

/// Reads one span event.
struct EventSeed<'a, A> {
    has_duplicate: &'a mut bool,
    attributes: PhantomData<A>,
}

impl<'a, A> EventSeed<'a, A> {
    fn new(has_duplicate: &'a mut bool) -> Self {
        Self {
            has_duplicate,
            attributes: PhantomData,
        }
    }
}

impl<'de, A: ReadAttributes<'de>> DeserializeSeed<'de> for EventSeed<'_, A> {
    type Value = EventFields<'de, A>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, A: ReadAttributes<'de>> Visitor<'de> for EventSeed<'_, A> {
    type Value = EventFields<'de, A>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a span event")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let (mut name, mut timestamp, mut attributes) = (None, None, None);
        let mut others = Vec::new();
        while let Some(key) = map.next_key_seed(Key)? {
            let inside = &mut *self.has_duplicate;
            let is_twice = match &*key {
                "name" => {
                    let read = fields::text(map.next_value_seed(ScalarSeed(inside))?);
                    name.replace(read).is_some()
                }
                "timestamp" => {
                    let read = fields::time(map.next_value_seed(ScalarSeed(inside))?);
                    timestamp.replace(read).is_some()
                }
                "attributes" => {
                    let read = map.next_value_seed(AttributesSeed::new(inside))?;
                    attributes.replace(read).is_some()
                }
                _ => {
                    map.next_value_seed(Skip(inside))?;
                    others.push(key);
                    false
                }
            };
            *self.has_duplicate |= is_twice;
        }
        *self.has_duplicate |= has_duplicates(&others);
        Ok(Some((name, timestamp, attributes)))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, items: S) -> Result<Self::Value, S::Error> {
        Skip(self.has_duplicate).visit_seq(items)?;
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    plain_values_give!(Self::Value, None);
}
