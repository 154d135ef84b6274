//! The group `policy` of the vectors, with every difference named.

use serde_json::{Map, Value, json};

use crate::policy::{
    Bound, Check, Invariant, Overrides, Policy, PolicyError, PolicySource, PolicyWarning, Rule,
};
use crate::statistics::RateTarget;
use tracer_insight::testing::{Vector, measured};

/// Where this gate differs from the existing one: the vector, the code here, and why.
const DIFFERENCES: &[(&str, &str, &str)] = &[
    (
        "duplicate metric key: last one wins silently",
        "duplicate_key",
        "gate, section 1: a duplicate key is an error (gate-contract, section 15.1, P14)",
    ),
    (
        "inapplicable invariant keys accepted and ignored",
        "key_does_not_apply",
        "gate, section 1: a key that does not apply to its metric is an error (gate-contract, section 15.1, P14)",
    ),
    (
        "cli max_steps on both direction replaces the pair by a scalar",
        "key_does_not_apply",
        "gate, section 1: an upper limit cannot stand for a range (gate-contract, section 15.2, F7)",
    ),
];

fn overrides(input: &Value) -> Overrides {
    let given = &input["cli_overrides"];
    Overrides {
        confidence_level: given["confidence_level"].as_f64(),
        fail_fast: given["fail_fast"].as_bool(),
        steps: Bound {
            max: given["max_steps"].as_u64(),
            tolerance: None,
        },
        ..Overrides::default()
    }
}

fn parsed(vector: &Vector) -> Result<Policy, PolicyError> {
    Policy::parse(vector.input["yaml"].as_str().unwrap(), &overrides(&vector.input))
}

#[test]
fn policies_are_read_as_the_contract_has_it() {
    for vector in measured("policy") {
        let found = parsed(&vector);
        if let Some((name, code, _reason)) = DIFFERENCES.iter().find(|(name, ..)| *name == vector.name) {
            assert_eq!(found.unwrap_err().code.as_str(), *code, "{name}");
        } else if vector.expected["rejected"] == true {
            assert_refused_alike(&found.unwrap_err(), &vector);
        } else {
            assert_read_alike(&found.unwrap(), &vector);
        }
    }
}

#[test]
fn every_difference_names_a_vector_that_differs() {
    for (name, code, _reason) in DIFFERENCES {
        let vectors = measured("policy");
        let vector = vectors.iter().find(|vector| vector.name == *name).unwrap();
        assert_ne!(vector.expected["code"], *code, "{name}");
    }
}

fn assert_refused_alike(error: &PolicyError, vector: &Vector) {
    assert_eq!(
        vector.expected["code"],
        error.code.as_str(),
        "{}: {error}",
        vector.name
    );
    if let Some(path) = vector.expected["path"].as_str() {
        assert_eq!(error.path, path, "{}", vector.name);
    }
}

fn assert_read_alike(policy: &Policy, vector: &Vector) {
    let expected = &vector.expected["ok"];
    let name = &vector.name;
    assert_eq!(expected["trials"], policy.trials, "{name}");
    assert_eq!(expected["fail_fast"], policy.fail_fast, "{name}");
    assert_eq!(
        expected["policy_version"],
        json!([policy.version.major, policy.version.minor]),
        "{name}"
    );
    assert_eq!(
        expected["source_format"],
        if policy.source == PolicySource::V2 {
            "v2"
        } else {
            "v1"
        },
        "{name}"
    );
    let warned = policy.warnings.contains(&PolicyWarning::OldFormat);
    assert_eq!(warned, vector.expected["v1_migration_warning"] == true, "{name}");
    let unknown: Vec<_> = policy
        .warnings
        .iter()
        .flat_map(|warning| match warning {
            PolicyWarning::UnknownKeys(keys) => keys.clone(),
            PolicyWarning::OldFormat => Vec::new(),
        })
        .collect();
    let expected_unknown = vector
        .expected
        .get("ignored_unknown_keys")
        .cloned()
        .unwrap_or(json!([]));
    assert_eq!(expected_unknown, json!(unknown), "{name}");

    let found: Map<String, Value> = policy
        .checks
        .iter()
        .map(|check| (check.name.clone(), as_the_vectors_describe_it(check)))
        .collect();
    assert_eq!(expected["metrics"], Value::Object(found), "{name}");
}

fn as_the_vectors_describe_it(check: &Check) -> Value {
    let mut reported = json!({
        "name": check.name,
        "kind": check.rule.kind(),
        "mode": null,
        "confidence": 0.95,
        "coverage": 0.95,
    });
    if let Some(direction) = check.rule.direction() {
        reported["direction"] = json!(direction);
    }
    match &check.rule {
        Rule::Invariant(
            Invariant::ForbiddenTools(_) | Invariant::RequiredTools(_) | Invariant::KnownTools { .. },
        ) => {}
        Rule::Invariant(invariant) => {
            reported["require"] = json!(*invariant != Invariant::StopConditionReached(false));
        }
        Rule::Measured(measured) => {
            reported["aggregate"] = json!(measured.aggregate.as_str());
            if let Some(tolerance) = measured.tolerance {
                reported["tolerance_relative"] = json!(tolerance.relative);
            }
            if let Some(limit) = measured.upper_limit {
                reported["limit"] = json!(limit);
            }
        }
        Rule::Distributional(rule) => reported["mode"] = json!(rule.mode),
        Rule::Statistical(rule) => {
            reported["mode"] = json!(rule.mode);
            reported["success_predicate"] = json!("all_invariants_passed");
            reported["threshold"] = match rule.target {
                RateTarget::AtLeast(rate) | RateTarget::AtMost(rate) => json!(rate),
                RateTarget::Within { lower, upper } => json!([lower, upper]),
            };
        }
    }
    reported
}
