//! The differences of a trial from its baseline in the form that a report of version `2.0.x` has: pairs of now and before
//! (gate-contract, section 10). Everything else names differences, as [`Comparison`] does.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use tracer_insight::comparison::{Comparison, NameChanges};

use crate::baseline::SUMMARY_METRICS;

/// What differs from a baseline, counted; pairs are `[now, before]`, but those of `repeated_tools`, as other tools
/// read it.
///
/// ```
/// use tracer_gate::CountedDiff;
/// use tracer_insight::comparison::Comparison;
/// use tracer_insight::profile::RunProfile;
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| tracer_sdk::tool_call("search").record());
/// let metrics = RunProfile::new(&run.meta, run.records);
/// let diff = CountedDiff::of(&Comparison::of_runs(&metrics, &metrics));
/// assert!(diff.summary_diff.is_empty());
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CountedDiff {
    /// The run.
    pub run_a_id: String,
    /// The run of the baseline.
    pub run_b_id: String,
    /// Numbers that differ, `[now, before]`.
    pub summary_diff: BTreeMap<String, [Value; 2]>,
    /// The tools.
    pub tool_path_diff: ToolPathDiff,
    /// How many records of each type, `[now, before]`.
    pub event_count_diff: BTreeMap<String, [u64; 2]>,
    /// Tools that are called only now.
    pub new_tools: Vec<String>,
    /// Tools that are no longer called.
    pub removed_tools: Vec<String>,
    /// Tools that are called more often, `[before, now]`.
    pub repeated_tools: BTreeMap<String, [u64; 2]>,
    /// Whether tools come in another order.
    pub reordered_tools: bool,
    /// The tools of the run, in order.
    pub current_tool_sequence: Vec<String>,
    /// The tools of the baseline, in order.
    pub baseline_tool_sequence: Vec<String>,
    /// The models.
    pub model_changes: NameChanges,
    /// Guardrails, `[now, before]`; null when they are the same or not known.
    pub guardrail_event_diff: Option<[u64; 2]>,
    /// How the runs ended, `[now, before]`; null when they ended alike.
    pub terminal_status_diff: Option<[String; 2]>,
}

/// What differs in the tools, once more, as a report of version `2.0.x` has it.
///
/// ```
/// use tracer_gate::ToolPathDiff;
///
/// assert!(!ToolPathDiff::default().reordered);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolPathDiff {
    /// Tools that are called only now.
    pub new: Vec<String>,
    /// Tools that are no longer called.
    pub removed: Vec<String>,
    /// Tools that are called more often, `[before, now]`.
    pub repeated: BTreeMap<String, [u64; 2]>,
    /// Whether tools come in another order.
    pub reordered: bool,
    /// Whether the order of the run's calls is known.
    pub current_sequence_exact: bool,
    /// Whether the order of the baseline's calls is known.
    pub baseline_sequence_exact: bool,
}

impl CountedDiff {
    /// The comparison in this form.
    ///
    /// ```
    /// use tracer_gate::CountedDiff;
    /// use tracer_insight::comparison::Comparison;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let [before, after] = [capture(|| Ok(())), capture(|| tracer_sdk::tool_call("search").record())]
    ///     .map(|run| RunProfile::new(&run.meta, run.records));
    /// let diff = CountedDiff::of(&Comparison::of_runs(&before, &after));
    /// assert_eq!(diff.summary_diff["tool_calls"], [1.0, 0.0]);
    /// assert_eq!(diff.new_tools, ["search"]);
    /// ```
    #[must_use]
    pub fn of(comparison: &Comparison) -> Self {
        let metric = |name: &str| comparison.metrics.iter().find(|change| change.metric == name);
        let mut summary_diff: BTreeMap<String, [Value; 2]> = SUMMARY_METRICS
            .iter()
            .filter_map(|(key, name)| Some((key, metric(name).filter(|change| change.is_changed())?)))
            .map(|(key, change)| ((*key).to_owned(), [json!(change.after), json!(change.before)]))
            .collect();
        let (now, before) = (&comparison.after, &comparison.before);
        let terminal_status_diff =
            (now.status != before.status).then(|| [now.status.clone(), before.status.clone()]);
        if let Some(status) = &terminal_status_diff {
            summary_diff.insert("status".to_owned(), status.clone().map(Value::from));
        }
        let tools = &comparison.tools;
        let repeated: BTreeMap<String, [u64; 2]> = tools
            .repeated
            .iter()
            .map(|repeated| (repeated.tool.clone(), [repeated.before, repeated.after]))
            .collect();
        let stops = metric("guardrail_stops").filter(|change| change.is_changed());
        Self {
            run_a_id: now.run_id.clone(),
            run_b_id: before.run_id.clone(),
            summary_diff,
            tool_path_diff: ToolPathDiff {
                new: tools.added.clone(),
                removed: tools.removed.clone(),
                repeated: repeated.clone(),
                reordered: tools.is_reordered,
                current_sequence_exact: now.is_sequence_known,
                baseline_sequence_exact: before.is_sequence_known,
            },
            event_count_diff: comparison
                .records
                .iter()
                .map(|count| (count.event_type.clone(), [count.after, count.before]))
                .collect(),
            new_tools: tools.added.clone(),
            removed_tools: tools.removed.clone(),
            repeated_tools: repeated,
            reordered_tools: tools.is_reordered,
            current_tool_sequence: now.tool_calls.clone(),
            baseline_tool_sequence: before.tool_calls.clone(),
            model_changes: comparison.models.clone(),
            guardrail_event_diff: stops
                .and_then(|change| Some([whole(change.after?), whole(change.before?)])),
            terminal_status_diff,
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count that was made a float"
)]
fn whole(count: f64) -> u64 {
    count as u64
}
