//! No credential reaches a run, its exchanges, a cassette or a message, wherever it comes by.

use std::fs;

use serde_json::json;
use tracer_tests::secrets::{Sample, samples};

use super::{Provider, replay, request, script};
use crate::record::{EXPORTER, Recorder};

/// Requests with a credential each in headers, query, body and answer.
#[test]
fn sixty_planted_credentials_are_nowhere() {
    let planted: Vec<Sample> = (1..=4).flat_map(samples).take(60).collect();
    assert_eq!(planted.len(), 60);
    let answers = planted.iter().map(|sample| {
        let body = json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": sample.text}}]});
        // Every other one comes as a stream, with the credential in pieces.
        if sample.secret.len() % 2 == 0 {
            return ("application/json", body.to_string());
        }
        let letters: Vec<char> = sample.text.chars().collect();
        let events = letters.chunks(5).map(|piece| {
            let piece: String = piece.iter().collect();
            format!("data: {}\n\n", json!({"choices": [{"index": 0, "delta": {"content": piece}}]}))
        });
        ("text/event-stream", events.collect::<String>() + "data: [DONE]\n\n")
    });
    let provider = Provider::start(answers.collect());
    let recorder = Recorder::new()
        .env("OPENAI_BASE_URL", &format!("http://{}/v1", provider.address))
        .env("OPENAI_API_KEY", &planted[0].secret);
    let requests: Vec<_> = planted
        .iter()
        .map(|sample| {
            let header: String = sample.secret.chars().filter(char::is_ascii_graphic).collect();
            let in_query: String = sample
                .secret
                .chars()
                .filter(char::is_ascii_alphanumeric)
                .collect();
            let path = format!("/chat/completions?key={in_query}&api-version=1");
            let body = json!({"model": "gpt-5", "messages": [{"role": "user", "content": sample.text}]});
            let mut request = request("OPENAI_BASE_URL", &path, body);
            request["headers"] = json!(format!("x-api-key: {header}\r\ncookie: a={header}\r\n"));
            request
        })
        .collect();
    script(&recorder, &requests);
    let recording = recorder.record_with(&["--cassette", "agent.jsonl"], &[EXPORTER, "ask-script"]);
    assert_eq!(recording.code, Some(0), "{}", recording.stderr);
    recording.says("a secret was replaced in the cassette");
    let replayed = replay(&recorder, &[]);
    let mut missed = requests.clone();
    missed[3]["body"]["messages"][0]["content"] = json!(format!("now it is {}", planted[5].text));
    script(&recorder, &missed);
    let missing = replay(&recorder, &[]);
    assert_eq!(missing.code, Some(7), "{}", missing.stderr);
    let mut places: Vec<(String, String)> = recorder
        .data
        .files()
        .into_iter()
        .map(|(path, bytes)| {
            (
                path.display().to_string(),
                String::from_utf8_lossy(&bytes).into_owned(),
            )
        })
        .collect();
    places.push((
        "cassette".to_owned(),
        fs::read_to_string(recorder.path("agent.jsonl")).unwrap(),
    ));
    for outcome in [&recording, &replayed, &missing] {
        places.push(("standard error".to_owned(), outcome.stderr.clone()));
    }
    // What the program prints of a replay is what the cassette holds.
    places.push(("answers".to_owned(), replayed.stdout.clone()));
    for sample in &planted {
        let secret = sample.secret.trim();
        let shown = serde_json::to_string(secret).unwrap();
        let shown = shown.trim_matches('"');
        for (place, text) in &places {
            assert!(
                !text.contains(secret) && !text.contains(shown),
                "{} in {place}",
                sample.kind
            );
        }
    }
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    assert!(!places.iter().any(|(_, text)| text.contains("session=planted")));
}
