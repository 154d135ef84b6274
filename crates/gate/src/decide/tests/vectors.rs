//! The groups of the vectors that tell decisions, with every difference named.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{baseline_of_steps, exactly, policy, run};
use crate::decide::plan::plan;
use crate::decide::rule::{Judge as _, JudgedTrials};
use crate::invariants::{self, Invariant};
use crate::policy::{Aggregate, Distributional, Measured, Statistical, Tolerance};
use crate::{AllowedRange, Baseline, CheckMode, Direction, Verdict};
use tracer_insight::profile::RunProfile;
use tracer_insight::testing::metrics_of_vector;
use tracer_insight::testing::{self, Vector};

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(number).collect()
}

fn direction(input: &Value) -> Direction {
    match input["direction"].as_str().unwrap() {
        "upper" => Direction::Upper,
        "lower" => Direction::Lower,
        _ => Direction::Both,
    }
}

/// Keys that this gate leaves out, because others give them.
const LEFT_OUT: [&str; 8] = [
    "median",
    "delta",
    "observed_rate",
    "harmful_exceedances",
    "decision_rule",
    "stopping_rule",
    "trials_used",
    "trials_budgeted",
];

/// Every other key that the vector expects is there, with the same value; numbers within the tolerance for Wilson's bounds.
fn assert_holds(found: &Value, expected: &Value, case: &str) {
    match expected {
        Value::Object(keys) => {
            for (key, expected) in keys.iter().filter(|(key, _)| !LEFT_OUT.contains(&key.as_str())) {
                let found = match key.as_str() {
                    "threshold" => threshold(&found["allowed"]),
                    _ => &found[key],
                };
                assert_holds(found, expected, &format!("{case}.{key}"));
            }
        }
        Value::Number(expected) => {
            let (found, expected) = (number(found), expected.as_f64().unwrap());
            assert!(
                (found - expected).abs() <= 1e-12,
                "{case}: {found} is not {expected}"
            );
        }
        _ => assert_eq!(found, expected, "{case}"),
    }
}

/// The bound of a range, or the range of both.
fn threshold(allowed: &Value) -> &Value {
    match (&allowed["lower"], &allowed["upper"]) {
        (Value::Null, upper) => upper,
        (lower, Value::Null) => lower,
        _ => allowed,
    }
}

#[test]
fn measured_checks_decide_as_the_contract_has_it() {
    for vector in testing::measured("measured") {
        let input = &vector.input;
        let direction = direction(input);
        let limit = input["limit"].as_f64();
        let tolerance = Tolerance {
            relative: input["tolerance_relative"].as_f64(),
            absolute: input["tolerance_absolute"].as_f64(),
        };
        let rule = Measured {
            direction,
            tolerance: Some(tolerance),
            limit: AllowedRange {
                lower: limit.filter(|_| direction == Direction::Lower),
                upper: limit.filter(|_| direction == Direction::Upper),
            },
            aggregate: match input["aggregate"].as_str().unwrap() {
                "median" => Aggregate::Median,
                "max" => Aggregate::Max,
                _ => Aggregate::P90,
            },
        };
        let baseline = input["baseline"].as_array().map(|_| numbers(&input["baseline"]));
        let decided = rule.decide(&JudgedTrials {
            values: exactly(numbers(&input["values"])),
            sample: baseline.as_deref(),
            ..JudgedTrials::default()
        });
        let decided = decided.unwrap();
        assert_eq!(
            vector.expected["verdict"],
            decided.verdict.as_str(),
            "{}",
            vector.name
        );
        assert_holds(
            &json!(decided.evidence),
            &vector.expected["evidence"],
            &vector.name,
        );
    }
}

#[test]
fn statistical_checks_decide_as_the_contract_has_it() {
    for vector in testing::measured("aggregate_outcomes") {
        let input = &vector.input;
        let threshold = &input["threshold"];
        let allowed = match direction(input) {
            Direction::Lower => AllowedRange::at_least(number(threshold)),
            Direction::Upper => AllowedRange::at_most(number(threshold)),
            Direction::Both => AllowedRange::within(number(&threshold[0]), number(&threshold[1])),
        };
        let rule = Statistical {
            allowed,
            confidence: number(&input["confidence"]),
            mode: None,
        };
        let (successes, trials) = (
            input["successes"].as_u64().unwrap(),
            input["trials"].as_u64().unwrap(),
        );
        let decided = rule.decide(&JudgedTrials {
            outcomes: (0..trials).map(|trial| Some(trial < successes)).collect(),
            ..JudgedTrials::default()
        });
        let decided = decided.unwrap();
        // What a check in the mode `report_only` would have decided is not reported: its row has no verdict.
        if let Some(expected) = vector.expected["verdict"].as_str() {
            assert_eq!(decided.verdict.as_str(), expected, "{}", vector.name);
        }
        assert_holds(
            &json!(decided.evidence),
            &vector.expected["evidence"],
            &vector.name,
        );
    }
}

#[test]
fn distributional_checks_decide_as_the_contract_has_it() {
    for vector in testing::measured("distributional") {
        let input = &vector.input;
        let rule = Distributional {
            direction: direction(input),
            coverage: number(&input["coverage"]),
            confidence: number(&input["confidence"]),
            mode: match input["mode"].as_str() {
                None => None,
                Some("gating") => Some(CheckMode::Gating),
                Some(_) => Some(CheckMode::ReportOnly),
            },
        };
        let values: Vec<_> = exactly(numbers(&input["values"]));
        let sample = numbers(&input["baseline"]);
        let decided = rule.decide(&JudgedTrials {
            values: values.clone(),
            sample: Some(&sample),
            ..JudgedTrials::default()
        });
        let decided = decided.unwrap();
        let expected = &vector.expected;
        if let Some(verdict) = expected["verdict"].as_str() {
            assert_eq!(decided.verdict.as_str(), verdict, "{}", vector.name);
        }
        let mut evidence = json!(decided.evidence);
        if values.len() == 1 {
            evidence["observed"] = evidence["values"][0].clone();
        }
        evidence["baseline_n_min"] = evidence["min_baseline_trials"].clone();
        evidence["prediction_bound"] = evidence["bound"].clone();
        assert_holds(&evidence, &expected["evidence"], &vector.name);
        // Difference: an outcome is true when the trial kept to the baseline, for one trial and for many. The existing
        // gate turns the sense round when there are many, and its texts are wrong for it (gate, *Report*).
        let kept = expected["trial_outcomes"].as_array().unwrap().iter().map(|flag| {
            if values.len() == 1 {
                flag.as_bool().unwrap()
            } else {
                !flag.as_bool().unwrap()
            }
        });
        assert_eq!(decided.outcomes, kept.collect::<Vec<_>>(), "{}", vector.name);
    }
}

#[test]
fn a_distributional_check_gates_when_the_baseline_is_large_enough() {
    for vector in testing::measured("distributional") {
        // With more than one and too few trials for PASS the gate is refused: see the tests of the preflight.
        let trials = vector.input["values"].as_array().unwrap().len();
        if trials != 1 {
            continue;
        }
        let policy = policy(
            1,
            "step_count: {kind: distributional, direction: upper}, no_loops: {kind: invariant}",
        );
        let steps = vector.input["baseline"]
            .as_array()
            .unwrap()
            .iter()
            .map(|steps| steps.as_u64().unwrap());
        let baseline = baseline_of_steps(steps);
        let (checks, _notices) = plan(&policy, Some(&baseline)).unwrap();
        assert_eq!(vector.expected["mode"], json!(checks[0].mode), "{}", vector.name);
    }
}

#[test]
fn invariants_hold_as_the_contract_has_it() {
    for vector in testing::measured("invariant_outcomes") {
        let run = metrics_of_vector(vector.input["run"].as_str().unwrap());
        if vector.input["policy"] == "all require:false" {
            assert_require_false(&vector, &run);
            continue;
        }
        let rules = &vector.input["policy"];
        let baseline = vector.input["baseline"]
            .as_str()
            .map(|name| Baseline::of_run(&metrics_of_vector(name), "now"));
        for (name, expected) in vector.expected.as_object().unwrap() {
            let rule = match name.as_str() {
                "forbidden_tools" if rules.is_null() => invariant("no_new_tools", &json!({})),
                "forbidden_tools" => invariant(name, &json!({"none_of": rules[name]})),
                "required_tools" => invariant(name, &json!({"all_of": rules[name]})),
                // Difference: the contract counts loop warnings, which this gate does on request. Its own rule looks at
                // what the calls asked (gate, *Loops*), of which one of these runs recorded nothing.
                "no_loops" => {
                    let own = invariant(name, &json!({})).finding(&run, None).outcome;
                    let is_known = vector.name != "regressed";
                    let expected = expected.as_bool().filter(|_| is_known);
                    assert_eq!(own, expected, "{}", vector.name);
                    invariant(name, &json!({"shape": true}))
                }
                name => invariant(name, &json!({})),
            };
            let found = rule.finding(&run, baseline.as_ref()).outcome;
            assert_eq!(expected.as_bool(), found, "{}: {name}", vector.name);
        }
    }
}

/// An invariant with these keys.
fn invariant(name: &str, keys: &Value) -> Arc<dyn Invariant> {
    (invariants::find(name).unwrap().read)(keys).unwrap()
}

/// Difference: `require: false` means something for `stop_condition_reached` alone; for `no_loops` and `no_guardrails`
/// the policy is refused (gate, *Policy*).
fn assert_require_false(vector: &Vector, run: &RunProfile) {
    let found = invariant("stop_condition_reached", &json!({"require": false}))
        .finding(run, None)
        .outcome;
    assert_eq!(vector.expected["stop_condition_reached"].as_bool(), found);
}

#[test]
fn verdicts_are_composed_as_the_contract_has_it() {
    for vector in testing::measured("composition") {
        let rows = vector.expected["results"].as_array().unwrap();
        let verdicts = rows
            .iter()
            .filter_map(|row| Verdict::from_word(row["verdict"].as_str()?));
        assert_eq!(
            vector.expected["verdict"],
            Verdict::all(verdicts).as_str(),
            "{}",
            vector.name
        );

        let (found, expected) = (composed(&vector), rows);
        assert_eq!(found["verdict"], vector.expected["verdict"], "{}", vector.name);
        for (found, expected) in found["rows"].as_array().unwrap().iter().zip(expected) {
            let mut found = found.clone();
            found["check_name"] = found["name"].clone();
            found["trial_outcomes"] = found["outcomes"].clone();
            assert_holds(&found, expected, &vector.name);
        }
    }
}

/// What the gate makes of the trials of a vector.
fn composed(vector: &Vector) -> Value {
    use crate::{Gate, ProcessExit};

    let flags = |key: &str| -> Vec<bool> {
        vector.input[key]
            .as_array()
            .unwrap()
            .iter()
            .map(|flag| flag.as_bool().unwrap())
            .collect()
    };
    let budgeted = u32::try_from(vector.input["trials_budgeted"].as_u64().unwrap()).unwrap();
    let policy = policy(
        budgeted,
        "required_tools: {kind: invariant, all_of: [reply]}, \
         task_pass_rate: {kind: statistical, direction: lower, threshold: 0.9}",
    );
    let runs = flags("required_tools").into_iter().map(|kept| {
        if kept {
            super::calling("reply")
        } else {
            run(1, None)
        }
    });
    let mut trials = super::trials(runs);
    for (trial, ok) in trials.iter_mut().zip(flags("process_ok")) {
        trial.exit = Some(ProcessExit::Code(if ok { 0 } else { 4 }));
    }
    let judgement = Gate::new(&policy, None).unwrap().judge(&trials);
    json!({"verdict": judgement.verdict, "rows": judgement.checks})
}
