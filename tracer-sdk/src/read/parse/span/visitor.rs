//! Goes through one line, field by field in whatever order they stand, and keeps of each what it holds or what is
//! wrong with it.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::super::any_value::{BorrowedKey, Skip, has_duplicates, plain_values_give};
use super::super::duplicate_keys::DuplicateKey;
use super::super::fields::{self, FieldError, Location};
use super::super::scalar::{Scalar, ScalarSeed};
use super::{Identity, LineTime, ParsedEvent, ParsedSpan, ReadAttributes, SpanReading};
use crate::format::{Problem, ProblemCode, SpanId, SpanKind, StatusCode, TraceId};

/// The fields of a span record, in the order of the specification.
pub(super) const SPAN_FIELDS: [&str; 12] = [
    "trace_id",
    "span_id",
    "parent_span_id",
    "name",
    "kind",
    "start_time",
    "end_time",
    "duration_ms",
    "attributes",
    "events",
    "status_code",
    "status_description",
];

/// A field: `None` when it is missing.
pub(super) type FieldSlot<T> = Option<Result<T, FieldError>>;
pub(super) type FieldText<'de> = std::borrow::Cow<'de, str>;

/// A line, gone through.
#[derive(Debug)]
pub(super) struct LineFields<'de, A> {
    is_object: bool,
    trace_id: FieldSlot<TraceId>,
    span_id: FieldSlot<SpanId>,
    parent_span_id: FieldSlot<Option<SpanId>>,
    name: FieldSlot<FieldText<'de>>,
    kind: FieldSlot<SpanKind>,
    start_time: FieldSlot<LineTime<'de>>,
    end_time: FieldSlot<Option<LineTime<'de>>>,
    duration_ms: FieldSlot<Option<u64>>,
    attributes: FieldSlot<A>,
    events: FieldSlot<Vec<EventFields<'de, A>>>,
    status_code: FieldSlot<StatusCode>,
    status_description: FieldSlot<FieldText<'de>>,
    /// One bit per field of [`SPAN_FIELDS`]: it was there, it was there twice, a duplicate key is inside it.
    seen: u16,
    twice: u16,
    inside: u16,
}

impl<'de, A> LineFields<'de, A> {
    fn new(is_object: bool) -> Self {
        Self {
            is_object,
            trace_id: None,
            span_id: None,
            parent_span_id: None,
            name: None,
            kind: None,
            start_time: None,
            end_time: None,
            duration_ms: None,
            attributes: None,
            events: None,
            status_code: None,
            status_description: None,
            seen: 0,
            twice: 0,
            inside: 0,
        }
    }

    /// What the line holds; what is wrong goes to the problems, in the order of the fields.
    pub(super) fn finish(self, line: u64, problems: &mut Vec<Problem>) -> SpanReading<'de, A> {
        let place = Location::Line(line);
        if !self.is_object {
            problems.push(place.problem(ProblemCode::InvalidType, "must be an object"));
            return SpanReading {
                span: None,
                identity: None,
            };
        }
        for (bits, is_field) in [(self.inside, false), (self.twice, true)] {
            let fields = SPAN_FIELDS.iter().enumerate();
            problems.extend(
                fields
                    .filter(|(bit, _)| bits & (1 << bit) != 0)
                    .map(|(_, field)| DuplicateKey { field, is_field }.problem(place, &SPAN_FIELDS)),
            );
        }
        let mut take = FieldReader { place, problems };
        let trace_id = take.field("trace_id", self.trace_id);
        let span_id = take.field("span_id", self.span_id);
        let parent_span_id = take.field("parent_span_id", self.parent_span_id);
        let name = take.field("name", self.name);
        let kind = take.field("kind", self.kind);
        let start_time = take.field("start_time", self.start_time);
        let end_time = take.field("end_time", self.end_time);
        let duration_ms = take.field("duration_ms", self.duration_ms);
        let attributes = take.field("attributes", self.attributes);
        let events = take.field("events", self.events);
        let events = events.and_then(|events| finish_events(events, line, take.problems));
        let status_code = take.field("status_code", self.status_code);
        let status_description = take.field("status_description", self.status_description);

        let identity = span_id
            .zip(parent_span_id)
            .map(|(span_id, parent_span_id)| Identity {
                trace_id,
                span_id,
                parent_span_id,
            });
        let span = || {
            Some(ParsedSpan {
                trace_id: trace_id?,
                span_id: span_id?,
                parent_span_id: parent_span_id?,
                name: name?,
                kind: kind?,
                start_time: start_time?,
                end_time: end_time?,
                duration_ms: duration_ms?,
                attributes: attributes?,
                events: events?,
                status_code: status_code?,
                status_description: status_description?,
            })
        };
        SpanReading {
            span: span(),
            identity,
        }
    }
}

/// Takes fields one after the other, and lists the problem of each.
struct FieldReader<'a> {
    place: Location,
    problems: &'a mut Vec<Problem>,
}

impl FieldReader<'_> {
    fn field<T>(&mut self, field: &'static str, slot: FieldSlot<T>) -> Option<T> {
        match slot.unwrap_or_else(|| Err(FieldError::missing())) {
            Ok(value) => Some(value),
            Err(fault) => {
                let problem = self.place.field_problem(field, fault.code, fault.message);
                self.problems.push(problem);
                None
            }
        }
    }
}

/// The span events, when each can be read.
fn finish_events<'de, A>(
    events: Vec<EventFields<'de, A>>,
    line: u64,
    problems: &mut Vec<Problem>,
) -> Option<Vec<ParsedEvent<'de, A>>> {
    let mut finished = Vec::with_capacity(events.len());
    let count = events.len();
    // All are read before any is given up, so that every problem is listed.
    for (number, event) in events.into_iter().enumerate() {
        let place = Location::Event(line, number);
        let Some((name, timestamp, attributes)) = event else {
            problems.push(place.problem(ProblemCode::InvalidType, "must be an object"));
            continue;
        };
        let mut take = FieldReader {
            place,
            problems: &mut *problems,
        };
        let name = take.field("name", name);
        let timestamp = take.field("timestamp", timestamp);
        let attributes = take.field("attributes", attributes);
        if let (Some(name), Some(timestamp), Some(attributes)) = (name, timestamp, attributes) {
            finished.push(ParsedEvent {
                name,
                timestamp,
                attributes,
            });
        }
    }
    (finished.len() == count).then_some(finished)
}

/// Reads a line.
pub(super) struct LineSeed<A>(PhantomData<A>);

impl<A> LineSeed<A> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, A: ReadAttributes<'de>> DeserializeSeed<'de> for LineSeed<A> {
    type Value = LineFields<'de, A>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, A: ReadAttributes<'de>> Visitor<'de> for LineSeed<A> {
    type Value = LineFields<'de, A>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a span")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = LineFields::new(true);
        while let Some(field) = map.next_key_seed(FieldSeed)? {
            let Some(field) = field else {
                map.next_value_seed(Skip(&mut false))?;
                continue;
            };
            let mut inside = false;
            fields.read(field, &mut map, &mut inside)?;
            fields.twice |= fields.seen & field.bit();
            fields.seen |= field.bit();
            if inside {
                fields.inside |= field.bit();
            }
        }
        Ok(fields)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, items: S) -> Result<Self::Value, S::Error> {
        Skip(&mut false).visit_seq(items)?;
        Ok(LineFields::new(false))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(LineFields::new(false))
    }

    plain_values_give!(Self::Value, LineFields::new(false));
}

impl<'de, A: ReadAttributes<'de>> LineFields<'de, A> {
    /// Reads the value of one field; the last value of a duplicate field counts.
    fn read<M: MapAccess<'de>>(
        &mut self,
        field: SpanField,
        map: &mut M,
        inside: &mut bool,
    ) -> Result<(), M::Error> {
        let mut scalar = || map.next_value_seed(ScalarSeed(&mut *inside));
        match field {
            SpanField::TraceId => self.trace_id = Some(fields::id(TraceId::LENGTH)(scalar()?)),
            SpanField::SpanId => self.span_id = Some(fields::id(SpanId::LENGTH)(scalar()?)),
            SpanField::ParentSpanId => {
                self.parent_span_id = Some(fields::or_null(scalar()?, fields::id(SpanId::LENGTH)));
            }
            SpanField::Name => self.name = Some(fields::text(scalar()?)),
            SpanField::Kind => self.kind = Some(kind(scalar()?)),
            SpanField::StartTime => self.start_time = Some(fields::time(scalar()?)),
            SpanField::EndTime => self.end_time = Some(fields::or_null(scalar()?, fields::time)),
            SpanField::DurationMs => self.duration_ms = Some(fields::or_null(scalar()?, fields::duration)),
            SpanField::Attributes => {
                self.attributes = Some(map.next_value_seed(AttributesSeed::new(inside))?);
            }
            SpanField::Events => self.events = Some(map.next_value_seed(EventsSeed::new(inside))?),
            SpanField::StatusCode => {
                self.status_code = Some(fields::word(StatusCode::from_word, "OK, ERROR, UNSET")(scalar()?));
            }
            SpanField::StatusDescription => self.status_description = Some(fields::text(scalar()?)),
        }
        Ok(())
    }
}

fn kind(value: Scalar<'_>) -> Result<SpanKind, FieldError> {
    fields::word(
        SpanKind::from_word,
        "INTERNAL, CLIENT, SERVER, PRODUCER, CONSUMER",
    )(value)
}

/// A field of a span record, numbered as in [`SPAN_FIELDS`].
#[derive(Debug, Clone, Copy)]
pub(super) enum SpanField {
    TraceId,
    SpanId,
    ParentSpanId,
    Name,
    Kind,
    StartTime,
    EndTime,
    DurationMs,
    Attributes,
    Events,
    StatusCode,
    StatusDescription,
}

impl SpanField {
    /// The field under a key. Compared with literals: a line has twelve keys, and a loop over the names takes longer.
    pub(super) fn from_key(key: &str) -> Option<Self> {
        Some(match key {
            "trace_id" => Self::TraceId,
            "span_id" => Self::SpanId,
            "parent_span_id" => Self::ParentSpanId,
            "name" => Self::Name,
            "kind" => Self::Kind,
            "start_time" => Self::StartTime,
            "end_time" => Self::EndTime,
            "duration_ms" => Self::DurationMs,
            "attributes" => Self::Attributes,
            "events" => Self::Events,
            "status_code" => Self::StatusCode,
            "status_description" => Self::StatusDescription,
            _ => return None,
        })
    }

    /// The field in a set of fields.
    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The key of a line: `None` for a field that is not understood.
struct FieldSeed;

impl<'de> DeserializeSeed<'de> for FieldSeed {
    type Value = Option<SpanField>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for FieldSeed {
    type Value = Option<SpanField>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(SpanField::from_key(key))
    }
}

/// A span event, gone through; `None` when it is no object.
pub(super) type EventFields<'de, A> =
    Option<(FieldSlot<FieldText<'de>>, FieldSlot<LineTime<'de>>, FieldSlot<A>)>;

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
        while let Some(key) = map.next_key_seed(BorrowedKey)? {
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
