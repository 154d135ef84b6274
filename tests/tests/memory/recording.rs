//! What recording takes of the program's memory: nothing for a span in a steady stream, and no more for a long run than for
//! a short one.

use std::sync::Arc;

use allocation_counter::{AllocationInfo, measure};
use nix::libc;
use serde::Serialize;
use tracer_sdk::settings::Flush;
use tracer_sdk::testing::file_systems::{Disk, Fault, Faulty, FileSystem};
use tracer_sdk::{Run, RunGuard, Usage, llm_call, span, state, tool_call};
use tracer_tests::DataDir;

const FLUSHES: [Flush; 2] = [Flush::Each, Flush::Batched];
const KIB: i64 = 1024;

#[derive(Serialize)]
struct Arguments<'a> {
    query: &'a str,
    limit: u32,
}

const ARGUMENTS: Arguments<'static> = Arguments {
    query: "How do refunds work?",
    limit: 10,
};

fn tool() {
    tool_call("search")
        .args(&ARGUMENTS)
        .result(&["refunds.md", "terms.md"])
        .record()
        .unwrap();
}

fn model() {
    llm_call("gpt-5")
        .provider("openai")
        .prompt("How do refunds work? Answer in one sentence.")
        .response("Within 14 days.")
        .usage(Usage::new(14, 6))
        .temperature(0.2)
        .stop_reason("stop")
        .record()
        .unwrap();
}

fn timed_tool() {
    let mut call = tool_call("search").args(&ARGUMENTS).start().unwrap();
    call.result("refunds.md");
    call.end().unwrap();
}

fn nested() {
    let step = span("step").start();
    step.in_scope(tool);
    step.end();
}

fn start(data: &DataDir, flush: Flush) -> RunGuard {
    Run::new("memory").config(&data.config().flush(flush)).start()
}

/// What `work` takes once all buffers have grown and the loop has been reported.
fn in_the_steady_state(flush: Flush, work: fn()) -> AllocationInfo {
    let data = DataDir::new();
    let _run = start(&data, flush);
    (0..1_000).for_each(|_| work());
    // Once a second the environment is read again, which takes memory: most of the time it is not.
    let measured = (0..3).map(|_| measure(|| (0..1_000).for_each(|_| work())));
    measured.min_by_key(|info| info.count_total).unwrap()
}

#[test]
fn a_recorded_call_allocates_nothing_in_the_steady_state() {
    for flush in FLUSHES {
        for (name, work) in [
            ("tool", tool as fn()),
            ("model", model),
            ("state", || state("plan").record().unwrap()),
        ] {
            assert_eq!(
                in_the_steady_state(flush, work).count_total,
                0,
                "{name}, {flush:?}"
            );
        }
    }
}

#[test]
fn a_timed_call_allocates_nothing_in_the_steady_state() {
    for flush in FLUSHES {
        assert_eq!(in_the_steady_state(flush, timed_tool).count_total, 0, "{flush:?}");
    }
}

#[test]
fn a_nested_span_allocates_nothing_in_the_steady_state() {
    for flush in FLUSHES {
        assert_eq!(in_the_steady_state(flush, nested).count_total, 0, "{flush:?}");
    }
}

#[test]
fn a_long_run_takes_no_more_memory_than_a_short_one() {
    for flush in FLUSHES {
        let data = DataDir::new();
        let run = start(&data, flush);
        let mut names = (0..).map(|number: u32| format!("tool {}", number % 1_000));
        let mut record = |spans: u32| {
            for name in names.by_ref().take(spans as usize) {
                tool_call(name).args(&ARGUMENTS).record().unwrap();
            }
        };
        record(1_000);
        let taken = measure(|| record(50_000));
        assert!(taken.bytes_current < 4 * KIB, "{flush:?}: {taken:?}");
        assert!(taken.bytes_max < 64 * KIB as u64, "{flush:?}: {taken:?}");
        assert_eq!(run.finish().written, 51_001);
    }
}

#[test]
fn large_payloads_leave_nothing_behind() {
    let data = DataDir::new();
    let _run = start(&data, Flush::Batched);
    let text = "All work and no play. ".repeat(50_000);
    let list: Vec<&str> = text.split(' ').collect();
    let record = |calls: u32| {
        for _ in 0..calls {
            tool_call("read").args(&text).result(&list).record().unwrap();
        }
    };
    record(3);
    let taken = measure(|| record(20));
    assert!(taken.bytes_current < 4 * KIB, "{taken:?}");
    assert!(taken.bytes_max < 2 * 1024 * KIB as u64, "{taken:?}");
}

#[test]
fn open_spans_give_their_memory_back() {
    const OPEN: usize = 10_000;
    let data = DataDir::new();
    let run = start(&data, Flush::Each);
    let live = run.dir().unwrap().join(".live");
    let round = || {
        let open: Vec<_> = (0..OPEN)
            .map(|_| tool_call("wait").args(&ARGUMENTS).start().unwrap())
            .collect();
        drop(open);
    };
    round();
    let taken = measure(round);
    assert!(taken.bytes_current < 64 * KIB, "{taken:?}");
    assert!(taken.bytes_max < 4 * KIB as u64 * OPEN as u64, "{taken:?}");
    (0..200).for_each(|_| timed_tool());
    let length = std::fs::metadata(live).unwrap().len();
    assert!(
        length < 64 * KIB as u64,
        "lines of ended spans are dropped: {length}"
    );
}

#[test]
fn a_disk_that_takes_nothing_does_not_fill_the_memory() {
    for flush in FLUSHES {
        let disk: Arc<dyn FileSystem> =
            Arc::new(Faulty::new(Arc::new(Disk)).failing_from(0, Fault::Error(libc::ENOSPC)));
        let data = DataDir::new();
        let run = data.run("full").file_system(disk).start();
        let record = |spans: u32| (0..spans).for_each(|_| nested());
        // More structural spans than have stand-ins kept for them.
        record(5_000);
        let taken = measure(|| record(5_000));
        // The list of operations that the test itself keeps grows meanwhile.
        assert!(taken.bytes_current < 256 * KIB, "{flush:?}: {taken:?}");
        // Two spans a round, a loop that is reported once, and the run itself.
        assert_eq!(run.finish().dropped, 20_002);
    }
}
