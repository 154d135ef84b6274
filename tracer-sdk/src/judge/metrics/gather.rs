//! One pass over the records of a run: its numbers, its way, and what is found in it.

use std::borrow::Cow;
use std::convert::Infallible;

use super::super::compare::CallList;
use super::super::repeats;
use super::super::signature::Signature;
use super::{CountMismatch, GuardrailStop, RunMetrics};
use crate::format::{Counts, ErrorPayload, EventType, Payload, Record, RunMeta, RunStatus, Usage};

/// By how many milliseconds durations may differ: emitters round.
const TOLERANCE_MS: u64 = 1;

impl RunMetrics {
    /// What a run did, from its metadata and all its records.
    ///
    /// ```
    /// # let recorded = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/recorded.rs"));
    /// use tracer_sdk::judge::RunMetrics;
    ///
    /// let run = recorded(|| tracer_sdk::tool_call("search").record());
    /// assert_eq!(RunMetrics::of(&run.meta, run.records()).signature.tool_call_sequence, ["search"]);
    /// ```
    #[must_use]
    pub fn of(meta: &RunMeta, records: impl IntoIterator<Item = Record>) -> Self {
        match Self::gather(meta, records.into_iter().map(Ok::<_, Infallible>)) {
            Ok(metrics) => metrics,
            Err(never) => match never {},
        }
    }

    /// What a run did, from its metadata and records that are read one after the other: a run of any size.
    ///
    /// ```
    /// # let (_folder, directory) = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/stored.rs"));
    /// use tracer_sdk::judge::RunMetrics;
    ///
    /// let run = tracer_sdk::read::stream_run(&directory)?;
    /// let metrics = RunMetrics::gather(&run.meta, run.records)?;
    /// assert_eq!(metrics.step_count, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first error that the records give.
    pub fn gather<E>(
        meta: &RunMeta,
        records: impl IntoIterator<Item = Result<Record, E>>,
    ) -> Result<Self, E> {
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
    tokens: u64,
    calls_without_tokens: u64,
    /// How the root ended, and how long it took.
    end: Option<(RunStatus, Option<u64>)>,
    signature: Signature,
    calls: CallList,
    guardrail_events: Vec<Record>,
    /// Calls and structural spans that a guardrail ended.
    guarded_spans: Vec<GuardrailStop>,
}

impl Gathered {
    fn take(&mut self, record: Record) {
        self.calls.push(&record);
        let event_type = record.event_type();
        self.signature
            .event_type_sequence
            .push(Cow::Borrowed(event_type.as_str()));
        if !matches!(
            event_type,
            EventType::RunStart | EventType::RunEnd | EventType::Unknown
        ) {
            self.steps += 1;
        }
        match &record.payload {
            Payload::RunEnd { status } => self.end = Some((*status, record.duration_ms)),
            Payload::LlmCall {
                model, usage, error, ..
            } => {
                self.counts.llm_calls += 1;
                match told_tokens(usage) {
                    Some(tokens) => self.tokens = self.tokens.saturating_add(tokens),
                    None => self.calls_without_tokens += 1,
                }
                self.signature.llm_models_used.push(model.clone());
                self.look_at(&record, error.as_ref());
                // Many calls, few models.
                if self.signature.llm_models_used.len() > 64 {
                    sort_names(&mut self.signature.llm_models_used);
                }
            }
            Payload::ToolCall { tool_name, error, .. } => {
                self.counts.tool_calls += 1;
                self.signature.tool_call_sequence.push(tool_name.clone());
                self.look_at(&record, error.as_ref());
            }
            Payload::Unknown { error, .. } => self.look_at(&record, error.as_ref()),
            Payload::Error(error) => {
                self.counts.errors += 1;
                if is_guardrail(error) {
                    self.guardrail_events.push(record);
                }
            }
            Payload::LoopWarning { .. } => self.counts.loop_warnings += 1,
            Payload::RunStart { .. } | Payload::StateUpdate { .. } => {}
        }
    }

    /// Keeps a span that a guardrail ended: the program may have swallowed the error further up.
    fn look_at(&mut self, record: &Record, error: Option<&ErrorPayload>) {
        self.guarded_spans.extend(
            error
                .filter(|error| is_guardrail(error))
                .map(|error| stop(record, error)),
        );
    }

    fn finish(mut self, meta: &RunMeta) -> RunMetrics {
        let status = status(meta.status, self.end.map(|(status, _)| status));
        let latency_ms = self
            .end
            .and_then(|(_, duration_ms)| duration_ms)
            .or(meta.duration_ms);
        let signature = &mut self.signature;
        sort_names(&mut signature.llm_models_used);
        for tool in &signature.tool_call_sequence {
            match signature.tool_call_counts.get_mut(tool) {
                Some(count) => *count += 1,
                None => {
                    signature.tool_call_counts.insert(tool.clone(), 1);
                }
            }
        }
        signature.tool_path = signature.tool_call_counts.keys().cloned().collect();
        status.as_str().clone_into(&mut signature.final_status);
        let told = self
            .guardrail_events
            .iter()
            .filter_map(|record| match &record.payload {
                Payload::Error(error) => Some(stop(record, error)),
                _ => None,
            });
        let told: Vec<GuardrailStop> = told.collect();
        RunMetrics {
            trace_id: meta.trace_id,
            run_name: meta.run_name.clone(),
            status,
            step_count: self.steps,
            counts: self.counts,
            cost_tokens: (self.calls_without_tokens == 0).then_some(self.tokens),
            calls_without_tokens: self.calls_without_tokens,
            latency_ms,
            mismatches: mismatches(meta, self.counts, status, latency_ms),
            repeats: repeats::find(&self.calls),
            signature: self.signature,
            calls: self.calls,
            guardrail_stops: if told.is_empty() { self.guarded_spans } else { told },
            guardrail_events: self.guardrail_events,
        }
    }
}

fn sort_names(names: &mut Vec<String>) {
    names.sort_unstable();
    names.dedup();
}

/// The tokens of a call, when it tells all of them. The total that the projection gives for one known part is that part
/// and no total.
fn told_tokens(usage: &Usage) -> Option<u64> {
    match (usage.prompt_tokens, usage.completion_tokens) {
        (Some(_), Some(_)) | (None, None) => usage.total_tokens,
        (Some(part), None) | (None, Some(part)) => usage.total_tokens.filter(|total| *total != part),
    }
}

/// A run has ended when both its metadata and its root say so, and it ended well when both say so.
fn status(told: RunStatus, root: Option<RunStatus>) -> RunStatus {
    match (told, root) {
        (RunStatus::Running, _) | (RunStatus::Ok, None | Some(RunStatus::Running)) => RunStatus::Running,
        (RunStatus::Ok, Some(RunStatus::Ok)) => RunStatus::Ok,
        (RunStatus::Error, _) | (RunStatus::Ok, Some(RunStatus::Error)) => RunStatus::Error,
    }
}

/// Whether an error is that of a guardrail, whatever module the emitter names with it.
fn is_guardrail(error: &ErrorPayload) -> bool {
    let class = error.error_type.rsplit(['.', ':']).next();
    matches!(class, Some("GuardrailExceeded" | "LoopAbort"))
}

fn stop(record: &Record, error: &ErrorPayload) -> GuardrailStop {
    GuardrailStop {
        event_id: record.event_id.clone(),
        error_type: error.error_type.clone(),
    }
}

fn mismatches(
    meta: &RunMeta,
    counts: Counts,
    status: RunStatus,
    latency_ms: Option<u64>,
) -> Vec<CountMismatch> {
    let told = meta.counts;
    let counted = [
        ("counts.llm_calls", told.llm_calls, counts.llm_calls),
        ("counts.tool_calls", told.tool_calls, counts.tool_calls),
        ("counts.errors", told.errors, counts.errors),
        ("counts.loop_warnings", told.loop_warnings, counts.loop_warnings),
    ];
    let duration = meta
        .duration_ms
        .zip(latency_ms)
        .filter(|(told, found)| told.abs_diff(*found) > TOLERANCE_MS)
        .map(|(told, found)| ("duration_ms", told, found));
    let mut mismatches: Vec<CountMismatch> = counted
        .into_iter()
        .filter(|(_, told, found)| told != found)
        .chain(duration)
        .map(|(field, told, found)| CountMismatch {
            field,
            told: told.to_string(),
            found: found.to_string(),
        })
        .collect();
    if meta.status != status {
        mismatches.push(CountMismatch {
            field: "status",
            told: meta.status.as_str().to_owned(),
            found: status.as_str().to_owned(),
        });
    }
    mismatches
}
