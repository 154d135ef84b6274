//! `tracer push`, as far as nothing is sent: selection, settings and confirmation.

use std::net::TcpListener;
use std::process::Command;

use crate::sandbox::{FIRST, Outcome, Sandbox};

fn outcome(mut command: Command) -> Outcome {
    command.output().unwrap().into()
}

/// A sandbox with one run.
fn one_run() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox
}

/// A URL on this machine at which nobody listens.
fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    format!("http://{}", listener.local_addr().unwrap())
}

#[test]
fn another_machine_needs_a_confirmation_that_is_remembered() {
    let sandbox = one_run();
    // `.invalid` is never resolved.
    let push = ["push", "--to", "https://me:s3cret@collector.invalid"];
    let refused = sandbox.tracer(&push);
    refused.fails(
        2,
        &[
            "sending runs to collector.invalid needs a confirmation",
            "confirm with --yes; it is remembered",
        ],
    );
    assert!(!refused.stderr.contains("s3cret"));
}

#[test]
fn an_endpoint_that_is_not_there_is_named() {
    let sandbox = one_run();
    let url = nobody();
    sandbox.tracer(&["push", "--to", &url]).fails(
        2,
        &[
            &format!("failed to push to {url}/v1/traces: failed to connect"),
            "hint: check that a collector listens there",
        ],
    );
}

#[test]
fn variables_are_obeyed_and_named_when_they_are_wrong() {
    for (name, value, said) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "s3cret", "expected a URL"),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "s3cret",
            "entry 1 is not NAME=VALUE",
        ),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "asks for gRPC"),
        (
            "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE",
            "/no/such.pem",
            "`/no/such.pem` cannot be used",
        ),
    ] {
        let sandbox = one_run();
        let mut command = sandbox.command(&["push", "--yes"]);
        command.env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://localhost:9");
        if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
            command.env_remove("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        }
        let refused = outcome({
            command.env(name, value);
            command
        });
        refused.fails(2, &[said, "hint: "]);
        assert!(!refused.stderr.contains("s3cret"));
    }
}

#[test]
fn a_wrong_header_is_never_shown() {
    let sandbox = one_run();
    let mut command = sandbox.command(&["push"]);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization: s3cret");
    let refused = outcome(command);
    refused.fails(2, &["hint: "]);
    assert!(!refused.stderr.contains("s3cret"));
}

#[test]
fn runs_are_named_or_chosen_by_a_rule() {
    let sandbox = one_run();
    sandbox
        .tracer(&["push", "first", "--all"])
        .fails(2, &["cannot be used with"]);
    sandbox
        .tracer(&["push", "nothing-like-it"])
        .fails(2, &["no run has an ID that starts with"]);
}

#[test]
fn a_journal_of_a_newer_version_is_kept() {
    let sandbox = one_run();
    let url = nobody();
    let push = ["push", "--to", url.as_str()];
    assert_eq!(sandbox.tracer(&push).code, Some(2));
    let journal = std::fs::read_dir(sandbox.data_dir().join("pushed"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .unwrap();
    let newer = r#"{"version":99}"#;
    std::fs::write(&journal, newer).unwrap();
    sandbox
        .tracer(&push)
        .fails(2, &["is damaged, or of a newer version", "hint: update tracer"]);
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), newer);
}
