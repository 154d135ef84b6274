//! Code of the program that a recorder calls may itself record: a `Serialize`, a `Display`, a file system. What it
//! records is dropped and counted; nothing waits for itself. The allocator has a package of its own, `tests/allocator`.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use tracer_sdk::testing::file_systems::{Disk, FileIdentity, FileSystem, OpenFile, OpenMode};
use tracer_sdk::{
    Context, Run, RunGuard, ToolSpan, TraceFutureExt, Usage, llm_call, record_error, span, state, tool_call,
    trace, traced_run,
};
use tracer_tests::DataDir;

use crate::take_turns;

thread_local! {
    static OUTER: RefCell<Option<RunGuard>> = const { RefCell::new(None) };
    static OPEN: RefCell<Vec<ToolSpan>> = const { RefCell::new(Vec::new()) };
    static CALLED: Cell<u32> = const { Cell::new(0) };
}

#[trace(tool)]
fn traced_tool() {}

/// Every public function that records or asks what was recorded. Those that make a record come first.
const EVERY_RECORDER: [(&str, fn()); 19] = [
    ("tool_call", || tool_call("within").args(&1).record().unwrap()),
    ("tool_call started", || {
        tool_call("within").start().unwrap().end().unwrap();
    }),
    ("llm_call", || {
        llm_call("within")
            .prompt("p")
            .usage(Usage::new(1, 2))
            .record()
            .unwrap();
    }),
    ("llm_call started", || drop(llm_call("within").start().unwrap())),
    ("state", || state(&1).record().unwrap()),
    ("span", || span("within").start().end()),
    ("record_error", || record_error(&fmt::Error).unwrap()),
    ("traced_run", || drop(traced_run("within"))),
    ("a run", || Run::new("within").in_scope(|| ())),
    ("the attribute", traced_tool),
    ("a span that ends", || {
        // A thread that is ending has none.
        let _ = OPEN.try_with(|open| drop(open.try_borrow_mut().ok().and_then(|mut open| open.pop())));
    }),
    ("a future", || {
        let _ = tracer_tests::recording::block_on(async { 1 }.in_current_run());
    }),
    ("Context::current", || drop(Context::current())),
    ("Context::in_scope", || {
        if let Some(context) = Context::current() {
            context.in_scope(|| ());
            let _ = context.share();
        }
    }),
    ("RunGuard::check", || with_outer(|run| drop(run.check()))),
    ("RunGuard::stats", || {
        with_outer(|run| drop(run.stats().dropped.to_string()));
    }),
    ("RunGuard::flush", || with_outer(RunGuard::flush)),
    ("RunGuard::dir", || with_outer(|run| drop(run.dir()))),
    ("RunGuard::fail", || with_outer(|run| run.fail("within"))),
];
const MAKE_A_RECORD: usize = 11;

fn with_outer(work: impl FnOnce(&RunGuard)) {
    let _ = OUTER.try_with(|outer| {
        if let Ok(outer) = outer.try_borrow()
            && let Some(run) = outer.as_ref()
        {
            work(run);
        }
    });
}

/// Code of the user that records, whatever calls it.
#[derive(Clone, Copy)]
struct Records(fn());

impl Records {
    fn now(self) {
        CALLED.set(CALLED.get() + 1);
        (self.0)();
    }
}

impl Serialize for Records {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.now();
        serializer.serialize_str("recorded")
    }
}

impl fmt::Display for Records {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.now();
        formatter.write_str("recorded")
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

impl std::error::Error for Records {}

#[trace(tool, args, result)]
fn with_arguments(records: Records) -> Result<Records, Records> {
    if CALLED.get().is_multiple_of(2) {
        Ok(records)
    } else {
        Err(records)
    }
}

/// A recorder that calls code of the user, and the place where it does.
type Call = (&'static str, fn(Records));

/// Every place where a recorder calls code of the user.
const EVERY_CALL: [Call; 13] = [
    ("args", |records| {
        tool_call("outer").args(&records).record().unwrap();
    }),
    ("a result", |records| {
        tool_call("outer").result(&records).record().unwrap();
    }),
    ("an attribute", |records| {
        tool_call("outer").attribute("a", &records).record().unwrap();
    }),
    ("meta", |records| {
        tool_call("outer").meta(&records).record().unwrap();
    }),
    ("an error", |records| {
        tool_call("outer").fail(&records).record().unwrap();
    }),
    ("a prompt", |records| {
        llm_call("outer").prompt(&records).record().unwrap();
    }),
    ("a response", |records| {
        let mut call = llm_call("outer").start().unwrap();
        call.response(&records);
    }),
    ("a late failure", |records| {
        let mut call = tool_call("outer").start().unwrap();
        call.fail(&records);
    }),
    ("state", |records| {
        state(&records).diff(&records).record().unwrap();
    }),
    ("record_error", |records| record_error(&records).unwrap()),
    ("the attribute", |records| {
        let _ = with_arguments(records);
    }),
    ("the attribute, otherwise", |records| {
        CALLED.set(CALLED.get() + 1);
        let _ = with_arguments(records);
    }),
    ("the run's failure", |records| {
        with_outer(|run| run.fail(&records));
    }),
];

#[test]
fn what_code_records_that_a_recorder_calls_is_dropped_and_counted() {
    let _turn = take_turns();
    for (place, call) in EVERY_CALL {
        for (index, (recorder, inner)) in EVERY_RECORDER.into_iter().enumerate() {
            let data = DataDir::new();
            let run = data.run("outer").start();
            let directory = run.dir().unwrap();
            OUTER.set(Some(run));
            OPEN.with_borrow_mut(|open| open.extend((0..2).map(|_| tool_call("open").start().unwrap())));
            let before = CALLED.get();
            call(Records(inner));
            assert!(CALLED.get() > before, "{place} was not asked");
            OPEN.take();
            drop(OUTER.take());
            let run = tracer_runs::LoadedRun::read(&directory).unwrap();
            assert!(Context::current().is_none(), "{recorder} in {place}");
            let dropped = run.meta.dropped().map_or(0, |dropped| dropped.spans);
            assert!(run.meta.status.is_completed());
            assert!(
                run.spans
                    .iter()
                    .all(|span| span.name != "within" && span.name != "traced_tool"),
                "{recorder} in {place}"
            );
            assert_eq!(
                dropped > 0,
                index < MAKE_A_RECORD,
                "{recorder} in {place}: {dropped}"
            );
            assert_eq!(data.run_dirs().len(), 1, "{recorder} in {place}");
        }
    }
}

/// A file system of the user that records at every operation.
#[derive(Debug)]
struct RecordingDisk(fn());

#[derive(Debug)]
struct RecordingFile(Box<dyn OpenFile>, fn());

impl FileSystem for RecordingDisk {
    fn create_directories(&self, path: &Path) -> io::Result<()> {
        (self.0)();
        Disk.create_directories(path)
    }
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        (self.0)();
        Disk.create_directory(path)
    }
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn OpenFile>> {
        (self.0)();
        Ok(Box::new(RecordingFile(Disk.open(path, mode)?, self.0)))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        (self.0)();
        Disk.rename(from, to)
    }
    fn read_whole(&self, path: &Path) -> io::Result<Vec<u8>> {
        (self.0)();
        Disk.read_whole(path)
    }
    fn overwrite(&self, path: &Path, at: u64, bytes: &[u8]) -> io::Result<()> {
        (self.0)();
        Disk.overwrite(path, at, bytes)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        (self.0)();
        Disk.remove(path)
    }
    fn remove_empty_directory(&self, path: &Path) -> io::Result<()> {
        (self.0)();
        Disk.remove_empty_directory(path)
    }
}

impl OpenFile for RecordingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (self.1)();
        self.0.write(bytes)
    }
    fn length(&self) -> io::Result<u64> {
        (self.1)();
        self.0.length()
    }
    fn position(&self) -> io::Result<u64> {
        (self.1)();
        self.0.position()
    }
    fn read_before(&self, end: u64, max_bytes: u64) -> io::Result<Vec<u8>> {
        (self.1)();
        self.0.read_before(end, max_bytes)
    }
    fn cut(&mut self, length: u64) -> io::Result<()> {
        (self.1)();
        self.0.cut(length)
    }
    fn is_at(&self, path: &Path) -> io::Result<bool> {
        (self.1)();
        self.0.is_at(path)
    }
    fn identity(&self) -> io::Result<FileIdentity> {
        (self.1)();
        self.0.identity()
    }
    fn descriptor(&self) -> Option<u32> {
        (self.1)();
        self.0.descriptor()
    }
    fn try_lock(&self) -> io::Result<bool> {
        (self.1)();
        self.0.try_lock()
    }
    fn sync(&self) -> io::Result<()> {
        (self.1)();
        self.0.sync()
    }
}

#[test]
fn a_file_system_that_records_never_waits_for_itself() {
    let _turn = take_turns();
    for (recorder, inner) in EVERY_RECORDER {
        let data = DataDir::new();
        let run = data
            .run("outer")
            .file_system(Arc::new(RecordingDisk(inner)))
            .start();
        let (directory, context) = (run.dir().unwrap(), run.context().unwrap());
        OUTER.set(Some(run));
        OPEN.with_borrow_mut(|open| open.extend((0..9).map(|_| tool_call("open").start().unwrap())));
        tool_call("outer").record().unwrap();
        with_outer(RunGuard::flush);
        drop(OUTER.take());
        context.in_scope(|| tool_call("late").record().unwrap());
        drop(context);
        OPEN.take();
        assert!(Context::current().is_none(), "{recorder}");
        let run = tracer_runs::LoadedRun::read(&directory).unwrap();
        assert!(run.spans.iter().any(|span| span.name == "late"), "{recorder}");
        assert!(run.spans.iter().all(|span| span.name != "within"), "{recorder}");
    }
}

struct Panics;

impl Serialize for Panics {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("while it is recorded")
    }
}

#[test]
fn a_panic_hook_that_records_does_so_and_never_waits_for_itself() {
    let _turn = take_turns();
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| EVERY_RECORDER.iter().for_each(|(_, inner)| inner())));
    let data = DataDir::new();
    let run = data.run("outer").start();
    let directory = run.dir().unwrap();
    OUTER.set(Some(run));
    tool_call("outer").args(&Panics).record().unwrap();
    let within = std::panic::catch_unwind(|| panic!("in the program"));
    drop(OUTER.take());
    std::panic::set_hook(hook);
    assert!(within.is_err());
    let run = tracer_runs::LoadedRun::read(&directory).unwrap();
    assert!(run.spans.iter().any(|span| span.name == "outer"));
    assert!(
        run.meta.dropped().is_some(),
        "what the hook recorded of the first"
    );
    assert!(
        run.spans.iter().any(|span| span.name == "within"),
        "and of the second"
    );
}
