//! The failure of a step, with its stack line by line.

use serde::Serialize;
use tracer_sdk::format::Payload;

use tracer_insight::value_summary;
use tracer_insight::{stack, step_summary};

/// Lines shown of a stack trace.
const MAX_STACK_LINES: usize = 2_000;

/// A failure.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct ErrorDetails {
    /// The class of the error.
    #[serde(rename = "type")]
    kind: String,
    message: String,
    stack: Vec<StackLine>,
}

/// A line of a stack.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StackLine {
    text: String,
    /// True for a line of the user's own code, judged by its path.
    is_user: bool,
}

/// The failure of a record; `None` when it succeeded.
pub(crate) fn error(payload: &Payload) -> Option<ErrorDetails> {
    let failure = step_summary::failure(payload)?;
    let stack = failure.stack.as_deref().unwrap_or_default();
    Some(ErrorDetails {
        kind: failure.error_type.clone(),
        message: value_summary::with_markers(&failure.message),
        stack: stack::lines(stack)
            .take(MAX_STACK_LINES)
            .map(|(text, is_user)| StackLine {
                text: text.to_owned(),
                is_user,
            })
            .collect(),
    })
}
