//! No secret reaches the disk, wherever a program puts it; and what only looks like one stays (decisions, section 6).

use serde_json::{Value, json};
use tracer_sdk::format::EventType;
use tracer_sdk::{Run, llm_call, record_error, span, state, tool_call};
use tracer_tests::finished::payload;
use tracer_tests::secrets::{Sample, random_text, samples};
use tracer_tests::{DataDir, Program, recorded};

/// A way for a value to get into a trace.
type Place = (&'static str, fn(&Value));

const PLACES: [Place; 12] = [
    ("arguments", |value| tool_call("t").args(value).record().unwrap()),
    ("result", |value| tool_call("t").result(value).record().unwrap()),
    ("prompt", |value| llm_call("m").prompt(value).record().unwrap()),
    ("response", |value| {
        llm_call("m").response(value).record().unwrap();
    }),
    ("state", |value| state(value).record().unwrap()),
    ("diff", |value| state(&1).diff(value).record().unwrap()),
    ("metadata", |value| tool_call("t").meta(value).record().unwrap()),
    ("attribute", |value| {
        tool_call("t").attribute("detail", value).record().unwrap();
    }),
    ("attribute of a span", |value| {
        span("s").attribute("detail", value).start().end();
    }),
    ("attribute of a timed call", |value| {
        let mut call = llm_call("m").start().unwrap();
        call.attribute("detail", value).response(value);
    }),
    ("result of a timed call", |value| {
        let mut call = tool_call("t").args(value).start().unwrap();
        call.result(value);
    }),
    ("call that the run overtakes", |value| {
        std::mem::forget(tool_call("t").args(value).start().unwrap());
    }),
];

/// A way for a text to get into a trace.
type TextPlace = (&'static str, fn(&str));

const TEXT_PLACES: [TextPlace; 12] = [
    ("prompt", |text| llm_call("m").prompt(text).record().unwrap()),
    ("streamed answer", |text| {
        let mut call = llm_call("m").start().unwrap();
        let middle = (0..=text.len() / 2)
            .rev()
            .find(|&at| text.is_char_boundary(at))
            .unwrap();
        call.chunk(&text[..middle]).chunk(&text[middle..]);
    }),
    ("model", |text| llm_call(text).record().unwrap()),
    ("provider", |text| llm_call("m").provider(text).record().unwrap()),
    ("stop reason", |text| {
        llm_call("m").stop_reason(text).record().unwrap();
    }),
    ("tool name", |text| tool_call(text).record().unwrap()),
    ("tool name in flight", |text| {
        std::mem::forget(tool_call(text).start().unwrap());
    }),
    ("span name", |text| span(text).start().end()),
    ("attribute key", |text| {
        span("s").attribute(text, &1).start().end();
    }),
    ("error of a call", |text| {
        tool_call("t").fail(text).record().unwrap();
    }),
    ("error of a span", |text| _ = span("s").start().fail(text)),
    ("captured error", |text| {
        record_error(&std::io::Error::other(text.to_owned())).unwrap();
    }),
];

/// Keys whose values are secrets.
const KEYS: [&str; 38] = [
    "api_key",
    "apiKey",
    "APIKEY",
    "X-Api-Key",
    "openai api key",
    "authorization",
    "Authorization",
    "proxy-authorization",
    "cookie",
    "cookies",
    "Set-Cookie",
    "password",
    "db.password",
    "passwordHash",
    "password_hash",
    "Passwords",
    "secret",
    "client_secret",
    "secretKey",
    "secret.value",
    "token",
    "authToken",
    "access_token",
    "token_header",
    "credentials",
    "auth",
    "bearer",
    "pass",
    "db_pass",
    "passwd",
    "pwd",
    "passphrase",
    "jwt",
    "dsn",
    "PGPASSWORD",
    "private_key",
    "AWS_SECRET_ACCESS_KEY",
    "ｐａｓｓｗｏｒｄ",
];

fn assert_absent(data: &DataDir, place: &str, kind: &str, secret: &str) {
    for (path, bytes) in data.files() {
        let text = String::from_utf8_lossy(&bytes);
        let name = path.file_name().unwrap().display();
        // Not the whole secret, and no piece of it that would be of use.
        let piece = secret.trim().get(secret.trim().len() - 12..).unwrap_or(secret);
        assert!(!text.contains(piece), "{kind} in {place}: {name} holds it");
    }
}

#[test]
fn a_secret_under_a_key_is_nowhere_on_disk_at_any_depth() {
    for (number, (place, record)) in PLACES.iter().enumerate() {
        let data = DataDir::new();
        let mut planted = Vec::new();
        let run = data.run("secrets").start();
        for (key_number, key) in KEYS.iter().enumerate() {
            let secret = random_text(number * 1000 + key_number, 24);
            let mut value = json!({"user": "ada", *key: secret});
            for depth in 0..key_number % 7 {
                value = if depth % 2 == 0 {
                    json!([0, value])
                } else {
                    json!({"inner": value})
                };
            }
            record(&value);
            planted.push((*key, secret.clone()));
            record(&json!({"headers": {*key: {"nested": [secret]}}}));
        }
        // Looked for while the run lives too: `.live` is a file.
        for (key, secret) in &planted {
            assert_absent(&data, place, key, secret);
        }
        run.finish();
        assert_eq!(data.finished().run.meta.run_name.as_deref(), Some("secrets"));
        for (key, secret) in &planted {
            assert_absent(&data, place, key, secret);
        }
    }
}

#[test]
fn a_secret_under_an_attributes_key_is_nowhere_on_disk() {
    let data = DataDir::new();
    let secrets: Vec<String> = (0..KEYS.len())
        .map(|number| random_text(90_000 + number, 24))
        .collect();
    data.run("secrets").in_scope(|| {
        for (key, secret) in KEYS.iter().zip(&secrets) {
            tool_call("t").attribute(key, secret).record().unwrap();
            span("s").attribute(key, &[secret]).start().end();
        }
    });
    for (key, secret) in KEYS.iter().zip(&secrets) {
        assert_absent(&data, "attribute", key, secret);
    }
}

#[test]
fn a_secret_within_a_text_is_nowhere_on_disk() {
    for (number, (place, record)) in TEXT_PLACES.iter().enumerate() {
        let data = DataDir::new();
        let samples = samples(number + 1);
        let run = data.run("secrets").start();
        for sample in &samples {
            record(&sample.text);
        }
        check_all(&data, place, &samples);
        run.finish();
        check_all(&data, place, &samples);
    }
}

#[test]
fn secrets_within_strings_are_not_written() {
    for (number, (place, record)) in PLACES.iter().enumerate() {
        let data = DataDir::new();
        let samples = samples(number + 101);
        data.run("secrets").in_scope(|| {
            for sample in &samples {
                record(&json!({"messages": [{"role": "user", "content": sample.text}]}));
                record(&json!(sample.text));
            }
        });
        check_all(&data, place, &samples);
    }
}

#[test]
fn secrets_in_names_and_errors_are_not_written() {
    for sample in samples(201) {
        let data = DataDir::new();
        let outcome: Result<(), String> = Run::new(sample.text.clone())
            .config(&data.config())
            .try_in_scope(|| Err(sample.text.clone()));
        assert!(outcome.is_err());
        check_all(&data, "run name and error", std::slice::from_ref(&sample));
    }
}

fn check_all(data: &DataDir, place: &str, samples: &[Sample]) {
    for sample in samples {
        assert_absent(data, place, sample.kind, &sample.secret);
    }
}

#[test]
fn a_secret_in_the_programs_arguments_or_environment_is_nowhere_on_disk() {
    let secret = |number: usize| random_text(70_000 + number, 24);
    let data = DataDir::new();
    let header = format!("Authorization: Bearer {}", secret(6));
    let arguments = [
        "default-name".to_owned(),
        "0".to_owned(),
        format!("--api-key={}", secret(0)),
        "--password".to_owned(),
        secret(1),
        "--auth-token".to_owned(),
        secret(2),
        format!("--client_secret={}", secret(3)),
        "-token".to_owned(),
        secret(4),
        "--header".to_owned(),
        header,
        format!("OPENAI_API_KEY={}", secret(5)),
        "--max-tokens".to_owned(),
        "4096".to_owned(),
    ];
    Program::new(env!("CARGO_BIN_EXE_traced"), &data)
        .args(arguments.iter().map(String::as_str))
        .env("MY_DEPLOY_TOKEN", &secret(7))
        .env("TRACER_RUN_NAME", &format!("deploying with {}", secret(7)))
        .succeed();
    for number in 0..8 {
        assert_absent(&data, "process", &format!("argument {number}"), &secret(number));
    }
    let start = data.finished().payload(EventType::RunStart);
    assert_eq!(start["run_name"], "deploying with __REDACTED__");
    let shown = start["argv"].as_array().unwrap();
    assert_eq!(
        shown[3..6],
        ["--api-key=__REDACTED__", "--password", "__REDACTED__"]
    );
    assert_eq!(
        shown[14..],
        ["--max-tokens", "4096"],
        "what only looks alike stays"
    );
}

#[test]
fn what_only_looks_like_a_secret_is_untouched() {
    let harmless = json!({
        "max_tokens": 4096, "prompt_tokens": 12, "completion_tokens": 30, "token_count": 42, "tokens": ["to", "ken"],
        "tokenizer": "cl100k_base", "secretary": "Ada Lovelace", "cookie_policy": "strict", "passwordless": "yes",
        "token": 12345, "authToken": true, "keyboard": "qwerty", "monkey": "see", "author": "Grace", "secretion": "x",
        "commit": "3b97704f1c2d4e5f60718293a4b5c6d7e8f90123", "uuid": "1b4e28ba-2fa1-11d2-883f-0016d3cca427",
        "text": "The password policy asks for a token of appreciation; see https://example.com/tokens?page=2",
        "code": "let key = map.get(\"api\")?; assert_eq!(token.len(), 3);",
    });
    for (place, record) in &PLACES[..7] {
        let finished = recorded(|| record(&harmless));
        let record = &finished.records[1];
        let shown = match *place {
            "metadata" => Value::Object(record.meta.clone()),
            "arguments" => payload(record)["args"].clone(),
            place => payload(record)[place].clone(),
        };
        assert_eq!(shown, harmless, "{place}");
    }
}
