//! A run that was opened: kept while it is looked at, and brought up to date when its files change.

use std::collections::HashSet;
use std::io;
use std::sync::OnceLock;

use tracer_sdk::format::{EventType, Payload, Problem, RunMeta, SpanId, Timestamp};
use tracer_sdk::read::{LogIndex, PromotedRecord, RunDirectory, StartedSpan, read_live_file};

use super::super::answer::ApiError;
use super::super::work;
use super::problems::Problems;
use super::stamp::Stamp;
use super::timeline::{Row, Source, Timeline};
use tracer_insight::run_head::{RunHead, duration_so_far, recording_remarks};
use tracer_insight::status::RunStatus;
use tracer_insight::totals::Totals;

/// A run has a warning for each distinct pattern; further ones mark no rows.
const MAX_WARNINGS: usize = 200;

/// An opened run.
#[derive(Debug)]
pub(crate) struct OpenRun {
    pub(crate) directory: RunDirectory,
    pub(crate) meta: Result<RunMeta, Vec<Problem>>,
    pub(crate) standing: RunStatus,
    pub(crate) index: LogIndex,
    pub(crate) surfaced: Vec<PromotedRecord>,
    pub(crate) in_flight: Vec<StartedSpan>,
    pub(crate) timeline: Timeline,
    stamp: Stamp,
    /// The spans, and the IDs of other records, that loop warnings rest on.
    evidence: (HashSet<SpanId>, HashSet<String>),
    problems: OnceLock<Problems>,
}

impl OpenRun {
    /// Opens the run in a directory.
    pub(crate) fn open(directory: RunDirectory) -> io::Result<Self> {
        // Looked at before it is read: a change in between is found at the next look.
        let stamp = Stamp::of(&directory.path);
        let listed = directory.clone().read_summary();
        let standing = listed.status();
        let index = LogIndex::open(&directory.path, Some(directory.trace_id), standing.is_open())?;
        let mut run = Self {
            directory,
            meta: listed.meta,
            standing,
            index,
            surfaced: Vec::new(),
            in_flight: Vec::new(),
            timeline: Timeline::default(),
            stamp,
            evidence: (HashSet::new(), HashSet::new()),
            problems: OnceLock::new(),
        };
        run.arrange();
        Ok(run)
    }

    /// Whether the files are as they were when they were read last, and whether the process is.
    pub(crate) fn is_current(&self) -> bool {
        let stamp = Stamp::of(&self.directory.path);
        stamp == self.stamp
            && (!self.standing.is_open() || self.directory.clone().read_summary().status() == self.standing)
    }

    /// Reads what has changed. `false` says that the log is another one: the run has to be opened anew.
    pub(crate) fn update(&mut self) -> io::Result<bool> {
        let stamp = Stamp::of(&self.directory.path);
        let listed = self.directory.clone().read_summary();
        let standing = listed.status();
        if !self.index.extend(standing.is_open())? {
            return Ok(false);
        }
        self.stamp = stamp;
        self.standing = standing;
        self.meta = listed.meta;
        self.problems = OnceLock::new();
        self.arrange();
        Ok(true)
    }

    /// Puts the rows in their order.
    fn arrange(&mut self) {
        self.surfaced = self.index.promoted().collect();
        let live = self
            .standing
            .is_open()
            .then(|| read_live_file(&self.directory.path));
        // A stale `.live` says nothing about a run that has ended.
        self.in_flight = live.flatten().map(|live| live.started).unwrap_or_default();
        self.in_flight
            .retain(|started| self.index.find(started.span_id).is_none());
        self.timeline = Timeline::new(&self.index, &self.in_flight, self.standing.is_open());
        self.evidence = self.find_evidence();
    }

    fn find_evidence(&self) -> (HashSet<SpanId>, HashSet<String>) {
        let (mut spans, mut others) = (HashSet::new(), HashSet::new());
        let warnings = self.rows_of(|event_type, _| event_type == EventType::LoopWarning);
        for row in warnings.into_iter().take(MAX_WARNINGS) {
            // A warning that cannot be read marks nothing.
            let read = self.read_row(row).ok().flatten();
            if let Some(Payload::LoopWarning {
                evidence_event_ids, ..
            }) = read.map(|read| read.record.payload)
            {
                for id in evidence_event_ids {
                    match id.parse() {
                        Ok(span_id) => {
                            spans.insert(span_id);
                        }
                        Err(_) => {
                            others.insert(id);
                        }
                    }
                }
            }
        }
        (spans, others)
    }

    /// Whether a loop warning rests on the row.
    pub(crate) fn is_evidence(&self, row: &Row) -> bool {
        let (spans, others) = &self.evidence;
        match row.source {
            _ if spans.is_empty() && others.is_empty() => false,
            Source::Span(position) => self
                .index
                .span(position as usize)
                .is_some_and(|span| spans.contains(&span.span_id)),
            _ => self.event_id(row).is_some_and(|id| others.contains(&id)),
        }
    }

    /// What is known of a row without reading it: its type, and whether it failed.
    pub(crate) fn outline(&self, row: &Row) -> Option<(EventType, bool)> {
        match row.source {
            Source::Run => Some((EventType::RunStart, false)),
            Source::Span(position) => {
                let span = self.index.span(position as usize)?;
                Some((
                    span.event_type,
                    span.is_failed || span.event_type == EventType::Error,
                ))
            }
            Source::Surfaced(number) => {
                let surfaced = self.surfaced.get(number as usize)?;
                Some((surfaced.event_type, surfaced.event_type == EventType::Error))
            }
            Source::InFlight(number) => Some((self.in_flight.get(number as usize)?.event_type, false)),
        }
    }

    /// The rows of steps of some type, failed or not.
    pub(crate) fn rows_of(&self, wanted: impl Fn(EventType, bool) -> bool) -> Vec<&Row> {
        let rows = self.timeline.rows.iter().filter(|row| row.number > 0);
        rows.filter(|row| {
            self.outline(row)
                .is_some_and(|(event_type, failed)| wanted(event_type, failed))
        })
        .collect()
    }

    /// When the run started, as its root says, else its metadata.
    pub(crate) fn started(&self) -> Option<Timestamp> {
        let root = self.timeline.get(0).and_then(|row| match row.source {
            Source::Span(position) if row.number == 0 => self.index.span(position as usize),
            _ => None,
        });
        let recorded = || self.meta.as_ref().ok().map(|meta| meta.started_at.instant());
        root.map(|root| root.start).or_else(recorded)
    }

    /// The run's label.
    pub(crate) fn name(&self) -> Option<&str> {
        self.meta.as_ref().ok()?.run_name.as_deref()
    }

    /// What is shown above the steps.
    ///
    /// # Errors
    ///
    /// When nobody waits for it any more.
    pub(crate) fn head(&self) -> Result<RunHead, ApiError> {
        let problems = self.problems()?;
        let meta = self.meta.as_ref().ok();
        Ok(RunHead {
            name: self.name().map(str::to_owned),
            status: self.standing,
            started: self.started(),
            duration: meta.and_then(|meta| duration_so_far(meta, self.standing)),
            totals: self.totals(),
            remarks: meta.map(recording_remarks).unwrap_or_default(),
            cut_tail: problems.cut_tail,
            problems: problems.listed.clone(),
            more_problems: problems.more,
        })
    }

    /// What the steps come to.
    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        let add = |sum: &mut Option<u64>, tokens: Option<u32>| {
            if let Some(tokens) = tokens {
                *sum = Some(sum.unwrap_or(0).saturating_add(u64::from(tokens)));
            }
        };
        for row in self.timeline.rows.iter().filter(|row| row.number > 0) {
            let Some((event_type, failed)) = self.outline(row) else {
                continue;
            };
            totals.count(event_type, failed);
            match row.source {
                Source::InFlight(_) => totals.in_flight += 1,
                Source::Span(position) => {
                    if let Some(span) = self.index.span(position as usize) {
                        add(&mut totals.tokens.prompt_tokens, span.tokens_in);
                        add(&mut totals.tokens.completion_tokens, span.tokens_out);
                        add(&mut totals.tokens.total_tokens, span.tokens_total);
                    }
                }
                Source::Run | Source::Surfaced(_) => {}
            }
        }
        totals
    }

    /// What is wrong with the run.
    ///
    /// # Errors
    ///
    /// When nobody waits for them any more.
    pub(crate) fn problems(&self) -> Result<&Problems, ApiError> {
        if let Some(problems) = self.problems.get() {
            return Ok(problems);
        }
        let meta = self.meta.as_ref().ok();
        let problems = Problems::find(&self.directory.path, meta, self.standing, &self.index);
        if work::is_cancelled() {
            return Err(ApiError::internal());
        }
        Ok(self.problems.get_or_init(|| problems))
    }

    /// How many bytes the log has.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.stamp.log_bytes()
    }

    /// A text that changes when the run does.
    pub(crate) fn version(&self) -> String {
        self.stamp
            .version(&(self.standing.as_str(), self.directory.trace_id))
    }
}
