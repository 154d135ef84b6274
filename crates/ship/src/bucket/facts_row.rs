//! [`FactsRow`]: a run as a line of an object of facts: columns for SQL, and the row that `tracer` keeps.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;
use tracer_catalog::{FACTS_LINE_VERSION, FactsStore, ListedRun, RunRow};
use tracer_insight::status::RunStatus;
use tracer_runs::RunDirectory;
use tracer_sdk::format::{RunMeta, Timestamp, TraceId};
use tracer_sdk::redaction::Redaction;

/// The line of a run.
#[derive(Debug, Serialize)]
struct FactsRow<'a> {
    version: u32,
    trace_id: TraceId,
    /// Which state of the run this is: of several lines of a run the highest counts.
    generation: u64,
    name: Option<&'a str>,
    started_at: Option<Timestamp>,
    duration_ms: Option<u64>,
    status: &'static str,
    is_trial: bool,
    session: Option<&'a str>,
    steps: u64,
    llm_calls: u64,
    tool_calls: u64,
    errors: u64,
    loop_warnings: u64,
    failed_calls: u64,
    unknown_calls: u64,
    is_waiting: bool,
    retries: u64,
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    total_tokens: Option<u64>,
    cache_read_tokens: Option<u64>,
    error: Option<&'a str>,
    commit: Option<&'a str>,
    models: Vec<&'a str>,
    tools: Vec<&'a str>,
    /// Bytes of its log.
    bytes: u64,
    facts: &'a RunRow,
    /// Its metadata: what a list of runs as JSON is made of.
    meta: &'a RunMeta,
}

/// The line of a run that is stored, without secrets; `None` when the run was deleted meanwhile.
pub(super) fn line(
    directory: &RunDirectory,
    generation: u64,
    bytes: u64,
    redaction: &Redaction,
) -> Option<Vec<u8>> {
    let run = FactsStore::read([directory.clone()]).pop()?;
    let meta = directory.clone().read_summary().meta.ok()?;
    let row = of_listed(&run, &meta, generation, bytes)?;
    let mut line = serde_json::to_vec(&without_secrets(row, redaction)).ok()?;
    line.push(b'\n');
    Some(line)
}

/// The line with secrets taken out of its texts. Names of tools are keys here and say nothing of the values next to them, so
/// only tags and metadata are redacted by their keys.
fn without_secrets(mut row: Value, redaction: &Redaction) -> Value {
    for keyed in ["/facts/g", "/meta"] {
        if let Some(value) = row.pointer_mut(keyed) {
            *value = redaction.value(value.take()).0;
        }
    }
    clean_texts(row, redaction)
}

fn clean_texts(value: Value, redaction: &Redaction) -> Value {
    let clean = |text: String| match redaction.text(&text) {
        Cow::Owned(clean) => clean,
        Cow::Borrowed(_) => text,
    };
    match value {
        Value::String(text) => Value::String(clean(text)),
        Value::Array(items) => items
            .into_iter()
            .map(|item| clean_texts(item, redaction))
            .collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(key, value)| (clean(key), clean_texts(value, redaction)))
            .collect(),
        other => other,
    }
}

fn of_listed(run: &ListedRun, meta: &RunMeta, generation: u64, bytes: u64) -> Option<Value> {
    let facts = &run.row;
    // A run that cannot be read is no completed one.
    let status: RunStatus = run.status;
    serde_json::to_value(FactsRow {
        version: FACTS_LINE_VERSION,
        trace_id: run.directory.trace_id,
        generation,
        name: facts.name.as_deref(),
        started_at: facts.started(),
        duration_ms: facts.duration_us.map(|duration| duration / 1000),
        status: status.as_str(),
        is_trial: facts.is_trial,
        session: facts.session.as_deref(),
        steps: facts.steps,
        llm_calls: facts.llm_calls,
        tool_calls: facts.tool_calls,
        errors: facts.errors,
        loop_warnings: facts.loop_warnings,
        failed_calls: facts.failed_calls,
        unknown_calls: facts.unknown_calls,
        is_waiting: facts.is_waiting,
        retries: facts.retries,
        input_tokens: facts.tokens.prompt_tokens,
        output_tokens: facts.tokens.completion_tokens,
        total_tokens: facts.tokens.total_tokens,
        cache_read_tokens: facts.tokens.cache_read_tokens,
        error: facts.error.as_deref(),
        commit: facts.commit(),
        models: facts.models.keys().map(String::as_str).collect(),
        tools: facts.tools.keys().map(String::as_str).collect(),
        bytes,
        facts,
        meta,
    })
    .ok()
}
