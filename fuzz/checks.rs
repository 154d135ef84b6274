//! What must hold for any bytes: one function for each fuzz target, which an ordinary test calls with the corpus too.

use std::fs;

use tracer_runs::{LoadedRun, RunReader, Strictness, validate};
use tracer_sdk::settings::Settings;
use tracer_sdk::testing::redacted;

const META: &str = r#"{"spec_version":"0.2.0","trace_id":"10000000000000000000000000000001","run_name":"x",
"started_at":"2026-01-01T00:00:00Z","ended_at":null,"duration_ms":null,"status":"running",
"counts":{"llm_calls":0,"tool_calls":0,"errors":0,"loop_warnings":0}}"#;

/// A `meta.json` is refused, or means the same when it is written and read again.
pub fn meta(bytes: &[u8]) {
    if let Ok(run) = LoadedRun::from_bytes(bytes, b"") {
        let written = serde_json::to_vec(&run.meta).expect("metadata is written");
        let again = LoadedRun::from_bytes(&written, b"").expect("what was read is read again");
        assert_eq!(again.meta, run.meta);
    }
}

/// Lines of a log are refused, or give the same records when the spans are written and read again.
pub fn span_line(bytes: &[u8]) {
    if let Ok(run) = LoadedRun::from_bytes(META.as_bytes(), bytes) {
        let mut written = Vec::new();
        for span in &run.spans {
            serde_json::to_writer(&mut written, span).expect("a span is written");
            written.push(b'\n');
        }
        let again = LoadedRun::from_bytes(META.as_bytes(), &written).expect("what was read is read again");
        assert_eq!(again.spans, run.spans);
        assert_eq!(again.records(), run.records());
    }
}

/// All readers say the same of a run directory. The bytes are `meta.json`, a line `---`, and `spans.jsonl`.
pub fn run_directory(bytes: &[u8]) {
    const BETWEEN: &[u8] = b"\n---\n";
    let directory = tempfile::tempdir().expect("a folder");
    let split = bytes.windows(BETWEEN.len()).position(|window| window == BETWEEN);
    let (meta, log) = match split {
        Some(at) => (&bytes[..at], &bytes[at + BETWEEN.len()..]),
        None => (META.as_bytes(), bytes),
    };
    fs::write(directory.path().join("meta.json"), meta).expect("written");
    fs::write(directory.path().join("spans.jsonl"), log).expect("written");
    let path = directory.path();

    let report = validate(path);
    match (LoadedRun::read(path), RunReader::open(path, Strictness::Strict)) {
        (Ok(opened), Ok(streamed)) => {
            assert!(report.is_valid());
            let records: Vec<_> = streamed.records.map(|record| record.expect("a record")).collect();
            assert_eq!(records, opened.records());
        }
        (Err(opened), Err(streamed)) => {
            assert_eq!(opened, streamed);
            assert_eq!(opened.problems, report.problems);
            assert!(!report.is_valid());
        }
        (opened, streamed) => panic!("{} {}", opened.is_ok(), streamed.is_ok()),
    }
    match RunReader::open(path, Strictness::Lenient) {
        Ok(lenient) => {
            assert_eq!(lenient.problems, report.problems);
            let spans: Vec<_> = lenient.records.clone().into_spans().collect();
            assert!(spans.len() == lenient.span_count && spans.iter().all(Result::is_ok));
            let records: Vec<_> = lenient.records.map(|record| record.expect("a record")).collect();
            assert!(records.len() >= spans.len());
        }
        Err(invalid) => assert_eq!(invalid.problems, report.problems),
    }
}

/// A secret of the environment does not survive wherever it stands, and no text is longer than its limit.
pub fn redact_text(bytes: &[u8]) {
    const SECRET: &str = "a-very-private-value";
    let mut settings = Settings::with_data_dir("unused");
    settings.max_field_bytes = 400;
    let redacted = |text: &str| redacted(text, &settings, &[SECRET]);
    let text = String::from_utf8_lossy(bytes);
    assert!(redacted(&text).len() <= 400);
    let middle = (0..=text.len() / 2)
        .rev()
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let planted = format!("{}{SECRET}{}", &text[..middle], &text[middle..]);
    assert!(!redacted(&planted).contains(SECRET));
}
