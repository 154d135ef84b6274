//! A conversation and single steps at three widths, with and without colour.

use proptest::prelude::*;
use serde_json::json;
use tracer_sdk::format::Usage;

use super::*;
use crate::terminal::step_page::StepPage;
use crate::terminal::tests::at_widths;
use crate::terminal::{follow_rows, waterfall};
use tracer_insight::sample_run::{Sample, error, failed_tool, llm, loop_warning, state, structural, tool};
use tracer_insight::step_detail::StepNumbers;
use tracer_insight::{loops, steps};

fn asked(messages: &Value, answer: &Value) -> Payload {
    match llm("", "", Usage::new(412, 35)) {
        Payload::LlmCall {
            model,
            usage,
            provider,
            temperature,
            stop_reason,
            status,
            error,
            ..
        } => Payload::LlmCall {
            model,
            prompt: json!({ "messages": messages }),
            response: answer.clone(),
            usage,
            provider,
            response_model: None,
            temperature,
            stop_reason,
            status,
            error,
        },
        other => other,
    }
}

/// An agent that asks, calls a tool, and asks again with everything that was said before.
fn conversation() -> Sample {
    let question = [
        json!({"role": "system", "content": "You are a support agent. Look things up before you answer, and never promise what you cannot hold."}),
        json!({"role": "user", "content": "ORD-1042: where is my refund?\n\n\tAda"}),
    ];
    let decision = json!({"role": "assistant", "content": [
        {"type": "thinking", "thinking": "The policy will tell."},
        {"type": "tool_use", "name": "search_kb", "input": {"query": "refund policy"}},
    ]});
    let found = json!({"role": "tool", "content": "{\"hits\":2}"});
    let again = [question[0].clone(), question[1].clone(), decision.clone(), found];
    Sample::new()
        .step(state(&json!({"phase": "triage"})))
        .step(asked(&json!(question), &decision))
        .step(structural())
        .within(
            3,
            tool(
                "search_kb",
                &json!({"query": "refund policy"}),
                &json!({"hits": 2}),
            ),
        )
        .step(asked(
            &json!(again),
            &json!("Dear Ada,\n\n  - it is on its way\u{1b}[2J\n"),
        ))
        .step(loop_warning(&[4]))
        .step(failed_tool(
            "refund_api",
            &json!({"order": "ORD-1042"}),
            error("TimeoutError", "no answer\nin 5 s"),
        ))
        .on_root(Payload::Error(error("AgentError", "gave up")))
}

#[test]
fn a_conversation_says_everything_once() {
    let sources = conversation().sources();
    let steps = steps::steps(&sources, Some(Sample::started()));
    let shown = at_widths(|width| lines(&steps, width));
    assert!(!shown.contains("\u{1b}[2J"));
    insta::assert_snapshot!(shown);
}

/// Characters that take another number of columns when they are shown, or than the next one.
const AWKWARD: [char; 6] = ['\u{feff}', '\u{202e}', '\u{fe0f}', '\u{301}', '\t', '語'];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_said_every_line_fits_and_none_holds_a_control_character(
        said in prop::collection::vec(prop_oneof![any::<char>(), prop::sample::select(&AWKWARD[..])], 0..80)
            .prop_map(String::from_iter),
        width in 40usize..160,
    ) {
        let nested = json!({said.clone(): [said, [{said.clone(): {"text": said}}], said.clone().into_bytes()]});
        let mut failure = error(&said, &said);
        failure.stack = Some(said.clone());
        let sample = Sample::new()
            .step(asked(&json!([{"role": said, "content": said}, {"role": "tool", "content": nested}]), &json!({"thinking": said})))
            .step(tool(&said, &nested, &json!(said)))
            .step(failed_tool(&said, &json!(said), failure))
            .step(loop_warning(&[2, 3]));
        let sources = sample.sources();
        let steps = steps::steps(&sources, Some(Sample::started()));
        let mut shown = lines(&steps, width);
        shown.extend(loops::card_lines(&steps, width));
        shown.extend(waterfall::lines(&steps, None, width));
        for step in &steps {
            shown.extend(follow_rows::lines(step, width));
            let span = sample.span(1);
            let page = StepPage { step, span: Some(&span), step_count: 4, evidence: &StepNumbers::new() };
            shown.extend(page.lines(width));
        }
        for line in shown {
            prop_assert!(line.width() <= width, "{} columns in {width}: {}", line.width(), line.text());
            prop_assert!(!line.text().chars().any(char::is_control));
        }
    }
}
