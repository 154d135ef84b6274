//! How the calls of a reported exchange ended, as far as it shows.

use super::play;

#[test]
fn a_tool_that_is_the_answer_has_not_failed() {
    let played = play("forced-tool-as-structured-output");
    let answer = played
        .run
        .records
        .iter()
        .find(|record| record.name == "Answer")
        .unwrap();
    assert_eq!(answer.outcome(), tracer_sdk::format::Outcome::Unknown);
    assert_eq!(answer.meta["outcome"], "unknown");
    let shown = played.tracer(&["show"]);
    assert!(
        !shown.contains("failed") && !shown.contains("no_result"),
        "{shown}"
    );
}
