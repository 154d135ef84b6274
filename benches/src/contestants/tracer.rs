//! This SDK: every span in the file on return, batched, turned off, and without a run.

use std::path::Path;

use tracer_sdk::settings::Flush;
use tracer_sdk::{Config, Run, Usage, llm_call, span, tool_call};

use super::Session;
use crate::work::{
    ANSWER, ARGUMENTS, COMPLETION_TOKENS, MODEL, PROMPT, PROMPT_TOKENS, PROVIDER, RESPONSE, STEP, TOOL, Work,
};

pub fn each(directory: &Path, work: Work) -> Session {
    run(&Config::new().flush(Flush::Each), directory, work)
}

pub fn batched(directory: &Path, work: Work) -> Session {
    run(&Config::new().flush(Flush::Batched), directory, work)
}

pub fn disabled(directory: &Path, work: Work) -> Session {
    run(&Config::new().enabled(false), directory, work)
}

pub fn without_run(_directory: &Path, work: Work) -> Session {
    Session {
        record: Box::new(move |spans| record(work, spans)),
        flush: Box::new(|| Box::new(())),
    }
}

fn run(config: &Config, directory: &Path, work: Work) -> Session {
    let run = Run::new("benchmark")
        .config(&config.clone().data_dir(directory))
        .start();
    let mut outer = (work == Work::NestedSpan).then(|| span("plan").start());
    let context = outer
        .as_mut()
        .map_or_else(|| run.context(), |outer| outer.context());
    Session {
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

fn record(work: Work, spans: usize) {
    match work {
        Work::ToolCall => (0..spans).for_each(|_| one_tool_call()),
        Work::ModelCall => (0..spans).for_each(|_| one_model_call()),
        Work::NestedSpan => (0..spans).for_each(|_| span(STEP).start().end()),
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
