//! Repairs of a request that is not as OTLP writes it.
//!
//! Such values are repaired or left out; the rest of the request is kept.

use std::cell::RefCell;
use std::fmt;

/// Number of values of a request that were repaired or left out, and a description of the first one. Its text names
/// places and types, never a value.
///
/// ```
/// use tracer_capture::otlp::{Encoding, decode_spans};
///
/// let body = br#"{"resourceSpans": [{"scopeSpans": [{"spans": [{
///     "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": ["chat"]
/// }]}]}]}"#;
/// let repairs = decode_spans(Encoding::Json, body)?.repairs;
/// assert_eq!(
///     repairs.to_string(),
///     "1 value was repaired or left out: `name` is a list, and must be a text"
/// );
/// # Ok::<(), tracer_capture::otlp::DecodeError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repairs {
    /// Number of values.
    pub values: u64,
    /// Description of the first one.
    pub first: Option<String>,
}

impl Repairs {
    pub(super) fn note(&mut self, what: impl FnOnce() -> String) {
        self.values += 1;
        self.first.get_or_insert_with(what);
    }

    /// With those of a later step.
    pub(super) fn and(mut self, later: Self) -> Self {
        self.values += later.values;
        self.first = self.first.or(later.first);
        self
    }
}

impl fmt::Display for Repairs {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = self.first.as_deref().unwrap_or_default();
        match self.values {
            1 => write!(formatter, "1 value was repaired or left out: {first}"),
            values => write!(
                formatter,
                "{values} values were repaired or left out; the first: {first}"
            ),
        }
    }
}

/// A field that is read, and where what is wrong with it is noted.
#[derive(Debug, Clone, Copy)]
pub(super) struct JsonField<'r> {
    field: &'static str,
    repairs: &'r RefCell<Repairs>,
}

impl<'r> JsonField<'r> {
    pub(super) fn new(field: &'static str, repairs: &'r RefCell<Repairs>) -> Self {
        Self { field, repairs }
    }

    /// Another field of the same request.
    pub(super) fn at(self, field: &'static str) -> Self {
        Self { field, ..self }
    }

    /// Notes a value that is of another type than the field.
    pub(super) fn mistyped(self, found: &str, expected: &str) {
        let field = self.field;
        self.note(|| format!("`{field}` is {found}, and must be {expected}"));
    }

    pub(super) fn note(self, what: impl FnOnce() -> String) {
        self.repairs.borrow_mut().note(what);
    }
}
