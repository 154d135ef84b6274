//! OTLP's own examples, which the crate of its messages brings along: each is read, and is the same as protobuf.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use prost::Message as _;
use serde_json::Value;

use super::{Encoding, decode_logs, decode_spans};

/// An example, from the sources of the crate.
fn example(name: &str) -> Vec<u8> {
    let cargo = |arguments: &[&str]| {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "cargo {arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let version = cargo(&["version", "--verbose"]);
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap();
    // Without the filter it wants the sources of packages for other platforms, which nothing has downloaded.
    let metadata = cargo(&[
        "metadata",
        "--offline",
        "--filter-platform",
        host,
        "--format-version",
        "1",
        "--manifest-path",
        concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"),
    ]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages
        .iter()
        .find(|package| package["name"] == "opentelemetry-proto")
        .unwrap();
    let manifest = Path::new(package["manifest_path"].as_str().unwrap());
    let folder: PathBuf = [
        manifest.parent().unwrap(),
        Path::new("src/proto/opentelemetry-proto/examples"),
    ]
    .iter()
    .collect();
    fs::read(folder.join(name)).unwrap()
}

#[test]
fn the_example_of_traces_is_understood() {
    let spans = decode_spans(Encoding::Json, &example("trace.json"))
        .unwrap()
        .resources;
    let scope = &spans[0].scope_spans[0];
    assert_eq!(scope.scope.as_ref().unwrap().name, "my.library");
    let span = &scope.spans[0];
    // Its IDs are in upper case.
    assert_eq!(span.trace_id[..2], [0x5b, 0x8e]);
    assert_eq!(
        (span.span_id.len(), span.parent_span_id.len(), span.kind),
        (8, 8, 2)
    );
    assert_eq!(span.end_time_unix_nano - span.start_time_unix_nano, 1_000_000_000);
    let request = ExportTraceServiceRequest {
        resource_spans: spans.clone(),
    };
    let again = decode_spans(Encoding::Protobuf, &request.encode_to_vec())
        .unwrap()
        .resources;
    assert_eq!(again, spans);
}

#[test]
fn the_examples_of_logs_and_events_are_understood() {
    for (name, event) in [("logs.json", ""), ("events.json", "browser.page_view")] {
        let logs = decode_logs(Encoding::Json, &example(name)).unwrap().resources;
        let record = &logs[0].scope_logs[0].log_records[0];
        assert_eq!(record.event_name, event);
        assert_ne!(record.time_unix_nano, 0);
        assert!(!record.attributes.is_empty());
        let body = record.body.as_ref().unwrap().value.as_ref();
        assert!(
            matches!(body, Some(Any::StringValue(_) | Any::KvlistValue(_))),
            "{body:?}"
        );
        let request = ExportLogsServiceRequest {
            resource_logs: logs.clone(),
        };
        let again = decode_logs(Encoding::Protobuf, &request.encode_to_vec())
            .unwrap()
            .resources;
        assert_eq!(again, logs);
    }
}

#[test]
fn an_example_of_another_signal_is_no_trace() {
    let metrics = decode_spans(Encoding::Json, &example("metrics.json"));
    assert!(matches!(metrics, Err(super::DecodeError::Foreign)), "{metrics:?}");
    assert!(decode_spans(Encoding::Json, &example("logs.json")).is_err());
}
