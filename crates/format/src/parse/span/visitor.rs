//! Goes through one line, field by field in whatever order they stand, and keeps of each what it holds or what is
//! wrong with it.

use std::marker::PhantomData;

use serde::de::{MapAccess, SeqAccess, Visitor};

use super::super::any_value::{BorrowedKey, Skip, expecting, has_duplicates, plain_values_give, seed};
use super::super::duplicate_keys::DuplicateKey;
use super::super::fields::{self, FieldError, Location};
use super::super::scalar::{Scalar, ScalarSeed};
use super::{Identity, LineTime, ParsedEvent, ParsedSpan, ReadAttributes, SpanReading};
use crate::{Problem, ProblemCode, SpanId, SpanKind, StatusCode, TraceId};

/// A field: `None` when it is missing.
pub(super) type FieldSlot<T> = Option<Result<T, FieldError>>;
pub(super) type FieldText<'de> = std::borrow::Cow<'de, str>;

/// A line, gone through.
#[derive(Debug, Default)]
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
    /// One bit per field, see [`SpanField::bit`]: it was there, it was there twice, a duplicate key is inside it.
    seen: u16,
    twice: u16,
    inside: u16,
}

impl<'de, A> LineFields<'de, A> {
    /// The content of the line; errors are added to `problems`, in the order of the fields.
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
            for field in SpanField::ALL.into_iter().filter(|field| bits & field.bit() != 0) {
                let field = field.as_str();
                problems.push(DuplicateKey { field, is_field }.problem(place, &[field]));
            }
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
pub(super) struct LineSeed<A>(pub(super) PhantomData<A>);

seed!(LineSeed<A>, deserialize_any, A: ReadAttributes<'de>);

impl<'de, A: ReadAttributes<'de>> Visitor<'de> for LineSeed<A> {
    type Value = LineFields<'de, A>;

    expecting!("a span");

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut fields = LineFields {
            is_object: true,
            ..LineFields::default()
        };
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
        Ok(LineFields::default())
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(LineFields::default())
    }

    plain_values_give!(Self::Value, LineFields::default());
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
                self.attributes = Some(map.next_value_seed(AttributesSeed(inside, PhantomData))?);
            }
            SpanField::Events => self.events = Some(map.next_value_seed(EventsSeed(inside, PhantomData))?),
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

// The keys are compared with literals: a line has twelve, and a loop over the names takes longer.
crate::words! {
    /// A field of a span record, in the order of the specification.
    #[derive(Debug, Clone, Copy)]
    pub(super) enum SpanField {
        TraceId = "trace_id",
        SpanId = "span_id",
        ParentSpanId = "parent_span_id",
        Name = "name",
        Kind = "kind",
        StartTime = "start_time",
        EndTime = "end_time",
        DurationMs = "duration_ms",
        Attributes = "attributes",
        Events = "events",
        StatusCode = "status_code",
        StatusDescription = "status_description",
    }
}

impl SpanField {
    /// The field in a set of fields.
    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The key of a line: `None` for a field that is not understood.
struct FieldSeed;

seed!(FieldSeed, deserialize_str);

impl Visitor<'_> for FieldSeed {
    type Value = Option<SpanField>;

    expecting!("a key");

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(SpanField::from_word(key))
    }
}

/// A span event, gone through; `None` when it is no object.
pub(super) type EventFields<'de, A> =
    Option<(FieldSlot<FieldText<'de>>, FieldSlot<LineTime<'de>>, FieldSlot<A>)>;

/// Reads an object of attributes, and whether there is a duplicate key inside it.
struct AttributesSeed<'a, A>(&'a mut bool, PhantomData<A>);

seed!(AttributesSeed<'_, A>, deserialize_any, A: ReadAttributes<'de>);

impl<'de, A: ReadAttributes<'de>> Visitor<'de> for AttributesSeed<'_, A> {
    type Value = Result<A, FieldError>;

    expecting!("attributes");

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        A::read(map, self.0).map(Ok)
    }

    fn visit_seq<S: SeqAccess<'de>>(self, items: S) -> Result<Self::Value, S::Error> {
        Skip(self.0).visit_seq(items)?;
        Ok(Err(FieldError::wrong_type("an object")))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Err(FieldError::wrong_type("an object")))
    }

    plain_values_give!(Self::Value, Err(FieldError::wrong_type("an object")));
}

/// Reads the array of span events, likewise.
struct EventsSeed<'a, A>(&'a mut bool, PhantomData<A>);

seed!(EventsSeed<'_, A>, deserialize_any, A: ReadAttributes<'de>);

impl<'de, A: ReadAttributes<'de>> Visitor<'de> for EventsSeed<'_, A> {
    type Value = Result<Vec<EventFields<'de, A>>, FieldError>;

    expecting!("span events");

    fn visit_seq<S: SeqAccess<'de>>(self, mut items: S) -> Result<Self::Value, S::Error> {
        let mut events = Vec::new();
        while let Some(event) = items.next_element_seed(EventSeed(&mut *self.0, PhantomData))? {
            events.push(event);
        }
        Ok(Ok(events))
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        Skip(self.0).visit_map(map)?;
        Ok(Err(FieldError::wrong_type("an array")))
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(Err(FieldError::wrong_type("an array")))
    }

    plain_values_give!(Self::Value, Err(FieldError::wrong_type("an array")));
}

/// Reads one span event, likewise.
struct EventSeed<'a, A>(&'a mut bool, PhantomData<A>);

seed!(EventSeed<'_, A>, deserialize_any, A: ReadAttributes<'de>);

impl<'de, A: ReadAttributes<'de>> Visitor<'de> for EventSeed<'_, A> {
    type Value = EventFields<'de, A>;

    expecting!("a span event");

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let (mut name, mut timestamp, mut attributes) = (None, None, None);
        let mut others = Vec::new();
        while let Some(key) = map.next_key_seed(BorrowedKey)? {
            let inside = &mut *self.0;
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
                    let read = map.next_value_seed(AttributesSeed(inside, PhantomData))?;
                    attributes.replace(read).is_some()
                }
                _ => {
                    map.next_value_seed(Skip(inside))?;
                    others.push(key);
                    false
                }
            };
            *self.0 |= is_twice;
        }
        *self.0 |= has_duplicates(&others);
        Ok(Some((name, timestamp, attributes)))
    }

    fn visit_seq<S: SeqAccess<'de>>(self, items: S) -> Result<Self::Value, S::Error> {
        Skip(self.0).visit_seq(items)?;
        Ok(None)
    }

    fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> {
        Ok(None)
    }

    plain_values_give!(Self::Value, None);
}
