//! The steps of a run: its records without start and end, numbered as they happened and ordered as they are nested.

use std::collections::HashMap;

use serde_json::Value;
use tracer_sdk::format::{ErrorPayload, Outcome, Payload, Record, SpanRecord, Timestamp};
use tracer_sdk::loops;
use tracer_sdk::prices::{CallCost, Prices};

use crate::line::Tone;
use crate::step_kind::StepKind;
use crate::step_order::{NONE, for_each_nested};
use crate::step_summary;
use crate::step_summary::StepSummary;
pub use crate::step_summary::end_word;
use crate::text;
use crate::units;
use crate::value_summary;

/// Key in the `meta` of an attempt that holds the ID of the call.
pub const ATTEMPT_OF: &str = "attempt_of";
/// Key in the `meta` of a tool call whose times are those of the messages around it.
const DERIVED_TIMES: &str = "derived_times";

/// One record of a run, placed in time and in the tree.
#[derive(Debug, Clone)]
pub struct Step<'a> {
    /// Its number in the order of time, from 1; `RUN_START` and `RUN_END` have none.
    pub number: usize,
    /// Number of steps that it is nested in.
    pub depth: usize,
    /// Set when other steps are nested in it.
    pub has_children: bool,
    /// Microseconds from the start of the run to its start.
    pub offset: Option<u64>,
    /// Its duration in microseconds; `None` when it has none or did not end.
    pub duration: Option<u64>,
    /// Set when it has begun and not ended.
    pub in_flight: bool,
    /// Number of times that the call was tried, itself included, by what is known of it; 1 for everything else.
    pub attempts: usize,
    /// Set for an attempt at a call that follows; holds its number, where it is among the steps.
    pub attempt_of: Option<Option<usize>>,
    /// The number of the step within it whose failure it only passed on.
    pub failed_by: Option<usize>,
    /// The program went on after it: what the run failed with later did not arise in it.
    pub went_on: bool,
    /// Cost of the step, where it is a model call that has a price or lacks one.
    pub cost: Option<CallCost>,
    /// The state before, of a state.
    pub state_before: Option<&'a Value>,
    /// The record.
    pub record: &'a Record,
}

impl Step<'_> {
    /// `3 attempts`, or `attempt at #3`; `None` of what is neither.
    pub fn attempt_words(&self) -> Option<String> {
        match self.attempt_of {
            Some(call) => Some(attempt_at(call)),
            None => attempts(self.attempts),
        }
    }

    /// Its summary, after the number of attempts; of a call without a result it says so.
    pub fn summary(&self) -> StepSummary {
        let mut summary = StepSummary::from_record(self.record, self.in_flight);
        if let Some(before) = self.state_before {
            summary = summary.changed_since(before, &self.record.payload);
        }
        if let Some(origin) = self.failed_by {
            summary.output = Some(format!("✗ failed by #{origin}"));
        }
        summary.preceded_by(self.attempt_words())
    }

    /// Its duration in words; `≤127 ms` of a tool between two messages whose times are the only bounds.
    pub fn duration_words(&self) -> Option<String> {
        let words = units::duration(self.duration.filter(|duration| *duration > 0)?);
        let is_derived = self.record.meta.contains_key(DERIVED_TIMES);
        Some(if is_derived { format!("≤{words}") } else { words })
    }

    /// Its failure is the cause of an error further out, which passes on its message.
    pub(crate) fn caused(&self, error: &ErrorPayload) -> bool {
        step_summary::failure(&self.record.payload).is_some_and(|failure| {
            let (inner, outer) = (failure.message.trim(), error.message.trim());
            failure.error_type == error.error_type && inner == outer
                || (!inner.is_empty() && outer.contains(inner))
        })
    }

    /// The error that the run itself ended with.
    pub(crate) fn is_of_run(&self) -> bool {
        matches!(self.record.payload, Payload::Error(_)) && self.record.event_id.contains('.')
    }

    /// The failure that arose in it; none where it was passed on.
    pub fn own_failure(&self) -> Option<&'_ ErrorPayload> {
        step_summary::failure(&self.record.payload).filter(|_| self.failed_by.is_none())
    }

    /// Outcome of the step.
    pub fn outcome(&self) -> Outcome {
        self.record.outcome()
    }

    /// Outcome in a word: `ok`, `failed`, `cancelled`, `unknown`, `waiting` or `in flight`.
    pub fn end_word(&self) -> &'static str {
        end_word(self.record, self.in_flight)
    }

    /// The same where it says more than its kind does: of what ended well, and of errors, it says nothing.
    pub fn notable_end_word(&self) -> Option<&'static str> {
        let is_notable = self.in_flight || self.outcome() != Outcome::Ok || self.record.is_waiting();
        (is_notable && self.kind() != StepKind::Error).then(|| self.end_word())
    }

    /// The tone of that word.
    pub fn end_tone(&self) -> Tone {
        match self.outcome() {
            _ if self.in_flight => Tone::Active,
            Outcome::Failed | Outcome::Cancelled => Tone::Bad,
            Outcome::Unknown => Tone::Warning,
            Outcome::Ok => Tone::Good,
        }
    }

    /// Its name: of the model, the tool, the span.
    pub fn name(&self) -> String {
        name(self.record)
    }

    /// Its kind.
    pub fn kind(&self) -> StepKind {
        self.record.event_type().into()
    }

    /// Returns whether the step is the work of an agent: a span that is said to be one.
    pub fn is_agent(&self) -> bool {
        matches!(&self.record.payload, Payload::Unknown { attributes, .. }
            if loops::is_agent(|key| attributes.get(key)?.as_str()))
    }

    /// The tone of what is shown of it: of its kind, or of a failure.
    pub fn tone(&self) -> Tone {
        if self.failed() {
            Tone::Bad
        } else {
            self.kind().tone()
        }
    }

    /// Is a call of a model or a tool.
    pub fn is_call(&self) -> bool {
        self.kind().is_call()
    }

    /// Has failed, or is an error.
    pub fn failed(&self) -> bool {
        step_summary::failed(self.record)
    }
}

/// `attempt at #3`.
pub(crate) fn attempt_at(call: Option<usize>) -> String {
    call.map_or_else(|| "attempt".to_owned(), |call| format!("attempt at #{call}"))
}

/// `3 attempts`; `None` for a call that was made once.
pub fn attempts(attempts: usize) -> Option<String> {
    (attempts > 1).then(|| text::counted(attempts as u64, "attempt"))
}

/// The name of the step of a record: of the model, the tool, the span.
pub fn name(record: &Record) -> String {
    if let Some(fixed) = StepKind::from(record.event_type()).fixed_name() {
        return fixed.to_owned();
    }
    value_summary::label(match &record.payload {
        Payload::LlmCall { model, .. } => model,
        Payload::ToolCall { tool_name, .. } => tool_name,
        _ => &record.name,
    })
}

/// A record of a run with its number and duration, as a step is made from it.
#[derive(Debug, Clone)]
pub struct StepSource {
    /// Its number in the order of time, from 1.
    pub number: usize,
    /// The record.
    pub record: Record,
    /// Its duration in microseconds, finer than that of the record; `None` when it did not end.
    pub duration: Option<u64>,
    /// Set when it has begun and not ended.
    pub in_flight: bool,
    /// Number of times that the call was tried, itself included, where the index of the run says so; else 1.
    pub attempts: usize,
    /// Cost of the step, see [`priced`](Self::priced).
    pub cost: Option<CallCost>,
}

impl StepSource {
    /// The same with its cost, where it is a model call.
    #[must_use]
    pub fn priced(self, prices: &Prices) -> Self {
        let cost = prices.cost(&self.record).filter(|_| !self.in_flight);
        Self { cost, ..self }
    }

    /// A record that was read, with its span when it has one of its own.
    pub fn read(number: usize, record: Record, span: Option<&SpanRecord>) -> Self {
        Self {
            number,
            duration: Self::duration_of(&record, span),
            in_flight: span.is_some_and(|span| span.end_time.is_none()),
            attempts: 1,
            cost: None,
            record,
        }
    }

    /// Duration of a record, in microseconds; `None` when it did not end.
    pub fn duration_of(record: &Record, span: Option<&SpanRecord>) -> Option<u64> {
        let of_span = || {
            let span = span?;
            microseconds_between(span.start_time.instant(), span.end_time.as_ref()?.instant())
        };
        // A call whose answer was asked for again lasts longer than its span.
        let of_record = record
            .end
            .and_then(|end| microseconds_between(record.ts.parse().ok()?, end));
        let exact = of_record.or_else(of_span);
        exact.or_else(|| record.duration_ms?.checked_mul(1_000))
    }

    /// A call that has begun and not ended.
    pub fn in_flight(number: usize, record: Record) -> Self {
        Self {
            number,
            record,
            duration: None,
            in_flight: true,
            attempts: 1,
            cost: None,
        }
    }
}

/// The steps, each after the step that it is nested in, siblings as they happened. `started` is when the run started.
pub fn steps(sources: &[StepSource], started: Option<Timestamp>) -> Vec<Step<'_>> {
    let time = |record: &Record| record.ts.parse::<Timestamp>().ok();
    let start = started.or_else(|| sources.first().and_then(|source| time(&source.record)));
    let mut steps: Vec<Step<'_>> = sources
        .iter()
        .map(|source| Step {
            number: source.number,
            depth: 0,
            has_children: false,
            offset: start.and_then(|start| microseconds_between(start, time(&source.record)?)),
            duration: source.duration,
            in_flight: source.in_flight,
            attempts: source.attempts,
            attempt_of: None,
            failed_by: None,
            went_on: false,
            cost: source.cost,
            state_before: None,
            record: &source.record,
        })
        .collect();
    let mut state_before = None;
    for step in &mut steps {
        if let Payload::StateUpdate { state, .. } = &step.record.payload {
            step.state_before = state_before.replace(state);
        }
    }
    mark_attempts(&mut steps);
    let parents = parents(sources);
    mark_passed_on(&mut steps, &parents);
    let mut nested = Vec::with_capacity(steps.len());
    for_each_nested(
        &parents,
        |_| false,
        |place| {
            if let Some(step) = steps.get(place.item as usize) {
                nested.push(Step {
                    depth: usize::from(place.depth),
                    has_children: place.has_children,
                    ..step.clone()
                });
            }
        },
    );
    nested
}

/// Gives each attempt the number of its call, and each call the number of its attempts.
fn mark_attempts(steps: &mut [Step<'_>]) {
    let mut attempts: HashMap<&str, usize> = HashMap::new();
    for step in steps.iter() {
        if let Some(call) = attempt_of(step.record) {
            *attempts.entry(call).or_default() += 1;
        }
    }
    if attempts.is_empty() {
        return;
    }
    let numbers: HashMap<&str, usize> = steps
        .iter()
        .map(|step| (step.record.event_id.as_str(), step.number))
        .collect();
    for step in steps {
        let shown = attempts.get(step.record.event_id.as_str()).copied().unwrap_or(0);
        // Of a run with very many steps, these are a part of its attempts.
        step.attempts = step.attempts.max(shown + 1);
        step.attempt_of = attempt_of(step.record).map(|call| numbers.get(call).copied());
    }
}

/// Failed steps of a run that are compared with each other; of further ones each shows its own error.
const MAX_FAILED: usize = 500;

/// Gives each failed step the number of the step in which its failure arose: the deepest within it with the same error,
/// after which the program did not continue. The error of the run itself is within nothing, and arose in any.
fn mark_passed_on(steps: &mut [Step<'_>], parents: &[u32]) {
    let parent_of = |index: usize| parents.get(index).copied().filter(|parent| *parent != NONE);
    let depth = |index: usize| {
        std::iter::successors(parent_of(index), |at| parent_of(*at as usize))
            .take(MAX_FAILED)
            .count()
    };
    let is_within = |inner: usize, outer: usize| {
        let above = std::iter::successors(parent_of(inner), |at| parent_of(*at as usize));
        above.take(MAX_FAILED).any(|at| at as usize == outer)
    };
    // When the last model call began below each parent.
    let mut last_asked: HashMap<Option<u32>, u64> = HashMap::new();
    for (index, step) in steps.iter().enumerate() {
        if step.kind() == StepKind::Llm
            && let Some(offset) = step.offset
        {
            let last = last_asked.entry(parent_of(index)).or_default();
            *last = offset.max(*last);
        }
    }
    // An error that was passed on ends every call around it, and no model is called meanwhile.
    let went_on_before = |inner: usize, outer: Option<usize>| {
        let around = std::iter::successors(Some(inner), |at| Some(parent_of(*at)? as usize));
        let between = around.take(MAX_FAILED).take_while(|at| Some(*at) != outer);
        between
            .filter_map(|at| Some((at, steps.get(at)?)))
            .any(|(at, step)| {
                let ended = || step.offset?.checked_add(step.duration?);
                let is_other = at != inner;
                is_other && step.is_call() && !step.in_flight && step.outcome() == Outcome::Ok
                    || last_asked.get(&parent_of(at)).copied() >= ended() && ended().is_some()
            })
    };
    let failed: Vec<usize> = (0..steps.len())
        .filter(|index| {
            steps
                .get(*index)
                .is_some_and(|step| step.failed() && step.attempt_of.is_none())
        })
        .take(MAX_FAILED)
        .collect();
    let mut found: Vec<(usize, usize)> = Vec::new();
    for outer in failed.iter().copied() {
        let Some(step) = steps.get(outer) else { continue };
        let Some(error) = step_summary::failure(&step.record.payload) else {
            continue;
        };
        let is_of_run = step.is_of_run();
        let arose = failed.iter().copied().filter(|inner| {
            *inner != outer
                && (is_within(*inner, outer) || is_of_run)
                // Of an error that its run has twice, the first is it.
                && steps
                    .get(*inner)
                    .is_some_and(|step| step.caused(error) && (!step.is_of_run() || *inner < outer))
                && !went_on_before(*inner, (!is_of_run).then_some(outer))
        });
        let deepest = arose.max_by_key(|inner| (depth(*inner), *inner));
        found.extend(deepest.and_then(|inner| Some((outer, steps.get(inner)?.number))));
    }
    let went_on: Vec<usize> = failed
        .iter()
        .copied()
        .filter(|at| went_on_before(*at, None))
        .collect();
    for index in went_on {
        if let Some(step) = steps.get_mut(index) {
            step.went_on = true;
        }
    }
    for (outer, origin) in found {
        if let Some(step) = steps.get_mut(outer) {
            step.failed_by = Some(origin);
        }
    }
}

/// The ID of the call that a record is an attempt at (decisions, section 7).
fn attempt_of(record: &Record) -> Option<&str> {
    record.meta.get(ATTEMPT_OF)?.as_str()
}

fn microseconds_between(start: Timestamp, end: Timestamp) -> Option<u64> {
    u64::try_from(end.microseconds_since(start)).ok()
}

/// The index of the step that each step is nested in.
fn parents(sources: &[StepSource]) -> Vec<u32> {
    let index_of: HashMap<&str, u32> = (0..)
        .zip(sources)
        .map(|(index, source)| (source.record.event_id.as_str(), index))
        .collect();
    let parent = |source: &StepSource| index_of.get(source.record.parent_id.as_deref()?).copied();
    sources
        .iter()
        .map(|source| parent(source).unwrap_or(NONE))
        .collect()
}

#[cfg(test)]
mod tests;
