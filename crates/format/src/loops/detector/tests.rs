//! The detector against measured vectors of an existing emitter, and against the rule written out plainly.

use proptest::prelude::*;
use serde_json::Value;

use super::super::signature::StepSignature;
use super::*;
use crate::vectors::measured;

/// A call of which nothing but its signature is known.
const UNKNOWN_CALL: Asked = Asked {
    kind: TrailKind::Tool,
    ..Asked::STATE
};

/// The detector of a run that has one branch.
#[derive(Debug)]
struct Alone<Id> {
    detector: LoopDetector<Id>,
    warned: WarnedPatterns,
}

impl<Id: Clone> Alone<Id> {
    fn new(window: usize, repetitions: usize) -> Self {
        Self {
            detector: LoopDetector::new(window, repetitions),
            warned: WarnedPatterns::default(),
        }
    }
}

impl<Id> std::ops::Deref for Alone<Id> {
    type Target = LoopDetector<Id>;

    fn deref(&self) -> &LoopDetector<Id> {
        &self.detector
    }
}

fn observe<Id: Clone>(
    detector: &mut Alone<Id>,
    signature: &str,
    asked: Asked,
    id: Id,
) -> Option<LoopWarning<Id>> {
    detector
        .detector
        .observe(&mut detector.warned, &StepSignature::stored(signature), asked, id)
}

/// Feeds each character as a signature, with its position as the ID.
fn warnings(window: usize, repetitions: usize, records: &str) -> Vec<LoopWarning<usize>> {
    let mut detector = Alone::new(window, repetitions);
    records
        .char_indices()
        .filter_map(|(position, record)| observe(&mut detector, &record.to_string(), UNKNOWN_CALL, position))
        .collect()
}

fn signature(event: &Value) -> String {
    let text = |key: &str| event["payload"][key].as_str().unwrap_or_default();
    let arguments = event["payload"].get("args").map(Value::to_string);
    let arguments = arguments.as_deref().map(str::as_bytes);
    let signature = match event["event_type"].as_str() {
        Some("LLM_CALL") => StepSignature::of_model(text("model")),
        Some("TOOL_CALL") => StepSignature::of_tool(text("tool_name"), arguments).0,
        _ => StepSignature::of_state(),
    };
    let mut kept = KeptSignature::default();
    kept.keep(&signature);
    kept.written()
}

#[test]
fn measured_vectors_give_the_same_loop() {
    for vector in measured("detect_loop") {
        let (input, expected, name) = (&vector.input, &vector.expected, &vector.name);
        let number = |key: &str| usize::try_from(input[key].as_u64().unwrap()).unwrap();
        let mut detector = Alone::new(number("window"), number("repetitions"));
        let events = input["events"].as_array().unwrap();
        let signatures: Vec<_> = events.iter().map(signature).collect();
        for (event, signature) in events.iter().zip(&signatures) {
            let id = event["event_id"].as_str().unwrap_or("__MISSING__").to_owned();
            let _ = observe(&mut detector, signature, UNKNOWN_CALL, id);
        }
        let found = detector.current().map_or(Value::Null, |found| {
            serde_json::json!({
                "pattern": found.pattern,
                "pattern_type": found.pattern_type.as_str(),
                "pattern_length": found.pattern_length,
                "repetitions": found.repetitions,
                "window_size": found.window_size,
                "evidence_event_ids": found.evidence_event_ids,
            })
        });
        assert_eq!(found, expected["result"], "{name}");
        // The vectors tell the last three.
        let last = &signatures[signatures.len().saturating_sub(3)..];
        assert_eq!(expected["signatures"], serde_json::json!(last), "{name}");
    }
}

#[test]
fn a_loop_is_warned_of_when_its_last_repetition_is_complete() {
    let found = warnings(12, 3, "xabcabcabc");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].pattern, "a -> b -> c");
    assert_eq!(found[0].pattern_type, PatternType::Cycle);
    assert_eq!(found[0].window_size, 10);
    assert_eq!(found[0].evidence_event_ids, (1..10).collect::<Vec<_>>());
    assert_eq!(warnings(12, 3, "abcabcab"), []);
}

#[test]
fn a_pattern_is_warned_of_once_wherever_its_cycle_starts() {
    assert_eq!(warnings(12, 3, "abababababababab").len(), 1);
    assert_eq!(warnings(12, 3, "abababxbababab").len(), 1);
    let found = warnings(12, 3, "aaaxbbbxaaaxababab");
    let patterns: Vec<_> = found.iter().map(|warning| warning.pattern.as_str()).collect();
    assert_eq!(patterns, ["a", "b", "a -> b"]);
}

#[test]
fn a_block_that_does_not_fit_the_window_is_not_found() {
    assert_eq!(warnings(8, 3, &"abc".repeat(20)), []);
    assert_eq!(warnings(9, 3, &"abc".repeat(20)).len(), 1);
}

#[test]
fn repetitions_are_counted_past_the_warning_and_past_the_window() {
    let mut detector = Alone::new(12, 3);
    let mut counted = Vec::new();
    for round in 0..20 {
        for signature in ["a", "b", "c"] {
            let _ = observe(&mut detector, signature, UNKNOWN_CALL, ());
        }
        counted.push(detector.repetitions());
        assert_eq!(detector.current().is_some(), round >= 2);
    }
    assert_eq!(counted[..4], [0, 0, 3, 4]);
    assert_eq!(counted[19], 20);
    let _ = observe(&mut detector, "other", UNKNOWN_CALL, ());
    assert_eq!(detector.repetitions(), 0);
}

#[test]
fn the_memory_of_records_that_left_the_window_is_used_again() {
    let mut detector = Alone::new(4, 3);
    let buffers = |detector: &Alone<u32>| {
        let mut buffers: Vec<_> = detector
            .records
            .iter()
            .map(|record| record.written.memory())
            .collect();
        buffers.sort();
        buffers
    };
    for number in 0..4u32 {
        let _ = observe(
            &mut detector,
            &format!("TOOL_CALL:{number:04}"),
            UNKNOWN_CALL,
            number,
        );
    }
    let before = buffers(&detector);
    for number in 4..1000u32 {
        let _ = observe(
            &mut detector,
            &format!("TOOL_CALL:{number:04}"),
            UNKNOWN_CALL,
            number,
        );
    }
    assert_eq!(buffers(&detector), before);
    assert_eq!(detector.records.len(), 4);
}

#[test]
fn ever_new_patterns_do_not_grow_memory_and_are_still_counted() {
    let mut detector = Alone::new(12, 3);
    let mut reported = 0;
    for number in 0..3 * MAX_PATTERNS {
        for _ in 0..3 {
            reported += usize::from(observe(&mut detector, &number.to_string(), UNKNOWN_CALL, ()).is_some());
        }
        assert_eq!(detector.repetitions(), 3);
    }
    assert_eq!(reported, MAX_PATTERNS);
    assert_eq!(detector.warned.0.len(), MAX_PATTERNS);
}

/// The shortest block by the letter of the decisions.
fn block_by_the_letter(records: &[char], window: usize, repetitions: usize) -> Option<Vec<char>> {
    let window = &records[records.len().saturating_sub(window)..];
    (1..=window.len() / repetitions).find_map(|length| {
        let tail = &window[window.len() - length * repetitions..];
        let block = &tail[..length];
        tail.chunks(length)
            .all(|other| other == block)
            .then(|| block.to_vec())
    })
}

fn is_rotation(a: &[char], b: &[char]) -> bool {
    a.len() == b.len() && (0..a.len()).any(|start| [&a[start..], &a[..start]].concat() == b)
}

proptest! {
    #[test]
    fn the_loop_found_is_the_one_that_the_rule_gives(
        records in "[ab]{0,24}|[abc]{0,40}",
        window in 2usize..14,
        repetitions in 2usize..5,
    ) {
        let records: Vec<char> = records.chars().collect();
        let mut detector = Alone::new(window, repetitions);
        let mut reported: Vec<Vec<char>> = Vec::new();
        for (position, record) in records.iter().enumerate() {
            let warning = observe(&mut detector, &record.to_string(), UNKNOWN_CALL, position);
            let expected = block_by_the_letter(&records[..=position], window, repetitions);
            let found = detector.current();
            prop_assert_eq!(
                found.as_ref().map(|found| found.pattern.replace(" -> ", "")),
                expected.as_ref().map(|block| block.iter().collect::<String>())
            );
            let is_new = expected
                .as_ref()
                .is_some_and(|block| !reported.iter().any(|other| is_rotation(other, block)));
            prop_assert_eq!(warning.is_some(), is_new);
            if let (Some(found), Some(block)) = (found, expected) {
                let length = block.len() * repetitions;
                prop_assert_eq!(found.evidence_event_ids, (position + 1 - length..=position).collect::<Vec<_>>());
                prop_assert!(detector.repetitions() >= repetitions);
                reported.push(block);
            } else {
                prop_assert_eq!(detector.repetitions(), 0);
            }
        }
    }
}

/// A tool call with these arguments.
fn tool(asked: u64) -> Asked {
    Asked {
        asked: Some(asked),
        ..UNKNOWN_CALL
    }
}

/// A model call with this prompt and last message.
fn model(prompt: u64, last_message: u64) -> Asked {
    Asked {
        kind: TrailKind::Model,
        asked: Some(prompt),
        last_message: Some(last_message),
        ..Asked::STATE
    }
}

fn failed(asked: Asked) -> Asked {
    Asked {
        failed: true,
        ..asked
    }
}

/// What the detector makes of records: how many warnings, and how often the run has been through its last loop.
fn found(records: &[(&str, Asked)]) -> (usize, usize) {
    let mut detector = Alone::new(12, 3);
    let warnings = records
        .iter()
        .filter(|(signature, asked)| observe(&mut detector, signature, *asked, ()).is_some())
        .count();
    (warnings, detector.looping_repetitions())
}

#[test]
fn shapes_that_repeat_are_warned_of_and_only_calls_that_ask_the_same_are_a_loop() {
    let three = |calls: [Asked; 3]| found(&calls.map(|asked| ("read", asked)));
    assert_eq!(three([tool(1), tool(1), tool(1)]), (1, 3));
    assert_eq!(
        three([tool(1), tool(2), tool(3)]),
        (1, 0),
        "three files read in a row"
    );
    assert_eq!(three([UNKNOWN_CALL; 3]), (1, 3), "what is not known counts");
    let came = |came| Asked {
        came: Some(came),
        ..UNKNOWN_CALL
    };
    assert_eq!(
        three([came(1), came(1), came(1)]),
        (1, 3),
        "the results are compared"
    );
    assert_eq!(three([came(1), came(2), came(3)]), (1, 0));
    assert_eq!(
        three([model(1, 7), model(2, 7), model(3, 7)]),
        (1, 3),
        "the last message"
    );
    assert_eq!(three([model(1, 7), model(2, 8), model(3, 9)]), (1, 0));
    assert_eq!(three([Asked::STATE; 3]), (1, 0), "states alone");
}

#[test]
fn in_a_block_with_a_tool_call_models_match_by_model_and_states_by_being_states() {
    let turn = |number: u64, asked: u64| {
        [
            ("model", model(number, number)),
            ("search", tool(asked)),
            ("state", Asked::STATE),
        ]
    };
    assert_eq!(found(&[turn(1, 5), turn(2, 5), turn(3, 5)].concat()), (1, 3));
    assert_eq!(found(&[turn(1, 5), turn(2, 6), turn(3, 7)].concat()), (1, 0));
}

#[test]
fn a_loop_may_have_a_longer_block_than_its_shapes_and_begin_after_their_warning() {
    let files: Vec<_> = [1, 2, 1, 2, 1, 2]
        .iter()
        .map(|file| ("read", tool(*file)))
        .collect();
    assert_eq!(found(&files), (1, 3), "two files in turn");
    let late: Vec<_> = [1, 2, 3, 4, 4, 4, 4]
        .iter()
        .map(|file| ("read", tool(*file)))
        .collect();
    assert_eq!(found(&late), (1, 4));
    assert_eq!(found(&late[..5]), (1, 0));
}

#[test]
fn attempts_are_one_call_before_the_window_is_looked_at() {
    let ask = |asked| ("model", asked);
    let (again, done) = (failed(model(1, 1)), model(1, 1));
    assert_eq!(found(&[again, again, done].map(ask)), (0, 0));
    assert_eq!(
        found(&[again; 50].map(ask)),
        (0, 0),
        "a call that is tried for ever"
    );
    let three_calls = [again, again, done, again, done, done].map(ask);
    assert_eq!(
        found(&three_calls),
        (1, 3),
        "each of three calls had its attempts"
    );
    let others = [failed(model(1, 1)), failed(model(2, 1)), model(3, 1)].map(ask);
    assert_eq!(found(&others), (1, 3), "another prompt is no attempt");
    let between = [ask(again), ("state", Asked::STATE)].repeat(3);
    assert_eq!(found(&between), (1, 3), "something stands between");
}

#[test]
fn loops_are_counted_past_the_window_and_end_with_another_call() {
    let mut detector = Alone::new(12, 3);
    for _ in 0..20 {
        for asked in [tool(1), tool(2)] {
            let _ = observe(&mut detector, "read", asked, ());
        }
    }
    assert_eq!((detector.looping_repetitions(), detector.loops()), (20, 1));
    let _ = observe(&mut detector, "read", tool(3), ());
    assert_eq!((detector.looping_repetitions(), detector.repetitions()), (0, 41));
    for _ in 0..3 {
        let _ = observe(&mut detector, "read", tool(3), ());
    }
    assert_eq!((detector.looping_repetitions(), detector.loops()), (4, 2));
}

proptest! {
    #[test]
    fn a_loop_is_a_repeated_shape_whose_calls_ask_the_same(
        records in prop::collection::vec((prop::sample::select(vec!["a", "b"]), 0u64..2), 0..40),
        window in 4usize..14,
        repetitions in 2usize..4,
    ) {
        let mut detector = Alone::new(window, repetitions);
        let named: Vec<char> = records.iter().map(|(name, asked)| match (*name, asked) {
            ("a", 0) => '0', ("a", _) => '1', (_, 0) => '2', _ => '3',
        }).collect();
        for (position, (name, asked)) in records.iter().enumerate() {
            let _ = observe(&mut detector, name, tool(*asked), ());
            let expected = block_by_the_letter(&named[..=position], window, repetitions);
            prop_assert_eq!(detector.looping_repetitions() > 0, expected.is_some());
            if expected.is_some() {
                prop_assert!(detector.repetitions() >= repetitions);
            }
        }
    }
}
