//! Panics: each is recorded by every span that it unwinds through, with its own message, never with that of a panic that
//! was caught before.
//!
//! A message is believed only while no other thread panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use futures_util::FutureExt;
use serde_json::Value;
use tracer_sdk::format::{EventType, RecordedStatus};
use tracer_sdk::{Run, RunGuard, TraceFutureExt, span, tool_call, trace};
use tracer_tests::DataDir;

use crate::take_turns;

const NO_WORDS: &str = "the thread panicked";

fn caught(message: &'static str) -> Box<dyn Any + Send> {
    catch_unwind(|| panic!("{message}")).unwrap_err()
}

fn panicked_elsewhere(message: &'static str) -> Box<dyn Any + Send> {
    std::thread::spawn(move || panic!("{message}"))
        .join()
        .unwrap_err()
}

/// Panics while it is dropped, and catches that.
struct CatchesInDrop;

impl Drop for CatchesInDrop {
    fn drop(&mut self) {
        caught("old");
    }
}

/// Each ends by unwinding with "new".
const WAYS: [(&str, fn()); 11] = [
    ("a plain panic", || panic!("new")),
    ("after a caught one", || {
        caught("old");
        panic!("new");
    }),
    ("resumed, from nowhere", || {
        caught("old");
        resume_unwind(Box::new("new"));
    }),
    ("resumed, from a thread", || {
        caught("old");
        resume_unwind(panicked_elsewhere("new"));
    }),
    ("resumed, from a thread that panicked before", || {
        let payload = panicked_elsewhere("new");
        caught("old");
        resume_unwind(payload);
    }),
    ("resumed, from this thread", || {
        let payload = caught("new");
        caught("old");
        resume_unwind(payload);
    }),
    ("resumed, after a recorder", || {
        caught("old");
        tool_call("between").record().unwrap();
        resume_unwind(Box::new("new".to_owned()));
    }),
    ("resumed, after a span that the old one ended", || {
        let _ = catch_unwind(|| {
            let _guard = tracer_sdk::traced_run("inner");
            panic!("old");
        });
        resume_unwind(Box::new("new"));
    }),
    ("through a destructor that panics", || {
        let _dropped = CatchesInDrop;
        panic!("new");
    }),
    ("of a pool", || {
        caught("old");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool.install(|| rayon::join(|| {}, || panic!("new")));
    }),
    ("within a destructor of an old one", || {
        struct Old;
        impl Drop for Old {
            fn drop(&mut self) {
                let _ = catch_unwind(|| {
                    let _guard = tracer_sdk::traced_run("within a destructor");
                    caught("older");
                });
            }
        }
        let _ = catch_unwind(|| {
            let _old = Old;
            panic!("old");
        });
        resume_unwind(Box::new("new"));
    }),
];

fn error_of(data: &DataDir) -> Value {
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Error);
    let errors = finished.all(EventType::Error);
    let error = tracer_tests::finished::payload(errors.last().unwrap());
    assert_eq!(error["error_type"], "panic");
    error
}

fn message_of(data: &DataDir) -> String {
    error_of(data)["message"].as_str().unwrap().to_owned()
}

#[trace]
fn traced(work: fn()) {
    work();
}

#[test]
fn every_panic_keeps_its_own_message() {
    let _turn = take_turns();
    for (name, way) in WAYS {
        let data = DataDir::new();
        let run = || data.run("closure").in_scope(way);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{name}");
        assert_eq!(message_of(&data), "new", "{name}, in a closure");

        let data = DataDir::new();
        let fallible = || {
            way();
            Ok::<(), String>(())
        };
        let run = || data.run("fallible").try_in_scope(fallible);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{name}");
        assert_eq!(message_of(&data), "new", "{name}, in a fallible closure");

        let data = DataDir::new();
        let future = data.run("future").instrument(async {
            tokio::task::yield_now().await;
            way();
        });
        let polled = tracer_tests::recording::block_on(AssertUnwindSafe(future).catch_unwind());
        assert!(polled.is_err(), "{name}");
        assert_eq!(message_of(&data), "new", "{name}, in a future");

        let data = DataDir::new();
        let run = || {
            let _guard: RunGuard = data.run("attribute").start();
            traced(way);
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{name}");
        assert_eq!(
            message_of(&data),
            "new",
            "{name}, in a function with the attribute"
        );
    }
}

#[test]
fn a_guard_records_the_words_of_no_other_panic() {
    let _turn = take_turns();
    for (name, way) in WAYS {
        let data = DataDir::new();
        let run = || {
            let _guard = data.run("guard").start();
            way();
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{name}");
        let message = message_of(&data);
        // What the payload says a guard cannot know, and there is nothing that shows that `resume_unwind` was called.
        let cannot_be_known = [
            "resumed, from nowhere",
            "resumed, from a thread that panicked before",
            "resumed, after a span that the old one ended",
        ]
        .contains(&name);
        assert!(
            cannot_be_known || message == "new" || message == NO_WORDS,
            "{name}: {message}"
        );
    }
}

/// The outcomes of the spans of a run that a panic leaves, by their names.
fn ends(data: &DataDir, names: &[&str]) -> Vec<(String, String)> {
    let finished = data.finished();
    let end = |name: &&str| {
        let span = finished.span_named(name);
        let error_type = span.attributes.get("tracer.error_type");
        let of_event = || span.events.first()?.attributes.get("tracer.error_type");
        let error_type = error_type.or_else(of_event).and_then(Value::as_str);
        (
            error_type.unwrap_or_default().to_owned(),
            span.status_description.clone(),
        )
    };
    names.iter().map(end).collect()
}

#[test]
fn a_panic_below_a_manual_guard_is_its_end() {
    let _turn = take_turns();
    let data = DataDir::new();
    let run = || {
        let _guard = data.run("guard").start();
        let _plan = span("plan").start();
        let mut answered = tool_call("answered").start().unwrap();
        answered.result("7 C");
        let _model = tracer_sdk::llm_call("gpt-5").start().unwrap();
        let _tool = tool_call("search").start().unwrap();
        panic!("no index");
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    let panicked = ("panic".to_owned(), "no index".to_owned());
    assert_eq!(
        ends(&data, &["search", "gpt-5", "plan", "answered"]),
        [
            panicked.clone(),
            panicked.clone(),
            panicked,
            (String::new(), String::new())
        ]
    );
}

#[test]
fn a_call_in_a_poll_that_panics_has_panicked() {
    let _turn = take_turns();
    let data = DataDir::new();
    let work = data.run("agent").instrument(async {
        let _tool = tool_call("search").start().unwrap();
        tokio::task::yield_now().await;
        panic!("no index");
    });
    let polled = tracer_tests::recording::block_on(AssertUnwindSafe(work).catch_unwind());
    assert!(polled.is_err());
    assert_eq!(
        ends(&data, &["search"]),
        [("panic".to_owned(), "no index".to_owned())]
    );
}

#[test]
fn a_call_that_anothers_panic_drops_is_cancelled() {
    const DROPPED: &str = "the call was dropped before it had a result";
    let _turn = take_turns();
    let data = DataDir::new();
    let run = || {
        let guard = data.run("guard").start();
        let mut waiting = Box::pin(
            async {
                let _tool = tool_call("search").start().unwrap();
                std::future::pending::<()>().await;
            }
            .in_context(guard.context().unwrap()),
        );
        assert!(waiting.as_mut().now_or_never().is_none());
        panic!("no index");
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert_eq!(
        ends(&data, &["search"]),
        [("Cancelled".to_owned(), DROPPED.to_owned())]
    );
}

#[test]
fn a_payload_that_is_no_text_has_the_words_of_no_other_panic() {
    const NO_TEXT: &str = "a panic whose payload is not text";
    let _turn = take_turns();
    let ways: [(&str, fn()); 3] = [
        ("resumed", || {
            caught("old");
            resume_unwind(Box::new(42));
        }),
        ("panicked with", || {
            caught("old");
            std::panic::panic_any(42);
        }),
        ("resumed from a thread", || {
            let payload = std::thread::spawn(|| std::panic::panic_any(42)).join();
            caught("old");
            resume_unwind(payload.unwrap_err());
        }),
    ];
    for (name, way) in ways {
        let data = DataDir::new();
        let run = || data.run("closure").in_scope(way);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{name}");
        assert_eq!(message_of(&data), NO_TEXT, "{name}, in a closure");

        let data = DataDir::new();
        let run = || {
            let _guard = data.run("attribute").start();
            traced(way);
        };
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{name}");
        assert_eq!(message_of(&data), NO_TEXT, "{name}, in an attribute");
    }
}

#[test]
fn threads_panics_are_not_the_guards() {
    let _turn = take_turns();
    let data = DataDir::new();
    let run = || {
        let guard = data.run("guard").start();
        let worker = guard.context().unwrap().wrap(|| panic!("new"));
        let payload = std::thread::spawn(worker).join().unwrap_err();
        caught("old");
        resume_unwind(payload);
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    assert_eq!(message_of(&data), NO_WORDS);
}

#[test]
fn a_plain_panic_keeps_message_and_frames() {
    let _turn = take_turns();
    let data = DataDir::new();
    let run = || {
        let _guard = data.run("guard").start();
        let phase = span("phase").start();
        phase.in_scope(|| traced(|| panic!("new")));
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    let error = error_of(&data);
    assert_eq!(error["message"], "new");
    let stack = error["stack"].as_str().unwrap();
    assert!(stack.contains("panics.rs"), "{stack}");
    let span = data.finished();
    let traced = span.span_named("traced");
    let stack = traced.events[0].attributes["tracer.error_stack"]
        .as_str()
        .unwrap();
    assert_eq!(
        stack.lines().count(),
        1,
        "the frames are resolved for the run, once: {stack}"
    );
}

#[test]
fn a_resumed_panic_keeps_its_message() {
    let _turn = take_turns();
    let data = DataDir::new();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let work = data.run("joins").instrument(async {
        caught("old");
        let task = tokio::spawn(async { panic!("new") }.in_current_run());
        resume_unwind(task.await.unwrap_err().into_panic());
    });
    assert!(runtime.block_on(AssertUnwindSafe(work).catch_unwind()).is_err());
    assert_eq!(message_of(&data), "new");
}

#[test]
fn a_panic_is_recorded_by_every_open_span() {
    let _turn = take_turns();
    let data = DataDir::new();
    let run = || {
        let _outer = data.run("outer").start();
        let _inner = Run::new("inner").start();
        panic!("the model went away");
    };
    assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    let error = error_of(&data);
    let finished = data.finished();
    assert_eq!(finished.all(EventType::Error).len(), 1);
    for span in ["outer", "inner"] {
        assert_eq!(
            finished.span_named(span).status_description,
            "the model went away"
        );
    }
    let stack = error["stack"].as_str().unwrap();
    assert!(stack.starts_with("at ") && stack.contains("panics.rs"), "{stack}");
    assert!(
        stack.lines().count() > 1,
        "the frames of the program follow the place: {stack}"
    );
}

#[test]
fn a_panic_caught_inside_a_run_does_not_end_it() {
    let _turn = take_turns();
    let data = DataDir::new();
    let run = data.run("resilient").start();
    caught("caught");
    tool_call("after").record().unwrap();
    run.finish();
    let finished = data.finished();
    assert_eq!(finished.status(), RecordedStatus::Ok);
    assert_eq!(finished.run.meta.counts.tool_calls, 1);
}
