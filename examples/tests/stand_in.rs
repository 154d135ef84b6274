//! The stand-in speaks the chat-completions protocol over real HTTP.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, its helpers too")]

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tracer_examples::model::{Endpoint, Message, Model, ModelError};
use tracer_examples::stand_in::{MODEL, StandIn};

/// One request, straight over HTTP; the answer's status and body.
async fn send(method: Method, path: &str, key: Option<&str>, body: &str) -> (StatusCode, Value) {
    let stand_in = StandIn::start().await.unwrap();
    let endpoint = stand_in.endpoint();
    // Installs the process's provider of cryptography, which every client needs.
    Model::new(stand_in.endpoint(), MODEL).unwrap();
    let client = reqwest::Client::builder()
        .no_proxy()
        .tls_certs_only([])
        .build()
        .unwrap();
    let request = client
        .request(method, format!("{}{path}", endpoint.base_url))
        .body(body.to_owned());
    let request = match key {
        Some(key) => request.bearer_auth(key),
        None => request.bearer_auth(&endpoint.api_key),
    };
    let response = request.send().await.unwrap();
    (response.status(), response.json().await.unwrap())
}

async fn post(body: &Value) -> (StatusCode, Value) {
    send(Method::POST, "/chat/completions", None, &body.to_string()).await
}

fn question() -> Value {
    json!({
        "model": MODEL,
        "messages": [{"role": "user", "content": "What do 3 parcels to Norway cost?"}],
        "tools": [{"type": "function", "function": {"name": "search_files"}}],
    })
}

#[tokio::test]
async fn a_tool_call_has_the_shape_of_the_protocol() {
    let (status, body) = post(&question()).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], MODEL);
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    let choice = &body["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls");
    assert_eq!(choice["message"]["role"], "assistant");
    assert_eq!(choice["message"]["content"], Value::Null);
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["type"], "function");
    assert_eq!(call["function"]["name"], "search_files");
    let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"query": "parcel norway cost"}));
}

#[tokio::test]
async fn tokens_are_counted_from_the_text() {
    let (_, short) = post(&question()).await;
    let mut request = question();
    request["messages"][0]["content"] = json!("word ".repeat(400));
    let (_, long) = post(&request).await;
    let prompt = |body: &Value| body["usage"]["prompt_tokens"].as_u64().unwrap();
    // 2000 characters instead of 33 are 500 tokens less 8, give or take the rounding.
    assert!((490..=493).contains(&(prompt(&long) - prompt(&short))));
    for body in [short, long] {
        let usage = &body["usage"];
        let sum = usage["prompt_tokens"].as_u64().unwrap() + usage["completion_tokens"].as_u64().unwrap();
        assert_eq!(usage["total_tokens"], sum);
        assert!(usage["completion_tokens"].as_u64().unwrap() > 0);
    }
}

#[tokio::test]
async fn a_bad_request_gets_the_protocols_error() {
    let changed = |pointer: &str, value: Value| {
        let mut request = question();
        request[pointer] = value;
        request
    };
    let call = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "call-1", "type": "function", "function": {"name": "search_files", "arguments": "{}"}}
    ]});
    let answer = json!({"role": "tool", "content": "{}", "tool_call_id": "call-1"});
    let user = json!({"role": "user", "content": "And now?"});
    let cases = [
        (
            changed("model", json!("gpt-5")),
            404,
            json!("model"),
            json!("model_not_found"),
        ),
        (
            changed("messages", json!([])),
            400,
            json!("messages"),
            Value::Null,
        ),
        (changed("messages", json!("Hello")), 400, Value::Null, Value::Null),
        (changed("stream", json!(true)), 400, json!("stream"), Value::Null),
        (
            changed("messages", json!([user, call])),
            400,
            json!("messages"),
            Value::Null,
        ),
        (
            changed("messages", json!([user, call, user])),
            400,
            json!("messages"),
            Value::Null,
        ),
        (
            changed("messages", json!([user, answer])),
            400,
            json!("messages"),
            Value::Null,
        ),
        (
            changed("messages", json!([user, {"role": "tool", "content": "{}"}])),
            400,
            json!("messages"),
            Value::Null,
        ),
    ];
    for (request, status, param, code) in cases {
        let (got, body) = post(&request).await;
        assert_eq!(got.as_u16(), status, "{request}");
        assert_eq!(body["error"]["type"], "invalid_request_error", "{request}");
        assert_eq!(
            (&body["error"]["param"], &body["error"]["code"]),
            (&param, &code),
            "{request}"
        );
        assert!(!body["error"]["message"].as_str().unwrap().is_empty());
    }
}

#[tokio::test]
async fn what_is_no_json_no_known_path_no_known_method_or_has_no_key_is_refused() {
    let cases = [
        (Method::POST, "/chat/completions", None, "{", 400),
        (Method::POST, "/chat/completions", Some("wrong"), "{}", 401),
        (Method::GET, "/models", Some("wrong"), "", 401),
        (Method::GET, "/chat/completions", None, "", 405),
        (Method::GET, "/embeddings", None, "", 404),
    ];
    for (method, path, key, body, status) in cases {
        let (got, body) = send(method.clone(), path, key, body).await;
        assert_eq!(got.as_u16(), status, "{method} {path}");
        assert!(body["error"]["message"].is_string(), "{method} {path}: {body}");
    }
}

#[tokio::test]
async fn the_models_are_listed() {
    let (status, body) = send(Method::GET, "/models", None, "").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(body["data"][0]["id"], MODEL);
}

#[tokio::test]
async fn the_client_understands_an_answer_and_a_refusal() {
    let stand_in = StandIn::start().await.unwrap();
    let messages = [Message::user("Hello?")];
    let model = Model::new(stand_in.endpoint(), MODEL).unwrap();
    let completion = model.complete(&messages, &[]).await.unwrap();
    assert_eq!(
        completion.message.content.unwrap(),
        "I found nothing that answers: Hello?"
    );
    assert!(completion.usage.unwrap().total_tokens > 0);

    let model = Model::new(stand_in.endpoint(), "gpt-5").unwrap();
    let error = model.complete(&messages, &[]).await.err().unwrap();
    assert!(
        matches!(error, ModelError::Refused { status: 404, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("there is no model `gpt-5`"), "{error}");
}

#[tokio::test]
async fn an_unreachable_endpoint_is_reported_with_its_reason() {
    // A port that was free a moment ago, and that nobody listens on.
    let free = std::net::TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let endpoint = Endpoint {
        base_url: format!("http://{free}/v1"),
        api_key: "secret-key".to_owned(),
    };
    let model = Model::new(endpoint, MODEL).unwrap();
    let error = model
        .complete(&[Message::user("Hello?")], &[])
        .await
        .err()
        .unwrap()
        .to_string();
    assert!(error.starts_with("the model could not be asked: "), "{error}");
    assert!(error.to_lowercase().contains("refused"), "{error}");
    assert!(!error.contains("secret-key"), "{error}");
}
