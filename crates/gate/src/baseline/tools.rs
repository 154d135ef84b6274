//! The tools that the runs of a baseline called.

use std::collections::BTreeSet;

use super::Baseline;

impl Baseline {
    /// Every tool that any of the runs called, in any reading of their spans.
    pub(crate) fn known_tools(&self) -> BTreeSet<&str> {
        let sampled = self
            .trial_sample
            .iter()
            .flat_map(|sample| sample.signatures.values());
        let sampled = sampled.flat_map(|signature| &signature.tool_path);
        let possible = self.x_tracer.iter().flat_map(|ours| &ours.possible_tools);
        let known = self.tool_path.iter().chain(sampled).chain(possible);
        known.map(String::as_str).collect()
    }

    /// The tools that every one of the runs called.
    pub(crate) fn tools_of_every_run(&self) -> Vec<&String> {
        let others: Vec<_> = self
            .trial_sample
            .iter()
            .flat_map(|sample| sample.signatures.values())
            .collect();
        let is_in_all = |tool: &&String| others.iter().all(|other| other.tool_path.contains(tool));
        self.tool_path.iter().filter(is_in_all).collect()
    }
}
