//! A baseline as the side before of a comparison.

use std::collections::BTreeMap;

use tracer_insight::comparison::{Comparison, UsualProfile};
use tracer_insight::profile::{Metric, RunProfile};

use super::Baseline;
use crate::statistics::{Aggregate, aggregate};

impl Baseline {
    /// Compares a run with what is usual: its numbers with the medians of the sample, its tools and models with all runs
    /// of the sample, its calls with the run that went the same way, or else with the first.
    ///
    /// ```
    /// use tracer_gate::Baseline;
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// let run = RunProfile::new(&run.meta, run.records);
    /// let baseline = Baseline::of_run(&run, "2026-01-01T00:00:00.000Z");
    /// assert!(baseline.compare(&run).is_same);
    /// ```
    #[must_use]
    pub fn compare(&self, after: &RunProfile) -> Comparison {
        Comparison::with_usual(&self.usual_profile(), after)
    }

    fn usual_profile(&self) -> UsualProfile {
        let first = self.trials.first();
        let mut usual = UsualProfile::new(self.first_run_id().to_owned(), self.first_signature());
        usual.run_name = first.and_then(|first| first.run_name.clone());
        usual.signatures = self.signatures.values().cloned().collect();
        usual.values = medians(self);
        for trial in &self.trials {
            usual.guardrail_stops = usual.guardrail_stops.max(trial.guardrail_stops);
            usual.repeated_calls = usual.repeated_calls.max(trial.repeated_calls);
        }
        usual
    }
}

fn medians(baseline: &Baseline) -> BTreeMap<String, f64> {
    let known = |metric: Metric| {
        let median = aggregate(&baseline.sample(&metric)?, Aggregate::Median)?;
        Some((metric.to_string(), median))
    };
    Metric::recorded().filter_map(known).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tracer_insight::comparison::{CallChange, RepeatedTool, SideKind, ToolChanges};
    use tracer_insight::testing::{floats, letters, measured, metrics_of_vector, run_of_vector};

    use super::*;

    // Differs, gate, *Comparison*: more calls of a tool are not another order. Differs, gate, *Evidence*:
    // structure is not a step, and unknown tokens are not zero.
    #[test]
    fn the_differences_of_the_vectors_are_found() {
        let baseline = Baseline::of_run(&metrics_of_vector("good"), "2026-01-01T00:00:00.000Z");
        for vector in measured("compute_diff") {
            let current = metrics_of_vector(vector.input["current"].as_str().unwrap());
            let comparison = match vector.input["other_run"].as_str() {
                Some(other) => Comparison::of_runs(&metrics_of_vector(other), &current),
                None => baseline.compare(&current),
            };
            let (expected, name) = (&vector.expected["diff"], &vector.name);
            let tools = &comparison.tools;
            assert_eq!(expected["new_tools"], json!(tools.added), "{name}");
            assert_eq!(expected["removed_tools"], json!(tools.removed), "{name}");
            let repeated = tools.repeated.iter();
            let repeated: serde_json::Map<String, Value> = repeated
                .map(|change| (change.tool.clone(), json!([change.before, change.after])))
                .collect();
            assert_eq!(expected["repeated_tools"], Value::Object(repeated), "{name}");
            assert_eq!(expected["model_changes"], json!(comparison.models), "{name}");
            let mut summary = expected["summary_diff"].as_object().unwrap().clone();
            // Structure is not a step.
            summary.remove("total_events");
            let status = [&comparison.after.status, &comparison.before.status];
            let status = (status[0] != status[1]).then(|| json!(status));
            assert_eq!(summary.remove("status"), status, "{name}");
            for (key, metric) in [
                ("total_tokens", "cost_tokens"),
                ("duration_ms", "latency_ms"),
                ("tool_calls", "tool_call_count"),
                ("llm_calls", "llm_call_count"),
                ("errors", "error_count"),
                ("loop_warnings", "loop_warning_count"),
            ] {
                let mut metrics = comparison.metrics.iter();
                let change = metrics.find(|change| change.metric == metric && change.is_changed());
                let theirs = summary.remove(key).unwrap_or_default();
                // Unknown tokens are not zero.
                if change.is_some_and(|change| change.after.is_none()) {
                    continue;
                }
                let ours = change.map_or(Value::Null, |change| json!([change.after, change.before]));
                assert_eq!(floats(&ours), floats(&theirs), "{name}: {key}");
            }
            assert!(summary.is_empty(), "{name}: {summary:?}");
        }
    }

    // gate, *Report*
    #[test]
    fn an_unchanged_agent_is_compared_with_the_run_that_went_the_same_way_and_with_the_median() {
        let (long, short) = (letters("abbc"), letters("abc"));
        let baseline = Baseline::of_runs(&[&long, &short, &short], "2026-01-01T00:00:00.000Z").unwrap();
        for usual in [&long, &short] {
            let comparison = baseline.compare(usual);
            assert_eq!(comparison.tools, ToolChanges::default());
            assert!(
                comparison
                    .calls
                    .pairs()
                    .all(|pair| pair.change == CallChange::Same)
            );
            let tokens = comparison
                .metrics
                .iter()
                .find(|change| change.metric == "tool_call_count")
                .unwrap();
            assert_eq!(tokens.before, Some(3.0), "the median, not the first trial");
        }
        let other = baseline.compare(&letters("abbbd"));
        assert_eq!(
            (other.tools.added, other.tools.removed),
            (vec!["d".to_owned()], vec!["c".to_owned()])
        );
        assert_eq!(
            other.tools.repeated,
            [RepeatedTool {
                tool: "b".to_owned(),
                before: 2,
                after: 3
            }]
        );
    }

    #[test]
    fn a_baseline_knows_the_steps_of_its_calls() {
        let good = metrics_of_vector("good");
        let baseline = Baseline::of_run(&good, "2026-01-01T00:00:00.000Z");
        let comparison = baseline.compare(&metrics_of_vector("regressed"));
        let first = comparison.calls.pairs().next().unwrap();
        assert_eq!(
            (first.before.unwrap().step, first.before.unwrap().event_id),
            (Some(1), None)
        );
        assert_eq!(comparison.before.kind, SideKind::Baseline);
        let model = comparison
            .calls
            .pairs()
            .find(|pair| pair.after.is_some_and(|call| call.name == "m-mini"))
            .unwrap();
        assert_eq!(
            (model.change, model.before.unwrap().name),
            (CallChange::Changed, "m-large")
        );
    }

    #[test]
    fn a_run_is_the_same_as_its_baseline_however_long_it_took() {
        for name in ["good", "regressed", "guardrail", "unknown_spans"] {
            let mut slower = run_of_vector(name);
            slower.meta.duration_ms = Some(9_999);
            for span in slower.spans.iter_mut().filter(|span| span.is_root()) {
                span.duration_ms = Some(9_999);
            }
            let slower = RunProfile::new(&slower.meta, slower.records());
            let baseline = Baseline::of_run(&metrics_of_vector(name), "2026-01-01T00:00:00.000Z");
            assert!(baseline.compare(&slower).is_same, "{name}");
        }
    }
}
