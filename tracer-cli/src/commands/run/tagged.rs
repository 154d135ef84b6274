//! Trials whose runs are tagged: each finds the tags in its environment.

use std::ffi::OsString;
use std::io;

use tracer_gate::trials::{PreparedTrial, TrialEnd, TrialEnvironment, TrialRemarks, TrialStart};
use tracer_sdk::format::{TAGS_VARIABLE, Tags};

/// Trials that record themselves, with these tags.
#[derive(Debug, Clone)]
pub(super) struct TaggedEnvironment(pub(super) Tags);

impl TrialEnvironment for TaggedEnvironment {
    fn prepare(&self, _: &TrialStart<'_>) -> io::Result<Box<dyn PreparedTrial>> {
        Ok(Box::new(self.clone()))
    }
}

impl PreparedTrial for TaggedEnvironment {
    fn variables(&self) -> Vec<(&'static str, OsString)> {
        if self.0.is_empty() {
            return Vec::new();
        }
        vec![(TAGS_VARIABLE, self.0.to_variable().into())]
    }

    fn arguments(&self, own: Vec<OsString>) -> Vec<OsString> {
        own
    }

    fn finish(self: Box<Self>, _: TrialEnd) -> TrialRemarks {
        TrialRemarks::default()
    }
}
