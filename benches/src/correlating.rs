//! Opening a run in which three reporters tell of each call. See `README.md`.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tracer_runs::LogIndex;
use tracer_sdk::format::EventType;

/// Conversations at once.
const CONVERSATIONS: usize = 1_000;
const HOUR_MS: usize = 3_600_000;
/// The most that a call of the larger run may cost, in times of one of the smaller run.
const LIMIT: f64 = 1.3;

/// Sizes, rounds and folder of the measurement.
#[derive(Debug)]
pub struct CorrelatePlan {
    /// The calls of the smaller and of the larger run.
    pub calls: [usize; 2],
    /// Number of times that each run is opened; the fastest counts.
    pub rounds: usize,
    /// Folder of the runs.
    pub directory: PathBuf,
}

/// Reporters of the calls of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reporters {
    /// The proxy alone.
    One,
    /// The proxy, a library with IDs and without tokens, a library without IDs and with tokens.
    Three,
}

struct Lines {
    file: BufWriter<File>,
    next: u64,
}

impl Lines {
    fn add(
        &mut self,
        parent: u64,
        name: &str,
        (start, end): (usize, usize),
        attributes: &Value,
    ) -> std::io::Result<u64> {
        let at = |ms: usize| {
            let (seconds, minutes) = (ms / 1_000 % 60, ms / 60_000 % 60);
            format!(
                "2026-01-01T{:02}:{minutes:02}:{seconds:02}.{:03}Z",
                ms / HOUR_MS,
                ms % 1_000
            )
        };
        let id = self.next;
        self.next += 1;
        let line = json!({
            "trace_id": format!("{:032x}", 1), "span_id": format!("{id:016x}"),
            "parent_span_id": (parent > 0).then(|| format!("{parent:016x}")),
            "name": name, "kind": "INTERNAL", "start_time": at(start), "end_time": at(end), "duration_ms": end - start,
            "attributes": attributes, "events": [], "status_code": "OK", "status_description": "",
        });
        writeln!(self.file, "{line}")?;
        Ok(id)
    }
}

/// Writes a run with this many calls in 1,000 conversations at once, all in one agent of an hour.
fn write_run(directory: &Path, calls: usize, reporters: Reporters) -> std::io::Result<()> {
    let file = BufWriter::new(File::create(directory.join("spans.jsonl"))?);
    let mut lines = Lines { file, next: 1 };
    let root = lines.add(0, "run", (0, HOUR_MS + 2_000), &json!({}))?;
    let agent =
        json!({"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "crew", "otel.scope.name": "a"});
    let around = lines.add(root, "invoke_agent", (0, HOUR_MS + 1_000), &agent)?;
    let rounds = calls / 2 / CONVERSATIONS;
    let slot = HOUR_MS / rounds;
    for conversation in 0..CONVERSATIONS {
        for round in 0..rounds {
            let start = round * slot + conversation;
            let (answered, ran, brought) = (start + slot * 6 / 10, start + slot * 8 / 10, start + slot - 5);
            let (input, output) = (100 + (conversation * 7 + round * 13) % 4_000, 10 + round % 90);
            let (id, call_id) = (
                format!("r{conversation}-{round}"),
                format!("call_{conversation}_{round}"),
            );
            let city = json!({"city": format!("city {conversation}")}).to_string();
            let model = |more: Value| {
                with(
                    json!({"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-5-mini"}),
                    more,
                )
            };
            let tool = |more: Value| {
                with(
                    json!({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "get_weather"}),
                    more,
                )
            };
            let tokens = || json!({"gen_ai.usage.input_tokens": input, "gen_ai.usage.output_tokens": output});
            let of_proxy = json!({"tracer.source": "proxy", "gen_ai.response.id": id});
            lines.add(
                root,
                "chat gpt-5-mini",
                (start, answered),
                &model(with(of_proxy, tokens())),
            )?;
            let of_proxy = json!({"tracer.source": "proxy", "tracer.derived": true, "gen_ai.tool.call.id": call_id,
                "gen_ai.tool.call.arguments": city});
            lines.add(root, "get_weather", (answered, brought), &tool(of_proxy))?;
            if reporters == Reporters::One {
                continue;
            }
            let first = json!({"otel.scope.name": "a", "gen_ai.response.id": id});
            lines.add(
                around,
                "chat",
                (start - start.min(2), answered + 1),
                &model(first),
            )?;
            let first = json!({"otel.scope.name": "a", "gen_ai.tool.call.id": call_id});
            lines.add(around, "tool", (answered + 2, ran), &tool(first))?;
            let second = json!({"otel.scope.name": "b"});
            lines.add(
                around,
                "completion",
                (start - start.min(1), answered + 2),
                &model(with(second, tokens())),
            )?;
            let second = json!({"otel.scope.name": "b", "gen_ai.tool.call.arguments": city});
            lines.add(around, "execution", (answered + 3, ran - 1), &tool(second))?;
        }
    }
    lines.file.flush()
}

fn with(mut value: Value, more: Value) -> Value {
    if let (Value::Object(members), Value::Object(more)) = (&mut value, more) {
        members.extend(more);
    }
    value
}

/// Opens the run of a folder, and gives how long that took and how many calls it has.
fn open(folder: &Path, rounds: usize) -> Result<(Duration, usize), String> {
    let mut fastest = Duration::MAX;
    let mut calls = 0;
    for _ in 0..rounds {
        let begun = Instant::now();
        let index = LogIndex::open(folder, None, true).map_err(|error| error.to_string())?;
        fastest = fastest.min(begun.elapsed());
        let spans = (0..index.len()).filter_map(|at| index.span(at));
        calls = spans
            .filter(|span| matches!(span.event_type, EventType::LlmCall | EventType::ToolCall))
            .count();
    }
    Ok((fastest, calls))
}

/// Measures each run; `false` when the limit was not kept.
pub fn measure(plan: &CorrelatePlan) -> Result<(String, bool), String> {
    let mut report = format!(
        "{:<12}{:>9}{:>10}{:>12}{:>14}{:>13}\n",
        "reporters", "calls", "spans", "opened, s", "a call, µs", "a span, µs"
    );
    let mut per_call = Vec::new();
    for reporters in [Reporters::One, Reporters::Three] {
        for asked in plan.calls {
            let folder = tempfile::tempdir_in(&plan.directory).map_err(|error| error.to_string())?;
            write_run(folder.path(), asked, reporters).map_err(|error| error.to_string())?;
            let (took, calls) = open(folder.path(), plan.rounds)?;
            if calls != asked {
                return Err(format!("{calls} calls where {asked} were made"));
            }
            let text =
                fs::read_to_string(folder.path().join("spans.jsonl")).map_err(|error| error.to_string())?;
            let spans = text.lines().count();
            let micros = took.as_secs_f64() * 1e6;
            per_call.push(micros / asked as f64);
            report += &format!(
                "{:<12}{asked:>9}{spans:>10}{:>12.2}{:>14.2}{:>13.2}\n",
                format!("{reporters:?}"),
                took.as_secs_f64(),
                micros / asked as f64,
                micros / spans as f64
            );
        }
    }
    let ratios: Vec<f64> = per_call.chunks(2).map(|pair| pair[1] / pair[0]).collect();
    let is_kept = ratios[1] <= LIMIT;
    report += &format!(
        "a call of the larger run, in times of one of the smaller: {:.2} with one reporter, {:.2} with three (at most {LIMIT})\n",
        ratios[0], ratios[1]
    );
    Ok((report, is_kept))
}
