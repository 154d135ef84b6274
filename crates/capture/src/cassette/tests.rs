//! Exchanges through the files and the pool.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use tempfile::TempDir;
use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::Settings;

use super::*;
use crate::exchange::{
    ExchangeEnd, ExchangeSink, FinishedExchange, IncomingRequest, RequestDecision, Responder,
};
use tracer_providers::ModelApi;

pub(super) fn scrubbing() -> Scrubbing {
    Scrubbing {
        redaction: Arc::new(Redaction::new(&Settings::with_data_dir("unused"), [])),
        places: Places::default(),
    }
}

pub(super) fn incoming(body: &[u8]) -> IncomingRequest<'_> {
    IncomingRequest {
        method: "POST",
        provider: "openai",
        path: "/v1/chat/completions",
        query: None,
        api: Some(ModelApi::ChatCompletions),
        body,
    }
}

pub(super) fn answer(text: &str) -> String {
    json!({"id": "chatcmpl-1", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]})
        .to_string()
}

/// Keeps exchanges of these requests and answers in a new cassette.
pub(super) fn record(path: &Path, exchanges: &[(Value, String)]) -> KeptSummary {
    let file = CassetteFile::create(path, &scrubbing().head(["agent".to_owned()]), false).unwrap();
    let (mut keeper, kept) = ExchangeKeeper::new(scrubbing(), vec![file]);
    for (request, response) in exchanges {
        keep(&mut keeper, &request.to_string(), "application/json", response);
    }
    kept.read()
}

/// A folder with a cassette of these requests and answers.
fn recorded(exchanges: &[(Value, String)]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    record(&path, exchanges);
    (folder, path)
}

fn keep(keeper: &mut ExchangeKeeper, request: &str, content_type: &str, response: &str) {
    let arrived = SystemTime::now();
    keeper.keep(&FinishedExchange {
        request: incoming(request.as_bytes()),
        arrived,
        status: Some(200),
        headers: &[("content-type".to_owned(), content_type.to_owned())],
        response: response.as_bytes(),
        ended: arrived + Duration::from_millis(40),
        end: &ExchangeEnd::Whole,
        is_cut: false,
        is_replayed: false,
        hides_usage: false,
    });
}

fn replayer(path: &Path, options: ReplayOptions) -> Replayer {
    Replayer::new(Arc::new(Cassette::read(path).unwrap()), scrubbing(), options)
}

/// The text of the answer, or the miss.
fn ask(replayer: &Replayer, request: &Value) -> Result<String, Value> {
    match replayer.respond(&incoming(request.to_string().as_bytes())) {
        RequestDecision::Answer(answer) => {
            let bytes: Vec<u8> = answer.chunks.iter().flat_map(|chunk| chunk.to_vec()).collect();
            let body: Value = serde_json::from_slice(&bytes).unwrap();
            if answer.is_replayed {
                Ok(body["choices"][0]["message"]["content"]
                    .as_str()
                    .unwrap()
                    .to_owned())
            } else {
                assert_eq!(answer.status, 424);
                Err(body)
            }
        }
        other => panic!("{other:?}"),
    }
}

fn question(text: &str) -> Value {
    json!({"model": "gpt-5", "messages": [{"role": "user", "content": text}]})
}

#[test]
fn what_was_kept_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let file = CassetteFile::create(
        &path,
        &scrubbing().head(["agent", "--now"].map(str::to_owned)),
        false,
    )
    .unwrap();
    let (mut keeper, kept) = ExchangeKeeper::new(scrubbing(), vec![file]);
    let stream = "data: {\"b\": 1, \"a\": \"x\"}\r\n\r\n: ping\r\n\r\ndata: [DONE]\r\n\r\n";
    keep(
        &mut keeper,
        &question("hi").to_string(),
        "text/event-stream",
        stream,
    );
    keep(&mut keeper, "no json", "text/plain", "sorry");
    assert_eq!(kept.read().calls, 2);
    let cassette = Cassette::read_filled(&path).unwrap();
    assert_eq!(cassette.head.command, ["agent", "--now"]);
    let [first, second] = cassette.exchanges.as_slice() else {
        panic!("{cassette:#?}")
    };
    assert_eq!(first.response.body.bytes(), stream.as_bytes());
    assert_eq!(second.request, None);
    assert_eq!(second.response.body.bytes(), b"sorry");
    assert_eq!(fs::read_to_string(&path).unwrap(), cassette.text());
}

#[test]
fn a_cassette_that_is_there_is_not_replaced() {
    let (_folder, path) = recorded(&[(question("a"), answer("b"))]);
    let head = scrubbing().head([]);
    assert!(matches!(
        CassetteFile::create(&path, &head, false),
        Err(CassetteError::Exists { .. })
    ));
    assert_eq!(Cassette::read(&path).unwrap().exchanges.len(), 1);
    CassetteFile::create(&path, &head, true).unwrap();
    assert!(matches!(
        Cassette::read_filled(&path),
        Err(CassetteError::Empty { .. })
    ));
}

#[test]
fn equal_requests_are_answered_in_their_order_once() {
    let (_folder, path) = recorded(&[
        (question("a"), answer("1")),
        (question("b"), answer("2")),
        (question("a"), answer("3")),
    ]);
    let replayer = replayer(&path, ReplayOptions::default());
    assert_eq!(ask(&replayer, &question("b")).unwrap(), "2");
    assert_eq!(ask(&replayer, &question("a")).unwrap(), "1");
    assert_eq!(replayer.outcome().unused, [3]);
    assert_eq!(ask(&replayer, &question("a")).unwrap(), "3");
    let again = ask(&replayer, &question("a")).unwrap_err();
    assert!(
        again["error"]["message"]
            .as_str()
            .unwrap()
            .contains("recorded 2 times"),
        "{again}"
    );
    let outcome = replayer.outcome();
    assert_eq!((outcome.served, outcome.missed, outcome.unused.len()), (3, 1, 0));
    assert_eq!(outcome.coverage(), "3 of 3 recorded calls used");
}

#[test]
fn an_ordered_replay_refuses_what_comes_too_early() {
    let (_folder, path) = recorded(&[(question("a"), answer("1")), (question("b"), answer("2"))]);
    let options = ReplayOptions {
        is_ordered: true,
        ..ReplayOptions::default()
    };
    let replayer = replayer(&path, options);
    let early = ask(&replayer, &question("b")).unwrap_err();
    assert!(
        early["error"]["message"]
            .as_str()
            .unwrap()
            .contains("recorded call 1 of"),
        "{early}"
    );
    assert_eq!(ask(&replayer, &question("a")).unwrap(), "1");
    assert_eq!(ask(&replayer, &question("b")).unwrap(), "2");
}

#[test]
fn a_miss_names_what_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let asked = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": null, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "lookup_order", "arguments": "{}"}}]}}]});
    let with_result = |result: &str| {
        json!({"model": "gpt-5", "messages": [
            {"role": "user", "content": "where is it?"},
            {"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "lookup_order", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "call_1", "content": result}]})
    };
    record(
        &path,
        &[
            (question("where is it?"), asked.to_string()),
            (with_result("{\"status\":\"shipped\"}"), answer("shipped")),
        ],
    );
    let replayer = replayer(&path, ReplayOptions::default());
    let request = question("where is it?").to_string();
    assert!(matches!(
        replayer.respond(&incoming(request.as_bytes())),
        RequestDecision::Answer(_)
    ));
    let miss = ask(&replayer, &with_result("{\"status\": \"lost\"}")).unwrap_err();
    assert_eq!(miss["error"]["param"], "messages[2].content");
    let expected = "call 2 (openai.chat, gpt-5) is not in c.jsonl
  nearest  recorded call 2, differs in 1 place
  at       messages[2].content (result of tool lookup_order, call 1)
  - {\"status\":\"shipped\"}
  + {\"status\":\"lost\"}
  the tool answered differently";
    let [miss] = replayer.outcome().misses.try_into().unwrap();
    assert_eq!(
        miss.to_string()
            .replace(folder.path().to_str().unwrap(), "")
            .replace('/', ""),
        expected
    );
}

#[test]
fn a_miss_may_go_on_with_the_provider() {
    let (_folder, path) = recorded(&[(question("a"), answer("1")), (question("b"), answer("2"))]);
    let options = ReplayOptions {
        on_miss: OnMiss::Live,
        ..ReplayOptions::default()
    };
    let replayer = replayer(&path, options);
    assert_eq!(ask(&replayer, &question("a")).unwrap(), "1");
    for _ in 0..2 {
        let request = question("c").to_string();
        assert!(matches!(
            replayer.respond(&incoming(request.as_bytes())),
            RequestDecision::PassOn
        ));
    }
    assert_eq!(ask(&replayer, &question("b")).unwrap(), "2");
    assert_eq!((replayer.outcome().live, replayer.outcome().missed), (2, 0));
}

#[test]
fn each_api_gets_a_miss_in_its_own_shape() {
    let (_folder, path) = recorded(&[(question("a"), answer("1"))]);
    for (api, provider, place) in [
        (ModelApi::Messages, "anthropic", "/error/message"),
        (ModelApi::GenerateContent, "gemini", "/error/message"),
        (ModelApi::OllamaChat, "ollama", "/error"),
        (ModelApi::Responses, "openai", "/error/message"),
    ] {
        let replayer = replayer(&path, ReplayOptions::default());
        let request = IncomingRequest {
            api: Some(api),
            provider,
            ..incoming(b"{\"model\":\"m\"}")
        };
        let RequestDecision::Answer(answer) = replayer.respond(&request) else {
            panic!("{api:?}")
        };
        assert_eq!(
            answer.headers[1],
            ("x-should-retry".to_owned(), "false".to_owned())
        );
        let body: Value = serde_json::from_slice(&answer.chunks[0]).unwrap();
        let message = body.pointer(place).and_then(Value::as_str).unwrap();
        assert!(
            message.contains("call 1") && message.contains(api.name()),
            "{message}"
        );
    }
}

const HEAD: &str = "{\"cassette\":1}\n";

fn problem_of(text: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    fs::write(&path, text).unwrap();
    let error = Cassette::read(&path).unwrap_err().to_string();
    error.replace(path.to_str().unwrap(), "c.jsonl")
}

fn problem_of_line(line: &str) -> String {
    problem_of(format!("{HEAD}{line}\n").as_bytes())
}

#[test]
fn a_bad_cassette_is_refused_with_its_place() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let response = |rest: &str| format!("{{\"n\":1,\"path\":\"/x\",\"response\":{{\"status\":200{rest}}}}}");
    for (line, expected) in [
        (
            "7".to_owned(),
            "c.jsonl:2: line: is not what the format has there, or is there twice",
        ),
        (
            "{\"n\":1,\"n\":2}".to_owned(),
            "c.jsonl:2: line: is not what the format has there, or is there twice",
        ),
        ("{\"n\":1}".to_owned(), "c.jsonl:2: path: is no path"),
        (
            "{\"n\":1,\"path\":\"x\"}".to_owned(),
            "c.jsonl:2: path: is no path",
        ),
        (
            "{\"n\":1,\"path\":\"/a\\nb\"}".to_owned(),
            "c.jsonl:2: path: is no path",
        ),
        (
            "{\"n\":1,\"path\":\"/x\"}".to_owned(),
            "c.jsonl:2: response: is missing",
        ),
        (
            "{\"n\":1,\"path\":\"/x\",\"api\":\"mind.reading\"}".to_owned(),
            "c.jsonl:2: api: names no API that this tracer knows",
        ),
        (
            "{\"n\":1,\"path\":\"/x\",\"response\":{\"status\":99}}".to_owned(),
            "c.jsonl:2: response.status: is no status code from 200 to 599",
        ),
        (
            response(",\"headers\":{\"set-cookie\":\"a\"}"),
            "c.jsonl:2: response.headers: has a header that is not replayed",
        ),
        (
            response(",\"headers\":{\"connection\":\"close\"}"),
            "c.jsonl:2: response.headers: has a header that is not replayed",
        ),
        (
            response(",\"stream\":\"pigeons\""),
            "c.jsonl:2: response.stream: is not what the format has there, or is there twice",
        ),
        (
            response(",\"stream\":\"events\""),
            "c.jsonl:2: response.frames: is missing",
        ),
        (
            response(",\"stream\":\"events\",\"frames\":[{}]"),
            "c.jsonl:2: response.frames[0].data: is missing",
        ),
        (
            response(",\"stream\":\"lines\",\"frames\":[{\"data\":7}]"),
            "c.jsonl:2: response.frames[0].data: is no object",
        ),
        (
            response(",\"base64\":\"%\""),
            "c.jsonl:2: response.base64: is no base64",
        ),
        (
            response(&format!(",\"body\":{deep}")),
            "c.jsonl:2: response.body: is nested too deeply",
        ),
        (
            format!("{{\"n\":1,\"path\":\"/x\",\"request\":{deep},\"response\":{{\"status\":200}}}}"),
            "c.jsonl:2: request: is nested too deeply",
        ),
        (
            format!("{}\n{}", response(""), response("")),
            "c.jsonl:3: n: is the number of an earlier line",
        ),
    ] {
        assert_eq!(problem_of_line(&line), expected, "{line}");
    }
}

#[test]
fn a_bad_head_is_refused() {
    for (head, expected) in [
        ("", "c.jsonl: the cassette holds no call"),
        ("{}\n", "c.jsonl:1: cassette: is missing: this is no cassette"),
        (
            "{\"cassette\":\"1\"}\n",
            "c.jsonl:1: cassette: is not what the format has there, or is there twice",
        ),
        (
            "{\"cassette\":0}\n",
            "c.jsonl:1: cassette: is no version of the format",
        ),
        (
            "{\"cassette\":2,\"whatever\":[]}\n",
            "c.jsonl: the cassette has format version 2, and this tracer reads version 1",
        ),
        (
            "{\"cassette\":1,\"ignore\":[\"$.a\"]}\n",
            "c.jsonl:1: ignore[0]: is no JSON Pointer: write /messages/*/name, with * for every item",
        ),
        (
            "{\"cassette\":1,\"mask\":[\"(\"]}\n",
            "c.jsonl:1: mask[0]: is no regular expression",
        ),
        (
            "{\"cassette\":1,\"command\":\"x\"}\n",
            "c.jsonl:1: command: is not what the format has there, or is there twice",
        ),
    ] {
        assert_eq!(problem_of(head.as_bytes()), expected, "{head}");
    }
    assert_eq!(
        problem_of(b"{\"cassette\":1}\n\xff\xfe\n"),
        "c.jsonl:2: line: is no UTF-8"
    );
}

#[test]
fn a_torn_line_is_left_out_and_replaced_when_recording_goes_on() {
    let (_folder, path) = recorded(&[(question("a"), answer("1")), (question("b"), answer("2"))]);
    let whole = fs::read(&path).unwrap();
    let second = whole[..whole.len() - 1]
        .iter()
        .rposition(|byte| *byte == b'\n')
        .unwrap()
        + 1;
    for cut in second + 1..whole.len() - 1 {
        fs::write(&path, &whole[..cut]).unwrap();
        let cassette = Cassette::read(&path).unwrap();
        assert!(cassette.is_torn && cassette.exchanges.len() == 1, "{cut}");
    }
    let file = CassetteFile::append(&Cassette::read(&path).unwrap()).unwrap();
    let (mut keeper, _) = ExchangeKeeper::new(scrubbing(), vec![file]);
    keep(
        &mut keeper,
        &question("c").to_string(),
        "application/json",
        &answer("3"),
    );
    let numbers: Vec<u64> = Cassette::read(&path)
        .unwrap()
        .exchanges
        .iter()
        .map(|exchange| exchange.number)
        .collect();
    assert_eq!(numbers, [1, 2]);
}

#[test]
fn secrets_of_requests_and_answers_are_replaced_on_both_sides() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let secret = "sk-proj-Abcdefgh12345678Abcdefgh12345678";
    let kept = record(
        &path,
        &[(
            question(&format!("use {secret}")),
            answer(&format!("I use {secret}")),
        )],
    );
    assert_eq!(
        kept.replaced,
        [(1, "response.body.choices[0].message.content".to_owned())]
    );
    assert!(!fs::read_to_string(&path).unwrap().contains("Abcdefgh"));
    let replayer = replayer(&path, ReplayOptions::default());
    let other_key = question("use sk-proj-Zyxwvuts87654321Zyxwvuts87654321");
    assert_eq!(ask(&replayer, &other_key).unwrap(), "I use __REDACTED__");
}

#[test]
fn rules_of_the_head_hold_on_both_sides() {
    let (_folder, path) = recorded(&[(question("build-12 is red"), answer("1"))]);
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen(
        "{\"cassette\":1",
        "{\"mask\":[\"build-[0-9]+\"],\"ignore\":[\"/seed\"],\"cassette\":1",
        1,
    );
    fs::write(&path, text).unwrap();
    let mut asked = question("build-13 is red");
    asked["seed"] = json!(7);
    assert_eq!(
        ask(&replayer(&path, ReplayOptions::default()), &asked).unwrap(),
        "1"
    );
}

#[test]
fn conversations_in_another_order_keep_their_answers() {
    let with = |role: &str, last: &str| {
        let turn = |role: &str, text: &str| json!({"role": role, "content": text});
        json!({"model": "gpt-5", "messages": [turn("user", "hi"), turn("assistant", "yes?"), turn(role, last)]})
    };
    let (_folder, path) = recorded(&[
        (with("tool", "3"), answer("a sum")),
        (with("user", "refund 1"), answer("1 refunded")),
        (with("user", "refund 2"), answer("2 refunded")),
    ]);
    let text = Cassette::read(&path).unwrap().ignoring_tool_results().text();
    fs::write(&path, text).unwrap();
    let replayer = replayer(&path, ReplayOptions::default());
    for (role, last, expected) in [
        ("user", "refund 2", "2 refunded"),
        ("user", "refund 1", "1 refunded"),
        ("tool", "4", "a sum"),
    ] {
        assert_eq!(ask(&replayer, &with(role, last)).unwrap(), expected);
    }
    assert!(ask(&replayer, &with("user", "refund 3")).is_err());
}

#[test]
fn repeated_reads_are_answered_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let read = IncomingRequest {
        method: "GET",
        path: "/v1/responses/resp_1",
        api: None,
        ..incoming(b"")
    };
    let file = CassetteFile::create(&path, &scrubbing().head(["agent".to_owned()]), false).unwrap();
    let (mut keeper, _) = ExchangeKeeper::new(scrubbing(), vec![file]);
    for status in ["queued", "in_progress", "completed"] {
        let response = json!({"id": "resp_1", "status": status}).to_string();
        let arrived = SystemTime::now();
        keeper.keep(&FinishedExchange {
            request: read,
            arrived,
            status: Some(200),
            headers: &[("content-type".to_owned(), "application/json".to_owned())],
            response: response.as_bytes(),
            ended: arrived + Duration::from_millis(5),
            end: &ExchangeEnd::Whole,
            is_cut: false,
            is_replayed: false,
            hides_usage: false,
        });
    }
    let replayer = replayer(&path, ReplayOptions::default());
    for status in ["queued", "in_progress", "completed", "completed"] {
        let RequestDecision::Answer(answer) = replayer.respond(&read) else {
            panic!("{status} is passed on")
        };
        let bytes: Vec<u8> = answer.chunks.iter().flat_map(|chunk| chunk.to_vec()).collect();
        let body: Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(body["status"], status);
    }
    assert!(replayer.outcome().is_complete());
}

#[test]
fn an_older_cassette_gives_the_bytes_that_were_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("c.jsonl");
    let exchange = |number: u64, response: &str| {
        format!(
            "{{\"n\":{number},\"path\":\"/x\",\"response\":{{\"status\":200,{response}}},\"first_ms\":1,\"total_ms\":2}}\n"
        )
    };
    let events = r#""stream":"events","line_end":"crlf","frames":[{"ms":5,"event":"a","data":{"x": 1}},{"raw":": c\r\n"},{"before":"data:","data":[]},{"data":"[DONE]"}]"#;
    let lines = r#""stream":"lines","frames":[{"data":{"a":1}},{"raw":"\n"},{"data":[2]}]"#;
    let array =
        r#""stream":"array","frames":[{"before":"[","data":{}},{"before":", ","data":[]},{"raw":"]"}]"#;
    let text = [
        HEAD.to_owned(),
        exchange(1, events),
        exchange(2, lines),
        exchange(3, array),
    ]
    .concat();
    fs::write(&path, text).unwrap();
    let read = Cassette::read(&path).unwrap();
    let bodies = || {
        read.exchanges
            .iter()
            .map(|exchange| exchange.response.body.bytes())
    };
    let bodies: Vec<String> = bodies().map(|bytes| String::from_utf8(bytes).unwrap()).collect();
    assert_eq!(
        bodies,
        [
            "event: a\r\ndata: {\"x\": 1}\r\n\r\n: c\r\ndata:[]data: [DONE]\r\n\r\n",
            "{\"a\":1}\n\n[2]\n",
            "[{}, []]",
        ]
    );
    // As it is written now.
    fs::write(&path, read.text()).unwrap();
    let again = Cassette::read(&path).unwrap();
    let bytes = again
        .exchanges
        .iter()
        .map(|exchange| exchange.response.body.bytes());
    assert!(bytes.eq(bodies.iter().map(|body| body.as_bytes().to_vec())));
}
