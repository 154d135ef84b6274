//! The detector against measured vectors of an existing emitter, and against the rule written out plainly.

use proptest::prelude::*;
use serde_json::Value;

use super::super::{STATE_SIGNATURE, llm_signature, shape_of_value, tool_signature};
use super::*;
use crate::vectors::measured;

/// Feeds each character as a signature, with its position as the ID.
fn warnings(window: usize, repetitions: usize, records: &str) -> Vec<LoopWarning<usize>> {
    let mut detector = LoopDetector::new(window, repetitions);
    records
        .char_indices()
        .filter_map(|(position, record)| detector.observe(&record.to_string(), position))
        .collect()
}

fn signature(event: &Value) -> String {
    let mut out = String::new();
    let text = |key: &str| event["payload"][key].as_str().unwrap_or_default();
    match event["event_type"].as_str() {
        Some("LLM_CALL") => llm_signature(text("model"), &mut out),
        Some("TOOL_CALL") => {
            let shape = event["payload"].get("args").map(shape_of_value);
            tool_signature(text("tool_name"), shape.as_deref(), &mut out);
        }
        _ => out.push_str(STATE_SIGNATURE),
    }
    out
}

#[test]
fn measured_vectors_give_the_same_loop() {
    for vector in measured("detect_loop") {
        let (input, expected, name) = (&vector.input, &vector.expected, &vector.name);
        let number = |key: &str| usize::try_from(input[key].as_u64().unwrap()).unwrap();
        let mut detector = LoopDetector::new(number("window"), number("repetitions"));
        let events = input["events"].as_array().unwrap();
        let signatures: Vec<_> = events.iter().map(signature).collect();
        for (event, signature) in events.iter().zip(&signatures) {
            let id = event["event_id"].as_str().unwrap_or("__MISSING__").to_owned();
            let _ = detector.observe(signature, id);
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
    let mut detector = LoopDetector::new(12, 3);
    let mut counted = Vec::new();
    for round in 0..20 {
        for signature in ["a", "b", "c"] {
            let _ = detector.observe(signature, ());
        }
        counted.push(detector.repetitions());
        assert_eq!(detector.current().is_some(), round >= 2);
    }
    assert_eq!(counted[..4], [0, 0, 3, 4]);
    assert_eq!(counted[19], 20);
    let _ = detector.observe("other", ());
    assert_eq!(detector.repetitions(), 0);
}

#[test]
fn the_memory_of_records_that_left_the_window_is_used_again() {
    let mut detector = LoopDetector::new(4, 3);
    let buffers = |detector: &LoopDetector<u32>| {
        let mut buffers: Vec<_> = detector
            .records
            .iter()
            .map(|record| record.signature.as_ptr())
            .collect();
        buffers.sort();
        buffers
    };
    for number in 0..4u32 {
        let _ = detector.observe(&format!("TOOL_CALL:{number:04}"), number);
    }
    let before = buffers(&detector);
    for number in 4..1000u32 {
        let _ = detector.observe(&format!("TOOL_CALL:{number:04}"), number);
    }
    assert_eq!(buffers(&detector), before);
    assert_eq!(detector.records.len(), 4);
}

#[test]
fn ever_new_patterns_do_not_grow_memory_and_are_still_counted() {
    let mut detector = LoopDetector::new(12, 3);
    let mut told = 0;
    for number in 0..3 * MAX_PATTERNS {
        for _ in 0..3 {
            told += usize::from(detector.observe(&number.to_string(), ()).is_some());
        }
        assert_eq!(detector.repetitions(), 3);
    }
    assert_eq!(told, MAX_PATTERNS);
    assert_eq!(detector.warned.len(), MAX_PATTERNS);
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
        let mut detector = LoopDetector::new(window, repetitions);
        let mut told: Vec<Vec<char>> = Vec::new();
        for (position, record) in records.iter().enumerate() {
            let warning = detector.observe(&record.to_string(), position);
            let expected = block_by_the_letter(&records[..=position], window, repetitions);
            let found = detector.current();
            prop_assert_eq!(
                found.as_ref().map(|found| found.pattern.replace(" -> ", "")),
                expected.as_ref().map(|block| block.iter().collect::<String>())
            );
            let is_new = expected
                .as_ref()
                .is_some_and(|block| !told.iter().any(|other| is_rotation(other, block)));
            prop_assert_eq!(warning.is_some(), is_new);
            if let (Some(found), Some(block)) = (found, expected) {
                let length = block.len() * repetitions;
                prop_assert_eq!(found.evidence_event_ids, (position + 1 - length..=position).collect::<Vec<_>>());
                prop_assert!(detector.repetitions() >= repetitions);
                told.push(block);
            } else {
                prop_assert_eq!(detector.repetitions(), 0);
            }
        }
    }
}
