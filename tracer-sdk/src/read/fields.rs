//! Reading the fields of one JSON object, each with its type, and telling a problem for each that is wrong.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::str::FromStr;

use serde_json::{Map, Value};

use crate::format::{META_FILE, Problem, ProblemCode, SPANS_FILE, StoredTime};

/// Where an object stands; written out only when there is a problem.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// `meta.json`
    Meta,
    /// `meta.json.counts`
    Counts,
    /// `spans.jsonl:<line>`
    Line(u64),
    /// `spans.jsonl:<line>.events[<n>]`
    Event(u64, usize),
}

impl Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Meta => formatter.write_str(META_FILE),
            Self::Counts => write!(formatter, "{META_FILE}.counts"),
            Self::Line(line) => write!(formatter, "{SPANS_FILE}:{line}"),
            Self::Event(line, number) => write!(formatter, "{SPANS_FILE}:{line}.events[{number}]"),
        }
    }
}

impl Place {
    /// A problem with what stands here.
    pub(super) fn problem(self, code: ProblemCode, message: impl Into<Cow<'static, str>>) -> Problem {
        Problem::new(code, self.to_string(), message)
    }

    /// A problem with a field of the object that stands here.
    pub(super) fn field_problem(
        self,
        field: &str,
        code: ProblemCode,
        message: impl Into<Cow<'static, str>>,
    ) -> Problem {
        Problem::new(code, format!("{self}.{field}"), message)
    }
}

/// What is wrong with a value, wherever it stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    code: ProblemCode,
    message: Cow<'static, str>,
}

impl Fault {
    fn new(code: ProblemCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    fn wrong_type(expected: &'static str) -> Self {
        Self::new(ProblemCode::InvalidType, format!("must be {expected}"))
    }
}

/// The fields of one object, taken one after the other.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    object: Map<String, Value>,
    place: Place,
    problems: &'a mut Vec<Problem>,
}

impl<'a> Fields<'a> {
    pub(super) fn new(object: Map<String, Value>, place: Place, problems: &'a mut Vec<Problem>) -> Self {
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
        read: impl FnOnce(Value) -> Result<T, Fault>,
    ) -> Option<T> {
        let Some(value) = self.object.remove(field) else {
            self.problem(
                field,
                Fault::new(ProblemCode::MissingField, "is required and missing"),
            );
            return None;
        };
        read(value).map_err(|fault| self.problem(field, fault)).ok()
    }

    /// Takes a required field that may be null.
    #[expect(
        clippy::option_option,
        reason = "the outer tells whether it can be read, the inner whether there is one"
    )]
    pub(super) fn read_or_null<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(Value) -> Result<T, Fault>,
    ) -> Option<Option<T>> {
        self.read(field, |value| match value {
            Value::Null => Ok(None),
            value => read(value).map(Some),
        })
    }

    /// Takes a field that may be missing: `None` when it is wrong, `Some(None)` when it is not there.
    #[expect(
        clippy::option_option,
        reason = "the outer tells whether it can be read, the inner whether there is one"
    )]
    pub(super) fn read_optional<T>(
        &mut self,
        field: &'static str,
        read: impl FnOnce(Value) -> Result<T, Fault>,
    ) -> Option<Option<T>> {
        if self.object.contains_key(field) {
            self.read(field, read).map(Some)
        } else {
            Some(None)
        }
    }

    /// The list of problems, for what lies inside a field that was taken.
    pub(super) fn problems(&mut self) -> &mut Vec<Problem> {
        self.problems
    }

    /// What has not been taken.
    pub(super) fn rest(self) -> Map<String, Value> {
        self.object
    }

    fn problem(&mut self, field: &str, fault: Fault) {
        self.problems
            .push(self.place.field_problem(field, fault.code, fault.message));
    }
}

pub(super) fn text(value: Value) -> Result<String, Fault> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(Fault::wrong_type("a string")),
    }
}

pub(super) fn object(value: Value) -> Result<Map<String, Value>, Fault> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Fault::wrong_type("an object")),
    }
}

pub(super) fn array(value: Value) -> Result<Vec<Value>, Fault> {
    match value {
        Value::Array(items) => Ok(items),
        _ => Err(Fault::wrong_type("an array")),
    }
}

/// A whole number, zero or more; a boolean is not a number, and `1.0` is not whole.
pub(super) fn whole_number(value: Value) -> Result<u64, Fault> {
    match value {
        Value::Number(number) => number.as_u64().ok_or_else(|| {
            if number.is_i64() {
                Fault::new(ProblemCode::InvalidValue, "must be zero or more")
            } else {
                Fault::wrong_type("a whole number")
            }
        }),
        _ => Err(Fault::wrong_type("a whole number")),
    }
}

pub(super) fn time(value: Value) -> Result<StoredTime, Fault> {
    text(value)?.parse().map_err(|_| {
        Fault::new(
            ProblemCode::InvalidDatetime,
            "must be an RFC 3339 date-time with a zone, as 2026-01-01T00:00:00.000000Z",
        )
    })
}

/// An identifier of `length` characters.
pub(super) fn id<T: FromStr>(length: usize) -> impl FnOnce(Value) -> Result<T, Fault> {
    move |value| {
        text(value)?.parse().map_err(|_| {
            Fault::new(
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
) -> impl FnOnce(Value) -> Result<T, Fault> {
    move |value| {
        from_word(&text(value)?)
            .ok_or_else(|| Fault::new(ProblemCode::InvalidValue, format!("must be one of {allowed}")))
    }
}
