//! The shells of the pages, their first data, and where addresses lead.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::sandbox::{FIRST, SECOND, Sandbox, THIRD, meta, spans};

use super::client::{Response, Viewer};

fn opened() -> (Sandbox, Viewer) {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "</script><script>alert(1)</script>", 1, "ok");
    sandbox.run(SECOND, "second", 2, "ok");
    sandbox.run(THIRD, "third", 3, "ok");
    let viewer = Viewer::start(&sandbox);
    (sandbox, viewer)
}

/// The first data of a page.
fn data(page: &Response) -> Value {
    let (_, behind) = page.text().split_once("id=\"initial-data\">").unwrap();
    let (data, _) = behind.split_once("</script>").unwrap();
    assert!(!data.contains('<'), "{data}");
    serde_json::from_str(data).unwrap()
}

#[test]
fn pages_embed_data_and_escape_names() {
    let (_sandbox, viewer) = opened();
    let runs = viewer.get("/");
    assert_eq!(data(&runs)["table"]["runs"].as_array().unwrap().len(), 3);
    let run = viewer.get(&format!("/r/{FIRST}?view=steps&at=1111111111111111"));
    let first = data(&run);
    assert_eq!(
        (&first["run_id"], &first["overview"]["run_status"]),
        (&FIRST.into(), &"ok".into())
    );
    assert_eq!(first["rows"]["rows"].as_array().unwrap().len(), 3);
    for page in [runs, run] {
        assert!(page.header("content-type").unwrap().starts_with("text/html"));
        assert!(!page.text().contains("alert(1)</"), "{}", page.text());
    }
}

#[test]
fn a_large_run_shows_its_beginning_at_once() {
    let sandbox = Sandbox::new();
    let log = spans(FIRST, "agent", 1, "ok");
    let (first, rest) = log.split_once('\n').unwrap();
    let blank = format!("{}\n", " ".repeat(999)).repeat(9_000);
    let log = format!("{first}\n{blank}{rest}");
    sandbox.files(FIRST, &meta(FIRST, "agent", 1, "ok").to_string(), &log);
    let viewer = Viewer::start(&sandbox);
    let first = data(&viewer.get(&format!("/r/{FIRST}")));
    assert!(first["overview"].is_null());
    let names: Vec<&Value> = first["rows"]["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["name"])
        .collect();
    assert_eq!(names, ["agent", "search_kb"]);
    assert_eq!(first["rows"]["rows"][0]["in_flight"], false);
    let rows = |query: &str| {
        let columns = viewer.get(&format!("/api/runs/{FIRST}/columns{query}"));
        u32::from_le_bytes(columns.body[8..12].try_into().unwrap())
    };
    assert_eq!((rows("?beginning=true"), rows("")), (2, 3));
}

#[test]
fn a_beginning_of_an_id_leads_to_the_run() {
    let (_sandbox, viewer) = opened();
    let leads = |path: &str| {
        let response = viewer.get(path);
        (response.status, response.header("location").map(str::to_owned))
    };
    assert_eq!(
        leads("/r/bbbb3333?view=transcript"),
        (302, Some(format!("/r/{THIRD}?view=transcript")))
    );
    assert_eq!(leads("/r/bbbb33"), (302, Some(format!("/r/{THIRD}"))));
    assert_eq!(leads("/r/bbbb3").0, 404);
    assert_eq!(leads("/r/dddddddd").0, 404);
    assert_eq!(leads("/r/latest").0, 404);
    assert_eq!(
        leads(&format!("/?run={FIRST}")),
        (302, Some(format!("/r/{FIRST}")))
    );
    assert_eq!(leads("/?run_id=bbbb3333"), (302, Some("/r/bbbb3333".to_owned())));
    assert_eq!(leads("/?run=%2F%2Fevil.example").0, 200);
    assert_eq!(
        leads(&format!("/diff/bbbb3333/{FIRST}")),
        (302, Some(format!("/diff/{THIRD}/{FIRST}")))
    );
    assert_eq!(leads("/diff/bbbb3333/dddddddd").0, 404);
}

#[test]
fn a_beginning_that_several_runs_have_gives_a_choice() {
    let sandbox = Sandbox::new();
    sandbox.run("aaaaaaaa000000000000000000000001", "first", 1, "ok");
    sandbox.run("aaaaaaaa000000000000000000000002", "second", 2, "ok");
    let viewer = Viewer::start(&sandbox);
    let page = viewer.get("/r/aaaaaaaa");
    assert_eq!(page.status, 300);
    let names: Vec<Value> = data(&page)["candidates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run_name"].clone())
        .collect();
    assert_eq!(names, ["first", "second"]);
}

#[test]
fn pages_name_their_modules_and_their_style() {
    let (_sandbox, viewer) = opened();
    for path in [
        "/",
        &format!("/r/{FIRST}"),
        &format!("/diff/{FIRST}/{SECOND}"),
        "/r/nothing",
    ] {
        let page = viewer.get(path);
        let files: Vec<&str> = page
            .text()
            .split('"')
            .filter(|text| text.starts_with("/assets/"))
            .collect();
        let mut bytes = page.body.len();
        for file in files.iter().collect::<BTreeSet<_>>() {
            let response = viewer.get(file);
            assert_eq!(response.status, 200, "{file}");
            assert_eq!(
                response.header("cache-control"),
                Some("private, max-age=31536000, immutable")
            );
            let other = viewer.get(&file.replacen("/assets/", "/assets/0", 1));
            assert_eq!(
                other.header("cache-control"),
                Some("no-store"),
                "of another version"
            );
            bytes += response.body.len();
        }
        assert!(bytes < 300_000, "{path}: {bytes} bytes");
    }
    for hidden in ["shell.html", "answers.d.ts", ".gitignore"] {
        viewer
            .get(&format!("/assets/x/{hidden}"))
            .refuses(404, "no_such_file");
    }
}

#[test]
fn the_page_of_runs_that_cannot_be_listed_says_why() {
    let sandbox = Sandbox::without_data_directory();
    std::fs::create_dir(sandbox.data_dir()).unwrap();
    std::fs::write(sandbox.data_dir().join("runs"), "no directory").unwrap();
    let viewer = Viewer::start(&sandbox);
    let page = viewer.get("/");
    let first = data(&page);
    assert!(first["table"].is_null());
    let problem = first["problem"].as_str().unwrap();
    assert!(problem.contains("runs"), "{problem}");
}

#[test]
fn run_pages_preload_their_rows() {
    let (_sandbox, viewer) = opened();
    let answer = viewer.get(&format!("/r/{SECOND}"));
    let (before, after) = answer.text().split_once("id=\"initial-data\">").unwrap();
    let link = format!(r#"<link rel="preload" as="fetch" crossorigin href="/api/runs/{SECOND}/columns">"#);
    assert!(before.contains(&link), "{before}");
    assert!(after.contains(SECOND), "the first data follow");
}

#[test]
fn suggested_commands_reach_the_runs_of_the_page() {
    let (sandbox, viewer) = opened();
    let page = viewer.get("/").text().to_owned();
    assert!(
        page.contains("<meta name=\"tracer-command\" content=\"tracer\">"),
        "{page}"
    );
    assert!(
        page.contains("<meta name=\"tracer-store\" content=\"\">"),
        "{page}"
    );
    let elsewhere = Viewer::start_with(&sandbox, &["--data-dir", "data/../data"]);
    let page = elsewhere.get("/").text().to_owned();
    let named = format!(
        "content=\"tracer --data-dir {}\"",
        sandbox.path("data/../data").display()
    );
    assert!(page.contains(&named), "{named}: {page}");
}

#[test]
fn a_file_has_the_steps_that_a_query_finds() {
    let (_sandbox, viewer) = opened();
    let steps = |query: &str| {
        let file = viewer.get(&format!("/r/{FIRST}/export.html{query}"));
        assert_eq!(file.status, 200, "{query}: {file:?}");
        let has = |name: &str| file.text().contains(&format!("id=\"step-{name}\""));
        (has("1"), has("2"))
    };
    assert_eq!(steps(""), (true, true));
    assert_eq!(steps("?q=tool:search_kb"), (true, false));
    assert_eq!(steps("?q=kind:llm"), (false, true));
    assert_eq!(steps("?q=refund"), (true, false));
    assert_eq!(steps("?q=kind:llm&kind=tool"), (false, false));
    viewer
        .get(&format!("/r/{FIRST}/export.html?q=dur%3E1s"))
        .refuses(400, "invalid_query");
}

#[test]
fn terminal_and_page_filter_by_name_and_age_alike() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "first", 1, "ok");
    sandbox.run(SECOND, "first-other", 2, "ok");
    sandbox.files(THIRD, "{", "");
    let viewer = Viewer::start(&sandbox);
    for (option, parameter) in [
        (["name:first"], "name=first"),
        (["name:first*"], "name=first*"),
        (["name:first-other"], "name=first-other"),
        (["since:2026-01-01T00:02:00Z"], "since=2026-01-01T00:02:00Z"),
        (["since:2030-01-01"], "since=2030-01-01"),
    ] {
        let listed = sandbox
            .tracer(&[&["list", "--json"], &option[..]].concat())
            .json();
        let ids = |list: &Value, key: &str| -> BTreeSet<String> {
            let rows = list.as_array().unwrap().iter();
            rows.map(|run| run[key].as_str().unwrap().to_owned()).collect()
        };
        let mut in_terminal = ids(&listed["runs"], "trace_id");
        in_terminal.extend(ids(&listed["damaged"], "trace_id"));
        let table = viewer.json(&format!("/api/table?{parameter}"));
        assert_eq!(
            ids(&table["runs"], "trace_id"),
            in_terminal,
            "{parameter}: {listed}"
        );
    }
}
