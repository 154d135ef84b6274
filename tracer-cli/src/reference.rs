//! Reference of the command line, generated from `--help`.

use std::fmt::Write;

use clap::Command;

use crate::args;

/// Heading of the reference in `docs/command-line.md`; everything after it is generated.
pub const HEADING: &str = "## Reference\n";

/// Width of the help texts, in columns.
const WIDTH: usize = 100;

/// The reference as Markdown: the program, then each command.
pub fn markdown() -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
