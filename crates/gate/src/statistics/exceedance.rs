//! How far the extremes of a baseline's sample reach (the contract of the gate, section 7.3).

/// How many runs a baseline needs before its extreme value covers a share of all runs.
///
/// Computed in doubles, as the contract has it: 0.9 needs 10.
///
/// ```
/// use tracer_gate::statistics::minimum_baseline_trials;
///
/// assert_eq!(minimum_baseline_trials(0.95), 19);
/// assert_eq!(minimum_baseline_trials(0.90), 10);
/// ```
#[must_use]
pub fn minimum_baseline_trials(coverage: f64) -> u32 {
    let needed = (1.0 / (1.0 - coverage)).ceil() - 1.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates"
    )]
    let needed = needed.max(1.0) as u32;
    needed
}

/// The chance that at least `exceeding` of `candidates` runs lie beyond every one of `baseline` runs, when all of them
/// come from the same agent.
///
/// Every order of the runs is then as likely as every other, whatever the distribution; ties make it rarer.
///
/// ```
/// use tracer_gate::statistics::chance_of_exceeding;
///
/// assert_eq!(chance_of_exceeding(1, 1, 19), 0.05);
/// assert!((chance_of_exceeding(1, 3, 19) - 3.0 / 22.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn chance_of_exceeding(exceeding: u32, candidates: u32, baseline: u32) -> f64 {
    if exceeding > candidates {
        return 0.0;
    }
    let all = f64::from(candidates) + f64::from(baseline);
    // The largest run is a candidate, and the largest of the others, and so on.
    (0..exceeding)
        .map(|above| (f64::from(candidates) - f64::from(above)) / (all - f64::from(above)))
        .product()
}
