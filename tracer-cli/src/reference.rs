//! Reference of the command line, generated from `--help`.

use std::fmt::Write;

use clap::{Command, CommandFactory};

use crate::args::Cli;

/// Heading of the reference in `docs/command-line.md`; everything after it is generated.
pub const HEADING: &str = "## Reference\n";

/// Width of the help texts, in columns.
const WIDTH: usize = 100;

/// The reference as Markdown: the program, then each command.
pub fn markdown() -> String {
    let mut program = Cli::command().term_width(WIDTH);
    program.build();
    let mut page = HEADING.to_owned();
    section(&mut page, "tracer", program.clone());
    for command in program
        .get_subcommands()
        .filter(|command| command.get_name() != "help")
    {
        let title = format!("tracer {}", command.get_name());
        section(&mut page, &title, command.clone().term_width(WIDTH));
    }
    page
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
