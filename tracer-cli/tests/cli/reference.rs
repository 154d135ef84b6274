//! The documentation of the command line, completions and manual pages: made from the code, and kept current.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use clap::Command;
use tracer_cli::args;

use crate::sandbox::Sandbox;

/// Heading of the reference in `docs/command-line.md`; everything after it is generated.
const HEADING: &str = "## Reference\n";

/// Width of the help texts, in columns.
const WIDTH: usize = 100;

/// The reference as Markdown: the program, then each command.
fn markdown() -> String {
    let mut program = args::command().term_width(WIDTH);
    program.build();
    let mut page = HEADING.to_owned();
    section(&mut page, "tracer", program.clone());
    subsections(&mut page, "tracer", &program);
    page
}

/// The commands within a command, and those within them.
fn subsections(page: &mut String, above: &str, command: &Command) {
    for command in command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        let title = format!("{above} {}", command.get_name());
        section(page, &title, command.clone().term_width(WIDTH));
        subsections(page, &title, command);
    }
}

fn section(page: &mut String, title: &str, mut command: Command) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    // Writing to a `String` does not fail.
    let _ = write!(
        page,
        "\n### `{title}`\n\n```text\n{}\n```\n",
        lines.join("\n").trim_end()
    );
}

#[test]
fn the_documentation_has_the_reference_of_the_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/command-line.md");
    let page = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let (reported, _) = page.split_once(HEADING).expect("the page has a reference");
    let current = format!("{reported}{}", markdown());
    if std::env::var_os("TRACER_WRITE_REFERENCE").is_some() {
        fs::write(&path, &current).unwrap();
    }
    assert!(
        page == current || std::env::var_os("TRACER_WRITE_REFERENCE").is_some(),
        "docs/command-line.md is not current; write it with TRACER_WRITE_REFERENCE=1 cargo test -p tracer-cli reference"
    );
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    let sandbox = Sandbox::without_data_directory();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let outcome = sandbox.tracer(&["completions", shell]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["export", "validate-trace", "dry-run", "older-than"] {
            assert!(outcome.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    sandbox
        .tracer(&["completions", "cmd"])
        .fails(2, &["invalid value"]);
}

#[test]
fn each_command_has_a_manual_page() {
    let sandbox = Sandbox::without_data_directory();
    let outcome = sandbox.tracer(&["man", "man/man1"]);
    assert_eq!(
        (outcome.code, outcome.stdout.as_str()),
        (Some(0), ""),
        "{outcome:?}"
    );
    for page in ["tracer.1", "tracer-export.1", "tracer-prune.1"] {
        let text = fs::read_to_string(sandbox.path("man/man1").join(page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{page}");
    }
    fs::write(sandbox.path("file"), "").unwrap();
    sandbox
        .tracer(&["man", "file"])
        .fails(2, &["error: failed to write to `file`"]);
}

/// The commands that do something, with their help.
fn leaves(command: &Command, found: &mut Vec<(String, String)>) {
    let mut subcommands = command
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
        .peekable();
    if subcommands.peek().is_none() {
        let help = command.clone().render_long_help().to_string();
        found.push((command.get_name().to_owned(), help));
    }
    for subcommand in subcommands {
        leaves(subcommand, found);
    }
}

#[test]
fn the_help_of_every_command_has_an_example() {
    let mut program = args::command();
    program.build();
    let mut commands = Vec::new();
    leaves(&program, &mut commands);
    assert!(commands.len() > 25, "{}", commands.len());
    let without: Vec<_> = commands
        .into_iter()
        .filter(|(_, help)| !help.contains("Example: "))
        .map(|(name, _)| name)
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

#[test]
fn the_help_of_a_query_names_every_field() {
    let mut program = args::command();
    program.build();
    let list = program
        .find_subcommand("list")
        .unwrap()
        .clone()
        .render_long_help()
        .to_string();
    let texts = tracer_catalog::query::TextField::ALL
        .into_iter()
        .map(tracer_catalog::query::TextField::as_str);
    let numbers = tracer_catalog::query::NumberField::ALL
        .into_iter()
        .map(tracer_catalog::query::NumberField::as_str);
    let words: Vec<&str> = list
        .split_whitespace()
        .map(|word| word.trim_end_matches([';', '.']))
        .collect();
    for field in texts.chain(numbers) {
        assert!(words.contains(&field), "{field}: {list}");
    }
}
