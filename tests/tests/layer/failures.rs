//! Errors that libraries report, and those that follow from what they do not.

use std::time::Duration;

use tracer_sdk::format::{EventType, Outcome, RecordedStatus};
use tracing::field::Empty;
use tracing::{Instrument, error, info_span, warn};

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

#[test]
fn a_span_that_a_panic_leaves_has_failed() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        let tool = || {
            info_span!(
                "lookup",
                gen_ai.operation.name = "execute_tool",
                gen_ai.tool.name = "lookup"
            )
        };
        let caught = std::panic::catch_unwind(|| {
            // Whatever it says of itself.
            let said = info_span!(
                "search",
                gen_ai.operation.name = "execute_tool",
                gen_ai.tool.name = "search",
                gen_ai.tool.call.result = "7 C",
                otel.status_code = "OK"
            );
            said.in_scope(|| panic!("no index"));
        });
        assert!(caught.is_err());
        // What was caught before has nothing to do with it.
        tool().in_scope(|| ());
    });
    let call = |number: usize| json(&records(&run, EventType::ToolCall)[number].payload);
    assert_eq!(call(0)["status"], "error");
    assert_eq!(call(0)["error"]["error_type"], "panic");
    assert_eq!(call(0)["error"]["message"], "no index");
    assert_eq!(call(1)["status"], "ok");
    assert_eq!(run.meta.status, RecordedStatus::Ok, "it was caught");
}

#[test]
fn a_panic_through_the_agent_fails_the_run() {
    let run = run(|| {
        let caught = std::panic::catch_unwind(|| {
            let _agent = info_span!("agent", agent.name = "calc").entered();
            let _tool = info_span!(
                "search",
                gen_ai.operation.name = "execute_tool",
                gen_ai.tool.name = "search"
            )
            .entered();
            panic!("no index");
        });
        assert!(caught.is_err());
    });
    assert_eq!(run.meta.status, RecordedStatus::Error);
    let error = json(&records(&run, EventType::Error)[0].payload);
    assert_eq!(
        (&error["error_type"], &error["message"]),
        (&"panic".into(), &"no index".into())
    );
}

/// The outcomes of the tools that `agent` runs in spans of a library, by name.
fn outcomes<F: Future<Output = ()>>(agent: impl FnOnce() -> F) -> Vec<(String, Outcome)> {
    let run = run(|| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap();
        let around = info_span!("agent", agent.name = "calc");
        runtime.block_on(agent().instrument(around));
    });
    let calls = records(&run, EventType::ToolCall);
    let mut outcomes: Vec<_> = calls
        .iter()
        .map(|call| (call.name.clone(), call.outcome()))
        .collect();
    outcomes.sort_by(|one, other| one.0.cmp(&other.0));
    outcomes
}

async fn tool(milliseconds: u64) {
    tokio::time::sleep(Duration::from_millis(milliseconds)).await;
}

#[test]
fn a_task_that_is_aborted_is_cancelled() {
    let ended = outcomes(|| async {
        let span = |name| {
            info_span!(
                "tool",
                otel.name = name,
                gen_ai.operation.name = "execute_tool",
                gen_ai.tool.name = name
            )
        };
        let aborted = tokio::spawn(tool(60_000).instrument(span("aborted")));
        let panicked = tokio::spawn(async { panic!("no index") }.instrument(span("panicked")));
        let done = tokio::spawn(tool(20).instrument(span("done")));
        assert!(panicked.await.is_err());
        tool(20).await;
        aborted.abort();
        assert!(aborted.await.is_err());
        done.await.unwrap();
    });
    let expected = [
        ("aborted", Outcome::Cancelled),
        ("done", Outcome::Ok),
        ("panicked", Outcome::Failed),
    ];
    assert_eq!(ended, expected.map(|(name, outcome)| (name.to_owned(), outcome)));
}

#[test]
fn a_status_that_was_set_is_not_overruled() {
    let run = run(|| {
        let _agent = info_span!("agent", agent.name = "calc").entered();
        info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.request.model = "gpt-5",
            gen_ai.response.id = Empty,
            otel.status_code = "OK"
        );
    });
    assert_eq!(records(&run, EventType::LlmCall)[0].outcome(), Outcome::Ok);
}

/// A model call that fails, as rig reports it: it just closes.
fn failing_chat() {
    info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = "gpt-5",
        gen_ai.response.id = Empty
    );
}

fn answered_chat() {
    info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = "gpt-5",
        gen_ai.response.id = "r-2"
    );
}

fn lookup() {
    info_span!(
        "lookup",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = "lookup"
    );
}

/// A model call of rig's agent.
fn agent_chat() {
    info_span!(
        target: "rig::agent_chat",
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = "gpt-5",
        gen_ai.response.id = "r-1"
    );
}

fn incomplete(run: &tracer_tests::Finished) -> Vec<(String, String)> {
    let errors = records(run, EventType::Error);
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    errors
        .iter()
        .map(|error| json(&error.payload))
        .map(|error| (text(&error["error_type"]), text(&error["message"])))
        .collect()
}

#[test]
fn a_failed_last_call_fails_the_span_around_it() {
    for around in [
        || info_span!("handle_request"),
        || info_span!("agent", agent.name = "calc"),
        || info_span!("handle", gen_ai.operation.name = "invoke_agent"),
    ] {
        let failed = run(|| around().in_scope(failing_chat));
        assert_eq!(failed.meta.status, RecordedStatus::Error);
        let (error_type, message) = incomplete(&failed).remove(0);
        assert_eq!(error_type, "incomplete");
        assert_eq!(message, "no answer was reported: the call failed or was dropped");
        assert_eq!(
            failed.spans.last().unwrap().attributes["tracer.inferred"],
            "error"
        );
        let gone_on = run(|| {
            around().in_scope(|| {
                failing_chat();
                answered_chat();
            });
        });
        assert_eq!(gone_on.meta.status, RecordedStatus::Ok);
    }
}

#[test]
fn a_failed_agent_fails_the_request_around_it() {
    let agent = || info_span!("agent", agent.name = "calc");
    let failed = run(|| {
        let _request = info_span!("handle_request").entered();
        agent().in_scope(failing_chat);
    });
    assert_eq!(failed.meta.status, RecordedStatus::Error);
    let caught = run(|| {
        let _request = info_span!("handle_request").entered();
        agent().in_scope(failing_chat);
        agent().in_scope(answered_chat);
    });
    assert_eq!(caught.meta.status, RecordedStatus::Ok);
}

#[test]
fn a_call_on_its_own_that_failed_is_a_failed_run() {
    let failed = run(failing_chat);
    assert_eq!(failed.meta.status, RecordedStatus::Error);
}

#[test]
fn an_agent_that_ends_after_its_tools_has_no_answer() {
    let ended = |chat: fn(), around: fn() -> tracing::Span| {
        run(|| {
            around().in_scope(|| {
                chat();
                lookup();
            });
        })
    };
    // rig's agents ask until they have an answer, whatever span is around them.
    for around in [
        || info_span!("handle_request"),
        || {
            info_span!(
                "invoke_agent",
                gen_ai.operation.name = "invoke_agent",
                gen_ai.completion = Empty
            )
        },
    ] {
        let failed = ended(agent_chat, around);
        assert_eq!(failed.meta.status, RecordedStatus::Error);
        assert_eq!(
            incomplete(&failed)[0].1,
            "no answer: no model call followed the tools"
        );
        assert_eq!(
            ended(answered_chat, around).meta.status,
            RecordedStatus::Ok,
            "its program may be done"
        );
    }
}

#[test]
fn an_error_that_functions_pass_on_is_one() {
    #[tracing::instrument(err)]
    fn inner() -> Result<(), String> {
        answered_chat();
        Err("no index".to_owned())
    }
    #[tracing::instrument(err)]
    fn outer() -> Result<(), String> {
        inner()
    }
    #[tracing::instrument(err)]
    fn caught() -> Result<(), String> {
        let _ = inner();
        Ok(())
    }
    let failed = run(|| assert!(outer().is_err()));
    assert_eq!(failed.meta.status, RecordedStatus::Error);
    assert_eq!(incomplete(&failed), [("Error".to_owned(), "no index".to_owned())]);
    let fine = run(|| assert!(caught().is_ok()));
    assert_eq!(fine.meta.status, RecordedStatus::Ok);
    assert_eq!(incomplete(&fine), [("Error".to_owned(), "no index".to_owned())]);
}
