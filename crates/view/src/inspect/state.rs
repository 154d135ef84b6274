//! A state of the agent, and what changed in it.

use serde::Serialize;
use tracer_sdk::format::{EventType, Payload};

use super::super::answer::ApiError;
use super::super::run::open_run::OpenRun;
use super::call::{Previous, differing};
use super::cut::{ShownValue, StepAddress, StepPart};

/// A state.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct StateDetails {
    state: Option<ShownValue>,
    /// The change, as the agent recorded it.
    difference: Option<ShownValue>,
    /// The state before, and what differs in this one.
    previous: Option<Previous>,
}

/// A state; `None` for any other record.
pub(crate) fn of(
    run: &OpenRun,
    number: usize,
    payload: &Payload,
    place: &StepAddress,
) -> Result<Option<StateDetails>, ApiError> {
    let Payload::StateUpdate { state, diff } = payload else {
        return Ok(None);
    };
    let before = run
        .steps
        .read_previous(number, |event_type, _| event_type == EventType::StateUpdate)
        .map_err(ApiError::unreadable)?;
    let previous = before.and_then(|(number, read)| {
        let record = read.record;
        let Payload::StateUpdate { state: before, .. } = &record.payload else {
            return None;
        };
        // A state that holds only what changed cannot be compared.
        let differences = if before.is_null() || state.is_null() {
            Vec::new()
        } else {
            differing("state", before, state)
        };
        Some(Previous {
            event_id: record.event_id,
            number,
            differences,
        })
    });
    Ok(Some(StateDetails {
        state: ShownValue::of(state, StepPart::State, place),
        difference: diff
            .as_ref()
            .and_then(|diff| ShownValue::of(diff, StepPart::Difference, place)),
        previous,
    }))
}
