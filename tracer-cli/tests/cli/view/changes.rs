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
    assert_eq!(trashed(&sandbox), [FIRST]);
    // A stream that is open keeps nobody from stopping.
    let mut stream = viewer.connect();
    let (host, cookie) = (viewer.address, viewer.cookie());
    let request = format!("GET /api/stream HTTP/1.1\r\nHost: {host}\r\n{cookie}\r\n");
    std::io::Write::write_all(&mut stream, request.as_bytes()).unwrap();
    stop(&mut viewer);
    assert_eq!(trashed(&sandbox), [""; 0]);
    assert!(sandbox.run_dir(SECOND).is_dir());
}

/// Stops a viewer as Ctrl-C does.
#[cfg(unix)]
fn stop(viewer: &mut Viewer) {
    let id = viewer.child.id().to_string();
    let reported = std::process::Command::new("kill").args(["-TERM", &id]).status();
    assert!(reported.unwrap().success());
    assert!(viewer.child.wait().unwrap().success());
}

/// The runs that are in the trash.
#[cfg(unix)]
fn trashed(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.data_dir().join("trash"))
        .into_iter()
        .flatten();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut found: Vec<String> = names.filter(|name| name != ".lock").collect();
    found.sort();
    found
}

#[test]
#[cfg(unix)]
fn the_last_viewer_that_stops_empties_the_trash() {
    let sandbox = Sandbox::new();
    let (third, fourth) = (FIRST.replace('a', "c"), FIRST.replace('a', "d"));
    for (minute, id) in (1..).zip([FIRST, SECOND, &third, &fourth]) {
        sandbox.run(id, "agent", minute, "ok");
    }
    let run = |id: &str| format!("/api/runs/{id}");
    let mut first = Viewer::start(&sandbox);
    let mut second = Viewer::start(&sandbox);
    for (viewer, id) in [
        (&first, FIRST),
        (&second, SECOND),
        (&first, &third),
        (&second, &fourth),
    ] {
        assert_eq!(viewer.change("DELETE", &run(id), "").status, 200);
    }
    // Any viewer gives back what was deleted anywhere.
    for id in [SECOND, &third] {
        let (one, other) = if id == SECOND {
            (&first, &second)
        } else {
            (&second, &first)
        };
        assert_eq!(one.change("POST", &(run(id) + "/restore"), "{}").status, 200);
        assert_eq!(other.change("DELETE", &run(id), "").status, 200);
        assert_eq!(other.change("POST", &(run(id) + "/restore"), "{}").status, 200);
        assert_eq!(second.change("DELETE", &run(id), "").status, 200);
    }
    stop(&mut first);
    let mut kept = [FIRST.to_owned(), SECOND.to_owned(), third, fourth];
    kept.sort();
    assert_eq!(trashed(&sandbox), kept);
    assert_eq!(
        second.change("POST", &(run(FIRST) + "/restore"), "{}").status,
        200
    );
    assert!(sandbox.run_dir(FIRST).is_dir());
    stop(&mut second);
    assert_eq!(trashed(&sandbox), [""; 0]);
}

#[test]
#[cfg(unix)]
fn a_killed_viewers_trash_is_removed_later() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    sandbox.run(SECOND, "agent", 2, "ok");
    let mut killed = Viewer::start(&sandbox);
    for id in [FIRST, SECOND] {
        assert_eq!(
            killed.change("DELETE", &format!("/api/runs/{id}"), "").status,
            200
        );
    }
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    let mut next = Viewer::start(&sandbox);
    // Until then it can be brought back.
    let restored = next.change("POST", &format!("/api/runs/{SECOND}/restore"), "{}");
    assert_eq!(restored.status, 200);
    assert_eq!(trashed(&sandbox), [FIRST]);
    stop(&mut next);
    assert_eq!(trashed(&sandbox), [""; 0]);
    assert!(sandbox.run_dir(SECOND).is_dir());
}

#[test]
#[cfg(unix)]
fn nothing_behind_a_link_in_the_place_of_the_trash_is_touched() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    let elsewhere = sandbox.path("elsewhere");
    let own = elsewhere.join("place");
    fs::create_dir_all(own.join(SECOND)).unwrap();
    fs::write(own.join(".lock"), "").unwrap();
    std::os::unix::fs::symlink(&elsewhere, sandbox.data_dir().join("trash")).unwrap();
    let mut viewer = Viewer::start(&sandbox);
    viewer
        .change("DELETE", &format!("/api/runs/{FIRST}"), "")
        .refuses(409, "not_changed");
    viewer
        .change("POST", &format!("/api/runs/{SECOND}/restore"), "{}")
        .refuses(409, "not_changed");
    stop(&mut viewer);
    assert!(own.join(SECOND).is_dir() && sandbox.run_dir(FIRST).is_dir());
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 1);
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
