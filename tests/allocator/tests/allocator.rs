//! A global allocator that records every allocation, the recorder's own among them: no recorder waits for itself, and none
//! records for ever.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use tracer_sdk::{Config, Context, Run, llm_call, span, state, tool_call, traced_run};

struct Recording;

thread_local! {
    static RECORDER: Cell<Option<fn()>> = const { Cell::new(None) };
}

// SAFETY: every call is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Recording {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        record();
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        record();
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Recording = Recording;

fn record() {
    // A thread that is ending has none.
    if let Ok(Some(recorder)) = RECORDER.try_with(Cell::get) {
        recorder();
    }
}

const RECORDERS: [fn(); 6] = [
    || drop(tool_call("allocated").record()),
    || drop(llm_call("allocated").start()),
    || drop(state(&1).record()),
    || span("allocated").start().end(),
    || drop(Context::current()),
    || drop(traced_run("allocated")),
];

#[test]
fn a_recording_allocator_is_never_waited_for() {
    for (index, recorder) in RECORDERS.into_iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::new().data_dir(folder.path());
        let run = Run::new("outer").config(&config).start();
        let directory = run.dir().unwrap();
        RECORDER.set(Some(recorder));
        let phase = span("phase").start();
        phase
            .in_scope(|| tool_call("outer").args(&vec![1, 2]).record())
            .unwrap();
        let mut call = llm_call("outer").prompt("p").start().unwrap();
        call.response("r").attribute("key", &"a".repeat(100_000));
        call.end().unwrap();
        phase.end();
        std::thread::spawn(
            run.context()
                .unwrap()
                .wrap(|| drop(tool_call("elsewhere").record())),
        )
        .join()
        .unwrap();
        if index == RECORDERS.len() - 1 {
            // Behind the end it would start runs elsewhere.
            RECORDER.set(None);
        }
        let stats = run.finish();
        RECORDER.set(None);
        let run = tracer_runs::LoadedRun::read(&directory).unwrap();
        for name in ["outer", "elsewhere", "phase"] {
            assert!(
                run.spans.iter().any(|span| span.name == name),
                "{name}, recorder {index}"
            );
        }
        assert_eq!(stats.dropped > 0, index != 4, "recorder {index}");
    }
}
