//! Checks of the order, the arguments and the outputs of calls.

use rstest::rstest;
use serde_json::json;
use tracer_insight::profile::{Metric, MissingSpans, RunProfile};
use tracer_sdk::format::names::markers;
use tracer_sdk::format::{OtherMarks, Payload, SpanRecord};
use tracer_sdk::testing::{Captured, capture};
use tracer_sdk::{llm_call, tool_call};

use super::policy;
use crate::policy::{Overrides, Policy};
use crate::words::checks::check_rows;
use crate::{Finding, Gate, GateDetails, NoOutput, Report, RunContent, Trial, TrialOutput, Verdict};

/// An agent that searches, refunds twice and answers.
fn refunds() -> Captured<()> {
    capture(|| {
        let _ = tool_call("search").fail("no index").record();
        let _ = tool_call("search").args(&json!({"q": "order 7"})).record();
        for amount in [20, 35] {
            let items = json!([{"sku": "a-1"}, {"sku": "b-2"}]);
            let _ = tool_call("refund")
                .args(&json!({"order": "7", "amount": amount, "items": items}))
                .record();
        }
        let _ = tool_call("notify").record();
        let _ = llm_call("gpt-5").response("{\"refunded\": 55}").record();
    })
}

fn trial(run: &Captured<()>, policy: &Policy, missing: bool, output: &dyn TrialOutput) -> Trial {
    let mut profile = RunProfile::new(&run.meta, run.records.iter().cloned());
    profile.missing = missing.then(|| MissingSpans {
        spans: None,
        reason: "the log was cut".to_owned(),
    });
    let attributes: Vec<_> = run
        .records
        .iter()
        .map(|record| {
            let is_its = |span: &&SpanRecord| span.span_id.to_string() == record.event_id;
            let span = run.spans.iter().find(is_its);
            span.map(|span| span.attributes.clone()).unwrap_or_default()
        })
        .collect();
    let findings = policy.findings(&RunContent {
        meta: &run.meta,
        records: &run.records,
        attributes: &attributes,
        profile: &profile,
        trial: output,
    });
    Trial::of_run(1, profile).with_findings(findings)
}

/// The verdict of the last check, and the words for it.
fn judged(policy: &Policy, trial: Trial) -> (Option<Verdict>, String) {
    let trials = [trial];
    let judgement = Gate::new(policy, None).unwrap().judge(&trials);
    let verdict = judgement.checks.last().unwrap().verdict;
    let name = judgement.checks.last().unwrap().name.clone();
    let report = Report::new(
        judgement,
        &trials,
        None,
        serde_json::Map::new(),
        GateDetails::default(),
    );
    let row = check_rows(&report)
        .into_iter()
        .find(|row| row.name == name)
        .unwrap();
    (verdict, row.seen.text())
}

#[rstest]
#[case::subsequence("tool_order: {order: [search, refund, notify]}", Some(true), "")]
#[case::one_of_several("tool_order: {order: [search, {any: [mail, notify]}]}", Some(true), "")]
#[case::wrong_order(
    "tool_order: {order: [notify, refund]}",
    Some(false),
    "the order breaks at refund"
)]
#[case::strict_is_all(
    "tool_order: {order: [search, refund], match: strict}",
    Some(false),
    "at refund"
)]
#[case::strict_is_no_more(
    "tool_order: {order: [search, search, refund, refund], match: strict}",
    Some(false),
    "at notify"
)]
#[case::strict(
    "tool_order: {order: [search, search, refund, {any: [refund, x]}, notify], match: strict}",
    Some(true),
    ""
)]
#[case::unordered(
    "tool_order: {order: [{any: [notify, refund]}, notify, search, refund], match: unordered}",
    Some(true),
    ""
)]
#[case::each_call_counts_once(
    "tool_order: {order: [notify, {any: [notify]}], match: unordered}",
    Some(false),
    "at notify"
)]
#[case::retried("failed_calls_are_retried: {}", Some(true), "")]
#[case::of_other_tools("tool_arguments: {tool: delete, where: /id == 1}", Some(true), "")]
#[case::equal("tool_arguments: {tool: refund, where: '/order == \"7\"'}", Some(true), "")]
#[case::differs(
    "tool_arguments: {tool: refund, where: /amount == 20}",
    Some(false),
    "call 2 of refund: /amount differs"
)]
#[case::any_call(
    "tool_arguments: {tool: refund, where: /amount == 35.0, calls: any}",
    Some(true),
    ""
)]
#[case::no_call(
    "tool_arguments: {tool: refund, where: /amount == 35, calls: none}",
    Some(false),
    "call 2 of refund: it meets the condition"
)]
#[case::not_any_call(
    "tool_arguments: {tool: refund, where: /amount == 1, calls: any}",
    Some(false),
    "no call of refund meets the condition"
)]
#[case::every_item(
    "tool_arguments: {tool: refund, where: '/items/*/sku ~ ^[ab]-\\d$'}",
    Some(true),
    ""
)]
#[case::one_item_differs(
    "tool_arguments: {tool: refund, where: '/items/*/sku ~ ^a'}",
    Some(false),
    "/items/*/sku differs"
)]
#[case::absent(
    "tool_arguments: {tool: refund, where: /reason ~ .}",
    Some(false),
    "/reason is not there"
)]
#[case::all_of_a_list(
    "tool_arguments: {tool: refund, where: [/order == 7, /amount ~ 5$]}",
    Some(false),
    "call 1 of refund: /order differs"
)]
#[case::schema(
    "tool_arguments: {tool: refund, where: {properties: {amount: {maximum: 30}}}}",
    Some(false),
    "call 2 of refund: /amount does not fit"
)]
#[case::not_recorded(
    "tool_arguments: {tool: notify, where: {required: [to]}}",
    None,
    "call 1 of notify: its arguments were not recorded in full"
)]
#[case::answer_is_json("output: {json_schema: {required: [refunded]}}", Some(true), "")]
#[case::answer_of_another_schema(
    "output: {json_schema: {properties: {refunded: {type: string}}}}",
    Some(false),
    "/refunded does not fit"
)]
#[case::contains("output: {contains: [refunded, '55']}", Some(true), "")]
#[case::contains_not(
    "output: {contains: [refunded, '56']}",
    Some(false),
    "it does not contain `56`"
)]
#[case::matches("output: {matches: 'refunded\\W+\\d\\d\\b'}", Some(true), "")]
#[case::equals_not("output: {equals: '55'}", Some(false), "it is another text")]
#[case::a_stored_run_has_no_output(
    "output: {from: stdout, contains: x}",
    None,
    "the standard output of a recorded run is not kept"
)]
#[case::a_label_tells_checks_apart("output.amount: {contains: '55'}", Some(true), "")]
fn a_run_keeps_or_breaks_a_check_of_content(
    #[case] metric: &str,
    #[case] kept: Option<bool>,
    #[case] words: &str,
) {
    let policy = policy(1, metric);
    let (verdict, seen) = judged(&policy, trial(&refunds(), &policy, false, &NoOutput));
    assert_eq!(verdict.unwrap().passed(), kept, "{metric}: {seen}");
    assert!(seen.contains(words), "{metric}: {seen}");
}

/// An agent that is asked about an order and refunds one.
fn refund_of(order: &str, prompt: Option<&str>) -> Captured<()> {
    capture(|| {
        let function = json!({"name": "refund", "arguments": json!({"order_id": order}).to_string()});
        let call = json!({"id": "call_1", "type": "function", "function": function});
        let answer = json!({"choices": [{"message": {"role": "assistant", "tool_calls": [call]}}]});
        let asked = llm_call("gpt-5").response(&answer);
        let asked = match prompt {
            Some(prompt) => asked.prompt(&json!({"messages": [{"role": "user", "content": prompt}]})),
            None => asked,
        };
        let _ = asked.record();
        let _ = tool_call("refund").args(&json!({"order_id": order})).record();
    })
}

#[rstest]
#[case::from_the_prompt(Some("Refund order ZX-4711, please"), Some(true), "")]
#[case::written_otherwise(Some("Refund order zx-4711, please"), Some(true), "")]
#[case::made_up(
    Some("Refund my last order, please"),
    Some(false),
    "call 1 of refund: /order_id is in no input before it"
)]
#[case::not_recorded(None, None, "no source of /order_id is certain")]
fn grounded_arguments_come_from_an_input(
    #[case] prompt: Option<&str>,
    #[case] kept: Option<bool>,
    #[case] words: &str,
) {
    let policy = policy(1, "grounded_arguments: {tool: refund, path: order_id}");
    let run = refund_of("ZX-4711", prompt);
    let (verdict, seen) = judged(&policy, trial(&run, &policy, false, &NoOutput));
    assert_eq!(verdict.unwrap().passed(), kept, "{seen}");
    assert!(seen.contains(words), "{seen}");
    // A path that no call has is no evidence.
    let mistyped = super::policy(1, "grounded_arguments: {tool: refund, path: order_ids}");
    let (verdict, seen) = judged(&mistyped, trial(&run, &mistyped, false, &NoOutput));
    assert_eq!(verdict.unwrap().passed(), None, "{seen}");
    assert!(seen.contains("no call of refund has /order_ids"), "{seen}");
}

#[test]
fn a_tool_that_stands_in_attributes_alone_is_an_input() {
    let policy = policy(1, "grounded_arguments: {tool: refund, path: order_id}");
    let mut run = refund_of("ZX-4711", Some("Refund my last order, please"));
    let tools = json!([{"name": "refund", "description": "Refunds an order such as ZX-4711"}]).to_string();
    for span in &mut run.spans {
        span.set("gen_ai.tool.definitions", tools.as_str());
    }
    let (verdict, seen) = judged(&policy, trial(&run, &policy, false, &NoOutput));
    assert_eq!(verdict.unwrap().passed(), Some(true), "{seen}");
}

/// Missing spans decide nothing that they could have changed.
#[rstest]
#[case::an_order_that_is_there("tool_order: {order: [search, notify]}", Some(true))]
#[case::an_order_to_be_completed("tool_order: {order: [search, mail]}", None)]
#[case::a_strict_order(
    "tool_order: {order: [search, search, refund, refund, notify], match: strict}",
    None
)]
#[case::a_violation_that_is_there("tool_arguments: {tool: refund, where: /amount == 20}", Some(false))]
#[case::a_call_that_may_be_missing("tool_arguments: {tool: refund, where: /amount == 1, calls: any}", None)]
#[case::all_calls_that_are_there("tool_arguments: {tool: refund, where: '/order == \"7\"'}", None)]
#[case::an_answer_that_may_be_the_last("output: {contains: refunded}", None)]
#[case::a_failure_that_may_be_missing("failed_calls_are_retried: {}", None)]
fn missing_spans_leave_a_check_undecided(#[case] metric: &str, #[case] kept: Option<bool>) {
    let policy = policy(1, metric);
    let (verdict, seen) = judged(&policy, trial(&refunds(), &policy, true, &NoOutput));
    assert_eq!(verdict.unwrap().passed(), kept, "{metric}: {seen}");
}

#[test]
fn a_failed_call_wants_a_successful_one() {
    let policy = policy(1, "failed_calls_are_retried: {}");
    let run = capture(|| {
        let _ = tool_call("search").fail("no index").record();
        let _ = tool_call("read").record();
        let _ = llm_call("gpt-5").fail("overloaded").record();
        let _ = llm_call("gpt-4").response("done").record();
    });
    let (verdict, seen) = judged(&policy, trial(&run, &policy, false, &NoOutput));
    assert_eq!(verdict, Some(Verdict::Fail));
    assert!(
        seen.ends_with("no successful call after the failed one of search"),
        "{seen}"
    );
    let allowed = super::policy(1, "failed_calls_are_retried: {allow: [sea*]}");
    assert_eq!(
        judged(&allowed, trial(&run, &allowed, false, &NoOutput)).0,
        Some(Verdict::Pass)
    );
}

#[test]
fn a_retry_whose_end_was_not_seen_decides_nothing() {
    let mut run = capture(|| {
        let _ = tool_call("search").fail("no index").record();
        let _ = tool_call("search").record();
    });
    let retry = run
        .records
        .iter_mut()
        .rfind(|record| matches!(record.payload, Payload::ToolCall { .. }));
    retry.unwrap().marks = Some(Box::new(OtherMarks {
        is_unknown: true,
        ..OtherMarks::default()
    }));
    for (allow, kept) in [("", None), ("allow: [search]", Some(true))] {
        let policy = policy(1, &format!("failed_calls_are_retried: {{{allow}}}"));
        let (verdict, seen) = judged(&policy, trial(&run, &policy, false, &NoOutput));
        assert_eq!(verdict.unwrap().passed(), kept, "{allow}: {seen}");
    }
}

#[test]
fn what_recording_replaced_is_not_known() {
    let run = capture(|| {
        let _ = tool_call("pay")
            .args(&json!({"password": "hunter2-long-enough", "to": "x"}))
            .record();
    });
    for (condition, kept) in [
        ("/password == x", None),
        ("/to == x", Some(true)),
        ("/to == y", Some(false)),
        ("/password ~ .", None),
        ("/to ~ x", Some(true)),
        ("{properties: {password: {type: string}}}", None),
    ] {
        let policy = policy(1, &format!("tool_arguments: {{tool: pay, where: {condition}}}"));
        let (verdict, seen) = judged(&policy, trial(&run, &policy, false, &NoOutput));
        assert_eq!(verdict.unwrap().passed(), kept, "{condition}: {seen}");
    }
}

#[rstest]
#[case::text_that_is_there("output: {contains: refunded}", Some(true))]
#[case::text_that_may_be_there("output: {contains: '55'}", None)]
#[case::an_expression("output: {matches: refunded}", None)]
#[case::a_schema("output: {json_schema: {required: [refunded]}}", None)]
fn an_answer_that_was_cut_is_not_known(#[case] metric: &str, #[case] kept: Option<bool>) {
    let answer = format!("{{\"refunded\": \"{}\"}}", markers::TRUNCATED);
    let run = capture(|| {
        let _ = llm_call("gpt-5").response(&answer).record();
    });
    let policy = policy(1, metric);
    let (verdict, seen) = judged(&policy, trial(&run, &policy, false, &NoOutput));
    assert_eq!(verdict.unwrap().passed(), kept, "{metric}: {seen}");
}

#[test]
fn large_integers_are_not_one() {
    let run = capture(|| {
        let _ = tool_call("pay")
            .args(&json!({"id": 9_007_199_254_740_993_u64}))
            .record();
    });
    for (id, kept) in [("9007199254740993", true), ("9007199254740992", false)] {
        let policy = policy(1, &format!("tool_arguments: {{tool: pay, where: /id == {id}}}"));
        let (verdict, seen) = judged(&policy, trial(&run, &policy, false, &NoOutput));
        assert_eq!(verdict.unwrap().passed(), Some(kept), "{id}: {seen}");
    }
}

/// A span that is a call of a tool by its name only is no record of one.
#[rstest]
#[case("tool_arguments: {tool: delete, where: /id == 1}")]
#[case("tool_arguments: {tool: delete, where: /id == 1, calls: any}")]
#[case("grounded_arguments: {tool: delete, path: id}")]
fn calls_of_a_strict_reading_only_decide_nothing(#[case] metric: &str) {
    let mut run = capture(|| {
        let _ = tool_call("delete").record();
    });
    for record in &mut run.records {
        if let Payload::ToolCall { status, .. } = &record.payload {
            record.payload = Payload::Unknown {
                attributes: serde_json::Map::new(),
                status: *status,
                error: None,
            };
            record.marks = Some(Box::new(OtherMarks {
                tools: vec!["delete".to_owned()],
                ..OtherMarks::default()
            }));
        }
    }
    let policy = policy(1, metric);
    let (verdict, seen) = judged(&policy, trial(&run, &policy, false, &NoOutput));
    assert_eq!(verdict, Some(Verdict::Inconclusive), "{seen}");
    assert!(seen.contains("calls of delete may be missing"), "{seen}");
}

#[test]
fn content_that_nobody_read_decides_nothing() {
    let policy = policy(1, "output: {contains: refunded}");
    let run = refunds();
    let unread = Trial::of_run(1, RunProfile::new(&run.meta, run.records));
    assert_eq!(judged(&policy, unread).0, Some(Verdict::Inconclusive));
}

/// A command that gives this finding.
struct Judge(Finding);

impl TrialOutput for Judge {
    fn ask(&self, _: &[String], input: &str) -> Finding {
        let input: serde_json::Value = serde_json::from_str(input).unwrap();
        assert_eq!(input["output"], "{\"refunded\": 55}");
        assert_eq!(input["events"][1]["payload"]["tool_name"], "search");
        self.0.clone()
    }
}

#[test]
fn a_score_is_judged_as_any_number_is() {
    let text = "score.tone: {kind: measured, direction: lower, limit: 0.8}, output.tone: {command: [judge]}";
    let policy = policy(1, text);
    for (score, verdict) in [
        (Some(0.9), Verdict::Pass),
        (Some(0.7), Verdict::Fail),
        (None, Verdict::Inconclusive),
    ] {
        let answer = Judge(Finding {
            score,
            ..Finding::kept()
        });
        let trial = trial(&refunds(), &policy, false, &answer);
        let metric = Metric::from_name("score.tone").unwrap();
        assert_eq!(trial.metrics.as_ref().unwrap().value(&metric), score);
        let judgement = Gate::new(&policy, None).unwrap().judge(&[trial]);
        assert_eq!(judgement.verdict, verdict, "{score:?}");
    }
}

#[test]
fn checks_without_a_meaning_are_mistakes() {
    for (metric, message) in [
        (
            "tool_order: {order: []}",
            "metrics.tool_order.order must name a tool",
        ),
        (
            "tool_order: {order: [1]}",
            "metrics.tool_order.order must be a list of tools, or of {any: [a, b]}",
        ),
        (
            "tool_order: {order: [a], match: loose}",
            "metrics.tool_order.match must be one of subsequence, strict, unordered",
        ),
        (
            "tool_arguments: {tool: a, where: amount}",
            "metrics.tool_arguments.where must be a JSON Schema",
        ),
        (
            "tool_arguments: {tool: a, where: amount == 3}",
            "metrics.tool_arguments.where needs a JSON Pointer",
        ),
        (
            "tool_arguments: {tool: a, where: '/b ~ ('}",
            "metrics.tool_arguments.where `(` is no regular expression",
        ),
        (
            "tool_arguments: {tool: a, where: {type: numbr}}",
            "metrics.tool_arguments.where is no JSON Schema",
        ),
        (
            "output: {}",
            "metrics.output needs equals, contains, matches, json_schema or command",
        ),
        (
            "output: {matches: '('}",
            "metrics.output.matches is no regular expression",
        ),
        (
            "output: {contains: 3}",
            "metrics.output.contains must be a text or a list of texts",
        ),
        (
            "score: {kind: measured, direction: lower, limit: 1}",
            "metrics.score needs the check output with a command",
        ),
        ("output.: {contains: a}", "metrics.output. is not a metric"),
        ("no_loops.a: {}", "metrics.no_loops.a is not a metric"),
    ] {
        let text = format!("version: 2\nmetrics: {{{metric}}}\n");
        let error = Policy::parse(&text, &Overrides::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{metric}: {error}");
    }
}
