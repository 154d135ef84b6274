//! Forks of a recorded conversation: at every call, with every change, and off the recorded way.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::tests::{answer, incoming, record, scrubbing};
use super::*;
use crate::exchange::{IncomingRequest, PreparedAnswer, RequestDecision, Responder};
use tracer_providers::{ModelApi, ModelReply, assemble};

/// Calls of the recorded conversation.
const CALLS: u64 = 12;

/// The request of a call: all that was said before, and the next question.
fn request(call: u64) -> Value {
    let said = (1..call).flat_map(|earlier| {
        [
            json!({"role": "user", "content": format!("question {earlier}")}),
            json!({"role": "assistant", "content": format!("answer {earlier}")}),
        ]
    });
    let question = json!({"role": "user", "content": format!("question {call}")});
    let system = json!({"role": "system", "content": "Be brief."});
    let messages: Vec<Value> = [system].into_iter().chain(said).chain([question]).collect();
    json!({"model": "gpt-5", "messages": messages})
}

fn recorded() -> Cassette {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("exchanges.jsonl");
    let exchanges: Vec<(Value, String)> = (1..=CALLS)
        .map(|call| (request(call), answer(&format!("answer {call}"))))
        .collect();
    record(&path, &exchanges);
    Cassette::read(&path).unwrap()
}

fn plan(at: u64) -> ForkPlan {
    ForkPlan {
        at,
        ..ForkPlan::default()
    }
}

fn fork(plan: ForkPlan) -> Forker {
    Forker::new(&recorded(), scrubbing(), plan).unwrap()
}

fn ask(forker: &Forker, request: &Value) -> RequestDecision {
    forker.respond(&incoming(request.to_string().as_bytes()))
}

#[track_caller]
fn answered(decision: RequestDecision) -> (PreparedAnswer, String) {
    match decision {
        RequestDecision::Answer(answer) => {
            let bytes: Vec<u8> = answer.chunks.iter().flat_map(|chunk| chunk.to_vec()).collect();
            (answer, String::from_utf8(bytes).unwrap())
        }
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn passes_on(decision: &RequestDecision) {
    assert!(matches!(decision, RequestDecision::PassOn), "{decision:?}");
}

#[test]
fn a_fork_at_every_call_answers_those_before() {
    for at in 1..=CALLS {
        let forker = fork(plan(at));
        for call in 1..at {
            let (given, body) = answered(ask(&forker, &request(call)));
            assert_eq!(
                (given.is_replayed, body),
                (true, answer(&format!("answer {call}")))
            );
        }
        for call in at..=CALLS + 2 {
            passes_on(&ask(&forker, &request(call)));
        }
        let outcome = forker.outcome();
        assert!(outcome.is_verified(), "{outcome:?}");
        assert_eq!(
            (outcome.before, outcome.verified, outcome.live),
            (at - 1, at - 1, CALLS + 3 - at)
        );
    }
}

#[test]
fn a_drifted_call_stops_the_fork_with_its_place() {
    for drifted in 1..CALLS {
        let forker = fork(plan(CALLS));
        for call in 1..drifted {
            answered(ask(&forker, &request(call)));
        }
        let mut asked = request(drifted);
        let last = asked["messages"].as_array().unwrap().len() - 1;
        asked["messages"][last]["content"] = "another question".into();
        let (refused, body) = answered(ask(&forker, &asked));
        assert_eq!((refused.status, refused.is_replayed), (424, false));
        assert!(body.contains(&format!("tracer fork: call {drifted} ")), "{body}");
        // What comes then goes nowhere either.
        let (refused, _) = answered(ask(&forker, &request(drifted)));
        assert_eq!(refused.status, 424);
        let outcome = forker.outcome();
        assert_eq!((outcome.verified, outcome.live), (drifted - 1, 0));
        let nearest = outcome.drift.unwrap().nearest.unwrap();
        assert_eq!(nearest.number, drifted);
        assert_eq!(nearest.difference.path, format!("messages[{last}].content"));
    }
}

#[test]
fn calls_in_parallel_are_known_by_their_requests() {
    let forker = fork(ForkPlan {
        edits: [(2, answer("edited"))].into(),
        ..plan(2)
    });
    // The second call comes before the first one.
    let (edited, body) = answered(ask(&forker, &request(2)));
    assert!(edited.is_replayed && body.contains("edited"), "{body}");
    answered(ask(&forker, &request(1)));
    passes_on(&ask(&forker, &request(3)));
    assert!(forker.outcome().is_verified());
    assert_eq!(forker.outcome().changed, [2]);
}

#[test]
fn changes_are_made_at_their_calls() {
    let forker = fork(ForkPlan {
        edits: [(3, answer("edited"))].into(),
        faults: [
            (4, CallFault::Status(429)),
            (5, CallFault::Timeout),
            (6, CallFault::Cut),
        ]
        .into(),
        ..plan(2)
    });
    answered(ask(&forker, &request(1)));
    passes_on(&ask(&forker, &json!({"model": "gpt-5", "messages": []})));
    let other = json!({"model": "gpt-5", "messages": [{"role": "user", "content": "else"}]});
    let (edited, body) = answered(ask(&forker, &other));
    assert_eq!((edited.status, body), (200, answer("edited")));
    let (limited, body) = answered(ask(&forker, &other));
    assert_eq!(limited.status, 429);
    assert!(limited.headers.iter().any(|(name, _)| name == "retry-after"));
    assert!(body.contains("rate_limit_error"), "{body}");
    let (late, _) = answered(ask(&forker, &other));
    assert!(late.delay.as_secs() > 600, "{late:?}");
    let (cut, body) = answered(ask(&forker, &other));
    let whole = answer("answer 6");
    assert!(
        cut.breaks_off && whole.starts_with(&body) && body.len() == whole.len() / 2,
        "{body}"
    );
    passes_on(&ask(&forker, &other));
    let outcome = forker.outcome();
    assert_eq!(
        (outcome.changed, outcome.live, outcome.unasked),
        (vec![3, 4, 5, 6], 2, vec![])
    );
}

#[test]
fn another_model_and_prompt_are_asked_from_the_fork_on() {
    let forker = fork(ForkPlan {
        model: Some("gpt-6".to_owned()),
        system_prompt: Some("Be kind.".to_owned()),
        ..plan(2)
    });
    let (_, body) = answered(ask(&forker, &request(1)));
    assert_eq!(body, answer("answer 1"));
    let RequestDecision::PassOnAs(changed) = ask(&forker, &request(2)) else {
        panic!("it goes on unchanged");
    };
    let mut expected = request(2);
    expected["model"] = "gpt-6".into();
    expected["messages"][0]["content"] = "Be kind.".into();
    assert_eq!(serde_json::from_slice::<Value>(&changed.body).unwrap(), expected);
    assert_eq!(changed.path, None);
    let garbage = forker.respond(&incoming(b"\xff not json"));
    passes_on(&garbage);
    assert_eq!((forker.outcome().live, forker.outcome().unchanged), (2, 1));
}

#[test]
fn changes_that_were_never_asked_are_named() {
    let forker = fork(ForkPlan {
        edits: [(5, answer("edited"))].into(),
        ..plan(3)
    });
    answered(ask(&forker, &request(1)));
    let outcome = forker.outcome();
    assert_eq!((outcome.unasked.as_slice(), outcome.verified), (&[5][..], 1));
    assert!(!outcome.is_verified(), "the second call was never asked");
}

#[test]
fn requests_at_once_are_judged_one_by_one() {
    let other = json!({"model": "gpt-5", "messages": [{"role": "user", "content": "else"}]});
    for _ in 0..200 {
        let forker = fork(plan(2));
        let start = std::sync::Barrier::new(2);
        std::thread::scope(|threads| {
            for request in [&request(1), &other] {
                let request = request.clone();
                let (forker, start) = (&forker, &start);
                threads.spawn(move || {
                    start.wait();
                    ask(forker, &request)
                });
            }
        });
        let outcome = forker.outcome();
        assert_ne!(
            outcome.verified == 1,
            outcome.drift.is_some(),
            "the other one is asked behind the recorded one, or stops the fork"
        );
    }
}

#[test]
fn what_was_kept_without_content_is_refused_before() {
    let mut cassette = recorded();
    cassette.exchanges[4].response.is_cut = true;
    let new = |plan| Forker::new(&cassette, scrubbing(), plan).map(|_| ());
    assert_eq!(new(plan(5)), Ok(()), "it is not needed");
    assert_eq!(new(plan(6)), Err(ForkError::WithoutContent { call: 5 }));
    let cut = ForkPlan {
        faults: [(5, CallFault::Cut)].into(),
        ..plan(5)
    };
    assert_eq!(new(cut), Err(ForkError::WithoutContent { call: 5 }));
    assert_eq!(
        cassette.answer_of_call(5),
        Err(ForkError::WithoutContent { call: 5 })
    );
    for text in ["", "not json", "7", "[1]"] {
        let edited = ForkPlan {
            edits: [(1, text.to_owned())].into(),
            ..plan(1)
        };
        assert_eq!(new(edited), Err(ForkError::NoAnswer { call: 1 }), "{text}");
    }
}

#[test]
fn calls_are_numbered_among_themselves() {
    let mut cassette = recorded();
    let mut models = cassette.exchanges[0].clone();
    (models.api, models.method, models.path) = (None, "GET".to_owned(), "/v1/models".to_owned());
    (models.request, models.repeats) = (None, true);
    cassette.exchanges.insert(0, models);
    assert_eq!(
        cassette.answer_of_call(2).unwrap(),
        serde_json::from_str::<Value>(&answer("answer 2")).unwrap()
    );
    let forker = Forker::new(&cassette, scrubbing(), plan(2)).unwrap();
    let list = IncomingRequest {
        method: "GET",
        path: "/v1/models",
        api: None,
        ..incoming(b"")
    };
    for _ in 0..2 {
        answered(forker.respond(&list));
    }
    let files = IncomingRequest {
        path: "/v1/files",
        ..list
    };
    passes_on(&forker.respond(&files));
    answered(ask(&forker, &request(1)));
    passes_on(&ask(&forker, &request(2)));
    assert!(forker.outcome().is_verified());
}

/// Answers of every API, with text, reasoning and a tool call.
fn documents() -> Vec<(ModelApi, &'static str, Value)> {
    let call =
        json!({"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{\"a\":1}"}});
    vec![
        (
            ModelApi::ChatCompletions,
            "/v1/chat/completions",
            json!({"id": "c1", "object": "chat.completion", "model": "m", "usage": {"prompt_tokens": 3, "completion_tokens": 2},
                "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": "é ‹x›",
                    "tool_calls": [call]}}]}),
        ),
        (
            ModelApi::Completions,
            "/v1/completions",
            json!({"id": "c1", "choices": [{"index": 0, "text": "once", "finish_reason": "stop"}]}),
        ),
        (
            ModelApi::Responses,
            "/v1/responses",
            json!({"id": "r1", "status": "completed", "usage": {"input_tokens": 3, "output_tokens": 2}, "output": [
                {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
                {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": "hi", "annotations": []}]},
                {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "look", "arguments": "{\"a\":1}"}]}),
        ),
        (
            ModelApi::Messages,
            "/v1/messages",
            json!({"id": "m1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "hi"},
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"a": 1}}],
                "usage": {"input_tokens": 3, "output_tokens": 2}}),
        ),
        (
            ModelApi::GenerateContent,
            "/v1beta/models/g:streamGenerateContent",
            json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "hi"}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 3}}),
        ),
        (
            ModelApi::OllamaChat,
            "/api/chat",
            json!({"model": "m", "message": {"role": "assistant", "content": "hi"}, "done": true, "done_reason": "stop", "eval_count": 2}),
        ),
        (
            ModelApi::OllamaGenerate,
            "/api/generate",
            json!({"model": "m", "response": "hi", "done": true, "done_reason": "stop"}),
        ),
    ]
}

#[rstest]
#[case("")]
#[case("alt=sse")]
fn a_document_is_streamed_to_whoever_asks_for_a_stream(#[case] query: &str) {
    for (api, path, document) in documents() {
        let reply = ModelReply::to_request(api, path, query, &json!({"stream": true}), &document);
        let bytes = reply.pieces.concat();
        let again = assemble(api, reply.content_type, bytes.as_bytes());
        assert!(again.is_complete, "{api:?}: {bytes}");
        // What a list is put together from has an index.
        let text = again
            .body
            .to_string()
            .replace(",\"index\":0", "")
            .replace("\"index\":0,", "");
        let expected = document
            .to_string()
            .replace(",\"index\":0", "")
            .replace("\"index\":0,", "");
        assert_eq!(text, expected, "{api:?}: {bytes}");
        assert!(again.chunks > 0, "{api:?}: {bytes}");
    }
}

#[test]
fn a_document_is_sent_whole_to_whoever_asks_for_none() {
    for (api, path, document) in documents() {
        let path = path.replace(":streamGenerateContent", ":generateContent");
        let reply = ModelReply::to_request(api, &path, "", &json!({"stream": false}), &document);
        assert_eq!(reply.content_type, "application/json");
        assert_eq!(reply.pieces, [document.to_string()]);
        let error = json!({"error": {"message": "no"}});
        let reply = ModelReply::to_request(api, &path, "", &json!({"stream": true}), &error);
        assert_eq!(reply.pieces, [error.to_string()], "an error is no stream");
    }
}

#[test]
fn an_edited_stream_is_sent_as_it_is() {
    for (text, content_type) in [
        ("data: {\"a\":1}\n\ndata: [DONE]\n\n", "text/event-stream"),
        ("event: ping\ndata: {}\n\n", "text/event-stream"),
        ("{\"done\":false}\n{\"done\":true}\n", "application/x-ndjson"),
    ] {
        let forker = fork(ForkPlan {
            edits: [(1, text.to_owned())].into(),
            ..plan(1)
        });
        let (given, body) = answered(ask(&forker, &request(1)));
        assert_eq!(body, text);
        assert_eq!(given.headers[0].1, content_type);
    }
}

proptest! {
    #[test]
    fn no_document_makes_a_reply_panic(text in "(\\{|\\}|\\[|\\]|\"choices\"|\"content\"|\"output\"|\"type\"|\"text\"|:|,|1|null|\"message\"){0,24}") {
        let document: Value = serde_json::from_str(&text).unwrap_or_else(|_| json!({"choices": [text], "output": [text],
            "content": [text], "candidates": text, "message": text, "response": 7}));
        for (api, path, _) in documents() {
            let reply = ModelReply::to_request(api, path, "alt=sse", &json!({"stream": true}), &document);
            prop_assert!(!reply.pieces.is_empty());
        }
    }
}
