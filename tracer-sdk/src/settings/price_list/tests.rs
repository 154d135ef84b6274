//! Which files of prices are taken, and what is wrong with the others.

use super::*;

fn read(text: &str) -> (Vec<OwnPrice>, Vec<String>) {
    let mut problems = Vec::new();
    let prices = read_file(Path::new("c.toml"), text, &mut problems);
    (prices, problems.iter().map(ToString::to_string).collect())
}

/// The problem of a file that has one, and no price.
fn problem(text: &str) -> String {
    let (prices, problems) = read(text);
    assert_eq!((prices.len(), problems.len()), (0, 1), "{text}: {problems:?}");
    problems.concat()
}

#[test]
fn a_price_has_its_place_and_its_days() {
    let (prices, problems) = read(
        "redact = true\n\
         [[prices.OpenAI.\"GPT-9\"]]\nuntil = 2026-12-01\ninput = 1\noutput = 2.50\n\
         [[prices.OpenAI.\"GPT-9\"]]\nfrom = 2026-12-01\ninput = 0\noutput = 0.0\ncurrency = \"USD\"\n\
         [prices.local.\"llama*\"]\ninput = 1\noutput = 2\ncache_read = 3\ncache_write = 4\nreasoning = 5\n",
    );
    assert_eq!(problems, [""; 0]);
    let shown: Vec<_> = prices
        .iter()
        .map(|price| (&*price.provider, &*price.model, price.line))
        .collect();
    assert_eq!(
        shown,
        [
            ("openai", "gpt-9", 2),
            ("openai", "gpt-9", 6),
            ("local", "llama*", 11)
        ]
    );
    assert_eq!(prices[2].rates.iter().count(), 5);
    let day = |text: &str| text.parse::<Day>().unwrap();
    let is_first = |text| prices[0].is_for("openai", "gpt-9", day(text));
    assert!(is_first("2026-11-30") && !is_first("2026-12-01"));
    assert!(prices[1].is_for("openai", "gpt-9", day("2026-12-01")));
    assert!(prices[2].is_for("local", "llama-4", day("2026-12-01")));
    assert!(!prices[2].is_for("local", "my-llama", day("2026-12-01")));
}

#[test]
fn prices_that_overlap_are_refused() {
    for (first, second) in [
        ("", ""),
        ("until = 2026-12-02", "from = 2026-12-01"),
        ("from = 2026-12-01", "from = 2026-12-05"),
        ("from = 2026-12-01\nuntil = 2027-01-01", ""),
    ] {
        let text = format!(
            "[[prices.a.m]]\ninput = 1\noutput = 1\n{first}\n[[prices.a.m]]\ninput = 1\noutput = 1\n{second}\n"
        );
        let (prices, problems) = read(&text);
        assert_eq!(prices.len(), 1, "the first one stays");
        assert!(
            problems[0].ends_with(": prices.a.m overlaps with the price of the same model in line 1"),
            "{problems:?}"
        );
    }
    let (prices, problems) =
        read("[prices.a.m]\ninput = 1\noutput = 1\n[prices.a.M]\ninput = 1\noutput = 1\n");
    assert_eq!(
        (prices.len(), problems.len()),
        (1, 1),
        "names differ in case alone"
    );
}

#[test]
fn an_amount_is_dollars_zero_or_more() {
    for amount in [
        "-1",
        "-0.5",
        "nan",
        "inf",
        "-inf",
        "1e3",
        "0x10",
        "\"1.25\"",
        "\"1 EUR\"",
        "true",
        "1000001",
        "0.1234567890123456789",
    ] {
        assert_eq!(
            problem(&format!("[prices.a.m]\noutput = 1\ninput = {amount}\n")),
            format!("c.toml:3:1: prices.a.m {PRICE}"),
            "{amount}"
        );
    }
}

#[test]
fn another_currency_is_refused() {
    for currency in ["\"EUR\"", "\"usd\"", "\"\"", "1"] {
        assert_eq!(
            problem(&format!(
                "[prices.a.m]\ninput = 1\noutput = 1\ncurrency = {currency}\n"
            )),
            format!("c.toml:4:1: prices.a.m {PRICE}"),
        );
    }
}

#[test]
fn odd_names_are_refused() {
    let price = "input = 1\noutput = 1\n";
    for name in [
        "\"\"",
        "\" a\"",
        "\"a\\n\"",
        "\"a\\u0007\"",
        "\"a/b\"",
        "\"a*\"",
        &format!("\"{}\"", "a".repeat(201)),
    ] {
        let problem = problem(&format!("[prices.{name}.m]\n{price}"));
        assert!(
            problem.contains("must be the name of a provider, such as openai"),
            "{problem}"
        );
        assert!(!problem.contains(['\n', '\u{7}']));
    }
    for name in [
        "\"\"",
        "\"a \"",
        "\"a\\n\"",
        "\"*a\"",
        "\"a*b\"",
        "\"a**\"",
        &format!("\"{}\"", "a".repeat(201)),
    ] {
        let problem = problem(&format!("[prices.a.{name}]\n{price}"));
        assert!(problem.contains("must be the name of a model"), "{problem}");
    }
}

#[test]
fn what_is_missing_or_too_much_is_refused() {
    for (text, expected) in [
        ("prices = 3", "c.toml:1:1: prices must be a table of providers"),
        (
            "[prices]\nopenai = 3",
            "c.toml:2:1: prices.openai must be the name of a provider, such as openai, and a table of models",
        ),
    ] {
        assert_eq!(problem(text), expected);
    }
    for (text, place) in [
        ("[prices.openai]\ngpt = 3", "2:1"),
        ("[prices.openai]\ngpt = [3]", "2:8"),
        ("[prices.openai]\ngpt = []", "2:1"),
        ("[prices.openai.gpt]\ninput = 1", "1:16"),
        (
            "[prices.openai.gpt]\ninput = 1\noutput = 1\nfrom = 2026-02-01\nuntil = 2026-02-01",
            "1:16",
        ),
        (
            "[prices.openai.gpt]\ninput = 1\noutput = 1\nfrom = 2026-02-01T00:00:00Z",
            "4:1",
        ),
        ("[prices.openai.gpt]\ninput = 1\noutput = 1\naudio = 1", "4:1"),
    ] {
        assert_eq!(
            problem(text),
            format!("c.toml:{place}: prices.openai.gpt {PRICE}")
        );
    }
    // A name with a dot, without quotes.
    assert!(
        problem("[prices.openai.gpt-5.2]\ninput = 1\noutput = 1\n").contains("prices.openai.gpt-5 must have")
    );
    assert_eq!(read("not toml = = 1").1, [""; 0], "the settings report it");
}
