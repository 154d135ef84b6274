//! The group `run_assertions` of the vectors: one recorded run, judged by the rules of a policy of version 1, rewritten as
//! `docs/policy.md` says.
//!
//! Compared are the verdicts, the bounds and the values. The rows that the existing gate's `assert` makes of them, with a
//! reason code each, have no counterpart: here a recorded run gives the report of one trial (gate, *Commands*).

use serde_json::{Value, json};

use crate::policy::{Overrides, Policy, PolicyError};
use crate::{Baseline, CheckResult, Evidence, Gate, Judgement, Trial, Verdict};
use tracer_insight::testing::metrics_of_vector;
use tracer_insight::testing::{Vector, measured};

/// Where this gate differs from the existing one: the vector, the check, its verdict here, the most that it allows here,
/// and why.
const DIFFERENCES: &[(&str, &str, Verdict, &str, &str)] = &[(
    "baseline zero tokens with cap uses cap",
    "cost_tokens",
    Verdict::Fail,
    "0",
    "gate, *Measured*: `assert` judges by the rules of `run`, where the stricter bound wins",
)];

/// The names of checks in version 1, their metrics, and the keys that bound them.
const OLD_CHECKS: &[(&str, &str, [&str; 2])] = &[
    ("step_count", "step_count", ["max_steps", "step_tolerance"]),
    (
        "tool_calls",
        "tool_call_count",
        ["max_tool_calls", "tool_call_tolerance"],
    ),
    (
        "cost_tokens",
        "cost_tokens",
        ["max_cost_tokens", "cost_tolerance"],
    ),
    (
        "duration",
        "latency_ms",
        ["max_duration_ms", "duration_tolerance"],
    ),
    ("no_loops", "no_loops", [""; 2]),
    ("no_guardrails", "no_guardrails", [""; 2]),
    ("new_tools", "no_new_tools", [""; 2]),
    ("expect_status", "stop_condition_reached", [""; 2]),
];

/// The policy of a vector, rewritten.
fn rewritten(vector: &Vector) -> Result<Policy, PolicyError> {
    let old = &vector.input["policy"];
    let mut metrics = serde_json::Map::new();
    for (_, metric, [max, tolerance]) in &OLD_CHECKS[..4] {
        let relative = old.get(tolerance).filter(|value| !value.is_null());
        let relative = relative.cloned().unwrap_or(json!(0.5));
        metrics.insert(
            (*metric).to_owned(),
            json!({"kind": "measured", "direction": "upper", "tolerance": {"relative": relative}, "limit": old[max]}),
        );
    }
    for name in ["no_loops", "no_guardrails", "no_new_tools"] {
        if old[name] == true {
            metrics.insert(name.to_owned(), json!({"kind": "invariant"}));
        }
    }
    if let Some(status) = old["expect_status"].as_str() {
        let check = json!({"kind": "invariant", "require": status == "ok"});
        metrics.insert("stop_condition_reached".to_owned(), check);
    }
    // JSON is YAML.
    let text = format!("version: 2\nmetrics: {}\n", Value::Object(metrics));
    let mut policy = Policy::built_in(&text, &Overrides::default())?.for_one_run();
    for ignored in old["ignored_checks"].as_array().into_iter().flatten() {
        let (_, metric, _) = OLD_CHECKS.iter().find(|(old, ..)| ignored == old).unwrap();
        let mut checks = policy.checks.iter_mut();
        if let Some(check) = checks.find(|check| check.name == *metric) {
            check.ignored = true;
        }
    }
    Ok(policy)
}

fn baseline(vector: &Vector) -> Option<Baseline> {
    let mut run = metrics_of_vector("good");
    match vector.input["baseline"].as_str()? {
        "create_baseline:good single run" => {}
        "good but summary.total_tokens=0" => run.cost_tokens = Some(0),
        other => panic!("no baseline {other}"),
    }
    Some(Baseline::of_run(&run, "2026-01-01T00:00:00.000Z"))
}

fn judged(vector: &Vector) -> Judgement {
    let run = metrics_of_vector(vector.input["run"].as_str().unwrap());
    let (policy, baseline) = (rewritten(vector).unwrap(), baseline(vector));
    let gate = Gate::new(&policy, baseline.as_ref()).unwrap();
    gate.judge(&[Trial::of_run(1, run)])
}

/// The check that the old format calls so.
fn found<'a>(judgement: &'a Judgement, old_name: &str) -> &'a CheckResult {
    let (_, name, _) = OLD_CHECKS.iter().find(|(old, ..)| *old == old_name).unwrap();
    let mut checks = judgement.checks.iter();
    checks.find(|check| check.name == *name).unwrap()
}

/// What the vectors tell of a bound and of a value: whole numbers, the bound rounded down.
fn limit_and_value(check: &CheckResult) -> Option<[String; 2]> {
    let Evidence::Measured(evidence) = &check.evidence else {
        return None;
    };
    Some([evidence.allowed.upper?.floor(), evidence.observed?].map(|number| number.to_string()))
}

#[test]
fn one_run_is_judged_as_the_contract_has_it() {
    for vector in measured("run_assertions") {
        let name = &vector.name;
        if vector.expected["rejected"] == true {
            assert!(vector.expected["code"].is_string(), "{name}");
            continue;
        }
        let expected = &vector.expected["json"];
        let judgement = judged(&vector);
        assert_eq!(
            expected["passed"],
            judgement.verdict == Verdict::Pass,
            "{name}: {judgement:#?}"
        );
        let results = expected["results"].as_array().unwrap();
        for result in results {
            assert_judged_alike(&judgement, result, name);
        }
        // Nothing else decides: the row of the process, and those of the vector that are not ignored.
        let deciding = judgement.checks.iter().filter(|check| check.verdict.is_some());
        let expected = results.iter().filter(|result| result["ignored"] == false);
        assert_eq!(deciding.count(), 1 + expected.count(), "{name}: {judgement:#?}");
    }
}

fn assert_judged_alike(judgement: &Judgement, result: &Value, name: &str) {
    let old_name = result["check_name"].as_str().unwrap();
    let check = found(judgement, old_name);
    if result["ignored"] == true {
        assert_eq!(
            check.verdict, None,
            "{name}: {old_name} is reported and not judged"
        );
        return;
    }
    let passed = if result["passed"] == true {
        Verdict::Pass
    } else {
        Verdict::Fail
    };
    let difference = DIFFERENCES
        .iter()
        .find(|(vector, check, ..)| (*vector, *check) == (name, old_name));
    let (verdict, limit) = match difference {
        Some((_, _, verdict, limit, reason)) => {
            assert_ne!(*verdict, passed, "{name}: {old_name} no longer differs: {reason}");
            (*verdict, *limit)
        }
        None => (passed, result["expected"].as_str().unwrap_or_default()),
    };
    assert_eq!(check.verdict, Some(verdict), "{name}: {old_name}: {check:#?}");
    if let Some(reported) = limit_and_value(check) {
        assert_eq!(
            reported,
            [limit, result["actual"].as_str().unwrap()],
            "{name}: {old_name}"
        );
    }
}

#[test]
fn every_difference_names_a_check_of_a_vector() {
    let vectors = measured("run_assertions");
    for (name, check, ..) in DIFFERENCES {
        let vector = vectors.iter().find(|vector| vector.name == *name).unwrap();
        let results = vector.expected["json"]["results"].as_array().unwrap();
        assert!(
            results.iter().any(|result| result["check_name"] == *check),
            "{name}: {check}"
        );
    }
}
