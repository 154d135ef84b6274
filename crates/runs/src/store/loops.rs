//! Loops in the records of a run, by the rules that recording and the gate share (decisions, section 7).

use tracer_format::Record;
use tracer_format::loops;

pub use tracer_format::loops::Likeness;

/// Returns whether records have a loop, see [`RunSummary::has_looped`](super::RunSummary::has_looped).
///
/// ```
/// use tracer_runs::has_loop;
/// use tracer_sdk::testing::capture;
///
/// fn read(file: &str) -> Result<(), tracer_sdk::GuardrailExceeded> {
///     tracer_sdk::tool_call("read").args(&file).record()
/// }
/// let stuck = capture(|| (0..3).try_for_each(|_| read("a.rs")));
/// assert!(has_loop(&stuck.records));
/// let three_files = capture(|| ["a.rs", "b.rs", "c.rs"].into_iter().try_for_each(read));
/// assert!(!has_loop(&three_files.records)); // though there is a warning
/// ```
#[must_use]
pub fn has_loop<'a>(records: impl IntoIterator<Item = &'a Record>) -> bool {
    loops::has_loop(records)
}

/// Returns whether the call of one record is an attempt at the one of `next`: it failed, and `next`, which follows it
/// among calls and states, asks the same.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     let ask = || tracer_sdk::llm_call("gpt-5").prompt("Where is my refund?");
///     ask().fail("429 Too Many Requests").record()?;
///     ask().response("On its way.").record()
/// });
/// let records = run.records;
/// assert!(tracer_runs::is_attempt(&records[1], &records[2]));
/// assert_eq!(records[1].meta["attempt_of"], records[2].event_id);
/// ```
#[must_use]
pub fn is_attempt(record: &Record, next: &Record) -> bool {
    loops::is_attempt(record, next)
}

/// The first loop that a run with these records comes to: the numbers of its records, from 0, and how many of them the
/// block has. It may come after the warning of its shape, which is given once.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// fn read(file: &str) -> Result<(), tracer_sdk::GuardrailExceeded> {
///     tracer_sdk::tool_call("read").args(&file).record()
/// }
/// let run = capture(|| ["a.rs", "b.rs", "a.rs", "b.rs", "a.rs", "b.rs"].into_iter().try_for_each(read));
/// let records = run.records;
/// let calls: Vec<_> = records.iter().collect();
/// let (numbers, length) = tracer_runs::first_loop(&calls).unwrap();
/// assert_eq!((numbers.len(), length), (6, 2)); // two files in turn
/// ```
#[must_use]
pub fn first_loop(records: &[&Record]) -> Option<(Vec<usize>, usize)> {
    loops::first_loop(records)
}

/// For each of the records of a run the number of its branch: agents and tasks that work at the same time are a branch
/// each, in which loops are looked for; equal numbers are one branch.
///
/// ```
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| {
///     tracer_sdk::agent("researcher").start().in_scope(|| tracer_sdk::tool_call("search").record())?;
///     tracer_sdk::tool_call("send").record()
/// });
/// let records: Vec<_> = run.records.iter().collect();
/// let branches = tracer_runs::branches(&records);
/// let of = |name: &str| branches[records.iter().position(|record| record.name == name).unwrap()];
/// assert_ne!(of("search"), of("send"));
/// ```
#[must_use]
pub fn branches(records: &[&Record]) -> Vec<u64> {
    loops::branches(records)
}

/// Compares the repetitions of a block: `records` has one repetition after the other, each of `length` records.
///
/// ```
/// use tracer_runs::{Likeness, compare_repetitions};
/// use tracer_sdk::testing::capture;
///
/// let run = capture(|| (0..2).try_for_each(|_| tracer_sdk::tool_call("search").record()));
/// let records = run.records;
/// assert_eq!(compare_repetitions(&[&records[1], &records[2]], 1), Likeness::Unknown);
/// ```
#[must_use]
pub fn compare_repetitions(records: &[&Record], length: usize) -> Likeness {
    loops::compare_repetitions(records, length)
}
