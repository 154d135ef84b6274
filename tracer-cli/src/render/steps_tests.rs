//! Order, nesting and time of the steps, of whole runs and of damaged ones.

use serde_json::json;
use tracer_sdk::format::{EventType, Payload, TraceId};

use super::super::in_flight::with_in_flight;
use super::super::samples::{Sample, span_id, structural, tool};
use super::*;

fn call(name: &str) -> Payload {
    tool(name, &json!({}), &json!({}))
}

/// `number:depth:name` of each step.
fn told(records: &[Record], in_flight: &[StartedSpan]) -> Vec<String> {
    steps(records, &[], in_flight, None)
        .iter()
        .map(|step| format!("{}:{}:{}", step.number, step.depth, step.name()))
        .collect()
}

#[test]
fn a_step_stands_below_the_one_that_it_is_nested_in_and_keeps_its_number() {
    // Two branches that run at the same time.
    let sample = Sample::new()
        .step(structural())
        .step(structural())
        .within(1, call("first"))
        .within(2, call("second"))
        .within(1, call("third"))
        .step(call("last"));
    let expected = [
        "1:0:plan",
        "3:1:first",
        "5:1:third",
        "2:0:plan",
        "4:1:second",
        "6:0:last",
    ];
    assert_eq!(told(&sample.records(), &[]), expected);
}

#[test]
fn no_step_of_a_damaged_run_is_lost() {
    let mut records = Sample::new()
        .within(2, call("a"))
        .within(1, call("b"))
        .within(99, call("c"))
        .records();
    // The first two are each other's parents, the parent of the third is missing, and there is a second root.
    let mut second_root = records[0].clone();
    second_root.event_id = span_id(50);
    records.push(second_root);
    let mut steps = told(&records, &[]);
    steps.sort();
    assert_eq!(steps, ["1:0:a", "2:1:b", "3:0:c", "4:0:support-agent"]);
}

#[test]
fn times_are_from_the_start_of_the_run_and_as_fine_as_the_spans() {
    let sample = Sample::new().step(call("a")).step(call("b"));
    let records = sample.records();
    let first = &steps(&records, &sample.spans(), &[], None)[0];
    assert_eq!((first.offset, first.duration), (Some(8_100), Some(315)));
    let without_root = &records[1..];
    let started = records[0].ts.parse().ok();
    assert_eq!(steps(without_root, &[], &[], started)[0].offset, Some(8_100));
    assert_eq!(steps(without_root, &[], &[], None)[0].offset, Some(0));
}

#[test]
fn what_is_in_flight_stands_where_it_began_with_what_has_ended_in_it() {
    let sample = Sample::new()
        .step(call("before"))
        .within(9, call("inner"))
        .step(call("after"));
    let plan = StartedSpan {
        span_id: span_id(9).parse().unwrap(),
        parent_span_id: None,
        name: "research".to_owned(),
        event_type: EventType::Unknown,
        start_time: sample.records()[1].ts.parse().unwrap(),
    };
    let in_flight = [plan];
    let records = with_in_flight(sample.records(), TraceId::from_u128(1), &in_flight);
    assert_eq!(
        told(&records, &in_flight),
        ["1:0:before", "2:0:research", "3:1:inner", "4:0:after"]
    );
    let open: Vec<bool> = steps(&records, &[], &in_flight, None)
        .iter()
        .map(|step| step.in_flight)
        .collect();
    assert_eq!(open, [false, true, false, false]);
}
