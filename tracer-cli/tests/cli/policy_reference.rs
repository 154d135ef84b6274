//! The policies and the error that the documentation shows are those of the code.

use std::fs;
use std::path::Path;

use tracer_gate::policy::{Overrides, Policy};

/// A policy with the mistake that the reference tells.
const REFUSED: &str = "version: 2\nmetrics:\n  step_count: {kind: measured, direction: up, limit: 9}\n";

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    fs::read_to_string(path).unwrap().replace("\r\n", "\n")
}

/// The blocks of YAML on a page.
fn policies(page: &str) -> Vec<&str> {
    page.split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

#[test]
fn every_policy_that_is_shown_is_accepted() {
    for (name, number) in [("policy.md", 1), ("gate.md", 2)] {
        let page = page(name);
        let policies = policies(&page);
        assert_eq!(policies.len(), number, "{name}");
        for policy in policies {
            Policy::parse(policy, &Overrides::default()).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
    }
}

#[test]
fn the_error_that_is_shown_is_the_one_of_the_code() {
    let error = Policy::parse(REFUSED, &Overrides::default()).unwrap_err();
    assert!(
        page("policy.md").contains(&format!("`{error}`")),
        "{error} is not shown"
    );
}

#[test]
fn documented_defaults_are_the_codes() {
    let policy = Policy::parse(
        "version: 2\nmetrics: {no_loops: {kind: invariant}}\n",
        &Overrides::default(),
    )
    .unwrap();
    let page = page("policy.md");
    for row in [
        format!("| `trials` | whole number, at least 1 | {} |", policy.trials),
        format!("| `fail_fast` | boolean | `{}` |", policy.fail_fast),
        format!("| `jobs` | whole number, at least 1 | {} |", policy.jobs),
        format!(
            "| `timeout_s` | number of seconds, more than 0 | {} |",
            policy.timeout.as_secs()
        ),
    ] {
        assert!(page.contains(&row), "{row} is not in the reference");
    }
}
