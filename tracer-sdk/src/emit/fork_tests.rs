//! Every public function × a fork while each lock is held by another thread: the child, which has that lock held for
//! ever, waits for nothing, and its parent's run is not its own.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::io::{Read, Write, pipe};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use fork::Fork;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::run::{Run, RunGuard};
use super::run_state::registry;
use super::scope::Scope;
use super::site::Site;
use super::{Context, LlmSpan, Span, ToolSpan, TraceFutureExt};
use crate::guardrails::Guardrails;
use crate::settings::Config;
use crate::{Guardrail, llm_call, record_error, span, state, tool_call, unattached_records};
use tracer_format::Usage;

/// How long a child may take that must not wait.
const DEADLINE: Duration = Duration::from_secs(20);

/// Runs `work` in a forked child, and fails when that does not end well in time. `work` says where it is.
#[track_caller]
fn in_a_child(what: &str, work: impl FnOnce(&mut dyn FnMut(&str))) {
    let (mut reading, mut writing) = pipe().unwrap();
    match fork::fork().unwrap() {
        Fork::Child => {
            drop(reading);
            let worked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                work(&mut |step| writeln!(writing, "{step}").unwrap());
            }));
            if let Err(panic) = worked {
                let message = panic.downcast_ref::<String>().cloned();
                writeln!(writing, "panicked: {message:?}").unwrap();
            }
            // The other threads of the test have no copy here, and what waits for them would wait for ever.
            kill(Pid::this(), Signal::SIGKILL).unwrap();
        }
        Fork::Parent(child) => {
            drop(writing);
            let start = Instant::now();
            while fork::waitpid_nohang(child).unwrap().is_none() {
                if start.elapsed() > DEADLINE {
                    kill(Pid::from_raw(child), Signal::SIGKILL).unwrap();
                    fork::waitpid(child).unwrap();
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            let mut steps = String::new();
            reading.read_to_string(&mut steps).unwrap();
            assert_eq!(steps.lines().last(), Some("done"), "{what}: {steps}");
        }
    }
}

/// Everything of the parent that a child may still have in its hands.
struct Inherited {
    run: RunGuard,
    scope: Scope,
    tool: ToolSpan,
    llm: LlmSpan,
    span: Span,
}

impl Inherited {
    fn new(config: &Config) -> Self {
        let run = Run::new("of the parent").config(config).start();
        let site = Site::new(None, "src/lib.rs", "scoped", 1);
        Self {
            scope: Scope::tool(&site),
            tool: tool_call("search").start().unwrap(),
            llm: llm_call("gpt-5").start().unwrap(),
            span: span("plan").start(),
            run,
        }
    }

    /// Calls everything that touches the parent's run.
    fn use_all(mut self, tell: &mut dyn FnMut(&str)) {
        let run = &self.run;
        tell("RunGuard");
        assert!(run.trace_id().is_some());
        assert!(run.dir().is_some());
        run.fail("it went wrong");
        assert!(run.observe("x".parse::<u8>()).is_err());
        assert_eq!(run.check(), Ok(()));
        run.flush();
        assert_eq!(run.stats().written, 0, "a child has written nothing");

        tell("Context");
        assert!(
            Context::current().is_none(),
            "the parent's run is not the child's"
        );
        let context = run.context().unwrap();
        assert!(format!("{context:?}").contains("trace_id"));
        assert!(context.share().contains(&context.trace_id().to_string()));
        context.in_scope(|| tool_call("in scope").record()).unwrap();
        context
            .clone()
            .wrap(|| tool_call("wrapped").record())
            .call_once_now();
        drop(context.enter());

        tell("recorders");
        let calls = || {
            let before = unattached_records();
            tool_call("a")
                .args(&1)
                .result(&2)
                .meta(&3)
                .attribute("b", &4)
                .record()
                .unwrap();
            llm_call("b")
                .prompt("c")
                .response("d")
                .usage(Usage::default())
                .record()
                .unwrap();
            state(&1).diff(&2).record().unwrap();
            record_error(&std::io::Error::other("e")).unwrap();
            let mut call = tool_call("f").start().unwrap();
            call.result(&1);
            call.end().unwrap();
            let mut call = llm_call("g").start().unwrap();
            call.chunk("h");
            call.end().unwrap();
            let plan = span("i").start();
            plan.in_scope(|| tool_call("j").record()).unwrap();
            plan.end();
            assert!(unattached_records() > before);
        };
        calls();
        std::thread::spawn(calls).join().unwrap();

        tell("spans");
        drop(self.tool.enter());
        assert!(self.tool.context().is_some());
        self.tool.result(&1).attribute("a", &2).fail("b");
        self.tool.in_scope(|| ());
        drop(self.tool.instrument(async {}));
        self.tool.end().unwrap();
        self.llm
            .response(&1)
            .chunk("a")
            .usage(Usage::default())
            .stop_reason("b")
            .fail("c");
        self.llm.end().unwrap();
        self.span.attribute("a", &1).fail("b");
        self.span.end();

        tell("futures");
        drop(async {}.in_current_run());
        drop(async {}.in_context(context.clone()));
        drop(
            Run::new("in a future")
                .config(&Config::new().enabled(false))
                .try_instrument(async { Ok::<(), String>(()) }),
        );

        tell("scopes");
        self.scope.arguments(&1);
        self.scope.result(&2);
        assert!(self.scope.refused().is_none() && self.scope.tripped().is_none());
        self.scope.fail(crate::ErrorInfo::new("a", "b"));
        drop(self.scope.enter());
        self.scope.cancel();
        self.scope.end_if_panicked(self.scope.watch().as_ref());
        self.scope.end();

        tell("the end of the parent's run");
        self.run.finish();
        drop(context);
    }
}

/// So that a wrapped closure reads as one call above.
trait CallOnce {
    fn call_once_now(self);
}

impl<F: FnOnce() -> Result<(), crate::GuardrailExceeded>> CallOnce for F {
    fn call_once_now(self) {
        self().unwrap();
    }
}

/// A child's own run is like any other.
fn use_an_own_run(config: &Config, tell: &mut dyn FnMut(&str)) {
    tell("a run of its own");
    let limits = Guardrails::new().max_tool_calls(2);
    let run = Run::new("of the child").config(config).guardrails(limits).start();
    tool_call("here").record().unwrap();
    tell("a thread of its own");
    std::thread::spawn(|| tool_call("attached").record())
        .join()
        .unwrap()
        .unwrap();
    let refused = tool_call("one too many").start().map(drop).unwrap_err();
    assert_eq!(refused.guardrail, Guardrail::MaxToolCalls);
    assert!(run.dir().unwrap().join(".live").exists());
    let context = run.context().unwrap();
    let written = std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| context.in_scope(|| (0..50).for_each(|_| span("busy").start().end())));
        }
        run.stats().dropped
    });
    assert_eq!(written, 0);
    assert_eq!(run.finish().written, 2 + 1 + 200 + 1);
}

#[test]
fn nothing_that_a_fork_can_leave_locked_is_waited_for_whatever_is_called() {
    let folder = tempfile::tempdir().unwrap();
    let config = Config::new().data_dir(folder.path());
    for lock in ["nothing", "files", "progress", "span", "registry"] {
        // Dropped last: the lock is free again by then, even when the test fails.
        let mut parent = Some(Inherited::new(&config));
        let (held, is_held) = channel();
        let (let_go, is_let_go) = channel::<()>();
        let inherited = parent.as_ref().unwrap();
        let (state, scope) = (inherited.run.context().unwrap().run, inherited.scope.clone());
        let holder = std::thread::spawn(move || {
            let files = (lock == "files").then(|| state.hold_files().unwrap());
            let progress = (lock == "progress").then(|| state.hold_progress().unwrap());
            let span = (lock == "span").then(|| scope.hold_span().unwrap());
            let registry = (lock == "registry").then(|| registry::hold().unwrap());
            held.send(()).unwrap();
            let _ = is_let_go.recv();
            drop((files, progress, span, registry));
        });
        is_held.recv().unwrap();
        in_a_child(lock, |tell| {
            parent.take().unwrap().use_all(tell);
            use_an_own_run(&config, tell);
            tell("done");
        });
        drop(let_go);
        holder.join().unwrap();
    }
}
