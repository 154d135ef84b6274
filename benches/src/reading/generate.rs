//! The data that is read: stores of small runs, and single runs of many spans. The same each time.
//!
//! Attributes are under `maida.`, which both implementations read in full.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};

/// The ID of a run with many spans.
pub const BIG_RUN: &str = "ffffffff000000000000000000000001";
/// The spans of a small run: its root, a model call and a tool call.
const SMALL_RUN_SPANS: usize = 3;
/// Of this many calls one is a model's, the others are tools'.
const CALLS_TO_A_MODEL_CALL: usize = 10;
/// The file that says that a folder is whole.
const DONE: &str = "generated";

/// Makes a store with this many small runs, unless it is there.
pub fn store(data_dir: &Path, runs: usize) -> io::Result<()> {
    once(data_dir, || {
        for number in 1..=runs {
            let id = format!("{:08x}{number:024x}", number.wrapping_mul(2_654_435_761) as u32);
            write_run(
                data_dir,
                &id,
                &format!("agent-{}", number % 50),
                number as u64,
                SMALL_RUN_SPANS,
                2,
            )?;
        }
        Ok(())
    })
}

/// Makes a store with this many runs of some spans each, unless it is there; a word that is in no other is in one span of the
/// first run.
pub fn long_runs(data_dir: &Path, runs: usize, spans: usize, word: &str) -> io::Result<()> {
    once(data_dir, || {
        for number in 1..=runs {
            let id = format!("{:08x}{number:024x}", number.wrapping_mul(2_654_435_761) as u32);
            let name = format!("agent-{}", number % 50);
            write_run(data_dir, &id, &name, number as u64, spans, CALLS_TO_A_MODEL_CALL)?;
            if number == 1 {
                let log = data_dir.join("runs").join(&id).join("spans.jsonl");
                let text = fs::read_to_string(&log)?;
                fs::write(&log, text.replacen("the", word, 1))?;
            }
        }
        Ok(())
    })
}

/// Makes a data directory with one run of this many spans, about 0.9 kB each, unless it is there.
pub fn run(data_dir: &Path, spans: usize) -> io::Result<()> {
    once(data_dir, || {
        write_run(data_dir, BIG_RUN, "big", 0, spans, CALLS_TO_A_MODEL_CALL)
    })
}

fn once(data_dir: &Path, generate: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    if data_dir.join(DONE).is_file() {
        return Ok(());
    }
    eprint!("\r{:<60}", format!("generating {}", data_dir.display()));
    generate()?;
    fs::write(data_dir.join(DONE), "")
}

fn write_run(
    data_dir: &Path,
    id: &str,
    name: &str,
    start_seconds: u64,
    spans: usize,
    calls_to_a_model_call: usize,
) -> io::Result<()> {
    let directory = data_dir.join("runs").join(id);
    fs::create_dir_all(&directory)?;
    let at = |microseconds: usize| time(start_seconds * 1_000_000 + microseconds as u64);
    let root = format!("{:016x}", 1);
    let calls = spans.saturating_sub(1);
    let end = 100 * spans;
    let mut log = BufWriter::new(File::create(directory.join("spans.jsonl"))?);
    for number in 1..=calls {
        let is_model = number % calls_to_a_model_call == 0;
        let from = 100 * number;
        let (attributes, events) = if is_model {
            model_call(number, &at(from), &at(from + 90))
        } else {
            tool_call(number, &at(from), &at(from + 90))
        };
        let name = if is_model { "gpt-5" } else { "search" };
        write_span(
            &mut log,
            id,
            number + 1,
            Some(&root),
            name,
            [at(from), at(from + 90)],
            0,
            attributes,
            events,
        )?;
    }
    let duration = end / 1_000;
    write_span(
        &mut log,
        id,
        1,
        None,
        name,
        [at(0), at(end)],
        duration,
        json!({}),
        json!([]),
    )?;
    log.flush()?;
    let model_calls = calls / calls_to_a_model_call;
    let meta = json!({
        "spec_version": "0.2.0", "trace_id": id, "run_name": name, "started_at": at(0), "ended_at": at(end),
        "duration_ms": duration, "status": "ok",
        "counts": {"llm_calls": model_calls, "tool_calls": calls - model_calls, "errors": 0, "loop_warnings": 0},
    });
    fs::write(directory.join("meta.json"), format!("{meta:#}"))
}

fn model_call(number: usize, start: &str, end: &str) -> (Value, Value) {
    let attributes = json!({
        "gen_ai.system": "openai", "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5",
        "gen_ai.usage.input_tokens": 400 + number % 90, "gen_ai.usage.output_tokens": 30 + number % 7,
    });
    let events = json!([
        {"name": "gen_ai.user.message", "timestamp": start, "attributes": {"content": filler(280)}},
        {"name": "gen_ai.assistant.message", "timestamp": end, "attributes": {"content": filler(90)}},
    ]);
    (attributes, events)
}

fn tool_call(number: usize, start: &str, end: &str) -> (Value, Value) {
    let attributes = json!({"maida.tool_name": format!("search_{}", number % 7), "maida.status": "ok"});
    let arguments = json!({"query": filler(120), "page": number}).to_string();
    let result = json!({"found": number % 11, "text": filler(190)}).to_string();
    let events = json!([
        {"name": "maida.tool.args", "timestamp": start, "attributes": {"args": arguments}},
        {"name": "maida.tool.result", "timestamp": end, "attributes": {"result": result}},
    ]);
    (attributes, events)
}

/// This many bytes of prose.
fn filler(bytes: usize) -> &'static str {
    &crate::work::PROMPT[..bytes]
}

#[expect(clippy::too_many_arguments, reason = "a span has that many fields")]
fn write_span(
    log: &mut impl Write,
    trace_id: &str,
    number: usize,
    parent: Option<&str>,
    name: &str,
    [start, end]: [String; 2],
    duration_ms: usize,
    attributes: Value,
    events: Value,
) -> io::Result<()> {
    let span = json!({
        "trace_id": trace_id, "span_id": format!("{number:016x}"), "parent_span_id": parent, "name": name,
        "kind": "INTERNAL", "start_time": start, "end_time": end, "duration_ms": duration_ms,
        "attributes": attributes, "events": events, "status_code": "OK", "status_description": "",
    });
    writeln!(log, "{span}")
}

/// The instant this many microseconds after the beginning of 2026; within a month.
fn time(microseconds: u64) -> String {
    let seconds = microseconds / 1_000_000;
    let (day, hour, minute) = (1 + seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    format!(
        "2026-01-{day:02}T{hour:02}:{minute:02}:{:02}.{:06}Z",
        seconds % 60,
        microseconds % 1_000_000
    )
}

#[cfg(test)]
mod tests {
    use tracer_runs::validate;

    use super::*;

    #[test]
    fn what_is_generated_is_valid_and_as_large_as_it_says() {
        let folder = tempfile::tempdir().unwrap();
        store(folder.path(), 3).unwrap();
        run(folder.path(), 1_000).unwrap();
        // It is whole: nothing is made again.
        run(folder.path(), 7).unwrap();
        let runs: Vec<_> = fs::read_dir(folder.path().join("runs"))
            .unwrap()
            .flatten()
            .collect();
        assert_eq!(runs.len(), 3);
        for run in runs {
            let report = validate(&run.path());
            assert!(report.problems.is_empty(), "{:?}", report.problems);
        }
    }
}
