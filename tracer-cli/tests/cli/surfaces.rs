//! One run on every surface: the terminal, the API and the HTML file agree on every step and on the whole.

use std::collections::HashMap;
use std::fmt::Write;

use serde_json::{Value, json};
use tracer_insight::step_kind::StepKind;
use tracer_sdk::{Config, Run, RunGuard, Usage, llm_call, record_error, span, state, tool_call};

use crate::sandbox::Sandbox;
use crate::view::client::Viewer;

/// A step as a surface shows it.
#[derive(Debug, PartialEq, Eq)]
struct ShownStep {
    number: u64,
    depth: u64,
    kind: StepKind,
    name: String,
    summary: String,
    /// What a model call costs; `None` where that is not known.
    cost: Option<String>,
    is_failed: bool,
    is_in_flight: bool,
}

/// A run as a surface shows it.
#[derive(Debug, PartialEq, Eq)]
struct ShownRun {
    status: String,
    sentence: String,
    facts: Vec<String>,
    steps: Vec<ShownStep>,
}

/// A state, nested spans, an attempt and the call behind it, a loop, a model call with tools and without a
/// price, one with a price, an error.
fn record_all_but_the_call_in_flight(sandbox: &Sandbox) -> RunGuard {
    let run = Run::new("support-agent")
        .config(&Config::new().data_dir(sandbox.data_dir()))
        .start();
    state(&json!({"phase": "triage"})).record().unwrap();
    let plan = span("plan").start();
    plan.in_scope(|| {
        let search = || tool_call("search_kb").args(&json!({"query": "refund"}));
        search().fail("503 Service Unavailable").record().unwrap();
        search().result(&json!({"hits": 2})).record().unwrap();
    });
    plan.end();
    for _ in 0..3 {
        let lookup = tool_call("lookup").args(&json!({"order": 7}));
        lookup.result("shipped").record().unwrap();
    }
    llm_call("demo-model")
        .prompt(&json!([{"role": "user", "content": "Where is my refund?"}]))
        .response(&json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "send_reply", "arguments": "{}"}}]}))
        .usage(Usage::new(412, 35))
        .record()
        .unwrap();
    llm_call("gpt-4o")
        .provider("openai")
        .usage(Usage::new(12_000, 800).cache_read(10_000))
        .record()
        .unwrap();
    record_error(&std::io::Error::other("no template")).unwrap();
    run
}

/// How long the run has been running is not the same twice.
fn without_elapsed(sentence: &str) -> String {
    match sentence.split_once(" for ").zip(sentence.split_once("; ")) {
        Some(((before, _), (_, after))) if sentence.starts_with("Running") => format!("{before}; {after}"),
        _ => sentence.to_owned(),
    }
}

fn in_the_api(viewer: &Viewer, id: &str) -> ShownRun {
    let overview = viewer.json(&format!("/api/runs/{id}/overview"));
    let rows = viewer.json(&format!("/api/runs/{id}/rows?from=0&limit=100"));
    let mut depths: HashMap<String, u64> = HashMap::new();
    let mut steps = Vec::new();
    for (row, texts) in rows["rows"].as_array().unwrap().iter().enumerate() {
        let step = viewer.json(&format!("/api/runs/{id}/steps?row={row}"));
        assert_eq!(step["kind"], texts["kind"]);
        if step["number"] == 0 {
            continue;
        }
        let parent = step["parent_id"].as_str().and_then(|parent| depths.get(parent));
        let depth = parent.map_or(0, |depth| depth + 1);
        depths.insert(text(&step["event_id"]), depth);
        let outcome = texts["gist"]["output"]
            .as_str()
            .map(|output| format!(" → {output}"));
        let summary = text(&texts["gist"]["input"]) + &outcome.unwrap_or_default();
        steps.push(ShownStep {
            number: step["number"].as_u64().unwrap(),
            depth,
            kind: StepKind::from_word(step["kind"].as_str().unwrap()).unwrap(),
            name: text(&step["name"]),
            summary: summary.trim_start().to_owned(),
            cost: texts["cost"].as_str().map(str::to_owned),
            is_failed: step["failed"] == true,
            is_in_flight: step["in_flight"] == true,
        });
    }
    let facts = overview["facts"].as_array().unwrap();
    ShownRun {
        status: text(&overview["run_status"]),
        sentence: without_elapsed(overview["sentence"].as_str().unwrap()),
        facts: facts.iter().map(text).collect(),
        steps,
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// What is between two texts, the first time.
fn between<'a>(whole: &'a str, before: &str, after: &str) -> Option<&'a str> {
    Some(whole.split_once(before)?.1.split_once(after)?.0)
}

fn in_the_html_file(html: &str) -> ShownRun {
    let html = html.replace("&quot;", "\"");
    let step = |markup: &str| {
        let inside = |class: &str| between(markup, &format!("<span class=\"{class}\">"), "</span>");
        ShownStep {
            number: inside("number").unwrap().parse().unwrap(),
            depth: between(markup, "data-depth=\"", "\"").unwrap().parse().unwrap(),
            kind: StepKind::from_word(markup.split(' ').next().unwrap()).unwrap(),
            name: inside("name").unwrap().to_owned(),
            summary: inside("muted").unwrap().to_owned(),
            cost: inside("cost").map(str::to_owned),
            is_failed: inside("failed").is_some(),
            is_in_flight: inside("running").is_some(),
        }
    };
    let facts = between(&html, "<ul class=\"facts\">", "</ul>").unwrap();
    let facts = facts
        .split("</li>")
        .map(|fact| fact.trim_start_matches("<li>").to_owned());
    ShownRun {
        status: between(&html, "class=\"status ", "\"").unwrap().to_owned(),
        sentence: without_elapsed(between(&html, "<p class=\"sentence\">", "</p>").unwrap()),
        facts: facts.collect(),
        steps: html.split("<li class=\"step kind-").skip(1).map(step).collect(),
    }
}

/// Everything that the terminal shows of the run and of each of its steps is what `run` has.
#[track_caller]
fn assert_the_terminal_shows(sandbox: &Sandbox, id: &str, run: &ShownRun) {
    let shown = sandbox.tracer(&["show", id]).stdout;
    let mut lines = shown.lines();
    let title = lines.next().unwrap();
    assert!(title.contains(&format!("  {}", run.status)), "{title}");
    assert_eq!(without_elapsed(lines.next().unwrap().trim()), run.sentence);
    let facts: Vec<&str> = shown
        .lines()
        .skip(2)
        .take(3)
        .flat_map(|line| line.trim().split(" · "))
        .collect();
    assert_eq!(facts[..run.facts.len()], run.facts, "{shown}");
    let (_, table) = shown.split_once("STEP").unwrap();
    for step in &run.steps {
        let sign = format!("{} {}", step.kind.glyph(), step.name);
        let page = sandbox
            .tracer(&["show", id, "--step", &step.number.to_string()])
            .stdout;
        let head = page.lines().next().unwrap();
        let place = format!("{sign}  step {} of {}", step.number, run.steps.len());
        assert!(head.starts_with(&place), "{head} is not {place}");
        assert_eq!(head.ends_with("  failed"), step.is_failed, "{head}");
        assert_eq!(head.ends_with("  in flight"), step.is_in_flight, "{head}");
        // A repeat is in the row of its fold.
        let number = format!("{} ", step.number);
        if let Some(row) = table.lines().find(|line| line.trim_start().starts_with(&number)) {
            let column = row.find(step.kind.glyph()).unwrap();
            let first = table
                .lines()
                .find(|line| line.trim_start().starts_with("1 "))
                .unwrap();
            let left = first.find(run.steps[0].kind.glyph()).unwrap();
            let columns = |line: &str, end: usize| line[..end].chars().count() as u64;
            assert_eq!(
                columns(row, column) - columns(first, left),
                2 * step.depth,
                "{row}"
            );
            assert!(
                row[column..].starts_with(&sign) && row.contains(&step.summary),
                "{row}: {step:?}"
            );
            let cost = row
                .contains('$')
                .then(|| row.rsplit("  ").next().unwrap().to_owned());
            assert_eq!(cost, step.cost, "{row}");
        }
    }
}

/// The run in lines: what all surfaces agree on.
fn drawn(run: &ShownRun) -> String {
    let mut drawn = format!("{}: {}\n{}\n", run.status, run.sentence, run.facts.join(" · "));
    for step in &run.steps {
        let indent = "  ".repeat(usize::try_from(step.depth).unwrap());
        let marks = [(step.is_failed, " [failed]"), (step.is_in_flight, " [in flight]")];
        let marks: String = marks
            .iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, mark)| *mark)
            .collect();
        writeln!(
            drawn,
            "{}. {indent}{} {}{marks}: {}{}",
            step.number,
            step.kind.as_str(),
            step.name,
            step.summary,
            step.cost
                .as_ref()
                .map(|cost| format!(" ({cost})"))
                .unwrap_or_default()
        )
        .unwrap();
    }
    drawn
}

fn agreed(sandbox: &Sandbox, id: &str) -> ShownRun {
    let viewer = Viewer::start(sandbox);
    let run = in_the_api(&viewer, id);
    let exported = sandbox.tracer(&["export", id, "--format", "html", "--out", "-"]);
    let mut file = in_the_html_file(&exported.stdout);
    let served = in_the_html_file(viewer.get(&format!("/r/{id}/export.html")).text());
    assert_eq!(file.steps, served.steps);
    let listed = sandbox.tracer(&["list", "--json"]).json();
    let cost = &listed["runs"][0]["cost"];
    assert!(run.facts.contains(&text(&cost["words"])), "{cost}");
    let counted = sandbox.tracer(&["stats", "--json"]).json();
    assert_eq!(counted["all"]["cost_usd"], cost["usd"]);
    assert_eq!(counted["all"]["known_cost_usd"], cost["known_usd"]);
    let overview = viewer.json(&format!("/api/runs/{id}/overview"));
    assert_eq!(overview["totals"]["cost"], *cost);
    file.facts.truncate(run.facts.len());
    assert_eq!(file, run);
    assert_the_terminal_shows(sandbox, id, &run);
    run
}

#[test]
fn every_surface_shows_the_same_steps_and_totals() {
    let sandbox = Sandbox::new();
    let run = record_all_but_the_call_in_flight(&sandbox);
    let id = run.trace_id().unwrap().to_string();
    let reply = tool_call("send_reply")
        .args(&json!({"order": 7}))
        .start()
        .unwrap();
    let running = agreed(&sandbox, &id);
    reply.end().unwrap();
    run.finish();
    let ended = agreed(&sandbox, &id);
    insta::assert_snapshot!(format!("{}\n{}", drawn(&running), drawn(&ended)));
}
