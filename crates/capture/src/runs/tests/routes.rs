//! One payload, whichever way it came: as JSON lines, JSON, protobuf, compressed, or a request per span.

use std::fs::File;
use std::path::{Path, PathBuf};

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::logs::v1::{ResourceLogs, ScopeLogs};
use proptest::prelude::*;
use prost::Message as _;
use tracer_sdk::spans_to_events;

use super::*;
use crate::otlp::files::{FileContent, OtlpFile};
use crate::otlp::{Compression, DecompressError, Encoding, decode_logs, decode_spans};
use crate::tests::gzip;

#[derive(Clone)]
pub(super) enum Payload {
    Spans(Vec<ResourceSpans>),
    Logs(Vec<ResourceLogs>),
}

fn read(document: impl std::io::Read) -> Vec<Payload> {
    OtlpFile::new(document)
        .map(|document| match document.unwrap() {
            FileContent::Spans(spans) => Payload::Spans(spans.resources),
            FileContent::Logs(logs) => Payload::Logs(logs.resources),
            FileContent::Metrics => Payload::Logs(Vec::new()),
        })
        .collect()
}

fn as_json(payload: &Payload) -> Vec<u8> {
    let json = match payload {
        Payload::Spans(spans) => serde_json::to_vec(&ExportTraceServiceRequest {
            resource_spans: spans.clone(),
        }),
        Payload::Logs(logs) => serde_json::to_vec(&ExportLogsServiceRequest {
            resource_logs: logs.clone(),
        }),
    };
    json.unwrap()
}

fn as_protobuf(payload: &Payload) -> Vec<u8> {
    match payload {
        Payload::Spans(spans) => ExportTraceServiceRequest {
            resource_spans: spans.clone(),
        }
        .encode_to_vec(),
        Payload::Logs(logs) => ExportLogsServiceRequest {
            resource_logs: logs.clone(),
        }
        .encode_to_vec(),
    }
}

fn decoded(payload: &Payload, encoding: Encoding, body: &[u8]) -> Payload {
    match payload {
        Payload::Spans(_) => Payload::Spans(decode_spans(encoding, body).unwrap().resources),
        Payload::Logs(_) => Payload::Logs(decode_logs(encoding, body).unwrap().resources),
    }
}

/// A request for each span and each log record.
fn one_by_one(payload: &Payload) -> Vec<Payload> {
    let mut single = Vec::new();
    match payload {
        Payload::Spans(resources) => {
            for resource in resources {
                for scope in &resource.scope_spans {
                    single.extend(scope.spans.iter().map(|span| {
                        let scope = ScopeSpans {
                            spans: vec![span.clone()],
                            ..scope.clone()
                        };
                        Payload::Spans(vec![ResourceSpans {
                            scope_spans: vec![scope],
                            ..resource.clone()
                        }])
                    }));
                }
            }
        }
        Payload::Logs(resources) => {
            for resource in resources {
                for scope in &resource.scope_logs {
                    single.extend(scope.log_records.iter().map(|record| {
                        let scope = ScopeLogs {
                            log_records: vec![record.clone()],
                            ..scope.clone()
                        };
                        Payload::Logs(vec![ResourceLogs {
                            scope_logs: vec![scope],
                            ..resource.clone()
                        }])
                    }));
                }
            }
        }
    }
    single
}

/// The runs that the payloads become: what is known of each, then its records.
pub(super) fn runs_of(payloads: impl IntoIterator<Item = Payload>) -> Vec<Vec<String>> {
    runs_with_deaths(payloads, false)
}

/// The same, where the receiver may die after each payload.
pub(super) fn runs_with_deaths(payloads: impl IntoIterator<Item = Payload>, dies: bool) -> Vec<Vec<String>> {
    let mut bench = Bench::new();
    for payload in payloads {
        let accepted = match payload {
            Payload::Spans(spans) => bench.collector.accept_spans(spans),
            Payload::Logs(logs) => bench.collector.accept_logs(logs),
        };
        assert_eq!(accepted.unwrap().rejected, 0);
        if dies {
            bench.restart();
        }
    }
    bench.collector.close();
    assert_eq!(bench.staged(), 0);
    let directories = RunStore::new(bench.directory()).list_directories().unwrap();
    let run_of = |directory: &tracer_runs::RunDirectory| {
        let run = LoadedRun::read(&directory.path).unwrap();
        let mut lines = vec![serde_json::to_string(&run.meta).unwrap()];
        let records = spans_to_events(&run.spans);
        lines.extend(
            records
                .iter()
                .map(|record| serde_json::to_string(record).unwrap()),
        );
        lines
    };
    let mut runs: Vec<Vec<String>> = directories.iter().map(run_of).collect();
    runs.sort_unstable();
    runs
}

/// The same, where those of one instant may be in another order.
pub(super) fn sorted(mut runs: Vec<Vec<String>>) -> Vec<Vec<String>> {
    for lines in &mut runs {
        lines.sort_unstable();
    }
    runs
}

fn captured() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/otlp");
    let mut files: Vec<PathBuf> = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .flat_map(|folder| std::fs::read_dir(folder).unwrap())
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "jsonl"))
        .collect();
    files.sort();
    files
}

/// Asserts that the payloads become the same runs by every route.
pub(super) fn assert_same(payloads: &[Payload], name: &str) {
    let all = || payloads.iter().map(Payload::clone);
    let expected = runs_of(all());
    assert!(!expected.is_empty(), "{name}");
    let unpacked = |bytes: &[u8]| {
        let unpacked: Result<_, DecompressError> =
            Compression::Gzip.unpack(&gzip(bytes), usize::MAX, |_| Ok(()));
        unpacked.unwrap()
    };
    let protobuf =
        all().map(|payload| decoded(&payload, Encoding::Protobuf, &unpacked(&as_protobuf(&payload))));
    assert_eq!(runs_of(protobuf), expected, "{name}: protobuf");
    let json = all().map(|payload| decoded(&payload, Encoding::Json, &unpacked(&as_json(&payload))));
    assert_eq!(runs_of(json), expected, "{name}: JSON");
    let lines = all().flat_map(|payload| read(&[as_json(&payload), b"\n".to_vec()].concat()[..]));
    assert_eq!(runs_of(lines), expected, "{name}: JSON lines");
    let mut single: Vec<Payload> = all().flat_map(|payload| one_by_one(&payload)).collect();
    assert_eq!(
        runs_of(single.iter().cloned()),
        expected,
        "{name}: a request per span"
    );
    assert_eq!(
        runs_with_deaths(single.iter().cloned(), true),
        expected,
        "{name}: a request per span, and a death after each"
    );
    single.reverse();
    let expected = sorted(expected);
    assert_eq!(
        sorted(runs_of(single.iter().cloned())),
        expected,
        "{name}: a request per span, the last one first"
    );
    assert_eq!(
        sorted(runs_with_deaths(single, true)),
        expected,
        "{name}: the last one first, and a death after each"
    );
}

#[test]
fn every_route_gives_the_same_records() {
    let files = captured();
    assert!(files.len() > 20, "{files:?}");
    for file in files {
        assert_same(&read(File::open(&file).unwrap()), &file.display().to_string());
    }
}

fn any_span() -> impl Strategy<Value = Span> {
    let attributes = prop::collection::vec(
        prop::sample::select(vec![
            ("gen_ai.operation.name", "chat"),
            ("gen_ai.operation.name", "execute_tool"),
            ("gen_ai.operation.name", "invoke_agent"),
            ("gen_ai.request.model", "gpt-5"),
            ("gen_ai.tool.name", "lookup"),
            ("gen_ai.tool.call.arguments", "{\"a\": [1, null, \"\u{e9}\"]}"),
            ("gen_ai.agent.name", "weather"),
            ("gen_ai.conversation.id", "c-1"),
            ("session.id", "s-1"),
            ("service.name", "claude-code"),
            ("openinference.span.kind", "LLM"),
            ("input.value", "what is the weather?"),
        ]),
        0..6,
    );
    let times = (0_u64..50, 0_u64..50);
    (1_u128..4, 1_u64..30, 0_u64..30, attributes, times, 0..3_i32).prop_map(
        |(trace, id, parent, attributes, (from, length), code)| {
            // Frameworks send the same attribute once.
            let mut kept: Vec<(&str, &str)> = Vec::new();
            for (key, value) in attributes {
                if kept.iter().all(|(known, _)| *known != key) {
                    kept.push((key, value));
                }
            }
            let name = ["chat gpt-5", "claude_code.tool", "plan"][usize::try_from(id % 3).unwrap()];
            let mut span = with(span(trace, id, parent, name, from, from + length), &kept);
            span.status = Some(Status {
                message: String::new(),
                code,
            });
            span
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn generated_spans_are_the_same_by_every_route(spans in prop::collection::vec(any_span(), 1..8)) {
        // An ID is one span's.
        let mut known = std::collections::HashSet::new();
        let mut spans = spans;
        spans.retain(|span| span.span_id != [0, 0, 0, 0, 0, 0, 0, 1] && known.insert(span.span_id.clone()));
        // Of equal times the order is that of the file, and with it which call is the next attempt.
        for (number, span) in (0..).zip(&mut spans) {
            span.start_time_unix_nano += number * 1_000;
            span.end_time_unix_nano += number * 1_000;
        }
        spans.push(agent(9, 1, 0));
        assert_same(&[Payload::Spans(request(spans))], "generated");
    }
}
