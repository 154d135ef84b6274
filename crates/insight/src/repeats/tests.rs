//! Loops in the trace: which are found, which are none, and the search against the rule written out plainly.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::testing::{letters, recorded, run_of, run_with, tools};
use tracer_sdk::{llm_call, state, tool_call};

// gate, *Loops*
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
    assert_eq!(with_states.has_looped(), Some(true));
}

// gate, *Loops*
#[test]
fn a_loop_is_found_though_the_emitter_wrote_no_warning() {
    let search = |arguments: &str| {
        let search = json!({"maida.tool_name": "search", "gen_ai.tool.call.arguments": arguments});
        let (meta, spans) = run_with(&vec![("search", search); 3]);
        crate::testing::metrics(&run_of(&meta, &spans))
    };
    let run = search(r#"{"q":"refunds"}"#);
    assert_eq!((run.counts.loop_warnings, run.has_looped()), (0, Some(true)));
    assert_eq!(
        search("null").has_looped(),
        None,
        "null is no arguments, and no result is known"
    );
}

// gate, *Loops*
#[test]
fn calls_with_other_arguments_and_questions_to_one_model_are_no_loop() {
    let weather = tools(&["Paris", "Rome", "Oslo"].map(|city| ("weather", json!({"city": city}))));
    assert_eq!(weather.repeats, []);
    let questions =
        recorded(|| (0..3).try_for_each(|number| llm_call("m").prompt(&format!("{number}?")).record()));
    assert_eq!(questions.repeats, []);
    assert_eq!(
        (weather.harmless_warnings, weather.has_looped()),
        (1, Some(false))
    );
    assert!(weather.has_repeated_shapes(), "the contract's rule");
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

// gate, *Loops*
#[test]
fn whether_calls_loop_of_which_nothing_was_recorded_is_not_known() {
    let unknown = |record: fn() -> Result<(), tracer_sdk::GuardrailExceeded>| {
        recorded(|| (0..3).try_for_each(|_| record()))
    };
    let tool = unknown(|| tool_call("search").record());
    assert_eq!((tool.repeats.len(), tool.unknown_repeats.len()), (0, 1));
    assert_eq!(tool.has_looped(), None);
    assert_eq!(unknown(|| llm_call("m").record()).has_looped(), None);
    let with_results = unknown(|| tool_call("search").result(&"none").record());
    assert_eq!(with_results.has_looped(), Some(true), "the results are compared");
    let cut = "x".repeat(30_000);
    let cut = recorded(|| (0..3).try_for_each(|_| tool_call("search").args(&cut).record()));
    assert_eq!(cut.has_looped(), None, "what was cut may differ behind the cut");
    let states = unknown(|| state("triage").record());
    assert_eq!(
        (states.counts.loop_warnings, states.has_looped()),
        (1, Some(false))
    );
}

#[test]
fn attempts_are_one_call() {
    let ask = || llm_call("m").prompt("Where is my refund?");
    let retried = |calls: usize| {
        recorded(|| {
            (0..calls).try_for_each(|_| {
                ask().fail("429 Too Many Requests").record()?;
                ask().fail("429 Too Many Requests").record()?;
                ask().response("On its way.").record()
            })
        })
    };
    assert_eq!(retried(1).has_looped(), Some(false));
    assert_eq!(retried(2).has_looped(), Some(false));
    assert_eq!(retried(3).repeats[0].repetitions, 3);
}

#[test]
fn model_calls_with_tool_calls_between_are_compared_by_these() {
    let turns = |files: [&str; 3]| {
        recorded(|| {
            files.iter().try_for_each(|file| {
                llm_call("m").prompt("What next?").record()?;
                tool_call("read").args(file).record()
            })
        })
    };
    assert_eq!(turns(["a", "b", "c"]).has_looped(), Some(false));
    assert_eq!(turns(["a", "a", "a"]).repeats[0].pattern, ["read"]);
    let growing =
        recorded(|| (1..4).try_for_each(|length| llm_call("m").prompt(&vec!["and now?"; length]).record()));
    assert_eq!(growing.has_looped(), Some(true), "the last message is the same");
}

#[test]
fn reads_between_repeats_and_differing_times_do_not_hide_a_loop() {
    let reported = |calls: &[(&str, Value)]| -> Vec<(Vec<String>, u64)> {
        let run = tools(calls);
        let reported = |repeat: &RepeatedCalls| (repeat.pattern.clone(), repeat.repetitions);
        run.repeats.iter().map(reported).collect()
    };
    let file = |number: u8| ("read_file", json!({"path": format!("{number}.rs")}));
    let patch = || ("apply_patch", json!({"patch": "x"}));
    let search = || ("searchDocs", json!({"q": "refund"}));
    let between = |call: &dyn Fn() -> (&'static str, Value)| {
        [call(), file(1), call(), file(2), file(3), call()].to_vec()
    };
    assert_eq!(reported(&between(&patch)), [(vec!["apply_patch".to_owned()], 3)]);
    assert_eq!(reported(&between(&search)), [(vec!["searchDocs".to_owned()], 3)]);
    let tests = || ("run_tests", json!({}));
    let edit = |number: u8| ("edit_file", json!({"line": number}));
    let healthy = [
        edit(1),
        tests(),
        edit(2),
        tests(),
        edit(3),
        tests(),
        edit(4),
        tests(),
    ];
    assert_eq!(reported(&healthy), [], "something was changed between");
    let looked_again = [search(), edit(1), search(), edit(2), search()];
    assert_eq!(reported(&looked_again), []);
    let at = |second: u8| {
        (
            "search",
            json!({"q": "x", "timestamp": format!("2026-01-01T00:00:{second:02}Z")}),
        )
    };
    assert_eq!(reported(&[at(1), at(2), at(3)]), [(vec!["search".to_owned()], 3)]);
}

#[test]
fn several_loops_are_listed_in_time_order_each_once() {
    let run = letters("xabababyzzzz");
    let reported: Vec<(Vec<String>, u64)> = run
        .repeats
        .iter()
        .map(|repeat| (repeat.pattern.clone(), repeat.repetitions))
        .collect();
    let names = |letters: &str| letters.chars().map(String::from).collect::<Vec<_>>();
    assert_eq!(reported, [(names("ab"), 3), (names("z"), 4)]);
}

/// Whether a block comes three times in a row anywhere, by trying all.
fn loops(symbols: &[u64]) -> bool {
    (1..=symbols.len() / MIN_REPETITIONS).any(|period| {
        symbols.windows(MIN_REPETITIONS * period).any(|window| {
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
            prop_assert!(repeated.len() >= MIN_REPETITIONS * block.period);
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
