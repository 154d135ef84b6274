//! A run that ends while other threads are still recording into it: it is whole, and ends last.

use std::sync::atomic::{AtomicBool, Ordering};

use tracer_sdk::format::EventType;
use tracer_sdk::{span, tool_call};
use tracer_tests::DataDir;

#[test]
fn a_run_that_ends_under_threads_that_record_is_whole_and_ends_last() {
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
                        let mut outer = span("outer").start();
                        outer.in_scope(|| {
                            let mut inner = span("state").start();
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
