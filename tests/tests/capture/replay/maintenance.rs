//! `tracer cassette`, and the guard for tests.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::json;
use tracer_capture::cassette::Replay;

use super::{conversation, recorded_conversation, request, script};
use crate::record::{EXPORTER, Outcome, Recorder};

fn cassette(recorder: &Recorder, arguments: &[&str]) -> Outcome {
    recorder
        .tracer()
        .arg("cassette")
        .args(arguments)
        .output()
        .unwrap()
        .into()
}

#[test]
fn a_cassette_is_shown_as_a_conversation() {
    let (recorder, _provider) = recorded_conversation();
    let shown = cassette(&recorder, &["show", "agent.jsonl"]);
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
    for command in ["show", "check", "repair"] {
        let headed = cassette(&recorder, &[command, "agent.jsonl"]);
        let expected = format!("agent.jsonl  2 calls, {cost}, recorded 2");
        assert!(headed.stdout.starts_with(&expected), "{expected:?}: {headed:#?}");
    }
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
fn a_check_shows_everything_that_changed() {
    let (recorder, provider) = recorded_conversation();
    let command = ["check", "agent.jsonl", "--", EXPORTER, "ask-script"];
    assert_eq!(cassette(&recorder, &command).code, Some(0));
    let mut requests = conversation("{\"status\":\"lost\"}");
    requests[0]["body"]["model"] = json!("gpt-6");
    script(&recorder, &requests);
    let checked = cassette(&recorder, &command);
    assert_eq!(checked.code, Some(7), "{checked:#?}");
    checked
        .says("at       model (the model)")
        .says("at       messages[2].content");
    assert!(
        !checked.stdout.contains("424"),
        "every request was answered: {checked:#?}"
    );
    assert_eq!(provider.connections(), 2, "only the recording connected");
}

#[test]
fn a_repair_rewrites_what_differs_by_chance() {
    let (recorder, _provider) = recorded_conversation();
    let command = ["repair", "agent.jsonl", "--", EXPORTER, "ask-script"];
    let mut requests = conversation("{\"status\":\"shipped\"}");
    for request in &mut requests {
        request["body"]["messages"][0]["content"] = json!("Where is order 7? Ticket 4711-0815");
    }
    script(&recorder, &requests);
    let before = fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    let refused = cassette(&recorder, &command);
    assert_eq!(refused.code, Some(7), "other words are no chance: {refused:#?}");
    assert_eq!(fs::read_to_string(recorder.path("agent.jsonl")).unwrap(), before);

    let with_ticket = before.replace("Where is order 7?", "Where is order 7? Ticket 1234-5678");
    fs::write(recorder.path("agent.jsonl"), with_ticket).unwrap();
    assert_eq!(super::replay(&recorder, &[]).code, Some(7));
    let repaired = cassette(&recorder, &command);
    assert_eq!(repaired.code, Some(0), "{repaired:#?}");
    repaired.says("2 requests rewritten in agent.jsonl");
    assert_eq!(super::replay(&recorder, &[]).code, Some(0));
}

#[test]
fn a_torn_cassette_is_repaired() {
    let (recorder, _provider) = recorded_conversation();
    let whole = fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    fs::write(recorder.path("agent.jsonl"), &whole[..whole.len() - 30]).unwrap();
    assert_eq!(cassette(&recorder, &["check", "agent.jsonl"]).code, Some(7));
    assert_eq!(cassette(&recorder, &["repair", "agent.jsonl"]).code, Some(0));
    assert_eq!(cassette(&recorder, &["check", "agent.jsonl"]).code, Some(0));
    let lines = fs::read_to_string(recorder.path("agent.jsonl")).unwrap();
    assert_eq!(lines, whole.split_inclusive('\n').take(2).collect::<String>());
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
