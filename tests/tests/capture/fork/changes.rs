//! What a fork changes, and what it leaves as it was recorded.

use std::time::{Duration, Instant};

use rstest::rstest;
use serde_json::{Value, json};

use super::{
    CALLS, answers, calls_of, fork, fork_with_edited_answer, forked_run, only_run, recorded_agent, request,
    requests, script,
};
use crate::record::EXPORTER;

#[test]
fn a_run_is_forked_at_every_call() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    for at in 1..=CALLS {
        let asked = model.requests().len();
        let option = at.to_string();
        let forked = fork(&recorder, &run, &["--at", &option, "--yes"]);
        assert_eq!(forked.code, Some(0), "{forked:#?}");
        assert_eq!(
            model.requests().len() - asked,
            CALLS + 1 - at,
            "at {at}: {forked:#?}"
        );
        let before = match at - 1 {
            1 => "1 call".to_owned(),
            count => format!("{count} calls"),
        };
        forked.says(&format!(
            "{before} as recorded, 0 changed, {} asked of the provider",
            CALLS + 1 - at
        ));
        assert_eq!(answers(&forked).len(), CALLS);
    }
}

#[test]
fn calls_before_the_fork_are_byte_for_byte_as_recorded() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let replayed = fork(&recorder, &run, &["--at", "12", "--yes"]);
    // The model gives the same answers each time.
    let live = recorder.record(&[EXPORTER, "ask-script"]);
    assert_eq!(replayed.stdout, live.stdout);
    assert_eq!(model.requests().len(), CALLS + 1 + CALLS);
    let new = forked_run(&recorder, &run);
    assert_ne!(new, run);
}

#[test]
fn an_edited_answer_is_given_as_the_call_wants_it() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let printed = recorder
        .tracer()
        .args(["fork", &run, "--print-answer", "6"])
        .output()
        .unwrap();
    assert!(printed.status.success(), "{printed:?}");
    let mut answer: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(answer["choices"][0]["message"]["content"], "live answer of gpt-5");
    answer["choices"][0]["message"]["content"] = json!("It was edited.");
    recorder.write("answer.json", &answer.to_string());
    for (call, is_streamed) in [(5, false), (6, true)] {
        let asked = model.requests().len();
        let (at, edit) = (call.to_string(), format!("{call}:answer.json"));
        let forked = fork(&recorder, &run, &["--at", &at, "--edit", &edit, "--yes"]);
        assert_eq!(forked.code, Some(0), "{forked:#?}");
        assert_eq!(
            answers(&forked)[call - 1],
            ("200".to_owned(), "It was edited.".to_owned())
        );
        assert_eq!(forked.stdout.matches("It was edited.").count(), 1);
        let is_in_stream = forked
            .stdout
            .lines()
            .any(|line| line.starts_with("data: ") && line.contains("It was edited."));
        assert_eq!(is_in_stream, is_streamed, "{forked:#?}");
        assert_eq!(model.requests().len() - asked, CALLS - call, "{forked:#?}");
        forked.says(&format!("changed: edited answer of call {call}"));
    }
}

#[rstest]
#[case::limited("4:429", "429")]
#[case::overloaded("4:529", "529")]
#[case::not_allowed("4:403", "403")]
fn a_call_may_fail_with_a_status(#[case] fault: &str, #[case] status: &str) {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let asked = model.requests().len();
    let forked = fork(&recorder, &run, &["--at", "4", "--fail", fault, "--yes"]);
    let answers = answers(&forked);
    assert_eq!(answers[3].0, status, "{forked:#?}");
    assert!(answers[3].1.contains("\"error\""), "{forked:#?}");
    assert_eq!(
        answers.iter().filter(|(status, _)| status == "200").count(),
        CALLS - 1
    );
    assert_eq!(model.requests().len() - asked, CALLS - 4, "{forked:#?}");
    let calls = calls_of(&recorder, &forked_run(&recorder, &run));
    let failed: Vec<_> = calls
        .iter()
        .filter(|call| call.contains_key("error.type") || call.contains_key("tracer.error_type"))
        .collect();
    assert_eq!(failed.len(), 1, "{calls:#?}");
}

#[test]
fn a_call_may_be_cut_short() {
    let (recorder, _model) = recorded_agent();
    let run = only_run(&recorder);
    for call in [4, 6] {
        let (at, fault) = (call.to_string(), format!("{call}:cut"));
        let forked = fork(&recorder, &run, &["--at", &at, "--fail", &fault, "--yes"]);
        let whole = fork(&recorder, &run, &["--at", "12", "--yes"]);
        let (cut, whole) = (body(&forked.stdout, call), body(&whole.stdout, call));
        assert!(
            whole.starts_with(cut) && cut.len() == whole.len() / 2,
            "{cut:?} of {whole:?}"
        );
        let calls = calls_of(&recorder, &newest(&recorder));
        assert_eq!(calls.len(), CALLS);
    }
}

/// The body of an answer that the agent printed, as it came.
fn body(stdout: &str, call: usize) -> &str {
    let mut rest = stdout;
    for _ in 1..call {
        let (head, behind) = rest.split_once('\n').unwrap();
        rest = &behind[head.split(' ').nth(1).unwrap().parse::<usize>().unwrap()..];
    }
    let (head, behind) = rest.split_once('\n').unwrap();
    &behind[..head.split(' ').nth(1).unwrap().parse::<usize>().unwrap()]
}

fn newest(recorder: &crate::record::Recorder) -> String {
    recorder.runs()[0].directory.trace_id.to_string()
}

#[test]
fn a_call_without_an_answer_waits_until_its_client_gives_up() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let asked = model.requests().len();
    let mut impatient = request(2);
    impatient["time_out_ms"] = json!(300);
    script(&recorder, &[request(1), impatient, request(3)]);
    let began = Instant::now();
    let forked = fork(&recorder, &run, &["--at", "2", "--fail", "2:timeout", "--yes"]);
    assert!(began.elapsed() >= Duration::from_millis(300));
    assert_eq!(
        answers(&forked)[1],
        ("000".to_owned(), String::new()),
        "{forked:#?}"
    );
    assert_eq!(answers(&forked)[2].0, "200", "{forked:#?}");
    assert_eq!(model.requests().len() - asked, 1);
}

#[test]
fn another_model_and_prompt_are_asked_from_the_fork_on() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    recorder.write("prompt.txt", "Be kind.");
    let asked = model.requests().len();
    let options = ["--at", "9", "--model", "gpt-6", "--system", "prompt.txt", "--yes"];
    let forked = fork(&recorder, &run, &options);
    assert_eq!(forked.code, Some(0), "{forked:#?}");
    forked.says("changed: model gpt-6, another system prompt");
    let sent: Vec<Value> = model.requests()[asked..]
        .iter()
        .map(|request| serde_json::from_slice(&request.body).unwrap())
        .collect();
    assert_eq!(sent.len(), 4);
    for (call, body) in (9..).zip(&sent) {
        let mut expected = request(call)["body"].clone();
        expected["model"] = json!("gpt-6");
        expected["messages"][0]["content"] = json!("Be kind.");
        assert_eq!(*body, expected);
    }
    let texts: Vec<String> = answers(&forked).into_iter().map(|(_, text)| text).collect();
    let (before, after) = texts.split_at(8);
    assert!(
        before.iter().all(|text| text == "live answer of gpt-5"),
        "{texts:?}"
    );
    assert!(
        after.iter().all(|text| text == "live answer of gpt-6"),
        "{texts:?}"
    );
    // The run says what the provider was asked.
    let calls = calls_of(&recorder, &forked_run(&recorder, &run));
    let models: Vec<&str> = calls
        .iter()
        .map(|call| call["gen_ai.request.model"].as_str().unwrap())
        .collect();
    assert_eq!(
        models.iter().filter(|model| **model == "gpt-6").count(),
        4,
        "{models:?}"
    );
}

#[test]
fn only_calls_of_the_provider_are_not_marked_as_replayed() {
    let (recorder, _model) = recorded_agent();
    let run = only_run(&recorder);
    fork_with_edited_answer(&recorder, &run);
    let calls = calls_of(&recorder, &forked_run(&recorder, &run));
    let replayed: Vec<bool> = calls
        .iter()
        .map(|call| call.get("tracer.replayed") == Some(&json!(true)))
        .collect();
    assert_eq!(replayed, [[true; 4].as_slice(), &[false; 8]].concat());
    let numbers: Vec<u64> = calls
        .iter()
        .map(|call| call["tracer.call_number"].as_u64().unwrap())
        .collect();
    assert_eq!(numbers, (1..=CALLS as u64).collect::<Vec<_>>());
}

#[test]
fn a_fork_is_forked_again() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    fork_with_edited_answer(&recorder, &run);
    let first = forked_run(&recorder, &run);
    let asked = model.requests().len();
    let again = fork(&recorder, &first, &["--at", "12", "--yes"]);
    assert_eq!(again.code, Some(0), "{again:#?}");
    assert_eq!(answers(&again)[3].1, "It was edited.");
    assert_eq!(model.requests().len() - asked, 1);
    script(&recorder, &requests());
}
