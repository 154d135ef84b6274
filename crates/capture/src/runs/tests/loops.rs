//! Loop warnings of runs that no recorder in the program warned of.

use serde_json::json;
use tracer_sdk::format::Payload;

use super::*;

/// A tool call of an agent, the `number`th of a row.
fn lookup(agent: u64, number: u64, city: Option<&str>) -> Span {
    let mut span = tool(1, agent * 100 + number, agent);
    span.start_time_unix_nano = START + (10 + number * 5) * MS;
    span.end_time_unix_nano = span.start_time_unix_nano + 2 * MS;
    match city {
        Some(city) => with(
            span,
            &[("gen_ai.tool.call.arguments", &format!("{{\"city\": \"{city}\"}}"))],
        ),
        None => span,
    }
}

/// The evidence of each warning of a run.
fn warned(bench: &Bench) -> Vec<Vec<String>> {
    bench.pass(100);
    let evidence = |record: tracer_sdk::format::Record| match record.payload {
        Payload::LoopWarning {
            evidence_event_ids, ..
        } => Some(evidence_event_ids),
        _ => None,
    };
    let run = bench.run(1);
    let warned: Vec<Vec<String>> = run.records().into_iter().filter_map(evidence).collect();
    assert_eq!(run.meta.counts.loop_warnings, warned.len() as u64);
    warned
}

fn ids(ids: impl IntoIterator<Item = u64>) -> Vec<String> {
    ids.into_iter().map(|id| format!("{id:016x}")).collect()
}

#[test]
fn the_same_call_again_and_again_is_warned_of_once() {
    let bench = Bench::new();
    let calls = (0..10).map(|number| lookup(2, number, Some("Oslo")));
    bench.send([agent(1, 2, 0)].into_iter().chain(calls).collect());
    assert_eq!(warned(&bench), [ids(200..203)]);
    assert_eq!(bench.statuses(), [RunStatus::Looped]);
}

#[test]
fn calls_that_differ_or_are_not_known_are_no_loop() {
    for cities in [
        [Some("Oslo"), Some("Rome"), Some("Bonn"), Some("Graz")],
        [None; 4],
    ] {
        let bench = Bench::new();
        let calls = (0..).zip(cities).map(|(number, city)| lookup(2, number, city));
        bench.send([agent(1, 2, 0)].into_iter().chain(calls).collect());
        assert_eq!(warned(&bench), Vec::<Vec<String>>::new());
        assert_eq!(bench.statuses(), [RunStatus::Ok]);
    }
}

#[test]
fn a_question_to_other_documents_is_no_loop() {
    let warned_of = |documents: [&str; 3]| {
        let bench = Bench::new();
        let asked = |(number, document): (u64, &str)| {
            let messages = json!([
                {"role": "system", "parts": [{"type": "text", "content": document}]},
                {"role": "user", "parts": [{"type": "text", "content": "Summarize the document."}]},
            ]);
            let mut call = with(
                chat(1, 10 + number, 2),
                &[("gen_ai.input.messages", &messages.to_string())],
            );
            call.start_time_unix_nano = START + (1 + number * 10) * MS;
            call.end_time_unix_nano = call.start_time_unix_nano + MS;
            call
        };
        let calls = (0..).zip(documents).map(asked);
        bench.send([agent(1, 2, 0)].into_iter().chain(calls).collect());
        warned(&bench).len()
    };
    assert_eq!(warned_of(["a", "b", "c"]), 0);
    assert_eq!(warned_of(["a", "a", "a"]), 1);
}

#[test]
fn equal_calls_at_the_same_time_are_no_loop() {
    let bench = Bench::new();
    let calls = (0..4).map(|number| {
        let mut call = lookup(2, number, Some("Oslo"));
        call.end_time_unix_nano += 50 * MS;
        call
    });
    bench.send([agent(1, 2, 0)].into_iter().chain(calls).collect());
    assert_eq!(warned(&bench), Vec::<Vec<String>>::new());
}

#[test]
fn a_loop_right_behind_equal_calls_at_the_same_time_is_warned_of() {
    let bench = Bench::new();
    let calls = (0..7).map(|number| {
        let mut call = lookup(2, number, Some("Oslo"));
        if number < 3 {
            call.end_time_unix_nano = START + 23 * MS;
        }
        call
    });
    bench.send([agent(1, 2, 0)].into_iter().chain(calls).collect());
    assert_eq!(warned(&bench), [[ids([200]), ids([203, 204])].concat()]);
}

#[test]
fn each_of_two_agents_that_loop_at_once_is_warned_of() {
    let bench = Bench::new();
    let root = span(1, 1, 0, "team", 0, 200);
    let calls = |number| {
        [2, 3]
            .map(|agent| lookup(agent, number, Some("Oslo")))
            .into_iter()
            .chain([lookup(4, number, Some(&format!("{number}")))])
    };
    let agents = [2, 3, 4].map(|id| agent(1, id, 1));
    bench.send(
        [root]
            .into_iter()
            .chain(agents)
            .chain((0..4).flat_map(calls))
            .collect(),
    );
    let mut warned = warned(&bench);
    warned.sort();
    assert_eq!(warned, [ids(200..203), ids(300..303)]);
}

#[test]
fn a_run_that_is_completed_again_keeps_its_warning() {
    let mut bench = Bench::new();
    let calls = (0..4).map(|number| lookup(2, number, Some("Oslo")));
    bench.send([agent(1, 2, 0)].into_iter().chain(calls).collect());
    assert_eq!(warned(&bench).len(), 1);
    bench.restart();
    bench.send(vec![lookup(2, 4, Some("Oslo"))]);
    assert_eq!(warned(&bench).len(), 1);
}
