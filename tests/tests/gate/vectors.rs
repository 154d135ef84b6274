//! The groups of the vectors: a new one fails here until a test reads it (`measured("…")`, `computed("…")`) and it is listed.

use std::collections::BTreeSet;

use tracer_insight::testing::{Vector, Vectors};

/// The groups that were measured at the existing gate.
const MEASURED: &[&str] = &[
    "aggregate_outcomes",
    "aggregate_value",
    "cli_exit_code",
    "composition",
    "compute_diff",
    "detect_loop",
    "distributional",
    "distributional_minimum_baseline_trials",
    "extract_run_metrics",
    "invariant_outcomes",
    "measured",
    "minimum_trials_for_pass",
    "minimum_trials_for_pass_error",
    "policy",
    "run_assertions",
    "wilson_one_sided_bounds",
    "wilson_one_sided_bounds_error",
];

/// The measured groups of file formats that this gate does not have (architecture, Out).
const OUT: &[&str] = &[
    "baseline_version",
    "create_baseline",
    "create_baseline_from_report",
    "create_baseline_from_report_errors",
    "signature_id",
];

/// The groups that were computed.
const COMPUTED: &[&str] = &[
    "clopper_pearson_one_sided",
    "curtailed_wilson_25_first_stop",
    "exact_minimum_trials_for_pass",
    "operating_characteristic_exact",
    "tool_sequence_alignment",
];

/// The groups that were computed for what this gate does not have, and why.
const NOT_BUILT: &[(&str, &str)] = &[
    (
        "mann_whitney_exact_critical_U",
        "gate, *Distributional*: distributional rows are judged by the share of trials beyond the baseline, not by ranks",
    ),
    (
        "sprt_parameters",
        "gate, *Verdict*: a gate stops early only where the outcome is certain, and knows no sequential test",
    ),
];

#[test]
fn every_group_is_listed() {
    let Vectors { measured, computed } = Vectors::read();
    let known = MEASURED.iter().chain(OUT);
    assert_eq!(groups(&measured), known.copied().collect());
    let not_built = NOT_BUILT.iter().map(|(group, _)| *group);
    assert_eq!(
        groups(&computed),
        COMPUTED.iter().copied().chain(not_built).collect()
    );
}

fn groups(vectors: &[Vector]) -> BTreeSet<&str> {
    vectors.iter().map(|vector| vector.group.as_str()).collect()
}
