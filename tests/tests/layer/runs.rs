//! What is a run: the context of the task, an agent, the outermost span around a call, the only live run.

use std::sync::mpsc;
use std::thread;

use tracer_sdk::format::EventType;
use tracer_sdk::layer::RunOn;
use tracing::{Span, info_span};

use crate::setup::{
    layer_for, names, only, program_name, records, run, runs, runs_of, span, subscriber, turn,
};
use tracer_tests::DataDir;

fn chat() -> Span {
    info_span!(
        "chat",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = "gpt-5"
    )
}

fn tool() -> Span {
    info_span!(
        "execute_tool",
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = "add"
    )
}

fn agent(name: &str) -> Span {
    info_span!(
        "invoke_agent",
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = name
    )
}

#[test]
fn calls_below_one_outermost_span_are_one_run() {
    let run = run(|| {
        let _main = info_span!("main").entered();
        chat().in_scope(|| ());
        chat().in_scope(|| ());
        info_span!("step").in_scope(|| tool().in_scope(|| ()));
    });
    assert_eq!(run.meta.run_name.as_deref(), Some("main"));
    assert_eq!(names(&run), ["chat", "chat", "execute_tool", "main"]);
}

#[test]
fn outermost_spans_without_an_agent_are_no_runs() {
    let runs = runs(|| {
        let _request = info_span!("GET /health").entered();
        info_span!("query", table = "users").in_scope(|| ());
    });
    assert!(runs.is_empty());
}

#[test]
fn an_outermost_span_is_the_run_of_its_agent() {
    let run = run(|| {
        let _request = info_span!("POST /chat").entered();
        agent("calc").in_scope(|| chat().in_scope(|| ()));
    });
    assert_eq!(run.meta.run_name.as_deref(), Some("POST /chat"));
    assert_eq!(names(&run), ["chat", "invoke_agent", "POST /chat"]);
    assert_eq!(
        span(&run, "chat").parent_span_id,
        Some(span(&run, "invoke_agent").span_id)
    );
}

#[test]
fn the_run_began_with_its_outermost_span() {
    let run = run(|| {
        let _request = info_span!("POST /chat").entered();
        thread::sleep(std::time::Duration::from_millis(30));
        agent("calc").in_scope(|| ());
    });
    let root = run.spans.last().unwrap();
    assert!(root.duration_ms.unwrap() >= 30, "{:?}", root.duration_ms);
    assert!(root.start_time.instant() < span(&run, "invoke_agent").start_time.instant());
}

#[test]
fn requests_side_by_side_are_runs_of_their_own() {
    let runs = runs(|| {
        let first = info_span!("first");
        let second = info_span!("second");
        first.in_scope(|| chat().in_scope(|| ()));
        second.in_scope(|| chat().in_scope(|| ()));
        first.in_scope(|| chat().in_scope(|| ()));
    });
    let mut found: Vec<_> = runs
        .iter()
        .map(|run| (run.meta.run_name.clone().unwrap(), run.meta.counts.llm_calls))
        .collect();
    found.sort();
    assert_eq!(found, [("first".to_owned(), 2), ("second".to_owned(), 1)]);
}

#[test]
fn a_call_without_a_parent_joins_the_only_live_run() {
    let _turn = turn();
    let data = DataDir::new();
    let guard = data.run("nightly").start();
    let subscriber = subscriber(layer_for(&data));
    thread::spawn(move || tracing::subscriber::with_default(subscriber, || chat().in_scope(|| ())))
        .join()
        .unwrap();
    guard.finish();
    let run = data.finished();
    assert_eq!(span(&run, "chat").attributes["tracer.context"], "inferred");
    assert_eq!(run.meta.counts.llm_calls, 1);
    // Readers say that it is a guess.
    let directory = &data.run_dirs()[0];
    let index = tracer_runs::LogIndex::open(directory, None, false).unwrap();
    assert_eq!(index.guessed_places(), 1);
}

#[test]
fn calls_at_once_that_nothing_joins_are_runs_of_their_own() {
    let runs = runs(|| {
        let (first, second) = (chat(), chat());
        first.in_scope(|| second.in_scope(|| ()));
        drop((first, second));
        let (tool, other) = (tool(), chat());
        drop((other, tool));
    });
    let calls: Vec<_> = runs.iter().map(|run| run.meta.counts).collect();
    assert!(
        calls
            .iter()
            .all(|counts| counts.llm_calls + counts.tool_calls == 1)
    );
    assert_eq!(calls.len(), 4);
}

#[test]
fn a_run_is_called_as_its_agent() {
    let name = |span: fn() -> Span| run(|| drop(span())).meta.run_name.clone().unwrap_or_default();
    assert_eq!(name(|| agent("weather")), "weather");
    let named = || {
        info_span!(
            "chat",
            otel.name = "invoke_agent weather",
            gen_ai.operation.name = "invoke_agent",
            gen_ai.agent.name = "weather"
        )
    };
    assert_eq!(name(named), "weather");
    let call = || {
        info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.agent.name = "weather"
        )
    };
    assert_eq!(name(call), "weather");
    assert_eq!(name(|| agent("Unnamed Agent")), program_name());
}

#[test]
fn every_outermost_span_can_be_a_run() {
    let run = only(runs_of(
        |layer| layer.run_on(RunOn::AnyRoot),
        || {
            info_span!("GET /health").in_scope(|| info_span!("query").in_scope(|| ()));
        },
    ));
    assert_eq!(names(&run), ["GET /health"]);
}

#[test]
fn only_marked_spans_can_be_runs() {
    let run = only(runs_of(
        |layer| layer.run_on(RunOn::Marked),
        || {
            agent("unmarked").in_scope(|| chat().in_scope(|| ()));
            info_span!("marked", tracer.run = true).in_scope(|| chat().in_scope(|| ()));
        },
    ));
    assert_eq!(names(&run), ["chat", "marked"]);
}

#[test]
fn spans_of_a_named_target_are_structure() {
    let run = only(runs_of(
        |layer| layer.target("planner"),
        || {
            let _agent = agent("calc").entered();
            tracing::trace_span!(target: "planner::steps", "plan", step = 2)
                .in_scope(|| chat().in_scope(|| ()));
            info_span!(target: "planners", "other").in_scope(|| ());
        },
    ));
    assert_eq!(names(&run), ["chat", "plan", "calc"]);
    assert_eq!(span(&run, "plan").attributes["step"], 2);
    assert_eq!(
        span(&run, "chat").parent_span_id,
        Some(span(&run, "plan").span_id)
    );
}

#[test]
fn several_registries_do_not_mix() {
    let _turn = turn();
    let (first, second) = (DataDir::new(), DataDir::new());
    let dispatchers = [&first, &second].map(|data| tracing::Dispatch::new(subscriber(layer_for(data))));
    // Both registries give the same IDs.
    let agents: Vec<_> = dispatchers
        .iter()
        .map(|dispatch| tracing::dispatcher::with_default(dispatch, || agent("calc")))
        .collect();
    for (dispatch, agent) in dispatchers.iter().zip(&agents) {
        tracing::dispatcher::with_default(dispatch, || agent.in_scope(|| chat().in_scope(|| ())));
    }
    drop(agents);
    for data in [&first, &second] {
        assert_eq!(names(&data.finished()), ["chat", "calc"]);
    }
}

#[test]
fn ids_that_are_used_again_are_other_spans() {
    let run = run(|| {
        let _agent = agent("calc").entered();
        for tokens in 1..50_u64 {
            let chat = info_span!(
                "chat",
                gen_ai.operation.name = "chat",
                gen_ai.usage.input_tokens = tracing::field::Empty
            );
            chat.record("gen_ai.usage.input_tokens", tokens);
        }
    });
    let tokens: u64 = run
        .spans
        .iter()
        .filter(|span| span.name == "chat")
        .map(|span| span.attributes["gen_ai.usage.input_tokens"].as_u64().unwrap())
        .sum();
    assert_eq!(tokens, (1..50).sum::<u64>());
}

#[test]
fn a_span_may_close_on_another_thread() {
    let run = run(|| {
        let (send, receive) = mpsc::channel::<Span>();
        let dispatch = tracing::dispatcher::get_default(Clone::clone);
        let closer = thread::spawn(move || {
            tracing::dispatcher::with_default(&dispatch, || {
                for span in receive {
                    span.record("gen_ai.response.id", "r-1");
                }
            });
        });
        let _agent = agent("calc").entered();
        let late = info_span!(
            "chat",
            gen_ai.operation.name = "chat",
            gen_ai.response.id = tracing::field::Empty
        );
        send.send(late).unwrap();
        drop(send);
        closer.join().unwrap();
    });
    assert_eq!(run.spans[0].attributes["gen_ai.response.id"], "r-1");
}

#[test]
fn a_span_that_never_closes_is_listed_as_unfinished() {
    let _turn = turn();
    let data = DataDir::new();
    tracing::subscriber::with_default(subscriber(layer_for(&data)), || {
        let _run = data.run("program").start();
        std::mem::forget(tool());
    });
    let run = data.finished();
    let root = run.spans.last().unwrap();
    assert_eq!(root.attributes["tracer.unfinished_spans"], 1);
    let list = root.attributes["tracer.unfinished_list"].as_str().unwrap();
    assert!(list.contains("\"add\"") && list.contains("TOOL_CALL"), "{list}");
}

#[test]
fn a_span_that_never_closes_keeps_its_agent_open() {
    let _turn = turn();
    let data = DataDir::new();
    tracing::subscriber::with_default(subscriber(layer_for(&data)), || {
        // Registries close a span when those within it have closed.
        let _agent = agent("calc").entered();
        std::mem::forget(tool());
        chat().in_scope(|| ());
    });
    let directory = &data.run_dirs()[0];
    let live = std::fs::read_to_string(directory.join(".live")).unwrap();
    assert!(live.contains("\"execute_tool\""), "{live}");
    let spans = std::fs::read_to_string(directory.join("spans.jsonl")).unwrap();
    assert!(spans.contains("\"chat\""), "{spans}");
}

#[test]
fn a_span_that_closes_after_its_run_is_kept() {
    let _turn = turn();
    let data = DataDir::new();
    tracing::subscriber::with_default(subscriber(layer_for(&data)), || {
        let guard = data.run("program").start();
        let stream = chat();
        guard.finish();
        drop(stream);
    });
    let run = data.finished();
    assert_eq!(span(&run, "chat").attributes["tracer.after_end"], true);
    assert_eq!(run.meta.counts.llm_calls, 1);
}

#[test]
fn the_same_layer_twice_records_once() {
    use tracing_subscriber::layer::SubscriberExt;
    let _turn = turn();
    let data = DataDir::new();
    let subscriber = tracing_subscriber::registry()
        .with(layer_for(&data).build())
        .with(layer_for(&data).build());
    tracing::subscriber::with_default(subscriber, || agent("calc").in_scope(|| chat().in_scope(|| ())));
    assert_eq!(names(&data.finished()), ["chat", "calc"]);
}

#[test]
fn nothing_is_recorded_when_recording_is_off() {
    let off = tracer_sdk::Config::new().enabled(false);
    let runs = runs_of(
        |layer| layer.config(&off),
        || {
            let _main = info_span!("main").entered();
            agent("calc").in_scope(|| chat().in_scope(|| ()));
        },
    );
    assert!(runs.is_empty());
}

#[test]
fn a_follower_names_what_it_follows() {
    let run = run(|| {
        let _agent = agent("calc").entered();
        let chat = chat();
        let tool = tool();
        tool.follows_from(chat.id());
        tool.follows_from(Span::none().id());
    });
    let followed = span(&run, "chat").span_id;
    assert_eq!(
        span(&run, "execute_tool").attributes["tracer.follows_from"],
        format!("[\"{followed}\"]")
    );
}

#[test]
fn other_layers_see_what_they_saw_before() {
    use std::sync::{Arc, Mutex};
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::{Context, SubscriberExt};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<String>>>);
    impl<S: tracing::Subscriber> Layer<S> for Lines {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
            self.0.lock().unwrap().push(event.metadata().target().to_owned());
        }
    }
    let _turn = turn();
    let data = DataDir::new();
    let lines = Lines::default();
    let subscriber = tracing_subscriber::registry()
        .with(
            lines
                .clone()
                .with_filter(tracing::level_filters::LevelFilter::INFO),
        )
        .with(layer_for(&data).build());
    tracing::subscriber::with_default(subscriber, || {
        let _agent = agent("calc").entered();
        tracing::trace!(target: "rig::completions", "reply: {{}}");
        tracing::info!(target: "application", "working");
        tracing::debug!(target: "hyper", "connected");
    });
    assert_eq!(*lines.0.lock().unwrap(), ["application"]);
    assert_eq!(records(&data.finished(), EventType::Error).len(), 0);
}
