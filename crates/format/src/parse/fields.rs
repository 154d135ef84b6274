//! The fields of one JSON object, read one by one with their types; each wrong one is a problem.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

use serde_json::{Map, Value};

use super::scalar::Scalar;
use crate::{META_FILE, Problem, ProblemCode, SPANS_FILE, StoredTime, Timestamp};

/// The problem of a completed run without spans.
pub fn no_spans() -> Problem {
    Problem::new(
        ProblemCode::EmptySpans,
        SPANS_FILE,
        "holds no span; a completed run has at least its root",
    )
}

/// The place of an object; written out only when there is a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Location {
    /// `meta.json`
    Meta,
    /// `meta.json.counts`
    Counts,
    /// `spans.jsonl:<line>`
    Line(u64),
    /// `spans.jsonl:<line>.events[<n>]`
    Event(u64, usize),
}

impl Display for Location {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Meta => formatter.write_str(META_FILE),
            Self::Counts => write!(formatter, "{META_FILE}.counts"),
            Self::Line(line) => write!(formatter, "{SPANS_FILE}:{line}"),
            Self::Event(line, number) => write!(formatter, "{SPANS_FILE}:{line}.events[{number}]"),
        }
    }
}

impl Location {
    /// The problem of a span that belongs to another run.
    pub fn foreign_span(self) -> Problem {
        self.field_problem(
            "trace_id",
            ProblemCode::TraceIdMismatch,
            "is not the trace_id of meta.json; a run directory holds the spans of one run",
        )
    }

    /// A problem with the object.
    pub fn problem(self, code: ProblemCode, message: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(code, self.to_string(), message)
    }

    /// The problem of something else in the object's place.
    pub(super) fn not_an_object(self) -> Problem {
        self.problem(ProblemCode::InvalidType, "must be an object")
    }

    /// A problem with a field of the object.
    pub fn field_problem(
        self,
        field: &str,
        code: ProblemCode,
        message: impl Into<Cow<'static, str>>,
    ) -> Problem {
        Problem::new(code, format!("{self}.{field}"), message)
    }
}

/// The problem of a value, without its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldError {
    code: ProblemCode,
    message: Cow<'static, str>,
}

impl FieldError {
    fn new(code: ProblemCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    fn wrong_type(expected: &'static str) -> Self {
        Self::new(ProblemCode::InvalidType, format!("must be {expected}"))
    }

    fn missing() -> Self {
        Self::new(ProblemCode::MissingField, "is required and missing")
    }
}

/// The fields of one object, taken one after the other.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    object: Map<String, Value>,
    place: Location,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(object: Map<String, Value>, place: Location, problems: &'a mut Vec<Problem>) -> Self {
        Self {
            object,
            place,
            problems,
        }
    }

    /// Takes a required field; `None` when it is missing or wrong, which is then among the problems.
    pub(super) fn read<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(Scalar<'_>) -> Result<T, FieldError>,
    ) -> Option<T> {
        let value = self.take(field)?;
        read(Scalar::from_value(&value))
            .map_err(|fault| self.problem(field, fault))
            .ok()
    }

    /// Takes a field that may be missing: `None` when it is wrong, `Some(None)` when it is not there.
    #[expect(
        clippy::option_option,
        reason = "the outer one is whether it can be read, the inner one whether it is there"
    )]
    pub(super) fn read_optional<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(Scalar<'_>) -> Result<T, FieldError>,
    ) -> Option<Option<T>> {
        if self.object.contains_key(field) {
            self.read(field, read).map(Some)
        } else {
            Some(None)
        }
    }

    /// Takes a required object.
    pub(super) fn read_object(&mut self, field: &'static str) -> Option<Map<String, Value>> {
        if let Value::Object(object) = self.take(field)? {
            return Some(object);
        }
        self.problem(field, FieldError::wrong_type("an object"));
        None
    }

    /// Takes a required array of objects, and reads each of them.
    pub(super) fn read_objects(
        &mut self,
        field: &'static str,
        place: impl Fn(usize) -> Location,
        read: impl Fn(&mut Fields<'_>),
    ) {
        let Some(value) = self.take(field) else { return };
        let Value::Array(items) = value else {
            return self.problem(field, FieldError::wrong_type("an array"));
        };
        for (number, item) in items.into_iter().enumerate() {
            match item {
                Value::Object(item) => read(&mut Fields::new(item, place(number), self.problems)),
                _ => self.problems.push(place(number).not_an_object()),
            }
        }
    }

    /// The fields that have not been taken.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.object
    }

    fn take(&mut self, field: &'static str) -> Option<Value> {
        let value = self.object.remove(field);
        if value.is_none() {
            self.problem(field, FieldError::missing());
        }
        value
    }

    fn problem(&mut self, field: &str, fault: FieldError) {
        self.problems
            .push(self.place.field_problem(field, fault.code, fault.message));
    }
}

/// A field that may be null.
pub(super) fn or_null<'v, T>(
    value: Scalar<'v>,
    read: impl FnOnce(Scalar<'v>) -> Result<T, FieldError>,
) -> Result<Option<T>, FieldError> {
    match value {
        Scalar::Null => Ok(None),
        value => read(value).map(Some),
    }
}

pub(super) fn text(value: Scalar<'_>) -> Result<Cow<'_, str>, FieldError> {
    match value {
        Scalar::Text(text) => Ok(text),
        _ => Err(FieldError::wrong_type("a string")),
    }
}

pub(super) fn owned_text(value: Scalar<'_>) -> Result<String, FieldError> {
    text(value).map(Cow::into_owned)
}

/// A whole number, zero or more; a boolean is not a number, and `1.0` is not whole.
#[expect(clippy::needless_pass_by_value, reason = "all readers of a field take it")]
pub(super) fn whole_number(value: Scalar<'_>) -> Result<u64, FieldError> {
    match value {
        Scalar::Whole(number) => Ok(number),
        Scalar::Negative => Err(FieldError::new(ProblemCode::InvalidValue, "must be zero or more")),
        _ => Err(FieldError::wrong_type("a whole number")),
    }
}

/// A duration in milliseconds. A boolean, which some languages count among the numbers, is a value that is not allowed
/// rather than one of another type.
pub(super) fn duration(value: Scalar<'_>) -> Result<u64, FieldError> {
    match value {
        Scalar::Bool(_) => Err(FieldError::new(
            ProblemCode::InvalidValue,
            "must be a whole number, not a boolean",
        )),
        value => whole_number(value),
    }
}

/// A date-time: its text, and its instant.
pub(super) fn time(value: Scalar<'_>) -> Result<(Cow<'_, str>, Timestamp), FieldError> {
    let text = text(value)?;
    match text.parse() {
        Ok(instant) => Ok((text, instant)),
        Err(_) => Err(FieldError::new(
            ProblemCode::InvalidDatetime,
            "must be an RFC 3339 date-time with a zone, as 2026-01-01T00:00:00.000000Z",
        )),
    }
}

pub(super) fn stored_time(value: Scalar<'_>) -> Result<StoredTime, FieldError> {
    time(value).map(|(text, instant)| StoredTime::with_text(instant, &text))
}

/// An identifier of `length` characters. Whatever else is in its place is no ID, of another type or not.
pub(super) fn id<T: FromStr>(length: usize) -> impl FnOnce(Scalar<'_>) -> Result<T, FieldError> {
    move |value| {
        let id = value.as_text().and_then(|text| text.parse().ok());
        id.ok_or_else(|| {
            FieldError::new(
                ProblemCode::InvalidId,
                format!("must be {length} lower-case hexadecimal characters, not all zeros"),
            )
        })
    }
}

/// One of a set of words.
pub(super) fn word<T>(
    from_word: impl FnOnce(&str) -> Option<T>,
    allowed: &'static str,
) -> impl FnOnce(Scalar<'_>) -> Result<T, FieldError> {
    move |value| {
        from_word(&text(value)?)
            .ok_or_else(|| FieldError::new(ProblemCode::InvalidValue, format!("must be one of {allowed}")))
    }
}
