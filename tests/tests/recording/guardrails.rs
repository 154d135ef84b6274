//! Limits stop a run: which record trips them, what the program is answered, and what the trace holds (decisions,
//! sections 7 and 8; specification, *Payloads*, rule 3).

use std::sync::Barrier;
use std::time::Duration;

use serde_json::{Value, json};
use tracer_sdk::format::{EventType, RecordedStatus, Usd};
use tracer_sdk::guardrails::{Amount, StopOnLoop};
use tracer_sdk::{
    Context, Guardrail, GuardrailExceeded, Guardrails, LlmSpan, TraceFutureExt, Usage, llm_call,
    record_error, span, state, tool_call,
};
use tracer_tests::finished::payload;
use tracer_tests::{DataDir, Finished};

/// Limits, the one that trips, a call, and what its record is.
type Case = (Guardrails, Guardrail, fn() -> Outcome, EventType);
type Outcome = Result<(), GuardrailExceeded>;

/// Runs `work` under limits and ignores the answer, as a careless program would.
fn careless(limits: Guardrails, work: impl FnOnce()) -> Finished {
    let data = DataDir::new();
    data.run("guarded").guardrails(limits).in_scope(work);
    let finished = data.finished();
    assert_eq!(
        finished.status(),
        RecordedStatus::Error,
        "a program that ignores the error still ends in one"
    );
    assert_eq!(finished.payload(EventType::RunEnd), json!({"status": "error"}));
    finished
}

fn record_tool() -> Outcome {
    tool_call("search").record()
}

fn record_llm() -> Outcome {
    llm_call("gpt-5").record()
}

fn start_tool() -> Outcome {
    tool_call("search").start()?.end()
}

fn start_llm() -> Outcome {
    llm_call("gpt-5").start()?.end()
}

#[test]
fn a_count_trips_at_one_past_its_limit_whether_recorded_or_started() {
    use Guardrail::{MaxEvents, MaxLlmCalls, MaxToolCalls};
    let cases: [Case; 6] = [
        (
            Guardrails::new().max_llm_calls(1),
            MaxLlmCalls,
            record_llm,
            EventType::LlmCall,
        ),
        (
            Guardrails::new().max_llm_calls(1),
            MaxLlmCalls,
            start_llm,
            EventType::Unknown,
        ),
        (
            Guardrails::new().max_tool_calls(1),
            MaxToolCalls,
            record_tool,
            EventType::ToolCall,
        ),
        (
            Guardrails::new().max_tool_calls(1),
            MaxToolCalls,
            start_tool,
            EventType::Unknown,
        ),
        (
            Guardrails::new().max_events(1),
            MaxEvents,
            record_tool,
            EventType::ToolCall,
        ),
        (
            Guardrails::new().max_events(1),
            MaxEvents,
            start_llm,
            EventType::Unknown,
        ),
    ];
    for (limits, guardrail, call, crossing) in cases {
        let mut reported = None;
        let finished = careless(limits, || {
            assert_eq!(call(), Ok(()), "{guardrail}");
            reported = call().err();
        });
        let reported = reported.unwrap();
        assert_eq!(
            (reported.guardrail, reported.threshold, reported.actual),
            (guardrail, Amount::Count(1), Amount::Count(2))
        );
        let types = finished.types();
        assert!(matches!(types[1], EventType::LlmCall | EventType::ToolCall));
        assert_eq!(
            (types[0], &types[2..]),
            (
                EventType::RunStart,
                &[crossing, EventType::Error, EventType::RunEnd][..]
            ),
            "what crossed the limit, a call where it was made, then the error, then the end"
        );
        let error = finished.payload(EventType::Error);
        assert_eq!(
            (&error["error_type"], &error["message"]),
            (&json!("GuardrailExceeded"), &json!(reported.to_string()))
        );
    }
}

#[test]
fn every_kind_of_record_is_an_event_and_structure_is_none() {
    let kinds: [fn() -> Outcome; 4] = [
        record_llm,
        record_tool,
        || state(&1).record(),
        || record_error(&std::io::Error::other("lost")),
    ];
    for kind in kinds {
        careless(Guardrails::new().max_events(1), || {
            for _ in 0..10 {
                span("structure").start().end();
            }
            assert_eq!((kind().is_ok(), kind().is_ok()), (true, false));
        });
    }
}

#[test]
fn a_duration_trips_when_it_is_reached_at_whatever_is_asked_next() {
    let asks: [fn() -> Outcome; 3] = [record_tool, start_llm, || state(&1).record()];
    for ask in asks {
        let finished = careless(Guardrails::new().max_duration(Duration::ZERO), || {
            assert_eq!(ask().unwrap_err().guardrail, Guardrail::MaxDuration);
        });
        assert_eq!(
            finished.payload(EventType::Error)["error_type"],
            "GuardrailExceeded"
        );
    }
    let data = DataDir::new();
    let run = data
        .run("checked")
        .guardrails(Guardrails::new().max_duration(Duration::ZERO))
        .start();
    assert_eq!(run.check().unwrap_err().guardrail, Guardrail::MaxDuration);
    run.finish();
    assert_eq!(data.finished().status(), RecordedStatus::Error);
}

#[test]
fn a_loop_stops_the_run_after_its_warning() {
    // States alone are never a loop: only their shapes repeat.
    let calls: [(fn() -> Outcome, StopOnLoop); 3] = [
        (record_tool, StopOnLoop::Calls),
        (start_tool, StopOnLoop::Calls),
        (|| state(&1).record(), StopOnLoop::Shape),
    ];
    for (call, stop) in calls {
        // Often enough that two times which fall into one microsecond hide nothing.
        for _ in 0..20 {
            let finished = careless(Guardrails::new().stop_on_loop(stop), || {
                assert_eq!((call(), call()), (Ok(()), Ok(())));
                assert_eq!(call().unwrap_err().guardrail, Guardrail::StopOnLoop);
            });
            let types = finished.types();
            assert_eq!(
                types[4..],
                [EventType::LoopWarning, EventType::Error, EventType::RunEnd]
            );
            assert_eq!(finished.payload(EventType::Error)["error_type"], "LoopAbort");
        }
    }
}

#[test]
fn a_closing_loop_is_recorded_before_the_error() {
    for _ in 0..20 {
        let finished = careless(Guardrails::new().max_tool_calls(2), || {
            (0..3).for_each(|_| _ = record_tool());
        });
        assert_eq!(
            finished.types()[4..],
            [EventType::LoopWarning, EventType::Error, EventType::RunEnd]
        );
    }
}

#[test]
fn loops_stop_only_with_the_guardrail() {
    let data = DataDir::new();
    data.run("warned")
        .in_scope(|| (0..9).for_each(|_| record_tool().unwrap()));
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Ok);
    let warning = finished.payload(EventType::LoopWarning);
    assert_eq!(
        (&warning["pattern"], &warning["repetitions"]),
        (&json!("TOOL_CALL:search"), &json!(3))
    );
    assert_eq!(
        warning["evidence_event_ids"],
        json!(
            finished.all(EventType::ToolCall)[..3]
                .iter()
                .map(|record| &record.event_id)
                .collect::<Vec<_>>()
        )
    );

    let finished = careless(
        Guardrails::new()
            .stop_on_loop(true)
            .stop_on_loop_min_repetitions(5),
        || {
            assert_eq!(
                (0..6).map(|_| record_tool().is_ok()).collect::<Vec<_>>(),
                [true, true, true, true, false, false]
            );
        },
    );
    assert_eq!(finished.run.meta.counts.loop_warnings, 1, "once for each pattern");
}

#[test]
fn a_tripped_run_stays_tripped_for_every_recorder() {
    let finished = careless(Guardrails::new().max_llm_calls(0), || {
        let first = record_llm().unwrap_err();
        for again in [
            record_llm(),
            record_tool(),
            start_llm(),
            start_tool(),
            state(&1).record(),
            record_error(&std::io::Error::other("late")),
        ] {
            assert_eq!(again, Err(first.clone()));
        }
    });
    let guardrail_errors = finished
        .all(EventType::Error)
        .iter()
        .filter(|record| payload(record)["error_type"] == "GuardrailExceeded")
        .count();
    assert_eq!(guardrail_errors, 1, "reported once");
}

#[test]
fn only_the_first_refused_call_is_recorded() {
    let finished = careless(Guardrails::new().max_tool_calls(0), || {
        for _ in 0..100 {
            assert!(tool_call("delete").args(&json!({"path": "a"})).start().is_err());
        }
    });
    let refused = finished.only(EventType::Unknown);
    assert_eq!(
        (refused.name.as_str(), refused.outcome()),
        ("delete", tracer_sdk::format::Outcome::Failed)
    );
    let span = finished.span(refused);
    assert_eq!(span.events[0].attributes["args"], r#"{"path":"a"}"#);
    assert_eq!(span.attributes["tracer.error_type"], "GuardrailExceeded");
    assert_eq!(finished.run.meta.counts.tool_calls, 0, "it was never made");
}

#[test]
fn the_root_names_the_crossed_limit() {
    let finished = careless(Guardrails::new().max_tool_calls(1), || {
        let _ = (record_tool(), record_tool());
    });
    let root = finished.span(finished.only(EventType::RunStart));
    let reported = &root.events[0].attributes;
    assert_eq!(reported["tracer.guardrail"], "max_tool_calls");
    assert_eq!(
        (&reported["tracer.threshold"], &reported["tracer.actual"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(
        root.status_description,
        payload(finished.only(EventType::Error))["message"]
            .as_str()
            .unwrap()
    );
}

#[test]
fn a_returned_guardrail_error_is_recorded_once() {
    let data = DataDir::new();
    let outcome = data
        .run("question mark")
        .guardrails(Guardrails::new().max_tool_calls(0))
        .try_in_scope(|| -> Outcome {
            record_tool()?;
            unreachable!("the question mark stops the agent")
        });
    assert_eq!(outcome.unwrap_err().guardrail, Guardrail::MaxToolCalls);
    assert_eq!(data.finished().run.meta.counts.errors, 1);
}

#[test]
fn threads_that_start_at_once_cannot_overshoot() {
    let data = DataDir::new();
    let run = data
        .run("threads")
        .guardrails(Guardrails::new().max_llm_calls(10))
        .start();
    let context = run.context().unwrap();
    let barrier = Barrier::new(16);
    let granted: usize = std::thread::scope(|scope| {
        let work = || {
            let _guard = context.enter();
            barrier.wait();
            let calls: Vec<_> = (0..4).filter_map(|_| llm_call("gpt-5").start().ok()).collect();
            // Nobody ends a call before everybody has asked for all of theirs.
            barrier.wait();
            calls
                .into_iter()
                .map(|mut call| _ = call.response("done"))
                .count()
        };
        let threads: Vec<_> = (0..16).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(granted, 10);
    run.finish();
    let finished = data.finished();
    let failed = finished
        .all(EventType::LlmCall)
        .iter()
        .filter(|record| payload(record)["status"] == "error")
        .count();
    assert_eq!(
        (finished.run.meta.counts.llm_calls, failed),
        (10, 0),
        "those granted, and none that was refused"
    );
}

/// A call that is in flight; each costs 20 cents.
fn start_call() -> Result<LlmSpan, GuardrailExceeded> {
    llm_call("gpt-4o").provider("openai").start()
}

fn answer(mut call: LlmSpan) -> Outcome {
    call.usage(Usage::new(80_000, 0));
    call.end()
}

fn half_a_dollar() -> Guardrails {
    Guardrails::new().max_cost_usd(Usd::from_cents(50))
}

#[test]
fn a_cost_stops_the_call_that_would_start_past_it() {
    let mut reported = None;
    let finished = careless(half_a_dollar(), || {
        for _ in 0..2 {
            assert_eq!(answer(start_call().unwrap()), Ok(()));
        }
        // 40 cents are spent: two more may start. The first of them passes the limit while the other is in flight.
        let (third, fourth) = (start_call().unwrap(), start_call().unwrap());
        assert_eq!(answer(third), Ok(()), "it was made, and its answer is good");
        assert_eq!(record_tool(), Ok(()), "tools cost nothing");
        reported = start_call().err();
        assert!(answer(fourth).is_err(), "a stopped run stays stopped");
        assert_eq!(tracer_sdk::check().err(), reported);
    });
    let reported = reported.unwrap();
    let cents = |cents| Amount::Cost(Usd::from_cents(cents));
    assert_eq!(
        (
            reported.guardrail,
            reported.threshold,
            reported.actual,
            reported.unpriced_calls
        ),
        (Guardrail::MaxCost, cents(50), cents(60), 0)
    );
    assert_eq!(
        reported.to_string(),
        "the run was stopped by max_cost_usd: it has cost $0.60, and $0.50 is the limit"
    );
    let calls = finished.all(EventType::LlmCall);
    let failed = calls.iter().filter(|call| payload(call)["status"] == "error");
    assert_eq!(
        (calls.len(), failed.count()),
        (4, 0),
        "the refused one was never made"
    );
    let root = finished.span(finished.only(EventType::RunStart));
    let error = &root.events[0].attributes;
    assert_eq!(
        [
            &error["tracer.guardrail"],
            &error["tracer.threshold"],
            &error["tracer.actual"]
        ],
        [&json!("max_cost_usd"), &json!(0.5), &json!(0.6)]
    );
    assert!(!error.contains_key("tracer.unpriced_calls"));
}

#[test]
fn a_library_that_asks_is_stopped_at_the_cost_without_a_further_call() {
    careless(half_a_dollar(), || {
        let calls: Vec<LlmSpan> = (0..3).map(|_| start_call().unwrap()).collect();
        assert_eq!(tracer_sdk::check(), Ok(()), "nothing is known of calls in flight");
        for call in calls {
            assert_eq!(answer(call), Ok(()));
        }
        assert_eq!(tracer_sdk::check().unwrap_err().guardrail, Guardrail::MaxCost);
    });
}

#[test]
fn a_last_call_that_passes_the_cost_stops_nothing() {
    let data = DataDir::new();
    data.run("dear").guardrails(half_a_dollar()).in_scope(|| {
        for _ in 0..3 {
            answer(start_call().unwrap()).unwrap();
        }
        record_tool().unwrap();
    });
    assert_eq!(data.finished().status(), RecordedStatus::Ok);
}

#[test]
fn calls_of_unknown_cost_are_no_zero_in_the_error() {
    let mut reported = None;
    let finished = careless(half_a_dollar(), || {
        llm_call("nobody's")
            .usage(Usage::new(80_000, 0))
            .record()
            .unwrap();
        llm_call("gpt-4o").provider("openai").record().unwrap(); // reports no tokens
        for _ in 0..3 {
            answer(start_call().unwrap()).unwrap();
        }
        reported = start_call().err();
    });
    let reported = reported.unwrap();
    assert_eq!(reported.unpriced_calls, 2);
    assert_eq!(
        reported.to_string(),
        "the run was stopped by max_cost_usd: it has cost at least $0.60 (2 model calls have no known price), and $0.50 is \
         the limit"
    );
    let root = finished.span(finished.only(EventType::RunStart));
    assert_eq!(root.events[0].attributes["tracer.unpriced_calls"], 2);
}

#[test]
fn what_is_counted_towards_the_limit_is_what_readers_count() {
    let usages = [
        Usage::new(80_000, 1_000),
        Usage::new(80_000, 1_000).cache_read(60_000),
        Usage::new(10, 0),
    ];
    let mut reported = None;
    let finished = careless(Guardrails::new().max_cost_usd("0.2".parse().unwrap()), || {
        let mut usages = usages.into_iter();
        reported = std::iter::repeat_with(|| {
            let mut call = llm_call("gpt-4o-2024-08-06").provider("openai").start()?;
            call.usage(usages.next().unwrap());
            call.end()
        })
        .find_map(Result::err);
    });
    let mut known = tracer_sdk::prices::CostSum::default();
    for record in finished.run.records() {
        known.extend(tracer_sdk::prices::Prices::default().cost(&record));
    }
    assert_eq!(reported.unwrap().actual, Amount::Cost(known.known));
}

#[test]
fn threads_start_no_call_once_finished_ones_have_cost_the_limit() {
    const THREADS: usize = 8;
    let data = DataDir::new();
    let run = data.run("threads").guardrails(half_a_dollar()).start();
    let context = run.context().unwrap();
    let barrier = Barrier::new(THREADS);
    let granted: usize = std::thread::scope(|scope| {
        let work = || {
            let _guard = context.enter();
            barrier.wait();
            let calls = std::iter::repeat_with(start_call).map_while(Result::ok);
            calls.map(|call| _ = answer(call)).count()
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    // Three calls reach the limit; while the third ends, each other thread has one call in flight at most.
    assert!((3..3 + THREADS).contains(&granted), "{granted} calls");
    let exceeded = run.check().unwrap_err();
    assert_eq!(exceeded.guardrail, Guardrail::MaxCost);
    run.finish();
    assert_eq!(data.finished().run.meta.counts.llm_calls, granted as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_that_wait_for_their_answers_cannot_overshoot() {
    let data = DataDir::new();
    let run = data.run("tasks").guardrails(Guardrails::new().max_llm_calls(3));
    let outcomes = run
        .instrument(async {
            let context = Context::current().unwrap();
            let tasks = (0..20).map(|_| {
                let ask = async {
                    let mut call = llm_call("gpt-5").start()?;
                    tokio::task::yield_now().await;
                    call.response("done");
                    call.end()
                };
                tokio::spawn(ask.in_context(context.clone()))
            });
            futures_util::future::join_all(tasks).await
        })
        .await;
    let refused = outcomes
        .into_iter()
        .filter(|outcome| outcome.as_ref().unwrap().is_err())
        .count();
    let finished = data.finished();
    let granted = finished
        .all(EventType::LlmCall)
        .iter()
        .filter(|record| payload(record)["status"] == "ok")
        .count();
    assert_eq!(granted, 3);
    assert!(
        refused >= 17,
        "those refused, and those that learned of it when they ended: {refused}"
    );
    assert_eq!(finished.status(), RecordedStatus::Error);
    assert_ne!(finished.payload(EventType::Error)["message"], Value::Null);
}
