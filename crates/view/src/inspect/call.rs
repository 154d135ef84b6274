//! Arguments and result of a tool call, and its differences from the call before.

use serde::Serialize;
use serde_json::Value;
use tracer_sdk::format::{EventType, Payload};

use super::super::answer::ApiError;
use super::super::run::open_run::OpenRun;
use super::cut::{ShownValue, StepAddress, StepPart};
use tracer_insight::value_differences;

/// A tool call.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ToolCallJson {
    arguments: Option<ShownValue>,
    result: Option<ShownValue>,
    /// The call before of the same tool.
    previous_same_tool: Option<Previous>,
}

/// A step before, and what is different in this one.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Previous {
    pub(super) event_id: String,
    pub(super) number: usize,
    /// Empty when nothing differs.
    pub(super) differences: Vec<DifferenceAnswer>,
}

/// A field that was something else before.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct DifferenceAnswer {
    /// `arguments`, `result` or `state`.
    of: &'static str,
    /// `query`, `order.items[2]`; empty for the value itself.
    path: String,
    /// Null where it was not there.
    before: Option<String>,
    after: Option<String>,
}

/// A tool call; `None` for any other record.
pub(super) fn of(
    run: &OpenRun,
    number: usize,
    payload: &Payload,
    place: &StepAddress,
) -> Result<Option<ToolCallJson>, ApiError> {
    let Payload::ToolCall {
        tool_name,
        args,
        result,
        ..
    } = payload
    else {
        return Ok(None);
    };
    let previous = run.steps.read_previous(number, |event_type, name| {
        event_type == EventType::ToolCall && name == tool_name
    });
    let before = previous.map_err(ApiError::unreadable)?;
    let previous_same_tool = before.and_then(|(number, read)| {
        let record = read.record;
        let Payload::ToolCall {
            args: args_before,
            result: result_before,
            ..
        } = &record.payload
        else {
            return None;
        };
        let mut found = differing("arguments", args_before, args);
        // A call that failed has no result to compare.
        if !result.is_null() {
            found.extend(differing("result", result_before, result));
        }
        Some(Previous {
            event_id: record.event_id,
            number,
            differences: found,
        })
    });
    Ok(Some(ToolCallJson {
        arguments: ShownValue::of(args, StepPart::Arguments, place),
        result: ShownValue::of(result, StepPart::Result, place),
        previous_same_tool,
    }))
}

/// In what two values differ.
pub(super) fn differing(of: &'static str, before: &Value, after: &Value) -> Vec<DifferenceAnswer> {
    value_differences::between(&[before, after])
        .into_iter()
        .map(|difference| {
            let mut values = difference.values.into_iter();
            DifferenceAnswer {
                of,
                path: difference.path,
                before: values.next().flatten(),
                after: values.next().flatten(),
            }
        })
        .collect()
}
