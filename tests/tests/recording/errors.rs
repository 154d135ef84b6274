//! Errors as they are recorded: without resolving a backtrace, and cut where their text never ends.

use std::fmt::{self, Display};

use serde_json::json;
use tracer_sdk::format::EventType;
use tracer_sdk::{Run, llm_call, record_error, span, tool_call, trace};
use tracer_tests::DataDir;

#[trace(tool)]
fn fails() -> anyhow::Result<()> {
    let cause = "x".parse::<u8>().unwrap_err();
    Err(anyhow::Error::new(cause).context("cannot read the port"))
}

#[test]
fn an_anyhow_error_is_recorded_with_its_messages_and_without_its_backtrace() {
    let data = DataDir::new();
    data.run("agent").in_scope(|| {
        assert!(fails().is_err());
        tool_call("by hand").fail(&fails().unwrap_err()).record().unwrap();
        let nested: Result<(), anyhow::Error> = Run::new("nested").try_in_scope(fails);
        assert!(nested.is_err());
    });
    let finished = data.finished();
    let calls = finished.all(EventType::ToolCall);
    assert_eq!(calls.len(), 4);
    for call in calls {
        let error = &tracer_tests::finished::payload(call)["error"];
        assert_eq!(
            error["message"],
            json!("cannot read the port: invalid digit found in string")
        );
        let stack = error["stack"].as_str().unwrap_or_default();
        assert!(
            stack.lines().count() <= 2 && !stack.contains("backtrace"),
            "{stack}"
        );
    }
}

/// How long a line may be (decisions, section 5).
const MAX_LINE_BYTES: usize = 1024 * 1024;

/// Prints for ever, and is caused by itself.
struct Endless;

impl Display for Endless {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        loop {
            formatter.write_str("on and on ")?;
        }
    }
}

impl fmt::Debug for Endless {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, formatter)
    }
}

impl std::error::Error for Endless {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(self)
    }
}

/// Can only be debugged.
struct OnlyDebug;

impl fmt::Debug for OnlyDebug {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&Endless, formatter)
    }
}

/// Can only be displayed.
struct OnlyDisplay;

impl Display for OnlyDisplay {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(&Endless, formatter)
    }
}

#[trace(tool)]
fn standard_error() -> Result<(), Endless> {
    Err(Endless)
}

#[trace(tool)]
fn debug_error() -> Result<(), OnlyDebug> {
    Err(OnlyDebug)
}

#[trace(tool)]
fn display_error() -> Result<(), OnlyDisplay> {
    Err(OnlyDisplay)
}

#[trace(tool)]
fn boxed_error() -> Result<(), Box<dyn std::error::Error>> {
    Err(Box::new(Endless))
}

#[trace]
fn nested() -> Result<(), Endless> {
    Err(Endless)
}

#[test]
fn an_endless_error_is_cut_on_every_way_into_a_run() {
    let data = DataDir::new();
    let run = data.run("endless").start();
    tool_call("recorded").fail(&Endless).record().unwrap();
    let mut call = llm_call("started").start().unwrap();
    call.fail(&Endless);
    call.end().unwrap();
    let mut step = span("step").start();
    step.fail(&Endless);
    step.end();
    record_error(&Endless).unwrap();
    assert!(standard_error().is_err());
    assert!(debug_error().is_err());
    assert!(display_error().is_err());
    assert!(boxed_error().is_err());
    assert!(nested().is_err());
    assert!(run.observe(Err::<(), _>(Endless)).is_err());
    run.fail(&Endless);
    let directory = run.dir().unwrap();
    let stats = run.finish();
    assert_eq!((stats.written, stats.dropped), (10, 0));
    let run = data.finished();
    assert_eq!(run.run.spans.len(), 10);
    let log = std::fs::read_to_string(directory.join("spans.jsonl")).unwrap();
    for line in log.lines() {
        assert!(line.len() < MAX_LINE_BYTES, "{}", &line[..200]);
        assert!(line.contains("__TRUNCATED__"), "{}", &line[..200]);
    }
}
