//! `tracer replay`: what is answered, what is not, and how it ends.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use rstest::rstest;
use serde_json::{Value, json};
use tracer_sdk::format::Payload;

use super::{Provider, conversation, recorded_conversation, replay, request, script};
use crate::record::{EXPORTER, Recorder};

/// Framings of streams: the variable, the path, the type and the stream.
const CHAT: &str = "data: {\"id\":\"c1\", \"object\":\"chat.completion.chunk\",\"model\":\"gpt-5\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}],\"usage\":null}\n\n: ping\n\ndata: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2,\"total_tokens\":5}}\n\ndata: [DONE]\n\n";
const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"resp_1\"},\"sequence_number\":0}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":1,\"response\":{\"id\":\"resp_1\",\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hello\"}]}],\"usage\":{\"input_tokens\":3,\"output_tokens\":2,\"total_tokens\":5}}}\n\n";
const MESSAGES: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"model\":\"claude\",\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: ping\ndata: {\"type\": \"ping\"}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hello\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":2}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";
const GEMINI: &str = "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hello\"}],\"role\": \"model\"},\"finishReason\": \"STOP\"}],\"usageMetadata\": {\"promptTokenCount\": 3,\"candidatesTokenCount\": 2,\"totalTokenCount\": 5}}\r\n\r\n";
const GEMINI_ARRAY: &str = "[{\n  \"candidates\": [{\"content\": {\"parts\": [{\"text\": \"Hel\"}]}}]\n}\n,\r\n{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"lo\"}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":3,\"candidatesTokenCount\":2,\"totalTokenCount\":5}}\n]\n";
const OLLAMA: &str = "{\"model\":\"llama\",\"message\":{\"role\":\"assistant\",\"content\":\"Hel\"},\"done\":false}\n{\"model\":\"llama\",\"message\":{\"role\":\"assistant\",\"content\":\"lo\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":3,\"eval_count\":2}\n";

#[rstest]
#[case::chat("OPENAI_BASE_URL", "/chat/completions", "text/event-stream", CHAT)]
#[case::responses(
    "OPENAI_BASE_URL",
    "/responses",
    "text/event-stream; charset=utf-8",
    RESPONSES
)]
#[case::messages("ANTHROPIC_BASE_URL", "/v1/messages", "text/event-stream", MESSAGES)]
#[case::gemini_events(
    "GOOGLE_GEMINI_BASE_URL",
    "/v1beta/models/gemini-3:streamGenerateContent?alt=sse",
    "text/event-stream",
    GEMINI
)]
#[case::gemini_array(
    "GOOGLE_GEMINI_BASE_URL",
    "/v1beta/models/gemini-3:streamGenerateContent",
    "application/json",
    GEMINI_ARRAY
)]
#[case::ollama("OLLAMA_HOST", "/api/chat", "application/x-ndjson", OLLAMA)]
fn every_framing_is_replayed_byte_for_byte(
    #[case] base: &str,
    #[case] path: &str,
    #[case] content_type: &'static str,
    #[case] stream: &str,
) {
    let provider = Provider::start(vec![(content_type, stream.to_owned())]);
    let value = format!("http://{}/", provider.address);
    let recorder = Recorder::new().env(base, &value);
    let body = json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
    script(&recorder, &[request(base, path, body)]);
    let recorded = recorder.record_with(&["--cassette", "agent.jsonl"], &[EXPORTER, "ask-script"]);
    assert!(recorded.stdout.ends_with(stream), "{recorded:#?}");
    let replayed = replay(&recorder, &[]);
    assert_eq!(replayed.code, Some(0), "{replayed:#?}");
    assert_eq!(replayed.stdout, recorded.stdout);
    replayed.says("1 of 1 recorded call used").says("5 tokens");
    assert_eq!(provider.connections(), 1);
}

#[test]
fn a_replay_asks_no_provider_and_is_a_run() {
    let (recorder, provider) = recorded_conversation();
    let replayed = replay(&recorder, &[]);
    assert_eq!(replayed.code, Some(0), "{replayed:#?}");
    replayed
        .says("ok: 2 model calls, 1 tool call, 20 tokens")
        .says("replayed: 2 of 2 recorded calls used");
    assert_eq!(provider.connections(), 2, "only the recording connected");
    let runs = recorder.data.finished_runs();
    let replayed_run = runs
        .iter()
        .find(|run| {
            run.spans
                .iter()
                .any(|span| span.attributes.contains_key("tracer.replayed_from"))
        })
        .unwrap();
    let calls: Vec<_> = replayed_run
        .records
        .iter()
        .filter(|record| matches!(record.payload, Payload::LlmCall { .. }))
        .map(|record| replayed_run.span(record))
        .collect();
    assert_eq!(calls.len(), 2);
    assert!(
        calls
            .iter()
            .all(|span| span.attributes["tracer.replayed"] == true)
    );
}

/// The requests of an agent with this system prompt and this description of its tool.
fn agent(prompt: &str, description: &str) -> Vec<Value> {
    let mut requests = conversation("{\"status\":\"shipped\"}");
    for request in &mut requests {
        let body = &mut request["body"];
        body["tools"] =
            json!([{"type": "function", "function": {"name": "lookup_order", "description": description}}]);
        let messages = body["messages"].as_array_mut().unwrap();
        messages.insert(0, json!({"role": "system", "content": prompt}));
    }
    requests
}

#[test]
fn a_replay_says_what_changed_since_the_recording() {
    let (recorder, _provider) = recorded_conversation();
    let provider = Provider::start(super::conversation_answers());
    let recorder = recorder.env("OPENAI_BASE_URL", &format!("http://{}/v1", provider.address));
    script(&recorder, &agent("Be kind.", "Looks up an order."));
    let again = recorder.record_with(
        &["--force", "--cassette", "agent.jsonl"],
        &[EXPORTER, "ask-script"],
    );
    assert_eq!(again.code, Some(0), "{again:#?}");
    assert_eq!(replay(&recorder, &[]).code, Some(0));

    script(&recorder, &agent("Be quick.", "Looks up an order."));
    let changed = replay(&recorder, &[]);
    assert_eq!(changed.code, Some(7), "{changed:#?}");
    changed.says("at       messages[0].content (system prompt)");
    script(&recorder, &agent("Be kind.", "Finds an order."));
    replay(&recorder, &[]).says("at       tools[0].function.description (definition of tool lookup_order)");
}

#[test]
fn replayed_calls_cost_nothing_and_say_what_they_would_have() {
    let (recorder, _provider) = recorded_conversation();
    assert_eq!(replay(&recorder, &[]).code, Some(0));
    let says = |arguments: &[&str]| {
        let output = recorder.tracer().args(arguments).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let listed: Value = serde_json::from_str(&says(&["list", "--json"])).unwrap();
    let replayed = listed["runs"][0]["trace_id"].as_str().unwrap().to_owned();
    let original = listed["runs"][1]["trace_id"].as_str().unwrap().to_owned();
    // 8 + 2 tokens, twice, at the price of gpt-5 per million of tokens.
    let (shown, before) = (says(&["show", &replayed]), says(&["show", &original]));
    assert!(shown.contains("2 replayed calls would have cost $"), "{shown}");
    assert!(
        before.contains('$') && !before.contains("would have cost"),
        "{before}"
    );
}

#[test]
fn a_replayed_command_gets_placeholders_for_its_keys() {
    let (recorder, _provider) = recorded_conversation();
    let mut tracer = recorder.tracer();
    tracer.args(["replay", "agent.jsonl", "--", "env"]);
    let output = tracer.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        stdout.contains("OPENAI_API_KEY=replayed-without-a-key"),
        "{stdout}"
    );
    assert!(!stdout.contains("sk-not-recorded"), "{stdout}");
    assert!(
        stdout.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:"),
        "{stdout}"
    );
    assert_eq!(output.status.code(), Some(7), "no recorded call was asked");
}

#[test]
fn a_miss_ends_the_replay_with_seven_and_its_reason() {
    let (recorder, provider) = recorded_conversation();
    script(&recorder, &conversation("{\"status\":\"lost\"}"));
    let replayed = replay(&recorder, &[]);
    assert_eq!(replayed.code, Some(7), "{replayed:#?}");
    replayed.says(
        "✗ replay: call 2 (openai.chat, gpt-5) is not in agent.jsonl
  nearest  recorded call 2, differs in 1 place
  at       messages[2].content (result of tool lookup_order, call 1)
  - {\"status\":\"shipped\"}
  + {\"status\":\"lost\"}
  the tool answered differently
tracer: replayed: 1 of 2 recorded calls used; recorded call 2 was never asked",
    );
    replayed.says("--on-miss live");
    let body: Value = serde_json::from_str(replayed.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(body["error"]["param"], "messages[2].content");
    assert_eq!(provider.connections(), 2, "only the recording connected");
}

#[test]
fn a_call_that_is_never_asked_fails_the_replay() {
    let (recorder, _provider) = recorded_conversation();
    script(&recorder, &conversation("")[..1]);
    let replayed = replay(&recorder, &[]);
    assert_eq!(replayed.code, Some(7), "{replayed:#?}");
    replayed.says("1 of 2 recorded calls used; recorded call 2 was never asked");
    let quiet = replay(&recorder, &["--quiet"]);
    assert_eq!(quiet.code, Some(7), "{quiet:#?}");
    quiet.says("recorded call 2 was never asked");
}

#[test]
fn a_miss_may_be_recorded_but_not_in_ci() {
    let (recorder, provider) = recorded_conversation();
    let mut requests = conversation("{\"status\":\"shipped\"}");
    requests.push(request(
        "OPENAI_BASE_URL",
        "/chat/completions",
        json!({"model": "gpt-5", "messages": []}),
    ));
    script(&recorder, &requests);
    let in_ci = Recorder {
        data: recorder.data,
        directory: recorder.directory,
        environment: recorder.environment.clone(),
    }
    .env("CI", "true");
    let refused = replay(&in_ci, &["--on-miss", "record"]);
    assert_eq!(refused.code, Some(125), "{refused:#?}");
    refused.says("the variable CI is set");
    assert_eq!(provider.connections(), 2);

    let provider = Provider::start(vec![("application/json", "{\"id\":\"new\"}".to_owned())]);
    let recorder = Recorder {
        data: in_ci.data,
        directory: in_ci.directory,
        environment: Vec::new(),
    }
    .env("OPENAI_BASE_URL", &format!("http://{}/v1", provider.address));
    let replayed = replay(&recorder, &["--on-miss", "record"]);
    assert_eq!(replayed.code, Some(0), "{replayed:#?}");
    replayed.says("1 request sent to the provider");
    assert_eq!(provider.connections(), 1);
    let replayed = replay(&recorder, &[]);
    assert_eq!(replayed.code, Some(0), "{replayed:#?}");
    replayed.says("3 of 3 recorded calls used");
    assert_eq!(provider.connections(), 1);
}

#[test]
fn the_recorded_order_may_be_demanded() {
    let (recorder, _provider) = recorded_conversation();
    let mut requests = conversation("{\"status\":\"shipped\"}");
    requests.reverse();
    script(&recorder, &requests);
    assert_eq!(replay(&recorder, &[]).code, Some(0));
    let ordered = replay(&recorder, &["--ordered"]);
    assert_eq!(ordered.code, Some(7), "{ordered:#?}");
    ordered.says("comes too early: recorded call 1 of agent.jsonl is next");
}

#[test]
fn a_served_cassette_prints_the_variables_to_set() {
    let (recorder, _provider) = recorded_conversation();
    let mut tracer = recorder.tracer();
    tracer
        .args(["replay", "--serve", "agent.jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut served = tracer.spawn().unwrap();
    let mut output = BufReader::new(served.stdout.take().unwrap());
    let mut base = None;
    let mut line = String::new();
    while base.is_none() {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "no base URL was printed");
        base = line
            .trim()
            .strip_prefix("export OPENAI_BASE_URL=")
            .map(str::to_owned);
    }
    let client = std::process::Command::new(EXPORTER)
        .arg("ask-script")
        .current_dir(recorder.directory.path())
        .env("OPENAI_BASE_URL", base.unwrap())
        .output()
        .unwrap();
    assert!(client.status.success(), "{client:?}");
    let process = i32::try_from(served.id()).unwrap();
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(process),
        nix::sys::signal::Signal::SIGINT,
    )
    .unwrap();
    let ended = served.wait_with_output().unwrap();
    let stderr = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("2 of 2 recorded calls used"), "{stderr}");
}

#[test]
fn a_recorded_run_is_replayed_by_its_id() {
    let (recorder, provider) = recorded_conversation();
    let run = recorder.runs()[0].directory.trace_id.to_string();
    let replay_run = |options: &[&str]| -> crate::record::Outcome {
        let mut tracer = recorder.tracer();
        tracer.args(["replay", &run]).args(options);
        tracer.output().unwrap().into()
    };
    // With the command that it recorded.
    let replayed = replay_run(&[]);
    assert_eq!(replayed.code, Some(0), "{replayed:#?}");
    replayed.says("2 of 2 recorded calls used");
    script(&recorder, &conversation("{\"status\":\"lost\"}"));
    let missed = replay_run(&["--", EXPORTER, "ask-script"]);
    assert_eq!(missed.code, Some(7), "{missed:#?}");
    missed.says(&format!("is not in run {}", &run[..8]));
    let refused = replay_run(&["--on-miss", "record"]);
    assert_eq!(refused.code, Some(125), "{refused:#?}");
    refused.says("make a cassette of the run");
    assert_eq!(provider.connections(), 2, "only the recording connected");
}

#[test]
fn a_cassette_that_cannot_be_used_starts_nothing() {
    let recorder = Recorder::new();
    for (text, reason) in [
        ("", "the cassette holds no call"),
        ("{\"cassette\":1}\n", "the cassette holds no call"),
        ("{\"cassette\":9}\n", "format version 9"),
        ("{\"cassette\":1}\n{\"n\":1}\n", "agent.jsonl:2: path: is no path"),
    ] {
        recorder.write("agent.jsonl", text);
        let refused = replay(&recorder, &[]);
        assert_eq!(refused.code, Some(125), "{refused:#?}");
        refused.says(reason).says("hint:");
        assert_eq!(refused.stdout, "");
    }
    assert!(recorder.runs().is_empty());
}
