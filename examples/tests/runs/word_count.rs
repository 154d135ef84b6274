//! What the synchronous example records.

use crate::execution::Execution;
use serde_json::json;

fn word_count(arguments: &[&str]) -> Execution {
    Execution::of(env!("CARGO_BIN_EXE_word_count"), arguments)
}

#[test]
fn a_run_has_every_step_in_order() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.txt"), "one two two").unwrap();
    std::fs::write(folder.path().join("b.txt"), "Two, three: 3").unwrap();
    let run = word_count(&[folder.path().to_str().unwrap()]);
    assert_eq!(run.code(), Some(0));
    assert_eq!(
        run.stdout(),
        "5 words in 2 files; most frequent: two (3), one (1), three (1)\n"
    );
    let story = [
        "RUN_START word count",
        "TOOL_CALL list_folder",
        "STATE_UPDATE state",
        "TOOL_CALL count_words",
        "STATE_UPDATE state",
        "TOOL_CALL rank_words",
        "STATE_UPDATE state",
        "RUN_END word count",
    ];
    assert_eq!(run.story(), story);
    assert_eq!(run.meta["status"], "ok");
    assert_eq!(
        run.payloads("TOOL_CALL")[0]["result"],
        json!({"files": ["a.txt", "b.txt"]})
    );
    let counted = json!({"step": "counted", "words": 5, "different_words": 3});
    assert_eq!(run.payloads("STATE_UPDATE")[1]["state"], counted);
}

#[test]
fn a_folder_that_cannot_be_read_fails_the_call_and_the_run() {
    let run = word_count(&["no-such-folder"]);
    assert_eq!(run.code(), Some(1));
    assert_eq!(run.meta["status"], "error");
    let story = [
        "RUN_START word count",
        "TOOL_CALL list_folder",
        "ERROR word count",
        "RUN_END word count",
    ];
    assert_eq!(run.story(), story);
    let [call] = run.payloads("TOOL_CALL")[..] else {
        panic!("one call")
    };
    assert_eq!(call["status"], "error");
    let [error] = run.payloads("ERROR")[..] else {
        panic!("one error")
    };
    assert_eq!(error["message"], call["error"]["message"]);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .starts_with("`no-such-folder` cannot be read: ")
    );
    assert!(error["stack"].as_str().unwrap().contains("src/bin/word_count.rs"));
}
