//! Who may ask: only requests that name this viewer and come from nowhere else.

use crate::sandbox::{FIRST, Sandbox};

use super::client::{Viewer, opened};

#[test]
fn a_request_that_names_another_host_is_refused() {
    let (_sandbox, viewer) = opened();
    let port = viewer.address.port();
    let paths = ["/", "/api/runs", "/assets/run.js", "/api/stream", "/nothing"];
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.:{port}"),
        format!("2130706433:{port}"),
        format!("0.0.0.0:{port}"),
        format!("user@127.0.0.1:{port}"),
        String::new(),
    ];
    for path in paths {
        for host in &hosts {
            let response = viewer.raw(&format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
            ));
            response.refuses(403, "foreign_host");
            response.is_guarded();
        }
        let two = format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
        );
        viewer.raw(&two).refuses(403, "foreign_host");
        let none = format!("GET {path} HTTP/1.0\r\n\r\n");
        viewer.raw(&none).refuses(403, "foreign_host");
        let absolute = format!(
            "GET http://evil.example{path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        );
        viewer.raw(&absolute).refuses(403, "foreign_host");
    }
    for host in [
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
    ] {
        let ours = viewer.raw(&format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        ));
        assert_eq!(ours.status, 200, "{host}");
    }
}

#[test]
fn a_request_from_another_web_site_is_refused() {
    let (_sandbox, viewer) = opened();
    let ours = format!("http://{}", viewer.address);
    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("Origin", "http://127.0.0.1"),
        ("Origin", &ours.replace("http://", "https://")),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
    ] {
        for path in ["/", "/api/runs", "/api/stream"] {
            let response = viewer.send("GET", path, &[(name, value)], "");
            response.refuses(403, "foreign_origin");
            response.is_guarded();
        }
    }
    for (name, value) in [
        ("Origin", ours.as_str()),
        ("Sec-Fetch-Site", "same-origin"),
        ("Sec-Fetch-Site", "none"),
    ] {
        assert_eq!(
            viewer.send("GET", "/", &[(name, value)], "").status,
            200,
            "{name}: {value}"
        );
    }
}

#[test]
fn a_change_needs_the_token_and_json() {
    let (sandbox, viewer) = opened();
    let path = format!("/api/runs/{FIRST}");
    let body = r#"{"run_name":"stolen"}"#;
    let json = ("Content-Type", "application/json");
    let token = viewer.token();
    assert_eq!(token.len(), 32);
    let mut wrong = token.clone();
    wrong.replace_range(0..1, if token.starts_with('0') { "1" } else { "0" });
    for headers in [
        vec![json],
        vec![json, ("X-Tracer-Token", "")],
        vec![json, ("X-Tracer-Token", &wrong)],
        vec![json, ("X-Tracer-Token", &token[..31])],
        vec![json, ("Cookie", &format!("tracer-token={token}"))],
    ] {
        for method in ["PATCH", "DELETE", "POST", "PUT"] {
            viewer
                .send(method, &path, &headers, body)
                .refuses(403, "token_needed");
        }
        viewer
            .send("POST", &format!("{path}/restore"), &headers, "{}")
            .refuses(403, "token_needed");
    }
    let ours = ("X-Tracer-Token", token.as_str());
    for content_type in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        let headers = [ours, ("Content-Type", content_type)];
        viewer
            .send("PATCH", &path, &headers, body)
            .refuses(415, "json_needed");
        viewer
            .send("DELETE", &path, &headers, "")
            .refuses(415, "json_needed");
    }
    let foreign = [ours, json, ("Origin", "https://evil.example")];
    viewer
        .send("PATCH", &path, &foreign, body)
        .refuses(403, "foreign_origin");
    assert!(sandbox.run_dir(FIRST).is_dir());
    assert_eq!(viewer.json(&path)["run"]["run_name"], "agent");
}

#[test]
fn other_addresses_need_the_printed_token() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    let mut viewer = Viewer::start_with(&sandbox, &["--host", "0.0.0.0"]);
    viewer.address.set_ip("127.0.0.1".parse().unwrap());
    for path in [
        "/",
        "/api/runs",
        "/assets/run.js",
        "/?token=",
        "/?token=00000000000000000000000000000000",
    ] {
        viewer.get(path).refuses(403, "token_needed");
    }
}

/// An answer to another user of this machine: status and text.
#[cfg(target_os = "linux")]
fn asked_by_another_user(viewer: &Viewer, method: &str, path: &str, headers: &str) -> (u16, String) {
    use std::os::unix::process::CommandExt;

    let (host, port) = (viewer.address.ip(), viewer.address.port());
    let request =
        format!("{method} {path} HTTP/1.1\r\nHost: {host}:{port}\r\nConnection: close\r\n{headers}\r\n");
    let ask = format!("exec 3<>/dev/tcp/{host}/{port}; printf %s \"$1\" >&3; cat <&3");
    let asked = std::process::Command::new("bash")
        .args(["-c", &ask, "ask", &request])
        .current_dir("/")
        .uid(4_321)
        .gid(4_321)
        .output()
        .unwrap();
    let reported = String::from_utf8_lossy(&asked.stdout).into_owned();
    let status = reported.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("{asked:?}")), reported)
}

#[test]
#[cfg(target_os = "linux")]
fn another_user_of_the_machine_reads_and_changes_nothing_without_the_token() {
    use std::os::unix::fs::MetadataExt;

    let (sandbox, viewer) = opened();
    // Only root can become another user; everybody sees that the viewer knows its own.
    let is_root = std::fs::metadata("/proc/self").unwrap().uid() == 0;
    assert!(!viewer.reported["url"].as_str().unwrap().contains("token"));
    assert_eq!(viewer.get("/api/runs").status, 200);
    if !is_root {
        return;
    }
    let token = viewer.token();
    let paths = [
        "/".to_owned(),
        format!("/r/{FIRST}"),
        format!("/r/{FIRST}/export.html"),
        "/assets/run.js".to_owned(),
        "/api/runs".to_owned(),
        format!("/api/runs/{FIRST}/spans"),
        "/api/stream".to_owned(),
        "/api/baselines".to_owned(),
        "/nothing".to_owned(),
    ];
    for path in &paths {
        for method in ["GET", "HEAD", "OPTIONS", "DELETE"] {
            let (status, reported) = asked_by_another_user(&viewer, method, path, "");
            assert_eq!(status, 403, "{method} {path}");
            assert!(!reported.contains(&token), "{reported}");
        }
    }
    let header = format!("X-Tracer-Token: {token}\r\n");
    let cookie = format!("Cookie: tracer-token-{}={token}\r\n", viewer.address.port());
    for path in ["/", "/api/runs", "/assets/run.js"] {
        for right in [&header, &cookie] {
            assert_eq!(
                asked_by_another_user(&viewer, "GET", path, right).0,
                200,
                "{path} {right}"
            );
        }
        let (status, reported) = asked_by_another_user(&viewer, "GET", &format!("{path}?token={token}"), "");
        assert!(
            status == 303 && reported.contains(&format!("location: {path}\r\n")),
            "{reported}"
        );
    }
    assert_eq!(
        asked_by_another_user(&viewer, "DELETE", &format!("/api/runs/{FIRST}"), &cookie).0,
        403
    );
    assert!(sandbox.run_dir(FIRST).is_dir());
}

#[test]
fn the_browsers_token_is_read_only() {
    let (_sandbox, viewer) = opened();
    let token = viewer.token();
    let invited = viewer.get(&format!("/?q=a&token={token}"));
    assert_eq!((invited.status, invited.header("location")), (303, Some("/?q=a")));
    let kept = format!(
        "tracer-token-{}={token}; HttpOnly; SameSite=Strict; Path=/",
        viewer.address.port()
    );
    assert_eq!(invited.header("set-cookie"), Some(kept.as_str()));
}

#[test]
fn the_address_with_the_token_is_printed_when_it_is_asked_for() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    let viewer = Viewer::start_with(&sandbox, &["--with-token"]);
    let url = viewer.reported["url"].as_str().unwrap().to_owned();
    assert!(
        url.ends_with(&format!("/r/{FIRST}?token={}", viewer.token())),
        "{url}"
    );
}

#[test]
fn every_answer_keeps_a_browser_within_bounds() {
    let (_sandbox, viewer) = opened();
    for path in [
        "/",
        &format!("/r/{FIRST}"),
        "/api/runs",
        "/assets/run.js",
        &format!("/r/{FIRST}/export.html"),
    ] {
        let response = viewer.get(path);
        assert_eq!(response.status, 200, "{path}");
        response.is_guarded();
    }
}

#[test]
fn windows_are_parted_from_foreign_openers() {
    const PARTED: &str = "cross-origin-opener-policy";
    let (_sandbox, viewer) = opened();
    for (site, opener_policy) in [
        (None, Some("same-origin")),
        (Some("cross-site"), Some("same-origin")),
        (Some("same-site"), Some("same-origin")),
        (Some("none"), None),
        (Some("same-origin"), None),
    ] {
        let headers: Vec<_> = site.map(|site| ("Sec-Fetch-Site", site)).into_iter().collect();
        let response = viewer.send("GET", "/", &headers, "");
        assert_eq!(response.header(PARTED), opener_policy, "{site:?}");
    }
}
