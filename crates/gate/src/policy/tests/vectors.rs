//! The group `policy` of the vectors, with every difference named.

use serde_json::{Map, Value, json};

use crate::AllowedRange;
use crate::policy::{Check, Overrides, Policy, Rule};
use tracer_insight::testing::{Vector, measured};

const OUT: &str = "architecture, Out: policies of version 1 and the rule flags are gone";
const STRICT: &str = "gate, *Policy*: an error";
const OURS: &str = "gate, *Policy*: every metric is under metrics";

/// Vectors that this gate reads otherwise than the existing one, and why.
const DIFFERENCES: &[(&str, &str)] = &[
    ("duplicate metric key: last one wins silently", STRICT),
    ("inapplicable invariant keys accepted and ignored", STRICT),
    ("unknown metric", OURS),
    ("quoted version key is refused", "YAML: quotes change no key"),
    ("no version means v1", OUT),
    ("cli bad confidence", OUT),
    ("v1 version 1.0", OUT),
    ("v1 fail_fast key unknown", OUT),
    ("v1 merged override re-migrates", OUT),
];

#[test]
fn policies_are_read_as_the_contract_has_it() {
    for vector in measured("policy") {
        let (name, expected) = (&vector.name, &vector.expected);
        let read = Policy::parse(vector.input["yaml"].as_str().unwrap(), &Overrides::default());
        if let Some((_, reason)) = DIFFERENCES.iter().find(|(differs, _)| differs == name) {
            let is_refused = expected["rejected"] == true;
            assert_eq!(read.is_ok(), is_refused, "{name} no longer differs: {reason}");
            continue;
        }
        // What the rule flags changed went with them.
        let is_overridden = vector.input["cli_overrides"]["max_steps"].is_u64();
        match read {
            Ok(policy) if !is_overridden => assert_read_alike(&policy, &vector),
            Ok(_) => assert_ne!(expected["rejected"], true, "{name}"),
            Err(error) => {
                assert_eq!(expected["rejected"], true, "{name}: {error}");
                let path = error.mistakes[0].path.join(".");
                let expected = expected["path"].as_str().unwrap_or_default();
                assert!(
                    path.starts_with(expected) || expected.starts_with(&path),
                    "{name}: {path}, not {expected}"
                );
            }
        }
    }
}

fn assert_read_alike(policy: &Policy, vector: &Vector) {
    let expected = &vector.expected["ok"];
    let name = &vector.name;
    assert_eq!(expected["trials"], policy.trials, "{name}");
    assert_eq!(expected["fail_fast"], policy.fail_fast, "{name}");
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
        Rule::Invariant(_) if check.name.ends_with("_tools") => {}
        Rule::Invariant(invariant) => {
            reported["require"] = json!(!invariant.description().contains("does not"));
        }
        Rule::Measured(measured) => {
            reported["aggregate"] = json!(measured.aggregate.as_str());
            if let Some(tolerance) = measured.tolerance {
                reported["tolerance_relative"] = json!(tolerance.relative);
            }
            if let Some(limit) = measured.limit.upper {
                reported["limit"] = json!(limit);
            }
        }
        Rule::Distributional(rule) => reported["mode"] = json!(rule.mode),
        Rule::Statistical(rule) => {
            reported["mode"] = json!(rule.mode);
            reported["success_predicate"] = json!("all_invariants_passed");
            reported["threshold"] = match rule.allowed {
                AllowedRange {
                    lower: Some(lower),
                    upper: Some(upper),
                } => json!([lower, upper]),
                AllowedRange { lower, upper } => json!(lower.or(upper)),
            };
        }
    }
    reported
}
