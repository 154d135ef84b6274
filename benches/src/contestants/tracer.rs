//! This SDK: every span in the file on return, batched, turned off, and without a run.

use std::path::Path;

use tracer_sdk::settings::Flush;
use tracer_sdk::{Config, Run, Usage, llm_call, span, tool_call};

use super::BenchSession;
use crate::work::{
    ANSWER, ARGUMENTS, COMPLETION_TOKENS, MODEL, PROMPT, PROMPT_TOKENS, PROVIDER, RESPONSE, STEP, SpanWork,
    TOOL,
};

pub fn each(directory: &Path, work: SpanWork) -> BenchSession {
    run(&Config::new().flush(Flush::Each), directory, work)
}

pub fn batched(directory: &Path, work: SpanWork) -> BenchSession {
    run(&Config::new().flush(Flush::Batched), directory, work)
}

pub fn disabled(directory: &Path, work: SpanWork) -> BenchSession {
    run(&Config::new().enabled(false), directory, work)
}

pub fn without_run(_directory: &Path, work: SpanWork) -> BenchSession {
    BenchSession {
        record: Box::new(move |spans| record(work, spans)),
        flush: Box::new(|| Box::new(())),
    }
}

fn run(config: &Config, directory: &Path, work: SpanWork) -> BenchSession {
    let run = Run::new("benchmark")
        .config(&config.clone().data_dir(directory))
        .start();
    let mut outer = (work == SpanWork::NestedSpan).then(|| span("plan").start());
    let context = outer
        .as_mut()
        .map_or_else(|| run.context(), |outer| outer.context());
    BenchSession {
        record: Box::new(move |spans| match &context {
            Some(context) => context.in_scope(|| record(work, spans)),
            None => record(work, spans),
        }),
        flush: Box::new(move || {
            run.flush();
            Box::new((outer, run))
        }),
    }
}

fn record(work: SpanWork, spans: usize) {
    match work {
        SpanWork::ToolCall => (0..spans).for_each(|_| one_tool_call()),
        SpanWork::ModelCall => (0..spans).for_each(|_| one_model_call()),
        SpanWork::NestedSpan => (0..spans).for_each(|_| span(STEP).start().end()),
    }
}

fn one_tool_call() {
    let _ = tool_call(TOOL).args(&ARGUMENTS).result(&ANSWER).record();
}

fn one_model_call() {
    let _ = llm_call(MODEL)
        .provider(PROVIDER)
        .prompt(PROMPT.as_str())
        .response(RESPONSE.as_str())
        .usage(Usage::new(PROMPT_TOKENS, COMPLETION_TOKENS))
        .stop_reason("stop")
        .record();
}
