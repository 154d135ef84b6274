//! Model calls that a guardrail refused before they were made: recorded, so that a run shows what was stopped, and free.

use crate::format::error_type::is_guardrail;
use crate::format::{Payload, Record, Usage};

/// Whether a guardrail refused a model call before it was made, so that it cost nothing: it is recorded at one instant, with
/// the guardrail's error, and no tokens.
pub(crate) fn is_refusal(error_type: Option<&str>, duration_ms: Option<u64>, usage: &Usage) -> bool {
    error_type.is_some_and(is_guardrail) && duration_ms == Some(0) && *usage == Usage::default()
}

/// The same of a record.
pub(super) fn is_refused(record: &Record) -> bool {
    let Payload::LlmCall { usage, error, .. } = &record.payload else {
        return false;
    };
    let error_type = error.as_ref().map(|error| error.error_type.as_str());
    is_refusal(error_type, record.duration_ms, usage)
}
