//! One pass over the records of a run: its numbers, its way, and what is found in it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::Write as _;

use serde_json::Value;

use super::missing::MissingSpanSigns;
use super::{CountMismatch, GuardrailStop, RunProfile};
use crate::calls::CallList;
use crate::digest::Hashing;
use crate::not_run::NotRunReader;
use crate::repeats;
use crate::signature::Signature;
use crate::step_kind::StepKind;
use tracer_runs::{RunStatus, has_looped};
use tracer_sdk::format::{
    Counts, ErrorPayload, EventType, OtherMarks, Outcome, Payload, Record, RecordedStatus, RunMeta,
    Timestamp, Usage, error_type, names,
};
use tracer_sdk::loops::Trail;
use tracer_sdk::prices::{CallGroups, CostSum, Prices};

/// By how many microseconds durations may differ: emitters round to milliseconds.
const TOLERANCE_US: u64 = 1_000;

impl RunProfile {
    /// Profile of a run, from its metadata and all its records.
    ///
    /// ```
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_sdk::testing::capture;
    ///
    /// let run = capture(|| tracer_sdk::tool_call("search").record());
    /// assert_eq!(RunProfile::new(&run.meta, run.records).signature.tools, ["search"]);
    /// ```
    #[must_use]
    pub fn new(meta: &RunMeta, records: impl IntoIterator<Item = Record>) -> Self {
        match Self::read(meta, records.into_iter().map(Ok::<_, Infallible>)) {
            Ok(metrics) => metrics,
            Err(never) => match never {},
        }
    }

    /// Profile of a run, from its metadata and records that are read one after the other: a run of any size.
    ///
    /// ```
    /// use tracer_insight::profile::RunProfile;
    /// use tracer_runs::{RunReader, Strictness};
    /// use tracer_sdk::testing::capture;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let directory = capture(|| tracer_sdk::tool_call("search").record()).save(folder.path())?;
    /// let run = RunReader::open(&directory, Strictness::Strict)?;
    /// let metrics = RunProfile::read(run.require_meta()?, run.records.clone())?;
    /// assert_eq!(metrics.step_count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first error that the records give.
    pub fn read<E>(meta: &RunMeta, records: impl IntoIterator<Item = Result<Record, E>>) -> Result<Self, E> {
        let mut gathered = Gathered::default();
        for record in records {
            gathered.take(record?);
        }
        Ok(gathered.finish(meta))
    }
}

#[derive(Default)]
struct Gathered {
    steps: u64,
    counts: Counts,
    /// Tool calls among them that the projection takes for spans of no type.
    unprojected_tool_calls: u64,
    /// Calls that only a stricter reading of the spans makes such.
    also_tool_calls: u64,
    also_llm_calls: u64,
    possible_tools: BTreeMap<String, u64>,
    failed_calls: u64,
    unknown_calls: u64,
    unrecovered: Vec<FailedCall>,
    asked: NotRunReader,
    losses: MissingSpanSigns,
    content: Hashing,
    tokens: u64,
    calls_without_tokens: u64,
    /// The sum of what the calls say of their tokens.
    usage: Usage,
    /// Input for the cost of the calls.
    model_calls: CallGroups,
    /// When the root started, and how it ended.
    start: Option<Timestamp>,
    end: Option<RootEnd>,
    signature: Signature,
    calls: CallList,
    /// Steps that are searched for loops.
    trail: Trail,
    guardrail_errors: Vec<GuardrailStop>,
    /// Calls and structural spans that a guardrail ended.
    guarded_spans: Vec<GuardrailStop>,
}

/// A tool or model with a failed call that waits for a successful one.
struct FailedCall {
    kind: StepKind,
    name: String,
    /// A call after it may have been successful: its end was not seen.
    perhaps_recovered: bool,
}

/// End of the root: status, time and duration.
struct RootEnd {
    status: RecordedStatus,
    instant: Option<Timestamp>,
    duration_ms: Option<u64>,
}

impl Gathered {
    fn take(&mut self, mut record: Record) {
        self.hash(&record);
        self.asked.take(&record);
        // Before its marks are taken, which say that it is unknown.
        let outcome = record.outcome();
        // Before its marks are taken: a replayed call costs nothing.
        self.model_calls.add(&record);
        if let Payload::Unknown { attributes, .. } = &record.payload {
            self.losses.look_at(attributes);
        }
        if record.is_leftover() {
            // The sequence is that of the envelope, where it stays.
            let event_type = record.event_type();
            self.signature.events.push(Cow::Borrowed(event_type.as_str()));
            return;
        }
        let service = record.marks.as_ref().and_then(|marks| marks.service.as_ref());
        if let Some(usage) = service.map(|service| service.usage) {
            self.add_tokens(&usage);
        }
        if record.marks.is_some() || matches!(record.payload, Payload::ToolCall { .. }) {
            let marks = record.marks.take().map(|marks| *marks).unwrap_or_default();
            self.read_strictly(&mut record, marks);
        }
        self.calls.push(&record);
        self.trail.take(&record, &crate::volatile::of_lasting);
        let event_type = record.event_type();
        self.signature.events.push(Cow::Borrowed(event_type.as_str()));
        if !matches!(
            event_type,
            EventType::RunStart | EventType::RunEnd | EventType::Unknown
        ) {
            self.steps += 1;
        }
        if StepKind::from(event_type).is_call() {
            self.failed_calls += u64::from(outcome.is_failure());
            self.unknown_calls += u64::from(outcome == Outcome::Unknown);
            self.follow_failure(&record, outcome);
        }
        match &record.payload {
            Payload::RunEnd { status } => {
                self.end = Some(RootEnd {
                    status: *status,
                    instant: record.ts.parse().ok(),
                    duration_ms: record.duration_ms,
                });
            }
            Payload::LlmCall {
                model, usage, error, ..
            } => {
                self.counts.llm_calls += 1;
                self.add_tokens(usage);
                self.signature.models.push(model.clone());
                self.look_at(&record, error.as_ref());
                // Many calls, few models.
                if self.signature.models.len() > 64 {
                    sort_names(&mut self.signature.models);
                }
            }
            Payload::ToolCall { tool_name, error, .. } => {
                self.counts.tool_calls += 1;
                self.signature.tools.push(tool_name.clone());
                self.look_at(&record, error.as_ref());
            }
            Payload::Unknown { error, .. } => self.look_at(&record, error.as_ref()),
            Payload::Error(error) => {
                self.counts.errors += 1;
                if error_type::is_guardrail(&error.error_type) {
                    self.guardrail_errors.push(stop(&record, error));
                }
            }
            Payload::LoopWarning { .. } => self.counts.loop_warnings += 1,
            Payload::RunStart { .. } => self.start = record.ts.parse().ok(),
            Payload::StateUpdate { .. } => {}
        }
    }

    /// Adds a failed call to those that wait for a successful one: of the same tool, or of any model.
    fn follow_failure(&mut self, record: &Record, outcome: Outcome) {
        let kind = StepKind::from(record.event_type());
        let name = match &record.payload {
            Payload::LlmCall { model, .. } => model,
            Payload::ToolCall { tool_name, .. } => tool_name,
            _ => return,
        };
        let is_same = |failed: &FailedCall| {
            failed.kind == kind && (failed.name == *name || matches!(record.payload, Payload::LlmCall { .. }))
        };
        let same = self.unrecovered.iter_mut().filter(|failed| is_same(failed));
        match outcome {
            Outcome::Ok => self.unrecovered.retain(|waiting| !is_same(waiting)),
            Outcome::Unknown => same.for_each(|failed| failed.perhaps_recovered = true),
            _ if outcome.is_failure() => {
                let waiting = same.map(|failed| failed.perhaps_recovered = false).count();
                if waiting == 0 {
                    self.unrecovered.push(FailedCall {
                        kind,
                        name: name.clone(),
                        perhaps_recovered: false,
                    });
                }
            }
            _ => {}
        }
    }

    fn add_tokens(&mut self, usage: &Usage) {
        self.usage.add(usage);
        match reported_tokens(usage) {
            Some(tokens) => self.tokens = self.tokens.saturating_add(tokens),
            None => self.calls_without_tokens += 1,
        }
    }

    /// Hashes the data that two real runs never share: the time of everything in them, to the microsecond.
    fn hash(&mut self, record: &Record) {
        let instant = record.ts.parse().map_or(0, Timestamp::unix_microseconds);
        let duration = record.duration_ms;
        // Hashing does not fail.
        let _ = writeln!(
            self.content,
            "{instant} {duration:?} {}",
            record.event_type().as_str()
        );
    }

    /// A tool is a tool however it is spelt (gate, *Evidence*): a call identified only by the name of its span is a
    /// tool call like any other, and other tools that a span names may have been called, too.
    fn read_strictly(&mut self, record: &mut Record, marks: OtherMarks) {
        let mut others = marks.tools;
        match &mut record.payload {
            Payload::ToolCall { tool_name, .. } => {
                // Without an attribute the name of the span is taken for the tool, and that begins with the operation.
                let is_name_of_span = *tool_name == record.name && is_tool_operation(&record.name);
                // The tool in the name is recorded after those in the attributes.
                if is_name_of_span && let Some(tool) = others.pop() {
                    others.push(std::mem::replace(tool_name, tool));
                }
                if let Some(usage) = marks.usage {
                    self.also_llm_calls += 1;
                    self.add_tokens(&usage);
                }
            }
            Payload::Unknown {
                attributes,
                status,
                error,
            } if !others.is_empty() => {
                let mut spellings = names::TOOL_CALL_ARGUMENTS.spellings().iter();
                let args = spellings.find_map(|key| attributes.get(*key));
                self.unprojected_tool_calls += 1;
                record.payload = Payload::ToolCall {
                    tool_name: others.remove(0),
                    args: args.cloned().unwrap_or(Value::Null),
                    result: Value::Null,
                    status: *status,
                    error: error.take(),
                };
            }
            _ if !others.is_empty() => self.also_tool_calls += 1,
            _ => {}
        }
        for tool in others {
            *self.possible_tools.entry(tool).or_default() += 1;
        }
    }

    /// Keeps a span that a guardrail ended: the program may have swallowed the error further up.
    fn look_at(&mut self, record: &Record, error: Option<&ErrorPayload>) {
        self.guarded_spans.extend(
            error
                .filter(|error| error_type::is_guardrail(&error.error_type))
                .map(|error| stop(record, error)),
        );
    }

    fn finish(mut self, meta: &RunMeta) -> RunProfile {
        let status = status(meta.status, self.end.as_ref().map(|end| end.status));
        let projected = Counts {
            tool_calls: self.counts.tool_calls - self.unprojected_tool_calls,
            ..self.counts
        };
        let mut mismatches = mismatches(meta, projected, status);
        let latency_ms = self.latency_ms(meta, &mut mismatches);
        let missing = self.losses.missing(meta, projected);
        self.counts.tool_calls += self.also_tool_calls;
        self.counts.llm_calls += self.also_llm_calls;
        let signature = &mut self.signature;
        sort_names(&mut signature.models);
        status.as_str().clone_into(&mut signature.status);
        let repeats = repeats::find(&self.calls, &self.trail);
        let looped = || has_looped(meta, || !self.trail.has_warnings() || self.trail.has_loop());
        let run_status = RunStatus::recorded(meta, || false, looped);
        let (perhaps_recovered, unrecovered): (Vec<_>, Vec<_>) = self
            .unrecovered
            .into_iter()
            .partition(|failed| failed.perhaps_recovered);
        let names = |calls: Vec<FailedCall>| calls.into_iter().map(|failed| failed.name).collect();
        let is_whole = status != RecordedStatus::Running && meta.unfinished_spans() == 0;
        let not_run = self.asked.finish(is_whole);
        let profile = RunProfile {
            trace_id: meta.trace_id,
            run_name: meta.run_name.clone(),
            status,
            run_status,
            step_count: self.steps,
            counts: self.counts,
            cost_tokens: (self.calls_without_tokens == 0).then_some(self.tokens),
            calls_without_tokens: self.calls_without_tokens,
            tokens: self.usage,
            model_calls: self.model_calls,
            cost: CostSum::default(),
            also_llm_calls: self.also_llm_calls,
            latency_ms,
            started_at: self.start,
            possible_tools: self.possible_tools,
            failed_calls: self.failed_calls,
            unknown_calls: self.unknown_calls,
            unrecovered_calls: names(unrecovered),
            perhaps_recovered_calls: names(perhaps_recovered),
            scores: BTreeMap::new(),
            not_run_calls: not_run.map(|calls| calls.len() as u64),
            missing,
            content: self.content.first_bits(),
            mismatches,
            repeats: repeats.same,
            unknown_repeats: repeats.unknown,
            harmless_warnings: repeats.harmless_warnings,
            open_warnings: repeats.open_warnings,
            signature: self.signature,
            calls: self.calls,
            guardrail_stops: if self.guardrail_errors.is_empty() {
                self.guarded_spans
            } else {
                self.guardrail_errors
            },
        };
        profile.priced(&Prices::default())
    }
}

impl Gathered {
    /// Duration of the run in milliseconds, by its timestamps; `None` when a reported duration differs.
    fn latency_ms(&self, meta: &RunMeta, mismatches: &mut Vec<CountMismatch>) -> Option<u64> {
        let end = self.end.as_ref()?;
        let took = end.instant?.microseconds_since(self.start?);
        // A run that ends before it starts took no time that anybody knows.
        let took = u64::try_from(took).ok();
        let mut is_certain = true;
        for (source, reported) in [
            ("meta.json", meta.duration_ms),
            ("the root span", end.duration_ms),
        ] {
            let Some(reported) = reported else {
                continue;
            };
            let differs =
                took.is_none_or(|took| took.abs_diff(reported.saturating_mul(1_000)) > TOLERANCE_US);
            if differs {
                is_certain = false;
                mismatches.push(CountMismatch {
                    source: source.into(),
                    field: "duration_ms".into(),
                    reported: reported.to_string(),
                    found: took.map_or_else(
                        || "less than nothing".to_owned(),
                        |took| (took / 1_000).to_string(),
                    ),
                    found_by: "the timestamps give".into(),
                });
            }
        }
        took.filter(|_| is_certain).map(|took| took / 1_000)
    }
}

/// Returns whether a name is of the form `execute_tool NAME`.
fn is_tool_operation(name: &str) -> bool {
    const OPERATION: &str = "execute_tool";
    name.get(..OPERATION.len())
        .is_some_and(|word| word.eq_ignore_ascii_case(OPERATION))
}

fn sort_names(names: &mut Vec<String>) {
    names.sort_unstable();
    names.dedup();
}

/// The tokens of a call, when all of them are known. The total that the projection gives for one known part is that part
/// and no total.
fn reported_tokens(usage: &Usage) -> Option<u64> {
    match (usage.prompt_tokens, usage.completion_tokens) {
        // A total below its parts is none of both.
        (Some(prompt), Some(completion)) => {
            let parts = prompt.saturating_add(completion);
            usage.total_tokens.filter(|total| *total >= parts)
        }
        (None, None) => usage.total_tokens,
        (Some(part), None) | (None, Some(part)) => usage.total_tokens.filter(|total| *total != part),
    }
}

/// A run has ended when both its metadata and its root say so, and it ended well when both say so.
fn status(reported: RecordedStatus, root: Option<RecordedStatus>) -> RecordedStatus {
    match (reported, root) {
        (RecordedStatus::Running, _) | (RecordedStatus::Ok, None | Some(RecordedStatus::Running)) => {
            RecordedStatus::Running
        }
        (RecordedStatus::Ok, Some(RecordedStatus::Ok)) => RecordedStatus::Ok,
        (RecordedStatus::Error, _) | (RecordedStatus::Ok, Some(RecordedStatus::Error)) => {
            RecordedStatus::Error
        }
    }
}

fn stop(record: &Record, error: &ErrorPayload) -> GuardrailStop {
    GuardrailStop {
        event_id: record.event_id.clone(),
        error_type: error.error_type.clone(),
    }
}

fn mismatches(meta: &RunMeta, counts: Counts, status: RecordedStatus) -> Vec<CountMismatch> {
    let reported = meta.counts;
    let counted = [
        ("counts.llm_calls", reported.llm_calls, counts.llm_calls),
        ("counts.tool_calls", reported.tool_calls, counts.tool_calls),
        ("counts.errors", reported.errors, counts.errors),
        (
            "counts.loop_warnings",
            reported.loop_warnings,
            counts.loop_warnings,
        ),
    ];
    let mut mismatches: Vec<CountMismatch> = counted
        .into_iter()
        .filter(|(_, reported, found)| reported != found)
        .map(|(field, reported, found)| CountMismatch::of_meta(field, &reported, &found))
        .collect();
    if meta.status != status {
        mismatches.push(CountMismatch::of_meta(
            "status",
            &meta.status.as_str(),
            &status.as_str(),
        ));
    }
    mismatches
}
