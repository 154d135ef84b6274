//! Forks that are refused: the agent left the recorded way, or the run cannot be forked like that.

use serde_json::json;

use super::{CALLS, answers, fork, only_run, recorded_agent, requests, script};
use crate::record::Recorder;

#[test]
fn a_drifted_call_is_refused_with_its_place() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let asked = model.requests().len();
    let mut drifted = requests();
    for request in &mut drifted[2..] {
        request["body"]["messages"][3]["content"] = json!("another question");
    }
    script(&recorder, &drifted);
    let refused = fork(&recorder, &run, &["--at", "8", "--yes"]);
    assert_eq!(refused.code, Some(7), "{refused:#?}");
    refused
        .says(&format!(
            "✗ fork: call 3 (openai.chat, gpt-5) is not in run {}",
            &run[..8]
        ))
        .says("nearest  recorded call 3, differs in 1 place")
        .says("at       messages[3].content (message of the user)")
        .says("- question 3")
        .says("+ another question")
        .says("the fork stopped: 2 calls as recorded, then the command asked something else")
        .says("--at 3");
    assert_eq!(model.requests().len(), asked, "nothing was asked of the provider");
    assert_eq!(
        answers(&refused)
            .iter()
            .filter(|(status, _)| status == "424")
            .count(),
        CALLS - 2
    );
    // Where it still matches it can be forked.
    let forked = fork(&recorder, &run, &["--at", "3", "--yes"]);
    assert_eq!(forked.code, Some(0), "{forked:#?}");
    assert_eq!(model.requests().len() - asked, CALLS - 2);
}

#[test]
fn a_command_that_ends_before_the_fork_says_so() {
    let (recorder, _model) = recorded_agent();
    let run = only_run(&recorder);
    script(&recorder, &requests()[..3]);
    let ended = fork(&recorder, &run, &["--at", "8", "--fail", "9:429", "--yes"]);
    assert_eq!(ended.code, Some(7), "{ended:#?}");
    ended
        .says("the command ended before the fork: it asked 3 of the 7 calls before it")
        .says("call 9 was to be changed, and was never asked");
}

#[test]
fn going_live_needs_a_yes() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let asked = model.requests().len();
    let refused = fork(&recorder, &run, &["--at", "3"]);
    assert_eq!(refused.code, Some(125), "{refused:#?}");
    refused
        .says("runs tools again and asks the provider from call 3 on")
        .says("hint: confirm with --yes");
    assert_eq!(refused.stdout, "");
    assert_eq!((model.requests().len(), recorder.runs().len()), (asked, 1));
}

#[test]
fn what_cannot_be_forked_starts_nothing() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    recorder.write("nothing.json", "not an answer");
    recorder.write("answer.json", "{}");
    let asked = model.requests().len();
    for (options, reason) in [
        (
            vec!["--at", "0"],
            "there is no call 0: the run has 12 model calls",
        ),
        (
            vec!["--at", "13"],
            "there is no call 13: the run has 12 model calls",
        ),
        (
            vec!["--at", "3", "--edit", "2:answer.json"],
            "call 2 comes before call 3",
        ),
        (
            vec!["--at", "3", "--edit", "3:answer.json", "--fail", "3:429"],
            "cannot both be edited and fail",
        ),
        (
            vec!["--at", "3", "--edit", "3:nothing.json"],
            "neither a JSON object nor a stream",
        ),
        (
            vec!["--at", "3", "--edit", "3:missing.json"],
            "failed to read missing.json",
        ),
        (
            vec!["--at", "3", "--system", "missing.txt"],
            "failed to read missing.txt",
        ),
        (vec!["--at", "3", "--fail", "99:cut"], "there is no call 99"),
        (
            vec!["--at", "3", "--fail", "4:429", "--fail", "4:cut"],
            "call 4 fails twice",
        ),
    ] {
        let options = [options.as_slice(), &["--yes"]].concat();
        let refused = fork(&recorder, &run, &options);
        assert_eq!(refused.code, Some(125), "{refused:#?}");
        refused.says(reason);
    }
    for options in [
        ["--at", "x"],
        ["--fail", "3"],
        ["--fail", "3:200"],
        ["--edit", "answer.json"],
    ] {
        let refused = fork(&recorder, &run, &options);
        assert_eq!(refused.code, Some(2), "{refused:#?}");
    }
    let unknown = fork(&recorder, "no-such-run", &["--at", "1", "--yes"]);
    assert_eq!(unknown.code, Some(125), "{unknown:#?}");
    assert_eq!((model.requests().len(), recorder.runs().len()), (asked, 1));
}

#[test]
fn a_run_without_its_calls_cannot_be_forked() {
    let recorder = Recorder::new();
    recorder.record(&["true"]);
    let run = only_run(&recorder);
    let refused = fork(&recorder, &run, &["--at", "1", "--yes"]);
    assert_eq!(refused.code, Some(125), "{refused:#?}");
    refused
        .says("kept no calls of models")
        .says("hint: record it again");
}

#[test]
fn damaged_calls_are_refused_with_their_line() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let path = recorder
        .data
        .path()
        .join("runs")
        .join(&run)
        .join("exchanges.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let asked = model.requests().len();
    let torn = text[..text.len() - 30].to_owned();
    for (damaged, reason) in [
        (
            text.replacen("\"n\":2,", "\"n\":\"x\",", 1),
            "exchanges.jsonl:3: n: is not what the format has there",
        ),
        (
            format!("{}\nnot json\n", lines[0]),
            "exchanges.jsonl:2: line: is not what the format has there",
        ),
        (format!("{}\n", lines[0]), "the cassette holds no call"),
        ("{\"cassette\":99}\n".to_owned(), "format version 99"),
        (String::new(), "the cassette holds no call"),
    ] {
        std::fs::write(&path, damaged).unwrap();
        let refused = fork(&recorder, &run, &["--at", "1", "--yes"]);
        assert_eq!(refused.code, Some(125), "{refused:#?}");
        refused.says(reason).says("hint:");
        assert_eq!(refused.stdout, "");
    }
    assert_eq!(model.requests().len(), asked);
    // A last line that is torn is left out.
    std::fs::write(&path, torn).unwrap();
    let forked = fork(&recorder, &run, &["--at", "11", "--yes"]);
    assert_eq!(forked.code, Some(0), "{forked:#?}");
    forked.says("is cut short, and left out");
    let refused = fork(&recorder, &run, &["--at", "12", "--yes"]);
    refused.says("there is no call 12: the run has 11 model calls");
}

#[test]
fn the_recorded_command_runs_where_it_was_recorded() {
    let (recorder, model) = recorded_agent();
    let run = only_run(&recorder);
    let asked = model.requests().len();
    let without_command = |directory: &std::path::Path| -> crate::record::Outcome {
        let mut tracer = recorder.tracer();
        tracer
            .args(["fork", &run, "--at", "12", "--yes"])
            .current_dir(directory);
        tracer.output().unwrap().into()
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let refused = without_command(elsewhere.path());
    assert_eq!(refused.code, Some(125), "{refused:#?}");
    refused
        .says("the command was recorded in")
        .says("hint: run it there: cd ");
    assert_eq!(model.requests().len(), asked);
    let forked = without_command(recorder.directory.path());
    assert_eq!(forked.code, Some(0), "{forked:#?}");
    assert_eq!(model.requests().len() - asked, 1);
    assert!(forked.stdout.contains("live answer"), "{forked:#?}");
}
