//! Errors that libraries report, and those that follow from what they do not.

use tracer_sdk::format::{EventType, RecordedStatus};
use tracing::field::Empty;
use tracing::{error, info_span, warn};

use crate::setup::{json, only, records, run, runs_of, span};

#[test]
fn a_status_of_opentelemetry_is_honoured() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!(
            "request",
            otel.name = "chat gpt-5",
            otel.kind = "client",
            otel.status_code = "ERROR",
            otel.status_description = "rate limited",
            gen_ai.operation.name = "chat",
        );
    });
    let call = span(&run, "chat gpt-5");
    assert_eq!(call.status_description, "rate limited");
    assert_eq!(call.kind.as_str(), "CLIENT");
    assert!(call.attributes.keys().all(|key| !key.starts_with("otel.status")));
}

#[test]
fn an_error_that_is_logged_is_a_record() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        let _chat = info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.request.model = "gpt-5",
            gen_ai.response.id = Empty
        )
        .entered();
        error!(error = "connection reset", "cannot ask the model");
    });
    let error = json(&records(&run, EventType::Error)[0].payload);
    assert_eq!(error["message"], "connection reset");
    // The call has no answer, and what was logged within it says why.
    let call = json(&records(&run, EventType::LlmCall)[0].payload);
    assert_eq!(call["error"]["error_type"], "incomplete");
    assert_eq!(call["error"]["message"], "connection reset");
    assert_eq!(run.meta.status, RecordedStatus::Error);
}

#[test]
fn a_warning_is_an_event_of_its_span() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        let _tool = info_span!("tool", gen_ai.operation.name = "execute_tool").entered();
        warn!(target: "async_openai::client", retries = 2, "Server error: overloaded");
        warn!(target: "hyper::client", "noise");
    });
    let events = &span(&run, "tool").events;
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].name, "log");
    assert_eq!(events[0].attributes["message"], "Server error: overloaded");
    assert_eq!(events[0].attributes["retries"], 2);
    assert_eq!(events[0].attributes["level"], "WARN");
}

#[test]
fn an_error_is_recorded_in_a_run_of_the_program() {
    let _turn = crate::setup::turn();
    let data = tracer_tests::DataDir::new();
    tracing::subscriber::with_default(crate::setup::subscriber(crate::setup::layer_for(&data)), || {
        data.run("program").in_scope(|| {
            error!(exception.type = "Timeout", exception.message = "no answer in 30 s");
            warn!("retrying");
        });
        error!(error = "outside of every run", "lost");
    });
    let run = data.finished();
    let errors = records(&run, EventType::Error);
    assert_eq!(errors.len(), 1);
    assert_eq!(json(&errors[0].payload)["error_type"], "Timeout");
}

#[test]
fn a_library_that_reports_no_answers_is_not_suspected() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!("chat", gen_ai.operation.name = "chat");
    });
    let call = json(&records(&run, EventType::LlmCall)[0].payload);
    assert_eq!(call["status"], "ok");
}

#[test]
fn an_agent_that_goes_on_after_a_failed_call_is_fine() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.request.model = "gpt-5",
            gen_ai.response.id = Empty
        );
        info_span!("chat", gen_ai.operation.name = "chat", gen_ai.response.id = "r-2");
    });
    assert_eq!(run.meta.status, RecordedStatus::Ok);
    let failed = records(&run, EventType::LlmCall)
        .into_iter()
        .filter(|record| json(&record.payload)["status"] == "error")
        .count();
    assert_eq!(failed, 1);
}

#[test]
fn many_warnings_are_bounded() {
    let run = only(runs_of(
        |layer| layer,
        || {
            let _agent = info_span!("agent", agent.name = "calc").entered();
            for number in 0..1_000 {
                warn!(number, "again");
            }
        },
    ));
    assert_eq!(run.spans[0].events.len(), 64);
}
