//! Counts of sessions on disk and of an import, and the sentences about both.

use std::collections::BTreeMap;

use std::path::PathBuf;

use serde_json::{Value, json};
use tracer_insight::text::{counted, path_below_home};
use tracer_insight::units;
use tracer_sdk::format::{Timestamp, TraceId};

use super::discover::AgentSession;
use super::importer::{self, SessionError, SessionImport, SessionImporter, SessionOutcome};
use super::transcript::MAX_KEPT_RECORDS;
use crate::runs::CodingAgent;

/// Problems and kinds that are named; the rest are counted.
const MAX_NAMED: usize = 5;
const MAX_RUNS: usize = 10_000;

/// Counts of an import.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ImportTally {
    /// The runs that were begun or continued, in that order; the first 10,000.
    pub runs: Vec<TraceId>,
    /// Number of sessions that became runs.
    pub begun: u64,
    /// Number of sessions whose runs got more.
    pub continued: u64,
    /// Number of sessions whose runs had all of them.
    pub unchanged: u64,
    /// Number of sessions that were recorded while they ran.
    pub recorded: u64,
    /// Number of sessions that another process imports.
    pub busy: u64,
    /// Number of sessions without a call.
    pub empty: u64,
    /// Number of spans that are new.
    pub spans: u64,
    /// Number of sessions whose last turn has not ended.
    pub open: u64,
    /// Kinds of records that were not known, each with their number.
    pub unknown: BTreeMap<String, u64>,
    /// Number of lines and files that could not be read.
    pub unreadable: u64,
    /// The first of these, each with its place and reason.
    pub problems: Vec<String>,
}

impl ImportTally {
    /// Adds a session.
    pub fn add(&mut self, imported: &Result<SessionImport, SessionError>) {
        let import = match imported {
            Ok(import) => import,
            Err(error) => {
                self.add_problem(importer::words(error));
                return;
            }
        };
        let count = match import.outcome {
            SessionOutcome::Begun => &mut self.begun,
            SessionOutcome::Continued => &mut self.continued,
            SessionOutcome::Unchanged => &mut self.unchanged,
            SessionOutcome::Recorded => &mut self.recorded,
            SessionOutcome::Busy => &mut self.busy,
            SessionOutcome::Empty => &mut self.empty,
        };
        *count += 1;
        let has_more = matches!(import.outcome, SessionOutcome::Begun | SessionOutcome::Continued);
        if has_more && self.runs.len() < MAX_RUNS {
            self.runs.push(import.run);
        }
        self.spans += import.spans;
        self.open += u64::from(import.is_open && import.outcome != SessionOutcome::Empty);
        for (kind, number) in &import.unknown {
            *self.unknown.entry(kind.clone()).or_default() += number;
        }
        self.unreadable += import.unreadable;
        let room = MAX_NAMED.saturating_sub(self.problems.len());
        self.problems.extend(import.problems.iter().take(room).cloned());
    }

    /// Adds a later import of the same sessions, which reads grown ones again.
    pub fn join(&mut self, later: Self) {
        if self.is_nothing() {
            *self = later;
            return;
        }
        for run in later.runs {
            if self.runs.len() < MAX_RUNS && !self.runs.contains(&run) {
                self.runs.push(run);
            }
        }
        self.begun += later.begun;
        self.continued += later.continued;
        self.spans += later.spans;
        self.open = later.open;
        // What was left out is tried again: it became more, or nothing was left to do.
        self.unchanged += self
            .busy
            .saturating_sub(later.busy + later.begun + later.continued);
        self.busy = later.busy;
        for (kind, number) in later.unknown {
            let known = self.unknown.entry(kind).or_default();
            *known = number.max(*known);
        }
        self.unreadable = self.unreadable.max(later.unreadable);
        for problem in later.problems {
            if !self.problems.contains(&problem) {
                self.problems.push(problem);
            }
        }
    }

    /// Returns whether there was no session at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        let counts = [
            self.begun,
            self.continued,
            self.unchanged,
            self.recorded,
            self.busy,
            self.empty,
        ];
        counts.iter().all(|count| *count == 0) && self.unreadable == 0
    }

    /// The problems that are named, and how many more there are.
    pub fn problem_words(&self) -> impl Iterator<Item = String> {
        let more = self.unreadable.saturating_sub(self.problems.len() as u64);
        let more = (more > 0).then(|| format!("… and {more} more"));
        self.problems.iter().cloned().chain(more)
    }

    /// The same for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "runs": self.runs, "new_runs": self.begun, "continued": self.continued, "known_before": self.unchanged,
            "recorded": self.recorded, "busy": self.busy, "without_calls": self.empty, "new_spans": self.spans,
            "unfinished": self.open, "unknown_records": self.unknown, "unreadable": self.unreadable,
        })
    }

    /// Adds what could not be read at all.
    pub fn add_problem(&mut self, problem: String) {
        self.unreadable += 1;
        if self.problems.len() < MAX_NAMED {
            self.problems.push(problem);
        }
    }

    /// The new runs and spans in words: `2 new runs, 1 continued, 57 new spans, 40 known before`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut words = vec![counted(self.begun, "new run")];
        let known = self.unchanged;
        let counts = [
            (self.continued, "continued"),
            (known, "known before"),
            (self.empty, "without a call"),
        ];
        words.push(counted(self.spans, "new span"));
        words.extend(
            counts
                .iter()
                .filter(|(count, _)| *count > 0)
                .map(|(count, what)| format!("{count} {what}")),
        );
        words.join(", ")
    }

    /// Further facts for the user, a sentence each without its full stop.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let records: u64 = self.unknown.values().sum();
        if records > 0 {
            let kinds: Vec<&str> = self.unknown.keys().map(String::as_str).take(MAX_NAMED).collect();
            let of = counted(self.unknown.len() as u64, "unknown kind");
            let records = counted(records, "record");
            notes.push(format!(
                "{records} of {of}, the first {MAX_KEPT_RECORDS} of a session kept: {}",
                kinds.join(", ")
            ));
        }
        for (count, what) in [
            (
                self.open,
                "whose last turn has not ended: interrupted, or still going on",
            ),
            (
                self.recorded,
                "left out, which were recorded while they ran: their own runs have more",
            ),
            (self.busy, "left out, which another process is importing"),
        ] {
            if count > 0 {
                notes.push(format!("{} {what}", counted(count, "session")));
            }
        }
        notes
    }
}

/// The sessions of an agent on this machine, and how many of them are imported.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FoundSessions {
    /// The agent.
    pub agent: CodingAgent,
    /// Number of sessions.
    pub sessions: u64,
    /// Number of those whose runs have all of them.
    pub imported: u64,
    /// Number of those that are not imported: without a call, or recorded while they ran.
    pub left_out: u64,
    /// When one of them was changed last.
    pub newest: Option<Timestamp>,
    /// The searched folders.
    pub places: Vec<PathBuf>,
}

impl FoundSessions {
    /// Counts sessions.
    #[must_use]
    pub fn of(
        agent: CodingAgent,
        places: Vec<PathBuf>,
        sessions: &[AgentSession],
        importer: &SessionImporter,
    ) -> Self {
        let newest = sessions.iter().map(AgentSession::modified_ms).max();
        let (complete, others): (Vec<_>, Vec<_>) =
            sessions.iter().partition(|session| importer.is_complete(session));
        let left_out = others.iter().filter(|session| importer.leaves_out(session));
        Self {
            agent,
            sessions: sessions.len() as u64,
            imported: complete.len() as u64,
            left_out: left_out.count() as u64,
            newest: newest.map(|ms| Timestamp::from_unix_nanoseconds(ms.saturating_mul(1_000_000))),
            places,
        }
    }

    /// Returns whether some are not imported.
    #[must_use]
    pub fn has_new(&self) -> bool {
        self.imported + self.left_out < self.sessions
    }

    /// The same in words: `12 sessions, newest 5 min ago, 3 imported`.
    #[must_use]
    pub fn words(&self, now: Timestamp) -> String {
        let Some(newest) = self.newest else {
            let places: Vec<String> = self.places.iter().map(|place| path_below_home(place)).collect();
            return format!("no sessions in {}", places.join(", "));
        };
        let sessions = counted(self.sessions, "session");
        let newest = units::ago(newest, now);
        let left_out = match self.left_out {
            0 => String::new(),
            left_out => format!(", {left_out} without anything to import"),
        };
        format!(
            "{sessions}, newest {newest}, {} imported{left_out}",
            self.imported
        )
    }

    /// The same for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "agent": self.agent.as_str(), "sessions": self.sessions, "imported": self.imported,
            "left_out": self.left_out, "newest": self.newest.map(|newest| newest.to_string()), "places": self.places,
        })
    }
}
