//! `tracer fork` with real processes: an agent of twelve calls is recorded against a stand-in model, and forked.

mod changes;
mod drift;
mod models;
mod origin;

use std::fs;
use std::io::Write;

use serde_json::{Value, json};
use tracer_tests::ModelServer;
use tracer_tests::model_server::{chunk, chunked_head, whole_answer};

use crate::record::{EXPORTER, Outcome, Recorder};

/// Calls of the recorded agent.
const CALLS: usize = 12;

/// A model that says how often it was asked, as a stream where it is asked for one.
fn model() -> ModelServer {
    ModelServer::start(|request, stream| {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let text = format!("live answer of {}", body["model"].as_str().unwrap_or_default());
        if body["stream"] == true {
            let mut answer = chunked_head("text/event-stream");
            for event in stream_events(&text) {
                answer.extend(chunk(event.as_bytes()));
            }
            answer.extend(chunk(b""));
            let _ = stream.write_all(&answer);
        } else {
            let _ = stream.write_all(&whole_answer(
                "application/json",
                document(&text).to_string().as_bytes(),
            ));
        }
    })
}

fn document(text: &str) -> Value {
    json!({"id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-5",
        "usage": {"prompt_tokens": 8, "completion_tokens": 2, "total_tokens": 10},
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]})
}

fn stream_events(text: &str) -> Vec<String> {
    let delta = |delta: Value, finish: Value| {
        let choices = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        format!(
            "data: {}\n\n",
            json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": choices})
        )
    };
    vec![
        delta(json!({"role": "assistant", "content": text}), Value::Null),
        delta(json!({}), "stop".into()),
        "data: [DONE]\n\n".to_owned(),
    ]
}

/// The request of a call: all that was asked before, and the next question.
fn request(call: usize) -> Value {
    let questions =
        (1..=call).map(|earlier| json!({"role": "user", "content": format!("question {earlier}")}));
    let system = json!({"role": "system", "content": "Be brief."});
    let messages: Vec<Value> = [system].into_iter().chain(questions).collect();
    // Every third call is streamed.
    json!({"base": "OPENAI_BASE_URL", "path": "/chat/completions",
        "body": {"model": "gpt-5", "stream": call.is_multiple_of(3), "messages": messages}})
}

fn requests() -> Vec<Value> {
    (1..=CALLS).map(request).collect()
}

fn script(recorder: &Recorder, requests: &[Value]) {
    let lines: Vec<String> = requests.iter().map(Value::to_string).collect();
    recorder.write("script.jsonl", &lines.join("\n"));
}

/// A recorder with the recorded run, and the model that it was recorded with.
fn recorded_agent() -> (Recorder, ModelServer) {
    let model = model();
    let recorder = Recorder::new()
        .env("OPENAI_BASE_URL", &format!("{}/v1", model.base()))
        .env("OPENAI_API_KEY", "sk-not-recorded-0123456789");
    script(&recorder, &requests());
    let outcome = recorder.record_with(&["--name", "agent"], &[EXPORTER, "ask-script"]);
    assert_eq!(outcome.code, Some(0), "{outcome:#?}");
    assert_eq!(model.requests().len(), CALLS);
    (recorder, model)
}

/// The ID of the only run.
fn only_run(recorder: &Recorder) -> String {
    let runs = recorder.runs();
    let [run] = runs.as_slice() else {
        panic!("{} runs", runs.len())
    };
    run.directory.trace_id.to_string()
}

/// `tracer fork RUN OPTIONS -- the script`.
fn fork(recorder: &Recorder, run: &str, options: &[&str]) -> Outcome {
    let mut tracer = recorder.tracer();
    tracer
        .args(["fork", run])
        .args(options)
        .args(["--", EXPORTER, "ask-script"]);
    tracer.output().unwrap().into()
}

/// Forks a run at its fourth call, whose answer is another one.
fn fork_with_edited_answer(recorder: &Recorder, run: &str) -> Outcome {
    recorder.write("answer.json", &document("It was edited.").to_string());
    let forked = fork(recorder, run, &["--at", "4", "--edit", "4:answer.json", "--yes"]);
    assert_eq!(forked.code, Some(0), "{forked:#?}");
    forked
}

/// The answers that the agent printed: the status, and the text of the answer or its body.
fn answers(outcome: &Outcome) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    let mut rest = outcome.stdout.as_str();
    while let Some((head, behind)) = rest.split_once('\n') {
        let (status, length) = head.split_once(' ').unwrap();
        let (body, behind) = behind.split_at(length.parse().unwrap());
        let values: Vec<Value> = body
            .lines()
            .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)).ok())
            .collect();
        let text: String = values
            .iter()
            .flat_map(|value| ["message", "delta"].map(|key| value["choices"][0][key]["content"].as_str()))
            .flatten()
            .collect();
        let shown = if text.is_empty() { body.to_owned() } else { text };
        answers.push((status.to_owned(), shown));
        rest = behind;
    }
    answers
}

/// The attributes of the model calls of a run, in their order.
fn calls_of(recorder: &Recorder, run: &str) -> Vec<serde_json::Map<String, Value>> {
    let path = recorder.data.path().join("runs").join(run).join("spans.jsonl");
    let spans = fs::read_to_string(path).unwrap();
    let spans = spans
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    spans
        .filter(|span| span["attributes"]["gen_ai.operation.name"] == "chat")
        .map(|span| span["attributes"].as_object().unwrap().clone())
        .collect()
}

/// The newest run that is not `origin`.
fn forked_run(recorder: &Recorder, origin: &str) -> String {
    let runs = recorder.runs();
    let run = runs
        .iter()
        .find(|run| run.directory.trace_id.to_string() != origin);
    run.unwrap().directory.trace_id.to_string()
}
