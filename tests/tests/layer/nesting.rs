//! Libraries and recorders within each other: one tree, and each call once.

use tracer_sdk::format::{EventType, Payload};
use tracer_sdk::{TraceFutureExt, Usage, llm_call, state, tool_call, traced_run};
use tracer_tests::DataDir;
use tracer_tests::recording::block_on;
use tracing::{Instrument, Span, info_span};

use crate::setup::{json, layer_for, names, records, run, span, subscriber, turn};

fn chat(model: &str) -> Span {
    info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = model,
        gen_ai.usage.input_tokens = 11_u64,
        gen_ai.usage.output_tokens = 7_u64,
    )
}

fn tool(name: &str) -> Span {
    info_span!(
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = name
    )
}

fn agent() -> Span {
    info_span!(
        "invoke_agent",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = "calc"
    )
}

/// What is recorded within a run of the program's own.
fn within_a_run(work: impl FnOnce()) -> tracer_tests::Finished {
    let _turn = turn();
    let data = DataDir::new();
    tracing::subscriber::with_default(subscriber(layer_for(&data)), || {
        data.run("program").in_scope(work);
    });
    data.finished()
}

/// The call that the span with a name repeats.
#[track_caller]
fn same_call(run: &tracer_tests::Finished, name: &str) -> String {
    let record = run.records.iter().find(|record| record.name == name).unwrap();
    assert_eq!(record.event_type(), EventType::Unknown);
    record.meta["same_call"].as_str().unwrap().to_owned()
}

#[test]
fn a_library_belongs_to_the_programs_run() {
    let run = within_a_run(|| agent().in_scope(|| chat("gpt-5").in_scope(|| ())));
    assert_eq!(names(&run), ["chat", "invoke_agent", "program"]);
    assert_eq!(
        span(&run, "chat").parent_span_id,
        Some(span(&run, "invoke_agent").span_id)
    );
}

#[test]
fn a_recorder_within_a_librarys_span_is_below_it() {
    let run = run(|| {
        let _agent = agent().entered();
        tool("add").in_scope(|| {
            state("adding").record().unwrap();
            tool_call("read_file").record().unwrap();
        });
    });
    let tool = span(&run, "execute_tool").span_id;
    assert_eq!(span(&run, "state").parent_span_id, Some(tool));
    assert_eq!(span(&run, "read_file").parent_span_id, Some(tool));
    assert_eq!(run.meta.counts.tool_calls, 2);
}

#[test]
fn a_library_within_a_recorders_span_is_below_it() {
    let run = within_a_run(|| {
        let plan = tracer_sdk::span("plan").start();
        let _entered = plan.enter();
        chat("gpt-5").in_scope(|| ());
    });
    assert_eq!(
        span(&run, "chat").parent_span_id,
        Some(span(&run, "plan").span_id)
    );
}

#[test]
fn a_librarys_call_within_a_recorders_counts_once() {
    let run = within_a_run(|| {
        let mut call = llm_call("gpt-5").start().unwrap();
        call.in_scope(|| chat("gpt-5").in_scope(|| ()));
        call.response("5").usage(Usage::new(11, 7));
        call.end().unwrap();
    });
    assert_eq!(run.meta.counts.llm_calls, 1);
    let call = records(&run, EventType::LlmCall)[0];
    assert_eq!(call.name, "gpt-5");
    assert_eq!(same_call(&run, "chat"), call.event_id);
}

#[test]
fn a_recorders_call_within_a_librarys_counts_once() {
    let run = run(|| {
        let _agent = agent().entered();
        chat("gpt-5").in_scope(|| llm_call("gpt-5").response("5").record().unwrap());
        tool("add").in_scope(|| {
            let mut call = tool_call("add").start().unwrap();
            call.result(&5);
            call.end().unwrap();
        });
    });
    assert_eq!((run.meta.counts.llm_calls, run.meta.counts.tool_calls), (1, 1));
    let tool = json(&records(&run, EventType::ToolCall)[0].payload);
    assert_eq!(tool["result"], serde_json::json!({"value": 5}));
}

#[test]
fn another_model_within_a_call_is_another_call() {
    let run = within_a_run(|| {
        let call = llm_call("router").start().unwrap();
        call.in_scope(|| chat("gpt-5").in_scope(|| ()));
        call.end().unwrap();
    });
    assert_eq!(run.meta.counts.llm_calls, 2);
}

#[test]
fn another_tool_within_a_tool_is_another_call() {
    let run = run(|| {
        let _agent = agent().entered();
        tool("research").in_scope(|| tool("search").in_scope(|| tool_call("read").record().unwrap()));
    });
    assert_eq!(run.meta.counts.tool_calls, 3);
}

#[test]
fn two_spans_of_a_library_for_one_call_count_once() {
    let run = run(|| {
        let _agent = agent().entered();
        info_span!("chat gpt-5", gen_ai.operation.name = "chat").in_scope(|| chat("gpt-5").in_scope(|| ()));
    });
    assert_eq!(run.meta.counts.llm_calls, 1);
}

#[test]
fn a_future_carries_its_span_through_every_poll() {
    let run = run(|| {
        block_on(async {
            let work = |name: &'static str| {
                async move {
                    for _ in 0..3 {
                        tokio::task::yield_now().await;
                        tool_call(name).record().unwrap();
                    }
                }
                .instrument(info_span!("step", tracer.step = name))
            };
            async {
                futures_util::future::join(work("first"), work("second")).await;
            }
            .instrument(agent())
            .await;
        });
    });
    let steps: Vec<_> = run.spans.iter().filter(|span| span.name == "step").collect();
    assert_eq!(steps.len(), 2);
    for step in steps {
        let name = step.attributes["tracer.step"].as_str().unwrap();
        let calls = run
            .spans
            .iter()
            .filter(|span| span.parent_span_id == Some(step.span_id));
        assert_eq!(
            calls.map(|call| call.name.as_str()).collect::<Vec<_>>(),
            [name; 3]
        );
    }
}

#[test]
fn a_run_within_a_librarys_span_is_structure() {
    let run = run(|| {
        let _agent = agent().entered();
        let _run = traced_run("inner");
        chat("gpt-5").in_scope(|| ());
    });
    assert_eq!(
        span(&run, "chat").parent_span_id,
        Some(span(&run, "inner").span_id)
    );
}

#[test]
fn leaving_a_span_restores_what_was_before() {
    let run = run(|| {
        let _agent = agent().entered();
        let (first, second) = (tool("first"), tool("second"));
        let (first, second) = (first.entered(), second.entered());
        // Out of order, as guards of futures may be.
        drop(first);
        tool_call("within second").record().unwrap();
        drop(second);
        tool_call("within the agent").record().unwrap();
    });
    let root = run.spans.last().unwrap().span_id;
    assert_eq!(span(&run, "within the agent").parent_span_id, Some(root));
    assert_ne!(span(&run, "within second").parent_span_id, Some(root));
}

#[test]
fn a_task_that_was_given_a_run_keeps_it() {
    let run = within_a_run(|| {
        block_on(
            async {
                chat("gpt-5").in_scope(|| ());
            }
            .in_current_run(),
        );
    });
    let calls = records(&run, EventType::LlmCall);
    assert!(matches!(&calls[0].payload, Payload::LlmCall { model, .. } if model == "gpt-5"));
}
