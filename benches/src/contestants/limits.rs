//! The limits: what writing the same bytes costs without any recorder around it.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use tracer_sdk::format::Timestamp;

use super::{BenchSession, append_file};
use crate::work::{
    ANSWER, ARGUMENTS, COMPLETION_TOKENS, MODEL, PROMPT, PROMPT_TOKENS, PROVIDER, RESPONSE, SpanWork, TOOL,
};

const BLOCK: usize = 64 * 1024;

/// One `write` per span of a line that is there already: as many bytes as the SDK writes, and no other work.
pub fn bare_write(directory: &Path, work: SpanWork) -> BenchSession {
    let file = Arc::new(append_file(directory));
    let mut line = Vec::new();
    Formatter::default().append(&mut line, work);
    let writer = Arc::clone(&file);
    BenchSession {
        record: Box::new(move |spans| {
            for _ in 0..spans {
                let _ = (&*writer).write(&line);
            }
        }),
        flush: Box::new(move || Box::new(file)),
    }
}

/// The same lines put together by hand, for this work only, and written in blocks: no redaction, no limits, no loop
/// detection, and up to a block is lost with the process.
pub fn blocks(directory: &Path, work: SpanWork) -> BenchSession {
    let shared = Arc::new(Mutex::new((
        Vec::with_capacity(2 * BLOCK),
        append_file(directory),
    )));
    let state = Arc::clone(&shared);
    BenchSession {
        record: Box::new(move |spans| {
            let mut formatter = Formatter::default();
            let mut line = Vec::new();
            for _ in 0..spans {
                line.clear();
                formatter.append(&mut line, work);
                let (block, file) = &mut *state.lock().expect("nobody panics here");
                block.extend_from_slice(&line);
                if block.len() >= BLOCK {
                    write_block(file, block);
                }
            }
        }),
        flush: Box::new(move || {
            let (block, file) = &mut *shared.lock().expect("nobody panics here");
            write_block(file, block);
            Box::new(())
        }),
    }
}

fn write_block(file: &mut File, block: &mut Vec<u8>) {
    file.write_all(block).expect("the directory has room");
    block.clear();
}

/// Puts lines of the format together, with as little as that takes.
#[derive(Default)]
struct Formatter {
    now: Vec<u8>,
    json: Vec<u8>,
}

impl Formatter {
    fn append(&mut self, line: &mut Vec<u8>, work: SpanWork) {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT
            .fetch_add(1, Ordering::Relaxed)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let name = work.span_name();
        let kind = if work == SpanWork::ModelCall {
            "CLIENT"
        } else {
            "INTERNAL"
        };
        self.now.clear();
        Timestamp::from_unix_microseconds(unix_microseconds()).write(&mut self.now);
        let _ = write!(
            line,
            r#"{{"trace_id":"0af7651916cd43dd8448eb211c80319c","span_id":"{id:016x}","parent_span_id":"00f067aa0ba902b7","name":"{name}","kind":"{kind}","start_time":""#
        );
        line.extend_from_slice(&self.now);
        line.extend_from_slice(br#"","end_time":""#);
        line.extend_from_slice(&self.now);
        line.extend_from_slice(br#"","duration_ms":0,"attributes":{"#);
        match work {
            SpanWork::ToolCall => {
                let _ = write!(
                    line,
                    r#""tracer.tool_name":"{TOOL}","tracer.status":"ok"}},"events":["#
                );
                self.json_event(line, "tracer.tool.args", "args", &ARGUMENTS);
                line.push(b',');
                self.json_event(line, "tracer.tool.result", "result", &ANSWER);
            }
            SpanWork::ModelCall => {
                let total = PROMPT_TOKENS + COMPLETION_TOKENS;
                let _ = write!(
                    line,
                    r#""gen_ai.request.model":"{MODEL}","gen_ai.operation.name":"chat","gen_ai.system":"{PROVIDER}","gen_ai.usage.input_tokens":{PROMPT_TOKENS},"gen_ai.usage.output_tokens":{COMPLETION_TOKENS},"gen_ai.usage.total_tokens":{total},"gen_ai.response.finish_reasons":"stop","tracer.status":"ok"}},"events":["#
                );
                event(line, "gen_ai.user.message", &self.now, "content", &PROMPT);
                line.push(b',');
                event(line, "gen_ai.assistant.message", &self.now, "content", &RESPONSE);
            }
            SpanWork::NestedSpan => line.extend_from_slice(br#"},"events":["#),
        }
        line.extend_from_slice(b"],\"status_code\":\"OK\",\"status_description\":\"\"}\n");
    }

    /// JSON text within a JSON string, as the format stores structured values.
    fn json_event<T: Serialize>(&mut self, line: &mut Vec<u8>, name: &str, key: &str, value: &T) {
        self.json.clear();
        let _ = serde_json::to_writer(&mut self.json, value);
        event(
            line,
            name,
            &self.now,
            key,
            std::str::from_utf8(&self.json).unwrap_or_default(),
        );
    }
}

fn event(line: &mut Vec<u8>, name: &str, now: &[u8], key: &str, text: &str) {
    let _ = write!(line, r#"{{"name":"{name}","timestamp":""#);
    line.extend_from_slice(now);
    let _ = write!(line, r#"","attributes":{{"{key}":"#);
    let _ = serde_json::to_writer(&mut *line, text);
    line.extend_from_slice(b"}}");
}

fn unix_microseconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contestants::tracer;

    #[test]
    fn the_limits_write_lines_as_long_as_those_of_the_sdk() {
        for work in SpanWork::ALL {
            let directory = tempfile::tempdir().unwrap();
            let session = tracer::each(directory.path(), work);
            (session.record)(1);
            let run = (session.flush)();
            let file = crate::lines::span_files(directory.path()).remove(0);
            let written = std::fs::read_to_string(file).unwrap();
            drop(run);
            let mut line = Vec::new();
            Formatter::default().append(&mut line, work);
            assert_eq!(
                written.lines().next().unwrap().len() + 1,
                line.len(),
                "{work:?}\n{written}"
            );
        }
    }
}
