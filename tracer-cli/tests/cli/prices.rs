//! `tracer prices`: what a model costs, where the price is from, and which prices of one's own are refused.

use std::fs;

use crate::sandbox::{Outcome, Sandbox};

/// The outcome of `tracer prices` where the project has this settings file.
fn prices_with(settings: &str, arguments: &[&str]) -> Outcome {
    let sandbox = Sandbox::new();
    let project = sandbox.path("project");
    fs::create_dir_all(project.join(".tracer")).unwrap();
    fs::write(project.join(".tracer/config.toml"), settings).unwrap();
    let mut command = sandbox.command(&["prices"]);
    command.args(arguments).current_dir(project);
    command.output().unwrap().into()
}

#[test]
fn a_models_price_names_its_source() {
    let outcome = Sandbox::new().tracer(&["prices", "gemini-2.5-pro"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let (price, source) = outcome.stdout.split_once("  from genai-prices ").unwrap();
    assert_eq!(
        price,
        "google/gemini-2.5-pro\n  \
         input        $1.25 per million tokens\n               \
         $2.5 per million tokens above 200000 input tokens\n  \
         cache_read   $0.125 per million tokens\n               \
         $0.25 per million tokens above 200000 input tokens\n  \
         output       $10 per million tokens\n               \
         $15 per million tokens above 200000 input tokens\n  \
         web_searches $35 per thousand searches\n"
    );
    assert!(source.starts_with("0."), "its version and age: {source}");
}

#[test]
fn without_a_model_the_sources_are_shown() {
    let outcome = prices_with(
        "[prices.local.\"llama4*\"]\ninput = 0\noutput = 0.5\nuntil = 2027-01-01\n",
        &[],
    );
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.stdout.starts_with("genai-prices 0."),
        "{}",
        outcome.stdout
    );
    let own = "local/llama4*  $0 in, $0.5 out, until 2027-01-01  ";
    assert!(outcome.stdout.contains(own), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("config.toml:1\n"), "{}", outcome.stdout);
}

#[test]
fn an_unknown_model_has_no_price() {
    let sandbox = Sandbox::new();
    for model in ["my-own-model", "ollama/gpt-4o", "", "a\u{1b}[31m"] {
        let outcome = sandbox.tracer(&["prices", model]);
        outcome.fails(2, &["model", "PROVIDER/MODEL", "[prices]"]);
        assert!(!outcome.stderr.contains('\u{1b}'));
    }
}

#[test]
fn invalid_prices_stop_the_command() {
    for (settings, said) in [
        (
            "[prices.a.m]\ninput = -1\noutput = 1\n",
            "config.toml:2:1: prices.a.m must have input and output in dollars per million tokens",
        ),
        (
            "[prices.a.m]\ninput = 1\noutput = 1\ncurrency = \"EUR\"\n",
            "config.toml:4:1: prices.a.m must have",
        ),
        (
            "[[prices.a.m]]\ninput = 1\noutput = 1\n[[prices.a.m]]\ninput = 2\noutput = 2\n",
            "config.toml:4:1: prices.a.m overlaps with the price of the same model in line 1",
        ),
        ("prices = 3", "prices must be a table of providers"),
        ("[prices", "not valid TOML"),
    ] {
        prices_with(settings, &[]).fails(2, &["a setting is invalid", said]);
    }
}
