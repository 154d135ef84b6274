//! Invariants: properties that every trial must keep, one file each.

mod failed_calls_are_retried;
mod forbidden_tools;
mod grounded_arguments;
mod json_schema;
mod no_guardrails;
mod no_loops;
mod no_new_tools;
mod output;
mod required_tools;
mod still_called;
mod stop_condition_reached;
mod tool_arguments;
mod tool_order;
mod tools;

use std::fmt::Debug;
use std::sync::Arc;

use serde::Deserialize as _;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::Value;
use tracer_insight::profile::RunProfile;

use crate::Baseline;
use crate::content::{Finding, RunContent};

/// All invariants, in the order in which a hint names them.
pub(crate) const INVARIANTS: &[InvariantSpec] = &[
    stop_condition_reached::SPEC,
    forbidden_tools::SPEC,
    required_tools::SPEC,
    no_loops::SPEC,
    no_guardrails::SPEC,
    no_new_tools::SPEC,
    still_called::SPEC,
    failed_calls_are_retried::SPEC,
    tool_order::SPEC,
    tool_arguments::SPEC,
    grounded_arguments::SPEC,
    output::SPEC,
];

/// An error of reading a value, with the path to it.
pub(crate) type PathError = serde_path_to_error::Error<serde_json::Error>;

/// A property of one trial, with the keys that a policy gives it (gate, *Invariants*).
pub trait Invariant: Debug + Send + Sync {
    /// Finding in a run, by its profile. Missing spans leave it unknown: a forbidden call may be among them, and a
    /// required one, too.
    fn finding(&self, _: &RunProfile, _: Option<&Baseline>) -> Finding {
        Finding::default()
    }

    /// Finding in the content of a run, where it needs that.
    fn content_finding(&self, _: &RunContent<'_>) -> Finding {
        Finding::default()
    }

    /// Checks if it judges the content of runs.
    fn needs_content(&self) -> bool {
        false
    }

    /// Checks if a command gives a score.
    fn has_score(&self) -> bool {
        false
    }

    /// A mistake of its keys together.
    fn mistake(&self) -> Option<&'static str> {
        None
    }

    /// The demand in words.
    fn description(&self) -> String;

    /// Checks if it compares with a baseline.
    fn needs_baseline(&self) -> bool {
        false
    }

    /// Checks if any run can break it.
    fn can_fail(&self) -> bool {
        true
    }

    /// Checks if it is about the end of the run, which a truncated trial does not show.
    fn is_about_the_end(&self) -> bool {
        false
    }
}

/// An entry of the table of invariants: name and keys.
pub(crate) struct InvariantSpec {
    /// The metric as a policy names it.
    pub(crate) name: &'static str,
    /// A policy may state several, each with a label: `output.tone`.
    pub(crate) is_labelled: bool,
    /// Reads the keys of a policy.
    pub(crate) read: fn(&Value) -> Result<Arc<dyn Invariant>, PathError>,
    /// The schema of the keys.
    pub(crate) schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema,
}

impl InvariantSpec {
    const fn new<T: Invariant + DeserializeOwned + schemars::JsonSchema + 'static>(
        name: &'static str,
    ) -> Self {
        Self {
            name,
            is_labelled: false,
            read: |keys| Ok(Arc::new(serde_path_to_error::deserialize::<_, T>(keys)?)),
            schema: T::json_schema,
        }
    }

    const fn labelled(mut self) -> Self {
        self.is_labelled = true;
        self
    }
}

/// The invariant with this name, or with this name and a label.
pub(crate) fn find(name: &str) -> Option<&'static InvariantSpec> {
    let (kind, label) = name.split_once('.').unwrap_or((name, ""));
    let is_named = |spec: &&InvariantSpec| {
        spec.name == name || spec.is_labelled && spec.name == kind && !label.is_empty()
    };
    INVARIANTS.iter().find(is_named)
}

/// Reads `require`, which may only be `true` where a property has no opposite.
fn only_true<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    if bool::deserialize(deserializer)? {
        return Ok(true);
    }
    Err(D::Error::custom(
        "cannot be false, it has no opposite: remove the metric instead",
    ))
}

const fn yes() -> bool {
    true
}
