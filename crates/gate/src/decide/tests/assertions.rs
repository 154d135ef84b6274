//! The group `run_assertions` of the vectors: one recorded run, judged by the rules of a policy of version 1.
//!
//! Compared are the verdicts, the bounds and the values. The rows that the existing gate's `assert` makes of them, with a
//! reason code each, have no counterpart: here a recorded run gives the report of one trial (gate, section 5).

use serde_json::Value;

use crate::policy::{OLD_CHECKS, Overrides, Policy, PolicyError};
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
    "gate, section 5: `assert` judges by the rules of `run`, where the stricter bound wins (gate-contract, section 15.2, F12)",
)];

/// The policy of a vector as a file.
fn policy(vector: &Vector) -> Result<Policy, PolicyError> {
    // JSON is YAML.
    let text = format!("version: 1\nassert: {}\n", vector.input["policy"]);
    Policy::parse(&text, &Overrides::default()).map(Policy::for_one_run)
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
    let (policy, baseline) = (policy(vector).unwrap(), baseline(vector));
    let gate = Gate::new(&policy, baseline.as_ref()).unwrap();
    gate.judge(&[Trial::of_run(1, run)])
}

/// The check that the old format calls so.
fn found<'a>(judgement: &'a Judgement, old_name: &str) -> &'a CheckResult {
    let (_, name) = OLD_CHECKS.iter().find(|(old, _)| *old == old_name).unwrap();
    let mut checks = judgement.checks.iter();
    checks.find(|check| check.check_name == *name).unwrap()
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
            let error = policy(&vector).unwrap_err();
            assert_eq!(vector.expected["code"], error.code.as_str(), "{name}");
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
