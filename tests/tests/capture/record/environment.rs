//! What the command finds in its environment.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;

use super::{EXPORTER, Recorder};

#[test]
fn the_table_is_set_and_the_users_choice_stays() {
    let recorder = Recorder::new().env("OTEL_TRACES_EXPORTER", "console");
    let outcome = recorder.record(&["env"]);
    for line in [
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:",
        "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf\n",
        "OTEL_TRACES_EXPORTER=console\n",
        "OTEL_LOGS_EXPORTER=otlp\n",
        "OTEL_METRICS_EXPORTER=none\n",
        "CLAUDE_CODE_ENABLE_TELEMETRY=1\n",
    ] {
        assert!(
            outcome.stdout.contains(line),
            "{line} is not in {}",
            outcome.stdout
        );
    }
    let run = recorder.run();
    let root = &run.run.spans[0];
    let parent = format!("00-{}-{}-01", root.trace_id, root.span_id);
    for name in ["TRACEPARENT", "TRACER_TRACEPARENT"] {
        assert!(outcome.stdout.contains(&format!("{name}={parent}\n")));
    }
    outcome.says("OTEL_TRACES_EXPORTER=console sends spans elsewhere");
}

#[test]
fn print_env_prints_for_a_shell_and_runs_nothing() {
    let recorder = Recorder::new().env("OTEL_LOGS_EXPORTER", "console");
    let outcome = recorder.record_with(&["--print-env"], &["codex", "exec", "hi"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    for expected in [
        "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:PORT\n",
        "# OTEL_LOGS_EXPORTER stays as it is\n",
        "# added options: -c 'otel.exporter=",
    ] {
        assert!(
            outcome.stdout.contains(expected),
            "{expected} is not in {}",
            outcome.stdout
        );
    }
    assert!(recorder.runs().is_empty());
    let without = recorder.record_with(&["--print-env", "--no-otel"], &["codex"]);
    assert!(!without.stdout.contains("OTEL_"), "{}", without.stdout);
    assert!(without.stdout.contains("TRACER_TRACEPARENT="));
}

#[test]
fn without_otel_nothing_of_it_is_set() {
    let recorder = Recorder::new();
    let outcome = recorder.record_with(&["--no-otel"], &["env"]);
    assert!(!outcome.stdout.contains("OTEL_"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("TRACER_TRACEPARENT="));
    outcome.says("--no-otel");
}

#[test]
fn an_endpoint_of_the_environment_gets_everything_as_well() {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = upstream.local_addr().unwrap();
    let taken = thread::spawn(move || {
        let (mut stream, _) = upstream.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let length = stream.read(&mut buffer).unwrap();
            request.extend_from_slice(&buffer[..length]);
            let text = String::from_utf8_lossy(&request);
            let has_all = text.split_once("\r\n\r\n").is_some_and(|(head, body)| {
                let length = head.lines().find_map(|line| {
                    line.to_ascii_lowercase()
                        .strip_prefix("content-length: ")?
                        .parse()
                        .ok()
                });
                length == Some(body.len())
            });
            if length == 0 || has_all {
                break;
            }
        }
        stream
            .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}")
            .unwrap();
        String::from_utf8(request).unwrap()
    });
    let recorder = Recorder::new()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", &format!("http://{address}/base"))
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-team=agents");
    let outcome = recorder.export(&["call"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let request = taken.join().unwrap();
    assert!(request.starts_with("POST /base/v1/traces "), "{request}");
    assert!(request.contains("x-team: agents") && request.contains("chat gpt-5"));
    assert_eq!(recorder.run().run.meta.counts.llm_calls, 1, "and it is recorded");
    assert!(!outcome.stderr.contains("did not take"), "{outcome:?}");
}

#[test]
fn an_upstream_that_is_gone_is_named_and_disturbs_nothing() {
    let recorder = Recorder::new().env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1");
    let outcome = recorder.export(&["call"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome
        .says("1 model call, 1 tool call")
        .says("did not take 1 request");
}

#[test]
fn codex_gets_its_options_and_the_user_hears_of_it() {
    let recorder = Recorder::new();
    recorder.write("codex", "#!/bin/sh\necho \"$@\"\n");
    let path = recorder.path("codex");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let outcome = recorder.record(&["./codex", "exec", "hello"]);
    assert!(
        outcome.stdout.starts_with("-c otel.exporter={otlp-http="),
        "{outcome:?}"
    );
    assert!(
        outcome
            .stdout
            .contains("-c otel.log_user_prompt=true -c openai_base_url=\"http://127.0.0.1:"),
        "{outcome:?}"
    );
    assert!(
        outcome.stdout.ends_with("/openai/v1\" exec hello\n"),
        "{outcome:?}"
    );
    outcome.says("tracer: added -c");
    let run = recorder.run();
    let arguments = run.run.spans[0].attributes["tracer.argv"].as_str().unwrap();
    assert_eq!(arguments, r#"["./codex","exec","hello"]"#, "as the user wrote it");
    let plain = recorder.record_with(&["--no-otel", "--no-proxy"], &["./codex", "exec", "hello"]);
    assert_eq!(plain.stdout, "exec hello\n");
}

#[test]
fn the_name_is_given_or_follows_the_command() {
    for (options, variable, expected) in [
        (&["--name", "nightly"][..], "other", "nightly"),
        (&[], "from the environment", "from the environment"),
        (&[], "", "exporter call"),
    ] {
        let recorder = Recorder::new().env("TRACER_RUN_NAME", variable);
        let _ = recorder.record_with(options, &[EXPORTER, "call"]);
        assert_eq!(recorder.run().run.meta.run_name.as_deref(), Some(expected));
    }
}

#[test]
fn secrets_of_the_command_line_are_redacted() {
    let recorder = Recorder::new();
    let _ = recorder.record(&["sh", "-c", "true", "sh", "--api-key", "correct-horse-battery"]);
    let files = recorder.data.files();
    let holds = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("correct-horse-battery");
    assert!(!files.iter().any(|(_, bytes)| holds(bytes)));
}
