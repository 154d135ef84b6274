//! `tracer receive` as a process: what it prints, takes and leaves, and what a kill costs.

#[cfg(unix)]
mod kills;
pub(crate) mod process;

use std::net::TcpListener;

use serde_json::json;

use crate::sandbox::Sandbox;
use process::{Receiving, batch, chat_span, root_span, span};

const TRACE: &str = "5b8efff798038103d269b633813fc60c";
const ROOT: &str = "eee19b7ec3c1b174";

#[test]
fn what_is_acknowledged_is_listed_at_once() {
    let sandbox = Sandbox::new();
    let receiving = Receiving::start(&sandbox, &[]);
    assert_eq!(
        receiving.post("/v1/traces", &batch(&[chat_span(TRACE, 1, ROOT)])),
        200
    );
    // No waiting: an answer means that readers see it.
    let list = sandbox.tracer(&["list", "--json"]).json();
    let run = &list["runs"][0];
    assert_eq!(
        (&run["trace_id"], &run["run_status"]),
        (&json!(TRACE), &json!("running")),
        "{list}"
    );
    let shown = sandbox.tracer(&["show", TRACE, "--json"]).json();
    assert!(shown.to_string().contains("Dear Ada"), "{shown}");
    receiving.end();
}

#[cfg(unix)]
#[test]
fn a_run_is_completed_when_its_root_has_ended() {
    let sandbox = Sandbox::new();
    let mut receiving = Receiving::start(&sandbox, &[]);
    let spans = [root_span(TRACE, ROOT), chat_span(TRACE, 1, ROOT)];
    assert_eq!(receiving.post("/v1/traces", &batch(&spans)), 200);
    let completed = receiving.line();
    assert_eq!(completed["event"], "completed");
    assert_eq!(completed["run"]["trace_id"], TRACE);
    assert_eq!(completed["run"]["run_status"], "ok");
    assert_eq!(completed["run"]["counts"]["llm_calls"], 1);
    let ended = receiving.interrupt();
    assert_eq!(
        (&ended["event"], &ended["runs"], &ended["spans"]),
        (&json!("ended"), &json!(1), &json!(2))
    );
    assert_eq!(
        sandbox
            .tracer(&["validate-trace", "data/runs/5b8efff798038103d269b633813fc60c"])
            .code,
        Some(0)
    );
}

#[cfg(unix)]
#[test]
fn ctrl_c_completes_what_is_open_and_sums_up() {
    let sandbox = Sandbox::new();
    let mut receiving = Receiving::start(&sandbox, &[]);
    let noise = "0af7651916cd43dd8448eb211c80319c";
    assert_eq!(
        receiving.post("/v1/traces", &batch(&[chat_span(TRACE, 1, ROOT)])),
        200
    );
    assert_eq!(
        receiving.post("/v1/traces", &batch(&[span(noise, 1, None, "GET /")])),
        200
    );
    assert_eq!(receiving.post("/v1/traces", "no JSON"), 400);
    receiving.signal(nix_sigint());
    let completed = receiving.line();
    assert_eq!(completed["run"]["trace_id"], TRACE, "{completed}");
    let ended = receiving.last_line();
    assert_eq!(
        (
            &ended["runs"],
            &ended["ignored_traces"],
            &ended["refused_requests"]
        ),
        (&json!(1), &json!(1), &json!(1))
    );
    let list = sandbox.tracer(&["list", "--json"]).json();
    assert_eq!(list["runs"].as_array().map(Vec::len), Some(1), "{list}");
}

#[cfg(unix)]
#[test]
fn two_spans_with_one_id_are_counted_once() {
    let sandbox = Sandbox::new();
    let mut receiving = Receiving::start(&sandbox, &[]);
    for name in ["chat", "another"] {
        let mut span = chat_span(TRACE, 1, ROOT);
        span["name"] = json!(name);
        assert_eq!(receiving.post("/v1/traces", &batch(&[span])), 200);
    }
    let ended = receiving.interrupt();
    assert_eq!((&ended["differing"], &ended["rejected"]), (&json!(1), &json!(0)));
}

#[cfg(unix)]
#[test]
fn all_keeps_traces_without_agents() {
    let sandbox = Sandbox::new();
    let mut receiving = Receiving::start(&sandbox, &["--all-traces"]);
    assert_eq!(
        receiving.post("/v1/traces", &batch(&[span(TRACE, 1, None, "GET /")])),
        200
    );
    assert_eq!(receiving.interrupt()["runs"], 1);
}

#[test]
fn texts_stay_out_without_content() {
    let sandbox = Sandbox::new();
    let receiving = Receiving::start(&sandbox, &["--no-content"]);
    assert_eq!(
        receiving.post("/v1/traces", &batch(&[chat_span(TRACE, 1, ROOT)])),
        200
    );
    let written = crate::sandbox::contents(&sandbox.data_dir());
    let holds = |text: &str| {
        written
            .iter()
            .any(|(_, bytes)| String::from_utf8_lossy(bytes).contains(text))
    };
    assert!(holds("demo-model"));
    assert!(!holds("Dear Ada"));
    receiving.end();
}

#[test]
fn too_large_a_request_is_refused() {
    let sandbox = Sandbox::new();
    let receiving = Receiving::start(&sandbox, &[]);
    assert_eq!(
        receiving.post("/v1/traces", &" ".repeat(64 * 1024 * 1024 + 1)),
        413
    );
    assert_eq!(receiving.post("/v1/traces", "{}"), 200);
    receiving.end();
}

#[test]
fn a_token_is_wanted_when_one_is_given() {
    let sandbox = Sandbox::new();
    let receiving = Receiving::start(&sandbox, &["--token", "secret"]);
    assert_eq!(receiving.first_line()["token"], "secret");
    assert_eq!(receiving.post("/v1/traces", "{}"), 401);
    assert_eq!(
        receiving.post_with("/v1/traces", "{}", "Authorization: Bearer secret\r\n"),
        200
    );
    receiving.end();
}

#[test]
fn a_taken_port_is_an_error_with_a_next_step() {
    let sandbox = Sandbox::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    sandbox.tracer(&["receive", "--port", &port]).fails(
        2,
        &[
            &format!("error: another program listens on 127.0.0.1:{port} (OTLP/HTTP)\n"),
            "hint: or choose another port, 0 for any free one: tracer receive --port PORT",
        ],
    );
    sandbox
        .tracer(&["receive", "--models", "--port", &port])
        .fails(2, &["error: the proxy cannot listen", "--port PORT"]);
}

#[test]
fn what_to_set_is_printed() {
    let sandbox = Sandbox::new();
    let (receiving, printed) = Receiving::start_plain(&sandbox, &["--token", "a~b"]);
    let http = &printed[0];
    assert!(
        http.starts_with("tracer receive: http://127.0.0.1:"),
        "{printed:?}"
    );
    assert!(
        printed
            .iter()
            .any(|line| line.starts_with("  export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:"))
    );
    assert!(printed.contains(&"  export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf".to_owned()));
    assert!(printed.contains(&"  export OTEL_EXPORTER_OTLP_HEADERS=x-tracer-token=a~b".to_owned()));
    receiving.end();
}

#[cfg(unix)]
#[test]
fn the_viewer_receives_too() {
    let sandbox = Sandbox::new();
    let (receiving, printed) = Receiving::start_viewer(&sandbox);
    assert!(
        printed
            .iter()
            .any(|line| line.starts_with("tracer receive: http://")),
        "{printed:?}"
    );
    assert_eq!(
        receiving.post("/v1/traces", &batch(&[chat_span(TRACE, 1, ROOT)])),
        200
    );
    let outcome = receiving.ended_by(nix_sigint());
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(outcome.stderr.contains("received 1 span in 1 run"), "{outcome:?}");
    assert_eq!(
        sandbox
            .tracer(&["validate-trace", "data/runs/5b8efff798038103d269b633813fc60c"])
            .code,
        Some(0)
    );
}

#[cfg(unix)]
fn nix_sigint() -> nix::sys::signal::Signal {
    nix::sys::signal::Signal::SIGINT
}
