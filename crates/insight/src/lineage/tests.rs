//! Lineages that are known, of agents that are made for them.

use serde_json::{Value, json};
use tracer_sdk::prices::Prices;
use tracer_sdk::testing::capture;
use tracer_sdk::{llm_call, tool_call};

use super::*;
use crate::testing::opened;

/// An agent of the usual kind: every call sends all that was said before, tools run as they are asked for.
#[derive(Default)]
struct Agent {
    messages: Vec<Value>,
    calls: u32,
}

impl Agent {
    fn new(system: &str) -> Self {
        Self {
            messages: vec![json!({"role": "system", "content": system})],
            calls: 0,
        }
    }

    fn user(&mut self, content: impl Into<Value>) -> &mut Self {
        self.messages
            .push(json!({"role": "user", "content": content.into()}));
        self
    }

    /// A model call that asks for a tool, and the tool: two steps.
    #[expect(clippy::needless_pass_by_value, reason = "cases are written with `json!`")]
    fn tool(&mut self, name: &str, args: Value, result: Value) -> &mut Self {
        self.ask(name, &args);
        tool_call(name).args(&args).result(&result).record().unwrap();
        self.given(&result)
    }

    /// A model call that asks for a tool.
    fn ask(&mut self, name: &str, args: &Value) -> &mut Self {
        self.calls += 1;
        let id = format!("call_{}", self.calls);
        let message = json!({"role": "assistant", "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": args.to_string()}}]});
        self.answer_with(message)
    }

    fn answer(&mut self, text: &str) -> &mut Self {
        self.answer_with(json!({"role": "assistant", "content": text}))
    }

    fn answer_with(&mut self, message: Value) -> &mut Self {
        llm_call("gpt-5")
            .prompt(&json!({"messages": self.messages}))
            .response(&json!({"choices": [{"message": message}]}))
            .record()
            .unwrap();
        self.messages.push(message);
        self
    }

    /// The result of the last call, in the next input.
    fn given(&mut self, result: &Value) -> &mut Self {
        let text = result.as_str().map_or_else(|| result.to_string(), str::to_owned);
        self.messages
            .push(json!({"role": "tool", "tool_call_id": format!("call_{}", self.calls), "content": text}));
        self
    }
}

fn lineage_at(value: &str, step: Option<usize>, work: impl FnOnce(&mut Agent)) -> Lineage {
    let (_folder, run) = opened(Prices::default(), || {
        let mut agent = Agent::new("You sell shoes. Shop: SHOP-77.");
        agent.user("Refund order ORD-1042 of ada@example.com, bought on 2026-11-03 for $1,234.50.");
        work(&mut agent);
    });
    Lineage::of_run(&run, value, step).unwrap().unwrap()
}

/// `found: result#2`, `made_up`, with the sources, the nearest first.
fn short(lineage: &Lineage) -> String {
    let place = |place: &ValuePlace| {
        let kind = match place.kind {
            PlaceKind::ToolResult => "result",
            PlaceKind::UserMessage => "user",
            PlaceKind::SystemPrompt => "system",
            kind => kind.as_str(),
        };
        format!(" {kind}#{}", place.step.unwrap_or(0))
    };
    let places: String = lineage.sources.iter().map(place).collect();
    format!("{}{places}", lineage.verdict.as_str())
}

/// An agent that looks a customer up (#1, #2), then an order (#3, #4), and makes a refund (#5, #6) with these arguments.
fn refund(customer: Value, order: Value, args: Value) -> impl FnOnce(&mut Agent) {
    move |agent| {
        agent
            .tool("get_customer", json!({"email": "ada@example.com"}), customer)
            .tool("get_order", json!({"order": "ORD-1042"}), order)
            .tool("refund", args, json!("done"));
    }
}

#[test]
fn forty_lineages_are_right_and_no_source_is_wrong() {
    let none = || json!("nothing");
    let cases: Vec<(&str, Value, Value, Value, &str)> = vec![
        // Copied from a result.
        (
            "TX-90417",
            none(),
            json!({"tx": "TX-90417"}),
            json!({"tx": "TX-90417"}),
            "found result#4",
        ),
        (
            "TX-90417",
            json!({"tx": "TX-90417"}),
            none(),
            json!({"tx": "TX-90417"}),
            "found result#2",
        ),
        (
            "TX-90417",
            json!("last payment TX-90417, paid"),
            none(),
            json!({"tx": "TX-90417"}),
            "found result#2",
        ),
        (
            "TX-90417",
            json!(r#"{"payments": [{"id": "TX-90417"}]}"#),
            none(),
            json!({"tx": "TX-90417"}),
            "found result#2",
        ),
        (
            "TX-90417",
            json!(["a", ["b", {"c": "TX-90417"}]]),
            none(),
            json!({"nested": {"tx": ["TX-90417"]}}),
            "found result#2",
        ),
        (
            "TX-90417",
            json!({"TX-90417": {"paid": true}}),
            none(),
            json!({"tx": "TX-90417"}),
            "found result#2",
        ),
        (
            "4711001",
            json!({"id": 4_711_001}),
            none(),
            json!({"id": 4_711_001}),
            "found result#2",
        ),
        (
            "4711001",
            json!("account 4711001."),
            none(),
            json!({"id": "4711001"}),
            "found result#2",
        ),
        (
            "Ada \"the\" L",
            json!(r#"{"name": "Ada \"the\" L"}"#),
            none(),
            json!({"to": "Ada \"the\" L"}),
            "found result#2",
        ),
        (
            "Größe 38½",
            json!(r#"{"size": "Gr\u00f6\u00dfe 38\u00bd"}"#),
            none(),
            json!({"size": "Größe 38½"}),
            "found result#2",
        ),
        // Reformatted.
        (
            "987.6",
            json!({"total": "USD 987.60"}),
            none(),
            json!({"amount": 987.6}),
            "found result#2",
        ),
        (
            "45678.5",
            json!("total 45,678.50"),
            none(),
            json!({"amount": 45_678.5}),
            "found result#2",
        ),
        (
            "45,678.50",
            json!({"total": 45_678.5}),
            none(),
            json!({"amount": "45,678.50"}),
            "found result#2",
        ),
        (
            "45678.5",
            json!("Summe 45.678,50 €"),
            none(),
            json!({"amount": 45_678.5}),
            "found result#2",
        ),
        (
            "2026-12-24",
            json!("arrives December 24th, 2026"),
            none(),
            json!({"by": "2026-12-24"}),
            "found result#2",
        ),
        (
            "24.12.2026",
            json!({"arrives": "2026-12-24T08:00:00Z"}),
            none(),
            json!({"by": "24.12.2026"}),
            "found result#2",
        ),
        (
            "ada lovelace",
            json!({"name": "Ada LOVELACE"}),
            none(),
            json!({"to": "ada lovelace"}),
            "found result#2",
        ),
        (
            "12 Main Street, Springfield",
            json!("12  Main Street,\n Springfield"),
            none(),
            json!({"to": "12 Main Street, Springfield"}),
            "found result#2",
        ),
        // From the prompt.
        (
            "ORD-1042",
            none(),
            none(),
            json!({"order": "ORD-1042"}),
            "found user#1",
        ),
        (
            "1234.5",
            none(),
            none(),
            json!({"amount": 1234.5}),
            "found user#1",
        ),
        (
            "2026-11-03",
            none(),
            none(),
            json!({"day": "2026-11-03"}),
            "found user#1",
        ),
        (
            "3 Nov 2026",
            none(),
            none(),
            json!({"day": "3 Nov 2026"}),
            "found user#1",
        ),
        (
            "SHOP-77",
            none(),
            none(),
            json!({"shop": "SHOP-77"}),
            "found system#1",
        ),
        (
            "shop-77",
            none(),
            none(),
            json!({"shop": "shop-77"}),
            "found system#1",
        ),
        // From two sources, the nearest first.
        (
            "TX-90417",
            json!("TX-90417"),
            json!({"tx": "TX-90417"}),
            json!({"tx": "TX-90417"}),
            "found result#4 result#2",
        ),
        (
            "1234.5",
            none(),
            json!({"total": 1234.5}),
            json!({"amount": 1234.5}),
            "found result#4 user#1",
        ),
        (
            "2026-11-03",
            json!("on 3 November 2026"),
            none(),
            json!({"day": "2026-11-03"}),
            "found result#2 user#1",
        ),
        (
            "SHOP-77",
            json!({"shop": "SHOP-77"}),
            none(),
            json!({"shop": "SHOP-77"}),
            "found result#2 system#1",
        ),
        // Invented.
        ("TX-00000", none(), none(), json!({"tx": "TX-00000"}), "made_up"),
        (
            "2026-11-04",
            none(),
            none(),
            json!({"day": "2026-11-04"}),
            "made_up",
        ),
        ("1234.55", none(), none(), json!({"amount": 1234.55}), "made_up"),
        (
            "Grace Hopper",
            json!("Ada Lovelace"),
            none(),
            json!({"to": "Grace Hopper"}),
            "made_up",
        ),
        (
            "1Z999AA10123456784",
            json!({"tracking": null}),
            none(),
            json!({"tracking": "1Z999AA10123456784"}),
            "made_up",
        ),
        (
            "grace@example.com",
            none(),
            none(),
            json!({"to": "grace@example.com"}),
            "made_up",
        ),
        // The result of the call that has it in its arguments only repeats it.
        (
            "ada@example.com",
            json!({"email": "ada@example.com"}),
            none(),
            json!({"to": "ada@example.com"}),
            "found user#1",
        ),
        // Parts of something longer are no source, and forbid the verdict that it was made up.
        (
            "ORD-104",
            none(),
            none(),
            json!({"order": "ORD-104"}),
            "not_found",
        ),
        (
            "90417",
            json!("TX-90417"),
            none(),
            json!({"tx": "90417"}),
            "not_found",
        ),
        ("234.50", none(), none(), json!({"amount": "234.50"}), "not_found"),
        (
            "03/04/2026",
            json!("2026-04-03"),
            none(),
            json!({"day": "03/04/2026"}),
            "not_found",
        ),
        (
            "1250",
            json!({"amount": -1250}),
            none(),
            json!({"amount": 1250}),
            "not_found",
        ),
        (
            "250.0",
            json!("A,100,250"),
            none(),
            json!({"amount": 250.0}),
            "not_found",
        ),
        (
            "29 Nov 2026",
            json!("INV-2026-11-29-7"),
            none(),
            json!({"day": "29 Nov 2026"}),
            "not_found",
        ),
        (
            "29 Nov 2026",
            json!("A,2026-11-29T10:00:00Z,7"),
            none(),
            json!({"day": "29 Nov 2026"}),
            "found result#2",
        ),
        // Too common to have a source.
        ("1", json!({"page": 1}), none(), json!({"quantity": 1}), "common"),
        (
            "true",
            json!({"ok": true}),
            none(),
            json!({"now": true}),
            "common",
        ),
    ];
    assert!(cases.len() >= 40, "{}", cases.len());
    for (value, customer, order, args, expected) in cases {
        let known = format!("{value} in {customer}, {order} for {args}");
        let lineage = lineage_at(value, None, refund(customer, order, args));
        assert_eq!(short(&lineage), expected, "{known}: {}", lineage.sentence);
    }
}

#[test]
fn sentences_name_source_asker_and_use() {
    let sentence = |value: &str, customer: Value, args: Value| {
        lineage_at(value, None, refund(customer, json!("nothing"), args)).sentence
    };
    for (value, customer, args, expected) in [
        (
            "TX-90417",
            json!("TX-90417"),
            json!({"tx": "TX-90417"}),
            "TX-90417 came from the result of #2 get_customer; asked for by #5 gpt-5, passed to #6 refund.",
        ),
        (
            "2026-12-24",
            json!("24 Dec 2026"),
            json!({"by": "2026-12-24"}),
            "2026-12-24 came from the result of #2 get_customer, written otherwise; asked for by #5 gpt-5, passed to #6 refund.",
        ),
        (
            "TX-0",
            json!("none"),
            json!({"tx": "TX-0"}),
            "TX-0 is in no input before #6 refund: the model made it up, or derived it; asked for by #5 gpt-5, passed to #6 refund.",
        ),
        (
            "1",
            json!({"page": 1}),
            json!({"n": 1}),
            "1 is too common to have one source before #6 refund; give more of it, or the step that used it.",
        ),
        (
            "nowhere",
            json!("x"),
            json!({}),
            "nowhere is in nothing that was recorded of this run.",
        ),
    ] {
        assert_eq!(sentence(value, customer, args), expected);
    }
}

#[test]
fn a_step_is_asked_about_by_its_number() {
    let twice = |agent: &mut Agent| {
        agent.tool("search", json!({"q": "TX-1234"}), json!("TX-1234 is of March"));
        agent.tool("search", json!({"q": "March"}), json!({"id": "TX-1234"}));
        agent.tool("pay", json!({"id": "TX-1234"}), json!("ok"));
    };
    // The model had made it up before a tool returned it.
    assert_eq!(short(&lineage_at("TX-1234", None, twice)), "made_up");
    assert_eq!(short(&lineage_at("TX-1234", Some(2), twice)), "made_up");
    // What a tool returned after that may repeat it.
    for step in [4, 5, 6] {
        let lineage = lineage_at("TX-1234", Some(step), twice);
        assert_eq!(
            (short(&lineage).as_str(), lineage.candidates[0].step),
            ("not_found", Some(4))
        );
    }
    let once = |agent: &mut Agent| {
        agent.tool("search", json!({"q": "March"}), json!({"id": "TX-1234"}));
        agent.tool("pay", json!({"id": "TX-1234"}), json!("ok"));
        agent.answer("Paid.");
    };
    for step in [2, 3, 4, 5] {
        assert_eq!(
            short(&lineage_at("TX-1234", Some(step), once)),
            "found result#2",
            "{step}"
        );
    }
}

#[test]
fn a_repetition_of_the_model_is_no_source() {
    let read_back = |agent: &mut Agent| {
        agent
            .tool("write_file", json!({"text": "refund ZX-9944"}), json!("written"))
            .tool("read_file", json!({"path": "a.txt"}), json!("refund ZX-9944"))
            .tool("refund", json!({"tx": "ZX-9944"}), json!("ok"));
    };
    let confirmed = |agent: &mut Agent| {
        agent.answer("Is it ZX-9944?").user("Yes, ZX-9944.").tool(
            "refund",
            json!({"tx": "ZX-9944"}),
            json!("ok"),
        );
    };
    for lineage in [
        lineage_at("ZX-9944", Some(6), read_back),
        lineage_at("ZX-9944", None, confirmed),
    ] {
        assert_eq!(short(&lineage), "not_found", "{}", lineage.sentence);
        assert!(!lineage.candidates.is_empty(), "{}", lineage.sentence);
    }
}

#[test]
fn a_text_in_a_prompt_comes_from_its_input() {
    let lineage = lineage_at("ORD-1042", Some(1), |agent| {
        agent.answer("Which one?");
    });
    assert_eq!(short(&lineage), "found user#1", "{}", lineage.sentence);
}

#[test]
fn an_answer_is_a_use_where_no_tool_is_passed_the_value() {
    let lineage = lineage_at("TX-1234", None, |agent| {
        agent
            .tool("search", json!({"q": "March"}), json!({"id": "TX-1234"}))
            .answer("It is TX-1234.");
    });
    assert_eq!(
        lineage.sentence,
        "TX-1234 came from the result of #2 search; answered by #3 gpt-5."
    );
    let lineage = lineage_at("TX-1234", None, |agent| {
        agent
            .tool("search", json!({"q": "March"}), json!({"id": "TX-9"}))
            .answer("It is TX-1234.");
    });
    assert_eq!(short(&lineage), "made_up");
}

#[test]
fn nothing_is_made_up_where_an_input_is_not_whole() {
    for (input, limit) in [
        (
            json!([{"role": "user", "content": "long __TRUNCATED__"}]),
            "the input of #1 was cut at message 1 when it was recorded",
        ),
        (
            json!([{"role": "user", "content": "key __REDACTED__"}]),
            "message 1 of the input of #1 was redacted",
        ),
        (
            json!({"messages": [{"role": "user", "content": "go"}], "tools": [{"name": "pay", "description": "long __TRUNCATED__"}]}),
            "the definition of a tool in the input of #1 was cut or redacted when it was recorded",
        ),
        (
            json!({"messages": [{"role": "user", "content": "go"}], "response_format": {"enum": ["TX-1234"]}}),
            "the input of #1 has it outside its messages",
        ),
        (
            json!({"previous_response_id": "r1", "input": "go on"}),
            "#1 continued a conversation whose beginning is not in its input",
        ),
        (
            json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.test/a.png"}}]}]),
            "message 1 of the input of #1 has an attachment, which is not searched",
        ),
        (Value::Null, "the input of #1 was not recorded"),
    ] {
        let answer = json!({"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "pay", "arguments": r#"{"id": "TX-1234"}"#}}]});
        let (_folder, run) = opened(Prices::default(), || {
            let call = llm_call("gpt-5").response(&json!({"choices": [{"message": answer}]}));
            let call = if input.is_null() {
                call
            } else {
                call.prompt(&input)
            };
            call.record().unwrap();
            tool_call("pay").args(&json!({"id": "TX-1234"})).record().unwrap();
        });
        let lineage = Lineage::of_run(&run, "TX-1234", None).unwrap().unwrap();
        assert_eq!(
            (short(&lineage).as_str(), lineage.limits.as_slice()),
            ("not_found", [limit.to_owned()].as_slice())
        );
        assert!(
            lineage.sentence.contains("was not found verbatim") && lineage.sentence.contains(limit),
            "{}",
            lineage.sentence
        );
    }
}

#[test]
fn what_a_call_was_not_given_is_no_source() {
    // The second agent knows nothing of the first.
    let (_folder, run) = opened(Prices::default(), || {
        Agent::new("First.")
            .user("Look")
            .tool("search", json!({"q": "x"}), json!("TX-1234"));
        Agent::new("Second.")
            .user("Pay")
            .tool("pay", json!({"id": "TX-1234"}), json!("ok"));
    });
    let lineage = Lineage::of_run(&run, "TX-1234", None).unwrap().unwrap();
    assert_eq!(short(&lineage), "not_found");
    assert_eq!(lineage.candidates[0].words, "the result of #2 search");
}

#[test]
fn a_program_without_a_model_passes_results_on() {
    let (_folder, run) = opened(Prices::default(), || {
        tool_call("get").result("TX-1234").record().unwrap();
        tool_call("pay").args(&json!({"id": "TX-1234"})).record().unwrap();
        tool_call("pay").args(&json!({"id": "TX-5678"})).record().unwrap();
    });
    let at = |value: &str| short(&Lineage::of_run(&run, value, None).unwrap().unwrap());
    assert_eq!(
        (at("TX-1234"), at("TX-5678"), at("TX-9")),
        (
            "found result#1".to_owned(),
            "not_found".to_owned(),
            "absent".to_owned()
        )
    );
    assert!(Lineage::of_run(&run, "x", Some(9)).unwrap().is_none());
}

#[test]
fn values_that_stand_everywhere_have_no_source() {
    let lineage = lineage_at("shoes", None, |agent| {
        for number in 0..20 {
            agent.tool("search", json!({"q": number}), json!(format!("shoes {number}")));
        }
        agent.tool("buy", json!({"what": "shoes"}), json!("ok"));
    });
    assert_eq!(
        (short(&lineage).as_str(), lineage.candidates.len()),
        ("common", 12)
    );
    assert_eq!(
        lineage.candidates[0].step,
        Some(41),
        "the nearest first, behind a loop warning: {:?}",
        lineage.candidates
    );
    assert!(lineage.more >= 8, "{}", lineage.more);
}

#[test]
fn hostile_texts_stay_content() {
    for text in crate::testing::HOSTILE_TEXTS {
        let value = format!("{text} TX-1");
        let run = capture(|| tool_call("get").result(&value).record());
        let mut reader = LineageReader::new(&value);
        (0..)
            .zip(&run.records)
            .for_each(|(step, record)| reader.take(step, record, &serde_json::Map::new()));
        let marked = reader.finish(run.meta.trace_id, None).words().marked();
        assert_eq!(
            marked.matches('⟧').count(),
            marked.matches('⟦').count(),
            "{marked}"
        );
        assert!(!marked.contains('\n'), "{marked}");
    }
}
