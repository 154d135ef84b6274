//! States, captured errors, structural spans, attributes and metadata of the user's own, and the root: what they come
//! back as (specification, *Payloads*; decisions, section 1).

use std::error::Error;
use std::fmt;

use serde_json::{Value, json};
use tracer_sdk::format::{EventType, SpanKind, StatusCode};
use tracer_sdk::{llm_call, record_error, span, state, tool_call};
use tracer_tests::finished::payload;
use tracer_tests::recorded;

#[derive(Debug)]
struct PortError(std::num::ParseIntError);

impl fmt::Display for PortError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("cannot read the port")
    }
}

impl Error for PortError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn a_state_keeps_its_diff() {
    let finished = recorded(|| {
        state(&json!({"phase": "triage", "open": [1, 2]}))
            .diff(&json!({"phase": ["new", "triage"]}))
            .record()
            .unwrap();
        state("a state that is a text").record().unwrap();
        state(&json!(["a", "list"])).record().unwrap();
        state(&Value::Null).record().unwrap();
    });
    let payloads: Vec<Value> = finished
        .all(EventType::StateUpdate)
        .into_iter()
        .map(payload)
        .collect();
    assert_eq!(
        payloads,
        [
            json!({"state": {"phase": "triage", "open": [1, 2]}, "diff": {"phase": ["new", "triage"]}}),
            json!({"state": "a state that is a text"}),
            json!({"state": {"value": ["a", "list"]}}),
            json!({"state": null}),
        ]
    );
    assert!(
        finished
            .all(EventType::StateUpdate)
            .iter()
            .all(|record| record.name == "state")
    );
}

#[test]
fn a_captured_error_keeps_its_causes() {
    let finished = recorded(|| {
        record_error(&PortError("x".parse::<u8>().unwrap_err())).unwrap();
        tool_call("after").record().unwrap();
    });
    assert_eq!(
        finished.payload(EventType::Error),
        json!({
            "error_type": "PortError",
            "message": "cannot read the port",
            "stack": "caused by: invalid digit found in string",
        })
    );
    assert_eq!(
        finished.span(finished.only(EventType::Error)).status_code,
        StatusCode::Error
    );
    assert_eq!(finished.run.meta.counts.errors, 1);
    assert_eq!(finished.payload(EventType::RunEnd), json!({"status": "ok"}));
}

#[test]
fn a_structural_span_has_the_users_attributes_and_holds_what_happens_inside() {
    let finished = recorded(|| {
        let plan = span("plan")
            .attribute("depth", &3)
            .attribute("ratio", &0.5)
            .attribute("careful", &true)
            .attribute("label", "first")
            .attribute("goals", &["a", "b"])
            .attribute("nothing", &None::<u8>)
            .attribute("unreal", &f64::NAN)
            .meta(&json!({"owner": "ada"}))
            .start();
        let plan = plan;
        plan.in_scope(|| {
            let mut step = span("step").start();
            step.in_scope(|| llm_call("m").record()).unwrap();
            step.fail("no idea");
        });
        plan.end();
    });
    let plan = finished.span_named("plan");
    assert_eq!(
        Value::Object(plan.attributes.clone()),
        json!({
            "depth": 3, "ratio": 0.5, "careful": true, "label": "first", "goals": "[\"a\",\"b\"]", "unreal": "NaN",
            "tracer.meta": "{\"owner\":\"ada\"}",
        })
    );
    assert_eq!(
        (plan.kind, plan.status_code),
        (SpanKind::Internal, StatusCode::Ok)
    );
    let record = finished
        .records
        .iter()
        .find(|record| record.name == "plan")
        .unwrap();
    assert_eq!(
        (record.event_type(), Value::Object(record.meta.clone())),
        (EventType::Unknown, json!({"owner": "ada"}))
    );
    let step = finished.span_named("step");
    assert_eq!(
        (step.parent_span_id, step.status_code),
        (Some(plan.span_id), StatusCode::Error)
    );
    assert_eq!(
        finished.only(EventType::LlmCall).parent_id,
        Some(step.span_id.to_string())
    );
    let step = finished
        .records
        .iter()
        .find(|record| record.name == "step")
        .unwrap();
    assert_eq!(
        payload(step)["error"],
        json!({"error_type": "Error", "message": "no idea", "stack": null})
    );
    assert_eq!(
        finished.run.meta.counts.errors, 0,
        "a span that failed is not an ERROR record"
    );
}

#[test]
fn a_structural_span_is_never_taken_for_something_else() {
    let names = ["state", "loop_warning", "error", "", "RUN_START", "exception"];
    let finished = recorded(|| {
        for name in names {
            let mut span = span(name).start();
            span.fail("it failed");
        }
    });
    assert_eq!(finished.all(EventType::Unknown).len(), names.len());
    for name in ["state()", "loop_warning()", "error", "", "RUN_START", "exception"] {
        assert_eq!(finished.span_named(name).name, name);
    }
}

#[test]
fn names_of_the_format_itself_are_kept_apart_from_the_users_attributes() {
    let reserved = [
        "tracer.status",
        "tracer.tool_name",
        "tracer.event_type",
        "tracer.error_type",
        "maida.tool_name",
        "agentdbg.error_type",
        "exception.type",
        "gen_ai.system",
        "gen_ai.provider.name",
        "gen_ai.operation.name",
        "gen_ai.tool.name",
    ];
    let finished = recorded(|| {
        let mut builder = span("plain");
        for name in reserved {
            builder = builder.attribute(name, "LOOP_WARNING");
        }
        builder.start().end();
        tool_call("search")
            .attribute("tracer.status", "error")
            .attribute("gen_ai.system", "me")
            .record()
            .unwrap();
    });
    let plain = finished.span_named("plain");
    for name in reserved {
        assert_eq!(plain.attributes[&format!("user.{name}")], "LOOP_WARNING");
        assert_eq!(plain.attributes.get(name), None);
    }
    assert_eq!(finished.only(EventType::Unknown).name, "plain");
    assert_eq!(finished.payload(EventType::ToolCall)["status"], "ok");
}

#[test]
fn metadata_of_every_recorder_comes_back() {
    let meta = json!({"ticket": 7, "tags": ["a"]});
    let finished = recorded(|| {
        llm_call("m").meta(&meta).record().unwrap();
        tool_call("t").meta(&meta).record().unwrap();
        state(&1).meta(&meta).record().unwrap();
        span("s").meta(&meta).start().end();
        tool_call("no object").meta(&[1, 2]).record().unwrap();
    });
    for record in &finished.records[1..5] {
        assert_eq!(Value::Object(record.meta.clone()), meta, "{}", record.name);
    }
    assert!(
        finished.records[5].meta.is_empty(),
        "what is no object is no metadata"
    );
}

#[test]
fn the_root_describes_the_program() {
    let finished = recorded(|| {});
    let payload = finished.payload(EventType::RunStart);
    assert_eq!(payload["run_name"], "recorders");
    assert!(
        payload["python_version"]
            .as_str()
            .unwrap()
            .starts_with("rustc 1.")
    );
    assert!(["linux", "darwin", "win32"].contains(&payload["platform"].as_str().unwrap()));
    assert_eq!(payload["cwd"], std::env::current_dir().unwrap().to_str().unwrap());
    assert_eq!(payload["argv"][0], std::env::args().next().unwrap());
    let root = finished.span(finished.only(EventType::RunStart));
    assert_eq!((root.name.as_str(), root.kind), ("recorders", SpanKind::Internal));
    for count in ["llm_calls", "tool_calls", "errors", "loop_warnings"] {
        assert_eq!(root.attributes[&format!("tracer.{count}")], 0);
    }
    assert_eq!(finished.run.meta.duration_ms, root.duration_ms);
    assert_eq!(finished.run.meta.ended_at.as_ref(), root.end_time.as_ref());
}
