//! Calls that no span is around: a conversation is a run, by the history that its requests repeat.

use serde_json::{Value, json};
use tracer_sdk::format::RecordedStatus;
use tracer_tests::Finished;
use tracing::field::Empty;
use tracing::{Span, info_span};

use crate::setup::{names, only, run, runs, span};

/// A conversation that a program has by a loop of its own, as genai reports its calls: no span is entered.
struct Chat(Vec<Value>);

impl Chat {
    fn new(question: &str) -> Self {
        Self(vec![
            json!({"role": "user", "parts": [{"type": "text", "content": question}]}),
        ])
    }

    fn request(&self) -> Span {
        let call = info_span!(
            "genai.chat",
            gen_ai.operation.name = "chat",
            gen_ai.request.model = "gpt-5",
            gen_ai.input.messages = Empty,
            gen_ai.output.messages = Empty,
            otel.status_code = Empty,
            error.type = Empty,
        );
        call.record("gen_ai.input.messages", Value::from(self.0.clone()).to_string());
        call
    }

    fn answer(&mut self, call: &Span, parts: &Value) {
        let answer = json!({"role": "assistant", "parts": parts});
        let mut said = answer.clone();
        said["finish_reason"] = "stop".into();
        call.record("gen_ai.output.messages", json!([said]).to_string());
        self.0.push(answer);
    }

    fn ask_for_weather(&mut self, id: &str, city: &str) {
        let call = self.request();
        self.answer(
            &call,
            &json!([{"type": "tool_call", "id": id, "name": "weather", "arguments": {"city": city}}]),
        );
    }

    fn run_weather(&mut self, id: &str, city: &str, result: &str) {
        let tool = info_span!(
            "genai.execute_tool",
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = "weather",
            gen_ai.tool.call.id = Empty,
            gen_ai.tool.call.arguments = Empty,
        );
        tool.record("gen_ai.tool.call.id", id);
        tool.record("gen_ai.tool.call.arguments", json!({"city": city}).to_string());
        tool.in_scope(|| ());
        self.0.push(json!({"role": "tool",
            "parts": [{"type": "tool_call_response", "id": id, "result": result}]}));
    }

    fn end(&mut self, text: &str) {
        let call = self.request();
        self.answer(&call, &json!([{"type": "text", "content": text}]));
    }
}

/// The cities of a run's tools, and how many models it asked.
fn cities(run: &Finished) -> (Vec<&str>, u64) {
    let tools = run.spans.iter();
    let arguments = tools.filter_map(|span| span.attributes.get("gen_ai.tool.call.arguments")?.as_str());
    (arguments.collect(), run.meta.counts.llm_calls)
}

#[test]
fn a_loop_is_one_run() {
    let run = run(|| {
        let mut chat = Chat::new("the weather?");
        chat.ask_for_weather("c1", "Oslo");
        chat.run_weather("c1", "Oslo", "7 C");
        chat.end("7 C in Oslo");
    });
    assert_eq!(
        names(&run)[..3],
        ["genai.chat", "genai.execute_tool", "genai.chat"]
    );
    assert_eq!(run.meta.status, RecordedStatus::Ok);
    let root = run.spans.last().unwrap();
    assert!(
        run.spans[..3]
            .iter()
            .all(|span| span.parent_span_id == Some(root.span_id))
    );
}

#[test]
fn three_loops_at_once_are_three_runs_though_their_tools_have_equal_ids() {
    let runs = runs(|| {
        let cities = ["Oslo", "Bergen", "Tromso"];
        let mut chats = cities.map(|city| Chat::new(&format!("the weather of {city}?")));
        let calls: Vec<_> = chats.iter().map(Chat::request).collect();
        for ((chat, city), call) in chats.iter_mut().zip(cities).zip(calls).rev() {
            let asked = json!({"type": "tool_call", "id": "weather:0", "name": "weather", "arguments": {"city": city}});
            chat.answer(&call, &json!([{"type": "text", "content": "I ask."}, asked]));
        }
        for (chat, city) in chats.iter_mut().zip(cities) {
            chat.run_weather("weather:0", city, "7 C");
        }
        for chat in chats.iter_mut().rev() {
            chat.end("7 C");
        }
    });
    let mut found: Vec<_> = runs.iter().map(cities).collect();
    found.sort_unstable();
    let expected = [
        r#"{"city":"Bergen"}"#,
        r#"{"city":"Oslo"}"#,
        r#"{"city":"Tromso"}"#,
    ];
    assert_eq!(found, expected.map(|city| (vec![city], 2)));
}

#[test]
fn equal_questions_at_once_are_not_mixed() {
    let runs = runs(|| {
        let mut chats = [Chat::new("the weather?"), Chat::new("the weather?")];
        for (chat, city) in chats.iter_mut().zip(["Oslo", "Bergen"]) {
            chat.ask_for_weather("c1", city);
        }
        for (chat, city) in chats.iter_mut().zip(["Oslo", "Bergen"]).rev() {
            chat.run_weather("c1", city, "7 C");
            chat.end("done");
        }
    });
    let counts: Vec<_> = runs
        .iter()
        .map(|run| (cities(run).0.len(), cities(run).1))
        .collect();
    assert_eq!(counts, [(1, 2), (1, 2)]);
}

#[test]
fn a_request_that_is_made_again_after_a_refusal_that_may_pass_is_of_its_run() {
    let refused = |status: &str| {
        let mut chat = Chat::new("the weather?");
        let call = chat.request();
        call.record("otel.status_code", "ERROR");
        call.record("error.type", status);
        drop(call);
        chat.end("7 C");
    };
    let retried = only(runs(|| refused("429")));
    assert_eq!(retried.meta.status, RecordedStatus::Ok);
    assert_eq!(retried.meta.counts.llm_calls, 2);
    assert_eq!(runs(|| refused("404")).len(), 2);
}

#[test]
fn calls_without_messages_are_runs_of_their_own() {
    let runs = runs(|| {
        for _ in 0..2 {
            drop(info_span!(
                "chat",
                gen_ai.operation.name = "chat",
                gen_ai.request.model = "gpt-5"
            ));
        }
    });
    assert_eq!(runs.len(), 2);
}

#[test]
fn a_conversation_whose_tools_bring_nothing_ends_with_the_program() {
    const CHILD: &str = "TRACER_TEST_CONVERSATION";
    if std::env::var_os(CHILD).is_some() {
        // The test's own directory is that of the parent, by TRACER_DATA_DIR.
        let subscriber = crate::setup::subscriber(tracer_sdk::layer::builder());
        return tracing::subscriber::with_default(subscriber, || {
            let mut chat = Chat::new("the weather?");
            chat.ask_for_weather("c1", "Oslo");
            chat.run_weather("c1", "Oslo", "7 C");
        });
    }
    let data = tracer_tests::DataDir::new();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "conversations::a_conversation_whose_tools_bring_nothing_ends_with_the_program",
        ])
        .env(CHILD, "1")
        .env("TRACER_DATA_DIR", data.path())
        .status()
        .unwrap();
    assert!(status.success());
    let run = data.finished();
    assert_eq!(run.meta.counts.tool_calls, 1);
    assert_eq!(
        span(&run, "genai.execute_tool").attributes["gen_ai.tool.call.id"],
        "c1"
    );
}
