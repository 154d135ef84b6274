//! What each answer of an endpoint leads to.

use std::time::Duration;

use rstest::rstest;
use tracer_ship::{JournalError, OtlpDestination, OtlpSettings, ShipError, ShipEvent, Shipper};
use tracer_tests::collector::Reply;
use tracer_tests::{Collector, DataDir};

use super::{ids, options, push, push_with, record, recorded_ids, settings, waits};

/// A data directory with one run of three spans.
fn one_run() -> DataDir {
    let data = DataDir::new();
    record(&data, "support-agent");
    data
}

#[test]
fn every_span_arrives_once_and_is_not_sent_again() {
    let data = one_run();
    record(&data, "planner");
    let collector = Collector::start([]);
    let summary = push(&data, &collector);
    assert_eq!((summary.runs, summary.sent_spans, summary.open_runs), (2, 6, 0));
    assert_eq!(ids(&collector.spans()), recorded_ids(&data));
    let requests = collector.requests();
    assert_eq!(requests.len(), 1, "small runs share a request");
    let headers = &requests[0].headers;
    assert_eq!(requests[0].path, "/v1/traces");
    assert_eq!(headers["content-type"], "application/x-protobuf");
    assert_eq!(headers["content-encoding"], "gzip");

    let again = push(&data, &collector);
    assert_eq!((again.runs_sent_before, again.sent_spans), (2, 0));
    record(&data, "third");
    assert_eq!(push(&data, &collector).sent_spans, 3);
    assert_eq!(collector.spans().len(), 9);
}

#[test]
fn sent_again_on_request_the_spans_are_the_same() {
    let data = one_run();
    let collector = Collector::start([]);
    push(&data, &collector);
    let mut options = options();
    options.again = true;
    let again = push_with(&data, &settings(&collector, &[]), options);
    assert_eq!(again.outcome.unwrap().sent_spans, 3);
    let requests = collector.requests();
    assert_eq!(requests[0].body, requests[1].body);
}

#[test]
fn headers_and_plain_json_follow_the_variables() {
    let data = one_run();
    let collector = Collector::start([]);
    let variables = [
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20YQ%3D%3D"),
        ("OTEL_EXPORTER_OTLP_COMPRESSION", "none"),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
    ];
    let pushed = push_with(&data, &settings(&collector, &variables), options());
    assert_eq!(pushed.outcome.unwrap().sent_spans, 3);
    let headers = &collector.requests()[0].headers;
    assert_eq!(headers["authorization"], "Basic YQ==");
    assert_eq!(headers["content-type"], "application/json");
    assert!(!headers.contains_key("content-encoding"));
    assert_eq!(ids(&collector.spans()), recorded_ids(&data));
}

#[test]
fn an_endpoint_without_protobuf_gets_json() {
    let data = one_run();
    let collector = Collector::start([Reply::status(415)]);
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert_eq!(pushed.outcome.unwrap().sent_spans, 3);
    assert!(pushed.events.contains(&ShipEvent::SwitchedToJson));
    let requests = collector.requests();
    assert_eq!(requests[1].headers["content-type"], "application/json");
    assert_eq!(requests[0].resources(), requests[1].resources());
}

#[test]
fn an_endpoint_without_any_encoding_is_an_error() {
    let data = one_run();
    let collector = Collector::start([]);
    collector.then(Reply::status(415));
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert!(matches!(
        pushed.outcome.unwrap_err(),
        ShipError::NoCommonEncoding { .. }
    ));
    assert_eq!(collector.requests().len(), 2);
}

#[test]
fn a_partial_success_is_counted_and_not_repeated() {
    let data = one_run();
    let partial = r#"{"partialSuccess":{"rejectedSpans":"2","errorMessage":"older than 7 days"}}"#;
    let collector = Collector::start([Reply::json(200, partial)]);
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert!(pushed.events.contains(&ShipEvent::Refused {
        spans: 2,
        message: "older than 7 days".to_owned()
    }));
    let summary = pushed.outcome.unwrap();
    assert_eq!((summary.sent_spans, summary.refused_spans), (1, 2));
    assert_eq!(push(&data, &collector).sent_spans, 0);
    assert_eq!(collector.requests().len(), 1);
}

#[test]
fn a_warning_of_the_endpoint_is_reported() {
    let data = one_run();
    let warning = r#"{"partialSuccess":{"errorMessage":"use TLS"}}"#;
    let collector = Collector::start([Reply::json(200, warning)]);
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert_eq!(pushed.outcome.unwrap().sent_spans, 3);
    let message = "use TLS".to_owned();
    assert!(pushed.events.contains(&ShipEvent::Warning { message }));
}

#[rstest]
#[case(400)]
#[case(422)]
fn what_will_never_be_taken_is_not_repeated(#[case] status: u16) {
    let data = one_run();
    let collector = Collector::start([Reply::json(status, r#"{"code":3,"message":"bad span"}"#)]);
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert!(pushed.events.contains(&ShipEvent::Refused {
        spans: 3,
        message: format!("status {status}: bad span")
    }));
    let summary = pushed.outcome.unwrap();
    assert_eq!((summary.sent_spans, summary.refused_spans), (0, 3));
    assert_eq!(push(&data, &collector).runs_sent_before, 1);
    assert_eq!(collector.requests().len(), 1);
}

#[rstest]
#[case::overload(Reply::status(429))]
#[case::gateway(Reply::status(502))]
#[case::unavailable(Reply::status(503))]
#[case::late_gateway(Reply::status(504))]
#[case::hang_up(Reply::HangUp)]
#[case::garbage(Reply::Garbage)]
#[case::silence(Reply::Silence)]
#[case::defect(Reply::status(500))]
fn what_may_pass_is_tried_again(#[case] reply: Reply) {
    let data = one_run();
    let collector = Collector::start([reply.clone(), reply]);
    let variables = [("OTEL_EXPORTER_OTLP_TIMEOUT", "200")];
    let pushed = push_with(&data, &settings(&collector, &variables), options());
    assert_eq!(waits(&pushed), 2);
    assert!(pushed.events.contains(&ShipEvent::Resumed));
    assert_eq!(pushed.outcome.unwrap().sent_spans, 3);
    assert_eq!(ids(&collector.spans()), recorded_ids(&data));
}

#[test]
fn retry_after_is_waited_for() {
    let data = one_run();
    let retry_after = vec![("retry-after", "1".to_owned())];
    let collector = Collector::start([Reply::Status(429, retry_after, Vec::new())]);
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert_eq!(pushed.outcome.unwrap().sent_spans, 3);
    let requests = collector.requests();
    assert!(requests[1].at - requests[0].at >= Duration::from_secs(1));
}

#[test]
fn a_wait_beyond_the_patience_is_an_error() {
    let data = one_run();
    let retry_after = vec![("retry-after", "3600".to_owned())];
    let collector = Collector::start([Reply::Status(503, retry_after, Vec::new())]);
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert!(matches!(pushed.outcome, Err(ShipError::GaveUp { .. })));
    assert_eq!(push(&data, &collector).sent_spans, 3, "the next push goes on");
}

#[test]
fn a_server_that_keeps_failing_is_an_error() {
    let data = one_run();
    let collector = Collector::start([]);
    collector.then(Reply::status(500));
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert!(matches!(
        pushed.outcome,
        Err(ShipError::Status { status: 500, .. })
    ));
    collector.then(Reply::ok());
    assert_eq!(push(&data, &collector).sent_spans, 3);
}

#[rstest]
#[case::key(Reply::status(401))]
#[case::forbidden(Reply::status(403))]
#[case::path(Reply::status(404))]
#[case::elsewhere(Reply::Status(302, vec![("location", "https://login.test/?x=1".to_owned())], Vec::new()))]
#[case::page(Reply::Status(200, vec![("content-type", "text/html".to_owned())], b"<html>".to_vec()))]
fn a_wrong_endpoint_or_key_stops_the_push(#[case] reply: Reply) {
    let data = one_run();
    let collector = Collector::start([reply]);
    let variables = [("OTEL_EXPORTER_OTLP_HEADERS", "authorization=s3cret")];
    let pushed = push_with(&data, &settings(&collector, &variables), options());
    let error = pushed.outcome.unwrap_err();
    assert!(!error.hint().is_empty());
    assert!(!format!("{error} {error:?}").contains("s3cret"));
    assert_eq!(collector.requests().len(), 1);
    assert_eq!(push(&data, &collector).sent_spans, 3, "nothing counts as sent");
}

#[test]
fn a_redirection_is_never_followed() {
    let data = one_run();
    let elsewhere = Collector::start([]);
    let location = vec![("location", format!("{}/v1/traces", elsewhere.url()))];
    let collector = Collector::start([Reply::Status(307, location, Vec::new())]);
    let pushed = push_with(&data, &settings(&collector, &[]), options());
    assert!(matches!(pushed.outcome, Err(ShipError::Redirected { host }) if host == "127.0.0.1"));
    assert_eq!(elsewhere.requests().len(), 0);
}

#[test]
fn too_large_a_request_is_halved_until_it_fits() {
    let data = one_run();
    record(&data, "planner");
    let collector = Collector::start([Reply::status(413), Reply::status(413)]);
    let summary = push(&data, &collector);
    assert_eq!(summary.sent_spans, 6);
    assert_eq!(ids(&collector.spans()), recorded_ids(&data));
    let sizes: Vec<usize> = collector
        .requests()
        .iter()
        .map(|request| request.spans().len())
        .collect();
    assert_eq!(sizes, [6, 3, 1, 2, 3]);
}

#[test]
fn a_span_that_is_too_large_is_refused_alone() {
    let data = one_run();
    let collector = Collector::start([]);
    collector.then(Reply::status(413));
    let summary = push(&data, &collector);
    assert_eq!((summary.sent_spans, summary.refused_spans), (0, 3));
    collector.then(Reply::ok());
    assert_eq!(push(&data, &collector).sent_spans, 0);
}

#[test]
fn an_endpoint_that_is_not_there_is_an_error_soon() {
    let data = one_run();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let settings = OtlpSettings::resolve(Some(&url), |_| None).unwrap();
    let pushed = push_with(&data, &settings, options());
    assert_eq!(waits(&pushed), 2);
    assert!(matches!(pushed.outcome, Err(ShipError::Unreachable { .. })));
}

#[test]
fn one_process_pushes_at_a_time() {
    let data = one_run();
    let collector = Collector::start([]);
    let settings = settings(&collector, &[]);
    let destination = OtlpDestination::new(&settings, true).unwrap();
    let first = Shipper::open(data.path(), destination, options()).unwrap();
    let pushed = push_with(&data, &settings, options());
    assert!(matches!(
        pushed.outcome,
        Err(ShipError::Journal(JournalError::Locked))
    ));
    drop(first);
    assert_eq!(push(&data, &collector).sent_spans, 3);
}
