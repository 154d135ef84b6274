//! Tool calls, model calls and spans: names, arguments, results, and what is inside what.

use serde::Serialize;
use serde_json::json;
use tracer_sdk::format::EventType;
use tracer_sdk::{Context, Usage, tool_call, trace};
use tracer_tests::recording::{block_on, recorded};

#[derive(Serialize)]
struct Query {
    text: String,
    limit: usize,
}

#[trace(tool)]
fn nothing_kept(_secret: &str) -> String {
    "secret".to_owned()
}

#[trace(tool, args, result)]
fn all_kept(query: &Query, (low, _): (u8, u8), r#type: Option<&str>) -> Result<Vec<u8>, String> {
    let _ = (query, r#type);
    Ok(vec![low])
}

#[trace(tool, args(limit), name = format!("search {place}"))]
fn one_kept(place: &str, limit: usize) -> usize {
    place.len() + limit
}

struct Index;

impl Index {
    #[trace(tool, "look up", args)]
    fn look_up(&self, key: &str) -> usize {
        step(key)
    }
}

#[trace(span)]
fn step(key: &str) -> usize {
    key.len()
}

#[trace("inside a run")]
fn agent() -> usize {
    Index.look_up("key")
}

struct Answer {
    text: &'static str,
    tokens: (u64, u64),
}

#[trace(llm, model = "gpt-5", usage = |answer| Usage::new(answer.tokens.0, answer.tokens.1))]
fn answered(tokens: (u64, u64)) -> Answer {
    Answer {
        text: "Because.",
        tokens,
    }
}

#[trace(llm, model = "gpt-5", usage = |answer| (answer.tokens.0 > 0).then(|| Usage::new(answer.tokens.0, 1)))]
async fn answered_perhaps(tokens: Option<u64>) -> Result<Answer, String> {
    let tokens = tokens.ok_or("no answer")?;
    Ok(answered((tokens, 1)))
}

#[test]
fn the_tokens_of_a_model_call_come_from_its_answer() {
    let tokens = |recording: &tracer_tests::Finished| {
        let payloads = recording.all(EventType::LlmCall);
        let usage = payloads
            .iter()
            .map(|record| tracer_tests::finished::payload(record)["usage"].clone());
        usage
            .map(|usage| usage["total_tokens"].clone())
            .collect::<Vec<_>>()
    };
    let recording = recorded(|| assert_eq!(answered((14, 6)).text, "Because."));
    assert_eq!(tokens(&recording), [json!(20)]);
    let known = recorded(|| assert!(block_on(answered_perhaps(Some(7))).is_ok()));
    assert_eq!(tokens(&known), [json!(8), json!(8)]);
    let none = recorded(|| assert!(block_on(answered_perhaps(Some(0))).is_ok()));
    assert_eq!(tokens(&none), [json!(null), json!(1)]);
    let failed = recorded(|| assert!(block_on(answered_perhaps(None)).is_err()));
    assert_eq!(tokens(&failed), [json!(null)]);
}

#[test]
fn nothing_is_kept_that_was_not_asked_for() {
    let recording = recorded(|| drop(nothing_kept("secret")));
    let payload = recording.payload_named("nothing_kept");
    assert_eq!(payload["args"], json!(null));
    assert_eq!(payload["result"], json!(null));
    assert_eq!(payload["status"], "ok");
}

#[test]
fn arguments_keep_names_through_patterns() {
    let query = Query {
        text: "rust".to_owned(),
        limit: 3,
    };
    let recording = recorded(|| assert_eq!(all_kept(&query, (7, 8), None), Ok(vec![7])));
    let payload = recording.payload_named("all_kept");
    assert_eq!(
        payload["args"],
        json!({"query": {"text": "rust", "limit": 3}, "low": 7, "type": null})
    );
    assert_eq!(payload["result"], json!({"value": [7]}));
}

#[test]
fn names_may_use_unrecorded_arguments() {
    let recording = recorded(|| assert_eq!(one_kept("here", 3), 7));
    let payload = recording.payload_named("search here");
    assert_eq!(payload["tool_name"], "search here");
    assert_eq!(payload["args"], json!({"limit": 3}));
}

#[test]
fn spans_stand_in_the_span_that_called_them() {
    let recording = recorded(|| assert_eq!(agent(), 3));
    assert!(
        recording
            .all(EventType::Unknown)
            .iter()
            .any(|record| record.name == "inside a run")
    );
    assert_eq!(recording.parent_name("inside a run"), "test");
    assert_eq!(recording.parent_name("look up"), "inside a run");
    assert_eq!(recording.parent_name("step"), "look up");
}

const MODEL: &str = "gpt-5";

#[trace(llm, model = MODEL, provider = provider, args(prompt), result)]
fn ask(provider: &str, prompt: &str) -> Result<String, String> {
    Ok(format!("{provider}: {}", prompt.to_uppercase()))
}

#[trace(llm, model = "gpt-5-mini", args, result)]
fn chat(system: &str, turns: Vec<&str>) -> Query {
    Query {
        text: system.to_owned(),
        limit: turns.len(),
    }
}

#[test]
fn the_one_argument_of_a_model_call_is_its_prompt() {
    let recording = recorded(|| assert!(ask("openai", "hi").is_ok()));
    let payload = recording.payload_named("gpt-5");
    assert_eq!(payload["model"], "gpt-5");
    assert_eq!(payload["provider"], "openai");
    assert_eq!(payload["prompt"], "hi");
    assert_eq!(payload["response"], "openai: HI");
}

#[test]
fn several_arguments_of_a_model_call_are_an_object() {
    let recording = recorded(|| drop(chat("be brief", vec!["hi"])));
    let payload = recording.payload_named("gpt-5-mini");
    assert_eq!(payload["provider"], "unknown");
    assert_eq!(payload["prompt"], json!({"system": "be brief", "turns": ["hi"]}));
    assert_eq!(payload["response"], json!({"text": "be brief", "limit": 1}));
}

#[trace(agent, "coder", args(task), result)]
async fn code(task: &str, fails: bool) -> Result<String, String> {
    if let Some(span) = Context::current() {
        span.attribute("tries", &2);
    }
    if fails {
        return Err("no such file".to_owned());
    }
    Ok(task.replace("Mend", "Mended"))
}

#[test]
fn an_agent_has_a_question_and_an_answer() {
    let recording = recorded(|| {
        assert!(block_on(code("Mend a", false)).is_ok());
        assert!(block_on(code("Mend b", true)).is_err());
    });
    let agents = recording.all(EventType::Unknown);
    let said: Vec<_> = agents
        .iter()
        .map(|agent| (agent.question(), agent.answer()))
        .collect();
    let (first, second, answer) = (json!("Mend a"), json!("Mend b"), json!("Mended a"));
    assert_eq!(said, [(Some(&first), Some(&answer)), (Some(&second), None)]);
    let attributes = &recording.span(agents[0]).attributes;
    assert_eq!(attributes["gen_ai.agent.name"], "coder");
    assert_eq!(attributes["tries"], 2);
    assert_eq!(recording.span(agents[1]).status_description, "no such file");
}

#[test]
fn what_has_ended_takes_no_attributes() {
    let recording = recorded(|| {
        let run = Context::current().unwrap();
        let mut call = tool_call("search").start().unwrap();
        let inner = call.context().unwrap();
        std::thread::scope(|threads| {
            for number in 0..4 {
                let inner = &inner;
                threads.spawn(move || inner.attribute(&format!("added {number}"), &number));
            }
        });
        call.result("found");
        call.end().unwrap();
        inner.attribute("late", &1);
        run.attribute("of the run", &1);
    });
    let call = &recording.span_named("search").attributes;
    assert!((0..4).all(|number| call[&format!("added {number}")] == number));
    assert!(!call.contains_key("late"));
    assert_eq!(recording.run.spans.last().unwrap().attributes["of the run"], 1);
}
