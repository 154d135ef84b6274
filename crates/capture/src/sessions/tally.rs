//! Counts of sessions on disk and of an import, and the sentences about both.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};
use tracer_insight::text::{counted, path_below_home};
use tracer_insight::units;
use tracer_sdk::format::{Timestamp, TraceId};

use super::discover::AgentSession;
use super::importer::{SessionError, SessionImport, SessionImporter, SessionOutcome};
use super::transcript::MAX_KEPT_RECORDS;
use crate::causes::causes;
use crate::runs::CodingAgent;

/// Problems and kinds that are named; the rest are counted.
const MAX_NAMED: usize = 5;

/// The sessions of an import, however often each was imported.
#[derive(Debug, Clone, Default)]
pub struct ImportTally {
    sessions: BTreeMap<TraceId, SessionImport>,
    /// Files that could not be read at all, each with its reason.
    problems: Vec<String>,
}

impl ImportTally {
    /// Adds the import of a session.
    pub fn add(&mut self, imported: Result<SessionImport, SessionError>) {
        match imported {
            Ok(import) => self.add_import(import),
            Err(error) => {
                let causes = causes(&error).map(|cause| format!(": {cause}"));
                self.add_problem(format!("{error}{}", causes.collect::<String>()));
            }
        }
    }

    /// Adds an import; one of the same session that is later says more than the earlier one.
    fn add_import(&mut self, mut import: SessionImport) {
        let known = self.sessions.get(&import.run);
        let known = known.filter(|known| known.outcome != SessionOutcome::Busy);
        if let Some(known) = known {
            if import.outcome == SessionOutcome::Busy {
                return;
            }
            if known.outcome == SessionOutcome::Begun || import.outcome == SessionOutcome::Unchanged {
                import.outcome = known.outcome;
            }
            import.spans += known.spans;
        }
        self.sessions.insert(import.run, import);
    }

    /// Adds a later import of the same sessions.
    pub fn join(&mut self, later: Self) {
        later
            .sessions
            .into_values()
            .for_each(|import| self.add_import(import));
        later
            .problems
            .into_iter()
            .for_each(|problem| self.add_problem(problem));
    }

    /// Adds what could not be read at all.
    pub fn add_problem(&mut self, problem: String) {
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Number of sessions with an outcome.
    #[must_use]
    pub fn count(&self, outcome: SessionOutcome) -> u64 {
        self.sum(|import| u64::from(import.outcome == outcome))
    }

    /// Number of spans that are new.
    #[must_use]
    pub fn spans(&self) -> u64 {
        self.sum(|import| import.spans)
    }

    /// Number of sessions whose last turn has not ended.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.sum(|import| u64::from(import.is_open))
    }

    /// Number of lines and files that could not be read.
    #[must_use]
    pub fn unreadable(&self) -> u64 {
        self.problems.len() as u64 + self.sum(|import| import.unreadable)
    }

    fn sum(&self, of: impl Fn(&SessionImport) -> u64) -> u64 {
        self.sessions.values().map(of).sum()
    }

    /// The runs that were begun or continued.
    #[must_use]
    pub fn runs(&self) -> Vec<TraceId> {
        let has_more = |import: &&SessionImport| {
            matches!(import.outcome, SessionOutcome::Begun | SessionOutcome::Continued)
        };
        let changed = self.sessions.values().filter(has_more);
        changed.map(|import| import.run).collect()
    }

    /// Kinds of records that were not known, each with their number.
    #[must_use]
    pub fn unknown(&self) -> BTreeMap<&str, u64> {
        let mut unknown = BTreeMap::new();
        for (kind, number) in self.sessions.values().flat_map(|import| &import.unknown) {
            *unknown.entry(kind.as_str()).or_default() += number;
        }
        unknown
    }

    /// Returns whether there was no session at all.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.sessions.is_empty() && self.problems.is_empty()
    }

    /// The problems that are named, and how many more there are.
    pub fn problem_words(&self) -> impl Iterator<Item = String> {
        let problems = self.sessions.values().flat_map(|import| &import.problems);
        let named: Vec<String> = problems.chain(&self.problems).take(MAX_NAMED).cloned().collect();
        let more = self.unreadable().saturating_sub(named.len() as u64);
        let more = (more > 0).then(|| format!("… and {more} more"));
        named.into_iter().chain(more)
    }

    /// The same for programs.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({
            "runs": self.runs(), "new_runs": self.count(SessionOutcome::Begun),
            "continued": self.count(SessionOutcome::Continued), "known_before": self.count(SessionOutcome::Unchanged),
            "recorded": self.count(SessionOutcome::Recorded), "busy": self.count(SessionOutcome::Busy),
            "without_calls": self.count(SessionOutcome::Empty), "new_spans": self.spans(), "unfinished": self.open(),
            "unknown_records": self.unknown(), "unreadable": self.unreadable(),
        })
    }

    /// The new runs and spans in words: `2 new runs, 57 new spans, 1 continued, 40 known before`.
    #[must_use]
    pub fn words(&self) -> String {
        let new_runs = counted(self.count(SessionOutcome::Begun), "new run");
        let mut words = vec![new_runs, counted(self.spans(), "new span")];
        for (outcome, what) in [
            (SessionOutcome::Continued, "continued"),
            (SessionOutcome::Unchanged, "known before"),
            (SessionOutcome::Empty, "without a call"),
        ] {
            let count = self.count(outcome);
            words.extend((count > 0).then(|| format!("{count} {what}")));
        }
        words.join(", ")
    }

    /// Further facts for the user, a sentence each without its full stop.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let unknown = self.unknown();
        let kinds: Vec<&str> = unknown.keys().copied().take(MAX_NAMED).collect();
        let unknown = (!kinds.is_empty()).then(|| {
            let records = counted(unknown.values().sum(), "record");
            let of = counted(unknown.len() as u64, "unknown kind");
            let kinds = kinds.join(", ");
            format!("{records} of {of}, the first {MAX_KEPT_RECORDS} of a session kept: {kinds}")
        });
        let (recorded, busy) = (SessionOutcome::Recorded, SessionOutcome::Busy);
        let sessions = [
            (
                self.open(),
                "whose last turn has not ended: interrupted, or still going on",
            ),
            (
                self.count(recorded),
                "left out, which were recorded while they ran: their own runs have more",
            ),
            (self.count(busy), "left out, which another process is importing"),
        ];
        let sessions = sessions.into_iter().filter(|(count, _)| *count > 0);
        let sessions = sessions.map(|(count, what)| format!("{} {what}", counted(count, "session")));
        unknown.into_iter().chain(sessions).collect()
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
