//! A traced program for the tests to start, stop and kill. Its first argument says what it does.

#![expect(clippy::unwrap_used, reason = "a program of the tests fails by panicking")]

use std::io::{BufRead, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use fork::Fork;
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use serde_json::json;
use tracer_sdk::{RunGuard, Usage, llm_call, state, tool_call, traced_run};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let task = arguments.next().unwrap_or_default();
    let number = arguments
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0);
    match task.as_str() {
        "acknowledge" => acknowledge(number),
        "runs" => runs(number),
        "wait" => drop(wait_in_a_call()),
        "join" => join(number),
        "join-and-wait" => join_and_wait(),
        "join-and-lose" => join_and_lose(),
        "fork" => fork_and_go_on(),
        "fork-and-wait" => fork_and_wait(),
        "fork-and-idle" => fork_and_idle(),
        "exec-and-wait" => exec_and_wait(),
        "unattached" => record_without_a_run(),
        "default-name" => default_name(),
        "tagged" => tagged(),
        "spend" => spend(number),
        "warn" => warn(),
        "warn-while-standard-error-is-held" => warn_while_standard_error_is_held(),
        "limit-files" => limit_files(),
        "many-live-runs" => many_live_runs(number),
        "fork-and-become-another-program" => fork_and_become_another_program(),
        "panic-with-hook" => panic_with_hook(),
        how => return end(how),
    }
    ExitCode::SUCCESS
}

/// Tells the test something, and that all before it has happened.
fn tell(what: impl std::fmt::Display) {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{what}").unwrap();
    output.flush().unwrap();
}

/// Waits for the test to say that it may go on.
fn wait_for_a_line() {
    std::io::stdin().lock().read_line(&mut String::new()).unwrap();
}

/// Records on several threads until it is killed; each record is reported once it is made.
fn acknowledge(threads: u64) {
    let run = traced_run("acknowledge");
    let context = run.context().unwrap();
    tell("0 0");
    std::thread::scope(|scope| {
        for thread in 1..=threads {
            let context = context.clone();
            scope.spawn(move || {
                let _guard = context.enter();
                for number in 1_u64.. {
                    record(thread, number);
                    tell(format_args!("{thread} {number}"));
                }
            });
        }
    });
}

/// Small and large lines, after the fact and timed.
fn record(thread: u64, number: u64) {
    let name = format!("{thread} {number}");
    match number % 8 {
        0 => {
            let large = vec!["x".repeat(10_000); 20];
            state(&json!({"name": name, "large": large}))
                .meta(&json!({"name": name}))
                .record()
                .unwrap();
        }
        1 => {
            let mut call = llm_call(name).prompt("Go on").start().unwrap();
            call.response("on and on");
        }
        _ => tool_call(name).args(&json!({"number": number})).record().unwrap(),
    }
}

/// Writes many runs, one after the other.
fn runs(count: u64) {
    for number in 0..count {
        let run = traced_run(format!("run {number}"));
        for call in 0..10 {
            tool_call("step")
                .args(&json!({"run": number, "call": call}))
                .record()
                .unwrap();
        }
        let stats = run.stats();
        assert_eq!(
            (stats.written, stats.dropped),
            (11, 0),
            "the calls, and the loop that they are"
        );
    }
}

/// Makes calls of 1,000 tokens until a limit stops it, and reports how many there were.
fn spend(max_calls: u64) {
    let _run = traced_run("spending");
    let calls = (0..max_calls).map_while(|_| {
        let mut call = llm_call("own-model").provider("own").start().ok()?;
        call.usage(Usage::new(1_000, 0));
        call.end().ok()
    });
    tell(calls.count());
}

/// Starts a run and a call, and waits in the call.
fn wait_in_a_call() -> RunGuard {
    let run = traced_run("waiting");
    tool_call("before").record().unwrap();
    let call = llm_call("gpt-5").prompt("Are you there?").start().unwrap();
    tell("ready");
    wait_for_a_line();
    drop(call);
    run
}

/// Leaves the program in the middle of a run.
#[expect(clippy::exit, reason = "a way for a program to end that is tested")]
fn end(how: &str) -> ExitCode {
    let run = wait_in_a_call();
    match how {
        "exit" => std::process::exit(0),
        "abort" => std::process::abort(),
        "panic" => panic!("it went wrong"),
        "forget" => std::mem::forget(run),
        _ => {}
    }
    ExitCode::SUCCESS
}

/// Records where that cannot be, and tells which signals it was sent that a program may not know. Those are held back,
/// so that they can be seen although this program ignores some.
fn warn() {
    let signals = SigSet::from_iter([Signal::SIGPIPE, Signal::SIGXFSZ, Signal::SIGTTOU]);
    signals.thread_block().unwrap();
    drop(traced_run("nowhere"));
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let pending = status
        .lines()
        .find_map(|line| line.strip_prefix("SigPnd:"))
        .unwrap();
    tell(format_args!("went on with {}", pending.trim()));
}

/// The same while another thread holds the standard library's lock of standard error.
fn warn_while_standard_error_is_held() {
    let (held, is_held) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let _held = std::io::stderr().lock();
        held.send(()).unwrap();
        loop {
            std::thread::park();
        }
    });
    is_held.recv().unwrap();
    warn();
}

/// How large a file of this process may become.
fn limit_file_size(limit: u64) {
    let (_, hard) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
    setrlimit(Resource::RLIMIT_FSIZE, limit, hard).unwrap();
    // The recorder asks for the limit once per tick of the system's coarse clock.
    std::thread::sleep(std::time::Duration::from_millis(20));
}

/// Reaches the limit of files anywhere: at, before and behind the end of each file of a run.
fn limit_files() {
    let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    let record = || {
        let mut call = tool_call("timed").args(&"x".repeat(300)).start().unwrap();
        call.result(&"y".repeat(300));
        drop(call);
        tool_call("recorded").record().unwrap();
    };
    for file in ["spans.jsonl", ".live", "meta.json"] {
        for (more, less) in [
            (0, 0),
            (1, 0),
            (0, 1),
            (100, 0),
            (700, 0),
            (0, 100),
            (0, u64::MAX),
        ] {
            let run = traced_run(format!("{file} {more} {less}"));
            record();
            let limit = (length(&run.dir().unwrap().join(file)) + more).saturating_sub(less);
            limit_file_size(limit);
            (0..3).for_each(|_| record());
            run.flush();
            let dropped = run.finish().dropped;
            drop(traced_run("begun within the limit"));
            limit_file_size(RLIM_INFINITY);
            tell(format_args!("{file} {more} {less}: {dropped}"));
        }
    }
}

/// How many files this process has open.
fn open_files() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Has many runs at once, each of which records, and tells how many files they keep open.
fn many_live_runs(count: u64) {
    let before = open_files();
    let barrier = std::sync::Barrier::new(usize::try_from(count).unwrap() + 1);
    let starting = std::sync::Mutex::new(());
    std::thread::scope(|threads| {
        for number in 0..count {
            let (barrier, starting) = (&barrier, &starting);
            threads.spawn(move || {
                let step = || {
                    tool_call("recorded").record().unwrap();
                    drop(tool_call("timed").start().unwrap());
                };
                // One after the other: a start needs more descriptors, for a moment, than a run keeps.
                let turn = starting.lock().unwrap();
                let run = traced_run(format!("run {number}"));
                step();
                drop(turn);
                barrier.wait();
                barrier.wait();
                step();
                assert_eq!((run.stats().written, run.stats().dropped), (4, 0));
                run.finish();
            });
        }
        barrier.wait();
        tell(open_files() - before);
        wait_for_a_line();
        barrier.wait();
    });
    tell(open_files() - before);
}

/// Leaves a forked child behind that holds what it inherited, and goes on as another program under the same number.
fn fork_and_become_another_program() {
    use std::os::unix::process::CommandExt;
    let _run = traced_run("forked");
    tool_call("before").record().unwrap();
    match fork::fork().unwrap() {
        Fork::Child => wait_for_a_line(),
        Fork::Parent(_) => {
            tell("ready");
            let error = Command::new("cat").stdout(Stdio::null()).exec();
            panic!("{error}");
        }
    }
}

/// A run without a name of its own.
#[tracer_sdk::trace]
fn default_name() {}

/// Panics in a call, with a hook of its own that was there before the SDK's.
fn panic_with_hook() {
    std::panic::set_hook(Box::new(|_| tell("the program's own hook")));
    let _run = traced_run("panics");
    tool_call("before").record().unwrap();
    let _call = llm_call("gpt-5").prompt("Are you there?").start().unwrap();
    panic!("it went wrong");
}

/// Works for the run of the parent process.
fn join(calls: u64) {
    let run = traced_run("child");
    for number in 0..calls {
        tool_call("child's step")
            .args(&json!({"number": number}))
            .record()
            .unwrap();
    }
    assert_eq!(run.stats().dropped, 0);
}

/// Records a run with tags, one of which is none, and continues on request.
fn tagged() {
    let run = tracer_sdk::Run::new("tagged")
        .tag("team", "search")
        .tag("commit", "code")
        .tag("api_key", "correct-horse")
        .start();
    tool_call("step").record().unwrap();
    tell("ready");
    wait_for_a_line();
    drop(run);
}

/// Works for the run of the parent process, and continues on request.
fn join_and_wait() {
    let run = traced_run("child");
    tool_call("child's step").record().unwrap();
    tell("ready");
    wait_for_a_line();
    tool_call("child's late step").record().unwrap();
    drop(run);
}

/// Part of a run that another process ends meanwhile: a record within another one is lost before that, and another one after it.
fn join_and_lose() {
    let run = traced_run("child");
    let lose = || tool_call("child's step").args(&Recording).record().unwrap();
    lose();
    tell("ready");
    wait_for_a_line();
    lose();
    drop(run);
}

/// A value that records while it is recorded.
struct Recording;

impl serde::Serialize for Recording {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let _ = tool_call("within").record();
        serializer.serialize_str("recorded")
    }
}

/// Two runs are live, and a thread that was given none of them records.
fn record_without_a_run() {
    let _one = traced_run("one");
    std::thread::spawn(|| {
        let _other = traced_run("other");
        std::thread::spawn(|| (0..3).for_each(|_| tool_call("lost").record().unwrap()))
            .join()
            .unwrap();
    })
    .join()
    .unwrap();
}

/// A forked child leaves the run alone.
#[expect(clippy::exit, reason = "the child must not go on as its parent")]
fn fork_and_go_on() {
    let run = traced_run("forked");
    tool_call("before").record().unwrap();
    match fork::fork().unwrap() {
        Fork::Child => {
            tool_call("of nobody's run").record().unwrap();
            {
                let _own = traced_run("the child's own");
                tool_call("in the child").record().unwrap();
            }
            drop(run);
            std::process::exit(0);
        }
        Fork::Parent(child) => {
            fork::waitpid(child).unwrap();
            tool_call("after").record().unwrap();
            assert_eq!(run.stats().written, 2);
        }
    }
}

/// Leaves a forked child behind that lives until its standard input ends.
fn fork_and_wait() {
    let _run = traced_run("forked");
    tool_call("before").record().unwrap();
    if let Fork::Parent(_) = fork::fork().unwrap() {
        tell("ready");
    }
    wait_for_a_line();
}

/// A forked child records into a run of its own and is idle until standard input ends; its parent waits for it.
fn fork_and_idle() {
    let _run = traced_run("forked");
    tool_call("before").record().unwrap();
    match fork::fork().unwrap() {
        Fork::Child => {
            let _own = traced_run("the child's own");
            tool_call("in the child").record().unwrap();
            tell("ready");
            wait_for_a_line();
        }
        Fork::Parent(child) => {
            fork::waitpid(child).unwrap();
        }
    }
}

/// Starts a program of its own that lives until its standard input ends, and waits.
fn exec_and_wait() {
    let _run = traced_run("parent of another program");
    tool_call("before").record().unwrap();
    let mut child = Command::new("cat")
        .stdin(Stdio::inherit())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    tell("ready");
    child.wait().unwrap();
}
