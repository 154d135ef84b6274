//! `tracer record`: runs a command, and makes a run of what it sends.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tracer_capture::cassette::CassetteError;
use tracer_capture::proxy::BaseUrlVariable;
use tracer_capture::record::{
    ChildEnvironment, FinishedRecording, Inherited, OtlpEndpoints, Program, Recording, Signals,
    check_program, codex_options, model_base_urls,
};
use tracer_insight::text::counted;

use crate::budget::BudgetArgs;
use crate::error::CliError;
use crate::outcome::CommandOutcome;
use crate::recorded_command::{self, current_directory, not_run, not_started, quoted_words};
use crate::session::{Session, quoted};
use crate::tags::TagArgs;

/// Options of `tracer record`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: tracer record -- python agent.py

The command is started with the variables that --print-env lists: they lead its calls of models through a proxy, and what \
it exports over OpenTelemetry or records with tracer's SDK, into one run. Standard input, output and error are the command's own.

Exit codes: that of the command, 128 and the number of the signal that ended it; 125 when the recording cannot begin, 126 \
when the command cannot be run, 127 when there is no such command.")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Args {
    /// Name the run [default: TRACER_RUN_NAME, else the program and what it runs]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    #[command(flatten)]
    tags: TagArgs,

    /// Do not receive OpenTelemetry
    #[arg(long)]
    no_otel: bool,

    /// Do not proxy the calls of model APIs
    #[arg(long)]
    no_proxy: bool,

    /// Also write the model calls to FILE, for: tracer replay FILE -- COMMAND
    #[arg(long, value_name = "FILE", conflicts_with = "no_proxy")]
    cassette: Option<PathBuf>,

    /// Proceed although the cassette exists: replace it
    #[arg(long, requires = "cassette")]
    force: bool,

    /// Do not store model exchanges (disables replay and fork)
    #[arg(long)]
    no_exchanges: bool,

    /// Leave the requests of streams as they are: do not ask for their tokens
    // Rarely needed: documented in docs/record-any-agent.md.
    #[arg(long, hide = true)]
    no_stream_usage: bool,

    /// Also proxy the model calls of a program that reads its base URL from variable NAME [PROVIDER default: openai]
    #[arg(long, value_name = "NAME[=PROVIDER]", value_parser = BaseUrlVariable::parse, conflicts_with = "no_proxy")]
    base_url_var: Vec<BaseUrlVariable>,

    #[command(flatten)]
    budget: BudgetArgs,

    /// Print the variables and options for the command, and run nothing
    #[arg(long)]
    print_env: bool,

    /// Command to record, in any language
    #[arg(last = true, required_unless_present = "print_env", value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Runs the command and records it.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    if args.print_env {
        return print_environment(args, session);
    }
    // Before any thread is there.
    let signals = Signals::keep();
    let recording = begin(args, session).map_err(not_run)?;
    let (code, recorded) = recorded_command::run(recording, &signals, session)?;
    if let Some(path) = &args.cassette {
        report_cassette(path, &recorded, session);
    }
    Ok(CommandOutcome::Exited(code))
}

/// Checks the command and begins its run.
fn begin(args: &Args, session: &mut Session) -> Result<Recording, CliError> {
    let program = args
        .command
        .first()
        .ok_or_else(|| CliError::input("there is no command to record"))?;
    check_program(program, &current_directory()?).map_err(not_started)?;
    let mut options = recorded_command::options(args.command.clone(), session)?;
    args.tags.tag(&mut options)?;
    if let Some(name) = &args.name {
        options.name.clone_from(name);
    }
    options.receives_otlp = !args.no_otel;
    options.proxies_models = !args.no_proxy;
    options.keeps_exchanges = !args.no_exchanges;
    options.no_stream_usage = args.no_stream_usage;
    options.base_url_variables.clone_from(&args.base_url_var);
    options.budget = args.budget.budget(session)?;
    if let Some(path) = &args.cassette {
        options.write_cassette(path, args.force).map_err(not_written)?;
    }
    recorded_command::begin(options)
        .map_err(|error| error.with_hint("or run the command without tracer record"))
}

/// Prints what the cassette holds, and what it had to lose.
fn report_cassette(path: &Path, recorded: &FinishedRecording, session: &mut Session) {
    let kept = &recorded.kept;
    for (number, place) in &kept.replaced {
        let note = format!(
            "tracer: a secret was replaced in the cassette, call {number}, {place}: in a replay the command gets __REDACTED__ there"
        );
        session.ui.warn(note);
    }
    if kept.without_content > 0 {
        let note = format!(
            "tracer: {} kept without content: too large, or of no API that is known; a replay cannot answer such a request",
            counted(kept.without_content, "exchange")
        );
        session.ui.warn(note);
    }
    let note = format!(
        "tracer: {} written to {}",
        counted(kept.calls, "call"),
        path.display()
    );
    session.ui.say(note);
    if kept.calls > 0 {
        replay_hint(path, session);
    }
}

fn replay_hint(path: &Path, session: &mut Session) {
    let hint = session.command(&format!("replay {} -- COMMAND", quoted(path)));
    session.ui.hint(&hint);
}

/// The error of a cassette that cannot be written.
fn not_written(error: CassetteError) -> CliError {
    let hint = match error {
        CassetteError::Exists { .. } => "replace it with --force, or choose another file",
        _ => "check the folder and its permissions",
    };
    CliError::input("failed to write the cassette")
        .with_source(error)
        .with_hint(hint)
}

/// Prints what a command would be started with, for a shell; what is known only at its start is in capital letters.
fn print_environment(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    let directory = current_directory()?;
    let inherited = Inherited::of_process();
    let endpoints = OtlpEndpoints {
        http: "http://127.0.0.1:PORT".to_owned(),
        grpc: "http://127.0.0.1:GRPC_PORT".to_owned(),
    };
    let parent = "00-TRACE_ID-SPAN_ID-01";
    let mut environment = ChildEnvironment::of_run(&session.data_dir()?, parent, &inherited);
    let program = Program::of_command(&args.command, &directory);
    let endpoints = (!args.no_otel).then_some(&endpoints);
    if let Some(endpoints) = endpoints {
        environment.extend(ChildEnvironment::of_otlp(&inherited, endpoints));
    }
    let mut base_urls = Vec::new();
    if !args.no_proxy {
        let own = &args.base_url_var;
        base_urls = model_base_urls(&program, &inherited, own, "http://127.0.0.1:PROXY_PORT/r/TOKEN");
        environment.extend(ChildEnvironment::of_models(&inherited, base_urls.clone()));
    }
    let options = codex_options(&program, &args.command, &inherited, endpoints, &base_urls);
    for variable in &environment.variables {
        session.ui.plain(&variable.assignment())?;
    }
    for kept in &environment.kept {
        // Its value may be a secret.
        session.ui.plain(&format!("# {} stays as it is", kept.name))?;
    }
    if !options.is_empty() {
        session
            .ui
            .plain(&format!("# added options: {}", quoted_words(&options)))?;
    }
    Ok(CommandOutcome::Done)
}
