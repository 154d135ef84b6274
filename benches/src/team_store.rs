//! What a team's bucket costs its readers: the real `tracer` on a folder with the facts of many runs, beside the limits.
//!
//! One run is recorded and sent; the facts of the others are its own with other IDs. What the store itself takes is none of
//! it: a folder answers at once.

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::machine;
use crate::reading::child::{self, CommandUsage};
use crate::reading::{executable, generate, thousands};

/// Runs of an object of facts, as shippers write them.
const RUNS_OF_AN_OBJECT: usize = 500;
/// The size that has limits.
const FULL_RUNS: usize = 1_000_000;

/// What is measured, and where.
#[derive(Debug)]
pub struct TeamStorePlan {
    /// Runs whose facts are in the bucket.
    pub runs: usize,
    /// How often everything is measured.
    pub rounds: usize,
    /// The `tracer` executable; `None` is the one of the workspace's release build.
    pub tracer: Option<PathBuf>,
    /// Where the data is made, or found again; `None` is a folder that is removed again.
    pub folder: Option<PathBuf>,
}

/// Makes the bucket, measures, and gives the report, and whether all limits are held.
pub fn measure(plan: &TeamStorePlan) -> Result<(String, bool), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder: &Path = plan.folder.as_deref().unwrap_or_else(|| temporary.path());
    let tracer = executable(plan.tracer.as_deref())?;
    let bucket = folder.join(format!("bucket-of-{}", plan.runs));
    let recorded = folder.join("recorded");
    let run = sent_run(&tracer, &recorded, &bucket)?;
    generate_facts(&bucket, &run, plan.runs)?;
    let home = folder.join("reader");
    let forget = || -> Result<(), Box<dyn Error>> {
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        Ok(())
    };
    let url = format!("file://{}", fs::canonicalize(&bucket)?.display());
    let command = |arguments: &[&str]| {
        let mut command = Command::new(&tracer);
        command
            .env("TRACER_DATA_DIR", &home)
            .env("TRACER_STORE", &url)
            .args(arguments);
        command
    };
    let first = child::run(plan.rounds, forget, || command(&["show", &run]))?;
    let again = child::run(plan.rounds, || Ok(()), || command(&["show", &run]))?;
    let listed = child::run(plan.rounds, || Ok(()), || command(&["list"]))?;
    let sorted = child::run(plan.rounds, || Ok(()), || command(&["list", "--sort", "cost"]))?;
    let counted = child::run(plan.rounds, || Ok(()), || command(&["stats", "--by", "model"]))?;

    let runs = thousands(plan.runs);
    let is_full = plan.runs >= FULL_RUNS;
    let mut text = machine::facts(folder);
    let mut is_kept = true;
    let mut row = |what: String, used: CommandUsage, limits: Option<(Duration, u64)>| {
        let megabytes = used.memory / 1_000_000;
        let is_held = limits.is_none_or(|(time, memory)| used.wall <= time && megabytes <= memory);
        is_kept &= is_held;
        let limit = limits.map_or_else(String::new, |(time, memory)| {
            format!(
                "≤ {:.1} s, ≤ {memory} MB  {}",
                time.as_secs_f64(),
                if is_held { "yes" } else { "no" }
            )
        });
        // Writing to a text never fails.
        let _ = writeln!(
            text,
            "{what:<58} {:>8.2} s {:>8.2} s of processor {megabytes:>6} MB  {limit}",
            used.wall.as_secs_f64(),
            used.processor.as_secs_f64()
        );
    };
    let limits = |seconds: f64, memory: u64| is_full.then_some((Duration::from_secs_f64(seconds), memory));
    row(
        format!("first synchronization of {runs} runs, and `show` of one"),
        first,
        limits(60.0, 300),
    );
    row(
        "nothing new, and `show` of a run that is here".to_owned(),
        again,
        limits(0.2, 300),
    );
    row(
        format!("`list` of {runs} runs, nothing new"),
        listed,
        limits(3.0, 300),
    );
    row(
        format!("`list --sort cost` of {runs} runs"),
        sorted,
        limits(15.0, 500),
    );
    row(
        format!("`stats --by model` of {runs} runs"),
        counted,
        limits(15.0, 500),
    );
    Ok((text, is_kept))
}

/// Records a run and sends it to the bucket, unless it is there; gives its ID.
fn sent_run(tracer: &Path, recorded: &Path, bucket: &Path) -> Result<String, Box<dyn Error>> {
    fs::create_dir_all(bucket)?;
    generate::store(recorded, 1)?;
    let url = format!("file://{}", fs::canonicalize(bucket)?.display());
    let status = Command::new(tracer)
        .env("TRACER_DATA_DIR", recorded)
        .args(["push", "--all", "--to", &url])
        .status()?;
    if !status.success() {
        return Err("the run was not sent".into());
    }
    let run = fs::read_dir(recorded.join("runs"))?
        .next()
        .ok_or("there is no run")??;
    Ok(run.file_name().to_string_lossy().into_owned())
}

/// Writes the facts of this many further runs, unless they are there.
fn generate_facts(bucket: &Path, run: &str, runs: usize) -> Result<(), Box<dyn Error>> {
    let facts = bucket.join("facts");
    let marker = bucket.join("generated");
    if marker.exists() {
        return Ok(());
    }
    let day = fs::read_dir(&facts)?.next().ok_or("there are no facts")??.path();
    let sent = fs::read_dir(day)?.next().ok_or("there are no facts")??.path();
    let line = fs::read_to_string(sent)?;
    for batch in 0..runs.div_ceil(RUNS_OF_AN_OBJECT) {
        let minute = batch % (24 * 60);
        let folder = facts.join(format!(
            "date=2026-{:02}-{:02}",
            1 + batch / 40_320,
            1 + batch / (24 * 60) % 28
        ));
        fs::create_dir_all(&folder)?;
        let mut text = String::new();
        let first = batch * RUNS_OF_AN_OBJECT;
        for number in first..runs.min(first + RUNS_OF_AN_OBJECT) {
            // In no order, as IDs are.
            let high = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            text += &line.replace(run, &format!("{high:016x}{number:016x}"));
        }
        let name = format!(
            "{:02}{:02}00.000000-0000000a-{batch:016x}.jsonl",
            minute / 60,
            minute % 60
        );
        fs::write(folder.join(name), text)?;
    }
    fs::write(marker, "")?;
    Ok(())
}
