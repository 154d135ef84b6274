//! Costs against those that the source package computes, and whose price is meant by a name.

use std::path::Path;

use serde_json::Value;

use super::*;
use crate::settings::{SettingsFile, Sources, read_prices};
use tracer_format::{Timestamp, Usage, Usd};

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

const NOW: &str = "2026-11-23T12:00:00Z";

fn own(project: &str, user: &str) -> Prices {
    let file = |path: &str, text: &str| {
        Some(SettingsFile {
            path: path.into(),
            text: Ok(text.to_owned()),
        })
    };
    let sources = Sources {
        project: file("project.toml", project),
        user: file("user.toml", user),
        ..Sources::default()
    };
    let (prices, problems) = read_prices(&sources);
    assert_eq!(problems, []);
    prices
}

/// `tests/prices/make_table.py` writes what the package's own `calc_price` says.
#[test]
fn costs_are_those_of_the_source_package() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data/prices/costs.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let prices = Prices::default();
    let mut compared = 0;
    for line in text.lines() {
        let case: Vec<Value> = serde_json::from_str(line).unwrap();
        let [
            provider,
            model,
            time,
            input,
            output,
            read,
            written,
            reasoning,
            expected,
            others @ ..,
        ] = case.as_slice()
        else {
            panic!("{line}")
        };
        let mut usage = Usage::new(input.as_u64().unwrap(), output.as_u64().unwrap());
        usage.cache_read_tokens = read.as_u64();
        usage.cache_write_tokens = written.as_u64();
        usage.reasoning_tokens = reasoning.as_u64();
        for (name, count) in others.iter().flat_map(|others| others.as_object().unwrap()) {
            let place = match name.as_str() {
                "cache_write_1h_tokens" => &mut usage.cache_write_1h_tokens,
                "input_audio_tokens" => &mut usage.input_audio_tokens,
                "cache_read_audio_tokens" => &mut usage.cache_read_audio_tokens,
                "output_audio_tokens" => &mut usage.output_audio_tokens,
                "web_searches" => &mut usage.web_searches,
                name => panic!("{name}"),
            };
            *place = count.as_u64();
        }
        if usage.input_audio_tokens.is_some() {
            // A provider that says which of the tokens it had cached are sound.
            usage.cache_read_audio_tokens.get_or_insert(0);
        }
        let provider = provider.as_str().unwrap_or_default();
        let time = at(time.as_str().unwrap());
        let cost = prices
            .call_cost(provider, model.as_str().unwrap(), None, &usage, Some(time))
            .usd();
        match (expected.as_str().unwrap(), cost) {
            ("unknown", Err(NoPrice::UnknownProvider | NoPrice::UnknownModel))
            | ("unpriced", Err(NoPrice::NoRate))
            | ("contradictory", Err(NoPrice::ContradictoryUsage)) => {}
            // The package does not know that a provider's name may stand before that of its model.
            ("unknown", Ok(_)) if model.as_str().unwrap().contains('/') => {}
            (expected, Ok(cost)) => {
                // The package computes with 28 digits.
                let (cost, expected) = (cost.to_decimal(), expected.parse::<Usd>().expect(line));
                let exact: Usd = cost.parse().unwrap();
                let difference = exact
                    .saturating_sub(expected)
                    .saturating_add(expected.saturating_sub(exact));
                assert!(
                    difference.dollars() <= expected.dollars() * 1e-25,
                    "{line}: {cost}"
                );
                compared += 1;
            }
            (_, cost) => panic!("{line}: {cost:?}"),
        }
    }
    assert!(compared > 5_000, "{compared}");
}

#[test]
fn the_first_named_provider_sells_the_model() {
    let prices = Prices::default();
    for (provider, model, expected) in [
        ("openai", "gpt-4o", Ok("openai gpt-4o")),
        (" OpenAI ", "GPT-4o", Ok("openai gpt-4o")),
        ("azure.ai.openai", "gpt-4o", Ok("azure gpt-4o")),
        (
            "aws.bedrock",
            "anthropic.claude-3-haiku-20240307-v1:0",
            Ok("aws regional.anthropic.claude-3-haiku-20240307-v1:0"),
        ),
        ("x_ai", "grok-4.3", Ok("x-ai grok-4.3")),
        ("xai.chat", "grok-4.3", Ok("x-ai grok-4.3")),
        ("gcp.gen_ai", "gemini-2.5-pro", Ok("google gemini-2.5-pro")),
        ("google", "models/gemini-2.5-pro", Ok("google gemini-2.5-pro")),
        ("openai", "openai/gpt-4o", Ok("openai gpt-4o")),
        ("openai", "anthropic/claude-opus-4-5", Err(NoPrice::UnknownModel)),
        (
            "litellm",
            "anthropic/claude-opus-4-5",
            Ok("anthropic claude-opus-4-5"),
        ),
        (
            "unknown",
            "openrouter/anthropic/claude-opus-4.5",
            Ok("openrouter anthropic/claude-opus-4.5"),
        ),
        ("", "anthropic/claude-opus-4-5", Ok("anthropic claude-opus-4-5")),
        ("", "anthropic/gpt-4o", Err(NoPrice::UnknownModel)),
        ("", "gpt-4o", Ok("openai gpt-4o")),
        ("", "my-own", Err(NoPrice::UnknownModel)),
        ("ollama", "gpt-4o", Err(NoPrice::UnknownProvider)),
        ("openai", "", Err(NoPrice::NoModel)),
        ("openai", "  ", Err(NoPrice::NoModel)),
    ] {
        let found = prices.find(provider, model, at(NOW));
        let found = found.map(|price| format!("{} {}", price.provider(), price.model()));
        assert_eq!(
            found.as_deref().map_err(|error| *error),
            expected,
            "{provider} {model}"
        );
    }
}

#[test]
fn hostile_names_are_unknown_and_quick() {
    let prices = Prices::default();
    for name in [
        "a".repeat(1_000_000),
        "/".repeat(300),
        "-20251211".repeat(20),
        "\0\u{7}é".into(),
        "-20259999".into(),
    ] {
        assert!(prices.find("openai", &name, at(NOW)).is_err());
        assert!(prices.find(&name, "gpt-4o", at(NOW)).is_err());
        assert!(prices.find("", &name, at(NOW)).is_err());
    }
}

#[test]
fn own_prices_go_before_the_releases() {
    let prices = own(
        "[prices.openai.gpt-4o]\ninput = 1\noutput = 1\nuntil = 2026-12-01\n",
        "[prices.openai.gpt-4o]\ninput = 2\noutput = 2\n\
         [prices.openai.\"gpt-4o*\"]\ninput = 3\noutput = 3\n\
         [prices.openai.\"gpt-*\"]\ninput = 4\noutput = 4\n\
         [prices.ollama.\"llama4\"]\ninput = 0\noutput = 0\n\
         [prices.azure_openai.\"mine\"]\ninput = 5\noutput = 5\n",
    );
    let cost = |provider: &str, model: &str, time: &str| {
        let cost = prices
            .call_cost(provider, model, None, &Usage::new(1_000_000, 0), Some(at(time)))
            .usd();
        cost.map(Usd::to_decimal)
    };
    assert_eq!(
        cost("openai", "gpt-4o", NOW).unwrap(),
        "1",
        "the project's goes first"
    );
    assert_eq!(
        cost("openai", "gpt-4o", "2026-12-01T00:00:00Z").unwrap(),
        "2",
        "the user's after its end"
    );
    assert_eq!(
        cost("openai", "gpt-4o-2024-08-06", NOW).unwrap(),
        "3",
        "the longer beginning"
    );
    assert_eq!(cost("", "openai/gpt-99", NOW).unwrap(), "4");
    assert_eq!(
        cost("ollama", "llama4", NOW).unwrap(),
        "0",
        "a price of zero is a price"
    );
    assert_eq!(cost("", "ollama/llama4", NOW).unwrap(), "0");
    assert_eq!(cost("ollama", "gpt-4o", NOW), Err(NoPrice::UnknownModel));
    assert_eq!(
        cost("azure.ai.openai", "mine", NOW).unwrap(),
        "5",
        "one provider by all its names"
    );
    let found = prices.find("openai", "gpt-4o", at(NOW)).unwrap();
    let source = PriceSource::Settings {
        path: "project.toml".into(),
        line: 1,
    };
    assert_eq!(
        (found.source(), found.until().unwrap().to_string().as_str()),
        (source, "2026-12-01")
    );
}

#[test]
fn the_answering_model_decides_where_it_has_a_price() {
    let prices = Prices::default();
    let cost = |model: &str, answered: Option<&str>| {
        let usage = Usage::new(1_000_000, 0);
        prices
            .call_cost("openai", model, answered, &usage, Some(at(NOW)))
            .usd()
            .map(Usd::to_decimal)
    };
    assert_eq!(cost("gpt-4o", Some("gpt-4o-mini-2024-07-18")).unwrap(), "0.15");
    assert_eq!(cost("gpt-4o", Some("something-new")).unwrap(), "2.5");
    assert_eq!(cost("my-alias", Some("gpt-4o")).unwrap(), "2.5");
    assert_eq!(cost("my-alias", None), Err(NoPrice::UnknownModel));
}
