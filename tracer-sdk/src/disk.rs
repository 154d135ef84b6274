//! What a recorder must know of reading: whether a run can be joined, and how readers see its spans.

use std::path::Path;

#[cfg(feature = "tracing")]
use serde_json::{Map, Value};

#[cfg(feature = "prices")]
use crate::read::CallToPrice;
use crate::read::{RunDirectory, RunStore};
#[cfg(feature = "tracing")]
use tracer_format::EventType;
#[cfg(feature = "tracing")]
use tracer_format::project::child_type;
use tracer_format::{RecordedStatus, TraceId};

/// Whether the run is going on in this data directory: nothing is ever written into a directory that nobody owns, or
/// behind the end of a run.
pub(crate) fn is_running(data_directory: &Path, trace_id: TraceId) -> bool {
    let path = RunStore::new(data_directory)
        .runs_dir()
        .join(trace_id.to_string());
    RunDirectory { trace_id, path }
        .read_summary()
        .meta
        .is_ok_and(|meta| meta.status == RecordedStatus::Running)
}

/// What readers make of a span with these attributes that has a parent: a run counts what its projection counts
/// (decisions, section 4).
#[cfg(feature = "tracing")]
pub(crate) fn event_type(name: &str, attributes: &Map<String, Value>) -> EventType {
    child_type(name, attributes)
}

/// A model call of the log by what decides its cost, so that a limit counts what readers will say that the run cost.
#[cfg(feature = "prices")]
pub(crate) type LoggedCall = CallToPrice;
