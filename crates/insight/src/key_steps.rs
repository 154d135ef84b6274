//! Key steps, worth reading first: all steps of a run, or of one that has very many the first, the last, the last calls, the
//! failures, and those around the loops.

use std::collections::BTreeSet;

use tracer_sdk::format::EventType;

use crate::step_kind::StepKind;

/// Steps that are all read; of a run with more, the key steps.
pub const MAX_STEPS: usize = 1_000;
/// Steps of the beginning of a run with very many.
pub const FIRST_STEPS: usize = 200;
/// Steps of the end of a run with very many.
pub const LAST_STEPS: usize = 100;
/// Calls, failures, errors and loops that are read of a run with very many steps.
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
    numbers.extend(all.saturating_sub(LAST_STEPS) + 1..=all);
    let last_ones: [fn(EventType, bool) -> bool; 3] = [
        // Behind the last call there may be any number of spans.
        |event_type, _| StepKind::from(event_type).is_call(),
        |_, failed| failed,
        |event_type, _| event_type == EventType::Error,
    ];
    for wanted in last_ones {
        numbers.extend(which(wanted).iter().rev().take(MAX_OF_A_KIND));
    }
    let warnings = which(|event_type, _| event_type == EventType::LoopWarning);
    let around =
        |warning: usize| warning.saturating_sub(AROUND_A_LOOP).max(1)..=(warning + AROUND_A_LOOP).min(all);
    numbers.extend(warnings.into_iter().take(MAX_OF_A_KIND).flat_map(around));
    numbers.into_iter().collect()
}
