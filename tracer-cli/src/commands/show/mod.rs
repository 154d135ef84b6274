//! `tracer show`: shows what a run did, step by step; of a damaged run the readable part.

mod context;
mod follow;
mod for_llm;
mod json;
mod page;
pub(super) mod views;

use tracer_capture::cassette::EXCHANGES_FILE;

use crate::error::refused;
use crate::error::{CliError, ErrorKind};
use crate::outcome::CommandOutcome;
use crate::progress::Progress;
use crate::session::{Session, quoted};
use tracer_insight::outline::TokenBudget;
use tracer_insight::run_steps::RunSteps;
use tracer_insight::status::RunStatus;
use tracer_insight::step_filter::StepFilter;
use tracer_insight::step_kind::StepKind;

/// Options of `tracer show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: tracer show latest --errors")]
#[command(group = clap::ArgGroup::new("view"))]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option of the command line"
)]
pub struct Args {
    /// Run to show: ID, unique prefix of it, name, latest or latest~N [default: latest]
    run_id: Option<String>,

    /// Show everything that is recorded of step N
    #[arg(long, group = "view", value_name = "N", conflicts_with_all = ["kind", "errors", "grep", "all"])]
    step: Option<usize>,

    /// Show the conversation: messages, tool calls and their results
    #[arg(long, group = "view", conflicts_with = "json")]
    transcript: bool,

    /// Show the steps as bars over time
    #[arg(long, group = "view", conflicts_with = "json")]
    waterfall: bool,

    /// Show what the context was made of: each message, tool result and tool, how often it was sent, its cost
    #[arg(long, group = "view", conflicts_with_all = ["kind", "errors", "grep"])]
    context: bool,

    /// Show the steps of a running run as they end; Ctrl-C stops `show`, not the run
    #[arg(long, short, group = "view", conflicts_with_all = ["json", "all"])]
    follow: bool,

    /// Show only steps that failed
    #[arg(long)]
    errors: bool,

    /// Show only steps of this kind [example: llm,tool]
    #[arg(long, value_parser = crate::value_parsers::step_kind_parser(), value_delimiter = ',', value_name = "KIND,…")]
    kind: Vec<StepKind>,

    /// Show only steps that contain TEXT, ignoring case
    #[arg(long, value_name = "TEXT")]
    grep: Option<String>,

    /// Show every step or block, however long the run
    #[arg(long)]
    all: bool,

    /// Print an outline for a model, in at most TOKENS tokens of four bytes [default: 2000]
    ///
    /// It says what happened and why; texts from the trace are marked as content.
    #[arg(
        long,
        value_name = "TOKENS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "2000",
        value_parser = clap::value_parser!(u64).range(TokenBudget::MIN.tokens() as u64..=TokenBudget::MAX.tokens() as u64),
        conflicts_with_all = ["transcript", "waterfall", "context", "follow", "kind", "errors", "grep", "all", "json"]
    )]
    for_llm: Option<u64>,
}

/// A run opened for display.
pub(super) struct OpenedRun {
    pub(super) contents: RunSteps,
    short_id: String,
    /// Checks if the run has model exchanges, so that it can be forked.
    keeps_calls: bool,
}

impl OpenedRun {
    pub(super) fn open(
        directory: &tracer_runs::RunDirectory,
        short_id: &str,
        session: &mut Session,
    ) -> Result<Self, CliError> {
        let prices = session.prices()?;
        let reading = Progress::begin(&session.ui, "reading", "span", None);
        let contents = RunSteps::open_readable(directory, prices).map_err(|invalid| {
            if !directory.path.exists() {
                let other = session.next_step("choose another run", "list");
                return CliError::input(format!("run {short_id} was deleted before it could be read"))
                    .with_hint(other);
            }
            not_shown(short_id, &invalid, session)
        })?;
        reading.end(&mut session.ui);
        Ok(Self {
            contents,
            short_id: short_id.to_owned(),
            keeps_calls: directory.path.join(EXCHANGES_FILE).exists(),
        })
    }

    /// Numbers of the steps that match the filter. A text search reads every step.
    fn passing(&self, filter: &StepFilter, session: &mut Session) -> Result<Vec<usize>, CliError> {
        if !filter.has_text() {
            return Ok(self.contents.passing(filter, || {})?);
        }
        let searching = Progress::begin(&session.ui, "searching", "step", Some(self.contents.len() as u64));
        let numbers = self.contents.passing(filter, || searching.step())?;
        searching.end(&mut session.ui);
        Ok(numbers)
    }
}

/// Error for a run of which there is nothing to show.
fn not_shown(short_id: &str, invalid: &tracer_runs::InvalidRun, session: &Session) -> CliError {
    let what = format!("failed to show run {short_id}");
    let other = session.next_step("choose another run", "list");
    refused(ErrorKind::Input, what, invalid).with_hint(other)
}

/// Shows a run.
pub fn run(args: &Args, session: &mut Session) -> Result<CommandOutcome, CliError> {
    session.use_store()?;
    let (directory, short_id) = session.select(args.run_id.as_deref())?;
    let filter = StepFilter::new(&args.kind, args.errors, args.grep.as_deref());
    let mut shown = OpenedRun::open(&directory, &short_id, session)?;
    if args.follow && shown.contents.status == RunStatus::Running {
        follow::follow(&mut shown, &filter, session)?;
        return Ok(CommandOutcome::Done);
    }
    if let Some(tokens) = args.for_llm {
        let budget = TokenBudget::new(usize::try_from(tokens).unwrap_or(usize::MAX));
        for_llm::write(&mut shown, args.step, budget, session)?;
        return Ok(CommandOutcome::Done);
    }
    match args.step {
        _ if args.context => context::show(&shown, args.all, session)?,
        _ if session.is_json() => json::write(&shown, args.step, &filter, session)?,
        Some(number) => views::step(&mut shown, number, session)?,
        None if args.transcript => views::transcript(&mut shown, &filter, args.all, session)?,
        None => page::show(&mut shown, &filter, args, session)?,
    }
    if !shown.contents.problems().0.is_empty() {
        session.ui.hint(&format!(
            "list every problem: tracer validate-trace {}",
            quoted(&directory.path)
        ));
    }
    Ok(CommandOutcome::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::{Colour, Ui};

    #[test]
    fn a_run_that_is_deleted_before_it_is_read_is_said_to_be() {
        let data_dir = tempfile::tempdir().unwrap();
        let id = "10000000000000000000000000000001";
        std::fs::create_dir_all(data_dir.path().join("runs").join(id)).unwrap();
        let mut session = Session::new(
            Ui::new(Colour::Never, false),
            Some(data_dir.path().to_owned()),
            None,
            false,
            "tracer".to_owned(),
        );
        let (directory, short_id) = session.select(Some(id)).unwrap();
        data_dir.close().unwrap();
        let error = OpenedRun::open(&directory, &short_id, &mut session)
            .err()
            .unwrap();
        assert_eq!((error.kind(), error.details()), (ErrorKind::Input, [].as_slice()));
        assert_eq!(
            error.message(),
            "run 10000000 was deleted before it could be read"
        );
        assert!(error.hints().iter().any(|hint| hint.contains("list")));
    }
}
