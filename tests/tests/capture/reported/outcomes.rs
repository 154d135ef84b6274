//! How the calls of a reported exchange ended, as far as it shows.

use super::play;

#[test]
fn a_tool_that_is_the_answer_has_not_failed() {
    let played = play("forced-tool-as-structured-output");
    let mut records = played.run.records.iter();
    let is_tool =
        |record: &tracer_sdk::format::Record| record.event_type() == tracer_sdk::format::EventType::ToolCall;
    assert!(
        !records.any(is_tool),
        "the request demands it: it is the answer's form"
    );
    let shown = played.tracer(&["show"]);
    assert!(
        !shown.contains("failed") && !shown.contains("no_result"),
        "{shown}"
    );
}
