//! What the layer costs a program: callsites and spans that are not its own, and recorded ones beside the same calls by
//! recorders.

use std::error::Error;
use std::fmt::Write;
use std::hint::black_box;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Instant;

use serde_json::{Value, json};
use tracer_sdk::{Config, Run, Usage, llm_call, span, tool_call};
use tracing::field::Empty;
use tracing::{debug, info_span};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::machine;
use crate::work::{
    ANSWER, ARGUMENTS, COMPLETION_TOKENS, MODEL, PROMPT, PROMPT_TOKENS, PROVIDER, RESPONSE, STEP, TOOL,
    json_text,
};

/// What is measured, and where.
#[derive(Debug)]
pub struct LayerPlan {
    /// How often everything is measured, in turns.
    pub rounds: usize,
    /// Spans of one turn that are recorded. Those that are not are a hundred times as many.
    pub spans: usize,
    pub directory: PathBuf,
}

/// How many more turns what is not recorded takes.
const UNRECORDED_FACTOR: usize = 100;

/// Something that is done again and again.
struct LayerCase {
    name: &'static str,
    limit: LayerLimit,
    is_recorded: bool,
    run: fn(),
}

/// What it may cost (capture, section 3).
enum LayerLimit {
    Nanoseconds(f64),
    /// As many times as the case before it.
    TimesTheOneBefore(f64),
    /// It is what another one is measured with.
    None,
}

const CASES: &[LayerCase] = &[
    LayerCase {
        name: "callsite in which nobody is interested",
        limit: LayerLimit::Nanoseconds(5.0),
        is_recorded: false,
        run: || debug!(target: "shop::stock", items = 3, "counted"),
    },
    LayerCase {
        name: "foreign span within a recorded one",
        limit: LayerLimit::Nanoseconds(30.0),
        is_recorded: false,
        run: || {
            let _ =
                black_box(info_span!(target: "shop::stock", "count", items = 3, place = "Oslo").entered());
        },
    },
    LayerCase {
        name: "foreign outermost span",
        limit: LayerLimit::Nanoseconds(200.0),
        is_recorded: false,
        run: || {
            let _ =
                black_box(info_span!(target: "shop::stock", parent: None, "GET /stock", items = 3).entered());
        },
    },
    LayerCase {
        name: "model call, 2 kB each way: recorder",
        limit: LayerLimit::None,
        is_recorded: true,
        run: recorded_model_call,
    },
    LayerCase {
        name: "model call, 2 kB each way: span of a library",
        limit: LayerLimit::TimesTheOneBefore(2.0),
        is_recorded: true,
        run: library_model_call,
    },
    LayerCase {
        name: "tool call: recorder",
        limit: LayerLimit::None,
        is_recorded: true,
        run: recorded_tool_call,
    },
    LayerCase {
        name: "tool call: span of a library",
        limit: LayerLimit::TimesTheOneBefore(2.0),
        is_recorded: true,
        run: library_tool_call,
    },
    LayerCase {
        name: "structural span: recorder",
        limit: LayerLimit::None,
        is_recorded: true,
        run: || span(STEP).start().end(),
    },
    LayerCase {
        name: "structural span: span of a library",
        limit: LayerLimit::TimesTheOneBefore(2.0),
        is_recorded: true,
        run: || drop(info_span!("plan_step", gen_ai.operation.name = "plan").entered()),
    },
];

/// The messages as values, as a program has them for a recorder, and as JSON text, as a library has them for a span.
static MESSAGES: LazyLock<[Value; 2]> = LazyLock::new(|| {
    [("user", &*PROMPT), ("assistant", &*RESPONSE)]
        .map(|(role, text)| json!([{"role": role, "parts": [{"type": "text", "content": text}]}]))
});
static MESSAGES_TEXT: LazyLock<[String; 2]> = LazyLock::new(|| [0, 1].map(|side| json_text(&MESSAGES[side])));
static TOOL_TEXT: LazyLock<[String; 2]> = LazyLock::new(|| [json_text(&ARGUMENTS), json_text(&ANSWER)]);

fn recorded_model_call() {
    let Ok(mut call) = llm_call(MODEL).provider(PROVIDER).prompt(&MESSAGES[0]).start() else {
        return;
    };
    call.response(&MESSAGES[1])
        .usage(Usage::new(PROMPT_TOKENS, COMPLETION_TOKENS))
        .stop_reason("stop");
    let _ = call.end();
}

fn library_model_call() {
    let call = info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = PROVIDER,
        gen_ai.request.model = MODEL,
        gen_ai.input.messages = MESSAGES_TEXT[0].as_str(),
        gen_ai.output.messages = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.response.finish_reasons = Empty,
    );
    call.in_scope(|| ());
    call.record("gen_ai.output.messages", MESSAGES_TEXT[1].as_str())
        .record("gen_ai.usage.input_tokens", PROMPT_TOKENS)
        .record("gen_ai.usage.output_tokens", COMPLETION_TOKENS)
        .record("gen_ai.response.finish_reasons", r#"["stop"]"#);
}

fn recorded_tool_call() {
    let Ok(mut call) = tool_call(TOOL).args(&ARGUMENTS).start() else {
        return;
    };
    call.result(&ANSWER);
    let _ = call.end();
}

fn library_tool_call() {
    let call = info_span!(
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = TOOL,
        gen_ai.tool.call.arguments = TOOL_TEXT[0].as_str(),
        gen_ai.tool.call.result = Empty,
    );
    call.in_scope(|| ());
    call.record("gen_ai.tool.call.result", TOOL_TEXT[1].as_str());
}

/// Measures every case in every round. The report, and whether the limits are kept.
pub fn measure(plan: &LayerPlan) -> Result<(String, bool), Box<dyn Error>> {
    let folder = tempfile::tempdir_in(&plan.directory)?;
    let config = Config::new().data_dir(folder.path());
    let layer = tracer_sdk::layer::builder().config(&config).build();
    tracing_subscriber::registry().with(layer).try_init()?;

    let mut taken = vec![Vec::new(); CASES.len()];
    for _ in 0..plan.rounds.max(1) {
        // A run of its own for each round, and a recorded span within it, so that files stay small and all have the same place.
        let run = Run::new("benchmark").config(&config).start();
        let context = run.context().ok_or("recording is off")?;
        for (case, taken) in CASES.iter().zip(&mut taken) {
            taken.push(if case.name == "foreign outermost span" {
                turn(case, plan)
            } else {
                context
                    .in_scope(|| info_span!("agent", agent.name = "benchmark").in_scope(|| turn(case, plan)))
            });
        }
    }

    let mut report = machine::facts(folder.path());
    writeln!(
        report,
        "{} rounds of {} recorded spans each; medians, and the medians of the rounds' ratios.\n",
        plan.rounds, plan.spans
    )?;
    let mut is_kept = true;
    for (number, (case, times)) in CASES.iter().zip(&taken).enumerate() {
        let time = median(times.clone());
        let (relation, is_good) = match case.limit {
            LayerLimit::Nanoseconds(limit) => (format!("limit {limit:.0} ns"), time <= limit),
            LayerLimit::TimesTheOneBefore(limit) => {
                let ratios = times
                    .iter()
                    .zip(&taken[number - 1])
                    .map(|(time, before)| time / before);
                let ratio = median(ratios.collect());
                (format!("{ratio:.2} x, limit {limit:.1} x"), ratio <= limit)
            }
            LayerLimit::None => ("the measure of the next".to_owned(), true),
        };
        is_kept &= is_good;
        let verdict = if is_good { "" } else { "  ABOVE ITS LIMIT" };
        writeln!(report, "{:<46} {time:>9.1} ns  {relation}{verdict}", case.name)?;
    }
    Ok((report, is_kept))
}

/// Nanoseconds for one of many.
fn turn(case: &LayerCase, plan: &LayerPlan) -> f64 {
    let times = plan.spans * if case.is_recorded { 1 } else { UNRECORDED_FACTOR };
    for _ in 0..times / 10 {
        (case.run)();
    }
    let start = Instant::now();
    for _ in 0..times {
        (case.run)();
    }
    start.elapsed().as_nanos() as f64 / times as f64
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
