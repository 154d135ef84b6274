//! [`RunHead`]: what every surface shows of a run as a whole, above its steps.

use tracer_sdk::format::{ForkOrigin, Problem, RunMeta, Tags, Timestamp};

use crate::status::RunStatus;
use crate::steps::Step;
use crate::totals::Totals;
use crate::value_summary;
use crate::{summary, text, units};

/// Length of an abbreviated run ID.
const SHORT_ID_LENGTH: usize = 8;
/// Longest change of a fork that is shown, in columns.
const MAX_CHANGE_COLUMNS: usize = 80;

/// A run as a whole: its outcome, its counts, and its problems.
#[derive(Debug, Clone)]
pub struct RunHead {
    /// Its name; `None` when it has none.
    pub name: Option<String>,
    /// Its status.
    pub status: RunStatus,
    /// When it started.
    pub started: Option<Timestamp>,
    /// Its duration, or the time that it has been running, in microseconds.
    pub duration: Option<u64>,
    /// Its tags.
    pub tags: Tags,
    /// The sums over all its steps.
    pub totals: Totals,
    /// The run that it was forked from, in a sentence without its full stop: `forked from 28eead5e at call 3`.
    pub origin: Option<String>,
    /// Whatever it was warned of is known to be no loop.
    pub is_free_of_loops: bool,
    /// Gaps in its recording, see [`recording_remarks`].
    pub remarks: Vec<String>,
    /// Bytes of a last line that were left out.
    pub cut_tail: Option<u64>,
    /// Its problems.
    pub problems: Vec<Problem>,
    /// Number of further problems.
    pub more_problems: u64,
}

/// The problems of a run as a list: a heading, the first ones, and how many more there are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemList {
    /// `2 problems; what can be read is shown:`
    pub heading: String,
    /// The first problems.
    pub problems: Vec<String>,
    /// `… and 3 more`
    pub more: Option<String>,
}

impl RunHead {
    /// Head of a run from its metadata alone, where that can be read; the rest is that of a run without steps.
    ///
    /// ```
    /// use tracer_insight::{run_head::RunHead, status::RunStatus};
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| ());
    /// let head = RunHead::of_meta(Some(&run.meta), RunStatus::Ok);
    /// assert_eq!(head.name.as_deref(), Some("captured"));
    /// assert_eq!(head.started, Some(run.meta.started_at.instant()));
    /// ```
    #[must_use]
    pub fn of_meta(meta: Option<&RunMeta>, status: RunStatus) -> Self {
        Self {
            name: meta.and_then(|meta| meta.run_name.clone()),
            status,
            started: meta.map(|meta| meta.started_at.instant()),
            duration: meta.and_then(|meta| duration_so_far(meta, status)),
            tags: Tags::default(),
            totals: Totals::default(),
            origin: meta.and_then(fork_sentence),
            is_free_of_loops: status == RunStatus::Ok || meta.and_then(RunMeta::loops) == Some(0),
            remarks: meta.map(recording_remarks).unwrap_or_default(),
            cut_tail: None,
            problems: Vec::new(),
            more_problems: 0,
        }
    }

    /// Its name on one line, or a word for none.
    pub fn display_name(&self) -> String {
        display_name(self.name.as_deref())
    }

    /// The outcome in one sentence. `steps` are all steps, or the key steps of a long run.
    pub fn sentence(&self, steps: &[Step<'_>]) -> String {
        summary::sentence(
            self.status,
            steps,
            self.totals_beyond(steps),
            self.duration.filter(|_| self.status == RunStatus::Running),
            self.problem_count() > 0,
        )
        .plain()
    }

    /// Its totals where it has more steps than these.
    pub(crate) fn totals_beyond(&self, steps: &[Step<'_>]) -> Option<&Totals> {
        Some(&self.totals).filter(|totals| (steps.len() as u64) < totals.steps)
    }

    /// Its counts in words: see [`Totals::words`].
    pub fn facts(&self) -> Vec<String> {
        let ended_ok = matches!(self.status, RunStatus::Ok | RunStatus::Looped);
        self.totals.words(ended_ok, self.is_free_of_loops)
    }

    /// Its tags as they are given, each on one line: `commit=3f2a`.
    pub fn tag_words(&self) -> Vec<String> {
        tag_words(self.tags.iter())
    }

    /// Its origin, the remarks, and what was left out of the end of the log, each a sentence without its full stop.
    pub fn notices(&self) -> impl Iterator<Item = String> {
        let cut = self.cut_tail.map(|bytes| {
            format!(
                "the last line of spans.jsonl is cut short and left out ({})",
                text::counted(bytes, "byte")
            )
        });
        self.origin.iter().chain(&self.remarks).cloned().chain(cut)
    }

    /// Number of all problems.
    pub fn problem_count(&self) -> u64 {
        self.more_problems.saturating_add(self.problems.len() as u64)
    }

    /// The problems, at most `max` of them by name; `None` for a run without any.
    pub fn problem_list(&self, max: usize) -> Option<ProblemList> {
        let all = self.problem_count();
        let hidden = all.saturating_sub(max as u64);
        (all > 0).then(|| ProblemList {
            heading: format!("{}; what can be read is shown:", text::counted(all, "problem")),
            problems: self.problems.iter().take(max).map(ToString::to_string).collect(),
            more: (hidden > 0).then(|| format!("… and {hidden} more")),
        })
    }
}

/// Tags as they are given, each on one line: `commit=3f2a`.
pub fn tag_words<Text: AsRef<str>>(tags: impl IntoIterator<Item = (Text, Text)>) -> Vec<String> {
    let word =
        |(key, value): (Text, Text)| value_summary::label(&format!("{}={}", key.as_ref(), value.as_ref()));
    tags.into_iter().map(word).collect()
}

/// Shown for the name of a run that has none.
pub const UNNAMED: &str = "(unnamed)";

/// The name of a run on one line, or [`UNNAMED`].
pub fn display_name(name: Option<&str>) -> String {
    value_summary::label(name.unwrap_or(UNNAMED))
}

/// The duration of a run, or the time that it has been running, in microseconds.
fn duration_so_far(meta: &RunMeta, status: RunStatus) -> Option<u64> {
    match status {
        RunStatus::Running => u64::try_from(units::now().microseconds_since(meta.started_at.instant())).ok(),
        _ => units::run_duration(meta),
    }
}

/// Sentence about the fork of a run: `forked from 28eead5e at call 3: edited answer of call 3`; `None` for one that
/// was not.
fn fork_sentence(meta: &RunMeta) -> Option<String> {
    let origin = meta.fork()?;
    let id = origin.run.to_string();
    let short = id.get(..SHORT_ID_LENGTH).unwrap_or(&id);
    Some(format!("forked from {short} {}", fork_place(&origin)))
}

/// `at call 3: edited answer of call 3`
pub(crate) fn fork_place(origin: &ForkOrigin) -> String {
    let changes: Vec<String> = origin
        .changes
        .iter()
        .map(|change| text::one_line(change, MAX_CHANGE_COLUMNS))
        .collect();
    match changes.as_slice() {
        [] => format!("at call {}", origin.at),
        changes => format!("at call {}: {}", origin.at, changes.join(", ")),
    }
}

/// Gaps in the recording of a run and spans after its end, as its metadata has them, each a sentence without its full stop;
/// none where everything was recorded in time.
pub fn recording_remarks(meta: &RunMeta) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(transcript) = meta.transcript() {
        let agent = value_summary::label(&transcript.agent);
        remarks.push(format!(
            "from a transcript of {agent}: calls that it hides are absent"
        ));
        if transcript.is_open {
            remarks.push("its last turn has not ended: interrupted, or still going on".to_owned());
        }
        if transcript.unknown_records > 0 {
            let records = text::counted(transcript.unknown_records, "record");
            let kinds = text::counted(transcript.unknown_kinds, "unknown kind");
            remarks.push(format!("{records} of {kinds}, kept with the root span"));
        }
        if transcript.unreadable_lines > 0 {
            let lines = text::counted(transcript.unreadable_lines, "line");
            remarks.push(format!("{lines} of the transcript could not be read"));
        }
    }
    if let Some(dropped) = meta.dropped() {
        let spans = text::counted(dropped.spans, "span");
        remarks.push(format!("{spans} could not be written: {}", dropped.reason));
    }
    if meta.left_out() > 0 {
        let parts = text::counted(meta.left_out(), "part");
        remarks.push(format!(
            "{parts} of records were left out: more attributes, logs, links, errors or streamed pieces than are kept"
        ));
    }
    if meta.unattached_records() > 0 {
        let records = text::counted(meta.unattached_records(), "record");
        remarks.push(format!(
            "{records} found no run: several runs were live, and the thread or task was given none of them"
        ));
    }
    if meta.unfinished_spans() > 0 {
        let spans = text::counted(meta.unfinished_spans(), "span");
        remarks.push(format!("{spans} had not ended when the run did"));
    }
    if meta.late_spans() > 0 {
        let spans = text::counted(meta.late_spans(), "span");
        remarks.push(format!("{spans} ended after the run had ended"));
    }
    if meta.began_before_root_ms() > 0 {
        let early = units::duration(meta.began_before_root_ms().saturating_mul(1_000));
        remarks.push(format!(
            "clocks differ: a span began {early} before the run did, and the run's duration covers it"
        ));
    }
    remarks
}

/// Number of steps whose place was guessed, as a sentence without its full stop.
pub fn guess_remark(guessed_places: u64) -> Option<String> {
    let steps = text::counted(guessed_places, "step");
    let were = if guessed_places == 1 { "was" } else { "were" };
    (guessed_places > 0).then(|| format!("{steps} {were} placed by guess: nothing said what called them"))
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};
    use tracer_sdk::format::{Counts, RecordedStatus};

    use super::*;

    /// The metadata of a run, with these further keys.
    pub(crate) fn meta_with(additional: Value) -> RunMeta {
        RunMeta {
            spec_version: None,
            trace_id: "0123456789abcdef0123456789abcdef".parse().unwrap(),
            run_name: None,
            started_at: "2026-11-21T01:14:27Z".parse().unwrap(),
            ended_at: None,
            duration_ms: None,
            status: RecordedStatus::Ok,
            counts: Counts::default(),
            additional: serde_json::from_value(additional).unwrap(),
        }
    }

    #[test]
    fn what_was_judged_no_loop_is_no_warning() {
        let warned = |status, additional: Value| {
            let mut head = RunHead::of_meta(Some(&meta_with(additional)), status);
            head.totals.loop_warnings = 1;
            head.facts().contains(&"1 loop warning".to_owned())
        };
        assert!(warned(RunStatus::Looped, json!({})));
        assert!(warned(RunStatus::Failed, json!({"loops": 1})) && warned(RunStatus::Failed, json!({})));
        assert!(!warned(RunStatus::Failed, json!({"loops": 0})));
        assert!(!warned(RunStatus::Ok, json!({})));
    }

    #[test]
    fn remarks_name_what_is_missing_and_what_came_late() {
        let remarks = |additional: Value| recording_remarks(&meta_with(additional));
        assert_eq!(remarks(json!({})), Vec::<String>::new());
        assert_eq!(
            remarks(json!({"late_spans": 0, "unattached": "x", "dropped": 1})),
            Vec::<String>::new()
        );
        assert_eq!(
            remarks(json!({
                "dropped": {"spans": 1, "reason": "the disk is full"},
                "left_out": 4,
                "unattached": 2,
                "unfinished_spans": 1,
                "late_spans": 3,
            })),
            [
                "1 span could not be written: the disk is full",
                "4 parts of records were left out: more attributes, logs, links, errors or streamed pieces than are kept",
                "2 records found no run: several runs were live, and the thread or task was given none of them",
                "1 span had not ended when the run did",
                "3 spans ended after the run had ended",
            ]
        );
        assert_eq!(
            remarks(json!({"dropped": {"spans": 2}})),
            ["2 spans could not be written: no reason is given"]
        );
    }
}
