//! What the paths answer, and what they refuse.

use std::fs;

use serde_json::{Value, json};

use crate::sandbox::{FIRST, SECOND, Sandbox, THIRD, meta, spans};

use super::client::Viewer;

fn with_runs() -> (Sandbox, Viewer) {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(SECOND, "second", 2, "error");
    sandbox.run(THIRD, "third", 3, "ok");
    let viewer = Viewer::start(&sandbox);
    (sandbox, viewer)
}

#[test]
fn runs_are_listed_newest_first_and_by_parts() {
    let (_sandbox, viewer) = with_runs();
    let ids = |path: &str| -> Vec<String> {
        let answer = viewer.json(path);
        let runs = answer["runs"].as_array().unwrap().clone();
        runs.iter()
            .map(|run| run["trace_id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids("/api/runs"), [THIRD, SECOND, FIRST]);
    assert_eq!(ids("/api/runs?status=error"), [SECOND]);
    assert_eq!(ids("/api/runs?q=IR"), [THIRD, FIRST]);
    assert_eq!(
        ids("/api/runs?query=-status:failed%20tool:search_kb"),
        [THIRD, FIRST]
    );
    assert_eq!(ids("/api/runs?query=status:failed&q=IR"), Vec::<String>::new());
    viewer.get("/api/runs?query=tol:x").refuses(400, "invalid_query");
    assert_eq!(ids("/api/runs?q=f*"), [FIRST]);
    let first = viewer.json("/api/runs?limit=2");
    assert_eq!(first["next"], SECOND);
    assert_eq!(ids(&format!("/api/runs?limit=2&cursor={SECOND}")), [FIRST]);
    assert!(viewer.json("/api/runs")["next"].is_null());
    assert_eq!(viewer.json("/api/runs")["spec_version"], "0.2.0");
}

#[test]
fn listed_runs_have_what_they_cost_and_what_they_called() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    let sold = spans(SECOND, "second", 2, "ok")
        .replace("demo-model", "gpt-5-mini")
        .replace("\"local\"", "\"openai\"")
        .replace("412", "400000")
        .replace(":35", ":10000");
    sandbox.files(SECOND, &meta(SECOND, "second", 2, "ok").to_string(), &sold);
    let viewer = Viewer::start(&sandbox);
    let runs = viewer.json("/api/runs")["runs"].clone();
    assert_eq!(runs[0]["cost"]["usd"], 0.12);
    assert_eq!(runs[1]["cost"]["usd"], Value::Null);
    assert_eq!(runs[1]["cost"]["words"], "cost unknown");
    let table = viewer.json("/api/table?sort=cost")["runs"].clone();
    let row = |place: usize| {
        let run = &table[place];
        ["cost", "model", "tool"].map(|key| run["cells"][key]["text"].clone())
    };
    assert_eq!(row(0), ["$0.12", "gpt-5-mini", "search_kb"]);
    assert_eq!(row(1), ["?", "demo-model", "search_kb"]);
    let query = table[0]["cells"]["model"]["query"].as_str().unwrap();
    let with_model = viewer.json(&format!("/api/table?q={query}"));
    assert_eq!(with_model["runs"].as_array().unwrap().len(), 1);
    assert_eq!(with_model["runs"][0]["trace_id"], SECOND);
    assert_eq!(
        viewer.json("/api/table?sort=model")["runs"][0]["trace_id"],
        FIRST,
        "demo-model comes before gpt-5-mini"
    );
}

#[test]
fn the_table_takes_a_name_as_a_whole() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "an agent", 1, "ok");
    sandbox.run(SECOND, "agent", 2, "ok");
    let mut unnamed = meta(THIRD, "", 3, "ok");
    unnamed["run_name"] = Value::Null;
    sandbox.files(THIRD, &unnamed.to_string(), "");
    let viewer = Viewer::start(&sandbox);
    for (name, run) in [("agent", SECOND), ("an%20agent", FIRST), ("(unnamed)", THIRD)] {
        let table = viewer.json(&format!("/api/table?name={name}"));
        assert_eq!(
            (&table["matching"], &table["runs"][0]["trace_id"]),
            (&1.into(), &run.into())
        );
    }
}

#[test]
fn statistics_name_the_runs_behind_each_number() {
    let (_sandbox, viewer) = with_runs();
    let stats = viewer.json("/api/stats?by=tool");
    assert_eq!(
        (&stats["group_count"], &stats["is_of_calls"]),
        (&json!(1), &json!(true))
    );
    let tool = &stats["groups"][0];
    assert_eq!(
        (&tool["label"], &tool["cells"]["calls"]["text"]),
        (&json!("search_kb"), &json!("3"))
    );
    let behind = |cell: &Value| {
        let query = cell["query"].as_str().unwrap().replace(' ', "%20");
        viewer.json(&format!("/api/table?q={query}"))["matching"].clone()
    };
    assert_eq!(behind(&tool["cells"]["runs"]), 3);
    assert_eq!(behind(&stats["all"]["cells"]["failed"]), 1);
    assert_eq!(stats["all"]["cells"]["failed"]["text"], "33 %");
    let failed = viewer.json("/api/stats?by=name&q=status:failed&limit=1");
    assert_eq!(
        (&failed["all"]["stats"]["runs"], &failed["groups"][0]["label"]),
        (&json!(1), &json!("second"))
    );
    let sorted = viewer.json("/api/stats?by=name&sort=group&reverse=true");
    assert_eq!(sorted["groups"][0]["label"], "third");
    for wrong in [
        "by=shoe",
        "sort=size",
        "reverse=yes",
        "trials=1",
        "limit=0",
        "from=x",
    ] {
        viewer
            .get(&format!("/api/stats?{wrong}"))
            .refuses(400, "invalid_parameter");
    }
    viewer.get("/api/stats?q=tol:x").refuses(400, "invalid_query");
    let page = viewer.get("/stats?by=tool&since=7d");
    assert_eq!(page.status, 200);
    assert!(page.text().contains("\"by\":\"tool\""), "its first data");
    assert!(viewer.get("/stats?q=tol:x").text().contains("{\"stats\":null}"));
}

#[test]
fn a_run_is_given_as_its_files_hold_it() {
    let (sandbox, viewer) = with_runs();
    let meta: serde_json::Value =
        serde_json::from_slice(&fs::read(sandbox.run_dir(FIRST).join("meta.json")).unwrap()).unwrap();
    assert_eq!(viewer.json(&format!("/api/runs/{FIRST}"))["run"], meta);

    let spans = viewer.json(&format!("/api/runs/{FIRST}/spans"));
    let keys: Vec<&String> = spans.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["events", "spans", "spec_version", "trace_id"]);
    assert_eq!(
        (
            spans["spans"].as_array().unwrap().len(),
            spans["events"].as_array().unwrap().len()
        ),
        (3, 4)
    );
    let part = viewer.json(&format!("/api/runs/{FIRST}/spans?from=1&limit=1"));
    assert_eq!(part["spans"][0]["name"], "search_kb");
    assert_eq!(
        (
            part["spans"].as_array().unwrap().len(),
            part["events"].as_array().unwrap().len()
        ),
        (1, 1)
    );

    let paths = viewer.json(&format!("/api/runs/{FIRST}/paths"))["paths"].clone();
    assert_eq!(paths["run_dir"], sandbox.run_dir(FIRST).to_str().unwrap());
    assert!(paths["meta_json"].as_str().unwrap().ends_with("meta.json"));
    assert!(paths["spans_jsonl"].as_str().unwrap().ends_with("spans.jsonl"));
}

#[test]
fn the_table_has_previews_of_its_runs() {
    let (sandbox, viewer) = with_runs();
    sandbox.files("cccc4444000000000000000000000004", "{}", "");
    let all = viewer.json("/api/table");
    assert_eq!(all["runs"].as_array().unwrap().len(), 4);
    let damaged = all["runs"]
        .as_array()
        .unwrap()
        .iter()
        .find(|run| run["run_status"] == "damaged")
        .unwrap();
    assert!(damaged["problem"].is_string() && damaged["run_name"].is_null());
    let mut runs = all["runs"].as_array().unwrap().iter();
    let details = &runs.find(|run| run["trace_id"] == FIRST).unwrap()["details"];
    assert_eq!(details["steps"], 2);
    assert_eq!(details["path"], serde_json::json!(["tool", "llm"]));
    assert_eq!(details["subtitle"], "\"Draft a reply\"");
}

#[test]
fn the_table_is_searched_sorted_and_paged() {
    let (_sandbox, viewer) = with_runs();
    let ids = |parameters: &str| {
        let table = viewer.json(&format!("/api/table?{parameters}"));
        let runs = table["runs"].as_array().unwrap().iter();
        let ids: Vec<String> = runs
            .map(|run| run["trace_id"].as_str().unwrap()[..5].to_owned())
            .collect();
        (ids.join(" "), table["matching"].as_u64().unwrap())
    };
    let (all, count) = ids("");
    assert_eq!(count, 3);
    let newest_first: Vec<&str> = all.split(' ').collect();
    let (reversed, _) = ids("reverse=true");
    assert_eq!(reversed.split(' ').rev().collect::<Vec<_>>(), newest_first);
    assert_eq!(ids("from=1&limit=1"), (newest_first[1].to_owned(), 3));
    assert_eq!(ids("from=3"), (String::new(), 3));
    assert_eq!(ids("q=tool:search_kb").1, 3);
    assert_eq!(ids("q=tool:no_such_tool").1, 0);
    assert_eq!(ids(&format!("q=id:{FIRST}")), (FIRST[..5].to_owned(), 1));
    assert_eq!(ids("q=refund%20policy").1, 3, "in the steps");
    assert_eq!(ids("q=tokens%3E1").1, 3);
    assert_eq!(
        ids("status=failed").1 + ids("status=ok,running,interrupted,loop").1,
        3
    );
    assert_eq!(ids("since=1h").1, 0);
    let by_name = ids("sort=name").0;
    assert_eq!(by_name.split(' ').count(), 3);
    let table = viewer.json("/api/table");
    assert_eq!((&table["total"], &table["from"]), (&3.into(), &0.into()));
    let counted: u64 = table["statuses"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(serde_json::Value::as_u64)
        .sum();
    assert_eq!(counted, 3);
}

#[test]
fn a_query_that_cannot_be_read_is_refused() {
    let (_sandbox, viewer) = with_runs();
    for (parameters, code, said) in [
        ("q=tol:search_kb", "invalid_query", "did you mean `tool`?"),
        ("q=tokens%3Emany", "invalid_query", "`tokens` takes"),
        ("sort=size", "invalid_parameter", "`sort` is one of"),
        ("since=soon", "invalid_parameter", "`since`"),
        ("status=well", "invalid_parameter", "`status` holds"),
        ("limit=0", "invalid_parameter", "`limit`"),
    ] {
        let refused = viewer.get(&format!("/api/table?{parameters}"));
        refused.refuses(400, code);
        let message = refused.json()["error"]["message"].to_string();
        assert!(message.contains(said), "{message}");
    }
}

#[test]
fn runs_of_a_session_are_a_thread() {
    let sandbox = Sandbox::new();
    let in_session = |id: &str, minute: u32, session: &str| {
        let log = spans(id, "chat", minute, "ok").replace(
            "\"attributes\":{",
            &format!("\"attributes\":{{\"session.id\":\"{session}\","),
        );
        sandbox.files(id, &meta(id, "chat", minute, "ok").to_string(), &log);
    };
    in_session(FIRST, 1, "chat-1");
    in_session(SECOND, 2, "chat-2");
    in_session(THIRD, 3, "chat-1");
    let viewer = Viewer::start(&sandbox);
    let table = viewer.json("/api/table?group=thread");
    let threads: Vec<_> = table["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["thread"].clone())
        .collect();
    let place =
        |number: u64| json!({"id": "chat-1", "query": "session:chat-1", "number": number, "count": 2});
    assert_eq!(threads, [place(2), place(1), serde_json::Value::Null]);
    assert_eq!(table["threads"], 1);
    let listed = sandbox.tracer(&["list", "--json"]).json();
    let ids: Vec<_> = listed["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["thread"].clone())
        .collect();
    assert_eq!(ids, ["chat-1", "chat-2", "chat-1"]);
    assert_eq!(viewer.json("/api/table?q=session:chat-1")["matching"], 2);
}

#[test]
fn a_damaged_run_is_refused_with_its_problems_and_still_shown() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "first", 1, "ok");
    let log = fs::read_to_string(directory.join("spans.jsonl")).unwrap();
    fs::write(directory.join("spans.jsonl"), format!("no span\n{log}")).unwrap();
    let viewer = Viewer::start(&sandbox);
    let refused = viewer.get(&format!("/api/runs/{FIRST}/spans"));
    refused.refuses(422, "invalid_run");
    assert_eq!(
        refused.json()["error"]["problems"][0]["location"],
        "spans.jsonl:1"
    );
    let overview = viewer.json(&format!("/api/runs/{FIRST}/overview"));
    assert_eq!(overview["problems"][0]["location"], "spans.jsonl:1");
    assert_eq!(overview["totals"]["steps"], 2);
    fs::write(directory.join("meta.json"), "{").unwrap();
    viewer
        .get(&format!("/api/runs/{FIRST}"))
        .refuses(422, "invalid_run");
    assert_eq!(
        viewer.json(&format!("/api/runs/{FIRST}/overview"))["run_status"],
        "damaged"
    );
}

#[test]
fn missing_and_ambiguous_requests_are_refused() {
    let (_sandbox, viewer) = with_runs();
    let missing = "dddd0000000000000000000000000000";
    let paths = [
        "",
        "/spans",
        "/paths",
        "/overview",
        "/columns",
        "/rows",
        "/steps?row=0",
        "/transcript",
        "/search",
    ];
    for path in paths {
        viewer
            .get(&format!("/api/runs/{missing}{path}"))
            .refuses(404, "no_such_run");
        for id in [
            "x",
            &FIRST[..31],
            &FIRST.to_uppercase(),
            &"0".repeat(32),
            "..%2f..",
            "%00",
        ] {
            viewer
                .get(&format!("/api/runs/{id}{path}"))
                .refuses(400, "invalid_trace_id");
        }
    }
    for (path, status, code) in [
        ("/api", 404, "no_such_path"),
        ("/api/nothing", 404, "no_such_path"),
        ("/nothing", 404, "no_such_page"),
        ("/assets/x/nothing.js", 404, "no_such_file"),
        ("/api/runs?limit=0", 400, "invalid_parameter"),
        ("/api/runs?limit=x", 400, "invalid_parameter"),
        ("/api/runs?status=good", 400, "invalid_parameter"),
        ("/api/runs?cursor=x", 400, "invalid_trace_id"),
        (&format!("/api/runs?cursor={missing}"), 404, "no_such_cursor"),
        ("/api/stream?run=x", 400, "invalid_trace_id"),
        (&format!("/api/stream?run={missing}"), 404, "no_such_run"),
        ("/api/diff", 400, "invalid_parameter"),
        (&format!("/api/diff?a={FIRST}"), 404, "nothing_to_compare"),
        (&format!("/api/diff?a={FIRST}&b={missing}"), 404, "no_such_run"),
        (
            &format!("/api/diff?a={FIRST}&baseline=..%2Fx"),
            404,
            "no_such_baseline",
        ),
        (
            &format!("/api/runs/{FIRST}/rows?from=-1"),
            400,
            "invalid_parameter",
        ),
        (
            &format!("/api/runs/{FIRST}/rows?limit=501"),
            400,
            "invalid_parameter",
        ),
        (
            &format!("/api/runs/{FIRST}/search?q=kind:none"),
            400,
            "invalid_query",
        ),
        (&format!("/api/runs/{FIRST}/steps/nothing"), 404, "no_such_step"),
        (&format!("/api/runs/{FIRST}/steps"), 400, "invalid_parameter"),
        (&format!("/api/runs/{FIRST}/steps?row=99"), 404, "no_such_step"),
        (
            &format!("/api/runs/{FIRST}/steps/1111111111111111/values/prompt"),
            404,
            "no_such_value",
        ),
        (
            &format!("/api/runs/{FIRST}/steps/1111111111111111/values/none"),
            404,
            "no_such_value",
        ),
    ] {
        let response = viewer.get(path);
        response.refuses(status, code);
        response.is_guarded();
    }
    for method in ["PUT", "OPTIONS", "DELETE"] {
        viewer
            .change(method, "/api/runs", "")
            .refuses(405, "method_not_allowed");
    }
}

#[test]
fn nobody_reaches_a_file_by_a_path() {
    let (sandbox, viewer) = with_runs();
    fs::write(sandbox.path("secret"), "secret").unwrap();
    fs::write(
        sandbox.data_dir().join("runs").join(FIRST).join("other.json"),
        "secret",
    )
    .unwrap();
    let ways = [
        "../../secret",
        "..%2f..%2fsecret",
        "%2e%2e/%2e%2e/secret",
        "..%5c..%5csecret",
        "%252e%252e%252fsecret",
        "....//secret",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "..%c0%af..%c0%afsecret",
        "%00",
        "meta.json",
        ".%00./secret",
    ];
    for way in ways {
        for before in [
            "/",
            "/assets/",
            "/api/runs/",
            "/r/",
            &format!("/api/runs/{FIRST}/"),
            &format!("/api/runs/{FIRST}/steps/"),
        ] {
            let response = viewer.get(&format!("{before}{way}"));
            assert!(
                (300..500).contains(&response.status),
                "{before}{way}: {response:?}"
            );
            assert!(
                !String::from_utf8_lossy(&response.body).contains("root:"),
                "{before}{way}"
            );
            assert_ne!(response.body, b"secret", "{before}{way}");
        }
    }
    #[cfg(unix)]
    {
        let link = sandbox.data_dir().join("runs/eeee0000000000000000000000000000");
        std::os::unix::fs::symlink(sandbox.run_dir(FIRST), link).unwrap();
        viewer
            .get("/api/runs/eeee0000000000000000000000000000")
            .refuses(404, "no_such_run");
    }
}

#[test]
fn unchanged_answers_are_not_sent_again() {
    let (sandbox, viewer) = with_runs();
    for path in ["/columns", "/rows", "/steps?row=1", "/spans", "/transcript"] {
        let path = format!("/api/runs/{FIRST}{path}");
        let first = viewer.get(&path);
        let tag = first.header("etag").unwrap().to_owned();
        let again = viewer.send("GET", &path, &[("If-None-Match", &tag)], "");
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert_eq!(again.header("etag"), Some(tag.as_str()));
        let other = viewer.send(
            "GET",
            &path.replace(FIRST, SECOND),
            &[("If-None-Match", &tag)],
            "",
        );
        assert_eq!(other.status, 200, "{path}");
    }
    let path = format!("/api/runs/{FIRST}/rows");
    let tag = viewer.get(&path).header("etag").unwrap().to_owned();
    sandbox.run(FIRST, "renamed", 1, "error");
    assert_eq!(
        viewer.send("GET", &path, &[("If-None-Match", &tag)], "").status,
        200
    );
}
