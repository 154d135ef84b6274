//! Tags of recorded commands, and what lists, finds and groups runs by them.

use serde_json::Value;

use super::{Outcome, Recorder};

impl Recorder {
    fn ask(&self, arguments: &[&str]) -> String {
        let outcome: Outcome = self.tracer().args(arguments).output().unwrap().into();
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.stdout
    }
}

#[test]
fn tags_are_recorded_shown_and_found() {
    let recorder = Recorder::new().env("TRACER_TAGS", "commit=old,team=search");
    let options = ["--tag", "commit=3f2a91c", "--tag", "api_key=correct-horse"];
    assert_eq!(recorder.record_with(&options, &["true"]).code, Some(0));
    assert_eq!(recorder.record(&["true"]).code, Some(0));
    let listed: Value = serde_json::from_str(&recorder.ask(&["list", "--json"])).unwrap();
    let tags: Vec<&Value> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| &run["tags"])
        .collect();
    assert_eq!(tags[0], &serde_json::json!({"commit": "old", "team": "search"}));
    let first = serde_json::json!({"api_key": "__REDACTED__", "commit": "3f2a91c", "team": "search"});
    assert_eq!(tags[1], &first);

    for (query, count) in [
        ("tag:team=search", 2),
        ("tag:commit=3f2*", 1),
        ("commit:3f2a", 1),
        ("tag:other", 0),
    ] {
        let lines = recorder.ask(&["list", query]).lines().count();
        assert_eq!(lines, count + 1, "{query}");
    }
    let by_commit = recorder.ask(&["stats", "--by", "commit", "--csv"]);
    let groups = by_commit
        .lines()
        .filter(|line| line.contains("old") || line.contains("3f2a91c"));
    assert_eq!(groups.count(), 2, "{by_commit}");
    let by_tag = recorder.ask(&["stats", "--by", "tag"]);
    assert!(by_tag.contains("team=search"), "{by_tag}");
    let id = listed["runs"][1]["trace_id"].as_str().unwrap();
    let page = recorder.ask(&["show", id]);
    assert!(
        page.contains("api_key=‹redacted› · commit=3f2a91c · team=search"),
        "{page}"
    );
    let shown: Value = serde_json::from_str(&recorder.ask(&["show", "--json", id])).unwrap();
    assert_eq!(shown["tags"], first);
}

#[test]
fn a_tag_that_is_none_is_refused_before_anything_runs() {
    let recorder = Recorder::new();
    let outcome = recorder.record_with(&["--tag", "commit"], &["true"]);
    assert_eq!(outcome.code, Some(2), "{outcome:?}");
    outcome.says("a tag is written key=value");
    assert!(recorder.runs().is_empty());
}

#[test]
fn a_bad_tag_of_the_environment_is_a_warning() {
    let recorder = Recorder::new().env("TRACER_TAGS", "nonsense,team=search");
    let outcome = recorder.record(&["true"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    outcome.says("a tag in TRACER_TAGS is not recorded: a tag is written key=value");
    assert_eq!(
        recorder.run().run.spans[0].attributes["tracer.tag.team"],
        "search"
    );
}
