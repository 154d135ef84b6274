//! `opentelemetry_sdk` with an exporter that writes JSON lines: each span when it ends, and in batches from a thread of
//! its own. With its usual queue the batch processor drops what comes too fast; with a longer one it keeps everything.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::time::UNIX_EPOCH;

use opentelemetry::trace::{Span as _, SpanBuilder, SpanKind, TraceContextExt, Tracer, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, SdkTracer, SdkTracerProvider, SpanData, SpanExporter,
};

use super::json_lines::{SpanLine, append};
use super::{BenchSession, append_file};
use crate::work::{
    ANSWER, ARGUMENTS, COMPLETION_TOKENS, MODEL, PROMPT, PROMPT_TOKENS, PROVIDER, RESPONSE, STEP, SpanWork,
    TOOL, json_text,
};

/// More than any round records.
const LONG_QUEUE: usize = 1 << 20;

pub fn simple(directory: &Path, work: SpanWork) -> BenchSession {
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(exporter(directory))
        .build();
    session(provider, work)
}

pub fn batch(directory: &Path, work: SpanWork) -> BenchSession {
    let provider = SdkTracerProvider::builder()
        .with_batch_exporter(exporter(directory))
        .build();
    session(provider, work)
}

pub fn long_queue(directory: &Path, work: SpanWork) -> BenchSession {
    let config = BatchConfigBuilder::default()
        .with_max_queue_size(LONG_QUEUE)
        .build();
    let processor = BatchSpanProcessor::builder(exporter(directory))
        .with_batch_config(config)
        .build();
    session(
        SdkTracerProvider::builder()
            .with_span_processor(processor)
            .build(),
        work,
    )
}

fn exporter(directory: &Path) -> OpenTelemetryLines {
    OpenTelemetryLines {
        output: Mutex::new((Vec::new(), append_file(directory))),
    }
}

fn session(provider: SdkTracerProvider, work: SpanWork) -> BenchSession {
    let tracer = provider.tracer("benchmark");
    let run = Context::new().with_span(tracer.start("run"));
    BenchSession {
        record: Box::new(move |spans| (0..spans).for_each(|_| one(&tracer, &run, work))),
        flush: Box::new(move || {
            let _ = provider.force_flush();
            Box::new(Shutdown(provider))
        }),
    }
}

fn one(tracer: &SdkTracer, run: &Context, work: SpanWork) {
    let (name, kind, attributes) = match work {
        SpanWork::ToolCall => (
            TOOL,
            SpanKind::Internal,
            vec![
                KeyValue::new("gen_ai.tool.name", TOOL),
                KeyValue::new("args", json_text(&ARGUMENTS)),
                KeyValue::new("result", json_text(&ANSWER)),
            ],
        ),
        SpanWork::ModelCall => (
            MODEL,
            SpanKind::Client,
            vec![
                KeyValue::new("gen_ai.request.model", MODEL),
                KeyValue::new("gen_ai.system", PROVIDER),
                KeyValue::new("prompt", PROMPT.clone()),
                KeyValue::new("response", RESPONSE.clone()),
                KeyValue::new("gen_ai.usage.input_tokens", PROMPT_TOKENS.to_string()),
                KeyValue::new("gen_ai.usage.output_tokens", COMPLETION_TOKENS.to_string()),
                KeyValue::new("gen_ai.response.finish_reasons", "stop"),
            ],
        ),
        SpanWork::NestedSpan => (STEP, SpanKind::Internal, Vec::new()),
    };
    let builder = SpanBuilder::from_name(name)
        .with_kind(kind)
        .with_attributes(attributes);
    tracer.build_with_context(builder, run).end();
}

/// Writes each batch with one write.
#[derive(Debug)]
struct OpenTelemetryLines {
    output: Mutex<(Vec<u8>, File)>,
}

impl SpanExporter for OpenTelemetryLines {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let mut output = self.output.lock().expect("nobody panics here");
        let (buffer, file) = &mut *output;
        buffer.clear();
        for span in &batch {
            append_span(buffer, span);
        }
        let _ = file.write_all(buffer);
        Ok(())
    }
}

fn append_span(out: &mut Vec<u8>, span: &SpanData) {
    let nanoseconds = |time: std::time::SystemTime| {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    };
    let texts: Vec<_> = span
        .attributes
        .iter()
        .map(|attribute| (attribute.key.as_str(), attribute.value.as_str()))
        .collect();
    append(
        out,
        &SpanLine {
            trace_id: span.span_context.trace_id().to_string(),
            span_id: span.span_context.span_id().to_string(),
            parent_span_id: span.parent_span_id.to_string(),
            name: &span.name,
            start_unix_ns: nanoseconds(span.start_time),
            end_unix_ns: nanoseconds(span.end_time),
            attributes: texts.iter().map(|(key, value)| (*key, value.as_ref())).collect(),
        },
    );
}

/// Stops the threads of a provider when dropped.
struct Shutdown(SdkTracerProvider);

impl Drop for Shutdown {
    fn drop(&mut self) {
        let _ = self.0.shutdown();
    }
}
