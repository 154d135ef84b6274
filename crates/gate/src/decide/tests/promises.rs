//! `docs/policy.md` holds error rates exactly as they are computed here.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::decide::measured;
use crate::policy::{Aggregate, Distributional, Measured, Tolerance};
use crate::statistics::{
    IntervalMethod, chance_of_exceeding, min_sample_size, minimum_trials, noise,
    tests::operating_characteristic,
};
use crate::{AllowedRange, Direction, Verdict};

const CONFIDENCE: f64 = 0.95;
const METHODS: [IntervalMethod; 2] = [IntervalMethod::Wilson, IntervalMethod::Exact];

fn percent(chance: f64) -> String {
    format!("{:.1} %", chance * 100.0)
}

/// A table in Markdown, with the first row for its head.
fn table(rows: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (number, row) in rows.iter().enumerate() {
        writeln!(text, "| {} |", row.join(" | ")).unwrap();
        if number == 0 {
            writeln!(text, "|{}", "---|".repeat(row.len())).unwrap();
        }
    }
    text
}

fn assert_documented(rows: &[Vec<String>]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policy.md");
    let page = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let table = table(rows);
    assert!(
        page.contains(&table),
        "put this table into docs/policy.md:\n\n{table}"
    );
}

/// A row of texts and chances.
fn row(first: impl Into<String>, chances: impl IntoIterator<Item = f64>) -> Vec<String> {
    std::iter::once(first.into())
        .chain(chances.into_iter().map(percent))
        .collect()
}

fn head(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn how_often_a_rare_violation_is_missed_is_documented() {
    let trials = [1, 3, 5, 10, 25];
    let mut rows = vec![head(&["happens in", "1 trial", "3", "5", "10", "25"])];
    for (name, rate) in [
        ("1 of 100 runs", 0.01),
        ("1 of 20", 0.05),
        ("1 of 10", 0.1),
        ("1 of 5", 0.2),
        ("1 of 2", 0.5),
    ] {
        rows.push(row(name, trials.map(|trials| (1.0_f64 - rate).powi(trials))));
    }
    assert_documented(&rows);
}

#[test]
fn how_often_the_least_number_of_trials_passes_a_bad_agent_is_documented() {
    let mut rows = vec![head(&[
        "at least",
        "`wilson`: trials",
        "wrong PASS",
        "`exact`: trials",
        "wrong PASS",
    ])];
    for rate in [0.7, 0.8, 0.9, 0.95, 0.99] {
        let mut cells = vec![format!("{rate}")];
        for method in METHODS {
            let target = AllowedRange::at_least(rate);
            let trials = minimum_trials(method, target, CONFIDENCE).unwrap();
            let chances = operating_characteristic(method, target, CONFIDENCE, trials, rate).unwrap();
            cells.extend([trials.to_string(), percent(chances.pass)]);
        }
        rows.push(cells);
    }
    assert_documented(&rows);
}

#[test]
fn how_often_each_verdict_is_given_is_documented() {
    let mut rows = vec![head(&[
        "true rate",
        "`wilson`, 25: PASS",
        "FAIL",
        "undecided",
        "`exact`, 29: PASS",
        "FAIL",
        "undecided",
    ])];
    for rate in [1.0, 0.99, 0.97, 0.95, 0.9, 0.85, 0.8, 0.7, 0.5] {
        let chances = [(IntervalMethod::Wilson, 25), (IntervalMethod::Exact, 29)].map(|(method, trials)| {
            operating_characteristic(method, AllowedRange::at_least(0.9), CONFIDENCE, trials, rate).unwrap()
        });
        let chances = chances
            .iter()
            .flat_map(|chances| [chances.pass, chances.fail, chances.inconclusive]);
        rows.push(row(format!("{rate}"), chances));
    }
    assert_documented(&rows);
}

/// How likely PASS and FAIL of a distributional check are when the candidate is the agent of the baseline.
fn of_an_unchanged_agent(method: IntervalMethod, trials: u32, baseline: u32) -> (f64, f64) {
    let rule = Distributional {
        direction: Direction::Upper,
        coverage: 0.95,
        confidence: CONFIDENCE,
        mode: None,
    };
    let sample: Vec<f64> = (1..=baseline).map(f64::from).collect();
    let verdict = |beyond: u32| {
        let value = |trial| {
            if trial < beyond {
                f64::from(baseline) + 1.0
            } else {
                1.0
            }
        };
        super::verdict(&rule, method, (0..trials).map(value), &sample)
    };
    let at_least = |beyond| chance_of_exceeding(beyond, trials, baseline);
    let first = |wanted: fn(Verdict) -> bool| (0..=trials).find(|beyond| wanted(verdict(*beyond)));
    let pass = 1.0 - first(|verdict| verdict != Verdict::Pass).map_or(0.0, at_least);
    let fail = first(|verdict| verdict == Verdict::Fail).map_or(0.0, at_least);
    (pass, fail)
}

#[test]
fn how_often_a_distributional_check_fails_an_unchanged_agent_is_documented() {
    let mut rows = vec![head(&[
        "baseline runs",
        "trials",
        "`wilson`: PASS",
        "FAIL",
        "`exact`: PASS",
        "FAIL",
    ])];
    for (baseline, trials) in [(19, 1), (19, 59), (19, 100), (100, 1), (100, 59), (100, 100)] {
        let mut cells = vec![baseline.to_string(), trials.to_string()];
        for method in METHODS {
            let (pass, fail) = of_an_unchanged_agent(method, trials, baseline);
            cells.extend([percent(pass), percent(fail)]);
        }
        rows.push(cells);
    }
    assert_documented(&rows);
}

#[test]
fn how_often_a_tolerance_fails_an_unchanged_agent_is_documented() {
    let sample = [8.0, 8.0, 9.0, 10.0, 10.0, 11.0, 14.0, 15.0, 16.0];
    let trials = [1, 3, 5, 11, 25];
    let mut rows = vec![head(&[
        "tolerance of the median",
        "1 trial",
        "3",
        "5",
        "11",
        "25",
    ])];
    for (name, relative) in [("+25 %", 0.25), ("+40 %", 0.4), ("+50 %", 0.5)] {
        let rule = Measured {
            direction: Direction::Upper,
            tolerance: Some(Tolerance {
                relative: Some(relative),
                absolute: None,
            }),
            limit: AllowedRange::default(),
            aggregate: Aggregate::Median,
        };
        rows.push(row(
            name,
            trials.map(|trials| measured::false_alarms(&rule, &sample, trials).estimate),
        ));
    }
    assert_documented(&rows);
}

#[test]
fn what_a_small_baseline_cannot_rule_out_is_documented() {
    let trials = [1, 3, 5, 11, 25];
    let mut rows = vec![head(&["baseline runs", "1 trial", "3", "5", "11", "25"])];
    for runs in [1, 3, 5, 10, 20, 60] {
        let at_most = trials.map(|trials| noise(0, runs, trials, Aggregate::Median).at_most);
        rows.push(row(runs.to_string(), at_most));
    }
    assert_documented(&rows);
    let needed = trials.map(|trials| {
        min_sample_size(0.05, trials, Aggregate::Median)
            .unwrap()
            .to_string()
    });
    let needed = std::iter::once("baseline runs that rule out more than 5 %".to_owned()).chain(needed);
    assert_documented(&[head(&["trials", "1", "3", "5", "11", "25"]), needed.collect()]);
}

#[test]
fn how_checks_and_reruns_add_up_is_documented() {
    let many = [1, 2, 4, 8];
    let at_least_once = |chance: f64| many.map(|times| 1.0 - (1.0 - chance).powi(times));
    let wilson = operating_characteristic(
        IntervalMethod::Wilson,
        AllowedRange::at_least(0.9),
        CONFIDENCE,
        25,
        0.9,
    )
    .unwrap();
    let exact = operating_characteristic(
        IntervalMethod::Exact,
        AllowedRange::at_least(0.9),
        CONFIDENCE,
        29,
        0.9,
    )
    .unwrap();
    assert_documented(&[
        head(&["chance that it happens at least once in", "1", "2", "4", "8"]),
        row(
            "checks that each fail an unchanged agent in 5 of 100 gates",
            at_least_once(0.05),
        ),
        row(
            "reruns of a gate that passes a bad agent (`wilson`, 25 trials, 0.9)",
            at_least_once(wilson.pass),
        ),
        row(
            "reruns of a gate that passes a bad agent (`exact`, 29 trials, 0.9)",
            at_least_once(exact.pass),
        ),
    ]);
}
