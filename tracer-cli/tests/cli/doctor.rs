//! `tracer doctor`: every planted cause is named, and a healthy program has none.

use std::fs;
use std::process::Command;

use crate::sandbox::{FIRST, Outcome, Sandbox};

fn examined(command: &mut Command) -> Outcome {
    command.output().unwrap().into()
}

/// The codes of the causes, of a report that keeps to its schema.
#[track_caller]
fn codes(outcome: &Outcome) -> Vec<String> {
    let report = outcome.json();
    let causes = report["causes"].as_array().unwrap();
    assert_eq!(report["healthy"], causes.is_empty());
    assert_eq!(outcome.code, Some(i32::from(!causes.is_empty())), "{outcome:?}");
    for cause in causes {
        assert!(
            !cause["message"].as_str().unwrap().is_empty() && !cause["remedy"].as_str().unwrap().is_empty()
        );
    }
    causes
        .iter()
        .map(|cause| cause["code"].as_str().unwrap().to_owned())
        .collect()
}

/// The codes with these variables in the environment.
fn codes_with(variables: &[(&str, &str)]) -> Vec<String> {
    let sandbox = Sandbox::new();
    codes(&examined(
        sandbox
            .command(&["doctor", "--json"])
            .envs(variables.iter().copied()),
    ))
}

#[test]
fn a_healthy_surrounding_is_one_line() {
    let outcome = Sandbox::new().tracer(&["doctor"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""));
    assert_eq!(
        outcome.stdout,
        "✓ healthy  nothing keeps runs from being recorded\n"
    );
}

#[test]
fn a_cause_is_printed_with_its_remedy() {
    let sandbox = Sandbox::new();
    let outcome = examined(sandbox.command(&["doctor"]).env("TRACER_ENABLED", "0"));
    assert_eq!(outcome.code, Some(1));
    assert_eq!(
        outcome.stdout,
        "✗ 1 cause found\n  recording_off\n    recording is off: TRACER_ENABLED disables it\n    → unset TRACER_ENABLED, or set it to 1\n"
    );
}

#[test]
fn each_variable_that_hides_runs_is_named() {
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = closed.local_addr().unwrap().port();
    drop(closed);
    let closed = format!("http://127.0.0.1:{port}");
    for (variables, expected) in [
        (vec![("TRACER_ENABLED", "0")], "recording_off"),
        (vec![("TRACER_MAX_FIELD_BYTES", "none")], "setting_invalid"),
        (vec![("TRACER_DATA_DIR", "runs-here")], "data_dir_relative"),
        (vec![("OTEL_SDK_DISABLED", "true")], "otel_disabled"),
        (vec![("OTEL_TRACES_EXPORTER", "none")], "otel_exporter_other"),
        (vec![("OTEL_TRACES_SAMPLER", "always_off")], "otel_sampler_off"),
        (
            vec![
                ("OTEL_TRACES_SAMPLER", "traceidratio"),
                ("OTEL_TRACES_SAMPLER_ARG", "0"),
            ],
            "otel_sampler_off",
        ),
        (
            vec![("OTEL_EXPORTER_OTLP_PROTOCOL", "http")],
            "otel_protocol_unknown",
        ),
        (
            vec![
                ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector.invalid:4317"),
                ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
            ],
            "otel_port_protocol",
        ),
        (
            vec![(
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "http://collector.invalid:4318/v1/traces",
            )],
            "otel_endpoint_path",
        ),
        (
            vec![(
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
                "http://collector.invalid:4318",
            )],
            "otel_endpoint_path",
        ),
        (
            vec![("OTEL_EXPORTER_OTLP_ENDPOINT", closed.as_str())],
            "otel_endpoint_closed",
        ),
        (
            vec![("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "false")],
            "content_off",
        ),
        (vec![("OPENINFERENCE_HIDE_INPUTS", "true")], "content_off"),
        (vec![("TRACEPARENT", "00-not-a-parent-01")], "parent_malformed"),
        (
            vec![(
                "TRACER_TRACEPARENT",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            )],
            "parent_malformed",
        ),
        (
            vec![(
                "TRACER_TRACEPARENT",
                "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            )],
            "parent_run_ended",
        ),
    ] {
        assert_eq!(codes_with(&variables), [expected], "{variables:?}");
    }
}

#[test]
fn a_healthy_exporter_is_no_cause() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let healthy = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        ("OTEL_TRACES_EXPORTER", "otlp"),
        ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true"),
        (
            "TRACEPARENT",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ),
    ];
    assert!(codes_with(&healthy).is_empty());
}

#[test]
fn a_data_directory_that_is_none_is_named() {
    let sandbox = Sandbox::without_data_directory();
    fs::write(sandbox.data_dir(), "a file").unwrap();
    assert_eq!(
        codes(&sandbox.tracer(&["doctor", "--json"])),
        ["data_dir_no_folder"]
    );
}

#[cfg(unix)]
#[test]
fn a_link_in_the_place_of_the_runs_is_named() {
    let sandbox = Sandbox::without_data_directory();
    fs::create_dir_all(sandbox.data_dir()).unwrap();
    fs::create_dir_all(sandbox.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink(sandbox.path("elsewhere"), sandbox.data_dir().join("runs")).unwrap();
    assert_eq!(codes(&sandbox.tracer(&["doctor", "--json"])), ["data_dir_link"]);
}

#[test]
fn another_data_directory_than_the_programs_is_named() {
    let sandbox = Sandbox::new();
    let other = sandbox.path("other");
    let outcome = sandbox.tracer(&["--data-dir", other.to_str().unwrap(), "doctor", "--json"]);
    assert_eq!(codes(&outcome), ["data_dir_differs"]);
}

#[test]
fn a_settings_file_that_disables_recording_is_named() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.path(".tracer")).unwrap();
    fs::write(sandbox.path(".tracer/config.toml"), "enabled = false\n").unwrap();
    assert_eq!(codes(&sandbox.tracer(&["doctor", "--json"])), ["recording_off"]);
}

#[test]
fn a_project_without_the_layer_is_named() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.path("Cargo.toml"), "[dependencies]\nrig = \"0.44\"\n").unwrap();
    fs::write(
        sandbox.path("Cargo.lock"),
        "[[package]]\nname = \"rig\"\nversion = \"0.44.0\"\n",
    )
    .unwrap();
    assert_eq!(codes(&sandbox.tracer(&["doctor", "--json"])), ["sdk_missing"]);
}

#[cfg(unix)]
#[test]
fn a_program_without_a_layer_is_named() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.tracer(&["doctor", "--json", "--", "true"]);
    assert_eq!(codes(&outcome), ["layer_not_made"]);
    // The program's own failure is not the doctor's business.
    let outcome = sandbox.tracer(&["doctor", "--json", "--", "false"]);
    assert_eq!(codes(&outcome), ["layer_not_made"]);
}

#[test]
fn a_command_that_cannot_be_started_is_an_error() {
    let outcome = Sandbox::new().tracer(&["doctor", "--", "no-such-program"]);
    outcome.fails(2, &["failed to start `no-such-program`"]);
}

#[test]
fn the_runs_stay_as_they_are() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let before = crate::sandbox::contents(&sandbox.data_dir());
    sandbox.tracer(&["doctor"]);
    assert_eq!(crate::sandbox::contents(&sandbox.data_dir()), before);
}
