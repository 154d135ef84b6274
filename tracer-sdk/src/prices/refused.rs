//! What has a price: what was asked of a model, but for calls that a guardrail refused before they were made, which are
//! recorded so that a run shows what was stopped, and free.

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

/// The provider of what was asked of a model, the model, and the one that answered; `None` of a record of anything else.
pub(super) fn asked_model(record: &Record) -> Option<(&str, &str, Option<&str>)> {
    if let Payload::LlmCall {
        model,
        provider,
        response_model,
        ..
    } = &record.payload
    {
        return Some((provider, model, response_model.as_deref()));
    }
    let service = record.marks.as_ref()?.service.as_ref()?;
    Some((
        &service.provider,
        &service.model,
        service.response_model.as_deref(),
    ))
}
