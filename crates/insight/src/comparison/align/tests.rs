//! Alignment against the vectors of the contract, against what must always hold, and on long runs.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::computed;
use crate::testing::{letters, tools};

fn names(list: &Value) -> CallList {
    let names = list
        .as_array()
        .unwrap()
        .iter()
        .map(|name| (EventType::ToolCall, name.as_str().unwrap(), None));
    CallList::of_names(names)
}

fn text(text: &str) -> CallList {
    letters(text).calls
}

/// How many calls go together.
fn common(steps: &[AlignedStep]) -> usize {
    steps
        .iter()
        .filter(|(left, right)| left.is_some() && right.is_some())
        .count()
}

/// How many calls must be put in, taken out or replaced.
fn edits(steps: &[AlignedStep]) -> usize {
    let gaps = steps.split(|(left, right)| left.is_some() && right.is_some());
    gaps.map(|gap| {
        let removed = gap.iter().filter(|(left, _)| left.is_some()).count();
        removed.max(gap.len() - removed)
    })
    .sum()
}

#[test]
fn the_vectors_have_their_common_subsequence_and_distance() {
    for vector in computed("tool_sequence_alignment") {
        let steps = align(
            &names(&vector.input["baseline"]),
            &names(&vector.input["current"]),
        );
        assert_eq!(common(&steps) as u64, vector.expected["lcs"], "{}", vector.name);
        assert_eq!(
            edits(&steps) as u64,
            vector.expected["levenshtein"],
            "{}",
            vector.name
        );
    }
}

#[test]
fn the_same_arguments_are_better_partners_than_other_ones() {
    let search = |page: u32| ("search", json!({"page": page}));
    let before = tools(&[search(1), search(2)]).calls;
    let after = tools(&[search(3), search(1), search(2)]).calls;
    assert_eq!(
        align(&before, &after),
        [(None, Some(0)), (Some(0), Some(1)), (Some(1), Some(2))]
    );
}

/// The length of the longest common subsequence, by the definition.
fn longest_common(left: &[char], right: &[char]) -> usize {
    match (left, right) {
        ([first, left_rest @ ..], [second, right_rest @ ..]) => {
            let paired = if first == second {
                1 + longest_common(left_rest, right_rest)
            } else {
                0
            };
            paired
                .max(longest_common(left_rest, right))
                .max(longest_common(left, right_rest))
        }
        _ => 0,
    }
}

proptest! {
    #[test]
    fn an_alignment_leaves_nothing_out_keeps_the_order_and_pairs_as_many_as_possible(
        before in "[abc]{0,7}", after in "[abc]{0,7}",
    ) {
        let steps = align(&text(&before), &text(&after));
        let lefts: Vec<usize> = steps.iter().filter_map(|(left, _)| *left).collect();
        let rights: Vec<usize> = steps.iter().filter_map(|(_, right)| *right).collect();
        prop_assert!(lefts.iter().copied().eq(0..before.len()));
        prop_assert!(rights.iter().copied().eq(0..after.len()));
        let characters = |text: &str| text.chars().collect::<Vec<char>>();
        prop_assert_eq!(common(&steps), longest_common(&characters(&before), &characters(&after)));
    }
}

/// Calls of one tool, each with its number for an argument.
fn pages(numbers: impl Iterator<Item = usize>) -> CallList {
    let names: Vec<String> = numbers.map(|number| format!("page {number}")).collect();
    CallList::of_names(
        names
            .iter()
            .map(|name| (EventType::ToolCall, name.as_str(), None)),
    )
}

#[test]
fn long_runs_are_aligned_between_calls_that_both_have_once() {
    let before = pages(0..6_000);
    // The head, the tail and every thousandth call differ, and 500 calls are new.
    let after = pages((0..6_000).flat_map(|number| match number {
        0 | 5_999 => vec![number + 10_000],
        3_000 => (20_000..20_500).chain([number]).collect(),
        number if number % 1_000 == 0 => vec![],
        number => vec![number],
    }));
    let steps = align(&before, &after);
    assert_eq!(common(&steps), 6_000 - 2 - 4);
    assert!(steps.len() > 6_000);
}

#[test]
fn long_runs_without_such_calls_are_aligned_in_windows() {
    let same = |length: usize| pages((0..length).map(|number| number % 7));
    let before = same(4_000);
    let after = pages((0..4_100).map(|number| if number == 50 { 99 } else { (number + 3) % 7 }));
    let steps = align(&before, &after);
    let lefts: Vec<usize> = steps.iter().filter_map(|(left, _)| *left).collect();
    let rights: Vec<usize> = steps.iter().filter_map(|(_, right)| *right).collect();
    assert!(lefts.iter().copied().eq(0..4_000) && rights.iter().copied().eq(0..4_100));
    assert!(common(&steps) > 3_900, "{}", common(&steps));
}
