//! Loops in the trace: which are found, which are none, and the search against the rule written out plainly.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::samples::{letters, recorded, run_of, run_with, tools};
use super::*;
use crate::{llm_call, state, tool_call};

// gate-contract 15.1 P8
#[test]
fn a_block_of_any_length_is_found_whatever_is_recorded_in_between() {
    let five = letters(&"abcde".repeat(100));
    assert_eq!(five.repeats.len(), 1);
    assert_eq!(
        (five.repeats[0].pattern_length, five.repeats[0].repetitions),
        (5, 100)
    );
    assert_eq!((five.repeats[0].first_step, five.repeats[0].last_step), (1, 500));

    let with_states = recorded(|| {
        for step in 0..50 {
            tool_call("search").args(&"refunds").record()?;
            for update in 0..step % 4 {
                state(&json!({"step": step, "update": update})).record()?;
            }
            llm_call("gpt-5").prompt(&format!("and now? {step}")).record()?;
        }
        Ok(())
    });
    assert_eq!(with_states.repeats[0].pattern, ["search"]);
    assert_eq!(with_states.repeats[0].repetitions, 50);
    assert!(with_states.has_loops());
}

// gate-contract 15.1 P7
#[test]
fn a_loop_is_found_though_the_emitter_wrote_no_warning() {
    let search = ("search", json!({"maida.tool_name": "search"}));
    let (meta, spans) = run_with(&vec![search; 3]);
    let run = super::super::samples::metrics(&run_of(&meta, &spans));
    assert_eq!((run.counts.loop_warnings, run.has_loops()), (0, true));
}

// gate-contract 15.2 F6: what the emitter warns of by shape alone still counts, as a warning that it wrote.
#[test]
fn calls_with_other_arguments_and_questions_to_one_model_are_no_loop() {
    let weather = tools(&["Paris", "Rome", "Oslo"].map(|city| ("weather", json!({"city": city}))));
    assert_eq!(weather.repeats, []);
    let questions =
        recorded(|| (0..3).try_for_each(|number| llm_call("m").prompt(&format!("{number}?")).record()));
    assert_eq!(questions.repeats, []);
    let unknown = recorded(|| (0..3).try_for_each(|_| llm_call("m").record()));
    assert_eq!(unknown.repeats, [], "what was asked is not known");
    let twice = tools(&[("search", Value::Null), ("search", Value::Null)]);
    assert_eq!(twice.repeats, []);
}

#[test]
fn the_order_of_keys_makes_no_other_call_and_a_model_that_is_asked_the_same_loops() {
    let same: Vec<Value> = [r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, r#"{"a":1,"b":2}"#]
        .map(|text| serde_json::from_str(text).unwrap())
        .to_vec();
    let calls: Vec<(&str, Value)> = same.into_iter().map(|args| ("search", args)).collect();
    assert_eq!(tools(&calls).repeats.len(), 1);
    let asked = recorded(|| (0..3).try_for_each(|_| llm_call("m").prompt("and now?").record()));
    assert_eq!(asked.repeats[0].pattern, ["m"]);
}

#[test]
fn several_loops_are_told_in_the_order_of_time_and_each_once() {
    let run = letters("xabababyzzzz");
    let told: Vec<(Vec<String>, u64)> = run
        .repeats
        .iter()
        .map(|repeat| (repeat.pattern.clone(), repeat.repetitions))
        .collect();
    let names = |letters: &str| letters.chars().map(String::from).collect::<Vec<_>>();
    assert_eq!(told, [(names("ab"), 3), (names("z"), 4)]);
}

/// Whether a block comes three times in a row anywhere, by trying all.
fn loops(symbols: &[u64]) -> bool {
    (1..=symbols.len() / REPETITIONS).any(|period| {
        symbols.windows(REPETITIONS * period).any(|window| {
            window
                .iter()
                .skip(period)
                .zip(window)
                .all(|(later, symbol)| later == symbol)
        })
    })
}

proptest! {
    #[test]
    fn every_loop_is_found_and_nothing_else(symbols in prop::collection::vec(0_u64..3, 0..60)) {
        let found = blocks(&symbols);
        prop_assert_eq!(!found.is_empty(), loops(&symbols), "{:?}", found);
        for block in found {
            let repeated = &symbols[block.start..block.end()];
            prop_assert!(repeated.len() >= REPETITIONS * block.period);
            prop_assert!(repeated.iter().skip(block.period).zip(repeated).all(|(later, symbol)| later == symbol));
        }
    }
}

#[test]
fn a_run_that_is_made_to_be_hard_is_searched_all_the_same() {
    // Long stretches that almost repeat, in every period.
    let hard: Vec<u64> = (0..10_000_u64)
        .map(|place| u64::from(place.is_power_of_two()))
        .collect();
    assert!(!blocks(&hard).is_empty());
    let distinct: Vec<u64> = (0..30_000).collect();
    assert!(blocks(&distinct).is_empty());
}
