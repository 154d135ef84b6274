//! Threads that record into one run: nothing is lost, and everything stands under the right parent (issue: *Context*).

use std::collections::HashSet;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use serde_json::json;
use tracer_sdk::format::{EventType, SpanId};
use tracer_sdk::{Context, llm_call, span, state, tool_call};
use tracer_tests::finished::payload;
use tracer_tests::{DataDir, Finished};

/// The number in the arguments of each tool call.
fn numbers(finished: &Finished) -> Vec<u64> {
    let calls = finished.all(EventType::ToolCall);
    let mut numbers: Vec<u64> = calls
        .iter()
        .map(|call| payload(call)["args"]["n"].as_u64().unwrap())
        .collect();
    numbers.sort_unstable();
    numbers
}

fn assert_all_under(finished: &Finished, parent: SpanId) {
    for call in finished.all(EventType::ToolCall) {
        assert_eq!(call.parent_id, Some(parent.to_string()));
        assert!(
            !finished.span(call).attributes.contains_key("tracer.context"),
            "the context was given, not inferred"
        );
    }
}

fn record(number: u64) {
    tool_call("work").args(&json!({"n": number})).record().unwrap();
}

#[test]
fn sixty_four_threads_record_into_one_run_and_nothing_is_lost() {
    const THREADS: u64 = 64;
    const CALLS: u64 = 40;
    let data = DataDir::new();
    let run = data.run("crowd").start();
    let context = run.context().unwrap();
    let barrier = Barrier::new(64);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (context, barrier) = (&context, &barrier);
            scope.spawn(move || {
                let _guard = context.enter();
                barrier.wait();
                for call in 0..CALLS {
                    record(thread * CALLS + call);
                    match call % 4 {
                        0 => drop(llm_call("m").prompt("x".repeat(4_000).as_str()).start().unwrap()),
                        1 => state(&json!({"thread": thread})).record().unwrap(),
                        2 => span("phase").start().in_scope(|| llm_call("m").record()).unwrap(),
                        _ => {}
                    }
                }
            });
        }
    });
    let stats = run.stats();
    run.finish();
    let finished = data.finished();
    assert_eq!(numbers(&finished), (0..THREADS * CALLS).collect::<Vec<_>>());
    assert_eq!(finished.run.meta.counts.llm_calls, THREADS * CALLS / 2);
    assert_eq!(
        finished.all(EventType::StateUpdate).len() as u64,
        THREADS * CALLS / 4
    );
    assert_eq!(
        (stats.dropped, stats.written + 1),
        (0, finished.run.spans.len() as u64)
    );
    let ids: HashSet<SpanId> = finished.run.spans.iter().map(|span| span.span_id).collect();
    assert_eq!(ids.len(), finished.run.spans.len());
}

#[test]
fn a_wrapped_closure_keeps_its_span() {
    let data = DataDir::new();
    let run = data.run("wrap").start();
    let phase = span("phase").start();
    let threads: Vec<_> = phase.in_scope(|| {
        let wrap = |number| Context::current().unwrap().wrap(move || record(number));
        (0..8).map(|number| std::thread::spawn(wrap(number))).collect()
    });
    for thread in threads {
        thread.join().unwrap();
    }
    let id = phase.id().unwrap();
    phase.end();
    run.finish();
    let finished = data.finished();
    assert_eq!(numbers(&finished), (0..8).collect::<Vec<_>>());
    assert_all_under(&finished, id);
}

#[test]
fn a_spans_context_is_entered_on_scoped_threads() {
    let data = DataDir::new();
    let run = data.run("scoped").start();
    let phase = span("phase").start();
    let context = phase.context().unwrap();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let context = &context;
            scope.spawn(move || context.in_scope(|| record(number)));
        }
    });
    let id = phase.id().unwrap();
    phase.end();
    run.finish();
    assert_all_under(&data.finished(), id);
}

#[test]
fn rayon_workers_record_under_the_context_that_they_enter() {
    let data = DataDir::new();
    let run = data.run("rayon").start();
    let context = run.context().unwrap();
    (0..320_u64)
        .into_par_iter()
        .for_each(|number| context.in_scope(|| record(number)));
    let (doubled, ()) = rayon::join(
        context.clone().wrap(|| record(320)),
        context.clone().wrap(|| record(321)),
    );
    assert_eq!(doubled, ());
    run.finish();
    let finished = data.finished();
    assert_eq!(numbers(&finished), (0..322).collect::<Vec<_>>());
    assert_all_under(
        &finished,
        finished.span(finished.only(EventType::RunStart)).span_id,
    );
}

#[test]
fn a_timed_call_may_start_on_one_thread_and_end_on_another() {
    let data = DataDir::new();
    let run = data.run("moved").start();
    let mut call = llm_call("gpt-5").prompt("Hi").start().unwrap();
    std::thread::spawn(move || {
        call.in_scope(|| record(1));
        call.response("Hello");
        call.end().unwrap();
    })
    .join()
    .unwrap();
    run.finish();
    let finished = data.finished();
    assert_eq!(finished.payload(EventType::LlmCall)["response"], "Hello");
    assert_all_under(&finished, finished.span_named("gpt-5").span_id);
}

#[test]
fn guards_dropped_out_of_order_restore_what_is_left() {
    let data = DataDir::new();
    let run = data.run("guards").start();
    let mut spans: Vec<_> = ["a", "b", "c"].map(|name| span(name).start()).into();
    let mut guards: Vec<_> = spans.iter().map(tracer_sdk::Span::enter).collect();
    let current = || Context::current().map(|context| format!("{context:?}"));
    let of = |span: &mut tracer_sdk::Span| span.context().map(|context| format!("{context:?}"));

    drop(guards.remove(1));
    assert_eq!(
        current(),
        of(&mut spans[2]),
        "the last one that was entered is still current"
    );
    drop(guards.remove(1));
    assert_eq!(current(), of(&mut spans[0]), "the middle one is gone");
    drop(spans.remove(0));
    record(1);
    drop(guards);
    record(2);
    drop(spans);
    run.finish();
    let finished = data.finished();
    let (a, root) = (
        finished.span_named("a").span_id,
        finished.span_named("guards").span_id,
    );
    let parents: Vec<_> = finished
        .all(EventType::ToolCall)
        .iter()
        .map(|call| call.parent_id.clone().unwrap())
        .collect();
    assert_eq!(
        parents,
        [a.to_string(), root.to_string()],
        "a guard outlives its span without harm"
    );
}

#[test]
fn a_run_guard_dropped_before_the_guards_inside_it_harms_nothing() {
    let data = DataDir::new();
    let run = data.run("early").start();
    let phase = span("phase").start();
    let guard = phase.enter();
    drop(run);
    record(1);
    drop(guard);
    drop(phase);
    let next = data.run("next").start();
    record(2);
    drop(next);
    let mut runs = data.finished_runs();
    runs.sort_by_key(|run| run.run.meta.run_name.clone());
    assert_eq!((numbers(&runs[0]), numbers(&runs[1])), (vec![1], vec![2]));
}

#[test]
fn an_ended_context_adopts_no_run() {
    let data = DataDir::new();
    let run = data.run("ended").start();
    let stale = run.context().unwrap().enter();
    drop(run);
    data.run("next").in_scope(|| record(1));
    drop(stale);
    let next = data
        .finished_runs()
        .into_iter()
        .find(|run| run.run.meta.run_name.as_deref() == Some("next"));
    assert_eq!(numbers(&next.unwrap()), [1]);
}

#[test]
fn several_runs_at_once_keep_to_themselves() {
    let data = DataDir::new();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let data = &data;
            scope.spawn(move || {
                let run = data.run("one of many").start();
                (0..20).for_each(|_| record(number));
                run.finish();
            });
        }
    });
    let runs = data.finished_runs();
    assert_eq!(runs.len(), 16);
    let mut seen = HashSet::new();
    for run in &runs {
        let numbers = numbers(run);
        assert_eq!(numbers.len(), 20);
        assert!(numbers.iter().all(|number| *number == numbers[0]), "{numbers:?}");
        seen.insert(numbers[0]);
    }
    assert_eq!(seen.len(), 16);
}

#[test]
fn a_run_ends_last_under_busy_threads() {
    for _ in 0..15 {
        let data = DataDir::new();
        let run = data.run("busy").start();
        let context = run.context().unwrap();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let _guard = context.enter();
                    while !stop.load(Ordering::Relaxed) {
                        let outer = span("outer").start();
                        outer.in_scope(|| {
                            let inner = span("state").start();
                            inner.in_scope(|| tool_call("step").record()).unwrap();
                        });
                    }
                });
            }
            while run.stats().written < 20 {
                std::hint::spin_loop();
            }
            run.finish();
            stop.store(true, Ordering::Relaxed);
        });
        // `finished` asserts that the run is valid, that its counts are right and that its end is the last record.
        let finished = data.finished();
        assert!(
            finished.all(EventType::StateUpdate).is_empty(),
            "a span that was overtaken keeps its kind"
        );
    }
}
