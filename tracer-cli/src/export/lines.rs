//! Records as lines of JSON: made on several threads at once, given in the order of the run.
//!
//! Each thread takes its turns of consecutive records, and the turns go round the threads. What a thread has made ahead
//! of its turn waits in a channel that holds little, so that memory does not grow with the run.

use std::io;
use std::ops::Range;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::{self, JoinHandle};

use tracer_sdk::format::Record;
use tracer_sdk::read::RecordStream;

use super::ExportError;
use crate::json;

/// How many records one turn of a thread has.
const TURN_RECORDS: usize = 512;
/// Lines are passed on when they have so many bytes, even within a turn: records can be large.
const PASSED_BYTES: usize = 1024 * 1024;
/// How many of such pieces wait for each thread.
const WAITING_PIECES: usize = 2;
/// One thread writes the file: more than these it cannot keep up with.
const MOST_THREADS: usize = 4;

/// Some lines of JSON, one for each record.
#[derive(Debug, Default)]
pub struct Lines {
    bytes: Vec<u8>,
    /// Where each line ends.
    ends: Vec<usize>,
}

impl Lines {
    /// Adds the line of a record.
    pub fn push(&mut self, record: &Record) -> io::Result<()> {
        json::write(&mut self.bytes, record)?;
        self.ends.push(self.bytes.len());
        Ok(())
    }

    /// How many lines there are.
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    /// The lines, without their newlines.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let line = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            line
        })
    }
}

/// What a thread passes on.
enum Passed {
    Lines(Lines),
    EndOfTurn,
    Failed(ExportError),
}

/// The lines of all records of a run.
#[derive(Debug)]
pub struct RecordLines {
    threads: Vec<(Receiver<Passed>, Option<JoinHandle<()>>)>,
    /// Whose turn it is.
    turn: usize,
    /// How many records are still to come.
    left: usize,
}

impl RecordLines {
    /// Begins to make the lines; an error when no thread can be started.
    pub fn new(records: &RecordStream) -> io::Result<Self> {
        let available = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::with_threads(records, available.min(MOST_THREADS))
    }

    fn with_threads(records: &RecordStream, most_threads: usize) -> io::Result<Self> {
        let count = records.record_count();
        let thread_count = most_threads.min(count.div_ceil(TURN_RECORDS)).max(1);
        let threads = (0..thread_count).map(|number| {
            let (sender, receiver) = mpsc::sync_channel(WAITING_PIECES);
            let records = records.clone();
            let thread = thread::Builder::new().name("export".to_owned()).spawn(move || {
                let first = number * TURN_RECORDS;
                let starts = (first..count).step_by(thread_count * TURN_RECORDS);
                pass_turns(
                    records,
                    starts.map(|start| start..count.min(start + TURN_RECORDS)),
                    &sender,
                );
            });
            Ok((receiver, Some(thread?)))
        });
        Ok(Self {
            threads: threads.collect::<io::Result<_>>()?,
            turn: 0,
            left: count,
        })
    }
}

impl Iterator for RecordLines {
    type Item = Result<Lines, ExportError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.left > 0 {
            let turn = self.turn % self.threads.len();
            let (receiver, thread) = self.threads.get_mut(turn)?;
            match receiver.recv() {
                Ok(Passed::Lines(lines)) => {
                    self.left = self.left.saturating_sub(lines.count());
                    return Some(Ok(lines));
                }
                Ok(Passed::EndOfTurn) => self.turn += 1,
                Ok(Passed::Failed(error)) => {
                    self.left = 0;
                    return Some(Err(error));
                }
                // With records left, only a panic ends a thread: it goes on here, so that nothing is cut silently.
                Err(mpsc::RecvError) => {
                    if let Some(Err(panic)) = thread.take().map(JoinHandle::join) {
                        std::panic::resume_unwind(panic);
                    }
                    self.left = 0;
                    return Some(Err(ExportError::Read("a record is missing".to_owned())));
                }
            }
        }
        None
    }
}

/// Makes the lines of some turns, until nobody wants them any more.
fn pass_turns(
    mut records: RecordStream,
    turns: impl Iterator<Item = Range<usize>>,
    sender: &SyncSender<Passed>,
) {
    for turn in turns {
        if let Err(error) = pass_turn(&mut records, turn, sender) {
            // Whoever stopped listening has failed already.
            let _ = sender.send(Passed::Failed(error));
            return;
        }
        if sender.send(Passed::EndOfTurn).is_err() {
            return;
        }
    }
}

fn pass_turn(
    records: &mut RecordStream,
    turn: Range<usize>,
    sender: &SyncSender<Passed>,
) -> Result<(), ExportError> {
    let mut lines = Lines::default();
    for number in turn {
        if let Some(record) = records.record(number)? {
            lines.push(&record)?;
        }
        if lines.bytes.len() >= PASSED_BYTES {
            pass(std::mem::take(&mut lines), sender)?;
        }
    }
    pass(lines, sender)
}

fn pass(lines: Lines, sender: &SyncSender<Passed>) -> Result<(), ExportError> {
    sender
        .send(Passed::Lines(lines))
        .map_err(|_closed| ExportError::Write(io::ErrorKind::BrokenPipe.into()))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::fs;

    use serde_json::json;
    use tempfile::TempDir;
    use tracer_sdk::read::{StreamedRun, stream_run};

    use super::*;

    const TRACE: &str = "10000000000000000000000000000001";
    /// Some turns, the last of them short.
    const SPANS: usize = 5 * TURN_RECORDS + 7;

    /// A run whose file is in another order than its records, some of them large, and some surfaced from the root.
    fn directory() -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        let time = |number: usize| format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60);
        let meta = json!({"spec_version": "0.2.0", "trace_id": TRACE, "run_name": "agent", "started_at": time(0),
            "ended_at": null, "duration_ms": null, "status": "running",
            "counts": {"llm_calls": 0, "tool_calls": 0, "errors": 0, "loop_warnings": 0}});
        fs::write(directory.path().join("meta.json"), meta.to_string()).unwrap();
        let mut log = String::new();
        for number in (1..=SPANS).rev() {
            let large = if number % 900 == 0 {
                "x".repeat(PASSED_BYTES)
            } else {
                String::new()
            };
            let parent = (number > 1).then_some("0000000000000001");
            let events = if number == 1 {
                json!([{"name": "state", "timestamp": time(700), "attributes": {}},
                    {"name": "state", "timestamp": time(2_000), "attributes": {}}])
            } else {
                json!([])
            };
            let span = json!({"trace_id": TRACE, "span_id": format!("{number:016x}"), "parent_span_id": parent,
                "name": "search", "kind": "INTERNAL", "start_time": time(number), "end_time": null,
                "duration_ms": null, "attributes": {"tracer.tool_name": "search", "tracer.note": large},
                "events": events, "status_code": "OK", "status_description": ""});
            writeln!(log, "{span}").unwrap();
        }
        fs::write(directory.path().join("spans.jsonl"), log).unwrap();
        directory
    }

    fn streamed(directory: &TempDir) -> StreamedRun {
        stream_run(directory.path()).unwrap()
    }

    #[test]
    fn however_many_threads_make_them_the_lines_are_those_of_the_records_one_after_the_other() {
        let directory = directory();
        let expected: Vec<Vec<u8>> = streamed(&directory)
            .records
            .map(|record| {
                let mut line = Vec::new();
                json::write(&mut line, &record.unwrap()).unwrap();
                line
            })
            .collect();
        assert!(expected.len() > SPANS + 1);
        for threads in [1, 2, 3, 100] {
            let pieces = RecordLines::with_threads(&streamed(&directory).records, threads).unwrap();
            let lines: Vec<Vec<u8>> = pieces
                .flat_map(|lines| lines.unwrap().iter().map(<[u8]>::to_vec).collect::<Vec<_>>())
                .collect();
            assert!(lines == expected, "{threads} threads");
        }
    }

    #[test]
    fn a_log_that_changes_meanwhile_is_told_once_and_nothing_comes_behind_it() {
        let directory = directory();
        let run = streamed(&directory);
        fs::write(directory.path().join("spans.jsonl"), "").unwrap();
        let pieces: Vec<_> = RecordLines::with_threads(&run.records, 2).unwrap().collect();
        assert!(
            matches!(pieces.as_slice(), [Err(ExportError::Read(reason))] if reason.contains("has changed"))
        );
    }

    #[test]
    fn whoever_stops_reading_stops_the_threads() {
        let directory = directory();
        let mut pieces = RecordLines::with_threads(&streamed(&directory).records, 2).unwrap();
        assert!(pieces.next().is_some_and(|lines| lines.is_ok()));
        let threads: Vec<_> = pieces
            .threads
            .drain(..)
            .map(|(_receiver, thread)| thread)
            .collect();
        for thread in threads.into_iter().flatten() {
            thread.join().unwrap();
        }
    }
}
