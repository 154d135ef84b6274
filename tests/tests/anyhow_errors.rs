//! Errors that hold a backtrace, as `anyhow`'s do with `RUST_BACKTRACE=1`: it is never resolved on the way of a call that goes
//! on.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use serde_json::json;
use tracer_sdk::format::EventType;
use tracer_sdk::{Run, tool_call, trace};
use tracer_tests::DataDir;

#[trace(tool)]
fn fails() -> anyhow::Result<()> {
    let cause = "x".parse::<u8>().unwrap_err();
    Err(anyhow::Error::new(cause).context("cannot read the port"))
}

#[test]
fn an_anyhow_error_is_recorded_with_its_messages_and_without_its_backtrace() {
    let data = DataDir::new();
    data.run("agent").in_scope_infallible(|| {
        assert!(fails().is_err());
        tool_call("by hand")
            .error(&fails().unwrap_err())
            .record()
            .unwrap();
        let nested: Result<(), anyhow::Error> = Run::new("nested").in_scope(fails);
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
