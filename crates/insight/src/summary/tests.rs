//! The exact sentences.

use serde_json::json;
use tracer_sdk::format::{ErrorPayload, OtherMarks, Payload, RecordedStatus, Timestamp, Usage};

use super::*;
use crate::sample_run::{Sample, error, failed_tool, llm, loop_warning, state, structural, tool};
use crate::steps;

fn summary(status: RunStatus, sample: &Sample) -> String {
    let sources = sample.sources();
    let steps = steps::steps(&sources, None);
    sentence(status, &steps, None, Some(8_230_000), false).plain()
}

fn lookup() -> Payload {
    tool("lookup_customer", &json!({"id": 1}), &json!({"plan": "pro"}))
}

fn search() -> Payload {
    tool("search_kb", &json!({"q": "refund"}), &json!([]))
}

fn refused() -> Payload {
    failed_tool(
        "refund_api",
        &json!({"order": 7}),
        error("TimeoutError", "no answer in 5 s"),
    )
}

#[test]
fn ok_is_described_by_its_path() {
    let sample = Sample::new()
        .step(state(&json!({"phase": "triage"})))
        .step(lookup())
        .step(search())
        .step(search())
        .step(llm("Draft", "Dear Ada", Usage::default()));
    assert_eq!(
        summary(RunStatus::Ok, &sample),
        "Ended ok: lookup_customer → search_kb ×2 → demo-model."
    );
}

#[test]
fn a_long_path_is_shown_by_its_beginning_and_its_end() {
    let call = |number: usize| tool(&format!("t{number}"), &json!({}), &json!({}));
    let sample = (1..=9).fold(Sample::new(), |sample, number| sample.step(call(number)));
    assert_eq!(
        summary(RunStatus::Ok, &sample),
        "Ended ok: t1 → t2 → t3 → … 4 more … → t8 → t9."
    );
}

#[test]
fn ok_with_failed_calls_names_the_last() {
    let one = Sample::new().step(lookup()).step(refused());
    assert_eq!(
        summary(RunStatus::Ok, &one),
        "Ended ok: lookup_customer → refund_api. One call failed: #2 refund_api: TimeoutError: no answer in 5 s."
    );
    let attempted = Sample::new().step(lookup()).step(refused()).step(refused());
    assert_eq!(
        summary(RunStatus::Ok, &attempted),
        "Ended ok: lookup_customer → refund_api. One call failed: #3 refund_api: TimeoutError: no answer in 5 s. \
         1 failed attempt was tried again."
    );
    let two = one.step(lookup()).step(refused());
    assert_eq!(
        summary(RunStatus::Ok, &two),
        "Ended ok: lookup_customer → refund_api → lookup_customer → refund_api. 2 calls failed, the last #4 refund_api: TimeoutError: no answer in 5 s."
    );
}

#[test]
fn ok_without_calls_says_so() {
    assert_eq!(
        summary(RunStatus::Ok, &Sample::new()),
        "Ended ok; no step was recorded."
    );
    assert_eq!(
        summary(RunStatus::Ok, &Sample::new().step(structural())),
        "Ended ok without a model or tool call."
    );
}

#[test]
fn a_loop_is_described_with_its_evidence() {
    let sample = Sample::new()
        .step(search())
        .step(search())
        .step(search())
        .step(loop_warning(&[1, 2, 3]));
    assert_eq!(
        summary(RunStatus::Looped, &sample),
        "Repeated search_kb at least 3 times (#1–#3), then ended ok."
    );
    let lost = Sample::new().step(search()).step(loop_warning(&[7]));
    assert_eq!(
        summary(RunStatus::Looped, &lost),
        "Repeated itself at least 3 times, then ended ok."
    );
}

#[test]
fn a_failure_names_the_call_that_caused_it() {
    let sample = Sample::new()
        .step(lookup())
        .step(refused())
        .step(search())
        .on_root(Payload::Error(error(
            "AgentError",
            "refund failed: no answer in 5 s",
        )));
    assert_eq!(
        summary(RunStatus::Failed, &sample),
        "Timed out at #2 refund_api: TimeoutError: no answer in 5 s."
    );
}

#[test]
fn a_failure_of_its_own_names_the_call_before_it() {
    let sample = Sample::new()
        .step(lookup())
        .on_root(Payload::Error(error("ParseIntError", "invalid digit")));
    assert_eq!(
        summary(RunStatus::Failed, &sample),
        "Failed after #1 lookup_customer: ParseIntError: invalid digit."
    );
    for message in ["", "ParseIntError"] {
        let first = Sample::new().on_root(Payload::Error(error("ParseIntError", message)));
        assert_eq!(summary(RunStatus::Failed, &first), "Failed: ParseIntError.");
    }
}

#[test]
fn a_failure_without_an_error_says_what_is_known() {
    assert_eq!(
        summary(RunStatus::Failed, &Sample::new()),
        "Failed without saying why."
    );
    assert_eq!(
        summary(RunStatus::Failed, &Sample::new().step(lookup())),
        "Failed without saying why, after #1 lookup_customer."
    );
    assert_eq!(
        summary(RunStatus::Failed, &Sample::new().step(refused())),
        "Timed out at #1 refund_api: TimeoutError: no answer in 5 s."
    );
    assert_eq!(
        summary(RunStatus::Failed, &Sample::new().step(refused()).step(lookup())),
        "Failed without saying why; the last failed call is #1 refund_api: TimeoutError: no answer in 5 s."
    );
}

#[test]
fn a_guardrail_a_panic_and_a_cancellation_are_named() {
    let ended = |kind: &str, message: &str| {
        summary(
            RunStatus::Failed,
            &Sample::new()
                .step(search())
                .on_root(Payload::Error(error(kind, message))),
        )
    };
    assert_eq!(
        ended("GuardrailExceeded", "max_tool_calls: 21 of 20"),
        "Stopped by a guardrail after #1 search_kb: max_tool_calls: 21 of 20."
    );
    // Other emitters name the module, too.
    for kind in ["LoopAbort", "agentdbg.LoopAbort"] {
        assert_eq!(
            ended(kind, "search_kb was repeated 3 times."),
            "Stopped by the loop guardrail after #1 search_kb: search_kb was repeated 3 times."
        );
    }
    assert_eq!(
        ended("panic", "index out of bounds"),
        "Panicked after #1 search_kb: index out of bounds."
    );
    assert_eq!(ended("Cancelled", "dropped"), "Cancelled after #1 search_kb.");
}

#[test]
fn a_cancelled_run_was_in_what_it_left_open() {
    let sample = Sample::new()
        .step(lookup())
        .step(search())
        .on_root(Payload::Error(error("Cancelled", "dropped")));
    let mut sources = sample.sources();
    sources[0].in_flight = true;
    let steps = steps::steps(&sources, None);
    assert_eq!(
        sentence(RunStatus::Failed, &steps, None, None, false).plain(),
        "Cancelled in #1 lookup_customer."
    );
}

#[test]
fn a_call_that_its_run_outlived_is_not_where_it_was_cancelled() {
    let ended = || tool("search_kb", &json!({}), &Value::Null);
    let dropped = || failed_tool("search_kb", &json!({}), error("Cancelled", "dropped"));
    let of = |first: Payload, second: Payload| {
        let end = Payload::Error(error("Cancelled", "dropped"));
        let sample = Sample::new().step(first).step(second).on_root(end);
        let mut sources = sample.sources();
        for source in &mut sources {
            source.record.end = Some(source.record.ts.parse().unwrap());
        }
        let steps = steps::steps(&sources, None);
        sentence(RunStatus::Failed, &steps, None, None, false).plain()
    };
    assert_eq!(of(ended(), dropped()), "Cancelled in #2 search_kb.");
    assert_eq!(of(dropped(), ended()), "Cancelled after #2 search_kb.");
    assert_eq!(of(dropped(), dropped()), "Cancelled in #2 search_kb.");
}

#[test]
fn a_call_that_panicked_is_where_its_run_panicked() {
    let sample = Sample::new()
        .step(failed_tool("search_kb", &json!({}), error("panic", "no index")))
        .on_root(Payload::Error(error("panic", "no index")));
    assert_eq!(
        summary(RunStatus::Failed, &sample),
        "Panicked in #1 search_kb: no index."
    );
}

/// A recorded command that ended with an exit code: an agent of it failed so, in which these steps are.
fn recorded_agent(failure: ErrorPayload, within: Payload, after: Option<Payload>) -> Vec<steps::StepSource> {
    let mut agent = structural();
    if let Payload::Unknown { status, error, .. } = &mut agent {
        (*status, *error) = (RecordedStatus::Error, Some(failure));
    }
    let exit = error("ExitCode", "the command ended with exit code 1");
    let mut sample = Sample::new().step(agent).within(1, within);
    if let Some(payload) = after {
        sample = sample.step(payload);
    }
    let mut sources = sample.on_root(Payload::Error(exit)).sources();
    // It ends when the second step begins.
    let at = |number: usize| sources[number].record.ts.parse::<Timestamp>().unwrap();
    sources[0].duration = u64::try_from(at(1).microseconds_since(at(0))).ok();
    sources
}

fn failed_sentence(sources: &[steps::StepSource]) -> String {
    let steps = steps::steps(sources, Some(Sample::started()));
    sentence(RunStatus::Failed, &steps, None, None, false).plain()
}

#[test]
fn an_agent_that_failed_says_more_than_an_exit_code() {
    let panicked = || error("panic", "no such city");
    let run = |within, after| recorded_agent(panicked(), within, after);
    let tool = failed_tool("search_kb", &json!({}), panicked());
    assert_eq!(
        failed_sentence(&run(tool, None)),
        "Panicked in #2 search_kb: no such city."
    );
    let stopped = recorded_agent(error("LoopAbort", "3 times in a row"), search(), None);
    assert_eq!(
        failed_sentence(&stopped),
        "Stopped by the loop guardrail after #2 search_kb: 3 times in a row."
    );
    assert_eq!(
        failed_sentence(&run(search(), Some(lookup()))),
        "Failed after #3 lookup_customer: ExitCode: the command ended with exit code 1.",
        "the program went on after it"
    );
}

#[test]
fn a_cancelled_run_was_in_the_call_that_never_ended() {
    let cancelled = || error("Cancelled", "dropped");
    let mut sources = recorded_agent(cancelled(), search(), None);
    sources[1].duration = Some(0);
    sources[1].record.marks = Some(Box::new(OtherMarks {
        is_unknown: true,
        ..OtherMarks::default()
    }));
    assert_eq!(failed_sentence(&sources), "Cancelled in #2 search_kb.");
    let mut sources = Sample::new()
        .step(search())
        .step(lookup())
        .on_root(Payload::Error(cancelled()))
        .sources();
    sources[0].duration = Some(0);
    sources[0].record.marks = Some(Box::new(OtherMarks {
        is_unknown: true,
        ..OtherMarks::default()
    }));
    assert_eq!(
        failed_sentence(&sources),
        "Cancelled after #2 lookup_customer.",
        "a call began after it"
    );
}

#[test]
fn a_run_without_an_end_shows_how_far_it_came() {
    let sample = Sample::new().step(lookup()).step(search());
    assert_eq!(
        summary(RunStatus::Running, &sample),
        "Running for 8.23 s; the last finished step is #2 search_kb."
    );
    assert_eq!(
        summary(RunStatus::Running, &Sample::new()),
        "Running for 8.23 s; no step has finished yet."
    );
    assert_eq!(
        summary(RunStatus::Interrupted, &sample),
        "Interrupted: its process is gone; the last finished step is #2 search_kb."
    );
    let cancelled = failed_tool("search_kb", &json!({}), error("Cancelled", "dropped"));
    assert_eq!(
        summary(RunStatus::Interrupted, &sample.step(cancelled)),
        "Interrupted: its process is gone; #3 search_kb was cancelled before."
    );
    assert_eq!(
        summary(RunStatus::Interrupted, &Sample::new()),
        "Interrupted: its process is gone; no step had finished."
    );
}

#[test]
fn a_step_that_has_not_ended_is_where_the_run_is() {
    let sample = Sample::new().step(lookup()).step(search());
    let mut sources = sample.sources();
    sources[1].in_flight = true;
    let steps = steps::steps(&sources, None);
    let summary = |status| sentence(status, &steps, None, None, false).plain();
    assert_eq!(summary(RunStatus::Running), "Running; now in #2 search_kb.");
    assert_eq!(
        summary(RunStatus::Interrupted),
        "Interrupted: its process is gone; it was in #2 search_kb."
    );
}

#[test]
fn a_sentence_about_a_damaged_run_claims_no_more_than_was_read() {
    let sample = Sample::new().step(lookup());
    let sources = sample.sources();
    let steps = steps::steps(&sources, None);
    let summary = |status, steps: &[Step<'_>]| sentence(status, steps, None, None, true).plain();
    assert_eq!(
        summary(RunStatus::Ok, &steps),
        "Ended ok: lookup_customer. A part of it cannot be read."
    );
    assert_eq!(
        summary(RunStatus::Ok, &[]),
        "Ended ok, its metadata says; no step can be read."
    );
    assert_eq!(
        summary(RunStatus::Failed, &[]),
        "Failed without saying why. A part of it cannot be read."
    );
    assert_eq!(
        summary(RunStatus::Damaged, &steps),
        "Damaged: this is what can be read of it."
    );
}

#[test]
fn neighbouring_numbers_are_joined() {
    assert_eq!(text::step_ranges(&[4, 5, 6, 9]), "#4–#6, #9");
    assert_eq!(text::step_ranges(&[]), "");
}

#[test]
fn a_call_without_a_result_has_not_failed() {
    let mut sources = Sample::new()
        .step(tool("answer", &json!({"time": "6:40"}), &json!(null)))
        .sources();
    let marks = |is_waiting| OtherMarks {
        is_unknown: true,
        is_waiting,
        ..OtherMarks::default()
    };
    let sentence_of = |sources: &[steps::StepSource]| {
        let steps = steps::steps(sources, None);
        let shown = steps[0].summary().output;
        (
            sentence(RunStatus::Ok, &steps, None, None, false).plain(),
            shown,
            steps[0].failed(),
        )
    };
    sources[0].record.marks = Some(Box::new(marks(false)));
    let unknown = ("Ended ok: answer.".to_owned(), Some("unknown".to_owned()), false);
    assert_eq!(sentence_of(&sources), unknown);
    sources[0].record.marks = Some(Box::new(marks(true)));
    sources[0]
        .record
        .meta
        .insert("waiting".to_owned(), json!("Send it?"));
    let waiting = (
        "Waiting for a person at #1 answer: Send it?".to_owned(),
        Some("waiting".to_owned()),
        false,
    );
    assert_eq!(sentence_of(&sources), waiting);
}

/// A model call that answered this and stopped for this reason.
fn withheld(response: serde_json::Value, reason: Option<&str>) -> Sample {
    let mut payload = llm("Why?", "", Usage::default());
    if let Payload::LlmCall {
        response: answer,
        stop_reason,
        ..
    } = &mut payload
    {
        *answer = response;
        *stop_reason = reason.map(str::to_owned);
    }
    Sample::new().step(payload)
}

#[test]
fn an_answer_that_was_withheld_is_the_reason() {
    let refusal =
        json!({"choices": [{"message": {"role": "assistant", "refusal": "I can't help with that."}}]});
    let blocked = json!({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}});
    let malformed = json!({"candidates": [{"finishReason": "MALFORMED_FUNCTION_CALL", "finishMessage": "Malformed function call: print(1)"}]});
    let cases = [
        (
            refusal,
            None,
            "The model refused at #1 demo-model: I can't help with that.",
        ),
        (
            json!({"role": "assistant", "content": []}),
            Some("refusal"),
            "The model refused at #1 demo-model.",
        ),
        (
            blocked,
            Some("PROHIBITED_CONTENT"),
            "Blocked by a content filter at #1 demo-model: PROHIBITED_CONTENT.",
        ),
        (
            json!("It is"),
            Some("content_filter"),
            "Blocked by a content filter at #1 demo-model: content_filter.",
        ),
        (
            malformed,
            Some("MALFORMED_FUNCTION_CALL"),
            "The model's call of a tool was malformed at #1 demo-model: Malformed function call: print(1).",
        ),
    ];
    for (response, reason, expected) in cases {
        let sample = withheld(response, reason);
        assert_eq!(
            summary(RunStatus::Ok, &sample),
            format!("Ended ok: demo-model. {expected}")
        );
        assert_eq!(summary(RunStatus::Failed, &sample), expected);
    }
}

#[test]
fn a_call_that_was_dropped_when_the_run_failed_has_the_reason_of_the_run() {
    let dropped = || {
        failed_tool(
            "read",
            &json!({}),
            error("Cancelled", "the call was dropped before it had a result"),
        )
    };
    let broken = || Payload::Error(error("reqwest::Error", "error decoding response body"));
    assert_eq!(
        summary(
            RunStatus::Failed,
            &Sample::new().step(lookup()).step(dropped()).on_root(broken())
        ),
        "Failed in #2 read: reqwest::Error: error decoding response body."
    );
    // The program went on without it.
    assert_eq!(
        summary(
            RunStatus::Failed,
            &Sample::new().step(dropped()).step(lookup()).on_root(broken())
        ),
        "Failed after #2 lookup_customer: reqwest::Error: error decoding response body."
    );
}
