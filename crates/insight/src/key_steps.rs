//! Which steps tell how a run went: all of them, or where there are very many, the first, the last, the failures, and
//! what is around the loops.

use std::collections::BTreeSet;

use tracer_sdk::format::EventType;

/// A run with more steps than this is told by a part of them.
pub const MOST_STEPS: usize = 1_000;
/// Of a run with very many steps, so many are shown of its beginning.
pub const FIRST_STEPS: usize = 200;
/// Of a run with very many steps, so many are shown of its end.
pub const LAST_STEPS: usize = 100;
/// Of a run with very many steps, so many errors and loops are looked at.
const MOST_TELLING: usize = 20;
/// What a loop warning rests on stands shortly before it, and what came of it shortly behind.
const AROUND_A_LOOP: usize = 60;

/// The numbers of the telling steps of `all`; `which` gives the numbers of the steps of some type, failed or not.
pub fn numbers(all: usize, which: impl Fn(fn(EventType, bool) -> bool) -> Vec<usize>) -> Vec<usize> {
    if all <= MOST_STEPS {
        return (1..=all).collect();
    }
    let mut numbers: BTreeSet<usize> = (1..=FIRST_STEPS).chain(all - LAST_STEPS + 1..=all).collect();
    let failures = which(|_, failed| failed);
    numbers.extend(failures.iter().rev().take(MOST_TELLING));
    let errors = which(|event_type, _| event_type == EventType::Error);
    numbers.extend(errors.iter().rev().take(MOST_TELLING));
    let warnings = which(|event_type, _| event_type == EventType::LoopWarning);
    for warning in warnings.into_iter().take(MOST_TELLING) {
        numbers.extend(warning.saturating_sub(AROUND_A_LOOP).max(1)..=(warning + AROUND_A_LOOP).min(all));
    }
    numbers.into_iter().collect()
}
