//! None of sixty credentials is in what is kept or printed.

use std::io::Write;

use serde_json::json;
use tracer_tests::ModelServer;
use tracer_tests::credentials::{CredentialPlace, PlantedCredential, planted};
use tracer_tests::model_server::{chunk, chunked_head, post};

use super::Proxied;

fn at(planted: &[PlantedCredential], place: CredentialPlace) -> Vec<&PlantedCredential> {
    planted
        .iter()
        .filter(|credential| credential.place == place)
        .collect()
}

#[test]
fn no_planted_credential_is_kept() {
    let planted = planted(7);
    assert_eq!(planted.len(), 60);
    let said = |place| -> Vec<String> {
        at(&planted, place)
            .into_iter()
            .map(|one| one.text.clone())
            .collect()
    };
    let response_headers: Vec<(&str, String)> = at(&planted, CredentialPlace::ResponseHeader)
        .into_iter()
        .map(|one| (one.name, one.text.clone()))
        .collect();
    let response_texts = said(CredentialPlace::ResponseBody);
    let server = ModelServer::start({
        let (headers, texts) = (response_headers.clone(), response_texts.clone());
        move |request, stream| {
            let mut head = String::from_utf8(chunked_head("text/event-stream")).unwrap();
            let lines: Vec<String> = headers
                .iter()
                .map(|(name, value)| format!("{name}: {value}\r\n"))
                .collect();
            head.insert_str(head.len() - 2, &lines.concat());
            if request.path.contains("/fail") || request.path.contains("files") {
                head = head
                    .replace("200 OK", "401 Unauthorized")
                    .replace("text/event-stream", "application/json");
            }
            let mut body = String::new();
            if head.contains("401") {
                body =
                    json!({"error": {"type": "invalid_api_key", "message": texts.join(" | ")}}).to_string();
            } else {
                for text in &texts {
                    let event = json!({"choices": [{"index": 0, "delta": {"content": format!("{text}\n")}}]});
                    body.extend([format!("data: {event}\n\n")]);
                }
                body.push_str("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
            }
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(&chunk(body.as_bytes())).unwrap();
            stream.write_all(&chunk(b"")).unwrap();
        }
    });
    let proxied = Proxied::new(&server.base());
    let query: Vec<String> = at(&planted, CredentialPlace::Query)
        .into_iter()
        .map(|one| format!("{}={}", one.name, one.text))
        .collect();
    let headers: Vec<(&str, &str)> = at(&planted, CredentialPlace::RequestHeader)
        .into_iter()
        .map(|one| (one.name, one.text.as_str()))
        .collect();
    let messages: Vec<_> = said(CredentialPlace::RequestBody)
        .into_iter()
        .map(|text| json!({"role": "user", "content": text}))
        .collect();
    let body = json!({"model": "m", "stream": true, "messages": messages}).to_string();
    let base = proxied.base_url("OPENAI_BASE_URL");
    for (path, status) in [
        ("/chat/completions", 200),
        ("/fail/chat/completions", 401),
        ("/files", 401),
    ] {
        let url = format!("{base}{path}?{}", query.join("&"));
        let response = post(&url, &headers, body.as_bytes());
        assert_eq!(response.status, status, "{path}");
        for (name, value) in &response_headers {
            assert!(response.head.contains(value.as_str()), "the client gets {name}");
        }
    }
    // The provider got everything that is not the connection's own.
    let request = &server.requests()[0];
    for (name, value) in headers.iter().filter(|(name, _)| *name != "proxy-authorization") {
        assert!(
            request.has_header(&format!("{name}: {value}")),
            "{name} is passed on"
        );
    }
    assert!(request.path.ends_with(&query.join("&")));

    // A proxy that has no upstream says so, without what was sent.
    let gone = Proxied::new("http://127.0.0.1:9");
    let url = format!(
        "{}/chat/completions?{}",
        gone.base_url("OPENAI_BASE_URL"),
        query.join("&")
    );
    let refused = post(&url, &headers, body.as_bytes());
    assert_eq!(refused.status, 502);

    let (summary, run, data) = proxied.finish();
    let (gone_summary, gone_run, gone_data) = gone.finish();
    assert_eq!(
        (
            summary.model_calls,
            summary.other_requests,
            gone_summary.model_calls
        ),
        (2, 1, 1)
    );
    let mut kept: Vec<(String, Vec<u8>)> = data
        .files()
        .into_iter()
        .chain(gone_data.files())
        .map(|(path, bytes)| (path.display().to_string(), bytes))
        .collect();
    kept.push(("the answer of the proxy".to_owned(), refused.body));
    kept.push(("the head of its answer".to_owned(), refused.head.into_bytes()));
    kept.push((
        "its summary".to_owned(),
        format!("{summary:?} {gone_summary:?} {:?}", summary.notes()).into_bytes(),
    ));
    kept.push((
        "the records".to_owned(),
        format!("{:?} {:?}", run.records, gone_run.records).into_bytes(),
    ));
    assert!(kept.len() >= 8, "both runs are on the disk");
    for credential in &planted {
        for (place, bytes) in &kept {
            let text = String::from_utf8_lossy(bytes);
            for part in credential.secret.split('\n') {
                assert!(
                    !text.contains(part),
                    "{:?} {} is in {place}",
                    credential.place,
                    credential.name
                );
            }
        }
    }
}
