//! Order, nesting and time of the steps, of whole runs and of damaged ones.

use serde_json::json;
use tracer_sdk::format::{EventType, Payload, TraceId, Usage};

use super::*;
use crate::in_flight;
use crate::sample_run::{Sample, error, failed_tool, llm, span_id, structural, tool};
use tracer_runs::StartedSpan;

fn call(name: &str) -> Payload {
    tool(name, &json!({}), &json!({}))
}

/// `number:depth:name` of each step.
fn rows(sources: &[StepSource]) -> Vec<String> {
    steps(sources, None)
        .iter()
        .map(|step| format!("{}:{}:{}", step.number, step.depth, step.name()))
        .collect()
}

#[test]
fn nested_steps_follow_their_parent_and_keep_their_number() {
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
    assert_eq!(rows(&sample.sources()), expected);
}

#[test]
fn no_step_of_a_damaged_run_is_lost() {
    // The first two are each other's parents, and the parent of the third is missing.
    let sources = Sample::new()
        .within(2, call("a"))
        .within(1, call("b"))
        .within(99, call("c"))
        .sources();
    let mut steps = rows(&sources);
    steps.sort();
    assert_eq!(steps, ["1:0:a", "2:1:b", "3:0:c"]);
}

#[test]
fn times_are_from_the_start_of_the_run_and_as_fine_as_the_spans() {
    let sample = Sample::new().step(call("a")).step(call("b"));
    let sources = sample.sources();
    let first = &steps(&sources, Some(Sample::started()))[0];
    assert_eq!((first.offset, first.duration), (Some(8_100), Some(315)));
    assert_eq!(steps(&sources, None)[0].offset, Some(0));
}

#[test]
fn what_is_in_flight_is_a_step_of_which_only_the_name_is_known() {
    let mut sources = Sample::new()
        .step(call("before"))
        .within(9, call("inner"))
        .sources();
    let plan = StartedSpan {
        span_id: span_id(9).parse().unwrap(),
        parent_span_id: None,
        name: "research".to_owned(),
        event_type: EventType::Unknown,
        start_time: sources[0].record.ts.parse().unwrap(),
        arguments: None,
    };
    let record = in_flight::record(TraceId::from_u128(1).unwrap(), &plan);
    sources.insert(1, StepSource::in_flight(2, record));
    sources[2].number = 3;
    assert_eq!(rows(&sources), ["1:0:before", "2:0:research", "3:1:inner"]);
    let open: Vec<bool> = steps(&sources, None).iter().map(|step| step.in_flight).collect();
    assert_eq!(open, [false, true, false]);
}

#[test]
fn an_error_stands_where_it_arose_and_what_it_passed_through_names_that() {
    let failed = |mut payload: Payload, message: &str| {
        if let Payload::Unknown {
            status,
            error: stored,
            ..
        } = &mut payload
        {
            *status = tracer_sdk::format::RecordedStatus::Error;
            *stored = Some(error("Outer", message));
        }
        payload
    };
    let sources = Sample::new()
        .step(failed(structural(), "cannot plan: no index"))
        .within(1, failed_tool("search", &json!({}), error("Missing", "no index")))
        .step(failed_tool("read", &json!({}), error("Missing", "no file")))
        .on_root(Payload::Error(error("Outer", "cannot plan: no index")))
        .sources();
    let steps = steps(&sources, None);
    let origins: Vec<_> = steps.iter().map(|step| (step.number, step.failed_by)).collect();
    assert_eq!(origins, [(1, Some(2)), (2, None), (3, None), (4, Some(2))]);
    assert_eq!(steps[0].summary().output.as_deref(), Some("✗ failed by #2"));
    assert!(steps[3].own_failure().is_none());
}

#[test]
fn an_error_that_its_run_has_twice_is_one() {
    let lost = || Payload::Error(error("NotFound", "no such model"));
    let sources = Sample::new().on_root(lost()).on_root(lost()).sources();
    let steps = steps(&sources, None);
    let origins: Vec<_> = steps.iter().map(|step| step.failed_by).collect();
    assert_eq!(origins, [None, Some(1)]);
}

#[test]
fn an_error_that_the_program_went_on_after_is_not_the_cause_of_a_later_one_with_its_message() {
    let lost = || error("Http", "503 Service Unavailable");
    let fetch = || failed_tool("fetch", &json!({}), lost());
    let asked = || llm("And now?", "Again.", Usage::default());
    let of_run = |sample: Sample| {
        let sources = sample.on_root(Payload::Error(lost())).sources();
        let steps = steps(&sources, None);
        steps.last().and_then(|last| last.failed_by)
    };
    // The model was given it as text, and the program failed at something that is no call.
    assert_eq!(of_run(Sample::new().step(fetch()).step(asked())), None);
    // The same with a further call: that one is it, wherever the first is.
    let again = Sample::new()
        .step(tool("research", &json!({}), &json!("nothing found")))
        .within(1, fetch())
        .step(asked())
        .step(fetch());
    assert_eq!(of_run(again), Some(4));
    // A call that ended well passed nothing on.
    let swallowed = Sample::new()
        .step(tool("research", &json!({}), &json!("nothing found")))
        .within(1, fetch());
    assert_eq!(of_run(swallowed), None);
    // The work at the end of a failed agent asks no model.
    let closed = Sample::new()
        .step(fetch())
        .step(tool("close", &json!({}), &json!({})));
    assert_eq!(of_run(closed), Some(1));
}
