//! What is past the limits of a record is counted.

use tracer_sdk::{ToolCallChunk, llm_call, tool_call};
use tracer_tests::DataDir;

#[test]
fn parts_past_the_limits_are_counted() {
    let data = DataDir::new();
    let run = data.run("test").start();
    let keys: Vec<String> = (0..129).map(|number| format!("key {number}")).collect();
    let call = keys
        .iter()
        .fold(tool_call("search"), |call, key| call.attribute(key, &1));
    call.record().unwrap();
    for number in 0..17 {
        assert!(run.observe(Err::<(), _>(format!("error {number}"))).is_err());
    }
    let mut answer = llm_call("gpt-5").start().unwrap();
    for index in 0..1_026 {
        answer.tool_call_chunk(ToolCallChunk::new(index).name("search").arguments("{}"));
    }
    answer.end().unwrap();
    drop(run);
    assert_eq!(data.finished().meta.left_out(), 1 + 1 + 2);
}

#[test]
fn a_run_within_the_limits_leaves_nothing_out() {
    let data = DataDir::new();
    data.run("test")
        .in_scope(|| tool_call("search").attribute("key", &1).record())
        .unwrap();
    assert_eq!(data.finished().meta.additional.get("left_out"), None);
}
