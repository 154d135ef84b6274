//! The agent against its recorded answers: no model is asked, no key is needed, and what changes in the agent shows.

use std::process::Command;

use tracer_capture::cassette::{Replay, ReplayOutcome};

/// Runs the agent against the cassette; gives what it printed, and what came of the replay.
fn replayed(question: &str) -> (String, ReplayOutcome) {
    let replay = Replay::start("parcels.jsonl").unwrap();
    let data = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_example-agent"))
        .arg(question)
        .env("TRACER_DATA_DIR", data.path())
        .env("OPENAI_BASE_URL", replay.base_url("openai"))
        .env("OPENAI_API_KEY", "none")
        .env_remove("OPENAI_MODEL")
        .output()
        .unwrap();
    (String::from_utf8(output.stdout).unwrap(), replay.finish())
}

#[test]
fn the_recorded_conversation_is_answered() {
    let (answer, outcome) = replayed("What do 3 parcels to Norway cost?");
    assert!(outcome.is_complete(), "{outcome:#?}");
    assert_eq!(answer, "3 parcels to Norway cost 37.50 EUR (shipping.md).\n");
}

#[test]
fn another_question_is_a_miss_that_names_it() {
    let (_, outcome) = replayed("What do 4 parcels to Norway cost?");
    let nearest = outcome.misses[0].nearest.as_ref().unwrap();
    assert_eq!(nearest.difference.path, "messages[1].content");
}
