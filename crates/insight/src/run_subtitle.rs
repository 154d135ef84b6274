//! What tells a run from the others of its name in a few words: why it failed, what it repeated, what it was asked.

use tracer_sdk::format::{Payload, Record};

use crate::conversation::prompt_summary;
use crate::status::RunStatus;
use crate::{loops, step_summary, steps, text};

/// The words; `None` when the records tell nothing. Of a long run `records` are the first ones, and `last` the last: what
/// ended a run stands there, and a call that failed before was recovered.
pub fn of(standing: RunStatus, records: &[Record], last: Option<&[Record]>) -> Option<String> {
    let special = match standing {
        RunStatus::Failed => failure(last.unwrap_or(records)),
        // A plus says that it may have been repeated more often.
        RunStatus::Looped => repeated(records).map(|told| told + if last.is_some() { "+" } else { "" }),
        _ => None,
    };
    special.or_else(|| first_input(records))
}

/// The error that ended the run.
fn failure(records: &[Record]) -> Option<String> {
    let error = records
        .iter()
        .rev()
        .find_map(|record| match &record.payload {
            Payload::Error(error) => Some(error),
            _ => None,
        })
        .or_else(|| {
            let mut calls = records.iter().rev();
            calls.find_map(|record| step_summary::failure(&record.payload))
        })?;
    Some(format!(
        "{}: {}",
        step_summary::word(&error.error_type),
        step_summary::word(&error.message)
    ))
}

/// The pattern that the run repeated.
fn repeated(records: &[Record]) -> Option<String> {
    let sources: Vec<steps::Source> = records
        .iter()
        .filter(|record| !matches!(record.payload, Payload::RunStart { .. } | Payload::RunEnd { .. }))
        .enumerate()
        .map(|(index, record)| steps::Source::read(index + 1, record.clone(), None))
        .collect();
    let steps = steps::steps(&sources, None);
    let loops = loops::find(&steps);
    let repetitions = &loops.iter().find(|found| found.likeness.is_loop())?.repetitions;
    let names: Vec<String> = repetitions.first()?.iter().map(|step| step.name()).collect();
    Some(format!("{} ×{}", names.join(" → "), repetitions.len()))
}

/// What the first model call was asked, or else what the first tool was given.
fn first_input(records: &[Record]) -> Option<String> {
    let prompt = records.iter().find_map(|record| match &record.payload {
        Payload::LlmCall { prompt, .. } if !prompt.is_null() => Some(prompt_summary(prompt)),
        _ => None,
    });
    let arguments = || {
        records.iter().find_map(|record| match &record.payload {
            Payload::ToolCall { args, tool_name, .. } if !args.is_null() => Some(format!(
                "{} {}",
                step_summary::word(tool_name),
                step_summary::value(args)
            )),
            _ => None,
        })
    };
    let input = prompt.filter(|prompt| !prompt.is_empty()).or_else(arguments)?;
    Some(text::one_line(&input, 200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample_run::{Sample, error, failed_tool, llm, loop_warning, state, tool};
    use serde_json::json;
    use tracer_sdk::format::Usage;

    fn told(standing: RunStatus, sample: &Sample) -> Option<String> {
        of(standing, &sample.records(), None)
    }

    #[test]
    fn a_run_is_told_by_its_first_input() {
        let search = || tool("search", &json!({"query": "refund"}), &json!({}));
        let asked = Sample::new()
            .step(state(&json!({"phase": 1})))
            .step(search())
            .step(llm("Where is my refund?", "Dear Ada", Usage::default()));
        assert_eq!(
            told(RunStatus::Ok, &asked).as_deref(),
            Some("\"Where is my refund?\"")
        );
        let called = Sample::new().step(search());
        assert_eq!(
            told(RunStatus::Running, &called).as_deref(),
            Some("search query=refund")
        );
        assert_eq!(told(RunStatus::Ok, &Sample::new()), None);
    }

    #[test]
    fn a_failure_and_a_loop_say_more_than_the_input() {
        let search = || tool("search", &json!({}), &json!({}));
        let failed = Sample::new()
            .step(llm("Draft", "Dear Ada", Usage::default()))
            .step(failed_tool(
                "refund_api",
                &json!({}),
                error("TimeoutError", "no answer"),
            ))
            .on_root(Payload::Error(error("AgentError", "gave up\nafter 3 tries")));
        assert_eq!(
            told(RunStatus::Failed, &failed).as_deref(),
            Some("AgentError: gave up after 3 tries")
        );
        let looped = Sample::new()
            .step(search())
            .step(search())
            .step(search())
            .step(loop_warning(&[1, 2, 3]))
            .step(search());
        assert_eq!(told(RunStatus::Looped, &looped).as_deref(), Some("search ×4"));
        let first = looped.records();
        let told_of_many = of(RunStatus::Looped, &first, Some(&first));
        assert_eq!(told_of_many.as_deref(), Some("search ×4+"));
    }

    #[test]
    fn a_long_run_failed_for_what_is_at_its_end() {
        let first = Sample::new()
            .step(llm("Draft", "Dear Ada", Usage::default()))
            .step(failed_tool("search", &json!({}), error("Busy", "try again")));
        let last = Sample::new().on_root(Payload::Error(error("AgentError", "gave up")));
        let told = |last: &Sample| of(RunStatus::Failed, &first.records(), Some(&last.records()));
        assert_eq!(told(&last).as_deref(), Some("AgentError: gave up"));
        // Where the end says nothing, no other failure is told as the reason.
        assert_eq!(told(&Sample::new()).as_deref(), Some("\"Draft\""));
    }
}
