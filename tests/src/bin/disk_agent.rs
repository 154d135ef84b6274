//! A traced program whose disk gives it trouble: records three rounds of tool calls, and prints what became of them as
//! JSON.
//!
//! With `--fill <file>`, the second round meets a disk that this file has filled to its last byte.

#![expect(
    clippy::print_stdout,
    reason = "helpers of tests fail by panicking and tell by printing"
)]

use std::fs::{File, remove_file};
use std::io::Write;

use serde_json::json;
use tracer_sdk::{Run, tool_call};

/// Calls in each of the three rounds.
const CALLS: u64 = 40;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args()
        .skip_while(|argument| argument != "--fill")
        .skip(1);
    let filler = arguments.next();
    let run = Run::new("disk agent").start();
    let directory = run.dir();
    record_round()?;
    if let Some(filler) = &filler {
        fill(&mut File::create(filler)?);
    }
    record_round()?;
    if let Some(filler) = &filler {
        remove_file(filler)?;
    }
    record_round()?;
    let stats = run.finish();
    println!(
        "{}",
        json!({"directory": directory, "written": stats.written, "dropped": stats.dropped, "answer": 42})
    );
    Ok(())
}

fn record_round() -> Result<(), tracer_sdk::GuardrailExceeded> {
    for number in 0..CALLS {
        // Names that differ are no loop.
        let result = json!({"lines": ["…".repeat(100)]});
        tool_call(format!("read {}", number % 13))
            .args(&number)
            .result(&result)
            .record()?;
    }
    Ok(())
}

/// Writes until nothing more fits.
fn fill(file: &mut File) {
    for size in [4096, 64, 1] {
        while file.write(&vec![b'x'; size]).is_ok_and(|taken| taken > 0) {}
    }
}
