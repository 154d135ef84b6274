//! What questions over all runs cost: the real `tracer` on generated stores, beside the limits.
//!
//! Three stores: small runs, of which there are many; runs of a hundred spans, whose text is searched; one run of many spans,
//! which is opened in the viewer, and again in another one.

mod viewer;
mod walk;

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::machine;
use crate::reading::{child, empty_caches, executable, generate, thousands};
use crate::report::Style;
use viewer::Viewer;

/// Spans of each run whose text is searched.
const SEARCHED_RUN_SPANS: usize = 100;
/// A word that is in one span of the first of the runs that are searched.
const NEEDLE: &str = "extraordinarily-rare-7f3a";

/// What is measured, and where.
#[derive(Debug)]
pub struct FactsPlan {
    /// Runs of the store that is listed.
    pub runs: usize,
    /// Spans of the store that is searched, and of the large run.
    pub spans: usize,
    /// How often everything is measured.
    pub rounds: usize,
    /// Whether the system forgets all files before some turns, which needs Linux and root.
    pub is_cold: bool,
    /// The `tracer` executable; `None` is the one of the workspace's release build.
    pub tracer: Option<PathBuf>,
    /// Where the data is made, or found again; `None` is a folder that is removed again.
    pub folder: Option<PathBuf>,
}

/// One line of the report.
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    limit: Option<Limit>,
}

/// The least or the most that a value may be.
#[derive(Clone, Copy)]
enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

/// Generates the data, measures everything, and gives the report.
pub fn measure(plan: &FactsPlan, style: Style) -> Result<String, Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder: &Path = plan.folder.as_deref().unwrap_or_else(|| temporary.path());
    let tracer = executable(plan.tracer.as_deref())?;
    let store = folder.join(format!("store-of-{}", plan.runs));
    let searched = folder.join(format!("searched-{}", plan.spans));
    let large = folder.join(format!("run-of-{}", plan.spans));
    generate::store(&store, plan.runs)?;
    generate::long_runs(
        &searched,
        plan.spans / SEARCHED_RUN_SPANS,
        SEARCHED_RUN_SPANS,
        NEEDLE,
    )?;
    generate::run(&large, plan.spans)?;
    let bench = Bench { plan, tracer };
    let mut rows = Vec::new();
    eprint!("\r{:<60}", "listing");
    rows.extend(bench.listing(&store)?);
    eprint!("\r{:<60}", "filtering and sorting");
    rows.extend(bench.table(&store)?);
    eprint!("\r{:<60}", "searching");
    rows.extend(bench.searching(&searched)?);
    eprint!("\r{:<60}", "opening a large run");
    rows.extend(bench.reopening(&large)?);
    eprintln!();
    Ok(report(folder, &rows, style))
}

struct Bench<'a> {
    plan: &'a FactsPlan,
    tracer: PathBuf,
}

impl Bench<'_> {
    fn command(&self, data_dir: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.tracer);
        command.env("TRACER_DATA_DIR", data_dir).args(arguments);
        command
    }

    /// The median time of a command, after `prepare` each time.
    fn time(
        &self,
        prepare: impl FnMut() -> Result<(), Box<dyn Error>>,
        data_dir: &Path,
        arguments: &[&str],
    ) -> Result<Duration, Box<dyn Error>> {
        let command = || self.command(data_dir, arguments);
        Ok(child::run(self.plan.rounds, prepare, command)?.wall)
    }

    fn listing(&self, store: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
        let runs = thousands(self.plan.runs);
        let is_full = self.plan.runs == 100_000;
        let bytes = walk::log_bytes(store)? as f64;
        let first = self.time(|| forget(store), store, &["list"])?;
        let warm = self.time(|| Ok(()), store, &["list"])?;
        let walked = median(self.plan.rounds, || Ok(walk::look_at_all(store)?))?;
        let database = fs::metadata(store.join("cache/facts-12.sqlite"))?.len() as f64;
        let mut rows = vec![
            Row::new(
                format!("first indexing, {runs} small runs"),
                self.plan.runs as f64 / first.as_secs_f64(),
                "runs/s",
            ),
            Row::new(
                "the same by bytes of logs",
                bytes / first.as_secs_f64() / 1e6,
                "MB/s",
            ),
            Row::new(format!("`list`, {runs} runs, warm"), milliseconds(warm), "ms")
                .limit(is_full, Limit::AtMost(500.0)),
            Row::new(
                "the same beside a walk over the files' times",
                ratio(warm, walked),
                "×",
            ),
            Row::new("database", database / self.plan.runs as f64, "bytes/run")
                .limit(true, Limit::AtMost(2_000.0)),
        ];
        if self.plan.is_cold {
            let cold = self.time(empty_caches, store, &["list"])?;
            let walked = median(self.plan.rounds, || {
                empty_caches()?;
                Ok(walk::look_at_all(store)?)
            })?;
            rows.push(Row::new(
                format!("`list`, {runs} runs, nothing in the page cache"),
                milliseconds(cold),
                "ms",
            ));
            rows.push(
                Row::new(
                    "the same beside a walk over the files' times",
                    ratio(cold, walked),
                    "×",
                )
                .limit(true, Limit::AtMost(1.5)),
            );
        }
        Ok(rows)
    }

    fn table(&self, store: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
        let viewer = Viewer::start(&self.tracer, store)?;
        // The first one loads what is known of all runs.
        viewer.wait_until_read("/api/table?limit=200")?;
        let mut rows = Vec::new();
        let mut slowest = Duration::ZERO;
        for (what, query) in [
            ("by start", "sort=started"),
            ("by tokens, the least first", "sort=tokens&reverse=true"),
            ("by cost", "sort=cost"),
            ("by duration", "sort=duration"),
            ("by name", "sort=name"),
            ("by threads", "group=thread"),
            ("name:agent-7 by tokens", "q=name%3Aagent-7&sort=tokens"),
            ("tool:search_1 tokens>400", "q=tool%3Asearch_1+tokens%3E400"),
            ("status:failed", "q=status%3Afailed"),
            ("model:gpt-* cost>0", "q=model%3Agpt-*+cost%3E0"),
        ] {
            let path = format!("/api/table?limit=200&{query}");
            // Details are loaded when something needs them first.
            viewer.get(&path)?;
            let took = median(self.plan.rounds, || viewer.get(&path).map(|(took, _)| took))?;
            slowest = slowest.max(took);
            rows.push(Row::new(format!("page: {what}"), milliseconds(took), "ms"));
        }
        let is_full = self.plan.runs == 100_000;
        let what = format!("page: the slowest of these, {} runs", thousands(self.plan.runs));
        rows.push(Row::new(what, milliseconds(slowest), "ms").limit(is_full, Limit::AtMost(150.0)));
        Ok(rows)
    }

    fn searching(&self, searched: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
        let is_full = self.plan.spans == 1_000_000;
        let spans = thousands(self.plan.spans);
        let bytes = walk::log_bytes(searched)? as f64;
        let first = self.time(|| forget(searched), searched, &["list"])?;
        let rare = self.time(|| Ok(()), searched, &["search", NEEDLE, "--count"])?;
        let words = self.time(
            || Ok(()),
            searched,
            &["search", "\"no text has this\"", "--count"],
        )?;
        let hits = median(self.plan.rounds, || {
            self.first_line(searched, &["search", "search", "--json", "--limit", "all"])
        })?;
        Ok(vec![
            Row::new(
                format!("first indexing, {spans} spans"),
                bytes / first.as_secs_f64() / 1e6,
                "MB/s",
            )
            .limit(is_full, Limit::AtLeast(300.0)),
            Row::new(
                format!("`search` of a word in one of {spans} spans"),
                milliseconds(rare),
                "ms",
            )
            .limit(is_full, Limit::AtMost(1_500.0)),
            Row::new("`search` of words in none", milliseconds(words), "ms")
                .limit(is_full, Limit::AtMost(1_500.0)),
            Row::new("first hit of a word in most of them", milliseconds(hits), "ms")
                .limit(is_full, Limit::AtMost(200.0)),
        ])
    }

    /// The time from the start of a command to its first line.
    fn first_line(&self, data_dir: &Path, arguments: &[&str]) -> Result<Duration, Box<dyn Error>> {
        let start = Instant::now();
        let mut child = self
            .command(data_dir, arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take().ok_or("there is no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let took = start.elapsed();
        child.kill()?;
        child.wait()?;
        if line.is_empty() {
            return Err(format!("tracer {arguments:?} found nothing").into());
        }
        Ok(took)
    }

    fn reopening(&self, large: &Path) -> Result<Vec<Row>, Box<dyn Error>> {
        let spans = thousands(self.plan.spans);
        let is_full = self.plan.spans == 1_000_000;
        let open = || {
            let start = Instant::now();
            let viewer = Viewer::start(&self.tracer, large)?;
            let listening = start.elapsed();
            // What the page asks for at once.
            let run = format!("/api/runs/{}", generate::BIG_RUN);
            let start = Instant::now();
            viewer.get(&format!("{run}/overview"))?;
            let overview = start.elapsed();
            viewer.get(&format!("{run}/columns"))?;
            Ok::<_, Box<dyn Error>>((viewer, listening, overview, start.elapsed()))
        };
        forget(large)?;
        let (_, _, _, first) = open()?;
        let mut turns = Vec::new();
        for _ in 0..self.plan.rounds {
            let (_viewer, listening, overview, all) = open()?;
            turns.push((all, overview, listening));
        }
        turns.sort_unstable();
        let (all, overview, listening) = turns[turns.len() / 2];
        Ok(vec![
            Row::new(
                format!("run of {spans} spans opened the first time"),
                milliseconds(first),
                "ms",
            ),
            Row::new("opened again after a restart", milliseconds(all), "ms")
                .limit(is_full, Limit::AtMost(3_000.0)),
            Row::new(
                "of that until the overview is there",
                milliseconds(overview),
                "ms",
            ),
            Row::new("`tracer view` listens", milliseconds(listening), "ms"),
        ])
    }
}

impl Row {
    fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self {
            what: what.into(),
            value,
            unit,
            limit: None,
        }
    }

    /// The same with a limit, where the size has one.
    fn limit(self, has_limit: bool, limit: Limit) -> Self {
        Self {
            limit: has_limit.then_some(limit),
            ..self
        }
    }

    fn is_held(&self) -> Option<bool> {
        Some(match self.limit? {
            Limit::AtMost(most) => self.value <= most,
            Limit::AtLeast(least) => self.value >= least,
        })
    }
}

/// Removes what is kept of a store.
fn forget(data_dir: &Path) -> Result<(), Box<dyn Error>> {
    let cache = data_dir.join("cache");
    if cache.exists() {
        fs::remove_dir_all(cache)?;
    }
    Ok(())
}

fn median(
    rounds: usize,
    mut turn: impl FnMut() -> Result<Duration, Box<dyn Error>>,
) -> Result<Duration, Box<dyn Error>> {
    let mut turns = (0..rounds).map(|_| turn()).collect::<Result<Vec<_>, _>>()?;
    turns.sort_unstable();
    Ok(turns[turns.len() / 2])
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn ratio(time: Duration, other: Duration) -> f64 {
    time.as_secs_f64() / other.as_secs_f64()
}

fn report(folder: &Path, rows: &[Row], style: Style) -> String {
    let mut text = machine::facts(folder);
    text.push('\n');
    if style == Style::Markdown {
        text.push_str("| | value | limit | held |\n|---|---|---|---|\n");
    }
    for row in rows {
        let digits = if row.value < 10.0 { 2 } else { 0 };
        let value = format!("{:.digits$} {}", row.value, row.unit);
        let limit = match row.limit {
            None => String::new(),
            Some(Limit::AtMost(most)) => format!("≤ {most} {}", row.unit),
            Some(Limit::AtLeast(least)) => format!("≥ {least} {}", row.unit),
        };
        let held = match row.is_held() {
            None => "",
            Some(true) => "yes",
            Some(false) => "no",
        };
        let _ = match style {
            Style::Markdown => writeln!(text, "| {} | {value} | {limit} | {held} |", row.what),
            Style::Plain => writeln!(text, "{:<58} {value:>18}  {limit:<16} {held}", row.what),
        };
    }
    text
}
