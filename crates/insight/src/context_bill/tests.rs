//! Bills of runs whose figures are worked out by hand.

use serde_json::{Value, json};
use tracer_sdk::format::{Usage, Usd};
use tracer_sdk::settings::{SettingsFile, Sources, read_prices};
use tracer_sdk::{llm_call, tool_call};

use super::*;
use crate::testing::opened;

/// Dollars for a million tokens: 3 fresh, 0.3 cached, 3.75 written.
fn prices() -> Prices {
    let text =
        "[prices.local.known]\ninput = 3\ncache_read = 0.3\ncache_write = 3.75\noutput = 15".to_owned();
    let user = Some(SettingsFile {
        path: "config.toml".into(),
        text: Ok(text),
    });
    let (prices, problems) = read_prices(&Sources {
        user,
        ..Sources::default()
    });
    assert!(problems.is_empty(), "{problems:?}");
    prices
}

fn bill(work: impl FnOnce()) -> ContextBill {
    let (_folder, run) = opened(prices(), work);
    let bill = ContextBill::of_run(&run).unwrap();
    let head = run.totals();
    assert_eq!(
        head.tokens.prompt_tokens.unwrap_or(0),
        bill.tokens.all,
        "the sum is what the run reports"
    );
    sums_are_exact(&bill);
    bill
}

fn sums_are_exact(bill: &ContextBill) {
    let mut tokens = InputTokens::default();
    let mut usd = Usd::ZERO;
    for block in &bill.blocks {
        tokens.add(block.tokens);
        usd = usd.saturating_add(block.usd.unwrap_or_default());
    }
    assert_eq!((tokens, usd), (bill.tokens, bill.cost.known_usd));
}

fn call(prompt: &Value, usage: Usage) {
    llm_call("known")
        .provider("local")
        .prompt(prompt)
        .response("Well.")
        .usage(usage)
        .record()
        .unwrap();
}

fn find<'a>(bill: &'a ContextBill, label: &str) -> &'a BilledBlock {
    let found = bill.blocks.iter().find(|block| block.name.starts_with(label));
    found.unwrap_or_else(|| panic!("no {label}: {:#?}", bill.blocks))
}

/// A text that makes a block of 500 bytes with its frame, `before` included.
fn text(before: usize, words: &str) -> String {
    format!("{words:.<width$}", width = 484 - before)
}

/// Sixty calls of an agent that reads a file after each: all blocks are equally long, a hundred tokens each.
fn sixty_calls() {
    let definition = json!({"name": "read_file", "description": text(r#"{"name":"read_file","description":"","parameters":null}"#.len(), "Reads"), "parameters": null});
    let mut messages = vec![
        json!({"role": "system", "content": text("system.".len(), "Be brief")}),
        json!({"role": "user", "content": text("user.".len(), "Mend it")}),
    ];
    let mut blocks_before = 0;
    for number in 1..=60_u64 {
        let blocks = messages.len() as u64 + 1;
        // The cache holds what the call before sent, but for its last block; this call writes all but its own last.
        let cached = if number == 1 { 0 } else { 100 * (blocks_before - 1) };
        let usage = Usage::new(100 * blocks, 10)
            .cache_read(cached)
            .cache_write(100 * (blocks - 1) - cached);
        call(&json!({"tools": [definition], "messages": messages}), usage);
        blocks_before = blocks;
        let path = text(
            r#"assistant.read_file {"path":""}"#.len(),
            &format!("file_{number}"),
        );
        let id = format!("call_{number}");
        messages.push(json!({"role": "assistant", "tool_calls": [{"id": id, "function": {"name": "read_file", "arguments": json!({"path": path}).to_string()}}]}));
        messages.push(
            json!({"role": "tool", "tool_call_id": id, "content": text(0, &format!("content {number}"))}),
        );
    }
}

#[test]
fn sixty_calls_with_caching_cost_what_was_reported() {
    let bill = bill(sixty_calls);
    // 3, 5, 7 … 121 blocks.
    let all: u64 = (1..=60).map(|number| 100 * (2 * number + 1)).sum();
    assert_eq!(all, 372_000);
    // The first call caches nothing and writes 200; the others write 200 and leave 100 fresh.
    let fresh = 60 * 100;
    let written = 60 * 200;
    assert_eq!(
        bill.tokens,
        InputTokens {
            all,
            cached: all - fresh - written,
            written
        }
    );
    // 354,000 × 0.3 + 12,000 × 3.75 + 6,000 × 3 = 169,200 millionths of a dollar.
    assert_eq!(bill.cost.usd, Some("0.1692".parse().unwrap()));
    assert_eq!(
        bill.summary,
        "60 calls sent 372,000 input tokens (354,000 cached, 12,000 written to the cache): $0.17"
    );

    let system = find(&bill, "system: Be brief");
    // Written once, and cached 59 times: 375 + 59 × 30 millionths.
    assert_eq!(
        (system.times, system.usd),
        (60, Some("0.002145".parse().unwrap()))
    );
    assert_eq!(
        system.tokens,
        InputTokens {
            all: 6_000,
            cached: 5_900,
            written: 100
        }
    );
    let definition = find(&bill, "definition of read_file");
    assert_eq!(
        (definition.kind, definition.times),
        (BlockKind::ToolDefinition, 60)
    );
    assert_eq!(
        definition.sentence,
        "definition of read_file (100 tokens) was sent 60 times: $0.0021"
    );
    // Read before call 2: last there, written by call 3, and cached in the 57 calls after that.
    let first = find(&bill, "read_file file_1.");
    assert_eq!(
        (first.kind, first.times, first.first_step),
        (BlockKind::ToolResult, 59, 2)
    );
    assert_eq!(
        first.tokens,
        InputTokens {
            all: 5_900,
            cached: 5_700,
            written: 100
        }
    );
    assert_eq!(first.usd, Some("0.002385".parse().unwrap()));
    let costs: Vec<_> = bill.blocks.iter().map(|block| block.usd).collect();
    assert!(costs.is_sorted_by(|one, next| one >= next), "the costliest first");
}

#[test]
fn shares_that_are_no_whole_tokens_add_up() {
    let bill = bill(|| {
        let part = |text: &str| json!({"role": "user", "content": text});
        call(&json!([part("a"), part("bb"), part("ccc")]), Usage::new(100, 0));
        call(
            &json!([part("a"), part("bb"), part("ccc")]),
            Usage::new(2, 0).cache_read(1),
        );
        call(&json!([part("a")]), Usage::new(1, 0));
    });
    assert_eq!(find(&bill, "user: a").times, 3);
    assert_eq!(bill.tokens.all, 103);
}

#[test]
fn results_have_the_name_of_their_call() {
    let bill = bill(|| {
        let call_of = |path: &str| json!({"type": "tool_use", "id": path, "name": "read_file", "input": {"path": path}});
        let result =
            |path: &str| json!({"type": "tool_result", "tool_use_id": path, "content": format!("in {path}")});
        let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}});
        call(
            &json!({"messages": [
                {"role": "user", "content": [{"type": "text", "text": "Look"}, image]},
                {"role": "assistant", "content": [call_of("a.rs"), call_of("b.rs")]},
                {"role": "user", "content": [result("b.rs"), result("a.rs")]},
            ]}),
            Usage::new(900, 5),
        );
    });
    for label in ["read_file a.rs", "read_file b.rs"] {
        assert_eq!(find(&bill, label).kind, BlockKind::ToolResult);
    }
    assert_eq!(
        find(&bill, "assistant: calls read_file a.rs").kind,
        BlockKind::Message
    );
    assert_eq!(find(&bill, "image, image/png").kind, BlockKind::Media);
}

#[test]
fn what_was_not_recorded_is_said_and_not_guessed() {
    let bill = bill(|| {
        llm_call("known")
            .provider("local")
            .usage(Usage::new(700, 1))
            .record()
            .unwrap();
        llm_call("known")
            .provider("local")
            .prompt("Hello")
            .record()
            .unwrap();
        // A conversation that the provider has: 20 bytes and 4,000 tokens.
        call(
            &json!({"previous_response_id": "r1", "input": "Go on, please, do"}),
            Usage::new(4_000, 1),
        );
        tool_call("search").record().unwrap();
    });
    let missing: Vec<_> = bill
        .blocks
        .iter()
        .filter(|block| block.kind == BlockKind::NotRecorded)
        .collect();
    assert_eq!(missing.len(), 1);
    assert_eq!(
        missing[0].sentence,
        format!(
            "input that was not recorded: {} tokens in 2 calls: $0.014",
            units(missing[0].tokens.all)
        )
    );
    assert!(missing[0].tokens.all > 4_600, "{}", missing[0].tokens.all);
    assert!(find(&bill, "user: Go on").tokens.all < 20);
    let notes = bill.notes.join("; ");
    for said in [
        "1 call reported no input tokens",
        "1 call recorded without content",
        "1 call recorded in part",
    ] {
        assert!(notes.contains(said), "{notes}");
    }
}

fn units(tokens: u64) -> String {
    crate::units::grouped(tokens)
}

#[test]
fn a_model_without_a_price_costs_tokens_alone() {
    let unknown = || {
        llm_call("nobody's")
            .provider("local")
            .prompt("Hello")
            .usage(Usage::new(100, 1))
            .record()
            .unwrap();
    };
    let all = bill(unknown);
    assert_eq!(
        (all.blocks[0].usd, all.cost.usd, all.tokens.all),
        (None, None, 100)
    );
    assert_eq!(all.blocks[0].sentence, "user: Hello (100 tokens) was sent once");
    assert!(
        all.notes
            .contains(&"calls without a cost: no price of this model".to_owned()),
        "{:?}",
        all.notes
    );
    let some = bill(|| {
        unknown();
        call(&json!("Hello"), Usage::new(100, 1));
    });
    assert_eq!(
        some.blocks[0].sentence,
        "user: Hello (100 tokens) was sent 2 times: ≥ $0.0003"
    );
    assert_eq!(some.cost.usd, None);
}
