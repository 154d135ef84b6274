//! Calls on the wire in agents that said nothing of them, and in the rows of their conversations.

use tracer_runs::{RunReader, Strictness};

use super::*;

/// A call as the proxy writes it, right below the root.
fn on_the_wire(id: u64, conversation: i64, from_ms: u64, to_ms: u64) -> Span {
    let mut call = chat(1, id, 1);
    call.start_time_unix_nano = START + from_ms * MS;
    call.end_time_unix_nano = START + to_ms * MS;
    let number = AnyValue {
        value: Some(Any::IntValue(conversation)),
    };
    call.attributes.push(attribute("tracer.thread", number));
    with(call, &[("tracer.source", "proxy")])
}

/// The parents of two calls as readers see them, and the number of places that are guesses.
fn places(spans: Vec<Span>, calls: [u64; 2]) -> ([u64; 2], u64) {
    let bench = Bench::new();
    let root = span(1, 1, 0, "python agent.py", 0, 200);
    bench.send([root].into_iter().chain(spans).collect());
    bench.pass(100);
    let run = bench.run(1);
    let records = run.records();
    let parent = |call: u64| {
        let id = format!("{call:016x}");
        let record = records.iter().find(|record| record.event_id == id).unwrap();
        u64::from_str_radix(record.parent_id.as_deref().unwrap(), 16).unwrap()
    };
    let guesses = RunReader::open(&run.directory, Strictness::Strict)
        .unwrap()
        .records
        .index()
        .guessed_places();
    (calls.map(parent), guesses)
}

#[test]
fn a_call_is_in_the_innermost_agent_that_was_open() {
    let inner = span(1, 3, 2, "invoke_agent coder", 20, 60);
    let inner = with(inner, &[("gen_ai.operation.name", "invoke_agent")]);
    let calls = [on_the_wire(10, 1, 5, 15), on_the_wire(11, 2, 30, 40)];
    let spans = [agent(1, 2, 1), inner].into_iter().chain(calls).collect();
    assert_eq!(places(spans, [10, 11]), ([2, 3], 2));
    let behind = vec![
        agent(1, 2, 1),
        on_the_wire(10, 1, 5, 15),
        on_the_wire(11, 1, 150, 160),
    ];
    assert_eq!(places(behind, [10, 11]), ([2, 1], 1));
}

#[test]
fn nothing_is_guessed_where_two_agents_or_two_conversations_are_at_once() {
    let beside = vec![
        agent(1, 2, 1),
        agent(1, 3, 1),
        on_the_wire(10, 1, 5, 15),
        on_the_wire(11, 1, 20, 30),
    ];
    assert_eq!(places(beside, [10, 11]), ([1, 1], 0));
    let at_once = vec![
        agent(1, 2, 1),
        on_the_wire(10, 1, 5, 15),
        on_the_wire(11, 2, 10, 30),
    ];
    assert_eq!(places(at_once, [10, 11]), ([1, 1], 0));
    // One of the conversations said its place.
    let mut said = on_the_wire(10, 1, 5, 40);
    said.parent_span_id = 2_u64.to_be_bytes().to_vec();
    let one_said = vec![agent(1, 2, 1), said, on_the_wire(11, 2, 10, 30)];
    assert_eq!(places(one_said, [10, 11]), ([2, 1], 0));
}

/// The row of a conversation as the proxy writes it.
fn row(id: u64, conversation: i64) -> Span {
    let mut row = span(1, id, 1, &format!("conversation {conversation}"), 5, 60);
    let number = AnyValue {
        value: Some(Any::IntValue(conversation)),
    };
    row.attributes.push(attribute("tracer.thread", number));
    with(row, &[("tracer.source", "proxy"), ("tracer.inferred", "span")])
}

#[test]
fn a_conversation_has_its_row_where_nothing_else_holds_its_calls() {
    let calls = [on_the_wire(10, 1, 5, 15), on_the_wire(11, 2, 10, 30)];
    let rows = [row(20, 1), row(21, 2)];
    let plain = rows.iter().chain(&calls).cloned().collect();
    assert_eq!(places(plain, [10, 11]), ([20, 21], 0));
    // One said its place: its row holds nothing, and is no step.
    let bench = Bench::new();
    let mut said = on_the_wire(10, 1, 5, 40);
    said.parent_span_id = 2_u64.to_be_bytes().to_vec();
    let root = span(1, 1, 0, "python agent.py", 0, 200);
    let [_, unsaid] = calls;
    let spans = [root, agent(1, 2, 1), said, unsaid];
    bench.send(spans.into_iter().chain(rows).collect());
    bench.pass(100);
    let run = bench.run(1);
    let records = run.records();
    let is_step = |name: &str| {
        let record = records.iter().find(|record| record.name == name).unwrap();
        !record.is_leftover()
    };
    assert_eq!(
        (is_step("conversation 1"), is_step("conversation 2")),
        (false, true)
    );
    let counts = run.meta.counts;
    assert_eq!((counts.llm_calls, counts.tool_calls), (2, 0));
}
