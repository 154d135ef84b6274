//! Tags of runs, in code and in the environment: on the root, in `.live` while there is none, on the
//! span of a run that joins another.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::Child;

use tracer_runs::maintenance;
use tracer_runs::{LoadedRun, RunReader, RunStore, Strictness};
use tracer_sdk::Run;
use tracer_sdk::format::{MAX_TAGS, SpanRecord};
use tracer_tests::{DataDir, Program};

use super::TRACED;

fn tags(span: &SpanRecord) -> BTreeMap<&str, &str> {
    let attributes = span.attributes.iter();
    attributes
        .filter_map(|(key, value)| Some((key.strip_prefix("tracer.tag.")?, value.as_str()?)))
        .collect()
}

fn root(run: &LoadedRun) -> &SpanRecord {
    run.spans.iter().find(|span| span.is_root()).unwrap()
}

/// Starts the program and waits until its run has begun.
fn begun(program: Program) -> Child {
    let mut child = program.start();
    let mut ready = [0; 6];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut ready).unwrap();
    child
}

fn finished(mut child: Child) -> String {
    child.stdin.take().unwrap().write_all(b"\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn tags_of_the_environment_win() {
    let data = DataDir::new();
    let program = Program::new(TRACED, &data).args(["tagged"]);
    let child = begun(program.env("TRACER_TAGS", "commit=3f2a, note=a%2C b"));
    assert_eq!(finished(child), "");
    let run = data.finished();
    let expected = [
        ("api_key", "__REDACTED__"),
        ("commit", "3f2a"),
        ("note", "a, b"),
        ("team", "search"),
    ];
    assert_eq!(tags(root(&run.run)), BTreeMap::from(expected));
}

#[test]
fn bad_tags_cost_a_warning_only() {
    for (variable, said) in [
        ("nonsense,commit=3f2a", "a tag is written key=value"),
        ("two words=x,commit=3f2a", "the key of a tag has 1 to 64 bytes"),
        ("=x,=y,commit=3f2a", "the key of a tag has 1 to 64 bytes"),
    ] {
        let data = DataDir::new();
        let program = Program::new(TRACED, &data).args(["tagged"]);
        let warning = finished(begun(program.env("TRACER_TAGS", variable)));
        assert!(
            warning.contains("TRACER_TAGS") && warning.contains(said),
            "{warning}"
        );
        assert_eq!(warning.lines().count(), 1);
        assert_eq!(tags(root(&data.finished().run))["commit"], "3f2a");
    }
}

#[test]
fn a_run_that_goes_on_has_its_tags() {
    let data = DataDir::new();
    let child = begun(Program::new(TRACED, &data).args(["tagged"]));
    let directory = RunStore::new(data.path()).list_directories().unwrap().remove(0);
    let mut run = RunReader::open(&directory.path, Strictness::Lenient).unwrap();
    assert_eq!(
        run.read_tags().to_variable(),
        "api_key=__REDACTED__,commit=code,team=search"
    );
    finished(child);
}

#[test]
fn a_run_whose_process_died_keeps_its_tags() {
    let data = DataDir::new();
    let mut child = begun(Program::new(TRACED, &data).args(["tagged"]));
    child.kill().unwrap();
    child.wait().unwrap();
    let directory = RunStore::new(data.path()).list_directories().unwrap().remove(0);
    maintenance::repair(&directory.path).unwrap();
    let run = LoadedRun::read(&directory.path).unwrap();
    assert_eq!(tags(root(&run))["team"], "search");
}

#[test]
fn tags_of_a_run_within_a_run_are_on_its_span() {
    let data = DataDir::new();
    let outer = data.run("outer").tag("commit", "3f2a").start();
    let child = begun(
        Program::new(TRACED, &data)
            .args(["tagged"])
            .env("TRACER_TRACEPARENT", &outer.context().unwrap().share()),
    );
    assert_eq!(finished(child), "");
    Run::new("inner").tag("team", "billing").in_scope(|| ());
    outer.finish();
    let run = data.finished().run;
    assert_eq!(tags(root(&run)), BTreeMap::from([("commit", "3f2a")]));
    let of = |name: &str| tags(run.spans.iter().find(|span| span.name == name).unwrap());
    assert_eq!(of("tagged")["team"], "search");
    assert_eq!(of("inner"), BTreeMap::from([("team", "billing")]));
}

#[test]
fn a_run_has_a_bounded_number_of_tags() {
    let data = DataDir::new();
    let tagged = (0..2 * MAX_TAGS).fold(data.run("many"), |run, number| {
        run.tag(format!("key{number}"), "x".repeat(100_000))
    });
    tagged.start().finish();
    let run = data.finished().run;
    let tags = tags(root(&run));
    assert_eq!(tags.len(), MAX_TAGS);
    assert!(tags.values().all(|value| value.len() == 256));
}
