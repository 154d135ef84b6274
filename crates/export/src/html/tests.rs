//! What the HTML file of a run shows, and what it never lets a trace do.

use serde_json::json;
use tracer_sdk::format::Tags;
use tracer_sdk::settings::Settings;

use super::*;
use tracer_insight::sample_run as samples;
use tracer_insight::sample_run::Sample;
use tracer_insight::status::RunStatus;
use tracer_insight::step_detail::evidence_numbers;
use tracer_insight::totals::Totals;

fn page(sample: &Sample, environment: &[(&str, &str)]) -> (String, u64) {
    let sources = sample.sources();
    let settings = Settings::with_data_dir("unused");
    let environment = environment
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let redaction = Redaction::new(&settings, environment);
    let steps = steps::steps(&sources, None);
    let run = RunHead {
        name: Some("support <agent>".to_owned()),
        duration: Some(40_000),
        tags: Tags::from_variable("commit=3f2a").0,
        totals: Totals::of(&steps),
        remarks: vec!["1 span ended after the run had ended".to_owned()],
        ..RunHead::of_meta(None, RunStatus::Looped)
    };
    let head = PageHead {
        id: "bc519fdd000000000000000000000001".to_owned(),
        sentence: run.sentence(&steps),
        evidence: evidence_numbers(&steps),
        run,
        left_out: None,
    };
    let mut written = Vec::new();
    let redacted = write(head, None, [Ok(sources)], &redaction, &mut written).unwrap();
    (String::from_utf8(written).unwrap(), redacted)
}

#[test]
fn the_page_says_what_happened_and_every_step_in_full() {
    let sample = Sample::new()
        .step(samples::llm(
            "Where is my refund?",
            "I will look.\n\nOne moment.",
            tracer_sdk::Usage::new(12, 7),
        ))
        .step(samples::tool(
            "search_kb",
            &json!({"query": "refund"}),
            &json!({"hits": 2}),
        ))
        .step(samples::failed_tool(
            "refund_api",
            &json!({"order": 7}),
            samples::error("Timeout", "no answer\nafter 3 s"),
        ))
        .step(samples::loop_warning(&[1, 2]));
    insta::assert_snapshot!(page(&sample, &[]).0);
}

#[test]
fn a_line_shows_the_output_however_long_the_input_is() {
    let question = "where is my refund ".repeat(10);
    let sample = Sample::new().step(samples::tool(
        "search_kb",
        &json!({"query": question}),
        &json!({"hits": 2}),
    ));
    let page = page(&sample, &[]).0;
    let (line, inside) = page.split_once("</summary>").unwrap();
    assert!(line.contains("… → hits=2</span>"), "{line}");
    assert!(!line.contains(question.trim()) && inside.contains(question.trim()));
}

#[test]
fn nothing_that_a_trace_says_is_markup() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(1)>";
    let sample = Sample::new()
        .step(samples::llm(hostile, hostile, tracer_sdk::Usage::default()))
        .step(samples::tool(
            hostile,
            &json!({hostile: hostile}),
            &json!([hostile]),
        ))
        .step(samples::state(&json!({"note": hostile})));
    let (page, _) = page(&sample, &[]);
    assert_eq!(page.matches("<script>").count(), 1, "only the page's own");
    assert!(!page.contains("<img"));
}

#[test]
fn a_secret_that_the_emitter_left_is_taken_out_and_counted() {
    let sample = Sample::new().step(samples::tool(
        "fetch",
        &json!({"api_key": "k-12345678", "url": "https://ada:hunter2@example.org", "q": "grey-elephant"}),
        &json!("ok"),
    ));
    let (page, redacted) = page(&sample, &[("SERVICE_PASSWORD", "grey-elephant")]);
    assert_eq!(redacted, 3);
    for secret in ["k-12345678", "hunter2", "grey-elephant"] {
        assert!(!page.contains(secret), "{secret}");
    }
    assert!(page.contains("3 values that looked like a secret redacted in this file, beyond"));
}

#[test]
fn the_policy_allows_the_style_and_script_of_the_page_and_nothing_else() {
    let (page, _) = page(&Sample::new(), &[]);
    let policy = page.split("Content-Security-Policy\" content=\"").nth(1).unwrap();
    let policy = policy.split('"').next().unwrap();
    assert!(
        policy.starts_with("default-src &#39;none&#39;") || policy.starts_with("default-src 'none'"),
        "{policy}"
    );
    assert!(!policy.contains("unsafe") && !policy.contains("http"));
    assert!(
        !page.contains("style="),
        "inline styles are forbidden by the page's own policy"
    );
    assert!(page.contains("No step was recorded."));
}
