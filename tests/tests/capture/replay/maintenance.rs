//! `tracer replay --show`, and the guard for tests.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use tracer_capture::cassette::Replay;

use super::{conversation, recorded_conversation, request};
use crate::record::{Outcome, Recorder};

fn shown(recorder: &Recorder) -> Outcome {
    recorder
        .tracer()
        .args(["replay", "agent.jsonl", "--show"])
        .output()
        .unwrap()
        .into()
}

#[test]
fn a_cassette_is_shown_as_a_conversation() {
    let (recorder, _provider) = recorded_conversation();
    let shown = shown(&recorder);
    assert_eq!(shown.code, Some(0), "{shown:#?}");
    for line in [
        "  1  openai.chat gpt-5  200  8 + 2 tokens",
        "     user       Where is order 7?",
        "     assistant  lookup_order(",
        "     tool       ",
        "     assistant  It is shipped.",
    ] {
        assert!(shown.stdout.contains(line), "{line:?} is not in {shown:#?}");
    }
}

#[test]
fn the_heading_says_what_the_recorded_calls_cost_as_their_run_does() {
    let (recorder, _provider) = recorded_conversation();
    let listed = recorder.tracer().args(["list", "--json"]).output().unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    let cost = listed["runs"][0]["cost"]["words"].as_str().unwrap();
    assert!(cost.starts_with("$0.0"), "{cost}");
    let headed = shown(&recorder);
    let expected = format!("agent.jsonl  2 calls, {cost}, recorded 2");
    assert!(headed.stdout.starts_with(&expected), "{expected:?}: {headed:#?}");
}

#[test]
fn a_replayed_run_costs_nothing_and_says_what_it_would_have_cost() {
    let (recorder, _provider) = recorded_conversation();
    let json = |arguments: &[&str]| -> serde_json::Value {
        let output = recorder.tracer().args(arguments).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let cost = |listed: &serde_json::Value| listed["runs"][0]["cost"].clone();
    let live = cost(&json(&["list", "--json"]));
    assert_eq!(super::replay(&recorder, &[]).code, Some(0));
    let words = format!(
        "$0, 2 replayed calls would have cost {}",
        live["words"].as_str().unwrap()
    );
    let replayed = cost(&json(&["list", "--json", "--limit", "1"]));
    assert_eq!(replayed["words"], json!(words));
    assert_eq!(replayed["usd"], json!(0.0));
    let shown = recorder.tracer().arg("show").output().unwrap();
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains(&words), "{shown}");
    // Together they cost what the recorded run did.
    let stats = &json(&["stats", "--json"])["all"];
    assert_eq!(stats["runs"], json!(2));
    assert_eq!(stats["cost_usd"], live["usd"]);
    assert_eq!(stats["unpriced_calls"], json!(0));
}

#[test]
fn the_end_of_a_torn_cassette_is_left_out() {
    let (recorder, _provider) = recorded_conversation();
    let whole = fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    fs::write(recorder.path("agent.jsonl"), &whole[..whole.len() - 30]).unwrap();
    let torn = shown(&recorder);
    assert_eq!(torn.code, Some(0), "{torn:#?}");
    assert!(
        torn.stdout.contains("the last line is cut short, and left out"),
        "{torn:#?}"
    );
}

/// Asks at a base URL as a client would; gives the status.
fn ask(base_url: &str, body: &serde_json::Value) -> String {
    let (host, path) = base_url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = body.to_string();
    let mut stream = TcpStream::connect(host).unwrap();
    let head = format!(
        "POST /{path}/chat/completions HTTP/1.0\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer[9..12].to_owned()
}

#[test]
fn a_guard_answers_a_test_and_fails_it_on_a_miss() {
    let (recorder, _provider) = recorded_conversation();
    let path = recorder.path("agent.jsonl");
    let requests = conversation("{\"status\":\"shipped\"}");
    let replay = Replay::start(&path).unwrap();
    for request in &requests {
        assert_eq!(ask(&replay.base_url("openai"), &request["body"]), "200");
    }
    drop(replay);

    let replay = Replay::start(&path).unwrap();
    let other = request(
        "OPENAI_BASE_URL",
        "/chat/completions",
        json!({"model": "gpt-5", "messages": []}),
    );
    assert_eq!(ask(&replay.base_url("openai"), &other["body"]), "424");
    let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(replay))).unwrap_err();
    let message = failed.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("is not in") && message.contains("were never asked"),
        "{message}"
    );
}
