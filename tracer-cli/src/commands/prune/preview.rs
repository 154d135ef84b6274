//! [`RemovalPreview`]: the runs that a plan removes, wherever they are, and the answer to whether they go.

use tracer_insight::line::{Line, Tone};
use tracer_insight::run_head::display_name;
use tracer_insight::status::RunStatus;
use tracer_insight::{text, units};
use tracer_sdk::format::{Timestamp, TraceId};

use super::Args;
use crate::commands::confirmed;
use crate::error::CliError;
use crate::session::Session;

/// Runs listed before the confirmation; the rest are counted.
const MAX_LISTED_RUNS: usize = 20;

/// A run that a plan removes.
pub(super) struct RemovalRow<'a> {
    pub(super) run: TraceId,
    pub(super) status: RunStatus,
    pub(super) bytes: u64,
    pub(super) started: Option<Timestamp>,
    pub(super) name: Option<&'a str>,
}

impl RemovalRow<'_> {
    fn line(&self, id_length: usize) -> Line {
        let id: String = self.run.to_string().chars().take(id_length).collect();
        let started = self.started.map(units::moment).unwrap_or_default();
        let rest = format!(
            "{:11}  {:>8}  {started}  {}",
            self.status.as_str(),
            units::bytes(self.bytes),
            display_name(self.name)
        );
        Line::of(format!("  {id}  {rest}"), Tone::Plain)
    }
}

/// Whether planned removals are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PlanDecision {
    Remove,
    /// The rules select no run.
    NothingToRemove,
    /// It was a dry run, or the answer was no.
    Keep,
}

/// What a plan removes, as it is shown before.
pub(super) struct RemovalPreview {
    rows: Vec<Line>,
    planned: String,
}

impl RemovalPreview {
    /// The preview of removals out of `all_runs`, with IDs of this length.
    pub(super) fn new<'a>(
        removals: impl ExactSizeIterator<Item = RemovalRow<'a>>,
        all_runs: u64,
        bytes: u64,
        id_length: usize,
    ) -> Self {
        let planned = removed_of(removals.len() as u64, all_runs, bytes);
        let hidden = removals.len().saturating_sub(MAX_LISTED_RUNS);
        let listed = removals.take(MAX_LISTED_RUNS);
        let mut rows: Vec<Line> = listed.map(|removal| removal.line(id_length)).collect();
        if hidden > 0 {
            rows.push(Line::of(format!("  … and {hidden} more"), Tone::Muted));
        }
        Self { rows, planned }
    }

    /// Shows the plan, and asks where that is needed; `warning` is the end of the question.
    pub(super) fn decide(
        self,
        warning: &str,
        args: &Args,
        session: &mut Session,
    ) -> Result<PlanDecision, CliError> {
        let Self { rows, planned } = self;
        if rows.is_empty() {
            session.ui.say(format!("nothing to remove: {planned}"));
            return Ok(PlanDecision::NothingToRemove);
        }
        if args.dry_run {
            session.ui.lines(&rows)?;
            let line = format!("would remove {planned}");
            session.ui.lines(&[Line::of(line, Tone::Warning)])?;
            return Ok(PlanDecision::Keep);
        }
        let is_wanted = args.yes || confirmed(rows, &format!("remove {planned} {warning}?"), session)?;
        Ok(if is_wanted {
            PlanDecision::Remove
        } else {
            PlanDecision::Keep
        })
    }
}

/// How many runs of how many, and their size: "2 of 5 runs, 1.2 MB".
pub(super) fn removed_of(removed: u64, all_runs: u64, bytes: u64) -> String {
    let runs = text::counted(all_runs, "run");
    format!("{removed} of {runs}, {}", units::bytes(bytes))
}
