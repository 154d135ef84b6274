//! `tracing` with the JSON formatter of `tracing-subscriber`, one line for each span that closes: written by the thread
//! that closes it, and by the thread of `tracing-appender`.

use std::path::Path;

use tracing::{Dispatch, Span, dispatcher, info_span};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::FmtSpan;

use super::{BenchSession, append_file};
use crate::work::{
    ANSWER, ARGUMENTS, COMPLETION_TOKENS, MODEL, PROMPT, PROMPT_TOKENS, PROVIDER, RESPONSE, SpanWork,
    json_text,
};

pub fn blocking(directory: &Path, work: SpanWork) -> BenchSession {
    session(dispatch(std::sync::Arc::new(append_file(directory))), (), work)
}

pub fn non_blocking(directory: &Path, work: SpanWork) -> BenchSession {
    let (writer, guard) = tracing_appender::non_blocking(append_file(directory));
    session(dispatch(writer), guard, work)
}

fn dispatch(writer: impl for<'a> MakeWriter<'a> + Send + Sync + 'static) -> Dispatch {
    // The list of all enclosing spans would repeat the run's fields in every line.
    let subscriber = tracing_subscriber::fmt()
        .json()
        .with_span_list(false)
        .with_span_events(FmtSpan::CLOSE)
        .with_writer(writer)
        .finish();
    Dispatch::new(subscriber)
}

/// Dropping `guard` waits until the appender's thread has written everything.
fn session<Guard: 'static>(dispatch: Dispatch, guard: Guard, work: SpanWork) -> BenchSession {
    let run = dispatcher::with_default(&dispatch, || info_span!("run"));
    BenchSession {
        record: Box::new(move |spans| {
            dispatcher::with_default(&dispatch, || {
                let _entered = run.enter();
                (0..spans).for_each(|_| drop(one(work).entered()));
            });
        }),
        flush: Box::new(move || {
            drop(guard);
            Box::new(())
        }),
    }
}

fn one(work: SpanWork) -> Span {
    match work {
        SpanWork::ToolCall => {
            info_span!("lookup_customer", args = %json_text(&ARGUMENTS), result = %json_text(&ANSWER))
        }
        SpanWork::ModelCall => info_span!(
            "gpt-5",
            gen_ai.request.model = MODEL,
            gen_ai.system = PROVIDER,
            prompt = PROMPT.as_str(),
            response = RESPONSE.as_str(),
            gen_ai.usage.input_tokens = PROMPT_TOKENS,
            gen_ai.usage.output_tokens = COMPLETION_TOKENS,
            gen_ai.response.finish_reasons = "stop",
        ),
        SpanWork::NestedSpan => info_span!("plan_step"),
    }
}
