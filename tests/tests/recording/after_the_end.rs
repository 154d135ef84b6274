//! What is recorded after its run has ended, by tasks and threads that outlive it: it is appended, marked and counted, and
//! what the run said of its end stays (decisions, section 5).

use std::collections::HashSet;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Waker};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tracer_insight::run_steps::RunSteps;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::prices::Prices;
use tracer_sdk::settings::Flush;
use tracer_sdk::testing::file_systems::{Disk, Faulty, Memory, Operation};
use tracer_sdk::{
    Guardrails, TraceFutureExt, llm_call, record_error, span, state, tool_call, unattached_records,
};
use tracer_tests::DataDir;

fn meta(directory: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(directory.join("meta.json")).unwrap()).unwrap()
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut TaskContext::from_waker(Waker::noop()))
}

fn parts_of_the_end(directory: &Path) -> [Value; 3] {
    let mut meta = meta(directory);
    ["status", "ended_at", "duration_ms"].map(|key| meta[key].take())
}

#[tokio::test]
async fn a_task_that_outlives_its_run_adds_its_steps_to_it() {
    let data = DataDir::new();
    let (go, wait) = tokio::sync::oneshot::channel::<()>();
    let run = data.run("agent").start();
    let directory = run.dir().unwrap();
    let task = tokio::spawn(
        async {
            wait.await.unwrap();
            tool_call("search").args(&json!({"q": 1})).record().unwrap();
            let mut call = llm_call("gpt-5").prompt("Why?").start().unwrap();
            tokio::task::yield_now().await;
            call.response("Because.");
            call.end().unwrap();
        }
        .in_current_run(),
    );
    run.finish();
    let end = parts_of_the_end(&directory);
    go.send(()).unwrap();
    task.await.unwrap();

    let finished = data.finished();
    assert_eq!(parts_of_the_end(&directory), end);
    assert_eq!(finished.status(), RecordedStatus::Ok);
    let counts = finished.run.meta.counts;
    assert_eq!((counts.tool_calls, counts.llm_calls), (1, 1));
    assert_eq!(finished.run.meta.additional["late_spans"], 2);
    for name in ["search", "gpt-5"] {
        assert_eq!(finished.span_named(name).attributes["tracer.after_end"], true);
    }
    let call = finished.payload(EventType::LlmCall);
    assert_eq!(
        (&call["prompt"], &call["response"]),
        (&json!("Why?"), &json!("Because."))
    );
    let root = &finished.run.spans[0];
    assert!(!root.attributes.contains_key("tracer.after_end"));
    assert!(!root.attributes.contains_key("tracer.unfinished_spans"));
}

#[test]
fn every_recorder_records_after_the_end_with_every_way_to_write() {
    for flush in [Flush::Each, Flush::Batched] {
        let data = DataDir::new();
        let run = data.run("agent").config(&data.config().flush(flush)).start();
        let (context, directory) = (run.context().unwrap(), run.dir().unwrap());
        tool_call("in time").record().unwrap();
        let stats = run.finish();
        let end = parts_of_the_end(&directory);
        context.in_scope(|| {
            tool_call("t").record().unwrap();
            llm_call("m").start().unwrap().end().unwrap();
            state(&1).record().unwrap();
            record_error(&std::fmt::Error).unwrap();
            let phase = span("phase").start();
            phase.in_scope(|| tool_call("within").record().unwrap());
            phase.end();
        });
        let finished = data.finished();
        assert_eq!(parts_of_the_end(&directory), end);
        assert_eq!(finished.run.meta.additional["late_spans"], 6);
        assert_eq!(
            finished.run.spans.len() as u64,
            // `phase` was open when what is within it was written.
            stats.written + 6 + 1,
            "{flush:?}"
        );
        let (stand_in, phase) = (
            finished
                .run
                .spans
                .iter()
                .find(|span| span.attributes.contains_key("tracer.unfinished")),
            finished
                .run
                .spans
                .iter()
                .find(|span| span.name == "phase" && span.attributes.contains_key("tracer.after_end")),
        );
        let stand_in = stand_in.unwrap().span_id;
        assert_eq!(phase.unwrap().parent_span_id, Some(stand_in));
        assert_eq!(finished.span_named("within").parent_span_id, Some(stand_in));
    }
}

#[test]
fn an_open_call_is_written_once() {
    let data = DataDir::new();
    let run = data.run("agent").start();
    let mut call = llm_call("gpt-5").provider("openai").prompt("Hi").start().unwrap();
    let dropped = tool_call("search").args(&json!({"q": 1})).start().unwrap();
    let id = call.id().unwrap();
    run.finish();

    // The root says what is known, should they never end.
    let finished = data.finished();
    let root = finished.span(finished.only(EventType::RunStart));
    assert_eq!(root.attributes["tracer.unfinished_spans"], 2);
    let list: Value =
        serde_json::from_str(root.attributes["tracer.unfinished_list"].as_str().unwrap()).unwrap();
    assert_eq!(
        (
            &list[0]["name"],
            &list[0]["type"],
            &list[1]["name"],
            &list[1]["type"]
        ),
        (
            &json!("gpt-5"),
            &json!("LLM_CALL"),
            &json!("search"),
            &json!("TOOL_CALL")
        )
    );
    assert_eq!(list[0]["span_id"], id.to_string());
    assert_eq!(finished.run.spans.len(), 1);

    call.response("Hello.");
    call.end().unwrap();
    drop(dropped);
    let finished = data.finished();
    assert_eq!(finished.run.spans.len(), 3);
    assert_eq!(finished.span_named("gpt-5").span_id, id);
    let call = finished.payload(EventType::LlmCall);
    assert_eq!(
        (&call["provider"], &call["prompt"]),
        (&json!("openai"), &json!("Hi"))
    );
    let tool = finished.payload(EventType::ToolCall);
    assert_eq!(tool["args"], json!({"q": 1}));
    assert_eq!(tool["error"]["error_type"], "Cancelled");
    assert_eq!(finished.status(), RecordedStatus::Ok);
}

#[test]
fn a_run_is_valid_at_every_moment_though_parents_end_after_it() {
    let data = DataDir::new();
    let run = data.run("agent").start();
    let outer = span("state").start();
    let outer_guard = outer.enter();
    let tool = tool_call("loop_warning").start().unwrap();
    let tool_guard = tool.enter();
    llm_call("in time").record().unwrap();
    let idle = llm_call("idle").start().unwrap();
    let look = |late: u64| {
        let finished = data.finished();
        let ids: HashSet<_> = finished.run.spans.iter().map(|span| span.span_id).collect();
        assert_eq!(ids.len(), finished.run.spans.len(), "no ID comes twice");
        let said = finished.run.meta.additional.get("late_spans");
        assert_eq!(said.and_then(Value::as_u64).unwrap_or(0), late);
        assert_eq!(finished.run.meta.counts.loop_warnings, 0);
    };
    run.finish();
    look(0);
    drop(idle);
    look(1);
    drop(tool_guard);
    tool.end().unwrap();
    look(2);
    drop((outer_guard, outer));
    look(3);
    let finished = data.finished();
    assert_eq!(finished.run.meta.counts.tool_calls, 1);
    assert_eq!(finished.run.meta.counts.llm_calls, 2);
}

#[test]
fn late_records_do_not_change_how_the_run_ended_whatever_they_are() {
    let data = DataDir::new();
    let limits = Guardrails::new().max_tool_calls(4);
    let run = data.run("agent").guardrails(limits).start();
    let (context, directory) = (run.context().unwrap(), run.dir().unwrap());
    run.finish();
    let end = parts_of_the_end(&directory);
    context.in_scope(|| {
        for _ in 0..4 {
            tool_call("again").args(&1).record().unwrap();
        }
        assert!(tool_call("again").args(&1).record().is_err(), "the limits go on");
        record_error(&std::fmt::Error).ok();
    });
    assert_eq!(parts_of_the_end(&directory), end);
    let finished = data.finished();
    assert_eq!(finished.run.meta.counts.loop_warnings, 0);
    assert_eq!(finished.run.meta.counts.tool_calls, 5);
    assert_eq!(finished.run.meta.counts.errors, 1);
}

#[test]
fn a_run_that_was_removed_is_not_made_again() {
    for what in ["all", "log", "meta"] {
        let data = DataDir::new();
        let run = data.run("agent").start();
        let (context, directory) = (run.context().unwrap(), run.dir().unwrap());
        let call = tool_call("open").start().unwrap();
        run.finish();
        match what {
            "all" => std::fs::remove_dir_all(&directory).unwrap(),
            "log" => std::fs::remove_file(directory.join("spans.jsonl")).unwrap(),
            _ => std::fs::remove_file(directory.join("meta.json")).unwrap(),
        }
        let files = data.files().len();
        let before = unattached_records();
        context.in_scope(|| tool_call("late").record().unwrap());
        call.end().unwrap();
        drop(context);
        assert_eq!(data.files().len(), files, "{what}");
        assert!(what == "meta" || unattached_records() >= before + 2, "{what}");
    }
}

#[test]
fn a_name_that_the_run_was_given_meanwhile_stays() {
    let data = DataDir::new();
    let run = data.run("agent").start();
    let (context, directory) = (run.context().unwrap(), run.dir().unwrap());
    run.finish();
    let mut renamed = meta(&directory);
    renamed["run_name"] = json!("another");
    renamed["mine"] = json!([1.5]);
    std::fs::write(directory.join("meta.json"), renamed.to_string()).unwrap();
    context.in_scope(|| tool_call("late").record().unwrap());
    let meta = meta(&directory);
    assert_eq!(
        (&meta["run_name"], &meta["mine"]),
        (&json!("another"), &json!([1.5]))
    );
    assert_eq!(
        (&meta["late_spans"], &meta["counts"]["tool_calls"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn late_spans_rewrite_metadata_seldom() {
    const SPANS: usize = 5_000;
    let data = DataDir::new();
    let disk = Faulty::new(Arc::new(Disk));
    let run = data.run("agent").file_system(Arc::new(disk.clone())).start();
    let (context, directory) = (run.context().unwrap(), run.dir().unwrap());
    run.finish();
    let renames = || {
        let operations = disk.operations();
        operations
            .iter()
            .filter(|done| **done == Operation::Rename)
            .count()
    };
    let before = renames();
    context.in_scope(|| (0..SPANS).for_each(|_| tool_call("late").record().unwrap()));
    assert!(renames() - before < SPANS / 10, "{}", renames() - before);
    assert_eq!(meta(&directory)["late_spans"], SPANS);

    // Without a context that is left, the last one who holds the run says it.
    let calls: Vec<_> = context.in_scope(|| (0..9).map(|_| tool_call("late").start().unwrap()).collect());
    drop(context);
    drop(calls);
    assert_eq!(data.finished().run.meta.additional["late_spans"], SPANS + 9);
}

#[test]
fn a_fault_after_the_end_is_survived_whatever_operation_it_hits() {
    use tracer_sdk::testing::file_systems::Fault;
    let work = |disk: &Faulty, start: &mut u64| {
        let run = tracer_sdk::Run::new("agent")
            .file_system(Arc::new(disk.clone()))
            .start();
        let (context, directory) = (run.context().unwrap(), run.dir().unwrap());
        let phase = span("phase").start();
        run.finish();
        *start = disk.operations().len() as u64;
        phase.in_scope(|| tool_call("one").record().unwrap());
        phase.end();
        context.in_scope(|| tool_call("two").record().unwrap());
        drop(context);
        directory
    };
    let mut start = 0;
    let clean = Faulty::new(Arc::new(Memory::new()));
    work(&clean, &mut start);
    let all = clean.operations().len() as u64;
    assert!(all > start);
    for position in start..all {
        for fault in [Fault::Error(28), Fault::ShortWrite] {
            let memory = Memory::new();
            let disk = Faulty::new(Arc::new(memory.clone())).failing_once(position, fault);
            let directory = work(&disk, &mut 0);
            // Read through the real readers.
            let copy = tempfile::tempdir().unwrap();
            let copied = copy.path().join(directory.file_name().unwrap());
            std::fs::create_dir(&copied).unwrap();
            for name in ["meta.json", "spans.jsonl"] {
                std::fs::write(copied.join(name), memory.read(&directory.join(name)).unwrap()).unwrap();
            }
            let run = tracer_runs::LoadedRun::read(&copied).unwrap_or_else(|invalid| {
                panic!(
                    "{fault:?} at {position} ({:?}): {invalid:#?}",
                    clean.operations()[usize::try_from(position).unwrap()]
                )
            });
            assert_eq!(run.meta.status, RecordedStatus::Ok);
            let late = |run: &tracer_runs::LoadedRun| {
                run.spans
                    .iter()
                    .filter(|span| span.attributes.contains_key("tracer.after_end"))
                    .count() as u64
            };
            let of = |key: &str| run.meta.additional.get(key).cloned().unwrap_or_default();
            assert_eq!(
                of("late_spans").as_u64().unwrap_or(0),
                late(&run),
                "{fault:?} at {position}"
            );
            let lost = of("dropped")["spans"].as_u64().unwrap_or(0);
            assert!(lost + late(&run) <= 3, "{fault:?} at {position}");
            assert_eq!(run.meta.counts, run.counts());
        }
    }
}

#[test]
fn concurrent_ends_write_each_span_once() {
    for _ in 0..20 {
        let data = DataDir::new();
        let run = data.run("agent").start();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let context = run.context().unwrap();
                std::thread::spawn(context.wrap(|| {
                    for _ in 0..50 {
                        let phase = span("phase").start();
                        phase.in_scope(|| tool_call("t").record().unwrap());
                    }
                }))
            })
            .collect();
        run.finish();
        for thread in threads {
            thread.join().unwrap();
        }
        let finished = data.finished();
        assert_eq!(finished.run.meta.counts.tool_calls, 200);
        let stand_ins = |key: &str| {
            finished
                .run
                .spans
                .iter()
                .filter(|span| span.attributes.contains_key(key))
                .count()
        };
        assert_eq!(
            finished.run.spans.len(),
            401 + stand_ins("tracer.unfinished") + stand_ins("tracer.event_type"),
            "each once"
        );
    }
}

#[tokio::test]
async fn a_ready_future_ends_its_calls_first() {
    let data = DataDir::new();
    let request = async {
        let _call = llm_call("gpt-5").provider("openai").prompt("Hi").start().unwrap();
        let _tool = tool_call("search").args(&json!({"q": 1})).start().unwrap();
        std::future::pending::<()>().await;
    };
    // A timeout that is ready holds what it timed until it is dropped.
    let timed = tokio::time::timeout(std::time::Duration::from_millis(1), request);
    let hung_up = data.run("agent").instrument(timed).await;
    assert!(hung_up.is_err());
    let finished = data.finished();
    let call = finished.payload(EventType::LlmCall);
    assert_eq!(
        (&call["provider"], &call["prompt"]),
        (&json!("openai"), &json!("Hi"))
    );
    assert_eq!(call["error"]["error_type"], "Cancelled");
    assert_eq!(finished.payload(EventType::ToolCall)["args"], json!({"q": 1}));
    assert_eq!(finished.run.meta.additional.get("late_spans"), None);
}

#[tokio::test]
async fn a_dropped_run_keeps_calls_in_flight() {
    let data = DataDir::new();
    let work = async {
        let plan = async {
            let _call = llm_call("gpt-5").provider("openai").prompt("Hi").start().unwrap();
            std::future::pending::<()>().await;
        };
        let fetch = async {
            let _tool = tool_call("search").args(&json!({"q": 1})).start().unwrap();
            std::future::pending::<()>().await;
        };
        tokio::join!(plan, fetch);
    };
    let mut run = Box::pin(data.run("agent").instrument(work));
    assert!(poll_once(run.as_mut()).is_pending());
    drop(run);
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Error);
    let call = finished.payload(EventType::LlmCall);
    assert_eq!(
        (&call["provider"], &call["prompt"]),
        (&json!("openai"), &json!("Hi"))
    );
    assert_eq!(finished.payload(EventType::ToolCall)["args"], json!({"q": 1}));
}

#[tokio::test]
async fn a_finished_future_stays_pending() {
    let data = DataDir::new();
    let mut run = Box::pin(data.run("agent").instrument(async { 1 }));
    assert_eq!(poll_once(run.as_mut()), Poll::Ready(1));
    assert!(poll_once(run.as_mut()).is_pending());
}

/// The steps of a run as its readers have them, each with what it is below, and what they count.
fn read(data: &DataDir) -> (Vec<(String, EventType, String)>, [u64; 2]) {
    let runs = tracer_runs::RunStore::new(data.path());
    let steps = RunSteps::open(runs.newest().unwrap(), Prices::default());
    let totals = [steps.totals().llm_calls, steps.totals().tool_calls];
    let finished = data.finished();
    let records: Vec<_> = finished
        .records
        .iter()
        .filter(|record| !record.is_leftover())
        .collect();
    let named = |id: &str| records.iter().find(|record| record.event_id == id);
    let shown: Vec<_> = records
        .iter()
        .filter(|record| !matches!(record.event_type(), EventType::RunStart | EventType::RunEnd))
        .map(|record| {
            let parent = record.parent_id.as_deref().and_then(named);
            let parent = parent.map_or("?".to_owned(), |parent| parent.name.clone());
            (record.name.clone(), record.event_type(), parent)
        })
        .collect();
    assert_eq!(steps.len(), shown.len(), "{shown:?}");
    let numbers = steps.numbers(|_, _| true);
    let indexed: Vec<_> = steps
        .read_steps(numbers)
        .unwrap()
        .iter()
        .map(|step| step.record.event_type())
        .collect();
    assert_eq!(
        indexed,
        shown
            .iter()
            .map(|(_, event_type, _)| *event_type)
            .collect::<Vec<_>>()
    );
    assert_eq!(finished.run.meta.counts, finished.run.counts());
    assert_eq!(finished.run.meta.counts.tool_calls, totals[1]);
    (shown, totals)
}

#[test]
fn a_span_that_others_are_in_keeps_its_kind_and_its_place_when_it_outlives_its_run() {
    for is_call in [true, false] {
        let data = DataDir::new();
        let run = data.run("agent").start();
        let agent = span("coder").start();
        let agent_guard = agent.enter();
        let research = is_call.then(|| tool_call("research").args(&json!({"q": 1})).start().unwrap());
        let phase = (!is_call).then(|| span("research").start());
        {
            let _within = (
                research.as_ref().map(tracer_sdk::ToolSpan::enter),
                phase.as_ref().map(tracer_sdk::Span::enter),
            );
            llm_call("gpt-5").record().unwrap();
            tool_call("read_file").record().unwrap();
        }
        run.finish();

        let kind = if is_call {
            EventType::ToolCall
        } else {
            EventType::Unknown
        };
        let step = |name: &str, kind, parent: &str| (name.to_owned(), kind, parent.to_owned());
        let expected = (
            vec![
                step("coder", EventType::Unknown, "agent"),
                step("research", kind, "coder"),
                step("gpt-5", EventType::LlmCall, "research"),
                step("read_file", EventType::ToolCall, "research"),
            ],
            [1, 1 + u64::from(is_call)],
        );
        assert_eq!(read(&data), expected, "the run has ended");
        if is_call {
            let finished = data.finished();
            let record = finished
                .records
                .iter()
                .find(|record| record.name == "research")
                .unwrap();
            assert_eq!(record.outcome(), tracer_sdk::format::Outcome::Unknown);
            let payload = serde_json::to_value(&record.payload).unwrap();
            assert_eq!(payload["args"], json!({"q": 1}));
        }
        if let Some(mut research) = research {
            research.result(&"found");
            research.end().unwrap();
        }
        drop(phase);
        assert_eq!(read(&data), expected, "the step has ended, too");
        if is_call {
            let finished = data.finished();
            let records = finished.records.iter().filter(|record| !record.is_leftover());
            let record = records
                .into_iter()
                .find(|record| record.name == "research")
                .unwrap();
            assert_eq!(record.outcome(), tracer_sdk::format::Outcome::Ok);
            let payload = serde_json::to_value(&record.payload).unwrap();
            assert_eq!(
                (&payload["args"], &payload["result"]),
                (&json!({"q": 1}), &json!("found"))
            );
        }
        drop((agent_guard, agent));
        assert_eq!(read(&data), expected, "all have ended");
    }
}

#[test]
fn what_a_run_left_open_is_a_step_of_it() {
    let data = DataDir::new();
    let run = data.run("agent").start();
    let directory = run.dir().unwrap();
    tool_call("read_file").record().unwrap();
    let mut open = llm_call("gpt-5").start().unwrap();
    run.finish();
    let counted = || {
        let runs = tracer_runs::RunStore::new(data.path());
        let steps = RunSteps::open(runs.newest().unwrap(), Prices::default());
        (steps.len(), steps.totals().in_flight, steps.totals().llm_calls)
    };
    assert_eq!(counted(), (2, 1, 1));
    open.response("late");
    open.end().unwrap();
    assert_eq!(counted(), (2, 0, 1));
    assert_eq!(meta(&directory)["unfinished_spans"], Value::Null);
}

#[test]
fn the_arguments_of_an_open_call_are_known_and_long_ones_are_cut() {
    let data = DataDir::new();
    let run = data.run("agent").start();
    let written = RawValue::from_string("{\n  \"path\": \"b\"\n}".to_owned()).unwrap();
    let _write = tool_call("write")
        .args(&json!({"path": "a", "text": "Lorem ipsum ".repeat(10_000)}))
        .start()
        .unwrap();
    let _read = tool_call("read").args(&written).start().unwrap();
    let arguments = || {
        let runs = tracer_runs::RunStore::new(data.path());
        let steps = RunSteps::open(runs.newest().unwrap(), Prices::default());
        let open = steps.in_flight.iter().map(|open| open.arguments.clone().unwrap());
        let open: Vec<Value> = open.collect();
        let text = open[0]["text"].as_str().unwrap();
        assert!(text.starts_with("Lorem ipsum ") && text.len() < 17_000);
        (open[0]["path"].clone(), open[1].clone())
    };
    let expected = (json!("a"), json!({"path": "b"}));
    assert_eq!(arguments(), expected, "while the run is recorded");
    run.finish();
    assert_eq!(arguments(), expected, "after its end");
}
