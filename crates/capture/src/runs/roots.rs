//! The root of a run that ends: its own, an adopted one, or a synthetic one (capture, section 2).
//!
//! A completed run has exactly one root and no missing parent (specification, *What the service does*, 2), and the
//! same spans give the same run in whatever order they came. What changes is marked.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Map, Value};
use tracer_runs::import::{ImportError, ImportedSpan, LogShape, RunWriter};
use tracer_sdk::format::{SpanId, SpanRecord, StatusCode, Timestamp, names};
use tracer_sdk::settings::Settings;

use super::attributes::text;
use super::convert::PARENT_IS_REMOTE;
use super::ids::synthetic_root;
use super::loops;
use super::marks::is_call;

/// A span that no other span of the log is around.
#[derive(Debug)]
struct TopSpan {
    parent: Option<SpanId>,
    start: Timestamp,
    name: String,
    run_name: Option<String>,
    service: Option<String>,
    is_failed: bool,
    is_call: bool,
    /// Its parent was said to be of another process.
    parent_is_remote: bool,
}

/// Completes a run. `root_name` is the name of its only root, where that is known.
pub(super) fn complete(
    run: &mut RunWriter,
    root_name: Option<&str>,
    settings: &Settings,
) -> Result<(), ImportError> {
    let synthetic = synthetic_root(run.trace_id());
    if run.contains(synthetic) {
        // Its process died before it could say that the run has ended; more may have come since.
        run.rewrite(|span| span.span_id != synthetic)?;
    }
    let shape = run.shape();
    let only = shape.parentless.first().filter(|_| shape.parentless.len() == 1);
    if let (Some(root), Some(name)) = (only, root_name)
        && shape.orphans.is_empty()
        && shape.in_cycles.is_empty()
    {
        let root = *root;
        fail_with_last_agent(run, root)?;
        return end(run, root, name, settings);
    }
    let entries = read_entries(run, &shape)?;
    if entries.is_empty() {
        return Ok(());
    }
    let root = choose_root(&entries, synthetic);
    let moved = |id: &SpanId, entry: &TopSpan| *id != root && entry.parent != Some(root);
    let is_moved = entries.iter().any(|(id, entry)| moved(id, entry));
    let is_adopted = entries.get(&root).is_some_and(|entry| entry.parent.is_some());
    if is_moved || is_adopted {
        run.rewrite(|span| {
            if let Some(entry) = entries.get(&span.span_id) {
                if span.span_id == root {
                    adopt(span);
                } else if moved(&span.span_id, entry) {
                    put_under(span, root, synthetic);
                }
            }
            true
        })?;
    }
    let name = if let Some(entry) = entries.get(&root) {
        entry.run_name.clone().unwrap_or_else(|| entry.name.clone())
    } else {
        let name = synthetic_name(&entries);
        run.append(&[ImportedSpan::new(synthetic_span(run, root, &name, &entries))])?;
        name
    };
    fail_with_last_agent(run, root)?;
    end(run, root, &name, settings)
}

/// Fails a root whose last agent failed, and with it the run, where nothing was asked after that: `OpenAI` Agents says of the span
/// around its agents that it is ok, however they ended.
fn fail_with_last_agent(run: &mut RunWriter, root: SpanId) -> Result<(), ImportError> {
    if !run.has_failed_span() {
        return Ok(());
    }
    let (mut last_agent, mut last_call) = (None, None);
    run.for_each_span(|span| {
        if is_call(&span) {
            last_call = last_call.max(Some(span.start_time.instant()));
        } else if span.span_id != root && tracer_sdk::loops::is_agent(|key| text(&span.attributes, key)) {
            let is_failed = span.status_code == StatusCode::Error;
            let end = span.end_time.map(|end| end.instant());
            last_agent = last_agent
                .take()
                .max(Some((end, is_failed, span.status_description)));
        }
    })?;
    let failure = last_agent.filter(|(end, is_failed, _)| *is_failed && *end >= last_call);
    let Some((_, _, description)) = failure else {
        return Ok(());
    };
    run.rewrite(|span| {
        if span.span_id == root && span.status_code != StatusCode::Error {
            span.status_code = StatusCode::Error;
            span.status_description.clone_from(&description);
            span.set(names::INFERRED, "error");
        }
        true
    })
}

/// Completes a run whose root was written by its owner; spans whose parent never came are put under it.
pub(crate) fn complete_under(
    run: &mut RunWriter,
    root: SpanId,
    name: &str,
    settings: &Settings,
) -> Result<(), ImportError> {
    let shape = run.shape();
    let is_plain = shape.parentless.len() == 1 && shape.orphans.is_empty() && shape.in_cycles.is_empty();
    if !is_plain {
        let orphans: HashSet<SpanId> = shape.orphans.iter().map(|(id, _)| *id).collect();
        run.rewrite(|span| {
            let id = span.span_id;
            let is_moved =
                span.parent_span_id.is_none() || orphans.contains(&id) || shape.in_cycles.contains(&id);
            if id != root && is_moved {
                put_under(span, root, root);
            }
            true
        })?;
    }
    end(run, root, name, settings)
}

/// Completes a run with its warnings of loops.
fn end(run: &mut RunWriter, root: SpanId, name: &str, settings: &Settings) -> Result<(), ImportError> {
    run.complete_with(root, name, |run| loops::warnings(run, root, settings))
}

fn read_entries(run: &RunWriter, shape: &LogShape) -> Result<BTreeMap<SpanId, TopSpan>, ImportError> {
    let orphans: HashSet<SpanId> = shape.orphans.iter().map(|(id, _)| *id).collect();
    let mut entries = BTreeMap::new();
    run.for_each_span(|span| {
        let id = span.span_id;
        if span.parent_span_id.is_none() || orphans.contains(&id) || shape.in_cycles.contains(&id) {
            entries.insert(
                id,
                TopSpan {
                    parent: span.parent_span_id,
                    start: span.start_time.instant(),
                    run_name: run_name(&span.attributes),
                    service: service(&span.attributes),
                    is_failed: span.status_code == StatusCode::Error,
                    is_call: is_call(&span),
                    parent_is_remote: span.attributes.contains_key(PARENT_IS_REMOTE),
                    name: span.name,
                },
            );
        }
    })?;
    Ok(entries)
}

/// The only span without a parent; or the only span whose parent never came, unless that is a call; or the only one of these
/// whose parent was said to be of another process, as the others lost theirs on the way; else a new span.
fn choose_root(entries: &BTreeMap<SpanId, TopSpan>, synthetic: SpanId) -> SpanId {
    let mut candidates = entries
        .iter()
        .filter(|(_, entry)| entry.parent.is_none_or(|parent| parent == synthetic));
    match (candidates.next(), candidates.next()) {
        (Some((id, entry)), None) if entry.parent.is_none() && !entry.is_call => return *id,
        (Some(_), _) => return synthetic,
        (None, _) => {}
    }
    let only = |of_remote_parents: bool| {
        let mut orphans = entries
            .iter()
            .filter(|(_, entry)| entry.parent_is_remote || !of_remote_parents);
        orphans.next().filter(|_| orphans.next().is_none())
    };
    match only(false).or_else(|| only(true)) {
        Some((id, entry)) if !entry.is_call => *id,
        _ => synthetic,
    }
}

fn adopt(span: &mut SpanRecord) {
    if let Some(parent) = span.parent_span_id.take() {
        span.set(names::SOURCE_PARENT, parent.to_string());
        span.set(names::ADOPTED, true);
    }
}

/// Puts a span under `root`, with a mark, and its parent as it was sent.
pub(super) fn put_under(span: &mut SpanRecord, root: SpanId, synthetic: SpanId) {
    let sent = span.parent_span_id.filter(|parent| *parent != synthetic);
    span.set(names::SOURCE_PARENT, sent.map(|parent| parent.to_string()));
    span.set(names::ORPHAN, true);
    span.parent_span_id = Some(root);
}

/// Name that a span gives its run: an agent or a workflow.
pub(super) fn run_name(attributes: &Map<String, Value>) -> Option<String> {
    const KEYS: [&str; 7] = [
        "tracer.run_name",
        "gen_ai.agent.name",
        "gen_ai.workflow.name",
        "traceloop.workflow.name",
        "langsmith.trace.name",
        "agent.name",
        "ai.telemetry.functionId",
    ];
    KEYS.iter()
        .find_map(|key| text(attributes, key))
        .map(str::to_owned)
}

/// Service that sent a span, unless its SDK did not know.
pub(super) fn service(attributes: &Map<String, Value>) -> Option<String> {
    text(attributes, "service.name")
        .filter(|name| !name.starts_with("unknown_service"))
        .map(str::to_owned)
}

fn synthetic_name(entries: &BTreeMap<SpanId, TopSpan>) -> String {
    let mut in_order: Vec<(&SpanId, &TopSpan)> = entries.iter().collect();
    in_order.sort_unstable_by_key(|(id, entry)| (entry.start, **id));
    let first =
        |find: &dyn Fn(&TopSpan) -> Option<String>| in_order.iter().find_map(|(_, entry)| find(entry));
    first(&|entry| entry.run_name.clone())
        .or_else(|| first(&|entry| entry.service.clone()))
        .or_else(|| first(&|entry| Some(entry.name.clone())))
        .unwrap_or_default()
}

fn synthetic_span(
    run: &RunWriter,
    id: SpanId,
    name: &str,
    entries: &BTreeMap<SpanId, TopSpan>,
) -> SpanRecord {
    let start = run.first_start().unwrap_or(Timestamp::from_unix_microseconds(0));
    let end = run.last_end().unwrap_or(start);
    let mut span = SpanRecord::new(run.trace_id(), id, None, name, (start, end));
    span.set(names::SYNTHETIC, true);
    span.set(names::RUN_NAME, name);
    let service = entries.values().find_map(|entry| entry.service.as_deref());
    span.set("service.name", service);
    if entries.values().all(|entry| entry.is_failed) {
        span.status_code = StatusCode::Error;
    }
    span
}
