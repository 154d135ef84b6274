//! A plain, synchronous program that records what it does: it counts the words of the text files of a folder.
//!
//! ```text
//! cargo run -p tracer-examples --bin word_count
//! cargo run -p tracer-cli -- show
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use serde_json::json;
use tracer_sdk::{state, tool_call, traced_run};

/// Number of the most frequent words that are printed.
const RANKS: usize = 3;

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "the result and the errors of a command-line program"
)]
fn main() -> ExitCode {
    let folder = env::args_os().nth(1).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("data"),
        PathBuf::from,
    );
    // The run lasts until the guard is dropped. `observe` records whether the work failed.
    let run = traced_run("word count");
    match run.observe(count_folder(&folder)) {
        Ok(summary) => {
            println!("{summary}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Three steps, each a tool call, with the state between them.
fn count_folder(folder: &Path) -> Result<String, Box<dyn Error>> {
    let files = list_folder(folder)?;
    state(&json!({"step": "listed", "files": files.len()})).record()?;

    let counts = count_words(folder, &files)?;
    let total: usize = counts.values().sum();
    state(&json!({"step": "counted", "words": total, "different_words": counts.len()})).record()?;

    let ranks = rank_words(counts)?;
    state(&json!({"step": "done", "most_frequent": ranks})).record()?;
    Ok(format!(
        "{total} words in {} files; most frequent: {}",
        files.len(),
        ranks.join(", ")
    ))
}

/// The names of the folder's files, in alphabetical order.
fn list_folder(folder: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    // Started before the work and ended after it, the call has its real duration. A failure is recorded with the call.
    let mut call = tool_call("list_folder")
        .args(&json!({"folder": folder}))
        .start()?;
    let entries = fs::read_dir(folder)
        .and_then(Iterator::collect::<io::Result<Vec<_>>>)
        .map_err(|error| unreadable(folder, &error))
        .inspect_err(|error| {
            call.fail(error);
        })?;
    let files = entries.iter().filter(|entry| entry.path().is_file());
    let mut names: Vec<_> = files
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    call.result(&json!({"files": names}));
    call.end()?;
    Ok(names)
}

/// How often each word stands in the files.
fn count_words(folder: &Path, files: &[String]) -> Result<BTreeMap<String, usize>, Box<dyn Error>> {
    let mut call = tool_call("count_words").args(&json!({"files": files})).start()?;
    let mut counts = BTreeMap::new();
    for file in files {
        let path = folder.join(file);
        let text = fs::read_to_string(&path)
            .map_err(|error| unreadable(&path, &error))
            .inspect_err(|error| {
                call.fail(error);
            })?;
        for word in text
            .split(|character: char| !character.is_alphabetic())
            .filter(|word| !word.is_empty())
        {
            *counts.entry(word.to_lowercase()).or_default() += 1;
        }
    }
    call.result(&json!({"different_words": counts.len()}));
    call.end()?;
    Ok(counts)
}

/// The most frequent words; the first of the alphabet among equals.
fn rank_words(counts: BTreeMap<String, usize>) -> Result<Vec<String>, Box<dyn Error>> {
    let mut call = tool_call("rank_words").args(&json!({"ranks": RANKS})).start()?;
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let ranks: Vec<_> = words
        .into_iter()
        .take(RANKS)
        .map(|(word, count)| format!("{word} ({count})"))
        .collect();
    call.result(&json!({"words": ranks}));
    call.end()?;
    Ok(ranks)
}

/// The error with its path, which the operating system leaves out.
fn unreadable(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!("`{}` cannot be read: {error}", path.display()),
    )
}
