//! A plain, synchronous program that records what it does: it counts the words of the text files of a folder.
//!
//! ```text
//! cargo run -p tracer-examples --bin word_count
//! cargo run -p tracer-cli -- show
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

use serde::Serialize;
use serde_json::json;
use tracer_sdk::{RunGuard, state, tool_call, traced_run};

/// How far the counting has come.
#[derive(Default, Serialize)]
struct Count {
    files: usize,
    lines: usize,
    words: usize,
}

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
    // The run lasts until the guard is dropped. `observe` tells it when the work has failed.
    let run: RunGuard = traced_run("word count");
    match run.observe(count_folder(&folder).map_err(|error| error.to_string())) {
        Ok(count) => {
            println!(
                "{} words in {} lines of {} files",
                count.words, count.lines, count.files
            );
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn count_folder(folder: &Path) -> Result<Count, Box<dyn Error>> {
    let mut count = Count::default();
    for path in list_files(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut call = tool_call("read_file").args(&json!({"path": name})).start()?;
        let text = fs::read_to_string(&path).inspect_err(|error| {
            call.fail(error);
        })?;
        let (lines, words) = (text.lines().count(), text.split_whitespace().count());
        call.result(&json!({"lines": lines, "words": words}));
        call.end()?;

        count.files += 1;
        count.lines += lines;
        count.words += words;
        state(&count).record()?;
    }
    Ok(count)
}

/// The files of the folder, in the order of their names.
fn list_files(folder: &Path) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let name = folder.display().to_string();
    let mut call = tool_call("list_folder").args(&json!({"folder": name})).start()?;
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let entries = entries.inspect_err(|error| {
        call.fail(error);
    });
    let entries = entries.map_err(|error| format!("`{name}` cannot be read: {error}"))?;
    let mut files: Vec<_> = entries
        .iter()
        .map(fs::DirEntry::path)
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    call.result(&json!({"files": files.len()}));
    call.end()?;
    Ok(files)
}
