//! With batching on, what waits is written while the program does nothing, by one thread for all runs; without batching there
//! is no thread.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::MutexGuard;

use tracer_sdk::settings::Flush;
use tracer_sdk::{RunGuard, tool_call};
use tracer_tests::{DataDir, Program, wait_until};

const TRACED: &str = env!("CARGO_BIN_EXE_traced");

/// Takes the turn once no thread of another test is left.
fn alone() -> MutexGuard<'static, ()> {
    let alone = crate::take_turns();
    wait_until("the thread of the test before ends", || flushers() == 0);
    alone
}

/// How many threads of this process are the SDK's.
fn flushers() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    // A thread may end while it is looked at.
    let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim() == "tracer-flush").count()
}

fn batched(data: &DataDir, name: &'static str) -> RunGuard {
    let config = data.config().flush(Flush::Batched);
    tracer_sdk::Run::new(name).config(&config).start()
}

fn log_of(directory: &Path) -> String {
    fs::read_to_string(directory.join("spans.jsonl")).unwrap_or_default()
}

#[test]
fn what_waits_in_a_batch_is_written_while_the_program_is_idle() {
    let _alone = alone();
    let data = DataDir::new();
    let run = batched(&data, "idle");
    let directory = run.dir().unwrap();
    for name in ["first", "second"] {
        tool_call(name).record().unwrap();
        wait_until("the span is in the file", || log_of(&directory).contains(name));
    }
    let stats = run.finish();
    assert_eq!((stats.written, stats.dropped), (3, 0));
    assert_eq!(data.finished().run.meta.counts.tool_calls, 2);
}

#[test]
fn without_batching_there_is_no_thread() {
    let _alone = alone();
    let data = DataDir::new();
    let run = data.run("written at once").start();
    tool_call("first").record().unwrap();
    assert_eq!(flushers(), 0);
    run.finish();
    assert_eq!(flushers(), 0);
}

#[test]
fn batched_runs_share_one_thread() {
    let _alone = alone();
    let data = DataDir::new();
    for _ in 0..2 {
        let runs: Vec<RunGuard> = (0..8).map(|_| batched(&data, "one of many")).collect();
        wait_until("the thread has its name", || flushers() == 1);
        for run in runs {
            assert_eq!(flushers(), 1);
            run.finish();
        }
        wait_until("the thread ends", || flushers() == 0);
    }
}

#[test]
fn a_forked_child_has_its_own_batches_written_while_it_is_idle() {
    let data = DataDir::new();
    let mut child = Program::new(TRACED, &data)
        .args(["fork-and-idle"])
        .env("TRACER_FLUSH", "batched")
        .start();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    wait_until("the child's span is in a file", || {
        data.run_dirs()
            .iter()
            .any(|run| log_of(run).contains("in the child"))
    });
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let before =
        |run: &tracer_tests::Finished| run.run.spans.iter().filter(|span| span.name == "before").count();
    assert_eq!(
        data.finished_runs().iter().map(before).sum::<usize>(),
        1,
        "the child leaves its parent's batch alone"
    );
}
