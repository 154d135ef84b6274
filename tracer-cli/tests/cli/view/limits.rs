//! What the viewer bears: requests that are too large, too slow, or very many at once.

use std::io::Write;
use std::thread;

use crate::sandbox::FIRST;

use super::client::{opened, read_response};

#[test]
fn a_request_that_is_too_large_is_refused() {
    let (_sandbox, viewer) = opened();
    let large = "a".repeat(1024 * 1024);
    let host = format!("Host: {}\r\nConnection: close\r\n", viewer.address);
    let head = viewer.raw(&format!("GET / HTTP/1.1\r\n{host}X-Large: {large}\r\n\r\n"));
    assert_eq!(head.status, 431);
    let path = viewer.raw(&format!("GET /{large} HTTP/1.1\r\n{host}\r\n"));
    assert!((414..=431).contains(&path.status), "{path:?}");
    let many: String = "X-Many: 1\r\n".repeat(2_000);
    let many = viewer.raw(&format!("GET / HTTP/1.1\r\n{host}{many}\r\n"));
    assert_eq!(many.status, 431);
    let body = viewer.change("PATCH", &format!("/api/runs/{FIRST}"), &large);
    body.refuses(413, "too_large");
    body.is_guarded();
    let long = "b".repeat(8_000);
    assert!((400..500).contains(&viewer.get(&format!("/api/runs/{long}")).status));
    viewer
        .get(&format!("/api/runs/{FIRST}/search?q={long}"))
        .refuses(400, "invalid_query");
    assert_eq!(viewer.get("/api/runs").status, 200);
}

#[test]
fn what_is_no_request_is_refused() {
    let (_sandbox, viewer) = opened();
    let host = format!("Host: {}", viewer.address);
    for request in [
        "\0\0\0\r\n\r\n".to_owned(),
        format!("GET / HTTP/9.9\r\n{host}\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}\r\nContent-Length: x\r\n\r\n"),
        format!("GET /a b HTTP/1.1\r\n{host}\r\n\r\n"),
        format!("POST / HTTP/1.1\r\n{host}\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
    ] {
        let refused = viewer.raw(&request);
        assert!((400..500).contains(&refused.status), "{request:?}: {refused:?}");
        assert!(refused.body.is_empty(), "{request:?}: {refused:?}");
    }
    assert_eq!(viewer.get("/").status, 200);
}

#[test]
fn slow_requests_keep_no_other_waiting() {
    let (_sandbox, viewer) = opened();
    let _slow: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = viewer.connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
            stream
        })
        .collect();
    assert_eq!(viewer.get("/api/runs").status, 200);
}

#[test]
fn a_body_that_does_not_come_is_given_up() {
    let (_sandbox, viewer) = opened();
    let token = viewer.token();
    let mut stream = viewer.connect();
    let head = format!(
        "PATCH /api/runs/{FIRST} HTTP/1.1\r\nHost: {}\r\nX-Tracer-Token: {token}\r\nContent-Type: application/json\r\n\
         Content-Length: 100\r\nConnection: close\r\n\r\n{{",
        viewer.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    read_response(&mut stream).refuses(408, "too_slow");
}

#[test]
fn a_thousand_requests_at_once_are_all_answered() {
    let (_sandbox, viewer) = opened();
    let paths = [
        "/api/runs".to_owned(),
        format!("/api/runs/{FIRST}/rows"),
        format!("/api/runs/{FIRST}/columns"),
        format!("/r/{FIRST}"),
    ];
    let streams: Vec<_> = (0..1_000)
        .map(|number| {
            let mut stream = viewer.connect();
            let path = &paths[number % paths.len()];
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{}\r\n",
                viewer.address,
                viewer.cookie()
            );
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    let mut statuses = Vec::new();
    thread::scope(|scope| {
        let parts = streams.chunks(250).map(|part| {
            let part: Vec<_> = part.iter().map(|stream| stream.try_clone().unwrap()).collect();
            scope.spawn(move || {
                part.into_iter()
                    .map(|mut stream| read_response(&mut stream).status)
                    .collect::<Vec<_>>()
            })
        });
        let parts: Vec<_> = parts.collect();
        statuses.extend(parts.into_iter().flat_map(|part| part.join().unwrap()));
    });
    assert_eq!(statuses, [200; 1_000]);
}
