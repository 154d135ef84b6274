//! Limits count what libraries do. They cannot stop a library: the run is marked, and the agent's own loop can ask.

use tracer_sdk::format::{RecordedStatus, Usd};
use tracer_sdk::guardrails::Amount;
use tracer_sdk::{Guardrail, Guardrails, check, llm_call};
use tracing::info_span;

use crate::setup::{layer_for, only, runs_of, subscriber, turn};
use tracer_tests::DataDir;

fn search() {
    info_span!(
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = "search",
        gen_ai.tool.call.arguments = "{\"query\":\"refunds\"}",
    )
    .in_scope(|| ());
}

#[test]
fn a_limit_marks_the_run_and_stops_nobody() {
    let limits = Guardrails::new().max_tool_calls(2);
    let config = tracer_sdk::Config::new().guardrails(limits);
    let mut asked = None;
    let run = only(runs_of(
        |layer| layer.config(&config),
        || {
            let _agent = info_span!("agent", agent.name = "calc").entered();
            for _ in 0..4 {
                search();
            }
            asked = check().err();
        },
    ));
    assert_eq!(
        asked.map(|exceeded| exceeded.guardrail),
        Some(Guardrail::MaxToolCalls)
    );
    assert_eq!(run.meta.counts.tool_calls, 4);
    assert_eq!(run.meta.status, RecordedStatus::Error);
    assert!(run.records.iter().any(|record| record.name == "calc"));
}

/// A call of 20 cents.
fn chat() {
    info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = "openai",
        gen_ai.request.model = "gpt-4o",
        gen_ai.usage.input_tokens = 80_000,
        gen_ai.usage.output_tokens = 0,
        gen_ai.response.id = "a",
    )
    .in_scope(|| ());
}

#[test]
fn what_libraries_spend_counts() {
    let limits = Guardrails::new().max_cost_usd(Usd::from_cents(50));
    let config = tracer_sdk::Config::new().guardrails(limits);
    let mut asked = Vec::new();
    let run = only(runs_of(
        |layer| layer.config(&config),
        || {
            let _agent = info_span!("agent", agent.name = "calc").entered();
            for _ in 0..4 {
                chat();
                asked.push(check().is_ok());
            }
        },
    ));
    assert_eq!(asked, [true, true, false, false]);
    assert_eq!(run.meta.counts.llm_calls, 4);
    assert_eq!(run.meta.status, RecordedStatus::Error);
}

#[test]
fn a_call_that_recorder_and_library_report_costs_once() {
    let _turn = turn();
    let data = DataDir::new();
    let guardrails = Guardrails::new().max_cost_usd(Usd::from_cents(60));
    tracing::subscriber::with_default(subscriber(layer_for(&data)), || {
        let run = data.run("program").guardrails(guardrails).start();
        for _ in 0..3 {
            assert!(run.check().is_ok());
            let call = llm_call("gpt-4o").start().unwrap();
            // Only the library knows the provider and the tokens.
            call.in_scope(chat);
        }
        let exceeded = run.check().unwrap_err();
        assert_eq!(
            (exceeded.actual, exceeded.unpriced_calls),
            (Amount::Cost(Usd::from_cents(60)), 0)
        );
    });
}

#[test]
fn loops_of_a_library_are_found() {
    let run = only(runs_of(
        |layer| layer,
        || {
            let _agent = info_span!("agent", agent.name = "calc").entered();
            for _ in 0..3 {
                search();
            }
        },
    ));
    assert_eq!(run.meta.counts.loop_warnings, 1);
    let warning = run.spans.iter().find(|span| span.name == "loop_warning").unwrap();
    let pattern = warning.events[0].attributes["pattern"].as_str().unwrap();
    assert_eq!(pattern, "TOOL_CALL:search args:{query:str}");
}

#[test]
fn a_programs_own_limits_count_its_libraries() {
    let _turn = turn();
    let data = DataDir::new();
    let guardrails = Guardrails::new().max_tool_calls(1);
    tracing::subscriber::with_default(subscriber(layer_for(&data)), || {
        let run = data.run("program").guardrails(guardrails).start();
        search();
        assert!(run.check().is_ok());
        // Each counts when it starts, and the recorder is the second.
        assert!(tracer_sdk::tool_call("search").start().is_err());
        assert!(run.check().is_err());
    });
}

#[test]
fn logs_and_attributes_past_the_limits_are_counted() {
    let run = only(runs_of(
        |layer| layer,
        || {
            let _agent = info_span!("agent", agent.name = "calc").entered();
            for number in 0..66 {
                tracing::warn!("warning {number}");
            }
        },
    ));
    assert_eq!(run.spans[0].events.len(), 64);
    assert_eq!(run.meta.left_out(), 2);
}

#[test]
fn integers_of_128_bits_are_recorded_whole() {
    let run = only(runs_of(
        |layer| layer,
        || {
            let _agent = info_span!(
                "agent",
                agent.name = "calc",
                large = u128::MAX,
                negative = i128::MIN
            )
            .entered();
            info_span!(
                "chat",
                gen_ai.operation.name = "chat",
                gen_ai.request.model = "gpt-5",
                gen_ai.usage.input_tokens = 11_u128,
                gen_ai.usage.output_tokens = 7_i128,
            )
            .in_scope(|| ());
        },
    ));
    let (chat, agent) = (&run.spans[0].attributes, &run.spans[1].attributes);
    assert_eq!(chat["gen_ai.usage.input_tokens"], 11);
    assert_eq!(chat["gen_ai.usage.output_tokens"], 7);
    assert_eq!(agent["large"], u128::MAX.to_string());
    assert_eq!(agent["negative"], i128::MIN.to_string());
}

#[test]
fn ten_thousand_nested_spans_close() {
    let run = only(runs_of(
        |layer| layer,
        || {
            let mut open = vec![info_span!("agent", agent.name = "calc")];
            for _ in 0..10_000 {
                let within = open.last().and_then(tracing::Span::id);
                open.push(info_span!(
                    parent: within,
                    "execute_tool",
                    gen_ai.operation.name = "execute_tool",
                    gen_ai.tool.name = "search"
                ));
            }
            while open.pop().is_some() {}
        },
    ));
    assert_eq!(run.spans.len(), 10_001);
}
