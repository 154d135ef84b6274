//! A client that stalls or is gone costs its own connection only: every path, with every such client.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use serde_json::json;

use crate::sandbox::{FIRST, SECOND, Sandbox, meta};

use super::client::Viewer;

/// More clients than there are readings at a time.
const SOME: usize = 12;
const MANY: usize = 300;

/// A run whose log is larger than what lies between a server and a client that takes nothing.
fn large_run(sandbox: &Sandbox, id: &str, minute: u32) {
    let said = "a long answer ".repeat(20_000);
    let time = |second: usize| format!("2026-01-01T00:{minute:02}:{second:02}.000000Z");
    let span = |number: usize| {
        let is_root = number == 0;
        let span = json!({
            "trace_id": id, "span_id": format!("{:016x}", number + 1),
            "parent_span_id": (!is_root).then(|| format!("{:016x}", 1)), "name": "search_kb", "kind": "INTERNAL",
            "start_time": time(number), "end_time": time(number + 1), "duration_ms": 1000,
            "attributes": if is_root { json!({}) } else { json!({"tracer.tool_name": "search_kb", "tracer.status": "ok"}) },
            "events": if is_root { json!([]) } else {
                json!([{"name": "tracer.tool.result", "timestamp": time(number), "attributes": {"result": said}}])
            },
            "status_code": "OK", "status_description": "",
        });
        span.to_string() + "\n"
    };
    let mut meta = meta(id, "agent", minute, "ok");
    meta["counts"] = json!({"llm_calls": 0, "tool_calls": 15, "errors": 0, "loop_warnings": 0});
    sandbox.files(
        id,
        &meta.to_string(),
        &(0..16).rev().map(span).collect::<String>(),
    );
}

fn large() -> (Sandbox, Viewer) {
    let sandbox = Sandbox::new();
    large_run(&sandbox, FIRST, 1);
    large_run(&sandbox, SECOND, 2);
    let viewer = Viewer::start(&sandbox);
    (sandbox, viewer)
}

/// Every path that can be read.
fn paths() -> Vec<String> {
    let of_run = |rest: &str| format!("/api/runs/{FIRST}{rest}");
    let step = "/steps/0000000000000002";
    vec![
        "/".to_owned(),
        format!("/r/{FIRST}"),
        format!("/r/{}", &FIRST[..8]),
        format!("/r/{FIRST}/export.html"),
        format!("/diff/{FIRST}/{SECOND}"),
        format!("/diff/{FIRST}/baseline/none"),
        "/assets/x/run.js".to_owned(),
        "/api/runs".to_owned(),
        "/api/table".to_owned(),
        of_run(""),
        of_run("/spans"),
        of_run("/spans?from=0&limit=9"),
        of_run("/paths"),
        of_run("/overview"),
        of_run("/columns"),
        of_run("/rows"),
        of_run(step),
        of_run("/steps?row=1"),
        of_run(&format!("{step}/values/result")),
        of_run(&format!("{step}/values/raw")),
        of_run("/transcript"),
        of_run("/transcript?kind=state"),
        of_run("/search?q=nothing"),
        format!("/api/diff?a={FIRST}&b={SECOND}"),
        format!("/api/diff?a={FIRST}&baseline=none"),
        "/api/baselines".to_owned(),
        "/api/stream".to_owned(),
        format!("/api/stream?run={FIRST}"),
        "/nothing".to_owned(),
    ]
}

fn request(viewer: &Viewer, path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\n{}\r\n",
        viewer.address,
        viewer.cookie()
    )
}

fn sent(viewer: &Viewer, bytes: &str) -> TcpStream {
    let mut stream = viewer.connect();
    stream.write_all(bytes.as_bytes()).unwrap();
    stream
}

/// Other requests are answered: for files of the page, for what is read, and for what is sent while it is written.
fn others_are_answered(viewer: &Viewer) {
    for path in ["/assets/x/run.js", "/api/runs", "/"] {
        assert_eq!(viewer.get(path).status, 200, "{path}");
    }
    let spans = viewer.json(&format!("/api/runs/{SECOND}/spans?from=0&limit=1"));
    assert_eq!(spans["spans"].as_array().unwrap().len(), 1);
}

#[test]
fn clients_that_take_nothing_stop_nobody_else() {
    let (_sandbox, viewer) = large();
    let mut stalled = Vec::new();
    let paths = paths();
    for path in &paths {
        stalled.extend((0..MANY.div_ceil(paths.len())).map(|_| sent(&viewer, &request(&viewer, path))));
        others_are_answered(&viewer);
    }
    // What is large has not been given up: it goes on when it is taken.
    let mut large = sent(&viewer, &request(&viewer, &format!("/api/runs/{SECOND}/spans")));
    others_are_answered(&viewer);
    let mut taken = 0;
    let mut bytes = vec![0; 1024 * 1024];
    while taken < 6 * 1024 * 1024 {
        taken += large.read(&mut bytes).unwrap();
    }
}

#[test]
fn clients_that_send_slowly_stop_nobody_else() {
    let (_sandbox, viewer) = large();
    for head in [
        String::new(),
        "GET / HTTP/1.1\r\nHost: ".to_owned(),
        format!("GET /api/runs HTTP/1.1\r\nHost: {}\r\nX: y", viewer.address),
        format!(
            "DELETE /api/runs/{FIRST} HTTP/1.1\r\nHost: {}\r\n",
            viewer.address
        ),
    ] {
        let _slow: Vec<_> = (0..MANY).map(|_| sent(&viewer, &head)).collect();
        assert_eq!(viewer.get("/api/runs").status, 200);
    }
}

#[test]
fn streams_of_events_leave_room_for_everything_else() {
    let (_sandbox, viewer) = large();
    for path in ["/api/stream".to_owned(), format!("/api/stream?run={FIRST}")] {
        let mut streams: Vec<_> = (0..MANY)
            .map(|_| sent(&viewer, &request(&viewer, &path)))
            .collect();
        others_are_answered(&viewer);
        viewer.get(&path).refuses(503, "too_many_streams");
        for stream in &mut streams {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn clients_that_say_no_more_are_let_go() {
    let (_sandbox, viewer) = large();
    for path in paths() {
        let said: Vec<_> = (0..SOME)
            .map(|_| {
                let stream = sent(&viewer, &request(&viewer, &path));
                stream.shutdown(Shutdown::Write).unwrap();
                stream
            })
            .collect();
        others_are_answered(&viewer);
        for mut stream in said {
            // Whatever it was sent, the connection ends.
            match io::copy(&mut stream, &mut io::sink()) {
                Ok(_) => {}
                Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{path}"),
            }
        }
    }
}

/// What the viewer has read from files, in bytes, once it reads no more.
#[cfg(target_os = "linux")]
fn read_bytes(viewer: &Viewer) -> u64 {
    let now = || -> u64 {
        let reported = fs::read_to_string(format!("/proc/{}/io", viewer.child.id())).unwrap();
        let line = reported.lines().find_map(|line| line.strip_prefix("rchar: "));
        line.unwrap().parse().unwrap()
    };
    let mut last = now();
    let mut same = 0;
    while same < 8 {
        std::thread::sleep(std::time::Duration::from_millis(20));
        let next = now();
        same = if next == last { same + 1 } else { 0 };
        last = next;
    }
    last
}

#[test]
#[cfg(target_os = "linux")]
fn the_work_for_clients_that_are_gone_ends() {
    const GONE: usize = 24;
    let (sandbox, viewer) = large();
    let log = sandbox.run_dir(FIRST).join("spans.jsonl");
    // Another file with what the log says: nothing that is known of the run counts any more.
    let renew = || {
        let copy = sandbox.path("copy");
        fs::copy(&log, &copy).unwrap();
        fs::rename(&copy, &log).unwrap();
    };
    let size = fs::metadata(&log).unwrap().len();
    for path in paths().iter().filter(|path| !path.contains("/api/stream")) {
        renew();
        let before = read_bytes(&viewer);
        viewer.get(path);
        let after = read_bytes(&viewer);
        let one = after - before;
        renew();
        for _ in 0..GONE {
            drop(sent(&viewer, &request(&viewer, path)));
        }
        let all = read_bytes(&viewer) - after;
        // Eight had begun when they went, and no others; and the viewer's own look at all runs reads once what has changed.
        // What reads little may be done before it is found to be cancelled.
        assert!(
            all <= 10 * one + 9 * size,
            "{path}: one reads {one} bytes, {GONE} that are gone {all}"
        );
    }
    others_are_answered(&viewer);
}
