//! The shells of the pages, their first data, and where addresses lead.

use serde_json::Value;

use crate::sandbox::{FIRST, SECOND, Sandbox, THIRD};

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
    let diff = data(&viewer.get(&format!("/diff/{FIRST}/{SECOND}")));
    assert_eq!(
        (&diff["a"], &diff["b"], &diff["baseline"]),
        (&FIRST.into(), &SECOND.into(), &Value::Null)
    );
    let baseline = data(&viewer.get(&format!("/diff/{FIRST}/baseline/nightly")));
    assert_eq!(
        (&baseline["a"], &baseline["baseline"]),
        (&FIRST.into(), &"nightly".into())
    );
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
fn pages_are_one_script_and_one_style() {
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
        assert_eq!(files.len(), 2, "{path}: {files:?}");
        let mut bytes = page.body.len();
        for file in files {
            let response = viewer.get(file);
            assert_eq!(response.status, 200, "{file}");
            let tag = response.header("etag").unwrap().to_owned();
            assert_eq!(
                viewer.send("GET", file, &[("If-None-Match", &tag)], "").status,
                304
            );
            bytes += response.body.len();
        }
        assert!(bytes < 200_000, "{path}: {bytes} bytes");
    }
    for hidden in ["units.js", "shell.html", "contract.d.ts", ".gitignore"] {
        viewer
            .get(&format!("/assets/{hidden}"))
            .refuses(404, "no_such_file");
    }
}

#[test]
fn the_script_of_a_page_asks_for_no_other() {
    let (_sandbox, viewer) = opened();
    for page in ["comparison-page", "message", "run", "runs"] {
        let answer = viewer.get(&format!("/assets/{page}.js"));
        let script = answer.text();
        let asks = |line: &str| line.starts_with("import ") || line.contains("import(\"");
        let asking: Vec<&str> = script.lines().filter(|line| asks(line)).collect();
        assert_eq!(asking, [""; 0], "{page}");
        assert!(
            script.contains("const help$ = "),
            "{page}: what is shown late is in it"
        );
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
