//! The command line: its commands in groups, and the options that every command has.

use std::path::PathBuf;

use anstyle::Style;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::commands;
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::session::{READ_STORE, Session};
use crate::ui::Colour;

/// The heading of the options that every command has.
const GLOBAL: &str = "Global options";

/// See what your agents did: every run, model call and tool call, on your own machine.
#[derive(Parser)]
#[command(name = "tracer", version, arg_required_else_help = true)]
pub struct Cli {
    /// The command to run.
    #[command(subcommand)]
    pub command: Command,
    /// Read and write runs in DIR [default: TRACER_DATA_DIR, else the settings, else ~/.tracer]
    #[arg(long, global = true, value_name = "DIR", help_heading = GLOBAL)]
    pub data_dir: Option<PathBuf>,
    /// Also read the runs in the bucket at URL, or none [default: TRACER_STORE, else the user's settings]
    ///
    /// s3://BUCKET/PREFIX, gs://, az:// or file:///FOLDER. New runs are read first; without a network, the runs read
    /// before are shown. Credentials come from the environment and the files of the cloud's own tools.
    #[arg(long, global = true, value_name = "URL", help_heading = GLOBAL)]
    pub store: Option<String>,
    /// Print the result as JSON
    #[arg(long, global = true, help_heading = GLOBAL)]
    pub json: bool,
    /// Print no remarks and hints
    #[arg(long, short, global = true, help_heading = GLOBAL)]
    pub quiet: bool,
    /// Colour the output always, never or auto, which obeys NO_COLOR, CLICOLOR_FORCE and TERM
    #[arg(
        long = "color",
        global = true,
        value_enum,
        value_name = "WHEN",
        default_value_t,
        hide_possible_values = true,
        help_heading = GLOBAL
    )]
    pub colour: Colour,
}

/// Commands that belong together, in the order of a user's day.
struct CommandGroup {
    name: &'static str,
    example: &'static str,
    commands: &'static [&'static str],
}

const GROUPS: [CommandGroup; 6] = [
    CommandGroup {
        name: "Record",
        example: "tracer record -- python agent.py",
        commands: &["demo", "record", "receive", "import"],
    },
    CommandGroup {
        name: "Read",
        example: "tracer list status:failed",
        commands: &["list", "show", "why", "view", "search", "stats", "diff", "export"],
    },
    CommandGroup {
        name: "Gate",
        example: "tracer run --capture --trials 5 -- python agent.py",
        commands: &["init", "run", "assert", "baseline", "accept"],
    },
    CommandGroup {
        name: "Replay",
        example: "tracer fork latest --at 3 --fail 3:429",
        commands: &["replay", "fork", "freeze"],
    },
    CommandGroup {
        name: "Share",
        example: "tracer push --all --to s3://team/agents",
        commands: &["push", "mcp"],
    },
    CommandGroup {
        name: "Tidy",
        example: "tracer prune --older-than 30d --dry-run",
        commands: &["prune", "delete", "rename", "repair", "validate-trace", "doctor"],
    },
];

/// The commands that print JSON with `--json`.
const PRINT_JSON: [&str; 15] = [
    "assert",
    "diff",
    "doctor",
    "import",
    "list",
    "prices",
    "receive",
    "repair",
    "run",
    "search",
    "show",
    "stats",
    "validate-trace",
    "view",
    "why",
];

/// The command line with its help in groups; the help of a command leaves out the global options that it refuses.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    for (option, users) in [("store", &READ_STORE[..]), ("json", &PRINT_JSON)] {
        let hidden = command
            .get_arguments()
            .find(|argument| argument.get_id() == option);
        let hidden = hidden.cloned().map(|argument| argument.hide(true));
        for subcommand in command.get_subcommands_mut() {
            if !users.contains(&subcommand.get_name()) {
                *subcommand = std::mem::take(subcommand).args(hidden.clone());
            }
        }
    }
    let help = first_screen(&command);
    command.help_template(help)
}

/// The help of the program: the commands by group, each group with an example.
fn first_screen(command: &clap::Command) -> String {
    let bold = Style::new().bold();
    let about = |name: &str| {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about);
        about.map(ToString::to_string).unwrap_or_default()
    };
    let mut lines = vec![
        "{about}".to_owned(),
        String::new(),
        format!("{bold}Usage:{bold:#} tracer [OPTIONS] <COMMAND>"),
    ];
    for group in GROUPS {
        lines.push(format!("{bold}{:<8}{bold:#} {}", group.name, group.example));
        let names = group.commands.iter();
        lines.extend(names.map(|name| format!("  {name:<14}  {}", about(name))));
    }
    lines.extend([
        "Options of every command: --data-dir DIR, --store URL, --json, --quiet, --color WHEN; --help, --version".to_owned(),
        "Exit codes: 0 success, 1 a check failed, 2 bad usage or nothing found, 7 a replay differed, 10 internal error".to_owned(),
    ]);
    lines.join("\n")
}

impl Cli {
    /// Parses the arguments of the process.
    pub fn parse_process() -> Result<(Self, ArgMatches), clap::Error> {
        let matches = command().try_get_matches()?;
        Ok((Self::from_arg_matches(&matches)?, matches))
    }

    /// Refuses a global option that the command would ignore.
    pub(crate) fn refuse_unused_options(&self, command: &str) -> Result<(), CliError> {
        let is_unused = |is_given: bool, users: &[&str]| is_given && !users.contains(&command);
        if is_unused(self.store.is_some(), &READ_STORE) {
            return Err(
                CliError::input(format!("`tracer {command}` reads no bucket")).with_hint("leave out --store")
            );
        }
        if is_unused(self.json, &PRINT_JSON) {
            return Err(
                CliError::input(format!("`tracer {command}` prints no JSON")).with_hint("leave out --json")
            );
        }
        Ok(())
    }
}

/// Declares the commands for the parser, and the call of each.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident => $module:ident,)*) => {
        /// The commands.
        #[derive(Subcommand)]
        pub enum Command {
            $($(#[$attribute])* $name(commands::$module::Args),)*
        }

        impl Command {
            /// Runs the command.
            pub(crate) fn run(self, session: &mut Session) -> Result<CommandOutcome, CliError> {
                match self {
                    $(Self::$name(args) => commands::$module::run(&args, session),)*
                }
            }
        }
    };
}

commands! {
    /// Record a simulated agent, without network or keys
    Demo => demo,
    /// Record a command as a run: model calls, tools, tokens
    Record => record,
    /// Run a command against recorded model answers: no network, no keys, no cost
    Replay => replay,
    /// Run a recorded agent again, with changes from one model call on
    Fork => fork,
    /// Turn a run that went wrong into a test: red now, green once it is fixed
    Freeze => freeze,
    /// Receive OpenTelemetry as runs, or proxy the model calls of running programs
    Receive => receive,
    /// Run a command several times and gate on what it did
    Run => run,
    /// Check recorded runs against the policy
    Assert => assert,
    /// Write a baseline for later runs to be compared with
    Baseline => baseline,
    /// Accept changed behaviour as the new baseline, with a reason
    Accept => accept,
    /// Compare two runs, or a run with a baseline
    Diff => diff,
    /// Write a starter policy, and a workflow for GitHub Actions
    Init => init,
    /// List recorded runs, newest first
    List => list,
    /// Find steps in all runs by text, tool, argument, model or error
    Search => search,
    /// Print statistics: failures, latency, tokens, cost, by tool, model or day
    Stats => stats,
    /// Show what a run did, step by step
    Show => show,
    /// Show where a value came from: a result, the prompt, or the model alone
    Why => why,
    /// View runs in the browser, served from this machine
    View => view,
    /// Serve runs to coding agents over the Model Context Protocol
    Mcp => mcp,
    /// Export a run as one file: JSON, HTML or the format of another tool
    Export => export,
    /// Send runs to an OpenTelemetry endpoint or to a bucket
    Push => push,
    /// Import sessions of coding agents, or files of OpenTelemetry spans and logs, as runs
    Import => import,
    /// Show what models cost, and where the prices are from
    #[command(hide = true)]
    Prices => prices,
    /// Find out why nothing is recorded
    Doctor => doctor,
    /// Check a run against the trace format
    ValidateTrace => validate_trace,
    /// Complete a run whose process died
    Repair => repair,
    /// Rename a run
    Rename => rename,
    /// Delete runs permanently
    Delete => delete,
    /// Remove old runs by age, count, size or status
    Prune => prune,
    /// Generate shell completions
    #[command(hide = true)]
    Completions => completions,
    /// Generate the manual pages
    #[command(hide = true)]
    Man => man,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The options of each command and the global ones, without hidden ones.
    fn options() -> Vec<(String, clap::Arg)> {
        let program = Cli::command();
        let own = |command: &clap::Command| {
            let name = command.get_name().to_owned();
            let options = command.get_opts().filter(|option| !option.is_hide_set());
            options
                .map(|option| (name.clone(), option.clone()))
                .collect::<Vec<_>>()
        };
        program
            .get_subcommands()
            .chain([&program])
            .flat_map(own)
            .collect()
    }

    /// 110, and 18 of limits, drift, freezing, comparing models and past sessions.
    #[test]
    fn there_are_at_most_128_options() {
        let options = options();
        let names: Vec<String> = options
            .iter()
            .map(|(command, option)| format!("{command} --{}", option.get_long().unwrap_or_default()))
            .collect();
        assert!(names.len() <= 128, "{}: {names:?}", names.len());
    }

    #[test]
    fn every_command_but_hidden_ones_is_in_a_group() {
        let program = Cli::command();
        let mut shown: Vec<&str> = program
            .get_subcommands()
            .filter(|command| !command.is_hide_set())
            .map(clap::Command::get_name)
            .collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|group| group.commands).copied().collect();
        shown.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(shown, grouped);
        for users in [&READ_STORE[..], &PRINT_JSON] {
            assert!(
                users.iter().all(|name| program.find_subcommand(name).is_some()),
                "{users:?}"
            );
        }
    }

    #[test]
    fn a_word_takes_the_same_kind_of_value_everywhere() {
        let mut kinds: BTreeMap<String, (bool, String)> = BTreeMap::new();
        // The trials of a gate: how many to run, and whether to list them.
        let others = options()
            .into_iter()
            .filter(|(_, option)| option.get_long() != Some("trials"));
        for (command, option) in others {
            let takes_value = option.get_action().takes_values();
            let word = option.get_long().unwrap_or_default().to_owned();
            let (known, first) = kinds
                .entry(word.clone())
                .or_insert((takes_value, command.clone()));
            assert_eq!(*known, takes_value, "--{word} of {first} and of {command}");
        }
        let forced = options()
            .into_iter()
            .filter(|(_, option)| option.get_long() == Some("force"));
        for (command, option) in forced {
            let help = option.get_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.starts_with("Proceed although"), "{command}: {help}");
        }
    }
}
