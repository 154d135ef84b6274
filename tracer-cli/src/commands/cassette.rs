//! `tracer cassette`: shows, checks and repairs recorded answers of models.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tracer_capture::cassette::{
    Cassette, Matching, OnMiss, RecordedExchange, RecordedRequest, ReplayOptions,
};
use tracer_capture::model_api::{Assembled, ResponseFacts, assemble};
use tracer_capture::record::Signals;
use tracer_insight::conversation::{
    Message, MessagePart, Role, answer_messages, part_label, prompt_messages,
};
use tracer_insight::cost;
use tracer_insight::line::{Line, Tone};
use tracer_insight::text::{counted, one_line};
use tracer_sdk::prices::Prices;

use crate::cassettes::{self, ReplayedCommand};
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::output_file;
use crate::recorded_command::{not_run, report, run_recorded};
use crate::session::Session;

/// Characters of a message that are shown.
const MAX_SHOWN: usize = 100;

/// Options of `tracer cassette`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer cassette show tests/cassettes/refund.jsonl")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

/// What to do with a cassette.
#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Show a cassette as the conversation that it holds
    #[command(after_help = "Example: tracer cassette show tests/cassettes/refund.jsonl")]
    Show {
        /// Cassette to show
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Check a cassette, and with a command every request that it has no answer to
    #[command(after_help = "\
Example: tracer cassette check tests/cassettes/refund.jsonl -- python agent.py

A request that is not in the cassette is answered with the next recorded answer, so that one run of the command shows \
everything that changed.

Exit codes: 0 everything is as recorded, 7 something is not, 125 the cassette cannot be read.")]
    Check {
        /// Cassette to check
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Command to run against it
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
    /// Update recorded requests to what a command sends now, where only dates, numbers or ignored members differ
    #[command(after_help = "\
Example: tracer cassette repair tests/cassettes/refund.jsonl -- python agent.py

Answers stay as they are. Without a command, a last line that is cut short is taken out.

Exit codes: 0 every request matches now, 7 some do not: record the cassette again.")]
    Repair {
        /// Cassette to repair
        #[arg(value_name = "FILE")]
        file: PathBuf,

        /// Command to run against it
        #[arg(last = true, value_name = "COMMAND")]
        command: Vec<OsString>,
    },
}

/// Does what is asked with a cassette.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    match &args.action {
        Action::Show { file } => {
            let cassette = cassettes::read(file)?;
            let prices = session.prices()?;
            session.ui.lines(&shown(&cassette, &prices))?;
            Ok(CommandOutcome::Done)
        }
        Action::Check { file, command } if command.is_empty() => {
            let cassette = cassettes::read(file).map_err(not_run)?;
            let prices = session.prices().map_err(not_run)?;
            session.ui.lines(&[heading(&cassette, &prices)])?;
            if cassette.is_torn {
                session.ui.note(&torn());
                return Ok(CommandOutcome::Exited(cassettes::MISS_CODE));
            }
            Ok(CommandOutcome::Done)
        }
        Action::Check { file, command } => against_command(file, command, OnMiss::Assume, session),
        Action::Repair { file, command } if command.is_empty() => {
            let cassette = cassettes::read(file)?;
            if cassette.is_torn {
                write(&cassette)?;
            }
            let prices = session.prices()?;
            session.ui.lines(&[heading(&cassette, &prices)])?;
            Ok(CommandOutcome::Done)
        }
        Action::Repair { file, command } => against_command(file, command, OnMiss::Fail, session),
    }
}

/// Runs the command against the cassette: to check it when misses are assumed to be answered, to repair it otherwise.
fn against_command(
    file: &Path,
    command: &[OsString],
    on_miss: OnMiss,
    session: &mut Session,
) -> Result<CommandOutcome, CliError> {
    // Before any thread is there.
    let signals = Signals::keep();
    let cassette = cassettes::read(file).map_err(not_run)?;
    let repairs = on_miss == OnMiss::Fail;
    let mut options = ReplayOptions::default();
    options.on_miss = on_miss;
    options.matching = Matching {
        is_strict: !repairs,
        is_ordered: false,
    };
    let dry_replay = ReplayedCommand {
        cassette: &cassette,
        command: command.to_vec(),
        name: None,
        options,
        appends: false,
    };
    let (recording, replayer) = dry_replay.begin(session).map_err(not_run)?;
    let (_, recorded) = run_recorded(recording, signals)?;
    report(true, &recorded, session)?;
    let outcome = replayer.outcome();
    cassettes::report(&outcome, session);
    if repairs {
        let (repaired, changed) = replayer.repaired();
        if changed > 0 || cassette.is_torn {
            write(&repaired)?;
        }
        let note = format!(
            "tracer: {} rewritten in {}",
            counted(changed, "request"),
            file.display()
        );
        session.ui.say(note);
    }
    Ok(if outcome.is_complete() {
        CommandOutcome::Done
    } else {
        CommandOutcome::Exited(cassettes::MISS_CODE)
    })
}

fn write(cassette: &Cassette) -> Result<(), CliError> {
    output_file::write_new(&cassette.path, true, cassette.text().as_bytes()).map_err(CliError::from)
}

fn torn() -> Line {
    Line::of(
        "tracer: the last line is cut short; tracer cassette repair takes it out",
        Tone::Warning,
    )
}

/// `tests/cassettes/refund.jsonl  3 calls, $0.0042, recorded 2026-11-23T01:46:49Z: python agent.py`
fn heading(cassette: &Cassette, prices: &Prices) -> Line {
    let calls = cassette
        .exchanges
        .iter()
        .filter(|exchange| exchange.api.is_some());
    let line = Line::of(cassette.path.display().to_string(), Tone::Strong);
    let mut words = counted(calls.count() as u64, "call");
    if let Some(cost) = cost::words(&cassette.cost(prices)) {
        words.extend([", ", &cost]);
    }
    if !cassette.head.recorded_at.is_empty() {
        words.extend([", recorded ", &cassette.head.recorded_at]);
    }
    if !cassette.head.command.is_empty() {
        words.extend([": ", &cassette.head.command.join(" ")]);
    }
    line.with(format!("  {}", one_line(&words, 200)), Tone::Muted)
}

/// The cassette as a conversation: of each request what is new in it, then the answer.
fn shown(cassette: &Cassette, prices: &Prices) -> Vec<Line> {
    let mut lines = vec![heading(cassette, prices)];
    for exchange in &cassette.exchanges {
        lines.push(Line::default());
        lines.extend(exchange_lines(exchange));
    }
    if cassette.is_torn {
        lines.push(torn());
    }
    lines
}

fn exchange_lines(exchange: &RecordedExchange) -> Vec<Line> {
    let what = match exchange.api {
        Some(api) => format!("{} {}", api.name(), exchange.model().unwrap_or_default()),
        None => format!("{} {}", exchange.method, exchange.path),
    };
    let status = exchange.response.status;
    let tone = if status < 400 { Tone::Muted } else { Tone::Bad };
    let mut heading = Line::of(format!("{:>3}  ", exchange.number), Tone::Muted)
        .with(what.trim_end(), Tone::Strong)
        .with(format!("  {status}"), tone);
    let Some(api) = exchange.api else {
        return vec![heading];
    };
    let content_type = exchange.response.header("content-type").unwrap_or_default();
    let answer: Assembled = assemble(api, content_type, &exchange.response.body.bytes());
    let usage = ResponseFacts::from_answer(&answer).usage;
    if let (Some(input), Some(output)) = (usage.prompt_tokens, usage.completion_tokens) {
        heading = heading.with(format!("  {input} + {output} tokens"), Tone::Muted);
    }
    let mut lines = vec![heading];
    if let RecordedRequest::Json(request) = &exchange.request {
        let messages = prompt_messages(request);
        let last_answer = messages
            .iter()
            .rposition(|message| message.role == Role::Assistant);
        lines.extend(
            messages
                .iter()
                .skip(last_answer.map_or(0, |last| last + 1))
                .flat_map(message_lines),
        );
    }
    lines.extend(answer_messages(&answer.body).iter().flat_map(message_lines));
    lines.extend(
        exchange
            .replaced
            .iter()
            .map(|place| Line::of(format!("     a secret was replaced: {place}"), Tone::Warning)),
    );
    lines
}

fn message_lines(message: &Message) -> Vec<Line> {
    let label = message.label();
    let parts = message.parts.iter().map(|part| {
        let text = match part {
            MessagePart::ToolCall { name, arguments, .. } => format!("{name}({arguments})"),
            MessagePart::ToolResult { value, .. } => match value.as_str() {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            },
            MessagePart::Text(text) | MessagePart::Refusal(text) | MessagePart::Reasoning(text) => {
                text.clone()
            }
            other => part_label(other).map(|label| label.text).unwrap_or_default(),
        };
        Line::of(format!("     {label:<10} "), Tone::Muted).with(one_line(&text, MAX_SHOWN), Tone::Plain)
    });
    parts.collect()
}
