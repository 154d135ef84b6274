//! `fastrace` with a reporter that writes JSON lines. Its spans wait in a queue of the thread, of a fixed length; what
//! does not fit is dropped.

use std::borrow::Cow;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use fastrace::collector::{Config, Reporter, SpanContext, SpanRecord};
use fastrace::{Span, local::LocalSpan};

use super::json_lines::{SpanLine, append};
use super::{BenchSession, append_file};
use crate::work::{
    ANSWER, ARGUMENTS, COMPLETION_TOKENS, MODEL, PROMPT, PROMPT_TOKENS, PROVIDER, RESPONSE, STEP, SpanWork,
    TOOL, json_text,
};

pub fn local_spans(directory: &Path, work: SpanWork) -> BenchSession {
    fastrace::set_reporter(
        FastraceLines {
            buffer: Vec::new(),
            file: append_file(directory),
        },
        Config::default(),
    );
    let run = Span::root("run", SpanContext::random());
    BenchSession {
        record: Box::new(move |spans| {
            let _parent = run.set_local_parent();
            (0..spans).for_each(|_| drop(one(work)));
        }),
        flush: Box::new(move || {
            fastrace::flush();
            Box::new(())
        }),
    }
}

fn one(work: SpanWork) -> LocalSpan {
    match work {
        SpanWork::ToolCall => LocalSpan::enter_with_local_parent(TOOL)
            .with_properties(|| [("args", json_text(&ARGUMENTS)), ("result", json_text(&ANSWER))]),
        SpanWork::ModelCall => LocalSpan::enter_with_local_parent(MODEL).with_properties(|| {
            [
                ("gen_ai.request.model", Cow::Borrowed(MODEL)),
                ("gen_ai.system", Cow::Borrowed(PROVIDER)),
                ("prompt", Cow::Borrowed(PROMPT.as_str())),
                ("response", Cow::Borrowed(RESPONSE.as_str())),
                ("gen_ai.usage.input_tokens", Cow::Owned(PROMPT_TOKENS.to_string())),
                (
                    "gen_ai.usage.output_tokens",
                    Cow::Owned(COMPLETION_TOKENS.to_string()),
                ),
                ("gen_ai.response.finish_reasons", Cow::Borrowed("stop")),
            ]
        }),
        SpanWork::NestedSpan => LocalSpan::enter_with_local_parent(STEP),
    }
}

/// Writes each report with one write.
struct FastraceLines {
    buffer: Vec<u8>,
    file: File,
}

impl Reporter for FastraceLines {
    fn report(&mut self, spans: Vec<SpanRecord>) {
        self.buffer.clear();
        for span in &spans {
            append(
                &mut self.buffer,
                &SpanLine {
                    trace_id: span.trace_id.to_string(),
                    span_id: span.span_id.to_string(),
                    parent_span_id: span.parent_id.to_string(),
                    name: &span.name,
                    start_unix_ns: span.begin_time_unix_ns,
                    end_unix_ns: span.begin_time_unix_ns + span.duration_ns,
                    attributes: span
                        .properties
                        .iter()
                        .map(|(key, value)| (key.as_ref(), value.as_ref()))
                        .collect(),
                },
            );
        }
        let _ = self.file.write_all(&self.buffer);
    }
}
