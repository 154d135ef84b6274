//! Key steps, worth reading first: all steps of a run, or of one that has very many the first, the last, the failures, and
//! those around the loops.

use std::collections::BTreeSet;

use tracer_sdk::format::EventType;

/// Steps that are all read; of a run with more, the key steps.
pub const MAX_STEPS: usize = 1_000;
/// Steps of the beginning of a run with very many.
pub const FIRST_STEPS: usize = 200;
/// Steps of the end of a run with very many.
pub const LAST_STEPS: usize = 100;
/// Failures, errors and loops that are read of a run with very many steps.
const MAX_OF_A_KIND: usize = 20;
/// Steps before and behind a loop warning: its evidence is shortly before it, and what came of it shortly behind.
pub const AROUND_A_LOOP: usize = 60;

/// The numbers of the key steps of `all`; `which` gives the numbers of the steps of some type, failed or not.
pub(crate) fn key_step_numbers(
    all: usize,
    which: impl Fn(fn(EventType, bool) -> bool) -> Vec<usize>,
) -> Vec<usize> {
    if all <= MAX_STEPS {
        return (1..=all).collect();
    }
    let mut numbers: BTreeSet<usize> = (1..=FIRST_STEPS).collect();
    numbers.extend(failure_step_numbers(all, &which));
    numbers.extend(loop_step_numbers(all, &which));
    numbers.into_iter().collect()
}

/// The numbers of those that say why a run failed: the last ones, and the failures.
pub(crate) fn failure_step_numbers(
    all: usize,
    which: &impl Fn(fn(EventType, bool) -> bool) -> Vec<usize>,
) -> BTreeSet<usize> {
    let mut numbers: BTreeSet<usize> = (all.saturating_sub(LAST_STEPS) + 1..=all).collect();
    let failures = which(|_, failed| failed);
    numbers.extend(failures.iter().rev().take(MAX_OF_A_KIND));
    let errors = which(|event_type, _| event_type == EventType::Error);
    numbers.extend(errors.iter().rev().take(MAX_OF_A_KIND));
    numbers
}

/// The numbers of those around the loops.
pub(crate) fn loop_step_numbers(
    all: usize,
    which: &impl Fn(fn(EventType, bool) -> bool) -> Vec<usize>,
) -> BTreeSet<usize> {
    let warnings = which(|event_type, _| event_type == EventType::LoopWarning);
    let around =
        |warning: usize| warning.saturating_sub(AROUND_A_LOOP).max(1)..=(warning + AROUND_A_LOOP).min(all);
    warnings
        .into_iter()
        .take(MAX_OF_A_KIND)
        .flat_map(around)
        .collect()
}
