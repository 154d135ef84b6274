//! `tracer show --follow`: shows the steps of a running run as they end, until the run ends or its process is gone.

use std::collections::HashSet;
use std::io;
use std::thread;
use std::time::Duration;

use tracer_sdk::format::{Payload, SpanId, SpanRecord, Timestamp};
use tracer_sdk::prices::Prices;
use tracer_sdk::read::{LogPart, RunDirectory, StartedSpan, read_live_file, read_log_part, spans_to_events};

use super::{OpenedRun, page};
use crate::error::CliError;
use crate::session::Session;
use crate::terminal::follow_rows;
use crate::terminal::follow_rows::FollowedRun;
use tracer_insight::line::Line;
use tracer_insight::status::RunStatus;
use tracer_insight::step_filter::StepFilter;
use tracer_insight::steps;
use tracer_insight::steps::StepSource;
use tracer_insight::totals::Totals;
use tracer_insight::units::now;

/// Poll interval of the log.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes of the log read at a time; a longer line is read whole.
const PART_BYTES: u64 = 4 * 1024 * 1024;

/// A run that is followed.
struct RunFollower<'a> {
    directory: &'a RunDirectory,
    filter: &'a StepFilter,
    started: Option<Timestamp>,
    offset: u64,
    ended: HashSet<SpanId>,
    totals: Totals,
    prices: Prices,
    unreadable_lines: u64,
}

/// Shows the steps of a run as they end. Only new lines of the log are read.
pub(super) fn follow(
    directory: &RunDirectory,
    short_id: &str,
    filter: &StepFilter,
    session: &mut Session,
) -> Result<(), CliError> {
    let listed = directory.clone().read_summary();
    let name = listed.meta.as_ref().ok().and_then(|meta| meta.run_name.clone());
    let title = follow_rows::title(name.as_deref(), short_id);
    session.ui.lines(&[title.fitted(session.ui.width())])?;
    let mut follower = RunFollower {
        directory,
        filter,
        started: listed.started(),
        offset: 0,
        ended: HashSet::new(),
        totals: Totals::default(),
        prices: session.prices()?,
        unreadable_lines: 0,
    };
    loop {
        // Read before the log: the last span is written before the status, so no span can be missed.
        let status = directory.clone().read_summary().status();
        let is_gone = !directory.path.is_dir();
        if !is_gone {
            follower.catch_up(session)?;
        }
        if is_gone || status == RunStatus::Damaged {
            session.ui.clear_status();
            return Err(CliError::input(format!(
                "failed to follow run {short_id}: it was deleted or damaged in the meantime"
            ))
            .with_hint(format!("list the runs: {}", session.command("list"))));
        }
        if status != RunStatus::Running {
            break;
        }
        session.ui.status(&follower.status(session.ui.width()));
        thread::sleep(POLL_INTERVAL);
    }
    session.ui.clear_status();
    if follower.unreadable_lines > 0 {
        let lines = tracer_insight::text::counted(follower.unreadable_lines, "line");
        let note = format!("failed to read {lines} of the log");
        session.ui.warn(note);
    }
    session.ui.lines(&[Line::new()])?;
    page::head(&mut OpenedRun::open(directory, short_id, session)?, true, session)?;
    Ok(())
}

impl RunFollower<'_> {
    /// Shows the new spans of the log.
    fn catch_up(&mut self, session: &mut Session) -> Result<(), CliError> {
        let mut max_bytes = PART_BYTES;
        loop {
            let part = self.read(max_bytes)?;
            let is_stuck = part.next_offset == self.offset;
            self.offset = part.next_offset;
            self.unreadable_lines += part.unreadable_lines;
            for span in &part.spans {
                self.show(span, session)?;
            }
            if part.is_to_end {
                return session.ui.flush();
            }
            max_bytes = if is_stuck {
                max_bytes.saturating_mul(2)
            } else {
                PART_BYTES
            };
        }
    }

    fn read(&self, max_bytes: u64) -> Result<LogPart, CliError> {
        read_log_part(&self.directory.path, self.offset, max_bytes).map_err(|error: io::Error| {
            CliError::input("failed to read `spans.jsonl`")
                .with_source(error)
                .with_hint("the run may have been deleted in the meantime")
        })
    }

    /// Shows the records of a span that has ended.
    fn show(&mut self, span: &SpanRecord, session: &mut Session) -> Result<(), CliError> {
        self.ended.insert(span.span_id);
        let records = spans_to_events(std::slice::from_ref(span));
        let own = span.span_id.to_string();
        let sources: Vec<StepSource> = records
            .into_iter()
            .filter(|record| !matches!(record.payload, Payload::RunStart { .. } | Payload::RunEnd { .. }))
            .map(|record| {
                let is_own = record.event_id == own;
                StepSource::read(0, record, is_own.then_some(span)).priced(&self.prices)
            })
            .collect();
        let steps = steps::steps(&sources, self.started);
        self.totals.add(&Totals::of(&steps));
        for step in steps.iter().filter(|step| self.filter.passes(step.record)) {
            session.ui.lines(&follow_rows::lines(step, session.ui.width()))?;
        }
        Ok(())
    }

    /// Status line.
    fn status(&self, width: usize) -> Line {
        let now = now();
        let since = |then: Timestamp| u64::try_from(now.microseconds_since(then)).unwrap_or(0);
        let live = read_live_file(&self.directory.path);
        let is_open = |started: &&StartedSpan| !self.ended.contains(&started.span_id);
        let current = live
            .as_ref()
            .and_then(|live| live.started.iter().rev().find(is_open))
            .map(|started| (started.name.as_str(), since(started.start_time.instant())));
        let watched = FollowedRun {
            elapsed: self.started.map_or(0, since),
            current,
            totals: &self.totals,
        };
        watched.line().fitted(width.saturating_sub(1))
    }
}
