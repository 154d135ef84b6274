//! What is a loop, and what is an attempt: every surface says the same (decisions, section 7; gate, *Loops*).

use std::fs;

use serde_json::{Value, json};
use tracer_runs::RunStore;
use tracer_sdk::guardrails::StopOnLoop;
use tracer_sdk::{Config, Guardrail, GuardrailExceeded, Guardrails, Run, llm_call, state, tool_call};

use crate::sandbox::Sandbox;
use crate::view::client::Viewer;

type Recorded = Result<(), GuardrailExceeded>;

/// What the gate says to `no_loops`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Pass,
    Fail,
    Inconclusive,
}

/// A run, and what all surfaces have to say of it.
struct Case {
    name: &'static str,
    record: fn() -> Recorded,
    /// Whether the emitter warns of a repeated shape.
    warns: bool,
    /// Whether it is a loop, for the guardrail and for the run's status.
    loops: bool,
    gate: Gate,
    /// How often its call was tried.
    attempts: usize,
}

fn times(count: usize, record: impl Fn() -> Recorded) -> Recorded {
    (0..count).try_for_each(|_| record())
}

fn search(query: &str) -> Recorded {
    tool_call("search").args(&json!({ "q": query })).record()
}

fn ask(prompt: &str) -> Recorded {
    llm_call("model").prompt(prompt).response("x").record()
}

fn retried(failures: usize) -> Recorded {
    let ask = || llm_call("model").prompt("Where is my refund?");
    times(failures, || ask().fail("429 Too Many Requests").record())?;
    ask().response("On its way.").record()
}

const PLAIN: Case = Case {
    name: "",
    record: || Ok(()),
    warns: false,
    loops: false,
    gate: Gate::Pass,
    attempts: 1,
};

/// A loop whose values are known.
const LOOP: Case = Case {
    warns: true,
    loops: true,
    gate: Gate::Fail,
    ..PLAIN
};

const CASES: &[Case] = &[
    Case {
        name: "the same arguments",
        record: || times(3, || search("refund")),
        ..LOOP
    },
    Case {
        name: "the same arguments in another order",
        record: || {
            ["{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", "{\"a\":1,\"b\":2}"]
                .into_iter()
                .try_for_each(|text| {
                    let args: Box<serde_json::value::RawValue> = serde_json::from_str(text).unwrap();
                    tool_call("search").args(&args).record()
                })
        },
        ..LOOP
    },
    Case {
        name: "other arguments",
        record: || ["a", "b", "c"].into_iter().try_for_each(search),
        warns: true,
        ..PLAIN
    },
    Case {
        name: "twice is not enough",
        record: || times(2, || search("refund")),
        ..PLAIN
    },
    Case {
        name: "no parameters",
        record: || times(3, || tool_call("now").args(&json!({})).record()),
        ..LOOP
    },
    Case {
        name: "two answers 429 and a success",
        record: || retried(2),
        attempts: 3,
        ..PLAIN
    },
    Case {
        name: "a tool that is tried again",
        record: || {
            let call = || tool_call("search").args(&json!({"q": "refund"}));
            times(4, || call().fail("timed out").record())?;
            call().result(&json!([])).record()
        },
        attempts: 5,
        ..PLAIN
    },
    Case {
        name: "three calls, each tried again",
        record: || times(3, || retried(2)),
        attempts: 3,
        ..LOOP
    },
    Case {
        name: "failures that ask something else",
        record: || {
            ["a", "b", "c"]
                .into_iter()
                .try_for_each(|query| tool_call("search").args(query).fail("no").record())
        },
        warns: true,
        ..PLAIN
    },
    Case {
        name: "nothing was recorded",
        record: || times(3, || tool_call("search").record()),
        gate: Gate::Inconclusive,
        ..LOOP
    },
    Case {
        name: "arguments that are null are no arguments",
        record: || {
            tool_call("search").args(&Value::Null).record()?;
            tool_call("search").record()?;
            tool_call("search").args(&Value::Null).record()
        },
        gate: Gate::Inconclusive,
        ..LOOP
    },
    Case {
        name: "without arguments, the same results",
        record: || times(3, || tool_call("search").result(&json!([1])).record()),
        ..LOOP
    },
    Case {
        name: "without arguments, other results",
        record: || (0..3).try_for_each(|number| tool_call("search").result(&number).record()),
        warns: true,
        ..PLAIN
    },
    Case {
        name: "states alone",
        record: || times(3, || state("triage").record()),
        warns: true,
        ..PLAIN
    },
    Case {
        name: "model calls alone, one last message",
        record: || times(3, || ask("and now?")),
        ..LOOP
    },
    Case {
        name: "a growing prompt with one last message",
        record: || (1..4).try_for_each(|length| llm_call("model").prompt(&vec!["again"; length]).record()),
        ..LOOP
    },
    Case {
        name: "model calls alone, other last messages",
        record: || ["a", "b", "c"].into_iter().try_for_each(ask),
        warns: true,
        ..PLAIN
    },
    Case {
        name: "model calls of which nothing was recorded",
        record: || times(3, || llm_call("model").record()),
        gate: Gate::Inconclusive,
        ..LOOP
    },
    Case {
        name: "a cycle of two calls",
        record: || {
            (0..3).try_for_each(|turn| {
                ask(&format!("turn {turn}"))?;
                search("refund")
            })
        },
        ..LOOP
    },
    Case {
        name: "a cycle of two calls that goes on",
        record: || {
            (0..3).try_for_each(|turn| {
                ask("What next?")?;
                search(&format!("refund {turn}"))
            })
        },
        warns: true,
        ..PLAIN
    },
    Case {
        name: "two files in turn",
        record: || ["a", "b"].repeat(3).into_iter().try_for_each(search),
        ..LOOP
    },
    Case {
        name: "a loop after the warning of its shape",
        record: || ["a", "b", "c", "d", "d", "d"].into_iter().try_for_each(search),
        ..LOOP
    },
    Case {
        name: "an error between, captured by the program",
        record: || {
            let call = || tool_call("search").args(&json!({"q": "refund"}));
            call().fail("timed out").record()?;
            tracer_sdk::record_error(&std::io::Error::other("timed out"))?;
            call().result(&json!([])).record()
        },
        attempts: 2,
        ..PLAIN
    },
];

/// The ID of the only run of a sandbox.
fn recorded(sandbox: &Sandbox, guardrails: Guardrails, record: fn() -> Recorded) -> (String, Recorded) {
    let config = Config::new().data_dir(sandbox.data_dir());
    let run = Run::new("agent").config(&config).guardrails(guardrails).start();
    let id = run.trace_id().unwrap().to_string();
    let outcome = record();
    run.finish();
    (id, outcome)
}

fn stops(stop: impl Into<StopOnLoop>, record: fn() -> Recorded) -> bool {
    let (_, outcome) = recorded(&Sandbox::new(), Guardrails::new().stop_on_loop(stop), record);
    outcome.is_err_and(|exceeded| exceeded.guardrail == Guardrail::StopOnLoop)
}

/// Everything that can be said of a run, which must be the same with and without what the emitter says in `meta.json`.
fn assert_reported(case: &Case, sandbox: &Sandbox, id: &str, meta_says: bool) {
    let name = format!(
        "{}, {}",
        case.name,
        if meta_says { "as recorded" } else { "by its spans" }
    );
    let word = if case.loops { "loop" } else { "ok" };
    let list = sandbox.tracer(&["list"]).stdout;
    let row = list.lines().nth(1).unwrap();
    assert!(row.starts_with(&format!("{word}\t{id}")), "{name}: {row}");
    let filtered = sandbox.tracer(&["list", &format!("status:{word}")]).stdout;
    assert_eq!(filtered.lines().count(), 2, "{name}");

    let attempts = format!("{} attempts", case.attempts);
    let shown = sandbox.tracer(&["show", id]).stdout;
    assert_eq!(
        shown.contains("  loop, ended ok  "),
        case.loops,
        "{name}: {shown}"
    );
    assert_eq!(
        shown.contains(", no loop"),
        case.warns && !case.loops,
        "{name}: {shown}"
    );
    let transcript = sandbox.tracer(&["show", id, "--transcript"]).stdout;
    let exported = sandbox
        .tracer(&["export", id, "--format", "html", "--out", "-"])
        .stdout;
    assert!(exported.contains(&format!("class=\"status {word}\"")), "{name}");

    let viewer = Viewer::start(sandbox);
    let path = |rest: &str| format!("/api/runs/{id}/{rest}");
    let table = viewer.json("/api/table");
    assert_eq!(table["runs"][0]["run_status"], word, "{name}: {table}");
    let overview = viewer.json(&path("overview"));
    assert_eq!(overview["run_status"], word, "{name}");
    let rows = viewer.json(&path("rows?from=0&limit=100")).to_string();
    let turns = viewer.json(&path("transcript")).to_string();
    for (surface, text) in [
        ("show", &shown),
        ("transcript", &transcript),
        ("export", &exported),
        ("rows", &rows),
        ("turns", &turns),
    ] {
        assert_eq!(
            text.contains(&attempts),
            case.attempts > 1,
            "{name}: {surface}: {text}"
        );
    }

    let gate = |options: &[&str]| {
        let outcome = sandbox.tracer(&[&["assert", id], options].concat());
        match (outcome.code, outcome.stdout.contains("INCONCLUSIVE")) {
            (Some(0), false) => Gate::Pass,
            (Some(0), true) => Gate::Inconclusive,
            (Some(1), _) => Gate::Fail,
            _ => panic!("{name}: {outcome:?}"),
        }
    };
    let by_arguments = "version: 2\ntrials: 1\nmetrics:\n  no_loops: {kind: invariant}\n";
    fs::write(sandbox.path("loops.yaml"), by_arguments).unwrap();
    assert_eq!(gate(&["--policy", "loops.yaml"]), case.gate, "{name}");
    fs::write(
        sandbox.path("shape.yaml"),
        "version: 2\ntrials: 1\nmetrics:\n  no_loops: {shape: true}\n",
    )
    .unwrap();
    let by_shape = if case.warns { Gate::Fail } else { Gate::Pass };
    assert_eq!(
        gate(&["--policy", "shape.yaml"]),
        by_shape,
        "{name}: the rule of shapes"
    );
}

#[test]
fn every_surface_says_the_same_of_every_case() {
    for case in CASES {
        assert_eq!(
            stops(true, case.record),
            case.loops,
            "{}: stop_on_loop",
            case.name
        );
        assert_eq!(
            stops(StopOnLoop::Shape, case.record),
            case.warns,
            "{}: by shape",
            case.name
        );
        let sandbox = Sandbox::new();
        let (id, outcome) = recorded(&sandbox, Guardrails::new(), case.record);
        outcome.unwrap();
        let run = &RunStore::new(sandbox.data_dir()).list().unwrap()[0];
        let mut meta = serde_json::to_value(run.meta.as_ref().unwrap()).unwrap();
        assert_eq!(
            meta["counts"]["loop_warnings"] != 0,
            case.warns,
            "{}: {meta}",
            case.name
        );
        assert_reported(case, &sandbox, &id, true);
        if case.warns {
            assert!(
                meta.as_object_mut().unwrap().remove("loops").is_some(),
                "{}: {meta}",
                case.name
            );
            fs::write(sandbox.run_dir(&id).join("meta.json"), meta.to_string()).unwrap();
            assert_reported(case, &sandbox, &id, false);
        }
    }
}

#[test]
fn an_attempt_says_in_its_meta_which_call_it_is_at() {
    let sandbox = Sandbox::new();
    let (id, _) = recorded(&sandbox, Guardrails::new(), || retried(2));
    let reported = |events: &Value| -> Vec<(Value, Value)> {
        let calls = events
            .as_array()
            .unwrap()
            .iter()
            .filter(|event| event["event_type"] == "LLM_CALL");
        calls
            .map(|event| (event["event_id"].clone(), event["meta"]["attempt_of"].clone()))
            .collect()
    };
    let events = reported(&sandbox.tracer(&["export", &id, "--out", "-"]).json()["events"]);
    let call = &events[2].0;
    let attempts: Vec<&Value> = events.iter().map(|(_, call)| call).collect();
    assert_eq!(attempts, [call, call, &Value::Null]);
    let viewer = Viewer::start(&sandbox);
    assert_eq!(
        reported(&viewer.json(&format!("/api/runs/{id}/spans"))["events"]),
        events
    );
    for (event, attempt_of) in &events {
        let step = viewer.json(&format!("/api/runs/{id}/steps/{}", event.as_str().unwrap()));
        assert_eq!(&step["meta"]["attempt_of"], attempt_of);
    }
}
