//! The runs that a page knows, and their versions.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use tracer_sdk::format::TraceId;
use tracer_sdk::read::RunSummary;

use crate::run::stamp::Stamp;

/// Runs as they were when they were looked at.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Known(pub(super) BTreeMap<TraceId, (Stamp, &'static str)>);

impl Known {
    /// The runs as they are now.
    pub(crate) fn of(listed: &[RunSummary]) -> Self {
        let now = |run: &RunSummary| (Stamp::of(&run.directory.path), run.status().as_str());
        Self(
            listed
                .iter()
                .map(|run| (run.directory.trace_id, now(run)))
                .collect(),
        )
    }

    /// A text that changes when a run does.
    pub(crate) fn version(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.0.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}
