//! Requests that have a price: all but those that the provider refused.

use tracer_format::error_type;
use tracer_format::{Payload, Record, Usage};

/// Returns whether the provider refused a model call, so that it cost nothing: its error says so, and it has no tokens.
pub fn is_refusal(error_type: Option<&str>, usage: &Usage) -> bool {
    *usage == Usage::default() && error_type.is_some_and(is_error_status)
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

/// Tells whether a type of error is that of an answer with a status of 400 to 599, by the names that providers and their clients
/// have for these.
fn is_error_status(error_type: &str) -> bool {
    const NAMES: [&str; 17] = [
        "ratelimit",
        "toomanyrequests",
        "throttl",
        "quota",
        "badrequest",
        "invalidrequest",
        "invalidargument",
        "unprocessable",
        "authentication",
        "unauthorized",
        "permission",
        "notfound",
        "overloaded",
        "servererror",
        "unavailable",
        "apistatus",
        "exhausted",
    ];
    let name = error_type::class(error_type)
        .replace(['_', '-', ' '], "")
        .to_lowercase();
    let mut numbers = name.split(|char: char| !char.is_ascii_digit());
    let is_status = |number: &str| number.len() == 3 && number.starts_with(['4', '5']);
    NAMES.iter().any(|refused| name.contains(refused)) || numbers.any(is_status)
}

#[cfg(test)]
mod tests {
    use super::is_error_status;

    #[test]
    fn answers_with_an_error_status_are_refusals() {
        for refused in [
            "rate_limit_error",
            "openai.NotFoundError",
            "http_503",
            "429",
            "overloaded_error",
        ] {
            assert!(is_error_status(refused), "{refused}");
        }
        for other in [
            "timeout",
            "aborted",
            "panic",
            "ConnectionError",
            "error",
            "Error4040",
        ] {
            assert!(!is_error_status(other), "{other}");
        }
    }
}
