//! Who may ask: only requests that name this viewer and come from nowhere else.

use crate::sandbox::{FIRST, Sandbox};

use super::client::{Viewer, opened};

#[test]
fn a_request_that_names_another_host_is_refused() {
    let (_sandbox, viewer) = opened();
    let port = viewer.address.port();
    let paths = ["/", "/api/runs", "/assets/x/run.js", "/api/stream", "/nothing"];
    let hosts = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
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
    // A tunnel listens on a port of its own.
    for host in [
        format!("localhost:{port}"),
        format!("LocalHost:{port}"),
        format!("[::1]:{port}"),
        "127.0.0.1".to_owned(),
        format!("localhost:{}", port ^ 1),
    ] {
        let ours = viewer.raw(&format!(
            "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{}\r\n",
            viewer.cookie()
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
        (
            "Origin",
            &format!("http://127.0.0.1:{}", viewer.address.port() ^ 1),
        ),
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
    let mut wrong = token.to_owned();
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
    let ours = ("X-Tracer-Token", token);
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
fn reading_needs_the_token_on_every_address() {
    let sandbox = Sandbox::new();
    sandbox.run(FIRST, "agent", 1, "ok");
    for host in ["127.0.0.1", "0.0.0.0"] {
        let mut viewer = Viewer::start_with(&sandbox, &["--host", host]);
        viewer.address.set_ip("127.0.0.1".parse().unwrap());
        let asked = |path: &str, headers: &str| {
            viewer.raw(&format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n",
                viewer.address
            ))
        };
        for path in [
            "/",
            "/api/runs",
            "/assets/x/run.js",
            "/api/stream",
            "/nothing",
            "/?token=",
            "/?token=00000000000000000000000000000000",
        ] {
            let refused = asked(path, "");
            refused.refuses(403, "token_needed");
            assert!(!refused.text().contains(viewer.token()));
        }
        let header = format!("X-Tracer-Token: {}\r\n", viewer.token());
        for path in ["/", "/api/runs", "/assets/x/run.js"] {
            assert_eq!(asked(path, &header).status, 200, "{path}");
            assert_eq!(asked(path, &viewer.cookie()).status, 200, "{path}");
        }
    }
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
fn every_answer_keeps_a_browser_within_bounds() {
    let (_sandbox, viewer) = opened();
    for path in [
        "/",
        &format!("/r/{FIRST}"),
        "/api/runs",
        "/assets/x/run.js",
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
