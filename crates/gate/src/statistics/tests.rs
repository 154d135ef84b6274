//! Statistics against the vectors of the contract, and what must always hold.

use proptest::prelude::*;
use serde_json::Value;

use statrs::function::factorial::ln_binomial;

use super::interval::at_least;
use super::*;
use crate::{AllowedRange, Verdict};
use tracer_insight::testing::{Vector, computed, measured};

/// What the notes of the vectors allow.
const WILSON: f64 = 1e-12;
const BETA: f64 = 1e-9;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn small(value: &Value) -> u32 {
    u32::try_from(value.as_u64().unwrap()).unwrap()
}

fn assert_close(found: f64, expected: f64, tolerance: f64, case: &str) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{case}: {found} is not {expected}"
    );
}

fn target(input: &Value) -> AllowedRange {
    let threshold = &input["threshold"];
    match input["direction"].as_str().unwrap() {
        "lower" => AllowedRange::at_least(number(threshold)),
        "upper" => AllowedRange::at_most(number(threshold)),
        _ => AllowedRange::within(number(&threshold[0]), number(&threshold[1])),
    }
}

/// The chance that exactly `successes` of `trials` succeed.
fn exactly(successes: u32, trials: u32, rate: f64) -> f64 {
    let failures = trials - successes;
    // At the ends the logarithm below has no value.
    if rate <= 0.0 {
        return if successes == 0 { 1.0 } else { 0.0 };
    }
    if rate >= 1.0 {
        return if failures == 0 { 1.0 } else { 0.0 };
    }
    let ways = ln_binomial(u64::from(trials), u64::from(successes));
    (ways + f64::from(successes) * rate.ln() + f64::from(failures) * (-rate).ln_1p()).exp()
}

/// Probability of each verdict for a known true rate.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct OperatingCharacteristic {
    pub(crate) pass: f64,
    pub(crate) fail: f64,
    pub(crate) inconclusive: f64,
}

/// Probability of each verdict on `allowed` after `trials` trials of an agent that succeeds at `true_rate`.
pub(crate) fn operating_characteristic(
    method: IntervalMethod,
    allowed: AllowedRange,
    confidence: f64,
    trials: u32,
    true_rate: f64,
) -> Result<OperatingCharacteristic, StatisticsError> {
    let mut chances = OperatingCharacteristic::default();
    for successes in 0..=trials {
        let verdict = RateInterval::of(method, successes, trials, confidence)?.verdict(allowed);
        let chance = match verdict {
            Verdict::Pass => &mut chances.pass,
            Verdict::Fail => &mut chances.fail,
            Verdict::Inconclusive => &mut chances.inconclusive,
        };
        *chance += exactly(successes, trials, true_rate);
    }
    Ok(chances)
}

fn interval(method: IntervalMethod, vector: &Vector) -> RateInterval {
    let input = &vector.input;
    RateInterval::of(
        method,
        small(&input["successes"]),
        small(&input["trials"]),
        number(&input["confidence"]),
    )
    .unwrap()
}

#[test]
fn wilson_bounds_are_those_of_the_contract() {
    for vector in measured("wilson_one_sided_bounds") {
        let found = interval(IntervalMethod::Wilson, &vector);
        assert_close(
            found.lower,
            number(&vector.expected["lower"]),
            WILSON,
            &vector.name,
        );
        assert_close(
            found.upper,
            number(&vector.expected["upper"]),
            WILSON,
            &vector.name,
        );
    }
}

#[test]
fn exact_bounds_are_those_of_clopper_and_pearson() {
    for vector in computed("clopper_pearson_one_sided") {
        let found = interval(IntervalMethod::Exact, &vector);
        assert_close(found.lower, number(&vector.expected["lower"]), BETA, &vector.name);
        assert_close(found.upper, number(&vector.expected["upper"]), BETA, &vector.name);
    }
}

#[test]
fn impossible_counts_and_confidences_are_refused() {
    for vector in measured("wilson_one_sided_bounds_error") {
        // A count below zero cannot even be written here.
        let Ok(successes) = u32::try_from(vector.input["successes"].as_i64().unwrap()) else {
            continue;
        };
        let trials = small(&vector.input["trials"]);
        let confidence = number(&vector.input["confidence"]);
        let error = RateInterval::of(IntervalMethod::Wilson, successes, trials, confidence).unwrap_err();
        let code = match error {
            StatisticsError::CountOutOfRange => "count_out_of_range",
            StatisticsError::FractionOpen => "fraction_open",
        };
        assert_eq!(vector.expected["code"], code, "{}", vector.name);
    }
}

#[test]
fn the_least_number_of_trials_is_that_of_the_contract() {
    for vector in measured("minimum_trials_for_pass") {
        let found = minimum_trials(
            IntervalMethod::Wilson,
            target(&vector.input),
            number(&vector.input["confidence"]),
        );
        assert_eq!(found, Some(small(&vector.expected["n_min"])), "{}", vector.name);
    }
    for vector in measured("minimum_trials_for_pass_error") {
        let found = minimum_trials(
            IntervalMethod::Wilson,
            target(&vector.input),
            number(&vector.input["confidence"]),
        );
        assert_eq!(found, None, "{}", vector.name);
    }
}

// gate, *Statistical*: Wilson's least number of trials passes an agent that is not good enough too often.
#[test]
fn the_exact_least_number_of_trials_keeps_its_promise_where_wilsons_does_not() {
    for vector in computed("exact_minimum_trials_for_pass") {
        let (threshold, confidence) = (
            number(&vector.input["threshold"]),
            number(&vector.input["confidence"]),
        );
        let target = AllowedRange::at_least(threshold);
        let exact = minimum_trials(IntervalMethod::Exact, target, confidence).unwrap();
        let wilson = minimum_trials(IntervalMethod::Wilson, target, confidence).unwrap();
        assert_eq!(exact, small(&vector.expected["n_min"]), "{}", vector.name);
        assert_eq!(wilson, small(&vector.expected["wilson_n_min"]), "{}", vector.name);

        let false_pass = |method, trials| {
            operating_characteristic(method, target, confidence, trials, threshold)
                .unwrap()
                .pass
        };
        let of_wilson = false_pass(IntervalMethod::Wilson, wilson);
        assert_close(
            of_wilson,
            number(&vector.expected["actual_false_pass_of_wilson_n_min"]),
            BETA,
            &vector.name,
        );
        assert!(of_wilson > 0.05, "{}", vector.name);
        assert!(
            false_pass(IntervalMethod::Exact, exact) <= 0.05,
            "{}",
            vector.name
        );
    }
}

#[test]
fn the_chances_of_each_verdict_are_those_of_the_exact_computation() {
    for vector in computed("operating_characteristic_exact") {
        let (method, trials) = match vector.input["rule"].as_str().unwrap() {
            // Stopping early changes how many trials are made, and no verdict.
            "fixed_wilson_25" | "curtailed_wilson_25" => (IntervalMethod::Wilson, 25),
            "fixed_cp_29" => (IntervalMethod::Exact, 29),
            // Sequential tests are no part of this gate.
            _ => continue,
        };
        let true_rate = number(&vector.input["true_pass_rate"]);
        let found =
            operating_characteristic(method, AllowedRange::at_least(0.9), 0.95, trials, true_rate).unwrap();
        assert_close(found.pass, number(&vector.expected["p_pass"]), BETA, &vector.name);
        assert_close(found.fail, number(&vector.expected["p_fail"]), BETA, &vector.name);
        assert_close(
            found.inconclusive,
            number(&vector.expected["p_inconclusive"]),
            BETA,
            &vector.name,
        );
    }
}

#[test]
fn the_least_size_of_a_baseline_is_that_of_the_contract() {
    for vector in measured("distributional_minimum_baseline_trials") {
        let found = minimum_baseline_trials(number(&vector.input["coverage"]));
        assert_eq!(found, small(&vector.expected["n_min"]), "{}", vector.name);
    }
}

#[test]
fn aggregates_are_those_of_the_contract() {
    for vector in measured("aggregate_value") {
        let values: Vec<f64> = vector.input["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(number)
            .collect();
        let by = match vector.input["aggregate"].as_str().unwrap() {
            "median" => Aggregate::Median,
            "max" => Aggregate::Max,
            _ => Aggregate::P90,
        };
        assert_eq!(
            aggregate(&values, by),
            Some(number(&vector.expected["value"])),
            "{}",
            vector.name
        );
    }
    assert_eq!(aggregate(&[], Aggregate::Median), None);
}

// gate, *Statistical*: a range that nothing can show kept the existing gate busy for hours.
#[test]
fn a_range_that_nothing_can_show_is_found_impossible_at_once() {
    for method in [IntervalMethod::Wilson, IntervalMethod::Exact] {
        for (lower, upper) in [(0.9, 0.9), (0.9, 0.900_001), (0.5, 0.4)] {
            assert_eq!(
                minimum_trials(method, AllowedRange::within(lower, upper), 0.95),
                None
            );
        }
        assert_eq!(
            minimum_trials(method, AllowedRange::within(0.8, 1.0), 0.95),
            minimum_trials(method, AllowedRange::at_least(0.8), 0.95)
        );
    }
}

// gate, *Distributional*: three trials exceed the largest of 19 in 13.6 of 100 gates although nothing changed.
#[test]
fn the_chance_that_an_unchanged_agent_exceeds_its_baseline_is_exact() {
    assert_close(chance_of_exceeding(1, 3, 19), 3.0 / 22.0, 1e-15, "one of three");
    assert_close(
        chance_of_exceeding(2, 2, 2),
        1.0 / 6.0,
        1e-15,
        "both of two above both of two",
    );
    assert_close(chance_of_exceeding(0, 3, 19), 1.0, 0.0, "at least none");
    assert_close(chance_of_exceeding(4, 3, 19), 0.0, 0.0, "four of three");
}

#[test]
fn the_noise_of_a_tolerance_is_that_of_the_baselines_own_runs() {
    let sample = [10.0, 10.0, 10.0, 20.0];
    let above = |value: f64| value > 15.0;
    assert_close(
        chance_beyond(&sample, 1, Aggregate::Median, above).estimate,
        0.25,
        BETA,
        "one trial",
    );
    // At least two of three: 3 · 1/16 · 3/4 + 1/64.
    assert_close(
        chance_beyond(&sample, 3, Aggregate::Median, above).estimate,
        10.0 / 64.0,
        BETA,
        "the middle of three",
    );
    assert_close(
        chance_beyond(&sample, 3, Aggregate::Max, above).estimate,
        1.0 - 27.0 / 64.0,
        BETA,
        "any of three",
    );
    assert_close(
        chance_beyond(&sample, 10, Aggregate::P90, above).estimate,
        {
            let none = 0.75_f64.powi(10);
            1.0 - none - 10.0 * 0.25 * 0.75_f64.powi(9)
        },
        BETA,
        "two of ten",
    );
    assert_close(
        chance_beyond(&sample, 3, Aggregate::Median, |_| false).estimate,
        0.0,
        0.0,
        "never",
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The exact interval's error never exceeds what was asked for, whatever the true rate.
    #[test]
    fn an_exact_verdict_is_wrong_no_more_often_than_it_says(
        trials in 1_u32..60,
        rate in 0.01_f64..0.99,
        confidence in 0.5_f64..0.999,
    ) {
        let chances = operating_characteristic(IntervalMethod::Exact, AllowedRange::at_least(rate), confidence, trials, rate).unwrap();
        prop_assert!(chances.pass <= 1.0 - confidence + 1e-9);
        let chances = operating_characteristic(IntervalMethod::Exact, AllowedRange::at_most(rate), confidence, trials, rate).unwrap();
        prop_assert!(chances.pass <= 1.0 - confidence + 1e-9);
        prop_assert!((chances.pass + chances.fail + chances.inconclusive - 1.0).abs() < 1e-9);
    }

    #[test]
    fn bounds_are_in_order_and_more_successes_never_lower_them(
        trials in 1_u32..2_000,
        share in 0.0_f64..1.0,
        confidence in 0.5_f64..0.999,
    ) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a small count")]
        let successes = (f64::from(trials) * share) as u32;
        for method in [IntervalMethod::Wilson, IntervalMethod::Exact] {
            let fewer = RateInterval::of(method, successes, trials, confidence).unwrap();
            let more = RateInterval::of(method, (successes + 1).min(trials), trials, confidence).unwrap();
            prop_assert!(0.0 <= fewer.lower && fewer.lower <= fewer.upper && fewer.upper <= 1.0);
            prop_assert!(fewer.lower <= more.lower + 1e-12 && fewer.upper <= more.upper + 1e-12);
        }
    }

    /// PASS is reachable with the least number of trials and with no smaller one.
    #[test]
    fn the_least_number_of_trials_is_the_least(rate in 0.05_f64..0.97, is_upper in any::<bool>(), is_exact in any::<bool>()) {
        let method = if is_exact { IntervalMethod::Exact } else { IntervalMethod::Wilson };
        let target = if is_upper { AllowedRange::at_most(rate) } else { AllowedRange::at_least(rate) };
        let least = minimum_trials(method, target, 0.95).unwrap();
        let passes = |trials: u32| {
            let best = if is_upper { 0 } else { trials };
            RateInterval::of(method, best, trials, 0.95).is_ok_and(|interval| interval.verdict(target) == Verdict::Pass)
        };
        prop_assert!(passes(least));
        prop_assert!(least == 1 || !passes(least - 1));
    }

    #[test]
    fn the_tail_of_the_binomial_distribution_is_the_sum_of_its_terms(
        trials in 1_u32..3_000,
        share in 0.0_f64..1.0,
        rate in 0.001_f64..0.999,
    ) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a small count")]
        let successes = (f64::from(trials) * share) as u32;
        let sum: f64 = (successes..=trials).map(|many| exactly(many, trials, rate)).sum();
        prop_assert!((sum - at_least(successes, trials, rate)).abs() < 1e-8);
    }
}
