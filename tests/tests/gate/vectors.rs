//! Every group of the vectors has a test, or a reason why it has none: a new group cannot be forgotten.

use std::collections::BTreeSet;
use std::path::Path;

use tracer_tests::gate_vectors::list;

/// The groups that were measured at the existing gate, and the files that test them.
const MEASURED: &[(&str, &str)] = &[
    (
        "aggregate_outcomes",
        "tracer-sdk/src/judge/decide/tests/vectors.rs",
    ),
    ("aggregate_value", "tracer-sdk/src/judge/statistics/tests.rs"),
    ("baseline_version", "tracer-sdk/src/judge/baseline/tests.rs"),
    ("cli_exit_code", "tests/tests/gate/trials/exit_codes.rs"),
    ("composition", "tracer-sdk/src/judge/decide/tests/vectors.rs"),
    ("compute_diff", "tracer-sdk/src/judge/compare/tests.rs"),
    ("create_baseline", "tracer-sdk/src/judge/baseline/tests.rs"),
    (
        "create_baseline_from_report",
        "tracer-sdk/src/judge/baseline/tests.rs",
    ),
    (
        "create_baseline_from_report_errors",
        "tracer-sdk/src/judge/baseline/tests.rs",
    ),
    ("detect_loop", "tracer-sdk/src/loops/detector_tests.rs"),
    ("distributional", "tracer-sdk/src/judge/decide/tests/vectors.rs"),
    (
        "distributional_minimum_baseline_trials",
        "tracer-sdk/src/judge/statistics/tests.rs",
    ),
    ("extract_run_metrics", "tracer-sdk/src/judge/metrics/tests.rs"),
    (
        "invariant_outcomes",
        "tracer-sdk/src/judge/decide/tests/vectors.rs",
    ),
    ("measured", "tracer-sdk/src/judge/decide/tests/vectors.rs"),
    (
        "minimum_trials_for_pass",
        "tracer-sdk/src/judge/statistics/tests.rs",
    ),
    (
        "minimum_trials_for_pass_error",
        "tracer-sdk/src/judge/statistics/tests.rs",
    ),
    ("policy", "tracer-sdk/src/judge/policy/tests/vectors.rs"),
    (
        "run_assertions",
        "tracer-sdk/src/judge/decide/tests/assertions.rs",
    ),
    ("signature_id", "tracer-sdk/src/judge/signature.rs"),
    (
        "wilson_one_sided_bounds",
        "tracer-sdk/src/judge/statistics/tests.rs",
    ),
    (
        "wilson_one_sided_bounds_error",
        "tracer-sdk/src/judge/statistics/tests.rs",
    ),
];

/// The groups that were computed, and the files that test them.
const COMPUTED: &[(&str, &str)] = &[
    (
        "clopper_pearson_one_sided",
        "tracer-sdk/src/judge/statistics/tests.rs",
    ),
    (
        "curtailed_wilson_25_first_stop",
        "tracer-sdk/src/judge/decide/tests/stopping.rs",
    ),
    (
        "exact_minimum_trials_for_pass",
        "tracer-sdk/src/judge/statistics/tests.rs",
    ),
    (
        "operating_characteristic_exact",
        "tracer-sdk/src/judge/statistics/tests.rs",
    ),
    (
        "tool_sequence_alignment",
        "tracer-sdk/src/judge/compare/align_tests.rs",
    ),
];

/// The groups that were computed for what this gate does not have, and why.
const NOT_BUILT: &[(&str, &str)] = &[
    (
        "mann_whitney_exact_critical_U",
        "gate, section 2: distributional rows are judged by the share of trials beyond the baseline, not by ranks",
    ),
    (
        "sprt_parameters",
        "gate, section 2: a gate stops early only where the outcome is certain, and knows no sequential test",
    ),
];

#[test]
fn every_group_has_a_test_or_a_reason() {
    assert_eq!(groups("vectors"), names(MEASURED));
    let computed: BTreeSet<_> = names(COMPUTED).union(&names(NOT_BUILT)).cloned().collect();
    assert_eq!(groups("reference_vectors"), computed);
}

#[test]
fn every_test_of_a_group_reads_it() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (read, groups) in [("measured", MEASURED), ("computed", COMPUTED)] {
        for (group, file) in groups {
            let text = std::fs::read_to_string(repository.join(file)).unwrap();
            let call = format!("{read}(\"{group}\")");
            assert!(text.contains(&call), "{file} has no {call}");
        }
    }
}

fn groups(name: &str) -> BTreeSet<String> {
    let cases = list(name);
    cases
        .iter()
        .map(|case| case["group"].as_str().unwrap().to_owned())
        .collect()
}

fn names(groups: &[(&str, &str)]) -> BTreeSet<String> {
    groups.iter().map(|(group, _)| (*group).to_owned()).collect()
}
