//! Upstreams and clients that do not do as they should.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::json;
use tracer_sdk::format::{EventType, Payload};
use tracer_tests::model_server::{begin_post, chunk, chunked_head, post, whole_answer};
use tracer_tests::{Finished, ModelServer};

use super::Proxied;

const QUESTION: &[u8] = br#"{"model":"m","messages":[{"role":"user","content":"Hi"}]}"#;

/// The class of the error of each model call.
fn failures(run: &Finished) -> Vec<Option<String>> {
    let calls = run.all(EventType::LlmCall).into_iter();
    let failure = calls.map(|record| match &record.payload {
        Payload::LlmCall { error, .. } => error.as_ref().map(|error| error.error_type.clone()),
        _ => None,
    });
    failure.collect()
}

fn answer() -> Vec<u8> {
    let body = json!({"id": "c", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]});
    whole_answer("application/json", body.to_string().as_bytes())
}

#[test]
fn garbage_passes_unchanged_and_is_recorded() {
    let answers: [(&str, &[u8]); 6] = [
        (
            "text/event-stream",
            b"data: {\"choices\": nonsense\n\ndata: \xff\xfe\n\n",
        ),
        ("application/json", b"{\"choices\": 7, \"usage\": \"many\"}"),
        ("application/json", b"[[[[[[[["),
        ("text/html", b"<h1>Maintenance</h1>"),
        ("application/octet-stream", b"\x00\x01\x02\xff"),
        ("application/json", b""),
    ];
    let server = ModelServer::start(move |request, stream| {
        let number: usize = request.path.rsplit('=').next().unwrap().parse().unwrap();
        let (content_type, body) = answers[number];
        stream.write_all(&whole_answer(content_type, body)).unwrap();
    });
    let proxied = Proxied::new(&server.base());
    let base = proxied.base_url("OPENAI_BASE_URL");
    for (number, (_, body)) in answers.iter().enumerate() {
        for path in ["/chat/completions", "/responses"] {
            let response = post(&format!("{base}{path}?n={number}"), &[], QUESTION);
            assert_eq!((response.status, response.body.as_slice()), (200, *body));
        }
    }
    let (summary, run, _data) = proxied.finish();
    assert_eq!((summary.model_calls, summary.lost), (12, 0));
    assert_eq!(failures(&run).len(), 12);
}

#[test]
fn requests_that_are_no_json_pass_unchanged() {
    let server = ModelServer::start(|_, stream| stream.write_all(&answer()).unwrap());
    let proxied = Proxied::new(&server.base());
    let url = format!("{}/chat/completions", proxied.base_url("OPENAI_BASE_URL"));
    let bodies: [&[u8]; 4] = [b"", b"\xff\xfe", b"{\"model\":", b"--boundary\r\n"];
    for body in bodies {
        assert_eq!(post(&url, &[], body).status, 200);
    }
    let received: Vec<Vec<u8>> = server
        .requests()
        .into_iter()
        .map(|request| request.body)
        .collect();
    assert_eq!(received, bodies);
    let (summary, ..) = proxied.finish();
    assert_eq!((summary.model_calls, summary.lost), (4, 0));
}

#[test]
fn an_upstream_that_closes_early_is_a_broken_answer() {
    let server = ModelServer::start(|_, stream| {
        stream
            .write_all(
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":",
            )
            .unwrap();
        let _ = stream.shutdown(Shutdown::Both);
    });
    let proxied = Proxied::new(&server.base());
    let url = format!("{}/chat/completions", proxied.base_url("OPENAI_BASE_URL"));
    let response = post(&url, &[], QUESTION);
    assert!(!response.is_whole && response.body.len() < 500);
    let (_, run, _data) = proxied.finish();
    assert_eq!(failures(&run), [Some("upstream_failed".to_owned())]);
}

#[test]
fn an_upstream_that_answers_nothing_is_a_failed_call() {
    let server = ModelServer::start(|_, stream| drop(stream.shutdown(Shutdown::Both)));
    let proxied = Proxied::new(&server.base());
    let url = format!("{}/chat/completions", proxied.base_url("OPENAI_BASE_URL"));
    let response = post(&url, &[], QUESTION);
    assert_eq!(response.status, 502);
    let (_, run, _data) = proxied.finish();
    assert_eq!(failures(&run), [Some("upstream_failed".to_owned())]);
}

#[test]
fn a_slow_upstream_is_waited_for() {
    let server = ModelServer::start(|_, stream| {
        stream.write_all(&chunked_head("text/event-stream")).unwrap();
        for piece in [
            "data: {\"choices\":[{\"index\":0,",
            "\"delta\":{\"content\":\"Slow\"},",
            "\"finish_reason\":\"stop\"}]}\n\n",
            "data: [DONE]\n\n",
        ] {
            thread::sleep(Duration::from_millis(150));
            stream.write_all(&chunk(piece.as_bytes())).unwrap();
        }
        stream.write_all(&chunk(b"")).unwrap();
    });
    let proxied = Proxied::new(&server.base());
    let url = format!("{}/chat/completions", proxied.base_url("OPENAI_BASE_URL"));
    let response = post(&url, &[], QUESTION);
    assert!(response.is_whole);
    let (_, run, _data) = proxied.finish();
    assert_eq!(failures(&run), [None]);
    assert_eq!(
        run.payload(EventType::LlmCall)["response"]["choices"][0]["message"]["content"],
        "Slow"
    );
}

#[test]
fn failed_attempts_are_recorded_with_the_one_that_works() {
    let attempts = AtomicUsize::new(0);
    let server = ModelServer::start(move |_, stream| {
        let (status, body) = match attempts.fetch_add(1, Ordering::SeqCst) {
            0 => (
                "429 Too Many Requests",
                r#"{"error":{"type":"rate_limit_error","message":"slow down"}}"#,
            ),
            1 => ("503 Service Unavailable", "upstream connect error"),
            2 => (
                "529 Overloaded",
                r#"{"type":"error","error":{"type":"overloaded_error","message":"later"}}"#,
            ),
            _ => return stream.write_all(&answer()).unwrap(),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nretry-after: 1\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
    });
    let proxied = Proxied::new(&server.base());
    let url = format!("{}/chat/completions", proxied.base_url("OPENAI_BASE_URL"));
    let responses: Vec<_> = (0..4).map(|_| post(&url, &[], QUESTION)).collect();
    let statuses: Vec<u16> = responses.iter().map(|response| response.status).collect();
    assert_eq!(statuses, [429, 503, 529, 200]);
    assert!(responses[0].head.contains("retry-after: 1"));
    let (_, run, _data) = proxied.finish();
    let failed = failures(&run);
    let expected = [
        Some("rate_limit_error"),
        Some("503"),
        Some("overloaded_error"),
        None,
    ];
    assert_eq!(failed, expected.map(|class| class.map(str::to_owned)));
}

#[test]
fn clients_that_hang_up_leave_what_came() {
    let server = ModelServer::start(|_, stream| {
        stream.write_all(&chunked_head("text/event-stream")).unwrap();
        let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"A\"}}]}\n\n";
        for _ in 0..2_000 {
            if stream.write_all(&chunk(event.as_bytes())).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    });
    let proxied = Proxied::new(&server.base());
    let url = format!("{}/chat/completions", proxied.base_url("OPENAI_BASE_URL"));
    for _ in 0..5 {
        let mut stream = begin_post(&url, &[], QUESTION);
        let mut buffer = [0; 512];
        assert!(stream.read(&mut buffer).unwrap() > 0);
    }
    tracer_tests::wait_until("the proxy notices", || proxied.proxy.open_requests() == 0);
    let (_, run, _data) = proxied.finish();
    assert_eq!(failures(&run), vec![Some("aborted".to_owned()); 5]);
}
