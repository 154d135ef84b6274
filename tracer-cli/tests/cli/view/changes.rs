//! Renaming, deleting, and taking that back.

use std::fs;

use crate::sandbox::{FIRST, SECOND, Sandbox};

use super::client::Viewer;

#[test]
fn a_run_is_renamed_and_what_looks_like_a_secret_is_redacted() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    let viewer = Viewer::start(&sandbox);
    let path = format!("/api/runs/{FIRST}");
    let answer = viewer
        .change("PATCH", &path, r#"{"run_name":"refund, first try"}"#)
        .json();
    assert_eq!(
        (&answer["change"], &answer["run_name"]),
        (&"renamed".into(), &"refund, first try".into())
    );
    assert_eq!(viewer.json(&path)["run"]["run_name"], "refund, first try");
    let secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789";
    let answer = viewer.change("PATCH", &path, &format!(r#"{{"run_name":"key {secret}"}}"#));
    assert!(!answer.text().contains(secret), "{answer:?}");
    for body in [
        "",
        "{}",
        "[]",
        r#"{"run_name":1}"#,
        r#"{"run_name":" "}"#,
        r#"{"run_name":"a","more":1}"#,
    ] {
        viewer.change("PATCH", &path, body).refuses(400, "invalid_body");
    }
    let long = format!(r#"{{"run_name":"{}"}}"#, "a".repeat(513));
    viewer.change("PATCH", &path, &long).refuses(400, "invalid_body");
    viewer
        .change("PATCH", &format!("/api/runs/{SECOND}"), r#"{"run_name":"a"}"#)
        .refuses(404, "no_such_run");
}

#[test]
fn a_deleted_run_is_gone_until_it_is_restored() {
    let sandbox = Sandbox::new();
    let directory = sandbox.run(FIRST, "agent", 1, "ok");
    let before = crate::sandbox::contents(&directory);
    let viewer = Viewer::start(&sandbox);
    let path = format!("/api/runs/{FIRST}");
    viewer.json(&format!("{path}/overview"));
    assert_eq!(viewer.change("DELETE", &path, "").json()["change"], "deleted");
    viewer.get(&path).refuses(404, "no_such_run");
    viewer
        .get(&format!("{path}/overview"))
        .refuses(404, "no_such_run");
    viewer.change("DELETE", &path, "").refuses(404, "no_such_run");
    assert_eq!(
        viewer.change("POST", &format!("{path}/restore"), "{}").json()["change"],
        "restored"
    );
    assert_eq!(crate::sandbox::contents(&directory), before);
    viewer.json(&format!("{path}/overview"));
    viewer
        .change("POST", &format!("{path}/restore"), "{}")
        .refuses(404, "no_such_run");
}

#[test]
#[cfg(unix)]
fn the_trash_is_emptied_when_the_viewer_stops() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    sandbox.run(SECOND, "agent", 2, "ok");
    let mut viewer = Viewer::start(&sandbox);
    viewer.change("DELETE", &format!("/api/runs/{FIRST}"), "");
    let trash = sandbox.data_dir().join("trash");
    assert_eq!(fs::read_dir(&trash).unwrap().count(), 1);
    // A stream that is open keeps nobody from stopping.
    let mut stream = viewer.connect();
    let request = format!("GET /api/stream HTTP/1.1\r\nHost: {}\r\n\r\n", viewer.address);
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    let id = viewer.child.id().to_string();
    assert!(
        std::process::Command::new("kill")
            .args(["-TERM", &id])
            .status()
            .unwrap()
            .success()
    );
    assert!(viewer.child.wait().unwrap().success());
    assert_eq!(fs::read_dir(&trash).unwrap().count(), 0);
    assert!(sandbox.run_dir(SECOND).is_dir());
}

#[test]
fn a_run_that_goes_on_is_not_changed() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "running");
    let viewer = Viewer::start(&sandbox);
    let path = format!("/api/runs/{FIRST}");
    viewer.change("DELETE", &path, "").refuses(409, "live_run");
    viewer
        .change("PATCH", &path, r#"{"run_name":"a"}"#)
        .refuses(409, "live_run");
    assert!(sandbox.run_dir(FIRST).is_dir());
}
