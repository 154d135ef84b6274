//! False hits: code, logs, prose, identifiers and hashes in bulk lose next to nothing.

use super::fake_secrets::Dice;
use super::redactor;

/// How much text of each of the four kinds is made by default, in bytes; one hit in 100 KB is allowed.
/// `TRACER_TEST_CORPUS_BYTES` says otherwise.
const BYTES: usize = 250_000;

fn bytes_of_each_kind() -> usize {
    std::env::var("TRACER_TEST_CORPUS_BYTES")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(BYTES)
}

const WORDS: &[&str] = &[
    "agent",
    "token",
    "key",
    "the",
    "model",
    "password",
    "answer",
    "secret",
    "budget",
    "request",
    "of",
    "cookie",
    "a",
    "index",
    "user",
    "bearer",
    "basic",
    "value",
    "authorization",
    "session",
    "is",
    "and",
    "cache",
    "file",
    "to",
    "for",
    "primary",
    "task",
    "disk",
    "risk",
    "desk",
    "public",
    "result",
    "with",
    "message",
    "prompt",
    "tool",
    "monkey",
    "in",
    "private",
    "begin",
    "end",
    "error",
    "read",
    "write",
    "line",
    "header",
    "hash",
    "state",
    "count",
    "api",
    "config",
    "auth",
    "pass",
    "passphrase",
    "credentials",
    "jwt",
    "dsn",
    "access",
    "signing",
    "encryption",
    "name",
    "login",
    "machine",
    "identified",
    "by",
    "author",
    "passage",
];

fn words(dice: &mut Dice, count: usize, between: &str) -> String {
    (0..count)
        .map(|_| dice.pick(WORDS))
        .collect::<Vec<_>>()
        .join(between)
}

fn hex(dice: &mut Dice, length: usize) -> String {
    dice.of("0123456789abcdef", length)
}

fn uuid(dice: &mut Dice) -> String {
    let parts = [8, 4, 4, 4, 12].map(|length| hex(dice, length));
    parts.join("-")
}

fn type_name(dice: &mut Dice) -> String {
    dice.pick(&[
        "String",
        "Token",
        "u64",
        "Option<String>",
        "&str",
        "Vec<Key>",
        "SecretKey",
        "[u8; 32]",
    ])
    .to_owned()
}

fn prose(dice: &mut Dice) -> String {
    let sentence = words(dice, 9, " ");
    let end = dice.pick(&[". ", ": ", "; ", "?\n", " — ", "!\n", ".\n\n"]);
    format!("{sentence}{end}")
}

fn code(dice: &mut Dice) -> String {
    let (name, other) = (words(dice, 2, "_"), words(dice, 2, "_"));
    let (kind, number) = (type_name(dice), dice.below(5000));
    match dice.below(12) {
        0 => format!("    let {name} = self.{other}.next();\n"),
        1 => format!("    let {name}: {kind} = {other}({number});\n"),
        2 => format!("pub fn {name}({other}: {kind}, limit: usize) -> {kind} {{\n"),
        3 => format!("    pub {name}: {kind},\n"),
        4 => format!("    if {name} == \"{other}\" && {other} != {number} {{ return None; }}\n"),
        5 => format!("{}_LIMIT={number}\n", name.to_uppercase()),
        6 => format!("    {name} = args.get(\"{other}\", default={number})\n"),
        7 => format!("    \"{name}\": {number}, \"{other}\": true,\n"),
        8 => format!("use crate::{}::{{{}, {}}};\n", words(dice, 3, "::"), name, other),
        9 => format!(
            "    {name}: {other}::{kind}::default(), // {}\n",
            words(dice, 5, " ")
        ),
        10 if number % 2 == 0 => {
            format!("    {name}: Some({other}(\"{kind}\")), {{\"name\": \"{name}\", \"value\": {number}}}\n")
        }
        10 => format!("    match {name} {{ Token::{number} => {other}[{number}], _ => \"{other}\" }}\n"),
        _ => format!(
            "<a href=\"https://example.org/{name}?{other}_limit={number}&page=2#{other}\">{other}</a>\n"
        ),
    }
}

fn log(dice: &mut Dice) -> String {
    let (name, what, number) = (words(dice, 2, "."), words(dice, 4, " "), dice.below(100_000));
    let id = uuid(dice);
    let digest = hex(dice, 40);
    match dice.below(6) {
        0 => format!("2026-11-21T03:47:22.{number:06}Z INFO {name}: {what} id={id} took={number}ms\n"),
        1 => format!(
            "[{number}] {name} DEBUG {what} commit={digest} host=10.0.0.{}\n",
            dice.below(255)
        ),
        2 => {
            format!("{{\"level\":\"warn\",\"target\":\"{name}\",\"message\":\"{what}\",\"span\":\"{id}\"}}\n")
        }
        3 => format!("tokens={number} prompt_tokens={number} token_count: {number} {what}\n"),
        4 => format!("GET https://example.org/{name}/{id}?limit={number}&sort=name 200 {number}\n"),
        _ => format!("error: {what} at src/{name}.rs:{number}:12 ({digest})\n"),
    }
}

fn identities(dice: &mut Dice) -> String {
    match dice.below(5) {
        0 => format!("{}\n", uuid(dice)),
        1 => format!("{}  {}.rs\n", hex(dice, 64), words(dice, 1, "")),
        2 => format!("index {}..{} 100644\n", hex(dice, 10), hex(dice, 10)),
        3 => format!(
            "sha256-{}=\n",
            dice.of(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
                43
            )
        ),
        _ => format!(
            "checksum = \"{}\"\nname = \"{}\"\n",
            hex(dice, 64),
            words(dice, 2, "-")
        ),
    }
}

/// Makes a piece of text of one kind.
type Maker = fn(&mut Dice) -> String;

#[test]
fn harmless_text_in_bulk_loses_less_than_one_place_in_100_kb() {
    let redactor = redactor();
    let kinds: [(&str, Maker); 4] = [
        ("prose", prose),
        ("code", code),
        ("log", log),
        ("identities", identities),
    ];
    for (kind, make) in kinds {
        let mut dice = Dice::new(7);
        let mut hits = Vec::new();
        let mut bytes = 0;
        while bytes < bytes_of_each_kind() {
            let piece: String = (0..40).map(|_| make(&mut dice)).collect();
            bytes += piece.len();
            for line in redactor
                .text(&piece)
                .lines()
                .filter(|line| line.contains("__REDACTED__"))
            {
                hits.push(line.to_owned());
            }
        }
        assert!(
            hits.len() * 100_000 < bytes,
            "{kind}: {} hits\n{}",
            hits.len(),
            hits.join("\n")
        );
    }
}
