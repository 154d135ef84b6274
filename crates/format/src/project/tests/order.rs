//! Which records a run gives, in which order, with which identifiers.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{count_records, spans_to_events};
use super::{ROOT, child, child_with, event, failed, record, root, time, types};
use crate::{Counts, EventType, Record, SpanEvent, SpanRecord, StatusCode, StoredTime, Timestamp};

#[test]
fn the_metadata_of_a_record_is_an_object_or_empty() {
    for (stored, expected) in [
        (json!({"tracer.meta": "{\"a\":1}"}), json!({"a": 1})),
        (json!({"maida.meta": {"a": 1}}), json!({"a": 1})),
        (json!({"agentdbg.meta": "[1]"}), json!({})),
        (json!({"tracer.meta": "{\"a\":"}), json!({})),
        (json!({}), json!({})),
    ] {
        assert_eq!(Value::Object(record(child("x", stored)).meta), expected);
    }
}

#[test]
fn what_happened_on_the_root_is_surfaced_and_numbered() {
    let mut span = root(json!({}));
    span.status_code = StatusCode::Error;
    span.events = vec![
        event("state", json!({"state": "{\"step\":1}"})),
        event("note", json!({"text": "not promoted"})),
        event(
            "tracer.loop.warning",
            json!({"pattern": "A", "repetitions": 3, "window_size": 3}),
        ),
        event(
            "exception",
            json!({"tracer.error_type": "LoopAbort", "tracer.error_message": "stopped"}),
        ),
    ];
    let seen: Vec<_> = spans_to_events(&[span])
        .into_iter()
        .map(|record| {
            (
                record.event_type().as_str(),
                record.event_id.clone(),
                record.parent_id.clone(),
                record.ts,
            )
        })
        .collect();
    let promoted = |kind, number: u32| {
        (
            kind,
            format!("{ROOT}.{number}"),
            Some(ROOT.to_owned()),
            "2026-01-01T00:00:00.5Z".to_owned(),
        )
    };
    assert_eq!(
        seen,
        [
            (
                "RUN_START",
                ROOT.to_owned(),
                None,
                "2026-01-01T00:00:00Z".to_owned()
            ),
            promoted("STATE_UPDATE", 0),
            promoted("LOOP_WARNING", 1),
            promoted("ERROR", 2),
            (
                "RUN_END",
                format!("{ROOT}.end"),
                None,
                "2026-01-01T00:00:01Z".to_owned()
            ),
        ]
    );
}

#[test]
fn span_events_of_a_child_are_not_surfaced() {
    let span = child_with(
        "plan",
        json!({}),
        vec![event("exception", json!({"exception.type": "E"}))],
    );
    assert_eq!(record(span).event_type(), EventType::Unknown);
}

#[test]
fn the_run_ended_as_its_root_says_and_only_when_the_root_has_ended() {
    for (code, expected) in [
        (StatusCode::Ok, "ok"),
        (StatusCode::Unset, "ok"),
        (StatusCode::Error, "error"),
    ] {
        let records = spans_to_events(&[SpanRecord {
            status_code: code,
            ..root(json!({}))
        }]);
        assert_eq!(
            serde_json::to_value(&records[1].payload).unwrap(),
            json!({"status": expected})
        );
        assert_eq!(records[1].duration_ms, Some(1000));
    }
    assert_eq!(
        types(&[SpanRecord {
            end_time: None,
            ..root(json!({}))
        }]),
        [EventType::RunStart]
    );
    assert_eq!(types(&[child("plan", json!({}))]), [EventType::Unknown]);
}

#[test]
fn records_are_ordered_by_instant_and_not_by_text() {
    let at = |text: &str, name: &str| SpanRecord {
        start_time: time(text),
        ..child(name, json!({}))
    };
    let spans = [
        at("00.300000Z", "third"),
        at("00.100000Z", "first in the file"),
        at("00.1Z", "second in the file"),
        at("00.2Z", "second"),
        SpanRecord {
            start_time: "2026-01-01T01:00:00.05+01:00".parse().unwrap(),
            ..child("another zone", json!({}))
        },
    ];
    let names: Vec<_> = spans_to_events(&spans)
        .into_iter()
        .map(|record| record.name)
        .collect();
    assert_eq!(
        names,
        [
            "another zone",
            "first in the file",
            "second in the file",
            "second",
            "third"
        ]
    );
}

#[test]
fn at_one_instant_the_start_comes_first_and_the_end_last() {
    let instant = SpanRecord {
        end_time: Some(time("00Z")),
        duration_ms: Some(0),
        ..root(json!({}))
    };
    let spans = [child("plan", json!({})), instant];
    assert_eq!(
        types(&spans),
        [EventType::RunStart, EventType::Unknown, EventType::RunEnd]
    );
}

#[test]
fn counts_are_the_records_of_each_type_and_a_failed_call_is_no_error() {
    let mut run = root(json!({}));
    run.events = vec![event("exception", json!({"tracer.error_type": "E"}))];
    let spans = [
        failed(
            child("t", json!({"tracer.tool_name": "t", "tracer.error_type": "E"})),
            "no",
        ),
        child("m", json!({"gen_ai.system": "openai"})),
        child("m", json!({"gen_ai.system": "openai"})),
        child("loop_warning", json!({})),
        run,
    ];
    let counts = count_records(&spans_to_events(&spans));
    assert_eq!(
        counts,
        Counts {
            llm_calls: 2,
            tool_calls: 1,
            errors: 1,
            loop_warnings: 1
        }
    );
}

fn any_span() -> impl Strategy<Value = SpanRecord> {
    let key = prop::sample::select(vec![
        "tracer.tool_name",
        "maida.error_type",
        "gen_ai.system",
        "gen_ai.operation.name",
        "tracer.meta",
        "gen_ai.usage.input_tokens",
        "tracer.argv",
        "own",
    ]);
    let value = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        Just(json!("{\"a\":[1]}")),
        Just(json!("execute_tool")),
    ];
    let name = prop::sample::select(vec!["state", "loop_warning", "", "gpt"]);
    let event_name = prop::sample::select(vec!["state", "exception", "tracer.loop.warning", "x"]);
    (
        any::<bool>(),
        name,
        prop::collection::btree_map(key, value, 0..4),
        0i64..5,
        prop::option::of(0i64..5),
        prop::collection::vec((event_name, 0i64..5), 0..3),
    )
        .prop_map(|(is_root, name, values, start, end, events)| {
            let at = |second: i64| StoredTime::from(Timestamp::from_unix_microseconds(second));
            SpanRecord {
                parent_span_id: (!is_root).then(|| ROOT.parse().unwrap()),
                name: name.to_owned(),
                start_time: at(start),
                end_time: end.map(at),
                attributes: values
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect(),
                events: events
                    .into_iter()
                    .map(|(name, second)| SpanEvent {
                        timestamp: at(second),
                        ..event(name, json!({}))
                    })
                    .collect(),
                ..root(json!({}))
            }
        })
}

proptest! {
    #[test]
    fn every_span_has_one_primary_record_and_the_order_is_total(mut spans in prop::collection::vec(any_span(), 0..12)) {
        let mut roots = 0;
        for (number, span) in (1u64..).zip(&mut spans) {
            span.span_id = crate::SpanId::from_u64(number).unwrap();
            // A run has one root at most.
            roots += u32::from(span.is_root());
            if roots > 1 {
                span.parent_span_id = Some(ROOT.parse().unwrap());
            }
        }
        let records = spans_to_events(&spans);
        prop_assert_eq!(&records, &spans_to_events(&spans), "the projection is deterministic");

        let mut ids: Vec<&str> = records.iter().map(|record| record.event_id.as_str()).collect();
        for span in &spans {
            let id = span.span_id.to_string();
            prop_assert_eq!(ids.iter().filter(|other| **other == id).count(), 1);
        }
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len(), records.len(), "event IDs are unique");

        let place = |record: &Record| {
            let rank = match record.event_type() {
                EventType::RunStart => 0,
                EventType::RunEnd => 2,
                _ => 1,
            };
            (record.ts.parse::<Timestamp>().unwrap(), rank)
        };
        prop_assert!(records.is_sorted_by_key(place));
    }
}
