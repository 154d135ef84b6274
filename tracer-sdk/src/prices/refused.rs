//! What has a price: what was asked of a model, but for calls that the provider refused, which are free.

use crate::format::error_type;
use crate::format::{Payload, Record, Usage};

/// Whether the provider refused a model call, so that it cost nothing: its error says so, and it reports no tokens.
pub(crate) fn is_refusal(error_type: Option<&str>, usage: &Usage) -> bool {
    *usage == Usage::default() && error_type.is_some_and(error_type::is_refusal)
}

/// The same of a record.
pub(super) fn is_refused(record: &Record) -> bool {
    let Payload::LlmCall { usage, error, .. } = &record.payload else {
        return false;
    };
    let error_type = error.as_ref().map(|error| error.error_type.as_str());
    is_refusal(error_type, usage)
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
