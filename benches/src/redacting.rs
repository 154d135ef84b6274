//! What looking for secrets costs: hostile texts beside prose of the same length. See `README.md`.

// The texts that the counted tests of the SDK use: its test modules can be had no other way.
#[path = "../../tracer-sdk/src/redact/tests/hostile_texts.rs"]
mod hostile_texts;

use std::fmt::Write;
use std::hint::black_box;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::Instant;

use hostile_texts::{ARRANGEMENTS, TRIGGERS, hostile, json, prose};
use tracer_sdk::redaction::Redaction;
use tracer_sdk::settings::{Config, Settings};
use tracer_sdk::{Run, tool_call};

/// The most that recording any text may cost, in times of prose of the same length.
const LIMIT: f64 = 10.0;

/// A text above it is measured again in this many times the rounds: the fastest of few rounds is seldom as fast as it gets.
const AGAIN: usize = 10;

/// What is measured.
#[derive(Debug)]
pub struct RedactPlan {
    /// How often each text is looked through; the fastest counts.
    pub rounds: usize,
    /// How long the texts are, in bytes.
    pub bytes: usize,
    /// Only texts with this word in their names.
    pub only: Option<String>,
    /// Where the runs are written.
    pub directory: PathBuf,
}

/// A text and what it costs.
struct Row {
    name: String,
    /// In times of prose, of the redaction alone and of a recorded tool call.
    redacted: f64,
    recorded: f64,
    /// Twice the text, in times of once.
    doubled: f64,
}

/// Measures every hostile text, and reports the costliest; `false` when a limit was not kept.
pub fn measure(plan: &RedactPlan) -> Result<(String, bool), String> {
    let directory = tempfile::tempdir_in(&plan.directory).map_err(|error| error.to_string())?;
    let redaction = Redaction::new(&Settings::with_data_dir(directory.path()), []);
    let config = Config::new().data_dir(directory.path());
    let run = Run::new("redact").config(&config).start();
    let one = |text: &str| drop(black_box(redaction.text(black_box(text))));
    let record = |text: &str| {
        let _ = tool_call("fetch").args(&[black_box(text)]).record();
    };
    let scale = prose(plan.bytes);
    let base = [&one as &dyn Fn(&str), &record]
        .map(|work| fastest_in_turns(plan.rounds, work, [&scale, &scale])[0] / scale.len() as f64);
    // Both in turns, so that what else the machine does slows both, or neither counts.
    let per_byte = |rounds: usize, work: &dyn Fn(&str), text: &str, other: &str| {
        let [taken, by_other] = fastest_in_turns(rounds, work, [text, other]);
        taken / text.len() as f64 / (by_other / other.len() as f64)
    };
    let row = |name: String, make: &dyn Fn(usize) -> String| {
        let (text, double) = (make(plan.bytes), make(2 * plan.bytes));
        // Prose is cut where the text is: what is not kept costs less.
        let prose = prose(text.len());
        let prose = &prose[..text.len()];
        let mut recorded = per_byte(plan.rounds, &record, &text, prose);
        if recorded > LIMIT {
            recorded = per_byte(AGAIN * plan.rounds, &record, &text, prose);
        }
        Row {
            name,
            redacted: per_byte(plan.rounds, &one, &text, prose),
            recorded,
            doubled: 2.0 * per_byte(plan.rounds, &one, &double, &text),
        }
    };
    let is_wanted = |name: &str| plan.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    let mut rows = Vec::new();
    let escaped = |bytes| json(bytes).replace('"', "\\\"");
    let ordinary: [(&str, &dyn Fn(usize) -> String); 3] =
        [("prose", &prose), ("JSON", &json), ("JSON, escaped", &escaped)];
    for (name, make) in ordinary {
        if is_wanted(name) {
            rows.push(row(name.to_owned(), make));
        }
    }
    for (trigger, shown) in TRIGGERS.iter().enumerate() {
        for (arrangement, arrange) in ARRANGEMENTS {
            let name = format!("{shown:?} {arrangement}");
            if is_wanted(&name) {
                rows.push(row(name, &|bytes| hostile(trigger, *arrange, bytes)));
            }
        }
        if std::io::stderr().is_terminal() {
            eprint!("\r{} of {}", trigger + 1, TRIGGERS.len());
        }
    }
    run.finish();
    Ok(report(plan, base, rows))
}

/// Nanoseconds of the fastest of some rounds, for each of two texts in turns.
fn fastest_in_turns(rounds: usize, work: &dyn Fn(&str), texts: [&str; 2]) -> [f64; 2] {
    let mut fastest = [f64::INFINITY; 2];
    for _ in 0..rounds.max(1) {
        for (fastest, text) in fastest.iter_mut().zip(texts) {
            let start = Instant::now();
            work(text);
            *fastest = fastest.min(start.elapsed().as_nanos() as f64);
        }
    }
    fastest
}

fn report(plan: &RedactPlan, base: [f64; 2], mut rows: Vec<Row>) -> (String, bool) {
    let shown = if plan.only.is_some() { usize::MAX } else { 25 };
    let within = |row: &Row| row.recorded <= LIMIT;
    let outside = rows.iter().filter(|row| !within(row)).count();
    let mut text = format!(
        "{} texts of {} bytes, {} rounds. Prose takes {:.2} ns per byte, recorded as the argument of a tool call {:.2} ns.\n\
         {outside} texts cost more than {LIMIT} times as much. The costliest, and what is ordinary:\n\n\
         {:>9}  {:>9}  {:>9}  text\n",
        rows.len(),
        plan.bytes,
        plan.rounds,
        base[0],
        base[1],
        "redacted",
        "recorded",
        "doubled"
    );
    let ordinary = rows.iter().take_while(|row| !row.name.starts_with('"')).count();
    let ordinary = rows.drain(..ordinary).collect::<Vec<_>>();
    rows.sort_by(|left, right| {
        let cost = |row: &Row| row.recorded;
        cost(right).total_cmp(&cost(left))
    });
    for row in ordinary.iter().chain(rows.iter().take(shown)) {
        let _ = writeln!(
            text,
            "{:>8.1}x  {:>8.1}x  {:>8.1}x  {}",
            row.redacted, row.recorded, row.doubled, row.name
        );
    }
    (text, outside == 0)
}
